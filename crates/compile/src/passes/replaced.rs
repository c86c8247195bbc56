//! The replacements made by a sweep: links are rewritten when their node is reached.

use millstream_base::id::Id;
use millstream_ir::{Graph, NodeId, Source};
use rustc_hash::FxHashMap;

/// Replacements of nodes. A replacement is never replaced itself, because a sweep reaches it first.
pub(super) struct Replaced {
    /// By node; empty until there is a replacement.
    of_node: Vec<By>,
    /// A bit for each replaced node: most are not replaced, and the bits fit into the caches.
    is_replaced: Vec<u64>,
    /// By output, for nodes with a different replacement per output.
    of_output: FxHashMap<Source, Source>,
    nodes: Vec<NodeId>,
}

#[derive(Clone, Copy)]
enum By {
    Nothing,
    /// The same output of another node.
    Node(NodeId),
    /// Another source, for the only output.
    Source(Source),
    Outputs,
}

impl Replaced {
    pub(super) fn new() -> Self {
        Self {
            of_node: Vec::new(),
            is_replaced: Vec::new(),
            of_output: FxHashMap::default(),
            nodes: Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Replaces `id` by another node, output by output.
    pub(super) fn by_node(&mut self, graph: &Graph, id: NodeId, other: NodeId) {
        self.set(graph, id, By::Node(other));
    }

    /// Replaces the only output of `id` by `source`.
    pub(super) fn by_source(&mut self, graph: &Graph, id: NodeId, source: Source) {
        self.set(graph, id, By::Source(source));
    }

    /// Replaces the outputs of `id` by the nodes `outputs`.
    pub(super) fn by_nodes(&mut self, graph: &Graph, id: NodeId, outputs: &[NodeId]) {
        self.set(graph, id, By::Outputs);
        for (output, other) in outputs.iter().enumerate() {
            let output = Source { node: id, output: output as u32 };
            self.of_output.insert(output, Source::first(*other));
        }
    }

    fn set(&mut self, graph: &Graph, id: NodeId, by: By) {
        if self.of_node.len() < graph.n_ids() {
            self.of_node.resize(graph.n_ids(), By::Nothing);
            self.is_replaced.resize(graph.n_ids().div_ceil(64), 0);
        }
        self.is_replaced[id.index() / 64] |= 1 << (id.index() % 64);
        self.of_node[id.index()] = by;
        self.nodes.push(id);
    }

    #[inline]
    fn get(&self, source: Source) -> Source {
        let node = source.node.index();
        let is_replaced =
            self.is_replaced.get(node / 64).is_some_and(|bits| bits >> (node % 64) & 1 != 0);
        if !is_replaced {
            return source;
        }
        match self.of_node.get(node) {
            None | Some(By::Nothing) => source,
            Some(By::Node(node)) => Source { node: *node, ..source },
            Some(By::Source(other)) => *other,
            Some(By::Outputs) => self.of_output.get(&source).copied().unwrap_or(source),
        }
    }

    /// Rewrites the links of a node.
    #[inline]
    pub(super) fn rewrite(&self, graph: &mut Graph, id: NodeId) {
        if !self.is_empty() {
            graph.inputs_of_mut(id).iter_mut().for_each(|link| *link = self.get(*link));
        }
    }

    /// Rewrites the outputs and removes the replaced nodes.
    pub(super) fn finish(self, graph: &mut Graph) {
        for i in 0..graph.outputs.len() {
            graph.outputs[i].source = self.get(graph.outputs[i].source);
        }
        for id in self.nodes {
            graph.remove(id);
        }
    }
}
