//! The types of generic sockets hold all linked values, and documents of format 1 keep their bits.

use millstream::document::{load, save};
use millstream::{Edit, Engine, Limits, Program, Request, Session, Severity};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

const TYPES: [&str; 5] = ["bool", "i32", "i64", "f32", "f64"];

fn converts(from: &str, to: &str) -> bool {
    match from {
        "bool" => true,
        "i32" => to != "bool",
        "i64" => matches!(to, "i64" | "f64"),
        _ => matches!(to, "f32" | "f64"),
    }
}

/// A node on two earlier values; `None` stands for the literal 3.
#[derive(Clone, Debug)]
struct Op {
    name: &'static str,
    picks: [Option<usize>; 2],
}

fn ops(names: &'static [&'static str]) -> impl Strategy<Value = Vec<Op>> {
    let pick = || prop::option::weighted(0.9, 0_usize..64);
    let op = (prop::sample::select(names), pick(), 0_usize..64)
        .prop_map(|(name, a, b)| Op { name, picks: [a, Some(b)] });
    vec(op, 1..16)
}

/// The document of the nodes, with an output for each of them and these defaults of `inputs`.
fn document(format: u32, inputs: &[Json], ops: &[Op]) -> String {
    let source = |pick: Option<usize>, n: usize| match pick.map(|pick| pick % n) {
        None => json!(3),
        Some(at) if at < TYPES.len() => json!({ "input": TYPES[at] }),
        Some(at) => json!({ "from": format!("n{}.value", at - TYPES.len()) }),
    };
    let nodes = ops.iter().enumerate().map(|(i, op)| {
        let [a, b] = op.picks.map(|pick| source(pick, TYPES.len() + i));
        (format!("n{i}"), json!({ "type": op.name, "in": { "a": a, "b": b } }))
    });
    let nodes: Map<String, Json> = nodes.collect();
    let outputs: Map<String, Json> = (nodes.keys())
        .map(|name| {
            (format!("{name}_out"), json!({ "type": "f64", "from": format!("{name}.value") }))
        })
        .collect();
    let inputs: Map<String, Json> = TYPES
        .iter()
        .zip(inputs)
        .map(|(ty, default)| ((*ty).to_owned(), json!({ "type": ty, "default": default })))
        .collect();
    json!({ "millstream": format, "inputs": inputs, "outputs": outputs, "nodes": nodes })
        .to_string()
}

fn outputs(program: &Program, n: usize) -> Vec<Option<f64>> {
    let answer = program.run(&Request::new()).expect("it runs");
    (0..n).map(|i| answer.value::<f64>(&format!("n{i}_out"))).collect()
}

/// A number with its type, which computes as format 1 did.
#[derive(Clone, Copy, Debug)]
enum Number {
    Bool(bool),
    I32(i32),
    I64(i64),
    F32(f32),
    F64(f64),
}

impl Number {
    fn ty(self) -> &'static str {
        match self {
            Self::Bool(_) => "bool",
            Self::I32(_) => "i32",
            Self::I64(_) => "i64",
            Self::F32(_) => "f32",
            Self::F64(_) => "f64",
        }
    }

    fn whole(self) -> i64 {
        match self {
            Self::Bool(x) => i64::from(x),
            Self::I32(x) => i64::from(x),
            Self::I64(x) => x,
            Self::F32(_) | Self::F64(_) => panic!("no float converts to an integer"),
        }
    }

    fn double(self) -> f64 {
        match self {
            Self::F32(x) => f64::from(x),
            Self::F64(x) => x,
            whole => whole.whole() as f64,
        }
    }

    /// An operation, in the first type to which both sides convert.
    fn combined(name: &str, a: Self, b: Self) -> Self {
        let fits = |to: &&str| converts(a.ty(), to) && converts(b.ty(), to);
        macro_rules! float {
            ($a:expr, $b:expr) => {
                match name {
                    "math.add" => $a + $b,
                    "math.subtract" => $a - $b,
                    _ => $a * $b,
                }
            };
        }
        macro_rules! whole {
            ($a:expr, $b:expr) => {
                match name {
                    "math.add" => $a.wrapping_add($b),
                    "math.subtract" => $a.wrapping_sub($b),
                    _ => $a.wrapping_mul($b),
                }
            };
        }
        let same = Some(a.ty()).filter(|ty| *ty == b.ty() && *ty != "bool");
        match same.or_else(|| TYPES[1..].iter().copied().find(fits)) {
            Some("i32") => Self::I32(whole!(a.whole() as i32, b.whole() as i32)),
            Some("i64") => Self::I64(whole!(a.whole(), b.whole())),
            Some("f32") => Self::F32(float!(a.double() as f32, b.double() as f32)),
            _ => Self::F64(float!(a.double(), b.double())),
        }
    }
}

