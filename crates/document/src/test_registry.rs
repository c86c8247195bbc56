//! A few node types for the tests of this crate.

use millstream_base::{Limits, Type};
use millstream_node::{Call, Failure, NodeDef, Registry, SettingKind, SettingValue};
use millstream_node::{
    signature::Among, signature::Default, signature::Signature, signature::Socket,
    signature::SocketType,
};

use crate::checked::Checked;
use crate::{Document, open};
use millstream_base::diagnostics::Diagnostics;

#[expect(clippy::unnecessary_wraps, reason = "the signature is that of functions")]
fn nothing(_: &mut Call<'_>) -> Result<(), Failure> {
    Ok(())
}

/// `math.add`, `math.sum`, `math.sqrt`, `text.join`, `text.length`, `vector.distance`, `data.two`,
/// `list.first`, `math.expression`, `state.last`, and `math.round` of version 2.
pub(crate) fn registry() -> Registry {
    const NUMERIC: Among = Among::These(&Type::NUMERIC);
    let t = SocketType::Generic(0);
    let mut registry = Registry::new();
    registry.register(
        NodeDef::new("math.add", "Sum of two")
            .generic("T", NUMERIC)
            .input_or("a", t, 0.0, "")
            .input_or("b", t, 0.0, "")
            .output("value", t, "")
            .function(nothing),
    );
    registry.register(
        NodeDef::new("math.sum", "Sum of all")
            .generic("T", NUMERIC)
            .input("values", t, "")
            .multiple()
            .output("value", t, "")
            .function(nothing),
    );
    registry.register(
        NodeDef::new("math.sqrt", "Square root")
            .input("x", Type::F32, "")
            .output("value", Type::F32, "")
            .lanewise(|_, x| x[0].sqrt()),
    );
    registry.register(
        NodeDef::new("text.join", "Texts, one after the other")
            .input("texts", Type::STRING, "")
            .multiple()
            .output("value", Type::STRING, "")
            .function(nothing),
    );
    registry.register(
        NodeDef::new("text.length", "Number of characters")
            .input("text", Type::STRING, "")
            .output("value", Type::I32, "")
            .function(nothing),
    );
    registry.register(
        NodeDef::new("vector.distance", "Distance of two points")
            .input("a", Type::VEC3, "")
            .input("b", Type::VEC3, "")
            .output("value", Type::F32, "")
            .function(nothing),
    );
    registry.register(
        NodeDef::new("data.two", "Two outputs")
            .input_or("x", Type::VEC3, Default::Zero, "")
            .output("number", Type::F64, "")
            .output("point", Type::VEC3, "")
            .function(nothing),
    );
    registry.register(
        NodeDef::new("list.first", "First item")
            .generic("T", Among::Any)
            .input("list", SocketType::ListOf(0), "")
            .output("value", t, "")
            .function(nothing),
    );
    registry.register(expression());
    registry.register(last());
    let mut round = NodeDef::new("math.round", "Nearest whole number")
        .setting(
            "mode",
            SettingKind::Choice(&[("even", "ties to even"), ("up", "ties upwards")]),
            Some(SettingValue::Text("even".into())),
            "",
        )
        .input("x", Type::F32, "")
        .output("value", Type::F32, "")
        .function(nothing);
    round.version = 2;
    registry.register(round);
    registry
}

/// A node type whose input is used only in the next tick.
fn last() -> NodeDef {
    let mut last = NodeDef::new("state.last", "The value of the tick before")
        .input_or("value", Type::F32, 0.0, "")
        .output("value", Type::F32, "")
        .function(nothing);
    last.delayed = Some("value");
    last
}

/// A node type whose inputs are the letters in its expression.
fn expression() -> NodeDef {
    NodeDef::new("math.expression", "A formula")
        .setting("text", SettingKind::Text, None, "")
        .sockets_by_settings(|settings| {
            let mut letters: Vec<char> =
                settings.text("text").chars().filter(char::is_ascii_lowercase).collect();
            letters.sort_unstable();
            letters.dedup();
            let socket =
                |letter: char| Socket::new(letter.to_string(), Type::F32.into(), Default::Required);
            let output = millstream_node::signature::OutputSocket::new("value", Type::F32.into());
            Ok(Signature {
                generics: Vec::new(),
                inputs: letters.into_iter().map(socket).collect(),
                outputs: vec![output],
            })
        })
        .function(nothing)
}

/// Loads and checks a text with the registry of the tests.
pub(crate) fn opened(text: &str) -> (Option<(Document, Checked)>, Diagnostics) {
    open(text.as_bytes(), &registry(), None, &[], &Limits::default())
}

/// The problems, one per line: severity, the bytes that they mark, path, message, hint.
pub(crate) fn rendered(text: &str, problems: &Diagnostics) -> String {
    use std::fmt::Write;
    let mut lines = String::new();
    for problem in problems {
        let marked = problem.place.span.map(|span| {
            let bytes = text.as_bytes().get(span.start as usize..span.end as usize);
            String::from_utf8_lossy(bytes.expect("spans lie in the text")).into_owned()
        });
        let severity = format!("{:?}", problem.severity).to_lowercase();
        let code = &problem.code;
        writeln!(lines, "{severity} {code} at {}", marked.unwrap_or_default()).unwrap();
        writeln!(lines, "    {problem}").unwrap();
    }
    lines
}
