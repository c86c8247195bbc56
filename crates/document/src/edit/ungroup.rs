//! Replacing a node that uses a group by the content of the group.
//!
//! If the group has no other use it is removed, and its nodes keep their ids; otherwise the nodes
//! are copies with new ids, which [`Applied`](super::Applied) lists. Values do not change: where
//! the border declared a type that would otherwise be lost, a node declares it (see `border`).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::border::{Argument, Side};
use super::editor::{Copied, Done, Editor, Refusal};
use super::error::EditError;
use super::index::{BodyKey, User};
use super::{Name, NewNode};
use crate::free_name::free_name;
use crate::model::{GroupDef, Input, InputValue, Link, Node, NodeKind, OutputDef, OutputFrom};
use crate::references::changed;

/// The replacement of a node.
pub(super) struct Inlining {
    pub(super) body: BodyKey,
    /// The node.
    pub(super) user: Name,
    pub(super) def: GroupDef,
    /// The new names of the group's nodes.
    names: HashMap<Name, Name>,
    /// Names that are no longer free.
    pub(super) taken: HashSet<Name>,
    /// The source of each input of the group that has one.
    pub(super) arguments: HashMap<Name, Argument>,
    /// The type to which each output of the group converts.
    pub(super) results: HashMap<Name, millstream_base::Type>,
    /// The sockets of the group's nodes at which literals have the same meaning as at the border.
    pub(super) fitting: HashSet<(Name, Name)>,
    /// The nodes that declare types, by part of the border.
    pub(super) stating: HashMap<Side, Name>,
}

impl Inlining {
    fn link(&self, link: &Link) -> Link {
        let node = self.names.get(&link.node).unwrap_or(&link.node);
        Link { node: Arc::clone(node), output: Arc::clone(&link.output) }
    }
}

impl Editor {
    /// Replaces a node by the content of its group.
    pub(super) fn ungroup(
        &mut self,
        body: BodyKey,
        name: &Name,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        self.slot(body, name)?;
        let node = &self.nodes(body)[&**name];
        let refused = |message: String, hint| {
            Err(Refusal::at(self.path(body, name), EditError::Group { message, hint }))
        };
        let NodeKind::Group(group) = &node.kind else {
            return refused(format!("`{name}` is not a group"), "choose a node of type `group`");
        };
        if node.muted {
            return refused(format!("`{name}` is muted"), "unmute it first");
        }
        let group = Arc::clone(group);
        let Some((key, def)) = self.group_at(&group) else {
            return refused(format!("there is no group called `{group}`"), "choose another node");
        };
        let arguments = self.arguments(body, node, &def);
        let fitting = self.fitting(key, &def, &arguments);
        let results = self.results(key, &def);
        let (nodes, index) = (self.nodes(body), self.index(body));
        let mut names: HashMap<Name, Name> = HashMap::new();
        let mut taken: HashSet<Name> = HashSet::new();
        for inner in def.nodes.keys() {
            let is_taken = |name: &str| {
                nodes.contains_key(name)
                    || index.of_nodes.contains_key(name)
                    || taken.contains(name)
            };
            let free: Name = if is_taken(inner) {
                free_name(&format!("{name}_{inner}"), is_taken).into()
            } else {
                Arc::clone(inner)
            };
            taken.insert(Arc::clone(&free));
            names.insert(Arc::clone(inner), free);
        }
        let (user, stating) = (Arc::clone(name), HashMap::new());
        let mut inlining =
            Inlining { body, user, def, names, taken, arguments, results, fitting, stating };
        self.put_in_place(&mut inlining, &group, done)
    }

    fn group_at(&self, group: &str) -> Option<(BodyKey, GroupDef)> {
        let key = self.document.groups.slot_of(group)?;
        Some((key, self.document.groups.at(key)?.1.clone()))
    }

