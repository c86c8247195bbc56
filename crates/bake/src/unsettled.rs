//! Repeats that ended before they were stable, as marks on results.
//!
//! The marks are stored with each result that depends on the repeat. So a reused result brings the
//! same warning as a computed one. Names of nodes are no part of keys: a mark names the repeat as it
//! was called when the result was computed.

use millstream::twice::Unsettled;
use millstream_base::Feature;
use millstream_base::id::SideTable;
use millstream_ir::plan::{Plan, StepId, StepOp};
use millstream_ir::repeat::{ZoneBody, take_unsettled};
use millstream_ir::state_reads::StateReads;
use millstream_ir::states::is_state;
use millstream_node::Kernel;

use crate::trace::Arms;

/// A repeat that did not settle, and how results depend on it.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub(crate) unsettled: Unsettled,
    pub(crate) via: Via,
}

/// How results depend on a repeat.
#[derive(Clone, Debug)]
pub(crate) enum Via {
    /// Through any of these steps.
    Steps(Vec<StepId>),
    /// Through the state of a node before the tick.
    State(usize),
}

/// Collects the marks of evaluations of one plan.
pub(crate) struct Marks<'p> {
    plan: &'p Plan,
    has_zones: bool,
    /// The steps whose results differ between frames.
    varies: SideTable<StepId, bool>,
    /// Marks of repeats that are the same in all frames, and may run in the first one alone.
    fixed: Vec<Mark>,
}

impl<'p> Marks<'p> {
    pub(crate) fn new(plan: &'p Plan) -> Self {
        let has_zones = plan.instances.iter().any(|(_, it)| ZoneBody::of(it).is_some());
        let mut varies = SideTable::for_arena(&plan.steps, false);
        for (id, step) in plan.steps.iter() {
            let mut needs = plan.needs_of(step).bits().map(|bit| &plan.needs.need(bit).feature);
            varies[id] = needs.any(|feature| matches!(feature, Feature::Time | Feature::Tick))
                || is_of_state(plan, step.op)
                || plan.inputs_of(step).iter().any(|link| varies[link.step]);
        }
        Self { plan, has_zones, varies, fixed: Vec::new() }
    }

    /// The marks of evaluations since the last call that are not [`fixed`](Self::fixed).
    pub(crate) fn take(&mut self) -> Vec<Mark> {
        if !self.has_zones {
            return Vec::new();
        }
        let mut own = Vec::new();
        for (path, rounds) in take_unsettled(self.plan) {
            let rounds = rounds.values().copied().max().unwrap_or(0);
            let steps = self.steps_of(path.as_str());
            let is_fixed = steps.iter().all(|step| !self.varies[*step]);
            let via = Via::Steps(steps);
            let mark = Mark { unsettled: Unsettled { path, rounds }, via };
            let is_known = |it: &Mark| it.unsettled.path == mark.unsettled.path;
            if !is_fixed {
                own.push(mark);
            } else if !self.fixed.iter().any(is_known) {
                self.fixed.push(mark);
            }
        }
        own
    }

    /// Whether the results of a step differ between frames.
    pub(crate) fn varies(&self, step: StepId) -> bool {
        self.varies[step]
    }

    /// The marks of repeats that are the same in all frames.
    pub(crate) fn fixed(&self) -> impl Iterator<Item = Mark> {
        self.fixed.iter().cloned()
    }

    /// Forgets the fixed marks, before other results are computed.
    pub(crate) fn restart(&mut self) {
        self.fixed.clear();
    }

    /// The steps of a zone with this path, or of the zone that contains it.
    fn steps_of(&self, path: &str) -> Vec<StepId> {
        let plan = self.plan;
        let is_zone = |step: StepOp| match step {
            StepOp::Call(call) => ZoneBody::of(&plan.instances[call]).is_some(),
            StepOp::Const(_) | StepOp::Input(_) => false,
        };
        let contains = |zone: &str| {
            path.strip_prefix(zone).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let steps = plan
            .steps
            .iter()
            .filter(|(_, step)| is_zone(step.op) && contains(plan.paths.get(step.path).as_str()));
        steps.map(|(id, _)| id).collect()
    }
}

/// Whether a step reads the state before the tick.
fn is_of_state(plan: &Plan, op: StepOp) -> bool {
    match op {
        StepOp::Input(input) => is_state(&plan.inputs[input].name),
        StepOp::Call(call) => matches!(plan.instances[call].kernel, Kernel::ReadState(_)),
        StepOp::Const(_) => false,
    }
}

/// The marks that concern results of steps that depend on the state of these nodes.
pub(crate) fn of_results(
    plan: &Plan,
    (steps, arms): (&[StepId], &Arms),
    (reads, depends): (&StateReads<'_>, &[bool]),
    marks: &[Mark],
) -> Vec<Unsettled> {
    if marks.is_empty() {
        return Vec::new();
    }
    let nodes = (0..depends.len()).filter(|node| depends[*node]);
    let mut ahead: Vec<StepId> = nodes.flat_map(|node| reads.steps_of(node)).collect();
    ahead.extend_from_slice(steps);
    let mut is_above = SideTable::for_arena(&plan.steps, false);
    while let Some(step) = ahead.pop() {
        if std::mem::replace(&mut is_above[step], true) {
            continue;
        }
        let links = plan.inputs_of(&plan.steps[step]);
        match arms.get(&step) {
            Some(arm) => ahead.push(links[*arm].step),
            None => ahead.extend(links.iter().map(|link| link.step)),
        }
    }
    let concerns = |mark: &&Mark| match &mark.via {
        Via::Steps(steps) => steps.iter().any(|step| is_above[*step]),
        Via::State(node) => depends[*node],
    };
    let mut all = Vec::new();
    merge(&mut all, marks.iter().filter(concerns).map(|mark| mark.unsettled.clone()));
    all
}

/// Adds repeats, each once, with the greatest number of rounds.
pub(crate) fn merge(all: &mut Vec<Unsettled>, more: impl IntoIterator<Item = Unsettled>) {
    for one in more {
        match all.iter_mut().find(|known| known.path == one.path) {
            Some(known) => known.rounds = known.rounds.max(one.rounds),
            None => all.push(one),
        }
    }
}
