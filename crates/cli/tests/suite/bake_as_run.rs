//! `bake` names the same repeats that did not settle, in the same frames, as `run`.

use expect_test::expect;
use serde_json::Value as Json;

use crate::bake::folder;
use crate::bake_told::report;
use crate::{expect_seen, file, json, seen};

/// The warnings of a report for programs: paths with the first frame, the number of frames and the
/// message.
fn warned(report: &Json) -> Vec<(String, Option<i64>, Option<u64>, String)> {
    let warning = |it: &Json| {
        let text = |name: &str| it[name].as_str().unwrap_or_default().to_owned();
        (text("path"), it["where"]["frame"].as_i64(), it["frames"].as_u64(), text("message"))
    };
    let mut all: Vec<_> =
        report["warnings"].as_array().into_iter().flatten().map(warning).collect();
    all.sort();
    all
}

#[test]
fn run_and_bake_name_the_same_repeats_and_frames() {
    // Calls of one group: `a` and `s` through state, `d` inside a loop, and `e` where an input fails.
    let text = "t = convert.to_i32(context.tick())\n\
         a = repeat halve(100, count: convert.to_i32(t == 2 ? 3 : 500), until = \"stable\").x\n\
         b = state.feedback(total, initial: 0)\ntotal = b + a\n\
         c = repeat halve(100, count: 4, until = \"stable\").x\n\
         late = state.feedback(c, initial: 0)\n\
         good = repeat halve(100, count: 500, until = \"stable\").x\n\
         f = repeat halve(100, count: convert.to_i32(t < 2 ? 500 : 4), until = \"stable\").x\n\
         d = for_each each(x: [1.0, 100.0], n: t == 1 ? 5 : 500, items = [\"x\"])\n\
         output y: f32 = total\noutput z: f32 = late\noutput g: f32 = good + f\n\
         output w: list<f32> = d.y\n\
         group halve(x: f32) -> x: f32 {\n  x = x / 2 + 1\n}\n\
         group each(x: f32, n: i32) -> y: f32 = \
         repeat halve(x, count: n, until = \"stable\").x {\n}\n";
    let graph = file("bake-as-run.mill", text);
    let expected = |evaluator: &str| {
        let args = ["run", &graph, "--frame", "0..4", "--format", "json", "--evaluator", evaluator];
        warned(&json(&args))
    };
    let found = expected("lazy");
    let frames: Vec<_> = found.iter().map(|(path, first, n, _)| (&**path, *first, *n)).collect();
    let by_name = [
        ("a", Some(2), Some(3)),
        ("c", Some(1), Some(4)),
        ("d/y", Some(1), Some(1)),
        ("f", Some(2), Some(3)),
    ];
    let is_alike = |((path, first, n), (name, of, count)): (&(&str, _, _), &(&str, _, _))| {
        path.starts_with(name) && (first, n) == (of, count)
    };
    assert!(frames.len() == 4 && frames.iter().zip(&by_name).all(is_alike), "{frames:?}");
    let folder = folder("bake-as-run");
    for _ in 0..2 {
        let baked = report(&[&graph, "--frames", "0..4", "--save", "y.#.json"], &folder);
        assert_eq!(warned(&baked), found, "{baked}");
        for frame in 0..5 {
            std::fs::remove_file(folder.join(format!("y.{frame}.json"))).expect("it was written");
        }
    }
    for evaluator in ["list", "chunked", "incremental"] {
        assert_eq!(expected(evaluator), found, "{evaluator}");
    }
}

#[test]
fn the_frames_of_a_repeat_are_named_although_its_input_fails_in_another() {
    let text = "t = convert.to_i32(context.tick())\nx = list.get([100.0, 100.0, 50.0], t)\n\
         a = repeat halve(x, count: convert.to_i32(t == 1 ? 500 : 3), until = \"stable\").x\n\
         output y: f32 = a\n\
         group halve(x: f32) -> x: f32 {\n  x = x / 2 + 1\n}\n";
    let graph = file("bake-input-fails.mill", text);
    let run = json(&["run", &graph, "--frame", "0..3", "--format", "json"]);
    assert_eq!(run["failures"].as_array().map(Vec::len), Some(1), "{run}");
    let found = warned(&run);
    assert_eq!((found.len(), found[0].1, found[0].2), (1, Some(0), Some(2)), "{run}");
    let baked = report(&[&graph, "--frames", "0..3"], &folder("bake-input-fails"));
    assert_eq!(warned(&baked), found, "{baked}");
}

