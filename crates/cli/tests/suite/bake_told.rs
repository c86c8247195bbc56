//! What `bake` tells about frames: where nodes failed, and which repeats did not settle.

use std::path::Path;

use expect_test::expect;
use serde_json::{Value as Json, json};

use crate::bake::{counts, files, folder, lines, text};
use crate::{file, millstream, seen};

/// The report of a bake for programs, whatever its exit code.
pub(crate) fn report(args: &[&str], folder: &Path) -> Json {
    let shown = text(folder);
    let output = millstream(&[&["bake"], args, &["-o", &shown, "--format", "json"]].concat());
    serde_json::from_slice(&output.stdout).expect("the report is JSON")
}

const VIEWS: [&str; 4] = ["--view", "left=4x3", "--view", "right=4x3*0.5"];

#[test]
fn a_failure_names_frame_and_view() {
    // The right view fails from frame 2 on.
    let graph = file(
        "bake-view-fails.mill",
        "size = footprint.pixel_size(context.footprint())\n\
         n = size < 0.7 ? 2 - convert.to_i32(context.tick()) : 1\n\
         output first: f32 = list.first(list.range(start: 7, count: n))\n",
    );
    let folder = folder("bake-view-fails");
    let args = [&[&*graph, "--frames", "1..2"], &VIEWS[..]].concat();
    let shown = text(&folder);
    let told = seen(&[&["bake"], &args[..], &["-o", &shown]].concat());
    assert!(
        told.contains("frame 2 of view right was not written to frames.csv:\nerror: "),
        "{told}"
    );
    assert_eq!(told.matches("was not written").count(), 1, "{told}");
    let report = report(&args, &folder);
    let place = json!({ "frame": 2, "view": "right" });
    assert_eq!(report["failures"].as_array().map(Vec::len), Some(1), "{report}");
    assert_eq!(report["failures"][0]["where"], place, "{report}");
    assert!(report["failures"][0]["message"].as_str().is_some_and(|it| it.contains("empty list")));
    let lines = lines(&folder.join("right"));
    assert_eq!(lines[1]["failures"], report["failures"], "{lines:?}");
    assert!(lines[0].get("failures").is_none(), "{lines:?}");
    let header = std::fs::read_to_string(folder.join("right/manifest.jsonl")).expect("it is there");
    assert!(header.lines().next().is_some_and(|line| line.contains("\"view\":\"right\"")));
}

#[test]
fn a_failure_in_loops_over_lists_has_the_outer_and_the_inner_item() {
    let graph = file(
        "failing_inner_loop.mill",
        "input rows: list<list<f32>> = [[0, 1], [1, 0, 9], [9]]\n\
         all = for_each(row: list<f32> of rows) -> value: list<f32> = ys.y {\n  \
           ys = for_each(x: f32 of row) -> y: f32 {\n    \
             y = list.get([1.0, 2.0], index: convert.to_i32(x))\n  \
           }\n\
         }\n\
         output w: list<list<f32>> = all\n",
    );
    let told = seen(&["run", &graph]);
    assert!(told.contains(" (at item 1, item 2)\n") && !told.contains("in item"), "{told}");
    let run = millstream(&["run", &graph, "--format", "json"]);
    let run: Json = serde_json::from_slice(&run.stdout).expect("the report is JSON");
    assert_eq!(run["failures"][0]["where"], json!({ "item": [1, 2] }), "{run}");
    let folder = folder("failing_inner_loop");
    let report = report(&[&graph, "--frames", "3..3", "--save", "w.####.json"], &folder);
    let place = json!({ "frame": 3, "item": [1, 2] });
    assert_eq!(report["failures"][0]["where"], place, "{report}");
    assert_eq!(lines(&folder)[0]["failures"], report["failures"]);
}

