//! Deployed documents give the same answers as the documents they were made from.

use millstream_base::same::Same;
use millstream_base::{Column, Limits, Table, Value, Vec3};
use millstream_document::{load, save};
use millstream_ir::Request;
use millstream_testkit::agreement::difference;
use millstream_testkit::generate::document::document_of;
use millstream_testkit::generate::{REGISTRY, cases};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use super::*;
use crate::Program;

fn document(text: &str) -> Document {
    let (document, problems) = load(text.as_bytes(), &Limits::default());
    document.unwrap_or_else(|| panic!("the document loads: {problems}"))
}

/// The deployed document after saving and loading it.
fn reloaded(engine: &Engine, deployed: &Deployed) -> Program {
    let text = save(&deployed.document);
    engine.load(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

const GREETING: &str = r#"{ "millstream": 2,
  "inputs": { "x": { "type": "f64", "default": 3, "about": "a number", "unit": "m" },
              "n": { "type": "i32", "default": 5 } },
  "outputs": { "y": { "type": "f64", "from": "sum.value", "about": "the sum" },
               "list": { "type": "list<f64>", "from": "roots.value" } },
  "nodes": {
    "time": { "type": "context.time" },
    "half": { "type": "math.divide", "in": { "a": { "input": "x" }, "b": 2 } },
    "root": { "type": "math.sqrt", "in": { "x": { "from": "half.value" } } },
    "sum": { "type": "math.add", "in": { "a": { "from": "root.value" }, "b": { "from": "time.value" } } },
    "index": { "type": "context.index" },
    "scaled": { "type": "math.multiply", "in": { "a": { "from": "index.value" }, "b": { "from": "root.value" } } },
    "roots": { "type": "list.generate", "in": { "count": { "input": "n" }, "item": { "from": "scaled.value" } } }
  } }"#;

#[test]
fn results_are_stored_and_their_producers_dropped() {
    let engine = Engine::new();
    let deployed = deploy(&engine, &document(GREETING), &Freeze::default()).expect("it deploys");
    let names: Vec<&str> = deployed.document.nodes.keys().map(|name| &**name).collect();
    assert_eq!(names, ["time", "sum", "constant"], "{}", save(&deployed.document));
    assert_eq!(deployed.results.len(), 1);
    assert_eq!(deployed.results[0].path.as_str(), "roots");
    assert_eq!(deployed.results[0].fate, SettledFate::Stored);
    let program = reloaded(&engine, &deployed);
    assert!(program.inputs().is_empty());
    let answer = program.run(&Request::new().time(1.0)).expect("it runs");
    assert_eq!(answer.value::<f64>("y"), Some(1.5_f64.sqrt() + 1.0));
    let def = deployed.document.outputs.get("y").and_then(|def| def.about.clone());
    assert_eq!(def.as_deref(), Some("the sum"));
}

#[test]
fn large_results_stay_to_be_computed() {
    let engine = Engine::new();
    let freeze = Freeze { store_limit: 16, ..Freeze::default() };
    let deployed = deploy(&engine, &document(GREETING), &freeze).expect("it deploys");
    assert_eq!(deployed.results[0].fate, SettledFate::TooLarge);
    assert_eq!(deployed.results[0].bytes, 40);
    assert!(deployed.document.nodes.contains_key("roots"));
    let whole = engine.compile(document(GREETING)).expect("it compiles");
    let request = Request::new().time(0.0);
    let answers = [whole, reloaded(&engine, &deployed)].map(|p| p.run(&request).expect("it runs"));
    let lists = answers.map(|answer| answer.outputs[1].value.clone().expect("a value").data.get(0));
    assert!(lists[0].same(&lists[1]));
}

#[test]
fn inputs_are_kept_by_name() {
    let engine = Engine::new();
    let freeze = Freeze {
        keep: vec!["x".into()],
        values: vec![("x".into(), Value::F64(8.0)), ("n".into(), Value::I32(2))],
        ..Freeze::default()
    };
    let deployed = deploy(&engine, &document(GREETING), &freeze).expect("it deploys");
    let program = reloaded(&engine, &deployed);
    assert_eq!(program.inputs().len(), 1);
    let at = |request: Request| program.run(&request.time(0.0)).expect("it runs").value::<f64>("y");
    assert_eq!((at(Request::new()), at(Request::new().set("x", 32.0))), (Some(2.0), Some(4.0)));
}

#[test]
fn what_cannot_be_fixed_is_said() {
    let engine = Engine::new();
    let text = GREETING.replace(r#""f64", "default": 3,"#, r#""f64","#);
    let say = |text: &str, freeze: &Freeze| match deploy(&engine, &document(text), freeze) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("it deploys"),
    };
    assert!(say(&text, &Freeze::default()).contains("`x` has no value to be fixed to"));
    let freeze = Freeze { keep: vec!["z".into()], ..Freeze::default() };
    assert!(say(GREETING, &freeze).contains("no input called `z`"));
    let wrong = vec![("n".into(), Value::from("five"))];
    let freeze = Freeze { values: wrong, ..Freeze::default() };
    assert!(say(GREETING, &freeze).contains("`n` is i32"));
}

/// Stateful nodes outside and inside loops, in a group and in a cycle; `k` may be fixed.
const KEEPING: &str = r#"{ "millstream": 2, "fps": 10, "start_frame": 3,
  "inputs": { "k": { "type": "f32", "default": 4 }, "x": { "type": "f32", "default": 1 },
              "n": { "type": "i32", "default": 3 } },
  "outputs": { "y": { "type": "f32", "from": "all.value" }, "list": { "type": "list<f32>", "from": "items.value" } },
  "nodes": {
    "root": { "type": "math.sqrt", "in": { "x": { "input": "k" } } },
    "next": { "type": "math.add", "in": { "a": { "from": "last.value" }, "b": { "from": "root.value" } } },
    "last": { "type": "state.feedback", "in": { "value": { "from": "next.value" }, "initial": { "input": "k" } } },
    "g": { "type": "group", "group": "follow", "in": { "to": { "from": "next.value" } } },
    "late": { "type": "state.delay", "set": { "ticks": 2 }, "in": { "value": { "from": "g.value" }, "initial": 7 } },
    "sum": { "type": "math.add", "in": { "a": { "from": "late.value" }, "b": { "input": "x" } } },
    "all": { "type": "math.add", "in": { "a": { "from": "sum.value" }, "b": { "from": "still.value" } } },
    "still": { "type": "state.hold", "in": { "value": 2.5, "when": false } },
    "index": { "type": "context.index" },
    "rate": { "type": "math.multiply", "in": { "a": { "from": "index.value" }, "b": { "from": "root.value" } } },
    "before": { "type": "state.feedback", "in": { "value": { "from": "more.value" } } },
    "more": { "type": "math.add", "in": { "a": { "from": "before.value" }, "b": { "from": "rate.value" } } },
    "items": { "type": "list.generate", "in": { "count": { "input": "n" }, "item": { "from": "more.value" } } }
  },
  "groups": { "follow": {
    "inputs": { "to": { "type": "f32" } },
    "outputs": { "value": { "type": "f32", "from": "s.value" } },
    "nodes": { "s": { "type": "state.smooth", "in": { "value": { "input": "to" }, "half_life": 0.2 } } } } } }"#;