#[test]
fn frames_are_not_named_in_which_all_outputs_fail_that_read_the_repeat() {
    let text = "t = convert.to_i32(context.tick())\ngot = list.get([1.0, 1.0, 1.0], t)\n\
         a = repeat halve(100, count: convert.to_i32(t < 1 ? 500 : 3), until = \"stable\").x\n\
         output y: f32 = a * got\noutput z: f32 = t\n\
         group halve(x: f32) -> x: f32 {\n  x = x / 2 + 1\n}\n";
    let graph = file("bake-readers-fail.mill", text);
    let run = json(&["run", &graph, "--frame", "0..4", "--format", "json"]);
    let found = warned(&run);
    assert_eq!((found.len(), found[0].1, found[0].2), (1, Some(1), Some(2)), "{run}");
    let baked = report(&[&graph, "--frames", "0..4"], &folder("bake-readers-fail"));
    assert_eq!(warned(&baked), found, "{baked}");
}

#[test]
fn state_that_is_kept_because_the_next_one_fails_keeps_the_repeats_that_it_depends_on() {
    let text = "t = convert.to_i32(context.tick())\nx = list.get([100.0], t == 2 ? 9 : 0)\n\
         c = repeat halve(x, count: convert.to_i32(t == 1 ? 3 : 500), until = \"stable\").x\n\
         late = state.feedback(c, initial: 0)\noutput z: f32 = late\n\
         group halve(x: f32) -> x: f32 {\n  x = x / 2 + 1\n}\n";
    let graph = file("bake-kept-state.mill", text);
    let run = json(&["run", &graph, "--frame", "0..5", "--format", "json"]);
    let found = warned(&run);
    assert_eq!((found.len(), found[0].1, found[0].2), (1, Some(2), Some(2)), "{run}");
    let baked = report(&[&graph, "--frames", "0..5"], &folder("bake-kept-state"));
    assert_eq!(warned(&baked), found, "{baked}");
}

