//! Progress: reports to the caller of an evaluation, and cancellation by the caller.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use millstream_base::unwound;

/// The progress of an evaluation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Done {
    /// Number of finished runs of steps. A step runs once for each distinct context and each
    /// extension of its mask, so there may be more runs than steps; the steps of a branch that is
    /// not taken never run.
    pub runs: u64,
    /// Number of steps that the requested outputs may need.
    pub steps: u64,
    /// Number of elements computed in all runs.
    pub elements: u64,
    /// Number of finished ticks. The numbers above are those of the current tick.
    pub ticks_done: u64,
    /// Number of ticks to evaluate: 1 unless nodes keep state.
    pub ticks: u64,
}

type Tell = dyn Fn(&Done) -> ControlFlow<()> + Send + Sync;

/// A callback that receives progress and may cancel the evaluation.
#[derive(Clone)]
pub struct Progress {
    tell: Arc<Tell>,
    every: Duration,
}

/// The default interval between reports.
const EVERY: Duration = Duration::from_millis(20);

impl Progress {
    /// Calls this function at most fifty times a second, one call at a time, on any of the
    /// evaluating threads. `ControlFlow::Break` cancels the evaluation, and so does a panic. A
    /// shorter evaluation is not reported.
    pub fn new(tell: impl Fn(&Done) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        Self { tell: Arc::new(tell), every: EVERY }
    }

    /// Sets the minimal interval between reports; zero reports whenever the evaluation reads the
    /// clock.
    #[must_use]
    pub fn every(self, every: Duration) -> Self {
        Self { every, ..self }
    }

    /// Reports progress, and tells whether to continue.
    pub fn tell(&self, done: &Done) -> ControlFlow<()> {
        unwound(|| (self.tell)(done)).unwrap_or(ControlFlow::Break(()))
    }

    /// The progress of one of several ticks.
    #[must_use]
    pub fn of_tick(&self, ticks_done: u64, ticks: u64) -> Self {
        let outer = Arc::clone(&self.tell);
        let tell = move |done: &Done| outer(&Done { ticks_done, ticks, ..*done });
        Self { tell: Arc::new(tell), every: self.every }
    }
}

/// The time of the last report, relative to the creation of the value.
#[derive(Debug)]
pub struct Pace {
    started: Instant,
    /// Nanoseconds.
    told: AtomicU64,
}

impl Pace {
    /// Starts now.
    #[expect(clippy::new_without_default, reason = "it reads the clock")]
    pub fn new() -> Self {
        Self { started: Instant::now(), told: AtomicU64::new(0) }
    }

    /// Whether the next report is due; if so, the time counts as that of a report.
    pub fn is_due(&self, progress: &Progress) -> bool {
        let now = self.started.elapsed();
        let last = Duration::from_nanos(self.told.load(Ordering::Relaxed));
        let is_due = now.saturating_sub(last) >= progress.every;
        if is_due {
            self.told.store(now.as_nanos() as u64, Ordering::Relaxed);
        }
        is_due
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress").field("every", &self.every).finish_non_exhaustive()
    }
}
