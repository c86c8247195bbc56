//! JSON values inside the text form: finding their ends, reading them, and writing them on one line.
//! Numbers in them may have a plus sign, which JSON lacks.
//!
//! Finding ends and writing do not recurse, so depth does not consume the stack.

use std::borrow::Cow;

use millstream_base::literal::formula_number;
use serde_json::Value as Json;

use crate::error::Problem;

/// The end of the JSON value that starts at a place.
///
/// # Errors
/// The first place where the text is not JSON.
pub(crate) fn value_end(text: &str, start: usize) -> Result<usize, Problem> {
    let bytes = text.as_bytes();
    let mut open: Vec<(u8, usize)> = Vec::new();
    let mut at = skip_space(bytes, start);
    loop {
        // A value, or the end of an empty list or object.
        match bytes.get(at) {
            Some(b'{' | b'[') => {
                open.push((bytes[at], at));
                let inside = skip_space(bytes, at + 1);
                let closes = if bytes[at] == b'{' { b'}' } else { b']' };
                if bytes.get(inside) == Some(&closes) {
                    open.pop();
                    at = inside + 1;
                } else {
                    at = if closes == b'}' { key_end(text, inside, &open)? } else { inside };
                    continue;
                }
            }
            Some(b'"') => at = string_end(text, at)?,
            Some(b'+' | b'-' | b'0'..=b'9') => at = number_end(text, at)?,
            Some(_) => at = word_end(text, at)?,
            None => return Err(ended(text, &open)),
        }
        loop {
            let Some((bracket, opened)) = open.last().copied() else { return Ok(at) };
            at = skip_space(bytes, at);
            match (bytes.get(at), bracket) {
                (Some(b','), _) => {
                    at = skip_space(bytes, at + 1);
                    if bracket == b'{' {
                        at = key_end(text, at, &open)?;
                    }
                    break;
                }
                (Some(b'}'), b'{') | (Some(b']'), b'[') => {
                    open.pop();
                    at += 1;
                }
                (None, _) => return Err(ended(text, &open)),
                (Some(_), _) => {
                    let (what, closes) =
                        if bracket == b'{' { ("an entry", "}") } else { ("a value", "]") };
                    let found = shown(text, at);
                    let message = format!("`,` or `{closes}` is missing before {found}");
                    let problem = Problem::syntax(at, next_char(text, at), message);
                    let line = text[..opened].matches('\n').count() + 1;
                    return Err(
                        problem.hint(format!("{what} ended; the bracket of line {line} is open"))
                    );
                }
            }
        }
    }
}

/// The place of the value after a key and a colon.
fn key_end(text: &str, at: usize, open: &[(u8, usize)]) -> Result<usize, Problem> {
    let bytes = text.as_bytes();
    match bytes.get(at) {
        Some(b'"') => {}
        None => return Err(ended(text, open)),
        Some(_) => {
            let message = format!("a key in double quotes is missing before {}", shown(text, at));
            return Err(Problem::syntax(at, next_char(text, at), message));
        }
    }
    let end = string_end(text, at)?;
    let colon = skip_space(bytes, end);
    match bytes.get(colon) {
        Some(b':') => Ok(skip_space(bytes, colon + 1)),
        None => Err(ended(text, open)),
        Some(_) => {
            let message = format!("`:` is missing after the key {}", &text[at..end]);
            Err(Problem::syntax(colon, next_char(text, colon), message))
        }
    }
}

fn ended(text: &str, open: &[(u8, usize)]) -> Problem {
    let Some((bracket, at)) = open.last().copied() else {
        return Problem::syntax(text.len(), text.len(), "a value is missing");
    };
    let (open, close) = if bracket == b'{' { ("{", "}") } else { ("[", "]") };
    Problem::new(at, at + 1, crate::error::TextError::NotClosed { open, close })
}

