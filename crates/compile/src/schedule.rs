//! From the graph to the plan: the reachable nodes in order, with the facts that evaluators need.
//!
//! Instances and constants that no step uses are dropped. The order is that of the graph's ids, and
//! so of the document, as far as links allow.

use std::sync::Arc;

use millstream_base::diagnostics::Diagnostics;
use millstream_base::feature::TooManyNeeds;
use millstream_base::id::{Arena, Id, SideTable};
use millstream_base::path::Place;
use millstream_base::{AHEAD, FeatureSet, read_ahead};
use millstream_ir::graph::{ConstId, InstanceId};
use millstream_ir::plan::{LinkKind, NeedClassId, Notes, PlanOutput};
use millstream_ir::states::is_state;
use millstream_ir::{
    Graph, Loop, NodeId, Op, Plan, StateWriter, Step, StepId, StepOp, StepSource, walk,
};
use millstream_node::{Class, Data, Instance, Kernel};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::analyses::{Excess, LoopParts, Needs, classes, folded_loops, needs};

/// The plan of a graph whose types are equal along links.
///
/// # Errors
/// If the graph has a cycle or more than 64 different needs.
pub fn schedule(graph: Graph, fps: f64) -> Result<Plan, Diagnostics> {
    let order = in_order(&graph)?;
    let needs = needs(&graph, &order).map_err(|excess| too_many(&graph, &excess))?;
    let classes = classes(&graph, &order, &needs);
    let mut schedule = Schedule::new(&graph, order.len());
    for block in order.chunks(AHEAD) {
        schedule.read_inputs_ahead(&graph, block);
        for id in block {
            schedule.place(&graph, *id, &needs, classes[*id]);
        }
    }
    schedule.finish_steps();
    let has_regions = order.iter().any(|id| graph.region_of(*id).is_some());
    let regions = order.iter().filter(|_| has_regions).map(|id| graph.region_of(*id)).collect();
    let loops = folded_loops(&graph, &order, &needs);
    let mut loops: Vec<Loop> = loops.iter().map(|parts| schedule.folded(parts)).collect();
    loops.sort_unstable_by_key(|folded| folded.fold);
    drop((order, classes));
    let outputs = graph.outputs.iter().map(|output| PlanOutput {
        name: Arc::clone(&output.name),
        ty: output.ty,
        source: schedule.source(output.source),
    });
    let mut outputs: Vec<PlanOutput> = outputs.collect();
    for output in &outputs {
        let step = &mut schedule.steps[output.source.step];
        step.n_users += 1;
        step.is_local = false;
    }
    let state_writers = schedule.state_writers(&graph, &mut outputs);
    let need_maps = schedule.old_instances.iter().map(|id| needs.flow.maps(*id).to_vec());
    let need_maps = SideTable::from_vec(need_maps.collect());
    let parts = graph.into_parts();
    Ok(Plan {
        steps: schedule.steps,
        link_kinds: schedule.link_kinds,
        regions: SideTable::from_vec(regions),
        loops,
        links: schedule.links,
        instances: schedule.instances,
        need_maps,
        constants: schedule.constants,
        inputs: parts.inputs,
        outputs,
        needs: needs.flow.table,
        state_writers,
        need_classes: schedule.need_classes,
        paths: parts.paths,
        fps,
        start_frame: 0,
        notes: Notes::default(),
    })
}

/// The nodes that become steps, in order.
fn in_order(graph: &Graph) -> Result<Vec<NodeId>, Diagnostics> {
    let mut order = crate::order(graph)?;
    let reached = walk::reachable_from_outputs(graph);
    order.retain(|id| reached[*id]);
    Ok(order)
}

/// The step that each node of a graph becomes in its plan, if it is reachable.
///
/// # Errors
/// If the graph has a cycle.
pub fn steps_of(graph: &Graph) -> Result<SideTable<NodeId, Option<StepId>>, Diagnostics> {
    let mut steps = SideTable::new(graph.n_ids(), None);
    for (step, id) in in_order(graph)?.into_iter().enumerate() {
        steps[id] = Some(StepId::from_index(step));
    }
    Ok(steps)
}

