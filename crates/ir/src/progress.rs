//! Progress: what an evaluation tells its caller while it runs, and how the caller ends it.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use millstream_base::unwound;

/// How far an evaluation is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Done {
    /// Runs of steps that are over. A step runs once for each different context and each extension
    /// of its mask, so there may be more runs than steps; of a branch that is not taken no step runs.
    pub runs: u64,
    /// Steps that the outputs asked for may need, whatever turns out to be demanded.
    pub steps: u64,
    /// Elements that were computed, over all runs.
    pub elements: u64,
    /// Ticks that are over. The numbers above are those of the tick that runs.
    pub ticks_done: u64,
    /// Ticks to evaluate: 1 unless nodes keep state.
    pub ticks: u64,
}

type Tell = dyn Fn(&Done) -> ControlFlow<()> + Send + Sync;

/// Somebody who is told how far an evaluation is, and may end it.
#[derive(Clone)]
pub struct Progress {
    tell: Arc<Tell>,
    every: Duration,
}

/// How long nobody is told anything, unless asked for.
const EVERY: Duration = Duration::from_millis(20);

impl Progress {
    /// Tells this function, at most fifty times a second, one call at a time, on any of the threads
    /// that evaluate. `ControlFlow::Break` ends the evaluation as if it had been cancelled, and so
    /// does a panic. What takes less than that long is not told.
    pub fn new(tell: impl Fn(&Done) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        Self { tell: Arc::new(tell), every: EVERY }
    }

    /// Tells at most so often; always when the evaluation looks at the clock for zero.
    #[must_use]
    pub fn every(self, every: Duration) -> Self {
        Self { every, ..self }
    }

    /// Tells how far it is; whether to go on.
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

/// When somebody was told something last, since it was made.
#[derive(Debug)]
pub struct Pace {
    started: Instant,
    /// Nanoseconds.
    told: AtomicU64,
}

impl Pace {
    /// Begins now.
    #[expect(clippy::new_without_default, reason = "it reads the clock")]
    pub fn new() -> Self {
        Self { started: Instant::now(), told: AtomicU64::new(0) }
    }

    /// Whether it is time to tell something again; then it counts as told.
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
