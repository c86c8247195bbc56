//! The chunked evaluator: element-wise parts of a plan run as one form, chunk by chunk.
//!
//! A call proceeds as follows. If the outputs depend only on forms, the plan runs as `stages`.
//! Otherwise it is walked, in a mode in which a step with a form runs as part of its *region*
//! (`region`, `cone`) or, with functions between them, of a *pipeline* (`pipeline`), and loops whose
//! lists are folded are unrolled (`unrolled`). Fused forms are stored with the plan. They are made
//! under its lock, so that simultaneous evaluations do not make the same one. Buffers are stored
//! with the evaluator. Thus later calls are faster than the first.

mod cone;
mod into;
mod pipeline;
mod prepared;
mod region;
mod single;
mod unrolled;

use std::borrow::Borrow;
use std::hash::Hash;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use millstream_base::id::Id;
use millstream_base::{Column, Type};
use millstream_ir::answer::{
    Answer, EvalError, Evaluator, Fate, LogEntry, OutputAnswer, RunLog, RunReason, Series,
};
use millstream_ir::element_states::Calls;
use millstream_ir::plan::{Plan, StepId, StepOp};
use millstream_ir::request::{Bound, LogDetail, Request, RequestAxis};
use millstream_ir::{Done, Watch};
use millstream_node::{Data, Kernel};
use rustc_hash::FxHashMap;

use crate::buffers::Buffers;
use crate::costs::{Forecast, Size, columns};
use crate::fuse::{Fused, Member};
use crate::spread::Crew;
use crate::stages::{
    At, Axes, Extents, Origin, StageClock, Stages, Tools, bit, column_of, key, n_cells,
};
use crate::walk::{self, Walk};
use region::Fusing;

pub use into::{OutputBuffer, Written};
pub use prepared::{PrepareError, Prepared};

/// The evaluator that runs element-wise parts chunk by chunk.
///
/// It keeps buffers for the next evaluation; [`give_back`](Evaluator::give_back) adds those of
/// answers that are no longer needed.
#[derive(Debug, Default)]
pub struct Chunked {
    threads: Option<NonZeroUsize>,
    piece: Option<usize>,
    without_stages: bool,
    without_unrolling: bool,
    workspace: Option<Workspace>,
}

/// Whether the call that contains an evaluation is cancelled.
type IsOver<'a> = Option<&'a (dyn Fn() -> bool + Sync)>;

/// The working memory of one evaluation.
#[derive(Debug)]
struct Workspace {
    crew: Crew,
    buffers: Buffers,
    given: Vec<Column>,
    values: Vec<Option<Column>>,
}

/// The fused forms of a plan.
#[derive(Debug, Default)]
struct Regions {
    by_members: Mutex<FxHashMap<Box<[Member]>, Arc<Fused>>>,
    by_key: Mutex<FxHashMap<Vec<u8>, Option<Arc<Stages>>>>,
    total: OnceLock<Vec<bool>>,
    has_blocks: OnceLock<bool>,
    by_loop: Mutex<FxHashMap<(StepId, usize), Arc<Fused>>>,
}

/// Maximal number of fused forms stored with a plan.
const KEPT: usize = 4096;

impl Regions {
    fn of(plan: &Plan) -> &Self {
        plan.notes.get_or_make(Self::default)
    }

    /// The form of these members.
    fn fused(&self, members: &[Member], make: impl FnOnce() -> Fused) -> Arc<Fused> {
        known_or_made(&self.by_members, members, || Arc::new(make()))
    }

    /// The form of a loop with this number of rounds and the step that folds its list.
    fn unrolled(&self, fold: StepId, n_rounds: usize, make: impl FnOnce() -> Fused) -> Arc<Fused> {
        known_or_made(&self.by_loop, &(fold, n_rounds), || Arc::new(make()))
    }

