//! Following edits: what changed is made anew, and what reads that, as far as it differs.
//!
//! Places (a node, in one use of its body or in all) wait in a heap, inner groups before outer ones
//! and each node behind what it depends on. Each is checked alone, with the types of what it reads,
//! and its live nodes are linked or made anew; where what it gives has another live node then, or
//! none, its readers follow. Cost: the places that differ, and those that read them.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::sync::Arc;

use millstream_base::Type;
use millstream_document::check::{Alone, AloneKind, AloneSource, check_alone};
use millstream_document::edit::{
    BodyKey, Change, ROOT, Rank, Reference, User, reference_of, references,
};
use millstream_document::{Editor, Node, NodeKind};
use millstream_eval::live::NodeNumber;
use millstream_kernel::Instance;
use rustc_hash::{FxHashMap, FxHashSet};

use super::build::declared;
use super::{
    Kind, Known, Lost, Many, Mirror, OUTPUTS, Owner, Port, RootOutput, Side, Use, Want, heights,
};

/// A node in one use of its body, or in all.
type Place = (BodyKey, u32, Option<u32>);

/// The places that are to be looked at.
struct Queue<'e> {
    editor: &'e Editor,
    heights: FxHashMap<BodyKey, u32>,
    heap: BinaryHeap<Reverse<(u32, Rank, Place)>>,
    waiting: FxHashSet<Place>,
    /// Nodes that the edit is about.
    edited: FxHashSet<(BodyKey, u32)>,
    /// Outputs of the document, by slot.
    outputs: BTreeSet<u32>,
}

impl Queue<'_> {
    fn push(&mut self, place: Place) {
        let (body, slot, _) = place;
        if self.editor.nodes_of_body(body).at(slot).is_some() && self.waiting.insert(place) {
            let height = match body {
                ROOT => u32::MAX,
                group => self.heights.get(&group).copied().unwrap_or_default(),
            };
            self.heap.push(Reverse((height, self.editor.rank_of(body, slot), place)));
        }
    }

    fn pop(&mut self) -> Option<Place> {
        let Reverse((.., place)) = self.heap.pop()?;
        self.waiting.remove(&place);
        Some(place)
    }
}

/// A mirror that is given up when so many nodes were removed, and as many as it has.
const MANY_REMOVED: usize = 1 << 16;

