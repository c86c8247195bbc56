//! Explains where text stops being JSON, and what was probably intended.

use millstream_base::Span;

use super::error::LoadError;

/// The problem that the JSON reader found, with its position.
pub(super) fn explained(text: &str, error: &serde_json::Error) -> (Span, LoadError) {
    let at = offset(text, error.line(), error.column());
    let message = error.to_string();
    // The message of the reader ends with the position, which is reported separately.
    let message = match message.rfind(" at line ") {
        Some(end) => message[..end].to_owned(),
        None => message,
    };
    let next_char = text[at..].chars().next().map_or(0, char::len_utf8);
    let hint = if error.is_eof() { still_open(text) } else { hint(text, at, &message) };
    // An empty span would count as none.
    let span = if next_char == 0 {
        Span::new(text.char_indices().next_back().map_or(0, |(last, _)| last), text.len())
    } else {
        Span::new(at, at + next_char)
    };
    // The same place as that of the span, which is at the last character of a text that ends too early.
    let before = &text[..span.start as usize];
    let line = before.matches('\n').count() + 1;
    let column = before[before.rfind('\n').map_or(0, |end| end + 1)..].chars().count() + 1;
    let error = LoadError::Syntax { line, column, message, hint };
    (span, error)
}

/// The byte at this line and column, both from 1, rounded down to the start of a character.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let line_start = match line {
        0 | 1 => 0,
        _ => text.match_indices('\n').nth(line - 2).map_or(text.len(), |(at, _)| at + 1),
    };
    let mut at = (line_start + column.saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn hint(text: &str, at: usize, message: &str) -> Option<String> {
    let rest = &text[at..];
    let before = text[..at].trim_end();
    let next = rest.chars().next()?;
    let hint = match next {
        '}' | ']' if before.ends_with(',') => "remove the comma before it",
        '}' | ']' => "a value is missing before it, or another bracket is still open",
        ',' => "there is one comma too many, or a value is missing",
        '\'' => "strings and names are written in double quotes",
        '/' | '#' => "JSON has no comments; use `about` or `view`",
        'N' | 'I' | '+' => "numbers that JSON lacks are written \"nan\", \"inf\" and \"-inf\"",
        'T' | 'F' => "write true and false in lower case",
        _ if message.starts_with("trailing characters") => {
            "a document is one JSON object; remove what follows it"
        }
        _ if message.starts_with("expected `,`") => "a comma is missing before it",
        _ if message.starts_with("expected `:`") => "a colon is missing before it",
        _ if message.starts_with("key must be a string") => "names are written in double quotes",
        _ if message.contains("control character") => {
            "line breaks and tabs in strings are written \\n and \\t"
        }
        _ if message.contains("escape") => "a backslash in a string is written \\\\",
        _ if message.contains("number") => "numbers look like 1, -0.5 or 2e3",
        _ if next.is_alphabetic() => "strings and names are written in double quotes",
        _ => "a document is a JSON object: { \"millstream\": 2, ... }",
    };
    Some(hint.into())
}

/// The hint for a text that ends too early.
fn still_open(text: &str) -> Option<String> {
    let mut open: Vec<(usize, u8)> = Vec::new();
    let mut line = 1;
    let mut string_from = None;
    let mut escaped = false;
    for byte in text.bytes() {
        line += usize::from(byte == b'\n');
        if string_from.is_some() {
            if byte == b'"' && !escaped {
                string_from = None;
            }
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => string_from = Some(line),
            b'{' | b'[' => open.push((line, byte)),
            b'}' | b']' => {
                open.pop();
            }
            _ => {}
        }
    }
    if let Some(line) = string_from {
        return Some(format!("the string that starts on line {line} has no closing quote"));
    }
    let (line, bracket) = open.last()?;
    let closing = if *bracket == b'{' { '}' } else { ']' };
    Some(match open.len() {
        1 => format!("the `{}` on line {line} has no `{closing}`", char::from(*bracket)),
        n => format!(
            "{n} brackets are still open; the innermost is the `{}` on line {line}",
            char::from(*bracket)
        ),
    })
}
