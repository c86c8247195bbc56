//! A table of all frames, in one of two layouts.
//!
//! Lists of equal length are columns of items; lists of other lengths are cells, so that each frame
//! is a row. Several lists may be equally long in some frames and not in others, which shows only in
//! the last frame. Their table is written in both layouts at once, and the items are given up at
//! the first frame in which the lengths differ.

use std::path::Path;

use millstream::Answer;
use millstream::evaluate::OutputAnswer;
use millstream_io::{ColumnSpec, Format, TableWriter};

use super::rows::{Layout, Rows, rows};
use crate::outcome::{Exit, Stop};
use crate::place::{Target, stop};

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
        let rows_in = |layout| -> Result<Option<Rows>, Stop> {
            let rows = rows(answer, outputs, (frames, fps), layout)?;
            Ok(rows.map(|rows| if is_npy { rows.of_outputs() } else { rows }))
        };
        let axes = || answer.count.map(|count| vec![n_frames, count]).unwrap_or_default();
        let before: Vec<(Layout, Option<Written>)> = if self.written.is_empty() {
            Layout::possible(answer, outputs).into_iter().map(|layout| (layout, None)).collect()
        } else {
            self.written.drain(..).map(|written| (written.layout, Some(written))).collect()
        };
        let mut is_other = false;
        for (layout, written) in before {
            let Some(rows) = rows_in(layout)? else { continue };
            let mut written = match written {
                Some(written) if written.specs == rows.specs => written,
                Some(_) => {
                    is_other = true;
                    continue;
                }
                None => match Target::of(path, &[])?.writer(rows.specs.clone(), None, axes()) {
                    Ok(writer) => Written { layout, writer, specs: rows.specs },
                    Err(refusal) => {
                        self.refusal.get_or_insert(refusal);
                        continue;
                    }
                },
            };
            written.writer.write_rows(&rows.columns).map_err(|error| stop(&error))?;
            self.written.push(written);
        }
        if !self.written.is_empty() {
            return Ok(());
        }
        Err(self.refusal.take().filter(|_| !is_other).unwrap_or_else(|| {
            let frame = frames[0];
            let text = format!("frame {frame} has different columns from the frames before it");
            let help = format!("save a file for each frame: {}", with_number(path));
            Stop::new(Exit::Failed, text, Some(help))
        }))
    }

    /// Completes the file; `false` if there were no rows because every frame failed.
    pub(super) fn finish(self) -> Result<bool, Stop> {
        let Some(written) = self.written.into_iter().next() else { return Ok(false) };
        written.writer.finish().map_err(|error| stop(&error))?;
        Ok(true)
    }
}

/// The name of the file with a place for the number of the frame.
fn with_number(path: &Path) -> String {
    let name = path.file_name().map_or_else(String::new, |name| name.display().to_string());
    match name.rsplit_once('.') {
        Some((stem, extension)) => format!("{stem}.####.{extension}"),
        None => format!("{name}.####"),
    }
}