/// The type of the literal 3 beside `other`, to which it adapts.
fn three(other: Number) -> Number {
    match other {
        Number::Bool(_) | Number::I32(_) => Number::I32(3),
        Number::I64(_) => Number::I64(3),
        Number::F32(_) => Number::F32(3.0),
        Number::F64(_) => Number::F64(3.0),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// `math.minimum` and `math.maximum` return one of their values, so exact numbers show whether
    /// any value was narrowed. The numbers are in the range in which the least type that holds the
    /// socket's links is exact.
    #[test]
    fn no_generic_socket_narrows(
        ops in ops(&["math.minimum", "math.maximum"]),
        (yes, small) in (any::<bool>(), -(1_i64 << 24)..1 << 24),
        large in vec(-(1_i64 << 53)..1 << 53, 2),
        single in -(1_i64 << 24)..1 << 24,
    ) {
        let inputs = [json!(yes), json!(small), json!(large[0]), json!(single), json!(large[1])];
        let program = Engine::new().load(document(2, &inputs, &ops).as_bytes());
        let program = program.map_err(|error| TestCaseError::fail(error.to_string()))?;
        let mut values = vec![i64::from(yes), small, large[0], single, large[1]];
        for op in &ops {
            let [a, b] = op.picks.map(|pick| pick.map_or(3, |pick| values[pick % values.len()]));
            values.push(if op.name == "math.minimum" { a.min(b) } else { a.max(b) });
        }
        let expected: Vec<_> = values[TYPES.len()..].iter().map(|x| Some(*x as f64)).collect();
        prop_assert_eq!(outputs(&program, ops.len()), expected);
        // Beside an f32, an i32 becomes one, which `check::rounded` notes.
        let notes = program.warnings().iter().filter(|it| it.severity == Severity::Note);
        let n_notes = notes.filter(|it| it.code != "check::rounded").count();
        prop_assert_eq!(n_notes, 0, "{}", program.warnings());
    }

    #[test]
    fn documents_of_format_1_keep_their_bits(
        ops in ops(&["math.add", "math.subtract", "math.multiply"]),
        (yes, small) in (any::<bool>(), any::<i32>()),
        large in any::<i64>(),
        single in prop::num::f32::NORMAL,
        double in prop::num::f64::NORMAL,
    ) {
        let inputs = [json!(yes), json!(small), json!(large), json!(single), json!(double)];
        let text = document(1, &inputs, &ops);
        let mut values = vec![
            Number::Bool(yes),
            Number::I32(small),
            Number::I64(large),
            Number::F32(single),
            Number::F64(double),
        ];
        for op in &ops {
            let [a, b] = op.picks.map(|pick| pick.map(|pick| values[pick % values.len()]));
            let b = b.expect("the second is no literal");
            values.push(Number::combined(op.name, a.unwrap_or_else(|| three(b)), b));
        }
        let bits = |x: f64| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() };
        let expected: Vec<_> = values[TYPES.len()..].iter().map(|x| bits(x.double())).collect();
        let found = |program: &Program| -> Vec<u64> {
            outputs(program, ops.len()).into_iter().map(|x| bits(x.expect("it is there"))).collect()
        };
        let engine = Engine::new();
        let upgraded = engine.load(text.as_bytes()).expect("it loads");
        prop_assert_eq!(&found(&upgraded), &expected, "{}", save(upgraded.document()));
        prop_assert!(save(upgraded.document()).contains("\"millstream\": 2"));
        let again = engine.load(save(upgraded.document()).as_bytes()).expect("it loads");
        prop_assert_eq!(&found(&again), &expected);
        let (plain, _) = load(text.as_bytes(), &Limits::default());
        let plain = engine.compile(plain.expect("it loads")).expect("it compiles");
        prop_assert_eq!(&found(&plain), &expected, "as it is");
        let mut session = Session::open(&engine, text.as_bytes()).expect("it opens");
        for (i, expected) in expected.iter().enumerate() {
            let value = session.value::<f64>(&format!("n{i}_out")).expect("it runs");
            prop_assert_eq!(value.map(bits), Some(*expected));
        }
        prop_assert_eq!(session.document(), upgraded.document());
    }
}

#[test]
fn the_time_stays_wide_through_a_chain() {
    let text = r#"{ "millstream": 2,
        "inputs": { "speed": { "type": "f32", "default": 1 } },
        "outputs": { "y": { "type": "f64", "from": "later.value" } },
        "nodes": {
            "time": { "type": "context.time" },
            "moved": { "type": "math.multiply", "in": { "a": { "from": "time.value" }, "b": { "input": "speed" } } },
            "later": { "type": "math.add", "in": { "a": { "input": "speed" }, "b": { "from": "moved.value" } } } } }"#;
    let program = Engine::new().load(text.as_bytes()).expect("it loads");
    let answer = program.run(&Request::new().time(16_777_216.0)).expect("it runs");
    assert_eq!(answer.value::<f64>("y"), Some(16_777_217.0));
}

