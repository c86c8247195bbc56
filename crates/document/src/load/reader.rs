//! Reads the elementary parts of a document and reports everything that does not fit.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use millstream_base::{Limits, Span};
use serde_json::Value as Json;

use super::error::LoadError;
use super::words::Words;
use crate::at::{At, Part};
use crate::cursor::{Cursor, JsonKind};
use crate::model::{Input, Named};
use crate::problems::{Problems, listed, shortened};
use crate::spot::Spot;
use crate::upgrade::Origins;

/// The maximum length of a name, in characters.
const MAX_NAME: usize = 200;

/// From this text size on, memory for nodes is reserved before reading.
const LARGE: usize = 1 << 20;

/// The length of short nodes in compact text.
const BYTES_PER_NODE: usize = 96;

/// Reads one document; problems are collected while the readable parts are returned.
pub(super) struct Reader<'t> {
    pub(super) text: &'t str,
    pub(super) cursor: Cursor<'t>,
    /// The original positions of parts, before an upgrade.
    pub(super) origins: Option<&'t Origins>,
    pub(super) problems: Problems,
    pub(super) limits: &'t Limits,
    /// Names of types, sockets and outputs.
    pub(super) words: Words,
    /// Names of nodes.
    pub(super) names: Words,
    /// A placeholder for the type of a node that could not be read, and for the node of a far link.
    pub(super) no_word: Arc<str>,
    /// The node names of far links, in order: those that are not cached. They are replaced by
    /// shared names once all nodes of the body are read.
    pub(super) far: Vec<&'t str>,
    pub(super) n_nodes: usize,
    /// The number of errors that named parts have been marked with.
    pub(super) n_marked: usize,
    /// The number of other errors that lose no part.
    pub(super) n_harmless: usize,
    /// The inputs of the current node; reused to save allocations.
    pub(super) inputs: Vec<(Arc<str>, Input)>,
    /// Whether so much is lost that checking the rest is pointless.
    pub(super) is_lost: bool,
}

/// The keys found in an object.
#[derive(Default)]
pub(super) struct Seen {
    /// A bit for each known key that was found.
    pub(super) keys: u32,
    /// A bit for each known key that was found again.
    again: u32,
    /// A bit for each known key that an unknown one may stand for.
    meant: u32,
    n_unknown: usize,
    /// Whether there was a key that no known one is similar to.
    pub(super) has_strange: bool,
}

impl Seen {
    /// Whether the known key at this position was found.
    pub(super) fn has(&self, key: usize) -> bool {
        self.keys & 1 << key != 0
    }

    /// Whether a missing key may have been misspelt.
    pub(super) fn is_misspelt(&self) -> bool {
        self.meant & !self.keys != 0
    }

    /// Whether the entry of the known key at this position is in doubt: given twice, or misspelt.
    pub(super) fn is_in_doubt(&self, key: usize) -> bool {
        (self.again | self.meant & !self.keys) & 1 << key != 0
    }
}

/// A part of a document with a position.
pub(super) trait Placed {
    fn spot_mut(&mut self) -> &mut Spot;
}

impl<'t> Reader<'t> {
    pub(super) fn span(&self, range: &Range<usize>) -> Span {
        match self.origins {
            Some(origins) => origins.of(range),
            None => Span::new(range.start, range.end),
        }
    }

    pub(super) fn report(&mut self, at: At<'_>, range: &Range<usize>, error: &LoadError) {
        let span = self.span(range);
        self.problems.report(at, span, error);
    }

    /// Enters an object; skips any other value and returns false.
    pub(super) fn object(&mut self, at: At<'_>, what: impl FnOnce() -> String) -> bool {
        self.container(at, JsonKind::Object, what)
    }

    fn container(&mut self, at: At<'_>, kind: JsonKind, what: impl FnOnce() -> String) -> bool {
        if self.cursor.kind() == kind {
            self.cursor.enter();
            return true;
        }
        self.wrong_kind(at, what, kind.describe());
        false
    }

    /// Reports that the next value is of the wrong kind, and skips it.
    pub(super) fn wrong_kind(
        &mut self,
        at: At<'_>,
        what: impl FnOnce() -> String,
        expected: &'static str,
    ) {
        let kind = self.cursor.kind();
        let range = self.cursor.skip();
        let found = match kind {
            JsonKind::Object | JsonKind::Array => kind.describe().into(),
            JsonKind::String | JsonKind::Number | JsonKind::Bool | JsonKind::Null => {
                shortened(&self.text[range.clone()])
            }
        };
        self.report(at, &range, &LoadError::WrongKind { what: what(), found, expected });
    }

