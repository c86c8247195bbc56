//! Limits and cancellation of evaluations in a session: budgets, deadlines, waiting for
//! compilations, observers.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use millstream::document::load;
use millstream::evaluate::{Budget, Equality};
use millstream::session::{Ask, Session, SessionError, Standing};
use millstream::{
    Call, Chunked, Class, Edit, Engine, EvalError, Evaluator, Given, Incremental, Lazy, List,
    LogDetail, NodeDef, Progress, Request, Type,
};
use serde_json::{Value as Json, json};

/// An engine with a node that counts its runs, one with a large result, and one that takes long.
fn engine(n_runs: &Arc<AtomicUsize>) -> Engine {
    let mut engine = Engine::new();
    let n_runs = Arc::clone(n_runs);
    let counted = move |a: f32| {
        n_runs.fetch_add(1, Ordering::Relaxed);
        a * 2.0
    };
    engine.register(NodeDef::from_closure("test.counted", "", &["a"], counted));
    let big = |a: f32| -> Arc<str> { format!("{a}").repeat(100_000).into() };
    engine.register(NodeDef::from_closure("test.big", "", &["a"], big));
    let twice = |a: Arc<str>| -> Arc<str> { a.repeat(2).into() };
    engine.register(NodeDef::from_closure("test.twice", "", &["a"], twice));
    let slow = |a: f32| {
        std::thread::sleep(Duration::from_secs(2));
        a
    };
    engine.register(NodeDef::from_closure("test.slow", "", &["a"], slow));
    engine
}

fn document(outputs: &Json, nodes: &Json) -> String {
    let inputs = json!({ "x": { "type": "f32", "default": 1 } });
    json!({ "millstream": 2, "inputs": inputs, "outputs": outputs, "nodes": nodes }).to_string()
}

fn f32_from(link: &str) -> Json {
    json!({ "type": "f32", "from": link })
}

fn session(engine: &Engine, text: &str) -> Session {
    Session::open(engine, text.as_bytes()).expect("it opens")
}

fn within_bytes(bytes: usize, ask: Ask) -> Ask {
    let mut ask = ask;
    ask.limits.bytes = bytes;
    ask
}

fn edit(json: Json) -> Edit {
    serde_json::from_value(json).expect("an edit")
}

#[test]
fn an_ask_that_needs_too_much_fails_alone() {
    let n_runs = Arc::default();
    let engine = engine(&n_runs);
    let nodes = json!({
        "k": { "type": "test.counted", "in": { "a": { "input": "x" } } },
        "p": { "type": "test.big", "in": { "a": { "input": "x" } } },
        "q": { "type": "test.twice", "in": { "a": { "from": "p.value" } } } });
    let outputs =
        json!({ "k": f32_from("k.value"), "text": { "type": "string", "from": "q.value" } });
    let mut session = session(&engine, &document(&outputs, &nodes));
    session.eval(&Ask::output("k")).expect("it runs");
    let limit = 1000;
    for _ in 0..3 {
        let error = session.eval(&within_bytes(limit, Ask::all())).expect_err("it is too much");
        assert_eq!(error, SessionError::Eval(EvalError::Bytes { limit }));
    }
    let evaluated = session.eval(&Ask::all()).expect("it runs");
    assert!(evaluated.plan().is_none(), "the live graph is still there");
    assert_eq!(evaluated.answer.value::<Arc<str>>("text").map(|text| text.len()), Some(200_000));
    session.eval(&within_bytes(limit, Ask::all())).expect_err("what is given counts too");
    session.eval(&within_bytes(200_000, Ask::all())).expect("the rest is at hand");
    assert_eq!(n_runs.load(Ordering::Relaxed), 1);
}

#[test]
fn a_budget_holds_as_for_a_program() {
    let engine = engine(&Arc::default());
    let nodes = json!({ "p": { "type": "test.big", "in": { "a": { "input": "x" } } } });
    let outputs = json!({ "text": { "type": "string", "from": "p.value" } });
    let mut session = session(&engine, &document(&outputs, &nodes));
    session.eval(&within_bytes(1000, Ask::all())).expect_err("it holds 100,000 bytes");
    session.eval(&within_bytes(99_999, Ask::all())).expect_err("one byte more");
    session.eval(&within_bytes(100_000, Ask::all())).expect("no more than that");
}

