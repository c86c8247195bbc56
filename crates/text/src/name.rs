//! Names: plain words, or in back quotes with the escapes of JSON.

use std::borrow::Cow;

use millstream_node::Zone;
use millstream_node::interface::CLOSURE;

use crate::error::Problem;
use crate::json::next_char;

/// Whether a character starts a plain name.
pub(crate) fn starts(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// Whether a character continues a plain name.
pub(crate) fn continues(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether a name is written without quotes.
pub(crate) fn is_plain(name: &str) -> bool {
    name.chars().next().is_some_and(starts) && plain_end(name, 0) == name.len()
}

/// The end of the plain name at a place of a text.
#[inline]
pub(crate) fn plain_end(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let mut end = start;
    while let Some(byte) = bytes.get(end) {
        if !IN_NAMES[*byte as usize] {
            return if byte.is_ascii() { end } else { plain_end_of_any(text, start) };
        }
        end += 1;
    }
    end
}

/// The end of a plain name with characters besides ASCII.
#[cold]
fn plain_end_of_any(text: &str, start: usize) -> usize {
    let rest = &text[start..];
    start + rest.find(|c| !continues(c)).unwrap_or(rest.len())
}

/// Whether two words are equal, compared byte by byte: calling `memcmp` takes longer than comparing
/// a word, and where the bytes after it are in a page that was never touched, ten times as long,
/// even for no bytes.
pub(crate) fn is_same_word(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b)
}

/// The end of the type whose first word ends at a position, such as `list<f32>` or `closure<p: vec3
/// -> f32>`; `None` if a `<` is not closed.
pub(crate) fn type_end(text: &str, word_end: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut end, mut depth) = (word_end, 0_usize);
    while let Some(byte) = bytes.get(end) {
        match byte {
            b'<' => depth += 1,
            // The end of an arrow.
            b'>' if depth > 0 && bytes[end - 1] == b'-' => {}
            b'>' if depth > 0 => depth -= 1,
            byte if depth > 0 && (byte.is_ascii_alphanumeric() || b"_ ,:-".contains(byte)) => {}
            _ => break,
        }
        end += 1;
    }
    (depth == 0).then_some(end)
}

/// Whether a word says what kind of name follows it, as in `input x`.
pub(crate) fn leads(word: &str) -> bool {
    matches!(word, "input" | "node" | "group" | "muted" | CLOSURE) || Zone::named(word).is_some()
}

/// Whether a byte is an ASCII character that continues a plain name.
const IN_NAMES: [bool; 256] = {
    let mut all = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        all[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_';
        byte += 1;
    }
    all
};

/// Writes a name, in back quotes if necessary.
pub(crate) fn write(name: &str, out: &mut String) {
    if is_plain(name) { out.push_str(name) } else { write_quoted(name, out) }
}

/// Writes a name in back quotes.
pub(crate) fn write_quoted(name: &str, out: &mut String) {
    out.push('`');
    for c in name.chars() {
        match c {
            '`' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // Characters that some readers take for the end of a line.
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => {
                out.push_str(&format!("\\u{:04x}", c as u32));
            }
            c => out.push(c),
        }
    }
    out.push('`');
}

/// Writes the name of a zone's block: that of the node after that of the group around it.
pub(crate) fn write_block_name(group: Option<&str>, node: &str, out: &mut String) {
    match group {
        Some(group) => write_made_name(group, node, out),
        None => {
            out.clear();
            out.push_str(node);
        }
    }
}

/// Maximal length of generated names; longer ones are cut at the front.
const MAX_MADE: usize = 100;

/// Writes the name of the node of a call inside the statement of another node.
pub(crate) fn write_made_name(node: &str, input: &str, out: &mut String) {
    out.clear();
    for part in [node, "_", input] {
        // Names of nodes contain neither.
        if part.contains(['.', '/']) {
            out.push_str(&part.replace(['.', '/'], "_"));
        } else {
            out.push_str(part);
        }
    }
    if out.len() > MAX_MADE
        && let Some((cut, c)) = out.char_indices().rev().nth(MAX_MADE)
    {
        out.drain(..cut + c.len_utf8());
    }
}

/// Reads the name in back quotes that starts at a place; also returns its end.
pub(crate) fn read_quoted(text: &str, start: usize) -> Result<(Cow<'_, str>, usize), Problem> {
    let inside = start + 1;
    let plain = text[inside..].bytes().take_while(|b| !matches!(b, b'`' | b'\\' | b'\n')).count();
    if text.as_bytes().get(inside + plain) == Some(&b'`') {
        return Ok((Cow::Borrowed(&text[inside..inside + plain]), inside + plain + 1));
    }
    let mut name = String::new();
    let mut chars = text[inside..].char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '`' => return Ok((Cow::Owned(name), inside + at + 1)),
            '\n' => break,
            '\\' => {
                let escape = chars.next().map(|(_, c)| c);
                let code = |chars: &mut std::str::CharIndices<'_>| {
                    let digits: String = chars.take(4).map(|(_, c)| c).collect();
                    u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32)
                };
                let c = match escape {
                    Some('n') => Some('\n'),
                    Some('r') => Some('\r'),
                    Some('t') => Some('\t'),
                    Some('u') => code(&mut chars),
                    Some(c @ ('`' | '\\' | '"' | '/')) => Some(c),
                    Some(_) | None => None,
                };
                let Some(c) = c else {
                    let at = inside + at;
                    let end = next_char(text, at + 1);
                    let problem = Problem::syntax(at, end, "this escape is not a character");
                    return Err(problem.hint("write `\\`` and `\\\\` for these, or `\\uXXXX`"));
                };
                name.push(c);
            }
            c => name.push(c),
        }
    }
    let line = text[start..].find('\n').map_or(text.len(), |n| start + n);
    Err(Problem::syntax(start, line.max(inside), "this name is not closed")
        .hint("add a back quote"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back() {
        for name in
            ["a", "", "square and add", "a`b\\c", "\n\t\r", "\u{7f}", "\u{2028}", "1a", "größe"]
        {
            let mut out = String::new();
            write_quoted(name, &mut out);
            assert!(!out.contains('\n'));
            let (read, end) = read_quoted(&out, 0).ok().expect("it is a name");
            assert_eq!((&*read, end), (name, out.len()));
        }
        assert!(is_plain("größe_2") && !is_plain("2a") && !is_plain(""));
    }
}
