//! Evaluators side by side on one unchanging request.
//!
//! Runs alternate, so that other load on the machine affects all evaluators alike. An untimed run
//! precedes each short run, so that its data are in the caches. The bound is the time for memory
//! traffic alone: loops, timed between the runs, read as many bytes as the input columns hold and
//! write as many as the outputs hold.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use millstream::evaluate::{Answer, Data, LogDetail, Request};
use millstream::{Column, Program};
use serde_json::{Value as Json, json};

use super::contender::{Contender, Field, complete};
use crate::format::Format;
use crate::outcome::{Exit, Stop};
use crate::terminal::print;

/// The minimum number of timed runs per evaluator.
const MIN_ROUNDS: usize = 5;

/// Runs longer than this many seconds do not profit from warm caches.
const SHORT: f64 = 0.01;

/// The bytes of the values of a column.
pub(super) fn bytes_of(column: &Column) -> usize {
    column.len() * column.ty().size()
}

fn bytes_out(answer: &Answer) -> usize {
    let series = answer.outputs.iter().filter_map(|output| output.value.as_ref());
    let bytes = series.map(|series| match &series.data {
        Data::One(_) => 0,
        Data::Many(column) => bytes_of(column),
    });
    bytes.sum()
}

/// The evaluation under test.
pub(super) struct Play<'a> {
    pub(super) program: &'a Program,
    pub(super) request: &'a Request,
    /// The bytes in the input columns.
    pub(super) bytes_in: usize,
}

/// Times the evaluators and prints the results.
pub(super) fn time(
    mut field: Field,
    &Play { program, request, bytes_in }: &Play<'_>,
    threads: NonZeroUsize,
    seconds: f64,
    format: Format,
) -> Result<Exit, Stop> {
    let mut movings: Option<[Moving; 2]> = None;
    let until = Instant::now() + Duration::try_from_secs_f64(seconds).unwrap_or_default();
    let (mut elements, mut bytes, mut round) = (0, bytes_in, 0);
    while round < MIN_ROUNDS || Instant::now() < until {
        for contender in &mut field.contenders {
            if is_short(&contender.seconds) {
                let answer = contender.answer(program, request)?;
                contender.evaluator.give_back(answer);
            }
            let start = Instant::now();
            let answer = contender.answer(program, request)?;
            contender.seconds.push(start.elapsed().as_secs_f64());
            let answer = complete(answer)?;
            (elements, bytes) = (answer.n_cells(), bytes_in + bytes_out(&answer));
            contender.evaluator.give_back(answer);
        }
        let movings = movings.get_or_insert_with(|| {
            [1, threads.get()].map(|n| Moving::new(n, bytes_in, bytes - bytes_in))
        });
        movings.iter_mut().for_each(Moving::run);
        round += 1;
    }
    let bounds = movings.map_or([0.0; 2], |movings| movings.map(|moving| moving.seconds()));
    let mut rows = Vec::new();
    for contender in &mut field.contenders {
        let counted = request.clone().with_log(LogDetail::Counts);
        let runs = contender.answer(program, &counted)?.log.total_runs();
        // Several threads may be as slow as one.
        let is_alone = contender.evaluator.n_threads() == 1;
        let bound_s = if is_alone { bounds[0] } else { bounds[0].min(bounds[1]) };
        rows.push(Row::new(contender, runs, elements, bytes, bound_s));
    }
    match format {
        Format::Json => {
            let rows: Vec<Json> = rows.iter().map(Row::json).collect();
            let told = json!({ "results": rows, "left_out": field.left_out_json() });
            print(&told.to_string())?;
        }
        Format::Text => {
            print(&format!("{elements} elements, {bytes} bytes of columns read and written"))?;
            print(
                "evaluator            threads    median ms       min ms  ns/element   times bound       runs",
            )?;
            for row in &rows {
                print(&row.row())?;
            }
            field.report_left_out();
        }
    }
    Ok(Exit::Done)
}

/// Whether a warm-up run precedes the next one.
fn is_short(seconds: &[f64]) -> bool {
    seconds.last().is_none_or(|last| *last < SHORT)
}

