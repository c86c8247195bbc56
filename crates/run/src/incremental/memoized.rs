//! The walk with a memo: before a step runs, its result is looked up by the stamps of its operands.
//!
//! The walk proceeds as in the plain mode, so operands exist and have stamps when a step is about
//! to run. If the memo has a result of the step for the same stamps, that is used; if the result
//! covers a part of the demand, the rest is computed and the result keeps its stamp (`results`). A
//! failure is looked up in the same way (`failed`).
//!
//! The parts of a slot that is demanded in parts may have different operands, such as the same body
//! in several contexts. The parts are distinguished by the stamps of the first part, its cells, and
//! so on.

use std::time::Instant;

use millstream_base::id::{Id, SideTable};
use millstream_base::{Column, Mask};
use millstream_ir::InputId;
use millstream_ir::answer::{Answer, EvalError, Fate, RunReason, SkipReason};
use millstream_ir::plan::{Plan, StepId, StepOp, StepSource};
use millstream_ir::request::{Bound, Request};
use millstream_node::unsettled::Rounds;
use millstream_node::{Class, Data, Failure, Instance, Kernel};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::changes::{Read, Wanted};
use super::chunks::Missed;
use super::memo::{AxisKey, Entry, Equality, LayoutId, Memo, Stamp, Stamps};
use crate::frame::FeatId;
use crate::shape::{AxisId, Extent, ShapeId, Shapes};
use crate::store::{Outputs, SlotId, State};
use crate::walk::{Arm, Demand, Gather, Gathered, LoopKey, Mode, Place, Progress, Run, Stop, Walk};

/// The mode of the walk that looks results up in a memo.
pub(super) struct Memoized<'m> {
    pub(super) memo: &'m mut Memo,
    /// The stamp of each input of the plan.
    inputs: SideTable<InputId, Stamp>,
    /// The stamps of each slot's outputs.
    slots: Vec<SmallVec<[Stamp; 1]>>,
    axes: FxHashMap<AxisId, AxisKey>,
    layouts: FxHashMap<ShapeId, LayoutId>,
    /// The look-up for the step that runs.
    pub(super) reading: Option<Reading>,
    /// For each slot that is partly computed, the stamps of the operands of all parts.
    parts: FxHashMap<SlotId, Stamps>,
    /// The chunks whose members are visited, by the slots of their roots.
    pub(super) missed: FxHashMap<SlotId, Missed>,
    /// Reused memory for the boundary of a chunk.
    pub(super) boundary: Vec<StepSource>,
}

/// A step that runs because no entry of the memo covers the demand.
pub(super) struct Reading {
    pub(super) read: Stamps,
    /// The entry that it extends.
    pub(super) extends: Option<usize>,
    /// The entry for other operands from which it takes the elements that are unchanged.
    pub(super) base: Option<usize>,
    /// The partial results of blocks of the list that it folds.
    pub(super) partials: Option<Column>,
    pub(super) reason: RunReason,
    pub(super) started: Instant,
    /// The repeats that did not settle.
    pub(super) unsettled: Rounds,
}

impl Reading {
    pub(super) fn new(read: Stamps, reason: RunReason) -> Self {
        let started = Instant::now();
        let unsettled = Rounds::new();
        Self { read, extends: None, base: None, partials: None, reason, started, unsettled }
    }

    /// With the entry whose unchanged elements are in the store.
    pub(super) fn of_base(self, base: usize) -> Self {
        Self { base: Some(base), ..self }
    }
}

/// Marks among stamps, which differ from all stamps of results.
const OF_ARM: Stamp = 1 << 62;
const OF_NO_LIST: Stamp = 1 << 61;
const OF_PART: Stamp = 1 << 60;

impl<'m> Memoized<'m> {
    fn new(memo: &'m mut Memo) -> Self {
        memo.epoch += 1;
        memo.changes.begin(memo.shelves.len());
        Self {
            memo,
            inputs: SideTable::from_vec(Vec::new()),
            slots: Vec::new(),
            axes: FxHashMap::default(),
            layouts: FxHashMap::default(),
            reading: None,
            parts: FxHashMap::default(),
            missed: FxHashMap::default(),
            boundary: Vec::new(),
        }
    }

