//! Literals: values as JSON, the notation of documents, printed graphs and tables.
//!
//! Every literal reads back to the same bits. Numbers that JSON lacks are the strings `"nan"`,
//! `"inf"` and `"-inf"`. Output for people, and [`to_plain_json`], omit the types of table columns;
//! such tables read back with the same values, but as 64-bit types.

use std::fmt;

use serde_json::Value as Json;

use crate::diagnostics::counted;
use crate::footprint::Footprint;
use crate::lane::Lane;
use crate::value::Value;
use crate::value::column::Column;
use crate::value::image::Image;
use crate::value::table::Table;
use crate::value::types::{Kind, Type};

mod footprint;
mod image;
mod table;

/// Why a JSON value is not a literal of a type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
pub enum LiteralError {
    /// The JSON value has the wrong shape.
    #[error("{found} is not {}", ty.with_article())]
    #[diagnostic(code(literal::type_mismatch), help("{} is written as {form}", ty.with_article()))]
    Mismatch {
        /// The requested type.
        ty: Type,
        /// The JSON value, shortened.
        found: String,
        /// How a literal of the type is written.
        form: String,
    },
    /// The number is out of the type's range.
    #[error("{found} does not fit {}", ty.with_article())]
    #[diagnostic(code(literal::out_of_range), help("{range}"))]
    OutOfRange {
        /// The requested type.
        ty: Type,
        /// The number.
        found: String,
        /// The range of the type.
        range: &'static str,
    },
    /// Values of the type have no notation.
    #[error("{} cannot be written in a document", ty.with_article())]
    #[diagnostic(code(literal::opaque), help("link it from a node or an input"))]
    Opaque {
        /// The type.
        ty: Type,
    },
}

/// Reads a literal of type `ty`.
///
/// # Errors
/// If the JSON value is not a literal of that type.
pub fn from_json(ty: Type, json: &Json) -> Result<Value, LiteralError> {
    let mismatch = || LiteralError::Mismatch { ty, found: shortened(json), form: form_of(ty) };
    match ty.kind() {
        Kind::Lanes(lane, 1) => {
            let bits = lane_from_json(lane, json).map_err(|error| error.at(ty, json))?;
            Value::from_lanes(ty, &[bits]).ok_or_else(mismatch)
        }
        Kind::Lanes(lane, n) => {
            let items = json.as_array().filter(|items| items.len() == n as usize);
            let items = items.or_else(|| {
                // The alpha of a color may be omitted.
                json.as_array().filter(|items| ty == Type::COLOR && items.len() == 3)
            });
            let items = items.ok_or_else(mismatch)?;
            let mut lanes = Vec::with_capacity(n as usize);
            for item in items {
                lanes.push(lane_from_json(lane, item).map_err(|error| error.at(ty, json))?);
            }
            lanes.resize(n as usize, u64::from(1.0_f32.to_bits()));
            Value::from_lanes(ty, &lanes).ok_or_else(mismatch)
        }
        Kind::String => json.as_str().map(Value::from).ok_or_else(mismatch),
        Kind::List(element) => {
            let items = json.as_array().ok_or_else(mismatch)?;
            let values: Result<Vec<Value>, _> =
                items.iter().map(|item| from_json(element, item)).collect();
            let column = element.collect(&mut values?.into_iter());
            column.map(Value::List).ok_or_else(mismatch)
        }
        Kind::Opaque if ty == Type::of::<Table>() => {
            Table::from_json(json).map(Value::from).ok_or_else(mismatch)
        }
        Kind::Opaque if ty == Type::of::<Footprint>() => {
            Footprint::from_json(json).map(Value::from).ok_or_else(mismatch)
        }
        Kind::Opaque if ty == Type::of::<Image>() => {
            Image::from_json(json).map(Value::from).ok_or_else(mismatch)
        }
        Kind::Opaque => Err(LiteralError::Opaque { ty }),
    }
}

