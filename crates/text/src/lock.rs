//! Updates the locks of used documents in a text.

use std::collections::HashMap;

use millstream_base::Limits;
use millstream_document::{Lock, Named};
use serde_json::Value as Json;

use crate::name;
use crate::parse::parse;
use crate::token::write_comment;
use crate::tree::{What, Word};

/// The text with its locks replaced by these, otherwise unchanged. `None` if it has problems.
pub fn with_lock(text: &str, lock: &Named<Lock>, limits: &Limits) -> Option<String> {
    if text.len() > limits.document_bytes {
        return None;
    }
    let parsed = parse(text);
    if !parsed.problems.is_empty() {
        return None;
    }
    let comments = parsed.tree.items.iter().filter_map(|item| match &item.what {
        What::Lock(line) => Some((&*line.name, parsed.tree.beside(item)?)),
        _ => None,
    });
    let comments: HashMap<&str, &Word<'_>> = comments.collect();
    let mut lines = String::new();
    for (name, Lock { format, hash, .. }) in lock {
        lines.push_str("lock ");
        name::write(name, &mut lines);
        lines.push_str(&format!(" = {format} {}", Json::from(&**hash)));
        if let Some(comment) = comments.get(&**name) {
            lines.push_str("  #");
            write_comment(comment, &mut lines);
        }
        lines.push('\n');
    }
    let line_end = |at: usize| text[at..].find('\n').map_or(text.len(), |n| at + n + 1);
    // The new lines replace the first old one, or follow the last use.
    let mut out = String::with_capacity(text.len() + lines.len());
    let mut copied = 0;
    let locks = parsed.tree.items.iter().filter(|item| matches!(item.what, What::Lock(_)));
    let mut place = None;
    for item in locks {
        out.push_str(&text[copied..item.span.start as usize]);
        place = place.or(Some(out.len()));
        copied = line_end(item.span.end as usize);
    }
    if place.is_none() {
        let uses = parsed.tree.items.iter().filter(|item| matches!(item.what, What::Use(_)));
        let last = uses
            .max_by_key(|item| item.span.start)
            .map_or(0, |item| line_end(item.span.end as usize));
        out.push_str(&text[..last]);
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        place = Some(out.len());
        copied = last;
    }
    let place = place.unwrap_or(out.len());
    out.push_str(&text[copied..]);
    out.insert_str(place, &lines);
    Some(out)
}
