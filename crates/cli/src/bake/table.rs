//! A table of all frames, in one of two layouts.
//!
//! Lists of equal length are columns of items; lists of other lengths are cells, so that each frame
//! is a row. Several lists may be equally long in some frames and not in others, which shows only in
//! the last frame. Their table is written in both layouts at once, and the items are given up at
//! the first frame in which the lengths differ. An output without a value leaves its cells empty.
//!
//! An array has an axis for the frames and one for the elements or the items, so each frame must have
//! equally many items.

use std::path::Path;

use millstream::Answer;
use millstream::diagnostics::counted;
use millstream::evaluate::OutputAnswer;
use millstream::values::{Column, Table, Type};
use millstream_io::{ColumnSpec, Format, TableWriter, WriteOptions};

use super::rows::{Layout, Rows, n_keys, rows};
use crate::outcome::{Exit, Stop};
use crate::place::{Target, stop};
use crate::save;
use crate::terminal::visible;

/// A table that grows frame by frame.
#[derive(Default)]
pub(super) struct FramesTable {
    /// The layouts that fit all frames so far; empty before the first one.
    written: Vec<Written>,
    /// Why the format cannot hold one of the layouts.
    refusal: Option<Stop>,
}

/// The table in one layout.
struct Written {
    layout: Layout,
    writer: TableWriter,
    specs: Vec<ColumnSpec>,
    /// The first frame of an array with an axis of items, and the number of its items.
    first: Option<(i64, usize)>,
}

impl FramesTable {
    /// Adds the rows of some frames; `n_frames` is the number of all frames.
    pub(super) fn push(
        &mut self,
        path: &Path,
        (answer, outputs): (&Answer, &[&OutputAnswer]),
        (frames, fps, n_frames): (&[i64], f64, usize),
    ) -> Result<(), Stop> {
        let is_npy = Format::of_path(path).is_ok_and(|it| it == Format::NPY);
        let rows_in = |layout| -> Option<Rows> {
            let rows = rows(answer, outputs, (frames, fps), layout)?;
            Some(if is_npy { rows.of_outputs() } else { rows })
        };
        let before: Vec<(Layout, Option<Written>)> = if self.written.is_empty() {
            let types: Vec<Type> = outputs.iter().map(|output| output.ty).collect();
            let possible = Layout::possible(&types, answer.count).into_iter();
            possible.map(|layout| (layout, None)).collect()
        } else {
            self.written.drain(..).map(|written| (written.layout, Some(written))).collect()
        };
        let mut other = None;
        for (layout, written) in before {
            let Some(rows) = rows_in(layout) else { continue };
            let is_of_items = is_npy && layout == Layout::Items;
            let of_items =
                is_of_items.then(|| (frames[0], rows.columns.first().map_or(0, Column::len)));
            let mut written = match written {
                Some(written) if written.specs == rows.specs => {
                    if let (Some(first), Some(now)) = (written.first, of_items)
                        && first.1 != now.1
                    {
                        other = Some(unequal_frames(path, outputs, first, now));
                        continue;
                    }
                    written
                }
                Some(written) => {
                    other = Some(other_columns(path, &written.specs, &rows.specs));
                    continue;
                }
                None => match Target::of(path, &[])?.writer_with(
                    rows.specs.clone(),
                    WriteOptions {
                        axes: axes(n_frames, of_items.map(|(_, n)| n).or(answer.count)),
                        has_gaps: outputs.len() > 1,
                        ..WriteOptions::default()
                    },
                ) {
                    Ok(writer) => Written { layout, writer, specs: rows.specs, first: of_items },
                    Err(refusal) => {
                        self.refusal.get_or_insert(refusal);
                        continue;
                    }
                },
            };
            let pushed = written.writer.write_rows_without(&rows.columns, &rows.is_absent);
            pushed.map_err(|error| stop(&error))?;
            self.written.push(written);
        }
        if !self.written.is_empty() {
            return Ok(());
        }
        let unequal = || save::unequal(&path.display().to_string(), outputs);
        let why = other.or_else(unequal).or_else(|| self.refusal.take());
        Err(why.unwrap_or_else(|| no_rows(path)))
    }

