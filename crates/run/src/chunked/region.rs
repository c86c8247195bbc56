//! Regions: members of a region of the plan that run as one form.
//!
//! In this mode of the walk a member of a region that may vary does not ask for its inputs, but for
//! the sources that its cone (`cone`) reads from outside. Once these exist, the shapes of the
//! members are known. Members with the shape of the step run together, chunk by chunk; members with
//! fewer axes are asked for, and so computed on fewer cells. Only members that are read from
//! outside get a column. Without choices all links within a region are strict, so exactly the cells
//! are computed that the plain walk computes.
//!
//! Loops whose lists are folded are handled in `unrolled`.

use std::sync::Arc;

use millstream_base::id::Id;
use millstream_base::{Column, Mask};
use millstream_form::{LaneInput, LaneOutput};
use millstream_ir::answer::Timing;
use millstream_ir::plan::{LinkKind, Plan, StepId, StepOp, StepSource};
use millstream_ir::request::{Bound, BoundData};
use millstream_node::Data;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::Regions;
use super::cone::Cone;
use crate::frame::{Feat, FrameId};
use crate::fuse::{Fused, FusedOutput, Member, fuse, position, width};
use crate::lanes::{lane_slice_mut, push_inputs};
use crate::shape::{CellMap, ShapeId, Shapes};
use crate::shares::{Sample, shared};
use crate::spread::Crew;
use crate::store::{SlotId, State};
use crate::walk::{Demand, Mode, Progress, Stop, Task, Walk};

/// Maximal number of times a step looks for its pipeline, then for its cone with choices, and then
/// without; then it runs alone.
pub(super) const MAX_TRIES: u8 = 8;

/// The turn of a step that looks for its cone with choices.
const WITH_CHOICES: u8 = 20;

/// The turn of a step that looks for its cone without choices.
const WITHOUT_CHOICES: u8 = 50;

/// The turn of a step that runs alone, as in the plain walk.
pub(super) const ALONE: u8 = 100;

/// The mode of the walk that runs members of regions together.
pub(super) struct Fusing<'a> {
    pub(super) regions: &'a Regions,
    /// Whether loops are unrolled if their lists are folded.
    pub(super) unrolls: bool,
    /// Whether choices with several selector values are members of regions. Where all elements take
    /// one arm they then have the axes of the other arms too, which may be too many cells.
    selects: bool,
    pub(super) crew: &'a mut Crew,
    /// Whether a step may depend on an input of the request that is a column.
    input_varies: Vec<bool>,
    frame_varies: FxHashMap<FrameId, bool>,
    /// For each step the number of the last search for a cone that visited it.
    pub(super) met: Vec<u32>,
    pub(super) n_searches: u32,
}

impl<'a> Fusing<'a> {
    pub(super) fn new(
        plan: &Plan,
        bound: &Bound,
        (regions, unrolls, selects): (&'a Regions, bool, bool),
        crew: &'a mut Crew,
    ) -> Self {
        let mut input_varies = vec![false; plan.steps.len()];
        let varies = |given: &BoundData| matches!(given.data, Data::Many(_));
        if bound.inputs.iter().any(varies) {
            for (id, step) in plan.steps.iter() {
                input_varies[id.index()] = match step.op {
                    StepOp::Input(input) => varies(&bound.inputs[input.index()]),
                    StepOp::Const(_) => false,
                    StepOp::Call(_) => {
                        plan.inputs_of(step).iter().any(|link| input_varies[link.step.index()])
                    }
                };
            }
        }
        let met = vec![0; plan.steps.len()];
        Self {
            regions,
            unrolls,
            selects,
            crew,
            input_varies,
            frame_varies: FxHashMap::default(),
            met,
            n_searches: 0,
        }
    }
}

impl Mode for Fusing<'_> {
    #[inline]
    fn advance(walk: &mut Walk<'_, Self>, top: usize) -> Result<Option<Progress>, Stop> {
        let Task { step, frame, turn, .. } = walk.stack[top];
        if turn >= ALONE {
            return Ok(None);
        }
        let in_region = walk.plan.region_of(step).is_some() && walk.may_vary(step, frame);
        if !in_region && !walk.folds_loop(step) {
            return Ok(None);
        }
        if turn == 0 && !walk.start(top)? {
            return Ok(Some(Progress::Done));
        }
        if in_region { walk.advance_region(top).map(Some) } else { walk.advance_loop(top) }
    }

