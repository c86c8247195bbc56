//! Literals as sources of outputs.
//!
//! A literal has the type of its output, as the default of an input has, and is read by the same
//! rule: the node of the output declares the type.

use millstream_base::Type;
use millstream_base::literal::{self, LiteralError};
use millstream_document::model::{Input, InputValue, Node, NodeKind, Setting};
use millstream_node::Registry;
use millstream_node::convert::CONVERT;
use serde_json::Value as Json;

/// The node of a literal from which an output of this type is read; `None` if it is a formula, or
/// if there is no such type.
///
/// # Errors
/// If the literal is not a value of the type.
pub(crate) fn literal_node(
    registry: &Registry,
    ty: &str,
    json: &Json,
) -> Result<Option<Node>, LiteralError> {
    let Some(to) = registry.type_named(ty) else { return Ok(None) };
    literal::from_json(to, json)?;
    let is_formula = match json {
        Json::Number(_) => to == Type::F32,
        Json::Bool(_) => to == Type::BOOL,
        Json::Null | Json::String(_) | Json::Array(_) | Json::Object(_) => false,
    };
    if is_formula {
        return Ok(None);
    }
    let mut node = Node::new(NodeKind::Type(CONVERT.into()));
    node.set.insert("to", Setting::from(Json::from(ty)));
    node.inputs.insert("x", Input::from(InputValue::Literal(Box::new(json.clone()))));
    Ok(Some(node))
}
