//! The editor: a document with the indices that edits need.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use millstream_base::diagnostics::Diagnostic;
use millstream_base::{Limits, Place};
use millstream_node::Registry;
use smallvec::SmallVec;

use super::cycles::Looped;
use super::error::EditError;
use super::follow::Change;
use super::index::{BodyIndex, BodyKey, BodyView, ById, ROOT};
use super::whole::Touched;
use super::{Edit, EditKind, Name};
use crate::check::upgrade_widths;
use crate::model::{Document, InputDef, Named, Node, NodeKind, OutputDef};
use crate::problems::{Problems, listed, shortened};

/// A document that is edited.
///
/// Each node has an id, which does not change when the node is renamed, grouped or ungrouped.
#[derive(Debug)]
pub struct Editor {
    pub(super) document: Document,
    pub(super) registry: Arc<Registry>,
    pub(super) limits: Limits,
    pub(super) root: BodyIndex,
    /// By slot of the group.
    pub(super) groups: Vec<Option<BodyIndex>>,
    /// The nodes that use each group, by name, including names of missing groups.
    pub(super) uses: HashMap<Name, Vec<(BodyKey, u32)>>,
    pub(super) by_id: ById,
    /// The bodies in which nodes form cycles if nodes that use groups are treated as atoms.
    pub(super) looped: BTreeMap<BodyKey, Looped>,
    pub(super) next_id: u64,
    pub(super) n_nodes: usize,
    /// Groups of used documents that lost their last use in the current edit.
    pub(super) idle: Vec<Name>,
}

/// The ids of an editor's nodes.
#[derive(Clone, Debug)]
pub struct Ids {
    root: Vec<u64>,
    /// By slot of the group.
    groups: Vec<Option<Vec<u64>>>,
    /// The next unused id.
    next: u64,
}

/// The result of applying an edit.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// The edit that undoes it, for [`Editor::revert`].
    pub inverse: Edit,
    /// The changes, in order.
    pub changes: Vec<Change>,
    /// The copies of a group's nodes that replaced a node using the group.
    pub copies: Vec<Copied>,
}

/// A copy of a group's node, made by ungrouping a node while other nodes use the group too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The id of the copy.
    pub copy: u64,
    /// The id of the node that used the group.
    pub user: u64,
    /// The id of the node in the group.
    pub original: u64,
}

/// The progress of an edit.
pub(super) struct Done {
    /// The inverses of the changes, in order of the changes.
    pub(super) inverses: Vec<Edit>,
    pub(super) changes: Vec<Change>,
    pub(super) copies: Vec<Copied>,
    /// The parts to check after all changes.
    pub(super) touched: Vec<Touched>,
    /// The bodies in which cycles may have been closed.
    pub(super) looped: BTreeSet<BodyKey>,
    /// Whether links or groups changed such that something may depend on a thing that it did not
    /// depend on before.
    pub(super) is_relinked: bool,
    /// Whether the edit is known to restore an earlier document.
    pub(super) trusted: bool,
}

impl Done {
    fn new(trusted: bool) -> Self {
        Self {
            inverses: Vec::new(),
            changes: Vec::new(),
            copies: Vec::new(),
            touched: Vec::new(),
            looped: BTreeSet::new(),
            is_relinked: false,
            trusted,
        }
    }
}

/// The error of a refused edit, with its place.
pub(super) struct Refusal {
    pub(super) path: String,
    pub(super) error: EditError,
}

impl Refusal {
    pub(super) fn at(path: impl Into<String>, error: EditError) -> Self {
        Self { path: path.into(), error }
    }
}

/// The maximum nesting of batches.
const MAX_DEPTH: usize = 32;

impl Editor {
    /// An editor for a document, which is upgraded to the newest format. Linear in the document.
    pub fn new(mut document: Document, registry: Arc<Registry>) -> Self {
        upgrade_widths(&mut document, &registry);
        let mut editor = Self::without_ids(document, registry);
        for (body, slot) in editor.places() {
            let id = editor.next_id;
            editor.next_id += 1;
            editor.know(body, slot, id);
        }
        editor
    }

