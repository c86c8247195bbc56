//! The search for the cases of one cycle.
//!
//! A part of the nodes that depend on each other is split by a selector, arm by arm, until no cycle
//! is left. In each arm, only the nodes that still depend on each other are split again; so nodes on
//! different cycles are split independently. The arms taken before are a boolean function, the
//! *guard*: a selector is known if only one of its arms is compatible with the guard, and an arm
//! that is not is no case.

use std::collections::BTreeMap;
use std::sync::Arc;

use millstream_base::Type;
use millstream_node::{Registry, SocketType};
use rustc_hash::FxHashMap;

use super::above::Above;
use super::bdd::{FALSE, Function};
use super::cases::{arms_of, only_arm, switch};
use super::computed::Conditions;
use super::formulas::{self, Choosing, choosing};
use super::logic::Logic;
use super::{BodyParts, FineOrder, Firsts, Grain};
use crate::at::is_added;
use crate::model::{InputValue, Named, Node, NodeKind};
use crate::order::{Block, Condition, Cycle, Plain, SelectorAt, components};
use crate::problems::shortened;

/// The maximum number of nodes in all cases of one cycle, and of cases inside each other.
const MAX_COPIES: usize = 1 << 16;
const MAX_INSIDE: usize = 200;

/// The maximum number of selectors to look for at a time.
const MAX_KNOWN: usize = 256;

/// The maximum number of selectors that are compared before one is chosen, besides those that break
/// the same cycle.
const MAX_TRIED: usize = 16;

/// The maximum number of nodes to visit, which takes about a second.
const MAX_EXAMINED: usize = 1 << 18;

/// The hint for a cycle in a combination of selectors, which may be one that cannot occur.
const NEGATE: &str = "remove one of these links; if these selectors never have these values \
                      together, compute one from the other, such as `!c` from `c`";

/// The hint for a cycle about which nothing was proved.
const FEWER: &str = "remove one of these links, or let fewer selectors decide";

/// A selector of switches on a cycle that does not depend on the nodes of the cycle.
struct Selector {
    source: InputValue,
    /// The node whose selector has the most arms, by name.
    node: Arc<str>,
    /// The number of the input of that node.
    input: usize,
    /// The type of the switch.
    ty: Arc<str>,
    /// The type as which the source is read.
    read_as: Type,
    n_arms: usize,
}

/// The search for the cases of one cycle.
pub(super) struct Search<'g, 'd> {
    pub(super) grain: &'g mut Grain<'d>,
    pub(super) registry: &'d Registry,
    pub(super) body: BodyParts<'g>,
    /// What stands for the nodes that the members read.
    pub(super) firsts: Firsts,
    /// The conditions that formulas compute.
    pub(super) conditions: Conditions,
    /// The nodes with all arms, in the order of their positions.
    pub(super) written: Named<Node>,
    /// The type of a switch with two arms.
    pub(super) two_armed: Option<Arc<str>>,
    /// The positions of the nodes in the body.
    pub(super) members: Vec<u32>,
    pub(super) logic: Logic,
    /// Whether some functions of selectors were too large, so that they are bits of their own.
    pub(super) is_partial: bool,
    /// The functions of the arms of selectors by source, type and number of arms; empty if unknown.
    pub(super) arms: FxHashMap<(String, Type, usize), Vec<Function>>,
    pub(super) n_looked_at: usize,
    pub(super) n_copies: usize,
}

/// Nodes in some cases: switches have only the arm that they take.
#[derive(Clone)]
pub(super) struct Part {
    pub(super) nodes: Named<Node>,
    pub(super) taken: Vec<(u32, u32)>,
    pub(super) groups: Vec<(u32, u32, u32)>,
    /// Where these cases are, as a function of what selectors have in common.
    pub(super) guard: Function,
    /// The values of selectors, in words.
    pub(super) when: Vec<String>,
}

impl Part {
    /// Other nodes in the same cases.
    fn with_nodes(&self, nodes: Named<Node>) -> Self {
        let Self { taken, groups, guard, when, .. } = self;
        let (taken, groups) = (taken.clone(), groups.clone());
        Self { nodes, taken, groups, guard: *guard, when: when.clone() }
    }
}

