//! Boolean Math and the switches.

use serde_json::{Value as Json, json};

use super::super::error::ImportError;
use super::super::kind::Kind;
use super::super::node::NodeContext;
use super::super::writer::Source;

pub(super) fn boolean(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let ty = match cx.text("operation", "AND") {
        "AND" => "boolean.and",
        "OR" => "boolean.or",
        "NOT" => "boolean.not",
        "NAND" => "boolean.nand",
        "NOR" => "boolean.nor",
        "XNOR" => "boolean.xnor",
        "XOR" => "boolean.xor",
        "IMPLY" => "boolean.imply",
        // "Subtract" in the menu: the first but not the second.
        "NIMPLY" => "boolean.and",
        _ => return Err(cx.unknown("operation")),
    };
    let a = cx.input("Boolean", Kind::Boolean)?;
    let inputs = match cx.text("operation", "AND") {
        "NOT" => vec![("x", a)],
        "NIMPLY" => {
            let b = cx.input("Boolean_001", Kind::Boolean)?;
            let not_b = cx.write("boolean.not", &[], vec![("x", b)], Kind::Boolean);
            vec![("a", a), ("b", not_b)]
        }
        _ => vec![("a", a), ("b", cx.input("Boolean_001", Kind::Boolean)?)],
    };
    let source = cx.write(ty, &[], inputs, Kind::Boolean);
    cx.give("Boolean", &source);
    Ok(())
}

pub(super) fn switch(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let kind = cx.output_kind()?;
    let condition = cx.input("Switch", Kind::Boolean)?;
    let inputs = vec![("false", cx.input("False", kind)?), ("true", cx.input("True", kind)?)];
    let source = switched(cx, condition, inputs, kind);
    cx.give("Output", &source);
    Ok(())
}

pub(super) fn switched(
    cx: &mut NodeContext<'_>,
    condition: Source,
    arms: Vec<(&'static str, Source)>,
    kind: Kind,
) -> Source {
    // If the arms are booleans, the condition must not be mistaken for one.
    let mut arms = arms;
    if arms.iter().all(|(_, arm)| arm.is_literal()) {
        arms[0].1 = cx.write(
            "blender.value",
            &[("type", json!(kind.ty().name()))],
            vec![("value", arms[0].1.clone())],
            kind,
        );
    }
    let inputs = std::iter::once(("condition", condition)).chain(arms).collect();
    cx.write("control.switch", &[], inputs, kind)
}

/// The source, or the value of an empty socket.
pub(super) fn enable(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let kind = cx.output_kind()?;
    let condition = cx.input("Enable", Kind::Boolean)?;
    let missing = Source::Literal(kind, kind.missing());
    let inputs = vec![("false", missing), ("true", cx.input("Value", kind)?)];
    let source = switched(cx, condition, inputs, kind);
    cx.give("Value", &source);
    Ok(())
}

/// The sources of `Item_0`, `Item_1`, ..., in order.
fn items(cx: &mut NodeContext<'_>, kind: Kind) -> Result<Vec<Source>, ImportError> {
    let found: Vec<Source> = cx
        .sockets()
        .filter(|(socket, _)| socket.id.starts_with("Item_") || socket.id.starts_with("Item "))
        .filter_map(|(_, source)| source.cloned())
        .collect();
    found.into_iter().map(|source| cx.as_kind(source, kind)).collect()
}

pub(super) fn index_switch(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let kind = cx.output_kind()?;
    let index = cx.input("Index", Kind::Int)?;
    let items = items(cx, kind)?;
    if let Source::Literal(_, index) = &index {
        let at = index.as_u64().and_then(|index| usize::try_from(index).ok());
        // If the index is the same for all elements, a missing matrix is the identity.
        let chosen = at.and_then(|at| items.get(at).cloned());
        cx.give("Output", &chosen.unwrap_or(Source::Literal(kind, kind.missing())));
        return Ok(());
    }
    let n = items.len();
    if n == 0 {
        cx.give("Output", &Source::Literal(kind, kind.nothing()));
        return Ok(());
    }
    // An index past the last item gives zero, so zero comes after the items.
    let int = |x: usize| NodeContext::literal(Kind::Int, json!(x));
    let kinds = (Kind::Int, Kind::Boolean);
    let inputs = vec![("a", index.clone()), ("b", int(0))];
    let below = cx.write_generic("compare.less", &[], inputs, kinds);
    let arms = vec![("false", index), ("true", int(n))];
    let index = switched(cx, below, arms, Kind::Int);
    let zero = Source::Literal(kind, kind.nothing());
    let source = cx.choose(index, items.into_iter().chain([zero]).collect(), kind);
    cx.give("Output", &source);
    Ok(())
}

/// A menu known at import selects its entry directly; any other is compared with the names of the
/// entries.
pub(super) fn menu_switch(cx: &mut NodeContext<'_>) -> Result<(), ImportError> {
    let menu = cx.input("Menu", Kind::Menu)?;
    let kind = cx.output_kind()?;
    let items = items(cx, kind)?;
    let names: Vec<Json> =
        cx.node.props.get("enum_items").and_then(Json::as_array).cloned().unwrap_or_default();
    if names.len() != items.len() {
        return Err(cx.unknown("enum_items"));
    }
    let is_chosen: Vec<Source> = match &menu {
        Source::Literal(_, chosen) if names.contains(chosen) => {
            names.iter().map(|name| NodeContext::literal(Kind::Boolean, name == chosen)).collect()
        }
        // The entry was removed.
        Source::Literal(..) => vec![NodeContext::literal(Kind::Boolean, false); names.len()],
        Source::Input(..) | Source::Link(..) => {
            let equal = |cx: &mut NodeContext<'_>, name: Json| {
                let name = NodeContext::literal(Kind::String, name);
                let inputs = vec![("a", menu.clone()), ("b", name)];
                cx.write("string.equal", &[], inputs, Kind::Boolean)
            };
            let mut each: Vec<Source> = names.into_iter().map(|name| equal(cx, name)).collect();
            // A menu without a value stands for its first entry.
            if let Some(first) = each.first_mut() {
                let inputs = vec![("a", first.clone()), ("b", equal(cx, json!("")))];
                *first = cx.write("boolean.or", &[], inputs, Kind::Boolean);
            }
            each
        }
    };
    // From the last entry to the first, so that the first is compared first.
    let zero = if menu.is_literal() { kind.missing() } else { kind.nothing() };
    let mut chosen = Source::Literal(kind, zero);
    for (is_chosen, item) in is_chosen.iter().zip(items).rev() {
        chosen = match is_chosen {
            Source::Literal(_, Json::Bool(true)) => item,
            Source::Literal(..) => chosen,
            Source::Input(..) | Source::Link(..) => {
                switched(cx, is_chosen.clone(), vec![("false", chosen), ("true", item)], kind)
            }
        };
    }
    // After the result, each entry has an output that says whether it is selected.
    let mut given = std::iter::once(chosen).chain(is_chosen);
    for output in &cx.node.outputs {
        if let Some(source) = given.next() {
            cx.give_exactly(&output.id, source);
        }
    }
    Ok(())
}
