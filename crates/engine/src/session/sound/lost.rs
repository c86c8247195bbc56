//! What is lost of a document in which parts are wrong: these, and all that depends on them.
//!
//! A group is looked at without some of its inputs, those that are lost where it is used; so what a
//! use of it still gives is known for each output. A node that uses a group is there as long as the
//! group is; any other node is lost with the first of its sources. What depends on itself, over
//! sockets for later ticks, is lost only if it depends on something else that is.
//!
//! Groups wait on an explicit stack for the groups inside them. Cost: for each group and each set of
//! inputs that it lacks somewhere a few walks over it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use millstream_document::check::{PartName, WrongPart};
use millstream_document::{
    Document, InputDef, InputValue, Named, Node, NodeKind, OutputDef, OutputFrom,
};

/// A group, or with `None` the document, without some of its inputs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Variant {
    pub(super) group: Option<Arc<str>>,
    pub(super) without: BTreeSet<Arc<str>>,
}

/// What is lost in one variant of a body.
#[derive(Debug, Default)]
pub(super) struct Lost<'d> {
    pub(super) inputs: HashSet<&'d str>,
    pub(super) outputs: HashSet<&'d str>,
    pub(super) nodes: HashSet<&'d str>,
    /// For each node that uses a group the inputs of the group that it lacks.
    pub(super) uses: HashMap<&'d str, BTreeSet<Arc<str>>>,
}

/// A body, whether of the document or of a group.
#[derive(Clone, Copy)]
pub(super) struct Body<'d> {
    pub(super) inputs: &'d Named<InputDef>,
    pub(super) outputs: &'d Named<OutputDef>,
    pub(super) nodes: &'d Named<Node>,
}

/// What is known of all variants that the document consists of.
pub(super) struct Losses<'d> {
    document: &'d Document,
    wrong: HashMap<Option<Arc<str>>, Wrong<'d>>,
    readers: HashMap<Option<Arc<str>>, Readers<'d>>,
    pub(super) of: HashMap<Variant, Lost<'d>>,
}

/// What is wrong in a body.
#[derive(Default)]
struct Wrong<'d> {
    is_whole: bool,
    inputs: Vec<&'d str>,
    outputs: Vec<&'d str>,
    nodes: Vec<&'d str>,
    sockets: Vec<(&'d str, &'d str)>,
}

/// A node of a body and a socket or output of it.
type Socket<'d> = (&'d str, &'d str);

/// Who reads what in a body.
#[derive(Default)]
struct Readers<'d> {
    of_inputs: HashMap<&'d str, Vec<Socket<'d>>>,
    /// With the output that is read.
    of_nodes: HashMap<&'d str, Vec<(Socket<'d>, &'d str)>>,
}

