//! Ticks, one after the other: the evaluation of a plan with state.
//!
//! A tick is an evaluation for one frame. It starts from the committed state; at its end the next
//! state of its nodes is committed. An element keeps its state of a node if the next one fails, and
//! all other state advances. So every evaluator can do it. Only the state on which the requested
//! outputs depend is evaluated. Results that are the same in all ticks of a request are computed in
//! one of them. Outputs that reduce over all moments of a request are evaluated without ticks; they
//! may not depend on state. The log of a request counts the runs of all ticks that were played for
//! it.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use millstream_base::path::NodePath;
use millstream_base::{Column, Limits};
use millstream_ir::answer::{
    Answer, EvalError, Evaluator, NodeFailure, OutputAnswer, RunLog, Series,
};
use millstream_ir::element_states::Calls;
use millstream_ir::plan::{Plan, StepId};
use millstream_ir::request::{Request, RequestAxis, RequestError, product_in_words};
use millstream_ir::state_failures::withhold;
use millstream_ir::state_reads::StateReads;
use millstream_ir::states::States;
use millstream_ir::unsettled::{Mark, NextState, Unsettled, Via, of_results};
use millstream_ir::{Done, Watch};
use millstream_node::Data;

use crate::join::joined_output;
use crate::marks::keep_known;
use crate::partial;
use crate::parts::{Parts, Varying};

/// Evaluates one tick, with all state, from the previous state. The result holds the state after it.
///
/// # Errors
/// As [`Evaluator::evaluate`].
pub fn tick(
    evaluator: &mut dyn Evaluator,
    plan: &Plan,
    request: Request,
    states: &States,
) -> Result<(Answer, States), EvalError> {
    let request = request.with_states(plan);
    let mut answer = evaluated(&mut Parts::apart(plan), evaluator, plan, request, states)?;
    let mut next = states.clone();
    next.commit(&mut answer);
    Ok((answer, next))
}

/// The answer to a request for one tick, with all that it returns of the next state.
fn evaluated(
    parts: &mut Parts<'_>,
    evaluator: &mut dyn Evaluator,
    plan: &Plan,
    request: Request,
    states: &States,
) -> Result<Answer, EvalError> {
    let mut answer = parts.evaluate_with_all_marks(evaluator, states.given_to(plan, request))?;
    withhold(plan, &mut answer);
    Ok(answer)
}

/// Answers a request for frames of a plan with state, from the start frame of the plan on. State
/// whose next value fails stays as it is, see [`States::commit`]. Outputs that depend on no state
/// are evaluated without ticks, so they may be requested for any times.
///
/// # Errors
/// If the request is for times that are not frames, or for frames before the start, or if something
/// that depends on state reads along its moments; and as [`Evaluator::evaluate`].
pub fn evaluate(
    evaluator: &mut dyn Evaluator,
    plan: &Plan,
    request: &Request,
) -> Result<Answer, EvalError> {
    let on_frames = request.on_frames(plan.fps);
    let request = on_frames.as_ref().unwrap_or(request);
    if !request.reads_state(plan) {
        return at_once(evaluator, plan, &request.or_frame(plan.start_frame));
    }
    let opens_axis = request.asked_frames().is_some_and(|(_, is_axis)| is_axis);
    let split = if opens_axis { request.split_over_time(plan) } else { Ok(None) };
    match split.map_err(|error| EvalError::Request(vec![error]))? {
        Some(split) => {
            let ticked = in_ticks(evaluator, plan, &split.others)?;
            Ok(with_others(ticked, at_once(evaluator, plan, &split.along)?, &split.is_along))
        }
        None => in_ticks(evaluator, plan, request),
    }
}

/// The answer of ticks, with the outputs of another answer for the same moments, which read along
/// them. `is_other` tells for each output which answer has it.
fn with_others(mut answer: Answer, others: Answer, is_other: &[bool]) -> Answer {
    let (mut own, mut along) = (answer.outputs.into_iter(), others.outputs.into_iter());
    let next = |is_other: &bool| if *is_other { along.next() } else { own.next() };
    let mut outputs: Vec<OutputAnswer> = is_other.iter().filter_map(next).collect();
    outputs.extend(own);
    answer.outputs = outputs;
    let known: BTreeSet<NodePath> = answer.failures.iter().map(|it| it.path.clone()).collect();
    let new = others.failures.into_iter().filter(|failure| !known.contains(&failure.path));
    answer.failures.extend(new);
    answer.failures.sort_by(|a, b| a.path.cmp(&b.path));
    answer.unsettled.extend(others.unsettled);
    answer.log.add(others.log);
    answer
}

