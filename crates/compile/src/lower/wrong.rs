//! Removes state whose next value is wrong, after everything else has been created.
//!
//! The source of a delayed socket may come after the node and may depend on it, so only at the end
//! is it known to be wrong. Then the node is wrong too, together with everything that depends on
//! it.

use std::sync::Arc;

use millstream_base::id::SideTable;
use millstream_ir::states::is_state;
use millstream_ir::{Graph, NodeId, Op};
use rustc_hash::FxHashSet;

use crate::analyses::users;
use crate::state_scopes::{places, state_nodes};

/// Removes the state that has `nowhere` as its next value, and everything that depends on it. Cost:
/// linear in nodes and links, if there is such state.
pub(super) fn take_out_unfed(graph: &mut Graph, nowhere: NodeId) {
    let is_unfed = |name: &str, node: NodeId| node == nowhere && is_state(name);
    if !graph.outputs.iter().any(|output| is_unfed(&output.name, output.source.node)) {
        return;
    }
    let users = users(graph);
    let stateful = state_nodes(graph);
    // Only the parts of a stateful node read its state.
    let parts_of = places(graph, &stateful, |it| {
        let readers = it.inputs.iter().flat_map(|(_, input)| users.of(*input));
        it.next.iter().chain(readers).copied().collect()
    });
    let mut is_gone = SideTable::new(graph.n_ids(), false);
    is_gone[nowhere] = true;
    let mut stack = vec![nowhere];
    while let Some(node) = stack.pop() {
        let states = parts_of[node].iter().flat_map(|it| &stateful[*it as usize].inputs);
        let depending = users.of(node).iter().chain(states.map(|(_, input)| input));
        for other in depending {
            if !std::mem::replace(&mut is_gone[*other], true) {
                stack.push(*other);
            }
        }
    }
    let name = |id: NodeId| match graph.op(id) {
        Op::Input(input) if is_gone[id] => Some(Arc::clone(&graph.inputs()[input].name)),
        Op::Gone | Op::Const(_) | Op::Input(_) | Op::Call(_) => None,
    };
    let states: FxHashSet<Arc<str>> = graph.ids().filter_map(name).collect();
    let is_left = |name: &Arc<str>, node: NodeId| !is_gone[node] && !states.contains(name);
    graph.outputs.retain(|output| is_left(&output.name, output.source.node));
    graph.retain(|id| !is_gone[id]);
    graph.remove_inputs(|input| states.contains(&input.name));
}
