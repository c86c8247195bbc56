//! Math, Integer Math, Bit Math, Map Range, Clamp, Float to Integer.

use serde_json::json;

use super::super::error::ImportError;
use super::super::kind::Kind;
use super::super::node::NodeContext;
use super::super::writer::Source;

/// The names of the sockets of math nodes, by position.
const SOCKETS: [&str; 3] = ["Value", "Value_001", "Value_002"];

/// An operation in terms of our nodes: node type, settings, sockets.
pub(super) struct Operation {
    pub(super) ty: &'static str,
    /// The operation of `blender.math` and `blender.integer`.
    pub(super) operation: Option<&'static str>,
    pub(super) sockets: &'static [&'static str],
}

const fn ours(ty: &'static str, sockets: &'static [&'static str]) -> Operation {
    Operation { ty, operation: None, sockets }
}

const fn theirs(operation: &'static str, sockets: &'static [&'static str]) -> Operation {
    Operation { ty: "blender.math", operation: Some(operation), sockets }
}

const X: &[&str] = &["x"];
const A: &[&str] = &["a"];
const AB: &[&str] = &["a", "b"];
const ABC: &[&str] = &["a", "b", "c"];

/// An operation on numbers or on each component of vectors.
pub(super) fn by_component(operation: &str) -> Option<Operation> {
    Some(match operation {
        "ADD" => ours("math.add", AB),
        "SUBTRACT" => ours("math.subtract", AB),
        "MULTIPLY" => ours("math.multiply", AB),
        "DIVIDE" => ours("math.safe_divide", AB),
        "MULTIPLY_ADD" => ours("math.multiply_add", ABC),
        "POWER" => theirs("power", AB),
        "ABSOLUTE" => ours("math.absolute", X),
        "MINIMUM" => theirs("minimum", AB),
        "MAXIMUM" => theirs("maximum", AB),
        "SIGN" => theirs("sign", A),
        "ROUND" => theirs("round", A),
        "FLOOR" => ours("math.floor", X),
        "CEIL" => ours("math.ceil", X),
        "TRUNC" => ours("math.truncate", X),
        "FRACT" | "FRACTION" => ours("math.fraction", X),
        "MODULO" => theirs("modulo", AB),
        "FLOORED_MODULO" => theirs("floored_modulo", AB),
        "WRAP" => theirs("wrap", ABC),
        "SNAP" => theirs("snap", AB),
        "PINGPONG" => theirs("ping_pong", AB),
        "SINE" => ours("math.sin", X),
        "COSINE" => ours("math.cos", X),
        "TANGENT" => ours("math.tan", X),
        "SQRT" => theirs("sqrt", A),
        _ => return None,
    })
}

fn number_operation(operation: &str) -> Option<Operation> {
    by_component(operation).or_else(|| {
        Some(match operation {
            "LOGARITHM" => theirs("logarithm", AB),
            "INVERSE_SQRT" => theirs("inverse_sqrt", A),
            "EXPONENT" => ours("math.exp", X),
            "LESS_THAN" => ours("compare.less", AB),
            "GREATER_THAN" => ours("compare.greater", AB),
            "COMPARE" => theirs("compare", ABC),
            "SMOOTH_MIN" => theirs("smooth_minimum", ABC),
            "SMOOTH_MAX" => theirs("smooth_maximum", ABC),
            "ARCSINE" => theirs("arcsine", A),
            "ARCCOSINE" => theirs("arccosine", A),
            "ARCTANGENT" => ours("math.atan", X),
            "ARCTAN2" => ours("math.atan2", &["y", "x"]),
            "SINH" => ours("math.sinh", X),
            "COSH" => ours("math.cosh", X),
            "TANH" => ours("math.tanh", X),
            "RADIANS" => ours("math.radians", X),
            "DEGREES" => ours("math.degrees", X),
            _ => return None,
        })
    })
}

pub(super) fn math(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let operation = number_operation(cx.text("operation", "ADD"));
    let operation = operation.ok_or_else(|| cx.unknown("operation"))?;
    let is_test = operation.ty.starts_with("compare.");
    let result = if is_test { Kind::Boolean } else { Kind::Value };
    let mut source = written(cx, &operation, &SOCKETS, (Kind::Value, result))?;
    source = cx.as_kind(source, Kind::Value)?;
    if cx.flag("use_clamp", false) {
        source = cx.clamped(source);
    }
    cx.give("Value", &source);
    Ok(())
}

/// Writes an operation with the sockets of these names; all inputs have one type.
pub(super) fn written(
    cx: &mut NodeContext<'_>,
    operation: &Operation,
    sockets: &[&str],
    (kind, result): (Kind, Kind),
) -> Result<Source, ImportError> {
    let mut inputs = Vec::with_capacity(operation.sockets.len());
    for (ours, theirs) in operation.sockets.iter().zip(sockets) {
        inputs.push((*ours, cx.input(theirs, kind)?));
    }
    let set: Vec<_> = operation.operation.iter().map(|name| ("operation", json!(name))).collect();
    Ok(cx.write_generic(operation.ty, &set, inputs, (kind, result)))
}

fn integer_operation(operation: &str) -> Option<Operation> {
    let blender =
        |operation| Operation { ty: "blender.integer", operation: Some(operation), sockets: AB };
    Some(match operation {
        "ADD" => ours("math.add", AB),
        "SUBTRACT" => ours("math.subtract", AB),
        "MULTIPLY" => ours("math.multiply", AB),
        "MULTIPLY_ADD" => ours("math.multiply_add", ABC),
        "DIVIDE" => ours("integer.divide", AB),
        "DIVIDE_ROUND" => blender("divide_round"),
        "DIVIDE_FLOOR" => ours("integer.divide_floor", AB),
        "DIVIDE_CEIL" => ours("integer.divide_ceil", AB),
        "POWER" => blender("power"),
        "ABSOLUTE" => ours("math.absolute", X),
        "NEGATE" => ours("math.negate", X),
        "MINIMUM" => ours("math.minimum", AB),
        "MAXIMUM" => ours("math.maximum", AB),
        "SIGN" => ours("math.sign", X),
        "MODULO" => ours("integer.modulo", AB),
        "FLOORED_MODULO" => blender("floored_modulo"),
        "GCD" => ours("integer.gcd", AB),
        "LCM" => blender("lcm"),
        _ => return None,
    })
}

pub(super) fn integer(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let operation = integer_operation(cx.text("operation", "ADD"));
    let operation = operation.ok_or_else(|| cx.unknown("operation"))?;
    let source = written(cx, &operation, &SOCKETS, (Kind::Int, Kind::Int))?;
    cx.give("Value", &source);
    Ok(())
}

pub(super) fn bits(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let shifted =
        |operation| Operation { ty: "blender.integer", operation: Some(operation), sockets: AB };
    let (operation, sockets) = match cx.text("operation", "AND") {
        "AND" => (ours("integer.and", AB), ["A", "B"]),
        "OR" => (ours("integer.or", AB), ["A", "B"]),
        "XOR" => (ours("integer.xor", AB), ["A", "B"]),
        "NOT" => (ours("integer.not", X), ["A", "B"]),
        "SHIFT" => (shifted("shift"), ["A", "Shift"]),
        "ROTATE" => (shifted("rotate"), ["A", "Shift"]),
        _ => return Err(cx.unknown("operation")),
    };
    let source = written(cx, &operation, &sockets, (Kind::Int, Kind::Int))?;
    cx.give("Value", &source);
    Ok(())
}

pub(super) fn float_to_integer(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let rounding = match cx.text("rounding_mode", "ROUND") {
        "ROUND" => "round",
        "FLOOR" => "floor",
        "CEILING" => "ceiling",
        "TRUNCATE" => "truncate",
        _ => return Err(cx.unknown("rounding_mode")),
    };
    let x = cx.input("Float", Kind::Value)?;
    let set = [("rounding", json!(rounding))];
    let source = cx.write("blender.to_integer", &set, vec![("x", x)], Kind::Int);
    cx.give("Integer", &source);
    Ok(())
}

pub(super) fn clamp(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let order = match cx.text("clamp_type", "MINMAX") {
        "MINMAX" => "minmax",
        "RANGE" => "range",
        _ => return Err(cx.unknown("clamp_type")),
    };
    let inputs = vec![
        ("x", cx.input("Value", Kind::Value)?),
        ("minimum", cx.input("Min", Kind::Value)?),
        ("maximum", cx.input("Max", Kind::Value)?),
    ];
    let source = cx.write("blender.clamp", &[("order", json!(order))], inputs, Kind::Value);
    cx.give("Result", &source);
    Ok(())
}

pub(super) fn map_range(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let interpolation = match cx.text("interpolation_type", "LINEAR") {
        "LINEAR" => "linear",
        "STEPPED" => "stepped",
        "SMOOTHSTEP" => "smoothstep",
        "SMOOTHERSTEP" => "smootherstep",
        _ => return Err(cx.unknown("interpolation_type")),
    };
    let (kind, subject) = match cx.text("data_type", "FLOAT") {
        "FLOAT" => (Kind::Value, "Value"),
        "FLOAT_VECTOR" => (Kind::Vector, "Vector"),
        _ => return Err(cx.unknown("data_type")),
    };
    let mut inputs = vec![
        ("x", cx.input(subject, kind)?),
        ("from_min", cx.input("From Min", kind)?),
        ("from_max", cx.input("From Max", kind)?),
        ("to_min", cx.input("To Min", kind)?),
        ("to_max", cx.input("To Max", kind)?),
    ];
    if interpolation == "stepped" {
        inputs.push(("steps", cx.input("Steps", kind)?));
    }
    let set = [("interpolation", json!(interpolation)), ("clamp", json!(cx.flag("clamp", true)))];
    let source = cx.write_generic("blender.map_range", &set, inputs, (kind, kind));
    cx.give(if kind == Kind::Value { "Result" } else { "Vector" }, &source);
    Ok(())
}
