//! Graphs of a million nodes compile and run within the stack of a test thread.

use std::sync::Arc;

use millstream_base::{Limits, Type, Value};
use millstream_compile::passes::PassContext;
use millstream_compile::{PASSES, schedule::schedule};
use millstream_ir::{Evaluator, Graph, GraphInput, GraphOutput, Paths, Plan, Request, Source};
use millstream_node::{Registry, Settings};
use millstream_run::Lazy;

const N: usize = 1_000_000;

/// A graph of `N` additions, where node `i` reads the earlier nodes in `sources`.
fn graph(registry: &Registry, mut sources: impl FnMut(usize) -> [usize; 2]) -> Graph {
    let def = registry.get("math.add").expect("the library adds");
    let add = def.instantiate(Settings::default(), vec![Type::F64], &[1, 1]);
    let mut graph = Graph::new();
    let add = graph.intern_instance(&Arc::new(add.expect("f64 adds")));
    let input = |name: &str| GraphInput {
        name: name.into(),
        ty: Type::F64,
        default: Some(Value::F64(1.0)),
    };
    let mut nodes = vec![graph.add_input(input("x")), graph.add_input(input("y"))];
    for i in 2..N + 2 {
        let inputs = sources(i).map(|source| Source::first(nodes[source]));
        let path = graph.paths.child(Paths::root(), format!("n{i}").into());
        nodes.push(graph.add_call(add, &inputs, path));
    }
    let source = Source::first(nodes[N + 1]);
    graph.outputs.push(GraphOutput { name: "value".into(), ty: Type::F64, source });
    graph
}

fn compiled(mut graph: Graph, registry: &Registry) -> Plan {
    let limits = Limits::default();
    let cx = PassContext::new(registry, &limits);
    for pass in PASSES {
        (pass.run)(&mut graph, &cx).expect("the graph is sound");
    }
    schedule(graph, 24.0).expect("the graph is sound")
}

#[test]
fn a_chain_of_a_million_nodes() {
    let registry = millstream_nodes::registry();
    let plan = compiled(graph(&registry, |i| [i - 1, 1]), &registry);
    let answer = Lazy.evaluate(&plan, &Request::new()).expect("the request fits");
    assert_eq!(answer.value::<f64>("value"), Some(N as f64 + 1.0));
}

#[test]
fn a_random_graph_of_a_million_nodes() {
    let registry = millstream_nodes::registry();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut values = vec![1.0, 1.0];
    let graph = graph(&registry, |i| {
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            // A near node and any node, so that nearly all are reached from the last.
            state as usize
        };
        let pair = [i - 1 - next() % i.min(2), next() % i];
        values.push(values[pair[0]] + values[pair[1]]);
        pair
    });
    let plan = compiled(graph, &registry);
    assert!(plan.steps.len() > N / 2);
    let answer = Lazy.evaluate(&plan, &Request::new()).expect("the request fits");
    assert_eq!(answer.value::<f64>("value"), values.last().copied());
}
