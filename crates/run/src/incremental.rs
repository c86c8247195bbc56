//! The incremental evaluator: keeps results between evaluations and runs only steps whose inputs
//! have changed.
//!
//! Two ways. A plan whose steps compute single numbers, asked for without axes, becomes a live
//! graph (`crate::live`, `singles`), in which changes travel from the inputs that were set to the
//! outputs that are read. Any other plan is walked in the mode `memoized`: a step runs only if the
//! memo has no result that was made of the same operands (`memo`). Many cheap steps are looked up at
//! once (`chunks`).
//!
//! A live graph may also be asked for in one of its forms (`Propagation`), which differ in when
//! changes travel; it then holds single values of any type, and plans that cannot be one are
//! refused.
//!
//! Both run exactly the steps that are demanded now, whose inputs differ, bit for bit, from those
//! of their last run, and for which no older result is kept.

mod chunks;
mod failed;
mod memo;
mod memoized;
mod names;
mod remembered;
mod results;
mod singles;

use std::sync::atomic::{AtomicU64, Ordering};

use millstream_base::Type;
use millstream_ir::answer::{Answer, EvalError, Evaluator};
use millstream_ir::plan::{Plan, StepId};
use millstream_ir::request::{Bound, Request};

use rustc_hash::FxHashMap;

use crate::live::{NotNumbers, Propagation};
use chunks::Chunks;
pub use memo::Equality;
use memo::Memo;
use singles::Singles;

/// The evaluator that keeps results between evaluations.
///
/// It keeps those of the last plans that it was given, within a budget of bytes.
#[derive(Debug)]
pub struct Incremental {
    plans: Vec<(PlanToken, Values)>,
    budget: usize,
    equality: FxHashMap<Type, Equality>,
    way: Way,
    least_chunk: usize,
}

/// Tells plans apart, also from those that are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PlanToken(u64);

impl PlanToken {
    fn of(plan: &Plan) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        *plan.notes.get_or_make(|| Self(NEXT.fetch_add(1, Ordering::Relaxed)))
    }
}

/// The ways to keep results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// A live graph in the pull form where there can be one, else the walk.
    Any,
    /// The walk.
    Walk,
    /// A live graph in this form.
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

/// The steps of a plan that are one entry of the memo each, where the plan is walked: the last gives
/// the result, the others lead to it alone.
pub fn chunks(plan: &Plan) -> Vec<Vec<StepId>> {
    Chunks::of(plan, chunks::LEAST).members().map(<[StepId]>::to_vec).collect()
}

/// Values of so many plans are kept.
const PLANS: usize = 4;

/// The budget of bytes, unless another is set.
const BUDGET: usize = 1 << 30;

impl Default for Incremental {
    fn default() -> Self {
        Self::new()
    }
}

impl Incremental {
    /// One that has kept nothing yet.
    pub fn new() -> Self {
        let equality = FxHashMap::default();
        let least_chunk = chunks::LEAST;
        Self { plans: Vec::new(), budget: BUDGET, equality, way: Way::Any, least_chunk }
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
        Self { way: Way::Walk, ..self }
    }

    /// Looks up at least so many cheap steps at once; `usize::MAX` looks up each. Answers do not
    /// depend on it.
    #[must_use]
    pub fn chunks_from(self, n_steps: usize) -> Self {
        Self { least_chunk: n_steps, ..self }
    }

    /// Plans become live graphs in which changes travel in this form; in the mixed form the first
    /// of the outputs asked for is pushed. Plans and requests of more than single values, and
    /// types whose equality is not that of bits, are refused with [`EvalError::Unfit`].
    #[must_use]
    pub fn propagation(self, propagation: Propagation) -> Self {
        Self { way: Way::Live(propagation), ..self }
    }

    /// Whether results are kept that a plan of the same document, edited, would go on with.
    pub fn keeps_by_path(&self) -> bool {
        let memo = self.plans.first().and_then(|(_, values)| values.memo.as_ref());
        memo.is_some_and(Memo::has_names)
    }

    /// Nodes have other paths in later plans: `renamed` gives the path of a node that is still
    /// there.
    pub fn rename_paths(&mut self, renamed: impl Fn(&str) -> Option<String>) {
        let memo = self.plans.first_mut().and_then(|(_, values)| values.memo.as_mut());
        if let Some(memo) = memo {
            memo.rename(renamed);
        }
    }

    /// Moves results back to a plan that was evaluated before: the plans since then were of the
    /// same document and went on with the results.
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

    /// Forgets failures: steps that failed run again when they are demanded, though their inputs
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

    /// In the push forms changes travel now, to the outputs that the request asks for; otherwise
    /// nothing is computed before an evaluation. Runs are told in the log of the next evaluation,
    /// if this request wants a log.
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
        // Taken out, so that no result in part is kept if a kernel panics.
        let mut values = match at {
            Some(at) => self.plans.remove(at).1,
            // The plan of an edited document, or its optimised plan, goes on with the results of
            // the last one.
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
                "it keeps single values only; many elements or moments are asked for".into(),
            );
        }
        if !self.equality.is_empty() {
            return unfit("it compares bits, and another equality is wanted".into());
        }
        if let Live::Unknown = values.live {
            values.live = match Singles::new(plan, propagation, !is_wanted) {
                Ok(singles) => Live::Graph(Box::new(singles)),
                Err(why) => Live::Impossible(why),
            };
        }
        match &mut values.live {
            Live::Graph(singles) => Ok(Some(singles)),
            Live::Impossible(why) => unfit(format!("it keeps single values only; {why}")),
            Live::Unknown => Ok(None),
        }
    }
}
