//! Queries of a session: outputs, what-ifs, budgets and the log of runs.

use std::sync::Arc;

use millstream_base::{Budget, Feature, Limits, ValueType};
use millstream_document::Editor;
use millstream_ir::answer::{Answer, OutputAnswer};
use millstream_ir::request::{Given, LogDetail, RequestAxis, RequestError};
use millstream_ir::state_failures::withhold;
use millstream_ir::states::is_state;
use millstream_ir::{Done, EvalError, Plan, Progress, Request, Watch};
use millstream_node::Data;
use millstream_run::live::Within;

use super::mirror::{Cells, Mirror, Moment};
use super::settings::{fits, one};
use super::{Session, SessionError};
use crate::run_log::{self, NodeRun};

/// Maximal number of elements for which live graphs answer: they store the columns of all nodes.
const MOST_ELEMENTS: usize = 1 << 20;

/// A request to a session, for one evaluation.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    /// The outputs; all if there are none.
    pub outputs: Vec<String>,
    /// Inputs with other values in this evaluation only.
    pub what_if: Vec<(String, Given)>,
    /// Another frame in this evaluation only. State is that of the session's frame.
    pub frame: Option<i64>,
    /// Another time in this evaluation only.
    pub time: Option<f64>,
    /// The limits of the evaluation. `bytes` limits the new values and the returned ones together;
    /// earlier values that nodes read do not count. Values made before the limit was reached
    /// remain.
    pub limits: Limits,
    /// The contents of the log.
    pub log: LogDetail,
    /// The flag that cancels the evaluation, and its deadline.
    pub budget: Budget,
    /// The receiver of progress, which may cancel the evaluation.
    pub progress: Option<Progress>,
}

impl Ask {
    /// Requests all outputs.
    pub fn all() -> Self {
        Self::default()
    }

    /// Requests one output.
    pub fn output(name: impl Into<String>) -> Self {
        Self { outputs: vec![name.into()], ..Self::default() }
    }

    /// Sets an input to another value in this evaluation only.
    pub fn what_if(
        mut self,
        name: impl Into<String>,
        value: impl Into<millstream_base::Value>,
    ) -> Self {
        self.what_if.push((name.into(), Given::One(value.into())));
        self
    }

    /// Records runs.
    pub fn with_log(self, log: LogDetail) -> Self {
        Self { log, ..self }
    }
}

/// An answer, with the log of its runs.
#[derive(Debug)]
pub struct Evaluated {
    /// The values.
    pub answer: Answer,
    log: Log,
}

/// The log of an answer.
#[derive(Debug)]
enum Log {
    /// The log is in the answer, by the steps of this plan.
    OfPlan(Arc<Plan>),
    OfNodes(Vec<NodeRun>),
}

impl Evaluated {
    pub(super) fn by_plan(answer: Answer, plan: Arc<Plan>) -> Self {
        Self { answer, log: Log::OfPlan(plan) }
    }

    /// The plan that computed the answer; `None` if a live graph did.
    pub fn plan(&self) -> Option<&Arc<Plan>> {
        match &self.log {
            Log::OfPlan(plan) => Some(plan),
            Log::OfNodes(_) => None,
        }
    }

    /// The runs of each node, if they were recorded; see [`run_log`](crate::run_log).
    pub fn runs(&self) -> Vec<NodeRun> {
        match &self.log {
            Log::OfPlan(plan) => {
                let runs = run_log::runs(plan, &self.answer);
                runs.into_iter().map(|(_, run)| run).collect()
            }
            Log::OfNodes(runs) => runs.clone(),
        }
    }
}

impl Session {
    /// Evaluates outputs. State does not change.
    ///
    /// # Errors
    /// If an output has no value in the current document, the request does not fit, or the
    /// evaluation was cancelled.
    pub fn eval(&mut self, ask: &Ask) -> Result<Evaluated, SessionError> {
        let mut evaluated = self.eval_now(ask)?;
        self.tell_failed(ask, &mut evaluated.answer)?;
        Ok(evaluated)
    }

    /// Refuses outputs that the document does not have, whatever evaluates it.
    pub(super) fn check_outputs(&self, ask: &Ask) -> Result<(), SessionError> {
        let outputs = &self.document().outputs;
        let unknown = ask.outputs.iter().filter(|name| !outputs.contains_key(name.as_str()));
        let known = outputs.keys().map(|name| &**name);
        let errors: Vec<RequestError> =
            unknown.map(|name| RequestError::unknown_output_among(name, known.clone())).collect();
        if errors.is_empty() { Ok(()) } else { Err(EvalError::Request(errors).into()) }
    }

