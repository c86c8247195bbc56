//! Why a network has no document.

use miette::Diagnostic;
use thiserror::Error;

/// A problem with a dump or a network in it.
#[derive(Clone, Debug, PartialEq, Eq, Error, Diagnostic)]
#[non_exhaustive]
pub enum ImportError {
    /// The file, or a network in it, is malformed.
    #[error("{what} is not a {expected}: {message}")]
    #[diagnostic(
        code(import::format),
        help("`tools/blender_export.py`, run inside Blender, writes such files")
    )]
    Format {
        /// The part of the file.
        what: String,
        /// The expected format.
        expected: &'static str,
        /// The position and the reason.
        message: String,
    },
    /// There is no translation for this type of node.
    #[error("{node}: nodes of type `{ty}` cannot be imported")]
    #[diagnostic(
        code(import::unknown_node),
        help("replace the node in Blender by math, vector, color or rotation nodes")
    )]
    UnknownNode {
        /// The node.
        node: String,
        /// Its type.
        ty: String,
    },
    /// There is no translation for the value of a property.
    #[error("{node}: `{property}` is {value}, which cannot be imported")]
    #[diagnostic(code(import::unknown_setting))]
    UnknownSetting {
        /// The node.
        node: String,
        /// The property.
        property: String,
        /// Its value.
        value: String,
    },
    /// The operation had another meaning in the exporting release.
    #[error("{node}: {what} of Blender {release} cannot be imported because it changed in {since}")]
    #[diagnostic(
        code(import::changed),
        help(
            "open the file with a newer Blender and export it there; the results will be those of \
             the newer version"
        )
    )]
    Changed {
        /// The node.
        node: String,
        /// The operation.
        what: String,
        /// The exporting release.
        release: String,
        /// The first supported release.
        since: String,
    },
    /// A node lacks a socket that its settings require.
    #[error("{node} has no input `{socket}`")]
    #[diagnostic(code(import::missing_socket))]
    MissingSocket {
        /// The node.
        node: String,
        /// The socket.
        socket: String,
    },
    /// A socket has a value that is not of its type.
    #[error("{node}: `{socket}` is {value}, which is not of type {kind}")]
    #[diagnostic(code(import::wrong_value))]
    WrongValue {
        /// The node.
        node: String,
        /// The socket.
        socket: String,
        /// The value.
        value: String,
        /// The socket's type.
        kind: String,
    },
    /// Blender has no conversion between the types.
    #[error("{node}: there is no conversion from {from} to {to}")]
    #[diagnostic(code(import::conversion))]
    Conversion {
        /// The node.
        node: String,
        /// Type of the output.
        from: String,
        /// Type of the input.
        to: String,
    },
    /// An input of the network that does not exist.
    #[error("{node}: there is no input {number} of the network")]
    #[diagnostic(code(import::no_input))]
    NoInput {
        /// The node.
        node: String,
        /// Number of the input.
        number: usize,
    },
    /// An input of the network has an unsupported type.
    #[error("input {number} of the network is of type `{kind}`, which cannot be imported")]
    #[diagnostic(code(import::input_type))]
    InputType {
        /// Number of the input.
        number: usize,
        /// Its type.
        kind: String,
    },
    /// A link that starts nowhere.
    #[error("{node}: node {from} has no output `{id}`")]
    #[diagnostic(code(import::no_output))]
    NoOutput {
        /// The node.
        node: String,
        /// The number of the node at which the link starts.
        from: usize,
        /// The output.
        id: String,
    },
    /// A link from a node that was not translated.
    #[error("{node}: output `{id}` of node {from} has no value")]
    #[diagnostic(code(import::no_value))]
    NoValue {
        /// The node.
        node: String,
        /// The number of the node at which the link starts.
        from: usize,
        /// The output.
        id: String,
    },
    /// An output of the network that does not exist.
    #[error("the network's output `{id}` of node {node} has no value")]
    #[diagnostic(code(import::output))]
    Output {
        /// Number of the node.
        node: usize,
        /// The output.
        id: String,
    },
    /// The links form a cycle.
    #[error("the links form a cycle through {node}")]
    #[diagnostic(code(import::cycle))]
    Cycle {
        /// A node on the cycle, or one that depends on it.
        node: String,
    },
}

impl ImportError {
    pub(super) fn input(number: usize, kind: &str) -> Self {
        Self::InputType { number, kind: kind.into() }
    }
}
