//! Which edits a mirror follows; what the values are then, `tests/suite/live_edits.rs` compares.

use millstream_document::Edit;
use serde_json::{Value as Json, json};

use crate::engine::Engine;
use crate::session::{Ask, Session};
use millstream_ir::answer::{Fate, RunReason};
use millstream_ir::request::LogDetail;

const GRAPH: &str = r#"{ "millstream": 1,
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

/// Makes an edit, and says which nodes run for all outputs then.
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
        Fate::Ran(RunReason::Evicted) | Fate::Skipped(_) => "?",
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
        ["a edited", "b input", "use/s input", "less input", "which input", "sum input"]
    );
    // To what it was is told apart from no change at all.
    let same = json!({ "edit": "set_input", "node": "a", "input": "b", "to": 2.0 });
    assert_eq!(followed(s, same), Vec::<String>::new());
    let link = json!({ "edit": "set_input", "node": "b", "input": "b", "to": { "from": "use.v" } });
    assert_eq!(followed(s, link), ["b edited", "less input"]);
    let mute = json!({ "edit": "mute", "node": "sum", "muted": true });
    assert_eq!(followed(s, mute), Vec::<String>::new());
    assert!(s.undo());
    assert_eq!(runs(s, "undo"), ["sum first"]);
    let rename = json!({ "edit": "rename_node", "node": "b", "to": "bb" });
    assert_eq!(followed(s, rename), Vec::<String>::new());
    let setting = json!({ "edit": "set_setting", "node": "sum", "setting": "text", "to": "p + q" });
    assert_eq!(followed(s, setting), ["sum first"]);
    let ty =
        json!({ "edit": "replace_type", "node": "less", "kind": { "type": "compare.greater" } });
    assert_eq!(followed(s, ty), ["less first", "which input", "sum input"]);
    let added = json!({ "edit": "add_nodes", "nodes": [{ "name": "new", "node":
        { "type": "math.multiply", "in": { "a": { "from": "bb.value" }, "b": { "input": "n" } } } }] });
    assert_eq!(followed(s, added), Vec::<String>::new());
    let used = json!({ "edit": "set_input", "node": "which", "input": "true", "to": { "from": "new.value" } });
    assert_eq!(followed(s, used), ["which edited", "sum input", "new first"]);
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
