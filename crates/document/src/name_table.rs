//! Positions of names by their hashes.
//!
//! Each lookup reads one place of memory: an entry lies at the place of its hash or, if that is
//! taken, behind it. In documents of many nodes that read is most of what a lookup costs, so large
//! tables lie in huge pages.

use millstream_base::pages::room_in_huge_pages;

/// Positions of names, found by hash. The names themselves lie elsewhere.
#[derive(Clone, Debug, Default)]
pub struct NameTable {
    /// A hash and the position after the one it belongs to, or 0. In a circle, an entry is at the
    /// place of its hash or in an unbroken row of entries from there.
    entries: Vec<u64>,
    len: usize,
}

/// Tables with fewer entries have this many places.
const FEWEST: usize = 8;

/// Whether two names are equal; one that both share is not read.
#[inline]
pub fn is_same(a: &str, b: &str) -> bool {
    std::ptr::eq(a, b) || a == b
}

fn hash_of(entry: u64) -> u32 {
    (entry >> 32) as u32
}

fn position_of(entry: u64) -> u32 {
    (entry as u32) - 1
}

impl NameTable {
    /// An empty table.
    pub const fn new() -> Self {
        Self { entries: Vec::new(), len: 0 }
    }

    /// Number of positions.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no positions.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Makes room for `n` more positions.
    pub fn reserve(&mut self, n: usize) {
        let wanted = (self.len + n) * 2;
        if wanted > self.entries.len() {
            self.grow(wanted);
        }
    }

    /// Moves all entries to a larger table. Places grow with hashes, so that both are passed in
    /// order.
    fn grow(&mut self, n_places: usize) {
        let mut entries = room_in_huge_pages(n_places.max(FEWEST));
        entries.resize(n_places.max(FEWEST), 0);
        let old = std::mem::replace(&mut self.entries, entries);
        for entry in old.into_iter().filter(|entry| *entry != 0) {
            self.place(entry);
        }
    }

    /// The place of a hash.
    fn home(&self, hash: u32) -> usize {
        ((u64::from(hash) * self.entries.len() as u64) >> 32) as usize
    }

    fn after(&self, place: usize) -> usize {
        if place + 1 == self.entries.len() { 0 } else { place + 1 }
    }

    /// Writes an entry to the first free place; there is one.
    fn place(&mut self, entry: u64) {
        let mut place = self.home(hash_of(entry));
        while self.entries[place] != 0 {
            place = self.after(place);
        }
        self.entries[place] = entry;
    }

    /// Reads memory that a lookup of the hash needs, ahead of it.
    pub fn read_ahead(&self, hash: u32) -> Option<u64> {
        self.entries.get(self.home(hash)).copied()
    }

    /// The position with this hash of which `is_it` is true.
    #[inline]
    pub fn find(&self, hash: u32, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        self.place_of(hash, &mut is_it).map(|place| position_of(self.entries[place]))
    }

    #[inline]
    fn place_of(&self, hash: u32, is_it: &mut impl FnMut(u32) -> bool) -> Option<usize> {
        let mut place = self.home(hash);
        loop {
            let entry = *self.entries.get(place)?;
            if entry == 0 {
                return None;
            }
            if hash_of(entry) == hash && is_it(position_of(entry)) {
                return Some(place);
            }
            place = self.after(place);
        }
    }

    /// Adds a position whose name is not in the table.
    ///
    /// # Panics
    /// If it is `u32::MAX`.
    #[inline]
    pub fn insert(&mut self, hash: u32, position: u32) {
        if (self.len + 1) * 4 > self.entries.len() * 3 {
            self.grow(self.entries.len() * 2);
        }
        let after = position.checked_add(1).expect("positions are below the largest number");
        self.place(u64::from(hash) << 32 | u64::from(after));
        self.len += 1;
    }

    /// Removes a position with this hash, if it is there.
    pub fn remove(&mut self, hash: u32, position: u32) {
        let Some(mut free) = self.place_of(hash, &mut |known| known == position) else { return };
        self.len -= 1;
        let n_places = self.entries.len();
        let distance = |from: usize, to: usize| (to + n_places - from) % n_places;
        let mut place = free;
        loop {
            place = self.after(place);
            let entry = self.entries[place];
            if entry == 0 {
                break;
            }
            // An entry moves to the free place unless its own place lies between the two.
            if distance(self.home(hash_of(entry)), place) >= distance(free, place) {
                self.entries[free] = entry;
                free = place;
            }
        }
        self.entries[free] = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn it_holds_what_was_inserted_and_not_removed(
            // Hashes crowd at both ends of the table.
            changes in prop::collection::vec((any::<bool>(), 0..60_u32, any::<bool>()), 0..200)
        ) {
            let mut table = NameTable::new();
            let mut known: BTreeMap<u32, u32> = BTreeMap::new();
            for (inserts, position, is_high) in changes {
                match known.get(&position).copied() {
                    None if inserts => {
                        let hash = if is_high { u32::MAX - position / 3 } else { position / 2 };
                        table.insert(hash, position);
                        known.insert(position, hash);
                    }
                    Some(hash) if !inserts => {
                        table.remove(hash, position);
                        known.remove(&position);
                    }
                    _ => {}
                }
                prop_assert_eq!(table.len(), known.len());
                for position in 0..60 {
                    let hash = known.get(&position).copied().unwrap_or(position / 2);
                    let found = table.find(hash, |found| found == position);
                    prop_assert_eq!(found.is_some(), known.contains_key(&position));
                }
            }
        }
    }

    #[test]
    fn many_fit_into_what_was_reserved() {
        let mut table = NameTable::new();
        table.reserve(1000);
        let room = table.entries.capacity();
        for position in 0..1000_u32 {
            table.insert(position.wrapping_mul(0x9E37_79B9), position);
        }
        assert_eq!(table.entries.capacity(), room);
        assert_eq!(table.find(0x9E37_79B9, |_| true), Some(1));
        assert_eq!(table.find(5, |_| true), None);
    }
}
