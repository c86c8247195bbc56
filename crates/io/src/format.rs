//! File formats: their names, and the functions that read and write them.
//!
//! A format is a [`Definition`] in its own file or folder under `formats/` and a row of the table
//! in `formats.rs`. Everything that differs between formats is in the definition.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Seek, Write};
use std::path::{Path, PathBuf};

use millstream_base::{Column, Type};

use crate::error::{IoError, Spot};
use crate::meter::Meter;
use crate::options::{Wanted, WriteOptions};
use crate::table::{ColumnSpec, Table, joined};

/// A file format for columns.
#[derive(Clone, Copy)]
pub struct Format(pub(crate) &'static Definition);

/// The names and functions of a format.
pub(crate) struct Definition {
    /// The name in messages and locations, which is also the usual extension.
    pub(crate) name: &'static str,
    /// Other extensions.
    pub(crate) aliases: &'static [&'static str],
    /// The extensions of files that are framed as streams.
    pub(crate) streams: &'static [&'static str],
    /// The form of valid files, for people whose file is not valid.
    pub(crate) form: &'static str,
    pub(crate) reader: Reader,
    pub(crate) writer: Writer,
}

/// How a format is read.
pub(crate) enum Reader {
    /// All rows at once.
    Whole(ReadWhole),
    /// Rows on request, so that a file may be larger than memory.
    Blocks(OpenBlocks),
    /// Not in this build.
    #[cfg(not(feature = "arrow"))]
    Absent {
        /// The missing feature of the build.
        feature: &'static str,
    },
}

type ReadWhole = fn(&Content<'_>, Wanted<'_>, &Meter) -> Result<Table, IoError>;
type OpenBlocks =
    for<'a> fn(&Source<'a>, Wanted<'_>, &Meter) -> Result<Box<dyn Blocks + 'a>, IoError>;

/// How a format is written.
pub(crate) enum Writer {
    /// To files and streams.
    Stream(Start),
    /// To files only: the header is rewritten once the number of rows is known.
    File(Start),
    /// Not in this build.
    #[cfg(not(feature = "arrow"))]
    Absent {
        /// The missing feature of the build.
        feature: &'static str,
    },
}

/// Writes the header of a file with these columns, or refuses columns that the format cannot hold.
pub(crate) type Start =
    fn(WriteOptions, &[ColumnSpec], &mut dyn Write) -> Result<Box<dyn Encoder>, Refusal>;

/// The form of formats that people do not write by hand.
pub(crate) const BINARY_FORM: &str = "the file may be cut off or of another format than its \
                                      extension says; write it again";

impl Format {
    /// The name, which is also the usual extension.
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// The extensions, the usual one first.
    pub fn extensions(self) -> impl Iterator<Item = &'static str> + Clone {
        std::iter::once(self.0.name).chain(self.0.aliases.iter().copied())
    }

    /// Whether rows are read on request, so that a file may be larger than memory.
    pub const fn is_read_in_blocks(self) -> bool {
        matches!(self.0.reader, Reader::Blocks(_))
    }

    /// Whether this build can read it; parquet and arrow need the feature `arrow`.
    pub const fn is_built(self) -> bool {
        matches!(self.0.reader, Reader::Whole(_) | Reader::Blocks(_))
    }

    /// Whether files with this name are framed as streams, whatever the options.
    pub(crate) fn is_stream(self, path: &Path) -> bool {
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|x| self.0.streams.iter().any(|name| name.eq_ignore_ascii_case(x)))
    }

    /// Whether it is written to streams as well as to files.
    pub const fn is_streamed(self) -> bool {
        matches!(self.0.writer, Writer::Stream(_))
    }
}

impl Definition {
    /// The error for a file that violates the format.
    pub(crate) fn syntax(&self, spot: Spot, reason: impl Into<String>) -> IoError {
        IoError::Syntax { spot, format: self.name, reason: reason.into(), form: self.form }
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for Format {}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

/// The bytes of a file that is read as a whole.
pub(crate) struct Content<'a> {
    /// The name in messages.
    pub(crate) file: &'a str,
    /// The path of the file, if it has one, for finding files next to it.
    pub(crate) path: Option<&'a Path>,
    pub(crate) bytes: &'a [u8],
}

/// A file that is read piece by piece, possibly more than once.
pub(crate) struct Source<'a> {
    /// The name in messages.
    pub(crate) file: String,
    pub(crate) place: Place<'a>,
}

/// The location of a file's bytes.
#[derive(Clone)]
pub(crate) enum Place<'a> {
    Path(PathBuf),
    Memory(&'a [u8]),
}

