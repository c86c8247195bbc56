//! Values that are written in place of links.

use millstream_base::{Column, Type, Value, literal};
use serde_json::Value as Json;

use super::links::{Given, socket_at};
use super::shapes::Shape;
use super::spots::spot_of_literal;
use super::types::Typing;
use crate::at::Part;
use crate::checked::Source;

impl Typing<'_, '_> {
    /// Reads a literal; if it does not fit, the reason is reported.
    pub(super) fn literal<'n>(
        &mut self,
        node: u32,
        ty: Type,
        json: &Json,
        socket: impl FnOnce() -> &'n str,
    ) -> Option<Source> {
        let value = self.value_of(node, ty, json, socket)?;
        Some(Source::Literal(self.literals.intern(value)))
    }

    fn value_of<'n>(
        &mut self,
        node: u32,
        ty: Type,
        json: &Json,
        socket: impl FnOnce() -> &'n str,
    ) -> Option<Value> {
        match literal::from_json(ty, json) {
            Ok(value) => Some(value),
            Err(error) => {
                let (name, def) = self.named_node(node);
                let at = self.at.part(Part::Node(name));
                let socket = socket();
                let span = def.inputs.get(socket).map(|input| spot_of_literal(input, json));
                let span = span.unwrap_or(def.spot).span();
                self.problems.report(socket_at(at, socket), span, &error);
                None
            }
        }
    }

    /// Reads the literal of a slot. A single item beside linked lists is a list of one, as a link to
    /// an item is.
    pub(super) fn literal_in_slot(
        &mut self,
        node: u32,
        (entry, slot): (u32, usize),
        shape: &Shape,
        json: &Json,
    ) -> Option<Source> {
        let inputs = &self.instances.entry(entry).instance.inputs;
        let (ty, at) = (inputs[slot].ty, inputs[slot].socket);
        let socket = &shape.signature.inputs[at as usize];
        if !socket.multiple {
            return self.literal(node, ty, json, || &socket.name);
        }
        if json.is_array() {
            if ty.lanes().is_some_and(|(_, n)| n == 1) {
                self.report_list(node, &socket.name, json);
                return None;
            }
            return self.literal(node, ty, json, || &socket.name);
        }
        let beside = inputs.iter().zip(self.links.of_node(node)).filter(|(it, _)| it.socket == at);
        let is_beside_link = beside
            .into_iter()
            .any(|(_, at)| matches!(self.links.slots[at], Given::Input(_) | Given::Node { .. }));
        let Some(item) = ty.element().filter(|_| is_beside_link) else {
            return self.literal(node, ty, json, || &socket.name);
        };
        let value = self.value_of(node, item, json, || &socket.name)?;
        let list = Value::List(Column::filled(&value, 1));
        Some(Source::Literal(self.literals.intern(list)))
    }
}
