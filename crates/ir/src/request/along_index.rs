//! Whether outputs read along the index axis of a request.

use std::sync::Arc;

use millstream_base::Feature;
use millstream_base::feature::Aspect;
use millstream_base::id::SideTable;
use millstream_node::{Instance, ScopeRule};

use crate::plan::{Plan, StepId, StepOp};

/// For each step whether it, or a step above it, reads along an axis of elements; a note of the plan.
#[derive(Debug)]
struct Reducing(SideTable<StepId, bool>);

impl Reducing {
    fn of(plan: &Plan) -> &Self {
        plan.notes.get_or_make(|| Self::found(plan))
    }

    fn found(plan: &Plan) -> Self {
        let rule = |rule: &ScopeRule| match rule {
            ScopeRule::Along { feature, .. } => is_of_elements(feature),
            ScopeRule::Inject { .. } | ScopeRule::Each { .. } | ScopeRule::Modify { .. } => false,
        };
        let reduces =
            |instance: &Arc<Instance>| instance.inputs.iter().any(|it| it.scope.iter().any(rule));
        let of_instance: Vec<bool> = plan.instances.as_slice().iter().map(reduces).collect();
        let of_instance = SideTable::from_vec(of_instance);
        let mut reducing = SideTable::for_arena(&plan.steps, false);
        // A step comes after all steps that it reads from.
        for (id, step) in plan.steps.iter() {
            let own = match step.op {
                StepOp::Call(instance) => of_instance[instance],
                StepOp::Input(_) | StepOp::Const(_) => false,
            };
            reducing[id] = own || plan.inputs_of(step).iter().any(|link| reducing[link.step]);
        }
        Self(reducing)
    }
}

fn is_of_elements(feature: &Feature) -> bool {
    matches!(feature, Feature::Index | Feature::Position)
}

/// Whether a step that these outputs need reads along the index axis of the request. Other steps read
/// its extent only as a number.
pub fn reads_along_index(plan: &Plan, outputs: &[usize]) -> bool {
    outputs.iter().any(|output| {
        let step = plan.outputs[*output].source.step;
        let mut needs = plan.needs.of(plan.needs_of(&plan.steps[step]));
        let needs_extent = needs.any(|need| {
            need.level == 0 && need.aspect == Aspect::Extent && is_of_elements(&need.feature)
        });
        needs_extent && Reducing::of(plan).0[step]
    })
}
