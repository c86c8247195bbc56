//! Graphs on one element, as users build them: as prepared programs, and in the list.
//!
//! `cargo bench -p millstream-run --bench single` prints for each the nanoseconds of a prepared
//! call and of an evaluation of the list, as medians of interleaved rounds. Inputs change from call
//! to call. The rows: 60 nodes of map ranges, mixes, comparisons and switches; the same with
//! switches between long arms; a chain of 32 operations of all kinds; tables of 16 numbers; Heron's
//! formula.

#[path = "shared/compiled.rs"]
mod compiled;
#[path = "shared/planned.rs"]
mod planned;
#[path = "shared/timing.rs"]
mod timing;

use std::fmt::Write as _;
use std::sync::Arc;

use millstream_ir::request::LogDetail;
use millstream_ir::{Evaluator, Plan, Request};
use millstream_run::{Chunked, List};
use millstream_testkit::graphs::HERON;

use planned::planned;
use timing::{median, seconds};

const ROUNDS: usize = 15;

/// Different inputs, so that choices differ between calls.
const INPUTS: usize = 64;

fn main() {
    let is_smoke_run = std::env::args().any(|arg| arg == "--test");
    let calls = if is_smoke_run { 1 } else { 400 };
    let graphs = [
        ("mixes", mixes()),
        ("arms", arms()),
        ("chain", chain()),
        ("tables", tables()),
        ("heron", HERON.to_owned()),
    ];
    println!(
        "{:8} {:>6} {:>12} {:>10} {:>12}",
        "graph", "nodes", "prepared ns", "a node", "list ns"
    );
    for (name, text) in graphs {
        let work = Work::new(&text);
        let (mut prepared, mut list) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            prepared.push(work.prepared(calls));
            list.push(work.list(calls));
        }
        let (prepared, list) = (median(prepared) * 1e9, median(list) * 1e9);
        let a_node = prepared / work.n_nodes as f64;
        println!("{name:8} {:6} {prepared:12.1} {a_node:10.2} {list:12.1}", work.n_nodes);
    }
}

/// A graph with its inputs.
struct Work {
    plan: Arc<Plan>,
    n_nodes: usize,
    /// The lanes of all inputs, for each call.
    inputs: Vec<Vec<u64>>,
}

impl Work {
    fn new(text: &str) -> Self {
        let (plan, n_nodes) = planned(text);
        let inputs = plan.inputs.as_slice().iter();
        let n: usize =
            inputs.map(|input| input.ty.lanes().map_or(0, |(_, n)| usize::from(n))).sum();
        let number = |call: usize, lane: usize| {
            let mixed = (call * 31 + lane * 17 + 7) as u32;
            let mixed = (mixed ^ mixed >> 3).wrapping_mul(0x9e37_79b1);
            u64::from(((mixed >> 8) as f32 / 16_777_216.0).to_bits())
        };
        let inputs = (0..INPUTS).map(|call| (0..n).map(|lane| number(call, lane)).collect());
        Self { plan, n_nodes, inputs: inputs.collect() }
    }

    /// Seconds per prepared call.
    fn prepared(&self, calls: usize) -> f64 {
        let prepared = Chunked::new().prepare(&self.plan, &Request::new());
        let mut prepared = prepared.expect("the graph is made of numbers");
        let mut out = vec![0; self.plan.outputs.len()];
        let mut run = || {
            for inputs in &self.inputs {
                prepared.run_lanes(divan::black_box(inputs), &mut out);
                divan::black_box(&out);
            }
        };
        run();
        seconds(|| (0..calls).for_each(|_| run())) / (calls * INPUTS) as f64
    }

    /// Seconds per evaluation.
    fn list(&self, calls: usize) -> f64 {
        let request = Request::new().with_log(LogDetail::Off);
        let mut list = List::new();
        let mut run = || list.evaluate(&self.plan, &request).expect("the request fits");
        run();
        seconds(|| (0..calls).for_each(|_| drop(divan::black_box(run())))) / calls as f64
    }
}

