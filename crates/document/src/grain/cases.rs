//! Cycles that switches break.
//!
//! A cycle is not a real one if some of its switches break it (and formulas that choose, see
//! `formulas`): whatever their selectors give, the arms that are taken close no cycle. The selectors
//! must not depend on the nodes of the cycle. A combination of selector values is a *case*, and in
//! each case the nodes have an order. Checking makes a copy of the nodes for each case, and choices
//! among the copies. Selectors are boolean functions of the sources that they share (see `logic`), so
//! that combinations that cannot occur are no cases.

use std::sync::Arc;

use millstream_base::{Type, Value, literal};
use millstream_node::signature::{Signature, SocketType};
use millstream_node::{FormulaCall, Registry, Zone};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value as Json;

use super::bdd::FALSE;
use super::computed::read_conditions;
use super::formulas::two_armed;
use super::logic::Logic;
use super::search::{Part, Search};
use super::{BodyParts, Grain, read_settings, signature_of};
use crate::model::{Input, InputValue, Named, Node, NodeKind};
use crate::order::{Conditional, Cycle};
use crate::problems::shortened;
use crate::references::{Reference, references};

/// The type of a node that was a switch and has only one arm left. No node type has this name.
const TAKEN: &str = "\0taken";

/// Whether a node passes on one of its later inputs, selected by the first.
pub(super) fn is_switch(registry: &Registry, node: &Node) -> bool {
    switch(registry, node).is_some()
}

/// The sockets of a node that is a switch.
pub(super) fn switch<'r>(registry: &'r Registry, node: &Node) -> Option<&'r Signature> {
    let NodeKind::Type(ty) = &node.kind else { return None };
    let def = registry.get(ty).filter(|def| def.chooses && def.settings.is_empty())?;
    let signature = def.fixed_signature()?;
    let is_arm = |ty: SocketType| matches!(ty, SocketType::Generic(0));
    let (selector, arms) = signature.inputs.split_first()?;
    let fits = !selector.multiple
        && arms.iter().all(|arm| is_arm(arm.ty))
        && matches!(&signature.outputs[..], [output] if is_arm(output.ty))
        && signature.generics.len() == 1;
    fits.then_some(signature)
}

/// The sources of the arms of a switch, with their sockets; `None` for arms without a source.
pub(super) fn arms_of<'n>(
    signature: &'n Signature,
    node: &'n Node,
) -> Vec<(&'n str, Option<&'n Input>)> {
    let mut arms = Vec::new();
    for socket in &signature.inputs[1..] {
        match node.inputs.get(&socket.name) {
            Some(Input { value: InputValue::Several(sources), .. }) if socket.multiple => {
                arms.extend(sources.iter().map(|source| (&*socket.name, Some(source))));
            }
            Some(input) if socket.multiple && is_empty_list(input) => {}
            given => arms.push((&*socket.name, given)),
        }
    }
    arms
}

fn is_empty_list(input: &Input) -> bool {
    let InputValue::Literal(json) = &input.value else { return false };
    json.as_array().is_some_and(Vec::is_empty)
}

/// The switch with only the arm that its selector selects, and the number of that arm, given the
/// arms that sources select; `None` for other nodes.
pub(super) fn only_arm(
    registry: &Registry,
    node: &Node,
    arm_of: &dyn Fn(&InputValue) -> Option<usize>,
) -> Option<(Node, u32)> {
    let signature = switch(registry, node).filter(|_| !node.muted)?;
    let given = node.inputs.get(&signature.inputs[0].name)?;
    with_arm(signature, node, arm_of(&given.value)?)
}

/// A switch with only one of its arms, and the number of that arm; `None` if it has none.
fn with_arm(signature: &Signature, node: &Node, arm: usize) -> Option<(Node, u32)> {
    let arms = arms_of(signature, node);
    let arm = arm.min(arms.len().checked_sub(1)?);
    let mut left = Node::new(NodeKind::Type(TAKEN.into()));
    if let (socket, Some(source)) = arms[arm] {
        left.inputs.insert(socket, source.clone());
    }
    Some((left, arm as u32))
}

