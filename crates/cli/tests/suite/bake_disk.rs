//! Bakes whose directory or cache is damaged or cannot be written.

use crate::bake::{folder, text};
use crate::{file, seen};

/// A document of which each frame is stored.
fn graph(name: &str) -> String {
    file(name, "output sum: f32 = state.integrate(convert.to_f32(context.tick()))\n")
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
    let packs = folder.join("cache").read_dir().expect("it is there").filter_map(Result::ok);
    let pack = packs.map(|it| it.path()).find(|it| it.extension().is_some_and(|it| it == "pack"));
    let pack = pack.expect("results were stored");
    let bytes = std::fs::read(&pack).expect("it can be read");
    std::fs::write(&pack, &bytes[..bytes.len() - 1]).expect("it can be written");
    let warning = format!("warning: `{}` ends within a result", text(&pack));
    let told = seen(&args);
    assert_eq!(told.matches(&warning).count(), 1, "{told}");
    assert!(told.contains("which is computed again"), "{told}");
    let told = seen(&args);
    assert!(!told.contains("warning"), "{told}");
}
