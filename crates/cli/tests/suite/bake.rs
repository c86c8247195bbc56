//! `bake`: frames into files, each computed once, come what may.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use expect_test::expect;
use serde_json::Value as Json;

use crate::{code, command, expect_seen, file, json, millstream, seen};

/// An empty directory for a test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // It exists if an earlier run of the tests created it.
    let _ = std::fs::remove_dir_all(&path);
    path
}

pub(crate) fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Bakes into a directory, and returns how many frames ran and were reused.
pub(crate) fn counts(args: &[&str], folder: &Path) -> (u64, u64) {
    let report = json(&[&["bake"], args, &["-o", &text(folder), "--format", "json"]].concat());
    let number = |name: &str| report[name].as_u64().unwrap_or_else(|| panic!("{report}"));
    (number("ran"), number("reused"))
}

/// The lines of a manifest about single frames.
pub(crate) fn lines(folder: &Path) -> Vec<Json> {
    let text = std::fs::read_to_string(folder.join("manifest.jsonl")).unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok());
    lines.filter(|line| line["frame"].is_i64()).collect()
}

/// The files of a directory by name, without the bake's own files.
pub(crate) fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = folder.read_dir().expect("the bake made it");
    let mut files = BTreeMap::new();
    for entry in entries {
        let path = entry.expect("it can be listed").path();
        let name = path.file_name().expect("it has one").to_string_lossy().into_owned();
        if path.is_file() && name != "manifest.jsonl" && !name.starts_with('.') {
            files.insert(name, std::fs::read(&path).expect("it can be read"));
        }
    }
    files
}

/// A document whose frames take a few milliseconds.
fn moving_picture(name: &str, sharp: f64) -> String {
    let text = format!(
        "t = context.time()\n\
         p = context.position()\n\
         field = image.from_field(noise.fbm(p + vec3(40 * convert.to_f32(t), 0, 0), scale: 0.05))\n\
         soft = image.blur(field, radius: 3)\n\
         output picture: image = image.sharpen(soft, amount: {sharp})\n"
    );
    file(name, &text)
}

#[test]
fn a_table_of_frames_has_the_rows_of_run() {
    let folder = folder("bake-table");
    let args = ["bake", "examples/echo.mill", "--frames", "0..8", "-o", &text(&folder)];
    let output = millstream(&args);
    assert_eq!(output.status.code(), Some(0));
    let told = String::from_utf8(output.stderr).expect("messages are UTF-8");
    assert!(told.starts_with("baked 9 frames in "), "{told}");
    assert!(told.contains(": 9 ran, 0 reused; "), "{told}");
    let saved = crate::new_file("bake-run.csv");
    let run = ["run", "examples/echo.mill", "--frame", "0..8", "--save", &text(&saved)];
    assert_eq!(code(&run), Some(0));
    let of_run = std::fs::read_to_string(&saved).expect("it was saved");
    let baked = std::fs::read_to_string(folder.join("frames.csv")).expect("it was baked");
    assert_eq!(baked, of_run);
}

#[test]
fn existing_files_are_left_alone_and_missing_ones_are_rewritten() {
    let folder = folder("bake-files");
    let graph = moving_picture("bake-files.mill", 1.0);
    let args = [&*graph, "--frames", "1..6", "--size", "48x32"];
    assert_eq!(counts(&args, &folder), (6, 0));
    let first = files(&folder);
    let names: Vec<&str> = first.keys().map(String::as_str).collect();
    assert_eq!(names[0], "frame.0001.png");
    assert_eq!(names.len(), 6);
    assert_eq!(counts(&args, &folder), (0, 6));
    // A missing file and a truncated one are restored from the cache.
    std::fs::remove_file(folder.join("frame.0003.png")).expect("it is there");
    std::fs::write(folder.join("frame.0005.png"), "cut off").expect("it can be written");
    assert_eq!(counts(&args, &folder), (0, 6));
    assert_eq!(files(&folder), first);
    let fates: Vec<String> = lines(&folder).iter().map(|line| line["fate"].to_string()).collect();
    assert_eq!(fates, vec!["\"reused\""; 6]);
    // Without the cache, only missing frames are computed.
    std::fs::remove_file(folder.join("frame.0003.png")).expect("it is there");
    assert_eq!(counts(&[&args[..], &["--no-cache"]].concat(), &folder), (1, 5));
    assert_eq!(files(&folder), first);
    assert!(seen(&["bake", "--clean", "-o", &text(&folder)]).contains("removed"));
    assert_eq!(counts(&args, &folder), (0, 6));
}

