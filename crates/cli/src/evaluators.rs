//! The evaluators by name, for the verbs that let one choose.

use std::num::NonZeroUsize;

use clap::ValueEnum;
use millstream::{Answer, Auto, Chunked, Evaluator, Incremental, Lazy, List, Parallel};

/// The name of an evaluator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EvaluatorName {
    /// Demand-driven; defines the meaning
    Lazy,
    /// A flat list of steps; quick on single values, if a plan runs many times
    List,
    /// Keeps results between evaluations and runs what has changed
    Incremental,
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
        match name {
            EvaluatorName::Lazy => Self::Lazy(Lazy),
            EvaluatorName::List => Self::List(List::new()),
            EvaluatorName::Incremental => Self::Incremental(Incremental::new()),
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
