//! Bringing one place up to date: what a node does, and its live nodes in the uses of its body.

use std::collections::HashMap;
use std::sync::Arc;

use millstream_document::check::{Alone, AloneKind};
use millstream_document::edit::{BodyKey, ROOT, User, reference_of};
use millstream_document::{Editor, Node, NodeKind};
use millstream_ir::RepeatBody;
use millstream_run::live::NodeNumber;
use rustc_hash::FxHashMap;

use super::keep::Keeping;
use super::queue::Queue;
use super::{Kind, Lost, Many, Mirror, OUTPUTS, Owner, RootOutput, Side, Use, Want};

impl Mirror {
    /// Looks at a node that changed, or whose sources did.
    pub(super) fn renew(
        &mut self,
        queue: &mut Queue<'_>,
        body: BodyKey,
        slot: u32,
        of: Option<u32>,
    ) -> Result<(), Lost> {
        let editor = queue.editor;
        let Some((name, node)) = editor.nodes_of_body(body).at(slot) else { return Ok(()) };
        let Some(known) = self.bodies.get(&body) else { return Ok(()) };
        if known.uses.is_empty() && body != ROOT && !self.repeats.is_empty() {
            // Its nodes may be those of a repeat; they are looked at when a group uses them.
            return Ok(());
        }
        let before = known.kinds.get(slot as usize).cloned().unwrap_or_default();
        if matches!(before, Kind::Wrong) {
            // What makes it right may make right what waits for it.
            for slot in std::mem::take(&mut self.unfed) {
                queue.push((ROOT, slot, None));
            }
        }
        let alone = match node.kind {
            _ if body == ROOT && queue.unfed.contains(&slot) => None,
            NodeKind::Repeat(_) => Some(self.repeat_alone(editor, body, node)?),
            NodeKind::Type(_) | NodeKind::Group(_) => self.alone(editor, body, node),
        };
        let kind = match alone.as_ref().map(|alone| &alone.kind) {
            None => Kind::Wrong,
            Some(AloneKind::Call(instance)) => match before.instance() {
                // What runs rounds tells of their nodes by the names that these have now.
                Some(known) if known.does_same(instance) && RepeatBody::of(instance).is_none() => {
                    before.clone()
                }
                _ => match Keeping::of(&self.registry, instance)? {
                    Some(keeping) => Kind::Keeps(Arc::new(keeping)),
                    None => Kind::Call(Arc::clone(instance)),
                },
            },
            Some(AloneKind::Muted(muted)) => Kind::Muted(Arc::clone(muted)),
            Some(AloneKind::Group) => group_of(editor, node).map_or(Kind::Wrong, Kind::Group),
            // Those have been found out above.
            Some(AloneKind::Repeat) => return Err(Lost),
        };
        let stays = match (&before, &kind) {
            (Kind::Call(a), Kind::Call(b)) => Arc::ptr_eq(a, b) || a.does_same(b),
            (Kind::Keeps(a), Kind::Keeps(b)) => Arc::ptr_eq(a, b),
            (Kind::Group(a), Kind::Group(b)) => a == b,
            (Kind::Wrong, Kind::Wrong) => true,
            (Kind::Muted(a), Kind::Muted(b)) => {
                a.outputs.iter().map(|o| o.ty).eq(b.outputs.iter().map(|o| o.ty))
            }
            _ => false,
        };
        let known = self.bodies.get_mut(&body).expect("it was there");
        if known.kinds.len() <= slot as usize {
            known.kinds.resize(slot as usize + 1, Kind::None);
        }
        if known.ids.len() <= slot as usize {
            known.ids.resize(slot as usize + 1, 0);
        }
        known.ids[slot as usize] = editor.id_at(body, slot);
        known.kinds[slot as usize] = kind.clone();
        if !stays {
            // What a source is decides what its readers are, also where the body is not in use.
            for reader in editor.readers_of(body, name) {
                if let User::Node(slot) = reader {
                    queue.push((body, slot, None));
                }
            }
        }
        let known = &self.bodies[&body];
        let uses = match of {
            Some(one) if stays => vec![one],
            Some(_) | None => known.uses.clone(),
        };
        for use_id in uses {
            let is_there = self.uses[use_id as usize].as_ref().is_some_and(|it| it.body == body);
            if !is_there {
                continue;
            }
            let changed =
                self.renew_in(queue, use_id, (slot, node), &kind, alone.as_ref(), stays)?;
            if changed {
                self.touch_readers(queue, use_id, name);
            }
        }
        Ok(())
    }

