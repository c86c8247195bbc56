//! `millstream bench`: a row for each evaluator.

use std::process::Stdio;

use crate::{code, command, file, json, millstream};

const TRIANGLE: &str = "examples/triangle_area.mill";

fn text(value: &serde_json::Value) -> &str {
    value.as_str().expect("a text")
}

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
    let names: Vec<String> = rows.iter().map(|row| name(row).replace('"', "")).collect();
    let all = [
        "lazy 1",
        "list 1",
        "incremental 1",
        "incremental-walk 1",
        "chunked 1",
        "chunked 2",
        "parallel 2",
        "auto 2",
    ];
    assert_eq!(names, all);
    // Live graphs hold single values only.
    let left_out = seen["left_out"].as_array().expect("a list");
    assert_eq!(left_out.len(), 4);
    assert!(left_out.iter().all(|one| text(&one["why"]).contains("many elements")), "{left_out:?}");
    for row in rows {
        // An evaluator that kept its results has nothing to run.
        let runs = if text(&row["evaluator"]).starts_with("incremental") { 0 } else { 13 };
        assert_eq!((&row["elements"], &row["runs"]), (&500.into(), &runs.into()));
        // An evaluator that runs nothing moves no memory.
        let moved = if row["runs"] == 0 { 0 } else { 500 * (3 * 12 + 4) };
        assert_eq!(row["bytes_moved"], moved);
        let number = |key: &str| row[key].as_f64().expect("a number");
        assert!(number("min_s") > 0.0 && number("min_s") <= number("median_s"));
        assert_eq!(number("bound_s") > 0.0, moved > 0);
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
fn views_are_timed_as_pictures_of_single_values() {
    let field = file(
        "bench_field.mill",
        "input k: f32 = 2\np = context.position()\noutput shade: f32 = p.x * k\n",
    );
    let args = ["bench", &*field, "--size", "8x4", "--seconds", "0", "--threads", "1", "--format"];
    let seen = json(&[&args[..], &["json"]].concat());
    let rows = seen["results"].as_array().expect("a list");
    assert!(rows.len() >= 5, "{seen}");
    for row in rows {
        // One image; the value of the input is no column.
        assert_eq!(row["elements"], 1, "{row}");
    }
    // The position is not missing for any of them.
    let names: Vec<&str> = rows.iter().map(|row| text(&row["evaluator"])).collect();
    assert!(["lazy", "list", "chunked", "auto"].iter().all(|name| names.contains(name)));
    assert_eq!(code(&["bench", TRIANGLE, "--size", "8x4", "--seconds", "0"]), Some(2));
    // A given image has its own view.
    let blur = file(
        "bench_blur.mill",
        "input photo: image\noutput soft: image = image.blur(photo, radius: 1)\n",
    );
    let photo = "photo=@examples/data/terrain.jpeg";
    let args = ["bench", &*blur, "--in", photo, "--seconds", "0", "--evaluator", "list"];
    let seen = json(&[&args[..], &["--format", "json"]].concat());
    assert_eq!(seen["results"][0]["elements"], 1, "{seen}");
}

#[test]
fn failing_graphs_are_not_benchmarked() {
    assert_eq!(code(&["bench", TRIANGLE, "--in", "nobody=1"]), Some(2));
    assert_eq!(code(&["bench", TRIANGLE, "--count", "20", "--limit", "list_length=10"]), Some(3));
    assert!(millstream(&["bench", TRIANGLE, "--count", "9", "--seconds", "0"]).status.success());
}

/// A graph of single numbers with a switch.
const NUMBERS: &str = r#"{ "millstream": 2,
    "inputs": {
        "x": { "type": "f32", "default": 2 }, "y": { "type": "f32", "min": 1, "max": 5, "default": 3 },
        "s": { "type": "bool", "default": false }, "k": { "type": "i32", "default": 0 } },
    "outputs": { "a": { "type": "f32", "from": "side.value" }, "b": { "type": "f32", "from": "item.value" } },
    "nodes": {
        "t": { "type": "context.time" },
        "wave": { "type": "math.sin", "in": { "x": { "from": "t.value" } } },
        "root": { "type": "math.sqrt", "in": { "x": { "input": "x" } } },
        "log": { "type": "math.ln", "in": { "x": { "input": "y" } } },
        "sum": { "type": "math.add", "in": { "a": { "from": "root.value" }, "b": { "from": "log.value" } } },
        "side": { "type": "control.switch", "in": {
            "condition": { "input": "s" }, "false": { "from": "sum.value" }, "true": { "from": "wave.value" } } },
        "item": { "type": "control.choose", "in": {
            "index": { "input": "k" }, "items": [{ "from": "sum.value" }, { "from": "wave.value" }] } } } }"#;

