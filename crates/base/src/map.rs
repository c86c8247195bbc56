//! Maps from the elements of a call to stored values.

/// For each element `i`, the index of its stored value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Map<'a> {
    /// `i`.
    Each,
    /// 0 for all elements.
    Single,
    /// `i % n`; `n` is not 0.
    Tile(usize),
    /// `i / n`; `n` is not 0.
    Stretch(usize),
    /// `table[i]`.
    Table(&'a [u32]),
}

impl Map<'_> {
    /// The index of the stored value of element `i`.
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
