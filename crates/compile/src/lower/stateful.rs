//! Nodes with state, taken apart: their state comes in as inputs of the graph and goes out as
//! outputs, which are called by the path of the node, a point, and the name of the state.

use std::sync::Arc;

use millstream_base::{Type, Value};
use millstream_document::{CheckedNode, Source as From};
use millstream_ir::{GraphInput, GraphOutput, NodeId, PathId, Source};
use millstream_node::state::STARTED;
use millstream_node::{Instance, Keeps};

use super::{Frame, Lowering};

/// Name of the output that a delayed socket reads, after the path of the node and a point.
pub const DELAYED: &str = "delayed";

/// Whether the first input of a node counts for later ticks only.
pub(super) fn delays_first(instance: &Instance) -> bool {
    matches!(instance.def.keeps, Some(Keeps::Past))
}

/// A node that is being taken apart.
struct Parts {
    path: PathId,
    /// The path as text.
    key: String,
    /// Whether anything is kept yet.
    started: Source,
}

impl<'a> Lowering<'a> {
    /// Puts other nodes in the place of one that keeps state; gives the one that has its outputs.
    pub(super) fn take_apart(
        &mut self,
        frame: &mut Frame<'a>,
        node: &CheckedNode,
        instance: &'a Arc<Instance>,
        keeps: &Keeps,
    ) -> NodeId {
        let path = self.graph.paths.child(frame.path, Arc::clone(&node.name));
        let key = self.graph.paths.get(path).to_string();
        let started = self.kept(&key, STARTED, Value::Bool(false));
        let parts = Parts { path, key, started };
        let always = Source::first(self.graph.add_const(Value::Bool(true)));
        self.keep(&parts, STARTED, Type::BOOL, always);
        let work = self.work_of(instance, keeps);
        let variables = keeps.variables(instance, work.as_deref());
        match keeps {
            Keeps::Values(..) => {
                let sources = frame.body.sources_of(node);
                let sources = sources.iter().map(|source| frame.source(&self.literals, *source));
                let sources: Vec<Source> = sources.collect();
                let work = work.expect("what keeps values does work");
                self.keep_values(&parts, instance.outputs.len(), &work, &variables, sources)
            }
            Keeps::Past => {
                let [value, initial] = [0, 1].map(|i| frame.body.sources_of(node)[i]);
                let initial = frame.source(&self.literals, initial);
                self.keep_past(&parts, &variables, (value, initial), frame)
            }
            Keeps::Held => {
                let [value, when] =
                    [0, 1].map(|i| frame.source(&self.literals, frame.body.sources_of(node)[i]));
                let (name, ty) = (&variables[0].0, variables[0].1);
                let held = self.kept(&parts.key, name, ty.default_value());
                let current = self.pick(&parts, ty, [when, held, value]);
                let out = self.pick(&parts, ty, [parts.started, value, current]);
                self.keep(&parts, name, ty, out);
                out.node
            }
        }
    }

    /// A node that keeps state as it is.
    pub(super) fn leave_whole(
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
                sources.push(frame.source(&self.literals, *from));
                continue;
            }
            // The nodes that it reads may stand after it.
            let ty = instance.inputs[i].ty;
            let default = Source::first(self.graph.add_const(ty.default_value()));
            frame.later.push((self.kept_next.len() as u32, *from));
            let name = format!("{key}.{DELAYED}").into();
            self.kept_next.push(GraphOutput { name, ty, source: default });
            sources.push(default);
        }
        let id = self.graph.intern_instance(instance);
        let made = self.graph.add_call(id, &sources, path);
        let (name, ty) = (format!("{key}.node").into(), instance.outputs[0].ty);
        self.kept_next.push(GraphOutput { name, ty, source: Source::first(made) });
        made
    }

    /// What does the work of one tick, the same for nodes of one instance.
    fn work_of(&mut self, instance: &Arc<Instance>, keeps: &Keeps) -> Option<Arc<Instance>> {
        let address = Arc::as_ptr(instance) as usize;
        if let Some(known) = self.works.get(&address) {
            return Some(Arc::clone(known));
        }
        let made = Arc::new(keeps.work_of(instance)?);
        self.works.insert(address, Arc::clone(&made));
        Some(made)
    }

    /// The node that does the work of one tick, and gives what the node has as outputs first.
    fn keep_values(
        &mut self,
        parts: &Parts,
        n_outputs: usize,
        work: &Arc<Instance>,
        variables: &[(Arc<str>, Type)],
        mut sources: Vec<Source>,
    ) -> NodeId {
        let dt = Source::first(self.graph.add_const(Value::F64(1.0 / self.checked.fps)));
        sources.extend([parts.started, dt]);
        for (name, ty) in variables {
            sources.push(self.kept(&parts.key, name, ty.default_value()));
        }
        let id = self.graph.intern_instance(work);
        let node = self.graph.add_call(id, &sources, parts.path);
        for (output, (name, _)) in (n_outputs..).zip(variables) {
            let source = Source { node, output: output as u32 };
            self.keep(parts, name, work.outputs[output].ty, source);
        }
        node
    }

    /// A row of values that move on by one each tick.
    fn keep_past(
        &mut self,
        parts: &Parts,
        variables: &[(Arc<str>, Type)],
        (value, initial): (From, Source),
        frame: &mut Frame<'a>,
    ) -> NodeId {
        let mut before = None;
        for (name, ty) in variables {
            let ty = *ty;
            let kept = self.kept(&parts.key, name, ty.default_value());
            // Nodes that read this one may stand after it, and feed it all the same.
            let next = before.unwrap_or(initial);
            if before.is_none() {
                frame.later.push((self.kept_next.len() as u32, value));
            }
            self.keep(parts, name, ty, next);
            before = Some(self.pick(parts, ty, [parts.started, initial, kept]));
        }
        before.expect("at least one value is kept").node
    }

    fn pick(&mut self, parts: &Parts, ty: Type, sources: [Source; 3]) -> Source {
        let registry = self.registry;
        let made = self.picks.entry(ty).or_insert_with(|| Arc::new(registry.pick(ty)));
        let id = self.graph.intern_instance(made);
        Source::first(self.graph.add_call(id, &sources, parts.path))
    }

    /// What a node kept.
    fn kept(&mut self, key: &str, name: &str, default: Value) -> Source {
        let (name, ty) = (format!("{key}.{name}").into(), default.ty());
        Source::first(self.graph.add_input(GraphInput { name, ty, default: Some(default) }))
    }

    /// What a node keeps from now on.
    fn keep(&mut self, parts: &Parts, name: &str, ty: Type, source: Source) {
        let name = format!("{}.{name}", parts.key).into();
        self.kept_next.push(GraphOutput { name, ty, source });
    }

    /// Links next values to nodes that come after the node with the state.
    pub(super) fn resolve_later(&mut self, done: &Frame<'a>) {
        for (at, source) in &done.later {
            let source = done.source(&self.literals, *source);
            self.kept_next[*at as usize].source = source;
        }
    }
}
