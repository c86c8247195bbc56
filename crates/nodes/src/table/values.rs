//! The values of a column: missing ones filled in, and conversion to another type.

use std::sync::Arc;

use millstream_base::{Column, Lane, Table, Type, Value};
use millstream_node::settings::SettingError;
use millstream_node::{Among, Default, NodeDef, Registry, SettingKind, SettingValue, SocketType};

use super::rows::{integer, number};
use super::{column, made, on_table, said, table, tables};
use crate::cells::function;
use crate::missing::{Filling, Given, filled, is_missing, may_miss};

pub(super) fn register(registry: &mut Registry) {
    registry.register(fill());
    registry.register(drop_missing());
    registry.register(cast());
}

fn fill() -> NodeDef {
    on_table("table.fill", "Fills in the missing values of a column")
        .details(
            "A float that is NaN (each component of vectors and colors separately) and a string \
             that is empty count as missing; integers and booleans are never missing. A missing \
             value without a neighbor on the requested side stays missing. A mean is summed from \
             the first row to the last. Strings can be filled with a value, or from the previous \
             or the next row.",
        )
        .choice("how", Filling::ALL, "value", "how missing values are replaced")
        .generic("T", Among::These(&[Type::F64, Type::STRING]))
        .input_or("name", Type::STRING, Default::Zero, "name of the column")
        .input_or("value", SocketType::Generic(0), 0.0, "replacement of missing values")
        .output("value", table(), "")
        .kernel(|parts| {
            let how = Filling::named(parts.settings.text("how"));
            Ok(if parts.generics[0] == Type::STRING {
                function(tables::<(Table, Arc<str>, Arc<str>)>(move |_, (table, name, value)| {
                    filled_in(&table, &name, how, &Given::Text(value))
                }))
            } else {
                function(tables::<(Table, Arc<str>, f64)>(move |_, (table, name, value)| {
                    filled_in(&table, &name, how, &Given::Number(value))
                }))
            })
        })
}

/// The table with the missing values of a column filled in.
fn filled_in(table: &Table, name: &str, how: Filling, value: &Given) -> Result<Table, String> {
    let column = column(table, name)?;
    let filled = filled(column, how, value).map_err(|problem| {
        format!("the column `{name}` contains {}, which {problem}", column.ty())
    })?;
    let with = |(known, old): &(Arc<str>, Column)| {
        (Arc::clone(known), if **known == *name { filled.clone() } else { old.clone() })
    };
    made(table.columns().iter().map(with).collect())
}

fn drop_missing() -> NodeDef {
    on_table("table.drop_missing", "Removes rows with missing values from a table")
        .details(
            "Missing values are NaN, vectors with a component that is NaN, and empty strings. \
             Integers, booleans and lists are never missing.",
        )
        .setting(
            "columns",
            SettingKind::Texts,
            Some(SettingValue::Texts(vec![])),
            "names of the columns to check; all columns if empty",
        )
        .output("value", table(), "")
        .kernel(|parts| {
            let names: Vec<Arc<str>> = parts.settings.texts("columns").to_vec();
            Ok(function(tables::<(Table,)>(move |element, (table,)| {
                let columns: Vec<&Column> = if names.is_empty() {
                    table.columns().iter().map(|(_, column)| column).collect()
                } else {
                    names.iter().map(|name| column(&table, name)).collect::<Result<_, String>>()?
                };
                let mut rows: Vec<usize> = (0..table.n_rows()).collect();
                let pace = &mut element.pace;
                for column in columns.into_iter().filter(|column| may_miss(column.ty())) {
                    pace.work(rows.len().saturating_mul(4)).map_err(said)?;
                    rows.retain(|row| !is_missing(column, *row));
                }
                Ok(table.gather(&rows))
            })))
        })
}

const OTHERWISE: &[(&str, &str)] = &[
    ("error", "the node fails"),
    ("missing", "it becomes NaN or the empty string, or 0 or false for other types"),
];

/// Types to which a column can be converted.
const TYPES: [Type; 6] = [Type::BOOL, Type::I32, Type::I64, Type::F32, Type::F64, Type::STRING];

