//! The incremental evaluator: stores results between evaluations and runs only steps whose inputs
//! have changed.
//!
//! There are two ways. A plan whose steps compute single numbers, evaluated without axes, becomes a
//! live graph (`crate::live`, `singles`), in which changes travel from the inputs that were set to
//! the outputs that are read. Any other plan is walked in the mode `memoized`: a step runs only if
//! the memo has no result for the same operands (`memo`). Many cheap steps are looked up at once
//! (`chunks`). If few elements of a column differ from the last evaluation, a step runs for these
//! alone (`changes`).
//!
//! A specific kind of live graph (`Propagation`) may also be requested; the kinds differ in when
//! changes travel. Such a graph holds single values of any type, and plans that cannot be live are
//! refused.
//!
//! Both run exactly the steps that are demanded, whose inputs differ, bit for bit, from those of
//! their last run, and for which no older result is stored.

mod changes;
mod chunks;
mod failed;
mod memo;
mod memoized;
mod names;
mod readers;
mod remembered;
mod results;
mod singles;

use std::sync::atomic::{AtomicU64, Ordering};

use millstream_base::{Mask, Type};
use millstream_ir::answer::{Answer, EvalError, Evaluator};
use millstream_ir::plan::{Plan, StepId};
use millstream_ir::request::{Bound, Request};

use rustc_hash::FxHashMap;

use crate::live::{NotNumbers, Propagation};
use chunks::Chunks;
pub use memo::Equality;
use memo::Memo;
use singles::Singles;

/// The evaluator that stores results between evaluations.
///
/// It stores those of the most recent plans, within a budget of bytes.
#[derive(Debug)]
pub struct Incremental {
    plans: Vec<(PlanToken, Values)>,
    budget: usize,
    equality: FxHashMap<Type, Equality>,
    way: Way,
    least_chunk: usize,
}

/// Identifies plans, including those that are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PlanToken(u64);

impl PlanToken {
    fn of(plan: &Plan) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        *plan.notes.get_or_make(|| Self(NEXT.fetch_add(1, Ordering::Relaxed)))
    }
}

/// The ways to store results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// A live graph with pull propagation if possible, else the walk.
    Any,
    /// The walk.
    Walk,
    /// A live graph with this propagation.
    Live(Propagation),
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
    /// Not tried yet.
    Unknown,
    /// It cannot be one.
    Impossible(NotNumbers),
    Graph(Box<Singles>),
}

/// The sets of steps that the memo stores as one entry if the plan is walked: the last step
/// computes the result, the others lead to it alone.
pub fn chunks(plan: &Plan) -> Vec<Vec<StepId>> {
    Chunks::of(plan, chunks::LEAST).members().map(<[StepId]>::to_vec).collect()
}

/// Number of plans whose values are stored.
const PLANS: usize = 4;

/// The default budget of bytes.
const BUDGET: usize = 1 << 30;

impl Default for Incremental {
    fn default() -> Self {
        Self::new()
    }
}

impl Incremental {
    /// An evaluator that has stored nothing yet.
    pub fn new() -> Self {
        let equality = FxHashMap::default();
        let least_chunk = chunks::LEAST;
        Self { plans: Vec::new(), budget: BUDGET, equality, way: Way::Any, least_chunk }
    }

    /// Limits the size in bytes of results that are not in use.
    #[must_use]
    pub fn budget(self, bytes: usize) -> Self {
        Self { budget: bytes, ..self }
    }

    /// Sets when a recomputed value of a type counts as changed. Results then depend on earlier
    /// evaluations, by as much as the tolerance allows.
    #[must_use]
    pub fn equality(mut self, ty: Type, equality: Equality) -> Self {
        self.equality.insert(ty, equality);
        self
    }

    /// Walks plans of single numbers like any other.
    #[must_use]
    pub fn without_live_graph(self) -> Self {
        Self { way: Way::Walk, ..self }
    }

    /// Looks up at least this many cheap steps at once; `usize::MAX` looks up each separately.
    /// Answers do not depend on it.
    #[must_use]
    pub fn chunks_from(self, n_steps: usize) -> Self {
        Self { least_chunk: n_steps, ..self }
    }

    /// Makes plans live graphs with this propagation; in mixed propagation the first requested
    /// output is pushed. Plans and requests of more than single values, and types whose equality is
    /// not that of bits, are refused with [`EvalError::Unfit`].
    #[must_use]
    pub fn propagation(self, propagation: Propagation) -> Self {
        Self { way: Way::Live(propagation), ..self }
    }

    /// Whether results are stored that a plan of the same document after an edit would reuse.
    pub fn keeps_by_path(&self) -> bool {
        let memo = self.plans.first().and_then(|(_, values)| values.memo.as_ref());
        memo.is_some_and(Memo::has_names)
    }

    /// Gives nodes other paths in later plans: `renamed` returns the path of a node that still
    /// exists.
    pub fn rename_paths(&mut self, renamed: impl Fn(&str) -> Option<String>) {
        let memo = self.plans.first_mut().and_then(|(_, values)| values.memo.as_mut());
        if let Some(memo) = memo {
            memo.rename(renamed);
        }
    }

