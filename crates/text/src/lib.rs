//! The text form of documents, which people write: `FILE.mill`.
//!
//! [`load()`] makes a document of a text, [`to_text`] writes a document as text, and [`format()`] lays
//! a text out. `docs/text-form.md` holds the grammar.
//!
//! A text is parsed into a syntax tree (`parse`), which is printed (`print`), or made into a document
//! (`lower`); a document is made into a tree again (`raise`), so that one printer writes all text. What
//! names mean is asked in one place (`names` for calls, `scope` for references). A node is written as a formula or as a nested call only
//! if it reads back as it is.

mod comments;
mod error;
mod formula;
mod json;
mod lock;
mod lower;
mod name;
mod names;
mod parse;
mod print;
mod raise;
mod scope;
mod token;
mod tree;

use millstream_base::diagnostics::{Diagnostic, Diagnostics};
use millstream_base::pages::room_in_huge_pages;
use millstream_base::{Limits, Place, Span};
use millstream_document::{
    Document, Library, LibraryError, LoadError, Loaded, load_to_check, save,
};
use millstream_node::Registry;
use serde_json::Value as Json;

pub use error::TextError;
pub use json::plain_json;
pub use lock::with_lock;

use error::Problem;
use lower::Found;
use names::Vocabulary;
use parse::{Parsed, parse};
use scope::NO_NAME;

/// The ending of names of files with the text form.
pub const ENDING: &str = ".mill";

/// Whether the bytes are a document in the text form: whether they start as JSON does not, or with a
/// number or a string that something follows.
pub fn is_text(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{' | b'[' | 0xfe | 0xff) | None => false,
        Some(b'"' | b'-' | b'0'..=b'9') => serde_json::from_slice::<Json>(bytes).is_err(),
        Some(_) => true,
    }
}

/// Reads a document in either form, the text form with the node types of a registry.
///
/// ```
/// use millstream_base::Limits;
/// use millstream_node::Registry;
/// let loaded = millstream_text::load(b"input x: f32\noutput y: f32 = 2 * x\n", &Registry::new(), &Limits::default());
/// assert!(loaded.problems.is_empty());
/// let document = loaded.document.expect("it has no problem");
/// assert_eq!(document.nodes["y"].inputs.len(), 1);
/// ```
pub fn load(bytes: &[u8], registry: &Registry, limits: &Limits) -> Loaded {
    if is_text(bytes) { load_text(bytes, registry, limits) } else { load_to_check(bytes, limits) }
}

/// Reads a document in the text form.
///
/// If a statement has problems, the document contains the readable rest. There is no document if
/// it is not known where a statement belongs, or which format the document has.
pub fn load_text(bytes: &[u8], registry: &Registry, limits: &Limits) -> Loaded {
    let text = match text_of(bytes, limits) {
        Ok(text) => text,
        Err(problem) => return nothing(problem.into()),
    };
    let Parsed { mut tree, problems, n_more } = parse(text);
    lower::name_blocks(&mut tree);
    let mut names = room_in_huge_pages(tree.exprs.len());
    names.resize(tree.exprs.len(), NO_NAME);
    let mut found = Found {
        problems: diagnostics(&problems),
        n_more,
        limits,
        n_nodes: 0,
        names,
        is_lost: tree.n_lost > 0,
        is_wrong: false,
        twice: Vec::new(),
    };
    let vocabulary = Vocabulary::new(registry);
    let document = lower::lower(&tree, text, &vocabulary, &mut found);
    found.problems.sort_by_place();
    count_more(&mut found.problems, found.n_more);
    Loaded {
        format: document.format,
        json: None,
        document: (!found.is_lost).then_some(document),
        is_wrong: found.is_wrong,
        problems: found.problems,
    }
}

/// A library of documents in either form.
///
/// A used document in the text form is returned with its JSON, from which its hash is computed, so
/// that the hash does not depend on the form.
pub struct BothForms<'a> {
    /// The library.
    pub library: &'a dyn Library,
    /// The node types for those in the text form.
    pub registry: &'a Registry,
}

impl Library for BothForms<'_> {
    fn top(&self) -> &str {
        self.library.top()
    }

    fn find(&self, user: Option<&str>, path: &str) -> Result<String, LibraryError> {
        self.library.find(user, path)
    }

    fn read(&self, name: &str, most_bytes: usize) -> Result<Vec<u8>, LibraryError> {
        self.library.read(name, most_bytes)
    }

    fn load(&self, text: &[u8], limits: &Limits) -> Loaded {
        let mut loaded = load(text, self.registry, limits);
        if is_text(text) {
            loaded.json = loaded.document.as_ref().map(save);
        }
        loaded
    }
}

/// The text form of a document. [`load_text`] with the same registry returns an equal document.
///
/// Groups of used documents are not written, as [`save()`] does not.
pub fn to_text(document: &Document, registry: &Registry) -> String {
    raise::raise(document, &Vocabulary::new(registry), print::print)
}

/// The formatted text; its document stays the same.
///
/// # Errors
/// Problems that prevent reading it.
pub fn format(bytes: &[u8], limits: &Limits) -> Result<String, Diagnostics> {
    let text = text_of(bytes, limits).map_err(Diagnostics::from)?;
    let Parsed { tree, problems, n_more } = parse(text);
    if problems.is_empty() {
        return Ok(print::print(&tree));
    }
    let mut problems = diagnostics(&problems);
    count_more(&mut problems, n_more);
    Err(problems)
}

fn text_of<'t>(bytes: &'t [u8], limits: &Limits) -> Result<&'t str, Diagnostic> {
    if bytes.len() > limits.document_bytes {
        let error = LoadError::TooLarge { limit: limits.document_bytes };
        return Err(Diagnostic::new(Place::at(""), &error));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let place = Place::with_span("", Span::new(at, at + 1));
        Diagnostic::new(place, &LoadError::NotUtf8 { at })
    })
}

fn nothing(problems: Diagnostics) -> Loaded {
    Loaded { document: None, is_wrong: true, format: 0, problems, json: None }
}

/// The problems of the parser as diagnostics.
fn diagnostics(problems: &[Problem]) -> Diagnostics {
    let mut all = Diagnostics::new();
    for problem in problems {
        // An empty span would count as no span.
        let span = Span::new(problem.start, problem.end.max(problem.start + 1));
        all.push(Diagnostic::new(Place::with_span("", span), &problem.error));
    }
    all
}

/// Adds the number of further problems.
fn count_more(problems: &mut Diagnostics, n_more: usize) {
    if n_more > 0 {
        let message = format!("{n_more} more problems");
        let hint = Some("correct the first ones and check again".to_owned());
        problems.push(Diagnostic::new(Place::at(""), &TextError::Syntax { message, hint }));
    }
}
