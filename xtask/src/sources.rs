//! Rules of STYLE.md that a program can check.

use std::path::{Path, PathBuf};

const MAX_FILE_LINES: usize = 600;
const BANNED_FILE_NAMES: &[&str] =
    &["utils.rs", "util.rs", "common.rs", "misc.rs", "manager.rs", "helpers.rs", "mod.rs"];

fn rust_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders =
        vec![crate::root().join("crates"), crate::root().join("xtask"), crate::root().join("fuzz")];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        for entry in entries {
            let path = entry.expect("the folder is readable").path();
            if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// Names each file for which the rule says what is wrong.
fn check(rule: impl Fn(&Path, &str) -> Option<String>) {
    let mut broken = Vec::new();
    for path in rust_files() {
        let text = std::fs::read_to_string(&path).expect("sources are UTF-8");
        if let Some(problem) = rule(&path, &text) {
            broken.push(format!(
                "{}: {problem}",
                path.strip_prefix(crate::root()).unwrap_or(&path).display()
            ));
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn files_stay_short() {
    check(|_, text| {
        let n_lines = text.lines().count();
        (n_lines > MAX_FILE_LINES).then(|| format!("{n_lines} lines, {MAX_FILE_LINES} are allowed"))
    });
}

#[test]
fn every_file_says_what_it_is_for() {
    check(|_, text| (!text.starts_with("//!")).then(|| "does not open with `//!`".into()));
}

#[test]
fn files_are_named_after_concepts() {
    check(|path, _| {
        let name = path.file_name()?.to_str()?;
        BANNED_FILE_NAMES.contains(&name).then(|| "says nothing about its content".into())
    });
}

#[test]
fn nothing_is_left_unfinished() {
    // Written in parts, so that this file does not break its own rule.
    let marks = [
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
        concat!("#[ign", "ore"),
        concat!("FIX", "ME"),
    ];
    check(|_, text| {
        marks.iter().find(|mark| text.contains(**mark)).map(|mark| format!("contains {mark}"))
    });
}

#[test]
fn every_lint_exception_has_a_reason() {
    check(|_, text| {
        let [expect, allow] = [concat!("#[ex", "pect("), concat!("#[al", "low(")];
        let exceptions = text.match_indices(expect).chain(text.match_indices(allow));
        let bare = exceptions.map(|(at, _)| &text[at..]).find(|rest| {
            let end = rest.find(")]").unwrap_or(rest.len());
            !rest[..end].contains("reason")
        });
        bare.map(|rest| format!("without a reason: {}", rest.lines().next().unwrap_or_default()))
    });
}