#[test]
fn what_keeps_state_ticks_as_it_did() {
    let engine = Engine::new();
    let original = engine.load(KEEPING.as_bytes()).expect("it compiles");
    for keep in [&[][..], &["x"], &["k", "n"], &["k", "x", "n"]] {
        let keep = keep.iter().map(|name| (*name).to_owned()).collect();
        let freeze = Freeze { keep, ..Freeze::default() };
        let deployed = deploy(&engine, &document(KEEPING), &freeze).expect("it deploys");
        let text = save(&deployed.document);
        if !freeze.keep.contains(&"k".to_owned()) {
            assert!(!text.contains("math.sqrt"), "the square root is stored: {text}");
        }
        let binary = engine.load_binary(&deployed.to_bytes()).expect("it loads");
        for deployed in [reloaded(&engine, &deployed), binary] {
            let mut request = Request::new().frames((3..12).collect());
            for frame_of in [3, 7] {
                let alone = Request::new().frame(frame_of);
                compare(&original, &deployed, &alone);
            }
            if freeze.keep.contains(&"x".to_owned()) {
                request = request.column("x", vec![1.0_f32, 10.0]);
            }
            compare(&original, &deployed, &request);
        }
    }
}

fn compare(original: &Program, deployed: &Program, request: &Request) {
    let [a, b] = [original, deployed].map(|program| program.run(request).expect("it runs"));
    assert_eq!(a.outputs.len(), b.outputs.len());
    for (x, y) in a.outputs.iter().zip(&b.outputs) {
        let [x, y] = [(&a, x), (&b, y)].map(|(answer, output)| {
            answer.full_column(output.value.as_ref().expect("it has a value"))
        });
        assert!(x.same(&y), "{x:?} {y:?}");
    }
}

