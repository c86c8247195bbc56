//! `bake` names the same repeats that did not settle, in the same frames, as `run`.

use serde_json::Value as Json;

use crate::bake::folder;
use crate::bake_told::report;
use crate::{file, json};

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
