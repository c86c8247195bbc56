//! Expressions: the nodes that they become, in plans and in sessions.

use millstream::register::FromProgram;
use millstream::session::{Ask, Session};
use millstream::{Edit, Engine, LogDetail, NodeDef, Request, Severity, Type};
use serde_json::{Value as Json, json};

fn document(text: &str) -> String {
    json!({ "millstream": 1,
        "inputs": { "x": { "type": "f32", "default": 2 }, "y": { "type": "f32", "default": 3 } },
        "outputs": { "out": { "type": "f32", "from": "e.value" } },
        "nodes": { "e": { "type": "math.expression", "set": { "text": text },
            "in": { "x": { "input": "x" }, "y": { "input": "y" } } } } })
    .to_string()
}

fn edit(json: Json) -> Edit {
    serde_json::from_value(json).expect("an edit")
}

/// The nodes that run for all outputs.
fn ran(session: &mut Session) -> Vec<String> {
    let evaluated = session.eval(&Ask::all().with_log(LogDetail::Counts)).expect("it runs");
    let runs = evaluated.runs().into_iter().filter(|run| run.entry.runs > 0);
    runs.map(|run| run.path.to_string()).collect()
}

const CHOICE: &str = "x > 1 ? x * y + 1 : sin(x) + 0 * y";

#[test]
fn the_arm_that_is_not_taken_is_not_computed() {
    let mut session = Session::open(&Engine::new(), document(CHOICE).as_bytes()).expect("it opens");
    assert_eq!(ran(&mut session), ["e/1", "e/2", "e/3", "e/7"]);
    session.set("x", 0.5_f32).expect("fits");
    assert_eq!(ran(&mut session), ["e/1", "e/4", "e/5", "e/6", "e/7"]);
    session.set("y", 4.0_f32).expect("fits");
    assert_eq!(ran(&mut session), ["e/5"], "0 stays 0");
    let program = Engine::new().load(document(CHOICE).as_bytes()).expect("it is right");
    let answer = program.run(&Request::new().with_log(LogDetail::Counts)).expect("it runs");
    let runs = program.runs(&answer).filter(|run| run.entry.runs > 0);
    let paths: Vec<String> = runs.map(|run| run.path.to_string()).collect();
    assert_eq!(paths, ["e/1", "e/2", "e/3", "e/7"]);
}

#[test]
fn parts_of_expressions_merge_with_other_nodes() {
    let text = json!({ "millstream": 1,
        "inputs": { "x": { "type": "f32", "default": 2 }, "y": { "type": "f32", "default": 3 } },
        "outputs": { "a": { "type": "f32", "from": "a.value" }, "b": { "type": "f32", "from": "b.value" },
            "c": { "type": "f32", "from": "c.value" } },
        "nodes": {
            "c": { "type": "math.multiply", "in": { "a": { "input": "y" }, "b": { "input": "x" } } },
            "a": { "type": "math.expression", "set": { "text": "x * y + (2 + 3)" },
                "in": { "x": { "input": "x" }, "y": { "input": "y" } } },
            "b": { "type": "math.expression", "set": { "text": "5 + y * x" },
                "in": { "x": { "input": "x" }, "y": { "input": "y" } } } } });
    let program = Engine::new().load(text.to_string().as_bytes()).expect("it is right");
    let answer = program.run(&Request::new().with_log(LogDetail::Counts)).expect("it runs");
    let types: Vec<String> = program.runs(&answer).map(|run| run.node_type).collect();
    assert_eq!(types, ["math.multiply", "math.add"]);
}

#[test]
fn sessions_follow_the_text_and_values_move_with_the_node() {
    let mut session = Session::open(&Engine::new(), document(CHOICE).as_bytes()).expect("it opens");
    let value = |session: &mut Session| session.value::<f32>("out").expect("it runs");
    assert_eq!(value(&mut session), Some(7.0));
    let text = |text: &str| {
        edit(json!({ "edit": "set_setting", "node": "e", "setting": "text", "to": text }))
    };
    session.edit(&text("dot(vec2(x, y), vec2(y, x)) + 1")).expect("fits");
    assert_eq!(value(&mut session), Some(13.0));
    session.edit(&text("y - x")).expect("fits");
    assert_eq!(value(&mut session), Some(1.0));
    assert!(session.undo() && session.undo());
    assert_eq!(value(&mut session), Some(7.0));
    session.edit(&edit(json!({ "edit": "group", "nodes": ["e"], "name": "g" }))).expect("fits");
    assert_eq!(ran(&mut session), [""; 0], "what moves does not run again");
    session.edit(&edit(json!({ "edit": "ungroup", "node": "g" }))).expect("fits");
    assert_eq!(ran(&mut session), [""; 0]);
    let bad = text("vec2(x, y) + vec3(x, y, 1)");
    session.edit(&bad).expect("it may be wrong");
    let problems = session.problems().to_string();
    assert!(problems.contains("a vec2 and a vec3 cannot be combined"), "{problems}");
    assert!(session.undo());
    assert_eq!(value(&mut session), Some(7.0));
}

