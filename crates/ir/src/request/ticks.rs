//! Requests to plans with stateful nodes.

use millstream_base::Feature;
use millstream_base::feature::Aspect;
use millstream_base::id::SideTable;

use super::{Frames, Given, Request, RequestAxis};
use crate::element_states::Tables;
use crate::hidden::is_state;
use crate::plan::{Plan, StepId};
use crate::state_reads::StateReads;

impl Request {
    /// Also requests the new state of nodes; unless outputs were requested with
    /// [`output`](Self::output), all outputs too.
    pub fn with_states(mut self, plan: &Plan) -> Self {
        let names = plan.outputs.iter().map(|output| &output.name);
        let has_states = self.outputs.is_some();
        let wanted = names.filter(|name| !has_states || is_state(name));
        let wanted: Vec<String> = wanted.map(ToString::to_string).collect();
        self.outputs.get_or_insert_default().extend(wanted);
        self
    }

    /// The stateful nodes of a plan, and for each whether a requested output depends on it, in this
    /// tick or a later one.
    pub fn state_reads<'p>(&self, plan: &'p Plan) -> (StateReads<'p>, Vec<bool>) {
        let reads = StateReads::new(plan, &self.required_in(plan));
        let depends = reads.of_steps(self.steps_in(plan));
        (reads, depends)
    }

    /// The steps of the requested outputs, without unknown ones.
    pub fn steps_in(&self, plan: &Plan) -> Vec<StepId> {
        let outputs = self.outputs_in(plan).into_iter();
        outputs.map(|output| plan.outputs[output].source.step).collect()
    }

    /// The steps that the requested outputs of a plan may need, directly or through state.
    pub fn needed_steps(&self, plan: &Plan) -> SideTable<StepId, bool> {
        let reads = StateReads::new(plan, &self.required_in(plan));
        let nodes = (0..reads.nodes.len()).filter(|node| reads.is_read(*node));
        let steps = nodes.flat_map(|node| reads.steps_of(node));
        plan.steps_upstream_of(steps.chain(self.steps_in(plan)))
    }

    /// Also requests these outputs.
    pub fn and_outputs(mut self, plan: &Plan, names: &[String]) -> Self {
        let all = plan.outputs.iter().map(|output| output.name.to_string());
        let all = all.filter(|name| !is_state(name));
        self.outputs.get_or_insert_with(|| all.collect()).extend_from_slice(names);
        self
    }

    /// Requests only these outputs.
    pub fn only_outputs(mut self, names: &[String]) -> Self {
        self.outputs = Some(names.to_vec());
        self.optional.clear();
        self
    }

    /// Also requests the new state of nodes, as a tick of the whole plan computes it: the state is
    /// that of a request for all outputs. Nodes inside scopes advance where outputs read them, so
    /// it also requests the outputs that do, as far as the request gives the features that they
    /// need. A node whose state no output reads does not advance if it reads state inside scopes.
    pub fn with_whole_tick(mut self, plan: &Plan) -> Self {
        if plan.state_writers.is_empty() {
            return self.with_states(plan);
        }
        let all: Vec<usize> = outputs_without_state(plan).collect();
        let reads = StateReads::new(plan, &all);
        let is_inside = |steps: &mut dyn Iterator<Item = StepId>| {
            let read = reads.read_by(steps);
            reads.is_inside(&read)
        };
        let callers = all.into_iter().filter(|output| {
            let step = plan.outputs[*output].source.step;
            is_inside(&mut std::iter::once(step)) && self.gives_needs_of(plan, step)
        });
        let callers: Vec<usize> = callers.collect();
        let nodes = reads.nodes.iter().enumerate();
        let advancing = nodes
            .filter(|(node, _)| reads.is_read(*node) || !is_inside(&mut reads.steps_of(*node)));
        let states: Vec<usize> = advancing.flat_map(|(_, node)| node.outputs.clone()).collect();
        let name = |output: usize| plan.outputs[output].name.to_string();
        let asked =
            self.outputs.get_or_insert_with(|| outputs_without_state(plan).map(name).collect());
        for output in callers.into_iter().map(name) {
            if !asked.contains(&output) {
                asked.push(output);
            }
        }
        asked.extend(states.into_iter().map(name));
        self
    }

    /// Whether the request gives all features that a step needs.
    fn gives_needs_of(&self, plan: &Plan, step: StepId) -> bool {
        plan.needs.of(plan.needs_of(&plan.steps[step])).all(|need| {
            need.aspect == Aspect::Extent || need.level == 0 && self.gives(&need.feature)
        })
    }

    /// Whether a requested output depends on the state of nodes. Unknown outputs are ignored.
    pub fn reads_state(&self, plan: &Plan) -> bool {
        plan.depends_on_state(&self.outputs_in(plan))
    }

    /// The positions of the requested outputs, without unknown ones.
    fn outputs_in(&self, plan: &Plan) -> Vec<usize> {
        let mut outputs = self.required_in(plan);
        outputs.extend(self.optional.iter().filter_map(|name| plan.output_named(name)));
        outputs
    }

    /// As [`outputs_in`](Self::outputs_in), without those that are returned only if something else
    /// computes them.
    pub(super) fn required_in(&self, plan: &Plan) -> Vec<usize> {
        match &self.outputs {
            Some(names) => names.iter().filter_map(|name| plan.output_named(name)).collect(),
            None => outputs_without_state(plan).collect(),
        }
    }

    /// The same request at this frame, unless it has a frame or a time of its own.
    pub fn or_frame(&self, frame: i64) -> Self {
        let mut request = self.clone();
        let has_moment =
            |(feature, _): &(Feature, Given)| matches!(feature, Feature::Time | Feature::Tick);
        if request.frames.is_none() && !request.features.iter().any(has_moment) {
            request.frames = Some(Frames::One(frame));
        }
        request
    }

    /// The same request, in which these nodes advance in the context of the request: the positions of
    /// state writers, see [`StateReads::called`].
    pub fn calling(mut self, writers: &[usize]) -> Self {
        self.called = writers.to_vec();
        self
    }

    /// The state writers of nodes that advance in the context of the request.
    pub fn called(&self) -> &[usize] {
        &self.called
    }

    /// Sets the state of nodes inside scopes.
    pub fn with_kept(mut self, kept: Tables) -> Self {
        self.kept = kept;
        self
    }

    /// The state of nodes inside scopes.
    pub fn kept(&self) -> &Tables {
        &self.kept
    }

    /// The requested frames, and whether they open the time axis; `None` without any.
    pub fn asked_frames(&self) -> Option<(Vec<i64>, bool)> {
        match &self.frames {
            None => None,
            Some(Frames::One(frame)) => Some((vec![*frame], false)),
            Some(Frames::Many(frames)) => Some((frames.clone(), true)),
        }
    }

    /// The same request in terms of frames, if its times are frames at this rate up to rounding.
    pub fn on_frames(&self, fps: f64) -> Option<Self> {
        let times = |(feature, _): &&(Feature, Given)| *feature == Feature::Time;
        let (None, Some((_, given))) = (&self.frames, self.features.iter().find(times)) else {
            return None;
        };
        let frame = |seconds: &f64| {
            let (exact, frame) = (seconds * fps, (seconds * fps).round());
            let off = 8.0 * f64::EPSILON * frame.abs().max(1.0);
            // Beyond these numbers, several frames share one time.
            let is_frame = (exact - frame).abs() <= off && frame.abs() < 2_f64.powi(52);
            is_frame.then_some(frame as i64)
        };
        let frames = match given {
            Given::One(value) => Frames::One(frame(&value.get::<f64>()?)?),
            Given::Along(RequestAxis::Time, column) => {
                let frames: Option<Vec<i64>> =
                    column.as_slice::<f64>()?.iter().map(frame).collect();
                Frames::Many(frames?)
            }
            Given::Along(RequestAxis::Index | RequestAxis::View, _) => return None,
        };
        let mut request = self.clone();
        request.features.retain(|(feature, _)| *feature != Feature::Time);
        request.frames = Some(frames);
        Some(request)
    }

    /// Whether the request gives a time that is not a frame, or other data along the time axis.
    pub fn has_own_times(&self) -> bool {
        self.features.iter().any(|(feature, given)| {
            matches!(feature, Feature::Time | Feature::Tick)
                || matches!(given, Given::Along(RequestAxis::Time, _))
        })
    }

    /// Whether an input has a value per moment.
    pub fn varies_in_time(&self) -> bool {
        self.inputs.iter().any(|(_, given)| matches!(given, Given::Along(RequestAxis::Time, _)))
    }

    /// The same request for one frame; `position` is its position along the time axis, for inputs
    /// that have a value per moment.
    pub fn at_frame(&self, frame: i64, position: usize) -> Self {
        let mut request = self.clone();
        request.frames = Some(Frames::One(frame));
        for (_, given) in &mut request.inputs {
            if let Given::Along(RequestAxis::Time, column) = given
                && position < column.len()
            {
                *given = Given::One(column.get(position));
            }
        }
        request
    }

    /// The same request at one of its moments.
    pub fn at_moment(&self, position: usize) -> Self {
        let mut request = self.clone();
        if let Some(Frames::Many(frames)) = &self.frames
            && let Some(frame) = frames.get(position)
        {
            request = request.at_frame(*frame, position);
        }
        let inputs = request.inputs.iter_mut().map(|(_, given)| given);
        for given in inputs.chain(request.features.iter_mut().map(|(_, given)| given)) {
            if let Given::Along(RequestAxis::Time, column) = given
                && position < column.len()
            {
                *given = Given::One(column.get(position));
            }
        }
        request
    }
}

/// The positions of the outputs that do not carry state.
fn outputs_without_state(plan: &Plan) -> impl Iterator<Item = usize> {
    (0..plan.outputs.len()).filter(|output| !is_state(&plan.outputs[*output].name))
}
