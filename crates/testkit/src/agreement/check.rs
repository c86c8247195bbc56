//! Checks one case: whether an evaluator agrees with the model.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use millstream_base::Mask;
use millstream_base::id::Id;
use millstream_ir::answer::Answer;
use millstream_ir::{Evaluator, LogDetail, Plan, Request, RequestAxis, StepId, StepOp};
use millstream_node::Kernel;

use super::compare::difference;
use crate::generate::{Case, REGISTRY};
use crate::naive::{Expected, Failed, Model, Program, Refusal, World};
use crate::plans::compiled_plan;

/// The result of a case without disagreement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The evaluator agrees.
    Agrees,
    /// The model makes no statement.
    Skipped(Refusal),
}

/// Checks one case. On the graph itself: the values, the failed nodes, the numbers of elements, and
/// that a second evaluation gives the same answer. On the compiled plan: the values and the
/// numbers.
///
/// # Errors
/// The difference.
pub fn check(evaluator: &mut dyn Evaluator, case: &Case) -> Result<Verdict, String> {
    let request = case.request.request().with_log(LogDetail::Counts);
    let plain = &case.plain;
    let expected = match expect(plain, &request) {
        Ok(expected) => expected,
        Err(refusal) => return Ok(Verdict::Skipped(refusal)),
    };
    let answer = evaluate(evaluator, plain, &request)?;
    outputs(&expected, &answer, Strictness::Failures)?;
    failures(&expected, plain, &answer)?;
    elements(&expected, (plain, &request), &answer, evaluator)?;
    repeated(evaluator, plain, &request, &answer)?;
    some_elements(evaluator, (plain, &expected), &request, &answer)?;

    let compiled = compiled_plan(&case.graph, &REGISTRY)
        .map_err(|problems| format!("the graph does not compile: {problems:?}"))?;
    match expect(&compiled, &request) {
        Ok(of_compiled) => {
            passes_keep_values(&expected, &of_compiled)?;
            let answer = evaluate(evaluator, &compiled, &request)?;
            outputs(&expected, &answer, Strictness::Values)
                .and_then(|()| elements(&of_compiled, (&compiled, &request), &answer, evaluator))
                .and_then(|()| {
                    some_elements(evaluator, (&compiled, &of_compiled), &request, &answer)
                })
                .map_err(|problem| format!("on the compiled plan: {problem}"))?;
        }
        Err(refusal) => return Ok(Verdict::Skipped(refusal)),
    }
    Ok(Verdict::Agrees)
}

/// The statement of the model about a plan.
///
/// # Errors
/// Why there is none.
///
/// # Panics
/// If the request does not fit the plan.
pub fn expect(plan: &Plan, request: &Request) -> Result<Expected, Refusal> {
    let bound = request.bind(plan).expect("generated requests fit");
    let world = World::of(&bound, plan);
    Model::new(&Program::of_plan(plan), &world).evaluate()
}

/// The maximal number of elements of each step for an evaluator that may compute arms of choices
/// for elements that take another arm; unbounded if the model finds that too large.
fn most_with_all_arms(plan: &Plan, request: &Request) -> Vec<usize> {
    let bound = request.bind(plan).expect("generated requests fit");
    let (program, world) = (Program::of_plan(plan), World::of(&bound, plan));
    match Model::new(&program, &world).with_all_arms().evaluate() {
        Ok(expected) => expected.elements.iter().map(|elements| elements.most).collect(),
        Err(_) => vec![usize::MAX; plan.steps.len()],
    }
}

fn evaluate(
    evaluator: &mut dyn Evaluator,
    plan: &Plan,
    request: &Request,
) -> Result<Answer, String> {
    evaluator.evaluate(plan, request).map_err(|error| format!("no answer: {error}"))
}

/// How outputs are compared that fail in the model.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strictness {
    /// They must fail.
    Failures,
    /// They may have a value: passes drop nodes that turn out not to be needed.
    Values,
}

fn outputs(expected: &Expected, answer: &Answer, strictness: Strictness) -> Result<(), String> {
    for (expected, output) in expected.outputs.iter().zip(&answer.outputs) {
        let name = &output.name;
        match (expected, &output.value) {
            (Ok(column), Some(series)) => {
                if let Some(difference) = difference(column, &answer.full_column(series)) {
                    return Err(format!("output `{name}`: {difference}"));
                }
            }
            (Ok(column), None) if !column.is_empty() => {
                return Err(format!("output `{name}` has no value, expected {column:?}"));
            }
            (Err(failed), Some(series)) if strictness == Strictness::Failures => {
                let found = answer.full_column(series);
                return Err(format!("output `{name}` is {found:?}, but {failed:?} fail"));
            }
            (Err(_), Some(_) | None) | (Ok(_), None) => {}
        }
    }
    Ok(())
}

