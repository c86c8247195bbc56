//! Groups in which the selectors of switches are known.
//!
//! A switch inside a group may break a cycle outside it, if its selector is an input of the group.
//! In a case of the cycle, the node uses another group, in which the switch has only the arm it
//! takes; the same holds for switches in nested groups that receive the same input.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Grain;
use super::cases::{arms_of, only_arm, switch};
use crate::model::{GroupDef, InputValue, Node, NodeKind};

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
}

impl InCases {
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.positions.get(name).copied()
    }

    pub(super) fn group(&self, at: usize) -> Option<&GroupDef> {
        self.groups.get(at)
    }
}

/// The sockets through which a node that uses a group passes on an input of the enclosing group.
fn sockets_given<'n>(node: &'n Node, input: &str) -> impl Iterator<Item = &'n Arc<str>> {
    let gives =
        move |value: &InputValue| matches!(value, InputValue::Input(name) if **name == *input);
    let all = node.inputs.iter().filter(move |(_, given)| gives(&given.value));
    all.map(|(socket, _)| socket).collect::<Vec<_>>().into_iter()
}

impl Grain<'_> {
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
        let def = self.group_named(group).filter(|_| depth < MAX_NESTED)?;
        let mut most: Option<Arms> = None;
        let mut inner: Vec<Read> = Vec::new();
        for node in def.nodes.values() {
            match (&node.kind, switch(self.registry, node)) {
                (NodeKind::Type(ty), Some(signature)) => {
                    let selector = node.inputs.get(&signature.inputs[0].name);
                    let is_it = selector.is_some_and(
                        |it| matches!(&it.value, InputValue::Input(name) if name == input),
                    );
                    let n = arms_of(signature, node).len();
                    if is_it && n > most.as_ref().map_or(1, |(most, _)| *most) {
                        most = Some((n, Arc::clone(ty)));
                    }
                }
                (NodeKind::Group(name), _) if !node.muted => {
                    let sockets = sockets_given(node, input);
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
        let mut def = self.group_named(group).filter(|_| depth < MAX_NESTED)?.clone();
        let mut differs = false;
        for node in def.nodes.values_mut() {
            let selector = InputValue::Input(Arc::clone(input));
            if let Some(left) = only_arm(self.registry, node, &selector, arm) {
                (*node, differs) = (left.0, true);
                continue;
            }
            let sockets: Vec<Arc<str>> = sockets_given(node, input).cloned().collect();
            for socket in sockets {
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
        // No author can write such a name.
        let name: Arc<str> = format!("{group}\0{input}={arm}").into();
        let groups = &mut self.in_cases.groups;
        self.in_cases.positions.insert(Arc::clone(&name), groups.len());
        groups.push(def);
        self.in_cases.known.insert(key, Some(Arc::clone(&name)));
        Some(name)
    }

    fn group_named(&self, name: &str) -> Option<&GroupDef> {
        let in_case = || self.in_cases.group(self.in_cases.position(name)?);
        self.document.groups.get(name).or_else(in_case)
    }
}