fn cast() -> NodeDef {
    on_table("table.cast", "Converts a column of a table to another type")
        .converts()
        .details(
            "Floats become integers by truncation, as in `convert.to_i64`, and other floats by \
             rounding. True is 1, and a number is true unless it is 0. Strings are read as in CSV \
             files: decimal numbers, `nan`, `inf`, `-inf`, and `true` and `false` in any case, \
             with white space around them ignored. Numbers are written as by `string.from_number`. \
             `otherwise` applies to values that cannot be represented in the type: other strings, \
             numbers out of range, and NaN as an integer or boolean.",
        )
        .setting(
            "type",
            SettingKind::Type,
            Some(SettingValue::Type(Type::F64)),
            "bool, i32, i64, f32, f64 or string",
        )
        .choice(
            "otherwise",
            OTHERWISE,
            "error",
            "what to do with a value that the type cannot represent",
        )
        .input_or("name", Type::STRING, Default::Zero, "name of the column")
        .output("value", table(), "")
        .kernel(|parts| {
            let ty =
                parts.settings.ty("type").filter(|ty| TYPES.contains(ty)).ok_or_else(|| {
                    SettingError::refused(
                        "type",
                        "columns can be converted to bool, i32, i64, f32, \
                                               f64 or string",
                    )
                })?;
            let fails = parts.settings.text("otherwise") == "error";
            Ok(function(tables::<(Table, Arc<str>)>(move |_, (table, name)| {
                let column = column(&table, &name)?;
                let cast = if column.ty() == ty {
                    column.clone()
                } else if TYPES.contains(&column.ty()) {
                    let value = |row: usize| match as_type(column, row, ty) {
                        Some(value) => Ok(value),
                        None if fails => {
                            let found = column.get(row);
                            Err(format!(
                                "row {row} of the column `{name}` is {found}, which is not a valid \
                                 {ty}"
                            ))
                        }
                        None => Ok(missing(ty)),
                    };
                    let values =
                        (0..column.len()).map(value).collect::<Result<Vec<Value>, String>>()?;
                    ty.collect(&mut values.into_iter()).expect("all are of the type")
                } else {
                    let from = column.ty();
                    return Err(format!(
                        "the column `{name}` contains {from}, which cannot be converted to {ty}"
                    ));
                };
                let with = |(known, old): &(Arc<str>, Column)| {
                    (Arc::clone(known), if *known == name { cast.clone() } else { old.clone() })
                };
                made(table.columns().iter().map(with).collect())
            })))
        })
}

/// The value of a type that stands for one that cannot be represented.
pub(super) fn missing(ty: Type) -> Value {
    if ty == Type::F32 {
        Value::F32(f32::NAN)
    } else if ty == Type::F64 {
        Value::F64(f64::NAN)
    } else if let Some((Lane::F32, n)) = ty.lanes() {
        let nan = u64::from(f32::NAN.to_bits());
        Value::from_lanes(ty, &vec![nan; usize::from(n)]).expect("as many lanes as the type has")
    } else {
        ty.default_value()
    }
}

/// The value in a row converted to one of the [`TYPES`]; `None` if it cannot be represented.
fn as_type(column: &Column, row: usize, ty: Type) -> Option<Value> {
    if let Value::String(text) = column.get(row) {
        return read(text.trim(), ty);
    }
    let is_float = column.ty() == Type::F32 || column.ty() == Type::F64;
    if ty == Type::STRING {
        let written = match column.get(row) {
            Value::Bool(x) => x.to_string(),
            Value::F32(x) => x.to_string(),
            Value::F64(x) => x.to_string(),
            _ => integer(column, row).to_string(),
        };
        return Some(Value::from(written.to_ascii_lowercase().as_str()));
    }
    if is_float { of_float(number(column, row), ty) } else { of_integer(integer(column, row), ty) }
}

fn of_integer(x: i64, ty: Type) -> Option<Value> {
    Some(if ty == Type::BOOL {
        Value::Bool(x != 0)
    } else if ty == Type::I32 {
        Value::I32(i32::try_from(x).ok()?)
    } else if ty == Type::I64 {
        Value::I64(x)
    } else if ty == Type::F32 {
        Value::F32(x as f32)
    } else {
        Value::F64(x as f64)
    })
}

fn of_float(x: f64, ty: Type) -> Option<Value> {
    if ty == Type::F64 {
        return Some(Value::F64(x));
    } else if ty == Type::F32 {
        // A number that is too large is refused; an infinity stays infinite.
        let rounded = x as f32;
        return (rounded.is_finite() || !x.is_finite()).then_some(Value::F32(rounded));
    } else if x.is_nan() {
        return None;
    } else if ty == Type::BOOL {
        return Some(Value::Bool(x != 0.0));
    }
    // 2^63 is the first number that does not fit; its negative does.
    let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&x);
    if fits { of_integer(x as i64, ty) } else { None }
}

fn read(text: &str, ty: Type) -> Option<Value> {
    for (word, truth) in [("true", 1), ("false", 0)] {
        if text.eq_ignore_ascii_case(word) {
            return of_integer(truth, ty);
        }
    }
    let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
    if ty == Type::F32 {
        // Read from the digits, so that it is rounded only once.
        let x: f32 = text.parse().ok()?;
        return (x.is_finite() || !has_digit).then_some(Value::F32(x));
    }
    match text.parse::<i64>() {
        Ok(x) if ty != Type::F64 => of_integer(x, ty),
        _ => {
            let x: f64 = text.parse().ok()?;
            if x.is_infinite() && has_digit { None } else { of_float(x, ty) }
        }
    }
}
