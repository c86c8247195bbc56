//! Rows of columns that were seen before, found by a hash of their bits.
//!
//! Hashes are products with randomly drawn keys, so that nobody can construct a column whose rows
//! all collide. No result depends on the keys.

use std::hash::{BuildHasher, Hasher, RandomState};

use millstream_base::Column;

/// The keys of a hash.
#[derive(Clone, Copy)]
pub(crate) struct Keys([u64; 2]);

impl Keys {
    pub(crate) fn new() -> Self {
        let random = RandomState::new();
        Self([random.hash_one(0), random.hash_one(1) | 1])
    }

    /// A hash of one row of some columns; rows with the same bits have the same hash.
    pub(crate) fn of_row<'c>(
        self,
        columns: impl IntoIterator<Item = &'c Column>,
        row: usize,
    ) -> u64 {
        let mut hash = Hash { keys: self, state: 0 };
        for column in columns {
            column.feed_at(row, &mut hash);
        }
        hash.finish()
    }
}

/// A hash in progress.
struct Hash {
    keys: Keys,
    state: u64,
}

impl Hasher for Hash {
    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            self.write_u64(u64::from_le_bytes(word.try_into().expect("it has 8 bytes")));
        }
        let rest = words.remainder();
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, word: u8) {
        self.write_u64(word.into());
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_u64(&mut self, word: u64) {
        self.state = folded(self.state ^ word ^ self.keys.0[0], self.keys.0[1]);
    }

    fn finish(&self) -> u64 {
        folded(self.state ^ self.keys.0[1], self.keys.0[0] | 1)
    }
}

/// The two halves of a product as one word.
fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// The logarithm to base 2 of the number of slots of an empty table.
const FEWEST: u32 = 6;

/// Indices of entries, found by hash.
///
/// A slot holds the upper half of a hash and, below it, an index plus 1; 0 marks an empty slot. An
/// entry whose slot is taken is in the next free one. The upper bits of a hash select its slot, so
/// that growing the table visits it in order.
pub(crate) struct ByHash {
    slots: Vec<u64>,
    bits: u32,
    n: usize,
}

impl ByHash {
    pub(crate) fn new() -> Self {
        Self { slots: vec![0; 1 << FEWEST], bits: FEWEST, n: 0 }
    }

    /// Removes all entries.
    pub(crate) fn clear(&mut self) {
        // The table keeps only as many slots as its entries needed, so that many short lists after
        // a long one are fast.
        while self.bits > FEWEST && self.slots.len() > 4 * self.n {
            self.bits -= 1;
            self.slots.truncate(1 << self.bits);
        }
        self.slots.fill(0);
        self.n = 0;
    }

    /// The index of the entry with this hash that `is_it` accepts.
    pub(crate) fn find(&self, hash: u64, is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        self.look_up(hash, is_it).ok()
    }

    /// The index of the entry with this hash that `is_it` accepts; if there is none, `new` is
    /// entered.
    pub(crate) fn find_or_enter(
        &mut self,
        hash: u64,
        new: u32,
        is_it: impl FnMut(u32) -> bool,
    ) -> Option<u32> {
        let slot = match self.look_up(hash, is_it) {
            Ok(number) => return Some(number),
            Err(slot) => slot,
        };
        self.slots[slot] = (hash & UPPER) | u64::from(new.checked_add(1).expect("there are fewer"));
        self.n += 1;
        if self.n * 8 > self.slots.len() * 5 {
            self.grow();
        }
        None
    }

    /// The index, or the free slot where the search ended.
    fn look_up(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Result<u32, usize> {
        let mut slot = self.slot(hash);
        loop {
            let held = self.slots[slot];
            if held == 0 {
                return Err(slot);
            }
            let number = (held as u32).wrapping_sub(1);
            if (held ^ hash) & UPPER == 0 && is_it(number) {
                return Ok(number);
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }

    fn slot(&self, hash: u64) -> usize {
        (hash >> (u64::BITS - self.bits)) as usize
    }

    fn grow(&mut self) {
        self.bits += 1;
        let old = std::mem::replace(&mut self.slots, vec![0; 1 << self.bits]);
        for held in old.into_iter().filter(|held| *held != 0) {
            let mut slot = self.slot(held);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & (self.slots.len() - 1);
            }
            self.slots[slot] = held;
        }
    }
}

/// The half of a hash that is stored in a slot.
const UPPER: u64 = 0xffff_ffff_0000_0000;

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::{ByHash, Keys};
    use millstream_base::Column;

    #[test]
    fn entries_are_found_whatever_their_hash() {
        let hashes: [fn(u64) -> u64; 4] = [
            |i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            |i| i,
            |_| u64::MAX,
            |i| i << 40 | 0xffff_ff00_0000_0000,
        ];
        for (way, hash) in hashes.into_iter().enumerate() {
            let n = if way == 0 { 100_000 } else { 300 };
            let (mut table, mut known) = (ByHash::new(), HashMap::new());
            for round in 0..2 {
                for number in 0..n {
                    let item = u64::from(number) % 70_001 + round;
                    let found =
                        table.find_or_enter(hash(item), number, |other| known[&other] == item);
                    assert_eq!(found.is_none(), u64::from(number) < 70_001, "{way} {number}");
                    if found.is_none() {
                        known.insert(number, item);
                    }
                }
                assert!(table.find(hash(1 << 30), |other| known[&other] == 1 << 30).is_none());
                table.clear();
                known.clear();
                assert!(table.find(hash(1), |_| true).is_none());
            }
        }
    }

    #[test]
    fn rows_with_the_same_bits_have_the_same_hash() {
        let keys = Keys::new();
        let floats: Column = vec![0.0_f64, -0.0, f64::NAN, -f64::NAN, 0.0].into_iter().collect();
        let texts: Column = ["a", "a\0", "longer than a word", "longer than a worm", "a"]
            .map(std::sync::Arc::<str>::from)
            .into_iter()
            .collect();
        let hash = |column: &Column, row| keys.of_row([column], row);
        assert_eq!(hash(&floats, 0), hash(&floats, 4));
        assert_eq!(hash(&floats, 2), hash(&floats, 3));
        assert_ne!(hash(&floats, 0), hash(&floats, 1));
        assert_eq!(hash(&texts, 0), hash(&texts, 4));
        assert_ne!(hash(&texts, 0), hash(&texts, 1));
        assert_ne!(hash(&texts, 2), hash(&texts, 3));
        assert_ne!(keys.of_row([&floats, &texts], 0), keys.of_row([&floats, &texts], 1));
        assert_eq!(keys.of_row([&floats, &texts], 0), keys.of_row([&floats, &texts], 4));
    }
}
