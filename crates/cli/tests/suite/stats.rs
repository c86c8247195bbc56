//! `millstream run --stats`: what ran, and where the time went.

use crate::{json, millstream};

const TRIANGLE: &str = "examples/triangle_area.mill";
const TONE: &str = "examples/tone_curve.mill";

#[test]
fn stats_show_what_ran() {
    let args = ["run", TONE, "--count", "256", "--out", "srgb", "--stats", "--evaluator", "lazy"];
    let output = millstream(&args);
    let log = String::from_utf8(output.stderr).expect("UTF-8");
    let row = |node: &str| {
        let line = log.lines().find(|line| line.starts_with(node)).expect("a row for the node");
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    // One element of 256 is dark: 0.
    assert_eq!(row("dark/1 ")[1..4], ["math.multiply", "1", "1"]);
    assert_eq!(row("bright/2 ")[1..4], ["math.power", "1", "255"]);
    assert!(log.contains("first time"));
    let [.., counts, times] = &log.lines().collect::<Vec<_>>()[..] else { panic!("{log}") };
    assert!(counts.contains("nodes ran"), "{counts}");
    assert!(times.contains(" in nodes + ") && times.ends_with(" in all"), "{times}");
    assert!(!log.contains('~'), "each node was timed by itself: {log}");
    let json = json(&["run", TRIANGLE, "--stats", "--format", "json"]);
    assert_eq!(json["log"].as_array().map(Vec::len), Some(13));
    assert_eq!(json["log"][0]["runs"], 1);
}

#[test]
fn stats_say_which_times_are_shares() {
    let args = ["run", TONE, "--count", "100000", "--out", "srgb", "--evaluator", "chunked"];
    let output = millstream(&[&args[..], &["--stats"]].concat());
    let log = String::from_utf8(output.stderr).expect("UTF-8");
    let time_of = |node: &str| {
        let line = log.lines().find(|line| line.starts_with(node)).expect("a row for the node");
        line.split_whitespace().nth(5).expect("a time").to_owned()
    };
    assert!(time_of("bright/2 ").starts_with('~'), "{log}");
    assert!(!time_of("index ").starts_with('~'), "{log}");
    assert!(log.lines().last().is_some_and(|line| line.starts_with("~ marks a share")), "{log}");
    let log = json(&[&args[..], &["--stats", "--format", "json"]].concat());
    let of = |path: &str, key: &str| {
        let entries = log["log"].as_array().expect("entries");
        let entry = entries.iter().find(|entry| entry["path"] == path).expect("an entry");
        entry[key].clone()
    };
    assert_eq!(of("bright/2", "timed_by"), "share");
    assert_eq!(of("index", "timed_by"), "clock");
    let seconds = |path: &str| of(path, "seconds").as_f64().expect("a number");
    assert!(seconds("bright/2") > 2.0 * seconds("dark/1"), "a power takes longer than a product");
}

#[test]
fn times_add_up_to_the_time_of_the_command_for_every_evaluator() {
    let documents = [TRIANGLE, TONE, "examples/ripple.mill", "examples/mandelbrot.mill"];
    for evaluator in ["lazy", "list", "incremental", "chunked", "parallel", "auto"] {
        for (document, count) in documents.iter().flat_map(|of| [(of, "1"), (of, "20000")]) {
            let args = ["run", document, "--count", count, "--evaluator", evaluator];
            let started = std::time::Instant::now();
            let told = json(&[&args[..], &["--stats", "--format", "json"]].concat());
            let passed = started.elapsed().as_secs_f64();
            let seconds = |part: &str| told["seconds"][part].as_f64().expect("a number");
            let parts = ["load", "read", "nodes", "around", "measure", "watch", "write", "report"];
            let sum: f64 = parts.iter().map(|part| seconds(part)).sum();
            let all = seconds("all");
            assert!((sum - all).abs() <= 0.1 * all, "{args:?}: {}", told["seconds"]);
            assert!(all <= passed, "{args:?}: {all} of {passed}");
            let entries = told["log"].as_array().expect("entries");
            let in_nodes: f64 =
                entries.iter().map(|of| of["seconds"].as_f64().unwrap_or(0.0)).sum();
            let nodes = seconds("nodes");
            assert!((in_nodes - nodes).abs() <= 0.01 * nodes + 1e-6, "{in_nodes} or {nodes}");
        }
    }
}