impl Search<'_, '_> {
    /// Leaves only the arm that is taken of switches that take the same one in all cases, also in
    /// groups. Returns whether there are any.
    pub(super) fn take_constants(&mut self, part: &mut Part) -> bool {
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

    /// Whether there are selectors that do not depend on the cycle.
    pub(super) fn has_switches(&mut self, part: &Part) -> bool {
        !self.selectors(part).is_empty()
    }

    /// Finds the functions of all selectors among the nodes, and takes the arms of those that are
    /// the same in all cases. Returns whether there are any.
    pub(super) fn take_known(&mut self, part: &mut Part) -> bool {
        for Selector { source, read_as, n_arms, .. } in self.all_selectors(part) {
            self.functions((&source, read_as), n_arms);
        }
        self.is_partial = self.logic.functions.are_full();
        self.logic.functions.make_room();
        part.guard = self.logic.order();
        let before = part.clone();
        self.reduce(part);
        part.nodes != before.nodes
    }

    /// The functions of the arms of a selector; empty if they are unknown.
    fn functions(&mut self, (source, read_as): (&InputValue, Type), n_arms: usize) -> &[Function] {
        let key = (format!("{source:?}"), read_as, n_arms);
        let Self { grain, body, firsts, conditions, logic, .. } = self;
        let above = Above { grain, body: *body, firsts, conditions };
        self.arms
            .entry(key)
            .or_insert_with(|| logic.arms(above, (source, read_as), n_arms).unwrap_or_default())
    }

    /// The arm of a selector that is the only one compatible with a guard.
    fn known_arm(
        &mut self,
        selector: (&InputValue, Type),
        n_arms: usize,
        guard: Function,
    ) -> Option<usize> {
        if !self.is_outside(selector.0) {
            return None;
        }
        let arms = self.functions(selector, n_arms).to_vec();
        let mut possible = Vec::new();
        for (at, arm) in arms.into_iter().enumerate() {
            if self.logic.functions.and(guard, arm)? != FALSE {
                possible.push(at);
            }
        }
        <[usize; 1]>::try_from(possible).ok().map(|[arm]| arm)
    }

    /// Whether a source depends on no node of the cycle.
    fn is_outside(&self, source: &InputValue) -> bool {
        match source {
            InputValue::Link(link) => !self.written.contains_key(&link.node),
            InputValue::Input(_) => true,
            InputValue::Literal(_) | InputValue::Several(_) => false,
        }
    }

    /// The position of a node of the cycle in the body.
    fn member(&self, name: &str) -> u32 {
        self.members[self.written.get_index_of(name).expect("it is a node of the cycle")]
    }

    /// The blocks of a part, each after those that it depends on.
    pub(super) fn split(&mut self, part: &Part) -> Result<Vec<Block>, Cycle> {
        self.n_looked_at += part.nodes.len();
        let fine = self.grain.plain_order(&part.nodes);
        if fine.cycles.is_empty() {
            return Ok(vec![Block::Plain(self.plain(part, &fine))]);
        }
        let mut blocks = Vec::new();
        for component in self.components(part) {
            let fine = self.grain.plain_order(&component.nodes);
            if !fine.cycles.is_empty() {
                blocks.push(self.split_component(&component, &fine.cycles)?);
            } else if let Some(Block::Plain(before)) = blocks.last_mut() {
                let Plain { order, taken, unread, groups } = self.plain(&component, &fine);
                before.order.extend(order);
                before.taken.extend(taken);
                before.unread.extend(unread);
                before.groups.extend(groups);
            } else {
                blocks.push(Block::Plain(self.plain(&component, &fine)));
            }
        }
        Ok(blocks)
    }

    /// Splits nodes that depend on each other by a selector.
    fn split_component(&mut self, part: &Part, cycles: &[Cycle]) -> Result<Block, Cycle> {
        let selectors = self.selectors(part);
        if selectors.is_empty() && (self.is_partial || self.logic.functions.are_full()) {
            return Err(self.given_up(part));
        }
        if selectors.is_empty() {
            let why = match &part.when[..] {
                [] => String::new(),
                when => format!(" when {}", when.join(" and ")),
            };
            return Err(self.cycle(part, why));
        }
        let is_too_large = self.n_copies > MAX_COPIES
            || self.n_looked_at > MAX_EXAMINED
            || part.when.len() > MAX_INSIDE;
        if is_too_large {
            return Err(self.given_up(part));
        }
        let selectors = self.candidates(part, cycles, selectors);
        let selector = self.best(part, selectors)?;
        let mut arms: Vec<Vec<Block>> = Vec::with_capacity(selector.n_arms);
        for arm in 0..selector.n_arms {
            arms.push(match self.with_arm(part, &selector, arm)? {
                Some(part) => self.split(&part)?,
                None => Vec::new(),
            });
        }
        let nodes: Vec<u32> = part.nodes.keys().map(|name| self.member(name)).collect();
        self.n_copies += nodes.len() * arms.len();
        let at = match Conditions::of(&selector.source) {
            Some(condition) => SelectorAt::Condition(condition),
            None => SelectorAt::Input {
                node: self.member(&selector.node),
                input: selector.input as u32,
            },
        };
        Ok(Block::Split { nodes, selector: at, ty: selector.ty, arms })
    }

    /// A cycle that may or may not be broken.
    fn given_up(&mut self, part: &Part) -> Cycle {
        let why = ", and it was given up to find out whether switches break it in all cases";
        let why = why.to_owned();
        Cycle { hint: Some(FEWER), ..self.cycle(part, why) }
    }

    /// The nodes of a part in an order.
    fn plain(&mut self, part: &Part, fine: &FineOrder) -> Plain {
        let names: Vec<&Arc<str>> = part.nodes.keys().collect();
        let order = fine.order.iter().map(|node| self.member(names[*node as usize])).collect();
        let mut unread: Vec<(u32, u32)> = Vec::new();
        let mut all: Vec<u32> = Vec::with_capacity(part.nodes.len());
        for (name, left) in &part.nodes {
            let member = self.member(name);
            let original = &self.body.nodes[&**name];
            let inputs = self.grain.unread(original, (&self.written[&**name], left));
            let unneeded =
                inputs.into_iter().filter(|(_, name)| !self.conditions.read(member, name));
            unread.extend(unneeded.map(|(input, _)| (member, input)));
            all.push(member);
        }
        all.sort_unstable();
        self.n_copies += all.len();
        let is_here = |node: u32| all.binary_search(&node).is_ok();
        let taken = part.taken.iter().copied().filter(|it| is_here(it.0)).collect();
        let groups = part.groups.iter().copied().filter(|it| is_here(it.0)).collect();
        Plain { order, taken, unread, groups }
    }

    /// The nodes of a part that depend on each other, each set after those that it depends on.
    fn components(&self, part: &Part) -> Vec<Part> {
        let whole = self.grain.parts(&part.nodes, |_| false);
        let component = components(&whole.sorted().order, |node| whole.dependencies_of(node));
        let mut parts: BTreeMap<std::cmp::Reverse<u32>, Part> = BTreeMap::new();
        for ((name, node), number) in part.nodes.iter().zip(&component) {
            let of = parts
                .entry(std::cmp::Reverse(*number))
                .or_insert_with(|| part.with_nodes(Named::new()));
            of.nodes.insert(Arc::clone(name), node.clone());
        }
        parts.into_values().collect()
    }

    /// The selectors of undecided switches, as far as they do not depend on the nodes.
    fn selectors(&mut self, part: &Part) -> Vec<Selector> {
        let mut found: Vec<Selector> = Vec::new();
        for selector in self.all_selectors(part) {
            match found.iter().position(|known| known.source == selector.source) {
                Some(at) if found[at].n_arms >= selector.n_arms => {}
                Some(at) => found[at] = selector,
                None if found.len() == MAX_KNOWN => {}
                None => found.push(selector),
            }
        }
        found.retain(|it| !self.functions((&it.source, it.read_as), it.n_arms).is_empty());
        found
    }

    /// What selects arms in the nodes of a part and depends on no node of the cycle.
    fn all_selectors(&mut self, part: &Part) -> Vec<Selector> {
        let mut found: Vec<Selector> = Vec::new();
        for (name, node) in &part.nodes {
            let mut add = |source: InputValue, input, (n_arms, ty), read_as| {
                let node = Arc::clone(name);
                found.push(Selector { source, node, input, ty, read_as, n_arms });
            };
            match &node.kind {
                NodeKind::Type(ty) => {
                    for (input, source) in self.conditions(&self.body.nodes[&**name], node) {
                        let Some(ty) = self.two_armed.clone() else { continue };
                        add(source, input, (2, ty), Type::BOOL);
                    }
                    let Some(signature) = switch(self.registry, node) else { continue };
                    let socket = &signature.inputs[0];
                    let Some(given) = node.inputs.get(&socket.name) else { continue };
                    let SocketType::Exact(read_as) = socket.ty else { continue };
                    let arms = (arms_of(signature, node).len(), Arc::clone(ty));
                    add(given.value.clone(), 0, arms, read_as);
                }
                NodeKind::Group(group) if !node.muted => {
                    for (socket, given) in node.inputs.iter() {
                        let Some(input) = self.grain.input_of(group, socket) else { continue };
                        let Some(arms) = self.grain.arms_in(group, socket, 0) else { continue };
                        let Some(read_as) = self.read_as(group, socket) else { continue };
                        add(given.value.clone(), input, arms, read_as);
                    }
                }
                NodeKind::Group(_) | NodeKind::Zone(..) | NodeKind::Closure(_) => {}
            }
        }
        found.retain(|selector| selector.n_arms > 1 && self.is_outside(&selector.source));
        found
    }

    /// The type of an input of a group.
    fn read_as(&self, group: &str, input: &str) -> Option<Type> {
        let input = self.grain.group_named(group)?.inputs.get(input)?;
        self.registry.type_named(&input.ty)
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

    /// The selectors to compare. Of many, these are the ones that break a certain cycle whichever
    /// arm they select, as one that breaks all cycles does; and some others.
    fn candidates(
        &mut self,
        part: &Part,
        cycles: &[Cycle],
        mut selectors: Vec<Selector>,
    ) -> Vec<Selector> {
        let shortest = cycles.iter().map(|cycle| &cycle.nodes).min_by_key(|nodes| nodes.len());
        let Some(cycle) = shortest.filter(|_| selectors.len() > MAX_TRIED) else {
            return selectors;
        };
        let mut around = Named::new();
        for node in cycle {
            let (name, node) = part.nodes.get_index(*node as usize).expect("they are its nodes");
            around.insert(Arc::clone(name), node.clone());
        }
        let around = part.with_nodes(around);
        let mut found = Vec::new();
        for selector in self.selectors(&around) {
            let mut breaks = |arm| {
                self.n_looked_at += around.nodes.len();
                let made = self.with_arm(&around, &selector, arm);
                let is_acyclic = |made: Part| self.grain.plain_order(&made.nodes).cycles.is_empty();
                made.is_ok_and(|made| made.is_none_or(is_acyclic))
            };
            if (0..selector.n_arms).all(&mut breaks) {
                // It may have more arms elsewhere.
                let at = selectors.iter().position(|it| it.source == selector.source);
                found.push(at.map_or(selector, |at| selectors.remove(at)));
            }
        }
        let step = selectors.len().div_ceil(MAX_TRIED).max(1);
        found.extend(selectors.into_iter().skip(step / 2).step_by(step));
        found
    }

    /// The selector that leaves the smallest sets of nodes that depend on each other.
    fn best(&mut self, part: &Part, selectors: Vec<Selector>) -> Result<Selector, Cycle> {
        let mut best: Option<(usize, Selector)> = None;
        for selector in selectors {
            if best.is_some() && self.n_looked_at > MAX_EXAMINED {
                break;
            }
            let least = best.as_ref().map_or(usize::MAX, |(least, _)| *least);
            let mut left = 0;
            for arm in 0..selector.n_arms {
                if left >= least {
                    break;
                }
                let Some(part) = self.with_arm(part, &selector, arm)? else { continue };
                self.n_looked_at += part.nodes.len();
                if self.grain.plain_order(&part.nodes).cycles.is_empty() {
                    continue;
                }
                let sizes = self.components(&part).into_iter().map(|it| it.nodes.len());
                left += sizes.filter(|n| *n > 1).map(|n| n * n).sum::<usize>().max(1);
            }
            if left < least {
                best = Some((left, selector));
            }
            if left == 0 {
                break;
            }
        }
        Ok(best.expect("there are selectors").1)
    }

    /// The part in which a selector selects this arm; `None` if it never does.
    fn with_arm(
        &mut self,
        part: &Part,
        selector: &Selector,
        arm: usize,
    ) -> Result<Option<Part>, Cycle> {
        let arms = self.functions((&selector.source, selector.read_as), selector.n_arms);
        let holds = arms[arm];
        let Some(guard) = self.logic.functions.and(part.guard, holds) else {
            return Err(self.given_up(part));
        };
        if guard == FALSE {
            return Ok(None);
        }
        let mut made = Part { guard, ..part.clone() };
        made.when.push(self.in_words(selector, arm));
        self.reduce(&mut made);
        Ok(Some(made))
    }

    /// Leaves only the arms that are compatible with the guard of a part, where there is one.
    fn reduce(&mut self, part: &mut Part) {
        let guard = part.guard;
        let Part { nodes, taken, groups, .. } = part;
        for (name, node) in nodes.iter_mut() {
            let member = self.member(name);
            match node.kind.clone() {
                NodeKind::Type(_) => {
                    if let Some((left, arm)) = self.taken(node, guard) {
                        *node = left;
                        taken.push((member, arm));
                    } else if let Some(left) = self.chosen(node, guard) {
                        *node = left;
                    }
                }
                NodeKind::Group(_) if !node.muted => {
                    let sockets: Vec<_> = node.inputs.iter().map(|it| Arc::clone(it.0)).collect();
                    for socket in sockets {
                        let NodeKind::Group(group) = &node.kind else { continue };
                        let group = Arc::clone(group);
                        let Some((n_arms, _)) = self.grain.arms_in(&group, &socket, 0) else {
                            continue;
                        };
                        let Some(given) = node.inputs.get(&socket).map(|it| it.value.clone())
                        else {
                            continue;
                        };
                        if let Some(read_as) = self.read_as(&group, &socket)
                            && let Some(arm) = self.known_arm((&given, read_as), n_arms, guard)
                            && let Some(input) = self.grain.input_of(&group, &socket)
                            && let Some(group) = self.grain.in_case(&group, &socket, arm, 0)
                        {
                            node.kind = NodeKind::Group(group);
                            groups.push((member, input as u32, arm as u32));
                        }
                    }
                }
                NodeKind::Group(_) | NodeKind::Zone(..) | NodeKind::Closure(_) => {}
            }
        }
    }

    /// A switch with only the arm that it takes under a guard, and the number of the arm.
    fn taken(&mut self, node: &Node, guard: Function) -> Option<(Node, u32)> {
        let signature = switch(self.registry, node).filter(|_| !node.muted)?;
        let SocketType::Exact(read_as) = signature.inputs[0].ty else { return None };
        let given = node.inputs.get(&signature.inputs[0].name)?.value.clone();
        let n_arms = arms_of(signature, node).len();
        let arm = self.known_arm((&given, read_as), n_arms, guard)?;
        only_arm(self.registry, node, &|_| Some(arm))
    }

    /// A formula without the inputs that it does not read where a guard holds.
    fn chosen(&mut self, node: &Node, guard: Function) -> Option<Node> {
        let mut known: Vec<(InputValue, usize)> = Vec::new();
        for (_, source) in self.conditions(node, node) {
            if let Some(arm) = self.known_arm((&source, Type::BOOL), 2, guard) {
                known.push((source, arm));
            }
        }
        if known.is_empty() {
            return None;
        }
        let arm_of = |given: &InputValue| known.iter().find(|it| it.0 == *given).map(|it| it.1);
        formulas::in_case(self.registry, node, &arm_of)
    }

    /// Whether a source certainly is a truth value.
    fn gives_bool(&self, source: &InputValue) -> bool {
        Conditions::of(source).is_some() || self.grain.gives_bool(source, self.body)
    }

    /// Describes in words that a selector selects an arm.
    fn in_words(&self, selector: &Selector, arm: usize) -> String {
        let computed = Conditions::of(&selector.source);
        let source = match &selector.source {
            InputValue::Link(link) => match computed {
                Some(at) => self.condition_in_words(&self.conditions.all[at as usize]),
                None => format!("`{}`", shortened(&link.to_string())),
            },
            InputValue::Input(name) => format!("input `{}`", shortened(name)),
            InputValue::Literal(json) => format!("`{}`", shortened(&json.to_string())),
            InputValue::Several(_) => String::new(),
        };
        let def = self.registry.get(&selector.ty);
        let signature = def.and_then(|def| def.fixed_signature()).expect("the node is a switch");
        match signature.inputs[0].ty {
            SocketType::Exact(ty) if ty == Type::BOOL => format!("{source} is {}", arm == 1),
            // An index outside of the arms selects the nearest one.
            _ if arm == 0 => format!("{source} is at most 0"),
            _ if arm + 1 == selector.n_arms => format!("{source} is at least {arm}"),
            _ => format!("{source} is {arm}"),
        }
    }

    /// A condition that a formula computes; equal texts in groups may be different conditions.
    fn condition_in_words(&self, condition: &Condition) -> String {
        let text = shortened(&condition.text);
        let (name, _) = self.body.nodes.get_index(condition.node as usize).expect("it is a member");
        if is_added(name) {
            format!("`{text}` of `{}`", shortened(name))
        } else {
            format!("`{text}`")
        }
    }

    /// A cycle of a part.
    pub(super) fn cycle(&mut self, part: &Part, why: String) -> Cycle {
        let FineOrder { cycles, .. } = self.grain.plain_order(&part.nodes);
        let nodes = cycles.into_iter().next().map(|cycle| cycle.nodes).unwrap_or_default();
        let names: Vec<&Arc<str>> = part.nodes.keys().collect();
        let nodes = nodes.into_iter().map(|node| self.member(names[node as usize])).collect();
        let hint = (part.when.len() > 1).then_some(NEGATE);
        Cycle { nodes, why, hint }
    }
}
