//! Merge nodes with the same operation and inputs, also across expanded groups.
//!
//! Requires: nothing. Establishes: among the nodes that outputs read, no two static or contextual
//! nodes have equal instances and equal inputs, and no two constants are equal. Stateful and device
//! nodes are not merged. The remaining node has the path of the first one. Cost: one sweep with a
//! hash table.

use std::hash::{Hash, Hasher};
use std::hint::black_box;
use std::num::NonZeroU32;

use millstream_base::diagnostics::Diagnostics;
use millstream_ir::{Graph, NodeId, Op};
use millstream_node::Class;
use rustc_hash::FxHasher;
use smallvec::SmallVec;

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

/// The nodes visited by a sweep, by operation: a hash table whose entries have the hashes, so that
/// finding an entry takes one read from memory.
pub(super) struct Seen {
    /// At most half full; each node stands at its hash or after it.
    entries: Vec<Option<SeenNode>>,
    n_nodes: usize,
}

#[derive(Clone, Copy)]
struct SeenNode {
    hash: NonZeroU32,
    id: NodeId,
}

impl Seen {
    pub(super) fn new(graph: &Graph) -> Self {
        let n = (2 * graph.len()).next_power_of_two().max(2);
        Self { entries: vec![None; n], n_nodes: 0 }
    }

    fn place(&self, hash: NonZeroU32) -> usize {
        hash.get() as usize & (self.entries.len() - 1)
    }

    /// Reads the entries of nodes that the sweep will visit. In a short loop these reads from memory
    /// overlap; between others each would be waited for.
    pub(super) fn touch(&self, graph: &Graph, canonical: &Canonical, nodes: &[NodeId]) {
        let hashes = nodes.iter().map(|id| hash_of(graph, canonical, *id));
        let hashes: SmallVec<[NonZeroU32; 64]> = hashes.collect();
        for hash in hashes {
            black_box(self.entries[self.place(hash)]);
        }
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
        let hash = hash_of(graph, canonical, id);
        let mut at = self.place(hash);
        while let Some(known) = self.entries[at] {
            if known.hash == hash && is_equal(graph, canonical, known.id, id) {
                return (known.id != id).then_some(known.id);
            }
            at = (at + 1) & (self.entries.len() - 1);
        }
        self.entries[at] = Some(SeenNode { hash, id });
        self.n_nodes += 1;
        if 2 * self.n_nodes > self.entries.len() {
            self.grow();
        }
        None
    }

    /// Makes room for the constants that a sweep adds to the graph.
    fn grow(&mut self) {
        let larger = vec![None; 2 * self.entries.len()];
        for known in std::mem::replace(&mut self.entries, larger).into_iter().flatten() {
            let mut at = self.place(known.hash);
            while self.entries[at].is_some() {
                at = (at + 1) & (self.entries.len() - 1);
            }
            self.entries[at] = Some(known);
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
fn hash_of(graph: &Graph, canonical: &Canonical, id: NodeId) -> NonZeroU32 {
    let mut state = FxHasher::default();
    op(graph, canonical, id).hash(&mut state);
    for link in graph.inputs_of(id) {
        link.hash(&mut state);
    }
    NonZeroU32::new(state.finish() as u32).unwrap_or(NonZeroU32::MIN)
}

#[inline]
fn is_equal(graph: &Graph, canonical: &Canonical, a: NodeId, b: NodeId) -> bool {
    op(graph, canonical, a) == op(graph, canonical, b) && graph.inputs_of(a) == graph.inputs_of(b)
}