    /// Completes the file.
    pub(super) fn finish(self, path: &Path) -> Result<(), Stop> {
        let Some(written) = self.written.into_iter().next() else {
            let text = format!("`{}` would have no rows", path.display());
            let help = "at least one frame must have a value";
            return Err(Stop::new(Exit::Failed, text, Some(help.into())).misfit());
        };
        written.writer.finish().map(drop).map_err(|error| stop(&error))
    }
}

/// The extents of the axes of an array of `n` elements or items per frame.
fn axes(n_frames: usize, n: Option<usize>) -> Vec<usize> {
    n.map(|n| vec![n_frames, n]).unwrap_or_default()
}

/// Refuses a table that cannot hold outputs of these types in any layout.
pub(super) fn check(
    path: &Path,
    outputs: &[(&str, Type)],
    (n_frames, count): (usize, Option<usize>),
) -> Result<(), Stop> {
    let is_table = |(_, ty): &&(&str, Type)| *ty == Type::of::<Table>();
    if let Some((name, _)) = outputs.iter().find(is_table).filter(|_| outputs.len() > 1) {
        let text = format!("the table `{}` does not fit next to other outputs", visible(name));
        return Err(Stop::new(Exit::Usage, text, Some("choose it with --out NAME".into())));
    }
    let target = Target::of(path, &[])?;
    let types: Vec<Type> = outputs.iter().map(|(_, ty)| *ty).collect();
    let mut refusal = Ok(());
    for layout in Layout::possible(&types, count) {
        let Some(mut specs) = layout.specs(outputs, count) else { return Ok(()) };
        if target.is_array() {
            specs.drain(..n_keys(layout, count));
        }
        match target.check(&specs, axes(n_frames, count)) {
            Ok(()) => return Ok(()),
            Err(stop) => refusal = refusal.and(Err(stop)),
        }
    }
    refusal
}

/// The error for rows whose columns differ from those before.
fn other_columns(path: &Path, before: &[ColumnSpec], now: &[ColumnSpec]) -> Stop {
    let named = |specs: &[ColumnSpec]| {
        let columns = specs.iter().map(|spec| format!("`{}` ({})", visible(&spec.name), spec.ty));
        columns.collect::<Vec<_>>().join(", ")
    };
    let file = path.display();
    let (before, now) = (named(before), named(now));
    let text = format!("`{file}` has the columns {before}, but the next rows have {now}");
    let help = format!("save a file for each frame: {}", with_number(path));
    Stop::new(Exit::Failed, text, Some(help)).misfit()
}

/// The error for an array of frames with different numbers of items.
fn unequal_frames(
    path: &Path,
    outputs: &[&OutputAnswer],
    (before, n_before): (i64, usize),
    (now, n_now): (i64, usize),
) -> Stop {
    let names: Vec<_> = outputs.iter().map(|output| visible(&output.name)).collect();
    let text = format!(
        "`{}` needs equally many items in each frame, but `{}` has {} in frame {before} and {n_now} \
         in frame {now}",
        path.display(),
        names.join("`, `"),
        counted(n_before as u64, "item"),
    );
    let help = "write lists of different lengths to csv, jsonl or parquet, as a row for each item";
    Stop::new(Exit::Failed, text, Some(help.into())).misfit()
}

/// The error for outputs without rows.
fn no_rows(path: &Path) -> Stop {
    let text = format!("`{}` cannot hold the outputs as rows", path.display());
    let help = format!("save a file for each frame: {}", with_number(path));
    Stop::new(Exit::Failed, text, Some(help)).misfit()
}

/// The name of the file with a place for the number of the frame.
fn with_number(path: &Path) -> String {
    let name = path.file_name().map_or_else(String::new, |name| name.display().to_string());
    match name.rsplit_once('.') {
        Some((stem, extension)) => format!("{stem}.####.{extension}"),
        None => format!("{name}.####"),
    }
}
