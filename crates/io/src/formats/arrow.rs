//! Apache Arrow files and streams, with the feature `arrow`.
//!
//! A file (`.arrow`, `.feather`, `.ipc`) is a stream (`.arrows`) with a frame around it; reading
//! finds out which one it is. Columns are numbers of any width, booleans, strings, lists and
//! structs, including compressed and dictionary-encoded ones. A vector is a fixed-size list of
//! numbers, a struct with the members `x, y, z`, or the columns `p.x, p.y, p.z` (or `p_x`...) on
//! request; members of a struct are columns of their own, `struct.member`. Times and durations are
//! read as seconds, dates as days, decimals as `f64`.
//!
//! A null is NaN in a column of floats, the empty string in a column of strings, and an error in
//! any other requested type. If no type is requested, integers and booleans with nulls become
//! `f64`, with `true` as 1; integers beyond 2^53 are rounded. To find out whether such a column
//! contains nulls, it is read once beforehand, unless a Parquet file counts them. A null list is an
//! error.
//!
//! When writing, vectors are fixed-size lists, strings and lists have 64-bit offsets, and batches
//! of 65,536 rows are uncompressed. A note at each column names its type, so that a color reads
//! back as one.
//!
//! The lengths in a file are checked against the bytes available before the decoder sees them; a
//! panic of the decoder becomes an error.

use crate::format::{BINARY_FORM, Definition, Reader, Writer};

#[cfg(feature = "arrow")]
mod decode;
#[cfg(feature = "arrow")]
mod encode;
#[cfg(feature = "arrow")]
mod fields;
#[cfg(feature = "arrow")]
mod messages;
#[cfg(feature = "arrow")]
mod nulls;
#[cfg(feature = "arrow")]
mod numbers;
#[cfg(feature = "arrow")]
mod rows;

#[cfg(feature = "arrow")]
pub(super) use {
    decode::Decoder,
    encode::{BatchEncoder, BatchWriter, schema},
    rows::{BatchBlocks, Batches},
};

pub(crate) const ARROW: Definition = Definition {
    name: "arrow",
    aliases: &["arrows", "feather", "ipc"],
    streams: &["arrows"],
    form: BINARY_FORM,
    #[cfg(feature = "arrow")]
    reader: Reader::Blocks(messages::open),
    #[cfg(not(feature = "arrow"))]
    reader: Reader::Absent { feature: "arrow" },
    #[cfg(feature = "arrow")]
    writer: Writer::Stream(|options, columns, out| encode::start(&options, columns, out)),
    #[cfg(not(feature = "arrow"))]
    writer: Writer::Absent { feature: "arrow" },
};

#[cfg(all(test, feature = "arrow"))]
mod tests;
