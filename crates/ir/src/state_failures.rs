//! What failed in an answer of the state that results depend on, and the results that depend on state
//! that failed.

use std::sync::Arc;

use millstream_base::NodePath;
use millstream_base::id::SideTable;

use crate::NodeFailure;
use crate::answer::{Answer, OutputAnswer};
use crate::plan::{Plan, Step, StepId};
use crate::state_reads::{StateNode, StateReads};
use crate::unsettled::NextState;

impl StateReads<'_> {
    /// Those of some nodes whose next state fails in an answer, each with the failures.
    pub fn failed_in(&self, answer: &Answer, of: &[bool]) -> Vec<(usize, Vec<NodeFailure>)> {
        let is_failed = |node: &usize| {
            let StateNode { path, outputs, .. } = &self.nodes[*node];
            let mut names = outputs.iter().map(|output| &self.plan.outputs[*output].name);
            names.any(|name| answer.output(name).is_some_and(|it| it.value.is_none()))
                || answer.calls.failed.contains(path)
        };
        let nodes = (0..of.len()).filter(|node| of[*node]).filter(is_failed);
        let with_failures = |node| {
            let mut failures = answer.failures.clone();
            self.keep_failures_of(node, &mut failures);
            (node, failures)
        };
        nodes.map(with_failures).collect()
    }

    /// How far the next state of a node is known that failed in an answer.
    pub fn next_state_of(&self, node: usize, answer: &Answer) -> NextState {
        let StateNode { outputs, writer, .. } = &self.nodes[node];
        let mut outputs = outputs.iter().map(|output| &self.plan.outputs[*output].name);
        let is_known = |output: &OutputAnswer| output.value.is_some() || output.partial.is_some();
        let is_of_elements = outputs.all(|name| answer.output(name).is_some_and(is_known));
        if writer.is_some() || is_of_elements { NextState::KnownInPart } else { NextState::Failed }
    }

    /// Drops the failures on which the next state of a node does not depend.
    pub fn keep_failures_of(&self, node: usize, failures: &mut Vec<NodeFailure>) {
        let reader = self.reader_of(&self.nodes[node]);
        let above = self.plan.steps_upstream_of(self.steps_of(node).chain(reader));
        failures.retain(|failure| self.concerns(&failure.path, &above));
    }

    /// Drops the failures of an answer on which neither these steps nor the state of these nodes depend.
    pub fn keep_failures(&self, answer: &mut Answer, steps: &[StepId], of: &[bool]) {
        if answer.failures.is_empty() {
            return;
        }
        let nodes = (0..of.len()).filter(|node| of[*node]);
        let of_nodes =
            nodes.flat_map(|node| self.steps_of(node).chain(self.reader_of(&self.nodes[node])));
        let above = self.plan.steps_upstream_of(steps.iter().copied().chain(of_nodes));
        answer.failures.retain(|failure| self.concerns(&failure.path, &above));
    }

    /// Whether one of these steps is that of a node, or of the zone that contains it. A node without
    /// steps may be anywhere.
    fn concerns(&self, path: &NodePath, above: &SideTable<StepId, bool>) -> bool {
        let contains = |zone: &str| {
            let rest = path.as_str().strip_prefix(zone);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let is_of = |step: &Step| contains(self.plan.paths.get(step.path).as_str());
        let mut steps = self.plan.steps.iter().filter(|(_, step)| is_of(step)).peekable();
        steps.peek().is_none() || steps.any(|(step, _)| above[step])
    }
}

/// Takes the values out of an answer that read state in contexts that contradict each other. The state
/// that is computed from it fails too.
pub fn withhold(plan: &Plan, answer: &mut Answer) {
    if answer.calls.misread.is_empty() {
        return;
    }
    let writers = || plan.state_writers.iter();
    let mut reads = SideTable::for_arena(&plan.steps, false);
    for writer in writers().filter(|writer| answer.calls.misread.contains(&writer.node)) {
        reads[writer.reader] = true;
    }
    // A step comes after all steps that it reads from.
    for (id, step) in plan.steps.iter() {
        reads[id] |= plan.inputs_of(step).iter().any(|link| reads[link.step]);
    }
    for output in &mut answer.outputs {
        let source = plan.output_named(&output.name).map(|output| plan.outputs[output].source);
        if source.is_some_and(|source| reads[source.step]) {
            (output.value, output.partial) = (None, None);
        }
    }
    for writer in writers().filter(|it| it.values.iter().any(|value| reads[value.source.step])) {
        answer.calls.all.retain(|called| called.node != writer.node);
        if !answer.calls.failed.contains(&writer.node) {
            answer.calls.failed.push(Arc::clone(&writer.node));
        }
    }
}
