//! Writes a graph as a document.
//!
//! The types in a document follow from links, and literals adapt to their sockets. If the type of a
//! node follows from constants alone, one of them passes through a group whose input states the
//! type. Conversions are written as nodes.

use std::sync::Arc;

use millstream_base::{Type, Value};
use millstream_document::{
    Document, Fields, FreeNames, GroupDef, Input, InputDef, InputValue, Link, Named, Node,
    NodeKind, OutputDef, OutputFrom, Setting, free_name, name_problem,
};
use millstream_ir::states::is_state;
use millstream_ir::{Graph, NodeId, Op, Source, ZoneBody};
use millstream_node::repeat::CAPTURE;
use millstream_node::signature::SocketType;
use millstream_node::{Instance, Zone};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{delays, json};

/// The document of a graph with the inputs that are kept, including those that nothing reads any
/// more. Names, descriptions and bounds come from `document`; `defaults` replace the defaults of
/// inputs.
pub(super) fn write(
    document: &Document,
    graph: &Graph,
    is_kept: impl Fn(&str) -> bool,
    defaults: &[(String, Value)],
) -> Document {
    let mut out = Document::new(Arc::clone(&document.name));
    out.schema.clone_from(&document.schema);
    out.fps = document.fps;
    out.start_frame = document.start_frame;
    for input in graph.inputs().as_slice().iter().filter(|input| is_kept(&input.name)) {
        let name = &input.name;
        let mut def = document.inputs.get(name).cloned().unwrap_or_else(|| InputDef {
            default: input.default.as_ref().map(json),
            ..InputDef::new(input.ty.name())
        });
        if let Some((_, value)) = defaults.iter().find(|(known, _)| **known == **name) {
            def.default = Some(json(value));
        }
        out.inputs.insert(Arc::clone(name), def);
    }
    let mut groups = Groups::default();
    let mut written = Writer::write(graph, &mut groups);
    for (name, def) in &mut written.outputs {
        if let Some(known) = document.outputs.get(name) {
            (def.about, def.unit) = (known.about.clone(), known.unit.clone());
        }
    }
    (out.nodes, out.outputs) = (written.nodes, written.outputs.into_iter().collect());
    // The body of a zone may contain zones of other groups.
    while let Some((name, body)) = groups.ahead.pop() {
        let written = Writer::write(&body.graph, &mut groups);
        let inputs = body.graph.inputs().as_slice().iter();
        let inputs = inputs.map(|input| (Arc::clone(&input.name), InputDef::new(input.ty.name())));
        let def = GroupDef {
            inputs: inputs.collect(),
            outputs: written.outputs.into_iter().collect(),
            nodes: written.nodes,
            ..GroupDef::default()
        };
        groups.written.insert(name, def);
    }
    out.groups = groups.written;
    out
}

/// The groups of the document.
#[derive(Default)]
struct Groups<'a> {
    written: Named<GroupDef>,
    /// The names of the bodies of zones, by digest.
    of_bodies: FxHashMap<&'a str, Arc<str>>,
    /// The names of the groups that state a type.
    of_types: FxHashMap<Type, Arc<str>>,
    taken: FxHashSet<Arc<str>>,
    /// The bodies that are not written yet.
    ahead: Vec<(Arc<str>, &'a ZoneBody)>,
}

impl<'a> Groups<'a> {
    /// The name of the group that a zone runs.
    fn of_zone(&mut self, instance: &'a Instance, body: &'a ZoneBody) -> Arc<str> {
        let digest = instance.settings.text("body");
        if let Some(known) = self.of_bodies.get(digest) {
            return Arc::clone(known);
        }
        // Groups of used documents are called `a/b/step`, and those of node types `family.name`.
        let own = body.group.rsplit('/').next().unwrap_or_default().replace('.', "_");
        let name = self.free_name(&own);
        self.of_bodies.insert(digest, Arc::clone(&name));
        self.ahead.push((Arc::clone(&name), body));
        name
    }