    /// Evaluates outputs, without the failures in earlier ticks that they depend on.
    fn eval_now(&mut self, ask: &Ask) -> Result<Evaluated, SessionError> {
        self.check_outputs(ask)?;
        if let Some(answer) = self.eval_mirror(ask, For::Outputs) {
            return answer;
        }
        let plan = self.newest_plan("the document")?;
        for name in &ask.outputs {
            if plan.output_named(name).is_none() && self.document().outputs.contains_key(name) {
                return Err(self.broken(&format!("output `{name}`")));
            }
        }
        for (name, given) in &ask.what_if {
            self.check_given(name, given)?;
        }
        let (mut answer, plan) = self.answer(plan, |it, plan| it.request(plan, ask))?;
        withhold(&plan, &mut answer);
        Ok(Evaluated::by_plan(answer, plan))
    }

    /// The answer to a request for a plan, with the plan that computed it. A plain plan also needs
    /// features that only arms need which are never taken; if these are not provided, the session
    /// waits for the optimised plan.
    pub(super) fn answer(
        &mut self,
        plan: Arc<Plan>,
        request: impl Fn(&Self, &Plan) -> Result<Request, SessionError>,
    ) -> Result<(Answer, Arc<Plan>), SessionError> {
        let asked = request(self, &plan)?;
        let answered = self.live.answer(&plan, &asked);
        if self.is_optimised() || !answered.as_ref().is_err_and(lacks_feature) {
            return Ok((answered?, plan));
        }
        self.settle_while(&asked)?;
        let newest = self.plans.running().map_or(plan, Arc::clone);
        let asked = request(self, &newest)?;
        Ok((self.live.answer(&newest, &asked)?, newest))
    }

    /// The answer of the mirror; `None` if a plan must answer. At the end of a tick the mirror
    /// commits the next state of all nodes; if some of it fails, a plan must answer.
    pub(super) fn eval_mirror(
        &mut self,
        ask: &Ask,
        what: For,
    ) -> Option<Result<Evaluated, SessionError>> {
        self.fit_mirror();
        let cells = self.live_cells(ask)?;
        let is_wrong = |name: &&String| !self.mirror.as_ref().is_some_and(|m| m.is_right(name));
        if let Some(name) = ask.outputs.iter().find(is_wrong) {
            return Some(Err(self.broken(&format!("output `{name}`"))));
        }
        for (name, given) in &ask.what_if {
            if let Err(error) = self.check_given(name, given) {
                return Some(Err(error));
            }
        }
        if let Some(ended) = ask.budget.ended() {
            return Some(Err(EvalError::from(ended).into()));
        }
        // Plans are swapped between evaluations, even if they are not needed.
        if self.plans.poll()
            && let Some(plan) = self.plans.running()
        {
            self.live.replaced(plan);
        }
        let is_over = what != For::Outputs;
        let done = self.on_mirror(ask, cells, |mirror, editor, moment, within| {
            let is_timed = ask.log == LogDetail::Times;
            let new = (ask.log != LogDetail::Off).then(|| mirror.start_log(is_timed));
            let all: Vec<String>;
            let names = match what {
                For::States => &[],
                For::Outputs | For::Tick if !ask.outputs.is_empty() => &ask.outputs[..],
                For::Outputs | For::Tick => {
                    all = mirror.right_outputs(editor).map(str::to_owned).collect();
                    &all
                }
            };
            let names = names.iter().map(String::as_str);
            let outputs = mirror.answer(names, moment, is_over, within, ask.limits.bytes);
            let mut runs = new.map(|new| mirror.end_log(editor, &new)).unwrap_or_default();
            let failures = mirror.failures(editor);
            run_log::tell_failures(&mut runs.iter_mut(), &failures);
            (outputs, runs, failures)
        });
        let (outputs, runs, failures) = match done? {
            Ok(done) => done,
            Err(error) => return Some(Err(error)),
        };
        let mirror = self.mirror.as_mut()?;
        // The live graph runs an arm for all elements, a plan only for those that take it. Which
        // elements fail, and how many bytes are needed, is what the plan says.
        let is_live = !mirror.holds_columns() || failures.is_empty() && !is_short(&outputs);
        let outputs = match outputs {
            Ok(outputs) => outputs,
            // A plan stores only the values that are still to be read.
            Err(EvalError::Bytes { .. }) if mirror.bytes_of_values() > self.kept_bytes => {
                self.without_mirror();
                return None;
            }
            Err(EvalError::Bytes { .. }) if !is_live => return None,
            Err(error) => return Some(Err(error.into())),
        };
        if !is_live {
            return None;
        }
        mirror.evaluated();
        if is_over && !mirror.commit(&mut self.states, cells.count()) {
            return None;
        }
        let log = millstream_ir::answer::RunLog::default();
        let mut answer = Answer::of_one_cell(outputs, failures, log);
        answer.count = cells.count();
        Some(Ok(Evaluated { answer, log: Log::OfNodes(runs) }))
    }

