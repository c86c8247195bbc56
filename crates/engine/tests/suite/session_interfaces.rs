//! Sessions whose documents change their inputs, groups and needs: values stay with their inputs,
//! errors stay local, and answers do not depend on which plan is ready.

use std::sync::atomic::{AtomicU64, Ordering};

use millstream::session::{Ask, Session, SessionError};
use millstream::{Edit, Engine, Given, Lazy, Limits, NodeDef, RequestAxis};
use serde_json::{Value as Json, json};

fn open(document: &Json) -> Session {
    Session::open(&Engine::new(), document.to_string().as_bytes()).expect("it opens")
}

fn edit(session: &mut Session, json: Json) {
    let edit: Edit = serde_json::from_value(json).expect("an edit");
    session.edit(&edit).expect("it fits");
}

fn number(session: &mut Session, output: &str) -> Option<f64> {
    session.value::<f64>(output).expect("it runs")
}

#[test]
fn what_was_set_stays_with_its_input_and_goes_with_it() {
    let document = json!({ "millstream": 2,
        "inputs": { "x": { "type": "f64", "default": 1 } },
        "outputs": { "y": { "type": "f64", "from": "a.value" } },
        "nodes": { "a": { "type": "math.negate", "in": { "x": { "input": "x" } } } } });
    let text = document.to_string();
    let (loaded, _) = millstream_document::load(text.as_bytes(), &Limits::default());
    let loaded = loaded.expect("it loads");
    for mut session in [open(&document), Session::with_evaluator(&Engine::new(), loaded, Lazy)] {
        session.set("x", 5.0).expect("it fits");
        let new = json!({ "type": "f64", "default": 100 });
        edit(
            &mut session,
            json!({ "edit": "batch", "edits": [
            { "edit": "rename_input", "name": "x", "to": "t" },
            { "edit": "add_input", "name": "x", "def": new },
            { "edit": "add_output", "name": "new", "def": { "type": "f64", "input": "x" } } ] }),
        );
        let values = |session: &mut Session| (number(session, "y"), number(session, "new"));
        assert_eq!(values(&mut session), (Some(-5.0), Some(100.0)));
        assert!(!session.unset("x"));
        session.set("x", 7.0).expect("it fits");
        assert_eq!(values(&mut session), (Some(-5.0), Some(7.0)));
        // A removed input takes its value along, and brings it back.
        edit(
            &mut session,
            json!({ "edit": "batch", "edits": [
            { "edit": "remove_output", "name": "new" },
            { "edit": "remove_input", "name": "x" } ] }),
        );
        edit(
            &mut session,
            json!({ "edit": "batch", "edits": [
            { "edit": "add_input", "name": "x", "def": new },
            { "edit": "add_output", "name": "new", "def": { "type": "f64", "input": "x" } } ] }),
        );
        assert_eq!(values(&mut session), (Some(-5.0), Some(100.0)));
        assert!(session.undo() && session.undo());
        assert_eq!(values(&mut session), (Some(-5.0), Some(7.0)));
        assert!(session.redo() && session.redo());
        assert_eq!(values(&mut session), (Some(-5.0), Some(100.0)));
        assert!(session.undo() && session.undo() && session.undo());
        assert_eq!(number(&mut session, "y"), Some(-5.0));
        assert!(session.redo());
        assert_eq!(values(&mut session), (Some(-5.0), Some(7.0)));
    }
}

#[test]
fn names_that_inputs_swap_are_swapped_back() {
    let mut session = open(&json!({ "millstream": 2,
        "inputs": { "x": { "type": "f64", "default": 1 }, "y": { "type": "f64", "default": 2 } },
        "outputs": { "o": { "type": "f64", "from": "a.value" } },
        "nodes": { "a": { "type": "math.subtract",
            "in": { "a": { "input": "x" }, "b": { "input": "y" } } } } }));
    session.set("x", 3.0).expect("it fits");
    session.set("y", 7.0).expect("it fits");
    assert_eq!(number(&mut session, "o"), Some(-4.0));
    edit(
        &mut session,
        json!({ "edit": "batch", "edits": [
        { "edit": "set_input", "node": "a", "input": "b", "to": 0 },
        { "edit": "remove_input", "name": "y" },
        { "edit": "rename_input", "name": "x", "to": "y" } ] }),
    );
    assert_eq!(number(&mut session, "o"), Some(3.0));
    assert!(session.undo());
    assert_eq!(number(&mut session, "o"), Some(-4.0));
    assert!(session.redo());
    assert_eq!(number(&mut session, "o"), Some(3.0));
}

