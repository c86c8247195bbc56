//! The needs of each node: its own and those of its inputs.
//!
//! A node needs the context that its kernel reads, and the needs of its inputs after they crossed
//! the sockets: an injected feature is provided there, outer levels move one level in, and the rest
//! is unchanged. The arguments of a scope matter only if its source needs the changed feature.
//! Every node is visited once, with a 64-bit set, however many paths lead to it.

use millstream_base::feature::TooManyNeeds;
use millstream_base::id::{Arena, Id, SideTable};
use millstream_base::{FeatureSet, Need, NeedTable};
use millstream_ir::graph::InstanceId;
use millstream_ir::need_map::NeedMap;
use millstream_ir::{Graph, NodeId, Op};
use millstream_node::{Instance, Kernel};
use smallvec::SmallVec;
use std::sync::Arc;

/// The needs of a graph.
#[derive(Clone, Debug)]
pub struct Needs {
    /// The transfer of needs across instances.
    pub flow: NeedFlow,
    /// The needs of each node.
    pub of: SideTable<NodeId, FeatureSet>,
}

/// The needs of instances, and their transfer across sockets.
#[derive(Clone, Debug, Default)]
pub struct NeedFlow {
    /// The needs that occur.
    pub table: NeedTable,
    instances: Vec<Crossing>,
}

/// The transfer of needs across one instance.
#[derive(Clone, Debug, Default)]
struct Crossing {
    is_known: bool,
    own: FeatureSet,
    /// The map of each input, `None` for an input without a scope; empty if there are no scopes.
    maps: Vec<Option<NeedMap>>,
}

impl NeedFlow {
    /// The needs of a call of `id` whose inputs have the needs `inside`.
    ///
    /// # Errors
    /// If there are more than 64 needs.
    #[inline]
    pub fn needs_of_call(
        &mut self,
        instances: &Arena<InstanceId, Arc<Instance>>,
        id: InstanceId,
        inside: impl IntoIterator<Item = FeatureSet>,
    ) -> Result<FeatureSet, TooManyNeeds> {
        if !self.instances.get(id.index()).is_some_and(|crossing| crossing.is_known) {
            self.meet(id, &instances[id])?;
        }
        let crossing = &mut self.instances[id.index()];
        let mut all = crossing.own;
        if crossing.maps.is_empty() {
            for needs in inside {
                all = all.union(needs);
            }
            return Ok(all);
        }
        let inside: SmallVec<[FeatureSet; 8]> = inside.into_iter().collect();
        for ((needs, map), slot) in inside.iter().zip(&mut crossing.maps).zip(&instances[id].inputs)
        {
            if let Some(map) = map {
                map.add(*needs, &slot.scope, &mut self.table)?;
                all = all.union(map.outside(*needs));
            }
        }
        let active = |i: usize| crossing.maps[i].as_ref().map_or(0, |m| m.active_rules(inside[i]));
        for (needs, is_asked) in inside.iter().zip(instances[id].evaluated_outside(active)) {
            if is_asked {
                all = all.union(*needs);
            }
        }
        Ok(all)
    }

    /// The map of an input of a known instance; `None` if the input has no scope.
    pub fn map(&self, id: InstanceId, input: usize) -> Option<&NeedMap> {
        self.instances.get(id.index())?.maps.get(input)?.as_ref()
    }

    /// The maps of a known instance, one per input; empty if there are no scopes.
    pub fn maps(&self, id: InstanceId) -> &[Option<NeedMap>] {
        self.instances.get(id.index()).map_or(&[], |crossing| &crossing.maps)
    }

    fn meet(&mut self, id: InstanceId, instance: &Instance) -> Result<(), TooManyNeeds> {
        let own = match &instance.kernel {
            Kernel::Read { feature, level, aspect } => {
                let need = Need { feature: feature.clone(), level: *level, aspect: *aspect };
                FeatureSet::bit(self.table.intern(&need)?)
            }
            Kernel::ReadState(needs) => {
                let mut all = FeatureSet::NONE;
                for need in needs.iter() {
                    all = all.union(FeatureSet::bit(self.table.intern(need)?));
                }
                all
            }
            Kernel::Form(_) | Kernel::Function(_) | Kernel::Pass | Kernel::Choose => {
                FeatureSet::NONE
            }
        };
        let mut maps = Vec::new();
        if instance.has_scopes() {
            for slot in &instance.inputs {
                maps.push(if slot.scope.is_empty() {
                    None
                } else {
                    Some(NeedMap::new(&slot.scope, &mut self.table)?)
                });
            }
        }
        if self.instances.len() <= id.index() {
            self.instances.resize_with(id.index() + 1, Crossing::default);
        }
        self.instances[id.index()] = Crossing { is_known: true, own, maps };
        Ok(())
    }
}

/// Whether an instance reads or changes the context.
fn uses_context(instance: &Instance) -> bool {
    match &instance.kernel {
        Kernel::Read { .. } | Kernel::ReadState(_) => true,
        Kernel::Form(_) | Kernel::Function(_) | Kernel::Pass | Kernel::Choose => {
            instance.has_scopes()
        }
    }
}

/// The nodes at which the number of needs exceeds 64, in graph order; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excess(pub Vec<NodeId>);

/// The needs of the nodes, where `order` is topological.
///
/// # Errors
/// If there are more than 64 needs.
pub fn needs(graph: &Graph, order: &[NodeId]) -> Result<Needs, Excess> {
    let mut flow = NeedFlow::default();
    let mut excess = Vec::new();
    let mut of = SideTable::new(graph.n_ids(), FeatureSet::NONE);
    if !graph.any_instance(uses_context) {
        return Ok(Needs { flow, of });
    }
    for id in order {
        if let Op::Call(instance) = graph.op(*id) {
            let inside = graph.inputs_of(*id).iter().map(|link| of[link.node]);
            match flow.needs_of_call(graph.instances(), instance, inside) {
                Ok(needs) => of[*id] = needs,
                Err(TooManyNeeds) => excess.push(*id),
            }
        }
    }
    if excess.is_empty() { Ok(Needs { flow, of }) } else { Err(Excess(excess)) }
}
