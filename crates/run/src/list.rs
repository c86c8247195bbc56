//! The evaluator of a flat list: the steps of a plan once each, run in order, on one thread or on
//! several.
//!
//! How a call proceeds. The list of a plan (`crate::blocks`) depends on the outputs asked for and is kept
//! with the plan. If all steps compute numbers and the request has no axes, the list becomes a
//! program over one file of registers (`flat`). Otherwise the blocks of the list run in the walk,
//! in the mode `listed`, under masks and in any context. Both ways compute the cells that the plain
//! walk computes.
//!
//! On several threads the thread of the caller runs the list and owns the store. A run that will
//! probably take long becomes a job (`deferred`, `jobs`), which owns its operands; the members of
//! the block that do not need its result go on meanwhile (`row`). Where nothing is left to go on
//! with, the caller works on jobs too. Earlier evaluations of the plan tell which runs are long
//! (`costs`). Jobs finish in any order, but blocks are called in that of the list, so the same
//! steps run on the same cells. Jobs are not made where none pays, nor where evaluations were
//! slower with them (`trials`).

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

/// Shorter runs are not worth a job: handing one to a waiting thread and taking the result takes
/// about 10 microseconds where the machine is busy.
const WORTH_A_JOB: Duration = Duration::from_micros(40);

/// The way to evaluate without jobs.
const ALONE: usize = 0;

/// The evaluator that runs a flat list. Programs of single numbers run fastest with it, if the same
/// plan is evaluated more than a few times: the list is made in the first evaluation. On several
/// threads independent steps run at the same time, where they take long enough.
#[derive(Debug, Default)]
pub struct List {
    without_registers: bool,
    /// Threads that it may use; one if not set.
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

/// At most so many lists are kept with a plan.
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

    /// The evaluator on as many threads as the machine runs at once: `parallel`.
    pub fn parallel() -> Self {
        Self::new().threads(std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
    }

    /// Uses at most so many threads, where that pays.
    #[must_use]
    pub fn threads(mut self, n: NonZeroUsize) -> Self {
        self.threads = Some(n);
        self
    }

    /// Makes jobs of runs that will probably take at least so long, whatever pays. Answers do not
    /// depend on it.
    #[must_use]
    pub fn jobs_from(mut self, worth: Duration) -> Self {
        self.worth = Some(worth);
        self
    }

    /// Runs in the store also what could run over registers. Answers do not depend on it.
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
        // For outputs without cells hardly anything runs, and for some elements less than what is
        // listed: the plain walk asks only for that.
        if bound.has_no_cells() || bound.elements.is_some() || walk::is_required(plan) {
            return walk::evaluate(plan, request, bound);
        }
        let lists = Lists::of(plan);
        let listing = lists.listing(plan, &bound.outputs);
        // Times are told by step.
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

    /// Runs the blocks of a list, with jobs where that pays.
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
        let key = Key::of(bound);
        let way = lists.trials.choose(&key, &[1.0, 1.0]).way;
        let started = Instant::now();
        let answer = if way == ALONE {
            alone()
        } else {
            with_jobs(plan, request, bound, (blocks, workers), &mut self.buffers)
        }?;
        lists.trials.note(&key, way, started.elapsed());
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
    // Jobs at the same time need many buffers.
    walk.buffers = std::mem::take(buffers);
    let answer = walk.answer(bound)?;
    *buffers = std::mem::take(&mut walk.buffers);
    Ok(answer)
}

/// The time that the list takes on one thread.
pub(crate) const FORECAST: Forecast = Forecast {
    run: |size, cells, _| {
        let is_more = size.is_more_than_numbers(cells);
        if is_more { 0.95 * size.step_by_step(cells) } else { 8.0 * size.calls }
    },
    make: listing,
};

/// The time that the list takes on several threads.
pub(crate) const FORECAST_ON_THREADS: Forecast = Forecast {
    run: |size, cells, threads| {
        let is_more = size.is_more_than_numbers(cells);
        let apart = 0.95 * size.step_by_step(cells) / (1.0 + 0.5 * (threads - 1.0));
        // On one thread it is the list.
        if is_more && threads > 1.0 { 1000.0 + apart } else { f64::INFINITY }
    },
    make: listing,
};

/// Nanoseconds for making the list of a plan.
fn listing(size: Size) -> f64 {
    size.calls * 200.0
}

/// Whether some input is computed for each round of a loop.
fn has_loops(plan: &Plan) -> bool {
    let instances = plan.instances.as_slice().iter();
    let mut rules = instances.flat_map(|instance| &instance.inputs).flat_map(|input| &input.scope);
    rules.any(|rule| matches!(rule, ScopeRule::Each { .. }))
}
