//! Numbers as text.

use std::fmt::{Display, Write};
use std::num::IntErrorKind;
use std::sync::Arc;

use millstream_base::{Type, ValueType};
use millstream_node::{
    Among, Call, Failure, NodeDef, Registry, SettingKind, SettingValue, SocketType,
};

use super::on_texts;
use crate::cells::{Cells, function};

pub(super) fn register(registry: &mut Registry) {
    registry.register(to_number());
    registry.register(from_number());
    registry.register(from_integer());
    registry.register(to_integer());
}

fn to_number() -> NodeDef {
    let choices = SettingKind::Choice(&[("error", "it fails"), ("nan", "the number is NaN")]);
    on_texts("string.to_number", "The number that a text writes", &[("text", "")])
        .converts()
        .details(
            "Decimal, with a point and an exponent if need be: `-1.5e3`; also `inf`, `-inf` and `nan`. \
             White space around it is ignored. The nearest `f64` is given.",
        )
        .setting(
            "otherwise",
            choices,
            Some(SettingValue::Text("error".into())),
            "what happens where the text is no number",
        )
        .output("value", Type::F64, "")
        .kernel(|parts| {
            let fails = parts.settings.text("otherwise") != "nan";
            Ok(function(move |call| numbers(call, fails)))
        })
}

fn numbers(call: &mut Call<'_>, fails: bool) -> Result<(), Failure> {
    let mut cells = Cells::<f64>::new(call);
    let texts = call.input::<Arc<str>>(0);
    cells.fill(call, |i| {
        texts.with(i, |text| match text.trim().parse::<f64>() {
            Ok(number) => Ok(number),
            Err(_) if fails => Err(no_number(text, i)),
            Err(_) => Ok(f64::NAN),
        })
    })?;
    cells.put(call);
    Ok(())
}

fn no_number(text: &str, element: usize) -> Failure {
    Failure::at(element, format!("{} is no number", shown(text)))
        .with_help("the setting `otherwise` can make it NaN")
}

/// The text in quotes, cut off if it is long.
fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(40).collect();
    if shown.len() < text.len() {
        shown.push_str("...");
    }
    format!("{shown:?}")
}

/// More decimals than this are not written.
const MAX_DECIMALS: usize = 100;

fn from_number() -> NodeDef {
    NodeDef::new("string.from_number", "A number as text")
        .converts()
        .details(
            "With -1 decimals as few as read back to the same number; else rounded to this many, at \
             most 100. Infinities and NaN are `inf`, `-inf` and `nan`.",
        )
        .generic("T", Among::These(&[Type::I32, Type::I64, Type::F32, Type::F64]))
        .input("number", SocketType::Generic(0), "")
        .or_number(0.0)
        .input("decimals", Type::I32, "digits after the point")
        .or_number(-1.0)
        .output("value", Type::STRING, "")
        .kernel(|parts| {
            let ty = parts.generics[0];
            Ok(if ty == Type::I32 {
                function(written::<i32>)
            } else if ty == Type::I64 {
                function(written::<i64>)
            } else if ty == Type::F32 {
                function(written::<f32>)
            } else {
                function(written::<f64>)
            })
        })
}

fn written<T: ValueType + Display>(call: &mut Call<'_>) -> Result<(), Failure> {
    let mut cells = Cells::<Arc<str>>::new(call);
    let (numbers, decimals) = (call.input::<T>(0), call.input::<i32>(1));
    let mut text = String::new();
    cells.fill(call, |i| {
        text.clear();
        let number = numbers.get(i);
        let result = match usize::try_from(decimals.get(i)) {
            Ok(decimals) => write!(text, "{number:.*}", decimals.min(MAX_DECIMALS)),
            Err(_) => write!(text, "{number}"),
        };
        result.expect("writing into a text does not fail");
        text.make_ascii_lowercase();
        Ok(text.as_str().into())
    })?;
    cells.put(call);
    Ok(())
}

fn from_integer() -> NodeDef {
    NodeDef::new("string.from_integer", "A whole number as text, in any base")
        .details("Digits above 9 are small letters. A base outside 2 to 36 gives an empty text.")
        .generic("T", Among::These(&[Type::I32, Type::I64]))
        .input("number", SocketType::Generic(0), "")
        .or_number(0.0)
        .input("base", Type::I32, "2 to 36")
        .or_number(10.0)
        .input("digits", Type::I32, "least number of digits and sign; zeros fill up, at most 100")
        .or_number(0.0)
        .output("value", Type::STRING, "")
        .kernel(|parts| {
            let is_wide = parts.generics[0] == Type::I64;
            Ok(function(move |call| {
                let mut cells = Cells::<Arc<str>>::new(call);
                let (bases, digits) = (call.input::<i32>(1), call.input::<i32>(2));
                cells.fill(call, |i| {
                    let number = if is_wide {
                        call.input::<i64>(0).get(i)
                    } else {
                        i64::from(call.input::<i32>(0).get(i))
                    };
                    Ok(in_base(number, bases.get(i), digits.get(i)).into())
                })?;
                cells.put(call);
                Ok(())
            }))
        })
}

/// A number in digits; empty for a base that has none.
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
    let choices = SettingKind::Choice(&[("error", "it fails"), ("zero", "the number is 0")]);
    on_texts("string.to_integer", "The whole number that a text writes, in any base", &[("text", "")])
        .details(
            "Digits above 9 are letters, small or capital; a sign may stand in front, white space around it is \
             ignored. What does not fit into an `i64` is no number, and so is any text in a base outside 2 to 36.",
        )
        .setting(
            "otherwise",
            choices,
            Some(SettingValue::Text("error".into())),
            "what happens where the text is no such number",
        )
        .input("base", Type::I32, "2 to 36")
        .or_number(10.0)
        .output("value", Type::I64, "")
        .kernel(|parts| {
            let fails = parts.settings.text("otherwise") != "zero";
            Ok(function(move |call| {
                let mut cells = Cells::<i64>::new(call);
                let (texts, bases) = (call.input::<Arc<str>>(0), call.input::<i32>(1));
                cells.fill(call, |i| {
                    let base = bases.get(i);
                    texts.with(i, |text| match integer(text, base) {
                        Ok(number) => Ok(number),
                        Err(problem) if fails => Err(no_integer(text, &problem, i)),
                        Err(_) => Ok(0),
                    })
                })?;
                cells.put(call);
                Ok(())
            }))
        })
}

/// The number, or what is said of a text that writes none.
fn integer(text: &str, base: i32) -> Result<i64, String> {
    let no_number = || format!("is no number in base {base}");
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

fn no_integer(text: &str, problem: &str, element: usize) -> Failure {
    Failure::at(element, format!("{} {problem}", shown(text)))
        .with_help("the setting `otherwise` can make it 0")
}
