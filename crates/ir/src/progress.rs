//! Progress: reports to the caller of an evaluation, and cancellation by the caller.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use millstream_base::catch_panic;

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

impl Done {
    /// This progress with `n_runs` more runs of `n_elements` elements each.
    #[must_use]
    pub fn and(self, n_runs: usize, n_elements: usize) -> Self {
        let (runs, elements) = (n_runs as u64, n_elements as u64);
        Self { runs: self.runs + runs, elements: self.elements + runs * elements, ..self }
    }

    /// The progress after this number of ticks.
    pub fn of_ticks(ticks_done: u64) -> Self {
        Self { ticks_done, ..Self::default() }
    }

    /// The progress after this number of runs of one element each.
    pub fn of_runs(runs: u64) -> Self {
        Self { runs, elements: runs, ..Self::default() }
    }

    /// The totals of an evaluation.
    pub fn totals(steps: u64, ticks: u64) -> Self {
        Self { steps, ticks, ..Self::default() }
    }
}

type Receiver = dyn Fn(&Done) -> ControlFlow<()> + Send + Sync;

/// A callback that receives progress and may cancel the evaluation.
#[derive(Clone)]
pub struct Progress {
    receiver: Arc<Receiver>,
    every: Duration,
}

/// The default interval between reports.
const EVERY: Duration = Duration::from_millis(20);

impl Progress {
    /// Calls this function at most fifty times a second, one call at a time, on any of the
    /// evaluating threads. `ControlFlow::Break` cancels the evaluation, and so does a panic. A
    /// shorter evaluation is not reported.
    pub fn new(receiver: impl Fn(&Done) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        Self { receiver: Arc::new(receiver), every: EVERY }
    }

    /// Sets the minimal interval between reports; zero reports whenever the evaluation reads the
    /// clock.
    #[must_use]
    pub fn every(self, every: Duration) -> Self {
        Self { every, ..self }
    }

    /// Whether a report is due, given the time since the last one.
    pub(crate) fn is_due(&self, since: Duration) -> bool {
        since >= self.every
    }

    /// Reports progress, and says whether to continue.
    pub(crate) fn report(&self, done: &Done) -> ControlFlow<()> {
        catch_panic(|| (self.receiver)(done)).unwrap_or(ControlFlow::Break(()))
    }

    /// The progress of one of several ticks.
    #[must_use]
    pub fn of_tick(&self, ticks_done: u64, ticks: u64) -> Self {
        let outer = Arc::clone(&self.receiver);
        let receiver = move |done: &Done| outer(&Done { ticks_done, ticks, ..*done });
        Self { receiver: Arc::new(receiver), every: self.every }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress").field("every", &self.every).finish_non_exhaustive()
    }
}
