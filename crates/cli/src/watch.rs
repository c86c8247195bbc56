//! `run --watch`: evaluates again whenever the document, a document that it uses or a data file
//! changes.
//!
//! The document is read and compiled as a whole, which takes microseconds per node. One evaluator
//! keeps its results by node, as in a session after an edit, so only nodes run that were edited or
//! whose inputs changed.
//!
//! Files are polled ten times a second instead of relying on notifications of the system. Polling
//! works the same everywhere, including network drives, notices files that editors replace by
//! renaming, and costs a few system calls for the few files of a run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use millstream::diagnostics::counted;
use millstream::evaluate::Incremental;
use millstream::run_log::NodeRun;
use millstream::{Answer, Program};

use crate::given::file_of;
use crate::outcome::{Exit, Stop, report, report_as_json};
use crate::piped;
use crate::run::{self, Args};
use crate::terminal::{self, eprint, visible};
use crate::{interrupt, sources};

/// The polling interval.
const PERIOD: Duration = Duration::from_millis(100);

/// Files that keep changing are read after this time at the latest.
const PATIENCE: Duration = Duration::from_secs(2);

/// The maximum number of node names listed per reason.
const MAX_NAMES: usize = 8;

/// Evaluates whenever something changes, until Ctrl-C.
pub(crate) fn watch(args: &Args) -> Result<Exit, Stop> {
    refuse_streams(args.graph(), args.assignments())?;
    run::check_targets(args)?;
    // Plans of single numbers are walked too, so that results can move to the plan of the next
    // text.
    let mut evaluator = Incremental::new().without_live_graph();
    until_ended(args.format.is_json(), || run::once(args, &mut evaluator, Instant::now()).map(drop))
}

/// Performs an action, and repeats it whenever a file that it reads changes, until Ctrl-C.
pub(crate) fn until_ended(
    is_json: bool,
    mut once: impl FnMut() -> Result<(), Stop>,
) -> Result<Exit, Stop> {
    let ended = interrupt::flag();
    let is_ended = || ended.load(Ordering::Relaxed);
    sources::keep_columns();
    loop {
        sources::begin();
        match once() {
            Ok(()) => sources::are_complete(),
            // Nobody reads the output any more.
            Err(stop) if stop.is_silent() => return Err(stop),
            Err(_) if is_ended() => {}
            Err(stop) if is_json => drop(report_as_json(&stop)),
            Err(stop) => drop(report(&stop)),
        }
        let style = terminal::of_stderr();
        if !is_ended() {
            let files = counted(sources::count() as u64, "file");
            let text = format!("watching {files}; press Ctrl-C to stop");
            eprint(&format!("{}\n", style.faint(&text)));
        }
        let Some(changed) = wait(is_ended) else {
            eprint("ended\n");
            return Ok(Exit::Done);
        };
        for path in changed {
            let name = path.display().to_string();
            eprint(&format!("\n{} changed\n", style.strong(&visible(&name))));
        }
    }
}

/// Refuses streams, which can be read only once and so never change.
pub(crate) fn refuse_streams<'a>(
    graph: &Path,
    assignments: impl Iterator<Item = &'a String>,
) -> Result<(), Stop> {
    let mut values = assignments.filter_map(|text| text.split_once('=')?.1.strip_prefix('@'));
    let is_stdin = |value: &str| file_of(&format!("@{value}")).is_none_or(piped::is_piped);
    if piped::is_piped(graph) || values.any(is_stdin) {
        let help = "name files instead";
        let text = "--watch cannot read from a stream";
        return Err(Stop::new(Exit::Usage, text, Some(help.into())));
    }
    Ok(())
}

/// Waits until files have changed and settled; `None` if the user stopped it.
fn wait(is_ended: impl Fn() -> bool) -> Option<Vec<PathBuf>> {
    let mut before = Vec::new();
    let mut since = None;
    loop {
        if is_ended() {
            return None;
        }
        std::thread::sleep(PERIOD);
        let changed = sources::changed();
        if changed.is_empty() {
            (before, since) = (Vec::new(), None);
            continue;
        }
        let started = *since.get_or_insert_with(Instant::now);
        // A file that is being replaced is briefly missing.
        let is_there = changed.iter().all(|(_, now)| now.is_some());
        if changed == before && is_there || started.elapsed() > PATIENCE {
            return Some(changed.into_iter().map(|(path, _)| path).collect());
        }
        before = changed;
    }
}

/// Reports what ran, and why.
pub(crate) fn report_runs(program: &Program, answer: &Answer, started: Instant) {
    let runs: Vec<NodeRun> = program.runs(answer).collect();
    let mut by_reason: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.entry.fate.ran()) {
        let name = if run.path.as_str().is_empty() { "(output)" } else { run.path.as_str() };
        let names = by_reason.entry(run.entry.fate.why()).or_default();
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    let ran = || runs.iter().filter(|run| run.entry.fate.ran());
    let n_elements = ran().map(|run| run.entry.elements).sum();
    let n_ran = ran().count();
    let reasons = by_reason.into_iter().map(|(why, mut names)| {
        let n_more = names.len().saturating_sub(MAX_NAMES);
        names.truncate(MAX_NAMES);
        let more = if n_more > 0 { format!(" and {n_more} more") } else { String::new() };
        format!("{}{more} ({why})", names.join(", "))
    });
    let reasons: Vec<String> = reasons.collect();
    let colon = if reasons.is_empty() { "" } else { ": " };
    let nodes = counted(runs.len() as u64, "node");
    let time = millstream::explain::short(started.elapsed());
    let on =
        if n_ran == 0 { String::new() } else { format!(" ({})", counted(n_elements, "element")) };
    let text = format!("ran {n_ran} of {nodes}{on} in {time}{colon}{}", reasons.join("; "));
    eprint(&format!("{}\n", visible(&text)));
}
