//! Ticks, one after the other: how a plan that keeps state is evaluated.
//!
//! A tick is an evaluation for one frame. It starts from what was committed; what its nodes keep is
//! committed when it is over, all or nothing. So every evaluator can do it. What is the same in all
//! ticks of a request is computed in one of them.

use millstream_base::Column;
use millstream_ir::answer::{Answer, EvalError, Evaluator, OutputAnswer, RunLog, Series};
use millstream_ir::keeping::Calls;
use millstream_ir::plan::Plan;
use millstream_ir::request::{Request, RequestAxis, RequestError};
use millstream_ir::states::States;
use millstream_kernel::Data;

use crate::parts::Parts;

/// Evaluates one tick on what was kept before it; also gives what is kept behind it, or nothing if
/// a node failed whose state that would be.
///
/// # Errors
/// As [`Evaluator::evaluate`].
pub fn tick(
    evaluator: &dyn Evaluator,
    plan: &Plan,
    request: Request,
    states: &States,
) -> Result<(Answer, Option<States>), EvalError> {
    tick_of(&mut Parts::apart(evaluator, plan), plan, request, states)
}

fn tick_of(
    parts: &mut Parts<'_>,
    plan: &Plan,
    request: Request,
    states: &States,
) -> Result<(Answer, Option<States>), EvalError> {
    let mut answer = parts.evaluate(states.given_to(plan, request.with_states(plan)))?;
    let mut next = states.clone();
    let is_whole = next.commit(&mut answer);
    Ok((answer, is_whole.then_some(next)))
}

/// Answers a request for frames of a plan that keeps state, from the plan's start frame on. A tick
/// whose state fails leaves what was kept before it.
///
/// # Errors
/// If the request asks for times that are no frames, or for frames before the start; and as
/// [`Evaluator::evaluate`].
pub fn evaluate(
    evaluator: &dyn Evaluator,
    plan: &Plan,
    request: &Request,
) -> Result<Answer, EvalError> {
    let (frames, is_axis) = frames_of(plan, request)?;
    let mut states = States::new();
    let mut answers: Vec<Option<Answer>> = frames.iter().map(|_| None).collect();
    let last = frames.iter().copied().max().unwrap_or(plan.start_frame - 1);
    let n_ticks = last.abs_diff(plan.start_frame) + 1;
    let mut parts = match n_ticks {
        1 => Parts::apart(evaluator, plan),
        _ => Parts::new(evaluator, plan, request, RequestAxis::Time),
    };
    for frame in plan.start_frame..=last {
        let n_done = frame.abs_diff(plan.start_frame);
        let mut request = request.clone();
        request.progress = request.progress.map(|progress| progress.of_tick(n_done, n_ticks));
        let places = (0..frames.len()).filter(|place| frames[*place] == frame);
        let mut places = places.peekable();
        if places.peek().is_none() {
            let warm_up = request.at_frame(frame, usize::MAX);
            // Nodes inside scopes keep on only where something asks for them.
            let warm_up = if plan.keepers.is_empty() { warm_up.only_states(plan) } else { warm_up };
            states = tick_of(&mut parts, plan, warm_up, &states)?.1.unwrap_or(states);
        }
        let before = states.clone();
        for place in places {
            let (answer, next) =
                tick_of(&mut parts, plan, request.at_frame(frame, place), &before)?;
            answers[place] = Some(answer);
            states = next.unwrap_or_else(|| before.clone());
        }
    }
    let answers: Vec<Answer> = answers.into_iter().flatten().collect();
    if is_axis { joined(plan, request, answers) } else { first(plan, request, answers) }
}

fn refused<T>(what: impl Into<String>, hint: &'static str) -> Result<T, EvalError> {
    Err(EvalError::Request(vec![RequestError::Ticks { what: what.into(), hint }]))
}