/// Compares the statements of the model before and after the passes.
fn passes_keep_values(before: &Expected, after: &Expected) -> Result<(), String> {
    for (k, (before, after)) in before.outputs.iter().zip(&after.outputs).enumerate() {
        match (before, after) {
            (Ok(before), Ok(after)) => {
                if let Some(difference) = difference(before, after) {
                    return Err(format!("the passes change output {k}: {difference}"));
                }
            }
            (Ok(before), Err(failed)) if !before.is_empty() => {
                return Err(format!("after the passes {failed:?} fail for output {k}"));
            }
            // Along an axis without cells nothing fails; passes may find that a node lacks the
            // axis.
            (Ok(_), Err(_)) | (Err(_), Ok(_) | Err(_)) => {}
        }
    }
    Ok(())
}

/// The nodes that fail whatever is evaluated first: those without a failing input.
fn certain(failed: &Failed, plan: &Plan) -> Failed {
    let mut tainted = vec![false; plan.steps.len()];
    let mut certain = Failed::new();
    for (id, step) in plan.steps.iter() {
        let above = plan.inputs_of(step).iter().any(|link| tainted[link.step.index()]);
        let fails = failed.contains(&id.index());
        if fails && !above {
            certain.insert(id.index());
        }
        tainted[id.index()] = above || fails;
    }
    certain
}

pub(super) fn failures(expected: &Expected, plan: &Plan, answer: &Answer) -> Result<(), String> {
    let paths = |nodes: &Failed| -> BTreeSet<String> {
        let path = |node: &usize| plan.paths.get(plan.steps[StepId::from_index(*node)].path);
        nodes.iter().map(|node| path(node).to_string()).collect()
    };
    let possible = paths(&expected.failed);
    let certain = paths(&certain(&expected.failed, plan));
    let found: BTreeSet<String> =
        answer.failures.iter().map(|failure| failure.path.to_string()).collect();
    if !found.is_subset(&possible) {
        let too_many: Vec<_> = answer
            .failures
            .iter()
            .filter(|failure| !possible.contains(failure.path.as_str()))
            .map(ToString::to_string)
            .collect();
        return Err(format!("these fail, but should not: {too_many:?}"));
    }
    if !certain.is_subset(&found) {
        let missing: Vec<_> = certain.difference(&found).collect();
        return Err(format!("these should fail, but do not: {missing:?}"));
    }
    Ok(())
}

/// Whether the elements of a step are counted alike by all evaluators, since it computes something
/// itself.
fn is_counted(plan: &Plan, step: StepId) -> bool {
    match plan.steps[step].op {
        StepOp::Const(_) | StepOp::Input(_) => false,
        StepOp::Call(instance) => match &plan.instances[instance].kernel {
            Kernel::Form(_) | Kernel::Function(_) => true,
            Kernel::Read { .. } | Kernel::Pass | Kernel::Choose | Kernel::ReadState(_) => false,
        },
    }
}

/// Whether an evaluator may compute arms of choices for elements that take another arm.
pub(super) fn selects(evaluator: &dyn Evaluator) -> bool {
    ["chunked", "auto"].contains(&evaluator.name())
}

/// The steps of forms that an arm of a choice depends on. They cannot fail, so computing them for
/// more elements than take the arm affects only the number of elements.
fn forms_in_arms(plan: &Plan) -> Vec<bool> {
    let mut behind = vec![false; plan.steps.len()];
    let mut forms = vec![false; plan.steps.len()];
    for (id, step) in plan.steps.iter().rev() {
        let StepOp::Call(instance) = step.op else { continue };
        let kernel = &plan.instances[instance].kernel;
        for (i, link) in plan.inputs_of(step).iter().enumerate() {
            let is_arm = matches!(kernel, Kernel::Choose) && i > 0;
            behind[link.step.index()] |= is_arm || behind[id.index()];
        }
        forms[id.index()] = behind[id.index()] && matches!(kernel, Kernel::Form(_));
    }
    forms
}

/// The number of calls of folded loops, for each step of their rounds: each call computes its
/// rounds, including steps that are the same for all elements.
fn calls_of_loops(
    plan: &Plan,
    answer: &Answer,
    evaluator: &mut dyn Evaluator,
) -> BTreeMap<StepId, usize> {
    let mut calls = BTreeMap::new();
    if !selects(evaluator) {
        return calls;
    }
    for folded in &plan.loops {
        let runs = answer.log.entry(folded.fold).map_or(0, |entry| entry.runs as usize);
        for step in folded.members.iter().chain(&folded.rounds) {
            *calls.entry(*step).or_default() += runs;
        }
    }
    calls
}

