//! `millstream deploy`: the new document, the report, and refusals.

use crate::{code, file, json, millstream, new_file};

const ECHO: &str = "examples/echo.mill";
const TRIANGLE: &str = "examples/triangle_area.mill";

/// A path for a file that does not exist yet.
fn target(name: &str) -> String {
    new_file(name).display().to_string()
}

#[test]
fn deployed_documents_check_and_answer_alike() {
    let out = target("fixed_triangle.mill.json");
    let deploy = ["deploy", TRIANGLE, "-o", &out, "--in", "c=[0,4,0]", "--keep", "a,b"];
    let report = json(&[&deploy[..], &["--format", "json"]].concat());
    assert_eq!(report["inputs"], serde_json::json!(["a", "b"]));
    assert_eq!(code(&["check", &out]), Some(0));
    let whole = json(&["run", TRIANGLE, "--in", "c=[0,4,0]", "--format", "json"]);
    assert_eq!(json(&["run", &out, "--format", "json"])["outputs"], whole["outputs"]);

    let run = |graph: &str| json(&["run", graph, "--time", "0..2:0.25", "--format", "json"]);
    for name in ["fixed_echo.mill.json", "fixed_echo.mill.bin"] {
        let out = target(name);
        assert_eq!(code(&["deploy", ECHO, "-o", &out]), Some(0));
        assert_eq!(code(&["check", &out]), Some(0));
        assert_eq!(run(&out), run(ECHO), "{name}");
    }
}

#[test]
fn the_compact_form_keeps_ranges_units_and_notes() {
    let path = file(
        "told.mill.json",
        r#"{ "millstream": 2, "name": "told",
            "inputs": {
                "unread": { "type": "f32", "default": 7 },
                "x": { "type": "f32", "default": 2, "min": 0.5, "max": 9, "step": 0.25, "unit": "m", "about": "How far" },
                "y": { "type": "f32", "default": 1, "about": "More" },
                "z": { "type": "vec3", "default": [1, 2, 3], "max": 4 } },
            "outputs": {
                "a": { "type": "f32", "from": "sum.value", "unit": "m2", "about": "The area" },
                "b": { "type": "vec3", "from": "scaled.value" } },
            "nodes": {
                "sum": { "type": "math.add", "in": { "a": { "input": "x" }, "b": { "input": "y" } } },
                "scaled": { "type": "vector.scale", "in": { "vector": { "input": "z" }, "factor": { "input": "x" } } } } }"#,
    );
    let interface = |path: &str| {
        let told = json(&["check", path, "--format", "json"]);
        let told = told[0]["interface"].clone();
        assert!(told.is_object(), "{told}");
        told
    };
    let (text, compact) = (target("told_out.mill.json"), target("told_out.mill.bin"));
    for out in [&text, &compact] {
        let deploy = ["deploy", &path, "-o", out, "--keep", "unread,x,y,z"];
        assert_eq!(code(&deploy), Some(0));
        assert_eq!(interface(out), interface(&path), "{out}");
    }
    assert_eq!(interface(&compact)["inputs"][1]["min"], 0.5);
    let printed = millstream(&["deploy", &path, "-o", "-", "--keep", "unread,x,y,z"]);
    assert_eq!(printed.status.code(), Some(0));
    assert_eq!(printed.stdout, std::fs::read(&text).expect("it was written"));
    assert_eq!(code(&["deploy", &path, "-o", "-", "--format", "json"]), Some(2));
    assert!(!std::path::Path::new("-").exists());
}

#[test]
fn a_document_without_inputs_is_one_value() {
    let out = target("fixed_area.mill.json");
    let seen = millstream(&["deploy", TRIANGLE, "-o", &out]);
    assert!(seen.status.success());
    let text = std::fs::read_to_string(&out).expect("it was written");
    assert!(!text.contains("vector.distance"), "{text}");
    let said = String::from_utf8_lossy(&seen.stderr).into_owned();
    assert!(said.contains("inputs kept: 0"), "{said}");
}

#[test]
fn nonsensical_flags_are_refused() {
    let out = target("refused.mill.json");
    for wrong in [["--in", "nobody=1"], ["--keep", "nobody"], ["--store-limit", "much"]] {
        let code = code(&[&["deploy", TRIANGLE, "-o", &out][..], &wrong].concat());
        assert_eq!(code, Some(2), "{wrong:?}");
    }
    let twice = ["deploy", TRIANGLE, "-o", &out, "--in", "a=[0,0,0]", "--in", "a=[1,1,1]"];
    assert_eq!(code(&twice), Some(2));
    assert_eq!(code(&["deploy", TRIANGLE, "-o", TRIANGLE]), Some(2));
    assert!(!std::path::Path::new(&out).exists());
}

