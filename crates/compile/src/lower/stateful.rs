//! Splits stateful nodes into nodes without state: the state comes in from sources, and the nodes
//! that compute the next state are read at the end of a tick. So a graph has no cycles, because a
//! delayed input is not a link in it.
//!
//! In the graph of a plan, state comes in as inputs and goes out as outputs, named by the path of
//! the node, a dot, and the name of the state.

use std::sync::Arc;

use millstream_base::{Type, Value};
use millstream_document::{CheckedNode, Source as From};
use millstream_ir::{GraphInput, GraphOutput, NodeId, PathId, Source};
use millstream_node::state::STARTED;
use millstream_node::{Instance, NetworkParts, Part, StateSpec};

use super::{Frame, Lowering};

/// The name of the output that a delayed socket reads, after the path of the node and a dot.
pub const DELAYED: &str = "delayed";

/// A stateful instance, with the instances that do the work of a tick.
#[derive(Debug)]
pub struct StatefulType {
    /// The instance.
    pub instance: Arc<Instance>,
    /// The names and types of the state variables, besides the flag for whether there is any state.
    pub variables: Vec<(Arc<str>, Type)>,
    work: Work,
}

#[derive(Debug)]
enum Work {
    /// A node computes the outputs, then the next state.
    Tick(Arc<Instance>),
    /// The values form a queue that moves by one place per tick. The instance picks the state, or
    /// the initial value if there is no state.
    Past(Arc<Instance>),
    /// The last output is held or replaced by the input. The instance picks one of the two.
    Held(Arc<Instance>),
}

/// The place where the parts of a stateful node are created.
pub trait StatefulParts {
    /// A value that parts read.
    type Value: Clone;
    /// Why a part cannot be created.
    type Error;

    /// Whether there is any state.
    fn started(&mut self) -> Self::Value;

    /// The state at this position.
    fn state(&mut self, at: usize) -> Self::Value;

    /// The seconds per tick.
    fn seconds_per_tick(&mut self) -> Self::Value;

    /// A constant.
    fn constant(&mut self, value: &Value) -> Self::Value;

    /// The first output of a call.
    ///
    /// # Errors
    /// If it cannot be created.
    fn call(
        &mut self,
        instance: &Arc<Instance>,
        inputs: &[Self::Value],
    ) -> Result<Self::Value, Self::Error>;

    /// Another output of a call, of this type.
    fn output(&mut self, call: &Self::Value, output: usize, ty: Type) -> Self::Value;

    /// Sets the next state at this position; `None` stands for the delayed input.
    ///
    /// # Errors
    /// If that cannot be converted.
    fn keep(&mut self, at: usize, next: Option<Self::Value>) -> Result<(), Self::Error>;
}

impl StatefulType {
    /// The type of a stateful instance; `None` for other instances. `pick` creates the instance
    /// that picks one of two values.
    pub fn of(instance: &Arc<Instance>, pick: impl FnOnce(Type) -> Arc<Instance>) -> Option<Self> {
        let keeps = instance.def.state.as_ref()?;
        let work = keeps.work_of(instance);
        let variables = keeps.variables(instance, work.as_deref());
        let work = match (keeps, work) {
            (StateSpec::Held, _) => Work::Held(pick(variables[0].1)),
            (_, Some(work)) => Work::Tick(work),
            (_, None) => Work::Past(pick(variables[0].1)),
        };
        Some(Self { instance: Arc::clone(instance), variables, work })
    }

    /// Whether a slot is delayed: its value is used only in later ticks, and may depend on the node
    /// itself.
    pub fn is_delayed(&self, slot: usize) -> bool {
        slot == 0 && self.instance.def.state.as_ref().is_some_and(StateSpec::delays_first)
    }

    /// The instance that computes outputs and next state, if there is one.
    pub fn work(&self) -> Option<&Arc<Instance>> {
        match &self.work {
            Work::Tick(work) => Some(work),
            Work::Past(_) | Work::Held(_) => None,
        }
    }

