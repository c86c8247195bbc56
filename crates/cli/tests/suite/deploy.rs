//! `millstream deploy`: the new document, the report, what is refused.

use crate::{code, json, millstream, new_file};

const ECHO: &str = "examples/echo.mill.json";
const TRIANGLE: &str = "examples/triangle_area.mill.json";

/// A path for a file that is not there yet.
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
fn a_document_without_inputs_is_one_value() {
    let out = target("fixed_area.mill.json");
    let seen = millstream(&["deploy", TRIANGLE, "-o", &out]);
    assert!(seen.status.success());
    let text = std::fs::read_to_string(&out).expect("it was written");
    assert!(!text.contains("vector.distance"), "{text}");
    let said = String::from_utf8_lossy(&seen.stderr).into_owned();
    assert!(said.contains("0 inputs"), "{said}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let out = target("refused.mill.json");
    for wrong in [["--in", "nobody=1"], ["--keep", "nobody"], ["--store-limit", "much"]] {
        let code = code(&[&["deploy", TRIANGLE, "-o", &out][..], &wrong].concat());
        assert!(matches!(code, Some(1 | 2)), "{wrong:?} gives {code:?}");
    }
    assert_eq!(code(&["deploy", TRIANGLE, "-o", TRIANGLE]), Some(2));
    assert!(!std::path::Path::new(&out).exists());
}
