//! Outputs of which some cells fail: the values of the others.
//!
//! An evaluator gives an output a value only if none of its cells fails. If the request asks for
//! the other cells ([`Request::with_partial`]), a walk that leaves out cells that fail finds them,
//! whichever the evaluator is. So they are the same for all evaluators, and nothing changes where no
//! cell fails. The walk holds the results of all steps; many elements are evaluated block by block.
//! The next state of the elements that do not fail is always found, because these advance.

mod apart;

use millstream_base::Mask;
use millstream_ir::answer::{Answer, EvalError, Evaluator, OutputAnswer, RunLog};
use millstream_ir::is_held;
use millstream_ir::plan::Plan;
use millstream_ir::request::{Bound, LogDetail, Request, RequestAxis};
use millstream_ir::states::is_state;
use millstream_ir::unsettled::merge_marks;

use crate::join::joined_output;
use crate::marks::keep_known;
use crate::parts::{Parts, Varying};
use crate::walk::{self, GoodCells, add_failures};

/// Number of cells of a block.
const BLOCK: usize = 1 << 16;

/// Evaluates a request; an output of which some cells fail has the others, if the request asks for
/// them or it is the next state of a node.
///
/// # Errors
/// As [`Evaluator::evaluate`].
#[inline]
pub fn evaluate(
    evaluator: &mut dyn Evaluator,
    plan: &Plan,
    request: &Request,
) -> Result<Answer, EvalError> {
    if request.wants_partial() && evaluator.caches_results() {
        return apart::evaluate(evaluator, plan, request);
    }
    let mut answer = evaluator.evaluate(plan, request)?;
    complete(plan, request, &mut answer)?;
    Ok(answer)
}

impl Parts<'_> {
    /// Evaluates one part, a request to the plan, with an evaluator of the kind given to
    /// [`new`](Self::new). Marks of results that are the same in all parts are among those of each
    /// part from the first that computed them.
    ///
    /// # Errors
    /// As [`Evaluator::evaluate`].
    pub fn evaluate(
        &mut self,
        evaluator: &mut dyn Evaluator,
        request: Request,
    ) -> Result<Answer, EvalError> {
        let mut answer = self.evaluate_with_all_marks(evaluator, request)?;
        keep_known(self.plan(), &mut answer);
        Ok(answer)
    }

    /// The same, also with the marks that concern no value of this part.
    pub(crate) fn evaluate_with_all_marks(
        &mut self,
        evaluator: &mut dyn Evaluator,
        request: Request,
    ) -> Result<Answer, EvalError> {
        self.evaluate_by(request, &mut |plan, request| evaluate(evaluator, plan, request))
    }
}

/// Whether cells of an output may be found that do not fail.
fn lacks_cells(output: &OutputAnswer) -> bool {
    output.value.is_none() && !is_held(&output.name)
}

/// Adds the cells that do not fail of the outputs that have no value, if they are wanted. State
/// inside scopes is known only once all cells were evaluated, so outputs that depend on it stay
/// without a value.
fn complete(plan: &Plan, request: &Request, answer: &mut Answer) -> Result<(), EvalError> {
    let is_wanted = |output: &OutputAnswer| request.wants_partial() || is_state(&output.name);
    let lacks_cells = |output: &OutputAnswer| is_wanted(output) && lacks_cells(output);
    if !answer.outputs.iter().any(lacks_cells) {
        return Ok(());
    }
    if answer.n_cells() < 2 {
        return Ok(());
    }
    let n_asked = request.bind(plan).map_err(EvalError::Request)?.outputs.len();
    let may_be_found =
        |output: &OutputAnswer| lacks_cells(output) && !reads_state_in_scopes(plan, &output.name);
    let failed = (0..n_asked).filter(|at| answer.outputs.get(*at).is_some_and(may_be_found));
    let failed: Vec<usize> = failed.collect();
    if failed.is_empty() {
        return Ok(());
    }
    let names = failed.iter().map(|at| answer.outputs[*at].name.to_string());
    let names: Vec<String> = names.collect();
    let request = request.clone().without_partial().only_outputs(&names);
    let found = block_by_block(plan, &request, (answer.count, answer.n_cells()))?;
    for (at, found) in failed.into_iter().zip(found.outputs) {
        answer.outputs[at] = found;
    }
    if request.log != LogDetail::Off {
        answer.log.add(found.log);
    }
    add_failures(&mut answer.failures, found.failures);
    merge_marks(&mut answer.unsettled, found.unsettled);
    Ok(())
}

/// Whether an output depends on the state of a node inside scopes.
fn reads_state_in_scopes(plan: &Plan, output: &str) -> bool {
    let Some(at) = plan.output_named(output).filter(|_| walk::is_required(plan)) else {
        return false;
    };
    let above = plan.steps_upstream_of(std::iter::once(plan.outputs[at].source.step));
    plan.state_writers.iter().any(|writer| above[writer.reader])
}

/// The answer to a request, of which some cells fail, given the number of its elements and cells.
fn block_by_block(
    plan: &Plan,
    request: &Request,
    (count, n_cells): (Option<usize>, usize),
) -> Result<Answer, EvalError> {
    let mut walk = GoodCells::default();
    let Some(n) = count else { return walk.evaluate(plan, request) };
    let elements = request.asked_elements().cloned().unwrap_or_else(|| Mask::full(n));
    let n_outer = n_cells / n.max(1);
    let mut n_next = (BLOCK / n_outer.max(1)).clamp(1, n);
    let block = |range| request.clone().mask(elements.slice(range));
    // Blocks without an axis of their own would evaluate all elements for what reads along the axis,
    // and state is not requested for some elements.
    let has_blocks = |bound: Bound| bound.kept_of().is_some();
    // A step with too many cells fails, although it would have fewer in each block.
    let may_be_too_many = n_cells > request.limits.cells();
    if n < 2 || may_be_too_many || !block(0..1).bind(plan).is_ok_and(has_blocks) {
        return walk.evaluate(plan, request);
    }
    let mut parts = if n_next < n {
        Parts::new(&walk, plan, &block(0..n_next), Varying::Elements)
    } else {
        Parts::apart(plan)
    };
    let (mut answers, mut at) = (Vec::new(), 0);
    while at < n {
        let next = at..n.min(at + n_next);
        let answer = if next == (0..n) {
            walk.evaluate(plan, request)?
        } else {
            let block = block(next.clone());
            parts.evaluate_by(block, &mut |plan, request| walk.evaluate(plan, request))?
        };
        if walk.ran_out && next.len() > 1 {
            n_next = next.len().div_ceil(4);
            continue;
        }
        at = next.end;
        answers.push(answer);
    }
    Ok(joined_blocks(answers, n))
}

/// The answer for `n` elements, given those for blocks of them.
fn joined_blocks(mut answers: Vec<Answer>, n: usize) -> Answer {
    if answers.len() == 1 {
        return answers.remove(0);
    }
    let n_outputs = answers[0].outputs.len();
    let outputs = (0..n_outputs).map(|at| joined_output(&answers, at, RequestAxis::Index, true));
    let outputs = outputs.collect();
    let (mut failures, mut unsettled, mut log) = (Vec::new(), Vec::new(), RunLog::default());
    for answer in &mut answers {
        add_failures(&mut failures, std::mem::take(&mut answer.failures));
        merge_marks(&mut unsettled, std::mem::take(&mut answer.unsettled));
        log.add(std::mem::take(&mut answer.log));
    }
    Answer { outputs, failures, unsettled, log, count: Some(n), ..answers.remove(0) }
}
