//! Where the sources of a socket stand.

use serde_json::Value as Json;

use crate::model::{Input, InputValue, Node};
use crate::spot::Spot;

/// A source of a socket of a node.
pub(super) fn source_at<'n>(node: &'n Node, socket: &str, k: usize) -> Option<&'n Input> {
    node.inputs.get(socket).map(|input| match &input.value {
        InputValue::Several(sources) => sources.get(k).unwrap_or(input),
        InputValue::Literal(_) | InputValue::Link(_) | InputValue::Input(_) => input,
    })
}

/// Where a literal stands among the sources of a socket.
pub(super) fn spot_of_literal(input: &Input, json: &Json) -> Spot {
    match &input.value {
        InputValue::Several(sources) => sources
            .iter()
            .find(|source| matches!(&source.value, InputValue::Literal(j) if std::ptr::eq(&raw const **j, json)))
            .map_or(input.spot, |source| source.spot),
        InputValue::Literal(_) | InputValue::Link(_) | InputValue::Input(_) => input.spot,
    }
}
