//! Stages: a plan that consists of regions, run without visiting single steps.
//!
//! If the outputs depend only on members of regions, inputs, constants and features of the request,
//! every step varies along known axes of the request: time, view and index. The members of all
//! regions with the same axes are one fused form, a *stage*; stages of fewer axes run before those
//! that read them. A choice that varies between elements is part of a stage if its region selects
//! among its arms, which are then computed for all elements. Stages depend on the plan, the
//! requested outputs and the axes of inputs and features, not on the data; they are made once and
//! stored with the plan.

use std::time::Duration;

use millstream_base::feature::{Aspect, Need};
use millstream_base::id::Id;
use millstream_base::map::Map;
use millstream_base::{Column, Mask, Type};
use millstream_form::{LaneInput, LaneOutput, LaneSliceMut};
use millstream_ir::answer::{RunLog, Timing};
use millstream_ir::plan::{Plan, StepId, StepOp, StepSource};
use millstream_ir::request::{Bound, BoundData, LogDetail, Request, RequestAxis};
use millstream_ir::{Done, InputId, Watch};
use millstream_node::{Data, Kernel};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::buffers::Buffers;
use crate::fuse::{Fused, Member, fuse, width};
use crate::lanes::{lane_slice, lane_slice_mut, push_inputs, reborrow};
use crate::laps::Laps;
use crate::shares::{Sample, shared};
use crate::spread::Crew;

/// Maximal number of instructions that are fused into one form.
const MAX_INSTRUCTIONS: usize = 1 << 16;

/// A set of axes of the request; the bit of each is its position in [`RequestAxis::ALL`].
pub(crate) type Axes = u8;

/// The extent of each axis, 1 where the request has no such axis.
pub(crate) type Extents = [usize; RequestAxis::ALL.len()];

const ALL: Axes = (1 << RequestAxis::ALL.len()) - 1;

/// The bit of an axis.
pub(crate) const fn bit(axis: RequestAxis) -> Axes {
    1 << axis as u32
}

/// The bit of the axis of data.
pub(crate) fn axes_of(data: &BoundData) -> Axes {
    data.axis.map_or(0, bit)
}

/// The number of cells of axes.
pub(crate) fn n_cells(axes: Axes, extents: Extents) -> usize {
    let of_axis = |axis: &RequestAxis| extents[*axis as usize];
    let axes = RequestAxis::ALL.iter().filter(|axis| axes & bit(**axis) != 0);
    axes.map(of_axis).fold(1, usize::saturating_mul)
}

/// The map from the cells of `to` to the entries of data over `from`, a subset of its axes.
///
/// # Panics
/// If no simple map exists: see [`is_apart`].
fn map(from: Axes, to: Axes, extents: Extents) -> Map<'static> {
    let rest = to & !from;
    if from == 0 {
        Map::Single
    } else if rest == 0 {
        Map::Each
    } else if highest(from) < lowest(rest) {
        Map::Stretch(n_cells(rest, extents))
    } else {
        assert!(lowest(from) > highest(rest), "stages are not made for such axes");
        Map::Tile(n_cells(from, extents))
    }
}

fn lowest(axes: Axes) -> u32 {
    axes.trailing_zeros()
}

fn highest(axes: Axes) -> u32 {
    axes.ilog2()
}

/// Whether cells over all axes would read data over these axes with other axes both outside and
/// inside them, or between them.
fn is_apart(axes: Axes, all: Axes) -> bool {
    let rest = all & !axes;
    axes != 0 && rest != 0 && highest(axes) > lowest(rest) && lowest(axes) < highest(rest)
}

/// The origin of data that no stage computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// An input of the plan.
    Input(InputId),
    /// The feature of a need.
    Feature(u32),
}

/// The place of data while stages run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// A constant of the plan.
    Const(millstream_ir::graph::ConstId),
    /// Data given by the request.
    Given(u32),
    /// Data that a stage computes.
    Value(u32),
}

/// Data that is given or computed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) ty: Type,
    pub(crate) axes: Axes,
}

/// The steps of one set of axes.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) axes: Axes,
    pub(crate) members: Vec<Member>,
    pub(crate) fused: Fused,
    /// The places of the inputs of the fused form.
    inputs: Vec<At>,
    /// The number of the value of its first output; those of the others follow.
    first_value: u32,
}

