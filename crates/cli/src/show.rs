//! Answers for people and for programs.
//!
//! Single values are printed one per line. Outputs that vary along the same axes, and longer lists,
//! become a table of their first rows with a summary of all rows, and a plot if there is one series.

use std::io::{BufWriter, StdoutLock, Write};

use millstream::Program;
use millstream::evaluate::{Answer, Data, OutputAnswer, RequestAxis, Series};
use millstream::values::{Column, Value, to_plain_json};
use serde_json::{Value as Json, json};

use crate::outcome::{Stop, in_flags};
use crate::stats::Phases;
use crate::terminal::{Style, visible};
use crate::{plot, stats, summary};

/// Lists up to this length are printed in full.
const MAX_INLINE: usize = 8;
/// Rows of a table that are printed, if there are more.
const N_HEAD: usize = 8;
/// The greatest number of characters of a cell.
const MAX_CELL: usize = 40;

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
    fn name(&self) -> &'static str {
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
struct Table<'a> {
    /// The coordinates of the rows.
    keys: Vec<Key<'a>>,
    columns: Vec<(&'a str, Column)>,
    n_rows: usize,
}

/// A coordinate of each row.
pub(crate) struct Key<'a> {
    pub(crate) name: &'static str,
    pub(crate) of_row: Box<dyn Fn(usize) -> String + 'a>,
}

fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, std::io::stdout().lock())
}