#[test]
fn a_change_rebakes_only_what_depends_on_it() {
    let folder = folder("bake-change");
    let args = |graph: &'static str| ["--frames", "0..9", "--save", "y.####.json", graph];
    let write = |speed: &str| {
        let text = format!(
            "t = context.time() * 24\nx = t < 5 ? 1.0 : {speed}\nall = list.sort(list.range(start: \
             3, step: convert.to_i32(x)))\noutput y: list<i32> = all\n"
        );
        file("bake-change.mill", &text)
    };
    let graph: &'static str = Box::leak(write("2.0").into_boxed_str());
    let (ran, reused) = counts(&args(graph), &folder);
    assert_eq!((ran, reused), (2, 8), "values that are held are computed once");
    write("3.0");
    let (ran, reused) = counts(&args(graph), &folder);
    assert_eq!((ran, reused), (1, 9), "only the frames from 5 on change");
    let keys: Vec<String> = lines(&folder).iter().map(|line| line["key"].to_string()).collect();
    assert_eq!(keys[..5].iter().collect::<BTreeSet<_>>().len(), 1);
    assert_ne!(keys[4], keys[5]);
}

#[test]
fn animations_and_a_sheet_show_all_frames() {
    let folder = folder("bake-animation");
    let graph = moving_picture("bake-animation.mill", 1.0);
    let saves = ["--save", "a.gif", "--save", "a.apng", "--save", "a.webp", "--sheet"];
    let args = [&[&*graph, "--frames", "1..12", "--every", "3", "--size", "40x30"], &saves[..]];
    assert_eq!(counts(&args.concat(), &folder), (4, 0));
    let files = files(&folder);
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(names, ["a.apng", "a.gif", "a.webp", "sheet.png"]);
    assert!(files["a.gif"].starts_with(b"GIF89a"));
    assert_eq!(files["a.webp"].windows(4).filter(|it| it == b"ANMF").count(), 4);
    assert_eq!(files["a.apng"].windows(4).filter(|it| it == b"fcTL").count(), 4);
    // Four pictures side by side with gaps.
    assert_eq!(files["sheet.png"][16..24], [0, 0, 0, 4 * 44 + 4, 0, 0, 0, 34 + 4]);
}

/// A mesh whose points move and whose number of faces grows, with a picture.
const MESH: &str = "t = context.time()
plane = mesh.grid(columns: convert.to_i32(context.tick()) + 1, rows: 2)
point = list.get(plane.points, index: context.index())
up = vector.combine_vec3(z: convert.to_f32(t))
moved = list.generate(point + up, count: list.length(plane.points))
output points: list<vec3> = moved
output normals: list<vec3> = mesh.normals(moved, plane.faces)
output faces: list<i32> = plane.faces
";

#[test]
fn meshes_of_frames_are_those_of_run() {
    let folder = folder("bake-mesh");
    let graph = file("bake-mesh.mill", MESH);
    let saves = ["--save", "m.##.ply", "--save", "m.##.obj", "--save", "m.##.glb"];
    let args = [&[&*graph, "--frames", "1..4"], &saves[..]].concat();
    assert_eq!(counts(&args, &folder), (4, 0));
    for ending in ["ply", "obj", "glb"] {
        for frame in 1..=4 {
            let saved = crate::new_file(&format!("bake-mesh-run.{ending}"));
            let run = ["run", &graph, "--frame", &frame.to_string(), "--save", &text(&saved)];
            assert_eq!(code(&run), Some(0));
            let baked = folder.join(format!("m.{frame:02}.{ending}"));
            assert_eq!(std::fs::read(&baked).ok(), std::fs::read(&saved).ok(), "{baked:?}");
        }
    }
    assert_eq!(counts(&args, &folder), (0, 4));
    // Meshes are the usual files of outputs with faces.
    let folder = self::folder("bake-mesh-usual");
    assert_eq!(counts(&[&graph, "--frames", "1..2"], &folder), (2, 0));
    assert_eq!(files(&folder).keys().collect::<Vec<_>>(), ["frame.0001.ply", "frame.0002.ply"]);
}

