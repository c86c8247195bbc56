//! Tasks: asking for inputs, and running when they are there.

use std::rc::Rc;

use millstream_base::Mask;
use millstream_ir::plan::{LinkKind, StepId, StepOp, StepSource};
use millstream_ir::LogDetail;
use millstream_kernel::form::Form;
use millstream_kernel::{Data, Instance, Kernel};
use smallvec::SmallVec;

use super::{Demand, Evaluation, Place, Stop, Task};
use crate::frame::FrameId;
use crate::lanes::push_lanes;
use crate::store::{Outputs, SlotId, State};

/// How a task got on.
pub(super) enum Progress {
    /// It has its result, or failed.
    Done,
    /// It asked for inputs, which are on top of it now.
    Waiting,
}

impl<'a> Evaluation<'a> {
    /// Works on the task at position `top` of the stack.
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
            Kernel::Form(_) | Kernel::Function(_) | Kernel::Pass => {
                if self.scoped[id] {
                    self.advance_scoped(top, instance)
                } else {
                    self.advance_strict(top, instance)
                }
            }
        }
    }

    /// Narrows the demand to what is not computed yet; false if nothing is left to do.
    fn start(&mut self, top: usize) -> Result<bool, Stop> {
        let (step, frame, slot) =
            (self.stack[top].step, self.stack[top].frame, self.stack[top].slot);
        let state = self.store.get(slot).state;
        let demand = match (state, &self.stack[top].demand) {
            (State::Full | State::Failed | State::Released, _) => return Ok(false),
            (State::Empty, Demand::Full) => return Ok(true),
            (State::Empty, Demand::Part(cells)) => {
                let cells = Rc::clone(cells);
                let shape = self.shape_of(step, frame)?;
                let wanted = self.shapes.project(cells.shape, &cells.mask, shape)?;
                self.store.get_mut(slot).shape = shape;
                if wanted.is_empty() {
                    return Ok(false);
                }
                if wanted.len() == self.shapes.n_cells(shape)? {
                    Demand::Full
                } else {
                    Demand::part(shape, wanted)
                }
            }
            (State::Partial, demand) => {
                let demand = demand.clone();
                let shape = self.store.get(slot).shape;
                let wanted = match demand {
                    Demand::Full => Mask::full(self.shapes.n_cells(shape)?),
                    Demand::Part(cells) => self.shapes.project(cells.shape, &cells.mask, shape)?,
                };
                let done = self.store.get(slot).done.as_deref();
                let rest = done.map_or(wanted.clone(), |done| wanted.difference(done));
                if rest.is_empty() {
                    return Ok(false);
                }
                Demand::part(shape, rest)
            }
        };
        self.stack[top].demand = demand;
        Ok(true)
    }

    /// A step whose inputs are all asked in its own context.
    #[inline]
    fn advance_strict(&mut self, top: usize, instance: &'a Instance) -> Result<Progress, Stop> {
        if let (Kernel::Form(form), Demand::Full) = (&instance.kernel, &self.stack[top].demand)
            && let Some(progress) = self.advance_scalar(top, instance, form)
        {
            return Ok(progress);
        }
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

    /// The short way for a form on single values: reads and asks in one walk over the inputs.
    /// `None` if an input is a column or failed, or the log wants times.
    #[inline]
    fn advance_scalar(
        &mut self,
        top: usize,
        instance: &'a Instance,
        form: &Form,
    ) -> Option<Progress> {
        let plan = self.plan;
        let Task { step, frame, .. } = self.stack[top];
        let [output] = &instance.outputs[..] else { return None };
        if self.request.log == LogDetail::Times {
            return None;
        }
        let mut params: SmallVec<[u64; 16]> = SmallVec::new();
        let first = self.stack.len();
        for (source, kind) in plan.links_of(&plan.steps[step]) {
            let data = match kind {
                LinkKind::Const => match plan.steps[source.step].op {
                    StepOp::Const(id) => &plan.constants[id],
                    StepOp::Input(_) | StepOp::Call(_) => panic!("the link says it is a constant"),
                },
                LinkKind::Input => match plan.steps[source.step].op {
                    StepOp::Input(id) => &self.inputs[id].0,
                    StepOp::Const(_) | StepOp::Call(_) => panic!("the link says it is an input"),
                },
                LinkKind::Same | LinkKind::Other => {
                    let home = match kind {
                        LinkKind::Same => frame,
                        _ => self.home(source.step, frame),
                    };
                    let slot = self.store.slot(source.step, home, plan);
                    let stored = self.store.get(slot);
                    match stored.state {
                        State::Full => stored.output(source.output).0,
                        State::Failed | State::Released | State::Partial => {
                            self.stack.truncate(first);
                            return None;
                        }
                        State::Empty => {
                            let demand = Demand::Full;
                            let step = source.step;
                            self.stack.push(Task { step, frame: home, slot, phase: 0, demand });
                            continue;
                        }
                    }
                }
            };
            match data {
                Data::One(value) => push_lanes(value, &mut params),
                Data::Many(_) => {
                    self.stack.truncate(first);
                    return None;
                }
            }
        }
        if self.stack.len() > first {
            self.deepest_on_top(first);
            return Some(Progress::Waiting);
        }
        // Single lanes hold no buffer, so there is nothing to release.
        self.run_on_lanes(top, form, output.ty, &params);
        Some(Progress::Done)
    }

    /// Asks for all sources that are not there, the deepest on top; false if all are there.
    pub(super) fn ask_all(&mut self, top: usize, sources: &[StepSource], frame: FrameId) -> bool {
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
    fn deepest_on_top(&mut self, first: usize) {
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

    /// Whether a step may have something left to compute in a context.
    #[inline]
    fn lacks(&self, step: StepId, home: FrameId) -> bool {
        match self.store.find(step, home) {
            Some(slot) => !self.store.get(slot).is_done(),
            None => true,
        }
    }

    /// Asks for one source in a context; false if it is there.
    pub(super) fn ask(&mut self, source: StepSource, frame: FrameId, demand: Demand) -> bool {
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

    /// Puts a task for a step on the stack; `frame` is restricted to the step's needs.
    pub(super) fn push(&mut self, step: StepId, frame: FrameId, demand: Demand) {
        let slot = self.store.slot(step, frame, self.plan);
        self.stack.push(Task { step, frame, slot, phase: 0, demand });
    }

    /// Whether a place holds no result because something failed.
    pub(super) fn has_failed(&self, place: Place) -> bool {
        match place {
            Place::Const(_) | Place::Input(_) | Place::Gathered(_) => false,
            Place::Slot(slot, _) => self.store.get(slot).state == State::Failed,
        }
    }

    /// Marks the step of a task as failed because of one that it reads.
    pub(super) fn fail_with_input(&mut self, top: usize) {
        let Task { step, slot, .. } = self.stack[top];
        self.pending.remove(&slot);
        let stored = self.store.get_mut(slot);
        stored.state = State::Failed;
        stored.outputs = Outputs::None;
        self.log_failed_input(step);
    }

    /// Notes that one link has read its source for the last time; the buffer of a source without
    /// further readers is reused.
    pub(super) fn release(&mut self, place: Place) {
        let Place::Slot(slot, _) = place else { return };
        let stored = self.store.get_mut(slot);
        stored.uses_left = stored.uses_left.saturating_sub(1);
        if stored.uses_left == 0 && stored.state == State::Full {
            self.drop_results(slot);
        }
    }

    pub(super) fn drop_results(&mut self, slot: SlotId) {
        let stored = self.store.get_mut(slot);
        stored.state = State::Released;
        match std::mem::replace(&mut stored.outputs, Outputs::None) {
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
