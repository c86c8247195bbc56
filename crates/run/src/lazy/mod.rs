//! The lazy evaluator: demand-driven, with an explicit stack. It defines the meaning; all other
//! evaluators give the same bits.
//!
//! How a call proceeds. Each output asked for becomes a task: a step, the context restricted to
//! what the step needs, and the cells demanded. The task on top of the stack asks for the inputs it
//! lacks, the deepest first, by pushing tasks for them, and runs when they are there. Selectors are
//! asked before arms, arguments of scopes before bodies; only the arms that some cell takes are
//! asked, and only for those cells. Results lie in the store until their last user has run.
//!
//! What is asked for whatever happens and is one operation on numbers runs before, in the order of
//! memory (`sweep`).
//!
//! A step demanded in full takes its shape from the inputs it read. A step demanded in part (below
//! a switch that differs from cell to cell) needs its shape before its values; `shape_of` finds it.

mod answer;
mod choose;
mod cone;
mod deferred;
mod failure;
mod gather;
mod idle_loops;
mod keep;
mod keepers;
mod listed;
mod region;
mod row;
mod run;
mod scalar;
mod scope;
mod shape_of;
mod sweep;
mod task;
mod unrolled;

use std::rc::Rc;
use std::sync::PoisonError;

use millstream_base::id::{Id, SideTable};
use millstream_base::{Limits, Mask};
use millstream_ir::answer::{Answer, EvalError, Evaluator, LogEntry, NodeFailure};
use millstream_ir::graph::InstanceId;
use millstream_ir::plan::{Plan, StepId, StepOp, StepSource};
use millstream_ir::{Bound, InputId, Request};
use millstream_node::Data;
use rustc_hash::FxHashMap;

use crate::buffers::Buffers;
use crate::chunked::{Regions, Workspace};
use crate::frame::{FrameId, Frames};
use crate::incremental::memo::Memo;
use crate::list::Blocks;
use crate::parallel::Company;
use crate::shape::{AxisId, ShapeId, Shapes, TooManyCells};
use crate::store::{SlotId, Store};
use crate::watch::{Ran, Watch};
use keep::Keeping;
use listed::Listed;
use region::Fusing;
pub(crate) use run::{Operand, Scratch, call};
pub(crate) use scalar::operation_of;
pub(crate) use scope::arguments;

use deferred::Deferral;

/// The demand-driven evaluator. It keeps nothing between evaluations.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lazy;

impl Lazy {
    /// Whether the other evaluators that keep no results leave a plan to this one: what nodes in
    /// scopes keep from now on is asked for once it is known who was called.
    pub(crate) fn is_alone_with(plan: &Plan) -> bool {
        !plan.keepers.is_empty()
    }
}

impl Evaluator for Lazy {
    fn name(&self) -> &'static str {
        "lazy"
    }

    fn evaluate(&self, plan: &Plan, request: &Request) -> Result<Answer, EvalError> {
        let bound = request.bind(plan).map_err(EvalError::Request)?;
        evaluate_bound(plan, request, &bound)
    }
}

/// Evaluates a request that was bound to the plan.
fn evaluate_bound(plan: &Plan, request: &Request, bound: &Bound) -> Result<Answer, EvalError> {
    Evaluation::new(plan, request, bound).answer(bound)
}

/// Evaluates a part of a call; `is_over` says whether anybody still waits for that.
pub(crate) fn evaluate_within(
    plan: &Plan,
    request: &Request,
    bound: &Bound,
    is_over: Option<&(dyn Fn() -> bool + Sync)>,
) -> Result<Answer, EvalError> {
    let mut evaluation = Evaluation::new(plan, request, bound);
    evaluation.watch = Watch::new(plan, request, bound).within(is_over);
    evaluation.answer(bound)
}

/// Evaluates block by block of a list, see `listed`; with company, long runs become jobs.
pub(crate) fn evaluate_listed(
    plan: &Plan,
    request: &Request,
    bound: &Bound,
    blocks: &Blocks,
    company: Option<Company<'_>>,
) -> Result<Answer, EvalError> {
    let mut evaluation = Evaluation::new(plan, request, bound);
    evaluation.listed = Some(Listed::new(blocks));
    let Some(company) = company else {
        evaluation.run_main()?;
        return evaluation.answer(bound);
    };
    let idle = company.idle;
    let taken = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
    evaluation.buffers = taken.unwrap_or_default();
    evaluation.deferral = Some(Deferral::new(company, &request.limits));
    evaluation.run_main()?;
    let answer = evaluation.answer(bound)?;
    idle.lock().unwrap_or_else(PoisonError::into_inner).push(evaluation.buffers);
    Ok(answer)
}

