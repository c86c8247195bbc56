//! The places to visit after an edit: inner groups before outer ones, and each node after the nodes
//! that it depends on.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use millstream_document::Editor;
use millstream_document::edit::{BodyKey, Copied, ROOT, Rank};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Mirror;
use super::moved::Left;

/// A node in one use of its body, or in all.
pub(super) type Place = (BodyKey, u32, Option<u32>);

/// The places to visit.
pub(super) struct Queue<'e> {
    pub(super) editor: &'e Editor,
    /// The extents of groups, and of the document if there are groups.
    pub(super) extents: FxHashMap<BodyKey, Extent>,
    heap: BinaryHeap<Reverse<(u32, Rank, Place)>>,
    waiting: FxHashSet<Place>,
    /// Nodes that the edit names.
    pub(super) edited: FxHashSet<(BodyKey, u32)>,
    /// Wrong zones whose readers were visited, because their types may have changed.
    pub(super) retyped: FxHashSet<(BodyKey, u32)>,
    /// Outputs of the document, by slot.
    pub(super) outputs: BTreeSet<u32>,
    /// Live nodes of nodes that were removed and may have moved.
    pub(super) left: FxHashMap<(u32, u64), Left>,
    /// Nodes with state whose delayed input was missing when they were made.
    pub(super) lacking: FxHashSet<(u32, u32)>,
    /// Those whose delayed input is still missing when all other places were visited.
    pub(super) unfed: FxHashSet<(u32, u32)>,
    /// Uses that were removed while their nodes are stored, each with the use around it.
    pub(super) opened: FxHashMap<u32, u32>,
    /// The copy of a group's node that replaces a node that used the group, by the ids of the user
    /// and the original.
    copies: FxHashMap<(u64, u64), u64>,
    /// The ids of those users.
    copied: FxHashSet<u64>,
    /// Number of calls before the edit, plus that of nodes in new uses of groups.
    pub(super) n_planned: usize,
}

impl<'e> Queue<'e> {
    /// The queue for an edit that was made.
    pub(super) fn new(editor: &'e Editor, copies: &[Copied]) -> Self {
        let has_groups = !editor.document().groups.is_empty();
        Self {
            editor,
            extents: if has_groups { extents(editor) } else { FxHashMap::default() },
            heap: BinaryHeap::new(),
            waiting: FxHashSet::default(),
            edited: FxHashSet::default(),
            retyped: FxHashSet::default(),
            outputs: BTreeSet::new(),
            left: FxHashMap::default(),
            lacking: FxHashSet::default(),
            unfed: FxHashSet::default(),
            opened: FxHashMap::default(),
            copies: copies.iter().map(|it| ((it.user, it.original), it.copy)).collect(),
            copied: copies.iter().map(|it| it.user).collect(),
            n_planned: 0,
        }
    }

    pub(super) fn push(&mut self, place: Place) {
        let (body, slot, _) = place;
        if self.editor.nodes_of_body(body).at(slot).is_some() && self.waiting.insert(place) {
            let height = match body {
                ROOT => u32::MAX,
                group => self.extents.get(&group).map_or(0, |extent| extent.height),
            };
            self.heap.push(Reverse((height, self.editor.rank_of(body, slot), place)));
        }
    }

    pub(super) fn pop(&mut self) -> Option<Place> {
        let Reverse((.., place)) = self.heap.pop()?;
        self.waiting.remove(&place);
        Some(place)
    }

    /// Whether copies of the nodes of a group replace, or replaced, this node.
    pub(super) fn has_copies(&self, user: u64) -> bool {
        self.copied.contains(&user)
    }

    /// The id that a node of a group has, or had, when it replaces a node that uses the group.
    pub(super) fn id_outside(&self, user: u64, id: u64) -> u64 {
        self.copies.get(&(user, id)).copied().unwrap_or(id)
    }

    /// Adds a node, to be visited in all uses of its body.
    pub(super) fn touch(&mut self, mirror: &Mirror, body: BodyKey, slot: u32) {
        if mirror.bodies.contains_key(&body) && self.exists(body) {
            self.push((body, slot, None));
        }
    }

    pub(super) fn exists(&self, body: BodyKey) -> bool {
        body == ROOT || self.editor.document().groups.at(body).is_some()
    }
}

/// The extent of a body.
#[derive(Clone, Copy, Default)]
pub(super) struct Extent {
    /// The depth of nested groups in it.
    pub(super) height: u32,
    /// Number of nodes in a use of it, including those in nested groups and the nodes that use
    /// these.
    pub(super) size: usize,
}

fn extents(editor: &Editor) -> FxHashMap<BodyKey, Extent> {
    // Each is visited once all groups inside it are known; no group of an edited document contains
    // itself.
    let groups = || editor.document().groups.iter_slots();
    let mut n_inside: FxHashMap<BodyKey, u32> = FxHashMap::default();
    for (group, ..) in groups() {
        for (user, _) in editor.users_of_group(group) {
            *n_inside.entry(user).or_default() += 1;
        }
    }
    let extent = |size| Extent { height: 0, size };
    let mut extents: FxHashMap<BodyKey, Extent> =
        groups().map(|(slot, _, group)| (slot, extent(group.nodes.len()))).collect();
    extents.insert(ROOT, extent(editor.document().nodes.len()));
    let mut ready: Vec<BodyKey> =
        groups().map(|(slot, ..)| slot).filter(|slot| !n_inside.contains_key(slot)).collect();
    while let Some(body) = ready.pop() {
        if body == ROOT {
            continue;
        }
        let inner = extents[&body];
        for (user, _) in editor.users_of_group(body) {
            let outer = extents.entry(user).or_default();
            outer.height = outer.height.max(inner.height + 1);
            outer.size = outer.size.saturating_add(inner.size);
            let left = n_inside.get_mut(&user).expect("it was counted");
            *left -= 1;
            if *left == 0 {
                ready.push(user);
            }
        }
    }
    extents
}
