//! What a caller wants from a file.

use indexmap::IndexMap;
use millstream_base::{Limits, Type};

use crate::until::Until;

/// Which columns to read, as which types, and how much at most.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The columns to read and, where it matters, their types. Empty for all columns of the file.
    pub columns: IndexMap<String, Option<Type>>,
    /// How many rows and bytes a file may hold.
    pub limits: Limits,
    /// Until when reading goes on.
    pub until: Until,
}

impl ReadOptions {
    /// Options that read this column, as this type, and those that were named before.
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
    /// Without a name: the column called so is taken if there is one, else the only column, else
    /// the columns `x`, `y`... that make up the type.
    pub otherwise: &'a str,
    /// The type to read it as.
    pub ty: Option<Type>,
}

/// Columns a reader shall produce.
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

    /// Whether no type has to be found out.
    pub(crate) fn has_all_types(self) -> bool {
        match self {
            Self::All => false,
            Self::Named(columns) => columns.values().all(Option::is_some),
            Self::One(choice) => choice.ty.is_some(),
        }
    }
}