/// A plan of forms alone, for certain outputs and axes.
#[derive(Debug)]
pub(crate) struct Stages {
    pub(crate) stages: Vec<Stage>,
    /// The given data, with its origin.
    pub(crate) given: Vec<(Origin, Item)>,
    pub(crate) values: Vec<Item>,
    /// The requested outputs.
    pub(crate) outputs: Vec<(At, Item)>,
    /// For each value the output that it is, if it has all axes and only the caller reads it.
    sinks: Vec<Option<u32>>,
    /// Steps that read a feature, with the number of the given data.
    pub(crate) reads: Vec<(StepId, u32)>,
}

/// The working memory and limits of stages.
pub(crate) struct Tools<'a> {
    pub(crate) crew: &'a mut Crew,
    pub(crate) buffers: &'a mut Buffers,
    /// The clock, if times are wanted.
    pub(crate) clock: Option<&'a mut StageClock>,
}

/// The clock of stages.
#[derive(Debug)]
pub(crate) struct StageClock {
    laps: Laps,
    /// The time of each stage.
    times: Vec<Duration>,
}

impl StageClock {
    /// A clock, if the request wants times.
    pub(crate) fn of(request: &Request) -> Option<Self> {
        let new = || Self { laps: Laps::start(), times: Vec::new() };
        (request.log == LogDetail::Times).then(new)
    }

    /// Adds the times of stages that ran to a log, divided among their members.
    pub(crate) fn tell(
        mut self,
        log: &mut RunLog,
        (plan, stages): (&Plan, &Stages),
        extents: Extents,
        given: &[Column],
        values: &[Option<Column>],
    ) {
        self.laps.take();
        for (stage, time) in stages.stages.iter().zip(&self.times) {
            if let [member] = stage.members[..] {
                log.entries[member.step.index()].time += *time;
                continue;
            }
            for (step, time) in stages.shares(plan, (stage, *time), extents, given, values) {
                let entry = &mut log.entries[step.index()];
                entry.time += time;
                entry.timing = Timing::Share;
            }
        }
        self.laps.measured();
        log.measuring = self.laps.measuring;
    }
}

/// The parts of a request that stages depend on.
pub(crate) fn key(bound: &Bound) -> Vec<u8> {
    let mut key = Vec::with_capacity(bound.outputs.len() * 4 + bound.inputs.len() + 8);
    bound.outputs.iter().for_each(|output| key.extend((*output as u32).to_le_bytes()));
    key.extend(bound.inputs.iter().map(axes_of));
    key.extend(bound.features.iter().map(|data| data.as_ref().map_or(u8::MAX, axes_of)));
    // The open axes determine which values are over all axes.
    key.push(full_axes(bound));
    key
}

/// The axes that the request opens.
pub(crate) fn full_axes(bound: &Bound) -> Axes {
    let open = RequestAxis::ALL.iter().filter(|axis| bound.extent(**axis).is_some());
    open.fold(0, |axes, axis| axes | bit(*axis))
}

impl Stages {
    /// The stages for a request; `None` if the outputs depend on other steps than forms, or data
    /// varies along axes that no simple map repeats.
    pub(crate) fn new(plan: &Plan, bound: &Bound) -> Option<Self> {
        let steps = reached(plan, bound);
        let mut making = Making {
            plan,
            bound,
            given: Vec::new(),
            axes: FxHashMap::default(),
            at: FxHashMap::default(),
            reads: Vec::new(),
            values: Vec::new(),
        };
        let mut n_instructions = 0;
        for step in &steps {
            n_instructions += making.place(*step)?;
        }
        let all = full_axes(bound);
        if n_instructions > MAX_INSTRUCTIONS
            || making.axes.values().any(|axes| is_apart(*axes, all))
        {
            return None;
        }
        let mut stages = Vec::new();
        for axes in 0..=ALL {
            stages.extend(making.stage(&steps, axes));
        }
        let sources = bound.outputs.iter().map(|output| &plan.outputs[*output]);
        let outputs: Vec<(At, Item)> = sources
            .map(|output| {
                let item = Item { ty: output.ty, axes: making.axes[&output.source.step] };
                (making.at(output.source), item)
            })
            .collect();
        let mut sinks = vec![None; making.values.len()];
        for (k, (at, item)) in outputs.iter().enumerate() {
            let reads = stages.iter().flat_map(|stage| &stage.inputs).filter(|input| *input == at);
            let others = outputs.iter().filter(|(other, _)| other == at);
            if let At::Value(value) = at
                && item.axes == full_axes(bound)
                && reads.count() == 0
                && others.count() == 1
            {
                sinks[*value as usize] = Some(k as u32);
            }
        }
        let Making { given, reads, values, .. } = making;
        Some(Self { stages, given, values, outputs, sinks, reads })
    }

