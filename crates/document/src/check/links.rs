//! Resolves what is written for each socket of each node of a body.

use std::sync::Arc;

use millstream_base::Type;
use millstream_base::literal::form_of;
use millstream_node::{repeat::COUNT, repeat::REPEAT};
use millstream_node::{
    signature::Default as SocketDefault, signature::Socket, signature::SocketType,
};
use serde_json::Value as Json;

use super::error::CheckError;
use super::face::{BodyDef, Face};
use super::shapes::{NodeShape, Shape, Shapes};
use crate::at::{At, Part};
use crate::model::{Input, InputValue, Link, Node};
use crate::problems::{Problems, listed, shortened};
use crate::spot::Spot;

/// What is given for a slot.
#[derive(Clone, Copy)]
pub(super) enum Given<'d> {
    /// This, once its type is known.
    Literal(&'d Json),
    /// An input of the body.
    Input(u32),
    /// An output of a node of the body.
    Node { node: u32, output: u32 },
    /// Nothing: the default of the socket.
    Default,
    /// Nobody knows; the reason has been reported.
    Broken,
}

/// What is given for all nodes of a body.
pub(super) struct Links<'d> {
    /// The slots of all nodes, one behind the other.
    pub(super) slots: Vec<Given<'d>>,
    /// For each node its first slot, and one past the last of all.
    pub(super) first_slot: Vec<u32>,
    /// Which inputs of the body something reads.
    pub(super) used_inputs: Vec<bool>,
    /// The slots whose values count for later ticks only, ascending.
    pub(super) delayed: Vec<u32>,
}

impl Links<'_> {
    pub(super) fn of_node(&self, node: u32) -> std::ops::Range<usize> {
        let node = node as usize;
        self.first_slot[node] as usize..self.first_slot[node + 1] as usize
    }

    /// The node that slot `k` of a node takes its value from.
    pub(super) fn dependency(&self, node: u32, k: u32) -> Option<u32> {
        let slot = self.of_node(node).start + k as usize;
        match self.slots[slot] {
            Given::Node { .. } if self.is_delayed(slot) => None,
            Given::Node { node, .. } => Some(node),
            Given::Literal(_) | Given::Input(_) | Given::Default | Given::Broken => None,
        }
    }
}

impl Links<'_> {
    /// Whether the value of a slot counts for later ticks only.
    pub(super) fn is_delayed(&self, slot: usize) -> bool {
        !self.delayed.is_empty() && self.delayed.binary_search(&(slot as u32)).is_ok()
    }
}

/// Resolves the links of one body.
pub(super) struct Linker<'d, 'c> {
    pub(super) body: BodyDef<'d>,
    /// The face of the body itself.
    pub(super) face: &'c Face,
    pub(super) bodies: &'c [BodyDef<'d>],
    pub(super) faces: &'c [Face],
    pub(super) shapes: &'c Shapes<'d>,
    /// Made broken for nodes with too many sources.
    pub(super) node_shapes: &'c mut [NodeShape],
    pub(super) problems: &'c mut Problems,
    pub(super) used_inputs: Vec<bool>,
    pub(super) delayed: Vec<u32>,
    pub(super) recent: Recent,
}

/// The nodes met last, by the address of their name: loading lets links share the names of nodes, so
/// that most links find their node without a name being read.
pub(super) struct Recent(Vec<(usize, u32)>);

impl Recent {
    pub(super) fn for_nodes(n: usize) -> Self {
        const MOST: usize = 1 << 16;
        Self(vec![(0, 0); n.next_power_of_two().min(MOST)])
    }

    fn address(name: &Arc<str>) -> usize {
        Arc::as_ptr(name).cast::<u8>().addr()
    }

    fn slot(&self, address: usize) -> usize {
        // Allocations lie on multiples of 16; the names of nodes often follow each other.
        (address >> 4) & (self.0.len() - 1)
    }

    fn put(&mut self, name: &Arc<str>, node: u32) {
        let address = Self::address(name);
        let slot = self.slot(address);
        self.0[slot] = (address, node);
    }

    fn get(&self, name: &Arc<str>) -> Option<usize> {
        let address = Self::address(name);
        let (known, node) = self.0[self.slot(address)];
        (known == address).then_some(node as usize)
    }
}

