//! Updates one place: the kind of a node, and its live nodes in the uses of its body.

use std::collections::HashMap;
use std::sync::Arc;

use millstream_base::Type;
use millstream_compile::lower::StatefulType;
use millstream_document::edit::{BodyKey, ROOT, User};
use millstream_document::{CheckedKind, Editor, Node, NodeKind};
use millstream_ir::ZoneBody;
use millstream_node::Instance;
use millstream_run::live::{NodeNumber, can_be_live, counts_elements, gathers_elements};
use smallvec::SmallVec;

use super::queue::Queue;
use super::scoped::is_scope;
use super::{Kind, Many, Mirror, NotLive, OUTPUTS, Operand, Operands, Owner, RootOutput, Side};

impl Mirror {
    /// Updates a node if it changed, or its sources did.
    pub(super) fn renew(
        &mut self,
        queue: &mut Queue<'_>,
        body: BodyKey,
        slot: u32,
        of: Option<u32>,
    ) -> Result<(), NotLive> {
        let editor = queue.editor;
        let Some((name, node)) = editor.nodes_of_body(body).at(slot) else { return Ok(()) };
        if node.kind.is_of_closures() {
            return Err(NotLive);
        }
        self.has_zones |= matches!(node.kind, NodeKind::Zone(..));
        let Some(known) = self.bodies.get(&body) else { return Ok(()) };
        if known.uses.is_empty() && body != ROOT && self.has_zones {
            // Its nodes may be those of a zone; they are visited when a group uses them.
            return Ok(());
        }
        let before = known.kinds.get(slot as usize).cloned().unwrap_or_default();
        if node.muted && self.reads_unknown_types(editor, body, node) {
            // The value of a muted node depends on the types of its inputs. Here, only a check of the
            // whole document can find them.
            return Err(NotLive);
        }
        let checked = self.checked(editor, body, node);
        let kind = match checked.as_ref().map(|checked| &checked.kind) {
            None => Kind::Wrong,
            Some(CheckedKind::Call(instance)) => match before.instance() {
                Some(known) if known.does_same(instance) => before.clone(),
                _ => self.kind_of_call(instance)?,
            },
            Some(kind) => self.kind_of(editor, node, kind)?,
        };
        let sources = checked.map(|checked| checked.sources).unwrap_or_default();
        let stays = match (&before, &kind) {
            (Kind::Call(a), Kind::Call(b)) => Arc::ptr_eq(a, b) || a.does_same(b),
            (Kind::Stateful(a), Kind::Stateful(b)) => {
                Arc::ptr_eq(a, b) || a.instance.does_same(&b.instance)
            }
            (Kind::Group(a), Kind::Group(b)) => a == b,
            // The types of a wrong zone are those of the interface, which may have changed.
            (Kind::Wrong, Kind::Wrong) => {
                let is_zone = matches!(node.kind, NodeKind::Zone(..));
                !(is_zone && queue.retyped.insert((body, slot)))
            }
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
            // The kinds of readers depend on it, even if the body is not in use.
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
            let changed = if self.lacks_input(use_id, node) {
                // The node that uses the group is visited later, and then this one again.
                !stays && self.clear(use_id, slot)?
            } else {
                let operands = self.operands_in(use_id, &sources);
                self.renew_in(queue, (use_id, slot), &kind, operands, stays)?
            };
            if changed {
                self.touch_readers(queue, use_id, name);
            }
        }
        Ok(())
    }

    /// The kind of a checked node that calls no node type.
    pub(super) fn kind_of(
        &mut self,
        editor: &Editor,
        node: &Node,
        checked: &CheckedKind,
    ) -> Result<Kind, NotLive> {
        let group = node.kind.group().and_then(|name| editor.body_of(name));
        Ok(match checked {
            CheckedKind::Call(instance) => self.kind_of_call(instance)?,
            CheckedKind::Muted(muted) => Kind::Muted(Arc::clone(muted)),
            CheckedKind::Group(_) => group.map_or(Kind::Wrong, Kind::Group),
            // The zone's messages use the current names of the nodes in its rounds.
            CheckedKind::Zone(zone) => match self.zone_of(editor, node, zone)? {
                Some(instance) => self.kind_of_call(&instance)?,
                None => Kind::Wrong,
            },
            CheckedKind::Closure(_) => return Err(NotLive),
            CheckedKind::Wrong => Kind::Wrong,
        })
    }

