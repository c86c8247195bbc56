//! The names by which steps are found again in another plan of the same document.

use millstream_base::id::Id;
use millstream_ir::Plan;
use millstream_ir::plan::StepOp;
use rustc_hash::FxHashMap;

/// The name of a step, unique in its plan, by which it is found again in another plan of the same
/// document: its path, its node type with settings, and its position among steps that share both.
pub(super) type StepName = (PathName, InstanceName, u32);

type PathName = String;
type InstanceName = String;

/// Entries by name, with other paths if they are `renamed`.
pub(super) fn with_paths<T>(
    names: FxHashMap<StepName, T>,
    renamed: &impl Fn(&str) -> Option<String>,
) -> FxHashMap<StepName, T> {
    let mut taken: FxHashMap<StepName, T> = FxHashMap::default();
    let mut others: Vec<(StepName, T)> = Vec::new();
    for (name, kept) in names {
        match renamed(&name.0) {
            Some(path) => {
                taken.insert((path, name.1, name.2), kept);
            }
            None => others.push((name, kept)),
        }
    }
    for (name, kept) in others {
        taken.entry(name).or_insert(kept);
    }
    taken
}

/// The steps of a plan by name.
pub(super) fn step_names(plan: &Plan) -> FxHashMap<StepName, usize> {
    let mut names: FxHashMap<StepName, usize> = FxHashMap::default();
    if plan.steps.len() > MOST_NAMED {
        return names;
    }
    let instances: Vec<InstanceName> = plan
        .instances
        .as_slice()
        .iter()
        .map(|f| format!("{} {:?} {:?}", f.name(), f.generics, f.settings))
        .collect();
    let mut seen: FxHashMap<(PathName, InstanceName), u32> = FxHashMap::default();
    for (id, step) in plan.steps.iter() {
        let StepOp::Call(instance) = step.op else { continue };
        let path = plan.paths.get(step.path).to_string();
        let name = instances[instance.index()].clone();
        let ordinal = seen.entry((path.clone(), name.clone())).or_insert(0);
        names.insert((path, name, *ordinal), id.index());
        *ordinal += 1;
    }
    names
}

/// Plans with more steps lose their memo when their document is edited, since finding the steps
/// again would take longer than a frame.
pub(super) const MOST_NAMED: usize = 100_000;
