//! Typed indices and the arenas they point into.
//!
//! Parts of a graph refer to each other by index, never by reference. An index prints with a prefix
//! (`n7`) to keep logs and fixtures readable.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A typed index into an [`Arena`] or a [`SideTable`].
pub trait Id: Copy + Eq + Ord + std::hash::Hash + fmt::Debug + fmt::Display + 'static {
    /// The id at position `index`.
    ///
    /// # Panics
    /// If `index` does not fit into 32 bits; the limits keep ids far below that.
    fn from_index(index: usize) -> Self;
    /// Position in the arena.
    fn index(self) -> usize;
}

/// Defines a typed index: `define_id!(NodeId, "n", "One node of a graph; prints as `n7`.");`
#[macro_export]
macro_rules! define_id {
    ($name:ident, $prefix:literal, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $crate::id::Id for $name {
            #[inline]
            fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("the limits keep ids within 32 bits"))
            }
            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
        }
        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(self, f)
            }
        }
    };
}

/// A growing sequence addressed by a typed index.
#[derive(Clone, PartialEq, Eq)]
pub struct Arena<I, T> {
    items: Vec<T>,
    ids: PhantomData<fn() -> I>,
}

impl<I: Id, T> Arena<I, T> {
    /// An empty arena.
    pub fn new() -> Self {
        Self { items: Vec::new(), ids: PhantomData }
    }

    /// An empty arena with room for `n` items.
    pub fn with_capacity(n: usize) -> Self {
        Self { items: Vec::with_capacity(n), ids: PhantomData }
    }

    /// Appends an item and returns its id.
    #[inline]
    pub fn push(&mut self, item: T) -> I {
        let id = I::from_index(self.items.len());
        self.items.push(item);
        id
    }

    /// The id that the next [`push`](Self::push) returns.
    pub fn next_id(&self) -> I {
        I::from_index(self.items.len())
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The item, or `None` for an id past the end.
    pub fn get(&self, id: I) -> Option<&T> {
        self.items.get(id.index())
    }

    /// All ids, ascending.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.items.len()).map(I::from_index)
    }

    /// Ids with their items, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.items.iter().enumerate().map(|(i, item)| (I::from_index(i), item))
    }

    /// The items in order of their ids.
    pub fn as_slice(&self) -> &[T] {
        &self.items
    }

    /// Reserves capacity for exactly `n` more items.
    pub fn reserve(&mut self, n: usize) {
        self.items.reserve_exact(n);
    }

    /// Releases unused capacity.
    pub fn shrink_to_fit(&mut self) {
        self.items.shrink_to_fit();
    }
}

impl<I: Id, T> Default for Arena<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Id, T> FromIterator<T> for Arena<I, T> {
    fn from_iter<It: IntoIterator<Item = T>>(items: It) -> Self {
        Self { items: items.into_iter().collect(), ids: PhantomData }
    }
}

impl<I: Id, T> Index<I> for Arena<I, T> {
    type Output = T;
    #[inline]
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for Arena<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}

impl<I: Id, T: fmt::Debug> fmt::Debug for Arena<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// A value for each item of an arena, such as the result of an analysis.
#[derive(Clone, PartialEq, Eq)]
pub struct SideTable<I, T> {
    items: Vec<T>,
    ids: PhantomData<fn() -> I>,
}

impl<I: Id, T: Clone> SideTable<I, T> {
    /// A table of `n` copies of `fill`.
    pub fn new(n: usize, fill: T) -> Self {
        Self { items: vec![fill; n], ids: PhantomData }
    }

    /// A table with a copy of `fill` for each item of `arena`.
    pub fn for_arena<U>(arena: &Arena<I, U>, fill: T) -> Self {
        Self::new(arena.len(), fill)
    }
}

impl<I: Id, T> SideTable<I, T> {
    /// A table with these entries, one per item in id order.
    pub fn from_vec(items: Vec<T>) -> Self {
        Self { items, ids: PhantomData }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Ids with their entries, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.items.iter().enumerate().map(|(i, item)| (I::from_index(i), item))
    }

    /// The entries in order of their ids.
    pub fn as_slice(&self) -> &[T] {
        &self.items
    }
}

impl<I: Id, T> Index<I> for SideTable<I, T> {
    type Output = T;
    #[inline]
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for SideTable<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}

impl<I: Id, T: fmt::Debug> fmt::Debug for SideTable<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(unreachable_pub, reason = "the macro makes ids that crates export")]
    mod id {
        crate::define_id!(TestId, "t", "An id of the tests.");
    }
    use id::TestId;

    #[test]
    fn ids_print_with_their_prefix() {
        let mut arena: Arena<TestId, &str> = Arena::new();
        arena.push("a");
        let second = arena.push("b");
        assert_eq!(second.to_string(), "t1");
        assert_eq!(arena[second], "b");
        assert_eq!(arena.next_id().to_string(), "t2");
    }

    #[test]
    fn a_side_table_has_an_entry_per_item() {
        let arena: Arena<TestId, u8> = [3, 4].into_iter().collect();
        let mut doubled = SideTable::for_arena(&arena, 0);
        for (id, item) in arena.iter() {
            doubled[id] = 2 * item;
        }
        assert_eq!(doubled.as_slice(), [6, 8]);
    }
}
