//! Reshaped tables: side by side, melted, pivoted, and summaries of columns.

use std::collections::HashSet;
use std::sync::Arc;

use millstream_base::diagnostics::counted;
use millstream_base::{Column, Table, Type, num};
use millstream_node::{Default, NodeDef, Pace, Registry, SettingKind};

use super::alike::{Groups, gathered};
use super::group::{Summary, summed};
use super::rows::numbers;
use super::values::missing;
use super::{cells_within, column, made, on_table, said, table, tables, with_also, within};
use crate::cells::function;
use crate::each::{All, Element};
use crate::reduce::spread::{deviation, is_safe};
use crate::sort::halfway;

pub(super) fn register(registry: &mut Registry) {
    registry.register(beside());
    registry.register(melt());
    registry.register(pivot());
    registry.register(summary());
}

fn beside() -> NodeDef {
    NodeDef::new("table.beside", "Puts the columns of several tables side by side")
        .details(
            "Rows are matched by position, so tables that have columns must have equally many \
             rows. A column whose name is taken gets the suffix `_2`, or the next free number. To \
             match rows by a key use `table.join`.",
        )
        .input("tables", table(), "tables in order")
        .multiple()
        .output("value", table(), "")
        .function(tables::<All<Table>>(|_, tables| {
            let mut columns: Vec<(Arc<str>, Column)> = Vec::new();
            let mut taken = HashSet::new();
            for table in tables.iter().filter(|t| !t.columns().is_empty()) {
                let had = columns.first().map_or(table.n_rows(), |(_, column)| column.len());
                if had != table.n_rows() {
                    return Err(format!(
                        "cannot put a table of {} beside one of {had}",
                        counted(table.n_rows() as u64, "row")
                    ));
                }
                for (name, column) in table.columns() {
                    let name = free(name, &mut taken);
                    columns.push((name, column.clone()));
                }
            }
            made(columns)
        }))
}

/// The name, with a number appended if it is taken; the result is marked as taken.
fn free(name: &Arc<str>, taken: &mut HashSet<Arc<str>>) -> Arc<str> {
    let mut free = Arc::clone(name);
    let mut number = 2;
    while !taken.insert(Arc::clone(&free)) {
        free = format!("{name}_{number}").into();
        number += 1;
    }
    free
}

fn names_setting(def: NodeDef, about: &'static str) -> NodeDef {
    def.setting("columns", SettingKind::Texts, None, about)
}

fn melt() -> NodeDef {
    names_setting(
        on_table("table.melt", "Turns columns of a table into rows"),
        "names of the columns to turn into rows",
    )
    .details(
        "Each row becomes one row for each of the `columns`, with the name of the column and \
             its value; the values of the other columns are repeated. The columns must have the \
             same type.",
    )
    .input_or("names", Type::STRING, "name", "name of the new column of names")
    .input_or("values", Type::STRING, "value", "name of the new column of values")
    .output("value", table(), "")
    .kernel(|parts| {
        let chosen: Vec<Arc<str>> = parts.settings.texts("columns").to_vec();
        Ok(function(tables::<(Table, Arc<str>, Arc<str>)>(
            move |element, (table, names, values)| {
                let long = table.n_rows().saturating_mul(chosen.len());
                within(long, element.limits).map_err(|failure| failure.message)?;
                let others =
                    table.columns().iter().filter(|(name, _)| !chosen.contains(name)).count();
                cells_within(long, others + 2, element.limits)?;
                melted(&table, &chosen, names, values)
            },
        )))
    })
}

fn melted(
    table: &Table,
    chosen: &[Arc<str>],
    names: Arc<str>,
    values: Arc<str>,
) -> Result<Table, String> {
    let columns =
        chosen.iter().map(|name| column(table, name).cloned()).collect::<Result<Vec<_>, _>>()?;
    let Some(first) = columns.first() else {
        return Err("the setting `columns` names no columns".into());
    };
    let joined = Column::concat(first.ty(), &columns).ok_or_else(|| {
        let at = columns.iter().position(|column| column.ty() != first.ty()).unwrap_or(0);
        let (name, ty) = (&chosen[at], columns[at].ty());
        format!("the column `{}` contains {}, but `{name}` contains {ty}", chosen[0], first.ty())
    })?;
    let (n_rows, n) = (table.n_rows(), columns.len());
    let mut made_of: Vec<(Arc<str>, Column)> = (table.columns().iter())
        .filter(|(name, _)| !chosen.contains(name))
        .map(|(name, column)| (Arc::clone(name), column.gather((0..n_rows * n).map(|at| at / n))))
        .collect();
    let labels = (0..n_rows).flat_map(|_| chosen.iter().cloned());
    made_of.push((names, labels.collect::<Column>()));
    made_of.push((values, joined.gather((0..n_rows * n).map(|at| at % n * n_rows + at / n))));
    made(made_of)
}

