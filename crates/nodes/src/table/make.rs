//! Tables from lists, and lists from tables.

use std::sync::Arc;

use millstream_base::{Column, Table, Type};
use millstream_node::settings::SettingError;
use millstream_node::{
    Among, Call, Default, Failure, NodeDef, Registry, SettingKind, SettingValue, Settings,
    Signature, SocketType,
};

use super::{column, made, on_table, table, tables};
use crate::cells::{ListCells, function};
use crate::each::{All, List, Text, each, each_list};
use crate::shape::{list_of, sockets_of};

pub(super) fn register(registry: &mut Registry) {
    registry.register(make());
    registry.register(with_column());
    registry.register(read_column());
    registry.register(names());
    registry.register(count());
    registry.register(has());
}

/// Names of the generics, one for each column that can be made at once.
const GENERICS: [&str; 16] = [
    "T0", "T1", "T2", "T3", "T4", "T5", "T6", "T7", "T8", "T9", "T10", "T11", "T12", "T13", "T14",
    "T15",
];

fn make() -> NodeDef {
    NodeDef::new("table.make", "A table from lists")
        .details("Fails if the lists have different lengths. To add more columns use `table.set`.")
        .setting(
            "names",
            SettingKind::Texts,
            Some(SettingValue::Texts(vec!["a".into()])),
            "names of the columns, at most 16; each adds an input `column_0`, `column_1`, ...",
        )
        .sockets_by_settings(signature)
        .kernel(|parts| {
            let names: Vec<Arc<str>> = parts.settings.texts("names").to_vec();
            Ok(function(tables::<All<List>>(move |_, lists| {
                made(names.iter().cloned().zip(lists).collect())
            })))
        })
}

fn signature(settings: &Settings) -> Result<Signature, SettingError> {
    let names = settings.texts("names");
    let n = names.len();
    if n > GENERICS.len() {
        let message = format!("{n} columns are too many; the limit is {}", GENERICS.len());
        return Err(SettingError::refused("names", message));
    }
    if let Some(name) = (0..n).find(|i| names[..*i].contains(&names[*i])).map(|i| &names[i]) {
        return Err(SettingError::refused(
            "names",
            format!("the column name `{name}` is used twice"),
        ));
    }
    let def =
        GENERICS[..n].iter().fold(NodeDef::new("", ""), |def, name| def.generic(name, Among::Any));
    let def = names.iter().enumerate().fold(def, |def, (i, name)| {
        let about = format!("values of the column `{name}`");
        def.input_or(format!("column_{i}"), SocketType::ListOf(i as u16), Default::Zero, about)
    });
    Ok(sockets_of(&def.output("value", table(), "")))
}

fn with_column() -> NodeDef {
    on_table("table.set", "Adds or replaces a column of a table")
        .details(
            "Replaces the column of that name, or adds it after the others. It must be as long as \
             they are.",
        )
        .generic("T", Among::Any)
        .input_or("name", Type::STRING, Default::Zero, "name of the column")
        .input("list", SocketType::ListOf(0), "values of the column")
        .output("value", table(), "")
        .function(tables::<(Table, Arc<str>, List)>(|_, (table, name, list)| {
            let mut columns = table.columns().to_vec();
            match columns.iter_mut().find(|(known, _)| *known == name) {
                Some((_, column)) => *column = list,
                None => columns.push((name, list)),
            }
            made(columns)
        }))
}

fn read_column() -> NodeDef {
    on_table("table.column", "Reads a column of a table as a list")
        .converts()
        .details(
            "Integers and booleans can also be read as floats, and each type as a wider one of its \
             kind; `f64` can be read as `f32` with rounding. Any other column must have the \
             requested type.",
        )
        .setting(
            "type",
            SettingKind::Type,
            Some(SettingValue::Type(Type::F64)),
            "type of the values",
        )
        .sockets_by_settings(|settings| {
            let ty = settings.ty("type").and_then(Type::list);
            let ty =
                ty.ok_or_else(|| SettingError::refused("type", "there are no lists of this type"))?;
            let sockets = on_table("", "")
                .input_or("name", Type::STRING, Default::Zero, "name of the column")
                .output("value", ty, "one item per row");
            Ok(sockets_of(&sockets))
        })
        .kernel(|parts| {
            let ty = parts.settings.ty("type").expect("the sockets were made of it");
            Ok(function(move |call| columns(call, ty)))
        })
}

fn columns(call: &mut Call<'_>, ty: Type) -> Result<(), Failure> {
    // The columns of all elements are concatenated, and each element takes its part.
    let (tables, names) = (call.input::<Table>(0), call.input::<Arc<str>>(1));
    let mut found: Vec<Column> = Vec::new();
    let mut starts = vec![0; call.extent()];
    let mut lengths = vec![0; call.extent()];
    let mut n = 0;
    for i in call.mask() {
        let (table, name) = (tables.get(i), names.get(i));
        let read = column(&table, &name).and_then(|column| {
            as_type(column, ty)
                .ok_or_else(|| format!("the column `{name}` contains {}, not {ty}", column.ty()))
        });
        let read = read.map_err(|message| Failure::at(i, message))?;
        (starts[i], lengths[i]) = (n, read.len());
        n += read.len();
        found.push(read);
        if call.is_uniform() {
            break;
        }
    }
    let source = Column::concat(ty, &found).expect("all are of the type");
    let mut cells = ListCells::new(call);
    cells.fill(
        call,
        |i| lengths[i],
        |i, positions| {
            positions.extend(starts[i]..starts[i] + lengths[i]);
            Ok(())
        },
    )?;
    cells.put_from(call, &source)
}

/// A column converted to another type of numbers, if that loses nothing but precision.
fn as_type(column: &Column, ty: Type) -> Option<Column> {
    let from = column.ty();
    if from == ty {
        return Some(column.clone());
    }
    let widens = [Type::BOOL, Type::I32, Type::I64, Type::F32, Type::F64];
    let rank = |ty: Type| widens.iter().position(|other| *other == ty);
    let (a, b) = (rank(from)?, rank(ty)?);
    if a > b && (from, ty) != (Type::F64, Type::F32) {
        return None;
    }
    let number = |i: usize| super::rows::number(column, i);
    let integer = |i: usize| super::rows::integer(column, i);
    let n = column.len();
    Some(if ty == Type::F64 {
        (0..n).map(number).collect()
    } else if ty == Type::F32 {
        (0..n).map(|i| number(i) as f32).collect()
    } else if ty == Type::I64 {
        (0..n).map(integer).collect()
    } else {
        (0..n).map(|i| integer(i) as i32).collect()
    })
}

fn names() -> NodeDef {
    on_table("table.names", "The names of the columns of a table")
        .output("value", list_of(Type::STRING), "names in order")
        .function(each_list::<(Table,), Arc<str>>(
            |(table,)| table.columns().len(),
            |_, (table,), names| {
                names.extend(table.columns().iter().map(|(name, _)| Arc::clone(name)));
                Ok(())
            },
        ))
}

fn count() -> NodeDef {
    on_table("table.count", "The number of rows of a table")
        .output("value", Type::I32, "number of rows; 0 for a table without columns")
        .function(each::<(Table,), _>(|(table,)| i32::try_from(table.n_rows()).unwrap_or(i32::MAX)))
}

fn has() -> NodeDef {
    on_table("table.has", "Whether a table has a column")
        .input_or("name", Type::STRING, Default::Zero, "name of the column")
        .output("value", Type::BOOL, "")
        .function(each::<(Table, Text), _>(|(table, name)| table.column(name).is_some()))
}
