//! What ran in an evaluation, node by node, and why.
//!
//! An evaluation whose request asks for a log (`Request::with_log`) answers with an entry for each
//! step of the plan. Here the entries are told by what authors know: paths and node types.
//!
//! ```
//! use millstream::run_log::{Fate, NodeRun, RunReason};
//! use millstream::{Engine, LogDetail, Request};
//!
//! let text = br#"{ "millstream": 1,
//!   "inputs": { "x": { "type": "f32", "default": 2 } },
//!   "outputs": { "y": { "type": "f32", "from": "root.value" } },
//!   "nodes": { "root": { "type": "math.sqrt", "in": { "x": { "input": "x" } } } } }"#;
//! let program = Engine::new().load(text)?;
//! let answer = program.run(&Request::new().with_log(LogDetail::Times))?;
//! let runs: Vec<NodeRun> = program.runs(&answer).collect();
//! assert_eq!((runs[0].path.as_str(), &*runs[0].node_type), ("root", "math.sqrt"));
//! assert_eq!(runs[0].entry.fate, Fate::Ran(RunReason::First));
//! assert_eq!(runs[0].entry.elements, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use millstream_base::NodePath;
use millstream_ir::{Answer, Plan, StepOp};

pub use millstream_ir::answer::{Fate, LogEntry, RunLog, RunReason, SkipReason};

/// What became of a node in an evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRun {
    /// The node. A conversion that the compiler inserted has the path of the node that it is for; one
    /// that is for an output has none.
    pub path: NodePath,
    /// Its type.
    pub node_type: String,
    /// What became of it: whether it ran, why, for how long, on how much.
    pub entry: LogEntry,
}

/// What became of each node of a plan, if the answer has a log; in the order of the plan, in which
/// each node comes behind what it reads. Constants and inputs are not listed.
pub(crate) fn runs<'a>(plan: &'a Plan, answer: &'a Answer) -> impl Iterator<Item = NodeRun> + 'a {
    plan.steps.iter().filter_map(|(id, step)| {
        let StepOp::Call(instance) = step.op else { return None };
        Some(NodeRun {
            path: plan.paths.get(step.path),
            node_type: plan.instances[instance].name().to_owned(),
            entry: *answer.log.entry(id)?,
        })
    })
}
