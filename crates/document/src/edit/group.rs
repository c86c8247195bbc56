//! Moving nodes into a new group.
//!
//! Each outside source that the nodes read becomes an input of the group, and each of their outputs
//! that is read outside becomes an output of the group. A node that uses the group replaces the
//! nodes, which keep their ids.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use millstream_base::Type;
use millstream_node::SocketType;

use super::editor::{Done, Editor, Refusal};
use super::error::EditError;
use super::index::{BodyKey, User};
use super::types::Known;
use super::{Name, NewNode};
use crate::free_name::free_name;
use crate::grain::Firsts;
use crate::model::{
    GroupDef, Input, InputDef, InputValue, Link, Node, NodeKind, OutputDef, OutputFrom,
};
use crate::references::{Reference, changed, reference_of, references};

/// A group under construction.
struct Making {
    body: BodyKey,
    /// The node that uses the group.
    user: Name,
    selected: HashSet<Name>,
    /// What stands for nodes: equal ones become one input, so that selectors which are equal outside
    /// are equal in the group.
    firsts: Firsts,
    /// Nodes outside that negate truth values, with their copies in the group. They stay known as
    /// negations, so that switches in the group break the same cycles.
    negations: Vec<(Name, (Name, Node))>,
    def: GroupDef,
    /// The input of the group for each outside source.
    inputs: HashMap<InputKey, Name>,
    /// The sources of the group's inputs.
    arguments: Vec<(Name, Input)>,
    /// The output of the group for each inner output that is read outside.
    outputs: HashMap<Link, Name>,
    /// The types of the body's nodes known so far.
    known: Known,
}

/// A source outside the group.
#[derive(Clone, PartialEq, Eq, Hash)]
enum InputKey {
    Link(Link),
    Input(Name),
}

impl Editor {
    /// Moves nodes into a new group.
    pub(super) fn group(
        &mut self,
        body: BodyKey,
        names: &[Name],
        group: &Name,
        user: &Name,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        let Some(first) = names.first() else {
            let message = "no nodes are selected".into();
            let error = EditError::Group { message, hint: "name the nodes of the group" };
            return Err(Refusal::at(self.path(body, ""), error));
        };
        let mut selected = HashSet::with_capacity(names.len());
        let mut ids = Vec::with_capacity(names.len());
        let mut members: Vec<&Name> = Vec::with_capacity(names.len());
        for name in names {
            let slot = self.slot(body, name)?;
            if selected.insert(Arc::clone(name)) {
                ids.push(self.index(body).ids[slot as usize]);
                members.push(name);
            }
        }
        let mut making = Making {
            body,
            user: Arc::clone(user),
            firsts: self.equal_sources(body, &selected),
            selected,
            negations: Vec::new(),
            def: GroupDef::default(),
            inputs: HashMap::new(),
            arguments: Vec::new(),
            outputs: HashMap::new(),
            known: Known::default(),
        };
        for name in &members {
            self.take_in(name, &mut making)?;
        }
        // The ids are those of the members, which come first.
        for (_, (name, node)) in std::mem::take(&mut making.negations) {
            making.def.nodes.insert(name, node);
        }
        for name in &members {
            self.give_out(name, &mut making)?;
        }
        let mut using =
            NewNode::new(Arc::clone(user), Node::new(NodeKind::Group(Arc::clone(group))));
        using.before = Some(Arc::clone(first));
        self.insert_node(body, &using, done)?;
        for name in &members {
            self.lead_to_group(name, &making, done)?;
        }
        for name in &members {
            self.take_node(body, name, done)?;
        }
        self.add_group(group, &making.def, None, Some(&ids), done)?;
        for (socket, source) in &making.arguments {
            self.set_input(body, user, socket, Some(source), None, done)?;
        }
        Ok(())
    }

    /// Moves a node into the group; its outside sources become inputs.
    fn take_in(&self, name: &Name, making: &mut Making) -> Result<(), Refusal> {
        let node = self.node_inside(name, making)?;
        making.def.nodes.insert(Arc::clone(name), node);
        Ok(())
    }

