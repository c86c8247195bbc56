//! Analyses: facts about the nodes of a graph, in side tables.
//!
//! Each analysis is a walk in topological order. Its result describes the graph at that time and
//! must be recomputed when the graph changes.

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