    /// The number of errors that no named part has been marked with.
    pub(super) fn n_unmarked(&self) -> usize {
        self.problems.n_errors() - self.n_marked
    }

    /// Reports an error that loses no part.
    pub(super) fn report_harmless(&mut self, at: At<'_>, range: &Range<usize>, error: &LoadError) {
        self.report(at, range, error);
        self.n_harmless += 1;
    }

    /// Moves to the next known key of the current object; reports and skips others.
    pub(super) fn field(
        &mut self,
        at: At<'_>,
        keys: &[&'static str],
        seen: &mut Seen,
    ) -> Option<&'static str> {
        while let Some(key) = self.cursor.next_key() {
            let known = key.text.as_deref().and_then(|k| keys.iter().position(|known| *known == k));
            match known {
                Some(i) if !seen.has(i) => {
                    seen.keys |= 1 << i;
                    return Some(keys[i]);
                }
                Some(i) => {
                    seen.again |= 1 << i;
                    let error = LoadError::Duplicate { whole: at.whole(), key: keys[i].into() };
                    self.report(at, &key.range, &error);
                }
                None => {
                    let name = key.text.unwrap_or(Cow::Borrowed("?"));
                    let near = self.problems.nearest(&name, keys.iter().copied());
                    let hint = near.map_or_else(
                        || {
                            let entries = listed(keys.iter().copied());
                            match at.part {
                                Part::Node(_) => {
                                    let set = format!("\"set\": {{ {}: ... }}", Json::from(&*name));
                                    format!("entries: {entries}; a setting belongs in `set`: {set}")
                                }
                                _ => format!("entries: {entries}"),
                            }
                        },
                        |near| format!("did you mean `{near}`?"),
                    );
                    let meant = keys.iter().position(|key| near == Some(*key));
                    seen.meant |= meant.map_or(0, |key| 1 << key);
                    seen.n_unknown += 1;
                    seen.has_strange |= meant.is_none();
                    let key_text = shortened(&name);
                    let error = LoadError::UnknownKey { whole: at.whole(), key: key_text, hint };
                    self.report(at, &key.range, &error);
                }
            }
            self.cursor.skip();
        }
        if !seen.is_misspelt() {
            self.n_harmless += seen.n_unknown;
        }
        None
    }

    /// Reads named parts. `read` receives the name. A part with errors is marked, apart from errors
    /// that parts inside it are marked with.
    pub(super) fn named<T: Placed>(
        &mut self,
        at: At<'_>,
        key: &'static str,
        what: &'static str,
        read: impl Fn(&mut Self, &str) -> T,
    ) -> Named<T> {
        let mut things = Named::new();
        if !self.object(at, || at.entry(key)) {
            return things;
        }
        let n_left = self.text.len() - self.cursor.position();
        if at.group.is_empty() && key == "nodes" && n_left >= LARGE {
            // Unused capacity takes addresses but no memory.
            things.reserve(n_left / BYTES_PER_NODE);
        }
        while let Some(name) = self.cursor.next_key() {
            let Some(text) = &name.text else {
                self.bad_escape(at, &name.range, what);
                self.cursor.skip();
                continue;
            };
            let (n_unmarked, n_harmless) = (self.n_unmarked(), self.n_harmless);
            if let Some(reason) = name_problem(text) {
                let error = LoadError::BadName { what, name: shortened(text), reason };
                self.report(at, &name.range, &error);
            }
            let hash = things.hash(text);
            if let Some(first) = things.slot_with(hash, text).and_then(|slot| things.at_mut(slot)) {
                let spot = T::spot_mut(first);
                *spot = spot.unreadable();
                let whole = at.entry(key);
                let error = LoadError::Duplicate { whole, key: shortened(text) };
                self.report(at, &name.range, &error);
                self.n_marked += self.n_unmarked() - n_unmarked;
                self.cursor.skip();
                continue;
            }
            let shared = self.names.share(text);
            let mut thing = read(self, text);
            let spot = Spot::new(self.span(&(name.range.start..self.cursor.position())));
            let n_own = self.n_unmarked() - n_unmarked;
            *thing.spot_mut() = if n_own == 0 {
                spot
            } else if n_own == self.n_harmless - n_harmless {
                spot.wrong()
            } else {
                spot.unreadable()
            };
            self.n_marked += n_own;
            self.n_harmless = n_harmless;
            things.append(hash, shared, thing);
        }
        things
    }

