//! Requests: the outputs that a caller asks for, and the data to compute them from.
//!
//! A caller names outputs, sets inputs by name, and provides context features. A column given for
//! an input varies along the request's `index` axis. A list of times or frames opens the `time`
//! axis, which is outside `index`. [`Request::bind`] checks the whole request against a plan before
//! anything runs.

mod error;
mod given;
mod named;
mod ticks;

use std::time::{Duration, Instant};

use millstream_base::diagnostics::did_you_mean;
use millstream_base::feature::Aspect;
use millstream_base::id::SideTable;
use millstream_base::{Budget, Column, Feature, Footprint, Limits, Mask, Type, Value};
use millstream_node::convert::convert_value;
use millstream_node::{Data, Kernel};

use crate::element_states::Tables;
use crate::graph::{GraphInput, InputId};
use crate::hidden::is_state;
use crate::plan::{Plan, Step, StepId, StepOp};
use crate::progress::Progress;
use crate::trace::{path_text, paths_of, trace_need};
use named::Named;

pub use error::RequestError;

/// The data for an input or a feature.
#[derive(Clone, Debug)]
pub enum Given {
    /// One value for all cells.
    One(Value),
    /// A value per element, along the `index` axis.
    PerIndex(Column),
    /// A value per moment, along the `time` axis.
    PerTime(Column),
}

/// The contents of the run log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogDetail {
    /// Nothing.
    #[default]
    Off,
    /// The number of runs and elements of each step, with the reason.
    Counts,
    /// As [`Counts`](Self::Counts), with times.
    Times,
}

/// A question to a plan.
#[derive(Clone, Debug, Default)]
pub struct Request {
    outputs: Option<Vec<String>>,
    optional: Vec<String>,
    inputs: Vec<(String, Given)>,
    features: Vec<(Feature, Given)>,
    count: Option<usize>,
    elements: Option<Mask>,
    frames: Option<Frames>,
    kept: Tables,
    /// The limits of the evaluation.
    pub limits: Limits,
    /// The contents of the answer's log.
    pub log: LogDetail,
    /// The flag that cancels the evaluation, and its deadline.
    pub budget: Budget,
    /// The receiver of progress, which may cancel the evaluation.
    pub progress: Option<Progress>,
}

#[derive(Clone, Debug)]
enum Frames {
    One(i64),
    Many(Vec<i64>),
}

/// The axes that a request can open, outermost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RequestAxis {
    /// Moments, along which `time` and `tick` vary.
    Time,
    /// Elements, along which `index` and the columns of inputs vary.
    Index,
}

impl RequestAxis {
    /// The name in messages and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Index => "index",
        }
    }
}

/// Data with the request axis along which it varies.
#[derive(Clone, Debug)]
pub struct BoundData {
    /// The value, or a column with an entry per cell of the axis.
    pub data: Data,
    /// The axis of a column; `None` for one value.
    pub axis: Option<RequestAxis>,
}

/// A request that was checked against a plan.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The positions of the requested outputs, in order of the request.
    pub outputs: Vec<usize>,
    /// The positions of the outputs that are wanted only if they are computed anyway.
    pub optional: Vec<usize>,
    /// The data of each input of the plan.
    pub inputs: Vec<BoundData>,
    /// The data of each need of the plan that is a value of level 0 provided by the request.
    pub features: Vec<Option<BoundData>>,
    /// Extent of the time axis, if the request opens it.
    pub times: Option<usize>,
    /// Extent of the index axis, if the request opens it.
    pub count: Option<usize>,
    /// The elements asked for, if they are some of the index axis.
    pub elements: Option<Mask>,
    /// How long it took to make the numbers of the elements, if they are needed.
    pub numbering: Duration,
}

