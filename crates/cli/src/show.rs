//! Printing answers for people and for programs.
//!
//! Single values are printed one per line, images and other long ones as their size and range.
//! Outputs that vary along the same axes, and longer lists, become a table of their first rows with
//! a summary of all rows, and a plot if there is only one series.

use std::io::{BufWriter, StdoutLock, Write};

use millstream::evaluate::{Answer, Data, OutputAnswer, Series};
use millstream::values::{Image, Table as DataTable, Type, Value, to_plain_json};
use millstream::{Mask, Program};
use serde_json::{Value as Json, json};

use crate::brief::MAX_INLINE;
use crate::outcome::{Stop, in_flags};
use crate::stats::{Phase, Phases};
use crate::tables::{Coordinates, Key, Table, add_position, tables};
use crate::terminal::{Style, visible};
use crate::{brief, dots, stats, summary};

/// The number of rows printed of a longer table.
const N_HEAD: usize = 8;

/// The cell of a value that failed.
const FAILED: &str = "(failed)";

fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, std::io::stdout().lock())
}

/// Prints an answer for people.
pub(crate) fn text(answer: &Answer, at: &Coordinates, style: Style) -> Result<(), Stop> {
    let mut out = stdout();
    let names = table_names(answer);
    let mut tables = tables(answer, at, MAX_INLINE + 1);
    tables.extend(names.iter().map(|(_, names, table)| of_table(names, table)));
    let mut has_singles = false;
    for output in &answer.outputs {
        if let Some(Series { data: Data::One(value), .. }) = &output.value
            && !tables.iter().any(|table| table.has(&output.name))
            && !names.iter().any(|(name, ..)| *name == &*output.name)
        {
            let name = visible(&output.name);
            let text = brief::line(value, name.chars().count() + 3);
            writeln!(out, "{name} = {text}")?;
            has_singles = true;
        }
    }
    for (i, table) in tables.iter().enumerate() {
        if i > 0 || has_singles {
            writeln!(out)?;
        }
        write_table(&mut out, table, style)?;
    }
    if let Some(advice) = advice_on_pictures(answer, at) {
        writeln!(out, "{}", style.faint(&advice))?;
    }
    out.flush()?;
    Ok(())
}

/// The outputs that are tables with rows: their names, and those of their columns.
fn table_names(answer: &Answer) -> Vec<(&str, Vec<String>, DataTable)> {
    let tables = answer.outputs.iter().filter_map(|output| {
        let Some(Series { data: Data::One(value), .. }) = &output.value else { return None };
        let table: DataTable = value.get()?;
        let columns = table.columns().iter();
        let names: Vec<String> =
            columns.map(|(name, _)| format!("{}.{name}", output.name)).collect();
        (table.n_rows() > 0).then_some((&*output.name, names, table))
    });
    tables.collect()
}

/// A table with a row for each row of an output.
fn of_table<'a>(names: &'a [String], table: &DataTable) -> Table<'a> {
    let columns = names.iter().zip(table.columns());
    Table {
        axes: Vec::new(),
        keys: vec![Key { name: "row", of_row: Box::new(|row| row.to_string()) }],
        columns: columns.map(|(name, (_, column))| (&**name, column.clone())).collect(),
        missing: vec![Mask::empty(); names.len()],
        n_rows: table.n_rows(),
    }
}

/// How to save the images among the outputs; `None` if there are none.
fn advice_on_pictures(answer: &Answer, at: &Coordinates) -> Option<String> {
    let is_image = |output: &&OutputAnswer| output.ty == Type::of::<Image>();
    let mut images = answer.outputs.iter().filter(is_image).map(|output| &*output.name);
    let first = images.next()?;
    let chosen = if images.next().is_some() { format!("--out {first} ") } else { String::new() };
    let view = if at.views.is_empty() { "" } else { ".{view}" };
    let number = if at.moments.is_some() { ".####" } else { "" };
    Some(
        visible(&format!("to save a picture: {chosen}--save {first}{view}{number}.png"))
            .into_owned(),
    )
}