#[test]
fn a_wider_link_widens_all_nodes_after_it_in_a_session() {
    let text = r#"{ "millstream": 2,
        "inputs": { "one": { "type": "f32", "default": 1 }, "wide": { "type": "f64", "default": 16777216 } },
        "outputs": { "y": { "type": "f64", "from": "c.value" } },
        "nodes": {
            "a": { "type": "math.add", "in": { "a": { "input": "one" }, "b": { "input": "one" } } },
            "b": { "type": "math.add", "in": { "a": { "from": "a.value" }, "b": { "input": "one" } } },
            "c": { "type": "math.add", "in": { "a": { "from": "b.value" }, "b": 1 } } } }"#;
    let mut session = Session::open(&Engine::new(), text.as_bytes()).expect("it opens");
    assert_eq!(session.value::<f64>("y").expect("it runs"), Some(4.0));
    let to = json!({ "edit": "set_input", "node": "a", "input": "a", "to": { "input": "wide" } });
    let widen: Edit = serde_json::from_value(to).expect("an edit");
    session.edit(&widen).expect("it fits");
    assert_eq!(session.value::<f64>("y").expect("it runs"), Some(16_777_219.0));
    session.settle();
    assert_eq!(session.value::<f64>("y").expect("it runs"), Some(16_777_219.0));
    session.set("wide", 0.5).expect("it fits");
    assert_eq!(session.value::<f64>("y").expect("it runs"), Some(3.5));
    assert!(session.undo());
    assert_eq!(session.value::<f64>("y").expect("it runs"), Some(4.0));
}

#[test]
fn expressions_of_format_1_compute_in_one_type() {
    let value = |format: u32, text: &str| {
        let document = json!({ "millstream": format,
            "inputs": { "d": { "type": "f64", "default": 16_777_217 }, "s": { "type": "f32", "default": 2 },
                "i": { "type": "i32", "default": 16_777_217 }, "t": { "type": "f64", "default": 0.1 } },
            "outputs": { "y": { "type": "f64", "from": "e.value" } },
            "nodes": { "e": { "type": "math.expression", "set": { "text": text }, "in": {} } } });
        let mut document = document;
        for name in ["d", "s", "i", "t"] {
            if text.contains(name) {
                document["nodes"]["e"]["in"][name] = json!({ "input": name });
            }
        }
        let program = Engine::new().load(document.to_string().as_bytes()).expect("it compiles");
        let saved = save(program.document());
        let value = program.run(&Request::new()).expect("it runs").value::<f64>("y");
        let again = Engine::new().load(saved.as_bytes()).expect("it compiles");
        assert_eq!(
            again.run(&Request::new()).expect("it runs").value::<f64>("y"),
            value,
            "{saved}"
        );
        value.expect("it has a value")
    };
    // f64 with f32 made f32, as did i32; f64 alone remained.
    assert_eq!((value(1, "d + s"), value(2, "d + s")), (16_777_218.0, 16_777_219.0));
    assert_eq!((value(1, "i + i"), value(2, "i + i")), (33_554_432.0, 33_554_434.0));
    assert_eq!((value(1, "d * t"), value(2, "d * t")), (16_777_217.0 * 0.1, 16_777_217.0 * 0.1));
}

#[test]
fn numbers_that_are_concatenated_become_lists_of_the_widest_type() {
    let text = "input i: i32 = 16777217\ninput d: f64 = 0.1\ninput s: f32 = 0.5\ninput b: bool = true\n\
         l = list.concat([i, d, s, b])\nm = list.concat([b, i])\n\
         output l: list<f64> = l\noutput m: list<i32> = m\n";
    let engine = Engine::new();
    for row in millstream::evaluate::EVALUATORS.iter().flat_map(|row| row.settings) {
        let program = engine.load(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        let request = Request::new().column("s", vec![0.5_f32, 0.25]);
        let answer = program.run_with(&mut *row(), &request).expect("it runs");
        let of = |name: &str| format!("{:?}", answer.output(name).expect("an output").value);
        assert!(of("l").contains("16777217.0, 0.1, 0.5, 1.0"), "{}", of("l"));
        assert!(of("l").contains("16777217.0, 0.1, 0.25, 1.0"), "{}", of("l"));
        assert!(of("m").contains("1, 16777217"), "{}", of("m"));
    }
    let narrow = "input d: f64 = 0.1\noutput l: list<f32> = d\n";
    assert!(engine.load(narrow.as_bytes()).is_err(), "lists do not narrow");
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
