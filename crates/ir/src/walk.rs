//! Walks over a graph: order, reach. None recurses.

use millstream_base::id::SideTable;

use crate::graph::{Graph, NodeId, Op};

/// Nodes that lie on a cycle, each reading from the next, the last from the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle(pub Vec<NodeId>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    New,
    Open,
    Done,
}

/// All nodes that are there, each behind everything it reads from. Where the links allow it that
/// is the order of the ids.
///
/// # Errors
/// A cycle, if there is one.
pub fn order(graph: &Graph) -> Result<Vec<NodeId>, Cycle> {
    let mut order = Vec::with_capacity(graph.len());
    let mut marks: SideTable<NodeId, Mark> = SideTable::new(graph.n_ids(), Mark::New);
    let mut stack: Vec<(NodeId, u32)> = Vec::new();
    for root in graph.ids() {
        if marks[root] == Mark::Done {
            continue;
        }
        if graph.inputs_of(root).iter().any(|link| marks[link.node] != Mark::Done) {
            marks[root] = Mark::Open;
            stack.push((root, 0));
            place_upstream(graph, &mut stack, &mut marks, &mut order)?;
        } else {
            marks[root] = Mark::Done;
            order.push(root);
        }
    }
    Ok(order)
}

/// Appends the node on the stack behind all it reads from that is not in the order yet.
fn place_upstream(
    graph: &Graph,
    stack: &mut Vec<(NodeId, u32)>,
    marks: &mut SideTable<NodeId, Mark>,
    order: &mut Vec<NodeId>,
) -> Result<(), Cycle> {
    while let Some((node, next)) = stack.last_mut() {
        let Some(link) = graph.inputs_of(*node).get(*next as usize) else {
            marks[*node] = Mark::Done;
            order.push(*node);
            stack.pop();
            continue;
        };
        *next += 1;
        match marks[link.node] {
            Mark::Done => {}
            Mark::New => {
                marks[link.node] = Mark::Open;
                stack.push((link.node, 0));
            }
            Mark::Open => {
                let start = stack.iter().position(|(node, _)| *node == link.node).unwrap_or(0);
                return Err(Cycle(stack[start..].iter().map(|(node, _)| *node).collect()));
            }
        }
    }
    Ok(())
}

/// Which nodes an output can reach.
pub fn reachable_from_outputs(graph: &Graph) -> SideTable<NodeId, bool> {
    let mut reached = SideTable::new(graph.n_ids(), false);
    let mut stack: Vec<NodeId> = graph.outputs.iter().map(|output| output.source.node).collect();
    while let Some(node) = stack.pop() {
        if std::mem::replace(&mut reached[node], true) || graph.op(node) == Op::Gone {
            continue;
        }
        stack.extend(graph.inputs_of(node).iter().map(|link| link.node).filter(|n| !reached[*n]));
    }
    reached
}
