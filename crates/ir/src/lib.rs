//! The graph that the compiler works on, the plan that evaluators run, and the contract between
//! evaluators and their callers.

pub mod answer;
pub mod checkpoints;
pub mod element_states;
pub mod graph;
mod hidden;
mod ids;
pub mod loops;
pub mod need_map;
pub mod paths;
pub mod plan;
pub mod progress;
pub mod region;
pub mod repeat;
pub mod request;
mod splice;
pub mod state_failures;
pub mod state_reads;
pub mod states;
#[cfg(test)]
mod testing;
pub mod text;
pub mod trace;
pub mod unsettled;
pub mod verify;
pub mod walk;
pub mod watch;

pub use answer::{Answer, EvalError, Evaluator, NodeFailure, Partial, RunLog, Series};
pub use graph::{Graph, GraphInput, GraphOutput, InputId, NodeId, Op, Source};
pub use hidden::{HELD, is_held};
pub use loops::LoopMark;
pub use paths::{PathId, Paths};
pub use plan::{Loop, Plan, StateWriter, Step, StepId, StepOp, StepSource};
pub use progress::{Done, Progress};
pub use region::{InRegion, RegionId};
pub use repeat::ZoneBody;
pub use request::{Bound, LogDetail, Request, RequestAxis};
pub use watch::Watch;
