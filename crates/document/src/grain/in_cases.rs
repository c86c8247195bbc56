//! Groups in which the selectors of switches are known.
//!
//! A switch inside a group may break a cycle outside it, if its selector is an input of the group.
//! In a case of the cycle, the node uses another group, in which the switch has only the arm it
//! takes; the same holds for switches in nested groups that receive the same input. Switches that
//! take the same arm in all cases are reduced to it first.

use std::sync::Arc;

use millstream_base::Type;
use rustc_hash::FxHashMap;

use super::cases::{arm_of, arms_of, constant_switch, only_arm, selector_of, switch};
use super::formulas::{self, choosing, two_armed, without_unread};
use super::{BodyParts, Grain};
use crate::model::{GroupDef, InputDef, InputValue, Node, NodeKind};

/// Groups nested more deeply are left unchanged.
pub(crate) const MAX_NESTED: usize = 64;

/// A group and one of its inputs, by name.
type Read = (Arc<str>, Arc<str>);

/// The maximum number of arms among some switches, and the type of a switch that has this many.
pub(super) type Arms = (usize, Arc<str>);

/// The groups in the cases seen so far.
#[derive(Default)]
pub(super) struct InCases {
    groups: Vec<GroupDef>,
    positions: FxHashMap<Arc<str>, usize>,
    /// Names by input and arm; `None` if the group is the same in all cases.
    known: FxHashMap<(Read, usize), Option<Arc<str>>>,
    /// The arms of the switches that an input selects.
    arms: FxHashMap<Read, Option<Arms>>,
    /// The names of groups in which switches with a constant selector have only the arm they take;
    /// `None` if a group has none.
    reduced: FxHashMap<Arc<str>, Option<Arc<str>>>,
}

/// What is the same in all cases at a node.
#[derive(Default)]
pub(super) struct Reduced {
    /// The arm that a switch takes.
    pub(super) arm: Option<u32>,
    /// The inputs of a group with constant values, and the arms that they select in the group.
    pub(super) inputs: Vec<(u32, u32)>,
}

impl InCases {
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.positions.get(name).copied()
    }

    pub(super) fn group(&self, at: usize) -> Option<&GroupDef> {
        self.groups.get(at)
    }

    /// Adds a group under a name that no author can write.
    fn add(&mut self, name: Arc<str>, group: GroupDef) -> Arc<str> {
        self.positions.insert(Arc::clone(&name), self.groups.len());
        self.groups.push(group);
        name
    }
}

/// Whether an input of a group is a truth value.
fn gives_bool(group: &GroupDef, input: &str) -> bool {
    group.inputs.get(input).is_some_and(|input| *input.ty == *Type::BOOL.name())
}