enum LaneError {
    Shape,
    Range(&'static str),
}

impl LaneError {
    fn at(self, ty: Type, json: &Json) -> LiteralError {
        let found = shortened(json);
        match self {
            Self::Shape => LiteralError::Mismatch { ty, found, form: form_of(ty) },
            Self::Range(range) => LiteralError::OutOfRange { ty, found, range },
        }
    }
}

fn lane_from_json(lane: Lane, json: &Json) -> Result<u64, LaneError> {
    match lane {
        Lane::Bool => json.as_bool().map(u64::from).ok_or(LaneError::Shape),
        Lane::I32 => {
            let range = LaneError::Range("-2147483648 to 2147483647 fit");
            integer(json)?.and_then(|x| i32::try_from(x).ok()).map(|x| x as u32 as u64).ok_or(range)
        }
        Lane::I64 => {
            let range = LaneError::Range(
                "-9223372036854775808 to 9223372036854775807 fit; beyond 9007199254740992, write \
                 all digits, without a point or an exponent",
            );
            integer(json)?.map(|x| x as u64).ok_or(range)
        }
        Lane::F32 => {
            let x = float(json)?;
            let single = narrowed(x);
            if x.is_finite() && !single.is_finite() {
                return Err(LaneError::Range(
                    "up to 3.4028235e38 fits; write \"inf\" for infinity",
                ));
            }
            Ok(u64::from(single.to_bits()))
        }
        Lane::F64 => Ok(float(json)?.to_bits()),
    }
}

/// An integer, perhaps written with a zero fraction; `None` if it does not fit into 64 bits.
fn integer(json: &Json) -> Result<Option<i64>, LaneError> {
    let number = json.as_number().ok_or(LaneError::Shape)?;
    if let Some(x) = number.as_i64() {
        return Ok(Some(x));
    }
    let x = number.as_f64().ok_or(LaneError::Shape)?;
    if x.fract() != 0.0 {
        return Err(LaneError::Shape);
    }
    // 2^53 bounds the integers that a float holds exactly.
    Ok((x.abs() <= 9_007_199_254_740_992.0).then_some(x as i64))
}

fn float(json: &Json) -> Result<f64, LaneError> {
    match json {
        Json::Number(number) => number.as_f64().ok_or(LaneError::Shape),
        Json::String(text) => match text.as_str() {
            "nan" => Ok(f64::NAN),
            "inf" => Ok(f64::INFINITY),
            "-inf" => Ok(f64::NEG_INFINITY),
            _ => Err(LaneError::Shape),
        },
        Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => Err(LaneError::Shape),
    }
}

/// The `f32` nearest to the number as written. Rounding `x` gives a different one only if `x` is
/// halfway between two `f32`, which the written digits may not have been.
fn narrowed(x: f64) -> f32 {
    const BELOW_A_MIDDLE: u64 = (1 << 28) - 1;
    let single = x as f32;
    if f64::from(single) == x || x.to_bits() & BELOW_A_MIDDLE != 0 {
        return single;
    }
    // An `f64` prints with the digits it was read from if there were at most 15. Of more digits only
    // the `f64` is known.
    let written = x.abs().to_string();
    let digits = written.trim_start_matches(['0', '.']).trim_end_matches('0');
    let n_digits = digits.bytes().filter(u8::is_ascii_digit).count();
    if n_digits <= 15 { x.to_string().parse().unwrap_or(single) } else { single }
}

fn shortened(json: &Json) -> String {
    let what = match json {
        Json::Array(items) if items.len() > 4 => return format!("a list of {} items", items.len()),
        Json::Object(_) => return "an object".into(),
        Json::Number(number) => written(number),
        _ => json.to_string(),
    };
    if what.chars().count() > 40 {
        format!("{}...", what.chars().take(37).collect::<String>())
    } else {
        what
    }
}

/// A number as formulas write it: perhaps with a sign, and without digits before or after the point.
/// `None` if the text is none, or if the number is too large.
pub fn formula_number(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_number = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    text.parse().ok().filter(|number: &f64| is_number && number.is_finite())
}

/// A number as people write it: a whole number with all its digits, unless these are very many.
fn written(number: &serde_json::Number) -> String {
    const MAX_DIGITS: f64 = 1e24;
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(x) if x.abs() >= MAX_DIGITS => format!("{x:e}"),
        Some(x) if x.fract() == 0.0 && x.abs() >= 1e15 => format!("{x:.0}"),
        Some(_) | None => number.to_string(),
    }
}

