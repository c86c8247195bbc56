//! A cursor that walks over valid JSON text and knows the position of every part.
//!
//! The text has been validated, so nothing here can fail. On invalid text the results are wrong,
//! but the cursor ends and does not panic. Skipping counts brackets instead of recursing.

use std::borrow::Cow;
use std::ops::Range;

/// A position in JSON text.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

/// The kinds of JSON values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonKind {
    Object,
    Array,
    String,
    Number,
    Bool,
    Null,
}

impl JsonKind {
    /// The name of the kind in messages.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Object => "an object",
            Self::Array => "a list",
            Self::String => "a text",
            Self::Number => "a number",
            Self::Bool => "true or false",
            Self::Null => "null",
        }
    }
}

/// A string with its position, including quotes; the text is `None` if an escape is not a
/// character.
pub(crate) struct JsonString<'t> {
    pub(crate) text: Option<Cow<'t, str>>,
    pub(crate) range: Range<usize>,
}

impl<'t> Cursor<'t> {
    /// A cursor at the start of valid JSON text.
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    fn byte(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    /// The end of the last part read.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    fn skip_space(&mut self) {
        while matches!(self.byte(), b' ' | b'\n' | b'\r' | b'\t') {
            self.at += 1;
        }
    }

    /// The kind of the next value.
    pub(crate) fn kind(&mut self) -> JsonKind {
        self.skip_space();
        match self.byte() {
            b'{' => JsonKind::Object,
            b'[' => JsonKind::Array,
            b'"' => JsonKind::String,
            b't' | b'f' => JsonKind::Bool,
            b'-' | b'0'..=b'9' => JsonKind::Number,
            _ => JsonKind::Null,
        }
    }

    /// Enters the next object or list.
    pub(crate) fn enter(&mut self) {
        self.skip_space();
        self.at += 1;
    }

    /// Moves to the next key of the current object, or leaves the object.
    pub(crate) fn next_key(&mut self) -> Option<JsonString<'t>> {
        if !self.next_item() {
            return None;
        }
        let key = self.string();
        self.skip_space();
        self.at += usize::from(self.byte() == b':');
        Some(key)
    }

    /// Moves to the next item of the current list; returns false and leaves the list at its end.
    pub(crate) fn next_item(&mut self) -> bool {
        self.skip_space();
        if self.byte() == b',' {
            self.at += 1;
            self.skip_space();
        }
        match self.byte() {
            b'}' | b']' => {
                self.at += 1;
                false
            }
            0 => false,
            _ => true,
        }
    }

    /// Reads a string.
    pub(crate) fn string(&mut self) -> JsonString<'t> {
        self.skip_space();
        let start = self.at;
        let plain = plain_prefix(self.text.as_bytes().get(start + 1..).unwrap_or_default());
        let end = start + 1 + plain;
        if self.byte() == b'"' && self.text.as_bytes().get(end) == Some(&b'"') {
            self.at = end + 1;
            let text = Some(Cow::Borrowed(&self.text[start + 1..end]));
            return JsonString { text, range: start..self.at };
        }
        let range = self.skip();
        let text = serde_json::from_str::<String>(&self.text[range.clone()]).ok();
        JsonString { text: text.map(Cow::Owned), range }
    }

    /// Skips the next value and returns its position.
    pub(crate) fn skip(&mut self) -> Range<usize> {
        self.skip_space();
        let start = self.at;
        match self.byte() {
            b'"' => self.skip_string(),
            b'{' | b'[' => self.skip_container(),
            _ => self.skip_scalar(),
        }
        // Invalid JSON must not stop the cursor.
        if self.at == start {
            self.at = self.text.len();
        }
        start..self.at
    }

    fn skip_string(&mut self) {
        let bytes = self.text.as_bytes();
        let mut i = self.at + 1;
        loop {
            i += plain_prefix(bytes.get(i..).unwrap_or_default());
            if bytes.get(i) != Some(&b'\\') {
                break;
            }
            i += 2;
        }
        self.at = (i + 1).min(bytes.len());
    }

    fn skip_container(&mut self) {
        let mut depth = 0_usize;
        while self.at < self.text.len() {
            match self.byte() {
                b'"' => {
                    self.skip_string();
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        self.at += 1;
                        return;
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    fn skip_scalar(&mut self) {
        while !matches!(self.byte(), b',' | b'}' | b']' | b':' | b' ' | b'\n' | b'\r' | b'\t' | 0) {
            self.at += 1;
        }
    }
}

/// Number of bytes before the first quote or backslash.
fn plain_prefix(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    let mut n = 0;
    while let Some(eight) = bytes[n..].first_chunk() {
        let word = u64::from_le_bytes(*eight);
        // The lowest set bit marks the first equal byte; higher bits may be wrong.
        let equal = |byte: u8| {
            let differ = word ^ (ONES * u64::from(byte));
            differ.wrapping_sub(ONES) & !differ & HIGH
        };
        let found = equal(b'"') | equal(b'\\');
        if found != 0 {
            return n + found.trailing_zeros() as usize / 8;
        }
        n += 8;
    }
    n + bytes[n..].iter().take_while(|byte| !matches!(byte, b'"' | b'\\')).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_come_with_their_positions() {
        let text = r#" { "a" : [1, {"x": "}"}], "b\u0041": null } "#;
        let mut cursor = Cursor::new(text);
        assert_eq!(cursor.kind(), JsonKind::Object);
        cursor.enter();
        let mut seen = Vec::new();
        while let Some(key) = cursor.next_key() {
            let value = cursor.skip();
            seen.push((key.text.map(Cow::into_owned), &text[key.range], &text[value]));
        }
        assert_eq!(
            seen,
            [
                (Some("a".into()), "\"a\"", "[1, {\"x\": \"}\"}]"),
                (Some("bA".into()), "\"b\\u0041\"", "null")
            ]
        );
    }
}
