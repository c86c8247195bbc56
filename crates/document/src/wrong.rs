//! The parts of a document in which errors were found.

use std::sync::Arc;

use crate::at::{At, Part};

/// A part of a document that has an error.
#[derive(Clone, Debug)]
pub(crate) struct WrongPart {
    /// The group around the part, or the group itself; empty outside groups.
    pub(crate) group: Arc<str>,
    pub(crate) part: PartName,
}

/// The parts of a document, or of a group, by names.
#[derive(Clone, Debug)]
pub(crate) enum PartName {
    /// All of it.
    Whole,
    Input(Arc<str>),
    /// An output or its source.
    Output(Arc<str>),
    Node(Arc<str>),
    /// The source of a socket of a node.
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
        Self { group: at.group.into(), part }
    }

    /// The socket, if the part is one.
    pub(crate) fn socket(&self) -> Option<&str> {
        match &self.part {
            PartName::Socket(_, socket) => Some(socket),
            PartName::Whole | PartName::Input(_) | PartName::Output(_) | PartName::Node(_) => None,
        }
    }
}
