//! Edits that consist of several changes, such as removing a node with its links.

use std::collections::HashSet;
use std::sync::Arc;

use millstream_node::group;
use millstream_node::settings::Setting;

use super::Name;
use super::editor::{Done, Editor, Refusal};
use super::error::EditError;
use super::index::{BodyKey, User};
use crate::model::{Input, InputValue, Link, NodeKind, OutputFrom};
use crate::problems::shortened;
use crate::references::changed;

impl Editor {
    /// Removes nodes and the links to them.
    pub(super) fn remove_nodes(
        &mut self,
        body: BodyKey,
        names: &[Name],
        done: &mut Done,
    ) -> Result<(), Refusal> {
        let mut going: HashSet<u32> = HashSet::with_capacity(names.len());
        for name in names {
            going.insert(self.slot(body, name)?);
        }
        for name in names {
            let users = self.index(body).users_of(name);
            for user in users {
                if matches!(user, User::Node(slot) if going.contains(&slot)) {
                    continue;
                }
                self.unlink_user(
                    body,
                    user,
                    "node",
                    name,
                    done,
                    |source| matches!(source, InputValue::Link(link) if link.node == *name),
                )?;
            }
        }
        for name in names {
            // A name may occur twice.
            if self.nodes(body).contains_key(name) {
                self.take_node(body, name, done)?;
            }
        }
        Ok(())
    }

    /// Removes the sources of a node for which `goes` holds; an output cannot lose its source.
    fn unlink_user(
        &mut self,
        body: BodyKey,
        user: User,
        what: &'static str,
        name: &str,
        done: &mut Done,
        goes: impl Fn(&InputValue) -> bool,
    ) -> Result<(), Refusal> {
        match user {
            User::Output(slot) => {
                let output = self.view(body).outputs.at(slot).map_or("", |(name, _)| &**name);
                let error = EditError::InUse {
                    what,
                    name: shortened(name),
                    by: format!("output `{output}`"),
                    hint: "give the output another source or remove it first",
                };
                Err(Refusal::at(self.path(body, output), error))
            }
            User::Node(slot) => {
                let Some((node, content)) = self.nodes(body).at(slot) else { return Ok(()) };
                let node = Arc::clone(node);
                let mut changes: Vec<(Name, Option<Input>)> = Vec::new();
                for (socket, input) in content.inputs.iter() {
                    let left =
                        changed(input, |source| (!goes(&source.value)).then(|| source.clone()));
                    if left.as_ref() != Some(input) {
                        changes.push((Arc::clone(socket), left));
                    }
                }
                for (socket, left) in changes {
                    self.set_input(body, &node, &socket, left.as_ref(), None, done)?;
                }
                Ok(())
            }
        }
    }

    /// Removes an input of a body, the links from it, and its sources at the nodes that use the
    /// group.
    pub(super) fn remove_input(
        &mut self,
        body: BodyKey,
        name: &Name,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        self.input_slot(body, name)?;
        for user in self.index(body).users_of_input(name) {
            self.unlink_user(
                body,
                user,
                "input",
                name,
                done,
                |source| matches!(source, InputValue::Input(input) if input == name),
            )?;
        }
        for (user_body, slot) in self.users_of_group(body) {
            if let Some((node, _)) = self.nodes(user_body).at(slot) {
                let node = Arc::clone(node);
                self.set_input(user_body, &node, name, None, None, done)?;
            }
        }
        self.take_input(body, name, done)
    }

    /// Removes an output of a body, and the links from it at the nodes that use the group.
    pub(super) fn remove_output(
        &mut self,
        body: BodyKey,
        name: &Name,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        self.output_slot(body, name)?;
        for (user_body, slot) in self.with_outputs_of(body) {
            let Some((node, _)) = self.nodes(user_body).at(slot) else { continue };
            let link = Link { node: Arc::clone(node), output: Arc::clone(name) };
            for user in self.index(user_body).users_of(&link.node) {
                if self.output_reads_other(user_body, user, &link) {
                    continue;
                }
                self.unlink_user(
                    user_body,
                    user,
                    "output",
                    name,
                    done,
                    |source| matches!(source, InputValue::Link(known) if *known == link),
                )?;
            }
        }
        self.take_output(body, name, done)
    }

    /// Whether the user is an output that reads something other than this link.
    fn output_reads_other(&self, body: BodyKey, user: User, link: &Link) -> bool {
        match user {
            User::Node(_) => false,
            User::Output(slot) => {
                let output = self.view(body).outputs.at(slot);
                output.is_none_or(|(_, output)| output.from != OutputFrom::Link(link.clone()))
            }
        }
    }

