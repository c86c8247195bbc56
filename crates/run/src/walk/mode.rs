//! The points at which evaluators change the walk.
//!
//! An evaluator that walks a plan in its own way implements [`Mode`] in its own folder and keeps
//! all of its own state there. The walk is compiled for each mode, so hooks that do nothing cost
//! nothing.

use std::time::Duration;

use millstream_base::Mask;
use millstream_ir::answer::EvalError;
use millstream_ir::plan::StepId;
use millstream_ir::request::Bound;
use millstream_node::unsettled::Rounds;
use millstream_node::{Data, Failure, Instance};

use super::{Place, Progress, Stop, Walk};
use crate::frame::FeatId;
use crate::shape::ShapeId;
use crate::store::SlotId;

/// The place where a kernel runs once its operands exist.
pub(crate) enum Run {
    /// In the walk, now.
    Here,
    /// In the walk, now; [`Mode::timed`] receives the time that it took for so many elements.
    Timed(usize),
    /// Outside of the walk: the result is in the store, or will be.
    Elsewhere,
}

/// An arm that cells of a choice take.
pub(crate) struct Arm {
    /// The position among all arms.
    pub(crate) number: usize,
    pub(crate) place: Place,
    pub(crate) shape: ShapeId,
    /// The cells that take it, and their shape.
    pub(crate) cells: (ShapeId, Mask),
}

/// A way to walk over a plan. Every hook does nothing by default; `top` is the position on the
/// stack of the task that is being advanced.
pub(crate) trait Mode: Sized {
    /// Whether results outlive the evaluation, so that no buffer may be reused.
    const KEEPS_RESULTS: bool = false;

    /// Runs before any output is evaluated.
    fn begin(_walk: &mut Walk<'_, Self>, _bound: &Bound) -> Result<(), EvalError> {
        Ok(())
    }

    /// Advances the task on top in the mode's own way; `None` leaves it to the walk.
    #[inline(always)]
    fn advance(_walk: &mut Walk<'_, Self>, _top: usize) -> Result<Option<Progress>, Stop> {
        Ok(None)
    }

    /// The task at `top` is done, and will be popped.
    #[inline(always)]
    fn leave(_walk: &mut Walk<'_, Self>, _top: usize) {}

    /// Waits until no other thread computes a slot.
    #[inline(always)]
    fn settle(_walk: &mut Walk<'_, Self>, _slot: SlotId) -> Result<(), Stop> {
        Ok(())
    }

    /// A kernel is about to run on these operands.
    #[inline(always)]
    fn before_run(
        _walk: &mut Walk<'_, Self>,
        _top: usize,
        _instance: &Instance,
        _places: &[Place],
    ) -> Result<Run, Stop> {
        Ok(Run::Here)
    }

    /// A choice is about to join these arms to a result of this shape. True if the result is in the
    /// store already. If a part of it is, the demand may become the rest.
    #[inline(always)]
    fn before_choice(
        _walk: &mut Walk<'_, Self>,
        _top: usize,
        _selector: Place,
        _arms: &[Arm],
        _shape: ShapeId,
    ) -> Result<bool, Stop> {
        Ok(false)
    }

    /// A step is about to return a feature of its context. True if the result is in the store
    /// already.
    #[inline(always)]
    fn before_feature(
        _walk: &mut Walk<'_, Self>,
        _top: usize,
        _feat: FeatId,
        _data: &Data,
        _shape: ShapeId,
    ) -> Result<bool, Stop> {
        Ok(false)
    }

    /// A run that was to be timed took this long for this many elements.
    #[inline(always)]
    fn timed(_walk: &mut Walk<'_, Self>, _step: StepId, _elements: usize, _took: Duration) {}

    /// The function of a step has run, and reports these repeats that did not settle.
    #[inline(always)]
    fn unsettled(_walk: &mut Walk<'_, Self>, _rounds: &Rounds) {}

    /// The result of a task was put into the store.
    #[inline(always)]
    fn stored(_walk: &mut Walk<'_, Self>, _top: usize) {}

    /// The function of a task failed; `shape` is that of the element in the failure.
    #[inline(always)]
    fn failed(_walk: &mut Walk<'_, Self>, _top: usize, _failure: Failure, _shape: ShapeId) {}

    /// Whether cells that fail are left out of demands, which otherwise fail as a whole.
    #[inline(always)]
    fn leaves_out(&self) -> bool {
        false
    }

    /// The number of threads that a function may use.
    #[inline(always)]
    fn n_threads(&self) -> usize {
        1
    }
}
