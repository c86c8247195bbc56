//! Shares the strings that repeat in documents: names of types, sockets, outputs and nodes.

use std::hash::{BuildHasher, BuildHasherDefault};
use std::sync::Arc;

use rustc_hash::FxHasher;

/// A cache of recent words. It replaces entries instead of growing, so no text makes it slow or
/// large.
pub struct Words {
    slots: Vec<Option<Arc<str>>>,
}

impl Words {
    /// A cache of this many words, a power of two.
    pub fn new(n_slots: usize) -> Self {
        Self { slots: vec![None; n_slots] }
    }

    fn slot(&mut self, word: &str) -> &mut Option<Arc<str>> {
        let hash = BuildHasherDefault::<FxHasher>::default().hash_one(word);
        let n_slots = self.slots.len();
        &mut self.slots[hash as usize & (n_slots - 1)]
    }

    /// The word as a shared string.
    pub fn share(&mut self, word: &str) -> Arc<str> {
        let slot = self.slot(word);
        match slot {
            Some(known) if **known == *word => Arc::clone(known),
            Some(_) | None => {
                let new = Arc::from(word);
                *slot = Some(Arc::clone(&new));
                new
            }
        }
    }

    /// The word as a shared string, if it is cached.
    pub(super) fn known(&mut self, word: &str) -> Option<Arc<str>> {
        self.slot(word).as_ref().filter(|known| ***known == *word).map(Arc::clone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_words_are_shared() {
        let mut words = Words::new(1);
        let first = words.share("a");
        assert!(Arc::ptr_eq(&first, &words.share("a")));
        words.share("b");
        assert!(!Arc::ptr_eq(&first, &words.share("a")));
    }
}