    /// A node in the notation used inside the group.
    fn node_inside(&self, name: &Name, making: &mut Making) -> Result<Node, Refusal> {
        let mut node = self.nodes(making.body)[&**name].clone();
        for (socket, input) in self.nodes(making.body)[&**name].inputs.iter() {
            let mut refused = None;
            let inside = changed(input, |source| {
                let value = match self.inside(source, (&node, socket), making) {
                    Ok(value) => value,
                    Err(refusal) => {
                        refused.get_or_insert(refusal);
                        source.value.clone()
                    }
                };
                Some(Input { value, spot: source.spot })
            });
            if let Some(refusal) = refused {
                return Err(refusal);
            }
            node.inputs.insert(Arc::clone(socket), inside.expect("no source is taken away"));
        }
        Ok(node)
    }

    /// The copy in the group of a node outside that negates a truth value; `None` for other nodes.
    fn negation_inside(&self, link: &Link, making: &mut Making) -> Result<Option<Link>, Refusal> {
        if making.selected.contains(&link.node) || !making.firsts.negates(link) {
            return Ok(None);
        }
        // Others might bring more inputs.
        let node = &self.nodes(making.body)[&*link.node];
        if node.inputs.iter().count() != 1 {
            return Ok(None);
        }
        let output = Arc::clone(&link.output);
        let known = making.negations.iter().find(|(name, _)| *name == link.node);
        if let Some((_, (node, _))) = known {
            return Ok(Some(Link { node: Arc::clone(node), output }));
        }
        let is_taken = |name: &str| {
            making.selected.contains(name)
                || making.negations.iter().any(|(_, (known, _))| **known == *name)
        };
        let name: Name = free_name(&link.node, is_taken).into();
        let node = self.node_inside(&link.node, making)?;
        making.negations.push((Arc::clone(&link.node), (Arc::clone(&name), node)));
        Ok(Some(Link { node: name, output }))
    }

    /// A source in the notation used inside the group.
    fn inside(
        &self,
        source: &Input,
        (node, socket): (&Node, &Name),
        making: &mut Making,
    ) -> Result<InputValue, Refusal> {
        if let InputValue::Link(link) = &source.value
            && let Some(inside) = self.negation_inside(link, making)?
        {
            return Ok(InputValue::Link(inside));
        }
        let first = making.firsts.of(&source.value);
        let fits = |first: &InputValue| match first {
            InputValue::Literal(_) => self.takes_bool(node, socket),
            InputValue::Link(_) | InputValue::Input(_) | InputValue::Several(_) => true,
        };
        let first = first.filter(fits);
        let value = first.unwrap_or_else(|| source.value.clone());
        let (key, reference, wanted) = match &value {
            InputValue::Literal(_) | InputValue::Several(_) => return Ok(value),
            InputValue::Link(link) if making.selected.contains(&link.node) => return Ok(value),
            InputValue::Link(link) => (InputKey::Link(link.clone()), Reference::Link(link), socket),
            InputValue::Input(name) => {
                (InputKey::Input(Arc::clone(name)), Reference::Input(name), name)
            }
        };
        if let Some(known) = making.inputs.get(&key) {
            return Ok(InputValue::Input(Arc::clone(known)));
        }
        let ty = self.known_type(making.body, reference, &mut making.known)?;
        let name: Name = free_name(wanted, |name| making.def.inputs.contains_key(name)).into();
        making.def.inputs.insert(Arc::clone(&name), InputDef::new(ty));
        making.inputs.insert(key, Arc::clone(&name));
        making.arguments.push((Arc::clone(&name), Input::from(value)));
        Ok(InputValue::Input(name))
    }

    /// Whether a truth value at a socket means the same as a link to it.
    fn takes_bool(&self, node: &Node, socket: &str) -> bool {
        match &node.kind {
            NodeKind::Type(ty) => self.signature(node).is_some_and(|signature| {
                let ty_of = |at: usize| signature.inputs[at].ty;
                let is_formula = self.registry.get(ty).is_some_and(|def| def.formula.is_some());
                let exact = SocketType::Exact(Type::BOOL);
                signature.input(socket).is_some_and(|at| is_formula || ty_of(at) == exact)
            }),
            NodeKind::Group(group) => {
                let group = self.document.groups.get(group);
                let input = group.and_then(|group| group.inputs.get(socket));
                input.is_some_and(|input| *input.ty == *Type::BOOL.name())
            }
            NodeKind::Zone(..) | NodeKind::Closure(_) => false,
        }
    }

