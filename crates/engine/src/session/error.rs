//! Errors of sessions.

use millstream_base::Type;
use millstream_base::diagnostics::{Diagnostic, Diagnostics};
use millstream_ir::EvalError;

/// Why a session refused a request. The session is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum SessionError {
    /// The edit is invalid.
    #[error("{0}")]
    #[diagnostic(code(session::edit))]
    Edit(Diagnostic),
    /// No input has the name.
    #[error("there is no input called `{name}`")]
    #[diagnostic(code(session::unknown_input), help("{hint}"))]
    UnknownInput {
        /// The name.
        name: String,
        /// The nearest name, or all.
        hint: String,
    },
    /// The value is of another type.
    #[error("input `{name}` is of type {wanted}, but was given {found}")]
    #[diagnostic(code(session::wrong_type), help("convert the value first"))]
    WrongType {
        /// The input.
        name: String,
        /// Its type.
        wanted: Type,
        /// The type of the value.
        found: Type,
    },
    /// The input was not set to a column with that element.
    #[error("input `{name}` has no element {element}")]
    #[diagnostic(
        code(session::no_element),
        help("set the input to a column with that many elements first")
    )]
    NoElement {
        /// The input.
        name: String,
        /// The element.
        element: usize,
    },
    /// The requested part of the document is wrong.
    #[error("{what} has no meaning: {problems}")]
    #[diagnostic(code(session::broken), help("correct the document, or undo"))]
    Broken {
        /// The requested part.
        what: String,
        /// The errors of the document.
        problems: Diagnostics,
    },
    /// Nothing to look at has this name.
    #[error("there is nothing called `{path}` to look at")]
    #[diagnostic(code(session::no_socket), help("{hint}"))]
    NoSocket {
        /// The requested path.
        path: String,
        /// The next step.
        hint: String,
    },
    /// A tick evaluates the session's frame with the session's settings, and stores the next state.
    #[error("there is no tick: {what}")]
    #[diagnostic(code(session::no_tick), help("{hint}"))]
    NoTick {
        /// What contradicts that.
        what: String,
        /// The next step.
        hint: &'static str,
    },
    /// The evaluation did not take place or was cancelled.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Eval(#[from] EvalError),
}
