//! Why a request does not fit a plan.

use millstream_base::Type;

use super::hint;
use crate::plan::Plan;
use crate::states::{asker, is_state};

/// Why a request does not fit a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum RequestError {
    /// No input has this name.
    #[error("there is no input called `{name}`")]
    #[diagnostic(code(request::unknown_input), help("{hint}"))]
    UnknownInput {
        /// What was asked for.
        name: String,
        /// The nearest name, or all.
        hint: String,
    },
    /// An input without a default is not given.
    #[error("input `{name}` is not given")]
    #[diagnostic(code(request::missing_input), help("it has no default; give it {}", ty.with_article()))]
    MissingInput {
        /// The input.
        name: String,
        /// Its type.
        ty: Type,
    },
    /// No output has this name.
    #[error("there is no output called `{name}`")]
    #[diagnostic(code(request::unknown_output), help("{hint}"))]
    UnknownOutput {
        /// What was asked for.
        name: String,
        /// The nearest name, or all.
        hint: String,
    },
    /// The data is of another type.
    #[error("`{name}` is {wanted}, but was given {found}")]
    #[diagnostic(code(request::wrong_type), help("convert the data first"))]
    WrongType {
        /// The input or feature.
        name: String,
        /// Its type.
        wanted: Type,
        /// The type of the data.
        found: Type,
    },
    /// Columns along one axis have different lengths.
    #[error("`{name}` has {found} elements along {axis}, {because} has {expected}")]
    #[diagnostic(code(request::length), help("all data along one axis must have one length"))]
    Length {
        /// The input or feature.
        name: String,
        /// The axis.
        axis: &'static str,
        /// Its number of elements.
        found: usize,
        /// The number it should be.
        expected: usize,
        /// Who says so.
        because: String,
    },
    /// The same thing is given twice.
    #[error("`{name}` is given twice")]
    #[diagnostic(code(request::twice))]
    Twice {
        /// The input or feature.
        name: String,
    },
    /// The graph needs a feature that the request does not provide.
    #[error("{} needs {need}, which the request does not provide (read by {path})", asker(output))]
    #[diagnostic(code(request::missing_feature), help("{hint}"))]
    MissingFeature {
        /// The output.
        output: String,
        /// The need.
        need: String,
        /// The steps from the output to the reader.
        path: String,
        /// How it can be provided.
        hint: String,
    },
    /// Ticks are evaluated one by one.
    #[error("the document keeps state from tick to tick, and {what}")]
    #[diagnostic(code(request::ticks), help("{hint}"))]
    Ticks {
        /// What does not go together with that.
        what: String,
        /// The next step.
        hint: &'static str,
    },
    /// What counts the elements takes more bytes than the limits allow.
    #[error("the numbers of the elements take {bytes} bytes, the limit is {limit}")]
    #[diagnostic(
        code(request::too_many_bytes),
        help("raise `bytes` in the limits, or ask for fewer cells")
    )]
    TooManyBytes {
        /// Bytes of the column.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// More cells than the limits allow.
    #[error("the request has {cells} cells, the limit is {limit}")]
    #[diagnostic(code(request::too_many_cells), help("raise `list_length` in the limits"))]
    TooManyCells {
        /// Cells of all axes together.
        cells: usize,
        /// The limit.
        limit: usize,
    },
}

impl RequestError {
    /// That the outputs of a plan have no such name; those that carry what nodes keep are not told.
    pub fn unknown_output(name: &str, plan: &Plan) -> Self {
        let known = plan.outputs.iter().map(|output| &*output.name);
        let known = known.filter(|name| !is_state(name));
        let hint = hint(name, known, "the graph has no outputs", "outputs");
        Self::UnknownOutput { name: name.into(), hint }
    }
}
