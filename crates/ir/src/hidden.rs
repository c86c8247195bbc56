//! Names of the hidden inputs and outputs of a graph, which carry state or hold results.

/// The first character of the names of results that parts of a request hold, which no name in a
/// document has.
pub const HELD: char = '/';

/// Whether an output is a result that parts of a request hold.
pub fn is_held(name: &str) -> bool {
    name.starts_with(HELD)
}

/// Whether an input or output of a graph carries state. Names in documents have no dots.
pub fn is_state(name: &str) -> bool {
    name.contains('.')
}

/// The path of the node whose state an input or output carries.
pub(crate) fn node_of(state: &str) -> &str {
    state.rsplit_once('.').map_or(state, |(node, _)| node)
}

/// Describes an output in a message; one that carries state is described by its node.
pub fn asker(output: &str) -> String {
    match output.rsplit_once('.') {
        Some((node, _)) => format!("the state of `{node}`"),
        None => format!("output `{output}`"),
    }
}