    /// Moves results back to a plan that was evaluated before. The plans since then were of the
    /// same document and took over the results.
    pub fn return_to(&mut self, plan: &Plan) {
        let token = PlanToken::of(plan);
        let plans = &mut self.plans;
        let Some(at) = plans.iter().position(|(known, _)| *known == token) else { return };
        if plans[at].1.memo.is_none()
            && let Some(memo) = plans[0].1.memo.take()
        {
            plans[at].1.memo = Some(memo.moved_to(plan));
            plans[..=at].rotate_right(1);
        }
    }

    /// Forgets failures: steps that failed run again when they are demanded, although their inputs
    /// are unchanged.
    pub fn try_failed_again(&mut self) {
        for (_, values) in &mut self.plans {
            values.memo.iter_mut().for_each(Memo::forget_failed);
            if let Live::Graph(singles) = &mut values.live {
                singles.try_failed_again();
            }
        }
    }

    /// Bytes of the results in the memos.
    pub fn bytes(&self) -> usize {
        self.plans.iter().filter_map(|(_, values)| values.memo.as_ref().map(Memo::bytes)).sum()
    }
}

impl Evaluator for Incremental {
    fn name(&self) -> &'static str {
        match self.way {
            Way::Any => "incremental",
            Way::Walk => "incremental-walk",
            Way::Live(Propagation::Pull) => "incremental-pull",
            Way::Live(Propagation::Push) => "incremental-push",
            Way::Live(Propagation::RetractAndAssert) => "incremental-retract",
            Way::Live(Propagation::Mixed) => "incremental-mixed",
        }
    }

    fn evaluate_bound(
        &mut self,
        plan: &Plan,
        request: &Request,
        bound: &Bound,
    ) -> Result<Answer, EvalError> {
        self.with_values(plan, |this, values| {
            if let Some(singles) = this.singles(values, plan, bound)? {
                return singles.answer(plan, request, bound);
            }
            let new = || Memo::new(plan, this.budget, this.equality.clone(), this.least_chunk);
            let memo = values.memo.get_or_insert_with(new);
            memoized::evaluate(plan, request, bound, memo)
        })
    }

    fn caches_results(&self) -> bool {
        true
    }

    fn failing(&mut self, plan: &Plan) -> Option<&mut Mask> {
        let token = PlanToken::of(plan);
        let at = self.plans.iter().position(|(known, _)| *known == token);
        // A plan that was not evaluated takes over the results of the last one.
        let (_, values) = self.plans.get_mut(at.unwrap_or(0))?;
        values.memo.as_mut().map(|memo| &mut memo.failing)
    }

    /// With push propagation changes travel now, to the outputs that the request names; otherwise
    /// nothing is computed before an evaluation. Runs are recorded in the log of the next
    /// evaluation if this request wants a log.
    fn commit(&mut self, plan: &Plan, request: &Request) -> Result<(), EvalError> {
        let bound = &request.bind(plan).map_err(EvalError::Request)?;
        self.with_values(plan, |this, values| match this.singles(values, plan, bound)? {
            Some(singles) => singles.commit(plan, request, bound),
            None => Ok(()),
        })
    }
}

impl Incremental {
    /// Lets `f` work with the values of a plan.
    fn with_values<T>(
        &mut self,
        plan: &Plan,
        f: impl FnOnce(&Self, &mut Values) -> Result<T, EvalError>,
    ) -> Result<T, EvalError> {
        let token = PlanToken::of(plan);
        let at = self.plans.iter().position(|(known, _)| *known == token);
        // Taken out, so that no partial result is kept if a kernel panics.
        let mut values = match at {
            Some(at) => self.plans.remove(at).1,
            // The plan of an edited document, or its optimised plan, takes over the results of the
            // last one.
            None => {
                let last = self.plans.first_mut().and_then(|(_, values)| values.memo.take());
                let memo = last.map(|memo| memo.moved_to(plan));
                Values { memo, live: Live::Unknown }
            }
        };
        let done = f(self, &mut values);
        self.plans.insert(0, (token, values));
        self.plans.truncate(PLANS);
        done
    }

    /// The live graph that answers requests like this, if there can be one.
    fn singles<'v>(
        &self,
        values: &'v mut Values,
        plan: &Plan,
        bound: &Bound,
    ) -> Result<Option<&'v mut Singles>, EvalError> {
        let (propagation, is_wanted) = match self.way {
            Way::Walk => return Ok(None),
            Way::Any => (Propagation::Pull, false),
            Way::Live(propagation) => (propagation, true),
        };
        let unfit = |why: String| {
            let refused = EvalError::Unfit { evaluator: self.name(), why };
            if is_wanted { Err(refused) } else { Ok(None) }
        };
        if !Singles::fits(bound) {
            return unfit(
                "it supports only single values; the request has many elements or moments".into(),
            );
        }
        if !self.equality.is_empty() {
            return unfit("it compares bits, but another equality is set".into());
        }
        if let Live::Unknown = values.live {
            values.live = match Singles::new(plan, propagation, !is_wanted) {
                Ok(singles) => Live::Graph(Box::new(singles)),
                Err(why) => Live::Impossible(why),
            };
        }
        match &mut values.live {
            Live::Graph(singles) => Ok(Some(singles)),
            Live::Impossible(why) => unfit(format!("it supports only single values; {why}")),
            Live::Unknown => Ok(None),
        }
    }
}
