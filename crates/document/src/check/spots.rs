//! Where the sources of a socket stand, and the nodes that are written there.

use millstream_node::Registry;

use serde_json::Value as Json;

use crate::formula_calls::text;
use crate::model::{Input, InputValue, Link, Named, Node, NodeKind};
use crate::problems::shortened;
use crate::spot::Spot;

/// A source of a socket of a node.
pub(super) fn source_at<'n>(node: &'n Node, socket: &str, k: usize) -> Option<&'n Input> {
    node.inputs.get(socket).map(|input| match &input.value {
        InputValue::Several(sources) => sources.get(k).unwrap_or(input),
        InputValue::Literal(_) | InputValue::Link(_) | InputValue::Input(_) => input,
    })
}

/// The node of a link, if it is written where the link is: a call of a group in a formula, or a call
/// inside another one in the text form. Nobody wrote the name of such a node.
pub(super) fn nested<'n>(link: &Link, spot: Spot, nodes: &'n Named<Node>) -> Option<&'n Node> {
    let node = nodes.get(&link.node)?;
    (node.part().is_some() || spot.holds(node.spot)).then_some(node)
}

/// A nested node as it is written.
pub(super) fn as_call(node: &Node, registry: &Registry) -> String {
    let name = match (node.part(), &node.kind) {
        (Some(part), _) if part.argument.is_none() => &part.group,
        (_, kind) => {
            if let Some(text) = text(node, registry) {
                return shortened(text);
            }
            let (NodeKind::Type(name)
            | NodeKind::Group(name)
            | NodeKind::Zone(_, name)
            | NodeKind::Closure(name)) = kind;
            node.part().map_or(name, |part| &part.group)
        }
    };
    format!("{}(...)", shortened(name))
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
