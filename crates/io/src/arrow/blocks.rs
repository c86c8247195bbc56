//! Blocks of rows out of record batches.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};

use arrow_array::RecordBatch;

use super::{Batches, Decoder, Messages};
use crate::blocks::Blocks;
use crate::builder::Budget;
use crate::encoder::ColumnSpec;
use crate::error::{IoError, Spot};
use crate::options::Wanted;
use crate::parquet::{Opened, Source};
use crate::table::Table;

/// Rows that become columns between two looks at limits and time; nulls take no bytes in a file.
const ROWS: usize = 1 << 16;

/// The rows of a file as columns.
pub(crate) struct ArrowBlocks<'a> {
    file: String,
    decoder: Decoder,
    batches: Box<dyn Batches + 'a>,
    /// The part of a batch that did not fit into a block.
    rest: Option<RecordBatch>,
    n_rows: Option<u64>,
    budget: Budget,
}

impl<'a> ArrowBlocks<'a> {
    /// Opens a Parquet file.
    pub(crate) fn parquet(
        file: &str,
        source: Source,
        wanted: Wanted<'_>,
        budget: &Budget,
    ) -> Result<Self, IoError> {
        let again = source.again(file)?;
        let opened = Opened::open(file, source)?;
        let mut decoder = Decoder::new(file, opened.schema(), wanted, budget)?;
        let mut unsure = decoder.unsure();
        unsure.ask(|name| opened.has_nulls(name));
        if unsure.is_open() {
            let mut batches = Opened::open(file, again)?.read(&unsure.project(), budget)?;
            unsure.look(&mut batches, &|| budget.go_on(|| Spot::file(file)))?;
        }
        decoder.widen(&unsure);
        let n_rows = Some(opened.n_rows());
        let batches = Box::new(opened.read(&decoder.project(), budget)?);
        Ok(Self {
            file: file.to_owned(),
            decoder,
            batches,
            rest: None,
            n_rows,
            budget: budget.clone(),
        })
    }

    /// Opens an Arrow file or stream on disk.
    pub(crate) fn arrow_file(
        file: &str,
        mut source: File,
        wanted: Wanted<'_>,
        budget: &Budget,
    ) -> Result<Self, IoError> {
        let failed = |source| IoError::Read { file: file.to_owned(), source };
        let length = source.seek(SeekFrom::End(0)).map_err(failed)?;
        let n_end = length.min(10);
        source.seek(SeekFrom::Start(length - n_end)).map_err(failed)?;
        let mut end = vec![0; n_end as usize];
        source.read_exact(&mut end).map_err(failed)?;
        let open = || {
            let mut again = source.try_clone().map_err(failed)?;
            again.rewind().map_err(failed)?;
            Ok(BufReader::with_capacity(1 << 16, again))
        };
        Self::arrow(file, open, length, &end, wanted, budget)
    }

    /// Opens the bytes of an Arrow file or stream.
    pub(crate) fn arrow_bytes(
        file: &str,
        bytes: &'a [u8],
        wanted: Wanted<'_>,
        budget: &Budget,
    ) -> Result<Self, IoError> {
        let end = &bytes[bytes.len().saturating_sub(10)..];
        Self::arrow(file, || Ok(bytes), bytes.len() as u64, end, wanted, budget)
    }

    /// Reads from what `open` gives; if nulls decide on types, twice.
    fn arrow<R: Read + Send + 'a>(
        file: &str,
        open: impl Fn() -> Result<R, IoError>,
        length: u64,
        end: &[u8],
        wanted: Wanted<'_>,
        budget: &Budget,
    ) -> Result<Self, IoError> {
        let (mut messages, schema) = Messages::open(file, open()?, length, end, budget)?;
        let mut decoder = Decoder::new(file, &schema, wanted, budget)?;
        let mut unsure = decoder.unsure();
        if unsure.is_open() {
            unsure.look(&mut messages, &|| budget.go_on(|| Spot::file(file)))?;
            decoder.widen(&unsure);
            messages = Messages::open(file, open()?, length, end, budget)?.0;
        }
        let batches = Box::new(messages);
        Ok(Self {
            file: file.to_owned(),
            decoder,
            batches,
            rest: None,
            n_rows: None,
            budget: budget.clone(),
        })
    }

    /// Reads all rows.
    pub(crate) fn read_all(mut self) -> Result<Table, IoError> {
        if let Some(n_rows) = self.n_rows {
            let n_rows = usize::try_from(n_rows).unwrap_or(usize::MAX);
            self.budget.check_rows(n_rows, || Spot::file(&self.file))?;
        }
        if let Some(table) = self.next(usize::MAX)? {
            return Ok(table);
        }
        let builders = self.decoder.builders();
        self.table(builders)
    }

    fn table(&self, builders: Vec<crate::builder::Builder>) -> Result<Table, IoError> {
        let mut table = Table::new(&self.file);
        for ((name, _), builder) in self.decoder.columns().zip(builders) {
            table.insert(name, builder.finish())?;
        }
        Ok(table)
    }
}

impl Blocks for ArrowBlocks<'_> {
    fn columns(&self) -> Vec<ColumnSpec> {
        self.decoder.columns().map(|(name, ty)| ColumnSpec::new(name, ty)).collect()
    }

    fn n_rows(&self) -> Option<u64> {
        self.n_rows
    }

    fn next(&mut self, n_rows: usize) -> Result<Option<Table>, IoError> {
        let mut builders = self.decoder.builders();
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
            self.decoder.append(&batch.slice(0, n), &mut builders)?;
            if n < batch.num_rows() {
                self.rest = Some(batch.slice(n, batch.num_rows() - n));
            }
            n_done += n;
            self.budget.check_rows(n_done, || Spot::file(&self.file))?;
            self.budget.check(&builders, || Spot::file(&self.file))?;
        }
        if n_done == 0 { Ok(None) } else { self.table(builders).map(Some) }
    }
}
