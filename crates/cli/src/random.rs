//! Pseudorandom numbers, the same in every run.

/// A generator; its seed must not be zero.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// The next 64 bits; the upper ones are the most random.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.bits() >> 33) as usize % n
    }
}
