//! Regions: steps of a form that are run as one.
//!
//! Used by the chunked evaluator. A step of a form that may vary asks, instead of for its inputs,
//! for what its *cone* reads from outside: the steps above it that have a form, are read in the
//! same context and are not computed yet. When all that is there, the shapes of the members are
//! known; those with the shape of the step are one region and run chunk by chunk, those with fewer
//! axes are asked for and so computed on fewer cells. A member that is read from outside the region
//! gets a column, the others get none. As all links within a region are strict, exactly the cells
//! are computed that would be without it.

use std::time::Instant;

use millstream_base::id::Id;
use millstream_base::{Column, Mask};
use millstream_ir::LogDetail;
use millstream_ir::plan::{LinkKind, StepId, StepOp, StepSource};
use millstream_kernel::Data;
use millstream_kernel::form::{LaneInput, LaneOutput};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::task::Progress;
use super::{Demand, Evaluation, Stop, Task};
use crate::chunked::Regions;
use crate::frame::{Feat, FrameId};
use crate::fuse::{Fused, fuse, plain_form, width};
use crate::lanes::{lane_slice, lane_slice_mut};
use crate::shape::{CellMap, ShapeId, Shapes};
use crate::spread::Crew;
use crate::store::{SlotId, State};

/// A region has at most so many instructions before they are simplified.
const MAX_INSTRUCTIONS: usize = 1024;

/// A step looks for its region at most so often; then it runs alone.
const MAX_TRIES: u8 = 8;

/// The phase of a step that runs alone.
const ALONE: u8 = 100;

/// What an evaluation with regions knows besides.
pub(crate) struct Fusing<'a> {
    pub(crate) regions: &'a Regions,
    pub(crate) crew: &'a mut Crew,
    /// Whether a step may depend on an input of the request that is a column.
    input_varies: Vec<bool>,
    frame_varies: FxHashMap<FrameId, bool>,
    /// For each step the number of the walk that met it last, and its place then.
    met: Vec<(u32, u32)>,
    n_walks: u32,
}

/// A step with the steps above it that may run with it.
struct Cone {
    /// In order of the plan; the step itself is the last.
    members: Vec<StepId>,
    /// Calls that members read and that are no members.
    outside: Vec<StepSource>,
}

impl<'a> Fusing<'a> {
    pub(crate) fn new(
        plan: &millstream_ir::Plan,
        inputs: &[(Data, ShapeId)],
        regions: &'a Regions,
        crew: &'a mut Crew,
    ) -> Self {
        let mut input_varies = vec![false; plan.steps.len()];
        let varies = |(data, _): &(Data, ShapeId)| matches!(data, Data::Many(_));
        if inputs.iter().any(varies) {
            for (id, step) in plan.steps.iter() {
                input_varies[id.index()] = match step.op {
                    StepOp::Input(input) => varies(&inputs[input.index()]),
                    StepOp::Const(_) => false,
                    StepOp::Call(_) => {
                        plan.inputs_of(step).iter().any(|link| input_varies[link.step.index()])
                    }
                };
            }
        }
        let met = vec![(0, 0); plan.steps.len()];
        Self { regions, crew, input_varies, frame_varies: FxHashMap::default(), met, n_walks: 0 }
    }
}

