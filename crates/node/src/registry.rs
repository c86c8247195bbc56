//! The registry: node types and value types by name.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use millstream_base::Type;
use millstream_base::diagnostics::did_you_mean;
use rustc_hash::FxHashMap;

use crate::convert;
use crate::element_state;
use crate::interface;
use crate::node_def::NodeDef;
use crate::node_def::callback::{Shared, assemble};
use crate::node_def::instance::Instance;
use crate::node_def::state::{self, StateSpec};
use crate::reading;
use crate::zone::Zone;

/// Node types and value types by name. The compiler and the evaluators know no others.
#[derive(Clone, Debug)]
pub struct Registry {
    defs: BTreeMap<String, Arc<NodeDef>>,
    /// In the order in which their first node types were added.
    families: Vec<Box<str>>,
    /// Words of other programs, with the names of node types to which they lead, the best first.
    synonyms: FxHashMap<&'static str, &'static [&'static str]>,
    types: FxHashMap<&'static str, Type>,
    conversion: Arc<NodeDef>,
    pick: Arc<NodeDef>,
    element_state: Arc<NodeDef>,
    capture: Arc<NodeDef>,
    typed_call: Arc<NodeDef>,
    /// The node types that all node types with callbacks share.
    of_callbacks: Shared,
    /// Node types whose nodes only the compiler makes.
    hidden: BTreeMap<String, Arc<NodeDef>>,
    with_bodies: BTreeSet<Cow<'static, str>>,
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}

impl Registry {
    /// A registry with the built-in types and no node types.
    pub fn new() -> Self {
        let types = Type::BUILT_IN.into_iter().map(|ty| (ty.name(), ty)).collect();
        let (pick, element_state) = (Arc::new(state::pick()), Arc::new(element_state::node_type()));
        let capture = Arc::new(reading::capture_type());
        let of_callbacks = Shared {
            pick: Arc::clone(&pick),
            reading: Arc::new(reading::reading_type()),
            read: reading::capture,
        };
        let zones = Zone::ALL.map(|zone| Arc::new(zone.node_type()));
        let hidden = [&pick, &element_state, &capture, &of_callbacks.reading];
        let closures = [interface::closure_node(), interface::call_node()].map(Arc::new);
        let hidden = hidden.into_iter().chain(&zones).chain(&closures);
        let hidden = hidden.map(|def| (def.name.to_string(), Arc::clone(def)));
        Self {
            defs: BTreeMap::new(),
            families: Vec::new(),
            synonyms: FxHashMap::default(),
            types,
            conversion: Arc::new(convert::node_type()),
            hidden: hidden.collect(),
            pick,
            element_state,
            capture,
            typed_call: Arc::new(interface::typed_call()),
            of_callbacks,
            with_bodies: BTreeSet::new(),
        }
    }

    /// Adds a node type, replacing one of the same name.
    ///
    /// # Panics
    /// If the node type has a callback, and its sockets or declarations contradict each other.
    pub fn register(&mut self, mut def: NodeDef) -> Arc<NodeDef> {
        for part in assemble(&mut def, &self.of_callbacks) {
            self.hidden.insert(part.name.to_string(), part);
        }
        let def = Arc::new(def);
        if let Some(StateSpec::Values(_, work)) = &def.state {
            self.hidden.insert(work.name.to_string(), Arc::clone(work));
        }
        if def.body.is_some() {
            self.with_bodies.insert(def.name.clone());
        } else {
            self.with_bodies.remove(&def.name);
        }
        let family = family_of(&def.name);
        let known = self.defs.range(format!("{family}.")..).next();
        if known.is_none_or(|(known, _)| family_of(known) != family) {
            self.families.push(family.into());
        }
        self.defs.insert(def.name.to_string(), Arc::clone(&def));
        def
    }

