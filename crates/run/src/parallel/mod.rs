//! The parallel evaluator: independent steps at the same time.
//!
//! How a call proceeds. One thread, that of the caller, runs the list (`list`) and owns the store.
//! A run that will probably take long becomes a job, which owns all it reads; the members of the
//! block that do not need its result go on meanwhile. Where nothing is left to go on with, the
//! caller works on jobs too. Whether anything is long is known from earlier evaluations of the plan
//! (`costs`). Jobs finish in any order, but blocks are called in that of the list, so what runs does
//! not depend on it. Plans without long runs are evaluated as by `list`, and so are those that were
//! slower with jobs (`trials`): threads that other programs keep waiting do not help.

mod jobs;

use std::num::NonZeroUsize;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use millstream_ir::answer::{Answer, EvalError, Evaluator};
use millstream_ir::plan::Plan;
use millstream_ir::request::Request;
use millstream_node::ScopeRule;

pub(crate) use jobs::{Computed, Ends, Finished, Input, Job, Jobs, Kind};

use crate::buffers::Buffers;
use crate::costs::Costs;
use crate::kept::Kept;
use crate::list::List;
use crate::trials::{Key, n_cells};

/// Shorter runs are not worth a job: handing one to a waiting thread and taking the result takes
/// about 10 microseconds where the machine is busy.
const WORTH_A_JOB: Duration = Duration::from_micros(40);

/// The way to evaluate without jobs.
const ALONE: usize = 0;

/// The evaluator that runs independent steps at the same time, where they take long enough.
#[derive(Debug, Default)]
pub struct Parallel {
    threads: Option<NonZeroUsize>,
    worth: Option<Duration>,
    /// The other threads, started with the first job that one of them may take.
    pool: Pool,
    /// Buffers for the next evaluation. The lock guards the pile only.
    idle: Mutex<Vec<Buffers>>,
}

/// Threads besides that of the caller; `None` if the system gives none.
pub(crate) type Pool = OnceLock<Option<rayon_core::ThreadPool>>;

/// What an evaluation with jobs needs of its evaluator.
pub(crate) struct Company<'a> {
    pub(crate) pool: &'a Pool,
    pub(crate) n_others: usize,
    pub(crate) worth: Duration,
    pub(crate) costs: &'a Costs,
    /// No run has more elements; not known where there are loops.
    pub(crate) most_elements: Option<usize>,
    /// Where buffers come from and go to: jobs at the same time need many.
    pub(crate) idle: &'a Mutex<Vec<Buffers>>,
}

impl Parallel {
    /// An evaluator that uses as many threads as the machine runs at once.
    pub fn new() -> Self {
        Self::default()
    }

    /// Uses at most so many threads.
    pub fn threads(mut self, n: NonZeroUsize) -> Self {
        self.threads = Some(n);
        self
    }

    /// Makes jobs of runs that will probably take at least so long, whatever pays. Answers do not
    /// depend on it.
    pub fn jobs_from(mut self, worth: Duration) -> Self {
        self.worth = Some(worth);
        self
    }

    /// The number of threads that it uses where that pays.
    pub fn n_threads(&self) -> usize {
        let machine = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.threads.map_or_else(machine, NonZeroUsize::get)
    }
}

impl Evaluator for Parallel {
    fn name(&self) -> &'static str {
        "parallel"
    }

    fn evaluate(&self, plan: &Plan, request: &Request) -> Result<Answer, EvalError> {
        let n_others = self.n_threads() - 1;
        if n_others == 0 {
            return List::new().evaluate(plan, request);
        }
        let worth = self.worth.unwrap_or(WORTH_A_JOB);
        let kept = Kept::of(plan);
        let costs = kept.costs(plan);
        let mut tried = None;
        let answer = List::new().evaluate_in_company(plan, request, |bound| {
            let n_cells = n_cells(bound);
            let most_elements = (!has_loops(plan)).then_some(n_cells);
            if !most_elements.is_none_or(|n| costs.may_take(plan, worth, n)) {
                return None;
            }
            if self.worth.is_none() {
                let key = Key::of(bound);
                let way = kept.company.choose(&key, &[1.0, 1.0]);
                tried = Some((key, way, Instant::now()));
                if way == ALONE {
                    return None;
                }
            }
            let (pool, idle) = (&self.pool, &self.idle);
            Some(Company { pool, n_others, worth, costs, most_elements, idle })
        })?;
        if let Some((key, way, started)) = tried {
            kept.company.note(&key, way, started.elapsed());
        }
        Ok(answer)
    }
}

/// Whether some input is computed for each round of a loop.
fn has_loops(plan: &Plan) -> bool {
    let instances = plan.instances.as_slice().iter();
    let mut rules = instances.flat_map(|instance| &instance.inputs).flat_map(|input| &input.scope);
    rules.any(|rule| matches!(rule, ScopeRule::Each { .. }))
}
