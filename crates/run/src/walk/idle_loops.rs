//! Loops without items, whose elements lose their state.
//!
//! A loop without items calls no node, so no call says that the axis is shorter now. Such loops are
//! recorded when they are opened, with the cells for which they have no items. At the end the state
//! of each node inside is truncated, by the coordinates that it has outside of the loop.

use std::collections::BTreeMap;

use millstream_base::feature::Aspect;
use millstream_base::{Feature, Mask, Need};
use millstream_ir::StepOp;
use millstream_ir::element_states::{ELEMENT, Table};
use millstream_ir::plan::{Plan, StepId};
use millstream_node::{Data, ScopeRule};
use rustc_hash::FxHashSet;

use super::{Demand, Mode, Stop, Walk};
use crate::frame::FrameId;
use crate::shape::ShapeId;

/// A loop that has no items for some cells.
#[derive(Clone, Debug)]
pub(super) struct IdleLoop {
    step: StepId,
    /// Position of the input that it evaluates for each item.
    body: usize,
    /// The number of items.
    count: (Data, ShapeId),
    frame: FrameId,
    demand: Demand,
}

impl<M: Mode> Walk<'_, M> {
    /// Records a loop that is opened for the task at `top`, if it has no items for some cell.
    pub(super) fn note_idle(&mut self, top: usize, body: usize, count: u16) {
        if self.plan.state_writers.is_empty() {
            return;
        }
        let task = &self.stack[top];
        let (step, frame, demand) = (task.step, task.frame, task.demand.clone());
        let source = self.plan.inputs_of(&self.plan.steps[step])[count as usize];
        let place = self.place(source, frame);
        let (data, shape) = self.read(place);
        let is_idle = match data {
            Data::One(n) => n.get::<i32>().unwrap_or(0) <= 0,
            Data::Many(column) => {
                column.as_slice::<i32>().is_some_and(|n| n.iter().any(|n| *n <= 0))
            }
        };
        if is_idle {
            let count = (data.clone(), shape);
            self.state_calls.idle_loops.push(IdleLoop { step, body, count, frame, demand });
        }
    }

    /// Records in the table of the node with this reader where loops around it have no items.
    pub(super) fn note_no_reach(
        &mut self,
        reader: StepId,
        table: &Table,
        reach: &mut BTreeMap<Vec<i32>, i32>,
    ) -> Result<(), Stop> {
        for i in 0..self.state_calls.idle_loops.len() {
            let idle = self.state_calls.idle_loops[i].clone();
            let plan = self.plan;
            for level in levels_inside(plan, &idle, reader) {
                let of_loop = Need { feature: Feature::Index, level, aspect: Aspect::Value };
                let names = &table.coordinates;
                let Some(c) = names.iter().position(|name| *name == of_loop.to_string()) else {
                    continue;
                };
                self.note_cells_without_items(&idle, level, &names[..c], reach)?;
            }
        }
        Ok(())
    }

    /// Records that there are no items for elements with these coordinates outside of a loop.
    fn note_cells_without_items(
        &mut self,
        idle: &IdleLoop,
        level: u32,
        names: &[String],
        reach: &mut BTreeMap<Vec<i32>, i32>,
    ) -> Result<(), Stop> {
        let plan = self.plan;
        let (count, count_shape) = &idle.count;
        let mut shape = *count_shape;
        let mut outer = Vec::with_capacity(names.len());
        for name in names {
            let found = if name == ELEMENT {
                let axis = self.axis_of_elements();
                axis.map(|axis| {
                    let along = self.shapes.along(axis);
                    (Data::Many(self.frames.positions(axis, &self.shapes)), along)
                })
            } else {
                let is_it = |need: &&Need| {
                    need.level > level
                        && need.feature == Feature::Index
                        && need.to_string() == *name
                };
                let need = plan.needs.iter().find(is_it);
                let need = need.map(|need| Need { level: need.level - level - 1, ..need.clone() });
                let bit = need.and_then(|need| plan.needs.find(&need));
                let feat = bit.and_then(|bit| self.frames.get(idle.frame, bit));
                feat.map(|feat| self.feat_data(feat))
            };
            let Some((data, of)) = found else { return Ok(()) };
            shape = self.shapes.union(shape, of);
            outer.push((data, of));
        }
        let mut maps = Vec::with_capacity(outer.len());
        for (_, of) in &outer {
            maps.push(self.shapes.map(shape, *of)?);
        }
        let counts = self.shapes.map(shape, *count_shape)?;
        let cells = match &idle.demand {
            Demand::Full => Mask::full(self.shapes.n_cells(shape)?),
            Demand::Part(cells) => {
                let both = self.shapes.union(cells.shape, shape);
                let both_cells = self.shapes.project(cells.shape, &cells.mask, both)?;
                self.shapes.project(both, &both_cells, shape)?
            }
        };
        cells.for_each(|cell| {
            if count.get(counts.as_map().entry(cell)).get::<i32>().unwrap_or(0) > 0 {
                return;
            }
            let key = outer.iter().zip(&maps).map(|((data, _), map)| {
                data.get(map.as_map().entry(cell)).get::<i32>().unwrap_or_default()
            });
            // Another loop may have items for the same coordinates.
            reach.entry(key.collect()).or_insert(0);
        });
        Ok(())
    }
}

/// The levels of `index` at which a reader sees the items of a loop; none if it is not inside. A
/// scope between them that changes the index makes other elements.
fn levels_inside(plan: &Plan, idle: &IdleLoop, reader: StepId) -> Vec<u32> {
    let first = plan.inputs_of(&plan.steps[idle.step])[idle.body].step;
    let mut seen: FxHashSet<(StepId, u32)> = FxHashSet::from_iter([(first, 0)]);
    let mut stack = vec![(first, 0)];
    let mut found = Vec::new();
    while let Some((at, level)) = stack.pop() {
        if at == reader {
            found.push(level);
        }
        let mut go = |step: StepId, level: u32| {
            if level < 64 && seen.insert((step, level)) {
                stack.push((step, level));
            }
        };
        for writer in plan.state_writers.iter().filter(|writer| writer.reader == at) {
            writer.values.iter().for_each(|value| go(value.source.step, level));
        }
        let step = &plan.steps[at];
        let StepOp::Call(id) = step.op else { continue };
        for (link, slot) in plan.inputs_of(step).iter().zip(&plan.instances[id].inputs) {
            let of_index = slot.scope.iter().find(|rule| *rule.feature() == Feature::Index);
            match of_index {
                None => go(link.step, level),
                Some(ScopeRule::Inject { .. } | ScopeRule::Each { .. }) => go(link.step, level + 1),
                Some(ScopeRule::Along { .. }) => go(link.step, level),
                Some(ScopeRule::Modify { .. }) => {}
            }
        }
    }
    found
}
