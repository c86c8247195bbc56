//! The list evaluator: the steps in one flat list, run in order.
//!
//! How a call proceeds. The list of a plan (`blocks`) depends on the outputs asked for and is kept
//! with the plan. If all steps compute numbers and the request has no axes, the list becomes a
//! program over one file of registers (`flat`). Else the blocks of the list run in the store of the
//! demand-driven evaluation (`lazy/listed.rs`), under masks and in any context. Both ways compute
//! the cells that `lazy` computes.

mod blocks;
mod flat;

use std::sync::{Arc, Mutex, PoisonError};

use millstream_ir::answer::{Answer, EvalError, Evaluator};
use millstream_ir::plan::Plan;
use millstream_ir::request::{Bound, LogDetail, Request};

use crate::kept::Kept;
use crate::lazy::{Lazy, evaluate_listed};
use crate::parallel::Company;
pub(crate) use blocks::{BlockOf, Blocks, Use, uses};
use flat::Flat;

/// The evaluator that runs a flat list. Programs of single numbers run fastest with it, if the same
/// plan is evaluated more than a few times: the list is made in the first evaluation.
#[derive(Clone, Copy, Debug, Default)]
pub struct List {
    without_registers: bool,
}

/// The lists of a plan.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    by_outputs: Mutex<Vec<Arc<Listing>>>,
}

/// The list for some outputs.
#[derive(Debug)]
pub(crate) struct Listing {
    outputs: Box<[usize]>,
    pub(crate) blocks: Blocks,
    /// The list over registers, if all its steps compute numbers.
    flat: Option<Flat>,
}

/// At most so many lists are kept with a plan.
const KEPT: usize = 16;

impl Lists {
    /// The list for the outputs at these positions. The lock is held while one is made, so that two
    /// calls do not make the same one.
    pub(crate) fn listing(&self, plan: &Plan, outputs: &[usize]) -> Arc<Listing> {
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
    /// The evaluator.
    pub const fn new() -> Self {
        Self { without_registers: false }
    }

    /// Runs in the store also what could run over registers. Answers do not depend on it.
    pub fn without_registers(mut self) -> Self {
        self.without_registers = true;
        self
    }
}

/// Whether nothing of a request varies along an axis.
fn is_single(bound: &Bound) -> bool {
    bound.times.is_none() && bound.count.is_none()
}

impl Evaluator for List {
    fn name(&self) -> &'static str {
        "list"
    }

    fn evaluate(&self, plan: &Plan, request: &Request) -> Result<Answer, EvalError> {
        self.evaluate_in_company(plan, request, |_| None)
    }
}

impl List {
    /// Evaluates; with company, long runs become jobs.
    pub(crate) fn evaluate_in_company<'c>(
        self,
        plan: &Plan,
        request: &Request,
        company: impl FnOnce(&Bound) -> Option<Company<'c>>,
    ) -> Result<Answer, EvalError> {
        // For outputs without cells hardly anything runs, which is a matter of demand.
        let bound = request.bind(plan).map_err(EvalError::Request)?;
        let has_no_cells = bound.times == Some(0) || bound.count == Some(0);
        if has_no_cells || Lazy::is_alone_with(plan) {
            return Lazy.evaluate(plan, request);
        }
        let listing = Kept::of(plan).lists.listing(plan, &bound.outputs);
        // Times are told by step.
        let over_registers =
            is_single(&bound) && request.log != LogDetail::Times && !self.without_registers;
        match listing.flat.as_ref().filter(|_| over_registers) {
            Some(flat) => flat.evaluate(plan, &listing.blocks, request, &bound),
            None => evaluate_listed(plan, request, &bound, &listing.blocks, company(&bound)),
        }
    }
}
