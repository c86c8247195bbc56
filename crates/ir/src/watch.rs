//! Whether an evaluation is still wanted: its budget may have ended, or the receiver of its
//! progress may have cancelled it.

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, OnceLock, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use millstream_base::Budget;

use crate::answer::EvalError;
use crate::plan::{Plan, StepOp};
use crate::progress::{Done, Progress};
use crate::request::{Bound, Request};

/// A watch over one evaluation. Evaluators check it between pieces of work.
///
/// Once an evaluation has ended it stays ended, even if the flag that ended it is cleared, so that
/// no caller receives a partial result.
pub struct Watch<'r> {
    budget: Budget,
    /// Says whether the call that this evaluation is a part of has ended.
    is_over: Option<&'r (dyn Fn() -> bool + Sync)>,
    reports: Option<Reports>,
    ended: OnceLock<EvalError>,
}

/// The reports of progress.
struct Reports {
    progress: Progress,
    started: Instant,
    /// The time of the last report since the start, and its content. The lock lets one thread at a
    /// time report; the others do not wait for it.
    last: Mutex<(Duration, Done)>,
}

impl<'r> Watch<'r> {
    /// Starts now. Reports give the total numbers of steps and ticks in `total`.
    pub fn new(budget: &Budget, progress: Option<&Progress>, total: Done) -> Self {
        let reports = progress.map(|progress| Reports {
            progress: progress.clone(),
            started: Instant::now(),
            last: Mutex::new((Duration::ZERO, total)),
        });
        Self { budget: budget.clone(), is_over: None, reports, ended: OnceLock::new() }
    }

    /// The watch over the evaluation of a request.
    pub fn of(plan: &Plan, request: &Request, bound: &Bound) -> Self {
        let progress = request.progress.as_ref();
        let steps = progress.map_or(0, |_| n_steps(plan, bound));
        Self::new(&request.budget, progress, Done::totals(steps, 1))
    }

    /// The same watch for a part of a call; it also ends when `is_over` says that the call has
    /// ended.
    #[must_use]
    pub fn within(self, is_over: Option<&'r (dyn Fn() -> bool + Sync)>) -> Self {
        Self { is_over, ..self }
    }

    /// Whether anything can end the evaluation.
    pub fn has_ends(&self) -> bool {
        let Budget { cancel, deadline } = &self.budget;
        cancel.is_some() || deadline.is_some() || self.is_over.is_some() || self.reports.is_some()
    }

    /// The flag that cancels the evaluation.
    pub fn flag(&self) -> Option<&AtomicBool> {
        self.budget.cancel.as_deref()
    }

    /// The reason why the answer is no longer wanted, if so. Reports the progress if that is due.
    pub fn ended(&self, done: Done) -> Option<EvalError> {
        if let Some(error) = self.ended.get() {
            return Some(error.clone());
        }
        Some(self.end(self.look(done)?))
    }

    /// Checks that the answer is still wanted; see [`ended`](Self::ended).
    ///
    /// # Errors
    /// If it is not.
    pub fn check(&self, done: Done) -> Result<(), EvalError> {
        self.ended(done).map_or(Ok(()), Err)
    }

    /// Ends the evaluation, if it has not ended, and returns the reason why it has.
    pub fn end(&self, error: EvalError) -> EvalError {
        self.ended.get_or_init(|| error).clone()
    }

    /// The reason for the end of the evaluation, if an earlier check found one.
    pub fn known_end(&self) -> Option<EvalError> {
        self.ended.get().cloned()
    }

    /// The reason why the evaluation has ended, if it has.
    pub fn into_end(self) -> Option<EvalError> {
        self.ended.into_inner()
    }

    fn look(&self, done: Done) -> Option<EvalError> {
        if let Some(ended) = self.budget.ended() {
            return Some(ended.into());
        }
        if self.is_over.is_some_and(|is_over| is_over()) {
            return Some(EvalError::Cancelled);
        }
        self.reports
            .as_ref()
            .is_some_and(|reports| reports.cancel(done))
            .then_some(EvalError::Cancelled)
    }
}

impl Reports {
    /// Reports the progress if that is due. Says whether the receiver cancels the evaluation.
    fn cancel(&self, done: Done) -> bool {
        let mut last = match self.last.try_lock() {
            Ok(last) => last,
            Err(TryLockError::Poisoned(last)) => PoisonError::into_inner(last),
            Err(TryLockError::WouldBlock) => return false,
        };
        let now = self.started.elapsed();
        let (at, before) = *last;
        if !self.progress.is_due(now.saturating_sub(at)) {
            return false;
        }
        // Another thread may have counted later and reported before.
        let done = Done {
            runs: done.runs.max(before.runs),
            elements: done.elements.max(before.elements),
            ticks_done: done.ticks_done.max(before.ticks_done),
            ..before
        };
        *last = (now, done);
        self.progress.report(&done).is_break()
    }
}

/// The number of steps that the requested outputs may need.
fn n_steps(plan: &Plan, bound: &Bound) -> u64 {
    let upstream = plan.steps_upstream(&bound.outputs);
    let steps = plan.steps.iter();
    let calls = steps.filter(|(_, step)| matches!(step.op, StepOp::Call(_)));
    calls.filter(|(id, _)| upstream[*id]).count() as u64
}

impl fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("ended", &self.ended).finish_non_exhaustive()
    }
}
