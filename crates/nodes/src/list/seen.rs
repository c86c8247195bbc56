//! Items seen before, found by a hash of their bits. Keyed at random, so that nobody can write a
//! list whose items all collide; no result depends on the keys.

use std::collections::HashMap;
use std::collections::hash_map::{Entry, RandomState};
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};

use millstream_base::Column;

/// From so many items on they are found in several maps, so that none takes long to grow.
const LARGE: usize = 1 << 16;

/// The number of maps then.
const N_MAPS: usize = 1 << 8;

/// Units of work of one item.
pub(super) const HASHED: usize = 1 << 4;

/// Items of a column, each the first of those that are the same.
pub(super) struct Seen<'c> {
    column: &'c Column,
    keys: RandomState,
    /// By hash the last place that was entered: one map, or one for each end of the hash.
    last: Vec<ByHash>,
    places: Vec<Place>,
}

type ByHash = HashMap<u64, u32, BuildHasherDefault<Given>>;

/// An item that was entered.
struct Place {
    /// Where it stands in the column.
    at: usize,
    /// The place of the same hash that was entered before, plus 1; 0 if there is none.
    before: u32,
    mark: bool,
}

impl<'c> Seen<'c> {
    pub(super) fn new(column: &'c Column) -> Self {
        Self { column, keys: RandomState::new(), last: vec![ByHash::default()], places: Vec::new() }
    }

    /// Forgets all items.
    pub(super) fn clear(&mut self) {
        self.last.truncate(1);
        self.last[0].clear();
        self.places.clear();
    }

    /// The mark of the item at a position, and whether the item is new; it is entered then, without
    /// a mark.
    pub(super) fn mark(&mut self, at: usize) -> (&mut bool, bool) {
        let mut hasher = self.keys.build_hasher();
        self.column.feed_at(at, &mut hasher);
        let new = u32::try_from(self.places.len()).expect("lists are shorter than 2^32");
        if self.places.len() == LARGE && self.last.len() == 1 {
            self.deal_out();
        }
        let hash = hasher.finish();
        let map = map_of(hash, self.last.len());
        let before = match self.last[map].entry(hash) {
            Entry::Vacant(entry) => {
                entry.insert(new);
                0
            }
            Entry::Occupied(mut entry) => {
                let mut known = *entry.get() + 1;
                while known != 0 {
                    let place = &self.places[known as usize - 1];
                    if self.column.same_at(at, self.column, place.at) {
                        return (&mut self.places[known as usize - 1].mark, false);
                    }
                    known = place.before;
                }
                entry.insert(new) + 1
            }
        };
        self.places.push(Place { at, before, mark: false });
        (&mut self.places[new as usize].mark, true)
    }

    /// Deals the entries of the one map out to several.
    fn deal_out(&mut self) {
        let all = std::mem::take(&mut self.last[0]);
        self.last.resize_with(N_MAPS, ByHash::default);
        for (hash, place) in all {
            self.last[map_of(hash, N_MAPS)].insert(hash, place);
        }
    }
}

/// The map of a hash, by bits that maps themselves do not look at.
fn map_of(hash: u64, n_maps: usize) -> usize {
    (hash >> 40) as usize % n_maps
}

/// The hash of what is a hash already.
#[derive(Default)]
pub(super) struct Given(u64);

impl Hasher for Given {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
