//! Properties of all documents and texts: nothing is lost in conversion to text and back,
//! formatting is idempotent and keeps the document, and no text causes a panic.

use std::sync::Arc;

use millstream_document::model::{
    Document, GroupDef, Input, InputDef, InputValue, Link, Lock, Named, Node, NodeKind, OutputDef,
    OutputFrom, UseDef,
};
use millstream_document::{View, name_problem, save};
use millstream_node::Zone;
use millstream_text::{format, load_text};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::Value as Json;

use crate::{REGISTRY, converted, document, formatted, limits};

/// Few names, so that they collide; some have a meaning, and some need quotes.
fn name() -> impl Strategy<Value = Arc<str>> {
    const SOME: [&str; 25] = [
        "a", "b", "c", "x", "y", "a_x", "a_1", "b_a", "pi", "e", "sin", "sqrt", "true", "null",
        "input", "node", "muted", "several", "repeat", "for_each", "group", "where", "in", "value",
        "water",
    ];
    let any = "[a-z]{1,3}|[ -~&&[^./]]{1,8}|\\PC{1,4}";
    let any = any.prop_filter_map("a name", |name| {
        name_problem(&name).is_none().then(|| Arc::from(name.as_str()))
    });
    prop_oneof![6 => prop::sample::select(&SOME[..]).prop_map(Arc::from), 1 => any]
}

/// Any text that sockets, types and groups can have as a name.
fn word() -> impl Strategy<Value = Arc<str>> {
    prop_oneof![8 => name(), 1 => "[ -~]{0,6}|\\PC{0,4}|[\\n\\t\\\\`\"]{1,3}".prop_map(Arc::from)]
}

fn json_value() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        (-3..30_i8).prop_map(Json::from),
        any::<f64>().prop_filter("JSON has it", |x| x.is_finite()).prop_map(Json::from),
        "\\PC{0,6}".prop_map(Json::from),
        Just(Json::Null),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let key = prop_oneof!["[a-c]{1,2}", Just("comments".to_owned()), Just("value".to_owned())];
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Json::from),
            vec((key, inner), 0..3).prop_map(|entries| Json::Object(entries.into_iter().collect())),
        ]
    })
}

fn link() -> impl Strategy<Value = Link> {
    let output = prop_oneof![3 => Just(Arc::from("value")), 1 => name()];
    (name(), output).prop_map(|(node, output)| Link { node, output })
}

fn source() -> impl Strategy<Value = InputValue> {
    prop_oneof![
        1 => json_value().prop_map(|json| InputValue::Literal(json.into())),
        3 => link().prop_map(InputValue::Link),
        2 => word().prop_map(InputValue::Input),
    ]
}

fn input() -> impl Strategy<Value = Input> {
    let several = vec(source().prop_map(Input::from), 1..4).prop_map(InputValue::Several);
    prop_oneof![5 => source(), 1 => several].prop_map(Input::from)
}

/// Formulas with varying spacing, with letters that are names.
fn formula() -> impl Strategy<Value = String> {
    const SOME: [&str; 22] = [
        "a + b",
        "a+b",
        "(a + b) / 2",
        "((a))",
        "a",
        "2",
        "-2",
        "- 2",
        "-a",
        "!a && b",
        "a ? b : c",
        "sin(a)",
        "2 * sin(a) + e",
        "vec3(a, b, c).x",
        "a.x * b.value",
        "noise.perlin(a, seed: 3)",
        "water / sin(a)",
        "a_1 + a_x",
        "x where y",
        "a # b",
        "true",
        "input + node",
    ];
    prop_oneof![6 => prop::sample::select(&SOME[..]).prop_map(str::to_owned), 1 => "[ -~]{0,9}"]
}

fn node() -> impl Strategy<Value = Node> {
    const TYPES: [&str; 6] =
        ["math.add", "math.sqrt", "vector.distance", "mix.clamp", "vector.separate_vec2", "a.b"];
    let kind = prop_oneof![
        4 => prop::sample::select(&TYPES[..]).prop_map(|ty| NodeKind::Type(ty.into())),
        1 => word().prop_filter("not a word of the format", |ty| {
            **ty != *"group" && Zone::named(ty).is_none()
        }).prop_map(NodeKind::Type),
        // JSON reads a group with a dot as a node type.
        1 => word().prop_filter("a group", |name| name.contains('/') || !name.contains('.'))
            .prop_map(NodeKind::Group),
        1 => (prop::sample::select(&Zone::ALL[..]), word()).prop_map(|(zone, name)| NodeKind::Zone(zone, name)),
        1 => Just(NodeKind::Group("water/ring".into())),
    ];
    let socket = prop_oneof![4 => prop::sample::select(&["a", "b", "x", "value"][..]).prop_map(Arc::from), 1 => word()];
    let inputs = vec((socket, input()), 0..4);
    let set = vec((word(), json_value().prop_map(Into::into)), 0..2);
    let version = prop_oneof![5 => Just(1), 1 => 1..4_u32];
    let called = (kind, inputs, set, prop::bool::weighted(0.1), version);
    let called = called.prop_map(|(kind, inputs, set, muted, version)| {
        let (inputs, set) = (inputs.into_iter().collect(), set.into_iter().collect());
        Node { set, inputs, muted, version, ..Node::new(kind) }
    });
    let letters = vec((name(), input()), 0..4);
    let computed = (formula(), letters, any::<bool>()).prop_map(|(text, letters, own)| {
        let mut node = Node::new(NodeKind::Type("math.expression".into()));
        node.set.insert("text", Json::from(text).into());
        node.inputs = letters
            .into_iter()
            .map(|(letter, input)| {
                let value = InputValue::Link(Link::new(Arc::clone(&letter), "value"));
                (letter, if own { Input::from(value) } else { input })
            })
            .collect();
        node
    });
    prop_oneof![3 => called, 2 => computed]
}

