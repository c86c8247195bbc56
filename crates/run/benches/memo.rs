//! Returning to an earlier value: an input is set to A, to B, and to A again.
//!
//! `cargo bench -p millstream-run --bench memo`. The graph has 2,000 cheap nodes between its inputs
//! and its output. With chunks the memo stores them as one entry; without, each is looked up.
//! Single numbers also go through the live graph, which runs what has changed.

#[path = "shared/compiled.rs"]
mod compiled;
#[path = "shared/planned.rs"]
mod planned;
#[path = "shared/timing.rs"]
mod timing;

use std::fmt::Write as _;
use std::sync::Arc;

use millstream_base::Column;
use millstream_ir::{Evaluator, Plan, Request};
use millstream_run::Incremental;

use planned::planned;
use timing::{median, seconds};

const NODES: usize = 2000;
const ROUNDS: usize = 200;

/// Each node reads the previous one, and an input or the one before that.
fn graph() -> Arc<Plan> {
    let mut text = String::from("n0 = input x: f32 = 0.5\nn1 = input y: f32 = 0.25\n");
    for i in 2..NODES + 2 {
        let other = if i % 3 == 0 { 1 } else { i - 2 };
        let op = ["math.add", "math.multiply", "math.maximum", "math.subtract"][i % 4];
        writeln!(text, "n{i} = {op} n{} n{other}", i - 1).expect("strings take all text");
    }
    planned(&format!("{text}output n{}\n", NODES + 1)).0
}

/// The evaluators in turn, each switching back and forth.
fn compare(plan: &Plan, what: &str, request: impl Fn(f32) -> Request) {
    let walk = || Incremental::new().without_live_graph();
    let mut ways = [
        ("each node looked up", walk().chunks_from(usize::MAX), Vec::new()),
        ("chunks", walk(), Vec::new()),
        ("incremental", Incremental::new(), Vec::new()),
    ];
    let requests = [request(0.5), request(0.75)];
    for round in 0..2 * ROUNDS {
        for (_, evaluator, times) in &mut ways {
            let request = &requests[round % 2];
            let answer = || drop(evaluator.evaluate(plan, request).expect("the request fits"));
            times.push(seconds(answer));
        }
    }
    println!("{what}: {} steps", plan.steps.len());
    for (name, _, times) in ways {
        let first = times[0] * 1e6;
        println!("  {name:20} first {first:9.1} us, again {:9.2} us", median(times) * 1e6);
    }
}

fn main() {
    let plan = graph();
    compare(&plan, "one number", |x| Request::new().set("x", x));
    compare(&plan, "columns of 1000", |x| {
        Request::new().column("x", Column::from_vec(vec![x; 1000]))
    });
}
