//! Elements that fail, evaluated apart from the others.
//!
//! An evaluator that stores results gives an output no value if one element fails, and the walk that
//! finds the others stores nothing. So elements at which outputs fail, or failed in the last
//! evaluation, are left out of the request to the evaluator, and the walk evaluates only these.

use millstream_base::Mask;
use millstream_ir::answer::{Answer, EvalError, Evaluator, NodeFailure, OutputAnswer, RunLog};
use millstream_ir::plan::Plan;
use millstream_ir::request::{LogDetail, Request, RequestAxis, reads_along_index};
use millstream_ir::unsettled::merge_marks;
use millstream_node::Data;

use super::{block_by_block, complete, lacks_cells};
use crate::join::joined_output;
use crate::walk::add_failures;

/// Maximal number of evaluations, each without the elements at which those before it failed. More
/// elements than that are found by the walk, and left out of the next request.
const TRIES: usize = 8;

/// As [`super::evaluate`], for an evaluator that reuses results.
pub(super) fn evaluate(
    evaluator: &mut dyn Evaluator,
    plan: &Plan,
    request: &Request,
) -> Result<Answer, EvalError> {
    let known = evaluator.failing(plan).map(|failing| failing.clone());
    let failing = known.unwrap_or(Mask::empty());
    if failing.is_empty() {
        let answer = evaluator.evaluate(plan, request)?;
        if !answer.outputs.iter().any(lacks_cells) {
            return Ok(answer);
        }
        let failing = elements_of(&answer.failures);
        return of_good_first(evaluator, plan, request, (failing, Some(answer)));
    }
    of_good_first(evaluator, plan, request, (failing, None))
}

/// Evaluates outputs whose elements depend on each other, and the others with the failing elements
/// apart; `first` is an answer to the whole request, if there is one.
fn of_good_first(
    evaluator: &mut dyn Evaluator,
    plan: &Plan,
    request: &Request,
    (failing, first): (Mask, Option<Answer>),
) -> Result<Answer, EvalError> {
    let bound = request.bind(plan).map_err(EvalError::Request)?;
    let outputs = bound.outputs;
    let (along, each): (Vec<usize>, Vec<usize>) =
        outputs.iter().copied().partition(|output| reads_along_index(plan, &[*output]));
    let only = |outputs: &[usize]| {
        let names = outputs.iter().map(|output| plan.outputs[*output].name.to_string());
        request.clone().only_outputs(&names.collect::<Vec<String>>())
    };
    let is_mixed = !along.is_empty() && bound.optional.is_empty();
    if !is_mixed || Split::of(plan, &only(&each), &failing).is_none() {
        return with_failing_apart(evaluator, plan, request, (failing, first));
    }
    let mut answer = with_failing_apart(evaluator, plan, &only(&each), (failing, None))?;
    let along = only(&along);
    let mut others = evaluator.evaluate(plan, &along)?;
    complete(plan, &along, &mut others)?;
    let mut all = std::mem::take(&mut answer.outputs);
    all.append(&mut others.outputs);
    let place = |name: &str| outputs.iter().position(|it| *plan.outputs[*it].name == *name);
    all.sort_by_key(|output| place(&output.name));
    answer.outputs = all;
    add_failures(&mut answer.failures, others.failures);
    merge_marks(&mut answer.unsettled, others.unsettled);
    if request.log != LogDetail::Off {
        answer.log.add(others.log);
        if let Some(first) = first {
            answer.log.add(first.log);
        }
    }
    Ok(answer)
}

/// Evaluates the elements that are not expected to fail, then the others.
fn with_failing_apart(
    evaluator: &mut dyn Evaluator,
    plan: &Plan,
    request: &Request,
    (mut failing, first): (Mask, Option<Answer>),
) -> Result<Answer, EvalError> {
    let mut split = Split::of(plan, request, &failing);
    let good = |split: &Option<Split>| match split {
        Some(split) => request.clone().mask(split.good.clone()).on_whole_axis(),
        None => request.clone(),
    };
    let mut log = RunLog::default();
    let mut answer = match (first, &split) {
        (Some(first), None) => first,
        (first, _) => {
            if let Some(first) = first {
                log.add(first.log);
            }
            evaluator.evaluate(plan, &good(&split))?
        }
    };
    for _ in 1..TRIES {
        let more = elements_of(&answer.failures);
        if failing.covers(&more) || !answer.outputs.iter().any(lacks_cells) {
            break;
        }
        failing = failing.union(&more);
        let next = Split::of(plan, request, &failing);
        if next.is_none() {
            break;
        }
        split = next;
        log.add(std::mem::take(&mut answer.log));
        answer = evaluator.evaluate(plan, &good(&split))?;
    }
    complete(plan, &good(&split), &mut answer)?;
    if let Some(split) = split {
        let bad = request.clone().without_partial().mask(split.bad.clone());
        let n_cells = answer.n_cells() / split.good.len() * split.bad.len();
        let of_bad = block_by_block(plan, &bad, (Some(split.bad.len()), n_cells))?;
        answer = split.joined(answer, of_bad);
    }
    if request.log != LogDetail::Off {
        answer.log.add(log);
    }
    let missing = missing_elements(&answer, request.asked_elements());
    remember(evaluator, plan, missing);
    Ok(answer)
}

