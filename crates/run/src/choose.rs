//! The table of evaluators (`table`), and the evaluator that chooses among them.
//!
//! The time that each evaluator may take is estimated from the numbers of steps, elements and
//! instructions. The measured times are stored with the plan, and decide from the first
//! evaluations on (`trials`). Answers do not depend on the choice.

mod table;

use std::fmt;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use millstream_ir::answer::{Answer, EvalError, Evaluator};
use millstream_ir::plan::Plan;
use millstream_ir::request::{Bound, Request};

use crate::costs::{Forecast, Size};
use crate::trials::{self, Key, Trials, n_cells};
use crate::walk;
use crate::{Chunked, chunked};
pub use table::{AnyEvaluator, EVALUATORS, EvaluatorRow};

/// The number of evaluators to choose from: rows of the table, and `chunked` on one thread.
const N: usize = {
    let (mut n, mut row) = (1, 0);
    while row < EVALUATORS.len() {
        if EVALUATORS[row].forecast.is_some() {
            n += 1;
        }
        row += 1;
    }
    n
};

/// The evaluator that chooses another one for each plan, by the costs it has measured.
pub struct Auto {
    threads: NonZeroUsize,
    choices: Vec<Choice>,
    /// The choice that was evaluated last.
    last: usize,
    settled: Option<Settled>,
}

/// A choice that holds for the next evaluations, so that short ones need not read the clock or what
/// is known about the plan.
struct Settled {
    /// The address of the plan. Another plan at the same address is also evaluated correctly, if
    /// perhaps more slowly.
    plan: usize,
    key: Key,
    way: usize,
    n_left: u32,
}

/// Shorter evaluations are timed only from time to time.
const SHORT: Duration = Duration::from_micros(50);
const UNTIMED: u32 = 15;

/// An evaluator that can be chosen.
struct Choice {
    forecast: Forecast,
    evaluator: AnyEvaluator,
}

impl fmt::Debug for Auto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Auto").field("threads", &self.threads).finish_non_exhaustive()
    }
}

impl Default for Auto {
    fn default() -> Self {
        Self::new()
    }
}

impl Auto {
    /// An evaluator that uses all threads of the machine if that pays.
    pub fn new() -> Self {
        Self::on(std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
    }

    fn on(threads: NonZeroUsize) -> Self {
        let choices = EVALUATORS.iter().filter_map(|row| {
            let forecast = row.forecast?;
            Some(Choice { forecast, evaluator: (row.new)(threads) })
        });
        let alone = Chunked::new().threads(NonZeroUsize::MIN);
        let alone = Choice { forecast: chunked::FORECAST_ALONE, evaluator: Box::new(alone) };
        Self { threads, choices: choices.chain([alone]).collect(), last: 0, settled: None }
    }

    /// Uses at most `n` threads.
    #[must_use]
    pub fn threads(self, n: NonZeroUsize) -> Self {
        Self::on(n)
    }

    /// The name of the evaluator that a request would run on now.
    ///
    /// # Errors
    /// If the request does not fit the plan.
    pub fn would_choose(&self, plan: &Plan, request: &Request) -> Result<&'static str, EvalError> {
        let bound = request.bind(plan).map_err(EvalError::Request)?;
        let choice = self.choose(plan, &bound, &Key::of(request, &bound));
        Ok(self.choices[choice.way].evaluator.name())
    }

    /// The times that the evaluators took for a plan.
    fn trials(plan: &Plan) -> &Trials<N> {
        plan.notes.get_or_make(Trials::default)
    }

    fn choose(&self, plan: &Plan, bound: &Bound, key: &Key) -> trials::Choice {
        let trials = Self::trials(plan);
        let size = Size::of(plan);
        let threads = self.threads.get() as f64;
        // Many plans are evaluated only once.
        let is_new = trials.is_new(key);
        let expected = |cells: f64| {
            std::array::from_fn(|i| {
                let Forecast { run, make } = self.choices[i].forecast;
                (run(size, cells, threads) + if is_new { make(size) } else { 0.0 }) * 1e-9
            })
        };
        trials.choose(key, n_cells(bound) as f64, expected)
    }
}

impl Evaluator for Auto {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn evaluate_bound(
        &mut self,
        plan: &Plan,
        request: &Request,
        bound: &Bound,
    ) -> Result<Answer, EvalError> {
        if walk::is_required(plan) {
            return walk::evaluate(plan, request, bound);
        }
        let address = std::ptr::from_ref(plan).addr();
        if let Some(settled) = &mut self.settled
            && settled.n_left > 0
            && settled.plan == address
            && settled.key.is_of(request, bound)
        {
            settled.n_left -= 1;
            self.last = settled.way;
            return self.choices[settled.way].evaluator.evaluate_bound(plan, request, bound);
        }
        let key = Key::of(request, bound);
        let choice = self.choose(plan, bound, &key);
        let way = choice.way;
        let started = Instant::now();
        let answer = self.choices[way].evaluator.evaluate_bound(plan, request, bound)?;
        let took = started.elapsed();
        let n_left = if choice.is_settled && took < SHORT { UNTIMED } else { 0 };
        Self::trials(plan).note(&key, choice, took, n_left);
        self.last = way;
        self.settled = (n_left > 0).then_some(Settled { plan: address, key, way, n_left });
        Ok(answer)
    }

    fn n_threads(&self) -> usize {
        self.threads.get()
    }

    fn give_back(&mut self, answer: Answer) {
        self.choices[self.last].evaluator.give_back(answer);
    }
}
