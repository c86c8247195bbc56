//! Changes to the interface of a document or group: inputs, outputs, groups, title and view.

use std::sync::Arc;

use millstream_node::Zone;
use serde_json::Value as Json;

use super::change::{check_name, touch};
use super::editor::{Done, Editor, Refusal, unknown};
use super::error::EditError;
use super::follow::Change;
use super::index::{BodyKey, BodyView, ROOT, User};
use super::whole::{Touched, check_content};
use super::{EditKind, Name};
use crate::formula_calls::Face;
use crate::free_name::free_name;
use crate::model::{GroupDef, InputDef, InputValue, NodeKind, OutputDef, OutputFrom, Setting};
use crate::references::{Reference, each_source, reference_of};
use crate::view::{Undo, View};

impl Editor {
    pub(super) fn add_input(
        &mut self,
        body: BodyKey,
        name: &Name,
        def: &InputDef,
        before: Option<&Name>,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        let inputs = self.view(body).inputs;
        if !done.trusted {
            let index = self.index(body);
            let is_taken =
                |name: &str| inputs.contains_key(name) || index.of_inputs.contains_key(name);
            check_name(|| self.path(body, ""), "an input", name, is_taken)?;
        }
        let before = before.map(|before| &**before);
        let added = self.inputs_mut(body).insert_before(Arc::clone(name), def.clone(), before);
        if added.is_none() {
            return Err(self.no_neighbor(body, before, "input"));
        }
        let inverse = EditKind::RemoveInput { name: Arc::clone(name) };
        self.note(body, Change::Inputs { body }, inverse, done);
        done.touched.push(Touched::Input(body, Arc::clone(name)));
        Ok(())
    }

    /// Refuses an edit whose `before` names no entry.
    pub(super) fn no_neighbor(
        &self,
        body: BodyKey,
        before: Option<&str>,
        what: &'static str,
    ) -> Refusal {
        let view = self.view(body);
        let known: Vec<&Name> = match what {
            "node" => view.nodes.keys().collect(),
            "input" => view.inputs.keys().collect(),
            "output" => view.outputs.keys().collect(),
            _ => self.document.groups.keys().collect(),
        };
        let known = known.iter().map(|name| &***name);
        Refusal::at(self.path(body, ""), unknown(what, before.unwrap_or_default(), known))
    }

    /// Removes an input regardless of its readers.
    pub(super) fn take_input(
        &mut self,
        body: BodyKey,
        name: &Name,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        let slot = self.input_slot(body, name)?;
        let inputs = self.inputs_mut(body);
        let before = inputs.name_after(slot).cloned();
        let def = inputs.remove(name).expect("the input has a slot");
        let inverse = EditKind::AddInput { name: Arc::clone(name), def, before };
        self.note(body, Change::Inputs { body }, inverse, done);
        done.touched.push(Touched::Input(body, Arc::clone(name)));
        Ok(())
    }

    pub(super) fn input_slot(&self, body: BodyKey, name: &str) -> Result<u32, Refusal> {
        let inputs = self.view(body).inputs;
        inputs.slot_of(name).ok_or_else(|| {
            let known = inputs.keys().map(|name| &**name);
            Refusal::at(self.path(body, ""), unknown("input", name, known))
        })
    }

    pub(super) fn output_slot(&self, body: BodyKey, name: &str) -> Result<u32, Refusal> {
        let outputs = self.view(body).outputs;
        outputs.slot_of(name).ok_or_else(|| {
            let known = outputs.keys().map(|name| &**name);
            Refusal::at(self.path(body, ""), unknown("output", name, known))
        })
    }

    pub(super) fn change_input(
        &mut self,
        body: BodyKey,
        name: &Name,
        def: &InputDef,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        let slot = self.input_slot(body, name)?;
        let known = self.inputs_mut(body).at_mut(slot).expect("the input has a slot");
        let old = std::mem::replace(known, def.clone());
        let inverse = EditKind::ChangeInput { name: Arc::clone(name), def: old };
        self.note(body, Change::Inputs { body }, inverse, done);
        Ok(())
    }

