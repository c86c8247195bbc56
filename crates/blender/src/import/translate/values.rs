//! Input nodes and reroutes.

use serde_json::Value as Json;

use super::super::error::ImportError;
use super::super::kind::Kind;
use super::super::node::NodeContext;
use super::super::writer::Source;

/// The value of an input node, or the source of a reroute.
pub(super) fn value(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let kind = cx.output_kind()?;
    let property = match &*cx.node.ty {
        "NodeReroute" | "NodeImplicitConversion" => {
            let source = cx.sockets().next().and_then(|(_, source)| source.cloned());
            let source = source.unwrap_or(Source::Literal(kind, kind.zero()));
            let source = cx.as_kind(source, kind)?;
            cx.give(&cx.node.outputs[0].id, &source);
            return Ok(());
        }
        "FunctionNodeInputInt" => "integer",
        "FunctionNodeInputBool" => "boolean",
        "FunctionNodeInputVector" => "vector",
        "FunctionNodeInputRotation" => "rotation_euler",
        "FunctionNodeInputString" => "string",
        _ => "value",
    };
    let json = cx.node.props.get(property).unwrap_or(&Json::Null);
    let literal = kind.converted(json).ok_or_else(|| cx.unknown(property))?;
    let id = cx.node.outputs[0].id.clone();
    cx.give_exactly(&id, Source::Literal(kind, literal));
    Ok(())
}

/// The index of the element, which also serves as its identifier if the geometry has no other.
pub(super) fn index(cx: &mut NodeContext<'_>) {
    let source = cx.write("context.index", &[], vec![], Kind::Int);
    let id = cx.node.outputs.first().map_or(String::new(), |output| output.id.clone());
    cx.give_exactly(&id, source);
}