/// The runs per change of each evaluator, and the rest of the report.
fn changed(file: &str, more: &[&str]) -> (Vec<(String, f64)>, serde_json::Value) {
    let args = ["bench", file, "--seconds", "0", "--threads", "1", "--format", "json"];
    let told = json(&[&args[..], more].concat());
    let rows = told["results"].as_array().expect("a list");
    let row = |row: &serde_json::Value| {
        let seconds = &row["seconds_per_change"];
        let [p50, max] =
            [&seconds["p50_s"], &seconds["max_s"]].map(|s| s.as_f64().expect("a number"));
        assert!(0.0 < p50 && p50 <= max, "{row}");
        let runs = row["runs_per_change"].as_f64().expect("a number");
        (text(&row["evaluator"]).to_owned(), runs)
    };
    (rows.iter().map(row).collect(), told)
}

#[test]
fn changes_are_played_to_every_evaluator() {
    let path = file("bench_changes.mill.json", NUMBERS);
    let (rows, told) = changed(&path, &["--one", "--changes"]);
    let kinds = serde_json::json!(["one", "many", "switch", "time"]);
    assert_eq!((&told["changes"]["kinds"], &told["changes"]["counted"]), (&kinds, &24.into()));
    assert_eq!((told["left_out"].as_array().map(Vec::len), rows.len()), (Some(0), 11));
    let runs = |name: &str| rows.iter().find(|row| row.0 == name).expect("it takes part").1;
    // All forms run what one change needs; those without memory run everything on the taken arms.
    for name in ["pull", "push", "retract", "mixed"] {
        assert_eq!(runs(&format!("incremental-{name}")), runs("incremental"));
    }
    assert!(runs("incremental") < runs("incremental-walk") + 1e-9);
    assert!(runs("incremental-walk") < 0.7 * runs("lazy"), "{rows:?}");
    assert_eq!(runs("lazy"), runs("list"));
    // The same changes every time.
    assert_eq!(changed(&path, &["--one", "--changes"]).0, rows);
}

#[test]
fn changes_nobody_reads_are_pushed_and_not_pulled() {
    let path = file("bench_per_read.mill.json", NUMBERS);
    let (rows, told) = changed(&path, &["--one", "--changes=one", "--per-read", "5"]);
    assert_eq!(told["changes"]["per_read"], 5);
    let runs = |name: &str| rows.iter().find(|row| row.0 == name).expect("it takes part").1;
    assert_eq!(runs("incremental"), runs("incremental-pull"));
    assert!(runs("incremental-pull") < runs("incremental-mixed"), "{rows:?}");
    assert!(runs("incremental-mixed") <= runs("incremental-push"), "{rows:?}");
    assert_eq!(runs("incremental-push"), runs("incremental-retract"));
}

#[test]
fn changes_of_columns_are_played() {
    let (rows, told) = changed(TRIANGLE, &["--count", "300", "--changes"]);
    assert_eq!(told["elements"], 300);
    assert_eq!(told["left_out"].as_array().map(Vec::len), Some(4));
    let runs = |name: &str| rows.iter().find(|row| row.0 == name).expect("it takes part").1;
    assert!(runs("incremental") < runs("lazy"), "{rows:?}");
}

