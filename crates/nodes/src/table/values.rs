//! The values of a column: missing ones filled in, and conversion to another type.

use std::sync::Arc;

use millstream_base::{Color, Column, Lane, Type, Value, Vec2, Vec3, Vec4};
use millstream_node::settings::SettingError;
use millstream_node::{
    Among, Call, Default, NodeDef, Registry, SettingKind, SettingValue, SocketType,
};

use super::rows::{number, whole};
use super::{column, made, on_table, said, table, table_at, tables, text_at};
use crate::reduce::statistics::halfway;

pub(super) fn register(registry: &mut Registry) {
    registry.register(fill());
    registry.register(drop_missing());
    registry.register(cast());
}

pub(crate) const HOW: &[(&str, &str)] = &[
    ("value", "with `value`"),
    ("before", "the nearest present value before it"),
    ("behind", "the nearest present value after it"),
    ("line", "linear interpolation between the neighbors, by row"),
    ("mean", "the mean of the present values"),
    ("median", "the median of the present values"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Value,
    Before,
    Behind,
    Line,
    Mean,
    Median,
}

impl How {
    pub(crate) fn of(name: &str) -> Self {
        match name {
            "before" => Self::Before,
            "behind" => Self::Behind,
            "line" => Self::Line,
            "mean" => Self::Mean,
            "median" => Self::Median,
            _ => Self::Value,
        }
    }
}

fn fill() -> NodeDef {
    on_table("table.fill", "Fills in the missing values of a column")
        .details(
            "A float that is NaN (each component of vectors and colors separately) and a text that \
             is empty count as missing; integers and booleans are never missing. A missing value \
             without a neighbor on the requested side stays missing. A mean is summed from the \
             first row to the last. Texts can be filled with a value, or from the previous or the \
             next row.",
        )
        .choice("how", HOW, "value", "how missing values are replaced")
        .generic("T", Among::These(&[Type::F64, Type::STRING]))
        .input("name", Type::STRING, "name of the column")
        .or(Default::Zero)
        .input("value", SocketType::Generic(0), "replacement of missing values")
        .or_number(0.0)
        .output("value", table(), "")
        .kernel(|parts| {
            let (how, is_text) =
                (How::of(parts.settings.text("how")), parts.generics[0] == Type::STRING);
            Ok(tables(move |call, i| {
                let (table, name) = (table_at(call, 0, i), text_at(call, 1, i));
                let column = column(&table, &name)?;
                let filled = filled(column, how, &given(call, i, is_text)).map_err(|problem| {
                    format!("the column `{name}` contains {}, which {problem}", column.ty())
                })?;
                let with = |(known, old): &(Arc<str>, Column)| {
                    (Arc::clone(known), if *known == name { filled.clone() } else { old.clone() })
                };
                made(table.columns().iter().map(with).collect())
            }))
        })
}

/// The value that replaces missing ones.
pub(crate) enum Given {
    Number(f64),
    Text(Arc<str>),
}

fn given(call: &Call<'_>, i: usize, is_text: bool) -> Given {
    if is_text {
        Given::Text(text_at(call, 2, i))
    } else {
        Given::Number(call.input::<f64>(2).get(i))
    }
}

/// The column with its missing values filled in, or the reason why that is impossible.
pub(crate) fn filled(column: &Column, how: How, value: &Given) -> Result<Column, &'static str> {
    if let Some(texts) = column.as_slice::<Arc<str>>() {
        return filled_texts(texts, how, value);
    }
    if [Type::BOOL, Type::I32, Type::I64].contains(&column.ty()) {
        return Ok(column.clone());
    }
    let value = match value {
        Given::Number(number) => *number,
        Given::Text(_) if how == How::Value => return Err("cannot be filled with a text"),
        Given::Text(_) => f64::NAN,
    };
    let by_component = |n: usize, component: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<f64>> {
        let series = |c: usize| (0..column.len()).map(|row| component(row, c)).collect();
        (0..n).map(|c| filled_numbers(series(c), how, value)).collect()
    };
    /// The column of vectors with these components.
    macro_rules! of_vectors {
        ($ty:ident, $n:literal) => {
            if let Some(items) = column.as_slice::<$ty>() {
                let series = by_component($n, &|row, c| items[row].0[c].into());
                let item = |row: usize| $ty(std::array::from_fn(|c| series[c][row] as f32));
                return Ok((0..items.len()).map(item).collect());
            }
        };
    }
    if column.ty() == Type::F64 || column.ty() == Type::F32 {
        let series = by_component(1, &|row, _| number(column, row)).swap_remove(0);
        return Ok(if column.ty() == Type::F64 {
            series.into_iter().collect()
        } else {
            series.into_iter().map(|x| x as f32).collect()
        });
    }
    of_vectors!(Vec2, 2);
    of_vectors!(Vec3, 3);
    of_vectors!(Vec4, 4);
    of_vectors!(Color, 4);
    Err("has no missing values to fill")
}

