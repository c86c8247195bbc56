//! Documents of format 1 keep the types of their nodes when they are upgraded.

use expect_test::expect_file;
use millstream_base::{Limits, Type};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

use super::upgrade_widths;
use crate::checked::{Checked, CheckedKind};
use crate::test_registry::registry;
use crate::{check, load, open, save};

const FORMAT_1: &str = include_str!("../../tests/fixtures/format_1.mill.json");

#[test]
fn upgrading_format_1_makes_its_conversions_explicit() {
    let (document, problems) = load(FORMAT_1.as_bytes(), &Limits::default());
    assert!(problems.is_empty(), "{problems}");
    let mut document = document.expect("there are no problems");
    assert_eq!(save(&document), FORMAT_1, "until it is upgraded it stays as it is");
    assert_eq!(upgrade_widths(&mut document, &registry()), 5);
    expect_file!["../../tests/fixtures/format_1_upgraded.mill.json"].assert_eq(&save(&document));
    assert_eq!(upgrade_widths(&mut document, &registry()), 0);
    let (opened, problems) = open(FORMAT_1.as_bytes(), &registry(), None, &[], &Limits::default());
    assert_eq!(opened.expect("it is right").0, document, "{problems}");
}

#[test]
fn a_dangling_link_does_not_find_an_inserted_node() {
    let text = r#"{ "millstream": 1, "inputs": { "a": { "type": "f64" }, "b": { "type": "f32" } },
        "nodes": {
            "n": { "type": "math.add", "in": { "a": { "input": "a" }, "b": { "input": "b" } } },
            "m": { "type": "math.sqrt", "in": { "x": { "from": "a_f32.value" } } } } }"#;
    let (opened, problems) = open(text.as_bytes(), &registry(), None, &[], &Limits::default());
    assert!(opened.is_none());
    assert_eq!(
        problems.iter().next().map(ToString::to_string).as_deref(),
        Some("m.x: `a_f32.value`: there is no node called `a_f32` (did you mean `a_f32_2`?)")
    );
}

#[test]
fn a_document_without_mixed_widths_keeps_its_text() {
    let text = FORMAT_1.replace("\"f64\"", "\"f32\"").replace("number", "point");
    let text = text.replace(r#", "b": { "input": "x" }"#, "");
    let (document, _) = load(text.as_bytes(), &Limits::default());
    let mut document = document.expect("it is read");
    let saved = save(&document);
    assert_eq!(upgrade_widths(&mut document, &registry()), 0);
    assert_eq!(save(&document), saved.replace("\"millstream\": 1", "\"millstream\": 2"));
}

/// The types of the outputs of the calls, by name.
fn types(checked: &Checked) -> Vec<(String, Vec<Type>)> {
    let nodes = &checked.bodies[checked.root].nodes;
    let outputs = nodes.iter().map(|node| match &node.kind {
        CheckedKind::Call(instance) => {
            (node.name.to_string(), instance.outputs.iter().map(|slot| slot.ty).collect())
        }
        kind => panic!("all nodes are calls, not {kind:?}"),
    });
    outputs.collect()
}

/// The first numeric type to which all convert: the rule of format 1 in a few lines.
fn old_rule(linked: &[&str]) -> Option<&'static str> {
    let order = ["bool", "i32", "i64", "f32", "f64", "vec2", "vec3", "vec4"];
    let converts = |from: &str, to: &str| match from {
        "bool" => matches!(to, "bool" | "i32" | "i64" | "f32" | "f64"),
        "i32" => !matches!(to, "bool"),
        "i64" => matches!(to, "i64" | "f64"),
        "f32" => !matches!(to, "bool" | "i32" | "i64"),
        "f64" => matches!(to, "f32" | "f64"),
        vector => vector == to,
    };
    match linked {
        [] => Some("f32"),
        [first, rest @ ..] if rest.iter().all(|ty| ty == first) => {
            order.into_iter().find(|ty| ty == first)
        }
        _ => order.into_iter().find(|to| linked.iter().all(|from| converts(from, to))),
    }
}

/// Sums of the inputs and of earlier sums; `None` stands for a literal.
fn sums() -> impl Strategy<Value = Vec<Vec<Option<usize>>>> {
    vec(vec(prop::option::weighted(0.9, 0_usize..64), 1..4), 1..12)
}

const INPUTS: [&str; 7] = ["bool", "i32", "i64", "f32", "f64", "vec2", "vec3"];

/// The document, and the type that each node had under format 1; nodes without one are left out.
fn document(sums: &[Vec<Option<usize>>]) -> (Json, Vec<(String, &'static str)>) {
    let mut known: Vec<(Json, &str)> =
        INPUTS.iter().map(|ty| (json!({ "input": ty }), *ty)).collect();
    let (mut nodes, mut types) = (Map::new(), Vec::new());
    for (i, sources) in sums.iter().enumerate() {
        let picked: Vec<_> =
            sources.iter().map(|pick| pick.map(|at| known[at % known.len()].clone())).collect();
        let linked: Vec<&str> = picked.iter().flatten().map(|(_, ty)| *ty).collect();
        let Some(ty) = old_rule(&linked) else { continue };
        let values: Vec<Json> = picked
            .iter()
            .map(|source| source.as_ref().map_or(json!({ "value": 1 }), |(link, _)| link.clone()))
            .collect();
        if ty == "bool" || (ty.starts_with("vec") && values.len() > linked.len()) {
            continue; // where the literal 1 does not fit
        }
        let name = format!("n{i}");
        nodes.insert(name.clone(), json!({ "type": "math.sum", "in": { "values": values } }));
        known.push((json!({ "from": format!("{name}.value") }), ty));
        types.push((name, ty));
    }
    let inputs: Map<String, Json> =
        INPUTS.iter().map(|ty| ((*ty).to_owned(), json!({ "type": ty }))).collect();
    (json!({ "millstream": 1, "inputs": inputs, "nodes": nodes }), types)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn upgraded_documents_have_the_types_of_the_old_rule(sums in sums()) {
        let (json, expected) = document(&sums);
        let (registry, limits) = (registry(), Limits::default());
        let (opened, problems) = open(json.to_string().as_bytes(), &registry, None, &[], &limits);
        prop_assert!(opened.is_some(), "{}\n{}", problems, json);
        let (document, checked) = opened.expect("it is");
        let found = types(&checked);
        for (name, ty) in &expected {
            let (_, outputs) = found.iter().find(|(node, _)| node == name).expect("it is there");
            prop_assert_eq!(outputs[0].name(), *ty, "{} of {}", name, json);
        }
        // Checking a document that is not upgraded follows its own format, and saving keeps it.
        let (plain, _) = load(json.to_string().as_bytes(), &limits);
        let plain = plain.expect("it is read");
        let (checked, _) = check(&plain, &registry, &limits);
        let wanted: Vec<_> = expected.iter().map(|(name, ty)| (name.clone(), *ty)).collect();
        let found = types(&checked.expect("it is right"));
        let found: Vec<_> = found.iter().map(|(name, of)| (name.clone(), of[0].name())).collect();
        prop_assert_eq!(found, wanted);
        // The saved upgrade is of the newest format and has the same meaning.
        let (again, _) = open(save(&document).as_bytes(), &registry, None, &[], &limits);
        prop_assert_eq!(again.expect("it is right").0, document);
    }
}
