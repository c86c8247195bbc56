//! Tables: made of lists, read column by column, filtered, sorted, joined and grouped.
//!
//! A table is one value that many nodes share; a node that changes a table makes a new one. A
//! requested column must exist and have the right type, otherwise the node fails for that element
//! and names the column.

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
use millstream_node::{Call, Default, Failure, NodeDef, Registry, SettingKind, SettingValue};

use crate::each::{Arguments, Element, try_each};

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

/// A node whose first input is a table.
fn on_table(name: &'static str, summary: &'static str) -> NodeDef {
    NodeDef::new(name, summary).input_or("table", table(), Default::Zero, "")
}

/// The function that computes a table for each element.
fn tables<A: Arguments>(
    f: impl for<'v> Fn(&mut Element<'_>, A::Of<'v>) -> Result<Table, String> + Send + Sync + 'static,
) -> impl Fn(&mut Call<'_>) -> Result<(), Failure> + Send + Sync + 'static {
    try_each::<A, Table>(move |element, arguments| {
        let made = f(element, arguments).map_err(|message| element.failure(message))?;
        let at_element = |failure| Failure { element: Some(element.i), ..failure };
        within(made.n_rows(), element.limits).map_err(at_element)?;
        Ok(made)
    })
}

/// Checks a number of rows against the limits.
fn within(n_rows: usize, limits: &Limits) -> Result<(), Failure> {
    if n_rows <= limits.list_length {
        return Ok(());
    }
    Err(Failure::limit("rows in one table", n_rows, limits.list_length, "list_length"))
}

/// Checks the number of cells, rows times columns, of a table before it is made.
fn cells_within(n_rows: usize, n_columns: usize, limits: &Limits) -> Result<(), String> {
    let (cells, most) = (n_rows.saturating_mul(n_columns), limits.list_length);
    if cells <= most {
        return Ok(());
    }
    Err(format!("{cells} cells in one table, the limit is {most} (`list_length`)"))
}

/// The message of a failure without the element, which the node adds.
fn said(failure: Failure) -> String {
    failure.message
}

/// The column of this name, or a message.
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

/// Adds the setting with the further columns of a key.
fn with_also(def: NodeDef) -> NodeDef {
    def.setting(
        "also",
        SettingKind::Texts,
        Some(SettingValue::Texts(vec![])),
        "names of further key columns; rows match if all key columns do",
    )
}

/// The columns of a key, at least the first, or a message.
fn keys<'t>(table: &'t Table, first: &str, also: &[Arc<str>]) -> Result<Vec<&'t Column>, String> {
    let names = std::iter::once(first).chain(also.iter().map(|name| &**name));
    names.map(|name| column(table, name)).collect()
}

/// The table with these columns, or a message.
fn made(columns: Vec<(Arc<str>, Column)>) -> Result<Table, String> {
    Table::new(columns).map_err(|error| error.to_string())
}
