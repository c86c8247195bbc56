//! What names mean: the node types of the registry, the groups of the document, and the inputs and
//! nodes of a body. Reading and writing the text form ask here, so they agree.

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use millstream_base::Span;
use millstream_document::model::Setting;
use millstream_document::{Fields, name_problem};
use millstream_node::{NodeDef, Registry, Settings};

use crate::error::{Problem, TextError, shortened};
use crate::name;
use crate::tree::{Arg, ArgTo, Call, CallWord, Tree};

/// The node type that computes formulas.
pub(crate) const EXPRESSION: &str = "math.expression";

/// The family whose node types are called without it.
const FAMILY: &str = "math";

/// The output of a node that has one.
pub(crate) const VALUE: &str = "value";

/// Node types.
pub(crate) struct Vocabulary<'r> {
    pub(crate) registry: &'r Registry,
    reserved: OnceCell<HashSet<&'static str>>,
    /// The node types of the family without a name that were asked for, by their last words.
    of_family: RefCell<HashMap<Box<str>, Arc<str>>>,
    plain: RefCell<HashMap<Box<str>, Known>>,
}

/// A node type without settings.
#[derive(Clone)]
pub(crate) struct Known {
    /// Its name, shared.
    pub(crate) name: Arc<str>,
    /// The names of its inputs and outputs; `None` if the registry lacks it.
    pub(crate) sockets: Option<Arc<Sockets>>,
}

/// The names of inputs and outputs, in order.
pub(crate) struct Sockets {
    pub(crate) inputs: Vec<Arc<str>>,
    pub(crate) outputs: Vec<Arc<str>>,
}

impl<'r> Vocabulary<'r> {
    pub(crate) fn new(registry: &'r Registry) -> Self {
        Self {
            registry,
            reserved: OnceCell::new(),
            of_family: RefCell::default(),
            plain: RefCell::default(),
        }
    }

    /// Whether a word cannot be the letter of a formula.
    pub(crate) fn is_reserved(&self, word: &str) -> bool {
        let reserved = self.reserved.get_or_init(|| {
            let def = self.registry.get(EXPRESSION);
            def.map(|def| def.reserved.iter().copied().collect()).unwrap_or_default()
        });
        reserved.contains(word)
    }

    /// The node type of the family without a name that is meant by its last word. A word means no
    /// node type of another family, so that a text means the same whatever libraries there are.
    pub(crate) fn short(&self, word: &str) -> Option<Arc<str>> {
        if let Some(known) = self.of_family.borrow().get(word) {
            return Some(Arc::clone(known));
        }
        let name = format!("{FAMILY}.{word}");
        self.registry.get(&name)?;
        let name: Arc<str> = name.into();
        self.of_family.borrow_mut().insert(word.into(), Arc::clone(&name));
        Some(name)
    }

    /// The node types with this last word, for messages.
    pub(crate) fn of_last_word(&self, word: &str) -> Vec<String> {
        let names = self.registry.iter().map(|def| &def.name);
        let names = names.filter(|name| name.rsplit('.').next() == Some(word));
        names.take(8).map(|name| format!("`{name}`")).collect()
    }

    /// The last word of a node type, if it means this node type.
    pub(crate) fn shortened<'n>(&self, name: &'n str) -> Option<&'n str> {
        let word = name.strip_prefix(FAMILY)?.strip_prefix('.')?;
        (name::is_plain(word) && self.registry.get(name).is_some()).then_some(word)
    }

    /// A node type without settings.
    pub(crate) fn known(&self, name: &str) -> Known {
        if let Some(known) = self.plain.borrow().get(name) {
            return known.clone();
        }
        let sockets = self.registry.get(name).and_then(|def| self.sockets(def, &Fields::new()));
        let known = Known { name: name.into(), sockets: sockets.map(Arc::new) };
        self.plain.borrow_mut().insert(name.into(), known.clone());
        known
    }

    /// The sockets of a node type with settings.
    pub(crate) fn sockets(&self, def: &NodeDef, set: &Fields<Setting>) -> Option<Sockets> {
        let given = set.iter().map(|(name, setting)| (&**name, &setting.json));
        let type_named = |name: &str| self.registry.type_named(name);
        let settings = Settings::read(&def.settings, given, &type_named).ok()?;
        let signature = def.signature(&settings).ok()?;
        Some(Sockets {
            inputs: signature.inputs.iter().map(|socket| socket.name.as_ref().into()).collect(),
            outputs: signature.outputs.iter().map(|socket| socket.name.as_ref().into()).collect(),
        })
    }

    /// A node type with these settings.
    pub(crate) fn known_with(&self, name: &str, set: &Fields<Setting>) -> Known {
        let mut known = self.known(name);
        if !set.is_empty()
            && let Some(def) = self.registry.get(name)
            && let Some(sockets) = self.sockets(def, set)
        {
            known.sockets = Some(Arc::new(sockets));
        }
        known
    }

    /// Whether nodes of a type cannot be part of a formula, because they keep state.
    fn keeps_state(&self, name: &str) -> bool {
        self.registry.get(name).is_some_and(|def| def.state.is_some() || def.delayed.is_some())
    }
}

