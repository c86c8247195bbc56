//! `--save`: files that read back to the computed values.

use std::process::Stdio;
use std::time::{Duration, Instant};

use expect_test::expect;

use crate::{command, file, json, millstream, new_file, seen};

const TRIANGLE: &str = "examples/triangle_area.mill";
const ECHO: &str = "examples/echo.mill";

fn contents(path: &std::path::Path) -> String {
    std::fs::read_to_string(path).expect("it was written")
}

#[test]
fn outputs_become_columns() {
    let path = new_file("areas.csv");
    let name = path.display().to_string();
    let output =
        millstream(&["run", TRIANGLE, "--in", "c=@examples/data/triangles.csv", "--save", &name]);
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout.is_empty());
    expect![[r#"
        area
        0.5000001
        2.000001
        0.8660255
        2.5495098
        2.5495098
        0.5000001
    "#]]
    .assert_eq(&contents(&path));
}

#[test]
fn placeholders_in_the_name_of_a_table_are_filled_in_or_refused() {
    let graph = file(
        "save_place.mill",
        "output s: f32 = footprint.pixel_size(context.footprint()) + convert.to_f32(context.time())\n",
    );
    let path = new_file("place.{view}.###.csv");
    let shown = path.display().to_string();
    let run = |more: &[&str]| seen(&[&["run", &*graph, "--save", &*shown], more].concat());
    let filled = shown.replace("{view}", "left").replace("###", "048");
    let told = run(&["--view", "left=4x3", "--frame", "48"]);
    assert!(told.contains(&format!("saved 1 row to {filled}\n")), "{told}");
    expect![[r#"
        view,s
        left,3.0
    "#]]
    .assert_eq(&contents(std::path::Path::new(&filled)));
    let several = run(&["--view", "left=4x3", "--frame", "1..3"]);
    assert!(several.contains("is one table, which holds all 3 frames\n"), "{several}");
    assert!(several.contains("help: leave out #, or write a table for each with"), "{several}");
    let views = run(&["--view", "left=4x3", "--view", "right=4x3", "--frame", "1"]);
    assert!(views.contains("is one table, which holds all 2 views\n"), "{views}");
    let none = run(&["--size", "4x3", "--frame", "1"]);
    assert!(none.contains("but there is none\n"), "{none}");
    assert!(!path.exists());
}

#[test]
fn moments_and_elements_get_columns() {
    let delays = file("save_delays.csv", "delay\n0.1\n0.2\n");
    let path = new_file("moments.csv");
    let name = path.display().to_string();
    let delays = format!("delay=@{delays}");
    seen(&["run", ECHO, "--in", &delays, "--time", "0..0.1:0.1", "--save", &name]);
    expect![[r#"
        time,index,heard
        0.0,0,0.0
        0.0,1,0.0
        0.1,0,-0.5219508827258283
        0.1,1,-0.5219508827258283
    "#]]
    .assert_eq(&contents(&path));
    seen(&["run", ECHO, "--frame", "0..2", "--save", &name]);
    expect![[r#"
        frame,time,heard
        0,0.0,0.0
        1,0.041666666666666664,0.6744612626270504
        2,0.08333333333333333,-0.5252709594852752
    "#]]
    .assert_eq(&contents(&path));
}

#[test]
fn a_list_becomes_rows() {
    let path = new_file("wave.csv");
    seen(&[
        "run",
        "examples/square_wave.mill",
        "--in",
        "samples=3",
        "--save",
        &path.display().to_string(),
    ]);
    expect![[r#"
        wave
        0.0
        -9.841348e-7
        1.9682695e-6
    "#]]
    .assert_eq(&contents(&path));
}

#[test]
fn saved_values_read_back_to_the_same_bits() {
    let ripple = "examples/ripple.mill";
    let given = "position=@examples/data/torus.obj";
    let answer = json(&["run", ripple, "--in", given, "--format", "json"]);
    let expected = &answer["outputs"]["position"]["values"];
    assert_eq!(expected.as_array().map(Vec::len), Some(512));
    let pass = file(
        "pass.mill.json",
        r#"{ "millstream": 2, "inputs": { "position": { "type": "vec3" } },
             "outputs": { "position": { "type": "vec3", "input": "position" } } }"#,
    );
    for extension in ["csv", "json", "npy", "obj", "ply"] {
        let path = new_file(&format!("ripple.{extension}")).display().to_string();
        let saved = seen(&["run", ripple, "--in", given, "--out", "position", "--save", &path]);
        assert_eq!(saved, format!("stderr:\nsaved 512 rows to {path}\n"));
        let back = json(&["run", &pass, "--in", &format!("position=@{path}"), "--format", "json"]);
        assert_eq!(&back["outputs"]["position"]["values"], expected, "{extension}");
    }
}

#[test]
fn more_rows_than_a_block_are_all_written() {
    let path = new_file("many.npy");
    let name = path.display().to_string();
    let saved = seen(&[
        "run",
        "examples/tone_curve.mill",
        "--count",
        "200001",
        "--in",
        "steps=200001",
        "--out",
        "linear",
        "--save",
        &name,
    ]);
    assert_eq!(saved, format!("stderr:\nsaved 200001 rows to {name}\n"));
    let bytes = std::fs::read(&path).expect("it was written");
    assert_eq!(bytes[bytes.len() - 4..], 1.0_f32.to_le_bytes());
}

#[test]
fn nothing_is_overwritten_when_an_output_fails() {
    let path = file("kept.csv", "as it was\n");
    let graph = file(
        "fails_to_save.mill.json",
        r#"{ "millstream": 2, "outputs": { "y": { "type": "f32", "from": "n.value" } },
             "inputs": { "x": { "type": "list<f32>", "default": [] } },
             "nodes": { "n": { "type": "list.first", "in": { "list": { "input": "x" } } } } }"#,
    );
    let text = seen(&["run", &graph, "--save", &path]).replace(&path, "kept.csv");
    expect![[r#"
        exit code 3
        stderr:
        error: n: an empty list has no first item
          help: add an item to the list, or switch to another value where `list.length` is 0
        output `y` has no value
        kept.csv was not written because no output has a value
    "#]]
    .assert_eq(&text);
    assert_eq!(contents(std::path::Path::new(&path)), "as it was\n");
}

#[test]
fn values_that_a_format_cannot_hold_are_refused() {
    let refused = |name: &str| {
        let path = new_file(name);
        let shown = path.display().to_string();
        let text = seen(&["run", TRIANGLE, "--save", &shown]).replace(&shown, name);
        assert!(!path.exists());
        text
    };
    expect![[r#"
        exit code 2
        stderr:
        error: `area.obj`: obj cannot hold the column `area` of type f32
          help: obj holds `position` (vec3), `normal` (vec3), `texcoord` (vec2) and `color` (color); write others to ply
    "#]].assert_eq(&refused("area.obj"));
    expect![[r#"
        exit code 2
        stderr:
        error: `area.xlsx` has no extension that names a format
          help: give a file with one of the extensions csv, tsv, tab, json, jsonl, ndjson, npy, obj, ply, parquet, pq, arrow, arrows, feather, ipc, gltf, glb, or one of a picture, such as png, jpeg, exr, tiff or webp
    "#]]
    .assert_eq(&refused("area.xlsx"));
    expect![[r#"
        exit code 2
        stderr:
        error: `area` has no extension that names a format
          help: give a file with one of the extensions csv, tsv, tab, json, jsonl, ndjson, npy, obj, ply, parquet, pq, arrow, arrows, feather, ipc, gltf, glb, or one of a picture, such as png, jpeg, exr, tiff or webp
    "#]]
    .assert_eq(&refused("area"));
    let directory = env!("CARGO_TARGET_TMPDIR").to_owned() + "/missing/area.csv";
    let text =
        seen(&["run", TRIANGLE, "--save", &directory]).replace(env!("CARGO_TARGET_TMPDIR"), "tmp");
    expect![[r#"
        exit code 3
        stderr:
        error: cannot write `tmp/missing/area.csv`: No such file or directory (os error 2)
          help: the previous file, if any, is unchanged; check the directory and its free space
    "#]]
    .assert_eq(&text);
}

#[test]
fn leftovers_of_a_killed_save_are_removed_by_the_next_save() {
    let folder = new_file("killed_saves");
    std::fs::create_dir_all(&folder).expect("makes a directory");
    let target = folder.join("out.csv").display().to_string();
    let graph = file("killed.mill", "i = context.index()\noutput y: f32 = math.sqrt(x: i)\n");
    let parts = || {
        let entries = folder.read_dir().expect("lists the directory");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        names.filter(|name| name.to_string_lossy().ends_with(".part")).count()
    };
    let save = |count: &str| command(&["run", &graph, "--count", count, "--save", &target]);
    let mut long = save("20000000").stderr(Stdio::null()).spawn().expect("the binary was built");
    let started = Instant::now();
    while parts() == 0 {
        assert!(started.elapsed() < Duration::from_secs(50), "it starts to save");
        std::thread::sleep(Duration::from_millis(5));
    }
    // A concurrent save of the same file is left alone.
    assert!(save("3").status().expect("the binary was built").success());
    assert_eq!(parts(), 1);
    long.kill().expect("it runs");
    assert!(!long.wait().expect("it ends").success());
    assert_eq!(parts(), 1);
    assert!(save("3").status().expect("the binary was built").success());
    assert_eq!(parts(), 0);
}
