//! The evaluator that decides which of the others runs a plan.
//!
//! What each may take is estimated from the number of steps, of elements and of instructions; what
//! each took is noted with the plan, and from the third evaluation on decides (`trials`). Answers do
//! not depend on it.

use std::num::NonZeroUsize;
use std::time::Instant;

use millstream_ir::answer::{Answer, EvalError, Evaluator};
use millstream_ir::plan::{Plan, StepOp};
use millstream_ir::request::{Bound, Request};
use millstream_node::Kernel;

use crate::kept::Kept;
use crate::trials::{Key, n_cells};
use crate::{Chunked, Lazy, List, Parallel};

/// The evaluator that decides which of the others runs a plan, from costs it has seen.
#[derive(Debug, Default)]
pub struct Auto {
    chunked: Chunked,
    parallel: Parallel,
}

/// The evaluators, in this order.
const NAMES: [&str; 4] = ["lazy", "list", "chunked", "parallel"];

/// What the steps of a plan amount to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    calls: f64,
    instructions: f64,
    /// Steps that are no forms.
    others: f64,
}

impl Size {
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut size = Self { calls: 0.0, instructions: 0.0, others: 0.0 };
        for step in plan.steps.as_slice() {
            let StepOp::Call(id) = step.op else { continue };
            size.calls += 1.0;
            match &plan.instances[id].kernel {
                Kernel::Form(form) => size.instructions += form.insts.len() as f64,
                Kernel::Function(_)
                | Kernel::Read { .. }
                | Kernel::Pass
                | Kernel::Choose
                | Kernel::Kept(_) => {
                    size.others += 1.0;
                }
            }
        }
        size
    }

    /// Seconds that each evaluator may take for so many cells: nanoseconds a step, and nanoseconds
    /// an element of a step that makes a column, of an instruction that is fused, of a function.
    fn expected(self, cells: f64, threads: f64) -> [f64; 4] {
        let Self { calls, instructions, others } = self;
        let columns = if cells > 1.0 { cells } else { 0.0 };
        let functions = others * (60.0 + columns * 3.0);
        let apart = columns * (calls - others) * 0.6;
        let lazy = calls * 35.0 + apart + functions;
        let list = if columns > 0.0 || others > 0.0 { 0.95 * lazy } else { 8.0 * calls };
        let fused = columns * instructions * 0.15 / threads;
        // Regions are looked for again in each evaluation.
        let chunked = 300.0 + calls * 50.0 + fused + functions;
        let parallel = if columns > 0.0 || others > 0.0 {
            1000.0 + (0.95 * lazy) / (1.0 + 0.5 * (threads - 1.0))
        } else {
            f64::INFINITY
        };
        [lazy, list, chunked, parallel].map(|ns| ns * 1e-9)
    }
}

impl Size {
    /// Seconds that each evaluator may take for what it makes of a plan when it meets it first: a
    /// list, fused forms.
    fn making(self) -> [f64; 4] {
        let (list, fused) = (self.calls * 200.0, 5_000.0 + self.instructions * 400.0);
        [0.0, list, fused, list].map(|ns| ns * 1e-9)
    }
}

impl Auto {
    /// An evaluator that uses as many threads as the machine runs at once, where that pays.
    pub fn new() -> Self {
        Self::default()
    }

    /// Uses at most so many threads.
    pub fn threads(self, n: NonZeroUsize) -> Self {
        Self { chunked: self.chunked.threads(n), parallel: self.parallel.threads(n) }
    }

    /// The number of threads that it uses where that pays.
    pub fn n_threads(&self) -> usize {
        self.chunked.n_threads()
    }

    /// Takes the columns of an answer that nobody needs any more as memory for later answers.
    pub fn give_back(&self, answer: Answer) {
        self.chunked.give_back(answer);
    }

    /// The name of the evaluator that a request would be given to now.
    ///
    /// # Errors
    /// If the request does not fit the plan.
    pub fn would_choose(&self, plan: &Plan, request: &Request) -> Result<&'static str, EvalError> {
        let bound = request.bind(plan).map_err(EvalError::Request)?;
        Ok(NAMES[self.choose(plan, &bound, &Key::of(&bound))])
    }

    fn choose(&self, plan: &Plan, bound: &Bound, key: &Key) -> usize {
        let kept = Kept::of(plan);
        let threads = self.n_threads() as f64;
        let size = kept.size(plan);
        let mut expected = size.expected(n_cells(bound) as f64, threads);
        if kept.evaluators.is_new(key) {
            // Many plans are evaluated but once.
            for (expected, making) in expected.iter_mut().zip(size.making()) {
                *expected += making;
            }
        }
        kept.evaluators.choose(key, &expected)
    }

    fn evaluators(&self) -> [&dyn Evaluator; 4] {
        const LIST: List = List::new();
        [&Lazy, &LIST, &self.chunked, &self.parallel]
    }
}

impl Evaluator for Auto {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn evaluate(&self, plan: &Plan, request: &Request) -> Result<Answer, EvalError> {
        if Lazy::is_alone_with(plan) {
            return Lazy.evaluate(plan, request);
        }
        let bound = request.bind(plan).map_err(EvalError::Request)?;
        let key = Key::of(&bound);
        let way = self.choose(plan, &bound, &key);
        drop(bound);
        let started = Instant::now();
        let answer = self.evaluators()[way].evaluate(plan, request)?;
        Kept::of(plan).evaluators.note(&key, way, started.elapsed());
        Ok(answer)
    }
}
