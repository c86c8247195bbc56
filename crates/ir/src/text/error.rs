//! Errors in the text of a graph.

use millstream_base::Span;
use millstream_base::diagnostics::{Diagnostic, Diagnostics};
use millstream_base::literal::LiteralError;
use millstream_base::path::Place;
use millstream_node::node_def::InstanceError;
use millstream_node::settings::SettingError;
use millstream_node::signature::TypeError;

/// Why a line of text is not part of a graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum TextError {
    /// The text differs from the expected syntax.
    #[error("expected {expected}, found {found}")]
    #[diagnostic(code(text::syntax))]
    Syntax {
        /// The expected syntax.
        expected: &'static str,
        /// The text that was found.
        found: String,
    },
    /// A literal is not JSON.
    #[error("this is not JSON: {message}")]
    #[diagnostic(code(text::json))]
    Json {
        /// The message of the JSON reader.
        message: String,
    },
    /// The registry has no such node type.
    #[error("there is no node type `{name}`")]
    #[diagnostic(code(text::unknown_type))]
    UnknownNodeType {
        /// The name.
        name: String,
        /// The nearest name.
        #[help]
        hint: Option<String>,
    },
    /// The registry has no such type.
    #[error("there is no type `{name}`")]
    #[diagnostic(code(text::unknown_value_type), help("types: {known}"))]
    UnknownType {
        /// The name.
        name: String,
        /// All types.
        known: String,
    },
    /// A link names a node that no line defines.
    #[error("n{id} is not defined")]
    #[diagnostic(code(text::unknown_node))]
    UnknownNode {
        /// The number.
        id: u32,
    },
    /// Two lines define one node.
    #[error("n{id} is defined twice")]
    #[diagnostic(code(text::node_twice), help("give one of them another number"))]
    NodeTwice {
        /// The number.
        id: u32,
    },
    /// A number is far beyond the number of lines.
    #[error("n{id} is too large for the number of lines")]
    #[diagnostic(code(text::id_too_large), help("the largest number allowed here is {limit}"))]
    IdTooLarge {
        /// The number.
        id: u32,
        /// The largest number allowed.
        limit: usize,
    },
    /// Two inputs or two outputs have the same name.
    #[error("there are two {what} called `{name}`")]
    #[diagnostic(code(text::name_twice))]
    NameTwice {
        /// `inputs` or `outputs`.
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
        /// The names of its outputs.
        known: String,
    },
    /// A link to a node with several outputs names none.
    #[error("n{id} has several outputs")]
    #[diagnostic(code(text::which_output), help("write one of {known}"))]
    WhichOutput {
        /// The number of the node.
        id: u32,
        /// The possible links.
        known: String,
    },
    /// A node has too few or too many inputs.
    #[error("`{name}` takes {expected} inputs, found {found}")]
    #[diagnostic(code(text::arity), help("its inputs: {sockets}"))]
    Arity {
        /// The node type.
        name: String,
        /// Number of sockets.
        expected: usize,
        /// Number of written inputs.
        found: usize,
        /// The names of the sockets.
        sockets: String,
    },
    /// A socket for one source is written with brackets, or a socket for several without.
    #[error("socket `{socket}` {takes}")]
    #[diagnostic(code(text::brackets), help("{hint}"))]
    Brackets {
        /// The socket.
        socket: String,
        /// The number of sources that it takes.
        takes: &'static str,
        /// The correct notation.
        hint: &'static str,
    },
    /// The number of types in angle brackets differs from that of the node type.
    #[error("`{name}` has {expected} generic types, found {found}")]
    #[diagnostic(code(text::generics))]
    Generics {
        /// The node type.
        name: String,
        /// Number of generic types.
        expected: usize,
        /// Number of written types.
        found: usize,
    },
    /// A repeat runs a group that the text lacks.
    #[error("there is no group `{label}` below")]
    #[diagnostic(code(text::unknown_group), help("groups follow the lines that use them"))]
    UnknownGroup {
        /// The label of the group.
        label: String,
    },
    /// The line of a group does not fit its graph, or the group cannot be repeated.
    #[error("the group `{label}` cannot be repeated: {problem}")]
    #[diagnostic(code(text::group))]
    Group {
        /// The label of the group.
        label: String,
        /// The reason.
        problem: String,
    },
    /// A literal does not fit its type.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Literal(#[from] LiteralError),
    /// A setting has a wrong value.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Setting(#[from] SettingError),
    /// The linked types have no common type.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Type(#[from] TypeError),
    /// The settings and types give no instance.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Instance(#[from] InstanceError),
}

/// The problems found so far, each with its line.
#[derive(Default)]
pub(super) struct Problems(Vec<(u32, Span, Diagnostic)>);

impl Problems {
    /// Whether there are no problems.
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
