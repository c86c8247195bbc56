//! The set of positions of dirty nodes, from which the lowest is taken first.
//!
//! It has three levels of bits; each bit of a level says whether a word of the level below is
//! nonzero. Marking a position and taking the lowest touch only a few words, whatever the number of
//! nodes.

/// A set of positions.
#[derive(Debug, Default)]
pub(super) struct Dirty {
    /// A bit per position.
    bits: Vec<u64>,
    /// A bit per word of `bits`.
    words: Vec<u64>,
    /// A bit per word of `words`.
    tops: Vec<u64>,
    /// The words of `tops` before this one are empty.
    first: usize,
}

impl Dirty {
    /// Makes room for positions below `n`.
    #[inline]
    pub(super) fn grow(&mut self, n: usize) {
        if n > self.bits.len() * 64 {
            let n = n.next_power_of_two().max(64);
            self.bits.resize(n.div_ceil(64), 0);
            self.words.resize(n.div_ceil(1 << 12), 0);
            self.tops.resize(n.div_ceil(1 << 18), 0);
        }
    }

    /// Bytes of the set.
    pub(super) fn bytes(&self) -> usize {
        (self.bits.capacity() + self.words.capacity() + self.tops.capacity()) * size_of::<u64>()
    }

    /// Adds a position.
    #[inline(always)]
    pub(super) fn mark(&mut self, at: usize) {
        self.put_word(at >> 6, 1 << (at & 63));
    }

    /// Adds positions. Neighbors are collected in a register, so that they need not wait for
    /// memory.
    #[inline(always)]
    pub(super) fn mark_all(&mut self, positions: impl Iterator<Item = usize>) {
        let (mut word, mut bits) = (0, 0);
        for position in positions {
            if position >> 6 != word {
                self.put_word(word, bits);
                (word, bits) = (position >> 6, 0);
            }
            bits |= 1 << (position & 63);
        }
        self.put_word(word, bits);
    }

    /// Removes a position.
    pub(super) fn unmark(&mut self, at: usize) {
        // `lowest_word` corrects the levels above.
        self.bits[at >> 6] &= !(1 << (at & 63));
    }

    /// All positions, ascending.
    pub(super) fn all(&self) -> Vec<usize> {
        let mut all = Vec::new();
        for (top, words) in self.tops.iter().enumerate().filter(|(_, words)| **words != 0) {
            for i in (0..64).filter(|i| words >> i & 1 != 0) {
                let of = top * 64 + i;
                for word in (0..64).filter(|j| self.words[of] >> j & 1 != 0).map(|j| of * 64 + j) {
                    let bits = self.bits[word];
                    all.extend((0..64).filter(|k| bits >> k & 1 != 0).map(|k| word << 6 | k));
                }
            }
        }
        all
    }

    /// As [`contains`](Self::contains), for a position that may be out of range.
    pub(super) fn has(&self, at: usize) -> bool {
        self.bits.get(at >> 6).is_some_and(|bits| bits & 1 << (at & 63) != 0)
    }

    /// Removes all positions.
    pub(super) fn clear(&mut self) {
        for position in self.all() {
            self.unmark(position);
        }
        self.words.fill(0);
        self.tops.fill(0);
    }

    /// Whether a position is in the set.
    pub(super) fn contains(&self, at: usize) -> bool {
        self.bits[at >> 6] & 1 << (at & 63) != 0
    }

    /// Whether the set is certainly empty; it also is if [`lowest_word`](Self::lowest_word) finds
    /// nothing.
    #[inline(always)]
    pub(super) fn is_known_empty(&self) -> bool {
        self.first >= self.tops.len()
    }

    /// The lowest word of 64 positions that may contain a position of the set.
    #[inline]
    pub(super) fn lowest_word(&mut self) -> Option<usize> {
        while let Some(top) = self.tops.get_mut(self.first) {
            if *top == 0 {
                self.first += 1;
                continue;
            }
            let i = self.first * 64 + top.trailing_zeros() as usize;
            let word = self.words[i];
            if word == 0 {
                *top &= *top - 1;
                continue;
            }
            return Some(i * 64 + word.trailing_zeros() as usize);
        }
        None
    }

    /// Removes and returns all positions of a word.
    #[inline(always)]
    pub(super) fn take_word(&mut self, word: usize) -> u64 {
        self.words[word >> 6] &= !(1 << (word & 63));
        std::mem::take(&mut self.bits[word])
    }

    /// Puts positions of a word back while others are marked, without the levels above;
    /// [`take_lent_word`](Self::take_lent_word) removes them again.
    #[inline(always)]
    pub(super) fn lend_word(&mut self, word: usize, bits: u64) {
        self.bits[word] = bits;
    }

    /// Removes and returns all positions of a word after [`lend_word`](Self::lend_word).
    #[inline(always)]
    pub(super) fn take_lent_word(&mut self, word: usize) -> u64 {
        std::mem::take(&mut self.bits[word])
    }

    /// Adds positions of a word.
    #[inline(always)]
    pub(super) fn put_word(&mut self, word: usize, bits: u64) {
        if bits == 0 {
            return;
        }
        if self.bits[word] == 0 {
            self.words[word >> 6] |= 1 << (word & 63);
            self.tops[word >> 12] |= 1 << (word >> 6 & 63);
            self.first = self.first.min(word >> 12);
        }
        self.bits[word] |= bits;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Removes and returns the lowest position.
    fn take_lowest(dirty: &mut Dirty) -> Option<usize> {
        loop {
            let word = dirty.lowest_word()?;
            let bits = dirty.take_word(word);
            if bits != 0 {
                dirty.put_word(word, bits & (bits - 1));
                return Some(word << 6 | bits.trailing_zeros() as usize);
            }
        }
    }

    #[test]
    fn it_is_a_sorted_set() {
        let mut state = 1_u64;
        let mut dirty = Dirty::default();
        dirty.grow(1_000_000);
        let mut model = BTreeSet::new();
        for _ in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (state >> 33) as usize % 1_000_000;
            match state >> 20 & 3 {
                0 => assert_eq!(take_lowest(&mut dirty), model.pop_first()),
                1 => {
                    let at = *model.first().unwrap_or(&at);
                    dirty.unmark(at);
                    model.remove(&at);
                }
                _ => {
                    dirty.mark(at);
                    model.insert(at);
                    assert!(dirty.contains(at));
                }
            }
        }
        assert!(model.iter().copied().eq(dirty.all()));
        while let Some(at) = take_lowest(&mut dirty) {
            assert_eq!(Some(at), model.pop_first());
        }
        assert!(model.is_empty());
    }
}
