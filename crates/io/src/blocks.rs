//! Reading tables block by block, so that a file need not fit into memory.
//!
//! Rows of csv, tsv, jsonl, npy, parquet and arrow files are read as they are asked for. Files of the other
//! formats, and npy arrays in Fortran order, are read at once and handed out in blocks.

use std::fs::File;
use std::path::Path;

use millstream_base::Limits;

use crate::builder::Budget;
use crate::encoder::ColumnSpec;
use crate::error::IoError;
use crate::format::Format;
use crate::options::{ColumnChoice, ReadOptions, Wanted};
use crate::read::dispatch;
use crate::table::Table;
use crate::until::Until;
use crate::{csv, json, npy};

/// What a format does to give rows block by block.
pub(crate) trait Blocks: Send {
    /// The columns of each block.
    fn columns(&self) -> Vec<ColumnSpec>;

    /// Rows of the file, if it says so.
    fn n_rows(&self) -> Option<u64>;

    /// The next rows, as many as asked for unless the file ends; `None` behind the last.
    fn next(&mut self, n_rows: usize) -> Result<Option<Table>, IoError>;
}

/// Reads a table block by block.
///
/// # Example
///
/// ```no_run
/// use millstream_io::{ReadOptions, TableReader};
///
/// let mut reader = TableReader::open("points.csv".as_ref(), None, &ReadOptions::default())?;
/// while let Some(block) = reader.next_block(65_536)? {
///     println!("{} rows", block.n_rows());
/// }
/// # Ok::<(), millstream_io::IoError>(())
/// ```
pub struct TableReader {
    blocks: Box<dyn Blocks>,
    columns: Vec<ColumnSpec>,
}

impl TableReader {
    /// Opens a file in this format, or the one that the extension names. Limits count for each
    /// block. Types that are not asked for are found out, which takes a walk over a csv or jsonl file.
    ///
    /// # Errors
    /// As [`read`](crate::read()), as far as the start of the file tells.
    pub fn open(
        path: &Path,
        format: Option<Format>,
        options: &ReadOptions,
    ) -> Result<Self, IoError> {
        Self::start(
            path,
            format,
            Wanted::of(options),
            &Budget::new(&options.limits, &options.until),
        )
    }

    /// Opens a file for the one column that an input asks for.
    ///
    /// # Errors
    /// As [`open`](Self::open), and if the caller names no column and there are several to choose
    /// from.
    pub fn open_column(
        path: &Path,
        format: Option<Format>,
        choice: ColumnChoice<'_>,
        limits: &Limits,
        until: &Until,
    ) -> Result<Self, IoError> {
        Self::start(path, format, Wanted::One(choice), &Budget::new(limits, until))
    }

    fn start(
        path: &Path,
        format: Option<Format>,
        wanted: Wanted<'_>,
        budget: &Budget,
    ) -> Result<Self, IoError> {
        let format = format.map_or_else(|| Format::of_path(path), Ok)?;
        let name = path.display().to_string();
        let open =
            || File::open(path).map_err(|source| IoError::Read { file: name.clone(), source });
        let whole = || {
            let bytes = budget.read_file(path, &name)?;
            let table = dispatch(&name, Some(path), &bytes, format, wanted, budget)?;
            Ok::<Box<dyn Blocks>, IoError>(Box::new(Whole { table, at: 0 }))
        };
        let blocks: Box<dyn Blocks> = match format {
            Format::Csv | Format::Tsv => {
                Box::new(csv::CsvBlocks::open(&name, format, &open, wanted, budget)?)
            }
            Format::Npy => match npy::NpyBlocks::open(&name, open()?, wanted, budget)? {
                Some(blocks) => Box::new(blocks),
                None => whole()?,
            },
            #[cfg(feature = "arrow")]
            Format::Parquet => {
                let source = crate::parquet::Source::File(open()?);
                Box::new(crate::arrow::ArrowBlocks::parquet(&name, source, wanted, budget)?)
            }
            #[cfg(feature = "arrow")]
            Format::Arrow => {
                Box::new(crate::arrow::ArrowBlocks::arrow_file(&name, open()?, wanted, budget)?)
            }
            #[cfg(not(feature = "arrow"))]
            Format::Parquet | Format::Arrow => {
                return Err(IoError::NotBuilt { file: name, format });
            }
            Format::JsonLines => match json::LineBlocks::open(&name, &open, wanted, budget)? {
                Some(blocks) => Box::new(blocks),
                None => whole()?,
            },
            Format::Json | Format::Obj | Format::Ply | Format::Gltf => whole()?,
        };
        let columns = blocks.columns();
        Ok(Self { blocks, columns })
    }

    /// Names and types of the columns of every block.
    pub fn columns(&self) -> &[ColumnSpec] {
        &self.columns
    }

    /// Rows of the whole file, if it says so before it is read.
    pub fn n_rows(&self) -> Option<u64> {
        self.blocks.n_rows()
    }

    /// The next rows, as many as asked for unless the file ends; `None` behind the last.
    ///
    /// # Errors
    /// As [`read`](crate::read()).
    pub fn next_block(&mut self, n_rows: usize) -> Result<Option<Table>, IoError> {
        self.blocks.next(n_rows.max(1))
    }
}

impl std::fmt::Debug for TableReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableReader").field("columns", &self.columns).finish_non_exhaustive()
    }
}

/// A table that was read at once.
struct Whole {
    table: Table,
    at: usize,
}

impl Blocks for Whole {
    fn columns(&self) -> Vec<ColumnSpec> {
        self.table.iter().map(|(name, column)| ColumnSpec::new(name, column.ty())).collect()
    }

    fn n_rows(&self) -> Option<u64> {
        Some(self.table.n_rows() as u64)
    }

    fn next(&mut self, n_rows: usize) -> Result<Option<Table>, IoError> {
        let end = self.at.saturating_add(n_rows).min(self.table.n_rows());
        if end == self.at {
            return Ok(None);
        }
        let mut block = Table::new("");
        for (name, column) in self.table.iter() {
            block.insert(name, column.slice(self.at..end))?;
        }
        self.at = end;
        Ok(Some(block))
    }
}

#[cfg(test)]
mod tests;
