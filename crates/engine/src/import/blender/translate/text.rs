//! Texts.

use serde_json::{Value as Json, json};

use super::super::error::ImportError;
use super::super::kind::Kind;
use super::super::node::NodeContext;
use super::super::writer::Source;
use super::unknown_node;

pub(super) fn translate(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    match &*cx.node.ty {
        "FunctionNodeStringLength" => {
            let inputs = vec![("text", string(cx, "String")?)];
            give(cx, "string.length", inputs, "Length", Kind::Int);
        }
        "FunctionNodeSliceString" => {
            let inputs = vec![
                ("text", string(cx, "String")?),
                ("start", cx.input("Position", Kind::Int)?),
                ("count", cx.input("Length", Kind::Int)?),
            ];
            give(cx, "string.slice", inputs, "String", Kind::String);
        }
        "FunctionNodeReplaceString" => {
            let inputs = vec![
                ("text", string(cx, "String")?),
                ("part", string(cx, "Find")?),
                ("by", string(cx, "Replace")?),
            ];
            give(cx, "string.replace", inputs, "String", Kind::String);
        }
        "FunctionNodeReverseString" => {
            let inputs = vec![("text", string(cx, "String")?)];
            give(cx, "string.reverse", inputs, "String", Kind::String);
        }
        "FunctionNodeInputSpecialCharacters" => {
            cx.give("Line Break", &NodeContext::literal(Kind::String, "\n"));
            cx.give("Tab", &NodeContext::literal(Kind::String, "\t"));
        }
        "FunctionNodeSetStringCase" => case(cx)?,
        "FunctionNodeTrimString" => trim(cx)?,
        "FunctionNodeFindInString" => find(cx)?,
        "FunctionNodeMatchString" => matches(cx)?,
        "FunctionNodeValueToString" => from_number(cx)?,
        "FunctionNodeStringToValue" => to_number(cx)?,
        "FunctionNodeFormatString" => format(cx)?,
        "GeometryNodeStringJoin" => join(cx)?,
        _ => return Err(unknown_node(cx)),
    }
    Ok(())
}

fn string(cx: &mut NodeContext<'_>, role: &str) -> Result<Source, ImportError> {
    cx.input(role, Kind::String)
}

fn give(cx: &mut NodeContext<'_>, ty: &str, inputs: Vec<(&str, Source)>, role: &str, kind: Kind) {
    let source = cx.write(ty, &[], inputs, kind);
    cx.give(role, &source);
}

/// The entry of a menu that must be known when the network is imported.
fn menu(cx: &mut NodeContext<'_>, role: &str, default: &str) -> Result<String, ImportError> {
    match cx.input_or(role, Kind::Menu, json!(default))? {
        Source::Literal(_, Json::String(entry)) => Ok(entry),
        _ => {
            let (node, from, to) = (cx.label(), "a link".into(), format!("the menu `{role}`"));
            Err(ImportError::Conversion { node, from, to })
        }
    }
}

/// A value that must be known when the network is imported.
fn known(cx: &mut NodeContext<'_>, role: &str, default: bool) -> Result<bool, ImportError> {
    match cx.input_or(role, Kind::Boolean, json!(default))? {
        Source::Literal(_, Json::Bool(flag)) => Ok(flag),
        _ => {
            let (node, from, to) = (cx.label(), "a link".into(), format!("`{role}`"));
            Err(ImportError::Conversion { node, from, to })
        }
    }
}

fn case(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let ty = match &*menu(cx, "Case", "Uppercase")? {
        "Uppercase" => "string.upper",
        "Lowercase" => "string.lower",
        _ => return Err(cx.unknown("Case")),
    };
    // Letters outside of ASCII stay.
    let source = cx.input("String", Kind::String)?;
    let set = [("letters", json!("ascii"))];
    let source = cx.write(ty, &set, vec![("text", source)], Kind::String);
    cx.give("String", &source);
    Ok(())
}

fn trim(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let white = known(cx, "Whitespace", true)?;
    let side = match (known(cx, "Start", true)?, known(cx, "End", true)?) {
        (true, true) => "both",
        (true, false) => "start",
        (false, true) => "end",
        (false, false) => {
            let text = string(cx, "String")?;
            cx.give("String", &text);
            return Ok(());
        }
    };
    let set = [("side", json!(side)), ("white_space", json!(white))];
    let inputs = vec![("text", string(cx, "String")?), ("characters", string(cx, "Characters")?)];
    let source = cx.write("string.trim", &set, inputs, Kind::String);
    cx.give("String", &source);
    Ok(())
}