#[test]
fn an_array_has_axes_for_frames_and_elements() {
    let folder = folder("bake-array");
    // The last two frames fail.
    let text = "n = convert.to_i32(2 - context.time() * 24)\n\
         all = list.sum(list.range(start: list.first(list.range(start: 7, count: n)), count: 2))\n\
         output y: f32 = context.index() + all\n";
    let graph = file("bake-array.mill", text);
    let shape = |frames: &str| {
        let args = ["--count", "3", "--save", "y.npy", "--no-cache", "-o", &self::text(&folder)];
        millstream(&[&["bake", &*graph, "--frames", frames], &args[..]].concat());
        let bytes = std::fs::read(folder.join("y.npy")).expect("it was saved");
        let header = String::from_utf8_lossy(&bytes[..128]).into_owned();
        let shape = header.split("'shape': ").nth(1).and_then(|it| it.split_once(", }"));
        shape.expect("headers have shapes").0.to_owned()
    };
    assert_eq!(shape("0..1"), "(2, 3, )");
    assert_eq!(shape("0..3"), "(2, 3, )");
    assert_eq!(shape("0"), "(1, 3, )");
}

#[test]
fn each_view_is_baked_into_a_directory() {
    let folder = folder("bake-views");
    let graph = file(
        "bake-views.mill",
        "input eye: f32 = 0\n\
         slow = noise.fbm(vec3(convert.to_f32(context.time()), 0, 0))\n\
         p = context.position() + vec3(eye, slow, 0)\n\
         output picture: image = image.from_field(noise.fbm(p, scale: 0.1))\n",
    );
    let both = ["--view", "left=24x16", "--view", "right=16x16+3-1*0.5", "--in", "eye@right=2"];
    let args = [&[&*graph, "--frames", "1..3"], &both[..]].concat();
    assert_eq!(counts(&args, &folder), (6, 0));
    assert_eq!(counts(&args, &folder), (0, 6));
    assert!(seen(&["bake", "--status", "-o", &text(&folder)]).starts_with("frames: 6 of 6 "));
    let own = [["--size", "24x16", "--in", "eye=0"], ["--size", "16x16+3-1*0.5", "--in", "eye=2"]];
    for (name, own) in ["left", "right"].into_iter().zip(own) {
        let alone = self::folder(&format!("bake-view-{name}"));
        assert_eq!(counts(&[&[&*graph, "--frames", "1..3"], &own[..]].concat(), &alone), (3, 0));
        assert_eq!(files(&folder.join(name)), files(&alone), "{name}");
    }
    let told = seen(&[&["bake"], &args[..], &["-o", &text(&folder), "--save", "a.gif"]].concat());
    assert!(told.contains("baked 6 frames of 2 views in "), "{told}");
    assert!(told.contains("left/a.gif\n") && folder.join("right/a.gif").exists(), "{told}");
    // A view whose inputs differ need not be read by any node.
    let table = file("bake-views-table.mill", "input eye: f32 = 0\noutput x: f32 = eye\n");
    let folder = self::folder("bake-views-table");
    assert_eq!(counts(&[&[&*table, "--frames", "1..3"], &both[..]].concat(), &folder), (6, 0));
    let csv = std::fs::read_to_string(folder.join("right/frames.csv")).expect("it was saved");
    assert!(csv.ends_with(",2.0\n"), "{csv}");
}