/// The end of the string that starts at a place, after its closing quote.
///
/// # Errors
/// If it is not closed on its line, or contains an escape that is not a character.
pub(crate) fn string_end(text: &str, start: usize) -> Result<usize, Problem> {
    let bytes = text.as_bytes();
    let mut at = start + 1;
    loop {
        match bytes.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => at = escape_end(text, at)?,
            None | Some(b'\n') => {
                let problem = Problem::syntax(start, at.max(start + 1), "this text is not closed");
                return Err(problem.hint("add a `\"`; a line break inside a text is written `\\n`"));
            }
            Some(byte @ 0..=0x1f) => {
                let message = "a text contains a control character";
                let hint = match byte {
                    b'\t' => "write a tab as `\\t`".to_owned(),
                    byte => format!("write it as `\\u{byte:04x}`"),
                };
                return Err(Problem::syntax(at, at + 1, message).hint(hint));
            }
            Some(_) => at += 1,
        }
    }
}

fn escape_end(text: &str, start: usize) -> Result<usize, Problem> {
    let bytes = text.as_bytes();
    let hex = |at: usize| {
        let digits = text.get(at..at + 4)?;
        let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if plain { u32::from_str_radix(digits, 16).ok() } else { None }
    };
    match bytes.get(start + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => return Ok(start + 2),
        Some(b'u') => match hex(start + 2) {
            Some(0xd800..=0xdbff) => {
                let low = bytes.get(start + 6..start + 8) == Some(b"\\u");
                if low && matches!(hex(start + 8), Some(0xdc00..=0xdfff)) {
                    return Ok(start + 12);
                }
            }
            Some(0xdc00..=0xdfff) | None => {}
            Some(_) => return Ok(start + 6),
        },
        Some(_) | None => {}
    }
    let end = next_char(text, (start + 1).min(text.len())).min(text.len());
    let problem = Problem::syntax(start, end, "this escape is not a character");
    Err(problem.hint("write the character itself, or its UTF-16 code as `\\uXXXX`"))
}

/// The problem of a number that [`starts_with_zero`].
pub(crate) const NO_ZERO: &str = "a number cannot start with 0 and another digit";

/// Whether a number, perhaps with a sign, starts with 0 and another digit.
pub(crate) fn starts_with_zero(number: &str) -> bool {
    let digits = number.strip_prefix(['+', '-']).unwrap_or(number);
    digits.strip_prefix('0').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// The end of the JSON number that starts at a place.
fn number_end(text: &str, start: usize) -> Result<usize, Problem> {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        from + bytes[from.min(bytes.len())..].iter().take_while(|b| b.is_ascii_digit()).count()
    };
    let whole = start + usize::from(matches!(bytes[start], b'+' | b'-'));
    let mut at = digits(whole);
    let refuse = |at: usize, message: &str| Err(Problem::syntax(start, at.max(start + 1), message));
    if at == whole {
        return refuse(at, "a number needs a digit after its sign");
    }
    if starts_with_zero(&text[start..at]) {
        return refuse(at, NO_ZERO);
    }
    if bytes.get(at) == Some(&b'.') {
        let end = digits(at + 1);
        if end == at + 1 {
            return refuse(end, "a number needs a digit after its point");
        }
        at = end;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let end = digits(at + 1 + sign);
        if end == at + 1 + sign {
            return refuse(end, "a number needs a digit after its `e`");
        }
        at = end;
    }
    Ok(at)
}

/// A value whose end was found, without the plus signs of its numbers.
pub(crate) fn without_plus(value: &str) -> Cow<'_, str> {
    let bytes = value.as_bytes();
    if !bytes.contains(&b'+') {
        return Cow::Borrowed(value);
    }
    let (mut at, mut start, mut plain) = (0, 0, String::new());
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = plain_string_end(bytes, at),
            b'+' if at == 0 || !matches!(bytes[at - 1], b'e' | b'E') => {
                plain.push_str(&value[start..at]);
                (start, at) = (at + 1, at + 1);
            }
            _ => at += 1,
        }
    }
    plain.push_str(&value[start..]);
    Cow::Owned(plain)
}

/// A text without the plus signs of its numbers if it is a JSON value but for these, else the text.
pub fn plain_json(text: &str) -> Cow<'_, str> {
    match value_end(text, 0) {
        Ok(end) if text[end..].trim().is_empty() => without_plus(text),
        Ok(_) | Err(_) => Cow::Borrowed(text),
    }
}

