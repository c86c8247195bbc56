//! Why an edit is refused.

/// Why an edit is refused; the document is then unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum EditError {
    /// The edit names something that does not exist.
    #[error("there is no {what} called `{name}`")]
    #[diagnostic(code(edit::unknown), help("{hint}"))]
    Unknown {
        /// The kind of thing.
        what: &'static str,
        /// The name.
        name: String,
        /// The nearest name, or all names.
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
        /// The nearest name, or all names.
        hint: String,
    },
    /// The name is taken.
    #[error("there is {what} called `{name}` already")]
    #[diagnostic(code(edit::name_taken), help("`{free}` is free"))]
    NameTaken {
        /// The thing that has the name.
        what: &'static str,
        /// The name.
        name: String,
        /// A free name.
        free: String,
    },
    /// A name that links cannot mention.
    #[error("`{name}` cannot be the name of {what}: {reason}")]
    #[diagnostic(code(edit::bad_name), help("choose another name"))]
    BadName {
        /// The thing to be named.
        what: &'static str,
        /// The name.
        name: String,
        /// The reason.
        reason: &'static str,
    },
    /// The nodes would form a cycle.
    #[error("the nodes would form a cycle{why}: {path}")]
    #[diagnostic(
        code(edit::cycle),
        help(
            "link something else, or insert a `state.feedback` node, which gives the value of the \
             previous tick"
        )
    )]
    Cycle {
        /// The case in which the cycle would exist, or why switches do not break it.
        why: String,
        /// The nodes of the cycle, in the direction of the values.
        path: String,
    },
    /// The group would contain itself.
    #[error("group `{name}` would contain itself")]
    #[diagnostic(code(edit::recursive_group), help("use another group, or a copy of this one"))]
    RecursiveGroup {
        /// The group.
        name: String,
    },
    /// A node, input or group that would be removed is still used.
    #[error("{what} `{name}` is used by {by}")]
    #[diagnostic(code(edit::in_use), help("{hint}"))]
    InUse {
        /// Node, input or group.
        what: &'static str,
        /// Its name.
        name: String,
        /// The user.
        by: String,
        /// The next step for the author.
        hint: &'static str,
    },
    /// An id that is taken or out of range.
    #[error("the id {id} {reason}")]
    #[diagnostic(code(edit::bad_id), help("leave ids out: new nodes get new ones"))]
    BadId {
        /// The id.
        id: u64,
        /// The reason.
        reason: &'static str,
    },
    /// A list of sources inside a list of sources.
    #[error("a list of sources contains another list of sources")]
    #[diagnostic(code(edit::nested_sources), help("write all sources in one list"))]
    NestedSources,
    /// A part of the edit has an invalid value.
    #[error("{what}: {message}")]
    #[diagnostic(code(edit::bad_value), help("{hint}"))]
    BadValue {
        /// The part.
        what: &'static str,
        /// The reason.
        message: String,
        /// The next step for the author.
        hint: &'static str,
    },
    /// The selection cannot become a group, or the group cannot be dissolved.
    #[error("{message}")]
    #[diagnostic(code(edit::group), help("{hint}"))]
    Group {
        /// The reason.
        message: String,
        /// The next step for the author.
        hint: &'static str,
    },
    /// The document would have more nodes than the limit allows.
    #[error("the document would have {n} nodes, but the limit is {limit}")]
    #[diagnostic(
        code(edit::too_many_nodes),
        help("raise `nodes` in the limits if this is intended")
    )]
    TooManyNodes {
        /// Number of nodes.
        n: usize,
        /// The limit.
        limit: usize,
    },
    /// A change to a group of a used document.
    #[error("group `{group}` is part of `{file}`, which the document uses")]
    #[diagnostic(
        code(edit::of_used_document),
        help("change that file, or ungroup the node to get a copy of the group's nodes")
    )]
    OfUsedDocument {
        /// The group.
        group: String,
        /// The file.
        file: String,
    },
    /// A change to the document as a whole, made inside a group.
    #[error("groups, the view and the head belong to the document, not to a group")]
    #[diagnostic(
        code(edit::of_document),
        help("leave out `within`; in a batch, each edit has its own")
    )]
    OfDocument,
    /// Batches are nested too deeply.
    #[error("batches are nested more than {limit} deep")]
    #[diagnostic(code(edit::depth), help("write the edits in one batch"))]
    TooDeep {
        /// The limit.
        limit: usize,
    },
}
