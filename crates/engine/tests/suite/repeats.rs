//! Groups that run round by round, in sessions and deployed documents.

use millstream::deploy::{Freeze, deploy};
use millstream::session::{Ask, Session};
use millstream::{Document, Edit, Engine, Request};
use millstream_ir::LogDetail;
use serde_json::{Value as Json, json};

/// y is x, tripled and increased by the time, n times; the tripling is in a repeat of its own.
const GROWTH: &str = r#"{ "millstream": 2,
    "inputs": { "x": { "type": "f64", "default": 1 }, "n": { "type": "i32", "default": 2 } },
    "outputs": { "y": { "type": "f64", "from": "grow.x" } },
    "nodes": {
        "grow": { "type": "repeat", "group": "step",
            "in": { "x": { "input": "x" }, "count": { "input": "n" } } }
    },
    "groups": {
        "step": {
            "inputs": { "x": { "type": "f64" } },
            "outputs": { "x": { "type": "f64", "from": "later.value" } },
            "nodes": {
                "time": { "type": "context.time" },
                "thrice": { "type": "repeat", "group": "add",
                    "in": { "x": { "input": "x" }, "by": { "input": "x" }, "count": 2 } },
                "later": { "type": "math.add",
                    "in": { "a": { "from": "thrice.x" }, "b": { "from": "time.value" } } }
            }
        },
        "add": {
            "inputs": { "x": { "type": "f64" }, "by": { "type": "f64" } },
            "outputs": { "x": { "type": "f64", "from": "sum.value" } },
            "nodes": { "sum": { "type": "math.add",
                "in": { "a": { "input": "x" }, "b": { "input": "by" } } } }
        }
    } }"#;

fn session() -> Session {
    let mut session = Session::open(&Engine::new(), GROWTH.as_bytes()).expect("it opens");
    session.set_time(0.5);
    session
}

fn edit(session: &mut Session, json: Json) {
    let edit: Edit = serde_json::from_value(json).expect("an edit");
    session.edit(&edit).unwrap_or_else(|error| panic!("{error}"));
}

fn y(session: &mut Session) -> Option<f64> {
    session.value::<f64>("y").expect("it runs")
}

/// n times three times x plus the time.
fn grown(x: f64, n: i32, factor: f64, time: f64) -> f64 {
    (0..n).fold(x, |x, _| x * factor + time)
}

#[test]
fn values_and_moments_change_what_rounds_give() {
    let mut session = session();
    assert_eq!(y(&mut session), Some(grown(1.0, 2, 3.0, 0.5)));
    session.set("n", 5).expect("it is an input");
    assert_eq!(y(&mut session), Some(grown(1.0, 5, 3.0, 0.5)));
    session.set_time(2.0);
    assert_eq!(y(&mut session), Some(grown(1.0, 5, 3.0, 2.0)));
    session.set("n", 0).expect("it is an input");
    assert_eq!(y(&mut session), Some(1.0));
}

#[test]
fn edits_inside_groups_change_what_rounds_give() {
    let mut session = session();
    assert_eq!(y(&mut session), Some(grown(1.0, 2, 3.0, 0.5)));
    let four = json!({ "edit": "set_input", "within": "step", "node": "thrice", "input": "count", "to": 3 });
    edit(&mut session, four);
    assert_eq!(y(&mut session), Some(grown(1.0, 2, 4.0, 0.5)));
    session.settle();
    assert_eq!(y(&mut session), Some(grown(1.0, 2, 4.0, 0.5)));
    edit(&mut session, json!({ "edit": "rename_group", "name": "add", "to": "plus" }));
    edit(&mut session, json!({ "edit": "rename_group", "name": "step", "to": "one round" }));
    edit(&mut session, json!({ "edit": "rename_node", "node": "grow", "to": "rounds" }));
    assert_eq!(y(&mut session), Some(grown(1.0, 2, 4.0, 0.5)));
    let doubled = json!({ "edit": "set_input", "within": "plus", "node": "sum", "input": "a", "to": { "input": "by" } });
    edit(&mut session, doubled);
    assert_eq!(y(&mut session), Some(grown(1.0, 2, 2.0, 0.5)));
    for _ in 0..5 {
        assert!(session.undo());
    }
    assert_eq!(y(&mut session), Some(grown(1.0, 2, 3.0, 0.5)));
}

#[test]
fn a_group_cannot_repeat_itself() {
    let mut session = session();
    let cycle = json!({ "edit": "add_nodes", "within": "add", "nodes": [{ "name": "again",
        "node": { "type": "repeat", "group": "step", "in": { "x": 1, "count": 1 } } }] });
    let cycle: Edit = serde_json::from_value(cycle).expect("an edit");
    let refused = session.edit(&cycle).expect_err("it is a cycle").to_string();
    assert!(refused.contains("contain"), "{refused}");
    assert_eq!(y(&mut session), Some(grown(1.0, 2, 3.0, 0.5)));
}

