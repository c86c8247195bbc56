//! Edits of documents of vectors, texts and lists: which nodes run for them.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use millstream_base::{Budget, Limits, Vec3};
use millstream_ir::answer::{Fate, SkipReason};
use millstream_ir::request::LogDetail;
use serde_json::json;

use super::tests::{edit, followed, runs};
use crate::engine::Engine;
use crate::session::{Ask, Session};

const GRAPH: &str = r#"{ "millstream": 2,
    "inputs": { "x": { "type": "vec3", "default": [3, 4, 0] }, "near": { "type": "bool", "default": true } },
    "outputs": { "v": { "type": "vec3", "from": "which.value" }, "n": { "type": "f64", "from": "read.value" } },
    "nodes": {
        "sum": { "type": "math.add", "in": { "a": { "input": "x" }, "b": [0, 0, 0] } },
        "far": { "type": "math.multiply", "in": { "a": { "from": "sum.value" }, "b": [100, 100, 100] } },
        "farther": { "type": "math.multiply", "in": { "a": { "from": "far.value" }, "b": { "from": "far.value" } } },
        "which": { "type": "control.switch", "in": { "condition": { "input": "near" },
            "false": { "from": "farther.value" }, "true": { "from": "sum.value" } } },
        "apart": { "type": "vector.separate_vec3", "in": { "vector": { "from": "sum.value" } } },
        "text": { "type": "string.from_number", "in": { "number": { "from": "apart.y" } } },
        "both": { "type": "string.concat", "in": { "texts": [{ "from": "text.value" }, { "value": "0" }] } },
        "read": { "type": "string.to_number", "in": { "text": { "from": "both.value" } } }
    } }"#;

fn open() -> Session {
    let mut session = Session::open(&Engine::new(), GRAPH.as_bytes()).expect("it opens");
    assert!(!session.problems().has_errors(), "{:?}", session.problems());
    session.forget_whole();
    let all = ["sum first", "which first", "apart first", "text first", "both first", "read first"];
    assert_eq!(runs(&mut session, "opened"), all);
    session
}

#[test]
fn values_stop_waves_and_arms_stay_lazy() {
    let s = &mut open();
    let literal = |to| json!({ "edit": "set_input", "node": "sum", "input": "b", "to": to });
    assert_eq!(
        followed(s, literal(json!([1, 0, 0]))),
        ["sum edited", "which input", "apart input"],
        "the second component is what it was"
    );
    assert_eq!(followed(s, literal(json!([1.0, 0, 0.0]))), Vec::<String>::new());
    s.set("near", false).expect("it fits");
    assert_eq!(runs(s, "switched"), ["far first", "farther first", "which input"]);
    s.set("near", true).expect("it fits");
    assert_eq!(runs(s, "switched back"), ["which input"]);
    assert_eq!(
        followed(s, literal(json!([2, 0, 0]))),
        ["sum edited", "which input", "apart input"]
    );
    assert!(s.undo());
    runs(s, "undo");
    s.set("near", false).expect("it fits");
    assert_eq!(runs(s, "the arm has what it read"), ["which input"]);
    assert_eq!(s.value::<Vec3>("v").expect("it runs"), Some(Vec3([160_000.0, 160_000.0, 0.0])));
}

