//! The invariants at the end of an edit: all references exist.

use millstream_node::group;

use super::Name;
use super::change::check_nesting;
use super::editor::{Done, Editor, Refusal, nearest, unknown};
use super::error::EditError;
use super::index::{BodyKey, BodyView, ROOT, User};
use crate::load::name_problem;
use crate::model::{GroupDef, Link, NodeKind};
use crate::problems::shortened;
use crate::references::{Reference, reference_of, references};

/// A part changed by an edit, to be checked at its end.
pub(super) enum Touched {
    /// A node was added or removed.
    Node(BodyKey, Name),
    /// An input of a body was added or removed.
    Input(BodyKey, Name),
    /// A group was added or removed.
    Group(Name),
    /// A link was added.
    Link(BodyKey, Link),
    /// A socket of a node got a source.
    Socket(BodyKey, Name, Name),
    /// A setting of a node was set.
    Setting(BodyKey, Name, Name),
    /// A node got this type.
    Type(BodyKey, Name, Name),
    /// A node got this group.
    Use(BodyKey, Name, Name),
}

impl Editor {
    /// Checks all parts that the edit touched; parts that were removed again are skipped.
    pub(super) fn check_touched(&self, done: &Done) -> Result<(), Refusal> {
        done.touched.iter().try_for_each(|touched| match touched {
            Touched::Node(body, name) => self.check_node(*body, name),
            Touched::Input(body, name) => self.check_input(*body, name),
            Touched::Group(name) => self.check_group(name),
            Touched::Link(body, link) => self.check_link(*body, link),
            Touched::Socket(body, node, socket) => self.check_socket(*body, node, socket),
            Touched::Setting(body, node, setting) => self.check_setting(*body, node, setting),
            Touched::Type(body, node, ty) => self.check_type(*body, node, ty),
            Touched::Use(body, node, group) => self.check_use(*body, node, group),
        })
    }

    pub(super) fn has_body(&self, body: BodyKey) -> bool {
        body == ROOT || self.document.groups.at(body).is_some()
    }

    fn check_node(&self, body: BodyKey, name: &Name) -> Result<(), Refusal> {
        if !self.has_body(body) || self.nodes(body).contains_key(name) {
            return Ok(());
        }
        let Some(by) = self.first_reader(
            body,
            &self.index(body).users_of(name),
            |reference| matches!(reference, Reference::Link(link) if link.node == *name),
        ) else {
            return Ok(());
        };
        let error = unknown("node", name, self.nodes(body).keys().map(|name| &**name));
        Err(Refusal::at(by, error))
    }

    fn check_input(&self, body: BodyKey, name: &Name) -> Result<(), Refusal> {
        if !self.has_body(body) || self.view(body).inputs.contains_key(name) {
            return Ok(());
        }
        let users = self.index(body).users_of_input(name);
        let Some(by) = self.first_reader(
            body,
            &users,
            |reference| matches!(reference, Reference::Input(input) if input == name),
        ) else {
            return Ok(());
        };
        let known = self.view(body).inputs.keys().map(|name| &**name);
        Err(Refusal::at(by, unknown("input", name, known)))
    }

    fn check_group(&self, name: &Name) -> Result<(), Refusal> {
        if self.document.groups.contains_key(name) {
            return Ok(());
        }
        let (by, hint) = if let Some((body, slot)) = self.uses_of(name).first().copied() {
            let node = self.nodes(body).at(slot).map_or("", |(node, _)| &**node);
            let by = format!("node `{}`", self.path(body, node));
            (by, "remove the nodes that use it first, or ungroup them")
        } else if name_problem(name).is_some() {
            // A group of a used document is there for the nodes that use it.
            return Ok(());
        } else {
            let Some(formula) = self.caller_of(name) else { return Ok(()) };
            (format!("the formula of node `{formula}`"), "change the formulas that call it first")
        };
        let error = EditError::InUse { what: "group", name: shortened(name), by, hint };
        Err(Refusal::at(name.to_string(), error))
    }

    fn check_link(&self, body: BodyKey, link: &Link) -> Result<(), Refusal> {
        if !self.has_body(body) {
            return Ok(());
        }
        let users = self.index(body).users_of(&link.node);
        let by = self.first_reader(body, &users, |reference| reference == Reference::Link(link));
        let Some(by) = by else { return Ok(()) };
        let Some((_, node)) = self.nodes(body).get_key_value(&link.node) else {
            let known = self.nodes(body).keys().map(|name| &**name);
            return Err(Refusal::at(by, unknown("node", &link.node, known)));
        };
        let Some(outputs) = self.outputs_of(node) else { return Ok(()) };
        if outputs.contains(&link.output) {
            return Ok(());
        }
        let known = outputs.iter().map(|name| &**name);
        let error = EditError::UnknownSocket {
            node_type: kind_name(&node.kind).to_string(),
            what: "output",
            name: shortened(&link.output),
            hint: nearest(&link.output, known, "output"),
        };
        Err(Refusal::at(by, error))
    }

