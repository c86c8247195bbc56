//! Writing tables block by block, so that a result need not fit into memory.
//!
//! Use [`TableWriter::create`], then [`TableWriter::write_rows`] for each block, then
//! [`TableWriter::finish`]. Until then, the bytes go to a temporary file next to the target;
//! finishing renames it, and keeps the permissions of a replaced file. A writer that is dropped
//! earlier leaves nothing behind, and leftovers of a killed process are removed by the next save of
//! the same file. Devices and pipes, which cannot be replaced, are written to as streams.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Cursor, Seek, Write};
use std::path::Path;
use std::sync::Arc;

use millstream_base::Column;
use millstream_base::diagnostics::counted;

use crate::error::{IoError, Spot};
use crate::faces::Faces;
use crate::format::{Encoder, Format, Refusal, Start, Writer};
use crate::options::{Encoding, Framing, WriteOptions};
use crate::table::{ColumnSpec, Table, joined};
use crate::temporary::TemporaryFile;

/// Writes a table block by block.
pub struct TableWriter {
    file: String,
    format: Format,
    columns: Vec<ColumnSpec>,
    encoder: Box<dyn Encoder>,
    sink: Sink,
    n_rows: u64,
    faces: Option<Arc<Faces>>,
}

enum Sink {
    File(TemporaryFile),
    Memory(Cursor<Vec<u8>>),
    Stream(Box<dyn Write + Send>),
}

impl Sink {
    fn out(&mut self) -> &mut dyn Write {
        match self {
            Self::File(file) => &mut file.out,
            Self::Memory(bytes) => bytes,
            Self::Stream(out) => out,
        }
    }
}

impl TableWriter {
    /// Checks that a file in this format can hold these columns, before there are any rows. `name` is
    /// the file in messages.
    ///
    /// # Errors
    /// If two columns have the same name, or the format cannot hold the columns.
    pub fn check(
        name: &str,
        format: Format,
        options: WriteOptions,
        columns: &[ColumnSpec],
    ) -> Result<(), IoError> {
        refuse_duplicates(name, columns)?;
        let (start, _) = start_of(name, format)?;
        let started = start(options, columns, &mut io::sink());
        started.map(drop).map_err(|refusal| refusal.of(name, format, columns))
    }

    /// Starts a file in this format, or the one that the extension names.
    ///
    /// # Errors
    /// If the extension names no format, the format cannot hold the columns, or the temporary file
    /// cannot be created.
    pub fn create(
        path: &Path,
        format: Option<Format>,
        options: WriteOptions,
        columns: Vec<ColumnSpec>,
    ) -> Result<Self, IoError> {
        let format = format.map_or_else(|| Format::of_path(path), Ok)?;
        let file = path.display().to_string();
        let framing = if format.is_stream(path) { Framing::Stream } else { options.framing };
        let is_named =
            |name: &str| path.extension().is_some_and(|it| it.eq_ignore_ascii_case(name));
        // Of the two kinds of glTF, `.glb` is binary.
        let is_text = format == Format::GLTF && is_named("gltf");
        let encoding = if is_text { Encoding::Text } else { options.encoding };
        let options = WriteOptions { encoding, framing, ..options };
        // The columns are checked before anything is created on disk.
        Self::check(&file, format, options.clone(), &columns)?;
        let failed = |source| IoError::Write { file: file.clone(), source };
        if let Some(device) = device(path).map_err(failed)? {
            let out = Box::new(BufWriter::new(device));
            return Self::to_stream(&file, out, format, options, columns);
        }
        let temporary = TemporaryFile::beside(path).map_err(failed)?;
        Self::begin(file, format, options, columns, Sink::File(temporary))
    }

    /// Starts writing into memory; [`finish`](Self::finish) returns the bytes.
    ///
    /// # Errors
    /// If the format cannot hold the columns.
    pub fn in_memory(
        format: Format,
        options: WriteOptions,
        columns: Vec<ColumnSpec>,
    ) -> Result<Self, IoError> {
        let file = format!("{format} in memory");
        Self::begin(file, format, options, columns, Sink::Memory(Cursor::default()))
    }

