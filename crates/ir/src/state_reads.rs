//! The state that results depend on, directly or through other state.
//!
//! A result depends on the state of a node if a step above it reads that state, or if it depends on
//! another state whose next value does. State inside scopes advances where it is read, so it also
//! depends on all state whose next value reads it.

use std::collections::BTreeMap;
use std::sync::Arc;

use millstream_base::id::SideTable;

use crate::hidden::{is_state, node_of};
use crate::plan::{Plan, StepId, StepOp};

/// A stateful node of a plan.
#[derive(Clone, Debug)]
pub struct StateNode {
    /// The path.
    pub path: Arc<str>,
    /// The outputs of the plan with its next state, by position; none for a node inside scopes.
    pub outputs: Vec<usize>,
    /// The entry among the plan's state writers, of a node inside scopes.
    pub writer: Option<usize>,
}

/// The stateful nodes of a plan, and which of them results depend on.
#[derive(Debug)]
pub struct StateReads<'p> {
    plan: &'p Plan,
    /// The nodes, those inside scopes last.
    pub nodes: Vec<StateNode>,
    /// The node whose state a step reads.
    read: BTreeMap<StepId, usize>,
}

impl<'p> StateReads<'p> {
    /// The stateful nodes of a plan.
    pub fn new(plan: &'p Plan) -> Self {
        let mut by_path: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (i, output) in plan.outputs.iter().enumerate() {
            if is_state(&output.name) {
                by_path.entry(node_of(&output.name)).or_default().push(i);
            }
        }
        let hoisted = by_path.into_iter().map(|(path, outputs)| StateNode {
            path: path.into(),
            outputs,
            writer: None,
        });
        let inside = plan.state_writers.iter().enumerate().map(|(i, writer)| StateNode {
            path: Arc::clone(&writer.node),
            outputs: Vec::new(),
            writer: Some(i),
        });
        let nodes: Vec<StateNode> = hoisted.chain(inside).collect();
        let mut read = BTreeMap::new();
        for (id, step) in plan.steps.iter() {
            let node = match step.op {
                StepOp::Input(input) if is_state(&plan.inputs[input].name) => {
                    let path = node_of(&plan.inputs[input].name);
                    nodes.iter().position(|node| node.writer.is_none() && &*node.path == path)
                }
                StepOp::Input(_) | StepOp::Const(_) | StepOp::Call(_) => {
                    let of = |node: &StateNode| node.writer.map(|it| plan.state_writers[it].reader);
                    nodes.iter().position(|node| of(node) == Some(id))
                }
            };
            if let Some(node) = node {
                read.insert(id, node);
            }
        }
        Self { plan, nodes, read }
    }

    /// The steps that compute the next state of a node.
    pub fn steps_of(&self, node: usize) -> impl Iterator<Item = StepId> {
        let StateNode { outputs, writer, .. } = &self.nodes[node];
        let outputs = outputs.iter().map(|output| &self.plan.outputs[*output]);
        let written = writer.iter().flat_map(|writer| &self.plan.state_writers[*writer].values);
        outputs.chain(written).map(|output| output.source.step)
    }

    /// For each node whether results of these steps depend on its state.
    pub fn of_steps(&self, steps: impl IntoIterator<Item = StepId>) -> Vec<bool> {
        let mut is_above = SideTable::for_arena(&self.plan.steps, false);
        let mut depends = vec![false; self.nodes.len()];
        let mut ahead: Vec<StepId> = steps.into_iter().collect();
        let mut callers = None;
        while let Some(step) = ahead.pop() {
            if std::mem::replace(&mut is_above[step], true) {
                continue;
            }
            let links = self.plan.inputs_of(&self.plan.steps[step]);
            ahead.extend(links.iter().map(|link| link.step));
            let Some(node) = self.read.get(&step).copied() else { continue };
            let mut found = vec![node];
            if self.nodes[node].writer.is_some() {
                let callers: &Vec<SideTable<StepId, bool>> =
                    callers.get_or_insert_with(|| self.callers());
                found.extend((0..self.nodes.len()).filter(|caller| callers[*caller][step]));
            }
            for node in found {
                if !std::mem::replace(&mut depends[node], true) {
                    ahead.extend(self.steps_of(node));
                }
            }
        }
        depends
    }

    /// The steps above the next state of each node.
    fn callers(&self) -> Vec<SideTable<StepId, bool>> {
        let above = |node| self.plan.steps_upstream_of(self.steps_of(node));
        (0..self.nodes.len()).map(above).collect()
    }

    /// Whether results of these steps depend on state inside scopes.
    pub fn is_inside(&self, depends: &[bool]) -> bool {
        self.nodes.iter().zip(depends).any(|(node, depends)| *depends && node.writer.is_some())
    }

    /// The outputs of the plan with the next state of these nodes, by name.
    pub fn outputs_of(&self, depends: &[bool]) -> Vec<String> {
        let nodes = self.nodes.iter().zip(depends).filter(|(_, depends)| **depends);
        let outputs = nodes.flat_map(|(node, _)| &node.outputs);
        outputs.map(|output| self.plan.outputs[*output].name.to_string()).collect()
    }
}
