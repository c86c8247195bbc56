//! Results kept between evaluations: before a step runs what it would read is looked up.
//!
//! Used by the incremental evaluator. The walk is that of any evaluation, so inputs are there, and
//! have stamps, when a step is about to run. If the step keeps a result that was made of the same
//! stamps, that is taken; if it covers a part of what is demanded, the rest is computed and the
//! result keeps its stamp. See `incremental::memo`.

use std::time::Instant;

use millstream_base::Mask;
use millstream_base::id::{Id, SideTable};
use millstream_ir::InputId;
use millstream_ir::answer::{Fate, RunReason, SkipReason};
use millstream_ir::plan::{StepId, StepOp};
use millstream_kernel::{Class, Data, Kernel};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::scope::LoopKey;
use super::{Demand, Evaluation, Gather, Place, Stop};
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
    /// What choices that are computed in part have read, for all parts.
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
            Some(data) => memo.stamp_of_feature(data, layout),
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
        self.recall_read(top, read, !gathers)
    }

    /// As [`Evaluation::recall`] for a choice that takes these arms.
    pub(super) fn recall_choice(
        &mut self,
        top: usize,
        selector: Place,
        arms: &[(usize, Place)],
    ) -> Result<bool, Stop> {
        if self.keeping.is_none() {
            return Ok(false);
        }
        let slot = self.stack[top].slot;
        // What was computed of it before, for other cells, came of the arms that those take.
        let is_rest = self.store.state(slot) == State::Partial;
        let before = self.keeping().parts.remove(&slot).filter(|_| is_rest);
        let mut read = before.unwrap_or_default();
        self.stamps_of(selector, &mut read);
        for (k, arm) in arms {
            read.push(OF_ARM | *k as u64);
            self.stamps_of(*arm, &mut read);
        }
        if !matches!(self.stack[top].demand, Demand::Full) {
            self.keeping().parts.insert(slot, read.clone());
        }
        self.recall_read(top, read, false)
    }

    /// As [`Evaluation::recall`] for a step that reads a feature.
    pub(super) fn recall_feature(
        &mut self,
        top: usize,
        data: &Data,
        shape: ShapeId,
    ) -> Result<bool, Stop> {
        if self.keeping.is_none() {
            return Ok(false);
        }
        let layout = self.layout_of(shape);
        let stamp = self.keeping().memo.stamp_of_feature(data, layout);
        self.recall_read(top, Stamps::from_slice(&[stamp]), false)
    }

    /// `may_extend` if a part of the demand can be computed alone, whatever was asked of the inputs.
    fn recall_read(&mut self, top: usize, read: Stamps, may_extend: bool) -> Result<bool, Stop> {
        let (step, slot) = (self.stack[top].step, self.stack[top].slot);
        let instance = &self.plan.instances[self.instance_id(step)];
        self.keeping().reading = None;
        // What a clock shows comes with the request, so reading it is as good as reading any feature.
        let reads = matches!(instance.kernel, Kernel::Read { .. });
        if instance.class >= Class::Stateful && !reads {
            return Ok(false);
        }
        let found = self.keeping().memo.find(step, &read, slot.index());
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
        let shelf = &self.keeping().memo.shelves[step.index()];
        let found = found.filter(|i| is_whole(&shelf.entries[*i]));
        if let Some(i) = found {
            let entry = &shelf.entries[i];
            let (layout, stamps, done) = (entry.layout, entry.stamps.clone(), entry.done.clone());
            let outputs = entry.outputs.clone();
            if let Some(shape) = self.shape_of_layout(layout) {
                let rest = match (&self.stack[top].demand, &done) {
                    (_, None) => Some(Mask::empty()),
                    (Demand::Full, Some(done)) => {
                        Some(Mask::full(self.shapes.n_cells(shape)?).difference(done))
                    }
                    (Demand::Part(cells), Some(done)) if cells.shape == shape => {
                        Some(cells.mask.difference(done))
                    }
                    // Made along other axes than it is asked for now.
                    (Demand::Part(_), Some(_)) => None,
                };
                // What this evaluation has computed must not get lost.
                let lacks = match (&done, self.store.state(slot)) {
                    (Some(done), State::Partial) => {
                        let computed = self.store.rest(slot).done.as_deref();
                        computed.is_some_and(|computed| !done.covers(computed))
                    }
                    (_, _) => false,
                };
                let rest = rest.filter(|_| !lacks);
                let Some(rest) = rest.filter(|rest| may_extend || rest.is_empty()) else {
                    return self.read_anew(top, read, None, reason);
                };
                let entry = &mut self.keeping().memo.shelves[step.index()].entries[i];
                (entry.used, entry.slot) = (epoch, slot.index());
                self.take_up(slot, shape, outputs, done);
                *self.keeping().slot(slot) = stamps;
                if rest.is_empty() {
                    self.log_recalled(step);
                    return Ok(true);
                }
                self.stack[top].demand = Demand::part(shape, rest);
                extends = Some(i);
            }
        }
        self.read_anew(top, read, extends, reason)
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
            self.log_recalled(step);
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
        let reason = if is_cut_off { SkipReason::CutOff } else { SkipReason::Cached };
        if let Some(entry) = self.log_entry(step)
            && entry.runs == 0
        {
            entry.fate = Fate::Skipped(reason);
        }
    }

    /// Keeps what the step of a task gave, which lies in its slot.
    pub(super) fn keep(&mut self, top: usize) {
        if self.keeping.is_none() {
            return;
        }
        let (step, slot) = (self.stack[top].step, self.stack[top].slot);
        let outputs = self.all_outputs(slot);
        let rest = self.store.rest(slot);
        let (shape, done) = (rest.shape, rest.done.as_deref().cloned());
        let layout = self.layout_of(shape);
        let keeping = self.keeping();
        let Some(Reading { read, extends, reason, started }) = keeping.reading.take() else {
            let stamps = outputs.iter().map(|_| keeping.memo.new_stamp()).collect();
            *keeping.slot(slot) = stamps;
            return;
        };
        let memo = &mut *keeping.memo;
        let (epoch, cost) = (memo.epoch, started.elapsed());
        let old =
            extends.or(if memo.shelves[step.index()].entries.is_empty() { None } else { Some(0) });
        let (mut outputs, mut lent) = (outputs, 0_u64);
        let mut stamps: SmallVec<[Stamp; 1]> = SmallVec::with_capacity(outputs.len());
        for (k, output) in outputs.iter_mut().enumerate() {
            let equality =
                output.as_ref().map_or(Equality::Exact, |data| memo.equality_of(data.ty()));
            let number = match (&*output, equality) {
                (Some(Data::One(value)), Equality::Exact) => memo.stamp_of_number(value),
                (Some(_) | None, _) => None,
            };
            if let Some(stamp) = number {
                stamps.push(stamp);
                continue;
            }
            let old = old.map(|old| &mut memo.shelves[step.index()].entries[old]);
            let kept = old.filter(|old| match extends {
                // Another entry may have gone on under the stamp, to other values.
                Some(_) => !old.has_lent(k),
                None => {
                    old.layout == layout && agrees(equality, old, k, output.as_ref(), done.as_ref())
                }
            });
            let kept = kept.map(|old| {
                lent |= old.lend(k, extends.is_some());
                (old.stamps[k], old.outputs[k].clone())
            });
            stamps.push(match kept {
                Some((stamp, passed_on)) => {
                    // What depends on it goes on seeing what it saw, or tolerances would add up.
                    if let (Equality::Within(_), None, Some(_)) = (equality, extends, &passed_on) {
                        *output = passed_on;
                    }
                    stamp
                }
                None => memo.new_stamp(),
            });
        }
        let cost = cost
            + extends.map_or(std::time::Duration::ZERO, |old| {
                memo.shelves[step.index()].entries[old].cost
            });
        let entry = Entry {
            read,
            layout,
            outputs,
            stamps: stamps.clone(),
            done,
            lent,
            used: epoch,
            slot: slot.index(),
            cost,
        };
        let passed_on = entry.outputs.clone();
        let has_tolerance = memo.has_tolerance();
        memo.keep(step, entry, extends);
        *keeping.slot(slot) = stamps;
        if has_tolerance {
            self.show(slot, passed_on);
        }
        if let Some(entry) = self.log_entry(step)
            && entry.runs <= 1
        {
            entry.fate = Fate::Ran(reason);
        }
    }
}

/// Whether what is computed now covers what was computed before, with equal values there; where others
/// may go on under the stamp, with the same cells.
fn agrees(
    equality: Equality,
    old: &Entry,
    k: usize,
    new: Option<&Data>,
    new_done: Option<&Mask>,
) -> bool {
    let (Some(before), Some(new)) = (&old.outputs[k], new) else {
        return old.outputs[k].is_none() && new.is_none();
    };
    let covers = match (&old.done, new_done) {
        (None, None) => true,
        (Some(_), None) => !old.has_lent(k),
        (None, Some(_)) => false,
        (Some(old_done), Some(new_done)) => {
            new_done.covers(old_done) && (!old.has_lent(k) || old_done.covers(new_done))
        }
    };
    covers && equality.of_data(before, new, old.done.as_ref())
}
