//! Documents that are evaluated at several moments: live graphs have copies of the nodes that need
//! the moment, and the copies follow edits.

use millstream::session::{Ask, Session};
use millstream::{Edit, LogDetail};
use serde_json::{Value as Json, json};

use super::worlds::World;
use super::{compare, engine, opened, play, play_faulty, play_many, scripts, take_back};

#[test]
fn so_has_one_that_is_evaluated_at_several_moments_and_a_live_graph_answers() {
    for picky in ["math.sqrt", "test.picky"] {
        let world = World::of_moments(picky);
        let answered =
            play_many(&scripts(), |(script, settle, _)| play(&world, &script, settle, true));
        assert!(answered.n_live * 20 >= answered.n * 19, "{answered:?}");
        let answered =
            play_many(&scripts(), |(script, faults, _)| play_faulty(&world, &script, faults, true));
        assert!(answered.n_live * 20 >= answered.n * 19, "{answered:?}");
    }
}

#[test]
fn so_has_one_with_groups_that_run_round_by_round_and_a_live_graph_answers() {
    for picky in ["math.sqrt", "test.picky"] {
        let world = World::of_rounds(picky);
        let answered =
            play_many(&scripts(), |(script, settle, _)| play(&world, &script, settle, true));
        assert!(answered.n_live * 10 >= answered.n * 8, "{answered:?}");
        let answered =
            play_many(&scripts(), |(script, faults, _)| play_faulty(&world, &script, faults, true));
        assert!(answered.n_live * 10 >= answered.n * 8, "{answered:?}");
    }
}

#[test]
fn copies_in_scopes_follow_what_once_went_wrong() {
    let link = |node: &str, input: &str, from: &str| json!({ "edit": "set_input", "node": node, "input": input, "to": { "from": from } });
    let replace = |node: &str, ty: &str| json!({ "edit": "replace_type", "node": node, "kind": { "type": ty } });
    let cases = [
        // A scope whose features no node needs at first, and then one does.
        (
            r#"{ "millstream": 2, "inputs": { "x": { "type": "f32", "default": 3 } },
                "outputs": { "y": { "type": "f32", "from": "late.value" } },
                "nodes": { "t": { "type": "context.time" },
                    "a": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 1 } },
                    "late": { "type": "time.shift", "in": { "value": { "from": "a.value" }, "by": 4 } } } }"#
                .into(),
            vec![link("a", "a", "t.value")],
        ),
        (
            World::of_moments("math.sqrt").start,
            vec![replace("use", "math.add"), replace("sum", "math.negate")],
        ),
    ];
    for (start, edits) in cases {
        let engine = engine();
        let mut session = opened(&engine, &start, false);
        let before = millstream_document::save(session.document());
        let mut n_edits = 0;
        for edit in edits {
            let edit: Edit = serde_json::from_value(edit).expect("an edit");
            n_edits += usize::from(session.edit(&edit).is_ok());
            compare(&mut session, &engine);
        }
        take_back(&mut session, n_edits, &before);
        compare(&mut session, &engine);
    }
}

/// The runs of each node that ran, without those that only pass values on or read features.
fn ran(session: &mut Session, frame: i64) -> Vec<(String, u32)> {
    let ask = Ask { frame: Some(frame), ..Ask::all() }.with_log(LogDetail::Counts);
    let evaluated = session.eval(&ask).expect("it runs");
    assert!(evaluated.plan().is_none(), "a live graph answers");
    let counts = ["math.add", "math.multiply"];
    let runs = evaluated.runs().into_iter();
    let runs = runs.filter(|run| run.entry.runs > 0 && counts.contains(&&*run.node_type));
    let mut runs: Vec<(String, u32)> =
        runs.map(|run| (run.path.to_string(), run.entry.runs)).collect();
    runs.sort();
    runs
}

