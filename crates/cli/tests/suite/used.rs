//! Documents that use groups of other documents, as the command line shows them.

use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};

use crate::{code, expect_seen, json, seen};

const POND: &str = "examples/pond.mill";

/// A new directory with these files.
fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // It exists if an earlier run of the tests created it.
    let _ = std::fs::remove_dir_all(&folder);
    for (path, text) in files {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().expect("it is in the folder")).expect("writable");
        std::fs::write(path, text).expect("the directory for tests can be written");
    }
    folder
}

/// Compares what a person sees, with the directory left out.
#[expect(clippy::needless_pass_by_value, reason = "callers write the expectation in place")]
fn expect_in(folder: &Path, args: &[&str], expected: Expect) {
    expected.assert_eq(&seen(args).replace(&format!("{}/", folder.display()), ""));
}

const HALF: &str = r#"{ "millstream": 1,
  "groups": { "half": {
    "about": "Half of a number",
    "inputs": { "x": { "type": "f32", "default": 1 } },
    "outputs": { "value": { "type": "f32", "from": "n.value" } },
    "nodes": { "n": { "type": "math.multiply", "in": { "a": { "input": "x" }, "b": 0.5 } } } } } }"#;

const USER: &str = r#"{ "millstream": 1,
  "use": { "lib": "lib/half.mill.json" },
  "inputs": { "x": { "type": "f32", "default": 3 } },
  "outputs": { "y": { "type": "f32", "from": "g.value" } },
  "nodes": { "g": { "type": "group", "group": "lib/half", "in": { "x": { "input": "x" } } } } }"#;

#[test]
fn the_pond_runs_with_every_evaluator_and_deployed() {
    let args = ["run", POND, "--time", "1..2:0.5", "--format", "json"];
    let all = json(&args);
    for evaluator in ["lazy", "list", "incremental", "chunked"] {
        let args = [&args[..], &["--evaluator", evaluator]].concat();
        assert_eq!(json(&args)["outputs"], all["outputs"], "{evaluator}");
    }
    let deployed = folder("deployed_pond", &[]);
    std::fs::create_dir_all(&deployed).expect("writable");
    for file in ["pond.mill.json", "pond.bin"] {
        let out = deployed.join(file).display().to_string();
        assert_eq!(code(&["deploy", POND, "--keep", "position,stone,later", "-o", &out]), Some(0));
        let again = json(&["run", &out, "--time", "1..2:0.5", "--format", "json"]);
        assert_eq!(again["outputs"], all["outputs"], "{file}");
    }
    let explained = seen(&["explain", POND]);
    assert!(explained.contains("first/front/curve"), "{explained}");
    assert!(seen(&["check", POND]).contains(": ok,"));
}

