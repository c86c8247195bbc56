//! JSON Lines block by block.
//!
//! The lines of a block become the text of an array, which is read like a separate file, except
//! that positions are counted from the start of the real file. Each line is first checked to be a
//! single value, so that a value spread over several lines is refused where it starts. Keys and
//! types that the first row does not determine are found by reading the whole file beforehand.

use std::collections::HashSet;
use std::io::{BufRead as _, Read as _};

use serde::de::IgnoredAny;

use super::walk::{Shape, Walk, shape_of};
use super::{JSON_LINES, Layout, empty, table_of};
use crate::builder::TableBuilder;
use crate::error::{IoError, Spot};
use crate::format::{Blocks, Source, Stream, Whole};
use crate::meter::Meter;
use crate::options::Wanted;
use crate::table::{ColumnSpec, Table};

/// Lines that are inspected together to find keys and types.
const N_LINES: usize = 4096;

/// The lines of a file.
struct Lines<'a> {
    file: String,
    stream: Box<dyn Stream + 'a>,
    /// The lines and rows read so far.
    n_lines: u64,
    n_rows: u64,
    /// Whether lines still have to be checked to be single values.
    is_new: bool,
    meter: Meter,
}

/// Some rows as the text of an array.
struct Batch {
    text: String,
    n_rows: usize,
    /// The first line and row.
    begins: (u64, u64),
}

impl<'a> Lines<'a> {
    fn open(source: &Source<'a>, is_new: bool, meter: &Meter) -> Result<Self, IoError> {
        let (file, stream) = (source.file.clone(), source.open()?);
        Ok(Self { file, stream, n_lines: 0, n_rows: 0, is_new, meter: meter.clone() })
    }

    /// Up to this many rows.
    fn batch(&mut self, n_rows: usize) -> Result<Batch, IoError> {
        let begins = (self.n_lines + 1, self.n_rows + 1);
        let mut batch = Batch { text: String::from("["), n_rows: 0, begins };
        let mut line = Vec::new();
        while batch.n_rows < n_rows && self.read_line(&mut line, batch.text.len())? {
            let number = self.n_lines;
            let bytes = if number == 1 {
                line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line)
            } else {
                &line
            };
            let text = std::str::from_utf8(bytes)
                .map_err(|_| IoError::Encoding { spot: Spot::line(&self.file, number) })?;
            // Line breaks are kept for the positions in messages.
            if number > begins.0 {
                batch.text.push('\n');
            }
            let text = text.trim_end_matches(['\n', '\r']);
            if text.trim().is_empty() {
                continue;
            }
            if self.is_new {
                check_line(&self.file, number, text)?;
            }
            if batch.n_rows > 0 {
                batch.text.push(',');
            }
            batch.text.push_str(text);
            batch.n_rows += 1;
        }
        batch.text.push(']');
        self.n_rows += batch.n_rows as u64;
        Ok(batch)
    }

    /// Calls `on_batch` with all rows.
    fn batches(
        mut self,
        mut on_batch: impl FnMut(&Batch) -> Result<(), IoError>,
    ) -> Result<(), IoError> {
        loop {
            let batch = self.batch(N_LINES)?;
            if batch.n_rows == 0 {
                return Ok(());
            }
            on_batch(&batch)?;
        }
    }

    /// Reads the next line; false if there is none. A line that, together with `n_before` bytes,
    /// exceeds the limit is an error and is not read to its end.
    fn read_line(&mut self, line: &mut Vec<u8>, n_before: usize) -> Result<bool, IoError> {
        line.clear();
        let most = (self.meter.n_bytes() as u64).saturating_add(1);
        let n = (&mut self.stream).take(most).read_until(b'\n', line);
        let n = n.map_err(IoError::reading(&self.file))?;
        if n == 0 {
            return Ok(false);
        }
        self.n_lines += 1;
        let spot = || Spot::line(&self.file, self.n_lines);
        self.meter.work(n, spot)?;
        self.meter.check_bytes(n.saturating_add(n_before), spot)?;
        Ok(true)
    }
}

/// Refuses a line that is not a single value.
fn check_line(file: &str, number: u64, line: &str) -> Result<(), IoError> {
    serde_json::from_str::<IgnoredAny>(line).map(|_| ()).map_err(|error| {
        let text = error.to_string();
        let reason = text.split_once(" at line ").map_or(&*text, |(reason, _)| reason);
        let reason = format!("{reason} at column {}", error.column());
        JSON_LINES.syntax(Spot::line(file, number), reason)
    })
}

fn shape_of_batch(file: &str, batch: &Batch, meter: &Meter) -> Result<Shape, IoError> {
    shape_of(&JSON_LINES, file, &batch.text, batch.begins.0, meter)
}

/// Whether the first row has all wanted keys.
fn has_all(names: &[String], wanted: Wanted<'_>) -> bool {
    let is_there = |(name, _): &(&str, _)| names.iter().any(|known| known == name);
    wanted.named().is_some_and(|columns| columns.iter().all(is_there))
}

/// Rows of a file as columns.
struct LineBlocks<'a> {
    lines: Lines<'a>,
    layout: Layout,
    columns: Vec<ColumnSpec>,
}

/// Opens a file; it is read once beforehand for keys and once for types, if they are unknown.
pub(super) fn open<'a>(
    source: &Source<'a>,
    wanted: Wanted<'_>,
    meter: &Meter,
) -> Result<Box<dyn Blocks + 'a>, IoError> {
    let file = &*source.file;
    let first = Lines::open(source, true, meter)?.batch(1)?;
    let mut shape = shape_of_batch(file, &first, meter)?;
    let mut is_new = true;
    match &mut shape {
        Shape::Nothing => {
            let table = TableBuilder::new(file, &empty(file, wanted)?).finish(meter)?;
            return Ok(Box::new(Whole::new(table)));
        }
        Shape::Rows(names) if !has_all(names, wanted) => {
            let mut known: HashSet<String> = names.iter().cloned().collect();
            Lines::open(source, is_new, meter)?.batches(|batch| {
                if let Shape::Rows(keys) = shape_of_batch(file, batch, meter)? {
                    names.extend(keys.into_iter().filter(|key| known.insert(key.clone())));
                }
                Ok(())
            })?;
            is_new = false;
        }
        Shape::Rows(_) | Shape::Columns(_) | Shape::Values => {}
    }
    let layout = Layout::new(&JSON_LINES, file, shape, wanted)?;
    let mut seen = layout.unseen();
    if layout.has_open_types() {
        Lines::open(source, is_new, meter)?
            .batches(|batch| layout.see(&walk(&layout, batch, meter), &mut seen))?;
        is_new = false;
    }
    let columns = layout.columns(&seen)?;
    Ok(Box::new(LineBlocks { lines: Lines::open(source, is_new, meter)?, layout, columns }))
}

fn walk<'a>(layout: &'a Layout, batch: &'a Batch, meter: &'a Meter) -> Walk<'a> {
    Walk { layout, text: &batch.text, begins: batch.begins, meter }
}

impl Blocks for LineBlocks<'_> {
    fn columns(&self) -> Vec<ColumnSpec> {
        self.columns.clone()
    }

    fn next(&mut self, n_rows: usize) -> Result<Option<Table>, IoError> {
        let batch = self.lines.batch(n_rows)?;
        if batch.n_rows == 0 {
            return Ok(None);
        }
        table_of(&walk(&self.layout, &batch, &self.lines.meter), &self.columns).map(Some)
    }
}
