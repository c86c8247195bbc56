//! Reading tables and single columns from files and bytes.

#[cfg(feature = "arrow")]
use std::fs::File;
use std::io::Read;
use std::path::Path;

use millstream_base::{Column, Limits};

#[cfg(feature = "arrow")]
use crate::arrow::ArrowBlocks;
use crate::builder::Budget;
use crate::error::{IoError, Spot};
use crate::format::Format;
use crate::options::{ColumnChoice, ReadOptions, Wanted};
use crate::table::Table;
use crate::until::Until;
use crate::{csv, gltf, json, npy, obj, ply};

/// Reads a table from a file in this format, or the one that the extension names.
///
/// # Errors
/// If the file cannot be read, does not follow the format, is beyond the limits, or lacks a column
/// that was asked for or cannot give it the type.
pub fn read(path: &Path, format: Option<Format>, options: &ReadOptions) -> Result<Table, IoError> {
    let budget = Budget::new(&options.limits, &options.until);
    read_path(path, format, Wanted::of(options), &budget)
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
    let budget = Budget::new(&options.limits, &options.until);
    dispatch(file, None, bytes, format, Wanted::of(options), &budget)
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
    until: &Until,
) -> Result<Column, IoError> {
    read_path(path, format, Wanted::One(choice), &Budget::new(limits, until)).map(only)
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
    until: &Until,
) -> Result<Column, IoError> {
    let budget = Budget::new(limits, until);
    dispatch(file, None, bytes, format, Wanted::One(choice), &budget).map(only)
}

/// The bytes of a stream, called `file` in messages, for [`read_bytes`] and [`read_column_bytes`]; no more
/// than the limit are read.
///
/// # Errors
/// If it cannot be read, is beyond the limit, or nobody waits any more.
pub fn read_stream(
    file: &str,
    source: impl Read,
    limits: &Limits,
    until: &Until,
) -> Result<Vec<u8>, IoError> {
    let budget = Budget::new(limits, until);
    let bytes = budget.read_all(source, 0, file)?;
    // A source that waits for others may end when nobody waits for it.
    budget.go_on(|| Spot::file(file))?;
    Ok(bytes)
}

fn only(table: Table) -> Column {
    let column = table.into_columns().into_iter().next();
    column.map(|(_, column)| column).expect("one column was asked for, so one was read")
}

fn read_path(
    path: &Path,
    format: Option<Format>,
    wanted: Wanted<'_>,
    budget: &Budget,
) -> Result<Table, IoError> {
    let format = format.map_or_else(|| Format::of_path(path), Ok)?;
    let file = path.display().to_string();
    #[cfg(feature = "arrow")]
    if matches!(format, Format::Parquet | Format::Arrow) {
        // These files are read in parts, so that only the columns that are wanted take memory.
        let source =
            File::open(path).map_err(|source| IoError::Read { file: file.clone(), source })?;
        let blocks = if format == Format::Parquet {
            ArrowBlocks::parquet(&file, crate::parquet::Source::File(source), wanted, budget)
        } else {
            ArrowBlocks::arrow_file(&file, source, wanted, budget)
        };
        return blocks?.read_all();
    }
    let bytes = budget.read_file(path, &file)?;
    dispatch(&file, Some(path), &bytes, format, wanted, budget)
}

/// Reads a table from bytes; files beside it are found from its path.
pub(crate) fn dispatch(
    file: &str,
    path: Option<&Path>,
    bytes: &[u8],
    format: Format,
    wanted: Wanted<'_>,
    budget: &Budget,
) -> Result<Table, IoError> {
    match format {
        Format::Csv | Format::Tsv => csv::read(file, format, bytes, wanted, budget),
        Format::Json => json::read(file, bytes, wanted, budget),
        Format::JsonLines => json::lines::read(file, bytes, wanted, budget),
        Format::Npy => npy::read(file, bytes, wanted, budget),
        Format::Obj => obj::read(file, bytes, wanted, budget),
        Format::Ply => ply::read(file, bytes, wanted, budget),
        Format::Gltf => gltf::read(file, path, bytes, wanted, budget),
        #[cfg(feature = "arrow")]
        Format::Parquet => {
            budget.check_bytes(bytes.len(), || Spot::file(file))?;
            let source = crate::parquet::Source::Bytes(bytes::Bytes::copy_from_slice(bytes));
            ArrowBlocks::parquet(file, source, wanted, budget)?.read_all()
        }
        #[cfg(feature = "arrow")]
        Format::Arrow => ArrowBlocks::arrow_bytes(file, bytes, wanted, budget)?.read_all(),
        #[cfg(not(feature = "arrow"))]
        Format::Parquet | Format::Arrow => Err(IoError::NotBuilt { file: file.to_owned(), format }),
    }
}
