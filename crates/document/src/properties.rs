//! Properties of all documents: a saved document loads again, and no text causes a panic.

use std::sync::Arc;

use millstream_base::Limits;
use millstream_node::Zone;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::load::name_problem;
use crate::model::{
    Document, GroupDef, Input, InputDef, InputValue, Link, Named, Node, NodeKind, OutputDef,
    OutputFrom,
};
use crate::test_registry::registry;
use crate::view::View;
use crate::{check, load, open, save};

pub(crate) const HERON: &str = include_str!("../tests/fixtures/heron.mill.json");
pub(crate) const FORMAT_0: &str = include_str!("../tests/fixtures/format_0.mill.json");
pub(crate) const MANY_PARTS: &str = r#"{ "millstream": 2, "fps": 30, "start_frame": -2,
    "inputs": { "l": { "type": "list<f32>", "default": [1, 2] }, "s": { "type": "string", "default": "\u00e9" } },
    "outputs": { "y": { "type": "f64", "from": "sum.value", "unit": "m" }, "s": { "type": "string", "input": "s" } },
    "nodes": {
        "first": { "type": "list.first", "in": { "list": { "input": "l" } } },
        "sum": { "type": "math.sum", "in": { "values": [{ "from": "first.value" }, { "value": 2 }, { "from": "g.v" }] } },
        "g": { "type": "group", "group": "inner", "in": { "x": { "from": "first.value" } }, "muted": true },
        "round": { "type": "math.round", "version": 2, "set": { "mode": "up" }, "in": { "x": { "from": "sum.value" } } }
    },
    "groups": { "inner": {
        "inputs": { "x": { "type": "f32", "default": 0.5, "min": 0, "max": 1, "step": 0.1 } },
        "outputs": { "v": { "type": "f32", "from": "o.value" } },
        "nodes": { "o": { "type": "group", "group": "other", "in": { "x": { "input": "x" } } } } },
      "other": {
        "inputs": { "x": { "type": "f32" } }, "outputs": { "value": { "type": "f32", "input": "x" } } } } }"#;

fn name() -> impl Strategy<Value = Arc<str>> {
    "[a-z]{1,3}|[ -~&&[^./]]{1,8}|\\PC{1,4}".prop_filter_map("a name", |name| {
        name_problem(&name).is_none().then(|| Arc::from(name.as_str()))
    })
}

pub(crate) fn json_value() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<f64>().prop_filter("JSON can express it", |x| x.is_finite()).prop_map(Json::from),
        "\\PC{0,6}".prop_map(Json::from),
        Just(Json::Null),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let key = prop_oneof!["[a-c]{1,2}", Just("from".to_owned()), Just("value".to_owned())];
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Json::from),
            vec((key, inner), 0..3).prop_map(|entries| Json::Object(entries.into_iter().collect())),
        ]
    })
}

fn source() -> impl Strategy<Value = InputValue> {
    prop_oneof![
        json_value().prop_map(|json| InputValue::Literal(json.into())),
        (name(), name()).prop_map(|(node, output)| InputValue::Link(Link { node, output })),
        name().prop_map(InputValue::Input),
    ]
}

fn input() -> impl Strategy<Value = Input> {
    let several = vec(source().prop_map(Input::from), 1..4).prop_map(InputValue::Several);
    prop_oneof![3 => source(), 1 => several].prop_map(Input::from)
}

fn node() -> impl Strategy<Value = Node> {
    let kind = prop_oneof![
        "[a-z]{1,4}\\.[a-z]{1,4}".prop_map(|ty| NodeKind::Type(ty.into())),
        name().prop_map(NodeKind::Group),
        (prop::sample::select(&Zone::ALL[..]), name())
            .prop_map(|(zone, name)| NodeKind::Zone(zone, name)),
        name().prop_map(NodeKind::Closure),
    ];
    let inputs = vec((name(), input()), 0..4);
    let set = vec((name(), json_value().prop_map(Into::into)), 0..3);
    (kind, inputs, set, any::<bool>(), 1..4_u32).prop_map(|(kind, inputs, set, muted, version)| {
        let (inputs, set) = (inputs.into_iter().collect(), set.into_iter().collect());
        Node { set, inputs, muted, version, ..Node::new(kind) }
    })
}

