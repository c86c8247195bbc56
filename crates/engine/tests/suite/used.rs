//! Groups of other documents, and programs as node types.

use millstream::document::save;
use millstream::register::FromProgram;
use millstream::session::Ask;
use millstream::{
    Answer, Chunked, Class, Edit, Engine, Error, Evaluator, Incremental, Lazy, List, NodeDef,
    Program, Request, Session, deploy, explain,
};
use serde_json::json;

const LIBRARY: &str = r#"{ "millstream": 1,
    "inputs": { "x": { "type": "f32", "default": 2 } },
    "outputs": { "value": { "type": "f32", "from": "n.value" } },
    "nodes": { "n": { "type": "math.negate", "in": { "x": { "input": "x" } } } },
    "groups": {
        "step": {
            "inputs": { "x": { "type": "f32", "default": 1 }, "k": { "type": "f32", "default": 3 } },
            "outputs": { "x": { "type": "f32", "from": "n.value" } },
            "nodes": { "n": { "type": "math.multiply", "in": { "a": { "input": "x" }, "b": { "input": "k" } } } } },
        "moving": {
            "inputs": { "speed": { "type": "f32", "default": 1 } },
            "outputs": { "at": { "type": "f32", "from": "n.value" }, "count": { "type": "i32", "from": "c.value" } },
            "nodes": {
                "t": { "type": "context.time" },
                "c": { "type": "state.counter" },
                "n": { "type": "math.multiply", "in": { "a": { "from": "t.value" }, "b": { "input": "speed" } } } } } } }"#;

fn engine() -> Engine {
    let library = |path: &str| match path {
        "lib.json" => Ok(LIBRARY.into()),
        _ => Err("there is no such file"),
    };
    Engine::new().with_documents(library)
}

fn load(engine: &Engine, text: &str) -> Program {
    engine.load(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The answers of all evaluators, which are equal.
fn answer(program: &Program, request: &Request) -> Answer {
    let evaluators: [Box<dyn Evaluator>; 4] = [
        Box::new(Lazy),
        Box::new(List::default()),
        Box::new(Incremental::new()),
        Box::new(Chunked::new()),
    ];
    let answer = program.run(request).expect("it runs");
    for mut evaluator in evaluators {
        let other = program.run_with(&mut *evaluator, request).expect("it runs");
        for output in program.outputs() {
            let told = |it: &Answer| format!("{:?}", it.output(&output.name).map(|it| &it.value));
            assert_eq!(told(&other), told(&answer), "{}", output.name);
        }
    }
    answer
}

#[test]
fn a_used_group_runs_round_by_round_in_every_evaluator() {
    let text = r#"{ "millstream": 1, "use": { "lib": "lib.json" },
        "inputs": { "x": { "type": "f32", "default": 1 } },
        "outputs": { "y": { "type": "f32", "from": "r.x" }, "z": { "type": "f32", "from": "w.value" } },
        "nodes": {
            "r": { "type": "repeat", "group": "lib/step", "in": { "x": { "input": "x" }, "count": 3 } },
            "w": { "type": "group", "group": "lib", "in": { "x": { "from": "r.x" } } } } }"#;
    let program = load(&engine(), text);
    let request = Request::new().column("x", vec![1.0_f32, 2.0, -1.0]);
    let answer = answer(&program, &request);
    assert_eq!(answer.column::<f32>("y"), Some(vec![27.0, 54.0, -27.0]));
    assert_eq!(answer.column::<f32>("z"), Some(vec![-27.0, -54.0, 27.0]));
}

#[test]
fn a_document_made_in_code_can_use_others() {
    let text = r#"{ "millstream": 1, "outputs": { "y": { "type": "f32", "from": "w.value" } },
        "nodes": { "w": { "type": "group", "group": "lib" } } }"#;
    let (document, _) = millstream::document::load(text.as_bytes(), &millstream::Limits::default());
    let mut document = document.expect("it loads");
    document.uses.insert("lib".into(), millstream::document::UseDef::new("lib.json"));
    let program = engine().compile(document.clone()).expect("it compiles");
    assert_eq!(program.run(&Request::new()).expect("it runs").value::<f32>("y"), Some(-2.0));
    let mut session = Session::new(&engine(), document.clone());
    assert_eq!(session.value::<f32>("y").expect("it runs"), Some(-2.0));
    // Without a library the use is an error, but the session continues.
    assert!(matches!(Engine::new().compile(document.clone()), Err(Error::Document(_))));
    let mut session = Session::new(&Engine::new(), document);
    assert!(session.value::<f32>("y").is_err());
    assert!(session.problems().to_string().contains("have no place"), "{}", session.problems());
}

