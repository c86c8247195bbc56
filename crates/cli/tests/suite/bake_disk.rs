//! Bakes whose directory or cache is damaged or cannot be written.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::bake::{folder, text};
use crate::{file, json, new_file, seen};

/// A document of which each frame is stored.
fn graph(name: &str) -> String {
    file(name, "output sum: f32 = state.integrate(convert.to_f32(context.tick()))\n")
}

/// A file of results in the cache of a bake.
fn pack_of(folder: &Path) -> PathBuf {
    let packs = folder.join("cache").read_dir().expect("it is there").filter_map(Result::ok);
    let pack = packs.map(|it| it.path()).find(|it| it.extension().is_some_and(|it| it == "pack"));
    pack.expect("results were stored")
}

#[test]
fn a_cache_that_cannot_be_emptied_is_told() {
    let graph = graph("bake-unremovable.mill");
    let folder = folder("bake-unremovable");
    let shown = text(&folder);
    seen(&["bake", &graph, "--frames", "0..3", "-o", &shown]);
    // A directory in place of a file of results cannot be removed as one, whoever runs the test.
    std::fs::create_dir(folder.join("cache/0.pack")).expect("it can be made");
    let told = seen(&["bake", "--clean", "-o", &shown]);
    assert!(told.starts_with("exit code 3\n"), "{told}");
    assert!(told.contains("0.pack` cannot be removed: ") && told.contains("help: "), "{told}");
    assert!(!told.contains("a bake is writing"), "{told}");
}

#[test]
fn a_directory_that_cannot_be_written_is_told_once() {
    let graph = graph("bake-unwritable.mill");
    let folder = folder("bake-unwritable");
    // A directory where the bake needs a file, and a file where it needs a directory.
    std::fs::create_dir_all(folder.join("manifest.jsonl")).expect("it can be made");
    std::fs::write(folder.join("cache"), "").expect("it can be written");
    let told = seen(&["bake", &graph, "--frames", "0..3", "-o", &text(&folder)]);
    assert!(told.starts_with("exit code 3\n"), "{told}");
    assert_eq!(
        (told.matches("error: ").count(), told.matches("warning: ").count()),
        (1, 0),
        "{told}"
    );
    assert!(told.contains("cannot write `") && told.contains("help: "), "{told}");
}

#[test]
fn a_file_of_the_cache_that_was_cut_off_is_told_once() {
    let graph = graph("bake-cut-off.mill");
    let folder = folder("bake-cut-off");
    let shown = text(&folder);
    let args = ["bake", &*graph, "--frames", "0..3", "-o", &shown];
    seen(&args);
    let pack = pack_of(&folder);
    let bytes = std::fs::read(&pack).expect("it can be read");
    std::fs::write(&pack, &bytes[..bytes.len() - 1]).expect("it can be written");
    let warning = format!("warning: `{}` ends within a result", text(&pack));
    let told = seen(&args);
    assert_eq!(told.matches(&warning).count(), 1, "{told}");
    assert!(told.contains("which is computed again"), "{told}");
    let told = seen(&args);
    assert!(!told.contains("warning"), "{told}");
}

#[test]
fn the_status_names_damaged_files_and_leaves_them_as_they_are() {
    let graph = graph("bake-status-damaged.mill");
    let folder = folder("bake-status-damaged");
    let shown = text(&folder);
    seen(&["bake", &graph, "--frames", "0..3", "-o", &shown]);
    let status = ["bake", "--status", "-o", &*shown];
    let told = seen(&status);
    assert!(told.contains(" in 1 file, ") && !told.contains("warning"), "{told}");
    let pack = pack_of(&folder);
    let bytes = std::fs::read(&pack).expect("it can be read");
    let mut wrong = bytes.clone();
    wrong[0] ^= 1;
    for (bytes, problem) in [
        (&bytes[..bytes.len() - 1], "ends within a result, which is computed again"),
        (&wrong, "is damaged at byte 0; the results after it are computed again"),
    ] {
        std::fs::write(&pack, bytes).expect("it can be written");
        let message = format!("`{}` {problem}", text(&pack));
        for _ in 0..2 {
            let told = seen(&status);
            assert!(told.contains(&format!("warning: {message}\n")), "{told}");
            let told = json(&[&status[..], &["--format", "json"]].concat());
            assert_eq!(told["problems"], serde_json::json!([message]), "{told}");
        }
        assert_eq!(std::fs::read(&pack).expect("it can be read"), bytes);
    }
}

