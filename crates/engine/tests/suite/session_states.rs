//! Sessions whose nodes have state: moments, ticks, and edits that are undone.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use millstream::evaluate::Budget;
use millstream::session::{Ask, Session, SessionError};
use millstream::{
    Edit, Engine, EvalError, Feature, Given, Lazy, Limits, LogDetail, Progress, RequestAxis,
    RequestError, Value, Vec3,
};
use serde_json::{Value as Json, json};

fn integrating() -> Session {
    let document = json!({ "millstream": 2, "fps": 10,
        "inputs": { "x": { "type": "f64", "default": 1 } },
        "outputs": { "y": { "type": "f64", "from": "sum.value" }, "n": { "type": "i32", "from": "n.value" } },
        "nodes": {
            "sum": { "type": "state.integrate", "in": { "rate": { "input": "x" } } },
            "n": { "type": "state.counter" } } });
    Session::open(&Engine::new(), document.to_string().as_bytes()).expect("it opens")
}

fn ticked() -> Session {
    let mut session = integrating();
    for _ in 0..5 {
        session.tick(&Ask::all()).expect("it runs");
    }
    assert_eq!(y(&mut session), Ok(Some(0.5)));
    session
}

fn y(session: &mut Session) -> Result<Option<f64>, SessionError> {
    session.value::<f64>("y")
}

fn edit(session: &mut Session, json: Json) {
    let edit: Edit = serde_json::from_value(json).expect("an edit");
    session.edit(&edit).expect("it fits");
}

#[test]
fn a_time_that_is_no_frame_is_refused_and_leaves_the_frame() {
    for seconds in [0.2, 0.5, f64::NAN] {
        let mut session = ticked();
        session.set_time(seconds);
        let error = y(&mut session).expect_err("it is no frame");
        assert_eq!(
            error.to_string(),
            "the document keeps state from tick to tick, and the requested time is not a frame"
        );
        assert!(session.probe("sum.value").is_err());
        assert_eq!(session.frame(), 5);
        // The frame itself is played, and later frames continue from there.
        let answer = session.tick(&Ask::all()).expect("it runs").answer;
        assert_eq!(answer.value::<f64>("y"), Some(0.5));
        assert_eq!((session.frame(), y(&mut session)), (6, Ok(Some(0.6))));
        session.set_time(seconds);
        session.seek(5).expect("it runs");
        assert_eq!(y(&mut session), Ok(Some(0.5)));
        session.set_time(seconds);
        session.seek(0).expect("it runs");
        assert_eq!(y(&mut session), Ok(Some(0.0)));
        assert!(session.eval(&Ask { time: Some(seconds), ..Ask::all() }).is_err());
    }
    let mut session = ticked();
    session.set_feature(Feature::Time, Given::One(Value::F64(0.2)));
    assert!(session.tick(&Ask::all()).is_err());
    assert!(session.seek(7).is_err());
    assert_eq!(session.frame(), 5);
}

#[test]
fn a_tick_of_something_else_is_refused() {
    let mut session = ticked();
    let other_frame = Ask { frame: Some(7), ..Ask::all() };
    let other_time = Ask { time: Some(0.5), ..Ask::all() };
    for ask in [Ask::all().what_if("x", 3.0), other_frame, other_time] {
        let error = session.tick(&ask).expect_err("it would be dropped");
        assert!(matches!(error, SessionError::NoTick { .. }), "{error}");
        assert_eq!((session.frame(), y(&mut session)), (5, Ok(Some(0.5))));
    }
    session.tick(&Ask { frame: Some(5), ..Ask::all() }).expect("it is the frame");
}