/// How a literal of the type is written, for messages.
pub fn form_of(ty: Type) -> String {
    match ty.kind() {
        Kind::Lanes(Lane::Bool, _) => "true or false".into(),
        Kind::Lanes(Lane::I32 | Lane::I64, _) => "an integer".into(),
        Kind::Lanes(Lane::F32 | Lane::F64, 1) => "a number".into(),
        Kind::Lanes(_, n) => format!("a list of {n} numbers"),
        Kind::String => "a string in quotes".into(),
        Kind::List(element) => format!("a list, each {}", form_of(element)),
        Kind::Opaque if ty == Type::of::<Table>() => {
            "an object of lists of equal length, each of one kind of value or as \
             {\"type\": TYPE, \"values\": LIST}"
                .into()
        }
        Kind::Opaque if ty == Type::of::<Footprint>() => {
            "an object with the `resolution`, two integers, and optionally `crop` and `transform`"
                .into()
        }
        Kind::Opaque if ty == Type::of::<Image>() => image::FORM.into(),
        Kind::Opaque => "nothing: it can only be linked".into(),
    }
}

/// The value as JSON; `null` for opaque values without a notation, that is, all but tables,
/// footprints and images.
pub fn to_json(value: &Value) -> Json {
    match value {
        Value::Bool(x) => Json::Bool(*x),
        Value::I32(x) => Json::from(*x),
        Value::I64(x) => Json::from(*x),
        Value::F32(x) => f32_to_json(*x),
        Value::F64(x) => f64_to_json(*x),
        Value::String(text) => Json::String(text.to_string()),
        Value::List(elements) => Json::Array(elements.iter().map(|v| to_json(&v)).collect()),
        Value::Vec2(v) => lanes_to_json(&v.0),
        Value::Vec3(v) => lanes_to_json(&v.0),
        Value::Vec4(v) => lanes_to_json(&v.0),
        Value::Quat(v) => lanes_to_json(&v.0),
        Value::Color(v) => lanes_to_json(&v.0),
        Value::Mat4(v) => lanes_to_json(&v.0),
        Value::Opaque(opaque) => {
            let footprint = opaque.get::<Footprint>().map(Footprint::to_json);
            let table = || opaque.get().map(Table::to_json);
            let image = || opaque.get().map(Image::to_json);
            footprint.or_else(table).or_else(image).unwrap_or(Json::Null)
        }
    }
}

/// The value as JSON for people and other programs: like [`to_json`], but the columns of a table
/// are lists without types, and an image is reduced to its size.
pub fn to_plain_json(value: &Value) -> Json {
    match value.get::<Table>() {
        Some(table) => table.to_plain_json(),
        None => value.get::<Image>().map_or_else(|| to_json(value), |image| image.to_plain_json()),
    }
}

/// Whether the output of [`to_json`] reads back as the value.
pub fn is_writable(value: &Value) -> bool {
    fn is_text(ty: Type) -> bool {
        match ty.kind() {
            Kind::Lanes(..) | Kind::String => true,
            Kind::List(element) => is_text(element),
            Kind::Opaque => false,
        }
    }
    match (value.get::<Table>(), value.get::<Footprint>()) {
        (Some(table), _) => table.columns().iter().all(|(_, column)| is_text(column.ty())),
        (None, Some(_)) => true,
        (None, None) => value.ty() == Type::of::<Image>() || is_text(value.ty()),
    }
}

fn lanes_to_json(lanes: &[f32]) -> Json {
    Json::Array(lanes.iter().map(|x| f32_to_json(*x)).collect())
}

fn f64_to_json(x: f64) -> Json {
    match serde_json::Number::from_f64(x) {
        Some(number) => Json::Number(number),
        None if x.is_nan() => Json::from("nan"),
        None if x > 0.0 => Json::from("inf"),
        None => Json::from("-inf"),
    }
}

/// The shortest decimal that reads back to these bits, even when read as an `f64` first.
fn f32_to_json(x: f32) -> Json {
    f64_to_json(shortest(x))
}

/// The `f64` with the same shortest decimal as `x`, if that rounds to `x`; else `x` widened.
fn shortest(x: f32) -> f64 {
    match x.to_string().parse::<f64>() {
        Ok(short) if (short as f32).to_bits() == x.to_bits() => short,
        Ok(_) | Err(_) => f64::from(x),
    }
}

impl fmt::Display for Value {
    /// Writes JSON that reads back to the same bits, except that table columns have no types. An
    /// opaque value is its type in angle brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_value(self, f)
    }
}