    /// Creates the parts of a node and returns its first output. A delayed input may be missing.
    ///
    /// # Errors
    /// If a part cannot be created.
    ///
    /// # Panics
    /// If another input is missing.
    pub fn take_apart<P: StatefulParts>(
        &self,
        inputs: &[Option<P::Value>],
        parts: &mut P,
    ) -> Result<P::Value, P::Error> {
        let input = |at: usize| inputs[at].clone().expect("only a delayed input is missing");
        let started = parts.started();
        match &self.work {
            Work::Tick(work) => {
                let mut all: Vec<P::Value> = (0..inputs.len()).map(input).collect();
                all.extend([started, parts.seconds_per_tick()]);
                all.extend((0..self.variables.len()).map(|at| parts.state(at)));
                let outputs = match &work.network {
                    Some(network) => network.make(&all, &mut TickParts(parts))?,
                    None => {
                        let made = parts.call(work, &all)?;
                        let others = work.outputs.iter().enumerate().skip(1);
                        let others: Vec<P::Value> =
                            others.map(|(k, output)| parts.output(&made, k, output.ty)).collect();
                        std::iter::once(made).chain(others).collect()
                    }
                };
                let next = &outputs[self.instance.outputs.len()..];
                for (at, next) in next.iter().enumerate() {
                    parts.keep(at, Some(next.clone()))?;
                }
                Ok(outputs[0].clone())
            }
            Work::Past(pick) => {
                let mut value = inputs[0].clone();
                for at in 0..self.variables.len() {
                    let state = parts.state(at);
                    parts.keep(at, value)?;
                    value = Some(parts.call(pick, &[started.clone(), input(1), state])?);
                }
                Ok(value.expect("at least one value is kept"))
            }
            Work::Held(pick) => {
                let held = parts.state(0);
                let current = parts.call(pick, &[input(1), held, input(0)])?;
                let given = parts.call(pick, &[started, input(0), current])?;
                parts.keep(0, Some(given.clone()))?;
                Ok(given)
            }
        }
    }
}

/// The parts of a tick whose work is a network. The last part provides all outputs.
struct TickParts<'p, P>(&'p mut P);

impl<P: StatefulParts> NetworkParts for TickParts<'_, P> {
    type Value = P::Value;
    type Error = P::Error;

    fn constant(&mut self, value: &Value) -> P::Value {
        self.0.constant(value)
    }

    fn call(&mut self, part: &Part, inputs: &[P::Value]) -> Result<P::Value, P::Error> {
        self.0.call(&part.instance, inputs)
    }

    fn output(&mut self, call: &P::Value, part: &Part, output: usize) -> P::Value {
        self.0.output(call, output, part.instance.outputs[output].ty)
    }
}

/// The parts of a node, as nodes in the graph of a plan.
struct GraphParts<'l, 'a> {
    lowering: &'l mut Lowering<'a>,
    of_type: &'l StatefulType,
    path: PathId,
    /// The path as text.
    key: String,
    /// The first source of the node, and the positions of next states that come from it: the nodes
    /// that it reads may come after the node.
    delayed: From,
    later: &'l mut Vec<(u32, From)>,
}

impl GraphParts<'_, '_> {
    fn input(&mut self, name: &str, default: Value) -> Source {
        let (name, ty) = (format!("{}.{name}", self.key).into(), default.ty());
        let input = GraphInput { name, ty, default: Some(default) };
        Source::first(self.lowering.graph.add_input(input))
    }

    fn add_constant(&mut self, value: Value) -> Source {
        Source::first(self.lowering.graph.add_const(value))
    }
}

impl StatefulParts for GraphParts<'_, '_> {
    type Value = Source;
    type Error = std::convert::Infallible;

    fn started(&mut self) -> Source {
        let started = self.input(STARTED, Value::Bool(false));
        let (name, source) =
            (format!("{}.{STARTED}", self.key), self.add_constant(Value::Bool(true)));
        let output = GraphOutput { name: name.into(), ty: Type::BOOL, source };
        self.lowering.next_states.push(output);
        started
    }

    fn state(&mut self, at: usize) -> Source {
        let (name, ty) = &self.of_type.variables[at];
        self.input(name, ty.default_value())
    }

    fn seconds_per_tick(&mut self) -> Source {
        self.add_constant(Value::F64(1.0 / self.lowering.checked.fps))
    }

    fn constant(&mut self, value: &Value) -> Source {
        self.add_constant(value.clone())
    }

    fn call(&mut self, instance: &Arc<Instance>, inputs: &[Source]) -> Result<Source, Self::Error> {
        let id = self.lowering.graph.intern_instance(instance);
        Ok(Source::first(self.lowering.graph.add_call(id, inputs, self.path)))
    }

    fn output(&mut self, call: &Source, output: usize, _: Type) -> Source {
        Source { node: call.node, output: output as u32 }
    }

    fn keep(&mut self, at: usize, next: Option<Source>) -> Result<(), Self::Error> {
        let source = next.unwrap_or_else(|| {
            // The source is known once the body is finished.
            self.later.push((self.lowering.next_states.len() as u32, self.delayed));
            self.add_constant(Value::Bool(true))
        });
        let (name, ty) = &self.of_type.variables[at];
        let name = format!("{}.{name}", self.key).into();
        self.lowering.next_states.push(GraphOutput { name, ty: *ty, source });
        Ok(())
    }
}