fn write_table(out: &mut impl Write, table: &Table<'_>, style: Style) -> Result<(), Stop> {
    let shown = if table.n_rows <= N_HEAD + 2 { table.n_rows } else { N_HEAD };
    let mut head: Vec<String> = table.keys.iter().map(|key| key.name.to_owned()).collect();
    head.extend(table.columns.iter().map(|(name, _)| visible(name).into_owned()));
    let mut rows = Vec::with_capacity(shown);
    for row in 0..shown {
        let mut cells: Vec<String> = table.keys.iter().map(|key| (key.of_row)(row)).collect();
        cells.extend(table.columns.iter().zip(&table.missing).map(|((_, column), missing)| {
            if missing.contains(row) { FAILED.to_owned() } else { brief::cell(&column.get(row)) }
        }));
        rows.push(cells);
    }
    write_aligned(out, &head, &rows, style)?;
    if shown < table.n_rows {
        let rest = format!("... {} more rows", table.n_rows - shown);
        writeln!(out, "{}", style.faint(&rest))?;
    }
    let lanes = summary::lanes(&table.columns, &table.missing);
    if table.n_rows > 1 && !lanes.is_empty() {
        writeln!(out)?;
        let (head, rows) = summary::table(&lanes);
        write_aligned(out, &head, &rows, style)?;
    }
    if table.n_rows > 10
        && let Some(plot) = dots::Plot::of(&lanes, &table.keys)
    {
        writeln!(out)?;
        dots::write(out, &plot, style)?;
    }
    Ok(())
}

/// Writes rows below a header, with right-aligned columns as wide as their widest cells.
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

/// Prints an answer for programs, with warnings if there are any; `logged` adds the run log.
pub(crate) fn json(
    answer: &Answer,
    at: &Coordinates,
    warnings: &[Json],
    logged: Option<(&Program, Phases)>,
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
    if let (Some(_), Some(count)) = (&at.only, answer.count) {
        let elements: Vec<usize> = (0..count).map(|i| at.element(i)).collect();
        write!(out, ",\n\"index\": {}", json!(elements))?;
    }
    if !at.views.is_empty() {
        write!(out, ",\n\"view\": {}", json!(at.views))?;
    }
    if let Some(moments) = &at.moments {
        write!(out, ",\n\"time\": ")?;
        serde_json::to_writer(&mut out, &moments.seconds)?;
        if let Some(frames) = &moments.frames {
            write!(out, ",\n\"frame\": ")?;
            serde_json::to_writer(&mut out, frames)?;
        }
    }
    write!(out, ",\n\"failures\": {}", failures(answer, at))?;
    if !warnings.is_empty() {
        write!(out, ",\n\"warnings\": {}", json!(warnings))?;
    }
    if let Some((program, mut phases)) = logged {
        phases.end(Phase::Write);
        write!(out, ",\n\"log\": {}", stats::json(program, answer))?;
        phases.end(Phase::Report);
        write!(out, ",\n\"seconds\": {}", stats::seconds_json(answer, &phases))?;
    }
    writeln!(out, "}}")?;
    out.flush()?;
    Ok(())
}

fn write_output(out: &mut impl Write, output: &OutputAnswer) -> Result<(), Stop> {
    let ty = Json::from(output.ty.name());
    let missing = output.missing();
    match output.known() {
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
                if missing.contains(i) {
                    write!(out, "null")?;
                } else {
                    write_value(out, &value)?;
                }
            }
            write!(out, "]")?;
            if let Some(partial) = &output.partial {
                write!(out, ", \"missing\": {}", missing.len())?;
                if partial.n_untried > 0 {
                    write!(out, ", \"untried\": {}", partial.n_untried)?;
                }
            }
            write!(out, "}}")?;
        }
    }
    Ok(())
}

/// Writes one value. Lists are written item by item, so that long ones are not copied.
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

fn failures(answer: &Answer, at: &Coordinates) -> Json {
    let failures = answer.failures.iter().map(|failure| {
        let mut cell = serde_json::Map::new();
        failure.cell.iter().for_each(|(axis, i)| add_position(&mut cell, axis, *i));
        let mut place = at.named(&failure.cell);
        if let Some(frame) = failure.replayed {
            place["frame"] = frame.into();
        }
        json!({
            "path": failure.path.as_str(),
            "message": failure.message,
            "help": failure.help.as_deref().map(in_flags),
            "at": cell,
            "where": place,
        })
    });
    failures.collect()
}