    fn check_socket(&self, body: BodyKey, name: &Name, socket: &Name) -> Result<(), Refusal> {
        if !self.has_body(body) {
            return Ok(());
        }
        let Some(node) = self.nodes(body).get(name) else { return Ok(()) };
        if node.inputs.get(socket).is_none() {
            return Ok(());
        }
        let Some(inputs) = self.inputs_of(node) else { return Ok(()) };
        if inputs.contains(socket) {
            return Ok(());
        }
        let known = inputs.iter().map(|name| &**name);
        let error = EditError::UnknownSocket {
            node_type: kind_name(&node.kind).to_string(),
            what: "input",
            name: shortened(socket),
            hint: nearest(socket, known, "input"),
        };
        Err(Refusal::at(self.path(body, name), error))
    }

    fn check_setting(&self, body: BodyKey, name: &Name, setting: &Name) -> Result<(), Refusal> {
        if !self.has_body(body) {
            return Ok(());
        }
        let Some(node) = self.nodes(body).get(name) else { return Ok(()) };
        if node.set.get(setting).is_none() {
            return Ok(());
        }
        let of_body;
        let settings = match &node.kind {
            NodeKind::Group(_) => {
                of_body = group::settings();
                &of_body
            }
            NodeKind::Zone(zone, _) => {
                of_body = zone.settings();
                &of_body
            }
            NodeKind::Closure(_) => {
                of_body = Vec::new();
                &of_body
            }
            NodeKind::Type(ty) => match self.registry.get(ty) {
                Some(def) => &def.settings,
                None => return Ok(()),
            },
        };
        let known = settings.iter().map(|setting| setting.name);
        if known.clone().any(|known| *known == **setting) {
            return Ok(());
        }
        Err(Refusal::at(self.path(body, name), unknown("setting", setting, known)))
    }

    fn check_type(&self, body: BodyKey, name: &Name, ty: &Name) -> Result<(), Refusal> {
        if self.registry.get(ty).is_some() || !self.has_body(body) {
            return Ok(());
        }
        if !self.nodes(body).contains_key(name) {
            return Ok(());
        }
        let hint = match self.registry.nearest(ty) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`millstream nodes` lists all node types".into(),
        };
        let error = EditError::Unknown { what: "node type", name: shortened(ty), hint };
        Err(Refusal::at(self.path(body, name), error))
    }

    /// Checks that the group exists and does not contain the body that uses it.
    fn check_use(&self, body: BodyKey, name: &Name, group: &Name) -> Result<(), Refusal> {
        if !self.has_body(body) {
            return Ok(());
        }
        let Some(node) = self.nodes(body).get(name) else { return Ok(()) };
        if node.kind.group() != Some(group) {
            return Ok(());
        }
        let Some(used) = self.document.groups.slot_of(group) else {
            let known = self.document.groups.keys().map(|name| &**name);
            return Err(Refusal::at(self.path(body, name), unknown("group", group, known)));
        };
        // Outwards from the body: its users, their users, and so on.
        let mut seen = vec![body];
        let mut at = 0;
        while let Some(outer) = seen.get(at).copied() {
            at += 1;
            if outer == used {
                let error = EditError::RecursiveGroup { name: shortened(group) };
                return Err(Refusal::at(self.path(body, name), error));
            }
            let Some(outer) = self.group_name(outer) else { continue };
            for (user, _) in self.uses_of(outer) {
                if !seen.contains(&user) {
                    seen.push(user);
                }
            }
        }
        Ok(())
    }

    /// The path of the first socket or output among these users with a matching reference.
    pub(super) fn first_reader(
        &self,
        body: BodyKey,
        users: &[User],
        is_it: impl Fn(Reference<'_>) -> bool,
    ) -> Option<String> {
        let view = self.view(body);
        users.iter().find_map(|user| match user {
            User::Node(slot) => {
                let (name, node) = view.nodes.at(*slot)?;
                let mut inputs = node.inputs.iter();
                let (socket, _) = inputs.find(|(_, input)| references(input).any(&is_it))?;
                Some(self.path(body, &format!("{name}.{socket}")))
            }
            User::Output(slot) => {
                let (name, output) = view.outputs.at(*slot)?;
                is_it(reference_of(output)).then(|| self.path(body, name))
            }
        })
    }
}

/// The name of a node type or group.
pub(super) fn kind_name(kind: &NodeKind) -> &Name {
    match kind {
        NodeKind::Type(name)
        | NodeKind::Group(name)
        | NodeKind::Zone(_, name)
        | NodeKind::Closure(name) => name,
    }
}

/// Checks that links can mention the names in a new group, and that sources are not nested.
pub(super) fn check_content(name: &Name, def: &GroupDef) -> Result<(), Refusal> {
    let BodyView { inputs, outputs, nodes } = BodyView::group(def);
    let names = inputs.keys().map(|name| ("an input", name));
    let names = names.chain(outputs.keys().map(|name| ("an output", name)));
    for (what, part) in names.chain(nodes.keys().map(|name| ("a node", name))) {
        if let Some(reason) = name_problem(part) {
            let error = EditError::BadName { what, name: shortened(part), reason };
            return Err(Refusal::at(name.to_string(), error));
        }
    }
    for (node_name, node) in nodes {
        for (_, input) in node.inputs.iter() {
            check_nesting(input)
                .map_err(|error| Refusal::at(format!("{name}/{node_name}"), error))?;
        }
    }
    Ok(())
}