/// A feature that only an optimised plan knows not to need is missing, and that plan takes long to
/// make.
fn slow_to_compile() -> String {
    let nodes = json!({
        "p": { "type": "test.slow", "in": { "a": 1 } },
        "q": { "type": "math.add", "in": { "a": { "from": "p.value" }, "b": { "input": "x" } } },
        "f": { "type": "context.feature", "set": { "name": "mood", "type": "f32" } },
        "sw": { "type": "control.switch", "in": { "condition": false,
            "false": { "input": "x" }, "true": { "from": "f.value" } } } });
    document(&json!({ "o": f32_from("sw.value"), "r": f32_from("q.value") }), &nodes)
}

#[test]
fn nobody_waits_for_a_compilation_longer_than_said() {
    let mut session = session(&engine(&Arc::default()), &slow_to_compile());
    let start = Instant::now();
    let soon = || Some(Instant::now() + Duration::from_millis(30));
    let ask = Ask { budget: Budget::by(soon()), ..Ask::output("o") };
    let error = session.eval(&ask).expect_err("it is late");
    assert_eq!(error, SessionError::Eval(EvalError::Deadline));
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        raised.store(true, Ordering::Relaxed);
    });
    let ask = Ask { budget: Budget::until(&flag), ..Ask::output("o") };
    let error = session.eval(&ask).expect_err("it is cancelled");
    assert_eq!(error, SessionError::Eval(EvalError::Cancelled));
    thread.join().expect("it sleeps only");
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    // The compilation continued in the meantime.
    assert_eq!(session.value::<f32>("o").expect("it runs"), Some(1.0));
}

#[test]
fn the_end_of_a_session_waits_for_nothing() {
    let session = session(&engine(&Arc::default()), &slow_to_compile());
    std::thread::sleep(Duration::from_millis(30));
    let start = Instant::now();
    drop(session);
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
}

#[test]
fn evaluations_for_observers_can_be_ended() {
    let nodes = json!({ "a": { "type": "test.slow", "in": { "a": { "input": "x" } } },
        "b": { "type": "math.add", "in": { "a": { "from": "a.value" }, "b": 1 } } });
    let text = document(&json!({ "o": f32_from("b.value") }), &nodes);
    let mut session = session(&engine(&Arc::default()), &text);
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = Arc::clone(&told);
    let flag = Arc::new(AtomicBool::new(true));
    session.push_within(Standing { cancel: Some(Arc::clone(&flag)), ..Standing::default() });
    session.observe("o", move |answer| {
        tell.lock().expect("it is free").push(answer.value.clone().map(|it| it.data.get(0)));
    });
    let start = Instant::now();
    session.set("x", 7_f32).expect("it fits");
    let failed = vec![("o".to_owned(), SessionError::Eval(EvalError::Cancelled))];
    assert_eq!(session.pushed().failed, failed);
    assert!(start.elapsed() < Duration::from_secs(1), "nothing ran");
    flag.store(false, Ordering::Relaxed);
    session.push();
    assert_eq!((session.pushed().n_called, session.pushed().failed.len()), (1, 0));
    session.push_within(Standing { time: Some(Duration::from_millis(1)), ..Standing::default() });
    session.set("x", 8_f32).expect("it fits");
    let failed = vec![("o".to_owned(), SessionError::Eval(EvalError::Deadline))];
    assert_eq!(session.pushed().failed, failed);
    let stops = Progress::new(|_| ControlFlow::Break(())).every(Duration::ZERO);
    session.push_within(Standing { progress: Some(stops), ..Standing::default() });
    session.set("x", 9_f32).expect("it fits");
    let failed = vec![("o".to_owned(), SessionError::Eval(EvalError::Cancelled))];
    assert_eq!(session.pushed().failed, failed);
    session.push_within(Standing::default());
    session.set("x", 7_f32).expect("it fits");
    assert_eq!(session.pushed().n_called, 0, "it has the value that was told");
    assert_eq!(told.lock().expect("it is free").len(), 1);
}

#[test]
fn an_observer_more_is_told_alone() {
    let n_runs = Arc::default();
    let outputs: serde_json::Map<String, Json> =
        (0..50).map(|i| (format!("o{i}"), f32_from(&format!("n{i}.value")))).collect();
    // Each node has other inputs, since a plan merges nodes that do the same.
    let add = |i: u32| json!({ "type": "math.add", "in": { "a": { "input": "x" }, "b": i } });
    let counted = |i: u32| json!({ "type": "test.counted", "in": { "a": { "from": format!("a{i}.value") } } });
    let nodes: serde_json::Map<String, Json> =
        (0..50).flat_map(|i| [(format!("a{i}"), add(i)), (format!("n{i}"), counted(i))]).collect();
    let text = document(&Json::Object(outputs), &Json::Object(nodes));
    let mut session = session(&engine(&n_runs), &text);
    let mut ids = Vec::new();
    for i in 0..50 {
        ids.push(session.observe(format!("o{i}"), |_| {}));
        assert_eq!(session.pushed().n_called, 1);
    }
    session.observe("nobody", |_| {});
    assert_eq!(session.pushed().failed.len(), 1);
    assert_eq!(n_runs.load(Ordering::Relaxed), 50);
    session.set("x", 2_f32).expect("it fits");
    assert_eq!((session.pushed().n_called, session.pushed().failed.len()), (50, 1));
    assert_eq!(n_runs.load(Ordering::Relaxed), 100);
    assert!(session.unobserve(ids[3]));
    session.set("x", 3_f32).expect("it fits");
    assert_eq!(session.pushed().n_called, 49);
}

