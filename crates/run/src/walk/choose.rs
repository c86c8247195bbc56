//! Choices: the selector is evaluated first, then each arm for the cells that take it.

use millstream_base::map::Map;
use millstream_base::{Column, Mask};
use millstream_ir::plan::StepSource;
use millstream_node::Data;

use super::{Arm, Demand, Mode, Pending, Progress, Stop, Task, Walk};
use crate::frame::FrameId;
use crate::shape::{ShapeId, Shapes};

/// The arm that a selector picks among `n_arms`: false picks the first, true the second, a number
/// the arm at that position, clamped.
pub(crate) fn arm(selector: &Data, entry: usize, n_arms: usize) -> usize {
    let last = n_arms - 1;
    let position = |i: i32| (i.max(0) as usize).min(last);
    match selector {
        Data::One(value) => match value.get::<bool>() {
            Some(second) => usize::from(second).min(last),
            None => value.get::<i32>().map_or(0, position),
        },
        Data::Many(column) => match column.as_slice::<bool>() {
            Some(flags) => usize::from(flags[entry]).min(last),
            None => column.as_slice::<i32>().map_or(0, |all| position(all[entry])),
        },
    }
}

impl<M: Mode> Walk<'_, M> {
    /// A step that passes one of its inputs on.
    pub(super) fn advance_choice(&mut self, top: usize) -> Result<Progress, Stop> {
        let plan = self.plan;
        let Task { step, frame, slot, phase, .. } = self.stack[top];
        let sources = plan.inputs_of(&plan.steps[step]);
        if phase == 0 {
            self.stack[top].phase = 1;
            let demand = self.stack[top].demand.clone();
            if self.ask(sources[0], frame, demand) {
                return Ok(Progress::Waiting);
            }
        }
        if self.stack[top].phase == 1 {
            self.stack[top].phase = 2;
            let selector = self.place(sources[0], frame);
            let demand = self.stack[top].demand.clone();
            if self.has_failed(selector, &demand)? {
                self.fail_with_input(top, selector)?;
                return Ok(Progress::Done);
            }
            let arms = self.split(top, sources)?;
            let mut asked = false;
            for (source, (shape, mask)) in sources[1..].iter().zip(&arms) {
                if !mask.is_empty() {
                    let demand = self.cells(*shape, mask, top)?;
                    asked |= self.ask(*source, frame, demand);
                }
            }
            self.pending.insert(slot, Pending { arms, ..Pending::default() });
            if asked {
                return Ok(Progress::Waiting);
            }
        }
        let arms = self.pending.remove(&slot).map(|pending| pending.arms).unwrap_or_default();
        self.join(top, sources, frame, &arms)?;
        Ok(Progress::Done)
    }

    /// The cells of each arm. A selector that is one value gives all demanded cells to one arm.
    fn split(&mut self, top: usize, sources: &[StepSource]) -> Result<Vec<(ShapeId, Mask)>, Stop> {
        let frame = self.stack[top].frame;
        let n_arms = sources.len() - 1;
        let selector = self.place(sources[0], frame);
        let (_, selector_shape) = self.read(selector);
        let (shape, demanded) = match &self.stack[top].demand {
            Demand::Full => (selector_shape, None),
            Demand::Part(cells) => (cells.shape, Some(cells.mask.clone())),
        };
        let demanded = match demanded {
            Some(mask) => mask,
            None => Mask::full(self.shapes.n_cells(shape)?),
        };
        let map = self.shapes.map(shape, selector_shape)?;
        let (data, _) = self.read(selector);
        let map = map.as_map();
        let mut rest = demanded;
        let mut arms = Vec::with_capacity(n_arms);
        for k in 0..n_arms {
            if matches!(data, Data::One(_)) {
                let takes = arm(data, 0, n_arms) == k;
                arms.push((shape, if takes { rest.clone() } else { Mask::empty() }));
            } else if k + 1 == n_arms {
                arms.push((shape, std::mem::replace(&mut rest, Mask::empty())));
            } else {
                let (takes, others) =
                    rest.partition(|cell| arm(data, map.entry(cell), n_arms) == k);
                arms.push((shape, takes));
                rest = others;
            }
        }
        Ok(arms)
    }

    /// The demand on an arm; full if every cell of the choice takes it.
    fn cells(&mut self, shape: ShapeId, mask: &Mask, top: usize) -> Result<Demand, Stop> {
        let all = matches!(self.stack[top].demand, Demand::Full)
            && mask.len() == self.shapes.n_cells(shape)?;
        Ok(if all { Demand::Full } else { Demand::part(shape, mask.clone()) })
    }

    /// Joins the cells of the arms.
    fn join(
        &mut self,
        top: usize,
        sources: &[StepSource],
        frame: FrameId,
        arms: &[(ShapeId, Mask)],
    ) -> Result<(), Stop> {
        let mut taken = Vec::with_capacity(arms.len());
        let mut shape = arms[0].0;
        for (k, (source, (selected, mask))) in sources[1..].iter().zip(arms).enumerate() {
            if mask.is_empty() {
                continue;
            }
            let place = self.place(*source, frame);
            let demand = self.cells(*selected, mask, top)?;
            if self.has_failed(place, &demand)? {
                return self.fail_with_arm(top, place, *selected, mask);
            }
            let (_, arm_shape) = self.read(place);
            shape = self.shapes.union(shape, arm_shape);
            let cells = (*selected, mask.clone());
            taken.push(Arm { number: k, place, shape: arm_shape, cells });
        }
        let selector = self.place(sources[0], frame);
        let part = self.stack[top].demand.is_part();
        let of_result = match (&taken[..], part) {
            ([arm], false) => arm.shape,
            (_, _) => shape,
        };
        if M::before_choice(self, top, selector, &taken, of_result)? {
            return Ok(());
        }
        let rest = match &self.stack[top].demand {
            Demand::Part(rest) if rest.shape == shape => Some(rest.mask.clone()),
            Demand::Part(_) | Demand::Full => None,
        };
        if let ([arm], false, None) = (&taken[..], part, &rest) {
            let data = self.read(arm.place).0.clone();
            self.finish_choice(top, data, arm.shape)?;
        } else {
            let n_cells = self.shapes.n_cells(shape)?;
            let ty = self.plan.instances[self.instance_id(self.stack[top].step)].outputs[0].ty;
            let mut column = self.output_column(top, 0, ty, n_cells)?;
            for Arm { place, shape: arm_shape, cells: (selected, mask), .. } in &taken {
                let cells = self.shapes.project(*selected, mask, shape)?;
                let cells = rest.as_ref().map_or(cells.clone(), |rest| cells.intersect(rest));
                let map = self.shapes.map(shape, *arm_shape)?;
                match self.read(*place).0 {
                    Data::One(value) => column.overwrite(&cells, &Column::filled(value, 1), |_| 0),
                    Data::Many(from) => overwrite(&mut column, &cells, from, map.as_map()),
                }
            }
            self.finish_choice(top, Data::Many(column), shape)?;
        }
        let mut read = vec![selector];
        read.extend(taken.iter().map(|arm| arm.place));
        self.release_all(top, &read);
        Ok(())
    }

    fn finish_choice(&mut self, top: usize, data: Data, shape: ShapeId) -> Result<(), Stop> {
        let data = match data {
            Data::Many(column) if shape == Shapes::scalar() => Data::One(column.get(0)),
            data => data,
        };
        self.store_result(top, vec![Some(data)], shape)
    }
}

/// Sets the masked cells from a column seen through a map.
pub(super) fn overwrite(column: &mut Column, cells: &Mask, from: &Column, map: Map<'_>) {
    column.overwrite(cells, from, |cell| map.entry(cell));
}
