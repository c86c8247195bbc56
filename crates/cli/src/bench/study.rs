//! `millstream bench --study DIR`: which strategy is best for which graph.
//!
//! Each study varies one quantity, such as the share of the inputs that change, and reads the
//! output of a graph with many strategies side by side. Some strategies are those of the engine;
//! others are the simple ones that people write first, some of them exponential, on the same
//! graphs (`recursion`, `lists`, `propagation`). All give the same values, which is checked.
//!
//! The directory gets a table of all results (`study.csv`), the tables for people (`tables.md`),
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
use crate::terminal::tell;
use measure::Row;
use report::Report;

/// A study: its results, and how they are shown.
pub(super) struct Study {
    /// The name of its files.
    name: &'static str,
    title: &'static str,
    /// The quantity that it varies.
    x: &'static str,
    rows: Vec<Row>,
    /// What its chart shows; none if a table shows more.
    chart: Option<Shown>,
}

/// The quantity that a chart shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// Nanoseconds for each read.
    Time,
    /// Runs of nodes for each read.
    Runs,
}

/// What all studies need.
pub(super) struct Setting<'a> {
    engine: &'a Engine,
    /// For each point of a study.
    seconds: f64,
}

/// A function that runs a study.
type Run = fn(&Setting<'_>) -> Result<Study, Stop>;

/// Runs all studies, including that of the given documents, and writes the results.
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
        tell(&format!("{}: {} results\n", study.name, study.rows.len()));
        studies.push(study);
    }
    for study in documents::all(documents, &setting)? {
        tell(&format!("{}: {} results\n", study.name, study.rows.len()));
        studies.push(study);
    }
    report.write(&studies)?;
    Ok(Exit::Done)
}