    /// The name of a group with an input and an output of a type.
    fn of_type(&mut self, ty: Type) -> Arc<str> {
        if let Some(known) = self.of_types.get(&ty) {
            return Arc::clone(known);
        }
        let name = self.free_name(&format!("as {}", ty.name()));
        let mut inputs = Named::new();
        inputs.insert("x".into(), InputDef::new(ty.name()));
        let mut outputs = Named::new();
        let from = OutputFrom::Input("x".into());
        outputs.insert("value".into(), OutputDef::new(ty.name(), from));
        let def = GroupDef { inputs, outputs, ..GroupDef::default() };
        self.written.insert(Arc::clone(&name), def);
        self.of_types.insert(ty, Arc::clone(&name));
        name
    }

    /// The name, with a number appended if a group has it.
    fn free_name(&mut self, name: &str) -> Arc<str> {
        let free: Arc<str> = free_name(name, |name| self.taken.contains(name)).into();
        self.taken.insert(Arc::clone(&free));
        free
    }
}

/// The nodes and outputs of a document or group.
struct Written {
    nodes: Named<Node>,
    outputs: Vec<(Arc<str>, OutputDef)>,
}

struct Writer<'a, 'g> {
    graph: &'a Graph,
    nodes: Named<Node>,
    groups: &'g mut Groups<'a>,
    names: FxHashMap<NodeId, Arc<str>>,
    taken: FxHashSet<Arc<str>>,
    free: FreeNames,
    /// The source of the delayed socket of each node that has one, by path.
    delayed: FxHashMap<&'a str, Source>,
}

impl<'a, 'g> Writer<'a, 'g> {
    fn write(graph: &'a Graph, groups: &'g mut Groups<'a>) -> Written {
        let outputs = graph.outputs.iter();
        let delayed = outputs.filter_map(|output| Some((delays(&output.name)?, output.source)));
        let mut writer = Self {
            graph,
            nodes: Named::new(),
            groups,
            names: FxHashMap::default(),
            taken: FxHashSet::default(),
            free: FreeNames::default(),
            delayed: delayed.collect(),
        };
        for id in graph.ids() {
            writer.name(id);
        }
        for id in graph.ids() {
            writer.node(id);
        }
        let mut outputs = Vec::new();
        for output in graph.outputs.iter().filter(|output| !is_state(&output.name)) {
            let from = match writer.source(output.source) {
                InputValue::Link(link) => OutputFrom::Link(link),
                InputValue::Input(name) => OutputFrom::Input(name),
                InputValue::Literal(_) | InputValue::Several(_) => {
                    let value = graph.constant_of(output.source.node);
                    let value = value.expect("literals are constants");
                    OutputFrom::Link(
                        writer.stated(value.ty(), InputValue::Literal(json(value).into())),
                    )
                }
            };
            outputs.push((Arc::clone(&output.name), OutputDef::new(output.ty.name(), from)));
        }
        Written { nodes: writer.nodes, outputs }
    }

    /// Names a call after its path. Captures of zones are skipped: compiling makes them again.
    fn name(&mut self, id: NodeId) {
        let Some(instance) = self.graph.instance_of(id) else { return };
        if instance.name() == CAPTURE {
            return;
        }
        let path = self.graph.paths.get(self.graph.node(id).path);
        // The names of nodes that stand for calls in formulas contain a point.
        let path = path.as_str().replace('.', "_");
        let last = path.rsplit('/').next().unwrap_or_default();
        let kind = instance.name().rsplit('.').next().unwrap_or_default();
        let name = if last.is_empty() { kind } else { last };
        let long = path.replace('/', "_");
        let is_free = !self.taken.contains(name) || name_problem(&long).is_some();
        let name = if is_free { name } else { &long };
        let name = self.free_name(name);
        self.names.insert(id, name);
    }

    /// The name, with a number appended if it is taken.
    fn free_name(&mut self, name: &str) -> Arc<str> {
        let free = self.free.find(name, |name| self.taken.contains(name));
        self.taken.insert(Arc::clone(&free));
        free
    }

    fn source(&self, source: Source) -> InputValue {
        match self.graph.op(source.node) {
            Op::Gone => panic!("links lead to nodes that are there"),
            Op::Const(id) => InputValue::Literal(json(&self.graph.constants().values()[id]).into()),
            Op::Input(id) => InputValue::Input(Arc::clone(&self.graph.inputs()[id].name)),
            Op::Call(id) => {
                let output = &self.graph.instances()[id].output_names[source.output as usize];
                InputValue::Link(Link::new(Arc::clone(&self.names[&source.node]), &**output))
            }
        }
    }

