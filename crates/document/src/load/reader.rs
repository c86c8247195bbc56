//! Reads the simple parts of a document and reports what does not fit.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use millstream_base::{Limits, Span};
use serde_json::Value as Json;

use super::cursor::{Cursor, JsonKind};
use super::error::LoadError;
use super::words::Words;
use crate::at::{At, Part};
use crate::model::{Input, Named};
use crate::problems::{Problems, listed, shortened};
use crate::spot::Spot;
use crate::upgrade::Origins;

/// The longest name, in characters.
const MAX_NAME: usize = 200;

/// Reads one document. Problems go to the list; what comes back is what could be read.
pub(super) struct Reader<'t> {
    pub(super) text: &'t str,
    pub(super) cursor: Cursor<'t>,
    /// Where the parts of an upgraded text stood before.
    pub(super) origins: Option<&'t Origins>,
    pub(super) problems: Problems,
    pub(super) limits: &'t Limits,
    /// Names of types, sockets and outputs.
    pub(super) words: Words,
    /// Names of nodes.
    pub(super) names: Words,
    /// The type of nodes whose type could not be read.
    pub(super) no_word: Arc<str>,
    pub(super) n_nodes: usize,
    /// Errors because of which nothing is lost.
    pub(super) n_harmless: usize,
    /// The inputs of the node being read; kept for its room.
    pub(super) inputs: Vec<(Arc<str>, Input)>,
    /// A body lacks parts that it should have, so that looking up names in it is pointless.
    pub(super) parts_lost: bool,
    /// The document itself has an error because of which nothing is lost.
    pub(super) is_wrong: bool,
}

/// Which keys an object has.
#[derive(Default)]
pub(super) struct Seen {
    /// A bit for each known key that was there.
    pub(super) keys: u32,
    /// A bit for each known key that an unknown one may have been meant to be.
    meant: u32,
    n_unknown: usize,
}

impl Seen {
    /// Whether the key at this place among the known ones was there.
    pub(super) fn has(&self, key: usize) -> bool {
        self.keys & 1 << key != 0
    }

    /// Whether a key that is not there may be one that was misspelt.
    pub(super) fn is_misspelt(&self) -> bool {
        self.meant & !self.keys != 0
    }
}

