//! Sameness: equality and hashing of bits, with all NaNs as one value.
//!
//! Early cutoff, the memo, merging of duplicates and the agreement suite all compare values by this
//! trait: `+0.0` and `-0.0` differ, and any NaN equals any other.

use std::hash::Hasher;

/// Bitwise equality, with all NaNs equal.
pub trait Same {
    /// Whether the two are the same value.
    fn same(&self, other: &Self) -> bool;
    /// Feeds the value to a hasher, consistently with [`same`](Self::same).
    fn feed(&self, state: &mut dyn Hasher);
}

/// The bits of an `f32`, with one pattern for every NaN.
#[inline]
pub fn bits_f32(x: f32) -> u32 {
    if x.is_nan() { 0x7fc0_0000 } else { x.to_bits() }
}

/// The bits of an `f64`, with one pattern for every NaN.
#[inline]
pub fn bits_f64(x: f64) -> u64 {
    if x.is_nan() { 0x7ff8_0000_0000_0000 } else { x.to_bits() }
}

impl Same for f32 {
    #[inline]
    fn same(&self, other: &Self) -> bool {
        bits_f32(*self) == bits_f32(*other)
    }
    fn feed(&self, state: &mut dyn Hasher) {
        state.write_u32(bits_f32(*self));
    }
}

impl Same for f64 {
    #[inline]
    fn same(&self, other: &Self) -> bool {
        bits_f64(*self) == bits_f64(*other)
    }
    fn feed(&self, state: &mut dyn Hasher) {
        state.write_u64(bits_f64(*self));
    }
}

macro_rules! exact {
    ($($ty:ty => $write:ident as $as:ty),*) => {$(
        impl Same for $ty {
            #[inline]
            fn same(&self, other: &Self) -> bool {
                self == other
            }
            fn feed(&self, state: &mut dyn Hasher) {
                state.$write(*self as $as);
            }
        }
    )*};
}
exact!(bool => write_u8 as u8, i32 => write_u32 as u32, i64 => write_u64 as u64);

impl<const N: usize> Same for [f32; N] {
    fn same(&self, other: &Self) -> bool {
        self.iter().zip(other).all(|(a, b)| a.same(b))
    }
    fn feed(&self, state: &mut dyn Hasher) {
        for lane in self {
            lane.feed(state);
        }
    }
}

macro_rules! of_lanes {
    ($($ty:ty),*) => {$(
        impl Same for $ty {
            fn same(&self, other: &Self) -> bool {
                self.0.same(&other.0)
            }
            fn feed(&self, state: &mut dyn Hasher) {
                self.0.feed(state);
            }
        }
    )*};
}
of_lanes!(
    crate::vector::Vec2,
    crate::vector::Vec3,
    crate::vector::Vec4,
    crate::vector::Quat,
    crate::vector::Color,
    crate::vector::Mat4
);

impl Same for std::sync::Arc<str> {
    fn same(&self, other: &Self) -> bool {
        self == other
    }
    fn feed(&self, state: &mut dyn Hasher) {
        state.write_usize(self.len());
        state.write(self.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nans_are_one_value_and_zeros_are_two() {
        assert!(f32::NAN.same(&-f32::NAN));
        assert!(!0.0_f32.same(&-0.0));
        assert!([1.0_f32, f32::NAN].same(&[1.0, f32::from_bits(0x7fc0_0001)]));
    }
}