fn word_end(text: &str, start: usize) -> Result<usize, Problem> {
    let rest = &text[start..];
    let n = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
    match &rest[..n] {
        "true" | "false" | "null" => return Ok(start + n),
        _ => {}
    }
    let problem = Problem::syntax(
        start,
        next_char(text, start).max(start + n),
        format!("a value is missing before {}", shown(text, start)),
    );
    Err(match rest.bytes().next() {
        Some(b'}' | b']' | b',') => problem.hint("remove the comma before it"),
        Some(b'#') => problem.hint("a value cannot contain comments"),
        Some(b'\'' | b'`') => problem.hint("texts are written in double quotes"),
        _ => problem.hint(
            "a value is a number, a text in double quotes, true, false, null or a list of values",
        ),
    })
}

fn skip_space(bytes: &[u8], from: usize) -> usize {
    let space = |byte: &&u8| matches!(**byte, b' ' | b'\n' | b'\r' | b'\t');
    from + bytes[from.min(bytes.len())..].iter().take_while(space).count()
}

/// The place after the character at a place.
pub(crate) fn next_char(text: &str, at: usize) -> usize {
    at + text.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8)
}

/// The text at a place, for messages.
pub(crate) fn shown(text: &str, at: usize) -> String {
    let rest = text.get(at..).unwrap_or_default();
    let Some(first) = rest.chars().next() else { return "the end".into() };
    if first == '\n' || first == '\r' {
        return "the end of the line".into();
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let end = match first {
        first if is_word(first) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
        first => first.len_utf8(),
    };
    let word = crate::error::shortened(&rest[..end]);
    if first.is_control() { format!("`{}`", word.escape_debug()) } else { format!("`{word}`") }
}

/// A valid JSON value on one line: with a space after commas and colons, and inside braces.
pub(crate) fn write_value(value: &str, out: &mut String) {
    let bytes = value.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                let end = plain_string_end(bytes, at);
                out.push_str(&value[at..end]);
                at = end;
                continue;
            }
            b',' => out.push_str(", "),
            b':' => out.push_str(": "),
            b'{' => {
                let is_empty = bytes.get(skip_space(bytes, at + 1)) == Some(&b'}');
                out.push_str(if is_empty { "{" } else { "{ " });
            }
            b'}' => out.push_str(if out.ends_with('{') { "}" } else { " }" }),
            b' ' | b'\n' | b'\r' | b'\t' => {}
            byte => {
                let n = bytes[at..].iter().take_while(|b| is_scalar(**b)).count();
                if n > 1 {
                    out.push_str(&value[at..at + n]);
                    at += n;
                    continue;
                }
                out.push(byte as char);
            }
        }
        at += 1;
    }
}

fn is_scalar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}

