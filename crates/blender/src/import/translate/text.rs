//! String nodes.

use serde_json::{Value as Json, json};

use super::super::error::ImportError;
use super::super::kind::Kind;
use super::super::node::NodeContext;
use super::super::writer::Source;
use super::logic::switched;
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
        "FunctionNodeSplitString" => split(cx)?,
        "GeometryNodeListLength" if cx.text("data_type", "FLOAT") == "STRING" => {
            let inputs = vec![("list", cx.input("List", Kind::Strings)?)];
            give(cx, "list.length", inputs, "Length", Kind::Int);
        }
        // Blender 5.0 uses a different name for the type than later releases.
        "GeometryNodeListGetItem"
            if cx.text("socket_type", cx.text("data_type", "FLOAT")) == "STRING" =>
        {
            item(cx)?;
        }
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

/// The meaning of the selected entry of a menu. An entry unknown at import is compared with the
/// names; a menu without a value stands for its first entry.
fn by_menu(
    cx: &mut NodeContext<'_>,
    role: &str,
    names: &[&str],
    kind: Kind,
    mut entry: impl FnMut(&mut NodeContext<'_>, usize) -> Source,
) -> Result<Source, ImportError> {
    let menu = cx.input_or(role, Kind::Menu, json!(names[0]))?;
    if let Source::Literal(_, chosen) = &menu {
        let at = names.iter().position(|name| chosen == name);
        return Ok(entry(cx, at.ok_or_else(|| cx.unknown(role))?));
    }
    let mut found = entry(cx, 0);
    for (at, name) in names.iter().enumerate().skip(1) {
        let name = NodeContext::literal(Kind::String, *name);
        let inputs = vec![("a", menu.clone()), ("b", name)];
        let is_chosen = cx.write("string.equal", &[], inputs, Kind::Boolean);
        let arm = entry(cx, at);
        found = switched(cx, is_chosen, vec![("false", found), ("true", arm)], kind);
    }
    Ok(found)
}

fn case(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let text = string(cx, "String")?;
    let source = by_menu(cx, "Case", &["Uppercase", "Lowercase"], Kind::String, |cx, at| {
        // Only ASCII letters change.
        let ty = ["string.upper", "string.lower"][at];
        cx.write(ty, &[("letters", json!("ascii"))], vec![("text", text.clone())], Kind::String)
    })?;
    cx.give("String", &source);
    Ok(())
}

/// The string changed if a flag is set; both cases are written if the flag is unknown at import.
fn by_flag(
    cx: &mut NodeContext<'_>,
    flag: &Source,
    mut make: impl FnMut(&mut NodeContext<'_>, bool) -> Source,
) -> Source {
    if let Source::Literal(_, known) = flag {
        return make(cx, known == &json!(true));
    }
    let arms = vec![("false", make(cx, false)), ("true", make(cx, true))];
    switched(cx, flag.clone(), arms, Kind::String)
}

fn trim(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let text = string(cx, "String")?;
    let characters = string(cx, "Characters")?;
    let flag = |cx: &mut NodeContext<'_>, role| cx.input_or(role, Kind::Boolean, json!(true));
    let (white, start, end) = (flag(cx, "Whitespace")?, flag(cx, "Start")?, flag(cx, "End")?);
    let trimmed = |cx: &mut NodeContext<'_>, text: Source, side: &str, is_wanted: &Source| {
        by_flag(cx, is_wanted, |cx, is_wanted| {
            if !is_wanted {
                return text.clone();
            }
            by_flag(cx, &white, |cx, white| {
                let set = [("side", json!(side)), ("white_space", json!(white))];
                let inputs = vec![("text", text.clone()), ("characters", characters.clone())];
                cx.write("string.trim", &set, inputs, Kind::String)
            })
        })
    };
    let always = NodeContext::literal(Kind::Boolean, true);
    let source = if start == always && end == always {
        trimmed(cx, text.clone(), "both", &always)
    } else {
        let source = trimmed(cx, text.clone(), "start", &start);
        trimmed(cx, source, "end", &end)
    };
    // A string that would become empty is not changed.
    let nothing = NodeContext::literal(Kind::String, json!(""));
    let inputs = vec![("a", source.clone()), ("b", nothing)];
    let is_gone = cx.write("string.equal", &[], inputs, Kind::Boolean);
    let source = switched(cx, is_gone, vec![("false", source), ("true", text)], Kind::String);
    cx.give("String", &source);
    Ok(())
}

fn find(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let inputs = vec![("text", string(cx, "String")?), ("part", string(cx, "Search")?)];
    let count = cx.write("string.count", &[], inputs.clone(), Kind::Int);
    let found = by_menu(cx, "Mode", &["From Start", "From End"], Kind::Int, |cx, at| {
        cx.write(["string.find", "string.find_last"][at], &[], inputs.clone(), Kind::Int)
    })?;
    // The position of a string that is not found is 0.
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
    let inputs = vec![("text", string(cx, "String")?), ("part", string(cx, "Key")?)];
    let names = ["Starts With", "Ends With", "Contains"];
    let source = by_menu(cx, "Operation", &names, Kind::Boolean, |cx, at| {
        let ty = ["string.starts_with", "string.ends_with", "string.contains"][at];
        cx.write(ty, &[], inputs.clone(), Kind::Boolean)
    })?;
    cx.give("Result", &source);
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

/// The sockets after the format, each with the name of its item.
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

fn split(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let (text, separator) = (string(cx, "String")?, string(cx, "Separator")?);
    let nothing = NodeContext::literal(Kind::String, "");
    // Without a separator, the string is the only part.
    let whole = |cx: &mut NodeContext<'_>| {
        let text = cx.linked(text.clone());
        cx.write_several("list.of", ("items[]", vec![text]), Kind::Strings)
    };
    let parts = |cx: &mut NodeContext<'_>| {
        let inputs = vec![("text", text.clone()), ("separator", separator.clone())];
        cx.write("string.split", &[], inputs, Kind::Strings)
    };
    let list = if separator == nothing {
        whole(cx)
    } else if separator.is_literal() {
        parts(cx)
    } else {
        let inputs = vec![("a", separator.clone()), ("b", nothing)];
        let none = cx.write("string.equal", &[], inputs, Kind::Boolean);
        let arms = vec![("false", parts(cx)), ("true", whole(cx))];
        switched(cx, none, arms, Kind::Strings)
    };
    cx.give("List", &list);
    Ok(())
}