/// As [`evaluate`], for frames of outputs none of which reads along the moments.
fn in_ticks(
    evaluator: &mut dyn Evaluator,
    plan: &Plan,
    request: &Request,
) -> Result<Answer, EvalError> {
    let (frames, is_axis) = frames_of(plan, request)?;
    let mut states = States::new();
    let mut answers: Vec<Option<Answer>> = frames.iter().map(|_| None).collect();
    let last = frames.iter().copied().max().unwrap_or(plan.start_frame - 1);
    let n_ticks = last.abs_diff(plan.start_frame) + 1;
    let (mut log, mut replayed) = (RunLog::default(), Vec::new());
    let (reads, depends) = request.state_reads(plan);
    let (kept, is_inside) = (reads.outputs_of(&depends), reads.is_inside(&depends));
    let steps = request.steps_in(plan);
    let mut marks = Marks { plan, reads: &reads, depends: &depends, of_state: Vec::new() };
    let told = reads.read_by(steps.iter().copied());
    let request = &request.clone().calling(&reads.called(&depends));
    // Short ticks neither check the budget nor report progress by themselves.
    let watch = Watch::new(&request.budget, request.progress.as_ref(), Done::totals(0, n_ticks));
    let mut parts = match n_ticks {
        1 => Parts::apart(plan),
        _ => Parts::new(evaluator, plan, request, Varying::Ticks),
    };
    for frame in plan.start_frame..=last {
        let n_done = frame.abs_diff(plan.start_frame);
        watch.check(Done::of_ticks(n_done))?;
        let mut request = request.clone();
        request.progress = request.progress.map(|progress| progress.of_tick(n_done, n_ticks));
        let places = (0..frames.len()).filter(|place| frames[*place] == frame);
        let mut places = places.peekable();
        let (mut of_tick, mut failed) = (Vec::new(), Vec::new());
        if places.peek().is_none() {
            let warm_up = request.at_frame(frame, usize::MAX).without_partial();
            // Nodes inside scopes advance only if they are demanded.
            let warm_up = if is_inside {
                warm_up.and_outputs(plan, &kept)
            } else {
                warm_up.only_outputs(&kept)
            };
            let mut answer = evaluated(&mut parts, evaluator, plan, warm_up, &states)?;
            // Other failures are those of outputs, whose values in this frame are not requested.
            let of_told = reads.failed_in(&answer, &told).into_iter();
            let failures = of_told.flat_map(|(_, failures)| failures);
            replayed.extend(failures.map(|it| NodeFailure { replayed: Some(frame), ..it }));
            failed = marks.failed_in(&answer);
            states.commit(&mut answer);
            of_tick = answer.unsettled;
            log.add(answer.log);
        }
        let before = states.clone();
        // Nothing reads the state after the last frame. Calls inside scopes show whether state is
        // reached with several contexts.
        let next = if frame == last && !is_inside { &[][..] } else { &kept };
        for place in places {
            let of_frame = request.at_frame(frame, place).and_outputs(plan, next);
            let mut answer = evaluated(&mut parts, evaluator, plan, of_frame, &before)?;
            failed = marks.failed_in(&answer);
            states = before.clone();
            states.commit(&mut answer);
            reads.keep_failures(&mut answer, &steps, &told);
            of_tick = std::mem::take(&mut answer.unsettled);
            answer.unsettled = marks.of_results(&steps, &of_tick, is_axis.then_some(place));
            keep_known(plan, &mut answer);
            if is_axis {
                check_cells(&answer, frames.len(), &request.limits)?;
            }
            log.add(std::mem::take(&mut answer.log));
            answers[place] = Some(answer);
        }
        marks.advance(of_tick, &failed);
    }
    let answers: Vec<Answer> = answers.into_iter().flatten().collect();
    let mut answer =
        if is_axis { joined(plan, request, answers)? } else { first(plan, request, answers)? };
    // The first failure of each node.
    replayed.sort_by(|a, b| (&a.path, a.replayed).cmp(&(&b.path, b.replayed)));
    replayed.dedup_by(|again, first| again.path == first.path);
    answer.failures.extend(replayed);
    answer.failures.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Answer { log, ..answer })
}

