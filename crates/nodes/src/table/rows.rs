//! Tables with other rows or fewer columns.

use std::cmp::Ordering;
use std::sync::Arc;

use millstream_base::diagnostics::counted;
use millstream_base::{Column, Table, Type, Value};
use millstream_node::settings::SettingError;
use millstream_node::{Default, NodeDef, Registry, SettingKind, SettingValue};

use super::{column, made, on_table, said, table, tables};
use crate::cells::function;
use crate::each::Items;
use crate::shape::list_of;
use crate::sort::sort_by;

pub(super) fn register(registry: &mut Registry) {
    registry.register(filter());
    registry.register(slice());
    registry.register(pick());
    registry.register(sort());
    registry.register(select());
    registry.register(drop());
    registry.register(rename());
}

fn filter() -> NodeDef {
    on_table("table.filter", "Keeps the rows of a table for which a condition is true")
        .input_or("keep", list_of(Type::BOOL), Default::Zero, "for each row, whether to keep it")
        .output("value", table(), "")
        .function(tables::<(Table, Items<bool>)>(|_, (table, keep)| {
            if keep.len() != table.n_rows() {
                let (n, rows) = (keep.len(), table.n_rows());
                return Err(format!("`keep` has {n} items for {rows} rows"));
            }
            let rows: Vec<usize> = (0..keep.len()).filter(|row| keep[*row]).collect();
            Ok(table.gather(&rows))
        }))
}

fn slice() -> NodeDef {
    on_table("table.slice", "A range of rows of a table")
        .details(
            "The rows from index `start` up to but not including `start + count`, as far as they \
             exist.",
        )
        .input_or("start", Type::I32, 0.0, "index of the first row, from 0")
        .input_or("count", Type::I32, 10.0, "number of rows")
        .output("value", table(), "")
        .function(tables::<(Table, i32, i32)>(|_, (table, start, count)| {
            let start = i64::from(start);
            let end = start + i64::from(count).max(0);
            let within = |row: i64| row.clamp(0, table.n_rows() as i64) as usize;
            Ok(table.gather(&(within(start)..within(end)).collect::<Vec<_>>()))
        }))
}

fn pick() -> NodeDef {
    on_table("table.pick", "Picks rows of a table by their indices")
        .details(
            "Rows are in the order of the indices, which may repeat. Fails for an index without a \
             row.",
        )
        .input_or("rows", list_of(Type::I32), Default::Zero, "indices of rows, from 0")
        .output("value", table(), "")
        .function(tables::<(Table, Items<i32>)>(|_, (table, rows)| {
            let row = |row: &i32| {
                let found = usize::try_from(*row).ok().filter(|row| *row < table.n_rows());
                found.ok_or_else(|| {
                    let n = counted(table.n_rows() as u64, "row");
                    format!("there is no row {row} in a table of {n}, numbered from 0")
                })
            };
            Ok(table.gather(&rows.iter().map(row).collect::<Result<Vec<_>, _>>()?))
        }))
}

fn sort() -> NodeDef {
    on_table("table.sort", "Sorts a table by one or more columns")
        .details(
            "False comes before true, strings are ordered by the code points of their characters, \
             and NaN comes last in either direction. Rows that are equal in the column `by` are \
             ordered by the first column of `also`, then by the next, and so on. Rows that are \
             equal in all of them keep their order.",
        )
        .flag("descending", false, "sort in descending order")
        .setting(
            "also",
            SettingKind::Texts,
            Some(SettingValue::Texts(vec![])),
            "names of further columns",
        )
        .setting(
            "also_order",
            SettingKind::Texts,
            Some(SettingValue::Texts(vec![])),
            "ascending or descending: one for all further columns or one for each; if empty, \
             `descending` applies",
        )
        .input_or("by", Type::STRING, Default::Zero, "name of the column")
        .output("value", table(), "")
        .kernel(|parts| {
            let descending = parts.settings.flag("descending");
            let also = with_directions(
                parts.settings.texts("also"),
                parts.settings.texts("also_order"),
                descending,
            )?;
            Ok(function(tables::<(Table, Arc<str>)>(move |element, (table, by)| {
                let order = |(name, down): (&Arc<str>, bool)| {
                    let column = column(&table, name)?;
                    let order = order_of(column).ok_or_else(|| {
                        format!(
                            "the column `{name}` contains {}, which cannot be sorted",
                            column.ty()
                        )
                    })?;
                    Ok((order, down))
                };
                let all = also.iter().map(|(name, down)| (name, *down));
                let orders: Vec<(Order<'_>, bool)> = std::iter::once((&by, descending))
                    .chain(all)
                    .map(order)
                    .collect::<Result<_, String>>()?;
                let mut rows: Vec<usize> = (0..table.n_rows()).collect();
                sort_by(&mut rows, &mut element.pace, |a, b| {
                    let mut each = orders.iter().map(|(order, down)| order(*a, *b, *down));
                    each.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
                })
                .map_err(said)?;
                Ok(table.gather(&rows))
            })))
        })
}

/// Further columns, each with whether it is in descending order.
fn with_directions(
    names: &[Arc<str>],
    order: &[Arc<str>],
    descending: bool,
) -> Result<Vec<(Arc<str>, bool)>, SettingError> {
    let down = |text: &Arc<str>| match &**text {
        "ascending" => Ok(false),
        "descending" => Ok(true),
        other => {
            let message = format!("`{other}` is neither ascending nor descending");
            Err(SettingError::refused("also_order", message))
        }
    };
    let order = order.iter().map(down).collect::<Result<Vec<_>, _>>()?;
    let directions = match order[..] {
        [] => vec![descending; names.len()],
        [one] => vec![one; names.len()],
        _ if order.len() == names.len() => order,
        _ => {
            let message = format!(
                "{} directions for {} columns; give one, or one for each column",
                order.len(),
                names.len()
            );
            return Err(SettingError::refused("also_order", message));
        }
    };
    Ok(names.iter().cloned().zip(directions).collect())
}

/// Compares two rows.
type Order<'c> = Box<dyn Fn(usize, usize, bool) -> Ordering + 'c>;

/// Compares two rows by a column; the last argument selects descending order.
fn order_of(column: &Column) -> Option<Order<'_>> {
    let turned = |order: Ordering, down: bool| if down { order.reverse() } else { order };
    if let Some(texts) = column.as_slice::<Arc<str>>() {
        return Some(Box::new(move |a, b, down| turned(texts[a].cmp(&texts[b]), down)));
    }
    if let Some(numbers) = column.as_slice::<i64>() {
        return Some(Box::new(move |a, b, down| turned(numbers[a].cmp(&numbers[b]), down)));
    }
    column.ty().lanes().filter(|(_, n)| *n == 1)?;
    let numbers = numbers(column);
    Some(Box::new(move |a, b, down| match numbers[a].partial_cmp(&numbers[b]) {
        Some(order) => turned(order, down),
        None => numbers[a].is_nan().cmp(&numbers[b].is_nan()),
    }))
}