    /// Brings what a node is in one use of its body up to date; says whether it gives something
    /// else now.
    pub(super) fn renew_in(
        &mut self,
        queue: &mut Queue<'_>,
        use_id: u32,
        (slot, node): (u32, &Node),
        kind: &Kind,
        alone: Option<&Alone>,
        stays: bool,
    ) -> Result<bool, Lost> {
        let editor = queue.editor;
        let it = self.use_mut(use_id);
        if it.outs.len() <= slot as usize {
            it.outs.resize(slot as usize + 1, None);
        }
        let out = it.outs[slot as usize];
        let is_edited = queue.edited.contains(&(it.body, slot));
        let had = out.is_some() || it.many.get(&slot).is_some_and(|many| !many.outs.is_empty());
        let (false, Some(alone)) = (matches!(kind, Kind::Wrong), alone) else {
            self.clear(use_id, slot)?;
            return Ok(had);
        };
        if self.lacks_input(use_id, node) {
            // What uses the group is looked at later, and then this again.
            if !stays {
                self.clear(use_id, slot)?;
            }
            return Ok(had && !stays);
        }
        let wants = self.wants_in(editor, use_id, node, alone);
        if let Kind::Group(group) = kind {
            return self.renew_group(queue, use_id, slot, *group, &wants);
        }
        if let Kind::Keeps(keeping) = kind {
            return self.renew_keeper(queue, (use_id, slot), keeping, &wants, stays);
        }
        let Some(wants) = wants.into_iter().collect::<Option<Vec<Want>>>() else {
            self.clear(use_id, slot)?;
            return Ok(had);
        };
        match kind {
            Kind::None | Kind::Wrong | Kind::Keeps(_) | Kind::Group(_) => Ok(false),
            Kind::Call(instance) => {
                let had_run = out.map_or(had, |out| self.had_run(out));
                if !stays {
                    self.clear(use_id, slot)?;
                }
                let before = out.filter(|_| stays);
                let before = before.or_else(|| self.moved_call(queue, (use_id, slot), instance));
                let made = self.call(before, instance, &wants)?;
                if is_edited {
                    self.edited.insert(made, had_run);
                }
                self.put(made, (use_id, slot), instance);
                Ok(out != Some(made))
            }
            Kind::Muted(muted) => {
                if !stays {
                    self.clear(use_id, slot)?;
                }
                let old = self.use_mut(use_id).many.get_mut(&slot);
                let old = old.map(|many| std::mem::take(&mut many.outs)).unwrap_or_default();
                let port = (use_id, Side::Out(slot));
                let outs = self.passed(port, &old, muted, &wants)?;
                self.doom_replaced(Owner::Port(port), &old, &outs);
                let changed = old != outs;
                self.use_mut(use_id).many.insert(slot, Many { outs, child: None });
                Ok(changed)
            }
        }
    }

    /// Whether a node has run since it, or what stood in its place, was made.
    fn had_run(&self, out: NodeNumber) -> bool {
        !self.graph.is_new(out) || self.edited.get(&out).is_some_and(|had| *had)
    }

    /// The same for one that keeps something.
    fn renew_keeper(
        &mut self,
        queue: &mut Queue<'_>,
        (use_id, slot): (u32, u32),
        keeping: &Arc<Keeping>,
        wants: &[Option<Want>],
        stays: bool,
    ) -> Result<bool, Lost> {
        let it = self.use_of(use_id);
        let (out, is_edited) = (it.outs[slot as usize], queue.edited.contains(&(it.body, slot)));
        let had = out.is_some() || it.many.contains_key(&slot);
        let is_made = |(at, want): (usize, &Option<Want>)| want.is_some() || keeping.is_delayed(at);
        if !wants.iter().enumerate().all(is_made) {
            self.clear(use_id, slot)?;
            return Ok(had);
        }
        let had_run = out.map_or(had, |out| self.had_run(out));
        if !stays {
            self.clear(use_id, slot)?;
        }
        let before = self.keepers.remove(&(use_id, slot));
        let before = before.or_else(|| self.moved_keeper(queue, (use_id, slot), keeping));
        let keeper = self.keeper(before, keeping, wants)?;
        if keeper.lacks() {
            queue.lacking.insert((use_id, slot));
        }
        let made = keeper.out();
        if is_edited {
            self.edited.insert(made, had_run);
        }
        self.put_keeper((use_id, slot), keeper);
        Ok(out != Some(made))
    }