#[test]
fn what_reads_along_frames_or_views_is_refused_where_each_is_baked_by_itself() {
    let text = "k = context.tick()\ns = state.integrate(rate: reduce.mean(context.time(), feature = \"time\"))\n\
         mean = reduce.mean(context.time(), feature = \"time\")\n\
         size = footprint.pixel_size(context.footprint())\n\
         output plain: i64 = k\n\
         output sum: i64 = reduce.sum(k, feature = \"tick\")\n\
         output items: list<i64> = list.collect(k, feature = \"tick\")\n\
         output n: i32 = context.count(feature = \"time\") * 2\n\
         output state: f64 = s\n\
         output off: f64 = context.time() - mean\n\
         output views: f32 = size / reduce.sum(size, feature = \"footprint\")\n\
         output shift: i64 = context.with_tick(tick: k + 1, value: k)\n";
    let graph = file("bake-along.mill", text);
    let folder = folder("bake-along").display().to_string();
    let bake = |output: &str, more: &[&str]| {
        let args = ["bake", &graph, "--out", output, "--save", "o.csv", "-o", &folder];
        seen(&[&args[..], more].concat())
    };
    for output in ["sum", "items", "n", "state", "off"] {
        let told = bake(output, &["--frames", "0..4"]);
        assert!(told.starts_with("exit code 2\n"), "{output}: {told}");
        assert!(told.contains("reads along all frames at once (at `"), "{output}: {told}");
        // One frame is all there are.
        let told = bake(output, &["--frames", "0"]);
        assert!(!told.starts_with("exit code"), "{output}: {told}");
    }
    let of_view: [&[&str]; 3] = [&[], &[], &["--size", "4x4"]];
    for (output, more) in ["plain", "shift", "views"].into_iter().zip(of_view) {
        let told = bake(output, &[&["--frames", "0..4"], more].concat());
        assert!(!told.starts_with("exit code"), "{output}: {told}");
    }
    let views = ["--view", "a=4x4", "--view", "b=4x4*0.5"];
    let args =
        ["bake", &graph, "--frames", "0..1", "-o", &folder, "--save", "o.csv", "--out", "views"];
    expect_seen(
        &[&args[..], &views].concat(),
        expect![[r#"
            exit code 2
            stderr:
            error: output `views` reads along all views at once (at `views_1`), but a bake evaluates each view by itself
              help: bake the other outputs, and evaluate this one with `run`
        "#]],
    );
    let args =
        ["bake", &graph, "--frames", "0..1", "-o", &folder, "--save", "o.csv", "--out", "state"];
    expect_seen(
        &args,
        expect![[r#"
            exit code 2
            stderr:
            error: the state of `s` reads along all frames at once (at `s_rate`), but a bake evaluates each frame by itself
              help: bake the other outputs, and evaluate this one with `run`
        "#]],
    );
}

#[test]
fn state_does_not_change_what_reads_along_all_moments() {
    let text = "k = context.tick()\n\
         output peak: f64 = reduce.maximum(sin(context.time() * 3), feature = \"time\")\n\
         output n: i32 = context.count(feature = \"tick\")\n\
         output off: i64 = k - reduce.minimum(k, feature = \"tick\")\n\
         output ticks: i32 = state.counter()\n";
    let graph = file("state-along.mill", text);
    expect_seen(
        &["run", &graph, "--frame", "0..4", "--format", "json"],
        expect![[r#"
            {"outputs": {
              "peak": {"type": "f64", "axes": [], "value": 0.479425538604203},
              "n": {"type": "i32", "axes": [], "value": 5},
              "off": {"type": "i64", "axes": ["time"], "values": [0, 1, 2, 3, 4]},
              "ticks": {"type": "i32", "axes": ["time"], "values": [1, 2, 3, 4, 5]}},
            "time": [0.0,0.041666666666666664,0.08333333333333333,0.125,0.16666666666666666],
            "frame": [0,1,2,3,4],
            "failures": []}
        "#]],
    );
    let sum = "output sum: i32 = reduce.sum(state.counter(), feature = \"time\")\n";
    let graph = file("state-summed.mill", sum);
    expect_seen(
        &["run", &graph, "--frame", "0..4"],
        expect![[r#"
            exit code 2
            stderr:
            error: output `sum` reads along all moments at once (at `sum`), but it depends on state, which advances from one moment to the next
              help: request other outputs, or one frame at a time
        "#]],
    );
}

/// A document in which element 2 fails in frame 1. The second output reads its state in a scope.
fn failing_element(name: &str) -> String {
    file(
        name,
        "i = context.index()\nk = convert.to_i32(context.tick())\n\
         p = list.generate(item: context.index(), count: 5)\n\
         got = list.get(p, index: k == 1 && i == 2 ? 9 : i)\n\
         sim = simulate(c: i32 = i, g: i32 = got) -> (c: i32 = n) {\n  n = c * 2 + g\n}\n\
         lst = list.generate(item: context.index() * 5 + sim.c, count: 2)\n\
         output o: i32 = sim.c\noutput q: i32 = list.sum(lst)\noutput k: i32 = k\n",
    )
}

/// The rows of a table of all frames, by frame and element.
fn rows(text: &str, output: &str) -> Vec<Json> {
    let row = |line: &str| serde_json::from_str::<Json>(line).expect("it is JSON")[output].clone();
    text.lines().map(row).collect()
}

#[test]
fn elements_beside_one_that_fails_have_the_values_of_run() {
    let graph = failing_element("bake-element-fails.mill");
    let asked = ["--count", "4", "--out", "o", "--out", "k"];
    let args = [&["run", &graph, "--frame", "0..3", "--format", "json"], &asked[..]].concat();
    let run = json(&args);
    let values = run["outputs"]["o"]["values"].as_array().expect("a value per cell").clone();
    assert_eq!(values[12..], [0, 15, 14, 45].map(Json::from));
    let missing: Vec<usize> = (0..16).filter(|cell| values[*cell].is_null()).collect();
    assert_eq!(missing, [6], "{values:?}");
    for save in ["all.jsonl", "one.##.jsonl"] {
        let folder = folder("bake-element-fails");
        let args = [&[&*graph, "--frames", "0..3", "--save", save], &asked[..]].concat();
        let baked = report(&args, &folder);
        let failed = (&baked["failed"], &baked["failures"][0]["where"]["index"]);
        assert_eq!(failed, (&1.into(), &2.into()), "{baked}");
        let found = match save {
            "one.##.jsonl" => {
                let of_frame = |frame| format!("one.{frame:02}.jsonl");
                let read = |frame| std::fs::read_to_string(folder.join(of_frame(frame)));
                (0..4).map(|frame| read(frame).expect("it was written")).collect()
            }
            save => std::fs::read_to_string(folder.join(save)).expect("it was written"),
        };
        assert_eq!(rows(&found, "o"), values, "{save}");
        assert!(rows(&found, "k").iter().all(|k| !k.is_null()), "{save}");
    }
    // Arrays are complete.
    let folder = folder("bake-element-fails-npy");
    let args = [&*graph, "--count", "4", "--out", "o", "--frames", "0..3", "--save", "o.npy"];
    assert_eq!(report(&args, &folder)["failed"], 1);
    let bytes = std::fs::read(folder.join("o.npy")).expect("it was written");
    assert_eq!(bytes.len() % 64, 3 * 4 * 4, "a header, and the other three frames");
}
