//! Tables as values: named columns of one length.
//!
//! A table is shared, so that handing one on costs nothing; changing one makes another that shares the
//! columns that stay.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::column::Column;
use crate::same::Same;
use crate::types::Type;
use crate::value_type;

/// Named columns of one length, in order; names are not repeated.
#[derive(Clone, Debug, Default)]
pub struct Table(Arc<Data>);

#[derive(Clone, Debug, Default)]
struct Data {
    columns: Vec<(Arc<str>, Column)>,
    n_rows: usize,
}

value_type!(Table, "table", eq);

/// Why columns make no table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// Two columns have the same name.
    #[error("two columns are called `{name}`")]
    Repeated {
        /// The name.
        name: Arc<str>,
    },
    /// Two columns have different lengths.
    #[error("the column `{first}` has {n_first} rows and `{second}` has {n_second}")]
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
        for (i, (name, column)) in columns.iter().enumerate() {
            if columns[..i].iter().any(|(other, _)| other == name) {
                return Err(TableError::Repeated { name: Arc::clone(name) });
            }
            if column.len() != n_rows {
                let (first, second) = (Arc::clone(&columns[0].0), Arc::clone(name));
                let n_second = column.len();
                return Err(TableError::Lengths { first, n_first: n_rows, second, n_second });
            }
        }
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

    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.0.columns.iter().find(|(known, _)| **known == *name).map(|(_, column)| column)
    }

    /// The rows of these numbers, in this order.
    ///
    /// # Panics
    /// If there is no row of such a number.
    pub fn gather(&self, rows: &[usize]) -> Self {
        let of = |(name, column): &(Arc<str>, Column)| {
            (Arc::clone(name), column.gather(rows.iter().copied()))
        };
        let n_rows = if self.0.columns.is_empty() { 0 } else { rows.len() };
        Self(Arc::new(Data { columns: self.0.columns.iter().map(of).collect(), n_rows }))
    }

    /// The table of a JSON object of lists of one length. Lists of true and false, of whole numbers, of
    /// other numbers and of texts make columns of `bool`, `i64`, `f64` and `string`, in order of name.
    pub(crate) fn from_json(json: &serde_json::Value) -> Option<Self> {
        let kinds = [Type::BOOL, Type::I64, Type::F64, Type::STRING];
        let column = |items: &Vec<serde_json::Value>| {
            kinds.into_iter().find_map(|ty| {
                let values = items.iter().map(|item| crate::literal::from_json(ty, item));
                ty.collect(&mut values.collect::<Result<Vec<_>, _>>().ok()?.into_iter())
            })
        };
        let columns = json
            .as_object()?
            .iter()
            .map(|(name, items)| Some((name.as_str().into(), column(items.as_array()?)?)));
        Self::new(columns.collect::<Option<Vec<_>>>()?).ok()
    }

    /// The table as a JSON object of lists.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        let of = |(name, column): &(Arc<str>, Column)| {
            let items = column.iter().map(|value| crate::literal::to_json(&value)).collect();
            (name.to_string(), serde_json::Value::Array(items))
        };
        serde_json::Value::Object(self.0.columns.iter().map(of).collect())
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
    use serde_json::json;

    use super::*;
    use crate::{Value, literal};

    fn table(json: &serde_json::Value) -> Table {
        Table::from_json(json).expect("a table")
    }

    #[test]
    fn columns_have_one_length_and_their_own_names() {
        let column = |n: i32| Column::from_vec((0..n).collect::<Vec<i32>>());
        let of = |columns: &[(&str, i32)]| {
            Table::new(columns.iter().map(|(name, n)| ((*name).into(), column(*n))).collect())
        };
        let error = of(&[("a", 2), ("b", 3)]).expect_err("longer");
        assert_eq!(error.to_string(), "the column `a` has 2 rows and `b` has 3");
        let error = of(&[("a", 2), ("a", 2)]).expect_err("repeated");
        assert_eq!(error.to_string(), "two columns are called `a`");
        assert_eq!(of(&[]).expect("nothing").n_rows(), 0);
    }

    #[test]
    fn tables_are_equal_by_names_and_bits() {
        let a = json!({"x": [1, 2], "y": ["p", "q"]});
        let value = literal::from_json(Type::of::<Table>(), &a).expect("a literal");
        assert_eq!(value.to_string(), r#"{"x": [1, 2], "y": ["p", "q"]}"#);
        assert_eq!(literal::to_json(&value), a);
        assert!(value.same(&Value::from(table(&a))));
        assert!(!value.same(&Value::from(table(&json!({"y": ["p", "q"], "x": [1, 2.5]})))));
        assert!(!value.same(&Value::from(table(&json!({"x": [1, 2]})))));
    }

    #[test]
    fn literals_that_are_no_table_are_refused() {
        for wrong in
            [json!([1]), json!({"x": 1}), json!({"x": [1, "a"]}), json!({"x": [1], "y": []})]
        {
            assert_eq!(Table::from_json(&wrong), None, "{wrong}");
        }
    }
}
