//! One request evaluated in parts: tick by tick, or for some elements or a part of the view at a
//! time.
//!
//! Results that are the same in all parts are computed once, in the first part that needs them.
//! Such a result depends on nothing that differs between parts, and is read by a step that does
//! differ. It is an output of the first part and an input of later ones ([`Plan::spliced`]). So any
//! evaluator can run the parts, and results that are not demanded are not computed.
//!
//! Columns occupy memory until the last part. Large ones are held only if computing them takes
//! longer than reading them.

use std::sync::Arc;

use millstream_base::id::{Id, SideTable};
use millstream_base::{Feature, FeatureSet};
use millstream_ir::answer::{Answer, EvalError, Evaluator, OutputAnswer, Series};
use millstream_ir::plan::{Plan, StepId, StepOp, StepSource};
use millstream_ir::repeat::may_be_unsettled;
use millstream_ir::request::{Given, Request, RequestAxis};
use millstream_ir::states::is_state;
use millstream_ir::unsettled::{Mark, Via};
use millstream_ir::{HELD, is_held};
use millstream_node::{Class, Data, Kernel};
use rustc_hash::FxHashMap;

use crate::uses::{Use, uses};

/// Columns of up to this many elements are held whatever they cost.
const SMALL: usize = 1 << 16;

/// Larger columns are held if an element takes at least this many instructions.
const EXPENSIVE: usize = 16;

/// The difference between parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Varying {
    /// The moment.
    Ticks,
    /// The elements, which are columns for the same inputs in all parts.
    Elements,
    /// The requested view.
    View,
}

/// The evaluation of one request in parts.
#[derive(Debug)]
pub struct Parts<'a> {
    plan: &'a Plan,
    /// Results that are the same in all parts.
    held: Vec<Held>,
    by_name: FxHashMap<Arc<str>, usize>,
    /// The plan in which known results are inputs, and other held results are outputs.
    spliced: Option<Plan>,
    /// The results that are needed in any case, for outputs requested before.
    needed: Vec<(Vec<usize>, Vec<bool>)>,
    /// The steps that are the same in all parts, if repeats may not settle.
    same: Option<SideTable<StepId, bool>>,
    /// The marks of these steps, which concern all parts.
    marks: Vec<Mark>,
}

/// A result that is the same in all parts.
#[derive(Debug)]
struct Held {
    source: StepSource,
    /// The mark, the step, and the position of the output.
    name: Arc<str>,
    known: Known,
}

/// Whether a result is known.
#[derive(Debug)]
enum Known {
    No,
    Yes(Given),
    /// It was computed, and nothing will read it any more.
    NotNeeded,
}

impl Known {
    fn is_known(&self) -> bool {
        match self {
            Self::No => false,
            Self::Yes(_) | Self::NotNeeded => true,
        }
    }
}

impl<'a> Parts<'a> {
    /// Parts with this difference. If it is ticks, `request` is that for all parts, otherwise that
    /// for the first part.
    pub fn new(
        evaluator: &dyn Evaluator,
        plan: &'a Plan,
        request: &Request,
        varying: Varying,
    ) -> Self {
        // Evaluators that store results need no help; without elements hardly anything runs.
        let is_plain = evaluator.caches_results() || request.n_elements() == Some(0);
        let may_be_unsettled = may_be_unsettled(plan);
        let (mut held, mut same) = (Vec::new(), None);
        if !is_plain || may_be_unsettled {
            let mut fixed = Fixed::new(plan, request, varying);
            held = fixed.held(plan);
            same = may_be_unsettled.then(|| fixed.same());
        }
        if is_plain {
            held.clear();
        }
        let names = held.iter().enumerate().map(|(i, held)| (Arc::clone(&held.name), i));
        Self { by_name: names.collect(), held, same, ..Self::apart(plan) }
    }

    /// Parts that share nothing.
    pub fn apart(plan: &'a Plan) -> Self {
        let (held, by_name) = (Vec::new(), FxHashMap::default());
        let (spliced, needed, same, marks) = (None, Vec::new(), None, Vec::new());
        Self { plan, held, by_name, spliced, needed, same, marks }
    }

