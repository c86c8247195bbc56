//! Resolves the sources written for the sockets of nodes.

use std::sync::Arc;

use millstream_base::Type;
use millstream_base::diagnostics::only_counted;
use millstream_base::literal::form_of;
use millstream_node::Zone;
use millstream_node::interface::CALL;
use millstream_node::zone::{Course, OwnInput};
use millstream_node::{
    signature::Default as SocketDefault, signature::Socket, signature::SocketType,
};
use serde_json::Value as Json;

use super::error::CheckError;
use super::face::{BodyDef, Face};
use super::shapes::{ClosureShape, NodeShape, Shape, Shapes};
use crate::at::{At, Part};
use crate::model::{Input, InputValue, Link, Made, Node, NodeKind, WrongArgument};
use crate::problems::{Problems, listed, shortened};
use crate::spot::Spot;

/// The source of a slot.
#[derive(Clone, Copy)]
pub(super) enum Given<'d> {
    /// This literal, once its type is known.
    Literal(&'d Json),
    /// An input of the body.
    Input(u32),
    /// An output of a node of the body.
    Node { node: u32, output: u32 },
    /// No source: the default of the socket.
    Default,
    /// Unknown; the reason has been reported.
    Broken,
}

/// The sources of all nodes of a body.
pub(super) struct Links<'d> {
    /// The slots of all nodes, one after the other.
    pub(super) slots: Vec<Given<'d>>,
    /// For each node, the index of its first slot; one entry past the end.
    pub(super) first_slot: Vec<u32>,
    /// The slots whose values are used only in later ticks, ascending.
    pub(super) delayed: Vec<u32>,
}

impl Links<'_> {
    pub(super) fn of_node(&self, node: u32) -> std::ops::Range<usize> {
        let node = node as usize;
        self.first_slot[node] as usize..self.first_slot[node + 1] as usize
    }

    /// The node that slot `k` of a node reads.
    pub(super) fn dependency(&self, node: u32, k: u32) -> Option<u32> {
        let slot = self.of_node(node).start + k as usize;
        match self.slots[slot] {
            Given::Node { .. } if self.is_delayed(slot) => None,
            Given::Node { node, .. } => Some(node),
            Given::Literal(_) | Given::Input(_) | Given::Default | Given::Broken => None,
        }
    }

    /// Whether the value of a slot is used only in later ticks.
    pub(super) fn is_delayed(&self, slot: usize) -> bool {
        !self.delayed.is_empty() && self.delayed.binary_search(&(slot as u32)).is_ok()
    }
}

/// The meaning of names where a node reads them.
pub(super) trait Names<'d> {
    /// An input of the body around the node.
    fn input(&mut self, name: &'d Arc<str>, spot: Spot, at: At<'_>, cx: &mut Problems)
    -> Given<'d>;

    /// An output of another node of the body.
    fn link(&mut self, link: &'d Link, spot: Spot, at: At<'_>, cx: &mut Problems) -> Given<'d>;

    /// Marks the sources of an input without a meaning as used, to avoid follow-up warnings.
    fn mark_used(&mut self, input: &Input);
}

/// Resolves the sources written for the sockets of nodes.
pub(super) struct Linker<'d, 'c, N> {
    pub(super) names: N,
    pub(super) bodies: &'c [BodyDef<'d>],
    pub(super) faces: &'c [Face],
    pub(super) shapes: &'c Shapes<'c>,
    pub(super) problems: &'c mut Problems,
    pub(super) slots: Vec<Given<'d>>,
    pub(super) delayed: Vec<u32>,
    /// The input written for each socket of the current node.
    pub(super) written: Vec<Option<&'d Input>>,
}

