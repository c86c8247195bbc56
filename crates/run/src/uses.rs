//! The sources that a call reads, and how: in any case, if a selector says so, or in another
//! context.

use millstream_ir::graph::InstanceId;
use millstream_ir::plan::{Plan, Step, StepOp, StepSource};
use millstream_node::Kernel;
use smallvec::SmallVec;

/// How a step reads from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Whenever it runs, in its own context.
    Strict,
    /// If a selector picks it.
    Arm,
    /// In another context.
    Body,
}

/// The sources that a call reads.
pub(crate) type Uses = SmallVec<[(StepSource, Use); 4]>;

/// The sources that a call reads, and how. An argument of a scope that no rule uses is not read.
pub(crate) fn uses(plan: &Plan, step: &Step) -> Uses {
    let StepOp::Call(id) = step.op else { return Uses::new() };
    let sources = plan.inputs_of(step);
    let instance = &plan.instances[id];
    let mut uses: Uses = match instance.kernel {
        Kernel::Choose => {
            let kinds = std::iter::once(Use::Strict).chain(std::iter::repeat(Use::Arm));
            sources.iter().copied().zip(kinds).collect()
        }
        _ if !instance.has_scopes() => sources.iter().map(|from| (*from, Use::Strict)).collect(),
        _ => {
            let strict = arguments(plan, step, id).into_iter().map(|i| (sources[i], Use::Strict));
            let bodies = instance.inputs.iter().zip(sources);
            let bodies = bodies.filter(|(input, _)| !input.scope.is_empty());
            strict.chain(bodies.map(|(_, from)| (*from, Use::Body))).collect()
        }
    };
    uses.retain(|(from, _)| matches!(plan.steps[from.step].op, StepOp::Call(_)));
    uses
}

/// The inputs that a call evaluates in its own context, by position.
pub(crate) fn arguments(plan: &Plan, step: &Step, id: InstanceId) -> SmallVec<[usize; 4]> {
    let asked = plan.evaluated_outside(step, id);
    (0..asked.len()).filter(|i| asked[*i]).collect()
}
