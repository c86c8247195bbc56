//! Incremental recomputation on live graphs: the scenarios by which such engines are compared.
//!
//! `cargo bench -p millstream-run --bench live`; one iteration sets and reads. Names say which
//! nodes must run. `floor_*` does the same with a loop over arrays that knows the graph: the time
//! of an engine that checks nothing.

use std::cell::Cell;

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use millstream_run::live::{Handle, LiveGraph, Op, Taken};

fn main() {
    divan::main();
}

type Number = Handle<f64>;

/// Observes and reads twice. The second wave of a new graph finds the readers of each node, which
/// `build_first_read_and_first_change_of_a_random_graph` times.
fn settle(graph: &mut LiveGraph, end: Number) {
    graph.observe(end);
    graph.get(end);
    graph.get(end);
}

/// Sets one of two values in turn and reads.
fn toggle(bencher: Bencher, mut graph: LiveGraph, set: Number, values: [f64; 2], read: Number) {
    settle(&mut graph, read);
    let turn = Cell::new(0);
    bencher.bench_local(|| {
        turn.set(1 - turn.get());
        graph.set(set, values[turn.get()]);
        black_box(graph.get(read))
    });
}

/// `p = max(x, y)`, then 10,000 times `p = max(p, p - z)`: 20,001 nodes.
fn max_chain() -> (LiveGraph, Number, Number, Number) {
    let mut graph = LiveGraph::new();
    let (x, y, z) = (graph.source(3.0), graph.source(4.0), graph.source(1.0));
    let mut p = graph.binary(Op::Max, x, y);
    for _ in 0..10_000 {
        let less = graph.binary(Op::Sub, p, z);
        p = graph.binary(Op::Max, p, less);
    }
    (graph, x, y, p)
}

#[divan::bench]
fn chain_one_of_20001_runs(bencher: Bencher) {
    let (graph, x, _, end) = max_chain();
    toggle(bencher, graph, x, [3.0, 2.0], end);
}

#[divan::bench]
fn chain_all_20001_run(bencher: Bencher) {
    let (graph, _, y, end) = max_chain();
    toggle(bencher, graph, y, [4.0, 8.0], end);
}

#[divan::bench]
fn chain_nothing_changed(bencher: Bencher) {
    let (mut graph, _, _, end) = max_chain();
    settle(&mut graph, end);
    bencher.bench_local(|| black_box(graph.get(end)));
}

#[divan::bench]
fn floor_chain_all_20001_run(bencher: Bencher) {
    let turn = Cell::new(false);
    let mut values = vec![0.0_f64; 20_001];
    bencher.bench_local(|| {
        turn.set(!turn.get());
        let mut p = if turn.get() { 4.0_f64 } else { 8.0 };
        for (i, value) in values.iter_mut().enumerate() {
            p = if i % 2 == 1 {
                *value = p - 1.0;
                p
            } else {
                *value = p.max(p - 1.0);
                *value
            };
        }
        black_box(values[20_000])
    });
}

#[divan::bench]
fn fan_out_of_100000_and_sum(bencher: Bencher) {
    let mut graph = LiveGraph::new();
    let x = graph.source(1.0);
    let all: Vec<Number> =
        (0..100_000).map(|i| graph.binary_with(Op::Add, x, f64::from(i))).collect();
    let sum = graph.fold(Op::Add, &all);
    toggle(bencher, graph, x, [1.0, 2.0], sum);
}

