//! The evaluator of a flat list: runs each step of a plan once, in order, on one or several
//! threads.
//!
//! A call proceeds as follows. The list of a plan (`crate::blocks`) depends on the requested
//! outputs and is stored with the plan. If all steps compute numbers and the request has no axes,
//! the list becomes a program over one file of registers (`flat`). Otherwise the blocks of the list
//! run in the walk, in the mode `listed`, under masks and in any context. Both ways compute the
//! cells that the plain walk computes.
//!
//! On several threads the thread of the caller runs the list and owns the store. A run that is
//! expected to take long becomes a job (`deferred`, `jobs`), which owns its operands; the members
//! of the block that do not need its result continue in the meantime (`row`). When nothing can
//! continue, the caller works on jobs too. Earlier evaluations of the plan show which runs are long
//! (`costs`). Jobs finish in any order, but blocks are called in the order of the list, so the same
//! steps run on the same cells. No jobs are made if none pays, or if evaluations were slower with
//! them (`trials`).

mod deferred;
mod flat;
mod jobs;
mod listed;
mod row;

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use millstream_form::Registers;
use millstream_ir::answer::{Answer, EvalError, Evaluator};
use millstream_ir::plan::Plan;
use millstream_ir::request::{Bound, LogDetail, Request};
use millstream_node::ScopeRule;

use crate::blocks::Blocks;
use crate::buffers::Buffers;
use crate::costs::{Costs, Forecast, Size};
use crate::trials::{Key, Trials, n_cells};
use crate::walk::{self, Walk};
use deferred::{Deferral, Workers};
use flat::Flat;
use jobs::Pool;
use listed::Listed;

/// Shorter runs are not worth a job: passing one to a waiting thread and receiving the result takes
/// about 10 microseconds on a busy machine.
const WORTH_A_JOB: Duration = Duration::from_micros(40);

/// The way to evaluate without jobs.
const ALONE: usize = 0;

/// The evaluator that runs a flat list. It is the fastest for programs of single numbers that are
/// evaluated more than a few times; the list is made in the first evaluation. On several threads
/// independent steps run at the same time if they take long enough.
#[derive(Debug, Default)]
pub struct List {
    without_registers: bool,
    /// Maximal number of threads; one if not set.
    threads: Option<NonZeroUsize>,
    worth: Option<Duration>,
    /// The other threads, started with the first job that one of them may take.
    pool: Pool,
    /// Buffers for the next evaluation.
    buffers: Buffers,
    /// Registers for the next evaluations of these lists.
    registers: Vec<(Arc<Listing>, Registers)>,
}

/// The lists of a plan, and the times of evaluations without and with jobs.
#[derive(Debug, Default)]
struct Lists {
    by_outputs: Mutex<Vec<Arc<Listing>>>,
    trials: Trials<2>,
}

/// The list for some outputs.
#[derive(Debug)]
struct Listing {
    outputs: Box<[usize]>,
    blocks: Blocks,
    /// The list over registers, if all its steps compute numbers.
    flat: Option<Flat>,
}

/// Maximal number of lists stored with a plan.
const KEPT: usize = 16;

impl Lists {
    fn of(plan: &Plan) -> &Self {
        plan.notes.get_or_make(Self::default)
    }

    /// The list for the outputs at these positions. The lock is held while one is made, so that two
    /// calls do not make the same one.
    fn listing(&self, plan: &Plan, outputs: &[usize]) -> Arc<Listing> {
        let mut known = self.by_outputs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(listing) = known.iter().find(|listing| *listing.outputs == *outputs) {
            return Arc::clone(listing);
        }
        let blocks = Blocks::new(plan, outputs);
        let flat = Flat::new(plan, &blocks, outputs);
        let listing = Arc::new(Listing { outputs: outputs.into(), blocks, flat });
        if known.len() >= KEPT {
            known.remove(0);
        }
        known.push(Arc::clone(&listing));
        listing
    }
}

impl List {
    /// The evaluator on the thread of the caller.
    pub fn new() -> Self {
        Self::default()
    }

    /// The evaluator on all threads of the machine: `parallel`.
    pub fn parallel() -> Self {
        Self::new().threads(std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
    }

    /// Uses at most `n` threads, if that pays.
    #[must_use]
    pub fn threads(mut self, n: NonZeroUsize) -> Self {
        self.threads = Some(n);
        self
    }

    /// Makes jobs of runs that are expected to take at least this long, whether or not that pays.
    /// Answers do not depend on it.
    #[must_use]
    pub fn jobs_from(mut self, worth: Duration) -> Self {
        self.worth = Some(worth);
        self
    }

    /// Runs in the store even if registers would do. Answers do not depend on it.
    #[must_use]
    pub fn without_registers(mut self) -> Self {
        self.without_registers = true;
        self
    }
}

impl Evaluator for List {
    fn name(&self) -> &'static str {
        if self.threads.is_some() { "parallel" } else { "list" }
    }