    /// An editor for a copy of another editor's document, with the same [ids](Self::ids), so that
    /// edits and their inverses have the same meaning for both. Linear in the document.
    ///
    /// # Panics
    /// If the ids belong to another document.
    pub fn with_ids(document: Document, registry: Arc<Registry>, ids: &Ids) -> Self {
        let mut editor = Self::without_ids(document, registry);
        for (body, slot) in editor.places() {
            let of_body = match body {
                ROOT => &ids.root,
                group => ids.groups[group as usize].as_ref().expect("the ids are of this document"),
            };
            editor.know(body, slot, of_body[slot as usize]);
        }
        editor.next_id = ids.next;
        editor
    }

    /// The ids of all nodes, for an editor of a copy of the document.
    pub fn ids(&self) -> Ids {
        let of_group = |group: &Option<BodyIndex>| group.as_ref().map(|body| body.ids.clone());
        Ids {
            root: self.root.ids.clone(),
            groups: self.groups.iter().map(of_group).collect(),
            next: self.next_id,
        }
    }

    /// An editor that has no ids yet.
    pub(super) fn without_ids(document: Document, registry: Arc<Registry>) -> Self {
        let mut editor = Self {
            n_nodes: document.n_nodes(),
            document: Document::default(),
            registry,
            limits: Limits::default(),
            root: BodyIndex::default(),
            groups: Vec::new(),
            uses: HashMap::new(),
            by_id: ById::default(),
            looped: BTreeMap::new(),
            next_id: 1,
            idle: Vec::new(),
        };
        let mut looped = BTreeSet::new();
        let (root, cycle) = BodyView::root(&document).index(&editor.registry);
        editor.root = root;
        looped.extend(cycle.map(|_| ROOT));
        editor.groups.resize_with(document.groups.n_slots(), || None);
        for (slot, _, group) in document.groups.iter_slots() {
            let (index, cycle) = BodyView::group(group).index(&editor.registry);
            editor.groups[slot as usize] = Some(index);
            looped.extend(cycle.map(|_| slot));
        }
        editor.document = document;
        editor.looped = editor.look_for_cycles(looped).0;
        editor
    }

    /// The bodies and slots of all nodes.
    pub(super) fn places(&self) -> Vec<(BodyKey, u32)> {
        let groups = self.document.groups.iter_slots().map(|(slot, ..)| slot);
        let bodies = std::iter::once(ROOT).chain(groups);
        let of_body = |body| self.nodes(body).iter_slots().map(move |(slot, ..)| (body, slot));
        bodies.flat_map(of_body).collect()
    }

    /// Sets the limits, of which only the number of nodes matters here.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The document.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The document without the editor.
    pub fn into_document(self) -> Document {
        self.document
    }

    /// The ids along a path: those of the nodes that use groups, from the outermost, then that of
    /// the node. `None` if there is no such node.
    pub fn ids_of(&self, path: &str) -> Option<Vec<u64>> {
        let mut ids = Vec::new();
        let mut body = ROOT;
        let mut names = path.split('/').peekable();
        while let Some(name) = names.next() {
            let nodes = self.nodes(body);
            let slot = nodes.slot_of(name)?;
            ids.push(self.index(body).ids[slot as usize]);
            let (_, node) = nodes.at(slot)?;
            match (&node.kind, names.peek()) {
                (_, None) => return Some(ids),
                (
                    NodeKind::Group(group) | NodeKind::Zone(_, group) | NodeKind::Closure(group),
                    Some(_),
                ) => {
                    body = self.document.groups.slot_of(group)?;
                }
                (NodeKind::Type(_), Some(_)) => return None,
            }
        }
        None
    }