    /// For each step whether neither it nor any step above it can fail, so that computing it
    /// without demand does no harm.
    fn total(&self, plan: &Plan) -> &[bool] {
        self.total.get_or_init(|| {
            let mut total: Vec<bool> = Vec::with_capacity(plan.steps.len());
            for (_, step) in plan.steps.iter() {
                let is_total = match step.op {
                    StepOp::Const(_) | StepOp::Input(_) => true,
                    StepOp::Call(id) => {
                        let instance = &plan.instances[id];
                        matches!(instance.kernel, Kernel::Read { .. })
                            || instance.plain_form().is_some()
                            || instance.is_lane_choice()
                    }
                };
                let mut reads = plan.inputs_of(step).iter();
                total.push(is_total && reads.all(|link| total[link.step.index()]));
            }
            total
        })
    }

    /// Whether a function of the plan runs in blocks.
    fn has_blocks(&self, plan: &Plan) -> bool {
        *self.has_blocks.get_or_init(|| {
            plan.instances.as_slice().iter().any(|instance| match &instance.kernel {
                Kernel::Function(function) => function.in_blocks(),
                Kernel::Form(_)
                | Kernel::Read { .. }
                | Kernel::Pass
                | Kernel::Choose
                | Kernel::ReadState(_) => false,
            })
        })
    }

    /// The stages for a request, if the plan has them.
    fn stages(&self, plan: &Plan, bound: &Bound) -> Option<Arc<Stages>> {
        known_or_made(&self.by_key, &key(bound)[..], || Stages::new(plan, bound).map(Arc::new))
    }
}

/// The value for a key, made under the lock if it is missing.
fn known_or_made<K, Q, V: Clone>(
    known: &Mutex<FxHashMap<K, V>>,
    key: &Q,
    make: impl FnOnce() -> V,
) -> V
where
    K: Borrow<Q> + Eq + Hash,
    Q: ToOwned<Owned: Into<K>> + Eq + Hash + ?Sized,
{
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(value) = known.get(key) {
        return value.clone();
    }
    let value = make();
    if known.len() >= KEPT {
        known.clear();
    }
    known.insert(key.to_owned().into(), value.clone());
    value
}

impl Chunked {
    /// An evaluator that uses all threads of the machine if that pays.
    pub fn new() -> Self {
        Self::default()
    }

    /// Uses at most `n` threads.
    pub fn threads(mut self, n: NonZeroUsize) -> Self {
        self.threads = Some(n);
        self
    }

    /// Divides work into pieces of this many elements, whether or not that pays. Answers do not
    /// depend on it.
    pub fn pieces(mut self, n_elements: NonZeroUsize) -> Self {
        self.piece = Some(n_elements.get());
        self
    }

    /// Uses regions even for plans of forms alone. Answers do not depend on it.
    pub fn without_stages(mut self) -> Self {
        self.without_stages = true;
        self
    }

    /// Makes lists of the items of all loops, even of those that can be folded at once. Answers do
    /// not depend on it.
    pub fn without_unrolling(mut self) -> Self {
        self.without_unrolling = true;
        self
    }

    /// Evaluates a request as part of a call; `is_over` says whether the call is cancelled.
    pub(crate) fn evaluate_within(
        &mut self,
        plan: &Plan,
        request: &Request,
        bound: &Bound,
        is_over: IsOver<'_>,
    ) -> Result<Answer, EvalError> {
        if walk::is_required(plan) {
            return walk::evaluate_within(plan, request, bound, is_over);
        }
        let mut workspace = self.workspace();
        let watch = Watch::of(plan, request, bound).within(is_over);
        let answer = match self.stages(plan, request, bound) {
            Some(stages) => by_stages(plan, request, bound, &stages, (&watch, &mut workspace)),
            None => {
                let unrolls = !self.without_unrolling;
                by_regions(plan, request, bound, unrolls, (is_over, &mut workspace))
            }
        };
        self.workspace = Some(workspace);
        answer
    }

    /// Takes data that is no longer needed, to reuse its buffer for a result.
    pub(crate) fn give(&mut self, data: Data) {
        let mut workspace = self.workspace();
        workspace.buffers.give_data(data);
        self.workspace = Some(workspace);
    }

    /// The working memory, which is put back after an evaluation that did not panic.
    fn workspace(&mut self) -> Workspace {
        self.workspace.take().unwrap_or_else(|| self.new_workspace())
    }

