//! The names of a body, and their meanings.
//!
//! Names are in one table, in which each written name is looked up once. Many names are looked up
//! together, because in large documents each look-up waits for memory.

use std::cell::OnceCell;
use std::sync::Arc;

use millstream_base::Span;
use millstream_base::ahead::read_ahead;
use millstream_base::pages::reserve_in_huge_pages;
use millstream_document::model::{NameHasher, NameTable, is_same};
use millstream_document::name_problem;
use millstream_node::Zone;
use millstream_node::interface::CALL;

use crate::error::{Problem, TextError, shortened};
use crate::names::{Callee, EXPRESSION, Face, Groups, Sockets, VALUE, Vocabulary};
use crate::tree::Tree;

/// The position of a name.
pub(crate) type NameId = u32;

/// No name of the body.
pub(crate) const NO_NAME: NameId = NameId::MAX;

/// A name that can mean only the node of this name, if there is one: it is neither an input nor a
/// constant.
pub(crate) const NODE: NameId = NameId::MAX - 1;

/// Bodies with more names exceed the cache, so names are looked up only if necessary.
pub(crate) const MANY: usize = 1 << 15;

/// The number of recent names that are found without a search.
const N_RECENT: usize = 1 << 13;

/// The number of names that are looked up together.
pub(crate) const TOGETHER: usize = 64;

/// The names of a body.
#[derive(Default)]
pub(crate) struct Scope<'a> {
    pub(crate) hasher: NameHasher,
    /// The positions of names.
    table: NameTable,
    names: Vec<Name<'a>>,
    /// A bit of the hash of each input, which shows that most names are not inputs.
    inputs: u64,
    /// Recent names, in a body with many names.
    recent: Vec<NameId>,
}

/// A name of a body.
pub(crate) struct Name<'a> {
    text: &'a str,
    /// The name as documents hold it, once something needs it. Made so late, it lies beside what it
    /// names.
    shared: OnceCell<Arc<str>>,
    pub(crate) hash: u32,
    pub(crate) is_input: bool,
    pub(crate) node: NodeOf,
    face: Face<'a>,
}

/// The node that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeOf {
    /// There is none.
    Nothing,
    /// The node that the text defines under this name.
    Statement,
    /// The node of an output.
    Output,
}

/// The kinds of meanings of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// An input of the body.
    Input,
    /// The value of a node.
    Node,
    /// A constant of formulas.
    Constant,
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

/// The meaning of a name after a name and a dot.
pub(crate) enum MemberOf {
    /// An output of a node.
    Link(Target),
    /// A component of the value that the first name means.
    Component(Target),
}

fn recent_slot(hash: u32) -> usize {
    (spread(hash) >> 40) as usize % N_RECENT
}

fn bit(hash: u32) -> u64 {
    1 << (spread(hash) >> 58)
}

