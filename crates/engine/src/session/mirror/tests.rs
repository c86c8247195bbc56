//! Which edits a mirror follows; `tests/suite/live_edits.rs` compares the values afterwards.

use millstream_document::Edit;
use serde_json::{Value as Json, json};

use crate::engine::Engine;
use crate::session::{Ask, Session};
use millstream_ir::answer::{Fate, RunReason};
use millstream_ir::request::LogDetail;

const GRAPH: &str = r#"{ "millstream": 2,
    "inputs": { "x": { "type": "f32", "default": 3 }, "n": { "type": "i32", "default": -2 } },
    "outputs": { "y": { "type": "f32", "from": "sum.value" }, "z": { "type": "f64", "from": "use.v" } },
    "nodes": {
        "a": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 1 } },
        "b": { "type": "math.add", "in": { "a": { "from": "a.value" }, "b": { "input": "n" } } },
        "use": { "type": "group", "group": "twice", "in": { "x": { "from": "a.value" } } },
        "t": { "type": "context.time" },
        "less": { "type": "compare.less", "in": { "a": { "from": "b.value" }, "b": { "from": "t.value" } } },
        "which": { "type": "control.switch", "in": { "condition": { "from": "less.value" },
            "false": { "from": "use.v" }, "true": { "from": "b.value" } } },
        "sum": { "type": "math.expression", "set": { "text": "p * p + q" },
            "in": { "p": { "from": "which.value" }, "q": { "from": "a.value" } } }
    },
    "groups": { "twice": {
        "inputs": { "x": { "type": "f32" } },
        "outputs": { "v": { "type": "f32", "from": "s.value" } },
        "nodes": { "s": { "type": "math.add", "in": { "a": { "input": "x" }, "b": { "input": "x" } } } } } } }"#;

pub(super) fn edit(json: Json) -> Edit {
    serde_json::from_value(json).expect("an edit")
}

/// Makes an edit, and returns the nodes that run for all outputs after it.
pub(super) fn followed(session: &mut Session, json: Json) -> Vec<String> {
    let text = json.to_string();
    session.edit(&edit(json)).unwrap_or_else(|error| panic!("{text}: {error}"));
    runs(session, &text)
}

pub(super) fn runs(session: &mut Session, text: &str) -> Vec<String> {
    assert!(session.mirror.is_some() && session.whole.get().is_none(), "{text}: not followed");
    let ask = Ask::all().with_log(LogDetail::Counts);
    let evaluated = session.eval(&ask).expect("it runs");
    assert!(evaluated.plan().is_none(), "{text}: a plan answered");
    let ran = evaluated.runs().into_iter().filter(|run| run.entry.runs > 0);
    let reason = |fate| match fate {
        Fate::Ran(RunReason::First) => "first",
        Fate::Ran(RunReason::InputChanged) => "input",
        Fate::Ran(RunReason::FeatureChanged) => "feature",
        Fate::Ran(RunReason::Edited) => "edited",
        Fate::Ran(RunReason::Evicted | RunReason::Volatile | RunReason::Stateful)
        | Fate::Skipped(_) => "?",
    };
    ran.map(|run| format!("{} {}", run.path, reason(run.entry.fate))).collect()
}

