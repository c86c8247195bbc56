//! Tables in another shape: side by side, columns as rows, rows as columns, and what columns look like.

use std::collections::HashSet;
use std::sync::Arc;

use millstream_base::{Column, Table, Type, num};
use millstream_node::{Call, Default, NodeDef, Pace, Registry, SettingKind, SettingValue};

use super::alike::{Groups, gathered};
use super::group::{Summary, summed};
use super::rows::numbers;
use super::values::missing;
use super::{
    cells_within, column, made, on_table, said, table, table_at, tables, text_at, with_also, within,
};
use crate::reduce::spread::{deviation, is_safe};
use crate::reduce::statistics::halfway;

pub(super) fn register(registry: &mut Registry) {
    registry.register(beside());
    registry.register(melt());
    registry.register(pivot());
    registry.register(summary());
}

fn beside() -> NodeDef {
    NodeDef::new("table.beside", "The columns of tables side by side")
        .details(
            "Row by row; the tables that have columns must have as many rows. A column whose name is taken gets \
             `_2` behind it, or the next number that is free. For a key that rows have see `table.join`.",
        )
        .input("tables", table(), "the tables in order")
        .multiple()
        .output("value", table(), "")
        .kernel(|parts| {
            let n = parts.inputs.len();
            Ok(tables(move |call, i| {
                let mut columns: Vec<(Arc<str>, Column)> = Vec::new();
                let mut taken = HashSet::new();
                for table in (0..n).map(|k| table_at(call, k, i)).filter(|t| !t.columns().is_empty()) {
                    let had = columns.first().map_or(table.n_rows(), |(_, column)| column.len());
                    if had != table.n_rows() {
                        return Err(format!("a table of {} rows cannot stand beside one of {had}", table.n_rows()));
                    }
                    for (name, column) in table.columns() {
                        let name = free(name, &mut taken);
                        columns.push((name, column.clone()));
                    }
                }
                made(columns)
            }))
        })
}

