//! Literals as sources of outputs.
//!
//! A literal has the type of its output, as the default of an input has: the node of the output
//! declares it. A number that is no value of the type, but whose type converts to it, such as `1`
//! for a vector, is a formula.

use millstream_base::{Type, literal};
use millstream_document::model::{Input, InputValue, Node, NodeKind, Setting};
use millstream_node::Registry;
use millstream_node::convert::{CONVERT, convertible};
use serde_json::Value as Json;

/// The node of a literal from which an output of this type is read; `None` if it is a formula.
pub(crate) fn literal_node(registry: &Registry, ty: &str, json: &Json) -> Option<Node> {
    let to = registry.type_named(ty)?;
    let of_formula = match json {
        Json::Number(_) => Some(Type::F32),
        Json::Bool(_) => Some(Type::BOOL),
        Json::Null | Json::String(_) | Json::Array(_) | Json::Object(_) => None,
    };
    let converts = || of_formula.is_some_and(|from| convertible(from, to));
    if of_formula == Some(to) || (converts() && literal::from_json(to, json).is_err()) {
        return None;
    }
    let mut node = Node::new(NodeKind::Type(CONVERT.into()));
    node.set.insert("to", Setting::from(Json::from(ty)));
    node.inputs.insert("x", Input::from(InputValue::Literal(Box::new(json.clone()))));
    Some(node)
}