#[test]
fn a_group_in_a_group_that_went_is_looked_at() {
    let mut session = open(&json!({ "millstream": 2, "fps": 10,
        "inputs": { "c": { "type": "bool", "default": false } },
        "outputs": {},
        "nodes": {
            "n0": { "type": "context.time" },
            "n1": { "type": "group", "group": "inner",
                "in": { "a": { "from": "n0.value" }, "w": { "input": "c" } } },
            "n2": { "type": "math.expression", "set": { "text": "a*b+1" },
                "in": { "a": { "from": "n0.value" }, "b": { "from": "n0.value" } } } },
        "groups": { "inner": {
            "inputs": { "a": { "type": "f64" }, "w": { "type": "bool", "default": true } },
            "outputs": { "o": { "type": "f64", "from": "s.value" } },
            "nodes": {
                "p": { "type": "math.multiply", "in": { "a": { "input": "a" }, "b": 2 } },
                "s": { "type": "control.switch", "in": { "condition": { "input": "w" },
                    "false": { "from": "p.value" }, "true": { "input": "a" } } } } } } }));
    edit(&mut session, json!({ "edit": "group", "nodes": ["n0", "n1", "n2"], "name": "outer" }));
    edit(
        &mut session,
        json!({ "edit": "batch", "edits": [
        { "edit": "group", "nodes": ["outer"], "name": "around" },
        { "edit": "mute", "node": "n1", "muted": true, "within": "outer" } ] }),
    );
    assert!(session.undo() && session.undo());
    session.seek(3).expect("nothing keeps state");
    let looked = session.probe("n1.o").expect("it runs").value.expect("a value");
    assert_eq!(looked.data.get(0).get::<f64>(), Some(0.6));
    assert!(session.redo() && session.redo());
    let looked = session.probe("around/outer/n1.o").expect("it runs").value.expect("a value");
    assert_eq!(looked.data.get(0).get::<f64>(), Some(0.3));
}

/// A group that is used once.
fn with_group() -> Session {
    open(&json!({ "millstream": 2,
        "inputs": { "x": { "type": "f32", "default": 3 } },
        "outputs": { "y": { "type": "f32", "from": "g.v" } },
        "nodes": { "g": { "type": "group", "group": "half", "in": { "x": { "input": "x" } } } },
        "groups": { "half": {
            "inputs": { "x": { "type": "f32" } },
            "outputs": { "v": { "type": "f32", "from": "h.value" } },
            "nodes": { "h": { "type": "math.multiply", "in": { "a": { "input": "x" }, "b": 0.5 } } } } } }))
}

#[test]
fn a_group_may_be_changed_and_go_in_one_edit() {
    let ty = json!({ "type": "f32", "default": 2 });
    let out = json!({ "type": "f64", "from": "h.value" });
    for change in [
        json!({ "edit": "change_input", "within": "half", "name": "x", "def": ty }),
        json!({ "edit": "add_input", "within": "half", "name": "more", "def": ty }),
        json!({ "edit": "rename_input", "within": "half", "name": "x", "to": "more" }),
        json!({ "edit": "change_output", "within": "half", "name": "v", "def": out }),
        json!({ "edit": "add_output", "within": "half", "name": "w", "def": out }),
        json!({ "edit": "rename_output", "within": "half", "name": "v", "to": "w" }),
    ] {
        let mut session = with_group();
        assert_eq!(session.value::<f32>("y"), Ok(Some(1.5)));
        let ungroup = json!({ "edit": "ungroup", "node": "g" });
        edit(&mut session, json!({ "edit": "batch", "edits": [change, ungroup] }));
        assert!(session.document().groups.is_empty(), "{change}");
        for _ in 0..2 {
            session.set("x", 5.0_f32).expect("it fits");
            assert_eq!(session.value::<f32>("y"), Ok(Some(2.5)), "{change}");
            assert!(session.undo() && session.document().nodes.contains_key("g"), "{change}");
            session.set("x", 4.0_f32).expect("it fits");
            assert_eq!(session.value::<f32>("y"), Ok(Some(2.0)), "{change}");
            assert!(session.redo(), "{change}");
        }
    }
}

