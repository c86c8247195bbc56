//! Answers as tables: outputs that vary along the same axes stand in one table, lists of one length
//! in another.

use millstream::evaluate::{Answer, Data, RequestAxis};
use millstream::values::{Column, Value};

/// The moments of a request with a time axis.
#[derive(Clone, Debug)]
pub(crate) struct Moments {
    pub(crate) seconds: Vec<f64>,
    /// The numbers of the moments, if they are frames.
    pub(crate) frames: Option<Vec<i64>>,
}

impl Moments {
    /// Frames, at `fps` frames per second.
    pub(crate) fn of_frames(frames: Vec<i64>, fps: f64) -> Self {
        let seconds = frames.iter().map(|frame| *frame as f64 / fps).collect();
        Self { seconds, frames: Some(frames) }
    }

    /// The name of the axis for people.
    pub(crate) fn name(&self) -> &'static str {
        if self.frames.is_some() { "frame" } else { "time" }
    }

    /// One moment, as text that reads back to the same bits.
    fn text(&self, i: usize) -> String {
        match &self.frames {
            Some(frames) => frames[i].to_string(),
            None => Value::F64(self.seconds[i]).to_string(),
        }
    }
}

/// Outputs with a value for each of the same rows.
pub(crate) struct Table<'a> {
    /// The axes of the rows, the first outermost; none if the rows are the items of lists.
    pub(crate) axes: Vec<RequestAxis>,
    /// The coordinates of the rows.
    pub(crate) keys: Vec<Key<'a>>,
    pub(crate) columns: Vec<(&'a str, Column)>,
    pub(crate) n_rows: usize,
}

impl Table<'_> {
    /// Whether an output of this name is a column.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|(known, _)| *known == name)
    }
}

/// A coordinate of each row.
pub(crate) struct Key<'a> {
    pub(crate) name: &'static str,
    pub(crate) of_row: Box<dyn Fn(usize) -> String + 'a>,
}

/// The tables of an answer, in the order of their first outputs. Lists without axes are tables if
/// they have at least so many items.
pub(crate) fn tables<'a>(
    answer: &'a Answer,
    moments: Option<&'a Moments>,
    least_items: usize,
) -> Vec<Table<'a>> {
    let mut tables: Vec<Table<'_>> = Vec::new();
    for output in &answer.outputs {
        let Some(series) = &output.value else { continue };
        let (column, axes) = match &series.data {
            Data::One(Value::List(list)) if list.len() >= least_items => (list, &[][..]),
            Data::One(_) => continue,
            Data::Many(column) => (column, &series.axes[..]),
        };
        let same = |table: &&mut Table<'_>| table.axes == axes && table.n_rows == column.len();
        if let Some(table) = tables.iter_mut().find(same) {
            table.columns.push((&output.name, column.clone()));
            continue;
        }
        let keys = if axes.is_empty() {
            vec![Key { name: "item", of_row: Box::new(|row| row.to_string()) }]
        } else {
            keys(axes, answer.count.unwrap_or(1), moments)
        };
        let columns = vec![(&*output.name, column.clone())];
        tables.push(Table { axes: axes.to_vec(), keys, columns, n_rows: column.len() });
    }
    tables
}

fn keys<'a>(axes: &[RequestAxis], count: usize, moments: Option<&'a Moments>) -> Vec<Key<'a>> {
    let inner = if axes.contains(&RequestAxis::Index) { count.max(1) } else { 1 };
    let key = |axis: &RequestAxis| match axis {
        RequestAxis::Time => Key {
            name: moments.map_or("time", Moments::name),
            of_row: Box::new(move |row: usize| match moments {
                Some(moments) => moments.text(row / inner),
                None => (row / inner).to_string(),
            }) as Box<dyn Fn(usize) -> String + 'a>,
        },
        RequestAxis::Index => {
            Key { name: "index", of_row: Box::new(move |row: usize| (row % inner).to_string()) }
        }
    };
    axes.iter().map(key).collect()
}
