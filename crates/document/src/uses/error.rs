//! Errors in the use of other documents.

/// Why a used document is not available, or not the intended one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum UseError {
    /// Nothing says where used documents are located.
    #[error(
        "`{path}`, used as `{name}`, cannot be read: the documents that this one uses have no place"
    )]
    #[diagnostic(
        code(used::no_library),
        help(
            "open the document by its path; a program gives its engine a library with \
             `with_documents`"
        )
    )]
    NoLibrary {
        /// The name of the use.
        name: String,
        /// The path.
        path: String,
    },
    /// A path that no document can have.
    #[error("the path `{path}` {reason}")]
    #[diagnostic(code(used::bad_path), help("{hint}"))]
    BadPath {
        /// The path.
        path: String,
        /// The reason.
        reason: &'static str,
        /// The next step for the author.
        hint: &'static str,
    },
    /// The document does not exist, or is not allowed.
    #[error("`{path}` {message}")]
    #[diagnostic(code(used::missing), help("{hint}"))]
    Missing {
        /// The path.
        path: String,
        /// The reason.
        message: String,
        /// The next step for the author.
        hint: String,
    },
    /// A use and a group have the same name.
    #[error("the use `{name}` has the name of a group")]
    #[diagnostic(code(used::name_taken), help("give the use or the group another name"))]
    NameTaken {
        /// The name.
        name: String,
    },
    /// Documents use each other in a cycle.
    #[error("documents use each other in a cycle: {road}")]
    #[diagnostic(
        code(used::cycle),
        help("remove one of these uses, or move what both need to a third document")
    )]
    Cycle {
        /// The files of the cycle.
        road: String,
    },
    /// More used documents than the limit.
    #[error("the document uses more than {limit} documents, directly or through others")]
    #[diagnostic(
        code(used::too_many),
        help("merge documents, or raise `used_documents` in the limits if this is intended")
    )]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// Together, the used documents are longer than the limit.
    #[error("the used documents have more than {limit} bytes")]
    #[diagnostic(
        code(used::too_large),
        help("raise `document_bytes` in the limits if this is intended")
    )]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// Documents use documents too deeply.
    #[error("uses of documents are nested more than {limit} deep: {road}")]
    #[diagnostic(
        code(used::too_deep),
        help(
            "use the last one directly, or raise `group_depth` in the limits if this is intended"
        )
    )]
    TooDeep {
        /// The limit.
        limit: usize,
        /// The chain of files.
        road: String,
    },
    /// A used document is not the one that was locked.
    #[error("`{file}`{or_inner} has changed since it was locked as `{name}`{format}")]
    #[diagnostic(
        code(used::changed),
        help(
            "review the change; `millstream check --update-lock {user}` locks the document as it \
             is now"
        )
    )]
    Changed {
        /// The name of the use.
        name: String,
        /// The used file.
        file: String,
        /// The possible other cause.
        or_inner: &'static str,
        /// The change of the format, if it has changed.
        format: String,
        /// The file with the lock.
        user: String,
    },
    /// A lock whose hash is not one.
    #[error("the lock of `{name}` has no valid hash")]
    #[diagnostic(
        code(used::bad_lock),
        help(
            "a hash is `sha256:` and 64 hexadecimal digits; `millstream check --update-lock \
             {user}` writes it"
        )
    )]
    BadLock {
        /// The name of the use.
        name: String,
        /// The file with the lock.
        user: String,
    },
    /// A lock with the number of no format.
    #[error("the lock of `{name}` states format {format}, which does not exist")]
    #[diagnostic(
        code(used::bad_lock),
        help("`millstream check --update-lock {user}` writes the format of the used document")
    )]
    BadLockFormat {
        /// The name of the use.
        name: String,
        /// The format.
        format: u32,
        /// The file with the lock.
        user: String,
    },
    /// A document is not locked.
    #[error("`{file}`, used as `{name}`, is not locked, so changes to it go unnoticed")]
    #[diagnostic(
        severity(Advice),
        code(used::not_locked),
        help("`millstream check --update-lock {user}` locks it")
    )]
    NotLocked {
        /// The name of the use.
        name: String,
        /// The used file.
        file: String,
        /// The file that uses it.
        user: String,
    },
    /// A lock for a document that is not used.
    #[error("the lock of `{name}` belongs to no used document")]
    #[diagnostic(
        severity(Warning),
        code(used::unused_lock),
        help("remove it; `millstream check --update-lock {user}` does")
    )]
    UnusedLock {
        /// The name.
        name: String,
        /// The file with the lock.
        user: String,
    },
}
