//! Times of loading, checking and saving documents of 13, 10,000 and 1,000,000 nodes.
//!
//! Run with `cargo bench -p millstream-document`. Each line is the best of several rounds.

use std::fmt::Write;
use std::time::{Duration, Instant};

use millstream_base::{Limits, Type};
use millstream_document::{Document, check, load, save};
use millstream_node::{NodeDef, Registry};
use millstream_node::{signature::Among, signature::SocketType};

fn registry() -> Registry {
    let t = SocketType::Generic(0);
    let mut registry = Registry::new();
    for name in ["math.add", "math.multiply", "math.max"] {
        registry.register(
            NodeDef::new(name, "Two numbers")
                .generic("T", Among::These(&Type::NUMERIC))
                .input_or("a", t, 0.0, "")
                .input_or("b", t, 0.0, "")
                .output("value", t, "")
                .lanewise(|_, x| x[0] + x[1]),
        );
    }
    registry
}

/// A document in which each node adds, multiplies or compares two values: near or distant nodes, or
/// literals.
fn text(n: u64) -> String {
    let mut text = String::from(
        "{\"millstream\": 2,\n\"inputs\": {\"x\": {\"type\": \"f32\"}},\n\"nodes\": {\n",
    );
    let mut state = 7_u64;
    let mut random = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below.max(1)
    };
    for i in 0..n {
        let ty = ["math.add", "math.multiply", "math.max"][random(3) as usize];
        let source = |random: &mut dyn FnMut(u64) -> u64| match random(8) {
            _ if i == 0 => "{\"input\": \"x\"}".to_owned(),
            0 => format!("{}", random(1000) as f64 / 8.0),
            1 => format!("{{\"from\": \"node{}.value\"}}", random(i)),
            _ => format!("{{\"from\": \"node{}.value\"}}", i - 1 - random(i.min(50))),
        };
        let (a, b) = (source(&mut random), source(&mut random));
        let comma = if i + 1 < n { "," } else { "" };
        writeln!(
            text,
            "\"node{i}\": {{\"type\": \"{ty}\", \"in\": {{\"a\": {a}, \"b\": {b}}}}}{comma}"
        )
        .expect("a string takes any text");
    }
    text + "}}\n"
}

/// The shortest time of several rounds; dropping the results is not measured.
fn shortest<T>(n_rounds: usize, mut work: impl FnMut() -> T) -> Duration {
    let round = |_| {
        let start = Instant::now();
        let result = work();
        let elapsed = start.elapsed();
        drop(result);
        elapsed
    };
    (0..n_rounds).map(round).min().unwrap_or_default()
}

fn main() {
    let (registry, limits) = (registry(), Limits::default());
    for (n, n_rounds) in [(13, 1000), (10_000, 20), (1_000_000, 3)] {
        let text = text(n);
        let loaded = || -> Document {
            let (document, problems) = load(text.as_bytes(), &limits);
            assert!(problems.is_empty(), "{problems}");
            document.expect("there are no problems")
        };
        let document = loaded();
        let checked = || {
            let (checked, problems) = check(&document, &registry, &limits);
            assert!(!problems.has_errors(), "{problems}");
            checked
        };
        for (what, time) in [
            ("load", shortest(n_rounds, loaded)),
            ("check", shortest(n_rounds, checked)),
            ("save", shortest(n_rounds, || save(&document))),
        ] {
            let each = time.as_nanos() as f64 / n as f64;
            println!(
                "{n:>8} nodes, {:>9} bytes: {what:<5} {time:>10.1?}, {each:>6.0} ns per node",
                text.len()
            );
        }
    }
}
