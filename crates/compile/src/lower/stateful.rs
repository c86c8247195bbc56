//! Nodes that keep state, taken apart: what they keep comes in as inputs of the graph and goes out
//! as outputs, called after the path of the node with a point behind it.

use std::sync::Arc;

use millstream_base::{Type, Value};
use millstream_document::{CheckedNode, Source as From};
use millstream_ir::{GraphInput, GraphOutput, NodeId, PathId, Source};
use millstream_kernel::{Instance, Keeps, NodeDef};

use super::{Frame, Lowering};

/// Name of what is linked to a socket that counts for later ticks, behind the path of the node.
pub const DELAYED: &str = "delayed";

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
        let started = self.kept(&key, "started", Value::Bool(false));
        let parts = Parts { path, key, started };
        let always = Source::first(self.graph.add_const(Value::Bool(true)));
        self.keep(&parts, "started", Type::BOOL, always);
        match keeps {
            Keeps::Values(values, work) => {
                let sources = frame.body.sources_of(node);
                let sources = sources.iter().map(|source| frame.source(&self.literals, *source));
                let sources: Vec<Source> = sources.collect();
                self.keep_values(
                    &parts,
                    instance,
                    work,
                    values.iter().map(|(name, _)| *name),
                    sources,
                )
            }
            Keeps::Past => {
                let [value, initial] = [0, 1].map(|i| frame.body.sources_of(node)[i]);
                let initial = frame.source(&self.literals, initial);
                self.keep_past(&parts, instance, (value, initial), frame)
            }
            Keeps::Held => {
                let [value, when] =
                    [0, 1].map(|i| frame.source(&self.literals, frame.body.sources_of(node)[i]));
                let ty = instance.inputs[0].ty;
                let held = self.kept(&parts.key, "held", ty.default_value());
                let current = self.pick(&parts, ty, [when, held, value]);
                let out = self.pick(&parts, ty, [parts.started, value, current]);
                self.keep(&parts, "held", ty, out);
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
            // The nodes that it reads may stand behind it.
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

    /// The node that does the work of one tick.
    fn keep_values<'n>(
        &mut self,
        parts: &Parts,
        instance: &Arc<Instance>,
        work: &Arc<NodeDef>,
        names: impl Iterator<Item = &'n str> + Clone,
        mut sources: Vec<Source>,
    ) -> NodeId {
        let n_inputs = sources.len() + 2 + names.clone().count();
        let address = Arc::as_ptr(instance) as usize;
        let made = self.works.entry(address).or_insert_with(|| {
            let (settings, generics) = (instance.settings.clone(), instance.generics.clone());
            let made = work.instantiate(settings, generics, &vec![1; n_inputs]);
            Arc::new(made.expect("the work of a tick takes the types that its node takes"))
        });
        let made = Arc::clone(made);
        let dt = Source::first(self.graph.add_const(Value::F64(1.0 / self.checked.fps)));
        sources.extend([parts.started, dt]);
        let first = sources.len();
        for (i, name) in names.clone().enumerate() {
            let ty = made.inputs[first + i].ty;
            sources.push(self.kept(&parts.key, name, ty.default_value()));
        }
        let id = self.graph.intern_instance(&made);
        let node = self.graph.add_call(id, &sources, parts.path);
        let n_outputs = instance.outputs.len();
        for (output, name) in (n_outputs..).zip(names) {
            let source = Source { node, output: output as u32 };
            self.keep(parts, name, made.outputs[output].ty, source);
        }
        node
    }

    /// A row of values that move on by one each tick.
    fn keep_past(
        &mut self,
        parts: &Parts,
        instance: &Instance,
        (value, initial): (From, Source),
        frame: &mut Frame<'a>,
    ) -> NodeId {
        let ty = instance.inputs[0].ty;
        let n_ticks = instance.settings.integer("ticks").max(1);
        let mut before = None;
        for i in 0..n_ticks {
            let name = format!("past{i}");
            let kept = self.kept(&parts.key, &name, ty.default_value());
            // Nodes that read this one may stand behind it, and feed it all the same.
            let next = before.unwrap_or(initial);
            if before.is_none() {
                frame.later.push((self.kept_next.len() as u32, value));
            }
            self.keep(parts, &name, ty, next);
            before = Some(self.pick(parts, ty, [parts.started, initial, kept]));
        }
        before.expect("at least one value is kept").node
    }

    fn pick(&mut self, parts: &Parts, ty: Type, sources: [Source; 3]) -> Source {
        let pick = self.registry.pick();
        let made = self.picks.entry(ty).or_insert_with(|| {
            let made = pick.instantiate(millstream_kernel::Settings::default(), vec![ty], &[1; 3]);
            Arc::new(made.expect("one of two values can be of any type"))
        });
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

    /// Sets what is kept of nodes that stood behind those that keep it.
    pub(super) fn resolve_later(&mut self, done: &Frame<'a>) {
        for (at, source) in &done.later {
            let source = done.source(&self.literals, *source);
            self.kept_next[*at as usize].source = source;
        }
    }
}
