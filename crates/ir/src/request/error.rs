//! Why a request does not fit a plan.

use millstream_base::diagnostics::counted;
use millstream_base::{Limits, Type};

use super::binding::hint;
use super::{OneByOne, RequestAxis};
use crate::hidden::{asker, is_state};
use crate::plan::Plan;

/// Why a request does not fit a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum RequestError {
    /// No input has this name.
    #[error("there is no input called `{name}`")]
    #[diagnostic(code(request::unknown_input), help("{hint}"))]
    UnknownInput {
        /// The requested name.
        name: String,
        /// The nearest name, or all names.
        hint: String,
    },
    /// An input without a default is missing.
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
        /// The requested name.
        name: String,
        /// The nearest name, or all names.
        hint: String,
    },
    /// The data is of another type.
    #[error("`{name}` is {wanted}, but was given {found}")]
    #[diagnostic(code(request::wrong_type), help("convert the data first"))]
    WrongType {
        /// The input or feature.
        name: String,
        /// The expected type.
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
        /// The expected number.
        expected: usize,
        /// The data that has the expected number.
        because: String,
    },
    /// An input or a feature is given twice.
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
        /// How to provide it.
        hint: String,
    },
    /// The request needs something other than single ticks.
    #[error("the document keeps state from tick to tick, and {what}")]
    #[diagnostic(code(request::ticks), help("{hint}"))]
    Ticks {
        /// The conflicting part of the request.
        what: String,
        /// The next step for the author.
        hint: &'static str,
    },
    /// An output reads along an axis whose cells are evaluated one by one.
    #[error(
        "{} reads along all {} at once (at `{path}`), but {one_by_one}",
        asker(output), one_by_one.cells()
    )]
    #[diagnostic(code(request::along_axis), help("{}", one_by_one.hint()))]
    AlongAxis {
        /// The output.
        output: String,
        /// The node that reads along the axis.
        path: String,
        /// Why the cells are evaluated one by one.
        one_by_one: OneByOne,
    },
    /// Some elements are requested, but nothing varies from element to element.
    #[error("some elements are asked for, but nothing varies from element to element")]
    #[diagnostic(code(request::no_elements), help("give a count or a column, or ask for all"))]
    NoElements,
    /// A requested element does not exist.
    #[error("element {element} is asked for, but there {}", numbered(*.count))]
    #[diagnostic(code(request::no_such_element), help("{}", elements_below(*.count)))]
    NoSuchElement {
        /// The element.
        element: usize,
        /// The number of elements.
        count: usize,
    },
    /// The `index` column of the request is larger than the limits allow.
    #[error("the index column takes {bytes} bytes, the limit is {limit}")]
    #[diagnostic(
        code(request::too_many_bytes),
        help("raise `bytes` in the limits, or ask for fewer cells")
    )]
    TooManyBytes {
        /// Size of the column in bytes.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// An axis of the request has more cells than the limits allow, or all of them together where
    /// every output is written for all.
    #[error("the request has {cells} cells, the limit is {limit}")]
    #[diagnostic(
        code(request::too_many_cells),
        help("{}", fewer_cells(*.cells, "raise `list_length` in the limits"))
    )]
    TooManyCells {
        /// Number of cells.
        cells: usize,
        /// The limit.
        limit: usize,
    },
    /// An output varies along axes that together have more cells than the limits allow.
    #[error("output `{output}` has {cells} cells ({product}), the limit is {limit}")]
    #[diagnostic(
        code(request::too_large_output),
        help("{}", fewer_cells(*.cells, "raise `list_length` in the limits"))
    )]
    TooLargeOutput {
        /// The name of the output.
        output: String,
        /// Number of its cells.
        cells: usize,
        /// The extents of its axes, in words.
        product: String,
        /// The limit.
        limit: usize,
    },
}

impl RequestError {
    /// The error for an output name that a plan lacks; hidden outputs are not suggested.
    pub fn unknown_output(name: &str, plan: &Plan) -> Self {
        let known = plan.outputs.iter().map(|output| &*output.name);
        Self::unknown_output_among(name, known.filter(|name| !is_state(name)))
    }

    /// The error for a name that is none of these outputs.
    pub fn unknown_output_among<'a>(
        name: &str,
        known: impl Iterator<Item = &'a str> + Clone,
    ) -> Self {
        let hint = hint(name, known, "the graph has no outputs", "outputs");
        Self::UnknownOutput { name: name.into(), hint }
    }
}

/// The next step for a request with too many cells, for which the limit can be raised like this.
pub fn fewer_cells(cells: usize, raise: &str) -> String {
    let fewer = "request fewer elements, moments or views at once";
    let max = Limits::LIST_LENGTH.max;
    if cells <= max {
        format!("{raise}, or {fewer}")
    } else {
        format!("{fewer}; the product of their numbers can be at most {max}")
    }
}

/// The number of cells of these axes together, and their extents in words.
pub fn product_in_words(axes: impl IntoIterator<Item = (RequestAxis, usize)>) -> (usize, String) {
    let (mut cells, mut words) = (1_usize, Vec::new());
    for (axis, n) in axes {
        cells = cells.saturating_mul(n);
        words.push(counted(n as u64, axis.unit()));
    }
    (cells, words.join(" × "))
}

fn numbered(count: usize) -> String {
    match count {
        0 => "are none".into(),
        1 => "is 1, numbered from 0".into(),
        _ => format!("are {count}, numbered from 0"),
    }
}

fn elements_below(count: usize) -> String {
    if count == 0 {
        "give more elements, or ask for all".into()
    } else {
        format!("ask for elements below {count}")
    }
}
