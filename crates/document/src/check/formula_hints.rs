//! Messages about formulas that know the groups of the document.

use std::ops::Range;

use millstream_base::diagnostics::did_you_mean;
use millstream_node::NodeDef;
use millstream_node::node_def::formula::FormulaFault;
use millstream_node::settings::SettingError;

use super::shapes::Shapes;
use super::spots::{as_call, nested};
use crate::at::At;
use crate::model::{InputValue, Node};
use crate::problems::shortened;

impl Shapes<'_> {
    /// The error with a hint for a setting that is an input of the node, or for a formula that calls
    /// a group by nearly its name.
    pub(super) fn with_hint(
        &self,
        (node, at): (&Node, At<'_>),
        def: &NodeDef,
        error: SettingError,
    ) -> SettingError {
        match error {
            SettingError::Refused { name, message, range, hint } => {
                if let Some(fault) = range.and_then(|range| self.fault_in_call(node, def, range)) {
                    let FormulaFault { message, range, hint } = fault;
                    let range = Some((range.start, range.end));
                    return SettingError::Refused { name, message, range, hint };
                }
                if let Some((call, hint)) = range.and_then(|it| self.use_meant(node, def, it)) {
                    let path = text_of(node, def).map_or("", |text| &text[call.clone()]);
                    let path: String = path.split_whitespace().collect();
                    let message = format!("there is no group called `{}`", shortened(&path));
                    let range = Some((call.start, call.end));
                    return SettingError::Refused { name, message, range, hint: Some(hint) };
                }
                let message = self.as_written((node, at), message);
                let hint = hint.map(|hint| self.as_written((node, at), hint));
                let group = range.and_then(|range| self.group_meant(node, def, range));
                let hint = group.map(|group| format!("did you mean `{group}`?")).or(hint);
                SettingError::Refused { name, message, range, hint }
            }
            SettingError::Unknown { name, hint } => {
                let inputs = def.fixed_signature().map_or(&[][..], |it| &it.inputs);
                let is_input = inputs.iter().any(|socket| *socket.name == *name);
                let known = shortened(&name);
                let written = self.form().of(
                    format!("`{known}` is an input: move it from \"set\" to \"in\""),
                    format!("`{known}` is an input: write `{known}: VALUE`, with a colon"),
                );
                SettingError::Unknown { name, hint: if is_input { written } else { hint } }
            }
            other => other,
        }
    }

    /// The reason why a call of a group in a formula was not found, if this part of it is the name
    /// of the group.
    fn fault_in_call(
        &self,
        node: &Node,
        def: &NodeDef,
        (start, end): (usize, usize),
    ) -> Option<FormulaFault> {
        let formula = def.formula.as_ref()?;
        let text = text_of(node, def)?;
        let name = text.get(start..end).filter(|name| self.document.groups.contains_key(name))?;
        (formula.fault_in_call)(text, start..end).or_else(|| {
            Some(FormulaFault {
                message: format!("calls of `{}` are nested too deeply", shortened(name)),
                range: start..end,
                hint: Some("give the inner calls a node of their own".into()),
            })
        })
    }

    /// The bytes of a call of a group of a used document by nearly the name of that document, given
    /// those of the name of the group, and the hint for it.
    fn use_meant(
        &self,
        node: &Node,
        def: &NodeDef,
        (start, end): (usize, usize),
    ) -> Option<(Range<usize>, String)> {
        let text = text_of(node, def)?;
        let group = text.get(start..end)?;
        let before = text[..start].trim_end().strip_suffix('/')?.trim_end();
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let from = before.trim_end_matches(is_name).len();
        let alias = &before[from..];
        let is_known = self.document.uses.contains_key(alias);
        let names = self.document.uses.keys().map(|name| &**name);
        let near = did_you_mean(alias, names).filter(|_| !is_known && !alias.is_empty())?;
        Some((from..end, format!("did you mean `{near}/{group}`?")))
    }

    /// How to call the function of formulas with this name, if there is one.
    pub(super) fn hint_of_function(&self, name: &str) -> Option<String> {
        let formula = self.registry().iter().find_map(|def| def.formula.as_ref())?;
        let is_plain = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.len() <= 64
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !is_plain || !(formula.group_calls)(&format!("{name}()"), &|_| true).is_empty() {
            return None;
        }
        let written = self.form().of(
            "call it in the text of a `math.expression`".to_owned(),
            format!("write its inputs in their order, without names: `{name}(...)`"),
        );
        Some(format!("`{name}` is a function of formulas: {written}"))
    }

    /// The group that a formula meant to call, if this part of it is the name of a call that is
    /// neither that of a function nor that of a group.
    fn group_meant(
        &self,
        node: &Node,
        def: &NodeDef,
        (start, end): (usize, usize),
    ) -> Option<&str> {
        let formula = def.formula.as_ref()?;
        let text = text_of(node, def)?;
        let mut calls = (formula.group_calls)(text, &|_| true).into_iter();
        let call = calls.find(|call| call.group == (start..end))?;
        did_you_mean(&text[call.group], self.document.groups.keys().map(|name| &**name))
    }

    /// A message about a formula in which calls that are nodes stand as authors write them: in the
    /// text of the formula, names of inputs stand for them.
    fn as_written(&self, (node, at): (&Node, At<'_>), mut message: String) -> String {
        let nodes = match at.group {
            "" => Some(&self.document.nodes),
            group => self.document.groups.get(group).map(|group| &group.nodes),
        };
        let Some(nodes) = nodes else { return message };
        for (input, source) in node.inputs.iter() {
            let InputValue::Link(link) = &source.value else { continue };
            let Some(called) = nested(link, source.spot, nodes) else { continue };
            // The name of a node for a letter that its author bound is longer than the letter.
            if called.part().is_none() && input.chars().count() < link.node.chars().count() {
                continue;
            }
            let call = as_call(called, self.registry());
            // Code in messages stands between backticks.
            let parts = message.split('`').enumerate().map(|(at, part)| {
                if at % 2 == 0 {
                    return part.to_owned();
                }
                let words = part.split(' ').map(|it| if *it == **input { &*call } else { it });
                words.collect::<Vec<_>>().join(" ")
            });
            message = parts.collect::<Vec<_>>().join("`");
        }
        message
    }
}

/// The text of a node's formula.
fn text_of<'n>(node: &'n Node, def: &NodeDef) -> Option<&'n str> {
    node.set.get(def.formula.as_ref()?.name)?.json.as_str()
}
