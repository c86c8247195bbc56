//! Reading tables and single columns from files and bytes, as a whole or block by block.
//!
//! Formats that are read in blocks take their rows from the file on request; files of other
//! formats, and pipes, are read as a whole and delivered in blocks.

use std::io::Read;
use std::path::Path;

use millstream_base::{Budget, Column, Limits};

use crate::builder::TableBuilder;
use crate::error::{IoError, Spot};
use crate::format::{Blocks, Content, Format, Place, Reader, Source, Whole};
use crate::meter::Meter;
use crate::options::{ColumnChoice, ReadOptions, Wanted};
use crate::table::{ColumnSpec, Table};

/// Reads a table from a file in this format, or the one that the extension names.
///
/// # Errors
/// If the file cannot be read, is malformed, exceeds the limits, or lacks a requested column or
/// cannot convert it to the requested type.
pub fn read(path: &Path, format: Option<Format>, options: &ReadOptions) -> Result<Table, IoError> {
    let meter = Meter::new(&options.limits, &options.budget);
    all(open(path, format, Wanted::of(options), &meter)?, &path.display().to_string(), &meter)
}

/// Reads a table from the bytes of a file, called `file` in messages.
///
/// # Errors
/// See [`read`].
///
/// # Example
///
/// ```
/// use millstream_base::Type;
/// use millstream_io::{Format, ReadOptions, read_bytes};
///
/// let text = b"t,p.x,p.y,p.z\n0.5,1,2,3\n";
/// let options = ReadOptions::default().with_column("p", Type::VEC3);
/// let table = read_bytes("points.csv", text, Format::CSV, &options)?;
/// assert_eq!(table.column("p")?.get(0).to_string(), "[1.0, 2.0, 3.0]");
/// # Ok::<(), millstream_io::IoError>(())
/// ```
pub fn read_bytes(
    file: &str,
    bytes: &[u8],
    format: Format,
    options: &ReadOptions,
) -> Result<Table, IoError> {
    let meter = Meter::new(&options.limits, &options.budget);
    let content = Content { file, path: None, bytes };
    read_content(&content, format, Wanted::of(options), &meter)
}

/// Reads the column for an input from a file.
///
/// # Errors
/// See [`read`]; also if the caller names no column and there are several to choose from.
pub fn read_column(
    path: &Path,
    format: Option<Format>,
    choice: ColumnChoice<'_>,
    limits: &Limits,
    budget: &Budget,
) -> Result<Column, IoError> {
    let meter = Meter::new(limits, budget);
    let blocks = open(path, format, Wanted::One(choice), &meter)?;
    all(blocks, &path.display().to_string(), &meter).map(only)
}

/// Reads the column for an input from the bytes of a file.
///
/// # Errors
/// See [`read_column`].
pub fn read_column_bytes(
    file: &str,
    bytes: &[u8],
    format: Format,
    choice: ColumnChoice<'_>,
    limits: &Limits,
    budget: &Budget,
) -> Result<Column, IoError> {
    let content = Content { file, path: None, bytes };
    let meter = Meter::new(limits, budget);
    read_content(&content, format, Wanted::One(choice), &meter).map(only)
}

/// The bytes of a stream, called `file` in messages, for [`read_bytes`] and [`read_column_bytes`];
/// at most the limit is read.
///
/// # Errors
/// If the stream cannot be read, exceeds the limit, or the budget has ended.
pub fn read_stream(
    file: &str,
    source: impl Read,
    limits: &Limits,
    budget: &Budget,
) -> Result<Vec<u8>, IoError> {
    let meter = Meter::new(limits, budget);
    let bytes = meter.read_all(source, 0, file)?;
    // A source that waits for others may have ended because the budget did.
    meter.look(|| Spot::file(file))?;
    Ok(bytes)
}

fn only(table: Table) -> Column {
    let column = table.into_columns().into_iter().next();
    column.map(|(_, column)| column).expect("one column was asked for, so one was read")
}

