//! Sessions: edits and values, wrong and right parts, observers, probes, what-ifs, ticks.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use millstream::evaluate::Budget;
use millstream::session::{Ask, Session, SessionError};
use millstream::{
    Done, Edit, Engine, EvalError, Given, Lazy, LogDetail, NodeFailure, Progress, RequestAxis,
    RequestError, Value,
};
use serde_json::{Value as Json, json};

const SUMS: &str = r#"{ "millstream": 2,
    "inputs": { "x": { "type": "f32", "default": 2 }, "k": { "type": "f32", "default": 10 } },
    "outputs": { "y": { "type": "f32", "from": "c.value" }, "z": { "type": "f32", "from": "d.value" } },
    "nodes": {
        "a": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 1 } },
        "g": { "type": "group", "group": "twice", "in": { "x": { "from": "a.value" } } },
        "c": { "type": "math.multiply", "in": { "a": { "from": "g.v" }, "b": { "input": "k" } } },
        "d": { "type": "math.sqrt", "in": { "x": { "input": "k" } } }
    },
    "groups": { "twice": {
        "inputs": { "x": { "type": "f32" } },
        "outputs": { "v": { "type": "f32", "from": "s.value" } },
        "nodes": { "s": { "type": "math.add", "in": { "a": { "input": "x" }, "b": { "input": "x" } } } } } } }"#;

fn session(text: &str) -> Session {
    Session::open(&Engine::new(), text.as_bytes()).expect("it opens")
}

fn edit(json: Json) -> Edit {
    serde_json::from_value(json).expect("an edit")
}

fn y(session: &mut Session) -> Option<f32> {
    session.value::<f32>("y").expect("it runs")
}

#[test]
fn edits_change_values_and_are_taken_back() {
    let mut session = session(SUMS);
    assert_eq!(y(&mut session), Some(60.0));
    session.edit(&Edit::literal("a", "b", 2)).expect("fits");
    assert!(!session.is_optimised(), "the plain plan answers behind an edit");
    assert_eq!(y(&mut session), Some(80.0));
    session.settle();
    assert!(session.is_optimised());
    assert_eq!(y(&mut session), Some(80.0));
    session.edit(&edit(json!({ "edit": "ungroup", "node": "g" }))).expect("fits");
    session
        .edit(&edit(json!({ "edit": "rename_node", "node": "a", "to": "first" })))
        .expect("fits");
    assert_eq!(y(&mut session), Some(80.0));
    assert!(session.undo() && session.undo() && session.undo() && !session.undo());
    assert_eq!(y(&mut session), Some(60.0));
    assert!(session.redo() && session.redo() && session.redo() && !session.redo());
    assert_eq!(y(&mut session), Some(80.0));
    let cycle =
        json!({ "edit": "set_input", "node": "first", "input": "b", "to": { "from": "c.value" } });
    let refused = session.edit(&edit(cycle)).expect_err("a cycle");
    assert!(matches!(&refused, SessionError::Edit(why) if why.code == "edit::cycle"), "{refused}");
    assert_eq!(y(&mut session), Some(80.0));
    assert!(session.undo());
}

#[test]
fn the_optimised_plan_is_that_of_the_document_however_often_edits_are_taken_back() {
    let counter = json!({ "edit": "add_nodes", "nodes": [
        { "name": "n", "node": { "type": "state.counter" } }] });
    let group = json!({ "edit": "group", "nodes": ["a", "d"], "name": "new" });
    let refused = json!({ "edit": "batch", "edits": [
        { "edit": "add_nodes", "nodes": [{ "name": "m", "node": { "type": "state.counter" } }] },
        { "edit": "ungroup", "node": "none" } ] });
    let mut session = session(SUMS);
    session.edit(&edit(refused)).expect_err("there is no such group");
    session.edit(&edit(group)).expect("fits");
    // First no live graph can answer, then one can again.
    session.edit(&edit(counter)).expect("fits");
    assert!(session.undo() && session.undo());
    session.settle();
    assert!(session.is_optimised() && session.plan().is_some());
    let column = || Given::Along(RequestAxis::Index, [2.0_f32, 3.0].into_iter().collect());
    session.set_all([("x", column())]).expect("fits");
    let last = |session: &mut Session| {
        let series = session.get("y").expect("it runs").value.clone().expect("a value");
        series.data.get(1).get::<f32>()
    };
    assert_eq!(last(&mut session), Some(80.0));
    assert!(session.redo() && session.redo() && session.undo());
    session.settle();
    assert!(session.is_optimised());
    assert_eq!(last(&mut session), Some(80.0));
}

