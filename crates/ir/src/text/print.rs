//! Prints graphs.

use std::fmt::{self, Write as _};

use millstream_base::id::{Id, SideTable};
use millstream_base::{Value, literal};
use millstream_node::Instance;
use millstream_node::signature::InputFact;
use millstream_node::zone::Mode;
use rustc_hash::FxHashSet;
use serde_json::Value as Json;

use super::cursor::is_plain;
use crate::graph::{Graph, GraphInput, InputId, NodeId, Op, Source};
use crate::{ZoneBody, walk};

/// The text of a graph, without the paths of its nodes.
pub fn print(graph: &Graph) -> String {
    with_groups(graph, print_lines)
}

/// The text of a graph without paths and without the groups of its zones, which it only names.
pub fn print_lines(graph: &Graph) -> String {
    Printer::new(graph).print(|_, _| Ok(()))
}

/// The text of a graph, each node with its path.
pub fn print_with_paths(graph: &Graph) -> String {
    with_groups(graph, |graph| {
        Printer::new(graph).print(|out, id| {
            // Conversions for outputs have the path of the document, which is empty.
            let path = graph.paths.get(graph.node(id).path);
            if path.as_str().is_empty() {
                return Ok(());
            }
            // A path stays on one line, whatever characters its names have.
            let path: String = path.as_str().chars().map(without_break).collect();
            write!(out, "  # {path}")
        })
    })
}

/// The text of a graph, followed by the groups of its zones in dependency order.
fn with_groups(graph: &Graph, lines: impl Fn(&Graph) -> String) -> String {
    let mut out = lines(graph);
    for (label, body) in groups_of(graph).into_iter().rev() {
        write_group(&mut out, label, body).expect("writing to a string does not fail");
        out.push_str(&lines(&body.graph));
    }
    out
}

fn write_group(out: &mut String, label: &str, body: &ZoneBody) -> fmt::Result {
    write!(out, "\ngroup {}", Json::from(label))?;
    if let Mode::Rounds { count, .. } = body.course.mode {
        write!(out, " count {count}")?;
    }
    out.push_str(" carries [");
    for (i, input) in body.course.carries.iter().enumerate() {
        out.push_str(if i > 0 { " " } else { "" });
        match input {
            Some(input) => write!(out, "{input}")?,
            None => out.push('-'),
        }
    }
    out.write_str("]\n")
}

/// The groups of a graph's zones, including nested ones, each once and after those that it uses.
fn groups_of(graph: &Graph) -> Vec<(&str, &ZoneBody)> {
    fn used(graph: &Graph) -> impl Iterator<Item = (&str, &ZoneBody)> {
        let instances = graph.ids().filter_map(|id| graph.instance_of(id));
        instances.filter_map(|used| Some((used.settings.text("body"), ZoneBody::of(used)?)))
    }
    let mut found = Vec::new();
    let mut met = FxHashSet::default();
    let mut open = vec![(None, used(graph))];
    while let Some((of, rest)) = open.last_mut() {
        match rest.next() {
            Some((label, body)) if met.insert(label) => {
                open.push((Some((label, body)), used(&body.graph)));
            }
            Some(_) => {}
            None => {
                found.extend(*of);
                open.pop();
            }
        }
    }
    found
}

fn without_break(c: char) -> char {
    if c.is_control() { '?' } else { c }
}

struct Printer<'a> {
    graph: &'a Graph,
    out: String,
    /// Inputs without a node are printed where the order of inputs requires.
    has_node: SideTable<InputId, bool>,
    next_input: usize,
    /// On a cycle the reader cannot resolve all types.
    states_all_types: bool,
}

impl<'a> Printer<'a> {
    fn new(graph: &'a Graph) -> Self {
        let mut has_node = SideTable::for_arena(graph.inputs(), false);
        for id in graph.ids() {
            if let Op::Input(input) = graph.op(id) {
                has_node[input] = true;
            }
        }
        let states_all_types = walk::order(graph).is_err();
        Self { graph, out: String::new(), has_node, next_input: 0, states_all_types }
    }

    fn print(mut self, behind: impl Fn(&mut String, NodeId) -> fmt::Result) -> String {
        let graph = self.graph;
        for id in graph.ids() {
            if let Op::Input(input) = graph.op(id) {
                self.unread_inputs(input.index());
            }
            self.node(id)
                .and_then(|()| behind(&mut self.out, id))
                .expect("writing to a string does not fail");
            self.out.push('\n');
        }
        self.unread_inputs(graph.inputs().len());
        for i in 0..graph.outputs.len() {
            self.output(i).expect("writing to a string does not fail");
        }
        self.out
    }

    /// Prints the inputs without a node before the one at position `end`.
    fn unread_inputs(&mut self, end: usize) {
        for i in self.next_input..end {
            let id = InputId::from_index(i);
            if !self.has_node[id] {
                self.input(&self.graph.inputs()[id]).expect("writing to a string does not fail");
                self.out.push('\n');
            }
        }
        self.next_input = self.next_input.max(end);
    }

    fn node(&mut self, id: NodeId) -> fmt::Result {
        write!(self.out, "{id} = ")?;
        match self.graph.op(id) {
            Op::Gone => Ok(()),
            Op::Const(constant) => self.constant(&self.graph.constants().values()[constant]),
            Op::Input(input) => self.input(&self.graph.inputs()[input]),
            Op::Call(instance) => {
                self.call(id, &self.graph.instances()[instance])?;
                if let Some(region) = self.graph.region_of(id) {
                    write!(self.out, " {region}")?;
                }
                match self.graph.loop_of(id) {
                    Some(mark) => write!(self.out, " {mark}"),
                    None => Ok(()),
                }
            }
        }
    }