fn drop_missing() -> NodeDef {
    on_table("table.drop_missing", "Removes rows with missing values from a table")
        .details(
            "Missing values are NaN, vectors with a component that is NaN, and empty texts. \
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
            Ok(tables(move |call, i| {
                let table = table_at(call, 0, i);
                let columns: Vec<&Column> = if names.is_empty() {
                    table.columns().iter().map(|(_, column)| column).collect()
                } else {
                    names.iter().map(|name| column(&table, name)).collect::<Result<_, String>>()?
                };
                let mut rows: Vec<usize> = (0..table.n_rows()).collect();
                let mut pace = call.pace();
                for column in columns.into_iter().filter(|column| may_miss(column.ty())) {
                    pace.work(rows.len().saturating_mul(4)).map_err(said)?;
                    rows.retain(|row| !is_missing(column, *row));
                }
                Ok(table.gather(&rows))
            }))
        })
}

/// Whether a type has a value that stands for a missing one.
fn may_miss(ty: Type) -> bool {
    ty == Type::STRING || ty.lanes().is_some_and(|(lane, _)| matches!(lane, Lane::F32 | Lane::F64))
}

/// Whether a value is missing: NaN, a vector with a NaN component, or the empty text.
pub(crate) fn is_missing(column: &Column, row: usize) -> bool {
    let value = column.get(row);
    match (&value, value.ty().lanes()) {
        (Value::String(text), _) => text.is_empty(),
        (_, Some((Lane::F64, _))) => number(column, row).is_nan(),
        (_, Some((Lane::F32, n))) => (0..usize::from(n))
            .any(|i| value.lane(i).is_some_and(|bits| f32::from_bits(bits as u32).is_nan())),
        _ => false,
    }
}

fn filled_texts(texts: &[Arc<str>], how: How, value: &Given) -> Result<Column, &'static str> {
    let is_there = |text: &Arc<str>| !text.is_empty();
    let mut filled = texts.to_vec();
    match (how, value) {
        (How::Value, Given::Text(value)) => {
            for text in filled.iter_mut().filter(|text| text.is_empty()) {
                *text = Arc::clone(value);
            }
        }
        (How::Value, Given::Number(_)) => return Err("cannot be filled with a number"),
        (How::Before, _) => carried(&mut filled, 0..texts.len(), is_there),
        (How::Behind, _) => carried(&mut filled, (0..texts.len()).rev(), is_there),
        (How::Line | How::Mean | How::Median, _) => {
            return Err("can only be filled with a value or a neighbor");
        }
    }
    Ok(filled.into_iter().collect())
}

/// Replaces each missing value by the last present one, in this order of rows.
fn carried<T: Clone>(
    items: &mut [T],
    rows: impl Iterator<Item = usize>,
    is_there: impl Fn(&T) -> bool,
) {
    let mut last: Option<T> = None;
    for row in rows {
        if is_there(&items[row]) {
            last = Some(items[row].clone());
        } else if let Some(last) = &last {
            items[row] = last.clone();
        }
    }
}