#[test]
fn what_is_right_has_values_where_something_is_wrong() {
    let mut session = session(SUMS);
    session.edit(&Edit::literal("a", "b", "one")).expect("it is well formed");
    assert_eq!(
        session.problems().to_string(),
        "a.b: \"one\" is not an f32 (an f32 is written as a number)"
    );
    let error = session.value::<f32>("y").expect_err("it has no meaning");
    assert_eq!(
        error.to_string(),
        "output `y` has no meaning: a.b: \"one\" is not an f32 (an f32 is written as a number)"
    );
    session.set("k", 16.0_f32).expect("fits");
    assert_eq!(session.value::<f32>("z"), Ok(Some(4.0)));
    // A problem in a group is a problem of all its uses.
    session.edit(&Edit::literal("a", "b", 0)).expect("fits");
    let wrong =
        json!({ "edit": "set_input", "within": "twice", "node": "s", "input": "b", "to": [[1]] });
    session.edit(&edit(wrong)).expect("it is well formed");
    assert!(session.problems().has_errors());
    assert!(session.value::<f32>("y").is_err());
    assert_eq!(session.value::<f32>("z"), Ok(Some(4.0)));
    assert!(session.undo());
    assert_eq!(y(&mut session), Some(64.0));
    // An output of a type that nothing converts to.
    let wrong = json!({ "edit": "change_output", "name": "z", "def": { "type": "string", "from": "d.value" } });
    session.edit(&edit(wrong)).expect("it is well formed");
    assert!(session.value::<f32>("z").is_err());
    assert_eq!(y(&mut session), Some(64.0));
}

#[test]
fn values_that_do_not_fit_are_refused_all_together() {
    let mut session = session(SUMS);
    let given = |value: f32| Given::One(Value::F32(value));
    let refused = session.set_all([("x", given(1.0)), ("kk", given(1.0))]).expect_err("no input");
    assert_eq!(refused.to_string(), "there is no input called `kk`");
    assert_eq!(y(&mut session), Some(60.0));
    let text = Value::String("2".into());
    let refused = session.set("x", text).expect_err("a text");
    assert_eq!(refused.to_string(), "input `x` is of type f32, but was given string");
    session.set_all([("x", given(1.0)), ("k", given(1.0))]).expect("fits");
    assert_eq!(y(&mut session), Some(4.0));
    // A value outlives the input for which it was set.
    session.edit(&edit(json!({ "edit": "remove_input", "name": "k" }))).expect("fits");
    assert!(session.undo());
    assert_eq!(y(&mut session), Some(4.0));
    assert!(session.unset("k") && !session.unset("k"));
    assert_eq!(y(&mut session), Some(40.0));
    let column = Given::Along(RequestAxis::Index, [1.0_f32, 2.0].into_iter().collect());
    session.set_all([("x", column)]).expect("fits");
    let series = session.get("y").expect("it runs").value.clone().expect("a value");
    let values: Vec<Option<f32>> = (0..2).map(|i| series.data.get(i).get()).collect();
    assert_eq!(values, [Some(40.0), Some(60.0)]);
}

