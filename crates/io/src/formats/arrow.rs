//! Apache Arrow files and streams, with the feature `arrow`.
//!
//! A file (`.arrow`, `.feather`, `.ipc`) is a stream (`.arrows`) with a frame around it; reading
//! finds out which it is. Columns are numbers of any width, booleans, text, lists and structs, also
//! compressed and dictionary-encoded. A vector is a fixed-size list of numbers, a struct with the
//! members `x, y, z`, or the columns `p.x, p.y, p.z` (or `p_x`...), as asked for; members of a
//! struct are columns of their own, `struct.member`. Times and durations are read as seconds,
//! dates as days, decimals as `f64`.
//!
//! A null is NaN in a column of floats, the empty text in one of text, and an error in any other
//! that is asked for. Whole numbers and booleans with nulls are `f64` unless a type is asked for,
//! `true` as 1: those beyond 2^53 are rounded. A column of these that may hold nulls is read once
//! before to find out, unless a Parquet file counts them. A list that is null is an error.
//!
//! Written are vectors as fixed-size lists, text and lists with 64-bit offsets, uncompressed, in
//! batches of 65,536 rows. A note at each column names its type, so that a color reads back as one.
//!
//! The lengths that a file promises are checked against the bytes that are there before the
//! decoder sees them; a panic of the decoder becomes an error.

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
    writer: Writer::Stream(|options, columns, out| encode::start(options.framing, columns, out)),
    #[cfg(not(feature = "arrow"))]
    writer: Writer::Absent { feature: "arrow" },
};

#[cfg(all(test, feature = "arrow"))]
mod tests;