    /// The plan.
    pub(crate) fn plan(&self) -> &'a Plan {
        self.plan
    }

    /// Whether a step is the same in all parts. Without repeats that may not settle, it is unknown.
    pub fn is_same(&self, step: StepId) -> bool {
        self.same.as_ref().is_some_and(|same| same[step])
    }

    /// Evaluates one part, a request to the plan, given how an evaluator of the kind given to
    /// [`new`](Self::new) does. The answer has all marks, also those of results without a value.
    ///
    /// # Errors
    /// As [`Evaluator::evaluate`].
    pub(crate) fn evaluate_by(
        &mut self,
        mut request: Request,
        evaluate: &mut dyn FnMut(&Plan, &Request) -> Result<Answer, EvalError>,
    ) -> Result<Answer, EvalError> {
        if self.held.is_empty() {
            let mut answer = evaluate(self.plan, &request)?;
            self.mark(&mut answer, 0);
            return Ok(answer);
        }
        let is_known = self.held.iter().all(|held| held.known.is_known());
        let needed = if is_known { 0 } else { self.needed(&request)? };
        if self.spliced.is_none() {
            self.spliced = Some(self.splice());
        }
        let plan = self.spliced.as_ref().expect("it was made now");
        let mut n_given = 0;
        for (i, held) in self.held.iter().enumerate() {
            let name = || held.name.to_string();
            n_given += usize::from(held.known.is_known());
            request = match &held.known {
                Known::Yes(given) => request.given(name(), given.clone()),
                Known::NotNeeded => request,
                Known::No if self.needed[needed].1[i] => {
                    request.additional_output(self.plan, name())
                }
                Known::No => request.optional_output(name()),
            }
        }
        let mut answer = evaluate(plan, &request)?;
        let n_log = answer.log.entries.len();
        answer.log.entries.drain(..n_given.min(n_log));
        self.mark(&mut answer, n_given);
        // The caller's own optional outputs may come after them.
        let is_result = |output: &OutputAnswer| is_held(&output.name);
        let outputs = std::mem::take(&mut answer.outputs);
        let (results, others) = outputs.into_iter().partition(is_result);
        answer.outputs = others;
        let results: Vec<OutputAnswer> = results;
        for result in results {
            let held = self.by_name[&result.name];
            if let Some(given) = given(result) {
                (self.held[held].known, self.spliced) = (Known::Yes(given), None);
            }
        }
        Ok(answer)
    }

    /// Completes the marks of a part.
    fn mark(&mut self, answer: &mut Answer, n_given: usize) {
        let Some(same) = &self.same else { return };
        let marks = std::mem::take(&mut answer.unsettled).into_iter();
        for mark in marks.map(|mark| mark.unspliced(n_given)) {
            match mark.via {
                Via::Step(step) if same[step] => {
                    let mark = Mark { moment: None, ..mark };
                    if !self.marks.contains(&mark) {
                        self.marks.push(mark);
                    }
                }
                Via::Step(_) | Via::State(_) => answer.unsettled.push(mark),
            }
        }
        answer.unsettled.extend_from_slice(&self.marks);
    }

    /// The plan in which known results are inputs, and other held results are outputs.
    fn splice(&mut self) -> Plan {
        let all = |is_known: bool| {
            let held = self.held.iter().filter(move |held| held.known.is_known() == is_known);
            held.map(|held| (held.source, Arc::clone(&held.name))).collect::<Vec<_>>()
        };
        let plan = self.plan.spliced(&all(true), &all(false));
        let inputs = plan.steps.as_slice().iter();
        for (input, held) in inputs.zip(self.held.iter_mut().filter(|held| held.known.is_known())) {
            if input.n_users == 0 {
                held.known = Known::NotNeeded;
            }
        }
        plan
    }

    /// The position in `needed` for the requested outputs.
    fn needed(&mut self, request: &Request) -> Result<usize, EvalError> {
        let outputs = request.bind(self.plan).map_err(EvalError::Request)?.outputs;
        if let Some(at) = self.needed.iter().position(|(known, _)| *known == outputs) {
            return Ok(at);
        }
        let plan = self.plan;
        let mut is_needed = SideTable::for_arena(&plan.steps, false);
        for output in &outputs {
            is_needed[plan.outputs[*output].source.step] = true;
        }
        for i in (0..plan.steps.len()).rev() {
            let id = StepId::from_index(i);
            if is_needed[id] {
                for (source, kind) in uses(plan, &plan.steps[id]) {
                    is_needed[source.step] |= kind == Use::Strict;
                }
            }
        }
        let needed = self.held.iter().map(|held| is_needed[held.source.step]).collect();
        self.needed.push((outputs, needed));
        Ok(self.needed.len() - 1)
    }
}

