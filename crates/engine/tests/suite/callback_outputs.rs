//! Nodes with callbacks whose outputs declare which inputs they need, and deployed callbacks.

use millstream::deploy::{Freeze, deploy};
use millstream::session::{Ask, Session};
use millstream::{Edit, NodeDef, Request, Type};
use millstream_base::same::Same;
use serde_json::{Value as Json, json};

use super::callbacks::{document, engine, engine_with, failures, numbers};

/// `n.y` needs `a` only, so that `b` may lead from it to the input `b`.
fn divided() -> Json {
    json!({
        "n": { "type": "custom.two", "in": { "a": { "input": "x" }, "b": { "from": "b.value" } } },
        "b": { "type": "math.multiply", "in": { "a": { "from": "n.root" }, "b": 10 } },
    })
}

#[test]
fn an_output_may_lead_to_an_input_that_it_does_not_need() {
    let text = document(&divided(), &[("y", "f32", "n.sum"), ("z", "f32", "n.root")]);
    let engine = engine();
    let request = Request::new().set("x", 4.0_f32);
    assert_eq!(numbers(&engine, &text, &request, "y"), [24.0]);
    assert_eq!(numbers(&engine, &text, &request, "z"), [2.0]);
    let column = Request::new().column("x", vec![1.0_f32, 9.0]);
    assert_eq!(numbers(&engine, &text, &column, "y"), [11.0, 39.0]);
    let mut session = Session::open(&engine, text.as_bytes()).expect("it opens");
    session.set("x", 9.0_f32).expect("there is an input");
    let evaluated = session.eval(&Ask::all()).expect("it is evaluated");
    assert!(evaluated.plan().is_none(), "a live graph answers");
    assert_eq!(session.value::<f32>("y").expect("it runs"), Some(39.0));
}

#[test]
fn an_output_may_do_so_inside_a_group_and_through_one() {
    let mut document: Json =
        serde_json::from_str(&document(&json!({}), &[("y", "f32", "g.y")])).expect("it is JSON");
    document["nodes"] = json!({
        "g": { "type": "group", "group": "two", "in": { "x": { "input": "x" }, "w": { "from": "h.value" } } },
        "h": { "type": "math.add", "in": { "a": { "from": "g.z" }, "b": 1 } } });
    document["groups"] = json!({ "two": {
        "inputs": { "x": { "type": "f32" }, "w": { "type": "f32" } },
        "outputs": { "y": { "type": "f32", "from": "n.sum" }, "z": { "type": "f32", "from": "n.root" } },
        "nodes": {
            "n": { "type": "custom.two", "in": { "a": { "input": "x" }, "b": { "from": "b.value" } } },
            "b": { "type": "math.multiply", "in": { "a": { "from": "n.root" }, "b": { "input": "w" } } } } } });
    let text = document.to_string();
    let request = Request::new().set("x", 4.0_f32);
    // 4 + 2 * (2 + 1)
    assert_eq!(numbers(&engine(), &text, &request, "y"), [10.0]);
    let mut session = Session::open(&engine(), text.as_bytes()).expect("it opens");
    session.set("x", 4.0_f32).expect("there is an input");
    let evaluated = session.eval(&Ask::all()).expect("it is evaluated");
    assert!(evaluated.plan().is_none(), "a live graph answers");
    assert_eq!(session.value::<f32>("y").expect("it runs"), Some(10.0));
}

#[test]
fn a_real_cycle_through_such_a_node_is_reported_with_its_path() {
    let mut nodes = divided();
    nodes["b"]["in"]["a"]["from"] = json!("n.sum");
    let text = document(&nodes, &[("y", "f32", "n.sum")]);
    let error = engine().load(text.as_bytes()).expect_err("there is a cycle").to_string();
    assert!(error.contains("form a cycle") && error.contains("`n` -> `b` -> `n`"), "{error}");
    let mut itself = divided();
    itself["n"]["in"]["a"] = json!({ "from": "n.root" });
    let text = document(&itself, &[("y", "f32", "n.sum")]);
    let error = engine().load(text.as_bytes()).expect_err("there is a cycle").to_string();
    assert!(error.contains("`n` -> `n`"), "{error}");
}

