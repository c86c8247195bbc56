//! Edits: changes of a document as data, each with its inverse.
//!
//! An [`Edit`] names what it changes; as JSON it is an object with the key `edit`, and parts of
//! documents are written in it as in documents. An [`Editor`] holds a document and applies edits to
//! it. What an edit costs follows what it touches, not the size of the document. An edit that makes
//! no sense is refused with place and hint, and then the document is as it was.
//!
//! Edits keep documents whole: links lead to nodes that are there, groups that are used exist,
//! nothing depends on itself. What a document *means* is not their matter: a node may lack an
//! input, and a link may join types that do not convert; `check` tells.
//!
//! ```
//! use std::sync::Arc;
//! use millstream_document::{Document, edit::{Edit, Editor}};
//!
//! let registry = Arc::new(millstream_node::Registry::new());
//! let mut editor = Editor::new(Document::new("Empty"), registry);
//! let edit: Edit = serde_json::from_str(
//!     r#"{ "edit": "add_input", "name": "x", "def": { "type": "f32", "default": 2 } }"#,
//! )?;
//! let done = editor.apply(&edit)?;
//! assert_eq!(&*editor.document().inputs["x"].ty, "f32");
//! editor.revert(&done.inverse);
//! assert!(editor.document().inputs.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod border;
#[cfg(test)]
mod border_tests;
mod change;
mod compose;
mod editor;
mod error;
mod face;
mod follow;
mod group;
mod index;
mod json;
mod order;
#[cfg(test)]
mod properties;
mod sources;
#[cfg(test)]
mod tests;
mod types;
mod ungroup;
mod whole;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use editor::{Applied, Copied, Editor, Ids};
pub use error::EditError;
pub use follow::Change;
pub use index::{BodyKey, MAX_ID, ROOT, User, delayed};
pub use order::Rank;
pub use sources::{Reference, reference_of, references};

use crate::model::{
    GroupDef, Input, InputDef, InputValue, Link, Node, NodeKind, OutputDef, Setting,
};

/// A name; shared, since documents share theirs.
type Name = Arc<str>;

