//! What an untrusted document may use before the engine says no.

/// The limits of loading, compiling and running. All can be raised by the embedding program and,
/// where the message of the limit says so, on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a document's text.
    pub document_bytes: usize,
    /// Nodes written in a document, over all its groups.
    pub nodes: usize,
    /// Groups inside groups.
    pub group_depth: usize,
    /// Nodes after all groups are expanded.
    pub expanded_nodes: usize,
    /// Elements of one list, and cells of one column.
    pub list_length: usize,
    /// Rounds of one repeat.
    pub repeat_count: usize,
    /// Pixels of one image.
    pub image_pixels: usize,
    /// Bytes held by the columns of one evaluation.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            document_bytes: 1 << 30,
            nodes: 16_000_000,
            group_depth: 64,
            expanded_nodes: 16_000_000,
            list_length: 1 << 28,
            repeat_count: 10_000_000,
            image_pixels: 1 << 28,
            bytes: 16 << 30,
        }
    }
}