/// One item of a list; the empty string past its ends.
fn item(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let list = cx.input("List", Kind::Strings)?;
    let index = cx.input("Index", Kind::Int)?;
    let inputs = vec![("list", list.clone())];
    let length = cx.write("list.length", &[], inputs, Kind::Int);
    let zero = NodeContext::literal(Kind::Int, json!(0));
    let kinds = (Kind::Int, Kind::Boolean);
    let inputs = vec![("a", index.clone()), ("b", zero)];
    let is_before = cx.write_generic("compare.less", &[], inputs, kinds);
    let inputs = vec![("a", index.clone()), ("b", length)];
    let is_behind = cx.write_generic("compare.greater_equal", &[], inputs, kinds);
    let inputs = vec![("a", is_before), ("b", is_behind)];
    let is_outside = cx.write("boolean.or", &[], inputs, Kind::Boolean);
    let clamp = [("outside", json!("clamp"))];
    let inputs = vec![("list", list), ("index", index)];
    let inside = cx.write("list.get", &clamp, inputs, Kind::String);
    let nothing = NodeContext::literal(Kind::String, "");
    let arms = vec![("false", inside), ("true", nothing)];
    let source = switched(cx, is_outside, arms, Kind::String);
    cx.give("Value", &source);
    Ok(())
}
