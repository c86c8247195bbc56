//! Compare.

use serde_json::json;

use super::super::error::ImportError;
use super::super::kind::Kind;
use super::super::node::NodeContext;
use super::super::writer::Source;

pub(super) fn compare(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let source = match cx.text("data_type", "FLOAT") {
        "FLOAT" => numbers(cx, Kind::Value)?,
        "INT" => numbers(cx, Kind::Int)?,
        "VECTOR" => vectors(cx, Kind::Vector)?,
        "RGBA" => vectors(cx, Kind::Color)?,
        "STRING" => strings(cx)?,
        _ => return Err(cx.unknown("data_type")),
    };
    cx.give("Result", &source);
    Ok(())
}

fn numbers(cx: &mut NodeContext<'_>, kind: Kind) -> Result<Source, ImportError> {
    let is_exact = kind == Kind::Int;
    let ty = match cx.text("operation", "GREATER_THAN") {
        "LESS_THAN" => "compare.less",
        "LESS_EQUAL" => "compare.less_equal",
        "GREATER_THAN" => "compare.greater",
        "GREATER_EQUAL" => "compare.greater_equal",
        "EQUAL" if is_exact => "compare.equal",
        "NOT_EQUAL" if is_exact => "compare.not_equal",
        "EQUAL" | "NOT_EQUAL" => return vectors(cx, kind),
        _ => return Err(cx.unknown("operation")),
    };
    let inputs = vec![("a", cx.input("A", kind)?), ("b", cx.input("B", kind)?)];
    Ok(cx.write_generic(ty, &[], inputs, (kind, Kind::Boolean)))
}

fn vectors(cx: &mut NodeContext<'_>, kind: Kind) -> Result<Source, ImportError> {
    let operation = cx.text("operation", "GREATER_THAN");
    let is_known = match operation {
        "EQUAL" | "NOT_EQUAL" => true,
        "LESS_THAN" | "LESS_EQUAL" | "GREATER_THAN" | "GREATER_EQUAL" => kind != Kind::Color,
        "BRIGHTER" | "DARKER" => kind == Kind::Color,
        _ => false,
    };
    if !is_known {
        return Err(cx.unknown("operation"));
    }
    let mode = if kind == Kind::Vector { cx.text("mode", "ELEMENT") } else { "ELEMENT" };
    let mut inputs = vec![("a", cx.input("A", kind)?), ("b", cx.input("B", kind)?)];
    match mode {
        "DOT_PRODUCT" => inputs.push(("c", cx.input("C", Kind::Value)?)),
        "DIRECTION" => inputs.push(("angle", cx.input("Angle", Kind::Value)?)),
        "ELEMENT" | "LENGTH" | "AVERAGE" => {}
        _ => return Err(cx.unknown("mode")),
    }
    if matches!(operation, "EQUAL" | "NOT_EQUAL") {
        inputs.push(("epsilon", cx.input_or("Epsilon", Kind::Value, json!(0.001))?));
    }
    let set =
        [("operation", json!(operation.to_lowercase())), ("mode", json!(mode.to_lowercase()))];
    Ok(cx.write_generic("blender.compare", &set, inputs, (kind, Kind::Boolean)))
}

fn strings(cx: &mut NodeContext<'_>) -> Result<Source, ImportError> {
    let inputs = vec![("a", cx.input("A", Kind::String)?), ("b", cx.input("B", Kind::String)?)];
    let equal = cx.write("string.equal", &[], inputs, Kind::Boolean);
    match cx.text("operation", "EQUAL") {
        "EQUAL" => Ok(equal),
        "NOT_EQUAL" => Ok(cx.write("boolean.not", &[], vec![("x", equal)], Kind::Boolean)),
        _ => Err(cx.unknown("operation")),
    }
}
