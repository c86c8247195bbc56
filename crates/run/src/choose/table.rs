//! The table of evaluators: `auto`, the agreement suite and the command line read it.

use std::num::NonZeroUsize;
use std::time::Duration;

use millstream_ir::answer::Evaluator;

use super::Auto;
use crate::costs::Forecast;
use crate::live::Propagation;
use crate::{Chunked, Incremental, Lazy, List, chunked, lazy, list};

/// An evaluator of any kind.
pub type AnyEvaluator = Box<dyn Evaluator + Send>;

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct EvaluatorRow {
    /// The name on the command line.
    pub name: &'static str,
    /// Its use in one line.
    pub about: &'static str,
    /// Makes one that uses at most this number of threads.
    pub new: fn(NonZeroUsize) -> AnyEvaluator,
    /// Makes one for each combination of settings that must not affect answers; empty if it refuses
    /// most plans.
    pub settings: &'static [fn() -> AnyEvaluator],
    /// An estimate of its time, if `auto` may choose it.
    pub(crate) forecast: Option<Forecast>,
}

/// All evaluators.
pub const EVALUATORS: &[EvaluatorRow] = &[
    EvaluatorRow {
        name: "lazy",
        about: "Demand-driven; defines the meaning",
        new: |_| Box::new(Lazy),
        settings: &[|| Box::new(Lazy)],
        forecast: Some(lazy::FORECAST),
    },
    EvaluatorRow {
        name: "list",
        about: "A flat list of steps; quick on single values, if a plan runs many times",
        new: |_| Box::new(List::new()),
        settings: &[|| Box::new(List::new()), || Box::new(List::new().without_registers())],
        forecast: Some(list::FORECAST),
    },
    EvaluatorRow {
        name: "incremental",
        about: "Keeps results between evaluations and runs what has changed: as incremental-pull \
                where that can be, else as incremental-walk",
        new: |_| Box::new(Incremental::new()),
        settings: &[
            || Box::new(Incremental::new()),
            || Box::new(Incremental::new().without_live_graph()),
            || Box::new(Incremental::new().without_live_graph().chunks_from(2)),
        ],
        forecast: None,
    },
    propagating(
        "incremental-pull",
        "Single values only: a change computes nothing; reading runs what it needs",
        |_| Box::new(Incremental::new().propagation(Propagation::Pull)),
    ),
    propagating(
        "incremental-push",
        "Single values only: each change travels at once, from what changed to what reads it",
        |_| Box::new(Incremental::new().propagation(Propagation::Push)),
    ),
    propagating(
        "incremental-retract",
        "Single values only: each change first retracts all that may change, then asserts it again",
        |_| Box::new(Incremental::new().propagation(Propagation::RetractAndAssert)),
    ),
    propagating(
        "incremental-mixed",
        "Single values only: each change travels to the first output at once, to others when read",
        |_| Box::new(Incremental::new().propagation(Propagation::Mixed)),
    ),
    EvaluatorRow {
        name: "incremental-walk",
        about: "Keeps results by what they were made of, and walks from the outputs to what has \
                changed",
        new: |_| Box::new(Incremental::new().without_live_graph()),
        settings: &[],
        forecast: None,
    },
    EvaluatorRow {
        name: "chunked",
        about: "Element-wise parts as one, chunk by chunk, on several threads; quick on many \
                elements",
        new: |n| Box::new(Chunked::new().threads(n)),
        settings: &[
            || Box::new(Chunked::new().threads(size(1))),
            || Box::new(Chunked::new().threads(size(1)).without_stages()),
            || Box::new(Chunked::new().pieces(size(3)).threads(size(3))),
            || {
                let by_regions = Chunked::new().without_stages().without_unrolling();
                Box::new(by_regions.pieces(size(2)).threads(size(2)))
            },
        ],
        forecast: Some(chunked::FORECAST),
    },
    EvaluatorRow {
        name: "parallel",
        about: "The list on several threads: independent expensive steps at the same time",
        new: |n| Box::new(List::new().threads(n)),
        settings: &[
            || Box::new(List::new().threads(size(3)).jobs_from(Duration::ZERO)),
            || Box::new(List::new().threads(size(2))),
            || Box::new(List::new().threads(size(1))),
        ],
        forecast: Some(list::FORECAST_ON_THREADS),
    },
    EvaluatorRow {
        name: "auto",
        about: "The one of lazy, list, chunked and parallel that takes least for requests like this",
        new: |n| Box::new(Auto::new().threads(n)),
        settings: &[|| Box::new(Auto::new().threads(size(2)))],
        forecast: None,
    },
];

/// The row of a live graph with one kind of propagation, which refuses plans of more than single
/// values.
const fn propagating(
    name: &'static str,
    about: &'static str,
    new: fn(NonZeroUsize) -> AnyEvaluator,
) -> EvaluatorRow {
    EvaluatorRow { name, about, new, settings: &[], forecast: None }
}

fn size(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).expect("sizes are not zero")
}
