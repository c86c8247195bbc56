//! Frames of documents with state: one after another, from the start frame on.
//!
//! The state after a tick is stored as often as storing costs only a small part of the time. A bake
//! starts at the last stored state before the first missing frame, and skips ticks before later
//! ones where it can. Where the state after a frame is stored too, by an earlier bake or by that of
//! another view, the outputs of the frame are computed from it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use millstream::twice::Unsettled;
use millstream_ir::answer::{Answer, EvalError, Evaluator};
use millstream_ir::plan::{Plan, StepId, StepSource};
use millstream_ir::request::Request;
use millstream_ir::states::{States, is_state};
use millstream_run::{Parts, Varying};

use super::{Asked, BakeError, Computed, Each, IsWanted, LookUp};
use crate::keys::MARK;
use crate::stored;
use crate::unsettled::{self, Mark};

/// Ticks between two stored states take at least this many times as long as storing one, times the
/// gain of the bake.
const SHARE: u32 = 2;

struct Ticks<'t, 'r, 'p> {
    look_up: &'t mut LookUp<'r, 'p>,
    states: States,
    /// The repeats that the state depends on and that did not settle.
    unsettled: Vec<Unsettled>,
    /// The position of the next tick, counted from the start frame.
    next: usize,
    /// The time of ticks since state was last stored, and the time that storing took.
    since: Duration,
    storing: Duration,
}

/// Answers the wanted frames.
pub(crate) fn run<E>(
    look_up: &mut LookUp<'_, '_>,
    evaluator: &mut dyn Evaluator,
    is_wanted: IsWanted<'_>,
    each: Each<'_, E>,
) -> Result<(), BakeError<E>> {
    let request = look_up.bake.request().clone().frame(look_up.plan().start_frame);
    let mut parts = Parts::new(evaluator, look_up.plan(), &request, Varying::Ticks);
    let n = look_up.bake.frames().len();
    let (since, storing) = (Duration::ZERO, Duration::ZERO);
    let (states, unsettled) = (States::new(), Vec::new());
    // Only earlier bakes can have stored the state after a frame whose outputs are missing.
    let after = if look_up.cache.is_empty() { None } else { After::new(look_up.plan()) };
    let mut after = after
        .as_ref()
        .map(|after| (after, Parts::new(evaluator, &after.plan, &request, Varying::Ticks)));
    let mut ticks = Ticks { look_up, states, unsettled, next: 0, since, storing };
    for position in 0..n {
        ticks.look_up.bake.request().budget.check().map_err(EvalError::from)?;
        let key = ticks.look_up.frame_key(position);
        if !is_wanted(position, key) {
            continue;
        }
        let missing = ticks.look_up.missing(position);
        if missing.is_empty() && ticks.look_up.asked == Asked::Rest {
            continue;
        }
        let reused = if missing.is_empty() { ticks.look_up.reused(position) } else { None };
        let part = match reused {
            Some(part) => part,
            None => {
                let started = Instant::now();
                let tick = ticks.look_up.keyed(position);
                ticks.play_to(tick, &mut parts, evaluator)?;
                let known = match &mut after {
                    Some((after, parts)) => ticks.show_stored(after, parts, evaluator)?,
                    None => None,
                };
                let (answer, marks) = match known {
                    Some(known) => known,
                    None => ticks.tick(&mut parts, evaluator, true)?,
                };
                let mut blank = ticks.look_up.blank();
                blank.failures = answer.failures;
                // If they were stored, the frame would not fail again.
                let is_stored = blank.failures.is_empty();
                let mut values = Vec::new();
                for (output, found) in answer.outputs.into_iter().enumerate() {
                    let taken = |series| {
                        if is_stored {
                            ticks.look_up.store(output, position, series, &marks)
                        } else {
                            ticks.look_up.marked(output, position, series, &marks)
                        }
                    };
                    values.push((output, found.value.map(taken)));
                }
                let took = started.elapsed();
                let part = ticks
                    .look_up
                    .part(position, Computed { values, answer: blank, took, is_new: true });
                part.expect("all outputs were computed")
            }
        };
        each(part).map_err(BakeError::Caller)?;
    }
    Ok(())
}