fn number() -> impl Strategy<Value = Option<f64>> {
    option::of(any::<f64>().prop_filter("JSON has it", |x| x.is_finite()))
}

fn input_def() -> impl Strategy<Value = InputDef> {
    let ty = prop_oneof![3 => Just(Arc::from("f32")), 1 => Just(Arc::from("list<list<vec3>>")), 1 => word()];
    let texts = (option::of(word()), option::of("\\PC{0,9}".prop_map(Arc::from)));
    (ty, option::of(json_value()), number(), number(), number(), texts).prop_map(
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
        2 => link().prop_map(OutputFrom::Link),
        1 => word().prop_map(OutputFrom::Input),
    ];
    let texts = (option::of(word()), option::of(word()));
    (word(), from, texts).prop_map(|(ty, from, (unit, about))| OutputDef {
        unit,
        about,
        ..OutputDef::new(ty, from)
    })
}

fn named<T: std::fmt::Debug>(thing: impl Strategy<Value = T>) -> impl Strategy<Value = Named<T>> {
    vec((name(), thing), 0..6).prop_map(|things| things.into_iter().collect())
}

fn group() -> impl Strategy<Value = GroupDef> {
    (named(input_def()), named(output_def()), named(node()), option::of(word())).prop_map(
        |(inputs, outputs, nodes, about)| GroupDef {
            inputs,
            outputs,
            nodes,
            about,
            ..GroupDef::default()
        },
    )
}

fn any_document() -> impl Strategy<Value = Document> {
    let head = (word(), 0.1..1e3_f64, any::<i64>(), option::of(word()), option::of(json_value()));
    let lock =
        (any::<u32>(), word()).prop_map(|(format, hash)| Lock { format, hash, ..Lock::default() });
    let uses = (named(word().prop_map(UseDef::new)), named(lock));
    (head, group(), named(group()), 1..3_u32, uses).prop_map(
        |((name, fps, start_frame, schema, view), body, groups, format, (uses, lock))| Document {
            format,
            schema,
            fps,
            start_frame,
            inputs: body.inputs,
            outputs: body.outputs,
            nodes: body.nodes,
            groups,
            uses,
            lock,
            view: view.map_or_else(View::default, |view| View::from_json(&view)),
            ..Document::new(name)
        },
    )
}

/// Uses each group by a zone in one of the bodies before it, so that most are blocks.
fn use_in_zones(document: &mut Document, zones: &[(prop::sample::Index, Zone, u8)]) {
    let names: Vec<Arc<str>> = document.groups.keys().cloned().collect();
    for (i, (name, (body, zone, odd))) in names.iter().zip(zones).enumerate() {
        let group = document.groups.get_mut(name).expect("it is there");
        let mut node = Node::new(NodeKind::Zone(*zone, Arc::clone(name)));
        for (j, (input, def)) in group.inputs.iter_mut().enumerate() {
            def.default = if *odd == 1 && j == 0 { Some(Json::from(1)) } else { None };
            let value = match j % 3 {
                0 => InputValue::Literal(Json::from(j).into()),
                1 => InputValue::Input(Arc::clone(input)),
                _ => InputValue::Link(Link::new("a_x", "value")),
            };
            node.inputs.insert(Arc::clone(input), Input::from(value));
        }
        if *odd > 1 {
            let items: Vec<&str> = group.inputs.keys().step_by(2).map(|name| &**name).collect();
            node.set.insert("items", Json::from(items).into());
            let count = InputValue::Literal(Json::from(3).into());
            node.inputs.insert("count", Input::from(count));
        }
        let at = body.index(i + 1);
        let nodes = match at.checked_sub(1).map(|at| &*names[at]) {
            Some(around) => &mut document.groups.get_mut(around).expect("it is there").nodes,
            None => &mut document.nodes,
        };
        nodes.insert(Arc::from(format!("zone{i}")), node);
    }
}

