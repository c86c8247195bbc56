//! Values written into a string at placeholders.
//!
//! A call reads the format of each element, placeholder by placeholder, and writes the value that
//! each one names.

use std::sync::Arc;

use millstream_base::{Type, Value};
use millstream_node::settings::SettingError;
use millstream_node::{
    Among, Call, Default, Failure, NodeDef, Registry, SettingKind, SettingValue, Settings,
    Signature, SocketType,
};

use super::Budget;
use super::number::in_base;
use crate::cells::{Cells, function};
use crate::shape::sockets_of;

pub(super) fn register(registry: &mut Registry) {
    registry.register(format());
}

/// Names of the generics, of which there is one for each value.
const GENERICS: [&str; 8] = ["T0", "T1", "T2", "T3", "T4", "T5", "T6", "T7"];
const WRITABLE: Among =
    Among::These(&[Type::BOOL, Type::I32, Type::I64, Type::F32, Type::F64, Type::STRING]);

const OTHERWISE: &[(&str, &str)] = &[("error", "the node fails"), ("empty", "the string is empty")];

fn format() -> NodeDef {
    NodeDef::new("string.format", "Formats values into a string")
        .details(
            "`{}` is replaced by the next value, `{2}` by the third, `{name}` by the value of this \
             name; `{{` and `}}` are literal braces. After a colon follow, in this order and all \
             optional: a fill character and `<`, `>` or `^` for the alignment; `+` or a space for \
             the sign of numbers that are not negative; `0` to pad a number with zeros; the width; \
             a point and the number of decimals of a float or the maximal length of a string; and \
             `d`, `x`, `X`, `o` or `b` for integers, `f`, `e` or `E` for floats, `s` for strings. \
             `{x:0>+8.2f}` writes 3.14159 as `000+3.14`. Width and decimals are at most 1000.",
        )
        .setting(
            "names",
            SettingKind::Texts,
            Some(SettingValue::Texts(vec!["a".into()])),
            "names of the values, at most eight; each adds an input `value_0`, `value_1`, ...",
        )
        .choice("otherwise", OTHERWISE, "error", "what to do if the format is wrong")
        .sockets_by_settings(signature)
        .kernel(|parts| {
            let names: Vec<Arc<str>> = parts.settings.texts("names").to_vec();
            let fails = parts.settings.text("otherwise") == "error";
            Ok(function(move |call| write_all(call, &names, fails)))
        })
}

fn signature(settings: &Settings) -> Result<Signature, SettingError> {
    let n = settings.texts("names").len();
    if n > GENERICS.len() {
        let message = format!("{n} values are too many; the limit is {}", GENERICS.len());
        return Err(SettingError::refused("names", message));
    }
    let def =
        GENERICS[..n].iter().fold(NodeDef::new("", ""), |def, name| def.generic(name, WRITABLE));
    let def = def.input_or("format", Type::STRING, "{}", "text with placeholders");
    let def = settings.texts("names").iter().enumerate().fold(def, |def, (i, name)| {
        let (ty, about) = (SocketType::Generic(i as u16), format!("called `{name}`"));
        def.input_or(format!("value_{i}"), ty, Default::Zero, about)
    });
    Ok(sockets_of(&def.output("value", Type::STRING, "")))
}

fn write_all(call: &mut Call<'_>, names: &[Arc<str>], fails: bool) -> Result<(), Failure> {
    let mut cells = Cells::<Arc<str>>::new(call);
    let formats = call.input::<Arc<str>>(0);
    let mut budget = Budget::default();
    cells.fill(call, |i| {
        let value = |at: usize| call.argument(at + 1).value(i);
        let written =
            formats.with(i, |format| written(format, names, value, call.limits().list_length));
        match written {
            Ok(text) => {
                budget.spend(text.len(), i, call.limits())?;
                Ok(text.into())
            }
            Err(_) if !fails => Ok("".into()),
            Err(Wrong { message, hint }) => Err(Failure::at(i, message).with_help(format!(
                "{hint}; with the setting `otherwise` the string can be empty instead"
            ))),
        }
    })?;
    cells.put(call);
    Ok(())
}

