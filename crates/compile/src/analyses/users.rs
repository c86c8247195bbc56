//! Who reads each node, and how far each is from the leaves.

use millstream_base::id::{Id, SideTable};
use millstream_ir::{Graph, NodeId};

/// For each node the nodes that read from it; one that reads twice is listed twice.
#[derive(Clone, Debug)]
pub struct Users {
    starts: Vec<u32>,
    users: Vec<NodeId>,
}

impl Users {
    /// The nodes that read from `id`, ascending.
    pub fn of(&self, id: NodeId) -> &[NodeId] {
        let (start, end) = (self.starts[id.index()], self.starts[id.index() + 1]);
        &self.users[start as usize..end as usize]
    }
}

/// The users of all nodes; outputs of the graph do not count.
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

/// Links on the longest way from each node in `order` to a node without inputs.
pub fn depths(graph: &Graph, order: &[NodeId]) -> SideTable<NodeId, u32> {
    let mut depths = SideTable::new(graph.n_ids(), 0);
    for id in order {
        let deepest = graph.inputs_of(*id).iter().map(|link| depths[link.node] + 1).max();
        depths[*id] = deepest.unwrap_or(0);
    }
    depths
}