impl Bound {
    /// The step that reads the numbers of the elements, if they were made, and how long that took.
    pub(crate) fn time_of_index(&self, plan: &Plan) -> Option<(StepId, Duration)> {
        if self.numbering.is_zero() {
            return None;
        }
        let reads = |step: &Step| match step.op {
            StepOp::Call(id) => matches!(
                &plan.instances[id].kernel,
                Kernel::Read { feature: Feature::Index, level: 0, aspect: Aspect::Value }
            ),
            StepOp::Const(_) | StepOp::Input(_) => false,
        };
        let (step, _) = plan.steps.iter().find(|(_, step)| reads(step))?;
        Some((step, self.numbering))
    }
}

impl Request {
    /// A request for all outputs, with all inputs at their defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Requests an output. If no output is requested, all are.
    pub fn output(mut self, name: impl Into<String>) -> Self {
        self.outputs.get_or_insert_default().push(name.into());
        self
    }

    /// Wants an output only if it is computed anyway; an evaluator may omit it. The answer lists
    /// such outputs after the requested ones.
    pub fn optional_output(mut self, name: impl Into<String>) -> Self {
        self.optional.push(name.into());
        self
    }

    /// Sets an input.
    pub fn given(mut self, name: impl Into<String>, given: Given) -> Self {
        self.inputs.push((name.into(), given));
        self
    }

    /// Sets an input to one value.
    pub fn set(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.inputs.push((name.into(), Given::One(value.into())));
        self
    }

    /// Sets an input to a value per element.
    pub fn column(mut self, name: impl Into<String>, column: impl Into<Column>) -> Self {
        self.inputs.push((name.into(), Given::PerIndex(column.into())));
        self
    }

    /// Sets an input to a value per moment.
    pub fn per_time(mut self, name: impl Into<String>, column: impl Into<Column>) -> Self {
        self.inputs.push((name.into(), Given::PerTime(column.into())));
        self
    }

    /// The data of an input, if it was set.
    pub fn given_to(&self, input: &str) -> Option<&Given> {
        let of_input = |(name, _): &&(String, Given)| name == input;
        self.inputs.iter().find(of_input).map(|(_, given)| given)
    }

    /// Opens the `index` axis with `n` elements.
    pub fn count(mut self, n: usize) -> Self {
        self.count = Some(n);
        self
    }

    /// Asks for these elements of the `index` axis only: columns of the answer have a value for
    /// each of them. No other element is computed, apart from those that nodes read which reduce or
    /// look up along the axis.
    pub fn mask(mut self, elements: Mask) -> Self {
        self.elements = Some(elements);
        self
    }

    /// Provides `time` in seconds.
    pub fn time(self, seconds: f64) -> Self {
        self.feature(Feature::Time, Given::One(Value::F64(seconds)))
    }

    /// Opens the `time` axis with these moments in seconds.
    pub fn times(self, seconds: Vec<f64>) -> Self {
        self.feature(Feature::Time, Given::PerTime(Column::from_vec(seconds)))
    }

    /// Provides `tick` and, at the document's frames per second, `time`.
    pub fn frame(mut self, frame: i64) -> Self {
        self.frames = Some(Frames::One(frame));
        self
    }

    /// Opens the `time` axis with these frames.
    pub fn frames(mut self, frames: Vec<i64>) -> Self {
        self.frames = Some(Frames::Many(frames));
        self
    }

    /// Provides a feature.
    pub fn feature(mut self, feature: Feature, given: Given) -> Self {
        self.features.push((feature, given));
        self
    }

    /// Requests this view, in the place of any other.
    pub fn view(mut self, view: Footprint) -> Self {
        self.features.retain(|(feature, _)| *feature != Feature::Footprint);
        self.feature(Feature::Footprint, Given::One(view.into()))
    }

    /// Requests a log.
    pub fn with_log(mut self, detail: LogDetail) -> Self {
        self.log = detail;
        self
    }

