//! Finds the loops that can be folded: all rounds, and the step that folds the list, run as one
//! form.
//!
//! A loop can be folded if a single node reads its list and folds it, and its items consist of
//! forms and choices among lanes. A node with other readers is computed again for them, or shared
//! by evaluators that store items, so it must be cheaper than storing. All arms of choices are
//! computed in all rounds, so they must be cheap (see `arms`), and nodes outside the loop that only
//! arms read must not fail.

use millstream_base::feature::Aspect;
use millstream_base::id::SideTable;
use millstream_base::{FeatureSet, Value};
use millstream_form::{Form, FormBuilder};
use millstream_ir::graph::InstanceId;
use millstream_ir::loops::{LoopMark, LoopOf, MAX_INSTRUCTIONS, NotFolded, is_loop, takes};
use millstream_ir::need_map::Fate;
use millstream_ir::{Graph, NodeId, Op, Source, walk};
use millstream_node::{Function, Instance, Kernel, ScopeRule};
use rustc_hash::{FxHashMap, FxHashSet};

use super::needs::Needs;
use super::regions::select_size;

/// The maximum work per round that is repeated for other readers, see `Form::cost`. Writing and
/// reading a column of items takes as long.
const CHEAP: usize = 16;

/// The parts of a folded loop in a graph.
pub type LoopParts = LoopOf<NodeId, Source>;

/// The mark of each loop, keyed by the node that outputs its list. The graph has its regions, and
/// `order` is topological. Cost: a few walks over nodes and links, and for each loop a walk over at
/// most 4096 nodes.
pub fn loops(graph: &Graph, order: &[NodeId], needs: &Needs) -> FxHashMap<NodeId, LoopMark> {
    if !graph.any_instance(is_loop) {
        return FxHashMap::default();
    }
    let is_list = |id: &&NodeId| graph.instance_of(**id).is_some_and(|call| is_loop(call));
    let lists: Vec<NodeId> = order.iter().filter(is_list).copied().collect();
    let finder = Finder::new(graph, order, needs);
    let mark = |list: NodeId| match finder.find(list) {
        Ok(_) => LoopMark::Folded,
        Err((why, node)) => LoopMark::Apart(why, node),
    };
    lists.into_iter().map(|list| (list, mark(list))).collect()
}

/// The parts of the loops marked as folded, in topological order.
pub fn folded_loops(graph: &Graph, order: &[NodeId], needs: &Needs) -> Vec<LoopParts> {
    if !graph.has_loops() {
        return Vec::new();
    }
    let is_folded = |id: &NodeId| graph.loop_of(*id) == Some(LoopMark::Folded);
    let lists: Vec<NodeId> = order.iter().copied().filter(is_folded).collect();
    if lists.is_empty() {
        return Vec::new();
    }
    let finder = Finder::new(graph, order, needs);
    lists.into_iter().filter_map(|list| finder.find(list).ok()).collect()
}

/// The reason why a loop is not folded, and the node that causes it.
type Why = (NotFolded, Option<NodeId>);

struct Finder<'a> {
    graph: &'a Graph,
    needs: &'a Needs,
    /// The positions of nodes in the order.
    position: SideTable<NodeId, u32>,
    /// The number of links and outputs that read each node, counting only nodes that outputs reach.
    n_users: SideTable<NodeId, u32>,
    /// A reader of each node.
    reader: SideTable<NodeId, Option<NodeId>>,
    /// Whether neither the node nor anything it reads can fail.
    total: SideTable<NodeId, bool>,
}