const HOW: &[(&str, &str)] = &[
    ("last", "the last value"),
    ("first", "the first value"),
    ("only", "the node fails and names the row and column"),
    ("sum", "the sum"),
    ("mean", "the mean"),
    ("deviation", "the standard deviation (over n)"),
    ("median", "the median"),
    ("minimum", "the minimum"),
    ("maximum", "the maximum"),
    ("count", "the number of values"),
];

const ABSENT: &[(&str, &str)] = &[
    ("zero", "zero, false or the empty string"),
    ("missing", "NaN for floats and in each component of vectors; like `zero` for other types"),
];

fn pivot() -> NodeDef {
    with_also(on_table("table.pivot", "Turns rows of a table into columns (pivot)"))
        .details(
            "The result has one row for each distinct value of the column `by` (together with \
             those of `also`) and one column for each distinct text of the column `names`; its \
             cells are the values of the column `values`. If several rows belong to a cell, `how` \
             says how they are combined; if none does, `absent` says what the cell contains. Rows \
             and columns are in the order of first occurrence. Sums and other statistics are those \
             of `table.group`. This is the inverse of `table.melt`.",
        )
        .choice("how", HOW, "last", "how several rows of one cell are combined")
        .choice("absent", ABSENT, "zero", "content of a cell without rows")
        .input_or("by", Type::STRING, Default::Zero, "name of the column that determines the row")
        .input_or("names", Type::STRING, "name", "name of the column that determines the column")
        .input_or("values", Type::STRING, "value", "name of the column with the values")
        .output("value", table(), "")
        .kernel(|parts| {
            let also: Vec<Arc<str>> = parts.settings.texts("also").to_vec();
            let how = Summary::of(parts.settings.text("how"));
            let with_nan = parts.settings.text("absent") == "missing";
            Ok(function(tables::<PivotInputs>(move |element, (table, by, names, values)| {
                let by: Vec<Arc<str>> = std::iter::once(by).chain(also.iter().cloned()).collect();
                let pivot = Pivot { table: &table, by: &by, names: &names, values: &values };
                pivot.made(how, with_nan, element)
            })))
        })
}

/// The table and the names `by`, `names` and `values`.
type PivotInputs = (Table, Arc<str>, Arc<str>, Arc<str>);

/// The columns of a table that is pivoted.
struct Pivot<'a> {
    table: &'a Table,
    by: &'a [Arc<str>],
    names: &'a str,
    values: &'a str,
}