#[test]
fn texts_that_are_too_long_or_nested_too_deeply_have_a_place_and_a_hint() {
    let nested = format!("{}x + y{}", "(".repeat(10_000), ")".repeat(10_000));
    let long = format!("x + y{}", " + 1".repeat(35_000));
    for (text, message, hint) in [
        (nested, "nested deeper than 200 levels", "move the inner part to another node"),
        (
            long,
            "the formula has 70003 bytes without spaces, but the limit is 65536",
            "split it into several nodes",
        ),
    ] {
        let session = Session::open(&Engine::new(), document(&text).as_bytes());
        let problems = session.expect("it opens").problems().to_string();
        assert!(problems.starts_with("e: ") && problems.contains(message), "{problems}");
        assert!(problems.contains(hint), "{problems}");
    }
}

#[test]
fn node_types_of_the_program_around_the_engine_are_called_too() {
    let mut engine = Engine::new().with_library(millstream_testkit::custom::register);
    engine.register(
        NodeDef::new("my.twice", "Doubles")
            .input("x", Type::F32, "")
            .output("value", Type::F32, "")
            .form(|_, inputs| vec![vec![inputs[0][0] + inputs[0][0]]]),
    );
    let run = |text: &str| {
        let program = engine.load(document(text).as_bytes()).unwrap_or_else(|e| panic!("{e}"));
        let answer = program.run(&Request::new().time(1.5)).expect("it runs");
        answer.value::<f32>("out").expect("a value")
    };
    assert_eq!(run("my.twice(x + y) + 1"), 11.0);
    // A callback that reads the time.
    assert_eq!(run("custom.wave(speed: x) * 2 + y"), 9.0);
    // A callback that is replaced.
    let mut again = engine.clone();
    again.register(
        NodeDef::new("my.twice", "Triples")
            .input("x", Type::F32, "")
            .output("value", Type::F32, "")
            .form(|_, inputs| vec![vec![inputs[0][0] + inputs[0][0] + inputs[0][0]]]),
    );
    let program = again.load(document("my.twice(x + y)").as_bytes()).expect("it compiles");
    assert_eq!(program.run(&Request::new()).expect("it runs").value::<f32>("out"), Some(15.0));
    let mut session =
        Session::open(&engine, document("my.twice(y) + 0 * x").as_bytes()).expect("it opens");
    assert_eq!(session.value::<f32>("out").expect("it runs"), Some(6.0));
    let refused = |engine: &Engine, text: &str| {
        engine.load(document(text).as_bytes()).expect_err("it is wrong").to_string()
    };
    let error = refused(&engine, "my.twise(x) + y");
    assert!(error.contains("did you mean `my.twice`?"), "{error}");
    let program = engine.load(document("x + y").as_bytes()).expect("it compiles");
    engine.register(NodeDef::from_program("my.sum", &program));
    let error = refused(&engine, "my.sum(x, y)");
    assert!(error.contains("`my.sum` is defined by a document"), "{error}");
    assert!(error.contains("use a separate node"), "{error}");
}

#[test]
fn literals_of_outputs_have_their_types() {
    let text = "output i: i32 = -5\noutput l: i64 = 9007199254740993\noutput d: f64 = 0.1\n\
                output n: i32 = 1e3\noutput v: vec3 = [1, 2, 3]\noutput w: vec3 = (2)\n\
                output b: bool = true\noutput one: i32 = +1\noutput s: string = \"a\"\n\
                output next: i64 = l + 1\n";
    let program = Engine::new().load(text.as_bytes()).expect("it loads");
    let answer = program.run(&Request::new()).expect("it runs");
    let int = |name: &str| answer.value::<i32>(name);
    assert_eq!(["i", "n", "one"].map(int), [Some(-5), Some(1000), Some(1)]);
    let long = |name: &str| answer.value::<i64>(name);
    assert_eq!(["l", "next"].map(long), [9_007_199_254_740_993, 9_007_199_254_740_994].map(Some));
    assert_eq!(answer.value::<f64>("d"), Some(0.1));
    let vector = |name: &str| answer.value::<millstream::Vec3>(name).map(|it| format!("{it:?}"));
    assert!(vector("v").is_some() && vector("w").is_some());
    assert_eq!(answer.value::<bool>("b"), Some(true));
}

