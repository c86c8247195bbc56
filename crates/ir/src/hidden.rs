//! Names of the hidden inputs and outputs of a graph, which carry state.

/// Whether an input or output of a graph carries state: names that authors write have no dots.
pub fn is_state(name: &str) -> bool {
    name.contains('.')
}

/// An output in words; for one that carries state, its node.
pub fn asker(output: &str) -> String {
    match output.rsplit_once('.') {
        Some((node, _)) => format!("the state of `{node}`"),
        None => format!("output `{output}`"),
    }
}
