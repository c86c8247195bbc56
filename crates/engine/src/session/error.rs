//! Errors of sessions.

use millstream_base::Type;
use millstream_base::diagnostics::{Diagnostic, Diagnostics};
use millstream_ir::{EvalError, NodeFailure};

/// Why a session refused something. The session stays as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum SessionError {
    /// The edit makes no sense.
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
    /// The part of the document that is asked for is wrong.
    #[error("{what} has no meaning: {problems}")]
    #[diagnostic(code(session::broken), help("mend the document, or undo"))]
    Broken {
        /// What is asked for.
        what: String,
        /// What is wrong with the document.
        problems: Diagnostics,
    },
    /// There is nothing of that name to look at.
    #[error("there is nothing called `{path}` to look at")]
    #[diagnostic(code(session::no_socket), help("{hint}"))]
    NoSocket {
        /// What was asked for.
        path: String,
        /// The next step.
        hint: String,
    },
    /// A tick evaluates the session's frame with the session's settings, and keeps the next state.
    #[error("there is no tick: {what}")]
    #[diagnostic(code(session::no_tick), help("{hint}"))]
    NoTick {
        /// What does not go together with that.
        what: String,
        /// The next step.
        hint: &'static str,
    },
    /// Nodes failed whose state a tick would commit.
    #[error("the tick was not committed: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    #[diagnostic(code(session::tick), help("what nodes keep is as it was before the tick"))]
    Tick(Vec<NodeFailure>),
    /// The evaluation did not take place or was ended.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Eval(#[from] EvalError),
}