/// An engine whose node types are programs: `my.moving` has state and reads the time, `my.power`
/// works on a column.
fn with_programs() -> Engine {
    let mut engine = engine();
    let moving = load(
        &engine,
        r#"{ "millstream": 1, "name": "Moves", "use": { "lib": "lib.json" },
        "inputs": { "speed": { "type": "f32", "default": 2, "about": "how fast" } },
        "outputs": { "at": { "type": "f32", "from": "g.at" }, "count": { "type": "i32", "from": "g.count" } },
        "nodes": { "g": { "type": "group", "group": "lib/moving", "in": { "speed": { "input": "speed" } } } } }"#,
    );
    engine.register(NodeDef::from_program("my.moving", &moving));
    let power = load(
        &engine,
        r#"{ "millstream": 1,
        "inputs": { "x": { "type": "f32" }, "by": { "type": "f32", "default": 2 } },
        "outputs": { "value": { "type": "f32", "from": "sum.value" }, "other": { "type": "f32", "input": "by" } },
        "nodes": { "m": { "type": "my.moving" },
            "p": { "type": "math.power", "in": { "base": { "input": "x" }, "exponent": { "input": "by" } } },
            "sum": { "type": "math.add", "in": { "a": { "from": "p.value" }, "b": { "from": "m.at" } } } } }"#,
    );
    engine.register(NodeDef::from_program("my.power", &power));
    engine
}

const PROGRAMS: &str = r#"{ "millstream": 1, "fps": 10,
    "inputs": { "x": { "type": "f32", "default": 3 } },
    "outputs": { "y": { "type": "f32", "from": "p.value" }, "n": { "type": "i32", "from": "m.count" },
        "shifted": { "type": "f32", "from": "s.value" } },
    "nodes": {
        "p": { "type": "my.power", "in": { "x": { "input": "x" } } },
        "m": { "type": "my.moving" },
        "s": { "type": "time.shift", "in": { "value": { "from": "p.value" }, "by": 1 } } } }"#;

#[test]
fn a_program_is_a_node_type_with_its_needs_and_its_state() {
    let engine = with_programs();
    let def = engine.registry().get("my.moving").expect("it is registered");
    assert_eq!((def.class, &*def.manual.summary), (Class::Stateful, "Moves"));
    assert!(millstream::register::manual::entry(def).contains("how fast"));
    let program = load(&engine, PROGRAMS);
    let request = Request::new().column("x", vec![3.0_f32, 4.0]).frame(5);
    let answer = answer(&program, &request);
    assert_eq!(answer.column::<f32>("y"), Some(vec![10.0, 17.0]));
    assert_eq!(answer.column::<f32>("shifted").map(|it| it[0]), Some(12.0));
    let counted = answer.value::<i32>("n").expect("a count");
    assert!(counted > 1, "{counted}");
    // Saving writes the type.
    let text = save(program.document());
    assert!(text.contains("\"type\": \"my.power\"") && !text.contains("groups"), "{text}");
    assert_eq!(save(load(&engine, &text).document()), text);
    // Only the outputs that are read are computed, through both programs.
    let explanation = explain::explain(&engine, program.document(), None).expect("it is right");
    assert!(explanation.nodes.iter().any(|node| node.path.as_str() == "p/p"));
}

#[test]
fn a_program_as_a_node_deploys() {
    let engine = with_programs();
    let program = load(&engine, PROGRAMS);
    let freeze = deploy::Freeze { keep: vec!["x".into()], ..deploy::Freeze::default() };
    let deployed = deploy::deploy(&engine, program.document(), &freeze).expect("it deploys");
    let text = save(&deployed.document);
    let request = Request::new().frame(4);
    let value =
        |program: &Program, name| program.run(&request).expect("it runs").value::<f32>(name);
    // The deployed document needs no registered programs and no library.
    let again = load(&Engine::new(), &text);
    assert_eq!(value(&again, "y"), value(&program, "y"));
    let again = Engine::new().load_binary(&deployed.to_bytes()).expect("it loads");
    assert_eq!(value(&again, "shifted"), value(&program, "shifted"));
}

