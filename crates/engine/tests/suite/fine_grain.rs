//! The outputs of a group may feed its own inputs, as long as the nodes form no cycle.

use millstream::session::{Ask, Session};
use millstream::{Edit, Engine, Request};
use serde_json::{Value as Json, json};

/// `two` gives `y = x + 1` and `z = w - y`, and `b` leads from `y` to `w`.
fn document() -> Json {
    json!({ "millstream": 2,
        "inputs": { "a": { "type": "f32", "default": 3 } },
        "outputs": { "y": { "type": "f32", "from": "g.y" }, "z": { "type": "f32", "from": "g.z" } },
        "nodes": {
            "g": { "type": "group", "group": "two", "in": { "x": { "input": "a" }, "w": { "from": "b.value" } } },
            "b": { "type": "math.multiply", "in": { "a": { "from": "g.y" }, "b": 10 } } },
        "groups": {
            "two": {
                "inputs": { "x": { "type": "f32" }, "w": { "type": "f32" } },
                "outputs": { "y": { "type": "f32", "from": "p.value" }, "z": { "type": "f32", "from": "q.value" } },
                "nodes": {
                    "p": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 1 } },
                    "q": { "type": "math.subtract", "in": { "a": { "input": "w" }, "b": { "from": "p.value" } } } } } } })
}

/// The same with the group inside another one.
fn nested() -> Json {
    let mut document = document();
    let mut outer = document["groups"]["two"].clone();
    outer["nodes"] = json!({
        "g": { "type": "group", "group": "two", "in": { "x": { "input": "x" }, "w": { "input": "w" } } } });
    outer["outputs"]["y"]["from"] = json!("g.y");
    outer["outputs"]["z"]["from"] = json!("g.z");
    document["groups"]["outer"] = outer;
    document["nodes"]["g"]["group"] = json!("outer");
    document
}

fn values(document: &Json, names: &[&str]) -> Vec<f32> {
    let program = Engine::new().load(document.to_string().as_bytes()).expect("it compiles");
    let answer = program.run(&Request::new()).expect("it runs");
    names.iter().map(|name| answer.value(name).expect("it has a value")).collect()
}

fn errors(document: &Json) -> String {
    let error = Engine::new().load(document.to_string().as_bytes()).expect_err("it is wrong");
    error.to_string()
}

fn session(document: &Json) -> Session {
    Session::open(&Engine::new(), document.to_string().as_bytes()).expect("it is JSON")
}

fn live(session: &mut Session, output: &str) -> f32 {
    let evaluated = session.eval(&Ask::output(output)).expect("it is evaluated");
    assert!(evaluated.plan().is_none(), "a live graph answers");
    session.value(output).expect("it runs").expect("it has a value")
}

fn edit(session: &mut Session, json: Json) -> Result<(), String> {
    let edit: Edit = serde_json::from_value(json).expect("an edit");
    session.edit(&edit).map(drop).map_err(|error| error.to_string())
}

#[test]
fn what_a_group_gives_may_lead_back_into_it() {
    assert_eq!(values(&document(), &["y", "z"]), [4.0, 36.0]);
    assert_eq!(values(&nested(), &["y", "z"]), [4.0, 36.0]);
    for document in [document(), nested()] {
        let it = &mut session(&document);
        assert_eq!((live(it, "z"), live(it, "y")), (36.0, 4.0));
    }
}

#[test]
fn nodes_in_groups_form_a_cycle_where_each_leads_to_the_next() {
    let mut document = nested();
    document["groups"]["two"]["nodes"]["p"]["in"]["b"] = json!({ "input": "w" });
    let errors = errors(&document);
    assert!(errors.contains("g.w: the nodes form a cycle: `g` -> `b` -> `g`"), "{errors}");
}

#[test]
fn an_edit_that_closes_a_cycle_through_groups_is_refused() {
    let it = &mut session(&nested());
    assert_eq!(live(it, "z"), 36.0);
    let through = |node: &str, to: Json| json!({ "edit": "set_input", "within": "two", "node": node, "input": "b", "to": to });
    let refused = edit(it, through("p", json!({ "input": "w" }))).expect_err("a cycle");
    assert!(refused.contains("`g` -> `b` -> `g`"), "{refused}");
    assert_eq!(live(it, "z"), 36.0);
    edit(it, through("p", json!(2))).expect("no cycle");
    assert_eq!(live(it, "z"), 45.0);
    // Once the link back is gone, `y` may depend on `w`.
    edit(it, json!({ "edit": "set_input", "node": "b", "input": "a", "to": 1 })).expect("no cycle");
    edit(it, through("p", json!({ "input": "w" }))).expect("no cycle");
    assert_eq!((live(it, "y"), live(it, "z")), (13.0, -3.0));
    let back = json!({ "edit": "set_input", "node": "b", "input": "a", "to": { "from": "g.y" } });
    edit(it, back.clone()).expect_err("a cycle");
    edit(it, through("p", json!(1))).expect("no cycle");
    edit(it, back).expect("no cycle");
    assert_eq!((live(it, "y"), live(it, "z")), (4.0, 36.0));
    while it.undo() {}
    assert_eq!((live(it, "y"), live(it, "z")), (4.0, 36.0));
}

