//! Why a step needs a part of the context: the path from the step to the reader.

use std::collections::VecDeque;

use millstream_base::FeatureSet;
use millstream_base::feature::Need;
use millstream_node::Kernel;
use rustc_hash::FxHashMap;

use crate::need_map::Fate;
use crate::plan::{Plan, StepId, StepOp};

/// A shortest path of steps from `from` to a step that reads need `bit`, both included. Empty if
/// `from` does not have the need.
pub fn trace_need(plan: &Plan, from: StepId, bit: u32) -> Vec<StepId> {
    let mut came_from: FxHashMap<(StepId, u32), (StepId, u32)> = FxHashMap::default();
    let mut queue = VecDeque::new();
    if plan.needs_of(&plan.steps[from]).contains(FeatureSet::bit(bit)) {
        queue.push_back((from, bit));
    }
    while let Some(at) = queue.pop_front() {
        if reads(plan, at.0, plan.needs.need(at.1)) {
            let back = std::iter::successors(Some(at), |at| came_from.get(at).copied());
            let mut path: Vec<StepId> = back.map(|(step, _)| step).collect();
            path.reverse();
            return path;
        }
        for next in upstream(plan, at.0, at.1) {
            if next != (from, bit) && !came_from.contains_key(&next) {
                came_from.insert(next, at);
                queue.push_back(next);
            }
        }
    }
    Vec::new()
}

/// A step that has need `bit` of `from` by itself: it reads the need, or evaluates an input in a scope
/// that does.
pub fn reader_of(plan: &Plan, from: StepId, bit: u32) -> StepId {
    let mut at = (from, bit);
    // A step comes after all steps that it reads from, so this ends.
    while let Some(next) = upstream(plan, at.0, at.1).into_iter().next() {
        at = next;
    }
    at.0
}

/// The document paths of steps, without repetitions. A conversion has the path of its reader, or
/// none.
pub fn paths_of(plan: &Plan, steps: &[StepId]) -> Vec<String> {
    let path = |step: &StepId| plan.paths.get(plan.steps[*step].path).to_string();
    let mut paths: Vec<String> = steps.iter().map(path).collect();
    paths.retain(|path| !path.is_empty());
    paths.dedup();
    paths
}

/// The document paths as text, each enclosed in `quote`; the middle of a long list is left out.
pub fn path_text(mut paths: Vec<String>, quote: &str) -> String {
    const SHOWN: usize = 8;
    for path in &mut paths {
        *path = format!("{quote}{path}{quote}");
    }
    if paths.len() > SHOWN {
        let left_out = SHOWN / 2..paths.len() - SHOWN / 2;
        let note = format!("({} more)", left_out.len());
        paths.splice(left_out, [note]);
    }
    paths.join(" <- ")
}

/// Whether a step itself reads a need, not only its inputs.
pub fn reads(plan: &Plan, step: StepId, need: &Need) -> bool {
    let StepOp::Call(instance) = plan.steps[step].op else { return false };
    match &plan.instances[instance].kernel {
        Kernel::Read { feature, level, aspect } => {
            (feature, *level, *aspect) == (&need.feature, need.level, need.aspect)
        }
        Kernel::ReadState(needs) => needs.contains(need),
        Kernel::Form(_) | Kernel::Function(_) | Kernel::Pass | Kernel::Choose => false,
    }
}

/// The inputs through which `step` has the need `bit`, each with its own need.
fn upstream(plan: &Plan, step: StepId, bit: u32) -> Vec<(StepId, u32)> {
    let StepOp::Call(instance) = plan.steps[step].op else { return Vec::new() };
    let mut found = Vec::new();
    let asked = plan.evaluated_outside(&plan.steps[step], instance);
    for (i, link) in plan.inputs_of(&plan.steps[step]).iter().enumerate() {
        let inside = plan.needs_of(&plan.steps[link.step]);
        let map = plan.need_maps[instance].get(i).and_then(Option::as_ref);
        if map.is_none() && !asked[i] {
            continue;
        }
        let becomes = |inner: u32| match map.map_or(Fate::Same, |map| map.fate(inner)) {
            Fate::Same => Some(inner),
            Fate::Outer(outer) | Fate::Modified(_, outer) => Some(outer),
            Fate::Provided(_) => None,
        };
        found.extend(
            inside.bits().filter(|inner| becomes(*inner) == Some(bit)).map(|b| (link.step, b)),
        );
    }
    found
}
