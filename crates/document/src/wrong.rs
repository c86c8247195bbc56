//! Which parts of a document are wrong, for those who leave them out.

use std::sync::Arc;

use crate::at::{At, Part};

/// A part of a document in which something is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WrongPart {
    /// The group around it, or that it is; `None` outside groups.
    pub group: Option<Arc<str>>,
    /// Which part of the group or document.
    pub part: PartName,
}

/// The parts of a document, or of a group, by names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PartName {
    /// All of it.
    Whole,
    /// An input.
    Input(Arc<str>),
    /// An output, or where it comes from.
    Output(Arc<str>),
    /// A node.
    Node(Arc<str>),
    /// What goes into a socket of a node.
    Socket(Arc<str>, Arc<str>),
}

impl WrongPart {
    pub(crate) fn of(at: At<'_>) -> Self {
        let part = match at.part {
            Part::Body => PartName::Whole,
            Part::Input(name) => PartName::Input(name.into()),
            Part::Output(name) => PartName::Output(name.into()),
            Part::Node(name) => PartName::Node(name.into()),
            Part::Socket(node, socket) => PartName::Socket(node.into(), socket.into()),
        };
        Self { group: (!at.group.is_empty()).then(|| at.group.into()), part }
    }
}