fn filled_numbers(mut items: Vec<f64>, how: How, value: f64) -> Vec<f64> {
    let is_there = |x: &f64| !x.is_nan();
    let n = items.len();
    let with = match how {
        How::Value => value,
        How::Before => {
            carried(&mut items, 0..n, is_there);
            return items;
        }
        How::Behind => {
            carried(&mut items, (0..n).rev(), is_there);
            return items;
        }
        How::Line => {
            lined(&mut items);
            return items;
        }
        How::Mean => {
            let (sum, n) =
                items.iter().filter(|x| is_there(x)).fold((0.0, 0), |(sum, n), x| (sum + x, n + 1));
            sum / f64::from(n)
        }
        How::Median => {
            let mut there: Vec<f64> = items.iter().copied().filter(is_there).collect();
            there.sort_unstable_by(f64::total_cmp);
            let last = there.len().saturating_sub(1);
            there.get(last / 2).map_or(f64::NAN, |low| halfway(*low, there[there.len() / 2]))
        }
    };
    for x in items.iter_mut().filter(|x| x.is_nan()) {
        *x = with;
    }
    items
}

/// Fills gaps between two present values by linear interpolation.
fn lined(items: &mut [f64]) {
    let mut before: Option<usize> = None;
    for row in 0..items.len() {
        if items[row].is_nan() {
            continue;
        }
        if let Some(start) = before {
            let (from, to, width) = (items[start], items[row], (row - start) as f64);
            for (k, x) in items[start + 1..row].iter_mut().enumerate() {
                let t = (k + 1) as f64 / width;
                *x = from * (1.0 - t) + to * t;
            }
        }
        before = Some(row);
    }
}

const OTHERWISE: &[(&str, &str)] = &[
    ("error", "the node fails"),
    ("missing", "it becomes NaN or the empty text, or 0 or false for other types"),
];

/// Types to which a column can be converted.
const TYPES: [Type; 6] = [Type::BOOL, Type::I32, Type::I64, Type::F32, Type::F64, Type::STRING];

fn cast() -> NodeDef {
    on_table("table.cast", "Converts a column of a table to another type")
        .converts()
        .details(
            "Floats become integers by truncation, as in `convert.to_i64`, and other floats by \
             rounding. True is 1, and a number is true unless it is 0. Texts are read as in CSV \
             files: decimal numbers, `nan`, `inf`, `-inf`, and `true` and `false` in any case, \
             with white space around them ignored. Numbers are written as by `string.from_number`. \
             `otherwise` applies to values that cannot be represented in the type: other texts, \
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
        .input("name", Type::STRING, "name of the column")
        .or(Default::Zero)
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
            Ok(tables(move |call, i| {
                let (table, name) = (table_at(call, 0, i), text_at(call, 1, i));
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
            }))
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
            _ => whole(column, row).to_string(),
        };
        return Some(Value::from(written.to_ascii_lowercase().as_str()));
    }
    if is_float { of_float(number(column, row), ty) } else { of_whole(whole(column, row), ty) }
}

fn of_whole(x: i64, ty: Type) -> Option<Value> {
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
    if fits { of_whole(x as i64, ty) } else { None }
}

fn read(text: &str, ty: Type) -> Option<Value> {
    for (word, truth) in [("true", 1), ("false", 0)] {
        if text.eq_ignore_ascii_case(word) {
            return of_whole(truth, ty);
        }
    }
    let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
    if ty == Type::F32 {
        // Read from the digits, so that it is rounded only once.
        let x: f32 = text.parse().ok()?;
        return (x.is_finite() || !has_digit).then_some(Value::F32(x));
    }
    match text.parse::<i64>() {
        Ok(x) if ty != Type::F64 => of_whole(x, ty),
        _ => {
            let x: f64 = text.parse().ok()?;
            if x.is_infinite() && has_digit { None } else { of_float(x, ty) }
        }
    }
}
