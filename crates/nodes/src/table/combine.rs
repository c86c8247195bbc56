//! Two tables as one: rows appended, or joined by a key.

use std::sync::Arc;

use millstream_base::{Column, Table, Type};
use millstream_node::{Default, NodeDef, Pace, Registry};

use super::alike::{Groups, Rows, gathered};
use super::{cells_within, column, keys, made, said, table, tables, with_also, within};
use crate::cells::function;
use crate::each::All;

pub(super) fn register(registry: &mut Registry) {
    registry.register(append());
    registry.register(join());
}

fn append() -> NodeDef {
    NodeDef::new("table.append", "Appends the rows of several tables")
        .details(
            "Columns are matched by name and ordered as in the first table that has columns; the \
             other tables must have the same columns with the same types.",
        )
        .input("tables", table(), "tables in order")
        .multiple()
        .output("value", table(), "")
        .function(tables::<All<Table>>(|element, all| {
            let all: Vec<&Table> = all.iter().filter(|t| !t.columns().is_empty()).collect();
            let n_rows = all.iter().map(|table| table.n_rows()).sum();
            within(n_rows, element.limits).map_err(|failure| failure.message)?;
            let Some(first) = all.first() else { return Ok(Table::default()) };
            cells_within(n_rows, first.columns().len(), element.limits)?;
            if let Some(other) = all.iter().find(|t| t.columns().len() != first.columns().len()) {
                let (n, m) = (first.columns().len(), other.columns().len());
                return Err(format!("cannot append a table of {m} columns to one of {n}"));
            }
            let joined = |(name, of_first): &(Arc<str>, Column)| {
                let parts: Result<Vec<Column>, String> =
                    all.iter().map(|table| column(table, name).cloned()).collect();
                let parts = parts?;
                let joined = Column::concat(of_first.ty(), &parts);
                let joined = joined.ok_or_else(|| {
                    let other = parts.iter().find(|part| part.ty() != of_first.ty());
                    let other = other.map_or(of_first.ty(), Column::ty);
                    format!(
                        "the column `{name}` contains {} in one table and {other} in another",
                        of_first.ty()
                    )
                })?;
                Ok((Arc::clone(name), joined))
            };
            let columns = first.columns().iter().map(joined).collect::<Result<_, String>>();
            made(columns?)
        }))
}

const KINDS: &[(&str, &str)] = &[
    ("inner", "rows of the left table that have a match"),
    ("left", "all rows of the left table; without a match the columns of the right are zero"),
    (
        "all",
        "all rows of the left table, then the rows of the right without a match; missing values \
         are zero",
    ),
    ("without", "rows of the left table that have no match, without the columns of the right"),
];

fn join() -> NodeDef {
    with_also(NodeDef::new("table.join", "Joins two tables by a key"))
        .details(
            "For each row of the left table, in order, each row of the right table with the same \
             bits in the key columns, in order. A column of the right table whose name the left \
             table uses too gets the suffix `_2`.",
        )
        .choice("rows", KINDS, "inner", "treatment of rows without a match")
        .input_or("left", table(), Default::Zero, "")
        .input_or("right", table(), Default::Zero, "")
        .input_or("key", Type::STRING, Default::Zero, "name of the key column")
        .output("value", table(), "")
        .kernel(|parts| {
            let kind = parts.settings.text("rows").to_owned();
            let also: Vec<Arc<str>> = parts.settings.texts("also").to_vec();
            Ok(function(tables::<(Table, Table, Arc<str>)>(move |element, (left, right, key)| {
                let mut names = vec![key];
                for name in &also {
                    if !names.contains(name) {
                        names.push(Arc::clone(name));
                    }
                }
                let pace = &mut element.pace;
                let partners = Partners::of(&left, &right, &names, pace)?;
                let n_rows = partners.n_rows(&kind);
                within(n_rows, element.limits).map_err(|failure| failure.message)?;
                let of_right =
                    if kind == "without" { 0 } else { right.columns().len() - names.len() };
                let n_columns = left.columns().len() + of_right;
                cells_within(n_rows, n_columns, element.limits)?;
                let pairs = partners.pairs(&kind, n_rows, pace)?;
                beside(&left, &right, &names, &pairs, kind == "without", pace)
            })))
        })
}

/// The rows that are joined; the number of rows of a table stands for no row.
struct Pairs {
    left: Vec<u32>,
    right: Vec<u32>,
}

/// Rows of the right table by key, and for each row of the left table the group that it matches.
struct Partners {
    right: Rows,
    n_right: u32,
    left: Vec<Option<u32>>,
}