/// Something that is lost, of which it has not been looked at yet who reads it.
enum Value<'d> {
    Input(&'d str),
    Node(&'d str),
    Output(&'d str, &'d str),
}

/// One variant being looked at.
struct Look<'d, 'l> {
    losses: &'l Losses<'d>,
    body: Body<'d>,
    lost: Lost<'d>,
    /// Outputs of nodes that are there.
    given: HashSet<Socket<'d>>,
    values: Vec<Value<'d>>,
    /// What has to be known first.
    needed: Vec<Variant>,
}

impl<'d> Losses<'d> {
    /// What is lost where these parts are wrong; `None` if the document as a whole is wrong.
    pub(super) fn of(document: &'d Document, parts: &[WrongPart]) -> Option<Self> {
        let mut losses =
            Self { document, wrong: HashMap::new(), readers: HashMap::new(), of: HashMap::new() };
        for part in parts {
            losses.note(part);
        }
        if losses.wrong.get(&None).is_some_and(|wrong| wrong.is_whole) {
            return None;
        }
        losses.find();
        Some(losses)
    }

    pub(super) fn body(&self, group: Option<&str>) -> Option<Body<'d>> {
        let Some(name) = group else {
            let Document { inputs, outputs, nodes, .. } = self.document;
            return Some(Body { inputs, outputs, nodes });
        };
        let group = self.document.groups.get(name)?;
        Some(Body { inputs: &group.inputs, outputs: &group.outputs, nodes: &group.nodes })
    }

    fn note(&mut self, part: &WrongPart) {
        let Some(body) = self.body(part.group.as_deref()) else { return };
        let wrong = self.wrong.entry(part.group.clone()).or_default();
        match &part.part {
            PartName::Whole => wrong.is_whole = true,
            PartName::Input(name) => {
                wrong.inputs.extend(body.inputs.get_key_value(name).map(|(name, _)| &**name));
            }
            PartName::Output(name) => {
                wrong.outputs.extend(body.outputs.get_key_value(name).map(|(name, _)| &**name));
            }
            PartName::Node(name) => {
                wrong.nodes.extend(body.nodes.get_key_value(name).map(|(name, _)| &**name));
            }
            PartName::Socket(node, socket) => {
                let Some((name, node)) = body.nodes.get_key_value(node) else { return };
                let inner = node.kind.group().and_then(|group| self.document.groups.get(group));
                let known = inner.and_then(|group| group.inputs.get_key_value(socket));
                match known.filter(|_| takes_apart(node)) {
                    Some((socket, _)) => wrong.sockets.push((name, socket)),
                    None => wrong.nodes.push(name),
                }
            }
        }
    }

    /// Looks at all variants, from the document inwards.
    fn find(&mut self) {
        let mut stack = vec![Variant { group: None, without: BTreeSet::new() }];
        let mut open: HashSet<Variant> = HashSet::new();
        while let Some(variant) = stack.last().cloned() {
            if self.of.contains_key(&variant) {
                stack.pop();
                continue;
            }
            let Some(body) = self.body(variant.group.as_deref()) else {
                stack.pop();
                continue;
            };
            if !self.readers.contains_key(&variant.group) {
                self.readers.insert(variant.group.clone(), Readers::of(body));
            }
            let (lost, needed) = self.look(&variant, body);
            if needed.is_empty() {
                open.remove(&variant);
                self.of.insert(variant, lost);
                stack.pop();
                continue;
            }
            open.insert(variant);
            for inner in needed {
                // A group inside itself, which is wrong at another place too.
                if open.contains(&inner) {
                    let lost = self.body(inner.group.as_deref()).map(all_of).unwrap_or_default();
                    self.of.insert(inner, lost);
                } else {
                    stack.push(inner);
                }
            }
        }
    }

    fn look(&self, variant: &Variant, body: Body<'d>) -> (Lost<'d>, Vec<Variant>) {
        let nothing = Wrong::default();
        let wrong = self.wrong.get(&variant.group).unwrap_or(&nothing);
        if wrong.is_whole {
            return (all_of(body), Vec::new());
        }
        let mut look = Look {
            losses: self,
            body,
            lost: Lost::default(),
            given: HashSet::new(),
            values: Vec::new(),
            needed: Vec::new(),
        };
        let inputs = body.inputs.keys().filter(|name| variant.without.contains(*name));
        for name in inputs.map(|name| &**name).chain(wrong.inputs.iter().copied()) {
            look.lost.inputs.insert(name);
            look.values.push(Value::Input(name));
        }
        wrong.nodes.iter().copied().for_each(|node| look.lose(node));
        for (name, node) in body.nodes {
            if let NodeKind::Group(_) | NodeKind::Repeat(_) = node.kind {
                look.look_inside(name, node);
            }
        }
        wrong.sockets.iter().for_each(|socket| look.lose_socket(*socket));
        let readers = &self.readers[&variant.group];
        while let Some(value) = look.values.pop() {
            match value {
                Value::Input(name) => {
                    let read = readers.of_inputs.get(name).into_iter().flatten();
                    read.for_each(|socket| look.lose_socket(*socket));
                }
                Value::Node(name) => {
                    let read = readers.of_nodes.get(name).into_iter().flatten();
                    read.for_each(|(socket, _)| look.lose_socket(*socket));
                }
                Value::Output(name, output) => {
                    let read = readers.of_nodes.get(name).into_iter().flatten();
                    let read = read.filter(|(_, read)| *read == output);
                    read.for_each(|(socket, _)| look.lose_socket(*socket));
                }
            }
        }
        let Look { mut lost, given, needed, .. } = look;
        let is_lost = |def: &OutputDef| match &def.from {
            OutputFrom::Input(name) => lost.inputs.contains(&**name),
            OutputFrom::Link(link) => {
                lost.nodes.contains(&*link.node) || given.contains(&(&*link.node, &*link.output))
            }
        };
        let outputs = body.outputs.iter().filter(|(_, def)| is_lost(def));
        let outputs: Vec<&str> = outputs.map(|(name, _)| &**name).collect();
        lost.outputs = outputs.into_iter().chain(wrong.outputs.iter().copied()).collect();
        (lost, needed)
    }
}

