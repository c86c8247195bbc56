//! Which choices of a region are too dear to select from: computing all their arms for all elements
//! would take longer than sorting the elements by the arm that they take.
//!
//! A member of a region is needed for sure, or only by the arms of some choices. What is needed by
//! every arm of a choice is needed as surely as the choice. What only the arms need is charged to the
//! choice, inner choices included. If it reads from outside the region something that may fail, and
//! that is not needed in any case, it must not be computed for elements that do not ask for it.

use millstream_base::id::Id;
use millstream_ir::region::{InRegion, RegionId};
use millstream_ir::{Graph, NodeId, Op};
use millstream_node::{Instance, Kernel};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::regions::select_size;

/// Arms are selected from if there is no more work in them, see `Form::cost`. Sorting the elements
/// takes about 20 nanoseconds an element; so much work takes 6 (AVX-512).
const CHEAP: u32 = 600;

/// What depends on more arms than this is taken for needed in any case. That costs time at most:
/// evaluators look themselves whether something may be computed that nobody asked for.
const MAX_ARMS: usize = 16;

/// Arms, each a choice and a position among its arms, of which at least one must be taken.
type Arms = SmallVec<[(NodeId, u32); 4]>;

/// When something is needed.
#[derive(Clone, Debug)]
enum Need {
    Sure,
    Arms(Arms),
}

/// The choices in regions that are too dear to select from.
pub(super) fn dear_choices(
    graph: &Graph,
    order: &[NodeId],
    regions: &[Option<InRegion>],
) -> Vec<NodeId> {
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
    weighing.dear(&choices, &work_of_cones(graph, order))
}

/// The number of arms of a choice.
fn arms_of(graph: &Graph, id: NodeId) -> Option<u32> {
    let instance = graph.instance_of(id)?;
    instance.is_lane_choice().then(|| instance.inputs.len() as u32 - 1)
}

/// The work of one call of what can be a member of a region.
fn work_of(instance: &Instance) -> Option<u32> {
    match instance.plain_form() {
        Some(form) => Some(u32::try_from(form.cost()).unwrap_or(u32::MAX)),
        None => instance.is_lane_choice().then(|| select_size(instance) as u32),
    }
}

/// The work of each node and all it reads, `u32::MAX` if something there is no form.
fn work_of_cones(graph: &Graph, order: &[NodeId]) -> Vec<u32> {
    let of_instance = |instance: &std::sync::Arc<Instance>| match instance.kernel {
        Kernel::Read { .. } => 0,
        Kernel::Kept(_) => u32::MAX,
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
    /// Regions with a choice; nothing is to be found out about others.
    has_choice: FxHashSet<RegionId>,
    /// When members are needed, if the region runs at all; as far as users were looked at.
    needs: FxHashMap<NodeId, Need>,
    /// When regions need nodes that they read from outside.
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
            self.needs.insert(output.source.node, Need::Sure);
        }
        for id in order.iter().rev() {
            let region = self.region(*id);
            let need = match (region, self.needs.remove(id)) {
                (Some(_), Some(need)) => self.settled(need),
                // Nothing reads what is left without a need.
                (Some(_), None) | (None, _) => Need::Sure,
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
                    self.needs.insert(link.node, Need::Sure);
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

    /// A need with all arms of a choice replaced by the need for the choice.
    fn settled(&self, need: Need) -> Need {
        let Need::Arms(mut arms) = need else { return Need::Sure };
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
                Some(Need::Sure) | None => return Need::Sure,
            }
            at = 0;
        }
        Need::Arms(arms)
    }

    /// Charges what only arms need to their choices; `choices` are in order, `cones` is the work of
    /// nodes with all they read.
    fn dear(&self, choices: &[NodeId], cones: &[u32]) -> Vec<NodeId> {
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
        let mut dear = Vec::new();
        for choice in choices {
            let inside = charged.get(choice).copied().unwrap_or(0);
            let is_dear = inside > CHEAP;
            if is_dear {
                dear.push(*choice);
            }
            // An outer choice cannot select if an inner one does not.
            if let Some(Need::Arms(arms)) = self.needs.get(choice) {
                for (outer, _) in arms {
                    let all = charged.entry(*outer).or_insert(0);
                    *all = all.saturating_add(if is_dear { u32::MAX } else { inside });
                }
            }
        }
        dear
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
                *known = Need::Sure;
            }
        }
        (known, Need::Sure) => *known = Need::Sure,
        (Need::Sure, Need::Arms(_)) => {}
    }
}
