//! Apache Parquet files, with the feature `arrow`.
//!
//! Columns are converted as in [`arrow`](super::arrow) files. Only the requested columns are read,
//! one row group at a time. Files are written in row groups of 262,144 rows, compressed with
//! snappy; they are read uncompressed or with snappy, gzip, brotli, zstd or lz4.

use crate::format::{BINARY_FORM, Definition, Reader, Writer};

#[cfg(feature = "arrow")]
mod footer;
#[cfg(feature = "arrow")]
mod pages;
#[cfg(feature = "arrow")]
mod read;
#[cfg(feature = "arrow")]
mod write;

pub(crate) const PARQUET: Definition = Definition {
    name: "parquet",
    aliases: &["pq"],
    streams: &[],
    form: BINARY_FORM,
    #[cfg(feature = "arrow")]
    reader: Reader::Blocks(read::open),
    #[cfg(not(feature = "arrow"))]
    reader: Reader::Absent { feature: "arrow" },
    #[cfg(feature = "arrow")]
    writer: Writer::Stream(|options, columns, out| write::start(options.has_gaps, columns, out)),
    #[cfg(not(feature = "arrow"))]
    writer: Writer::Absent { feature: "arrow" },
};

#[cfg(all(test, feature = "arrow"))]
mod tests;
