//! Bakes and runs of documents with state in scopes, or with state that no output reads.

use std::path::Path;

use serde_json::Value as Json;

use crate::bake::{counts, folder, text};
use crate::{file, millstream, seen};

/// The last row of a table of a bake of one output.
fn baked((graph, out): (&str, &str), frames: &str, folder: &Path) -> String {
    let args = ["bake", graph, "--out", out, "--frames", frames, "--save", "out.csv"];
    let told = seen(&[&args[..], &["-o", &text(folder)]].concat());
    assert!(told.starts_with("stderr:\nbaked"), "{told}");
    let table = std::fs::read_to_string(folder.join("out.csv")).expect("it was saved");
    table.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn state_that_no_requested_output_reads_does_not_matter_to_a_bake() {
    // The state in the group is read by nothing, and needs an index of its own.
    let graph = file(
        "bake-unread-state.mill",
        "h = g(context.index() * 2)\n\
         output list: list<f32> = list.generate(h.y, count: 3)\n\
         output sum: f32 = state.integrate(convert.to_f32(context.tick()))\n\
         output plain: i32 = convert.to_i32(context.tick())\n\
         group g(x: f32) -> y: f32 {\n  s = state.smooth(x)\n  y = x\n}\n",
    );
    let run = |out: &str| seen(&["run", &graph, "--out", out, "--frame", "3"]);
    assert_eq!(run("list"), "list = [0.0, 2.0, 4.0]\n");
    assert_eq!(run("plain"), "plain = 3\n");
    let folder = folder("bake-unread-state");
    assert_eq!(baked((&graph, "list"), "0..3", &folder), "3,0.125,4.0");
    assert!(baked((&graph, "sum"), "0..3", &folder).starts_with("3,0.125,0.125"));
    // Nothing is played, so frames before the start are as good as others.
    assert!(run("plain").starts_with("plain"));
    assert!(baked((&graph, "plain"), "-3..-2", &folder).starts_with("-2,"));
}

#[test]
fn state_that_cannot_be_computed_reads_no_state_in_scopes() {
    let graph = file(
        "bake-uncalled-state.mill",
        "s = state.feedback(s + 1 + context.index(), initial: 0, type = \"i32\")\n\
         output m: list<i32> = list.generate(s, count: 3)\n\
         more = list.sum(list.generate(s, count: 5))\n\
         output u: i32 = state.feedback(more + context.index(), initial: 0, type = \"i32\")\n",
    );
    assert_eq!(seen(&["run", &graph, "--out", "m", "--frame", "3"]), "m = [3, 6, 9]\n");
    let folder = folder("bake-uncalled-state");
    assert_eq!(baked((&graph, "m"), "0..3", &folder), "3,0.125,9");
    let refused = seen(&["run", &graph, "--out", "u", "--frame", "3"]);
    assert!(refused.contains("needs index"), "{refused}");
}

#[test]
fn a_change_beside_state_in_scopes_does_not_bake_it_again() {
    let graph = |count: i32, factor: i32, other: i32| {
        let text = format!(
            "s = state.feedback(s + 1 + context.index(), initial: 0, type = \"i32\")\n\
             output x: i32 = list.sum(list.generate(s, count: {count})) * {factor}\n\
             r = state.feedback({other} + context.index(), initial: 0, type = \"i32\")\n\
             output y: i32 = list.sum(list.generate(r, count: 2))\n"
        );
        file("bake-cones.mill", &text)
    };
    let folder = folder("bake-cones");
    let bake = |graph: &str, out: &str| {
        counts(&[graph, "--frames", "0..9", "--out", out, "--save", "out.csv"], &folder)
    };
    let first = graph(3, 1, 1);
    assert_eq!((bake(&first, "x"), bake(&first, "y")), ((10, 0), (10, 0)));
    let other = graph(3, 1, 2);
    assert_eq!((bake(&other, "x"), bake(&other, "y")), ((0, 10), (10, 0)));
    // A factor changes the output alone, the number of items its state too; the values are right.
    for (count, last) in [(3, "9,0.375,108"), (4, "9,0.375,180")] {
        let graph = graph(count, 2, 2);
        assert_eq!(bake(&graph, "x"), (10, 0));
        assert_eq!(baked((&graph, "x"), "0..9", &folder), last);
        assert_eq!(bake(&graph, "y"), (0, 10));
    }
}

#[test]
fn the_failure_of_state_that_only_reads_the_same_state_is_not_told() {
    let graph = file(
        "bake-failing-caller.mill",
        "input l: list<i32> = [0, 0]\nt = convert.to_i32(context.tick())\n\
         s = state.feedback(s + 1 + context.index(), initial: 0, type = \"i32\")\n\
         output m: list<i32> = list.generate(s, count: 3)\n\
         more = list.sum(list.generate(s, count: 5)) + list.get(l, t == 2 ? 9 : 0)\n\
         output u: i32 = state.feedback(more, initial: 0, type = \"i32\")\n",
    );
    for frame in ["2", "5"] {
        let told = seen(&["run", &graph, "--out", "m", "--frame", frame]);
        assert!(told.starts_with("m = ["), "{told}");
    }
    let folder = folder("bake-failing-caller");
    for _ in 0..2 {
        assert_eq!(baked((&graph, "m"), "0..5", &folder), "5,0.20833333333333334,15");
    }
    let told = seen(&["run", &graph, "--out", "u", "--frame", "5"]);
    assert!(told.contains("(at frame 2, which was replayed)"), "{told}");
}

#[test]
fn outputs_whose_state_is_read_in_contradicting_contexts_have_no_value() {
    let axes = "t = convert.to_i32(context.tick())\nd = state.delay(t)\n\
                here = context.with_tick(d, tick: convert.to_i64(context.index() + 4))\n\
                output a: list<i32> = list.generate(here, count: 2)\n\
                output b: i32 = context.with_tick(d, tick: 10)\noutput t: i32 = t\n";
    let endless = "earlier = time.shift(a + 1, by: -1)\n\
                   output a: f32 = state.feedback(earlier, initial: convert.to_f32(context.time()))\n\
                   output b: f32 = a * 2\noutput t: i32 = convert.to_i32(context.tick())\n";
    for (text, why) in [(axes, "lie along different axes"), (endless, "unlimited number")] {
        let graph = file("contradicting.mill", text);
        let told = seen(&["run", &graph, "--frame", "2"]);
        assert!(told.starts_with("exit code 3\n") && told.contains(why), "{told}");
        for part in ["`a` has no value", "`b` has no value", "t = 2\n"] {
            assert!(told.contains(part), "{told}");
        }
    }
}

#[test]
fn a_failure_of_an_earlier_bake_is_told_with_its_element_and_the_next_step() {
    let graph = file(
        "bake-told-again.mill",
        "t = convert.to_i32(context.tick())\n\
         item = list.get(list.range(0, 1, count: 3), index: t == 1 ? context.index() + 2 : 0)\n\
         output sum: f32 = state.integrate(item)\n",
    );
    let folder = folder("bake-told-again");
    let args = ["bake", &*graph, "--frames", "2..3", "--count", "2", "--save", "out.####.csv"];
    let bake = || {
        let told = seen(&[&args[..], &["-o", &text(&folder)]].concat());
        let lines = told.lines().filter(|line| line.contains("error:") || line.contains("help:"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let first = bake();
    assert!(first[0].contains("(at frame 1, which was replayed, index 1)"), "{first:?}");
    assert!(first[1].contains("help:"), "{first:?}");
    assert_eq!(bake(), first);
}

#[test]
fn rows_keep_the_outputs_that_have_values() {
    let graph = file(
        "bake-gaps.mill",
        "input l: list<f32> = [1, 2]\ninput n: list<i32> = [1, 2]\n\
         t = convert.to_i32(context.tick())\n\
         output a: f32 = list.get(l, t == 1 ? 9 : 0)\n\
         output b: vec2 = vec2(1, list.get(l, t == 2 ? 9 : 1))\n\
         output c: i32 = list.get(n, t == 1 ? 9 : 1)\n",
    );
    let folder = folder("bake-gaps");
    let names = ["gaps.csv", "gaps.json", "gaps.jsonl", "gaps.parquet", "gaps.arrow"];
    let saves = names.iter().flat_map(|name| ["--save", name]).collect::<Vec<&str>>();
    let shown = text(&folder);
    let args = ["bake", &*graph, "--frames", "0..2", "-o", &shown, "--format", "json"];
    let output = millstream(&[&args[..], &saves].concat());
    let report: Json = serde_json::from_slice(&output.stdout).expect("the report is JSON");
    assert_eq!((&report["failed"], &report["ran"]), (&2.into(), &1.into()), "{report}");
    assert_eq!(report["failures"].as_array().map(Vec::len), Some(3), "{report}");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("it was saved");
    let table = read("gaps.csv");
    let rows: Vec<&str> = table.lines().map(|row| row.split_once(',').expect("a row").1).collect();
    let rows: Vec<&str> = rows.iter().map(|row| row.split_once(',').expect("a row").1).collect();
    assert_eq!(rows, ["a,b.x,b.y,c", "1.0,1.0,2.0,2", ",1.0,2.0,", "1.0,,,2"]);
    let rows: Vec<Json> =
        read("gaps.jsonl").lines().map(|row| row.parse().expect("it is JSON")).collect();
    assert_eq!(
        (&rows[1]["a"], &rows[1]["c"], &rows[2]["b"]),
        (&Json::Null, &Json::Null, &Json::Null)
    );
    let whole: Json = read("gaps.json").parse().expect("it is JSON");
    assert_eq!(whole.as_array(), Some(&rows));
    // All others read back as the same numbers, with NaN in the gaps.
    let reader = file(
        "bake-gaps-read.mill",
        "input a: f64 = 0\ninput c: f64 = 0\noutput a: f64 = a\noutput c: f64 = c\n",
    );
    let read_back = |name: &str| {
        let path = folder.join(name).display().to_string();
        let (a, c) = (format!("a=@{path}"), format!("c=@{path}"));
        seen(&["run", &reader, "--in", &a, "--in", &c, "--format", "json"])
    };
    let expected = read_back("gaps.csv");
    assert!(expected.contains("nan"), "{expected}");
    for name in &names[1..] {
        assert_eq!(read_back(name), expected, "{name}");
    }
}

#[test]
fn a_frame_without_any_value_has_no_row() {
    let graph = file(
        "bake-no-row.mill",
        "input l: list<f32> = [1, 2]\nt = convert.to_i32(context.tick())\n\
         output a: f32 = list.get(l, t == 1 ? 9 : 0)\noutput b: f32 = a + 1\n",
    );
    let folder = folder("bake-no-row");
    let args = ["bake", &*graph, "--frames", "0..2", "-o", &text(&folder), "--save", "rows.csv"];
    let told = seen(&args);
    assert!(told.contains("frame 1 was not written to rows.csv:"), "{told}");
    let table = std::fs::read_to_string(folder.join("rows.csv")).expect("it was saved");
    assert_eq!(table.lines().count(), 3, "{table}");
}

#[test]
fn nodes_and_outputs_that_are_not_requested_do_not_change_when_state_advances() {
    let advancing = "d = state.counter(context.tick() >= 0)\n\
                     output o: i32 = control.switch(context.tick() > 2, -1, d)\n";
    let alone = file("bake-advancing.mill", advancing);
    let run =
        |graph: &str| seen(&["run", graph, "--out", "o", "--frame", "0..5", "--format", "json"]);
    let expected = run(&alone);
    assert!(expected.contains("-1") && expected.contains('6'), "{expected}");
    let unread = "z = context.with_tick(d, tick: 9)\n";
    let asked_not = "output z: i32 = context.with_tick(d, tick: 9)\n";
    for (name, more) in [("bake-unread.mill", unread), ("bake-not-asked.mill", asked_not)] {
        let graph = file(name, &format!("{advancing}{more}"));
        assert_eq!(run(&graph), expected, "{more}");
        let folder = folder(&name.replace(".mill", ""));
        assert!(baked((&graph, "o"), "0..5", &folder).ends_with(",6"), "{more}");
    }
    // State that nothing reads does not reach other state in its own context.
    let delayed = "k = state.delay(convert.to_f64(context.tick()))\n\
                   output o: f64 = context.with_tick(k, tick: 5)\n";
    let alone = file("bake-delayed.mill", delayed);
    let graph = file("bake-delayed-twice.mill", &format!("{delayed}d1 = state.delay(k)\n"));
    assert_eq!(run(&graph), run(&alone));
}

#[test]
fn renaming_nodes_with_state_in_scopes_bakes_nothing_again() {
    // Two nodes look the same, and one reads the state of another.
    let text = "first = state.integrate(convert.to_f32(context.index()))\n\
        second = state.integrate(convert.to_f32(context.index()))\n\
        third = state.feedback(third + first + 1, initial: 0, type = \"f32\")\n\
        sums = list.generate(first, count: 3)\n\
        rest = list.generate(second + third, count: 4)\n\
        output o: f32 = list.sum(sums) + list.sum(rest) * 10\n\
        output p: list<f32> = list.generate(first, count: 2)\n\
        output q: list<f32> = list.generate(third, count: 2)\n";
    let folder = folder("bake-renamed-scopes");
    let bake = |name: &str, text: &str| {
        let graph = file(name, text);
        let args = [&*graph, "--frames", "0..9", "--save", "x.####.json"];
        let run = seen(&["run", &graph, "--frame", "9", "--format", "json"]);
        (counts(&args, &folder), run)
    };
    let (counted, expected) = bake("bake-scoped-names.mill", text);
    assert_eq!(counted, (10, 0));
    // The new names have another order, and two nodes swap theirs.
    let renamed = text.replace("first", "zeta").replace("second", "first").replace("third", "a");
    assert_eq!(bake("bake-scoped-renamed.mill", &renamed), ((0, 10), expected.clone()));
    let (inner, _) = text.split_at(text.find("output").expect("there are outputs"));
    let grouped = format!(
        "all = part()\noutput o: f32 = all.o\noutput p: list<f32> = all.p\n\
         output q: list<f32> = all.q\n\
         group part() -> (o: f32, p: list<f32>, q: list<f32>) {{\n{inner}\
         o = list.sum(sums) + list.sum(rest) * 10\n\
         p = list.generate(first, count: 2)\nq = list.generate(third, count: 2)\n}}\n"
    );
    assert_eq!(bake("bake-scoped-grouped.mill", &grouped), ((0, 10), expected));
    for (from, to) in
        [("+ 1", "+ 2"), ("count: 3", "count: 5"), ("second + third", "first + third")]
    {
        let changed = text.replace(from, to);
        assert_eq!(bake("bake-scoped-changed.mill", &changed).0, (10, 0), "{to}");
    }
}

#[test]
fn state_that_decides_where_other_state_is_called_is_part_of_its_key() {
    let graph = |rate: i32| {
        let text = format!(
            "s = state.counter(context.index() >= 0)\n\
             n = state.feedback(n + {rate}, initial: 0, type = \"i32\")\n\
             output o: list<i32> = list.generate(context.tick() > 7 ? s : 0, count: 6)\n\
             output p: list<i32> = list.generate(s, count: n)\n"
        );
        file("bake-deciding.mill", &text)
    };
    let folder = folder("bake-deciding");
    let bake = |graph: &str| {
        let args = [graph, "--frames", "8..9", "--save", "x.####.json"];
        (counts(&args, &folder), crate::bake::files(&folder))
    };
    assert_eq!(bake(&graph(0)).0, (2, 0));
    let (counted, found) = bake(&graph(1));
    assert_eq!(counted, (2, 0));
    std::fs::remove_dir_all(&folder).expect("it is there");
    std::fs::create_dir_all(&folder).expect("it is gone");
    let (_, fresh) = bake(&graph(1));
    for (name, bytes) in fresh.iter().filter(|(name, _)| name.starts_with("x.")) {
        assert_eq!(found.get(name), Some(bytes), "{name}");
    }
}

#[test]
fn how_a_document_is_written_does_not_bake_state_in_scopes_again() {
    let (time, tick) = ("t = context.time()\n", "g = convert.to_f32(context.tick())\n");
    let next = "s = state.feedback(s + convert.to_f32(t) + g + context.index(), initial: 0, \
                type = \"f32\")\n";
    let sum = "output o: f32 = list.sum(list.generate(s, count: 3))\n";
    let grouped = format!("group p() -> s: f32 {{\n{next}{tick}{time}}}\n");
    let of_group = format!("p = p()\n{}", sum.replace("(s,", "(p.s,"));
    let own = "output o: f32 = s\n";
    let in_scope = "output p: list<f32> = list.generate(s, count: 5)\n";
    let failing = "output p: f32 = list.get(list.range(0, 1, count: 3), index: 9)\n";
    let [a, b] = ["bake-written", "bake-written-2"].map(folder);
    for (folder, text, expected) in [
        (&a, [time, tick, next, sum].concat(), (10, 0)),
        (&a, [sum, next, tick, time].concat(), (0, 10)),
        (&a, [&grouped, &*of_group].concat(), (0, 10)),
        (&a, [time, tick, next, sum, failing].concat(), (0, 10)),
        (&b, [time, tick, next, own].concat(), (10, 0)),
        (&b, [in_scope, time, tick, next, own].concat(), (0, 10)),
        // Frame 0 has the same time at any rate.
        (&b, ["fps 25\n", time, tick, next, own].concat(), (9, 1)),
        (&a, ["fps 25\n", time, tick, next, sum].concat(), (10, 0)),
    ] {
        let graph = file("bake-written.mill", &text);
        let args = [&*graph, "--frames", "0..9", "--count", "3", "--out", "o"];
        let counted = counts(&[&args[..], &["--save", "x.####.json"]].concat(), folder);
        assert_eq!(counted, expected, "{text}");
    }
}