/// A tree of sums over 2^20 leaves.
fn sum_tree() -> (LiveGraph, Vec<Number>, Vec<Number>, Number) {
    let mut graph = LiveGraph::new();
    let leaves: Vec<Number> = (0..1 << 20).map(|_| graph.source(1.0)).collect();
    let mut level = leaves.clone();
    let mut first_level = Vec::new();
    while level.len() > 1 {
        level = level.chunks(2).map(|pair| graph.binary(Op::Add, pair[0], pair[1])).collect();
        if first_level.is_empty() {
            first_level.clone_from(&level);
        }
    }
    graph.observe(level[0]);
    graph.get(level[0]);
    (graph, leaves, first_level, level[0])
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

#[divan::bench(args = [1, 1000])]
fn tree_of_a_million_leaves(bencher: Bencher, n_set: usize) {
    let (mut graph, leaves, _, root) = sum_tree();
    settle(&mut graph, root);
    let (mut next, mut value) = (random(), 0.0);
    bencher.bench_local(|| {
        value += 1.0;
        for _ in 0..n_set {
            graph.set(leaves[next(leaves.len())], value);
        }
        black_box(graph.get(root))
    });
}

#[divan::bench]
fn relink_one_link_of_the_tree(bencher: Bencher) {
    let (mut graph, leaves, sums, root) = sum_tree();
    settle(&mut graph, root);
    let mut next = random();
    bencher.bench_local(|| {
        let (sum, leaf) = (sums[next(sums.len())], leaves[next(leaves.len())]);
        graph.relink(sum, next(2), leaf).expect("leaves depend on nothing");
        black_box(graph.get(root))
    });
}

#[divan::bench]
fn build_and_first_read_of_the_tree(bencher: Bencher) {
    bencher.counter(ItemsCount::new((1_usize << 21) - 1)).bench_local(sum_tree);
}

/// Number of nodes of graphs that are built: not a power of two, so that tables are not just full.
const N_BUILT: usize = 1_500_000;

#[divan::bench(sample_count = 20)]
fn build_and_first_read_of_a_chain(bencher: Bencher) {
    bencher.counter(ItemsCount::new(N_BUILT)).bench_local(|| {
        let mut graph = LiveGraph::new();
        let mut last = graph.source(1.0);
        for _ in 1..N_BUILT {
            last = graph.binary_with(Op::Add, last, 1.0);
        }
        graph.observe(last);
        black_box(graph.get(last));
        graph
    });
}

/// Each node reads two of the recent nodes. The distances are in a list, so that generating
/// random numbers is not timed.
fn random_graph(back: &[[u32; 2]]) -> (LiveGraph, Number, Number) {
    let mut graph = LiveGraph::new();
    let mut nodes: Vec<Number> = Vec::with_capacity(100 + back.len());
    nodes.extend((0..100).map(|i| graph.source(f64::from(i))));
    for back in back {
        let [a, b] = back.map(|back| nodes[nodes.len() - 1 - back as usize]);
        nodes.push(graph.binary(Op::Max, a, b));
    }
    let last = nodes[nodes.len() - 1];
    graph.observe(last);
    black_box(graph.get(last));
    (graph, nodes[0], last)
}

fn random_links(reach: usize) -> Vec<[u32; 2]> {
    let mut next = random();
    (100..N_BUILT).map(|n| [(); 2].map(|()| next(n.min(reach)) as u32)).collect()
}

#[divan::bench(args = [64, N_BUILT], sample_count = 20)]
fn build_and_first_read_of_a_random_graph(bencher: Bencher, reach: usize) {
    let links = random_links(reach);
    bencher.counter(ItemsCount::new(N_BUILT)).bench_local(|| random_graph(&links));
}

/// The first change also includes finding the readers of each node.
#[divan::bench(args = [64, N_BUILT], sample_count = 20)]
fn build_first_read_and_first_change_of_a_random_graph(bencher: Bencher, reach: usize) {
    let links = random_links(reach);
    bencher.counter(ItemsCount::new(N_BUILT)).bench_local(|| {
        let (mut graph, source, last) = random_graph(&links);
        graph.set(source, -1.0);
        black_box(graph.get(last));
        graph
    });
}

#[divan::bench]
fn ladder_of_10000_diamonds(bencher: Bencher) {
    let mut graph = LiveGraph::new();
    let x = graph.source(1.0);
    let mut last = x;
    for _ in 0..10_000 {
        let (a, b) = (graph.binary_with(Op::Add, last, 1.0), graph.binary_with(Op::Sub, last, 1.0));
        last = graph.binary(Op::Max, a, b);
    }
    toggle(bencher, graph, x, [1.0, 2.0], last);
}

/// A switch between two branches of 100 chains of 100.
fn branches() -> (LiveGraph, Number, Handle<bool>, Number) {
    let mut graph = LiveGraph::new();
    let (x, which) = (graph.source(1.0), graph.source(false));
    let arms: Vec<Number> = (0..2)
        .map(|arm| {
            let ends: Vec<Number> = (0..100)
                .map(|chain| {
                    let first = graph.binary_with(Op::Add, x, f64::from(arm * 1000 + chain));
                    (1..100).fold(first, |last, _| graph.binary_with(Op::Add, last, 1.0))
                })
                .collect();
            graph.fold(Op::Add, &ends)
        })
        .collect();
    let out = graph.switch(which, &arms);
    graph.observe(out);
    for arm in [true, false] {
        graph.set(which, arm);
        graph.get(out);
    }
    (graph, x, which, out)
}

#[divan::bench]
fn switch_toggles(bencher: Bencher) {
    let (mut graph, _, which, out) = branches();
    let mut turn = false;
    bencher.bench_local(|| {
        turn = !turn;
        graph.set(which, turn);
        black_box(graph.get(out))
    });
}

#[divan::bench]
fn switch_toggles_and_its_branch_of_10000_runs(bencher: Bencher) {
    let (mut graph, x, which, out) = branches();
    let (mut turn, mut value) = (false, 0.0);
    bencher.bench_local(|| {
        (turn, value) = (!turn, value + 1.0);
        graph.set(which, turn);
        graph.set(x, value);
        black_box(graph.get(out))
    });
}

/// 1000 switches, each between the one before and a node that reads it; the first input changes.
#[divan::bench]
fn switches_in_1000_layers(bencher: Bencher) {
    let mut graph = LiveGraph::new();
    let x = graph.source(0.0);
    let last = (0..1000).fold(x, |last, i| {
        let which = graph.source(i % 2 == 0);
        let more = graph.binary_with(Op::Add, last, 1.0);
        graph.switch(which, &[last, more])
    });
    toggle(bencher, graph, x, [1.0, 2.0], last);
}

/// A layered graph of the js-reactivity-benchmark.
struct Layered {
    width: usize,
    layers: usize,
    /// The number of neighbors in the layer before that each node reads.
    n_read: usize,
    /// The share of nodes that are dynamic: if their first input is odd, they drop one of the
    /// others.
    dynamic: f64,
}

impl std::fmt::Display for Layered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}x{}", self.n_read, self.width, self.layers)
    }
}