    pub(super) fn bad_escape(&mut self, at: At<'_>, range: &Range<usize>, what: &str) {
        let message = "the text has an escape that is not a character".into();
        let what = what.into();
        self.report(at, range, &LoadError::Unreadable { what, message, hint: ESCAPES });
    }

    /// Reads a string.
    pub(super) fn text(&mut self, at: At<'_>, key: &str) -> Option<(Cow<'t, str>, Range<usize>)> {
        if self.cursor.kind() != JsonKind::String {
            self.wrong_kind(at, || at.entry(key), "a string in double quotes");
            return None;
        }
        let string = self.cursor.string();
        match string.text {
            Some(text) => Some((text, string.range)),
            None => {
                self.bad_escape(at, &string.range, key);
                None
            }
        }
    }

    /// Reads a string that is stored.
    pub(super) fn shared_text(&mut self, at: At<'_>, key: &str) -> Option<Arc<str>> {
        self.text(at, key).map(|(text, _)| Arc::from(&*text))
    }

    /// Reads a string that is likely to repeat in the document.
    pub(super) fn word(&mut self, at: At<'_>, key: &str) -> Option<Arc<str>> {
        self.text(at, key).map(|(text, _)| self.words.share(&text))
    }

    /// Reads a boolean.
    pub(super) fn flag(&mut self, at: At<'_>, key: &str) -> Option<bool> {
        if self.cursor.kind() != JsonKind::Bool {
            self.wrong_kind(at, || at.entry(key), "true or false");
            return None;
        }
        Some(&self.text[self.cursor.skip()] == "true")
    }

    /// Reads a number that `fits`.
    pub(super) fn number<T: serde::de::DeserializeOwned>(
        &mut self,
        at: At<'_>,
        key: &str,
        expected: &'static str,
        fits: impl Fn(&T) -> bool,
    ) -> Option<T> {
        if self.cursor.kind() == JsonKind::Number {
            let mut ahead = self.cursor;
            let number = serde_json::from_str::<T>(&self.text[ahead.skip()]).ok();
            if let Some(number) = number.filter(fits) {
                self.cursor = ahead;
                return Some(number);
            }
        }
        self.wrong_kind(at, || at.entry(key), expected);
        None
    }

    /// Reads any value; the JSON reader limits its nesting.
    pub(super) fn json(
        &mut self,
        at: At<'_>,
        what: impl FnOnce() -> String,
    ) -> Option<(Json, Range<usize>)> {
        let range = self.cursor.skip();
        match serde_json::from_str(&self.text[range.clone()]) {
            Ok(json) => Some((json, range)),
            Err(error) => {
                let (message, hint) = unreadable(&error);
                self.report(at, &range, &LoadError::Unreadable { what: what(), message, hint });
                None
            }
        }
    }
}

const ESCAPES: &str = "write the character itself, or its UTF-16 code as \\uXXXX";

/// Why a value that is valid JSON cannot be read, and the next step for the author.
fn unreadable(error: &serde_json::Error) -> (String, &'static str) {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    match message {
        "recursion limit exceeded" => (
            "it nests deeper than 127 levels".into(),
            "no type needs values nested so deeply; see the type",
        ),
        "number out of range" => (
            message.into(),
            "the largest number is 1.7976931348623157e308; write \"inf\" for infinity",
        ),
        _ => (message.into(), ESCAPES),
    }
}

/// Whether a byte is an ASCII character that names may contain.
const IN_NAMES: [bool; 256] = {
    let mut all = [false; 256];
    let mut byte = b' ';
    while byte <= b'~' {
        all[byte as usize] = byte != b'.' && byte != b'/';
        byte += 1;
    }
    all
};

/// Why links cannot mention this name, if they cannot.
pub fn name_problem(name: &str) -> Option<&'static str> {
    if !name.is_empty()
        && name.len() <= MAX_NAME
        && name.bytes().all(|byte| IN_NAMES[byte as usize])
    {
        return None;
    }
    if name.is_empty() {
        return Some("it is empty");
    }
    if name.len() > MAX_NAME && name.chars().nth(MAX_NAME).is_some() {
        return Some("it is longer than 200 characters");
    }
    if name.contains('.') {
        return Some("it contains a `.`");
    }
    if name.contains('/') {
        return Some("it contains a `/`");
    }
    name.chars().any(char::is_control).then_some("it contains a control character")
}