#[test]
fn evaluators_that_do_not_support_a_request_say_so() {
    for args in [
        &["bench", TRIANGLE, "--count", "300", "--evaluator", "incremental-push"][..],
        &["run", TRIANGLE, "--count", "3", "--evaluator", "incremental-push"],
    ] {
        let told = millstream(args);
        assert_eq!(told.status.code(), Some(3));
        let told = String::from_utf8_lossy(&told.stderr).into_owned();
        assert!(told.contains("incremental-push cannot evaluate this"), "{told}");
        assert!(
            told.contains("it supports only single values; the request has many elements"),
            "{told}"
        );
    }
    let path = file("bench_forms.mill.json", NUMBERS);
    for form in ["incremental", "incremental-push", "incremental-mixed", "incremental-retract"] {
        assert_eq!(code(&["run", &path, "--frame", "3", "--evaluator", form]), Some(0));
        assert_eq!(code(&["run", TRIANGLE, "--evaluator", form]), Some(0), "vectors travel too");
    }
}

#[test]
fn there_must_be_something_to_change_and_to_time() {
    let nothing = r#"{ "millstream": 2, "outputs": { "out": { "type": "f32", "from": "n.value" } },
        "nodes": { "n": { "type": "math.sqrt", "in": { "x": 2 } } } }"#;
    let path = file("bench_nothing.mill.json", nothing);
    assert_eq!(code(&["bench", &path, "--one", "--changes"]), Some(2));
    assert_eq!(code(&["bench", TRIANGLE, "--one", "--changes=switch"]), Some(2));
    assert_eq!(code(&["bench", TRIANGLE, "--one", "--changes=time"]), Some(2));
    assert_eq!(code(&["bench", TRIANGLE, "--per-read", "2"]), Some(2));
    assert_eq!(code(&["bench", TRIANGLE, "--changes", "--per-read", "0"]), Some(2));
    let path = file("bench_no_outputs.mill.json", r#"{ "millstream": 2, "nodes": {} }"#);
    let told = millstream(&["bench", &path]);
    assert_eq!(told.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&told.stderr).contains("the document has no outputs"));
}

#[test]
fn selectors_stay_single_values_while_inputs_change() {
    let path = file("bench_chooses.mill.json", NUMBERS);
    let (rows, told) = changed(&path, &["--count", "20", "--changes=switch"]);
    assert_eq!(
        (&told["changes"]["kinds"], &told["elements"]),
        (&serde_json::json!(["switch"]), &20.into())
    );
    assert!(rows.iter().all(|(_, runs)| *runs > 0.0), "{rows:?}");
    let bare = NUMBERS.replace(", \"default\": true", "").replace(", \"default\": false", "");
    let path = file("bench_chooses_bare.mill.json", &bare);
    assert_eq!(changed(&path, &["--one", "--changes=switch"]).1["elements"], 1);
}

#[test]
fn frames_of_stateful_documents_are_timed() {
    let path = file(
        "bench_state.mill.json",
        r#"{ "millstream": 2, "fps": 10, "inputs": { "x": { "type": "f32", "default": 2 } },
            "outputs": { "y": { "type": "f32", "from": "sum.value" } },
            "nodes": { "sum": { "type": "state.integrate", "in": { "rate": { "input": "x" } } } } }"#,
    );
    for when in [["--frame", "0..6"], ["--time", "0..0.6:0.1"]] {
        let args =
            ["bench", &path, "--one", "--seconds", "0", "--threads", "1", "--format", "json"];
        let told = json(&[&args[..], &when].concat());
        assert!(told["results"].as_array().is_some_and(|rows| rows.len() > 4), "{told}");
        assert_eq!(told["results"][0]["elements"], 7);
    }
    // Times that are frames are treated as frames.
    let times = ["run", &path, "--format", "json", "--time", "0..0.6:0.1"];
    assert_eq!(json(&times), json(&["run", &path, "--format", "json", "--frame", "0..6"]));
    let at = |when: [&str; 2]| json(&[&["run", &path, "--format", "json"][..], &when].concat());
    assert_eq!(at(["--time", "0.5"])["outputs"], at(["--frame", "5"])["outputs"]);
    let told = millstream(&["run", &path, "--time", "0.55"]);
    assert!(String::from_utf8_lossy(&told.stderr).contains("not a frame"), "{told:?}");
}

