//! The incremental evaluator: keeps results between evaluations and runs what has changed.
//!
//! Two ways. A plan whose steps compute single numbers, asked for without axes, becomes a live graph
//! (`crate::live`), in which changes travel from what was set to what is read. Any other plan is
//! walked as `lazy` does, and a step runs only if nothing that it keeps was made of the same inputs
//! (`memo`, `lazy::keep`).
//!
//! Both run exactly the steps that are demanded now and whose inputs differ, bit for bit, from those
//! of their last run, and for which no older result is kept.

pub(crate) mod memo;
mod numbers;

use std::sync::{Mutex, PoisonError};

use millstream_base::Type;
use millstream_ir::answer::{Answer, EvalError, Evaluator};
use millstream_ir::plan::Plan;
use millstream_ir::request::Request;

use rustc_hash::FxHashMap;

use crate::kept::{Kept, PlanToken};
use crate::lazy::evaluate_keeping;
pub use memo::Equality;
use memo::Memo;
use numbers::Numbers;

/// The evaluator that keeps results between evaluations.
///
/// It keeps those of the last plans that it was given, within a budget of bytes.
#[derive(Debug)]
pub struct Incremental {
    plans: Mutex<Vec<(PlanToken, Values)>>,
    budget: usize,
    equality: FxHashMap<Type, Equality>,
    without_live_graph: bool,
}

/// The values of one plan.
#[derive(Debug)]
struct Values {
    memo: Option<Memo>,
    live: Live,
}

/// A plan as a live graph.
#[derive(Debug)]
enum Live {
    /// Nobody has tried.
    Unknown,
    /// It cannot be one.
    Impossible,
    Graph(Box<Numbers>),
}

/// Values of so many plans are kept.
const PLANS: usize = 4;

/// Results may hold this many bytes, unless said otherwise.
const BUDGET: usize = 1 << 30;

impl Default for Incremental {
    fn default() -> Self {
        Self::new()
    }
}

impl Incremental {
    /// One that has kept nothing yet.
    pub fn new() -> Self {
        Self {
            plans: Mutex::new(Vec::new()),
            budget: BUDGET,
            equality: FxHashMap::default(),
            without_live_graph: false,
        }
    }

    /// Results that are not in use may hold this many bytes.
    #[must_use]
    pub fn budget(self, bytes: usize) -> Self {
        Self { budget: bytes, ..self }
    }

    /// Says when a value of a type that was computed again counts as changed. Results then depend
    /// on what was asked before, by as much as the tolerance allows.
    #[must_use]
    pub fn equality(mut self, ty: Type, equality: Equality) -> Self {
        self.equality.insert(ty, equality);
        self
    }

    /// Plans of single numbers are walked like any other.
    #[must_use]
    pub fn without_live_graph(self) -> Self {
        Self { without_live_graph: true, ..self }
    }

    /// Bytes of the results that are kept for memory's sake alone.
    pub fn bytes(&self) -> usize {
        let plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans.iter().filter_map(|(_, values)| values.memo.as_ref().map(Memo::bytes)).sum()
    }
}

impl Evaluator for Incremental {
    fn name(&self) -> &'static str {
        "incremental"
    }

    fn evaluate(&self, plan: &Plan, request: &Request) -> Result<Answer, EvalError> {
        let bound = request.bind(plan).map_err(EvalError::Request)?;
        let token = Kept::of(plan).token;
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        let at = plans.iter().position(|(known, _)| *known == token);
        // Taken out, so that nothing half done is kept if a kernel panics.
        let mut values = match at {
            Some(at) => plans.remove(at).1,
            // The plan of an edited document, or the optimised one of the same, goes on with what
            // the last one has.
            None => {
                let last = plans.first_mut().and_then(|(_, values)| values.memo.take());
                let memo = last.map(|memo| memo.moved_to(plan));
                Values { memo, live: Live::Unknown }
            }
        };
        let answer = self.evaluate_with(&mut values, plan, request, &bound);
        plans.insert(0, (token, values));
        plans.truncate(PLANS);
        answer
    }
}

impl Incremental {
    fn evaluate_with(
        &self,
        values: &mut Values,
        plan: &Plan,
        request: &Request,
        bound: &millstream_ir::Bound,
    ) -> Result<Answer, EvalError> {
        if !self.without_live_graph && self.equality.is_empty() && Numbers::fits(bound) {
            if let Live::Unknown = values.live {
                values.live = match Numbers::new(plan) {
                    Some(numbers) => Live::Graph(Box::new(numbers)),
                    None => Live::Impossible,
                };
            }
            if let Live::Graph(numbers) = &mut values.live {
                return numbers.answer(plan, request, bound);
            }
        }
        let memo =
            values.memo.get_or_insert_with(|| Memo::new(plan, self.budget, self.equality.clone()));
        evaluate_keeping(plan, request, bound, memo)
    }
}
