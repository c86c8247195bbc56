//! How node types keep state from one tick to the next.
//!
//! A node that keeps state becomes nodes without: what it keeps comes in as inputs of the graph and
//! goes out as outputs, under names with a point, which authors cannot write. So evaluators know
//! nothing of state, and a tick commits by giving the outputs of one evaluation to the next. How a
//! type is taken apart is its [`Keeps`]; the compiler does it while lowering.

use std::sync::Arc;

use millstream_base::Type;

use crate::instance::Kernel;
use crate::node_def::NodeDef;
use crate::signature::{Among, SocketType};

/// Name of the node type that takes one of two values.
pub const PICK: &str = "state.pick";

/// What a node type keeps.
#[derive(Clone)]
pub enum Keeps {
    /// Values of these names and types. The node type does the work of one tick: its inputs are
    /// those of the node, then `started` (a `bool`, false where nothing is kept yet), `dt` (an
    /// `f64`, seconds from tick to tick), then what was kept; its outputs are those of the node, then
    /// what is kept from now on.
    Values(Vec<(&'static str, SocketType)>, Arc<NodeDef>),
    /// What input 0 was, as many ticks as the setting `ticks` says. The node gives the oldest; as
    /// long as there is none, input 1.
    Past,
    /// What the node gave. It gives input 0 where input 1 holds or nothing is kept, else what it
    /// kept.
    Held,
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
