//! Choices of the caller: the columns to read, and how to write.

use std::sync::Arc;

use indexmap::IndexMap;
use millstream_base::{Budget, Limits, Type};

use crate::faces::Faces;

/// Which columns to read, as which types, and how much at most.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The columns to read and, where it matters, their types. Empty for all columns of the file.
    pub columns: IndexMap<String, Option<Type>>,
    /// The rows and bytes that a file may hold.
    pub limits: Limits,
    /// The budget, which may end reading early.
    pub budget: Budget,
}

impl ReadOptions {
    /// Options that read this column, as this type, besides those named before.
    pub fn with_column(mut self, name: &str, ty: Type) -> Self {
        self.columns.insert(name.to_owned(), Some(ty));
        self
    }
}

/// One column for one input: which to take when the caller names none.
#[derive(Clone, Copy, Debug)]
pub struct ColumnChoice<'a> {
    /// The column by name.
    pub column: Option<&'a str>,
    /// The column to take without a name if the file has it; else the only column is taken, or
    /// the columns `x`, `y`... that make up the type.
    pub otherwise: &'a str,
    /// The type to read it as.
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

    /// Whether the caller gives all types.
    pub(crate) fn has_all_types(self) -> bool {
        self.named().is_some_and(|columns| columns.iter().all(|(_, ty)| ty.is_some()))
    }
}

/// How numbers are written by formats that allow both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// As bytes.
    #[default]
    Binary,
    /// As text.
    Text,
}

/// How blocks of rows are framed by formats that allow both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// As a file, with a table of contents at the end.
    #[default]
    File,
    /// As a stream, one after the other.
    Stream,
}

/// How to write, in formats that leave a choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// How numbers are written; ply and glTF allow both. A file called `.gltf` is text.
    pub encoding: Encoding,
    /// How blocks of rows are framed; arrow allows both.
    pub framing: Framing,
    /// The faces between the rows, in formats for meshes ([`Format::is_mesh`](crate::Format::is_mesh)).
    pub faces: Option<Arc<Faces>>,
    /// The extents of the axes whose cells the rows are, the first outermost; npy keeps them as axes
    /// of the array. Empty for rows of one axis.
    pub axes: Vec<usize>,
}