/// A switch that takes the same arm in all cases, with only this arm, and its number: the selector
/// is a literal or a default, or the switch is muted.
pub(super) fn constant_switch(registry: &Registry, node: &Node) -> Option<(Node, u32)> {
    let signature = switch(registry, node)?;
    let socket = &signature.inputs[0];
    let given = node.inputs.get(&socket.name);
    if node.muted {
        // It passes on its first input of the type of the arms, which may be the selector.
        let (mut left, arm) = with_arm(signature, node, 0)?;
        if let Some(given) = given {
            left.inputs.insert(&*socket.name, given.clone());
        }
        return Some((left, arm));
    }
    let SocketType::Exact(ty) = socket.ty else { return None };
    let value = match given.map(|given| &given.value) {
        Some(InputValue::Literal(json)) => selector_of(ty, json)?,
        Some(_) => return None,
        None => socket.default.value(ty)?,
    };
    with_arm(signature, node, arm_of(&value)?)
}

/// The value of a literal that selects; a node may pass on a truth value to an index.
pub(super) fn selector_of(ty: Type, json: &Json) -> Option<Value> {
    literal::from_json(ty, json).or_else(|_| literal::from_json(Type::BOOL, json)).ok()
}

/// The arm that a selector of this value selects.
pub(crate) fn arm_of(value: &Value) -> Option<usize> {
    let index = || value.get::<i32>().map(|index| usize::try_from(index).unwrap_or(0));
    value.get::<bool>().map(usize::from).or_else(index)
}

impl Grain<'_> {
    /// The cases of nodes that depend on each other; `order` is that of all nodes.
    ///
    /// # Errors
    /// A cycle that switches do not break; `None` if there are no switches among the nodes.
    pub(super) fn cases(
        &mut self,
        body: BodyParts<'_>,
        order: &[u32],
        members: Vec<u32>,
    ) -> Result<Conditional, Option<Cycle>> {
        let (registry, nodes) = (self.registry, body.nodes);
        let firsts = self.firsts(body, &members.iter().copied().collect(), order);
        let mut part = Part {
            nodes: Named::new(),
            taken: Vec::new(),
            groups: Vec::new(),
            guard: FALSE,
            when: Vec::new(),
        };
        for member in &members {
            let (name, node) = nodes.get_index(*member as usize).expect("members are nodes");
            let mut node = node.clone();
            firsts.lead(&mut node);
            part.nodes.insert(Arc::clone(name), node);
        }
        let conditions = read_conditions(self, body, &mut part.nodes, &members);
        let written = part.clone();
        let mut search = Search {
            grain: self,
            registry,
            body,
            firsts,
            conditions,
            logic: Logic::new(),
            is_partial: false,
            arms: FxHashMap::default(),
            written: part.nodes.clone(),
            two_armed: two_armed(registry),
            members,
            n_looked_at: 0,
            n_copies: 0,
        };
        let is_reduced = search.take_constants(&mut part);
        let has_switches = search.take_known(&mut part) || is_reduced || search.has_switches(&part);
        if !has_switches {
            return Err(None);
        }
        if let Some(stateful) = search.grain.stateful_among(&part.nodes) {
            let name = shortened(&stateful);
            let why = format!(" that switches cannot break, as `{name}` keeps state");
            return Err(Some(search.cycle(&written, why)));
        }
        let is_cut = search.grain.plain_order(&part.nodes).cycles.is_empty();
        if !is_cut && let Some(scoped) = search.grain.scoped_among(&part.nodes) {
            // There the selectors may have other values, unless they are constant.
            let name = shortened(&scoped);
            let why = format!(
                " that switches cannot break, as `{name}` evaluates a part of it in another context"
            );
            return Err(Some(search.cycle(&part, why)));
        }
        let blocks = search.split(&part).map_err(Some)?;
        let conditions = search.conditions.all;
        Ok(Conditional { nodes: search.members, blocks, conditions })
    }
}

