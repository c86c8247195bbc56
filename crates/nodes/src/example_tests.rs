//! The example node of `CONTRIBUTING.md`, which is compiled, registered and run here.

use std::sync::Arc;

use millstream_base::Type;
use millstream_node::{NodeDef, Registry, Settings};

use crate::cells::testing::run_form;
use crate::manual;
use crate::shape::{FLOATS, of_one_type};

const CONTRIBUTING: &str = include_str!("../../../CONTRIBUTING.md");

pub(super) fn register(registry: &mut Registry) {
    registry.register(harmonic_mean());
}

fn harmonic_mean() -> NodeDef {
    of_one_type(
        "math.harmonic_mean",
        "The harmonic mean of a and b",
        FLOATS,
        &[("a", 1.0, "first number"), ("b", 1.0, "second number")],
    )
    .details("2 / (1 / a + 1 / b): 0 if one number is 0, infinite for opposite numbers.")
    .source("the reciprocal of the arithmetic mean of the reciprocals")
    .lanewise(|_, x| 2 / (1 / x[0] + 1 / x[1]))
}

/// The fenced blocks of a language in the section "Add a node", which are indented by three spaces.
fn blocks(language: &str) -> Vec<String> {
    let (_, section) = CONTRIBUTING.split_once("## Add a node\n").expect("there is a section");
    let section = section.split("\n## ").next().expect("a text has a first part");
    let fence = format!("   ```{language}\n");
    let dedented = |line: &str| format!("{}\n", line.strip_prefix("   ").unwrap_or(line));
    section
        .split(&*fence)
        .skip(1)
        .map(|rest| rest.lines().take_while(|line| *line != "   ```").map(dedented).collect())
        .collect()
}

#[test]
fn the_code_in_contributing_is_the_compiled_code() {
    let compiled = include_str!("example_tests.rs");
    let code = blocks("rust");
    assert_eq!(code.len(), 2);
    for code in code {
        assert!(compiled.contains(&code), "not compiled:\n{code}");
    }
}

#[test]
fn the_example_node_is_registered_and_has_the_shown_manual_entry() {
    let mut registry = Registry::new();
    register(&mut registry);
    let def = registry.get("math.harmonic_mean").expect("the walk registers it");
    assert_eq!(manual::entry(def), blocks("text")[1]);
}

#[test]
fn the_example_cases_hold() {
    let def = Arc::new(harmonic_mean());
    let node = def.instantiate(Settings::default(), vec![Type::F32], &[1, 1]).expect("two floats");
    let cases = &blocks("text")[0];
    assert!(!cases.is_empty());
    for case in cases.lines() {
        let (given, wanted) = case.split_once(" = ").expect("a case states a result");
        let given = given.strip_prefix("math.harmonic_mean f32: ").expect("a case names the node");
        let number = |text: &str| text.parse::<f32>().expect("a number");
        let given: Vec<f32> = given.split(' ').map(number).collect();
        assert_eq!(run_form(&node, &given), [number(wanted)], "{case}");
    }
}
