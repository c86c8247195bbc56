//! Equal selectors.
//!
//! Two selectors are equal if the same source gives them, or nodes that agree in what they compute
//! and in their sources, all the way up. Switches with equal selectors break a cycle together.
//!
//! A node that passes on a value stands for its source (see `relays`).
//!
//! Nodes that agree have the same number. It stands for a text in a normal form: inputs in order of
//! the sockets, with defaults filled in; numbers of one form where their type does not depend on
//! it; formulas without names of inputs; sources and groups by their numbers.

use std::fmt::Write;
use std::sync::Arc;

use millstream_base::{Type, Value, literal};
use millstream_node::signature::{Among, Default, Signature, Socket, SocketType};
use millstream_node::{Class, Zone};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value as Json;

use super::{BodyParts, Firsts, Grain, MAX_NESTED, read_settings};
use crate::model::{GroupDef, Input, InputDef, InputValue, Link, Named, Node, NodeKind};
use crate::order::last_places;
use crate::references::{Reference, reference_of, references};

/// The numbers of equal nodes and groups.
#[derive(Default)]
pub(super) struct Alike {
    by_text: FxHashMap<String, u32>,
    groups: FxHashMap<Arc<str>, Option<u32>>,
}

impl Alike {
    fn number(&mut self, text: String) -> u32 {
        let next = self.by_text.len() as u32;
        *self.by_text.entry(text).or_insert(next)
    }

    /// A number that nothing else has.
    fn new_number(&mut self) -> u32 {
        self.number(format!("\0alone{}", self.by_text.len()))
    }
}

/// The nodes of a body whose numbers are known.
#[derive(Default)]
struct Within<'b> {
    numbers: FxHashMap<&'b str, u32>,
    /// The inputs of a group, which count by position.
    inputs: Option<&'b Named<InputDef>>,
}

