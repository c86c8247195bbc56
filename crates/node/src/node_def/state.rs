//! How node types keep state from one tick to the next.
//!
//! Lowering replaces a stateful node by stateless ones: the old state becomes inputs of the graph
//! and the new state outputs, under names with a dot, which authors cannot write. Evaluators
//! therefore know nothing of state, and a tick passes the outputs of one evaluation on to the next.
//! [`StateSpec`] tells how the nodes of a type are replaced.

use std::sync::Arc;

use millstream_base::Type;

use crate::node_def::NodeDef;
use crate::node_def::instance::{Instance, Kernel};
use crate::settings::Settings;
use crate::signature::{Among, SocketType};

/// Name of the node type that selects one of two values.
pub const PICK: &str = "state.pick";

/// Name of the variable that tells whether a node has state yet.
pub const STARTED: &str = "started";

/// The state of a node type.
#[derive(Clone)]
pub enum StateSpec {
    /// Variables with these names and types. The node type computes one tick: its inputs are those
    /// of the node, then `started` (a `bool`, false while there is no state), `dt` (an `f64`,
    /// seconds since the last tick), and the old state; its outputs are those of the node, then the
    /// new state.
    Values(Vec<(&'static str, SocketType)>, Arc<NodeDef>),
    /// The values of input 0 in the most recent ticks, as many as the setting `ticks` says. The
    /// node returns the oldest or, until there is one, the value of input 1 at the first tick.
    Past,
    /// As `Values`, for one instance: the names and types of its variables, and the instance that
    /// computes a tick.
    Made(Vec<(Arc<str>, Type)>, Arc<Instance>),
    /// The last output of the node. The node returns input 0 if input 1 is true or there is no
    /// state, else its last output.
    Held,
}

impl StateSpec {
    /// Whether input 0 counts for later ticks only, so that it may depend on the node itself.
    pub fn delays_first(&self) -> bool {
        matches!(self, Self::Past)
    }

    /// The node that computes a tick of an instance; `None` if values only move.
    ///
    /// # Panics
    /// If the types of that node differ from those of the instance.
    pub fn work_of(&self, instance: &Instance) -> Option<Arc<Instance>> {
        let (values, work) = match self {
            Self::Values(values, work) => (values, work),
            Self::Made(_, work) => return Some(Arc::clone(work)),
            Self::Past | Self::Held => return None,
        };
        let n_inputs = instance.inputs.len() + 2 + values.len();
        let (settings, generics) = (instance.settings.clone(), instance.generics.clone());
        let made = work.instantiate(settings, generics, &vec![1; n_inputs]);
        Some(Arc::new(made.expect("the work of a tick takes the types that its node takes")))
    }

    /// The names and types of an instance's state, other than [`STARTED`]; `work` is the result of
    /// [`work_of`](Self::work_of).
    pub fn variables(&self, instance: &Instance, work: Option<&Instance>) -> Vec<(Arc<str>, Type)> {
        match self {
            Self::Values(values, _) => {
                let kept = work.map_or(&[][..], |work| &work.inputs[instance.inputs.len() + 2..]);
                values.iter().zip(kept).map(|((name, _), slot)| ((*name).into(), slot.ty)).collect()
            }
            Self::Made(variables, _) => variables.clone(),
            Self::Past => {
                let n_ticks = instance.settings.integer("ticks").max(1);
                (0..n_ticks).map(|i| (format!("past{i}").into(), instance.inputs[0].ty)).collect()
            }
            Self::Held => vec![("held".into(), instance.inputs[0].ty)],
        }
    }
}

/// The instance that selects one of two values of a type; `pick` is the node type.
pub(crate) fn pick_of(pick: &Arc<NodeDef>, ty: Type) -> Instance {
    let made = pick.instantiate(Settings::default(), vec![ty], &[1; 3]);
    made.expect("one of two values can be of any type")
}

/// The node type that selects one of two values, for nodes that lowering makes.
pub(crate) fn pick() -> NodeDef {
    NodeDef::new(PICK, "The state, or another value if there is none")
        .generic("T", Among::Any)
        .input("condition", Type::BOOL, "whether there is state")
        .input("false", SocketType::Generic(0), "the value without state")
        .input("true", SocketType::Generic(0), "the state")
        .output("value", SocketType::Generic(0), "the selected value")
        .kernel(|_| Ok(Kernel::Choose))
}

impl std::fmt::Debug for StateSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Values(values, _) => f.debug_tuple("Values").field(values).finish(),
            Self::Made(variables, _) => f.debug_tuple("Made").field(variables).finish(),
            Self::Past => f.write_str("Past"),
            Self::Held => f.write_str("Held"),
        }
    }
}
