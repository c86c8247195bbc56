//! Failures of the next state of nodes, in the ticks so far.

use millstream_ir::NodeFailure;

/// For each stateful node the failures of its next state, each with its frame.
pub(super) struct Failed(Vec<Vec<NodeFailure>>);

impl Failed {
    /// No failures of this number of nodes.
    pub(super) fn new(n_nodes: usize) -> Self {
        Self(vec![Vec::new(); n_nodes])
    }

    /// The failures of the next state of a node.
    pub(super) fn of(&self, node: usize) -> &[NodeFailure] {
        &self.0[node]
    }

    /// Whether the next state of any of these nodes failed.
    pub(super) fn concerns(&self, depends: &[bool]) -> bool {
        (0..depends.len()).any(|node| depends[node] && !self.of(node).is_empty())
    }

    /// Adds failures of the next state of a node, each failed node once.
    pub(super) fn add(&mut self, node: usize, failures: Vec<NodeFailure>) {
        merge(&mut self.0[node], failures);
    }

    /// Adds the failures that results depend on. Those in earlier frames of the bake are among them:
    /// whoever reads only the results of this frame has to learn of them too.
    pub(super) fn tell(&self, depends: &[bool], told: &mut Vec<NodeFailure>) {
        let nodes = (0..depends.len()).filter(|node| depends[*node]);
        nodes.for_each(|node| merge(told, self.0[node].clone()));
    }
}

/// Adds failures: the first of each node, and the first of each that is of a replayed tick.
fn merge(all: &mut Vec<NodeFailure>, more: Vec<NodeFailure>) {
    for one in more {
        let is_replayed = one.replayed.is_some();
        let is_known = |known: &NodeFailure| known.replayed.is_some() == is_replayed;
        if !all.iter().any(|known| known.path == one.path && is_known(known)) {
            all.push(one);
        }
    }
}
