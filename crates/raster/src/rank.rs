//! Floats as integers in the same order, so that a maximum does not depend on the order of
//! comparisons.

use bytemuck::{Pod, Zeroable};

use crate::lanes::Cell;

/// The rank of a number: -0 is below 0, and NaN below everything. If `REVERSED`, the order is
/// reversed, but NaN is still the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub(crate) struct Rank<const REVERSED: bool>(pub(crate) i32);

impl<const REVERSED: bool> Rank<REVERSED> {
    /// The rank of NaN.
    pub(crate) const LOWEST: Self = Self(i32::MIN);
}

impl<const REVERSED: bool> Default for Rank<REVERSED> {
    fn default() -> Self {
        Self::LOWEST
    }
}

/// Converts between the bits of a number and its rank: the greater the magnitude of a negative
/// number, the lower its rank.
#[inline(always)]
fn ordered(bits: i32) -> i32 {
    bits ^ (bits >> 31 & i32::MAX)
}

impl<const REVERSED: bool> Cell for Rank<REVERSED> {
    #[inline(always)]
    fn read(channel: f32) -> Self {
        let place = ordered(channel.to_bits() as i32);
        let place = if REVERSED { !place } else { place };
        if channel.is_nan() { Self::LOWEST } else { Self(place) }
    }

    #[inline(always)]
    fn write(self) -> f32 {
        let place = if REVERSED { !self.0 } else { self.0 };
        let number = f32::from_bits(ordered(place) as u32);
        if self == Self::LOWEST { f32::NAN } else { number }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_have_the_order_of_numbers() {
        let numbers =
            [f32::NEG_INFINITY, -2.0, -1e-40, -0.0, 0.0, 1e-40, 1.0, f32::MAX, f32::INFINITY];
        for (i, a) in numbers.iter().enumerate() {
            assert_eq!(Rank::<false>::read(*a).write().to_bits(), a.to_bits());
            assert_eq!(Rank::<true>::read(*a).write().to_bits(), a.to_bits());
            assert!(Rank::<false>::read(*a).0 > Rank::<false>::LOWEST.0);
            assert!(Rank::<true>::read(*a).0 > Rank::<true>::LOWEST.0);
            for b in &numbers[..i] {
                assert!(Rank::<false>::read(*a).0 > Rank::<false>::read(*b).0);
                assert!(Rank::<true>::read(*a).0 < Rank::<true>::read(*b).0);
            }
        }
        assert!(Rank::<false>::read(-f32::NAN).write().is_nan());
        assert!(Rank::<true>::read(f32::NAN).write().is_nan());
    }
}