    fn n_threads(&self) -> usize {
        self.crew.threads
    }
}

impl Walk<'_, Fusing<'_>> {
    /// Whether a step may have more than one value in a context.
    pub(super) fn may_vary(&mut self, step: StepId, frame: FrameId) -> bool {
        let fusing = &mut self.mode;
        if fusing.input_varies[step.index()] {
            return true;
        }
        let frames = &self.frames;
        *fusing.frame_varies.entry(frame).or_insert_with(|| {
            frames.feats_of(frame).any(|feat| match frames.value(feat) {
                Feat::Value(data, _) => matches!(data, Data::Many(_)),
                Feat::Position(_) | Feat::Axis(Some(_)) | Feat::Symbolic(_) => true,
                Feat::Axis(None) => false,
            })
        })
    }

    /// Advances a member of a region as the last of its cone.
    pub(super) fn advance_region(&mut self, top: usize) -> Result<Progress, Stop> {
        let Task { step, frame, slot, turn, .. } = self.stack[top];
        if turn > 0 && self.store.is_done(slot) {
            return Ok(Progress::Done);
        }
        if turn < WITH_CHOICES {
            if let Some(progress) = self.advance_pipeline(top)? {
                return Ok(progress);
            }
            self.stack[top].turn = if self.mode.selects { WITH_CHOICES } else { WITHOUT_CHOICES };
        }
        let turn = self.stack[top].turn;
        let choices = turn < WITHOUT_CHOICES;
        if turn == MAX_TRIES + if choices { WITH_CHOICES } else { WITHOUT_CHOICES } {
            return Ok(self.without(top, choices));
        }
        self.stack[top].turn = turn + 1;
        let Some(cone) = self.cone(step, frame, choices) else {
            return Ok(self.without(top, choices));
        };
        if !cone.unknown.is_empty() {
            let asked = self.ask_uncovered(top, &cone.unknown)?;
            return Ok(if asked { Progress::Waiting } else { self.without(top, choices) });
        }
        if self.ask_uncovered(top, &cone.outside)? {
            return Ok(Progress::Waiting);
        }
        let demand = self.stack[top].demand.clone();
        let mut failed = false;
        for source in &cone.outside {
            let place = self.place(*source, frame);
            failed |= self.has_failed(place, &demand)?;
        }
        let shapes = if failed { None } else { self.member_shapes(top, &cone.members)? };
        let shape = shapes
            .as_ref()
            .map_or(Shapes::scalar(), |shapes| *shapes.last().expect("the step is a member"));
        let (Some(shapes), true) = (shapes, shape != Shapes::scalar()) else {
            return if cone.has_choices() {
                Ok(self.without(top, choices))
            } else {
                self.run_apart(top, &cone.members)
            };
        };
        let single = self.single_selectors(&cone, &shapes);
        if !single.is_empty() {
            let asked = self.ask_uncovered(top, &single)?;
            return Ok(if asked { Progress::Waiting } else { self.without(top, choices) });
        }
        let mut members = Vec::with_capacity(cone.members.len());
        let mut narrower = Vec::new();
        for (member, of) in cone.members.iter().zip(&shapes) {
            if *of == shape {
                members.push(*member);
            } else {
                narrower.push(StepSource { step: member.step, output: 0 });
            }
        }
        if !narrower.is_empty() {
            let plan = self.plan;
            narrower.retain(|narrow| {
                let mut links = members.iter().flat_map(|member| member.links(plan));
                links.any(|(link, _)| link.step == narrow.step)
            });
            if self.ask_uncovered(top, &narrower)? {
                return Ok(Progress::Waiting);
            }
        }
        self.run_region(top, &members, shape)?;
        Ok(Progress::Done)
    }

