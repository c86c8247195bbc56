//! Numbers as strings.

use std::fmt::Display;
use std::num::IntErrorKind;
use std::sync::Arc;

use millstream_base::Type;
use millstream_node::{Among, NodeDef, Registry, SocketType};

use super::on_texts;
use crate::cells::function;
use crate::each::{Text, each, try_each};

pub(super) fn register(registry: &mut Registry) {
    registry.register(to_number());
    registry.register(from_number());
    registry.register(from_integer());
    registry.register(to_integer());
}

fn to_number() -> NodeDef {
    const OTHERWISE: &[(&str, &str)] = &[("error", "the node fails"), ("nan", "the number is NaN")];
    on_texts("string.to_number", "Parses a number from a string", &[("text", "")])
        .converts()
        .details(
            "Decimal, with an optional point and exponent, as in `-1.5e3`; also `inf`, `-inf` and \
             `nan`. White space around the number is ignored. The result is the nearest `f64`.",
        )
        .choice("otherwise", OTHERWISE, "error", "what to do if the string is not a number")
        .output("value", Type::F64, "")
        .kernel(|parts| {
            let fails = parts.settings.text("otherwise") != "nan";
            Ok(function(try_each::<(Text,), _>(move |element, (text,)| {
                match text.trim().parse::<f64>() {
                    Ok(number) => Ok(number),
                    Err(_) if fails => Err(element
                        .failure(format!("{} is not a number", shown(text)))
                        .with_help("correct the string, or set `otherwise` to `nan`")),
                    Err(_) => Ok(f64::NAN),
                }
            })))
        })
}

/// The string in quotes, truncated if it is long.
fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(40).collect();
    if shown.len() < text.len() {
        shown.push_str("...");
    }
    format!("{shown:?}")
}

/// The largest number of decimals.
const MAX_DECIMALS: usize = 100;

fn from_number() -> NodeDef {
    NodeDef::new("string.from_number", "Writes a number as text")
        .converts()
        .details(
            "With `decimals` = -1, the fewest digits that read back as the same number; otherwise \
             rounded to this many decimals, at most 100. Infinities and NaN are `inf`, `-inf` and \
             `nan`.",
        )
        .generic("T", Among::These(&[Type::I32, Type::I64, Type::F32, Type::F64]))
        .input_or("number", SocketType::Generic(0), 0.0, "")
        .input_or("decimals", Type::I32, -1.0, "digits after the point, or -1")
        .output("value", Type::STRING, "")
        .kernel(|parts| {
            let ty = parts.generics[0];
            Ok(if ty == Type::I32 {
                function(each::<(i32, i32), _>(written))
            } else if ty == Type::I64 {
                function(each::<(i64, i32), _>(written))
            } else if ty == Type::F32 {
                function(each::<(f32, i32), _>(written))
            } else {
                function(each::<(f64, i32), _>(written))
            })
        })
}

fn written(numbers: (impl Display, i32)) -> Arc<str> {
    let (number, decimals) = numbers;
    let mut text = match usize::try_from(decimals) {
        Ok(decimals) => format!("{number:.*}", decimals.min(MAX_DECIMALS)),
        Err(_) => number.to_string(),
    };
    text.make_ascii_lowercase();
    text.into()
}

fn from_integer() -> NodeDef {
    NodeDef::new("string.from_integer", "Writes an integer as text, in any base")
        .details(
            "Digits above 9 are lower-case letters. A base outside 2 to 36 gives an empty string.",
        )
        .generic("T", Among::These(&[Type::I32, Type::I64]))
        .input_or("number", SocketType::Generic(0), 0.0, "")
        .input_or("base", Type::I32, 10.0, "2 to 36")
        .input_or(
            "digits",
            Type::I32,
            0.0,
            "least number of characters with the sign, filled with zeros, at most 100",
        )
        .output("value", Type::STRING, "")
        .kernel(|parts| {
            Ok(if parts.generics[0] == Type::I64 {
                function(each::<(i64, i32, i32), _>(|(number, base, digits)| -> Arc<str> {
                    in_base(number, base, digits).into()
                }))
            } else {
                function(each::<(i32, i32, i32), _>(|(number, base, digits)| -> Arc<str> {
                    in_base(number.into(), base, digits).into()
                }))
            })
        })
}

/// The digits of a number in a base; empty for a base outside 2 to 36.
pub(super) fn in_base(number: i64, base: i32, n_digits: i32) -> String {
    if !(2..=36).contains(&base) {
        return String::new();
    }
    let base = base as u32;
    let mut rest = number.unsigned_abs();
    let mut reversed = Vec::new();
    loop {
        let digit = (rest % u64::from(base)) as u32;
        reversed.push(char::from_digit(digit, base).expect("the rest is below the base"));
        rest /= u64::from(base);
        if rest == 0 {
            break;
        }
    }
    let is_negative = number < 0;
    let wanted = (n_digits.max(0) as usize).min(MAX_DECIMALS);
    while reversed.len() + usize::from(is_negative) < wanted {
        reversed.push('0');
    }
    if is_negative {
        reversed.push('-');
    }
    reversed.into_iter().rev().collect()
}

fn to_integer() -> NodeDef {
    const OTHERWISE: &[(&str, &str)] = &[("error", "the node fails"), ("zero", "the number is 0")];
    on_texts("string.to_integer", "Parses an integer from a string, in any base", &[("text", "")])
        .details(
            "Digits above 9 are letters in either case. A sign may come first, and white space \
             around the number is ignored. A number that does not fit into an `i64` is refused, \
             and so is any text in a base outside 2 to 36.",
        )
        .choice("otherwise", OTHERWISE, "error", "what to do if the string is not such a number")
        .input_or("base", Type::I32, 10.0, "2 to 36")
        .output("value", Type::I64, "")
        .kernel(|parts| {
            let fails = parts.settings.text("otherwise") != "zero";
            Ok(function(try_each::<(Text, i32), _>(move |element, (text, base)| {
                match integer(text, base) {
                    Ok(number) => Ok(number),
                    Err(problem) if fails => Err(element
                        .failure(format!("{} {problem}", shown(text)))
                        .with_help("correct the string, or set `otherwise` to `zero`")),
                    Err(_) => Ok(0),
                }
            })))
        })
}

/// The number that the string contains, or the reason why there is none.
fn integer(text: &str, base: i32) -> Result<i64, String> {
    let no_number = || format!("is not a number in base {base}");
    let radix = u32::try_from(base).ok().filter(|base| (2..=36).contains(base));
    i64::from_str_radix(text.trim(), radix.ok_or_else(no_number)?).map_err(|error| {
        match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => {
                format!("in base {base} does not fit into an i64")
            }
            _ => no_number(),
        }
    })
}