    /// The kind of a node that calls a node type.
    pub(super) fn kind_of_call(&self, instance: &Arc<Instance>) -> Result<Kind, NotLive> {
        let has_columns = self.graph.holds_columns();
        let is_live = |it: &Instance| {
            let is_of_elements = || gathers_elements(it) || counts_elements(it);
            can_be_live(it) || is_scope(it) || has_columns && is_of_elements()
        };
        if let Some(network) = &instance.network {
            let mut parts = network.parts.iter().map(|part| &part.instance);
            // State is identified by the path of a node of the document.
            let are_live = parts.all(|part| part.def.state.is_none() && is_live(part));
            return if are_live { Ok(Kind::Call(Arc::clone(instance))) } else { Err(NotLive) };
        }
        if let Some(state) = &instance.def.state {
            // Other delayed inputs are not taken apart.
            let has_other_delay = instance.def.delayed.is_some() && !state.delays_first();
            if instance.has_scopes() || has_other_delay {
                return Err(NotLive);
            }
        }
        match StatefulType::of(instance, |ty| Arc::new(self.registry.pick(ty))) {
            Some(of_type) => Ok(Kind::Stateful(Arc::new(of_type))),
            None if is_live(instance) => Ok(Kind::Call(Arc::clone(instance))),
            None => Err(NotLive),
        }
    }

    /// Updates the live nodes of a node in one use of its body; returns whether its outputs come
    /// from other nodes now.
    pub(super) fn renew_in(
        &mut self,
        queue: &mut Queue<'_>,
        (use_id, slot): (u32, u32),
        kind: &Kind,
        operands: Operands,
        stays: bool,
    ) -> Result<bool, NotLive> {
        let it = self.use_mut(use_id);
        if it.outs.len() <= slot as usize {
            it.outs.resize(slot as usize + 1, None);
        }
        let out = it.outs[slot as usize];
        let is_edited = queue.edited.contains(&(it.body, slot));
        match kind {
            Kind::Group(group) => self.renew_group(queue, (use_id, slot), *group, &operands),
            Kind::Stateful(of_type) => {
                self.renew_stateful(queue, (use_id, slot), of_type, &operands, stays)
            }
            Kind::Call(instance) => {
                if let Some(network) = &instance.network {
                    let place = (use_id, slot);
                    if !network.is_divided && operands.iter().any(Option::is_none) {
                        return self.clear(use_id, slot);
                    }
                    return self.renew_network(queue, place, instance, &operands, stays);
                }
                let Some(operands) = all(operands) else { return self.clear(use_id, slot) };
                let had = it.many.get(&slot).is_some_and(|many| !many.outs.is_empty());
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
            Kind::None | Kind::Wrong => self.clear(use_id, slot),
        }
    }

    /// Whether a node, or the one that it replaced, has run.
    pub(super) fn had_run(&self, out: NodeNumber) -> bool {
        !self.graph.is_new(out) || self.edited.get(&out).is_some_and(|had| *had)
    }

    /// As [`renew_in`](Self::renew_in), for a node with state.
    fn renew_stateful(
        &mut self,
        queue: &mut Queue<'_>,
        (use_id, slot): (u32, u32),
        of_type: &Arc<StatefulType>,
        operands: &[Option<Operand>],
        stays: bool,
    ) -> Result<bool, NotLive> {
        let mut operands = operands.to_vec();
        if let Some(body) = ZoneBody::of(&of_type.instance) {
            for need in &body.captures {
                operands.push(Some(self.captured(need)?));
            }
        }
        let it = self.use_of(use_id);
        let (out, is_edited) = (it.outs[slot as usize], queue.edited.contains(&(it.body, slot)));
        let had = out.is_some() || it.many.contains_key(&slot);
        let is_made =
            |(at, operand): (usize, &Option<Operand>)| operand.is_some() || of_type.is_delayed(at);
        let is_unfed = queue.unfed.contains(&(use_id, slot));
        if is_unfed || !operands.iter().enumerate().all(is_made) {
            return self.clear(use_id, slot);
        }
        let had_run = out.map_or(had, |out| self.had_run(out));
        if !stays {
            self.clear(use_id, slot)?;
        }
        let before = self.stateful.remove(&(use_id, slot));
        let before = before.or_else(|| self.moved_stateful(queue, (use_id, slot), of_type));
        let stateful = self.stateful_node(before, of_type, &operands)?;
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

    fn renew_group(
        &mut self,
        queue: &mut Queue<'_>,
        (use_id, slot): (u32, u32),
        group: BodyKey,
        operands: &[Option<Operand>],
    ) -> Result<bool, NotLive> {
        let editor = queue.editor;
        let child = self.use_of(use_id).many.get(&slot).and_then(|many| many.child);
        let child = child.filter(|child| self.use_of(*child).body == group);
        let was_here = child.is_some();
        let Some(child) = child.or_else(|| self.moved_group(queue, (use_id, slot), group)) else {
            let had = self.clear(use_id, slot)?;
            let nodes = editor.nodes_of_body(group);
            // Nested groups grow with the number of their uses: they are counted first.
            let size = queue.extents.get(&group).map_or(0, |extent| extent.size);
            if size.saturating_add(queue.n_planned) > self.limits.expanded_nodes {
                return Err(NotLive);
            }
            queue.n_planned += nodes.len();
            let child = self.new_use(editor, group, Some((use_id, slot)))?;
            self.pass_in(editor, child, operands)?;
            for (inner, ..) in nodes.iter_slots() {
                queue.push((group, inner, Some(child)));
            }
            // Its outputs are known when its nodes are made.
            queue.push((self.use_of(use_id).body, slot, Some(use_id)));
            return Ok(had);
        };
        for name in self.pass_in(editor, child, operands)? {
            for reader in editor.readers_of_input(group, name) {
                if let User::Node(inner) = reader {
                    queue.push((group, inner, Some(child)));
                }
            }
        }
        let outputs = editor.outputs_of_body(group).values();
        let outputs = outputs.map(|output| self.output_operand(editor, child, output)).collect();
        // If it has just moved here, its readers may have been visited before.
        Ok(self.pass_out((use_id, slot), outputs)? || !was_here)
    }

    /// Converts the inputs of a use of a group to their stated types. Returns the names of inputs
    /// that have other nodes now.
    pub(super) fn pass_in<'e>(
        &mut self,
        editor: &'e Editor,
        child: u32,
        operands: &[Option<Operand>],
    ) -> Result<Vec<&'e Arc<str>>, NotLive> {
        let port = Owner::Port((child, Side::In));
        let face = editor.inputs_of_body(self.use_of(child).body);
        let mut before = std::mem::take(&mut self.use_mut(child).inputs);
        let mut inputs = HashMap::with_capacity(operands.len());
        let mut changed = Vec::new();
        for (operand, (name, def)) in operands.iter().zip(face) {
            let old = before.remove(name);
            let new = match (operand, self.registry.type_named(&def.ty)) {
                (Some(operand), Some(ty)) => Some(self.fitted(port, old.flatten(), operand, ty)?),
                (None, _) | (_, None) => None,
            };
            inputs.insert(Arc::clone(name), new);
            if old != Some(new) {
                changed.push(name);
                if let Some(old) = old.flatten() {
                    self.doom_owned(port, old);
                }
            }
        }
        for node in before.into_values().flatten() {
            self.doom_owned(port, node);
        }
        self.use_mut(child).inputs = inputs;
        Ok(changed)
    }