/// A document with a simulation whose tick fails in frame 3, and others.
fn failing_in_frame_3(name: &str, index: u32) -> String {
    // Where the list has no such item, the sum stays as it is.
    let text = format!(
        "n = convert.to_i32(context.tick())\n\
         item = list.get(list.range(0, 1, count: 3), index: convert.to_i32(n == 3 ? {index} : 1))\n\
         output sum: f32 = state.integrate(item)\n\
         output before: f64 = state.feedback(convert.to_f64(item + n), initial: 0)\n\
         output x: i32 = state.counter()\n\
         output w: i32 = n * 10\n"
    );
    file(name, &text)
}

/// Bakes one output. The values by frame, the frames of the failures, and the frames that failed.
fn baked_output(
    (graph, folder): (&str, &Path),
    (out, frames): (&str, &str),
    more: &[&str],
) -> (String, Vec<i64>, Vec<i64>) {
    let args = [graph, "--frames", frames, "--save", "out.csv", "--out", out];
    let report = report(&[&args[..], more].concat(), folder);
    let table = std::fs::read_to_string(folder.join("out.csv")).unwrap_or_default();
    let values = table.lines().skip(1).filter_map(|row| row.rsplit(',').next());
    let values = values.collect::<Vec<_>>().join(" ");
    let failures = report["failures"].as_array().into_iter().flatten();
    let told = failures.filter_map(|failure| failure["where"]["frame"].as_i64()).collect();
    let failed = lines(folder).into_iter().filter(|line| line["fate"] == "failed");
    let failed: Vec<i64> = failed.filter_map(|line| line["frame"].as_i64()).collect();
    assert_eq!(report["failed"], failed.len(), "{report}");
    (values, told, failed)
}

#[test]
fn a_frame_whose_tick_fails_fails_in_every_bake() {
    let failing = failing_in_frame_3("bake-tick-fails.mill", 9);
    let mended = failing_in_frame_3("bake-tick-mended.mill", 2);
    let folder = folder("bake-tick-fails");
    let baked = |graph: &str, frames: &str, more: &[&str]| {
        baked_output((graph, &folder), ("before", frames), more)
    };
    // The output is the state before the tick, so it has a value in the frame that fails.
    let all = || ("0.0 1.0 2.0 3.0 3.0 5.0 6.0".to_owned(), vec![3], vec![3]);
    assert_eq!(baked(&failing, "0..6", &[]), all());
    assert_eq!(baked(&failing, "3..3", &[]), ("3.0".into(), vec![3], vec![3]));
    assert_eq!(baked(&failing, "0..6", &[]), all());
    assert_eq!(baked(&failing, "0..6", &["--no-cache"]), all());
    // Without the failure, the state goes on; and the other way round.
    let good = || ("0.0 1.0 2.0 3.0 5.0 5.0 6.0".to_owned(), vec![], vec![]);
    assert_eq!(baked(&mended, "0..6", &[]), good());
    assert_eq!(baked(&failing, "0..6", &[]), all());
    assert_eq!(baked(&mended, "0..6", &["--no-cache"]), good());
}

#[test]
fn a_tick_that_fails_before_the_frames_is_told_if_they_depend_on_it() {
    let failing = failing_in_frame_3("bake-tick-fails-before.mill", 9);
    let folder = folder("bake-tick-fails-before");
    let baked = |out: &str, more: &[&str]| baked_output((&failing, &folder), (out, "5..6"), more);
    for more in [&[][..], &[], &["--no-cache"]] {
        assert_eq!(baked("sum", more).1, [3]);
        assert_eq!(baked("x", more), ("6 7".into(), vec![], vec![]));
        assert_eq!(baked("w", more), ("50 60".into(), vec![], vec![]));
    }
    // Frames that are left alone tell it too.
    let args = [&failing, "--frames", "5..6", "--save", "sum.####.csv", "--out", "sum"];
    for n_reused in [0, 2] {
        let report = report(&args, &folder);
        assert_eq!(report["failures"][0]["where"]["frame"], 3, "{report}");
        assert_eq!((&report["failed"], &report["reused"]), (&0.into(), &n_reused.into()));
    }
}

