//! The node types of which expressions consist, with their instances and the networks of
//! expressions.
//!
//! All expressions made with one registry share the instances, and those of the same structure
//! their network. A lock is held only for a lookup; the data it guards is merely a cache.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use millstream_base::Type;
use millstream_base::diagnostics::did_you_mean;
use millstream_node::{Instance, Network, NodeDef, Registry, Settings};
use rustc_hash::FxHashMap;

use super::network::network;
use super::{Expression, SyntaxError, functions};

/// The maximum number of cached instances, and that of networks.
const MAX_CACHED: usize = 1 << 12;

/// The node types of a library.
pub(super) struct Library {
    registry: Registry,
    /// By node type, types and the setting of `vector.swizzle`.
    instances: Mutex<FxHashMap<Key, Arc<Instance>>>,
    /// Hashed with a seed, because expressions come from untrusted documents.
    networks: Mutex<HashMap<Structure, Arc<Network>>>,
}

/// An expression with the types of its inputs. Those with equal terms are equal, whatever the names
/// of their inputs are.
struct Structure(Expression, Vec<Type>);

impl PartialEq for Structure {
    fn eq(&self, other: &Self) -> bool {
        self.0.terms == other.0.terms && self.0.nodes == other.0.nodes && self.1 == other.1
    }
}

impl Eq for Structure {}

impl Hash for Structure {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.0.terms, &self.0.nodes, &self.1).hash(state);
    }
}

type Key = (usize, Vec<Type>, Box<str>);

impl Library {
    /// The current node types of a registry, without expressions, which hold a registry themselves.
    pub(super) fn new(registry: &Registry) -> Self {
        let mut registry = registry.clone();
        registry.remove(super::NAME);
        Self { registry, instances: Mutex::default(), networks: Mutex::default() }
    }

    /// The network of an expression whose inputs have these types, shared by expressions of the
    /// same structure.
    ///
    /// # Errors
    /// See [`network`].
    pub(super) fn network(
        &self,
        expression: Expression,
        types: &[Type],
    ) -> Result<Arc<Network>, SyntaxError> {
        let lock = || self.networks.lock().unwrap_or_else(PoisonError::into_inner);
        let structure = Structure(expression, types.to_vec());
        if let Some(known) = lock().get(&structure) {
            return Ok(Arc::clone(known));
        }
        let made = Arc::new(network(&structure.0, types, self)?);
        // Narrowed parts have places in the text.
        if made.narrowed.is_empty() {
            let mut known = lock();
            if known.len() >= MAX_CACHED {
                known.clear();
            }
            known.insert(structure, Arc::clone(&made));
        }
        Ok(made)
    }

    /// A node type that expressions rely on.
    ///
    /// # Panics
    /// If the registry lacks it.
    pub(super) fn def(&self, name: &str) -> &Arc<NodeDef> {
        self.registry.get(name).expect("the node types of expressions are registered before them")
    }

    /// The counterpart of this name, else the node type that is spelled most similarly unless
    /// a function is.
    pub(super) fn near(&self, name: &str) -> Option<&str> {
        let is_function = || did_you_mean(name, functions::names()).is_some();
        let counterpart = self.registry.counterpart(name);
        counterpart.or_else(|| if is_function() { None } else { self.registry.nearest(name) })
    }

    /// The node type that a text calls by this name.
    ///
    /// # Errors
    /// A message and a hint, if there is none or it cannot be called.
    pub(super) fn find(&self, name: &str) -> Result<&Arc<NodeDef>, (String, String)> {
        match self.registry.get(name) {
            Some(def) if def.state.is_some() || def.delayed.is_some() => {
                let hint = "use a separate node and link it";
                Err((format!("`{name}` keeps state"), hint.into()))
            }
            Some(def) if def.body.is_some() => {
                let hint = "use a separate node and link it";
                Err((format!("`{name}` is defined by a document"), hint.into()))
            }
            Some(def) => Ok(def),
            None if name == super::NAME => {
                let hint = "write its formula in parentheses, or use a separate node and link it";
                Err((format!("formulas do not call `{name}`"), hint.into()))
            }
            None => {
                let hint = match self.registry.nearest(name) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "`millstream nodes` lists the node types".into(),
                };
                Err((format!("there is no node type `{name}`"), hint))
            }
        }
    }

    /// The instance of a node type that expressions rely on, with default settings.
    ///
    /// # Panics
    /// If there is none for these types.
    pub(super) fn instance(&self, name: &str, generics: &[Type]) -> Arc<Instance> {
        self.made(self.def(name), generics, "").expect("the node type takes these types")
    }

    /// The instance that gives some components of a vector of type `ty`.
    pub(super) fn swizzle(&self, components: &str, ty: Type) -> Arc<Instance> {
        let def = self.def("vector.swizzle");
        self.made(def, &[ty], components).expect("the vector has these components")
    }

    /// The instance of a node type with one source per socket; `None` if it has none for these
    /// types.
    pub(super) fn made(
        &self,
        def: &Arc<NodeDef>,
        generics: &[Type],
        components: &str,
    ) -> Option<Arc<Instance>> {
        let key = (Arc::as_ptr(def) as usize, generics.to_vec(), components.into());
        let mut known = self.instances.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(instance) = known.get(&key) {
            return Some(Arc::clone(instance));
        }
        let mut settings = default_settings(def)?;
        if !components.is_empty() {
            let components = serde_json::Value::from(components);
            let given = [("components", &components)];
            settings = Settings::read(&def.settings, given, &|_| None).ok()?;
        }
        let n_sockets = def.signature(&settings).ok()?.inputs.len();
        let made = def.instantiate(settings, generics.to_vec(), &vec![1; n_sockets]).ok()?;
        let made = Arc::new(made);
        if known.len() >= MAX_CACHED {
            known.clear();
        }
        known.insert(key, Arc::clone(&made));
        Some(made)
    }
}

/// The default settings of a node type; `None` if a setting has no default.
pub(super) fn default_settings(def: &NodeDef) -> Option<Settings> {
    Settings::read(&def.settings, [], &|_| None).ok()
}
