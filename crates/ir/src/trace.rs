//! Why a step needs something of the context: the way from it to the step that reads it.

use millstream_base::FeatureSet;
use millstream_base::feature::Need;
use millstream_kernel::Kernel;

use crate::need_map::Fate;
use crate::plan::{Plan, StepId, StepOp};

/// The steps from `from` down to one that reads need `bit`, both included; the first way found.
/// Empty if `from` does not need it.
pub fn trace_need(plan: &Plan, from: StepId, bit: u32) -> Vec<StepId> {
    let mut way = Vec::new();
    let mut at = Some((from, bit));
    while let Some((step, bit)) = at {
        if !plan.needs_of(&plan.steps[step]).contains(FeatureSet::bit(bit)) {
            break;
        }
        way.push(step);
        at = if reads(plan, step, plan.needs.need(bit)) { None } else { next(plan, step, bit) };
    }
    way
}

fn reads(plan: &Plan, step: StepId, need: &Need) -> bool {
    let StepOp::Call(instance) = plan.steps[step].op else { return false };
    match &plan.instances[instance].kernel {
        Kernel::Read { feature, level, aspect } => {
            (feature, *level, *aspect) == (&need.feature, need.level, need.aspect)
        }
        Kernel::Form(_) | Kernel::Function(_) | Kernel::Pass | Kernel::Choose => false,
    }
}

/// The input of `step` because of which it needs `bit`, and the need that the input has.
fn next(plan: &Plan, step: StepId, bit: u32) -> Option<(StepId, u32)> {
    let StepOp::Call(instance) = plan.steps[step].op else { return None };
    for (i, link) in plan.inputs_of(&plan.steps[step]).iter().enumerate() {
        let inside = plan.needs_of(&plan.steps[link.step]);
        let map = plan.need_maps[instance].get(i).and_then(Option::as_ref);
        let becomes = |inner: u32| match map.map_or(Fate::Same, |map| map.fate(inner)) {
            Fate::Same => Some(inner),
            Fate::Outer(outer) | Fate::Modified(_, outer) => Some(outer),
            Fate::Provided(_) => None,
        };
        if let Some(inner) = inside.bits().find(|inner| becomes(*inner) == Some(bit)) {
            return Some((link.step, inner));
        }
    }
    None
}