pub(crate) fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl<'a> Scope<'a> {
    /// Makes room for `n` more names.
    pub(crate) fn reserve(&mut self, n: usize) {
        reserve_in_huge_pages(&mut self.names, n);
        self.table.reserve(n);
    }

    pub(crate) fn name(&self, id: NameId) -> Option<&Name<'a>> {
        self.names.get(id as usize)
    }

    /// The position of a name; [`NO_NAME`] if nothing has it.
    pub(crate) fn find(&self, name: &str) -> NameId {
        self.find_with(self.hasher.hash(name), name)
    }

    fn find_with(&self, hash: u32, name: &str) -> NameId {
        let is_it = |id: NameId| is_same(self.names[id as usize].text, name);
        self.table.find(hash, is_it).unwrap_or(NO_NAME)
    }

    /// The positions of up to [`TOGETHER`] names; [`NODE`] for some that can only mean a node.
    pub(crate) fn find_all(
        &mut self,
        names: &[&str],
        vocabulary: &Vocabulary<'_>,
        ids: &mut [NameId; TOGETHER],
    ) {
        if self.names.len() <= MANY {
            return self.find_each(names, ids);
        }
        for (id, name) in ids.iter_mut().zip(names) {
            let hash = self.hasher.hash(name);
            let recent =
                self.recent.get(recent_slot(hash)).and_then(|id| Some((*id, self.name(*id)?)));
            *id = match recent {
                Some((id, known)) if known.text == *name => id,
                _ if self.inputs & bit(hash) == 0 && !vocabulary.is_reserved(name) => NODE,
                _ => self.find_with(hash, name),
            };
        }
    }

    /// Records names that are likely to be referred to soon.
    pub(crate) fn met(&mut self, ids: &[NameId]) {
        if self.names.len() <= MANY {
            return;
        }
        if self.recent.is_empty() {
            self.recent.resize(N_RECENT, NO_NAME);
        }
        for id in ids {
            if let Some(name) = self.names.get(*id as usize) {
                self.recent[recent_slot(name.hash)] = *id;
            }
        }
    }

    /// Prefetches the places of names that will be added.
    pub(crate) fn read_ahead<'n>(&self, names: impl Iterator<Item = &'n str>) {
        read_ahead(names.map(|name| self.table.read_ahead(self.hasher.hash(name))));
    }

    /// The positions of up to [`TOGETHER`] names. Each step is done for all names in turn, in a
    /// short loop, so that their memory accesses overlap.
    fn find_each(&self, names: &[&str], ids: &mut [NameId; TOGETHER]) {
        let mut hashes = [0; TOGETHER];
        for (hash, name) in hashes.iter_mut().zip(names) {
            *hash = self.hasher.hash(name);
        }
        for (id, hash) in ids.iter_mut().zip(&hashes).take(names.len()) {
            *id = self.table.find(*hash, |_| true).unwrap_or(NO_NAME);
        }
        let mut known = [""; TOGETHER];
        for (known, id) in known.iter_mut().zip(&*ids).take(names.len()) {
            *known = self.name(*id).map_or("", |name| name.text);
        }
        for (i, name) in names.iter().enumerate() {
            // Another name may have the same hash.
            if ids[i] != NO_NAME && known[i] != *name {
                ids[i] = self.find_with(hashes[i], name);
            }
        }
    }

    fn add(&mut self, text: &'a str) -> NameId {
        let hash = self.hasher.hash(text);
        let known = self.find_with(hash, text);
        if known != NO_NAME {
            return known;
        }
        let id = self.names.len() as NameId;
        let (shared, node, face) = (OnceCell::new(), NodeOf::Nothing, Face::Unknown);
        // Writing to the table may wait for memory, and what is written after it too.
        self.names.push(Name { text, shared, hash, is_input: false, node, face });
        self.table.insert(hash, id);
        id
    }

    pub(crate) fn add_input(&mut self, name: &'a str) {
        let id = self.add(name);
        let name = &mut self.names[id as usize];
        name.is_input = true;
        self.inputs |= bit(name.hash);
    }

    /// Adds a node, and returns the position of its name; `None` if there is one of its name.
    pub(crate) fn add_node(
        &mut self,
        name: &'a str,
        node: NodeOf,
        face: Face<'a>,
    ) -> Option<NameId> {
        let id = self.add(name);
        self.names[id as usize].add_node(node, face).then_some(id)
    }

    /// Whether a statement or an output gives a node the name, whose hash is known.
    pub(crate) fn has_node(&self, hash: u32, name: &str) -> bool {
        self.name(self.find_with(hash, name)).is_some_and(Name::has_node)
    }

    /// The node of this name, shared if there is one.
    pub(crate) fn node(&self, name: &str) -> Arc<str> {
        self.name(self.find(name)).map_or_else(|| name.into(), Name::shared)
    }

    /// The kind of meaning of a name: an input, or the value of a node, or a constant.
    pub(crate) fn meaning(
        &self,
        id: NameId,
        (name, is_quoted): (&str, bool),
        vocabulary: &Vocabulary<'_>,
    ) -> Meaning {
        match self.name(id) {
            _ if id == NODE => Meaning::Node,
            Some(known) if known.is_input => Meaning::Input,
            Some(known) if known.has_node() => Meaning::Node,
            _ if !is_quoted && vocabulary.is_reserved(name) => Meaning::Constant,
            _ => Meaning::Node,
        }
    }

    /// The meaning of a name.
    pub(crate) fn resolve(
        &self,
        id: NameId,
        (name, is_quoted): (&str, bool),
        value: &Arc<str>,
        known: (&Groups<'_>, &Tree<'_>, &Vocabulary<'_>),
    ) -> Target {
        let shared = || self.name(id).map_or_else(|| name.into(), Name::shared);
        match self.meaning(id, (name, is_quoted), known.2) {
            Meaning::Input => Target::Input(shared()),
            Meaning::Node => {
                Target::Link(shared(), Arc::clone(self.output_of(id, name, value, known)))
            }
            Meaning::Constant => Target::Constant,
        }
    }

    /// The output that the name of a node means: the only one of a group, else `value`.
    pub(crate) fn output_of<'v>(
        &self,
        id: NameId,
        name: &str,
        value: &'v Arc<str>,
        (groups, tree, vocabulary): (&'v Groups<'_>, &Tree<'_>, &Vocabulary<'_>),
    ) -> &'v Arc<str> {
        // Otherwise the name need not be looked up.
        if !groups.has_only_outputs {
            return value;
        }
        let id = if id == NODE { self.find(name) } else { id };
        let known = self.name(id).filter(|known| known.has_node());
        known.map_or(value, |known| groups.output_of_face(known.face, value, (tree, vocabulary)))
    }

    /// Reports a link that no document can have.
    ///
    /// # Errors
    /// If its node or output cannot have its name.
    pub(crate) fn check_link(
        &self,
        target: &Target,
        value: &Arc<str>,
        span: Span,
    ) -> Result<(), Problem> {
        let Target::Link(node, output) = target else { return Ok(()) };
        let output = Some(output).filter(|output| !Arc::ptr_eq(output, value));
        let names = [("a node", Some(node)), ("an output", output)];
        for (what, name) in names {
            let Some(name) = name else { continue };
            // Names of existing nodes are checked with the nodes.
            if let Some(reason) = name_problem(name)
                && !(what == "a node" && self.has_node(self.hasher.hash(name), name))
            {
                let error = TextError::BadName { what, name: shortened(name), reason };
                return Err(Problem::new(span.start as usize, span.end as usize, error));
            }
        }
        Ok(())
    }

    /// The meaning of `name.member`: an output of a node, or a component of a value.
    pub(crate) fn resolve_member(
        &self,
        id: NameId,
        (name, is_quoted): (&str, bool),
        member: &str,
        value: &Arc<str>,
        known: (&Groups<'_>, &Tree<'_>, &Vocabulary<'_>),
    ) -> MemberOf {
        let id = if id == NODE { self.find(name) } else { id };
        if !self.links_output(id, (name, is_quoted), member, known) {
            return MemberOf::Component(self.resolve(id, (name, is_quoted), value, known));
        }
        let node = self.name(id).map_or_else(|| name.into(), Name::shared);
        let output = if member == VALUE { Arc::clone(value) } else { known.2.share(member) };
        MemberOf::Link(Target::Link(node, output))
    }

    /// Whether `name.member` means an output of a node.
    pub(crate) fn links_output(
        &self,
        id: NameId,
        (name, is_quoted): (&str, bool),
        member: &str,
        (groups, tree, vocabulary): (&Groups<'_>, &Tree<'_>, &Vocabulary<'_>),
    ) -> bool {
        let Some(known) = self.name(id).filter(|known| known.has_node()) else {
            return self.meaning(id, (name, is_quoted), vocabulary) == Meaning::Node;
        };
        let has = |sockets: &Sockets| sockets.outputs.iter().any(|output| **output == *member);
        let of_type = |name: &str| {
            name == EXPRESSION && member == VALUE
                || name != EXPRESSION
                    && vocabulary.plain_sockets(&vocabulary.known(name)).is_none_or(has)
        };
        let of_group = |name: &str| groups.own.get(name).is_none_or(has);
        let of_zone = |zone: Zone, name: &str| {
            let mut told = zone.outputs_after(|_| false);
            of_group(name) || told.any(|told| told.name() == member)
        };
        match known.face {
            Face::Value => member == VALUE,
            Face::Called => true,
            Face::Type(name) => of_type(name),
            Face::Group(name) => of_group(name),
            Face::Zone(zone, name) => of_zone(zone, name),
            Face::Call(call) => match groups.callee(call, tree, vocabulary) {
                Callee::Type(known) if *known.name == *CALL => true,
                Callee::Type(known) => of_type(&known.name),
                Callee::Group(name) => of_group(name),
                Callee::Zone(zone, name) => of_zone(zone, name),
                Callee::Closure(_) | Callee::Function => member == VALUE,
            },
            Face::Unknown => true,
        }
    }
}

impl<'a> Name<'a> {
    /// The name as documents hold it.
    pub(crate) fn shared(&self) -> Arc<str> {
        Arc::clone(self.shared.get_or_init(|| Arc::from(self.text)))
    }

    /// Gives the name to a node; false if it has one.
    fn add_node(&mut self, node: NodeOf, face: Face<'a>) -> bool {
        let is_free = self.node == NodeOf::Nothing;
        if is_free {
            (self.node, self.face) = (node, face);
        }
        is_free
    }

    fn has_node(&self) -> bool {
        self.node != NodeOf::Nothing
    }
}

#[cfg(test)]
mod tests {
    use millstream_node::Registry;

    use super::*;

    #[test]
    fn names_that_are_looked_up_together_are_found() {
        let all: Vec<String> = (0..1000).map(|i| format!("n{i}")).collect();
        let mut scope = Scope::default();
        for (i, name) in (0..).zip(&all) {
            assert_eq!(scope.add_node(name, NodeOf::Statement, Face::Value), Some(i));
        }
        let names: Vec<String> = (0..TOGETHER).map(|i| format!("n{}", 31 * i)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut ids = [NO_NAME; TOGETHER];
        scope.find_each(&names, &mut ids);
        for (name, id) in names.iter().zip(ids) {
            assert_eq!(id, scope.find(name));
            let is_known = scope.name(id).is_some_and(|known| known.text == *name);
            assert_eq!(is_known, name[1..].parse::<u32>().expect("a number") < 1000);
        }
    }

    #[test]
    fn names_of_a_large_body_mean_the_same() {
        let registry = Registry::new();
        let vocabulary = Vocabulary::new(&registry);
        let all: Vec<String> = (0..=MANY).map(|i| format!("n{i}")).collect();
        let mut scope = Scope::default();
        scope.add_input("input");
        for name in &all {
            scope.add_node(name, NodeOf::Statement, Face::Value);
        }
        scope.add_node("input", NodeOf::Statement, Face::Value);
        scope.met(&[9]);
        // Hashes are seeded, so another name may look like that of an input.
        let bit_of = |name: &str| bit(scope.hasher.hash(name));
        let far = all[10..].iter().find(|name| bit_of(name) != bit_of("input"));
        let names = [far.expect("hashes differ").as_str(), "n8", "input", "nothing"];
        let mut ids = [NO_NAME; TOGETHER];
        scope.find_all(&names, &vocabulary, &mut ids);
        let value = Arc::from(VALUE);
        let (groups, tree) = (Groups::default(), Tree::default());
        let known = (&groups, &tree, &vocabulary);
        for (name, id) in names.iter().zip(ids) {
            let meaning = |id| scope.resolve(id, (name, false), &value, known);
            assert_eq!(meaning(id), meaning(scope.find(name)), "{name}");
        }
        assert_eq!(ids[..2], [NODE, 9]);
    }
}