pub(super) fn elements(
    expected: &Expected,
    (plan, request): (&Plan, &Request),
    answer: &Answer,
    evaluator: &mut dyn Evaluator,
) -> Result<(), String> {
    // Steps that did not run because of a failure, or for an output without cells, are not counted.
    if !expected.failed.is_empty() || answer.n_cells() == 0 {
        return Ok(());
    }
    let (mut behind_arms, mut with_all_arms) = (Vec::new(), Vec::new());
    if selects(evaluator) {
        behind_arms = forms_in_arms(plan);
        with_all_arms = most_with_all_arms(plan, request);
    }
    let calls = calls_of_loops(plan, answer, evaluator);
    let mut text = String::new();
    for (id, step) in plan.steps.iter().filter(|(id, _)| is_counted(plan, *id)) {
        let bounds = expected.elements[id.index()];
        let entry = answer.log.entry(id).ok_or("the log has no entry for a step")?;
        let found = entry.elements as usize;
        let too_few = found < bounds.least && !expected.has_idle_loop;
        let may_be_more = behind_arms.get(id.index()) == Some(&true);
        let most = if may_be_more { with_all_arms[id.index()] } else { bounds.most };
        let most = most * calls.get(&id).copied().unwrap_or(1).max(1);
        let too_many = found > most;
        if too_few || too_many {
            let (path, least) = (plan.paths.get(step.path), bounds.least);
            // Writing to a string does not fail.
            let _ = write!(
                text,
                "\n  {path} ({id}): {found} in {} runs, expected {}",
                entry.runs,
                if least == most { format!("{least}") } else { format!("{least} to {most}") }
            );
        }
    }
    if text.is_empty() { Ok(()) } else { Err(format!("numbers of elements differ:{text}")) }
}

/// Asks for every third element: they are as among all, and no step computes more than for all.
fn some_elements(
    evaluator: &mut dyn Evaluator,
    (plan, expected): (&Plan, &Expected),
    request: &Request,
    all: &Answer,
) -> Result<(), String> {
    let Some(count) = all.count.filter(|_| !request.reads_state(plan)) else { return Ok(()) };
    let mask = Mask::from_predicate(&Mask::full(count), |i| i % 3 == 1);
    let answer = evaluate(evaluator, plan, &request.clone().mask(mask.clone()))?;
    for (all_of, some) in all.outputs.iter().zip(&answer.outputs) {
        let (name, Some(series)) = (&all_of.name, &all_of.value) else { continue };
        let Some(some) = &some.value else {
            return Err(format!("output `{name}` has no value for some of the elements"));
        };
        let n_outer = all.cells_of(&[RequestAxis::Time, RequestAxis::View]);
        let cells = (0..n_outer).flat_map(|at| mask.iter().map(move |i| at * count + i));
        let cells: Vec<usize> = cells.collect();
        let expected = all.full_column(series).gather(cells.into_iter());
        if let Some(difference) = difference(&expected, &answer.full_column(some)) {
            return Err(format!("output `{name}` for some of the elements: {difference}"));
        }
    }
    // A loop without rounds has the axes of its items only where these are asked for in part.
    if evaluator.caches_results() || !all.failures.is_empty() || expected.has_idle_loop {
        return Ok(());
    }
    // The evaluator may select among arms for some elements and go through them for all.
    let in_arms = if selects(evaluator) { forms_in_arms(plan) } else { Vec::new() };
    let is_fixed = |id: StepId| is_counted(plan, id) && in_arms.get(id.index()) != Some(&true);
    for (id, step) in plan.steps.iter().filter(|(id, _)| is_fixed(*id)) {
        let entries = (all.log.entry(id), answer.log.entry(id));
        let (Some(of_all), Some(of_some)) = entries else { continue };
        // Where all elements take one arm of a choice, a step may be computed once for all of them.
        let is_narrow = of_all.elements < count as u64;
        let n_cells = (mask.len() * all.cells_of(&[RequestAxis::Time, RequestAxis::View])) as u64;
        let most = if is_narrow { of_all.elements.max(1) * n_cells } else { of_all.elements };
        if of_some.elements > most {
            let path = plan.paths.get(step.path);
            let (more, less) = (of_some.elements, of_all.elements);
            return Err(format!("{path} ({id}) computes {more} for some elements, {less} for all"));
        }
    }
    Ok(())
}

fn repeated(
    evaluator: &mut dyn Evaluator,
    plan: &Plan,
    request: &Request,
    first: &Answer,
) -> Result<(), String> {
    let second = evaluate(evaluator, plan, request)?;
    for (a, b) in first.outputs.iter().zip(&second.outputs) {
        let differs = match (&a.value, &b.value) {
            (Some(x), Some(y)) => difference(&first.full_column(x), &second.full_column(y)),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => Some("only one evaluation has a value".into()),
        };
        if let Some(difference) = differs {
            return Err(format!("the second evaluation gives another `{}`: {difference}", a.name));
        }
    }
    if first.failures != second.failures {
        return Err("the second evaluation has other failures".into());
    }
    // It may try another evaluator each time.
    if evaluator.name() == "auto" {
        return Ok(());
    }
    let entries = first.log.entries.iter().zip(&second.log.entries);
    let differs = plan
        .steps
        .iter()
        .zip(entries)
        .find(|(_, (a, b))| (a.fate, a.runs, a.elements) != (b.fate, b.runs, b.elements));
    differs.map_or(Ok(()), |((id, step), (a, b))| {
        let path = plan.paths.get(step.path);
        Err(format!("the second evaluation runs {path} ({id}) otherwise: {a:?}, then {b:?}"))
    })
}