    fn put_in_place(
        &mut self,
        inlining: &mut Inlining,
        group: &Name,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        let body = inlining.body;
        let inner = inlining.def.nodes.iter();
        let inner: Vec<(Name, Node)> =
            inner.map(|(n, node)| (Arc::clone(n), node.clone())).collect();
        let key = self.body(Some(group))?;
        let slots = self.nodes(key).iter_slots();
        let ids: Vec<u64> = slots.map(|(node, ..)| self.index(key).ids[node as usize]).collect();
        let is_last = self.uses_of(group).len() == 1 && self.caller_of(group).is_none();
        if is_last {
            self.remove_group(group, done)?;
        }
        for ((inside, mut node), original) in inner.into_iter().zip(ids) {
            let sockets: Vec<Name> = node.inputs.iter().map(|(s, _)| Arc::clone(s)).collect();
            for socket in sockets {
                let Some(input) = node.inputs.get(&socket) else { continue };
                let fits = inlining.fitting.contains(&(Arc::clone(&inside), Arc::clone(&socket)));
                let mut refused = None;
                let outside = changed(input, |source| {
                    let value = self.outside(&source.value, fits, inlining, done);
                    let value = value.unwrap_or_else(|refusal| {
                        refused.get_or_insert(refusal);
                        None
                    })?;
                    Some(Input { value, spot: source.spot })
                });
                if let Some(refusal) = refused {
                    return Err(refusal);
                }
                match outside {
                    Some(input) => node.inputs.insert(socket, input),
                    None => node.inputs.remove(&socket),
                };
            }
            let name = Arc::clone(&inlining.names[&inside]);
            let before = Some(Arc::clone(&inlining.user));
            let id = is_last.then_some(original);
            let new = NewNode { name, node, before, id };
            self.insert_node(body, &new, done)?;
            if !is_last {
                let id = |name| self.slot(body, name).map(|it| self.index(body).ids[it as usize]);
                let (copy, user) = (id(&new.name)?, id(&inlining.user)?);
                done.copies.push(Copied { copy, user, original });
            }
        }
        // Readers of the node may read it again through an input that is passed on.
        for _ in 0..=inlining.def.outputs.len() {
            for user in self.index(body).users_of(&inlining.user) {
                self.lead_inside(body, user, inlining, done)?;
            }
        }
        self.take_node(body, &inlining.user, done)
    }

    /// A source inside the group, in the notation used outside. `fits` tells whether a literal has
    /// the same meaning as at the border.
    fn outside(
        &mut self,
        source: &InputValue,
        fits: bool,
        inlining: &mut Inlining,
        done: &mut Done,
    ) -> Result<Option<InputValue>, Refusal> {
        match source {
            InputValue::Literal(_) | InputValue::Several(_) => Ok(Some(source.clone())),
            InputValue::Link(link) => Ok(Some(InputValue::Link(inlining.link(link)))),
            InputValue::Input(name) => self.argument(name, fits, inlining, done),
        }
    }

    /// The source that replaces a link to the node; `None` if there is none.
    fn result(
        &mut self,
        link: &Link,
        inlining: &mut Inlining,
        done: &mut Done,
    ) -> Result<Option<InputValue>, Refusal> {
        let Some(output) = inlining.def.outputs.get(&link.output) else { return Ok(None) };
        let value = match output.from.clone() {
            OutputFrom::Link(link) => Some(InputValue::Link(inlining.link(&link))),
            OutputFrom::Input(name) => self.argument(&name, false, inlining, done)?,
        };
        let to = inlining.results.get(&link.output).copied();
        match (value, to) {
            (Some(value), Some(to)) => {
                let side = Side::Out(Arc::clone(&link.output));
                self.stated(side, value, to, inlining, done).map(Some)
            }
            (value, _) => Ok(value),
        }
    }

    /// Redirects a reader of the node to the sources of the group's outputs.
    fn lead_inside(
        &mut self,
        body: BodyKey,
        user: User,
        inlining: &mut Inlining,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        match user {
            User::Output(slot) => {
                let Some((output, def)) = self.view(body).outputs.at(slot) else { return Ok(()) };
                let (output, def) = (Arc::clone(output), def.clone());
                let link = match &def.from {
                    OutputFrom::Link(link) if link.node == inlining.user => link,
                    OutputFrom::Link(_) | OutputFrom::Input(_) => return Ok(()),
                };
                let from = match self.result(link, inlining, done)? {
                    Some(InputValue::Link(link)) => OutputFrom::Link(link),
                    Some(InputValue::Input(name)) => OutputFrom::Input(name),
                    Some(InputValue::Literal(_) | InputValue::Several(_)) | None => {
                        let message = format!("output `{output}` would have no source");
                        let hint =
                            "link the group's input, or give the output another source first";
                        let error = EditError::Group { message, hint };
                        return Err(Refusal::at(self.path(body, &output), error));
                    }
                };
                let def = OutputDef { from, ..def };
                self.change_output(body, &output, &def, done)
            }
            User::Node(slot) => {
                let Some((user, node)) = self.nodes(body).at(slot) else { return Ok(()) };
                let (user, inputs) = (Arc::clone(user), node.inputs.clone());
                for (socket, input) in inputs.iter() {
                    let mut refused = None;
                    let new = changed(input, |source| match &source.value {
                        InputValue::Link(link) if link.node == inlining.user => {
                            let value = self.result(link, inlining, done);
                            let value = value.unwrap_or_else(|refusal| {
                                refused.get_or_insert(refusal);
                                None
                            })?;
                            Some(Input { value, spot: source.spot })
                        }
                        _ => Some(source.clone()),
                    });
                    if let Some(refusal) = refused {
                        return Err(refusal);
                    }
                    if new.as_ref() != Some(input) {
                        self.set_input(body, &user, socket, new.as_ref(), None, done)?;
                    }
                }
                Ok(())
            }
        }
    }
}
