//! The sources from which selectors are computed.

use std::ops::RangeInclusive;

use millstream_base::Type;
use millstream_node::SocketType;

use super::computed::Conditions;
use super::{BodyParts, Firsts, Grain, read_settings};
use crate::model::{InputValue, NodeKind};

/// What selectors are computed from.
#[derive(Clone, Copy)]
pub(super) struct Above<'a, 'd> {
    pub(super) grain: &'a Grain<'d>,
    pub(super) body: BodyParts<'a>,
    pub(super) firsts: &'a Firsts,
    pub(super) conditions: &'a Conditions,
}

impl Above<'_, '_> {
    /// Whether all numbers in a formula may have one type, as in format 1: then formulas that
    /// compare the same sources may compare them in different types.
    pub(super) fn has_one_type(self) -> bool {
        let document = self.grain.document;
        document.format == 1 || document.groups.values().any(|group| group.is_of_format_1)
    }
}

/// A text that only this source has; `None` for several sources.
pub(super) fn key_of(above: Above<'_, '_>, source: &InputValue) -> Option<String> {
    let source = above.firsts.of(source).unwrap_or_else(|| source.clone());
    match source {
        InputValue::Link(link) => Some(format!("\0>{}\0.{}", link.node, link.output)),
        InputValue::Input(name) => Some(format!("\0<{name}")),
        InputValue::Literal(json) => Some(format!("\0={json}")),
        InputValue::Several(_) => None,
    }
}

/// The type of a source, if it is known before the types of other nodes are.
pub(super) fn type_of(above: Above<'_, '_>, source: &InputValue) -> Option<Type> {
    let registry = above.grain.registry;
    match above.firsts.of(source).unwrap_or_else(|| source.clone()) {
        InputValue::Input(name) => registry.type_named(&above.body.inputs.get(&name)?.ty),
        InputValue::Link(link) => {
            let node = above.body.nodes.get(&link.node)?;
            let name = match &node.kind {
                NodeKind::Type(name) => name,
                NodeKind::Group(group) => {
                    let output = above.grain.group_named(group)?.outputs.get(&link.output)?;
                    return registry.type_named(&output.ty);
                }
                NodeKind::Zone(..) | NodeKind::Closure(_) => return None,
            };
            let def = registry.get(name)?;
            let (_, signature) = read_settings(registry, def, node)?;
            match signature.outputs[signature.output(&link.output)?].ty {
                SocketType::Exact(ty) => Some(ty),
                SocketType::Generic(_) | SocketType::ListOf(_) | SocketType::Made => None,
            }
        }
        InputValue::Literal(_) | InputValue::Several(_) => None,
    }
}

/// The values of an integer type.
pub(super) fn integers(ty: Type) -> RangeInclusive<i64> {
    if ty == Type::I32 { i32::MIN.into()..=i32::MAX.into() } else { i64::MIN..=i64::MAX }
}