    fn new_workspace(&self) -> Workspace {
        Workspace {
            crew: Crew::new(self.n_threads(), self.piece),
            buffers: Buffers::default(),
            given: Vec::new(),
            values: Vec::new(),
        }
    }

    /// The stages for a request, if it can be answered with them.
    fn stages(&self, plan: &Plan, request: &Request, bound: &Bound) -> Option<Arc<Stages>> {
        // Outputs without cells are evaluated by the walk.
        let apart = self.without_stages || bound.has_no_cells() || bound.masked().is_some();
        let stages = if apart { None } else { Regions::of(plan).stages(plan, bound) };
        // The walk tells which step has more cells than allowed.
        let most = request.limits.cells();
        stages.filter(|stages| stages.most_cells(extents(bound)) <= most)
    }
}

impl Evaluator for Chunked {
    fn name(&self) -> &'static str {
        "chunked"
    }

    fn evaluate_bound(
        &mut self,
        plan: &Plan,
        request: &Request,
        bound: &Bound,
    ) -> Result<Answer, EvalError> {
        self.evaluate_within(plan, request, bound, None)
    }

    fn n_threads(&self) -> usize {
        let machine = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.threads.map_or_else(machine, NonZeroUsize::get)
    }

    fn give_back(&mut self, answer: Answer) {
        let mut workspace = self.workspace();
        for output in answer.outputs {
            if let Some(Series { data, .. }) = output.value {
                workspace.buffers.give_data(data);
            }
        }
        self.workspace = Some(workspace);
    }
}

