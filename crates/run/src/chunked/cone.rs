//! Cones: the members of a region that can run together with one of them at present.
//!
//! The cone of a step holds the members of its region above it that are not computed yet. If the
//! selector of a choice is one value, only the taken arm counts. If the selector varies between
//! elements, the choice selects, if its region allows that, and members that only arms need are in
//! the cone as well. They are computed for all elements, so the sources that they read from outside
//! must be needed in any case or unable to fail.

use millstream_base::id::Id;
use millstream_ir::plan::{LinkKind, StepId, StepOp, StepSource};
use millstream_node::{Data, Kernel};

use super::region::Fusing;
use crate::frame::FrameId;
use crate::fuse::{Member, position};
use crate::store::State;
use crate::walk::{Place, Walk, arm};

/// A step with the steps above it that can run together with it.
#[derive(Default)]
pub(super) struct Cone {
    /// In order of the plan; the step itself is the last.
    pub(super) members: Vec<Member>,
    /// Calls that members read but that are not members.
    pub(super) outside: Vec<StepSource>,
    /// Selectors that are one value but not known yet; until they are, the cone is incomplete.
    pub(super) unknown: Vec<StepSource>,
    /// Sources that only arms of choices need and that were not visited yet.
    arms: Vec<(StepSource, LinkKind)>,
    has_choices: bool,
}

impl Cone {
    /// Whether choices are among the members.
    pub(super) fn has_choices(&self) -> bool {
        self.has_choices
    }
}

/// If only arms read more than this many sources that may fail, no choice joins the cone.
const MAX_FAILING: usize = 8;

/// How a step joins a cone.
enum Joins {
    No,
    Whole,
    /// As a choice that selects among all arms.
    Selecting,
    /// As a choice of which all elements take this arm.
    Arm(u32),
    /// As a choice, once its selector is known.
    Later(StepSource),
}

impl Walk<'_, Fusing<'_>> {
    /// The cone of a step, with the choices of its region or without; `None` if the step is a
    /// choice that does not join, or if a source that arms read must not be computed for all
    /// elements.
    pub(super) fn cone(&mut self, root: StepId, frame: FrameId, choices: bool) -> Option<Cone> {
        self.mode.n_searches += 1;
        self.mode.met[root.index()] = self.mode.n_searches;
        let mut cone = Cone::default();
        if !self.add_to(&mut cone, root, frame, choices) {
            return None;
        }
        let (mut next, mut strict) = (0, None);
        loop {
            while let Some(member) = cone.members.get(next).copied() {
                next += 1;
                let selects = self.selects(member);
                for (i, link) in member.links(self.plan).enumerate() {
                    if selects && i > 0 {
                        cone.arms.push(link);
                    } else {
                        self.meet(&mut cone, link, frame, choices);
                    }
                }
            }
            let Some(link) = cone.arms.pop() else { break };
            // All sources from here on are needed only by arms.
            strict.get_or_insert((cone.outside.len(), cone.unknown.len()));
            self.meet(&mut cone, link, frame, choices);
        }
        cone.members.sort_unstable_by_key(|member| member.step);
        let Some((n_outside, n_unknown)) = strict else { return Some(cone) };
        let total = self.mode.regions.total(self.plan);
        let may_fail = |source: &&StepSource| !total[source.step.index()];
        if cone.unknown[n_unknown..].iter().any(|source| may_fail(&source)) {
            return None;
        }
        if cone.unknown.is_empty() {
            let failing = cone.outside[n_outside..].iter().filter(may_fail);
            let failing: Vec<StepSource> = failing.take(MAX_FAILING + 1).copied().collect();
            let is_needed = |source| self.is_needed(&cone.members, source);
            if failing.len() > MAX_FAILING || !failing.into_iter().all(is_needed) {
                return None;
            }
        }
        Some(cone)
    }

    /// Whether the last of these members needs a source for all combinations of arms.
    fn is_needed(&self, members: &[Member], source: StepSource) -> bool {
        let plan = self.plan;
        let mut needs: Vec<bool> = Vec::with_capacity(members.len());
        for member in members {
            let mut by_links = member.links(plan).map(|(link, _)| {
                link.step == source.step || position(members, link.step).is_some_and(|at| needs[at])
            });
            let needs_it = if self.selects(*member) {
                by_links.next() == Some(true) || by_links.all(|by_arm| by_arm)
            } else {
                by_links.any(|by_link| by_link)
            };
            needs.push(needs_it);
        }
        needs.last() == Some(&true)
    }