    /// Adds a node type whose nodes only networks make.
    pub fn register_part(&mut self, def: NodeDef) -> Arc<NodeDef> {
        let def = Arc::new(def);
        self.hidden.insert(def.name.to_string(), Arc::clone(&def));
        def
    }

    /// Removes a node type; does nothing if there is none of this name.
    pub fn remove(&mut self, name: &str) {
        self.defs.remove(name);
        self.with_bodies.remove(name);
    }

    /// Adds several node types, see [`register`](Self::register).
    pub fn register_all(&mut self, defs: impl IntoIterator<Item = NodeDef>) {
        for def in defs {
            self.register(def);
        }
    }

    /// Adds a value type under its name.
    pub fn register_type(&mut self, ty: Type) {
        self.types.insert(ty.name(), ty);
    }

    /// The names of the node types whose nodes are replaced by documents.
    pub fn with_bodies(&self) -> &BTreeSet<Cow<'static, str>> {
        &self.with_bodies
    }

    /// The node type called `name`, including those whose nodes only the compiler makes.
    pub fn get(&self, name: &str) -> Option<&Arc<NodeDef>> {
        if name == convert::CONVERT {
            return Some(&self.conversion);
        }
        self.defs.get(name).or_else(|| self.hidden.get(name))
    }

    /// The instance that selects between the state of a type and its initial value.
    pub fn pick(&self, ty: Type) -> Instance {
        state::pick_of(&self.pick, ty)
    }

    /// The node type that reads the state of a node for the current element.
    pub fn element_state(&self) -> &Arc<NodeDef> {
        &self.element_state
    }

    /// The node type that reads the context for the body of a repeat.
    pub fn capture(&self) -> &Arc<NodeDef> {
        &self.capture
    }

    /// The node type of calls of closures whose interface is known.
    pub fn typed_call(&self) -> &Arc<NodeDef> {
        &self.typed_call
    }

    /// The node type of implicit conversions.
    pub fn conversion(&self) -> &Arc<NodeDef> {
        &self.conversion
    }

    /// Adds words of other programs, with the names to which they lead, the best first; names that
    /// are not of node types are passed over.
    pub fn add_synonyms(
        &mut self,
        synonyms: impl IntoIterator<Item = (&'static str, &'static [&'static str])>,
    ) {
        self.synonyms.extend(synonyms);
    }

    /// The name of the node type nearest to `name`, for messages: its counterpart if there is one,
    /// else one that is spelled similarly.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        let spelled = || did_you_mean(name, self.defs.keys().map(String::as_str));
        self.counterpart(name).or_else(spelled)
    }

    /// The node type that has the last name of `name`, or else to which that name leads as a word of
    /// other programs, or else whose last name is one of its words, in the same family.
    pub fn counterpart(&self, name: &str) -> Option<&str> {
        let (family, last) = (family_of(name), last_name(name));
        let of_part = || {
            let parts = last.rsplit('_').filter(|part| *part != last);
            let mut names = parts.map(|part| format!("{family}.{part}"));
            names.find_map(|name| self.defs.get_key_value(&name))
        };
        let of_part = || of_part().map(|(known, _)| known.as_str());
        self.namesake(name).or_else(|| self.synonym(name)).or_else(of_part)
    }

    /// The node type to which a name leads as a word of other programs: preferably one of the same
    /// family, else the best.
    fn synonym(&self, name: &str) -> Option<&str> {
        let plain = |name: &str| name.to_lowercase().replace(['_', '.'], " ");
        let find = |word: String| self.synonyms.get(&*word);
        let names = find(plain(name)).or_else(|| find(plain(last_name(name))))?;
        let known = || names.iter().copied().filter(|name| self.defs.contains_key(*name));
        known().find(|known| family_of(known) == family_of(name)).or_else(|| known().next())
    }

    /// The node type of another family with the last name of `name`: that of the family whose name
    /// continues the other one, as `vector` continues `vec`; else, if there is no such family, that
    /// of the one spelled most similarly; else that of the family with that name, or else of the one
    /// that was added first.
    pub fn namesake(&self, name: &str) -> Option<&str> {
        let last = last_name(name);
        let namesakes = self.defs.keys().filter(|known| last_name(known) == last);
        let mut namesakes: Vec<&str> = namesakes.map(String::as_str).collect();
        let meant = family_of(name);
        let is_family = self.families.iter().any(|family| **family == *meant);
        let families = namesakes.iter().map(|known| family_of(known)).filter(|_| !is_family);
        let near = did_you_mean(meant, families);
        let continues = |family: &str| {
            meant.len() > 1 && (family.starts_with(meant) || meant.starts_with(family))
        };
        let rank = |known: &&str| {
            let family = family_of(known);
            (!continues(family), near != Some(family), family != last, self.rank_of_family(family))
        };
        namesakes.sort_by_key(rank);
        namesakes.first().copied()
    }

    /// The position of a family in the order in which the families were added; that of an unknown
    /// one follows them.
    pub fn rank_of_family(&self, family: &str) -> usize {
        let known = self.families.iter().position(|known| **known == *family);
        known.unwrap_or(self.families.len())
    }

    /// All registered node types, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<NodeDef>> {
        self.defs.values()
    }