#[test]
fn frames_that_are_left_alone_tell_a_failure_in_another_frame_of_their_bake() {
    let failing = failing_in_frame_3("bake-tick-fails-among.mill", 9);
    let folder = folder("bake-tick-fails-among");
    let bake = |frames: &str| {
        let args = [&*failing, "--frames", frames, "--save", "sum.####.csv", "--out", "sum"];
        report(&args, &folder)
    };
    let at = |report: &Json| {
        let failures = report["failures"].as_array().into_iter().flatten();
        failures.map(|failure| failure["where"]["frame"].clone()).collect::<Vec<_>>()
    };
    let all = bake("0..6");
    assert_eq!((at(&all), &all["failed"]), (vec![3.into()], &1.into()), "{all}");
    for frames in ["4..6", "0..6", "5..5"] {
        let again = bake(frames);
        assert_eq!((at(&again), &again["ran"]), (vec![3.into()], &0.into()), "{again}");
    }
    let shown = text(&folder);
    let told = seen(&[
        "bake",
        &failing,
        "--frames",
        "4..6",
        "--save",
        "sum.####.csv",
        "--out",
        "sum",
        "-o",
        &shown,
    ]);
    assert!(told.starts_with("exit code 3\n"), "{told}");
    assert!(told.contains("(at frame 3, which was replayed)"), "{told}");
}

#[test]
fn outputs_that_do_not_depend_on_a_failure_are_baked() {
    let failing = failing_in_frame_3("bake-others-of-failed.mill", 9);
    let folder = folder("bake-others-of-failed");
    let outputs = ["--out", "sum", "--out", "x", "--out", "w"];
    let args = [&failing, "--frames", "0..6", "--save", "all.csv"];
    let all = report(&[&args[..], &outputs].concat(), &folder);
    assert_eq!((&all["failed"], &all["ran"]), (&1.into(), &6.into()), "{all}");
    // They are stored as well.
    let args = [&failing, "--frames", "0..6", "--save", "xw.csv", "--out", "x", "--out", "w"];
    let others = report(&args, &folder);
    assert_eq!((&others["failed"], &others["reused"]), (&0.into(), &7.into()), "{others}");
    let table = std::fs::read_to_string(folder.join("xw.csv")).expect("it was saved");
    assert!(table.lines().nth(4).is_some_and(|row| row.ends_with(",4,30")), "{table}");
}

#[test]
fn outputs_beside_a_failure_that_read_the_same_state_in_a_scope_are_baked() {
    let graph = file(
        "bake-beside-failed.mill",
        "input L: list<i32> = [1, 2, 3]\nt = convert.to_i32(context.tick())\n\
         a = list.sum(list.generate(\n  \
         state.feedback(value: t + context.index(), type = \"i32\"), count: 3))\n\
         item = list.get(L, index: t == 2 ? 9 : 0)\n\
         s = simulate(x: i32 = 0, z: i32 = item + a) -> x: i32 = y {\n  y = x + z\n}\n\
         output o: i32 = a\noutput p: i32 = s.x\n",
    );
    let folder = folder("bake-beside-failed");
    for _ in 0..2 {
        let baked = |out, frames| baked_output((&graph, &folder), (out, frames), &[]);
        assert_eq!(baked("o", "0..3"), ("0 3 6 9".into(), vec![], vec![]));
        assert_eq!(baked("p", "0..3").1, [2]);
        assert_eq!(baked("p", "3..3").1, [2]);
    }
}

