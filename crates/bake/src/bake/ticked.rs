//! Frames of documents with state: one after another, from the start frame on.
//!
//! Only the state on which missing outputs depend is played. The state of each node after a tick is
//! stored as often as storing costs only a small part of the time. A bake starts at the last stored
//! state before the first missing frame, and skips ticks before later ones where it can. Where the
//! state after a frame is stored too, by an earlier bake or by that of another view, the outputs of
//! the frame are computed from it. Therefore the other results of the steps that compute the state,
//! such as the sum before the tick, are stored with it. Results between state and outputs are stored
//! where computing them takes long, see [`Between`]. Where they are stored already, the outputs of the
//! frame are computed from them.
//!
//! An element for which the next state of a node fails keeps its state of that node. State is stored
//! with such failures, so that each bake tells them again. Outputs that depend on them are not stored.

use std::sync::Arc;
use std::time::{Duration, Instant};

use millstream_ir::NodeFailure;
use millstream_ir::answer::{Answer, EvalError, Evaluator};
use millstream_ir::plan::{StepId, StepOp, StepSource};
use millstream_ir::request::Request;
use millstream_ir::state_failures::withhold;
use millstream_ir::states::{StateParts, States};
use millstream_ir::unsettled::{Mark, NextState, Unsettled, Via, of_results};
use millstream_run::{Parts, Varying};

use super::between::{After, Beside, Between};
use super::failed::Failed;
use super::{Asked, BakeError, Computed, Each, IsWanted, LookUp, marks_of};
use crate::cuts::Way;
use crate::keys::MARK;
use crate::stored::{self, Named, Noted, Stored};

/// Ticks between two stored states take at least this many times as long as storing one, times the
/// gain of the bake.
const SHARE: u32 = 2;

struct Ticks<'t, 'r, 'p> {
    look_up: &'t mut LookUp<'r, 'p>,
    states: States,
    /// Whether the state of each node is played.
    kept: Vec<bool>,
    /// The results that are stored with the state of nodes.
    beside: Vec<Beside>,
    between: Between,
    /// The results between state and outputs that are read.
    given: Vec<usize>,
    /// For each node the repeats that its state depends on and that did not settle.
    unsettled: Vec<Vec<Unsettled>>,
    /// The failures of the next state of nodes.
    failed: Failed,
    /// The position of the next tick, counted from the start frame.
    next: usize,
    /// The time of ticks since state was last stored, and the time that storing took.
    since: Duration,
    storing: Duration,
    /// Whether an earlier bake may have stored the state after a frame whose outputs are missing.
    has_earlier: bool,
}

/// The outputs that are shown in a tick, and the results between that are read and computed for them.
struct Shown<'s> {
    tick: usize,
    outputs: &'s [usize],
    way: &'s Way,
}

/// Answers the wanted frames.
pub(crate) fn run<E>(
    look_up: &mut LookUp<'_, '_>,
    evaluator: &mut dyn Evaluator,
    is_wanted: IsWanted<'_>,
    each: Each<'_, E>,
) -> Result<(), BakeError<E>> {
    let n_nodes = look_up.keys.reads.nodes.len();
    let has_earlier = !look_up.cache.is_empty();
    let n = look_up.bake.frames().len();
    let between = Between::new(look_up);
    let mut ticks = Ticks {
        look_up,
        states: States::new(),
        kept: vec![false; n_nodes],
        beside: Vec::new(),
        between,
        given: Vec::new(),
        unsettled: vec![Vec::new(); n_nodes],
        failed: Failed::new(n_nodes),
        next: 0,
        since: Duration::ZERO,
        storing: Duration::ZERO,
        has_earlier,
    };
    let mut position = 0;
    while position < n {
        position = ticks.run_from(position, evaluator, is_wanted, each)?;
    }
    Ok(())
}