#[test]
fn edits_run_what_they_touch() {
    let mut session = Session::open(&Engine::new(), GRAPH.as_bytes()).expect("it opens");
    let ask = Ask::all().with_log(LogDetail::Counts);
    let evaluated = session.eval(&ask).expect("it runs");
    assert!(evaluated.plan().is_none(), "a mirror answers");
    session.forget_whole();
    let s = &mut session;
    let literal = json!({ "edit": "set_input", "node": "a", "input": "b", "to": 2 });
    assert_eq!(
        followed(s, literal),
        [
            "a edited",
            "b input",
            "use/s input",
            "less input",
            "which input",
            "sum/1 input",
            "sum/2 input"
        ]
    );
    // An edit without effect differs from no edit.
    let same = json!({ "edit": "set_input", "node": "a", "input": "b", "to": 2.0 });
    assert_eq!(followed(s, same), Vec::<String>::new());
    let link = json!({ "edit": "set_input", "node": "b", "input": "b", "to": { "from": "use.v" } });
    assert_eq!(followed(s, link), ["b edited", "less input"]);
    let mute = json!({ "edit": "mute", "node": "sum", "muted": true });
    assert_eq!(followed(s, mute), Vec::<String>::new());
    assert!(s.undo());
    assert_eq!(runs(s, "undo"), ["sum/1 edited", "sum/2 edited"]);
    let rename = json!({ "edit": "rename_node", "node": "b", "to": "bb" });
    assert_eq!(followed(s, rename), Vec::<String>::new());
    let setting = json!({ "edit": "set_setting", "node": "sum", "setting": "text", "to": "p + q" });
    assert_eq!(followed(s, setting), ["sum/1 edited"]);
    let ty =
        json!({ "edit": "replace_type", "node": "less", "kind": { "type": "compare.greater" } });
    assert_eq!(followed(s, ty), ["less edited", "which input", "sum/1 input"]);
    let added = json!({ "edit": "add_nodes", "nodes": [{ "name": "new", "node":
        { "type": "math.multiply", "in": { "a": { "from": "bb.value" }, "b": { "input": "n" } } } }] });
    assert_eq!(followed(s, added), Vec::<String>::new());
    let used = json!({ "edit": "set_input", "node": "which", "input": "true", "to": { "from": "new.value" } });
    assert_eq!(followed(s, used), ["which edited", "sum/1 input", "new first"]);
    let inside =
        json!({ "edit": "set_input", "within": "twice", "node": "s", "input": "b", "to": 1 });
    let ran = followed(s, inside);
    assert!(ran.contains(&"use/s edited".to_owned()), "{ran:?}");
    let second = json!({ "edit": "add_nodes", "nodes": [{ "name": "other", "node":
        { "type": "group", "group": "twice", "in": { "x": { "from": "new.value" } } } }] });
    assert_eq!(followed(s, second), Vec::<String>::new());
    let out = json!({ "edit": "change_output", "name": "z", "def": { "type": "i32", "from": "n.value" } });
    assert!(s.edit(&edit(out)).is_err(), "there is no such node");
    let out = json!({ "edit": "change_output", "name": "z", "def": { "type": "f32", "from": "other.v" } });
    assert_eq!(followed(s, out), ["other/s first"]);
    let input =
        json!({ "edit": "change_input", "name": "n", "def": { "type": "f32", "default": 0.5 } });
    let ran = followed(s, input);
    assert!(
        ran.contains(&"new edited".to_owned()) || ran.contains(&"new input".to_owned()),
        "{ran:?}"
    );
    let wrong = json!({ "edit": "set_input", "node": "a", "input": "b", "to": "text" });
    s.edit(&edit(wrong)).expect("it is well formed");
    assert!(s.mirror.is_some() && s.whole.get().is_none());
    assert!(s.value::<f32>("y").is_err());
    s.forget_whole();
    assert!(s.undo());
    assert!(!runs(s, "undo").is_empty());
    let group = json!({ "edit": "group", "nodes": ["new", "which"], "name": "both" });
    followed(s, group);
    let ungroup = json!({ "edit": "ungroup", "node": "both" });
    followed(s, ungroup);
    let remove = json!({ "edit": "remove_nodes", "nodes": ["new"] });
    followed(s, remove);
    let mut n = 0;
    while s.undo() {
        runs(s, "undo");
        n += 1;
    }
    assert_eq!(n, 15);
    while s.redo() {
        runs(s, "redo");
    }
}

#[test]
fn copies_of_a_group_that_others_use_go_on_with_its_results() {
    let mut session = Session::open(&Engine::new(), GRAPH.as_bytes()).expect("it opens");
    let s = &mut session;
    let around = json!({ "edit": "group", "nodes": ["use"], "name": "around" });
    let second = json!({ "edit": "add_nodes", "nodes": [{ "name": "other", "node":
        { "type": "group", "group": "around", "in": { "x": { "input": "x" } } } }] });
    let read =
        json!({ "edit": "set_input", "node": "sum", "input": "q", "to": { "from": "other.v" } });
    for json in [around, second, read] {
        s.edit(&edit(json)).expect("it fits");
    }
    s.eval(&Ask::all()).expect("it runs");
    s.forget_whole();
    let ungroup = |node: &str| json!({ "edit": "ungroup", "node": node });
    let none = Vec::<String>::new();
    assert_eq!(followed(s, ungroup("other")), none);
    assert_eq!(followed(s, ungroup("use")), none);
    assert!(s.undo() && s.undo());
    assert_eq!(runs(s, "undo"), none);
    let both = json!({ "edit": "batch", "edits": [ungroup("other"), ungroup("use")] });
    assert_eq!(followed(s, both), none);
    // Two levels restored in one step run again: copies are found only one level up.
    assert!(s.undo());
    assert_eq!(runs(s, "undo"), ["other/use/s first"]);
}

#[test]
fn groups_that_come_and_go_in_one_batch_run_nothing() {
    let mut session = Session::open(&Engine::new(), GRAPH.as_bytes()).expect("it opens");
    let s = &mut session;
    let group = |node: &str, name: &str| json!({ "edit": "group", "nodes": [node], "name": name });
    let ungroup = |node: &str| json!({ "edit": "ungroup", "node": node });
    let batch = |edits: &[serde_json::Value]| json!({ "edit": "batch", "edits": edits });
    s.edit(&edit(group("use", "g"))).expect("it fits");
    s.eval(&Ask::all()).expect("it runs");
    s.forget_whole();
    let none = Vec::<String>::new();
    assert_eq!(followed(s, batch(&[ungroup("g"), group("use", "g")])), none);
    for _ in 0..2 {
        assert!(s.undo());
        assert_eq!(runs(s, "undo"), none);
        assert!(s.redo());
        assert_eq!(runs(s, "redo"), none);
    }
    let h = batch(&[group("sum", "h"), ungroup("h"), ungroup("g"), group("sum", "i")]);
    assert_eq!(followed(s, h), none);
    assert!(s.undo());
    assert_eq!(runs(s, "undo"), none);
}

