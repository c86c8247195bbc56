//! Choices among values, as instances of the node type of a switch.

use std::collections::HashMap;
use std::sync::Arc;

use millstream_base::Type;
use millstream_node::{Instance, Registry, Settings};

/// The choices that were made.
pub(super) struct Choices<'r> {
    registry: &'r Registry,
    /// Seeded, as names of node types come from documents.
    known: HashMap<(Arc<str>, usize, Type), Arc<Instance>>,
}

impl<'r> Choices<'r> {
    pub(super) fn new(registry: &'r Registry) -> Self {
        Self { registry, known: HashMap::new() }
    }

    /// The choice of a switch among `n` values of a type.
    pub(super) fn of(&mut self, switch: &Arc<str>, n: usize, value: Type) -> Arc<Instance> {
        let key = (Arc::clone(switch), n, value);
        if let Some(known) = self.known.get(&key) {
            return Arc::clone(known);
        }
        let def = self.registry.get(switch).expect("the type of a switch is known");
        let sockets = &def.fixed_signature().expect("a switch has fixed sockets").inputs;
        let n_single = sockets.iter().filter(|socket| !socket.multiple).count();
        let n_left = (1 + n).saturating_sub(n_single) as u16;
        let arity = |multiple: bool| if multiple { n_left } else { 1 };
        let arities: Vec<u16> = sockets.iter().map(|socket| arity(socket.multiple)).collect();
        let made = def.instantiate(Settings::default(), vec![value], &arities);
        let made = Arc::new(made.expect("the arms of a switch may be of any type"));
        self.known.insert(key, Arc::clone(&made));
        made
    }
}
