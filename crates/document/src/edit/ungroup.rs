//! Putting the content of a group in the place of a node that uses it.
//!
//! If nothing else uses the group it goes, and its nodes keep their ids; otherwise the nodes are
//! copies with ids of their own. Values that the border converted to another type are not converted
//! any more.

use std::collections::HashMap;
use std::sync::Arc;

use super::change::free_name;
use super::editor::{Done, Editor, Refusal};
use super::error::EditError;
use super::index::{BodyKey, User};
use super::sources::changed;
use super::{Name, NewNode};
use crate::model::{GroupDef, Input, InputValue, Link, NodeKind, OutputDef, OutputFrom};

/// What is put in the place of a node.
struct Inlining {
    body: BodyKey,
    /// The node.
    user: Name,
    def: GroupDef,
    /// The names of the group's nodes in the body.
    names: HashMap<Name, Name>,
    /// What goes into each input of the group; nothing for those left empty.
    arguments: HashMap<Name, InputValue>,
}

impl Inlining {
    /// A source of the group as it is written outside.
    fn outside(&self, source: &InputValue) -> Option<InputValue> {
        match source {
            InputValue::Literal(_) | InputValue::Several(_) => Some(source.clone()),
            InputValue::Link(link) => Some(InputValue::Link(self.link(link))),
            InputValue::Input(name) => self.arguments.get(name).cloned(),
        }
    }

    fn link(&self, link: &Link) -> Link {
        let node = self.names.get(&link.node).unwrap_or(&link.node);
        Link { node: Arc::clone(node), output: Arc::clone(&link.output) }
    }

    /// What a link to the node reads when the node is gone; `None` where nothing is left.
    fn output(&self, link: &Link) -> Option<InputValue> {
        match &self.def.outputs.get(&link.output)?.from {
            OutputFrom::Link(link) => Some(InputValue::Link(self.link(link))),
            OutputFrom::Input(name) => self.arguments.get(name).cloned(),
        }
    }
}

impl Editor {
    /// Puts the content of a group in the place of a node.
    pub(super) fn ungroup(
        &mut self,
        within: Option<&Name>,
        name: &Name,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        let body = self.body(within)?;
        self.slot(body, name)?;
        let node = &self.nodes(body)[&**name];
        let refused = |message: String, hint| {
            Err(Refusal::at(self.path(body, name), EditError::Group { message, hint }))
        };
        let NodeKind::Group(group) = &node.kind else {
            return refused(format!("`{name}` is no group"), "choose a node of type `group`");
        };
        if node.muted {
            return refused(format!("`{name}` is muted"), "let it work again first");
        }
        let group = Arc::clone(group);
        let Some(def) = self.document.groups.get(&group).cloned() else {
            return refused(format!("group `{group}` is not there"), "choose another node");
        };
        let mut arguments = HashMap::new();
        for (input, def) in &def.inputs {
            let given = node.inputs.get(input).map(|input| match &input.value {
                InputValue::Several(sources) => sources.first().map(|source| source.value.clone()),
                value => Some(value.clone()),
            });
            let default = || def.default.clone().map(InputValue::Literal);
            let value = given.unwrap_or_else(default);
            arguments.extend(value.map(|value| (Arc::clone(input), value)));
        }
        let (nodes, index) = (self.nodes(body), self.index(body));
        let mut names: HashMap<Name, Name> = HashMap::new();
        let mut taken: std::collections::HashSet<String> = std::collections::HashSet::new();
        for inner in def.nodes.keys() {
            let is_taken = |name: &str| {
                nodes.contains_key(name)
                    || index.of_nodes.contains_key(name)
                    || taken.contains(name)
            };
            let free = if is_taken(inner) {
                free_name(&format!("{name}_{inner}"), is_taken)
            } else {
                inner.to_string()
            };
            taken.insert(free.clone());
            names.insert(Arc::clone(inner), free.into());
        }
        let inlining = Inlining { body, user: Arc::clone(name), def, names, arguments };
        self.put_in_place(&inlining, &group, done)
    }

    fn put_in_place(
        &mut self,
        inlining: &Inlining,
        group: &Name,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        let body = inlining.body;
        let mut ids: Vec<Option<u64>> = vec![None; inlining.def.nodes.len()];
        if self.uses_of(group).len() == 1 {
            let slot = self.body(Some(group))?;
            let slots = self.nodes(slot).iter_slots();
            ids = slots.map(|(node, ..)| Some(self.index(slot).ids[node as usize])).collect();
            self.remove_group(group, done)?;
        }
        for ((name, node), id) in inlining.def.nodes.iter().zip(ids) {
            let mut node = node.clone();
            let sockets: Vec<Name> = node.inputs.iter().map(|(s, _)| Arc::clone(s)).collect();
            for socket in sockets {
                let Some(input) = node.inputs.get(&socket) else { continue };
                let outside = changed(input, |source| {
                    let value = inlining.outside(&source.value)?;
                    Some(Input { value, spot: source.spot })
                });
                match outside {
                    Some(input) => node.inputs.insert(socket, input),
                    None => node.inputs.remove(&socket),
                };
            }
            let name = Arc::clone(&inlining.names[name]);
            let before = Some(Arc::clone(&inlining.user));
            self.insert_node(body, &NewNode { name, node, before, id }, done)?;
        }
        for user in self.index(body).users_of(&inlining.user) {
            self.lead_inside(body, user, inlining, done)?;
        }
        self.take_node(body, &inlining.user, done)
    }

    /// Lets a user of the node read what the group's outputs read.
    fn lead_inside(
        &mut self,
        body: BodyKey,
        user: User,
        inlining: &Inlining,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        match user {
            User::Output(slot) => {
                let Some((output, def)) = self.view(body).outputs.at(slot) else { return Ok(()) };
                let output = Arc::clone(output);
                let OutputFrom::Link(link) = &def.from else { return Ok(()) };
                let from = match inlining.output(link) {
                    Some(InputValue::Link(link)) => OutputFrom::Link(link),
                    Some(InputValue::Input(name)) => OutputFrom::Input(name),
                    Some(InputValue::Literal(_) | InputValue::Several(_)) | None => {
                        let message = format!("output `{output}` would have no node to come from");
                        let hint =
                            "link the group's input, or give the output another source first";
                        let error = EditError::Group { message, hint };
                        return Err(Refusal::at(self.path(body, &output), error));
                    }
                };
                let def = OutputDef { from, ..def.clone() };
                self.change_output(body, &output, &def, done)
            }
            User::Node(slot) => {
                let Some((user, node)) = self.nodes(body).at(slot) else { return Ok(()) };
                let user = Arc::clone(user);
                let mut changes = Vec::new();
                for (socket, input) in node.inputs.iter() {
                    let new = changed(input, |source| match &source.value {
                        InputValue::Link(link) if link.node == inlining.user => {
                            let value = inlining.output(link)?;
                            Some(Input { value, spot: source.spot })
                        }
                        _ => Some(source.clone()),
                    });
                    if new.as_ref() != Some(input) {
                        changes.push((Arc::clone(socket), new));
                    }
                }
                for (socket, new) in changes {
                    self.set_input(body, &user, &socket, new.as_ref(), None, done)?;
                }
                Ok(())
            }
        }
    }
}