    /// The id of a node of the document or of the group `within`.
    pub fn id_of(&self, within: Option<&str>, node: &str) -> Option<u64> {
        let body = match within {
            None => ROOT,
            Some(group) => self.document.groups.slot_of(group)?,
        };
        let slot = self.nodes(body).slot_of(node)?;
        Some(self.index(body).ids[slot as usize])
    }

    /// The node with an id: its group, if any, and its name.
    pub fn node_with_id(&self, id: u64) -> Option<(Option<&str>, &str)> {
        let (body, slot) = *self.by_id.get(&id)?;
        let (name, _) = self.nodes(body).at(slot)?;
        Some((self.group_name(body).map(|name| &**name), name))
    }

    /// Applies an edit.
    ///
    /// # Errors
    /// If the edit is invalid; the document is then unchanged.
    pub fn apply(&mut self, edit: &Edit) -> Result<Applied, Diagnostic> {
        self.run_all(edit, false)
    }

    /// Undoes or redoes an edit by applying the inverse of the last edit that was applied and not
    /// undone. This needs no checks.
    ///
    /// # Errors
    /// If it is another inverse, which cannot be applied; the document is then unchanged.
    pub fn revert(&mut self, inverse: &Edit) -> Result<Applied, Diagnostic> {
        self.run_all(inverse, true)
    }

    fn run_all(&mut self, edit: &Edit, trusted: bool) -> Result<Applied, Diagnostic> {
        let mut done = Done::new(trusted);
        let next_id = self.next_id;
        // Readers that follow the changes identify groups by slot.
        self.document.groups.defer_reuse();
        self.idle.clear();
        let mut result = self.run(edit, &mut done, 0);
        if !trusted {
            result = result.and_then(|()| self.drop_idle(&mut done));
            result = result.and_then(|()| self.check_touched(&done));
        }
        let result = result.and_then(|()| self.check_cycles(&done));
        let applied = match result {
            Ok(()) => {
                done.inverses.reverse();
                let mut inverses = done.inverses;
                let inverse = match inverses.len() {
                    1 => inverses.remove(0),
                    _ => Edit::batch(inverses),
                };
                Ok(Applied { inverse, changes: done.changes, copies: done.copies })
            }
            Err(Refusal { path, error }) => {
                // Those readers see no change, so removed groups must return to their slots.
                self.document.groups.restore_slots();
                self.undo(&done.inverses);
                let looped = done.looped.into_iter().filter(|body| self.has_body(*body)).collect();
                self.look_for_cycles(looped);
                self.next_id = next_id;
                Err(Diagnostic::new(Place::at(path.as_str()), &error))
            }
        };
        self.document.groups.end_deferral();
        applied
    }

    /// Undoes the changes of a refused edit.
    fn undo(&mut self, inverses: &[Edit]) {
        let mut done = Done::new(true);
        for inverse in inverses.iter().rev() {
            let result = self.run(inverse, &mut done, 0);
            assert!(result.is_ok(), "every change can be undone");
        }
    }

