//! Results kept between evaluations: before a step runs what it would read is looked up.
//!
//! Used by the incremental evaluator. The walk is that of any evaluation, so inputs are there, and
//! have stamps, when a step is about to run. If the step keeps a result that was made of the same
//! stamps, that is taken; if it covers a part of what is demanded, the rest is computed and the
//! result keeps its stamp. See `incremental::memo`.
//!
//! What is asked for in parts may have been made of other things for each, such as the same body in
//! several contexts. The parts are told by what the first was made of, its cells, and so on.

mod results;

use std::time::Instant;

use millstream_base::Mask;
use millstream_base::id::{Id, SideTable};
use millstream_ir::InputId;
use millstream_ir::answer::{Fate, RunReason, SkipReason};
use millstream_ir::plan::{StepId, StepOp};
use millstream_node::{Class, Data, Kernel};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::scope::LoopKey;
use super::{Demand, Evaluation, Gather, Place, Stop};
use crate::frame::FeatId;
use crate::incremental::memo::{AxisKey, Entry, Equality, LayoutId, Memo, Stamp, Stamps};
use crate::shape::{AxisId, Extent, ShapeId, Shapes};
use crate::store::{Outputs, SlotId, State};

/// What an evaluation that keeps its results knows besides.
pub(super) struct Keeping<'m> {
    pub(super) memo: &'m mut Memo,
    inputs: SideTable<InputId, Stamp>,
    /// The stamps of each slot's outputs.
    slots: Vec<SmallVec<[Stamp; 1]>>,
    /// The stamps of the lists that were gathered for the step that runs.
    pub(super) gathered: Vec<Stamps>,
    axes: FxHashMap<AxisId, AxisKey>,
    layouts: FxHashMap<ShapeId, LayoutId>,
    /// What the step that runs reads.
    reading: Option<Reading>,
    /// What slots that are computed in part were made of, for all parts.
    parts: FxHashMap<SlotId, Stamps>,
}

/// A step that runs because nothing that it keeps covers the demand.
struct Reading {
    read: Stamps,
    /// The entry that it extends.
    extends: Option<usize>,
    reason: RunReason,
    started: Instant,
}

/// Marks what is no result of a step, so that no stamp of one is mistaken for it.
const OF_ARM: Stamp = 1 << 62;
const OF_NO_LIST: Stamp = 1 << 61;
const OF_PART: Stamp = 1 << 60;

impl<'m> Keeping<'m> {
    pub(super) fn new(memo: &'m mut Memo) -> Self {
        memo.epoch += 1;
        Self {
            memo,
            inputs: SideTable::from_vec(Vec::new()),
            slots: Vec::new(),
            gathered: Vec::new(),
            axes: FxHashMap::default(),
            layouts: FxHashMap::default(),
            reading: None,
            parts: FxHashMap::default(),
        }
    }

    fn slot(&mut self, slot: SlotId) -> &mut SmallVec<[Stamp; 1]> {
        let i = slot.index();
        if self.slots.len() <= i {
            self.slots.resize(i + 1, SmallVec::new());
        }
        &mut self.slots[i]
    }
}

impl<'a> Evaluation<'a> {
    /// Begins to keep results: gives the inputs their stamps.
    pub(super) fn start_keeping(&mut self, memo: &'a mut Memo) {
        self.keeping = Some(Box::new(Keeping::new(memo)));
        let plan = self.plan;
        let inputs = std::mem::replace(&mut self.inputs, SideTable::from_vec(Vec::new()));
        let mut stamps = Vec::with_capacity(inputs.len());
        for (id, (data, shape)) in inputs.iter() {
            let layout = self.layout_of(*shape);
            let name = &plan.inputs[id].name;
            stamps.push(self.keeping().memo.stamp_of_input(name, data, layout));
        }
        self.keeping().inputs = SideTable::from_vec(stamps);
        self.inputs = inputs;
    }

