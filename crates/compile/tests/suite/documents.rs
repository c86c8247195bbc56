//! Documents for the other tests.

use millstream_base::Limits;
use millstream_compile::{Options, Phase, compile, compile_graph, schedule};
use millstream_document::{Checked, open};
use millstream_ir::{Graph, Plan, text};
use millstream_node::Registry;

pub(super) use crate::heron::HERON;

pub(super) fn registry() -> Registry {
    millstream_nodes::registry()
}

/// The checked document; checking accepts any expansion, so that lowering has to refuse it.
pub(super) fn checked(json: &str) -> Checked {
    let limits = Limits { expanded_nodes: usize::MAX, ..Limits::default() };
    let (document, problems) = open(json.as_bytes(), &registry(), None, &[], &limits);
    match document {
        Some((_, checked)) => checked,
        None => panic!("the fixture is sound: {problems}"),
    }
}

/// The graph after a phase as text.
pub(super) fn after(phase: Phase, json: &str) -> String {
    let options = Options { after: Some(phase), ..Options::default() };
    let graph = compile_graph(&checked(json), &registry(), &options);
    text::print_with_paths(&graph.unwrap_or_else(|problems| panic!("{problems}")))
}

pub(super) fn plan(json: &str) -> Plan {
    let plan = compile(&checked(json), &registry(), &Options::default());
    plan.unwrap_or_else(|problems| panic!("{problems}"))
}

pub(super) fn graph(text: &str) -> Graph {
    text::parse(text, &registry()).unwrap_or_else(|problems| panic!("{problems}"))
}

/// The plan of a graph without any passes.
pub(super) fn scheduled(text: &str) -> Plan {
    schedule::schedule(graph(text), 24.0).unwrap_or_else(|problems| panic!("{problems}"))
}

/// `depth` nested groups, each used twice in the one around it.
pub(super) fn doubling(depth: usize) -> String {
    let use_of = |i: usize| {
        let half = |from: &str| {
            format!(r#"{{ "type": "group", "group": "g{i}", "in": {{ "x": {from} }} }}"#)
        };
        format!(
            r#""one": {}, "two": {}"#,
            half(r#"{ "input": "x" }"#),
            half(r#"{ "from": "one.value" }"#)
        )
    };
    let body = |nodes: &str, last: &str| {
        format!(
            r#"{{ "inputs": {{ "x": {{ "type": "f32" }} }},
                "outputs": {{ "value": {{ "type": "f32", "from": "{last}.value" }} }},
                "nodes": {{ {nodes} }} }}"#
        )
    };
    let leaf = r#""leaf": { "type": "math.sin", "in": { "x": { "input": "x" } } }"#;
    let mut groups = vec![format!(r#""g0": {}"#, body(leaf, "leaf"))];
    for i in 1..depth {
        groups.push(format!(r#""g{i}": {}"#, body(&use_of(i - 1), "two")));
    }
    format!(
        r#"{{ "millstream": 2,
            "inputs": {{ "x": {{ "type": "f32", "default": 0 }} }},
            "outputs": {{ "y": {{ "type": "f32", "from": "two.value" }} }},
            "nodes": {{ {} }},
            "groups": {{ {} }} }}"#,
        use_of(depth - 1),
        groups.join(", ")
    )
}
