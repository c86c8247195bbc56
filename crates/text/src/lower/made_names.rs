//! Names of nodes that are made for calls inside statements.

use std::sync::Arc;

use hashbrown::HashTable;
use millstream_document::FreeNames;
use millstream_document::model::{Named, Node};

use super::body::Maker;
use crate::scope::{Scope, spread};

/// Finds names that no other node of the body has.
#[derive(Default)]
pub(super) struct MadeNames {
    free: FreeNames,
    /// Names of nodes that are not added yet, with their hashes.
    pending: HashTable<(u32, Arc<str>)>,
    /// The last name, kept to reuse its memory.
    wanted: String,
}

impl MadeNames {
    /// The name that `write` writes, or a similar one that no node has, with its hash.
    pub(super) fn free(
        &mut self,
        (scope, nodes): (&Scope<'_>, &Named<Node>),
        write: impl FnOnce(&mut String),
    ) -> (u32, Arc<str>) {
        self.wanted.clear();
        write(&mut self.wanted);
        let hash = scope.hasher.hash(&self.wanted);
        let pending = &self.pending;
        let is_taken = |hash: u32, name: &str| {
            nodes.slot_with(hash, name).is_some()
                || scope.has_node(hash, name)
                || pending.find(spread(hash), |(_, it)| **it == *name).is_some()
        };
        let name = if is_taken(hash, &self.wanted) {
            let is_taken = |name: &str| is_taken(scope.hasher.hash(name), name);
            let name = self.free.find(&self.wanted, is_taken);
            (scope.hasher.hash(&name), name)
        } else {
            (hash, Arc::from(&*self.wanted))
        };
        self.pending.insert_unique(spread(name.0), name.clone(), |(hash, _)| spread(*hash));
        name
    }

    /// Tells that the node of this name is added.
    pub(super) fn used(&mut self, hash: u32, name: &str) {
        if let Ok(pending) = self.pending.find_entry(spread(hash), |(_, it)| **it == *name) {
            pending.remove();
        }
    }
}

impl Maker<'_, '_, '_> {
    /// The name that `write` writes, or a similar one that no other node of the body has, with its
    /// hash.
    pub(super) fn free_name(&mut self, write: impl FnOnce(&mut String)) -> (u32, Arc<str>) {
        self.made_names.free((&self.scope, &self.nodes), write)
    }
}
