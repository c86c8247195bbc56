//! The text form from the user's point of view: meaning, format, and reported problems.

mod blocks;
mod comments;
mod errors;
mod forms;
mod highlighting;
mod hints;
mod nested_calls;
mod nested_formulas;
mod properties;

use std::sync::LazyLock;

use millstream_base::Limits;
use millstream_document::{Document, load};
use millstream_node::Registry;
use millstream_text::{format, load_text, to_text};

/// The node library.
static REGISTRY: LazyLock<Registry> = LazyLock::new(millstream_nodes::registry);

fn limits() -> Limits {
    Limits::default()
}

/// The document of a text without problems.
fn document(text: &str) -> Document {
    let loaded = load_text(text.as_bytes(), &REGISTRY, &limits());
    assert!(loaded.problems.is_empty(), "{}\n{text}", loaded.problems);
    loaded.document.expect("there are no problems")
}

/// The document of JSON.
fn from_json(text: &str) -> Document {
    let (document, problems) = load(text.as_bytes(), &limits());
    document.filter(|_| problems.is_empty()).unwrap_or_else(|| panic!("{problems}\n{text}"))
}

fn formatted(text: &str) -> String {
    format(text.as_bytes(), &limits()).unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

/// Checks that a document becomes text and the text the same document, and that the text is
/// formatted; returns it.
fn converted(document: &Document) -> String {
    let text = to_text(document, &REGISTRY);
    let loaded = load_text(text.as_bytes(), &REGISTRY, &limits());
    assert!(!loaded.problems.has_errors(), "{}\n{text}", loaded.problems);
    assert_eq!(loaded.document.as_ref(), Some(document), "\n{text}");
    assert_eq!(formatted(&text), text);
    text
}