fn number() -> impl Strategy<Value = Option<f64>> {
    option::of(any::<f64>().prop_filter("JSON can express it", |x| x.is_finite()))
}

fn input_def() -> impl Strategy<Value = InputDef> {
    let texts = (option::of(name()), option::of("\\PC{0,9}".prop_map(Arc::from)));
    (name(), option::of(json_value()), number(), number(), number(), texts).prop_map(
        |(ty, default, min, max, step, (unit, about))| InputDef {
            default,
            min,
            max,
            step,
            about,
            unit,
            ..InputDef::new(ty)
        },
    )
}

fn output_def() -> impl Strategy<Value = OutputDef> {
    let from = prop_oneof![
        (name(), name()).prop_map(|(node, output)| OutputFrom::Link(Link { node, output })),
        name().prop_map(OutputFrom::Input),
    ];
    (name(), from, option::of(name()))
        .prop_map(|(ty, from, unit)| OutputDef { unit, ..OutputDef::new(ty, from) })
}

fn named<T: std::fmt::Debug>(thing: impl Strategy<Value = T>) -> impl Strategy<Value = Named<T>> {
    vec((name(), thing), 0..4).prop_map(|things| things.into_iter().collect())
}

fn group() -> impl Strategy<Value = GroupDef> {
    (named(input_def()), named(output_def()), named(node()), option::of(name())).prop_map(
        |(inputs, outputs, nodes, about)| GroupDef {
            inputs,
            outputs,
            nodes,
            about,
            ..GroupDef::default()
        },
    )
}

pub(crate) fn document() -> impl Strategy<Value = Document> {
    let head = ("\\PC{0,9}", 0.1..1e3_f64, any::<i64>(), option::of(name()), json_value());
    (head, group(), named(group())).prop_map(
        |((name, fps, start_frame, schema, view), body, groups)| Document {
            format: crate::model::FORMAT_VERSION,
            schema,
            fps,
            start_frame,
            inputs: body.inputs,
            outputs: body.outputs,
            nodes: body.nodes,
            groups,
            view: View::from_json(&view),
            ..Document::new(name)
        },
    )
}

/// A change of a text.
#[derive(Clone, Debug)]
enum Edit {
    Set(prop::sample::Index, u8),
    Remove(prop::sample::Index, usize),
    Insert(prop::sample::Index, &'static str),
    /// Replaces one JSON value by another.
    Replace(prop::sample::Index, prop::sample::Index),
    /// Replaces a value by one of another kind.
    Spoil(prop::sample::Index, usize),
    Rename(prop::sample::Index, prop::sample::Index),
}

fn edit() -> impl Strategy<Value = Edit> {
    use prop::sample::Index;
    const PIECES: [&str; 12] =
        ["{", "}", "[", "]", "\"", ",", ":", "\\u", "1e999", "\u{e9}", "null", "\"from\""];
    prop_oneof![
        1 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Edit::Set(at, byte)),
        1 => (any::<Index>(), 1..20_usize).prop_map(|(at, n)| Edit::Remove(at, n)),
        1 => (any::<Index>(), prop::sample::select(&PIECES[..])).prop_map(|(at, s)| Edit::Insert(at, s)),
        6 => (any::<Index>(), any::<Index>()).prop_map(|(to, from)| Edit::Replace(to, from)),
        3 => (any::<Index>(), 0..8_usize).prop_map(|(at, kind)| Edit::Spoil(at, kind)),
        3 => (any::<Index>(), any::<Index>()).prop_map(|(at, name)| Edit::Rename(at, name)),
    ]
}