/// Opens a file; formats and locations that are not read in blocks are read now.
fn open(
    path: &Path,
    format: Option<Format>,
    wanted: Wanted<'_>,
    meter: &Meter,
) -> Result<Box<dyn Blocks>, IoError> {
    let format = format.map_or_else(|| Format::of_path(path), Ok)?;
    let file = path.display().to_string();
    // A pipe can be read only once.
    let is_pipe = || std::fs::metadata(path).is_ok_and(|at| !at.is_file() && !at.is_dir());
    if let Reader::Blocks(open) = format.0.reader
        && !is_pipe()
    {
        return open(&Source { file, place: Place::Path(path.to_owned()) }, wanted, meter);
    }
    let bytes = meter.read_file(path, &file)?;
    let content = Content { file: &file, path: Some(path), bytes: &bytes };
    Ok(Box::new(Whole::new(read_content(&content, format, wanted, meter)?)))
}

fn read_content(
    content: &Content<'_>,
    format: Format,
    wanted: Wanted<'_>,
    meter: &Meter,
) -> Result<Table, IoError> {
    match format.0.reader {
        Reader::Whole(read) => read(content, wanted, meter),
        Reader::Blocks(open) => {
            let place = Place::Memory(content.bytes);
            let source = Source { file: content.file.to_owned(), place };
            all(open(&source, wanted, meter)?, content.file, meter)
        }
        #[cfg(not(feature = "arrow"))]
        Reader::Absent { feature } => {
            let (file, format) = (content.file.to_owned(), format.name());
            Err(IoError::NotBuilt { file, format, feature })
        }
    }
}

/// All rows as one table.
fn all(mut blocks: Box<dyn Blocks + '_>, file: &str, meter: &Meter) -> Result<Table, IoError> {
    if let Some(n_rows) = blocks.n_rows() {
        let n_rows = usize::try_from(n_rows).unwrap_or(usize::MAX);
        meter.check_rows(n_rows, || Spot::file(file))?;
    }
    match blocks.next(usize::MAX)? {
        Some(table) => Ok(table),
        None => TableBuilder::new(file, &blocks.columns()).finish(meter),
    }
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
    /// Opens a file in this format, or the one that the extension names. Limits apply to each
    /// block. A csv or jsonl file is read once beforehand to infer types that are not requested.
    ///
    /// # Errors
    /// See [`read`](crate::read()), as far as the start of the file shows.
    pub fn open(
        path: &Path,
        format: Option<Format>,
        options: &ReadOptions,
    ) -> Result<Self, IoError> {
        let meter = Meter::new(&options.limits, &options.budget);
        open(path, format, Wanted::of(options), &meter).map(Self::new)
    }

    /// Opens a file for the column of an input.
    ///
    /// # Errors
    /// See [`open`](Self::open); also if the caller names no column and there are several to choose
    /// from.
    pub fn open_column(
        path: &Path,
        format: Option<Format>,
        choice: ColumnChoice<'_>,
        limits: &Limits,
        budget: &Budget,
    ) -> Result<Self, IoError> {
        open(path, format, Wanted::One(choice), &Meter::new(limits, budget)).map(Self::new)
    }

    fn new(blocks: Box<dyn Blocks>) -> Self {
        let columns = blocks.columns();
        Self { blocks, columns }
    }

    /// Names and types of the columns of every block.
    pub fn columns(&self) -> &[ColumnSpec] {
        &self.columns
    }

    /// The number of rows, if the header of the file states it.
    pub fn n_rows(&self) -> Option<u64> {
        self.blocks.n_rows()
    }

    /// The next rows, as many as requested unless the file ends; `None` after the last.
    ///
    /// # Errors
    /// See [`read`](crate::read()).
    pub fn next_block(&mut self, n_rows: usize) -> Result<Option<Table>, IoError> {
        self.blocks.next(n_rows.max(1))
    }
}

impl std::fmt::Debug for TableReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableReader").field("columns", &self.columns).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
