//! The elementary changes that edits consist of. Each one records its inverse and updates the
//! index.

use std::sync::Arc;

use smallvec::SmallVec;

use super::cycles::Looped;
use super::editor::{Done, Editor, Refusal};
use super::error::EditError;
use super::follow::Change;
use super::index::{BodyKey, MAX_ID, User, sources_of};
use super::whole::Touched;
use super::{EditKind, Name, NewNode};
use crate::free_name::free_name;
use crate::grain::may_break_cycles;
use crate::load::name_problem;
use crate::model::{Input, InputValue, Node, NodeKind, Setting};
use crate::problems::shortened;
use crate::references::{Reference, references, relink};

impl Editor {
    pub(super) fn insert_node(
        &mut self,
        body: BodyKey,
        new: &NewNode,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        let NewNode { name, node, before, id } = new;
        let path = self.path(body, name);
        if !done.trusted {
            let nodes = self.nodes(body);
            check_name(|| path.clone(), "a node", name, |name| nodes.contains_key(name))?;
            for (_, input) in node.inputs.iter() {
                check_nesting(input).map_err(|error| Refusal::at(path.as_str(), error))?;
            }
        }
        if self.n_nodes >= self.limits.nodes {
            let (n, limit) = (self.n_nodes + 1, self.limits.nodes);
            return Err(Refusal::at(path, EditError::TooManyNodes { n, limit }));
        }
        let id = self.free_id(*id).map_err(|error| Refusal::at(path, error))?;
        let before = before.as_deref();
        let added = self.nodes_mut(body).insert_before(Arc::clone(name), node.clone(), before);
        let Some(slot) = added else { return Err(self.no_neighbor(body, before, "node")) };
        self.n_nodes += 1;
        let sources = sources_of(self.nodes(body), &self.registry, slot);
        let index = self.index_mut(body);
        index.ids.resize((slot as usize + 1).max(index.ids.len()), 0);
        index.order.add(slot, &sources);
        self.know(body, slot, id);
        self.know_references(body, slot, node);
        self.know_sources(body, slot);
        // Links to this name may have been dangling until now.
        for user in self.index(body).users_of(name) {
            if let User::Node(user) = user {
                self.know_sources(body, user);
            }
        }
        let inverse = EditKind::RemoveNodes { nodes: vec![Arc::clone(name)] };
        self.note(body, Change::Node { body, slot }, inverse, done);
        done.touched.push(Touched::Node(body, Arc::clone(name)));
        if let Some(group) = node.kind.group() {
            done.touched.push(Touched::Use(body, Arc::clone(name), Arc::clone(group)));
        }
        for (socket, input) in node.inputs.iter() {
            done.touched.push(Touched::Socket(body, Arc::clone(name), Arc::clone(socket)));
            touch_references(body, input, done);
        }
        self.put_after_sources(body, slot, done)?;
        let dependents = self.index(body).order.dependents(slot).to_vec();
        dependents.into_iter().try_for_each(|user| self.put_after(body, slot, user, done))
    }

    /// Updates the dependencies of a node in the index.
    fn know_sources(&mut self, body: BodyKey, slot: u32) {
        let sources = sources_of(self.nodes(body), &self.registry, slot);
        self.index_mut(body).order.set_sources(slot, &sources);
    }

    /// The id of a new node.
    pub(super) fn free_id(&mut self, wanted: Option<u64>) -> Result<u64, EditError> {
        if let Some(id) = wanted {
            if id == 0 || id > MAX_ID {
                return Err(EditError::BadId { id, reason: "is not between 1 and 2^53 - 1" });
            }
            if self.by_id.contains_key(&id) {
                return Err(EditError::BadId { id, reason: "belongs to another node" });
            }
            self.next_id = self.next_id.max(id + 1);
            return Ok(id);
        }
        if self.next_id > MAX_ID {
            let reason = "is the last one, so there are no more";
            return Err(EditError::BadId { id: MAX_ID, reason });
        }
        self.next_id += 1;
        Ok(self.next_id - 1)
    }

    fn know_references(&mut self, body: BodyKey, slot: u32, node: &Node) {
        let index = self.index_mut(body);
        for (_, input) in node.inputs.iter() {
            references(input).for_each(|reference| index.add(reference, User::Node(slot)));
        }
    }

