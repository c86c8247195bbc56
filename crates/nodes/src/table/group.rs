//! Grouping of rows by the value of a column.

use std::cmp::Ordering;
use std::sync::Arc;

use millstream_base::{Column, Table, Type, ValueType, num};
use millstream_node::settings::SettingError;
use millstream_node::{Default, NodeDef, Pace, Registry, SettingKind, SettingValue};

use super::alike::{Groups, Rows, gathered};
use super::rows::{integers, numbers};
use super::{column, keys, made, on_table, said, table, tables, with_also};
use crate::cells::function;
use crate::reduce::spread::{deviation, is_safe};
use crate::sort::halfway;

pub(super) fn register(registry: &mut Registry) {
    registry.register(group());
    registry.register(unique());
}

/// A statistic of the rows of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Summary {
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
    pub(super) fn of(name: &str) -> Option<Self> {
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

    pub(super) fn needs_numbers(self) -> bool {
        !matches!(self, Self::First | Self::Last | Self::Count)
    }
}

fn group() -> NodeDef {
    with_also(on_table("table.group", "Groups rows by the value of a column"))
        .details(
            "One row per distinct value, in the order of first occurrence; values are equal if \
             their bits are. After the column `by` and those of `also` there is one column for \
             each entry of `columns`, called `NAME_HOW`. Sums of integers and booleans are `i64` \
             and wrap around; other sums, means, standard deviations (over n) and medians are \
             `f64`, computed from the first row to the last. Minimum and maximum ignore NaN unless \
             all values are NaN; a median is NaN if one value is. A count is `i32`.",
        )
        .setting(
            "columns",
            SettingKind::Texts,
            Some(SettingValue::Texts(vec![])),
            "names of the columns to summarize",
        )
        .setting(
            "how",
            SettingKind::Texts,
            Some(SettingValue::Texts(vec!["sum".into()])),
            "sum, mean, deviation, median, minimum, maximum, first, last or count: one for all \
             columns or one for each",
        )
        .input_or("by", Type::STRING, Default::Zero, "name of the key column")
        .output("value", table(), "")
        .kernel(|parts| {
            let names: Vec<Arc<str>> = parts.settings.texts("columns").to_vec();
            let how = parts.settings.texts("how");
            if how.len() != 1 && how.len() != names.len() {
                let message = format!(
                    "{} statistics for {} columns; give one, or one for each column", how.len(), names.len());
                return Err(SettingError::refused("how", message));
            }
            let summary = |(i, name): (usize, Arc<str>)| {
                let how = &how[if how.len() == 1 { 0 } else { i }];
                let summary = Summary::of(how);
                let refused = || SettingError::refused("how", format!(
                    "`{how}` is not a statistic; use sum, mean, deviation, median, minimum, \
                     maximum, first, last or count"));
                let called = format!("{name}_{how}").into();
                Ok((name, called, summary.ok_or_else(refused)?))
            };
            let all: Vec<(Arc<str>, Arc<str>, Summary)> =
                names.into_iter().enumerate().map(summary).collect::<Result<_, SettingError>>()?;
            let also: Vec<Arc<str>> = parts.settings.texts("also").to_vec();
            Ok(function(tables::<(Table, Arc<str>)>(move |element, (table, by)| {
                let (keys, pace) = (keys(&table, &by, &also)?, &mut element.pace);
                let groups = Groups::of(keys.clone(), pace)?;
                let rows = groups.rows(pace)?;
                let mut columns: Vec<(Arc<str>, Column)> = Vec::new();
                for (name, key) in std::iter::once(by).chain(also.iter().cloned()).zip(keys) {
                    let first = groups.first.iter().copied();
                    columns.push((name, gathered(key, first, pace)?));
                }
                for (name, called, how) in &all {
                    let column = column(&table, name)?;
                    let is_number = column.ty().lanes().is_some_and(|(_, n)| n == 1);
                    if how.needs_numbers() && !is_number {
                        let ty = column.ty();
                        return Err(format!("the column `{name}` contains {ty}, not numbers"));
                    }
                    columns.push((Arc::clone(called), summed(column, &rows, *how, pace)?));
                }
                made(columns)
            })))
        })
}

/// One value for each group.
fn of_each<T: ValueType>(
    groups: &Rows,
    pace: &mut Pace<'_>,
    of: impl Fn(&[u32]) -> T,
) -> Result<Column, String> {
    let mut values = Vec::with_capacity(groups.n_groups());
    for rows in groups.iter() {
        pace.work(rows.len()).map_err(said)?;
        values.push(of(rows));
    }
    Ok(Column::from_vec(values))
}

