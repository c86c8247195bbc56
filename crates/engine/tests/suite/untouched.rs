//! Untouched parts stay: static islands run once, whatever is edited, set or ticked elsewhere;
//! state is that of the ticks, whatever is probed, tried or baked between them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use millstream::session::{Ask, Session};
use millstream::{Call, Edit, Engine, Failure, LogDetail, NodeDef, Request, Type};
use millstream_ir::answer::OutputAnswer;
use millstream_node::Data;
use serde_json::{Value as Json, json};

fn edit(json: Json) -> Edit {
    serde_json::from_value(json).expect("an edit")
}

/// Two islands, of literals and of an input that is never set; their surroundings are edited.
fn islands(node: &str) -> String {
    let text = r#"{ "millstream": 2, "fps": 10,
        "inputs": { "x": { "type": "f32", "default": 1 }, "base": { "type": "f32", "default": 7 } },
        "outputs": { "y": { "type": "f32", "from": "y.value" } },
        "nodes": {
            "still": { "type": "NODE", "in": { "x": 2 } },
            "shore": { "type": "math.multiply", "in": { "a": { "from": "still.value" }, "b": 3 } },
            "given": { "type": "NODE", "in": { "x": { "input": "base" } } },
            "moves": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 1 } },
            "t": { "type": "context.time" },
            "at": { "type": "math.add", "in": { "a": { "from": "moves.value" }, "b": { "from": "t.value" } } },
            "most": { "type": "math.maximum", "in": { "a": { "from": "shore.value" }, "b": { "from": "at.value" } } },
            "f": { "type": "convert.to_f32", "in": { "x": { "from": "most.value" } } },
            "y": { "type": "math.add", "in": { "a": { "from": "f.value" }, "b": { "from": "given.value" } } }
        } }"#;
    text.replace("NODE", node)
}

const ISLANDS: [&str; 3] = ["still", "shore", "given"];

/// Requests all outputs; adds the runs of the nodes of islands.
fn count(session: &mut Session, runs: &mut u32, what: &str) {
    let evaluated = session.eval(&Ask::all().with_log(LogDetail::Counts)).expect("it runs");
    assert!(evaluated.answer.failures.is_empty(), "{what}: {:?}", evaluated.answer.failures);
    let of_islands = evaluated.runs().into_iter().filter(|run| {
        let name = run.path.as_str().rsplit('/').next().unwrap_or_default();
        ISLANDS.contains(&name)
    });
    *runs += of_islands.map(|run| run.entry.runs).sum::<u32>();
    assert!(*runs <= ISLANDS.len() as u32, "{what}: {runs} runs of {ISLANDS:?}");
}

#[test]
fn static_islands_run_once_whatever_is_edited_elsewhere() {
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    let slow = move |call: &mut Call<'_>| -> Result<(), Failure> {
        counted.fetch_add(1, Ordering::Relaxed);
        let mut out: Vec<f32> = call.buffer(0);
        for (i, out) in out.iter_mut().enumerate() {
            *out = call.input::<f32>(0).get(i).sqrt();
        }
        call.set(0, out);
        Ok(())
    };
    let mut engine = Engine::new();
    let def = NodeDef::new("test.slow", "Takes long").input("x", Type::F32, "");
    engine.register(def.output("value", Type::F32, "").function(slow));
    // A live graph follows the root alone; the function is evaluated with plans.
    for node in ["math.sqrt", "test.slow"] {
        let mut session = Session::open(&engine, islands(node).as_bytes()).expect("it opens");
        assert!(!session.problems().has_errors(), "{}", session.problems());
        let mut runs = 0;
        count(&mut session, &mut runs, "first");
        let edits = [
            json!({ "edit": "set_input", "node": "moves", "input": "b", "to": 2 }),
            json!({ "edit": "add_nodes", "nodes": [{ "name": "new", "node":
                { "type": "math.negate", "in": { "x": { "from": "at.value" } } } }] }),
            json!({ "edit": "set_input", "node": "most", "input": "b", "to": { "from": "new.value" } }),
            json!({ "edit": "replace_type", "node": "most", "kind": { "type": "math.minimum" } }),
            json!({ "edit": "mute", "node": "new", "muted": true }),
            json!({ "edit": "rename_node", "node": "moves", "to": "goes" }),
            json!({ "edit": "group", "nodes": ["goes", "at"], "name": "both" }),
            json!({ "edit": "group", "nodes": ["still", "shore"], "name": "island" }),
            json!({ "edit": "ungroup", "node": "both" }),
            json!({ "edit": "remove_nodes", "nodes": ["new"] }),
            json!({ "edit": "set_input", "node": "most", "input": "b", "to": 0 }),
        ];
        for json in edits {
            let text = json.to_string();
            session.edit(&edit(json)).unwrap_or_else(|error| panic!("{text}: {error}"));
            count(&mut session, &mut runs, &text);
            session.set("x", runs as f32 + 0.5).expect("fits");
            count(&mut session, &mut runs, &text);
            session.tick(&Ask::all()).expect("it ticks");
            count(&mut session, &mut runs, &text);
            session.settle();
            count(&mut session, &mut runs, "the optimised plan");
        }
        while session.undo() {
            count(&mut session, &mut runs, "undo");
        }
        while session.redo() {
            count(&mut session, &mut runs, "redo");
        }
    }
    assert!(calls.load(Ordering::Relaxed) >= 2, "they did run");
}