/// Prints an answer for people.
pub(crate) fn text(answer: &Answer, moments: Option<&Moments>, style: Style) -> Result<(), Stop> {
    let mut out = stdout();
    let mut tables: Vec<(Vec<RequestAxis>, Table<'_>)> = Vec::new();
    for output in &answer.outputs {
        let Some(series) = &output.value else { continue };
        match &series.data {
            Data::One(Value::List(list)) if list.len() > MAX_INLINE => {
                let same = |(axes, table): &&mut (Vec<RequestAxis>, Table<'_>)| {
                    axes.is_empty() && table.n_rows == list.len()
                };
                if let Some((_, table)) = tables.iter_mut().find(same) {
                    table.columns.push((&output.name, list.clone()));
                } else {
                    let table = Table {
                        keys: vec![Key { name: "item", of_row: Box::new(|row| row.to_string()) }],
                        columns: vec![(&output.name, list.clone())],
                        n_rows: list.len(),
                    };
                    tables.push((Vec::new(), table));
                }
            }
            Data::One(value) => {
                writeln!(out, "{} = {}", visible(&output.name), visible(&value.to_string()))?;
            }
            Data::Many(column) => {
                let same = |(axes, _): &&mut (Vec<RequestAxis>, _)| *axes == series.axes;
                if let Some((_, table)) = tables.iter_mut().find(same) {
                    table.columns.push((&output.name, column.clone()));
                } else {
                    let table = Table {
                        keys: keys(&series.axes, answer.count.unwrap_or(1), moments),
                        columns: vec![(&output.name, column.clone())],
                        n_rows: column.len(),
                    };
                    tables.push((series.axes.clone(), table));
                }
            }
        }
    }
    for (i, (_, table)) in tables.iter().enumerate() {
        if i > 0 || tables.len() < answer.outputs.len() && i == 0 && has_singles(answer, &tables) {
            writeln!(out)?;
        }
        table.write(&mut out, style)?;
    }
    out.flush()?;
    Ok(())
}

/// Whether some outputs were printed one per line, above the tables.
fn has_singles(answer: &Answer, tables: &[(Vec<RequestAxis>, Table<'_>)]) -> bool {
    let n_in_tables: usize = tables.iter().map(|(_, table)| table.columns.len()).sum();
    answer.outputs.iter().filter(|output| output.value.is_some()).count() > n_in_tables
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

impl Table<'_> {
    fn write(&self, out: &mut impl Write, style: Style) -> Result<(), Stop> {
        let shown = if self.n_rows <= N_HEAD + 2 { self.n_rows } else { N_HEAD };
        let mut head: Vec<String> = self.keys.iter().map(|key| key.name.to_owned()).collect();
        head.extend(self.columns.iter().map(|(name, _)| (*name).to_owned()));
        let mut rows = Vec::with_capacity(shown);
        for row in 0..shown {
            let mut cells: Vec<String> = self.keys.iter().map(|key| (key.of_row)(row)).collect();
            cells.extend(self.columns.iter().map(|(_, column)| cell(&column.get(row))));
            rows.push(cells);
        }
        write_aligned(out, &head, &rows, style)?;
        if shown < self.n_rows {
            let rest = format!("... {} more rows", self.n_rows - shown);
            writeln!(out, "{}", style.faint(&rest))?;
        }
        let lanes = summary::lanes(&self.columns);
        if self.n_rows > 1 && !lanes.is_empty() {
            writeln!(out)?;
            let (head, rows) = summary::table(&lanes);
            write_aligned(out, &head, &rows, style)?;
        }
        if self.n_rows > 10
            && let Some(plot) = plot::Plot::of(&lanes, &self.keys)
        {
            writeln!(out)?;
            plot::write(out, &plot, style)?;
        }
        Ok(())
    }
}

/// Writes rows below a head, with columns as wide as their widest cells, aligned to the right.
pub(crate) fn write_aligned(
    out: &mut impl Write,
    head: &[String],
    rows: &[Vec<String>],
    style: Style,
) -> std::io::Result<()> {
    let width = |i: usize| {
        let cells = rows.iter().filter_map(|row| row.get(i)).chain(head.get(i));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: &[String]| {
        let cells = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}"));
        cells.collect::<Vec<_>>().join("  ")
    };
    writeln!(out, "{}", style.strong(&line(head)))?;
    for row in rows {
        writeln!(out, "{}", line(row).trim_end())?;
    }
    Ok(())
}

fn cell(value: &Value) -> String {
    let text = match value {
        Value::List(list) if list.len() > MAX_INLINE => {
            return format!("list of {}", list.len());
        }
        _ => visible(&value.to_string()).into_owned(),
    };
    if text.chars().count() <= MAX_CELL {
        return text;
    }
    format!("{}...", text.chars().take(MAX_CELL - 3).collect::<String>())
}

/// Prints an answer for programs; `logged` adds the log of what ran.
pub(crate) fn json(
    answer: &Answer,
    moments: Option<&Moments>,
    logged: Option<(&Program, &Phases)>,
) -> Result<(), Stop> {
    let mut out = stdout();
    write!(out, "{{\"outputs\": {{")?;
    for (i, output) in answer.outputs.iter().enumerate() {
        write!(out, "{}", if i > 0 { ",\n  " } else { "\n  " })?;
        write!(out, "{}: ", Json::from(&*output.name))?;
        write_output(&mut out, output)?;
    }
    write!(out, "}}")?;
    if let Some(count) = answer.count {
        write!(out, ",\n\"count\": {count}")?;
    }
    if let Some(moments) = moments {
        write!(out, ",\n\"time\": ")?;
        serde_json::to_writer(&mut out, &moments.seconds)?;
        if let Some(frames) = &moments.frames {
            write!(out, ",\n\"frame\": ")?;
            serde_json::to_writer(&mut out, frames)?;
        }
    }
    write!(out, ",\n\"failures\": {}", failures(answer))?;
    if let Some((program, phases)) = logged {
        write!(out, ",\n\"log\": {}", stats::json(program, answer))?;
        write!(out, ",\n\"seconds\": {}", stats::seconds_json(answer, phases))?;
    }
    writeln!(out, "}}")?;
    out.flush()?;
    Ok(())
}

fn write_output(out: &mut impl Write, output: &OutputAnswer) -> Result<(), Stop> {
    let ty = Json::from(output.ty.name());
    match &output.value {
        None => write!(out, "{{\"type\": {ty}, \"failed\": true}}")?,
        Some(Series { data: Data::One(value), .. }) => {
            write!(out, "{{\"type\": {ty}, \"axes\": [], \"value\": ")?;
            write_value(out, value)?;
            write!(out, "}}")?;
        }
        Some(Series { data: Data::Many(column), axes }) => {
            let axes: Vec<&str> = axes.iter().map(|axis| axis.name()).collect();
            write!(out, "{{\"type\": {ty}, \"axes\": {}, \"values\": [", Json::from(axes))?;
            for (i, value) in column.iter().enumerate() {
                write!(out, "{}", if i > 0 { ", " } else { "" })?;
                write_value(out, &value)?;
            }
            write!(out, "]}}")?;
        }
    }
    Ok(())
}

/// Writes one value; the items of a list one by one, so that long lists are not copied.
fn write_value(out: &mut impl Write, value: &Value) -> Result<(), Stop> {
    let Value::List(list) = value else {
        return Ok(serde_json::to_writer(out, &to_plain_json(value))?);
    };
    write!(out, "[")?;
    for (i, item) in list.iter().enumerate() {
        write!(out, "{}", if i > 0 { ", " } else { "" })?;
        serde_json::to_writer(&mut *out, &to_plain_json(&item))?;
    }
    write!(out, "]")?;
    Ok(())
}

fn failures(answer: &Answer) -> Json {
    let failures = answer.failures.iter().map(|failure| {
        let cell = failure.cell.iter().map(|(axis, i)| ((*axis).to_owned(), Json::from(*i)));
        json!({
            "path": failure.path.as_str(),
            "message": failure.message,
            "help": failure.help.as_deref().map(in_flags),
            "at": cell.collect::<serde_json::Map<_, _>>(),
        })
    });
    failures.collect()
}