/// The first row of each group in some order.
fn picked(
    column: &Column,
    groups: &Rows,
    pace: &mut Pace<'_>,
    is_before: impl Fn(usize, usize) -> bool,
) -> Result<Column, String> {
    let mut best: Vec<usize> = Vec::with_capacity(groups.n_groups());
    for rows in groups.iter() {
        pace.work(rows.len()).map_err(said)?;
        let pick = |best, row| if is_before(row, best) { row } else { best };
        best.push(rows.iter().map(|row| *row as usize).reduce(pick).expect("a group has a row"));
    }
    gathered(column, best.into_iter(), pace)
}

/// A statistic of each group of rows; some require numbers.
pub(super) fn summed(
    column: &Column,
    groups: &Rows,
    how: Summary,
    pace: &mut Pace<'_>,
) -> Result<Column, String> {
    let is_whole = [Type::BOOL, Type::I32, Type::I64].contains(&column.ty());
    match how {
        Summary::Count => of_each(groups, pace, |rows| rows.len() as i32),
        Summary::First => picked(column, groups, pace, |_, _| false),
        Summary::Last => picked(column, groups, pace, |_, _| true),
        Summary::Sum if is_whole => {
            let items = integers(column);
            of_each(groups, pace, |rows| {
                rows.iter().fold(0_i64, |sum, row| sum.wrapping_add(items[*row as usize]))
            })
        }
        Summary::Minimum | Summary::Maximum => {
            let wanted = if how == Summary::Minimum { Ordering::Less } else { Ordering::Greater };
            if is_whole {
                let items = integers(column);
                return picked(column, groups, pace, |a, b| items[a].cmp(&items[b]) == wanted);
            }
            let items = numbers(column);
            picked(column, groups, pace, |row, best| {
                let (x, old) = (items[row], items[best]);
                x.partial_cmp(&old) == Some(wanted) || (old.is_nan() && !x.is_nan())
            })
        }
        Summary::Sum | Summary::Mean | Summary::Deviation | Summary::Median => {
            let items = numbers(column);
            let of = |rows: &[u32]| -> Vec<f64> {
                rows.iter().map(|row| items[*row as usize]).collect()
            };
            let sum = |rows: &[u32]| rows.iter().map(|row| items[*row as usize]).sum::<f64>();
            of_each(groups, pace, |rows| {
                let n = rows.len() as f64;
                match how {
                    Summary::Median => median(of(rows)),
                    Summary::Mean => sum(rows) / n,
                    Summary::Deviation => {
                        let mean = sum(rows) / n;
                        let items = rows.iter().map(|row| items[*row as usize]);
                        let variance =
                            items.clone().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
                        if is_safe(variance) { num::sqrt(variance) } else { deviation(items) }
                    }
                    _ => sum(rows),
                }
            })
        }
    }
}

/// The median; the midpoint of the two middle numbers if their count is even, NaN if one is NaN.
fn median(mut items: Vec<f64>) -> f64 {
    if items.iter().any(|x| x.is_nan()) {
        return f64::NAN;
    }
    let n = items.len();
    let (below, high, _) = items.select_nth_unstable_by(n / 2, f64::total_cmp);
    let high = *high;
    let low = below.iter().copied().max_by(f64::total_cmp).filter(|_| n.is_multiple_of(2));
    halfway(low.unwrap_or(high), high)
}

fn unique() -> NodeDef {
    with_also(on_table("table.unique", "Keeps the first row for each value of a column"))
        .details("Rows keep their order; values are equal if their bits are.")
        .input_or("by", Type::STRING, Default::Zero, "name of the key column")
        .output("value", table(), "")
        .kernel(|parts| {
            let also: Vec<Arc<str>> = parts.settings.texts("also").to_vec();
            Ok(function(tables::<(Table, Arc<str>)>(move |element, (table, by)| {
                let pace = &mut element.pace;
                let first = Groups::of(keys(&table, &by, &also)?, pace)?.first;
                let mut columns = Vec::with_capacity(table.columns().len());
                for (name, column) in table.columns() {
                    let taken = gathered(column, first.iter().copied(), pace)?;
                    columns.push((Arc::clone(name), taken));
                }
                made(columns)
            })))
        })
}
