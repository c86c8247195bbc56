//! Tables: made of lists, read column by column, filtered, sorted, joined and grouped.
//!
//! A table is one value that many nodes share; what changes one makes another. A column that is asked
//! for must be there and of the right type, else the node fails at that element and names it.

mod alike;
mod combine;
mod group;
mod make;
mod reshape;
#[cfg(test)]
mod reshape_tests;
mod rows;
#[cfg(test)]
mod tests;
pub(crate) mod values;
#[cfg(test)]
mod values_tests;

use std::sync::Arc;

use millstream_base::diagnostics::did_you_mean;
use millstream_base::{Column, Limits, Table, Type};
use millstream_node::{
    Call, Default, Failure, Kernel, NodeDef, Registry, SettingKind, SettingValue,
};

use crate::cells::{Cells, function};

/// Adds the type and the nodes of this family.
pub fn register(registry: &mut Registry) {
    registry.register_type(Type::of::<Table>());
    make::register(registry);
    rows::register(registry);
    combine::register(registry);
    group::register(registry);
    reshape::register(registry);
    values::register(registry);
}

fn table() -> Type {
    Type::of::<Table>()
}

fn list_of(ty: Type) -> Type {
    ty.list().expect("lists of simple values exist")
}

/// A node whose first input is a table.
fn on_table(name: &'static str, summary: &'static str) -> NodeDef {
    NodeDef::new(name, summary).input("table", table(), "").or(Default::Zero)
}

/// The kernel that gives a table for each element.
fn tables(f: impl Fn(&Call<'_>, usize) -> Result<Table, String> + Send + Sync + 'static) -> Kernel {
    function(move |call| {
        let mut cells = Cells::<Table>::new(call);
        cells.fill(call, |i| {
            let made = f(call, i).map_err(|message| Failure::at(i, message))?;
            within(made.n_rows(), call.limits()).map_err(|f| Failure { element: Some(i), ..f })?;
            Ok(made)
        })?;
        cells.put(call);
        Ok(())
    })
}

/// Checks a number of rows against the limits.
fn within(n_rows: usize, limits: &Limits) -> Result<(), Failure> {
    if n_rows <= limits.list_length {
        return Ok(());
    }
    Err(Failure::limit("rows in one table", n_rows, limits.list_length, "list_length"))
}

/// Checks the cells of a table that is about to be made: rows times columns.
fn cells_within(n_rows: usize, n_columns: usize, limits: &Limits) -> Result<(), String> {
    let (cells, most) = (n_rows.saturating_mul(n_columns), limits.list_length);
    if cells <= most {
        return Ok(());
    }
    Err(format!("{cells} cells in one table, the limit is {most} (`list_length`)"))
}

/// What is wrong, without the element, which the node adds.
fn said(failure: Failure) -> String {
    failure.message
}

fn table_at(call: &Call<'_>, input: usize, i: usize) -> Table {
    call.input::<Table>(input).get(i)
}

fn text_at(call: &Call<'_>, input: usize, i: usize) -> Arc<str> {
    call.input::<Arc<str>>(input).get(i)
}

/// The column of this name, or what is wrong.
fn column<'t>(table: &'t Table, name: &str) -> Result<&'t Column, String> {
    table.column(name).ok_or_else(|| {
        let known = table.columns().iter().map(|(name, _)| &**name);
        let hint = match did_you_mean(name, known.clone()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.clone().next().is_none() => "it has no columns".into(),
            None => {
                let names: Vec<String> = known.take(12).map(|name| format!("`{name}`")).collect();
                format!("it has {}", names.join(", "))
            }
        };
        format!("the table has no column `{name}`; {hint}")
    })
}

/// Adds the setting that names further columns of a key.
fn with_also(def: NodeDef) -> NodeDef {
    def.setting(
        "also",
        SettingKind::Texts,
        Some(SettingValue::Texts(vec![])),
        "names of further columns, all of which must be the same",
    )
}

/// The columns of a key, or what is wrong: at least the first.
fn keys<'t>(table: &'t Table, first: &str, also: &[Arc<str>]) -> Result<Vec<&'t Column>, String> {
    let names = std::iter::once(first).chain(also.iter().map(|name| &**name));
    names.map(|name| column(table, name)).collect()
}

/// The table of these columns, or what is wrong with them.
fn made(columns: Vec<(Arc<str>, Column)>) -> Result<Table, String> {
    Table::new(columns).map_err(|error| error.to_string())
}