/// The groups of a document and the names of the documents that it uses.
#[derive(Default)]
pub(crate) struct Groups<'a> {
    pub(crate) own: HashMap<&'a str, Arc<Sockets>>,
    pub(crate) aliases: HashSet<&'a str>,
}

/// The meaning of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Callee<'c> {
    Type(TypeName<'c>),
    Group(&'c str),
    Repeat(&'c str),
    /// A function of formulas.
    Function,
}

/// The name of a node type, as it is written or found by its last word.
#[derive(Clone, Debug)]
pub(crate) enum TypeName<'c> {
    Written(&'c str),
    Found(Arc<str>),
}

impl std::ops::Deref for TypeName<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        match self {
            Self::Written(name) => name,
            Self::Found(name) => name,
        }
    }
}

impl PartialEq for TypeName<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}
impl Eq for TypeName<'_> {}

impl Groups<'_> {
    /// The meaning of a call.
    pub(crate) fn callee<'c>(
        &self,
        call: &'c Call<'_>,
        tree: &Tree<'_>,
        vocabulary: &Vocabulary<'_>,
    ) -> Callee<'c> {
        let name: &str = &call.name;
        match call.word {
            CallWord::Repeat => return Callee::Repeat(name),
            CallWord::Group => return Callee::Group(name),
            CallWord::Node => return Callee::Type(TypeName::Written(name)),
            CallWord::None => {}
        }
        if name.contains('/') || self.own.contains_key(name) || self.aliases.contains(name) {
            return Callee::Group(name);
        }
        if name.contains('.') {
            return Callee::Type(TypeName::Written(name));
        }
        match vocabulary.short(name) {
            Some(known) => Callee::Type(TypeName::Found(known)),
            None if name::is_plain(name) && is_bare(call, tree) => Callee::Function,
            None => Callee::Type(TypeName::Written(name)),
        }
    }

    /// Whether a call inside a formula is part of its text.
    pub(crate) fn is_in_formula(
        &self,
        call: &Call<'_>,
        tree: &Tree<'_>,
        vocabulary: &Vocabulary<'_>,
    ) -> bool {
        if !is_bare(call, tree) {
            return false;
        }
        match self.callee(call, tree, vocabulary) {
            Callee::Function => true,
            Callee::Type(name) if call.name.contains('.') => {
                // Formulas know names of two words.
                let plain = name.split('.').count() == 2 && name.split('.').all(name::is_plain);
                call.word == CallWord::None && plain && !vocabulary.keeps_state(&name)
            }
            // Inside formulas short names are those of functions.
            Callee::Type(_) => call.word == CallWord::None && name::is_plain(&call.name),
            Callee::Group(_) | Callee::Repeat(_) => false,
        }
    }
}

/// Whether a call has arguments alone, as formulas write calls.
fn is_bare(call: &Call<'_>, tree: &Tree<'_>) -> bool {
    let is_setting = |arg: &Arg<'_>| matches!(arg.to, ArgTo::Setting(_));
    !call.is_muted && call.version == 1 && !tree.args_of(&call.args).iter().any(is_setting)
}

/// What is known of the outputs of a node.
#[derive(Clone)]
pub(crate) enum Face<'a> {
    /// It has these.
    Outputs(Arc<Sockets>),
    /// It has one, `value`.
    Value,
    /// A node of a type.
    Type(&'a str),
    /// The node of a call.
    Call(&'a Call<'a>),
    /// Nothing.
    Unknown,
}

impl std::fmt::Debug for Sockets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.outputs).finish()
    }
}

