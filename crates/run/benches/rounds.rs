//! Repeats compared with loops as one would write them by hand in C++, compiled in the same run.
//!
//! `cargo bench -p millstream-run --bench rounds [-- ELEMENTS]` prints for each the medians of
//! interleaved runs and the ratio of ours to `g++ -O3 -march=native`, on one core, in processor
//! time of the thread; then two threads against one, in wall-clock time.

#[path = "shared/loops.rs"]
mod loops;
#[path = "shared/timing.rs"]
mod timing;

use std::num::NonZeroUsize;

use millstream_base::{Column, Limits, Vec2};
use millstream_compile::{Options, compile};
use millstream_ir::{Evaluator, Plan, Request};
use millstream_run::Chunked;

use loops::Loops;
use timing::{median, passed, seconds};

const ROUNDS: usize = 9;

const MANDELBROT: &str = include_str!("../../../examples/mandelbrot.mill");

/// Twenty rounds of Newton's method for the cube root.
const NEWTON: &str = r#"{
    "millstream": 2,
    "inputs": { "a": { "type": "f32" } },
    "outputs": { "root": { "type": "f32", "from": "rounds.x" } },
    "nodes": { "rounds": { "type": "repeat", "group": "newton",
        "in": { "x": { "input": "a" }, "a": { "input": "a" }, "count": 20 } } },
    "groups": { "newton": {
        "inputs": { "x": { "type": "f32" }, "a": { "type": "f32" } },
        "outputs": { "x": { "type": "f32", "from": "next.value" } },
        "nodes": { "next": { "type": "math.expression",
            "set": { "text": "x - (x * x * x - a) / (3 * x * x)" },
            "in": { "x": { "input": "x" }, "a": { "input": "a" } } } } } }
}"#;

fn main() {
    let given = std::env::args().skip(1).find_map(|arg| arg.parse().ok());
    // `-- --test` checks that the benchmark runs, not how fast.
    let is_smoke_run = std::env::args().any(|arg| arg == "--test");
    let n: usize = given.unwrap_or(if is_smoke_run { 10_000 } else { 1_000_000 });
    let mut loops = Loops::compile("rounds/loops.cpp");
    println!("{n} elements, one core; medians of {ROUNDS} interleaved runs");
    println!(
        "{:12} {:>10} {:>10} {:>8} {:>12}",
        "repeat", "ours ms", "C++ ms", "ratio", "2 threads"
    );
    let point =
        |i: usize| Vec2([(i % 1000) as f32 / 400.0 - 2.0, (i / 1000 % 1000) as f32 / 400.0 - 1.25]);
    let points: Column = (0..n).map(point).collect();
    let request = Request::new().column("c", points).output("rounds");
    side_by_side("mandelbrot", &plan(MANDELBROT), &request, n, loops.as_mut());
    let numbers: Column = (0..n).map(|i| 0.5 + (i % 4096) as f32 / 512.0).collect();
    let request = Request::new().column("a", numbers);
    side_by_side("newton", &plan(NEWTON), &request, n, loops.as_mut());
}

fn plan(text: &str) -> Plan {
    let (registry, limits) = (millstream_nodes::registry(), Limits::default());
    let loaded = millstream_text::load(text.as_bytes(), &registry, &limits);
    let (opened, problems) =
        millstream_document::open_loaded(loaded, &registry, None, &[], &limits);
    let (_, checked) = opened.unwrap_or_else(|| panic!("{problems}"));
    compile(&checked, &registry, &Options::default()).expect("the document is valid")
}

fn side_by_side(
    name: &str,
    plan: &Plan,
    request: &Request,
    n: usize,
    mut loops: Option<&mut Loops>,
) {
    let [mut one, mut two] =
        [1, 2].map(|n| Chunked::new().threads(NonZeroUsize::new(n).expect("threads are not zero")));
    let run = |evaluator: &mut Chunked| {
        let answer = evaluator.evaluate(plan, request).expect("the request fits");
        let series = answer.outputs[0].value.as_ref().expect("it has a value");
        let column = answer.full_column(series);
        let sum: f64 = match (column.as_slice::<f32>(), column.as_slice::<i32>()) {
            (Some(floats), _) => floats.iter().map(|x| f64::from(*x)).sum(),
            (_, Some(whole)) => whole.iter().map(|x| f64::from(*x)).sum(),
            (None, None) => f64::NAN,
        };
        drop(column);
        evaluator.give_back(answer);
        sum
    };
    let own_sum = run(&mut one);
    let (mut ours, mut theirs, mut clock, mut both) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        if let Some(loops) = loops.as_deref_mut() {
            let (time, sum) = loops.run(name, n);
            theirs.push(time);
            // C++ may contract products and sums, so some points near the edge differ.
            let is_near = (own_sum - sum).abs() <= 2e-3 * sum.abs();
            assert!(is_near, "{name}: {own_sum} and {sum} are near each other");
        }
        ours.push(seconds(|| drop(one.evaluate(plan, request))));
        clock.push(passed(|| drop(one.evaluate(plan, request))));
        both.push(passed(|| drop(two.evaluate(plan, request))));
    }
    let (ours, gain) = (median(ours), median(clock) / median(both));
    let (of_theirs, ratio) = if theirs.is_empty() {
        (f64::NAN, f64::NAN)
    } else {
        let theirs = median(theirs);
        (theirs * 1e3, ours / theirs)
    };
    println!("{name:12} {:10.2} {of_theirs:10.2} {ratio:8.3} {gain:12.2}", ours * 1e3);
}
