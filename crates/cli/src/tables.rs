//! Answers as tables: outputs that vary along the same axes share a table, and so do lists of equal
//! length.

use millstream::Mask;
use millstream::evaluate::{Answer, Data, RequestAxis};
use millstream::values::{Column, Value};
use serde_json::Value as Json;

/// The moments of a request with a time axis.
#[derive(Clone, Debug)]
pub(crate) struct Moments {
    pub(crate) seconds: Vec<f64>,
    /// The frame numbers of the moments, if they are frames.
    pub(crate) frames: Option<Vec<i64>>,
}

impl Moments {
    /// Frames, at `fps` frames per second.
    pub(crate) fn of_frames(frames: Vec<i64>, fps: f64) -> Self {
        let seconds = frames.iter().map(|frame| *frame as f64 / fps).collect();
        Self { seconds, frames: Some(frames) }
    }

    /// What the moments are, in the plural.
    pub(crate) fn unit(&self) -> &'static str {
        if self.frames.is_some() { "frames" } else { "moments" }
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

/// The meaning of a request's cells.
#[derive(Clone, Debug, Default)]
pub(crate) struct Coordinates {
    /// The moments, if the request has a time axis.
    pub(crate) moments: Option<Moments>,
    /// The names of the views, if the request has a view axis.
    pub(crate) views: Vec<String>,
    /// The frame, if the request has only one.
    pub(crate) frame: Option<i64>,
    /// The elements that were asked for, if not all.
    pub(crate) only: Option<Mask>,
}

impl Coordinates {
    /// The index of an element of the answer.
    pub(crate) fn element(&self, i: usize) -> usize {
        self.only.as_ref().and_then(|only| only.nth(i)).unwrap_or(i)
    }

    /// Whether the request has an axis outside that of elements.
    pub(crate) fn has_outer_axes(&self) -> bool {
        self.moments.is_some() || !self.views.is_empty()
    }

    /// The coordinates of a failure, in words.
    pub(crate) fn in_words<'a>(
        &'a self,
        cell: &'a [(&'static str, usize)],
    ) -> impl Iterator<Item = String> + 'a {
        let named = move |(axis, i): &(&'static str, usize)| match (*axis, &self.moments) {
            ("time", Some(Moments { frames: Some(frames), .. })) if *i < frames.len() => {
                format!("frame {}", frames[*i])
            }
            ("time", Some(Moments { seconds, .. })) if *i < seconds.len() => {
                format!("{} s", (seconds[*i] * 1e9).round() / 1e9)
            }
            ("view", _) if *i < self.views.len() => format!("view {}", self.views[*i]),
            _ => format!("{axis} {i}"),
        };
        cell.iter().map(named)
    }

    /// The place of a failure for programs: seconds and frame number instead of the position of a
    /// moment, the name instead of the position of a view.
    pub(crate) fn named(&self, cell: &[(&'static str, usize)]) -> Json {
        let mut named = serde_json::Map::new();
        for (axis, i) in cell {
            let moments = self.moments.as_ref().filter(|it| *i < it.seconds.len());
            match (*axis, moments) {
                ("time", Some(moments)) => {
                    named.insert("time".into(), moments.seconds[*i].into());
                    if let Some(frames) = &moments.frames {
                        named.insert("frame".into(), frames[*i].into());
                    }
                }
                ("view", _) if *i < self.views.len() => {
                    named.insert("view".into(), self.views[*i].as_str().into());
                }
                _ => add_position(&mut named, axis, *i),
            }
        }
        Json::Object(named)
    }

    /// The number of a moment; of a frame, its frame number.
    pub(crate) fn number(&self, i: usize) -> i64 {
        let frames = self.moments.as_ref().and_then(|moments| moments.frames.as_ref());
        frames.and_then(|frames| frames.get(i).copied()).or(self.frame).unwrap_or(i as i64)
    }
}

/// Adds the position along an axis to a place. Lists in lists have several axes of one name, whose
/// positions become `[outer, inner]`.
pub(crate) fn add_position(place: &mut serde_json::Map<String, Json>, axis: &str, i: usize) {
    let position = match place.remove(axis) {
        None => i.into(),
        Some(Json::Array(outer)) => outer.into_iter().chain([i.into()]).collect(),
        Some(outer) => Json::Array(vec![outer, i.into()]),
    };
    place.insert(axis.into(), position);
}

/// Outputs with a value for each of the same rows.
pub(crate) struct Table<'a> {
    /// The axes of the rows, outermost first; none if the rows are the items of lists.
    pub(crate) axes: Vec<RequestAxis>,
    /// The coordinates of the rows.
    pub(crate) keys: Vec<Key<'a>>,
    pub(crate) columns: Vec<(&'a str, Column)>,
    /// The rows of each column that have no value.
    pub(crate) missing: Vec<Mask>,
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

/// The tables of an answer, in the order of their first outputs. Lists without axes become tables
/// if they have at least this many items.
pub(crate) fn tables<'a>(
    answer: &'a Answer,
    at: &'a Coordinates,
    least_items: usize,
) -> Vec<Table<'a>> {
    let mut tables: Vec<Table<'_>> = Vec::new();
    for output in &answer.outputs {
        let Some(series) = output.known() else { continue };
        let (column, axes) = match &series.data {
            Data::One(Value::List(list)) if list.len() >= least_items => (list, &[][..]),
            Data::One(_) => continue,
            Data::Many(column) => (column, &series.axes[..]),
        };
        let same = |table: &&mut Table<'_>| table.axes == axes && table.n_rows == column.len();
        if let Some(table) = tables.iter_mut().find(same) {
            table.columns.push((&output.name, column.clone()));
            table.missing.push(output.missing());
            continue;
        }
        let keys = if axes.is_empty() {
            vec![Key { name: "item", of_row: Box::new(|row| row.to_string()) }]
        } else {
            keys(axes, answer, at)
        };
        let columns = vec![(&*output.name, column.clone())];
        let missing = vec![output.missing()];
        tables.push(Table { axes: axes.to_vec(), keys, columns, missing, n_rows: column.len() });
    }
    tables
}

fn keys<'a>(axes: &[RequestAxis], answer: &Answer, at: &'a Coordinates) -> Vec<Key<'a>> {
    let mut inner = answer.cells_of(axes);
    let mut key = |axis: &RequestAxis| {
        let n = answer.extent(*axis).max(1);
        inner = (inner / n).max(1);
        let stride = inner;
        let position = move |row: usize| row / stride % n;
        let (name, of_row): (_, Box<dyn Fn(usize) -> String + 'a>) = match (axis, &at.moments) {
            (RequestAxis::Time, Some(moments)) => {
                (moments.name(), Box::new(move |row| moments.text(position(row))))
            }
            (RequestAxis::View, _) if !at.views.is_empty() => {
                (axis.name(), Box::new(move |row| at.views[position(row)].clone()))
            }
            (RequestAxis::Index, _) => {
                (axis.name(), Box::new(move |row| at.element(position(row)).to_string()))
            }
            (RequestAxis::Time | RequestAxis::View, _) => {
                (axis.name(), Box::new(move |row| position(row).to_string()))
            }
        };
        Key { name, of_row }
    };
    axes.iter().map(&mut key).collect()
}
