//! The border of a group that replaces a node: the types that it declares.
//!
//! An input of the group converts its source to the declared type, and a literal there has that
//! type; an output converts its value. Where dissolving the group would change that, a node of the
//! compiler's type `convert` takes over.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use millstream_base::Type;
use millstream_node::Zone;
use millstream_node::{convert::CONVERT, convert::convertible};
use millstream_node::{signature::InputFact, signature::SocketType};

use super::editor::{Done, Editor, Refusal};
use super::index::BodyKey;
use super::types::Known;
use super::ungroup::Inlining;
use super::{Name, NewNode};
use crate::free_name::free_name;
use crate::model::{GroupDef, Input, InputValue, Link, Node, NodeKind, Setting};
use crate::references::{Reference, reference_of};

/// A part of the border whose type a node declares.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Side {
    /// An input of the group.
    In(Name),
    /// An output of the group.
    Out(Name),
}

/// The source of an input of a group.
pub(super) struct Argument {
    value: InputValue,
    /// The type declared by the border if it matters: the type of a literal, or the type to which a
    /// value of another type is converted.
    stated: Option<Type>,
}

impl Editor {
    /// The sources of the inputs of a group.
    pub(super) fn arguments(
        &self,
        body: BodyKey,
        node: &Node,
        def: &GroupDef,
    ) -> HashMap<Name, Argument> {
        let mut known = Known::default();
        let mut arguments = HashMap::with_capacity(def.inputs.len());
        for (name, input) in &def.inputs {
            let given = node.inputs.get(name).map(|input| match &input.value {
                InputValue::Several(sources) => sources.first().map(|source| source.value.clone()),
                value => Some(value.clone()),
            });
            let default = || input.default.clone().map(|json| InputValue::Literal(json.into()));
            let Some(value) = given.unwrap_or_else(default) else { continue };
            let to = self.registry.type_named(&input.ty);
            let from = match &value {
                InputValue::Literal(_) | InputValue::Several(_) => None,
                InputValue::Link(link) => self.type_among(body, Reference::Link(link), &mut known),
                InputValue::Input(name) => self.type_of(body, Reference::Input(name)),
            };
            let stated = match value {
                InputValue::Literal(_) => to,
                InputValue::Link(_) | InputValue::Input(_) | InputValue::Several(_) => {
                    crossing(from, to)
                }
            };
            arguments.insert(Arc::clone(name), Argument { value, stated });
        }
        arguments
    }

    /// The types to which the outputs of a group convert.
    pub(super) fn results(&self, group: BodyKey, def: &GroupDef) -> HashMap<Name, Type> {
        let mut known = Known::default();
        let outputs = def.outputs.iter().filter_map(|(name, output)| {
            let from = self.type_among(group, reference_of(output), &mut known);
            let to = crossing(from, self.registry.type_named(&output.ty))?;
            Some((Arc::clone(name), to))
        });
        outputs.collect()
    }

    /// The sockets of a group's nodes at which literal arguments have the same meaning as at the
    /// border.
    pub(super) fn fitting(
        &self,
        group: BodyKey,
        def: &GroupDef,
        arguments: &HashMap<Name, Argument>,
    ) -> HashSet<(Name, Name)> {
        let mut fitting = HashSet::new();
        if !arguments.values().any(|it| matches!(it.value, InputValue::Literal(_))) {
            return fitting;
        }
        let mut known = Known::default();
        for (name, node) in &def.nodes {
            let sockets = match &node.kind {
                NodeKind::Group(inner) | NodeKind::Zone(_, inner) | NodeKind::Closure(inner) => {
                    self.fitting_inputs(inner, node, arguments)
                }
                NodeKind::Type(_) => self.fitting_sockets(group, node, arguments, &mut known),
            };
            fitting.extend(sockets.into_iter().map(|socket| (Arc::clone(name), socket)));
        }
        fitting
    }

    /// Like [`Self::fitting`], for one node that uses a group.
    fn fitting_inputs(
        &self,
        inner: &str,
        node: &Node,
        arguments: &HashMap<Name, Argument>,
    ) -> Vec<Name> {
        let Some(inner) = self.document.groups.get(inner) else { return Vec::new() };
        let fits = |socket: &Name, input: &Input| {
            let stated = literal(input, arguments)?.1?;
            let def = inner.inputs.get(socket)?;
            let ty = self.registry.type_named(&def.ty)?;
            let ty = if takes_items(node, socket) { ty.list()? } else { ty };
            (ty == stated).then_some(())
        };
        let inputs = node.inputs.iter();
        let fitting = inputs.filter(|(socket, input)| fits(socket, input).is_some());
        fitting.map(|(socket, _)| Arc::clone(socket)).collect()
    }

