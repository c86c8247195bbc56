//! Brings one place up to date: the kind of a node, and its live nodes in the uses of its body.

use std::collections::HashMap;
use std::sync::Arc;

use millstream_document::check::SingleSource;
use millstream_document::edit::{BodyKey, ROOT, User, reference_of};
use millstream_document::{CheckedKind, Editor, Node, NodeKind};
use millstream_run::live::NodeNumber;
use rustc_hash::FxHashMap;

use super::queue::Queue;
use super::stateful::StatefulType;
use super::{Kind, Many, Mirror, NotLive, OUTPUTS, Operand, Owner, RootOutput, Side, Use};

impl Mirror {
    /// Looks at a node that changed, or whose sources did.
    pub(super) fn renew(
        &mut self,
        queue: &mut Queue<'_>,
        body: BodyKey,
        slot: u32,
        of: Option<u32>,
    ) -> Result<(), NotLive> {
        let editor = queue.editor;
        let Some((name, node)) = editor.nodes_of_body(body).at(slot) else { return Ok(()) };
        self.has_repeats |= matches!(node.kind, NodeKind::Repeat(_));
        let Some(known) = self.bodies.get(&body) else { return Ok(()) };
        if known.uses.is_empty() && body != ROOT && self.has_repeats {
            // Its nodes may be those of a repeat; they are looked at when a group uses them.
            return Ok(());
        }
        let before = known.kinds.get(slot as usize).cloned().unwrap_or_default();
        if matches!(before, Kind::Wrong) {
            // If it becomes right, nodes with a delayed input may become right too.
            for slot in std::mem::take(&mut self.unfed) {
                queue.push((ROOT, slot, None));
            }
        }
        let is_unfed = body == ROOT && queue.unfed.contains(&slot);
        let checked = if is_unfed { None } else { self.checked(editor, body, node) };
        let kind = match checked.as_ref().map(|checked| &checked.kind) {
            None | Some(CheckedKind::Wrong) => Kind::Wrong,
            Some(CheckedKind::Call(instance)) => match before.instance() {
                Some(known) if known.does_same(instance) => before.clone(),
                _ => match StatefulType::of(&self.registry, instance)? {
                    Some(of_type) => Kind::Stateful(Arc::new(of_type)),
                    None => Kind::Call(Arc::clone(instance)),
                },
            },
            Some(CheckedKind::Muted(muted)) => Kind::Muted(Arc::clone(muted)),
            Some(CheckedKind::Group(_)) => group_of(editor, node).map_or(Kind::Wrong, Kind::Group),
            // Its messages use the current names of the nodes in its rounds.
            Some(CheckedKind::Repeat(repeat)) => {
                Kind::Call(self.repeat_of_node(editor, node, repeat)?)
            }
        };
        let sources = checked.map(|checked| checked.sources).unwrap_or_default();
        let stays = match (&before, &kind) {
            (Kind::Call(a), Kind::Call(b)) => Arc::ptr_eq(a, b) || a.does_same(b),
            (Kind::Stateful(a), Kind::Stateful(b)) => Arc::ptr_eq(a, b),
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
            // The kinds of readers depend on it, also where the body is not in use.
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
            let changed = self.renew_in(queue, use_id, (slot, node), &kind, &sources, stays)?;
            if changed {
                self.touch_readers(queue, use_id, name);
            }
        }
        Ok(())
    }

