//! The files that `bake` writes.

use expect_test::expect;
use serde_json::Value as Json;

use crate::bake::{counts, files, folder, lines, text};
use crate::{code, expect_seen, file, seen};

/// Two lists; they are equally long in frame 3 alone.
fn two_lists(name: &str) -> String {
    file(
        name,
        "n = convert.to_i32(context.tick())\n\
         output a: list<f32> = list.range(start: 1, count: n)\n\
         output b: list<f32> = list.range(start: 5, count: 3)\n",
    )
}

fn read(path: &std::path::Path) -> String {
    std::fs::read_to_string(path).expect("it was baked")
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
    // Csv cannot hold lists in cells.
    let folder = text(&self::folder("bake-lists-csv"));
    let told = seen(&["bake", &graph, "--frames", "3..4", "--save", "t.csv", "-o", &folder]);
    assert!(told.starts_with("exit code 2\n"), "{told}");
    assert!(told.contains("csv cannot hold the column `a` of type list<f32>\n"), "{told}");
    assert!(told.contains("help: write lists to jsonl, parquet or arrow"), "{told}");
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
        let names: Vec<String> = files(&folder).into_keys().collect();
        (names.join(" "), told, folder)
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
    let (names, told, _) = baked(&graph("bake-color.mill", color), &[]);
    assert_eq!(names, "frames.csv");
    assert!(told.contains("warning: the view has no effect"), "{told}");
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
