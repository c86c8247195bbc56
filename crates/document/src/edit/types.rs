//! The sockets and output types of nodes, as far as edits need them.

use std::borrow::Cow;
use std::sync::Arc;

use millstream_base::Type;
use millstream_base::id::Id;
use millstream_node::interface::{CALL, CALLED, Interface, VALUE};
use millstream_node::zone::Sockets;
use millstream_node::{NodeDef, Settings, Signature, Zone};
use millstream_node::{signature::InputFact, signature::SocketType};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Name;
use super::cycles::Looped;
use super::editor::Editor;
use super::index::BodyKey;
use crate::check::check_partly;
use crate::checked::BodyId;
use crate::formula_calls::{calls_others, without_calls};
use crate::model::{Input, InputValue, Link, Node, NodeKind};
use crate::references::Reference;

/// Types of the outputs of nodes, by slot.
pub(super) type Known = FxHashMap<u32, Vec<Option<Type>>>;

impl Editor {
    /// The sockets of a node, if its type is known and its settings are valid.
    pub(super) fn signature(&self, node: &Node) -> Option<Signature> {
        let (def, settings) = self.settings(node)?;
        def.signature(&settings).ok().map(Cow::into_owned)
    }

    /// The node type of a node, with its settings.
    fn settings(&self, node: &Node) -> Option<(&Arc<NodeDef>, Settings)> {
        let NodeKind::Type(ty) = &node.kind else { return None };
        let def = self.registry.get(ty)?;
        let given = node.set.iter().map(|(name, setting)| (&**name, &setting.json));
        let type_named = |name: &str| self.registry.type_named(name);
        Some((def, Settings::read(&def.settings, given, &type_named).ok()?))
    }

    /// The names of a node's inputs, if they are known.
    pub(super) fn inputs_of(&self, node: &Node) -> Option<Vec<Name>> {
        match &node.kind {
            // They are those of the closure.
            NodeKind::Type(_) if is_call(node) => None,
            NodeKind::Type(_) => {
                let signature = self.signature(node)?;
                Some(signature.inputs.iter().map(|socket| Arc::from(&*socket.name)).collect())
            }
            NodeKind::Group(group) | NodeKind::Closure(group) => {
                let group = self.document.groups.get(group)?;
                Some(group.inputs.keys().cloned().collect())
            }
            NodeKind::Zone(zone, group) => {
                let group = self.document.groups.get(group)?;
                let own = zone.inputs_after(|name| group.inputs.contains_key(name));
                let own = own.map(|own| own.name.into());
                Some(group.inputs.keys().cloned().chain(own).collect())
            }
        }
    }

    /// Like [`Self::signature`], also for a formula that calls groups, whose inputs then are others.
    fn signature_for_outputs(&self, node: &Node) -> Option<Signature> {
        let known = self.signature(node);
        known.or_else(|| self.signature(&without_calls(node, &self.registry)?))
    }

    /// The names of a node's outputs, if they are known.
    pub(super) fn outputs_of(&self, node: &Node) -> Option<Vec<Name>> {
        match &node.kind {
            NodeKind::Type(_) if is_call(node) => None,
            NodeKind::Closure(_) => Some(vec![VALUE.into()]),
            NodeKind::Type(_) => {
                let signature = self.signature_for_outputs(node)?;
                Some(signature.outputs.iter().map(|socket| Arc::from(&*socket.name)).collect())
            }
            NodeKind::Group(group) => {
                let group = self.document.groups.get(group)?;
                Some(group.outputs.keys().cloned().collect())
            }
            NodeKind::Zone(zone, group) => {
                let group = self.document.groups.get(group)?;
                let own = zone.outputs_after(|name| group.outputs.contains_key(name));
                let own = own.map(|told| told.name().into());
                Some(group.outputs.keys().cloned().chain(own).collect())
            }
        }
    }

    /// The type of a reference within a body, if it can be determined. Only the nodes that
    /// determine it are visited.
    pub(super) fn type_of(&self, body: BodyKey, reference: Reference<'_>) -> Option<Type> {
        self.type_among(body, reference, &mut Known::default())
    }

