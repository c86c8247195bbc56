//! Cycles that switches break.
//!
//! A cycle is not a real one if some of its switches break it (and formulas that choose, see
//! `formulas`): whatever their selectors give, the
//! arms that are taken close no cycle. The selectors must not depend on the nodes of the cycle. A
//! combination of selector values is a *case*, and in each case the nodes have an order. Checking
//! makes a copy of the nodes for each case, and choices among the copies.

use std::sync::Arc;

use millstream_base::{Type, Value, literal};
use millstream_node::signature::{Signature, SocketType};
use millstream_node::{FormulaCall, Registry, Zone};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value as Json;

use super::computed::{Conditions, read_conditions};
use super::formulas::{self, Choosing, choosing, two_armed};
use super::{BodyParts, FineOrder, Firsts, Grain, read_settings, signature_of};
use crate::model::{Input, InputValue, Named, Node, NodeKind};
use crate::order::{Case, Choice, Conditional, Cycle, SelectorAt};
use crate::problems::shortened;
use crate::references::{Reference, references};

/// The maximum number of cases of one cycle, and of nodes in all of its cases.
const MAX_CASES: usize = 64;
const MAX_COPIES: usize = 1 << 20;

/// The maximum number of selectors to look for at a time.
const MAX_KNOWN: usize = 64;

/// The maximum number of selectors that are compared before one is chosen.
const MAX_TRIED: usize = 16;

/// The maximum number of nodes to visit while comparing selectors.
const MAX_EXAMINED: usize = 1 << 24;

/// The hint for a cycle in a combination of selectors, which may be one that cannot occur.
const NEGATE: &str = "remove one of these links; if these selectors never have these values \
                      together, compute one from the other, such as `!c` from `c`";

/// The hint for a cycle that takes too many cases.
const FEWER: &str = "remove one of these links, or let fewer selectors decide";

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

/// A selector of switches on a cycle that does not depend on the nodes of the cycle.
struct Selector {
    source: InputValue,
    /// The node whose selector has the most arms, by position among the nodes.
    node: usize,
    /// The number of the input of that node.
    input: usize,
    /// The type of the switch.
    ty: Arc<str>,
    n_arms: usize,
}

/// The search for the cases of one cycle.
struct Search<'g, 'd> {
    grain: &'g mut Grain<'d>,
    registry: &'d Registry,
    body: BodyParts<'g>,
    /// What stands for the nodes that the members read.
    firsts: Firsts,
    /// The conditions that formulas compute.
    conditions: Conditions,
    /// The nodes with all arms.
    written: Named<Node>,
    /// The type of a switch with two arms.
    two_armed: Option<Arc<str>>,
    /// The positions of the nodes in the body.
    members: Vec<u32>,
    cases: Vec<Case>,
    n_looked_at: usize,
}

/// The nodes in some cases: switches have only the arm that they take.
#[derive(Clone)]
struct Part {
    nodes: Named<Node>,
    taken: Vec<(u32, u32)>,
    groups: Vec<(u32, u32, u32)>,
    /// The values of selectors, in words.
    when: Vec<String>,
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
        let mut part =
            Part { nodes: Named::new(), taken: Vec::new(), groups: Vec::new(), when: Vec::new() };
        for member in &members {
            let (name, node) = nodes.get_index(*member as usize).expect("members are nodes");
            let mut node = node.clone();
            firsts.lead(&mut node);
            part.nodes.insert(Arc::clone(name), node);
        }
        let conditions = read_conditions(registry, &mut part.nodes, &members);
        let written = part.clone();
        let mut search = Search {
            grain: self,
            registry,
            body,
            firsts,
            conditions,
            written: part.nodes.clone(),
            two_armed: two_armed(registry),
            members,
            cases: Vec::new(),
            n_looked_at: 0,
        };
        let is_reduced = search.take_constants(&mut part);
        let has_switches = is_reduced || !search.selectors(&part).is_empty();
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
        let choice = search.split(part).map_err(Some)?;
        let conditions = search.conditions.all;
        Ok(Conditional { nodes: search.members, choice, cases: search.cases, conditions })
    }
}

impl Search<'_, '_> {
    /// Leaves only the arm that is taken of switches that take the same one in all cases, also in
    /// groups. Returns whether there are any.
    fn take_constants(&mut self, part: &mut Part) -> bool {
        let mut is_reduced = false;
        for (member, node) in self.members.iter().zip(part.nodes.values_mut()) {
            let Some(reduced) = self.grain.reduce(node, 0) else { continue };
            part.taken.extend(reduced.arm.map(|arm| (*member, arm)));
            let inputs = reduced.inputs.into_iter();
            part.groups.extend(inputs.map(|(input, arm)| (*member, input, arm)));
            is_reduced = true;
        }
        is_reduced
    }

