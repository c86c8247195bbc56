//! Names that are looked for.

use rustc_hash::FxHashMap;

/// Where names stand among others: looked for one by one if they are few.
pub(super) enum Named<'n, I> {
    Few(I),
    Many(FxHashMap<&'n str, usize>),
}

impl<'n, I: Iterator<Item = &'n str> + Clone> Named<'n, I> {
    /// Among these, where so many will be looked for.
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
