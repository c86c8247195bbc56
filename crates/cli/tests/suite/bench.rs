//! `millstream bench`: a row for each evaluator.

use crate::{code, json, millstream};

const TRIANGLE: &str = "examples/triangle_area.mill.json";

#[test]
fn every_evaluator_has_a_row() {
    let seen = json(&[
        "bench",
        TRIANGLE,
        "--count",
        "500",
        "--seconds",
        "0",
        "--threads",
        "2",
        "--format",
        "json",
    ]);
    let rows = seen["results"].as_array().expect("a list");
    let name = |row: &serde_json::Value| format!("{} {}", row["evaluator"], row["threads"]);
    let names: [String; 7] = std::array::from_fn(|i| name(&rows[i]));
    let all =
        ["lazy 1", "list 1", "incremental 1", "chunked 1", "chunked 2", "parallel 2", "auto 2"];
    assert_eq!(names.map(|name| name.replace('"', "")), all);
    for row in rows {
        // What kept its results has nothing to run.
        let runs = if row["evaluator"] == "incremental" { 0 } else { 6 };
        assert_eq!((&row["elements"], &row["runs"]), (&500.into(), &runs.into()));
        assert_eq!(row["bytes_moved"], 500 * (3 * 12 + 4));
        let number = |key: &str| row[key].as_f64().expect("a number");
        assert!(number("min_s") > 0.0 && number("min_s") <= number("median_s"));
        assert!(number("bound_s") > 0.0);
        let each = number("median_s") * 1e9 / 500.0;
        assert!((number("ns_per_element") - each).abs() < 1e-6 * each);
    }
}

#[test]
fn single_values_are_timed_on_chosen_evaluators() {
    let args = ["bench", TRIANGLE, "--one", "--seconds", "0", "--evaluator", "list", "--format"];
    let seen = json(&[&args[..], &["json"]].concat());
    assert_eq!(seen["results"].as_array().map(Vec::len), Some(1));
    let row = &seen["results"][0];
    assert_eq!((&row["evaluator"], &row["elements"]), (&"list".into(), &1.into()));
    assert_eq!(code(&["bench", TRIANGLE, "--evaluator", "fast"]), Some(2));
}

#[test]
fn what_fails_is_no_benchmark() {
    assert_eq!(code(&["bench", TRIANGLE, "--in", "nobody=1"]), Some(2));
    assert_eq!(code(&["bench", TRIANGLE, "--count", "20", "--limit", "list_length=10"]), Some(3));
    assert!(millstream(&["bench", TRIANGLE, "--count", "9", "--seconds", "0"]).status.success());
}

#[test]
fn live_editing_is_played_and_told() {
    let args = ["bench", "--edits", "--nodes", "300", "--seconds", "0", "--format", "json"];
    let told = json(&args);
    assert_eq!((told["hz"].as_f64(), &told["frames_without_edits"]["n"]), (Some(60.0), &60.into()));
    for key in ["frames_without_edits", "frames_with_edits", "edits"] {
        let [p50, p90, p99, max] = ["p50_s", "p90_s", "p99_s", "max_s"]
            .map(|part| told[key][part].as_f64().expect("a number"));
        assert!(0.0 < p50 && p50 <= p90 && p90 <= p99 && p99 <= max, "{told}");
    }
    assert!(told["edits_refused"].as_u64().expect("a number") < 60, "most edits are made");
    // A document of columns is evaluated with plans.
    let args = ["bench", "--edits", TRIANGLE, "--count", "100", "--seconds", "0"];
    assert!(millstream(&args).status.success());
    assert_eq!(code(&["bench"]), Some(2));
    assert_eq!(code(&["bench", TRIANGLE, "--nodes", "3"]), Some(2));
    assert_eq!(code(&["bench", "--edits", "--one"]), Some(2));
}
