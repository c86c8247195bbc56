//! Families of graphs.

use super::graph::{Graph, Id, Op};
use crate::random::Random;

/// A graph with its numeric sources and its selectors.
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) graph: Graph,
    pub(super) sources: Vec<Id>,
    pub(super) selectors: Vec<Id>,
}

impl Family {
    fn of(name: &'static str, graph: Graph) -> Self {
        let with = |op: Op| graph.ids().filter(|id| graph.op(*id) == op).collect();
        let (sources, selectors) = (with(Op::Source), with(Op::Selector));
        Self { name, graph, sources, selectors }
    }

    /// All families, with about the same number of nodes.
    pub(super) fn all() -> Vec<Self> {
        vec![
            chain(8_192),
            tree(4_096),
            ladder(4_096),
            layered(128, 64),
            switches(64, 64),
            wide(4_096),
        ]
    }
}

/// A chain of nodes; every 64th also reads a source of its own.
pub(super) fn chain(n: usize) -> Family {
    let mut graph = Graph::default();
    let mut last = graph.source(1.0);
    let mut other = graph.source(0.5);
    for k in 0..n {
        if k % 64 == 63 {
            other = graph.source(0.25);
        }
        last = graph.binary(if k % 2 == 0 { Op::Add } else { Op::Subtract }, last, other);
    }
    Family::of("chain", graph)
}

/// The pairwise sum of many sources.
pub(super) fn tree(leaves: usize) -> Family {
    let mut graph = Graph::default();
    let leaves = (0..leaves).map(|k| graph.source(k as f64)).collect();
    sum(&mut graph, leaves);
    Family::of("tree", graph)
}

fn sum(graph: &mut Graph, mut level: Vec<Id>) {
    while level.len() > 1 {
        level = level
            .chunks(2)
            .map(|pair| match *pair {
                [a, b] => graph.binary(Op::Add, a, b),
                _ => pair[0],
            })
            .collect();
    }
}

/// `p = max(x, y)`, then repeatedly `p = max(p, p - z)`: two nodes a rung, and 2^n paths from the
/// first to the last. The source x has no effect while it is less than y.
pub(super) fn ladder(rungs: usize) -> Family {
    let mut graph = Graph::default();
    let (x, y, z) = (graph.source(3.0), graph.source(4.0), graph.source(2.0));
    let mut p = graph.binary(Op::Max, x, y);
    for _ in 0..rungs {
        let less = graph.binary(Op::Subtract, p, z);
        p = graph.binary(Op::Max, p, less);
    }
    Family::of("ladder", graph)
}

/// A chain of diamonds, each with one node on the left side and two on the right: `l = p + p`, `r =
/// p + 0 + 0`, `p = l - r`. Each diamond passes its input value on, but shows a wrong one while
/// only one side has seen a change. There are 3^n paths, of n + 1 lengths.
pub(super) fn diamonds(n: usize) -> Family {
    let mut graph = Graph::default();
    let (mut p, zero) = (graph.source(4.0), graph.source(0.0));
    for _ in 0..n {
        let left = graph.binary(Op::Add, p, p);
        let right = graph.binary(Op::Add, p, zero);
        let right = graph.binary(Op::Add, right, zero);
        p = graph.binary(Op::Subtract, left, right);
    }
    Family::of("diamonds", graph)
}

/// Layers of nodes, each reading two nodes of the layer before.
pub(super) fn layered(width: usize, depth: usize) -> Family {
    let mut graph = Graph::default();
    let mut random = Random(0x1234_5678_9abc_def1);
    let mut layer: Vec<Id> = (0..width).map(|k| graph.source(k as f64 / width as f64)).collect();
    for _ in 1..depth {
        layer = (0..width)
            .map(|_| {
                let [a, b] = [0; 2].map(|_| layer[random.below(width)]);
                let op = [Op::Add, Op::Subtract, Op::Max, Op::Min][random.below(4)];
                graph.binary(op, a, b)
            })
            .collect();
    }
    sum(&mut graph, layer);
    Family::of("layered", graph)
}

/// A chain of switches; each arm is a chain that starts at the previous switch.
pub(super) fn switches(n: usize, arm: usize) -> Family {
    let mut graph = Graph::default();
    let (mut last, step) = (graph.source(1.0), graph.source(0.5));
    for _ in 0..n {
        let selector = graph.selector(false);
        let arms = [Op::Add, Op::Subtract].map(|op| {
            let mut end = last;
            for _ in 0..arm {
                end = graph.binary(op, end, step);
            }
            end
        });
        last = graph.switch(selector, arms);
    }
    Family::of("switches", graph)
}

/// Many nodes that each read a shared source and one of their own, and the sum of all.
pub(super) fn wide(n: usize) -> Family {
    let mut graph = Graph::default();
    let x = graph.source(1.0);
    let all = (0..n)
        .map(|k| {
            let own = graph.source(k as f64);
            graph.binary(Op::Add, x, own)
        })
        .collect();
    sum(&mut graph, all);
    Family::of("wide", graph)
}