    /// Calls a function on the mirror with all settings and the inputs of the request, which has
    /// these [cells](Self::live_cells); `None` if there is no mirror.
    pub(super) fn on_mirror<T>(
        &mut self,
        ask: &Ask,
        cells: Cells,
        run: impl FnOnce(&mut Mirror, &Editor, &Moment, Option<Within>) -> T,
    ) -> Option<Result<T, SessionError>> {
        let (moment, within) = (self.moment(ask), self.within(ask));
        let is_frame = self.is_frame(ask);
        let mirror = self.mirror.as_mut()?;
        if !is_frame && mirror.keeps() {
            return Some(Err(no_frame()));
        }
        mirror.bring_states(&self.editor, &self.states, cells.count());
        mirror.set_features(&self.settings.features, cells);
        for (name, given) in &ask.what_if {
            mirror.set(name, Some(given));
        }
        let done = run(mirror, &self.editor, &moment, within);
        for (name, _) in &ask.what_if {
            mirror.set(name, self.settings.inputs.get(name));
        }
        Some(Ok(done))
    }

    /// The limits of the evaluation by the mirror, if they matter.
    pub(super) fn within(&self, ask: &Ask) -> Option<Within> {
        let mirror = self.mirror.as_ref()?;
        let total = Done::totals(mirror.n_calls() as u64, 1);
        let watch = Watch::new(&ask.budget, ask.progress.as_ref(), total);
        let within = Within::new(ask.limits.clone(), self.kept_bytes);
        let within = within.watched(watch, mirror.n_runs());
        (mirror.has_calls() || within.is_watched()).then_some(within)
    }

    /// The cells of an evaluation with these inputs instead of those that are set; `None` if only a
    /// plan can evaluate it or say why nothing can.
    pub(super) fn cells(&self, what_if: &[(String, Given)]) -> Option<Cells> {
        let set = self.settings.inputs.iter();
        let set = set.filter(|(name, _)| what_if.iter().all(|(other, _)| other != *name));
        let other = what_if.iter().map(|(name, given)| (name, given));
        let mut n = self.settings.count;
        for (name, given) in set.chain(other) {
            let Given::Along(axis, column) = given else { continue };
            let input = self.document().inputs.get(name.as_str());
            let ty = input.and_then(|input| self.engine.registry().type_named(&input.ty));
            if !ty.is_some_and(|ty| fits(given, ty)) {
                continue;
            }
            if *axis != RequestAxis::Index || n.is_some_and(|n| n != column.len()) {
                return None;
            }
            n = Some(column.len());
        }
        match n {
            None => Some(Cells::One),
            Some(n @ 1..=MOST_ELEMENTS) => Some(Cells::Elements(n)),
            Some(_) => None,
        }
    }

    /// Whether settings vary with the elements so that a live graph with columns may answer.
    pub(super) fn has_elements(&self) -> bool {
        let mut features = self.settings.features.iter();
        matches!(self.cells(&[]), Some(Cells::Elements(_)))
            && features.all(|(_, given)| one(given).is_some())
    }

    /// The cells for which a mirror can answer; `None` if a plan must. Everything is at one moment,
    /// and features other than the numbers of elements are single values.
    pub(super) fn live_cells(&self, ask: &Ask) -> Option<Cells> {
        let mirror = self.mirror.as_ref()?;
        let cells = self.cells(&ask.what_if)?;
        let features = &self.settings.features;
        let fits = match cells {
            Cells::One => true,
            Cells::Elements(_) => mirror.holds_columns(),
        };
        let is_other = |(feature, given): &(Feature, Given)| {
            matches!(feature, Feature::Time | Feature::Tick | Feature::Index)
                || one(given).is_none()
        };
        let is_live = fits
            && mirror.is_given()
            && mirror.are_provided(features, cells)
            && !features.iter().any(is_other);
        is_live.then_some(cells)
    }

    /// Whether the request is for a frame, not for a time.
    fn is_frame(&self, ask: &Ask) -> bool {
        ask.time.is_none() && (ask.frame.is_some() || self.settings.time.is_none())
    }

    /// The requested moment.
    pub(super) fn moment(&self, ask: &Ask) -> Moment {
        let fps = self.document().fps;
        match ask.time.or(self.settings.time.filter(|_| ask.frame.is_none())) {
            Some(seconds) => Moment { seconds, tick: (seconds * fps).floor() as i64 },
            None => {
                let tick = ask.frame.unwrap_or_else(|| self.frame());
                Moment { seconds: tick as f64 / fps, tick }
            }
        }
    }

