//! Pipelines: forms and functions that run together, block by block of the cells.
//!
//! A function may say that it runs in blocks (`Function::in_blocks`). Where such functions read
//! forms, and forms read them, a pipeline computes one block of cells in all of these steps before
//! the next block. So the columns between the steps have the length of a block and stay in the
//! caches. A pipeline ends with a form, and holds the steps above it that nothing else reads. If a
//! function fails or a condition is not met, the steps run one after another.

mod blocks;

use std::collections::BTreeMap;

use millstream_base::map::Map;
use millstream_base::{Column, Type};
use millstream_ir::plan::{LinkKind, StepId, StepOp, StepSource};
use millstream_node::Kernel;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use self::blocks::{Operand, Part, Pipeline, lane_outputs};
use super::region::{Fusing, MAX_TRIES};
use crate::frame::FrameId;
use crate::fuse::{Member, position};
use crate::shape::{ShapeId, Shapes};
use crate::store::State;
use crate::walk::{Demand, Progress, Stop, Task, Walk};

/// Cells per block: a block of a few columns fits into the second-level cache.
const BLOCK: usize = 1 << 13;

/// Maximal number of instructions of the forms above the last, before simplification.
const MAX_INSTRUCTIONS: usize = 4096;

/// The number of the column between parts that holds an output of a member.
type Between = FxHashMap<(StepId, u32), usize>;

/// The steps of a pipeline, in order of the plan, and what they read.
struct Steps {
    members: Vec<Member>,
    /// Calls that members read but that are not members.
    outside: Vec<StepSource>,
    n_functions: usize,
}

