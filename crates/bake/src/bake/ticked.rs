//! Frames of documents with state: one after another, from the start frame on.
//!
//! The state after a tick is stored as often as storing costs only a small part of the time. A bake
//! starts at the last stored state before the first missing frame, and skips ticks before later
//! ones where it can.

use std::time::{Duration, Instant};

use millstream_ir::answer::{Answer, EvalError, Evaluator};
use millstream_ir::request::Request;
use millstream_ir::states::States;
use millstream_run::{Parts, Varying};

use super::{Asked, BakeError, Computed, Each, IsWanted, LookUp};
use crate::stored;

/// Storing state takes at most this fraction of the time of ticks.
const SHARE: u32 = 4;

struct Ticks<'t, 'r, 'p> {
    look_up: &'t mut LookUp<'r, 'p>,
    states: States,
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
    let mut ticks = Ticks { look_up, states: States::new(), next: 0, since, storing };
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
                let answer = ticks.tick(&mut parts, evaluator, true)?;
                let mut blank = ticks.look_up.blank();
                blank.failures = answer.failures;
                let mut values = Vec::new();
                for (output, found) in answer.outputs.into_iter().enumerate() {
                    if let Some(series) = &found.value {
                        ticks.look_up.store(output, position, series);
                    }
                    values.push((output, found.value));
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
            let key = self.look_up.keys.state_key(before);
            if !self.look_up.cache.contains(key) {
                continue;
            }
            let bytes = self.look_up.cache.get(key);
            if let Some(states) = bytes.and_then(|bytes| stored::state_of(&bytes)) {
                (self.states, self.next) = (states, before + 1);
                break;
            }
        }
        while self.next < tick {
            self.look_up.bake.request().budget.check().map_err(EvalError::from)?;
            self.tick(parts, evaluator, false)?;
        }
        Ok(())
    }

    /// Evaluates the next tick.
    fn tick(
        &mut self,
        parts: &mut Parts<'_>,
        evaluator: &mut dyn Evaluator,
        is_shown: bool,
    ) -> Result<Answer, EvalError> {
        let started = Instant::now();
        let plan = self.look_up.plan();
        let frame = self.look_up.keys.frame(self.next);
        let request = self.look_up.bake.request().clone().frame(frame);
        let request = if is_shown {
            let outputs = self.look_up.outputs().iter();
            let named = outputs.fold(request.all_outputs(), |request: Request, output| {
                request.output(output.name.to_string())
            });
            named.with_states(plan)
        } else if plan.state_writers.is_empty() {
            request.only_states(plan)
        } else {
            // Nodes inside scopes advance only where they are requested.
            request.with_states(plan)
        };
        let mut answer = parts.evaluate(evaluator, self.states.given_to(plan, request))?;
        let mut next = self.states.clone();
        if next.commit(&mut answer) {
            self.states = next;
        }
        self.since += started.elapsed();
        self.store();
        self.next += 1;
        Ok(answer)
    }

    /// Stores the state after this tick if enough time has passed since the last one.
    fn store(&mut self) {
        if self.since < self.storing * SHARE || self.look_up.cache.limit() == 0 {
            return;
        }
        let started = Instant::now();
        let key = self.look_up.keys.state_key(self.next);
        if !self.look_up.cache.contains(key)
            && let Some(bytes) = stored::state_bytes(&self.states)
        {
            self.look_up.cache.put(key, &bytes);
        }
        (self.since, self.storing) = (Duration::ZERO, started.elapsed());
    }
}
