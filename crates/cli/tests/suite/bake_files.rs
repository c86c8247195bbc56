//! The files that `bake` writes.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use expect_test::expect;
use serde_json::{Value as Json, json};

use crate::bake::{counts, files, folder, lines, text};
use crate::{code, expect_seen, file, millstream, seen};

/// Two lists; they are equally long in frame 3 alone.
fn two_lists(name: &str) -> String {
    file(
        name,
        "n = convert.to_i32(context.tick())\n\
         output a: list<f32> = list.range(start: 1, count: n)\n\
         output b: list<f32> = list.range(start: 5, count: 3)\n",
    )
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("it was baked")
}

#[test]
fn a_table_of_a_frame_lacks_only_the_output_that_fails() {
    let graph = file(
        "bake-lacks.mill",
        "fps 10\nk = context.tick()\nbad = list.get([1, 2], index: convert.to_i32(k))\n\
         output a: f32 = k * 1.0\noutput b: f32 = bad\n",
    );
    let folder = folder("bake-lacks");
    let path = folder.display().to_string();
    let bake = ["bake", &*graph, "--frames", "0..3", "-o", &path, "--save", "a.#.csv"];
    assert_eq!(code(&bake), Some(3));
    let tables: Vec<String> = (0..4).map(|n| read(&folder.join(format!("a.{n}.csv")))).collect();
    assert_eq!(tables, ["a,b\n0.0,1.0\n", "a,b\n1.0,2.0\n", "a,b\n2.0,\n", "a,b\n3.0,\n"]);
}

#[test]
fn a_depth_that_a_picture_cannot_have_is_refused_first() {
    let graph =
        file("bake-depth.mill", "output field: f32 = context.position().x / 10 + context.time()\n");
    let folder = folder("bake-depth");
    let path = folder.display().to_string();
    for (name, depth) in [("b.#.exr", "8"), ("b.#.jpeg", "16"), ("b.#.webp", "32")] {
        let bake = ["bake", &*graph, "--frames", "0..3", "-o", &path, "--size", "4x4"];
        let told = seen(&[&bake[..], &["--depth", depth, "--save", name]].concat());
        assert!(told.contains("--depth: `b.#."), "{told}");
        assert!(!folder.exists(), "nothing was baked");
    }
}

#[test]
fn lists_of_equal_length_in_some_frames_are_cells_in_all() {
    let graph = two_lists("bake-lists.mill");
    // Whichever frame comes first.
    for (frames, a) in [
        ("2..4", ["[1.0, 2.0]", "[1.0, 2.0, 3.0]", "[1.0, 2.0, 3.0, 4.0]"]),
        ("3..5", ["[1.0, 2.0, 3.0]", "[1.0, 2.0, 3.0, 4.0]", "[1.0, 2.0, 3.0, 4.0, 5.0]"]),
    ] {
        let folder = folder("bake-lists");
        let args = [&*graph, "--frames", frames, "--save", "t.jsonl", "--save", "t.parquet"];
        assert_eq!(counts(&args, &folder), (3, 0));
        let table = read(&folder.join("t.jsonl"));
        let rows: Vec<&str> = table.lines().collect();
        assert_eq!(rows.len(), 3, "{table}");
        for (row, a) in rows.iter().zip(a) {
            assert!(row.contains(&format!("\"a\": {a}, \"b\": [5.0, 6.0, 7.0]")), "{table}");
        }
        assert!(folder.join("t.parquet").exists());
        assert_eq!(files(&folder).len(), 2, "nothing else is left");
    }
    // Where they are equally long in all frames, their items are rows, even in csv.
    let folder = folder("bake-lists-items");
    assert_eq!(counts(&[&*graph, "--frames", "3", "--save", "t.csv"], &folder), (1, 0));
    assert_eq!(read(&folder.join("t.csv")).lines().nth(3), Some("3,0.125,3.0,7.0"));
}

