//! Node types with callbacks, as embedding programs register them: every evaluator and a session
//! agree, lazy inputs run only for elements that ask for them, and misuse has a message.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use millstream::evaluate::EVALUATORS;
use millstream::register::{CallbackContext, Need, Stop};
use millstream::session::{Ask, Session};
use millstream::twice::twice;
use millstream::{Engine, Feature, List, NodeDef, Request, Type, Value, ValueType};
use millstream_base::same::Same;
use millstream_testkit::custom;
use serde_json::{Value as Json, json};

pub(super) fn engine() -> Engine {
    Engine::new().with_library(custom::register)
}

/// The engine with one more node type, with this callback.
pub(super) fn engine_with(
    def: NodeDef,
    run: impl Fn(&mut CallbackContext<'_>) -> Result<(), Stop> + Send + Sync + 'static,
) -> Engine {
    let mut engine = engine();
    engine.register(def.callback(run));
    engine
}

fn node(name: &'static str) -> NodeDef {
    NodeDef::new(name, "").output("value", Type::F32, "")
}

/// A document of these nodes with the inputs `x: f32` and `on: bool`, and outputs with these types
/// and sources.
pub(super) fn document(nodes: &Json, outputs: &[(&str, &str, &str)]) -> String {
    let outputs: serde_json::Map<String, Json> = outputs
        .iter()
        .map(|(name, ty, from)| ((*name).to_owned(), json!({ "type": ty, "from": from })))
        .collect();
    json!({ "millstream": 2, "fps": 10,
        "inputs": { "x": { "type": "f32", "default": 3 }, "on": { "type": "bool", "default": true } },
        "nodes": nodes, "outputs": outputs })
    .to_string()
}

/// The values of an output, which have the same bits in every evaluator.
pub(super) fn values(engine: &Engine, text: &str, request: &Request, output: &str) -> Vec<Value> {
    let program = engine.load(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let mut all: Option<Vec<Value>> = None;
    for make in EVALUATORS.iter().flat_map(|row| row.settings) {
        let mut evaluator = make();
        let answer = program.run_with(&mut *evaluator, request).expect("it runs");
        assert!(answer.failures.is_empty(), "{}: {:?}", evaluator.name(), answer.failures);
        let series = answer.output(output).and_then(|it| it.value.as_ref()).expect("a value");
        let found: Vec<Value> = answer.full_column(series).iter().collect();
        let known = all.get_or_insert_with(|| found.clone());
        let are_same =
            known.len() == found.len() && known.iter().zip(&found).all(|(a, b)| a.same(b));
        assert!(are_same, "{}: {known:?} and {found:?}", evaluator.name());
    }
    all.expect("there are evaluators")
}

pub(super) fn numbers(engine: &Engine, text: &str, request: &Request, output: &str) -> Vec<f32> {
    let values = values(engine, text, request, output);
    values.iter().map(|value| f32::from_value(value).expect("a number")).collect()
}

/// The failures of a document, which are the same in every evaluator and in a session.
pub(super) fn failures(engine: &Engine, text: &str) -> String {
    let program = engine.load(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let shown = |failures: &[millstream::NodeFailure]| {
        let shown: Vec<String> = failures
            .iter()
            .map(|it| match &it.help {
                Some(help) => format!("{}: {} ({help})", it.path, it.message),
                None => format!("{}: {}", it.path, it.message),
            })
            .collect();
        shown.join("\n")
    };
    let mut session = Session::open(engine, text.as_bytes()).expect("it opens");
    let evaluated = session.eval(&Ask::all()).expect("it is evaluated");
    let known = shown(&evaluated.answer.failures);
    for make in EVALUATORS.iter().flat_map(|row| row.settings) {
        let mut evaluator = make();
        let answer = program.run_with(&mut *evaluator, &Request::new()).expect("it runs");
        assert_eq!(shown(&answer.failures), known, "{}", evaluator.name());
    }
    known
}

#[test]
fn a_callback_reads_features_that_it_declares() {
    let nodes = json!({ "n": { "type": "custom.wave", "in": { "speed": 2 } },
        "p": { "type": "custom.place" } });
    let text = document(&nodes, &[("y", "f64", "n.value"), ("p", "f32", "p.value")]);
    let engine = engine();
    let at = values(&engine, &text, &Request::new().time(1.5).output("y"), "y");
    assert!(at[0].same(&Value::F64(3.0)), "{at:?}");
    let places = numbers(&engine, &text, &Request::new().count(4).output("p"), "p");
    assert_eq!(places, [0.0, 0.25, 0.5, 0.75]);
    let program = engine.load(text.as_bytes()).expect("it compiles");
    let lacking = program.run(&Request::new().output("p")).expect_err("there is no index");
    assert!(lacking.to_string().contains("index"), "{lacking}");
}

#[test]
fn an_input_is_evaluated_in_a_context_of_its_own() {
    let nodes = json!({
        "t": { "type": "custom.wave" },
        "f": { "type": "convert.to_f32", "in": { "x": { "from": "t.value" } } },
        "n": { "type": "custom.moment",
            "in": { "from": 0.5, "value": { "from": "f.value" }, "now": { "from": "f.value" } } },
        "i": { "type": "context.index" },
        "before": { "type": "custom.earlier", "set": { "by": 2 }, "in": { "value": { "from": "i.value" } } },
    });
    let text = document(&nodes, &[("y", "f32", "n.value"), ("i", "i32", "before.value")]);
    assert_eq!(numbers(&engine(), &text, &Request::new().time(2.0).output("y"), "y"), [1.5]);
    let before = values(&engine(), &text, &Request::new().count(3).output("i"), "i");
    assert!(before.iter().zip([-2, -1, 0]).all(|(a, b)| a.same(&Value::I32(b))), "{before:?}");
    let mut session = Session::open(&engine(), text.as_bytes()).expect("it opens");
    session.set_time(2.0);
    assert_eq!(session.value::<f32>("y").expect("it runs"), Some(1.5));
}

/// Counts the elements that it computes.
fn counting(name: &'static str, count: &Arc<AtomicU64>) -> NodeDef {
    let count = Arc::clone(count);
    NodeDef::from_closure(name, "", &["x"], move |x: f32| {
        count.fetch_add(1, Ordering::Relaxed);
        x
    })
}

#[test]
fn lazy_inputs_run_for_the_elements_that_ask_for_them() {
    let counts: [Arc<AtomicU64>; 3] = Default::default();
    let mut engine = engine();
    for (name, count) in ["my.a", "my.b", "my.c"].into_iter().zip(&counts) {
        engine.register(counting(name, count));
    }
    let counted = |nodes: &Json, request: &Request| -> [u64; 3] {
        let text = document(nodes, &[("y", "f32", "n.value")]);
        let program = engine.load(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        let mut found: Option<[u64; 3]> = None;
        for make in EVALUATORS.iter().flat_map(|row| row.settings) {
            for count in &counts {
                count.store(0, Ordering::Relaxed);
            }
            let mut evaluator = make();
            let answer = program.run_with(&mut *evaluator, request).expect("it runs");
            assert!(answer.failures.is_empty(), "{:?}", answer.failures);
            let now = [0, 1, 2].map(|i| counts[i].load(Ordering::Relaxed));
            assert_eq!(*found.get_or_insert(now), now, "{}", evaluator.name());
        }
        found.expect("there are evaluators")
    };
    let asking = json!({
        "a": { "type": "my.a", "in": { "x": { "input": "x" } } },
        "minus": { "type": "math.negate", "in": { "x": { "input": "x" } } },
        "b": { "type": "my.b", "in": { "x": { "from": "minus.value" } } },
        "c": { "type": "my.c", "in": { "x": { "input": "x" } } },
        "n": { "type": "custom.first_positive",
            "in": { "a": { "from": "a.value" }, "b": { "from": "b.value" }, "c": { "from": "c.value" } } },
    });
    assert_eq!(counted(&asking, &Request::new()), [1, 0, 0]);
    assert_eq!(counted(&asking, &Request::new().set("x", -1.0_f32)), [1, 1, 0]);
    let column = Request::new().column("x", vec![1.0_f32, -1.0, 0.0, 2.0, -3.0]);
    assert_eq!(counted(&asking, &column), [5, 3, 1]);
    let text = document(&asking, &[("y", "f32", "n.value")]);
    assert_eq!(numbers(&engine, &text, &column, "y"), [1.0, 1.0, 0.0, 2.0, 3.0]);
    let selecting = json!({
        "way": { "type": "convert.to_i32", "in": { "x": { "input": "x" } } },
        "a": { "type": "my.a", "in": { "x": { "input": "x" } } },
        "b": { "type": "my.b", "in": { "x": { "input": "x" } } },
        "n": { "type": "custom.select",
            "in": { "way": { "from": "way.value" }, "a": { "from": "a.value" }, "b": { "from": "b.value" } } },
    });
    assert_eq!(counted(&selecting, &Request::new().set("x", 1.0_f32)), [0, 1, 0]);
    let column = Request::new().column("x", vec![0.0_f32, 1.0, 2.0, 3.0]);
    assert_eq!(counted(&selecting, &column), [3, 3, 0]);
    let text = document(&selecting, &[("y", "f32", "n.value")]);
    assert_eq!(numbers(&engine, &text, &column, "y"), [0.0, 1.0, 4.0, 6.0]);
}

#[test]
fn a_session_runs_lazy_inputs_only_while_they_are_asked_for() {
    let count = Arc::new(AtomicU64::new(0));
    let mut engine = engine();
    engine.register(counting("my.a", &count));
    let nodes = json!({
        "a": { "type": "my.a", "in": { "x": { "input": "x" } } },
        "n": { "type": "custom.first_positive",
            "in": { "a": { "input": "x" }, "b": { "from": "a.value" }, "c": 7 } },
    });
    let text = document(&nodes, &[("y", "f32", "n.value")]);
    let mut session = Session::open(&engine, text.as_bytes()).expect("it opens");
    for (x, y, n) in
        [(2.0_f32, 2.0_f32, 0), (4.0, 4.0, 0), (-1.0, 7.0, 1), (3.0, 3.0, 1), (-1.0, 7.0, 1)]
    {
        session.set("x", x).expect("there is an input");
        let evaluated = session.eval(&Ask::output("y")).expect("it is evaluated");
        assert!(evaluated.plan().is_none(), "a live graph answers");
        assert_eq!(session.value::<f32>("y").expect("it runs"), Some(y));
        assert_eq!(count.load(Ordering::Relaxed), n, "at {x}");
    }
}

#[test]
fn state_is_kept_from_tick_to_tick_and_for_each_element() {
    let nodes = json!({
        "n": { "type": "custom.running", "set": { "most": 5 }, "in": { "value": { "input": "x" } } },
        "i": { "type": "context.index" },
        "f": { "type": "convert.to_f32", "in": { "x": { "from": "i.value" } } },
        "inside": { "type": "custom.running", "in": { "value": { "from": "f.value" } } },
        "all": { "type": "list.generate", "in": { "item": { "from": "inside.value" }, "count": 3 } },
        "few": { "type": "custom.lazy_state", "in": { "when": { "input": "on" }, "value": { "input": "x" } } },
    });
    let outputs = [
        ("y", "f32", "n.value"),
        ("all", "list<f32>", "all.value"),
        ("few", "list<f32>", "few.value"),
    ];
    let text = document(&nodes, &outputs);
    let frames = Request::new().frames((0..3).collect());
    let played = numbers(&engine(), &text, &frames.clone().output("y"), "y");
    assert_eq!(played, [3.5, 6.5, 3.0]);
    let mut lists = values(&engine(), &text, &frames.clone().output("all"), "all");
    assert_eq!(lists.pop().expect("three").to_string(), "[0.5, 3.5, 6.5]");
    let mut lists = values(&engine(), &text, &frames.output("few"), "few");
    assert_eq!(lists.pop().expect("three").to_string(), "[0.0, 3.0, 1.0, 3.0, 2.0, 3.0]");
    let mut session = Session::open(&engine(), text.as_bytes()).expect("it opens");
    let mut seen = Vec::new();
    for frame in 0..3 {
        session.seek(frame).expect("it ticks");
        seen.push(session.value::<f32>("y").expect("it runs").expect("a value"));
    }
    assert_eq!(seen, played);
}

#[test]
fn lists_and_mutable_inputs_are_edited_in_place() {
    let nodes = json!({
        "list": { "type": "list.of", "in": { "items": [{ "input": "x" }, { "value": 1.0 }, { "value": 6.0 }] } },
        "twice": { "type": "custom.doubled", "in": { "list": { "from": "list.value" } } },
        "again": { "type": "custom.doubled", "in": { "list": { "from": "twice.list" } } },
        "steps": { "type": "custom.steps", "in": { "list": { "from": "again.list" } } },
    });
    let outputs = [
        ("y", "list<f32>", "steps.value"),
        ("z", "list<f32>", "list.value"),
        ("n", "i32", "steps.n"),
    ];
    let text = document(&nodes, &outputs);
    let column = Request::new().column("x", vec![0.0_f32, 2.0]);
    let lists = values(&engine(), &text, &column, "y");
    assert_eq!(
        lists.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["[4.0, 20.0]", "[-4.0, 20.0]"]
    );
    let kept = values(&engine(), &text, &column, "z");
    assert_eq!(kept[1].to_string(), "[2.0, 1.0, 6.0]", "what others read stays");
}

#[test]
fn an_undeclared_feature_is_an_error_that_names_both() {
    let engine = engine_with(node("my.liar"), |cx| {
        cx.set("value", cx.feature::<f64>(Feature::Time)? as f32)
    });
    let nodes = json!({ "n": { "type": "my.liar" } });
    let text = document(&nodes, &[("y", "f32", "n.value")]);
    assert_eq!(
        failures(&engine, &text),
        "n: `my.liar` reads the feature `time`, which it does not declare (declare it with `reads` in \
         the node type)"
    );
    let program = engine.load(text.as_bytes()).expect("it compiles");
    let found = twice(&engine, program.document(), &Request::new()).expect("it runs");
    let errors: Vec<String> = found.undeclared.iter().map(ToString::to_string).collect();
    assert_eq!(errors, ["`n` reads the feature `time`, which `my.liar` does not declare"]);
    assert!(found.failed.is_empty() && found.unread.is_empty(), "{found:?}");
}

#[test]
fn a_declared_feature_that_no_run_reads_is_a_warning() {
    let def =
        node("my.careful").input("x", Type::F32, "").reads(Feature::Time).reads(Feature::Tick);
    let engine = engine_with(def, |cx| {
        let late = if cx.get::<f32>("x")? > 5.0 { cx.feature::<f64>(Feature::Time)? } else { 0.0 };
        cx.set("value", late as f32)
    });
    let nodes = json!({ "n": { "type": "my.careful", "in": { "x": { "input": "x" } } },
        "m": { "type": "my.careful", "in": { "x": 2 } } });
    let text = document(&nodes, &[("y", "f32", "n.value"), ("z", "f32", "m.value")]);
    let program = engine.load(text.as_bytes()).expect("it compiles");
    let unread = |request: &Request| -> Vec<String> {
        let found = twice(&engine, program.document(), request).expect("it runs");
        found.unread.iter().map(ToString::to_string).collect()
    };
    let time = "no run of `my.careful` read the feature `time`, which the type declares";
    let tick = "no run of `my.careful` read the feature `tick`, which the type declares";
    assert_eq!(unread(&Request::new()), [time, tick]);
    assert_eq!(unread(&Request::new().set("x", 6.0_f32)), [tick], "one node of the type reads it");
}

#[test]
fn misuse_of_a_lazy_input_has_a_message() {
    let lazy = || node("my.asks").input("a", Type::F32, "").lazy().input("b", Type::F32, "").lazy();
    let nodes = json!({ "low": { "type": "math.negate", "in": { "x": { "input": "x" } } },
        "fails": { "type": "custom.two", "in": { "a": { "from": "low.value" }, "b": 0 } },
        "n": { "type": "my.asks", "in": { "a": { "input": "x" }, "b": { "from": "fails.root" } } } });
    let text = document(&nodes, &[("y", "f32", "n.value")]);
    let twice = engine_with(lazy(), |cx| {
        let sum = cx.get::<f32>("a")? + cx.get::<f32>("a")?;
        cx.set("value", sum)
    });
    assert_eq!(
        failures(&twice, &text),
        "n: `my.asks` asks for the lazy input `a` twice (ask once, and keep the value in a variable)"
    );
    let failed = engine_with(lazy(), |cx| {
        let sum = cx.get::<f32>("a")? + cx.get::<f32>("b")?;
        cx.set("value", sum)
    });
    assert_eq!(failures(&failed, &text), "fails/root: a negative number has no root");
    let not_asked = engine_with(lazy(), |cx| cx.set("value", cx.get::<f32>("a")?));
    assert_eq!(failures(&not_asked, &text), "", "nobody asks for what fails");
    let select = lazy().selector(|_| Ok(&["a"]));
    let unselected = engine_with(select, |cx| cx.set("value", cx.get::<f32>("b")?));
    assert_eq!(
        failures(&unselected, &text),
        "n: `my.asks` reads the lazy input `b`, which its selector did not name (let the selector name \
         all that the callback reads)"
    );
    let select = lazy().selector(|_| Ok(&["c"]));
    let unknown = engine_with(select, |cx| cx.set("value", cx.get::<f32>("b")?));
    assert_eq!(
        failures(&unknown, &text),
        "n: the selector of `my.asks` names `c`, which is not a lazy input (lazy inputs: `a`, `b`)"
    );
    let select = lazy().selector(|cx| cx.get::<f32>("a").map(|_| &["a"][..]));
    let lazily = engine_with(select, |cx| cx.set("value", cx.get::<f32>("a")?));
    assert_eq!(
        failures(&lazily, &text),
        "n: the selector of `my.asks` reads the lazy input `a` (a selector reads inputs that are not \
         lazy)"
    );
}

type Run = fn(&mut CallbackContext<'_>) -> Result<(), Stop>;

#[test]
fn other_misuse_of_the_context_has_a_message() {
    let nodes = json!({ "n": { "type": "my.node", "in": { "x": { "input": "x" } } } });
    let text = document(&nodes, &[("y", "f32", "n.value")]);
    let def = || node("my.node").input("x", Type::F32, "");
    let cases: [(Run, &str); 10] = [
        (|cx| cx.get::<f32>("y").map(drop), "`my.node` has no input called `y` (inputs: x)"),
        (
            |cx| cx.get::<f64>("x").map(drop),
            "`my.node` reads input `x` as f64, but it is f32 (the type in Rust must be that of the \
             socket)",
        ),
        (
            |cx| cx.list::<f32>("x").map(drop),
            "`my.node` reads input `x` as list<f32>, but it is f32 (the type in Rust must be that of \
             the socket)",
        ),
        (|cx| cx.set("z", 0.0_f32), "`my.node` has no output called `z` (outputs: value)"),
        (
            |cx| cx.set("value", 0_i32),
            "`my.node` gives output `value` as i32, but it is f32 (the type in Rust must be that of \
             the socket)",
        ),
        (
            |_| Ok(()),
            "`my.node` gives no value for its output `value` (set every output for which `wants` is \
             true, whatever the inputs)",
        ),
        (
            |cx| cx.state::<f32>("s").map(drop),
            "`my.node` keeps no state called `s` (declare it with `keeps` in the node type)",
        ),
        (
            |cx| cx.edit::<f32>("x").map(drop),
            "`my.node` edits the input `x` (declare it as `mutable`, and give the output that takes it \
             over its name)",
        ),
        (|cx| Err(cx.failure("it is too much")), "it is too much"),
        (|_| panic!("a bug"), "the node type panicked: a bug"),
    ];
    for (run, message) in cases {
        assert_eq!(failures(&engine_with(def(), run), &text), format!("n: {message}"));
    }
}

#[test]
fn needs_hold_whatever_reads_them() {
    assert_eq!(Need::from(Feature::Time), Need::at(Feature::Time, 0));
    let engine = engine_with(node("my.node").reads(Need::at(Feature::Index, 1)), |cx| {
        cx.set("value", cx.feature::<i32>(Need::at(Feature::Index, 1))? as f32)
    });
    let nodes = json!({ "n": { "type": "my.node" },
        "all": { "type": "list.generate", "in": { "item": { "from": "n.value" }, "count": 2 } } });
    let text = document(&nodes, &[("y", "list<f32>", "all.value")]);
    let lists = values(&engine, &text, &Request::new().count(3), "y");
    assert_eq!(lists[2].to_string(), "[2.0, 2.0]");
}

/// Two nodes of one type that wait for each other; returns whether they met in the first evaluation
/// on two threads.
fn meet(cost: Option<Duration>, patience: Duration) -> bool {
    let here = Arc::new((Mutex::new(0), Condvar::new()));
    let arrived = Arc::clone(&here);
    let def = NodeDef::from_closure("my.meets", "", &["x"], move |x: f32| {
        let (n, changed) = &*arrived;
        let mut n = n.lock().expect("nobody panics");
        *n += 1;
        changed.notify_all();
        let met = changed.wait_timeout_while(n, patience, |n| *n < 2).expect("nobody panics");
        if met.1.timed_out() { 0.0 } else { x }
    });
    let mut engine = engine();
    engine.register(match cost {
        Some(cost) => def.cost(cost),
        None => def,
    });
    let nodes = json!({ "b": { "type": "my.meets", "in": { "x": { "input": "x" } } },
        "half": { "type": "math.multiply", "in": { "a": { "input": "x" }, "b": 0.5 } },
        "c": { "type": "my.meets", "in": { "x": { "from": "half.value" } } },
        "n": { "type": "math.multiply", "in": { "a": { "from": "b.value" }, "b": { "from": "c.value" } } } });
    let text = document(&nodes, &[("y", "f32", "n.value")]);
    let program = engine.load(text.as_bytes()).expect("it compiles");
    let two = NonZeroUsize::new(2).expect("it is not zero");
    let mut parallel = List::new().threads(two).jobs_from(Duration::from_millis(1));
    let answer = program.run_with(&mut parallel, &Request::new()).expect("it runs");
    answer.value::<f32>("y") == Some(4.5)
}

#[test]
fn a_stated_cost_is_shared_out_before_any_run_was_timed() {
    assert!(meet(Some(Duration::from_millis(5)), Duration::from_secs(20)));
    assert!(!meet(None, Duration::from_millis(50)), "nobody knows the cost yet");
}
