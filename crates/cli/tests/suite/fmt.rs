//! `fmt`, and documents in the text form with the other verbs.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use expect_test::expect;

use crate::{code, command, expect_seen, json, seen};

/// A new directory with these files.
fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // It exists if an earlier run of the tests created it.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("writable");
    for (path, text) in files {
        std::fs::write(folder.join(path), text).expect("the directory for tests can be written");
    }
    folder
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("the file was written")
}

const UGLY: &str = "input x:f32=1   # given\ny=half( x )+1\noutput y:f32\ngroup half(x:f32)->value:f32{value=x/2}\n";

const NEAT: &str = "input x: f32 = 1  # given\ny = half(x) + 1\noutput y: f32\n\n\
    group half(x: f32) -> value: f32 {\n  value = x / 2\n}\n";

#[test]
fn documents_are_formatted_in_place_and_checked() {
    let at = folder("fmt", &[("ugly.mill", UGLY), ("neat.mill", NEAT)]);
    let (ugly, neat) = (at.join("ugly.mill"), at.join("neat.mill"));
    let paths = [ugly.display().to_string(), neat.display().to_string()];
    assert_eq!(code(&["fmt", "--check", &paths[0], &paths[1]]), Some(1));
    assert_eq!(code(&["fmt", "--check", "--stdout", &paths[0]]), Some(2));
    assert!(seen(&["fmt", "--check", &paths[0], &paths[1]]).contains("ugly.mill would change"));
    assert_eq!(read(&ugly), UGLY, "--check writes nothing");
    let list = json(&["fmt", &paths[0], &paths[1], "--format", "json"]);
    assert_eq!((&list[0]["changed"], &list[1]["changed"]), (&true.into(), &false.into()));
    assert_eq!(read(&ugly), NEAT);
    assert_eq!(code(&["fmt", "--check", &paths[0], &paths[1]]), Some(0));
}

#[test]
fn both_forms_convert_without_loss() {
    let at = folder("forms", &[("a.mill", NEAT)]);
    let path = |name: &str| at.join(name).display().to_string();
    assert_eq!(code(&["fmt", &path("a.mill"), "-o", &path("a.mill.json")]), Some(0));
    assert!(read(&at.join("a.mill.json")).contains("\"comments\""));
    assert_eq!(code(&["fmt", &path("a.mill.json"), "-o", &path("b.mill")]), Some(0));
    assert_eq!(code(&["fmt", &path("b.mill"), "-o", &path("b.mill.json")]), Some(0));
    assert_eq!(read(&at.join("a.mill.json")), read(&at.join("b.mill.json")));
    assert_eq!(code(&["fmt", "--check", &path("a.mill.json"), "-o", &path("b.mill")]), Some(0));
    assert_eq!(
        json(&["run", &path("a.mill"), "--format", "json"])["outputs"],
        json(&["run", &path("a.mill.json"), "--format", "json"])["outputs"]
    );
    let shown = seen(&["fmt", &path("a.mill.json"), "--to", "text", "--stdout"]);
    assert_eq!(shown, read(&at.join("b.mill")));
}

#[test]
fn standard_input_is_formatted_to_standard_output() {
    let mut child = command(&["fmt", "-", "--to", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary was built");
    child.stdin.take().expect("it is piped").write_all(b"output y: f64 = 2 * 3").expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(document["nodes"]["y"]["set"]["text"], "2 * 3");
}

#[test]
fn unreadable_documents_are_left_unchanged() {
    let at = folder("unreadable", &[("wrong.mill", "x = sqrt(2,\ny = 'a'\nz = nosuch.type(1)\n")]);
    let path = at.join("wrong.mill").display().to_string();
    let found = seen(&["fmt", &path]).replace(&at.display().to_string(), "");
    expect![[r#"
        exit code 1
        stderr:
        /wrong.mill:1:9: error[text::not_closed]: this `(` is not closed
          help: add a `)`
        /wrong.mill:2:5: error[text::syntax]: `'` has no meaning here
          help: texts are written in double quotes, "..."
    "#]]
    .assert_eq(&found);
    assert!(read(&at.join("wrong.mill")).starts_with("x = sqrt(2,"));
    let converted = seen(&["fmt", &path, "-o", &at.join("out.json").display().to_string()]);
    assert!(converted.contains("text::unknown_node_type"), "{converted}");
    assert!(!at.join("out.json").exists());
    expect_seen(
        &["fmt", "a.mill", "b.mill", "-o", "c"],
        expect![[r#"
        exit code 2
        stderr:
        error: -o takes one document
          help: leave out -o, or convert one by one
    "#]],
    );
    expect_seen(
        &["fmt", "a.mill", "--to", "json"],
        expect![[r#"
            exit code 2
            stderr:
            error: --to would change the form of a file but not its name
              help: name the new file with -o
        "#]],
    );
}

#[test]
fn every_verb_takes_the_text_form() {
    let at = folder(
        "verbs",
        &[
            ("lib.mill", "group half(x: f32 = 1) -> value: f32 {\n  value = x / 2\n}\n"),
            (
                "top.mill",
                "use lib = \"lib.mill\" # halves\ninput x: f32 = 3\n\noutput y: f32 = lib/half(x: x)\n",
            ),
        ],
    );
    let path = |name: &str| at.join(name).display().to_string();
    let top = path("top.mill");
    assert!(seen(&["run", &top]).contains("1.5"));
    assert_eq!(code(&["check", "--update-lock", &top]), Some(0));
    let locked = read(&at.join("top.mill"));
    assert!(locked.contains("# halves\nlock lib = 2 \"sha256:"), "{locked}");
    // The hash does not depend on the form.
    assert_eq!(code(&["fmt", &path("lib.mill"), "-o", &path("lib.mill.json")]), Some(0));
    std::fs::rename(at.join("lib.mill.json"), at.join("lib.mill")).expect("writable");
    assert!(seen(&["check", &top]).contains(": ok,"));
    assert_eq!(code(&["explain", &top]), Some(0));
    assert_eq!(code(&["bench", &top, "--count", "10", "--edits"]), Some(0));
    assert_eq!(code(&["deploy", &top, "--keep", "x", "-o", &path("out.mill")]), Some(0));
    assert!(read(&at.join("out.mill")).contains("output y: f32 = "));
    assert!(seen(&["run", &path("out.mill"), "--in", "x=5"]).contains("2.5"));
    assert!(seen(&["nodes", "--from", &at.display().to_string()]).contains("lib/half"));
    std::fs::write(at.join("lib.mill"), "group half(x: f32) -> value: f32 {\n  value = x //\n}\n")
        .expect("writable");
    std::fs::write(&top, "use lib = \"lib.mill\"\noutput y: f32 = lib/half(x: 3)\n")
        .expect("writable");
    let found = seen(&["check", &top]).replace(&format!("{}/", at.display()), "");
    expect![[r#"
        exit code 1
        top.mill:1:1: note[used::not_locked]: `lib.mill`, used as `lib`, is not locked, so changes to it go unnoticed
          help: `millstream check --update-lock top.mill` locks it
        lib.mill:2:14: error[text::syntax]: lib: a value, a name or a call is missing before `/`
          note: top.mill uses lib.mill
        top.mill: wrong, 1 error, 1 note
    "#]].assert_eq(&found);
}
