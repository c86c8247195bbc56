//! Time per node of evaluators that go step by step on graphs without axes, and of a column through
//! few nodes.
//!
//! `cargo bench -p millstream-run --bench lazy`; items are nodes unless stated otherwise.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use millstream_base::{Column, Limits, Vec3};
use millstream_compile::passes::{PassContext, conversions};
use millstream_compile::schedule::schedule;
use millstream_ir::{Evaluator, Plan, Request};
use millstream_run::{Lazy, List};
use millstream_testkit::graphs::HERON;

fn main() {
    divan::main();
}

fn plan(text: &str) -> Plan {
    let registry = millstream_nodes::registry();
    let mut graph = millstream_ir::text::parse(text, &registry).expect("the graph is valid");
    let limits = Limits::default();
    let cx = PassContext::new(&registry, &limits);
    conversions(&mut graph, &cx).expect("the graph is valid");
    schedule(graph, 24.0).expect("the graph is valid")
}

/// Each node reads the one before it and a constant.
fn chain(n: usize) -> Plan {
    let mut text = String::from("n0 = input x: f32 = 0.0\nn1 = const 1.5\n");
    for i in 0..n {
        let op = ["math.add", "math.multiply", "math.maximum"][i % 3];
        text += &format!("n{} = {op} n{} n1\n", i + 2, if i == 0 { 0 } else { i + 1 });
    }
    text += &format!("output n{}\n", n + 1);
    plan(&text)
}

/// Each node reads two of the nodes before it, mostly recent ones.
fn random(n: usize) -> Plan {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let mut text = String::from("n0 = input x: f32 = 0.5\nn1 = input y: f32 = 0.25\n");
    for i in 2..n + 2 {
        let near = i - 1 - next(i.min(8));
        let far = next(i);
        let op = ["math.add", "math.multiply", "math.minimum"][next(3)];
        text += &format!("n{i} = {op} n{near} n{far}\n");
    }
    text += &format!("output n{}\n", n + 1);
    plan(&text)
}

#[divan::bench(types = [Lazy, List], args = [100, 10_000, 1_000_000])]
fn scalar_chain<E: Evaluator + Default>(bencher: Bencher, n: usize) {
    let (plan, request) = (chain(n), Request::new().set("x", 0.5_f32));
    bencher
        .counter(ItemsCount::new(n))
        .bench(|| E::default().evaluate(black_box(&plan), &request).expect("the request fits"));
}

#[divan::bench(types = [Lazy, List], args = [100, 10_000, 1_000_000])]
fn scalar_random<E: Evaluator + Default>(bencher: Bencher, n: usize) {
    let (plan, request) = (random(n), Request::new());
    // Not every node is reached; the items are steps that run.
    bencher
        .counter(ItemsCount::new(plan.steps.len()))
        .bench(|| E::default().evaluate(black_box(&plan), &request).expect("the request fits"));
}

/// Switches in sequence, each with two arms of ten nodes; every arm reads the previous switch.
fn switches(n: usize) -> Plan {
    let mut text = String::from("n0 = input x: f32 = 0.5\nn1 = input side: bool = true\n");
    text += "n2 = const 1.0009765625\n";
    let (mut at, mut last) = (3, 0);
    for _ in 0..n {
        let mut arms = [last; 2];
        for (arm, op) in arms.iter_mut().zip(["math.add", "math.multiply"]) {
            for _ in 0..10 {
                text += &format!("n{at} = {op} n{arm} n2\n");
                *arm = at;
                at += 1;
            }
        }
        text += &format!("n{at} = control.switch n1 n{} n{}\n", arms[0], arms[1]);
        last = at;
        at += 1;
    }
    text += &format!("output n{last}\n");
    plan(&text)
}

/// The selector does not change; items are nodes that run.
#[divan::bench(types = [Lazy, List], args = [10, 1000, 50_000])]
fn switches_held<E: Evaluator + Default>(bencher: Bencher, n: usize) {
    let (plan, request) = (switches(n), Request::new());
    bencher
        .counter(ItemsCount::new(n * 11))
        .bench(|| E::default().evaluate(black_box(&plan), &request).expect("the request fits"));
}

/// The selector flips before each evaluation.
#[divan::bench(types = [Lazy, List], args = [10, 1000, 50_000])]
fn switches_flipping<E: Evaluator + Default>(bencher: Bencher, n: usize) {
    let plan = switches(n);
    let requests = [true, false].map(|side| Request::new().set("side", side));
    let mut round = 0;
    bencher.counter(ItemsCount::new(n * 11)).bench_local(|| {
        round += 1;
        let request = &requests[round % 2];
        E::default().evaluate(black_box(&plan), request).expect("the request fits")
    });
}

/// Heron's formula; items are elements.
#[divan::bench(args = [1, 1000, 1_000_000])]
fn heron(bencher: Bencher, n: usize) {
    let plan = plan(HERON);
    let corner = |k: usize| -> Column {
        (0..n).map(|i| Vec3(std::array::from_fn(|j| ((i * 7 + j * 3 + k) % 11) as f32))).collect()
    };
    let request =
        Request::new().column("a", corner(0)).column("b", corner(1)).column("c", corner(2));
    bencher
        .counter(ItemsCount::new(n))
        .bench(|| Lazy.evaluate(black_box(&plan), &request).expect("the request fits"));
}