/// Evaluates and keeps results; see `keep`.
pub(crate) fn evaluate_keeping(
    plan: &Plan,
    request: &Request,
    bound: &Bound,
    memo: &mut Memo,
) -> Result<Answer, EvalError> {
    let mut evaluation = Evaluation::new(plan, request, bound);
    evaluation.start_keeping(memo);
    evaluation.answer(bound)
}

/// Evaluates with regions, see `region`, and says whether loops are unrolled, see `unrolled`.
pub(crate) fn evaluate_with_regions(
    plan: &Plan,
    request: &Request,
    bound: &Bound,
    (regions, unrolls): (&Regions, bool),
    workspace: &mut Workspace,
) -> Result<Answer, EvalError> {
    let mut evaluation = Evaluation::new(plan, request, bound);
    let inputs = evaluation.inputs.as_slice();
    let fusing = Fusing::new(plan, inputs, (regions, unrolls), &mut workspace.crew);
    evaluation.fusing = Some(Box::new(fusing));
    std::mem::swap(&mut evaluation.buffers, &mut workspace.buffers);
    let answer = evaluation.answer(bound);
    let mut buffers = std::mem::take(&mut evaluation.buffers);
    drop(evaluation);
    std::mem::swap(&mut buffers, &mut workspace.buffers);
    answer
}

/// Which cells of a step are asked for.
#[derive(Clone, Debug)]
enum Demand {
    /// All, whatever the step's shape turns out to be.
    Full,
    /// Some.
    Part(Rc<Cells>),
}

/// The cells under a mask over a shape.
#[derive(Debug)]
struct Cells {
    shape: ShapeId,
    mask: Mask,
}

impl Demand {
    fn part(shape: ShapeId, mask: Mask) -> Self {
        Self::Part(Rc::new(Cells { shape, mask }))
    }

    fn is_part(&self) -> bool {
        match self {
            Self::Full => false,
            Self::Part(_) => true,
        }
    }
}

/// A step that is asked for.
#[derive(Debug)]
struct Task {
    step: StepId,
    frame: FrameId,
    slot: SlotId,
    phase: u8,
    demand: Demand,
}

/// What a task with scopes or arms found out and needs again when it runs.
#[derive(Debug, Default)]
struct Pending {
    /// For each input with a scope what was asked of it.
    bodies: Vec<Body>,
    /// For each arm of a choice the cells that take it, over the shape.
    arms: Vec<(ShapeId, Mask)>,
}

/// One input with a scope, ready to be asked.
#[derive(Clone, Debug)]
struct Body {
    input: u16,
    /// The context of what is linked.
    frame: FrameId,
    /// The axis to gather.
    gather: Option<Gather>,
    /// What is asked; nothing where the axis has no cells.
    demand: Option<Demand>,
}

/// The axis along which an input is gathered into lists.
#[derive(Clone, Copy, Debug)]
enum Gather {
    /// One cell: there is no axis.
    One,
    /// The cells of this axis.
    Along(AxisId),
    /// The axis has no cells, so the lists are empty and nothing is asked.
    Nothing,
}

/// Where an operand lies.
#[derive(Clone, Copy, Debug)]
enum Place {
    Const(millstream_ir::graph::ConstId),
    Input(InputId),
    Slot(SlotId, u32),
    /// A list that was gathered for the step that runs.
    Gathered(usize),
}

/// Why an evaluation ends, or a step has no result.
#[derive(Debug)]
enum Stop {
    /// The whole evaluation.
    All(EvalError),
    /// A step asks for more cells than allowed.
    Cells,
    /// What a node keeps is read in ever more contexts, so it is not known along which axes a step varies.
    Endless,
}

impl From<TooManyCells> for Stop {
    fn from(_: TooManyCells) -> Self {
        Self::Cells
    }
}

