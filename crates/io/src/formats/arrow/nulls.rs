//! Columns of integers and booleans with nulls, which are read as floats.
//!
//! A schema only says whether a column may contain nulls. So, as with the cells of text files, the
//! values of such columns are inspected before the rows are read, unless a type is requested or the
//! file counts its nulls.

use arrow_array::RecordBatch;
use millstream_base::Type;

use super::decode::{Decoder, walk};
use super::rows::Batches;
use crate::error::IoError;

/// Columns whose type is determined by their values.
pub(in crate::formats) struct Unsure {
    columns: Vec<Column>,
}

struct Column {
    /// The index among the columns to make.
    source: usize,
    name: String,
    path: Vec<usize>,
    has_nulls: Option<bool>,
}

impl Decoder {
    /// The columns whose type is determined by their values. Call it before
    /// [`project`](Self::project).
    pub(in crate::formats) fn unsure(&self) -> Unsure {
        let open = self.sources.iter().enumerate().filter(|(_, source)| source.is_open);
        let columns = open.map(|(i, source)| {
            let part = &source.parts[0];
            Column { source: i, name: part.name.clone(), path: part.path.clone(), has_nulls: None }
        });
        Unsure { columns: columns.collect() }
    }

    /// Makes the columns in which nulls were found floats.
    pub(in crate::formats) fn widen(&mut self, unsure: &Unsure) {
        for column in unsure.columns.iter().filter(|column| column.has_nulls == Some(true)) {
            self.sources[column.source].ty = Type::F64;
        }
    }
}

impl Unsure {
    /// Whether there is a column about which nothing is known yet.
    pub(in crate::formats) fn is_open(&self) -> bool {
        self.columns.iter().any(|column| column.has_nulls.is_none())
    }

    /// Uses the file's own statistics for columns outside structs.
    pub(in crate::formats) fn ask(&mut self, has_nulls: impl Fn(&str) -> Option<bool>) {
        for column in self.columns.iter_mut().filter(|column| column.path.len() == 1) {
            column.has_nulls = has_nulls(&column.name);
        }
    }

    /// The columns of the file to inspect, ascending; from now on, batches contain only these.
    pub(in crate::formats) fn project(&mut self) -> Vec<usize> {
        let open = || self.columns.iter().filter(|column| column.has_nulls.is_none());
        let mut roots: Vec<usize> = open().map(|column| column.path[0]).collect();
        roots.sort_unstable();
        roots.dedup();
        for column in self.columns.iter_mut().filter(|column| column.has_nulls.is_none()) {
            let position = roots.binary_search(&column.path[0]);
            column.path[0] = position.expect("all first positions were collected");
        }
        roots
    }

    /// Inspects batches until everything is known, or `go_on` fails.
    pub(in crate::formats) fn look(
        &mut self,
        batches: &mut dyn Batches,
        go_on: &dyn Fn() -> Result<(), IoError>,
    ) -> Result<(), IoError> {
        while self.is_open() {
            go_on()?;
            let Some(batch) = batches.next()? else { return Ok(()) };
            self.look_at(&batch);
        }
        Ok(())
    }

    fn look_at(&mut self, batch: &RecordBatch) {
        for column in self.columns.iter_mut().filter(|column| column.has_nulls.is_none()) {
            if walk(batch, &column.path).1.is_some() {
                column.has_nulls = Some(true);
            }
        }
    }
}
