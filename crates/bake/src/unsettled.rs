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
use millstream_ir::states::is_state;
use millstream_node::Kernel;

use crate::trace::Arms;

/// A repeat that did not settle, and the steps through which results depend on it.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub(crate) unsettled: Unsettled,
    /// The steps; none if the state before the tick already depended on the repeat.
    pub(crate) steps: Vec<StepId>,
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
            let steps = self.steps_of(path.as_str());
            let is_fixed = steps.iter().all(|step| !self.varies[*step]);
            let mark = Mark { unsettled: Unsettled { path, rounds }, steps };
            let is_known = |it: &Mark| it.unsettled.path == mark.unsettled.path;
            if !is_fixed {
                own.push(mark);
            } else if !self.fixed.iter().any(is_known) {
                self.fixed.push(mark);
            }
        }
        own
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

/// The steps that a result, or the state, depends on.
struct Above {
    is_above: SideTable<StepId, bool>,
    reads_state: bool,
}

impl Above {
    fn of(plan: &Plan, mut ahead: Vec<StepId>, arms: &Arms, reads_state: bool) -> Self {
        let is_above = SideTable::for_arena(&plan.steps, false);
        let mut above = Self { is_above, reads_state };
        while let Some(step) = ahead.pop() {
            if std::mem::replace(&mut above.is_above[step], true) {
                continue;
            }
            if is_of_state(plan, plan.steps[step].op)
                && !std::mem::replace(&mut above.reads_state, true)
            {
                ahead.extend(state_steps(plan));
            }
            let links = plan.inputs_of(&plan.steps[step]);
            match arms.get(&step) {
                Some(arm) => ahead.push(links[*arm].step),
                None => ahead.extend(links.iter().map(|link| link.step)),
            }
        }
        above
    }

    fn marks(&self, marks: &[Mark]) -> Vec<Unsettled> {
        let concerns = |mark: &&Mark| match &mark.steps[..] {
            [] => self.reads_state,
            steps => steps.iter().any(|step| self.is_above[*step]),
        };
        let mut all = Vec::new();
        merge(&mut all, marks.iter().filter(concerns).map(|mark| mark.unsettled.clone()));
        all
    }
}

/// The steps that compute the next state.
fn state_steps(plan: &Plan) -> impl Iterator<Item = StepId> {
    let outputs = plan.outputs.iter().filter(|output| is_state(&output.name));
    let written = plan.state_writers.iter().flat_map(|writer| &writer.values);
    outputs.chain(written).map(|output| output.source.step)
}

/// The marks that concern the result of a step.
pub(crate) fn of_result(plan: &Plan, step: StepId, arms: &Arms, marks: &[Mark]) -> Vec<Unsettled> {
    if marks.is_empty() {
        return Vec::new();
    }
    Above::of(plan, vec![step], arms, false).marks(marks)
}

/// The marks that concern the state after a tick.
pub(crate) fn of_state(plan: &Plan, marks: &[Mark]) -> Vec<Unsettled> {
    if marks.is_empty() {
        return Vec::new();
    }
    Above::of(plan, state_steps(plan).collect(), &Arms::default(), true).marks(marks)
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