#[test]
fn long_seeks_can_be_ended() {
    let mut session = ticked();
    let limits = Limits { repeat_count: usize::MAX, ..Limits::default() };
    let far = Ask { limits, ..Ask::all() };
    let flag = Arc::new(AtomicBool::new(true));
    let cancelled = Ask { budget: Budget::until(&flag), ..far.clone() };
    let late =
        Ask { budget: Budget::by(Some(Instant::now() + Duration::from_millis(50))), ..far.clone() };
    let told = Arc::new(AtomicU64::new(0));
    let tell = Arc::clone(&told);
    let progress = Progress::new(move |done| {
        // Those after the last checkpoint of the seeks that were ended.
        assert!(done.ticks <= (1 << 40) - 5 && done.ticks > 1 << 39);
        let before = tell.swap(done.ticks_done, Ordering::Relaxed);
        if before > 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let progress = Ask { progress: Some(progress), ..far };
    let ended = [
        (cancelled, EvalError::Cancelled),
        (late, EvalError::Deadline),
        (progress, EvalError::Cancelled),
    ];
    for (ask, why) in ended {
        assert_eq!(session.seek_within(1 << 40, &ask), Err(SessionError::Eval(why)));
        assert_eq!((session.frame(), y(&mut session)), (5, Ok(Some(0.5))));
    }
    assert!(told.load(Ordering::Relaxed) > 1);
    flag.store(false, Ordering::Relaxed);
    let ask = Ask { budget: Budget::until(&flag), ..Ask::all() };
    session.seek_within(7, &ask).expect("nobody ends it");
    assert_eq!((session.frame(), y(&mut session)), (7, Ok(Some(0.7))));
    let error = session.seek_within(9, &ask.what_if("x", 3.0)).expect_err("it would be dropped");
    assert!(matches!(error, SessionError::NoTick { .. }), "{error}");
}

#[test]
fn frames_that_cannot_be_reached_are_told_as_evaluations_tell_them() {
    let mut session = ticked();
    let head = json!({ "edit": "set_head", "name": "", "fps": 10, "start_frame": 5 });
    edit(&mut session, head);
    let what = "the document keeps state from tick to tick, and ";
    let error = session.seek(3).expect_err("it is before the start");
    assert_eq!(error.to_string(), format!("{what}frame 3 is before frame 5, where it starts"));
    let few = Ask { limits: Limits { repeat_count: 10, ..Limits::default() }, ..Ask::all() };
    let error = session.seek_within(16, &few).expect_err("it is far");
    assert_eq!(error.to_string(), format!("{what}11 ticks lie before frame 16, the limit is 10"));
    session.seek_within(15, &few).expect("it is near enough");
}

#[test]
fn there_is_no_frame_behind_the_last() {
    let document = json!({ "millstream": 2,
        "outputs": { "y": { "type": "f64", "from": "t.value" } },
        "nodes": { "t": { "type": "context.time" } } });
    let mut session =
        Session::open(&Engine::new(), document.to_string().as_bytes()).expect("it opens");
    session.seek(i64::MAX).expect("nothing keeps state");
    let error = session.tick(&Ask::all()).expect_err("there is no frame behind it");
    assert_eq!(error.to_string(), "there is no tick: frame 9223372036854775807 is the last one");
    assert_eq!(session.frame(), i64::MAX);
    session.seek(i64::MIN).expect("nothing keeps state");
    session.tick(&Ask::all()).expect("it runs");
}

#[test]
fn what_nodes_kept_comes_back_with_them() {
    let edits = [
        json!({ "edit": "mute", "node": "sum", "muted": true }),
        json!({ "edit": "batch", "edits": [
            { "edit": "remove_output", "name": "y" },
            { "edit": "remove_nodes", "nodes": ["sum"] } ] }),
        json!({ "edit": "replace_type", "node": "sum", "kind": { "type": "state.counter" } }),
        json!({ "edit": "set_input", "node": "sum", "input": "rate", "to": "text" }),
        json!({ "edit": "batch", "edits": [
            { "edit": "group", "nodes": ["sum", "n"], "name": "both" },
            { "edit": "mute", "within": "both", "node": "sum", "muted": true } ] }),
    ];
    for json in edits {
        let text = json.to_string();
        let mut session = ticked();
        edit(&mut session, json);
        assert!(session.undo());
        assert_eq!(y(&mut session), Ok(Some(0.5)), "{text}");
        assert_eq!(session.value::<i32>("n"), Ok(Some(6)), "{text}");
        assert!(session.redo() && session.undo());
        assert_eq!(y(&mut session), Ok(Some(0.5)), "{text}, again");
        session.tick(&Ask::all()).expect("it runs");
        assert_eq!(y(&mut session), Ok(Some(0.6)), "{text}, a tick later");
    }
    // A wrong part that is corrected by hand continues as well, wherever it was moved.
    let mut session = ticked();
    edit(
        &mut session,
        json!({ "edit": "set_input", "node": "sum", "input": "rate", "to": "text" }),
    );
    edit(&mut session, json!({ "edit": "rename_node", "node": "sum", "to": "all" }));
    edit(
        &mut session,
        json!({ "edit": "set_input", "node": "all", "input": "rate", "to": { "input": "x" } }),
    );
    assert_eq!(y(&mut session), Ok(Some(0.5)));
    // Another node of the same name starts from its initial state, and so does everything at the
    // start frame.
    let mut session = ticked();
    let gone = json!({ "edit": "batch", "edits": [
        { "edit": "remove_output", "name": "y" }, { "edit": "remove_nodes", "nodes": ["sum"] } ] });
    let new = json!({ "edit": "batch", "edits": [
        { "edit": "add_nodes", "nodes": [{ "name": "sum",
            "node": { "type": "state.integrate", "in": { "rate": 1 } } }] },
        { "edit": "add_output", "name": "y", "def": { "type": "f64", "from": "sum.value" } } ] });
    edit(&mut session, gone.clone());
    edit(&mut session, new);
    assert_eq!(y(&mut session), Ok(Some(0.0)));
    assert!(session.undo() && session.undo());
    assert_eq!(y(&mut session), Ok(Some(0.5)));
    edit(&mut session, gone);
    session.restart();
    assert!(session.undo());
    assert_eq!(y(&mut session), Ok(Some(0.0)));
}

/// A group that counts, used this often, after five ticks.
fn counting(n_uses: usize) -> Session {
    let nodes: serde_json::Map<String, Json> =
        (0..n_uses).map(|i| (format!("k{i}"), json!({ "type": "group", "group": "g" }))).collect();
    let outputs: serde_json::Map<String, Json> = (0..n_uses)
        .map(|i| (format!("y{i}"), json!({ "type": "i32", "from": format!("k{i}.v") })))
        .collect();
    let inner = json!({ "outputs": { "v": { "type": "i32", "from": "c.value" } },
        "nodes": { "c": { "type": "state.counter" } } });
    let outer = json!({ "outputs": { "v": { "type": "i32", "from": "u.v" } },
        "nodes": { "u": { "type": "group", "group": "inner" } } });
    let document = json!({ "millstream": 2, "outputs": outputs, "nodes": nodes,
        "groups": { "inner": inner, "g": outer } });
    let mut session =
        Session::open(&Engine::new(), document.to_string().as_bytes()).expect("it opens");
    for _ in 0..5 {
        session.tick(&Ask::all()).expect("it runs");
    }
    session
}

fn counts(session: &mut Session, n_uses: usize) -> Vec<Option<i32>> {
    (0..n_uses).map(|i| session.value::<i32>(&format!("y{i}")).expect("it runs")).collect()
}

#[test]
fn what_nodes_of_a_group_kept_follows_their_copies_when_one_of_its_uses_is_ungrouped() {
    let ungroup = |node: &str| json!({ "edit": "ungroup", "node": node });
    let scripts = [
        vec![ungroup("k0")],
        vec![ungroup("k0"), ungroup("u")],
        vec![ungroup("k0"), ungroup("k1"), ungroup("k2")],
        vec![json!({ "edit": "ungroup", "within": "g", "node": "u" }), ungroup("k1")],
        vec![json!({ "edit": "batch", "edits": [ungroup("k0"), ungroup("k1"), ungroup("u")] })],
    ];
    for script in scripts {
        let mut session = counting(3);
        assert_eq!(counts(&mut session, 3), [Some(6); 3]);
        for json in &script {
            edit(&mut session, json.clone());
            assert_eq!(counts(&mut session, 3), [Some(6); 3], "{json}");
        }
        while session.undo() {
            assert_eq!(counts(&mut session, 3), [Some(6); 3], "{script:?}");
        }
        session.tick(&Ask::all()).expect("it runs");
        while session.redo() {
            assert_eq!(counts(&mut session, 3), [Some(7); 3], "{script:?}");
        }
        session.tick(&Ask::all()).expect("it runs");
        assert_eq!(counts(&mut session, 3), [Some(8); 3], "{script:?}");
    }
}

#[test]
fn what_nodes_keep_is_no_output() {
    let mut session = ticked();
    let hint = |session: &mut Session, name: &str| {
        let error = session.get(name).expect_err("it is no output").to_string();
        let asked = session.eval(&Ask::output(name)).expect_err("it is no output").to_string();
        assert_eq!(error, asked);
        let ticked = session.tick(&Ask::output(name)).expect_err("it is no output").to_string();
        assert_eq!(error, ticked);
        error
    };
    assert_eq!(hint(&mut session, "sum.sum"), "there is no output called `sum.sum`");
    assert_eq!(hint(&mut session, "n.started"), "there is no output called `n.started`");
    let error = session.get("n.coun").expect_err("it is no output");
    let SessionError::Eval(EvalError::Request(errors)) = error else { panic!("{error}") };
    let RequestError::UnknownOutput { hint, .. } = &errors[0] else { panic!("{errors:?}") };
    assert_eq!(hint, "outputs: y, n");
    assert_eq!(y(&mut session), Ok(Some(0.5)));
}

/// The nodes that ran in an evaluation of all outputs, and whether a live graph computed it.
fn ran(evaluated: &millstream::session::Evaluated) -> (Vec<String>, bool) {
    let runs = evaluated.runs().into_iter().filter(|run| run.entry.runs > 0);
    (runs.map(|run| run.path.to_string()).collect(), evaluated.plan().is_none())
}

#[test]
fn a_tick_runs_what_reads_what_nodes_keep_and_nothing_else() {
    let document = json!({ "millstream": 2,
        "inputs": { "x": { "type": "f32", "default": 1 } },
        "outputs": { "y": { "type": "f32", "from": "sum.value" }, "z": { "type": "f32", "from": "other.value" } },
        "nodes": {
            "a": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 1 } },
            "last": { "type": "state.feedback", "in": { "value": { "from": "sum.value" } } },
            "sum": { "type": "math.add", "in": { "a": { "from": "a.value" }, "b": { "from": "last.value" } } },
            "other": { "type": "math.sin", "in": { "x": { "from": "a.value" } } } } });
    let mut session =
        Session::open(&Engine::new(), document.to_string().as_bytes()).expect("it opens");
    let ask = Ask::all().with_log(LogDetail::Counts);
    let tick = |session: &mut Session| {
        let evaluated = session.tick(&ask).expect("it runs");
        (evaluated.answer.value::<f32>("y"), ran(&evaluated))
    };
    let all = |names: &[&str]| (names.iter().map(ToString::to_string).collect::<Vec<_>>(), true);
    assert_eq!(tick(&mut session), (Some(2.0), all(&["a", "last", "sum", "other"])));
    assert_eq!(tick(&mut session), (Some(4.0), all(&["last", "sum"])));
    assert_eq!(tick(&mut session), (Some(6.0), all(&["last", "sum"])));
    // The next frame: state is read once, however often it is requested.
    let evaluated = session.eval(&ask).expect("it runs");
    assert_eq!(ran(&evaluated), all(&["last", "sum"]));
    let evaluated = session.eval(&ask).expect("it runs");
    assert_eq!(ran(&evaluated), all(&[]));
    // A stateful node that is moved continues with its state, and so do its readers.
    edit(&mut session, json!({ "edit": "group", "nodes": ["last", "sum"], "name": "loop" }));
    let evaluated = session.eval(&ask).expect("it runs");
    assert_eq!((evaluated.answer.value::<f32>("y"), ran(&evaluated)), (Some(8.0), all(&[])));
    assert_eq!(tick(&mut session).0, Some(8.0));
    assert!(session.undo());
    assert_eq!(tick(&mut session), (Some(10.0), all(&["last", "sum"])));
    // A live graph of columns continues with the state, and so does a plan, which returns it.
    session
        .set_all([("x", Given::Along(RequestAxis::Index, vec![1.0_f32, 2.0].into()))])
        .expect("it fits");
    let evaluated = session.tick(&ask).expect("it runs");
    assert!(evaluated.plan().is_none());
    assert_eq!(evaluated.answer.column::<f32>("y"), Some(vec![12.0, 13.0]));
    let positions: Vec<Vec3> = vec![Vec3([0.0; 3]); 2];
    let positions = Given::Along(RequestAxis::Index, positions.into());
    session.set_feature(Feature::Position, positions);
    let evaluated = session.tick(&ask).expect("it runs");
    assert!(evaluated.plan().is_some());
    assert_eq!(evaluated.answer.column::<f32>("y"), Some(vec![14.0, 16.0]));
    session.set_feature(Feature::Position, Given::One(Value::Vec3(Vec3([0.0; 3]))));
    let evaluated = session.eval(&ask).expect("it runs");
    assert!(evaluated.plan().is_none());
    assert_eq!(evaluated.answer.column::<f32>("y"), Some(vec![16.0, 19.0]));
    session.set("x", 0.0_f32).expect("it fits");
    assert!(ran(&session.eval(&ask).expect("it runs")).1);
}

