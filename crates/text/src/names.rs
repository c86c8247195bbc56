//! The meaning of names of calls: node types of the registry and groups of the document. Reading
//! and writing the text form both use this module, so they agree.

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault};
use std::rc::Rc;
use std::sync::Arc;

use millstream_document::Fields;
use millstream_document::load::Words;
use millstream_document::model::Setting;
use millstream_node::interface::CALL;
use millstream_node::settings::SettingError;
use millstream_node::{NodeDef, Registry, Settings, Zone};
use rustc_hash::{FxHashSet, FxHasher};
use serde_json::Value as Json;

use crate::error::{Problem, shortened};
use crate::name::{self, is_same_word};
use crate::tree::{Arg, ArgTo, Call, CallWord, Tree};

/// The node type that computes formulas.
pub(crate) const EXPRESSION: &str = "math.expression";

/// The family whose node types are called without it.
const FAMILY: &str = "math.";

/// The name of the output of a node that has only one.
pub(crate) const VALUE: &str = "value";

/// Node types.
pub(crate) struct Vocabulary<'r> {
    pub(crate) registry: &'r Registry,
    /// The words that cannot be letters of formulas.
    reserved: Option<&'r FxHashSet<&'static str>>,
    /// The node types that were looked up.
    known: RefCell<KnownTypes>,
    /// Names of types, sockets and outputs.
    words: RefCell<Words>,
}

/// The node types that were looked up.
struct KnownTypes {
    all: Vec<Rc<Known>>,
    /// Their positions by name.
    by_name: HashMap<Arc<str>, u32>,
    /// The positions of some of the last look-ups, by the hash of the word.
    recent: [u32; N_RECENT],
}

/// The number of shared words.
const N_WORDS: usize = 32;

/// The number of node types that are found without a search; few of those that a document uses
/// share a place.
const N_RECENT: usize = 128;

/// A node type without settings, or the name of one that the registry lacks.
pub(crate) struct Known {
    /// Its name, shared.
    pub(crate) name: Arc<str>,
    pub(crate) def: Option<Arc<NodeDef>>,
    sockets: OnceCell<Option<Sockets>>,
}

/// The names of inputs and outputs, in order.
#[derive(Default)]
pub(crate) struct Sockets {
    pub(crate) inputs: Vec<Arc<str>>,
    pub(crate) outputs: Vec<Arc<str>>,
    /// Whether they belong to a block, which calls of a single word do not mean.
    pub(crate) is_block: bool,
}

impl Sockets {
    /// The position of the first input of this name.
    pub(crate) fn input(&self, name: &str) -> Option<usize> {
        self.inputs.iter().position(|input| is_same_word(input.as_bytes(), name.as_bytes()))
    }

    /// The only output, if it is not called `value`.
    fn only_output(&self) -> Option<&Arc<str>> {
        match &self.outputs[..] {
            [only] => Some(only).filter(|only| ***only != *VALUE),
            _ => None,
        }
    }
}

impl<'r> Vocabulary<'r> {
    pub(crate) fn new(registry: &'r Registry) -> Self {
        Self {
            registry,
            reserved: registry.get(EXPRESSION).map(|def| &def.reserved),
            known: RefCell::new(KnownTypes {
                all: Vec::new(),
                by_name: HashMap::new(),
                recent: [u32::MAX; N_RECENT],
            }),
            words: RefCell::new(Words::new(N_WORDS)),
        }
    }

    /// A word that is likely to repeat in a document.
    pub(crate) fn share(&self, word: &str) -> Arc<str> {
        self.words.borrow_mut().share(word)
    }

    /// Whether a word cannot be a letter of a formula.
    pub(crate) fn is_reserved(&self, word: &str) -> bool {
        self.reserved.is_some_and(|words| words.contains(word))
    }

    /// The node type that a single word means. It means no node type of another family than the
    /// default, so that a text means the same with any libraries.
    pub(crate) fn short(&self, word: &str) -> Option<Rc<Known>> {
        let known = self.found(FAMILY, word);
        known.def.is_some().then_some(known)
    }

    /// A node type without settings.
    pub(crate) fn known(&self, name: &str) -> Rc<Known> {
        self.found("", name)
    }

    /// The node type whose name consists of a family and a word.
    fn found(&self, family: &str, word: &str) -> Rc<Known> {
        let hash = BuildHasherDefault::<FxHasher>::default().hash_one(word) as usize;
        let KnownTypes { all, by_name, recent } = &mut *self.known.borrow_mut();
        let place = &mut recent[hash % N_RECENT];
        if let Some(known) = all.get(*place as usize)
            && is_joined(&known.name, family, word)
        {
            return Rc::clone(known);
        }
        let name = [family, word].concat();
        *place = by_name.get(&*name).copied().unwrap_or_else(|| {
            let def = self.registry.get(&name).map(Arc::clone);
            let name: Arc<str> = Arc::from(name);
            let at = all.len() as u32;
            all.push(Rc::new(Known { name: Arc::clone(&name), def, sockets: OnceCell::new() }));
            by_name.insert(name, at);
            at
        });
        Rc::clone(&all[*place as usize])
    }