#[test]
fn observers_see_whole_changes_and_may_panic() {
    let mut session = session(SUMS);
    let seen: Arc<Mutex<Vec<f32>>> = Arc::default();
    let noted = Arc::clone(&seen);
    session.observe("y", move |answer| {
        let series = answer.value.as_ref().expect("a value");
        noted.lock().expect("unpoisoned").push(series.data.get(0).get().expect("an f32"));
    });
    let bad = session.observe("y", |_| panic!("no more"));
    assert_eq!(session.pushed().panicked, [(bad, "no more".to_owned())]);
    let given = |value: f32| Given::One(Value::F32(value));
    session.set_all([("x", given(4.0)), ("k", given(12.0))]).expect("fits");
    assert_eq!(session.pushed().panicked.len(), 1);
    session.edit(&Edit::literal("a", "b", 3)).expect("fits");
    session.edit(&Edit::literal("a", "b", "three")).expect("it is well formed");
    assert_eq!(session.pushed().failed.len(), 1);
    assert!(session.undo());
    assert!(session.unobserve(bad) && !session.unobserve(bad));
    // After an output had no value, its value is reported again.
    assert_eq!(*seen.lock().expect("unpoisoned"), [60.0, 120.0, 168.0, 168.0]);
    session.set("x", 0.0_f32).expect("fits");
    assert_eq!(session.pushed().n_called, 1);
}

#[test]
fn any_socket_can_be_looked_at() {
    let mut session = session(SUMS);
    let before = session.document().clone();
    let mut at = |path: &str| -> Result<f32, String> {
        let answer = session.probe(path).map_err(|error| error.to_string())?;
        Ok(answer.value.expect("a value").data.get(0).get().expect("an f32"))
    };
    assert_eq!(at("a.value"), Ok(3.0));
    assert_eq!(at("g.v"), Ok(6.0));
    assert_eq!(at("g/s.value"), Ok(6.0));
    assert_eq!(at("g/s.a"), Ok(3.0));
    assert_eq!(at("c.b"), Ok(10.0));
    assert_eq!(at("a.b"), Ok(1.0));
    assert_eq!(at("a.c"), Err("there is nothing called `a.c` to look at".into()));
    assert_eq!(at("h.value"), Err("there is nothing called `h.value` to look at".into()));
    assert_eq!(at("a/b.value"), Err("there is nothing called `a/b.value` to look at".into()));
    assert_eq!(session.document(), &before);
    assert!(!session.undo(), "looking is no edit");
}

#[test]
fn a_what_if_is_for_one_evaluation() {
    let mut session = session(SUMS);
    let ask = Ask::output("y").what_if("x", 0.0_f32).with_log(LogDetail::Counts);
    let evaluated = session.eval(&ask).expect("it runs");
    assert_eq!(evaluated.answer.value::<f32>("y"), Some(20.0));
    let ran: Vec<String> = evaluated
        .runs()
        .into_iter()
        .filter(|run| run.entry.runs > 0)
        .map(|run| format!("{} {}", run.path, run.node_type))
        .collect();
    assert_eq!(ran, ["a math.add", "g/s math.add", "c math.multiply"]);
    assert_eq!(y(&mut session), Some(60.0));
    let budget = Budget::until(&Arc::new(AtomicBool::new(true)));
    let error = session.eval(&Ask { budget, ..Ask::all() }).expect_err("cancelled");
    assert_eq!(error, SessionError::Eval(EvalError::Cancelled));
    let budget = Budget::by(Some(Instant::now()));
    let error = session.eval(&Ask { budget, ..Ask::all() }).expect_err("too late");
    assert_eq!(error, SessionError::Eval(EvalError::Deadline));
    assert_eq!(y(&mut session), Some(60.0));
}