#[test]
fn values_of_state_that_is_reached_with_two_contexts_are_not_written() {
    let graph = file(
        "bake-two-contexts.mill",
        "t = convert.to_i32(context.tick())\nd = state.delay(t)\n\
         output a: i32 = context.with_tick(d, tick: 10)\noutput d: i32 = d\noutput t: i32 = t\n",
    );
    let told = seen(&["run", &graph, "--frame", "0..4"]);
    assert!(told.starts_with("exit code 3\n"), "{told}");
    assert!(told.contains("`a` has no value") && told.contains("`d` has no value"), "{told}");
    let folder = folder("bake-two-contexts");
    let save = ["--save", "out.####.csv", "--out", "a", "--out", "d"];
    for _ in 0..2 {
        let baked = report(&[&[&*graph, "--frames", "0..2"], &save[..]].concat(), &folder);
        assert_eq!(baked["failed"], 3, "{baked}");
        assert!(!folder.join("out.0001.csv").exists(), "{baked}");
    }
    // Alone, each of them has values.
    let baked = baked_output((&graph, &folder), ("d", "0..2"), &[]);
    assert_eq!(baked, ("0 0 1".into(), vec![], vec![]));
}

#[test]
fn an_animation_names_the_frame_in_which_its_pictures_change_size() {
    let graph = file(
        "bake-sizes.mill",
        "n = context.tick() < 3 ? 8 : 4\n\
         field = image.from_field(context.position().x / 10)\n\
         output picture: image = image.resize(field, width: convert.to_i32(n), height: 6)\n",
    );
    let bake = |folder: &Path, saves: &[&str], views: &[&str]| {
        let shown = text(folder);
        let saves = saves.iter().flat_map(|name| ["--save", name]);
        let args = [&["bake", &*graph, "--frames", "0..4"][..], views].concat();
        seen(&args.into_iter().chain(saves).chain(["-o", &shown]).collect::<Vec<_>>())
            .replace(&shown, "DIR")
    };
    for ending in ["gif", "apng", "webp"] {
        let folder = folder("bake-sizes");
        let name = format!("a.{ending}");
        let told = bake(&folder, &[&name], &["--size", "8x6"]);
        assert!(told.starts_with("exit code 3\n"), "{told}");
        let why = format!(
            "`DIR/{name}` has pictures of 8x6 pixels, but the next one is 4x6 (at frame 3)\n"
        );
        assert!(told.contains(&why), "{told}");
        assert!(!folder.join(&name).exists());
        let lines = lines(&folder);
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines.iter().all(|line| line["files"] == json!([])), "{lines:?}");
        // The computed results are in the cache.
        let rest = ["--size", "8x6", "--frames", "0..2", "--save", "b.#.png"];
        let rest: Vec<&str> = [&[&*graph], &rest[..]].concat();
        assert_eq!(counts(&rest, &folder), (0, 3));
    }
    // The pictures are written even where the animation is given up.
    let folder = folder("bake-sizes-others");
    let told = bake(&folder, &["a.gif", "p.#.png"], &["--view", "left=8x6"]);
    assert!(told.contains("but the next one is 4x6 (at frame 3, view left)\n"), "{told}");
    let names: Vec<String> = files(&folder.join("left")).into_keys().collect();
    assert_eq!(names, ["p.0.png", "p.1.png", "p.2.png", "p.3.png", "p.4.png"]);
    let lines = lines(&folder.join("left"));
    let listed = lines.iter().flat_map(|line| line["files"].as_array().expect("it has files"));
    let listed: Vec<&str> = listed.filter_map(|file| file["name"].as_str()).collect();
    assert_eq!(listed, names);
}

/// A repeat that does not settle in frames 2 and 3, and an output that does not depend on it.
fn unsettled(name: &str) -> String {
    let text = "n = convert.to_i32(context.tick())\n\
         slow = repeat halve(100, count: convert.to_i32(n < 2 ? 500 : n + 1), until = \"stable\").x\n\
         output y: list<f32> = list.range(start: slow, count: 300)\n\
         output z: list<i32> = list.range(start: n, count: 3)\n\
         group halve(x: f32) -> x: f32 {\n  x = x / 2 + 1\n}\n";
    file(name, text)
}

