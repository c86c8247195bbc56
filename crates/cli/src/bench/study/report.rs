//! Tables and charts.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::measure::Row;
use super::{Shown, Study};
use crate::chart::{Axis, Chart, Marks, Series};
use crate::outcome::{Exit, Stop};
use crate::terminal::print;

/// The directory for the results.
pub(super) struct Report {
    dir: PathBuf,
}

impl Report {
    pub(super) fn new(dir: &Path) -> Result<Self, Stop> {
        std::fs::create_dir_all(dir).map_err(|error| cannot_write(dir, &error))?;
        Ok(Self { dir: dir.into() })
    }

    /// Writes all files and prints their names.
    pub(super) fn write(&self, studies: &[Study]) -> Result<(), Stop> {
        self.file("study.csv", &table_of_all(studies))?;
        let mut tables = String::new();
        for study in studies {
            write_tables(&mut tables, study);
        }
        self.file("tables.md", &tables)?;
        for study in studies {
            for (name, chart) in charts(study) {
                if let Some(svg) = chart.svg() {
                    self.file(&name, &svg)?;
                }
            }
        }
        Ok(())
    }

    fn file(&self, name: &str, text: &str) -> Result<(), Stop> {
        let path = self.dir.join(name);
        std::fs::write(&path, text).map_err(|error| cannot_write(&path, &error))?;
        Ok(print(&path.display().to_string())?)
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Stop {
    Stop::new(Exit::Failed, format!("cannot write {}: {error}", path.display()), None)
}

/// The distinct values of a member, in the order of their first appearance.
fn distinct<'a, T: PartialEq + 'a>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for value in all {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

fn table_of_all(studies: &[Study]) -> String {
    let mut text = String::from(
        "study,graph,x,strategy,gave_up,runs_per_read,glitches_per_read,seconds_per_read\n",
    );
    let quoted = |name: &str| format!("\"{name}\"");
    let number = |x: Option<f64>| x.map(|x| format!("{x:.4e}")).unwrap_or_default();
    for study in studies {
        for row in &study.rows {
            let Row { graph, x, strategy, gave_up, runs, glitches, seconds } = row;
            let (graph, strategy) = (quoted(graph), quoted(strategy));
            let (runs, seconds) = (number(*runs), number(*seconds));
            let _ = writeln!(
                text,
                "{},{graph},{x},{strategy},{gave_up},{runs},{glitches},{seconds}",
                study.name
            );
        }
    }
    text
}

/// Writes runs and times as tables with a row per strategy and a column per point.
fn write_tables(text: &mut String, study: &Study) {
    let _ = writeln!(text, "## {}\n", study.title);
    let points = distinct(study.rows.iter().map(|row| (row.graph.as_str(), row.x)));
    let strategies = distinct(study.rows.iter().map(|row| row.strategy.as_str()));
    let many = distinct(points.iter().map(|(graph, _)| *graph)).len() > 1;
    let head: Vec<String> = points
        .iter()
        .map(|(graph, x)| if many { format!("{graph} ({})", amount(*x)) } else { amount(*x) })
        .collect();
    let find = |strategy: &str, point: &(&str, f64)| {
        study.rows.iter().find(|row| {
            row.strategy == strategy && row.graph == point.0 && row.x.to_bits() == point.1.to_bits()
        })
    };
    let mut table = |title: &str, strategies: &[&str], cell: &dyn Fn(&Row) -> Option<String>| {
        let _ = writeln!(text, "{title}, by {}:\n\n| | {} |", study.x, head.join(" | "));
        let _ = writeln!(text, "|---|{}", "---:|".repeat(points.len()));
        for strategy in strategies {
            let cells: Vec<String> = points
                .iter()
                .map(|point| find(strategy, point).and_then(cell).unwrap_or_else(|| "-".into()))
                .collect();
            let _ = writeln!(text, "| {strategy} | {} |", cells.join(" | "));
        }
        text.push('\n');
    };
    table("Time of a read", &strategies, &|row| row.seconds.map(duration));
    // If all strategies ran the same nodes, a table of runs would say nothing.
    let differs = |point: &(&str, f64)| {
        let mut runs = strategies.iter().filter_map(|strategy| find(strategy, point)?.runs);
        let first = runs.next();
        runs.any(|runs| Some(runs) != first)
    };
    if points.iter().any(differs) {
        let counted: Vec<&str> = strategies
            .iter()
            .copied()
            .filter(|name| {
                let mut rows = study.rows.iter().filter(|row| row.strategy == *name);
                rows.any(|row| row.gave_up || row.runs.is_some())
            })
            .collect();
        table("Nodes that ran", &counted, &|row| {
            if row.gave_up { Some("gave up".into()) } else { row.runs.map(amount) }
        });
    }
    let wrong: Vec<&str> = strategies
        .iter()
        .copied()
        .filter(|name| study.rows.iter().any(|row| row.strategy == *name && row.glitches > 0.0))
        .collect();
    if !wrong.is_empty() {
        table("Wrong values of the output before the right one", &wrong, &|row| {
            if row.gave_up { Some("gave up".into()) } else { Some(amount(row.glitches)) }
        });
    }
}

/// One chart for each graph of a study.
fn charts(study: &Study) -> Vec<(String, Chart)> {
    let Some(shown) = study.chart else { return Vec::new() };
    let graphs = distinct(study.rows.iter().map(|row| row.graph.as_str()));
    let label = match shown {
        Shown::Time => "nanoseconds",
        Shown::Runs => "runs of nodes",
    };
    let chart = |(k, graph): (usize, &&str)| {
        let rows = || study.rows.iter().filter(|row| row.graph == **graph);
        let line = |strategy: &str| Series {
            name: strategy.into(),
            points: rows()
                .filter(|row| row.strategy == strategy)
                .filter_map(|row| {
                    let y = match shown {
                        Shown::Time => row.seconds.map(|seconds| seconds * 1e9),
                        Shown::Runs => row.runs.filter(|_| !row.gave_up),
                    };
                    Some((row.x, y?))
                })
                .collect(),
        };
        let lines = distinct(rows().map(|row| row.strategy.as_str())).into_iter().map(line);
        let (title, file) = match graphs.len() {
            1 => (study.title.to_owned(), format!("{}.svg", study.name)),
            _ => (format!("{}: {graph}", study.title), format!("{}-{}.svg", study.name, k + 1)),
        };
        let (x, y) = (Axis::log(study.x), Axis::log(label));
        (file, Chart { title, x, y, marks: Marks::Lines(lines.collect()) })
    };
    graphs.iter().enumerate().map(chart).collect()
}

/// Formats a number for a table: `0.25`, `12`, `8,192`.
fn amount(x: f64) -> String {
    if x == 0.0 || (x.abs() < 10.0 && x.fract() != 0.0) {
        return format!("{x:.3}").trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    let digits = format!("{x:.0}");
    let mut text = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a time for a table: `17.2 ns`, `3.40 ms`.
fn duration(seconds: f64) -> String {
    let (x, unit) = match seconds {
        ..1e-6 => (seconds * 1e9, "ns"),
        ..1e-3 => (seconds * 1e6, "µs"),
        ..1.0 => (seconds * 1e3, "ms"),
        _ => (seconds, "s"),
    };
    let decimals = if x < 10.0 { 2 } else { usize::from(x < 100.0) };
    format!("{x:.decimals$} {unit}")
}
