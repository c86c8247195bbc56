//! Which files `bake` writes, and what they hold.

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
