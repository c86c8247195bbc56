//! Frames as rows of one table: a column for the frame, one for the time, one for the element if
//! there are several, and the outputs. Lists of equal length, and tables, may take one row per item.
//! The cells of outputs without a value, because a node failed, are absent.

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
    /// Whether a column has no values in these rows.
    pub(super) is_absent: Vec<bool>,
}

impl Rows {
    fn add(&mut self, name: &str, column: Column) {
        self.specs.push(ColumnSpec::new(name, column.ty()));
        self.columns.push(column);
        self.is_absent.push(false);
    }

    fn add_absent(&mut self, name: &str, ty: Type, n_rows: usize) {
        self.add(name, Column::filled(&ty.default_value(), n_rows));
        if let Some(is_absent) = self.is_absent.last_mut() {
            *is_absent = true;
        }
    }

    /// Drops the frame, time and element columns, for formats that hold a single column.
    pub(super) fn of_outputs(mut self) -> Self {
        self.specs.drain(..self.n_keys);
        self.columns.drain(..self.n_keys);
        self.is_absent.drain(..self.n_keys);
        self.n_keys = 0;
        self
    }
}

/// The rows of the outputs of an answer, of which some have values; `None` if their items are not
/// rows.
pub(super) fn rows(
    answer: &Answer,
    outputs: &[&OutputAnswer],
    (frames, fps): (&[i64], f64),
    layout: Layout,
) -> Option<Rows> {
    let items = match layout {
        Layout::Items => {
            let there = outputs.iter().copied().filter(|output| output.value.is_some());
            Some(save::items(answer, &there.collect::<Vec<_>>())?)
        }
        Layout::Cells => None,
    };
    let n_times = answer.times.unwrap_or(1);
    let count = answer.count.unwrap_or(1);
    let n_rows = items.as_ref().map_or(n_times * count, |(_, n)| *n);
    let inner = if items.is_some() { n_rows.max(1) } else { count.max(1) };
    let time_of = |row: usize| (row / inner).min(frames.len() - 1);
    let n_keys = n_keys(layout, answer.count);
    let mut rows = Rows { n_keys, specs: Vec::new(), columns: Vec::new(), is_absent: Vec::new() };
    rows.add("frame", (0..n_rows).map(|row| frames[time_of(row)]).collect());
    rows.add("time", (0..n_rows).map(|row| frames[time_of(row)] as f64 / fps).collect());
    if let Some((items, _)) = items {
        let mut items = items.into_iter();
        for output in outputs {
            match (&output.value, output.ty.element()) {
                (None, Some(element)) => rows.add_absent(&output.name, element, n_rows),
                // A table has several columns, and is the only output.
                _ => {
                    let n = if outputs.len() == 1 { usize::MAX } else { 1 };
                    items.by_ref().take(n).for_each(|(spec, list)| rows.add(&spec.name, list));
                }
            }
        }
        return Some(rows);
    }
    if answer.count.is_some() {
        rows.add("index", (0..n_rows).map(|row| (row % count) as i32).collect());
    }
    for output in outputs {
        match &output.value {
            Some(series) => rows.add(&output.name, answer.full_column(series)),
            None => rows.add_absent(&output.name, output.ty, n_rows),
        }
    }
    Some(rows)
}
