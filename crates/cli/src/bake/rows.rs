//! Frames as rows of one table: a column for the frame, one for the time, one for the element if
//! there are several, and the outputs. Lists of equal length, and tables, may take one row per item.

use millstream::Answer;
use millstream::evaluate::{Data, OutputAnswer};
use millstream::values::{Column, Table, Type, Value};
use millstream_io::ColumnSpec;

use crate::outcome::{Exit, Stop};
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
    /// The layouts that may fit all frames, given the answer for one of them; the first that does
    /// is preferred.
    pub(super) fn possible(answer: &Answer, outputs: &[&OutputAnswer]) -> Vec<Self> {
        let is_list = |output: &&OutputAnswer| {
            let value = output.value.as_ref().map(|series| &series.data);
            matches!(value, Some(Data::One(Value::List(_))))
        };
        if outputs.len() > 1 && outputs.iter().all(is_list) {
            vec![Self::Items, Self::Cells]
        } else if save::items(answer, outputs).is_some() {
            vec![Self::Items]
        } else {
            vec![Self::Cells]
        }
    }
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
) -> Result<Option<Rows>, Stop> {
    let items = match layout {
        Layout::Items => match save::items(answer, outputs) {
            None => return Ok(None),
            items => items,
        },
        Layout::Cells => None,
    };
    let n_times = answer.times.unwrap_or(1);
    let count = answer.count.unwrap_or(1);
    let n_rows = items.as_ref().map_or(n_times * count, |(_, n)| *n);
    let inner = if items.is_some() { n_rows.max(1) } else { count.max(1) };
    let time_of = |row: usize| (row / inner).min(frames.len() - 1);
    let n_keys = 2 + usize::from(items.is_none() && answer.count.is_some());
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
        return Ok(Some(rows));
    }
    if answer.count.is_some() {
        add("index", (0..n_rows).map(|row| (row % count) as i32).collect());
    }
    for output in outputs {
        let Some(series) = &output.value else { continue };
        if output.ty == Type::of::<Table>() {
            let text = format!("the table `{}` does not fit next to other outputs", output.name);
            return Err(Stop::new(Exit::Usage, text, Some("choose it with --out NAME".into())));
        }
        add(&output.name, answer.full_column(series));
    }
    Ok(Some(rows))
}
