//! Columns from files and into files: csv, tsv, json, jsonl, npy, obj, ply, gltf and, with the feature `arrow`,
//! parquet and arrow.
//!
//! A [`Table`] is named columns of one length. [`read`] makes one from a file; types that the
//! caller does not ask for are found out. [`TableWriter`] writes one block by block under a
//! temporary name, so that a result need not stand in memory, and nothing half-written is left.
//! [`TableReader`] reads one so.
//! Numbers are written so that they read back to the same bits. The module of each format
//! says how columns stand in it.
//!
//! Files are not trusted: whatever their bytes, reading ends in a table or an [`IoError`] that
//! says where and why, and takes memory in proportion to the bytes that are there.

#[cfg(feature = "arrow")]
pub mod arrow;
mod blocks;
mod builder;
pub mod csv;
mod encoder;
mod error;
mod format;
pub mod gltf;
mod guard;
mod guess;
pub mod json;
pub mod npy;
pub mod obj;
mod options;
#[cfg(feature = "arrow")]
pub mod parquet;
mod plan;
pub mod ply;
mod read;
mod scalar;
mod table;
mod until;
mod writer;

pub use blocks::TableReader;
pub use encoder::ColumnSpec;
pub use error::{IoError, Part, Spot};
pub use format::Format;
pub use guard::is_decoding;
pub use options::{ColumnChoice, ReadOptions};
pub use read::{read, read_bytes, read_column, read_column_bytes, read_stream};
pub use table::Table;
pub use until::{Ended, Until};
pub use writer::{
    ArrowFraming, PlyEncoding, TableWriter, WriteOptions, write, write_bytes, write_file,
};
