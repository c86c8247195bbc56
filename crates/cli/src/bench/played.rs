//! Evaluators side by side while inputs change.
//!
//! First the runs of nodes are counted over a fixed number of changes, and the answers of all
//! evaluators are compared bit for bit. Then the changes are timed. The evaluators take turns on
//! the same few changes, so that each finds its own data in the caches and other load on the
//! machine affects all of them alike. The time to generate a change does not count; the time to
//! pass it on, to evaluate and to do any deferred work does.

use std::time::{Duration, Instant};

use millstream::values::Same as _;
use millstream::{Answer, LogDetail, Program, Request};
use serde_json::{Value as Json, json};

use super::changes::Changes;
use super::contender::{Contender, Field, complete};
use crate::format::Format;
use crate::outcome::{Exit, Stop};
use crate::percentiles::Percentiles;
use crate::request::refused;
use crate::terminal::print;

/// The number of counted reads, for single values and for columns.
const COUNTED: [usize; 2] = [24, 6];

/// The number of consecutive reads per turn, for single values and for columns.
const IN_A_ROW: [usize; 2] = [16, 1];

/// The minimum number of turns per evaluator.
const MIN_TURNS: usize = 5;

/// The node runs of an evaluator.
#[derive(Clone, Copy, Default)]
struct Runs {
    all: u64,
    most: u64,
}

/// Runs the benchmark and prints the results.
pub(super) fn play(
    mut field: Field,
    mut changes: Changes<'_>,
    per_read: usize,
    seconds: f64,
    format: Format,
) -> Result<Exit, Stop> {
    let program = changes.program;
    let mut runs = vec![Runs::default(); field.contenders.len()];
    let n_cells = count(&mut field.contenders, program, &changes.next_many(per_read), &mut runs)?;
    let by_size = |of: [usize; 2]| of[usize::from(n_cells > 1)];
    for _ in 1..by_size(COUNTED) {
        count(&mut field.contenders, program, &changes.next_many(per_read), &mut runs)?;
    }
    let until = Instant::now() + Duration::try_from_secs_f64(seconds).unwrap_or_default();
    let mut turn = 0;
    while turn < MIN_TURNS || Instant::now() < until {
        let requests = changes.next_many(per_read * by_size(IN_A_ROW));
        for contender in &mut field.contenders {
            for requests in requests.chunks(per_read) {
                let start = Instant::now();
                let answer = answer(contender, program, requests)?;
                contender.seconds.push(start.elapsed().as_secs_f64() / per_read as f64);
                contender.evaluator.give_back(complete(answer)?);
            }
        }
        turn += 1;
    }
    let n_counted = by_size(COUNTED) * per_read;
    let rows: Vec<Row> = field
        .contenders
        .iter_mut()
        .zip(runs)
        .map(|(contender, runs)| Row {
            evaluator: contender.name(),
            threads: contender.evaluator.n_threads(),
            seconds: Percentiles::of(std::mem::take(&mut contender.seconds)),
            runs_per_change: runs.all as f64 / n_counted as f64,
            most_runs: runs.most,
        })
        .collect();
    let kinds: Vec<&str> = changes.kinds.iter().map(|kind| kind.name()).collect();
    match format {
        Format::Json => {
            let rows: Vec<Json> = rows.iter().map(Row::json).collect();
            let told = json!({
                "elements": n_cells,
                "changes": { "kinds": kinds, "per_read": per_read, "counted": n_counted },
                "results": rows,
                "left_out": field.left_out_json(),
            });
            print(&told.to_string())?;
        }
        Format::Text => {
            let reads = if per_read == 1 { "a read".into() } else { format!("{per_read} a read") };
            print(&format!("{n_cells} elements; changes ({}), {reads}", kinds.join(", ")))?;
            let same =
                format!("all evaluators gave the same bits for the {n_counted} counted changes");
            print(&same)?;
            print(
                "evaluator            threads     p50 us       p99 us       max us  runs/change  most runs",
            )?;
            for row in &rows {
                print(&row.row())?;
            }
            field.report_left_out();
        }
    }
    Ok(Exit::Done)
}

/// Passes the changes on and evaluates the last request.
fn answer(
    contender: &mut Contender,
    program: &Program,
    requests: &[Request],
) -> Result<Answer, Stop> {
    let (last, before) = requests.split_last().expect("every read follows a change");
    for request in before {
        let committed = contender.commit(program, request);
        committed.map_err(|error| refused(&error))?;
    }
    contender.answer(program, last)
}

/// Counts the runs of all evaluators and compares their answers. Returns the number of elements.
fn count(
    contenders: &mut [Contender],
    program: &Program,
    requests: &[Request],
    runs: &mut [Runs],
) -> Result<usize, Stop> {
    let counted = requests.iter().map(|request| request.clone().with_log(LogDetail::Counts));
    let counted: Vec<Request> = counted.collect();
    let mut first: Option<(&'static str, Answer)> = None;
    let mut n_cells = 0;
    for (contender, runs) in contenders.iter_mut().zip(runs) {
        let answer = complete(answer(contender, program, &counted)?)?;
        n_cells = answer.n_cells();
        let n_runs = answer.log.total_runs();
        runs.all += n_runs;
        runs.most = runs.most.max(n_runs);
        match &first {
            None => first = Some((contender.name(), answer)),
            Some((expected_by, expected)) => {
                agree((expected_by, expected), (contender.name(), &answer))?;
                contender.evaluator.give_back(answer);
            }
        }
    }
    Ok(n_cells)
}

/// Checks that two evaluators gave the same bits.
fn agree((a, in_a): (&str, &Answer), (b, in_b): (&str, &Answer)) -> Result<(), Stop> {
    for (output, other) in in_a.outputs.iter().zip(&in_b.outputs) {
        let is_same = match (&output.value, &other.value) {
            (Some(x), Some(y)) => in_a.full_column(x).same(&in_b.full_column(y)),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        if !is_same {
            let output = &output.name;
            let text = format!("{a} and {b} disagree on the bits of output `{output}`");
            return Err(Stop::new(
                Exit::Failed,
                text,
                Some("one of them is wrong: please report it".into()),
            ));
        }
    }
    Ok(())
}

/// The results of one evaluator.
struct Row {
    evaluator: &'static str,
    threads: usize,
    /// Per change.
    seconds: Percentiles,
    runs_per_change: f64,
    /// The maximum between two reads.
    most_runs: u64,
}

impl Row {
    fn json(&self) -> Json {
        json!({
            "evaluator": self.evaluator,
            "threads": self.threads,
            "seconds_per_change": self.seconds.json(),
            "runs_per_change": self.runs_per_change,
            "most_runs": self.most_runs,
        })
    }

    fn row(&self) -> String {
        let Self { evaluator, threads, seconds, runs_per_change, most_runs } = self;
        let [p50, p99, max] = [seconds.p50, seconds.p99, seconds.max].map(|s| s * 1e6);
        format!(
            "{evaluator:20} {threads:7} {p50:10.3} {p99:12.3} {max:12.3} {runs_per_change:12.1} {most_runs:10}"
        )
    }
}