impl Pivot<'_> {
    /// The pivoted table; `how` combines several rows of a cell, `None` requires at most one.
    fn made(
        &self,
        how: Option<Summary>,
        with_nan: bool,
        element: &mut Element<'_>,
    ) -> Result<Table, String> {
        let Self { table, by, names, values } = *self;
        let keys = super::keys(table, &by[0], &by[1..])?;
        let (labels, values) = (column(table, names)?, column(table, values)?);
        let Some(texts) = labels.as_slice::<Arc<str>>() else {
            return Err(format!("the column `{names}` contains {}, not string", labels.ty()));
        };
        let pace = &mut element.pace;
        let columns = Groups::of(vec![labels], pace)?;
        let rows = Groups::of(keys.clone(), pace)?;
        cells_within(rows.first.len(), columns.first.len(), element.limits)?;
        let both: Vec<&Column> = keys.iter().copied().chain([labels]).collect();
        let pairs = Groups::of(both, pace)?;
        let summed = self.summed(values, &pairs, how, pace)?;
        // An additional row stands for missing values.
        let absent = if with_nan { missing(summed.ty()) } else { summed.ty().default_value() };
        let source = Column::concat(summed.ty(), &[summed.clone(), Column::filled(&absent, 1)])
            .expect("both are of the column's type");
        let mut taken: HashSet<Arc<str>> = by.iter().cloned().collect();
        let mut made_of = Vec::with_capacity(keys.len() + columns.first.len());
        for (name, key) in by.iter().zip(keys) {
            let of_rows = gathered(key, rows.first.iter().copied(), pace)?;
            made_of.push((Arc::clone(name), of_rows));
        }
        // The rows of each cell, by column; columns and groups are numbered by first occurrence.
        let mut of_columns: Vec<Vec<usize>> = vec![Vec::new(); columns.first.len()];
        for (pair, row) in pairs.first.iter().enumerate() {
            of_columns[columns.of_row[*row] as usize].push(pair);
        }
        for (label, of_column) in columns.first.iter().zip(of_columns) {
            pace.work(rows.first.len() + of_column.len()).map_err(said)?;
            let mut places = vec![summed.len(); rows.first.len()];
            for pair in of_column {
                places[rows.of_row[pairs.first[pair]] as usize] = pair;
            }
            let name = free(&texts[*label], &mut taken);
            made_of.push((name, gathered(&source, places.into_iter(), pace)?));
        }
        made(made_of)
    }

    /// One value for each cell.
    fn summed(
        &self,
        values: &Column,
        pairs: &Groups<'_>,
        how: Option<Summary>,
        pace: &mut Pace<'_>,
    ) -> Result<Column, String> {
        let of_pairs = pairs.rows(pace)?;
        let is_number = values.ty().lanes().is_some_and(|(_, n)| n == 1);
        match how {
            Some(how) if how.needs_numbers() && !is_number => {
                let ty = values.ty();
                Err(format!("the column `{}` contains {ty}, not numbers", self.values))
            }
            Some(how) => summed(values, &of_pairs, how, pace),
            None => {
                if let Some(several) = of_pairs.iter().find(|rows| rows.len() > 1) {
                    let of = |name: &str| {
                        let column = self.table.column(name).expect("its columns were found");
                        format!("`{name}` {}", column.get(several[0] as usize))
                    };
                    let keys: Vec<String> =
                        self.by.iter().map(|name| of(name)).chain([of(self.names)]).collect();
                    return Err(format!("{} rows have {}", several.len(), keys.join(", ")));
                }
                gathered(values, pairs.first.iter().copied(), pace)
            }
        }
    }
}

fn summary() -> NodeDef {
    on_table("table.summary", "Statistics of the columns of a table")
        .details(
            "One row for each column of numbers or booleans: its name, the number of values that \
             are not NaN, their mean, standard deviation (over n), minimum, median and maximum, \
             which are NaN if there are no values. All columns except name and count are `f64`.",
        )
        .output("value", table(), "columns name, count, mean, deviation, minimum, median, maximum")
        .function(tables::<(Table,)>(|_, (table,)| summed_up(&table)))
}

fn summed_up(table: &Table) -> Result<Table, String> {
    let mut names: Vec<Arc<str>> = Vec::new();
    let mut counts: Vec<i32> = Vec::new();
    let mut figures: [Vec<f64>; 5] = [const { Vec::new() }; 5];
    for (name, column) in table.columns() {
        if column.ty().lanes().is_none_or(|(_, n)| n != 1) {
            continue;
        }
        let mut numbers = numbers(column);
        numbers.retain(|x| !x.is_nan());
        numbers.sort_unstable_by(f64::total_cmp);
        let n = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / n;
        let variance = numbers.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
        let is_safe = is_safe(variance);
        let deviation =
            if is_safe { num::sqrt(variance) } else { deviation(numbers.iter().copied()) };
        let at = |place: usize| numbers.get(place).copied().unwrap_or(f64::NAN);
        let last = numbers.len().saturating_sub(1);
        let median = halfway(at(last / 2), at(numbers.len() / 2));
        names.push(Arc::clone(name));
        counts.push(i32::try_from(numbers.len()).unwrap_or(i32::MAX));
        let found = [mean, deviation, at(0), median, at(last)];
        figures.iter_mut().zip(found).for_each(|(column, x)| column.push(x));
    }
    let mut columns: Vec<(Arc<str>, Column)> = vec![
        ("name".into(), names.into_iter().collect()),
        ("count".into(), counts.into_iter().collect()),
    ];
    let titles = ["mean", "deviation", "minimum", "median", "maximum"];
    columns.extend(
        titles.into_iter().zip(figures).map(|(title, x)| (title.into(), x.into_iter().collect())),
    );
    made(columns)
}
