//! What each node needs of the context: itself, and through its inputs.
//!
//! A node needs what its kernel reads, and of each input what that needs, after it crossed the
//! socket: an injected feature is provided there, outer levels come one nearer, the rest stays. What
//! a scope changes a feature to counts only where something inside needs the feature.
//! Every node is looked at once, with a 64-bit set, however many ways lead to it.

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
    /// How needs arise and cross sockets.
    pub flow: NeedFlow,
    /// What each node needs.
    pub of: SideTable<NodeId, FeatureSet>,
}

/// How needs arise in instances and cross their sockets.
#[derive(Clone, Debug, Default)]
pub struct NeedFlow {
    /// The needs that occur.
    pub table: NeedTable,
    instances: Vec<Crossing>,
}

/// One instance as needs see it.
#[derive(Clone, Debug, Default)]
struct Crossing {
    is_known: bool,
    own: FeatureSet,
    /// One for each input, `None` where it has no scope; empty if none has.
    maps: Vec<Option<NeedMap>>,
}

impl NeedFlow {
    /// What a call of `id` needs whose inputs need `inside`.
    ///
    /// # Errors
    /// If more than 64 needs arise.
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
                map.learn(*needs, &slot.scope, &mut self.table)?;
                all = all.union(map.outside(*needs));
            }
        }
        let active = |i: usize| crossing.maps[i].as_ref().map_or(0, |m| m.active_rules(inside[i]));
        for (needs, is_asked) in inside.iter().zip(instances[id].asked_outside(active)) {
            if is_asked {
                all = all.union(*needs);
            }
        }
        Ok(all)
    }

    /// How needs cross one input of an instance that was met; `None` if it has no scope.
    pub fn map(&self, id: InstanceId, input: usize) -> Option<&NeedMap> {
        self.instances.get(id.index())?.maps.get(input)?.as_ref()
    }

    /// The maps of one instance: one for each input, or none at all where none has a scope.
    pub fn maps(&self, id: InstanceId) -> &[Option<NeedMap>] {
        self.instances.get(id.index()).map_or(&[], |crossing| &crossing.maps)
    }

    fn meet(&mut self, id: InstanceId, instance: &Instance) -> Result<(), TooManyNeeds> {
        let own = match &instance.kernel {
            Kernel::Read { feature, level, aspect } => {
                let need = Need { feature: feature.clone(), level: *level, aspect: *aspect };
                FeatureSet::bit(self.table.intern(&need)?)
            }
            Kernel::Kept(needs) => {
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

/// The nodes with which more than 64 needs arise, in the order of their graph; there are some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excess(pub Vec<NodeId>);

/// The needs of the nodes in `order`, which lists each behind all it reads from.
///
/// # Errors
/// If more than 64 needs arise.
pub fn needs(graph: &Graph, order: &[NodeId]) -> Result<Needs, Excess> {
    let mut flow = NeedFlow::default();
    let mut excess = Vec::new();
    let mut of = SideTable::new(graph.n_ids(), FeatureSet::NONE);
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