#[test]
fn a_repeat_that_does_not_settle_is_told_again_when_frames_are_reused() {
    let graph = unsettled("bake-again.mill");
    let folder = folder("bake-again");
    let args = [&*graph, "--frames", "0..3", "--save", "y.#.json"];
    let shown = text(&folder);
    let warning = expect![[r#"
        warning: slow_1: did not become stable within its maximum of rounds, 3 (at frame 2; in 2 frames, with 3 to 4 rounds)
          help: raise `count` or `tolerance`; the output `settled` tells where it did
    "#]];
    let warnings = |more: &[&str]| {
        let told = seen(&[&["bake"], &args[..], &["-o", &shown], more].concat());
        let lines = told.lines().skip_while(|line| !line.starts_with("warning"));
        let lines: Vec<&str> = lines.take_while(|line| !line.starts_with("baked")).collect();
        if lines.is_empty() { String::new() } else { lines.join("\n") + "\n" }
    };
    warning.assert_eq(&warnings(&[]));
    // Frames that are left alone, frames read from the cache, and both for programs.
    warning.assert_eq(&warnings(&[]));
    for frame in 0..4 {
        std::fs::remove_file(folder.join(format!("y.{frame}.json"))).expect("it was written");
    }
    warning.assert_eq(&warnings(&[]));
    assert_eq!(lines(&folder)[1].get("warnings"), None);
    assert_eq!(lines(&folder)[2]["warnings"][0]["where"], json!({ "frame": 2 }));
    let report = report(&args, &folder);
    assert_eq!((report["ran"].as_u64(), report["reused"].as_u64()), (Some(0), Some(4)));
    assert_eq!(report["warnings"][0]["frames"], 2, "{report}");
    assert_eq!(report["warnings"][0]["where"], json!({ "frame": 2 }), "{report}");
    let message = report["warnings"][0]["message"].as_str().expect("it is told");
    assert!(message.ends_with("rounds, 3"), "the message is that of the frame: {message}");
    // Another bake that shares the cache, and an output without the repeat.
    let other = self::folder("bake-again-other");
    let cache = text(&folder.join("cache"));
    let shared = ["--frames", "2", "--cache", &cache, "--save", "o.#.json"];
    let of = |outputs: &[&str]| self::report(&[&[&*graph], &shared[..], outputs].concat(), &other);
    let y = of(&["--out", "y"]);
    assert_eq!(
        (y["ran"].as_u64(), y["warnings"][0]["where"]["frame"].as_i64()),
        (Some(0), Some(2))
    );
    let z = of(&["--out", "z"]);
    assert_eq!((z["ran"].as_u64(), z["warnings"].clone()), (Some(0), json!([])), "{z}");
}

#[test]
fn a_warning_of_several_views_names_the_view() {
    let graph = file(
        "bake-view-warns.mill",
        "size = footprint.pixel_size(context.footprint())\n\
         output y: f32 = repeat halve(100, count: convert.to_i32(size < 0.7 ? 3 : 500), until = \"stable\").x\n\
         group halve(x: f32) -> x: f32 {\n  x = x / 2 + 1\n}\n",
    );
    let folder = folder("bake-view-warns");
    let args = [&[&*graph, "--frames", "1..2"], &VIEWS[..]].concat();
    let shown = text(&folder);
    for _ in 0..2 {
        let told = seen(&[&["bake"], &args[..], &["-o", &shown]].concat());
        assert_eq!(told.matches("warning").count(), 1, "{told}");
        let at = "rounds, 3 (in 2 frames, the first at frame 1, view right)\n";
        assert!(told.contains(at), "{told}");
    }
    let report = report(&args, &folder);
    let place = json!({ "frame": 1, "view": "right" });
    assert_eq!(report["warnings"][0]["where"], place, "{report}");
    assert_eq!(lines(&folder.join("right"))[0]["warnings"][0]["where"], place);
    assert!(lines(&folder.join("left"))[0].get("warnings").is_none());
}

#[test]
fn a_repeat_that_only_other_outputs_use_is_not_told() {
    let text = "t = convert.to_i32(context.tick())\n\
                a = repeat halve(100, count: 3, until = \"stable\").x\n\
                output z: f64 = state.feedback(a, initial: 0)\n\
                output n: i32 = state.counter()\noutput w: i32 = t * 10\n\
                group halve(x: f64) -> x: f64 {\n  x = x / 2 + 1\n}\n";
    let graph = file("bake-repeat-of-others.mill", text);
    let folder = folder("bake-repeat-of-others");
    for (output, n_warnings) in [("z", 1), ("n", 0), ("w", 0)] {
        let args = [&*graph, "--frames", "0..3", "--out", output, "--save", "out.csv"];
        let report = report(&args, &folder);
        assert_eq!(report["warnings"].as_array().map(Vec::len), Some(n_warnings), "{output}");
        let told = seen(&["run", &graph, "--frame", "2", "--out", output]);
        assert_eq!(told.contains("did not become stable"), n_warnings > 0, "{told}");
    }
}

#[test]
fn files_that_no_bake_wrote_remain_if_there_are_no_values_for_them() {
    let graph =
        file("bake-others.mill", "xs = list.of(several [1, 2])\noutput e: f32 = list.get(xs, 9)\n");
    let folder = folder("bake-others");
    std::fs::create_dir_all(&folder).expect("the directory for tests can be written");
    for name in ["a.csv", "q.0000.json", "sheet.png"] {
        std::fs::write(folder.join(name), "mine").expect("it can be written");
    }
    let args = ["--frames", "0..1", "--save", "a.csv", "--save", "q.####.json"];
    for _ in 0..2 {
        let failed = report(&[&[&*graph], &args[..]].concat(), &folder);
        assert_eq!((&failed["failed"], &failed["removed"]), (&2.into(), &json!([])), "{failed}");
        for name in ["a.csv", "q.0000.json", "sheet.png"] {
            assert_eq!(std::fs::read(folder.join(name)).expect("it is there"), b"mine", "{name}");
        }
    }
}

#[test]
fn files_of_an_earlier_bake_go_if_there_are_no_values_for_them() {
    let graph = file(
        "bake-stale.mill",
        "input xs: list<f32> = [1, 2]\nx = list.get(xs, convert.to_i32(context.tick()))\n\
         output e: f32 = x\noutput m: image = image.from_field(color(x, 0, 0))\n",
    );
    let folder = folder("bake-stale");
    let saves = "--save frames.csv --save n.npy --save x.gif --save x.####.png --save q.####.json";
    let saves: Vec<&str> = saves.split(' ').collect();
    let bake = |frames: &str, more: &[&str]| {
        let size = ["--frames", frames, "--size", "4x4", "--sheet"];
        report(&[&[&*graph], &size[..], &saves, more].concat(), &folder)
    };
    let done = bake("0..1", &[]);
    assert_eq!((&done["ran"], &done["removed"]), (&2.into(), &json!([])));
    // Nothing has a value now.
    let failed = bake("0..1", &["--in", "xs=[]"]);
    let all = ["x.0000.png", "q.0000.json", "x.0001.png", "q.0001.json"];
    let all = [&all[..], &["frames.csv", "n.npy", "x.gif", "sheet.png"]].concat();
    assert_eq!((&failed["failed"], &failed["removed"]), (&2.into(), &json!(all)), "{failed}");
    let messages = failed["failures"].to_string();
    assert!(messages.contains("would have no rows"), "{messages}");
    let left: Vec<String> = files(&folder).into_keys().collect();
    assert!(all.iter().all(|name| !left.iter().any(|it| it == name)), "{left:?}");
    let header = std::fs::read_to_string(folder.join("manifest.jsonl")).expect("it is there");
    let header: Json = serde_json::from_str(header.lines().next().unwrap_or("")).expect("JSON");
    assert_eq!(header["removed"], json!(all));
    assert!(lines(&folder).iter().all(|line| line["files"] == json!([])));
    // They come back with values, and go too if a bake of other frames came between.
    assert_eq!(bake("0..1", &[])["failed"], 0);
    assert_eq!(bake("0", &[])["removed"], json!([]));
    std::fs::write(folder.join("q.0002.json"), "mine").expect("it can be written");
    let failed = bake("0..2", &["--in", "xs=[1]"]);
    assert_eq!((&failed["failed"], &failed["removed"]), (&2.into(), &json!(all[2..4])), "{failed}");
    assert!(folder.join("q.0002.json").exists(), "no bake wrote it");
    assert_eq!(bake("0..1", &[])["failed"], 0);
    let told = seen(&["bake", &graph, "--frames", "5..6", "-o", &text(&folder), "--out", "e"]);
    assert!(told.contains("frames.csv, which had values of an earlier bake"), "{told}");
    // The frame is told, and not its place among those that are computed together.
    assert!(told.contains("error: x: index 5 is outside a list of 2\n"), "{told}");
}

#[test]
fn frames_that_are_left_alone_tell_a_failure_with_its_element() {
    let graph = file(
        "bake-left-element.mill",
        "t = convert.to_i32(context.tick())\nr = list.range(0, 1, count: 3)\n\
         i = context.index() + context.index(level = 1)\n\
         inner = list.sum(list.generate(list.get(r, index: t == 1 ? i + 1 : 0), count: 3))\n\
         output sum: f32 = state.integrate(list.sum(list.generate(inner, count: 3)))\n",
    );
    let folder = folder("bake-left-element");
    let shown = text(&folder);
    let args = ["bake", &*graph, "--frames", "2..3", "-o", &shown, "--save", "x.####.json"];
    let error = || {
        let told = seen(&args);
        told.lines().find(|line| line.contains("error: ")).map(str::to_owned).expect("it fails")
    };
    let first = error();
    assert!(first.contains("at frame 1, which was replayed, item 0, item 2"), "{first}");
    assert_eq!(error(), first);
}

#[test]
fn a_failure_is_stated_once_in_a_line() {
    let graph = file(
        "bake-stated-once.mill",
        "l = list.range(0, 1, count: 3)\n\
         item = list.get(l, index: convert.to_i32(context.tick() > 2 ? 5 : 0))\n\
         output item: f32 = item\noutput sum: f32 = state.integrate(item)\n",
    );
    let folder = folder("bake-stated-once");
    for _ in 0..2 {
        seen(&["bake", &graph, "--frames", "2..4", "-o", &text(&folder)]);
        let frames = lines(&folder).into_iter().map(|line| {
            let failures = line["failures"].as_array().cloned().unwrap_or_default();
            failures.iter().map(|it| it["where"]["frame"].as_i64()).collect::<Vec<_>>()
        });
        let frames: Vec<Vec<Option<i64>>> = frames.collect();
        assert_eq!(frames, [vec![], vec![Some(3)], vec![Some(4), Some(3)]]);
    }
}

#[test]
fn files_that_no_frame_has_values_for_are_not_told_as_saved() {
    let graph = file(
        "bake-none-saved.mill",
        "l = list.range(0, 1, count: 3)\n\
         output a: f32 = list.get(l, index: convert.to_i32(context.tick() > 2 ? 5 : 0))\n",
    );
    let folder = folder("bake-none-saved");
    let bake =
        |frames: &str| report(&[&graph, "--frames", frames, "--save", "x.####.json"], &folder);
    let saved = bake("1..5");
    assert_eq!(
        (&saved["files"], &saved["failed"]),
        (&json!(["x.####.json"]), &json!(3)),
        "{saved}"
    );
    let saved = bake("3..5");
    assert_eq!((&saved["files"], &saved["failed"]), (&json!([]), &json!(3)), "{saved}");
}