    /// The cases of a part. The depth of the recursion is at most the number of cases.
    fn split(&mut self, part: Part) -> Result<Choice, Cycle> {
        self.n_looked_at += part.nodes.len();
        let FineOrder { order, cycles, .. } = self.grain.plain_order(&part.nodes);
        if cycles.is_empty() {
            let order = order.iter().map(|node| self.members[*node as usize]).collect();
            let mut unread: Vec<(u32, u32)> = Vec::new();
            for (member, (name, left)) in self.members.iter().zip(part.nodes.iter()) {
                let original = &self.body.nodes[&**name];
                let inputs = self.grain.unread(original, (&self.written[&**name], left));
                let unneeded =
                    inputs.into_iter().filter(|(_, name)| !self.conditions.read(*member, name));
                unread.extend(unneeded.map(|(input, _)| (*member, input)));
            }
            self.cases.push(Case { order, taken: part.taken, unread, groups: part.groups });
            return Ok(Choice::Case(self.cases.len() as u32 - 1));
        }
        let why = |part: &Part| match &part.when[..] {
            [] => String::new(),
            when => format!(" when {}", when.join(" and ")),
        };
        let mut selectors = self.selectors(&part);
        if selectors.is_empty() {
            return Err(self.cycle(&part, why(&part)));
        }
        let most = MAX_CASES.min(MAX_COPIES / part.nodes.len()).max(2);
        selectors.retain(|selector| self.cases.len() + selector.n_arms <= most);
        if selectors.is_empty() {
            let why = format!(" that switches break only in more than {most} cases");
            return Err(Cycle { hint: Some(FEWER), ..self.cycle(&part, why) });
        }
        let selector = self.best(&part, selectors);
        let arms: Vec<Part> =
            (0..selector.n_arms).map(|arm| self.with_arm(&part, &selector, arm)).collect();
        let arms = arms.into_iter().map(|part| self.split(part)).collect::<Result<_, _>>()?;
        let at = match Conditions::of(&selector.source) {
            Some(condition) => SelectorAt::Condition(condition),
            None => SelectorAt::Input {
                node: self.members[selector.node],
                input: selector.input as u32,
            },
        };
        Ok(Choice::By { selector: at, ty: selector.ty, arms })
    }

    /// The selectors of undecided switches, as far as they do not depend on the nodes.
    fn selectors(&mut self, part: &Part) -> Vec<Selector> {
        let mut found: Vec<Selector> = Vec::new();
        let mut add = |selector: Selector| {
            let is_outside = match &selector.source {
                InputValue::Link(link) => !part.nodes.contains_key(&link.node),
                InputValue::Input(_) => true,
                InputValue::Literal(_) | InputValue::Several(_) => false,
            };
            if !is_outside || selector.n_arms < 2 {
                return;
            }
            match found.iter().position(|known| known.source == selector.source) {
                Some(at) if found[at].n_arms >= selector.n_arms => {}
                Some(at) => found[at] = selector,
                None if found.len() == MAX_KNOWN => {}
                None => found.push(selector),
            }
        };
        for (at, (name, node)) in part.nodes.iter().enumerate() {
            match &node.kind {
                NodeKind::Type(ty) => {
                    for (input, source) in self.conditions(&self.body.nodes[&**name], node) {
                        let Some(ty) = self.two_armed.clone() else { continue };
                        add(Selector { source, node: at, input, ty, n_arms: 2 });
                    }
                    let Some(signature) = switch(self.registry, node) else { continue };
                    let Some(given) = node.inputs.get(&signature.inputs[0].name) else { continue };
                    let (source, ty) = (given.value.clone(), Arc::clone(ty));
                    let n_arms = arms_of(signature, node).len();
                    add(Selector { source, node: at, input: 0, ty, n_arms });
                }
                NodeKind::Group(group) if !node.muted => {
                    for (socket, given) in node.inputs.iter() {
                        let Some(input) = self.grain.input_of(group, socket) else { continue };
                        let Some((n_arms, ty)) = self.grain.arms_in(group, socket, 0) else {
                            continue;
                        };
                        let source = given.value.clone();
                        add(Selector { source, node: at, input, ty, n_arms });
                    }
                }
                NodeKind::Group(_) | NodeKind::Zone(..) | NodeKind::Closure(_) => {}
            }
        }
        found
    }

    /// The conditions of a formula that are truth values, with the numbers of their inputs as it is
    /// written.
    fn conditions(&self, written: &Node, node: &Node) -> Vec<(usize, InputValue)> {
        let Some(Choosing { formula, inputs }) = choosing(self.registry, node) else {
            return Vec::new();
        };
        let written = choosing(self.registry, written).map(|it| it.inputs).unwrap_or_default();
        let conditions = formula.conditions().into_iter().filter_map(|input| {
            let name = &inputs[input as usize];
            let given = &node.inputs.get(name)?.value;
            // A computed condition is no input of the node.
            let input = written.iter().position(|it| it == name).unwrap_or_default();
            self.gives_bool(given).then(|| (input, given.clone()))
        });
        conditions.collect()
    }