    /// Brings the live nodes of a node in one use of its body up to date; says whether its outputs
    /// are other nodes now.
    pub(super) fn renew_in(
        &mut self,
        queue: &mut Queue<'_>,
        use_id: u32,
        (slot, node): (u32, &Node),
        kind: &Kind,
        sources: &[SingleSource<'_>],
        stays: bool,
    ) -> Result<bool, NotLive> {
        let editor = queue.editor;
        let it = self.use_mut(use_id);
        if it.outs.len() <= slot as usize {
            it.outs.resize(slot as usize + 1, None);
        }
        let out = it.outs[slot as usize];
        let is_edited = queue.edited.contains(&(it.body, slot));
        let had = out.is_some() || it.many.get(&slot).is_some_and(|many| !many.outs.is_empty());
        if let Kind::Wrong = kind {
            self.clear(use_id, slot)?;
            return Ok(had);
        }
        if self.lacks_input(use_id, node) {
            // The node that uses the group is looked at later, and then this one again.
            if !stays {
                self.clear(use_id, slot)?;
            }
            return Ok(had && !stays);
        }
        let operands = self.operands_in(editor, use_id, sources);
        if let Kind::Group(group) = kind {
            return self.renew_group(queue, use_id, slot, *group, &operands);
        }
        if let Kind::Stateful(of_type) = kind {
            return self.renew_stateful(queue, (use_id, slot), of_type, &operands, stays);
        }
        let Some(operands) = operands.into_iter().collect::<Option<Vec<Operand>>>() else {
            self.clear(use_id, slot)?;
            return Ok(had);
        };
        match kind {
            Kind::None | Kind::Wrong | Kind::Stateful(_) | Kind::Group(_) => Ok(false),
            Kind::Call(instance) => {
                let had_run = out.map_or(had, |out| self.had_run(out));
                if !stays {
                    self.clear(use_id, slot)?;
                }
                let before = out.filter(|_| stays);
                let before = before.or_else(|| self.moved_call(queue, (use_id, slot), instance));
                let made = self.call(before, instance, &operands)?;
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
                let outs = self.passed(port, &old, muted, &operands)?;
                self.doom_replaced(Owner::Port(port), &old, &outs);
                let changed = old != outs;
                self.use_mut(use_id).many.insert(slot, Many { outs, child: None });
                Ok(changed)
            }
        }
    }

    /// Whether a node, or the one before it in its place, has run.
    fn had_run(&self, out: NodeNumber) -> bool {
        !self.graph.is_new(out) || self.edited.get(&out).is_some_and(|had| *had)
    }

    /// The same for a node with state.
    fn renew_stateful(
        &mut self,
        queue: &mut Queue<'_>,
        (use_id, slot): (u32, u32),
        of_type: &Arc<StatefulType>,
        operands: &[Option<Operand>],
        stays: bool,
    ) -> Result<bool, NotLive> {
        let it = self.use_of(use_id);
        let (out, is_edited) = (it.outs[slot as usize], queue.edited.contains(&(it.body, slot)));
        let had = out.is_some() || it.many.contains_key(&slot);
        let is_made =
            |(at, operand): (usize, &Option<Operand>)| operand.is_some() || of_type.is_delayed(at);
        if !operands.iter().enumerate().all(is_made) {
            self.clear(use_id, slot)?;
            return Ok(had);
        }
        let had_run = out.map_or(had, |out| self.had_run(out));
        if !stays {
            self.clear(use_id, slot)?;
        }
        let before = self.stateful.remove(&(use_id, slot));
        let before = before.or_else(|| self.moved_stateful(queue, (use_id, slot), of_type));
        let stateful = self.stateful_node(before, of_type, operands)?;
        if stateful.lacks() {
            queue.lacking.insert((use_id, slot));
        }
        let made = stateful.out();
        if is_edited {
            self.edited.insert(made, had_run);
        }
        self.put_stateful((use_id, slot), stateful);
        Ok(out != Some(made))
    }

    pub(super) fn renew_group(
        &mut self,
        queue: &mut Queue<'_>,
        use_id: u32,
        slot: u32,
        group: BodyKey,
        operands: &[Option<Operand>],
    ) -> Result<bool, NotLive> {
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
        let mut inputs = HashMap::with_capacity(operands.len());
        for (operand, (name, def)) in operands.iter().zip(editor.inputs_of_body(group)) {
            let old = before.remove(name);
            let new = match (operand, self.registry.type_named(&def.ty)) {
                (Some(operand), Some(ty)) => {
                    Some(self.fitted(side_in, old.flatten(), operand, ty)?)
                }
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
            // Its outputs are known when its nodes are made.
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
            let operand =
                ty.and_then(|ty| self.operand_as(editor, child, reference_of(output), ty));
            outs.push(match operand {
                Some((operand, ty)) => {
                    Some(self.fitted(side_out, old.get(k).copied().flatten(), &operand, ty)?)
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
    ) -> Result<u32, NotLive> {
        let nodes = queue.editor.nodes_of_body(group);
        // Groups grow with the number of their uses inside each other: they are counted first.
        if queue.size_of(group).saturating_add(queue.n_planned) > self.limits.expanded_nodes {
            return Err(NotLive);
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
    pub(super) fn renew_outputs(&mut self, queue: &Queue<'_>) -> Result<(), NotLive> {
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
            let ty = self.registry.type_named(&def.ty).ok_or(NotLive)?;
            let old = self.outputs.remove(name);
            let old_node = old.as_ref().and_then(|old| old.node);
            let node = match self.operand_as(editor, 0, reference_of(def), ty) {
                Some((operand, ty)) => Some(self.fitted(OUTPUTS, old_node, &operand, ty)?),
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