impl Partners {
    fn of(
        left: &Table,
        right: &Table,
        names: &[Arc<str>],
        pace: &mut Pace<'_>,
    ) -> Result<Self, String> {
        let of = |table| keys(table, &names[0], &names[1..]);
        let (of_left, of_right) = (of(left)?, of(right)?);
        for (key, (a, b)) in names.iter().zip(of_left.iter().zip(&of_right)) {
            if a.ty() != b.ty() {
                return Err(format!(
                    "the column `{key}` contains {} in the left table and {} in the right; convert \
                     one of them with `table.cast`",
                    a.ty(),
                    b.ty()
                ));
            }
        }
        let groups = Groups::of(of_right, pace)?;
        let of_left = groups.partners(&of_left, pace)?;
        Ok(Self { right: groups.rows(pace)?, n_right: groups.of_row.len() as u32, left: of_left })
    }

    /// The rows of the right table without a match, ascending.
    fn alone(&self) -> Vec<u32> {
        let mut has_left = vec![false; self.right.n_groups()];
        for group in self.left.iter().flatten() {
            has_left[*group as usize] = true;
        }
        let groups = self.right.iter().zip(has_left).filter(|(_, has_left)| !has_left);
        let mut alone: Vec<u32> = groups.flat_map(|(rows, _)| rows).copied().collect();
        alone.sort_unstable();
        alone
    }

    /// The number of joined rows.
    fn n_rows(&self, kind: &str) -> usize {
        let of = |group: &Option<u32>| match (group, kind) {
            (Some(_), "without") | (None, "inner") => 0,
            (Some(group), _) => self.right.of(*group as usize).len(),
            (None, _) => 1,
        };
        let of_left = self.left.iter().fold(0_usize, |n, group| n.saturating_add(of(group)));
        let alone = if kind == "all" { self.alone().len() } else { 0 };
        of_left.saturating_add(alone)
    }

    /// The joined rows, `n_rows` of them.
    fn pairs(&self, kind: &str, n_rows: usize, pace: &mut Pace<'_>) -> Result<Pairs, String> {
        let mut pairs =
            Pairs { left: Vec::with_capacity(n_rows), right: Vec::with_capacity(n_rows) };
        for (row, group) in self.left.iter().enumerate() {
            match (group, kind) {
                (Some(_), "without") | (None, "inner") => {}
                (Some(group), _) => {
                    let others = self.right.of(*group as usize);
                    pace.work(others.len()).map_err(said)?;
                    pairs.left.extend(others.iter().map(|_| row as u32));
                    pairs.right.extend_from_slice(others);
                }
                (None, _) => {
                    pairs.left.push(row as u32);
                    pairs.right.push(self.n_right);
                }
            }
        }
        if kind == "all" {
            pairs.right.extend(self.alone());
            pairs.left.resize(pairs.right.len(), self.left.len() as u32);
        }
        Ok(pairs)
    }
}

/// A column with an additional row of zeros.
fn with_zero(column: &Column) -> Column {
    let zero = Column::filled(&column.ty().default_value(), 1);
    Column::concat(column.ty(), &[column.clone(), zero]).expect("both are of the column's type")
}

fn beside(
    left: &Table,
    right: &Table,
    names: &[Arc<str>],
    pairs: &Pairs,
    only_left: bool,
    pace: &mut Pace<'_>,
) -> Result<Table, String> {
    let mut columns = Vec::with_capacity(left.columns().len() + right.columns().len());
    for (name, column) in left.columns() {
        let rows = pairs.left.iter().map(|row| *row as usize);
        // For rows without a match on the left, the key comes from the right table.
        let taken = if names.contains(name) {
            let both = [column.clone(), super::column(right, name)?.clone()];
            let source = Column::concat(column.ty(), &both).expect("keys are of one type");
            let n = column.len();
            let rows = rows.zip(&pairs.right);
            let rows = rows.map(|(row, other)| if row < n { row } else { n + *other as usize });
            gathered(&source, rows, pace)?
        } else {
            gathered(&with_zero(column), rows, pace)?
        };
        columns.push((Arc::clone(name), taken));
    }
    if only_left {
        return made(columns);
    }
    for (name, column) in right.columns().iter().filter(|(name, _)| !names.contains(name)) {
        let rows = pairs.right.iter().map(|row| *row as usize);
        let taken = columns.iter().any(|(other, _)| other == name);
        let name = if taken { format!("{name}_2").into() } else { Arc::clone(name) };
        columns.push((name, gathered(&with_zero(column), rows, pace)?));
    }
    made(columns)
}
