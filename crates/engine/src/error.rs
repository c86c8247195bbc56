//! Errors of loading, compiling and evaluating.

use millstream_base::diagnostics::Diagnostics;
use millstream_ir::EvalError;

/// Why there is no program or no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
pub enum Error {
    /// The document is wrong.
    #[error("{0}")]
    #[diagnostic(code(engine::document))]
    Document(Diagnostics),
    /// The evaluation did not take place or was cancelled.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Eval(#[from] EvalError),
}
