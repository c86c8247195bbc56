//! Requests: the outputs that a caller asks for, and the data to compute them from.
//!
//! A caller names outputs, sets inputs by name, and provides context features. A column given for
//! an input varies along the request's `index` axis. A list of times or frames opens the `time`
//! axis and several views open the `view` axis, both outside `index`. [`Request::bind`] checks the
//! whole request against a plan before anything runs.

mod along_index;
mod binding;
mod error;
mod given;
mod named;
mod one_by_one;
mod ticks;

use std::time::Duration;

use millstream_base::feature::Aspect;
use millstream_base::{Budget, Column, Feature, Footprint, Limits, Mask, Need, Value};
use millstream_node::{Data, Kernel};

use crate::element_states::Tables;
use crate::plan::{Plan, Step, StepId, StepOp};
use crate::progress::Progress;

pub use along_index::reads_along_index;
pub use binding::hint;
pub use error::{RequestError, fewer_cells, product_in_words};
pub use one_by_one::{OneByOne, Split};

/// The data for an input or a feature.
#[derive(Clone, Debug)]
pub enum Given {
    /// One value for all cells.
    One(Value),
    /// A value per cell of an axis of the request.
    Along(RequestAxis, Column),
}

/// The contents of the run log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogDetail {
    /// Nothing.
    #[default]
    Off,
    /// The number of runs and elements of each step, with the reason.
    Counts,
    /// As [`Counts`](Self::Counts), with times.
    Times,
}

/// The outputs to compute, with the inputs, the context and the limits.
#[derive(Clone, Debug, Default)]
pub struct Request {
    outputs: Option<Vec<String>>,
    optional: Vec<String>,
    inputs: Vec<(String, Given)>,
    features: Vec<(Feature, Given)>,
    count: Option<usize>,
    elements: Option<Mask>,
    whole_axis: bool,
    frames: Option<Frames>,
    kept: Tables,
    called: Vec<usize>,
    partial: bool,
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
    /// Views, along which `footprint` varies.
    View,
    /// Elements, along which `index` and the columns of inputs vary.
    Index,
}

impl RequestAxis {
    /// All axes, outermost first.
    pub const ALL: [Self; 3] = [Self::Time, Self::View, Self::Index];