    /// Removes a node regardless of its readers.
    pub(super) fn take_node(
        &mut self,
        body: BodyKey,
        name: &Name,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        let slot = self.slot(body, name)?;
        let id = self.index(body).ids[slot as usize];
        let before = self.nodes(body).name_after(slot).cloned();
        self.forget_use(body, slot);
        self.by_id.remove(&id);
        let node = self.nodes_mut(body).remove(name).expect("the node has a slot");
        self.n_nodes -= 1;
        let index = self.index_mut(body);
        for (_, input) in node.inputs.iter() {
            references(input).for_each(|reference| index.remove(reference, User::Node(slot)));
        }
        index.order.remove(slot);
        let new = NewNode { name: Arc::clone(name), node, before, id: Some(id) };
        let inverse = EditKind::AddNodes { nodes: vec![new] };
        self.note(body, Change::Gone { body, slot }, inverse, done);
        done.touched.push(Touched::Node(body, Arc::clone(name)));
        Ok(())
    }

    /// Moves a node after its dependencies.
    fn put_after_sources(
        &mut self,
        body: BodyKey,
        slot: u32,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        self.know_sources(body, slot);
        done.is_relinked = true;
        let sources: SmallVec<[u32; 8]> = self.index(body).order.sources(slot).into();
        sources.into_iter().try_for_each(|source| self.put_after(body, source, slot, done))
    }

    /// Moves `target` after `source`.
    fn put_after(
        &mut self,
        body: BodyKey,
        source: u32,
        target: u32,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        match self.index_mut(body).order.put_after(source, target) {
            Ok(()) => Ok(()),
            Err(path) => self.close(body, &path, done),
        }
    }

    /// Notes that nodes form a cycle. If one of them is a switch, or has outputs that do not need
    /// all of its inputs, the end of the edit decides, output by output and case by case, whether
    /// there really is a cycle.
    pub(super) fn close(
        &mut self,
        body: BodyKey,
        path: &[u32],
        done: &mut Done,
    ) -> Result<(), Refusal> {
        let may_break = |slot: &u32| {
            let node = self.nodes(body).at(*slot);
            node.is_some_and(|(_, node)| may_break_cycles(&self.registry, node))
        };
        let was_cyclic = self.looped.get(&body) == Some(&Looped::Cyclic);
        // A restored document may already have had cycles, which `check` reports.
        if !done.trusted && (was_cyclic || !path.iter().any(may_break)) {
            return Err(self.cycle(body, path, ""));
        }
        done.looped.insert(body);
        Ok(())
    }

    pub(super) fn cycle(&self, body: BodyKey, path: &[u32], why: &str) -> Refusal {
        const MAX_SHOWN: usize = 16;
        let name = |slot: u32| self.nodes(body).at(slot).map_or("", |(name, _)| name);
        let mut shown: Vec<String> =
            path.iter().take(MAX_SHOWN).map(|slot| format!("`{}`", name(*slot))).collect();
        if path.len() > MAX_SHOWN {
            shown.push(format!("{} more", path.len() - MAX_SHOWN));
        }
        shown.push(format!("`{}`", name(path[0])));
        let error = EditError::Cycle { why: why.into(), path: shown.join(" -> ") };
        Refusal::at(self.path(body, name(path[0])), error)
    }