    /// Like [`Self::type_of`], for one of many references of a body; `known` holds the results so
    /// far.
    pub(super) fn type_among(
        &self,
        body: BodyKey,
        reference: Reference<'_>,
        known: &mut Known,
    ) -> Option<Type> {
        match reference {
            Reference::Input(name) => {
                let def = self.view(body).inputs.get(name)?;
                self.registry.type_named(&def.ty)
            }
            Reference::Link(link) => {
                let slot = self.nodes(body).slot_of(&link.node)?;
                if !known.contains_key(&slot) {
                    self.learn(body, slot, known);
                }
                self.output_type(body, link, known)
            }
        }
    }

    fn output_type(&self, body: BodyKey, link: &Link, known: &Known) -> Option<Type> {
        let slot = self.nodes(body).slot_of(&link.node)?;
        let (_, node) = self.nodes(body).at(slot)?;
        if is_call(node) {
            let called = Interface::of((*known.get(&slot)?.first()?)?)?;
            let outputs = called.outputs.iter();
            return outputs.clone().find(|(name, _)| *name == link.output).map(|(_, ty)| *ty);
        }
        let position = self.outputs_of(node)?.iter().position(|name| *name == link.output)?;
        *known.get(&slot)?.get(position)?
    }

    /// Determines the types of a node's outputs, and of the nodes that these depend on. Of a call
    /// it is the type of what is called.
    fn learn(&self, body: BodyKey, slot: u32, known: &mut Known) {
        let nodes = self.nodes(body);
        if self.looped.get(&body) == Some(&Looped::Conditionally) {
            known.extend(self.checked_types(body));
            return;
        }
        // A node is visited twice: before the nodes that its types depend on, and after them.
        let mut stack = vec![(slot, false)];
        let mut seen: FxHashSet<u32> = FxHashSet::default();
        while let Some((slot, is_ready)) = stack.pop() {
            let Some((_, node)) = nodes.at(slot) else { continue };
            if let Some(types) = self.declared(node) {
                known.insert(slot, types);
                continue;
            }
            let Some(signature) = self.signature(node) else {
                if calls_others(node, &self.registry) {
                    known.extend(self.checked_types(body));
                    return;
                }
                continue;
            };
            if is_ready {
                let types = match node.inputs.get(CALLED).filter(|_| is_call(node)) {
                    Some(called) => vec![self.type_of_source(body, called, known)],
                    None => self.resolved(body, node, &signature, known),
                };
                known.insert(slot, types);
                continue;
            }
            if !seen.insert(slot) {
                continue;
            }
            stack.push((slot, true));
            for (socket, input) in node.inputs.iter() {
                let decides =
                    signature.input(socket).is_some_and(|i| !is_exact(signature.inputs[i].ty));
                for reference in crate::references::references(input).filter(|_| decides) {
                    if let Reference::Link(link) = reference {
                        let source = nodes.slot_of(&link.node);
                        stack.extend(source.filter(|s| !known.contains_key(s)).map(|s| (s, false)));
                    }
                }
            }
        }
    }

    /// The types of the outputs of all nodes of a body, as checking determines them.
    fn checked_types(&self, body: BodyKey) -> Known {
        let document = match self.without_calls() {
            Some(document) => Cow::Owned(document),
            None => Cow::Borrowed(&self.document),
        };
        let (checked, _) = check_partly(&document, &self.registry, &self.limits);
        let Some(checked) = checked else { return Known::default() };
        let (id, nodes) = match self.group_name(body) {
            Some(name) => {
                let at = document.groups.get_index_of(name).expect("calls remove no groups");
                (BodyId::from_index(at), &document.groups[&**name].nodes)
            }
            None => (checked.root, &document.nodes),
        };
        let types =
            nodes.iter().zip(&checked.bodies[id].nodes).filter_map(|((name, node), found)| {
                let slot = self.nodes(body).slot_of(name)?;
                let n_outputs = self.outputs_of(node).map_or(0, |outputs| outputs.len() as u32);
                let ty = |output| checked.output_type(&found.kind, output);
                Some((slot, (0..n_outputs).map(ty).collect()))
            });
        types.collect()
    }

    /// The types of outputs that do not depend on links.
    fn declared(&self, node: &Node) -> Option<Vec<Option<Type>>> {
        match &node.kind {
            NodeKind::Group(group) => {
                let group = self.document.groups.get(group)?;
                let outputs = group.outputs.values();
                Some(outputs.map(|output| self.registry.type_named(&output.ty)).collect())
            }
            NodeKind::Zone(zone, group) => self.declared_of_zone(*zone, node, group),
            NodeKind::Closure(group) => Some(vec![self.type_of_closure(node, group)]),
            NodeKind::Type(_) if is_call(node) => None,
            NodeKind::Type(_) => {
                let signature = self.signature(node)?;
                let exact = signature.outputs.iter().map(|output| match output.ty {
                    SocketType::Exact(ty) => Some(ty),
                    SocketType::Generic(_) | SocketType::ListOf(_) | SocketType::Made => None,
                });
                let exact: Vec<Option<Type>> = exact.collect();
                exact.iter().all(Option::is_some).then_some(exact)
            }
        }
    }