impl<'a> Finder<'a> {
    fn new(graph: &'a Graph, order: &[NodeId], needs: &'a Needs) -> Self {
        let mut position = SideTable::new(graph.n_ids(), 0);
        order.iter().enumerate().for_each(|(at, id)| position[*id] = at as u32);
        let mut n_users = SideTable::new(graph.n_ids(), 0);
        let mut reader = SideTable::new(graph.n_ids(), None);
        let mut total = SideTable::new(graph.n_ids(), false);
        for output in &graph.outputs {
            n_users[output.source.node] += 1;
        }
        let reached = walk::reachable_from_outputs(graph);
        for id in order.iter().filter(|id| reached[**id]) {
            let is_total = match graph.instance_of(*id) {
                None => true,
                Some(instance) => {
                    matches!(instance.kernel, Kernel::Read { .. }) || size_of(instance).is_some()
                }
            };
            total[*id] = is_total && graph.inputs_of(*id).iter().all(|link| total[link.node]);
            for link in graph.inputs_of(*id) {
                n_users[link.node] += 1;
                reader[link.node] = Some(*id);
            }
        }
        Self { graph, needs, position, n_users, reader, total }
    }

    /// The parts of the loop that outputs this list, or the reason why it is not folded.
    fn find(&self, list: NodeId) -> Result<LoopParts, Why> {
        let graph = self.graph;
        let &[item, count] = graph.inputs_of(list) else { return Err((NotFolded::Context, None)) };
        let (1, Some(fold)) = (self.n_users[list], self.reader[list]) else {
            return Err((NotFolded::Readers, None));
        };
        let (Op::Call(id), Some(generating)) = (graph.op(list), graph.instance_of(list)) else {
            return Err((NotFolded::Context, None));
        };
        let folds = |folding: &Instance| {
            folding.inputs.len() == 1
                && !folding.has_scopes()
                && matches!(&folding.kernel, Kernel::Function(function)
                    if folds(&**function, generating.inputs[0].ty))
        };
        if !graph.instance_of(fold).is_some_and(|folding| folds(folding)) {
            return Err((NotFolded::NoFold, Some(fold)));
        }
        let provided = self.provided(id, item)?;
        let mut made = LoopParts {
            fold,
            list,
            count,
            item,
            members: Vec::new(),
            rounds: Vec::new(),
            outside: Vec::new(),
            n_instructions: 0,
        };
        let met = self.collect(&mut made, generating, provided)?;
        // If only the round numbers differ, all cells have the same items.
        if made.members.is_empty() {
            return Err((NotFolded::Numbers, None));
        }
        self.check_shared(&made, &met)?;
        if let Some(n) = graph.constant_of(count.node).and_then(Value::get::<i32>)
            && !takes(made.n_instructions, n)
        {
            return Err((if n > 0 { NotFolded::Large } else { NotFolded::Empty }, None));
        }
        Ok(made)
    }

    /// The needs of the item that the loop provides; all others must cross it unchanged.
    fn provided(&self, list: InstanceId, item: Source) -> Result<FeatureSet, Why> {
        let Some(map) = self.needs.flow.map(list, 0) else {
            return Err((NotFolded::Context, None));
        };
        let mut provided = FeatureSet::NONE;
        for bit in self.needs.of[item.node].bits() {
            match map.fate(bit) {
                Fate::Same => {}
                Fate::Provided(_) => provided = provided.union(FeatureSet::bit(bit)),
                Fate::Outer(_) | Fate::Modified(..) => return Err((NotFolded::Context, None)),
            }
        }
        if provided.is_empty() { Err((NotFolded::Equal, None)) } else { Ok(provided) }
    }

    /// Collects the nodes that differ between rounds, and their sources: first those needed
    /// unconditionally, then those that only arms need. Returns the number of readers found for
    /// each differing node.
    fn collect(
        &self,
        made: &mut LoopParts,
        generating: &Instance,
        provided: FeatureSet,
    ) -> Result<FxHashMap<NodeId, u32>, Why> {
        let differs = |id: NodeId| !self.needs.of[id].intersect(provided).is_empty();
        let mut met: FxHashMap<NodeId, u32> = FxHashMap::default();
        let mut known: FxHashSet<(NodeId, u32)> = FxHashSet::default();
        let (mut links, mut arms) = (vec![made.item], Vec::new());
        let mut is_sure = true;
        loop {
            let Some(link) = links.pop() else {
                is_sure = false;
                links.append(&mut arms);
                if links.is_empty() {
                    break;
                }
                continue;
            };
            if !differs(link.node) {
                let is_call = matches!(self.graph.op(link.node), Op::Call(_));
                if is_call && known.insert((link.node, link.output)) {
                    if !is_sure && !self.total[link.node] {
                        return Err((NotFolded::Fails, Some(link.node)));
                    }
                    made.outside.push(link);
                }
                continue;
            }
            let n_met = met.entry(link.node).or_insert(0);
            *n_met += 1;
            if *n_met == 1 {
                let own = self.add(made, generating, link.node)?;
                let inputs = self.graph.inputs_of(link.node);
                let n_sure = own.unwrap_or(inputs.len());
                links.extend(&inputs[..n_sure]);
                arms.extend(&inputs[n_sure..]);
            }
        }
        made.members.sort_unstable_by_key(|id| self.position[*id]);
        Ok(met)
    }

