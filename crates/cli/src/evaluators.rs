//! The evaluators by name, for the verbs that let one choose.

use std::num::NonZeroUsize;

use clap::ValueEnum;
use millstream::parts::eval::live::Propagation;
use millstream::{
    Answer, Auto, Chunked, EvalError, Evaluator, Incremental, Lazy, List, Parallel, Program,
    Request,
};

/// The name of an evaluator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EvaluatorName {
    /// Demand-driven; defines the meaning
    Lazy,
    /// A flat list of steps; quick on single values, if a plan runs many times
    List,
    /// Keeps results between evaluations and runs what has changed: as incremental-pull where that
    /// can be, else as incremental-walk
    Incremental,
    /// Single values only: a change computes nothing; reading runs what it needs
    IncrementalPull,
    /// Single values only: each change travels at once, from what changed to what reads it
    IncrementalPush,
    /// Single values only: each change first retracts all that may change, then asserts it again
    IncrementalRetract,
    /// Single values only: each change travels to the first output at once, to others when read
    IncrementalMixed,
    /// Keeps results by what they were made of, and walks from the outputs to what has changed
    IncrementalWalk,
    /// Element-wise parts as one, chunk by chunk, on several threads; quick on many elements
    Chunked,
    /// Independent steps that take long at the same time
    Parallel,
    /// The one of lazy, list, chunked and parallel that took least for requests like this
    Auto,
}

/// An evaluator.
pub(crate) enum AnyEvaluator {
    Lazy(Lazy),
    List(List),
    Incremental(Incremental),
    Chunked(Chunked),
    Parallel(Parallel),
    Auto(Auto),
}

impl AnyEvaluator {
    /// The evaluator of this name on at most so many threads; `None` takes what the machine has.
    pub(crate) fn new(name: EvaluatorName, threads: Option<NonZeroUsize>) -> Self {
        let machine = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let threads = threads.unwrap_or_else(machine);
        let propagating = |form| Self::Incremental(Incremental::new().propagation(form));
        match name {
            EvaluatorName::Lazy => Self::Lazy(Lazy),
            EvaluatorName::List => Self::List(List::new()),
            EvaluatorName::Incremental => Self::Incremental(Incremental::new()),
            EvaluatorName::IncrementalPull => propagating(Propagation::Pull),
            EvaluatorName::IncrementalPush => propagating(Propagation::Push),
            EvaluatorName::IncrementalRetract => propagating(Propagation::RetractAndAssert),
            EvaluatorName::IncrementalMixed => propagating(Propagation::Mixed),
            EvaluatorName::IncrementalWalk => {
                Self::Incremental(Incremental::new().without_live_graph())
            }
            EvaluatorName::Chunked => Self::Chunked(Chunked::new().threads(threads)),
            EvaluatorName::Parallel => Self::Parallel(Parallel::new().threads(threads)),
            EvaluatorName::Auto => Self::Auto(Auto::new().threads(threads)),
        }
    }

    pub(crate) fn evaluator(&self) -> &dyn Evaluator {
        match self {
            Self::Lazy(lazy) => lazy,
            Self::List(list) => list,
            Self::Incremental(incremental) => incremental,
            Self::Chunked(chunked) => chunked,
            Self::Parallel(parallel) => parallel,
            Self::Auto(auto) => auto,
        }
    }

    /// Lets it take over what a request gives, without an answer; only those that keep results have
    /// something to do. What is kept from tick to tick goes on in evaluations.
    pub(crate) fn commit(&self, program: &Program, request: &Request) -> Result<(), EvalError> {
        match self {
            Self::Incremental(incremental) if !program.plan().has_states() => {
                incremental.commit(program.plan(), request)
            }
            Self::Incremental(_)
            | Self::Lazy(_)
            | Self::List(_)
            | Self::Chunked(_)
            | Self::Parallel(_)
            | Self::Auto(_) => Ok(()),
        }
    }

    /// The number of threads that it uses where that pays.
    pub(crate) fn n_threads(&self) -> usize {
        match self {
            Self::Lazy(_) | Self::List(_) | Self::Incremental(_) => 1,
            Self::Chunked(chunked) => chunked.n_threads(),
            Self::Parallel(parallel) => parallel.n_threads(),
            Self::Auto(auto) => auto.n_threads(),
        }
    }

    /// Gives memory back to those that use it again.
    pub(crate) fn give_back(&self, answer: Answer) {
        match self {
            Self::Lazy(_) | Self::List(_) | Self::Incremental(_) | Self::Parallel(_) => {
                drop(answer);
            }
            Self::Chunked(chunked) => chunked.give_back(answer),
            Self::Auto(auto) => auto.give_back(answer),
        }
    }
}
