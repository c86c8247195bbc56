//! Formulas that call groups: the editor has them as they are written, and makes an editor of the
//! document in which nodes stand for the calls.

use std::collections::HashMap;
use std::sync::Arc;

use super::change::bad_name;
use super::editor::{Copied, Done, Editor, Refusal};
use super::follow::Change;
use super::index::{BodyKey, MAX_ID, ROOT};
use super::{Edit, EditKind, Name};
use crate::formula_calls::{
    CannotBeCalled, Face, callers, calls_group, calls_others, expand_calls, renamed,
};
use crate::model::{Document, Node, NodeKind};

/// The ids of nodes that stand for parts of formulas, so that an unchanged formula keeps its nodes.
#[derive(Clone, Debug, Default)]
pub struct MadeIds(HashMap<Key, u64>);

/// What identifies a node that no author wrote. It stays the same if groups are renamed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    /// A part of the formula of the node with this id: a call of a group, by its number among those
    /// of the group, or an argument of the call.
    Part { formula: u64, group: Called, number: u32, argument: Option<u32> },
    /// A node in a group of a used document.
    Used { group: Name, node: Name },
}

/// A group that a formula calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Called {
    Own(BodyKey),
    /// A group of a used document, which cannot be renamed.
    Used(Name),
}

impl MadeIds {
    /// The id of a node. Ids of written nodes are counted from the other end.
    fn of(&mut self, key: Key) -> u64 {
        let next = MAX_ID - self.0.len() as u64;
        *self.0.entry(key).or_insert(next)
    }

    /// The copies of nodes that stand for parts of copied formulas.
    pub fn copies(&mut self, copies: &[Copied]) -> Vec<Copied> {
        let mut made = Vec::new();
        for copied in copies {
            let parts = self.0.iter().filter_map(|(key, id)| match key {
                Key::Part { formula, .. } if *formula == copied.original => {
                    Some((key.clone(), *id))
                }
                Key::Part { .. } | Key::Used { .. } => None,
            });
            let mut parts: Vec<(Key, u64)> = parts.collect();
            parts.sort_unstable_by_key(|(_, id)| *id);
            for (mut key, original) in parts {
                if let Key::Part { formula, .. } = &mut key {
                    *formula = copied.copy;
                }
                made.push(Copied { copy: self.of(key), original, ..*copied });
            }
        }
        made
    }
}

impl Editor {
    /// Whether one of these changes may make a formula call a group.
    pub fn may_call_groups(&self, changes: &[Change]) -> bool {
        let of_all =
            |change: &Change| matches!(change, Change::GroupCame { .. } | Change::GroupName { .. });
        if changes.iter().any(of_all) {
            return !callers(&self.document, &self.registry).is_empty();
        }
        changes.iter().any(|change| match change {
            Change::Node { body, slot } if self.has_body(*body) => {
                let node = self.nodes(*body).at(*slot);
                node.is_some_and(|(_, node)| calls_others(node, &self.registry))
            }
            _ => false,
        })
    }

    /// All nodes, with their bodies and names, apart from those of used documents.
    fn all_nodes(&self) -> impl Iterator<Item = (BodyKey, &Name, &Node)> {
        let groups = self.document.groups.iter_slots();
        let groups = groups.filter(|(_, _, group)| group.file.is_none());
        let bodies = groups.map(|(slot, _, group)| (slot, &group.nodes));
        let bodies = bodies.chain([(ROOT, &self.document.nodes)]);
        bodies.flat_map(|(body, nodes)| nodes.iter().map(move |(name, node)| (body, name, node)))
    }

    /// An editor of the document in which nodes stand for calls of groups in formulas; `None` if
    /// there are no such calls. The other nodes have the same ids. Linear in the document.
    pub fn expanded(&self, made: &mut MadeIds) -> Option<Self> {
        let document = self.without_calls()?;
        let mut editor = Self::without_ids(document, Arc::clone(&self.registry));
        editor.limits = self.limits.clone();
        for (body, slot) in editor.places() {
            let group = editor.group_name(body).map(|group| &**group);
            let (name, node) = editor.nodes(body).at(slot).expect("places have nodes");
            let id = self.id_of(group, name);
            let id = id.unwrap_or_else(|| made.of(self.key_of(group, name, node)));
            editor.know(body, slot, id);
        }
        editor.next_id = self.next_id;
        Some(editor)
    }