    /// The stamps of the outputs of a slot.
    pub(super) fn slot(&mut self, slot: SlotId) -> &mut SmallVec<[Stamp; 1]> {
        let i = slot.index();
        if self.slots.len() <= i {
            self.slots.resize(i + 1, SmallVec::new());
        }
        &mut self.slots[i]
    }
}

impl Mode for Memoized<'_> {
    const KEEPS_RESULTS: bool = true;

    /// Assigns stamps to the inputs.
    fn begin(walk: &mut Walk<'_, Self>, _bound: &Bound) -> Result<(), EvalError> {
        let plan = walk.plan;
        let mut stamps = Vec::with_capacity(plan.inputs.len());
        for (id, input) in plan.inputs.iter() {
            let layout = walk.layout_of(walk.inputs[id].1);
            let data = &walk.inputs[id].0;
            stamps.push(walk.mode.memo.stamp_of_input(&input.name, data, layout));
        }
        walk.mode.inputs = SideTable::from_vec(stamps);
        Ok(())
    }

    #[inline]
    fn advance(walk: &mut Walk<'_, Self>, top: usize) -> Result<Option<Progress>, Stop> {
        walk.advance_chunk(top)
    }

    #[inline]
    fn leave(walk: &mut Walk<'_, Self>, top: usize) {
        if !walk.mode.missed.is_empty() {
            walk.keep_chunk(walk.stack[top].slot);
        }
    }

    fn before_run(
        walk: &mut Walk<'_, Self>,
        top: usize,
        instance: &Instance,
        places: &[Place],
    ) -> Result<Run, Stop> {
        let is_there =
            walk.recall(top, instance, places)? || walk.fold_by_blocks(top, instance, places)?;
        Ok(if is_there { Run::Elsewhere } else { Run::Here })
    }

    /// Called when a choice has read its selector and the arms that cells take.
    fn before_choice(
        walk: &mut Walk<'_, Self>,
        top: usize,
        selector: Place,
        arms: &[Arm],
        shape: ShapeId,
    ) -> Result<bool, Stop> {
        let mut read = Stamps::new();
        walk.stamps_of(selector, &mut read);
        let (_, of) = walk.read(selector);
        let mut all = vec![Read { stamp: 0, place: selector, shape: of, cells: None, along: None }];
        for Arm { number, place, shape: of, cells } in arms {
            read.push(OF_ARM | *number as u64);
            let cells = Some((cells.0, cells.1.clone()));
            all.push(Read { stamp: read.len(), place: *place, shape: *of, cells, along: None });
            walk.stamps_of(*place, &mut read);
        }
        let wanted = Wanted::of(shape, &all);
        walk.recall_read(top, read, &wanted)
    }

    /// Without a tolerance the stamp of the result is that of the feature, whose other cells may
    /// become known later.
    fn before_feature(
        walk: &mut Walk<'_, Self>,
        top: usize,
        feat: FeatId,
        data: &Data,
        shape: ShapeId,
    ) -> Result<bool, Stop> {
        let (step, slot) = (walk.stack[top].step, walk.stack[top].slot);
        let layout = walk.layout_of(shape);
        let known = walk.frames.known(feat);
        let memo = &mut *walk.mode.memo;
        let (epoch, equality) = (memo.epoch, memo.equality_of(data.ty()));
        let stamp = memo.stamp_of_feature(data, known, layout);
        let found = memo.find(step, &[stamp], slot.index()).next();
        let Some(i) = found.filter(|_| equality == Equality::Exact) else {
            let wanted = Wanted::of(shape, &[]);
            return walk.recall_read(top, Stamps::from_slice(&[stamp]), &wanted);
        };
        memo.shelves[step.index()].entries[i].used = epoch;
        walk.take_up(slot, shape, [Some(data.clone())].into(), None);
        *walk.mode.slot(slot) = [stamp].into();
        walk.log_recalled(step);
        Ok(true)
    }

    fn unsettled(walk: &mut Walk<'_, Self>, rounds: &Rounds) {
        if let Some(reading) = &mut walk.mode.reading {
            reading.unsettled.clone_from(rounds);
        }
    }

    fn stored(walk: &mut Walk<'_, Self>, top: usize) {
        walk.keep(top);
    }

    fn failed(walk: &mut Walk<'_, Self>, top: usize, failure: Failure, shape: ShapeId) {
        walk.keep_failure(top, failure, shape);
    }
}

