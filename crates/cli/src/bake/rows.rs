//! Frames as rows of one table: a column for the frame, one for the time, one for the element if
//! there are several, and the outputs. Lists of equal length, and tables, may take one row per item.

use millstream::Answer;
use millstream::evaluate::OutputAnswer;
use millstream::values::{Column, Table, Type};
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
}

impl Rows {
    /// Drops the frame, time and element columns, for formats that hold a single column.
    pub(super) fn of_outputs(mut self) -> Self {
        self.specs.drain(..self.n_keys);
        self.columns.drain(..self.n_keys);
        self.n_keys = 0;
        self
    }
}

/// The rows of the outputs of an answer; `None` if their items are not rows.
pub(super) fn rows(
    answer: &Answer,
    outputs: &[&OutputAnswer],
    (frames, fps): (&[i64], f64),
    layout: Layout,
) -> Option<Rows> {
    let items = match layout {
        Layout::Items => Some(save::items(answer, outputs)?),
        Layout::Cells => None,
    };
    let n_times = answer.times.unwrap_or(1);
    let count = answer.count.unwrap_or(1);
    let n_rows = items.as_ref().map_or(n_times * count, |(_, n)| *n);
    let inner = if items.is_some() { n_rows.max(1) } else { count.max(1) };
    let time_of = |row: usize| (row / inner).min(frames.len() - 1);
    let n_keys = n_keys(layout, answer.count);
    let mut rows = Rows { n_keys, specs: Vec::new(), columns: Vec::new() };
    let mut add = |name: &str, column: Column| {
        rows.specs.push(ColumnSpec::new(name, column.ty()));
        rows.columns.push(column);
    };
    add("frame", (0..n_rows).map(|row| frames[time_of(row)]).collect());
    add("time", (0..n_rows).map(|row| frames[time_of(row)] as f64 / fps).collect());
    if let Some((items, _)) = items {
        for (spec, list) in items {
            add(&spec.name, list);
        }
        return Some(rows);
    }
    if answer.count.is_some() {
        add("index", (0..n_rows).map(|row| (row % count) as i32).collect());
    }
    for output in outputs {
        let Some(series) = &output.value else { continue };
        add(&output.name, answer.full_column(series));
    }
    Some(rows)
}
