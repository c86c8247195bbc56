//! Maps: how the elements of a call are found in what is stored for them.

/// Which stored value element `i` has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Map<'a> {
    /// Number `i`.
    Each,
    /// Number 0, for all elements.
    Single,
    /// Number `i % n`; `n` is not 0.
    Tile(usize),
    /// Number `i / n`; `n` is not 0.
    Stretch(usize),
    /// Number `table[i]`.
    Table(&'a [u32]),
}

impl Map<'_> {
    /// The number of the stored value that element `i` has.
    #[inline]
    pub fn entry(&self, i: usize) -> usize {
        match self {
            Self::Each => i,
            Self::Single => 0,
            Self::Tile(n) => i % n,
            Self::Stretch(n) => i / n,
            Self::Table(table) => table[i] as usize,
        }
    }
}
