//! Outputs of which some cells failed: their number, and the rows of files that have no value.

use millstream::Mask;
use millstream::diagnostics::counted;
use millstream::evaluate::{Answer, Data, OutputAnswer};
use millstream::values::{Column, Type};
use millstream_io::{ColumnSpec, TableWriter};

use crate::outcome::{Exit, Stop};
use crate::place::{Target, stop};
use crate::terminal::{eprint, visible};

/// Whether an output has neither a value nor cells that did not fail.
pub(crate) fn is_lost(output: &OutputAnswer) -> bool {
    output.known().is_none()
}

/// How many cells of an output are missing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lack {
    n_missing: usize,
    n_untried: usize,
    n_cells: usize,
}

impl Lack {
    /// Of an output of an answer; an output without any value lacks all cells of the request.
    pub(crate) fn of(output: &OutputAnswer, answer: &Answer) -> Self {
        match (&output.value, &output.partial) {
            (Some(_), _) => Self { n_cells: answer.n_cells(), ..Self::default() },
            (None, Some(partial)) => {
                let n_cells = match &partial.series.data {
                    Data::One(_) => 1,
                    Data::Many(column) => column.len(),
                };
                Self { n_missing: partial.missing.len(), n_untried: partial.n_untried, n_cells }
            }
            (None, None) => {
                let n_cells = answer.n_cells().max(1);
                Self { n_missing: n_cells, n_untried: 0, n_cells }
            }
        }
    }

    /// Adds that of further rows.
    pub(crate) fn add(&mut self, other: Self) {
        self.n_missing = self.n_missing.saturating_add(other.n_missing);
        self.n_untried = self.n_untried.saturating_add(other.n_untried);
        self.n_cells = self.n_cells.saturating_add(other.n_cells);
    }

    /// Whether the output has no value at all.
    pub(crate) fn is_whole(self) -> bool {
        self.n_missing > 0 && self.n_missing == self.n_cells
    }

    /// Reports it, unless nothing is missing.
    pub(crate) fn report(self, name: &str) {
        let name = visible(name);
        if self.n_missing == 0 {
            return;
        }
        if self.is_whole() {
            eprint(&format!("output `{name}` has no value\n"));
            return;
        }
        let untried = match self.n_untried {
            0 => String::new(),
            n => format!(
                "; {n} of them were not tried, because that takes more memory than the limit `bytes` allows"
            ),
        };
        let n_cells = counted(self.n_cells as u64, "value");
        eprint(&format!("output `{name}` lacks {} of {n_cells}{untried}\n", self.n_missing));
    }
}

/// Reports that a file was not written, as no output has a value.
pub(crate) fn report_unwritten(target: &Target) {
    let name = target.name();
    eprint(&format!("{} was not written because no output has a value\n", visible(&name)));
}

/// Refuses missing values in formats that have none: in arrays they are NaN, so only floats can be
/// missing there, and rows of meshes are complete.
pub(crate) fn refuse(target: &Target, column: &ColumnSpec, n_missing: usize) -> Result<(), Stop> {
    let has_nan = |ty: Type| ty.lanes().is_some_and(|(lane, _)| lane.is_float());
    if n_missing == 0 || !(target.is_mesh() || (target.is_array() && !has_nan(column.ty))) {
        return Ok(());
    }
    let (file, name) = (target.name(), visible(&column.name));
    let why = if target.is_mesh() {
        "each row needs all values in this format".to_owned()
    } else {
        format!("arrays of {} cannot leave any out", column.ty)
    };
    let n_missing = counted(n_missing as u64, "value");
    let text = format!("{file} was not written: `{name}` lacks {n_missing}, and {why}");
    let help = "save a table instead: csv, tsv, json, jsonl, parquet or arrow";
    Err(Stop::new(Exit::Failed, text, Some(help.into())))
}

/// Writes rows, of which those in the mask of a column have no value in it.
pub(crate) fn write_rows(
    writer: &mut TableWriter,
    target: &Target,
    block: &[Column],
    missing: &[Mask],
) -> Result<(), Stop> {
    let n_rows = block.first().map_or(0, Column::len);
    // Missing values of arrays are NaN already.
    if target.is_array() || missing.iter().all(Mask::is_empty) {
        return writer.write_rows(block).map_err(|error| stop(&error));
    }
    let is_absent =
        |row: usize| -> Vec<bool> { missing.iter().map(|missing| missing.contains(row)).collect() };
    let mut start = 0;
    while start < n_rows {
        let absent = is_absent(start);
        let mut end = start + 1;
        while end < n_rows && is_absent(end) == absent {
            end += 1;
        }
        let rows: Vec<Column> = block.iter().map(|column| column.slice(start..end)).collect();
        writer.write_rows_without(&rows, &absent).map_err(|error| stop(&error))?;
        start = end;
    }
    Ok(())
}