    /// Sets the limits.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Checks the request against a plan and resolves all names.
    ///
    /// # Errors
    /// Every mismatch between request and plan.
    pub fn bind(&self, plan: &Plan) -> Result<Bound, Vec<RequestError>> {
        let bytes = self.limits.bytes;
        let (errors, extents, numbering) = (Vec::new(), [None, None], Duration::ZERO);
        let mut binding = Binding { plan, errors, extents, bytes, numbering };
        if let Some(n) = self.count {
            binding.extents[1] = Some((n, "the count".into()));
        }
        let mut features = self.features.clone();
        self.add_frames(plan.fps, &mut features);
        let inputs = binding.inputs(&self.inputs);
        let given = binding.given_features(features);
        let outputs = binding.outputs(self.outputs.as_deref());
        let optional = binding.outputs(Some(&self.optional));
        let inputs = binding.with_defaults(inputs, &self.inputs, &outputs);
        let [times, count] = [0, 1].map(|axis| binding.extents[axis].as_ref().map(|(n, _)| *n));
        let cells = times.unwrap_or(1).saturating_mul(count.unwrap_or(1));
        // `index` is an `i32`.
        let limit = self.limits.list_length.min(i32::MAX as usize);
        let features = if cells <= limit {
            binding.needs(&outputs, &given)
        } else {
            binding.errors.push(RequestError::TooManyCells { cells, limit });
            Vec::new()
        };
        if times.is_some() && plan.has_states() {
            binding.errors.push(RequestError::Ticks {
                what: "the request asks for many moments at once".into(),
                hint: "evaluate the ticks in order",
            });
        }
        let elements = binding.elements(self.elements.as_ref());
        if binding.errors.is_empty() {
            let numbering = binding.numbering;
            Ok(Bound { outputs, optional, inputs, features, times, count, elements, numbering })
        } else {
            Err(binding.errors)
        }
    }

    fn add_frames(&self, fps: f64, features: &mut Vec<(Feature, Given)>) {
        match &self.frames {
            None => {}
            Some(Frames::One(frame)) => {
                features.push((Feature::Tick, Given::One(Value::I64(*frame))));
                features.push((Feature::Time, Given::One(Value::F64(*frame as f64 / fps))));
            }
            Some(Frames::Many(frames)) => {
                let seconds: Vec<f64> = frames.iter().map(|frame| *frame as f64 / fps).collect();
                features.push((Feature::Tick, Given::PerTime(Column::from_vec(frames.clone()))));
                features.push((Feature::Time, Given::PerTime(Column::from_vec(seconds))));
            }
        }
    }
}

struct Binding<'p> {
    plan: &'p Plan,
    errors: Vec<RequestError>,
    /// Extent of the time axis and of the index axis, each with the data that opened it.
    extents: [Option<(usize, String)>; 2],
    /// The maximal size of a column in bytes.
    bytes: usize,
    /// See [`Bound::numbering`].
    numbering: Duration,
}

