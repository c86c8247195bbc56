//! Columns from files and into files, in the formats of one table ([`Format::ALL`]).
//!
//! A [`Table`] consists of named columns of equal length. [`read`] makes one from a file and infers
//! types that the caller does not request. [`TableReader`] reads a file block by block, and
//! [`TableWriter`] writes one block by block under a temporary name, so that a result may be larger
//! than memory and no half-written file is left. Numbers are written so that they read back to the
//! same bits. The module of each format describes how columns are laid out in it.
//!
//! Pictures are images instead of tables; [`pictures`] contains their formats and functions.
//!
//! Files are untrusted: whatever their bytes, reading ends with a table or an [`IoError`] that says
//! where and why, and takes memory in proportion to the bytes available.

mod table;

mod error;
mod faces;
mod options;

mod meter;

mod builder;
mod fields;
mod guess;
mod scalar;
mod stored;

mod format;
pub mod formats;
mod guard;
mod temporary;

mod read;
mod writer;

pub mod pictures;

pub use error::{IoError, Part, Spot};
pub use faces::Faces;
pub use format::Format;
pub use guard::is_decoding;
pub use millstream_base::{Budget, Ended};
pub use options::{ColumnChoice, Encoding, Framing, ReadOptions, WriteOptions};
pub use read::{TableReader, read, read_bytes, read_column, read_column_bytes, read_stream};
pub use table::{ColumnSpec, Table};
pub use temporary::{Complete, held};
pub use writer::{TableWriter, write, write_bytes, write_file};
