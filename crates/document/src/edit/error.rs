//! Why an edit is refused.

/// Why an edit is refused; the document is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum EditError {
    /// The edit names something that is not there.
    #[error("there is no {what} called `{name}`")]
    #[diagnostic(code(edit::unknown), help("{hint}"))]
    Unknown {
        /// What it should be.
        what: &'static str,
        /// The name.
        name: String,
        /// The nearest name, or all.
        hint: String,
    },
    /// The node has no such socket.
    #[error("`{node_type}` has no {what} called `{name}`")]
    #[diagnostic(code(edit::unknown_socket), help("{hint}"))]
    UnknownSocket {
        /// The node type or group.
        node_type: String,
        /// Input or output.
        what: &'static str,
        /// The name.
        name: String,
        /// The nearest name, or all.
        hint: String,
    },
    /// Something else has the name.
    #[error("there is {what} called `{name}` already")]
    #[diagnostic(code(edit::name_taken), help("`{free}` is free"))]
    NameTaken {
        /// What has it.
        what: &'static str,
        /// The name.
        name: String,
        /// A name that nothing has.
        free: String,
    },
    /// A name that links cannot mention.
    #[error("`{name}` cannot be the name of {what}: {reason}")]
    #[diagnostic(code(edit::bad_name), help("choose another name"))]
    BadName {
        /// What would have the name.
        what: &'static str,
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The nodes would depend on each other in a circle.
    #[error("the nodes would depend on each other in a circle: {path}")]
    #[diagnostic(
        code(edit::cycle),
        help(
            "link something else, or put a `state.feedback` node between, which gives the value of the tick before"
        )
    )]
    Cycle {
        /// The nodes all the way round, values flowing to the right.
        path: String,
    },
    /// The group would contain itself.
    #[error("group `{name}` would contain itself")]
    #[diagnostic(code(edit::recursive_group), help("use another group, or a copy of this one"))]
    RecursiveGroup {
        /// The group.
        name: String,
    },
    /// A node, input or group that something needs would go.
    #[error("{what} `{name}` is needed by {by}")]
    #[diagnostic(code(edit::in_use), help("{hint}"))]
    InUse {
        /// Node, input or group.
        what: &'static str,
        /// Its name.
        name: String,
        /// Who needs it.
        by: String,
        /// The next step.
        hint: &'static str,
    },
    /// An id that another node has, or that is out of range.
    #[error("the id {id} {reason}")]
    #[diagnostic(code(edit::bad_id), help("leave ids out: new nodes get new ones"))]
    BadId {
        /// The id.
        id: u64,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Sources inside of sources.
    #[error("a list of sources holds another list of sources")]
    #[diagnostic(code(edit::nested_sources), help("write all sources in one list"))]
    NestedSources,
    /// A part of the edit has a value that it cannot have.
    #[error("{what}: {message}")]
    #[diagnostic(code(edit::bad_value), help("{hint}"))]
    BadValue {
        /// The part.
        what: &'static str,
        /// What is wrong with it.
        message: String,
        /// The next step.
        hint: &'static str,
    },
    /// The selection cannot become a group, or the group cannot be dissolved.
    #[error("{message}")]
    #[diagnostic(code(edit::group), help("{hint}"))]
    Group {
        /// Why.
        message: String,
        /// The next step.
        hint: &'static str,
    },
    /// More nodes than the limit.
    #[error("the document would have {n} nodes, the limit is {limit}")]
    #[diagnostic(code(edit::too_many_nodes), help("raise `nodes` in the limits if this is meant"))]
    TooManyNodes {
        /// How many.
        n: usize,
        /// The limit.
        limit: usize,
    },
    /// Batches inside each other.
    #[error("batches are nested more than {limit} deep")]
    #[diagnostic(code(edit::depth), help("write the edits in one batch"))]
    TooDeep {
        /// The limit.
        limit: usize,
    },
}