#[test]
fn links_conversions_and_groups_are_followed() {
    let s = &mut open();
    let link = json!({ "edit": "set_input", "node": "sum", "input": "b", "to": [7, 7, 7] });
    assert_eq!(
        followed(s, link),
        ["sum edited", "which input", "apart input", "text input", "both input", "read input"]
    );
    let added = json!({ "edit": "add_nodes", "nodes": [{ "name": "length", "node":
        { "type": "vector.length", "in": { "vector": { "input": "x" } } } }] });
    assert_eq!(followed(s, added), Vec::<String>::new());
    // A number instead of a vector: the conversion is not a run of a node.
    let number = json!({ "edit": "set_input", "node": "sum", "input": "b", "to": { "from": "length.value" } });
    assert_eq!(
        followed(s, number),
        [
            "sum edited",
            "which input",
            "apart input",
            "text input",
            "both input",
            "read input",
            "length first"
        ]
    );
    let output = json!({ "edit": "set_input", "node": "text", "input": "number", "to": { "from": "apart.x" } });
    assert_eq!(followed(s, output), ["text edited", "both input", "read input"]);
    let group = json!({ "edit": "group", "nodes": ["apart", "text"], "name": "inner" });
    assert_eq!(followed(s, group), Vec::<String>::new(), "what moves does not run again");
    let rename = json!({ "edit": "rename_node", "node": "inner", "to": "in" });
    assert_eq!(followed(s, rename), Vec::<String>::new());
    let ungroup = json!({ "edit": "ungroup", "node": "in" });
    assert_eq!(followed(s, ungroup), Vec::<String>::new());
    let mut n = 0;
    while s.undo() {
        runs(s, "undo");
        n += 1;
    }
    assert_eq!(n, 7);
    while s.redo() {
        runs(s, "redo");
    }
}

#[test]
fn what_fails_has_a_path_and_all_else_its_value() {
    let s = &mut open();
    let bad = edit(json!({ "edit": "set_input", "node": "both", "input": "texts",
        "to": [{ "from": "text.value" }, { "value": "x" }] }));
    s.edit(&bad).expect("it fits");
    let group = json!({ "edit": "group", "nodes": ["both", "read"], "name": "in" });
    s.edit(&edit(group)).expect("it fits");
    let last = json!({ "edit": "add_nodes", "nodes": [{ "name": "last", "node":
        { "type": "math.add", "in": { "a": { "from": "in.value" }, "b": 1 } } }] });
    s.edit(&edit(last)).expect("it fits");
    let out = json!({ "edit": "change_output", "name": "n", "def": { "type": "f64", "from": "last.value" } });
    s.edit(&edit(out)).expect("it fits");
    let ask = Ask::all().with_log(LogDetail::Times);
    let evaluated = s.eval(&ask).expect("it runs");
    assert!(evaluated.plan().is_none(), "the mirror answers");
    let answer = &evaluated.answer;
    let failures: Vec<String> = answer.failures.iter().map(ToString::to_string).collect();
    assert_eq!(failures, ["in/read: \"4x\" is not a number"]);
    assert_eq!(
        answer.failures[0].help.as_deref(),
        Some("correct the string, or set `otherwise` to `nan`")
    );
    assert!(answer.output("n").expect("asked").value.is_none());
    assert!(answer.output("v").expect("asked").value.is_some());
    let log = evaluated.runs();
    let last = log.iter().find(|run| run.path.as_str() == "last").expect("it is there");
    assert_eq!(last.entry.fate, Fate::Skipped(SkipReason::InputFailed));
    // Runs shorter than a tick of the clock may show no time.
    assert!(log.iter().any(|run| run.entry.runs > 0 && run.entry.time > Duration::ZERO));
    assert!(log.iter().all(|run| run.entry.runs > 0 || run.entry.time == Duration::ZERO));
    let log = s.eval(&ask).expect("it runs").runs();
    let fate = |path: &str| log.iter().find(|run| run.path.as_str() == path).map(|r| r.entry.fate);
    assert_eq!(fate("in/read"), Some(Fate::Skipped(SkipReason::Failed)));
    assert_eq!(fate("last"), Some(Fate::Skipped(SkipReason::InputFailed)));
    let probed = s.probe("in/read.value").expect("it is there");
    assert!(probed.value.is_none());
    while s.undo() {}
    assert_eq!(s.value::<f64>("n").expect("it runs"), Some(40.0));
}

#[test]
fn an_evaluation_can_be_ended_and_goes_on_later() {
    let s = &mut open();
    s.set("x", Vec3([1.0, 2.0, 3.0])).expect("it fits");
    let flag = Arc::new(AtomicBool::new(true));
    let ask = Ask { budget: Budget::until(&flag), ..Ask::output("n") };
    s.eval(&ask).expect_err("somebody cancelled it");
    let budget = Budget::by(Some(std::time::Instant::now()));
    s.eval(&Ask { budget, ..Ask::output("n") }).expect_err("it is late");
    assert_eq!(s.value::<f64>("n").expect("it runs"), Some(20.0));
}

