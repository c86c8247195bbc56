//! Outputs of which some cells fail: the values of the others.
//!
//! An evaluator gives an output a value only if none of its cells fails. If the request asks for
//! the other cells ([`Request::with_partial`]), the plain walk finds them, whichever the evaluator
//! is. So they are the same for all evaluators, and nothing changes where no cell fails.

use millstream_base::{Column, Mask};
use millstream_ir::answer::{
    Answer, EvalError, Evaluator, NodeFailure, OutputAnswer, Partial, Series,
};
use millstream_ir::plan::Plan;
use millstream_ir::request::{LogDetail, Request, RequestAxis};
use millstream_ir::states::is_state;
use millstream_node::Data;

use crate::walk::{self, Sought, evaluate_partial};

/// The first character of the names of results that parts of a request hold, which no name in a
/// document has.
pub(crate) const HELD: char = '/';

/// Evaluates a request; an output of which some cells fail has the others, if the request asks for
/// them.
///
/// # Errors
/// As [`Evaluator::evaluate`].
#[inline]
pub fn evaluate(
    evaluator: &mut dyn Evaluator,
    plan: &Plan,
    request: &Request,
) -> Result<Answer, EvalError> {
    let mut answer = evaluator.evaluate(plan, request)?;
    if request.wants_partial() && answer.outputs.iter().any(lacks_cells) {
        complete(plan, request, &mut answer)?;
    }
    Ok(answer)
}

/// Whether cells of an output may be found that do not fail.
fn lacks_cells(output: &OutputAnswer) -> bool {
    output.value.is_none() && !is_state(&output.name) && !output.name.starts_with(HELD)
}

/// Adds the cells that do not fail of the outputs that have no value. State inside scopes is known
/// only once all cells were evaluated, so outputs of plans that have it stay without a value.
fn complete(plan: &Plan, request: &Request, answer: &mut Answer) -> Result<(), EvalError> {
    if answer.n_cells() < 2 || walk::is_required(plan) {
        return Ok(());
    }
    let mut bound = request.bind(plan).map_err(EvalError::Request)?;
    let n_asked = bound.outputs.len();
    let failed = (0..n_asked).filter(|at| answer.outputs.get(*at).is_some_and(lacks_cells));
    let failed: Vec<usize> = failed.collect();
    bound.outputs = failed.iter().map(|at| bound.outputs[*at]).collect();
    bound.optional.clear();
    let found = evaluate_partial(plan, (request, &bound), Sought::All, None)?;
    for (output, partial) in failed.into_iter().zip(found.outputs) {
        let output = &mut answer.outputs[output];
        match partial {
            // It failed only together with cells that other outputs need.
            Some(Partial { series, missing, .. }) if missing.is_empty() => {
                output.value = Some(series);
            }
            partial => output.partial = partial.map(Box::new),
        }
    }
    if request.log != LogDetail::Off {
        answer.log.add(found.log);
    }
    add_failures(&mut answer.failures, found.failures);
    Ok(())
}

/// Adds failures of further cells: each node once, with the lowest cell.
fn add_failures(known: &mut Vec<NodeFailure>, more: Vec<NodeFailure>) {
    for failure in more {
        match known.iter_mut().find(|known| known.path == failure.path) {
            Some(known) if failure.cell < known.cell => *known = failure,
            Some(_) => {}
            None => known.push(failure),
        }
    }
    known.sort_by(|a, b| a.path.cmp(&b.path));
}

/// The cells that did not fail of the output at a position of several answers, one for each moment;
/// `None` if there are none.
pub(crate) fn joined(answers: &[Answer], at: usize) -> Option<Partial> {
    let first = answers.first()?;
    let ty = first.outputs[at].ty;
    let outputs = || answers.iter().map(|answer| &answer.outputs[at]);
    outputs().find_map(OutputAnswer::known)?;
    let varies = |axis: &RequestAxis| {
        outputs().filter_map(OutputAnswer::known).any(|series| series.axes.contains(axis))
    };
    let inner: Vec<RequestAxis> = RequestAxis::ALL.into_iter().filter(varies).collect();
    let n_inner = first.cells_of(&inner);
    let (mut columns, mut missing) = (Vec::with_capacity(answers.len()), Mask::empty());
    let mut n_untried = 0;
    for (time, output) in outputs().enumerate() {
        let (column, lacks) = match (&output.value, &output.partial) {
            (Some(series), _) => (first.column_over(series, &inner), Mask::empty()),
            (None, Some(partial)) => {
                n_untried += partial.n_untried;
                let lacks = first.missing_over(partial, &inner);
                (first.column_over(&partial.series, &inner), lacks)
            }
            (None, None) => (Column::filled(&Partial::filler(ty), n_inner), Mask::full(n_inner)),
        };
        columns.push(column);
        missing = missing.union(&lacks.shift((time * n_inner) as isize));
    }
    let data = Data::Many(Column::concat(ty, &columns)?);
    let axes = [&[RequestAxis::Time], &inner[..]].concat();
    Some(Partial { series: Series { data, axes }, missing, n_untried })
}
