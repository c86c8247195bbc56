//! Failures of the next state of nodes in the ticks so far. A node whose next state fails keeps its
//! state, and all others advance; answers that depend on it tell the failure from then on.

use std::sync::Arc;

use millstream_base::NodePath;
use millstream_ir::state_failures::withhold;
use millstream_ir::state_reads::StateNode;
use millstream_ir::states::is_state;
use millstream_ir::{Answer, NodeFailure, Plan};

use super::moves::Moves;
use super::{Ask, Session, SessionError};

/// The failures of earlier ticks.
#[derive(Clone, Debug, Default)]
pub(super) struct FailedTicks(Vec<FailedTick>);

#[derive(Clone, Debug)]
struct FailedTick {
    node: Stateful,
    /// The reason, with the frame.
    failure: NodeFailure,
}

/// A node whose next state failed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stateful {
    path: Arc<str>,
    /// The names of its variables; none for a node inside scopes. A node with others has another
    /// state.
    variables: Vec<Arc<str>>,
}

impl Stateful {
    fn of(plan: &Plan, node: &StateNode) -> Self {
        let name = |output: &usize| {
            let name = &*plan.outputs[*output].name;
            Arc::from(name.rsplit('.').next().unwrap_or(name))
        };
        Self { path: Arc::clone(&node.path), variables: node.outputs.iter().map(name).collect() }
    }
}

impl FailedTicks {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets the failures in this frame and later ones.
    pub(super) fn rewind(&mut self, frame: i64) {
        self.0.retain(|failed| failed.failure.replayed.is_some_and(|at| at < frame));
    }

    /// Adds a failure, unless the same one is known from an earlier frame.
    fn add(&mut self, node: &Stateful, failure: NodeFailure) {
        let is_it = |it: &FailedTick| it.node == *node && it.failure.path == failure.path;
        if !self.0.iter().any(is_it) {
            self.0.push(FailedTick { node: node.clone(), failure });
        }
    }

    /// Lets failures follow nodes to their new paths.
    pub(super) fn follow(&mut self, moves: &Moves) {
        for FailedTick { node, failure } in &mut self.0 {
            if let Some(to) = moves.get(&*node.path) {
                node.path = Arc::from(to.as_str());
            }
            // The failed node, or the one that has it as a part.
            let path = failure.path.as_str();
            let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
            let moved = ends.rev().find_map(|end| Some((moves.get(&path[..end])?, &path[end..])));
            if let Some((to, rest)) = moved {
                failure.path = NodePath::from(&*[to, rest].concat());
            }
        }
    }
}

impl Session {
    /// Commits the next state that a plan answered with. If a node fails, this is noted.
    pub(super) fn commit(
        &mut self,
        plan: &Plan,
        ask: &Ask,
        answer: &mut Answer,
    ) -> Result<(), SessionError> {
        withhold(plan, answer);
        let mut outputs = answer.outputs.iter();
        if !answer.calls.failed.is_empty()
            || outputs.any(|output| output.value.is_none() && is_state(&output.name))
        {
            self.note_failed(plan, ask, answer)?;
        }
        let mut states = self.states.clone();
        states.commit(answer);
        self.keep(states);
        Ok(())
    }

    /// Notes the nodes whose next state failed in an answer.
    fn note_failed(&mut self, plan: &Plan, ask: &Ask, answer: &Answer) -> Result<(), SessionError> {
        let frame = ask.frame.unwrap_or_else(|| self.frame());
        let request = self.request(plan, ask)?;
        let (reads, _) = request.state_reads(plan);
        let failed = reads.failed_in(answer, &vec![true; reads.nodes.len()]);
        let mut failed: Vec<(Stateful, Vec<NodeFailure>)> = failed
            .into_iter()
            .map(|(node, failures)| (Stateful::of(plan, &reads.nodes[node]), failures))
            .collect();
        if !self.is_optimised() {
            // In a plain plan, state also reads what no value of it depends on.
            self.settle_while(&request)?;
            if let Some(newest) = self.plans.running().map(Arc::clone) {
                let (reads, _) = self.request(&newest, ask)?.state_reads(&newest);
                for (node, failures) in &mut failed {
                    if let Some(at) = reads.nodes.iter().position(|it| it.path == node.path) {
                        reads.keep_failures_of(at, failures);
                    }
                }
            }
        }
        for (node, failures) in failed {
            for failure in failures {
                self.failed.add(&node, NodeFailure { replayed: Some(frame), ..failure });
            }
        }
        Ok(())
    }

    /// Adds the failures in earlier ticks that the requested outputs depend on.
    pub(super) fn tell_failed(
        &mut self,
        ask: &Ask,
        answer: &mut Answer,
    ) -> Result<(), SessionError> {
        if self.failed.is_empty() {
            return Ok(());
        }
        let mut plan = self.newest_plan("the document")?;
        let mut request = self.request(&plan, ask)?;
        if !self.is_optimised() {
            // A plain plan also reads state that no value depends on.
            self.settle_while(&request)?;
            plan = self.plans.running().map_or(plan, Arc::clone);
            request = self.request(&plan, ask)?;
        }
        let start = self.document().start_frame;
        let (reads, _) = request.state_reads(&plan);
        let read = reads.read_by(request.steps_in(&plan));
        let is_read = |failed: &Stateful| {
            let mut nodes = reads.nodes.iter().zip(&read);
            nodes.any(|(node, is_read)| {
                *is_read && node.path == failed.path && Stateful::of(&plan, node) == *failed
            })
        };
        // The start may have been moved.
        let is_since_start = |it: &FailedTick| it.failure.replayed.is_none_or(|at| at >= start);
        let told = self.failed.0.iter().filter(|it| is_since_start(it) && is_read(&it.node));
        for FailedTick { failure, .. } in told {
            let is_it =
                |it: &NodeFailure| it.path == failure.path && it.replayed == failure.replayed;
            if !answer.failures.iter().any(is_it) {
                answer.failures.push(failure.clone());
            }
        }
        answer.failures.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(())
    }
}