/// The name, with a number if it is taken; it is taken then.
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
    names_setting(on_table("table.melt", "A table with columns written below each other"), "names of these columns")
        .details(
            "Each row becomes one row for each of the `columns`, with the name of the column and what stood there; \
             the other columns are repeated. The columns must hold the same type.",
        )
        .input("names", Type::STRING, "what the column of names is called")
        .or_value(Arc::<str>::from("name"))
        .input("values", Type::STRING, "what the column of values is called")
        .or_value(Arc::<str>::from("value"))
        .output("value", table(), "")
        .kernel(|parts| {
            let chosen: Vec<Arc<str>> = parts.settings.texts("columns").to_vec();
            Ok(tables(move |call, i| {
                let (table, names, values) = (table_at(call, 0, i), text_at(call, 1, i), text_at(call, 2, i));
                let long = table.n_rows().saturating_mul(chosen.len());
                within(long, call.limits()).map_err(|failure| failure.message)?;
                let others = table.columns().iter().filter(|(name, _)| !chosen.contains(name)).count();
                cells_within(long, others + 2, call.limits())?;
                melted(&table, &chosen, names, values)
            }))
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
        return Err("no columns are named to be written below each other".into());
    };
    let joined = Column::concat(first.ty(), &columns).ok_or_else(|| {
        let at = columns.iter().position(|column| column.ty() != first.ty()).unwrap_or(0);
        let (name, ty) = (&chosen[at], columns[at].ty());
        format!("the column `{}` holds {} and `{name}` {ty}", chosen[0], first.ty())
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
    ("last", "the last of them"),
    ("first", "the first of them"),
    ("only", "it fails, and names the place"),
    ("sum", "their sum"),
    ("mean", "their mean"),
    ("deviation", "their standard deviation (over n)"),
    ("median", "their median"),
    ("minimum", "the least of them"),
    ("maximum", "the greatest of them"),
    ("count", "their number"),
];

const ABSENT: &[(&str, &str)] = &[
    ("zero", "zero, false or the empty text"),
    ("missing", "NaN in columns of floats, in each component of vectors; as `zero` in others"),
];

fn pivot() -> NodeDef {
    with_also(on_table("table.pivot", "A table with rows written beside each other"))
        .details(
            "One row for each value of the column `by`, and of those of `also` together, and a column for each text in \
             the column `names`, with what stands in `values` where both come together: where there are several rows, \
             what `how` says, and where there is none, what `absent` says. Both in the order in which they come first. \
             Sums and their like are those of `table.group`. It undoes `table.melt`.",
        )
        .setting(
            "how",
            SettingKind::Choice(HOW),
            Some(SettingValue::Text("last".into())),
            "what is written where several rows come together",
        )
        .setting(
            "absent",
            SettingKind::Choice(ABSENT),
            Some(SettingValue::Text("zero".into())),
            "what is written where no row is",
        )
        .input("by", Type::STRING, "name of the column that says which row")
        .or(Default::Zero)
        .input("names", Type::STRING, "name of the column that says which column")
        .or_value(Arc::<str>::from("name"))
        .input("values", Type::STRING, "name of the column of values")
        .or_value(Arc::<str>::from("value"))
        .output("value", table(), "")
        .kernel(|parts| {
            let also: Vec<Arc<str>> = parts.settings.texts("also").to_vec();
            let how = Summary::of(parts.settings.text("how"));
            let with_nan = parts.settings.text("absent") == "missing";
            Ok(tables(move |call, i| {
                let table = table_at(call, 0, i);
                let [by, names, values] = [1, 2, 3].map(|input| text_at(call, input, i));
                let by: Vec<Arc<str>> = std::iter::once(by).chain(also.iter().cloned()).collect();
                let pivot = Pivot { table: &table, by: &by, names: &names, values: &values };
                pivot.made(how, with_nan, call)
            }))
        })
}

/// What is written beside each other.
struct Pivot<'a> {
    table: &'a Table,
    by: &'a [Arc<str>],
    names: &'a str,
    values: &'a str,
}

impl Pivot<'_> {
    /// The table; `how` several rows become one value, or none if there must be one row.
    fn made(&self, how: Option<Summary>, with_nan: bool, call: &Call<'_>) -> Result<Table, String> {
        let Self { table, by, names, values } = *self;
        let keys = super::keys(table, &by[0], &by[1..])?;
        let (labels, values) = (column(table, names)?, column(table, values)?);
        let Some(texts) = labels.as_slice::<Arc<str>>() else {
            return Err(format!("the column `{names}` holds {}, not string", labels.ty()));
        };
        let mut pace = call.pace();
        let columns = Groups::of(vec![labels], &mut pace)?;
        let rows = Groups::of(keys.clone(), &mut pace)?;
        cells_within(rows.first.len(), columns.first.len(), call.limits())?;
        let both: Vec<&Column> = keys.iter().copied().chain([labels]).collect();
        let pairs = Groups::of(both, &mut pace)?;
        let summed = self.summed(values, &pairs, how, &mut pace)?;
        // A row behind the others stands for a value that is missing.
        let absent = if with_nan { missing(summed.ty()) } else { summed.ty().default_value() };
        let source = Column::concat(summed.ty(), &[summed.clone(), Column::filled(&absent, 1)])
            .expect("both are of the column's type");
        let mut taken: HashSet<Arc<str>> = by.iter().cloned().collect();
        let mut made_of = Vec::with_capacity(keys.len() + columns.first.len());
        for (name, key) in by.iter().zip(keys) {
            let of_rows = gathered(key, rows.first.iter().copied(), &mut pace)?;
            made_of.push((Arc::clone(name), of_rows));
        }
        // The pairs of each column; both are numbered by their first rows.
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
            made_of.push((name, gathered(&source, places.into_iter(), &mut pace)?));
        }
        made(made_of)
    }

    /// One value for each pair of a row and a column.
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
                Err(format!("the column `{}` holds {ty}, which is no number", self.values))
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
    on_table("table.summary", "What the columns of numbers look like")
        .details(
            "A row for each column of numbers or conditions: its name, how many numbers it holds that are no NaN, \
             their mean, standard deviation (over n), least, median and greatest; NaN where there are none. All but \
             name and count are `f64`.",
        )
        .output("value", table(), "columns name, count, mean, deviation, minimum, median, maximum")
        .kernel(|_| Ok(tables(|call, i| summed_up(&table_at(call, 0, i)))))
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
