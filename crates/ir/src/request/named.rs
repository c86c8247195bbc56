//! Look-up of names in a list.

use rustc_hash::FxHashMap;

/// The positions of names: indexed if many names are looked up.
pub(super) enum Named<'n, I> {
    Few(I),
    Many(FxHashMap<&'n str, usize>),
}

impl<'n, I: Iterator<Item = &'n str> + Clone> Named<'n, I> {
    /// The positions of `names`, of which about `n_wanted` will be looked up.
    pub(super) fn new(names: I, n_wanted: usize) -> Self {
        if n_wanted <= 8 {
            return Self::Few(names);
        }
        let mut positions = FxHashMap::default();
        for (position, name) in names.enumerate() {
            positions.entry(name).or_insert(position);
        }
        Self::Many(positions)
    }

    pub(super) fn position(&self, name: &str) -> Option<usize> {
        match self {
            Self::Few(names) => names.clone().position(|known| known == name),
            Self::Many(positions) => positions.get(name).copied(),
        }
    }
}
