//! Finds the choices of a region that are too expensive for selection: computing all their arms for
//! all elements would take longer than sorting the elements by arm.
//!
//! A member of a region is needed either unconditionally, or only by the arms of some choices. A
//! node that every arm of a choice needs is needed under the same condition as the choice. The work
//! of nodes needed only by arms is charged to the choice, including that of inner choices. An arm
//! must not be computed for elements that do not take it if it reads a node outside the region that
//! may fail and is not needed anyway.

use millstream_base::id::Id;
use millstream_ir::region::{InRegion, RegionId};
use millstream_ir::{Graph, NodeId, Op};
use millstream_node::{Instance, Kernel};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::regions::select_size;

/// The maximum work in arms that are computed for all elements and selected from, see `Form::cost`.
/// Sorting takes about 20 nanoseconds per element; this much work takes 6 (AVX-512).
const CHEAP: u32 = 600;

/// Nodes that depend on more arms are treated as needed unconditionally. At worst this costs time:
/// evaluators check for themselves whether a node may be computed without demand.
const MAX_ARMS: usize = 16;

/// Arms, each as a choice and the index of its arm. At least one of them must be taken.
type Arms = SmallVec<[(NodeId, u32); 4]>;

/// The condition under which a node is needed.
#[derive(Clone, Debug)]
enum Need {
    Always,
    Arms(Arms),
}

/// The choices in regions that are too expensive for selection.
pub(super) fn expensive_choices(
    graph: &Graph,
    order: &[NodeId],
    regions: &[Option<InRegion>],
) -> Vec<NodeId> {
    if !graph.any_instance(Instance::is_lane_choice) {
        return Vec::new();
    }
    let is_member = |id: &&NodeId| regions[id.index()].is_some() && arms_of(graph, **id).is_some();
    let choices: Vec<NodeId> = order.iter().filter(is_member).copied().collect();
    if choices.is_empty() {
        return Vec::new();
    }
    let mut weighing = Weighing {
        graph,
        regions,
        has_choice: FxHashSet::default(),
        needs: FxHashMap::default(),
        outside: FxHashMap::default(),
    };
    for choice in &choices {
        weighing.has_choice.extend(regions[choice.index()].map(|mark| mark.region));
    }
    weighing.find_needs(order);
    weighing.expensive(&choices, &work_of_cones(graph, order))
}

/// The number of arms of a choice.
fn arms_of(graph: &Graph, id: NodeId) -> Option<u32> {
    let instance = graph.instance_of(id)?;
    instance.is_lane_choice().then(|| instance.inputs.len() as u32 - 1)
}

/// The work of a call that can be a member of a region.
fn work_of(instance: &Instance) -> Option<u32> {
    match instance.plain_form() {
        Some(form) => Some(u32::try_from(form.cost()).unwrap_or(u32::MAX)),
        None => instance.is_lane_choice().then(|| select_size(instance) as u32),
    }
}

/// The work of each node together with everything it reads; `u32::MAX` if not all of it is forms.
fn work_of_cones(graph: &Graph, order: &[NodeId]) -> Vec<u32> {
    let of_instance = |instance: &std::sync::Arc<Instance>| match instance.kernel {
        Kernel::Read { .. } => 0,
        Kernel::ReadState(_) => u32::MAX,
        Kernel::Form(_) | Kernel::Function(_) | Kernel::Pass | Kernel::Choose => {
            work_of(instance).unwrap_or(u32::MAX)
        }
    };
    let own: Vec<u32> = graph.instances().as_slice().iter().map(of_instance).collect();
    let mut work = vec![0_u32; graph.n_ids()];
    for id in order {
        let Op::Call(instance) = graph.op(*id) else { continue };
        let links = graph.inputs_of(*id).iter();
        let of_inputs = links.map(|link| work[link.node.index()]);
        work[id.index()] = of_inputs.fold(own[instance.index()], u32::saturating_add);
    }
    work
}

struct Weighing<'a> {
    graph: &'a Graph,
    regions: &'a [Option<InRegion>],
    /// The regions that contain a choice; the others need no analysis.
    has_choice: FxHashSet<RegionId>,
    /// The conditions under which members are needed if the region runs, for the readers seen so
    /// far.
    needs: FxHashMap<NodeId, Need>,
    /// The conditions under which regions need nodes outside them.
    outside: FxHashMap<(RegionId, NodeId), Need>,
}