#[test]
fn an_evaluation_of_many_numbers_is_followed_and_ended() {
    const N: usize = 20_000;
    let node = |i: usize| {
        let from = match i.checked_sub(1) {
            Some(before) => json!({ "from": format!("n{before}.value") }),
            None => json!({ "input": "x" }),
        };
        (format!("n{i}"), json!({ "type": "math.add", "in": { "a": from, "b": 1 } }))
    };
    let nodes: serde_json::Map<String, Json> = (0..N).map(node).collect();
    let document = json!({ "millstream": 2,
        "inputs": { "x": { "type": "f32", "default": 2 } },
        "outputs": { "y": { "type": "f32", "from": format!("n{}.value", N - 1) } },
        "nodes": nodes });
    let mut session = session(&document.to_string());
    for x in [3.0_f32, 4.0] {
        session.set("x", x).expect("it fits");
        let told: Arc<Mutex<Vec<u64>>> = Arc::default();
        let to = Arc::clone(&told);
        let tell = move |done: &Done| {
            assert_eq!(done.steps, N as u64);
            to.lock().expect("nobody panics").push(done.runs);
            if done.runs < 4000 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let progress = Some(Progress::new(tell).every(Duration::ZERO));
        let error = session.eval(&Ask { progress, ..Ask::all() }).expect_err("it is ended");
        assert_eq!(error, SessionError::Eval(EvalError::Cancelled));
        let told = told.lock().expect("nobody panicked");
        assert!(told.len() > 1 && told.is_sorted(), "{told:?}");
        assert!((4000..8000).contains(told.last().expect("there are several")), "{told:?}");
        assert_eq!(y(&mut session), Some(x + N as f32));
    }
}

const COUNTS: &str = r#"{ "millstream": 2, "fps": 10, "start_frame": 1,
    "inputs": { "rate": { "type": "f32", "default": 10 } },
    "outputs": { "y": { "type": "f32", "from": "sum.value" } },
    "nodes": {
        "sum": { "type": "state.integrate", "in": { "rate": { "input": "rate" } } },
        "count": { "type": "state.counter" } } }"#;

#[test]
fn ticks_commit_and_evaluations_in_between_do_not() {
    let mut session = session(COUNTS);
    assert_eq!((session.frame(), y(&mut session)), (1, Some(0.0)));
    let first = session.tick(&Ask::all()).expect("it runs");
    assert_eq!(first.answer.value::<f32>("y"), Some(0.0));
    assert_eq!(first.answer.outputs.len(), 1, "what nodes keep is not shown");
    assert_eq!((session.frame(), y(&mut session)), (2, Some(1.0)));
    let if_fast = session.eval(&Ask::output("y").what_if("rate", 99.0_f32)).expect("it runs");
    assert_eq!(if_fast.answer.value::<f32>("y"), Some(1.0));
    assert_eq!(y(&mut session), Some(1.0));
    session.set("rate", 20.0_f32).expect("fits");
    session.tick(&Ask::all()).expect("it runs");
    assert_eq!(y(&mut session), Some(3.0));
    session.seek(5).expect("it runs");
    assert_eq!(y(&mut session), Some(7.0));
    session.seek(3).expect("it runs");
    assert_eq!((session.frame(), y(&mut session)), (3, Some(4.0)));
    assert!(session.seek(0).is_err());
    assert_eq!((session.frame(), y(&mut session)), (3, Some(4.0)));
    session.restart();
    assert_eq!((session.frame(), y(&mut session)), (1, Some(0.0)));
}

#[test]
fn what_nodes_keep_follows_them_through_edits() {
    let mut session = session(COUNTS);
    for _ in 0..3 {
        session.tick(&Ask::all()).expect("it runs");
    }
    assert_eq!(y(&mut session), Some(3.0));
    for json in [
        json!({ "edit": "rename_node", "node": "sum", "to": "total" }),
        json!({ "edit": "group", "nodes": ["total", "count"], "name": "all" }),
        json!({ "edit": "rename_node", "within": "all", "node": "total", "to": "inner" }),
        json!({ "edit": "rename_group", "name": "all", "to": "every" }),
        json!({ "edit": "ungroup", "node": "all" }),
    ] {
        session.edit(&edit(json)).expect("fits");
        assert_eq!(y(&mut session), Some(3.0), "{:?}", session.document());
    }
    while session.undo() {
        assert_eq!(y(&mut session), Some(3.0));
    }
    session.tick(&Ask::all()).expect("it runs");
    assert_eq!(y(&mut session), Some(4.0));
    // A node of another kind starts from its initial state.
    let other =
        json!({ "edit": "replace_type", "node": "sum", "kind": { "type": "state.counter" } });
    session.edit(&edit(other)).expect("fits");
    assert_eq!(y(&mut session), Some(1.0));
}

