//! Shares the strings that documents repeat: names of types, sockets and outputs.

use std::hash::{BuildHasher, BuildHasherDefault};
use std::sync::Arc;

use rustc_hash::FxHasher;

const N_SLOTS: usize = 512;

/// The words seen last. Forgets instead of growing, so that no text makes it slow or large.
pub(super) struct Words {
    slots: Vec<Option<Arc<str>>>,
}

impl Words {
    pub(super) fn new() -> Self {
        Self { slots: vec![None; N_SLOTS] }
    }

    /// The word as a shared string.
    pub(super) fn share(&mut self, word: &str) -> Arc<str> {
        let hash = BuildHasherDefault::<FxHasher>::default().hash_one(word);
        let slot = &mut self.slots[hash as usize % N_SLOTS];
        match slot {
            Some(known) if **known == *word => Arc::clone(known),
            Some(_) | None => {
                let new: Arc<str> = word.into();
                *slot = Some(Arc::clone(&new));
                new
            }
        }
    }
}
