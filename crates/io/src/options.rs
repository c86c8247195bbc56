//! Options of the caller: the columns to read, and how to write.

use std::sync::Arc;

use indexmap::IndexMap;
use millstream_base::{Budget, Limits, Type};

use crate::faces::Faces;

/// The columns to read, their types, and limits.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The columns to read and, optionally, their types. Empty for all columns of the file.
    pub columns: IndexMap<String, Option<Type>>,
    /// The limits on rows and bytes.
    pub limits: Limits,
    /// The budget, which may stop reading early.
    pub budget: Budget,
}

impl ReadOptions {
    /// Options that also read this column as this type.
    pub fn with_column(mut self, name: &str, ty: Type) -> Self {
        self.columns.insert(name.to_owned(), Some(ty));
        self
    }
}

/// The column for an input, and the default if the caller names none.
#[derive(Clone, Copy, Debug)]
pub struct ColumnChoice<'a> {
    /// The column by name.
    pub column: Option<&'a str>,
    /// The column to use without a name, if the file has it; else the only column, or the columns
    /// `x`, `y`... that make up the type.
    pub otherwise: &'a str,
    /// The type as which to read it.
    pub ty: Option<Type>,
}

/// The columns that a reader has to produce.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted<'a> {
    All,
    Named(&'a IndexMap<String, Option<Type>>),
    One(ColumnChoice<'a>),
}

impl<'a> Wanted<'a> {
    pub(crate) fn of(options: &'a ReadOptions) -> Self {
        if options.columns.is_empty() { Self::All } else { Self::Named(&options.columns) }
    }

    /// The columns by name and type, as far as the caller names them.
    pub(crate) fn named(self) -> Option<Vec<(&'a str, Option<Type>)>> {
        match self {
            Self::All => None,
            Self::Named(columns) => {
                Some(columns.iter().map(|(name, ty)| (name.as_str(), *ty)).collect())
            }
            Self::One(choice) => Some(vec![(choice.column.unwrap_or(choice.otherwise), choice.ty)]),
        }
    }

    /// Whether the caller specifies all types.
    pub(crate) fn has_all_types(self) -> bool {
        self.named().is_some_and(|columns| columns.iter().all(|(_, ty)| ty.is_some()))
    }
}

/// The encoding of numbers, in formats that allow both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// As bytes.
    #[default]
    Binary,
    /// As text.
    Text,
}

/// The framing of blocks of rows, in formats that allow both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// As a file, with a table of contents at the end.
    #[default]
    File,
    /// As a stream of consecutive blocks.
    Stream,
}

/// How to write, in formats that leave a choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// The encoding of numbers; ply and glTF allow both. A file called `.gltf` is text.
    pub encoding: Encoding,
    /// The framing of blocks of rows; arrow allows both.
    pub framing: Framing,
    /// The faces between the rows, in mesh formats ([`Format::is_mesh`](crate::Format::is_mesh)).
    pub faces: Option<Arc<Faces>>,
    /// The extents of the axes whose cells are the rows, outermost first; npy keeps them as axes of
    /// the array. Empty for rows along one axis. The last cells of the outermost axis may be missing.
    pub axes: Vec<usize>,
    /// Whether rows may lack values, see
    /// [`write_rows_without`](crate::TableWriter::write_rows_without); parquet and arrow note it at
    /// the columns.
    pub has_gaps: bool,
}
