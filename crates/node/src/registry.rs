//! The registry: node types and value types by name.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use millstream_base::Type;
use millstream_base::diagnostics::did_you_mean;
use rustc_hash::FxHashMap;

use crate::convert;
use crate::element_state;
use crate::node_def::NodeDef;
use crate::node_def::callback::{Shared, assemble};
use crate::node_def::instance::Instance;
use crate::node_def::state::{self, StateSpec};
use crate::reading;
use crate::repeat;

/// Node types and value types by name. The compiler and the evaluators know no others.
#[derive(Clone, Debug)]
pub struct Registry {
    defs: BTreeMap<String, Arc<NodeDef>>,
    types: FxHashMap<&'static str, Type>,
    conversion: Arc<NodeDef>,
    pick: Arc<NodeDef>,
    element_state: Arc<NodeDef>,
    capture: Arc<NodeDef>,
    /// What node types with callbacks are made of.
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
        let repeat = Arc::new(repeat::node_type());
        let of_callbacks = Shared {
            pick: Arc::clone(&pick),
            reading: Arc::new(reading::reading_type()),
            read: reading::capture,
        };
        let hidden = [&pick, &element_state, &capture, &repeat, &of_callbacks.reading]
            .map(|def| (def.name.to_string(), Arc::clone(def)));
        Self {
            defs: BTreeMap::new(),
            types,
            conversion: Arc::new(convert::node_type()),
            hidden: BTreeMap::from(hidden),
            pick,
            element_state,
            capture,
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
        self.defs.insert(def.name.to_string(), Arc::clone(&def));
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

    /// The names of the node types for whose nodes documents stand.
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

    /// The node type of implicit conversions.
    pub fn conversion(&self) -> &Arc<NodeDef> {
        &self.conversion
    }

    /// The name of the node type nearest to `name`, for messages.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        // A correct name in the wrong family is nearer than any spelling.
        let last = name.rsplit('.').next().unwrap_or(name);
        let same_last = self.defs.keys().find(|known| known.rsplit('.').next() == Some(last));
        same_last
            .map(String::as_str)
            .or_else(|| did_you_mean(name, self.defs.keys().map(String::as_str)))
    }

    /// All registered node types, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<NodeDef>> {
        self.defs.values()
    }

    /// The type called `name`, lists included: `f32`, `list<vec3>`.
    pub fn type_named(&self, name: &str) -> Option<Type> {
        Type::named(name, |name| self.types.get(name).copied())
    }

    /// The names of all types other than lists, sorted.
    pub fn type_names(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.types.keys().copied().collect();
        names.sort_unstable();
        names
    }
}
