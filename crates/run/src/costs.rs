//! What runs cost, as far as earlier evaluations of a plan have seen it.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use millstream_base::id::Id;
use millstream_ir::graph::InstanceId;
use millstream_ir::plan::Plan;
use millstream_node::{Instance, Kernel};

/// Nanoseconds an element that each instance of a plan took, as the bits of an `f32`; 0 where
/// nobody knows. Threads may write at the same time: any of their figures will do.
#[derive(Debug)]
pub(crate) struct Costs {
    by_instance: Vec<AtomicU32>,
}

/// Nanoseconds an element of one instruction of a form, and of a function that nobody has seen run.
const INSTRUCTION: f32 = 0.2;
const FUNCTION: f32 = 3.0;

/// Shorter runs are cheaper than looking at the clock often.
const WORTH_A_LOOK: Duration = Duration::from_micros(5);

impl Costs {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self { by_instance: (0..plan.instances.len()).map(|_| AtomicU32::new(0)).collect() }
    }

    /// What a run of so many elements will probably take.
    pub(crate) fn expect(&self, id: InstanceId, instance: &Instance, elements: usize) -> Duration {
        let each = match &instance.kernel {
            _ if let Some(seen) = self.seen(id) => seen,
            Kernel::Form(form) => form.insts.len() as f32 * INSTRUCTION,
            Kernel::Function(_) => FUNCTION,
            Kernel::Read { .. } | Kernel::Pass | Kernel::Choose | Kernel::Kept(_) => 0.0,
        };
        Duration::from_nanos((f64::from(each) * elements as f64) as u64)
    }

    /// What an element was seen to take.
    fn seen(&self, id: InstanceId) -> Option<f32> {
        let seen = f32::from_bits(self.by_instance[id.index()].load(Ordering::Relaxed));
        (seen > 0.0).then_some(seen)
    }

    /// Whether the time of a run that will probably take so long should be taken: what a function
    /// costs does not show in its elements.
    pub(crate) fn is_worth_a_look(
        &self,
        id: InstanceId,
        instance: &Instance,
        expected: Duration,
    ) -> bool {
        let is_unseen = || self.seen(id).is_none();
        expected >= WORTH_A_LOOK || (matches!(instance.kernel, Kernel::Function(_)) && is_unseen())
    }

    /// Whether some run of a plan may take so long if none has more elements.
    pub(crate) fn may_take(&self, plan: &Plan, worth: Duration, elements: usize) -> bool {
        plan.instances.iter().any(|(id, instance)| {
            let expected = self.expect(id, instance, elements);
            expected >= worth || self.is_worth_a_look(id, instance, Duration::ZERO)
        })
    }

    /// Notes what a run took; later runs count a quarter.
    pub(crate) fn note(&self, id: InstanceId, elements: usize, took: Duration) {
        let each = took.as_nanos() as f32 / elements.max(1) as f32;
        let now = self.seen(id).map_or(each, |seen| seen + 0.25 * (each - seen));
        self.by_instance[id.index()].store(now.max(f32::MIN_POSITIVE).to_bits(), Ordering::Relaxed);
    }
}