impl<'a> Walk<'a, Fusing<'_>> {
    /// Advances a member of a region as the last step of a pipeline; `None` if it must run without.
    pub(super) fn advance_pipeline(&mut self, top: usize) -> Result<Option<Progress>, Stop> {
        let Task { step, frame, turn, .. } = self.stack[top];
        let is_full = matches!(self.stack[top].demand, Demand::Full);
        let has_functions = self.mode.regions.has_blocks(self.plan);
        // Times are measured step by step.
        if turn >= MAX_TRIES || !has_functions || !is_full || self.laps.is_some() {
            return Ok(None);
        }
        self.stack[top].turn = turn + 1;
        let Some(steps) = self.steps_of_pipeline(step, frame) else { return Ok(None) };
        if self.ask_uncovered(top, &steps.outside)? {
            return Ok(Some(Progress::Waiting));
        }
        for source in &steps.outside {
            let place = self.place(*source, frame);
            if self.has_failed(place, &Demand::Full)? {
                return Ok(None);
            }
        }
        let Some(shapes) = self.member_shapes(top, &steps.members)? else { return Ok(None) };
        let shape = *shapes.last().expect("the step is a member");
        let with_shapes = steps.members.iter().zip(&shapes);
        let narrower = with_shapes.filter(|(_, of)| **of != shape);
        let narrower: Vec<StepSource> =
            narrower.map(|(member, _)| StepSource { step: member.step, output: 0 }).collect();
        if shape != Shapes::scalar() && !narrower.is_empty() {
            let asked = self.ask_uncovered(top, &narrower)?;
            return Ok(asked.then_some(Progress::Waiting));
        }
        let n_cells = self.shapes.n_cells(shape)?;
        if shape == Shapes::scalar() || n_cells <= self.mode.crew.piece.unwrap_or(BLOCK) {
            return Ok(None);
        }
        let ran = self.run_pipeline(top, &steps, shape)?;
        Ok(ran.then_some(Progress::Done))
    }

    /// The steps that can run with a form, of which it is the last; `None` if there is no function
    /// among them.
    fn steps_of_pipeline(&mut self, last: StepId, frame: FrameId) -> Option<Steps> {
        let plan = self.plan;
        let mut steps = Steps { members: Vec::new(), outside: Vec::new(), n_functions: 0 };
        // The links from members to each step that was not visited yet; all readers of a step come
        // after it.
        let mut links: BTreeMap<StepId, SmallVec<[StepSource; 4]>> = BTreeMap::new();
        let (mut next, mut room) = (Some((last, SmallVec::new())), MAX_INSTRUCTIONS);
        while let Some((step, sources)) = next {
            let size = self.instructions(step);
            let joins = if step == last {
                size.is_some()
            } else {
                size.unwrap_or(0) <= room && self.joins_pipeline(step, sources.len(), frame)
            };
            if joins {
                steps.members.push(Member::whole(step));
                steps.n_functions += usize::from(size.is_none());
                room = room.saturating_sub(size.unwrap_or(0));
                for (source, kind) in plan.links_of(&plan.steps[step]) {
                    if matches!(kind, LinkKind::Same | LinkKind::Other) {
                        links.entry(source.step).or_default().push(source);
                    }
                }
            } else if step == last {
                return None;
            } else {
                for source in sources {
                    if !steps.outside.contains(&source) {
                        steps.outside.push(source);
                    }
                }
            }
            next = links.pop_last();
        }
        steps.members.reverse();
        (steps.n_functions > 0).then_some(steps)
    }

    /// Whether a step that members read through this many links can be a member.
    fn joins_pipeline(&mut self, step: StepId, n_links: usize, frame: FrameId) -> bool {
        let plan = self.plan;
        let of = &plan.steps[step];
        let StepOp::Call(id) = of.op else { return false };
        if !of.is_local || of.n_users as usize != n_links || self.scoped[id] {
            return false;
        }
        let instance = &plan.instances[id];
        let is_kind = match &instance.kernel {
            Kernel::Form(_) => true,
            Kernel::Function(function) => {
                let is_lanes = |ty: Type| ty.lanes().is_some();
                function.in_blocks()
                    && instance.outputs.len() == 1
                    && is_lanes(instance.outputs[0].ty)
            }
            Kernel::Choose | Kernel::Read { .. } | Kernel::Pass | Kernel::ReadState(_) => false,
        };
        let home = self.home(step, frame);
        is_kind
            && self.store.find(step, home).is_none_or(|slot| {
                self.store.state(slot) == State::Empty && self.store.rest(slot).bad.is_none()
            })
    }

    /// Runs a pipeline whose sources exist; false if it cannot.
    fn run_pipeline(&mut self, top: usize, steps: &Steps, shape: ShapeId) -> Result<bool, Stop> {
        let (plan, frame) = (self.plan, self.stack[top].frame);
        let n_cells = self.shapes.n_cells(shape)?;
        let Some((pipeline, last)) = self.pipeline(steps, frame, shape)? else { return Ok(false) };
        let fused = pipeline.last();
        let mut columns: Vec<Column> = Vec::with_capacity(fused.outputs.len());
        for output in &fused.outputs {
            columns.push(self.output_column(top, output.output as usize, output.ty, n_cells)?);
        }
        let (clock, n_members) = (&self.clock, steps.members.len());
        let is_over = |n_done: usize| clock.is_over_after(n_members, n_done);
        let outputs = lane_outputs(&mut columns, &fused);
        let crew = (&mut *self.mode.crew, &is_over as _, clock.flag());
        let is_done = pipeline.run(n_cells, outputs, crew);
        self.clock.check().map_err(Stop::All)?;
        if !is_done {
            for column in columns {
                self.buffers.give(column);
            }
            return Ok(false);
        }
        // Its operands are shared, so that released ones could not be reused.
        drop(pipeline);
        for member in steps.members.iter().filter(|member| !last.contains(member)) {
            let home = self.home(member.step, frame);
            let slot = self.store.slot(member.step, home, plan);
            self.log_run(member.step, n_cells, 0);
            self.store.set_state(slot, State::Released);
        }
        self.store_region(top, &last, &fused, columns, shape, n_cells)?;
        self.release_links(&steps.members, frame);
        Ok(true)
    }

    /// The parts of a pipeline, each of which reads only those before it, and the steps of the last
    /// part; `None` if an operand from outside is neither a column with an entry per cell nor a
    /// single value.
    fn pipeline(
        &mut self,
        steps: &Steps,
        frame: FrameId,
        shape: ShapeId,
    ) -> Result<Option<(Pipeline<'a>, Vec<Member>)>, Stop> {
        let plan = self.plan;
        let ranks = self.ranks(&steps.members);
        let n_ranks = ranks.last().expect("there is a last step") + 1;
        let mut pipeline = Pipeline { parts: Vec::new(), types: Vec::new(), limits: self.limits };
        let mut between = Between::default();
        let mut last = Vec::new();
        for rank in 0..n_ranks {
            let with_ranks = steps.members.iter().zip(&ranks);
            let of_rank = with_ranks.filter(|(_, of)| **of == rank).map(|(member, _)| *member);
            let of_rank: Vec<Member> = of_rank.collect();
            for member in of_rank.iter().filter(|_| !rank.is_multiple_of(2)) {
                let instance = &plan.instances[self.instance_id(member.step)];
                let Kernel::Function(function) = &instance.kernel else {
                    panic!("steps of odd rank are functions")
                };
                let sources = plan.inputs_of(&plan.steps[member.step]);
                let operands = self.operands_of_part(sources, &between, frame, shape)?;
                let Some(operands) = operands else { return Ok(None) };
                let result =
                    pipeline.column((member.step, 0), instance.outputs[0].ty, &mut between);
                pipeline.parts.push(Part::Function { function: &**function, operands, result });
            }
            if of_rank.is_empty() || !rank.is_multiple_of(2) {
                continue;
            }
            let fused = self.fused_region(&of_rank);
            let operands = self.operands_of_part(&fused.inputs, &between, frame, shape)?;
            let Some(operands) = operands else { return Ok(None) };
            let operands = operands.into_iter().map(Operand::with_column).collect();
            let mut results = Vec::with_capacity(fused.outputs.len());
            if rank + 1 < n_ranks {
                for output in &fused.outputs {
                    let source = (of_rank[output.member as usize].step, output.output);
                    results.push(pipeline.column(source, output.ty, &mut between));
                }
            }
            pipeline.parts.push(Part::Form { fused, operands, results });
            last = of_rank;
        }
        Ok(Some((pipeline, last)))
    }

    /// The part in which each step runs: even for forms and odd for functions, and not before any
    /// step that it reads.
    fn ranks(&self, members: &[Member]) -> Vec<usize> {
        let plan = self.plan;
        let mut ranks: Vec<usize> = Vec::with_capacity(members.len());
        for member in members {
            let of = |source: &StepSource| position(members, source.step).map(|at| ranks[at]);
            let sources = plan.inputs_of(&plan.steps[member.step]);
            let after = sources.iter().filter_map(of).max().unwrap_or(0);
            let is_even = self.instructions(member.step).is_some();
            ranks.push(if is_even == after.is_multiple_of(2) { after } else { after + 1 });
        }
        ranks
    }

    /// The operands of a part; `None` if one of them is neither a column with an entry per cell nor
    /// a single value.
    fn operands_of_part(
        &mut self,
        sources: &[StepSource],
        between: &Between,
        frame: FrameId,
        shape: ShapeId,
    ) -> Result<Option<Vec<Operand>>, Stop> {
        let mut operands = Vec::with_capacity(sources.len());
        for source in sources {
            operands.push(match between.get(&(source.step, source.output)) {
                Some(number) => Operand::Between(*number),
                None => {
                    let place = self.place(*source, frame);
                    let (data, of) = self.read(place);
                    let data = data.clone();
                    let is_each = match self.shapes.map(shape, of)?.as_map() {
                        Map::Each => true,
                        Map::Single => false,
                        Map::Tile(_) | Map::Stretch(_) | Map::Table(_) => return Ok(None),
                    };
                    Operand::Outside { data, is_each }
                }
            });
        }
        Ok(Some(operands))
    }

    /// The number of instructions of a step, if it is a form.
    fn instructions(&self, step: StepId) -> Option<usize> {
        let StepOp::Call(id) = self.plan.steps[step].op else { return None };
        self.plan.instances[id].plain_form().map(|form| form.insts.len())
    }
}
