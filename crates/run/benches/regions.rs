//! The savings by regions of the chunked evaluator in plans with functions, in interleaved runs on
//! one thread: switches that select instead of sorting elements, switches of the whole column that
//! do not divide a region, loops that are folded without a list.
//!
//! `cargo bench -p millstream-run --bench regions` prints nanoseconds per element and the ratio.

#[path = "shared/compiled.rs"]
mod compiled;
#[path = "shared/timing.rs"]
mod timing;

use std::num::NonZeroUsize;

use millstream_base::Column;
use millstream_compile::schedule::schedule;
use millstream_ir::{Evaluator, Graph, NodeId, Plan, Request};
use millstream_run::Chunked;

use compiled::compiled;
use timing::{median, seconds};

fn main() {
    // `-- --test` checks that the benchmark runs, not how fast.
    let is_smoke_run = std::env::args().any(|arg| arg == "--test");
    let (n, rounds) = if is_smoke_run { (1000, 1) } else { (1_000_000, 21) };
    let names = ["graph", "ns/element", "without", "ratio"];
    let [graph, with, without, ratio] = names;
    println!("{n} elements, medians of {rounds}");
    println!("{graph:44} {with:>10} {without:>10} {ratio:>6}");
    let one_thread = || Chunked::new().threads(NonZeroUsize::MIN);
    for (name, text, is_loop) in GRAPHS {
        let graph = compiled(text);
        let apart = if is_loop { graph.clone() } else { without_choices(&graph) };
        let plans = [graph, apart].map(|graph| schedule(graph, 24.0).expect("it is valid"));
        let mut ways = [one_thread(), one_thread().without_unrolling()];
        side_by_side(name, &plans, &mut ways, n, rounds);
    }
}

/// Name, text, and what is compared: if true, a loop with and without its list, else switches
/// inside and outside their region. A number from a function keeps the plans from consisting of
/// forms alone.
const GRAPHS: [(&str, &str, bool); 8] = [
    (
        "switch by element",
        "n0 = input x: f32 = 0.5
         n1 = reduce.maximum n0
         n2 = math.divide n0 n1
         n3 = const 0.5
         n4 = compare.less n2 n3
         n5 = math.square n2
         n6 = math.sqrt n2
         n7 = control.switch n4 n5 n6
         n8 = math.add n7 n2
         output y n8",
        false,
    ),
    ("eight switches by element, one behind another", EIGHT_SWITCHES, false),
    (
        "switch of the whole column",
        "n0 = input x: f32 = 0.5
         n1 = input c: bool = true
         n2 = math.square n0
         n3 = math.add n2 n0
         n4 = math.sqrt n3
         n5 = math.multiply n3 n0
         n6 = control.switch n1 n4 n5
         n7 = math.add n6 n0
         n8 = math.multiply n7 n7
         output y n8",
        false,
    ),
    ("sum of 16 rounds", LOOP, true),
    (
        "sum of 16 rounds of sine",
        "n0 = input x: f32 = 0.5
         n1 = context.index
         n2 = convert{\"to\": \"f32\"} n1
         n3 = math.multiply n0 n2
         n4 = math.sin n3
         n5 = const 16
         n6 = list.generate n4 n5
         n7 = list.sum n6
         output y n7",
        true,
    ),
    (
        "greatest of 64 rounds",
        "n0 = input x: f32 = 0.5
         n1 = context.index
         n2 = convert{\"to\": \"f32\"} n1
         n3 = math.subtract n0 n2
         n4 = math.multiply n3 n3
         n5 = const 64
         n6 = list.generate n4 n5
         n7 = list.maximum n6
         output y n7",
        true,
    ),
    (
        "sum of 16 rounds with a switch in each",
        "n0 = input x: f32 = 0.5
         n1 = context.index
         n2 = convert{\"to\": \"f32\"} n1
         n3 = math.multiply n0 n2
         n4 = const 1.5
         n5 = compare.less n3 n4
         n6 = math.square n3
         n7 = math.sqrt n3
         n8 = control.switch n5 n6 n7
         n9 = const 16
         n10 = list.generate n8 n9
         n11 = list.sum n10
         output y n11",
        true,
    ),
    (
        "sum and maximum of 16 rounds with common items",
        "n0 = input x: f32 = 0.5
         n1 = context.index
         n2 = convert{\"to\": \"f32\"} n1
         n3 = math.multiply n0 n2
         n4 = math.square n3
         n5 = math.sqrt n4
         n6 = math.subtract n5 n0
         n7 = const 16
         n8 = list.generate n5 n7
         n9 = list.sum n8
         n10 = list.generate n6 n7
         n11 = list.maximum n10
         n12 = math.add n9 n11
         output y n12",
        true,
    ),
];

const EIGHT_SWITCHES: &str = "n0 = input x: f32 = 0.5
    n1 = reduce.maximum n0
    n2 = const 0.5
    n3 = compare.less n0 n2
    n4 = math.divide n0 n1
    n10 = math.square n4
    n11 = control.switch n3 n4 n10
    n12 = math.square n11
    n13 = control.switch n3 n11 n12
    n14 = math.square n13
    n15 = control.switch n3 n13 n14
    n16 = math.square n15
    n17 = control.switch n3 n15 n16
    n18 = math.square n17
    n19 = control.switch n3 n17 n18
    n20 = math.square n19
    n21 = control.switch n3 n19 n20
    n22 = math.square n21
    n23 = control.switch n3 n21 n22
    n24 = math.square n23
    n25 = control.switch n3 n23 n24
    output y n25";

const LOOP: &str = "n0 = input x: f32 = 0.5
    n1 = context.index
    n2 = convert{\"to\": \"f32\"} n1
    n3 = math.multiply n0 n2
    n4 = math.add n3 n0
    n5 = math.multiply n4 n4
    n6 = const 16
    n7 = list.generate n5 n6
    n8 = list.sum n7
    output y n8";

/// The same graph with all choices outside of regions.
fn without_choices(graph: &Graph) -> Graph {
    let is_choice = |id: NodeId| graph.instance_of(id).is_some_and(|call| call.is_lane_choice());
    let mut regions = vec![None; graph.n_ids()];
    for id in graph.ids().filter(|id| !is_choice(*id)) {
        regions[millstream_base::id::Id::index(id)] = graph.region_of(id);
    }
    let mut apart = graph.clone();
    apart.set_regions(regions);
    apart
}

fn side_by_side(name: &str, plans: &[Plan; 2], ways: &mut [Chunked; 2], n: usize, rounds: usize) {
    let mut state = 1_u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 16_777_216.0
    };
    let column: Column = std::iter::repeat_with(next).take(n).collect();
    let request = Request::new().column("x", column);
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..=rounds {
        for ((way, plan), times) in ways.iter_mut().zip(plans).zip(&mut times) {
            let mut answer = None;
            let time = seconds(|| {
                answer = Some(way.evaluate(plan, &request).expect("the request fits"));
            });
            way.give_back(answer.expect("it was just evaluated"));
            // The first round makes forms.
            if round > 0 {
                times.push(time / n as f64);
            }
        }
    }
    let [with, without] = times.map(|times| median(times) * 1e9);
    println!("{name:44} {with:10.2} {without:10.2} {:6.2}", with / without);
}