impl<'d> Look<'d, '_> {
    fn lose(&mut self, node: &'d str) {
        if self.lost.nodes.insert(node) {
            self.values.push(Value::Node(node));
        }
    }

    fn lose_socket(&mut self, (name, socket): Socket<'d>) {
        if self.lost.nodes.contains(name) {
            return;
        }
        let body = self.body;
        let node = &body.nodes[name];
        if !takes_apart(node) {
            return self.lose(name);
        }
        if self.lost.uses.entry(name).or_default().insert(socket.into()) {
            self.look_inside(name, node);
        }
    }

    /// What a node that uses a group gives.
    fn look_inside(&mut self, name: &'d str, node: &'d Node) {
        let Some(group) = node.kind.group() else { return };
        let Some(body) = self.losses.body(Some(group)) else { return self.lose(name) };
        let wrong = self.losses.wrong.get(&Some(Arc::clone(group)));
        if wrong.is_some_and(|wrong| wrong.is_whole) {
            return self.lose(name);
        }
        if passes_on(node) {
            if wrong.is_some_and(|wrong| !wrong.inputs.is_empty()) {
                self.lose(name);
            }
            return;
        }
        let without = self.lost.uses.entry(name).or_default().clone();
        let variant = Variant { group: Some(Arc::clone(group)), without };
        let Some(inside) = self.losses.of.get(&variant) else {
            self.needed.push(variant);
            return;
        };
        if let NodeKind::Repeat(_) = node.kind {
            // What it gives goes round together.
            if !inside.outputs.is_empty() || !inside.inputs.is_empty() {
                self.lose(name);
            }
            return;
        }
        for output in body.outputs.keys().filter(|output| inside.outputs.contains(&***output)) {
            if self.given.insert((name, output)) {
                self.values.push(Value::Output(name, output));
            }
        }
    }
}

impl<'d> Readers<'d> {
    fn of(body: Body<'d>) -> Self {
        let mut readers = Self::default();
        for (name, node) in body.nodes {
            for (socket, input) in node.inputs.iter() {
                let reader = (&**name, &**socket);
                for source in input.sources() {
                    match &source.value {
                        InputValue::Link(link) => {
                            let of = readers.of_nodes.entry(&link.node).or_default();
                            of.push((reader, &link.output));
                        }
                        InputValue::Input(input) => {
                            readers.of_inputs.entry(input).or_default().push(reader);
                        }
                        InputValue::Literal(_) | InputValue::Several(_) => {}
                    }
                }
            }
        }
        readers
    }
}

/// Whether a node may be there without something that goes into it.
pub(super) fn takes_apart(node: &Node) -> bool {
    matches!(node.kind, NodeKind::Group(_)) && !node.muted
}

/// Whether a node passes its inputs on, whatever is in its group.
pub(super) fn passes_on(node: &Node) -> bool {
    matches!(node.kind, NodeKind::Group(_)) && node.muted
}

fn all_of(body: Body<'_>) -> Lost<'_> {
    Lost {
        inputs: HashSet::new(),
        outputs: body.outputs.keys().map(|name| &**name).collect(),
        nodes: body.nodes.keys().map(|name| &**name).collect(),
        uses: HashMap::new(),
    }
}
