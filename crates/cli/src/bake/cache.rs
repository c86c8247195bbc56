//! `bake --status` and `bake --clean`, and warnings about a damaged cache.

use std::path::Path;

use millstream::diagnostics::counted;
use millstream_bake::{Cache, CacheProblem};
use serde_json::json;

use super::manifest;
use crate::format::Format;
use crate::outcome::{Exit, Stop, warn};
use crate::terminal::{eprint, print, visible};

/// Parses a number of bytes, such as `500M`.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a number of bytes: write 1000000, 500M or 20G");
    let (digits, scale) = match text.trim().char_indices().last() {
        Some((at, 'K' | 'k')) => (&text.trim()[..at], 1 << 10),
        Some((at, 'M' | 'm')) => (&text.trim()[..at], 1 << 20),
        Some((at, 'G' | 'g')) => (&text.trim()[..at], 1 << 30),
        Some((at, 'T' | 't')) => (&text.trim()[..at], 1 << 40),
        _ => (text.trim(), 1_u64),
    };
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(wrong());
    }
    let number: Option<u64> = digits.parse().ok();
    match number.and_then(|number| number.checked_mul(scale)) {
        Some(0) => Err(wrong()),
        Some(bytes) => Ok(bytes),
        None => Err(format!("`{text}` is too large: write at most {}T", u64::MAX >> 40)),
    }
}

/// Formats a number of bytes for people.
fn shown(bytes: u64) -> String {
    let units = [("GB", 30), ("MB", 20), ("kB", 10)];
    let unit = units.into_iter().find(|(_, shift)| bytes >= 1 << shift);
    match unit {
        Some((unit, shift)) => format!("{:.1} {unit}", bytes as f64 / (1_u64 << shift) as f64),
        None => counted(bytes, "byte"),
    }
}

/// Reports the problems of a cache since the last call; the bake continues.
pub(super) fn report_problems(cache: &mut Cache) -> Vec<String> {
    reported(&cache.take_problems())
}

/// Reports problems as warnings, and returns their messages.
fn reported(problems: &[CacheProblem]) -> Vec<String> {
    let message = |problem: &CacheProblem| {
        let text = problem.to_string();
        warn(&text, problem.help());
        text
    };
    problems.iter().map(message).collect()
}

fn stop(problem: &CacheProblem) -> Stop {
    Stop::new(Exit::Failed, problem.to_string(), Some(problem.help().into()))
}

/// Prints the state of the cache and the manifest.
pub(super) fn status(format: Format, folder: &Path, cache: &Path) -> Result<Exit, Stop> {
    refuse_missing(folder)?;
    let found = Cache::status(cache).map_err(|problem| stop(&problem))?;
    let problems = reported(&found.problems);
    let (mut n_frames, mut n_finished) = manifest::count(folder)?;
    // Views have directories of their own.
    let entries = folder.read_dir().into_iter().flatten().filter_map(Result::ok);
    for view in entries.map(|entry| entry.path()).filter(|path| path.is_dir()) {
        let (all, finished) = manifest::count(&view)?;
        n_frames += all;
        n_finished += finished;
    }
    if format.is_json() {
        let report = json!({
            "frames": n_frames,
            "finished": n_finished,
            "cache": {
                "path": cache.display().to_string(),
                "entries": found.entries,
                "bytes": found.bytes,
                "files": found.packs,
                "in_use": found.in_use,
            },
            "problems": problems,
        });
        print(&report.to_string())?;
        return Ok(Exit::Done);
    }
    let in_use = match found.in_use {
        0 => String::new(),
        n => format!("; {n} being written"),
    };
    print(&format!("frames: {n_finished} of {n_frames} in the manifest are finished"))?;
    print(&format!(
        "cache:  {}, {} in {}{in_use}, {}",
        counted(found.entries as u64, "result"),
        shown(found.bytes),
        counted(found.packs as u64, "file"),
        visible(&cache.display().to_string()),
    ))?;
    Ok(Exit::Done)
}

/// Empties the cache.
pub(super) fn clean(format: Format, folder: &Path, cache: &Path) -> Result<Exit, Stop> {
    let (bytes, stay) = if cache.exists() {
        Cache::clean(cache).map_err(|problem| stop(&problem))?
    } else {
        refuse_missing(folder)?;
        (0, 0)
    };
    if format.is_json() {
        print(&json!({ "bytes": bytes, "files_in_use": stay }).to_string())?;
        return Ok(Exit::Done);
    }
    eprint(&format!("removed {} from {}\n", shown(bytes), visible(&cache.display().to_string())));
    if stay > 0 {
        let kept = match stay {
            1 => "1 file was kept because a bake is writing it".to_owned(),
            n => format!("{n} files were kept because a bake is writing them"),
        };
        eprint(&format!("{kept}\n"));
    }
    Ok(Exit::Done)
}

fn refuse_missing(folder: &Path) -> Result<(), Stop> {
    if folder.is_dir() {
        return Ok(());
    }
    let text = format!("there is no directory `{}`", folder.display());
    Err(Stop::new(Exit::Usage, text, Some("name the directory of a bake with -o".into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("1000"), Ok(1000));
        assert_eq!(size("500M"), Ok(500 << 20));
        assert_eq!(size("2g"), Ok(2 << 30));
        for text in ["", "0", "M", "1.5G", "-1", "99999999999T"] {
            assert!(size(text).is_err(), "{text}");
        }
        for text in ["99999999999T", "99999999999999999999"] {
            let told = size(text).expect_err("it is too large");
            assert!(told.ends_with("is too large: write at most 16777215T"), "{told}");
        }
        assert_eq!(shown(3 << 29), "1.5 GB");
        assert_eq!(shown(12), "12 bytes");
    }
}