    pub(super) fn renew_group(
        &mut self,
        queue: &mut Queue<'_>,
        use_id: u32,
        slot: u32,
        group: BodyKey,
        wants: &[Option<Want>],
    ) -> Result<bool, Lost> {
        let editor = queue.editor;
        let child = self.use_of(use_id).many.get(&slot).and_then(|many| many.child);
        let child = child.filter(|child| self.use_of(*child).body == group);
        let child = child.or_else(|| self.moved_group(queue, (use_id, slot), group));
        let had = child.is_none()
            && (self.use_of(use_id).outs[slot as usize].is_some()
                || self.use_of(use_id).many.contains_key(&slot));
        let (child, is_new) = match child {
            Some(child) => (child, false),
            None => {
                self.clear(use_id, slot)?;
                (self.new_child(queue, use_id, slot, group)?, true)
            }
        };
        // What comes in.
        let side_in = Owner::Port((child, Side::In));
        let mut before = std::mem::take(&mut self.use_mut(child).inputs);
        let mut inputs = HashMap::with_capacity(wants.len());
        for (want, (name, def)) in wants.iter().zip(editor.inputs_of_body(group)) {
            let old = before.remove(name);
            let new = match (want, self.registry.type_named(&def.ty)) {
                (Some(want), Some(ty)) => Some(self.fitted(side_in, old.flatten(), want, ty)?),
                (None, _) | (_, None) => None,
            };
            inputs.insert(Arc::clone(name), new);
            if old != Some(new) {
                if let Some(old) = old.flatten() {
                    self.doom_owned(side_in, old);
                }
                for reader in editor.readers_of_input(group, name) {
                    if let User::Node(inner) = reader {
                        queue.push((group, inner, Some(child)));
                    }
                }
            }
        }
        for node in before.into_values().flatten() {
            self.doom_owned(side_in, node);
        }
        self.use_mut(child).inputs = inputs;
        if is_new {
            // What it gives is known when its nodes are made.
            queue.push((self.use_of(use_id).body, slot, Some(use_id)));
            return Ok(had);
        }
        // What goes out.
        let side_out = Owner::Port((use_id, Side::Out(slot)));
        let old = self.use_mut(use_id).many.get_mut(&slot).expect("it has a child");
        let old = std::mem::take(&mut old.outs);
        let mut outs = Vec::with_capacity(old.len());
        for (k, output) in editor.outputs_of_body(group).values().enumerate() {
            let ty = self.registry.type_named(&output.ty);
            let want = ty.and_then(|ty| self.want_as(editor, child, reference_of(output), ty));
            outs.push(match want {
                Some((want, ty)) => {
                    Some(self.fitted(side_out, old.get(k).copied().flatten(), &want, ty)?)
                }
                None => None,
            });
        }
        self.doom_replaced(side_out, &old, &outs);
        let changed = old != outs;
        self.use_mut(use_id).many.get_mut(&slot).expect("it has a child").outs = outs;
        Ok(changed)
    }

    /// A new use of a group, whose nodes wait to be made.
    ///
    /// # Errors
    /// If it holds more nodes than there may be.
    pub(super) fn new_child(
        &mut self,
        queue: &mut Queue<'_>,
        outer: u32,
        slot: u32,
        group: BodyKey,
    ) -> Result<u32, Lost> {
        let nodes = queue.editor.nodes_of_body(group);
        // Groups grow with the number of their uses inside each other: they are counted first.
        if queue.size_of(group).saturating_add(queue.n_planned) > self.limits.expanded_nodes {
            return Err(Lost);
        }
        queue.n_planned += nodes.len();
        let child = self.uses.len() as u32;
        let n_slots = nodes.n_slots();
        let known = self.bodies.entry(group).or_default();
        known.kinds.resize(n_slots.max(known.kinds.len()), Kind::None);
        known.uses.push(child);
        let (inputs, many) = (HashMap::new(), FxHashMap::default());
        let outer_use = Some((outer, slot));
        let outs = vec![None; n_slots];
        self.uses.push(Some(Use { body: group, outer: outer_use, inputs, outs, many }));
        let many = Many { outs: Vec::new(), child: Some(child) };
        self.use_mut(outer).many.insert(slot, many);
        for (inner, ..) in nodes.iter_slots() {
            queue.push((group, inner, Some(child)));
        }
        Ok(child)
    }

    /// Brings outputs of the document up to date.
    pub(super) fn renew_outputs(&mut self, queue: &Queue<'_>) -> Result<(), Lost> {
        let editor = queue.editor;
        let outputs = editor.outputs_of_body(ROOT);
        let gone: Vec<Arc<str>> =
            self.outputs.keys().filter(|name| !outputs.contains_key(name)).cloned().collect();
        for name in gone {
            let output = self.outputs.remove(&name);
            if let Some(node) = output.and_then(|output| output.node) {
                self.doom_owned(OUTPUTS, node);
            }
        }
        for slot in &queue.outputs {
            let Some((name, def)) = outputs.at(*slot) else { continue };
            let ty = self.registry.type_named(&def.ty).ok_or(Lost)?;
            let old = self.outputs.remove(name);
            let old_node = old.as_ref().and_then(|old| old.node);
            let node = match self.want_as(editor, 0, reference_of(def), ty) {
                Some((want, ty)) => Some(self.fitted(OUTPUTS, old_node, &want, ty)?),
                None => None,
            };
            if let Some(old) = old_node.filter(|old| node != Some(*old)) {
                self.doom_owned(OUTPUTS, old);
            }
            self.outputs.insert(Arc::clone(name), RootOutput { ty, node });
        }
        Ok(())
    }
}

fn group_of(editor: &Editor, node: &Node) -> Option<BodyKey> {
    node.kind.group().and_then(|name| editor.body_of(name))
}