    pub(super) fn set_input(
        &mut self,
        body: BodyKey,
        node: &Name,
        socket: &Name,
        to: Option<&Input>,
        before: Option<&Name>,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        let slot = self.slot(body, node)?;
        if let Some(to) = to {
            let at = || self.path(body, &format!("{node}.{socket}"));
            check_nesting(to).map_err(|error| Refusal::at(at(), error))?;
        }
        let fields = &mut self.nodes_mut(body).at_mut(slot).expect("the node has a slot").inputs;
        let after = fields.name_after(socket).cloned();
        let old = match to {
            Some(to) => fields.insert_before(Arc::clone(socket), to.clone(), before.map(|b| &**b)),
            None => fields.remove(socket),
        };
        if is_same(old.as_ref(), to, same_input) {
            return Ok(());
        }
        let index = self.index_mut(body);
        if let Some(old) = &old {
            references(old).for_each(|reference| index.remove(reference, User::Node(slot)));
        }
        if let Some(to) = to {
            references(to).for_each(|reference| index.add(reference, User::Node(slot)));
            done.touched.push(Touched::Socket(body, Arc::clone(node), Arc::clone(socket)));
            touch_references(body, to, done);
        }
        let (node, input) = (Arc::clone(node), Arc::clone(socket));
        let before = after.filter(|_| old.is_some());
        let had_links = old.as_ref().is_some_and(|old| references(old).next().is_some());
        let inverse = EditKind::SetInput { node, input, to: old, before };
        self.note(body, Change::Node { body, slot }, inverse, done);
        if to.is_some_and(|to| references(to).any(|it| matches!(it, Reference::Link(_)))) {
            return self.put_after_sources(body, slot, done);
        }
        if had_links {
            self.know_sources(body, slot);
        }
        Ok(())
    }

    pub(super) fn set_setting(
        &mut self,
        body: BodyKey,
        node: &Name,
        setting: &Name,
        to: Option<&Setting>,
        before: Option<&Name>,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        let slot = self.slot(body, node)?;
        let fields = &mut self.nodes_mut(body).at_mut(slot).expect("the node has a slot").set;
        let after = fields.name_after(setting).cloned();
        let old = match to {
            Some(to) => fields.insert_before(Arc::clone(setting), to.clone(), before.map(|b| &**b)),
            None => fields.remove(setting),
        };
        if is_same(old.as_ref(), to, |a, b| same_json(&a.json, &b.json)) {
            return Ok(());
        }
        if to.is_some() {
            done.touched.push(Touched::Setting(body, Arc::clone(node), Arc::clone(setting)));
        }
        let (node, setting) = (Arc::clone(node), Arc::clone(setting));
        let before = after.filter(|_| old.is_some());
        let inverse = EditKind::SetSetting { node, setting, to: old, before };
        self.note(body, Change::Node { body, slot }, inverse, done);
        Ok(())
    }

    pub(super) fn mute(
        &mut self,
        body: BodyKey,
        name: &Name,
        muted: bool,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        let slot = self.slot(body, name)?;
        let node = self.nodes_mut(body).at_mut(slot).expect("the node has a slot");
        if node.muted == muted {
            return Ok(());
        }
        node.muted = muted;
        let inverse = EditKind::Mute { node: Arc::clone(name), muted: !muted };
        self.note(body, Change::Node { body, slot }, inverse, done);
        self.put_after_sources(body, slot, done)
    }

    pub(super) fn set_type(
        &mut self,
        body: BodyKey,
        name: &Name,
        kind: &NodeKind,
        version: u32,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        let slot = self.slot(body, name)?;
        self.forget_use(body, slot);
        let node = self.nodes_mut(body).at_mut(slot).expect("the node has a slot");
        let old = std::mem::replace(&mut node.kind, kind.clone());
        let old_version = std::mem::replace(&mut node.version, version);
        self.know_use(body, slot);
        let node = Arc::clone(name);
        let inverse = EditKind::SetType { node, kind: old, version: old_version };
        self.note(body, Change::Node { body, slot }, inverse, done);
        match kind {
            NodeKind::Group(group) | NodeKind::Zone(_, group) | NodeKind::Closure(group) => {
                done.touched.push(Touched::Use(body, Arc::clone(name), Arc::clone(group)));
            }
            NodeKind::Type(ty) => {
                done.touched.push(Touched::Type(body, Arc::clone(name), Arc::clone(ty)));
            }
        }
        // The delayed socket may have changed.
        self.put_after_sources(body, slot, done)
    }

