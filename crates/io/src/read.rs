//! Reading tables and single columns from files and bytes.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use millstream_base::{Column, Limits};

use crate::builder::Budget;
use crate::error::{IoError, Spot};
use crate::format::Format;
use crate::options::{ColumnChoice, ReadOptions, Wanted};
use crate::table::Table;
use crate::{csv, json, npy, obj, ply};

/// Reads a table from a file in this format, or the one that the extension names.
///
/// # Errors
/// If the file cannot be read, does not follow the format, is beyond the limits, or lacks a column
/// that was asked for or cannot give it the type.
pub fn read(path: &Path, format: Option<Format>, options: &ReadOptions) -> Result<Table, IoError> {
    let format = format.map_or_else(|| Format::of_path(path), Ok)?;
    let bytes = bytes_of(path, &options.limits)?;
    read_bytes(&path.display().to_string(), &bytes, format, options)
}

/// Reads a table from the bytes of a file, called `file` in messages.
///
/// # Errors
/// As [`read`].
///
/// # Example
///
/// ```
/// use millstream_base::Type;
/// use millstream_io::{Format, ReadOptions, read_bytes};
///
/// let text = b"t,p.x,p.y,p.z\n0.5,1,2,3\n";
/// let options = ReadOptions::default().with_column("p", Type::VEC3);
/// let table = read_bytes("points.csv", text, Format::Csv, &options)?;
/// assert_eq!(table.column("p")?.get(0).to_string(), "[1.0, 2.0, 3.0]");
/// # Ok::<(), millstream_io::IoError>(())
/// ```
pub fn read_bytes(
    file: &str,
    bytes: &[u8],
    format: Format,
    options: &ReadOptions,
) -> Result<Table, IoError> {
    let budget = Budget::new(&options.limits);
    dispatch(file, bytes, format, Wanted::of(options), budget)
}

/// Reads the one column that an input asks for from a file.
///
/// # Errors
/// As [`read`], and if the caller names no column and there are several to choose from.
pub fn read_column(
    path: &Path,
    format: Option<Format>,
    choice: ColumnChoice<'_>,
    limits: &Limits,
) -> Result<Column, IoError> {
    let format = format.map_or_else(|| Format::of_path(path), Ok)?;
    let bytes = bytes_of(path, limits)?;
    read_column_bytes(&path.display().to_string(), &bytes, format, choice, limits)
}

/// Reads the one column that an input asks for from the bytes of a file.
///
/// # Errors
/// As [`read_column`].
pub fn read_column_bytes(
    file: &str,
    bytes: &[u8],
    format: Format,
    choice: ColumnChoice<'_>,
    limits: &Limits,
) -> Result<Column, IoError> {
    let table = dispatch(file, bytes, format, Wanted::One(choice), Budget::new(limits))?;
    let column = table.into_columns().into_iter().next();
    Ok(column.map(|(_, column)| column).expect("one column was asked for, so one was read"))
}

fn dispatch(
    file: &str,
    bytes: &[u8],
    format: Format,
    wanted: Wanted<'_>,
    budget: Budget,
) -> Result<Table, IoError> {
    match format {
        Format::Csv => csv::read(file, bytes, wanted, budget),
        Format::Json => json::read(file, bytes, wanted, budget),
        Format::Npy => npy::read(file, bytes, wanted, budget),
        Format::Obj => obj::read(file, bytes, wanted, budget),
        Format::Ply => ply::read(file, bytes, wanted, budget),
    }
}

/// The bytes of a file, of which no more than the limit are read.
fn bytes_of(path: &Path, limits: &Limits) -> Result<Vec<u8>, IoError> {
    let name = path.display().to_string();
    let failed = |source| IoError::Read { file: name.clone(), source };
    let file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take((limits.bytes as u64).saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    Budget::new(limits).check_bytes(bytes.len(), || Spot::file(&name))?;
    Ok(bytes)
}
