//! Walks over a graph, without recursion: topological order and reachability.

use std::fmt;

use millstream_base::id::SideTable;

use crate::graph::{Graph, NodeId, Op};

/// The nodes of a cycle: each reads from the next one, and the last from the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle(pub Vec<NodeId>);

/// Prints as `n1 -> n0 -> n1`, in the direction of the values; a long cycle is shortened.
impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        for id in self.0.iter().rev().take(SHOWN) {
            write!(f, "{id} -> ")?;
        }
        if self.0.len() > SHOWN {
            f.write_str("... -> ")?;
        }
        self.0.last().map_or(Ok(()), |id| write!(f, "{id}"))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    New,
    Open,
    Done,
}

/// All nodes in topological order, which is the order of ids wherever links permit.
///
/// # Errors
/// A cycle, if there is one.
pub fn order(graph: &Graph) -> Result<Vec<NodeId>, Cycle> {
    let mut order: Vec<NodeId> = Vec::with_capacity(graph.len());
    order.extend(graph.ids().take_while(|id| reads_earlier(graph, *id)));
    if order.len() == graph.len() {
        return Ok(order);
    }
    order.clear();
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

/// Whether a node reads only from smaller ids, as all nodes do after lowering and most do later. If
/// all do, one pass in the order of memory replaces a walk along the links.
fn reads_earlier(graph: &Graph, id: NodeId) -> bool {
    graph.inputs_of(id).iter().all(|link| link.node < id)
}

/// Appends the node on the stack after all nodes it reads from.
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

/// The nodes that outputs can reach.
pub fn reachable_from_outputs(graph: &Graph) -> SideTable<NodeId, bool> {
    let mut reached = SideTable::new(graph.n_ids(), false);
    let mut stack: Vec<NodeId> = graph.outputs.iter().map(|output| output.source.node).collect();
    if graph.ids().all(|id| reads_earlier(graph, id)) {
        for node in stack {
            reached[node] = true;
        }
        for id in graph.ids().rev() {
            if reached[id] {
                for link in graph.inputs_of(id) {
                    reached[link.node] = true;
                }
            }
        }
        return reached;
    }
    while let Some(node) = stack.pop() {
        if std::mem::replace(&mut reached[node], true) || graph.op(node) == Op::Gone {
            continue;
        }
        stack.extend(graph.inputs_of(node).iter().map(|link| link.node).filter(|n| !reached[*n]));
    }
    reached
}
