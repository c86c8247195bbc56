//! Follows edits: nodes that changed are made or linked again, and their readers if that changes
//! their outputs.
//!
//! Places (a node, in one use of its body or in all) wait in a queue, inner groups before outer
//! ones and each node after the nodes it depends on. Each is checked with the types of its sources,
//! and its live nodes are linked or made again (`renew`). If its outputs then come from other live
//! nodes, or none, its readers follow. Cost: the places that change, and their readers.

use std::sync::Arc;

use millstream_document::Editor;
use millstream_document::edit::{BodyKey, Change, Copied, ROOT, User};

use super::build::declared;
use super::queue::Queue;
use super::stateful::StatefulNode;
use super::{BodyState, Kind, Many, Mirror, NotLive, Owner, Port, Side};

impl Mirror {
    /// Follows an edit that made these copies of nodes, or an undo that removes them.
    ///
    /// # Errors
    /// If the current document cannot be live; this mirror is useless then.
    pub(in crate::session) fn follow(
        &mut self,
        editor: &Editor,
        changes: &[Change],
        copies: &[Copied],
    ) -> Result<(), NotLive> {
        if editor.has_conditional_cycles() {
            return Err(NotLive);
        }
        self.set_fps(editor.document().fps);
        let mut queue = Queue::new(editor, copies);
        queue.n_planned = self.n_calls;
        let depth = queue.extents.values().map(|extent| extent.height).max().unwrap_or_default();
        if depth as usize > self.limits.group_depth {
            return Err(NotLive);
        }
        // If a node becomes right, nodes with a delayed input may become right too.
        for (use_id, slot) in std::mem::take(&mut self.unfed) {
            let body = self.uses[use_id as usize].as_ref().map(|it| it.body);
            if let Some(body) = body.filter(|body| queue.exists(*body)) {
                queue.push((body, slot, Some(use_id)));
            }
        }
        let mut gone: Vec<BodyKey> = Vec::new();
        for change in changes {
            match *change {
                Change::Node { body, slot } => {
                    queue.edited.insert((body, slot));
                    queue.touch(self, body, slot);
                }
                Change::Gone { body, slot } => self.take_out(&mut queue, body, slot)?,
                Change::Inputs { body: ROOT } => self.follow_inputs(&mut queue)?,
                Change::Inputs { body } | Change::Outputs { body } if body != ROOT => {
                    self.follow_face(&mut queue, body);
                }
                Change::Inputs { .. } | Change::Outputs { .. } => {
                    let outputs = editor.outputs_of_body(ROOT);
                    queue.outputs.extend(outputs.iter_slots().map(|(slot, ..)| slot));
                }
                // The slot may be that of a group that is still in use.
                Change::GroupCame { body } if gone.contains(&body) => return Err(NotLive),
                Change::GroupGone { body } => gone.push(body),
                Change::GroupCame { body } => {
                    let nodes = editor.document().groups.at(body).map(|(_, group)| &group.nodes);
                    // A group that was removed again is skipped.
                    let Some(nodes) = nodes else { continue };
                    let (kinds, ids) =
                        (vec![Kind::None; nodes.n_slots()], vec![0; nodes.n_slots()]);
                    let known = BodyState { kinds, ids, uses: Vec::new() };
                    self.bodies.insert(body, known);
                    for (slot, ..) in nodes.iter_slots() {
                        queue.push((body, slot, None));
                    }
                }
                // Only zones depend on names, for their messages.
                Change::NodeName { .. } | Change::GroupName { .. } | Change::Head => {}
            }
        }
        self.touch_zones(&mut queue, changes);
        self.follow_queue(queue)?;
        for body in gone {
            if self.bodies.remove(&body).is_some_and(|known| !known.uses.is_empty()) {
                return Err(NotLive);
            }
        }
        self.graph.try_failed_again();
        Ok(())
    }

    /// Visits all waiting places, and drops the nodes that are not needed any more.
    pub(super) fn follow_queue(&mut self, mut queue: Queue<'_>) -> Result<(), NotLive> {
        loop {
            while let Some((body, slot, of)) = queue.pop() {
                self.renew(&mut queue, body, slot, of)?;
            }
            if !self.find_unfed(&mut queue) {
                break;
            }
        }
        self.unfed.clone_from(&queue.unfed);
        self.renew_outputs(&queue)?;
        self.drop_left(&mut queue)?;
        self.follow_scopes()?;
        self.doom_copies_of_doomed();
        self.remove_doomed()
    }

    /// Finds nodes that still lack their delayed input when all other places were visited: they are
    /// wrong, like their readers. Returns whether there are any.
    fn find_unfed(&mut self, queue: &mut Queue<'_>) -> bool {
        let lacking = std::mem::take(&mut queue.lacking);
        let mut are_any = false;
        for (use_id, slot) in lacking {
            if self.stateful.get(&(use_id, slot)).is_some_and(StatefulNode::lacks) {
                queue.unfed.insert((use_id, slot));
                queue.push((self.use_of(use_id).body, slot, Some(use_id)));
                are_any = true;
            }
        }
        are_any
    }