impl Mirror {
    /// Follows an edit.
    ///
    /// # Errors
    /// If the document as it is now has no mirror. This one is not to be used any more then.
    pub(in crate::session) fn follow(
        &mut self,
        editor: &Editor,
        changes: &[Change],
    ) -> Result<(), Lost> {
        let mut queue = Queue {
            editor,
            heights: if editor.document().groups.is_empty() {
                FxHashMap::default()
            } else {
                heights(editor)
            },
            heap: BinaryHeap::new(),
            waiting: FxHashSet::default(),
            edited: FxHashSet::default(),
            outputs: BTreeSet::new(),
        };
        let depth = queue.heights.values().copied().max().unwrap_or_default();
        if depth as usize > self.max_depth {
            return Err(Lost);
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
                Change::GroupCame { body } if gone.contains(&body) => return Err(Lost),
                Change::GroupGone { body } => gone.push(body),
                Change::GroupCame { body } => {
                    let nodes = editor.document().groups.at(body).map(|(_, group)| &group.nodes);
                    // One that went again is not looked at.
                    let Some(nodes) = nodes else { continue };
                    let kinds = vec![Kind::None; nodes.n_slots()];
                    self.bodies.insert(body, Known { kinds, n_wrong: 0, uses: Vec::new() });
                    for (slot, ..) in nodes.iter_slots() {
                        queue.push((body, slot, None));
                    }
                }
                Change::Head => {}
            }
        }
        while let Some((body, slot, of)) = queue.pop() {
            self.renew(&mut queue, body, slot, of)?;
        }
        self.renew_outputs(&queue)?;
        for body in gone {
            if self.bodies.remove(&body).is_some_and(|known| !known.uses.is_empty()) {
                return Err(Lost);
            }
        }
        self.remove_doomed()?;
        if self.n_removed > MANY_REMOVED.max(2 * self.n_calls) {
            return Err(Lost);
        }
        Ok(())
    }

    /// Inputs of the document changed.
    fn follow_inputs(&mut self, queue: &mut Queue<'_>) -> Result<(), Lost> {
        let editor = queue.editor;
        let inputs = editor.inputs_of_body(ROOT);
        let gone: Vec<Arc<str>> =
            self.inputs.keys().filter(|name| !inputs.contains_key(name)).cloned().collect();
        for name in gone {
            let input = self.inputs.remove(&name);
            self.doomed.extend(input.and_then(|input| input.node));
        }
        for (name, def) in inputs {
            let (ty, default) = declared(&self.registry, def).ok_or(Lost)?;
            let (given, is_new) = match self.inputs.get_mut(name) {
                Some(known) if known.ty == ty => {
                    known.default = default.clone();
                    (known.given.clone(), false)
                }
                Some(known) => {
                    let given = known.given.take();
                    self.doomed.extend(known.node);
                    (given, true)
                }
                None => (None, true),
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
            self.set(name, given.as_ref());
        }
        Ok(())
    }

    /// What comes into a group, or goes out of it, changed.
    fn follow_face(&self, queue: &mut Queue<'_>, body: BodyKey) {
        let editor = queue.editor;
        if !self.bodies.contains_key(&body) {
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

    /// A node went.
    fn take_out(&mut self, queue: &mut Queue<'_>, body: BodyKey, slot: u32) -> Result<(), Lost> {
        let Some(known) = self.bodies.get_mut(&body) else { return Ok(()) };
        let Some(kind) = known.kinds.get_mut(slot as usize) else { return Ok(()) };
        let was_wrong = known.n_wrong > 0;
        known.n_wrong -= usize::from(matches!(kind, Kind::Wrong));
        let is_mended = was_wrong && known.n_wrong == 0;
        *kind = Kind::None;
        for use_id in known.uses.clone() {
            self.clear(use_id, slot)?;
        }
        if is_mended && queue.exists(body) {
            for (user, slot) in queue.editor.users_of_group(body) {
                queue.touch(self, user, slot);
            }
        }
        Ok(())
    }

    /// What a node gave in one use is not needed any more.
    fn clear(&mut self, use_id: u32, slot: u32) -> Result<(), Lost> {
        let it = self.use_mut(use_id);
        let out = it.outs.get_mut(slot as usize).and_then(Option::take);
        let many = it.many.remove(&slot);
        if let Some(node) = out {
            self.doom_call(node);
        }
        let mut stack: Vec<(Port, Many)> = Vec::new();
        stack.extend(many.map(|many| ((use_id, Side::Out(slot)), many)));
        while let Some((port, many)) = stack.pop() {
            for node in many.outs.into_iter().flatten() {
                self.doom_owned(Owner::Port(port), node);
            }
            let Some(child) = many.child else { continue };
            let Some(gone) = self.uses[child as usize].take() else { return Err(Lost) };
            self.n_removed += 1;
            for node in gone.inputs.into_values() {
                self.doom_owned(Owner::Port((child, Side::In)), node);
            }
            for node in gone.outs.into_iter().flatten() {
                self.doom_call(node);
            }
            let inner = gone.many.into_iter();
            stack.extend(inner.map(|(slot, many)| ((child, Side::Out(slot)), many)));
            if let Some(known) = self.bodies.get_mut(&gone.body) {
                known.uses.retain(|known| *known != child);
            }
        }
        Ok(())
    }

    /// Looks at a node that changed, or whose sources did.
    fn renew(
        &mut self,
        queue: &mut Queue<'_>,
        body: BodyKey,
        slot: u32,
        of: Option<u32>,
    ) -> Result<(), Lost> {
        let editor = queue.editor;
        let Some((name, node)) = editor.nodes_of_body(body).at(slot) else { return Ok(()) };
        let Some(known) = self.bodies.get(&body) else { return Ok(()) };
        let before = known.kinds.get(slot as usize).cloned().unwrap_or_default();
        let alone = self.alone(editor, body, node);
        let kind = match alone.as_ref().map(|alone| &alone.kind) {
            None => Kind::Wrong,
            Some(AloneKind::Call(instance)) => match &before {
                Kind::Call(known) if is_alike(known, instance) => Kind::Call(Arc::clone(known)),
                _ => Kind::Call(Arc::clone(instance)),
            },
            Some(AloneKind::Muted(muted)) => Kind::Muted(Arc::clone(muted)),
            Some(AloneKind::Group) => group_of(editor, node).map_or(Kind::Wrong, Kind::Group),
        };
        // A wrong group is wrong wherever it stands, muted or not.
        let is_sound = group_of(editor, node)
            .is_none_or(|group| self.bodies.get(&group).is_some_and(|known| known.n_wrong == 0));
        let kind = if is_sound { kind } else { Kind::Wrong };
        let stays = match (&before, &kind) {
            (Kind::Call(a), Kind::Call(b)) => Arc::ptr_eq(a, b),
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
        let was_wrong = known.n_wrong > 0;
        known.n_wrong += usize::from(matches!(kind, Kind::Wrong));
        known.n_wrong -= usize::from(matches!(before, Kind::Wrong));
        let is_wrong = known.n_wrong > 0;
        known.kinds[slot as usize] = kind.clone();
        if !stays {
            // What a source is decides what its readers are, also where the body is not in use.
            for reader in editor.readers_of(body, name) {
                if let User::Node(slot) = reader {
                    queue.push((body, slot, None));
                }
            }
        }
        if was_wrong != is_wrong {
            for (user, slot) in editor.users_of_group(body) {
                queue.touch(self, user, slot);
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
    fn renew_in(
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
        let had = out.is_some() || it.many.get(&slot).is_some_and(|many| !many.outs.is_empty());
        let (false, Some(alone)) = (matches!(kind, Kind::Wrong), alone) else {
            self.clear(use_id, slot)?;
            return Ok(had);
        };
        let wants = self.wants_in(editor, use_id, node, alone)?;
        match kind {
            Kind::None | Kind::Wrong => Ok(false),
            Kind::Call(instance) => {
                if !stays {
                    self.clear(use_id, slot)?;
                }
                let before = out.filter(|_| stays);
                let made = self.call(before, instance, &wants)?;
                if queue.edited.contains(&(self.use_of(use_id).body, slot)) {
                    self.edited.insert(made);
                }
                self.use_mut(use_id).outs[slot as usize] = Some(made);
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
                for node in old.iter().flatten().filter(|node| !outs.contains(&Some(**node))) {
                    self.doom_owned(Owner::Port(port), *node);
                }
                let changed = old != outs;
                self.use_mut(use_id).many.insert(slot, Many { outs, child: None });
                Ok(changed)
            }
            Kind::Group(group) => self.renew_group(queue, use_id, slot, *group, &wants),
        }
    }

    fn renew_group(
        &mut self,
        queue: &mut Queue<'_>,
        use_id: u32,
        slot: u32,
        group: BodyKey,
        wants: &[Want],
    ) -> Result<bool, Lost> {
        let editor = queue.editor;
        let child = self.use_of(use_id).many.get(&slot).and_then(|many| many.child);
        let child = child.filter(|child| self.use_of(*child).body == group);
        let had = child.is_none()
            && (self.use_of(use_id).outs[slot as usize].is_some()
                || self.use_of(use_id).many.contains_key(&slot));
        let (child, is_new) = match child {
            Some(child) => (child, false),
            None => {
                self.clear(use_id, slot)?;
                (self.new_child(queue, use_id, slot, group), true)
            }
        };
        // What comes in.
        let side_in = Owner::Port((child, Side::In));
        let mut before = std::mem::take(&mut self.use_mut(child).inputs);
        let mut inputs = HashMap::with_capacity(wants.len());
        for (want, (name, def)) in wants.iter().zip(editor.inputs_of_body(group)) {
            let ty = self.registry.type_named(&def.ty).ok_or(Lost)?;
            let old = before.remove(name);
            let new = self.fitted(side_in, old, want, ty)?;
            inputs.insert(Arc::clone(name), new);
            if old != Some(new) {
                if let Some(old) = old {
                    self.doom_owned(side_in, old);
                }
                for reader in editor.readers_of_input(group, name) {
                    if let User::Node(inner) = reader {
                        queue.push((group, inner, Some(child)));
                    }
                }
            }
        }
        before.into_values().for_each(|node| self.doom_owned(side_in, node));
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
            let ty = self.registry.type_named(&output.ty).ok_or(Lost)?;
            let want = self.want_in(editor, child, reference_of(output))?;
            outs.push(match want {
                Some(want) => {
                    Some(self.fitted(side_out, old.get(k).copied().flatten(), &want, ty)?)
                }
                None => None,
            });
        }
        for node in old.iter().flatten().filter(|node| !outs.contains(&Some(**node))) {
            self.doom_owned(side_out, *node);
        }
        let changed = old != outs;
        self.use_mut(use_id).many.get_mut(&slot).expect("it has a child").outs = outs;
        Ok(changed)
    }

    /// A new use of a group, whose nodes wait to be made.
    fn new_child(&mut self, queue: &mut Queue<'_>, outer: u32, slot: u32, group: BodyKey) -> u32 {
        let nodes = queue.editor.nodes_of_body(group);
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
        child
    }

    /// Those who read a node in one use of its body look at it anew.
    fn touch_readers(&self, queue: &mut Queue<'_>, use_id: u32, name: &str) {
        let it = self.use_of(use_id);
        for reader in queue.editor.readers_of(it.body, name) {
            match (reader, it.outer) {
                (User::Node(slot), _) => queue.push((it.body, slot, Some(use_id))),
                (User::Output(slot), None) => {
                    queue.outputs.insert(slot);
                }
                (User::Output(_), Some((outer, slot))) => {
                    queue.push((self.use_of(outer).body, slot, Some(outer)));
                }
            }
        }
    }

    /// Brings outputs of the document up to date.
    fn renew_outputs(&mut self, queue: &Queue<'_>) -> Result<(), Lost> {
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
            let fits = |want: &Want| match want {
                Want::Node(_, from) => millstream_kernel::convert::convertible(*from, ty),
                Want::Literal(_) => true,
            };
            let node = match self.want_in(editor, 0, reference_of(def))?.filter(fits) {
                Some(want) => Some(self.fitted(OUTPUTS, old_node, &want, ty)?),
                None => None,
            };
            if let Some(old) = old_node.filter(|old| node != Some(*old)) {
                self.doom_owned(OUTPUTS, old);
            }
            self.outputs.insert(Arc::clone(name), RootOutput { ty, node });
        }
        Ok(())
    }

    /// A node checked alone.
    fn alone(&self, editor: &Editor, body: BodyKey, node: &Node) -> Option<Alone> {
        let group = match &node.kind {
            NodeKind::Group(name) => Some(editor.document().groups.get(name)?),
            NodeKind::Type(_) => None,
        };
        check_alone(&self.registry, node, group, |reference| self.type_in(editor, body, reference))
    }

    /// The type of something that a node or output of a body reads; `None` if that is wrong.
    fn type_in(&self, editor: &Editor, body: BodyKey, reference: Reference<'_>) -> Option<Type> {
        match reference {
            Reference::Input(name) => {
                let def = editor.inputs_of_body(body).get(name)?;
                self.registry.type_named(&def.ty)
            }
            Reference::Link(link) => {
                let slot = editor.nodes_of_body(body).slot_of(&link.node)?;
                let output = self.output_position(editor, body, slot, &link.output)?;
                match self.bodies.get(&body)?.kinds.get(slot as usize)? {
                    Kind::Group(group) => {
                        let def = &editor.outputs_of_body(*group)[output];
                        self.registry.type_named(&def.ty)
                    }
                    Kind::None | Kind::Wrong | Kind::Call(_) | Kind::Muted(_) => {
                        self.output_type(body, slot, output)
                    }
                }
            }
        }
    }

    pub(super) fn output_position(
        &self,
        editor: &Editor,
        body: BodyKey,
        slot: u32,
        output: &str,
    ) -> Option<usize> {
        match self.bodies.get(&body)?.kinds.get(slot as usize)? {
            Kind::None | Kind::Wrong => None,
            Kind::Call(instance) => instance.output_names.iter().position(|name| **name == *output),
            Kind::Muted(muted) => muted.outputs.iter().position(|known| *known.name == *output),
            Kind::Group(group) => editor.outputs_of_body(*group).get_index_of(output),
        }
    }

    /// What a node or output reads in one use of its body; `None` if that is wrong.
    ///
    /// # Errors
    /// If it is right, but no number.
    fn want_in(
        &self,
        editor: &Editor,
        use_id: u32,
        reference: Reference<'_>,
    ) -> Result<Option<Want>, Lost> {
        let body = self.use_of(use_id).body;
        let Some(ty) = self.type_in(editor, body, reference) else { return Ok(None) };
        let node = match reference {
            Reference::Input(name) => self.input_in(use_id, name),
            Reference::Link(link) => {
                let slot = editor.nodes_of_body(body).slot_of(&link.node);
                slot.and_then(|slot| {
                    let output = self.output_position(editor, body, slot, &link.output)?;
                    self.output_in(use_id, slot, output)
                })
            }
        };
        Ok(Some(Want::Node(node.ok_or(Lost)?, ty)))
    }

    /// What goes into the slots of a node in one use of its body.
    fn wants_in(
        &self,
        editor: &Editor,
        use_id: u32,
        node: &Node,
        alone: &Alone,
    ) -> Result<Vec<Want>, Lost> {
        let read: Vec<Reference<'_>> =
            node.inputs.iter().flat_map(|(_, input)| references(input)).collect();
        let sources = alone.sources.iter();
        sources
            .map(|source| match source {
                AloneSource::Literal(value) => Ok(Want::Literal(value.clone())),
                AloneSource::Read(k) => self.want_in(editor, use_id, read[*k])?.ok_or(Lost),
            })
            .collect()
    }
}

impl Mirror {
    pub(super) fn use_of(&self, use_id: u32) -> &Use {
        self.uses[use_id as usize].as_ref().expect("uses that are known are there")
    }

    pub(super) fn use_mut(&mut self, use_id: u32) -> &mut Use {
        self.uses[use_id as usize].as_mut().expect("uses that are known are there")
    }

    /// An input of the body in one of its uses.
    pub(super) fn input_in(&self, use_id: u32, name: &str) -> Option<NodeNumber> {
        match self.use_of(use_id).outer {
            None => self.inputs.get(name)?.node,
            Some(_) => self.use_of(use_id).inputs.get(name).copied(),
        }
    }

    /// What a node gives in one use of its body.
    pub(super) fn output_in(&self, use_id: u32, slot: u32, output: usize) -> Option<NodeNumber> {
        let it = self.use_of(use_id);
        match it.outs.get(slot as usize).copied().flatten() {
            Some(node) => (output == 0).then_some(node),
            None => it.many.get(&slot)?.outs.get(output).copied().flatten(),
        }
    }

    /// The type of what a node that uses no group gives.
    pub(super) fn output_type(&self, body: BodyKey, slot: u32, output: usize) -> Option<Type> {
        match self.bodies.get(&body)?.kinds.get(slot as usize)? {
            Kind::None | Kind::Wrong | Kind::Group(_) => None,
            Kind::Call(instance) => Some(instance.outputs.get(output)?.ty),
            Kind::Muted(muted) => Some(muted.outputs.get(output)?.ty),
        }
    }
}

impl Queue<'_> {
    /// A node is to be looked at in all uses of its body.
    fn touch(&mut self, mirror: &Mirror, body: BodyKey, slot: u32) {
        if mirror.bodies.contains_key(&body) && self.exists(body) {
            self.push((body, slot, None));
        }
    }

    fn exists(&self, body: BodyKey) -> bool {
        body == ROOT || self.editor.document().groups.at(body).is_some()
    }
}

fn group_of(editor: &Editor, node: &Node) -> Option<BodyKey> {
    match &node.kind {
        NodeKind::Group(name) => editor.body_of(name),
        NodeKind::Type(_) => None,
    }
}

/// Whether two instances do the same.
fn is_alike(a: &Arc<Instance>, b: &Arc<Instance>) -> bool {
    Arc::ptr_eq(&a.def, &b.def)
        && a.settings == b.settings
        && a.generics == b.generics
        && a.inputs.iter().map(|slot| slot.ty).eq(b.inputs.iter().map(|slot| slot.ty))
        && a.outputs.iter().map(|slot| slot.ty).eq(b.outputs.iter().map(|slot| slot.ty))
}
