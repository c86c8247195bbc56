//! Following a document that is edited: what changed, and what programs that keep something for
//! each node need to know of it.
//!
//! Nodes and groups are named by *slots* here, which are small numbers that stay while the node or
//! group is there, whatever it is called.

use smallvec::SmallVec;

use super::Editor;
use super::index::{BodyKey, User};
use super::order::Rank;
use crate::model::{InputDef, Named, Node, OutputDef};

/// Something that an edit changed. Names are no content of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// A node came, or what it does or reads changed.
    Node {
        /// The body it is in.
        body: BodyKey,
        /// Its slot.
        slot: u32,
    },
    /// A node went; its slot may be taken by another one.
    Gone {
        /// The body it was in.
        body: BodyKey,
        /// Its slot.
        slot: u32,
    },
    /// A node has another name.
    NodeName {
        /// The body it is in.
        body: BodyKey,
    },
    /// Inputs of a body came, went, changed, or have other names.
    Inputs {
        /// The body.
        body: BodyKey,
    },
    /// Outputs of a body came, went, changed, or have other names.
    Outputs {
        /// The body.
        body: BodyKey,
    },
    /// A group came, with all its nodes.
    GroupCame {
        /// The group.
        body: BodyKey,
    },
    /// A group went, with all its nodes.
    GroupGone {
        /// The group.
        body: BodyKey,
    },
    /// Title, frames per second or first frame.
    Head,
}

impl Editor {
    /// The inputs of a body.
    ///
    /// # Panics
    /// If there is no such body; so do the other queries.
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

    /// The id of a node, by its slot.
    pub fn id_at(&self, body: BodyKey, slot: u32) -> u64 {
        self.index(body).ids[slot as usize]
    }

    /// Where a node stands in an order in which each node stands behind what it depends on.
    pub fn rank_of(&self, body: BodyKey, slot: u32) -> Rank {
        self.index(body).order.rank(slot)
    }

    /// Who reads a node, once for each time.
    pub fn readers_of(&self, body: BodyKey, node: &str) -> SmallVec<[User; 4]> {
        self.index(body).of_nodes.get(node).into_iter().flatten().copied().collect()
    }

    /// Who reads an input of a body, once for each time.
    pub fn readers_of_input(&self, body: BodyKey, input: &str) -> SmallVec<[User; 4]> {
        self.index(body).of_inputs.get(input).into_iter().flatten().copied().collect()
    }

    /// The nodes that use a group, by body and slot.
    pub fn users_of_group(&self, body: BodyKey) -> SmallVec<[(BodyKey, u32); 4]> {
        self.group_name(body).map(|name| self.uses_of(name)).unwrap_or_default()
    }
}