/// The sources of one socket.
#[derive(Clone, Copy)]
enum Sources<'d> {
    None,
    One(&'d Input),
    Several(&'d [Input]),
}

impl<'d> Linker<'d, '_> {
    /// Resolves all nodes.
    pub(super) fn resolve(mut self) -> Links<'d> {
        let n_nodes = self.body.nodes.len();
        let mut slots = Vec::with_capacity(n_nodes * 2);
        let mut first_slot = Vec::with_capacity(n_nodes + 1);
        let mut given: Vec<Option<&'d Input>> = Vec::new();
        for (i, (name, node)) in self.body.nodes.iter().enumerate() {
            first_slot.push(slots.len() as u32);
            self.recent.put(name, i as u32);
            let at = self.body.at().part(Part::Node(name));
            match self.node_shapes[i] {
                NodeShape::Def(shape) => {
                    self.node(node, self.shapes.get(shape), at, &mut given, &mut slots);
                    let n = slots.len() - first_slot[i] as usize;
                    if n > usize::from(u16::MAX) {
                        let error = CheckError::TooManySources { n };
                        self.problems.report(at, node.spot.span(), &error);
                        slots.truncate(first_slot[i] as usize);
                        self.node_shapes[i] = NodeShape::Broken;
                    }
                }
                NodeShape::Group(group) => {
                    let group = (group as usize, false);
                    self.group_node(node, group, at, &mut given, &mut slots);
                }
                NodeShape::Repeat(repeat) => {
                    let shape = self.shapes.repeat(repeat);
                    let group = (shape.group as usize, shape.has_own_count);
                    self.group_node(node, group, at, &mut given, &mut slots);
                }
                NodeShape::Broken => self.mark_used(node),
            }
        }
        first_slot.push(slots.len() as u32);
        Links { slots, first_slot, used_inputs: self.used_inputs, delayed: self.delayed }
    }

    fn node(
        &mut self,
        node: &'d Node,
        shape: &Shape,
        at: At<'_>,
        given: &mut Vec<Option<&'d Input>>,
        slots: &mut Vec<Given<'d>>,
    ) {
        let signature = &shape.signature;
        given.clear();
        given.resize(signature.inputs.len(), None);
        for (name, input) in node.inputs.iter() {
            match signature.input(name) {
                Some(socket) => given[socket] = Some(input),
                None => {
                    let known = signature.inputs.iter().map(|socket| &*socket.name);
                    self.unknown_input(name, input, &shape.def.name, &known, at);
                }
            }
        }
        for (socket, input) in signature.inputs.iter().zip(given.iter()) {
            let missing = match socket.default {
                SocketDefault::Required => None,
                SocketDefault::Zero | SocketDefault::Number(_) | SocketDefault::Value(_) => {
                    Some(Given::Default)
                }
            };
            if shape.def.delayed.is_some_and(|delayed| delayed == socket.name) && !node.muted {
                self.delayed.push(slots.len() as u32);
            }
            match sources(*input, socket.multiple) {
                Sources::None => {
                    slots.push(missing.unwrap_or_else(|| {
                        let form = form_of_socket(socket);
                        self.missing(node, &socket.name, &shape.def.name, form, at)
                    }));
                }
                Sources::One(input) => slots.push(self.source(input, at, &socket.name)),
                Sources::Several(inputs) if socket.multiple => {
                    for input in inputs {
                        slots.push(self.source(input, at, &socket.name));
                    }
                }
                Sources::Several(inputs) => {
                    slots.push(self.one_of_several(*input, inputs, at, &socket.name));
                }
            }
        }
    }

    /// A node that uses a group, and whether it has a count behind the inputs of the group.
    fn group_node(
        &mut self,
        node: &'d Node,
        (group, has_count): (usize, bool),
        at: At<'_>,
        given: &mut Vec<Option<&'d Input>>,
        slots: &mut Vec<Given<'d>>,
    ) {
        let (body, face) = (self.bodies[group], &self.faces[group]);
        given.clear();
        given.resize(body.inputs.len(), None);
        let mut count = None;
        for (name, input) in node.inputs.iter() {
            match body.inputs.get_index_of(name) {
                Some(socket) => given[socket] = Some(input),
                None if has_count && **name == *COUNT => count = Some(input),
                None => {
                    let known = body.inputs.keys().map(|name| &**name);
                    let known = known.chain(has_count.then_some(COUNT));
                    self.unknown_input(name, input, body.name, &known, at);
                }
            }
        }
        for (i, (name, input)) in body.inputs.keys().zip(given.iter()).enumerate() {
            slots.push(match sources(*input, false) {
                Sources::None => match &face.inputs[i] {
                    Some(input) if input.default.is_some() => Given::Default,
                    Some(input) => self.missing(node, name, body.name, form_of(input.ty), at),
                    None => Given::Broken,
                },
                Sources::One(input) => self.source(input, at, name),
                Sources::Several(inputs) => self.one_of_several(*input, inputs, at, name),
            });
        }
        if has_count {
            slots.push(match sources(count, false) {
                Sources::None => self.missing(node, COUNT, REPEAT, form_of(Type::I32), at),
                Sources::One(input) => self.source(input, at, COUNT),
                Sources::Several(inputs) => self.one_of_several(count, inputs, at, COUNT),
            });
        }
    }

    fn unknown_input<'n>(
        &mut self,
        name: &str,
        input: &Input,
        node_type: &str,
        known: &(impl Iterator<Item = &'n str> + Clone),
        at: At<'_>,
    ) {
        let all = || match listed(known.clone()) {
            names if names.is_empty() => "it has no inputs".into(),
            names => format!("inputs: {names}"),
        };
        let hint = self.problems.suggest(name, known.clone(), all);
        let node_type = node_type.into();
        let error = CheckError::UnknownInput { node_type, name: shortened(name), hint };
        self.problems.report(at, input.spot.span(), &error);
        self.mark_used_by(input);
    }

    fn missing(
        &mut self,
        node: &Node,
        name: &str,
        node_type: &str,
        form: String,
        at: At<'_>,
    ) -> Given<'d> {
        let node_type = node_type.into();
        let error = CheckError::MissingInput { name: shortened(name), node_type, form };
        self.problems.report(socket_at(at, name), node.spot.span(), &error);
        Given::Broken
    }

    /// Several sources, or none in a list, where one goes.
    fn one_of_several(
        &mut self,
        input: Option<&Input>,
        inputs: &'d [Input],
        at: At<'_>,
        name: &str,
    ) -> Given<'d> {
        if let [only] = inputs {
            return self.source(only, at, name);
        }
        let error = CheckError::SeveralSources { name: shortened(name), n: inputs.len() };
        let span = input.map(|input| input.spot.span()).unwrap_or_default();
        self.problems.report(socket_at(at, name), span, &error);
        for input in inputs {
            self.mark_used_by(input);
        }
        Given::Broken
    }

    fn source(&mut self, input: &'d Input, at: At<'_>, socket: &str) -> Given<'d> {
        match &input.value {
            InputValue::Literal(json) => Given::Literal(json),
            InputValue::Input(name) => self.body_input(name, input.spot, socket_at(at, socket)),
            InputValue::Link(link) => self.link(link, input.spot, socket_at(at, socket)),
            // Lists of lists cannot be written; one built in code counts as broken.
            InputValue::Several(inputs) => {
                self.one_of_several(Some(input), &inputs[..0], at, socket)
            }
        }
    }

    /// An input of the body.
    pub(super) fn body_input(&mut self, name: &str, spot: Spot, at: At<'_>) -> Given<'d> {
        if let Some(input) = self.body.inputs.get_index_of(name) {
            self.used_inputs[input] = true;
            return match self.face.inputs[input] {
                Some(_) => Given::Input(input as u32),
                None => Given::Broken,
            };
        }
        let whole = self.body.at().whole();
        let hint = if self.body.nodes.contains_key(name) {
            format!("a node is linked with {{ \"from\": \"{}.value\" }}", shortened(name))
        } else {
            let known = self.body.inputs.keys().map(|name| &**name);
            let all = || match listed(known.clone()) {
                names if names.is_empty() => format!("{whole} has no inputs"),
                names => format!("inputs: {names}"),
            };
            self.problems.suggest(name, known.clone(), all)
        };
        let error = CheckError::UnknownGraphInput { whole, name: shortened(name), hint };
        self.problems.report(at, spot.span(), &error);
        Given::Broken
    }

    /// An output of a node of the body.
    pub(super) fn link(&mut self, link: &Link, spot: Spot, at: At<'_>) -> Given<'d> {
        let known = self.recent.get(&link.node);
        let Some(node) = known.or_else(|| self.body.nodes.get_index_of(&link.node)) else {
            let hint = if self.body.inputs.contains_key(&link.node) {
                format!("an input is linked with {{ \"input\": \"{}\" }}", link.node)
            } else {
                let known = self.body.nodes.keys().map(|name| &**name);
                self.problems
                    .suggest(&link.node, known, || "add the node or change the link".into())
            };
            let name = shortened(&link.node);
            let error = CheckError::UnknownNode { link: shortened(&link.to_string()), name, hint };
            self.problems.report(at, spot.span(), &error);
            return Given::Broken;
        };
        let output = match self.node_shapes[node] {
            NodeShape::Def(shape) => {
                let shape = self.shapes.get(shape);
                let output = shape.signature.output(&link.output);
                output.ok_or_else(|| {
                    let known = shape.signature.outputs.iter().map(|output| &*output.name);
                    (shape.def.name.to_string(), known.map(Arc::from).collect::<Vec<Arc<str>>>())
                })
            }
            NodeShape::Group(_) | NodeShape::Repeat(_) => {
                let group = match self.node_shapes[node] {
                    NodeShape::Repeat(repeat) => self.shapes.repeat(repeat).group,
                    NodeShape::Group(group) => group,
                    NodeShape::Def(_) | NodeShape::Broken => return Given::Broken,
                };
                let body = self.bodies[group as usize];
                let output = body.outputs.get_index_of(&link.output);
                output.ok_or_else(|| (body.name.to_owned(), body.outputs.keys().cloned().collect()))
            }
            NodeShape::Broken => return Given::Broken,
        };
        match output {
            Ok(output) => Given::Node { node: node as u32, output: output as u32 },
            Err((node_type, known)) => {
                let known = known.iter().map(|name| &**name);
                let all = || match listed(known.clone()) {
                    names if names.is_empty() => "it has no outputs".into(),
                    names => format!("outputs: {names}"),
                };
                let hint = self.problems.suggest(&link.output, known.clone(), all);
                let (link, name) = (shortened(&link.to_string()), shortened(&link.output));
                let error = CheckError::UnknownOutput { link, node_type, name, hint };
                self.problems.report(at, spot.span(), &error);
                Given::Broken
            }
        }
    }

    /// Marks the inputs that a node reads of which nothing else is known.
    fn mark_used(&mut self, node: &Node) {
        node.inputs.iter().for_each(|(_, input)| self.mark_used_by(input));
    }

    fn mark_used_by(&mut self, input: &Input) {
        match &input.value {
            InputValue::Input(name) => {
                if let Some(input) = self.body.inputs.get_index_of(name) {
                    self.used_inputs[input] = true;
                }
            }
            InputValue::Several(inputs) => inputs.iter().for_each(|input| self.mark_used_by(input)),
            InputValue::Literal(_) | InputValue::Link(_) => {}
        }
    }
}

/// The sources written for a socket. In a socket that takes several, an empty list is none of them.
fn sources(input: Option<&Input>, multiple: bool) -> Sources<'_> {
    let Some(input) = input else { return Sources::None };
    match &input.value {
        InputValue::Several(inputs) => Sources::Several(inputs),
        InputValue::Literal(json) if multiple && is_empty_list(json) => Sources::Several(&[]),
        InputValue::Literal(_) | InputValue::Link(_) | InputValue::Input(_) => Sources::One(input),
    }
}

/// Whether a literal is a list without items.
pub(super) fn is_empty_list(json: &Json) -> bool {
    json.as_array().is_some_and(Vec::is_empty)
}

/// A socket of a node; of anything else that itself.
pub(super) fn socket_at<'n>(at: At<'n>, socket: &'n str) -> At<'n> {
    match at.part {
        Part::Node(node) => at.part(Part::Socket(node, socket)),
        Part::Body | Part::Input(_) | Part::Output(_) | Part::Socket(..) => at,
    }
}

fn form_of_socket(socket: &Socket) -> String {
    match socket.ty {
        SocketType::Exact(ty) => form_of(ty),
        SocketType::Generic(_) => form_of(Type::F32),
        SocketType::ListOf(_) => "a list".into(),
    }
}
