//! The evaluator `lazy`: the walk in its plain mode. It defines the meaning of plans; all other
//! evaluators give the same bits.
//!
//! Outputs are demanded one after the other, inputs only when a step that runs needs them. `walk`
//! describes how a call proceeds.

use millstream_ir::answer::{Answer, EvalError, Evaluator};
use millstream_ir::request::Bound;
use millstream_ir::{Plan, Request};

use crate::costs::{Forecast, Size};
use crate::walk;

/// The demand-driven evaluator. It stores nothing between evaluations.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lazy;

impl Evaluator for Lazy {
    fn name(&self) -> &'static str {
        "lazy"
    }

    fn evaluate_bound(
        &mut self,
        plan: &Plan,
        request: &Request,
        bound: &Bound,
    ) -> Result<Answer, EvalError> {
        walk::evaluate(plan, request, bound)
    }
}

/// An estimate of its time.
pub(crate) const FORECAST: Forecast =
    Forecast { run: |size: Size, cells, _| size.step_by_step(cells), make: |_| 0.0 };