#[test]
fn a_used_document_is_found_next_to_the_document_or_in_an_allowed_directory() {
    let at = folder("allowed", &[("a/user.mill.json", USER), ("b/lib/half.mill.json", HALF)]);
    let user = at.join("a/user.mill.json").display().to_string();
    let other = at.join("b").display().to_string();
    expect_in(
        &at,
        &["run", &user],
        expect![[r#"
            exit code 1
            stderr:
            a/user.mill.json:2:12: error[used::missing]: `lib/half.mill.json` is not there; looked in `a`
              help: look at the path, or give its directory with --lib
        "#]],
    );
    assert!(seen(&["run", &user, "--lib", &other]).contains("1.5"));
    expect_seen(
        &["run", POND, "--lib", "examples/none"],
        expect![[r#"
            exit code 2
            stderr:
            error: `--lib examples/none` is not a directory
              help: give a directory
        "#]],
    );
}

#[test]
fn files_elsewhere_are_not_read() {
    let up = USER.replace("lib/half.", "../b/lib/half.");
    let at = folder("outside", &[("a/user.mill.json", &up), ("b/lib/half.mill.json", HALF)]);
    let user = at.join("a/user.mill.json").display().to_string();
    let seen_in = seen(&["run", &user]);
    assert!(seen_in.contains("leads out of the allowed directories"), "{seen_in}");
    let other = at.join("b").display().to_string();
    assert_eq!(code(&["run", &user, "--lib", &other]), Some(0));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(at.join("b"), at.join("a/lib2")).expect("links can be made");
        std::fs::write(&user, USER.replace("lib/half.", "lib2/lib/half.")).expect("writable");
        let seen_in = seen(&["run", &user]);
        assert!(seen_in.contains("leads out of the allowed directories"), "{seen_in}");
    }
}

#[test]
fn a_used_document_that_changed_is_refused_until_the_lock_is_updated() {
    let at = folder("locked", &[("user.mill.json", USER), ("lib/half.mill.json", HALF)]);
    let (user, lib) = (at.join("user.mill.json"), at.join("lib/half.mill.json"));
    let user = user.display().to_string();
    expect_in(
        &at,
        &["check", &user],
        expect![[r#"
            user.mill.json:2:12: note[used::not_locked]: `lib/half.mill.json`, used as `lib`, is not locked, so changes to it go unnoticed
              help: `millstream check --update-lock user.mill.json` locks it
            user.mill.json: ok, 1 note, 2 nodes, 3 steps in the plan
              input x: f32 = 3.0
              output y: f32
        "#]],
    );
    expect_in(
        &at,
        &["check", "--update-lock", &user],
        expect![[r#"
            user.mill.json: ok, 2 nodes, 3 steps in the plan
              input x: f32 = 3.0
              output y: f32
        "#]],
    );
    let text = std::fs::read_to_string(&user).expect("it is there");
    // The rest of the text is unchanged.
    assert!(text.starts_with(&USER[..55]) && text.ends_with(&USER[70..]), "{text}");
    assert!(text.contains("\n    \"lib\": { \"format\": "), "{text}");
    std::fs::write(&lib, HALF.replace(": {\n", ":\n\n\n  {\n")).expect("writable");
    assert_eq!(code(&["check", &user]), Some(0));
    std::fs::write(&lib, HALF.replace("0.5", "0.25")).expect("writable");
    expect_in(
        &at,
        &["run", &user],
        expect![[r#"
            exit code 1
            stderr:
            user.mill.json:4:5: error[used::changed]: `lib/half.mill.json` has changed since it was locked as `lib`
              help: review the change; `millstream check --update-lock user.mill.json` locks the document as it is now
        "#]],
    );
    assert_eq!(code(&["check", "--update-lock", &user]), Some(0));
    assert!(seen(&["run", &user]).contains("0.75"));
}

#[test]
fn problems_in_used_documents_are_reported_with_file_line_and_use_chain() {
    let wrong = HALF.replace("math.multiply", "math.multiplyy");
    let at = folder("wrong", &[("user.mill.json", USER), ("lib/half.mill.json", &wrong)]);
    let user = at.join("user.mill.json").display().to_string();
    expect_in(
        &at,
        &["run", &user],
        expect![[r#"
            exit code 1
            stderr:
            lib/half.mill.json:6:16: error[check::unknown_node_type]: lib/half/n: there is no node type called `math.multiplyy`
              help: did you mean `math.multiply`?
              note: user.mill.json uses lib/half.mill.json
        "#]],
    );
    let problems = json(&["check", &user, "--format", "json"]);
    let problem = &problems[0]["problems"][1];
    assert!(problem["file"].as_str().is_some_and(|file| file.ends_with("lib/half.mill.json")));
    assert_eq!(problem["span"]["line"], 6);
    let back = HALF.replace("\"groups\"", "\"use\": { \"up\": \"../user.mill.json\" }, \"groups\"");
    std::fs::write(at.join("lib/half.mill.json"), back).expect("writable");
    let cycle = seen(&["run", &user]).replace(&format!("{}/", at.display()), "");
    assert!(
        cycle.contains("user.mill.json uses lib/half.mill.json uses user.mill.json"),
        "{cycle}"
    );
}

#[test]
fn notes_on_a_used_document_are_placed_in_it() {
    let lib = "group f(x: f32) -> value: f32 {\n  k = add(16777217, x)\n  m = vec3(d, 0, 0)\n  \
               d = convert.to_f64(x)\n  value = k + m.x\n}\n";
    let old = HALF.replace("{ \"type\": \"f32\", \"default\": 1 }", "{ \"type\": \"i32\" }");
    let old = old.replace("0.5", "3");
    let new = old.replace("\"millstream\": 1", "\"millstream\": 2");
    let main = "use a = \"lib.mill\"\nuse b = \"old.mill.json\"\nuse c = \"new.mill.json\"\n\
                output y: f32 = a/f(x: 1)\noutput z: f32 = b/half(x: 1)\n\
                output w: f32 = c/half(x: 1)\n";
    let files =
        [("main.mill", main), ("lib.mill", lib), ("old.mill.json", &old), ("new.mill.json", &new)];
    let at = folder("noted", &files);
    let main = at.join("main.mill").display().to_string();
    assert_eq!(code(&["check", "--update-lock", &main]), Some(0));
    expect_in(
        &at,
        &["check", &main],
        expect![[r#"
            lib.mill:2:11: note[check::rounded]: a/f/k.a: 16777217 becomes 16777216, as an f32 holds integers exactly only up to 2^24
              help: write the number that is meant, or use a wider type
              note: main.mill uses lib.mill
            lib.mill:3:12: note[check::narrowed]: a/f/m: the formula narrows an f64 to an f32
              help: write `f32(...)` around it if this is intended
              note: main.mill uses lib.mill
            new.mill.json:5:18: note[check::rounded]: c/half: `n.value` gives an i32, which output `value` turns into an f32, in which integers are exact only up to 2^24
              help: give the input a range, if its values are smaller; or convert it to f64 to keep them exact, or to f32 if this is intended
              note: main.mill uses new.mill.json
            old.mill.json:5:18: note[check::rounded]: b/half: `n.value` gives an i32, which output `value` turns into an f32, in which integers are exact only up to 2^24
              help: give the input a range, if its values are smaller; or convert it to f64 to keep them exact, or to f32 if this is intended
              note: main.mill uses old.mill.json
            main.mill: ok, 4 notes, 9 nodes, 2 steps in the plan
              output y: f32
              output z: f32
              output w: f32
        "#]],
    );
    let problems = json(&["check", &main, "--format", "json"]);
    let problem = &problems[0]["problems"][0];
    assert!(problem["file"].as_str().is_some_and(|file| file.ends_with("lib.mill")), "{problem}");
    assert_eq!(problem["span"]["line"], 2);
}

#[test]
fn a_document_from_standard_input_has_no_directory() {
    use std::io::Write as _;
    let mut child = crate::command(&["run", "-"])
        .stdin(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the binary was built");
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all(USER.as_bytes()).expect("it is read");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    let told = String::from_utf8(output.stderr).expect("text");
    assert!(told.contains("the document has no directory"), "{told}");
    assert!(told.contains("--lib"), "{told}");
}

#[test]
fn a_directory_of_documents_is_a_node_library() {
    expect_seen(
        &["nodes", "--from", "examples/lib"],
        expect![[r#"
            easing.mill
              easing/smooth  From 0 at 0 to 1 at 1, flat at both ends; constant outside
              easing/fade    From 1 to 0, half of the way in each half-life

            water.mill
              water/ring     The height of a ring of waves around a stone that fell into water
        "#]],
    );
    expect_seen(
        &["nodes", "--from", "examples/lib", "water/ring"],
        expect![[r#"
            water/ring: The height of a ring of waves around a stone that fell into water

              inputs
                position: vec2 = [0,0]  a point of the surface, in m
                center: vec2 = [0,0]  the place of the stone, in m
                age: f32 = 1  the time since it fell, in s
                speed: f32 = 1.5, from 0  in m/s
                length: f32 = 0.5, from 0.001  from crest to crest, in m

              outputs
                height: f32

              in a document in the same directory, or with --lib
                use water = "water.mill"
                name = water/ring(position: ..., ...)
              in JSON
                "use": {"water":"water.mill"}
                { "type": "group", "group": "water/ring" }
        "#]],
    );
    expect_seen(
        &["nodes", "--from", "examples/lib", "water/rng"],
        expect![[r#"
        exit code 2
        stderr:
        error: there is no group or document called `water/rng` in examples/lib
          help: did you mean `water/ring`?
    "#]],
    );
    let all = json(&["nodes", "--from", "examples/lib", "--format", "json"]);
    assert_eq!(all[1]["name"], "easing/fade");
    assert_eq!(all[1]["inputs"][1]["min"], 0.001);
    assert_eq!(all[1]["use"]["easing"], "easing.mill");
    assert_eq!(json(&["nodes", "--from", "examples/lib", "easing", "--format", "json"])[1], all[1]);
}

#[test]
fn a_missing_file_is_not_there_where_one_of_its_places_is_allowed() {
    let top = "use c = \"lib/c.mill\"\noutput y: f32 = c/half(x: 3)\n";
    let inner =
        "use d = \"../lib0.mill\"\ngroup half(x: f32) -> value: f32 {\n  value = d/half(x: x)\n}\n";
    let at = folder("not_there", &[("top.mill", top), ("lib/c.mill", inner)]);
    let path = at.join("top.mill").display().to_string();
    let told = seen(&["run", &path]);
    assert!(told.contains("`../lib0.mill` is not there; looked in "), "{told}");
    std::fs::write(at.join("lib0.mill"), HALF).expect("writable");
    assert_eq!(code(&["run", &path]), Some(0));
}

#[test]
fn the_format_of_a_lock_is_compared() {
    let top = "use m = \"m.mill\"\noutput y: f32 = m/half(x: 3)\n";
    let half = "group half(x: f32) -> value: f32 {\n  value = x / 2\n}\n";
    let at = folder("lock_format", &[("top.mill", top), ("m.mill", half)]);
    let path = at.join("top.mill").display().to_string();
    assert_eq!(code(&["check", "--update-lock", &path]), Some(0));
    assert_eq!(code(&["run", &path]), Some(0));
    let locked = std::fs::read_to_string(&path).expect("it was written");
    for (format, expected) in [
        (
            "0",
            "used::changed]: `m.mill` has changed since it was locked as `m` (it was in format 0, it is in 2)",
        ),
        (
            "1",
            "used::changed]: `m.mill` has changed since it was locked as `m` (it was in format 1, it is in 2)",
        ),
        ("7", "used::bad_lock]: the lock of `m` states format 7, which does not exist"),
    ] {
        let text = locked.replace("lock m = 2", &format!("lock m = {format}"));
        std::fs::write(&path, text).expect("writable");
        let told = seen(&["run", &path]).replace(&format!("{}/", at.display()), "");
        assert!(told.contains(expected), "{told}");
    }
}
