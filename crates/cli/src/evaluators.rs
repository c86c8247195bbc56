//! The evaluators by name, for the verbs that let the user choose one.

use std::num::NonZeroUsize;
use std::sync::LazyLock;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use millstream::evaluate::{AnyEvaluator, EVALUATORS, EvaluatorRow};

/// The name of an evaluator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EvaluatorName(&'static EvaluatorRow);

impl EvaluatorName {
    /// The name on the command line.
    pub(crate) fn text(self) -> &'static str {
        self.0.name
    }

    /// The evaluator of this name on at most this many threads; `None` uses all hardware threads.
    pub(crate) fn evaluator(self, threads: Option<NonZeroUsize>) -> AnyEvaluator {
        let machine = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        (self.0.new)(threads.unwrap_or_else(machine))
    }
}

impl ValueEnum for EvaluatorName {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<EvaluatorName>> =
            LazyLock::new(|| EVALUATORS.iter().map(EvaluatorName).collect());
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name).help(self.0.about))
    }
}