    pub(super) fn rename_input(
        &mut self,
        body: BodyKey,
        from: &Name,
        to: &Name,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        self.input_slot(body, from)?;
        if from == to {
            return Ok(());
        }
        let (inputs, index) = (self.view(body).inputs, self.index(body));
        let is_taken = |name: &str| inputs.contains_key(name) || index.of_inputs.contains_key(name);
        check_name(|| self.path(body, ""), "an input", to, is_taken)?;
        let uses = self.users_of_group(body);
        let calls = self.calls_giving(&uses, from);
        for (user_body, slot) in uses.iter().chain(&calls) {
            let (node, user) = self.nodes(*user_body).at(*slot).expect("uses exist");
            let is_renamed =
                user.inputs.get(from).is_some() || calls.contains(&(*user_body, *slot));
            if is_renamed && user.inputs.get(to).is_some() {
                let path = self.path(*user_body, &format!("{node}.{to}"));
                let free = free_name(to, |name| user.inputs.get(name).is_some());
                let error = EditError::NameTaken { what: "a socket", name: to.to_string(), free };
                return Err(Refusal::at(path, error));
            }
        }
        self.inputs_mut(body).rename(from, Arc::clone(to));
        for (user_body, slot) in uses {
            let node = self.nodes_mut(user_body).at_mut(slot).expect("uses exist");
            node.inputs.rename(from, to);
            // A zone names inputs in its settings.
            if let NodeKind::Zone(Zone::ForEach, _) = node.kind
                && let Some(Json::Array(items)) =
                    node.set.get("items").map(|items| items.json.clone())
                && items.iter().any(|item| *item == **from)
            {
                let renamed = |item: Json| if item == **from { Json::from(&**to) } else { item };
                let items: Json = items.into_iter().map(renamed).collect();
                node.set.insert("items", Setting::from(items));
                done.changes.push(Change::Node { body: user_body, slot });
            }
        }
        for (body, slot) in calls {
            let node = self.nodes_mut(body).at_mut(slot).expect("calls exist");
            node.inputs.rename(from, to);
            done.changes.push(Change::Node { body, slot });
        }
        if let Some(users) = self.index_mut(body).of_inputs.remove(from) {
            for user in &users {
                self.reread_user(body, *user, from, to);
            }
            self.index_mut(body).of_inputs.insert(Arc::clone(to), users);
        }
        let inverse = EditKind::RenameInput { name: Arc::clone(to), to: Arc::clone(from) };
        self.note(body, Change::Inputs { body }, inverse, done);
        self.rename_in_formulas(body, Face::Input, (from, to), done)
    }

    /// Makes a node or output read the input `to` instead of `from`.
    fn reread_user(&mut self, body: BodyKey, user: User, from: &Name, to: &Name) {
        let rename = |name: &mut Name| {
            if name == from {
                *name = Arc::clone(to);
            }
        };
        match user {
            User::Node(slot) => {
                let node = self.nodes_mut(body).at_mut(slot).expect("users exist");
                for input in node.inputs.values_mut() {
                    each_source(input, |source| {
                        if let InputValue::Input(name) = &mut source.value {
                            rename(name);
                        }
                    });
                }
            }
            User::Output(slot) => {
                let output = self.outputs_mut(body).at_mut(slot).expect("users exist");
                if let OutputFrom::Input(name) = &mut output.from {
                    rename(name);
                }
            }
        }
    }

    pub(super) fn add_output(
        &mut self,
        body: BodyKey,
        name: &Name,
        def: &OutputDef,
        before: Option<&Name>,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        let outputs = self.view(body).outputs;
        if !done.trusted {
            let is_taken = |name: &str| outputs.contains_key(name);
            check_name(|| self.path(body, ""), "an output", name, is_taken)?;
        }
        let before = before.map(|before| &**before);
        let added = self.outputs_mut(body).insert_before(Arc::clone(name), def.clone(), before);
        let Some(slot) = added else { return Err(self.no_neighbor(body, before, "output")) };
        self.index_mut(body).add(reference_of(def), User::Output(slot));
        let inverse = EditKind::RemoveOutput { name: Arc::clone(name) };
        self.note(body, Change::Outputs { body }, inverse, done);
        touch(body, reference_of(def), done);
        Ok(())
    }

