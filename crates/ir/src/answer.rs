//! Answers: the values of the outputs, the failures, and the log of what ran.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use millstream_base::id::Id;
use millstream_base::{Column, Ended, Lane, Mask, NodePath, Type, Value, ValueType};
use millstream_node::Data;

use crate::element_states::Calls;
use crate::plan::{Plan, StepId};
use crate::request::{Bound, LogDetail, Request, RequestAxis, RequestError};
use crate::unsettled::Mark;

/// The result of an evaluation.
#[derive(Debug)]
pub struct Answer {
    /// An answer for each requested output, in order of the request.
    pub outputs: Vec<OutputAnswer>,
    /// The nodes that failed themselves, ordered by path: each once, and once more if it also failed
    /// in ticks before the requested ones.
    pub failures: Vec<NodeFailure>,
    /// The repeats that ended before they were stable, of steps that ran.
    pub unsettled: Vec<Mark>,
    /// The steps that ran, if the request asked for a log.
    pub log: RunLog,
    /// New state of nodes inside scopes, for each element that called them.
    pub calls: Calls,
    /// Extent of the request's time axis, if it opened one.
    pub times: Option<usize>,
    /// Extent of the request's view axis, if it opened one.
    pub views: Option<usize>,
    /// Extent of the request's index axis, if it opened one.
    pub count: Option<usize>,
}

/// The answer for one output.
#[derive(Clone, Debug)]
pub struct OutputAnswer {
    /// The name.
    pub name: Arc<str>,
    /// The type.
    pub ty: Type,
    /// The value; `None` if a cell of it depends on a failed node.
    pub value: Option<Series>,
    /// The cells that did not fail, if others did and the request asks for them
    /// ([`Request::with_partial`]); `None` if there are none.
    pub partial: Option<Box<Partial>>,
}

impl OutputAnswer {
    /// The value or, if some cells failed, the others.
    pub fn known(&self) -> Option<&Series> {
        self.value.as_ref().or(self.partial.as_ref().map(|partial| &partial.series))
    }

    /// The cells of [`known`](Self::known) that are missing.
    pub fn missing(&self) -> Mask {
        self.partial.as_ref().map_or(Mask::empty(), |partial| partial.missing.clone())
    }
}

/// A value, or a value per cell of some axes of the request.
#[derive(Clone, Debug)]
pub struct Series {
    /// The data; a column has the cells of `axes`, the first outermost.
    pub data: Data,
    /// The axes along which the data varies.
    pub axes: Vec<RequestAxis>,
}

/// A value per cell of some axes of the request, apart from the cells that failed.
#[derive(Clone, Debug)]
pub struct Partial {
    /// The data; missing cells hold NaN or, in types that have none, the default of the type.
    pub series: Series,
    /// The cells of the series that are missing.
    pub missing: Mask,
    /// The number of missing cells that may not have failed: they were not tried, because the results
    /// would have taken more bytes than the limit.
    pub n_untried: usize,
}

/// A node that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {}", self.why())]
pub struct NodeFailure {
    /// The node.
    pub path: NodePath,
    /// The reason, in lower case, without a final stop.
    pub message: String,
    /// The next step for the author, if there is one.
    pub help: Option<String>,
    /// The lowest element that failed: its position along each axis, outermost first; empty if the
    /// failure does not depend on the element.
    pub cell: Vec<(&'static str, usize)>,
    /// The first frame in which it failed, if that is a tick before the requested ones, on which
    /// the requested outputs depend.
    pub replayed: Option<i64>,
}

impl Partial {
    /// The value of missing cells: NaN or, in types that have none, the default of the type.
    pub fn filler(ty: Type) -> Value {
        let nan = match ty.lanes() {
            Some((Lane::F32, n)) => Some((u64::from(f32::NAN.to_bits()), n)),
            Some((Lane::F64, n)) => Some((f64::NAN.to_bits(), n)),
            Some((Lane::Bool | Lane::I32 | Lane::I64, _)) | None => None,
        };
        let nan = nan.and_then(|(bits, n)| Value::from_lanes(ty, &vec![bits; n as usize]));
        nan.unwrap_or_else(|| ty.default_value())
    }
}

impl NodeFailure {
    /// The reason, with the frame and the element that failed.
    pub fn why(&self) -> String {
        self.why_at(self.cell.iter().map(|(axis, i)| format!("{axis} {i}")))
    }

