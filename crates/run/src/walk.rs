//! The walk over a plan: demand-driven, with an explicit stack, one step after the other.
//!
//! A call proceeds as follows. Each requested output becomes a *task* (`task`): a step, the context
//! restricted to the needs of the step (a *frame*), and the demanded cells. The task on top of the
//! stack pushes tasks for the inputs it lacks, the deepest on top (`ask`), and runs when they exist
//! (`run`). A selector is evaluated before the arms, and an arm only for the cells that take it
//! (`choose`). The arguments of a scope are evaluated before its body, which is then evaluated in
//! the frame that the scope makes (`scope`, `reductions`); the cells of a body along a loop become
//! lists (`gather`). Results are in the store until their last user has run.
//!
//! A step demanded in full has the union of the shapes of its inputs. A step demanded in part,
//! below a switch that varies between cells, needs its shape before its values: `shape_of` finds it
//! by the same rules. A failure makes cells *bad*, and the cells over them of each step that reads
//! them (`failure`). State in scopes is read by coordinates, and the next state is evaluated at the
//! end (`state`, `idle_loops`). `answer` leads from the request to the answer.
//!
//! Evaluators change the walk through the hooks of a [`Mode`] (`mode`); the walk knows none of
//! them. In the mode [`Plain`] (`plain`) it is the evaluator `lazy`.
//!
//! Two shortcuts change no result: a step of one operation on single numbers goes through `scalar`,
//! and in the plain mode such steps run in the order of memory before the walk begins, if they are
//! needed in any case (`sweep`).

mod answer;
mod ask;
mod choose;
mod clock;
mod failure;
mod gather;
mod good_cells;
mod idle_loops;
mod log;
mod mode;
mod partial;
mod plain;
mod reductions;
mod run;
mod scalar;
mod scope;
mod shape_of;
mod state;
mod sweep;
mod task;
mod zone;

use millstream_base::id::SideTable;
use millstream_base::{Limits, Mask};
use millstream_ir::answer::{EvalError, LogEntry, NodeFailure};
use millstream_ir::graph::InstanceId;
use millstream_ir::plan::{Plan, StepId, StepOp, StepSource};
use millstream_ir::unsettled::Mark;
use millstream_ir::{InputId, Request, RequestAxis};
use millstream_node::Data;
use rustc_hash::FxHashMap;

use crate::buffers::Buffers;
use crate::frame::{FrameId, Frames};
use crate::kernel::Scratch;
use crate::laps::Laps;
use crate::one_op::OneOp;
use crate::shape::{AxisId, ShapeId, Shapes};
use crate::store::{SlotId, Store};
use clock::Clock;
use shape_of::KnownShapes;
use state::StateCalls;

pub(crate) use choose::arm;
pub(crate) use mode::{Arm, Mode, Run};
pub(crate) use partial::{GoodCells, add_failures, evaluate_good, evaluate_up_to_lowest};
pub(crate) use plain::{Plain, evaluate, evaluate_within, is_required};
pub(crate) use scope::LoopKey;
use task::{Body, Pending};
pub(crate) use task::{Cells, Demand, Gather, Gathered, Place, Progress, Stop, Task};

