//! Evaluating inputs, and running a task when they exist.

use std::rc::Rc;

use millstream_base::Mask;
use millstream_ir::plan::{StepId, StepOp, StepSource};
use millstream_node::{Instance, Kernel};

use super::{Demand, Mode, Place, Progress, Stop, Task, Walk};
use crate::frame::FrameId;
use crate::store::{Outputs, SlotId, State};

impl<'a, M: Mode> Walk<'a, M> {
    /// Advances the task at position `top` of the stack.
    pub(super) fn advance(&mut self, top: usize) -> Result<Progress, Stop> {
        if self.stack[top].phase == 0 && !self.start(top)? {
            return Ok(Progress::Done);
        }
        let plan = self.plan;
        let id = self.instance_id(self.stack[top].step);
        let instance: &'a Instance = &plan.instances[id];
        match &instance.kernel {
            Kernel::Read { feature, level, aspect } => {
                self.read_feature(top, feature, *level, *aspect)?;
                Ok(Progress::Done)
            }
            Kernel::Choose => self.advance_choice(top),
            Kernel::ReadState(_) => {
                self.read_state(top, instance)?;
                Ok(Progress::Done)
            }
            Kernel::Form(_) | Kernel::Function(_) | Kernel::Pass => {
                if self.scoped[id] {
                    self.advance_scoped(top, instance)
                } else {
                    self.advance_strict(top, instance)
                }
            }
        }
    }

    /// Narrows the demand to the cells that are not computed yet; false if none are left.
    pub(crate) fn start(&mut self, top: usize) -> Result<bool, Stop> {
        let (step, frame, slot) =
            (self.stack[top].step, self.stack[top].frame, self.stack[top].slot);
        M::settle(self, slot)?;
        let state = self.store.state(slot);
        let demand = match (state, &self.stack[top].demand) {
            (State::Full | State::Failed | State::Released, _) => return Ok(false),
            (State::Empty, Demand::Full) if self.store.rest(slot).bad.is_none() => return Ok(true),
            (State::Empty, Demand::Full) => Demand::Full,
            (State::Empty, Demand::Part(cells)) => {
                let cells = Rc::clone(cells);
                let shape = self.shape_of(step, frame)?;
                let wanted = self.shapes.project(cells.shape, &cells.mask, shape)?;
                self.store.rest_mut(slot).shape = shape;
                if wanted.is_empty() {
                    return Ok(false);
                }
                // All cells of a ragged shape are not all cells of its parents.
                if wanted.len() == self.shapes.n_cells(shape)? && self.shapes.is_even(shape) {
                    Demand::Full
                } else {
                    Demand::part(shape, wanted)
                }
            }
            (State::Partial, demand) => {
                let demand = demand.clone();
                let shape = self.store.rest(slot).shape;
                let wanted = match demand {
                    Demand::Full => Mask::full(self.shapes.n_cells(shape)?),
                    Demand::Part(cells) => self.shapes.project(cells.shape, &cells.mask, shape)?,
                };
                let done = self.store.rest(slot).done.as_deref();
                let rest = done.map_or(wanted.clone(), |done| wanted.difference(done));
                if rest.is_empty() {
                    return Ok(false);
                }
                Demand::part(shape, rest)
            }
        };
        self.stack[top].demand = match self.is_bad(slot, &demand)? {
            false => demand,
            true if self.mode.leaves_out() => match self.without_bad(top, &demand)? {
                Some(rest) => {
                    self.store.rest_mut(slot).shape = rest.shape;
                    Demand::Part(rest)
                }
                None => return Ok(false),
            },
            true => return Ok(false),
        };
        Ok(true)
    }

    /// A step all of whose inputs are evaluated in its own context.
    fn advance_strict(&mut self, top: usize, instance: &'a Instance) -> Result<Progress, Stop> {
        let (step, frame) = (self.stack[top].step, self.stack[top].frame);
        if self.stack[top].phase == 0 {
            self.stack[top].phase = 1;
            let plan = self.plan;
            if self.ask_all(top, plan.inputs_of(&plan.steps[step]), frame) {
                return Ok(Progress::Waiting);
            }
        }
        self.run_strict(top, instance)?;
        Ok(Progress::Done)
    }

    /// Pushes tasks for all missing sources, the deepest on top; false if none is missing.
    pub(crate) fn ask_all(&mut self, top: usize, sources: &[StepSource], frame: FrameId) -> bool {
        let first = self.stack.len();
        for source in sources {
            if matches!(self.plan.steps[source.step].op, StepOp::Call(_)) {
                let home = self.home(source.step, frame);
                if self.lacks(source.step, home) {
                    let demand = self.stack[top].demand.clone();
                    self.push(source.step, home, demand);
                }
            }
        }
        let asked = self.stack.len() > first;
        self.deepest_on_top(first);
        asked
    }

    /// Orders the tasks from position `first` by depth.
    #[inline]
    pub(crate) fn deepest_on_top(&mut self, first: usize) {
        let n_tasks = self.stack.len() - first;
        if n_tasks == 2 {
            if self.depth(first) > self.depth(first + 1) {
                self.stack.swap(first, first + 1);
            }
        } else if n_tasks > 2 {
            let plan = self.plan;
            self.stack[first..].sort_by_key(|task| plan.steps[task.step].depth);
        }
    }

    fn depth(&self, task: usize) -> u32 {
        self.plan.steps[self.stack[task].step].depth
    }

    /// Whether a step may have cells left to compute in a context.
    #[inline]
    pub(crate) fn lacks(&self, step: StepId, home: FrameId) -> bool {
        match self.store.find(step, home) {
            Some(slot) => !self.store.is_done(slot),
            None => true,
        }
    }

    /// Pushes a task for one source in a context; false if the source exists.
    pub(crate) fn ask(&mut self, source: StepSource, frame: FrameId, demand: Demand) -> bool {
        if !matches!(self.plan.steps[source.step].op, StepOp::Call(_)) {
            return false;
        }
        let home = self.home(source.step, frame);
        let lacks = self.lacks(source.step, home);
        if lacks {
            self.push(source.step, home, demand);
        }
        lacks
    }

    /// Pushes a task for a step; `frame` is restricted to the step's needs.
    pub(crate) fn push(&mut self, step: StepId, frame: FrameId, demand: Demand) {
        let slot = self.store.slot(step, frame, self.plan);
        self.stack.push(Task { step, frame, slot, phase: 0, turn: 0, demand });
    }

    /// Records that a link has read its source for the last time; the buffer of a source without
    /// further readers is reused.
    pub(crate) fn release(&mut self, place: Place) {
        let Place::Slot(slot, _) = place else { return };
        let rest = self.store.rest_mut(slot);
        rest.uses_left = rest.uses_left.saturating_sub(1);
        if rest.uses_left == 0 && self.store.state(slot) == State::Full {
            self.drop_results(slot);
        }
    }

    pub(crate) fn drop_results(&mut self, slot: SlotId) {
        self.store.set_state(slot, State::Released);
        match self.store.take_outputs(slot) {
            Outputs::None => {}
            Outputs::One(data) => self.recycle(data),
            Outputs::Several(all) => {
                for data in all.into_iter().flatten() {
                    self.recycle(data);
                }
            }
        }
    }
}
