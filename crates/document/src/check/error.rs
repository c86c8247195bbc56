//! The errors in documents that could be read.

use millstream_base::Type;
use millstream_base::literal::LiteralError;
use millstream_node::Zone;

use crate::model::Form;

/// Why a document has no meaning, or probably not the one that its author intended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[non_exhaustive]
pub enum CheckError {
    /// Loading reported problems in this part.
    #[error("{what} could not be read")]
    #[diagnostic(code(check::unreadable), help("fix the problems that loading reported"))]
    Unreadable {
        /// The part.
        what: String,
    },
    /// No node type has the name.
    #[error("there is no node type called `{name}`")]
    #[diagnostic(code(check::unknown_node_type), help("{hint}"))]
    UnknownNodeType {
        /// The name.
        name: String,
        /// The nearest name.
        hint: String,
    },
    /// The document was made with another version of the node type.
    #[error("the node needs version {version} of `{name}`, but this build has version {known}")]
    #[diagnostic(code(check::node_version), help("{hint}"))]
    NodeVersion {
        /// The node type.
        name: String,
        /// The version in the document.
        version: u32,
        /// The version in the registry.
        known: u32,
        /// The next step.
        hint: &'static str,
    },
    /// No group has the name.
    #[error("there is no group called `{name}`")]
    #[diagnostic(code(check::unknown_group), help("{hint}"))]
    UnknownGroup {
        /// The name.
        name: String,
        /// The nearest name, or all.
        hint: String,
    },
    /// The documents that the document uses were not read.
    #[error("the document used as `{name}` was not read")]
    #[diagnostic(
        code(check::use_not_read),
        help("compile the document with an engine, or call `read_used` before checking it")
    )]
    UseNotRead {
        /// The name of the use.
        name: String,
    },
    /// No type has the name.
    #[error("{what} has the unknown type `{name}`")]
    #[diagnostic(code(check::unknown_type), help("{hint}"))]
    UnknownType {
        /// The input or output.
        what: String,
        /// The name.
        name: String,
        /// The nearest name, or all.
        hint: String,
    },
    /// The node has no such input.
    #[error("`{node_type}` has no input called `{name}`")]
    #[diagnostic(code(check::unknown_input), help("{hint}"))]
    UnknownInput {
        /// The node type or group.
        node_type: String,
        /// The name.
        name: String,
        /// The nearest name, or all.
        hint: String,
    },
    /// A call in a formula has more arguments than the group has inputs.
    #[error("`{group}` has {n}")]
    #[diagnostic(code(check::too_many_arguments), help("{hint}"))]
    TooManyArguments {
        /// The group.
        group: String,
        /// The number of its inputs.
        n: String,
        /// Their names.
        hint: String,
    },
    /// A call in a formula gives an input twice.
    #[error("the call gives input `{name}` of `{group}` twice")]
    #[diagnostic(code(check::given_again), help("keep one of the two"))]
    GivenAgain {
        /// The group.
        group: String,
        /// The input.
        name: String,
    },
    /// An argument of a call in a formula has no value.
    #[error("an argument of `{group}` is missing here")]
    #[diagnostic(code(check::empty_argument), help("write it, or remove the comma"))]
    EmptyArgument {
        /// The group.
        group: String,
    },
    /// An argument without a name follows one with a name.
    #[error("an argument without a name follows one with a name")]
    #[diagnostic(
        code(check::unnamed_argument),
        help("name it too, as in `{name}: ...`, or move it to the front")
    )]
    UnnamedArgument {
        /// An input of the group.
        name: String,
    },
    /// The node has no such output.
    #[error("`{link}`: `{node_type}` has no output called `{name}`")]
    #[diagnostic(code(check::unknown_output), help("{hint}"))]
    UnknownOutput {
        /// The link.
        link: String,
        /// The node type or group.
        node_type: String,
        /// The name.
        name: String,
        /// The nearest name, or all.
        hint: String,
    },
    /// There is no such node.
    #[error("`{link}`: there is no node called `{name}`")]
    #[diagnostic(code(check::unknown_node), help("{hint}"))]
    UnknownNode {
        /// The link.
        link: String,
        /// The name.
        name: String,
        /// The nearest name.
        hint: String,
    },
    /// The document or group has no such input.
    #[error("{whole} has no input called `{name}`")]
    #[diagnostic(code(check::unknown_graph_input), help("{hint}"))]
    UnknownGraphInput {
        /// The document or group.
        whole: String,
        /// The name.
        name: String,
        /// The nearest name, or all.
        hint: String,
    },
    /// An input without a default has no source.
    #[error("input `{name}` of `{node_type}` is missing")]
    #[diagnostic(code(check::missing_input), help("link it or write {form}"))]
    MissingInput {
        /// The socket.
        name: String,
        /// The node type or group.
        node_type: String,
        /// How a literal is written.
        form: String,
    },
    /// An input that takes one source has several.
    #[error("input `{name}` takes one source, not {n}")]
    #[diagnostic(
        code(check::several_sources),
        help("keep one of them, or combine them with a node that takes several")
    )]
    SeveralSources {
        /// The socket.
        name: String,
        /// The number of sources.
        n: usize,
    },
    /// A list where one of its items is expected.
    #[error("{found} is a list, but each source here is a single item")]
    #[diagnostic(
        code(check::list_as_item),
        help(
            "write {items} for its items, or the list itself where it is read, without this node"
        )
    )]
    ListAsItem {
        /// The list.
        found: String,
        /// How its items are written.
        items: String,
    },
    /// More sources than a node can have.
    #[error("the node has {n} sources, but the limit is 65535")]
    #[diagnostic(code(check::too_many_sources), help("split the node into several"))]
    TooManySources {
        /// The number of sources.
        n: usize,
    },
    /// A link between types that do not convert.
    #[error("{source_name} gives {}, but {target} takes {takes}", from.with_article())]
    #[diagnostic(code(check::type_mismatch), help("{hint}"))]
    TypeMismatch {
        /// The source of the value.
        source_name: String,
        /// The type of the source.
        from: Type,
        /// The target of the link.
        target: String,
        /// The type or types that the target takes.
        takes: String,
        /// The next step.
        hint: String,
    },
    /// A link whose value is narrowed to the type of its socket.
    #[error(
        "{source_name} gives {}, which {target} narrows to {}",
        from.with_article(),
        to.with_article()
    )]
    #[diagnostic(
        severity(Advice),
        code(check::narrowed),
        help(
            "insert a `convert` node with {} if this is intended",
            form.of(format!("\"to\": \"{to}\""), format!("`to = \"{to}\"`"))
        )
    )]
    Narrowed {
        /// The form of the document.
        form: Form,
        /// The source of the value.
        source_name: String,
        /// The type of the source.
        from: Type,
        /// The target of the link.
        target: String,
        /// The type of the target.
        to: Type,
    },
    /// An expression in the text form that cannot be computed.
    #[error("{message}")]
    #[diagnostic(code(settings::refused))]
    Formula {
        /// The reason.
        message: String,
        /// The next step, if there is one.
        #[help]
        hint: Option<String>,
    },
    /// A part of a formula whose value is narrowed.
    #[error("the formula narrows {} to {}", from.with_article(), to.with_article())]
    #[diagnostic(severity(Advice), code(check::narrowed), help("{hint}"))]
    NarrowedInFormula {
        /// The type of the part.
        from: Type,
        /// The type that it becomes.
        to: Type,
        /// The next step.
        hint: &'static str,
    },
    /// A feature is used with two types.
    #[error(
        "the feature `{name}` is {} here and {} in `{first}`"