impl<'a> Lowering<'a> {
    /// Replaces a stateful node by nodes without state, and returns the one that has its outputs.
    pub(super) fn take_apart(
        &mut self,
        frame: &mut Frame<'a>,
        node: &CheckedNode,
        instance: &'a Arc<Instance>,
    ) -> NodeId {
        let of_type = self.stateful_type(instance);
        let sources = frame.body.sources_of(node);
        let inputs: Vec<Option<Source>> = (0..sources.len())
            .map(|at| {
                let is_there = !of_type.is_delayed(at);
                is_there.then(|| frame.source(sources[at]))
            })
            .collect();
        let path = self.graph.paths.child(frame.path, Arc::clone(&node.name));
        let key = self.graph.paths.get(path).to_string();
        let delayed = sources.first().copied().unwrap_or(From::Wrong);
        let later = &mut frame.later;
        let mut parts = GraphParts { lowering: self, of_type: &of_type, path, key, delayed, later };
        let Ok(made) = of_type.take_apart(&inputs, &mut parts);
        made.node
    }

    /// Like [`Self::take_apart`], for a simulation with these sources.
    pub(super) fn take_zone_apart(
        &mut self,
        frame: &mut Frame<'a>,
        (path, instance): (PathId, &Arc<Instance>),
        sources: &[Source],
    ) -> NodeId {
        let of_type = self.stateful_type(instance);
        let inputs: Vec<Option<Source>> = sources.iter().copied().map(Some).collect();
        let key = self.graph.paths.get(path).to_string();
        let (delayed, later) = (From::Wrong, &mut frame.later);
        let mut parts = GraphParts { lowering: self, of_type: &of_type, path, key, delayed, later };
        let Ok(made) = of_type.take_apart(&inputs, &mut parts);
        made.node
    }

    /// The type of a stateful instance, shared by all nodes of the instance.
    fn stateful_type(&mut self, instance: &Arc<Instance>) -> Arc<StatefulType> {
        let (registry, picks) = (self.registry, &mut self.picks);
        let address = Arc::as_ptr(instance) as usize;
        let known = self.stateful.entry(address).or_insert_with(|| {
            let pick =
                |ty| Arc::clone(picks.entry(ty).or_insert_with(|| Arc::new(registry.pick(ty))));
            Arc::new(StatefulType::of(instance, pick).expect("the instance has state"))
        });
        Arc::clone(known)
    }

    /// Adds a stateful node unchanged.
    pub(super) fn keep_stateful(
        &mut self,
        frame: &mut Frame<'a>,
        node: &CheckedNode,
        instance: &'a Arc<Instance>,
    ) -> NodeId {
        let path = self.graph.paths.child(frame.path, Arc::clone(&node.name));
        let key = self.graph.paths.get(path).to_string();
        let is_delayed = |i: usize| {
            let socket = instance.inputs.get(i).map(|slot| slot.socket as usize);
            let signature = instance.def.signature(&instance.settings);
            let name = socket.zip(signature.ok()).map(|(i, all)| all.inputs[i].name.to_string());
            instance.def.delayed.is_some_and(|delayed| name.is_some_and(|name| name == delayed))
        };
        let mut sources = Vec::with_capacity(instance.inputs.len());
        for (i, from) in frame.body.sources_of(node).iter().enumerate() {
            if !is_delayed(i) {
                sources.push(frame.source(*from));
                continue;
            }
            // The nodes that it reads may come after it.
            let ty = instance.inputs[i].ty;
            let default = Source::first(self.graph.add_const(ty.default_value()));
            frame.later.push((self.next_states.len() as u32, *from));
            let name = format!("{key}.{DELAYED}").into();
            self.next_states.push(GraphOutput { name, ty, source: default });
            sources.push(default);
        }
        self.add_stateful(path, instance, &sources)
    }

    /// Adds a stateful node with its sources as a root.
    pub(super) fn add_stateful(
        &mut self,
        path: PathId,
        instance: &Arc<Instance>,
        sources: &[Source],
    ) -> NodeId {
        let id = self.graph.intern_instance(instance);
        let made = self.graph.add_call(id, sources, path);
        let key = self.graph.paths.get(path).to_string();
        let (name, ty) = (format!("{key}.node").into(), instance.outputs[0].ty);
        self.next_states.push(GraphOutput { name, ty, source: Source::first(made) });
        made
    }

    /// Links next states to nodes that come after the stateful node. Groups that are still open
    /// then are on cycles of a partial document.
    pub(super) fn resolve_later(&mut self, done: &Frame<'a>) {
        for (at, source) in &done.later {
            let source = done.source(*source);
            let nowhere = self.nowhere.filter(|_| self.has_no_node(source));
            self.next_states[*at as usize].source = nowhere.map_or(source, Source::first);
        }
        done.open.values().for_each(|inner| self.resolve_later(inner));
    }
}
