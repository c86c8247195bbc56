//! Groups of used documents: they are added with their first use, removed with the last one, and
//! never changed.

use std::borrow::Cow;

use millstream_base::UsedFile;

use super::editor::{Done, Editor, Refusal};
use super::error::EditError;
use super::{EditKind, Name};
use crate::model::Node;

impl Editor {
    /// The file of a group of a used document.
    pub(super) fn file_of(&self, group: &str) -> Option<&UsedFile> {
        self.document.groups.get(group)?.file.as_deref()
    }

    /// Removes the groups of used documents that lost their last use.
    pub(super) fn drop_idle(&mut self, done: &mut Done) -> Result<(), Refusal> {
        while let Some(name) = self.idle.pop() {
            if self.file_of(&name).is_some() && !self.uses.contains_key(&name) {
                self.remove_group(&name, done)?;
            }
        }
        Ok(())
    }

    /// Refuses to change a group of a used document.
    pub(super) fn refuse_used(&self, group: Option<&Name>) -> Result<(), Refusal> {
        let Some(name) = group else { return Ok(()) };
        let Some(file) = self.file_of(name) else { return Ok(()) };
        let error =
            EditError::OfUsedDocument { group: name.to_string(), file: file.name.to_string() };
        Err(Refusal::at(name.to_string(), error))
    }

    /// Turns nodes whose type is defined by a document into uses of that document.
    pub(super) fn use_bodies(&self, change: &mut Cow<'_, EditKind>) {
        if self.registry.with_bodies().is_empty() {
            return;
        }
        let elsewhere = self.document.elsewhere(&self.registry);
        match &**change {
            EditKind::AddNodes { .. }
            | EditKind::AddGroup { .. }
            | EditKind::ReplaceType { .. }
            | EditKind::SetType { .. } => {}
            _ => return,
        }
        match change.to_mut() {
            EditKind::AddNodes { nodes } => {
                for new in nodes {
                    elsewhere.use_body(&mut new.node.kind);
                }
            }
            EditKind::AddGroup { def, .. } => {
                def.nodes.values_mut().for_each(|node| elsewhere.use_body(&mut node.kind));
            }
            EditKind::ReplaceType { kind, .. } | EditKind::SetType { kind, .. } => {
                elsewhere.use_body(kind);
            }
            _ => {}
        }
    }

    /// Adds the groups of other documents that the nodes of a change need.
    pub(super) fn take_used(&mut self, change: &EditKind, done: &mut Done) -> Result<(), Refusal> {
        if self.document.uses.is_empty() && self.registry.with_bodies().is_empty() {
            return Ok(());
        }
        let names: Vec<Name> = match change {
            EditKind::AddNodes { nodes } => {
                nodes.iter().filter_map(|new| new.node.group()).cloned().collect()
            }
            EditKind::AddGroup { def, .. } => {
                def.nodes.values().filter_map(Node::group).cloned().collect()
            }
            EditKind::ReplaceType { kind, .. } | EditKind::SetType { kind, .. } => {
                kind.group().cloned().into_iter().collect()
            }
            EditKind::RenameGroup { name, .. } | EditKind::RemoveGroup { name } => {
                return self.refuse_used(Some(name));
            }
            _ => return Ok(()),
        };
        for name in names {
            for (name, def) in self.document.groups_for(&name, &self.registry) {
                self.add_group(&name, &def, None, None, done)?;
            }
        }
        Ok(())
    }

    /// Whether a group cannot have this name because a used document has it.
    pub(super) fn is_name_of_use(&self, name: &str) -> bool {
        self.document.uses.contains_key(name)
    }
}