impl Binding<'_> {
    fn inputs(&mut self, given: &[(String, Given)]) -> Vec<Option<BoundData>> {
        let plan = self.plan;
        let mut bound: Vec<Option<BoundData>> = vec![None; plan.inputs.len()];
        let named =
            Named::new(plan.inputs.as_slice().iter().map(|input| &*input.name), given.len());
        for (name, given) in given {
            let Some(position) = named.position(name) else {
                let names = plan.inputs.as_slice().iter().map(|input| &*input.name);
                let hint = hint(name, names, "the graph has no inputs", "inputs");
                self.errors.push(RequestError::UnknownInput { name: name.clone(), hint });
                continue;
            };
            if bound[position].is_some() {
                self.errors.push(RequestError::Twice { name: name.clone() });
                continue;
            }
            bound[position] = self.data(name, plan.inputs.as_slice()[position].ty, given);
        }
        bound
    }

    /// Fills in defaults. A missing input without a default is an error if a requested output reads
    /// it; inputs with wrong data were reported before.
    fn with_defaults(
        &mut self,
        given: Vec<Option<BoundData>>,
        named: &[(String, Given)],
        outputs: &[usize],
    ) -> Vec<BoundData> {
        let plan = self.plan;
        let lacking = |(input, data): (&GraphInput, &Option<BoundData>)| {
            data.is_none() && input.default.is_none()
        };
        if plan.inputs.as_slice().iter().zip(&given).any(lacking) {
            let read = inputs_read(plan, outputs);
            for ((id, input), data) in plan.inputs.iter().zip(&given) {
                let is_named = || named.iter().any(|(name, _)| **name == *input.name);
                if lacking((input, data)) && read[id] && !is_named() {
                    let (name, ty) = (input.name.to_string(), input.ty);
                    self.errors.push(RequestError::MissingInput { name, ty });
                }
            }
        }
        let filled = |(input, data): (&GraphInput, Option<BoundData>)| {
            data.unwrap_or_else(|| {
                let value = input.default.clone().unwrap_or_else(|| input.ty.default_value());
                BoundData { data: Data::One(value), axis: None }
            })
        };
        plan.inputs.as_slice().iter().zip(given).map(filled).collect()
    }

    fn data(&mut self, name: &str, ty: Type, given: &Given) -> Option<BoundData> {
        let (column, axis) = match given {
            Given::One(value) => {
                let converted = convert_value(value, ty);
                if converted.is_none() {
                    let found = value.ty();
                    self.errors.push(RequestError::WrongType {
                        name: name.into(),
                        wanted: ty,
                        found,
                    });
                }
                return converted.map(|value| BoundData { data: Data::One(value), axis: None });
            }
            Given::PerIndex(column) => (column, RequestAxis::Index),
            Given::PerTime(column) => (column, RequestAxis::Time),
        };
        if column.ty() != ty {
            let found = column.ty();
            self.errors.push(RequestError::WrongType { name: name.into(), wanted: ty, found });
            return None;
        }
        let extent =
            self.extents[axis as usize].get_or_insert_with(|| (column.len(), format!("`{name}`")));
        if extent.0 != column.len() {
            self.errors.push(RequestError::Length {
                name: name.into(),
                axis: axis.name(),
                found: column.len(),
                expected: extent.0,
                because: extent.1.clone(),
            });
            return None;
        }
        Some(BoundData { data: Data::Many(column.clone()), axis: Some(axis) })
    }

    fn given_features(&mut self, given: Vec<(Feature, Given)>) -> Vec<(Feature, BoundData)> {
        let mut bound: Vec<(Feature, BoundData)> = Vec::new();
        for (feature, given) in given {
            if bound.iter().any(|(known, _)| *known == feature) {
                self.errors.push(RequestError::Twice { name: feature.name().into() });
                continue;
            }
            if let Some(data) = self.data(feature.name(), feature.ty(), &given) {
                bound.push((feature, data));
            }
        }
        bound
    }

    fn outputs(&mut self, names: Option<&[String]>) -> Vec<usize> {
        let Some(names) = names else {
            let outputs = self.plan.outputs.iter().enumerate();
            return outputs.filter(|(_, o)| !is_state(&o.name)).map(|(i, _)| i).collect();
        };
        let mut outputs = Vec::new();
        let named = Named::new(self.plan.outputs.iter().map(|output| &*output.name), names.len());
        for name in names {
            match named.position(name) {
                Some(output) => outputs.push(output),
                None => self.errors.push(RequestError::unknown_output(name, self.plan)),
            }
        }
        outputs
    }

    /// The data of each need of the outputs; a need without data is an error.
    fn needs(
        &mut self,
        outputs: &[usize],
        given: &[(Feature, BoundData)],
    ) -> Vec<Option<BoundData>> {
        let plan = self.plan;
        let mut features = vec![None; plan.needs.len()];
        for output in outputs {
            let output = &plan.outputs[*output];
            for bit in plan.needs_of(&plan.steps[output.source.step]).bits() {
                let need = plan.needs.need(bit);
                if need.aspect == Aspect::Extent || features[bit as usize].is_some() {
                    continue;
                }
                let data = given.iter().find(|(feature, _)| *feature == need.feature);
                let data =
                    data.map(|(_, data)| data.clone()).or_else(|| self.index_axis(&need.feature));
                match data {
                    Some(data) if need.level == 0 => features[bit as usize] = Some(data),
                    Some(_) | None => self.errors.push(missing(plan, output, bit)),
                }
            }
        }
        features
    }

    /// The elements asked for; `None` if these are all.
    fn elements(&mut self, mask: Option<&Mask>) -> Option<Mask> {
        let (mask, plan) = (mask?, self.plan);
        let count = self.extents[RequestAxis::Index as usize].as_ref().map(|(n, _)| *n);
        let last = mask.bounds().map(|bounds| bounds.end - 1);
        match (count, last) {
            (None, _) => self.errors.push(RequestError::NoElements),
            (Some(count), Some(element)) if element >= count => {
                self.errors.push(RequestError::NoSuchElement { element, count });
            }
            (Some(_), _) if plan.has_states() => self.errors.push(RequestError::Ticks {
                what: "the request asks for some of the elements".into(),
                hint: "ask for all elements, each of which goes on from its own state",
            }),
            (Some(count), _) if mask.len() == count => return None,
            (Some(_), _) => {}
        }
        Some(mask.clone())
    }

    /// The numbers of the elements, if `feature` is `index` and the index axis is open.
    fn index_axis(&mut self, feature: &Feature) -> Option<BoundData> {
        let (n, _) = self.extents[RequestAxis::Index as usize].as_ref()?;
        if *feature != Feature::Index {
            return None;
        }
        let bytes = n.saturating_mul(size_of::<i32>());
        let is_too_large = bytes > self.bytes;
        let n = if is_too_large { 0 } else { *n as i32 };
        if is_too_large {
            self.errors.push(RequestError::TooManyBytes { bytes, limit: self.bytes });
        }
        let started = Instant::now();
        let data = Data::Many((0..n).collect());
        self.numbering += started.elapsed();
        Some(BoundData { data, axis: Some(RequestAxis::Index) })
    }
}