#[test]
fn literals_of_outputs_are_read_like_defaults_of_inputs() {
    let told = |text: String| {
        let error = Engine::new().load(text.as_bytes()).expect_err("it does not fit");
        let millstream::Error::Document(problems) = error else { panic!("{text}: {error}") };
        let mut errors = problems.iter().filter(|it| it.severity == Severity::Error);
        let only = errors.next().expect("it has an error");
        assert_eq!(errors.next().map(|it| &it.message), None, "{text}");
        assert!(only.place.span.is_some());
        let rest = only.message.split_once("o`: ").expect("it names the input or output").1;
        (only.code.clone(), rest.to_owned(), only.help.clone())
    };
    for (ty, literal, reason) in [
        ("i32", "1.5", "1.5 is not an i32"),
        ("i32", "[1]", "[1] is not an i32"),
        ("i32", "true", "true is not an i32"),
        ("i32", "3e9", "3000000000.0 does not fit an i32"),
        ("i64", "-9300000000000000000", "-9300000000000000000 does not fit an i64"),
        ("f32", "1e39", "1e39 does not fit an f32"),
        ("f64", "true", "true is not an f64"),
        ("bool", "1", "1 is not a bool"),
        ("vec3", "3", "3 is not a vec3"),
        ("vec3", "[1, 2]", "[1,2] is not a vec3"),
        ("color", "+0.5", "0.5 is not a color"),
        ("list<f32>", "3", "3 is not a list<f32>"),
        ("string", "1", "1 is not a string"),
    ] {
        let output = told(format!("output o: {ty} = {literal}\nnode_of_it = math.add(o, 1)\n"));
        let input = told(format!("input o: {ty} = {literal}\n"));
        assert_eq!(output, input);
        assert_eq!(output.1, reason);
    }
}

#[test]
fn spellings_of_a_number_in_a_call_are_the_same_number() {
    let of = |spelled: &str| {
        let text = format!(
            r#"{{ "millstream": 2, "outputs": {{ "o": {{ "type": "f64", "from": "e.value" }} }},
            "nodes": {{ "e": {{ "type": "math.expression", "set": {{ "text": "f({spelled}) + 0" }} }} }},
            "groups": {{ "f": {{ "inputs": {{ "x": {{ "type": "f64" }} }},
                "outputs": {{ "value": {{ "type": "f64", "from": "s.value" }} }},
                "nodes": {{ "s": {{ "type": "math.add", "in": {{ "a": {{ "input": "x" }}, "b": 100 }} }} }} }} }} }}"#
        );
        let program = Engine::new().load(text.as_bytes()).expect("it loads");
        program.run(&Request::new()).expect("it runs").value::<f64>("o")
    };
    for (spelled, value) in [
        ("0.1", 100.1),
        (".1", 100.1),
        ("+.1", 100.1),
        ("+0.1", 100.1),
        ("-.1", 99.9),
        ("2.", 102.0),
    ] {
        assert_eq!(of(spelled), Some(value), "{spelled}");
    }
    // More than a float of 32 bits holds.
    assert_eq!(of("+16777217"), Some(16_777_317.0));
}

#[test]
fn numbers_with_a_plus_sign_are_numbers() {
    let text = "input a: i32 = +5 from +1 to +9\ninput v: vec3 = [+1, -2, +3e+1]\n\
                output o: i32 = +7\noutput l: list<i32> = [+1, 2]\nk = +4\n\
                output s: f32 = math.add(+5, -3)\noutput t: i32 = a + +2\noutput u: vec3 = v\n\
                output w: f32 = k\noutput r: f32 = list.get(list.range(count: +3), +1)\n";
    let plain = text.replace("+ +2", "~").replace("e+1", "e1").replace('+', "").replace('~', "+ 2");
    let of = |text: &str| {
        let program = Engine::new().load(text.as_bytes()).expect("it loads");
        let answer = program.run(&Request::new()).expect("it runs");
        let outputs = answer.outputs.iter();
        outputs.map(|output| format!("{:?}", output.value)).collect::<Vec<String>>()
    };
    assert_eq!(of(text), of(&plain));
}
