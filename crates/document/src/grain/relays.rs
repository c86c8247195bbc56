//! Nodes that pass on a value, or negate it.
//!
//! A selector that such nodes pass on is the selector itself, and one that is negated twice too. A
//! selector that is negated once is known together with the selector. A muted node passes on an
//! input, and a node that uses a group may pass on truth values from its inputs to its outputs.

use std::sync::Arc;

use millstream_base::{Type, literal};
use millstream_node::interface::VALUE;
use millstream_node::{Among, Kernel, Law, NodeDef, Settings, Signature, SocketType};
use rustc_hash::FxHashMap;
use serde_json::Value as Json;

use super::cases::{arms_of, switch};
use super::{Grain, MAX_NESTED, read_settings};
use crate::model::{GroupDef, InputDef, InputValue, Link, Named, Node, NodeKind, OutputFrom};
use crate::references::each_source;

/// The maximum number of nodes in a group that pass on a value one after the other.
const MAX_RELAYS: usize = 256;

/// The maximum number of choices one after the other that are followed to tell a truth value.
const MAX_CHOSEN: usize = 8;

/// A body: its nodes and inputs.
#[derive(Clone, Copy)]
pub(crate) struct BodyParts<'b> {
    pub(crate) nodes: &'b Named<Node>,
    pub(crate) inputs: &'b Named<InputDef>,
}

impl<'b> BodyParts<'b> {
    pub(super) fn of_group(group: &'b GroupDef) -> Self {
        Self { nodes: &group.nodes, inputs: &group.inputs }
    }
}

/// What stands for the nodes of a body.
#[derive(Default)]
pub(crate) struct Firsts {
    /// The first of equal nodes, by name.
    pub(super) nodes: FxHashMap<Arc<str>, Arc<str>>,
    /// The sources that outputs of nodes pass on.
    pub(super) passed: FxHashMap<Link, InputValue>,
    /// The sources of truth values that outputs of nodes negate.
    pub(super) negated: FxHashMap<Link, InputValue>,
}

/// The outputs of groups that pass on or negate an input or a constant.
pub(super) type Relays = FxHashMap<(Arc<str>, Arc<str>), Option<(InputValue, bool)>>;

impl Firsts {
    /// The source that stands for a source, if it is another one.
    pub(crate) fn of(&self, source: &InputValue) -> Option<InputValue> {
        let InputValue::Link(link) = source else { return None };
        let first = || {
            let node = Arc::clone(self.nodes.get(&link.node)?);
            Some(InputValue::Link(Link { node, output: Arc::clone(&link.output) }))
        };
        self.passed.get(link).cloned().or_else(first)
    }

    /// Whether the output that a link reads negates a truth value.
    pub(crate) fn negates(&self, link: &Link) -> bool {
        self.negated.contains_key(link)
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
            InputValue::Link(link) => match self.negated.get(link) {
                Some(source) => (source.clone(), !is_odd),
                None => (source, is_odd),
            },
            InputValue::Literal(_) | InputValue::Input(_) | InputValue::Several(_) => {
                with_literal(source, is_odd)
            }
        }
    }
}

/// A source that may be negated; a literal includes the negation.
fn with_literal(source: InputValue, is_negated: bool) -> (InputValue, bool) {
    match &source {
        InputValue::Literal(json) => match **json {
            Json::Bool(value) => {
                (InputValue::Literal(Box::new(Json::Bool(value != is_negated))), false)
            }
            _ => (source, is_negated),
        },
        InputValue::Link(_) | InputValue::Input(_) | InputValue::Several(_) => (source, is_negated),
    }
}