#[test]
fn zones_of_used_groups_deploy() {
    // A group `step` that computes something of its own in each document.
    let step = |op: &str, by: f32| {
        json!({ "inputs": { "x": { "type": "f32" } },
            "outputs": { "x": { "type": "f32", "from": "n.value" } },
            "nodes": { "n": { "type": op, "in": { "a": { "input": "x" }, "b": by } } } })
    };
    let far = json!({ "millstream": 2, "use": { "deep": "deep.json" },
        "groups": { "step": step("math.add", 0.5) } });
    let deep = json!({ "millstream": 2, "groups": { "step": step("math.divide", 2.0) } });
    let (far, deep) = (far.to_string(), deep.to_string());
    let library = move |path: &str| match path {
        "lib.json" => Ok(LIBRARY.into()),
        "far.json" => Ok(far.clone().into()),
        "deep.json" => Ok(deep.clone().into()),
        _ => Err("there is no such file"),
    };
    let mut engine = Engine::new().with_documents(library);
    let repeat = |group: &str| json!({ "type": "repeat", "group": group, "in": { "x": { "input": "x" }, "count": 3 } });
    let twice = json!({ "millstream": 2, "inputs": { "x": { "type": "f32", "default": 1 } },
        "outputs": { "x": { "type": "f32", "from": "r.x" } }, "nodes": { "r": repeat("step") },
        "groups": { "step": step("math.subtract", 4.0) } });
    let twice = load(&engine, &twice.to_string());
    engine.register(NodeDef::from_program("my.less", &twice));
    let text = json!({ "millstream": 2, "use": { "lib": "lib.json", "far": "far.json" },
        "inputs": { "x": { "type": "f32", "default": 3 } },
        "outputs": { "lib": { "type": "f32", "from": "lib.x" }, "own": { "type": "f32", "from": "own.x" },
            "far": { "type": "f32", "from": "far.x" }, "deep": { "type": "f32", "from": "deep.x" },
            "less": { "type": "f32", "from": "less.x" }, "as": { "type": "f32", "from": "as.x" },
            "six": { "type": "f32", "from": "six.value" } },
        "nodes": { "lib": repeat("lib/step"), "own": repeat("step"), "far": repeat("far/step"),
            "deep": repeat("far/deep/step"), "as": repeat("as f32"),
            "less": { "type": "my.less", "in": { "x": { "input": "x" } } },
            "six": { "type": "math.multiply", "in": { "a": 2, "b": 3 } } },
        "groups": { "step": step("math.add", 1.0), "as f32": step("math.multiply", 10.0) } });
    let program = load(&engine, &text.to_string());
    let freeze = deploy::Freeze { keep: vec!["x".into()], ..deploy::Freeze::default() };
    let deployed = deploy::deploy(&engine, program.document(), &freeze).expect("it deploys");
    let mut names: Vec<&str> = deployed.document.groups.keys().map(|name| &**name).collect();
    names.sort_unstable();
    let steps = ["step", "step_2", "step_3", "step_4", "step_5"];
    assert_eq!(names, [&["as f32", "as f32_2"][..], &steps].concat());
    let text = save(&deployed.document);
    let bytes = Engine::new().load_binary(&deployed.to_bytes()).expect("it loads");
    for again in [load(&Engine::new(), &text), bytes] {
        let answer = again.run(&Request::new()).expect("it runs");
        let values = ["lib", "own", "far", "deep", "less", "as", "six"];
        let values = values.map(|name| answer.value::<f32>(name));
        assert_eq!(values, [81.0, 6.0, 4.5, 0.375, -9.0, 3000.0, 6.0].map(Some), "{text}");
    }
}

#[test]
fn a_session_with_programs_follows_edits_and_ticks() {
    let engine = with_programs();
    let mut session = Session::open(&engine, PROGRAMS.as_bytes()).expect("it opens");
    let edit = |json: serde_json::Value| serde_json::from_value::<Edit>(json).expect("an edit");
    let edits = [
        json!({ "edit": "set_input", "node": "p", "input": "by", "to": 3 }),
        json!({ "edit": "add_nodes", "nodes": [{ "name": "q", "node": { "type": "my.power",
            "in": { "x": { "from": "p.value" }, "by": 0.5 } } }] }),
        json!({ "edit": "change_output", "name": "y", "def": { "type": "f32", "from": "q.value" } }),
        json!({ "edit": "replace_type", "node": "m", "kind": { "type": "my.moving" } }),
        json!({ "edit": "mute", "node": "p", "muted": true }),
        json!({ "edit": "ungroup", "node": "q" }),
    ];
    let before = save(session.document());
    let compare = |session: &mut Session| {
        let program = load(&engine, &save(session.document()));
        let ask = |name| Ask { frame: Some(3), ..Ask::output(name) };
        for name in ["y", "shifted"] {
            let mine = session.eval(&ask(name)).expect("it runs").answer.value::<f32>(name);
            let request = Request::new().output(name).frame(3);
            assert_eq!(mine, program.run(&request).expect("it runs").value::<f32>(name), "{name}");
        }
    };
    compare(&mut session);
    for json in &edits {
        session.edit(&edit(json.clone())).unwrap_or_else(|error| panic!("{error}: {json}"));
        compare(&mut session);
    }
    for _ in &edits {
        assert!(session.undo());
        compare(&mut session);
    }
    assert_eq!(save(session.document()), before);
    let within = json!({ "edit": "mute", "within": "my.power", "node": "p", "muted": true });
    session.edit(&edit(within)).expect_err("it is of another document");
    let counted = session.value::<i32>("n").expect("it runs");
    session.tick(&Ask::all()).expect("it runs");
    assert_ne!(session.value::<i32>("n").expect("it runs"), counted);
}
