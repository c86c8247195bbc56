//! The index of the editor: readers, ids and topological order.

use std::collections::HashMap;
use std::sync::Arc;

use millstream_node::Registry;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::Name;
use super::order::Order;
use crate::model::{Document, GroupDef, InputDef, Named, Node, NodeKind, OutputDef};
use crate::order::sorted;
use crate::references::{Reference, reference_of, references};

/// The highest id of a node, which a program that has only floats can represent exactly.
pub const MAX_ID: u64 = (1 << 53) - 1;

/// The key of a body: the slot of its group, or [`ROOT`].
pub type BodyKey = u32;

/// The body outside of groups.
pub const ROOT: BodyKey = u32::MAX;

/// A reader in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum User {
    /// The node in this slot.
    Node(u32),
    /// The output in this slot.
    Output(u32),
}

/// The readers by name, with an entry for each link.
type Users = HashMap<Name, Vec<User>>;

/// The index of one body.
#[derive(Debug, Default)]
pub(super) struct BodyIndex {
    /// The readers of nodes, including missing ones.
    pub(super) of_nodes: Users,
    /// The readers of inputs of the body.
    pub(super) of_inputs: Users,
    /// The id of the node in each slot.
    pub(super) ids: Vec<u64>,
    /// The dependencies and the topological order of the nodes.
    pub(super) order: Order,
}

impl BodyIndex {
    /// Adds a reference of a node or output.
    pub(super) fn add(&mut self, reference: Reference<'_>, user: User) {
        let users = match reference {
            Reference::Link(link) => match self.of_nodes.get_mut(&link.node) {
                Some(users) => users,
                None => self.of_nodes.entry(Arc::clone(&link.node)).or_default(),
            },
            Reference::Input(name) => match self.of_inputs.get_mut(name) {
                Some(users) => users,
                None => self.of_inputs.entry(Arc::clone(name)).or_default(),
            },
        };
        users.push(user);
    }

    /// Removes a reference of a node or output.
    pub(super) fn remove(&mut self, reference: Reference<'_>, user: User) {
        let (map, name) = match reference {
            Reference::Link(link) => (&mut self.of_nodes, &link.node),
            Reference::Input(name) => (&mut self.of_inputs, name),
        };
        let Some(users) = map.get_mut(name) else { return };
        // The last link is most often the first to be removed.
        if let Some(at) = users.iter().rposition(|known| *known == user) {
            users.swap_remove(at);
        }
        if users.is_empty() {
            map.remove(name);
        }
    }

    /// The readers of a node, without repetitions.
    pub(super) fn users_of(&self, node: &str) -> Vec<User> {
        distinct(self.of_nodes.get(node))
    }

    /// The readers of an input of the body, without repetitions.
    pub(super) fn users_of_input(&self, input: &str) -> Vec<User> {
        distinct(self.of_inputs.get(input))
    }
}

fn distinct(users: Option<&Vec<User>>) -> Vec<User> {
    let mut users = users.cloned().unwrap_or_default();
    users.sort_unstable();
    users.dedup();
    users
}

/// A view of a body of a document.
#[derive(Clone, Copy)]
pub(super) struct BodyView<'d> {
    pub(super) inputs: &'d Named<InputDef>,
    pub(super) outputs: &'d Named<OutputDef>,
    pub(super) nodes: &'d Named<Node>,
}

impl<'d> BodyView<'d> {
    pub(super) fn root(document: &'d Document) -> Self {
        Self { inputs: &document.inputs, outputs: &document.outputs, nodes: &document.nodes }
    }

    pub(super) fn group(group: &'d GroupDef) -> Self {
        Self { inputs: &group.inputs, outputs: &group.outputs, nodes: &group.nodes }
    }

    /// The index of the body without ids, and a cycle of nodes in the direction of the values, if
    /// there is one.
    pub(super) fn index(self, registry: &Registry) -> (BodyIndex, Option<Vec<u32>>) {
        let mut index = BodyIndex::default();
        for (slot, _, node) in self.nodes.iter_slots() {
            for (_, input) in node.inputs.iter() {
                references(input).for_each(|reference| index.add(reference, User::Node(slot)));
            }
        }
        for (slot, _, output) in self.outputs.iter_slots() {
            index.add(reference_of(output), User::Output(slot));
        }
        let n_slots = self.nodes.n_slots();
        for slot in 0..n_slots as u32 {
            index.order.set_sources(slot, &sources_of(self.nodes, registry, slot));
        }
        let order = &index.order;
        let count = |slot: u32| order.sources(slot).len() as u32;
        let nth = |slot: u32, k: u32| Some(order.sources(slot)[k as usize]);
        // Some spare room, so that the first added node does not copy all ids.
        index.ids = Vec::with_capacity(n_slots + n_slots / 8);
        index.ids.resize(n_slots, 0);
        let sorted = sorted(n_slots, count, nth);
        index.order.rank_all(&sorted.order);
        let cycle = sorted.cycles.into_iter().next().map(|mut cycle| {
            cycle.reverse();
            cycle
        });
        (index, cycle)
    }
}

/// The socket of a node whose value is used in later ticks only.
pub fn delayed<'r>(registry: &'r Registry, node: &Node) -> Option<&'r str> {
    match &node.kind {
        NodeKind::Type(ty) if !node.muted => registry.get(ty)?.delayed,
        NodeKind::Type(_) | NodeKind::Group(_) | NodeKind::Repeat(_) => None,
    }
}

/// The slots of the nodes that the node in a slot depends on, with repetitions.
pub(super) fn sources_of(
    nodes: &Named<Node>,
    registry: &Registry,
    slot: u32,
) -> SmallVec<[u32; 8]> {
    let Some((_, node)) = nodes.at(slot) else { return SmallVec::new() };
    let delayed = delayed(registry, node);
    let sockets = node.inputs.iter().filter(|(socket, _)| delayed != Some(&***socket));
    let links = sockets.flat_map(|(_, input)| references(input));
    links
        .filter_map(|reference| match reference {
            Reference::Link(link) => nodes.slot_of(&link.node),
            Reference::Input(_) => None,
        })
        .collect()
}

/// The body and the slot of each node, by id.
pub(super) type ById = FxHashMap<u64, (BodyKey, u32)>;