    pub(super) fn keeping(&mut self) -> &mut Keeping<'a> {
        self.keeping.as_mut().expect("only evaluations that keep results ask")
    }

    /// The axes of a shape as they are told apart across evaluations.
    pub(super) fn layout_of(&mut self, shape: ShapeId) -> LayoutId {
        if shape == Shapes::scalar() {
            return Memo::no_axes();
        }
        if let Some(known) = self.keeping().layouts.get(&shape) {
            return *known;
        }
        let axes: SmallVec<[AxisId; 4]> = self.shapes.axes_of(shape).into();
        let keys = axes.into_iter().map(|axis| self.axis_key(axis)).collect();
        let layout = self.keeping().memo.layout(keys);
        self.keeping().layouts.insert(shape, layout);
        layout
    }

    fn axis_key(&mut self, axis: AxisId) -> AxisKey {
        if let Some(known) = self.keeping().axes.get(&axis) {
            return known.clone();
        }
        let key = if self.request_axes.iter().any(|(known, _)| *known == axis) {
            let Extent::Even(n) = self.shapes.extent(axis) else {
                panic!("axes of a request are even");
            };
            AxisKey::Request(self.request_axis(axis), *n)
        } else {
            let known = self.loop_axes.iter().find(|(_, known)| **known == axis);
            let ((key, ordinal), _) = known.expect("an axis is of the request or of a loop");
            match (key.clone(), *ordinal) {
                (LoopKey::Even(n), ordinal) => AxisKey::Even(n, ordinal),
                (LoopKey::Ragged(parents, counts), ordinal) => {
                    AxisKey::Ragged(self.layout_of(parents), counts, ordinal)
                }
            }
        };
        self.keeping().axes.insert(axis, key.clone());
        key
    }

    /// The shape of a layout, if all of its axes are there, in the same order.
    pub(super) fn shape_of_layout(&mut self, layout: LayoutId) -> Option<ShapeId> {
        let keys = self.keeping().memo.axes_of(layout).to_vec();
        let mut shape = Shapes::scalar();
        let mut axes: SmallVec<[AxisId; 4]> = SmallVec::new();
        for key in keys {
            let axis = match key {
                AxisKey::Request(of, n) => {
                    let has = |axis: AxisId| matches!(self.shapes.extent(axis), Extent::Even(m) if *m == n);
                    let (axis, _) = self
                        .request_axes
                        .iter()
                        .find(|(axis, name)| *name == of.name() && has(*axis))?;
                    *axis
                }
                AxisKey::Even(n, ordinal) => *self.loop_axes.get(&(LoopKey::Even(n), ordinal))?,
                AxisKey::Ragged(parents, counts, ordinal) => {
                    let parents = self.shape_of_layout(parents)?;
                    *self.loop_axes.get(&(LoopKey::Ragged(parents, counts), ordinal))?
                }
            };
            let along = self.shapes.along(axis);
            shape = self.shapes.union(shape, along);
            axes.push(axis);
        }
        (self.shapes.axes_of(shape) == &axes[..]).then_some(shape)
    }

    /// The stamps of an operand.
    fn stamps_of(&mut self, place: Place, into: &mut Stamps) {
        match place {
            Place::Const(id) => into.push(self.keeping().memo.stamp_of_constant(id)),
            Place::Input(id) => into.push(self.keeping().inputs[id]),
            Place::Slot(slot, output) => {
                let stamp = self.keeping().slot(slot)[output as usize];
                into.push(stamp);
            }
            Place::Gathered(i) => {
                let stamps = self.keeping().gathered[i].clone();
                into.extend(stamps);
            }
        }
    }

    /// Notes the stamps of a list that was gathered.
    pub(super) fn note_gathered(&mut self, gather: Option<Gather>, body: Option<Place>) {
        if self.keeping.is_none() {
            return;
        }
        let mut stamps = Stamps::new();
        match gather {
            Some(Gather::Along(axis)) => {
                let along = self.shapes.along(axis);
                stamps.push(OF_NO_LIST | 2 | (self.layout_of(along).index() as u64) << 2);
            }
            Some(Gather::One) => stamps.push(OF_NO_LIST | 1),
            Some(Gather::Nothing) | None => stamps.push(OF_NO_LIST),
        }
        if let Some(body) = body {
            self.stamps_of(body, &mut stamps);
        }
        self.keeping().gathered.push(stamps);
    }

    fn all_outputs(&self, slot: SlotId) -> Box<[Option<Data>]> {
        match self.store.outputs(slot) {
            Outputs::None => [None].into(),
            Outputs::One(data) => [Some(data.clone())].into(),
            Outputs::Several(all) => all.clone(),
        }
    }

    /// Gives what is kept for elements, which lies in a slot, stamps by its bits.
    pub(super) fn stamp_kept(&mut self, slot: SlotId) {
        if self.keeping.is_none() {
            return;
        }
        let outputs = self.all_outputs(slot);
        let layout = self.layout_of(self.store.rest(slot).shape);
        let memo = &mut *self.keeping().memo;
        let stamps = outputs.iter().map(|output| match output {
            Some(data) => memo.stamp_of_feature(data, None, layout),
            None => memo.new_stamp(),
        });
        *self.keeping().slot(slot) = stamps.collect();
    }

    /// Looks up what the step of a task would compute from these operands; true if it is there now.
    /// If a part of it is, the demand becomes the rest.
    pub(super) fn recall(&mut self, top: usize, places: &[Place]) -> Result<bool, Stop> {
        if self.keeping.is_none() {
            return Ok(false);
        }
        let mut read = Stamps::new();
        for place in places {
            self.stamps_of(*place, &mut read);
        }
        let gathers = places.iter().any(|place| matches!(place, Place::Gathered(_)));
        let instance = &self.plan.instances[self.instance_id(self.stack[top].step)];
        let passes = matches!(instance.kernel, Kernel::Pass);
        let mut shape = Shapes::scalar();
        for place in &places[..if passes { 1 } else { places.len() }] {
            let (_, of) = self.read(*place);
            shape = self.shapes.union(shape, of);
        }
        self.recall_read(top, read, shape, !gathers)
    }

    /// As [`Evaluation::recall`] for a choice that takes these arms, which together have this shape.
    pub(super) fn recall_choice(
        &mut self,
        top: usize,
        selector: Place,
        arms: &[(usize, Place)],
        shape: ShapeId,
    ) -> Result<bool, Stop> {
        if self.keeping.is_none() {
            return Ok(false);
        }
        let mut read = Stamps::new();
        self.stamps_of(selector, &mut read);
        for (k, arm) in arms {
            read.push(OF_ARM | *k as u64);
            self.stamps_of(*arm, &mut read);
        }
        self.recall_read(top, read, shape, false)
    }

    /// As [`Evaluation::recall`] for a step that reads a feature. Unless a tolerance is wanted the stamp
    /// is that of the feature, whose other cells may become known later.
    pub(super) fn recall_feature(
        &mut self,
        top: usize,
        feat: FeatId,
        data: &Data,
        shape: ShapeId,
    ) -> Result<bool, Stop> {
        if self.keeping.is_none() {
            return Ok(false);
        }
        let (step, slot) = (self.stack[top].step, self.stack[top].slot);
        let layout = self.layout_of(shape);
        let known = self.frames.known(feat).cloned();
        let memo = &mut *self.keeping().memo;
        let (epoch, equality) = (memo.epoch, memo.equality_of(data.ty()));
        let stamp = memo.stamp_of_feature(data, known.as_ref(), layout);
        let found = memo.find(step, &[stamp], slot.index()).next();
        let Some(i) = found.filter(|_| equality == Equality::Exact) else {
            return self.recall_read(top, Stamps::from_slice(&[stamp]), shape, false);
        };
        memo.shelves[step.index()].entries[i].used = epoch;
        self.take_up(slot, shape, [Some(data.clone())].into(), None);
        *self.keeping().slot(slot) = [stamp].into();
        self.log_recalled(step);
        Ok(true)
    }

    /// `shape` is that of the result if it is asked for in full; `may_extend` if a part of the demand can be
    /// computed alone, whatever was asked of the inputs.
    fn recall_read(
        &mut self,
        top: usize,
        read: Stamps,
        shape: ShapeId,
        may_extend: bool,
    ) -> Result<bool, Stop> {
        let (step, slot) = (self.stack[top].step, self.stack[top].slot);
        let instance = &self.plan.instances[self.instance_id(step)];
        self.keeping().reading = None;
        // What a clock shows comes with the request, so reading it is as good as reading any feature.
        let reads = matches!(instance.kernel, Kernel::Read { .. });
        if instance.class >= Class::Stateful && !reads {
            return Ok(false);
        }
        let read = self.with_parts(top, read);
        let epoch = self.keeping().memo.epoch;
        let shelf = &self.keeping().memo.shelves[step.index()];
        let reason = if shelf.has_evicted(&read) {
            RunReason::Evicted
        } else if shelf.was_edited {
            RunReason::Edited
        } else if shelf.entries.is_empty() && shelf.failed.is_empty() {
            RunReason::First
        } else if reads {
            RunReason::FeatureChanged
        } else {
            RunReason::InputChanged
        };
        let mut extends = None;
        // What nobody read when it was made may be read now, in the plan of an edited document.
        let used = self.used_outputs[step.index()];
        let is_whole = |entry: &Entry| {
            let mut outputs = entry.outputs.iter().enumerate();
            outputs.all(|(k, output)| output.is_some() || used & 1 << k.min(63) == 0)
        };
        let memo = &*self.keeping().memo;
        let shelf = &memo.shelves[step.index()];
        let all = memo.find(step, &read, slot.index());
        let all: SmallVec<[usize; 2]> = all.filter(|i| is_whole(&shelf.entries[*i])).collect();
        for i in all {
            let entry = &self.keeping().memo.shelves[step.index()].entries[i];
            let (layout, stamps, done) = (entry.layout, entry.stamps.clone(), entry.done.clone());
            let outputs = entry.outputs.clone();
            let of = self.shape_of_layout(layout);
            let Some((shape, wanted)) = self.wanted_of(top, of, shape)? else { continue };
            let rest = done.as_ref().map_or_else(Mask::empty, |done| wanted.difference(done));
            if !rest.is_empty() && !may_extend {
                return self.read_anew(top, read, None, reason);
            }
            self.keeping().memo.shelves[step.index()].entries[i].used = epoch;
            // No more than was asked for: what the inputs are elsewhere is not known.
            let known = wanted.difference(&rest);
            let is_whole = known.len() == self.shapes.n_cells(shape)?;
            self.take_up(slot, shape, outputs, (!is_whole).then_some(known));
            *self.keeping().slot(slot) = stamps;
            if rest.is_empty() {
                self.log_recalled(step);
                return Ok(true);
            }
            self.stack[top].demand = Demand::part(shape, rest);
            extends = Some(i);
            break;
        }
        self.read_anew(top, read, extends, reason)
    }

    /// The cells of a task's step that are asked for or computed already, over the shape of something that
    /// was kept; nothing if that was made along other axes than those of what is asked for in full.
    fn wanted_of(
        &mut self,
        top: usize,
        shape: Option<ShapeId>,
        full: ShapeId,
    ) -> Result<Option<(ShapeId, Mask)>, Stop> {
        let Some(shape) = shape else { return Ok(None) };
        let asked = match self.stack[top].demand.clone() {
            Demand::Full if shape != full => return Ok(None),
            Demand::Full => Mask::full(self.shapes.n_cells(shape)?),
            Demand::Part(cells) if self.shapes.union(shape, cells.shape) == cells.shape => {
                self.shapes.project(cells.shape, &cells.mask, shape)?
            }
            Demand::Part(_) => return Ok(None),
        };
        let slot = self.stack[top].slot;
        let rest = self.store.rest(slot);
        Ok(match (self.store.state(slot), rest.done.as_deref()) {
            (State::Partial, Some(done)) if rest.shape == shape => Some((shape, asked.union(done))),
            (State::Partial, _) => None,
            (_, _) => Some((shape, asked)),
        })
    }

    /// What is read for this part of a slot, behind that for the parts before if it is not the same.
    fn with_parts(&mut self, top: usize, read: Stamps) -> Stamps {
        let (slot, is_part) = (self.stack[top].slot, self.stack[top].demand.is_part());
        let is_rest = self.store.state(slot) == State::Partial;
        let before = self.keeping().parts.remove(&slot).filter(|_| is_rest);
        let all = match before {
            Some(mut before) if !before.ends_with(&read) => {
                let rest = self.store.rest(slot);
                let (shape, done) = (rest.shape, rest.done.as_deref().cloned());
                let layout = self.layout_of(shape);
                before.push(OF_PART);
                before.extend(done.map(|done| self.keeping().memo.stamp_of_cells(&done, layout)));
                before.extend(read);
                before
            }
            Some(before) => before,
            None => read,
        };
        if is_part {
            self.keeping().parts.insert(slot, all.clone());
        }
        all
    }

    /// Notes what the step of a task reads, which it has to unless it is known to fail with that;
    /// then it does, and the answer is true.
    fn read_anew(
        &mut self,
        top: usize,
        read: Stamps,
        extends: Option<usize>,
        reason: RunReason,
    ) -> Result<bool, Stop> {
        if self.fails_again(top, &read)? {
            let step = self.stack[top].step;
            self.log_skipped(step, SkipReason::Failed);
            return Ok(true);
        }
        let started = Instant::now();
        self.keeping().reading = Some(Reading { read, extends, reason, started });
        Ok(false)
    }

    /// What the step that runs has read, and why it runs, to be kept with its failure.
    pub(super) fn take_reading(&mut self) -> Option<(Stamps, RunReason)> {
        let reading = self.keeping.as_mut()?.reading.take()?;
        Some((reading.read, reading.reason))
    }

    /// Puts a kept result into a slot.
    fn take_up(
        &mut self,
        slot: SlotId,
        shape: ShapeId,
        outputs: Box<[Option<Data>]>,
        done: Option<Mask>,
    ) {
        self.store.set_state(slot, if done.is_some() { State::Partial } else { State::Full });
        let rest = self.store.rest_mut(slot);
        rest.shape = shape;
        rest.done = done.map(Box::new);
        self.show(slot, outputs);
    }

    fn show(&mut self, slot: SlotId, outputs: Box<[Option<Data>]>) {
        *self.store.outputs_mut(slot) = Outputs::new(outputs.into_vec());
    }

    fn log_recalled(&mut self, step: StepId) {
        let Some(log) = &self.log else { return };
        let links = self.plan.inputs_of(&self.plan.steps[step]);
        let ran = |step: StepId| matches!(log[step.index()].fate, Fate::Ran(_));
        let is_cut_off = links
            .iter()
            .any(|link| matches!(self.plan.steps[link.step].op, StepOp::Call(_)) && ran(link.step));
        self.log_skipped(step, if is_cut_off { SkipReason::CutOff } else { SkipReason::Cached });
    }

    fn log_skipped(&mut self, step: StepId, reason: SkipReason) {
        if let Some(entry) = self.log_entry(step)
            && entry.runs == 0
        {
            entry.fate = Fate::Skipped(reason);
        }
    }
}