/// State of another type is set aside, and restored with that type; it never mixes with the current
/// state.
#[test]
fn what_a_node_kept_as_another_type_does_not_mix_with_what_it_keeps() {
    let document = json!({ "millstream": 2, "fps": 10,
        "inputs": { "x": { "type": "bool", "default": true } },
        "outputs": { "n": { "type": "f64", "from": "n.value" } },
        "nodes": { "n": { "type": "state.counter" }, "other": { "type": "state.counter" },
            "not": { "type": "boolean.not", "in": { "x": { "input": "x" } } } } });
    for is_plain in [false, true] {
        let engine = Engine::new();
        let (known, _) =
            millstream_document::load(document.to_string().as_bytes(), engine.limits());
        let known = known.expect("it loads");
        let mut session = if is_plain {
            Session::with_evaluator(&engine, known, Lazy)
        } else {
            Session::new(&engine, known)
        };
        let tick = |session: &mut Session| {
            session.tick(&Ask::all()).expect("it runs");
        };
        let n = |session: &mut Session| session.value::<f64>("n").expect("it runs");
        (0..3).for_each(|_| tick(&mut session));
        let to = |ty: &str| json!({ "edit": "replace_type", "node": "n", "kind": { "type": ty } });
        edit(&mut session, to("state.integrate"));
        assert_eq!(n(&mut session), Some(0.0));
        (0..2).for_each(|_| tick(&mut session));
        edit(&mut session, json!({ "edit": "rename_node", "node": "other", "to": "others" }));
        assert_eq!(n(&mut session), Some(0.0));
        // Each continues from its state.
        edit(&mut session, to("state.counter"));
        assert_eq!(n(&mut session), Some(4.0));
        tick(&mut session);
        edit(
            &mut session,
            json!({ "edit": "set_input", "node": "n", "input": "when", "to": { "from": "not.value" } }),
        );
        assert_eq!(n(&mut session), Some(4.0));
    }
}