    fn input(&mut self, input: &GraphInput) -> fmt::Result {
        self.out.write_str("input ")?;
        self.name(&input.name)?;
        write!(self.out, ": {}", input.ty)?;
        match &input.default {
            Some(default) => write!(self.out, " = {}", exact(default)),
            None => Ok(()),
        }
    }

    fn constant(&mut self, value: &Value) -> fmt::Result {
        match value {
            Value::Bool(_) | Value::I32(_) | Value::String(_) => write!(self.out, "const {value}"),
            Value::F32(x) if x.is_finite() => write!(self.out, "const {value}"),
            _ => write!(self.out, "const {} {}", value.ty(), exact(value)),
        }
    }

    fn call(&mut self, id: NodeId, instance: &Instance) -> fmt::Result {
        let links = self.graph.inputs_of(id);
        self.out.write_str(instance.name())?;
        if !instance.generics.is_empty()
            && (self.states_all_types || !self.are_types_clear(links, instance))
        {
            let types: Vec<&str> = instance.generics.iter().map(|ty| ty.name()).collect();
            write!(self.out, "<{}>", types.join(", "))?;
        }
        self.settings(instance)?;
        let signature = instance.def.signature(&instance.settings);
        let Ok(signature) = signature.as_ref().map(std::borrow::Cow::as_ref) else {
            return links.iter().try_for_each(|link| self.argument(*link));
        };
        let mut slots = instance.inputs.iter().zip(links).peekable();
        for (i, socket) in signature.inputs.iter().enumerate() {
            if socket.multiple {
                self.out.write_str(" [")?;
            }
            let mut is_first = true;
            while let Some((_, link)) = slots.next_if(|(slot, _)| slot.socket as usize == i) {
                if !(socket.multiple && is_first) {
                    self.out.write_char(' ')?;
                }
                is_first = false;
                self.source(*link)?;
            }
            if socket.multiple {
                self.out.write_char(']')?;
            }
        }
        Ok(())
    }

    /// Whether a reader can infer the types of the generics from the linked types.
    fn are_types_clear(&self, links: &[Source], instance: &Instance) -> bool {
        let Ok(signature) = instance.def.signature(&instance.settings) else { return false };
        let mut facts = Vec::with_capacity(links.len());
        for (slot, link) in instance.inputs.iter().zip(links) {
            let Some(ty) = self.graph.type_of(*link) else { return false };
            facts.push((slot.socket as usize, InputFact::Linked(ty)));
        }
        signature.resolve(&facts).is_ok_and(|types| types == instance.generics)
    }

    fn settings(&mut self, instance: &Instance) -> fmt::Result {
        let mut is_first = true;
        for (name, value) in instance.settings.iter() {
            let setting = instance.def.settings.iter().find(|setting| setting.name == name);
            let default = setting.and_then(|setting| setting.default.as_ref());
            // As text, which distinguishes the signs of zeros.
            let default = default.map(|default| default.to_json().to_string());
            let json = value.to_json().to_string();
            if default.is_some_and(|default| default == json) {
                continue;
            }
            self.out.write_str(if is_first { "{" } else { ", " })?;
            is_first = false;
            write!(self.out, "{}: {json}", Json::from(name))?;
        }
        if is_first { Ok(()) } else { self.out.write_char('}') }
    }

    fn argument(&mut self, link: Source) -> fmt::Result {
        self.out.write_char(' ')?;
        self.source(link)
    }

    fn source(&mut self, link: Source) -> fmt::Result {
        write!(self.out, "{}", link.node)?;
        let is_there = link.node.index() < self.graph.n_ids();
        let instance = is_there.then(|| self.graph.instance_of(link.node)).flatten();
        let names = instance.map_or(&[][..], |instance| &instance.output_names);
        match names.get(link.output as usize) {
            Some(_) if names.len() == 1 => Ok(()),
            Some(name) => {
                self.out.write_char('.')?;
                let name = std::sync::Arc::clone(name);
                self.output_name(&name)
            }
            None if link.output == 0 && names.is_empty() => Ok(()),
            // Not readable: the verifier reports the error.
            None => write!(self.out, ".{}?", link.output),
        }
    }

    fn output(&mut self, i: usize) -> fmt::Result {
        let output = &self.graph.outputs[i];
        let is_clear = self.graph.type_of(output.source) == Some(output.ty);
        self.out.write_str("output")?;
        if self.graph.outputs.len() > 1 || &*output.name != "value" || !is_clear {
            self.out.write_char(' ')?;
            self.name(&output.name)?;
        }
        if !is_clear {
            write!(self.out, ": {}", output.ty)?;
        }
        self.argument(output.source)?;
        self.out.write_char('\n')
    }

    fn name(&mut self, name: &str) -> fmt::Result {
        if is_plain(name) {
            self.out.write_str(name)
        } else {
            write!(self.out, "{}", Json::from(name))
        }
    }

    /// Names of outputs may look like ids, since they follow a dot.
    fn output_name(&mut self, name: &str) -> fmt::Result {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !name.is_empty() && name.chars().all(is_word) {
            self.out.write_str(name)
        } else {
            write!(self.out, "{}", Json::from(name))
        }
    }
}

/// The text of a value, including the types of table columns.
fn exact(value: &Value) -> String {
    match value {
        Value::Opaque(_) if literal::is_writable(value) => literal::to_json(value).to_string(),
        _ => value.to_string(),
    }
}