    /// Removes an output regardless of its readers.
    pub(super) fn take_output(
        &mut self,
        body: BodyKey,
        name: &Name,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        let slot = self.output_slot(body, name)?;
        let outputs = self.outputs_mut(body);
        let before = outputs.name_after(slot).cloned();
        let def = outputs.remove(name).expect("the output has a slot");
        self.index_mut(body).remove(reference_of(&def), User::Output(slot));
        let inverse = EditKind::AddOutput { name: Arc::clone(name), def, before };
        self.note(body, Change::Outputs { body }, inverse, done);
        Ok(())
    }

    pub(super) fn change_output(
        &mut self,
        body: BodyKey,
        name: &Name,
        def: &OutputDef,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        let slot = self.output_slot(body, name)?;
        let known = self.outputs_mut(body).at_mut(slot).expect("the output has a slot");
        let old = std::mem::replace(known, def.clone());
        let index = self.index_mut(body);
        index.remove(reference_of(&old), User::Output(slot));
        index.add(reference_of(def), User::Output(slot));
        let inverse = EditKind::ChangeOutput { name: Arc::clone(name), def: old };
        self.note(body, Change::Outputs { body }, inverse, done);
        touch(body, reference_of(def), done);
        Ok(())
    }

    pub(super) fn rename_output(
        &mut self,
        body: BodyKey,
        from: &Name,
        to: &Name,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        self.output_slot(body, from)?;
        if from == to {
            return Ok(());
        }
        let outputs = self.view(body).outputs;
        let is_taken = |name: &str| outputs.contains_key(name);
        check_name(|| self.path(body, ""), "an output", to, is_taken)?;
        let uses = self.with_outputs_of(body);
        let reads = |editor: &Self, output: &Name| {
            uses.iter().any(|(body, slot)| editor.reads_output(*body, *slot, output))
        };
        if reads(self, to) {
            // A dangling link must not find the output by accident.
            let error = EditError::NameTaken {
                what: "a link to an output",
                name: to.to_string(),
                free: free_name(to, |name| is_taken(name) || reads(self, &Arc::from(name))),
            };
            return Err(Refusal::at(self.path(body, ""), error));
        }
        self.outputs_mut(body).rename(from, Arc::clone(to));
        for (user_body, slot) in uses {
            let (node, _) = self.nodes(user_body).at(slot).expect("uses exist");
            let node = Arc::clone(node);
            for user in self.index(user_body).users_of(&node) {
                self.relink_user(user_body, user, |link| {
                    if link.node == node && link.output == *from {
                        link.output = Arc::clone(to);
                    }
                });
            }
            // A zone names outputs in its settings.
            let user = self.nodes_mut(user_body).at_mut(slot).expect("uses exist");
            let NodeKind::Zone(zone, _) = user.kind else { continue };
            for setting in zone.output_settings() {
                if user.set.get(setting).is_some_and(|given| given.json == **from) {
                    user.set.insert(*setting, Setting::from(Json::from(&**to)));
                    done.changes.push(Change::Node { body: user_body, slot });
                }
            }
        }
        let inverse = EditKind::RenameOutput { name: Arc::clone(to), to: Arc::clone(from) };
        self.note(body, Change::Outputs { body }, inverse, done);
        self.rename_in_formulas(body, Face::Output, (from, to), done)
    }