/// A sum for each item of a loop and one outside; both advance with each tick.
const SUMS: &str = r#"{ "millstream": 2, "fps": 10,
    "inputs": { "n": { "type": "i32", "default": 3 }, "x": { "type": "f32", "default": 1 } },
    "outputs": { "y": { "type": "list<f32>", "from": "y.value" }, "z": { "type": "f32", "from": "whole.value" } },
    "nodes": {
        "i": { "type": "context.index" },
        "rate": { "type": "math.add", "in": { "a": { "from": "i.value" }, "b": { "input": "x" } } },
        "sum": { "type": "state.integrate", "in": { "rate": { "from": "rate.value" } } },
        "y": { "type": "list.generate", "in": { "item": { "from": "sum.value" }, "count": { "input": "n" } } },
        "whole": { "type": "state.integrate", "in": { "rate": { "input": "x" } } }
    } }"#;

fn told(outputs: &[OutputAnswer]) -> Vec<String> {
    let told =
        outputs.iter().map(|output| match output.value.as_ref().map(|series| &series.data) {
            Some(Data::One(value)) => format!("{value:?}"),
            Some(Data::Many(column)) => format!("{column:?}"),
            None => "failed".into(),
        });
    told.collect()
}

#[test]
fn what_nodes_keep_is_untouched_by_all_that_is_no_tick() {
    let engine = Engine::new();
    let open = || Session::open(&engine, SUMS.as_bytes()).expect("it opens");
    let (mut plain, mut busy) = (open(), open());
    for frame in 0..6 {
        let wanted = plain.tick(&Ask::all()).expect("it ticks").answer;
        // Probes of ticking nodes, what-ifs of other values and counts, another frame.
        for path in ["whole.value", "y.value"] {
            busy.probe(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        }
        for n in [0, 1, 5] {
            let ask = Ask::all().what_if("n", n).what_if("x", 100.0_f32);
            let tried = busy.eval(&ask).expect("it runs").answer;
            assert!(tried.failures.is_empty(), "{:?}", tried.failures);
        }
        let ask = Ask { frame: Some(frame + 40), ..Ask::all() };
        busy.eval(&ask).expect("it runs");
        // A bake of many frames from the document and its settings.
        let program = engine.compile(busy.document().clone()).expect("it compiles");
        program.run(&Request::new().frames((0..4).collect())).expect("it runs");
        let again = busy.eval(&Ask::all()).expect("it runs").answer;
        assert_eq!(told(&again.outputs), told(&wanted.outputs), "frame {frame}, not ticked yet");
        let ticked = busy.tick(&Ask::all()).expect("it ticks").answer;
        assert_eq!(told(&ticked.outputs), told(&wanted.outputs), "frame {frame}");
        assert_eq!(busy.frame(), plain.frame());
    }
    // A seek ahead and back plays the same ticks.
    busy.seek(9).expect("it seeks");
    busy.seek(6).expect("it seeks");
    let [a, b] = [&mut plain, &mut busy]
        .map(|session| told(&session.eval(&Ask::all()).expect("it runs").answer.outputs));
    assert_eq!(a, b);
    assert!(a[0].contains("1.8"), "the third sum has grown for six ticks: {a:?}");
}
