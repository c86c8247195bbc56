//! Remove the nodes that no output can reach.
//!
//! Requires: nothing. Establishes: every node is reachable from an output. Inputs of the graph
//! remain part of its interface, with or without a node. Cost: one walk, linear in nodes and links.

use millstream_base::diagnostics::Diagnostics;
use millstream_ir::{Graph, walk};

use super::{Changed, PassContext};

/// Remove unreachable nodes; ids and links of the others are unchanged.
///
/// # Errors
/// Never; the signature is that of every pass.
pub fn prune(graph: &mut Graph, _cx: &PassContext<'_>) -> Result<Changed, Diagnostics> {
    let before = graph.len();
    let reached = walk::reachable_from_outputs(graph);
    graph.retain(|id| reached[id]);
    Ok(Changed::when(graph.len() < before))
}