    fn evaluate_bound(
        &mut self,
        plan: &Plan,
        request: &Request,
        bound: &Bound,
    ) -> Result<Answer, EvalError> {
        // Outputs without cells need hardly any step, and a subset of the elements fewer than the
        // list has: the plain walk computes only these.
        if bound.has_no_cells() || bound.masked().is_some() || walk::is_required(plan) {
            return walk::evaluate(plan, request, bound);
        }
        let lists = Lists::of(plan);
        let listing = lists.listing(plan, &bound.outputs);
        // Times are recorded by step.
        let over_registers =
            bound.is_single() && request.log != LogDetail::Times && !self.without_registers;
        if let Some(flat) = listing.flat.as_ref().filter(|_| over_registers) {
            let registers = self.registers(&listing, flat);
            return flat.evaluate(plan, &listing.blocks, request, bound, registers);
        }
        self.evaluate_blocks(plan, request, bound, (lists, &listing.blocks))
    }

    fn n_threads(&self) -> usize {
        self.threads.map_or(1, NonZeroUsize::get)
    }
}

impl List {
    /// The registers of a list.
    fn registers(&mut self, listing: &Arc<Listing>, flat: &Flat) -> &mut Registers {
        match self.registers.iter().position(|(known, _)| Arc::ptr_eq(known, listing)) {
            Some(at) => &mut self.registers[at].1,
            None => {
                if self.registers.len() >= KEPT {
                    self.registers.remove(0);
                }
                self.registers.push((Arc::clone(listing), flat.registers()));
                &mut self.registers.last_mut().expect("it was pushed now").1
            }
        }
    }

    /// Runs the blocks of a list, with jobs if that pays.
    fn evaluate_blocks(
        &mut self,
        plan: &Plan,
        request: &Request,
        bound: &Bound,
        (lists, blocks): (&Lists, &Blocks),
    ) -> Result<Answer, EvalError> {
        let alone = || Walk::new(plan, request, bound, Listed::new(blocks, None)).answer(bound);
        let n_others = self.n_threads() - 1;
        if n_others == 0 {
            return alone();
        }
        let (worth, costs) = (self.worth.unwrap_or(WORTH_A_JOB), Costs::of(plan));
        let most_elements = (!has_loops(plan)).then(|| n_cells(bound));
        if most_elements.is_some_and(|n| !costs.may_take(plan, worth, n)) {
            return alone();
        }
        let workers = Workers { pool: &self.pool, n_others, worth, costs, most_elements };
        if self.worth.is_some() {
            return with_jobs(plan, request, bound, (blocks, workers), &mut self.buffers);
        }
        let key = Key::of(request, bound);
        let choice = lists.trials.choose(&key, 1.0, |_| [1.0, 1.0]);
        let started = Instant::now();
        let answer = if choice.way == ALONE {
            alone()
        } else {
            with_jobs(plan, request, bound, (blocks, workers), &mut self.buffers)
        }?;
        lists.trials.note(&key, choice, started.elapsed(), 0);
        Ok(answer)
    }
}

/// Runs the blocks of a list with jobs.
fn with_jobs(
    plan: &Plan,
    request: &Request,
    bound: &Bound,
    (blocks, workers): (&Blocks, Workers<'_>),
    buffers: &mut Buffers,
) -> Result<Answer, EvalError> {
    let deferral = Deferral::new(workers, &request.limits);
    let mut walk = Walk::new(plan, request, bound, Listed::new(blocks, Some(deferral)));
    // Simultaneous jobs need many buffers.
    walk.buffers = std::mem::take(buffers);
    let answer = walk.answer(bound)?;
    *buffers = std::mem::take(&mut walk.buffers);
    Ok(answer)
}

/// An estimate of the time of the list on one thread.
pub(crate) const FORECAST: Forecast = Forecast {
    run: |size, cells, _| {
        let is_more = size.is_more_than_numbers(cells);
        if is_more { 0.95 * size.step_by_step(cells) } else { 8.0 * size.calls }
    },
    make: listing,
};

/// An estimate of the time of the list on several threads.
pub(crate) const FORECAST_ON_THREADS: Forecast = Forecast {
    run: |size, cells, threads| {
        let is_more = size.is_more_than_numbers(cells);
        let apart = 0.95 * size.step_by_step(cells) / (1.0 + 0.5 * (threads - 1.0));
        // On one thread it is the list.
        if is_more && threads > 1.0 { 1000.0 + apart } else { f64::INFINITY }
    },
    make: listing,
};

/// Nanoseconds to make the list of a plan.
fn listing(size: Size) -> f64 {
    size.calls * 200.0
}

/// Whether some input is computed for each round of a loop.
fn has_loops(plan: &Plan) -> bool {
    let instances = plan.instances.as_slice().iter();
    let mut rules = instances.flat_map(|instance| &instance.inputs).flat_map(|input| &input.scope);
    rules.any(|rule| matches!(rule, ScopeRule::Each { .. }))
}