    /// Whether a member is a choice that reads its selector and then all arms.
    pub(super) fn selects(&self, member: Member) -> bool {
        let StepOp::Call(id) = self.plan.steps[member.step].op else { return false };
        member.arm.is_none() && matches!(self.plan.instances[id].kernel, Kernel::Choose)
    }

    /// Visits a source of a member.
    fn meet(
        &mut self,
        cone: &mut Cone,
        (source, kind): (StepSource, LinkKind),
        frame: FrameId,
        choices: bool,
    ) {
        match kind {
            LinkKind::Const | LinkKind::Input => return,
            LinkKind::Same | LinkKind::Other => {}
        }
        let met = &mut self.mode.met[source.step.index()];
        if std::mem::replace(met, self.mode.n_searches) == self.mode.n_searches {
            return;
        }
        if !self.add_to(cone, source.step, frame, choices) {
            cone.outside.push(source);
        }
    }

    /// Adds a step if it joins; returns whether it did.
    fn add_to(&mut self, cone: &mut Cone, step: StepId, frame: FrameId, choices: bool) -> bool {
        let root = cone.members.first().map_or(step, |root| root.step);
        let arm = match self.joins(step, root, frame, choices) {
            Joins::No => return false,
            Joins::Later(selector) => {
                cone.unknown.push(selector);
                return true;
            }
            Joins::Whole => None,
            Joins::Selecting => {
                cone.has_choices = true;
                None
            }
            Joins::Arm(arm) => {
                cone.has_choices = true;
                Some(arm)
            }
        };
        cone.members.push(Member { step, arm });
        true
    }

    fn joins(&mut self, step: StepId, root: StepId, frame: FrameId, choices: bool) -> Joins {
        let plan = self.plan;
        let (Some(mark), Some(root)) = (plan.region_of(step), plan.region_of(root)) else {
            return Joins::No;
        };
        if mark.region != root.region {
            return Joins::No;
        }
        let home = self.home(step, frame);
        if let Some(slot) = self.store.find(step, home)
            && (self.store.state(slot) != State::Empty || self.store.rest(slot).bad.is_some())
        {
            return Joins::No;
        }
        let StepOp::Call(id) = plan.steps[step].op else { return Joins::No };
        let instance = &plan.instances[id];
        match &instance.kernel {
            Kernel::Choose if choices => {}
            Kernel::Form(_) => return Joins::Whole,
            Kernel::Choose
            | Kernel::Function(_)
            | Kernel::Read { .. }
            | Kernel::Pass
            | Kernel::ReadState(_) => return Joins::No,
        }
        let selector = plan.inputs_of(&plan.steps[step])[0];
        let place = match plan.steps[selector.step].op {
            StepOp::Const(id) => Place::Const(id),
            StepOp::Input(id) => Place::Input(id),
            StepOp::Call(_) => {
                let home = self.home(selector.step, frame);
                match self.store.find(selector.step, home) {
                    Some(slot) if self.store.state(slot) == State::Full => {
                        Place::Slot(slot, selector.output)
                    }
                    Some(slot) if self.store.state(slot) == State::Partial => {
                        return selecting(mark.only_uniform);
                    }
                    Some(slot) if self.store.state(slot) != State::Empty => return Joins::No,
                    Some(slot) if self.store.rest(slot).bad.is_some() => return Joins::No,
                    Some(_) | None if self.may_vary(selector.step, home) => {
                        return selecting(mark.only_uniform);
                    }
                    Some(_) | None => return Joins::Later(selector),
                }
            }
        };
        match self.read(place).0 {
            data @ Data::One(_) => Joins::Arm(arm(data, 0, instance.inputs.len() - 1) as u32),
            Data::Many(_) => selecting(mark.only_uniform),
        }
    }
}

fn selecting(only_uniform: bool) -> Joins {
    if only_uniform { Joins::No } else { Joins::Selecting }
}
