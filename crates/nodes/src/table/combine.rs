//! Two tables as one: rows below each other, or beside each other by a key.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

use millstream_base::{Column, Table, Type};
use millstream_kernel::{Default, NodeDef, Registry, SettingKind, SettingValue};

use super::{column, made, table, table_at, tables, text_at, within};

pub(super) fn register(registry: &mut Registry) {
    registry.register(append());
    registry.register(join());
}

fn append() -> NodeDef {
    NodeDef::new("table.append", "The rows of tables below each other")
        .details(
            "By name, in the order of the first table that has columns; the others must have the same \
             columns in the same types.",
        )
        .input("tables", table(), "the tables in order")
        .multiple()
        .output("value", table(), "")
        .kernel(|parts| {
            let n = parts.inputs.len();
            Ok(tables(move |call, i| {
                let all: Vec<Table> = (0..n).map(|k| table_at(call, k, i)).collect();
                let all: Vec<&Table> = all.iter().filter(|t| !t.columns().is_empty()).collect();
                let n_rows = all.iter().map(|table| table.n_rows()).sum();
                within(n_rows, call.limits()).map_err(|failure| failure.message)?;
                let Some(first) = all.first() else { return Ok(Table::default()) };
                if let Some(other) = all.iter().find(|t| t.columns().len() != first.columns().len()) {
                    let (n, m) = (first.columns().len(), other.columns().len());
                    return Err(format!("a table of {m} columns cannot stand below one of {n}"));
                }
                let joined = |(name, of_first): &(Arc<str>, Column)| {
                    let parts: Result<Vec<Column>, String> =
                        all.iter().map(|table| column(table, name).cloned()).collect();
                    let parts = parts?;
                    let joined = Column::concat(of_first.ty(), &parts);
                    let joined = joined.ok_or_else(|| {
                        let other = parts.iter().find(|part| part.ty() != of_first.ty());
                        let other = other.map_or(of_first.ty(), Column::ty);
                        format!("the column `{name}` holds {} and then {other}", of_first.ty())
                    })?;
                    Ok((Arc::clone(name), joined))
                };
                let columns = first.columns().iter().map(joined).collect::<Result<_, String>>();
                made(columns?)
            }))
        })
}

const KINDS: &[(&str, &str)] = &[
    ("inner", "rows of the left that have a partner"),
    ("left", "all rows of the left; without partner the columns of the right hold zero"),
    (
        "all",
        "all rows of the left, then those of the right without partner; what is missing is zero",
    ),
    ("without", "rows of the left that have no partner, without the columns of the right"),
];

fn join() -> NodeDef {
    NodeDef::new("table.join", "Two tables beside each other, by a key that both have")
        .details(
            "For each row of the left, in order, each row of the right with the same bits in the key column, \
             in order. Columns of the right that the left has too get `_2` behind their name.",
        )
        .setting(
            "rows",
            SettingKind::Choice(KINDS),
            Some(SettingValue::Text("inner".into())),
            "what becomes of rows without partner",
        )
        .input("left", table(), "")
        .or(Default::Zero)
        .input("right", table(), "")
        .or(Default::Zero)
        .input("key", Type::STRING, "name of the column")
        .or(Default::Zero)
        .output("value", table(), "")
        .kernel(|parts| {
            let kind = parts.settings.text("rows").to_owned();
            Ok(tables(move |call, i| {
                let (left, right) = (table_at(call, 0, i), table_at(call, 1, i));
                let key = text_at(call, 2, i);
                let pairs = pairs(&left, &right, &key, &kind, call.limits().list_length)?;
                beside(&left, &right, &key, &pairs, kind == "without")
            }))
        })
}

/// A hash of what stands in a row of a column; the same for the same bits.
pub(super) fn hash(column: &Column, row: usize) -> u64 {
    let mut hasher = DefaultHasher::new();
    column.feed_at(row, &mut hasher);
    hasher.finish()
}

/// A row of the left and one of the right; one of them may be missing.
type Pair = (Option<usize>, Option<usize>);

/// Rows that stand beside each other.
fn pairs(
    left: &Table,
    right: &Table,
    key: &str,
    kind: &str,
    most: usize,
) -> Result<Vec<Pair>, String> {
    let (of_left, of_right) = (column(left, key)?, column(right, key)?);
    if of_left.ty() != of_right.ty() {
        return Err(format!("the column `{key}` holds {} and {}", of_left.ty(), of_right.ty()));
    }
    let mut known: HashMap<u64, Vec<usize>> = HashMap::new();
    for row in 0..of_right.len() {
        known.entry(hash(of_right, row)).or_default().push(row);
    }
    let mut pairs: Vec<Pair> = Vec::new();
    let mut has_left = vec![false; of_right.len()];
    for row in 0..of_left.len() {
        let candidates = known.get(&hash(of_left, row)).map_or(&[][..], Vec::as_slice);
        let before = pairs.len();
        for other in candidates {
            if of_left.same_at(row, of_right, *other) {
                pairs.push((Some(row), Some(*other)));
                has_left[*other] = true;
            }
        }
        let has_partner = pairs.len() > before;
        match kind {
            "without" if has_partner => pairs.truncate(before),
            "without" | "left" | "all" if !has_partner => pairs.push((Some(row), None)),
            _ => {}
        }
        if pairs.len() > most {
            return Err(too_long(most));
        }
    }
    if kind == "all" {
        let alone = (0..of_right.len()).filter(|row| !has_left[*row]);
        pairs.extend(alone.map(|row| (None, Some(row))));
        if pairs.len() > most {
            return Err(too_long(most));
        }
    }
    Ok(pairs)
}

fn too_long(most: usize) -> String {
    format!("the joined table has more than {most} rows; `list_length` is the limit")
}

/// A column with a row of zeros behind it.
fn with_zero(column: &Column) -> Column {
    let zero = Column::filled(&column.ty().default_value(), 1);
    Column::concat(column.ty(), &[column.clone(), zero]).expect("both are of the column's type")
}

fn beside(
    left: &Table,
    right: &Table,
    key: &str,
    pairs: &[Pair],
    only_left: bool,
) -> Result<Table, String> {
    let of_right = column(right, key)?;
    let mut columns = Vec::with_capacity(left.columns().len() + right.columns().len());
    for (name, column) in left.columns() {
        // Keys of rows that only the right has come from there.
        let is_key = **name == *key;
        let source = if is_key {
            let both = [column.clone(), of_right.clone()];
            Column::concat(column.ty(), &both).expect("keys are of one type")
        } else {
            with_zero(column)
        };
        let rows = pairs.iter().map(|(row, other)| match (row, other) {
            (Some(row), _) => *row,
            (None, Some(other)) if is_key => column.len() + other,
            (None, _) => column.len(),
        });
        columns.push((Arc::clone(name), source.gather(rows)));
    }
    if only_left {
        return made(columns);
    }
    for (name, column) in right.columns().iter().filter(|(name, _)| **name != *key) {
        let source = with_zero(column);
        let rows = pairs.iter().map(|(_, row)| row.unwrap_or(column.len()));
        let taken = columns.iter().any(|(other, _)| other == name);
        let name = if taken { format!("{name}_2").into() } else { Arc::clone(name) };
        columns.push((name, source.gather(rows)));
    }
    made(columns)
}