#[test]
fn the_log_says_why_nodes_ran_and_why_not() {
    const GRAPH: &str = r#"{ "millstream": 2,
        "inputs": { "x": { "type": "f32", "default": 3 }, "b": { "type": "bool", "default": true } },
        "outputs": { "y": { "type": "f32", "from": "which.value" }, "q": { "type": "f32", "from": "q.value" },
            "s": { "type": "f64", "from": "s.value" } },
        "nodes": {
            "twice": { "type": "math.add", "in": { "a": { "input": "x" }, "b": { "input": "x" } } },
            "arm": { "type": "math.sin", "in": { "x": { "from": "twice.value" } } },
            "which": { "type": "control.switch", "in": { "condition": { "input": "b" },
                "false": { "from": "twice.value" }, "true": { "from": "arm.value" } } },
            "q": { "type": "math.cos", "in": { "x": { "input": "x" } } },
            "t": { "type": "context.time" },
            "s": { "type": "math.add", "in": { "a": { "from": "t.value" }, "b": { "input": "x" } } } } }"#;
    let mut s = Session::open(&Engine::new(), GRAPH.as_bytes()).expect("it opens");
    let told = |s: &mut Session, ask: Ask| -> Vec<String> {
        let evaluated = s.eval(&ask.with_log(LogDetail::Counts)).expect("it runs");
        assert!(evaluated.plan().is_none(), "the mirror answers");
        let runs = evaluated.runs().into_iter();
        let mut told: Vec<String> =
            runs.map(|run| format!("{}: {}", run.path, run.entry.fate.why())).collect();
        told.sort();
        told
    };
    assert_eq!(
        told(&mut s, Ask::all()),
        [
            "arm: first time",
            "q: first time",
            "s: first time",
            "t: first time",
            "twice: first time",
            "which: first time"
        ]
    );
    // The result of the arm is not valid any more, but nothing demands the arm.
    s.set("b", false).expect("it is there");
    s.set("x", 4.0_f32).expect("it is there");
    assert_eq!(
        told(&mut s, Ask::all()),
        [
            "arm: not needed",
            "q: an input changed",
            "s: an input changed",
            "t: cached",
            "twice: an input changed",
            "which: an input changed"
        ]
    );
    s.seek(3).expect("it is reached");
    assert_eq!(
        told(&mut s, Ask::output("s")),
        [
            "arm: not needed",
            "q: not needed",
            "s: an input changed",
            "t: a feature changed",
            "twice: not needed",
            "which: not needed"
        ]
    );
    // The edit is remembered until the node is demanded.
    let literal = json!({ "edit": "set_input", "node": "q", "input": "x", "to": 5 });
    s.edit(&edit(literal)).expect("it fits");
    told(&mut s, Ask::output("s"));
    assert_eq!(told(&mut s, Ask::output("q"))[1], "q: was edited");
}

#[test]
fn a_mirror_that_is_made_anew_has_what_it_had() {
    let open = || {
        let mut session = Session::open(&Engine::new(), GRAPH.as_bytes()).expect("it opens");
        session.eval(&Ask::all()).expect("it runs");
        session.forget_whole();
        session
    };
    let (mut renewed, mut plain) = (open(), open());
    let mut both = |act: &dyn Fn(&mut Session)| {
        act(&mut plain);
        act(&mut renewed);
        renewed.renew_mirror();
        let ran = runs(&mut renewed, "anew");
        assert_eq!(ran, runs(&mut plain, "as it was"));
        ran.len()
    };
    let edited = |json: Json| move |s: &mut Session| s.edit(&edit(json.clone())).expect("it fits");
    let literal = |to: i32| json!({ "edit": "set_input", "node": "a", "input": "b", "to": to });
    assert_eq!(both(&|_| {}), 0);
    assert_eq!(both(&edited(literal(2))), 7);
    assert_eq!(both(&|_| {}), 0);
    // With the other arm, nodes that are no longer demanded keep their inputs.
    assert!(both(&|s| s.set("n", -100).expect("it fits")) > 0);
    assert!(both(&|s| s.set("x", 4.0_f32).expect("it fits")) > 0);
    assert!(both(&|s| s.set("n", 100).expect("it fits")) > 0);
    assert!(both(&edited(literal(3))) > 0);
    let group = json!({ "edit": "group", "nodes": ["less", "which"], "name": "g" });
    assert_eq!(both(&edited(group)), 0);
    while plain.undo() && renewed.undo() {
        renewed.renew_mirror();
    }
    assert_eq!(
        renewed.value::<f32>("y").expect("it runs"),
        plain.value::<f32>("y").expect("it runs")
    );
}
