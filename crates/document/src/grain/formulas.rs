//! Formulas that choose.
//!
//! Of `c ? a : b` only one of the two is computed. So the formula breaks a cycle as a switch does, if
//! its condition is a constant or an input that is certainly a truth value. In a case of the cycle
//! the formula does not read the inputs of the other one.

use std::sync::Arc;

use millstream_base::Type;
use millstream_node::{Formula, Registry, SocketType};
use serde_json::Value as Json;

use super::{Grain, read_settings};
use crate::model::{InputValue, Node, NodeKind};

/// A formula that chooses, with the names of its inputs.
pub(super) struct Choosing {
    pub(super) formula: Formula,
    pub(super) inputs: Vec<Arc<str>>,
}

/// The formula of a node, if it chooses.
pub(super) fn choosing(registry: &Registry, node: &Node) -> Option<Choosing> {
    let NodeKind::Type(name) = &node.kind else { return None };
    let def = registry.get(name).filter(|_| !node.muted)?;
    let setting = def.formula.as_ref()?;
    let text = node.set.get(setting.name)?.json.as_str()?;
    if !setting.choosing.iter().any(|word| text.contains(word)) {
        return None;
    }
    let (settings, signature) = read_settings(registry, def, node)?;
    let formula = def.formula_in(&settings)?;
    let inputs = signature.inputs.iter().map(|socket| Arc::from(&*socket.name)).collect();
    Some(Choosing { formula, inputs })
}

/// The type of a switch with two arms.
pub(super) fn two_armed(registry: &Registry) -> Option<Arc<str>> {
    let is_it = |node: &Node| {
        let signature = super::cases::switch(registry, node);
        signature.is_some_and(|signature| {
            let is_single = signature.inputs.iter().all(|socket| !socket.multiple);
            let selects = signature.inputs[0].ty == SocketType::Exact(Type::BOOL);
            signature.inputs.len() == 3 && is_single && selects
        })
    };
    let switches = registry.iter().filter(|def| def.chooses);
    let mut names = switches.map(|def| Arc::<str>::from(&*def.name));
    names.find(|name| is_it(&Node::new(NodeKind::Type(Arc::clone(name)))))
}

/// A formula without the inputs that it does not need, given the constants among its conditions;
/// `None` for other nodes, and if it needs all inputs.
pub(super) fn without_unread(registry: &Registry, node: &Node) -> Option<Node> {
    let Choosing { formula, inputs } = choosing(registry, node)?;
    let known = |input: u32| match &node.inputs.get(&inputs[input as usize])?.value {
        InputValue::Literal(json) => json.as_bool(),
        InputValue::Link(_) | InputValue::Input(_) | InputValue::Several(_) => None,
    };
    let needs = formula.needs(inputs.len(), &known);
    let mut left = node.clone();
    for (input, _) in inputs.iter().zip(needs).filter(|(_, is_needed)| !is_needed) {
        left.inputs.remove(input);
    }
    (left.inputs.len() < node.inputs.len()).then_some(left)
}

/// A formula in a case, given the arms that sources select in it; `None` if these sources are no
/// conditions of it.
pub(super) fn in_case(
    registry: &Registry,
    node: &Node,
    arm_of: &dyn Fn(&InputValue) -> Option<usize>,
) -> Option<Node> {
    let Choosing { formula, inputs } = choosing(registry, node)?;
    let mut known = node.clone();
    let mut is_one = false;
    for condition in formula.conditions() {
        if let Some(given) = known.inputs.get_mut(&inputs[condition as usize])
            && let Some(arm) = arm_of(&given.value)
        {
            given.value = InputValue::Literal(Box::new(Json::Bool(arm > 0)));
            is_one = true;
        }
    }
    is_one.then(|| without_unread(registry, &known).unwrap_or(known))
}

impl Grain<'_> {
    /// The inputs of a formula that `left`, the formula in a case, does not read, with their numbers
    /// in the formula as it is written. `all` is the formula in all cases.
    pub(super) fn unread(
        &self,
        written: &Node,
        (all, left): (&Node, &Node),
    ) -> Vec<(u32, Arc<str>)> {
        if left.inputs.len() == all.inputs.len() {
            return Vec::new();
        }
        let inputs = choosing(self.registry, written).map(|it| it.inputs).unwrap_or_default();
        let is_lost =
            |name: &str| all.inputs.get(name).is_some() && left.inputs.get(name).is_none();
        (0..).zip(inputs).filter(|it| is_lost(&it.1)).collect()
    }
}
