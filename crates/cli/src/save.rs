//! `--save FILE`: the outputs as columns of a file, written block by block.
//!
//! A row is a cell of the request, moments outermost, then views (`span`). Without axes there is one
//! row, unless all outputs are lists of equal length: then their items are the rows. If a table is the
//! only output, it is the file. In mesh formats rows are vertices, and an output may hold the faces
//! between them. An output without any value is a column without values, except in mesh formats,
//! which leave it out.

use std::path::Path;

use millstream::Mask;
use millstream::Registry;
use millstream::diagnostics::counted;
use millstream::document::{Document, save, to_text};
use millstream::evaluate::{Answer, Data, OutputAnswer, Partial, RequestAxis, Series};
use millstream::values::{Column, Table, Type, Value};
use millstream_io::{ColumnSpec, write_file};

use crate::outcome::{Exit, Stop};
use crate::place::{Target, stop};
use crate::span::Span;
use crate::tables::{Coordinates, Moments};
use crate::terminal::{eprint, visible};
use crate::{gaps, interrupt, mesh};

/// The number of rows written at once.
pub(crate) const BLOCK: usize = 1 << 16;

/// The source of a column's entries.
enum Source<'a> {
    /// A coordinate of the row.
    Frame(&'a [i64], Type),
    Time(&'a Moments),
    View(&'a [String]),
    Index(&'a Coordinates),
    /// An output.
    Series(&'a Series),
    /// The items of an output that is a list, or a column of a table.
    Items(Column),
    /// The filler of an output without any value.
    Missing(Value),
}

/// The text of a document, in the form that the file name implies.
pub(crate) fn written(path: &Path, document: &Document, registry: &Registry) -> String {
    let is_text = path.extension().is_some_and(|ending| ending == "mill");
    if is_text { to_text(document, registry) } else { save(document) }
}

/// Writes a file that appears under its name only once it is complete.
pub(crate) fn write_complete(path: &Path, bytes: &[u8]) -> Result<(), Stop> {
    write_file(path, bytes).map_err(|error| not_written(path, &error))
}

/// The error for a file that could not be written.
pub(crate) fn not_written(path: &Path, error: &std::io::Error) -> Stop {
    let help = "check the directory and its free space";
    Stop::new(
        Exit::Failed,
        format!("cannot write `{}`: {error}", path.display()),
        Some(help.into()),
    )
}

/// Writes all outputs as at most so many rows, and reports it; the file is changed only if that
/// succeeds, and if an output has a value.
pub(crate) fn save_answer(
    target: &Target,
    answer: &Answer,
    at: &Coordinates,
    most_rows: usize,
) -> Result<(), Stop> {
    let outputs = answer.outputs.iter();
    let (lost, known): (Vec<&OutputAnswer>, Vec<_>) = outputs.partition(|it| gaps::is_lost(it));
    if lost.is_empty() || !(known.is_empty() || target.is_mesh()) {
        let all: Vec<&OutputAnswer> = answer.outputs.iter().collect();
        let written = write_outputs(target, answer, &all, at, most_rows)?;
        written.report(target, answer, at);
        return Ok(());
    }
    if known.is_empty() {
        gaps::report_unwritten(target);
        return Ok(());
    }
    let written = write_outputs(target, answer, &known, at, most_rows);
    written.map_err(Stop::into_failure)?.report(target, answer, at);
    let names: Vec<String> = lost.iter().map(|it| format!("`{}`", visible(&it.name))).collect();
    eprint(&format!("left out, because rows of meshes need all values: {}\n", names.join(", ")));
    Ok(())
}

/// What a file was given.
pub(crate) struct Written {
    span: Span,
    /// Number of faces, if there are any.
    n_faces: Option<usize>,
}

impl Written {
    fn report(&self, target: &Target, answer: &Answer, at: &Coordinates) {
        saved(target, self.span.n_rows, self.n_faces);
        self.span.report(answer, at);
    }
}

/// Writes outputs of an answer as at most so many rows, without a report.
pub(crate) fn write_outputs(
    target: &Target,
    answer: &Answer,
    outputs: &[&OutputAnswer],
    at: &Coordinates,
    most_rows: usize,
) -> Result<Written, Stop> {
    let (faces, outputs) =
        if target.is_mesh() { mesh::faces_and_rest(outputs)? } else { (None, outputs.to_vec()) };
    let mut columns: Vec<(ColumnSpec, Source<'_>)> = Vec::new();
    let span = if let Some((items, n_rows)) = items(answer, &outputs) {
        columns.extend(items.into_iter().map(|(spec, list)| (spec, Source::Items(list))));
        Span::of_items(n_rows)
    } else {
        let span = Span::of(target, answer, &outputs, most_rows)?;
        // An array has an axis for each axis of the rows.
        if !target.is_array() {
            let coordinates = coordinates(target, at, answer.count.is_some()).into_iter();
            let of_rows = coordinates.filter(|(axis, ..)| !span.leaves_out(*axis));
            columns.extend(of_rows.map(|(_, spec, source)| (spec, source)));
        }
        columns.extend(outputs.iter().map(|output| {
            let filler = || Source::Missing(Partial::filler(output.ty));
            let source = output.known().map_or_else(filler, Source::Series);
            (ColumnSpec::new(&output.name, output.ty), source)
        }));
        span
    };
    let n_rows = span.n_rows;
    // Coordinates and the columns of a table come before them, and lack nothing.
    let n_before = columns.len().saturating_sub(outputs.len());
    let missing_in = |output: &&OutputAnswer| match (output.known(), &output.partial) {
        (None, _) => Mask::full(n_rows),
        (Some(_), Some(partial)) => answer.missing_over(partial, &span.axes),
        (Some(_), None) => Mask::empty(),
    };
    let mut missing = vec![Mask::empty(); n_before];
    missing.extend(outputs.iter().map(missing_in));
    let mut specs: Vec<ColumnSpec> = columns.iter().map(|(spec, _)| spec.clone()).collect();
    if target.is_mesh() {
        mesh::rename(&mut specs);
    }
    for ((spec, _), missing) in columns.iter().zip(&missing) {
        gaps::refuse(target, spec, missing.len())?;
    }
    let has_gaps = missing.iter().any(|missing| !missing.is_empty());
    let n_faces = faces.as_ref().map(|faces| faces.len());
    let mut writer =
        target.writer(specs, faces, span.extents(answer), has_gaps).map_err(|refusal| {
            let unequal =
                if refusal.is_misfit() { unequal(&target.name(), &outputs) } else { None };
            unequal.unwrap_or(refusal)
        })?;
    let budget = interrupt::until(None);
    let mut start = 0;
    while start < n_rows {
        interrupt::go_on(&budget)?;
        let end = n_rows.min(start + BLOCK);
        let block: Vec<Column> =
            columns.iter().map(|(_, source)| source.rows(start..end, (answer, &span))).collect();
        let here = |missing: &Mask| missing.within(start..end).shift(-(start as isize));
        let missing: Vec<Mask> = missing.iter().map(here).collect();
        gaps::write_rows(&mut writer, target, &block, &missing)?;
        start = end;
    }
    writer.finish().map_err(|error| stop(&error))?;
    Ok(Written { span, n_faces })
}

/// Refuses outputs that the format cannot hold, as far as their types tell; `has_index` says whether
/// there are elements.
pub(crate) fn check(
    target: &Target,
    outputs: &[(&str, Type)],
    (at, has_index): (&Coordinates, bool),
) -> Result<(), Stop> {
    let is_row = |(name, ty): &&(&str, Type)| !target.is_mesh() || !mesh::is_of_faces(name, *ty);
    let outputs: Vec<(&str, Type)> = outputs.iter().filter(is_row).copied().collect();
    let checked = |mut specs: Vec<ColumnSpec>| {
        if target.is_mesh() {
            mesh::rename(&mut specs);
        }
        target.check(&specs, Vec::new())
    };
    let mut refusal = None;
    if !has_index && !at.has_outer_axes() {
        let items = match &outputs[..] {
            // The columns of a table are values.
            [] => return Ok(()),
            [(_, ty)] if *ty == Type::of::<Table>() => return Ok(()),
            _ => item_specs(&outputs),
        };
        match items.map(checked) {
            Some(Err(stop)) if outputs.len() > 1 => refusal = Some(stop),
            Some(checked) => return checked,
            None => {}
        }
    }
    let keys = if target.is_array() { Vec::new() } else { coordinates(target, at, has_index) };
    let specs = keys.into_iter().map(|(_, spec, _)| spec);
    let cells = outputs.iter().map(|(name, ty)| ColumnSpec::new(name, *ty));
    checked(specs.chain(cells).collect()).map_err(|cells| refusal.unwrap_or(cells))
}

/// The columns of items of these outputs, if all of them are lists.
pub(crate) fn item_specs(outputs: &[(&str, Type)]) -> Option<Vec<ColumnSpec>> {
    let spec = |(name, ty): &(&str, Type)| Some(ColumnSpec::new(name, ty.element()?));
    outputs.iter().map(spec).collect()
}

/// The reason why lists are not rows of a file that cannot hold lists, if they differ in length.
pub(crate) fn unequal(file: &str, outputs: &[&OutputAnswer]) -> Option<Stop> {
    let length = |output: &&OutputAnswer| match &output.value.as_ref()?.data {
        Data::One(Value::List(list)) => Some(list.len()),
        Data::One(_) | Data::Many(_) => None,
    };
    let lengths: Vec<usize> = outputs.iter().map(length).collect::<Option<_>>()?;
    let other = lengths.iter().position(|length| *length != lengths[0])?;
    let name = |output: usize| visible(&outputs[output].name);
    let text = format!(
        "`{file}` needs lists of equal length, but `{}` has {} and `{}` has {}",
        name(0),
        counted(lengths[0] as u64, "item"),
        name(other),
        lengths[other],
    );
    let help = format!(
        "write lists of different lengths to jsonl, parquet or arrow, or choose one of them: --out {}",
        name(0)
    );
    Some(Stop::new(Exit::Usage, text, Some(help)).misfit())
}

/// The coordinates of rows as columns with their axes, if there are moments or views, or if only
/// some elements were asked for; `has_index` says whether there are elements. Vertices of a mesh are
/// numbered by their order.
fn coordinates<'a>(
    target: &Target,
    at: &'a Coordinates,
    has_index: bool,
) -> Vec<(RequestAxis, ColumnSpec, Source<'a>)> {
    let mut columns = Vec::new();
    if let Some(moments) = &at.moments {
        if let Some(frames) = &moments.frames {
            let is_small = frames.iter().all(|frame| i32::try_from(*frame).is_ok());
            let ty = if is_small { Type::I32 } else { Type::I64 };
            let spec = ColumnSpec::new("frame", ty);
            columns.push((RequestAxis::Time, spec, Source::Frame(frames, ty)));
        }
        let spec = ColumnSpec::new("time", Type::F64);
        columns.push((RequestAxis::Time, spec, Source::Time(moments)));
    }
    if !at.views.is_empty() {
        let spec = ColumnSpec::new("view", Type::STRING);
        columns.push((RequestAxis::View, spec, Source::View(&at.views)));
    }
    let tells_elements = at.has_outer_axes() || (at.only.is_some() && !target.is_mesh());
    if tells_elements && has_index {
        let spec = ColumnSpec::new("index", Type::I32);
        columns.push((RequestAxis::Index, spec, Source::Index(at)));
    }
    columns
}

/// Reports what was written.
pub(crate) fn saved(target: &Target, n_rows: usize, n_faces: Option<usize>) {
    let faces = n_faces.map_or_else(String::new, |n| format!(" and {}", counted(n as u64, "face")));
    eprint(&format!("saved {}{faces} to {}\n", counted(n_rows as u64, "row"), target.name()));
}

/// The items of the outputs as columns, with their number, if there are no axes and all outputs are
/// lists of equal length or the only one is a table. Lists without a value become columns of
/// fillers.
pub(crate) fn items(
    answer: &Answer,
    outputs: &[&OutputAnswer],
) -> Option<(Vec<(ColumnSpec, Column)>, usize)> {
    if !Span::opened(answer).is_empty() {
        return None;
    }
    if let [output] = outputs
        && let Data::One(value) = &output.value.as_ref()?.data
        && let Some(table) = value.get::<Table>()
    {
        let columns = table
            .columns()
            .iter()
            .map(|(name, column)| (ColumnSpec::new(name, column.ty()), column.clone()));
        return Some((columns.collect(), table.n_rows()));
    }
    let mut items = Vec::new();
    let mut n_items = None;
    for output in outputs {
        let item = output.ty.element()?;
        let list = match output.value.as_ref().map(|series| &series.data) {
            Some(Data::One(Value::List(list))) => Some(list.clone()),
            Some(Data::One(_) | Data::Many(_)) => return None,
            None => None,
        };
        if let Some(n) = list.as_ref().map(Column::len)
            && *n_items.get_or_insert(n) != n
        {
            return None;
        }
        items.push((ColumnSpec::new(&output.name, item), list));
    }
    let n = n_items?;
    let filled = |(spec, list): (ColumnSpec, Option<Column>)| {
        let filler = || Column::filled(&Partial::filler(spec.ty), n);
        let list = list.unwrap_or_else(filler);
        (spec, list)
    };
    Some((items.into_iter().map(filled).collect(), n))
}

impl Source<'_> {
    /// The entries of some rows.
    fn rows(&self, rows: std::ops::Range<usize>, (answer, span): (&Answer, &Span)) -> Column {
        match self {
            Self::Frame(frames, ty) => {
                let moments = rows.map(span.position(RequestAxis::Time, answer));
                if *ty == Type::I32 {
                    moments.map(|moment| frames[moment] as i32).collect()
                } else {
                    moments.map(|moment| frames[moment]).collect()
                }
            }
            Self::Time(moments) => {
                let positions = rows.map(span.position(RequestAxis::Time, answer));
                positions.map(|moment| moments.seconds[moment]).collect()
            }
            Self::View(names) => {
                let views = rows.map(span.position(RequestAxis::View, answer));
                let mut names = views.map(|view| Value::from(names[view].as_str()));
                Type::STRING.collect(&mut names).expect("names are strings")
            }
            Self::Index(at) => {
                let elements = rows.map(span.position(RequestAxis::Index, answer));
                elements.map(|element| at.element(element) as i32).collect()
            }
            Self::Items(list) => list.slice(rows),
            Self::Missing(filler) => Column::filled(filler, rows.len()),
            Self::Series(series) => answer.rows_over(series, &span.axes, rows),
        }
    }
}
