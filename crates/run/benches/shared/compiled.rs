//! Graphs of benchmarks, from their text.

use millstream_base::Limits;
use millstream_compile::{PASSES, PassContext};
use millstream_ir::Graph;

/// The graph of this text after all passes.
pub(crate) fn compiled(text: &str) -> Graph {
    let registry = millstream_nodes::registry();
    let mut graph = millstream_ir::text::parse(text, &registry).expect("the graph is valid");
    let limits = Limits::default();
    let cx = PassContext::new(&registry, &limits);
    for pass in PASSES {
        (pass.run)(&mut graph, &cx).expect("the graph is valid");
    }
    graph
}
