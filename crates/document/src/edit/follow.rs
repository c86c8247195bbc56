//! Following the edits of a document: the changes, and queries for programs that keep data for each
//! node.
//!
//! Nodes and groups are identified here by *slots*: small numbers that stay the same as long as the
//! node or group exists, whatever its name.

use millstream_node::interface::{CALL, CALLED};
use millstream_node::signature::Widths;
use smallvec::SmallVec;

use super::Editor;
use super::index::{BodyKey, User};
use super::order::Rank;
use crate::model::{InputDef, InputValue, Named, Node, NodeKind, OutputDef};

/// A change made by an edit. Renaming a node does not change its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// A node was added, or its content changed.
    Node {
        /// The body of the node.
        body: BodyKey,
        /// The slot of the node.
        slot: u32,
    },
    /// A node was removed; its slot may be reused.
    Gone {
        /// The body of the node.
        body: BodyKey,
        /// The slot of the node.
        slot: u32,
    },
    /// A node was renamed.
    NodeName {
        /// The body of the node.
        body: BodyKey,
    },
    /// Inputs of a body were added, removed, changed or renamed.
    Inputs {
        /// The body.
        body: BodyKey,
    },
    /// Outputs of a body were added, removed, changed or renamed.
    Outputs {
        /// The body.
        body: BodyKey,
    },
    /// A group was added, with all its nodes.
    GroupCame {
        /// The group.
        body: BodyKey,
    },
    /// A group was removed, with all its nodes.
    GroupGone {
        /// The group.
        body: BodyKey,
    },
    /// A group was renamed.
    GroupName {
        /// The group.
        body: BodyKey,
    },
    /// The title, the frames per second or the first frame changed.
    Head,
}

impl Editor {
    /// The inputs of a body.
    ///
    /// # Panics
    /// If there is no such body; the same holds for the other queries.
    pub fn inputs_of_body(&self, body: BodyKey) -> &Named<InputDef> {
        self.view(body).inputs
    }

    /// The outputs of a body.
    pub fn outputs_of_body(&self, body: BodyKey) -> &Named<OutputDef> {
        self.view(body).outputs
    }

    /// The nodes of a body.
    pub fn nodes_of_body(&self, body: BodyKey) -> &Named<Node> {
        self.view(body).nodes
    }

    /// The body of a group, if there is one of this name.
    pub fn body_of(&self, group: &str) -> Option<BodyKey> {
        self.document.groups.slot_of(group)
    }

    /// The rule by which generics in a body get their types.
    pub fn widths_in_body(&self, body: BodyKey) -> Widths {
        let group = self.document.groups.at(body);
        group.map_or(Widths::Kept, |(_, group)| group.widths())
    }

    /// The id of the node in a slot.
    pub fn id_at(&self, body: BodyKey, slot: u32) -> u64 {
        self.index(body).ids[slot as usize]
    }

    /// The rank of a node in a topological order.
    pub fn rank_of(&self, body: BodyKey, slot: u32) -> Rank {
        self.index(body).order.rank(slot)
    }

    /// The readers of a node, once for each link.
    pub fn readers_of(&self, body: BodyKey, node: &str) -> SmallVec<[User; 4]> {
        self.index(body).of_nodes.get(node).into_iter().flatten().copied().collect()
    }

    /// The readers of an input of a body, once for each link.
    pub fn readers_of_input(&self, body: BodyKey, input: &str) -> SmallVec<[User; 4]> {
        self.index(body).of_inputs.get(input).into_iter().flatten().copied().collect()
    }

    /// The nodes that use a group, by body and slot; empty for the document itself.
    pub fn users_of_group(&self, body: BodyKey) -> SmallVec<[(BodyKey, u32); 4]> {
        self.group_name(body).map(|group| self.uses_of(group)).unwrap_or_default()
    }

    /// Those of them that have the outputs of the group: all but closures.
    pub(super) fn with_outputs_of(&self, body: BodyKey) -> SmallVec<[(BodyKey, u32); 4]> {
        let mut users = self.users_of_group(body);
        users.retain(|(body, slot)| {
            let node = self.nodes(*body).at(*slot).map(|(_, node)| &node.kind);
            !matches!(node, Some(NodeKind::Closure(_)))
        });
        users
    }

    /// The calls that are linked to the closures among these nodes, except to those that capture
    /// this input of their group.
    pub(super) fn calls_giving(&self, uses: &[(BodyKey, u32)], input: &str) -> Vec<(BodyKey, u32)> {
        let mut calls = Vec::new();
        for (body, slot) in uses {
            let (name, node) = self.nodes(*body).at(*slot).expect("uses exist");
            if !matches!(node.kind, NodeKind::Closure(_)) || node.inputs.get(input).is_some() {
                continue;
            }
            for user in self.readers_of(*body, name) {
                let User::Node(at) = user else { continue };
                let (_, reader) = self.nodes(*body).at(at).expect("readers exist");
                let is_called = reader.inputs.get(CALLED).is_some_and(
                    |source| matches!(&source.value, InputValue::Link(link) if link.node == *name),
                );
                let is_call = matches!(&reader.kind, NodeKind::Type(ty) if **ty == *CALL);
                if is_call && is_called && !calls.contains(&(*body, at)) {
                    calls.push((*body, at));
                }
            }
        }
        calls
    }
}
