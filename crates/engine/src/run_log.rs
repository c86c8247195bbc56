//! Run logs: which nodes ran in an evaluation, and why.
//!
//! An answer to a request with a log (`Request::with_log`) has an entry for each step of the plan.
//! [`NodeRun`] pairs an entry with the path and type of its node.
//!
//! ```
//! use millstream::run_log::{Fate, NodeRun, RunReason};
//! use millstream::{Engine, LogDetail, Request};
//!
//! let text = br#"{ "millstream": 2,
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
use millstream_ir::answer::NodeFailure;
use millstream_ir::{Answer, Plan, Step, StepId, StepOp};
use millstream_node::Instance;
use rustc_hash::FxHashMap;

pub use millstream_ir::answer::{Fate, LogEntry, RunLog, RunReason, SkipReason, Timing};

/// The log entry of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRun {
    /// The node. A conversion that the compiler inserted has the path of the node for which it was
    /// inserted; a conversion for an output has an empty path.
    pub path: NodePath,
    /// The source and the type of such a conversion: `input x as f64`.
    pub conversion: Option<String>,
    /// Its type.
    pub node_type: String,
    /// Whether it ran, why, for how long, and for how many elements.
    pub entry: LogEntry,
    /// The reason for its failure, if it failed now or earlier with the same inputs. A repeat fails
    /// with the node of its body that failed.
    pub failure: Option<String>,
}

impl NodeRun {
    /// The name of the node: its path. An inserted conversion is named after its source and its type.
    pub fn label(&self) -> &str {
        self.conversion.as_deref().unwrap_or(self.path.as_str())
    }
}

/// The name of a step that is an inserted conversion.
fn conversion(plan: &Plan, step: &Step, instance: &Instance) -> Option<String> {
    let source = plan.inputs_of(step).first().filter(|_| plan.paths.is_conversion(step.path))?;
    let from = &plan.steps[source.step];
    let name = match from.op {
        StepOp::Const(_) => "a constant".into(),
        StepOp::Input(input) => format!("input {}", plan.inputs[input].name),
        StepOp::Call(call) => {
            let path = plan.paths.get(from.path);
            let call = &plan.instances[call];
            match call.output_names.get(source.output as usize) {
                Some(output) if call.output_names.len() > 1 => format!("{path}.{output}"),
                Some(_) | None => path.to_string(),
            }
        }
    };
    Some(format!("{name} as {}", instance.outputs.first()?.ty))
}

/// The entries of all calls of a plan, if the answer has a log, in the order of the plan: each node
/// after its sources. Constants and inputs are not listed.
pub(crate) fn runs(plan: &Plan, answer: &Answer) -> Vec<(StepId, NodeRun)> {
    let listed = plan.steps.iter().filter_map(|(id, step)| {
        let StepOp::Call(instance) = step.op else { return None };
        let instance = &plan.instances[instance];
        let run = NodeRun {
            path: plan.paths.get(step.path),
            conversion: conversion(plan, step, instance),
            node_type: instance.name().to_owned(),
            entry: *answer.log.entry(id)?,
            failure: None,
        };
        Some((id, run))
    });
    let mut listed: Vec<(StepId, NodeRun)> = listed.collect();
    tell_failures(&mut listed.iter_mut().map(|(_, run)| run), &answer.failures);
    listed
}

/// Adds the reasons to the nodes that failed.
pub(crate) fn tell_failures(
    runs: &mut dyn Iterator<Item = &mut NodeRun>,
    failures: &[NodeFailure],
) {
    if failures.is_empty() {
        return;
    }
    // A node comes after the conversions that have its path.
    let mut by_path: FxHashMap<NodePath, &mut NodeRun> = FxHashMap::default();
    for run in runs {
        if matches!(run.entry.fate, Fate::Ran(_) | Fate::Skipped(SkipReason::Failed)) {
            by_path.insert(run.path.clone(), run);
        }
    }
    // Without a log there are no entries.
    if by_path.is_empty() {
        return;
    }
    for failure in failures {
        let path = failure.path.as_str();
        let around = path.rmatch_indices('/').map(|(end, _)| NodePath::new(&path[..end]));
        let mut paths = std::iter::once(failure.path.clone()).chain(around);
        let known = paths.find(|path| by_path.contains_key(path));
        if let Some(run) = known.and_then(|path| by_path.get_mut(&path)) {
            run.failure.get_or_insert_with(|| failure.why());
        }
    }
}