#[test]
fn generated_documents_answer_alike() {
    let engine = Engine::with_registry(REGISTRY.clone());
    let config = Config { cases: 600, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let result = TestRunner::new_with_rng(config, rng).run(&cases(12), |case| {
        let text = document_of(&case.graph, None).to_string();
        let whole = document(&text);
        let keep = case.graph.inputs().as_slice().iter().map(|input| input.name.to_string());
        let freeze = Freeze { keep: keep.collect(), ..Freeze::default() };
        let request = case.request.request();
        let fail = |what: String| TestCaseError::fail(format!("{what}\n{text}"));
        let program = engine.compile(whole.clone()).map_err(|e| fail(e.to_string()))?;
        let deployed = deploy(&engine, &whole, &freeze).map_err(|e| fail(e.to_string()))?;
        let saved = save(&deployed.document);
        let again = engine.load(saved.as_bytes()).map_err(|e| fail(format!("{e}\n{saved}")))?;
        let a = program.run(&request).map_err(|e| fail(e.to_string()))?;
        let b = again.run(&request).map_err(|e| fail(format!("{e}\n{saved}")))?;
        let binary = engine.load_binary(&deployed.to_bytes()).map_err(|e| fail(e.to_string()))?;
        let c = binary.run(&request).map_err(|e| fail(e.to_string()))?;
        for (y, z) in b.outputs.iter().zip(&c.outputs) {
            // Only one of the two programs may know that all elements have the same value.
            let y = y.value.as_ref().map(|series| b.full_column(series));
            let z = z.value.as_ref().map(|series| c.full_column(series));
            let is_same = match (&y, &z) {
                (Some(y), Some(z)) => y.same(z),
                (y, z) => y.is_none() && z.is_none(),
            };
            if !is_same {
                return Err(fail(format!("the binary form gives {z:?}, not {y:?}\n{saved}")));
            }
        }
        for (x, y) in a.outputs.iter().zip(&b.outputs) {
            let columns: [Option<Column>; 2] = [
                x.value.as_ref().map(|series| a.full_column(series)),
                y.value.as_ref().map(|series| b.full_column(series)),
            ];
            if let [Some(x), Some(y)] = &columns
                && let Some(difference) = difference(x, y)
            {
                return Err(fail(format!("{difference}\n{saved}")));
            }
            // Without any element a constant that fails is computed only if folding removed its
            // axis of elements; then the answer reports the failure.
            let asks_nothing = columns[0].as_ref().is_some_and(Column::is_empty);
            let is_told = asks_nothing && !b.failures.is_empty();
            if columns[0].is_some() && columns[1].is_none() && !is_told {
                return Err(fail(format!("no value\n{saved}")));
            }
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

/// The bytes of a deployed document with an input, settings, a loop and a list.
fn some_bytes(engine: &Engine) -> Vec<u8> {
    let freeze = Freeze { keep: vec!["x".into()], ..Freeze::default() };
    deploy(engine, &document(GREETING), &freeze).expect("it deploys").to_bytes()
}

#[test]
fn damaged_bytes_are_refused() {
    let engine = Engine::new();
    let bytes = some_bytes(&engine);
    let say = |bytes: &[u8]| match engine.load_binary(bytes) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("it loads"),
    };
    assert!(say(b"{}").contains("not a deployed document"));
    for end in 0..bytes.len() {
        say(&bytes[..end]);
    }
    let mut other = bytes.clone();
    other[8] = 9;
    assert!(say(&other).contains("version 9"), "{}", say(&other));
    let last = bytes.len() - 1;
    other.clone_from(&bytes);
    other[last] ^= 1;
    assert!(say(&other).contains("checksum"), "{}", say(&other));
}

#[test]
fn bytes_that_nobody_wrote_do_no_harm() {
    let engine = Engine::new();
    let bytes = some_bytes(&engine);
    let mut state = 1_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let mut n_loaded = 0;
    for _ in 0..20_000 {
        let mut other = bytes.clone();
        for _ in 0..=next(4) {
            let at = 20 + next(other.len() - 20);
            match next(3) {
                0 => other[at] = next(256) as u8,
                1 => other.truncate(at.max(21)),
                _ => other.insert(at, next(256) as u8),
            }
        }
        let sum = binary::checksum(&other[20..]).to_le_bytes();
        other[12..20].copy_from_slice(&sum);
        n_loaded += usize::from(engine.load_binary(&other).is_ok());
    }
    assert!(n_loaded > 0, "some changes, such as of names, are harmless");
}

/// Columns of types that cannot be inferred from lists alone, not in the order of their names.
fn table() -> Value {
    let columns: [(&str, Column); 4] = [
        ("x", Column::from_vec(vec![Vec3([0.1, 1.0, 2.0]), Vec3([3.0, -0.0, 5.0])])),
        ("whole", Column::from_vec(vec![2.0_f64, 3.0])),
        ("i", Column::from_vec(vec![7_i32, 8])),
        ("b", Column::from_vec(vec![0.1_f32, 0.25])),
    ];
    let columns = columns.map(|(name, column)| (name.into(), column));
    Table::new(columns.into()).expect("a table").into()
}

const OF_A_TABLE: &str = r#"{ "millstream": 2,
  "inputs": { "t": { "type": "table" }, "k": { "type": "string", "default": "b" }, "n": { "type": "i32", "default": 1 } },
  "outputs": { "names": { "type": "list<string>", "from": "names.value" },
               "t": { "type": "table", "input": "t" },
               "cut": { "type": "table", "from": "cut.value" },
               "b": { "type": "list<f64>", "from": "wide.value" },
               "i": { "type": "list<i32>", "from": "i.value" } },
  "nodes": {
    "names": { "type": "table.names", "in": { "table": { "from": "cut.value" } } },
    "cut": { "type": "table.slice", "in": { "table": { "input": "t" }, "count": { "input": "n" } } },
    "wide": { "type": "table.column", "in": { "table": { "input": "t" }, "name": { "input": "k" } } },
    "i": { "type": "table.column", "set": { "type": "i32" }, "in": { "table": { "input": "t" }, "name": "i" } }
  } }"#;

#[test]
fn tables_keep_the_order_and_types_of_their_columns() {
    let engine = Engine::new();
    let whole = engine.compile(document(OF_A_TABLE)).expect("it compiles");
    let of_whole = whole.run(&Request::new().set("t", table())).expect("it runs");
    for keep in [vec![], vec!["k"], vec!["t"], vec!["n", "k"]] {
        let keep: Vec<String> = keep.into_iter().map(str::to_owned).collect();
        let freeze = Freeze { values: vec![("t".into(), table())], keep, ..Freeze::default() };
        let deployed = deploy(&engine, &document(OF_A_TABLE), &freeze).expect("it deploys");
        let text = save(&deployed.document);
        assert!(deployed.results.iter().all(|it| it.fate == SettledFate::Stored), "{text}");
        let binary = engine.load_binary(&deployed.to_bytes()).expect("it is read");
        for program in [reloaded(&engine, &deployed), binary] {
            let answer = program.run(&Request::new()).expect("it runs");
            for (a, b) in answer.outputs.iter().zip(&of_whole.outputs) {
                let values = [a, b].map(|output| output.value.as_ref().expect("it runs"));
                let [a, b] = values.map(|series| series.data.get(0));
                assert!(a.same(&b), "{a} is not {b}\n{text}");
            }
        }
    }
}

#[test]
fn tables_are_stored_within_the_limit() {
    let engine = Engine::new();
    let values = vec![("t".into(), table())];
    let freeze = Freeze { values, store_limit: 30, ..Freeze::default() };
    let deployed = deploy(&engine, &document(OF_A_TABLE), &freeze).expect("it deploys");
    let cut = deployed.results.iter().find(|it| it.path.as_str() == "cut").expect("it is read");
    assert_eq!(cut.fate, SettledFate::TooLarge);
}
