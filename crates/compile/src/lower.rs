//! From a checked document to a flat graph: groups are expanded, and names become paths.
//!
//! An explicit stack holds one frame per group being expanded. Nodes are created in topological
//! order, so that each reads from smaller ids. Each distinct literal becomes one constant. Where a
//! value crosses the border of a group, or passes a muted node, that declares another type, it is
//! converted there; the border leaves no other trace. A pass inserts all other conversions.
//!
//! If outputs of a group are needed before all of its inputs are available, the group is entered
//! several times. Each time, the nodes whose inputs are available are created; an id without a node
//! is the placeholder for the others.
//!
//! For a partial document, the graph contains the nodes that do not depend on wrong parts,
//! separately for each use of a group. An id without a node stands for all missing values.

mod networks;
pub mod repeats;
mod stateful;
mod wrong;

pub use stateful::{DELAYED, StatefulParts, StatefulType};

use std::rc::Rc;
use std::sync::Arc;

use millstream_base::diagnostics::Diagnostics;
use millstream_base::id::Id;
use millstream_base::{Limits, Need, Type};
use millstream_document::{
    Body, BodyId, Checked, CheckedKind, CheckedNode, CheckedZone, Muted, Passes, Source as From,
};
use millstream_ir::{Graph, GraphInput, GraphOutput, NodeId, PathId, Paths, Source};
use millstream_node::{Instance, Registry, StateSpec, repeat};
use rustc_hash::FxHashMap;

use self::repeats::Zones;
use crate::converter::Converter;
use crate::expansion::{self, Expansion};
use crate::state_scopes;

/// The flat graph of a document.
///
/// # Errors
/// If expanding its groups exceeds the limits, in which case nothing was expanded. If stateful
/// nodes use too many features and levels.
pub fn lower(
    checked: &Checked,
    registry: &Registry,
    limits: &Limits,
) -> Result<Graph, Diagnostics> {
    let mut graph = lowered(checked, registry, limits, State::TakenApart)?;
    state_scopes::resolve(&mut graph, registry)?;
    Ok(graph)
}

/// The flat graph of a document with its stateful nodes intact. It cannot be run, but it can be
/// written as a document. Each stateful node is a root, through an output `path.node`. The source
/// of a delayed socket is the output `path.delayed`; the node itself reads a default there.
///
/// # Errors
/// See [`lower`].
pub fn lower_whole(
    checked: &Checked,
    registry: &Registry,
    limits: &Limits,
) -> Result<Graph, Diagnostics> {
    lowered(checked, registry, limits, State::Whole)
}

/// The treatment of stateful nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    TakenApart,
    Whole,
}

fn lowered(
    checked: &Checked,
    registry: &Registry,
    limits: &Limits,
    state: State,
) -> Result<Graph, Diagnostics> {
    let expansion = expansion::expansion(checked, limits)?;
    let zones = Zones::compile(checked, registry, limits, &expansion)?;
    Ok(lowered_body(checked, checked.root, registry, &zones, &expansion, state))
}

/// The flat graph of a body, whose inputs and outputs become those of the graph; the zones in it
/// are already compiled.
pub(crate) fn lowered_body(
    checked: &Checked,
    body: BodyId,
    registry: &Registry,
    zones: &Zones,
    expansion: &Expansion,
    state: State,
) -> Graph {
    let size = expansion.sizes[body];
    let mut graph = Graph::with_capacity(size.nodes as usize, size.links as usize);
    let mut lowering = Lowering {
        checked,
        root: body,
        zones,
        captures: FxHashMap::default(),
        nowhere: checked.is_partial.then(|| graph.add_gap()),
        pending: expansion.enters_again.then(|| graph.add_gap()),
        graph,
        converter: Converter::new(registry.conversion()),
        literals: FxHashMap::default(),
        spare: Vec::new(),
        scratch: Vec::new(),
        registry,
        state,
        next_states: Vec::new(),
        stateful: FxHashMap::default(),
        picks: FxHashMap::default(),
    };
    lowering.graph.paths.reserve(size.nodes as usize);
    lowering.run();
    if let Some(nowhere) = lowering.nowhere {
        wrong::take_out_unfed(&mut lowering.graph, nowhere);
    }
    lowering.graph
}

/// The outputs of a node after lowering: those of a graph node, or an entry of the pool.
#[derive(Clone, Copy)]
struct Became(u32);

const POOLED: u32 = 1 << 31;