/// Pieces of texts, most combinations of which are wrong.
fn any_text() -> impl Strategy<Value = String> {
    const PIECES: [&str; 60] = [
        "x",
        "y",
        "a.b",
        "math.add",
        "`q r`",
        "\"s\"",
        "1",
        "-2.5",
        ".5",
        "1e999",
        "=",
        "==",
        "->",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "?",
        "+",
        "*",
        "/",
        "@2",
        ".",
        "\n",
        "\n",
        "\n  ",
        "# c\n",
        " ",
        "input ",
        "output ",
        "group ",
        "use w = \"w\"\n",
        "w/g(",
        "view ",
        "lock ",
        "fps ",
        "name ",
        "millstream 2",
        "where x: ",
        "muted ",
        "repeat ",
        "for_each ",
        "simulate ",
        "repeat(",
        "for_each(",
        "simulate(",
        "x: f32 = ",
        "x: f32 of ",
        ") -> y: f32 {\n",
        "node ",
        "several [",
        "from 0",
        "in m",
        "\u{e9}",
        "\r\n",
        "\t",
    ];
    vec(prop::sample::select(&PIECES[..]), 0..40).prop_map(|pieces| pieces.concat())
}

/// A text with some pieces replaced.
fn edited(text: &str, edits: &[(prop::sample::Index, usize, String)]) -> String {
    let mut text = text.to_owned();
    for (at, n, new) in edits {
        let mut chars = text.char_indices().map(|(at, _)| at);
        let Some(start) = chars.nth(at.index(text.chars().count().max(1))) else { continue };
        let end =
            text[start..].char_indices().map(|(at, _)| start + at).nth(*n).unwrap_or(text.len());
        text.replace_range(start..end, new);
    }
    text
}

/// Checks that reading terminates, and that texts without errors are formatted and converted
/// without loss.
fn is_read_or_refused(text: &str) -> Result<(), TestCaseError> {
    let loaded = load_text(text.as_bytes(), &REGISTRY, &limits());
    for problem in &loaded.problems {
        if let Some(span) = problem.place.span {
            prop_assert!(span.start < span.end, "{problem}");
            prop_assert!(span.end as usize <= text.len() + 1, "{problem} {span:?} {}", text.len());
        }
    }
    let laid_out = format(text.as_bytes(), &limits());
    if loaded.problems.has_errors() {
        return Ok(());
    }
    let read = loaded.document.expect("there are no errors");
    let laid_out = laid_out.expect("there are no errors");
    prop_assert_eq!(formatted(&laid_out), laid_out.clone(), "{}", text);
    prop_assert_eq!(document(&laid_out), read.clone(), "{}\n{}", text, laid_out);
    converted(&read);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn documents_become_text_and_back(document in any_document()) {
        converted(&document);
    }

    #[test]
    fn documents_with_zones_become_text_and_back(
        mut document in any_document(),
        zones in vec((any::<prop::sample::Index>(), prop::sample::select(&Zone::ALL[..]), 0..4_u8), 6),
        edits in vec((any::<prop::sample::Index>(), 0..6_usize, any_text()), 0..2),
    ) {
        use_in_zones(&mut document, &zones);
        let text = converted(&document);
        is_read_or_refused(&edited(&text, &edits))?;
    }

    #[test]
    fn texts_of_pieces_are_read_or_refused(text in any_text()) {
        is_read_or_refused(&text)?;
    }

    #[test]
    fn edited_texts_are_read_or_refused(
        document in any_document(),
        edits in vec((any::<prop::sample::Index>(), 0..6_usize, any_text()), 0..3),
    ) {
        let text = millstream_text::to_text(&document, &REGISTRY);
        is_read_or_refused(&edited(&text, &edits))?;
    }
}

#[test]
fn examples_become_text_and_back() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let schema = std::fs::read_to_string(format!("{root}/../docs/document.schema.json"));
    let schema: Json = serde_json::from_str(&schema.expect("it is there")).expect("it is JSON");
    let schema = jsonschema::validator_for(&schema).expect("it is a schema");
    let mut n = 0;
    for folder in [root.to_owned(), format!("{root}/lib")] {
        for entry in std::fs::read_dir(folder).expect("there are examples") {
            let path = entry.expect("the folder is read").path();
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            if path.to_string_lossy().ends_with(".mill") {
                let read = document(&text);
                assert_eq!(formatted(&text), text, "{}", path.display());
                let json = save(&read);
                assert_eq!(crate::from_json(&json), read);
                let json: Json = serde_json::from_str(&json).expect("it is JSON");
                assert!(schema.is_valid(&json), "{}", path.display());
                converted(&read);
                n += 1;
            } else if path.to_string_lossy().ends_with(".mill.json") {
                converted(&crate::from_json(&text));
                n += 1;
            }
        }
    }
    assert!(n > 9, "{n} examples");
}
