//! Steps that cost less than looking up their results: single numbers per frame, such as the
//! position of a camera.
//!
//! Their values are computed for all frames at once. Results that read them are keyed by the
//! values, not by how they were computed: an edit to an animation affects only the frames whose
//! values it changes.

use std::time::Duration;

use millstream_base::feature::Aspect;
use millstream_base::id::SideTable;
use millstream_base::{Feature, FeatureSet, Footprint, Type};
use millstream_ir::plan::{Plan, Step, StepId, StepOp};
use millstream_ir::repeat::ZoneBody;
use millstream_ir::request::{Given, Request, RequestAxis};
use millstream_ir::states::is_state;
use millstream_node::{Class, Kernel};

/// The largest constant that a cheap step reads, in bytes.
const SMALL: usize = 1 << 16;

/// A function whose node type declares a longer time is not cheap.
const SHORT: Duration = Duration::from_micros(100);

/// The maximum number of instructions of all cheap steps together; beyond it, computing them takes
/// longer than reading a result.
const MAX_WORK: usize = 1 << 14;

/// The work of a cheap function, in instructions.
const FUNCTION: usize = 64;

/// The steps that are cheap, in the context of the request.
pub(crate) struct Cheap {
    pub(crate) is_cheap: SideTable<StepId, bool>,
    /// The needs that vary from element to element.
    pub(crate) wide: FeatureSet,
    /// The steps that have a value per element.
    pub(crate) is_wide: SideTable<StepId, bool>,
}

impl Cheap {
    /// Finds cheap steps, or only those that read the context if `only_reads` is set.
    pub(crate) fn new(plan: &Plan, request: &Request, only_reads: bool) -> Self {
        let mut provided = FeatureSet::NONE;
        for (bit, need) in plan.needs.iter().enumerate() {
            let given = request.of_feature(&need.feature);
            let is_moment = matches!(need.feature, Feature::Time | Feature::Tick);
            let is_given = is_moment || matches!(given, Some(Given::One(_)));
            if is_given && need.level == 0 && need.aspect == Aspect::Value {
                provided = provided.union(FeatureSet::bit(bit as u32));
            }
        }
        let mut found = Self {
            is_cheap: SideTable::for_arena(&plan.steps, false),
            wide: request.needs_by_element(plan),
            is_wide: SideTable::for_arena(&plan.steps, false),
        };
        let is_needed = request.needed_steps(plan);
        let mut work = 0_usize;
        for (id, step) in plan.steps.iter() {
            found.is_wide[id] = found.has_elements(plan, request, step);
            let (is_cheap, own) = found.cost(plan, request, step, only_reads);
            // Features that only scopes provide are missing in the context of the request. What only
            // other outputs need may fail, and must not matter.
            let is_cheap = is_cheap
                && is_needed[id]
                && !found.is_wide[id]
                && provided.contains(plan.needs_of(step));
            found.is_cheap[id] = is_cheap;
            work = work.saturating_add(if is_cheap { own } else { 0 });
        }
        if work > MAX_WORK && !only_reads { Self::new(plan, request, true) } else { found }
    }

    fn has_elements(&self, plan: &Plan, request: &Request, step: &Step) -> bool {
        match step.op {
            StepOp::Const(_) => false,
            StepOp::Input(input) => {
                let given = request.of_input(&plan.inputs[input].name);
                matches!(given, Some(Given::Along(RequestAxis::Index, _)))
                    || is_state(&plan.inputs[input].name)
            }
            StepOp::Call(_) => {
                !plan.needs_of(step).intersect(self.wide).is_empty()
                    || plan.inputs_of(step).iter().any(|link| self.is_wide[link.step])
            }
        }
    }

    /// Whether a step is cheap, and its number of instructions.
    fn cost(&self, plan: &Plan, request: &Request, step: &Step, only_reads: bool) -> (bool, usize) {
        let call = match step.op {
            StepOp::Const(constant) => return (plan.constants[constant].bytes() <= SMALL, 0),
            StepOp::Input(input) => {
                let input = &plan.inputs[input];
                let is_small = match request.of_input(&input.name) {
                    Some(Given::One(value)) => value.bytes() <= SMALL,
                    Some(Given::Along(_, _)) => false,
                    None => !is_state(&input.name),
                };
                return (is_small, 0);
            }
            StepOp::Call(call) => call,
        };
        let instance = &plan.instances[call];
        let work = match &instance.kernel {
            Kernel::Read { level: 0, aspect: Aspect::Value, .. } => 0,
            _ if only_reads => return (false, 0),
            Kernel::Form(form) => form.insts.len(),
            Kernel::Pass | Kernel::Choose => 1,
            Kernel::Function(_) if ZoneBody::of(instance).is_none() => FUNCTION,
            Kernel::Function(_) | Kernel::Read { .. } | Kernel::ReadState(_) => return (false, 0),
        };
        let is_cheap = !instance.has_scopes()
            && (instance.class < Class::Stateful || matches!(instance.kernel, Kernel::Read { .. }))
            && instance.def.cost.is_none_or(|cost| cost < SHORT)
            && instance.outputs.iter().all(|output| is_small(output.ty))
            && plan.inputs_of(step).iter().all(|link| self.is_cheap[link.step]);
        (is_cheap, work)
    }
}

/// Whether values of a type are single numbers, or as small.
pub(crate) fn is_small(ty: Type) -> bool {
    ty.lanes().is_some() || ty == Type::STRING || ty == Type::of::<Footprint>()
}
