//! Tables as values: named columns of equal length.
//!
//! A table is shared, so cloning is cheap, and a modified copy shares the unchanged columns.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::column::Column;
use crate::same::Same;
use crate::value_type;

/// Named columns of equal length, in order; all names differ.
#[derive(Clone, Debug, Default)]
pub struct Table(Arc<Data>);

#[derive(Clone, Debug, Default)]
struct Data {
    columns: Vec<(Arc<str>, Column)>,
    n_rows: usize,
}

value_type!(Table, "table", eq);

/// Why columns do not form a table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// Two columns have the same name.
    #[error("two columns are named `{name}`")]
    Repeated {
        /// The name.
        name: Arc<str>,
    },
    /// Two columns have different lengths.
    #[error(
        "the columns `{first}` and `{second}` have different lengths: {n_first} and {n_second} rows"
    )]
    Lengths {
        /// The first column.
        first: Arc<str>,
        /// Its length.
        n_first: usize,
        /// The other column.
        second: Arc<str>,
        /// Its length.
        n_second: usize,
    },
}

impl Table {
    /// A table of these columns.
    ///
    /// # Errors
    /// If two have the same name or different lengths.
    pub fn new(columns: Vec<(Arc<str>, Column)>) -> Result<Self, TableError> {
        let n_rows = columns.first().map_or(0, |(_, column)| column.len());
        let mut names = HashSet::with_capacity(columns.len());
        for (name, column) in &columns {
            if !names.insert(&**name) {
                return Err(TableError::Repeated { name: Arc::clone(name) });
            }
            if column.len() != n_rows {
                let (first, second) = (Arc::clone(&columns[0].0), Arc::clone(name));
                let n_second = column.len();
                return Err(TableError::Lengths { first, n_first: n_rows, second, n_second });
            }
        }
        drop(names);
        Ok(Self(Arc::new(Data { columns, n_rows })))
    }

    /// Number of rows; 0 without columns.
    pub fn n_rows(&self) -> usize {
        self.0.n_rows
    }

    /// Names and columns in order.
    pub fn columns(&self) -> &[(Arc<str>, Column)] {
        &self.0.columns
    }

    /// The column with this name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.0.columns.iter().find(|(known, _)| **known == *name).map(|(_, column)| column)
    }

    /// Size of the columns in bytes, including shared ones.
    pub fn bytes(&self) -> usize {
        let of = |(name, column): &(Arc<str>, Column)| name.len() + column.bytes();
        size_of::<Self>() + self.0.columns.iter().map(of).sum::<usize>()
    }

    /// The rows with these indices, in the given order.
    ///
    /// # Panics
    /// If an index is not below the number of rows.
    pub fn gather(&self, rows: &[usize]) -> Self {
        let of = |(name, column): &(Arc<str>, Column)| {
            (Arc::clone(name), column.gather(rows.iter().copied()))
        };
        let n_rows = if self.0.columns.is_empty() { 0 } else { rows.len() };
        Self(Arc::new(Data { columns: self.0.columns.iter().map(of).collect(), n_rows }))
    }
}

impl PartialEq for Table {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (self.columns(), other.columns());
        Arc::ptr_eq(&self.0, &other.0)
            || a.len() == b.len() && a.iter().zip(b).all(|((m, x), (n, y))| m == n && x.same(y))
    }
}

impl Eq for Table {}

impl Hash for Table {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for (name, column) in self.columns() {
            name.hash(state);
            column.feed(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_one_length_and_their_own_names() {
        let column = |n: i32| Column::from_vec((0..n).collect::<Vec<i32>>());
        let of = |columns: &[(&str, i32)]| {
            Table::new(columns.iter().map(|(name, n)| ((*name).into(), column(*n))).collect())
        };
        let error = of(&[("a", 2), ("b", 3)]).expect_err("longer");
        assert_eq!(
            error.to_string(),
            "the columns `a` and `b` have different lengths: 2 and 3 rows"
        );
        let error = of(&[("a", 2), ("a", 2)]).expect_err("repeated");
        assert_eq!(error.to_string(), "two columns are named `a`");
        assert_eq!(of(&[]).expect("nothing").n_rows(), 0);
    }
}