/// The published configurations c, d, e and f.
const LAYERED: [Layered; 4] = [
    Layered { width: 1000, layers: 12, n_read: 4, dynamic: 0.05 },
    Layered { width: 1000, layers: 5, n_read: 25, dynamic: 0.0 },
    Layered { width: 5, layers: 500, n_read: 3, dynamic: 0.0 },
    Layered { width: 100, layers: 15, n_read: 6, dynamic: 0.5 },
];

impl Layered {
    fn n_nodes(&self) -> usize {
        self.width * self.layers
    }

    /// The graph, its sources and the nodes of the last layer, which are observed.
    fn build(&self) -> (LiveGraph, Vec<Number>, Vec<Number>) {
        let mut graph = LiveGraph::new();
        let mut next = random();
        let sources: Vec<Number> = (0..self.width).map(|i| graph.source(i as f64)).collect();
        let mut layer = sources.clone();
        for _ in 1..self.layers {
            let node = |i: usize| {
                let read: Vec<Number> =
                    (0..self.n_read).map(|k| layer[(i + k) % self.width]).collect();
                if next(1 << 20) as f64 >= self.dynamic * f64::from(1 << 20) {
                    return graph.sum(&read);
                }
                let n = read.len() - 1;
                let wanted = move |first: f64| {
                    let dropped =
                        if first as i64 & 1 == 1 { 1 << (first as u64 % n as u64) } else { 0 };
                    ((1 << n) - 1) & !dropped
                };
                let sum = |first, taken: Taken<'_, f64>| taken.fold(first, |sum, arm| sum + arm);
                graph.dynamic(read[0], &read[1..], wanted, sum)
            };
            layer = (0..self.width).map(node).collect();
        }
        for node in &layer {
            graph.observe(*node);
        }
        (graph, sources, layer)
    }
}

/// Sets one source after the other, and reads the whole last layer each time.
#[divan::bench(args = LAYERED)]
fn layered(bencher: Bencher, of: &Layered) {
    let (mut graph, sources, last) = of.build();
    let mut i = 0;
    bencher.bench_local(|| {
        let source = i % of.width;
        graph.set(sources[source], (i + source) as f64);
        i += 1;
        for node in &last {
            black_box(graph.get(*node));
        }
    });
}

#[divan::bench(args = LAYERED)]
fn build_and_first_read_of_layered(bencher: Bencher, of: &Layered) {
    bencher.counter(ItemsCount::new(of.n_nodes())).bench_local(|| {
        let (mut graph, _, last) = of.build();
        black_box(graph.get(last[0]));
        graph
    });
}

#[divan::bench]
fn build_and_first_read_of_10000_switches(bencher: Bencher) {
    bencher.counter(ItemsCount::new(20_000_usize)).bench_local(|| {
        let mut graph = LiveGraph::new();
        let x = graph.source(0.0);
        let which = [graph.source(false), graph.source(true)];
        let last = (0..10_000).fold(x, |last, i| {
            let more = graph.binary_with(Op::Add, last, 1.0);
            graph.switch(which[i % 2], &[last, more])
        });
        graph.observe(last);
        black_box(graph.get(last));
        graph
    });
}

/// A clamp after 1000 nodes and before 100,000.
fn clamped() -> (LiveGraph, Number, Number) {
    let mut graph = LiveGraph::new();
    let x = graph.source(0.0);
    let last = (0..1000).fold(x, |last, _| graph.binary_with(Op::Add, last, 1.0));
    let clamp = graph.binary_with(Op::Min, last, 1010.0);
    let mut level: Vec<Number> =
        (0..100_000).map(|i| graph.binary_with(Op::Add, clamp, f64::from(i))).collect();
    while level.len() > 1 {
        level = level.chunks(64).map(|some| graph.fold(Op::Add, some)).collect();
    }
    (graph, x, level[0])
}

#[divan::bench]
fn clamp_holds(bencher: Bencher) {
    let (graph, x, sum) = clamped();
    toggle(bencher, graph, x, [100.0, 101.0], sum);
}

#[divan::bench]
fn clamp_lets_all_change(bencher: Bencher) {
    let (graph, x, sum) = clamped();
    toggle(bencher, graph, x, [1.0, 2.0], sum);
}