    pub(super) fn rename_node(
        &mut self,
        body: BodyKey,
        from: &Name,
        to: &Name,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        self.slot(body, from)?;
        if from == to {
            return Ok(());
        }
        let (nodes, index) = (self.nodes(body), self.index(body));
        // Dangling links must not find the node by accident.
        let is_taken = |name: &str| nodes.contains_key(name) || index.of_nodes.contains_key(name);
        check_name(|| self.path(body, from), "a node", to, is_taken)?;
        self.nodes_mut(body).rename(from, Arc::clone(to));
        if let Some(users) = self.index_mut(body).of_nodes.remove(from) {
            for user in &users {
                self.relink_user(body, *user, |link| {
                    if link.node == *from {
                        link.node = Arc::clone(to);
                    }
                });
            }
            self.index_mut(body).of_nodes.insert(Arc::clone(to), users);
        }
        let inverse = EditKind::RenameNode { node: Arc::clone(to), to: Arc::clone(from) };
        self.note(body, Change::NodeName { body }, inverse, done);
        Ok(())
    }

    /// Changes the links of a node or output.
    pub(super) fn relink_user(
        &mut self,
        body: BodyKey,
        user: User,
        mut rename: impl FnMut(&mut crate::model::Link),
    ) {
        match user {
            User::Node(slot) => {
                let node = self.nodes_mut(body).at_mut(slot).expect("users exist");
                for input in node.inputs.values_mut() {
                    relink(input, &mut rename);
                }
            }
            User::Output(slot) => {
                let output = self.outputs_mut(body).at_mut(slot).expect("users exist");
                if let crate::model::OutputFrom::Link(link) = &mut output.from {
                    rename(link);
                }
            }
        }
    }
}

/// Refuses a name that is taken or that links cannot mention.
pub(super) fn check_name(
    at: impl FnOnce() -> String,
    what: &'static str,
    name: &str,
    is_taken: impl Fn(&str) -> bool,
) -> Result<(), Refusal> {
    if let Some(reason) = name_problem(name) {
        return Err(Refusal::at(at(), bad_name(what, name, reason)));
    }
    if is_taken(name) {
        let free = free_name(name, is_taken);
        let error = EditError::NameTaken { what, name: shortened(name), free };
        return Err(Refusal::at(at(), error));
    }
    Ok(())
}

pub(super) fn bad_name(what: &'static str, name: &str, reason: &'static str) -> EditError {
    EditError::BadName { what, name: shortened(name), reason }
}

fn is_same<T>(a: Option<&T>, b: Option<&T>, same: impl Fn(&T, &T) -> bool) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => same(a, b),
        (None, Some(_)) | (Some(_), None) => false,
    }
}

/// Whether two literals are written alike: `0.0` and `-0.0` are equal as numbers but written
/// differently.
fn same_json(a: &serde_json::Value, b: &serde_json::Value) -> bool {
    let [a_text, b_text] = [a, b].map(ToString::to_string);
    a == b && a_text == b_text
}

fn same_input(a: &Input, b: &Input) -> bool {
    match (&a.value, &b.value) {
        (InputValue::Literal(a), InputValue::Literal(b)) => same_json(a, b),
        (InputValue::Several(a), InputValue::Several(b)) => {
            // None of the items is itself such a list.
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_input(a, b))
        }
        (a, b) => a == b,
    }
}

/// Refuses a list of sources inside a list of sources.
pub(super) fn check_nesting(input: &Input) -> Result<(), EditError> {
    match &input.value {
        InputValue::Several(sources)
            if sources.iter().any(|s| matches!(s.value, InputValue::Several(_))) =>
        {
            Err(EditError::NestedSources)
        }
        InputValue::Several(sources) if sources.is_empty() => Err(EditError::BadValue {
            what: "the sources",
            message: "the list is empty".into(),
            hint: "leave `to` out to empty the socket, or write the literal []",
        }),
        InputValue::Several(_)
        | InputValue::Literal(_)
        | InputValue::Link(_)
        | InputValue::Input(_) => Ok(()),
    }
}

/// Notes the references of an input, which must exist at the end of the edit.
fn touch_references(body: BodyKey, input: &Input, done: &mut Done) {
    for reference in references(input) {
        touch(body, reference, done);
    }
}

pub(super) fn touch(body: BodyKey, reference: Reference<'_>, done: &mut Done) {
    done.is_relinked = true;
    done.touched.push(match reference {
        Reference::Link(link) => Touched::Link(body, link.clone()),
        Reference::Input(name) => Touched::Input(body, Arc::clone(name)),
    });
}
