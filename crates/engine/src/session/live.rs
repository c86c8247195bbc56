//! The evaluators of a session: a common interface for those that store values between evaluations
//! and others.

use std::sync::Arc;

use millstream_ir::{Answer, EvalError, Evaluator, Plan, Request};
use millstream_run::{Incremental, partial};

use super::moves::Moves;

/// Evaluates a sequence of plans.
pub(super) trait Live: Send {
    /// Switches to another plan: that of an edited document, or the optimised one of the same
    /// document.
    fn replaced(&mut self, plan: &Arc<Plan>);

    /// Whether values are stored by the paths of nodes.
    fn keeps(&self) -> bool;

    /// Renames the nodes whose paths are different in later plans.
    fn moved(&mut self, moves: &Moves);

    /// Returns to the plan of the last [`replaced`](Self::replaced), after another plan of the same
    /// document.
    fn returned(&mut self, plan: &Arc<Plan>);

    /// Lets failed nodes run again when they are demanded, although their inputs have not changed.
    fn try_failed_again(&mut self);

    /// Answers a request to the plan of the last [`replaced`](Self::replaced), or to another plan
    /// for which nothing is to be stored.
    ///
    /// # Errors
    /// As [`Evaluator::evaluate`].
    fn answer(&mut self, plan: &Arc<Plan>, request: &Request) -> Result<Answer, EvalError>;
}

/// Evaluates everything at each request.
pub(super) struct Uncached<E>(pub(super) E);

impl<E: Evaluator + Send> Live for Uncached<E> {
    fn replaced(&mut self, _: &Arc<Plan>) {}

    fn keeps(&self) -> bool {
        false
    }

    fn moved(&mut self, _: &Moves) {}

    fn returned(&mut self, _: &Arc<Plan>) {}

    fn try_failed_again(&mut self) {}

    fn answer(&mut self, plan: &Arc<Plan>, request: &Request) -> Result<Answer, EvalError> {
        partial::evaluate(&mut self.0, plan, request)
    }
}

/// Reuses the values of the plan before, each for the same node.
pub(super) struct Cached(pub(super) Incremental);

impl Live for Cached {
    fn replaced(&mut self, _: &Arc<Plan>) {}

    fn keeps(&self) -> bool {
        self.0.keeps_by_path()
    }

    fn moved(&mut self, moves: &Moves) {
        self.0.rename_paths(|path| {
            let is_moved = moves.get(path).cloned();
            // The parts of a network move with their node.
            let (node, part) = path.rsplit_once('/').unwrap_or((path, ""));
            let is_part = part.starts_with(|c: char| c.is_ascii_digit());
            is_moved.or_else(|| Some(format!("{}/{part}", moves.get(node).filter(|_| is_part)?)))
        });
    }

    fn returned(&mut self, plan: &Arc<Plan>) {
        self.0.return_to(plan);
    }

    fn try_failed_again(&mut self) {
        self.0.try_failed_again();
    }

    fn answer(&mut self, plan: &Arc<Plan>, request: &Request) -> Result<Answer, EvalError> {
        partial::evaluate(&mut self.0, plan, request)
    }
}