impl Grain<'_> {
    /// The outputs of a node that pass on a source, with the source and how often it is negated.
    pub(super) fn relays(
        &mut self,
        node: &Node,
        body: BodyParts<'_>,
    ) -> Vec<(Arc<str>, InputValue, u32)> {
        let outputs: Vec<Arc<str>> = match &node.kind {
            NodeKind::Group(group) => {
                let outputs = self.group_named(group).into_iter().flat_map(|it| it.outputs.keys());
                outputs.cloned().collect()
            }
            NodeKind::Type(_) => vec![VALUE.into()],
            NodeKind::Zone(..) | NodeKind::Closure(_) => Vec::new(),
        };
        let relayed = outputs.into_iter().filter_map(|output| {
            let (source, n) = self.relayed((node, &output), body, 0)?;
            Some((output, source, n))
        });
        relayed.collect()
    }

    /// The source that an output of a node passes on, and how often it is negated.
    fn relayed(
        &mut self,
        (node, output): (&Node, &Arc<str>),
        body: BodyParts<'_>,
        depth: usize,
    ) -> Option<(InputValue, u32)> {
        match &node.kind {
            NodeKind::Type(_) => {
                let (source, n) = self.relayed_by_type(node, body)?;
                (**output == *VALUE).then_some((source, n))
            }
            NodeKind::Group(group) if !node.muted => {
                let (source, is_negated) = self.relayed_by_group(group, output, depth)?;
                let InputValue::Input(input) = source else { return Some((source, 0)) };
                let given = match node.inputs.get(&input) {
                    Some(given) => given.value.clone(),
                    None => {
                        let default = &self.group_named(group)?.inputs.get(&input)?.default;
                        InputValue::Literal(Box::new(default.clone()?))
                    }
                };
                let is_single = match &given {
                    InputValue::Literal(json) => json.is_boolean(),
                    InputValue::Link(_) | InputValue::Input(_) => true,
                    InputValue::Several(_) => false,
                };
                is_single.then_some((given, u32::from(is_negated)))
            }
            NodeKind::Group(_) | NodeKind::Zone(..) | NodeKind::Closure(_) => None,
        }
    }

    /// The input or the literal that an output of a group passes on, and whether it is negated, if
    /// they are truth values.
    fn relayed_by_group(
        &mut self,
        group: &Arc<str>,
        output: &Arc<str>,
        depth: usize,
    ) -> Option<(InputValue, bool)> {
        let key = (Arc::clone(group), Arc::clone(output));
        if let Some(known) = self.relays.get(&key) {
            return known.clone();
        }
        self.relays.insert(key.clone(), None);
        let bool_name = Type::BOOL.name();
        let def = self.group_named(group).filter(|_| depth < MAX_NESTED)?;
        let output = def.outputs.get(output).filter(|output| *output.ty == *bool_name)?;
        let source = match &output.from {
            OutputFrom::Link(link) => InputValue::Link(link.clone()),
            OutputFrom::Input(name) => InputValue::Input(Arc::clone(name)),
        };
        let def = def.clone();
        let (source, is_negated) = self.origin(&source, BodyParts::of_group(&def), depth + 1);
        let is_truth = match &source {
            InputValue::Input(name) => {
                def.inputs.get(name).is_some_and(|input| *input.ty == *bool_name)
            }
            InputValue::Literal(json) => json.is_boolean(),
            InputValue::Link(_) | InputValue::Several(_) => false,
        };
        let found = is_truth.then_some((source, is_negated));
        self.relays.insert(key, found.clone());
        found
    }

    /// The source that nodes of a body pass on to a source, and whether it is negated.
    pub(super) fn origin(
        &mut self,
        source: &InputValue,
        body: BodyParts<'_>,
        depth: usize,
    ) -> (InputValue, bool) {
        let (mut at, mut is_negated) = (source.clone(), false);
        for _ in 0..MAX_RELAYS {
            let InputValue::Link(Link { node, output }) = &at else { break };
            let Some(node) = body.nodes.get(node) else { break };
            let Some((next, n)) = self.relayed((node, output), body, depth) else { break };
            (at, is_negated) = (next, is_negated != (n % 2 == 1));
        }
        with_literal(at, is_negated)
    }

    /// The source that a node of a type passes on, and how often the node negates it.
    fn relayed_by_type(&self, node: &Node, body: BodyParts<'_>) -> Option<(InputValue, u32)> {
        let NodeKind::Type(name) = &node.kind else { return None };
        let def = self.registry.get(name).filter(|def| def.state.is_none())?;
        let (settings, signature) = read_settings(self.registry, def, node)?;
        let [output] = &signature.outputs[..] else { return None };
        if *output.name != *VALUE {
            return None;
        }
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

    /// Whether a source certainly is a truth value. Nodes may pass it on.
    pub(super) fn gives_bool(&self, source: &InputValue, body: BodyParts<'_>) -> bool {
        self.is_bool(source, body, 0)
    }

    fn is_bool(&self, source: &InputValue, body: BodyParts<'_>, depth: usize) -> bool {
        let mut source = source;
        for _ in 0..MAX_RELAYS {
            let Link { node, output } = match source {
                InputValue::Literal(json) => return json.is_boolean(),
                InputValue::Input(name) => {
                    let input = body.inputs.get(name);
                    return input.is_some_and(|input| *input.ty == *Type::BOOL.name());
                }
                InputValue::Link(link) => link,
                InputValue::Several(_) => return false,
            };
            let Some(node) = body.nodes.get(node) else { return false };
            let name = match &node.kind {
                NodeKind::Type(name) => name,
                NodeKind::Group(group) => {
                    let output = self.group_named(group).and_then(|it| it.outputs.get(output));
                    return output.is_some_and(|output| *output.ty == *Type::BOOL.name());
                }
                NodeKind::Zone(..) | NodeKind::Closure(_) => return false,
            };
            let Some(def) = self.registry.get(name) else { return false };
            let Some((settings, signature)) = read_settings(self.registry, def, node) else {
                return false;
            };
            let at = signature.output(output);
            if at.is_some_and(|at| is_bool(signature.outputs[at].ty)) {
                return true;
            }
            if node.muted || depth == MAX_CHOSEN {
                return false;
            }
            if def.chooses {
                let Some(signature) = switch(self.registry, node) else { return false };
                let mut arms = arms_of(signature, node).into_iter();
                return arms.all(|(_, arm)| {
                    arm.is_some_and(|arm| self.is_bool(&arm.value, body, depth + 1))
                });
            }
            if let Some(formula) = def.formula_in(&settings) {
                let is_truth = |input: u32| {
                    let given = node.inputs.get(&signature.inputs[input as usize].name);
                    given.is_some_and(|given| self.is_bool(&given.value, body, depth + 1))
                };
                let gives_truth = |name: &str| {
                    let called = self.registry.get(name).and_then(|def| def.fixed_signature());
                    let outputs = called.map(|signature| &signature.outputs[..]);
                    matches!(outputs, Some([output]) if is_bool(output.ty))
                };
                return formula
                    .truths_of(formula.last(), &gives_truth)
                    .is_some_and(|inputs| inputs.into_iter().all(is_truth));
            }
            if !passes(def, &signature) {
                return false;
            }
            let Some(passed) = node.inputs.get(&signature.inputs[0].name) else { return false };
            source = &passed.value;
        }
        false
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
        && signature.outputs.first().is_some_and(|output| is_generic(output.ty))
        && def.settings.is_empty();
    let made = || def.instantiate(Settings::default(), vec![Type::BOOL], &[1]);
    fits && made().is_ok_and(|instance| matches!(instance.kernel, Kernel::Pass))
}
