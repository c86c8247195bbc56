//! Frames as rows of one table: a column for the frame, one for the time, one for the element if there
//! are several, and the outputs. Lists of one length, and a table, have a row for each item.

use millstream::Answer;
use millstream::evaluate::{Data, OutputAnswer, RequestAxis, Series};
use millstream::values::{Column, Table, Type, Value};
use millstream_io::ColumnSpec;

use crate::outcome::{Exit, Stop};

/// The rows of an answer for some frames.
pub(super) struct Rows {
    /// Number of columns before those of outputs.
    n_keys: usize,
    pub(super) specs: Vec<ColumnSpec>,
    pub(super) columns: Vec<Column>,
}

impl Rows {
    /// The rows without the columns that tell frame, time and element, for formats of one column.
    pub(super) fn of_outputs(mut self) -> Self {
        self.specs.drain(..self.n_keys);
        self.columns.drain(..self.n_keys);
        self.n_keys = 0;
        self
    }
}

/// The rows of the outputs of an answer.
pub(super) fn rows(
    answer: &Answer,
    outputs: &[&OutputAnswer],
    frames: &[i64],
    fps: f64,
) -> Result<Rows, Stop> {
    let items = items(answer, outputs);
    let n_times = answer.times.unwrap_or(1);
    let count = answer.count.unwrap_or(1);
    let n_rows = items.as_ref().map_or(n_times * count, |(n, _)| *n);
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
    if let Some((_, items)) = items {
        for (name, column) in items {
            add(&name, column);
        }
        return Ok(rows);
    }
    if answer.count.is_some() {
        add("index", (0..n_rows).map(|row| (row % count) as i32).collect());
    }
    for output in outputs {
        let Some(series) = &output.value else { continue };
        if output.ty == Type::of::<Table>() {
            let text = format!("the table `{}` does not fit beside other outputs", output.name);
            return Err(Stop::new(Exit::Usage, text, Some("choose it with --out NAME".into())));
        }
        add(&output.name, full(series, n_rows, count));
    }
    Ok(rows)
}

/// An entry for each row.
fn full(series: &Series, n_rows: usize, count: usize) -> Column {
    match (&series.data, &series.axes[..]) {
        (Data::One(value), _) => Column::filled(value, n_rows),
        (Data::Many(column), [RequestAxis::Time]) if count != 1 => {
            column.gather((0..n_rows).map(|row| row / count))
        }
        (Data::Many(column), [RequestAxis::Index]) if n_rows != count => {
            column.gather((0..n_rows).map(|row| row % count))
        }
        (Data::Many(column), _) => column.clone(),
    }
}

type Items = (usize, Vec<(String, Column)>);

/// The items of the outputs, if there are no axes and all outputs are lists of one length or one is a
/// table.
fn items(answer: &Answer, outputs: &[&OutputAnswer]) -> Option<Items> {
    if answer.times.is_some() || answer.count.is_some() {
        return None;
    }
    let value = |output: &OutputAnswer| match &output.value.as_ref()?.data {
        Data::One(value) => Some(value.clone()),
        Data::Many(_) => None,
    };
    if let [output] = outputs
        && let Some(table) = value(output)?.get::<Table>()
    {
        let columns = table.columns().iter().map(|(name, it)| (name.to_string(), it.clone()));
        return Some((table.n_rows(), columns.collect()));
    }
    let mut items = Vec::new();
    for output in outputs {
        let Value::List(list) = value(output)? else { return None };
        items.push((output.name.to_string(), list));
    }
    let n = items.first()?.1.len();
    items.iter().all(|(_, list)| list.len() == n).then_some((n, items))
}
