//! How node types keep state from one tick to the next.
//!
//! A node that keeps state becomes nodes without: what it keeps comes in as inputs of the graph and
//! goes out as outputs, under names with a point, which authors cannot write. So evaluators know
//! nothing of state, and a tick commits by giving the outputs of one evaluation to the next. How a
//! type is taken apart is its [`Keeps`]; the compiler does it while lowering.

use std::sync::Arc;

use millstream_base::Type;

use crate::instance::{Instance, Kernel};
use crate::node_def::NodeDef;
use crate::settings::Settings;
use crate::signature::{Among, SocketType};

/// Name of the node type that takes one of two values.
pub const PICK: &str = "state.pick";

/// Name of whether a node keeps anything yet, which comes besides what it keeps.
pub const STARTED: &str = "started";

/// What a node type keeps.
#[derive(Clone)]
pub enum Keeps {
    /// Values of these names and types. The node type does the work of one tick: its inputs are
    /// those of the node, then `started` (a `bool`, false where nothing is kept yet), `dt` (an
    /// `f64`, seconds from tick to tick), then what was kept; its outputs are those of the node, then
    /// what is kept from now on.
    Values(Vec<(&'static str, SocketType)>, Arc<NodeDef>),
    /// What input 0 was, as many ticks as the setting `ticks` says. The node gives the oldest; as
    /// long as there is none, what input 1 was at the first tick.
    Past,
    /// What the node gave. It gives input 0 where input 1 holds or nothing is kept, else what it
    /// kept.
    Held,
}

impl Keeps {
    /// The node that does the work of a tick for an instance; `None` where values only move.
    ///
    /// # Panics
    /// If the work does not take the types that the node type takes.
    pub fn work_of(&self, instance: &Instance) -> Option<Instance> {
        let Self::Values(values, work) = self else { return None };
        let n_inputs = instance.inputs.len() + 2 + values.len();
        let (settings, generics) = (instance.settings.clone(), instance.generics.clone());
        let made = work.instantiate(settings, generics, &vec![1; n_inputs]);
        Some(made.expect("the work of a tick takes the types that its node takes"))
    }

    /// The names and types of what an instance keeps, besides [`STARTED`]; `work` is its
    /// [work](Self::work_of).
    pub fn variables(&self, instance: &Instance, work: Option<&Instance>) -> Vec<(Arc<str>, Type)> {
        match self {
            Self::Values(values, _) => {
                let kept = work.map_or(&[][..], |work| &work.inputs[instance.inputs.len() + 2..]);
                values.iter().zip(kept).map(|((name, _), slot)| ((*name).into(), slot.ty)).collect()
            }
            Self::Past => {
                let n_ticks = instance.settings.integer("ticks").max(1);
                (0..n_ticks).map(|i| (format!("past{i}").into(), instance.inputs[0].ty)).collect()
            }
            Self::Held => vec![("held".into(), instance.inputs[0].ty)],
        }
    }
}

/// What takes one of two values of a type; `pick` is the node type.
pub(crate) fn pick_of(pick: &Arc<NodeDef>, ty: Type) -> Instance {
    let made = pick.instantiate(Settings::default(), vec![ty], &[1; 3]);
    made.expect("one of two values can be of any type")
}

/// The node type that takes one of two values, which lowering makes use of.
pub(crate) fn pick() -> NodeDef {
    NodeDef::new(PICK, "What is kept, or something else where nothing is")
        .generic("T", Among::Any)
        .input("condition", Type::BOOL, "whether something is kept")
        .input("false", SocketType::Generic(0), "taken where nothing is")
        .input("true", SocketType::Generic(0), "what is kept")
        .output("value", SocketType::Generic(0), "what is taken")
        .kernel(|_| Ok(Kernel::Choose))
}

impl std::fmt::Debug for Keeps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Values(values, _) => f.debug_tuple("Values").field(values).finish(),
            Self::Past => f.write_str("Past"),
            Self::Held => f.write_str("Held"),
        }
    }
}