    /// Follows changed inputs of the document. Their values must be [set](Self::set) afterwards,
    /// since an input with the name of another may be new.
    pub(super) fn follow_inputs(&mut self, queue: &mut Queue<'_>) -> Result<(), NotLive> {
        let editor = queue.editor;
        let inputs = editor.inputs_of_body(ROOT);
        let gone: Vec<Arc<str>> =
            self.inputs.keys().filter(|name| !inputs.contains_key(name)).cloned().collect();
        for name in gone {
            let input = self.inputs.remove(&name);
            self.doomed.extend(input.map(|input| input.node));
        }
        for (name, def) in inputs {
            let (ty, default) = declared(&self.registry, def).ok_or(NotLive)?;
            let is_new = match self.inputs.get_mut(name) {
                Some(known) if known.ty == ty => {
                    known.default.clone_from(&default);
                    false
                }
                Some(known) => {
                    self.doomed.insert(known.node);
                    true
                }
                None => true,
            };
            if is_new {
                self.add_input(name, ty, default);
                for reader in editor.readers_of_input(ROOT, name) {
                    match reader {
                        User::Node(slot) => queue.push((ROOT, slot, None)),
                        User::Output(slot) => {
                            queue.outputs.insert(slot);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Follows changed inputs or outputs of a group.
    pub(super) fn follow_face(&self, queue: &mut Queue<'_>, body: BodyKey) {
        let editor = queue.editor;
        // A group that was removed later in the edit is skipped.
        if !self.bodies.contains_key(&body) || !queue.exists(body) {
            return;
        }
        for (user, slot) in editor.users_of_group(body) {
            queue.touch(self, user, slot);
        }
        for name in editor.inputs_of_body(body).keys() {
            for reader in editor.readers_of_input(body, name) {
                if let User::Node(slot) = reader {
                    queue.push((body, slot, None));
                }
            }
        }
    }

    /// Follows the removal of a node.
    pub(super) fn take_out(
        &mut self,
        queue: &mut Queue<'_>,
        body: BodyKey,
        slot: u32,
    ) -> Result<(), NotLive> {
        let Some(known) = self.bodies.get_mut(&body) else { return Ok(()) };
        let Some(kind) = known.kinds.get_mut(slot as usize) else { return Ok(()) };
        let (kind, id) = (std::mem::take(kind), known.ids[slot as usize]);
        for use_id in known.uses.clone() {
            self.leave(queue, (use_id, slot), &kind, id)?;
        }
        Ok(())
    }

    /// Drops the live nodes of a node in one use; returns whether it had outputs.
    pub(super) fn clear(&mut self, use_id: u32, slot: u32) -> Result<bool, NotLive> {
        let it = self.use_mut(use_id);
        let out = it.outs.get_mut(slot as usize).and_then(Option::take);
        let many = it.many.remove(&slot);
        self.clear_network((use_id, slot));
        if let Some(node) = out {
            self.doom_out((use_id, slot), node);
        }
        let Some(many) = many else { return Ok(out.is_some()) };
        let had = out.is_some() || !many.outs.is_empty();
        self.drop_many((use_id, Side::Out(slot)), many)?;
        Ok(had)
    }

    /// Drops the outputs that a node passes on from other nodes, and the use of a group inside it.
    pub(super) fn drop_many(&mut self, port: Port, many: Many) -> Result<(), NotLive> {
        let mut stack: Vec<(Port, Many)> = vec![(port, many)];
        while let Some((port, many)) = stack.pop() {
            for node in many.outs.into_iter().flatten() {
                self.doom_owned(Owner::Port(port), node);
            }
            let Some(child) = many.child else { continue };
            let Some(gone) = self.uses[child as usize].take() else { return Err(NotLive) };
            self.n_removed += 1;
            for node in gone.inputs.into_values().flatten() {
                self.doom_owned(Owner::Port((child, Side::In)), node);
            }
            for (slot, node) in (0..).zip(gone.outs) {
                if let Some(node) = node {
                    self.doom_out((child, slot), node);
                }
            }
            for slot in gone.many.keys() {
                self.clear_network((child, *slot));
            }
            let inner = gone.many.into_iter();
            stack.extend(inner.map(|(slot, many)| ((child, Side::Out(slot)), many)));
            if let Some(known) = self.bodies.get_mut(&gone.body) {
                known.uses.retain(|known| *known != child);
            }
        }
        Ok(())
    }

    /// Puts the readers of a node in one use of its body into the queue.
    pub(super) fn touch_readers(&self, queue: &mut Queue<'_>, use_id: u32, name: &str) {
        let it = self.use_of(use_id);
        for reader in queue.editor.readers_of(it.body, name) {
            match (reader, it.outer) {
                (User::Node(slot), _) => queue.push((it.body, slot, Some(use_id))),
                (User::Output(slot), None) => {
                    queue.outputs.insert(slot);
                }
                (User::Output(_), Some((outer, slot))) => {
                    // If the use around it is gone, its new place visits its outputs.
                    if let Some(around) = &self.uses[outer as usize] {
                        queue.push((around.body, slot, Some(outer)));
                    }
                }
            }
        }
    }
}
