//! Loading: from bytes to a document, reporting all problems with their positions.
//!
//! Loading takes two passes over the text. The JSON reader validates the text without recursion and
//! without storing anything. Then a cursor walks over the valid text, tracks the position of every
//! part, and continues after a part that does not fit.

mod error;
mod escapes;
mod parts;
mod reader;
mod syntax;
mod words;

use std::sync::Arc;

use millstream_base::diagnostics::Diagnostics;
use millstream_base::{Limits, Span};
use serde_json::value::RawValue;

pub use error::LoadError;
pub use escapes::places_in;
pub use words::Words;

use crate::at::At;
use crate::cursor::{Cursor, JsonKind};
use crate::model::{Document, Entry, FORMAT_VERSION};
use crate::problems::{Problems, shortened};
use crate::upgrade::{NEWEST_TEXT, Origins, upgraded_format};
use reader::Reader;

pub use reader::name_problem;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads a document; documents in older formats are upgraded as far as the text alone allows, which
/// is format 1.
///
/// If a single input, output, node or group has problems, the document holds the readable rest of
/// it, and the part does not pass `check`. There is no document if the text is not a JSON object of
/// a known format, or if the document itself has unknown or unreadable entries.
///
/// ```
/// use millstream_base::Limits;
/// let text = br#"{ "millstream": 2, "nodes": { "n": { "tpye": "math.add" } } }"#;
/// let (_, problems) = millstream_document::load(text, &Limits::default());
/// let first = problems.iter().next().map(ToString::to_string);
/// let expected = "n: the node has no entry called `tpye` (did you mean `type`?)";
/// assert_eq!(first.as_deref(), Some(expected));
/// ```
pub fn load(text: &[u8], limits: &Limits) -> (Option<Document>, Diagnostics) {
    let Loaded { document, is_wrong, problems, .. } = load_to_check(text, limits);
    (document.filter(|_| !is_wrong), problems)
}

/// The result of loading.
pub struct Loaded {
    /// The document, as far as it can be checked.
    pub document: Option<Document>,
    /// Whether the document itself has an error. The document then only serves to find further
    /// errors, and to compute what does not depend on them.
    pub is_wrong: bool,
    /// The version of the format that the text states.
    pub format: u32,
    /// What is wrong with the text.
    pub problems: Diagnostics,
    /// The document as JSON, if its text has another form.
    pub json: Option<String>,
}

impl Loaded {
    fn nothing(problems: Problems) -> Self {
        Self { document: None, is_wrong: true, format: 0, problems: problems.finish(), json: None }
    }
}

/// Reads a document as far as it can be checked.
pub fn load_to_check(text: &[u8], limits: &Limits) -> Loaded {
    let mut problems = Problems::default();
    let Some(text) = valid_json(text, limits, &mut problems) else {
        return Loaded::nothing(problems);
    };
    let Some(version) = format_version(text, &mut problems) else {
        return Loaded::nothing(problems);
    };
    // Without a format, everything is read as in the newest one, only to find further errors.
    let is_stated = problems.n_errors() == 0;
    let mut loaded = if version >= NEWEST_TEXT {
        read(text, None, limits, problems)
    } else {
        let (text, origins) = upgraded_format(text, version);
        read(&text, Some(&origins), limits, problems)
    };
    if let Some(document) = &mut loaded.document {
        document.format = version.max(NEWEST_TEXT);
        if !is_stated {
            document.unread.note(Entry::Statements);
        }
    }
    loaded.format = version;
    loaded.is_wrong |= !is_stated;
    loaded
}

/// The text, if it is JSON.
fn valid_json<'t>(bytes: &'t [u8], limits: &Limits, problems: &mut Problems) -> Option<&'t str> {
    let mut refuse = |span: Span, error: &LoadError| {
        problems.report(At::ROOT, span, error);
        None
    };
    if bytes.len() > limits.document_bytes {
        let error = LoadError::TooLarge { limit: limits.document_bytes };
        return refuse(Span::default(), &error);
    }
    if let Some(rest) = bytes.strip_prefix(BYTE_ORDER_MARK) {
        if rest.trim_ascii().is_empty() {
            return refuse(Span::default(), &LoadError::Empty);
        }
        return refuse(Span::new(0, BYTE_ORDER_MARK.len()), &LoadError::ByteOrderMark);
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let at = error.valid_up_to();
            return refuse(Span::new(at, at + 1), &LoadError::NotUtf8 { at });
        }
    };
    if text.trim().is_empty() {
        return refuse(Span::default(), &LoadError::Empty);
    }
    match serde_json::from_str::<&RawValue>(text) {
        Ok(_) => Some(text),
        Err(error) => {
            let (span, error) = syntax::explained(text, &error);
            refuse(span, &error)
        }
    }
}

/// The format of the document; if it is not stated, the newest one, and a problem is reported.
fn format_version(text: &str, problems: &mut Problems) -> Option<u32> {
    let mut cursor = Cursor::new(text);
    let kind = cursor.kind();
    if kind != JsonKind::Object {
        let range = cursor.skip();
        let what = "the document".into();
        let expected = "an object: { \"millstream\": 2, ... }";
        let error = LoadError::WrongKind { what, found: kind.describe().into(), expected };
        problems.report(At::ROOT, Span::new(range.start, range.end), &error);
        return None;
    }
    let start = cursor.position();
    cursor.enter();
    while let Some(key) = cursor.next_key() {
        let value = cursor.skip();
        if key.text.as_deref() != Some("millstream") {
            continue;
        }
        let version = &text[value.clone()];
        let span = Span::new(value.start, value.end);
        let error = match serde_json::from_str::<f64>(version) {
            Ok(number) if number.fract() == 0.0 && number >= 0.0 => {
                if number <= f64::from(FORMAT_VERSION) {
                    return Some(number as u32);
                }
                let newest = FORMAT_VERSION;
                LoadError::NewerVersion { version: shortened(version), newest }
            }
            Ok(_) | Err(_) => LoadError::WrongKind {
                what: "`millstream`".into(),
                found: shortened(version),
                expected: "the number of the format, 2",
            },
        };
        problems.report(At::ROOT, span, &error);
        return None;
    }
    problems.report(At::ROOT, Span::new(start, start + 1), &LoadError::NoVersion);
    Some(FORMAT_VERSION)
}

fn read(text: &str, origins: Option<&Origins>, limits: &Limits, problems: Problems) -> Loaded {
    let n_marked = problems.n_errors();
    let mut reader = Reader {
        text,
        cursor: Cursor::new(text),
        origins,
        problems,
        limits,
        words: Words::new(512),
        names: Words::new((text.len() / 64).next_power_of_two().min(1 << 12)),
        no_word: Arc::from(""),
        far: Vec::new(),
        n_nodes: 0,
        n_marked,
        n_harmless: 0,
        inputs: Vec::new(),
        is_lost: false,
    };
    let document = reader.document();
    // Uses and locks concern all of the document.
    let is_wrong = reader.n_unmarked() > 0
        || document.uses.values().any(|def| def.spot.is_wrong())
        || document.lock.values().any(|lock| lock.spot.is_wrong());
    Loaded {
        document: (!reader.is_lost).then_some(document),
        is_wrong,
        format: FORMAT_VERSION,
        problems: reader.problems.finish(),
        json: None,
    }
}

#[cfg(test)]
mod tests;
