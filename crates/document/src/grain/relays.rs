//! Nodes that pass on a value, or negate it.
//!
//! A selector that such nodes pass on is the selector itself, and one that is negated twice too. A
//! muted node passes on an input.

use std::sync::Arc;

use millstream_base::{Type, literal};
use millstream_node::{Among, Kernel, Law, NodeDef, Settings, Signature, SocketType};
use rustc_hash::FxHashMap;
use serde_json::Value as Json;

use super::{Grain, read_settings};
use crate::model::{InputDef, InputValue, Link, Named, Node, NodeKind};
use crate::references::each_source;

/// A body: its nodes and inputs.
#[derive(Clone, Copy)]
pub(crate) struct BodyParts<'b> {
    pub(crate) nodes: &'b Named<Node>,
    pub(crate) inputs: &'b Named<InputDef>,
}

/// What stands for the nodes of a body.
#[derive(Default)]
pub(crate) struct Firsts {
    /// The first of equal nodes, by name.
    pub(super) nodes: FxHashMap<Arc<str>, Arc<str>>,
    /// The sources of nodes that pass on a value.
    pub(super) passed: FxHashMap<Arc<str>, InputValue>,
    /// The sources of nodes that negate a truth value.
    pub(super) negated: FxHashMap<Arc<str>, InputValue>,
}

impl Firsts {
    /// The source that stands for a source, if it is another one.
    pub(crate) fn of(&self, source: &InputValue) -> Option<InputValue> {
        let InputValue::Link(Link { node, output }) = source else { return None };
        let first = || {
            let (node, output) = (Arc::clone(self.nodes.get(node)?), Arc::clone(output));
            Some(InputValue::Link(Link { node, output }))
        };
        self.passed.get(node).cloned().or_else(first)
    }

    /// Makes a node read the sources that stand for its sources.
    pub(super) fn lead(&self, node: &mut Node) {
        for input in node.inputs.values_mut() {
            each_source(input, |source| {
                if let Some(first) = self.of(&source.value) {
                    source.value = first;
                }
            });
        }
    }

    /// A source that is negated a number of times, as one that is negated at most once.
    pub(super) fn negated(&self, source: InputValue, n: u32) -> (InputValue, bool) {
        let is_odd = n % 2 == 1;
        match &source {
            InputValue::Link(Link { node, .. }) => match self.negated.get(node) {
                Some(source) => (source.clone(), !is_odd),
                None => (source, is_odd),
            },
            InputValue::Literal(json) => match **json {
                Json::Bool(value) => {
                    (InputValue::Literal(Box::new(Json::Bool(value != is_odd))), false)
                }
                _ => (source, is_odd),
            },
            InputValue::Input(_) | InputValue::Several(_) => (source, is_odd),
        }
    }
}

impl Grain<'_> {
    /// The source that a node passes on, and how often the node negates it.
    pub(super) fn relayed(&self, node: &Node, body: BodyParts<'_>) -> Option<(InputValue, u32)> {
        let NodeKind::Type(name) = &node.kind else { return None };
        let def = self.registry.get(name).filter(|def| def.state.is_none())?;
        let (settings, signature) = read_settings(self.registry, def, node)?;
        let [output] = &signature.outputs[..] else { return None };
        let is_pass = passes(def, &signature);
        let (input, n) = if is_pass {
            (0, 0)
        } else if node.muted {
            // It passes on its first input of the type of the output.
            let first = signature.inputs.iter().position(|socket| is_bool(socket.ty))?;
            let mut before = signature.inputs[..first].iter();
            let is_sure = before.all(|socket| matches!(socket.ty, SocketType::Exact(_)));
            (is_sure && is_bool(output.ty)).then_some((first, 0))?
        } else if let Some(formula) = def.formula_in(&settings) {
            if let Some(value) = formula.constant() {
                return Some((InputValue::Literal(Box::new(Json::Bool(value))), 0));
            }
            formula.negations().map(|(input, n)| (input as usize, n))?
        } else {
            let negates = def.laws.iter().any(|law| matches!(law, Law::Involution));
            let is_one = signature.inputs.len() == 1 && is_bool(output.ty);
            (negates && is_one && is_bool(signature.inputs[0].ty)).then_some((0, 1))?
        };
        let socket = &signature.inputs[input];
        let source = match node.inputs.get(&socket.name).map(|given| &given.value) {
            Some(InputValue::Several(_)) => return None,
            // The types of other literals depend on where they are.
            Some(InputValue::Literal(json)) if !json.is_boolean() => return None,
            Some(source) => source.clone(),
            None if is_bool(socket.ty) => {
                let default = socket.default.value(Type::BOOL)?;
                InputValue::Literal(Box::new(literal::to_json(&default)))
            }
            None => return None,
        };
        let is_known = is_pass || is_bool(socket.ty) || self.gives_bool(&source, body);
        is_known.then_some((source, n))
    }

    /// Whether a source certainly is a truth value.
    pub(super) fn gives_bool(&self, source: &InputValue, body: BodyParts<'_>) -> bool {
        match source {
            InputValue::Literal(json) => json.is_boolean(),
            InputValue::Input(name) => {
                body.inputs.get(name).is_some_and(|input| *input.ty == *Type::BOOL.name())
            }
            InputValue::Link(Link { node, output }) => {
                let Some(node) = body.nodes.get(node) else { return false };
                let name = match &node.kind {
                    NodeKind::Type(name) => name,
                    NodeKind::Group(group) => {
                        let output = self.group_named(group).and_then(|it| it.outputs.get(output));
                        return output.is_some_and(|output| *output.ty == *Type::BOOL.name());
                    }
                    NodeKind::Zone(..) | NodeKind::Closure(_) => return false,
                };
                let known = self.registry.get(name);
                let signature = known.and_then(|def| read_settings(self.registry, def, node));
                signature.is_some_and(|(_, signature)| {
                    let at = signature.output(output);
                    at.is_some_and(|at| is_bool(signature.outputs[at].ty))
                })
            }
            InputValue::Several(_) => false,
        }
    }
}

fn is_bool(ty: SocketType) -> bool {
    matches!(ty, SocketType::Exact(ty) if ty == Type::BOOL)
}

/// Whether nodes of a type pass on their only input, whatever its type is.
fn passes(def: &Arc<NodeDef>, signature: &Signature) -> bool {
    let is_generic = |ty: SocketType| matches!(ty, SocketType::Generic(0));
    let [input] = &signature.inputs[..] else { return false };
    let fits = is_generic(input.ty)
        && !input.multiple
        && signature.generics[0].among == Among::Any
        && is_generic(signature.outputs[0].ty)
        && def.settings.is_empty();
    let made = || def.instantiate(Settings::default(), vec![Type::BOOL], &[1]);
    fits && made().is_ok_and(|instance| matches!(instance.kernel, Kernel::Pass))
}
