//! Errors in the text of a document, apart from names and types.

/// Why a part of a text is not part of a document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum LoadError {
    /// The text is empty.
    #[error("the document is empty")]
    #[diagnostic(
        code(load::empty),
        help(
            "the smallest document is {{ \"millstream\": 2, \"nodes\": {{}} }} in JSON; in the text form write, for example, `output y: f32 = 1`"
        )
    )]
    Empty,
    /// The text is longer than the limit.
    #[error("the document has more than {limit} bytes")]
    #[diagnostic(
        code(load::too_large),
        help("raise `document_bytes` in the limits if this is intended")
    )]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// The document has more nodes than the limit allows.
    #[error("the document has more than {limit} nodes")]
    #[diagnostic(
        code(load::too_many_nodes),
        help("raise `nodes` in the limits if this is intended")
    )]
    TooManyNodes {
        /// The limit.
        limit: usize,
    },
    /// The bytes are not valid UTF-8.
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
        /// Character of the line from 1.
        column: usize,
        /// The message of the JSON reader.
        message: String,
        /// The next step for the author.
        #[help]
        hint: Option<String>,
    },
    /// The key `millstream` is missing.
    #[error("the document does not state its format")]
    #[diagnostic(code(load::no_version), help("add `\"millstream\": 2` as its first entry"))]
    NoVersion,
    /// The format is newer than this release.
    #[error("the document has format {version}; this build reads formats up to {newest}")]
    #[diagnostic(code(load::newer_version), help("open it with a newer release of millstream"))]
    NewerVersion {
        /// The version in the document.
        version: String,
        /// The newest version that can be read.
        newest: u32,
    },
    /// An unknown key.
    #[error("{whole} has no entry called `{key}`")]
    #[diagnostic(code(load::unknown_key), help("{hint}"))]
    UnknownKey {
        /// The part that the object describes.
        whole: String,
        /// The key.
        key: String,
        /// The nearest key, or all keys.
        hint: String,
    },
    /// A repeated key or name.
    #[error("{whole} has `{key}` twice")]
    #[diagnostic(
        code(load::duplicate_key),
        help("the first one counts; remove or rename the other")
    )]
    Duplicate {
        /// The part that the object describes.
        whole: String,
        /// The key.
        key: String,
    },
    /// A JSON value of the wrong kind.
    #[error("{what} is {found}")]
    #[diagnostic(code(load::wrong_kind), help("it must be {expected}"))]
    WrongKind {
        /// The part that the value describes.
        what: String,
        /// The kind that was found.
        found: String,
        /// The expected kind.
        expected: &'static str,
    },
    /// A required entry is missing.
    #[error("{whole} has no `{key}`")]
    #[diagnostic(code(load::missing_key), help("{hint}"))]
    Missing {
        /// The part that the object describes.
        whole: String,
        /// The key.
        key: &'static str,
        /// The next step for the author.
        hint: &'static str,
    },
    /// A name that links cannot mention.
    #[error("`{name}` cannot be the name of {what}: {reason}")]
    #[diagnostic(
        code(load::bad_name),
        help(
            "names must not contain `.`, `/` or control characters, and have at most 200 characters"
        )
    )]
    BadName {
        /// The thing with the name.
        what: &'static str,
        /// The name, shortened.
        name: String,
        /// The reason.
        reason: &'static str,
    },
    /// A link that is not `node.output`.
    #[error("`{text}` is not an output of a node")]
    #[diagnostic(code(load::bad_link), help("{hint}"))]
    BadLink {
        /// The text, shortened.
        text: String,
        /// The next step for the author.
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
        /// The item.
        found: String,
    },
    /// A value that is valid JSON but cannot be read.
    #[error("{what}: {message}")]
    #[diagnostic(code(load::unreadable), help("{hint}"))]
    Unreadable {
        /// The part that the value describes.
        what: String,
        /// The message of the JSON reader.
        message: String,
        /// The next step for the author.
        hint: &'static str,
    },
}