/// An error in a cycle through a later tick makes the whole cycle wrong, and nothing else.
#[test]
fn a_circle_that_is_wrong_leaves_the_rest_to_the_live_graph() {
    let document = json!({ "millstream": 2, "fps": 10,
        "inputs": { "x": { "type": "f64", "default": 1 } },
        "outputs": { "y": { "type": "f64", "from": "sum.value" }, "z": { "type": "f64", "from": "more.value" } },
        "nodes": {
            "last": { "type": "state.feedback", "in": { "value": { "from": "soft.value" }, "initial": 0.5 } },
            "more": { "type": "math.add", "in": { "a": { "from": "last.value" }, "b": 1.0 } },
            "via": { "type": "math.multiply", "in": { "a": { "from": "more.value" }, "b": 1.0 } },
            "soft": { "type": "state.smooth", "in": { "value": { "from": "via.value" } } },
            "sum": { "type": "state.integrate", "in": { "rate": { "input": "x" } } } } });
    let engine = Engine::new();
    let mut session = Session::open(&engine, document.to_string().as_bytes()).expect("it opens");
    let told = |session: &mut Session| {
        let evaluated = session.eval(&Ask::all()).expect("it runs");
        assert!(evaluated.plan().is_none(), "the live graph answers");
        let value = |name: &str| evaluated.answer.value::<f64>(name);
        (value("y"), value("z"))
    };
    let tick = |session: &mut Session| drop(session.tick(&Ask::all()).expect("it runs"));
    let link = |node: &str, from: &str| {
        let to = json!({ "from": format!("{from}.value") });
        json!({ "edit": "set_input", "node": node, "input": "value", "to": to })
    };
    (0..3).for_each(|_| tick(&mut session));
    let before = told(&mut session);
    assert!(before.1.is_some_and(|z| z > 1.5), "{before:?}");
    // An input that it needs is removed: the node is wrong, and so are the nodes for which it
    // counts in later ticks.
    edit(&mut session, json!({ "edit": "set_input", "node": "soft", "input": "value" }));
    assert_eq!(told(&mut session), (before.0, None));
    assert!(session.problems().has_errors());
    // One more node that reads the cycle, one that does not, and a tick.
    let nodes = json!([
        { "name": "deep", "node": { "type": "math.sqrt", "in": { "x": { "from": "via.value" } } } },
        { "name": "free", "node": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 2.0 } } } ]);
    edit(&mut session, json!({ "edit": "add_nodes", "nodes": nodes }));
    edit(
        &mut session,
        json!({ "edit": "set_input", "node": "sum", "input": "rate", "to": { "from": "free.value" } }),
    );
    assert_eq!(told(&mut session), (before.0, None));
    tick(&mut session);
    assert_eq!(told(&mut session).1, None);
    assert!(told(&mut session).0 > before.0);
    // Each way to correct it, with the earlier state.
    edit(&mut session, link("soft", "via"));
    let again = told(&mut session);
    assert_eq!(again.1, before.1);
    assert!(session.undo());
    assert_eq!(told(&mut session).1, None);
    edit(&mut session, link("last", "free"));
    assert_eq!(told(&mut session).1, before.1);
    assert!(session.undo() && session.redo() && session.undo());
    assert_eq!(told(&mut session).1, None);
    let number = json!({ "edit": "set_input", "node": "soft", "input": "value", "to": 3.0 });
    edit(&mut session, number);
    assert_eq!(told(&mut session).1, before.1);
    let text = millstream_document::save(session.document());
    let mut fresh = Session::open(&engine, text.as_bytes()).expect("it opens");
    fresh.restart();
    session.restart();
    assert_eq!(told(&mut session), told(&mut fresh));
}

#[test]
fn an_edit_brings_back_no_earlier_number_of_elements() {
    let document = json!({ "millstream": 2,
        "inputs": { "x": { "type": "f32", "default": 1 } },
        "outputs": { "o": { "type": "f32", "from": "n.value" } },
        "nodes": {
            "n": { "type": "state.delay", "in": { "value": { "input": "x" } } },
            "m": { "type": "math.add", "in": { "a": 1 } } } })
    .to_string();
    let engine = Engine::new();
    let loaded = engine.read(document.as_bytes()).0.expect("it can be read");
    let live = Session::open(&engine, document.as_bytes()).expect("it opens");
    for mut session in [live, Session::with_evaluator(&engine, loaded, Lazy)] {
        let change = |to: i32| json!({ "edit": "set_input", "node": "m", "input": "a", "to": to });
        session.set_count(Some(2));
        session.tick(&Ask::all()).expect("it runs");
        edit(&mut session, change(2));
        session.set_count(None);
        session.tick(&Ask::all()).expect("it runs");
        edit(&mut session, change(3));
        session.set_count(Some(4));
        let answer = session.eval(&Ask::all()).expect("it runs").answer;
        assert_eq!(answer.column::<f32>("o"), Some(vec![1.0; 4]));
    }
}
