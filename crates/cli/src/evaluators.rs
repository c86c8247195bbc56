//! The evaluators by name, for the verbs with a choice.

use std::num::NonZeroUsize;

use clap::ValueEnum;
use millstream::live::Propagation;
use millstream::{
    Answer, Auto, Chunked, EvalError, Evaluator, Incremental, Lazy, List, Parallel, Program,
    Request,
};

/// The name of an evaluator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EvaluatorName {
    /// Demand-driven; defines the meaning
    Lazy,
    /// A flat list of steps; fast on single values of a plan that runs many times
    List,
    /// Keeps results between evaluations and runs what has changed: incremental-pull if it supports
    /// the request, else incremental-walk
    Incremental,
    /// Single values only: a change computes nothing; reading an output runs the nodes it needs
    IncrementalPull,
    /// Single values only: each change is passed on at once, from a node to its readers
    IncrementalPush,
    /// Single values only: each change first retracts all values that may change, then asserts them
    /// again
    IncrementalRetract,
    /// Single values only: each change is passed on to the first output at once, to the others when
    /// they are read
    IncrementalMixed,
    /// Keeps results by the inputs they were computed from, and walks from the outputs to the changes
    IncrementalWalk,
    /// Fuses element-wise nodes and runs them chunk by chunk on several threads; fast on many
    /// elements
    Chunked,
    /// Runs independent steps that take long at the same time
    Parallel,
    /// Measures lazy, list, chunked and parallel, and takes the fastest for requests like this
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
    /// The evaluator of this name with at most `threads` threads; `None` means all of the machine.
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

    /// Passes the values of a request on to an evaluator that keeps results, without an answer. A plan
    /// with state does nothing here: only evaluations advance state.
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

    /// The greatest number of threads that the evaluator uses.
    pub(crate) fn n_threads(&self) -> usize {
        match self {
            Self::Lazy(_) | Self::List(_) | Self::Incremental(_) => 1,
            Self::Chunked(chunked) => chunked.n_threads(),
            Self::Parallel(parallel) => parallel.n_threads(),
            Self::Auto(auto) => auto.n_threads(),
        }
    }

    /// Returns the memory of an answer to an evaluator that reuses it.
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
