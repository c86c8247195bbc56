//! Names of inputs, which lowering compares.

use std::collections::HashSet;
use std::sync::Arc;

/// The names of the inputs or settings of a node so far.
#[derive(Default)]
pub(super) struct Seen(Option<HashSet<Arc<str>>>);

impl Seen {
    /// Adds a name; false if it exists already.
    pub(super) fn insert<T>(&mut self, name: &Arc<str>, fields: &[(Arc<str>, T)]) -> bool {
        const MAX_WALKED: usize = 16;
        if fields.len() < MAX_WALKED {
            return fields.iter().all(|(known, _)| known != name);
        }
        let all = || fields.iter().map(|(known, _)| Arc::clone(known)).collect();
        self.0.get_or_insert_with(all).insert(Arc::clone(name))
    }
}