/// A change of a document.
///
/// `within` names the group whose content is changed; without it the document's own is.
/// `before` names what a new part is put in front of; without it the part goes last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "edit", rename_all = "snake_case", deny_unknown_fields)]
pub enum Edit {
    /// Adds nodes, with links to each other or to others.
    AddNodes {
        /// The group that is changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<Name>,
        /// The nodes.
        nodes: Vec<NewNode>,
    },
    /// Removes nodes and the links that lead from them to others. Refused where an output of the
    /// document or group reads one.
    RemoveNodes {
        /// The group that is changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<Name>,
        /// Their names.
        nodes: Vec<Name>,
    },
    /// Links a socket, writes a literal there, or leaves it empty.
    SetInput {
        /// The group that is changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<Name>,
        /// The node.
        node: Name,
        /// The socket.
        input: Name,
        /// What goes in, as documents write it; nothing if it is left out.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            deserialize_with = "json::given"
        )]
        to: Option<Input>,
        /// The socket before which a new entry is written.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Name>,
    },
    /// Changes a setting of a node.
    SetSetting {
        /// The group that is changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<Name>,
        /// The node.
        node: Name,
        /// The setting.
        setting: Name,
        /// The value; the default holds if it is left out.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            deserialize_with = "json::given"
        )]
        to: Option<Setting>,
        /// The setting before which a new entry is written.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Name>,
    },
    /// Mutes a node or lets it work again.
    Mute {
        /// The group that is changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<Name>,
        /// The node.
        node: Name,
        /// Whether it passes its inputs through.
        muted: bool,
    },
    /// Gives a node another name; links follow.
    RenameNode {
        /// The group that is changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<Name>,
        /// The node.
        node: Name,
        /// The new name.
        to: Name,
    },
    /// Makes a node one of another type. Sockets and settings that the new type has too stay,
    /// others go; links to outputs that it lacks lead to its first output.
    ReplaceType {
        /// The group that is changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<Name>,
        /// The node.
        node: Name,
        /// The new type, or a group.
        kind: NodeKind,
    },
    /// Makes a node one of another type and version, whatever its sockets, settings and links.
    SetType {
        /// The group that is changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<Name>,
        /// The node.
        node: Name,
        /// The new type, or a group.
        kind: NodeKind,
        /// Version of the node type.
        version: u32,
    },
    /// Adds an input of the document or group.
    AddInput {
        /// The group that is changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<Name>,
        /// Its name.
        name: Name,
        /// Its definition.
        def: InputDef,
        /// The input before which it stands.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Name>,
    },
    /// Removes an input of the document or group, and the links from it.
    RemoveInput {
        /// The group that is changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<Name>,
        /// Its name.
        name: Name,
    },
    /// Changes type, default, range or description of an input.
    ChangeInput {
        /// The group that is changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<Name>,
        /// Its name.
        name: Name,
        /// Its new definition.
        def: InputDef,
    },
    /// Gives an input of the document or group another name; links, and nodes that use the group,
    /// follow.
    RenameInput {
        /// The group that is changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<Name>,
        /// Its name.
        name: Name,
        /// The new name.
        to: Name,
    },
    /// Adds an output of the document or group.
    AddOutput {
        /// The group that is changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<Name>,
        /// Its name.
        name: Name,
        /// Its definition.
        def: OutputDef,
        /// The output before which it stands.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Name>,
    },
    /// Removes an output of the document or group, and the links from it where the group is used.
    RemoveOutput {
        /// The group that is changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<Name>,
        /// Its name.
        name: Name,
    },
    /// Changes type, source or description of an output.
    ChangeOutput {
        /// The group that is changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<Name>,
        /// Its name.
        name: Name,
        /// Its new definition.
        def: OutputDef,
    },
    /// Gives an output of the document or group another name; links from nodes that use the group
    /// follow.
    RenameOutput {
        /// The group that is changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<Name>,
        /// Its name.
        name: Name,
        /// The new name.
        to: Name,
    },
    /// Adds a group that no node uses yet.
    AddGroup {
        /// Its name.
        name: Name,
        /// Its content.
        def: Box<GroupDef>,
        /// The group before which it stands.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Name>,
        /// The ids of its nodes in order; new ones if they are left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ids: Option<Vec<u64>>,
    },
    /// Removes a group that no node uses.
    RemoveGroup {
        /// Its name.
        name: Name,
    },
    /// Gives a group another name; nodes that use it follow.
    RenameGroup {
        /// Its name.
        name: Name,
        /// The new name.
        to: Name,
    },
    /// Moves nodes into a new group that stands in their place.
    Group {
        /// The group that is changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<Name>,
        /// The nodes.
        nodes: Vec<Name>,
        /// Name of the new group.
        name: Name,
        /// Name of the node that uses it; that of the group if it is left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<Name>,
    },
    /// Puts the content of a group in the place of a node that uses it. The group goes if nothing
    /// else uses it.
    Ungroup {
        /// The group that is changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<Name>,
        /// The node.
        node: Name,
    },
    /// Replaces what editors keep about how the document looks.
    SetView {
        /// The new content as JSON text; nothing if it is left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<Name>,
    },
    /// Sets one entry of what editors keep, and leaves the rest as it is.
    SetViewEntry {
        /// The keys that lead to it, from the outermost object inwards; objects that are not there
        /// are made.
        keys: Vec<Name>,
        /// The new content as JSON text; the entry goes if it is left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<Name>,
        /// The entry before which a new one stands.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Name>,
    },
    /// Changes title, frames per second and first frame.
    SetHead {
        /// The title.
        name: Name,
        /// Frames per second, above 0.
        fps: f64,
        /// The frame at which state starts.
        start_frame: i64,
    },
    /// Several edits, one after the other, that are done and undone together.
    Batch {
        /// The edits.
        edits: Vec<Edit>,
    },
}

/// A node to be added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewNode {
    /// Its name.
    pub name: Name,
    /// Its content, as documents write it.
    pub node: Node,
    /// The node before which it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Name>,
    /// The id that it had before; a new one if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
}

impl NewNode {
    /// A node at the end.
    pub fn new(name: impl Into<Name>, node: Node) -> Self {
        Self { name: name.into(), node, before: None, id: None }
    }
}

impl Edit {
    /// Links a socket of a node of the document to an output of another.
    pub fn link(node: impl Into<Name>, input: impl Into<Name>, from: Link) -> Self {
        Self::set_input(node, input, Some(InputValue::Link(from)))
    }

    /// Writes a literal at a socket of a node of the document.
    pub fn literal(
        node: impl Into<Name>,
        input: impl Into<Name>,
        value: impl Into<serde_json::Value>,
    ) -> Self {
        Self::set_input(node, input, Some(InputValue::Literal(Box::new(value.into()))))
    }

    /// Leaves a socket of a node of the document empty.
    pub fn unlink(node: impl Into<Name>, input: impl Into<Name>) -> Self {
        Self::set_input(node, input, None)
    }

    fn set_input(node: impl Into<Name>, input: impl Into<Name>, to: Option<InputValue>) -> Self {
        let (node, input) = (node.into(), input.into());
        Self::SetInput { within: None, node, input, to: to.map(Input::from), before: None }
    }
}