#[test]
fn edits_close_and_open_such_cycles() {
    let mut nodes = divided();
    nodes["n"]["in"]["b"] = json!(0);
    let text = document(&nodes, &[("y", "f32", "n.sum"), ("z", "f32", "n.root")]);
    let mut session = Session::open(&engine(), text.as_bytes()).expect("it opens");
    session.set("x", 4.0_f32).expect("there is an input");
    assert_eq!(session.value::<f32>("y").expect("it runs"), Some(4.0));
    let link = |node: &str, socket: &str, from: &str| -> Edit {
        let input = json!({ "from": from });
        let edit = json!({ "edit": "set_input", "node": node, "input": socket, "to": input });
        serde_json::from_value(edit).expect("an edit")
    };
    session.edit(&link("n", "b", "b.value")).expect("it is no cycle");
    let evaluated = session.eval(&Ask::all()).expect("it is evaluated");
    assert!(evaluated.plan().is_none(), "a live graph answers");
    assert_eq!(session.value::<f32>("y").expect("it runs"), Some(24.0));
    let refused = session.edit(&link("b", "a", "n.sum")).expect_err("it is a cycle").to_string();
    assert!(refused.contains("cycle"), "{refused}");
    session.edit(&Edit::literal("n", "a", 9.0)).expect("it is no cycle");
    assert_eq!(session.value::<f32>("y").expect("it runs"), Some(39.0));
    session.edit(&link("n", "b", "n.root")).expect("it is no cycle either");
    assert_eq!(session.value::<f32>("y").expect("it runs"), Some(12.0));
    while session.undo() {}
    assert_eq!(session.value::<f32>("y").expect("it runs"), Some(4.0));
}

#[test]
fn an_output_reads_only_what_it_declares() {
    let def = NodeDef::new("my.two", "")
        .input("a", Type::F32, "")
        .input("b", Type::F32, "")
        .output("sum", Type::F32, "")
        .output("first", Type::F32, "")
        .needs(&["a"]);
    let engine = engine_with(def, |cx| {
        let sum = cx.get::<f32>("a")? + cx.get::<f32>("b")?;
        cx.set("sum", sum)?;
        cx.set("first", cx.get::<f32>("a")?)
    });
    let nodes = json!({ "n": { "type": "my.two", "in": { "a": 1, "b": { "input": "x" } } } });
    let text = document(&nodes, &[("y", "f32", "n.first"), ("z", "f32", "n.sum")]);
    assert_eq!(
        failures(&engine, &text),
        "n/first: `my.two` reads input `b` for the output `first`, which does not declare that it needs \
         it (name the input in `needs`, or ask `wants` first)"
    );
}

#[test]
fn deployed_callbacks_give_the_same() {
    let nodes = json!({
        "i": { "type": "context.index" },
        "f": { "type": "convert.to_f32", "in": { "x": { "from": "i.value" } } },
        "sum": { "type": "math.add", "in": { "a": { "from": "f.value" }, "b": { "input": "x" } } },
        "fixed": { "type": "custom.first_positive", "in": { "a": -1, "b": { "input": "x" }, "c": 2 } },
        "ask": { "type": "custom.first_positive",
            "in": { "a": { "from": "f.value" }, "b": { "from": "fixed.value" }, "c": 2 } },
        "two": { "type": "custom.two", "in": { "a": { "from": "sum.value" }, "b": { "from": "ask.value" } } },
        "before": { "type": "custom.earlier", "set": { "by": 2 }, "in": { "value": { "from": "two.sum" } } },
        "wave": { "type": "custom.wave", "in": { "speed": 3 } },
        "n": { "type": "custom.running", "in": { "value": { "from": "before.value" } } },
    });
    let outputs =
        [("y", "f32", "before.value"), ("z", "f64", "wave.value"), ("s", "f32", "n.value")];
    let text = document(&nodes, &outputs);
    let engine = engine();
    let program = engine.load(text.as_bytes()).expect("it compiles");
    let deployed = deploy(&engine, program.document(), &Freeze::default()).expect("it deploys");
    let again = engine.compile(deployed.document.clone()).unwrap_or_else(|error| panic!("{error}"));
    let binary = engine.load_binary(&deployed.to_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let request = Request::new().count(4).frame(3);
    let before = program.run(&request).expect("it runs");
    for after in [&again, &binary] {
        let after = after.run(&request).expect("it runs");
        for (name, ..) in outputs {
            let all = [&before, &after].map(|answer| {
                let series = answer.output(name).and_then(|it| it.value.as_ref()).expect("a value");
                answer.full_column(series)
            });
            assert!(all[0].same(&all[1]), "{name}: {all:?}");
        }
    }
    let kept: Vec<&str> = deployed.document.nodes.keys().map(|name| &**name).collect();
    assert!(!kept.contains(&"fixed"), "it is computed once: {kept:?}");
}