/// The pointers to all values of a JSON tree.
fn pointers(json: &Json, prefix: &str, all: &mut Vec<String>) {
    all.push(prefix.to_owned());
    let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
    match json {
        Json::Object(entries) => {
            for (key, value) in entries {
                pointers(value, &format!("{prefix}/{}", escaped(key)), all);
            }
        }
        Json::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                pointers(item, &format!("{prefix}/{i}"), all);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

/// Applies an edit of values; text that is not JSON stays unchanged.
fn edit_tree(text: &[u8], edit: &Edit) -> Option<Vec<u8>> {
    let mut json: Json = serde_json::from_slice(text).ok()?;
    let mut all = Vec::new();
    pointers(&json, "", &mut all);
    match edit {
        Edit::Replace(to, from) => {
            let value = json.pointer(from.get(&all).as_str())?.clone();
            *json.pointer_mut(to.get(&all).as_str())? = value;
        }
        Edit::Spoil(at, kind) => {
            let values =
                [json!(null), json!([]), json!({}), json!(1), json!("x"), json!(true), json!(-0.5)];
            let deep = (0..50).fold(json!(1), |inner, _| json!([inner]));
            *json.pointer_mut(at.get(&all).as_str())? = values.get(*kind).cloned().unwrap_or(deep);
        }
        Edit::Rename(at, name) => {
            let new = name.get(&all).rsplit('/').next()?.to_owned();
            let (parent, old) = at.get(&all).rsplit_once('/')?;
            let entries = json.pointer_mut(parent)?.as_object_mut()?;
            let value = entries.remove(old)?;
            entries.insert(new, value);
        }
        Edit::Set(..) | Edit::Remove(..) | Edit::Insert(..) => return None,
    }
    Some(json.to_string().into_bytes())
}

fn edited(mut text: Vec<u8>, edit: &Edit) -> Vec<u8> {
    if text.is_empty() {
        return text;
    }
    match edit {
        Edit::Set(at, byte) => {
            let at = at.index(text.len());
            text[at] = *byte;
        }
        Edit::Remove(at, n) => {
            let at = at.index(text.len());
            let end = (at + n).min(text.len());
            text.drain(at..end);
        }
        Edit::Insert(at, piece) => {
            let at = at.index(text.len());
            text.splice(at..at, piece.bytes());
        }
        Edit::Replace(..) | Edit::Spoil(..) | Edit::Rename(..) => {
            return edit_tree(&text, edit).unwrap_or(text);
        }
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_saved_loads_again(document in document()) {
        let text = save(&document);
        let (again, problems) = load(text.as_bytes(), &Limits::default());
        prop_assert!(problems.is_empty(), "{problems}\n{text}");
        let again = again.expect("there are no problems");
        prop_assert_eq!(&again, &document);
        prop_assert_eq!(save(&again), text);
    }

    #[test]
    fn checking_any_document_ends(document in document()) {
        let (checked, problems) = check(&document, &registry(), &Limits::default());
        prop_assert_eq!(checked.is_some(), !problems.has_errors());
    }

    #[test]
    fn edited_documents_are_read_or_refused(
        start in prop::sample::select(vec![HERON, FORMAT_0, MANY_PARTS]),
        edits in vec(edit(), 1..6),
    ) {
        let text = edits.iter().fold(start.as_bytes().to_vec(), edited);
        let (opened, problems) = open(&text, &registry(), None, &[], &Limits::default());
        prop_assert_eq!(opened.is_some(), !problems.has_errors());
        for problem in &problems {
            if let Some(span) = problem.place.span {
                prop_assert!(span.start < span.end && span.end as usize <= text.len());
            }
        }
    }

    #[test]
    fn noise_is_refused(text in vec(any::<u8>(), 0..200), start in "(\\{\"millstream\":2,)?") {
        let text = [start.as_bytes(), &text].concat();
        let (opened, problems) = open(&text, &registry(), None, &[], &Limits::default());
        prop_assert_eq!(opened.is_some(), !problems.has_errors());
    }
}

#[test]
fn the_documents_to_edit_are_valid() {
    for text in [HERON, FORMAT_0, MANY_PARTS] {
        let (opened, problems) = open(text.as_bytes(), &registry(), None, &[], &Limits::default());
        assert!(opened.is_some(), "{problems}");
    }
}
