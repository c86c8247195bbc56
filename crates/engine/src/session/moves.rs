//! The paths of nodes before and after an edit: values and state stored by path follow their nodes.
//!
//! A node is identified by the ids on the path to it, through the nodes that use groups. Grouping
//! and ungrouping insert a node into this path or remove one, so two paths are compared by those
//! nodes that exist both before and after. Ungrouping copies the nodes of a group that other nodes
//! use too; such a copy counts as the original, on the path through the node that used the group.

use std::collections::{HashMap, HashSet};

use millstream_document::edit::{BodyKey, Copied, ROOT};
use millstream_document::{Edit, EditKind, Editor, NodeKind};

/// The ids on the way to each node, by path.
pub(super) struct Places(HashMap<String, Vec<u64>>);

/// The new paths of nodes that still exist, by their old ones.
pub(super) type Moves = HashMap<String, String>;

impl Places {
    /// The places of all nodes in all uses of groups; `None` if there are more than `most`.
    pub(super) fn of(editor: &Editor, most: usize) -> Option<Self> {
        let mut places = HashMap::new();
        let root: (Vec<BodyKey>, String, Vec<u64>) = (vec![ROOT], String::new(), Vec::new());
        let mut stack = vec![root];
        while let Some((bodies, path, ids)) = stack.pop() {
            let body = *bodies.last().expect("it starts at the root");
            for (slot, name, node) in editor.nodes_of_body(body).iter_slots() {
                let path =
                    if path.is_empty() { name.to_string() } else { format!("{path}/{name}") };
                let mut ids = ids.clone();
                ids.push(editor.id_at(body, slot));
                if let NodeKind::Group(group) = &node.kind
                    && let Some(inner) = editor.body_of(group)
                    // A formula may make a group contain itself, which is reported.
                    && !bodies.contains(&inner)
                {
                    let bodies = bodies.iter().copied().chain([inner]).collect();
                    stack.push((bodies, path.clone(), ids.clone()));
                }
                places.insert(path, ids);
                if places.len() > most {
                    return None;
                }
            }
        }
        Some(Self(places))
    }

    /// The moves from these places to those `now`, after an edit that made these copies, or an undo
    /// that removes them.
    pub(super) fn moves_to(mut self, mut now: Self, copies: &[Copied]) -> Moves {
        if !copies.is_empty() {
            self.tell_originals(copies);
            now.tell_originals(copies);
        }
        let all =
            |places: &Self| -> HashSet<u64> { places.0.values().flatten().copied().collect() };
        let (before, after) = (all(&self), all(&now));
        let way = |ids: &[u64]| -> Option<Vec<u64>> {
            let stays = |id: &u64| before.contains(id) && after.contains(id);
            let is_there = ids.last().is_some_and(stays);
            is_there.then(|| ids.iter().copied().filter(stays).collect())
        };
        // Nodes whose ways became equal cannot be distinguished.
        let mut found: HashMap<Vec<u64>, Option<&str>> = HashMap::new();
        for (path, ids) in &now.0 {
            if let Some(way) = way(ids) {
                found.entry(way).and_modify(|known| *known = None).or_insert(Some(path.as_str()));
            }
        }
        let mut moves = Moves::new();
        for (path, ids) in &self.0 {
            let to = way(ids).and_then(|way| found.get(&way).copied().flatten());
            moves.extend(to.map(|to| (path.clone(), to.to_owned())));
        }
        moves
    }

    /// Replaces the ways of copies by those of the originals.
    fn tell_originals(&mut self, copies: &[Copied]) {
        let originals: HashMap<u64, (u64, u64)> =
            copies.iter().map(|it| (it.copy, (it.user, it.original))).collect();
        for ids in self.0.values_mut() {
            let mut stack: Vec<u64> = ids.drain(..).rev().collect();
            while let Some(id) = stack.pop() {
                match originals.get(&id) {
                    Some((user, original)) => stack.extend([*original, *user]),
                    None => ids.push(id),
                }
            }
        }
    }
}

/// Whether an edit may change the paths of nodes.
pub(super) fn may_move(edit: &Edit) -> bool {
    match &edit.change {
        EditKind::RenameNode { .. } | EditKind::Group { .. } | EditKind::Ungroup { .. } => true,
        EditKind::Batch { edits } => edits.iter().any(|edit| match &edit.change {
            // The inverses of other edits add nodes with their old ids.
            EditKind::AddNodes { nodes } => nodes.iter().any(|node| node.id.is_some()),
            EditKind::AddGroup { ids, .. } => ids.is_some(),
            _ => may_move(edit),
        }),
        _ => false,
    }
}
