//! Loading, checking and compiling documents of several shapes: time and resident memory per node.
//!
//! `cargo bench -p millstream-compile --bench scale -- [SHAPE...] [-n NODES] [-r ROUNDS]`. Each
//! line shows the best and the median round of one phase. Memory is that of the first round, while
//! the results of all phases exist. Dropping results is not measured.

#[path = "common/large.rs"]
mod large;
#[path = "common/shapes.rs"]
mod shapes;

use std::time::Instant;

use millstream_base::Limits;
use millstream_compile::{Options, compile};
use millstream_document::{check, load};
use shapes::SHAPES;

/// Nanoseconds and resident bytes of the phases of one round.
struct Round {
    times: [f64; 3],
    bytes: [f64; 3],
}

const PHASES: [&str; 3] = ["load", "check", "compile"];

/// Resident memory in bytes; 0 if the system does not report it.
fn resident() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<f64>().ok());
    pages.unwrap_or_default() * 4096.0
}

fn round(text: &str) -> Round {
    let (limits, registry) = (Limits::default(), millstream_nodes::registry());
    let mut round = Round { times: [0.0; 3], bytes: [0.0; 3] };
    let mut at = (Instant::now(), resident());
    let mut done = |phase: usize| {
        round.times[phase] = at.0.elapsed().as_nanos() as f64;
        round.bytes[phase] = resident() - at.1;
        at = (Instant::now(), resident());
    };
    let (document, problems) = load(text.as_bytes(), &limits);
    done(0);
    assert!(problems.is_empty(), "{problems}");
    let document = document.expect("a document without errors is there");
    let (checked, problems) = check(&document, &registry, &limits);
    done(1);
    assert!(!problems.has_errors(), "{problems}");
    let checked = checked.expect("a document without errors is there");
    let plan = compile(&checked, &registry, &Options::default());
    done(2);
    plan.expect("compiles");
    round
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (mut names, mut n, mut n_rounds) = (Vec::new(), 1_000_000, 3);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|n| n.parse().ok()).expect("a number");
        match &*argument {
            "-n" => n = number(),
            "-r" => n_rounds = number(),
            "--bench" => {}
            _ => names.push(argument),
        }
    }
    for (name, text) in SHAPES {
        if !names.is_empty() && !names.iter().any(|wanted| wanted == name) {
            continue;
        }
        let text = text(n);
        let rounds: Vec<Round> = (0..n_rounds).map(|_| round(&text)).collect();
        for (phase, what) in PHASES.iter().enumerate() {
            let mut times: Vec<f64> = rounds.iter().map(|round| round.times[phase]).collect();
            times.sort_by(f64::total_cmp);
            let (best, median) = (times[0], times[times.len() / 2]);
            println!(
                "{name:<8} {n:>8} {what:<8} {:>7.1} {:>7.1} ns/node {:>6.0} MB/s {:>6.0} bytes/node",
                best / n as f64,
                median / n as f64,
                text.len() as f64 * 1e3 / median,
                rounds[0].bytes[phase] / n as f64
            );
        }
    }
}
