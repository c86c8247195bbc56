//! Drop scopes that have no effect: what is linked needs nothing that they change.
//!
//! Requires: types equal along links, every node reachable. Establishes: no node that only passes
//! on has a socket whose scope changes nothing for what is linked; every node is reachable. Such a
//! socket on another kind of node stays, and its rules are inactive in the plan's need maps, where
//! the arguments of inactive rules are not asked for. What a step may depend on of the context is
//! recorded in the plan as its class of needs; the rest is null for it. Cost: one sweep, if there
//! is any node that passes on in a changed context.

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
    if !graph.instances().as_slice().iter().any(|instance| may_collapse(instance)) {
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
        | Kernel::Kept(_) => false,
    }
}

/// The needs of the nodes that a sweep has passed.
pub(super) struct NeedsSoFar {
    flow: NeedFlow,
    of: SideTable<NodeId, FeatureSet>,
}

impl NeedsSoFar {
    pub(super) fn new(graph: &Graph) -> Self {
        Self { flow: NeedFlow::default(), of: SideTable::new(graph.n_ids(), FeatureSet::NONE) }
    }

    /// Learns what a node needs, whose inputs were passed. If it passes its first input on in a
    /// context that is the same for all that the input needs: that input.
    pub(super) fn pass(
        &mut self,
        graph: &Graph,
        id: NodeId,
    ) -> Result<Option<Source>, Diagnostics> {
        let Op::Call(instance_id) = graph.op(id) else { return Ok(None) };
        let links = graph.inputs_of(id);
        // Constants that a sweep adds have ids beyond the table, and no needs.
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