impl Weighing<'_> {
    fn region(&self, id: NodeId) -> Option<RegionId> {
        self.regions[id.index()]
            .map(|mark| mark.region)
            .filter(|region| self.has_choice.contains(region))
    }

    fn find_needs(&mut self, order: &[NodeId]) {
        for output in &self.graph.outputs {
            self.needs.insert(output.source.node, Need::Always);
        }
        for id in order.iter().rev() {
            let region = self.region(*id);
            let need = match (region, self.needs.remove(id)) {
                (Some(_), Some(need)) => self.settled(need),
                // The remaining nodes have no readers.
                (Some(_), None) | (None, _) => Need::Always,
            };
            let is_choice = region.is_some() && arms_of(self.graph, *id).is_some();
            for (i, link) in self.graph.inputs_of(*id).iter().enumerate() {
                let by_link = match i.checked_sub(1) {
                    Some(arm) if is_choice => {
                        Need::Arms(SmallVec::from_slice(&[(*id, arm as u32)]))
                    }
                    Some(_) | None => need.clone(),
                };
                let read = self.region(link.node);
                if read.is_some() && read == region {
                    add(&mut self.needs, link.node, by_link);
                    continue;
                }
                if read.is_some() {
                    self.needs.insert(link.node, Need::Always);
                }
                if let Some(region) = region
                    && matches!(self.graph.op(link.node), Op::Call(_))
                {
                    add(&mut self.outside, (region, link.node), by_link);
                }
            }
            if region.is_some() {
                self.needs.insert(*id, need);
            }
        }
    }

    /// The condition in which a choice replaces its arms if all of them occur.
    fn settled(&self, need: Need) -> Need {
        let Need::Arms(mut arms) = need else { return Need::Always };
        let mut at = 0;
        while let Some((choice, _)) = arms.get(at).copied() {
            let n_arms = arms_of(self.graph, choice).unwrap_or(0);
            let has_all = (0..n_arms).all(|arm| arms.contains(&(choice, arm)));
            if !has_all {
                at += 1;
                continue;
            }
            arms.retain(|(other, _)| *other != choice);
            match self.needs.get(&choice) {
                Some(Need::Arms(outer)) => {
                    for arm in outer {
                        if !arms.contains(arm) {
                            arms.push(*arm);
                        }
                    }
                }
                Some(Need::Always) | None => return Need::Always,
            }
            at = 0;
        }
        Need::Arms(arms)
    }

    /// Charges work needed only by arms to their choices. `choices` are in topological order, and
    /// `cones` is the work of nodes together with everything they read.
    fn expensive(&self, choices: &[NodeId], cones: &[u32]) -> Vec<NodeId> {
        let mut charged: FxHashMap<NodeId, u32> = FxHashMap::default();
        let mut charge = |arms: &Arms, work: u32| {
            for (i, (choice, _)) in arms.iter().enumerate() {
                if !arms[..i].iter().any(|(other, _)| other == choice) {
                    let all = charged.entry(*choice).or_insert(0);
                    *all = all.saturating_add(work);
                }
            }
        };
        for (id, need) in &self.needs {
            if let Need::Arms(arms) = need
                && let Some(work) = self.graph.instance_of(*id).and_then(|call| work_of(call))
            {
                charge(arms, work);
            }
        }
        for ((_, id), need) in &self.outside {
            if let Need::Arms(arms) = self.settled(need.clone()) {
                charge(&arms, cones[id.index()]);
            }
        }
        let mut expensive = Vec::new();
        for choice in choices {
            let inside = charged.get(choice).copied().unwrap_or(0);
            let is_expensive = inside > CHEAP;
            if is_expensive {
                expensive.push(*choice);
            }
            // If an inner choice cannot select, neither can the outer one.
            if let Some(Need::Arms(arms)) = self.needs.get(choice) {
                for (outer, _) in arms {
                    let all = charged.entry(*outer).or_insert(0);
                    *all = all.saturating_add(if is_expensive { u32::MAX } else { inside });
                }
            }
        }
        expensive
    }
}

fn add<K: std::hash::Hash + Eq>(needs: &mut FxHashMap<K, Need>, key: K, need: Need) {
    let known = needs.entry(key).or_insert_with(|| Need::Arms(Arms::new()));
    match (&mut *known, need) {
        (Need::Arms(all), Need::Arms(more)) => {
            for arm in more {
                if !all.contains(&arm) {
                    all.push(arm);
                }
            }
            let is_full = all.len() > MAX_ARMS;
            if is_full {
                *known = Need::Always;
            }
        }
        (known, Need::Always) => *known = Need::Always,
        (Need::Always, Need::Arms(_)) => {}
    }
}