impl Grain<'_> {
    /// A node that keeps state, itself or through its group.
    fn stateful_among(&mut self, nodes: &Named<Node>) -> Option<String> {
        let stateful = self.stateful_groups();
        let keeps = |node: &Node| self.keeps_state(node, &stateful);
        let (name, _) = nodes.iter().find(|(_, node)| keeps(node))?;
        Some(name.to_string())
    }

    /// The groups that keep state, directly or in nested groups.
    pub(super) fn stateful_groups(&mut self) -> Arc<FxHashSet<Arc<str>>> {
        let known = self.stateful.take().unwrap_or_else(|| {
            Arc::new(self.groups_with(|grain, node| grain.keeps_state(node, &FxHashSet::default())))
        });
        Arc::clone(self.stateful.insert(known))
    }

    /// A node that evaluates others of these in another context, itself or in its group.
    fn scoped_among(&mut self, nodes: &Named<Node>) -> Option<String> {
        let groups = self
            .scoped
            .take()
            .unwrap_or_else(|| self.groups_with(|grain, node| grain.has_scope(node, |_| true)));
        let is_member = |reference: Reference<'_>| match reference {
            Reference::Link(link) => nodes.contains_key(&link.node),
            Reference::Input(_) => false,
        };
        let is_scoped = |node: &Node| match &node.kind {
            NodeKind::Type(_) => self.has_scope(node, |input| {
                node.inputs.get(input).is_some_and(|it| references(it).any(is_member))
            }),
            NodeKind::Group(name) | NodeKind::Zone(_, name) | NodeKind::Closure(name) => {
                !node.muted && groups.contains(name)
            }
        };
        let found =
            nodes.iter().find(|(_, node)| is_scoped(node)).map(|(name, _)| name.to_string());
        self.scoped = Some(groups);
        found
    }

    /// Whether a node evaluates one of these inputs in another context, itself or by a call in its
    /// formula.
    fn has_scope(&self, node: &Node, is_meant: impl Fn(&str) -> bool) -> bool {
        let NodeKind::Type(name) = &node.kind else { return false };
        let Some(def) = self.registry.get(name).filter(|_| !node.muted) else { return false };
        let Some((settings, signature)) = read_settings(self.registry, def, node) else {
            return false;
        };
        let is_scoped = |name: &str| {
            let def = self.registry.get(name)?;
            let plain = Node::new(NodeKind::Type(name.into()));
            let signature = signature_of(self.registry, def, &plain)?;
            Some(signature.inputs.iter().any(|socket| !socket.scope.is_empty()))
        };
        let is_read = |call: &FormulaCall| {
            let mut inputs = call.inputs.iter().map(|input| &signature.inputs[*input as usize]);
            inputs.any(|socket| is_meant(&socket.name))
        };
        let mut sockets = signature.inputs.iter();
        sockets.any(|socket| !socket.scope.is_empty() && is_meant(&socket.name))
            || def.formula_in(&settings).is_some_and(|formula| {
                formula
                    .calls
                    .iter()
                    .any(|call| is_scoped(&call.node) == Some(true) && is_read(call))
            })
    }

    /// Whether a node keeps state, given the groups that do.
    fn keeps_state(&self, node: &Node, stateful: &FxHashSet<Arc<str>>) -> bool {
        let (name, def) = match &node.kind {
            NodeKind::Zone(Zone::Simulate, _) => return !node.muted,
            NodeKind::Type(name) => (name, self.registry.get(name)),
            NodeKind::Group(name) | NodeKind::Zone(_, name) | NodeKind::Closure(name) => {
                (name, None)
            }
        };
        // Documents that define node types are groups under these names.
        !node.muted && (def.is_some_and(|def| def.state.is_some()) || stateful.contains(name))
    }

    /// The groups with such a node, directly or in nested groups. Cost: linear in nodes.
    fn groups_with(&self, is_such: impl Fn(&Self, &Node) -> bool) -> FxHashSet<Arc<str>> {
        let mut users: FxHashMap<&str, Vec<&Arc<str>>> = FxHashMap::default();
        let (mut all, mut found) = (FxHashSet::default(), Vec::new());
        for (name, group) in &self.document.groups {
            for node in group.nodes.values().filter(|node| !node.muted) {
                let (NodeKind::Type(used)
                | NodeKind::Group(used)
                | NodeKind::Zone(_, used)
                | NodeKind::Closure(used)) = &node.kind;
                if self.document.groups.contains_key(used) {
                    users.entry(used).or_default().push(name);
                }
            }
            if group.nodes.values().any(|node| is_such(self, node)) {
                found.push(name);
            }
        }
        while let Some(name) = found.pop() {
            if all.insert(Arc::clone(name)) {
                found.extend(users.remove(&**name).unwrap_or_default());
            }
        }
        all
    }
}