#[test]
fn a_document_of_numbers_may_get_a_repeat_and_lose_it() {
    const SUM: &str = r#"{ "millstream": 2,
        "inputs": { "x": { "type": "f64", "default": 1 } },
        "outputs": { "y": { "type": "f64", "from": "sum.value" } },
        "nodes": { "sum": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 1 } } },
        "groups": { "twice": {
            "inputs": { "x": { "type": "f64" } },
            "outputs": { "x": { "type": "f64", "from": "sum.value" } },
            "nodes": { "sum": { "type": "math.add",
                "in": { "a": { "input": "x" }, "b": { "input": "x" } } } } } } }"#;
    let mut session = Session::open(&Engine::new(), SUM.as_bytes()).expect("it opens");
    assert_eq!(y(&mut session), Some(2.0));
    let repeat = json!({ "edit": "add_nodes", "nodes": [{ "name": "grow", "node": { "type": "repeat",
        "group": "twice", "in": { "x": { "input": "x" }, "count": 4 } } }] });
    edit(&mut session, repeat);
    let link =
        json!({ "edit": "set_input", "node": "sum", "input": "a", "to": { "from": "grow.x" } });
    edit(&mut session, link);
    assert_eq!(y(&mut session), Some(17.0));
    edit(&mut session, json!({ "edit": "mute", "node": "grow", "muted": true }));
    assert_eq!(y(&mut session), Some(2.0));
    assert!(session.undo() && session.undo() && session.undo());
    assert_eq!(y(&mut session), Some(2.0));
}

