//! Edits: changes of a document as data, each with its inverse.
//!
//! An [`Edit`] names the part that it changes; as JSON it is an object with the key `edit`, in
//! which parts of documents are written as in documents. An [`Editor`] holds a document and applies
//! edits. The cost of an edit depends on the parts it touches, not on the size of the document. An
//! invalid edit is refused with a position and a hint, and leaves the document unchanged.
//!
//! Edits preserve the structure of a document: links lead to existing nodes, used groups exist, and
//! nothing depends on itself. They do not check its *meaning*: a node may lack an input, and a link
//! may join types that do not convert; `check` reports that.
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
mod cycles;
mod editor;
mod error;
mod face;
mod follow;
mod formulas;
mod group;
mod index;
mod json;
mod order;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
mod types;
mod ungroup;
mod used;
mod whole;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use crate::grain::{delayed, divided_output};
pub use crate::references::{Reference, reference_of, references};
pub use editor::{Applied, Copied, Editor, Ids};
pub use error::EditError;
pub use follow::Change;
pub use formulas::MadeIds;
pub use index::{BodyKey, MAX_ID, ROOT, User};
pub use order::Rank;

use crate::model::{
    GroupDef, Input, InputDef, InputValue, Link, Node, NodeKind, OutputDef, Setting,
};

/// A name; shared, as in documents.
type Name = Arc<str>;

/// A change of a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Edit {
    /// The group that is changed, or the document itself if absent. Changes that only documents
    /// have (those of groups, view and head, and batches) are refused inside a group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Name>,
    /// The change.
    #[serde(flatten)]
    pub change: EditKind,
}

/// A change of a document or group.
///
/// `before` names the entry before which a new part is inserted; by default it becomes the last
/// one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "edit", rename_all = "snake_case", deny_unknown_fields)]
pub enum EditKind {
    /// Adds nodes, with links to each other or to others.
    AddNodes {
        /// The nodes.
        nodes: Vec<NewNode>,
    },
    /// Removes nodes and the links from them. Refused if an output of the document or group reads
    /// one.
    RemoveNodes {
        /// Their names.
        nodes: Vec<Name>,
    },
    /// Links a socket, gives it a literal, or empties it.
    SetInput {
        /// The node.
        node: Name,
        /// The socket.
        input: Name,
        /// The source in the notation of documents; the socket is emptied if it is left out.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            deserialize_with = "json::given"
        )]
        to: Option<Input>,
        /// The socket before which a new entry is inserted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Name>,
    },
    /// Changes a setting of a node.
    SetSetting {
        /// The node.
        node: Name,
        /// The setting.
        setting: Name,
        /// The value; the setting gets its default if it is left out.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            deserialize_with = "json::given"
        )]
        to: Option<Setting>,
        /// The setting before which a new entry is inserted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Name>,
    },
    /// Mutes or unmutes a node.
    Mute {
        /// The node.
        node: Name,
        /// Whether the node passes its inputs through.
        muted: bool,
    },
    /// Renames a node and updates links.
    RenameNode {
        /// The node.
        node: Name,
        /// The new name.
        to: Name,
    },
    /// Changes the type of a node. Sockets and settings that the new type lacks are removed, and
    /// links to outputs that it lacks are redirected to its first output.
    ReplaceType {
        /// The node.
        node: Name,
        /// The new type, or a group.
        kind: NodeKind,
    },
    /// Changes the type and version of a node, without adapting its sockets, settings and links.
    SetType {
        /// The node.
        node: Name,
        /// The new type, or a group.
        kind: NodeKind,
        /// Version of the node type.
        version: u32,
    },
    /// Adds an input of the document or group.
    AddInput {
        /// Its name.
        name: Name,
        /// Its definition.
        def: InputDef,
        /// The input before which it is inserted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Name>,
    },
    /// Removes an input of the document or group, and the links from it.
    RemoveInput {
        /// Its name.
        name: Name,
    },
    /// Changes the type, default, range or description of an input.
    ChangeInput {
        /// Its name.
        name: Name,
        /// Its new definition.
        def: InputDef,
    },
    /// Renames an input of the document or group, and updates links and the nodes that use the
    /// group.
    RenameInput {
        /// Its name.
        name: Name,
        /// The new name.
        to: Name,
    },
    /// Adds an output of the document or group.
    AddOutput {
        /// Its name.
        name: Name,
        /// Its definition.
        def: OutputDef,
        /// The output before which it is inserted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Name>,
    },
    /// Removes an output of the document or group, and the links from it at nodes that use the
    /// group.
    RemoveOutput {
        /// Its name.
        name: Name,
    },
    /// Changes the type, source or description of an output.
    ChangeOutput {
        /// Its name.
        name: Name,
        /// Its new definition.
        def: OutputDef,
    },
    /// Renames an output of the document or group, and updates links from nodes that use the group.
    RenameOutput {
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
        /// The group before which it is inserted.
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
    /// Renames a group and updates the nodes that use it.
    RenameGroup {
        /// Its name.
        name: Name,
        /// The new name.
        to: Name,
    },
    /// Moves nodes into a new group and replaces them by a node that uses it.
    Group {
        /// The nodes.
        nodes: Vec<Name>,
        /// Name of the new group.
        name: Name,
        /// Name of the node that uses it; by default that of the group.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<Name>,
    },
    /// Replaces a node that uses a group by the content of the group. The group is removed if it
    /// has no other use.
    Ungroup {
        /// The node.
        node: Name,
    },
    /// Replaces the view data of editors.
    SetView {
        /// The new content as JSON text; the view is removed if it is left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<Name>,
    },
    /// Sets one entry of the view data of editors.
    SetViewEntry {
        /// The keys of the entry, from the outermost object inwards; missing objects are created.
        keys: Vec<Name>,
        /// The new content as JSON text; the entry is removed if it is left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<Name>,
        /// The entry before which a new one is inserted.
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
    /// Several edits in order, which are applied and undone together.
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
    /// Its content, in the notation of documents.
    pub node: Node,
    /// The node before which it is inserted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Name>,
    /// Its previous id; a new one if it is left out.
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
    /// Links a socket of a node of the document to an output of another node.
    pub fn link(node: impl Into<Name>, input: impl Into<Name>, from: Link) -> Self {
        Self::set_input(node, input, Some(InputValue::Link(from)))
    }

    /// Gives a socket of a node of the document a literal.
    pub fn literal(
        node: impl Into<Name>,
        input: impl Into<Name>,
        value: impl Into<serde_json::Value>,
    ) -> Self {
        Self::set_input(node, input, Some(InputValue::Literal(Box::new(value.into()))))
    }

    /// Empties a socket of a node of the document.
    pub fn unlink(node: impl Into<Name>, input: impl Into<Name>) -> Self {
        Self::set_input(node, input, None)
    }

    fn set_input(node: impl Into<Name>, input: impl Into<Name>, to: Option<InputValue>) -> Self {
        let (node, input) = (node.into(), input.into());
        EditKind::SetInput { node, input, to: to.map(Input::from), before: None }.into()
    }

    /// Several edits in order, which are applied and undone together.
    pub fn batch(edits: Vec<Self>) -> Self {
        EditKind::Batch { edits }.into()
    }
}

impl EditKind {
    /// The change of the document itself, or of the group `within`.
    pub fn within(self, within: Option<Name>) -> Edit {
        Edit { within, change: self }
    }
}

impl From<EditKind> for Edit {
    /// The change of the document itself.
    fn from(change: EditKind) -> Self {
        Self { within: None, change }
    }
}
