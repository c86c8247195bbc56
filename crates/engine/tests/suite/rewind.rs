//! Seeking back: from the nearest checkpoint, with the bits of playing all ticks from the start.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use millstream::evaluate::Data;
use millstream::register::CallbackContext;
use millstream::session::{Ask, Session};
use millstream::{
    Chunked, Column, Document, Edit, Engine, Given, Incremental, Lazy, List, NodeDef, RequestAxis,
    Type,
};
use serde_json::json;

use crate::callbacks::engine_with;

/// Numbers, lists and a table of elements as state; `each` has a state for each item of a loop.
const DOCUMENT: &str = "\
input x: f32 = 1
input tint: f32 = 1
sum = state.integrate(rate: x + convert.to_f32(context.time()))
late = state.delay(sum, ticks = 3)
walk = simulate step(at: 0, cells: list.range(count: 5), by: x)
inner = state.integrate(rate: x * convert.to_f32(context.index()))
output sum: f32 = sum * 2 * tint
output late: f32 = late
output at: f32 = walk.at
output cells: list<i32> = walk.cells
output each: list<f32> = list.generate(inner, count: 3)

group step(at: f32, cells: list<i32>, by: f32) -> (at: f32, cells: list<i32>) {
  at = at * 0.75 + by
  cells = list.reverse(list.sort(cells))
}
";

/// The document without state in loops, which a live graph can answer.
fn live_document() -> String {
    let lines = DOCUMENT.lines().filter(|line| !line.contains("inner"));
    lines.fold(String::new(), |text, line| text + line + "\n")
}

/// A number below `n` from a simple generator.
fn below(state: &mut u64, n: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % n
}

fn shown(session: &mut Session) -> String {
    let answer = session.eval(&Ask::all()).expect("it runs").answer;
    assert!(answer.failures.is_empty(), "{:?}", answer.failures);
    let mut text = format!("frame {}", session.frame());
    for output in &answer.outputs {
        let values = match &output.value.as_ref().expect("nothing failed").data {
            Data::One(value) => value.to_string(),
            Data::Many(column) => format!("{column:?}"),
        };
        text += &format!("; {} {values}", output.name);
    }
    text
}

/// Changes two sessions in the same way.
fn change(sessions: [&mut Session; 2], dice: &mut u64) -> String {
    let (kind, n) = (below(dice, 12), below(dice, 100));
    let mut done = String::new();
    for session in sessions {
        done = match kind {
            0..=2 => {
                for _ in 0..=n / 10 {
                    session.tick(&Ask::all()).expect("it ticks");
                }
                format!("{} ticks", n / 10 + 1)
            }
            // Another output does not let all nodes in loops advance.
            3 => {
                session.tick(&Ask::output("sum")).expect("it ticks");
                "a tick of one output".into()
            }
            4 if n < 50 => {
                session.set("tint", (n / 10) as f32).expect("an input");
                format!("tint = {}", n / 10)
            }
            4 => {
                session.set("x", (n / 75) as f32).expect("an input");
                format!("x = {}", n / 75)
            }
            5 if n < 50 => {
                let given =
                    Given::Along(RequestAxis::Index, Column::from_vec(vec![1.0_f32, n as f32]));
                session.set_all([("x", given)]).expect("an input");
                "x is a column".into()
            }
            5 => {
                session.unset("x");
                "no x".into()
            }
            6 if n < 30 => {
                session.edit(&Edit::literal("late", "initial", json!(n as f32))).expect("it fits");
                format!("an edit, {n}")
            }
            6 if n < 60 => format!("undone: {}", session.undo()),
            6 if n < 70 => {
                session.restart();
                "a restart".into()
            }
            _ => {
                session.seek(n as i64).expect("it plays");
                format!("to {n}")
            }
        };
    }
    done
}