    /// The name of the type of a value that crosses the border.
    fn known_type(
        &self,
        body: BodyKey,
        reference: Reference<'_>,
        known: &mut Known,
    ) -> Result<&'static str, Refusal> {
        self.type_among(body, reference, known).map(Type::name).ok_or_else(|| {
            let (what, path) = match reference {
                Reference::Link(link) => (link.to_string(), link.node.to_string()),
                Reference::Input(name) => (name.to_string(), String::new()),
            };
            let message = format!("the type of `{what}`, which crosses the border, is not known");
            let hint = "fix the problems that `check` reports for it, or select it too";
            Refusal::at(self.path(body, &path), EditError::Group { message, hint })
        })
    }

    /// Turns the outputs of a node that are read outside into outputs of the group.
    fn give_out(&self, name: &Name, making: &mut Making) -> Result<(), Refusal> {
        let view = self.view(making.body);
        for user in self.index(making.body).users_of(name) {
            let mut read: Vec<Link> = Vec::new();
            let mut note = |reference: Reference<'_>| {
                if let Reference::Link(link) = reference
                    && link.node == *name
                    && !making.outputs.contains_key(link)
                    && !read.contains(link)
                {
                    read.push(link.clone());
                }
            };
            match user {
                User::Node(slot) => {
                    let Some((user, node)) = view.nodes.at(slot) else { continue };
                    if making.selected.contains(user) {
                        continue;
                    }
                    let inputs = node.inputs.iter();
                    inputs.for_each(|(_, input)| references(input).for_each(&mut note));
                }
                User::Output(slot) => {
                    let Some((_, output)) = view.outputs.at(slot) else { continue };
                    note(reference_of(output));
                }
            }
            for link in read {
                let reference = Reference::Link(&link);
                let ty = self.known_type(making.body, reference, &mut making.known)?;
                let taken = |name: &str| making.def.outputs.contains_key(name);
                let wanted = if taken(&link.output) {
                    format!("{}_{}", link.node, link.output)
                } else {
                    link.output.to_string()
                };
                let output: Name = free_name(&wanted, taken).into();
                let def = OutputDef::new(ty, OutputFrom::Link(link.clone()));
                making.def.outputs.insert(Arc::clone(&output), def);
                making.outputs.insert(link, output);
            }
        }
        Ok(())
    }

    /// Redirects the outside readers of a node to the group.
    fn lead_to_group(
        &mut self,
        name: &Name,
        making: &Making,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        let body = making.body;
        let led = |link: &Link| {
            let output = making.outputs.get(link)?;
            Some(Link { node: Arc::clone(&making.user), output: Arc::clone(output) })
        };
        for user in self.index(body).users_of(name) {
            match user {
                User::Node(slot) => {
                    let Some((user, node)) = self.nodes(body).at(slot) else { continue };
                    if making.selected.contains(user) {
                        continue;
                    }
                    let user = Arc::clone(user);
                    for (socket, new) in relinked(&node.inputs, led) {
                        self.set_input(body, &user, &socket, Some(&new), None, done)?;
                    }
                }
                User::Output(slot) => {
                    let Some((output, def)) = self.view(body).outputs.at(slot) else { continue };
                    let (output, mut def) = (Arc::clone(output), def.clone());
                    if let OutputFrom::Link(link) = &def.from
                        && let Some(link) = led(link)
                    {
                        def.from = OutputFrom::Link(link);
                        self.change_output(body, &output, &def, done)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The sockets whose links change, with their new sources.
pub(super) fn relinked(
    inputs: &crate::fields::Fields<Input>,
    led: impl Fn(&Link) -> Option<Link>,
) -> Vec<(Name, Input)> {
    let mut changes = Vec::new();
    for (socket, input) in inputs.iter() {
        let new = changed(input, |source| {
            let value = match &source.value {
                InputValue::Link(link) => {
                    InputValue::Link(led(link).unwrap_or_else(|| link.clone()))
                }
                value => value.clone(),
            };
            Some(Input { value, spot: source.spot })
        });
        if let Some(new) = new.filter(|new| new != input) {
            changes.push((Arc::clone(socket), new));
        }
    }
    changes
}