/// Evaluates with a memo.
pub(super) fn evaluate(
    plan: &Plan,
    request: &Request,
    bound: &Bound,
    memo: &mut Memo,
) -> Result<Answer, EvalError> {
    Walk::new(plan, request, bound, Memoized::new(memo)).answer(bound)
}

impl Walk<'_, Memoized<'_>> {
    /// The axes of a shape, as identified across evaluations.
    pub(super) fn layout_of(&mut self, shape: ShapeId) -> LayoutId {
        if shape == Shapes::scalar() {
            return Memo::no_axes();
        }
        if let Some(known) = self.mode.layouts.get(&shape) {
            return *known;
        }
        let axes: SmallVec<[AxisId; 4]> = self.shapes.axes_of(shape).into();
        let keys = axes.into_iter().map(|axis| self.axis_key(axis)).collect();
        let layout = self.mode.memo.layout(keys);
        self.mode.layouts.insert(shape, layout);
        layout
    }

    fn axis_key(&mut self, axis: AxisId) -> AxisKey {
        if let Some(known) = self.mode.axes.get(&axis) {
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
        self.mode.axes.insert(axis, key.clone());
        key
    }

    /// The shape of a layout, if all of its axes exist in the same order.
    pub(super) fn shape_of_layout(&mut self, layout: LayoutId) -> Option<ShapeId> {
        let keys = self.mode.memo.axes_of(layout).to_vec();
        let mut shape = Shapes::scalar();
        let mut axes: SmallVec<[AxisId; 4]> = SmallVec::new();
        for key in keys {
            let axis = match key {
                AxisKey::Request(of, n) => {
                    let has = |axis: AxisId| matches!(self.shapes.extent(axis), Extent::Even(m) if *m == n);
                    let (axis, _) = self
                        .request_axes
                        .iter()
                        .find(|(axis, known)| *known == of && has(*axis))?;
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
    pub(super) fn stamps_of(&mut self, place: Place, into: &mut Stamps) {
        match place {
            Place::Const(id) => into.push(self.mode.memo.stamp_of_constant(id)),
            Place::Input(id) => into.push(self.mode.inputs[id]),
            Place::Slot(slot, output) => {
                let stamp = self.mode.slot(slot)[output as usize];
                into.push(stamp);
            }
            Place::Gathered(i) => self.stamps_of_lists(i, into),
        }
    }

    /// The stamps of lists that were gathered for the step that runs.
    fn stamps_of_lists(&mut self, at: usize, into: &mut Stamps) {
        let (gather, body) = (self.gathered[at].gather, self.gathered[at].body);
        match gather {
            Some(Gather::Along(axis)) => {
                let along = self.shapes.along(axis);
                into.push(OF_NO_LIST | 2 | (self.layout_of(along).index() as u64) << 2);
            }
            Some(Gather::One) => into.push(OF_NO_LIST | 1),
            Some(Gather::Nothing) | None => into.push(OF_NO_LIST),
        }
        if let Some(body) = body {
            self.stamps_of(body, into);
        }
    }

    pub(super) fn all_outputs(&self, slot: SlotId) -> Box<[Option<Data>]> {
        match self.store.outputs(slot) {
            Outputs::None => [None].into(),
            Outputs::One(data) => [Some(data.clone())].into(),
            Outputs::Several(all) => all.clone(),
        }
    }

    /// Gives the state of elements, which is in a slot, stamps by its bits.
    pub(super) fn stamp_state(&mut self, slot: SlotId) {
        let outputs = self.all_outputs(slot);
        let layout = self.layout_of(self.store.rest(slot).shape);
        let memo = &mut *self.mode.memo;
        let stamps = outputs.iter().map(|output| match output {
            Some(data) => memo.stamp_of_feature(data, None, layout),
            None => memo.new_stamp(),
        });
        *self.mode.slot(slot) = stamps.collect();
    }

    /// Looks up the result of a task's step for these operands; returns whether it is in the store
    /// now. If only a part of it is, the demand becomes the rest.
    fn recall(&mut self, top: usize, instance: &Instance, places: &[Place]) -> Result<bool, Stop> {
        let mut read = Stamps::new();
        let gathers = places.iter().any(|place| matches!(place, Place::Gathered(_)));
        let mut by_element: SmallVec<[Read; 4]> = SmallVec::new();
        for place in places {
            let (operand, along) = match place {
                Place::Gathered(i) => {
                    let Gathered { gather, body, .. } = &self.gathered[*i];
                    let axis = gather.and_then(Gather::axis);
                    (body.unwrap_or(*place), axis)
                }
                place => (*place, None),
            };
            self.stamps_of(*place, &mut read);
            let (stamp, shape) = (read.len() - 1, self.read(operand).1);
            by_element.push(Read { stamp, place: operand, shape, cells: None, along });
        }
        let passes = matches!(instance.kernel, Kernel::Pass);
        let mut shape = Shapes::scalar();
        for place in &places[..if passes { 1 } else { places.len() }] {
            let (_, of) = self.read(*place);
            shape = self.shapes.union(shape, of);
        }
        let by_element = &by_element[..];
        let is_strict = !self.scoped[self.instance_id(self.stack[top].step)];
        let wanted = Wanted { shape, is_strict, may_extend: !gathers, by_element, gathers };
        self.recall_read(top, read, &wanted)
    }

    /// As [`Walk::recall`] for these stamps.
    fn recall_read(&mut self, top: usize, read: Stamps, of: &Wanted<'_>) -> Result<bool, Stop> {
        let (step, slot) = (self.stack[top].step, self.stack[top].slot);
        let instance = &self.plan.instances[self.instance_id(step)];
        self.mode.reading = None;
        // The time of a clock comes with the request, so it is looked up like any feature.
        let reads = matches!(instance.kernel, Kernel::Read { .. });
        if instance.class >= Class::Stateful && !reads {
            return Ok(false);
        }
        let read = self.with_parts(top, read);
        let epoch = self.mode.memo.epoch;
        let reason = self.reason(step, &read, reads);
        // The entry that is extended, and one with other operands from which elements are taken over.
        let (mut extends, mut more) = (None, None);
        // The plan of an edited document may read outputs that were not read when the result was
        // made.
        let used = self.used_outputs[step.index()];
        let is_whole = |entry: &Entry| {
            let mut outputs = entry.outputs.iter().enumerate();
            outputs.all(|(k, output)| output.is_some() || used & 1 << k.min(63) == 0)
        };
        let memo = &*self.mode.memo;
        let shelf = &memo.shelves[step.index()];
        let all = memo.find(step, &read, slot.index());
        let all: SmallVec<[usize; 2]> = all.filter(|i| is_whole(&shelf.entries[*i])).collect();
        for i in all {
            let entry = &self.mode.memo.shelves[step.index()].entries[i];
            let (layout, stamps, done) = (entry.layout, entry.stamps.clone(), entry.done.clone());
            let (outputs, unsettled) = (entry.outputs.clone(), entry.unsettled.clone());
            let Some(shape) = self.shape_of_layout(layout) else { continue };
            let Some(wanted) = self.wanted_of(top, shape, of)? else { continue };
            let rest = done.as_ref().map_or_else(Mask::empty, |done| wanted.difference(done));
            if !rest.is_empty() && !of.may_extend {
                return self.note_reading(top, read, None, reason);
            }
            self.mode.memo.note_return(step, i);
            self.mode.memo.shelves[step.index()].entries[i].used = epoch;
            // At most the demanded cells: elsewhere the inputs are not known.
            let known = wanted.difference(&rest);
            let is_whole = known.len() == self.shapes.n_cells(shape)?;
            self.take_up(slot, shape, outputs, (!is_whole).then_some(known));
            *self.mode.slot(slot) = stamps;
            self.mark(step, unsettled);
            if rest.is_empty() {
                self.log_recalled(step);
                return Ok(true);
            }
            let (rest, base) = self.take_more_unchanged(top, &read, (shape, rest, i), of)?;
            more = base;
            extends = Some(i);
            if rest.is_empty() {
                let reading = Reading::new(read, reason);
                self.mode.reading = Some(Reading { extends, base, ..reading });
                self.keep(top);
                self.log_recalled(step);
                return Ok(true);
            }
            self.stack[top].demand = Demand::part(shape, rest);
            break;
        }
        if extends.is_none()
            && let Some((base, is_all)) = self.take_unchanged(top, &read, of)?
        {
            if is_all {
                self.mode.reading = Some(Reading::new(read, reason).of_base(base));
                self.keep(top);
                self.log_recalled(step);
                return Ok(true);
            }
            if self.note_reading(top, read.clone(), None, reason)? {
                self.keep_unchanged(top, &read, reason, Some(base));
                return Ok(true);
            }
            self.mode.reading = self.mode.reading.take().map(|reading| reading.of_base(base));
            return Ok(false);
        }
        let fails = self.note_reading(top, read, extends, reason)?;
        if let Some(reading) = &mut self.mode.reading {
            reading.base = more;
        }
        Ok(fails)
    }

    /// Why a step runs with these stamps; `reads` says that it reads a feature.
    fn reason(&self, step: StepId, read: &Stamps, reads: bool) -> RunReason {
        let shelf = &self.mode.memo.shelves[step.index()];
        if shelf.has_evicted(read) {
            RunReason::Evicted
        } else if shelf.was_edited {
            RunReason::Edited
        } else if shelf.entries.is_empty() && shelf.failed.is_empty() {
            RunReason::First
        } else if reads {
            RunReason::FeatureChanged
        } else {
            RunReason::InputChanged
        }
    }

    /// The cells of a task's step that are demanded or computed already, over the shape of an
    /// entry; `None` if the entry has other axes than this demand.
    ///
    /// A step that is demanded in part has all axes along which it may vary; the result of another
    /// demand or context may have fewer. If another part of the slot takes another arm or has
    /// another scope, it may vary along the others, so only a strict step uses such a result.
    pub(super) fn wanted_of(
        &mut self,
        top: usize,
        shape: ShapeId,
        of: &Wanted<'_>,
    ) -> Result<Option<Mask>, Stop> {
        let asked = match self.stack[top].demand.clone() {
            Demand::Full if shape != of.shape => return Ok(None),
            Demand::Full => Mask::full(self.shapes.n_cells(shape)?),
            Demand::Part(cells)
                if shape == cells.shape
                    || of.is_strict
                        && self.shapes.union(shape, cells.shape) == cells.shape
                        && self.shapes.union(of.shape, shape) == shape =>
            {
                self.shapes.project(cells.shape, &cells.mask, shape)?
            }
            Demand::Part(_) => return Ok(None),
        };
        let slot = self.stack[top].slot;
        let rest = self.store.rest(slot);
        Ok(match (self.store.state(slot), rest.done.as_deref()) {
            (State::Partial, Some(done)) if rest.shape == shape => Some(asked.union(done)),
            (State::Partial, _) => None,
            (_, _) => Some(asked),
        })
    }

    /// The stamps read for this part of a slot, after those of earlier parts if they differ.
    fn with_parts(&mut self, top: usize, read: Stamps) -> Stamps {
        let (slot, is_part) = (self.stack[top].slot, self.stack[top].demand.is_part());
        let is_rest = self.store.state(slot) == State::Partial;
        let before = self.mode.parts.remove(&slot).filter(|_| is_rest);
        let all = match before {
            Some(mut before) if !before.ends_with(&read) => {
                let rest = self.store.rest(slot);
                let (shape, done) = (rest.shape, rest.done.as_deref().cloned());
                let layout = self.layout_of(shape);
                before.push(OF_PART);
                before.extend(done.map(|done| self.mode.memo.stamp_of_cells(&done, layout)));
                before.extend(read);
                before
            }
            Some(before) => before,
            None => read,
        };
        if is_part {
            self.mode.parts.insert(slot, all.clone());
        }
        all
    }

    /// Records the stamps that a task's step reads when it is about to run. If the step is known to
    /// fail with them, it fails instead, and the result is true.
    fn note_reading(
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
        self.mode.reading = Some(Reading { extends, ..Reading::new(read, reason) });
        Ok(false)
    }

    /// Puts a result of the memo into a slot.
    pub(super) fn take_up(
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

    pub(super) fn show(&mut self, slot: SlotId, outputs: Box<[Option<Data>]>) {
        *self.store.outputs_mut(slot) = Outputs::new(outputs.into_vec());
    }

    pub(super) fn log_recalled(&mut self, step: StepId) {
        if self.log_entry(step).is_none() {
            return;
        }
        let plan = self.plan;
        let mut calls = plan
            .inputs_of(&plan.steps[step])
            .iter()
            .filter(|link| matches!(plan.steps[link.step].op, StepOp::Call(_)));
        let is_cut_off = calls.any(|link| {
            let entry = self.log_entry(link.step);
            entry.is_some_and(|entry| matches!(entry.fate, Fate::Ran(_)))
        });
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