    /// Like [`Self::fitting`], for one node of a type: no literal may change the types of generics.
    fn fitting_sockets(
        &self,
        group: BodyKey,
        node: &Node,
        arguments: &HashMap<Name, Argument>,
        known: &mut Known,
    ) -> Vec<Name> {
        let Some(signature) = self.signature(node) else { return Vec::new() };
        let mut before: Vec<(usize, InputFact<'_>)> = Vec::new();
        // The literals at this node, by position among the facts.
        let mut literals: Vec<(usize, &Name, &serde_json::Value, Type)> = Vec::new();
        for (socket, input) in node.inputs.iter() {
            let Some(i) = signature.input(socket) else { continue };
            for source in input.sources() {
                let of = match &source.value {
                    InputValue::Literal(json) => {
                        before.push((i, InputFact::Literal(json)));
                        continue;
                    }
                    InputValue::Link(link) => Reference::Link(link),
                    InputValue::Input(name) => Reference::Input(name),
                    InputValue::Several(_) => continue,
                };
                let Some(ty) = self.type_among(group, of, known) else { return Vec::new() };
                if let Some((json, _)) = literal(source, arguments) {
                    literals.push((before.len(), socket, json, ty));
                }
                before.push((i, InputFact::Linked(ty)));
            }
        }
        let Ok(generics) = signature.resolve(&before) else { return Vec::new() };
        let misfits = |at: usize, json: &serde_json::Value, ty: Type| {
            let socket = &signature.inputs[before[at].0];
            // For a socket that takes several sources, an empty list means no source.
            let is_lost = socket.multiple && json.as_array().is_some_and(Vec::is_empty);
            is_lost || socket.ty.resolve(&generics).ok() != Some(ty)
        };
        let out: Vec<&Name> = (literals.iter())
            .filter(|(at, _, json, ty)| misfits(*at, json, *ty))
            .map(|(_, socket, ..)| *socket)
            .collect();
        literals.retain(|(_, socket, ..)| !out.contains(socket));
        let mut after = before.clone();
        for (at, _, json, _) in &literals {
            after[*at].1 = InputFact::Literal(json);
        }
        if signature.resolve(&after).ok().as_ref() != Some(&generics) {
            let is_exact = |at: usize| match signature.inputs[before[at].0].ty {
                SocketType::Exact(_) => true,
                SocketType::Generic(_) | SocketType::ListOf(_) | SocketType::Made => false,
            };
            literals.retain(|(at, ..)| is_exact(*at));
        }
        literals.into_iter().map(|(_, socket, ..)| Arc::clone(socket)).collect()
    }

    /// The source of an input of a group, in the notation used outside it.
    pub(super) fn argument(
        &mut self,
        name: &Name,
        fits: bool,
        inlining: &mut Inlining,
        done: &mut Done,
    ) -> Result<Option<InputValue>, Refusal> {
        let Some(argument) = inlining.arguments.get(name) else { return Ok(None) };
        let value = argument.value.clone();
        match argument.stated {
            Some(to) if !(fits && argument.is_literal()) => {
                self.stated(Side::In(Arc::clone(name)), value, to, inlining, done).map(Some)
            }
            Some(_) | None => Ok(Some(value)),
        }
    }

    /// A link to the node that declares the type of a value; the node is added if necessary.
    pub(super) fn stated(
        &mut self,
        side: Side,
        value: InputValue,
        to: Type,
        inlining: &mut Inlining,
        done: &mut Done,
    ) -> Result<InputValue, Refusal> {
        let value_of = |name: &Name| InputValue::Link(Link::new(Arc::clone(name), "value"));
        if let Some(known) = inlining.stating.get(&side) {
            return Ok(value_of(known));
        }
        let (nodes, index) = (self.nodes(inlining.body), self.index(inlining.body));
        let (Side::In(socket) | Side::Out(socket)) = &side;
        let name: Name = free_name(&format!("{}_{socket}", inlining.user), |name| {
            nodes.contains_key(name)
                || index.of_nodes.contains_key(name)
                || inlining.taken.contains(name)
        })
        .into();
        let mut node = Node::new(NodeKind::Type(CONVERT.into()));
        node.set.insert("to", Setting::from(serde_json::Value::from(to.name())));
        node.inputs.insert("x", Input::from(value));
        let mut new = NewNode::new(Arc::clone(&name), node);
        new.before = Some(Arc::clone(&inlining.user));
        self.insert_node(inlining.body, &new, done)?;
        let link = value_of(&name);
        inlining.taken.insert(Arc::clone(&name));
        inlining.stating.insert(side, name);
        Ok(link)
    }
}

impl Argument {
    fn is_literal(&self) -> bool {
        matches!(self.value, InputValue::Literal(_))
    }
}

/// The literal given to an input of the group, with its type there.
fn literal<'a>(
    source: &Input,
    arguments: &'a HashMap<Name, Argument>,
) -> Option<(&'a serde_json::Value, Option<Type>)> {
    let InputValue::Input(name) = &source.value else { return None };
    let argument = arguments.get(name)?;
    match &argument.value {
        InputValue::Literal(json) => Some((json, argument.stated)),
        InputValue::Link(_) | InputValue::Input(_) | InputValue::Several(_) => None,
    }
}

/// The type that results from converting one type to a declared one, if the two differ.
fn crossing(from: Option<Type>, to: Option<Type>) -> Option<Type> {
    let (from, to) = (from?, to?);
    (from != to && convertible(from, to)).then_some(to)
}

/// Whether an input of a node takes a list, whose items its group receives.
fn takes_items(node: &Node, socket: &str) -> bool {
    let is_zone = matches!(node.kind, NodeKind::Zone(Zone::ForEach, _));
    let items = node.set.get("items").and_then(|items| items.json.as_array());
    is_zone && items.is_some_and(|items| items.iter().any(|item| *item == *socket))
}
