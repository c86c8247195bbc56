//! Measures strategies side by side.
//!
//! A first pass counts node runs and compares the outputs. Then the strategies are timed in turns,
//! so that other load on the machine affects all of them alike.

use std::time::{Duration, Instant};

use super::strategy::{NoRead, Reading, Strategy};
use crate::outcome::{Exit, Stop};

/// The minimum and the maximum number of turns of a strategy.
const TURNS: [usize; 2] = [5, 400];

/// Strategies with longer turns are timed once.
const LONG: Duration = Duration::from_secs(1);

/// A row of a table: a strategy at one point of a study.
#[derive(Clone)]
pub(super) struct Row {
    /// The graph or the document.
    pub(super) graph: String,
    /// The varied quantity.
    pub(super) x: f64,
    pub(super) strategy: String,
    /// Whether the strategy gave up because too many nodes ran.
    pub(super) gave_up: bool,
    /// Node runs per read, if they were counted.
    pub(super) runs: Option<f64>,
    /// Wrong values that the output passed on, per read.
    pub(super) glitches: f64,
    /// The median time per read.
    pub(super) seconds: Option<f64>,
}

/// Counts and times; `readings` generates the changes of a turn, the same for all strategies.
pub(super) fn measure(
    graph: &str,
    x: f64,
    mut field: Vec<Box<dyn Strategy + '_>>,
    seconds: f64,
    mut readings: impl FnMut() -> Vec<Reading>,
) -> Result<Vec<Row>, Stop> {
    // The first reads run all nodes and warm the caches, so they are not counted.
    let warm = count(graph, x, &mut field, &readings(), None)?;
    let mut rows = count(graph, x, &mut field, &readings(), Some(&warm))?;
    let mut timed: Vec<(bool, Vec<f64>)> =
        rows.iter().map(|row| (!row.gave_up, Vec::new())).collect();
    let until = Instant::now() + Duration::try_from_secs_f64(seconds).unwrap_or_default();
    let mut turn = 0;
    while turn < TURNS[0] || (turn < TURNS[1] && Instant::now() < until) {
        let readings = readings();
        for (strategy, (plays, times)) in field.iter_mut().zip(&mut timed) {
            if *plays {
                let took = time(&mut **strategy, &readings)?;
                times.push(took.as_secs_f64() / readings.len() as f64);
                *plays = took < LONG;
            }
        }
        turn += 1;
    }
    for (row, (_, mut times)) in rows.iter_mut().zip(timed) {
        times.sort_by(f64::total_cmp);
        row.seconds = times.get(times.len() / 2).copied();
    }
    Ok(rows)
}

/// Reads once with every strategy and compares the values.
fn count(
    graph: &str,
    x: f64,
    field: &mut [Box<dyn Strategy + '_>],
    readings: &[Reading],
    before: Option<&[Row]>,
) -> Result<Vec<Row>, Stop> {
    let mut expected: Vec<Option<(f64, String)>> = vec![None; readings.len()];
    let mut rows = Vec::with_capacity(field.len());
    for (k, strategy) in field.iter_mut().enumerate() {
        let (runs, glitches) = (strategy.runs(), strategy.glitches());
        // A strategy that gave up has no valid values any more.
        let mut gave_up = before.is_some_and(|rows| rows[k].gave_up);
        for (reading, expected) in readings.iter().zip(&mut expected) {
            if gave_up {
                break;
            }
            strategy.prepare(reading, true);
            match (strategy.read(reading), &*expected) {
                (Ok(value), None) => *expected = Some((value, strategy.name())),
                (Ok(value), Some((other, _))) if value == *other => {}
                (Ok(value), Some((other, by))) => {
                    let name = strategy.name();
                    let text = format!("{name} gives {value} for {graph}, {by} {other}");
                    let help = Some("one of them is wrong: please report it".into());
                    return Err(Stop::new(Exit::Failed, text, help));
                }
                (Err(NoRead::TooManyRuns), _) => gave_up = true,
                (Err(NoRead::Refused(why)), _) => return Err(Stop::new(Exit::Failed, why, None)),
            }
        }
        let per_read = |n: u64| n as f64 / readings.len() as f64;
        rows.push(Row {
            graph: graph.into(),
            x,
            strategy: strategy.name(),
            gave_up,
            runs: strategy
                .runs()
                .filter(|_| !gave_up)
                .zip(runs)
                .map(|(now, before)| per_read(now - before)),
            glitches: per_read(strategy.glitches() - glitches),
            seconds: None,
        });
    }
    Ok(rows)
}

fn time(strategy: &mut dyn Strategy, readings: &[Reading]) -> Result<Duration, Stop> {
    let mut took = Duration::ZERO;
    for reading in readings {
        strategy.prepare(reading, false);
        let start = Instant::now();
        let value = strategy.read(reading);
        took += start.elapsed();
        match value {
            Ok(value) => drop(std::hint::black_box(value)),
            Err(NoRead::TooManyRuns) => break,
            Err(NoRead::Refused(why)) => return Err(Stop::new(Exit::Failed, why, None)),
        }
    }
    Ok(took)
}
