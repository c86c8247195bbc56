//! The time of random edits of links in a graph of a million nodes, and the number of nodes that
//! change their place in the order: percentiles.
//!
//! `cargo run --release -p millstream-run --example relinks`

use std::time::{Duration, Instant};

use millstream_form::Op;
use millstream_run::live::{Handle, LiveGraph};

fn main() {
    report("tree of 2^19 leaves, any link", tree());
    report("random graph, links mostly near", random_graph(64));
    report("random graph, links anywhere", random_graph(usize::MAX));
}

/// A graph, the nodes whose links are changed, their new sources, and a node to read.
type Case = (LiveGraph, Vec<Handle<f64>>, Vec<Handle<f64>>, Handle<f64>);

fn tree() -> Case {
    let mut graph = LiveGraph::new();
    let leaves: Vec<Handle<f64>> = (0..1 << 19).map(|i| graph.source(f64::from(i % 100))).collect();
    let (mut level, mut sums) = (leaves.clone(), Vec::new());
    while level.len() > 1 {
        level = level.chunks(2).map(|pair| graph.binary(Op::Add, pair[0], pair[1])).collect();
        sums.extend(level.iter().copied());
    }
    let sources = leaves.into_iter().chain(sums.iter().copied()).collect();
    (graph, sums, sources, level[0])
}

/// Each node reads two of the `reach` nodes before it.
fn random_graph(reach: usize) -> Case {
    let mut graph = LiveGraph::new();
    let mut next = random();
    let mut nodes: Vec<Handle<f64>> = (0..100).map(|i| graph.source(f64::from(i))).collect();
    let mut computed = Vec::new();
    while nodes.len() < 1_000_000 {
        let n = nodes.len();
        let (a, b) = (nodes[n - 1 - next(n.min(reach))], nodes[n - 1 - next(n.min(reach))]);
        let node = graph.binary(Op::Max, a, b);
        nodes.push(node);
        computed.push(node);
    }
    let last = nodes[nodes.len() - 1];
    (graph, computed, nodes, last)
}

fn random() -> impl FnMut(usize) -> usize {
    let mut state = 88_172_645_463_325_252_u64;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % below
    }
}

fn report(what: &str, (mut graph, readers, sources, root): Case) {
    graph.observe(root);
    graph.get(root);
    let mut next = random();
    let (mut times, mut reads, mut moved, mut refused) = (vec![], vec![], vec![], vec![]);
    while times.len() < 20_000 {
        let (reader, source) = (readers[next(readers.len())], sources[next(sources.len())]);
        let start = Instant::now();
        let result = graph.relink(reader, next(2), source);
        let time = start.elapsed();
        match result {
            Ok(n) => {
                times.push(time);
                moved.push(n);
                let start = Instant::now();
                graph.get(root);
                reads.push(start.elapsed());
            }
            Err(_) => refused.push(time),
        }
    }
    println!("{what}: {} links changed, {} refused as cycles", times.len(), refused.len());
    let of = |sorted: &[Duration], p: usize| sorted[(sorted.len() - 1) * p / 1000];
    let all = times.iter().chain(&refused).copied().collect();
    let all = [("changed", times), ("refused", refused), ("both", all), ("read", reads)];
    for (name, mut times) in all.into_iter().filter(|(_, times)| !times.is_empty()) {
        times.sort_unstable();
        let [p50, p99, p999, max] = [500, 990, 999, 1000].map(|p| of(&times, p));
        println!("  {name}: p50 {p50:.1?}  p99 {p99:.1?}  p99.9 {p999:.1?}  max {max:.1?}");
    }
    moved.sort_unstable();
    let [p50, p90, p99, max] = [500, 900, 990, 1000].map(|p| moved[(moved.len() - 1) * p / 1000]);
    println!("  nodes moved: p50 {p50}  p90 {p90}  p99 {p99}  max {max}");
}