/// One use of a body.
struct Frame<'a> {
    body_id: BodyId,
    body: &'a Body,
    literals: Rc<[NodeId]>,
    nowhere: Option<NodeId>,
    path: PathId,
    /// Next position in the body's order.
    at: usize,
    inputs: Vec<Source>,
    became: Vec<Became>,
    /// The outputs of groups and muted nodes.
    pool: Vec<Source>,
    /// The next states whose sources are not created yet.
    later: Vec<(u32, From)>,
    /// The groups that were entered without all of their inputs, by the position of the node.
    open: FxHashMap<u32, Frame<'a>>,
    /// The parts of networks that were entered without all of their inputs, and the outputs of muted
    /// nodes, by the position of the node.
    parts: FxHashMap<u32, Vec<Source>>,
}

struct Lowering<'a> {
    checked: &'a Checked,
    /// The body whose outputs are those of the graph.
    root: BodyId,
    zones: &'a Zones,
    /// The instances that read the context for zones.
    captures: FxHashMap<Need, Arc<Instance>>,
    /// The placeholder for wrong values, in a partial document.
    nowhere: Option<NodeId>,
    /// The placeholder for values that are not available yet, if groups are entered several times.
    pending: Option<NodeId>,
    graph: Graph,
    converter: Converter<'a>,
    /// The constant of each literal, for each body entered so far.
    literals: FxHashMap<BodyId, Rc<[NodeId]>>,
    /// Finished frames, kept for their buffers.
    spare: Vec<Frame<'a>>,
    scratch: Vec<Source>,
    registry: &'a Registry,
    state: State,
    /// The next states of nodes.
    next_states: Vec<GraphOutput>,
    /// The types of stateful nodes, by the address of the instance.
    stateful: FxHashMap<usize, Arc<StatefulType>>,
    picks: FxHashMap<Type, Arc<Instance>>,
}

impl<'a> Lowering<'a> {
    fn run(&mut self) {
        let root = &self.checked.bodies[self.root];
        let mut inputs = Vec::with_capacity(root.inputs.len());
        for input in &root.inputs {
            if let Some(nowhere) = self.nowhere.filter(|_| input.is_wrong) {
                inputs.push(Source::first(nowhere));
                continue;
            }
            let default = input.default.clone();
            let input = GraphInput { name: Arc::clone(&input.name), ty: input.ty, default };
            inputs.push(Source::first(self.graph.add_input(input)));
        }
        let mut stack = vec![self.frame(self.root, Paths::root(), &inputs)];
        while let Some(frame) = stack.last_mut() {
            let Some(&position) = frame.body.order.get(frame.at) else {
                let done = stack.pop().expect("the current frame is on the stack");
                match stack.last_mut() {
                    Some(outer) => self.finish_group(done, outer),
                    None => self.finish_root(&done),
                }
                continue;
            };
            let node = &frame.body.nodes[position as usize];
            if frame.is_done(position, self.pending) {
                frame.at += 1;
                continue;
            }
            if let Some(missing) = self.missing(frame, node) {
                frame.became[position as usize] = Became(missing.index() as u32);
                frame.at += 1;
                continue;
            }
            match &node.kind {
                CheckedKind::Call(instance) if instance.def.state.is_some() => {
                    let made = match self.state {
                        State::TakenApart => self.take_apart(frame, node, instance),
                        State::Whole => self.keep_stateful(frame, node, instance),
                    };
                    frame.became[position as usize] = Became(made.index() as u32);
                    frame.at += 1;
                }
                CheckedKind::Call(instance) if instance.network.is_some() => {
                    frame.became[position as usize] =
                        self.splice(frame, (position, node), instance);
                    frame.at += 1;
                }
                CheckedKind::Call(instance) => {
                    let instance = self.graph.intern_instance(instance);
                    let path = self.graph.paths.child(frame.path, Arc::clone(&node.name));
                    self.scratch.clear();
                    for source in frame.body.sources_of(node) {
                        self.scratch.push(frame.source(*source));
                    }
                    let made = self.graph.add_call(instance, &self.scratch, path);
                    frame.became[position as usize] = Became(made.index() as u32);
                    frame.at += 1;
                }
                CheckedKind::Zone(zone) => {
                    let made = self.zone(frame, node, zone);
                    frame.became[position as usize] = Became(made.index() as u32);
                    frame.at += 1;
                }
                CheckedKind::Muted(muted) => {
                    self.pass_through(frame, (position, node), muted);
                    frame.at += 1;
                }
                CheckedKind::Group(body) => {
                    let again = frame.open.remove(&position);
                    let is_whole = frame.body.wholes.contains(&position);
                    let inner = self.enter(frame, node, *body, again);
                    if is_whole {
                        self.graph.paths.mark_whole(inner.path);
                    }
                    stack.push(inner);
                }
                CheckedKind::Closure(_) => unreachable!("groups took the place of closures"),
                CheckedKind::Wrong => unreachable!("only partial documents have wrong nodes"),
            }
        }
    }