, ty.with_article(), first_ty.with_article())]
    #[diagnostic(
        code(check::feature_type),
        help("a feature has one type: use the same type in both places, or choose another name")
    )]
    FeatureType {
        /// The name.
        name: String,
        /// The type here.
        ty: Type,
        /// The type at the first occurrence.
        first_ty: Type,
        /// The node of the first occurrence.
        first: String,
    },
    /// A node depends on itself, at least in some case.
    #[error("the nodes form a cycle{why}: {path}")]
    #[diagnostic(code(check::cycle), help("{hint}"))]
    Cycle {
        /// The next step.
        hint: &'static str,
        /// The case in which the cycle exists, or why switches do not break it.
        why: String,
        /// The nodes of the cycle in the direction of the values.
        path: String,
    },
    /// The types of nodes on a cycle that switches break depend only on each other.
    #[error("the type of `{node}` depends on itself around a cycle")]
    #[diagnostic(
        code(check::unsettled),
        help("state a type by inserting a `convert` node into the cycle")
    )]
    Unsettled {
        /// The node.
        node: String,
    },
    /// A group contains itself.
    #[error("the group contains itself: {path}")]
    #[diagnostic(code(check::recursive_group), help("remove one of these nodes"))]
    RecursiveGroup {
        /// The groups around the cycle, each inside the one before.
        path: String,
    },
    /// Groups are nested more deeply than the limit.
    #[error("groups are nested {depth} deep, but the limit is {limit}: {path}")]
    #[diagnostic(
        code(check::group_depth),
        help(
            "nest the groups less deeply, or raise `group_depth` in the limits if this is intended"
        )
    )]
    GroupDepth {
        /// The depth.
        depth: usize,
        /// The limit.
        limit: usize,
        /// The groups from the outermost inwards.
        path: String,
    },
    /// Too many nodes once groups are expanded.
    #[error("the document has {n} nodes when all groups are expanded, but the limit is {limit}")]
    #[diagnostic(
        code(check::expanded_nodes),
        help(
            "use the group less often, or raise `expanded_nodes` in the limits if this is intended"
        )
    )]
    ExpandedNodes {
        /// The number of nodes, as a lower bound if it is huge.
        n: String,
        /// The limit.
        limit: usize,
    },
    /// More nodes than the limit.
    #[error("the document has {n} nodes, but the limit is {limit}")]
    #[diagnostic(
        code(check::too_many_nodes),
        help("raise `nodes` in the limits if this is intended")
    )]
    TooManyNodes {
        /// The number of nodes.
        n: usize,
        /// The limit.
        limit: usize,
    },
    /// The frame rate is not a positive number.
    #[error("`fps` is {fps}")]
    #[diagnostic(code(check::bad_fps), help("write a positive number"))]
    BadFps {
        /// The value in the document.
        fps: String,
    },
    /// A name that links cannot mention, as documents built in code may have.
    #[error("`{name}` cannot be the name of {what}: {reason}")]
    #[diagnostic(code(check::bad_name), help("choose another name"))]
    BadName {
        /// The kind of part that has the name.
        what: &'static str,
        /// The name.
        name: String,
        /// The problem with the name.
        reason: &'static str,
    },
    /// A default outside the range of its input.
    #[error("the default {default} of input `{name}` is {side}")]
    #[diagnostic(
        severity(Warning),
        code(check::default_out_of_range),
        help("change the default or the range")
    )]
    DefaultOutOfRange {
        /// The input.
        name: String,
        /// The default.
        default: String,
        /// The bound that it violates.
        side: String,
    },
    /// The default of an input, or the literal of an output, is not a value of its type.
    #[error("the {what}: {error}")]
    #[diagnostic(
        code(check::wrong_value),
        help("{}", error.help().map(|help| help.to_string()).unwrap_or_default())
    )]
    WrongValue {
        /// The default or value, and of which input or output.
        what: String,
        /// The problem with the value.
        error: LiteralError,
    },
    /// A step that leads nowhere.
    #[error("the step {step} of input `{name}` is not above 0")]
    #[diagnostic(code(check::wrong_step), help("choose a positive step, or leave it out"))]
    WrongStep {
        /// The input.
        name: String,
        /// The step.
        step: String,
    },
    /// A range that is empty, or belongs to a type without numbers.
    #[error("the range of input `{name}` {reason}")]
    #[diagnostic(
        severity(Warning),
        code(check::useless_range),
        help("change or remove `min` and `max`")
    )]
    UselessRange {
        /// The input.
        name: String,
        /// The problem with the range.
        reason: &'static str,
    },
    /// An input that nothing reads.
    #[error("input `{name}` is not used")]
    #[diagnostic(severity(Warning), code(check::unused_input), help("link it or remove it"))]
    UnusedInput {
        /// The input.
        name: String,
    },
    /// In a group that runs many times, no input of the next run takes an output.
    #[error("no input of the next {run} takes output `{output}` of group `{group}`")]
    #[diagnostic(code(check::not_carried), help("{hint}"))]
    NotCarried {
        /// A round or tick.
        run: &'static str,
        /// The next step.
        hint: String,
        /// The output.
        output: String,
        /// The group.
        group: String,
    },
    /// A value is carried to an input of another type.
    #[error(
        "output `{name}` of group `{group}` is {found}, but the input that it is carried to is \
         {wanted}"
    )]
    #[diagnostic(code(check::carried_type), help("give both the same type"))]
    CarriedType {
        /// The name of both the output and the input.
        name: String,
        /// The group.
        group: String,
        /// The type of the output.
        found: Type,
        /// The type of the input.
        wanted: Type,
    },
    /// An input or output with a meaning for the zone has the wrong type.
    #[error("{what} of group `{group}` is {found}, but a `{zone}` needs {wanted}")]
    #[diagnostic(code(check::zone_type), help("change its type, or its name"))]
    ZoneType {
        /// The zone.
        zone: Zone,
        /// The input or output.
        what: String,
        /// The group.
        group: String,
        /// Its type.
        found: Type,
        /// The type that the zone needs.
        wanted: String,
    },
    /// A zone would have lists that are nested too deeply.
    #[error("the lists of `{name}` would be nested more than {} deep", Type::MAX_LIST_DEPTH)]
    #[diagnostic(code(check::zone_depth), help("use less nested lists in the group"))]
    ZoneDepth {
        /// The input or output of the group.
        name: String,
    },
    /// A group with state runs many times.
    #[error("the group of a `{zone}` cannot keep state, but `{node}` does")]
    #[diagnostic(
        code(check::state_in_zone),
        help("carry the value from {run} to {run}, or keep state outside the group")
    )]
    StateInZone {
        /// The zone.
        zone: Zone,
        /// A round, item or tick.
        run: &'static str,
        /// The path of the stateful node.
        node: String,
    },
    /// What is called is no closure.
    #[error("`call` takes a closure, and {source_name} is {found}")]
    #[diagnostic(code(check::not_a_closure), help("a node of type `closure` makes one of a group"))]
    NotAClosure {
        /// What is linked.
        source_name: String,
        /// What it is.
        found: String,
    },
    /// The group cannot be a closure.
    #[error("a closure of the group `{group}` has no type")]
    #[diagnostic(
        code(check::no_interface),
        help(
            "the group needs an output; names of its sockets are letters, digits and `_`, and few \
             enough for 1024 characters; no parameter is called `closure`"
        )
    )]
    NoInterface {
        /// The group.
        group: String,
    },
    /// An input or output of the document has the type of a closure.
    #[error("{what} is a closure, which exists only inside a document")]
    #[diagnostic(
        code(check::closure_outside),
        help("call it in the document, and give or take values")
    )]
    ClosureOutside {
        /// The input or output.
        what: String,
    },
    /// A closure goes into a node that knows no closures.
    #[error("a closure cannot go through `{node_type}`")]
    #[diagnostic(
        code(check::closure_through),
        help(
            "closures go through groups, `control.pass`, `control.switch` and `control.choose`, \
             and into zones; call it before, or put the node around the call"
        )
    )]
    ClosureThrough {
        /// The node type.
        node_type: String,
    },
    /// A zone gives a closure, or takes it apart.
    #[error("`{name}` is a closure, which a `{zone}` cannot carry, collect or take item by item")]
    #[diagnostic(
        code(check::closure_in_zone),
        help("give it by an input that is the same in each {}", .zone.run())
    )]
    ClosureInZone {
        /// The zone.
        zone: Zone,
        /// The input or output of the group.
        name: String,
    },
    /// A call that may receive no closure.
    #[error("no closure arrives here")]
    #[diagnostic(
        code(check::no_closure),
        help("link a closure to each arm of switches on the way; muted nodes give none")
    )]
    NoClosure,
    /// Closures in closures without end, or nearly so.
    #[error("calls of closures lead more than {limit} groups deep")]
    #[diagnostic(
        code(check::closure_depth),
        help("nest fewer closures, or raise `group_depth` in the limits")
    )]
    ClosureDepth {
        /// The limit.
        limit: usize,
    },
    /// A closure that captures too much.
    #[error("the closure and those that it captures hold more than {limit} values")]
    #[diagnostic(
        code(check::closure_values),
        help("capture fewer values, or pass a closure on by an input of a group instead")
    )]
    ClosureValues {
        /// The limit.
        limit: usize,
    },
    /// The groups that take the place of calls have too many nodes.
    #[error("putting groups in the place of calls takes more than {limit} nodes")]
    #[diagnostic(
        code(check::closure_nodes),
        help("call fewer closures, or raise `expanded_nodes` in the limits")
    )]
    ClosureNodes {
        /// The limit.
        limit: usize,
    },
    /// A closure on a cycle that only goes through a group.
    #[error("a closure goes into a group whose other outputs it depends on")]
    #[diagnostic(
        code(check::closure_again),
        help("make two groups of the group, one for the outputs that the closure needs")
    )]
    ClosureAgain,
    /// A group that no node uses.
    #[error("group `{name}` is not used")]
    #[diagnostic(severity(Warning), code(check::unused_group), help("use it or remove it"))]
    UnusedGroup {
        /// The group.
        name: String,
    },
}
