//! JSON as a tree that preserves the order of keys, repeated keys, and the positions of all parts.

use std::ops::Range;

use millstream_base::Span;

use crate::cursor::{Cursor, JsonKind};

/// Containers nested more deeply remain text, because no upgrade looks into them.
const MAX_DEPTH: usize = 8;

/// A JSON value.
pub(super) struct Raw {
    content: Content,
    /// The position in the old text.
    origin: Range<usize>,
}

enum Content {
    /// Entries with quoted keys.
    Object(Vec<(Key, Raw)>),
    List(Vec<Raw>),
    /// Any other or more deeply nested value, as text.
    Text(String),
}

/// A key in quotes.
pub(super) struct Key {
    quoted: String,
    origin: Range<usize>,
}

/// The positions of the parts of an upgraded text in the old one.
#[derive(Default)]
pub(crate) struct Origins {
    /// Starts of parts in the new text, ascending, with those in the old text.
    starts: Vec<(usize, usize)>,
    /// Ends of parts in the new text, ascending, with those in the old text.
    ends: Vec<(usize, usize)>,
}

impl Origins {
    /// The position in the old text for a position in the new one.
    pub(crate) fn of(&self, range: &Range<usize>) -> Span {
        let after = self.starts.partition_point(|(new, _)| *new <= range.start);
        let start = after.checked_sub(1).map_or(0, |i| self.starts[i].1);
        let at = self.ends.partition_point(|(new, _)| *new < range.end);
        let end = self.ends.get(at).map_or(start, |(_, old)| *old);
        Span::new(start, end.max(start))
    }
}

impl Raw {
    /// Reads valid JSON text.
    pub(super) fn read(text: &str) -> Self {
        read(text, &mut Cursor::new(text), 0)
    }

    /// The JSON text, with the old positions of its parts.
    pub(super) fn written(&self) -> (String, Origins) {
        let mut out = String::new();
        let mut origins = Origins::default();
        write(self, &mut out, &mut origins);
        (out, origins)
    }

    fn entries(&self) -> &[(Key, Self)] {
        match &self.content {
            Content::Object(entries) => entries,
            Content::List(_) | Content::Text(_) => &[],
        }
    }

    fn entries_mut(&mut self) -> Option<&mut Vec<(Key, Self)>> {
        match &mut self.content {
            Content::Object(entries) => Some(entries),
            Content::List(_) | Content::Text(_) => None,
        }
    }

    /// The entry of an object.
    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        let entries = self.entries_mut()?;
        entries.iter_mut().find(|(known, _)| known.is(key)).map(|(_, value)| value)
    }

    /// The values of an object; none for any other value.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Self> {
        self.entries_mut().into_iter().flatten().map(|(_, value)| value)
    }

    /// Removes an entry of an object.
    pub(super) fn take(&mut self, key: &str) -> Option<Self> {
        let entries = self.entries_mut()?;
        let at = entries.iter().position(|(known, _)| known.is(key))?;
        Some(entries.remove(at).1)
    }

    /// Renames the key of an entry in place.
    pub(super) fn rename_key(&mut self, from: &str, to: &str) {
        let entries = self.entries_mut().into_iter().flatten();
        for (key, _) in entries.filter(|(key, _)| key.is(from)) {
            key.quoted = quoted(to);
        }
    }

    /// The entries of an object; none for any other value.
    pub(super) fn into_entries(self) -> Vec<(Key, Self)> {
        match self.content {
            Content::Object(entries) => entries,
            Content::List(_) | Content::Text(_) => Vec::new(),
        }
    }

    /// An object with one entry, at the position of its value.
    pub(super) fn object_of(key: &str, value: Self) -> Self {
        let origin = value.origin.clone();
        let key = Key { quoted: quoted(key), origin: origin.clone() };
        Self { content: Content::Object(vec![(key, value)]), origin }
    }

    /// The object under a key, which is appended if it is missing.
    pub(super) fn get_or_insert_object(&mut self, key: &str) -> &mut Self {
        let at = self.entries().iter().position(|(known, _)| known.is(key));
        let origin = self.origin.clone();
        if !matches!(self.content, Content::Object(_)) {
            self.content = Content::Object(Vec::new());
        }
        let entries = self.entries_mut().expect("it was just made an object");
        let at = at.unwrap_or_else(|| {
            let value = Self { content: Content::Object(Vec::new()), origin: origin.clone() };
            entries.push((Key { quoted: quoted(key), origin }, value));
            entries.len() - 1
        });
        &mut entries[at].1
    }

    /// Appends an entry to an object; does nothing to any other value.
    pub(super) fn push(&mut self, key: Key, value: Self) {
        if let Some(entries) = self.entries_mut() {
            entries.push((key, value));
        }
    }
}

impl Key {
    fn is(&self, key: &str) -> bool {
        self.quoted.get(1..self.quoted.len() - 1) == Some(key)
    }
}

fn quoted(key: &str) -> String {
    format!("\"{key}\"")
}

/// Recurses at most [`MAX_DEPTH`] levels.
fn read(text: &str, cursor: &mut Cursor<'_>, depth: usize) -> Raw {
    let kind = cursor.kind();
    let start = cursor.position();
    let content = match kind {
        JsonKind::Object if depth < MAX_DEPTH => {
            let mut entries = Vec::new();
            cursor.enter();
            while let Some(key) = cursor.next_key() {
                let quoted = text[key.range.clone()].to_owned();
                entries.push((Key { quoted, origin: key.range }, read(text, cursor, depth + 1)));
            }
            Content::Object(entries)
        }
        JsonKind::Array if depth < MAX_DEPTH => {
            let mut items = Vec::new();
            cursor.enter();
            while cursor.next_item() {
                items.push(read(text, cursor, depth + 1));
            }
            Content::List(items)
        }
        JsonKind::Object
        | JsonKind::Array
        | JsonKind::String
        | JsonKind::Number
        | JsonKind::Bool
        | JsonKind::Null => Content::Text(text[cursor.skip()].to_owned()),
    };
    Raw { content, origin: start..cursor.position() }
}

/// Recurses at most as deep as the tree was read or extended by upgrades.
fn write(raw: &Raw, out: &mut String, origins: &mut Origins) {
    origins.starts.push((out.len(), raw.origin.start));
    match &raw.content {
        Content::Text(text) => out.push_str(text),
        Content::List(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                write(item, out, origins);
            }
            out.push(']');
        }
        Content::Object(entries) => {
            out.push('{');
            for (i, (key, value)) in entries.iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                origins.starts.push((out.len(), key.origin.start));
                out.push_str(&key.quoted);
                origins.ends.push((out.len(), key.origin.end));
                out.push(':');
                write(value, out, origins);
            }
            out.push('}');
        }
    }
    origins.ends.push((out.len(), raw.origin.end));
}