impl Evaluation<'_> {
    /// Whether the task at position `top` is worked on as part of a region.
    #[inline]
    pub(super) fn takes_region(&mut self, top: usize) -> bool {
        if self.fusing.is_none() || self.stack[top].phase >= ALONE {
            return false;
        }
        let Task { step, frame, .. } = self.stack[top];
        let StepOp::Call(id) = self.plan.steps[step].op else { return false };
        plain_form(&self.plan.instances[id]).is_some() && self.may_vary(step, frame)
    }

    fn may_vary(&mut self, step: StepId, frame: FrameId) -> bool {
        let Some(fusing) = &mut self.fusing else { return false };
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

    /// Works on a step of a form as the last of a region.
    pub(super) fn advance_region(&mut self, top: usize) -> Result<Progress, Stop> {
        let Task { step, frame, slot, phase, .. } = self.stack[top];
        if phase > 0 && self.store.is_done(slot) {
            return Ok(Progress::Done);
        }
        if phase == MAX_TRIES {
            self.stack[top].phase = ALONE;
            let plan = self.plan;
            self.ask_all(top, plan.inputs_of(&plan.steps[step]), frame);
            return Ok(Progress::Waiting);
        }
        self.stack[top].phase = phase + 1;
        let cone = self.cone(step, frame);
        if self.ask_uncovered(top, &cone.outside)? {
            return Ok(Progress::Waiting);
        }
        let demand = self.stack[top].demand.clone();
        let mut failed = false;
        for source in &cone.outside {
            let place = self.place(*source, frame);
            failed |= self.has_failed(place, &demand)?;
        }
        if failed {
            return self.run_apart(top, &cone.members);
        }
        let Some(shapes) = self.member_shapes(top, &cone.members)? else {
            return self.run_apart(top, &cone.members);
        };
        let shape = *shapes.last().expect("the step is a member");
        if shape == Shapes::scalar() || self.shapes.n_cells(shape).is_err() {
            return self.run_apart(top, &cone.members);
        }
        let mut members = Vec::with_capacity(cone.members.len());
        let mut narrower = Vec::new();
        for (member, of) in cone.members.iter().zip(&shapes) {
            if *of == shape {
                members.push(*member);
            } else {
                narrower.push(StepSource { step: *member, output: 0 });
            }
        }
        if !narrower.is_empty() {
            let plan = self.plan;
            narrower.retain(|narrow| {
                members.iter().any(|member| {
                    plan.inputs_of(&plan.steps[*member]).iter().any(|link| link.step == narrow.step)
                })
            });
            if self.ask_uncovered(top, &narrower)? {
                return Ok(Progress::Waiting);
            }
        }
        self.run_region(top, &members, shape)?;
        Ok(Progress::Done)
    }

    /// The cone of a step, nearest steps first if it is cut.
    fn cone(&mut self, root: StepId, frame: FrameId) -> Cone {
        let plan = self.plan;
        let fusing = self.fusing.as_mut().expect("only evaluations with regions look for cones");
        fusing.n_walks += 1;
        let walk = fusing.n_walks;
        let mut members = vec![root];
        let mut outside = Vec::new();
        let mut n_instructions = 0;
        let mut next = 0;
        fusing.met[root.index()].0 = walk;
        while let Some(member) = members.get(next).copied() {
            next += 1;
            for (source, kind) in plan.links_of(&plan.steps[member]) {
                let is_call = match kind {
                    LinkKind::Const | LinkKind::Input => false,
                    LinkKind::Same | LinkKind::Other => true,
                };
                if !is_call || fusing.met[source.step.index()].0 == walk {
                    continue;
                }
                fusing.met[source.step.index()].0 = walk;
                let StepOp::Call(id) = plan.steps[source.step].op else { continue };
                let form = plain_form(&plan.instances[id]).filter(|form| {
                    let slot = self.store.find(source.step, frame);
                    kind == LinkKind::Same
                        && slot.is_none_or(|slot| {
                            self.store.state(slot) == State::Empty
                                && self.store.rest(slot).bad.is_none()
                        })
                        && n_instructions + form.insts.len() <= MAX_INSTRUCTIONS
                });
                match form {
                    Some(form) => {
                        n_instructions += form.insts.len();
                        members.push(source.step);
                    }
                    None => outside.push(source),
                }
            }
        }
        members.sort_unstable();
        Cone { members, outside }
    }

    /// Asks for those sources of which demanded cells are not computed; false if there are none.
    fn ask_uncovered(&mut self, top: usize, sources: &[StepSource]) -> Result<bool, Stop> {
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

    /// The shapes of the members of a cone whose outside is there, as each would find it alone;
    /// `None` if there are too many cells.
    fn member_shapes(
        &mut self,
        top: usize,
        members: &[StepId],
    ) -> Result<Option<Vec<ShapeId>>, Stop> {
        let plan = self.plan;
        let Task { frame, ref demand, .. } = self.stack[top];
        if let Demand::Part(_) = demand {
            let shapes = members.iter().map(|member| self.shape_of(*member, frame));
            return shapes.collect::<Result<Vec<ShapeId>, Stop>>().map(Some);
        }
        let mut shapes: Vec<ShapeId> = Vec::with_capacity(members.len());
        for member in members {
            let mut shape = Shapes::scalar();
            for (source, kind) in plan.links_of(&plan.steps[*member]) {
                let among = match kind {
                    LinkKind::Same => members.binary_search(&source.step).ok(),
                    LinkKind::Const | LinkKind::Input | LinkKind::Other => None,
                };
                let of = match among {
                    Some(position) => shapes[position],
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

    /// Runs each member of a cone for itself.
    fn run_apart(&mut self, top: usize, members: &[StepId]) -> Result<Progress, Stop> {
        let plan = self.plan;
        let (frame, demand) = (self.stack[top].frame, self.stack[top].demand.clone());
        for member in members {
            self.push(*member, frame, demand.clone());
            let at = self.stack.len() - 1;
            if self.start(at)? {
                let instance = &plan.instances[self.instance_id(*member)];
                match self.run_strict(at, instance) {
                    Ok(()) => {}
                    Err(Stop::Cells) => self.fail_for_cells(at),
                    Err(Stop::All(error)) => return Err(Stop::All(error)),
                }
            }
            self.stack.truncate(at);
        }
        Ok(Progress::Done)
    }

    /// Runs members of one shape as one form.
    fn run_region(&mut self, top: usize, members: &[StepId], shape: ShapeId) -> Result<(), Stop> {
        let plan = self.plan;
        let started = (self.request.log == LogDetail::Times).then(Instant::now);
        let Task { step, frame, .. } = self.stack[top];
        let n_cells = self.shapes.n_cells(shape)?;
        let (full, mask) = match &self.stack[top].demand {
            Demand::Full => (true, Mask::full(n_cells)),
            Demand::Part(cells) => (false, cells.mask.clone()),
        };
        let fusing = self.fusing.as_ref().expect("only evaluations with regions run them");
        let read_outside = read_outside(plan, members);
        let used = &self.used_outputs;
        let fused = fusing.regions.fused(members, || {
            fuse(plan, members, |member, k| {
                let position = members.binary_search(&member).expect("it is a member");
                read_outside[position] && used[member.index()] & 1 << k.min(63) != 0
            })
        });
        let mut columns: Vec<Column> = Vec::with_capacity(fused.outputs.len());
        for output in &fused.outputs {
            let member = members[output.member as usize];
            self.push(member, frame, self.stack[top].demand.clone());
            let at = self.stack.len() - 1;
            columns.push(self.output_column(at, output.output as usize, output.ty, n_cells));
            self.stack.truncate(at);
        }
        self.compute((&fused, members.len()), frame, shape, &mut columns, &mask)?;
        self.store_region(top, members, &fused, columns, shape, mask.len())?;
        if full {
            for member in members {
                for (source, kind) in plan.links_of(&plan.steps[*member]) {
                    if matches!(kind, LinkKind::Same | LinkKind::Other) {
                        let place = self.place(source, frame);
                        self.release(place);
                    }
                }
            }
        }
        if let Some(started) = started {
            self.log_time(step, started.elapsed());
        }
        Ok(())
    }

    /// The masked cells of the outputs of a fused form of so many members.
    fn compute(
        &mut self,
        (fused, n_members): (&Fused, usize),
        frame: FrameId,
        shape: ShapeId,
        columns: &mut [Column],
        mask: &Mask,
    ) -> Result<(), Stop> {
        let mut operands: Vec<(Column, CellMap)> = Vec::with_capacity(fused.inputs.len());
        for source in &fused.inputs {
            let place = self.place(*source, frame);
            let (data, of) = self.read(place);
            // A single value is handed over as a column of one entry.
            let (column, of) = match data {
                Data::One(value) => (Column::filled(value, 1), Shapes::scalar()),
                Data::Many(column) => (column.clone(), of),
            };
            operands.push((column, self.shapes.map(shape, of)?));
        }
        let mut inputs: SmallVec<[LaneInput<'_>; 16]> = SmallVec::new();
        for (column, map) in &operands {
            let (lanes, width) = lane_slice(column);
            let map = map.as_map();
            inputs.extend((0..width).map(|offset| LaneInput::Lanes {
                lanes,
                offset,
                stride: width,
                map,
            }));
        }
        let mut outputs = Vec::with_capacity(columns.len());
        for ((column, output), first) in
            columns.iter_mut().zip(&fused.outputs).zip(&fused.first_results)
        {
            let (lanes, width) = (lane_slice_mut(column), width(output.ty));
            outputs.push(LaneOutput { lanes, first: *first, width, offset: 0, stride: width });
        }
        let (watch, ran) = (&self.watch, self.ran);
        let is_over = |n_done| watch.over(ran.and(n_members, n_done)).is_some();
        let fusing = self.fusing.as_mut().expect("only evaluations with regions run them");
        fusing.crew.run(&fused.form, &inputs, outputs, mask, &is_over);
        self.check_clock().map_err(Stop::All)
    }

    /// Stores the columns of a region and notes what became of each member.
    fn store_region(
        &mut self,
        top: usize,
        members: &[StepId],
        fused: &Fused,
        columns: Vec<Column>,
        shape: ShapeId,
        n_elements: usize,
    ) -> Result<(), Stop> {
        let plan = self.plan;
        let frame = self.stack[top].frame;
        let mut given = fused.outputs.iter().zip(columns).peekable();
        for (position, member) in members.iter().enumerate() {
            let slot = self.store.slot(*member, frame, plan);
            let mine = |output: &&crate::fuse::FusedOutput| output.member as usize == position;
            if given.peek().is_none_or(|(output, _)| !mine(output)) {
                self.log_run(*member, n_elements, 0);
                if let Demand::Full = self.stack[top].demand {
                    self.store.set_state(slot, State::Released);
                }
                continue;
            }
            let n_outputs = plan.instances[self.instance_id(*member)].outputs.len();
            let mut outputs: Vec<Option<Data>> = vec![None; n_outputs];
            while let Some((output, column)) = given.next_if(|(output, _)| mine(output)) {
                outputs[output.output as usize] = Some(Data::Many(column));
            }
            self.push(*member, frame, self.stack[top].demand.clone());
            let at = self.stack.len() - 1;
            self.store_result(at, outputs, shape)?;
            self.stack.truncate(at);
        }
        Ok(())
    }
}

/// For each member whether somebody reads it who is no member.
fn read_outside(plan: &millstream_ir::Plan, members: &[StepId]) -> Vec<bool> {
    let mut users: Vec<u32> = members.iter().map(|member| plan.steps[*member].n_users).collect();
    for member in members {
        for (source, kind) in plan.links_of(&plan.steps[*member]) {
            if kind == LinkKind::Same
                && let Ok(position) = members.binary_search(&source.step)
            {
                users[position] -= 1;
            }
        }
    }
    users.into_iter().map(|n| n > 0).collect()
}