impl Grain<'_> {
    /// The arms that the sources of a node in a group select if an input of the group selects this
    /// arm, by socket. Nodes of the group may pass on or negate the input before.
    fn arms_given(
        &mut self,
        (group, node): (&GroupDef, &Node),
        input: &str,
        arm: usize,
    ) -> Vec<(InputValue, usize)> {
        let mut arms = Vec::new();
        for (_, given) in node.inputs.iter() {
            let (source, is_negated) = self.origin(&given.value, BodyParts::of_group(group), 0);
            if !matches!(&source, InputValue::Input(name) if **name == *input) {
                continue;
            }
            if !is_negated {
                arms.push((given.value.clone(), arm));
            } else if gives_bool(group, input) {
                arms.push((given.value.clone(), usize::from(arm == 0)));
            }
        }
        arms
    }

    /// A node in a group, with the literals that nodes of the group pass on to it.
    fn with_literals(&mut self, group: &GroupDef, node: &Node) -> Node {
        let mut made = node.clone();
        for input in made.inputs.values_mut() {
            if let (literal @ InputValue::Literal(_), _) =
                self.origin(&input.value, BodyParts::of_group(group), 0)
            {
                input.value = literal;
            }
        }
        made
    }

    /// Leaves only the arm that is taken if the node is a switch that takes the same one in all
    /// cases, or uses a group with such switches; `None` if nothing changes.
    pub(super) fn reduce(&mut self, node: &mut Node, depth: usize) -> Option<Reduced> {
        if let Some((left, arm)) = constant_switch(self.registry, node) {
            *node = left;
            return Some(Reduced { arm: Some(arm), inputs: Vec::new() });
        }
        if let Some(left) = without_unread(self.registry, node) {
            *node = left;
            return Some(Reduced::default());
        }
        let NodeKind::Group(written) = &node.kind else { return None };
        if node.muted {
            return None;
        }
        let written = Arc::clone(written);
        let mut reduced = None;
        if let Some(inner) = self.reduced_group(&written, depth) {
            node.kind = NodeKind::Group(inner);
            reduced = Some(Reduced::default());
        }
        for (at, input, arm) in self.constant_inputs(&written, node) {
            if let NodeKind::Group(group) = &node.kind
                && let Some(group) = self.in_case(&Arc::clone(group), &input, arm, depth)
            {
                node.kind = NodeKind::Group(group);
                reduced.get_or_insert_default().inputs.push((at as u32, arm as u32));
            }
        }
        reduced
    }

    /// The inputs of the group that a node uses whose value is a literal or a default, and the arms
    /// that they select.
    fn constant_inputs(&self, group: &str, node: &Node) -> Vec<(usize, Arc<str>, usize)> {
        let inputs = self.group_named(group).into_iter().flat_map(|group| group.inputs.iter());
        let arm = |(name, input): (&Arc<str>, &InputDef)| {
            let json = match node.inputs.get(name).map(|given| &given.value) {
                Some(InputValue::Literal(json)) => json,
                Some(_) => return None,
                None => input.default.as_ref()?,
            };
            arm_of(&selector_of(self.registry.type_named(&input.ty)?, json)?)
        };
        let all = inputs.enumerate();
        all.filter_map(|(at, input)| Some((at, Arc::clone(input.0), arm(input)?))).collect()
    }

    /// The name of a group whose switches have only the arm they take if that is the same in all
    /// cases; `None` if there are no such switches.
    fn reduced_group(&mut self, group: &Arc<str>, depth: usize) -> Option<Arc<str>> {
        if let Some(known) = self.in_cases.reduced.get(group) {
            return known.clone();
        }
        self.in_cases.reduced.insert(Arc::clone(group), None);
        let written = self.group_named(group).filter(|_| depth < MAX_NESTED)?.clone();
        let mut def = written.clone();
        let mut differs = false;
        for node in def.nodes.values_mut() {
            let mut known = self.with_literals(&written, node);
            if self.reduce(&mut known, depth + 1).is_some() {
                (*node, differs) = (known, true);
            }
        }
        if !differs {
            return None;
        }
        let name = self.in_cases.add(format!("{group}\0").into(), def);
        self.in_cases.reduced.insert(Arc::clone(group), Some(Arc::clone(&name)));
        // It cannot be reduced any more.
        self.in_cases.reduced.insert(Arc::clone(&name), None);
        Some(name)
    }

    /// The maximum number of arms among the switches in a group that one of its inputs selects, and
    /// the type of such a switch.
    pub(super) fn arms_in(
        &mut self,
        group: &Arc<str>,
        input: &Arc<str>,
        depth: usize,
    ) -> Option<Arms> {
        let key = (Arc::clone(group), Arc::clone(input));
        if let Some(known) = self.in_cases.arms.get(&key) {
            return known.clone();
        }
        self.in_cases.arms.insert(key.clone(), None);
        let def = self.group_named(group).filter(|_| depth < MAX_NESTED)?.clone();
        let mut most: Option<Arms> = None;
        let mut inner: Vec<Read> = Vec::new();
        let is_bool = gives_bool(&def, input);
        for node in def.nodes.values() {
            let given = self.arms_given((&def, node), input, 0);
            let reads = |node: &Node, socket: &str| {
                let source = node.inputs.get(socket);
                source.is_some_and(|it| given.iter().any(|(source, _)| *source == it.value))
            };
            let choosing = is_bool.then(|| choosing(self.registry, node)).flatten();
            let is_condition = choosing.is_some_and(|it| {
                let mut conditions = it.formula.conditions().into_iter();
                conditions.any(|condition| reads(node, &it.inputs[condition as usize]))
            });
            if is_condition && most.is_none() {
                most = two_armed(self.registry).map(|ty| (2, ty));
            }
            match (&node.kind, switch(self.registry, node)) {
                (NodeKind::Type(ty), Some(signature)) if !node.muted => {
                    let is_it = reads(node, &signature.inputs[0].name);
                    let n = arms_of(signature, node).len();
                    if is_it && n > most.as_ref().map_or(1, |(most, _)| *most) {
                        most = Some((n, Arc::clone(ty)));
                    }
                }
                (NodeKind::Group(name), _) if !node.muted => {
                    let sockets = node.inputs.iter().map(|(socket, _)| socket);
                    let sockets = sockets.filter(|socket| reads(node, socket));
                    inner.extend(sockets.map(|socket| (Arc::clone(name), Arc::clone(socket))));
                }
                _ => {}
            }
        }
        for (name, socket) in inner {
            let found = self.arms_in(&name, &socket, depth + 1);
            most = most.into_iter().chain(found).max_by_key(|(n, _)| *n);
        }
        self.in_cases.arms.insert(key, most.clone());
        most
    }

    /// The name of a group in the case in which an input selects an arm; `None` if the group is the
    /// same in all cases.
    pub(super) fn in_case(
        &mut self,
        group: &Arc<str>,
        input: &Arc<str>,
        arm: usize,
        depth: usize,
    ) -> Option<Arc<str>> {
        let key = ((Arc::clone(group), Arc::clone(input)), arm);
        if let Some(known) = self.in_cases.known.get(&key) {
            return known.clone();
        }
        self.in_cases.known.insert(key.clone(), None);
        let written = self.group_named(group).filter(|_| depth < MAX_NESTED)?.clone();
        let mut def = written.clone();
        let mut differs = false;
        let is_bool = gives_bool(&def, input);
        for node in def.nodes.values_mut() {
            let given = self.arms_given((&written, node), input, arm);
            let arm_of = |source: &InputValue| {
                given.iter().find(|(known, _)| known == source).map(|(_, arm)| *arm)
            };
            if is_bool && let Some(left) = formulas::in_case(self.registry, node, &arm_of) {
                (*node, differs) = (left, true);
                continue;
            }
            if let Some(left) = only_arm(self.registry, node, &arm_of) {
                (*node, differs) = (left.0, true);
                continue;
            }
            let sockets = node.inputs.iter();
            let sockets: Vec<(Arc<str>, usize)> = sockets
                .filter_map(|(socket, source)| Some((Arc::clone(socket), arm_of(&source.value)?)))
                .collect();
            for (socket, arm) in sockets {
                if let NodeKind::Group(name) = &node.kind
                    && !node.muted
                    && let Some(name) = self.in_case(&Arc::clone(name), &socket, arm, depth + 1)
                {
                    (node.kind, differs) = (NodeKind::Group(name), true);
                }
            }
        }
        if !differs {
            return None;
        }
        let name = self.in_cases.add(format!("{group}\0{input}={arm}").into(), def);
        self.in_cases.known.insert(key, Some(Arc::clone(&name)));
        Some(name)
    }

    pub(super) fn group_named(&self, name: &str) -> Option<&GroupDef> {
        let in_case = || self.in_cases.group(self.in_cases.position(name)?);
        self.document.groups.get(name).or_else(in_case)
    }
}