/// The inputs that these outputs read.
fn inputs_read(plan: &Plan, outputs: &[usize]) -> SideTable<InputId, bool> {
    let mut read = SideTable::for_arena(&plan.inputs, false);
    let behind = plan.steps_upstream(outputs);
    for (id, step) in plan.steps.iter() {
        if let StepOp::Input(input) = step.op {
            read[input] |= behind[id];
        }
    }
    read
}

fn missing(plan: &Plan, output: &crate::plan::PlanOutput, bit: u32) -> RequestError {
    let need = plan.needs.need(bit);
    let hint = if need.level > 0 {
        format!("there are fewer than {} injectors of {} around it", need.level + 1, need.feature)
    } else {
        match &need.feature {
            Feature::Time => {
                "give a time or a frame, or inject one with `context.with_time`".into()
            }
            Feature::Tick => "give a frame".into(),
            Feature::Index => "give a count or a column, or put it inside a loop".into(),
            Feature::RealTime
            | Feature::Footprint
            | Feature::Position
            | Feature::Iteration
            | Feature::Vararg(..)
            | Feature::Custom(..) => {
                format!("provide {} in the request, or inject it in the graph", need.feature)
            }
        }
    };
    RequestError::MissingFeature {
        output: output.name.to_string(),
        need: need.to_string(),
        path: path_text(paths_of(plan, &trace_need(plan, output.source.step, bit)), ""),
        hint,
    }
}

fn hint<'a>(
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
    none: &str,
    all: &str,
) -> String {
    if let Some(near) = did_you_mean(name, known.clone()) {
        return format!("did you mean `{near}`?");
    }
    let names: Vec<&str> = known.take(20).collect();
    if names.is_empty() { none.into() } else { format!("{all}: {}", names.join(", ")) }
}