    /// The reason, with the frame and these coordinates.
    pub fn why_at(&self, coordinates: impl Iterator<Item = String>) -> String {
        let frame = self.replayed.map(|frame| format!("frame {frame}, which was replayed"));
        let place: Vec<String> = frame.into_iter().chain(coordinates).collect();
        let at =
            if place.is_empty() { String::new() } else { format!(" (at {})", place.join(", ")) };
        format!("{}{at}", self.message)
    }
}

/// Why there is no answer at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum EvalError {
    /// The request does not fit the plan.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    #[diagnostic(code(eval::request))]
    Request(Vec<RequestError>),
    /// The evaluation was cancelled.
    #[error("the evaluation was cancelled")]
    #[diagnostic(code(eval::cancelled))]
    Cancelled,
    /// The deadline passed.
    #[error("the evaluation exceeded its time limit")]
    #[diagnostic(code(eval::deadline), help("give it more time, or ask for less"))]
    Deadline,
    /// The evaluation held more bytes than allowed.
    #[error("the evaluation needs more than the {limit} bytes it may hold")]
    #[diagnostic(code(eval::bytes), help("raise `bytes` in the limits, or ask for fewer cells"))]
    Bytes {
        /// The limit.
        limit: usize,
    },
    /// The system ran out of memory.
    #[error("out of memory: {bytes} more bytes are not available")]
    #[diagnostic(code(eval::memory), help("ask for fewer cells, or for a part of them at a time"))]
    Memory {
        /// Size of the column that did not fit, in bytes.
        bytes: usize,
    },
    /// The evaluator does not support the plan or the request.
    #[error("{evaluator} cannot evaluate this: {why}")]
    #[diagnostic(code(eval::unfit), help("`incremental` evaluates anything"))]
    Unfit {
        /// The name of the evaluator.
        evaluator: &'static str,
        /// The unsupported feature, with its place.
        why: String,
    },
}

impl From<Ended> for EvalError {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Cancelled => Self::Cancelled,
            Ended::Deadline => Self::Deadline,
        }
    }
}

/// A strategy for running plans. All evaluators give the same bits.
///
/// An evaluator holds the working memory of its evaluations; each thread that evaluates has its own.
pub trait Evaluator {
    /// The name on the command line.
    fn name(&self) -> &'static str;

    /// Evaluates the requested outputs.
    ///
    /// If a node fails, the outputs that depend on it have no value; the others are valid.
    ///
    /// # Errors
    /// If the request does not fit the plan, or the evaluation was cancelled or hit a limit.
    fn evaluate(&mut self, plan: &Plan, request: &Request) -> Result<Answer, EvalError> {
        let bound = request.bind(plan).map_err(EvalError::Request)?;
        let mut answer = self.evaluate_bound(plan, request, &bound)?;
        if let Some((step, time)) = bound.time_of_index(plan)
            && let Some(entry) = answer.log.entries.get_mut(Id::index(step))
            && request.log == LogDetail::Times
        {
            entry.time += time;
        }
        Ok(answer)
    }

    /// Evaluates a request that was bound to the plan.
    ///
    /// # Errors
    /// If the evaluation was cancelled or hit a limit, or the evaluator does not support the plan.
    fn evaluate_bound(
        &mut self,
        plan: &Plan,
        request: &Request,
        bound: &Bound,
    ) -> Result<Answer, EvalError>;

    /// Whether the evaluator reuses results of earlier evaluations of a plan.
    fn caches_results(&self) -> bool {
        false
    }

    /// The elements at which outputs of a plan failed when they were last evaluated, to be stored by
    /// evaluators that reuse results: these are then evaluated apart from the others. `None` if the
    /// evaluator does not store them.
    fn failing(&mut self, _plan: &Plan) -> Option<&mut Mask> {
        None
    }

    /// Passes on the inputs of a request without computing an answer. Evaluators that compute on
    /// demand do nothing.
    ///
    /// # Errors
    /// As [`Evaluator::evaluate`].
    fn commit(&mut self, _plan: &Plan, _request: &Request) -> Result<(), EvalError> {
        Ok(())
    }

    /// Maximal number of threads that an evaluation uses.
    fn n_threads(&self) -> usize {
        1
    }

    /// Takes back an answer that the caller no longer needs, to reuse the memory of its columns.
    fn give_back(&mut self, answer: Answer) {
        drop(answer);
    }
}

/// Why a step ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunReason {
    /// No result was stored.
    First,
    /// An input changed.
    InputChanged,
    /// A needed context feature changed.
    FeatureChanged,
    /// Its stored result was dropped to save memory.
    Evicted,
    /// The node was edited.
    Edited,
    /// The result can change at any time and is not stored.
    Volatile,
    /// The node is stateful, so its result is not stored.
    Stateful,
}

