//! The places to look at after an edit: inner groups before outer ones, and each node after the
//! nodes that it depends on.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use millstream_document::Editor;
use millstream_document::edit::{BodyKey, Copied, ROOT, Rank};
use rustc_hash::{FxHashMap, FxHashSet};

use super::moved::Left;
use super::{Mirror, heights};

/// A node in one use of its body, or in all.
pub(super) type Place = (BodyKey, u32, Option<u32>);

/// The places that are to be looked at.
pub(super) struct Queue<'e> {
    pub(super) editor: &'e Editor,
    pub(super) heights: FxHashMap<BodyKey, u32>,
    heap: BinaryHeap<Reverse<(u32, Rank, Place)>>,
    waiting: FxHashSet<Place>,
    /// Nodes that the edit is about.
    pub(super) edited: FxHashSet<(BodyKey, u32)>,
    /// Outputs of the document, by slot.
    pub(super) outputs: BTreeSet<u32>,
    /// Live nodes of nodes that were removed and may have moved.
    pub(super) left: FxHashMap<(u32, u64), Left>,
    /// Nodes with state whose delayed input was missing when they were made.
    pub(super) lacking: FxHashSet<(u32, u32)>,
    /// Root nodes whose delayed input is still missing when everything else was looked at.
    pub(super) unfed: FxHashSet<u32>,
    /// Uses that were removed while their nodes are kept, each with the use around it.
    pub(super) opened: FxHashMap<u32, u32>,
    /// The copy of a node of a group that stands in the place of a node that used the group, by the
    /// ids of the user and the original.
    copies: FxHashMap<(u64, u64), u64>,
    /// The ids of those users.
    copied: FxHashSet<u64>,
    /// The number of calls before, and of nodes in new uses of groups.
    pub(super) n_planned: usize,
    /// The number of nodes in a use of each group, with those in groups inside.
    sizes: FxHashMap<BodyKey, usize>,
}

impl<'e> Queue<'e> {
    /// A queue for an edit that was made.
    pub(super) fn new(editor: &'e Editor, copies: &[Copied]) -> Self {
        let has_groups = !editor.document().groups.is_empty();
        Self {
            editor,
            heights: if has_groups { heights(editor) } else { FxHashMap::default() },
            heap: BinaryHeap::new(),
            waiting: FxHashSet::default(),
            edited: FxHashSet::default(),
            outputs: BTreeSet::new(),
            left: FxHashMap::default(),
            lacking: FxHashSet::default(),
            unfed: FxHashSet::default(),
            opened: FxHashMap::default(),
            copies: copies.iter().map(|it| ((it.user, it.original), it.copy)).collect(),
            copied: copies.iter().map(|it| it.user).collect(),
            n_planned: 0,
            sizes: FxHashMap::default(),
        }
    }

    pub(super) fn push(&mut self, place: Place) {
        let (body, slot, _) = place;
        if self.editor.nodes_of_body(body).at(slot).is_some() && self.waiting.insert(place) {
            let height = match body {
                ROOT => u32::MAX,
                group => self.heights.get(&group).copied().unwrap_or_default(),
            };
            self.heap.push(Reverse((height, self.editor.rank_of(body, slot), place)));
        }
    }

    pub(super) fn pop(&mut self) -> Option<Place> {
        let Reverse((.., place)) = self.heap.pop()?;
        self.waiting.remove(&place);
        Some(place)
    }

    /// How many nodes a use of a group holds, with those in groups inside and the nodes that use
    /// them.
    pub(super) fn size_of(&mut self, group: BodyKey) -> usize {
        let mut stack = vec![group];
        while let Some(&body) = stack.last() {
            if self.sizes.contains_key(&body) {
                stack.pop();
                continue;
            }
            let nodes = self.editor.nodes_of_body(body);
            let (mut size, n_waiting) = (nodes.len(), stack.len());
            for node in nodes.values() {
                let inner = node.kind.group().and_then(|name| self.editor.body_of(name));
                let Some(inner) = inner else { continue };
                match self.sizes.get(&inner) {
                    Some(known) => size = size.saturating_add(*known),
                    None if stack.last() == Some(&inner) => {}
                    None => stack.push(inner),
                }
            }
            if stack.len() == n_waiting {
                self.sizes.insert(body, size);
                stack.pop();
            }
        }
        self.sizes[&group]
    }

    /// Whether copies of the nodes of its group are, or were, in the place of a node.
    pub(super) fn has_copies(&self, user: u64) -> bool {
        self.copied.contains(&user)
    }

    /// The id that a node of a group has, or had, in the place of a node that uses the group.
    pub(super) fn id_outside(&self, user: u64, id: u64) -> u64 {
        self.copies.get(&(user, id)).copied().unwrap_or(id)
    }

    /// A node is to be looked at in all uses of its body.
    pub(super) fn touch(&mut self, mirror: &Mirror, body: BodyKey, slot: u32) {
        if mirror.bodies.contains_key(&body) && self.exists(body) {
            self.push((body, slot, None));
        }
    }

    pub(super) fn exists(&self, body: BodyKey) -> bool {
        body == ROOT || self.editor.document().groups.at(body).is_some()
    }
}
