//! `millstream run` where some elements, frames or views of an output fail: the others are shown
//! and saved.

use expect_test::expect;
use serde_json::json;

use crate::{code, expect_seen, file, json, millstream, new_file, seen};

const GET: &str = "input xs: list<f32> = [1, 2, 3, 4]\ninput i: i32 = 0\n\
    got = list.get(xs, index: i)\n\
    output y: f32 = got * 2\noutput n: i32 = convert.to_i32(got)\n";

const TOLD: &str = "error: got: index 9 is outside a list of 4 (at index 2)";

fn graph() -> String {
    file("partial.mill", GET)
}

fn indices() -> String {
    format!("i=@{}", file("partial_indices.csv", "i\n0\n1\n9\n3\n-7\n2\n"))
}

/// Saves outputs with these arguments, where some rows fail. The text of the file, and of the
/// standard error.
fn saved(name: &str, args: &[&str]) -> (Option<String>, String) {
    let path = new_file(name);
    let target = path.display().to_string();
    let ran =
        millstream(&[&["run", &*graph(), "--in", &indices()], args, &["--save", &target]].concat());
    assert_eq!(ran.status.code(), Some(3));
    let told = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(told.matches(TOLD).count(), 1, "{told}");
    let text = std::fs::read(&path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (text, told)
}

#[test]
fn elements_that_fail_are_marked_and_counted() {
    expect_seen(
        &["run", &graph(), "--in", &indices()],
        expect![[r#"
            exit code 3
            index         y         n
                0       2.0         1
                1       4.0         2
                2  (failed)  (failed)
                3       8.0         4
                4  (failed)  (failed)
                5       6.0         3

                      count  min  mean  max
            y  6 (2 failed)    2     5    8
            n  6 (2 failed)    1   2.5    4
            stderr:
            error: got: index 9 is outside a list of 4 (at index 2)
              help: indices start at 0; set `outside` to `clamp` or `wrap` to allow any index
            output `y` lacks 2 of 6 values
            output `n` lacks 2 of 6 values
        "#]],
    );
    let answer = json(&["run", &graph(), "--in", &indices(), "--format", "json"]);
    assert_eq!(answer["outputs"]["n"]["values"], json!([1, 2, null, 4, null, 3]));
    assert_eq!(answer["outputs"]["n"]["missing"], 2);
    assert_eq!(answer["failures"][0]["at"], json!({ "index": 2 }));
}

#[test]
fn rows_of_tables_lack_the_values_that_failed() {
    for block in ["1", "4", "100"] {
        let (csv, told) = saved("partial.csv", &["--block", block]);
        assert_eq!(csv.as_deref(), Some("y,n\n2.0,1\n4.0,2\n,\n8.0,4\n,\n6.0,3\n"), "{block}");
        assert!(told.contains("output `y` lacks 2 of 6 values"), "{told}");
        let (lines, _) = saved("partial.jsonl", &["--block", block]);
        assert!(lines.is_some_and(|it| it.contains("{\"y\": null, \"n\": null}")), "{block}");
        let (array, _) = saved("partial_array.json", &["--block", block, "--out", "y"]);
        assert_eq!(array.map(|it| it.matches("null").count()), Some(2), "{block}");
        for name in ["partial.parquet", "partial.arrow"] {
            let (file, _) = saved(name, &["--block", block]);
            assert!(file.is_some(), "{name}");
            let given = format!("i=@{}:y", new_path(name));
            let read = "input i: f64\noutput z: f64 = i\n";
            let read = ["run", &*self::file("partial_read.mill", read), "--in", &given];
            let again = json(&[&read[..], &["--format", "json"]].concat());
            let z = json!([2.0, 4.0, "nan", 8.0, "nan", 6.0]);
            assert_eq!(again["outputs"]["z"]["values"], z, "{name}");
        }
    }
}

/// The path of a file that was saved.
fn new_path(name: &str) -> String {
    format!("{}/{name}", env!("CARGO_TARGET_TMPDIR"))
}

#[test]
fn arrays_hold_nan_or_are_refused() {
    for block in ["2", "100"] {
        let (floats, _) = saved("partial.npy", &["--out", "y", "--block", block]);
        assert!(floats.is_some(), "{block}");
        let (whole, told) = saved("partial_n.npy", &["--out", "n", "--block", block]);
        assert_eq!(whole, None, "{block}");
        assert!(told.contains("arrays of i32 cannot leave any out"), "{told}");
    }
    let again = ["--format", "json", "--in", &format!("i=@{}", new_path("partial.npy"))];
    let read = file("partial_read_npy.mill", "input i: f32\noutput z: f32 = i\n");
    let again = json(&[&["run", &*read], &again[..]].concat());
    assert_eq!(again["outputs"]["z"]["values"], json!([2.0, 4.0, "nan", 8.0, "nan", 6.0]));
}

#[test]
fn nothing_is_saved_if_all_outputs_fail_in_all_rows() {
    let path = new_file("partial_none.csv");
    let given = format!("i=@{}", file("partial_none_indices.csv", "i\n9\n8\n7\n"));
    for block in ["1", "100"] {
        let target = path.display().to_string();
        let ran =
            millstream(&["run", &graph(), "--in", &given, "--save", &target, "--block", block]);
        let told = String::from_utf8_lossy(&ran.stderr);
        assert!(told.contains("was not written because no output has a value"), "{told}");
        assert_eq!((ran.status.code(), path.exists()), (Some(3), false));
    }
}

/// Outputs of which `z` and `v` fail in every row.
const LOST: &str = "input xs: list<f32> = [1, 2, 3, 4]\ninput i: i32 = 0\n\
    bad = list.get(xs, index: i + 100)\n\
    output y: f32 = list.get(xs, index: i) * 2\noutput z: i32 = convert.to_i32(bad)\n\
    output v: vec3 = vec3(bad, 1, 2)\noutput lost: f32 = bad\noutput p: vec3 = vec3(1, 2, 3) * i\n";

#[test]
fn an_output_that_fails_in_all_rows_leaves_the_others() {
    let graph = file("partial_lost.mill", LOST);
    let given = format!("i=@{}", file("partial_lost_indices.csv", "i\n0\n1\n3\n"));
    let save = |name: &str, outputs: &[&str], block: &str| {
        let path = new_file(name);
        let target = path.display().to_string();
        let outputs = outputs.iter().flat_map(|name| ["--out", name]);
        let args = ["run", &*graph, "--in", &given, "--save", &target, "--block", block];
        let ran = millstream(&args.into_iter().chain(outputs).collect::<Vec<_>>());
        let told = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(3), "{told}");
        (std::fs::read(&path).unwrap_or_default(), told.replace(&target, "FILE"))
    };
    for block in ["1", "2", "100"] {
        let (csv, told) = save("partial_lost.csv", &["z", "y", "v"], block);
        let rows = ["z,y,v.x,v.y,v.z", ",2.0,,,", ",4.0,,,", ",8.0,,,", ""];
        assert_eq!(String::from_utf8_lossy(&csv), rows.join("\n"), "{block}");
        assert!(told.contains("output `z` has no value\noutput `v` has no value\n"), "{told}");
        assert!(told.contains("saved 3 rows to FILE"), "{told}");
        let (lines, _) = save("partial_lost.jsonl", &["z", "y"], block);
        let lines = String::from_utf8_lossy(&lines).into_owned();
        assert!(lines.starts_with("{\"z\": null, \"y\": 2.0}\n"), "{lines}");
        for name in ["partial_lost.parquet", "partial_lost.arrow"] {
            save(name, &["z", "y"], block);
            let given = [format!("z=@{}", new_path(name)), format!("y=@{}", new_path(name))];
            let read = file(
                "partial_lost_read.mill",
                "input y: f32\ninput z: f64\noutput o: f64 = z\noutput q: f32 = y\n",
            );
            let args = ["run", &read, "--in", &given[0], "--in", &given[1], "--format", "json"];
            let again = json(&args);
            assert_eq!(again["outputs"]["o"]["values"], json!(["nan", "nan", "nan"]), "{name}");
            assert_eq!(again["outputs"]["q"]["values"], json!([2.0, 4.0, 8.0]), "{name}");
        }
        // Rows of meshes are complete.
        let (mesh, told) = save("partial_lost.ply", &["p", "lost"], block);
        let mesh = String::from_utf8_lossy(&mesh).into_owned();
        assert!(mesh.contains("element vertex 3") && !mesh.contains("lost"), "{mesh}");
        let left_out = "left out, because rows of meshes need all values: `lost`\n";
        assert!(told.contains(left_out), "{told}");
    }
}

#[test]
fn a_list_without_a_value_is_a_column_beside_other_lists() {
    let text = "input xs: list<f32> = [1, 2]\noutput a: list<f32> = list.reverse(xs)\n\
        n = convert.to_i32(list.get(xs, index: 9))\n\
        output b: list<f32> = list.range(0, 1, count: n)\n";
    let graph = file("partial_lists.mill", text);
    let path = new_file("partial_lists.csv");
    let target = path.display().to_string();
    assert_eq!(code(&["run", &graph, "--save", &target]), Some(3));
    assert_eq!(std::fs::read_to_string(&path).expect("it was saved"), "a,b\n2.0,\n1.0,\n");
}

#[test]
fn statements_that_cannot_be_read_stop_only_what_may_depend_on_them() {
    let run = |wrong: &str, use_of: &str| {
        let text = format!(
            "input y: f32 = 2\nn = y * 2\n{wrong}\noutput ok: f32 = {use_of}\n\
             group half(x: f32) -> v: f32 {{\n  v = x / 2\n}}\n"
        );
        let graph = file("partial_statements.mill", &text);
        let ran = millstream(&["run", &graph, "--out", "ok"]);
        (ran.status.code() == Some(0), String::from_utf8(ran.stdout).expect("text"))
    };
    for wrong in [
        "m = list=.sample(n, y)",
        "m = 3 k = 4",
        "output %o: f32 = 3",
        "output p f32 = 3 output q: f32 = n",
        "input % f32 = 3",
        "}",
        "%%%",
        "= 4",
        "m = (n +",
        "group %g(x: f32) -> v: f32 {\n  v = x\n}",
        "group g(x f32) -> v: f32 {\n  v = x +* 2\n}",
    ] {
        assert_eq!(run(wrong, "half(n) + 1"), (true, "ok = 3.0\n".into()), "{wrong}");
    }
    for (wrong, use_of) in [
        // The broken statement may define a name that the output reads.
        ("m = list=.sample(n, y) n = 3", "n"),
        ("m = 3 `n` = 4", "n"),
        ("output p f32 = 3 input y: f32 = n", "n"),
        ("output p f32 = 3 output ok: f32 = n", "n"),
        ("m = 3 fps 25", "context.time() + n"),
        ("m = 3 group half(x: f32) -> v: f32 {", "half(n)"),
        ("m = 3 pi = 4", "n + pi"),
        ("%%% = 4", "g(n)"),
        ("input % f32 = 3", "k"),
    ] {
        assert_eq!(run(wrong, use_of), (false, String::new()), "{wrong}");
    }
}

#[test]
fn an_output_that_depends_on_an_error_of_the_document_leaves_the_others() {
    let text = "input x: f32 = 2\nb = math.nosuch(x)\noutput o: f32 = x * 2\noutput p: f32 = b\n\
        output field: f32 = context.position().x / 10\n";
    let graph = file("partial_document.mill", text);
    let two = ["run", &*graph, "--out", "p", "--out", "o"];
    let ran = seen(&two).replace(&graph, "GRAPH");
    assert!(ran.starts_with("exit code 3\no = 4.0\nstderr:\nGRAPH:2:5: error"), "{ran}");
    assert!(ran.contains("GRAPH: `o` does not depend on these errors\n"), "{ran}");
    assert!(ran.contains("GRAPH: `p` depends on them and has no value\n"), "{ran}");
    let answer = json(&[&two[..], &["--format", "json"]].concat());
    assert_eq!(answer["outputs"]["p"], json!({ "type": "f32", "failed": true }));
    assert_eq!(answer["outputs"]["o"]["value"], 4.0);
    // A column without values, a plot and a picture of the others, a bake of the others.
    let save = |name: &str, flag: &str, args: &[&str]| {
        let path = new_file(name);
        let target = path.display().to_string();
        assert_eq!(code(&[args, &[flag, &target]].concat()), Some(3), "{name}");
        std::fs::read(&path).expect("it was written")
    };
    assert_eq!(save("partial_document.csv", "--save", &two), b"p,o\n,4.0\n");
    assert!(!save("partial_document.svg", "--plot", &two).is_empty());
    let field = ["run", &*graph, "--out", "p", "--out", "field", "--size", "4x4"];
    assert!(!save("partial_document.png", "--save", &field).is_empty());
    let folder = new_path("partial_document_bake");
    let bake = ["bake", &*graph, "--frames", "1", "-o", &folder, "--out", "o", "--out", "p"];
    assert_eq!(code(&bake), Some(3));
    let table = std::fs::read_to_string(format!("{folder}/frames.csv")).expect("it was baked");
    assert!(table.starts_with("frame,time,o\n1,"), "{table}");
    // Nothing is left of the only output, and a name that is nowhere is told.
    assert_eq!(code(&["run", &graph, "--out", "p"]), Some(1));
    let told = seen(&["run", &graph, "--out", "o", "--out", "q"]).replace(&graph, "GRAPH");
    assert!(told.contains("GRAPH: `q` is not among the outputs\n"), "{told}");
    assert!(told.starts_with("exit code 3\no = 4.0\n"), "{told}");
}

#[test]
fn frames_and_views_fail_each_for_themselves() {
    let graph = file(
        "partial_frames.mill",
        "input xs: list<color> = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]\ninput more: i32 = 0\n\
         k = convert.to_i32(context.tick()) + more\n\
         output pic: image = image.from_field(list.get(xs, index: k))\n",
    );
    let folder = new_path("partial_frames");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the directory for tests can be written");
    let target = format!("{folder}/{{view}}.#.png");
    let views = ["--view", "a=2x2", "--view", "b=3x2", "--in", "more@b=1"];
    let ran =
        millstream(&[&["run", &*graph, "--frame", "1..3", "--save", &target], &views[..]].concat());
    assert_eq!(ran.status.code(), Some(3));
    let told = String::from_utf8_lossy(&ran.stderr);
    assert!(told.contains("(at frame 2, view b)"), "{told}");
    assert!(told.contains("output `pic` lacks 3 of 6 values"), "{told}");
    let entries = std::fs::read_dir(&folder).expect("it was written");
    let names = entries.map(|it| it.expect("it is there").file_name().display().to_string());
    let mut names: Vec<String> = names.collect();
    names.sort();
    assert_eq!(names, ["a.1.png", "a.2.png", "b.1.png"]);
}

#[test]
fn all_evaluators_tell_the_same() {
    let graph = file(
        "partial_product.mill",
        "input xs: list<f32> = [1, 2, 3, 4]\nc = state.counter()\n\
         k = convert.to_i32(context.tick()) * context.index()\n\
         output y: f32 = list.get(xs, index: k)\n\
         output z: f32 = list.get(xs, index: k - 1) + convert.to_f32(c)\n\
         output sum: f32 = reduce.sum(list.get(xs, index: k))\n",
    );
    let ask = |evaluator: &str| {
        let frames = ["--frame", "0..3", "--count", "4", "--evaluator", evaluator];
        json(&[&["run", &*graph, "--format", "json"], &frames[..]].concat())
    };
    let lazy = ask("lazy");
    let missing = |name: &str| lazy["outputs"][name]["missing"].as_u64();
    assert_eq!(["y", "z", "sum"].map(missing), [Some(4), Some(10), Some(2)]);
    for evaluator in ["list", "chunked", "parallel", "incremental", "auto"] {
        assert_eq!(ask(evaluator), lazy, "{evaluator}");
    }
}

/// The values of an output of this text at frames, and what `run` says of them.
fn at_frames(text: &str, frames: &str, output: &str) -> serde_json::Value {
    let path = file("partial_frames.mill", text);
    let answer = json(&["run", &path, "--frame", frames, "--format", "json"]);
    answer["outputs"][output]["values"].clone()
}

#[test]
fn inside_zones_only_the_cells_fail_that_need_the_failing_node() {
    let text = "start_frame 0\ninput xs: list<f32> = [2, 0, 1]\n\
        r = repeat g(a: convert.to_f32(context.tick()), ys: xs, count: 1)\n\
        group g(a: f32, ys: list<f32>) -> a: f32 {\n\
        a = a == 3 ? list.get(ys, index: 9) : a + 1\n}\noutput y: f32 = r.a\n";
    assert_eq!(at_frames(text, "0..5", "y"), json!([1.0, 2.0, 3.0, null, 5.0, 6.0]));
    let text = text.replace("a == 3", "a > 0.5 && a < 4.5");
    assert_eq!(at_frames(&text, "0..6", "y"), json!([1.0, null, null, null, null, 6.0, 7.0]));
    let text = "start_frame 0\ninput xs: list<f32> = [2, 0, 1]\n\
        t = convert.to_f32(context.tick())\n\
        e = for_each(z: f32 of xs, ys: list<f32> = xs, b: f32 = t - 1) -> q: f32 {\n\
        q = z > b ? z : list.get(ys, index: 9)\n}\noutput y: f32 = list.sum(e.q)\n";
    assert_eq!(at_frames(text, "0..2", "y"), json!([3.0, null, null]));
}

#[test]
fn an_output_does_not_fail_because_another_one_does() {
    let text = "start_frame 0\ninput xs: list<f32> = [2, 0, 1]\n\
        n = convert.to_i32(context.tick()) - 2\n\
        v = list.get(xs, index: convert.to_i32(context.tick()) - 1)\n\
        output a: f32 = v\noutput b: f32 = list.sum(list.generate(v, count: n))\n";
    assert_eq!(at_frames(text, "0..4", "a"), json!([null, 2.0, 0.0, 1.0, null]));
    assert_eq!(at_frames(text, "0..4", "b"), json!([0.0, 0.0, 0.0, 1.0, null]));
    assert_eq!(at_frames(text, "0..3", "b"), json!([0.0, 0.0, 0.0, 1.0]));
}

/// Draws a plot of values some of which are missing, and returns the messages and the picture.
fn drawn(args: &[&str], exit: i32) -> (String, String) {
    let plot = new_file("partial.svg");
    let target = plot.display().to_string();
    let ran = millstream(&[&["run"], args, &["--plot", &target]].concat());
    let told = String::from_utf8_lossy(&ran.stderr).replace(&target, "FILE");
    assert_eq!(ran.status.code(), Some(exit), "{told}");
    (told, std::fs::read_to_string(&plot).unwrap_or_default())
}

#[test]
fn a_plot_has_gaps_for_missing_values() {
    // Six elements, of which the third and the fifth fail: three parts of a line, of which two are
    // single points. Integers have no NaN, and have gaps all the same.
    for output in ["y", "n"] {
        let (told, svg) = drawn(&[&graph(), "--in", &indices(), "--out", output], 3);
        let expected = format!(
            "drew FILE: lines of {output} over index\nmissing values: {output} (2 failed)\n"
        );
        assert!(told.ends_with(&expected), "{told}");
        assert_eq!(svg.matches("<circle").count(), 2 * 4, "a disc and a ring for each number");
        let lines = svg
            .lines()
            .filter(|it| it.starts_with("<polyline") && it.contains("stroke-width=\"2\""));
        assert_eq!(lines.count(), 1, "{svg}");
    }
    let scatter = ["--plot-kind", "scatter", "--out", "y", "--out", "n"];
    let (told, svg) = drawn(&[&[&*graph(), "--in", &indices()][..], &scatter].concat(), 3);
    assert!(told.contains("missing values: y (2 failed); n (2 failed)"), "{told}");
    assert_eq!(svg.matches("<circle").count(), 4);
    // A cell of a heat map that fails is as empty as one that is NaN.
    let map = |value: &str, exit: i32| {
        let text = format!(
            "input xs: list<f32> = [1, 2, 3, 4]\nk = convert.to_i32(context.tick()) * context.index()\n\
             output y: f32 = {value}\n"
        );
        let graph = file("partial_map.mill", &text);
        drawn(&[&graph, "--count", "3", "--frame", "0..3"], exit)
    };
    let (failed, empty) = map("list.get(xs, index: k)", 3);
    let (nan, same) = map("k < 4 ? list.get(xs, index: min(k, 3)) : sqrt(-1)", 0);
    assert!(failed.contains("missing values: y (2 failed)"), "{failed}");
    assert!(nan.contains("missing values: y (2 not finite)"), "{nan}");
    assert_eq!(empty, same);
    // Lists that failed are rows without numbers.
    let text = "xs = list.of(several [5, 6])\n\
        output m: list<f32> = list.of(several [1, list.get(xs, index: context.index())])\n";
    let graph = file("partial_rows.mill", text);
    let (told, _) = drawn(&[&graph, "--count", "4", "--out", "m"], 3);
    assert!(told.contains("drew FILE: heat map of m over item and index"), "{told}");
    assert!(told.contains("missing values: m (4 failed)"), "{told}");
    // Without any value there is no plot.
    let graph = file("partial_lost_plot.mill", LOST);
    let (told, svg) = drawn(&[&graph, "--out", "z"], 3);
    assert!(told.contains("FILE was not drawn because no output has a value"), "{told}");
    assert!(svg.is_empty());
}