    /// The name in messages and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::View => "view",
            Self::Index => "index",
        }
    }

    /// What one cell of the axis is, for messages.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Time => "moment",
            Self::View => "view",
            Self::Index => "element",
        }
    }

    /// The axis along which a feature that the request provides varies.
    pub fn of(need: &Need) -> Option<Self> {
        if need.level > 0 {
            return None;
        }
        match need.feature {
            Feature::Index | Feature::Position => Some(Self::Index),
            Feature::Time | Feature::Tick => Some(Self::Time),
            Feature::Footprint => Some(Self::View),
            Feature::RealTime | Feature::Iteration | Feature::Vararg(..) | Feature::Custom(..) => {
                None
            }
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

/// Some of the elements of the index axis.
#[derive(Clone, Debug)]
pub enum Chosen {
    /// The axis has all elements, of which evaluators compute these.
    Masked(Mask),
    /// The axis has only these elements, and so have all inputs and features along it. Nodes that
    /// read the number of elements see that of all.
    Kept {
        /// The elements.
        elements: Mask,
        /// The number of all elements.
        of: usize,
    },
}

impl Chosen {
    /// The elements that the axis has, if it has only these.
    fn kept(&self) -> Option<&Mask> {
        match self {
            Self::Kept { elements, .. } => Some(elements),
            Self::Masked(_) => None,
        }
    }
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
    /// Extent of the view axis, if the request opens it.
    pub views: Option<usize>,
    /// Extent of the index axis, if the request opens it.
    pub count: Option<usize>,
    /// The first element of each moment of the request that this evaluation is a part of; empty if
    /// it is none, or the elements are not those of several moments.
    pub moments: Vec<usize>,
    /// The elements asked for, if they are some of the index axis.
    pub chosen: Option<Chosen>,
    /// Time spent making the element numbers, if they are needed.
    pub numbering: Duration,
}

impl Bound {
    /// The extent of an axis, if the request opens it.
    pub fn extent(&self, axis: RequestAxis) -> Option<usize> {
        match axis {
            RequestAxis::Time => self.times,
            RequestAxis::View => self.views,
            RequestAxis::Index => self.count,
        }
    }

    /// The elements that evaluators compute, if the axis has others too.
    pub fn masked(&self) -> Option<&Mask> {
        match &self.chosen {
            Some(Chosen::Masked(mask)) => Some(mask),
            Some(Chosen::Kept { .. }) | None => None,
        }
    }

    /// The elements that the index axis has if they are not all, and the number of all.
    pub fn kept_of(&self) -> Option<(&Mask, usize)> {
        match &self.chosen {
            Some(Chosen::Kept { elements, of }) => Some((elements, *of)),
            Some(Chosen::Masked(_)) | None => None,
        }
    }

    /// Whether the request is for some elements of the index axis.
    pub fn is_for_some(&self) -> bool {
        self.chosen.is_some()
    }

    /// Whether the request opens no axis.
    pub fn is_single(&self) -> bool {
        RequestAxis::ALL.iter().all(|axis| self.extent(*axis).is_none())
    }

    /// Whether an axis of the request is empty.
    pub fn has_no_cells(&self) -> bool {
        RequestAxis::ALL.iter().any(|axis| self.extent(*axis) == Some(0))
    }

    /// Number of cells of all axes of the request together. No step may have that many: each has
    /// the axes along which it varies.
    pub fn n_cells(&self) -> usize {
        let extents = RequestAxis::ALL.iter().map(|axis| self.extent(*axis).unwrap_or(1));
        extents.fold(1, usize::saturating_mul)
    }

    /// Refuses more cells of all axes together than allowed, where every output is written for all
    /// of them.
    ///
    /// # Errors
    /// If there are more.
    pub fn check_cells(&self, limits: &Limits) -> Result<(), RequestError> {
        let (cells, limit) = (self.n_cells(), limits.cells());
        if cells > limit { Err(RequestError::TooManyCells { cells, limit }) } else { Ok(()) }
    }

    /// The step that reads the element numbers, with the time spent making them; `None` if they
    /// were not made.
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
        self.inputs.push((name.into(), Given::Along(RequestAxis::Index, column.into())));
        self
    }

    /// Sets an input to a value per moment.
    pub fn per_time(mut self, name: impl Into<String>, column: impl Into<Column>) -> Self {
        self.inputs.push((name.into(), Given::Along(RequestAxis::Time, column.into())));
        self
    }

    /// Sets an input to a value per view.
    pub fn per_view(mut self, name: impl Into<String>, column: impl Into<Column>) -> Self {
        self.inputs.push((name.into(), Given::Along(RequestAxis::View, column.into())));
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

    /// Requests only these elements of the `index` axis: columns of the answer have a value for
    /// each of them. Other elements are computed only if nodes reduce or look up along the axis.
    pub fn mask(mut self, elements: Mask) -> Self {
        self.elements = Some(elements);
        self
    }

    /// Keeps the `index` axis of all elements where only some are requested, so that evaluators that
    /// store results find those of the same elements, whichever were requested. Answers do not
    /// depend on it.
    pub fn on_whole_axis(mut self) -> Self {
        self.whole_axis = true;
        self
    }

    /// Provides `time` in seconds.
    pub fn time(self, seconds: f64) -> Self {
        self.feature(Feature::Time, Given::One(Value::F64(seconds)))
    }

    /// Opens the `time` axis with these moments in seconds.
    pub fn times(self, seconds: Vec<f64>) -> Self {
        self.feature(Feature::Time, Given::Along(RequestAxis::Time, Column::from_vec(seconds)))
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

    /// Requests this view instead of any other.
    pub fn view(mut self, view: Footprint) -> Self {
        self.features.retain(|(feature, _)| *feature != Feature::Footprint);
        self.feature(Feature::Footprint, Given::One(view.into()))
    }

    /// Opens the `view` axis with these views, instead of any other.
    pub fn views(mut self, views: Vec<Footprint>) -> Self {
        self.features.retain(|(feature, _)| *feature != Feature::Footprint);
        self.feature(Feature::Footprint, Given::Along(RequestAxis::View, Column::from_vec(views)))
    }

    /// Requests also the cells that did not fail of outputs of which others did
    /// ([`OutputAnswer::partial`](crate::answer::OutputAnswer::partial)). Each has the value that it
    /// has in the whole answer. It costs nothing unless a cell fails; then the output is evaluated
    /// again, in parts without cells known to fail.
    pub fn with_partial(mut self) -> Self {
        self.partial = true;
        self
    }

    /// Does without the cells of outputs of which others failed.
    pub fn without_partial(mut self) -> Self {
        self.partial = false;
        self
    }

    /// Whether cells of outputs are requested of which others failed.
    pub fn wants_partial(&self) -> bool {
        self.partial
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
        binding::bind(self, plan)
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
                features.push((
                    Feature::Tick,
                    Given::Along(RequestAxis::Time, Column::from_vec(frames.clone())),
                ));
                features.push((
                    Feature::Time,
                    Given::Along(RequestAxis::Time, Column::from_vec(seconds)),
                ));
            }
        }
    }
}