/// The sources of one socket.
#[derive(Clone, Copy)]
enum Sources<'d> {
    None,
    One(&'d Input),
    Several(&'d [Input]),
}

impl<'d, N: Names<'d>> Linker<'d, '_, N> {
    /// Resolves the inputs of a node; false if it has too many sources, and then it has none.
    pub(super) fn resolve(&mut self, node: &'d Node, shape: NodeShape, at: At<'_>) -> bool {
        let first = self.slots.len();
        match shape {
            NodeShape::Def(shape) => {
                self.node(node, self.shapes.get(shape), at);
                let n = self.slots.len() - first;
                if n > usize::from(u16::MAX) {
                    let error = CheckError::TooManySources { n };
                    self.problems.report(at, node.spot.span(), &error);
                    self.slots.truncate(first);
                    return false;
                }
            }
            NodeShape::Group(group) => self.group_node(node, group as usize, None, at),
            NodeShape::Zone(zone) => {
                let shape = self.shapes.zone(zone);
                self.group_node(node, shape.group as usize, Some(&shape.course), at);
            }
            NodeShape::Closure(closure) => {
                let shape = self.shapes.closure(closure);
                self.closure_node(node, shape, at);
            }
            NodeShape::Call | NodeShape::Broken => self.broken_node(node, at),
        }
        true
    }

    /// A node whose inputs are not known. In a call, an unknown name may be the reason, which nothing
    /// else reports.
    fn broken_node(&mut self, node: &'d Node, at: At<'_>) {
        let is_call = matches!(&node.kind, NodeKind::Type(ty) if **ty == *CALL);
        for (name, input) in node.inputs.iter() {
            self.names.mark_used(input);
            let sources = match &input.value {
                InputValue::Several(sources) => &sources[..],
                _ => std::slice::from_ref(input),
            };
            for source in sources.iter().filter(|_| is_call) {
                self.source(source, at, name);
            }
        }
    }

    fn node(&mut self, node: &'d Node, shape: &Shape, at: At<'_>) {
        let signature = &shape.signature;
        let mut given = std::mem::take(&mut self.written);
        given.clear();
        given.resize(signature.inputs.len(), None);
        if let Some(Made::Passing { unread }) = node.made.as_deref() {
            for input in unread {
                self.names.mark_used(input);
            }
        }
        for (name, input) in node.inputs.iter() {
            match signature.input(name) {
                Some(socket) => given[socket] = Some(input),
                None => {
                    let known = signature.inputs.iter().map(|socket| &*socket.name);
                    // Inputs in place of calls have names that nobody wrote.
                    let known: Vec<&str> = match node.made.as_deref() {
                        Some(Made::Rest { mentioned }) => {
                            mentioned.iter().map(|it| &**it).collect()
                        }
                        Some(Made::Passing { .. } | Made::Part(_)) | None => known.collect(),
                    };
                    let known = known.iter().copied();
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
                self.delayed.push(self.slots.len() as u32);
            }
            let source = match sources(*input, socket.multiple) {
                Sources::None => missing.unwrap_or_else(|| {
                    let form = form_of_socket(socket);
                    self.missing(node, &socket.name, &shape.def.name, form, at)
                }),
                Sources::One(input) => self.source(input, at, &socket.name),
                Sources::Several(inputs) if socket.multiple => {
                    for input in inputs {
                        let source = self.source(input, at, &socket.name);
                        self.slots.push(source);
                    }
                    continue;
                }
                Sources::Several(inputs) => self.one_of_several(*input, inputs, at, &socket.name),
            };
            self.slots.push(source);
        }
        self.written = given;
    }

    /// Resolves the inputs of a node that uses a group. A zone runs the group many times and has
    /// inputs of its own, after those of the group.
    fn group_node(&mut self, node: &'d Node, group: usize, course: Option<&Course>, at: At<'_>) {
        let (body, face) = (self.bodies[group], &self.faces[group]);
        let mut given = std::mem::take(&mut self.written);
        given.clear();
        let zone = course.map(|course| course.mode.zone());
        let own = zone.into_iter().flat_map(|zone| {
            zone.inputs_after(|name| body.inputs.contains_key(name)).collect::<Vec<_>>()
        });
        let own: Vec<&OwnInput> = own.collect();
        let n_inputs = body.inputs.len();
        given.resize(n_inputs + own.len(), None);
        for (name, input) in node.inputs.iter() {
            let of_zone = || own.iter().position(|own| *own.name == **name).map(|k| n_inputs + k);
            match body.inputs.get_index_of(name).or_else(of_zone) {
                Some(socket) => given[socket] = Some(input),
                None => {
                    let known = body.inputs.keys().map(|name| &**name);
                    let known = known.chain(own.iter().map(|own| own.name));
                    self.unknown_input(name, input, body.name, &known, at);
                }
            }
        }
        for (wrong, input) in node.part().into_iter().flat_map(|part| &part.wrong) {
            self.wrong_argument(wrong, input, body, at);
        }
        for (i, (name, input)) in body.inputs.keys().zip(given.iter()).enumerate() {
            let is_item = course.is_some_and(|course| course.mode.is_item(i));
            let source = match sources(*input, false) {
                Sources::None => match &face.inputs[i] {
                    Some(_) if is_item => self.missing(node, name, body.name, "a list".into(), at),
                    Some(input) if input.default.is_some() => Given::Default,
                    Some(input) => self.missing(node, name, body.name, form_of(input.ty), at),
                    None => Given::Broken,
                },
                Sources::One(input) => self.source(input, at, name),
                Sources::Several(inputs) => self.one_of_several(*input, inputs, at, name),
            };
            self.slots.push(source);
        }
        for (OwnInput { name, ty, default, .. }, input) in own.iter().zip(&given[n_inputs..]) {
            let of = zone.map_or("", Zone::name);
            let source = match sources(*input, false) {
                Sources::None if default.is_some() => Given::Default,
                Sources::None => self.missing(node, name, of, form_of(*ty), at),
                Sources::One(input) => self.source(input, at, name),
                Sources::Several(inputs) => self.one_of_several(*input, inputs, at, name),
            };
            self.slots.push(source);
        }
        self.written = given;
    }

    /// A node that makes a closure: it has the inputs that are written.
    fn closure_node(&mut self, node: &'d Node, shape: &ClosureShape, at: At<'_>) {
        let body = self.bodies[shape.group as usize];
        for (name, input) in node.inputs.iter() {
            if !body.inputs.contains_key(name) {
                let known = body.inputs.keys().map(|name| &**name);
                self.unknown_input(name, input, body.name, &known, at);
            }
        }
        for input in &shape.captures {
            let (name, _) = body.inputs.get_index(*input as usize).expect("captures are inputs");
            let source = match sources(node.inputs.get(name), false) {
                Sources::None => Given::Broken,
                Sources::One(input) => self.source(input, at, name),
                Sources::Several(inputs) => {
                    self.one_of_several(node.inputs.get(name), inputs, at, name)
                }
            };
            self.slots.push(source);
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
        self.names.mark_used(input);
    }

    /// Reports an argument of a call in a formula, which is given to no input. Of arguments beyond
    /// the number of inputs only the first is reported.
    fn wrong_argument(
        &mut self,
        wrong: &WrongArgument,
        input: &Input,
        body: BodyDef<'_>,
        at: At<'_>,
    ) {
        self.names.mark_used(input);
        let group = body.name.to_owned();
        let error = match wrong {
            WrongArgument::Unnamed => {
                let name = body.inputs.keys().next().map(|name| shortened(name));
                CheckError::UnnamedArgument { name: name.unwrap_or_else(|| "x".into()) }
            }
            WrongArgument::Empty => CheckError::EmptyArgument { group },
            WrongArgument::Again(input) => {
                CheckError::GivenAgain { group, name: input.to_string() }
            }
            WrongArgument::Extra(n) if *n == body.inputs.len() => {
                let (n, names) = (body.inputs.len(), listed(body.inputs.keys().map(|it| &**it)));
                let n = only_counted(n as u64, "input");
                let hint = if names.is_empty() {
                    "remove the argument".to_owned()
                } else {
                    format!("inputs: {names}")
                };
                CheckError::TooManyArguments { group, n, hint }
            }
            WrongArgument::Extra(_) => return,
        };
        self.problems.report(at, input.spot.span(), &error);
    }

    fn missing(
        &mut self,
        node: &Node,
        name: &str,
        node_type: &str,
        form: String,
        at: At<'_>,
    ) -> Given<'d> {
        let is_cause = |(wrong, _): &(WrongArgument, Input)| match wrong {
            WrongArgument::Unnamed | WrongArgument::Empty => true,
            WrongArgument::Again(_) | WrongArgument::Extra(_) => false,
        };
        if node.part().is_some_and(|part| part.wrong.iter().any(is_cause)) {
            return Given::Broken;
        }
        let node_type = node_type.into();
        let error = CheckError::MissingInput { name: shortened(name), node_type, form };
        self.problems.report(socket_at(at, name), node.spot.span(), &error);
        Given::Broken
    }

    /// Reports several sources, or an empty list of them, for an input that takes one.
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
            self.names.mark_used(input);
        }
        Given::Broken
    }

    fn source(&mut self, input: &'d Input, at: At<'_>, socket: &str) -> Given<'d> {
        match &input.value {
            InputValue::Literal(json) => Given::Literal(json),
            InputValue::Input(name) => {
                self.names.input(name, input.spot, socket_at(at, socket), self.problems)
            }
            InputValue::Link(link) => {
                self.names.link(link, input.spot, socket_at(at, socket), self.problems)
            }
            // Lists of lists cannot be written; one built in code counts as broken.
            InputValue::Several(inputs) => {
                self.one_of_several(Some(input), &inputs[..0], at, socket)
            }
        }
    }
}

/// The sources written for a socket. For a socket that takes several, an empty list means no
/// source.
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

/// A socket of a node; for any other part, the part itself.
pub(super) fn socket_at<'n>(at: At<'n>, socket: &'n str) -> At<'n> {
    match at.part {
        Part::Node(node) => at.part(Part::Socket(node, socket)),
        Part::Body | Part::Input(_) | Part::Output(_) | Part::Socket(..) => at,
    }
}

fn form_of_socket(socket: &Socket) -> String {
    match socket.ty {
        SocketType::Exact(ty) => form_of(ty),
        SocketType::Generic(_) | SocketType::Made => form_of(Type::F32),
        SocketType::ListOf(_) => "a list".into(),
    }
}