/// One evaluation.
struct Evaluation<'a> {
    plan: &'a Plan,
    request: &'a Request,
    limits: &'a Limits,
    shapes: Shapes,
    frames: Frames,
    root: FrameId,
    store: Store,
    /// Data and shape of each input of the plan.
    inputs: SideTable<InputId, (Data, ShapeId)>,
    request_axes: Vec<(AxisId, &'static str)>,
    /// Instances with a scope at some input.
    scoped: SideTable<InstanceId, bool>,
    /// Instances that are one operation on numbers; none if the log wants times.
    one_ops: SideTable<InstanceId, Option<scalar::OneOp>>,
    /// For each step the outputs that somebody reads.
    used_outputs: Vec<u64>,
    stack: Vec<Task>,
    pending: FxHashMap<SlotId, Pending>,
    /// Lists gathered for the step that runs.
    gathered: Vec<(Data, ShapeId)>,
    /// Axes of loops by extent, and by how many of that extent are open around them.
    loop_axes: FxHashMap<(scope::LoopKey, u32), AxisId>,
    known_shapes: FxHashMap<(StepId, FrameId), ShapeId>,
    /// The shapes that readers of what is kept are taken to have, while these are found.
    assumed_shapes: Option<shape_of::Assumed>,
    /// Whether readers were met in ever more contexts.
    is_endless: bool,
    /// The contexts in which what is kept was read.
    calls: Vec<keepers::Call>,
    idle_loops: Vec<idle_loops::IdleLoop>,
    placeholders: FxHashMap<(StepId, FrameId, u16), AxisId>,
    failures: Vec<NodeFailure>,
    log: Option<Vec<LogEntry>>,
    scratch: Scratch,
    buffers: Buffers,
    /// What is known besides if steps run block by block of a list.
    listed: Option<Listed<'a>>,
    /// What is known besides if results are kept between evaluations.
    keeping: Option<Box<Keeping<'a>>>,
    /// What is known besides if long runs become jobs.
    deferral: Option<Deferral<'a>>,
    /// What is known besides if steps run in regions.
    fusing: Option<Box<Fusing<'a>>>,
    /// Bytes of all results that are stored.
    bytes: usize,
    n_steps: u32,
    watch: Watch<'a>,
    ran: Ran,
    /// How many elements are computed when the clock is looked at next.
    look_at: u64,
}

/// So many elements are computed between two looks at the clock.
const ELEMENTS: u64 = 1 << 12;

impl Evaluation<'_> {
    /// The context in which a source is evaluated, if it is asked for in `frame`.
    #[inline]
    fn home(&mut self, step: StepId, frame: FrameId) -> FrameId {
        self.frames.restrict(frame, self.plan.steps[step].needs, self.plan)
    }

    /// Where the data of a source is, when it is asked for in `frame`.
    #[inline]
    fn place(&mut self, source: StepSource, frame: FrameId) -> Place {
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
    fn read(&self, place: Place) -> (&Data, ShapeId) {
        match place {
            Place::Const(id) => (&self.plan.constants[id], Shapes::scalar()),
            Place::Input(id) => {
                let (data, shape) = &self.inputs[id];
                (data, *shape)
            }
            Place::Slot(slot, output) => self.store.output(slot, output),
            Place::Gathered(i) => (&self.gathered[i].0, self.gathered[i].1),
        }
    }

    /// The loop: works on the task on top until none is left.
    fn work(&mut self) -> Result<(), EvalError> {
        while let Some(top) = self.stack.len().checked_sub(1) {
            self.check_budget()?;
            match self.work_on(top) {
                Ok(task::Progress::Done) => {
                    self.stack.pop();
                    self.close_block(top);
                }
                Ok(task::Progress::Waiting) => {}
                Err(Stop::All(error)) => return Err(error),
                Err(stop) => {
                    self.stack.truncate(top + 1);
                    self.fail_for(top, &stop);
                    self.stack.pop();
                    self.close_block(top);
                }
            }
        }
        Ok(())
    }

    /// Works on the task at position `top` of the stack, which is the last.
    #[inline]
    fn work_on(&mut self, top: usize) -> Result<task::Progress, Stop> {
        if self.listed.is_some() && self.goes_on_in_block(top)? {
            return Ok(task::Progress::Waiting);
        }
        let in_region = self.fusing.is_some() && self.takes_region(top);
        if !in_region {
            match self.short_way(top) {
                scalar::Short::Done => return Ok(task::Progress::Done),
                scalar::Short::Waiting => return Ok(task::Progress::Waiting),
                scalar::Short::No => {}
            }
        }
        self.advance(top, in_region)
    }

    #[inline]
    fn check_budget(&mut self) -> Result<(), EvalError> {
        self.n_steps = self.n_steps.wrapping_add(1);
        if self.bytes > self.limits.bytes {
            return Err(EvalError::Bytes { limit: self.limits.bytes });
        }
        if self.n_steps.is_multiple_of(256) || self.ran.elements > self.look_at {
            self.look_at = self.ran.elements + ELEMENTS;
            self.check_clock()?;
        }
        Ok(())
    }

    /// The clock is looked at before the next task: what ran may have taken long.
    fn look_next(&mut self) {
        self.look_at = 0;
    }

    fn check_clock(&self) -> Result<(), EvalError> {
        self.watch.over(self.ran).map_or(Ok(()), Err)
    }

    fn instance_id(&self, step: StepId) -> InstanceId {
        match self.plan.steps[step].op {
            StepOp::Call(id) => id,
            StepOp::Const(_) | StepOp::Input(_) => panic!("only calls become tasks"),
        }
    }

    fn log_entry(&mut self, step: StepId) -> Option<&mut LogEntry> {
        self.log.as_mut().map(|log| &mut log[step.index()])
    }
}
