//! Virtual arrays: inputs of functions that look like an array with one element per element of the
//! call. Uniform values and columns of other axes need not be expanded.
//!
//! Reading out of bounds is a bug in the engine, never in a document, and panics.

use crate::map::Map;

/// An array of `T`: one value for all elements, or stored values seen through a map.
///
/// ```
/// use millstream_base::{map::Map, virtual_array::VirtualArray};
///
/// let rows = VirtualArray::mapped(&[10, 20], Map::Stretch(3), 6);
/// let columns = VirtualArray::mapped(&[1, 2, 3], Map::Tile(3), 6);
/// let sums: Vec<i32> = rows.iter().zip(columns.iter()).map(|(row, column)| row + column).collect();
/// assert_eq!(sums, [11, 12, 13, 21, 22, 23]);
/// ```
#[derive(Clone, Debug)]
pub struct VirtualArray<'a, T> {
    source: Source<'a, T>,
    len: usize,
}

#[derive(Clone, Debug)]
enum Source<'a, T> {
    Single(T),
    Mapped(&'a [T], Map<'a>),
}

impl<'a, T: Clone> VirtualArray<'a, T> {
    /// `len` copies of one value.
    pub const fn single(value: T, len: usize) -> Self {
        Self { source: Source::Single(value), len }
    }

    /// An array of `len` elements, where `map` gives the entry of `stored` for each.
    pub const fn mapped(stored: &'a [T], map: Map<'a>, len: usize) -> Self {
        Self { source: Source::Mapped(stored, map), len }
    }

    /// Number of elements.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Element `i`.
    ///
    /// # Panics
    /// If `i` is not below the length, or its entry does not exist.
    #[inline]
    pub fn get(&self, i: usize) -> T {
        self.with(i, T::clone)
    }

    /// Calls `f` with element `i`.
    ///
    /// # Panics
    /// As [`get`](Self::get).
    #[inline]
    pub fn with<R>(&self, i: usize, f: impl FnOnce(&T) -> R) -> R {
        assert!(i < self.len, "element {i} is within the array's length {}", self.len);
        match &self.source {
            Source::Single(value) => f(value),
            Source::Mapped(stored, map) => f(&stored[map.entry(i)]),
        }
    }

    /// The elements, if they are stored one after the other.
    pub fn as_slice(&self) -> Option<&'a [T]> {
        match self.source {
            Source::Mapped(stored, Map::Each) => stored.get(..self.len),
            Source::Mapped(..) | Source::Single(_) => None,
        }
    }

    /// The elements in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator + '_ {
        (0..self.len).map(|i| self.get(i))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_found_through_the_map() {
        let stored = [1, 2, 3];
        for (map, len, expected) in [
            (Map::Each, 3, vec![1, 2, 3]),
            (Map::Single, 2, vec![1, 1]),
            (Map::Tile(3), 5, vec![1, 2, 3, 1, 2]),
            (Map::Stretch(2), 5, vec![1, 1, 2, 2, 3]),
            (Map::Table(&[2, 0]), 2, vec![3, 1]),
        ] {
            let array = VirtualArray::mapped(&stored, map, len);
            assert!(array.iter().eq(expected), "{map:?}");
            assert_eq!(array.as_slice(), (map == Map::Each).then_some(&stored[..]));
        }
        assert!(VirtualArray::single("a", 2).iter().eq(["a", "a"]));
        assert!(VirtualArray::mapped(&stored[..0], Map::Each, 0).is_empty());
    }

    #[test]
    #[should_panic(expected = "element 2 is within the array's length 2")]
    fn reading_beyond_the_length_names_the_invariant() {
        VirtualArray::single(1, 2).get(2);
    }
}