    /// The selector that leaves the fewest cycles.
    fn best(&mut self, part: &Part, selectors: Vec<Selector>) -> Selector {
        let mut best: Option<(usize, Selector)> = None;
        for selector in selectors.into_iter().take(MAX_TRIED) {
            let effort = part.nodes.len() * selector.n_arms;
            if best.is_some() && self.n_looked_at + effort > MAX_EXAMINED {
                break;
            }
            self.n_looked_at += effort;
            let mut n_cycles = 0;
            for arm in 0..selector.n_arms {
                let part = self.with_arm(part, &selector, arm);
                n_cycles += self.grain.plain_order(&part.nodes).cycles.len();
            }
            if best.as_ref().is_none_or(|(fewest, _)| n_cycles < *fewest) {
                best = Some((n_cycles, selector));
            }
        }
        best.expect("there are selectors").1
    }

    /// The part in which a selector selects this arm.
    fn with_arm(&mut self, part: &Part, selector: &Selector, arm: usize) -> Part {
        let mut made = part.clone();
        for (member, (name, node)) in self.members.iter().zip(part.nodes.iter()) {
            let arm_of = |given: &InputValue| self.arm_of(given, &selector.source, arm);
            let arm_if_bool = |given: &InputValue| arm_of(given).filter(|_| self.gives_bool(given));
            if let Some((left, arm)) = only_arm(self.registry, node, &arm_of) {
                *made.nodes.get_mut(name).expect("the part holds a copy of the node") = left;
                made.taken.push((*member, arm));
            }
            if let Some(left) = formulas::in_case(self.registry, node, &arm_if_bool) {
                *made.nodes.get_mut(name).expect("the part holds a copy of the node") = left;
            }
            for (socket, given) in node.inputs.iter() {
                let left = made.nodes.get_mut(name).expect("it is a copy");
                if let NodeKind::Group(group) = &left.kind
                    && !node.muted
                    && let Some(arm) = self.arm_of(&given.value, &selector.source, arm)
                    && let Some(input) = self.grain.input_of(group, socket)
                    && let Some(group) = self.grain.in_case(&Arc::clone(group), socket, arm, 0)
                {
                    left.kind = NodeKind::Group(group);
                    made.groups.push((*member, input as u32, arm as u32));
                }
            }
        }
        made.when.push(self.in_words(selector, arm));
        made
    }

    /// The arm that a source selects if the selector selects this arm: the same source does, or one
    /// that is the negation of it.
    fn arm_of(&self, given: &InputValue, selector: &InputValue, arm: usize) -> Option<usize> {
        if given == selector {
            return Some(arm);
        }
        let [(base, is_negated), (of_selector, selector_is_negated)] =
            [given, selector].map(|source| self.firsts.negated(source.clone(), 0));
        if base != of_selector || !self.grain.gives_bool(&base, self.body) {
            return None;
        }
        Some(if is_negated == selector_is_negated { arm } else { usize::from(arm == 0) })
    }

    /// Whether a source certainly is a truth value.
    fn gives_bool(&self, source: &InputValue) -> bool {
        Conditions::of(source).is_some() || self.grain.gives_bool(source, self.body)
    }

    /// Describes in words that a selector selects an arm.
    fn in_words(&self, selector: &Selector, arm: usize) -> String {
        let computed = Conditions::of(&selector.source);
        let computed = computed.map(|at| shortened(&self.conditions.all[at as usize].text));
        let source = match &selector.source {
            InputValue::Link(link) => {
                format!("`{}`", computed.unwrap_or_else(|| shortened(&link.to_string())))
            }
            InputValue::Input(name) => format!("input `{}`", shortened(name)),
            InputValue::Literal(json) => format!("`{}`", shortened(&json.to_string())),
            InputValue::Several(_) => String::new(),
        };
        let def = self.registry.get(&selector.ty);
        let signature = def.and_then(|def| def.fixed_signature()).expect("the node is a switch");
        match signature.inputs[0].ty {
            SocketType::Exact(ty) if ty == Type::BOOL => format!("{source} is {}", arm == 1),
            _ => format!("{source} is {arm}"),
        }
    }

    /// A cycle of a part.
    fn cycle(&mut self, part: &Part, why: String) -> Cycle {
        let FineOrder { cycles, .. } = self.grain.plain_order(&part.nodes);
        let nodes = cycles.into_iter().next().map(|cycle| cycle.nodes).unwrap_or_default();
        let nodes = nodes.into_iter().map(|node| self.members[node as usize]).collect();
        let hint = (part.when.len() > 1).then_some(NEGATE);
        Cycle { nodes, why, hint }
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