/// A part of a document that keeps its place.
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

    /// Steps into an object; false, and over it, if what comes is something else.
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

    /// Reports the value that comes next as being of the wrong kind and steps over it.
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
        self.lose_parts(at);
        self.report(at, &range, &LoadError::WrongKind { what: what(), found, expected });
    }

    /// Errors because of which some part could not be read.
    fn n_losses(&self) -> usize {
        self.problems.n_errors() - self.n_harmless
    }

    /// Reports an error because of which nothing is lost.
    pub(super) fn report_harmless(&mut self, at: At<'_>, range: &Range<usize>, error: &LoadError) {
        self.report(at, range, error);
        self.n_harmless += 1;
    }

    /// Steps to the next known key of the object around the cursor; reports and skips others.
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
                    let error = LoadError::Duplicate { whole: at.whole(), key: keys[i].into() };
                    self.report(at, &key.range, &error);
                }
                None => {
                    let name = key.text.unwrap_or(Cow::Borrowed("?"));
                    let near = self.problems.nearest(&name, keys.iter().copied());
                    let hint = near.map_or_else(
                        || format!("entries: {}", listed(keys.iter().copied())),
                        |near| format!("did you mean `{near}`?"),
                    );
                    let meant = keys.iter().position(|key| near == Some(*key));
                    seen.meant |= meant.map_or(0, |key| 1 << key);
                    seen.n_unknown += 1;
                    let key_text = shortened(&name);
                    let error = LoadError::UnknownKey { whole: at.whole(), key: key_text, hint };
                    self.report(at, &key.range, &error);
                }
            }
            self.cursor.skip();
        }
        if seen.is_misspelt() {
            self.lose_parts(at);
        } else {
            self.n_harmless += seen.n_unknown;
            self.is_wrong |= seen.n_unknown > 0 && matches!(at.part, Part::Body);
        }
        None
    }

    fn lose_parts(&mut self, at: At<'_>) {
        self.parts_lost |= matches!(at.part, Part::Body);
    }

    /// Reads things by name. `read` gets the place, and the things before.
    pub(super) fn named<T: Placed>(
        &mut self,
        at: At<'_>,
        key: &'static str,
        what: &'static str,
        read: impl Fn(&mut Self, &str, &Named<T>) -> T,
    ) -> Named<T> {
        let mut things = Named::new();
        if !self.object(at, || at.entry(key)) {
            return things;
        }
        while let Some(name) = self.cursor.next_key() {
            let Some(text) = &name.text else {
                self.bad_escape(at, &name.range, what);
                self.parts_lost = true;
                self.cursor.skip();
                continue;
            };
            let (n_errors, n_losses) = (self.problems.n_errors(), self.n_losses());
            if let Some(reason) = name_problem(text) {
                let error = LoadError::BadName { what, name: shortened(text), reason };
                self.report(at, &name.range, &error);
            }
            if let Some(first) = things.get_mut(text) {
                let spot = T::spot_mut(first);
                *spot = spot.unreadable();
                let whole = at.entry(key);
                let error = LoadError::Duplicate { whole, key: shortened(text) };
                self.report(at, &name.range, &error);
                self.cursor.skip();
                continue;
            }
            let shared = self.names.share(text);
            let mut thing = read(self, text, &things);
            let spot = Spot::new(self.span(&(name.range.start..self.cursor.position())));
            *thing.spot_mut() = if self.problems.n_errors() == n_errors {
                spot
            } else if self.n_losses() == n_losses {
                spot.wrong()
            } else {
                spot.unreadable()
            };
            things.insert(shared, thing);
        }
        things
    }

    pub(super) fn bad_escape(&mut self, at: At<'_>, range: &Range<usize>, what: &str) {
        let message = "the text has an escape that means no character".into();
        let what = what.into();
        self.report(at, range, &LoadError::Unreadable { what, message, hint: ESCAPES });
    }

    /// Reads a text.
    pub(super) fn text(&mut self, at: At<'_>, key: &str) -> Option<(Cow<'t, str>, Range<usize>)> {
        if self.cursor.kind() != JsonKind::String {
            self.wrong_kind(at, || at.entry(key), "a text in double quotes");
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

    /// Reads a text that is kept.
    pub(super) fn shared_text(&mut self, at: At<'_>, key: &str) -> Option<Arc<str>> {
        self.text(at, key).map(|(text, _)| Arc::from(&*text))
    }

    /// Reads a text that other parts of the document repeat.
    pub(super) fn word(&mut self, at: At<'_>, key: &str) -> Option<Arc<str>> {
        self.text(at, key).map(|(text, _)| self.words.share(&text))
    }

    /// Reads true or false.
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

    /// Reads any value; its nesting is limited by the JSON reader.
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

/// Why a value that passed the first look does not read, and the next step.
fn unreadable(error: &serde_json::Error) -> (String, &'static str) {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    match message {
        "recursion limit exceeded" => (
            "it nests deeper than 127 levels".into(),
            "values of all types are flatter; see its type",
        ),
        "number out of range" => {
            (message.into(), "up to 1.7976931348623157e308 fits; write \"inf\" for infinity")
        }
        _ => (message.into(), ESCAPES),
    }
}

/// What keeps a text from being the name of something that links mention.
pub(crate) fn name_problem(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        return Some("it is empty");
    }
    if name.len() > MAX_NAME && name.chars().nth(MAX_NAME).is_some() {
        return Some("it is longer than 200 characters");
    }
    if name.contains('.') {
        return Some("it holds a `.`");
    }
    if name.contains('/') {
        return Some("it holds a `/`");
    }
    name.chars().any(char::is_control).then_some("it holds a control character")
}