/// An open file.
pub(crate) trait Stream: BufRead + Seek + Send {}

impl<T: BufRead + Seek + Send> Stream for T {}

impl<'a> Source<'a> {
    /// A stream from the first byte.
    pub(crate) fn open(&self) -> Result<Box<dyn Stream + 'a>, IoError> {
        match &self.place {
            Place::Path(path) => {
                let file = File::open(path).map_err(IoError::reading(&self.file))?;
                Ok(Box::new(BufReader::with_capacity(1 << 16, file)))
            }
            Place::Memory(bytes) => Ok(Box::new(Cursor::new(*bytes))),
        }
    }
}

/// The rows of a file, block by block.
pub(crate) trait Blocks: Send {
    /// The columns of each block.
    fn columns(&self) -> Vec<ColumnSpec>;

    /// The number of rows, if the header of the file states it.
    fn n_rows(&self) -> Option<u64> {
        None
    }

    /// The next rows, as many as requested unless the file ends; `None` after the last.
    fn next(&mut self, n_rows: usize) -> Result<Option<Table>, IoError>;
}

/// A table that was read as a whole.
pub(crate) struct Whole {
    table: Table,
    at: usize,
}

impl Whole {
    pub(crate) fn new(table: Table) -> Self {
        Self { table, at: 0 }
    }
}

impl Blocks for Whole {
    fn columns(&self) -> Vec<ColumnSpec> {
        self.table.specs()
    }

    fn n_rows(&self) -> Option<u64> {
        Some(self.table.n_rows() as u64)
    }

    fn next(&mut self, n_rows: usize) -> Result<Option<Table>, IoError> {
        let end = self.at.saturating_add(n_rows).min(self.table.n_rows());
        if end == self.at {
            return Ok(None);
        }
        if end - self.at == self.table.n_rows() {
            self.at = end;
            return Ok(Some(self.table.clone()));
        }
        let mut block = Table::new("");
        for (name, column) in self.table.iter() {
            block.insert(name, column.slice(self.at..end))?;
        }
        self.at = end;
        Ok(Some(block))
    }
}

/// Turns blocks of columns into the bytes of a file after its header. An encoder defines
/// [`rows_without`](Self::rows_without) if its format can leave out values, otherwise
/// [`rows`](Self::rows).
pub(crate) trait Encoder: Send {
    /// Writes a block of rows; the columns have the types of the file and equal lengths.
    fn rows(&mut self, block: &[Column], out: &mut dyn Write) -> Result<(), Refusal> {
        self.rows_without(block, &[], out)
    }

    /// Writes a block of rows as [`rows`](Self::rows) does, of which these columns have no values.
    fn rows_without(
        &mut self,
        _block: &[Column],
        _is_absent: &[bool],
        _out: &mut dyn Write,
    ) -> Result<(), Refusal> {
        Err(Refusal::Table { hint: "each row needs all values in this format" })
    }

    /// Writes the end of the file.
    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    /// The header of a file with this many rows, if it states their number. Its length does not
    /// depend on the number.
    fn header(&self, _n_rows: u64) -> Option<Vec<u8>> {
        None
    }
}

/// Why columns are not written; the writer adds the file and the format.
pub(crate) enum Refusal {
    /// The operating system refused.
    Io(io::Error),
    /// The format cannot hold this column.
    Column { name: String, ty: Type, hint: String },
    /// The format cannot hold these columns together.
    Table { hint: &'static str },
    /// Two columns would have the same name in the file.
    Twice { name: String },
}

/// The hint for types without a text form.
pub(crate) const OPAQUE: &str = "only types with a text form can be written";

impl Refusal {
    pub(crate) fn column(column: &ColumnSpec, hint: &str) -> Self {
        Self::Column { name: column.name.clone(), ty: column.ty, hint: hint.to_owned() }
    }

    /// The error for this file.
    pub(crate) fn of(self, file: &str, format: Format, columns: &[ColumnSpec]) -> IoError {
        let (file, format) = (file.to_owned(), format.name());
        match self {
            Self::Io(source) => IoError::Write { file, source },
            Self::Column { name: column, ty, hint } => {
                IoError::CannotWrite { file, format, column, ty, hint }
            }
            Self::Table { hint } => {
                let columns = match columns {
                    [] => "none".to_owned(),
                    columns => joined(columns.iter().map(|column| column.name.as_str())),
                };
                IoError::CannotWriteTable { file, format, columns, hint: hint.to_owned() }
            }
            Self::Twice { name } => {
                IoError::DuplicateColumn { spot: Spot::file(&file).column(&name) }
            }
        }
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
