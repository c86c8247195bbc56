//! The set of items seen so far in a list.

use millstream_base::Column;

use crate::known::{ByHash, Keys};

/// Units of work of one item.
pub(super) const HASHED: usize = 1 << 4;

/// The distinct items of a column, each the first of those that are equal.
pub(super) struct Seen<'c> {
    column: &'c Column,
    keys: Keys,
    by_hash: ByHash,
    places: Vec<Place>,
}

/// An item of the set.
struct Place {
    /// Its position in the column.
    at: usize,
    mark: bool,
}

impl<'c> Seen<'c> {
    pub(super) fn new(column: &'c Column) -> Self {
        Self { column, keys: Keys::new(), by_hash: ByHash::new(), places: Vec::new() }
    }

    /// Removes all items.
    pub(super) fn clear(&mut self) {
        self.by_hash.clear();
        self.places.clear();
    }

    /// The mark of the item at a position, and whether the item is new; a new item is added without
    /// a mark.
    pub(super) fn mark(&mut self, at: usize) -> (&mut bool, bool) {
        let hash = self.keys.of_row([self.column], at);
        let new = u32::try_from(self.places.len()).expect("lists are shorter than 2^32");
        let places = &self.places;
        let is_it = |place: u32| self.column.same_at(at, self.column, places[place as usize].at);
        let known = self.by_hash.find_or_enter(hash, new, is_it);
        if known.is_none() {
            self.places.push(Place { at, mark: false });
        }
        (&mut self.places[known.unwrap_or(new) as usize].mark, known.is_none())
    }
}
