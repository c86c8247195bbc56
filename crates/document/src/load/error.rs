//! What can be wrong with the text of a document, before anything in it is looked up.

/// Why a part of a text is no part of a document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum LoadError {
    /// There is nothing.
    #[error("the document is empty")]
    #[diagnostic(
        code(load::empty),
        help("the smallest document is {{ \"millstream\": 1, \"nodes\": {{}} }}")
    )]
    Empty,
    /// The text is longer than the limit.
    #[error("the document has more than {limit} bytes")]
    #[diagnostic(
        code(load::too_large),
        help("raise `document_bytes` in the limits if this is meant")
    )]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// More nodes than the limit.
    #[error("the document has more than {limit} nodes")]
    #[diagnostic(code(load::too_many_nodes), help("raise `nodes` in the limits if this is meant"))]
    TooManyNodes {
        /// The limit.
        limit: usize,
    },
    /// The bytes are not text.
    #[error("byte {at} is not UTF-8")]
    #[diagnostic(code(load::not_utf8), help("save the file as UTF-8"))]
    NotUtf8 {
        /// Position of the first such byte.
        at: usize,
    },
    /// The text starts with a byte order mark.
    #[error("the text starts with a byte order mark")]
    #[diagnostic(
        code(load::byte_order_mark),
        help("save the file as UTF-8 without byte order mark")
    )]
    ByteOrderMark,
    /// The text is not JSON.
    #[error("line {line}, column {column}: {message}")]
    #[diagnostic(code(load::syntax))]
    Syntax {
        /// Line from 1.
        line: usize,
        /// Byte of the line from 1.
        column: usize,
        /// What the reader says.
        message: String,
        /// The next step.
        #[help]
        hint: Option<String>,
    },
    /// No key `millstream`.
    #[error("the document does not say which format it has")]
    #[diagnostic(code(load::no_version), help("add `\"millstream\": 1` as its first entry"))]
    NoVersion,
    /// A format that does not exist yet.
    #[error("the document has format {version}; this build reads formats up to {newest}")]
    #[diagnostic(code(load::newer_version), help("open it with a newer release of millstream"))]
    NewerVersion {
        /// What the document says.
        version: String,
        /// What can be read.
        newest: u32,
    },
    /// A key that nothing is known of.
    #[error("{whole} has no entry called `{key}`")]
    #[diagnostic(code(load::unknown_key), help("{hint}"))]
    UnknownKey {
        /// What the object describes.
        whole: String,
        /// The key.
        key: String,
        /// The nearest key, or all.
        hint: String,
    },
    /// A key or name that was there before.
    #[error("{whole} has `{key}` twice")]
    #[diagnostic(code(load::duplicate_key), help("the first counts; remove or rename the other"))]
    Duplicate {
        /// What the object describes.
        whole: String,
        /// The key.
        key: String,
    },
    /// A JSON value of the wrong kind.
    #[error("{what} is {found}")]
    #[diagnostic(code(load::wrong_kind), help("it must be {expected}"))]
    WrongKind {
        /// What it describes.
        what: String,
        /// What it is.
        found: String,
        /// What it should be.
        expected: &'static str,
    },
    /// Something that must be there is not.
    #[error("{whole} has no `{key}`")]
    #[diagnostic(code(load::missing_key), help("{hint}"))]
    Missing {
        /// What the object describes.
        whole: String,
        /// The key.
        key: &'static str,
        /// What to write.
        hint: &'static str,
    },
    /// A name that links could not mention.
    #[error("`{name}` cannot be the name of {what}: {reason}")]
    #[diagnostic(
        code(load::bad_name),
        help("names hold no `.`, no `/` and no control characters, and at most 200 characters")
    )]
    BadName {
        /// What has the name.
        what: &'static str,
        /// The name, shortened.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A link that is not `node.output`.
    #[error("`{text}` names no output of a node")]
    #[diagnostic(code(load::bad_link), help("{hint}"))]
    BadLink {
        /// What stands there, shortened.
        text: String,
        /// What to write.
        hint: String,
    },
    /// An input with several of `from`, `input` and `value`, or with none.
    #[error("a source has exactly one of `from`, `input` and `value`")]
    #[diagnostic(
        code(load::ambiguous_source),
        help("several sources are a list: [{{ \"from\": \"a.value\" }}, {{ \"value\": 1 }}]")
    )]
    AmbiguousSource,
    /// An item of a list of sources that is not a source.
    #[error("{found} in a list of sources")]
    #[diagnostic(
        code(load::not_a_source),
        help("in a list of sources a literal is written {{ \"value\": ... }}")
    )]
    NotASource {
        /// What it is.
        found: String,
    },
    /// JSON that passed the first look and does not read.
    #[error("{what}: {message}")]
    #[diagnostic(code(load::unreadable), help("{hint}"))]
    Unreadable {
        /// What it describes.
        what: String,
        /// What the reader says.
        message: String,
        /// The next step.
        hint: &'static str,
    },
}
