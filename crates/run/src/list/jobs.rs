//! Jobs: runs of kernels that own their operands, and the queue from which threads take them.
//!
//! The lock guards only the queue and the scratches; no thread computes under it.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use millstream_base::{Budget, Column, Limits, Mask, Value};
use millstream_ir::{Done, EvalError, Watch};
use millstream_node::function::Output;
use millstream_node::unsettled::Rounds;
use millstream_node::{Argument, Data, Failure, Function, Instance, Kernel};

use crate::kernel::{Crew, Elements, Operand, Scratch, call};
use crate::shape::CellMap;
use crate::store::SlotId;

/// The time that the caller waits for other threads before it reads the clock again.
const WAIT: Duration = Duration::from_millis(2);

/// The other threads; `None` if the system provides none.
pub(super) type Pool = OnceLock<Option<rayon_core::ThreadPool>>;

/// One input of a job.
pub(super) struct Input {
    pub(super) data: Data,
    pub(super) map: CellMap,
    /// Whether nothing else needs it, so that the kernel may overwrite it.
    pub(super) is_owned: bool,
}

/// The outputs that a job writes.
pub(super) enum Kind {
    /// A form fills these columns.
    Form(Vec<Option<Column>>),
    /// A function sets these outputs.
    Function(Vec<Output>),
}

/// A run of a kernel.
pub(super) struct Job {
    pub(super) slot: SlotId,
    pub(super) instance: Arc<Instance>,
    pub(super) inputs: Vec<Input>,
    pub(super) kind: Kind,
    pub(super) mask: Mask,
    pub(super) n_cells: usize,
    /// The first cell of each moment, if the kernel needs them.
    pub(super) moments: Vec<usize>,
    pub(super) limits: Arc<Limits>,
    pub(super) budget: Budget,
}

/// The result of a job.
pub(super) enum Computed {
    Form(Vec<Option<Column>>),
    Function(Result<(), Failure>, Vec<Output>, Rounds),
    /// Nothing, because the result was no longer wanted.
    Ended(EvalError),
}

/// A job that is done.
pub(super) struct Finished {
    pub(super) slot: SlotId,
    pub(super) computed: Computed,
    pub(super) took: Duration,
    /// Whether the caller did it, not another thread.
    pub(super) by_caller: bool,
}

impl Job {
    fn run(self, scratch: &mut Scratch) -> Finished {
        let started = Instant::now();
        let Self { slot, instance, mut inputs, kind, mask, n_cells, moments, limits, budget } =
            self;
        let computed = match (kind, &instance.kernel) {
            (Kind::Form(mut columns), Kernel::Form(form)) => {
                let operands: Vec<Operand<'_>> = inputs
                    .iter()
                    .map(|input| Operand { data: &input.data, map: input.map.clone() })
                    .collect();
                let mut outputs: Vec<Option<&mut Column>> =
                    columns.iter_mut().map(Option::as_mut).collect();
                let watch = Watch::new(&budget, None, Done::default());
                let is_over = || watch.ended(Done::default()).is_some();
                let outputs = (&instance.outputs[..], &mut outputs[..]);
                scratch.form(form, &operands, outputs, &mask, &is_over);
                watch.into_end().map_or(Computed::Form(columns), Computed::Ended)
            }
            (Kind::Function(mut outputs), Kernel::Function(function)) => {
                let function: &dyn Function = &**function;
                let taken = |input: &mut Input| {
                    let nothing = Data::One(Value::Bool(false));
                    input.is_owned.then(|| std::mem::replace(&mut input.data, nothing))
                };
                let owned: Vec<Option<Data>> = inputs.iter_mut().map(taken).collect();
                let arguments = inputs.iter().zip(owned).map(|(input, owned)| match owned {
                    Some(data) => Argument::owned(data, input.map.as_map()),
                    None => Argument::shared(&input.data, input.map.as_map()),
                });
                let mut arguments: Vec<Argument<'_>> = arguments.collect();
                let watch = Watch::new(&budget, None, Done::default());
                let is_over = || watch.ended(Done::default()).is_some();
                let crew: Crew<'_> = (1, &is_over, watch.flag());
                let elements: Elements<'_> = (&mask, n_cells, &moments);
                let (done, _, unsettled) =
                    call(function, elements, &limits, crew, &mut arguments, &mut outputs);
                match (done, watch.into_end()) {
                    // A function that was interrupted did not fail.
                    (Err(_), Some(error)) => Computed::Ended(error),
                    (done, _) => Computed::Function(done, outputs, unsettled),
                }
            }
            (Kind::Form(_) | Kind::Function(_), _) => panic!("a job is of the kind of its kernel"),
        };
        Finished { slot, computed, took: started.elapsed(), by_caller: false }
    }
}

/// The state that threads share.
#[derive(Default)]
struct Shared {
    queue: VecDeque<Job>,
    scratches: Vec<Scratch>,
}

/// The jobs of one evaluation.
pub(super) struct Jobs {
    shared: Arc<Mutex<Shared>>,
    sender: Sender<Finished>,
    finished: Receiver<Finished>,
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes a job and runs it. Panics of functions are caught where they are called.
fn work(shared: &Mutex<Shared>) -> Option<Finished> {
    let (job, mut scratch) = {
        let mut shared = lock(shared);
        (shared.queue.pop_front()?, shared.scratches.pop().unwrap_or_default())
    };
    let finished = job.run(&mut scratch);
    lock(shared).scratches.push(scratch);
    Some(finished)
}

impl Jobs {
    pub(super) fn new() -> Self {
        let (sender, finished) = channel();
        Self { shared: Arc::default(), sender, finished }
    }

    /// Queues a job. The first waiting job is for the caller; others wake a thread.
    pub(super) fn push(&self, job: Job, pool: &Pool, n_others: usize) {
        let n_waiting = {
            let mut shared = lock(&self.shared);
            shared.queue.push_back(job);
            shared.queue.len()
        };
        if n_waiting < 2 {
            return;
        }
        let start = || {
            let name = |i| format!("millstream-{i}");
            rayon_core::ThreadPoolBuilder::new().num_threads(n_others).thread_name(name).build()
        };
        // Without threads the caller does all jobs.
        if let Some(pool) = pool.get_or_init(|| start().ok()) {
            let (shared, sender) = (Arc::clone(&self.shared), self.sender.clone());
            pool.spawn(move || {
                if let Some(finished) = work(&shared) {
                    // The receiver is gone if the evaluation is over.
                    let _ = sender.send(finished);
                }
            });
        }
    }

    /// A finished job, if there is one.
    pub(super) fn try_next(&self) -> Option<Finished> {
        self.finished.try_recv().ok()
    }

    /// A finished job: of another thread, or one that this thread does now. `None` if there is none
    /// yet, so that the caller can check the clock.
    pub(super) fn next(&self) -> Option<Finished> {
        let own = || work(&self.shared).map(|done| Finished { by_caller: true, ..done });
        if let Some(finished) = self.try_next().or_else(own) {
            return Some(finished);
        }
        self.finished.recv_timeout(WAIT).ok()
    }
}

impl Drop for Jobs {
    /// Jobs that have not begun are no longer wanted.
    fn drop(&mut self) {
        lock(&self.shared).queue.clear();
    }
}
