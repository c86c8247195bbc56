//! The places of the parts of a JSON string between its escapes.

use std::ops::Range;

use crate::model::Places;

/// The places of the parts of the string that stands at the end of these bytes, if it has escapes.
pub fn places_in(text: &str, range: Range<usize>) -> Places {
    let n_before =
        text[range.clone()].bytes().take_while(|byte| b" \n\r\t:".contains(byte)).count();
    let start = range.start + n_before;
    let raw = &text.as_bytes()[start..range.end];
    if raw.first() != Some(&b'"') || !raw.contains(&b'\\') {
        return Places::default();
    }
    let (mut in_string, mut at) = (0, 1);
    let mut parts = vec![(0, start as u32 + 1)];
    while at + 1 < raw.len() {
        let (n_bytes, n_raw) = match (raw[at], raw[at + 1]) {
            (b'\\', b'u') => escaped(&text[start + at..range.end]),
            (b'\\', _) => (1, 2),
            _ => (1, 1),
        };
        (in_string, at) = (in_string + n_bytes, at + n_raw);
        if n_raw > 1 {
            parts.push((in_string, (start + at) as u32));
        }
    }
    Places { parts: Some(parts.into()), is_quoted: true }
}

/// The number of bytes of the character of an escape such as `\u00e9`, with which the text starts,
/// and that of the escape; both halves of a pair count as one.
fn escaped(text: &str) -> (u32, usize) {
    let unit = text.get(2..6).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    match unit {
        Some(0..0x80) => (1, 6),
        Some(0x80..0x800) => (2, 6),
        Some(0xd800..0xdc00) => (4, 12),
        Some(_) | None => (3, 6),
    }
}