    /// Checks that members with readers elsewhere are cheap. A member that depends only on the
    /// round number is a constant of each round.
    fn check_shared(&self, made: &LoopParts, met: &FxHashMap<NodeId, u32>) -> Result<(), Why> {
        let mut varies: FxHashSet<NodeId> = FxHashSet::default();
        for id in &made.members {
            let by_link = |link: &Source| match self.graph.op(link.node) {
                Op::Const(_) | Op::Gone => false,
                Op::Input(_) => true,
                Op::Call(_) => varies.contains(&link.node) || !met.contains_key(&link.node),
            };
            if self.graph.inputs_of(*id).iter().any(by_link) {
                varies.insert(*id);
            }
        }
        let mut shared: FxHashSet<NodeId> = FxHashSet::default();
        let (mut work, mut first) = (0, None);
        for id in made.members.iter().rev().filter(|id| varies.contains(id)) {
            if self.n_users[*id] == met[id] && !shared.contains(id) {
                continue;
            }
            first.get_or_insert(*id);
            shared.extend(self.graph.inputs_of(*id).iter().map(|link| link.node));
            work += self.graph.instance_of(*id).map_or(0, |call| work_of(call));
        }
        if work > CHEAP { Err((NotFolded::Shared, first)) } else { Ok(()) }
    }

    /// Adds a node that differs between rounds. Returns the number of its links that are needed
    /// unconditionally, or `None` if all are.
    fn add(
        &self,
        made: &mut LoopParts,
        generating: &Instance,
        id: NodeId,
    ) -> Result<Option<usize>, Why> {
        let [ScopeRule::Each { feature: counted, .. }] = &generating.inputs[0].scope[..] else {
            return Err((NotFolded::Context, None));
        };
        let instance = self.graph.instance_of(id).ok_or((NotFolded::NoForm, Some(id)))?;
        if let Kernel::Read { feature, level: 0, aspect: Aspect::Value } = &instance.kernel
            && feature == counted
        {
            made.rounds.push(id);
            return Ok(None);
        }
        let size = size_of(instance).ok_or((NotFolded::NoForm, Some(id)))?;
        let is_choice = instance.is_lane_choice();
        if is_choice && self.graph.region_of(id).is_none_or(|mark| mark.only_uniform) {
            return Err((NotFolded::Expensive, Some(id)));
        }
        made.n_instructions += size;
        if made.n_instructions > MAX_INSTRUCTIONS {
            return Err((NotFolded::Large, None));
        }
        made.members.push(id);
        Ok(is_choice.then_some(1))
    }
}

/// The number of instructions of a call that can be a member of a loop.
fn size_of(instance: &Instance) -> Option<usize> {
    match instance.plain_form() {
        Some(form) => Some(form.insts.len()),
        None => instance.is_lane_choice().then(|| select_size(instance)),
    }
}

/// The work of a member of a loop.
fn work_of(instance: &Instance) -> usize {
    instance.plain_form().map_or_else(|| select_size(instance), Form::cost)
}

/// Whether a function can fold lists of items of this type.
fn folds(function: &dyn Function, item: millstream_base::Type) -> bool {
    let Some((lane, n)) = item.lanes() else { return false };
    let b = FormBuilder::new();
    let items = [(0..n).map(|_| b.param(lane)).collect()];
    function.unrolled(&items).is_some()
}