/// Why a step did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SkipReason {
    /// It was not demanded.
    NotNeeded,
    /// A stored result was valid.
    Cached,
    /// Its inputs were recomputed without a change.
    CutOff,
    /// A step among its inputs failed.
    InputFailed,
    /// It failed before with the same inputs.
    Failed,
}

/// Whether a step ran, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It ran.
    Ran(RunReason),
    /// It did not run.
    Skipped(SkipReason),
}

impl Fate {
    /// Whether it ran.
    pub fn ran(self) -> bool {
        matches!(self, Self::Ran(_))
    }

    /// The reason, in few words.
    pub fn why(self) -> &'static str {
        match self {
            Self::Ran(RunReason::First) => "first time",
            Self::Ran(RunReason::InputChanged) => "an input changed",
            Self::Ran(RunReason::FeatureChanged) => "a feature changed",
            Self::Ran(RunReason::Evicted) => "was evicted",
            Self::Ran(RunReason::Edited) => "was edited",
            Self::Ran(RunReason::Volatile) => "is volatile",
            Self::Ran(RunReason::Stateful) => "keeps state",
            Self::Skipped(SkipReason::NotNeeded) => "not needed",
            Self::Skipped(SkipReason::Cached) => "cached",
            Self::Skipped(SkipReason::CutOff) => "cut off",
            Self::Skipped(SkipReason::InputFailed) => "an input failed",
            Self::Skipped(SkipReason::Failed) => "failed before",
        }
    }
}

/// One step in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Whether and why it ran.
    pub fate: Fate,
    /// Number of runs: one for each distinct context and each extension of the mask.
    pub runs: u32,
    /// Number of elements computed in all runs.
    pub elements: u64,
    /// Size of the results in bytes.
    pub bytes: u64,
    /// Time spent on the step: looking up its inputs and its result, and running. Zero unless the
    /// request asks for times.
    pub time: Duration,
    /// How `time` was determined.
    pub timing: Timing,
}

impl LogEntry {
    /// The entry of a step that was not demanded.
    pub const NOT_NEEDED: Self = Self {
        fate: Fate::Skipped(SkipReason::NotNeeded),
        runs: 0,
        elements: 0,
        bytes: 0,
        time: Duration::ZERO,
        timing: Timing::Clock,
    };

    /// Adds the runs of `other`, which is the same step in another evaluation or does part of its
    /// work. The fate of the first that ran counts.
    pub fn add(&mut self, other: Self) {
        if self.runs == 0 {
            self.fate = other.fate;
        }
        self.runs += other.runs;
        self.elements += other.elements;
        self.bytes += other.bytes;
        self.time = self.time.saturating_add(other.time);
        self.timing = self.timing.max(other.timing);
    }
}

/// How the time of a step was determined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timing {
    /// Measured by a clock.
    #[default]
    Clock,
    /// Estimated as a share of the time of a fused region, in proportion to the times of its
    /// members, each run alone on a sample of the elements.
    Share,
}

impl Timing {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clock => "clock",
            Self::Share => "share",
        }
    }
}

/// The log of an evaluation; empty unless the request asked for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunLog {
    /// An entry per step of the plan.
    pub entries: Vec<LogEntry>,
    /// Time of the whole evaluation without `measuring`; zero unless the request asks for times. It
    /// exceeds the sum over all steps by the time to set up and to assemble the answer.
    pub time: Duration,
    /// Additional time spent measuring the members of fused regions.
    pub measuring: Duration,
}

impl RunLog {
    /// The entry of a step.
    pub fn entry(&self, step: StepId) -> Option<&LogEntry> {
        self.entries.get(Id::index(step))
    }

    /// A log of these entries, one per step.
    pub fn of(entries: Vec<LogEntry>) -> Self {
        Self { entries, ..Self::default() }
    }

    /// The time of all steps.
    pub fn time_in_steps(&self) -> Duration {
        self.entries.iter().map(|entry| entry.time).sum()
    }

    /// Adds the runs of another evaluation of the plan.
    pub fn add(&mut self, other: Self) {
        self.time += other.time;
        self.measuring += other.measuring;
        if self.entries.is_empty() {
            self.entries = other.entries;
            return;
        }
        for (entry, other) in self.entries.iter_mut().zip(other.entries) {
            entry.add(other);
        }
    }

    /// Number of runs of all steps.
    pub fn total_runs(&self) -> u64 {
        self.entries.iter().map(|entry| u64::from(entry.runs)).sum()
    }
}

impl Answer {
    /// The answer to a request without axes, whose nodes in scopes keep no state.
    pub fn of_one_cell(
        outputs: Vec<OutputAnswer>,
        failures: Vec<NodeFailure>,
        log: RunLog,
    ) -> Self {
        let (calls, unsettled) = (Calls::default(), Vec::new());
        Self { outputs, failures, unsettled, log, calls, times: None, views: None, count: None }
    }

