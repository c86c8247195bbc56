//! Frames as rows of one table: a column for the frame, one for the time, one for the element if
//! elements are rows, and the outputs. Lists of equal length, and tables, may take one row per item.
//! The cells of outputs that have no value, because a node failed, are missing.

use std::ops::Range;

use millstream::evaluate::{OutputAnswer, RequestAxis};
use millstream::values::{Column, Table, Type};
use millstream::{Answer, Mask};
use millstream_io::ColumnSpec;

use crate::save;

/// The meaning of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Items of lists or of a table.
    Items,
    /// Cells of the request.
    Cells,
}

impl Layout {
    /// The layouts that may fit all frames, given the types of the outputs and the number of
    /// elements; the first that does is preferred.
    pub(super) fn possible(types: &[Type], count: Option<usize>) -> Vec<Self> {
        let are_lists = types.iter().all(|ty| ty.element().is_some());
        match types {
            _ if count.is_some() => vec![Self::Cells],
            [ty] if *ty == Type::of::<Table>() || are_lists => vec![Self::Items],
            [_, _, ..] if are_lists => vec![Self::Items, Self::Cells],
            _ => vec![Self::Cells],
        }
    }

    /// The columns of outputs of these types; `None` if they depend on values.
    pub(super) fn specs(
        self,
        outputs: &[(&str, Type)],
        count: Option<usize>,
    ) -> Option<Vec<ColumnSpec>> {
        let own = match self {
            Self::Items => save::item_specs(outputs)?,
            Self::Cells => outputs.iter().map(|(name, ty)| ColumnSpec::new(name, *ty)).collect(),
        };
        let has_index = self == Self::Cells && count.is_some();
        Some(keys(has_index).into_iter().chain(own).collect())
    }
}

/// The columns before those of the outputs.
fn keys(has_index: bool) -> Vec<ColumnSpec> {
    let index = has_index.then_some(("index", Type::I32));
    let keys = [("frame", Type::I64), ("time", Type::F64)].into_iter().chain(index);
    keys.map(|(name, ty)| ColumnSpec::new(name, ty)).collect()
}

/// The number of columns before those of the outputs.
pub(super) fn n_keys(layout: Layout, count: Option<usize>) -> usize {
    keys(layout == Layout::Cells && count.is_some()).len()
}

/// The rows of an answer for some frames.
pub(super) struct Rows {
    /// The number of columns before those of the outputs.
    n_keys: usize,
    pub(super) specs: Vec<ColumnSpec>,
    pub(super) columns: Vec<Column>,
    /// The rows in which a column has no value.
    pub(super) missing: Vec<Mask>,
}

impl Rows {
    fn add(&mut self, name: &str, column: Column) {
        self.add_without(name, column, Mask::empty());
    }

    fn add_without(&mut self, name: &str, column: Column, missing: Mask) {
        self.specs.push(ColumnSpec::new(name, column.ty()));
        self.columns.push(column);
        self.missing.push(missing);
    }

    fn add_absent(&mut self, name: &str, ty: Type, n_rows: usize) {
        let column = Column::filled(&ty.default_value(), n_rows);
        self.add_without(name, column, Mask::full(n_rows));
    }

    /// Drops the frame, time and element columns, for formats that hold a single column.
    pub(super) fn of_outputs(mut self) -> Self {
        self.specs.drain(..self.n_keys);
        self.columns.drain(..self.n_keys);
        self.missing.drain(..self.n_keys);
        self.n_keys = 0;
        self
    }
}

/// The outputs of an answer for some frames; some of them have values.
#[derive(Clone, Copy)]
pub(super) struct OfFrames<'a> {
    pub(super) answer: &'a Answer,
    pub(super) outputs: &'a [&'a OutputAnswer],
    pub(super) frames: &'a [i64],
    /// Frames per second.
    pub(super) fps: f64,
}

impl OfFrames<'_> {
    fn rows(&self, n_keys: usize, frames: impl Iterator<Item = i64> + Clone) -> Rows {
        let mut rows = Rows { n_keys, specs: Vec::new(), columns: Vec::new(), missing: Vec::new() };
        rows.add("frame", frames.clone().collect());
        rows.add("time", frames.map(|frame| frame as f64 / self.fps).collect());
        rows
    }

    /// The items of lists, or the rows of a table, of a single frame; `None` if they are not rows.
    pub(super) fn items(&self) -> Option<Rows> {
        let there = self.outputs.iter().copied().filter(|output| output.value.is_some());
        let (items, n_rows) = save::items(self.answer, &there.collect::<Vec<_>>())?;
        let frames = std::iter::repeat_n(self.frames[0], n_rows);
        let mut rows = self.rows(n_keys(Layout::Items, None), frames);
        let mut items = items.into_iter();
        for output in self.outputs {
            match (&output.value, output.ty.element()) {
                (None, Some(element)) => rows.add_absent(&output.name, element, n_rows),
                // A table has several columns, and is the only output.
                _ => {
                    let n = if self.outputs.len() == 1 { usize::MAX } else { 1 };
                    items.by_ref().take(n).for_each(|(spec, list)| rows.add(&spec.name, list));
                }
            }
        }
        Some(rows)
    }

    /// The number of cells, over these elements.
    pub(super) fn n_cells(&self, count: Option<usize>) -> usize {
        self.frames.len() * count.unwrap_or(1)
    }

    /// Some of the cells; without a number of elements, the elements are not rows, because each
    /// output is the same for all of them.
    pub(super) fn cells(&self, count: Option<usize>, range: Range<usize>) -> Rows {
        let n = count.unwrap_or(1).max(1);
        let frames = range.clone().map(|row| self.frames[row / n]);
        let mut rows = self.rows(n_keys(Layout::Cells, count), frames);
        if count.is_some() {
            rows.add("index", range.clone().map(|row| (row % n) as i32).collect());
        }
        let axes = [RequestAxis::Time, RequestAxis::Index];
        let axes = if count.is_some() { &axes[..] } else { &axes[..1] };
        for output in self.outputs {
            let Some(series) = output.known() else {
                rows.add_absent(&output.name, output.ty, range.len());
                continue;
            };
            let column = self.answer.rows_over(series, axes, range.clone());
            let missing = match &output.partial {
                Some(partial) => {
                    let missing = self.answer.missing_over(partial, axes);
                    missing.within(range.clone()).shift(-(range.start as isize))
                }
                None => Mask::empty(),
            };
            rows.add_without(&output.name, column, missing);
        }
        rows
    }
}