/// Sums, a delay and a loop with state for each item; the nodes that compute the rates are folded.
const TICKING: &str = r#"{ "millstream": 2, "fps": 10, "start_frame": 2,
    "inputs": { "n": { "type": "i32", "default": 3 }, "x": { "type": "f32", "default": 2 } },
    "outputs": { "y": { "type": "list<f32>", "from": "y.value" }, "z": { "type": "f32", "from": "last.value" } },
    "nodes": {
        "i": { "type": "context.index" },
        "half": { "type": "math.divide", "in": { "a": { "input": "x" }, "b": 4 } },
        "rate": { "type": "math.add", "in": { "a": { "from": "i.value" }, "b": { "from": "half.value" } } },
        "sum": { "type": "state.integrate", "in": { "rate": { "from": "rate.value" } } },
        "y": { "type": "list.generate", "in": { "item": { "from": "sum.value" }, "count": { "input": "n" } } },
        "whole": { "type": "state.integrate", "in": { "rate": { "from": "half.value" }, "initial": 1 } },
        "last": { "type": "state.delay", "set": { "ticks": 2 }, "in": { "value": { "from": "whole.value" } } }
    } }"#;

#[test]
fn deployed_stateful_documents_tick_as_before() {
    let ticking = target("ticking.mill.json");
    std::fs::write(&ticking, TICKING).expect("it is written");
    let run = |graph: &str, more: &[&str]| {
        let frames = [["--frame", "9"], ["--time", "0.2..1.2:0.1"]];
        frames.map(|at| {
            json(&[&["run", graph, "--format", "json"][..], &at, more].concat())["outputs"].clone()
        })
    };
    let whole = run(&ticking, &[]);
    assert_ne!(whole[0], run(&ticking, &["--in", "x=3"])[0], "what ticks depends on the input");
    for name in ["ticking_fixed.mill.json", "ticking_fixed.mill.bin"] {
        let out = target(name);
        assert_eq!(code(&["deploy", &ticking, "-o", &out]), Some(0));
        assert_eq!(code(&["check", &out]), Some(0));
        assert_eq!(run(&out, &[]), whole, "{name}");
        // A kept input keeps its meaning.
        assert_eq!(code(&["deploy", &ticking, "-o", &out, "--keep", "x"]), Some(0));
        assert_eq!(run(&out, &["--in", "x=3"]), run(&ticking, &["--in", "x=3"]), "{name}");
    }
}

const OF_A_TABLE: &str = r#"{ "millstream": 2,
    "inputs": { "t": { "type": "table" }, "n": { "type": "i32", "default": 2 } },
    "outputs": { "names": { "type": "list<string>", "from": "names.value" }, "t": { "type": "table", "input": "t" },
                 "cut": { "type": "table", "from": "cut.value" } },
    "nodes": {
        "names": { "type": "table.names", "in": { "table": { "from": "cut.value" } } },
        "cut": { "type": "table.slice", "in": { "table": { "input": "t" }, "count": { "input": "n" } } } } }"#;

#[test]
fn tables_keep_the_order_and_types_of_their_columns() {
    let graph = file("of_a_table.mill.json", OF_A_TABLE);
    let given = r#"t={"x": {"type": "vec3", "values": [[1, 2, 3]]}, "i": {"type": "i32", "values": [7]}, "b": [0.5]}"#;
    let names = serde_json::json!(["x", "i", "b"]);
    let run =
        |args: &[&str]| json(&[&["run"], args, &["--format", "json"]].concat())["outputs"].clone();
    let whole = run(&[&graph, "--in", given]);
    assert_eq!(whole["names"]["value"], names);
    for keep in [&["--keep", "n"][..], &["--keep", "t"], &[]] {
        let out = target("fixed_table.mill.json");
        let deploy = ["deploy", &graph, "-o", &out, "--in", given, "--format", "json"];
        let report = json(&[&deploy[..], keep].concat());
        let results = report["results"].as_array().expect("a list").clone();
        assert!(results.iter().all(|result| result["stored"] == true), "{report}");
        let text = std::fs::read_to_string(&out).expect("it was written");
        let document: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
        assert!(text.contains("\"vec3\""), "{document}");
        let fixed = run(&[&out]);
        // The order is kept too.
        assert_eq!(fixed.to_string(), whole.to_string(), "{keep:?}");
    }
}

#[test]
#[cfg(unix)]
fn links_pipes_and_permissions_of_the_target_are_kept() {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

    let deploy = |out: &str| assert_eq!(code(&["deploy", TRIANGLE, "-o", out]), Some(0), "{out}");
    let read = |path: &str| std::fs::read_to_string(path).expect("it is there");
    // A link is followed; a file keeps its permissions; another file of the user beside it is left
    // alone.
    let (led, link) =
        (file("led_to.mill.json", "old"), target("deployed_through_a_link.mill.json"));
    symlink(&led, &link).expect("links can be made");
    std::fs::set_permissions(&led, std::fs::Permissions::from_mode(0o600)).expect("it is ours");
    let beside = file("led_to.mill.json.part", "mine");
    deploy(&link);
    assert!(std::fs::symlink_metadata(&link).expect("it is there").is_symlink());
    assert!(read(&led).contains("millstream"));
    assert_eq!(std::fs::metadata(&led).expect("it is there").permissions().mode() & 0o777, 0o600);
    assert_eq!(read(&beside), "mine");
    // A pipe is written into.
    let pipe = target("deployed_into_a_pipe.mill.json");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
    assert!(made.success());
    let from = pipe.clone();
    let reader = std::thread::spawn(move || std::fs::read_to_string(from).expect("it is read"));
    deploy(&pipe);
    assert!(std::fs::metadata(&pipe).expect("it is there").file_type().is_fifo());
    assert!(reader.join().expect("it ends").contains("millstream"));
}