#[test]
fn elements_that_come_start_anew_and_those_that_go_are_forgotten() {
    let mut session = session(COUNTS);
    let mut columns = |rates: &[f32]| -> Vec<f32> {
        let column = Given::Along(RequestAxis::Index, rates.iter().copied().collect());
        session.set_all([("rate", column)]).expect("fits");
        let answer = session.tick(&Ask::all()).expect("it runs").answer;
        answer.column("y").expect("a column")
    };
    assert_eq!(columns(&[10.0, 20.0]), [0.0, 0.0]);
    assert_eq!(columns(&[10.0, 20.0, 30.0]), [1.0, 2.0, 0.0]);
    assert_eq!(columns(&[10.0]), [2.0]);
    assert_eq!(columns(&[10.0, 20.0]), [3.0, 0.0]);
}

#[test]
fn a_node_whose_next_state_fails_keeps_it_and_others_advance() {
    let text = r#"{ "millstream": 2, "fps": 10,
        "inputs": { "i": { "type": "i32", "default": 0 } },
        "outputs": { "y": { "type": "f32", "from": "sum.value" },
            "n": { "type": "i32", "from": "count.value" } },
        "nodes": {
            "list": { "type": "list.of", "in": { "items": [{ "value": 10.0 }, { "value": 20.0 }] } },
            "item": { "type": "list.get", "in": { "list": { "from": "list.value" }, "index": { "input": "i" } } },
            "sum": { "type": "state.integrate", "in": { "rate": { "from": "item.value" } } },
            "count": { "type": "state.counter" } } }"#;
    let engine = Engine::new();
    let (document, _) = engine.read(text.as_bytes());
    let document = document.expect("it can be read");
    let mirrored = Session::new(&engine, document.clone());
    for mut session in [mirrored, Session::with_evaluator(&engine, document, Lazy)] {
        let told = |failures: &[NodeFailure]| {
            let told = failures.iter().map(|it| format!("{} {:?}", it.path, it.replayed));
            told.collect::<Vec<String>>()
        };
        session.tick(&Ask::all()).expect("it runs");
        session.set("i", 7).expect("fits");
        let answer = session.tick(&Ask::all()).expect("the frame has a failure").answer;
        assert_eq!(told(&answer.failures), ["item None"]);
        assert_eq!(session.frame(), 2);
        session.set("i", 1).expect("fits");
        // The sum stayed as it was, and the count went on.
        let answer = session.eval(&Ask::all()).expect("it runs").answer;
        assert_eq!((answer.value("y"), answer.value("n")), (Some(1.0_f32), Some(3)));
        // What depends on the sum tells its failure from now on, and nothing else does.
        assert_eq!(told(&answer.failures), ["item Some(1)"]);
        let of = |session: &mut Session, name: &str| {
            told(&session.eval(&Ask::output(name)).expect("it runs").answer.failures)
        };
        assert!(of(&mut session, "n").is_empty());
        session.tick(&Ask::output("n")).expect("it runs");
        assert_eq!(y(&mut session), Some(3.0));
        session.seek(9).expect("it plays on");
        assert_eq!(of(&mut session, "y"), ["item Some(1)"]);
        assert_eq!(y(&mut session), Some(15.0));
        // Playing again from the start, with an item that exists, forgets it.
        session.seek(2).expect("it plays");
        assert!(of(&mut session, "y").is_empty());
        assert_eq!(y(&mut session), Some(4.0));
        // A seek goes on past the failure, too.
        session.set("i", 7).expect("fits");
        session.seek(4).expect("it plays on");
        assert!(of(&mut session, "n").is_empty());
        assert_eq!(session.value::<i32>("n").expect("it runs"), Some(5));
        session.seek(3).expect("it plays from the start");
        assert!(of(&mut session, "y").contains(&"item Some(0)".to_owned()));
        session.restart();
        session.set("i", 0).expect("fits");
        assert!(of(&mut session, "y").is_empty());
    }
}