/// One evaluation.
pub(crate) struct Walk<'a, M> {
    pub(crate) plan: &'a Plan,
    pub(crate) request: &'a Request,
    pub(crate) limits: &'a Limits,
    pub(crate) shapes: Shapes,
    pub(crate) frames: Frames,
    /// The context of the request.
    pub(crate) root: FrameId,
    pub(crate) store: Store,
    /// Data and shape of each input of the plan.
    pub(crate) inputs: SideTable<InputId, (Data, ShapeId)>,
    pub(crate) request_axes: Vec<(AxisId, RequestAxis)>,
    /// See [`Bound::moments`](millstream_ir::Bound::moments).
    moments: Vec<usize>,
    /// The numbers of the elements, if the index axis has only some of them, and the number of all.
    numbers: Option<(Mask, usize)>,
    /// Axes of loops by extent, and by the number of axes of that extent that are open around them.
    pub(crate) loop_axes: FxHashMap<(LoopKey, u32), AxisId>,
    /// Instances with a scope at some input.
    pub(crate) scoped: SideTable<InstanceId, bool>,
    /// Instances that are one operation on numbers; none if the log wants times.
    one_ops: SideTable<InstanceId, Option<OneOp>>,
    /// The outputs of each step that are read.
    pub(crate) used_outputs: Vec<u64>,
    pub(crate) stack: Vec<Task>,
    pending: FxHashMap<SlotId, Pending>,
    /// Lists gathered for the step that runs.
    pub(crate) gathered: Vec<Gathered>,
    known_shapes: KnownShapes,
    state_calls: StateCalls,
    failures: Vec<NodeFailure>,
    /// The repeats that did not settle.
    unsettled: Vec<Mark>,
    log: Option<Vec<LogEntry>>,
    scratch: Scratch,
    pub(crate) buffers: Buffers,
    /// Size of all stored results in bytes.
    bytes: usize,
    pub(crate) clock: Clock<'a>,
    /// The clock of the log, if it wants times.
    pub(crate) laps: Option<Laps>,
    /// The state of the mode.
    pub(crate) mode: M,
}

impl<M: Mode> Walk<'_, M> {
    /// Advances the task on top until none is left.
    pub(crate) fn work(&mut self) -> Result<(), EvalError> {
        while let Some(top) = self.stack.len().checked_sub(1) {
            self.check_budget()?;
            let progress = self.work_on(top);
            self.lap_of_task(top);
            match progress {
                Ok(Progress::Waiting) => continue,
                Ok(Progress::Done) => {}
                Err(Stop::All(error)) => return Err(error),
                Err(stop) => {
                    self.stack.truncate(top + 1);
                    self.fail_for(top, &stop);
                }
            }
            M::leave(self, top);
            self.stack.pop();
        }
        Ok(())
    }

    /// Advances the task at position `top` of the stack, which is the last.
    #[inline]
    fn work_on(&mut self, top: usize) -> Result<Progress, Stop> {
        if let Some(progress) = M::advance(self, top)? {
            return Ok(progress);
        }
        match self.short_way(top) {
            Some(progress) => Ok(progress),
            None => self.advance(top),
        }
    }

    /// The context in which a source is evaluated for a reader in `frame`.
    #[inline]
    pub(crate) fn home(&mut self, step: StepId, frame: FrameId) -> FrameId {
        self.frames.restrict(frame, self.plan.steps[step].needs, self.plan)
    }

    /// The place of a source that was evaluated for a reader in `frame`.
    #[inline]
    pub(crate) fn place(&mut self, source: StepSource, frame: FrameId) -> Place {
        match self.plan.steps[source.step].op {
            StepOp::Const(id) => Place::Const(id),
            StepOp::Input(id) => Place::Input(id),
            StepOp::Call(_) => {
                let home = self.home(source.step, frame);
                let slot = self.store.find(source.step, home);
                Place::Slot(slot.expect("a step is asked for before it is read"), source.output)
            }
        }
    }

    /// Data and shape of an operand.
    #[inline]
    pub(crate) fn read(&self, place: Place) -> (&Data, ShapeId) {
        match place {
            Place::Const(id) => (&self.plan.constants[id], Shapes::scalar()),
            Place::Input(id) => {
                let (data, shape) = &self.inputs[id];
                (data, *shape)
            }
            Place::Slot(slot, output) => self.store.output(slot, output),
            Place::Gathered(i) => (&self.gathered[i].data, self.gathered[i].shape),
        }
    }

    #[inline]
    fn check_budget(&mut self) -> Result<(), EvalError> {
        if self.bytes > self.limits.bytes {
            return Err(EvalError::Bytes { limit: self.limits.bytes });
        }
        self.clock.check_now_and_then()
    }

    pub(crate) fn instance_id(&self, step: StepId) -> InstanceId {
        match self.plan.steps[step].op {
            StepOp::Call(id) => id,
            StepOp::Const(_) | StepOp::Input(_) => panic!("only calls become tasks"),
        }
    }
}