#[test]
fn lists_and_tables_that_are_the_same_in_all_frames_have_rows_too() {
    let inputs = "input l: list<f32> = [1, 2]\ninput k: list<f32> = [3, 4]\n\
                  input t: table = {\"a\": [1, 2]}\n";
    let rows = |columns: &[&str], items: [&str; 2]| {
        let mut table = format!("frame,time,{}\n", columns.join(","));
        for (frame, time) in [(1, "0.041666666666666664"), (2, "0.08333333333333333")] {
            for item in items {
                table += &format!("{frame},{time},{item}\n");
            }
        }
        table
    };
    for (outputs, expected) in [
        ("output y: list<f32> = list.range(0, 1, count: 2)\n", rows(&["y"], ["0.0", "1.0"])),
        ("output y: list<f32> = l\n", rows(&["y"], ["1.0", "2.0"])),
        ("output y: table = t\n", rows(&["a"], ["1", "2"])),
        (
            "output y: list<f32> = l\noutput z: list<f32> = k\n",
            rows(&["y", "z"], ["1.0,3.0", "2.0,4.0"]),
        ),
        (
            "output y: list<f32> = l\noutput z: list<f32> = list.sort(k)\n",
            rows(&["y", "z"], ["1.0,3.0", "2.0,4.0"]),
        ),
    ] {
        let graph = file("bake-same.mill", &format!("{inputs}{outputs}"));
        for cached in [&[][..], &["--no-cache"]] {
            let folder = folder("bake-same");
            let saves = ["--save", "t.csv", "--save", "t.jsonl", "--save", "t.parquet"];
            let bake = ["bake", &*graph, "--frames", "1..2", "-o", &text(&folder)];
            let told = seen(&[&bake[..], &saves, cached].concat());
            assert!(told.starts_with("stderr:\nbaked 2 frames"), "{outputs}: {told}");
            assert_eq!(read(&folder.join("t.csv")), expected, "{outputs}");
            assert_eq!(read(&folder.join("t.jsonl")).lines().count(), 4, "{outputs}");
        }
    }
}

