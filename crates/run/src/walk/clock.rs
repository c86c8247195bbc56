//! The clock of an evaluation: counts the work done and checks from time to time whether the answer
//! is still wanted.

use std::sync::atomic::AtomicBool;

use millstream_ir::answer::EvalError;
use millstream_ir::plan::Plan;
use millstream_ir::request::{Bound, Request};
use millstream_ir::{Done, Watch};

use super::Stop;

/// Number of elements that are computed between two readings of the clock.
const ELEMENTS: u64 = 1 << 12;

/// Number of steps of the loop between two readings of the clock.
const STEPS: u32 = 256;

/// The clock of one evaluation.
pub(crate) struct Clock<'a> {
    watch: Watch<'a>,
    pub(crate) ran: Done,
    n_steps: u32,
    /// The number of elements at which the clock is read next.
    look_at: u64,
}

impl<'a> Clock<'a> {
    pub(super) fn new(plan: &Plan, request: &Request, bound: &Bound) -> Self {
        let watch = Watch::of(plan, request, bound);
        Self { watch, ran: Done::default(), n_steps: 0, look_at: ELEMENTS }
    }

    /// The same for a part of a call, which may be cancelled earlier.
    pub(super) fn within(self, is_over: Option<&'a (dyn Fn() -> bool + Sync)>) -> Self {
        Self { watch: self.watch.within(is_over), ..self }
    }

    /// Checks whether the answer is still wanted, if a check is due.
    #[inline]
    pub(super) fn check_now_and_then(&mut self) -> Result<(), EvalError> {
        self.n_steps = self.n_steps.wrapping_add(1);
        if self.n_steps.is_multiple_of(STEPS) || self.ran.elements > self.look_at {
            self.look_at = self.ran.elements + ELEMENTS;
            self.check()?;
        }
        Ok(())
    }

    /// Makes a check due before the next task, since the last run may have taken long.
    pub(crate) fn look_next(&mut self) {
        self.look_at = 0;
    }

    /// Whether the answer is still wanted.
    pub(crate) fn check(&self) -> Result<(), EvalError> {
        self.watch.check(self.ran)
    }

    /// The flag that cancels the evaluation.
    pub(crate) fn flag(&self) -> Option<&AtomicBool> {
        self.watch.flag()
    }

    /// Ends if it is known that the answer is no longer wanted.
    pub(crate) fn ended(&self) -> Result<(), Stop> {
        self.watch.known_end().map_or(Ok(()), |error| Err(Stop::All(error)))
    }

    /// Whether the answer is no longer wanted after this many more runs of this many elements each;
    /// any thread may ask.
    pub(crate) fn is_over_after(&self, n_runs: usize, n_elements: usize) -> bool {
        self.watch.ended(self.ran.and(n_runs, n_elements)).is_some()
    }

    /// Ends the evaluation, if it is not over, and returns the reason why it is.
    pub(crate) fn end(&self, error: EvalError) -> EvalError {
        self.watch.end(error)
    }
}