/// The marks of the state of nodes.
struct Marks<'m> {
    plan: &'m Plan,
    reads: &'m StateReads<'m>,
    /// The nodes on whose state the requested outputs depend.
    depends: &'m [bool],
    /// The repeats that did not settle and on which the state of each node depends; empty before the
    /// first.
    of_state: Vec<Vec<Unsettled>>,
}

impl Marks<'_> {
    /// The marks of the requested outputs in a tick, given those of its evaluation.
    fn of_results(&self, steps: &[StepId], of_tick: &[Mark], moment: Option<usize>) -> Vec<Mark> {
        let all: Vec<Mark> =
            of_tick.iter().cloned().chain(Mark::of_state(&self.of_state)).collect();
        if all.is_empty() {
            return all;
        }
        let mut marks = Vec::new();
        for step in steps {
            let depends = self.reads.of_steps([*step]);
            let of_step =
                of_results(self.plan, (&[*step], &|_| None), (self.reads, &depends), &all);
            let mark = |unsettled| Mark { unsettled, via: Via::Step(*step), moment };
            marks.extend(of_step.into_iter().map(mark));
        }
        marks
    }

    /// The nodes whose next state failed in a tick, and how far.
    fn failed_in(&self, answer: &Answer) -> Vec<(usize, NextState)> {
        if answer.failures.is_empty() && answer.calls.failed.is_empty() {
            return Vec::new();
        }
        let failed = self.reads.failed_in(answer, self.depends).into_iter();
        failed.map(|(node, _)| (node, self.reads.next_state_of(node, answer))).collect()
    }

    /// Passes to the state after a tick, given the marks of its evaluation and the nodes whose next
    /// state failed in it.
    fn advance(&mut self, of_tick: Vec<Mark>, failed: &[(usize, NextState)]) {
        if of_tick.is_empty() && self.of_state.is_empty() {
            return;
        }
        let all: Vec<Mark> = of_tick.into_iter().chain(Mark::of_state(&self.of_state)).collect();
        let next = |node: usize| {
            if !self.depends[node] {
                return Vec::new();
            }
            let steps: Vec<StepId> = self.reads.steps_of(node).collect();
            let depends = self.reads.of_node(node);
            let next = of_results(self.plan, (&steps, &|_| None), (self.reads, &depends), &all);
            let old = self.of_state.get(node).map_or(&[][..], Vec::as_slice);
            let failed = failed.iter().find(|(of, _)| *of == node);
            failed.map_or(NextState::Known, |(_, state)| *state).marks(old, next)
        };
        self.of_state = (0..self.depends.len()).map(next).collect();
    }
}

/// Answers a request for any moments of a plan, none of which reads state.
///
/// # Errors
/// As [`Evaluator::evaluate`].
#[inline]
pub fn at_once(
    evaluator: &mut dyn Evaluator,
    plan: &Plan,
    request: &Request,
) -> Result<Answer, EvalError> {
    let mut answer = partial::evaluate(evaluator, plan, request)?;
    keep_known(plan, &mut answer);
    Ok(answer)
}

/// Whether a frame can be reached by ticks from the frame `start` on.
///
/// # Errors
/// If it is before, or the limits do not allow that many ticks.
pub fn reach(start: i64, frame: i64, limits: &Limits) -> Result<(), RequestError> {
    if frame < start {
        return Err(RequestError::Ticks {
            what: format!("frame {frame} is before frame {start}, where it starts"),
            hint: "ask for later frames, or change the document's `start_frame`",
        });
    }
    let (n_ticks, limit) = (frame.abs_diff(start), limits.repeat_count);
    if n_ticks > limit as u64 {
        return Err(RequestError::Ticks {
            what: format!("{n_ticks} ticks lie before frame {frame}, the limit is {limit}"),
            hint: "raise `repeat_count` in the limits",
        });
    }
    Ok(())
}

fn refused<T>(what: impl Into<String>, hint: &'static str) -> Result<T, EvalError> {
    Err(EvalError::Request(vec![RequestError::Ticks { what: what.into(), hint }]))
}

