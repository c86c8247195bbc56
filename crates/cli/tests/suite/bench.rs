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
    let names: Vec<String> = rows.iter().map(name).collect();
    assert_eq!(names, ["\"lazy\" 1", "\"chunked\" 1", "\"chunked\" 2"]);
    for row in rows {
        assert_eq!(row["elements"], 500);
        assert_eq!(row["bytes_moved"], 500 * (3 * 12 + 4));
        let number = |key: &str| row[key].as_f64().expect("a number");
        assert!(number("min_s") > 0.0 && number("min_s") <= number("median_s"));
        assert!(number("bound_s") > 0.0);
        let each = number("median_s") * 1e9 / 500.0;
        assert!((number("ns_per_element") - each).abs() < 1e-6 * each);
    }
}

#[test]
fn what_fails_is_no_benchmark() {
    assert_eq!(code(&["bench", TRIANGLE, "--in", "nobody=1"]), Some(2));
    assert_eq!(code(&["bench", TRIANGLE, "--count", "20", "--limit", "list_length=10"]), Some(3));
    assert!(millstream(&["bench", TRIANGLE, "--count", "9", "--seconds", "0"]).status.success());
}