#[test]
#[cfg(unix)]
fn files_of_the_cache_that_cannot_be_read_are_told_once() {
    let graph = graph("bake-unread.mill");
    let folder = folder("bake-unread");
    let shown = text(&folder);
    let args = ["bake", &*graph, "--frames", "0..3", "-o", &shown];
    seen(&args);
    // It cannot be read as a file, whoever runs the test. Links are not followed.
    let [closed, directory] = ["0.pack", "1.pack"].map(|name| folder.join("cache").join(name));
    std::os::unix::fs::symlink(&closed, &closed).expect("a link can be made");
    std::fs::create_dir(&directory).expect("it can be made");
    for args in [&args[..], &["bake", "--status", "-o", &shown]] {
        let told = seen(args);
        let warning = format!("warning: `{}` cannot be read: ", text(&directory));
        assert_eq!(told.matches(&warning).count(), 1, "{told}");
        assert!(!told.contains("0.pack"), "{told}");
        assert!(!told.contains("permissions"), "{told}");
    }
}

#[test]
fn a_cache_that_is_a_file_is_told_with_a_hint_that_fits() {
    let graph = graph("bake-cache-is-file.mill");
    let folder = folder("bake-cache-is-file");
    let shown = text(&folder);
    let args = ["bake", &*graph, "--frames", "0..3", "-o", &shown, "--cache", &graph];
    let status = ["bake", "--status", "-o", &shown, "--cache", &graph];
    for args in [&args[..], &status, &["bake", "--clean", "-o", &shown, "--cache", &graph]] {
        let told = seen(args);
        assert!(told.contains("cannot be a cache because it is not a directory"), "{told}");
        assert!(told.contains("help: name a directory with --cache DIR\n"), "{told}");
    }
}

#[test]
fn files_that_a_bake_is_writing_are_kept_and_counted() {
    let graph = graph("bake-kept.mill");
    let folder = folder("bake-kept");
    let shown = text(&folder);
    seen(&["bake", &graph, "--frames", "0..3", "-o", &shown]);
    let pack = pack_of(&folder);
    let other = pack.with_file_name("other.pack");
    std::fs::copy(&pack, &other).expect("it can be copied");
    let one = File::open(&pack).expect("it is there");
    let two = File::open(&other).expect("it is there");
    one.lock().and(two.lock()).expect("nothing else writes it");
    let clean = ["bake", "--clean", "-o", &*shown];
    let told = seen(&clean);
    assert!(told.contains("2 files were kept because a bake is writing them\n"), "{told}");
    drop(two);
    let told = seen(&clean);
    assert!(told.contains("1 file was kept because a bake is writing it\n"), "{told}");
}

#[test]
fn stored_results_are_read_although_a_value_is_also_the_next_state() {
    let graph = |add: u32| {
        let text = format!(
            "fps 10\nt = convert.to_f32(context.time())\nk = convert.to_f32(context.tick())\n\
             s = control.switch(condition: t > 100, false: k, true: 2)\n\
             f = repeat slow(count: 9, x: s)\nh = repeat slow(count: 20000, x: t * s)\n\
             d = state.delay(t)\noutput a: f32 = h.x - f.x + {add}\noutput b: f32 = (d)\n\
             group slow(x: f32) -> x: f32 = x * 0.9999 + 0.0001 {{\n}}\n"
        );
        file(&format!("also_next_{add}.mill"), &text)
    };
    let folder = new_file("also_next");
    let (cache, out) = (folder.join("cache"), folder.join("out"));
    let baked = |add: u32, frames: &str, cached: bool| {
        std::fs::remove_dir_all(&out).ok();
        let (graph, out) = (graph(add), out.display().to_string());
        let cache = cache.display().to_string();
        let cached: &[&str] = if cached { &["--cache", &cache] } else { &["--no-cache"] };
        let args = ["bake", &*graph, "--frames", frames, "-o", &*out];
        let told = seen(&[&args[..], cached].concat());
        let path = Path::new(&out).join("frames.csv");
        std::fs::read_to_string(path).unwrap_or_else(|_| panic!("{told}"))
    };
    baked(1, "3..5", true);
    assert_eq!(baked(2, "0..5", true), baked(2, "0..5", false));
    std::fs::remove_dir_all(&folder).expect("it can be removed");
}
