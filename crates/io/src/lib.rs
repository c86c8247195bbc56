//! Columns from files and into files, in the formats of one table ([`Format::ALL`]).
//!
//! A [`Table`] is named columns of one length. [`read`] makes one from a file and finds out the
//! types that the caller does not ask for. [`TableReader`] reads a file block by block, and
//! [`TableWriter`] writes one so, under a temporary name: a result need not fit into memory, and
//! nothing half-written is left. Numbers are written so that they read back to the same bits. The
//! module of each format says how columns are laid out in it.
//!
//! Pictures are images instead of tables; [`pictures`] has their formats and functions.
//!
//! Files are not trusted: whatever their bytes, reading ends in a table or an [`IoError`] that
//! says where and why, and takes memory in proportion to the bytes that are there.

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
pub use writer::{TableWriter, write, write_bytes, write_file};