/// Nodes run once for each moment at which they are needed, and only if something changed there.
#[test]
fn what_needs_no_moment_runs_once_and_the_rest_once_for_each() {
    let text = r#"{ "millstream": 2, "fps": 1,
        "inputs": { "x": { "type": "f64", "default": 2 }, "by": { "type": "f64", "default": 3 } },
        "outputs": { "now": { "type": "f64", "from": "sum.value" }, "late": { "type": "f64", "from": "late.value" },
            "fixed": { "type": "f64", "from": "fixed.value" } },
        "nodes": {
            "t": { "type": "context.time" },
            "still": { "type": "math.multiply", "in": { "a": { "input": "x" }, "b": 10 } },
            "sum": { "type": "math.add", "in": { "a": { "from": "still.value" }, "b": { "from": "t.value" } } },
            "late": { "type": "time.shift", "in": { "value": { "from": "twice.value" }, "by": { "input": "by" } } },
            "twice": { "type": "math.multiply", "in": { "a": { "from": "sum.value" }, "b": 2 } },
            "fixed": { "type": "context.with_time", "in": { "value": { "from": "late.value" }, "time": 100 } } } }"#;
    let mut session = Session::open(&engine(), text.as_bytes()).expect("it opens");
    let runs = |all: &[(&str, u32)]| -> Vec<(String, u32)> {
        all.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect()
    };
    let values = |session: &mut Session, frame: i64| -> Vec<f64> {
        let answer =
            session.eval(&Ask { frame: Some(frame), ..Ask::all() }).expect("it runs").answer;
        let value = |output: &str| {
            answer.output(output)?.value.as_ref()?.data.get(0).to_string().parse().ok()
        };
        ["now", "late", "fixed"].iter().filter_map(|output| value(output)).collect()
    };
    assert_eq!(ran(&mut session, 1), runs(&[("still", 1), ("sum", 3), ("twice", 2)]));
    assert_eq!(values(&mut session, 1), [21.0, 48.0, 246.0]);
    // Another moment does not affect fixed nodes.
    assert_eq!(ran(&mut session, 2), runs(&[("sum", 2), ("twice", 1)]));
    assert_eq!(values(&mut session, 2), [22.0, 50.0, 246.0]);
    assert_eq!(ran(&mut session, 2), []);
    session.set("by", 4.0).expect("it fits");
    assert_eq!(ran(&mut session, 2), runs(&[("sum", 2), ("twice", 2)]));
    assert_eq!(values(&mut session, 2), [22.0, 52.0, 248.0]);
    session.set("x", 3.0).expect("it fits");
    assert_eq!(ran(&mut session, 2), runs(&[("still", 1), ("sum", 3), ("twice", 2)]));
    let mut edit = |json: Json, frame: i64, expected: &[(&str, u32)], values_then: [f64; 3]| {
        let edit: Edit = serde_json::from_value(json).expect("an edit");
        session.edit(&edit).expect("it fits");
        assert_eq!(ran(&mut session, frame), runs(expected), "{edit:?}");
        assert_eq!(values(&mut session, frame), values_then, "{edit:?}");
    };
    let set = |node: &str, input: &str, to: Json| json!({ "edit": "set_input", "node": node, "input": input, "to": to });
    // Outside, no node reads the product.
    edit(set("twice", "b", json!(3)), 2, &[("twice", 2)], [32.0, 108.0, 402.0]);
    // The same in a group; nodes that move do not run again.
    edit(
        json!({ "edit": "group", "nodes": ["sum", "twice", "t"], "name": "g" }),
        2,
        &[],
        [32.0, 108.0, 402.0],
    );
    edit(json!({ "edit": "group", "nodes": ["late"], "name": "h" }), 2, &[], [32.0, 108.0, 402.0]);
    edit(json!({ "edit": "ungroup", "node": "g" }), 2, &[], [32.0, 108.0, 402.0]);
    // A node is inserted.
    edit(
        json!({ "edit": "batch", "edits": [
            { "edit": "add_nodes", "nodes": [{ "name": "more", "node": { "type": "math.add",
                "in": { "a": { "from": "sum.value" }, "b": 1 } } }] },
            set("twice", "a", json!({ "from": "more.value" }))] }),
        2,
        &[("more", 2), ("twice", 2)],
        [32.0, 111.0, 405.0],
    );
    // A node that no longer needs the moment is shared by all.
    edit(
        set("sum", "b", json!(5)),
        2,
        &[("more", 1), ("sum", 1), ("twice", 1)],
        [35.0, 108.0, 108.0],
    );
    edit(
        set("sum", "b", json!({ "from": "t.value" })),
        3,
        &[("more", 2), ("sum", 3), ("twice", 2)],
        [33.0, 114.0, 405.0],
    );
}

/// State in a scope differs between contexts, which live graphs do not support; plans answer, and
/// some edits after its removal a live graph answers again.
#[test]
fn a_document_is_live_again_some_edits_after_what_has_no_live_node_went() {
    let text = r#"{ "millstream": 2, "outputs": { "y": { "type": "f64", "from": "late.value" } },
        "nodes": { "t": { "type": "context.time" },
            "soft": { "type": "state.smooth", "in": { "value": { "from": "t.value" } } },
            "late": { "type": "time.shift", "in": { "value": { "from": "soft.value" }, "by": 4 } } } }"#;
    let mut session = Session::open(&engine(), text.as_bytes()).expect("it opens");
    let mut is_live = |json: Json| {
        let edit: Edit = serde_json::from_value(json).expect("an edit");
        session.edit(&edit).expect("it fits");
        let evaluated = session.eval(&Ask::all()).expect("it runs");
        evaluated.plan().is_none()
    };
    let by = |by: i32| json!({ "edit": "set_input", "node": "late", "input": "by", "to": by });
    assert!((0..50).all(|k| !is_live(by(k))));
    let moved = json!({ "edit": "set_input", "node": "late", "input": "value", "to": { "from": "t.value" } });
    let n_edits = (0..40).take_while(|_| !is_live(moved.clone())).count();
    assert!(n_edits <= 16, "{n_edits}");
    assert!(is_live(by(2)));
}

#[test]
fn a_failure_is_told_where_a_choice_with_a_failed_selector_reads_it_too() {
    let edits = [
        json!({ "edit": "set_input", "node": "picky", "input": "x", "to": -41 }),
        json!({ "edit": "set_input", "node": "then", "input": "time", "to": { "from": "late.value" } }),
    ];
    let engine = engine();
    let mut session = opened(&engine, &World::of_moments("test.picky").start, true);
    for edit in &edits {
        session.edit(&serde_json::from_value(edit.clone()).expect("an edit")).expect("it fits");
    }
    // Both moments of `which` read `picky`; the later one has no selector.
    for (frame, name) in [(0, "y"), (0, "w"), (7, "y"), (7, "w"), (0, "w")] {
        let ask = Ask { frame: Some(frame), ..Ask::output(name) };
        let failures = session.eval(&ask).expect("it is answered").answer.failures;
        let told: Vec<String> = failures.iter().map(ToString::to_string).collect();
        assert_eq!(told, ["picky: it is below zero"], "{name} at frame {frame}");
    }
    compare(&mut session, &engine);
}
