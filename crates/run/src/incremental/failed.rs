//! Failures in the memo: a step that failed fails again without a run if nothing has changed.

use millstream_base::id::Id;
use millstream_ir::answer::{Fate, RunReason};
use millstream_node::Failure;

use super::memo::{Failed, Stamp, Stamps};
use super::memoized::{Memoized, Reading};
use crate::shape::ShapeId;
use crate::store::State;
use crate::walk::{Demand, Stop, Walk};

impl Walk<'_, Memoized<'_>> {
    /// Stores the failure of a step's function, for evaluations with the same demand; `shape` is
    /// that of the element.
    pub(super) fn keep_failure(&mut self, top: usize, failure: Failure, shape: ShapeId) {
        let Some(Reading { read, reason, base, .. }) = self.mode.reading.take() else { return };
        self.keep_unchanged(top, &read, reason, base);
        let demand = match self.stack[top].demand.clone() {
            Demand::Full => None,
            Demand::Part(cells) => Some((self.layout_of(cells.shape), cells.mask.clone())),
        };
        let (layout, limits) = (self.layout_of(shape), self.limits.clone());
        let step = self.stack[top].step;
        let failed = Failed { read, demand, limits, failure, layout };
        self.mode.memo.keep_failed(step, failed);
        if let Some(entry) = self.log_entry(step)
            && entry.runs <= 1
        {
            entry.fate = Fate::Ran(reason);
        }
    }

    /// Stores the elements that were taken over from the entry `base`, after others failed.
    pub(super) fn keep_unchanged(
        &mut self,
        top: usize,
        read: &Stamps,
        reason: RunReason,
        base: Option<usize>,
    ) {
        let slot = self.stack[top].slot;
        if let Some(base) = base.filter(|_| self.store.state(slot) == State::Partial) {
            self.mode.reading = Some(Reading::new(read.clone(), reason).of_base(base));
            self.keep(top);
        }
    }

    /// Makes the step of a task fail if it is known to fail with these operands; returns whether it
    /// is.
    pub(super) fn fails_again(&mut self, top: usize, read: &[Stamp]) -> Result<bool, Stop> {
        let step = self.stack[top].step;
        if self.mode.memo.shelves[step.index()].failed.is_empty() {
            return Ok(false);
        }
        let demand = match self.stack[top].demand.clone() {
            Demand::Full => None,
            Demand::Part(cells) => Some((self.layout_of(cells.shape), cells.mask.clone())),
        };
        let limits = self.limits;
        let shelf = &self.mode.memo.shelves[step.index()];
        let is_it = |failed: &&Failed| {
            *failed.read == *read && failed.demand == demand && failed.limits == *limits
        };
        let Some(Failed { failure, layout, .. }) = shelf.failed.iter().find(is_it).cloned() else {
            return Ok(false);
        };
        let shape = self.shape_of_layout(layout);
        if failure.element.is_some() && shape.is_none() {
            return Ok(false);
        }
        self.fail_known(top, failure, shape)?;
        Ok(true)
    }
}
