//! One body as it is made for the forms of the closures that come into it.

use std::sync::Arc;

use millstream_base::Type;
use millstream_node::interface::holds_closures;
use millstream_node::{Instance, Interface, Kernel};
use rustc_hash::FxHashMap;

use super::known::{Closure, Form, FormId, Given};
use super::{Made, MadeOutput, Resolver, is_closure};
use crate::check::error::CheckError;
use crate::checked::{
    Body, BodyId, BodyInput, BodyOutput, Checked, CheckedClosure, CheckedKind, CheckedNode, Muted,
    MutedOutput, Passes, Source,
};
use crate::free_name::free_name;

/// A body while it is made.
pub(super) struct Rewriting {
    id: BodyId,
    /// The body as it is written.
    pub(super) old: Body,
    /// What comes in by each of its inputs.
    inputs: Vec<Given>,
    new_inputs: Vec<BodyInput>,
    /// Nodes of the document keep their positions.
    pub(super) nodes: Vec<CheckedNode>,
    sources: Vec<Source>,
    pub(super) order: Vec<u32>,
    /// What became of outputs of nodes that are not what they were.
    outputs: FxHashMap<(u32, u32), Given>,
}

impl Rewriting {
    pub(super) fn of(resolver: &Resolver<'_>, id: BodyId, closures: &[Option<FormId>]) -> Self {
        let old = resolver.checked.bodies[id].clone();
        let mut inputs = Vec::with_capacity(old.inputs.len());
        let mut new_inputs: Vec<BodyInput> = Vec::with_capacity(old.inputs.len());
        for (at, input) in old.inputs.iter().enumerate() {
            let first = new_inputs.len() as u32;
            match closures.get(at).copied().flatten() {
                None if holds_closures(input.ty) => inputs.push(Given::Unknown),
                None => {
                    inputs.push(Given::Value(Source::Input(first)));
                    new_inputs.push(input.clone());
                }
                Some(form) => {
                    let types = resolver.forms.types(form);
                    let values = (first..).take(types.len()).map(Source::Input).collect();
                    inputs.push(Given::Closure(Closure { form, values }));
                    for ty in types {
                        let is_taken = |name: &str| {
                            old.inputs.iter().chain(&new_inputs).any(|it| *it.name == *name)
                        };
                        let name = free_name(&format!("{}_1", input.name), is_taken).into();
                        new_inputs.push(BodyInput {
                            name,
                            ty: *ty,
                            default: None,
                            min: None,
                            max: None,
                            step: None,
                            ..input.clone()
                        });
                    }
                }
            }
        }
        let (nodes, sources) = (old.nodes.clone(), old.sources.clone());
        let order = Vec::with_capacity(old.order.len());
        let outputs = FxHashMap::default();
        Self { id, old, inputs, new_inputs, nodes, sources, order, outputs }
    }

    /// Makes the body. The root takes its own place, any other one a new place.
    pub(super) fn run(mut self, resolver: &mut Resolver<'_>) -> Made {
        let order = std::mem::take(&mut self.old.order);
        let again = repeated(&order, self.nodes.len());
        for at in order {
            if again[at as usize] && self.takes_closures(resolver, at) {
                // What goes into the group the first time may be a closure that is known later.
                resolver.report(&mut self, at, &CheckError::ClosureAgain);
                self.set(at, CheckedKind::Wrong, &[]);
            } else {
                // What a repeated node reads may have become something else since the last time.
                self.node(resolver, at);
            }
            self.order.push(at);
        }
        let mut made = Vec::with_capacity(self.old.outputs.len());
        let mut outputs = Vec::with_capacity(self.old.outputs.len());
        for output in std::mem::take(&mut self.old.outputs) {
            let first = outputs.len() as u32;
            match self.given(output.source) {
                Given::Value(source) if !is_closure(output.ty) => {
                    made.push(MadeOutput::Value(first));
                    outputs.push(BodyOutput { source, ..output });
                }
                Given::Closure(closure) => {
                    made.push(MadeOutput::Closure(closure.form, first));
                    let types = resolver.forms.types(closure.form);
                    for (k, (source, ty)) in closure.values.into_iter().zip(types).enumerate() {
                        let name = format!("{}/{k}", output.name).into();
                        outputs.push(BodyOutput { name, ty: *ty, source, ..output.clone() });
                    }
                }
                Given::Nothing => made.push(MadeOutput::Nothing),
                Given::Value(_) | Given::Unknown => made.push(MadeOutput::Unknown),
            }
        }
        let body = Body {
            inputs: self.new_inputs,
            outputs,
            nodes: self.nodes,
            sources: self.sources,
            order: self.order,
            ..self.old
        };
        let bodies = &mut resolver.checked.bodies;
        let id = if self.id == resolver.checked.root {
            bodies[self.id] = body;
            self.id
        } else {
            bodies.push(body)
        };
        Made { body: id, outputs: made }
    }