    /// The document in which nodes stand for calls of groups in formulas; `None` if there are no
    /// such calls.
    pub(super) fn without_calls(&self) -> Option<Document> {
        let callers = callers(&self.document, &self.registry);
        if callers.is_empty() {
            return None;
        }
        let mut document = self.document.clone();
        if !expand_calls(&mut document, &self.registry, &callers) {
            return None;
        }
        document.take_used_groups(&self.registry);
        Some(document)
    }

    /// What identifies a node that no author wrote.
    fn key_of(&self, within: Option<&str>, name: &Name, node: &Node) -> Key {
        let part = node.part().and_then(|part| Some((self.id_of(within, &part.formula)?, part)));
        let Some((formula, part)) = part else {
            return Key::Used { group: within.unwrap_or_default().into(), node: Arc::clone(name) };
        };
        let own = self.document.groups.slot_of(&part.group);
        let group = match own.filter(|_| self.file_of(&part.group).is_none()) {
            Some(slot) => Called::Own(slot),
            None => Called::Used(Arc::clone(&part.group)),
        };
        Key::Part { formula, group, number: part.number, argument: part.argument }
    }

    /// The edit, if it changes the [expanded](Self::expanded) document in the same way as this one,
    /// before or after it was applied to this one. New nodes have the ids that they have here.
    pub fn edit_of_expanded(&self, edit: &Edit) -> Option<Edit> {
        let within = edit.within.as_deref();
        let is_formula = |name: &Name| {
            let nodes = match within {
                None => Some(&self.document.nodes),
                Some(group) => self.document.groups.get(group).map(|group| &group.nodes),
            };
            let node = nodes.and_then(|nodes| nodes.get(name));
            node.is_some_and(|node| calls_others(node, &self.registry))
        };
        let is_apart = match &edit.change {
            EditKind::SetInput { node, .. }
            | EditKind::SetSetting { node, .. }
            | EditKind::Mute { node, .. } => !is_formula(node),
            EditKind::RemoveNodes { nodes } => !nodes.iter().any(is_formula),
            EditKind::AddNodes { nodes } => {
                let is_plain = |node: &Node| matches!(node.kind, NodeKind::Type(_));
                let others = |node: &Node| calls_others(node, &self.registry);
                nodes.iter().all(|new| is_plain(&new.node) && !others(&new.node))
            }
            EditKind::Batch { edits } => {
                let edits: Option<Vec<Edit>> =
                    edits.iter().map(|edit| self.edit_of_expanded(edit)).collect();
                return edits.map(Edit::batch);
            }
            EditKind::SetView { .. } | EditKind::SetViewEntry { .. } | EditKind::SetHead { .. } => {
                true
            }
            _ => false,
        };
        let mut edit = is_apart.then(|| edit.clone())?;
        if let EditKind::AddNodes { nodes } = &mut edit.change {
            for new in nodes {
                new.id = new.id.or_else(|| self.id_of(within, &new.name));
            }
        }
        Some(edit)
    }

    /// Lets formulas that call a group mention the new name of the group, or of an input or output
    /// of it.
    pub(super) fn rename_in_formulas(
        &mut self,
        body: BodyKey,
        face: Face,
        (from, to): (&Name, &Name),
        done: &mut Done,
    ) -> Result<(), Refusal> {
        let group = if face == Face::Group { Some(from) } else { self.group_name(body) };
        let Some(group) = group.filter(|_| !done.trusted).cloned() else {
            // Nothing calls the document, and the edits of formulas are taken back by themselves.
            return Ok(());
        };
        let mut settings = Vec::new();
        for (body, name, node) in self.all_nodes() {
            match renamed(node, &self.registry, &group, (face, from, to)) {
                Ok(None) => {}
                Ok(Some((setting, text))) => settings.push((body, Arc::clone(name), setting, text)),
                Err(CannotBeCalled) => {
                    let what = match face {
                        Face::Group => "a group",
                        Face::Input => "an input",
                        Face::Output => "an output",
                    };
                    let reason =
                        "the formula of this node, which calls the group, cannot contain it";
                    return Err(Refusal::at(self.path(body, name), bad_name(what, to, reason)));
                }
            }
        }
        settings.into_iter().try_for_each(|(body, node, setting, text)| {
            self.set_setting(body, &node, &Name::from(setting), Some(&text), None, done)
        })
    }

    /// The path of a node whose formula calls a group.
    pub(super) fn caller_of(&self, group: &str) -> Option<String> {
        let mut nodes = self.all_nodes();
        let caller = nodes.find(|(_, _, node)| calls_group(node, &self.registry, group));
        caller.map(|(body, name, _)| self.path(body, name))
    }
}
