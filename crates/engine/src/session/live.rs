//! What a session evaluates with: the seam for evaluators that keep values between evaluations.

use std::sync::Arc;

use millstream_ir::{Answer, EvalError, Evaluator, Plan, Request};

/// Evaluates plans that come one after the other.
pub(super) trait Live: Send {
    /// Another plan is evaluated from now on: that of an edited document, or the optimised one of
    /// the same.
    fn replaced(&mut self, plan: &Arc<Plan>);

    /// Answers a request to the plan of the last [`replaced`](Self::replaced), or to another one
    /// for which nothing is to be kept.
    ///
    /// # Errors
    /// As [`Evaluator::evaluate`].
    fn answer(&mut self, plan: &Arc<Plan>, request: &Request) -> Result<Answer, EvalError>;
}

/// Evaluates everything anew at each request.
pub(super) struct Afresh<E>(pub(super) E);

impl<E: Evaluator + Send> Live for Afresh<E> {
    fn replaced(&mut self, _: &Arc<Plan>) {}

    fn answer(&mut self, plan: &Arc<Plan>, request: &Request) -> Result<Answer, EvalError> {
        self.0.evaluate(plan, request)
    }
}