fn remember(evaluator: &mut dyn Evaluator, plan: &Plan, missing: Mask) {
    if let Some(failing) = evaluator.failing(plan) {
        *failing = missing;
    }
}

/// The requested elements in two sets.
struct Split {
    good: Mask,
    /// Those that are expected to fail.
    bad: Mask,
}

impl Split {
    /// Separates the elements that are expected to fail; `None` if there are none or too many, or if
    /// values of other elements depend on them.
    fn of(plan: &Plan, request: &Request, failing: &Mask) -> Option<Self> {
        if failing.is_empty() {
            return None;
        }
        let n = request.bind(plan).ok()?.count?;
        let asked = request.asked_elements().cloned().unwrap_or_else(|| Mask::full(n));
        let bad = asked.intersect(failing);
        let good = asked.difference(&bad);
        if bad.is_empty() || bad.len() > good.len() {
            return None;
        }
        let bound = request.clone().mask(good.clone()).on_whole_axis().bind(plan).ok()?;
        let wanted = [&bound.outputs[..], &bound.optional].concat();
        (!reads_along_index(plan, &wanted)).then_some(Self { good, bad })
    }

    /// The answer for the elements of both sets.
    fn joined(&self, good: Answer, bad: Answer) -> Answer {
        let n = self.good.len() + self.bad.len();
        let (mut next_good, mut next_bad) = (0..self.good.len(), self.good.len()..n);
        let place = |element: usize| {
            let next = if self.bad.contains(element) { &mut next_bad } else { &mut next_good };
            next.next().expect("the element is in one of the sets")
        };
        let places: Vec<usize> = self.good.union(&self.bad).iter().map(place).collect();
        let mut answers = [good, bad];
        let n_outputs = answers[0].outputs.len();
        let outputs = (0..n_outputs).map(|at| {
            let mut output = joined_output(&answers, at, RequestAxis::Index, true);
            in_order(&mut output, &places);
            output
        });
        let outputs = outputs.collect();
        let [good, bad] = &mut answers;
        add_failures(&mut good.failures, std::mem::take(&mut bad.failures));
        merge_marks(&mut good.unsettled, std::mem::take(&mut bad.unsettled));
        good.log.add(std::mem::take(&mut bad.log));
        let [good, _] = answers;
        Answer { outputs, count: Some(n), ..good }
    }
}

/// Reorders an output along the index axis, its innermost: element `i` is at `places[i]`.
fn in_order(output: &mut OutputAnswer, places: &[usize]) {
    let (series, missing) = match (&mut output.value, &mut output.partial) {
        (Some(series), _) => (series, None),
        (None, Some(partial)) => (&mut partial.series, Some(&mut partial.missing)),
        (None, None) => return,
    };
    let (Data::Many(column), Some(RequestAxis::Index)) = (&mut series.data, series.axes.last())
    else {
        return;
    };
    let (n_cells, n) = (column.len(), places.len());
    let place = |cell: usize| cell / n * n + places[cell % n];
    *column = column.gather((0..n_cells).map(place));
    if let Some(missing) = missing.filter(|missing| !missing.is_empty()) {
        let is_missing = |cell| missing.contains(place(cell));
        *missing = Mask::from_predicate(&Mask::full(n_cells), is_missing);
    }
}

/// The elements that failures name.
fn elements_of(failures: &[NodeFailure]) -> Mask {
    let index = RequestAxis::Index.name();
    let cells = failures.iter().flat_map(|failure| &failure.cell);
    let elements = cells.filter(|(axis, _)| *axis == index).map(|(_, at)| *at);
    ascending(elements.collect())
}

/// The elements at which outputs have no value, although they have one at others; `asked` are those
/// of the answer, if these are not all.
fn missing_elements(answer: &Answer, asked: Option<&Mask>) -> Mask {
    let mut positions = Vec::new();
    for partial in answer.outputs.iter().filter_map(|output| output.partial.as_ref()) {
        if let Some(RequestAxis::Index) = partial.series.axes.last() {
            let n = answer.extent(RequestAxis::Index);
            positions.extend(partial.missing.iter().map(|cell| cell % n));
        }
    }
    let number = |position: usize| match asked {
        Some(asked) => asked.nth(position).unwrap_or(position),
        None => position,
    };
    ascending(positions.into_iter().map(number).collect())
}

fn ascending(elements: Vec<usize>) -> Mask {
    let elements = elements.into_iter().filter_map(|element| u32::try_from(element).ok());
    let mut elements: Vec<u32> = elements.collect();
    elements.sort_unstable();
    elements.dedup();
    Mask::from_indices(elements).unwrap_or(Mask::empty())
}