    /// A node that passes a value on and states its type.
    fn stated(&mut self, ty: Type, value: InputValue) -> Link {
        let mut node = Node::new(NodeKind::Group(self.groups.of_type(ty)));
        node.inputs.insert("x", value.into());
        let name = self.free_name("constant");
        self.nodes.insert(Arc::clone(&name), node);
        Link::new(name, "value")
    }

    /// A node that runs a group many times.
    fn zone(&mut self, id: NodeId, instance: &'a Instance, body: &'a ZoneBody) {
        let zone = Zone::named(instance.name()).expect("it is a zone");
        let mut node = Node::new(NodeKind::Zone(zone, self.groups.of_zone(instance, body)));
        for setting in zone.settings() {
            let given = instance.settings.iter().find(|(name, _)| *name == setting.name);
            let value =
                given.map(|(_, value)| value).filter(|it| setting.default.as_ref() != Some(it));
            if let Some(value) = value {
                node.set.insert(setting.name, Setting::from(value.to_json()));
            }
        }
        let n_outer = instance.inputs.len() - body.captures.len();
        let signature = instance.def.fixed_signature().expect("a zone has its own node type");
        for (socket, link) in signature.inputs.iter().zip(self.graph.inputs_of(id)).take(n_outer) {
            node.inputs.insert(&*socket.name, self.source(*link).into());
        }
        self.nodes.insert(Arc::clone(&self.names[&id]), node);
    }

    fn node(&mut self, id: NodeId) {
        let graph = self.graph;
        let Some(instance) = graph.instance_of(id) else { return };
        if instance.name() == CAPTURE {
            return;
        }
        if let Some(body) = ZoneBody::of(instance) {
            return self.zone(id, instance, body);
        }
        let signature = instance.def.signature(&instance.settings);
        let signature = signature.expect("there is an instance with these settings").into_owned();
        let mut links = self.graph.inputs_of(id).to_vec();
        let path = self.graph.paths.get(self.graph.node(id).path);
        if let (Some(delayed), Some(name)) = (self.delayed.get(path.as_str()), instance.def.delayed)
        {
            for (link, slot) in links.iter_mut().zip(&instance.inputs) {
                if signature.inputs[slot.socket as usize].name == name {
                    *link = *delayed;
                }
            }
        }
        let generic = |i: usize| match signature.inputs[instance.inputs[i].socket as usize].ty {
            SocketType::Exact(_) | SocketType::Made => None,
            SocketType::Generic(g) | SocketType::ListOf(g) => Some(g),
        };
        // Generics that a link determines.
        let mut decided: Vec<u16> = Vec::new();
        for (i, link) in links.iter().enumerate() {
            if self.graph.constant_of(link.node).is_none() {
                decided.extend(generic(i));
            }
        }
        let mut inputs: Fields<Input> = Fields::new();
        for (i, (link, slot)) in links.iter().zip(&instance.inputs).enumerate() {
            let mut value = self.source(*link);
            if let Some(g) = generic(i)
                && !decided.contains(&g)
            {
                decided.push(g);
                value = InputValue::Link(self.stated(slot.ty, value));
            }
            let socket = &signature.inputs[slot.socket as usize];
            if !socket.multiple {
                inputs.insert(&*socket.name, value.into());
                continue;
            }
            let mut all = match inputs.get(&socket.name).map(|input| &input.value) {
                Some(InputValue::Several(all)) => all.clone(),
                _ => Vec::new(),
            };
            all.push(value.into());
            inputs.insert(&*socket.name, InputValue::Several(all).into());
        }
        let mut node = Node::new(NodeKind::Type(instance.name().into()));
        node.version = instance.def.version;
        node.inputs = inputs;
        let defaults = &instance.def.settings;
        for (name, value) in instance.settings.iter() {
            let is_default =
                defaults.iter().any(|s| s.name == name && s.default.as_ref() == Some(value));
            if !is_default {
                node.set.insert(name, Setting::from(value.to_json()));
            }
        }
        self.nodes.insert(Arc::clone(&self.names[&id]), node);
    }
}
