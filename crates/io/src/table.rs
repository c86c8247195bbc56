//! Tables: named columns of equal length.

use indexmap::IndexMap;
use millstream_base::diagnostics::did_you_mean;
use millstream_base::{Column, Type};

use crate::error::{IoError, Spot};

/// Name and type of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSpec {
    /// The name.
    pub name: String,
    /// The type.
    pub ty: Type,
}

impl ColumnSpec {
    /// A column of this name and type.
    pub fn new(name: &str, ty: Type) -> Self {
        Self { name: name.to_owned(), ty }
    }
}

/// Named columns, all of the same length, in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Table {
    file: String,
    columns: IndexMap<String, Column>,
}

impl Table {
    /// A table without columns; `file` is what messages call it.
    pub fn new(file: &str) -> Self {
        Self { file: file.to_owned(), columns: IndexMap::new() }
    }

    /// Appends a column.
    ///
    /// # Errors
    /// If there is already a column of this name, or the lengths differ.
    pub fn insert(&mut self, name: &str, column: Column) -> Result<(), IoError> {
        if self.columns.contains_key(name) {
            return Err(IoError::DuplicateColumn { spot: Spot::file(&self.file).column(name) });
        }
        if let Some((first, other)) = self.columns.first()
            && other.len() != column.len()
        {
            return Err(IoError::Lengths {
                file: self.file.clone(),
                first: first.clone(),
                n_first: other.len(),
                second: name.to_owned(),
                n_second: column.len(),
            });
        }
        self.columns.insert(name.to_owned(), column);
        Ok(())
    }

    /// The column of this name.
    ///
    /// # Errors
    /// If there is none; the message suggests the nearest name.
    pub fn column(&self, name: &str) -> Result<&Column, IoError> {
        self.columns.get(name).ok_or_else(|| {
            missing_column(&self.file, name, self.columns.keys().map(String::as_str))
        })
    }

    /// Number of rows; 0 without columns.
    pub fn n_rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// Number of columns.
    pub fn n_columns(&self) -> usize {
        self.columns.len()
    }

    /// Names and columns in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Column)> {
        self.columns.iter().map(|(name, column)| (name.as_str(), column))
    }

    /// Names and types in order.
    pub(crate) fn specs(&self) -> Vec<ColumnSpec> {
        self.iter().map(|(name, column)| ColumnSpec::new(name, column.ty())).collect()
    }

    /// The columns by name.
    pub fn into_columns(self) -> IndexMap<String, Column> {
        self.columns
    }
}

/// The error for a name that is not among the columns, with the nearest name or all of them.
pub(crate) fn missing_column<'a>(
    file: &str,
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> IoError {
    const SHOWN: usize = 12;
    let hint = match did_you_mean(name, known.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => match known.clone().count() {
            0 => "the file has no columns".into(),
            n if n > SHOWN => {
                format!("it has {}, and {} more", joined(known.take(SHOWN)), n - SHOWN)
            }
            _ => format!("it has {}", joined(known)),
        },
    };
    IoError::MissingColumn { file: file.to_owned(), name: name.to_owned(), hint }
}

/// The names, each in quotes; of many, the first.
pub(crate) fn joined<'a>(mut names: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 40;
    let shown: Vec<String> = names.by_ref().take(SHOWN).map(|name| format!("`{name}`")).collect();
    let more = match names.count() {
        0 => String::new(),
        n => format!(", and {n} more"),
    };
    shown.join(", ") + &more
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_names_the_first_are_listed() {
        let names: Vec<String> = (0..50).map(|i| format!("c{i}")).collect();
        let told = joined(names.iter().map(String::as_str));
        assert!(
            told.starts_with("`c0`, `c1`, ") && told.ends_with(" `c39`, and 10 more"),
            "{told}"
        );
        assert_eq!(joined(["a", "b"].into_iter()), "`a`, `b`");
    }

    #[test]
    fn columns_have_equal_lengths_and_different_names() {
        let mut table = Table::new("t.csv");
        table.insert("a", Column::from_vec(vec![1_i32, 2])).expect("first");
        let error = table.insert("b", Column::from_vec(vec![1_i32])).expect_err("shorter");
        assert_eq!(error.to_string(), "in `t.csv` the column `a` has 2 rows, but `b` has 1");
        assert!(matches!(
            table.insert("a", Column::from_vec(vec![1_i32, 2])),
            Err(IoError::DuplicateColumn { .. })
        ));
        assert_eq!((table.n_rows(), table.n_columns()), (2, 1));
    }

    #[test]
    fn a_wrong_name_suggests_the_nearest() {
        let mut table = Table::new("t.csv");
        table.insert("height", Column::from_vec(vec![1_i32])).expect("first");
        let IoError::MissingColumn { hint, .. } = table.column("heigth").expect_err("misspelt")
        else {
            panic!("another error")
        };
        assert_eq!(hint, "did you mean `height`?");
    }
}
