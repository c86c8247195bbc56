//! Random Value and Hash Value.

use serde_json::Value as Json;

use super::super::dump::Release;
use super::super::error::ImportError;
use super::super::kind::Kind;
use super::super::node::NodeContext;

pub(super) fn random_value(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    // The numbered sockets and outputs that belong to a type.
    let (ty, kind, number) = match cx.text("data_type", "FLOAT") {
        "FLOAT" => ("blender.random_value", Kind::Value, "_001"),
        "FLOAT_VECTOR" => ("blender.random_vector", Kind::Vector, ""),
        "INT" => ("blender.random_integer", Kind::Int, "_002"),
        "BOOLEAN" => ("blender.random_boolean", Kind::Boolean, "_003"),
        _ => return Err(cx.unknown("data_type")),
    };
    let mut inputs = Vec::new();
    if kind == Kind::Boolean {
        inputs.push(("probability", cx.input("Probability", Kind::Value)?));
    } else {
        for (ours, theirs) in [("minimum", "Min"), ("maximum", "Max")] {
            let numbered = format!("{theirs}{number}");
            let source = cx.input(&numbered, kind).or_else(|_| cx.input(theirs, kind))?;
            inputs.push((ours, source));
        }
    }
    let id = cx.input("ID", Kind::Int)?;
    // Without a link the identifier is the index.
    let id =
        if cx.is_unlinked("ID") { cx.write("context.index", &[], vec![], Kind::Int) } else { id };
    inputs.push(("id", id));
    inputs.push(("seed", cx.input("Seed", Kind::Int)?));
    let is_old = kind == Kind::Int && cx.release < Release(5, 0);
    let set: &[(&str, Json)] = if is_old { &[("by_fraction", Json::Bool(true))] } else { &[] };
    let source = cx.write(ty, set, inputs, kind);
    for output in &cx.node.outputs {
        if Kind::of_socket(&output.kind) == Some(kind) {
            cx.give_exactly(&output.id, source.clone());
        }
    }
    Ok(())
}

pub(super) fn hash(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let kind = match cx.text("data_type", "INT") {
        "INT" => Kind::Int,
        "FLOAT" => Kind::Value,
        "VECTOR" => Kind::Vector,
        "RGBA" => Kind::Color,
        "ROTATION" => Kind::Rotation,
        "MATRIX" => Kind::Matrix,
        _ => return Err(cx.unknown("data_type")),
    };
    let value = cx.input("Value", kind)?;
    let value = if value.is_literal() {
        let set = [("type", kind.ty().name().into())];
        cx.write("blender.value", &set, vec![("value", value)], kind)
    } else {
        value
    };
    let inputs = vec![("value", value), ("seed", cx.input("Seed", Kind::Int)?)];
    let source = cx.write("blender.hash", &[], inputs, Kind::Int);
    cx.give("Hash", &source);
    Ok(())
}
