//! A table of all frames, in one of two layouts.
//!
//! Lists of equal length are columns of items; lists of other lengths are cells, so that each frame
//! is a row. Several lists may be equally long in some frames and not in others, which shows only in
//! the last frame. Their table is written in both layouts at once, and the items are given up at
//! the first frame in which the lengths differ. An output without a value leaves its cells empty.
//!
//! If all cells were too many rows, and no output varies along the elements, these are left out, as
//! `run` does.
//!
//! An array has an axis for the frames and one for the elements or the items, so each frame must have
//! equally many items.

use std::path::Path;

use millstream::diagnostics::counted;
use millstream::evaluate::{OutputAnswer, RequestAxis};
use millstream::values::{Column, Table, Type};
use millstream_io::{ColumnSpec, TableWriter, WriteOptions};

use super::rows::{Layout, OfFrames, Rows, n_keys};
use crate::outcome::{Exit, Stop};
use crate::place::{Target, stop};
use crate::span::report_left_out;
use crate::terminal::visible;
use crate::{gaps, save};

/// A table that grows frame by frame.
pub(super) struct FramesTable {
    /// The layouts that fit all frames so far; empty before the first one.
    written: Vec<Written>,
    /// Why the format cannot hold one of the layouts.
    refusal: Option<Stop>,
    /// Whether elements are rows; known from the first frame on.
    has_elements: Option<bool>,
    /// The number of rows above which elements are left out, if no output varies along them.
    most_rows: usize,
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
    /// A table of at most so many rows for which elements are rows.
    pub(super) fn new(most_rows: usize) -> Self {
        Self { written: Vec::new(), refusal: None, has_elements: None, most_rows }
    }

    /// Adds the rows of some frames; `n_frames` is the number of all frames.
    pub(super) fn push(
        &mut self,
        path: &Path,
        of: OfFrames<'_>,
        n_frames: usize,
    ) -> Result<(), Stop> {
        let target = Target::of(path, &[])?;
        let count = of.answer.count;
        let has_elements = *self.has_elements.get_or_insert_with(|| {
            let n_rows = n_frames.saturating_mul(count.unwrap_or(1));
            n_rows <= self.most_rows || !is_left_out(path, of.outputs, n_rows)
        });
        let count = count.filter(|_| has_elements);
        let added = Added { target, path, of, n_frames, count };
        let before: Vec<(Layout, Option<Written>)> = if self.written.is_empty() {
            let types: Vec<Type> = of.outputs.iter().map(|output| output.ty).collect();
            let possible = Layout::possible(&types, of.answer.count).into_iter();
            possible.map(|layout| (layout, None)).collect()
        } else {
            self.written.drain(..).map(|written| (written.layout, Some(written))).collect()
        };
        let mut other = None;
        for (layout, written) in before {
            match added.write(layout, written) {
                Ok(written) => self.written.extend(written),
                Err(Unwritten::OtherColumns(stop)) => other = Some(stop),
                Err(Unwritten::Refused(stop)) => {
                    self.refusal.get_or_insert(stop);
                }
                Err(Unwritten::Failed(stop)) => return Err(stop),
            }
        }
        if !self.written.is_empty() {
            return Ok(());
        }
        let unequal = || save::unequal(&path.display().to_string(), of.outputs);
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

/// Why rows were not written.
enum Unwritten {
    /// They do not go with those before.
    OtherColumns(Stop),
    /// The format cannot hold them.
    Refused(Stop),
    /// The file cannot be written.
    Failed(Stop),
}

/// Frames that are added to a table.
struct Added<'a> {
    target: Target,
    path: &'a Path,
    of: OfFrames<'a>,
    n_frames: usize,
    /// The number of elements, if they are rows.
    count: Option<usize>,
}

impl Added<'_> {
    /// Writes the rows in a layout, block by block. `None` if items are not rows.
    fn write(
        &self,
        layout: Layout,
        mut written: Option<Written>,
    ) -> Result<Option<Written>, Unwritten> {
        if layout == Layout::Items {
            let Some(rows) = self.of.items() else { return Ok(None) };
            return self.write_rows(layout, written, rows).map(Some);
        }
        let (n_cells, mut start) = (self.of.n_cells(self.count), 0);
        while start < n_cells || written.is_none() {
            let end = n_cells.min(start + save::BLOCK);
            let rows = self.of.cells(self.count, start..end);
            written = Some(self.write_rows(layout, written, rows)?);
            start = end;
        }
        Ok(written)
    }

    fn write_rows(
        &self,
        layout: Layout,
        written: Option<Written>,
        rows: Rows,
    ) -> Result<Written, Unwritten> {
        let is_npy = self.target.is_array();
        let rows = if is_npy { rows.of_outputs() } else { rows };
        let n_items = rows.columns.first().map_or(0, Column::len);
        let of_items = (is_npy && layout == Layout::Items).then_some((self.of.frames[0], n_items));
        let mut written = match written {
            Some(written) if written.specs != rows.specs => {
                let other = other_columns(self.path, &written.specs, &rows.specs);
                return Err(Unwritten::OtherColumns(other));
            }
            Some(written) => {
                if let (Some(first), Some(now)) = (written.first, of_items)
                    && first.1 != now.1
                {
                    let other = unequal_frames(self.path, self.of.outputs, first, now);
                    return Err(Unwritten::OtherColumns(other));
                }
                written
            }
            None => {
                let options = WriteOptions {
                    axes: axes(self.n_frames, of_items.map(|(_, n)| n).or(self.count)),
                    has_gaps: self.of.outputs.len() > 1 || self.of.answer.count.is_some(),
                    ..WriteOptions::default()
                };
                let writer = self.target.writer_with(rows.specs.clone(), options);
                let writer = writer.map_err(Unwritten::Refused)?;
                Written { layout, writer, specs: rows.specs, first: of_items }
            }
        };
        gaps::write_rows(&mut written.writer, &self.target, &rows.columns, &rows.missing)
            .map_err(Unwritten::Failed)?;
        Ok(written)
    }
}

/// Whether the elements are no rows, because no output varies along them; if so, reports that.
fn is_left_out(path: &Path, outputs: &[&OutputAnswer], n_rows: usize) -> bool {
    // An output that has no value in the first frame may vary in others.
    let is_same = |output: &&OutputAnswer| {
        output.value.as_ref().is_some_and(|it| !it.axes.contains(&RequestAxis::Index))
    };
    if !outputs.iter().all(is_same) {
        return false;
    }
    let of = format!(" of {}", visible(&path.display().to_string()));
    report_left_out(&[RequestAxis::Index.name()], &of, n_rows);
    true
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