    /// The largest number of cells of a stage.
    pub(crate) fn most_cells(&self, extents: Extents) -> usize {
        self.stages.iter().map(|stage| n_cells(stage.axes, extents)).max().unwrap_or(1)
    }

    /// Size in bytes of the values for which the caller provides no memory.
    pub(crate) fn bytes(&self, extents: Extents, has_sinks: bool) -> usize {
        let own = self.values.iter().zip(&self.sinks);
        let own = own.filter(|(_, sink)| !has_sinks || sink.is_none());
        let size = |item: &Item| item.ty.size().saturating_mul(n_cells(item.axes, extents));
        own.fold(0, |all, (item, _)| all.saturating_add(size(item)))
    }

    /// Runs all stages. `given` are columns, of one entry for a single value; `values` become
    /// columns, which reuse the old ones or `buffers`. With `sinks`, one for each output, the
    /// values that only the caller reads are written there. The result is the work done, which is
    /// incomplete if the watch says that the answer is no longer wanted.
    pub(crate) fn run(
        &self,
        extents: Extents,
        given: &[Column],
        values: &mut Vec<Option<Column>>,
        mut sinks: Option<&mut [LaneSliceMut<'_>]>,
        tools: Tools<'_>,
        watch: Option<&Watch<'_>>,
    ) -> Done {
        let Tools { crew, buffers, mut clock } = tools;
        values.resize(self.values.len(), None);
        let mut ran = Done::default();
        for stage in &self.stages {
            if watch.is_some_and(|watch| watch.ended(ran).is_some()) {
                break;
            }
            let (n, n_members) = (n_cells(stage.axes, extents), stage.members.len());
            let range = stage.first_value as usize..;
            let range = range.start..range.start + stage.fused.outputs.len();
            let mut own: SmallVec<[Option<Column>; 4]> = SmallVec::new();
            for (value, sink) in values[range.clone()].iter_mut().zip(&self.sinks[range.clone()]) {
                let ty = stage.fused.outputs[own.len()].ty;
                let to_sink = sinks.is_some() && sink.is_some();
                own.push((!to_sink).then(|| match value.take() {
                    Some(column) if column.len() == n => column,
                    Some(_) | None => buffers.column(ty, n),
                }));
            }
            let inputs = self.inputs(stage, extents, given, values);
            let mut outputs = Vec::with_capacity(own.len());
            let mut to_sinks: SmallVec<[Option<LaneSliceMut<'_>>; 4]> = SmallVec::new();
            if let Some(sinks) = sinks.as_deref_mut() {
                to_sinks.extend(sinks.iter_mut().map(|sink| Some(reborrow(sink))));
            }
            for (k, column) in own.iter_mut().enumerate() {
                let width = width(stage.fused.outputs[k].ty);
                let first = stage.fused.first_results[k];
                let lanes = match column {
                    Some(column) => lane_slice_mut(column),
                    None => {
                        let sink = self.sinks[range.start + k].expect("it goes to a sink");
                        to_sinks[sink as usize].take().expect("a sink takes one value")
                    }
                };
                outputs.push(LaneOutput { lanes, first, width, offset: 0, stride: width });
            }
            let is_over = |n_done| {
                watch.is_some_and(|watch| watch.ended(ran.and(n_members, n_done)).is_some())
            };
            crew.run(&stage.fused.form, &inputs, outputs, &Mask::full(n), &is_over);
            ran = ran.and(n_members, n);
            drop(inputs);
            for (value, column) in values[range].iter_mut().zip(own) {
                *value = column;
            }
            if let Some(clock) = &mut clock {
                clock.times.push(clock.laps.take());
            }
        }
        ran
    }

    /// The times of the members of a stage that ran, as shares of its time.
    fn shares(
        &self,
        plan: &Plan,
        (stage, time): (&Stage, Duration),
        extents: Extents,
        given: &[Column],
        values: &[Option<Column>],
    ) -> Vec<(StepId, Duration)> {
        let mask = Mask::full(n_cells(stage.axes, extents));
        let mut sample = Sample::of(plan, &mask, stage.members.len());
        for (source, at) in stage.fused.inputs.iter().zip(&stage.inputs) {
            let (column, axes) = self.data(*at, given, values);
            sample.give(*source, column, map(axes, stage.axes, extents));
        }
        let members = stage.members.iter();
        let weights = members.map(|member| (member.step, sample.seconds_of(*member)));
        let weights: Vec<(StepId, f64)> = weights.collect();
        shared(time, &weights).collect()
    }

    /// The data of an input of a stage, and its axes.
    fn data<'a>(
        &self,
        at: At,
        given: &'a [Column],
        values: &'a [Option<Column>],
    ) -> (&'a Column, Axes) {
        match at {
            At::Given(k) => (&given[k as usize], self.given[k as usize].1.axes),
            At::Value(k) => {
                let column = values[k as usize].as_ref();
                (column.expect("stages come in order"), self.values[k as usize].axes)
            }
            At::Const(_) => unreachable!("constants are part of the fused form"),
        }
    }

    fn inputs<'a>(
        &self,
        stage: &Stage,
        extents: Extents,
        given: &'a [Column],
        values: &'a [Option<Column>],
    ) -> SmallVec<[LaneInput<'a>; 16]> {
        let mut inputs = SmallVec::new();
        for at in &stage.inputs {
            let (column, axes) = self.data(*at, given, values);
            let map = map(axes, stage.axes, extents);
            push_inputs(&mut inputs, column, map);
        }
        inputs
    }