#[test]
fn an_edit_that_is_refused_leaves_groups_as_they_are() {
    let mut session = with_group();
    for (name, b) in [("s", 1), ("t", 100)] {
        let node = json!({ "type": "math.add", "in": { "a": { "input": "x" }, "b": b } });
        let nodes = json!([{ "name": name, "node": node }]);
        edit(&mut session, json!({ "edit": "add_nodes", "within": "half", "nodes": nodes }));
    }
    let def = json!({ "type": "f32", "from": "s.value" });
    let out = json!({ "edit": "change_output", "within": "half", "name": "v", "def": def });
    edit(&mut session, out);
    edit(&mut session, json!({ "edit": "remove_nodes", "within": "half", "nodes": ["h"] }));
    assert_eq!(session.value::<f32>("y"), Ok(Some(4.0)));
    let ungroup = |node: &str| json!({ "edit": "ungroup", "node": node });
    let refused = json!({ "edit": "batch", "edits": [ungroup("g"), ungroup("none")] });
    let refused = serde_json::from_value(refused).expect("an edit");
    session.edit(&refused).expect_err("there is no such node");
    edit(
        &mut session,
        json!({ "edit": "set_input", "within": "half", "node": "s", "input": "b",
            "to": { "from": "t.value" } }),
    );
    assert_eq!(session.value::<f32>("y"), Ok(Some(106.0)));
}

/// Groups that each use the previous one twice.
fn doubled(n: usize, innermost: Json) -> Json {
    let face = |from: &str| {
        json!({ "inputs": { "x": { "type": "f64" } },
            "outputs": { "y": { "type": "f64", "from": from } } })
    };
    let mut first = face("a.value");
    first["nodes"] = innermost;
    let mut groups = json!({ "g0": first });
    for i in 1..n {
        let mut group = face("b.y");
        let inner = format!("g{}", i - 1);
        group["nodes"] = json!({
            "a": { "type": "group", "group": inner, "in": { "x": { "input": "x" } } },
            "b": { "type": "group", "group": inner, "in": { "x": { "from": "a.y" } } } });
        groups[format!("g{i}")] = group;
    }
    json!({ "millstream": 2,
        "inputs": { "x": { "type": "f64", "default": 2 } },
        "outputs": { "y": { "type": "f64", "from": "u.y" }, "z": { "type": "f64", "input": "x" } },
        "nodes": { "u": { "type": "group", "group": "g3", "in": { "x": { "input": "x" } } } },
        "groups": groups })
}

#[test]
fn groups_that_expand_too_far_are_counted_before_they_are_made() {
    let node = json!({ "a": { "type": "math.negate", "in": { "x": { "input": "x" } } } });
    let mut session = open(&doubled(40, node));
    assert_eq!(number(&mut session, "y"), Some(2.0));
    edit(
        &mut session,
        json!({ "edit": "replace_type", "node": "u",
        "kind": { "type": "group", "group": "g39" } }),
    );
    assert!(session.problems().to_string().contains("16000000"), "{}", session.problems());
    assert!(session.value::<f64>("y").is_err());
    assert!(session.undo());
    assert_eq!(number(&mut session, "y"), Some(2.0));
    // Groups without nodes are used just as often.
    let mut empty = doubled(40, json!({}));
    empty["groups"]["g0"]["outputs"]["y"] = json!({ "type": "f64", "input": "x" });
    empty["nodes"]["u"]["group"] = json!("g39");
    let mut session = open(&empty);
    assert!(session.value::<f64>("y").is_err());
    assert!(session.problems().to_string().contains("16000000"), "{}", session.problems());
}