#[test]
fn what_needs_too_many_bytes_fails_alone() {
    let s = &mut open();
    s.set("x", Vec3([1.0, 2.0, 3.0])).expect("it fits");
    let limited = |output| {
        let limits = Limits { bytes: 2, ..Limits::default() };
        Ask { limits, ..Ask::output(output) }
    };
    assert!(s.eval(&limited("v")).expect("a vector needs none").plan().is_none());
    let error = s.eval(&limited("n")).expect_err("texts are made");
    let text = "the evaluation needs more than the 2 bytes it may hold";
    assert_eq!(error.to_string(), text);
    // Values that were made are not made again.
    assert_eq!(runs(s, "without a limit"), ["read input"]);
    assert!(s.eval(&limited("n")).is_ok(), "texts are at hand, and a number is given");
    assert_eq!(s.value::<f64>("n").expect("it runs"), Some(20.0));
    assert!(s.mirror.is_some());
}

#[test]
fn where_too_much_is_kept_plans_answer_for_a_while() {
    let s = &mut open();
    s.keep_at_most(1);
    s.set("x", Vec3([1.0, 2.0, 3.0])).expect("it fits");
    assert!(s.eval(&Ask::output("n")).expect("it runs").plan().is_some(), "a plan answers");
    assert!(s.mirror.is_none());
    let literal =
        |to| edit(json!({ "edit": "set_input", "node": "sum", "input": "b", "to": [to, 0, 0] }));
    s.edit(&literal(1)).expect("it fits");
    assert!(s.mirror.is_none());
    s.edit(&literal(2)).expect("it fits");
    assert!(s.mirror.is_some(), "there may be less to keep");
    assert!(s.eval(&Ask::output("n")).expect("it runs").plan().is_some(), "there is not");
    for to in 0..3 {
        assert!(s.mirror.is_none());
        s.edit(&literal(to)).expect("it fits");
    }
    s.keep_at_most(1 << 20);
    s.edit(&literal(7)).expect("it fits");
    assert!(s.eval(&Ask::output("n")).expect("it runs").plan().is_none());
    assert_eq!(s.value::<f64>("n").expect("it runs"), Some(20.0));
}

#[test]
fn what_goes_into_a_node_is_at_hand() {
    let s = &mut open();
    let value = |s: &mut Session, path: &str| s.probe(path).expect("it is there").value;
    let data = |value: Option<millstream_ir::answer::Series>| match value.map(|it| it.data) {
        Some(millstream_node::Data::One(value)) => value,
        other => panic!("{other:?}"),
    };
    let n_runs = s.mirror.as_ref().map(|mirror| mirror.n_runs());
    assert_eq!(data(value(s, "text.number")).get::<f32>(), Some(4.0));
    assert_eq!(data(value(s, "both.texts")).get::<Arc<str>>().as_deref(), Some("4"));
    assert_eq!(data(value(s, "sum.a")).get::<Vec3>(), Some(Vec3([3.0, 4.0, 0.0])));
    let group = json!({ "edit": "group", "nodes": ["both", "read"], "name": "in" });
    s.edit(&edit(group)).expect("it fits");
    assert_eq!(data(value(s, "in/read.text")).get::<Arc<str>>().as_deref(), Some("40"));
    assert_eq!(s.mirror.as_ref().map(|mirror| mirror.n_runs()), n_runs);
    assert!(s.whole.get().is_none(), "the document was not even checked");
    let what_if = Ask::all().what_if("x", Vec3([0.0, 5.0, 0.0]));
    let probed = s.probe_within("in/both.texts", &what_if).expect("it is there").value;
    assert_eq!(data(probed).get::<Arc<str>>().as_deref(), Some("5"));
    let flag = Arc::new(AtomicBool::new(true));
    let cancelled = Ask { budget: Budget::until(&flag), ..Ask::all() };
    s.probe_within("in/both.texts", &cancelled).expect_err("somebody cancelled it");
}