    /// Continues without choices or, if there are none already, alone.
    fn without(&mut self, top: usize, choices: bool) -> Progress {
        self.stack[top].turn = if choices { WITHOUT_CHOICES } else { ALONE };
        Progress::Waiting
    }

    /// The selectors of members that select, although all elements take one arm.
    fn single_selectors(&self, cone: &Cone, shapes: &[ShapeId]) -> Vec<StepSource> {
        let plan = self.plan;
        let selecting = cone.members.iter().filter(|member| self.selects(**member));
        let selectors = selecting.map(|member| plan.inputs_of(&plan.steps[member.step])[0]);
        let is_single = |source: &StepSource| {
            position(&cone.members, source.step).is_some_and(|at| shapes[at] == Shapes::scalar())
        };
        selectors.filter(is_single).collect()
    }

    /// The context of a member of the cone of a step that is evaluated in `frame`.
    fn member_frame(&mut self, member: Member, frame: FrameId) -> FrameId {
        self.home(member.step, frame)
    }

    /// Asks for those sources whose demanded cells are not computed; false if there are none.
    pub(super) fn ask_uncovered(
        &mut self,
        top: usize,
        sources: &[StepSource],
    ) -> Result<bool, Stop> {
        let frame = self.stack[top].frame;
        let first = self.stack.len();
        for source in sources {
            let home = self.home(source.step, frame);
            let demand = self.stack[top].demand.clone();
            let covered = match self.store.find(source.step, home) {
                Some(slot) => self.is_covered(slot, &demand)?,
                None => false,
            };
            if !covered {
                self.push(source.step, home, demand);
            }
        }
        let asked = self.stack.len() > first;
        self.deepest_on_top(first);
        Ok(asked)
    }

    /// Whether the demanded cells of a slot are computed, or one of them is known to fail.
    fn is_covered(&mut self, slot: SlotId, demand: &Demand) -> Result<bool, Stop> {
        if self.is_bad(slot, demand)? {
            return Ok(true);
        }
        match self.store.state(slot) {
            State::Full | State::Failed | State::Released => Ok(true),
            State::Empty => Ok(false),
            State::Partial => {
                let shape = self.store.rest(slot).shape;
                let wanted = match demand {
                    Demand::Full => Mask::full(self.shapes.n_cells(shape)?),
                    Demand::Part(cells) => self.shapes.project(cells.shape, &cells.mask, shape)?,
                };
                let done = self.store.rest(slot).done.as_deref();
                Ok(done.is_some_and(|done| wanted.difference(done).is_empty()))
            }
        }
    }

    /// The shapes of the members of a cone whose sources exist, as each would find its own; `None`
    /// if there are too many cells.
    pub(super) fn member_shapes(
        &mut self,
        top: usize,
        members: &[Member],
    ) -> Result<Option<Vec<ShapeId>>, Stop> {
        let plan = self.plan;
        let Task { frame, ref demand, .. } = self.stack[top];
        if let Demand::Part(_) = demand {
            let mut shapes = Vec::with_capacity(members.len());
            for member in members {
                let home = self.member_frame(*member, frame);
                shapes.push(self.shape_of(member.step, home)?);
            }
            return Ok(Some(shapes));
        }
        let mut shapes: Vec<ShapeId> = Vec::with_capacity(members.len());
        for member in members {
            let mut shape = Shapes::scalar();
            for (source, _) in member.links(plan) {
                let of = match position(members, source.step) {
                    Some(at) => shapes[at],
                    None => {
                        let place = self.place(source, frame);
                        self.read(place).1
                    }
                };
                shape = self.shapes.union(shape, of);
            }
            if self.shapes.n_cells(shape).is_err() {
                return Ok(None);
            }
            shapes.push(shape);
        }
        Ok(Some(shapes))
    }

