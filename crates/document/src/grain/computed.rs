//! Conditions that formulas compute.
//!
//! In `x > 1 ? a : b` the condition is not linked to the node. If it depends on no node of the
//! cycle, it still breaks the cycle, as if a node of its own computed it: in the search for cases
//! the formula reads the condition under a new name, and checking adds the node. Equal conditions of
//! several formulas are one.

use std::sync::Arc;

use millstream_node::Registry;
use millstream_node::interface::VALUE;
use rustc_hash::FxHashMap;
use serde_json::Value as Json;

use super::formulas::{Choosing, choosing};
use super::{BodyParts, Grain, read_settings};
use crate::model::{Input, InputValue, Link, Named, Node, Setting};
use crate::order::Condition;

/// The start of the names of nodes that stand for conditions. No author can write it.
const MADE: &str = "\0if";

/// The conditions of the formulas among some nodes.
#[derive(Default)]
pub(super) struct Conditions {
    pub(super) all: Vec<Condition>,
    /// A node for each of them that computes nothing else.
    alone: Vec<Node>,
    /// The inputs that formulas need for their conditions, by node.
    read: FxHashMap<u32, Vec<Arc<str>>>,
}

/// What distinguishes a condition from others: a normal form of its text, and its sources.
type Key = (String, Vec<InputValue>);

/// Makes the formulas among nodes read the conditions that depend on none of the nodes.
pub(super) fn read_conditions(
    grain: &Grain<'_>,
    body: BodyParts<'_>,
    nodes: &mut Named<Node>,
    members: &[u32],
) -> Conditions {
    let registry = grain.registry;
    let (mut found, mut known) = (Conditions::default(), Vec::<Key>::new());
    let before = nodes.clone();
    for (member, node) in members.iter().zip(nodes.values_mut()) {
        let Some(Choosing { formula, inputs }) = choosing(registry, node) else { continue };
        let Some((setting, text)) = text_of(registry, node) else { continue };
        let mut tests = formula.tests;
        tests.sort_by_key(|test| (test.text.start, std::cmp::Reverse(test.text.end)));
        let mut replaced: Vec<(std::ops::Range<usize>, String)> = Vec::new();
        for test in tests {
            let is_inside = replaced.last().is_some_and(|(before, _)| test.text.start < before.end);
            let names: Vec<&Arc<str>> =
                test.inputs.iter().map(|input| &inputs[*input as usize]).collect();
            let is_outside = |name: &&Arc<str>| match node.inputs.get(name).map(|it| &it.value) {
                Some(InputValue::Link(link)) => !before.contains_key(&link.node),
                Some(InputValue::Input(_) | InputValue::Literal(_)) => true,
                Some(InputValue::Several(_)) | None => false,
            };
            let is_truth = |input: &u32| {
                let given = node.inputs.get(&inputs[*input as usize]);
                given.is_some_and(|given| grain.gives_bool(&given.value, body))
            };
            let is_condition = !is_inside && names.iter().all(is_outside);
            if !is_condition || !test.truths.iter().all(is_truth) {
                continue;
            }
            let part: Arc<str> = text[test.text.clone()].into();
            let Some(key) = key_of(registry, node, (setting, &part)) else { continue };
            let at = known.iter().position(|it| *it == key).unwrap_or_else(|| {
                known.push(key);
                let mut alone = Node::new(node.kind.clone());
                alone.set.insert(setting, Setting::from(Json::from(&*part)));
                for name in &names {
                    let given = node.inputs.get(name).expect("the input is from outside");
                    alone.inputs.insert(&***name, given.clone());
                }
                found.alone.push(alone);
                found.all.push(Condition { node: *member, text: Arc::clone(&part) });
                known.len() - 1
            });
            let mut letter = format!("if{at}");
            while text.contains(&letter) {
                letter.push('_');
            }
            let link = Link { node: format!("{MADE}{at}").into(), output: VALUE.into() };
            let kept = found.read.entry(*member).or_default();
            kept.extend(names.into_iter().cloned());
            node.inputs.insert(&*letter, Input::from(InputValue::Link(link)));
            replaced.push((test.text, letter));
        }
        let mut rest = text.to_string();
        for (place, letter) in replaced.into_iter().rev() {
            rest.replace_range(place, &letter);
        }
        if *rest != *text {
            node.set.insert(setting, Setting::from(Json::from(rest)));
        }
    }
    found
}

/// The name of the setting with a formula, and the text of the formula.
fn text_of(registry: &Registry, node: &Node) -> Option<(&'static str, Arc<str>)> {
    let crate::model::NodeKind::Type(ty) = &node.kind else { return None };
    let setting = registry.get(ty)?.formula.as_ref()?.name;
    Some((setting, node.set.get(setting)?.json.as_str()?.into()))
}

/// What distinguishes a part of the formula of a node.
fn key_of(registry: &Registry, node: &Node, (setting, part): (&str, &str)) -> Option<Key> {
    let crate::model::NodeKind::Type(ty) = &node.kind else { return None };
    let def = registry.get(ty)?;
    let mut alone = Node::new(node.kind.clone());
    alone.set.insert(setting, Setting::from(Json::from(part)));
    let (settings, signature) = read_settings(registry, def, &alone)?;
    let formula = def.formula_in(&settings)?;
    let sources =
        signature.inputs.iter().map(|socket| Some(node.inputs.get(&socket.name)?.value.clone()));
    Some((formula.structure, sources.collect::<Option<Vec<InputValue>>>()?))
}

impl Conditions {
    /// The number of the condition that a source stands for.
    pub(super) fn of(source: &InputValue) -> Option<u32> {
        let InputValue::Link(link) = source else { return None };
        link.node.strip_prefix(MADE)?.parse().ok()
    }

    /// A node that computes only this condition.
    pub(super) fn alone(&self, condition: u32) -> &Node {
        &self.alone[condition as usize]
    }

    /// Whether a formula needs an input for a condition.
    pub(super) fn read(&self, node: u32, input: &str) -> bool {
        self.read.get(&node).is_some_and(|names| names.iter().any(|name| **name == *input))
    }
}
