//! Checks of page headers before the decoder reads them.
//!
//! The decoder allocates as many bytes as a page header claims for the unpacked data, and as many
//! values as that of a dictionary counts. So both are checked here against the bytes available and
//! the limits. The decoder also takes a column to end with its pages, however many values were
//! announced; so those are counted.

use std::io::Read as _;

use parquet::basic::Compression;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::reader::ChunkReader;

use super::PARQUET;
use super::footer::{STRUCT, Walk};
use crate::error::{IoError, Spot};
use crate::meter::Meter;

/// The bytes within which nearly all page headers end, and the maximum to inspect: headers contain
/// the minimum and maximum of the page.
const NEAR: u64 = 1 << 10;
const FAR: u64 = 1 << 24;

/// Units of work per page.
const PAGE: usize = 1 << 5;

/// The content of a page header.
#[derive(Debug, Default)]
struct Header {
    is_dictionary: bool,
    /// Whether it is a data page of version 1 or 2; others are indices.
    is_data: bool,
    unpacked: i64,
    packed: i64,
    n_values: i64,
}

/// Checks the pages of the wanted columns; `is_wanted` decides by position.
pub(super) fn check(
    file: &str,
    source: &impl ChunkReader,
    metadata: &ParquetMetaData,
    is_wanted: impl Fn(usize) -> bool,
    meter: &Meter,
) -> Result<(), IoError> {
    for group in metadata.row_groups() {
        let columns = group.columns().iter().enumerate();
        for (_, column) in columns.filter(|(i, _)| is_wanted(*i)) {
            check_column(file, source, column, group.num_rows(), meter)?;
        }
    }
    Ok(())
}

fn check_column(
    file: &str,
    source: &impl ChunkReader,
    column: &ColumnChunkMetaData,
    n_rows: i64,
    meter: &Meter,
) -> Result<(), IoError> {
    let spot = || Spot::file(file).column(&column.column_path().string());
    let syntax = |reason: &str| PARQUET.syntax(spot(), reason);
    let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
    let range = u64::try_from(start).ok().zip(u64::try_from(column.compressed_size()).ok());
    let end = range.and_then(|(start, length)| start.checked_add(length));
    let (Some((mut at, _)), Some(end)) = (range, end.filter(|end| *end <= source.len())) else {
        return Err(syntax("its position is outside the file"));
    };
    let mut n_found = 0_i64;
    while at < end {
        meter.work(PAGE, spot)?;
        let near = header_at(file, source, at, NEAR.min(end - at))?;
        let header = match near {
            None => header_at(file, source, at, FAR.min(end - at))?,
            near => near,
        };
        let (header, length) =
            header.ok_or_else(|| syntax("a page header claims more than it contains"))?;
        let sizes = u64::try_from(header.packed).ok().zip(usize::try_from(header.unpacked).ok());
        let (packed, unpacked) = sizes.ok_or_else(|| syntax("the size of a page is negative"))?;
        at += length;
        if packed > end - at {
            return Err(syntax("a page extends beyond its column"));
        }
        at += packed;
        meter.check_bytes(unpacked, spot)?;
        if (unpacked / most_per_byte(column.compression())) as u64 > packed {
            let reason = format!("a page claims {unpacked} bytes from {packed} packed ones");
            return Err(syntax(&reason));
        }
        if header.is_data {
            n_found = n_found.saturating_add(header.n_values.max(0));
        }
        // A value in a dictionary takes more than a byte: booleans have no dictionary.
        let n_values = usize::try_from(header.n_values).unwrap_or(usize::MAX);
        if header.is_dictionary && n_values > unpacked {
            let reason = format!("a dictionary claims {n_values} values in {unpacked} bytes");
            return Err(syntax(&reason));
        }
    }
    let n_promised = column.num_values();
    if n_found != n_promised {
        return Err(syntax(&format!("its pages hold {n_found} values instead of {n_promised}")));
    }
    // Only columns of lists have several values per row.
    if column.column_descr().max_rep_level() == 0 && n_found != n_rows {
        return Err(syntax(&format!("it holds {n_found} values for {n_rows} rows")));
    }
    Ok(())
}

/// A rough upper bound of the bytes that one byte of a codec can expand to.
fn most_per_byte(codec: Compression) -> usize {
    match codec {
        Compression::UNCOMPRESSED => 1,
        Compression::SNAPPY => 64,
        Compression::LZ4 | Compression::LZ4_RAW | Compression::LZO => 256,
        Compression::GZIP(_) => 1100,
        Compression::BROTLI(_) | Compression::ZSTD(_) => 1 << 20,
    }
}

/// The header at a position and its length, if it ends within this many bytes.
fn header_at(
    file: &str,
    source: &impl ChunkReader,
    at: u64,
    most: u64,
) -> Result<Option<(Header, u64)>, IoError> {
    let mut bytes = Vec::new();
    let read = source.get_read(at).map_err(std::io::Error::other);
    read.and_then(|from| from.take(most).read_to_end(&mut bytes))
        .map_err(IoError::reading(file))?;
    let mut walk = Walk::new(&bytes);
    let header = header(&mut walk);
    Ok(header.map(|header| (header, (bytes.len() - walk.n_left()) as u64)))
}

fn header(walk: &mut Walk<'_>) -> Option<Header> {
    let mut header = Header::default();
    let mut id = 0_i32;
    while let (next, kind @ 1..) = walk.field(id)? {
        id = next;
        match (id, kind) {
            (1, 5) => {
                let kind = walk.zigzag()?;
                header.is_dictionary = kind == 2;
                header.is_data = kind == 0 || kind == 3;
            }
            (2, 5) => header.unpacked = walk.zigzag()?,
            (3, 5) => header.packed = walk.zigzag()?,
            // Page headers of all types start with the number of values.
            (5 | 7 | 8, STRUCT) => header.n_values = count(walk)?,
            (_, kind) => walk.value(kind, 0, false)?,
        }
    }
    Some(header)
}

fn count(walk: &mut Walk<'_>) -> Option<i64> {
    let (mut n_values, mut id) = (0, 0);
    while let (next, kind @ 1..) = walk.field(id)? {
        id = next;
        match (id, kind) {
            (1, 5) => n_values = walk.zigzag()?,
            (_, kind) => walk.value(kind, 1, false)?,
        }
    }
    Some(n_values)
}