/// The end of a string in valid JSON.
pub(crate) fn plain_string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The entries of a valid JSON object or the items of a list, as parts of its text; `None` if it is
/// neither.
pub(crate) fn parts(value: &str) -> Option<Vec<&str>> {
    let value = value.trim();
    let inside = value
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .or_else(|| value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')))?;
    let bytes = inside.as_bytes();
    let (mut at, mut start, mut depth) = (0, 0, 0_usize);
    let mut found = Vec::new();
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                at = plain_string_end(bytes, at);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                found.push(inside[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    let last = inside[start..].trim();
    if !last.is_empty() {
        found.push(last);
    }
    Some(found)
}

/// The key of an entry of a valid JSON object, in quotes, and its value.
pub(crate) fn key_and_value(entry: &str) -> (&str, &str) {
    let end = plain_string_end(entry.as_bytes(), 0);
    let (key, rest) = entry.split_at(end.min(entry.len()));
    (key, rest.trim_start().strip_prefix(':').unwrap_or(rest).trim())
}

/// A number of few digits without sign and exponent, which most literals are. It has the bits that
/// reading JSON gives.
fn short_number(text: &str) -> Option<Json> {
    /// The most digits, the point included. Whole numbers below 10^15 and the powers of ten are exact
    /// in an `f64`, so that their quotient is rounded once.
    const MAX_DIGITS: usize = 15;
    const POWERS: [f64; MAX_DIGITS] =
        [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14];
    let bytes = text.as_bytes();
    if bytes.len() > MAX_DIGITS || !bytes.last()?.is_ascii_digit() {
        return None;
    }
    if !bytes[0].is_ascii_digit() || (bytes[0] == b'0' && bytes.get(1).is_some_and(|b| *b != b'.'))
    {
        return None;
    }
    let (mut whole, mut point) = (0_u64, None);
    for (i, byte) in bytes.iter().enumerate() {
        match byte {
            b'0'..=b'9' => whole = whole * 10 + u64::from(byte - b'0'),
            b'.' if point.is_none() => point = Some(i),
            _ => return None,
        }
    }
    Some(match point {
        None => Json::from(whole),
        Some(point) => Json::from(whole as f64 / POWERS[bytes.len() - 1 - point]),
    })
}

/// Reads a JSON value, or a number as formulas write it.
pub(crate) fn read(text: &str) -> Result<Json, String> {
    if let Some(number) = short_number(text) {
        return Ok(number);
    }
    let error = match serde_json::from_str(text) {
        Ok(json) => return Ok(json),
        Err(error) => error.to_string(),
    };
    if text.starts_with(|c: char| c.is_ascii_digit() || "-.".contains(c)) {
        let too_large = "the number is too large; write \"inf\" for infinity";
        return formula_number(text).map(Json::from).ok_or_else(|| too_large.into());
    }
    Err(if error.contains("recursion limit") {
        "the value nests deeper than 127 levels".into()
    } else if error.contains("out of range") {
        "a number in it is too large; write \"inf\" for infinity".into()
    } else {
        error.split(" at line ").next().unwrap_or_default().to_owned()
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_end_where_they_end() {
        for value in ["1", "-0.5e-3", "[]", "{}", "[1, [2, {\"a\": \"]\"}]]", "\"a\\\"b\"", "true"]
        {
            let text = format!("{value} rest");
            assert_eq!(value_end(&text, 0).ok(), Some(value.len()), "{value}");
        }
        for wrong in [
            "",
            "[1,]",
            "[1 2]",
            "{\"a\" 1}",
            "{a: 1}",
            "01",
            "1.",
            "\"a",
            "[",
            "nul",
            "\"\\x\"",
            "\"\\ud800\"",
        ] {
            assert!(value_end(wrong, 0).is_err(), "{wrong}");
        }
    }

    #[test]
    fn values_are_spaced_alike() {
        let mut out = String::new();
        write_value("{\"a\" :[1,2 , {}],\"b, c\":{ \"d\":null}}", &mut out);
        assert_eq!(out, r#"{ "a": [1, 2, {}], "b, c": { "d": null } }"#);
    }

    #[test]
    fn numbers_may_have_a_plus_sign() {
        for (value, plain) in [
            ("+5", "5"),
            ("[+1e+3, -2E+4, {\"+\": +0.5}]", "[1e+3, -2E+4, {\"+\": 0.5}]"),
            ("\"+1\"", "\"+1\""),
        ] {
            assert_eq!(value_end(value, 0).ok(), Some(value.len()), "{value}");
            assert_eq!(without_plus(value), plain);
        }
        for wrong in ["+", "+-1", "++1", "[+]", "+true"] {
            assert!(value_end(wrong, 0).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_are_those_of_json() {
        for text in ["0", "7", "10", "0.5", "0.0", "123456789012345", "0.1", "900719925.47409"] {
            assert_eq!(short_number(text), serde_json::from_str(text).ok(), "{text}");
        }
        for text in ["", "00", "01.5", "1.", ".5", "-1", "1e5", "1.2.3", "1_0", "1234567890123456"]
        {
            assert_eq!(short_number(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn all_short_numbers_are_those_of_json(text in "[0-9]{1,9}(\\.[0-9]{1,9})?") {
            if let Some(number) = short_number(&text) {
                prop_assert_eq!(Some(number), serde_json::from_str::<Json>(&text).ok());
            }
        }
    }
}
