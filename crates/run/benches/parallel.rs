//! Two threads compared with one, in interleaved runs: the parallel evaluator must never be much
//! slower, and faster if independent steps are expensive. A third column makes jobs whether or not
//! that pays.
//!
//! `cargo bench -p millstream-run --bench parallel` prints for each graph the medians and the ratio.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use millstream_base::{Column, Limits};
use millstream_compile::passes::{PassContext, conversions};
use millstream_compile::schedule::schedule;
use millstream_ir::{Evaluator, Plan, Request};
use millstream_run::List;

fn main() {
    // `-- --test` checks that the benchmark runs, not how fast.
    let is_smoke_run = std::env::args().any(|arg| arg == "--test");
    let rounds = if is_smoke_run { 1 } else { 41 };
    println!(
        "microseconds, least and median; ratios are those of the medians to that of one thread"
    );
    println!("{:26} {:>8} {:^38} {:^26} {:^19}", "", "", "least", "median", "ratio");
    println!(
        "{:26} {:>8} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12} {:>9} {:>9}",
        "graph", "elements", "one", "two", "all jobs", "one", "two", "all jobs", "two", "all jobs"
    );
    for n in [1, 100, 1000, 10_000, 30_000, 100_000, 1_000_000] {
        side_by_side("eight waves and their sum", &waves(8), n, rounds);
    }
    for n in [1000, 1_000_000] {
        side_by_side("16 noises and their sum", &noises(16), n, rounds.min(9));
    }
    for n in [100, 10_000, 1_000_000] {
        side_by_side("a chain, nothing to share", &chain(12), n, rounds);
    }
    for n in [100, 1000, 10_000] {
        side_by_side("400 small independent steps", &sums(400), n, rounds);
    }
    for n in [100, 10_000, 300_000] {
        side_by_side("four sorted lists", &sorts(4), n, rounds);
    }
}

fn plan(text: &str) -> Plan {
    let registry = millstream_nodes::registry();
    let mut graph = millstream_ir::text::parse(text, &registry).expect("the graph is valid");
    let limits = Limits::default();
    let cx = PassContext::new(&registry, &limits);
    conversions(&mut graph, &cx).expect("the graph is valid");
    schedule(graph, 24.0).expect("the graph is valid")
}

/// Adds up the nodes from `first` on, each read once.
fn total(text: &mut String, first: usize, n: usize, mut at: usize) -> usize {
    let mut sum = first;
    for term in first + 1..first + n {
        *text += &format!("n{at} = math.add n{sum} n{term}\n");
        sum = at;
        at += 1;
    }
    sum
}

fn waves(n: usize) -> Plan {
    let mut text = String::from("n0 = input x: f32 = 0.5\n");
    for i in 0..n {
        text += &format!("n{} = const {}.5\n", i + 1, i + 1);
    }
    for i in 0..n {
        text += &format!("n{} = math.multiply n0 n{}\n", n + 1 + i, i + 1);
    }
    for i in 0..n {
        text += &format!("n{} = math.sin n{}\n", 2 * n + 1 + i, n + 1 + i);
    }
    let sum = total(&mut text, 2 * n + 1, n, 3 * n + 1);
    plan(&(text + &format!("output y n{sum}\n")))
}

/// Three octaves of noise in space, each with another seed.
fn noises(n: usize) -> Plan {
    let mut text = String::from(
        "n0 = input x: f32 = 0.5
        n1 = const 7.0
        n2 = const 13.0
        n3 = math.multiply n0 n1
        n4 = math.multiply n0 n2
        n5 = vector.combine_vec3 n0 n3 n4
        n6 = const 2.0
        n7 = const 0.5
        ",
    );
    for i in 0..n {
        text += &format!("n{} = const {i}\n", i + 8);
    }
    for i in 0..n {
        text += &format!("n{} = noise.fbm n5 n1 n{} n6 n7\n", n + 8 + i, i + 8);
    }
    let sum = total(&mut text, n + 8, n, 2 * n + 8);
    plan(&(text + &format!("output y n{sum}\n")))
}

fn chain(n: usize) -> Plan {
    let mut text = String::from("n0 = input x: f32 = 0.5\n");
    for i in 0..n {
        text += &format!("n{} = math.sin n{i}\n", i + 1);
    }
    plan(&(text + &format!("output y n{n}\n")))
}

fn sums(n: usize) -> Plan {
    let mut text = String::from("n0 = input x: f32 = 0.5\n");
    for i in 0..n {
        text += &format!("n{} = math.square n0\n", i + 1);
    }
    let sum = total(&mut text, 1, n, n + 1);
    plan(&(text + &format!("output y n{sum}\n")))
}

/// Each sorts the column with another factor and takes the median.
fn sorts(n: usize) -> Plan {
    let mut text = String::from("n0 = input x: f32 = 0.5\n");
    for i in 0..n {
        text += &format!("n{} = const {}.5\n", i + 1, i + 1);
    }
    for i in 0..n {
        text += &format!("n{} = math.multiply n0 n{}\n", n + 1 + i, i + 1);
    }
    for i in 0..n {
        text += &format!("n{} = reduce.median n{}\n", 2 * n + 1 + i, n + 1 + i);
    }
    let sum = total(&mut text, 2 * n + 1, n, 3 * n + 1);
    plan(&(text + &format!("output y n{sum}\n")))
}

fn side_by_side(name: &str, plan: &Plan, n: usize, rounds: usize) {
    let mut state = 1_u32;
    let column: Column = (0..n)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 16_777_216.0
        })
        .collect();
    let request = Request::new().column("x", column);
    // The last makes jobs whether or not that has paid so far.
    let threads = |n| List::new().threads(NonZeroUsize::new(n).expect("not zero"));
    let mut ways = [threads(1), threads(2), threads(2).jobs_from(Duration::from_micros(40))];
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    // Several calls at once, so that short ones can be measured.
    let calls = (100_000 / (n * plan.steps.len())).clamp(1, 200);
    for round in 0..=rounds {
        for (way, times) in ways.iter_mut().zip(&mut times) {
            let start = Instant::now();
            for _ in 0..calls {
                drop(way.evaluate(plan, &request).expect("the request fits"));
            }
            // The first round measures the costs of the steps.
            if round > 0 {
                times.push(start.elapsed().as_secs_f64() / calls as f64);
            }
        }
    }
    let found = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        [times[0] * 1e6, times[times.len() / 2] * 1e6]
    });
    let [[a, one], [b, two], [c, jobs]] = found;
    let (ratio, of_jobs) = (two / one, jobs / one);
    println!(
        "{name:26} {n:8} {a:12.1} {b:12.1} {c:12.1} {one:12.1} {two:12.1} {jobs:12.1} {ratio:9.2} {of_jobs:9.2}"
    );
}