    fn run(&mut self, edit: &Edit, done: &mut Done, depth: usize) -> Result<(), Refusal> {
        let body = self.body(edit.within.as_ref())?;
        let mut change = std::borrow::Cow::Borrowed(&edit.change);
        if !done.trusted {
            self.refuse_used(edit.within.as_ref())?;
            self.use_bodies(&mut change);
            self.take_used(&change, done)?;
        }
        match &*change {
            EditKind::AddNodes { nodes } => {
                nodes.iter().try_for_each(|node| self.insert_node(body, node, done))
            }
            EditKind::RemoveNodes { nodes } => self.remove_nodes(body, nodes, done),
            EditKind::SetInput { node, input, to, before } => {
                self.set_input(body, node, input, to.as_ref(), before.as_ref(), done)
            }
            EditKind::SetSetting { node, setting, to, before } => {
                self.set_setting(body, node, setting, to.as_ref(), before.as_ref(), done)
            }
            EditKind::Mute { node, muted } => self.mute(body, node, *muted, done),
            EditKind::RenameNode { node, to } => self.rename_node(body, node, to, done),
            EditKind::ReplaceType { node, kind } => self.replace_type(body, node, kind, done),
            EditKind::SetType { node, kind, version } => {
                self.set_type(body, node, kind, *version, done)
            }
            EditKind::Group { nodes, name, node } => {
                self.group(body, nodes, name, node.as_ref().unwrap_or(name), done)
            }
            EditKind::Ungroup { node } => self.ungroup(body, node, done),
            EditKind::AddInput { name, def, before } => {
                self.add_input(body, name, def, before.as_ref(), done)
            }
            EditKind::AddOutput { name, def, before } => {
                self.add_output(body, name, def, before.as_ref(), done)
            }
            EditKind::RemoveInput { name } => self.remove_input(body, name, done),
            EditKind::RemoveOutput { name } => self.remove_output(body, name, done),
            EditKind::ChangeInput { name, def } => self.change_input(body, name, def, done),
            EditKind::ChangeOutput { name, def } => self.change_output(body, name, def, done),
            EditKind::RenameInput { name, to } => self.rename_input(body, name, to, done),
            EditKind::RenameOutput { name, to } => self.rename_output(body, name, to, done),
            // The others change the document as a whole.
            _ if body != ROOT => Err(Refusal::at(self.path(body, ""), EditError::OfDocument)),
            EditKind::AddGroup { name, def, before, ids } => {
                self.add_group(name, def, before.as_ref(), ids.as_deref(), done)
            }
            EditKind::RemoveGroup { name } => self.remove_group(name, done),
            EditKind::RenameGroup { name, to } => self.rename_group(name, to, done),
            EditKind::SetView { to } => self.set_view(to.as_ref(), done),
            EditKind::SetViewEntry { keys, to, before } => {
                self.set_view_entry(keys, to.as_ref(), before.as_ref(), done)
            }
            EditKind::SetHead { name, fps, start_frame } => {
                self.set_head(name, *fps, *start_frame, done)
            }
            EditKind::Batch { .. } if depth >= MAX_DEPTH => {
                Err(Refusal::at("", EditError::TooDeep { limit: MAX_DEPTH }))
            }
            EditKind::Batch { edits } => {
                edits.iter().try_for_each(|edit| self.run(edit, done, depth + 1))
            }
        }
    }

    /// Records a change of a body and the edit that undoes it.
    pub(super) fn note(&self, body: BodyKey, change: Change, inverse: EditKind, done: &mut Done) {
        done.is_relinked |= matches!(
            change,
            Change::Inputs { .. } | Change::Outputs { .. } | Change::GroupCame { .. }
        );
        // Selectors may have been equal, and may no longer break cycles.
        done.is_relinked |= matches!(change, Change::Node { .. }) && self.has_conditional_cycles();
        done.changes.push(change);
        done.inverses.push(inverse.within(self.group_name(body).cloned()));
    }

    /// The body that an edit is about.
    pub(super) fn body(&self, within: Option<&Name>) -> Result<BodyKey, Refusal> {
        match within {
            None => Ok(ROOT),
            Some(name) => {
                let known = self.document.groups.keys().map(|name| &**name);
                self.document
                    .groups
                    .slot_of(name)
                    .ok_or_else(|| Refusal::at("", unknown("group", name, known)))
            }
        }
    }

    /// The name of a body's group.
    pub(super) fn group_name(&self, body: BodyKey) -> Option<&Name> {
        self.document.groups.at(body).map(|(name, _)| name)
    }

    /// The path of a part of a body.
    pub(super) fn path(&self, body: BodyKey, part: &str) -> String {
        match self.group_name(body) {
            Some(group) if part.is_empty() => group.to_string(),
            Some(group) => format!("{group}/{part}"),
            None => part.to_owned(),
        }
    }

