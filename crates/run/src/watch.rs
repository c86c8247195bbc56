//! Whether an evaluation is still wanted: it may be cancelled, late, or ended by the follower of
//! its progress.
//!
//! Evaluators ask here between pieces of work and say how much is done. Once an evaluation is over
//! it stays so, even if the flag that ended it is cleared, so that no result in part gets out. The
//! lock lets one thread at a time tell the progress; the others do not wait for it.

use std::fmt;
use std::sync::{Mutex, OnceLock};

use millstream_ir::answer::EvalError;
use millstream_ir::plan::{Plan, StepOp};
use millstream_ir::progress::{Done, Pace};
use millstream_ir::request::{Bound, Request};

/// The work done so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ran {
    pub(crate) runs: u64,
    pub(crate) elements: u64,
}

impl Ran {
    fn at_least(self, other: Self) -> Self {
        Self { runs: self.runs.max(other.runs), elements: self.elements.max(other.elements) }
    }

    /// This and `runs` of so many elements each.
    #[must_use]
    pub(crate) fn and(self, runs: usize, elements: usize) -> Self {
        let (runs, elements) = (runs as u64, elements as u64);
        Self { runs: self.runs + runs, elements: self.elements + runs * elements }
    }
}

/// The watch over one evaluation.
pub(crate) struct Watch<'r> {
    request: &'r Request,
    /// The number of steps that may be needed, counted if progress is followed.
    n_steps: u64,
    /// Says whether the call of which this evaluation is a part is over.
    is_over: Option<&'r (dyn Fn() -> bool + Sync)>,
    pace: Pace,
    /// The work that was told last.
    told: Mutex<Ran>,
    over: OnceLock<EvalError>,
}

/// The number of steps that may be needed, if progress is followed.
pub(crate) fn n_steps(plan: &Plan, request: &Request, bound: &Bound) -> u64 {
    if request.progress.is_none() {
        return 0;
    }
    let behind = plan.steps_behind(&bound.outputs);
    let steps = plan.steps.iter();
    let calls = steps.filter(|(_, step)| matches!(step.op, StepOp::Call(_)));
    calls.filter(|(id, _)| behind[*id]).count() as u64
}

impl<'r> Watch<'r> {
    pub(crate) fn new(plan: &Plan, request: &'r Request, bound: &Bound) -> Self {
        Self {
            request,
            n_steps: n_steps(plan, request, bound),
            is_over: None,
            pace: Pace::new(),
            told: Mutex::default(),
            over: OnceLock::new(),
        }
    }

    /// The evaluation is a part of a call that may be over sooner.
    pub(crate) fn within(&mut self, is_over: Option<&'r (dyn Fn() -> bool + Sync)>) {
        self.is_over = is_over;
    }

    /// Why the answer is not wanted any more, if so. May tell the progress.
    pub(crate) fn over(&self, ran: Ran) -> Option<EvalError> {
        if let Some(error) = self.over.get() {
            return Some(error.clone());
        }
        Some(self.end(self.look(ran)?))
    }

    /// Ends the evaluation, if it is not over, and says why it is.
    pub(crate) fn end(&self, error: EvalError) -> EvalError {
        self.over.get_or_init(|| error).clone()
    }

    fn look(&self, ran: Ran) -> Option<EvalError> {
        let request = self.request;
        if let Some(error) = EvalError::ended(request.cancel.as_deref(), request.deadline) {
            return Some(error);
        }
        if self.is_over.is_some_and(|is_over| is_over()) {
            return Some(EvalError::Cancelled);
        }
        let progress = request.progress.as_ref()?;
        let mut told = self.told.try_lock().ok()?;
        if !self.pace.is_due(progress) {
            return None;
        }
        // Another thread may have counted later and told sooner.
        let ran = told.at_least(ran);
        *told = ran;
        let mut done = Done::default();
        (done.runs, done.steps, done.elements) = (ran.runs, self.n_steps, ran.elements);
        done.ticks = 1;
        progress.tell(&done).is_break().then_some(EvalError::Cancelled)
    }
}

impl fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("over", &self.over).finish_non_exhaustive()
    }
}