#[test]
fn live_editing_is_simulated_and_reported() {
    let args = ["bench", "--edits", "--nodes", "300", "--seconds", "0", "--format", "json"];
    let told = json(&args);
    assert_eq!((told["hz"].as_f64(), &told["frames_without_edits"]["n"]), (Some(60.0), &60.into()));
    for key in ["frames_without_edits", "frames_with_edits", "edits"] {
        let [p50, p90, p99, max] = ["p50_s", "p90_s", "p99_s", "max_s"]
            .map(|part| told[key][part].as_f64().expect("a number"));
        assert!(0.0 < p50 && p50 <= p90 && p90 <= p99 && p99 <= max, "{told}");
    }
    assert!(told["edits_refused"].as_u64().expect("a number") < 60, "most edits are made");
    let missed = |told: &serde_json::Value, key| told[key].as_u64().expect("a number");
    assert!(
        missed(&told, "missed_without_edits") <= 60 && missed(&told, "missed_with_edits") <= 60
    );
    let args = [&args[..], &["--count", "200", "--rate", "4000"]].concat();
    let told = json(&args);
    for (key, frames) in [
        ("missed_without_edits", "frames_without_edits"),
        ("missed_with_edits", "frames_with_edits"),
    ] {
        let (n, frames) = (missed(&told, key), &told[frames]);
        assert_eq!(frames["n"], 4000);
        let takes_longer = |part: &str| frames[part].as_f64().expect("a number") > 1.0 / 4000.0;
        assert_eq!(takes_longer("max_s"), n > 0, "{told}");
        assert!(if takes_longer("p50_s") { n >= 1999 } else { n <= 2001 }, "{told}");
        assert!(if takes_longer("p90_s") { n >= 399 } else { n <= 401 }, "{told}");
    }
    let args = ["bench", "--edits", TRIANGLE, "--count", "100", "--seconds", "0"];
    assert!(millstream(&args).status.success());
    assert_eq!(code(&["bench"]), Some(2));
    assert_eq!(code(&["bench", TRIANGLE, "--nodes", "3"]), Some(2));
    assert_eq!(code(&["bench", "--edits", "--one"]), Some(2));
}

#[test]
fn edits_work_on_documents_that_need_elements_clocks_and_views() {
    let tone = ["bench", "--edits", "examples/tone_curve.mill", "--seconds", "0", "--format"];
    let told = json(&[&tone[..], &["json"]].concat());
    assert_eq!(told["frames_with_failures"], 0, "{told}");
    let clock = r#"{ "millstream": 2, "inputs": { "x": { "type": "f64", "default": 1 } },
        "outputs": { "y": { "type": "f64", "from": "sum.value" } },
        "nodes": { "now": { "type": "context.real_time" },
            "sum": { "type": "math.add", "in": { "a": { "from": "now.value" }, "b": { "input": "x" } } } } }"#;
    let path = file("bench_clock.mill.json", clock);
    for args in [
        &["bench", &path, "--one", "--seconds", "0"][..],
        &["bench", &path, "--one", "--seconds", "0", "--feature", "real_time=5"],
        &["bench", "--edits", &path, "--seconds", "0"],
    ] {
        assert_eq!(code(args), Some(0), "{args:?}");
    }
    assert_eq!(code(&["bench", &path, "--size", "4x4"]), Some(2), "nothing reads the view");
    let path = file("bench_nothing.mill.json", r#"{ "millstream": 2 }"#);
    let told = json(&["bench", "--edits", &path, "--seconds", "0", "--format", "json"]);
    assert!(told["p99_ratio"].is_null(), "no edit fits: {told}");
}