    /// Changes the type of a node and preserves the sockets and settings that the new type has too.
    pub(super) fn replace_type(
        &mut self,
        body: BodyKey,
        name: &Name,
        kind: &NodeKind,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        self.slot(body, name)?;
        let version = match kind {
            NodeKind::Type(ty) => self.registry.get(ty).map_or(1, |def| def.version),
            NodeKind::Group(_) | NodeKind::Zone(..) | NodeKind::Closure(_) => 1,
        };
        let names = |settings: &[Setting]| -> Vec<String> {
            settings.iter().map(|setting| setting.name.to_owned()).collect()
        };
        let settings = match kind {
            NodeKind::Type(ty) => self.registry.get(ty).map(|def| names(&def.settings)),
            NodeKind::Group(_) => Some(names(&group::settings())),
            NodeKind::Zone(zone, _) => Some(names(&zone.settings())),
            NodeKind::Closure(_) => Some(Vec::new()),
        };
        let node = &self.nodes(body)[&**name];
        let goes = |setting: &Name| {
            settings.as_ref().is_some_and(|known| known.iter().all(|known| *known != **setting))
        };
        let set: Vec<Name> = node.set.iter().map(|(s, _)| s).filter(|s| goes(s)).cloned().collect();
        for setting in set {
            self.set_setting(body, name, &setting, None, None, done)?;
        }
        let mut new = self.nodes(body)[&**name].clone();
        new.kind = kind.clone();
        // The new type may give settings of the same name other values.
        if self.signature(&new).is_none() && matches!(kind, NodeKind::Type(_)) {
            let all: Vec<Name> = new.set.iter().map(|(setting, _)| Arc::clone(setting)).collect();
            new.set = crate::fields::Fields::new();
            if self.signature(&new).is_some() {
                for setting in all {
                    self.set_setting(body, name, &setting, None, None, done)?;
                }
            }
        }
        if let Some(inputs) = self.inputs_of(&new) {
            let gone: Vec<Name> = new.inputs.iter().map(|(socket, _)| Arc::clone(socket)).collect();
            for socket in gone.into_iter().filter(|socket| !inputs.contains(socket)) {
                self.set_input(body, name, &socket, None, None, done)?;
            }
        }
        let outputs = self.outputs_of(&new);
        self.set_type(body, name, kind, version, done)?;
        let Some(outputs) = outputs else { return Ok(()) };
        let Some(first) = outputs.first().cloned() else { return Ok(()) };
        for user in self.index(body).users_of(name) {
            self.lead_to_first(body, user, name, &outputs, &first, done)?;
        }
        Ok(())
    }

    /// Redirects links to missing outputs of a node to its first output.
    fn lead_to_first(
        &mut self,
        body: BodyKey,
        user: User,
        name: &Name,
        outputs: &[Name],
        first: &Name,
        done: &mut Done,
    ) -> Result<(), Refusal> {
        let led = |link: &Link| {
            let is_lost = link.node == *name && !outputs.contains(&link.output);
            is_lost.then(|| Link { node: Arc::clone(name), output: Arc::clone(first) })
        };
        match user {
            User::Output(slot) => {
                let Some((output, def)) = self.view(body).outputs.at(slot) else { return Ok(()) };
                let (output, mut def) = (Arc::clone(output), def.clone());
                let OutputFrom::Link(link) = &def.from else { return Ok(()) };
                let Some(link) = led(link) else { return Ok(()) };
                def.from = OutputFrom::Link(link);
                self.change_output(body, &output, &def, done)
            }
            User::Node(slot) => {
                let Some((node, content)) = self.nodes(body).at(slot) else { return Ok(()) };
                let node = Arc::clone(node);
                let mut changes = Vec::new();
                for (socket, input) in content.inputs.iter() {
                    let new = changed(input, |source| match &source.value {
                        InputValue::Link(link) => Some(led(link).map_or_else(
                            || source.clone(),
                            |link| Input { value: InputValue::Link(link), spot: source.spot },
                        )),
                        InputValue::Literal(_) | InputValue::Input(_) | InputValue::Several(_) => {
                            Some(source.clone())
                        }
                    });
                    if new.as_ref() != Some(input) {
                        changes.push((Arc::clone(socket), new));
                    }
                }
                for (socket, new) in changes {
                    self.set_input(body, &node, &socket, new.as_ref(), None, done)?;
                }
                Ok(())
            }
        }
    }
}
