//! Determines the types of the nodes of one body, and with them their instances and literals.
//!
//! Nodes are visited after the nodes that they read. Broken parts give values of unknown type,
//! about which nothing more is reported.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use millstream_base::id::Id;
use millstream_base::{Type, Value};
use millstream_node::convert::{convertible, narrows};
use millstream_node::node_def::InstanceError;
use millstream_node::signature::{InputFact, Socket, SocketType, Widths};
use smallvec::SmallVec;

use super::face::Face;
use super::instances::{Instances, Known, Pattern, TypeNumber};
use super::links::{Given, Links, is_empty_list, socket_at};
use super::literals::Literals;
use super::mismatch::mismatch;
use super::rounded::{rounds, rounds_in_text};
use super::settle::Settling;
use super::shapes::{NodeShape, Shape, Shapes, report_setting};
use super::spots::source_at;
use crate::at::{At, Part};
use crate::checked::{BodyId, CheckedKind, Muted, Source};
use crate::model::{InputValue, Named, Node};
use crate::order::{Conditional, last_places};
use crate::problems::Problems;
use crate::upgrade::Conversion;

/// The result of typing a node.
#[derive(Clone, Copy)]
pub(super) enum Typed {
    /// Not visited, or unknown.
    Unknown,
    /// The instance at this position.
    Call(u32),
    /// The body at this position.
    Group(u32),
    /// The zone at this position.
    Zone(u32),
    /// The closure at this position, of this type.
    Closure { shape: u32, ty: TypeNumber },
    /// Only the types of some outputs.
    Partly,
    /// Not a node of the body but a value outside, with its type if that is known.
    Outside(Option<TypeNumber>),
}

/// The nodes to be typed.
#[derive(Clone, Copy)]
pub(super) enum NodeDefs<'d> {
    Body(&'d Named<Node>),
    One(&'d Node),
}

impl<'d> NodeDefs<'d> {
    /// A node by position, with its name.
    fn get(self, node: u32) -> (&'d str, &'d Node) {
        match self {
            Self::Body(nodes) => {
                let (name, node) = nodes.get_index(node as usize).expect("nodes are counted");
                (name, node)
            }
            Self::One(node) => ("", node),
        }
    }
}

/// The types and literals of a node's inputs, as far as they are known before its generics are
/// resolved.
pub(super) struct Facts<'d> {
    pub(super) facts: Vec<(usize, InputFact<'d>)>,
    /// Whether something is linked to each generic.
    linked: Vec<bool>,
    /// The generics of inputs whose type is unknown.
    unknown: SmallVec<[u16; 4]>,
}

/// The types that a socket takes, and its name in messages.
type Taken<'t> = (&'t [Type], String);

/// The state of typing the nodes of one body.
pub(super) struct Typing<'d, 'c> {
    /// The body.
    pub(super) at: At<'d>,
    pub(super) defs: NodeDefs<'d>,
    pub(super) faces: &'c [Face],
    pub(super) shapes: &'c Shapes<'c>,
    pub(super) node_shapes: &'c [NodeShape],
    pub(super) links: &'c Links<'d>,
    pub(super) instances: &'c mut Instances,
    pub(super) problems: &'c mut Problems,
    pub(super) input_types: Vec<Option<TypeNumber>>,
    pub(super) nodes: Vec<Typed>,
    /// The outputs of partly typed nodes.
    pub(super) partly: HashMap<u32, Vec<Option<Type>>>,
    pub(super) literals: Literals,
    pub(super) sources: Vec<Source>,
    pub(super) muted_groups: HashMap<u32, Arc<Muted>>,
    /// The rule of the document's format.
    pub(super) widths: Widths,
    /// The sources that need a conversion in a newer format.
    pub(super) conversions: &'c mut Vec<Conversion>,
    /// While the types of a conditional cycle settle, the sources that decide them.
    pub(super) settling: Option<Settling>,
    /// The inputs that may be integers which floats of 32 bits do not hold.
    pub(super) large_inputs: Vec<bool>,
}

