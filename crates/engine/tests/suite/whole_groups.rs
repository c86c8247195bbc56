//! Groups that the memo stores as one entry.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use millstream::explain::{self, Chunk};
use millstream::{Engine, Error, Evaluator, Incremental, Lazy, NodeDef, Program, Request};

/// A closure that counts its calls and takes a little time.
fn engine(calls: &Arc<AtomicU64>) -> Engine {
    let calls = Arc::clone(calls);
    let mut engine = Engine::new();
    engine.register(NodeDef::from_closure("my.next", "", &["x"], move |x: f32| {
        calls.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_micros(1));
        x + 1.0
    }));
    engine
}

/// A group of five closures, used with this setting.
fn document(set: &str) -> String {
    let node = |name: &str, from: &str| {
        format!(r#""{name}": {{ "type": "my.next", "in": {{ "x": {from} }} }}"#)
    };
    let nodes = [
        node("a", r#"{ "input": "x" }"#),
        node("b", r#"{ "from": "a.value" }"#),
        node("c", r#"{ "from": "b.value" }"#),
        node("d", r#"{ "from": "c.value" }"#),
        node("e", r#"{ "from": "d.value" }"#),
    ];
    format!(
        r#"{{ "millstream": 2, "inputs": {{ "x": {{ "type": "f32", "default": 0 }} }},
            "outputs": {{ "y": {{ "type": "f32", "from": "twice.value" }} }},
            "nodes": {{
                "steps": {{ "type": "group", "group": "steps", {set}
                    "in": {{ "x": {{ "input": "x" }} }} }},
                "twice": {{ "type": "math.add", "in": {{
                    "a": {{ "from": "steps.y" }}, "b": {{ "from": "steps.y" }} }} }} }},
            "groups": {{ "steps": {{
                "inputs": {{ "x": {{ "type": "f32" }} }},
                "outputs": {{ "y": {{ "type": "f32", "from": "e.value" }} }},
                "nodes": {{ {} }} }} }} }}"#,
        nodes.join(", ")
    )
}

const WHOLE: &str = r#""set": { "memo": "whole" },"#;

fn loaded(engine: &Engine, set: &str) -> Program {
    engine.load(document(set).as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_whole_group_is_looked_up_at_its_border() {
    let calls = Arc::default();
    let program = loaded(&engine(&calls), WHOLE);
    let mut evaluator = Incremental::new();
    let mut ask = |x: u8| {
        let request = Request::new().set("x", f32::from(x));
        let answer = program.run_with(&mut evaluator, &request).expect("it runs");
        assert_eq!(answer.value::<f32>("y"), Some(2.0 * (f32::from(x) + 5.0)));
        calls.swap(0, Ordering::Relaxed)
    };
    let first: Vec<u64> = (0..20).map(&mut ask).collect();
    assert_eq!(first, [5; 20]);
    let again: Vec<u64> = (0..20).map(ask).collect();
    assert_eq!(again, [0; 20], "also what was asked for long ago");
}

#[test]
fn explanations_list_whole_groups() {
    let engine = engine(&Arc::default());
    let explained = |set: &str| {
        let program = loaded(&engine, set);
        explain::explain(&engine, program.document(), None).expect("it is explained")
    };
    let whole = explained(WHOLE);
    let [Chunk { nodes, root, group }] = &whole.chunks[..] else { panic!("{:?}", whole.chunks) };
    assert_eq!((nodes.len(), group.as_deref()), (5, Some("steps")));
    assert_eq!(whole.nodes[*root].path, "steps/e");
    let text = explain::text(&whole);
    assert!(text.contains("group steps is one entry of the memo: 5 nodes up to steps/e"), "{text}");
    assert!(explained("").chunks.is_empty(), "closures may take long");
    assert!(explained(r#""set": { "memo": "nodes" },"#).chunks.is_empty());
}

#[test]
fn a_wrong_setting_of_a_group_is_an_error_with_a_hint() {
    let engine = engine(&Arc::default());
    let refused = |set: &str| match engine.load(document(set).as_bytes()) {
        Err(Error::Document(problems)) => problems.to_string(),
        other => panic!("{other:?}"),
    };
    let text = refused(r#""set": { "memo": "hole" },"#);
    assert!(text.contains("memo") && text.contains("whole"), "{text}");
    let text = refused(r#""set": { "meno": "whole" },"#);
    assert!(text.contains("there is no setting called `meno`"), "{text}");
    let answer = Lazy.evaluate(loaded(&engine, WHOLE).plan(), &Request::new());
    assert_eq!(answer.expect("it runs").value::<f32>("y"), Some(10.0));
}