#[test]
fn frames_in_which_nodes_fail_are_counted() {
    let fails = r#"{ "millstream": 2, "inputs": { "x": { "type": "f32", "default": 1 } },
        "outputs": { "y": { "type": "f32", "from": "m.value" } },
        "nodes": { "m": { "type": "list.get", "in": { "list": { "value": [1.5] }, "index": { "from": "i.value" } } },
            "i": { "type": "convert.to_i32", "in": { "x": { "from": "far.value" } } },
            "far": { "type": "math.add", "in": { "a": { "input": "x" }, "b": 7 } } } }"#;
    let path = file("bench_fails.mill.json", fails);
    let told = json(&["bench", "--edits", &path, "--seconds", "0", "--format", "json"]);
    let n = told["frames_with_failures"].as_u64().expect("a number");
    assert!((60..=120).contains(&n), "{told}");
}

#[test]
fn a_closed_pipe_ends_it_quietly() {
    for args in [
        &["bench", TRIANGLE, "--count", "10", "--seconds", "0", "--format", "json"][..],
        &["bench", TRIANGLE, "--count", "10", "--seconds", "0"],
        &["bench", "--edits", "--nodes", "50", "--seconds", "0"],
    ] {
        let mut child = command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary was built");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), told.contains("panicked")), (Some(0), false), "{told}");
    }
}

#[test]
fn nonsensical_numbers_are_refused_with_what_is_expected() {
    for (args, wanted) in [
        (&["bench", TRIANGLE, "--seconds", "nan"][..], "a number of seconds of at least 0"),
        (&["bench", TRIANGLE, "--seconds", "inf"], "a number of seconds of at least 0"),
        (&["bench", TRIANGLE, "--seconds", "-1"], "a number of seconds of at least 0"),
        (&["bench", TRIANGLE, "--threads", "-1"], "a whole number of at least 1"),
        (&["run", TRIANGLE, "--threads", "-1"], "a whole number of at least 1"),
        (&["bench", TRIANGLE, "--count", "-1"], "a whole number of at least 0"),
        (&["bench", "--edits", "--nodes", "0"], "a whole number of at least 1"),
        (&["bench", "--edits", "--nodes", "-5"], "a whole number of at least 1"),
        (&["run", TRIANGLE, "--count", "-1"], "a whole number of at least 0"),
        (
            &["deploy", TRIANGLE, "-o", "x.json", "--store-limit", "-1"],
            "a whole number of at least 0",
        ),
        (&["bench", "--edits", "--per-read", "4"], "'--per-read <N>'"),
        (&["run", TRIANGLE, "--block", "7"], "--save <FILE>"),
        (&["bench", "--edits", "--in", "zz=3", "--nodes", "9"], "there is no input called `zz`"),
        (&["bench", "--edits", "--in", "x0=3", "--in", "x0=4", "--nodes", "9"], "given twice"),
        (&["run", TRIANGLE, "--limit", "nodes=9", "--limit", "nodes=90"], "given twice"),
    ] {
        let output = millstream(args);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {told}");
        assert!(told.contains(wanted), "{args:?}: {told}");
    }
}

#[test]
fn a_random_graph_beyond_the_limits_is_refused_with_the_flag() {
    let told = millstream(&["bench", "--edits", "--nodes", "50", "--limit", "nodes=3"]);
    assert_eq!(told.status.code(), Some(3));
    let told = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(told.contains("the limit is 3") && told.contains("--limit nodes=50"), "{told}");
}
