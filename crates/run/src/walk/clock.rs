//! The clock of an evaluation: counts the work done and asks now and then whether the answer is
//! still wanted.

use std::sync::atomic::AtomicBool;

use millstream_ir::answer::EvalError;
use millstream_ir::plan::Plan;
use millstream_ir::request::{Bound, Request};
use millstream_ir::{Done, Watch};

use super::Stop;

/// So many elements are computed between two looks at the time.
const ELEMENTS: u64 = 1 << 12;

/// So many steps of the loop are done between two looks at the time.
const STEPS: u32 = 256;

/// The clock of one evaluation.
pub(crate) struct Clock<'a> {
    watch: Watch<'a>,
    pub(crate) ran: Done,
    n_steps: u32,
    /// The number of elements at which the time is looked at next.
    look_at: u64,
}

impl<'a> Clock<'a> {
    pub(super) fn new(plan: &Plan, request: &Request, bound: &Bound) -> Self {
        let watch = Watch::of(plan, request, bound);
        Self { watch, ran: Done::default(), n_steps: 0, look_at: ELEMENTS }
    }

    /// The same for a part of a call, which may end before.
    pub(super) fn within(self, is_over: Option<&'a (dyn Fn() -> bool + Sync)>) -> Self {
        Self { watch: self.watch.within(is_over), ..self }
    }

    /// Whether the answer is still wanted, if it is time to look.
    #[inline]
    pub(super) fn check_now_and_then(&mut self) -> Result<(), EvalError> {
        self.n_steps = self.n_steps.wrapping_add(1);
        if self.n_steps.is_multiple_of(STEPS) || self.ran.elements > self.look_at {
            self.look_at = self.ran.elements + ELEMENTS;
            self.check()?;
        }
        Ok(())
    }

    /// Looks at the time before the next task: the last run may have taken long.
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

    /// Ends if somebody found that the answer is not wanted any more.
    pub(crate) fn ended(&self) -> Result<(), Stop> {
        self.watch.known_end().map_or(Ok(()), |error| Err(Stop::All(error)))
    }

    /// Whether the answer is still wanted after so many more runs of so many elements each; any
    /// thread may ask.
    pub(crate) fn is_over_after(&self, n_runs: usize, n_elements: usize) -> bool {
        self.watch.ended(self.ran.and(n_runs, n_elements)).is_some()
    }

    /// Ends the evaluation, if it is not over, and says why it is.
    pub(crate) fn end(&self, error: EvalError) -> EvalError {
        self.watch.end(error)
    }
}