impl Ticks<'_, '_, '_> {
    /// Brings the state to that before a tick: from the latest stored state, if it is later than
    /// the current one, and tick by tick from there.
    fn play_to(
        &mut self,
        tick: usize,
        parts: &mut Parts<'_>,
        evaluator: &mut dyn Evaluator,
    ) -> Result<(), EvalError> {
        for before in (self.next..tick).rev() {
            if let Some(state) = self.stored_state(before) {
                ((self.states, self.unsettled), self.next) = (state, before + 1);
                break;
            }
        }
        while self.next < tick {
            self.look_up.bake.request().budget.check().map_err(EvalError::from)?;
            self.tick(parts, evaluator, false)?;
        }
        Ok(())
    }

    /// The stored state after a tick.
    fn stored_state(&mut self, tick: usize) -> Option<(States, Vec<Unsettled>)> {
        let key = self.look_up.keys.state_key(tick);
        if !self.look_up.cache.contains(key) {
            return None;
        }
        let bytes = self.look_up.cache.get(key)?;
        stored::state_of(&bytes)
    }

    /// The request for the outputs of the next tick.
    fn shown(&self) -> Request {
        let frame = self.look_up.keys.frame(self.next);
        let request = self.look_up.bake.request().clone().frame(frame).all_outputs();
        let outputs = self.look_up.outputs().iter();
        outputs.fold(request, |request, output| request.output(output.name.to_string()))
    }

    /// Evaluates the outputs of the next tick from the stored state after it, with the marks that
    /// [`tick`](Self::tick) returns; `None` if it is not stored.
    fn show_stored(
        &mut self,
        after: &After,
        parts: &mut Parts<'_>,
        evaluator: &mut dyn Evaluator,
    ) -> Result<Option<(Answer, Vec<Mark>)>, EvalError> {
        let Some((states, unsettled)) = self.stored_state(self.next) else { return Ok(None) };
        let request = self.states.given_to(self.look_up.plan(), self.shown());
        let Some(request) = after.given_to(&states, request) else { return Ok(None) };
        let answer = parts.evaluate(evaluator, request)?;
        let mut marks = self.marks();
        let of_state = |unsettled: &Unsettled| Mark {
            unsettled: unsettled.clone(),
            steps: after.steps.clone(),
        };
        marks.extend(unsettled.iter().map(of_state));
        (self.states, self.unsettled) = (states, unsettled);
        self.next += 1;
        Ok(Some((answer, marks)))
    }

    /// The marks of the evaluation that just ended, and those of the state before it.
    fn marks(&mut self) -> Vec<Mark> {
        let mut marks = self.look_up.marks.take();
        marks.extend(self.look_up.marks.fixed());
        let of_state = |unsettled: &Unsettled| Mark { unsettled: unsettled.clone(), steps: vec![] };
        marks.extend(self.unsettled.iter().map(of_state));
        marks
    }

    /// Evaluates the next tick; returns also the repeats that its results may depend on and that did
    /// not settle.
    fn tick(
        &mut self,
        parts: &mut Parts<'_>,
        evaluator: &mut dyn Evaluator,
        is_shown: bool,
    ) -> Result<(Answer, Vec<Mark>), EvalError> {
        let started = Instant::now();
        let plan = self.look_up.plan();
        // Nodes inside scopes advance only where they are requested.
        let request = if is_shown || !plan.state_writers.is_empty() {
            self.shown().with_states(plan)
        } else {
            self.shown().only_states(plan)
        };
        let mut answer = parts.evaluate(evaluator, self.states.given_to(plan, request))?;
        let marks = self.marks();
        self.since += started.elapsed();
        let mut next = self.states.clone();
        // If a node failed, the state is as before, and no other bake may take it for the next one.
        if next.commit(&mut answer) {
            self.states = next;
            self.unsettled = unsettled::of_state(plan, &marks);
            self.store();
        }
        self.next += 1;
        Ok((answer, marks))
    }

    /// Stores the state after this tick if enough time has passed since the last one.
    fn store(&mut self) {
        if self.since < self.storing * SHARE * self.look_up.bake.gain
            || self.look_up.cache.limit() == 0
        {
            return;
        }
        let started = Instant::now();
        let key = self.look_up.keys.state_key(self.next);
        if !self.look_up.cache.contains(key)
            && let Some(bytes) = stored::state_bytes(&self.states, &self.unsettled)
        {
            self.look_up.cache.put(key, &bytes);
        }
        (self.since, self.storing) = (Duration::ZERO, started.elapsed());
    }
}

/// The outputs of a plan, computed from the state after the tick.
struct After {
    /// The plan in which that state is given.
    plan: Plan,
    /// The states by name, each with the input that gives it.
    names: Vec<(Arc<str>, Arc<str>)>,
    /// The steps that compute the state.
    steps: Vec<StepId>,
}

impl After {
    /// The outputs of a plan; `None` if nodes in scopes have state.
    fn new(plan: &Plan) -> Option<Self> {
        if !plan.state_writers.is_empty() {
            return None;
        }
        let mut given: Vec<(StepSource, Arc<str>)> = Vec::new();
        let mut names = Vec::new();
        for output in plan.outputs.iter().filter(|output| is_state(&output.name)) {
            if given.iter().all(|(source, _)| *source != output.source) {
                // The dot marks it as state, which differs from tick to tick.
                let name: Arc<str> = format!("{MARK}.{}", given.len()).into();
                names.push((Arc::clone(&output.name), Arc::clone(&name)));
                given.push((output.source, name));
            }
        }
        let steps = given.iter().map(|(source, _)| source.step).collect();
        Some(Self { plan: plan.spliced(&given, &[]), names, steps })
    }

    /// The request with that state; `None` if a part of it is missing.
    fn given_to(&self, states: &States, mut request: Request) -> Option<Request> {
        for (state, input) in &self.names {
            let given = stored::given(states.value(state)?.clone());
            request = request.given(input.to_string(), given);
        }
        Some(request)
    }
}
