//! Values that are written in place of links, and those that links read as if they were.

use millstream_base::{Column, Type, Value, literal};
use millstream_node::convert::number_as;
use millstream_node::signature::{Among, Generic, Widths};
use serde_json::Value as Json;

use super::links::{Given, socket_at};
use super::shapes::Shape;
use super::spots::spot_of_literal;
use super::types::{Typed, Typing};
use crate::at::Part;
use crate::checked::Source;
use crate::upgrade::{Conversion, Converted};

/// The source that a link means.
pub(super) fn source_of(given: Given<'_>) -> Option<Source> {
    match given {
        Given::Input(input) => Some(Source::Input(input)),
        Given::Node { node, output } => Some(Source::Node { node, output }),
        Given::Literal(_) | Given::Default | Given::Broken => None,
    }
}

/// Whether nodes of the shape convert to a type that holds `f64`.
pub(super) fn makes_wide(shape: &Shape) -> bool {
    let wide = |to| number_as(0.0, to).is_some();
    matches!(shape.signature.generics[..], [Generic { among: Among::AnyOr(to), .. }] if wide(to))
}

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

    /// The source that a link to a socket of this type means. A number that is a whole formula is
    /// rounded to the precision of the socket, like a literal.
    pub(super) fn read_as(&mut self, given: Given<'_>, to: Type) -> Option<Source> {
        let exact = self.exact(given);
        match exact.and_then(|number| number_as(number, to)) {
            Some(value) if self.widths == Widths::Kept => {
                Some(Source::Literal(self.literals.intern(value)))
            }
            Some(_) => {
                self.keep_rounded(given);
                source_of(given)
            }
            None => source_of(given),
        }
    }

    /// Whether a source is a number that a node converts to `f64`, as which it is read at once.
    pub(super) fn is_made_wide(&self, shape: &Shape, given: Given<'_>) -> bool {
        self.widths == Widths::Kept && makes_wide(shape) && self.exact(given).is_some()
    }

    /// The number that a source is before it is rounded.
    fn exact(&self, given: Given<'_>) -> Option<f64> {
        let Given::Node { node, .. } = given else { return None };
        match self.nodes[node as usize] {
            Typed::Call(entry) => {
                let network = self.instances.entry(entry).instance.network.as_ref()?;
                let number = network.number?;
                (!self.named_node(node).1.muted).then_some(number)
            }
            Typed::Outside(_) => self.outside.get(node as usize).copied().flatten(),
            Typed::Unknown
            | Typed::Group(_)
            | Typed::Zone(_)
            | Typed::Closure { .. }
            | Typed::Partly => None,
        }
    }

    /// Collects a number that the newest format would not round.
    fn keep_rounded(&mut self, given: Given<'_>) {
        let Given::Node { node, .. } = given else { return };
        let Typed::Call(entry) = self.nodes[node as usize] else { return };
        let def = &self.instances.entry(entry).instance.def;
        let Some(setting) = def.formula.as_ref().map(|formula| formula.name) else { return };
        self.conversions.push(Conversion {
            group: self.at.group.into(),
            node: self.named_node(node).0.into(),
            of: Converted::Number { setting },
        });
    }
}
