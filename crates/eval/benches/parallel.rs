//! Two threads side by side with one, in interleaved runs: the parallel evaluator must never be much
//! slower, and quicker where independent steps take long.
//!
//! `cargo bench -p millstream-eval --bench parallel` prints for each graph the medians and the ratio.

use std::num::NonZeroUsize;
use std::time::Instant;

use millstream_base::{Column, Limits};
use millstream_compile::passes::{PassContext, conversions};
use millstream_compile::schedule::schedule;
use millstream_eval::Parallel;
use millstream_ir::{Evaluator, Plan, Request};

fn main() {
    // `-- --test` asks whether the benchmark runs, not how fast.
    let is_smoke_run = std::env::args().any(|arg| arg == "--test");
    let rounds = if is_smoke_run { 1 } else { 41 };
    println!("microseconds, least and median; the ratio is that of two threads to one");
    let names =
        ["graph", "elements", "one: least", "median", "two: least", "median", "ratio", "ratio"];
    let [graph, elements, a, b, c, d, e, f] = names;
    println!("{graph:26} {elements:>8} {a:>10} {b:>9} {c:>10} {d:>9} {e:>6} {f:>6}");
    for n in [1, 100, 1000, 10_000, 30_000, 100_000, 1_000_000] {
        side_by_side("eight waves and their sum", &waves(8), n, rounds);
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
    let cx = PassContext { registry: &registry, limits: &Limits::default() };
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

/// Each sorts the column under another factor and takes the median.
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
    let ways = [1, 2].map(|n| Parallel::new().threads(NonZeroUsize::new(n).expect("not zero")));
    let mut times = [Vec::new(), Vec::new()];
    // A few calls at once, so that short ones can be told apart.
    let calls = (100_000 / (n * plan.steps.len())).clamp(1, 200);
    for round in 0..=rounds {
        for (way, times) in ways.iter().zip(&mut times) {
            let start = Instant::now();
            for _ in 0..calls {
                drop(way.evaluate(plan, &request).expect("the request fits"));
            }
            // The first round finds out what the steps cost.
            if round > 0 {
                times.push(start.elapsed().as_secs_f64() / calls as f64);
            }
        }
    }
    let [(least_one, one), (least_two, two)] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        (times[0] * 1e6, times[times.len() / 2] * 1e6)
    });
    let (least, median) = (least_two / least_one, two / one);
    println!(
        "{name:26} {n:8} {least_one:10.1} {one:9.1} {least_two:10.1} {two:9.1} {least:6.2} {median:6.2}"
    );
}