#[test]
fn an_evaluator_that_keeps_values_follows_edits() {
    let n_runs = Arc::default();
    let engine = engine(&n_runs);
    let nodes = json!({ "a": { "type": "test.counted", "in": { "a": { "input": "x" } } },
        "b": { "type": "test.counted", "in": { "a": { "from": "a.value" } } } });
    let text = document(&json!({ "o": f32_from("b.value"), "p": f32_from("a.value") }), &nodes);
    let document = || load(text.as_bytes(), engine.limits()).0.expect("it loads");
    let incremental = Incremental::new().budget(1 << 24);
    let mut session = Session::with_evaluator(&engine, document(), incremental);
    session.eval(&Ask::all()).expect("it runs");
    let rename = edit(json!({ "edit": "rename_node", "node": "a", "to": "r" }));
    session.edit(&rename).expect("it fits");
    session.eval(&Ask::all()).expect("it runs");
    let group = json!({ "edit": "group", "nodes": ["r", "b"], "name": "g" });
    session.edit(&edit(group)).expect("it fits");
    session.eval(&Ask::all()).expect("it runs");
    assert_eq!(n_runs.load(Ordering::Relaxed), 2);

    let tolerant = Incremental::new().equality(Type::F32, Equality::Within(0.25));
    let mut session = Session::with_evaluator(&engine, document(), tolerant);
    for i in 0..12 {
        session.set("x", 1.0 + i as f32 * 0.05).expect("it fits");
        session.eval(&Ask::all()).expect("it runs");
    }
    let before = session.value::<f32>("o").expect("it runs");
    session.edit(&rename).expect("it fits");
    assert_eq!(session.value::<f32>("o").expect("it runs"), before);
    session.set_all([("x", Given::One(3_f32.into()))]).expect("it fits");
    assert_eq!(session.value::<f32>("o").expect("it runs"), Some(12.0));
}

/// The nodes that ran in an evaluation, with the reasons.
fn reasons(session: &mut Session, ask: Ask) -> Vec<String> {
    let evaluated = session.eval(&ask.with_log(LogDetail::Counts)).expect("it runs");
    let ran = evaluated.runs().into_iter().filter(|run| run.entry.runs > 0);
    ran.map(|run| format!("{} {}", run.path, run.entry.fate.why())).collect()
}

