//! What each format does to write columns block by block.

use std::io::Write;

use millstream_base::{Column, Type};

use crate::error::IoError;
use crate::format::Format;

/// Name and type of a column that will be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSpec {
    /// The name.
    pub name: String,
    /// The type.
    pub ty: Type,
}

impl ColumnSpec {
    /// A column of this name and type.
    pub fn new(name: &str, ty: Type) -> Self {
        Self { name: name.to_owned(), ty }
    }
}

/// Bytes to write over the start of a file when the number of rows is known.
#[derive(Debug)]
pub(crate) struct Patch {
    pub(crate) offset: u64,
    pub(crate) bytes: Vec<u8>,
}

/// Turns blocks of columns into the bytes of a file.
pub(crate) trait Encoder: Send {
    /// Writes what stands before the rows; refuses columns that the format cannot hold.
    fn begin(
        &mut self,
        file: &str,
        columns: &[ColumnSpec],
        out: &mut dyn Write,
    ) -> Result<(), IoError>;

    /// Writes a block of rows; the columns are of the announced types and of one length.
    fn rows(&mut self, file: &str, block: &[Column], out: &mut dyn Write) -> Result<(), IoError>;

    /// Writes what stands after the rows.
    fn end(&mut self, _out: &mut dyn Write) -> std::io::Result<()> {
        Ok(())
    }

    /// Whether the start must be patched when the number of rows is known.
    fn patches(&self) -> bool {
        false
    }

    /// What to write over the start.
    fn patch(&self, _n_rows: u64) -> Option<Patch> {
        None
    }
}

/// The error for a column that a format has no form for.
pub(crate) fn cannot_write(file: &str, format: Format, column: &ColumnSpec, hint: &str) -> IoError {
    IoError::CannotWrite {
        file: file.to_owned(),
        format,
        column: column.name.clone(),
        ty: column.ty,
        hint: hint.to_owned(),
    }
}
