//! Formulas that call groups: the editor has them as they are written, and makes an editor of the
//! document in which nodes stand for the calls.

use std::collections::HashMap;
use std::sync::Arc;

use super::change::bad_name;
use super::editor::{Done, Editor, Refusal};
use super::follow::Change;
use super::index::{BodyKey, MAX_ID, ROOT};
use super::{Edit, EditKind, Name};
use crate::formula_calls::{
    CannotBeCalled, Face, calls_group, calls_others, expand_calls, formula_of, renamed,
};
use crate::model::{Node, NodeKind};

/// The ids of nodes that stand for calls in formulas, so that an unchanged formula keeps its nodes.
#[derive(Clone, Debug, Default)]
pub struct MadeIds(HashMap<(u64, String), u64>);

impl MadeIds {
    /// The id of a node that stands for a part of this formula. Ids of other nodes are counted from
    /// the other end.
    fn of(&mut self, formula: u64, part: String) -> u64 {
        let next = MAX_ID - self.0.len() as u64;
        *self.0.entry((formula, part)).or_insert(next)
    }
}

impl Editor {
    /// Whether one of these changes may make a formula call a group.
    pub fn may_call_groups(&self, changes: &[Change]) -> bool {
        let of_all =
            |change: &Change| matches!(change, Change::GroupCame { .. } | Change::GroupName { .. });
        if changes.iter().any(of_all) {
            return self.calls_any();
        }
        changes.iter().any(|change| match change {
            Change::Node { body, slot } if self.has_body(*body) => {
                let node = self.nodes(*body).at(*slot);
                node.is_some_and(|(_, node)| calls_others(node, &self.registry))
            }
            _ => false,
        })
    }

    fn calls_any(&self) -> bool {
        self.all_nodes().any(|(_, _, node)| calls_others(node, &self.registry))
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
        if !self.calls_any() {
            return None;
        }
        let mut document = self.document.clone();
        if !expand_calls(&mut document, &self.registry) {
            return None;
        }
        document.take_used_groups(&self.registry);
        let mut editor = Self::without_ids(document, Arc::clone(&self.registry));
        editor.limits = self.limits.clone();
        for (body, slot) in editor.places() {
            let group = editor.group_name(body).map(|group| &**group);
            let (name, _) = editor.nodes(body).at(slot).expect("places have nodes");
            let id = self.id_of(group, name).unwrap_or_else(|| {
                let of_formula = formula_of(name)
                    .and_then(|(formula, part)| Some((self.id_of(group, formula)?, part)));
                match of_formula {
                    Some((formula, part)) => made.of(formula, part.to_owned()),
                    None => made.of(0, format!("{}/{name}", group.unwrap_or_default())),
                }
            });
            editor.know(body, slot, id);
        }
        editor.next_id = self.next_id;
        Some(editor)
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