#[test]
fn lists_of_different_length_are_refused_in_the_frame_where_they_differ() {
    let graph = two_lists("bake-unequal.mill");
    let bake = |folder: &Path, saves: &[&str]| {
        let shown = text(folder);
        let saves = saves.iter().flat_map(|name| ["--save", name]);
        let bake = ["bake", &*graph, "--frames", "3..5", "-o", &shown];
        bake.into_iter().chain(saves).map(str::to_owned).collect::<Vec<String>>()
    };
    let told = |args: &[String]| seen(&args.iter().map(String::as_str).collect::<Vec<_>>());
    // The only file: the bake stops.
    let folder = folder("bake-unequal");
    let shown = text(&folder);
    expect![[r#"
        exit code 3
        stderr:
        error: `DIR/t.csv` needs lists of equal length, but `a` has 4 items and `b` has 3 (at frame 4)
          help: write lists of different lengths to jsonl, parquet or arrow, or choose one of them: --out a
    "#]]
    .assert_eq(&told(&bake(&folder, &["t.csv"])).replace(&shown, "DIR"));
    // The report for programs says where.
    let args = [&bake(&folder, &["t.csv"])[..], &["--format".into(), "json".into()]].concat();
    let output = millstream(&args.iter().map(String::as_str).collect::<Vec<_>>());
    let report: Json = serde_json::from_slice(&output.stdout).expect("the report is JSON");
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(report["failures"][0]["where"], json!({ "frame": 4 }), "{report}");
    // The other files are finished, and results computed before are reused.
    let both =
        [&bake(&folder, &["t.csv", "t.jsonl", "f.#.csv"])[..], &["--format".into(), "json".into()]];
    let both: Vec<&str> = both.iter().flat_map(|args| args.iter()).map(String::as_str).collect();
    let output = millstream(&both);
    assert_eq!(output.status.code(), Some(3));
    let report: Json = serde_json::from_slice(&output.stdout).expect("the report is JSON");
    assert_eq!((report["ran"].as_u64(), report["failed"].as_u64()), (Some(0), Some(2)), "{report}");
    assert_eq!(report["failures"][0]["where"], json!({ "frame": 4 }), "{report}");
    let names: Vec<String> = files(&folder).into_keys().collect();
    assert_eq!(names, ["f.3.csv", "t.jsonl"]);
    assert_eq!(read(&folder.join("t.jsonl")).lines().count(), 3);
    let lines = lines(&folder);
    let fates: Vec<&str> = lines.iter().filter_map(|line| line["fate"].as_str()).collect();
    assert_eq!(fates, ["reused", "failed", "failed"]);
    let message = lines[1]["failures"][0]["message"].as_str().expect("it is told");
    assert!(
        message
            .ends_with("f.4.csv` needs lists of equal length, but `a` has 4 items and `b` has 3")
    );
}

#[test]
fn a_view_whose_only_file_is_given_up_leaves_the_others_alone() {
    let graph = file(
        "bake-unequal-view.mill",
        "size = footprint.pixel_size(context.footprint())\n\
         n = convert.to_i32(size < 0.7 ? 3 : context.tick())\n\
         output a: list<f32> = list.range(start: 1, count: n)\n\
         output b: list<f32> = list.range(start: 5, count: 3)\n",
    );
    let folder = folder("bake-unequal-view");
    let shown = text(&folder);
    let views = ["--view", "left=4x3", "--view", "right=4x3*0.5", "--save", "t.csv"];
    let bake = ["bake", &*graph, "--frames", "3..5", "-o", &shown];
    let told = seen(&[&bake[..], &views].concat());
    assert!(told.starts_with("exit code 3\n"), "{told}");
    assert!(told.contains("`a` has 4 items and `b` has 3 (at frame 4, view left)\n"), "{told}");
    assert_eq!(told.matches("(at frame 4, view left)").count(), 1, "{told}");
    assert!(!folder.join("left/t.csv").exists());
    assert_eq!(read(&folder.join("right/t.csv")).lines().count(), 1 + 3 * 3);
}

#[test]
fn what_types_rule_out_is_refused_before_anything_is_computed() {
    let graph = file(
        "bake-types.mill",
        "all = list.range(start: 1, count: 2)\n\
         output xs: list<f32> = all\n\
         output ys: list<f32> = all\n\
         output x: f32 = list.sum(all)\n\
         output t: table = table.make(all)\n",
    );
    let out = |names: &[&'static str]| -> Vec<&'static str> {
        names.iter().flat_map(|name| ["--out", name]).collect()
    };
    let folder = folder("bake-types");
    let refused = |save: &str, outputs: &[&'static str], expected: expect_test::Expect| {
        let shown = text(&folder);
        let bake = ["bake", &graph, "--frames", "0..2", "-o", &shown, "--save", save];
        expect_seen(&[&bake[..], &out(outputs)].concat(), expected);
        assert!(!folder.exists());
    };
    let npy = || {
        expect![[r#"
            exit code 2
            stderr:
            error: `a.npy`: npy cannot hold these columns: `xs`, `ys`
              help: npy holds one column; write several to csv, json or ply
        "#]]
    };
    refused("a.npy", &["xs", "ys"], npy());
    let path = crate::new_file("a.npy").display().to_string();
    let run = seen(&[&["run", &*graph, "--save", &path], &out(&["xs", "ys"])[..]].concat());
    npy().assert_eq(&run.replace(&path, "a.npy"));
    refused(
        "a.csv",
        &["xs", "x"],
        expect![[r#"
            exit code 2
            stderr:
            error: `a.csv`: csv cannot hold the column `xs` of type list<f32>
              help: write lists to jsonl, parquet or arrow
        "#]],
    );
    refused(
        "a.#.csv",
        &["xs", "x"],
        expect![[r#"
            exit code 2
            stderr:
            error: `a.#.csv`: csv cannot hold the column `xs` of type list<f32>
              help: write lists to jsonl, parquet or arrow
        "#]],
    );
    refused(
        "a.jsonl",
        &["x", "t"],
        expect![[r#"
            exit code 2
            stderr:
            error: the table `t` does not fit next to other outputs
              help: choose it with --out NAME
        "#]],
    );
    let named = file("bake-frame.mill", "output frame: f32 = convert.to_f32(context.time())\n");
    let shown = text(&folder);
    let told = seen(&["bake", &named, "--frames", "0..2", "-o", &shown]);
    assert!(told.contains("`frames.csv` column `frame` occurs twice"), "{told}");
    assert!(!folder.exists());
}

#[test]
fn a_table_whose_columns_change_is_given_up_alone() {
    let graph = file(
        "bake-columns.mill",
        "t = table.make(list.range(start: 1, count: 2))\n\
         other = table.rename(t, from: \"a\", to: \"b\")\n\
         output t: table = control.switch(context.tick() < 2, other, t)\n",
    );
    let folder = folder("bake-columns");
    let shown = text(&folder);
    let args = ["bake", &graph, "--frames", "0..3", "-o", &shown, "--save", "t.#.csv"];
    let told = seen(&[&args[..], &["--save", "t.csv"]].concat());
    assert!(told.starts_with("exit code 3\n"), "{told}");
    assert!(told.contains(", but the next rows have "), "{told}");
    assert!(told.contains("`b` (f32) (at frame 2)\n  help: save a file for each frame"), "{told}");
    let names: Vec<String> = files(&folder).into_keys().collect();
    assert_eq!(names, ["t.0.csv", "t.1.csv", "t.2.csv", "t.3.csv"]);
}

#[test]
fn animations_of_a_longer_bake_compute_the_new_frames_alone() {
    let folder = folder("bake-longer");
    let graph = file(
        "bake-longer.mill",
        "p = context.position() + vec3(convert.to_f32(context.time()), 0, 0)\n\
         output picture: image = image.from_field(noise.fbm(p, scale: 0.1))\n",
    );
    let args = |frames| [&*graph, "--size", "64x48", "--save", "a.gif", "--frames", frames];
    assert_eq!(counts(&args("1..3"), &folder), (3, 0));
    assert_eq!(counts(&args("1..6"), &folder), (3, 3));
    let fates: Vec<Json> = lines(&folder).iter().map(|line| line["fate"].clone()).collect();
    assert_eq!(fates, ["reused", "reused", "reused", "ran", "ran", "ran"]);
    let whole = self::folder("bake-longer-whole");
    assert_eq!(counts(&args("1..6"), &whole), (6, 0));
    assert_eq!(files(&folder), files(&whole));
}

#[test]
fn values_that_are_the_same_at_each_pixel_are_rows() {
    let graph = |name: &str, outputs: &str| {
        let text = "p = context.position()\nt = convert.to_f32(context.time())\n";
        file(name, &format!("{text}{outputs}"))
    };
    let baked = |graph: &str, more: &[&str]| {
        let folder = folder("bake-values");
        let (frames, shown) = (["--frames", "0..1", "--size", "8x6"], text(&folder));
        let told = seen(&[&["bake", graph], &frames[..], more, &["-o", &shown]].concat());
        let names = if folder.exists() { files(&folder) } else { BTreeMap::new() };
        (names.into_keys().collect::<Vec<String>>().join(" "), told, folder)
    };
    let both =
        graph("bake-values.mill", "output c: f32 = p.x / 10 + t\noutput mean: f32 = t * 24\n");
    let (names, _, folder) = baked(&both, &[]);
    assert_eq!(names, "frame.0000.png frame.0001.png frames.csv");
    assert!(read(&folder.join("frames.csv")).ends_with("\n1,0.041666666666666664,1.0\n"));
    assert_eq!(baked(&both, &["--out", "c"]).0, "frame.0000.png frame.0001.png");
    let size = "output size: f32 = footprint.pixel_size(context.footprint()) + t\n";
    let (names, told, _) = baked(&graph("bake-size.mill", size), &[]);
    assert_eq!(names, "frames.csv");
    assert!(!told.contains("warning"), "{told}");
    let color = "output shade: color = color.combine(t, 0, 1)\n";
    // A view without effect is refused, whatever is saved.
    for saves in [&[][..], &["--save", "t.csv"]] {
        let (names, told, _) = baked(&graph("bake-color.mill", color), saves);
        assert_eq!(names, "");
        assert!(told.starts_with("exit code 2\n"), "{told}");
        assert!(
            told.contains("error: the view has no effect because no requested output reads"),
            "{told}"
        );
    }
    // Whoever asks for a picture of one color gets it.
    let saved = baked(&graph("bake-color.mill", color), &["--save", "#.png"]);
    assert_eq!(saved.0, "0.png 1.png");
    let sheet = baked(&graph("bake-color.mill", color), &["--sheet"]);
    assert_eq!(sheet.0, "frame.0000.png frame.0001.png sheet.png");
}

#[test]
fn what_cannot_be_is_refused_with_a_hint() {
    let folder = folder("bake-hints");
    let shown = text(&folder);
    let bake = ["bake", "examples/echo.mill", "--frames", "0..9", "-o", &shown];
    let gif = ["--size", "8x6", "--save", "a.gif", "--depth", "16"];
    expect_seen(
        &[&bake[..], &gif].concat(),
        expect![[r#"
            exit code 2
            stderr:
            error: --depth has no effect: animations have 8 bits per channel
              help: leave it out, or save pictures, such as out.####.png
        "#]],
    );
    // The manifest cannot be written where a directory has its name.
    std::fs::create_dir_all(folder.join(".manifest.lock")).expect("it can be made");
    let told = seen(&bake);
    assert!(told.contains(".manifest.lock`: "), "{told}");
    assert!(told.contains("or give another directory with -o DIR"), "{told}");
    let large = [&bake[..], &["--cache-size", "99999999999T"]].concat();
    assert!(seen(&large).contains("too large: write at most 16777215T"), "{}", seen(&large));
    assert_eq!(code(&large), Some(2));
}

#[test]
fn a_file_that_is_not_as_a_bake_wrote_it_is_never_removed() {
    let graph = file(
        "bake-foreign.mill",
        "input xs: list<f32> = [1, 2]\nx = list.get(xs, convert.to_i32(context.tick()))\n\
         output e: f32 = x\noutput m: image = image.from_field(color(x, 0, 0))\n",
    );
    let folder = folder("bake-foreign");
    let shown = text(&folder);
    let saves = "--size 4x4 --sheet --save e.csv --save e.npy --save p.#.png --save q.#.json";
    let saves: Vec<&str> = saves.split(' ').collect();
    let bake = |more: &[&str]| {
        let bake = ["bake", &*graph, "--frames", "0..1", "-o", &shown, "--format", "json"];
        let output = millstream(&[&bake[..], &saves, more].concat());
        serde_json::from_slice::<Json>(&output.stdout).expect("the report is JSON")
    };
    assert_eq!(bake(&[])["failed"], 0);
    // Another length, and the same length with other bytes.
    let mine = ["sheet.png", "e.csv", "e.npy", "p.0.png", "q.1.json"];
    for (i, name) in mine.iter().enumerate() {
        let path = folder.join(name);
        let mut bytes = std::fs::read(&path).expect("it was baked");
        if i % 2 == 0 {
            bytes.push(b'!');
        } else {
            bytes[3] ^= 1;
        }
        std::fs::write(path, bytes).expect("it can be written");
    }
    let failed = bake(&["--in", "xs=[]"]);
    let names = |list: &Json| {
        let names = list.as_array().expect("it is a list").iter();
        let mut names: Vec<String> =
            names.map(|it| it.as_str().expect("a name").to_owned()).collect();
        names.sort();
        names
    };
    let mut expected = mine.map(str::to_owned);
    expected.sort();
    assert_eq!(names(&failed["kept"]), expected, "{failed}");
    assert_eq!(names(&failed["removed"]), ["p.1.png", "q.0.json"], "{failed}");
    assert_eq!(files(&folder).into_keys().collect::<Vec<_>>(), expected);
    // It is told once; from then on they are files that no bake wrote.
    let again = bake(&["--in", "xs=[]"]);
    assert_eq!((&again["kept"], &again["removed"]), (&json!([]), &json!([])), "{again}");
    assert_eq!(files(&folder).len(), mine.len());
    let told =
        seen(&["bake", &graph, "--frames", "0", "-o", &shown, "--save", "e.csv", "--out", "e"]);
    assert!(told.contains("saved "), "a bake still writes its files: {told}");
}

#[test]
fn a_field_in_a_table_needs_a_position_or_a_picture() {
    let graph = file("bake-field.mill", "output c: f32 = context.position().x / 10\n");
    let folder = text(&folder("bake-field"));
    let bake = ["bake", &*graph, "--frames", "0..2", "-o", &folder, "--save", "t.csv"];
    let run = ["run", &*graph, "--save", "csv:-"];
    for args in [&bake[..], &run] {
        expect_seen(
            &[args, &["--size", "4x3"]].concat(),
            expect![[r#"
                exit code 2
                stderr:
                error: the outputs depend on the position, which a view provides only for pictures
                  help: save a picture, such as png or exr, which shows the value at each pixel; or leave out --size and --view, and give one position: --feature position=[0,0,0]
            "#]],
        );
        let told = seen(args);
        assert!(told.contains("needs position, which the request does not provide"), "{told}");
        assert!(told.contains("--feature position=[0,0,0], or save a picture"), "{told}");
        let given = [args, &["--feature", "position=[0,0,0]"]].concat();
        assert_eq!(code(&given), Some(0), "the advice can be followed");
    }
    let picture = [&bake[..6], &["--size", "4x3", "--save", "c.#.exr"]].concat();
    assert_eq!(code(&picture), Some(0), "the advice can be followed");
}

#[test]
fn tables_are_written_again_under_new_names_of_columns() {
    let folder = folder("renamed_columns");
    std::fs::create_dir_all(&folder).expect("it can be made");
    let document = |outputs: &str| {
        let path = folder.join("lists.mill");
        let text = format!(
            "t = convert.to_i32(context.tick())\nl = list.generate(t, count: 2)\n\
             m = list.generate(t + 1, count: 2)\n{outputs}"
        );
        std::fs::write(&path, text).expect("it can be written");
        path
    };
    let to = folder.join("baked");
    let table = |outputs: &str, args: &[&str]| {
        let path = text(&document(outputs));
        let usual = [&*path, "--frames", "0..1", "--save", "t.####.csv"];
        counts(&[&usual, args].concat(), &to);
        let table = std::fs::read_to_string(to.join("t.0001.csv")).expect("it was written");
        table.lines().take(2).collect::<Vec<_>>().join("/")
    };
    let [a, b] = ["output a: list<i32> = l\n", "output b: list<i32> = m\n"];
    assert_eq!(table(&format!("{a}{b}"), &[]), "a,b/1,2");
    let exchanged = "output b: list<i32> = l\noutput a: list<i32> = m\n";
    assert_eq!(table(exchanged, &[]), "b,a/1,2");
    assert_eq!(table(exchanged, &["--out", "a"]), "a/2");
    assert_eq!(table("output c: list<i32> = m\n", &[]), "c/2");
}

#[test]
fn a_file_that_a_killed_bake_of_another_version_replaced_is_written_again() {
    let (first, other) = (folder("bake-undone"), folder("bake-undone-edit"));
    let of = |slope: &str| {
        let name = format!("bake-undone-{slope}.mill");
        file(&name, &format!("t = context.time()\noutput y: f64 = t * {slope}\n"))
    };
    let (one, two) = (of("2"), of("3"));
    let args = |graph: &str| [graph, "--frames", "0..3", "--save", "y.#.npy"].map(str::to_owned);
    let bake = |graph: &str, folder: &Path| {
        let args = args(graph);
        counts(&args.each_ref().map(|arg| &**arg), folder)
    };
    assert_eq!(bake(&one, &first), (4, 0));
    let expected = files(&first);
    bake(&two, &other);
    // A bake of the edited document that was killed after it replaced a file leaves this line.
    let line = std::fs::read_to_string(other.join("manifest.jsonl")).expect("it is there");
    let frame = line.lines().find(|line| line.contains("\"y.2.npy\"")).expect("it is listed");
    let frame: Json = serde_json::from_str(frame).expect("it is JSON");
    let writing = format!("{}\n", json!({ "writing": frame["files"] }));
    let manifest = std::fs::OpenOptions::new().append(true).open(first.join("manifest.jsonl"));
    manifest.and_then(|mut file| file.write_all(writing.as_bytes())).expect("it can be written");
    // The kill may have come before the file got its name.
    assert_eq!(bake(&one, &first), (0, 4));
    assert_eq!(files(&first), expected);
    let manifest = std::fs::OpenOptions::new().append(true).open(first.join("manifest.jsonl"));
    manifest.and_then(|mut file| file.write_all(writing.as_bytes())).expect("it can be written");
    std::fs::copy(other.join("y.2.npy"), first.join("y.2.npy")).expect("it can be written");
    assert_ne!(files(&first), expected);
    assert_eq!(bake(&one, &first), (1, 3));
    assert_eq!(files(&first), expected);
    assert_eq!(bake(&one, &first), (0, 4));
}

#[test]
fn an_array_of_lists_has_axes_for_frames_and_items() {
    let text = "t = convert.to_i32(context.tick())\n\
         output even: list<i32> = list.generate(context.index() + 100 * t, count: 3)\n\
         output uneven: list<i32> = list.generate(context.index(), count: t)\n\
         output places: list<vec3> = list.generate(vec3(t, 0, 0), count: 2)\n";
    let graph = file("bake-list-array.mill", text);
    let folder = folder("bake-list-array");
    let baked = |output: &str, frames: &str| {
        let args = ["--out", output, "--save", "o.npy", "-o", &self::text(&folder)];
        seen(&[&["bake", &*graph, "--frames", frames], &args[..]].concat())
    };
    let shape = || {
        let bytes = std::fs::read(folder.join("o.npy")).expect("it was saved");
        let header = String::from_utf8_lossy(&bytes[..128]).into_owned();
        let shape = header.split("'shape': ").nth(1).and_then(|it| it.split_once(", }"));
        (shape.expect("headers have shapes").0.to_owned(), bytes[128..].to_vec())
    };
    baked("even", "0..3");
    let values = (0..4).flat_map(|frame: i32| (0..3).map(move |item| item + 100 * frame));
    let bytes: Vec<u8> = values.flat_map(i32::to_le_bytes).collect();
    assert_eq!(shape(), ("(4, 3, )".to_owned(), bytes));
    baked("even", "2");
    assert_eq!(shape().0, "(1, 3, )");
    baked("places", "0..3");
    assert_eq!(shape().0, "(4, 2, 3, )");
    let told = baked("uneven", "1..3");
    assert!(told.starts_with("exit code 3\n"), "{told}");
    let why = "o.npy` needs equally many items in each frame, but `uneven` has 1 item in frame 1 and \
               2 in frame 2";
    assert!(told.contains(why), "{told}");
    assert!(told.contains("write lists of different lengths to csv, jsonl or parquet"), "{told}");
    assert!(!folder.join("o.npy").exists(), "the file of the earlier bake is removed");
}

#[test]
fn two_names_of_one_file_are_refused() {
    let graph = file("bake-shared-name.mill", "output n: i32 = convert.to_i32(context.tick())\n");
    let folder = folder("bake-shared-name");
    for (frames, is_shared) in [("1..3", true), ("3..5", false)] {
        let shown = text(&folder);
        let args = ["bake", &graph, "--frames", frames, "--save", "n.#.csv", "--save", "n.2.csv"];
        let output = millstream(&[&args[..], &["-o", &shown]].concat());
        let told = String::from_utf8_lossy(&output.stderr);
        let expected = "`n.2.csv` and `n.#.csv` are the same file in frame 2";
        assert_eq!(told.contains(expected), is_shared, "{told}");
        assert_eq!(output.status.code(), Some(if is_shared { 2 } else { 0 }), "{told}");
    }
}