    /// The placeholder for a node that cannot be created in this use of its body, because the node
    /// or one of its sources is wrong, or because a source is not available yet. A node whose
    /// outputs do not need all of its inputs is entered anyway; a muted one passes on the values
    /// that exist.
    fn missing(&self, frame: &Frame<'a>, node: &CheckedNode) -> Option<NodeId> {
        if self.nowhere.is_none() && self.pending.is_none() {
            return None;
        }
        let n_delayed = match &node.kind {
            CheckedKind::Wrong => return self.nowhere,
            CheckedKind::Muted(_) => return None,
            CheckedKind::Group(body) => {
                return self.nowhere.filter(|_| self.checked.bodies[*body].is_wrong);
            }
            CheckedKind::Zone(zone) if self.zones.of(zone).is_none() => {
                return self.nowhere;
            }
            CheckedKind::Call(instance)
                if instance.network.as_ref().is_some_and(|network| network.is_divided) =>
            {
                return None;
            }
            CheckedKind::Call(instance) => {
                let delays = instance.def.state.as_ref().is_some_and(StateSpec::delays_first);
                usize::from(delays)
            }
            CheckedKind::Zone(_) | CheckedKind::Closure(_) => 0,
        };
        let sources = frame.body.sources_of(node).iter().skip(n_delayed);
        let mut sources = sources.map(|source| frame.source(*source));
        sources.find(|source| self.has_no_node(*source)).map(|source| source.node)
    }

    /// Whether a source is wrong or not available yet.
    fn has_no_node(&self, source: Source) -> bool {
        let node = Some(source.node);
        node == self.nowhere || node == self.pending
    }