/// The value that an output provides to later parts.
fn given(output: OutputAnswer) -> Option<Given> {
    let Series { data, axes } = output.value?;
    match (data, &axes[..]) {
        (Data::One(value), _) => Some(Given::One(value)),
        (Data::Many(column), [axis @ (RequestAxis::View | RequestAxis::Index)]) => {
            Some(Given::Along(*axis, column))
        }
        (Data::Many(_), _) => None,
    }
}

/// What is known about a step with regard to parts.
#[derive(Clone, Copy, Default)]
struct Step {
    differs: Differs,
    /// Whether it has a value per element.
    is_wide: bool,
    /// Instructions per element, of the step and the steps above it.
    work: usize,
    /// The steps that read it.
    readers: Readers,
    /// The outputs that are read; bit `LAST` represents all from there on.
    reads: u64,
    /// Whether it may be read in another context than that of the request.
    is_scoped: bool,
    /// Whether it runs as part of a folded loop.
    is_in_loop: bool,
}

/// Whether a step differs between parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Differs {
    /// A step above it has state or is given for each part.
    #[default]
    Yes,
    /// It needs a feature that differs between parts; a scope that provides the feature does not.
    InContext,
    No,
}

/// The steps that read a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Readers {
    #[default]
    None,
    /// Only steps from which the held result of this step is made.
    One(StepId),
    /// Several held results, which may be demanded in different parts.
    Several,
    /// A step that is computed in each part.
    Parts,
}

/// See [`Step::reads`].
const LAST: u32 = 63;

/// The steps that are the same in all parts.
struct Fixed {
    steps: SideTable<StepId, Step>,
    n_elements: usize,
}

/// The beginning of the names of held results. The plan may be that of a part of a larger request,
/// with results that are held for its other parts; their names begin with fewer of these characters.
fn mark_in(plan: &Plan) -> String {
    let inputs = plan.inputs.as_slice().iter().map(|input| &input.name);
    let names = plan.outputs.iter().map(|output| &output.name).chain(inputs);
    let longest = names.map(|name| name.chars().take_while(|c| *c == HELD).count()).max();
    std::iter::repeat_n(HELD, longest.unwrap_or(0) + 1).collect()
}

/// The steps that differ between parts of a request.
pub fn varying_steps(plan: &Plan, request: &Request, varying: Varying) -> SideTable<StepId, bool> {
    let steps = Fixed::new(plan, request, varying).steps;
    SideTable::from_vec(steps.as_slice().iter().map(|it| it.differs != Differs::No).collect())
}

impl Fixed {
    fn new(plan: &Plan, request: &Request, varying: Varying) -> Self {
        let differs = |given: Option<&Given>| match given {
            Some(Given::Along(RequestAxis::Time, _)) => varying == Varying::Ticks,
            Some(Given::Along(RequestAxis::Index, _)) => varying == Varying::Elements,
            Some(Given::Along(RequestAxis::View, _)) => varying == Varying::View,
            Some(Given::One(_)) | None => false,
        };
        let mut different = FeatureSet::NONE;
        let wide = request.needs_by_element(plan);
        for (bit, need) in plan.needs.iter().enumerate() {
            let bit = FeatureSet::bit(bit as u32);
            let is_clock = match need.feature {
                Feature::Time | Feature::Tick | Feature::RealTime => varying == Varying::Ticks,
                Feature::Index => varying == Varying::Elements,
                Feature::Footprint => varying == Varying::View,
                _ => false,
            };
            let given = request.of_feature(&need.feature);
            if is_clock || differs(given) {
                different = different.union(bit);
            }
        }
        let mut steps = SideTable::for_arena(&plan.steps, Step::default());
        for (id, step) in plan.steps.iter() {
            let needs = plan.needs_of(step);
            let mut found = Step::default();
            let mut is_pure = true;
            match step.op {
                StepOp::Const(_) => {}
                StepOp::Input(input) => {
                    let name = &plan.inputs[input].name;
                    let given = request.of_input(name);
                    is_pure = !is_state(name) && !differs(given);
                    found.is_wide = matches!(given, Some(Given::Along(RequestAxis::Index, _)));
                }
                StepOp::Call(call) => {
                    let instance = &plan.instances[call];
                    is_pure = instance.class < Class::Stateful
                        || matches!(instance.kernel, Kernel::Read { .. });
                    found.is_wide = !needs.intersect(wide).is_empty();
                    found.work = match &instance.kernel {
                        Kernel::Form(form) => form.insts.len(),
                        Kernel::Read { .. } | Kernel::Pass | Kernel::Choose => 0,
                        Kernel::Function(_) | Kernel::ReadState(_) => EXPENSIVE,
                    };
                    for link in plan.inputs_of(step) {
                        let above = &steps[link.step];
                        is_pure &= above.differs != Differs::Yes;
                        found.is_wide |= above.is_wide;
                        found.work = found.work.saturating_add(above.work);
                    }
                }
            }
            found.differs = match needs.intersect(different).is_empty() {
                _ if !is_pure => Differs::Yes,
                true => Differs::No,
                false => Differs::InContext,
            };
            steps[id] = found;
        }
        Self { steps, n_elements: request.n_elements().unwrap_or(1) }
    }

