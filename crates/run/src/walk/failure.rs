//! Failures: which cells of a step cannot be computed.
//!
//! A kernel reports the lowest element that fails. That cell is recorded, and with it the cells
//! over it of every step that reads it; a demand that contains one of them fails, any other demand
//! is computed. So failures do not depend on the order of demands.

use std::rc::Rc;

use millstream_base::Mask;
use millstream_ir::RequestAxis;
use millstream_ir::answer::NodeFailure;
use millstream_ir::request::fewer_cells;
use millstream_node::Failure;

use super::{Cells, Demand, Mode, Place, Stop, Task, Walk};
use crate::shape::{AxisId, ShapeId, Shapes};
use crate::store::{Bad, Outputs, SlotId, State};

impl<M: Mode> Walk<'_, M> {
    /// Whether a demand contains a cell that is known to fail.
    pub(crate) fn is_bad(&mut self, slot: SlotId, demand: &Demand) -> Result<bool, Stop> {
        let Some(bad) = self.store.rest(slot).bad.clone() else { return Ok(false) };
        match demand {
            Demand::Full => Ok(true),
            Demand::Part(cells) => {
                let asked = self.shapes.project(cells.shape, &cells.mask, bad.shape)?;
                Ok(!asked.intersect(&bad.cells).is_empty())
            }
        }
    }

    /// A demand on the step of a task without the cells known to fail; `None` if none is left.
    pub(super) fn without_bad(
        &mut self,
        top: usize,
        demand: &Demand,
    ) -> Result<Option<Rc<Cells>>, Stop> {
        let Task { step, frame, slot, .. } = self.stack[top];
        if self.store.state(slot) == State::Failed {
            return Ok(None);
        }
        let cells = match demand {
            Demand::Part(cells) => Rc::clone(cells),
            Demand::Full => {
                let shape = self.shape_of(step, frame)?;
                let mask = Mask::full(self.shapes.n_cells(shape)?);
                Rc::new(Cells { shape, mask })
            }
        };
        let Some(bad) = self.store.rest(slot).bad.clone() else { return Ok(Some(cells)) };
        let bad = self.shapes.project(bad.shape, &bad.cells, cells.shape)?;
        let mask = cells.mask.difference(&bad);
        Ok((!mask.is_empty()).then(|| Rc::new(Cells { shape: cells.shape, mask })))
    }

    /// Whether demanded cells of a place are missing because a step failed.
    pub(crate) fn has_failed(&mut self, place: Place, demand: &Demand) -> Result<bool, Stop> {
        let Place::Slot(slot, _) = place else { return Ok(false) };
        M::settle(self, slot)?;
        match (self.store.state(slot), demand) {
            (State::Full | State::Released, _) => Ok(false),
            (State::Failed | State::Empty, _) | (State::Partial, Demand::Full) => Ok(true),
            (State::Partial, Demand::Part(cells)) => {
                let shape = self.store.rest(slot).shape;
                let asked = self.shapes.project(cells.shape, &cells.mask, shape)?;
                let done = self.store.rest(slot).done.as_deref();
                Ok(!done.is_some_and(|done| done.covers(&asked)))
            }
        }
    }

    /// The cells of a place that fail; `None` if all do.
    fn bad_cells(&self, place: Place) -> Option<Bad> {
        match place {
            Place::Slot(slot, _) => self.store.rest(slot).bad.as_deref().cloned(),
            Place::Const(_) | Place::Input(_) | Place::Gathered(_) => None,
        }
    }

    /// Makes the step of a task fail over the cells at which an input fails.
    pub(super) fn fail_with_input(&mut self, top: usize, place: Place) -> Result<(), Stop> {
        let bad = self.bad_cells(place);
        self.add_bad(top, bad)
    }

    /// The same for an input that is read at all cells of some axes: it fails for all of them.
    pub(super) fn fail_with_body(
        &mut self,
        top: usize,
        place: Place,
        axes: &[AxisId],
    ) -> Result<(), Stop> {
        let mut bad = self.bad_cells(place);
        for axis in axes {
            if let Some(Bad { shape, cells }) = &mut bad
                && self.shapes.contains(*shape, *axis)
            {
                let outer = self.shapes.without(*shape, *axis);
                *cells = self.shapes.project(*shape, cells, outer)?;
                *shape = outer;
            }
        }
        self.add_bad(top, bad)
    }

    /// The same for an arm of a choice: it fails for the cells that take the arm.
    pub(super) fn fail_with_arm(
        &mut self,
        top: usize,
        place: Place,
        shape: ShapeId,
        takes: &Mask,
    ) -> Result<(), Stop> {
        let bad = match self.bad_cells(place) {
            None => Bad { shape, cells: takes.clone() },
            Some(bad) => {
                let both = self.shapes.union(bad.shape, shape);
                let failing = self.shapes.project(bad.shape, &bad.cells, both)?;
                let taking = self.shapes.project(shape, takes, both)?;
                Bad { shape: both, cells: failing.intersect(&taking) }
            }
        };
        self.add_bad(top, Some(bad))
    }

    /// Records that the step of a task fails; `None` means for all cells.
    fn add_bad(&mut self, top: usize, bad: Option<Bad>) -> Result<(), Stop> {
        let Task { step, slot, .. } = self.stack[top];
        self.pending.remove(&slot);
        self.gathered.clear();
        self.log_failed_input(step);
        self.remember(slot, bad)
    }

    pub(super) fn remember(&mut self, slot: SlotId, bad: Option<Bad>) -> Result<(), Stop> {
        let Some(bad) = bad.filter(|bad| bad.shape != Shapes::scalar()) else {
            self.set_failed(slot);
            return Ok(());
        };
        let all = match self.store.rest(slot).bad.as_deref().cloned() {
            None => bad,
            Some(before) => {
                let both = self.shapes.union(before.shape, bad.shape);
                let cells = self.shapes.project(before.shape, &before.cells, both)?;
                let more = self.shapes.project(bad.shape, &bad.cells, both)?;
                Bad { shape: both, cells: cells.union(&more) }
            }
        };
        self.store.rest_mut(slot).bad = Some(Box::new(all));
        Ok(())
    }

    /// Makes the step of a task fail for a reason of its own; `shape` is that of the element, if
    /// the failure has one.
    pub(super) fn fail(
        &mut self,
        top: usize,
        failure: Failure,
        shape: Option<ShapeId>,
    ) -> Result<(), Stop> {
        let step = self.stack[top].step;
        self.log_run(step, 0, 0);
        self.fail_known(top, failure, shape)
    }

    /// The same if the step did not run, because it is known to fail.
    pub(crate) fn fail_known(
        &mut self,
        top: usize,
        failure: Failure,
        shape: Option<ShapeId>,
    ) -> Result<(), Stop> {
        let Task { step, slot, .. } = self.stack[top];
        let mut cell = Vec::new();
        let mut bad = None;
        if let Some((element, shape)) = failure.element.zip(shape) {
            for (axis, position) in self.shapes.coordinates(shape, element) {
                let of = self.request_axes.iter().find(|(known, _)| *known == axis);
                let (name, position) = match of {
                    Some((_, axis @ RequestAxis::Index)) => {
                        let number = self.numbers.as_ref().and_then(|(all, _)| all.nth(position));
                        (axis.name(), number.unwrap_or(position))
                    }
                    Some((_, axis)) => (axis.name(), position),
                    None => ("item", position),
                };
                cell.push((name, position));
            }
            bad = Some(Bad { shape, cells: Mask::range(element..element + 1) });
        }
        cell.extend(failure.item_coordinates());
        let path = self.plan.paths.get(self.plan.steps[step].path);
        let Failure { message, help, .. } = failure;
        let failure = NodeFailure { path, message, help, cell, replayed: None };
        match self.failures.iter_mut().find(|known| known.path == failure.path) {
            Some(known) if failure.cell < known.cell => *known = failure,
            Some(_) => {}
            None => self.failures.push(failure),
        }
        self.remember(slot, bad)
    }

    /// Marks the step of a task as failed because its cells are too many or unknown.
    pub(crate) fn fail_for(&mut self, top: usize, why: &Stop) {
        let limit = self.shapes.max_cells();
        let failure = match why {
            Stop::Endless => {
                Failure::whole("the state it reads exists in an unlimited number of contexts")
            }
            Stop::Cells(shape) => match shape.and_then(|shape| self.product(shape)) {
                Some((cells, product)) => {
                    let raise = format!("raise `list_length` to {cells} in the limits");
                    Failure::whole(format!("{cells} cells ({product}), the limit is {limit}"))
                        .with_help(fewer_cells(cells, &raise))
                }
                None => Failure::whole(format!("more than {limit} cells"))
                    .with_help("raise `list_length` in the limits"),
            },
            Stop::All(error) => panic!("the whole evaluation ends: {error}"),
        };
        let slot = self.stack[top].slot;
        self.pending.remove(&slot);
        self.gathered.clear();
        let failed = self.fail(top, failure, None);
        debug_assert!(failed.is_ok(), "a failure without cells needs no shapes");
    }

    fn set_failed(&mut self, slot: SlotId) {
        self.store.set_state(slot, State::Failed);
        *self.store.outputs_mut(slot) = Outputs::None;
    }
}