    /// Writes the outputs that are not in the caller's memory yet to it.
    pub(crate) fn fill_sinks(
        &self,
        plan: &Plan,
        extents: Extents,
        given: &[Column],
        values: &[Option<Column>],
        sinks: &mut [LaneSliceMut<'_>],
        all: Axes,
    ) {
        for ((at, item), sink) in self.outputs.iter().zip(sinks) {
            let constant;
            let column = match at {
                At::Value(k) => match &values[*k as usize] {
                    Some(column) => column,
                    None => continue,
                },
                At::Given(k) => &given[*k as usize],
                At::Const(id) => {
                    constant = column_of(&plan.constants[*id]);
                    &constant
                }
            };
            copy_into(column, map(item.axes, all, extents), sink, n_cells(all, extents));
        }
    }
}

/// A column as it is, a single value as a column of one entry.
pub(crate) fn column_of(data: &Data) -> Column {
    match data {
        Data::One(value) => Column::filled(value, 1),
        Data::Many(column) => column.clone(),
    }
}

/// Writes the entries of a column for `n` cells.
///
/// # Panics
/// If the slice is shorter, or of another lane.
pub(crate) fn copy_into(column: &Column, map: Map<'_>, to: &mut LaneSliceMut<'_>, n: usize) {
    let (lanes, width) = lane_slice(column);
    macro_rules! copy {
        ($($lane:ident),*) => {
            match (lanes, to) {
                $((millstream_form::LaneSlice::$lane(from), LaneSliceMut::$lane(to)) => {
                    let to = &mut to[..n * width];
                    if map == Map::Each {
                        return to.copy_from_slice(&from[..n * width]);
                    }
                    for (cell, to) in to.chunks_exact_mut(width).enumerate() {
                        to.copy_from_slice(&from[map.entry(cell) * width..][..width]);
                    }
                })*
                (from, to) => panic!("{} are not written as {}", from.lane(), to.lane()),
            }
        };
    }
    copy!(Bool, I32, I64, F32, F64);
}

/// The steps that the requested outputs depend on, in order.
fn reached(plan: &Plan, bound: &Bound) -> Vec<StepId> {
    let behind = plan.steps_upstream(&bound.outputs);
    behind.iter().filter(|(_, is_behind)| **is_behind).map(|(id, _)| id).collect()
}

struct Making<'p> {
    plan: &'p Plan,
    bound: &'p Bound,
    given: Vec<(Origin, Item)>,
    axes: FxHashMap<StepId, Axes>,
    /// The places of the outputs of steps, without constants.
    at: FxHashMap<(StepId, u32), At>,
    reads: Vec<(StepId, u32)>,
    values: Vec<Item>,
}

