//! The contexts in which steps are evaluated: that of the request, or changed ones.

use millstream_base::FeatureSet;
use millstream_base::id::SideTable;
use millstream_ir::need_map::Fate;
use millstream_ir::plan::{Plan, StepId, StepOp};

/// The steps that the outputs read, and those that are read in a changed context.
pub(crate) fn contexts(plan: &Plan) -> (SideTable<StepId, bool>, SideTable<StepId, bool>) {
    let mut is_read = SideTable::for_arena(&plan.steps, false);
    // The needs of a step that are affected in any of its contexts.
    let mut affected = SideTable::for_arena(&plan.steps, FeatureSet::NONE);
    for output in &plan.outputs {
        is_read[output.source.step] = true;
    }
    // The state of elements advances in the contexts of the elements.
    for value in plan.state_writers.iter().flat_map(|writer| &writer.values) {
        let step = value.source.step;
        is_read[step] = true;
        affected[step] = plan.needs_of(&plan.steps[step]);
    }
    // A step comes after everything it reads.
    for (id, step) in plan.steps.iter().rev() {
        let StepOp::Call(call) = step.op else { continue };
        if !is_read[id] {
            continue;
        }
        for (i, link) in plan.inputs_of(step).iter().enumerate() {
            is_read[link.step] = true;
            let inside = plan.needs_of(&plan.steps[link.step]);
            let mut changed = affected[id].intersect(inside);
            if let Some(map) = plan.need_maps[call].get(i).and_then(Option::as_ref) {
                for bit in inside.bits().filter(|bit| map.fate(*bit) != Fate::Same) {
                    changed = changed.union(FeatureSet::bit(bit));
                }
            }
            affected[link.step] = affected[link.step].union(changed);
        }
    }
    let mut is_affected = SideTable::for_arena(&plan.steps, false);
    for (id, affected) in affected.iter() {
        is_affected[id] = !affected.is_empty();
    }
    (is_read, is_affected)
}