fn compare(make: impl Fn(&Engine, Document) -> Session, text: &str, seed: u64) {
    let engine = Engine::new();
    let open = || {
        let (document, problems) = engine.read(text.as_bytes());
        make(&engine, document.unwrap_or_else(|| panic!("{problems:?}")))
    };
    let (mut rewinding, mut replaying) = (open(), open());
    replaying.keep_checkpoints(0);
    let mut dice = seed;
    // The default, and space for a few.
    if seed.is_multiple_of(2) {
        rewinding.keep_checkpoints(2000);
    }
    let mut done = String::new();
    for _ in 0..40 {
        done += &format!("\n{}", change([&mut rewinding, &mut replaying], &mut dice));
        let (found, expected) = (shown(&mut rewinding), shown(&mut replaying));
        assert_eq!(found, expected, "seed {seed}:{done}");
    }
}

#[test]
fn a_seek_gives_the_bits_of_playing_from_the_start() {
    let live = live_document();
    for seed in 0..6 {
        compare(Session::new, DOCUMENT, seed);
        compare(Session::new, &live, seed);
    }
    for seed in 6..8 {
        compare(|e, d| Session::with_evaluator(e, d, Lazy), DOCUMENT, seed);
        compare(|e, d| Session::with_evaluator(e, d, List::new()), DOCUMENT, seed);
        compare(|e, d| Session::with_evaluator(e, d, Chunked::default()), DOCUMENT, seed);
        compare(|e, d| Session::with_evaluator(e, d, Incremental::new()), DOCUMENT, seed);
    }
}

#[test]
fn a_seek_back_plays_the_ticks_since_a_checkpoint() {
    let count = Arc::new(AtomicU64::new(0));
    let runs = Arc::clone(&count);
    let node =
        NodeDef::new("my.count", "").input("x", Type::F32, "").output("value", Type::F32, "");
    let engine = engine_with(node, move |cx: &mut CallbackContext<'_>| {
        runs.fetch_add(1, Ordering::Relaxed);
        let x: f32 = cx.get("x")?;
        cx.set("value", x)
    });
    let document = json!({ "millstream": 2, "fps": 10,
        "inputs": { "x": { "type": "f64", "default": 1 }, "tint": { "type": "f32", "default": 1 } },
        "outputs": { "y": { "type": "f32", "from": "tinted.value" } },
        "nodes": {
            "tinted": { "type": "math.multiply", "in": { "a": { "from": "sum.value" }, "b": { "input": "tint" } } },
            "t": { "type": "context.time" },
            "tx": { "type": "math.multiply", "in": { "a": { "from": "t.value" }, "b": { "input": "x" } } },
            "f": { "type": "convert.to_f32", "in": { "x": { "from": "tx.value" } } },
            "n": { "type": "my.count", "in": { "x": { "from": "f.value" } } },
            "sum": { "type": "state.integrate", "in": { "rate": { "from": "n.value" } } } } });
    let (document, _) = engine.read(document.to_string().as_bytes());
    let document = document.expect("it can be read");
    let mirrored = Session::new(&engine, document.clone());
    for mut session in [mirrored, Session::with_evaluator(&engine, document, Lazy)] {
        let played = |session: &mut Session, frame: i64| {
            let before = count.load(Ordering::Relaxed);
            session.seek(frame).expect("it plays");
            count.load(Ordering::Relaxed) - before
        };
        assert_eq!(played(&mut session, 1000), 1000);
        // Every 16th state is kept.
        assert_eq!(played(&mut session, 999), 7);
        assert_eq!(played(&mut session, 528), 0);
        assert_eq!(played(&mut session, 15), 15);
        // Forward, too.
        assert_eq!(played(&mut session, 800), 0);
        // An input that no state reads changes none of them.
        session.set("tint", 3.0_f32).expect("an input");
        assert_eq!(played(&mut session, 528), 0);
        session.unset("tint");
        assert_eq!(played(&mut session, 800), 0);
        // After a change, all ticks are played again.
        session.set("x", 2.0).expect("an input");
        assert_eq!(played(&mut session, 805), 5);
        assert_eq!(played(&mut session, 801), 801);
        session.set("x", 2.0).expect("an input");
        assert_eq!(played(&mut session, 800), 0);
        session.keep_checkpoints(0);
        assert_eq!(played(&mut session, 700), 700);
        session.restart();
        assert_eq!(played(&mut session, 100), 100);
    }
}