    /// The sockets of a node type without settings; `None` if the registry lacks it, or it needs
    /// settings.
    pub(crate) fn plain_sockets<'k>(&self, known: &'k Known) -> Option<&'k Sockets> {
        let sockets = || self.sockets(known.def.as_ref()?, &Fields::new());
        known.sockets.get_or_init(sockets).as_ref()
    }

    /// The problem of a function of formulas that is called with named inputs, like a node type; the
    /// first name has this place and length.
    pub(crate) fn no_names(&self, function: &str, (start, length): (usize, usize)) -> Problem {
        let known = self.of_last_word(function);
        let function = shortened(function);
        let message = format!("`{function}` is a function of formulas, whose inputs have no names");
        let problem = Problem::syntax(start, start + length, message);
        match known.len() {
            0 => problem.hint("write the inputs in their order"),
            _ => problem
                .hint(format!("a node type is called by its whole name: {}", known.join(", "))),
        }
    }

    /// The node types with this last word, for messages.
    fn of_last_word(&self, word: &str) -> Vec<String> {
        let names = self.registry.iter().map(|def| &def.name);
        let names = names.filter(|name| name.rsplit('.').next() == Some(word));
        names.take(8).map(|name| format!("`{name}`")).collect()
    }

    /// Why a formula cannot call this name, perhaps after a name and `/`, and a hint, if neither a
    /// function nor a node type has it.
    pub(crate) fn refusal_of_call(
        &self,
        name: &str,
        alias: Option<&str>,
    ) -> Option<(String, Option<String>)> {
        if self.registry.get(name).is_some() {
            return None;
        }
        if name.contains('.') {
            let near = self.registry.nearest(name).map(|near| format!("did you mean `{near}`?"));
            let message = format!("there is no node type called `{}`", shortened(name));
            return Some((message, near));
        }
        let def = self.registry.get(EXPRESSION)?;
        let formula = def.formula.as_ref()?;
        let text = match alias {
            Some(alias) => format!("{alias} / {name}()"),
            None => format!("{name}()"),
        };
        if (formula.group_calls)(&text, &|_| true).is_empty() {
            return None;
        }
        let text = Json::from(text);
        let type_named = |name: &str| self.registry.type_named(name);
        let settings = Settings::read(&def.settings, [(formula.name, &text)], &type_named).ok()?;
        match def.signature(&settings).err()? {
            SettingError::Refused { message, hint, .. } => Some((message, hint)),
            _ => None,
        }
    }

    /// The last word of a node type, if that alone means this node type.
    pub(crate) fn shortened<'n>(&self, name: &'n str) -> Option<&'n str> {
        let word = name.strip_prefix(FAMILY)?;
        (name::is_plain(word) && self.registry.get(name).is_some()).then_some(word)
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
            is_block: false,
        })
    }

    /// The sockets of a node type with these settings; without them if they are wrong.
    pub(crate) fn sockets_with<'k>(
        &self,
        known: &'k Known,
        set: &Fields<Setting>,
    ) -> Option<SocketsOf<'k>> {
        if !set.is_empty()
            && let Some(def) = &known.def
            && let Some(sockets) = self.sockets(def, set)
        {
            return Some(SocketsOf::These(sockets));
        }
        self.plain_sockets(known).map(SocketsOf::Known)
    }
}

/// Sockets that are known, or that were made for settings.
pub(crate) enum SocketsOf<'k> {
    Known(&'k Sockets),
    These(Sockets),
}

impl std::ops::Deref for SocketsOf<'_> {
    type Target = Sockets;
    fn deref(&self) -> &Sockets {
        match self {
            Self::Known(sockets) => sockets,
            Self::These(sockets) => sockets,
        }
    }
}

/// The groups of a document and the names of the documents that it uses.
#[derive(Default)]
pub(crate) struct Groups<'a> {
    pub(crate) own: HashMap<&'a str, Sockets>,
    pub(crate) aliases: HashSet<&'a str>,
    /// Whether a group has only one output, which is not called `value`.
    pub(crate) has_only_outputs: bool,
}