#[test]
fn a_wrong_input_is_wrong_alone() {
    let mut session = open(&json!({ "millstream": 2,
        "inputs": { "x": { "type": "f64", "default": 3 }, "y": { "type": "f64", "default": 1 } },
        "outputs": {
            "double": { "type": "f64", "from": "double.value" },
            "less": { "type": "f64", "from": "less.value" },
            "same": { "type": "f64", "input": "y" } },
        "nodes": {
            "double": { "type": "math.add", "in": { "a": { "input": "x" }, "b": { "input": "x" } } },
            "negated": { "type": "math.negate", "in": { "x": { "input": "y" } } },
            "less": { "type": "math.subtract",
                "in": { "a": { "from": "negated.value" }, "b": { "input": "x" } } } } }));
    edit(
        &mut session,
        json!({ "edit": "add_input", "name": "k",
        "def": { "type": "f64", "default": "text" } }),
    );
    assert!(session.problems().has_errors());
    for (output, value) in [("double", 6.0), ("less", -4.0), ("same", 1.0)] {
        assert_eq!(number(&mut session, output), Some(value), "{output}");
    }
    for def in [json!({ "type": "f64", "default": "text" }), json!({ "type": "number" })] {
        edit(&mut session, json!({ "edit": "change_input", "name": "y", "def": def }));
        assert_eq!(number(&mut session, "double"), Some(6.0));
        for output in ["less", "same"] {
            assert!(session.value::<f64>(output).is_err(), "{output} reads it");
        }
    }
    assert!(session.undo() && session.undo() && session.undo());
    assert_eq!(number(&mut session, "less"), Some(-4.0));
}

#[test]
fn a_group_is_not_wrong_because_of_a_node_of_its_name() {
    let mut session = open(&json!({ "millstream": 2,
        "inputs": { "x": { "type": "f32", "default": 3 } },
        "outputs": {
            "y": { "type": "f32", "from": "use.v" },
            "t": { "type": "f32", "from": "shifted.value" } },
        "nodes": {
            "use": { "type": "group", "group": "same", "in": { "x": { "input": "x" } } },
            "same": { "type": "math.cos", "in": { "x": 1 } },
            "shifted": { "type": "time.shift", "in": { "value": { "input": "x" }, "by": 1 } } },
        "groups": { "same": {
            "inputs": { "x": { "type": "f32" } },
            "outputs": { "v": { "type": "f32", "from": "n.value" } },
            "nodes": { "n": { "type": "math.negate", "in": { "x": { "input": "x" } } } } } } }));
    let wrong_socket = json!({ "edit": "set_input", "node": "same", "input": "x", "to": "text" });
    // Two types without a common one: a problem of the node as a whole.
    let wrong_node = json!({ "edit": "batch", "edits": [
        { "edit": "replace_type", "node": "same", "kind": { "type": "list.sum" } },
        { "edit": "rename_node", "node": "same", "to": "other" },
        { "edit": "add_nodes", "nodes": [{ "name": "same", "node": { "type": "math.expression",
            "set": { "text": "a +" } } }] } ] });
    for wrong in [wrong_socket, wrong_node] {
        edit(&mut session, wrong);
        assert!(session.problems().has_errors());
        for output in ["y", "t"] {
            assert!(session.value::<f32>(output).expect("it is right").is_some(), "{output}");
        }
        assert!(session.undo());
    }
    let def = json!({ "type": "number" });
    edit(
        &mut session,
        json!({ "edit": "change_input", "within": "same", "name": "x", "def": def }),
    );
    assert!(session.value::<f32>("y").is_err(), "the group is wrong");
    assert_eq!(session.value::<f32>("t"), Ok(Some(3.0)));
    let out = json!({ "edit": "change_output", "name": "t", "def": { "type": "f32", "from": "same.value" } });
    edit(&mut session, out);
    assert_eq!(session.value::<f32>("t"), Ok(Some(0.540_302_34)), "the node is right");
}

