//! What is learnt about the nodes of a graph, in tables beside it.
//!
//! Each analysis is one walk in topological order. A table is of the graph as it was; who changes
//! the graph computes it again.

mod arms;
mod axes;
mod classes;
mod loops;
mod needs;
mod regions;
mod users;

pub use axes::{Axes, AxesOf, axes};
pub use classes::{classes, own_class};
pub use loops::{LoopParts, folded_loops, loops};
pub use needs::{Excess, NeedFlow, Needs, needs};
pub use regions::regions;
pub use users::{Users, depths, users};
