//! Blocks of rows from record batches.

use arrow_array::RecordBatch;

use super::decode::Decoder;
use crate::builder::TableBuilder;
use crate::error::{IoError, Spot};
use crate::format::Blocks;
use crate::meter::Meter;
use crate::table::{ColumnSpec, Table};

/// Rows converted between two checks of limits and time; nulls take no bytes in a file.
const ROWS: usize = 1 << 16;

/// A source of record batches.
pub(in crate::formats) trait Batches: Send {
    /// The next batch.
    fn next(&mut self) -> Result<Option<RecordBatch>, IoError>;
}

/// The rows of a file as columns.
pub(in crate::formats) struct BatchBlocks<B> {
    file: String,
    decoder: Decoder,
    batches: B,
    /// The rest of a batch that did not fit into a block.
    rest: Option<RecordBatch>,
    n_rows: Option<u64>,
    meter: Meter,
}

impl<B: Batches> BatchBlocks<B> {
    /// Rows of these batches; `n_rows` is their number, if the header states it.
    pub(in crate::formats) fn new(
        file: &str,
        decoder: Decoder,
        batches: B,
        n_rows: Option<u64>,
        meter: &Meter,
    ) -> Self {
        let (file, meter) = (file.to_owned(), meter.clone());
        Self { file, decoder, batches, rest: None, n_rows, meter }
    }
}

impl<B: Batches> Blocks for BatchBlocks<B> {
    fn columns(&self) -> Vec<ColumnSpec> {
        self.decoder.columns()
    }

    fn n_rows(&self) -> Option<u64> {
        self.n_rows
    }

    fn next(&mut self, n_rows: usize) -> Result<Option<Table>, IoError> {
        let mut table = TableBuilder::new(&self.file, &self.decoder.columns());
        let mut n_done = 0;
        while n_done < n_rows {
            let batch = match self.rest.take() {
                Some(batch) => batch,
                None => match self.batches.next()? {
                    Some(batch) => batch,
                    None => break,
                },
            };
            let n = batch.num_rows().min(n_rows - n_done).min(ROWS);
            self.decoder.append(&batch.slice(0, n), &mut table.columns)?;
            if n < batch.num_rows() {
                self.rest = Some(batch.slice(n, batch.num_rows() - n));
            }
            n_done += n;
            self.meter.check_rows(n_done, || Spot::file(&self.file))?;
            table.check(&self.meter, || Spot::file(&self.file))?;
        }
        if n_done == 0 { Ok(None) } else { table.finish(&self.meter).map(Some) }
    }
}