#[test]
fn what_is_needed_does_not_depend_on_which_plan_is_ready() {
    let switch = |condition: Json| {
        json!({ "millstream": 2,
            "inputs": { "x": { "type": "i32", "default": 1 }, "c": { "type": "bool", "default": true } },
            "outputs": { "y": { "type": "i32", "from": "which.value" } },
            "nodes": {
                "i": { "type": "context.index" },
                "f": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 2 } },
                "which": { "type": "control.switch", "in": { "condition": condition,
                    "false": { "from": "i.value" }, "true": { "from": "f.value" } } } } })
    };
    let unrelated = json!({ "edit": "add_nodes", "nodes": [
        { "name": "z", "node": { "type": "math.negate", "in": { "x": 1 } } }] });
    let mut session = open(&switch(json!(true)));
    assert_eq!(session.value::<i32>("y"), Ok(Some(3)));
    edit(&mut session, unrelated.clone());
    assert_eq!(session.value::<i32>("y"), Ok(Some(3)));
    let looked = session.probe("which.value").expect("it runs").value.expect("a value");
    assert_eq!(looked.data.get(0).get::<i32>(), Some(3));
    session.settle();
    assert_eq!(session.value::<i32>("y"), Ok(Some(3)));
    // An arm that may be taken is needed in every plan.
    let mut session = open(&switch(json!({ "input": "c" })));
    for _ in 0..2 {
        let error = session.value::<i32>("y").expect_err("it needs the index");
        assert!(matches!(&error, SessionError::Eval(_)), "{error}");
        edit(
            &mut session,
            json!({ "edit": "set_head", "name": "other", "fps": 24, "start_frame": 0 }),
        );
    }
}

#[test]
fn looking_at_sockets_leaves_what_is_kept() {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let mut engine = Engine::new();
    engine.register(NodeDef::from_closure("test.slow", "Takes a while", &["x"], |x: f64| {
        CALLS.fetch_add(1, Ordering::Relaxed);
        let started = std::time::Instant::now();
        while started.elapsed().as_micros() < 100 {}
        x * 2.0 + 1.0
    }));
    let document = json!({ "millstream": 2,
        "inputs": { "x": { "type": "f64", "default": 1 } },
        "outputs": { "y": { "type": "f64", "from": "b.value" } },
        "nodes": {
            "a": { "type": "test.slow", "in": { "x": { "input": "x" } } },
            "b": { "type": "test.slow", "in": { "x": { "from": "a.value" } } } } });
    for is_settled in [false, true] {
        let text = document.to_string();
        let mut session = Session::open(&engine, text.as_bytes()).expect("it opens");
        session
            .set_all([("x", Given::Along(RequestAxis::Index, [1.0, 2.0].into_iter().collect()))])
            .expect("it fits");
        if is_settled {
            session.settle();
        }
        let all = |session: &mut Session| {
            let answer = session.eval(&Ask::all()).expect("it runs").answer;
            (answer.column::<f64>("y").expect("a column"), CALLS.swap(0, Ordering::Relaxed))
        };
        assert_eq!(all(&mut session), (vec![7.0, 11.0], 4));
        for path in ["b.value", "a.value", "b.value", "b.x"] {
            session.probe(path).expect("it runs");
            assert_eq!(all(&mut session), (vec![7.0, 11.0], 0), "{path}, settled: {is_settled}");
        }
        let other = Given::Along(RequestAxis::Index, [5.0, 2.0].into_iter().collect());
        session.set_all([("x", other)]).expect("it fits");
        assert_eq!(all(&mut session), (vec![23.0, 11.0], 4));
        session.probe("a.value").expect("it runs");
        let before = Given::Along(RequestAxis::Index, [1.0, 2.0].into_iter().collect());
        session.set_all([("x", before)]).expect("it fits");
        assert_eq!(all(&mut session), (vec![7.0, 11.0], 0), "it was computed before");
    }
}