/// Cancels after this many nodes ran.
fn ended_after(n_runs: u64) -> Ask {
    let look = move |done: &millstream::Done| {
        if done.runs >= n_runs { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    Ask { progress: Some(Progress::new(look).every(Duration::ZERO)), ..Ask::all() }
}

#[test]
fn what_was_ended_goes_on_and_says_why() {
    let counted = |from: Json| json!({ "type": "test.counted", "in": { "a": from } });
    let nodes = json!({ "a": counted(json!({ "input": "x" })), "b": counted(json!({ "from": "a.value" })),
        "c": counted(json!({ "from": "b.value" })) });
    let mut session =
        session(&engine(&Arc::default()), &document(&json!({ "o": f32_from("c.value") }), &nodes));
    assert_eq!(reasons(&mut session, Ask::all()), ["a first time", "b first time", "c first time"]);
    session.set("x", 3_f32).expect("it fits");
    session.eval(&ended_after(1)).expect_err("it is ended");
    let ran = ["b an input changed", "c an input changed"];
    assert_eq!(reasons(&mut session, Ask::all()), ran, "the first one ran");
    session.set("x", 5_f32).expect("it fits");
    session.eval(&ended_after(0)).expect_err("it is ended");
    session.set("x", 3_f32).expect("it fits");
    assert!(reasons(&mut session, Ask::all()).is_empty(), "that is what all have read");
    session.set("x", 5_f32).expect("it fits");
    session.eval(&ended_after(1)).expect_err("it is ended");
    session.set("x", 3_f32).expect("it fits");
    // The last inputs of the second node are not known any more.
    let ran = ["a an input changed", "b an input changed"];
    assert_eq!(reasons(&mut session, Ask::all()), ran);
    assert_eq!(session.value::<f32>("o").expect("it runs"), Some(24.0));
}

#[test]
fn volatile_nodes_say_so() {
    let n_runs = Arc::new(AtomicUsize::new(0));
    let mut engine = engine(&Arc::default());
    let volatile = NodeDef::new("test.volatile", "")
        .class(Class::Volatile)
        .input("a", Type::F32, "")
        .output("value", Type::F32, "")
        .function(move |call: &mut Call<'_>| {
            let n = n_runs.fetch_add(1, Ordering::Relaxed);
            let mut values: Vec<f32> = call.buffer(0);
            values.fill(n as f32);
            call.set(0, values);
            Ok(())
        });
    engine.register(volatile);
    let nodes = json!({ "v": { "type": "test.volatile", "in": { "a": { "input": "x" } } },
        "k": { "type": "test.counted", "in": { "a": { "from": "v.value" } } } });
    let text = document(&json!({ "o": f32_from("k.value") }), &nodes);
    let mut session = session(&engine, &text);
    session.settle();
    assert_eq!(reasons(&mut session, Ask::all()), ["v is volatile", "k first time"]);
    assert_eq!(reasons(&mut session, Ask::all()), ["v is volatile", "k an input changed"]);
}

/// A node that takes a while; while it is `armed` the evaluation is cancelled in the middle, and
/// the flag is cleared at once.
fn cancelled_for_a_moment(armed: &Arc<AtomicBool>, cancel: &Arc<AtomicBool>) -> NodeDef {
    let (armed, cancel) = (Arc::clone(armed), Arc::clone(cancel));
    NodeDef::new("test.long", "").input("a", Type::F32, "").output("value", Type::F32, "").function(
        move |call: &mut Call<'_>| {
            std::thread::sleep(Duration::from_millis(3));
            if armed.load(Ordering::Relaxed) {
                cancel.store(true, Ordering::Relaxed);
                let looked = call.pace().look();
                cancel.store(false, Ordering::Relaxed);
                looked?;
            }
            let a: Vec<f32> = (0..call.extent()).map(|i| call.input::<f32>(0).get(i)).collect();
            call.set(0, a);
            Ok(())
        },
    )
}

#[test]
fn what_was_cancelled_for_a_moment_did_not_fail() {
    let (armed, cancel) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
    let mut engine = Engine::new();
    engine.register(cancelled_for_a_moment(&armed, &cancel));
    let long = || json!({ "type": "test.long", "in": { "a": { "input": "x" } } });
    let longer = |from: &str| json!({ "type": "test.long", "in": { "a": { "from": from } } });
    let nodes = json!({ "a": long(), "b": longer("a.value"), "c": longer("a.value") });
    let outputs = json!({ "o": f32_from("b.value"), "p": f32_from("c.value") });
    let text = document(&outputs, &nodes);
    let program = engine.load(text.as_bytes()).expect("it compiles");
    let evaluators: [&mut dyn Evaluator; 5] = [
        &mut Lazy,
        &mut List::default(),
        &mut Chunked::default(),
        &mut List::parallel(),
        &mut Incremental::new(),
    ];
    for evaluator in evaluators {
        for x in [1_f32, 2.0, 3.0] {
            let request = Request::new();
            for is_armed in [false, true, false] {
                armed.store(is_armed, Ordering::Relaxed);
                let mut request = request.clone().set("x", x + f32::from(u8::from(is_armed)) / 2.0);
                request.budget.cancel = Some(Arc::clone(&cancel));
                let answer = program.run_with(evaluator, &request);
                match answer {
                    Ok(answer) => assert!(!is_armed && answer.failures.is_empty(), "{answer:?}"),
                    Err(error) => assert!(is_armed && error == EvalError::Cancelled, "{error}"),
                }
            }
        }
    }
    let mut session = session(&engine, &text);
    for is_armed in [false, true, false] {
        session.set("x", 7_f32 + f32::from(u8::from(is_armed))).expect("it fits");
        armed.store(is_armed, Ordering::Relaxed);
        let answer = session.eval(&Ask { budget: Budget::until(&cancel), ..Ask::all() });
        assert_eq!(answer.is_err(), is_armed);
        armed.store(false, Ordering::Relaxed);
        let now = session.eval(&Ask::all()).expect("it runs").answer;
        assert_eq!((now.value::<f32>("o"), now.failures.len()), (now.value::<f32>("p"), 0));
    }
}
