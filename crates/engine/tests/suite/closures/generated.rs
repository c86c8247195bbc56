//! Generated documents whose nodes are grouped: called as closures, with any of their inputs
//! captured, the groups give the same bits.

use std::sync::Arc;

use millstream::{Answer, Engine, Request};
use millstream_base::Limits;
use millstream_document::{Editor, save};
use millstream_testkit::agreement::difference;
use millstream_testkit::generate::cases;
use millstream_testkit::generate::document::document_of;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value as Json, json};

/// The document with closures instead of the uses of groups. Each bit says whether an input is
/// captured, the last one whether a switch chooses between two closures.
fn with_closures(text: &str, captured: u64) -> Json {
    let mut document: Json = serde_json::from_str(text).expect("it was saved");
    let nodes = document["nodes"].as_object().cloned().unwrap_or_default();
    let mut made = Map::new();
    for (name, node) in nodes {
        let group = &document["groups"][node["group"].as_str().unwrap_or_default()];
        let has_outputs = group["outputs"].as_object().is_some_and(|it| !it.is_empty());
        if node["type"] != "group" || !has_outputs {
            made.insert(name, node);
            continue;
        }
        let inputs = node["in"].as_object().cloned().unwrap_or_default();
        let (mut captures, mut arguments) = (Map::new(), Map::new());
        for (k, (input, source)) in inputs.into_iter().enumerate() {
            let of = if captured >> (k % 63) & 1 == 1 { &mut captures } else { &mut arguments };
            of.insert(input, source);
        }
        let closure = json!({ "type": "closure", "group": node["group"], "in": captures });
        let made_at = |k: u32| format!("{name}_closure{k}");
        let from = |node: String| json!({ "from": format!("{node}.value") });
        made.insert(made_at(0), closure.clone());
        let mut called = from(made_at(0));
        if captured >> 63 == 1 {
            let condition = json!(captured & 1 == 1);
            made.insert(made_at(1), closure);
            let arms = json!({ "condition": condition, "false": called, "true": from(made_at(1)) });
            made.insert(made_at(2), json!({ "type": "control.switch", "in": arms }));
            called = from(made_at(2));
        }
        arguments.insert("closure".into(), called);
        made.insert(name, json!({ "type": "call", "in": arguments }));
    }
    document["nodes"] = Json::Object(made);
    document
}

fn answer(engine: &Engine, text: &str, request: &Request) -> Result<Answer, String> {
    let program = engine.load(text.as_bytes()).map_err(|error| error.to_string())?;
    program.run(request).map_err(|error| error.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn generated_groups_give_the_same_called_as_closures(
        case in cases(14),
        groups in vec(any::<[Index; 3]>(), 1..4),
        captured in any::<u64>(),
    ) {
        let engine = Engine::new().with_limits(Limits { list_length: 1 << 14, ..Limits::default() });
        let text = document_of(&case.graph, None).to_string();
        let (document, _) = millstream_document::load(text.as_bytes(), &Limits::default());
        let document = document.expect("it loads");
        let request = case.request.request();
        let mut editor = Editor::new(document, Arc::new(millstream_nodes::registry()));
        for (k, picks) in groups.iter().enumerate() {
            let nodes: Vec<String> = editor.document().nodes.keys().map(ToString::to_string).collect();
            if nodes.is_empty() {
                return Ok(());
            }
            let picked: Vec<&String> = picks.iter().map(|pick| pick.get(&nodes)).collect();
            let group = json!({ "edit": "group", "nodes": picked, "name": format!("g{k}") });
            // A group whose outputs feed its inputs is refused if that would close a cycle.
            let _refused = editor.apply(&serde_json::from_value(group).expect("an edit"));
        }
        let text = save(editor.document());
        let closures = with_closures(&text, captured).to_string();
        let Ok(expected) = answer(&engine, &text, &request) else { return Ok(()) };
        let found = match answer(&engine, &closures, &request) {
            Ok(found) => found,
            // A call needs all its inputs for each output, which a group does not.
            Err(error) if error.contains("form a cycle") => return Ok(()),
            Err(error) => return Err(TestCaseError::fail(format!("{error}\n{closures}"))),
        };
        for (a, b) in expected.outputs.iter().zip(&found.outputs) {
            let differ = match (&a.value, &b.value) {
                (Some(a), Some(b)) => difference(&expected.full_column(a), &found.full_column(b)),
                (None, None) => None,
                _ => Some("one failed".to_owned()),
            };
            if let Some(differ) = differ {
                return Err(TestCaseError::fail(format!("{}: {differ}\n{closures}", a.name)));
            }
        }
    }
}