/// A value as a float; NaN if it is not a number.
pub(super) fn number(column: &Column, i: usize) -> f64 {
    match column.get(i) {
        Value::Bool(x) => f64::from(u8::from(x)),
        Value::I32(x) => f64::from(x),
        Value::I64(x) => x as f64,
        Value::F32(x) => f64::from(x),
        Value::F64(x) => x,
        _ => f64::NAN,
    }
}

/// The numbers of a column, as by [`number`].
pub(super) fn numbers(column: &Column) -> Vec<f64> {
    if let Some(items) = column.as_slice::<f64>() {
        return items.to_vec();
    }
    if let Some(items) = column.as_slice::<f32>() {
        return items.iter().copied().map(f64::from).collect();
    }
    if let Some(items) = column.as_slice::<i32>() {
        return items.iter().copied().map(f64::from).collect();
    }
    if let Some(items) = column.as_slice::<i64>() {
        return items.iter().map(|x| *x as f64).collect();
    }
    (0..column.len()).map(|i| number(column, i)).collect()
}

/// The integers of a column, as by [`whole`].
pub(super) fn integers(column: &Column) -> Vec<i64> {
    if let Some(items) = column.as_slice::<i64>() {
        return items.to_vec();
    }
    if let Some(items) = column.as_slice::<i32>() {
        return items.iter().copied().map(i64::from).collect();
    }
    (0..column.len()).map(|i| integer(column, i)).collect()
}

/// An integer, or a boolean as 1 or 0.
pub(super) fn integer(column: &Column, i: usize) -> i64 {
    match column.get(i) {
        Value::Bool(x) => i64::from(x),
        Value::I32(x) => i64::from(x),
        Value::I64(x) => x,
        _ => 0,
    }
}

fn select() -> NodeDef {
    on_table("table.select", "Selects columns of a table")
        .input_or(
            "names",
            list_of(Type::STRING),
            Default::Zero,
            "names of the columns, in the order of the result",
        )
        .output("value", table(), "")
        .function(tables::<(Table, Items<Arc<str>>)>(|_, (table, names)| {
            let of = |name: &Arc<str>| Ok((Arc::clone(name), column(&table, name)?.clone()));
            made(names.iter().map(of).collect::<Result<_, String>>()?)
        }))
}

fn drop() -> NodeDef {
    on_table("table.drop", "Removes a column of a table")
        .input_or("name", Type::STRING, Default::Zero, "name of an existing column")
        .output("value", table(), "")
        .function(tables::<(Table, Arc<str>)>(|_, (table, name)| {
            column(&table, &name)?;
            let mut columns = table.columns().to_vec();
            columns.retain(|(known, _)| *known != name);
            made(columns)
        }))
}

fn rename() -> NodeDef {
    on_table("table.rename", "Renames a column of a table")
        .input_or("from", Type::STRING, Default::Zero, "name of an existing column")
        .input_or("to", Type::STRING, Default::Zero, "new name of the column")
        .output("value", table(), "")
        .function(tables::<(Table, Arc<str>, Arc<str>)>(|_, (table, from, to)| {
            column(&table, &from)?;
            let mut columns = table.columns().to_vec();
            for (name, _) in &mut columns {
                if *name == from {
                    *name = Arc::clone(&to);
                }
            }
            made(columns)
        }))
}
