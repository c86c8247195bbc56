//! A number or constant that is a whole formula has the precision of the socket that reads it.

use std::f64::consts::{E, PI, TAU};

use millstream::document::{load, save};
use millstream::evaluate::EVALUATORS;
use millstream::{Edit, Engine, Limits, Request, Session};
use serde_json::{Value as Json, json};

/// A constant as formulas of `f32` have it.
fn rounded(number: f64) -> f64 {
    f64::from(number as f32)
}

#[test]
fn constants_have_the_precision_of_their_readers() {
    let text = "input xs: list<f64> = [1]
input w: f64 = 1
output output_pi: f64 = pi
output literal: f64 = (0.1)
output group_pi: f64 = half(pi)
output group_tau: f64 = half(-tau)
output named: f64 = half(x: (e))
output nested: f64 = 2 * half(pi)
output zone: f64 = repeat half(pi, count: 1).x
output listed: f64 = list.get(list.concat([xs, pi]), 1)
output added: f64 = math.add(w, pi)
output converted: f64 = convert(pi, to = \"f64\") - 0
output inner: f64 = inside()
k = pi
output both: f64 = k
output narrow: f32 = k
output sum: f64 = k + k
output sine: f64 = sin(k)

group half(x: f64) -> x: f64 {
  x = x / 2
}

group inside() -> y: f64 = tau {
}
";
    let expected = [
        ("output_pi", PI),
        ("literal", 0.1),
        ("group_pi", PI / 2.0),
        ("group_tau", -TAU / 2.0),
        ("named", E / 2.0),
        ("nested", PI),
        ("zone", PI / 2.0),
        ("listed", PI),
        ("added", 1.0 + PI),
        ("converted", PI),
        ("inner", TAU),
        ("both", PI),
        // Formulas of `f32` keep their bits.
        ("sum", rounded(2.0 * rounded(PI))),
        ("sine", f64::from(millstream_base::num::sin(PI as f32))),
    ];
    let engine = Engine::new();
    let program = engine.load(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    for row in EVALUATORS.iter().flat_map(|row| row.settings) {
        let answer = program.run_with(&mut *row(), &Request::new()).expect("it runs");
        for (name, value) in expected {
            assert_eq!(answer.value::<f64>(name), Some(value), "{name}");
        }
        assert_eq!(answer.value::<f32>("narrow"), Some(PI as f32));
    }
    let mut session = Session::open(&engine, text.as_bytes()).expect("it opens");
    for (name, value) in expected {
        assert_eq!(session.value::<f64>(name).expect("it runs"), Some(value), "{name}");
    }
}

/// Values read from the constant `k`.
const READERS: &str = r#"{ "millstream": 2,
    "outputs": { "a": { "type": "f64", "from": "k.value" }, "b": { "type": "f64", "from": "g.y" },
        "c": { "type": "f64", "from": "s.value" }, "d": { "type": "f64", "from": "v.value" } },
    "nodes": {
        "k": { "type": "math.expression", "set": { "text": "pi" } },
        "w": { "type": "convert", "set": { "to": "f64" }, "in": { "x": 1 } },
        "g": { "type": "group", "group": "pass", "in": { "x": { "from": "k.value" } } },
        "s": { "type": "math.multiply", "in": { "a": { "from": "w.value" }, "b": { "from": "k.value" } } },
        "v": { "type": "convert", "set": { "to": "f64" }, "in": { "x": { "from": "k.value" } } } },
    "groups": { "pass": { "inputs": { "x": { "type": "f64" } },
        "outputs": { "y": { "type": "f64", "input": "x" } }, "nodes": {} } } }"#;

#[test]
fn sessions_follow_edits_of_constants() {
    let mut session = Session::open(&Engine::new(), READERS.as_bytes()).expect("it opens");
    let check = |session: &mut Session, value: f64, when: &str| {
        for name in ["a", "b", "c", "d"] {
            let found = session.value::<f64>(name).expect("it runs");
            assert_eq!(found, Some(value), "{name} {when}");
        }
        let fresh = Engine::new().load(save(session.document()).as_bytes()).expect("it loads");
        let answer = fresh.run(&Request::new()).expect("it runs");
        assert_eq!(answer.value::<f64>("b"), Some(value), "{when}");
    };
    let edit = |edit: Json| -> Edit { serde_json::from_value(edit).expect("an edit") };
    let set =
        |to: &str| edit(json!({ "edit": "set_setting", "node": "k", "setting": "text", "to": to }));
    check(&mut session, PI, "at first");
    // The constant of `f32` is the same number.
    let steps = [
        (format!("{}", rounded(PI)), rounded(PI)),
        ("pi".to_owned(), PI),
        ("f32(pi)".to_owned(), rounded(PI)),
        ("e".to_owned(), E),
        ("2 * e".to_owned(), rounded(2.0 * rounded(E))),
        ("-tau".to_owned(), -TAU),
    ];
    for (text, value) in &steps {
        session.edit(&set(text)).expect("it fits");
        check(&mut session, *value, text);
        session.settle();
        check(&mut session, *value, text);
    }
    session.edit(&edit(json!({ "edit": "ungroup", "node": "g" }))).expect("it fits");
    check(&mut session, -TAU, "without the group");
    for nodes in [["k", "s"], ["w", "s"], ["k", "v"], ["s", "v"]] {
        let group = json!({ "edit": "group", "nodes": nodes, "name": "new" });
        session.edit(&edit(group)).expect("it fits");
        check(&mut session, -TAU, &format!("{nodes:?} in a group"));
        session.edit(&edit(json!({ "edit": "ungroup", "node": "new" }))).expect("it fits");
        check(&mut session, -TAU, &format!("{nodes:?} out of the group"));
        assert!(session.undo() && session.undo());
    }
    session.edit(&edit(json!({ "edit": "mute", "node": "k", "muted": true }))).expect("it fits");
    check(&mut session, 0.0, "muted");
}

#[test]
fn documents_of_format_1_keep_the_bits_of_constants() {
    let text = READERS.replace("\"millstream\": 2", "\"millstream\": 1");
    let engine = Engine::new();
    let upgraded = engine.load(text.as_bytes()).expect("it loads");
    let saved = save(upgraded.document());
    assert!(saved.contains("f32(pi)"), "{saved}");
    let again = engine.load(saved.as_bytes()).expect("it loads");
    let (plain, _) = load(text.as_bytes(), &Limits::default());
    let plain = engine.compile(plain.expect("it loads")).expect("it compiles");
    for program in [upgraded, again, plain] {
        let answer = program.run(&Request::new()).expect("it runs");
        for name in ["a", "b", "c", "d"] {
            assert_eq!(answer.value::<f64>(name), Some(rounded(PI)), "{name}");
        }
    }
}

#[test]
fn numbers_are_written_beside_linked_lists() {
    let text = "input li: list<i64> = [5, 9007199254740993]
input lf: list<f64> = [0.5]
input n: i64 = 3
input words: list<string> = [\"a\"]
output last: list<i64> = list.concat([li, 9007199254740993])
output first: list<f64> = list.concat([0.1, lf])
output mixed: list<f64> = list.concat([n, 1, lf, 2.5])
output text: list<string> = list.concat([words, \"b\"])
output single: list<i64> = list.concat([n, 4])
output lists: list<i64> = list.concat([li, [4]])
";
    let expected = [
        ("last", "[5, 9007199254740993, 9007199254740993]"),
        ("first", "[0.1, 0.5]"),
        ("mixed", "[3.0, 1.0, 0.5, 2.5]"),
        ("text", "[\"a\", \"b\"]"),
        ("single", "[3, 4]"),
        ("lists", "[5, 9007199254740993, 4]"),
    ];
    let engine = Engine::new();
    let program = engine.load(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let answer = program.run(&Request::new()).expect("it runs");
    for (name, value) in expected {
        let found = format!("{:?}", answer.output(name).expect("an output").value);
        assert!(found.contains(value), "{name}: {found}");
    }
    let problems = |list: &str| {
        let text =
            format!("input li: list<i64> = [5]\noutput y: list<i64> = list.concat({list})\n");
        engine.load(text.as_bytes()).expect_err("it does not fit").to_string()
    };
    assert!(problems("[li, 1.5]").contains("1.5 is not an i64"), "{}", problems("[li, 1.5]"));
    assert!(problems("[\"x\", li]").contains("\"x\" is not an i64"), "{}", problems("[\"x\", li]"));
    assert!(problems("several [1, 2]").contains("1 is not a list<f32>"));
}