impl Grain<'_> {
    /// For each node that these members read, directly or through others, the first node in `order`
    /// that is equal to it, or the source that it passes on. Members, and nodes that keep state,
    /// equal only themselves. Cost: linear in the nodes that are read and in the groups that they
    /// use.
    pub(crate) fn firsts(
        &mut self,
        body: BodyParts<'_>,
        members: &FxHashSet<u32>,
        order: &[u32],
    ) -> Firsts {
        let nodes = body.nodes;
        let mut is_read: FxHashSet<u32> = FxHashSet::default();
        let mut stack: Vec<u32> = members.iter().copied().collect();
        while let Some(at) = stack.pop() {
            let Some((_, node)) = nodes.get_index(at as usize) else { continue };
            for reference in node.inputs.iter().flat_map(|(_, input)| references(input)) {
                if let Reference::Link(link) = reference
                    && let Some(source) = nodes.get_index_of(&link.node)
                    && !members.contains(&(source as u32))
                    && is_read.insert(source as u32)
                {
                    stack.push(source as u32);
                }
            }
        }
        let mut firsts = Firsts::default();
        let mut within = Within::default();
        let mut known: FxHashMap<u32, &Arc<str>> = FxHashMap::default();
        for at in last_places(order, nodes.len()).iter().filter(|at| is_read.contains(at)) {
            let (name, node) = nodes.get_index(*at as usize).expect("the order is of nodes");
            let mut node = node.clone();
            firsts.lead(&mut node);
            let is_type = matches!(node.kind, NodeKind::Type(_));
            let (mut passes, mut not) = (false, None);
            for (output, source, n) in self.relays(&node, body) {
                let link = Link { node: Arc::clone(name), output };
                let (source, is_negated) = firsts.negated(source, n);
                if !is_negated {
                    passes = is_type;
                    firsts.passed.insert(link, source);
                    continue;
                }
                if is_type {
                    let mut text = "\0not".to_owned();
                    let is_written = write_source(&source, &within, &mut text);
                    not = Some(is_written.map(|()| text));
                }
                firsts.negated.insert(link, source);
            }
            if passes {
                continue;
            }
            let text = not.unwrap_or_else(|| self.text_of(&node, &within, 0));
            let number = match text {
                Some(text) => self.alike.number(text),
                None => self.alike.new_number(),
            };
            within.numbers.insert(name, number);
            let first = *known.entry(number).or_insert(name);
            firsts.nodes.insert(Arc::clone(name), Arc::clone(first));
        }
        firsts
    }

    /// A text that equal nodes share; `None` for nodes that equal only themselves.
    fn text_of(&mut self, node: &Node, within: &Within<'_>, depth: usize) -> Option<String> {
        if node.muted {
            return None;
        }
        let document = self.document;
        match &node.kind {
            NodeKind::Type(name) => self.text_of_call(name, node, within),
            NodeKind::Group(name) => {
                let number = self.group_number(name, depth)?;
                let mut text = format!("\0group{number}");
                for (name, input) in &document.groups.get(name)?.inputs {
                    let ty = self.registry.type_named(&input.ty);
                    let write = |json: &Json| canonical(json, ty);
                    let default = input.default.as_ref().map(&write);
                    write_input(node.inputs.get(name), within, &write, default, &mut text)?;
                }
                Some(text)
            }
            NodeKind::Zone(Zone::Simulate, _) => None,
            NodeKind::Zone(_, name) | NodeKind::Closure(name) => {
                let number = self.group_number(name, depth)?;
                let mut text = format!("\0{:?}{number}", node.kind.renamed("".into()));
                write_settings(node, &mut text);
                let mut inputs: Vec<_> = node.inputs.iter().collect();
                inputs.sort_by_key(|(name, _)| *name);
                for (name, input) in inputs {
                    let _ = write!(text, "\0{name}");
                    write_input(Some(input), within, &Json::clone, None, &mut text)?;
                }
                Some(text)
            }
        }
    }

    fn text_of_call(&self, name: &str, node: &Node, within: &Within<'_>) -> Option<String> {
        let def = self.registry.get(name)?;
        if def.class == Class::Stateful || def.state.is_some() || def.delayed.is_some() {
            return None;
        }
        let (settings, signature) = read_settings(self.registry, def, node)?;
        let mut text = format!("{name}@{}", node.version);
        match def.formula_in(&settings) {
            Some(formula) => text.push_str(&formula.structure),
            None => {
                for (name, value) in settings.iter() {
                    // Writing to a string does not fail.
                    let _ = write!(text, "\0{name}={}", value.to_json());
                }
            }
        }
        for socket in &signature.inputs {
            let write = |json: &Json| canonical_for(json, &signature, socket);
            let default = default_of(&signature, socket);
            write_input(node.inputs.get(&socket.name), within, &write, default, &mut text)?;
        }
        Some(text)
    }

    /// The number of a group; `None` if it keeps state.
    fn group_number(&mut self, name: &Arc<str>, depth: usize) -> Option<u32> {
        if let Some(known) = self.alike.groups.get(name) {
            return *known;
        }
        self.alike.groups.insert(Arc::clone(name), None);
        let document = self.document;
        let group = document.groups.get(name).filter(|_| depth < MAX_NESTED)?;
        if self.stateful_groups().contains(name) {
            return None;
        }
        let text = self.text_of_group(group, depth).unwrap_or_else(|| format!("\0group {name}"));
        let number = Some(self.alike.number(text));
        self.alike.groups.insert(Arc::clone(name), number);
        number
    }

    /// A text that equal groups share; `None` for groups that equal only themselves.
    fn text_of_group(&mut self, group: &GroupDef, depth: usize) -> Option<String> {
        let found = self.plain_order(&group.nodes);
        if !found.cycles.is_empty() {
            return None;
        }
        let mut within = Within { inputs: Some(&group.inputs), ..Within::default() };
        for at in last_places(&found.order, group.nodes.len()) {
            let (name, node) = group.nodes.get_index(at as usize)?;
            let text = self.text_of(node, &within, depth + 1)?;
            within.numbers.insert(name, self.alike.number(text));
        }
        let mut text = format!("\0group {}", group.is_of_format_1);
        for input in group.inputs.values() {
            let _ = write!(text, "\0{}", input.ty);
        }
        for (name, output) in &group.outputs {
            let _ = write!(text, "\0\0{name} {}", output.ty);
            write_reference(reference_of(output), &within, &mut text)?;
        }
        Some(text)
    }
}

