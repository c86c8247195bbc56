//! What can be wrong with the text of a graph.

use millstream_base::Span;
use millstream_base::diagnostics::{Diagnostic, Diagnostics};
use millstream_base::literal::LiteralError;
use millstream_base::path::Place;
use millstream_node::node_def::InstanceError;
use millstream_node::settings::SettingError;
use millstream_node::signature::TypeError;

/// Why a line of text is no part of a graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum TextError {
    /// Something else stands where this is expected.
    #[error("expected {expected}, found {found}")]
    #[diagnostic(code(text::syntax))]
    Syntax {
        /// What would fit.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// A literal is no JSON.
    #[error("this is no JSON: {message}")]
    #[diagnostic(code(text::json))]
    Json {
        /// What the JSON reader says.
        message: String,
    },
    /// The registry has no such node type.
    #[error("there is no node type `{name}`")]
    #[diagnostic(code(text::unknown_type))]
    UnknownNodeType {
        /// The name.
        name: String,
        /// The nearest.
        #[help]
        hint: Option<String>,
    },
    /// The registry has no such type.
    #[error("there is no type `{name}`")]
    #[diagnostic(code(text::unknown_value_type), help("types: {known}"))]
    UnknownType {
        /// The name.
        name: String,
        /// All.
        known: String,
    },
    /// A link leads to a node that no line makes.
    #[error("no line makes n{id}")]
    #[diagnostic(code(text::unknown_node))]
    UnknownNode {
        /// The number.
        id: u32,
    },
    /// Two lines make one node.
    #[error("n{id} is made twice")]
    #[diagnostic(code(text::node_twice), help("give one of them a number of its own"))]
    NodeTwice {
        /// The number.
        id: u32,
    },
    /// A number is far beyond the number of lines.
    #[error("n{id} is out of all proportion to the number of lines")]
    #[diagnostic(code(text::id_too_large), help("numbers up to {limit} are taken here"))]
    IdTooLarge {
        /// The number.
        id: u32,
        /// The largest that would do.
        limit: usize,
    },
    /// Two inputs or two outputs have one name.
    #[error("there are two {what} called `{name}`")]
    #[diagnostic(code(text::name_twice))]
    NameTwice {
        /// Inputs or outputs.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A link names an output that the node lacks.
    #[error("n{id} has no output called `{name}`")]
    #[diagnostic(code(text::unknown_output), help("its outputs: {known}"))]
    UnknownOutput {
        /// The number of the node.
        id: u32,
        /// The name.
        name: String,
        /// The names it has.
        known: String,
    },
    /// A link does not say which output.
    #[error("n{id} has several outputs")]
    #[diagnostic(code(text::which_output), help("write one of {known}"))]
    WhichOutput {
        /// The number of the node.
        id: u32,
        /// The ways to write it.
        known: String,
    },
    /// A node has too few or too many inputs.
    #[error("`{name}` takes {expected} inputs, found {found}")]
    #[diagnostic(code(text::arity), help("its inputs: {sockets}"))]
    Arity {
        /// The node type.
        name: String,
        /// How many sockets it has.
        expected: usize,
        /// How many are written.
        found: usize,
        /// Their names.
        sockets: String,
    },
    /// A socket takes one source and got brackets, or the other way round.
    #[error("socket `{socket}` {takes}")]
    #[diagnostic(code(text::brackets), help("{hint}"))]
    Brackets {
        /// The socket.
        socket: String,
        /// What it takes.
        takes: &'static str,
        /// How to write that.
        hint: &'static str,
    },
    /// The number of types in angle brackets is not that of the node type.
    #[error("`{name}` has {expected} open types, found {found}")]
    #[diagnostic(code(text::generics))]
    Generics {
        /// The node type.
        name: String,
        /// How many it has.
        expected: usize,
        /// How many are written.
        found: usize,
    },
    /// A repeat runs a group that does not stand below it.
    #[error("there is no group `{label}` below")]
    #[diagnostic(code(text::unknown_group), help("groups stand behind the lines that use them"))]
    UnknownGroup {
        /// What the repeat calls it.
        label: String,
    },
    /// What is said of a group does not fit its inputs and outputs, or it makes no repeat.
    #[error("the group `{label}` cannot be repeated: {problem}")]
    #[diagnostic(code(text::group))]
    Group {
        /// What repeats call it.
        label: String,
        /// Why.
        problem: String,
    },
    /// A literal does not fit its type.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Literal(#[from] LiteralError),
    /// A setting does not fit.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Setting(#[from] SettingError),
    /// The linked types do not fit.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Type(#[from] TypeError),
    /// Settings and types make no instance.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Instance(#[from] InstanceError),
}

/// The problems found so far, each with its line.
#[derive(Default)]
pub(super) struct Problems(Vec<(u32, Span, Diagnostic)>);

impl Problems {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a problem on a line, counted from 1.
    pub(super) fn add(&mut self, line: u32, span: Span, error: &TextError) {
        let place = Place::with_span(format!("line {line}").as_str(), span);
        self.0.push((line, span, Diagnostic::new(place, error)));
    }

    /// The value if there are no problems, else all of them in order of the text.
    pub(super) fn into_result<T>(mut self, value: T) -> Result<T, Diagnostics> {
        if self.0.is_empty() {
            return Ok(value);
        }
        self.0.sort_by_key(|(line, span, _)| (*line, span.start));
        let mut problems = Diagnostics::new();
        self.0.into_iter().for_each(|(_, _, problem)| problems.push(problem));
        Err(problems)
    }
}
