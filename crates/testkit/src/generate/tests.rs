use std::collections::BTreeMap;

use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

use super::*;

fn runner() -> TestRunner {
    TestRunner::new_with_rng(
        Config { cases: 300, failure_persistence: None, ..Config::default() },
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    )
}

#[test]
fn generated_graphs_are_well_typed() {
    runner()
        .run(&graphs(16), |graph| {
            verify(&graph, Stage::Converted).map_err(|errors| {
                TestCaseError::fail(format!("{errors:?}\n{}", text::print(&graph)))
            })
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn requests_fit_their_graphs() {
    runner()
        .run(&cases(16), |case| {
            let bound = case.request.request().bind(&case.plain);
            bound.map(|_| ()).map_err(|errors| TestCaseError::fail(format!("{errors:?}")))
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn fixtures_read_back_what_cases_print() {
    runner()
        .run(&cases(10), |case| {
            let printed = case.to_string();
            let read = Case::parse(&printed, &REGISTRY).map_err(TestCaseError::fail)?;
            prop_assert_eq!(read.to_string(), printed);
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn graphs_shrink_to_the_nodes_that_matter() {
    let mut runner = runner();
    let is_culprit = |graph: &Graph| {
        graph.ids().any(|id| graph.instance_of(id).is_some_and(|i| i.name() == "list.generate"))
    };
    let mut tree = loop {
        let tree = graphs(16).new_tree(&mut runner).expect("generates");
        if is_culprit(&tree.current()) {
            break tree;
        }
    };
    let before = tree.current().len();
    let mut smallest = before;
    while tree.simplify() {
        let graph = tree.current();
        if is_culprit(&graph) {
            smallest = graph.len();
        } else if !tree.complicate() {
            break;
        }
    }
    assert!(smallest <= 8 && smallest <= before, "{before} nodes shrank to {smallest}");
}

#[test]
fn most_node_types_occur() {
    let mut runner = runner();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for _ in 0..600 {
        let graph = graphs(16).new_tree(&mut runner).expect("generates").current();
        for id in graph.ids() {
            if let Some(instance) = graph.instance_of(id) {
                *seen.entry(instance.name().into()).or_default() += 1;
            }
        }
    }
    let missing: Vec<&str> =
        REGISTRY.iter().map(|def| &*def.name).filter(|name| !seen.contains_key(*name)).collect();
    let n_defs = REGISTRY.iter().count();
    assert!(missing.len() * 10 < n_defs, "of {n_defs} node types these never occur: {missing:?}");
}