    /// Like [`Self::declared`], for a node that runs a group many times.
    fn declared_of_zone(&self, zone: Zone, node: &Node, group: &str) -> Option<Vec<Option<Type>>> {
        let group = self.document.groups.get(group)?;
        let given = node.set.iter().map(|(name, setting)| (&**name, &setting.json));
        let settings = Settings::read(&zone.settings(), given, &|_| None).ok()?;
        let inputs: Vec<&str> = group.inputs.keys().map(|name| &**name).collect();
        let outputs: Vec<&str> = group.outputs.keys().map(|name| &**name).collect();
        let course = zone.course(&settings, &inputs, &outputs).ok()?;
        let types = group.outputs.values().enumerate().map(|(k, output)| {
            let ty = self.registry.type_named(&output.ty);
            ty.and_then(|ty| course.outer_output(k, ty))
        });
        let own = zone.outputs_after(|name| group.outputs.contains_key(name));
        Some(types.chain(own.map(|told| Some(told.ty()))).collect())
    }

    /// The type of a closure of a group.
    fn type_of_closure(&self, node: &Node, group: &str) -> Option<Type> {
        let group = self.document.groups.get(group)?;
        let parameters = group.inputs.iter().filter(|(name, _)| node.inputs.get(name).is_none());
        let parameters = parameters
            .map(|(name, def)| Some((Arc::clone(name), self.registry.type_named(&def.ty)?)));
        let outputs = group.outputs.iter();
        let outputs =
            outputs.map(|(name, def)| Some((Arc::clone(name), self.registry.type_named(&def.ty)?)));
        let parameters: Option<Sockets> = parameters.collect();
        let outputs: Option<Sockets> = outputs.collect();
        Interface::new(parameters?, outputs?)?.ty()
    }

    /// The type of what one source gives.
    fn type_of_source(&self, body: BodyKey, source: &Input, known: &Known) -> Option<Type> {
        match &source.value {
            InputValue::Link(link) => self.output_type(body, link, known),
            InputValue::Input(name) => self.type_of(body, Reference::Input(name)),
            InputValue::Literal(_) | InputValue::Several(_) => None,
        }
    }

    /// The types of outputs, given these types of links.
    fn resolved(
        &self,
        body: BodyKey,
        node: &Node,
        signature: &Signature,
        known: &Known,
    ) -> Vec<Option<Type>> {
        let mut facts: Vec<(usize, InputFact<'_>)> = Vec::new();
        let unknown = vec![None; signature.outputs.len()];
        for (socket, input) in node.inputs.iter() {
            let Some(socket) = signature.input(socket) else { continue };
            if is_exact(signature.inputs[socket].ty) {
                continue;
            }
            for source in input.sources() {
                if let InputValue::Literal(json) = &source.value {
                    facts.push((socket, InputFact::Literal(json)));
                    continue;
                }
                let Some(ty) = self.type_of_source(body, source, known) else { return unknown };
                facts.push((socket, InputFact::Linked(ty)));
            }
        }
        let Ok(generics) = signature.resolve(&facts) else { return unknown };
        if signature.outputs.iter().any(|output| output.ty == SocketType::Made) {
            let Some((def, settings)) = self.settings(node) else { return unknown };
            let made = def.instantiate(settings, generics, &vec![1; signature.inputs.len()]);
            let Ok(made) = made else { return unknown };
            return made.outputs.iter().map(|output| Some(output.ty)).collect();
        }
        signature.outputs.iter().map(|output| output.ty.resolve(&generics).ok()).collect()
    }
}

fn is_call(node: &Node) -> bool {
    matches!(&node.kind, NodeKind::Type(ty) if **ty == *CALL)
}

fn is_exact(ty: SocketType) -> bool {
    match ty {
        SocketType::Exact(_) => true,
        SocketType::Generic(_) | SocketType::ListOf(_) | SocketType::Made => false,
    }
}