    /// Whether an output of a node is read.
    fn reads_output(&self, body: BodyKey, slot: u32, output: &Name) -> bool {
        let view = self.view(body);
        let Some((node, _)) = view.nodes.at(slot) else { return false };
        let is_it = |reference: Reference<'_>| match reference {
            Reference::Link(link) => link.node == *node && link.output == *output,
            Reference::Input(_) => false,
        };
        self.index(body).users_of(node).into_iter().any(|user| match user {
            User::Node(slot) => view.nodes.at(slot).is_some_and(|(_, node)| {
                let mut inputs = node.inputs.iter();
                inputs.any(|(_, input)| crate::references::references(input).any(is_it))
            }),
            User::Output(slot) => {
                view.outputs.at(slot).is_some_and(|(_, output)| is_it(reference_of(output)))
            }
        })
    }

    pub(super) fn add_group(
        &mut self,
        name: &Name,
        def: &GroupDef,
        before: Option<&Name>,
        ids: Option<&[u64]>,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        let at = || name.to_string();
        let groups = &self.document.groups;
        if !done.trusted && def.file.is_none() {
            let is_taken = |name: &str| groups.contains_key(name) || self.is_name_of_use(name);
            check_name(at, "a group", name, is_taken)?;
            check_content(name, def)?;
        }
        let n = self.n_nodes + def.nodes.len();
        if n > self.limits.nodes {
            let limit = self.limits.nodes;
            return Err(Refusal::at(at(), EditError::TooManyNodes { n, limit }));
        }
        let mut new_ids = Vec::with_capacity(def.nodes.len());
        let mut seen = std::collections::HashSet::with_capacity(def.nodes.len());
        for i in 0..def.nodes.len() {
            let wanted = ids.and_then(|ids| ids.get(i)).copied();
            let id = self.free_id(wanted).map_err(|error| Refusal::at(at(), error))?;
            if !seen.insert(id) {
                let reason = "is given to two nodes";
                return Err(Refusal::at(at(), EditError::BadId { id, reason }));
            }
            new_ids.push(id);
        }
        let before = before.map(|before| &**before);
        // If the edit that removed the group is refused, its nodes return to their slots.
        let (index, cycle) = BodyView::group(def).index(&self.registry);
        let added = self.document.groups.insert_before(Arc::clone(name), def.clone(), before);
        let Some(slot) = added else {
            return Err(self.no_neighbor(ROOT, before, "group"));
        };
        self.groups.resize_with(self.groups.len().max(slot as usize + 1), || None);
        self.groups[slot as usize] = Some(index);
        self.n_nodes = n;
        let slots: Vec<u32> = self.nodes(slot).iter_slots().map(|(slot, ..)| slot).collect();
        for (node, id) in slots.into_iter().zip(new_ids) {
            self.know(slot, node, id);
        }
        let inverse = EditKind::RemoveGroup { name: Arc::clone(name) };
        self.note(ROOT, Change::GroupCame { body: slot }, inverse, done);
        self.touch_group(slot, name, done);
        match cycle {
            Some(path) => self.close(slot, &path, done),
            None => Ok(()),
        }
    }

    /// Notes all references in a new group, which must exist at the end of the edit.
    fn touch_group(&self, body: BodyKey, name: &Name, done: &mut Done) {
        done.touched.push(Touched::Group(Arc::clone(name)));
        let view = self.view(body);
        for (node_name, node) in view.nodes {
            match &node.kind {
                NodeKind::Group(group) | NodeKind::Zone(_, group) | NodeKind::Closure(group) => {
                    let used = Touched::Use(body, Arc::clone(node_name), Arc::clone(group));
                    done.touched.push(used);
                }
                NodeKind::Type(_) => {}
            }
            for (socket, input) in node.inputs.iter() {
                let socket = Touched::Socket(body, Arc::clone(node_name), Arc::clone(socket));
                done.touched.push(socket);
                for reference in crate::references::references(input) {
                    touch(body, reference, done);
                }
            }
        }
        for output in view.outputs.values() {
            touch(body, reference_of(output), done);
        }
    }

    /// Removes a group regardless of its users.
    pub(super) fn remove_group(&mut self, name: &Name, done: &mut Done) -> Result<(), Refusal> {
        let slot = self.body(Some(name))?;
        let slots: Vec<u32> = self.nodes(slot).iter_slots().map(|(slot, ..)| slot).collect();
        let mut ids = Vec::with_capacity(slots.len());
        for node in slots {
            let id = self.index(slot).ids[node as usize];
            self.forget_use(slot, node);
            self.by_id.remove(&id);
            ids.push(id);
        }
        let before = self.document.groups.name_after(slot).cloned();
        let def = self.document.groups.remove(name).expect("the group has a slot");
        self.n_nodes -= def.nodes.len();
        self.groups[slot as usize] = None;
        let (name, ids) = (Arc::clone(name), Some(ids));
        let def = Box::new(def);
        let inverse = EditKind::AddGroup { name: Arc::clone(&name), def, before, ids };
        self.note(ROOT, Change::GroupGone { body: slot }, inverse, done);
        done.touched.push(Touched::Group(name));
        Ok(())
    }

    pub(super) fn rename_group(
        &mut self,
        from: &Name,
        to: &Name,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        self.body(Some(from))?;
        if from == to {
            return Ok(());
        }
        let groups = &self.document.groups;
        let is_taken = |name: &str| {
            groups.contains_key(name) || self.uses.contains_key(name) || self.is_name_of_use(name)
        };
        check_name(|| from.to_string(), "a group", to, is_taken)?;
        self.document.groups.rename(from, Arc::clone(to));
        if let Some(uses) = self.uses.remove(from) {
            for (body, slot) in &uses {
                let node = self.nodes_mut(*body).at_mut(*slot).expect("uses exist");
                node.kind = node.kind.renamed(Arc::clone(to));
            }
            self.uses.insert(Arc::clone(to), uses);
        }
        let body = self.body(Some(to))?;
        let inverse = EditKind::RenameGroup { name: Arc::clone(to), to: Arc::clone(from) };
        done.changes.push(Change::GroupName { body });
        done.inverses.push(inverse.into());
        self.rename_in_formulas(body, Face::Group, (from, to), done)
    }

    pub(super) fn set_view(&mut self, to: Option<&Name>, done: &mut Done) -> Result<(), Refusal> {
        let view = match to {
            None => View::default(),
            Some(text) => View::from_text(text).map_err(|message| {
                let hint = "write the whole view as one JSON text";
                Refusal::at("", EditError::BadValue { what: "the view", message, hint })
            })?,
        };
        let old = std::mem::replace(&mut self.document.view, view);
        done.inverses.push(EditKind::SetView { to: old.text().map(Arc::from) }.into());
        Ok(())
    }

    pub(super) fn set_view_entry(
        &mut self,
        keys: &[Name],
        to: Option<&Name>,
        before: Option<&Name>,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        let changed = self.document.view.with_entry(keys, to.map(|to| &**to), before.map(|b| &**b));
        let (view, undo) = changed.map_err(|message| {
            let hint =
                "name an entry by the keys of the objects around it, and write it as JSON text";
            Refusal::at("", EditError::BadValue { what: "the entry of the view", message, hint })
        })?;
        self.document.view = view;
        let inverse = match undo {
            Undo::Nothing => EditKind::SetView { to: None },
            Undo::Entry { n_keys, text, before } => EditKind::SetViewEntry {
                keys: keys[..n_keys].to_vec(),
                to: text.map(Name::from),
                before: before.map(Name::from),
            },
        };
        done.inverses.push(inverse.into());
        Ok(())
    }

    pub(super) fn set_head(
        &mut self,
        name: &Name,
        fps: f64,
        start_frame: i64,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        let is_rate = fps.is_finite() && fps > 0.0;
        if !done.trusted && !is_rate {
            let message = format!("{fps} is not a frame rate");
            let hint = "write a positive number";
            let error = EditError::BadValue { what: "frames per second", message, hint };
            return Err(Refusal::at("", error));
        }
        let document = &mut self.document;
        let inverse = EditKind::SetHead {
            name: std::mem::replace(&mut document.name, Arc::clone(name)),
            fps: std::mem::replace(&mut document.fps, fps),
            start_frame: std::mem::replace(&mut document.start_frame, start_frame),
        };
        self.note(ROOT, Change::Head, inverse, done);
        Ok(())
    }
}
