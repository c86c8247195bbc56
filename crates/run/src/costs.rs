//! The costs of runs, as measured in earlier evaluations of a plan, and the size of a plan.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use millstream_base::id::Id;
use millstream_ir::graph::InstanceId;
use millstream_ir::plan::{Plan, StepOp};
use millstream_node::{Instance, Kernel};

/// Nanoseconds per element for each instance of a plan, as the bits of an `f32`; 0 if no run was
/// measured. Threads may write at the same time; any of their figures is good enough.
#[derive(Debug)]
pub(crate) struct Costs {
    by_instance: Vec<AtomicU32>,
}

/// Nanoseconds per element of one instruction of a form, and of a function that was not measured.
const INSTRUCTION: f32 = 0.2;
const FUNCTION: f32 = 3.0;

/// Nanoseconds per element that the node type states.
fn stated(instance: &Instance) -> Option<f32> {
    instance.def.cost.map(|cost| cost.as_nanos() as f32)
}

/// Shorter runs are cheaper than reading the clock often.
const WORTH_A_LOOK: Duration = Duration::from_micros(5);

impl Costs {
    /// The costs stored with a plan.
    pub(crate) fn of(plan: &Plan) -> &Self {
        let unseen = || (0..plan.instances.len()).map(|_| AtomicU32::new(0)).collect();
        plan.notes.get_or_make(|| Self { by_instance: unseen() })
    }

    /// The expected time of a run of this number of elements.
    pub(crate) fn expect(&self, id: InstanceId, instance: &Instance, elements: usize) -> Duration {
        let each = match &instance.kernel {
            _ if let Some(seen) = self.seen(id) => seen,
            Kernel::Form(form) => form.insts.len() as f32 * INSTRUCTION,
            Kernel::Function(_) => stated(instance).unwrap_or(FUNCTION),
            Kernel::Read { .. } | Kernel::Pass | Kernel::Choose | Kernel::ReadState(_) => 0.0,
        };
        Duration::from_nanos((f64::from(each) * elements as f64) as u64)
    }

    /// The measured nanoseconds per element.
    fn seen(&self, id: InstanceId) -> Option<f32> {
        let seen = f32::from_bits(self.by_instance[id.index()].load(Ordering::Relaxed));
        (seen > 0.0).then_some(seen)
    }

    /// Whether a run with this expected time should be timed: the cost of a function does not
    /// follow from the number of elements.
    pub(crate) fn is_worth_a_look(
        &self,
        id: InstanceId,
        instance: &Instance,
        expected: Duration,
    ) -> bool {
        let is_unseen = || self.seen(id).is_none();
        expected >= WORTH_A_LOOK || (matches!(instance.kernel, Kernel::Function(_)) && is_unseen())
    }

    /// Whether a run of a plan may take this long if none has more elements.
    pub(crate) fn may_take(&self, plan: &Plan, worth: Duration, elements: usize) -> bool {
        plan.instances.iter().any(|(id, instance)| {
            let expected = self.expect(id, instance, elements);
            expected >= worth || self.is_worth_a_look(id, instance, Duration::ZERO)
        })
    }

    /// Records the time that a run took; later runs have a weight of a quarter.
    pub(crate) fn note(&self, id: InstanceId, elements: usize, took: Duration) {
        let each = took.as_nanos() as f32 / elements.max(1) as f32;
        let now = self.seen(id).map_or(each, |seen| seen + 0.25 * (each - seen));
        self.by_instance[id.index()].store(now.max(f32::MIN_POSITIVE).to_bits(), Ordering::Relaxed);
    }
}

/// The size of a plan, from which the times of evaluators are estimated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// The number of calls.
    pub(crate) calls: f64,
    /// The number of instructions of all forms, and their work per element (`Form::cost`).
    pub(crate) instructions: f64,
    pub(crate) work: f64,
    /// The number of loops that run as one with the step that folds their lists.
    pub(crate) loops: f64,
    /// The number of choices among lanes.
    pub(crate) choices: f64,
    /// The number of other calls.
    pub(crate) others: f64,
    /// The nanoseconds per element that the node types of functions state.
    pub(crate) stated: f64,
}

impl Size {
    /// The size of a plan.
    pub(crate) fn of(plan: &Plan) -> Self {
        *plan.notes.get_or_make(|| Self::new(plan))
    }

    fn new(plan: &Plan) -> Self {
        let loops = plan.loops.len() as f64;
        let (calls, instructions, work, choices, others) = (0.0, 0.0, 0.0, 0.0, 0.0);
        let mut size = Self { calls, instructions, work, loops, choices, others, stated: 0.0 };
        for step in plan.steps.as_slice() {
            let StepOp::Call(id) = step.op else { continue };
            size.calls += 1.0;
            let instance = &plan.instances[id];
            match &instance.kernel {
                Kernel::Form(form) => {
                    size.instructions += form.insts.len() as f64;
                    size.work += form.cost() as f64;
                }
                Kernel::Choose if instance.is_lane_choice() => size.choices += 1.0,
                Kernel::Function(_)
                | Kernel::Read { .. }
                | Kernel::Pass
                | Kernel::Choose
                | Kernel::ReadState(_) => {
                    size.others += 1.0;
                    size.stated += f64::from(stated(instance).unwrap_or(0.0));
                }
            }
        }
        size
    }

    /// Nanoseconds that functions take for this number of cells.
    pub(crate) fn functions(self, cells: f64) -> f64 {
        self.others * (60.0 + columns(cells) * 3.0) + self.stated * cells.max(1.0)
    }

    /// Nanoseconds of an evaluation step by step: a time for each call, and a time for each element
    /// of each column.
    pub(crate) fn step_by_step(self, cells: f64) -> f64 {
        let forms = self.calls - self.others - self.choices;
        // Columns that exceed the caches are mostly in fresh memory.
        let each = if cells > FAR { 3.0 } else { 0.9 };
        // The cells of each arm are separated and gathered.
        let apart = columns(cells) * (forms * each + self.choices * 25.0);
        self.calls * 35.0 + apart + self.forms(cells) + self.functions(cells)
    }

    /// Nanoseconds of the work of all forms.
    pub(crate) fn forms(self, cells: f64) -> f64 {
        columns(cells) * self.work * WORK
    }

    /// Whether steps do more than forms on single values.
    pub(crate) fn is_more_than_numbers(self, cells: f64) -> bool {
        columns(cells) > 0.0 || self.others > 0.0
    }
}

/// Columns of more elements are assumed to exceed the caches.
const FAR: f64 = 65536.0;

/// Nanoseconds of one unit of work.
const WORK: f64 = 0.02;

/// The elements of a column; none if results are single values.
pub(crate) fn columns(cells: f64) -> f64 {
    if cells > 1.0 { cells } else { 0.0 }
}

/// Estimates of the time of an evaluator, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forecast {
    /// The time of an evaluation for this number of cells on this number of threads.
    pub(crate) run: fn(Size, f64, f64) -> f64,
    /// The time to make the lists or forms for a new plan.
    pub(crate) make: fn(Size) -> f64,
}