    pub(super) fn view(&self, body: BodyKey) -> BodyView<'_> {
        match self.document.groups.at(body) {
            Some((_, group)) => BodyView::group(group),
            None => BodyView::root(&self.document),
        }
    }

    pub(super) fn nodes(&self, body: BodyKey) -> &Named<Node> {
        self.view(body).nodes
    }

    pub(super) fn nodes_mut(&mut self, body: BodyKey) -> &mut Named<Node> {
        match self.document.groups.at_mut(body) {
            Some(group) => &mut group.nodes,
            None => &mut self.document.nodes,
        }
    }

    pub(super) fn inputs_mut(&mut self, body: BodyKey) -> &mut Named<InputDef> {
        match self.document.groups.at_mut(body) {
            Some(group) => &mut group.inputs,
            None => &mut self.document.inputs,
        }
    }

    pub(super) fn outputs_mut(&mut self, body: BodyKey) -> &mut Named<OutputDef> {
        match self.document.groups.at_mut(body) {
            Some(group) => &mut group.outputs,
            None => &mut self.document.outputs,
        }
    }

    pub(super) fn index(&self, body: BodyKey) -> &BodyIndex {
        match body {
            ROOT => &self.root,
            slot => self.groups[slot as usize].as_ref().expect("existing groups are indexed"),
        }
    }

    pub(super) fn index_mut(&mut self, body: BodyKey) -> &mut BodyIndex {
        match body {
            ROOT => &mut self.root,
            slot => self.groups[slot as usize].as_mut().expect("existing groups are indexed"),
        }
    }

    /// The slot of a node.
    pub(super) fn slot(&self, body: BodyKey, node: &str) -> Result<u32, Refusal> {
        let nodes = self.nodes(body);
        nodes.slot_of(node).ok_or_else(|| {
            let known = nodes.keys().map(|name| &**name);
            Refusal::at(self.path(body, node), unknown("node", node, known))
        })
    }

    /// Notes the use of a group, if the node has one.
    pub(super) fn know_use(&mut self, body: BodyKey, slot: u32) {
        if let Some(group) = self.nodes(body).at(slot).and_then(|(_, node)| node.kind.group()) {
            let group = Arc::clone(group);
            self.uses.entry(group).or_default().push((body, slot));
        }
    }

    pub(super) fn forget_use(&mut self, body: BodyKey, slot: u32) {
        if let Some(group) = self.nodes(body).at(slot).and_then(|(_, node)| node.kind.group()) {
            let group = Arc::clone(group);
            if let Some(uses) = self.uses.get_mut(&group) {
                if let Some(at) = uses.iter().rposition(|known| *known == (body, slot)) {
                    uses.swap_remove(at);
                }
                if uses.is_empty() {
                    self.uses.remove(&group);
                    if self.file_of(&group).is_some() {
                        self.idle.push(group);
                    }
                }
            }
        }
    }

    /// Adds a node to the index, apart from its references.
    pub(super) fn know(&mut self, body: BodyKey, slot: u32, id: u64) {
        self.index_mut(body).ids[slot as usize] = id;
        self.by_id.insert(id, (body, slot));
        self.know_use(body, slot);
    }

    /// The nodes that use a group.
    pub(super) fn uses_of(&self, group: &str) -> SmallVec<[(BodyKey, u32); 4]> {
        self.uses.get(group).into_iter().flatten().copied().collect()
    }
}

/// The error for an unknown name, with the nearest known one or all.
pub(super) fn unknown<'a>(
    what: &'static str,
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> EditError {
    EditError::Unknown { what, name: shortened(name), hint: nearest(name, known, what) }
}

/// The maximum number of names compared for a suggestion, so that an edit is refused quickly.
const MAX_COMPARED: usize = 20_000;

/// `did you mean X?`, or all names.
pub(super) fn nearest<'a>(
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
    what: &str,
) -> String {
    let compared = known.clone().take(MAX_COMPARED);
    Problems::default().suggest(name, compared, || match listed(known) {
        names if names.is_empty() => format!("there is no {what}"),
        names => format!("there is {names}"),
    })
}
