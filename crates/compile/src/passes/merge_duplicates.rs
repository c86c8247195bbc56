//! Merge nodes with the same operation and inputs, also across expanded groups.
//!
//! Requires: nothing. Establishes: among the nodes that outputs read, no two static or contextual
//! nodes have equal instances and equal inputs (in any order, if the instance commutes bit for
//! bit), and no two constants are equal. Stateful and device
//! nodes are not merged. The remaining node has the path of the first one. Cost: one sweep with a
//! hash table.

use std::hash::{Hash, Hasher};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use millstream_base::diagnostics::Diagnostics;
use millstream_ir::{Graph, NodeId, Op, Source};
use millstream_node::Class;
use rustc_hash::FxHasher;

use super::canonical::Canonical;
use super::sweep::{Rule, sweep};
use super::{Changed, PassContext};
use crate::analyses::own_class;

/// Merge duplicates.
///
/// # Errors
/// If the graph has a cycle.
pub fn merge_duplicates(graph: &mut Graph, cx: &PassContext<'_>) -> Result<Changed, Diagnostics> {
    sweep(graph, cx, &[Rule::Merge])
}

/// The nodes visited by a sweep, by operation.
pub(super) struct Seen {
    nodes: HashTable<NodeId>,
}

impl Seen {
    pub(super) fn new(graph: &Graph) -> Self {
        Self { nodes: HashTable::with_capacity(graph.len()) }
    }

    /// An earlier node with the same operation; if there is none, `id` becomes it.
    #[inline]
    pub(super) fn earlier(
        &mut self,
        graph: &Graph,
        canonical: &Canonical,
        id: NodeId,
    ) -> Option<NodeId> {
        if let Some(instance) = graph.instance_of(id)
            && own_class(instance) > Class::Contextual
        {
            return None;
        }
        let hash = |id: &NodeId| hash_of(graph, canonical, *id);
        let equal = |other: &NodeId| is_equal(graph, canonical, *other, id);
        match self.nodes.entry(hash(&id), equal, hash) {
            Entry::Occupied(known) => (*known.get() != id).then(|| *known.get()),
            Entry::Vacant(room) => {
                room.insert(id);
                None
            }
        }
    }
}

fn op(graph: &Graph, canonical: &Canonical, id: NodeId) -> Op {
    match graph.op(id) {
        Op::Call(instance) => Op::Call(canonical.of(instance)),
        op @ (Op::Gone | Op::Const(_) | Op::Input(_)) => op,
    }
}

#[inline]
fn hash_of(graph: &Graph, canonical: &Canonical, id: NodeId) -> u64 {
    let mut state = FxHasher::default();
    op(graph, canonical, id).hash(&mut state);
    let links = graph.inputs_of(id);
    let (first, others) = in_order(graph, canonical, id, links);
    first.hash(&mut state);
    for link in others {
        link.hash(&mut state);
    }
    state.finish()
}

#[inline]
fn is_equal(graph: &Graph, canonical: &Canonical, a: NodeId, b: NodeId) -> bool {
    let inputs_of = |id| in_order(graph, canonical, id, graph.inputs_of(id));
    op(graph, canonical, a) == op(graph, canonical, b) && inputs_of(a) == inputs_of(b)
}

/// The first two inputs, sorted if swapping them changes nothing, and the others.
#[inline]
fn in_order<'l>(
    graph: &Graph,
    canonical: &Canonical,
    id: NodeId,
    links: &'l [Source],
) -> (Option<[Source; 2]>, &'l [Source]) {
    match (graph.op(id), links) {
        (Op::Call(instance), [a, b, others @ ..]) if b < a && canonical.commutes(instance) => {
            (Some([*b, *a]), others)
        }
        (_, [a, b, others @ ..]) => (Some([*a, *b]), others),
        (_, others) => (None, others),
    }
}