impl Making<'_> {
    /// The axes of a step whose sources are known, and its instructions; `None` if stages do not
    /// support its kind.
    fn place(&mut self, id: StepId) -> Option<usize> {
        let plan = self.plan;
        let step = &plan.steps[id];
        match step.op {
            StepOp::Const(constant) => {
                self.axes.insert(id, 0);
                matches!(plan.constants[constant], Data::One(_)).then_some(0)
            }
            StepOp::Input(input) => {
                let data = &self.bound.inputs[input.index()];
                self.give(id, Origin::Input(input), data);
                Some(0)
            }
            StepOp::Call(instance) => {
                let instance = &plan.instances[instance];
                if let Kernel::Read { feature, level: 0, aspect: Aspect::Value } = &instance.kernel
                {
                    let need = Need { feature: feature.clone(), level: 0, aspect: Aspect::Value };
                    let bit = plan.needs.find(&need)?;
                    let data = self.bound.features[bit as usize].as_ref()?;
                    let k = self.give(id, Origin::Feature(bit), data);
                    self.reads.push((id, k));
                    return Some(0);
                }
                let links = plan.inputs_of(step);
                let axes = links.iter().fold(0, |axes, link| axes | self.axes[&link.step]);
                self.axes.insert(id, axes);
                let mark = plan.region_of(id)?;
                let Some(form) = instance.plain_form() else {
                    // A choice that is the same for all elements has an arm that is not taken.
                    let selects = !mark.only_uniform && self.axes[&links[0].step] != 0;
                    return selects.then_some(links.len() * width(instance.outputs[0].ty));
                };
                Some(form.insts.len())
            }
        }
    }

    fn give(&mut self, id: StepId, from: Origin, data: &BoundData) -> u32 {
        let item = Item { ty: data.data.ty(), axes: axes_of(data) };
        self.axes.insert(id, item.axes);
        let known = self.given.iter().position(|(known, _)| *known == from);
        let k = known.unwrap_or_else(|| {
            self.given.push((from, item));
            self.given.len() - 1
        });
        self.at.insert((id, 0), At::Given(k as u32));
        k as u32
    }

    fn at(&self, source: StepSource) -> At {
        match self.plan.steps[source.step].op {
            StepOp::Const(id) => At::Const(id),
            StepOp::Input(_) | StepOp::Call(_) => self.at[&(source.step, source.output)],
        }
    }

    /// The stage of these axes, if any step has them.
    fn stage(&mut self, steps: &[StepId], axes: Axes) -> Option<Stage> {
        let plan = self.plan;
        let is_member = |id: &&StepId| self.axes[*id] == axes && plan.region_of(**id).is_some();
        let members: Vec<Member> =
            steps.iter().filter(is_member).map(|id| Member::whole(*id)).collect();
        if members.is_empty() {
            return None;
        }
        let mut wanted: rustc_hash::FxHashSet<(StepId, u32)> = self
            .bound
            .outputs
            .iter()
            .map(|output| plan.outputs[*output].source)
            .map(|source| (source.step, source.output))
            .collect();
        for id in steps.iter().filter(|id| self.axes[id] != axes) {
            let links = plan.inputs_of(&plan.steps[*id]).iter();
            wanted.extend(links.map(|link| (link.step, link.output)));
        }
        let fused = fuse(plan, &members, |step, output| wanted.contains(&(step, output)));
        let inputs = fused.inputs.iter().map(|source| self.at(*source)).collect();
        let first_value = self.values.len() as u32;
        for output in &fused.outputs {
            let at = At::Value(self.values.len() as u32);
            self.at.insert((members[output.member as usize].step, output.output), at);
            self.values.push(Item { ty: output.ty, axes });
        }
        Some(Stage { axes, members, fused, inputs, first_value })
    }
}