/// A sum that failed in frame 1, an output that does not depend on it since a condition is constant,
/// and one that does.
fn failed_in_frame_1() -> Session {
    let text = b"input i: i32 = 0\nfps 10\nlist = list.of(several [10, 20])\n\
        item = list.get(list, index: i)\nsum = state.integrate(item)\n\
        never = control.pass(false)\noutput y: f32 = sum\n\
        output n: f32 = control.switch(never, 1, sum)\n";
    let mut session = Session::open(&Engine::new(), text).expect("it opens");
    session.tick(&Ask::all()).expect("it runs");
    session.set("i", 7).expect("fits");
    session.tick(&Ask::all()).expect("the frame has a failure");
    session.set("i", 1).expect("fits");
    session
}

#[test]
fn failures_that_are_told_do_not_depend_on_when_the_optimised_plan_is_ready() {
    for _ in 0..8 {
        let mut session = failed_in_frame_1();
        let of = |session: &mut Session, output: &str| {
            let answer = session.eval(&Ask::output(output)).expect("it runs").answer;
            answer.failures.iter().map(|it| it.path.to_string()).collect::<Vec<String>>()
        };
        let before = (of(&mut session, "n"), of(&mut session, "y"));
        session.settle();
        assert_eq!((of(&mut session, "n"), of(&mut session, "y")), before);
        assert_eq!(before, (vec![], vec!["item".to_owned()]));
    }
}

#[test]
fn failures_before_the_start_are_not_told() {
    let mut session = failed_in_frame_1();
    let failures = |session: &mut Session| {
        session.eval(&Ask::output("y")).expect("it runs").answer.failures.len()
    };
    assert_eq!(failures(&mut session), 1);
    let head = r#"{ "edit": "set_head", "name": "", "fps": 10, "start_frame": 2 }"#;
    session.edit(&serde_json::from_str(head).expect("an edit")).expect("it fits");
    assert_eq!(failures(&mut session), 0);
    session.seek(4).expect("it plays on");
    session.seek(3).expect("it plays from the start");
    assert_eq!(failures(&mut session), 0);
    assert!(session.undo());
    session.restart();
    assert_eq!(failures(&mut session), 0);
}

#[test]
fn an_output_that_does_not_exist_is_told_alike_by_live_graphs_and_plans() {
    let text = b"input x: f32 = 1\noutput first: f32 = x + 1\noutput second: f32 = broken(x)\n";
    let engine = Engine::new();
    let (document, _) = engine.read(text);
    let document = document.expect("it can be read");
    let mirrored = Session::new(&engine, document.clone());
    for mut session in [mirrored, Session::with_evaluator(&engine, document, Lazy)] {
        for (name, hint) in [("secnd", "did you mean `second`?"), ("z", "outputs: first, second")] {
            for tick in [false, true] {
                let ask = Ask::output(name);
                let asked = if tick { session.tick(&ask) } else { session.eval(&ask) };
                let error = asked.expect_err("there is no such output");
                let SessionError::Eval(EvalError::Request(errors)) = &error else {
                    panic!("{error}")
                };
                assert_eq!(errors[0].to_string(), format!("there is no output called `{name}`"));
                let RequestError::UnknownOutput { hint: told, .. } = &errors[0] else { panic!() };
                assert_eq!(told, hint);
            }
        }
    }
}