fn write_value(value: &Value, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match value {
        Value::Bool(x) => write!(f, "{x}"),
        Value::I32(x) => write!(f, "{x}"),
        Value::I64(x) => write!(f, "{x}"),
        Value::F32(x) => write_float(shortest(*x), f),
        Value::F64(x) => write_float(*x, f),
        Value::String(text) => write!(f, "{}", Json::from(&**text)),
        Value::List(elements) => write_column(elements, f),
        Value::Vec2(v) => write_lanes(&v.0, f),
        Value::Vec3(v) => write_lanes(&v.0, f),
        Value::Vec4(v) => write_lanes(&v.0, f),
        Value::Quat(v) => write_lanes(&v.0, f),
        Value::Color(v) => write_lanes(&v.0, f),
        Value::Mat4(v) => write_lanes(&v.0, f),
        Value::Opaque(opaque) => match (opaque.get::<Table>(), opaque.get::<Footprint>()) {
            (Some(table), _) => write_table(table, f),
            (None, Some(footprint)) => write!(f, "{}", footprint.to_json()),
            (None, None) => match opaque.get::<Image>() {
                Some(image) => write_image(image, f),
                None => write!(f, "<{}>", opaque.ty()),
            },
        },
    }
}

/// Writes JSON if the image is small, otherwise its size.
fn write_image(image: &Image, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    const MAX_PIXELS: usize = 64;
    if image.pixels().len() <= MAX_PIXELS {
        return write!(f, "{}", image.to_json());
    }
    let channels = counted(image.n_channels() as u64, "channel");
    write!(f, "<image of {} by {} pixels, {channels}>", image.width(), image.height())
}

fn write_table(table: &Table, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (i, (name, column)) in table.columns().iter().enumerate() {
        write!(f, "{}{}: ", if i > 0 { ", " } else { "{" }, Json::from(&**name))?;
        write_column(column, f)?;
    }
    f.write_str(if table.columns().is_empty() { "{}" } else { "}" })
}

fn write_float(x: f64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{}", f64_to_json(x))
}

fn write_lanes(lanes: &[f32], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("[")?;
    for (i, lane) in lanes.iter().enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        write_float(shortest(*lane), f)?;
    }
    f.write_str("]")
}

fn write_column(column: &Column, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("[")?;
    for (i, value) in column.iter().enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        write_value(&value, f)?;
    }
    f.write_str("]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::same::Same;
    use proptest::prelude::*;

    fn read(ty: Type, text: &str) -> Result<Value, LiteralError> {
        from_json(ty, &serde_json::from_str(text).expect("valid JSON"))
    }

    #[test]
    fn a_color_may_leave_out_alpha() {
        let color = read(Type::COLOR, "[1, 0.5, 0]").expect("three channels");
        assert_eq!(color.to_string(), "[1.0, 0.5, 0.0, 1.0]");
    }

    #[test]
    fn a_binary32_is_rounded_once_from_its_digits() {
        for digits in ["7.038531e-26", "-7.038531e-26", "0.1", "1e-45", "16777217", "3.4028235e38"]
        {
            let right: f32 = digits.parse().expect("a number");
            let Ok(Value::F32(x)) = read(Type::F32, digits) else { panic!("{digits}") };
            assert_eq!(x.to_bits(), right.to_bits(), "{digits}");
        }
        // Exactly between two, with more digits than an `f64` prints.
        for digits in ["1.000000059604644775390625", "1.000000178813934326171875"] {
            let right: f32 = digits.parse().expect("a number");
            let Ok(Value::F32(x)) = read(Type::F32, digits) else { panic!("{digits}") };
            assert_eq!(x.to_bits(), right.to_bits(), "{digits}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(matches!(read(Type::I32, "3000000000"), Err(LiteralError::OutOfRange { .. })));
        assert!(matches!(read(Type::I32, "1.5"), Err(LiteralError::Mismatch { .. })));
        assert!(matches!(read(Type::F32, "1e39"), Err(LiteralError::OutOfRange { .. })));
        assert!(matches!(read(Type::VEC3, "[1, 2]"), Err(LiteralError::Mismatch { .. })));
        assert!(matches!(read(Type::BOOL, "1"), Err(LiteralError::Mismatch { .. })));
    }

    proptest! {
        #[test]
        fn every_f32_reads_back(bits: u32) {
            let value = Value::F32(f32::from_bits(bits));
            let back = read(Type::F32, &value.to_string()).expect("reads back");
            prop_assert!(back.same(&value));
        }

        #[test]
        fn every_f64_reads_back(bits: u64) {
            let value = Value::F64(f64::from_bits(bits));
            let back = read(Type::F64, &value.to_string()).expect("reads back");
            prop_assert!(back.same(&value));
        }
    }
}