/// The frames asked for, and whether they open the time axis.
fn frames_of(plan: &Plan, request: &Request) -> Result<(Vec<i64>, bool), EvalError> {
    let asked = request.asked_frames();
    if request.has_own_times() {
        return refused("a time is asked for that is no frame", "ask for frames");
    }
    let (frames, is_axis) = asked.unwrap_or((vec![plan.start_frame], false));
    let start = plan.start_frame;
    if let Some(early) = frames.iter().find(|frame| **frame < start) {
        let what = format!("frame {early} is before frame {start}, where it starts");
        return refused(what, "ask for later frames, or change the document's `start_frame`");
    }
    let last = frames.iter().copied().max().unwrap_or(start);
    let n_ticks = last.abs_diff(start);
    if n_ticks > request.limits.repeat_count as u64 {
        let limit = request.limits.repeat_count;
        let what = format!("{n_ticks} ticks lie before frame {last}, the limit is {limit}");
        return refused(what, "raise `repeat_count` in the limits if this is meant");
    }
    let is_gapless = (0..).zip(&frames).all(|(i, frame)| start.checked_add(i) == Some(*frame));
    if request.varies_in_time() && !is_gapless {
        return refused(
            "values are given per frame, but not for all frames from its start on",
            "ask for all frames from the document's `start_frame` on",
        );
    }
    Ok((frames, is_axis))
}

/// The one answer.
fn first(plan: &Plan, request: &Request, answers: Vec<Answer>) -> Result<Answer, EvalError> {
    match answers.into_iter().next() {
        Some(answer) => Ok(answer),
        None => empty(plan, request),
    }
}

/// An answer without frames.
fn empty(plan: &Plan, request: &Request) -> Result<Answer, EvalError> {
    // The request has to fit all the same.
    let bound = request.at_frame(plan.start_frame, 0).bind(plan).map_err(EvalError::Request)?;
    let outputs = bound.outputs.iter().map(|output| &plan.outputs[*output]);
    let outputs = outputs.map(|output| {
        let (data, axes) = (Data::Many(Column::empty(output.ty)), vec![RequestAxis::Time]);
        let value = Some(Series { data, axes });
        OutputAnswer { name: std::sync::Arc::clone(&output.name), ty: output.ty, value }
    });
    let outputs = outputs.collect();
    Ok(Answer {
        outputs,
        failures: Vec::new(),
        log: RunLog::default(),
        calls: Calls::default(),
        times: Some(0),
        count: bound.count,
    })
}

/// The answers of several frames as one.
fn joined(plan: &Plan, request: &Request, answers: Vec<Answer>) -> Result<Answer, EvalError> {
    let (n_times, Some(first)) = (answers.len(), answers.first()) else {
        return empty(plan, request);
    };
    let count = first.count;
    let mut outputs = Vec::with_capacity(first.outputs.len());
    for (i, output) in first.outputs.iter().enumerate() {
        let all: Option<Vec<&Series>> =
            answers.iter().map(|answer| answer.outputs[i].value.as_ref()).collect();
        let value = all.map(|all| {
            let is_single = all.iter().all(|series| matches!(series.data, Data::One(_)));
            let n = if is_single { 1 } else { count.unwrap_or(1) };
            let columns = all.iter().map(|series| match &series.data {
                Data::One(value) => Column::filled(value, n),
                Data::Many(column) => column.clone(),
            });
            let columns: Vec<Column> = columns.collect();
            let column = Column::concat(output.ty, &columns);
            let data = Data::Many(column.expect("an output has one type at all times"));
            let mut axes = vec![RequestAxis::Time];
            axes.extend((!is_single).then_some(RequestAxis::Index));
            Series { data, axes }
        });
        outputs.push(OutputAnswer { value, ..output.clone() });
    }
    let mut log = RunLog::default();
    let mut failures = Vec::new();
    for answer in answers {
        add(&mut log, answer.log);
        failures.extend(answer.failures);
    }
    Ok(Answer { outputs, failures, log, calls: Calls::default(), times: Some(n_times), count })
}

/// Counts what ran in another evaluation too.
fn add(log: &mut RunLog, other: RunLog) {
    if log.entries.is_empty() {
        *log = other;
        return;
    }
    for (entry, other) in log.entries.iter_mut().zip(other.entries) {
        if entry.runs == 0 {
            entry.fate = other.fate;
        }
        entry.runs += other.runs;
        entry.elements += other.elements;
        entry.bytes += other.bytes;
        entry.time = entry.time.saturating_add(other.time);
    }
}
