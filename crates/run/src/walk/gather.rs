//! Gathering: the cells of a body along one axis become a list per cell of the remaining axes.

use millstream_base::ragged::Ragged;
use millstream_base::{Column, Type, Value};
use millstream_node::{Data, Failure};

use super::{Gather, Mode, Place, Stop, Walk};
use crate::shape::{AxisId, Extent, Level, ShapeId, Shapes};

impl<M: Mode> Walk<'_, M> {
    /// The lists of a body along its axis, and their shape. `None` if the step failed, because the
    /// extent of another axis of the body depends on this one.
    pub(super) fn gather(
        &mut self,
        top: usize,
        gather: Option<Gather>,
        body: Option<Place>,
        ty: Type,
    ) -> Result<Option<(Data, ShapeId)>, Stop> {
        let (axis, body) = match (gather, body) {
            (Some(Gather::Along(axis)), Some(body)) => (axis, body),
            (Some(Gather::One), Some(body)) => return Ok(Some(self.lists_of_one(body))),
            _ => {
                let empty = Value::List(Column::empty(ty));
                return Ok(Some((Data::One(empty), Shapes::scalar())));
            }
        };
        let (data, shape) = self.read(body);
        if !self.shapes.contains(shape, axis) {
            let data = data.clone();
            return self.repeated(&data, shape, axis).map(Some);
        }
        let Data::Many(column) = data.clone() else {
            panic!("a value that varies along an axis is a column");
        };
        if self.shapes.depends_on(shape, axis) {
            let why = "it reduces along an axis on which the length of a loop around it depends";
            let help = "move the reduction out of the inner loop";
            let failed = self.fail(top, Failure::whole(why).with_help(help), None);
            return failed.map(|()| None);
        }
        self.cut(&column, shape, axis).map(Some)
    }

    /// A list of one for each cell of the body.
    fn lists_of_one(&self, body: Place) -> (Data, ShapeId) {
        let (data, shape) = self.read(body);
        let lists = match data {
            Data::One(value) => Data::One(Value::List(Column::filled(value, 1))),
            Data::Many(column) => {
                let lists = Ragged::even(column.len(), column.clone());
                Data::Many(Column::from_ragged(lists.expect("one value per list")))
            }
        };
        (lists, shape)
    }

    /// The lists of a body that does not vary along the axis: its value once per cell of the axis.
    fn repeated(
        &mut self,
        data: &Data,
        shape: ShapeId,
        axis: AxisId,
    ) -> Result<(Data, ShapeId), Stop> {
        let parents = self.shapes.parents(axis);
        let outer = self.shapes.union(shape, parents);
        let n_outer = self.shapes.n_cells(outer)?;
        let counts: Vec<usize> = match self.shapes.extent(axis).clone() {
            Extent::Even(n) => vec![n; n_outer],
            Extent::Ragged { counts, .. } => {
                let map = self.shapes.map(outer, parents)?;
                (0..n_outer).map(|cell| counts[map.as_map().entry(cell)] as usize).collect()
            }
            Extent::Symbolic { .. } => panic!("values are gathered along axes of known extent"),
        };
        if let (Data::One(value), true) = (data, outer == Shapes::scalar()) {
            return Ok((Data::One(Value::List(Column::filled(value, counts[0]))), outer));
        }
        let mut offsets = Vec::with_capacity(n_outer + 1);
        offsets.push(0);
        let mut total = 0;
        for count in &counts {
            total += count;
            offsets.push(total);
        }
        self.check_cells(total)?;
        let map = self.shapes.map(outer, shape)?;
        let values = match data {
            Data::One(value) => Column::filled(value, total),
            Data::Many(column) => {
                let mut entries = Vec::with_capacity(total);
                for (cell, count) in counts.iter().enumerate() {
                    entries.extend(std::iter::repeat_n(map.as_map().entry(cell), *count));
                }
                column.gather(entries.into_iter())
            }
        };
        let lists = Ragged::new(offsets, values).expect("the offsets are those of the values");
        Ok((Data::Many(Column::from_ragged(lists)), outer))
    }

    /// The lists of a body that varies along the axis: its cells grouped by remaining cell.
    fn cut(
        &mut self,
        column: &Column,
        shape: ShapeId,
        axis: AxisId,
    ) -> Result<(Data, ShapeId), Stop> {
        let outer = self.shapes.without(shape, axis);
        if outer == Shapes::scalar() {
            return Ok((Data::One(Value::List(column.clone())), outer));
        }
        let n_outer = self.shapes.n_cells(outer)?;
        let layout = self.shapes.layout(shape)?;
        let (offsets, values) = if self.shapes.axes_of(shape).last() == Some(&axis) {
            let offsets = match layout.levels.last() {
                Some(Level::Ragged(offsets)) => offsets.clone(),
                Some(Level::Even(n)) => (0..=n_outer).map(|i| i * n).collect(),
                None => vec![0],
            };
            (offsets, column.clone())
        } else {
            // A counting sort by remaining cell; it is stable, so the axis remains ascending.
            let map = self.shapes.map(shape, outer)?;
            let map = map.as_map();
            let mut offsets = vec![0; n_outer + 1];
            for cell in 0..layout.n_cells {
                offsets[map.entry(cell) + 1] += 1;
            }
            for i in 0..n_outer {
                offsets[i + 1] += offsets[i];
            }
            let mut next = offsets.clone();
            let mut order = vec![0; layout.n_cells];
            for cell in 0..layout.n_cells {
                let place = &mut next[map.entry(cell)];
                order[*place] = cell;
                *place += 1;
            }
            (offsets, column.gather(order.into_iter()))
        };
        let lists = Ragged::new(offsets, values).expect("the offsets are those of the values");
        Ok((Data::Many(Column::from_ragged(lists)), outer))
    }

    pub(super) fn check_cells(&self, n_cells: usize) -> Result<(), Stop> {
        if n_cells > self.limits.list_length { Err(Stop::Cells(None)) } else { Ok(()) }
    }
}
