//! Plans of benchmarks, from the text of their graphs.

use std::sync::Arc;

use millstream_compile::schedule::schedule;
use millstream_ir::Plan;

use super::compiled::compiled;

/// The plan of the graph with this text, and the number of nodes in the text.
pub(crate) fn planned(text: &str) -> (Arc<Plan>, usize) {
    let plan = schedule(compiled(text), 24.0).expect("the graph is valid");
    let is_node = |line: &str| {
        let made = line.split_once(" = ").and_then(|(_, made)| made.split_whitespace().next());
        made.is_some_and(|made| made.contains('.'))
    };
    let n_nodes = text.lines().filter(|line| is_node(line)).count();
    (Arc::new(plan), n_nodes)
}
