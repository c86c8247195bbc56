//! Large graphs in the default stack; the figures for a million nodes are in the benchmarks.

use super::documents::{checked, registry};
use crate::large::{chain, random};
use millstream_base::Limits;
use millstream_compile::{Options, compile};
use millstream_document::open;

const N: usize = 200_000;

#[test]
fn a_long_chain_compiles_in_the_default_stack() {
    let plan = compile(&checked(&chain(N)), &registry(), &Options::default()).expect("compiles");
    assert_eq!(plan.steps.len(), N + 1);
    assert_eq!(plan.steps[plan.outputs[0].source.step].depth as usize, N);
}

#[test]
fn a_large_random_graph_compiles_in_the_default_stack() {
    let plan = compile(&checked(&random(N)), &registry(), &Options::default()).expect("compiles");
    assert!(plan.steps.len() > N / 2);
}

#[test]
fn a_long_chain_of_constants_folds_into_one() {
    let document = chain(N).replace(r#"{ "input": "x" }"#, "0.5");
    let plan = compile(&checked(&document), &registry(), &Options::default()).expect("compiles");
    assert_eq!((plan.steps.len(), plan.constants.len()), (1, 1));
}

#[test]
fn a_socket_with_very_many_sources_is_refused_or_compiles() {
    for n in [65_535, 65_536, 70_000] {
        let document = format!(
            r#"{{ "millstream": 2, "outputs": {{ "y": {{ "type": "i32", "from": "n.value" }} }},
                "nodes": {{
                    "l": {{ "type": "list.of", "in": {{ "items": [{}] }} }},
                    "n": {{ "type": "list.length", "in": {{ "list": {{ "from": "l.value" }} }} }}
                }} }}"#,
            vec!["1"; n].join(", ")
        );
        let (opened, problems) =
            open(document.as_bytes(), &registry(), None, &[], &Limits::default());
        match opened {
            Some((_, checked)) => {
                compile(&checked, &registry(), &Options::default()).expect("compiles");
            }
            None => assert!(problems.has_errors()),
        }
    }
}