/// The meaning of a call.
#[derive(Clone)]
pub(crate) enum Callee<'c> {
    Type(Rc<Known>),
    Group(&'c str),
    Zone(Zone, &'c str),
    /// A closure of a group.
    Closure(&'c str),
    /// A function of formulas.
    Function,
}

impl Callee<'_> {
    /// Whether a call makes a node.
    pub(crate) fn is_node(&self) -> bool {
        !matches!(self, Self::Function)
    }
}

impl<'a> Groups<'a> {
    pub(crate) fn new(own: HashMap<&'a str, Sockets>, aliases: HashSet<&'a str>) -> Self {
        let has_only_outputs = own.values().any(|sockets| sockets.only_output().is_some());
        Self { own, aliases, has_only_outputs }
    }

    /// The meaning of a call.
    pub(crate) fn callee<'c>(
        &self,
        call: &'c Call<'_>,
        tree: &Tree<'_>,
        vocabulary: &Vocabulary<'_>,
    ) -> Callee<'c> {
        let name: &str = &call.name;
        let has = |sign: u8| name.bytes().any(|byte| byte == sign);
        match call.word {
            CallWord::Zone(zone) => return Callee::Zone(zone, name),
            CallWord::Closure => return Callee::Closure(name),
            CallWord::Group => return Callee::Group(name),
            CallWord::Node => return Callee::Type(vocabulary.known(name)),
            CallWord::None => {}
        }
        let is_own = self.own.get(name).is_some_and(|sockets| !sockets.is_block);
        if is_own || has(b'/') || self.aliases.contains(name) {
            return Callee::Group(name);
        }
        if has(b'.') || name == CALL {
            return Callee::Type(vocabulary.known(name));
        }
        match vocabulary.short(name) {
            Some(known) => Callee::Type(known),
            None if name::is_plain(name) && is_bare(call, tree) => Callee::Function,
            None => Callee::Type(vocabulary.known(name)),
        }
    }

    /// Whether a name after a call that makes a node, and a point, is that of an output. Otherwise
    /// it is that of components of the output that the call means.
    pub(crate) fn is_output(&self, callee: &Callee<'_>, name: &str) -> bool {
        let Callee::Group(group) = callee else { return true };
        let Some(sockets) = self.own.get(*group) else { return true };
        let has = |wanted: &str| sockets.outputs.iter().any(|output| **output == *wanted);
        has(name) || !(has(VALUE) || sockets.only_output().is_some())
    }

    /// The output that the name of a node or a call means: the only one of a group of the document,
    /// else `value`.
    pub(crate) fn output_of_face<'v>(
        &'v self,
        face: Face<'_>,
        value: &'v Arc<str>,
        (tree, vocabulary): (&Tree<'_>, &Vocabulary<'_>),
    ) -> &'v Arc<str> {
        if !self.has_only_outputs {
            return value;
        }
        let group = match face {
            Face::Group(group) => Some(group),
            Face::Call(call) => match self.callee(call, tree, vocabulary) {
                Callee::Group(group) => Some(group),
                Callee::Type(_) | Callee::Zone(..) | Callee::Closure(_) | Callee::Function => None,
            },
            Face::Zone(..) | Face::Value | Face::Called | Face::Type(_) | Face::Unknown => None,
        };
        let sockets = group.and_then(|group| self.own.get(group));
        sockets.and_then(Sockets::only_output).unwrap_or(value)
    }

    /// Whether a call inside a formula is part of the formula's text.
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
            Callee::Type(known) if call.name.contains('.') => {
                // Formulas accept names of two words, and no state.
                let name = &*known.name;
                let plain = name.split('.').count() == 2 && name.split('.').all(name::is_plain);
                let keeps_state = |def: &NodeDef| def.state.is_some() || def.delayed.is_some();
                call.word == CallWord::None
                    && plain
                    && !known.def.as_deref().is_some_and(keeps_state)
            }
            Callee::Type(known) if *known.name == *CALL => false,
            // Inside formulas short names mean functions.
            Callee::Type(_) => call.word == CallWord::None && name::is_plain(&call.name),
            Callee::Group(_) | Callee::Zone(..) | Callee::Closure(_) => false,
        }
    }
}

/// Whether a name consists of a family and a word.
fn is_joined(name: &str, family: &str, word: &str) -> bool {
    let split = name.as_bytes().split_at_checked(family.len());
    split.is_some_and(|(start, rest)| {
        is_same_word(rest, word.as_bytes()) && is_same_word(start, family.as_bytes())
    })
}

/// Whether a call has only arguments, as calls in formulas do.
fn is_bare(call: &Call<'_>, tree: &Tree<'_>) -> bool {
    let is_setting = |arg: &Arg<'_>| matches!(arg.to, ArgTo::Setting(_));
    !call.is_muted && call.version == 1 && !tree.args_of(&call.args).iter().any(is_setting)
}

/// What is known about the outputs of a node.
#[derive(Clone, Copy)]
pub(crate) enum Face<'a> {
    /// It has those of a group of the document.
    Group(&'a str),
    /// It has those of a group of the document, and those of a zone.
    Zone(Zone, &'a str),
    /// It has one, `value`.
    Value,
    /// It has those of a closure, which are not known here.
    Called,
    /// A node of a type.
    Type(&'a str),
    /// The node of a call.
    Call(&'a Call<'a>),
    /// Nothing.
    Unknown,
}