impl<'d> Typing<'d, '_> {
    /// Visits the nodes in this order. A node that occurs several times is visited at its last
    /// position; the nodes of a conditional cycle are visited once their types have settled.
    pub(super) fn visit(&mut self, order: &[u32], conditional: &[Conditional]) {
        let mut pattern = Pattern::new();
        let mut order = Cow::Borrowed(order);
        if order.len() > self.nodes.len() || !conditional.is_empty() {
            order = last_places(&order, self.nodes.len()).into();
            // The types of their outputs are known before those of their inputs.
            for (typed, shape) in self.nodes.iter_mut().zip(self.node_shapes) {
                if let NodeShape::Group(group) = shape {
                    *typed = Typed::Group(*group);
                }
            }
        }
        // The nodes of a cycle are adjacent, and any of them may come first.
        let mut waiting: HashMap<u32, &Conditional> = HashMap::new();
        waiting.extend(conditional.iter().flat_map(|it| it.nodes.iter().map(move |at| (*at, it))));
        for node in &*order {
            if let Some(cycle) = waiting.get(node).copied() {
                self.settle(cycle, &mut pattern);
                cycle.nodes.iter().for_each(|node| _ = waiting.remove(node));
            }
            self.visit_node(*node, &mut pattern);
        }
        self.report_unsettled(conditional);
        self.check_delayed();
    }

    pub(super) fn visit_node(&mut self, node: u32, pattern: &mut Pattern) {
        self.nodes[node as usize] = match self.node_shapes[node as usize] {
            NodeShape::Def(shape) => self.call(node, shape, pattern),
            NodeShape::Group(group) => {
                self.group(node, group);
                Typed::Group(group)
            }
            NodeShape::Zone(zone) => {
                self.zone(node, zone);
                Typed::Zone(zone)
            }
            NodeShape::Closure(shape) => self.closure(node, shape),
            NodeShape::Call | NodeShape::Broken => Typed::Unknown,
        };
    }

    /// Checks the links that no node had to wait for.
    fn check_delayed(&mut self) {
        let links = self.links;
        for slot in links.delayed.iter().map(|slot| *slot as usize) {
            let node = links.first_slot.partition_point(|first| *first as usize <= slot) - 1;
            let Typed::Call(entry) = self.nodes[node] else { continue };
            let NodeShape::Def(shape) = self.node_shapes[node] else { continue };
            let instance = &self.instances.entry(entry).instance;
            let input = &instance.inputs[slot - links.of_node(node as u32).start];
            let (to, shapes) = (input.ty, self.shapes);
            let socket = &shapes.get(shape).signature.inputs[input.socket as usize].name;
            if let Some(from) = self.given_type(links.slots[slot]) {
                let of = || format!("input `{socket}` of `{}`", shapes.get(shape).def.name);
                self.check_link(node as u32, socket, 0, from, to, of);
            }
        }
    }

    /// The type of a source; `None` if it is unknown or a literal.
    pub(super) fn given_type(&self, given: Given<'_>) -> Option<Type> {
        self.given_number(given).map(|number| self.instances.ty(number)).or_else(|| match given {
            Given::Node { node, output } => self.other_type(node, output),
            Given::Literal(_) | Given::Input(_) | Given::Default | Given::Broken => None,
        })
    }

    /// The number of a source's type, if it is already known.
    fn given_number(&self, given: Given<'_>) -> Option<TypeNumber> {
        match given {
            Given::Input(input) => self.input_types[input as usize],
            Given::Node { node, output } => match self.nodes[node as usize] {
                Typed::Call(entry) => Some(self.instances.entry(entry).outputs[output as usize]),
                Typed::Outside(ty) => ty,
                Typed::Closure { ty, .. } => Some(ty),
                Typed::Unknown | Typed::Group(_) | Typed::Zone(_) | Typed::Partly => None,
            },
            Given::Literal(_) | Given::Default | Given::Broken => None,
        }
    }

    /// The type of an output of a node that is not a call.
    fn other_type(&self, node: u32, output: u32) -> Option<Type> {
        match self.nodes[node as usize] {
            Typed::Group(group) => self.faces[group as usize].outputs[output as usize],
            Typed::Zone(zone) => self.zone_output(zone, output),
            Typed::Partly => self.partly.get(&node)?.get(output as usize).copied().flatten(),
            Typed::Unknown => {
                // An output that does not need all inputs has a fixed type.
                let NodeShape::Def(shape) = self.node_shapes[node as usize] else { return None };
                let output = self.shapes.get(shape).signature.outputs.get(output as usize)?;
                let Some(SocketType::Exact(ty)) = output.needs.map(|_| output.ty) else {
                    return None;
                };
                Some(ty)
            }
            Typed::Call(_) | Typed::Closure { .. } | Typed::Outside(_) => None,
        }
    }

    fn call(&mut self, node: u32, shape_id: u32, pattern: &mut Pattern) -> Typed {
        let shapes = self.shapes;
        let shape = shapes.get(shape_id);
        let slots = self.links.of_node(node);
        let is_read = self.read_pattern(node, shape_id, shape, pattern);
        let known = match is_read.then(|| self.instances.with_pattern(pattern)).flatten() {
            Some(known) => known,
            None => match self.first_with_pattern(node, shape_id, shape) {
                Ok((known, by_links)) => {
                    if is_read && by_links {
                        self.instances.remember(pattern.clone(), known);
                    }
                    known
                }
                Err(typed) => return typed,
            },
        };
        let Known { entry, narrows } = known;
        if narrows {
            self.narrowed(node, shape, entry);
        }
        for (slot, at) in slots.enumerate() {
            let source = match self.links.slots[at] {
                Given::Input(input) => Some(Source::Input(input)),
                Given::Node { node, output } => Some(Source::Node { node, output }),
                Given::Literal(json) => {
                    let input = &self.instances.entry(entry).instance.inputs[slot];
                    let socket = &shape.signature.inputs[input.socket as usize].name;
                    self.rounded_literal(node, input.ty, socket, json);
                    self.literal_in_slot(node, (entry, slot), shape, json)
                }
                Given::Default => {
                    let entry = self.instances.entry(entry);
                    let socket = entry.instance.inputs[slot].socket;
                    let default = entry.defaults[socket as usize].clone();
                    default.map(|value| Source::Literal(self.literals.intern(value)))
                }
                Given::Broken => None,
            };
            if let Some(source) = source {
                self.sources[at] = source;
            }
        }
        Typed::Call(entry)
    }

    /// Writes the pattern of a node; false if the type of a source is unknown.
    fn read_pattern(
        &mut self,
        node: u32,
        shape_id: u32,
        shape: &Shape,
        pattern: &mut Pattern,
    ) -> bool {
        pattern.clear();
        // The instances of the two rules differ.
        pattern.push(match self.widths {
            Widths::Kept => shape_id,
            Widths::First => shape_id | 1 << 31,
        });
        if shape.signature.inputs.iter().any(|socket| socket.multiple) {
            pattern.extend(self.arities(node, shape).iter().map(|arity| u32::from(*arity)));
        }
        for at in self.links.of_node(node) {
            let given = self.links.slots[at];
            let number = match given {
                Given::Literal(_) | Given::Default => 0,
                Given::Broken => return false,
                // The type of a delayed source is not known yet, and decides nothing.
                Given::Node { .. } if self.links.is_delayed(at) => 0,
                Given::Input(_) | Given::Node { .. } => match self.given_number(given) {
                    Some(number) => number,
                    None => match self.given_type(given) {
                        Some(ty) => self.instances.number(ty),
                        None => return false,
                    },
                },
            };
            pattern.push(number);
        }
        true
    }

    /// The number of sources of each socket.
    pub(super) fn arities(&self, node: u32, shape: &Shape) -> SmallVec<[u16; 8]> {
        let slots = self.links.of_node(node);
        let inputs = &self.defs.get(node).1.inputs;
        let arity = |socket: &Socket| {
            let given = socket.multiple.then(|| inputs.get(&socket.name)).flatten();
            match given.map(|input| &input.value) {
                Some(InputValue::Several(sources)) => sources.len() as u16,
                Some(InputValue::Literal(json)) if is_empty_list(json) => 0,
                Some(InputValue::Literal(_) | InputValue::Link(_) | InputValue::Input(_))
                | None => 1,
            }
        };
        let arities: SmallVec<[u16; 8]> = shape.signature.inputs.iter().map(arity).collect();
        debug_assert_eq!(arities.iter().map(|n| usize::from(*n)).sum::<usize>(), slots.len());
        arities
    }

    /// Collects the types and literals of a node's inputs.
    pub(super) fn facts(&self, node: u32, shape: &Shape, arities: &[u16]) -> Facts<'d> {
        let slots = self.links.of_node(node);
        let mut facts: Vec<(usize, InputFact<'_>)> = Vec::with_capacity(slots.len());
        let mut unknown: SmallVec<[u16; 4]> = SmallVec::new();
        let mut linked = vec![false; shape.signature.generics.len()];
        let sockets = arities
            .iter()
            .enumerate()
            .flat_map(|(socket, arity)| std::iter::repeat_n(socket, usize::from(*arity)));
        for (slot, socket) in slots.zip(sockets) {
            let given = self.links.slots[slot];
            let generic = match shape.signature.inputs[socket].ty {
                SocketType::Exact(_) | SocketType::Made => None,
                SocketType::Generic(g) | SocketType::ListOf(g) => Some(g),
            };
            if matches!(given, Given::Node { .. }) && self.links.is_delayed(slot) {
                continue;
            }
            match (given, self.given_type(given).or_else(|| self.stand_in(shape, given))) {
                (Given::Literal(json), _) => facts.push((socket, InputFact::Literal(json))),
                (_, Some(ty)) => {
                    facts.push((socket, InputFact::Linked(ty)));
                    if let Some(g) = generic {
                        linked[g as usize] = true;
                    }
                }
                (Given::Default, None) => {}
                (_, None) if self.is_open(shape, given) => {}
                (Given::Input(_) | Given::Node { .. } | Given::Broken, None) => {
                    unknown.extend(generic);
                }
            }
        }
        Facts { facts, linked, unknown }
    }

    /// Determines the instance of a node with a new pattern, and whether the links alone decide it.
    fn first_with_pattern(
        &mut self,
        node: u32,
        shape_id: u32,
        shape: &Shape,
    ) -> Result<(Known, bool), Typed> {
        let (name, def) = self.named_node(node);
        let at = self.at.part(Part::Node(name));
        let slots = self.links.of_node(node);
        let arities = self.arities(node, shape);
        let Facts { facts, linked, unknown } = self.facts(node, shape, &arities);
        if self.waits(node, shape, &linked) {
            return Err(Typed::Unknown);
        }
        let generics = match shape.signature.resolve_by(self.widths, &facts) {
            Ok(generics) => generics,
            Err(errors) => {
                if unknown.is_empty() && !self.misfits(node, shape, &arities) {
                    for error in &errors {
                        self.problems.report(at, def.spot.span(), error);
                    }
                }
                return Err(self.partly(node, shape, &[], &unknown));
            }
        };
        let all_fit = self.check_links(node, shape, &generics, &arities, &unknown);
        let is_unknown = |given: Given<'_>| self.is_unknown(given) && !self.is_open(shape, given);
        let has_unknown = slots
            .clone()
            .any(|slot| !self.links.is_delayed(slot) && is_unknown(self.links.slots[slot]));
        if !all_fit || has_unknown {
            return Err(self.partly(node, shape, &generics, &unknown));
        }
        let by_links = linked.iter().all(|is_linked| *is_linked);
        let narrows = facts.iter().any(|(socket, fact)| match fact {
            InputFact::Linked(from) => {
                let ty = shape.signature.inputs[*socket].ty;
                let is_new = self.is_made_new(shape, ty);
                ty.resolve(&generics).is_ok_and(|to| {
                    narrows(*from, to) || rounds(*from, to) || is_new && *from != to
                })
            }
            InputFact::Literal(_) => false,
        });
        let made = self.instances.make(shape_id, shape, generics, &arities);
        let known = |entry| {
            let instance = &self.instances.entry(entry).instance;
            let network = instance.network.as_ref();
            let in_text = network.is_some_and(|network| !network.narrowed.is_empty())
                || rounds_in_text(instance);
            Known { entry, narrows: narrows || in_text }
        };
        made.map(|entry| (known(entry), by_links)).map_err(|error| {
            match &error {
                InstanceError::Setting(error) => report_setting(def, error, at, self.problems),
                InstanceError::Type(error) => {
                    self.problems.report(at, def.spot.span(), error);
                }
            }
            Typed::Unknown
        })
    }

    /// Reports the sources that do not convert to any type that a generic socket takes, whatever
    /// else is linked; false if there are none.
    fn misfits(&mut self, node: u32, shape: &Shape, arities: &[u16]) -> bool {
        let mut slot = self.links.of_node(node).start;
        let mut any = false;
        for (socket, arity) in shape.signature.inputs.iter().zip(arities) {
            let taken = shape.signature.taken_by(socket);
            for k in 0..usize::from(*arity) {
                let given = self.links.slots[slot];
                let is_delayed = self.links.is_delayed(slot);
                slot += 1;
                if let (Some(from), Some(taken)) = (self.given_type(given), &taken)
                    && !is_delayed
                    && !taken.iter().any(|to| convertible(from, *to))
                {
                    any = true;
                    let of = format!("input `{}` of `{}`", socket.name, shape.def.name);
                    self.mismatch(node, &socket.name, k, from, (taken, of));
                }
            }
        }
        any
    }

    pub(super) fn is_unknown(&self, given: Given<'_>) -> bool {
        match given {
            Given::Literal(_) | Given::Default => false,
            Given::Broken => true,
            Given::Input(_) | Given::Node { .. } => self.given_type(given).is_none(),
        }
    }

    /// The types of outputs that do not depend on unknown generics.
    fn partly(&mut self, node: u32, shape: &Shape, generics: &[Type], unknown: &[u16]) -> Typed {
        let ty = |socket: SocketType| match socket {
            SocketType::Exact(ty) => Some(ty),
            SocketType::Made => None,
            SocketType::Generic(g) | SocketType::ListOf(g) => {
                let known = (g as usize) < generics.len() && !unknown.contains(&g);
                known.then(|| socket.resolve(generics).ok()).flatten()
            }
        };
        let outputs = shape.signature.outputs.iter().map(|output| ty(output.ty)).collect();
        self.partly.insert(node, outputs);
        Typed::Partly
    }

    /// Whether the known types of all sources convert to those of their slots; reports the others.
    fn check_links(
        &mut self,
        node: u32,
        shape: &Shape,
        generics: &[Type],
        arities: &[u16],
        unknown: &[u16],
    ) -> bool {
        let mut all_fit = true;
        let mut slot = self.links.of_node(node).start;
        for (socket, arity) in shape.signature.inputs.iter().zip(arities) {
            let open = match socket.ty {
                SocketType::Exact(_) | SocketType::Made => false,
                SocketType::Generic(g) | SocketType::ListOf(g) => unknown.contains(&g),
            };
            let to = socket.ty.resolve(generics).ok().filter(|_| !open);
            for k in 0..*arity {
                let given = self.links.slots[slot];
                let is_delayed = self.links.is_delayed(slot);
                slot += 1;
                if is_delayed {
                    continue;
                }
                if let (Some(from), Some(to)) = (self.given_type(given), to)
                    && !convertible(from, to)
                {
                    all_fit = false;
                    let of = format!("input `{}` of `{}`", socket.name, shape.def.name);
                    self.mismatch(node, &socket.name, k as usize, from, (&[to], of));
                }
            }
        }
        all_fit
    }

    /// Resolves the sources for the inputs of a group.
    fn group(&mut self, node: u32, group: u32) {
        let faces = self.faces;
        let face = &faces[group as usize];
        for (at, input) in self.links.of_node(node).zip(&face.inputs) {
            let Some(input) = input else { continue };
            let default = || input.default.clone();
            self.socket(node, at, (&input.name, input.ty), default, || {
                format!("input `{}` of the group", input.name)
            });
        }
    }

    /// Resolves the source for a socket of this name and type.
    pub(super) fn socket(
        &mut self,
        node: u32,
        at: usize,
        (name, ty): (&str, Type),
        default: impl FnOnce() -> Option<Value>,
        of: impl FnOnce() -> String,
    ) {
        let given = self.links.slots[at];
        let source = match given {
            Given::Literal(json) => self.literal(node, ty, json, || name),
            Given::Default => default().map(|value| Source::Literal(self.literals.intern(value))),
            Given::Input(input) => Some(Source::Input(input)),
            Given::Node { node, output } => Some(Source::Node { node, output }),
            Given::Broken => None,
        };
        if let Some(from) = self.given_type(given) {
            self.check_link(node, name, 0, from, ty, of);
        }
        self.sources[at] = source.unwrap_or(self.sources[at]);
    }

    /// A node by position, with its name.
    pub(super) fn named_node(&self, node: u32) -> (&'d str, &'d Node) {
        self.defs.get(node)
    }

    pub(super) fn mismatch(
        &mut self,
        node: u32,
        socket: &str,
        k: usize,
        from: Type,
        (to, of): Taken<'_>,
    ) {
        let (name, def) = self.named_node(node);
        let at = self.at.part(Part::Node(name));
        let Some(source) = source_at(def, socket, k) else { return };
        let of_document = (self.shapes.registry(), self.shapes.form());
        let error = mismatch(of_document, self.described(source), from, to, of);
        self.problems.report(socket_at(at, socket), source.spot.span(), &error);
    }

    /// The kind of a node of the checked body.
    pub(super) fn kind(&mut self, node: u32, muted: bool) -> CheckedKind {
        let known = match self.nodes[node as usize] {
            Typed::Call(entry) if muted => Some(CheckedKind::Muted(self.instances.muted(entry))),
            Typed::Call(entry) => {
                Some(CheckedKind::Call(Arc::clone(&self.instances.entry(entry).instance)))
            }
            Typed::Group(group) if muted => self.muted_group(group).map(CheckedKind::Muted),
            Typed::Group(group) => Some(CheckedKind::Group(BodyId::from_index(group as usize))),
            Typed::Zone(zone) if muted => self.muted_zone(zone).map(CheckedKind::Muted),
            Typed::Zone(zone) => self.checked_zone(zone).map(CheckedKind::Zone),
            Typed::Closure { shape, ty } => Some(self.checked_closure(shape, ty, muted)),
            Typed::Unknown | Typed::Partly | Typed::Outside(_) => None,
        };
        known.unwrap_or(CheckedKind::Wrong)
    }
}