impl Ticks<'_, '_, '_> {
    /// Answers the wanted frames from a position on, up to one that depends on more state. Returns the
    /// position of that frame.
    fn run_from<E>(
        &mut self,
        first: usize,
        evaluator: &mut dyn Evaluator,
        is_wanted: IsWanted<'_>,
        each: Each<'_, E>,
    ) -> Result<usize, BakeError<E>> {
        let plan = self.look_up.plan();
        let request = self.look_up.bake.request().clone().frame(plan.start_frame);
        self.beside = self.beside();
        let mut published = self.between.published();
        published.extend(self.beside.iter().map(|it| (it.source, Arc::clone(&it.name))));
        let published = plan.spliced(&[], &published);
        let mut parts = Parts::new(evaluator, &published, &request, Varying::Ticks);
        let (kept, n) = (self.kept.clone(), self.look_up.bake.frames().len());
        let mut position = first;
        while position < n && self.kept == kept {
            position = self.run_given(position, (&mut parts, evaluator), is_wanted, each)?;
        }
        Ok(position)
    }

    /// The same up to a frame that depends on more state, or for which other results are given.
    fn run_given<E>(
        &mut self,
        first: usize,
        (parts, evaluator): (&mut Parts<'_>, &mut dyn Evaluator),
        is_wanted: IsWanted<'_>,
        each: Each<'_, E>,
    ) -> Result<usize, BakeError<E>> {
        let plan = self.look_up.plan();
        let request = self.look_up.bake.request().clone().frame(plan.start_frame);
        let after = if self.has_earlier || !self.given.is_empty() {
            let state = (&self.look_up.keys.reads, &self.beside[..]);
            After::new(plan, state, &self.kept, (&self.between, &self.given))
        } else {
            None
        };
        let mut after = after
            .as_ref()
            .map(|after| (after, Parts::new(evaluator, &after.plan, &request, Varying::Ticks)));
        let n = self.look_up.bake.frames().len();
        for position in first..n {
            self.look_up.bake.request().budget.check().map_err(EvalError::from)?;
            let key = self.look_up.frame_key(position);
            if !is_wanted(position, key) {
                continue;
            }
            let mut missing = self.look_up.missing(position);
            if missing.is_empty() {
                if self.look_up.asked == Asked::Rest {
                    continue;
                }
                if let Some(part) = self.look_up.reused(position) {
                    each(part).map_err(BakeError::Caller)?;
                    continue;
                }
            }
            let is_inside = self.look_up.keys.reads.is_inside(&self.kept);
            let others = Some(&missing).filter(|missing| !missing.is_empty() && !is_inside);
            let others = others.and_then(|missing| self.look_up.besides(position, missing));
            if others.is_none() {
                missing = (0..self.look_up.outputs().len()).collect();
            }
            let tick = self.look_up.keyed(position);
            let way = self.between.way(self.look_up, tick, &missing);
            // Results that are the same in all frames need not be given unless an earlier bake
            // stored them: this bake has just computed them.
            let is_given = self.has_earlier || self.between.any_varies(&way.given);
            let given = if is_given { &way.given[..] } else { &[] };
            if self.given != given {
                self.given = given.to_vec();
                return Ok(position);
            }
            let results = self.between.read(self.look_up, tick, &self.given);
            let reads_state = results.is_none() || self.given.is_empty() || {
                let states = after.as_ref().map_or(&[][..], |(it, _)| &it.state_sources);
                let asked = (&missing[..], &way.computed[..]);
                self.between.reads_state(self.look_up, asked, (&self.given, states))
            };
            if reads_state && self.keep(&missing) {
                return Ok(position);
            }
            let started = Instant::now();
            let asked = Shown { tick, outputs: &missing, way: &way };
            let (answer, marks) = match (&mut after, results) {
                (Some((after, parts)), Some(results)) if !reads_state => {
                    let request = self.request_at(tick, &asked);
                    let request = after.given_to(None, &results, request);
                    let request = request.expect("no state is given");
                    self.show((after, parts, evaluator), &asked, (request, &results, Vec::new()))?
                }
                (after, results) => {
                    self.play_to(tick, parts, evaluator)?;
                    let after = after.as_mut().map(|(after, parts)| (*after, parts)).zip(results);
                    self.shown(after, (parts, evaluator), &asked)?
                }
            };
            let mut computed = self.taken(position, &missing, answer, &marks);
            computed.values.extend(others.unwrap_or_default());
            computed.took = started.elapsed();
            let part = self.look_up.part(position, computed);
            each(part.expect("all outputs were computed or read")).map_err(BakeError::Caller)?;
        }
        Ok(n)
    }

    /// The results beside the next state of nodes that are played, in an order that does not depend
    /// on names; none if a node is inside scopes.
    fn beside(&mut self) -> Vec<Beside> {
        let mut all = Vec::new();
        if self.look_up.keys.reads.is_inside(&self.kept) {
            return all;
        }
        let plan = self.look_up.plan();
        for node in self.nodes() {
            let reads = &self.look_up.keys.reads;
            let next = reads.values_of(&reads.nodes[node]).map(|(_, source)| source);
            let next: Vec<StepSource> = next.collect();
            let path = Arc::clone(&reads.nodes[node].path);
            let mut keyed = Vec::new();
            for (i, source) in next.iter().enumerate() {
                let StepOp::Call(call) = plan.steps[source.step].op else { continue };
                if next[..i].iter().any(|other| other.step == source.step) {
                    continue;
                }
                for output in 0..plan.instances[call].outputs.len() as u32 {
                    let source = StepSource { step: source.step, output };
                    if !next.contains(&source) {
                        keyed.push((self.look_up.keys.structure(source), source));
                    }
                }
            }
            keyed.sort_unstable_by_key(|(structure, _)| *structure);
            for (i, (_, source)) in keyed.into_iter().enumerate() {
                let name = format!("{path}.{MARK}{i}").into();
                all.push(Beside { node, source, name });
            }
        }
        all
    }

    /// Also plays the state that these outputs depend on. Returns whether it is more than before; then
    /// the ticks start over.
    fn keep(&mut self, outputs: &[usize]) -> bool {
        let mut is_more = false;
        for output in outputs {
            let step = self.look_up.outputs()[*output].source.step;
            let depends = self.look_up.keys.depends(step);
            for (kept, depends) in self.kept.iter_mut().zip(&depends[..]) {
                is_more |= *depends && !std::mem::replace(kept, *kept || *depends);
            }
        }
        if is_more {
            self.states = States::new();
            self.unsettled.fill(Vec::new());
            self.failed = Failed::new(self.kept.len());
            self.next = 0;
        }
        is_more
    }

    /// Stores the outputs of a frame, and takes them out of the answer. Outputs that depend on a
    /// failure are not stored, because then it would not be found again.
    fn taken(
        &mut self,
        position: usize,
        outputs: &[usize],
        mut answer: Answer,
        marks: &[Mark],
    ) -> Computed {
        let mut blank = self.look_up.blank();
        let sources = outputs.iter().map(|output| self.look_up.outputs()[*output].source);
        let steps: Vec<StepId> = sources.map(|source| source.step).collect();
        let reads = &self.look_up.keys.reads;
        reads.keep_failures(&mut answer, &steps, &reads.read_by(steps.iter().copied()));
        blank.failures = answer.failures;
        let mut values = Vec::new();
        for (output, found) in outputs.iter().zip(answer.outputs) {
            let step = self.look_up.outputs()[*output].source.step;
            let depends = self.look_up.keys.depends(step);
            let has_failed = self.failed.concerns(&depends);
            self.failed.tell(&self.look_up.keys.read_by(step), &mut blank.failures);
            let taken = |series| {
                if has_failed {
                    self.look_up.marked(*output, position, series, marks)
                } else {
                    self.look_up.store(*output, position, series, marks)
                }
            };
            values.push((*output, found.value.map(taken)));
            blank.outputs[*output].partial = found.partial;
        }
        Computed { values, answer: blank, took: Duration::ZERO, is_new: true }
    }

    /// Brings the state to that before a tick: from the latest stored state, if it is later than
    /// the current one, and tick by tick from there.
    fn play_to(
        &mut self,
        tick: usize,
        parts: &mut Parts<'_>,
        evaluator: &mut dyn Evaluator,
    ) -> Result<(), EvalError> {
        if !self.kept.contains(&true) {
            self.next = tick;
        }
        for before in (self.next..tick).rev() {
            if let Some(state) = self.stored_state(before) {
                self.go_to(before + 1, state);
                break;
            }
        }
        while self.next < tick {
            self.look_up.bake.request().budget.check().map_err(EvalError::from)?;
            self.tick(parts, evaluator, None)?;
        }
        Ok(())
    }

    /// The nodes whose state is played.
    fn nodes(&self) -> Vec<usize> {
        (0..self.kept.len()).filter(|node| self.kept[*node]).collect()
    }

    /// Sets the next tick, the state before it, and the facts that are stored with this state.
    fn go_to(&mut self, tick: usize, (states, noted): (States, Vec<Noted>)) {
        self.states = states;
        self.next = tick;
        self.failed = Failed::new(noted.len());
        for (node, noted) in noted.into_iter().enumerate() {
            self.unsettled[node] = noted.unsettled;
            self.failed.add(node, noted.failures);
        }
    }

    /// The stored state after a tick.
    fn stored_state(&mut self, tick: usize) -> Option<(States, Vec<Noted>)> {
        let mut keys = Vec::new();
        for node in self.nodes() {
            let key = self.look_up.keys.state_key(node, tick)?;
            if !self.look_up.cache.contains(key) {
                return None;
            }
            keys.push((node, key));
        }
        let mut states = StateParts::default();
        let mut noted = vec![Noted::default(); self.kept.len()];
        for (node, key) in keys {
            let bytes = self.look_up.cache.get(key)?;
            noted[node] = stored::read_state(&bytes, &self.named(node), &mut states)?;
        }
        Some((states.into(), noted))
    }

    /// The names of the state of a node.
    fn named(&mut self, node: usize) -> Named {
        let variables = self.look_up.keys.variables(node);
        let outputs = &self.look_up.plan().outputs;
        let names = variables.into_iter().map(|output| Arc::clone(&outputs[output].name));
        let keys = &self.look_up.keys;
        let (path, columns) = (Arc::clone(&keys.reads.nodes[node].path), keys.columns(node));
        let beside = self.beside.iter().filter(|it| it.node == node);
        let beside = beside.map(|it| Arc::clone(&it.name));
        Named { path, variables: names.collect(), beside: beside.collect(), columns }
    }

    fn names_of(&self, outputs: &[usize]) -> Vec<String> {
        outputs.iter().map(|output| self.look_up.outputs()[*output].name.to_string()).collect()
    }

    /// The request for outputs of the next tick, from the state before it.
    fn asking(&self, names: &[String]) -> Request {
        let frame = self.look_up.keys.frame(self.next);
        let request = self.look_up.bake.request().clone().frame(frame).only_outputs(names);
        let request = request.calling(&self.look_up.keys.reads.called(&self.kept));
        self.states.given_to(self.look_up.plan(), request)
    }

    /// The request for outputs of a tick that read no state.
    fn request_at(&self, tick: usize, asked: &Shown<'_>) -> Request {
        let frame = self.look_up.keys.frame(tick);
        let names = self.names_of(asked.outputs);
        self.look_up.bake.request().clone().frame(frame).only_outputs(&names)
    }

    /// Evaluates the next tick with outputs. If some results are stored, the outputs are computed from
    /// them and from the state after the tick, which is read or computed. Returns also the marks that
    /// [`tick`](Self::tick) returns.
    fn shown(
        &mut self,
        after: Option<((&After, &mut Parts<'_>), Vec<Stored>)>,
        (parts, evaluator): (&mut Parts<'_>, &mut dyn Evaluator),
        asked: &Shown<'_>,
    ) -> Result<(Answer, Vec<Mark>), EvalError> {
        let Some(((after, shown), results)) = after else {
            return self.tick(parts, evaluator, Some(asked));
        };
        let request = self.asking(&self.names_of(asked.outputs));
        let before: Vec<Mark> = Mark::of_state(&self.unsettled).collect();
        // State that is held because the next one fails is not that after the tick.
        let is_after = |(_, noted): &(States, Vec<Noted>)| !noted.iter().any(|it| it.is_held);
        if let Some((states, noted)) = self.stored_state(asked.tick).filter(is_after) {
            let Some(request) = after.given_to(Some(&states), &results, request) else {
                return self.tick(parts, evaluator, Some(asked));
            };
            self.go_to(asked.tick + 1, (states, noted));
            return self.show((after, shown, evaluator), asked, (request, &results, before));
        }
        if !self.between.any_varies(&self.given) {
            return self.tick(parts, evaluator, Some(asked));
        }
        let (answer, marks) = self.tick(parts, evaluator, None)?;
        let given = after.given_to(Some(&self.states), &results, request.clone());
        // State that failed stays as it is, which is not that after the tick.
        match given.filter(|_| answer.failures.is_empty()) {
            Some(request) => {
                self.show((after, shown, evaluator), asked, (request, &results, marks))
            }
            None => {
                let mut answer = parts.evaluate(evaluator, request)?;
                let marks = marks_of(&mut answer, 0).into_iter().chain(marks).collect();
                Ok((answer, marks))
            }
        }
    }

    /// Evaluates outputs from given results. The marks are those from before, those of the evaluation,
    /// and those of the given results.
    fn show(
        &mut self,
        (after, parts, evaluator): (&After, &mut Parts<'_>, &mut dyn Evaluator),
        asked: &Shown<'_>,
        (request, results, before): (Request, &[Stored], Vec<Mark>),
    ) -> Result<(Answer, Vec<Mark>), EvalError> {
        let request = self.between.asked(asked.way, request);
        let mut answer = parts.evaluate(evaluator, request)?;
        let mut marks = marks_of(&mut answer, after.n_given());
        marks.extend(before);
        marks.extend(self.between.marks(&self.given, results));
        if self.next > asked.tick {
            for (node, of_node) in self.unsettled.iter().enumerate() {
                for step in self.look_up.keys.reads.steps_of(node) {
                    let mark = |it: &Unsettled| Mark {
                        unsettled: it.clone(),
                        via: Via::Step(step),
                        moment: None,
                    };
                    marks.extend(of_node.iter().map(mark));
                }
            }
        }
        self.take_between(asked, after.n_given(), &mut answer, &marks);
        Ok((answer, marks))
    }

    /// Takes the results between out of an answer, and stores them.
    fn take_between(
        &mut self,
        asked: &Shown<'_>,
        n_given: usize,
        answer: &mut Answer,
        marks: &[Mark],
    ) {
        let failed = &self.failed;
        let has_failed = |depends: &[bool]| failed.concerns(depends);
        let of = (asked.tick, asked.way, n_given);
        self.between.taken(self.look_up, of, answer, (marks, &has_failed));
    }

    /// Evaluates the next tick, with these outputs if they are shown. Returns also the repeats that
    /// its results may depend on and that did not settle.
    fn tick(
        &mut self,
        parts: &mut Parts<'_>,
        evaluator: &mut dyn Evaluator,
        shown: Option<&Shown<'_>>,
    ) -> Result<(Answer, Vec<Mark>), EvalError> {
        let started = Instant::now();
        let plan = self.look_up.plan();
        // Nodes inside scopes advance only where they are requested.
        let is_inside = self.look_up.keys.reads.is_inside(&self.kept);
        let all: Vec<usize> = (0..self.look_up.outputs().len()).filter(|_| is_inside).collect();
        let mut names = self.names_of(shown.map_or(&all, |shown| shown.outputs));
        names.extend(self.look_up.keys.reads.outputs_of(&self.kept));
        names.extend(self.beside.iter().map(|it| it.name.to_string()));
        let mut request = self.asking(&names);
        if let Some(shown) = shown {
            request = self.between.asked(shown.way, request);
        }
        let mut answer = parts.evaluate(evaluator, request)?;
        withhold(plan, &mut answer);
        let mut marks = marks_of(&mut answer, 0);
        marks.extend(Mark::of_state(&self.unsettled));
        self.since += started.elapsed();
        let frame = self.look_up.keys.frame(self.next);
        let failed = self.look_up.keys.reads.failed_in(&answer, &self.kept);
        let held: Vec<usize> = failed.iter().map(|(node, _)| *node).collect();
        let state_of = |node| {
            if held.contains(&node) {
                self.look_up.keys.reads.next_state_of(node, &answer)
            } else {
                NextState::Known
            }
        };
        let next_states: Vec<NextState> = (0..self.kept.len()).map(state_of).collect();
        self.states.commit(&mut answer);
        self.note_failures(failed, frame);
        if let Some(shown) = shown {
            self.take_between(shown, 0, &mut answer, &marks);
        }
        if !marks.is_empty() {
            for node in self.nodes() {
                let depends = self.look_up.keys.depends_of_node(node);
                let reads = &self.look_up.keys.reads;
                let steps: Vec<StepId> = reads.steps_of(node).collect();
                let arms = self.look_up.keys.arms(self.next);
                let arm = |step| arms.get(&step).copied();
                let next = of_results(plan, (&steps, &arm), (reads, &depends), &marks);
                self.unsettled[node] = next_states[node].marks(&self.unsettled[node], next);
            }
        }
        self.store(&held);
        self.next += 1;
        Ok((answer, marks))
    }

    /// Adds the failures of a tick.
    fn note_failures(&mut self, failed: Vec<(usize, Vec<NodeFailure>)>, frame: i64) {
        for (node, failures) in failed {
            let at = |failure| NodeFailure { replayed: Some(frame), ..failure };
            self.failed.add(node, failures.into_iter().map(at).collect());
        }
    }

    /// Stores the state after this tick if enough time has passed since the last one. `held` are the
    /// nodes whose next state failed.
    fn store(&mut self, held: &[usize]) {
        if self.since < self.storing * SHARE * self.look_up.bake.gain
            || self.look_up.cache.limit() == 0
        {
            return;
        }
        let started = Instant::now();
        let states = StateParts::from(&self.states);
        for node in self.nodes() {
            let Some(key) = self.look_up.keys.state_key(node, self.next) else { continue };
            if self.look_up.cache.contains(key) {
                continue;
            }
            let named = self.named(node);
            let (unsettled, failures) =
                (self.unsettled[node].clone(), self.failed.of(node).to_vec());
            let noted = Noted { unsettled, failures, is_held: held.contains(&node) };
            if let Some(bytes) = stored::state_bytes(&states, &named, &noted) {
                self.look_up.cache.put(key, &bytes);
            }
        }
        (self.since, self.storing) = (Duration::ZERO, started.elapsed());
    }
}
