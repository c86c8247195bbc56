//! Errors in the text form, apart from those of names and types, which checking finds.

use millstream_base::diagnostics::only_counted;
use millstream_document::CheckError;

/// Why a part of a text is not part of a document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum TextError {
    /// The text does not follow the grammar.
    #[error("{message}")]
    #[diagnostic(code(text::syntax))]
    Syntax {
        /// The error.
        message: String,
        /// The next step for the author.
        #[help]
        hint: Option<String>,
    },
    /// A bracket without its counterpart.
    #[error("this `{open}` is not closed")]
    #[diagnostic(code(text::not_closed), help("add a `{close}`"))]
    NotClosed {
        /// The bracket.
        open: &'static str,
        /// Its counterpart.
        close: &'static str,
    },
    /// A repeated name.
    #[error("{what} `{name}` is defined twice")]
    #[diagnostic(code(text::duplicate), help("the first counts; remove or rename the other"))]
    Duplicate {
        /// The kind of thing.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A name that links cannot refer to.
    #[error("{what} cannot be called `{name}`: {reason}")]
    #[diagnostic(code(text::bad_name), help("choose another name"))]
    BadName {
        /// The kind of thing.
        what: &'static str,
        /// The name.
        name: String,
        /// The reason.
        reason: &'static str,
    },
    /// A call of a node type that the registry lacks, with inputs by position.
    #[error("there is no node type called `{name}`")]
    #[diagnostic(code(text::unknown_node_type), help("{hint}"))]
    UnknownNodeType {
        /// The name.
        name: String,
        /// The nearest name, or the next step.
        hint: String,
    },
    /// A use of a group that there is not, with inputs by position.
    #[error("there is no group called `{name}`")]
    #[diagnostic(code(text::unknown_group), help("{hint}"))]
    UnknownGroup {
        /// The name.
        name: String,
        /// The nearest name, or the next step.
        hint: String,
    },
    /// An input by position, of a group that another document has, if there is one.
    #[error("`{name}` would be in another document, so its inputs need names here")]
    #[diagnostic(
        code(text::needs_names),
        help(
            "write each one as `NAME: ...`; if there is no such group or input, the next check says \
             which ones there are"
        )
    )]
    NeedsNames {
        /// The group.
        name: String,
    },
    /// An input by position, of a node whose inputs depend on settings that are wrong.
    #[error("the settings of `{name}` are wrong, so the order of its inputs is not known")]
    #[diagnostic(code(text::wrong_settings), help("`millstream nodes {name}` shows its settings"))]
    WrongSettings {
        /// The node type.
        name: String,
    },
    /// More inputs than the node has.
    #[error("`{name}` has {}", only_counted(*n as u64, "input"))]
    #[diagnostic(code(text::too_many_inputs), help("{hint}"))]
    TooManyInputs {
        /// The node type or group.
        name: String,
        /// Number of its inputs.
        n: usize,
        /// Their names.
        hint: String,
    },
    /// A part that formulas cannot contain.
    #[error("a formula cannot contain {what}")]
    #[diagnostic(code(text::not_in_formula), help("{hint}"))]
    NotInFormula {
        /// The part.
        what: &'static str,
        /// The alternative.
        hint: &'static str,
    },
    /// A value where a node is defined.
    #[error("a node is a call or a formula, not {what}")]
    #[diagnostic(
        code(text::no_node),
        help("write the value where it is used, or make it the default of an input")
    )]
    NoNode {
        /// The text that was found.
        what: &'static str,
    },
    /// A name that is defined only outside of the block.
    #[error("`{name}` is outside of this block, which sees only its own inputs and nodes")]
    #[diagnostic(
        code(text::outside_of_block),
        help(
            "give it to the block: `{name}: f32 = {name}` in its first line, with the type it has"
        )
    )]
    OutsideOfBlock {
        /// The name.
        name: String,
    },
    /// A literal that is not a value of the type of its output.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Value(CheckError),
    /// Comments in a text whose view data leaves no room for them.
    #[error("the view data is not an object, so it has no room for the comments")]
    #[diagnostic(code(text::no_room), help("write it as `view {{ \"editor\": ... }}`"))]
    NoRoom,
}

/// A problem at a place of the text. It is small, since most results have none.
pub(crate) struct Problem(Box<Placed>);

/// The contents of a problem.
pub(crate) struct Placed {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) error: TextError,
}

impl std::ops::Deref for Problem {
    type Target = Placed;
    fn deref(&self) -> &Placed {
        &self.0
    }
}

impl Problem {
    pub(crate) fn new(start: usize, end: usize, error: TextError) -> Self {
        Self(Box::new(Placed { start, end, error }))
    }

    pub(crate) fn syntax(start: usize, end: usize, message: impl Into<String>) -> Self {
        Self::new(start, end, TextError::Syntax { message: message.into(), hint: None })
    }

    pub(crate) fn hint(mut self, text: impl Into<String>) -> Self {
        if let TextError::Syntax { hint, .. } = &mut self.0.error {
            *hint = Some(text.into());
        }
        self
    }
}

/// The text, cut after 60 characters.
pub(crate) fn shortened(text: &str) -> String {
    const MAX_SHOWN: usize = 60;
    match text.char_indices().nth(MAX_SHOWN) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.into(),
    }
}