fn find(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let ty = match &*menu(cx, "Mode", "From Start")? {
        "From Start" => "string.find",
        "From End" => "string.find_last",
        _ => return Err(cx.unknown("Mode")),
    };
    let inputs = vec![("text", string(cx, "String")?), ("part", string(cx, "Search")?)];
    let count = cx.write("string.count", &[], inputs.clone(), Kind::Int);
    // What is not there is found at 0.
    let found = cx.write(ty, &[], inputs, Kind::Int);
    let kinds = (Kind::Int, Kind::Int);
    let zero = NodeContext::literal(Kind::Int, json!(0));
    let some = cx.write_generic(
        "math.minimum",
        &[],
        vec![("a", count.clone()), ("b", NodeContext::literal(Kind::Int, json!(1)))],
        kinds,
    );
    let found = cx.write_generic("math.multiply", &[], vec![("a", found), ("b", some)], kinds);
    let found = cx.write_generic("math.maximum", &[], vec![("a", found), ("b", zero)], kinds);
    cx.give("First Found", &found);
    cx.give("Count", &count);
    Ok(())
}

fn matches(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let ty = match &*menu(cx, "Operation", "Starts With")? {
        "Starts With" => "string.starts_with",
        "Ends With" => "string.ends_with",
        "Contains" => "string.contains",
        _ => return Err(cx.unknown("Operation")),
    };
    let inputs = vec![("text", string(cx, "String")?), ("part", string(cx, "Key")?)];
    give(cx, ty, inputs, "Result", Kind::Boolean);
    Ok(())
}

fn from_number(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let source = match cx.text("data_type", "FLOAT") {
        "FLOAT" => {
            let number = cx.input("Value", Kind::Value)?;
            let decimals = cx.input("Decimals", Kind::Int)?;
            let none = NodeContext::literal(Kind::Int, json!(0));
            let inputs = vec![("a", decimals), ("b", none)];
            let decimals = cx.write_generic("math.maximum", &[], inputs, (Kind::Int, Kind::Int));
            let inputs = vec![("number", number), ("decimals", decimals)];
            cx.write("string.from_number", &[], inputs, Kind::String)
        }
        "INT" => {
            let number = cx.input("Value", Kind::Int)?;
            let base = cx.input_or("Base", Kind::Int, json!(10))?;
            let digits = cx.input_or("Padding", Kind::Int, json!(0))?;
            let inputs = vec![("number", number), ("base", base), ("digits", digits)];
            cx.write("string.from_integer", &[], inputs, Kind::String)
        }
        _ => return Err(cx.unknown("data_type")),
    };
    cx.give("String", &source);
    Ok(())
}

fn to_number(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let text = string(cx, "String")?;
    let (ty, kind, mut inputs) = match cx.text("data_type", "FLOAT") {
        "FLOAT" => ("blender.string_to_float", Kind::Value, vec![]),
        "INT" => {
            let base = cx.input_or("Base", Kind::Int, json!(10))?;
            ("blender.string_to_integer", Kind::Int, vec![("base", base)])
        }
        _ => return Err(cx.unknown("data_type")),
    };
    inputs.push(("text", text));
    let name = cx.write_many(ty, &[], inputs);
    cx.give_part("Value", kind, &name, "value");
    cx.give_part("Length", Kind::Int, &name, "length");
    Ok(())
}

/// The sockets behind the format, each with the name of its item.
fn format(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let names =
        cx.node.props.get("format_items").and_then(Json::as_array).cloned().unwrap_or_default();
    let format = string(cx, "Format")?;
    let values: Vec<Source> = cx
        .sockets()
        .filter(|(socket, _)| socket.id != "Format")
        .filter_map(|(_, source)| source.cloned())
        .collect();
    if values.len() != names.len() {
        return Err(cx.unknown("format_items"));
    }
    let sockets: Vec<String> = (0..values.len()).map(|i| format!("value_{i}")).collect();
    let mut inputs = vec![("format", format)];
    for (socket, value) in sockets.iter().zip(values) {
        // The type of a literal is that of its socket.
        inputs.push((socket, cx.linked(value)));
    }
    let set = [("names", json!(names)), ("otherwise", json!("empty"))];
    let source = cx.write("string.format", &set, inputs, Kind::String);
    cx.give("String", &source);
    Ok(())
}

fn join(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let delimiter = string(cx, "Delimiter")?;
    let parts: Vec<Source> = cx
        .sockets()
        .filter(|(socket, _)| socket.id == "Strings")
        .filter_map(|(_, source)| source.cloned())
        .collect();
    let mut texts = Vec::new();
    for (i, part) in parts.into_iter().enumerate() {
        if i > 0 {
            texts.push(delimiter.clone());
        }
        texts.push(part);
    }
    let source = cx.write_several("string.concat", ("texts[]", texts), Kind::String);
    cx.give("String", &source);
    Ok(())
}
