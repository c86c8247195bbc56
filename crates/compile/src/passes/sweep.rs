//! A walk through the graph in topological order that rewrites nodes by some rules.
//!
//! When a node is reached, everything it reads is final. So the sweep also performs the rewrites
//! that earlier ones enable: a switch whose selector became constant is replaced by its arm, the
//! arm folds with the next constant, and two nodes that now read the same are merged. A second
//! sweep with the same rules finds nothing.

use millstream_base::diagnostics::Diagnostics;
use millstream_base::id::SideTable;
use millstream_base::{AHEAD, Value};
use millstream_ir::{Graph, NodeId, Op, walk};

use super::canonical::Canonical;
use super::fold_constants::Folder;
use super::merge_duplicates::Seen;
use super::nullify::NeedsSoFar;
use super::replaced::Replaced;
use super::simplify::simpler;
use super::{Changed, PassContext};

/// A rewrite of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Compute nodes with constant inputs.
    Fold,
    /// Merge equal nodes.
    Merge,
    /// Apply laws.
    Simplify,
    /// Drop scopes without effect.
    Collapse,
}

struct Sweep<'g> {
    graph: &'g mut Graph,
    canonical: Canonical,
    replaced: Replaced,
    folder: Folder<'g>,
    seen: Option<Seen>,
    /// The nodes that outputs read, if nodes are merged.
    reached: Option<SideTable<NodeId, bool>>,
    needs: Option<NeedsSoFar>,
    simplifies: bool,
    folds: bool,
    changed: bool,
}

/// Runs one sweep.
pub(super) fn sweep<'g>(
    graph: &'g mut Graph,
    cx: &PassContext<'g>,
    rules: &[Rule],
) -> Result<Changed, Diagnostics> {
    let order = crate::order(graph)?;
    let has = |rule| rules.contains(&rule);
    let mut sweep = Sweep {
        canonical: Canonical::new(graph.instances()),
        replaced: Replaced::new(),
        folder: Folder::new(cx.limits, cx.folded),
        seen: has(Rule::Merge).then(|| Seen::new(graph)),
        reached: has(Rule::Merge).then(|| walk::reachable_from_outputs(graph)),
        needs: has(Rule::Collapse).then(|| NeedsSoFar::new(graph)),
        simplifies: has(Rule::Simplify),
        folds: has(Rule::Fold),
        changed: false,
        graph,
    };
    for block in order.chunks(AHEAD) {
        if sweep.simplifies {
            sweep.graph.read_inputs_ahead(block);
        }
        for id in block {
            cx.check_cancelled()?;
            sweep.visit(*id)?;
        }
    }
    let changed = sweep.changed || !sweep.replaced.is_empty();
    sweep.replaced.finish(sweep.graph);
    Ok(Changed::when(changed))
}

impl Sweep<'_> {
    fn visit(&mut self, id: NodeId) -> Result<(), Diagnostics> {
        self.replaced.rewrite(self.graph, id);
        if let Op::Call(_) = self.graph.op(id) {
            if let Some(needs) = &mut self.needs
                && let Some(source) = needs.pass(self.graph, id)?
            {
                self.replaced.by_source(self.graph, id, source);
                return Ok(());
            }
            if self.folds
                && let Some(values) = self.folder.fold(self.graph, id)
                && self.put_constants(id, values)
            {
                return Ok(());
            }
            if self.simplifies
                && let Some(source) = simpler(self.graph, &self.canonical, id)
            {
                self.replaced.by_source(self.graph, id, source);
                return Ok(());
            }
        }
        // A node without readers must not replace one with readers, since evaluators identify
        // results by path.
        if self.reached.as_ref().is_some_and(|reached| reached[id])
            && let Some(other) = self.earlier(id)
        {
            self.replaced.by_node(self.graph, id, other);
        }
        Ok(())
    }

    fn earlier(&mut self, id: NodeId) -> Option<NodeId> {
        self.seen.as_mut()?.earlier(self.graph, &self.canonical, id)
    }

    /// Replaces a node by the constant values of its outputs. A node with one output becomes the
    /// constant and keeps its path. Returns whether the node is finished.
    fn put_constants(&mut self, id: NodeId, mut values: Vec<Value>) -> bool {
        self.changed = true;
        if values.len() == 1
            && let Some(value) = values.pop()
        {
            self.graph.make_const(id, value);
            return false;
        }
        let mut nodes = Vec::with_capacity(values.len());
        for value in values {
            let node = self.graph.add_const(value);
            nodes.push(self.earlier(node).unwrap_or(node));
        }
        self.replaced.by_nodes(self.graph, id, &nodes);
        true
    }
}