#[test]
fn what_nobody_reads_and_what_is_constant_runs_nothing_again() {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let mut engine = Engine::new();
    engine.register(NodeDef::from_closure("test.counted", "Counts its calls", &["x"], |x: f64| {
        CALLS.fetch_add(1, Ordering::Relaxed);
        x * 2.0 + 1.0
    }));
    // Of two nodes that do the same nothing reads the first; it must not replace the second.
    let counted = |input: Json| json!({ "type": "test.counted", "in": { "x": input } });
    let document = json!({ "millstream": 2,
        "inputs": { "x": { "type": "f64", "default": 1 } },
        "outputs": { "y": { "type": "f64", "from": "used.value" } },
        "nodes": { "unused": counted(json!({ "input": "x" })), "used": counted(json!({ "input": "x" })) } });
    let mut session = Session::open(&engine, document.to_string().as_bytes()).expect("it opens");
    session.set_count(Some(1));
    let run = |session: &mut Session| {
        session.eval(&Ask::all()).expect("it runs");
        CALLS.swap(0, Ordering::Relaxed)
    };
    assert_eq!(run(&mut session), 1);
    session.settle();
    assert_eq!(run(&mut session), 0);
    // A constant result is computed once, however often other parts are edited.
    let document = json!({ "millstream": 2,
        "inputs": { "x": { "type": "f64", "default": 1 } },
        "outputs": { "y": { "type": "f64", "from": "sum.value" } },
        "nodes": {
            "fixed": counted(json!(7)),
            "sum": { "type": "math.add", "in": { "a": { "from": "fixed.value" }, "b": { "input": "x" } } } } });
    let mut session = Session::open(&engine, document.to_string().as_bytes()).expect("it opens");
    session.settle();
    assert_eq!(run(&mut session), 2, "by the live graph, and by the passes");
    for i in 0..4 {
        edit(&mut session, json!({ "edit": "set_input", "node": "sum", "input": "b", "to": i }));
        session.settle();
        assert!(session.is_optimised());
        assert_eq!(run(&mut session), 0);
    }
}

#[test]
fn what_takes_long_is_at_hand_when_values_come_back() {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let mut engine = Engine::new();
    engine.register(NodeDef::from_closure("test.long", "Takes a while", &["x"], |x: f64| {
        CALLS.fetch_add(1, Ordering::Relaxed);
        let started = std::time::Instant::now();
        while started.elapsed().as_micros() < 1000 {}
        x * 2.0
    }));
    let document = json!({ "millstream": 2,
        "inputs": { "x": { "type": "f64", "default": 1 } },
        "outputs": { "y": { "type": "f64", "from": "sum.value" } },
        "nodes": {
            "long": { "type": "test.long", "in": { "x": { "input": "x" } } },
            "sum": { "type": "math.add", "in": { "a": { "from": "long.value" }, "b": 1 } } } });
    let mut session = Session::open(&engine, document.to_string().as_bytes()).expect("it opens");
    let y = |session: &mut Session, ask: &Ask| {
        let answer = session.eval(ask).expect("it runs").answer;
        (answer.value::<f64>("y"), CALLS.swap(0, Ordering::Relaxed))
    };
    // From 1 to 2, back and forth.
    for (x, n_calls) in [(1.0, 1), (2.0, 1), (1.0, 0), (3.0, 1), (2.0, 0), (1.0, 0)] {
        session.set("x", x).expect("it fits");
        assert_eq!(y(&mut session, &Ask::all()), (Some(x * 2.0 + 1.0), n_calls), "{x}");
    }
    // A what-if, and the current value.
    assert_eq!(y(&mut session, &Ask::all().what_if("x", 9.0_f64)), (Some(19.0), 1));
    assert_eq!(y(&mut session, &Ask::all()), (Some(3.0), 0));
    // An edit, undone and repeated.
    edit(&mut session, json!({ "edit": "set_input", "node": "long", "input": "x", "to": 7 }));
    assert_eq!(y(&mut session, &Ask::all()), (Some(15.0), 1));
    assert!(session.undo());
    assert_eq!(y(&mut session, &Ask::all()), (Some(3.0), 0));
    assert!(session.redo());
    assert_eq!(y(&mut session, &Ask::all()), (Some(15.0), 0));
    // The node is removed and restored.
    assert!(session.undo());
    edit(&mut session, json!({ "edit": "set_input", "node": "sum", "input": "a", "to": 0 }));
    edit(&mut session, json!({ "edit": "remove_nodes", "nodes": ["long"] }));
    assert_eq!(y(&mut session, &Ask::all()), (Some(1.0), 0));
    assert!(session.undo() && session.undo());
    assert_eq!(y(&mut session, &Ask::all()), (Some(3.0), 0));
}