/// The requested frames, and whether they open the time axis.
fn frames_of(plan: &Plan, request: &Request) -> Result<(Vec<i64>, bool), EvalError> {
    let asked = request.asked_frames();
    if request.has_own_times() {
        return refused("the requested time is not a frame", "ask for frames");
    }
    let (frames, is_axis) = asked.unwrap_or((vec![plan.start_frame], false));
    let start = plan.start_frame;
    let early = frames.iter().copied().find(|frame| *frame < start);
    let last = frames.iter().copied().max();
    for frame in early.into_iter().chain(last) {
        let reached = reach(start, frame, &request.limits);
        reached.map_err(|error| EvalError::Request(vec![error]))?;
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

/// The only answer.
fn first(plan: &Plan, request: &Request, answers: Vec<Answer>) -> Result<Answer, EvalError> {
    match answers.into_iter().next() {
        Some(answer) => Ok(answer),
        None => empty(plan, request),
    }
}

/// An answer without frames.
fn empty(plan: &Plan, request: &Request) -> Result<Answer, EvalError> {
    // The request must fit nevertheless.
    let bound = request.at_frame(plan.start_frame, 0).bind(plan).map_err(EvalError::Request)?;
    let outputs = bound.outputs.iter().map(|output| &plan.outputs[*output]);
    let outputs = outputs.map(|output| {
        let (data, axes) = (Data::Many(Column::empty(output.ty)), vec![RequestAxis::Time]);
        let value = Some(Series { data, axes });
        OutputAnswer {
            name: std::sync::Arc::clone(&output.name),
            ty: output.ty,
            value,
            partial: None,
        }
    });
    let outputs = outputs.collect();
    Ok(Answer {
        outputs,
        failures: Vec::new(),
        unsettled: Vec::new(),
        log: RunLog::default(),
        calls: Calls::default(),
        times: Some(0),
        views: bound.views,
        count: bound.count,
    })
}

/// Refuses outputs that have too many cells in this many frames, given their values in one.
fn check_cells(answer: &Answer, n_frames: usize, limits: &Limits) -> Result<(), EvalError> {
    let limit = limits.cells();
    let too_large = answer.outputs.iter().filter_map(|output| {
        let axes = output.known()?.axes.iter().map(|axis| (*axis, answer.extent(*axis)));
        let frames = (RequestAxis::Time, n_frames);
        let (cells, product) = product_in_words(std::iter::once(frames).chain(axes));
        let output = output.name.to_string();
        (cells > limit).then_some(RequestError::TooLargeOutput { output, cells, product, limit })
    });
    let errors: Vec<RequestError> = too_large.collect();
    if errors.is_empty() { Ok(()) } else { Err(EvalError::Request(errors)) }
}

/// The answers of several frames as one.
fn joined(plan: &Plan, request: &Request, answers: Vec<Answer>) -> Result<Answer, EvalError> {
    let (n_times, Some(first)) = (answers.len(), answers.first()) else {
        return empty(plan, request);
    };
    let (views, count) = (first.views, first.count);
    let wants_partial = request.wants_partial();
    let of_all = |at| joined_output(&answers, at, RequestAxis::Time, wants_partial);
    let outputs = (0..first.outputs.len()).map(of_all).collect();
    let mut answers = answers;
    let marks = answers.iter_mut().flat_map(|answer| std::mem::take(&mut answer.unsettled));
    let unsettled = marks.collect();
    let failures = joined_failures(answers);
    let (log, calls) = (RunLog::default(), Calls::default());
    Ok(Answer { outputs, failures, unsettled, log, calls, times: Some(n_times), views, count })
}

/// The failures of several frames: each node once, with its first failure; without the frame if it
/// failed equally in all of them.
fn joined_failures(answers: Vec<Answer>) -> Vec<NodeFailure> {
    let n_times = answers.len();
    let mut joined: BTreeMap<NodePath, (NodeFailure, usize, usize)> = BTreeMap::new();
    for (time, answer) in answers.into_iter().enumerate() {
        for failure in answer.failures {
            match joined.entry(failure.path.clone()) {
                Entry::Vacant(entry) => drop(entry.insert((failure, time, 1))),
                Entry::Occupied(mut entry) => {
                    let (known, _, n_alike) = entry.get_mut();
                    *n_alike += usize::from(*known == failure);
                }
            }
        }
    }
    let failures = joined.into_values().map(|(mut failure, time, n_alike)| {
        if n_alike < n_times {
            failure.cell.insert(0, (RequestAxis::Time.name(), time));
        }
        failure
    });
    failures.collect()
}