    /// A frame at the start of a body, whose literals become constants on first use.
    fn frame(&mut self, id: BodyId, path: PathId, inputs: &[Source]) -> Frame<'a> {
        let body = &self.checked.bodies[id];
        let graph = &mut self.graph;
        let literals = self.literals.entry(id).or_insert_with(|| {
            body.literals.iter().map(|value| graph.add_const(value.clone())).collect()
        });
        let literals = Rc::clone(literals);
        let mut frame = self.spare.pop().unwrap_or_else(|| Frame {
            body_id: id,
            body,
            literals: Rc::clone(&literals),
            nowhere: self.nowhere,
            path,
            at: 0,
            inputs: Vec::new(),
            became: Vec::new(),
            pool: Vec::new(),
            later: Vec::new(),
            open: FxHashMap::default(),
            parts: FxHashMap::default(),
        });
        (frame.body_id, frame.body, frame.path, frame.at) = (id, body, path, 0);
        frame.literals = literals;
        frame.inputs.clear();
        frame.inputs.extend_from_slice(inputs);
        frame.became.clear();
        // Nodes of a cycle may be read before they are created.
        let not_made = self.pending.or(self.nowhere).map_or(POOLED, |id| id.index() as u32);
        frame.became.resize(body.nodes.len(), Became(not_made));
        frame.pool.clear();
        frame.later.clear();
        frame.open.clear();
        frame.parts.clear();
        frame
    }

    /// The frame of a group's body, resumed if it was entered before; its inputs are converted to
    /// their declared types.
    fn enter(
        &mut self,
        outer: &Frame<'a>,
        node: &CheckedNode,
        id: BodyId,
        again: Option<Frame<'a>>,
    ) -> Frame<'a> {
        let path = match &again {
            Some(frame) => frame.path,
            None => self.graph.paths.child(outer.path, Arc::clone(&node.name)),
        };
        let body = &self.checked.bodies[id];
        let mut inputs = std::mem::take(&mut self.scratch);
        inputs.clear();
        for (at, (source, input)) in
            outer.body.sources_of(node).iter().zip(&body.inputs).enumerate()
        {
            let known = again.as_ref().map(|frame| frame.inputs[at]);
            let source = outer.source(*source);
            inputs.push(match (known, self.nowhere) {
                (Some(known), _) if self.pending != Some(known.node) => known,
                (_, Some(nowhere)) if input.is_wrong => Source::first(nowhere),
                _ => self.converted(source, input.ty, path),
            });
        }
        let frame = match again {
            Some(mut frame) => {
                frame.at = 0;
                frame.inputs.clone_from(&inputs);
                frame
            }
            None => self.frame(id, path, &inputs),
        };
        self.scratch = inputs;
        frame
    }

    /// The call of a zone, with the sources of the node and the context that its group needs.
    fn zone(&mut self, frame: &mut Frame<'a>, node: &CheckedNode, zone: &CheckedZone) -> NodeId {
        let made = self.zones.of(zone).expect("wrong zones are not lowered");
        let path = self.graph.paths.child(frame.path, Arc::clone(&node.name));
        let mut sources = Vec::with_capacity(made.instance.inputs.len());
        for (source, slot) in frame.body.sources_of(node).iter().zip(&made.instance.inputs) {
            let source = frame.source(*source);
            sources.push(self.converted(source, slot.ty, path));
        }
        for need in &made.body.captures {
            let def = self.registry.capture();
            let instance = self
                .captures
                .entry(need.clone())
                .or_insert_with(|| Arc::new(repeat::capture(def, need)));
            let id = self.graph.intern_instance(instance);
            sources.push(Source::first(self.graph.add_call(id, &[], path)));
        }
        if made.instance.def.state.is_some() {
            return match self.state {
                State::TakenApart => self.take_zone_apart(frame, (path, &made.instance), &sources),
                State::Whole => self.add_stateful(path, &made.instance, &sources),
            };
        }
        let id = self.graph.intern_instance(&made.instance);
        self.graph.add_call(id, &sources, path)
    }

    fn finish_group(&mut self, done: Frame<'a>, outer: &mut Frame<'a>) {
        let position = outer.body.order[outer.at];
        let Became(before) = outer.became[position as usize];
        for (at, output) in done.body.outputs.iter().enumerate() {
            let known = (self.pending.is_some() && before & POOLED != 0)
                .then(|| outer.pool[(before & !POOLED) as usize + at])
                .filter(|known| self.pending != Some(known.node));
            let source = known.unwrap_or_else(|| {
                let source = done.source(output.source);
                self.converted(source, output.ty, done.path)
            });
            outer.pool.push(source);
        }
        outer.became[position as usize] = outer.pooled(done.body.outputs.len());
        outer.at += 1;
        if self.pending.is_some_and(|pending| done.inputs.iter().any(|it| it.node == pending)) {
            outer.open.insert(position, done);
        } else {
            self.resolve_later(&done);
            self.spare.push(done);
        }
    }

    fn finish_root(&mut self, done: &Frame<'a>) {
        self.resolve_later(done);
        for output in &done.body.outputs {
            let source = done.source(output.source);
            if self.has_no_node(source) {
                continue;
            }
            let output = GraphOutput { name: Arc::clone(&output.name), ty: output.ty, source };
            self.graph.outputs.push(output);
        }
        self.graph.outputs.append(&mut self.next_states);
    }

    /// Connects the outputs of a muted node to their sources, as far as these exist.
    fn pass_through(
        &mut self,
        frame: &mut Frame<'a>,
        (position, node): (u32, &CheckedNode),
        muted: &Muted,
    ) {
        let path = self.graph.paths.child(frame.path, Arc::clone(&node.name));
        let before = frame.parts.remove(&position).unwrap_or_default();
        let first = frame.pool.len();
        for (at, output) in muted.outputs.iter().enumerate() {
            let known = before.get(at).filter(|known| self.pending != Some(known.node));
            let source = match (known, &output.passes) {
                (Some(known), _) => *known,
                (None, Passes::Source(i)) => {
                    let source = frame.body.sources_of(node)[*i as usize];
                    let source = frame.source(source);
                    self.converted(source, output.ty, path)
                }
                (None, Passes::Default(value)) => {
                    Source::first(self.graph.add_const(value.clone()))
                }
            };
            frame.pool.push(source);
        }
        let passed = &frame.pool[first..];
        if passed.iter().any(|source| self.pending == Some(source.node)) {
            frame.parts.insert(position, passed.to_vec());
        }
        frame.became[position as usize] = frame.pooled(muted.outputs.len());
    }

    fn converted(&mut self, source: Source, to: Type, path: PathId) -> Source {
        if self.has_no_node(source) {
            return source;
        }
        let from = self.graph.type_of(source).expect("existing sources have a type");
        self.converter
            .convert(&mut self.graph, source, from, to, path)
            .expect("links in a checked document convert")
    }
}

impl Frame<'_> {
    /// Whether a node was already created when the body was entered with fewer inputs.
    fn is_done(&self, position: u32, pending: Option<NodeId>) -> bool {
        let Some(pending) = pending else { return false };
        let Became(at) = self.became[position as usize];
        at != pending.index() as u32
            && !self.open.contains_key(&position)
            && !self.parts.contains_key(&position)
    }

    /// The lowered source of a source in the body.
    #[inline]
    fn source(&self, source: From) -> Source {
        match source {
            From::Literal(i) => Source::first(self.literals[i as usize]),
            From::Input(i) => self.inputs[i as usize],
            From::Node { node, output } => {
                let Became(at) = self.became[node as usize];
                if at & POOLED == 0 {
                    Source { node: NodeId::from_index(at as usize), output }
                } else {
                    self.pool[(at & !POOLED) as usize + output as usize]
                }
            }
            From::Wrong => {
                Source::first(self.nowhere.expect("only partial documents have wrong sources"))
            }
        }
    }

    /// The last `n` entries of the pool.
    fn pooled(&self, n: usize) -> Became {
        Became(POOLED | (self.pool.len() - n) as u32)
    }
}