    /// Whether closures go into the group of a node, or come out of it.
    fn takes_closures(&self, resolver: &Resolver<'_>, at: u32) -> bool {
        let Some(body) = self.old.nodes[at as usize].kind.body() else { return false };
        let body = &resolver.checked.bodies[body];
        let inputs = body.inputs.iter().map(|input| input.ty);
        inputs.chain(body.outputs.iter().map(|output| output.ty)).any(holds_closures)
    }

    fn node(&mut self, resolver: &mut Resolver<'_>, at: u32) {
        let node = self.old.nodes[at as usize].clone();
        let sources = self.old.sources_of(&node).to_vec();
        let given: Vec<Given> = sources.iter().map(|source| self.given(*source)).collect();
        match &node.kind {
            CheckedKind::Closure(closure) => {
                let made = self.closure(resolver, at, closure, &given);
                self.outputs.insert((at, 0), made);
                self.set(at, nothing(), &[]);
            }
            CheckedKind::Muted(muted) => self.muted(at, muted, &given),
            CheckedKind::Group(body) => {
                let body = *body;
                let types = resolver.checked.bodies[body].inputs.iter().map(|input| input.ty);
                let given = of_types(given, types);
                let outputs = resolver.use_group(self, at, body, &given);
                self.give(at, outputs);
            }
            CheckedKind::Zone(zone) => resolver.zone(self, at, zone, &given),
            CheckedKind::Call(instance) => {
                let types = instance.inputs.iter().map(|input| input.ty);
                let given = of_types(given, types);
                if Arc::ptr_eq(&instance.def, resolver.registry.typed_call()) {
                    self.call(resolver, at, instance, given);
                } else {
                    self.instance(resolver, at, instance, &given);
                }
            }
            CheckedKind::Wrong => {}
        }
    }

    /// A closure that a node makes.
    fn closure(
        &mut self,
        resolver: &mut Resolver<'_>,
        at: u32,
        closure: &CheckedClosure,
        given: &[Given],
    ) -> Given {
        let mut captures = Vec::with_capacity(given.len());
        let mut values = Vec::with_capacity(given.len());
        for (input, given) in closure.captures.iter().zip(given) {
            let ty = resolver.checked.bodies[closure.body].inputs[*input as usize].ty;
            match given {
                Given::Value(source) if !holds_closures(ty) => {
                    captures.push((*input, None));
                    values.push(*source);
                }
                Given::Closure(captured) => {
                    captures.push((*input, Some(captured.form)));
                    values.extend_from_slice(&captured.values);
                }
                other => {
                    resolver.no_closure(self, at, Some(other));
                    return Given::Unknown;
                }
            }
        }
        resolver.closure(self, at, Form::Group { body: closure.body, captures }, values)
    }

