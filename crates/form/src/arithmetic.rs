//! The arithmetic of integer and float lanes, in terms of which the table of operations is written.

use millstream_base::num::Float;

use crate::storage::Stored;

/// A float lane, with the integer lane of the same bits.
pub(crate) trait FloatLane: Stored + Float {
    /// The integer type of this width.
    type Bits: Stored;
    /// The bits, with the canonical NaN.
    fn cast(self) -> Self::Bits;
    /// Like the function of that name in `num`, by an instruction that not every machine has.
    fn native_floor(self) -> Self;
    /// Like the function of that name in `num`, by an instruction that not every machine has.
    fn native_ceil(self) -> Self;
    /// Like the function of that name in `num`, by an instruction that not every machine has.
    fn native_trunc(self) -> Self;
    /// Like the function of that name in `num`, by an instruction that not every machine has.
    fn native_round_even(self) -> Self;
}

/// An integer lane, with total, wrapping operations.
pub(crate) trait IntegerLane: Stored + Ord {
    /// The float type of this width.
    type Float: Stored;
    fn cast(self) -> Self::Float;
    fn add(self, b: Self) -> Self;
    fn sub(self, b: Self) -> Self;
    fn mul(self, b: Self) -> Self;
    fn div(self, b: Self) -> Self;
    fn rem(self, b: Self) -> Self;
    fn rem_euclid(self, b: Self) -> Self;
    fn neg(self) -> Self;
    fn abs(self) -> Self;
    fn sign(self) -> Self;
    fn and(self, b: Self) -> Self;
    fn or(self, b: Self) -> Self;
    fn xor(self, b: Self) -> Self;
    fn not(self) -> Self;
    fn shl(self, b: Self) -> Self;
    fn shr(self, b: Self) -> Self;
    fn ushr(self, b: Self) -> Self;
    fn ones(self) -> Self;
    fn leading(self) -> Self;
    fn trailing(self) -> Self;
}

/// Whether two operands are equal or unordered, so that the result of [`num::min`] depends on the
/// signs of zeros and on which operand is NaN.
///
/// [`num::min`]: millstream_base::num::min
#[inline(always)]
#[expect(clippy::needless_bitwise_bool, reason = "two comparisons become one instruction")]
pub(crate) fn is_tie<T: Float>(a: T, b: T) -> bool {
    !((a < b) | (b < a))
}

macro_rules! integer_lane {
    ($int:ident, $uint:ident, $float:ident) => {
        impl FloatLane for $float {
            type Bits = $int;

            #[inline(always)]
            fn cast(self) -> $int {
                $float::to_bits($float::canonical(self)) as $int
            }
            #[inline(always)]
            fn native_floor(self) -> Self {
                self.floor()
            }
            #[inline(always)]
            fn native_ceil(self) -> Self {
                self.ceil()
            }
            #[inline(always)]
            fn native_trunc(self) -> Self {
                self.trunc()
            }
            #[inline(always)]
            fn native_round_even(self) -> Self {
                self.round_ties_even()
            }
        }

        impl IntegerLane for $int {
            type Float = $float;

            #[inline(always)]
            fn cast(self) -> $float {
                $float::from_bits(self as $uint)
            }
            #[inline(always)]
            fn div(self, b: Self) -> Self {
                if b == 0 { 0 } else { self.wrapping_div(b) }
            }
            #[inline(always)]
            fn rem(self, b: Self) -> Self {
                if b == 0 { 0 } else { self.wrapping_rem(b) }
            }
            #[inline(always)]
            fn rem_euclid(self, b: Self) -> Self {
                if b == 0 { 0 } else { self.wrapping_rem_euclid(b) }
            }
            #[inline(always)]
            fn add(self, b: Self) -> Self {
                self.wrapping_add(b)
            }
            #[inline(always)]
            fn sub(self, b: Self) -> Self {
                self.wrapping_sub(b)
            }
            #[inline(always)]
            fn mul(self, b: Self) -> Self {
                self.wrapping_mul(b)
            }
            #[inline(always)]
            fn neg(self) -> Self {
                self.wrapping_neg()
            }
            #[inline(always)]
            fn abs(self) -> Self {
                self.wrapping_abs()
            }
            #[inline(always)]
            fn sign(self) -> Self {
                self.signum()
            }
            #[inline(always)]
            fn and(self, b: Self) -> Self {
                self & b
            }
            #[inline(always)]
            fn or(self, b: Self) -> Self {
                self | b
            }
            #[inline(always)]
            fn xor(self, b: Self) -> Self {
                self ^ b
            }
            #[inline(always)]
            fn not(self) -> Self {
                !self
            }
            #[inline(always)]
            fn shl(self, b: Self) -> Self {
                self.wrapping_shl(b as u32)
            }
            #[inline(always)]
            fn shr(self, b: Self) -> Self {
                self.wrapping_shr(b as u32)
            }
            #[inline(always)]
            fn ushr(self, b: Self) -> Self {
                (self as $uint).wrapping_shr(b as u32) as Self
            }
            #[inline(always)]
            fn ones(self) -> Self {
                self.count_ones() as Self
            }
            #[inline(always)]
            fn leading(self) -> Self {
                self.leading_zeros() as Self
            }
            #[inline(always)]
            fn trailing(self) -> Self {
                self.trailing_zeros() as Self
            }
        }
    };
}

integer_lane!(i32, u32, f32);
integer_lane!(i64, u64, f64);
