//! Features that reductions read at all cells of an axis.
//!
//! A step demanded in part evaluates the arguments of a scope at the demanded cells. If the body of
//! the scope reduces along an axis, it reads the changed feature at all cells of the axis, and so
//! needs the arguments there too.

use millstream_base::FeatureSet;
use millstream_base::feature::{Aspect, Need};
use millstream_base::id::Id;
use millstream_ir::Plan;
use millstream_ir::graph::InstanceId;
use millstream_ir::need_map::{Fate, NeedMap};
use millstream_ir::plan::{Step, StepOp, StepSource};
use millstream_node::ScopeRule;
use smallvec::SmallVec;

use super::scope::need_map;
use super::{Demand, Mode, Stop, Task, Walk};
use crate::frame::Feat;
use crate::shape::{AxisId, AxisSet};

/// The values of features that are read at all cells of an axis, by the bit of its extent.
type Along = SmallVec<[(u32, FeatureSet); 1]>;

/// The features that each step of a plan reads along axes, itself and through its inputs; a note of
/// the plan.
#[derive(Debug)]
pub(super) struct Reductions(Vec<Along>);

impl Reductions {
    /// The reductions of a plan; none if nothing needs an extent.
    fn of(plan: &Plan) -> Option<&Self> {
        let has_extents = plan.needs.iter().any(|need| need.aspect == Aspect::Extent);
        has_extents.then(|| plan.notes.get_or_make(|| Self::found(plan)))
    }

    fn found(plan: &Plan) -> Self {
        let mut all = Self(vec![Along::new(); plan.steps.len()]);
        loop {
            for (id, step) in plan.steps.iter() {
                let along = all.of_step(plan, step);
                merge(&mut all.0[id.index()], &along);
            }
            // The next state of a node is evaluated in the contexts in which its state is read.
            let mut grows = false;
            for writer in &plan.state_writers {
                for value in &writer.values {
                    let along = all.0[value.source.step.index()].clone();
                    grows |= merge(&mut all.0[writer.reader.index()], &along);
                }
            }
            if !grows {
                return all;
            }
        }
    }

    fn of_step(&self, plan: &Plan, step: &Step) -> Along {
        let StepOp::Call(id) = step.op else { return Along::new() };
        let mut along = Along::new();
        for (i, source) in plan.inputs_of(step).iter().enumerate() {
            if plan.instances[id].inputs[i].scope.is_empty() {
                merge(&mut along, &self.0[source.step.index()]);
                continue;
            }
            for (extent, values) in self.inside(plan, (step, id), i) {
                let map = need_map(plan, id, i);
                let Some(extent) = outside(map, extent) else { continue };
                let mut outside = map.outside(values).minus(map.always());
                for argument in arguments(plan, (step, id), i, values) {
                    let needs = plan.needs_of(&plan.steps[argument.step]);
                    outside = outside.union(values_of(plan, needs));
                }
                merge(&mut along, &[(extent, outside)]);
            }
        }
        along
    }

    /// The features read along axes within the scope of an input.
    fn inside(&self, plan: &Plan, (step, id): (&Step, InstanceId), i: usize) -> Along {
        let source = plan.inputs_of(step)[i];
        let mut along = self.0[source.step.index()].clone();
        for rule in &plan.instances[id].inputs[i].scope {
            if let ScopeRule::Along { feature, level } = rule {
                let need = Need { feature: feature.clone(), level: *level, aspect: Aspect::Extent };
                let extent = plan.needs.find(&need).expect("a reduction needs an extent");
                let needs = plan.needs_of(&plan.steps[source.step]);
                merge(&mut along, &[(extent, values_of(plan, needs))]);
            }
        }
        along
    }
}

/// Adds features read along axes; returns whether any are new.
fn merge(into: &mut Along, from: &[(u32, FeatureSet)]) -> bool {
    let mut grows = false;
    for (extent, values) in from.iter().filter(|(_, values)| !values.is_empty()) {
        match into.iter_mut().find(|(known, _)| known == extent) {
            Some((_, known)) => {
                grows |= !known.contains(*values);
                *known = known.union(*values);
            }
            None => {
                grows = true;
                into.push((*extent, *values));
            }
        }
    }
    grows
}

/// Those needs that are values.
fn values_of(plan: &Plan, needs: FeatureSet) -> FeatureSet {
    let values = needs.bits().filter(|bit| plan.needs.need(*bit).aspect == Aspect::Value);
    values.fold(FeatureSet::NONE, |all, bit| all.union(FeatureSet::bit(bit)))
}

/// The extent outside of a socket, if the axis was not opened there.
fn outside(map: &NeedMap, extent: u32) -> Option<u32> {
    if map.always().contains(FeatureSet::bit(extent)) {
        return Some(extent);
    }
    match map.fate(extent) {
        Fate::Same => Some(extent),
        Fate::Outer(outer) => Some(outer),
        Fate::Provided(_) | Fate::Modified(..) => None,
    }
}

/// The arguments that the scope of an input takes to make these values.
fn arguments(
    plan: &Plan,
    (step, id): (&Step, InstanceId),
    i: usize,
    values: FeatureSet,
) -> impl Iterator<Item = StepSource> {
    let active = need_map(plan, id, i).active_rules(values);
    let rules = plan.instances[id].inputs[i].scope.iter().enumerate();
    rules.flat_map(move |(r, rule)| {
        let args = if active >> r & 1 == 0 { &[] } else { rule.uses(true) };
        args.iter().map(move |arg| plan.inputs_of(step)[*arg as usize])
    })
}

impl<M: Mode> Walk<'_, M> {
    /// The axes along which bodies of the task at `top`, if that is demanded in part, read values
    /// that an argument provides. Arms of choices count, whether or not they are taken.
    pub(super) fn axes_of_argument(&self, top: usize, argument: StepSource) -> AxisSet {
        let plan = self.plan;
        let mut axes = AxisSet::new();
        let Task { step, frame, ref demand, .. } = self.stack[top];
        let Some(reductions) = Reductions::of(plan).filter(|_| demand.is_part()) else {
            return axes;
        };
        let (step, id) = (&plan.steps[step], self.instance_id(step));
        for (i, input) in plan.instances[id].inputs.iter().enumerate() {
            if input.scope.is_empty() {
                continue;
            }
            for (extent, values) in reductions.inside(plan, (step, id), i) {
                let Some(outer) = outside(need_map(plan, id, i), extent) else { continue };
                if let Feat::Axis(Some(axis)) = *self.frames.value(self.feat_of(frame, outer))
                    && arguments(plan, (step, id), i, values).any(|known| known == argument)
                {
                    axes.push(axis);
                }
            }
        }
        axes
    }

    /// The demand on an argument that is read at all cells of these axes.
    pub(super) fn demand_along(
        &mut self,
        demand: &Demand,
        axes: &[AxisId],
    ) -> Result<Demand, Stop> {
        let Demand::Part(cells) = demand else { return Ok(Demand::Full) };
        let (mut shape, mut mask) = (cells.shape, cells.mask.clone());
        for axis in axes {
            let narrow = self.shapes.without(shape, *axis);
            let along = self.shapes.along(*axis);
            let wide = self.shapes.union(narrow, along);
            mask = self.shapes.project(shape, &mask, narrow)?;
            mask = self.shapes.project(narrow, &mask, wide)?;
            shape = wide;
        }
        Ok(Demand::part(shape, mask))
    }
}