/// Why a string cannot be formatted.
struct Wrong {
    message: String,
    hint: &'static str,
}

const BRACES: &str = "write a literal brace as `{{` or `}}`";
const VALUES: &str = "name the values with the setting `names`, or count them from 0";
const LAYOUTS: &str = "after the colon follow, all optional: alignment, sign, width, `.` and \
                       digits for floats, and a letter for the notation";

/// The formatted string.
fn written(
    format: &str,
    names: &[Arc<str>],
    value: impl Fn(usize) -> Value,
    most: usize,
) -> Result<String, Wrong> {
    let mut out = String::new();
    let mut rest = format;
    let mut next = 0;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        rest = &rest[at + 1..];
        if rest.starts_with(brace) {
            out.push_str(brace);
            rest = &rest[1..];
            continue;
        }
        if brace == "}" {
            return Err(Wrong { message: "`}` has no matching `{`".into(), hint: BRACES });
        }
        let open = || Wrong { message: "`{` is not closed".into(), hint: BRACES };
        let end = rest.find('}').ok_or_else(open)?;
        let (name, how) = rest[..end].split_once(':').unwrap_or((&rest[..end], ""));
        rest = &rest[end + 1..];
        let number = if name.is_empty() {
            next += 1;
            Some(next - 1)
        } else {
            let named = names.iter().position(|known| **known == *name);
            named.or_else(|| name.parse().ok())
        };
        let number = number.filter(|number| *number < names.len());
        let number = number.ok_or_else(|| {
            let message = match name {
                "" => format!("there are more `{{}}` than values ({})", names.len()),
                name => format!("there is no value `{name}`"),
            };
            Wrong { message, hint: VALUES }
        })?;
        Layout::read(how)
            .and_then(|layout| layout.write(&value(number), &mut out))
            .map_err(|message| Wrong { message, hint: LAYOUTS })?;
        if out.len() > most {
            // The caller rejects a string that is too long, so the rest is not needed.
            return Ok(out);
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// How a value is formatted.
#[derive(Clone, Debug, Default)]
struct Layout {
    fill: Option<char>,
    align: Option<char>,
    sign: Option<char>,
    zeros: bool,
    width: usize,
    precision: Option<usize>,
    kind: Option<char>,
}

const MAX_WIDTH: usize = 1000;

impl Layout {
    fn read(text: &str) -> Result<Self, String> {
        let wrong = || format!("`:{text}` is not a valid format");
        let mut layout = Self::default();
        let mut rest = text;
        let mut chars = text.chars();
        let is_align = |c: Option<char>| matches!(c, Some('<' | '>' | '^'));
        let (first, second) = (chars.next(), chars.next());
        if is_align(second) {
            (layout.fill, layout.align) = (first, second);
            rest = &text[first.map_or(0, char::len_utf8) + 1..];
        } else if is_align(first) {
            layout.align = first;
            rest = &text[1..];
        }
        if let Some(after) = rest.strip_prefix(['+', '-', ' ']) {
            layout.sign = rest.chars().next();
            rest = after;
        }
        if let Some(after) = rest.strip_prefix('0') {
            layout.zeros = true;
            rest = after;
        }
        let number = |rest: &mut &str| -> Result<Option<usize>, String> {
            let n = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (digits, after) = rest.split_at(n);
            *rest = after;
            match digits {
                "" => Ok(None),
                digits => {
                    digits.parse().ok().filter(|n| *n <= MAX_WIDTH).ok_or_else(wrong).map(Some)
                }
            }
        };
        layout.width = number(&mut rest)?.unwrap_or(0);
        if let Some(after) = rest.strip_prefix('.') {
            rest = after;
            layout.precision = Some(number(&mut rest)?.ok_or_else(wrong)?);
        }
        let mut chars = rest.chars();
        layout.kind = chars.next();
        if chars.next().is_some() { Err(wrong()) } else { Ok(layout) }
    }

    fn write(&self, value: &Value, out: &mut String) -> Result<(), String> {
        let refused = |what: &str| match self.kind {
            Some(kind) => format!("{what} cannot be written as `{kind}`"),
            None if self.precision.is_some() => {
                format!("{what} has no decimals to round; `.` and digits are for floats")
            }
            None => format!("{what} cannot be written with a sign or zeros in front"),
        };
        let (sign, digits, is_number) = match value {
            Value::I32(x) => self.integer(i64::from(*x)).ok_or_else(|| refused("an integer"))?,
            Value::I64(x) => self.integer(*x).ok_or_else(|| refused("an integer"))?,
            Value::F32(x) => {
                self.float(f64::from(*x), &x.to_string()).ok_or_else(|| refused("a float"))?
            }
            Value::F64(x) => self.float(*x, &x.to_string()).ok_or_else(|| refused("a float"))?,
            other => {
                if !matches!(self.kind, None | Some('s')) || self.sign.is_some() || self.zeros {
                    return Err(refused("a string"));
                }
                let text = match other {
                    Value::Bool(x) => x.to_string(),
                    other => {
                        other.get::<Arc<str>>().map_or_else(String::new, |text| text.to_string())
                    }
                };
                ("", text.chars().take(self.precision.unwrap_or(usize::MAX)).collect(), false)
            }
        };
        let n = sign.len() + digits.chars().count();
        let missing = self.width.saturating_sub(n);
        if self.zeros && self.align.is_none() {
            out.push_str(sign);
            out.extend(std::iter::repeat_n('0', missing));
            out.push_str(&digits);
            return Ok(());
        }
        let before = match self.align.unwrap_or(if is_number { '>' } else { '<' }) {
            '<' => 0,
            '>' => missing,
            _ => missing / 2,
        };
        let fill = self.fill.unwrap_or(' ');
        out.extend(std::iter::repeat_n(fill, before));
        out.push_str(sign);
        out.push_str(&digits);
        out.extend(std::iter::repeat_n(fill, missing - before));
        Ok(())
    }

    fn sign_of(&self, is_negative: bool) -> &'static str {
        match (is_negative, self.sign) {
            (true, _) => "-",
            (false, Some('+')) => "+",
            (false, Some(' ')) => " ",
            (false, _) => "",
        }
    }

    /// Sign and digits of an integer.
    fn integer(&self, x: i64) -> Option<(&'static str, String, bool)> {
        if self.precision.is_some() {
            return None;
        }
        let base = match self.kind {
            None | Some('d') => 10,
            Some('x' | 'X') => 16,
            Some('o') => 8,
            Some('b') => 2,
            Some(_) => return None,
        };
        let mut digits = in_base(x, base, 0).trim_start_matches('-').to_owned();
        if self.kind == Some('X') {
            digits.make_ascii_uppercase();
        }
        Some((self.sign_of(x < 0), digits, true))
    }

    /// Sign and digits of a float; `shortest` is its text without a given number of decimals.
    fn float(&self, x: f64, shortest: &str) -> Option<(&'static str, String, bool)> {
        let size = x.abs();
        let mut digits = match (self.kind, self.precision) {
            (None, None) => shortest.trim_start_matches('-').to_owned(),
            (Some('f'), None) => format!("{size:.6}"),
            (None | Some('f'), Some(n)) => format!("{size:.n$}"),
            (Some('e' | 'E'), n) => exponent(&format!("{size:.*e}", n.unwrap_or(6))),
            (Some(_), _) => return None,
        };
        if self.kind == Some('E') {
            digits.make_ascii_uppercase();
        } else if !x.is_finite() {
            digits.make_ascii_lowercase();
        }
        Some((self.sign_of(x.is_sign_negative() && !x.is_nan()), digits, true))
    }
}

/// `1.5e3` as `1.5e+03`, the usual notation of other programs.
fn exponent(text: &str) -> String {
    let Some((digits, exponent)) = text.split_once('e') else { return text.to_owned() };
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
    format!("{digits}e{sign}{exponent:0>2}")
}