/// The problem of too many needs, at each path where another one arises.
pub(crate) fn too_many(graph: &Graph, Excess(nodes): &Excess) -> Diagnostics {
    let mut problems = Diagnostics::new();
    let mut told = FxHashSet::default();
    for node in nodes {
        let path = graph.node(*node).path;
        if told.insert(path) {
            problems.report(Place::at(graph.paths.get(path)), &TooManyNeeds);
        }
    }
    problems
}

const NOT_YET: u32 = u32::MAX;

/// The parts of a step that links to it read and change. They are stored separately because links
/// lead anywhere: the fewer bytes, the more of them fit into the caches.
#[derive(Clone, Copy)]
struct Linked {
    op: StepOp,
    needs: NeedClassId,
    n_users: u32,
    depth: u32,
    is_local: bool,
}

struct Schedule {
    steps: Arena<StepId, Step>,
    linked: Arena<StepId, Linked>,
    links: Vec<StepSource>,
    link_kinds: Vec<LinkKind>,
    instances: Arena<InstanceId, Arc<Instance>>,
    constants: Arena<ConstId, Data>,
    need_classes: Arena<NeedClassId, FeatureSet>,
    /// The graph's id of each instance of the plan.
    old_instances: Vec<InstanceId>,
    step_of: Vec<u32>,
    instance_of: Vec<u32>,
    constant_of: Vec<u32>,
    class_of: FxHashMap<FeatureSet, NeedClassId>,
}

impl Schedule {
    fn new(graph: &Graph, n_steps: usize) -> Self {
        let mut need_classes = Arena::new();
        let empty = need_classes.push(FeatureSet::NONE);
        Self {
            steps: Arena::with_capacity(n_steps),
            linked: Arena::with_capacity(n_steps),
            links: Vec::with_capacity(graph.n_links().min(4 * n_steps)),
            link_kinds: Vec::with_capacity(graph.n_links().min(4 * n_steps)),
            instances: Arena::new(),
            constants: Arena::new(),
            need_classes,
            old_instances: Vec::new(),
            step_of: vec![NOT_YET; graph.n_ids()],
            instance_of: vec![NOT_YET; graph.instances().len()],
            constant_of: vec![NOT_YET; graph.constants().values().len()],
            class_of: FxHashMap::from_iter([(FeatureSet::NONE, empty)]),
        }
    }

    fn source(&self, source: millstream_ir::Source) -> StepSource {
        let step = self.step_of[source.node.index()];
        StepSource { step: StepId::from_index(step as usize), output: source.output }
    }

    fn folded(&self, parts: &LoopParts) -> Loop {
        let step = |node: NodeId| StepId::from_index(self.step_of[node.index()] as usize);
        let mut folded = parts.map(step, |source| self.source(source));
        folded.members.sort_unstable();
        folded
    }

    /// The nodes that keep state for each element. Their next states are not outputs: they are
    /// requested where the nodes are called.
    fn state_writers(&mut self, graph: &Graph, outputs: &mut Vec<PlanOutput>) -> Vec<StateWriter> {
        let mut readers = Vec::new();
        for i in 0..self.steps.len() {
            let reader = StepId::from_index(i);
            let StepOp::Call(id) = self.steps[reader].op else { continue };
            let instance = &self.instances[id];
            if let Kernel::ReadState(_) = instance.kernel {
                // Evaluation ends by asking for which elements it was called.
                self.steps[reader].is_local = false;
                let names = &instance.output_names[1..];
                let node: Arc<str> = instance.settings.text("node").into();
                let wanted: Vec<String> =
                    names.iter().map(|name| format!("{node}.{name}")).collect();
                readers.push((reader, node, wanted));
            }
        }
        if readers.is_empty() {
            return Vec::new();
        }
        let kept = outputs.iter().filter(|output| is_state(&output.name));
        let by_name: FxHashMap<Arc<str>, PlanOutput> =
            kept.map(|output| (Arc::clone(&output.name), output.clone())).collect();
        let mut taken: FxHashSet<String> = FxHashSet::default();
        let mut state_writers = Vec::new();
        for (reader, node, wanted) in readers {
            let values = wanted.iter().map(|full| {
                let output = by_name.get(full.as_str())?.clone();
                let name = full.rsplit_once('.').map_or(&**full, |(_, name)| name).into();
                Some(PlanOutput { name, ..output })
            });
            // Graphs for inspecting nodes have other outputs.
            if let Some(values) = values.collect() {
                taken.extend(wanted);
                let scoped_by = graph.scoped_by.get(&node).cloned();
                state_writers.push(StateWriter { node, reader, values, scoped_by });
            }
        }
        outputs.retain(|output| !taken.contains(&*output.name));
        state_writers
    }