#[test]
fn state_in_a_group_may_wait_for_an_input_that_depends_on_the_group() {
    let mut document = document();
    document["groups"]["two"]["nodes"]["last"] =
        json!({ "type": "state.feedback", "in": { "value": { "input": "w" } } });
    document["groups"]["two"]["nodes"]["p"]["in"]["b"] = json!({ "from": "last.value" });
    let text = document.to_string();
    let program = Engine::new().load(text.as_bytes()).expect("it compiles");
    let it = &mut session(&document);
    let mut expected = 3.0;
    for frame in it.frame()..it.frame() + 4 {
        let answer = program.run(&Request::new().frame(frame)).expect("it runs");
        assert_eq!(answer.value::<f32>("y"), Some(expected));
        assert_eq!(live(it, "y"), expected);
        it.tick(&Ask::all()).expect("it ticks");
        expected = 3.0 + expected * 10.0;
    }
}

#[test]
fn any_nodes_may_be_grouped() {
    let it = &mut session(&json!({ "millstream": 2,
        "inputs": { "a": { "type": "f32", "default": 3 } },
        "outputs": { "y": { "type": "f32", "from": "n5.value" } },
        "nodes": {
            "n0": { "type": "math.add", "in": { "a": { "input": "a" }, "b": 1 } },
            "n1": { "type": "math.multiply", "in": { "a": { "from": "n0.value" }, "b": 2 } },
            "n2": { "type": "math.add", "in": { "a": { "from": "n1.value" }, "b": 3 } },
            "n3": { "type": "math.multiply", "in": { "a": { "from": "n2.value" }, "b": 4 } },
            "n4": { "type": "math.add", "in": { "a": { "from": "n3.value" }, "b": 5 } },
            "n5": { "type": "math.multiply", "in": { "a": { "from": "n4.value" }, "b": 6 } } } }));
    let y = live(it, "y");
    edit(it, json!({ "edit": "group", "nodes": ["n0", "n2", "n4"], "name": "even" }))
        .expect("it groups");
    assert_eq!(live(it, "y"), y);
    edit(it, json!({ "edit": "group", "nodes": ["n1", "n5"], "name": "odd" })).expect("it groups");
    assert_eq!(live(it, "y"), y);
    let text = millstream::document::save(it.document());
    let program = Engine::new().load(text.as_bytes()).expect("it compiles");
    assert_eq!(program.run(&Request::new()).expect("it runs").value("y"), Some(y));
    edit(it, json!({ "edit": "ungroup", "node": "even" })).expect("it ungroups");
    assert_eq!(live(it, "y"), y);
}

#[test]
fn a_cycle_that_is_real_leaves_the_rest_of_a_partial_document() {
    let mut document = document();
    document["groups"]["two"]["nodes"]["r"] =
        json!({ "type": "math.add", "in": { "a": { "from": "s.value" }, "b": 1 } });
    document["groups"]["two"]["nodes"]["s"] =
        json!({ "type": "math.add", "in": { "a": { "from": "r.value" }, "b": { "input": "w" } } });
    let engine = Engine::new();
    let (program, problems) = engine.load_partly(document.to_string().as_bytes());
    assert!(problems.has_errors());
    let answer = program.expect("the outputs are right").run(&Request::new()).expect("it runs");
    assert_eq!((answer.value::<f32>("y"), answer.value::<f32>("z")), (Some(4.0), Some(36.0)));
}

#[test]
fn a_group_may_read_what_it_gives() {
    let mut document = document();
    document["nodes"]["g"]["in"]["w"] = json!({ "from": "g.y" });
    assert_eq!(values(&document, &["y", "z"]), [4.0, 0.0]);
    let it = &mut session(&document);
    assert_eq!((live(it, "z"), live(it, "y")), (0.0, 4.0));
}

#[test]
fn a_group_that_moves_into_another_is_read_there_by_nodes_that_lead_to_it() {
    let it = &mut session(&json!({ "millstream": 2,
        "inputs": { "x": { "type": "f32", "default": 3 } },
        "outputs": { "y": { "type": "f32", "from": "sum.value" } },
        "nodes": {
            "still": { "type": "math.negate", "in": { "x": { "input": "x" } } },
            "sum": { "type": "math.add", "in": { "a": 1, "b": { "from": "still.value" } } },
            "wrong": { "type": "math.add", "in": { "a": "text" } },
            "both": { "type": "math.add", "in": { "a": { "from": "wrong.value" }, "b": { "from": "sum.value" } } } } }));
    assert_eq!(live(it, "y"), -2.0);
    edit(it, json!({ "edit": "group", "nodes": ["still", "both"], "name": "g" }))
        .expect("it groups");
    edit(it, json!({ "edit": "group", "nodes": ["sum", "g"], "name": "h" })).expect("it groups");
    assert_eq!(live(it, "y"), -2.0);
}