/// Writes the sources of a socket: its default, if it has none.
fn write_input(
    input: Option<&Input>,
    within: &Within<'_>,
    write: &impl Fn(&Json) -> Json,
    default: Option<Json>,
    text: &mut String,
) -> Option<()> {
    text.push_str("\0\0");
    let Some(input) = input else {
        let _ = match default {
            Some(json) => write!(text, "\0={json}"),
            None => write!(text, "\0?"),
        };
        return Some(());
    };
    for source in input.sources() {
        match &source.value {
            InputValue::Literal(json) => {
                let _ = write!(text, "\0={}", write(json));
            }
            source => write_source(source, within, text)?,
        }
    }
    Some(())
}

/// Writes a source that is no literal.
fn write_source(source: &InputValue, within: &Within<'_>, text: &mut String) -> Option<()> {
    match source {
        InputValue::Input(name) => write_reference(Reference::Input(name), within, text),
        InputValue::Link(link) => write_reference(Reference::Link(link), within, text),
        InputValue::Literal(_) | InputValue::Several(_) => None,
    }
}

/// Writes a reference; `None` if its source is not known yet, because it lies on a cycle.
fn write_reference(reference: Reference<'_>, within: &Within<'_>, text: &mut String) -> Option<()> {
    // Writing to a string does not fail.
    let _ = match (reference, within.inputs) {
        (Reference::Input(name), None) => write!(text, "\0<{name}"),
        (Reference::Input(name), Some(inputs)) => {
            write!(text, "\0<{}", inputs.get_index_of(name)?)
        }
        (Reference::Link(link), _) => {
            write!(text, "\0>{}.{}", within.numbers.get(&*link.node)?, link.output)
        }
    };
    Some(())
}

fn write_settings(node: &Node, text: &mut String) {
    let mut settings: Vec<_> = node.set.iter().collect();
    settings.sort_by_key(|(name, _)| *name);
    for (name, setting) in settings {
        let _ = write!(text, "\0{name}={}", setting.json);
    }
}

/// A literal of a known type in its only form.
fn canonical(json: &Json, ty: Option<Type>) -> Json {
    let lanes = ty.filter(|ty| ty.lanes().is_some());
    let value = lanes.and_then(|ty| literal::from_json(ty, json).ok());
    value.map_or_else(|| with_floats(json), |value| literal::to_json(&value))
}

/// A literal with its numbers as floats, as far as these are exact.
fn with_floats(json: &Json) -> Json {
    match json {
        Json::Number(number) => match number.as_f64() {
            Some(x) if x.abs() <= 2_f64.powi(53) => Json::from(x),
            Some(_) | None => json.clone(),
        },
        Json::Array(items) => items.iter().map(with_floats).collect(),
        Json::Null | Json::Bool(_) | Json::String(_) | Json::Object(_) => json.clone(),
    }
}

/// A literal for a socket, in a form that determines its value.
fn canonical_for(json: &Json, signature: &Signature, socket: &Socket) -> Json {
    match socket.ty {
        SocketType::Exact(ty) => canonical(json, Some(ty)),
        // `1.0` takes another type than `1` beside integers.
        SocketType::Generic(g) | SocketType::ListOf(g)
            if signature.generics[usize::from(g)].among == Among::Own =>
        {
            json.clone()
        }
        SocketType::Generic(_) | SocketType::ListOf(_) | SocketType::Made => with_floats(json),
    }
}

/// The default of a socket as a literal.
fn default_of(signature: &Signature, socket: &Socket) -> Option<Json> {
    let of_value = |value: &Value| {
        literal::is_writable(value)
            .then(|| canonical_for(&literal::to_json(value), signature, socket))
    };
    match (&socket.default, socket.ty) {
        (Default::Required, _) => None,
        (default, SocketType::Exact(ty)) => of_value(&default.value(ty)?),
        (Default::Value(value), _) => of_value(value),
        (Default::Zero, SocketType::ListOf(_)) => Some(Json::Array(Vec::new())),
        (Default::Zero, _) => Some(canonical_for(&Json::from(0), signature, socket)),
        (Default::Number(x), _) => Some(canonical_for(&Json::from(*x), signature, socket)),
    }
}