    /// The results to hold: those that are the same in all parts and that are read by a step
    /// computed in each part.
    fn held(&mut self, plan: &Plan) -> Vec<Held> {
        for output in &plan.outputs {
            self.read(output.source, false, Readers::Parts);
        }
        for writer in &plan.state_writers {
            self.read(StepSource { step: writer.reader, output: 0 }, true, Readers::Parts);
            for value in &writer.values {
                self.read(value.source, true, Readers::Parts);
            }
        }
        for member in plan.loops.iter().flat_map(|folded| &folded.members) {
            self.steps[*member].is_in_loop = true;
        }
        let (mut held, mark) = (Vec::new(), mark_in(plan));
        for i in (0..plan.steps.len()).rev() {
            let id = StepId::from_index(i);
            let found = self.steps[id];
            let is_read = found.readers != Readers::None;
            let reader = match found.readers {
                Readers::One(root) => Readers::One(root),
                Readers::Several | Readers::Parts if self.is_held(plan, id) => {
                    held.extend((0..LAST).filter(|output| found.reads >> output & 1 != 0).map(
                        |output| {
                            let source = StepSource { step: id, output };
                            let name = format!("{mark}{i}{HELD}{output}").into();
                            Held { source, name, known: Known::No }
                        },
                    ));
                    Readers::One(id)
                }
                readers => readers,
            };
            for (source, kind) in uses(plan, &plan.steps[id]).into_iter().filter(|_| is_read) {
                self.read(source, found.is_scoped || kind == Use::Body, reader);
            }
        }
        held
    }

    /// The steps that do not differ, and those from which only [held](Self::held) results are made.
    fn same(&self) -> SideTable<StepId, bool> {
        let is_same = |step: &Step| {
            step.differs == Differs::No
                || matches!(step.readers, Readers::One(_) | Readers::Several)
        };
        SideTable::from_vec(self.steps.as_slice().iter().map(is_same).collect())
    }

    /// Records a reader of a result.
    fn read(&mut self, source: StepSource, is_scoped: bool, reader: Readers) {
        let found = &mut self.steps[source.step];
        found.reads |= 1 << source.output.min(LAST);
        found.is_scoped |= is_scoped;
        found.readers = match (found.readers, reader) {
            (Readers::None, reader) => reader,
            (Readers::Parts, _) | (_, Readers::Parts) => Readers::Parts,
            (Readers::One(a), Readers::One(b)) if a == b => Readers::One(a),
            _ => Readers::Several,
        };
    }

    fn is_held(&self, plan: &Plan, id: StepId) -> bool {
        let (found, step) = (&self.steps[id], &plan.steps[id]);
        let StepOp::Call(call) = step.op else { return false };
        let is_worth = !found.is_wide || self.n_elements <= SMALL || found.work >= EXPENSIVE;
        found.differs == Differs::No
            && !matches!(plan.instances[call].kernel, Kernel::Read { .. })
            && (!found.is_scoped || plan.needs_of(step).is_empty())
            && !found.is_in_loop
            && found.reads >> LAST == 0
            && is_worth
    }
}