    /// The answer for the output called `name`.
    pub fn output(&self, name: &str) -> Option<&OutputAnswer> {
        self.outputs.iter().find(|output| &*output.name == name)
    }

    /// The value of an output; `None` if it failed, varies along an axis, or is of another type.
    pub fn value<T: ValueType>(&self, output: &str) -> Option<T> {
        match &self.output(output)?.value.as_ref()?.data {
            Data::One(value) => value.get(),
            Data::Many(_) => None,
        }
    }

    /// An output with an entry per cell of the request, time outermost; `None` if it failed or is
    /// of another type. Where it varies along fewer axes than the request has, its entries are
    /// repeated; [`column_over`](Self::column_over) has them once.
    pub fn column<T: ValueType>(&self, output: &str) -> Option<Vec<T>> {
        let column = self.full_column(self.output(output)?.value.as_ref()?);
        column.try_into_vec().or_else(|shared| shared.as_slice().map(<[T]>::to_vec).ok_or(())).ok()
    }

    /// As [`column`](Self::column), with `None` for each missing cell. An output of which all cells
    /// failed has none either way; if only some did, [`column`](Self::column) is `None`, and this
    /// has the others if the request asks for them ([`Request::with_partial`]).
    pub fn partial_column<T: ValueType>(&self, output: &str) -> Option<Vec<Option<T>>> {
        let found = self.output(output)?;
        let Some(partial) = &found.partial else {
            return Some(self.column(output)?.into_iter().map(Some).collect());
        };
        let column = self.full_column(&partial.series);
        let missing = self.missing_over(partial, &RequestAxis::ALL);
        let cells = column.as_slice::<T>()?.iter().enumerate();
        Some(cells.map(|(i, cell)| (!missing.contains(i)).then(|| cell.clone())).collect())
    }

    /// The missing cells among those of these axes, which are ordered as in [`RequestAxis::ALL`]
    /// and include those of the series.
    pub fn missing_over(&self, partial: &Partial, axes: &[RequestAxis]) -> Mask {
        if axes == partial.series.axes {
            return partial.missing.clone();
        }
        let is_missing = |cell| partial.missing.contains(self.entry(&partial.series, axes, cell));
        Mask::from_predicate(&Mask::full(self.cells_of(axes)), is_missing)
    }

    /// Number of cells of the request: the product of its axes, 1 without any. It may be more than
    /// any output has, see [`column_over`](Self::column_over).
    pub fn n_cells(&self) -> usize {
        self.cells_of(&RequestAxis::ALL)
    }

    /// Number of cells of some axes of the request.
    pub fn cells_of(&self, axes: &[RequestAxis]) -> usize {
        axes.iter().map(|axis| self.extent(*axis)).fold(1, usize::saturating_mul)
    }

    /// The extent of an axis; 1 if the request did not open it.
    pub fn extent(&self, axis: RequestAxis) -> usize {
        let extent = match axis {
            RequestAxis::Time => self.times,
            RequestAxis::View => self.views,
            RequestAxis::Index => self.count,
        };
        extent.unwrap_or(1)
    }

    /// The series with an entry per cell of the request, the first axis of [`RequestAxis::ALL`]
    /// outermost.
    pub fn full_column(&self, series: &Series) -> Column {
        self.column_over(series, &RequestAxis::ALL)
    }

    /// The series with an entry per cell of these axes, which are ordered as in
    /// [`RequestAxis::ALL`] and include its own.
    pub fn column_over(&self, series: &Series, axes: &[RequestAxis]) -> Column {
        self.rows_over(series, axes, 0..self.cells_of(axes))
    }

    /// Some of the entries that [`column_over`](Self::column_over) returns.
    pub fn rows_over(&self, series: &Series, axes: &[RequestAxis], rows: Range<usize>) -> Column {
        match &series.data {
            Data::One(value) => Column::filled(value, rows.len()),
            Data::Many(column) if column.len() == self.cells_of(axes) => column.slice(rows),
            Data::Many(column) => column.gather(rows.map(|row| self.entry(series, axes, row))),
        }
    }

    /// The entry of a series that belongs to a cell of these axes.
    pub fn entry(&self, series: &Series, axes: &[RequestAxis], cell: usize) -> usize {
        let (mut rest, mut entry, mut stride) = (cell, 0, 1);
        for axis in axes.iter().rev() {
            let n = self.extent(*axis);
            if series.axes.contains(axis) {
                entry += rest % n * stride;
                stride *= n;
            }
            rest /= n;
        }
        entry
    }
}
