//! Rows put together by what a column holds.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use millstream_base::{Column, Type, num};
use millstream_kernel::settings::SettingError;
use millstream_kernel::{Default, NodeDef, Registry, SettingKind, SettingValue};

use super::combine::{hash, is_same};
use super::rows::{number, whole};
use super::{column, keys, made, on_table, table, table_at, tables, text_at, with_also};

pub(super) fn register(registry: &mut Registry) {
    registry.register(group());
    registry.register(unique());
}

/// What is computed of the rows of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Summary {
    Sum,
    Mean,
    Minimum,
    Maximum,
    First,
    Last,
    Count,
    Deviation,
    Median,
}

impl Summary {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "sum" => Self::Sum,
            "mean" => Self::Mean,
            "minimum" => Self::Minimum,
            "maximum" => Self::Maximum,
            "first" => Self::First,
            "last" => Self::Last,
            "count" => Self::Count,
            "deviation" => Self::Deviation,
            "median" => Self::Median,
            _ => return None,
        })
    }
}

fn group() -> NodeDef {
    with_also(on_table("table.group", "One row for each value that a column holds"))
        .details(
            "In the order in which the values come first; values are the same if their bits are. Behind the \
             column `by` and those of `also` there is one for each entry of `columns`, called `NAME_HOW`: sums of whole \
             numbers and of booleans are `i64` and wrap, other sums, means, standard deviations (over n) and \
             medians `f64`, folded from the first row to the last; minimum and maximum pass over NaN and are \
             NaN if there is nothing else, a median is NaN if there is one; count is `i32`.",
        )
        .setting(
            "columns",
            SettingKind::Texts,
            Some(SettingValue::Texts(vec![])),
            "names of the columns that are summed up",
        )
        .setting(
            "how",
            SettingKind::Texts,
            Some(SettingValue::Texts(vec!["sum".into()])),
            "sum, mean, deviation, median, minimum, maximum, first, last or count: one for all or one for each",
        )
        .input("by", Type::STRING, "name of the column")
        .or(Default::Zero)
        .output("value", table(), "")
        .kernel(|parts| {
            let names: Vec<Arc<str>> = parts.settings.texts("columns").to_vec();
            let how = parts.settings.texts("how");
            if how.len() != 1 && how.len() != names.len() {
                let message = format!("{} ways for {} columns", how.len(), names.len());
                return Err(SettingError::refused("how", message));
            }
            let summary = |(i, name): (usize, Arc<str>)| {
                let how = &how[if how.len() == 1 { 0 } else { i }];
                let summary = Summary::of(how);
                let refused = || SettingError::refused("how", format!("`{how}` is no way to sum up"));
                let called = format!("{name}_{how}").into();
                Ok((name, called, summary.ok_or_else(refused)?))
            };
            let all: Vec<(Arc<str>, Arc<str>, Summary)> =
                names.into_iter().enumerate().map(summary).collect::<Result<_, SettingError>>()?;
            let also: Vec<Arc<str>> = parts.settings.texts("also").to_vec();
            Ok(tables(move |call, i| {
                let (table, by) = (table_at(call, 0, i), text_at(call, 1, i));
                let keys = keys(&table, &by, &also)?;
                let groups = groups(&keys);
                let names = std::iter::once(by).chain(also.iter().cloned());
                let first = |key: &Column| key.gather(groups.iter().map(|rows| rows[0]));
                let mut columns: Vec<(Arc<str>, Column)> =
                    names.zip(&keys).map(|(name, key)| (name, first(key))).collect();
                for (name, called, how) in &all {
                    let column = column(&table, name)?;
                    let summed = summed(column, &groups, *how).ok_or_else(|| {
                        format!("the column `{name}` holds {}, which is no number", column.ty())
                    })?;
                    columns.push((Arc::clone(called), summed));
                }
                made(columns)
            }))
        })
}

