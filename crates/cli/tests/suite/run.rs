//! `millstream run`: values in, values out.

use expect_test::expect;

use crate::{code, document, expect_seen, file, json, millstream, new_file, seen};

const TRIANGLE: &str = "examples/triangle_area.mill";
const SUNSPOTS: &str = "examples/sunspots.mill";
const ECHO: &str = "examples/echo.mill";
const TONE: &str = "examples/tone_curve.mill";

/// The numbers of an output.
pub(crate) fn column(json: &serde_json::Value, output: &str) -> Vec<f64> {
    let values = json["outputs"][output]["values"].as_array().expect("a column");
    values.iter().map(|value| value.as_f64().expect("a number")).collect()
}

#[test]
fn defaults_give_one_value() {
    expect_seen(
        &["run", TRIANGLE],
        expect![[r#"
        area = 0.5000001
    "#]],
    );
}

#[test]
fn literals_are_given_by_name() {
    expect_seen(
        &["run", TRIANGLE, "--in", "b=[3, 0, 0]", "--in", "c=[0,4,0]"],
        expect![[r#"
        area = 6.0
    "#]],
    );
}

#[test]
fn columns_of_a_file_make_a_table() {
    let data = "=@examples/data/triangles.csv";
    let [a, b, c] = ["a", "b", "c"].map(|name| format!("{name}{data}"));
    expect_seen(
        &["run", TRIANGLE, "--in", &a, "--in", &b, "--in", &c],
        expect![[r#"
        index       area
            0  0.5000001
            1        6.0
            2  1.7320508
            3        6.0
            4   6.745368
            5        0.0

              count  min     mean      max
        area      6    0  3.49624  6.74537
    "#]],
    );
}

#[test]
fn the_first_example_of_the_readme_is_worth_seeing() {
    expect_seen(
        &[
            "run",
            SUNSPOTS,
            "--in",
            "year=@examples/data/sunspots.csv",
            "--in",
            "number=@examples/data/sunspots.csv",
        ],
        expect![[r#"
            peak_year = 1957
            mean = 49.752106
            years_above = 157

            index  year     smooth
                0  1700  24.833334
                1  1701  25.428572
                2  1702      24.75
                3  1703   23.11111
                4  1704       21.6
                5  1705   19.90909
                6  1706  19.454546
                7  1707  18.454546
            ... 301 more rows

                    count      min     mean      max      distribution                            course
              year    309     1700     1854     2008  ████████████████  ▁▁▁▁▂▂▂▂▃▃▃▃▄▄▄▄▅▅▅▅▆▆▆▆▇▇▇▇████
            smooth    309  14.2727  49.9202  95.5909  ▃▄▅▅▆█▅█▆▇▄▅▄▁▂▂  ▁▁▄▄▄▃▄▅▆▆▁▁▁▄▅▅▄▅▃▃▃▂▃▃▄▆█▇▆█▆▄

            95.5909 ┤ ⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⡞⡄⡀⠀⠀⠀⢠⡀⠀⠀⠀⠀
                    ┤ ⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⢰⠁⠉⡇⠀⠀⠀⡸⢇⠀⠀⠀⠀
                    ┤ ⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⢠⠀⣷⢠⡀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⢀⣸⠀⠀⢇⠀⠀⡞⠃⠸⡰⡀⠀⠀
                    ┤ ⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⡏⣾⠈⠁⡇⠀⠀⠀⠀⠀⠀⠀⢠⡄⡀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⢀⠇⠙⠀⠀⢸⠀⢸⠀⠀⠀⠀⡇⠀⠀
                    ┤ ⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⢰⡄⡇⠹⠀⠀⡇⠀⠀⠀⠀⠀⠀⠀⡇⠑⠙⠜⢆⠀⠀⡜⢇⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⣸⠀⠀⠀⠀⠀⠋⠙⠀⠀⠀⠀⠈⠳⡀
                    ┤ ⠀⠀⠀⠀⢠⠒⠎⠑⢢⠀⠀⠀⠀⡇⠙⠀⠀⠀⠀⢇⠀⠀⠀⠀⠀⠀⠀⡇⠀⠀⠀⠸⣀⡴⠁⠀⡇⠀⠀⠀⠀⠀⠀⠀⠀⢀⡀⠀⡞⠁⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⡇
                    ┤ ⠀⠀⠀⠀⢸⠀⠀⠀⠀⢣⡤⢄⠴⠁⠀⠀⠀⠀⠀⢸⠀⠀⠀⠀⠀⠀⠀⡇⠀⠀⠀⠀⠀⠀⠀⠀⢸⠀⠀⣄⢤⠀⠀⠀⣠⠜⢣⣰⠁⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⢣
                    ┤ ⠀⠀⠀⢀⠎⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠸⡀⠀⠀⠀⠀⠀⡎⠀⠀⠀⠀⠀⠀⠀⠀⠀⠸⠖⠚⠀⠀⡇⡤⢼⠁⠀⠀⠁⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⢸
                    ┤ ⢤⡀⠀⡜⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠧⠦⡄⠀⠀⢰⠁⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠉⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠘
            14.2727 ┤ ⠀⠳⣼⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⢱⡜⠉⠁⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀
                      1700                          year                          2008
        "#]],
    );
}

#[test]
fn a_column_may_be_named() {
    let file = file("named.csv", "u,v\n1,10\n2,20\n");
    let graph = document(
        "named.mill.json",
        "f32",
        r#"{ "type": "math.add", "in": { "a": { "input": "x" }, "b": 1.0 } }"#,
        "f32",
    );
    let json = json(&["run", &graph, "--in", &format!("x=@{file}:v"), "--format", "json"]);
    assert_eq!(column(&json, "y"), [11.0, 21.0]);
}

#[test]
fn a_list_takes_a_whole_column() {
    let file = file("list.csv", "x\n1\n2\n4\n");
    let graph = document(
        "list.mill.json",
        "list<f32>",
        r#"{ "type": "list.sum", "in": { "list": { "input": "x" } } }"#,
        "f32",
    );
    assert_eq!(seen(&["run", &graph, "--in", &format!("x=@{file}")]), "y = 7.0\n");
}

#[test]
fn a_column_of_lists_is_a_list_per_element() {
    let json = json(&[
        "run",
        "examples/face_area.mill",
        "--in",
        "position=@examples/data/torus.obj",
        "--in",
        "face=@examples/data/torus.obj:face",
        "--format",
        "json",
    ]);
    let areas = column(&json, "area");
    let total = json["outputs"]["total"]["value"].as_f64().expect("one value");
    assert_eq!(areas.len(), 512);
    assert!((areas.iter().sum::<f64>() - total).abs() < 1e-4);
}

#[test]
fn strings_need_no_quotes() {
    let graph = document(
        "text.mill.json",
        "string",
        r#"{ "type": "control.pass", "in": { "value": { "input": "x" } } }"#,
        "string",
    );
    assert_eq!(seen(&["run", &graph, "--in", "x=two words"]), "y = \"two words\"\n");
}

#[test]
fn elements_are_counted() {
    let json = json(&[
        "run", TONE, "--count", "3", "--in", "steps=3", "--out", "linear", "--format", "json",
    ]);
    assert_eq!(column(&json, "linear"), [0.0, 0.5, 1.0]);
    assert_eq!(json["count"], 3);
    assert!(json["outputs"].get("srgb").is_none());
}

#[test]
fn one_or_several_moments() {
    assert_eq!(seen(&["run", ECHO, "--time", "0"]), "heard = 0.0\n");
    let many = json(&["run", ECHO, "--time", "0..1:0.25", "--format", "json"]);
    assert_eq!(many["time"].as_array().map(Vec::len), Some(5));
    assert_eq!(many["outputs"]["heard"]["axes"][0], "time");
    let one = json(&["run", ECHO, "--time", "0.25", "--format", "json"]);
    assert_eq!(column(&many, "heard")[1], one["outputs"]["heard"]["value"]);
    assert_eq!(code(&["run", ECHO, "--time", "-1"]), Some(0));
}

#[test]
fn frames_are_moments_of_the_document() {
    let frames = json(&["run", ECHO, "--frame", "0..24", "--format", "json"]);
    let one = json(&["run", ECHO, "--time", "0.5", "--format", "json"]);
    assert_eq!(frames["time"][12], 0.5);
    assert_eq!(column(&frames, "heard")[12], one["outputs"]["heard"]["value"]);
    assert_eq!(json(&["run", ECHO, "--frame", "12", "--format", "json"]), one);
}

#[test]
fn a_custom_feature_is_given_by_name() {
    let graph = document(
        "feature.mill.json",
        "f32",
        r#"{ "type": "context.feature", "set": { "name": "wind", "type": "f32" } }"#,
        "f32",
    );
    assert_eq!(seen(&["run", &graph, "--feature", "wind=2.5"]), "y = 2.5\n");
    expect_seen(
        &["run", &graph],
        expect![[r#"
        exit code 2
        stderr:
        error: output `y` needs wind, which the request does not provide (read by n)
          help: give it, --feature wind=VALUE
    "#]],
    );
    expect_seen(
        &["run", &graph, "--feature", "win=2.5"],
        expect![[r#"
            exit code 2
            stderr:
            error: the graph reads no feature called `win`
              help: did you mean `wind`?
        "#]],
    );
    expect_seen(
        &["run", &graph, "--feature", "time=2.5"],
        expect![[r#"
            exit code 2
            stderr:
            error: `time` is set by a flag of its own
              help: give --time
        "#]],
    );
}

#[test]
fn the_clock_needs_no_flag() {
    let graph = document("clock.mill.json", "f64", r#"{ "type": "context.real_time" }"#, "f64");
    let json = json(&["run", &graph, "--format", "json"]);
    assert!(json["outputs"]["y"]["value"].as_f64().is_some_and(|seconds| seconds > 1.0e9));
}

#[test]
fn a_document_without_outputs_is_reported() {
    let graph = file("silent.mill.json", r#"{"millstream": 2}"#);
    expect_seen(
        &["run", &graph],
        expect![[r#"
            stderr:
            the document has no outputs, so nothing was computed
              help: declare what to compute: "outputs": {"out": {"type": "f32", "from": "node.value"}}
        "#]],
    );
}

#[test]
fn numbers_print_so_that_they_read_back() {
    let graph = document(
        "bits.mill.json",
        "f64",
        r#"{ "type": "control.pass", "in": { "value": { "input": "x" } } }"#,
        "f64",
    );
    for x in [0.1 + 0.2, f64::MIN_POSITIVE, 5e-324, -0.0, f64::MAX] {
        let json = json(&["run", &graph, "--in", &format!("x={x:e}"), "--format", "json"]);
        let back = json["outputs"]["y"]["value"].as_f64().expect("a number");
        assert_eq!(back.to_bits(), x.to_bits());
    }
    assert_eq!(seen(&["run", &graph, "--in", "x=-inf"]), "y = \"-inf\"\n");
}

#[test]
fn a_node_that_fails_is_named_and_the_other_outputs_are_shown() {
    let graph = file(
        "fails.mill.json",
        r#"{
  "millstream": 2,
  "inputs": { "x": { "type": "list<f32>", "default": [] } },
  "outputs": {
    "n": { "type": "i32", "from": "length.value" },
    "first": { "type": "f32", "from": "first.value" }
  },
  "nodes": {
    "length": { "type": "list.length", "in": { "list": { "input": "x" } } },
    "first": { "type": "list.first", "in": { "list": { "input": "x" } } }
  }
}"#,
    );
    expect_seen(
        &["run", &graph],
        expect![[r#"
        exit code 3
        n = 0
        stderr:
        error: first: an empty list has no first item
          help: add an item to the list, or switch to another value where `list.length` is 0
        output `first` has no value
    "#]],
    );
    let json = json(&["run", &graph, "--format", "json"]);
    assert_eq!(json["outputs"]["first"]["failed"], true);
    assert_eq!(json["failures"][0]["path"], "first");
}

#[test]
fn long_lists_become_tables_and_short_ones_stay_inline() {
    let wave =
        |n: &str| seen(&["run", "examples/square_wave.mill", "--in", &format!("samples={n}")]);
    expect![[r#"
        wave = [0.0, -9.841348e-7, 1.9682695e-6]
    "#]]
    .assert_eq(&wave("3"));
    expect![[r#"
        item        wave
           0         0.0
           1   1.0031409
           2    1.048078
           3   0.9805956
           4  0.95191133
           5   1.1205072
           6   -1.120507
           7  -0.9519112
        ... 4 more rows

              count       min        mean      max      distribution
        wave     12  -1.12051  5.49270e-7  1.12051  █▂     ▂▂     ▂█

         1.12051 ┤ ⠀⠀⠀⠀⠀⡠⠤⠤⠤⠒⠒⠒⠒⠒⠢⠤⠤⠤⠤⠤⣀⣀⣀⣀⠤⠤⠒⠒⠙⡄⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀
                 ┤ ⠀⠀⠀⠀⡰⠁⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⢱⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀
                 ┤ ⠀⠀⠀⡜⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠈⡆⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀
                 ┤ ⠀⢀⠎⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠸⡀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀
                 ┤ ⢠⠃⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⢣⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⢀
                 ┤ ⠁⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠘⡄⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⡠⠃
                 ┤ ⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⢱⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⡔⠁⠀
                 ┤ ⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⢇⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⢀⠎⠀⠀⠀
                 ┤ ⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠸⡀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⡠⠃⠀⠀⠀⠀
        -1.12051 ┤ ⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⢣⡠⠤⠔⠒⠊⠉⠉⠉⠒⠒⠒⠒⠒⠒⠤⠤⠤⠤⠤⠤⠒⠒⠒⠁⠀⠀⠀⠀⠀
                   0                            item                             11
    "#]]
    .assert_eq(&wave("12"));
}

#[test]
fn every_moment_and_element_has_a_row() {
    let file = file("delays.csv", "delay\n0.1\n0.2\n");
    expect_seen(
        &["run", ECHO, "--in", &format!("delay=@{file}"), "--time", "0..0.2:0.1"],
        expect![[r#"
            time  index                heard
             0.0      0                  0.0
             0.0      1                  0.0
             0.1      0  -0.5219508827258283
             0.1      1  -0.5219508827258283
             0.2      0  -0.4902080454733432
             0.2      1  -0.1770375158378462

                   count        min       mean  max
            heard      6  -0.521951  -0.285191    0
        "#]],
    );
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    use std::io::Read as _;
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_millstream"))
        .args(["run", TONE, "--count", "200000", "--format", "json"])
        .current_dir(crate::root())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built");
    let mut first = [0; 16];
    let mut stdout = child.stdout.take().expect("piped");
    stdout.read_exact(&mut first).expect("something is printed");
    drop(stdout);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_document_may_come_from_the_standard_input() {
    use std::process::{Command, Stdio};
    let document = std::fs::File::open(crate::root().join(TRIANGLE)).expect("it is there");
    let output = Command::new(env!("CARGO_BIN_EXE_millstream"))
        .args(["run", "-"])
        .stdin(Stdio::from(document))
        .output()
        .expect("the binary was built");
    assert_eq!(output.stdout, b"area = 0.5000001\n");
}

#[test]
fn a_list_per_element_may_hold_numbers_that_convert() {
    let pass = r#"{ "type": "control.pass", "in": { "value": { "input": "x" } } }"#;
    let text = "[[1, 2, 3], [4, 5, 6]]";
    let lists = format!("x=@{}", file("lists.json", text));
    for ty in ["list<f32>", "list<i32>", "list<f64>"] {
        let graph = document("lists.mill.json", ty, pass, ty);
        let answer = json(&["run", &graph, "--in", &lists, "--format", "json"]);
        let expected: serde_json::Value = serde_json::from_str(text).expect("JSON");
        let numbers = |json: &serde_json::Value| -> Vec<f64> {
            let rows = json.as_array().expect("lists").iter();
            rows.flat_map(|row| row.as_array().expect("a list"))
                .filter_map(serde_json::Value::as_f64)
                .collect()
        };
        assert_eq!(numbers(&answer["outputs"]["y"]["values"]), numbers(&expected), "{ty}");
    }
    let graph = document("lists.mill.json", "list<f32>", pass, "list<f32>");
    let one = format!("x=@{}", file("one-list.json", "[1, 2, 3]"));
    expect_seen(
        &["run", &graph, "--in", &one],
        expect![[r#"
        y = [1.0, 2.0, 3.0]
    "#]],
    );
    let cut = format!("x=@{}", file("cut.json", "[[1, 2], [3, \"a\"]]"));
    assert!(seen(&["run", &graph, "--in", &cut]).contains("row 2 column `value` holds a value of"));
}

#[test]
fn an_output_requested_twice_is_printed_once() {
    let args = ["run", "examples/triangle_area.mill", "--out", "area", "--out", "area"];
    assert_eq!(seen(&args), "area = 0.5000001\n");
}

#[test]
fn a_binary32_is_rounded_once_from_its_digits() {
    let pass = r#"{ "type": "control.pass", "in": { "value": { "input": "x" } } }"#;
    let graph = document("digits.mill.json", "f32", pass, "f32");
    let csv = format!("x=@{}", file("digits.csv", "x\n7.038531e-26\n"));
    let of_file = json(&["run", &graph, "--in", &csv, "--format", "json"]);
    let of_literal = json(&["run", &graph, "--in", "x=7.038531e-26", "--format", "json"]);
    assert_eq!(of_literal["outputs"]["y"]["value"], of_file["outputs"]["y"]["values"][0]);
}

#[test]
fn evaluators_give_the_same_values() {
    let all = ["run", ECHO, "--time", "0..4:0.05", "--format", "json"];
    let lazy = json(&all);
    for threads in ["1", "3"] {
        for evaluator in ["list", "incremental", "chunked", "parallel", "auto"] {
            let other = [&all[..], &["--evaluator", evaluator, "--threads", threads]].concat();
            assert_eq!(json(&other), lazy, "{evaluator}");
        }
    }
}

/// A document whose input `x` has the range 0 to 10.
fn ranged() -> String {
    file(
        "ranged.mill.json",
        r#"{
  "millstream": 2,
  "inputs": { "x": { "type": "f32", "default": 1, "min": 0, "max": 10 } },
  "outputs": { "y": { "type": "f32", "from": "n.value" } },
  "nodes": { "n": { "type": "math.multiply", "in": { "a": { "input": "x" }, "b": 2 } } }
}
"#,
    )
}

#[test]
fn a_value_outside_its_range_is_used_with_a_warning() {
    let graph = ranged();
    expect_seen(
        &["run", &graph, "--in", "x=100"],
        expect![[r#"
            y = 200.0
            stderr:
            warning: `x` is 100.0, above its maximum 10
              help: the value is used anyway; `millstream check` shows the range
        "#]],
    );
    expect_seen(
        &["run", &graph, "--in", "x=10"],
        expect![[r#"
        y = 20.0
    "#]],
    );
    let data = file("ranged.csv", "x\n1\n-1\n-2\n");
    let given = format!("x=@{data}");
    let output = millstream(&["run", &graph, "--in", &given, "--format", "json"]);
    let told = String::from_utf8(output.stderr).expect("output is UTF-8");
    assert!(told.starts_with(
        "warning: `x` is -1.0 in element 1, below its minimum 0; 2 of 3 elements are \
         outside the range\n"
    ));
    let saved = new_file("ranged_out.csv").display().to_string();
    let output = millstream(&["run", &graph, "--in", &given, "--save", &saved]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("below its minimum 0"));
}

#[test]
fn tables_over_moments_show_frames_or_times_to_the_bit() {
    let shown = seen(&["run", ECHO, "--time", "0..0.4:0.1", "--out", "heard"]);
    assert!(shown.contains("\n0.30000000000000004  "), "{shown}");
    let shown = seen(&["run", ECHO, "--frame", "-1..1", "--out", "heard"]);
    let words: Vec<&str> = shown.split_whitespace().collect();
    assert_eq!((words[0], words[2]), ("frame", "-1"), "{shown}");
    let frames = json(&["run", ECHO, "--frame", "-1..1", "--format", "json"]);
    assert_eq!(frames["frame"], serde_json::json!([-1, 0, 1]));
    let saved = new_file("frames.csv");
    let path = saved.display().to_string();
    assert_eq!(
        code(&["run", ECHO, "--frame", "12..13", "--out", "heard", "--save", &path]),
        Some(0)
    );
    let text = std::fs::read_to_string(saved).expect("it was saved");
    assert!(text.starts_with("frame,time,heard\n12,0.5,"), "{text}");
}

#[test]
fn a_table_is_read_from_a_file_and_saved_as_one() {
    let graph = file(
        "per_group.mill.json",
        r#"{
            "millstream": 2,
            "name": "Sums by group",
            "inputs": { "t": { "type": "table", "default": { "k": ["a"], "x": [1] } } },
            "outputs": { "sums": { "type": "table", "from": "sums.value" } },
            "nodes": {
                "sums": {
                    "type": "table.group", "set": { "columns": ["x"], "how": ["sum"] },
                    "in": { "table": { "input": "t" }, "by": "k" }
                }
            }
        }"#,
    );
    assert_eq!(seen(&["run", &graph]), "row  sums.k  sums.x_sum\n  0     \"a\"           1\n");
    let data = file("groups.csv", "k,x\nb,1\na,2\nb,3\n");
    let given = format!("t=@{data}");
    let result = json(&["run", &graph, "--in", &given, "--format", "json"]);
    assert_eq!(
        result["outputs"]["sums"]["value"],
        serde_json::json!({ "k": ["b", "a"], "x_sum": [4, 2] })
    );
    let saved = new_file("sums.csv").display().to_string();
    assert_eq!(code(&["run", &graph, "--in", &given, "--save", &saved]), Some(0));
    let text = std::fs::read_to_string(&saved).expect("it was written");
    assert_eq!(text, "k,x_sum\nb,4\na,2\n");
    let missing = seen(&["run", &graph, "--in", "t={\"x\": [1]}"]);
    assert!(missing.contains("the table has no column `k`; it has `x`"), "{missing}");
    let wrong = seen(&["run", &graph, "--in", "t=3"]);
    assert!(wrong.contains("`t`: 3 is not a table"), "{wrong}");
}

const VIEW: &str = r#"{
  "millstream": 2,
  "outputs": { "width": { "type": "i32", "from": "parts.width" }, "asked": { "type": "i32", "from": "blurred.value" } },
  "nodes": {
    "view": { "type": "context.footprint" },
    "parts": { "type": "footprint.separate", "in": { "footprint": { "from": "view.value" } } },
    "more": { "type": "footprint.grow", "in": { "footprint": { "from": "view.value" }, "by": 3 } },
    "from": { "type": "math.subtract", "in": { "a": { "from": "parts.max_x" }, "b": { "from": "parts.min_x" } } },
    "blurred": { "type": "context.with_footprint", "in": { "value": { "from": "from.value" }, "footprint": { "from": "more.value" } } }
  }
}
"#;

#[test]
fn a_part_of_a_view_is_evaluated() {
    let path = file("view.mill.json", VIEW);
    expect_seen(
        &["run", &path, "--size", "640x480"],
        expect![[r#"
        width = 640
        asked = 646
    "#]],
    );
    let part = r#"--feature=footprint={"resolution": [640, 480], "crop": [10, 0, 20, 480]}"#;
    expect_seen(
        &["run", &path, part],
        expect![[r#"
        width = 640
        asked = 16
    "#]],
    );
    let text = seen(&["run", &path]);
    assert!(text.starts_with("exit code 2") && text.contains("--size 640x480"), "{text}");
    let text = seen(&["run", &path, "--size", "640"]);
    assert!(text.starts_with("exit code 2") && text.contains("the width and the height"), "{text}");
    let text = seen(&["run", "examples/square_wave.mill", "--size", "6x4"]);
    assert!(text.starts_with("exit code 2") && text.contains("reads the footprint"), "{text}");
}