    /// The current value of an output, computed only if something has changed since the last call.
    ///
    /// # Errors
    /// As [`eval`](Self::eval).
    pub fn get(&mut self, output: &str) -> Result<&OutputAnswer, SessionError> {
        let is_kept = self.kept.get(output).is_some_and(|(stamp, _)| *stamp == self.stamp);
        if !is_kept {
            // A column that nothing else holds is changed in place.
            self.kept.remove(output);
            let answer = self.eval(&Ask::output(output))?.answer;
            let found = answer.outputs.into_iter().next().expect("an answer has what was asked");
            self.kept.insert(output.into(), (self.stamp, found));
        }
        Ok(&self.kept[output].1)
    }

    /// The single value of an output; `None` if a node failed, or the output varies along an axis
    /// or is of another type.
    ///
    /// # Errors
    /// As [`eval`](Self::eval).
    pub fn value<T: ValueType>(&mut self, output: &str) -> Result<Option<T>, SessionError> {
        let answer = self.get(output)?;
        Ok(answer.value.as_ref().and_then(|series| match &series.data {
            Data::One(value) => value.get(),
            Data::Many(_) => None,
        }))
    }

    /// The plan to evaluate: the optimised one as soon as it is ready.
    pub(super) fn newest_plan(&mut self, what: &str) -> Result<Arc<Plan>, SessionError> {
        let swapped = self.plans.poll();
        if !self.plans.is_made() {
            self.make_plan();
        }
        let Some(plan) = self.plans.running().map(Arc::clone) else {
            return Err(self.broken(what));
        };
        if swapped {
            self.live.replaced(&plan);
        }
        Ok(plan)
    }

    pub(super) fn broken(&self, what: &str) -> SessionError {
        let mut problems = millstream_base::diagnostics::Diagnostics::new();
        let errors = self.problems().iter();
        let errors = errors.filter(|p| p.severity == millstream_base::diagnostics::Severity::Error);
        errors.take(8).for_each(|problem| problems.push(problem.clone()));
        SessionError::Broken { what: what.into(), problems }
    }

    /// The request for a plan, with all settings.
    ///
    /// # Errors
    /// If the moment is not a frame and nodes have state.
    pub(super) fn request(&self, plan: &Plan, ask: &Ask) -> Result<Request, SessionError> {
        let mut request = Request::new().with_limits(ask.limits.clone()).with_log(ask.log);
        request.budget.clone_from(&ask.budget);
        request.progress.clone_from(&ask.progress);
        for output in &ask.outputs {
            request = request.output(output);
        }
        for input in plan.inputs.as_slice().iter().filter(|input| !is_state(&input.name)) {
            let other = ask.what_if.iter().rfind(|(name, _)| **name == *input.name);
            let set = self.settings.inputs.get(&*input.name);
            // A value set before the type of the input changed is replaced by the default.
            let given = other.map(|(_, given)| given).or(set).filter(|g| fits(g, input.ty));
            if let Some(given) = given {
                request = request.given(&*input.name, given.clone());
            }
        }
        for (feature, given) in &self.settings.features {
            request = request.feature(feature.clone(), given.clone());
        }
        if let Some(count) = self.settings.count {
            request = request.count(count);
        }
        let moment = self.moment(ask);
        request = if self.is_frame(ask) {
            request.frame(moment.tick)
        } else {
            let tick = Given::One(millstream_base::Value::I64(moment.tick));
            request.time(moment.seconds).feature(Feature::Tick, tick)
        };
        if plan.has_states() && request.has_own_times() {
            return Err(no_frame());
        }
        Ok(self.states.given_to(plan, request))
    }
}

/// The purpose of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum For {
    /// Outputs; state does not change.
    Outputs,
    /// Outputs, and the next tick.
    Tick,
    /// The next tick alone.
    States,
}

/// Whether an evaluation needed more bytes than it may.
fn is_short<T>(outputs: &Result<T, EvalError>) -> bool {
    matches!(outputs, Err(EvalError::Bytes { .. }))
}

fn no_frame() -> SessionError {
    let what = "the requested time is not a frame".into();
    let hint = "ask for frames; `seek` goes to one";
    EvalError::Request(vec![RequestError::Ticks { what, hint }]).into()
}

/// Whether the error is a missing feature that a plan needs.
pub(super) fn lacks_feature(error: &EvalError) -> bool {
    let lacks = |error: &RequestError| matches!(error, RequestError::MissingFeature { .. });
    matches!(error, EvalError::Request(errors) if errors.iter().any(lacks))
}