    /// A muted node: closures pass through it, and leave only its other outputs.
    fn muted(&mut self, at: u32, muted: &Muted, given: &[Given]) {
        if !muted.outputs.iter().any(|output| is_closure(output.ty)) {
            // Sources that are closures are not read.
            let sources: Vec<Source> = given.iter().map(plain).collect();
            self.set(at, CheckedKind::Muted(Arc::new(muted.clone())), &sources);
            return;
        }
        let (mut outputs, mut sources, mut inputs) = (Vec::new(), Vec::new(), Vec::new());
        for (k, output) in (0..).zip(&muted.outputs) {
            let passed = match &output.passes {
                Passes::Source(source) => Some(&given[*source as usize]),
                Passes::Default(_) => None,
            };
            if is_closure(output.ty) {
                let passed = passed.filter(|given| !matches!(given, Given::Value(_)));
                self.outputs.insert((at, k), passed.cloned().unwrap_or(Given::Nothing));
                continue;
            }
            let output_now = outputs.len() as u32;
            let source = Source::Node { node: at, output: output_now };
            self.outputs.insert((at, k), Given::Value(source));
            let passes = match (&output.passes, passed) {
                (Passes::Source(_), Some(given)) => {
                    sources.push(plain(given));
                    inputs.push(output.ty);
                    Passes::Source(sources.len() as u32 - 1)
                }
                (passes, _) => passes.clone(),
            };
            outputs.push(MutedOutput { passes, ..output.clone() });
        }
        self.set(at, CheckedKind::Muted(Arc::new(Muted { inputs, outputs })), &sources);
    }

    /// A node that calls a closure.
    fn call(
        &mut self,
        resolver: &mut Resolver<'_>,
        at: u32,
        instance: &Instance,
        mut given: Vec<Given>,
    ) {
        let interface = Interface::of(instance.inputs[0].ty).expect("a call has a closure");
        let arguments = given.split_off(1);
        let closure = match given.pop() {
            Some(Given::Closure(closure)) => closure,
            given => {
                resolver.no_closure(self, at, given.as_ref());
                self.give(at, vec![Given::Unknown; instance.outputs.len()]);
                return;
            }
        };
        let names = interface.inputs.iter().map(|(name, _)| Arc::clone(name));
        let arguments: Vec<(Arc<str>, Given)> = names.zip(arguments).collect();
        let given = resolver.call(self, at, &closure, &arguments);
        for (k, name) in (0..).zip(&instance.output_names) {
            let found = given.iter().find(|(known, _)| *known == *name);
            let given = found.map_or(Given::Unknown, |(_, given)| given.clone());
            self.outputs.insert((at, k), given);
        }
    }

    /// A node of any other type.
    fn instance(
        &mut self,
        resolver: &mut Resolver<'_>,
        at: u32,
        instance: &Arc<Instance>,
        given: &[Given],
    ) {
        let types = instance.inputs.iter().map(|slot| slot.ty);
        let types = types.chain(instance.outputs.iter().map(|slot| slot.ty));
        if !types.clone().any(holds_closures) {
            let sources: Vec<Source> = given.iter().map(plain).collect();
            self.set(at, CheckedKind::Call(Arc::clone(instance)), &sources);
            return;
        }
        let is_direct = instance.outputs.iter().all(|slot| is_closure(slot.ty));
        let made = match instance.kernel {
            Kernel::Pass if is_direct && !instance.has_scopes() => {
                given.first().cloned().unwrap_or(Given::Unknown)
            }
            Kernel::Choose if is_direct && !is_closure(instance.inputs[0].ty) => {
                let selector = instance.inputs[0].ty;
                let switch: Arc<str> = instance.def.name.as_ref().into();
                let by = (&switch, selector, plain(&given[0]));
                match closures_of(&given[1..]) {
                    Ok(arms) => resolver.chosen_closure(self, at, by, &arms),
                    Err(other) => {
                        resolver.no_closure(self, at, Some(other));
                        Given::Unknown
                    }
                }
            }
            Kernel::Pass
            | Kernel::Choose
            | Kernel::Form(_)
            | Kernel::Function(_)
            | Kernel::Read { .. }
            | Kernel::ReadState(_) => {
                let node_type = instance.def.name.to_string();
                resolver.report(self, at, &CheckError::ClosureThrough { node_type });
                self.set(at, CheckedKind::Wrong, &[]);
                self.give(at, vec![Given::Unknown; instance.outputs.len()]);
                return;
            }
        };
        self.outputs.insert((at, 0), made);
        self.set(at, nothing(), &[]);
    }

