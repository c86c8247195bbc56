//! Drop scopes without effect: those whose source needs none of the changed features.
//!
//! Requires: types equal along links, every node reachable. Establishes: no node that only passes
//! its input on has a scope without effect; every node is reachable. A scope without effect on
//! another kind of node remains, with its rules inactive in the plan's need maps, and the arguments
//! of inactive rules are not evaluated. The plan records the needs of each step as its need class;
//! the rest of the context is null for the step. Cost: one sweep, if any node passes its input on
//! in a changed context.

use millstream_base::FeatureSet;
use millstream_base::diagnostics::Diagnostics;
use millstream_base::id::{Id, SideTable};
use millstream_ir::{Graph, NodeId, Op, Source, walk};
use millstream_node::instance::InputSlot;
use millstream_node::{Instance, Kernel};

use super::sweep::{Rule, sweep};
use super::{Changed, PassContext};
use crate::analyses::{Excess, NeedFlow};
use crate::schedule::too_many;

/// Drop scopes without effect.
///
/// # Errors
/// If the graph has a cycle or more than 64 different needs.
pub fn nullify(graph: &mut Graph, cx: &PassContext<'_>) -> Result<Changed, Diagnostics> {
    if !graph.any_instance(may_collapse) {
        return Ok(Changed::No);
    }
    let rules = [Rule::Collapse, Rule::Simplify, Rule::Fold, Rule::Merge];
    let changed = sweep(graph, cx, &rules)?;
    if changed == Changed::Yes {
        let reached = walk::reachable_from_outputs(graph);
        graph.retain(|id| reached[id]);
    }
    Ok(changed)
}

fn may_collapse(instance: &Instance) -> bool {
    match instance.kernel {
        Kernel::Pass => instance.has_scopes(),
        Kernel::Form(_)
        | Kernel::Function(_)
        | Kernel::Read { .. }
        | Kernel::Choose
        | Kernel::ReadState(_) => false,
    }
}

/// The needs of the nodes visited by a sweep.
pub(super) struct NeedsSoFar {
    flow: NeedFlow,
    of: SideTable<NodeId, FeatureSet>,
}

impl NeedsSoFar {
    pub(super) fn new(graph: &Graph) -> Self {
        Self { flow: NeedFlow::default(), of: SideTable::new(graph.n_ids(), FeatureSet::NONE) }
    }

    /// Records the needs of a node whose inputs have been visited. If the node passes its first
    /// input on in a context that has no effect on it, returns that input.
    pub(super) fn pass(
        &mut self,
        graph: &Graph,
        id: NodeId,
    ) -> Result<Option<Source>, Diagnostics> {
        let Op::Call(instance_id) = graph.op(id) else { return Ok(None) };
        let links = graph.inputs_of(id);
        // Constants added by a sweep have ids beyond the table, and no needs.
        let of = |link: &Source| {
            self.of.as_slice().get(link.node.index()).copied().unwrap_or(FeatureSet::NONE)
        };
        let inside: Vec<FeatureSet> = links.iter().map(of).collect();
        let instances = graph.instances();
        let needs = self.flow.needs_of_call(instances, instance_id, inside.iter().copied());
        self.of[id] = needs.map_err(|_| too_many(graph, &Excess(vec![id])))?;
        let instance = &instances[instance_id];
        if !may_collapse(instance) || instance.inputs.iter().any(InputSlot::gathers) {
            return Ok(None);
        }
        let is_transparent = inside.iter().enumerate().all(|(i, needs)| {
            self.flow.map(instance_id, i).is_none_or(|map| map.is_transparent(*needs))
        });
        Ok(links.first().copied().filter(|_| is_transparent))
    }
}