    /// Converts the outputs of a use of a group to their stated types. Returns whether they are
    /// other nodes now.
    pub(super) fn pass_out(
        &mut self,
        (use_id, slot): (u32, u32),
        outputs: Vec<Option<(Operand, Type)>>,
    ) -> Result<bool, NotLive> {
        let port = Owner::Port((use_id, Side::Out(slot)));
        let many = self.use_mut(use_id).many.get_mut(&slot).expect("it has a child");
        let old = std::mem::take(&mut many.outs);
        let mut outs = Vec::with_capacity(outputs.len());
        for (k, output) in outputs.into_iter().enumerate() {
            let before = old.get(k).copied().flatten();
            outs.push(match output {
                Some((operand, ty)) => Some(self.fitted(port, before, &operand, ty)?),
                None => None,
            });
        }
        self.doom_replaced(port, &old, &outs);
        let changed = old != outs;
        self.use_mut(use_id).many.get_mut(&slot).expect("it has a child").outs = outs;
        Ok(changed)
    }

    /// Updates outputs of the document.
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
            let old_node = self.outputs.remove(name).and_then(|old| old.node);
            let output = self.output_operand(editor, 0, def);
            let ty = output.as_ref().map_or(Type::BOOL, |(_, ty)| *ty);
            let node = match output {
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

/// The operands of a node, if all have values.
fn all(operands: Operands) -> Option<SmallVec<[Operand; 4]>> {
    operands.into_iter().collect()
}
