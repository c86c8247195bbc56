//! Loops whose lists are folded at once: `list.sum` of `list.generate`, and the like.
//!
//! Where nobody else reads the list, the items of a loop are forms, and the number of rounds is known
//! and small, the loop is written out as one form: the items of all rounds, and the fold over them in
//! its own order. So neither the items nor the list exist for all cells at once. What a loop is made of
//! depends on the plan alone.

use millstream_base::FeatureSet;
use millstream_base::feature::Aspect;
use millstream_ir::need_map::Fate;
use millstream_ir::plan::{LinkKind, Plan, StepId, StepOp, StepSource};
use millstream_kernel::form::FormBuilder;
use millstream_kernel::{Function, Instance, Kernel, ScopeRule};
use rustc_hash::FxHashMap;

/// More rounds than this are not written out: up to here a fold is one block of its tree.
const MAX_ROUNDS: usize = 1024;

/// A loop that is written out has at most so many instructions before they are simplified.
const MAX_INSTRUCTIONS: usize = 4096;

/// The parts of a loop.
#[derive(Debug)]
pub(crate) struct Loop {
    /// The step that gives the list.
    pub(crate) list: StepId,
    /// The number of rounds.
    pub(crate) count: StepSource,
    /// What is computed for each round.
    pub(crate) item: StepSource,
    /// The steps of forms that differ between rounds, in order of the plan.
    pub(crate) members: Vec<StepId>,
    /// The steps that read the number of the round.
    pub(crate) rounds: Vec<StepId>,
    /// Calls that members read and that are the same for all rounds.
    pub(crate) outside: Vec<StepSource>,
    n_instructions: usize,
}

impl Loop {
    /// Whether so many rounds are written out.
    pub(crate) fn takes(&self, n_rounds: i32) -> bool {
        let n = usize::try_from(n_rounds).unwrap_or(0);
        (1..=MAX_ROUNDS).contains(&n) && n * (self.n_instructions + 1) <= MAX_INSTRUCTIONS
    }
}

/// The loops of a plan by the steps that fold their lists.
pub(crate) fn loops(plan: &Plan) -> FxHashMap<StepId, Loop> {
    let calls = plan.steps.iter().filter(|(_, step)| step.n_links == 1);
    calls.filter_map(|(id, _)| Some((id, find(plan, id)?))).collect()
}

/// The function of a step that calls one.
pub(crate) fn function_of(plan: &Plan, step: StepId) -> Option<(&Instance, &dyn Function)> {
    let StepOp::Call(id) = plan.steps[step].op else { return None };
    let instance = &plan.instances[id];
    match &instance.kernel {
        Kernel::Function(function) => Some((instance, &**function)),
        Kernel::Form(_) | Kernel::Read { .. } | Kernel::Pass | Kernel::Choose | Kernel::Kept(_) => {
            None
        }
    }
}

fn find(plan: &Plan, fold: StepId) -> Option<Loop> {
    let (folding, function) = function_of(plan, fold)?;
    let list = plan.inputs_of(&plan.steps[fold])[0].step;
    let (generating, generate) = function_of(plan, list)?;
    let step = &plan.steps[list];
    if folding.has_scopes() || !generate.hands_on() || step.n_users != 1 || step.n_links != 2 {
        return None;
    }
    let [ScopeRule::Each { feature, count: 1 }] = &generating.inputs[0].scope[..] else {
        return None;
    };
    let item_type = generating.inputs[0].ty;
    if !generating.inputs[1].scope.is_empty() || !folds(function, item_type) {
        return None;
    }
    let &[item, count] = plan.inputs_of(step) else { return None };
    let StepOp::Call(id) = step.op else { return None };
    let map = plan.need_maps[id].first()?.as_ref()?;
    let mut provided = FeatureSet::NONE;
    for bit in plan.needs_of(&plan.steps[item.step]).bits() {
        match map.fate(bit) {
            Fate::Same => {}
            Fate::Provided(_) => provided = provided.union(FeatureSet::bit(bit)),
            Fate::Outer(_) | Fate::Modified(..) => return None,
        }
    }
    let differs = |step: StepId| !plan.needs_of(&plan.steps[step]).intersect(provided).is_empty();
    if !differs(item.step) {
        return None;
    }
    let mut made = Loop {
        list,
        count,
        item,
        members: Vec::new(),
        rounds: Vec::new(),
        outside: Vec::new(),
        n_instructions: 0,
    };
    // Of each step that differs how many of its users were met.
    let mut met: FxHashMap<StepId, u32> = FxHashMap::from_iter([(item.step, 1)]);
    let mut stack = vec![item.step];
    while let Some(at) = stack.pop() {
        let StepOp::Call(id) = plan.steps[at].op else { return None };
        let instance = &plan.instances[id];
        if let Kernel::Read { feature: read, level: 0, aspect: Aspect::Value } = &instance.kernel
            && read == feature
        {
            made.rounds.push(at);
            continue;
        }
        made.n_instructions += instance.plain_form()?.insts.len();
        if made.n_instructions > MAX_INSTRUCTIONS {
            return None;
        }
        made.members.push(at);
        for (source, kind) in plan.links_of(&plan.steps[at]) {
            if differs(source.step) {
                let users = met.entry(source.step).or_insert(0);
                *users += 1;
                if *users == 1 {
                    stack.push(source.step);
                }
            } else if matches!(kind, LinkKind::Same | LinkKind::Other)
                && !made.outside.contains(&source)
            {
                made.outside.push(source);
            }
        }
    }
    // The numbers of the rounds alone are the same for all cells.
    if made.members.is_empty() {
        return None;
    }
    made.members.sort_unstable();
    // A step that somebody else reads would be computed twice; the number of the round may be.
    let is_own = |step: &StepId| plan.steps[*step].n_users == met[step];
    made.members.iter().all(is_own).then_some(made)
}

/// Whether a function can fold lists of such items.
fn folds(function: &dyn Function, item: millstream_base::Type) -> bool {
    let Some((lane, n)) = item.lanes() else { return false };
    let b = FormBuilder::new();
    let items = [(0..n).map(|_| b.param(lane)).collect()];
    function.unrolled(&items).is_some()
}