    /// Prefetches the steps that nodes are linked to, as far as they exist.
    fn read_inputs_ahead(&self, graph: &Graph, nodes: &[NodeId]) {
        let links = nodes.iter().flat_map(|id| graph.inputs_of(*id));
        read_ahead(links.map(|link| {
            let step = self.step_of[link.node.index()] as usize;
            self.linked.as_slice().get(step).map(|linked| linked.depth)
        }));
    }

    /// Appends the step of a node; the steps that it reads already exist.
    fn place(&mut self, graph: &Graph, id: NodeId, needs: &Needs, class: Class) {
        let op = self.op(graph, id);
        let set = needs.of[id];
        let needs_class = if set.is_empty() {
            NeedClassId::from_index(0)
        } else {
            let need_classes = &mut self.need_classes;
            *self.class_of.entry(set).or_insert_with(|| need_classes.push(set))
        };
        let first_link = self.links.len() as u32;
        let mut depth = 0;
        let maps = match graph.op(id) {
            Op::Call(instance) => needs.flow.maps(instance),
            Op::Gone | Op::Const(_) | Op::Input(_) => &[],
        };
        let links = graph.inputs_of(id);
        for (i, link) in links.iter().enumerate() {
            let source = self.source(*link);
            self.links.push(source);
            let read = &mut self.linked[source.step];
            depth = depth.max(read.depth.saturating_add(1));
            read.n_users += 1;
            let is_scoped = maps.get(i).is_some_and(Option::is_some);
            let is_same_context = !is_scoped && read.needs == needs_class;
            read.is_local &= is_same_context;
            self.link_kinds.push(LinkKind::of(read.op, is_same_context));
        }
        let is_local = matches!(op, StepOp::Call(_));
        self.linked.push(Linked { op, needs: needs_class, n_users: 0, depth, is_local });
        let step = self.steps.push(Step {
            op,
            path: graph.node(id).path,
            needs: needs_class,
            depth,
            n_users: 0,
            first_link,
            n_links: links.len() as u16,
            class,
            is_local,
        });
        self.step_of[id.index()] = step.index() as u32;
    }

    /// Completes the steps once all links are known.
    fn finish_steps(&mut self) {
        for (id, linked) in std::mem::take(&mut self.linked).iter() {
            let step = &mut self.steps[id];
            (step.n_users, step.is_local) = (linked.n_users, linked.is_local);
        }
    }

    fn op(&mut self, graph: &Graph, id: NodeId) -> StepOp {
        match graph.op(id) {
            Op::Gone => unreachable!("links lead to existing nodes"),
            Op::Input(input) => StepOp::Input(input),
            Op::Const(constant) => {
                let at = &mut self.constant_of[constant.index()];
                if *at == NOT_YET {
                    let value = graph.constants().values()[constant].clone();
                    *at = self.constants.push(Data::One(value)).index() as u32;
                }
                StepOp::Const(ConstId::from_index(*at as usize))
            }
            Op::Call(instance) => {
                let at = &mut self.instance_of[instance.index()];
                if *at == NOT_YET {
                    let shared = Arc::clone(&graph.instances()[instance]);
                    *at = self.instances.push(shared).index() as u32;
                    self.old_instances.push(instance);
                }
                StepOp::Call(InstanceId::from_index(*at as usize))
            }
        }
    }
}
