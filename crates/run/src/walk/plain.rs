//! The walk without additions, which defines the meaning of a plan.

use millstream_ir::answer::{Answer, EvalError};
use millstream_ir::plan::Plan;
use millstream_ir::request::{Bound, Request};

use super::{Mode, Walk};

/// Evaluates inputs one at a time and stores nothing.
pub(crate) struct Plain;

impl Mode for Plain {
    fn begin(walk: &mut Walk<'_, Self>, bound: &Bound) -> Result<(), EvalError> {
        walk.sweep(bound)
    }
}

/// Evaluates a request that was bound to the plan.
pub(crate) fn evaluate(plan: &Plan, request: &Request, bound: &Bound) -> Result<Answer, EvalError> {
    Walk::new(plan, request, bound, Plain).answer(bound)
}

/// Evaluates a request as a part of a call; `is_over` says whether the call is cancelled.
pub(crate) fn evaluate_within(
    plan: &Plan,
    request: &Request,
    bound: &Bound,
    is_over: Option<&(dyn Fn() -> bool + Sync)>,
) -> Result<Answer, EvalError> {
    Walk::new(plan, request, bound, Plain).within(is_over).answer(bound)
}

/// Whether evaluators that store no results leave a plan to the plain walk: with state in scopes,
/// the next state is evaluated only once it is known which nodes were called.
pub(crate) fn is_required(plan: &Plan) -> bool {
    !plan.state_writers.is_empty()
}