    /// Runs each member of a cone separately.
    fn run_apart(&mut self, top: usize, members: &[Member]) -> Result<Progress, Stop> {
        let plan = self.plan;
        let (frame, demand) = (self.stack[top].frame, self.stack[top].demand.clone());
        for member in members {
            let home = self.member_frame(*member, frame);
            self.push(member.step, home, demand.clone());
            let at = self.stack.len() - 1;
            if self.start(at)? {
                let instance = &plan.instances[self.instance_id(member.step)];
                match self.run_strict(at, instance) {
                    Ok(()) => {}
                    Err(Stop::All(error)) => return Err(Stop::All(error)),
                    Err(stop) => self.fail_for(at, &stop),
                }
            }
            self.stack.truncate(at);
        }
        Ok(Progress::Done)
    }

    /// Runs members of one shape as one form.
    fn run_region(&mut self, top: usize, members: &[Member], shape: ShapeId) -> Result<(), Stop> {
        let Task { step, frame, .. } = self.stack[top];
        let n_cells = self.shapes.n_cells(shape)?;
        let (full, mask) = match &self.stack[top].demand {
            Demand::Full => (true, Mask::full(n_cells)),
            Demand::Part(cells) => (false, cells.mask.clone()),
        };
        let fused = self.fused_region(members);
        let mut columns: Vec<Column> = Vec::with_capacity(fused.outputs.len());
        for output in &fused.outputs {
            let member = members[output.member as usize];
            let home = self.member_frame(member, frame);
            self.push(member.step, home, self.stack[top].demand.clone());
            let at = self.stack.len() - 1;
            columns.push(self.output_column(at, output.output as usize, output.ty, n_cells)?);
            self.stack.truncate(at);
        }
        self.lap(step);
        self.compute((&fused, members.len()), frame, shape, &mut columns, &mask)?;
        if self.laps.is_some() && members.len() > 1 {
            let alone = |sample: &mut Sample<'_>| {
                members.iter().map(|member| (member.step, sample.seconds_of(*member))).collect()
            };
            self.share_lap((&fused, members.len()), frame, (shape, &mask), alone)?;
        }
        self.store_region(top, members, &fused, columns, shape, mask.len())?;
        if full {
            self.release_links(members, frame);
        }
        Ok(())
    }

    /// Members as one form, whose results are the outputs that are read outside.
    pub(super) fn fused_region(&self, members: &[Member]) -> Arc<Fused> {
        let (plan, used) = (self.plan, &self.used_outputs);
        let read_outside = read_outside(plan, members);
        self.mode.regions.fused(members, || {
            fuse(plan, members, |member, k| {
                let at = position(members, member).expect("it is a member");
                read_outside[at] && used[member.index()] & 1 << k.min(63) != 0
            })
        })
    }

    /// Records that members have read their inputs for the last time.
    pub(super) fn release_links(&mut self, members: &[Member], frame: FrameId) {
        for member in members {
            for (source, kind) in member.links(self.plan) {
                if matches!(kind, LinkKind::Same | LinkKind::Other) {
                    let place = self.place(source, frame);
                    self.release(place);
                }
            }
        }
    }

    /// Divides the time since the last lap, in which a fused form of these members ran, among the
    /// steps that `alone` weighs on a sample.
    pub(super) fn share_lap(
        &mut self,
        (fused, n_members): (&Fused, usize),
        frame: FrameId,
        (shape, mask): (ShapeId, &Mask),
        alone: impl FnOnce(&mut Sample<'_>) -> Vec<(StepId, f64)>,
    ) -> Result<(), Stop> {
        let Some(laps) = &mut self.laps else { return Ok(()) };
        let took = laps.take();
        let operands = self.operands(fused, frame, shape)?;
        let mut sample = Sample::of(self.plan, mask, n_members);
        for (source, (column, map)) in fused.inputs.iter().zip(&operands) {
            sample.give(*source, column, map.as_map());
        }
        let weights = alone(&mut sample);
        for (step, time) in shared(took, &weights) {
            self.log_time(step, time, Timing::Share);
        }
        if let Some(laps) = &mut self.laps {
            laps.measured();
        }
        Ok(())
    }

    /// The operands of a fused form, each with the map to its entries.
    fn operands(
        &mut self,
        fused: &Fused,
        frame: FrameId,
        shape: ShapeId,
    ) -> Result<Vec<(Column, CellMap)>, Stop> {
        let mut operands: Vec<(Column, CellMap)> = Vec::with_capacity(fused.inputs.len());
        for source in &fused.inputs {
            let place = self.place(*source, frame);
            let (data, of) = self.read(place);
            // A single value is passed as a column of one entry.
            let (column, of) = match data {
                Data::One(value) => (Column::filled(value, 1), Shapes::scalar()),
                Data::Many(column) => (column.clone(), of),
            };
            operands.push((column, self.shapes.map(shape, of)?));
        }
        Ok(operands)
    }

    /// The masked cells of the outputs of a fused form.
    pub(super) fn compute(
        &mut self,
        (fused, n_members): (&Fused, usize),
        frame: FrameId,
        shape: ShapeId,
        columns: &mut [Column],
        mask: &Mask,
    ) -> Result<(), Stop> {
        let operands = self.operands(fused, frame, shape)?;
        let mut inputs: SmallVec<[LaneInput<'_>; 16]> = SmallVec::new();
        for (column, map) in &operands {
            let map = map.as_map();
            push_inputs(&mut inputs, column, map);
        }
        let mut outputs = Vec::with_capacity(columns.len());
        for ((column, output), first) in
            columns.iter_mut().zip(&fused.outputs).zip(&fused.first_results)
        {
            let (lanes, width) = (lane_slice_mut(column), width(output.ty));
            outputs.push(LaneOutput { lanes, first: *first, width, offset: 0, stride: width });
        }
        let clock = &self.clock;
        let is_over = |n_done| clock.is_over_after(n_members, n_done);
        self.mode.crew.run(&fused.form, &inputs, outputs, mask, &is_over);
        self.clock.check().map_err(Stop::All)
    }

    /// Stores the columns of a region and records the fate of each member.
    pub(super) fn store_region(
        &mut self,
        top: usize,
        members: &[Member],
        fused: &Fused,
        columns: Vec<Column>,
        shape: ShapeId,
        n_elements: usize,
    ) -> Result<(), Stop> {
        let plan = self.plan;
        let frame = self.stack[top].frame;
        let mut given = fused.outputs.iter().zip(columns).peekable();
        for (at, member) in members.iter().enumerate() {
            let home = self.member_frame(*member, frame);
            let slot = self.store.slot(member.step, home, plan);
            let mine = |output: &&FusedOutput| output.member as usize == at;
            if given.peek().is_none_or(|(output, _)| !mine(output)) {
                self.log_run(member.step, n_elements, 0);
                if let Demand::Full = self.stack[top].demand {
                    self.store.set_state(slot, State::Released);
                }
                continue;
            }
            let n_outputs = plan.instances[self.instance_id(member.step)].outputs.len();
            let mut outputs: Vec<Option<Data>> = vec![None; n_outputs];
            while let Some((output, column)) = given.next_if(|(output, _)| mine(output)) {
                outputs[output.output as usize] = Some(Data::Many(column));
            }
            self.push(member.step, home, self.stack[top].demand.clone());
            let at = self.stack.len() - 1;
            self.store_result(at, outputs, shape)?;
            self.stack.truncate(at);
        }
        Ok(())
    }
}

/// For each member whether a step outside reads it. An arm that is not taken is not read.
fn read_outside(plan: &Plan, members: &[Member]) -> Vec<bool> {
    let mut users: Vec<u32> =
        members.iter().map(|member| plan.steps[member.step].n_users).collect();
    for member in members {
        for source in plan.inputs_of(&plan.steps[member.step]) {
            if let Some(at) = position(members, source.step) {
                users[at] -= 1;
            }
        }
    }
    users.into_iter().map(|n| n > 0).collect()
}