#[test]
fn deployed_documents_repeat_as_they_did() {
    let engine = Engine::new();
    let original = engine.load(GROWTH.as_bytes()).expect("it loads");
    let (document, problems) = millstream::document::load(GROWTH.as_bytes(), engine.limits());
    let document: Document = document.unwrap_or_else(|| panic!("{problems}"));
    let freeze = Freeze { keep: vec!["x".into()], ..Freeze::default() };
    let deployed = deploy(&engine, &document, &freeze).expect("it is deployed");
    let text = millstream::document::save(&deployed.document);
    let as_text = engine.load(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let as_bytes = engine.load_binary(&deployed.to_bytes()).expect("it is read");
    let request = Request::new().column("x", vec![1.0, -2.0, 1e300]).time(0.25);
    let expected = original.run(&request).expect("it runs").column::<f64>("y");
    assert!(expected.is_some());
    for program in [as_text, as_bytes] {
        let found = program.run(&request).expect("it runs").column::<f64>("y");
        assert_eq!(found, expected, "{text}");
    }
    let mut damaged = deployed.to_bytes();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    assert!(engine.load_binary(&damaged).is_err());
}

/// A repeat that needs the time, at other times: by a shift, and in a group that itself runs round
/// by round.
#[test]
fn deployed_documents_repeat_at_other_times_as_they_did() {
    let mut whole: Json = serde_json::from_str(GROWTH).expect("it is JSON");
    let shifted =
        |of: &str| json!({ "type": "time.shift", "in": { "value": { "from": of }, "by": 4 } });
    whole["nodes"]["late"] = shifted("grow.x");
    whole["nodes"]["around"] =
        json!({ "type": "repeat", "group": "outer", "in": { "x": { "input": "x" }, "count": 2 } });
    whole["groups"]["outer"] = json!({ "inputs": { "x": { "type": "f64" } },
        "outputs": { "x": { "type": "f64", "from": "late.value" } },
        "nodes": { "late": shifted("grow.x"),
            "grow": { "type": "repeat", "group": "step", "in": { "x": { "input": "x" }, "count": 3 } } } });
    whole["outputs"]["late"] = json!({ "type": "f64", "from": "late.value" });
    whole["outputs"]["around"] = json!({ "type": "f64", "from": "around.x" });
    let engine = Engine::new();
    let text = whole.to_string();
    let original = engine.load(text.as_bytes()).expect("it loads");
    let (document, problems) = millstream::document::load(text.as_bytes(), engine.limits());
    let document: Document = document.unwrap_or_else(|| panic!("{problems}"));
    for keep in [vec!["x".into(), "n".into()], Vec::new()] {
        let deployed = deploy(&engine, &document, &Freeze { keep, ..Freeze::default() });
        let deployed = deployed.expect("it is deployed");
        let text = millstream::document::save(&deployed.document);
        let as_text =
            engine.load(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let as_bytes = engine.load_binary(&deployed.to_bytes()).expect("it is read");
        let mut session = Session::open(&engine, text.as_bytes()).expect("it opens");
        for time in [0.0, 0.25, 3.0] {
            let request = Request::new().time(time);
            let expected = original.run(&request).expect("it runs");
            session.set_time(time);
            for output in ["y", "late", "around"] {
                let value = |program: &millstream::Program| {
                    program.run(&request).expect("it runs").value::<f64>(output)
                };
                let wanted = expected.value::<f64>(output);
                assert!(wanted.is_some());
                assert_eq!(
                    (value(&as_text), value(&as_bytes)),
                    (wanted, wanted),
                    "{output}: {text}"
                );
                assert_eq!(
                    session.value::<f64>(output).expect("it runs"),
                    wanted,
                    "{output}: {text}"
                );
            }
        }
    }
}

#[test]
fn explained_repeats_name_their_group_and_what_it_needs() {
    let engine = Engine::new();
    let program = engine.load(GROWTH.as_bytes()).expect("it loads");
    let plan = program.plan();
    let needs: Vec<String> = plan.required().map(ToString::to_string).collect();
    assert_eq!(needs, ["time"]);
}

#[test]
fn a_repeat_follows_the_name_of_the_output_that_ends_it() {
    const HALVED: &str = r#"{ "millstream": 2,
        "outputs": { "y": { "type": "f64", "from": "rounds.x" } },
        "nodes": { "rounds": { "type": "repeat", "group": "half", "set": { "while": "large" },
            "in": { "x": 100, "count": 50 } } },
        "groups": { "half": {
            "inputs": { "x": { "type": "f64" } },
            "outputs": { "x": { "type": "f64", "from": "half.value" },
                         "large": { "type": "bool", "from": "is.value" } },
            "nodes": {
                "half": { "type": "math.divide", "in": { "a": { "input": "x" }, "b": 2 } },
                "is": { "type": "compare.greater", "in": { "a": { "from": "half.value" }, "b": 10 } }
            } } } }"#;
    let mut session = Session::open(&Engine::new(), HALVED.as_bytes()).expect("it opens");
    assert_eq!(y(&mut session), Some(6.25));
    let rename = json!({ "edit": "rename_output", "within": "half", "name": "large", "to": "go" });
    edit(&mut session, rename);
    assert_eq!(y(&mut session), Some(6.25));
    let text = millstream::document::save(session.document());
    assert!(text.contains("\"while\": \"go\""), "{text}");
    assert!(session.undo());
    assert_eq!(y(&mut session), Some(6.25));
}

#[test]
fn what_failed_in_a_round_is_told_by_the_names_that_nodes_have_now() {
    const READ: &str = r#"{ "millstream": 2,
        "inputs": { "t": { "type": "string", "default": "12" } },
        "outputs": { "y": { "type": "f64", "from": "rounds.y" } },
        "nodes": { "rounds": { "type": "repeat", "group": "outer",
            "in": { "t": { "input": "t" }, "y": 0, "count": 2 } } },
        "groups": {
            "outer": {
                "inputs": { "t": { "type": "string" }, "y": { "type": "f64" } },
                "outputs": { "y": { "type": "f64", "from": "within.y" } },
                "nodes": { "within": { "type": "group", "group": "inner",
                    "in": { "t": { "input": "t" }, "y": { "input": "y" } } } } },
            "inner": {
                "inputs": { "t": { "type": "string" }, "y": { "type": "f64" } },
                "outputs": { "y": { "type": "f64", "from": "sum.value" } },
                "nodes": {
                    "read": { "type": "string.to_number", "in": { "text": { "input": "t" } } },
                    "sum": { "type": "math.add",
                        "in": { "a": { "from": "read.value" }, "b": { "input": "y" } } } } } } }"#;
    let mut session = Session::open(&Engine::new(), READ.as_bytes()).expect("it opens");
    let failed = |session: &mut Session| {
        let evaluated = session.eval(&Ask::all()).expect("it runs");
        let told: Vec<String> = evaluated.answer.failures.iter().map(ToString::to_string).collect();
        told.join("; ")
    };
    assert_eq!(y(&mut session), Some(24.0));
    edit(
        &mut session,
        json!({ "edit": "rename_node", "within": "inner", "node": "read", "to": "number" }),
    );
    let logged = session.eval(&Ask::all().with_log(LogDetail::Counts)).expect("it runs");
    assert!(logged.plan().is_none(), "a live graph answers");
    let n_runs: u32 = logged.runs().iter().map(|run| run.entry.runs).sum();
    assert_eq!(n_runs, 0, "a name is nothing to run for");
    session.set("t", "twelve").expect("it is an input");
    let now = failed(&mut session);
    assert!(now.contains("within/number"), "{now}");
    edit(
        &mut session,
        json!({ "edit": "rename_node", "within": "inner", "node": "number", "to": "digits" }),
    );
    let now = failed(&mut session);
    assert!(now.contains("within/digits"), "{now}");
    edit(
        &mut session,
        json!({ "edit": "rename_node", "within": "outer", "node": "within", "to": "part" }),
    );
    let now = failed(&mut session);
    assert!(now.contains("part/digits"), "{now}");
    session.settle();
    assert_eq!(failed(&mut session), now);
    assert!(session.undo() && session.undo());
    let now = failed(&mut session);
    assert!(now.contains("within/number"), "{now}");
}