/// The rows of each key, made of one column or several, in the order of the first ones.
pub(super) fn groups(keys: &[&Column]) -> Vec<Vec<usize>> {
    let mut known: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for row in 0..keys.first().map_or(0, |key| key.len()) {
        // Groups of one hash may still hold different values.
        let of_hash = known.entry(hash(keys, row)).or_default();
        match of_hash.iter().find(|group| is_same(keys, groups[**group][0], keys, row)) {
            Some(group) => groups[*group].push(row),
            None => {
                of_hash.push(groups.len());
                groups.push(vec![row]);
            }
        }
    }
    groups
}

/// A value for each group; `None` if the column holds no numbers and needs to.
fn summed(column: &Column, groups: &[Vec<usize>], how: Summary) -> Option<Column> {
    let is_number = column.ty().lanes().is_some_and(|(_, n)| n == 1);
    let is_whole = [Type::BOOL, Type::I32, Type::I64].contains(&column.ty());
    let extreme = |wanted: Ordering| {
        let better = |row: usize, best: usize| {
            if is_whole {
                return whole(column, row).cmp(&whole(column, best)) == wanted;
            }
            let (x, old) = (number(column, row), number(column, best));
            x.partial_cmp(&old) == Some(wanted) || (old.is_nan() && !x.is_nan())
        };
        let pick = |best, row| if better(row, best) { row } else { best };
        let of = |rows: &Vec<usize>| rows.iter().copied().reduce(pick).expect("a group has a row");
        column.gather(groups.iter().map(of))
    };
    match how {
        Summary::Count => Some(groups.iter().map(|rows| rows.len() as i32).collect()),
        Summary::First => Some(column.gather(groups.iter().map(|rows| rows[0]))),
        Summary::Last => Some(column.gather(groups.iter().map(|rows| rows[rows.len() - 1]))),
        _ if !is_number => None,
        Summary::Sum if is_whole => {
            let sum = |rows: &Vec<usize>| {
                rows.iter().fold(0_i64, |sum, row| sum.wrapping_add(whole(column, *row)))
            };
            Some(groups.iter().map(sum).collect())
        }
        Summary::Sum | Summary::Mean => {
            let sum = |rows: &Vec<usize>| {
                let sum: f64 = rows.iter().map(|row| number(column, *row)).sum();
                if how == Summary::Mean { sum / rows.len() as f64 } else { sum }
            };
            Some(groups.iter().map(sum).collect())
        }
        Summary::Deviation => {
            let deviation = |rows: &Vec<usize>| {
                let n = rows.len() as f64;
                let mean = rows.iter().map(|row| number(column, *row)).sum::<f64>() / n;
                let squares = rows.iter().map(|row| (number(column, *row) - mean).powi(2));
                num::sqrt(squares.sum::<f64>() / n)
            };
            Some(groups.iter().map(deviation).collect())
        }
        Summary::Median => Some(groups.iter().map(|rows| median(column, rows)).collect()),
        Summary::Minimum => Some(extreme(Ordering::Less)),
        Summary::Maximum => Some(extreme(Ordering::Greater)),
    }
}

/// The number in the middle, or half way between the two there; NaN if one is.
fn median(column: &Column, rows: &[usize]) -> f64 {
    let mut numbers: Vec<f64> = rows.iter().map(|row| number(column, *row)).collect();
    if numbers.iter().any(|x| x.is_nan()) {
        return f64::NAN;
    }
    numbers.sort_unstable_by(f64::total_cmp);
    let n = numbers.len();
    f64::midpoint(numbers[(n - 1) / 2], numbers[n / 2])
}

fn unique() -> NodeDef {
    with_also(on_table("table.unique", "The first row of each value that a column holds"))
        .details("In the order of the table; values are the same if their bits are.")
        .input("by", Type::STRING, "name of the column")
        .or(Default::Zero)
        .output("value", table(), "")
        .kernel(|parts| {
            let also: Vec<Arc<str>> = parts.settings.texts("also").to_vec();
            Ok(tables(move |call, i| {
                let (table, by) = (table_at(call, 0, i), text_at(call, 1, i));
                let groups = groups(&keys(&table, &by, &also)?);
                Ok(table.gather(&groups.iter().map(|rows| rows[0]).collect::<Vec<_>>()))
            }))
        })
}
