//! The readers of each node, and its distance from the leaves.

use millstream_base::id::{Id, SideTable};
use millstream_ir::{Graph, NodeId};

/// The readers of each node, once per link.
#[derive(Clone, Debug)]
pub struct Users {
    starts: Vec<u32>,
    users: Vec<NodeId>,
}

impl Users {
    /// The readers of `id`, ascending.
    pub fn of(&self, id: NodeId) -> &[NodeId] {
        let (start, end) = (self.starts[id.index()], self.starts[id.index() + 1]);
        &self.users[start as usize..end as usize]
    }
}

/// The readers of all nodes, without the outputs of the graph.
pub fn users(graph: &Graph) -> Users {
    let mut starts = vec![0; graph.n_ids() + 1];
    for id in graph.ids() {
        for link in graph.inputs_of(id) {
            starts[link.node.index() + 1] += 1;
        }
    }
    for i in 1..starts.len() {
        starts[i] += starts[i - 1];
    }
    let mut next = starts.clone();
    let n_links = starts.last().map_or(0, |n| *n as usize);
    let mut users = vec![NodeId::from_index(0); n_links];
    for id in graph.ids() {
        for link in graph.inputs_of(id) {
            let at = &mut next[link.node.index()];
            users[*at as usize] = id;
            *at += 1;
        }
    }
    Users { starts, users }
}

/// The number of links on the longest path from each node to a leaf, where `order` is topological.
pub fn depths(graph: &Graph, order: &[NodeId]) -> SideTable<NodeId, u32> {
    let mut depths = SideTable::new(graph.n_ids(), 0);
    for id in order {
        let deepest = graph.inputs_of(*id).iter().map(|link| depths[link.node] + 1).max();
        depths[*id] = deepest.unwrap_or(0);
    }
    depths
}