#[test]
fn wrong_views_of_a_bake_are_reported() {
    let graph = file("bake-wrong-views.mill", "input eye: f32 = 0\noutput x: f32 = eye\n");
    let folder = text(&folder("bake-wrong-views"));
    let refused = |args: &[&str], expected| {
        let bake = ["bake", &*graph, "--frames", "0..9", "-o", &folder];
        expect_seen(&[&bake, args].concat(), expected);
    };
    let left = ["--view", "left=3x4"];
    refused(
        &[&left[..], &left[..]].concat(),
        expect![[r#"
        exit code 2
        stderr:
        error: the view name `left` is used twice
          help: give each view its own name
    "#]],
    );
    refused(
        &["--view", "cache=3x4"],
        expect![[r#"
        exit code 2
        stderr:
        error: a view cannot be called `cache`, which is the directory of the results
          help: give it another name
    "#]],
    );
    refused(
        &[&left[..], &["--in", "eye@lefd=3"]].concat(),
        expect![[r#"
        exit code 2
        stderr:
        error: there is no view called `lefd`
          help: did you mean `left`?
    "#]],
    );
    refused(
        &[&left[..], &["--in", "ear@left=3"]].concat(),
        expect![[r#"
        exit code 2
        stderr:
        error: there is no input called `ear`
          help: did you mean `eye`?
    "#]],
    );
    refused(
        &["--in", "eye@left=3"],
        expect![[r#"
        exit code 2
        stderr:
        error: there is no view called `left`
          help: declare the views first: --view left=640x480
    "#]],
    );
    refused(
        &[&left[..], &["--save", "x.csv"]].concat(),
        expect![[r#"
        exit code 2
        stderr:
        error: the view has no effect because no requested output reads the footprint
          help: leave out --size and --view
    "#]],
    );
}

/// Bakes frames of a document, of which frame 2 and the later ones fail; the lines of the table.
fn bake_failing(name: &str, document: &str, frames: &str, n_failed: &str) -> (PathBuf, usize) {
    let folder = folder(name);
    let graph = file(&format!("{name}.mill"), document);
    let output = millstream(&["bake", &graph, "--frames", frames, "-o", &text(&folder)]);
    assert_eq!(output.status.code(), Some(3));
    let told = String::from_utf8(output.stderr).expect("messages are UTF-8");
    assert!(told.contains("frame 2 was not written to frames.csv:\nerror: "), "{told}");
    assert!(told.contains(n_failed), "{told}");
    let csv = std::fs::read_to_string(folder.join("frames.csv")).expect("it was baked");
    (folder, csv.lines().count())
}

#[test]
fn a_failed_frame_is_reported_and_the_others_are_baked() {
    let document = "n = convert.to_i32(2 - context.time() * 24)\n\
                    output first: f32 = list.first(list.range(start: 7, count: n))\n";
    let (folder, n_lines) = bake_failing("bake-fails", document, "0..3", "2 failed");
    assert_eq!(n_lines, 3);
    let fates: Vec<String> = lines(&folder).iter().map(|line| line["fate"].to_string()).collect();
    assert_eq!(fates[2..], ["\"failed\"", "\"failed\""]);
}

#[test]
fn a_failed_frame_is_reported_and_the_others_are_baked_if_many_are_computed_at_once() {
    let document = "k = convert.to_i32(context.tick())\n\
                    output a: f32 = list.get(list.of(several [5, 6, 7]), index: k * k)\n";
    let (_, n_lines) = bake_failing("bake-fails-in-a-block", document, "-1..2", "1 failed");
    assert_eq!(n_lines, 4);
}

#[test]
fn wrong_flags_are_reported() {
    let folder = text(&folder("bake-usage"));
    let echo = "examples/echo.mill";
    let saved = |name: &str, expected| {
        expect_seen(&["bake", echo, "--frames", "0..9", "-o", &folder, "--save", name], expected);
    };
    saved(
        "out.jpeg",
        expect![[r#"
            exit code 2
            stderr:
            error: 10 pictures do not fit in one file `out.jpeg`
              help: write # in the name in place of the number, such as out.####.png
        "#]],
    );
    saved(
        "mesh.ply",
        expect![[r#"
            exit code 2
            stderr:
            error: 10 meshes do not fit in one file `mesh.ply`
              help: write # in the name in place of the number, such as mesh.####.ply
        "#]],
    );
    saved(
        "a/b.csv",
        expect![[r#"
            exit code 2
            stderr:
            error: `--save a/b.csv` is not a file name inside the directory of -o
              help: give a plain name, such as out.####.png
        "#]],
    );
    assert_eq!(code(&["bake", echo, "-o", &folder]), Some(2));
    assert_eq!(code(&["bake", echo, "--frames", "9..0", "-o", &folder]), Some(2));
}

#[test]
fn an_unusable_cache_is_reported_and_the_bake_continues() {
    let graph = moving_picture("bake-cache.mill", 1.0);
    let args = [&*graph, "--frames", "1..3", "--size", "32x24"];
    let warned = |folder: &Path, cache: &Path, warning: &str| {
        let (out, cache) = (text(folder), text(cache));
        let told = seen(&[&["bake"], &args[..], &["-o", &out, "--cache", &cache]].concat());
        assert!(told.contains("warning: ") && told.contains(warning), "{told}");
        assert!(told.contains("baked 3 frames"), "{told}");
        assert_eq!(files(folder).len(), 3);
    };
    // A directory that belongs to something else.
    let other = folder("bake-foreign");
    std::fs::create_dir_all(&other).expect("it can be made");
    std::fs::write(other.join("photo.png"), "precious").expect("it can be written");
    warned(&folder("bake-cache-1"), &other, "contains files and is not a cache");
    assert!(other.join("photo.png").exists());
    // A file where the directory should be.
    warned(&folder("bake-cache-2"), &other.join("photo.png"), "cannot be");
    // Another version.
    let cache = folder("bake-version");
    std::fs::create_dir_all(&cache).expect("it can be made");
    let tag = cache.join("millstream-cache");
    std::fs::write(tag, "Millstream cache, format 0\n").expect("it can be written");
    warned(&folder("bake-cache-3"), &cache, "has format 0, but this program uses format");
    // Corrupted bytes: the results they held are computed again.
    let cache = folder("bake-damaged");
    let out = folder("bake-cache-4");
    let shown = text(&cache);
    let with_cache = [&args[..], &["--cache", &shown]].concat();
    assert_eq!(counts(&with_cache, &out), (3, 0));
    let expected = files(&out);
    let pack = cache.read_dir().expect("it is there").filter_map(Result::ok).map(|it| it.path());
    let pack = pack.into_iter().find(|path| path.extension().is_some_and(|it| it == "pack"));
    let pack = pack.expect("results were stored");
    let mut bytes = std::fs::read(&pack).expect("it can be read");
    // One byte per kilobyte, so that each result is hit.
    bytes.iter_mut().skip(500).step_by(1000).for_each(|byte| *byte ^= 0xff);
    std::fs::write(&pack, bytes).expect("it can be written");
    for name in expected.keys() {
        std::fs::remove_file(out.join(name)).expect("it is there");
    }
    warned(&out, &cache, "computed again");
    assert_eq!(files(&out), expected);
}

#[test]
fn two_bakes_at_once_do_not_disturb_each_other() {
    let (one, both) = (folder("bake-one"), folder("bake-both"));
    let graph = moving_picture("bake-two.mill", 1.0);
    let args = [&*graph, "--frames", "1..24", "--size", "96x64"];
    counts(&args, &one);
    let shown = text(&both);
    let start = || {
        let mut bake = command(&[&["bake"], &args[..], &["-o", &shown]].concat());
        bake.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary was built")
    };
    let bakes = [start(), start()];
    for mut bake in bakes {
        assert!(bake.wait().expect("it ends").success());
    }
    assert_eq!(files(&both), files(&one));
    assert_eq!(counts(&args, &both), (0, 24));
}

#[test]
fn the_cache_is_shown_and_emptied() {
    let folder = folder("bake-status");
    let shown = text(&folder);
    let graph = moving_picture("bake-status.mill", 1.0);
    counts(&[&*graph, "--frames", "1..3", "--size", "32x24"], &folder);
    let status = json(&["bake", "--status", "-o", &shown, "--format", "json"]);
    assert_eq!((status["frames"].as_u64(), status["finished"].as_u64()), (Some(3), Some(3)));
    assert!(status["cache"]["entries"].as_u64().is_some_and(|n| n >= 3), "{status}");
    assert!(seen(&["bake", "--status", "-o", &shown]).starts_with("frames: 3 of 3 "));
    assert_eq!(code(&["bake", "--clean", "-o", &shown]), Some(0));
    assert!(!folder.join("cache").exists());
    assert_eq!(code(&["bake", "--status", "-o", &shown]), Some(0));
}

/// A number below `n` from a simple generator.
fn below(state: &mut u64, n: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % n
}

/// Whether the manifest of a directory lists a file of this name and size, so that a later bake knows
/// it for one of its own.
fn is_listed(folder: &Path, name: &str, bytes: u64) -> bool {
    let text = std::fs::read_to_string(folder.join("manifest.jsonl")).unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok());
    let lists = lines.flat_map(|line| [line["files"].clone(), line["writing"].clone()]);
    let mut files = lists.flat_map(|list| list.as_array().cloned().unwrap_or_default());
    files.any(|it| it["name"] == name && it["bytes"] == bytes && it["hash"].is_string())
}

/// Kills bakes at random moments until this many have been killed. Each bake resumes where the last
/// one stopped; when one finishes, the next starts in an empty directory.
fn killed(name: &str, args: &[&str], n_kills: usize) {
    let (whole, often) = (folder(&format!("{name}-whole")), folder(&format!("{name}-often")));
    let started = std::time::Instant::now();
    let (all, _) = counts(args, &whole);
    assert!(all > 0);
    let expected = files(&whole);
    let most = (started.elapsed().as_millis() as u64).max(20);
    let (mut state, mut n_killed, mut n_ended) = (7, 0, 0);
    let mut finished: BTreeMap<i64, usize> = BTreeMap::new();
    while n_killed < n_kills || n_ended == 0 {
        let mut bake = command(&[&["bake"], args, &["-o", &text(&often)]].concat());
        let mut bake = bake.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
        if n_killed < n_kills {
            std::thread::sleep(Duration::from_millis(1 + below(&mut state, most)));
            bake.kill().expect("it is a child");
        }
        let ended = bake.wait().expect("it ends");
        let now = lines(&often);
        if ended.success() {
            // The manifest has each frame once, and frames finished before are reused.
            for line in &now {
                let frame = line["frame"].as_i64().expect("it is one");
                let was_finished = finished.contains_key(&frame);
                assert!(!was_finished || line["fate"] == "reused", "{line}");
            }
            assert_eq!(files(&often), expected, "after {n_killed} kills");
            std::fs::remove_dir_all(&often).expect("it can be removed");
            finished.clear();
            n_ended += 1;
            continue;
        }
        n_killed += 1;
        let mut ran: BTreeMap<i64, usize> = BTreeMap::new();
        for line in now.iter().filter(|line| line["fate"] == "ran") {
            *ran.entry(line["frame"].as_i64().expect("it is one")).or_default() += 1;
        }
        assert!(ran.values().all(|n| *n == 1), "a finished frame ran again: {ran:?}");
        // Files under their final names are complete even after a kill.
        if often.exists() {
            for (name, bytes) in files(&often) {
                assert_eq!(expected.get(&name), Some(&bytes), "{name} after {n_killed} kills");
                let size = bytes.len() as u64;
                assert!(is_listed(&often, &name, size), "{name} after {n_killed} kills");
            }
        }
        finished = ran;
    }
    println!("{n_killed} kills, {n_ended} bakes ended");
}

/// `MILLSTREAM_KILLS=200` sets the number of kills, which four documents share.
#[test]
fn killed_bakes_resume_where_they_stopped() {
    let kills = std::env::var("MILLSTREAM_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(8);
    let graph = moving_picture("bake-killed.mill", 1.0);
    let frames = ["--frames", "1..20", "--size", "160x96", "--threads", "1"];
    killed("bake-killed", &[&[&*graph], &frames[..]].concat(), kills / 4);
    let graph = file(
        "bake-killed-state.mill",
        "x = noise.fbm(vec3(convert.to_f32(context.index()), 0, 0), scale: 0.1)\n\
         before = state.feedback(now, initial: 0)\n\
         now = before + x\n\
         output y: f32 = reduce.sum(before)\n",
    );
    let frames = ["--frames", "0..40", "--count", "20000", "--save", "y.####.json"];
    killed("bake-killed-state", &[&[&*graph], &frames[..]].concat(), kills / 4);
    // Pictures as state.
    let frames = ["--frames", "0..12", "--size", "96x64", "--save", "p.###.png"];
    killed("bake-killed-life", &[&["examples/life.mill"], &frames[..]].concat(), kills / 4);
    // Several outputs in files of all kinds.
    let picture = "soft = image.from_field(noise.fbm(context.position() * 0.1 + up))\n\
        output picture: image = image.blur(soft, radius: 4)\n";
    let graph = file("bake-killed-all.mill", &format!("{MESH}{picture}"));
    let saves = ["p.##.exr", "m.##.ply", "m.##.obj", "p.gif", "all.parquet", "m.##.json"];
    let saves: Vec<&str> = saves.iter().flat_map(|name| ["--save", name]).collect();
    let frames = ["--frames", "1..16", "--size", "96x64", "--sheet"];
    killed("bake-killed-all", &[&[&*graph], &frames[..], &saves].concat(), kills / 4);
}

#[test]
fn every_output_is_in_some_file() {
    let graph = file(
        "bake-both.mill",
        "output pic: image = image.from_field(context.position() / 10)\n\
         output mean: f32 = convert.to_f32(context.tick())\n",
    );
    let folder = folder("bake-both");
    let args = ["bake", &graph, "--frames", "0..2", "--size", "8x6", "-o", &text(&folder)];
    assert_eq!(code(&args), Some(0));
    let names: Vec<String> = files(&folder).into_keys().collect();
    assert_eq!(names, ["frame.0000.png", "frame.0001.png", "frame.0002.png", "frames.csv"]);
    let rows = std::fs::read_to_string(folder.join("frames.csv")).expect("it was written");
    assert!(rows.starts_with("frame,time,mean\n0,"), "{rows}");
    // A table holds no image, and the sheet has a name of its own.
    expect_seen(
        &[&args[..], &["--save", "all.csv"]].concat(),
        expect![[r#"
            exit code 2
            stderr:
            error: a table cannot hold the output `pic`, an image
              help: add --save frame.####.png, or choose other outputs with --out
        "#]],
    );
    for table in ["all.csv", "all.#.csv"] {
        let saves = ["--out", "pic", "--save", "p.#.png", "--save", table];
        let told = seen(&[&args[..], &saves].concat());
        let why = format!("error: `{table}` would hold no output: all are in pictures\n");
        assert!(told.starts_with("exit code 2\n") && told.contains(&why), "{told}");
        assert!(!folder.join("p.0.png").exists());
    }
    expect_seen(
        &[&args[..], &["--sheet", "--save", "sheet.png"]].concat(),
        expect![[r#"
            exit code 2
            stderr:
            error: `sheet.png` is the contact sheet of --sheet
              help: save under another name
        "#]],
    );
    assert_eq!(code(&["bake", "--status", "-o", &text(&folder.join("nowhere"))]), Some(2));
    assert_eq!(code(&["bake", "--clean", "-o", &text(&folder.join("nowhere"))]), Some(2));
}