/// The names of a body.
#[derive(Default)]
pub(crate) struct Scope<'a> {
    pub(crate) inputs: HashMap<&'a str, Arc<str>>,
    pub(crate) nodes: HashMap<&'a str, u32>,
    /// The names of nodes, shared, and their outputs.
    pub(crate) shared: Vec<(Arc<str>, Face<'a>)>,
}

/// The meaning of a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Target {
    /// An input of the body.
    Input(Arc<str>),
    /// An output of a node.
    Link(Arc<str>, Arc<str>),
    /// A constant of formulas.
    Constant,
}

/// The meaning of a name after a name and a point.
pub(crate) enum MemberOf {
    /// An output of a node.
    Link(Target),
    /// A component of the value that the first name means.
    Component(Target),
}

impl<'a> Scope<'a> {
    pub(crate) fn add_node(&mut self, name: &'a str, shared: Arc<str>, face: Face<'a>) -> bool {
        let next = self.shared.len() as u32;
        match self.nodes.entry(name) {
            std::collections::hash_map::Entry::Occupied(_) => false,
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(next);
                self.shared.push((shared, face));
                true
            }
        }
    }

    /// The node of this name, shared if there is one.
    pub(crate) fn node(&self, name: &str) -> Arc<str> {
        match self.nodes.get(name) {
            Some(node) => Arc::clone(&self.shared[*node as usize].0),
            None => name.into(),
        }
    }

    /// The meaning of a name: an input, or the value of a node, or a constant.
    pub(crate) fn resolve(
        &self,
        name: &str,
        is_quoted: bool,
        value: &Arc<str>,
        vocabulary: &Vocabulary<'_>,
    ) -> Target {
        if let Some(input) = self.inputs.get(name) {
            return Target::Input(Arc::clone(input));
        }
        match self.nodes.get(name) {
            Some(node) => {
                Target::Link(Arc::clone(&self.shared[*node as usize].0), Arc::clone(value))
            }
            None if !is_quoted && vocabulary.is_reserved(name) => Target::Constant,
            None => Target::Link(name.into(), Arc::clone(value)),
        }
    }

    /// Reports a link that no document can have.
    ///
    /// # Errors
    /// If its node or output cannot have its name.
    pub(crate) fn check_link(&self, target: &Target, span: Span) -> Result<(), Problem> {
        let Target::Link(node, output) = target else { return Ok(()) };
        // Names of nodes that exist are checked with these.
        let names = [
            ("a node", node, self.nodes.contains_key(&**node)),
            ("an output", output, **output == *VALUE),
        ];
        for (what, name, is_right) in names {
            if !is_right && let Some(reason) = name_problem(name) {
                let error = TextError::BadName { what, name: shortened(name), reason };
                return Err(Problem::new(span.start as usize, span.end as usize, error));
            }
        }
        Ok(())
    }

    /// The meaning of `name.member`: an output of a node, or a component of a value.
    pub(crate) fn resolve_member(
        &self,
        (name, is_quoted): (&str, bool),
        member: &str,
        value: &Arc<str>,
        (groups, tree, vocabulary): (&Groups<'_>, &Tree<'_>, &Vocabulary<'_>),
    ) -> MemberOf {
        let output = || if member == VALUE { Arc::clone(value) } else { member.into() };
        let Some(node) = self.nodes.get(name) else {
            return match self.resolve(name, is_quoted, value, vocabulary) {
                Target::Link(node, _) => MemberOf::Link(Target::Link(node, output())),
                target => MemberOf::Component(target),
            };
        };
        let (node, face) = &self.shared[*node as usize];
        let has = |sockets: &Sockets| sockets.outputs.iter().any(|output| **output == *member);
        let of_type = |name: &str| {
            name == EXPRESSION && member == VALUE
                || name != EXPRESSION && vocabulary.known(name).sockets.is_none_or(|it| has(&it))
        };
        let has_output = match face {
            Face::Outputs(sockets) => has(sockets),
            Face::Value => member == VALUE,
            Face::Type(name) => of_type(name),
            Face::Call(call) => match groups.callee(call, tree, vocabulary) {
                Callee::Type(name) => of_type(&name),
                Callee::Group(name) | Callee::Repeat(name) => {
                    groups.own.get(name).is_none_or(|sockets| has(sockets))
                }
                Callee::Function => member == VALUE,
            },
            Face::Unknown => true,
        };
        if has_output {
            return MemberOf::Link(Target::Link(Arc::clone(node), output()));
        }
        MemberOf::Component(self.resolve(name, is_quoted, value, vocabulary))
    }
}
