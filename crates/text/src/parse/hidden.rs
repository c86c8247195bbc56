//! What statements may define that start inside one that could not be read, because the end of its
//! line is missing, say.
//!
//! Without knowing the rest, a name is taken for one that may be defined if `=` follows it outside of
//! brackets, or at the start of a line. It may have grown together with the text before it.

use super::STATEMENTS;
use crate::name;

/// What a statement inside another one may define.
pub(super) enum Hidden<'t> {
    /// A node, an input or an output of this name.
    Name(&'t str),
    /// `fps` or `start_frame`.
    Time,
    /// A group, a used document, or the format.
    Statement,
}

/// A search through the text of a statement.
pub(super) struct Scan<'t> {
    text: &'t str,
    at: usize,
    /// The start of the line.
    line: usize,
    /// The number of open brackets.
    depth: usize,
    /// Whether the first `=` is that of the statement itself.
    has_own: bool,
    /// The end of the name of which the shorter endings are still to be told, and where the next one
    /// starts.
    endings: Option<(usize, usize)>,
}

impl<'t> Scan<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let word = &text[..name::plain_end(text, 0)];
        let is_named = matches!(word, "input" | "output") || !STATEMENTS.contains(&word);
        let has_own = text.starts_with('`') || !word.is_empty() && is_named;
        Self { text, at: 0, line: 0, depth: 0, has_own, endings: None }
    }

    /// The next name or statement that may be hidden.
    pub(super) fn next(&mut self) -> Option<Hidden<'t>> {
        loop {
            if let Some(name) = self.next_ending() {
                return Some(Hidden::Name(name));
            }
            let rest = &self.text[self.at..];
            let c = rest.chars().next()?;
            if name::starts(c) || name::continues(c) {
                let start = self.at;
                self.at += rest.trim_start_matches(name::continues).as_ptr() as usize
                    - rest.as_ptr() as usize;
                self.at = self.at.max(start + c.len_utf8());
                if start > 0
                    && let Some(hidden) = self.keyword(start)
                {
                    return Some(hidden);
                }
                continue;
            }
            let place = self.at;
            self.at += c.len_utf8();
            match c {
                '\n' => self.line = self.at,
                '"' => {
                    let line = rest[1..].find('\n').map_or(rest.len(), |end| end + 1);
                    if let Some(end) = rest[1..line].find('"') {
                        self.at = place + end + 2;
                    }
                }
                '#' => self.at = place + rest.find('\n').unwrap_or(rest.len()),
                '(' | '[' => self.depth += 1,
                ')' | ']' => self.depth = self.depth.saturating_sub(1),
                '=' => self.assigned(place),
                _ => {}
            }
        }
    }

    /// The statement that may start with the word before the current place.
    fn keyword(&self, start: usize) -> Option<Hidden<'t>> {
        let (word, after) = (&self.text[start..self.at], &self.text[self.at..]);
        let next = after.trim_start_matches([' ', '\t']);
        if next.len() == after.len() {
            return None;
        }
        let is_name = next.starts_with(|c: char| name::starts(c) || c == '`');
        if word.ends_with("fps") || word.ends_with("start_frame") {
            return Some(Hidden::Time);
        }
        if word.ends_with("group") && is_name || matches!(word, "use" | "lock" | "millstream") {
            return Some(Hidden::Statement);
        }
        // With a value it is found by its `=`.
        let name = next.trim_start_matches('`');
        let end = if next.len() == name.len() { name::plain_end(name, 0) } else { name.find('`')? };
        let is_input = word.ends_with("input") || word.ends_with("output");
        let has_type = name[end..].trim_start_matches(['`', ' ', '\t']).starts_with(':');
        (is_input && has_type).then(|| Hidden::Name(&name[..end]))
    }

    /// Looks at the name before `=` at a place.
    fn assigned(&mut self, at: usize) {
        let (before, after) = (&self.text[..at], &self.text[at + 1..]);
        if after.starts_with('=') {
            self.at += 1;
            return;
        }
        if before.ends_with(['<', '>', '!']) {
            return;
        }
        if std::mem::take(&mut self.has_own) && self.line == 0 {
            return;
        }
        let before = before.trim_end_matches([' ', '\t']);
        let on_line = before.get(self.line..).unwrap_or_default().trim_start();
        let starts_line = self.line > 0 && !on_line.contains([' ', '(', ',']);
        if self.depth > 0 && !starts_line {
            // The name of an argument.
            return;
        }
        // Before `=`, inputs and outputs have a type.
        let untyped = before.trim_end_matches(|c| name::continues(c) || matches!(c, '<' | '>'));
        let name = match untyped.trim_end_matches([' ', '\t']).strip_suffix(':') {
            Some(name) => name.trim_end_matches([' ', '\t']),
            None => before,
        };
        let (end, start) = match name.strip_suffix('`') {
            Some(quoted) => (quoted.len(), quoted.rfind('`').map_or(0, |quote| quote + 1)),
            None => (name.len(), name.trim_end_matches(name::continues).len()),
        };
        self.endings = (start < end).then_some((end, start));
    }

    /// The next ending of the name before `=`, the longest first.
    fn next_ending(&mut self) -> Option<&'t str> {
        let (end, start) = self.endings?;
        let found = &self.text[start..end];
        let first = found.chars().next()?;
        let next = start + first.len_utf8();
        self.endings = (next < end).then_some((end, next));
        Some(found)
    }
}
