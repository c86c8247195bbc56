//! Prints view data. If an outer object is too long for a line, each of its entries is on a line of
//! its own.

use super::WIDTH;
use crate::json::{key_and_value, parts, write_value};

/// Writes the statement of valid JSON.
pub(super) fn write(view: &str, out: &mut String) {
    out.push_str("view ");
    value(view, 0, out);
}

/// Objects are broken up only two levels deep, so the recursion is bounded.
fn value(text: &str, depth: usize, out: &mut String) {
    let start = out.len();
    write_value(text, out);
    let fits = out.len() - start + 2 * depth <= WIDTH;
    let is_object = text.trim_start().starts_with('{');
    if !is_object || (fits && depth > 0) || depth > 1 {
        return;
    }
    let entries = parts(text).unwrap_or_default();
    if entries.is_empty() {
        return;
    }
    out.truncate(start);
    out.push('{');
    for (i, entry) in entries.iter().enumerate() {
        out.push_str(if i > 0 { ",\n" } else { "\n" });
        out.push_str(&"  ".repeat(depth + 1));
        let (key, inner) = key_and_value(entry);
        out.push_str(key);
        out.push_str(": ");
        value(inner, depth + 1, out);
    }
    out.push('\n');
    out.push_str(&"  ".repeat(depth));
    out.push('}');
}
