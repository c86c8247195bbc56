//! Parts of documents that live graphs evaluate: features of the program's own, wrong groups of
//! repeats, and cycles inside groups with a wrong input.

use millstream::session::{Ask, Session};
use millstream::{Edit, Engine};
use millstream_base::{Feature, Type, Value};
use millstream_ir::request::Given;
use serde_json::{Value as Json, json};

fn session(document: &Json) -> Session {
    Session::open(&Engine::new(), document.to_string().as_bytes()).expect("it opens")
}

fn edit(session: &mut Session, edit: &Json) {
    let edit: Edit = serde_json::from_value(edit.clone()).expect("an edit");
    session.edit(&edit).expect("it fits");
}

/// The value of an output, and whether a live graph computed it.
fn live(session: &mut Session, output: &str) -> (Option<f32>, bool) {
    let Ok(evaluated) = session.eval(&Ask::output(output)) else { return (None, true) };
    let is_live = evaluated.plan().is_none();
    (session.value(output).expect("it runs"), is_live)
}

#[test]
fn features_that_the_program_gives_are_read_and_shifted() {
    let it = &mut session(&json!({ "millstream": 2,
        "outputs": { "y": { "type": "f32", "from": "sum.value" } },
        "nodes": {
            "mood": { "type": "context.feature", "set": { "name": "mood", "type": "f32" } },
            "sum": { "type": "math.add", "in": { "a": { "from": "mood.value" }, "b": 1 } } } }));
    assert!(it.eval(&Ask::output("y")).is_err(), "nobody gives it");
    let mood = || Feature::Custom("mood".into(), Type::F32);
    for number in [2.0_f32, 5.0] {
        it.set_feature(mood(), Given::One(Value::F32(number)));
        assert_eq!(live(it, "y"), (Some(number + 1.0), true));
    }
    edit(it, &json!({ "edit": "set_input", "node": "sum", "input": "b", "to": 3 }));
    assert_eq!(live(it, "y"), (Some(8.0), true));
}

#[test]
fn a_repeat_whose_group_is_wrong_leaves_the_rest_live() {
    let it = &mut session(&json!({ "millstream": 2,
        "outputs": { "y": { "type": "f32", "from": "grow.x" }, "z": { "type": "f32", "from": "sum.value" } },
        "nodes": {
            "grow": { "type": "repeat", "group": "step", "in": { "x": 1, "count": 3 } },
            "sum": { "type": "math.add", "in": { "a": 1, "b": 1 } } },
        "groups": { "step": { "inputs": { "x": { "type": "f32" } }, "outputs": { "x": { "type": "f32", "from": "m.value" } },
            "nodes": { "m": { "type": "math.multiply", "in": { "a": { "input": "x" }, "b": 2 } } } } } }));
    assert_eq!((live(it, "y"), live(it, "z")), ((Some(8.0), true), (Some(2.0), true)));
    let to = |text: Json| json!({ "edit": "set_input", "within": "step", "node": "m", "input": "b", "to": text });
    edit(it, &to(json!("no number")));
    assert_eq!((live(it, "y"), live(it, "z")), ((None, true), (Some(2.0), true)));
    edit(it, &to(json!(3)));
    assert_eq!((live(it, "y"), live(it, "z")), ((Some(27.0), true), (Some(2.0), true)));
}

#[test]
fn a_cycle_inside_a_group_is_wrong_where_its_input_is() {
    let it = &mut session(&json!({ "millstream": 2,
        "outputs": { "y": { "type": "f32", "from": "good.v" }, "z": { "type": "f32", "from": "bad.v" } },
        "nodes": {
            "w": { "type": "math.add", "in": { "a": 1, "b": 1 } },
            "good": { "type": "group", "group": "g", "in": { "x": 2 } },
            "bad": { "type": "group", "group": "g", "in": { "x": { "from": "w.value" } } } },
        "groups": { "g": { "inputs": { "x": { "type": "f32" } }, "outputs": { "v": { "type": "f32", "from": "sum.value" } },
            "nodes": {
                "last": { "type": "state.feedback", "in": { "value": { "from": "sum.value" }, "initial": 1 } },
                "sum": { "type": "math.add", "in": { "a": { "from": "last.value" }, "b": { "input": "x" } } } } } } }));
    assert_eq!((live(it, "y"), live(it, "z")), ((Some(3.0), true), (Some(3.0), true)));
    edit(it, &json!({ "edit": "set_input", "node": "w", "input": "a", "to": "no number" }));
    assert_eq!((live(it, "y"), live(it, "z")), ((Some(3.0), true), (None, true)));
    it.tick(&Ask::output("y")).expect("the state of the other use goes on");
    assert_eq!(live(it, "y"), (Some(5.0), true));
    edit(it, &json!({ "edit": "set_input", "node": "w", "input": "a", "to": 4 }));
    assert_eq!((live(it, "y"), live(it, "z")), ((Some(5.0), true), (Some(6.0), true)));
}
