//! The fate of each node in the passes.
//!
//! Passes leave no record, but the ids of nodes are stable, and a link to a replaced node is
//! rewritten. Comparing the links of a node before and after a pass therefore shows which source
//! replaced which. Nodes are examined before their sources, so that even a node that was merged
//! into another has links to compare: those of the other.

use std::collections::HashMap;
use std::sync::Arc;

use millstream_base::diagnostics::Diagnostics;
use millstream_base::id::Id;
use millstream_ir::{Graph, NodeId, Op, PathId, Source};

/// The sources that replaced outputs of nodes that are gone.
pub(super) struct Fates<'a> {
    stages: &'a [Graph],
    /// For each stage but the first, the replacements since the previous stage.
    replaced: Vec<HashMap<Source, Source>>,
    /// The nodes of the last stage that stand for a node of the first stage in other contexts.
    copies: HashMap<NodeId, Vec<NodeId>>,
    originals: HashMap<NodeId, NodeId>,
}

impl<'a> Fates<'a> {
    /// Compares the graphs after the passes, in their order.
    pub(super) fn new(stages: &'a [Graph]) -> Result<Self, Diagnostics> {
        let pairs = stages.windows(2).map(|pair| replaced(&pair[0], &pair[1]));
        let replaced = pairs.collect::<Result<_, _>>()?;
        let (mut copies, mut originals) = (HashMap::<NodeId, Vec<NodeId>>::new(), HashMap::new());
        if let (Some(first), Some(last)) = (stages.first(), stages.last()) {
            for (copy, original) in copied(first, last) {
                copies.entry(original).or_default().push(copy);
                originals.insert(copy, original);
            }
        }
        Ok(Self { stages, replaced, copies, originals })
    }

    /// The nodes of the last stage that stand for a node of the first stage in other contexts.
    pub(super) fn copies_of(&self, id: NodeId) -> &[NodeId] {
        self.copies.get(&id).map_or(&[], Vec::as_slice)
    }

    /// The source of the first stage that a source of the last stage replaces.
    pub(super) fn original(&self, source: Source) -> Source {
        let node = self.originals.get(&source.node).copied().unwrap_or(source.node);
        Source { node, ..source }
    }

    /// The source of the last stage that an output of the first became; `None` if nothing reads it.
    pub(super) fn source(&self, source: Source) -> Option<Source> {
        let mut at = source;
        for (graph, replaced) in self.stages[1..].iter().zip(&self.replaced) {
            match replaced.get(&at) {
                Some(new) => at = *new,
                None if graph.op(at.node) == Op::Gone => return None,
                None => {}
            }
        }
        Some(at)
    }

    /// The value that a node was folded to, from the stage in which that happened.
    pub(super) fn constant(&self, source: Source) -> Option<String> {
        let mut at = source;
        let mut value = None;
        for (i, graph) in self.stages.iter().enumerate() {
            if i > 0 {
                at = self.replaced[i - 1].get(&at).copied().unwrap_or(at);
            }
            if let Some(constant) = graph.constant_of(at.node) {
                value = Some(constant.to_string());
            }
        }
        value
    }
}

/// The nodes of the last stage that passes copied from nodes of the first, with the originals.
fn copied(first: &Graph, last: &Graph) -> Vec<(NodeId, NodeId)> {
    let is_new = |id: &NodeId| id.index() >= first.n_ids() && last.instance_of(*id).is_some();
    let new: Vec<NodeId> = last.ids().filter(is_new).collect();
    if new.is_empty() {
        return Vec::new();
    }
    let mut by_path: HashMap<PathId, Vec<NodeId>> = HashMap::new();
    for id in first.ids().filter(|id| first.instance_of(*id).is_some()) {
        by_path.entry(first.node(id).path).or_default().push(id);
    }
    let original = |copy: &NodeId| {
        let known = by_path.get(&last.node(*copy).path)?;
        known.iter().copied().find(|id| is_same_call(first, *id, last, *copy))
    };
    new.iter().filter_map(|copy| Some((*copy, original(copy)?))).collect()
}

fn replaced(before: &Graph, after: &Graph) -> Result<HashMap<Source, Source>, Diagnostics> {
    let mut replaced: HashMap<Source, Source> = HashMap::new();
    for (old, new) in before.outputs.iter().zip(&after.outputs) {
        if old.source != new.source {
            replaced.insert(old.source, new.source);
        }
    }
    let order = millstream_compile::order(before)?;
    for id in order.into_iter().rev() {
        let twin = match after.op(id) {
            Op::Gone => replaced.get(&Source::first(id)).map(|source| source.node),
            Op::Const(_) | Op::Input(_) | Op::Call(_) => Some(id),
        };
        let Some(twin) = twin.filter(|twin| is_same_call(before, id, after, *twin)) else {
            continue;
        };
        for (old, new) in before.inputs_of(id).iter().zip(after.inputs_of(twin)) {
            if old != new {
                replaced.entry(*old).or_insert(*new);
            }
        }
    }
    Ok(replaced)
}

/// Whether nodes of two stages have the same instance and the same number of links.
pub(super) fn is_same_call(before: &Graph, a: NodeId, after: &Graph, b: NodeId) -> bool {
    match (before.instance_of(a), after.instance_of(b)) {
        (Some(x), Some(y)) if Arc::ptr_eq(x, y) => {
            before.inputs_of(a).len() == after.inputs_of(b).len()
        }
        (Some(x), Some(y)) => {
            x.name() == y.name()
                && x.generics == y.generics
                && x.settings == y.settings
                && before.inputs_of(a).len() == after.inputs_of(b).len()
        }
        (None, _) | (_, None) => false,
    }
}