    /// The type called `name`, lists and closures included: `f32`, `list<vec3>`,
    /// `closure<p: vec3 -> f32>`.
    pub fn type_named(&self, name: &str) -> Option<Type> {
        Type::named(name, |name| {
            let known = self.types.get(name).copied();
            known.or_else(|| interface::closure_type(name, &|inner| self.type_named(inner)))
        })
    }

    /// The names of all types other than lists, sorted.
    pub fn type_names(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.types.keys().copied().collect();
        names.sort_unstable();
        names
    }
}

/// The part of a name before the first dot; empty without a dot.
fn family_of(name: &str) -> &str {
    name.split_once('.').map_or("", |(family, _)| family)
}

/// The part of a name after the last dot.
fn last_name(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(_, last)| last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_of_close_names_come_first_and_words_of_other_programs_before_spelling() {
        let mut registry = Registry::new();
        let names = [
            "string.distance",
            "vector.distance",
            "math.erf",
            "mat4.mix",
            "color.mix",
            "mix.mix",
            "image.blur",
        ];
        for name in names {
            registry.register(NodeDef::new(name, ""));
        }
        registry.add_synonyms([
            ("lerp", &["repeat", "mix.mix"][..]),
            ("soften", &["mix.mix", "image.blur"]),
        ]);
        for (name, near) in [
            ("vec.distance", Some("vector.distance")),
            ("vectors.distance", Some("vector.distance")),
            ("math.mix", Some("mix.mix")),
            ("colr.mix", Some("color.mix")),
            ("math.lerp", Some("mix.mix")),
            ("Lerp", Some("mix.mix")),
            ("image.soften", Some("image.blur")),
            ("image.gaussian_blur", Some("image.blur")),
            ("math.erfs", Some("math.erf")),
        ] {
            assert_eq!(registry.nearest(name), near, "{name}");
        }
    }

    #[test]
    fn the_same_last_name_is_nearer_than_any_spelling() {
        let mut registry = Registry::new();
        let names = ["math.clamps", "mix.clamp", "blend.clamp", "math.add", "mat4.add", "list.add"];
        for name in names {
            registry.register(NodeDef::new(name, ""));
        }
        for (name, near) in [
            ("math.clamp", Some("mix.clamp")),
            ("clamp", Some("mix.clamp")),
            ("blnd.clamp", Some("blend.clamp")),
            ("string.add", Some("math.add")),
            ("mat.add", Some("mat4.add")),
            ("math.clmps", Some("math.clamps")),
            ("image.blur", None),
            ("", None),
        ] {
            assert_eq!(registry.nearest(name), near, "{name}");
        }
    }
}
