//! `millstream bench --study DIR`: which strategy is best for which graph.
//!
//! Each study varies one quantity, such as the share of the inputs that change, and reads the
//! output of a graph with many strategies side by side. Some strategies are the engine's own.
//! Others are the simple ones that people write first, some of them exponential (`recursion`,
//! `lists`, `propagation`). All strategies must produce the same values, which is checked.
//!
//! The directory receives a table of all results (`study.csv`), tables for people (`tables.md`),
//! and a chart for each study.

mod documents;
mod edits;
mod engine;
mod families;
mod graph;
mod lists;
mod measure;
mod propagation;
mod recursion;
mod report;
mod strategy;
mod values;

use std::path::Path;

use millstream::{Engine, Program};

use crate::outcome::{Exit, Stop};
use crate::terminal::eprint;
use measure::Row;
use report::Report;

/// A study's results and their presentation.
pub(super) struct Study {
    /// The stem of its file names.
    name: &'static str,
    title: &'static str,
    /// The quantity on the x axis.
    x: &'static str,
    rows: Vec<Row>,
    /// The quantity on the chart; none if tables are clearer.
    chart: Option<Shown>,
}

/// A quantity shown on a chart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// Nanoseconds per read.
    Time,
    /// Node runs per read.
    Runs,
}

/// The settings that all studies share.
pub(super) struct Setting<'a> {
    engine: &'a Engine,
    /// The time for each point of a study.
    seconds: f64,
}

/// A function that runs a study.
type Run = fn(&Setting<'_>) -> Result<Study, Stop>;

/// Runs all studies, including the one of the given documents, and writes the results.
pub(super) fn study(
    engine: &Engine,
    documents: &[(String, Program)],
    dir: &Path,
    seconds: f64,
) -> Result<Exit, Stop> {
    let report = Report::new(dir)?;
    let setting = Setting { engine, seconds: seconds / 20.0 };
    let all: [Run; 7] = [
        values::families,
        values::share,
        values::paths,
        values::rate,
        values::flips,
        values::memory,
        edits::edits,
    ];
    let mut studies = Vec::new();
    for study in all {
        let study = study(&setting)?;
        eprint(&format!("{}: {} results\n", study.name, study.rows.len()));
        studies.push(study);
    }
    for study in documents::all(documents, &setting)? {
        eprint(&format!("{}: {} results\n", study.name, study.rows.len()));
        studies.push(study);
    }
    report.write(&studies)?;
    Ok(Exit::Done)
}