    /// What a source of the written body gives.
    pub(super) fn given(&self, source: Source) -> Given {
        match source {
            Source::Literal(_) | Source::Wrong => Given::Value(source),
            Source::Input(input) => self.inputs[input as usize].clone(),
            Source::Node { node, output } => match self.outputs.get(&(node, output)) {
                Some(given) => given.clone(),
                None => Given::Value(source),
            },
        }
    }

    /// Notes what the outputs of a node became.
    pub(super) fn give(&mut self, node: u32, outputs: Vec<Given>) {
        for (output, given) in (0..).zip(outputs) {
            let same = Source::Node { node, output };
            if !matches!(given, Given::Value(source) if source == same) {
                self.outputs.insert((node, output), given);
            }
        }
    }

    /// Makes a node what it is from now on.
    pub(super) fn set(&mut self, node: u32, kind: CheckedKind, sources: &[Source]) {
        let (first_source, n_sources) = (self.sources.len() as u32, sources.len() as u32);
        self.sources.extend_from_slice(sources);
        let node = &mut self.nodes[node as usize];
        (node.kind, node.first_source, node.n_sources) = (kind, first_source, n_sources);
    }

    /// Adds a node, part number `n_parts` of another one.
    pub(super) fn add(&mut self, of: u32, n_parts: &mut usize) -> u32 {
        let CheckedNode { name, span, .. } = &self.nodes[of as usize];
        let name = format!("{name}/{n_parts}").into();
        *n_parts += 1;
        let (kind, span) = (CheckedKind::Wrong, *span);
        self.nodes.push(CheckedNode { name, kind, span, first_source: 0, n_sources: 0 });
        self.nodes.len() as u32 - 1
    }

    /// The type of what a source of the new body gives.
    pub(super) fn type_of(&self, checked: &Checked, source: Source) -> Option<Type> {
        match source {
            Source::Literal(literal) => Some(self.old.literals[literal as usize].ty()),
            Source::Input(input) => Some(self.new_inputs[input as usize].ty),
            Source::Node { node, output } => {
                checked.output_type(&self.nodes[node as usize].kind, output)
            }
            Source::Wrong => None,
        }
    }
}

/// Which of so many nodes an order has more than once.
fn repeated(order: &[u32], n_nodes: usize) -> Vec<bool> {
    let (mut seen, mut again) = (vec![false; n_nodes], vec![false; n_nodes]);
    for at in order.iter().map(|at| *at as usize) {
        again[at] |= std::mem::replace(&mut seen[at], true);
    }
    again
}

/// What is given to slots of these types: a value is no closure, and one that is wrong may be one.
fn of_types(given: Vec<Given>, types: impl Iterator<Item = Type>) -> Vec<Given> {
    let fitting = given.into_iter().zip(types).map(|(given, ty)| match given {
        Given::Value(Source::Literal(_)) if is_closure(ty) => Given::Nothing,
        Given::Value(_) if is_closure(ty) => Given::Unknown,
        given => given,
    });
    fitting.collect()
}

/// Things that are all closures, or the first that is none.
pub(super) fn closures_of(given: &[Given]) -> Result<Vec<&Closure>, &Given> {
    let closures = given.iter().map(|given| match given {
        Given::Closure(closure) => Ok(closure),
        Given::Value(_) | Given::Nothing | Given::Unknown => Err(given),
    });
    closures.collect()
}

/// The source of a value.
fn plain(given: &Given) -> Source {
    match given {
        Given::Value(source) => *source,
        Given::Closure(_) | Given::Nothing | Given::Unknown => Source::Wrong,
    }
}

/// What is left of a node that makes or passes closures.
fn nothing() -> CheckedKind {
    CheckedKind::Muted(Arc::new(Muted { inputs: Vec::new(), outputs: Vec::new() }))
}