    /// Starts writing to a stream, such as standard output, called `name` in messages.
    ///
    /// # Errors
    /// If the format cannot hold the columns, or requires a file because its header states the
    /// number of rows.
    pub fn to_stream(
        name: &str,
        out: Box<dyn Write + Send>,
        format: Format,
        options: WriteOptions,
        columns: Vec<ColumnSpec>,
    ) -> Result<Self, IoError> {
        let (_, is_streamed) = start_of(name, format)?;
        if !is_streamed {
            let others = Format::ALL.iter().filter(|format| format.is_streamed());
            let others = others.map(|format| format.name()).collect::<Vec<_>>().join(", ");
            return Err(IoError::CannotWriteTable {
                file: name.to_owned(),
                format: format.name(),
                columns: joined(columns.iter().map(|column| column.name.as_str())),
                hint: format!("write {format} to a file; {others} can be written to streams"),
            });
        }
        Self::begin(name.to_owned(), format, options, columns, Sink::Stream(out))
    }

    fn begin(
        file: String,
        format: Format,
        options: WriteOptions,
        columns: Vec<ColumnSpec>,
        mut sink: Sink,
    ) -> Result<Self, IoError> {
        refuse_duplicates(&file, &columns)?;
        let faces = options.faces.clone();
        if faces.is_some() && !format.is_mesh() {
            let hint = "faces are written to obj, ply and glTF".into();
            let columns = joined(columns.iter().map(|column| column.name.as_str()));
            return Err(IoError::CannotWriteTable { file, format: format.name(), columns, hint });
        }
        let (start, _) = start_of(&file, format)?;
        let encoder = start(options, &columns, sink.out())
            .map_err(|refusal| refusal.of(&file, format, &columns))?;
        Ok(Self { file, format, columns, encoder, sink, n_rows: 0, faces })
    }

    /// Appends rows: one column for each announced column, in order, all of the same length. All
    /// NaNs are written with the same bits.
    ///
    /// # Errors
    /// If the columns differ from the announced ones, or writing fails.
    pub fn write_rows(&mut self, block: &[Column]) -> Result<(), IoError> {
        self.check_block(block)?;
        let block = &*of_one_nan(block);
        let written = self.encoder.rows(block, self.sink.out());
        self.wrote(block, written)
    }

    /// Appends rows as [`write_rows`](Self::write_rows) does, which have no values in the columns
    /// where `is_absent`: empty cells, or nulls. Parquet and arrow need
    /// [`has_gaps`](WriteOptions::has_gaps).
    ///
    /// # Errors
    /// As [`write_rows`](Self::write_rows), and if the format has no such rows.
    pub fn write_rows_without(
        &mut self,
        block: &[Column],
        is_absent: &[bool],
    ) -> Result<(), IoError> {
        self.check_block(block)?;
        if is_absent.len() != block.len() {
            let reason = format!("{} marks for {} columns", is_absent.len(), block.len());
            return Err(IoError::WrongBlock { file: self.file.clone(), reason });
        }
        if !is_absent.contains(&true) {
            return self.write_rows(block);
        }
        let block = &*of_one_nan(block);
        let written = self.encoder.rows_without(block, is_absent, self.sink.out());
        self.wrote(block, written)
    }

    /// Counts the rows of a block that was written.
    fn wrote(&mut self, block: &[Column], written: Result<(), Refusal>) -> Result<(), IoError> {
        written.map_err(|refusal| refusal.of(&self.file, self.format, &self.columns))?;
        self.n_rows += block.first().map_or(0, Column::len) as u64;
        Ok(())
    }

    /// Refuses columns that differ from the announced ones, or from each other in length.
    fn check_block(&self, block: &[Column]) -> Result<(), IoError> {
        let wrong = |reason| IoError::WrongBlock { file: self.file.clone(), reason };
        if block.len() != self.columns.len() {
            let reason = format!("{} columns instead of {}", block.len(), self.columns.len());
            return Err(wrong(reason));
        }
        for (spec, column) in self.columns.iter().zip(block) {
            if spec.ty != column.ty() {
                let reason = format!("`{}` is {} instead of {}", spec.name, column.ty(), spec.ty);
                return Err(wrong(reason));
            }
            if column.len() != block[0].len() {
                return Err(wrong(format!(
                    "`{}` has {}, but `{}` has {}",
                    self.columns[0].name,
                    counted(block[0].len() as u64, "row"),
                    spec.name,
                    column.len()
                )));
            }
        }
        Ok(())
    }

    /// Ends the file and gives it its name; returns the bytes if they were written into memory.
    ///
    /// # Errors
    /// If a face has a corner that is not a row, or writing or renaming fails; the target is then
    /// unchanged.
    pub fn finish(mut self) -> Result<Vec<u8>, IoError> {
        if let Some(Err(reason)) = self.faces.as_ref().map(|faces| faces.check(self.n_rows)) {
            return Err(IoError::WrongFaces { file: self.file, reason });
        }
        let file = std::mem::take(&mut self.file);
        self.end().map_err(|source| IoError::Write { file, source })
    }