/// Timed loops that read and write memory.
struct Moving {
    /// A pair of buffers to read and write, per thread.
    parts: Vec<[Vec<u64>; 2]>,
    /// The ratio of the bytes of the evaluation to the bytes moved.
    times: f64,
    seconds: Vec<f64>,
}

/// The maximum number of bytes to move. Beyond the cache sizes the time is proportional, so the
/// times for larger amounts are extrapolated.
const MOVED: usize = 1 << 28;

/// Numbers per block; reading and writing alternate block by block.
const BLOCK: usize = 1 << 10;

impl Moving {
    fn new(n_threads: usize, bytes_in: usize, bytes_out: usize) -> Self {
        let times = ((bytes_in + bytes_out) as f64 / MOVED as f64).max(1.0);
        let numbers = |bytes: usize| {
            let n = bytes as f64 / times / (n_threads * size_of::<u64>()) as f64;
            vec![1_u64; n as usize]
        };
        let parts = (0..n_threads).map(|_| [numbers(bytes_in), numbers(bytes_out)]);
        Self { parts: parts.collect(), times, seconds: Vec::new() }
    }

    fn run(&mut self) {
        if is_short(&self.seconds) {
            self.run_once();
        }
        let start = Instant::now();
        self.run_once();
        self.seconds.push(start.elapsed().as_secs_f64());
    }

    fn run_once(&mut self) {
        let (own, others) = self.parts.split_at_mut(1);
        std::thread::scope(|scope| {
            for part in others {
                scope.spawn(|| read_and_write(part));
            }
            read_and_write(&mut own[0]);
        });
    }

    /// The minimum time in seconds.
    fn seconds(&self) -> f64 {
        self.times * self.seconds.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

fn read_and_write([from, to]: &mut [Vec<u64>; 2]) {
    let n_blocks = (from.len() + to.len()).div_ceil(BLOCK);
    let (mut read, mut written) = (0, 0);
    for k in 1..=n_blocks {
        let end = |n: usize| (n as u128 * k as u128 / n_blocks as u128) as usize;
        let (read_to, written_to) = (end(from.len()), end(to.len()));
        let bits = from[read..read_to].iter().fold(0, |bits, number| bits | number);
        to[written..written_to].fill(std::hint::black_box(bits));
        (read, written) = (read_to, written_to);
    }
}

pub(super) fn median(seconds: &[f64]) -> f64 {
    let mut sorted = seconds.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// The results of one evaluator.
struct Row {
    evaluator: &'static str,
    threads: usize,
    runs: u64,
    elements: usize,
    median_s: f64,
    min_s: f64,
    bytes_moved: usize,
    bound_s: f64,
}

impl Row {
    fn new(
        contender: &Contender,
        runs: u64,
        elements: usize,
        bytes_moved: usize,
        bound_s: f64,
    ) -> Self {
        Self {
            evaluator: contender.name(),
            threads: contender.evaluator.n_threads(),
            runs,
            elements,
            median_s: median(&contender.seconds),
            min_s: contender.seconds.iter().copied().fold(f64::INFINITY, f64::min),
            // A result kept from an earlier evaluation moves no memory.
            bytes_moved: if runs == 0 { 0 } else { bytes_moved },
            bound_s: if runs == 0 { 0.0 } else { bound_s },
        }
    }

    fn ns_per_element(&self) -> f64 {
        if self.elements == 0 { 0.0 } else { self.median_s * 1e9 / self.elements as f64 }
    }

    fn json(&self) -> Json {
        json!({
            "evaluator": self.evaluator,
            "threads": self.threads,
            "elements": self.elements,
            "median_s": self.median_s,
            "min_s": self.min_s,
            "ns_per_element": self.ns_per_element(),
            "bytes_moved": self.bytes_moved,
            "bound_s": self.bound_s,
            "runs": self.runs,
        })
    }

    fn row(&self) -> String {
        let Self { evaluator, threads, median_s, min_s, bound_s, runs, .. } = self;
        let (median, min) = (median_s * 1e3, min_s * 1e3);
        let each = self.ns_per_element();
        // Single values move no memory.
        let times = if *bound_s > 0.0 { format!("{:.2}", median_s / bound_s) } else { "-".into() };
        format!(
            "{evaluator:20} {threads:7} {median:12.4} {min:12.4} {each:11.3} {times:>13} {runs:10}"
        )
    }
}
