//! Errors are reported with a position and a hint, and with the right exit code.

use expect_test::expect;

use crate::{code, command, document, expect_seen, file, json, millstream, new_file, root, seen};

const TRIANGLE: &str = "examples/triangle_area.mill";
const ECHO: &str = "examples/echo.mill";
const PASS: &str = r#"{ "type": "control.pass", "in": { "value": { "input": "x" } } }"#;

#[test]
fn unknown_verbs_and_flags_are_wrong_usage() {
    for args in [
        &["rum", TRIANGLE][..],
        &["run"],
        &["run", TRIANGLE, "--inn", "a=1"],
        &["run", TRIANGLE, "--time", "1", "--frame", "2"],
        &["run", TRIANGLE, "--time", "0..1"],
        &["run", TRIANGLE, "--frame", "2..1"],
        &["run", TRIANGLE, "--evaluator", "slow"],
        &["run", TRIANGLE, "--deadline", "soon"],
        &["run", TRIANGLE, "--format", "xml"],
        &["run", TRIANGLE, "--count", "-1"],
        &["run", TRIANGLE, "--in", "a"],
        &["check"],
        &["explain", TRIANGLE, "--after", "folding"],
        &[],
    ] {
        assert_eq!(code(args), Some(2), "{args:?}");
    }
    expect_seen(
        &["rum"],
        expect![[r#"
        exit code 2
        stderr:
        error: unrecognized subcommand 'rum'

          tip: a similar subcommand exists: 'run'

        Usage: millstream <COMMAND>

        For more information, try '--help'.
    "#]],
    );
}

#[test]
fn unknown_names_suggest_the_nearest() {
    expect_seen(
        &["run", TRIANGLE, "--in", "d=1", "--in", "aa=1", "--out", "aera"],
        expect![[r#"
            exit code 2
            stderr:
            error: there is no input called `d`
              help: there is a, b, c
            error: there is no input called `aa`
              help: did you mean `a`?
            error: there is no output called `aera`
              help: did you mean `area`?
        "#]],
    );
}

#[test]
fn values_of_wrong_type_duplicate_and_missing_values_are_refused() {
    expect_seen(
        &["run", TRIANGLE, "--in", "a=[1, 2]"],
        expect![[r#"
        exit code 2
        stderr:
        error: `a`: [1,2] is not a vec3
          help: a vec3 is written as a list of 3 numbers; @FILE:COLUMN gives a column of them
    "#]],
    );
    expect_seen(
        &["run", TRIANGLE, "--in", "a=[0,0,0]", "--in", "a=[0,0,0]"],
        expect![[r#"
            exit code 2
            stderr:
            error: `a` is given twice
        "#]],
    );
    let graph = document("i32.mill.json", "i32", PASS, "i32");
    expect_seen(
        &["run", &graph, "--in", "x=3000000000"],
        expect![[r#"
            exit code 2
            stderr:
            error: `x`: 3000000000 does not fit an i32
              help: -2147483648 to 2147483647 fit
        "#]],
    );
    expect_seen(
        &["run", &graph],
        expect![[r#"
            exit code 2
            stderr:
            error: input `x` is not given
              help: its type is i32: give --in x=VALUE, or --in x=@FILE:COLUMN
        "#]],
    );
}

#[test]
fn a_missing_feature_is_reported_with_its_flag() {
    expect_seen(
        &["run", ECHO],
        expect![[r#"
            exit code 2
            stderr:
            error: output `heard` needs time, which the request does not provide (read by heard/4 <- pulse/8 <- pulse/1 <- time)
              help: give a time, --time 1.5 or --time 0..2:0.1, or a frame, --frame 12
        "#]],
    );
    expect_seen(
        &["run", "examples/tone_curve.mill"],
        expect![[r#"
            exit code 2
            stderr:
            error: output `linear` needs index, which the request does not provide (read by linear/3 <- linear/2 <- index)
              help: give a number of elements, --count 100, or a column, --in NAME=@FILE
            error: output `srgb` needs index, which the request does not provide (read by curve <- is_dark <- linear/3 <- linear/2 <- index)
              help: give a number of elements, --count 100, or a column, --in NAME=@FILE
        "#]],
    );
}

#[test]
fn wrong_data_is_reported_with_file_line_and_column() {
    let graph = document("data.mill.json", "f32", PASS, "f32");
    let wrong = |name: &str, content: &str| {
        let path = file(name, content);
        let text = seen(&["run", &graph, "--in", &format!("x=@{path}")]);
        text.replace(&path, name)
    };
    expect![[r#"
        exit code 1
        stderr:
        error: `word.csv` line 3 column `x`: `two` is not a valid f32
          help: f32 is written as a number
    "#]]
    .assert_eq(&wrong("word.csv", "x\n1\ntwo\n"));
    expect![[r#"
        exit code 1
        stderr:
        error: `ragged.csv` line 3 has 1 cell, but the first line has 2
          help: a separator inside a cell must be in quotes: "a, b"
    "#]]
    .assert_eq(&wrong("ragged.csv", "x,y\n1,2\n3\n"));
    expect![[r#"
        exit code 1
        stderr:
        error: `others.csv` has several columns, but none called `x`
          help: name one of them: `u`, `v`
    "#]]
    .assert_eq(&wrong("others.csv", "u,v\n1,2\n"));
    expect![[r#"
        exit code 1
        stderr:
        error: `data.xlsx` has no extension that names a format
          help: give a file with one of the extensions csv, tsv, tab, json, jsonl, ndjson, npy, obj, ply, parquet, pq, arrow, arrows, feather, ipc, gltf, glb, or one of a picture, such as png, jpeg, exr, tiff or webp
    "#]]
    .assert_eq(&wrong("data.xlsx", "x\n1\n"));
    expect_seen(
        &["run", &graph, "--in", "x=@not/there.csv"],
        expect![[r#"
            exit code 1
            stderr:
            error: cannot read `not/there.csv`: No such file or directory (os error 2)
              help: check the path, which is relative to the current directory
        "#]],
    );
}

#[test]
fn columns_of_different_lengths_are_wrong_data() {
    let short = file("short.csv", "b.x,b.y,b.z\n1,0,0\n");
    expect_seen(
        &[
            "run",
            TRIANGLE,
            "--in",
            "a=@examples/data/triangles.csv",
            "--in",
            &format!("b=@{short}"),
        ],
        expect![[r#"
            exit code 1
            stderr:
            error: `b` has 1 elements along index, `a` has 6
              help: all data along one axis must have one length
        "#]],
    );
}

#[test]
fn unused_inputs_of_different_lengths_are_still_refused() {
    let sum = r#"{ "millstream": 2, "inputs": { "x": { "type": "f64" }, "y": { "type": "f64" } },
        "outputs": { "o": { "type": "f64", "from": "n.value" } },
        "nodes": { "n": { "type": "math.add", "in": { "a": { "input": "x" }, "b": { "input": "y" } } } } }"#;
    let path = file("lengths.mill.json", sum);
    let (long, short) = (file("long.csv", "x\n1\n2\n3\n"), file("shorter.csv", "y\n1\n2\n"));
    let (x, y) = (format!("x=@{long}"), format!("y=@{short}"));
    expect_seen(
        &["run", &path, "--in", &x, "--in", &y],
        expect![[r#"
            exit code 1
            stderr:
            error: `y` has 2 elements along index, `x` has 3
              help: all data along one axis must have one length
        "#]],
    );
    expect_seen(
        &["run", &path, "--in", &x, "--in", "y=1", "--count", "5"],
        expect![[r#"
            exit code 1
            stderr:
            error: `x` has 3 elements along index, the count has 5
              help: all data along one axis must have one length
        "#]],
    );
}

#[test]
fn limits_are_reported_and_can_be_changed() {
    let wave = "examples/square_wave.mill";
    assert_eq!(code(&["run", wave, "--in", "samples=1000", "--limit", "list_length=100"]), Some(3));
    assert_eq!(
        code(&["run", wave, "--in", "samples=100", "--limit", "list_length=1_000"]),
        Some(0)
    );
    expect_seen(
        &["run", TRIANGLE, "--limit", "nodes=3"],
        expect![[r#"
            exit code 1
            stderr:
            examples/triangle_area.mill:9:1: error[load::too_many_nodes]: bc: the document has more than 3 nodes
              help: raise `nodes` with --limit if this is intended
        "#]],
    );
    expect_seen(
        &["run", wave, "--in", "samples=1000", "--limit", "list_length=100"],
        expect![[r#"
            exit code 3
            stderr:
            error: wave: more than 100 cells
              help: raise `list_length` with --limit
            output `wave` has no value
        "#]],
    );
    expect_seen(
        &["run", TRIANGLE, "--limit", "node=3"],
        expect![[r#"
        exit code 2
        stderr:
        error: there is no limit called `node`
          help: did you mean `nodes`?
    "#]],
    );
    expect_seen(
        &["run", TRIANGLE, "--limit", "nodes=many"],
        expect![[r#"
        exit code 2
        stderr:
        error: the limit `nodes` cannot be `many`
          help: write a whole number
    "#]],
    );
    expect_seen(
        &["run", "examples/tone_curve.mill", "--count", "1000", "--limit", "list_length=10"],
        expect![[r#"
            exit code 3
            stderr:
            error: the request has 1000 cells, the limit is 10
              help: raise it with --limit list_length=1000, or request fewer elements, moments or views at once
        "#]],
    );
    // No column can have more cells, whatever the limit is.
    expect_seen(
        &["run", "examples/tone_curve.mill", "--count", "3000000000"],
        expect![[r#"
            exit code 3
            stderr:
            error: the request has 3000000000 cells, the limit is 268435456
              help: request fewer elements, moments or views at once; the product of their numbers can be at most 2147483647
        "#]],
    );
    expect_seen(
        &["run", "examples/tone_curve.mill", "--limit", "list_length=9_000_000_000"],
        expect![[r#"
            exit code 2
            stderr:
            error: the limit `list_length` cannot be 9000000000
              help: it can be at most 2147483647
        "#]],
    );
}

#[test]
fn an_evaluation_that_takes_too_long_is_stopped() {
    expect_seen(
        &["run", "examples/tone_curve.mill", "--count", "1000", "--deadline", "0"],
        expect![[r#"
            exit code 3
            stderr:
            error: the evaluation exceeded its time limit
              help: allow more time with --deadline, or request less
        "#]],
    );
}

#[test]
fn missing_or_malformed_documents_are_reported() {
    expect_seen(
        &["run", "not/there.mill.json"],
        expect![[r#"
            exit code 1
            stderr:
            error: cannot read `not/there.mill.json`: No such file or directory (os error 2)
              help: check the path; - stands for standard input
        "#]],
    );
    let noise: String = (0..20_000_u32).map(|i| char::from(33 + (i * i % 90) as u8)).collect();
    let brackets = "[".repeat(100_000);
    for (name, content) in
        [("noise.json", noise.as_str()), ("brackets.json", &brackets), ("empty.json", "")]
    {
        let path = file(name, content);
        for verb in ["run", "check", "explain"] {
            let output = millstream(&[verb, &path]);
            assert_eq!(output.status.code(), Some(1), "{verb} {name}");
            assert!(output.stdout.len() + output.stderr.len() < 2000, "{verb} {name}");
        }
    }
}

#[test]
fn a_value_may_start_with_a_minus() {
    expect_seen(
        &["run", TRIANGLE, "--count", "-1"],
        expect![[r#"
            exit code 2
            stderr:
            error: invalid value '-1' for '--count <N>': expected a whole number of at least 0

            For more information, try '--help'.
        "#]],
    );
    assert_eq!(code(&["run", TRIANGLE, "--deadline", "-1"]), Some(2));
}

#[test]
fn programs_get_the_reason_as_json_on_every_verb() {
    let node = r#"{ "type": "math.sqr", "in": { "x": { "input": "x" } } }"#;
    let wrong = document("reason.mill.json", "f32", node, "f32");
    for (args, code) in [
        (&["run", "no-such-file", "--format", "json"][..], "wrong"),
        (&["run", &wrong, "--format", "json"], "check::unknown_node_type"),
        (&["run", TRIANGLE, "--in", "d=1", "--format", "json"], "usage"),
        (&["run", ECHO, "--format", "json"], "usage"),
        (&["run", TRIANGLE, "--deadline", "0", "--format", "json"], "failed"),
        (&["explain", &wrong, "--format", "json"], "check::unknown_node_type"),
        (&["nodes", "no-such-node", "--format", "json"], "usage"),
    ] {
        let answer = json(args);
        assert_eq!(answer["problems"][0]["code"], code, "{args:?}");
        assert!(!millstream(args).stderr.is_empty(), "people are told too");
    }
    let list = json(&["check", TRIANGLE, "no-such-file", &wrong, "--format", "json"]);
    assert_eq!(list[1]["problems"][0]["code"], "wrong");
    let help = list[2]["problems"][0]["help"].as_str();
    assert_eq!(help, Some("did you mean `math.sqrt`?"));
}

#[test]
fn text_of_a_document_does_not_control_the_terminal() {
    let title = "\\u001b[2J\\u009b\\u202e";
    let wrong = file(
        "controls.mill.json",
        &format!(
            r#"{{ "millstream": 2, "name": "{title}",
                 "inputs": {{ "a": {{ "type": "string", "default": "{title}", "about": "{title}" }} }},
                 "outputs": {{ "y": {{ "type": "string", "input": "a" }} }} }}"#
        ),
    );
    let named = file(
        "control-names.mill.json",
        &format!(r#"{{ "millstream": 2, "nodes": {{ "{title}": {{ "type": "{title}" }} }} }}"#),
    );
    for verb in ["run", "check", "explain"] {
        for document in [&wrong, &named] {
            let text = seen(&[verb, document]);
            let harmless = |c: char| c == '\n' || !c.is_control() && c != '\u{202e}';
            assert!(text.chars().all(harmless), "{verb}: {text:?}");
        }
    }
    expect_seen(
        &["run", &wrong],
        expect![[r#"
        y = "\u001b[2J\u009b\u202e"
    "#]],
    );
}

#[test]
fn an_input_file_is_not_overwritten() {
    let triangle = std::fs::read_to_string(root().join(TRIANGLE)).expect("an example");
    let graph = file("own.json", &triangle);
    let data = file("own.csv", "a.x,a.y,a.z\n1,2,3\n");
    let column = format!("a=@{data}:a");
    for target in [&graph, &data] {
        let args = ["run", &graph, "--in", &column, "--save", target];
        assert_eq!(code(&args), Some(2), "{target}");
        assert!(seen(&args).contains("is an input of this run and is not overwritten"));
    }
    let link = new_file("link.json");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&graph, &link).expect("links can be made");
        assert_eq!(code(&["run", &graph, "--save", &link.display().to_string()]), Some(2));
    }
    assert_eq!(std::fs::read_to_string(&graph).expect("it is there"), triangle);
}

#[cfg(target_os = "linux")]
#[test]
fn a_closed_standard_error_does_not_change_the_exit_code() {
    let full = || std::fs::File::options().write(true).open("/dev/full").expect("Linux has it");
    for (args, code) in [
        (&["run", "no-such-file"][..], 1),
        (&["run", ECHO], 2),
        (&["run", "examples/tone_curve.mill", "--count", "2", "--stats"], 0),
        (&["run", TRIANGLE, "--deadline", "0"], 3),
    ] {
        let status = command(args).stderr(full()).stdout(std::process::Stdio::null()).status();
        assert_eq!(status.expect("it runs").code(), Some(code), "{args:?}");
    }
}

#[test]
fn the_standard_input_is_one_document() {
    assert_eq!(code(&["check", "-", "-"]), Some(2));
}

#[test]
fn problems_have_a_position_in_empty_space() {
    let text = |text: &str| {
        let node = format!(r#"{{ "type": "math.expression", "set": {{ "text": "{text}" }} }}"#);
        seen(&["check", &document("nothing.mill.json", "f32", &node, "f32")])
    };
    assert!(text("").contains("nothing.mill.json:5:66: error[settings::refused]"), "{}", text(""));
    assert!(text("x +").contains("nothing.mill.json:5:69: error[settings::refused]"));
}

#[test]
fn formulas_of_the_text_form_have_no_settings() {
    let path = file("formula.mill", "input v: vec3 = [1, 2, 3]\noutput y: f32 = 2 * vec2(v, 1)\n");
    let told = seen(&["check", &path]).replace(&path, "formula.mill");
    expect![[r#"
        exit code 1
        formula.mill:2:21: error[settings::refused]: y: `vec2` takes 2 components, not 4
          help: choose some of the components, such as `v.xy`
        formula.mill: wrong, 1 error
    "#]]
    .assert_eq(&told);
}

#[test]
fn used_paths_that_are_no_documents_say_what_they_are() {
    let path = file("uses_folder.mill", "use lib = \"a_folder\"\noutput y: f32 = 1\n");
    let folder = std::path::Path::new(&path).with_file_name("a_folder");
    std::fs::create_dir_all(folder).expect("a directory is made");
    let told = seen(&["check", &path]);
    assert!(told.contains("error[used::missing]: `a_folder` is a directory"), "{told}");
    assert!(told.contains("name a document in it, such as `a_folder/name.mill`"), "{told}");
}

#[test]
fn a_lock_that_is_none_is_not_called_a_change() {
    file("locked.mill", "output y: f32 = 1\n");
    let path = file(
        "bad_lock.mill.json",
        r#"{ "millstream": 2, "use": { "it": "locked.mill" },
            "lock": { "it": { "format": 2, "hash": "abc" } } }"#,
    );
    let told = seen(&["check", &path]);
    assert!(told.contains("error[used::bad_lock]: the lock of `it` has no valid hash"), "{told}");
    assert!(told.contains("`millstream check --update-lock"), "{told}");
    let path = file("bad_lock.mill", "use it = \"locked.mill\"\nlock it = \"abc\"\n");
    let told = seen(&["check", &path]);
    assert!(told.contains("help: `millstream check --update-lock` writes locks"), "{told}");
}

#[test]
fn the_draft_of_the_format_has_no_text_form() {
    let path = file("draft.mill", "millstream 0\noutput y: f32 = 1\n");
    let told = seen(&["check", &path]);
    assert!(told.contains("documents of format 0 are written as JSON"), "{told}");
    assert!(told.contains("help: write 2, the format of this form"), "{told}");
}

#[test]
fn a_list_that_is_nested_too_deeply_is_reported_as_such() {
    let (open, close) = ("[".repeat(20_000), "]".repeat(20_000));
    let text = format!("input x: f32\noutput y: list<f32> = {open}x{close}\n");
    let told = seen(&["check", &file("deep_list.mill", &text)]);
    assert!(told.contains("the expression is nested deeper than"), "{told}");
    assert!(!told.contains("a value is missing"), "{told}");
}

#[test]
fn a_cut_off_text_has_one_place() {
    let told = seen(&["check", &file("cut_off.mill.json", "{ \"millstream\": 2, \n")]);
    assert!(
        told.contains("cut_off.mill.json:1:20: ") && told.contains("line 1, column 20"),
        "{told}"
    );
}

#[test]
fn an_unknown_entry_of_a_node_may_be_a_setting() {
    let text = r#"{ "millstream": 2, "nodes": { "n": { "type": "group", "group": "g", "memo": "whole" } } }"#;
    let told = seen(&["check", &file("memo_entry.mill.json", text)]);
    assert!(told.contains("a setting belongs in `set`: \"set\": { \"memo\": ... }"), "{told}");
}

#[test]
fn files_are_asked_for_by_their_kind() {
    let graph = file(
        "no-files.mill",
        "input f: font\ninput p: image\noutput d: f32 = sdf.text([0, 0, 0], text: \"A\", font: f, own_font = true)\n\
         output w: image = p\n",
    );
    let told = seen(&["run", &graph, "--out", "d"]);
    assert!(told.contains("give a TrueType or OpenType font, --in f=@FILE\n"), "{told}");
    let told = seen(&["run", &graph, "--out", "w"]);
    assert!(told.contains("give a picture, --in p=@FILE\n"), "{told}");
}

#[test]
fn long_names_are_cut_off_in_problems() {
    let name = "n".repeat(100_000);
    let graph = file("long-name.mill", &format!("input {name}: f32 = 1\noutput y: f32 = 1\n"));
    let told = seen(&["check", &graph]);
    assert!(told.contains("warning[check::unused_input]: input `nnnn"), "{told}");
    assert!(told.len() < 4000, "{}", told.len());
}
