//! Frames of documents with state: one after another, from the start frame on.
//!
//! Only the state on which missing outputs depend is played. The state of each node after a tick is
//! stored as often as storing costs only a small part of the time. A bake starts at the last stored
//! state before the first missing frame, and skips ticks before later ones where it can. Where the
//! state after a frame is stored too, by an earlier bake or by that of another view, the outputs of
//! the frame are computed from it. Therefore the other results of the steps that compute the state,
//! such as the sum before the tick, are stored with it.
//!
//! A node whose next state fails keeps its state. What depends on it from then on is not stored, so
//! that each bake finds and tells the failure again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use millstream::twice::Unsettled;
use millstream_ir::NodeFailure;
use millstream_ir::answer::{Answer, EvalError, Evaluator};
use millstream_ir::plan::{Plan, StepId, StepOp, StepSource};
use millstream_ir::request::Request;
use millstream_ir::state_failures::withhold;
use millstream_ir::state_reads::StateReads;
use millstream_ir::states::{StateParts, States};
use millstream_run::{Parts, Varying};

use super::failed::Failed;
use super::{Asked, BakeError, Computed, Each, IsWanted, LookUp};
use crate::contexts::contexts;
use crate::keys::MARK;
use crate::stored::{self, Named};
use crate::unsettled::{self, Mark, Via};

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
    let mut ticks = Ticks {
        look_up,
        states: States::new(),
        kept: vec![false; n_nodes],
        beside: Vec::new(),
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
        let published = self.beside.iter().map(|it| (it.source, Arc::clone(&it.name)));
        let published = plan.spliced(&[], &published.collect::<Vec<_>>());
        let mut parts = Parts::new(evaluator, &published, &request, Varying::Ticks);
        let after = if self.has_earlier {
            After::new(plan, (&self.look_up.keys.reads, &self.beside), &self.kept)
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
            if self.keep(&missing) {
                return Ok(position);
            }
            let started = Instant::now();
            let tick = self.look_up.keyed(position);
            self.play_to(tick, &mut parts, evaluator)?;
            let known = match &mut after {
                Some((after, parts)) => self.show_stored(after, parts, (evaluator, &missing))?,
                None => None,
            };
            let (answer, marks) = match known {
                Some(known) => known,
                None => self.tick(&mut parts, evaluator, Some(&missing))?,
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
                (self.states, self.unsettled) = state;
                self.next = before + 1;
                self.failed = Failed::new(self.kept.len());
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

    /// The stored state after a tick.
    fn stored_state(&mut self, tick: usize) -> Option<(States, Vec<Vec<Unsettled>>)> {
        let mut keys = Vec::new();
        for node in self.nodes() {
            let key = self.look_up.keys.state_key(node, tick)?;
            if !self.look_up.cache.contains(key) {
                return None;
            }
            keys.push((node, key));
        }
        let mut states = StateParts::default();
        let mut unsettled = vec![Vec::new(); self.kept.len()];
        for (node, key) in keys {
            let bytes = self.look_up.cache.get(key)?;
            unsettled[node] = stored::read_state(&bytes, &self.named(node), &mut states)?;
        }
        Some((states.into(), unsettled))
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

    /// Evaluates outputs of the next tick from the stored state after it, with the marks that
    /// [`tick`](Self::tick) returns; `None` if it is not stored.
    fn show_stored(
        &mut self,
        after: &After,
        parts: &mut Parts<'_>,
        (evaluator, outputs): (&mut dyn Evaluator, &[usize]),
    ) -> Result<Option<(Answer, Vec<Mark>)>, EvalError> {
        let Some((states, unsettled)) = self.stored_state(self.next) else { return Ok(None) };
        let request = self.asking(&self.names_of(outputs));
        let Some(request) = after.given_to(&states, request) else { return Ok(None) };
        let answer = parts.evaluate(evaluator, request)?;
        let mut marks = self.marks();
        for (node, of_node) in unsettled.iter().enumerate() {
            let steps: Vec<StepId> = self.look_up.keys.reads.steps_of(node).collect();
            marks.extend(of_node.iter().map(|unsettled| Mark {
                unsettled: unsettled.clone(),
                via: Via::Steps(steps.clone()),
            }));
        }
        (self.states, self.unsettled) = (states, unsettled);
        self.next += 1;
        Ok(Some((answer, marks)))
    }

    /// The marks of the evaluation that just ended, and those of the state before it.
    fn marks(&mut self) -> Vec<Mark> {
        let mut marks = self.look_up.marks.take();
        marks.extend(self.look_up.marks.fixed());
        for (node, unsettled) in self.unsettled.iter().enumerate() {
            marks.extend(
                unsettled.iter().map(|it| Mark { unsettled: it.clone(), via: Via::State(node) }),
            );
        }
        marks
    }

    /// Evaluates the next tick, with these outputs if they are shown. Returns also the repeats that
    /// its results may depend on and that did not settle.
    fn tick(
        &mut self,
        parts: &mut Parts<'_>,
        evaluator: &mut dyn Evaluator,
        shown: Option<&[usize]>,
    ) -> Result<(Answer, Vec<Mark>), EvalError> {
        let started = Instant::now();
        let plan = self.look_up.plan();
        // Nodes inside scopes advance only where they are requested.
        let is_inside = self.look_up.keys.reads.is_inside(&self.kept);
        let all: Vec<usize> = (0..self.look_up.outputs().len()).filter(|_| is_inside).collect();
        let mut names = self.names_of(shown.unwrap_or(&all));
        names.extend(self.look_up.keys.reads.outputs_of(&self.kept));
        names.extend(self.beside.iter().map(|it| it.name.to_string()));
        let mut answer = parts.evaluate(evaluator, self.asking(&names))?;
        withhold(plan, &mut answer);
        let marks = self.marks();
        self.since += started.elapsed();
        let frame = self.look_up.keys.frame(self.next);
        let failed = self.look_up.keys.reads.failed_in(&answer, &self.kept);
        self.states.commit(&mut answer);
        self.note_failures(failed, frame);
        if !marks.is_empty() {
            for node in self.nodes() {
                let depends = self.look_up.keys.depends_of_node(node);
                let reads = &self.look_up.keys.reads;
                let steps: Vec<StepId> = reads.steps_of(node).collect();
                let arms = self.look_up.keys.arms(self.next);
                let of_node =
                    unsettled::of_results(plan, (&steps, arms), (reads, &depends), &marks);
                self.unsettled[node] = of_node;
            }
        }
        self.store();
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

    /// Stores the state after this tick if enough time has passed since the last one.
    fn store(&mut self) {
        if self.since < self.storing * SHARE * self.look_up.bake.gain
            || self.look_up.cache.limit() == 0
        {
            return;
        }
        let started = Instant::now();
        let states = StateParts::from(&self.states);
        for node in self.nodes() {
            let Some(key) = self.look_up.keys.state_key(node, self.next) else { continue };
            let depends = self.look_up.keys.depends_of_node(node);
            let has_failed = self.failed.is_of(node) || self.failed.concerns(&depends);
            if has_failed || self.look_up.cache.contains(key) {
                continue;
            }
            let named = self.named(node);
            let unsettled = &self.unsettled[node];
            if let Some(bytes) = stored::state_bytes(&states, &named, unsettled) {
                self.look_up.cache.put(key, &bytes);
            }
        }
        (self.since, self.storing) = (Duration::ZERO, started.elapsed());
    }
}

/// A result of a step that also computes the next state of a node.
struct Beside {
    node: usize,
    source: StepSource,
    /// The name of a variable of the node, which no author can write.
    name: Arc<str>,
}

/// The outputs of a plan, computed from the state after the tick.
struct After {
    /// The plan in which that state is given.
    plan: Plan,
    /// The states by name, each with the input that gives it.
    names: Vec<(Arc<str>, Arc<str>)>,
}

impl After {
    /// The outputs of a plan that depend on the state of these nodes; `None` if one of these nodes is
    /// inside scopes, or there is none.
    fn new(
        plan: &Plan,
        (reads, beside): (&StateReads<'_>, &[Beside]),
        kept: &[bool],
    ) -> Option<Self> {
        if reads.is_inside(kept) || !kept.contains(&true) {
            return None;
        }
        let mut given: Vec<(StepSource, Arc<str>)> = Vec::new();
        let mut names = Vec::new();
        // In another context, a result is not the state.
        let (_, is_affected) = contexts(plan);
        let nodes = reads.nodes.iter().zip(kept).filter(|(_, kept)| **kept);
        let states = nodes.flat_map(|(node, _)| &node.outputs).map(|output| {
            let output = &plan.outputs[*output];
            (&output.name, output.source)
        });
        for (state, source) in states.chain(beside.iter().map(|it| (&it.name, it.source))) {
            if !is_affected[source.step] && given.iter().all(|(known, _)| *known != source) {
                // The dot marks it as state, which differs from tick to tick.
                let name: Arc<str> = format!("{MARK}.{}", given.len()).into();
                names.push((Arc::clone(state), Arc::clone(&name)));
                given.push((source, name));
            }
        }
        Some(Self { plan: plan.spliced(&given, &[]), names })
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