/// Walks with regions; `unrolls` says whether loops are unrolled if their lists are folded.
fn by_regions(
    plan: &Plan,
    request: &Request,
    bound: &Bound,
    unrolls: bool,
    (is_over, workspace): (IsOver<'_>, &mut Workspace),
) -> Result<Answer, EvalError> {
    let selects = bound.n_cells() <= request.limits.cells();
    let regions = (Regions::of(plan), unrolls, selects);
    let fusing = Fusing::new(plan, bound, regions, &mut workspace.crew);
    let mut walk = Walk::new(plan, request, bound, fusing).within(is_over);
    std::mem::swap(&mut walk.buffers, &mut workspace.buffers);
    let answer = walk.answer(bound);
    // Those of steps that several contexts read are not released before.
    for data in walk.store.take_all() {
        walk.buffers.give_data(data);
    }
    std::mem::swap(&mut walk.buffers, &mut workspace.buffers);
    answer
}

/// An estimate of its time: every evaluation looks for regions again, whereas forms are made once.
pub(crate) const FORECAST: Forecast = Forecast {
    run: |size, cells, threads| {
        // A choice is a selection among lanes.
        let fused = size.forms(cells) + columns(cells) * (0.2 + 0.1 * size.choices);
        // Unrolled loops make no lists.
        let others = (size.others - 2.0 * size.loops).max(0.0);
        let functions = Size { others, ..size }.functions(cells);
        300.0 + size.calls * 50.0 + (fused + functions) / threads
    },
    make: |size| 5_000.0 + size.instructions * 400.0,
};

/// An estimate of its time on one thread where more could be used, which take longer together if
/// other programs need them.
pub(crate) const FORECAST_ALONE: Forecast = Forecast {
    run: |size, cells, threads| {
        let may_differ = size.is_more_than_numbers(cells) && threads > 1.0;
        if may_differ { (FORECAST.run)(size, cells, 1.0) } else { f64::INFINITY }
    },
    make: FORECAST.make,
};

/// The extent of each axis, 1 where the request has no such axis.
fn extents(bound: &Bound) -> Extents {
    RequestAxis::ALL.map(|axis| bound.extent(axis).unwrap_or(1))
}

/// The columns that a request provides to stages.
fn given(stages: &Stages, bound: &Bound, columns: &mut Vec<Column>) {
    columns.clear();
    columns.extend(stages.given.iter().map(|(from, _)| {
        let data = match from {
            Origin::Input(input) => &bound.inputs[input.index()],
            Origin::Feature(bit) => {
                bound.features[*bit as usize].as_ref().expect("stages are made for what is given")
            }
        };
        column_of(&data.data)
    }));
}

fn by_stages(
    plan: &Plan,
    request: &Request,
    bound: &Bound,
    stages: &Stages,
    (watch, workspace): (&Watch<'_>, &mut Workspace),
) -> Result<Answer, EvalError> {
    watch.check(Done::default())?;
    let extents = extents(bound);
    let limit = request.limits.bytes;
    if stages.bytes(extents, false) > limit {
        return Err(EvalError::Bytes { limit });
    }
    let Workspace { crew, buffers, given: columns, values } = workspace;
    given(stages, bound, columns);
    let mut clock = StageClock::of(request);
    let tools = Tools { crew, buffers, clock: clock.as_mut() };
    let ran = stages.run(extents, columns, values, None, tools, Some(watch));
    if let Some(error) = watch.ended(ran) {
        columns.clear();
        values.clear();
        return Err(error);
    }
    let mut log = log(plan, request, stages, extents);
    if let Some(clock) = clock {
        clock.tell(&mut log, (plan, stages), extents, columns, values);
    }
    let mut outputs = Vec::with_capacity(stages.outputs.len());
    for (position, (at, item)) in bound.outputs.iter().zip(&stages.outputs) {
        let output = &plan.outputs[*position];
        let data = match at {
            At::Const(id) => plan.constants[*id].clone(),
            At::Given(k) => match stages.given[*k as usize].0 {
                Origin::Input(input) => bound.inputs[input.index()].data.clone(),
                Origin::Feature(_) if item.axes == 0 => Data::One(columns[*k as usize].get(0)),
                Origin::Feature(_) => Data::Many(columns[*k as usize].clone()),
            },
            At::Value(k) => {
                let column = values[*k as usize].as_ref().expect("all stages ran");
                if item.axes == 0 { Data::One(column.get(0)) } else { Data::Many(column.clone()) }
            }
        };
        outputs.push(OutputAnswer {
            name: Arc::clone(&output.name),
            ty: output.ty,
            value: Some(Series { data, axes: axes(item.axes) }),
            partial: None,
        });
    }
    columns.clear();
    let is_given = |k: usize| {
        stages.outputs.iter().any(|(at, item)| *at == At::Value(k as u32) && item.axes != 0)
    };
    for (k, column) in values.drain(..).enumerate() {
        if let Some(column) = column.filter(|_| !is_given(k)) {
            buffers.give(column);
        }
    }
    Ok(Answer {
        outputs,
        failures: Vec::new(),
        unsettled: Vec::new(),
        log,
        calls: Calls::default(),
        times: bound.times,
        views: bound.views,
        count: bound.count,
    })
}

fn axes(axes: Axes) -> Vec<RequestAxis> {
    RequestAxis::ALL.into_iter().filter(|axis| axes & bit(*axis) != 0).collect()
}

fn log(plan: &Plan, request: &Request, stages: &Stages, extents: Extents) -> RunLog {
    if request.log == LogDetail::Off {
        return RunLog::default();
    }
    let entry = |fate, runs, elements: usize, bytes: usize| LogEntry {
        fate,
        runs,
        elements: elements as u64,
        bytes: bytes as u64,
        ..LogEntry::NOT_NEEDED
    };
    let mut entries = vec![LogEntry::NOT_NEEDED; plan.steps.len()];
    let ran = Fate::Ran(RunReason::First);
    for (step, k) in &stages.reads {
        let n = n_cells(stages.given[*k as usize].1.axes, extents);
        entries[step.index()] = entry(ran, 1, n, 0);
    }
    for stage in &stages.stages {
        let n = n_cells(stage.axes, extents);
        for member in &stage.members {
            entries[member.step.index()] = entry(ran, 1, n, 0);
        }
        for output in &stage.fused.outputs {
            let member = stage.members[output.member as usize];
            entries[member.step.index()].bytes += (n * Type::size(output.ty)) as u64;
        }
    }
    RunLog::of(entries)
}