/// Ten times two map ranges, two mixes, a comparison and a switch.
fn mixes() -> String {
    let mut text = String::from(
        "n0 = input x: f32 = 0.3
         n1 = input y: f32 = 0.6
         n2 = input z: f32 = 0.9
         n3 = const 0.0
         n4 = const 1.0
         n5 = const 0.25
         n6 = const 0.75
         n7 = const 0.5
        ",
    );
    let (mut last, mut n) = ([0, 1, 2], 8);
    for i in 0..10 {
        let [a, b, c] = last;
        let (low, high) = if i % 2 == 0 { (3, 4) } else { (5, 6) };
        writeln!(
            text,
            "n{n} = mix.map_range n{a} n{low} n{high} n{high} n{low}
             n{} = mix.map_range n{b} n3 n4 n{c} n{low}
             n{} = mix.mix n{n} n{c} n{}
             n{} = mix.mix n{} n{b} n7
             n{} = compare.greater n{} n7
             n{} = control.switch n{} n{} n{}",
            n + 1,
            n + 2,
            n + 1,
            n + 3,
            n + 2,
            n + 4,
            n + 3,
            n + 5,
            n + 4,
            n + 2,
            n + 3,
        )
        .expect("strings take all text");
        (last, n) = ([n + 5, n + 2, n + 3], n + 6);
    }
    writeln!(text, "output value n{}", n - 1).expect("strings take all text");
    text
}

/// Five times a comparison and a switch between arms of five nodes that nothing else reads.
fn arms() -> String {
    let mut text = String::from(
        "n0 = input x: f32 = 0.3
         n1 = input y: f32 = 0.6
         n2 = const 0.0
         n3 = const 1.0
         n4 = const 0.5
         n5 = const 2.0
        ",
    );
    let (mut last, mut n) = (0, 6);
    for _ in 0..5 {
        writeln!(text, "n{n} = compare.greater n{last} n1").expect("strings take all text");
        let condition = n;
        n += 1;
        let mut arms = [0; 2];
        for (k, arm) in arms.iter_mut().enumerate() {
            let scale = if k == 0 { 4 } else { 5 };
            writeln!(
                text,
                "n{n} = mix.map_range n{last} n2 n{scale} n1 n3
                 n{} = math.sin n{n}
                 n{} = mix.mix n{} n{last} n1
                 n{} = mix.map_range n{} n2 n3 n{scale} n1
                 n{} = math.multiply n{} n{}",
                n + 1,
                n + 2,
                n + 1,
                n + 3,
                n + 2,
                n + 4,
                n + 3,
                n + 1,
            )
            .expect("strings take all text");
            *arm = n + 4;
            n += 5;
        }
        let [no, yes] = arms;
        writeln!(text, "n{n} = control.switch n{condition} n{no} n{yes}")
            .expect("strings take all text");
        (last, n) = (n, n + 1);
    }
    writeln!(text, "output value n{last}").expect("strings take all text");
    text
}

/// 32 operations, each on the previous result.
fn chain() -> String {
    const OPERATIONS: [&str; 8] = [
        "math.add",
        "math.multiply",
        "math.subtract",
        "math.minimum",
        "math.maximum",
        "math.divide",
        "math.absolute",
        "math.sqrt",
    ];
    let mut text = String::from("n0 = input x: f32 = 0.3\nn1 = const 1.5\nn2 = const 0.75\n");
    for i in 0..32 {
        let operation = OPERATIONS[i % 8];
        let last = if i == 0 { 0 } else { i + 2 };
        let other = if i % 8 < 6 { format!(" n{}", 1 + i % 2) } else { String::new() };
        writeln!(text, "n{} = {operation} n{last}{other}", i + 3).expect("strings take all text");
    }
    text.push_str("output value n34");
    text
}

/// Ten times a number from a table of 16, looked up by the position of x.
fn tables() -> String {
    let mut text = String::from("n0 = input x: f32 = 0.3\nn1 = const 16.0\n");
    let mut n = 2;
    for i in 0..16 {
        writeln!(text, "n{n} = const {:.4}", (f64::from(i) * 0.37).fract())
            .expect("strings take all text");
        n += 1;
    }
    let items: Vec<String> = (2..18).map(|item| format!("n{item}")).collect();
    let items = items.join(" ");
    let mut last = 0;
    for _ in 0..10 {
        writeln!(
            text,
            "n{n} = math.multiply n{last} n1
             n{} = convert.to_i32 n{n}
             n{} = control.choose n{} [{items}]",
            n + 1,
            n + 2,
            n + 1,
        )
        .expect("strings take all text");
        (last, n) = (n + 2, n + 3);
    }
    writeln!(text, "output value n{last}").expect("strings take all text");
    text
}