    fn end(mut self) -> io::Result<Vec<u8>> {
        self.encoder.end(self.sink.out())?;
        let header = self.encoder.header(self.n_rows);
        match self.sink {
            Sink::File(mut file) => {
                if let Some(header) = header {
                    file.out.rewind()?;
                    file.out.write_all(&header)?;
                }
                file.keep()?;
                Ok(Vec::new())
            }
            Sink::Memory(mut bytes) => {
                if let Some(header) = header {
                    bytes.rewind()?;
                    bytes.write_all(&header)?;
                }
                Ok(bytes.into_inner())
            }
            Sink::Stream(mut out) => {
                out.flush()?;
                Ok(Vec::new())
            }
        }
    }
}

impl std::fmt::Debug for TableWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableWriter")
            .field("file", &self.file)
            .field("columns", &self.columns)
            .field("n_rows", &self.n_rows)
            .finish_non_exhaustive()
    }
}

fn refuse_duplicates(file: &str, columns: &[ColumnSpec]) -> Result<(), IoError> {
    let is_twice = |(i, column): &(usize, &ColumnSpec)| {
        columns[..*i].iter().any(|other| other.name == column.name)
    };
    match columns.iter().enumerate().find(is_twice) {
        Some((_, column)) => {
            Err(IoError::DuplicateColumn { spot: Spot::file(file).column(&column.name) })
        }
        None => Ok(()),
    }
}

/// The function that starts a file, and whether it may be a stream.
#[cfg_attr(
    feature = "arrow",
    expect(unused_variables, clippy::unnecessary_wraps, reason = "this build has all formats")
)]
fn start_of(file: &str, format: Format) -> Result<(Start, bool), IoError> {
    match format.0.writer {
        Writer::Stream(start) => Ok((start, true)),
        Writer::File(start) => Ok((start, false)),
        #[cfg(not(feature = "arrow"))]
        Writer::Absent { feature } => {
            Err(IoError::NotBuilt { file: file.to_owned(), format: format.name(), feature })
        }
    }
}

/// Writes a whole table to a file.
///
/// # Errors
/// See [`TableWriter`].
pub fn write(
    path: &Path,
    format: Option<Format>,
    options: WriteOptions,
    table: &Table,
) -> Result<(), IoError> {
    let mut writer = TableWriter::create(path, format, options, table.specs())?;
    writer.write_rows(&blocks_of(table))?;
    writer.finish().map(|_| ())
}

/// Writes a whole table into memory.
///
/// # Errors
/// If the format cannot hold the columns.
pub fn write_bytes(
    format: Format,
    options: WriteOptions,
    table: &Table,
) -> Result<Vec<u8>, IoError> {
    let mut writer = TableWriter::in_memory(format, options, table.specs())?;
    writer.write_rows(&blocks_of(table))?;
    writer.finish()
}

/// Writes bytes to a file, which gets its name when complete, as with [`TableWriter`].
///
/// # Errors
/// If writing or renaming fails; the file is then unchanged, unless it is a device or a pipe.
pub fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(mut device) = device(path)? {
        return device.write_all(bytes);
    }
    let mut file = TemporaryFile::beside(path)?;
    file.out.write_all(bytes)?;
    file.keep()
}

/// The device or pipe at a path, opened for writing; `None` for anything else.
pub(crate) fn device(path: &Path) -> io::Result<Option<File>> {
    if std::fs::metadata(path).is_ok_and(|target| !target.is_file() && !target.is_dir()) {
        OpenOptions::new().write(true).open(path).map(Some)
    } else {
        Ok(None)
    }
}

/// The columns with the same bits for every NaN. Which NaN a result is differs between evaluators,
/// and an evaluator that reuses results keeps the one it has.
fn of_one_nan(block: &[Column]) -> Cow<'_, [Column]> {
    let replaced: Vec<Option<Column>> = block.iter().map(Column::with_one_nan).collect();
    if replaced.iter().all(Option::is_none) {
        return Cow::Borrowed(block);
    }
    let columns = replaced.into_iter().zip(block);
    Cow::Owned(columns.map(|(new, old)| new.unwrap_or_else(|| old.clone())).collect())
}

fn blocks_of(table: &Table) -> Vec<Column> {
    table.iter().map(|(_, column)| column.clone()).collect()
}

#[cfg(test)]
mod tests;
