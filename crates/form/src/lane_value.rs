//! The Rust types behind the lanes, and what each can do.

use millstream_base::Lane;
use millstream_base::num::Float;

use super::columns::Stored;
use super::truncate;

/// A value of one lane.
pub trait LaneValue: Copy + Default + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// The lane of this type.
    const LANE: Lane;

    /// The value as 64 bits: `bool` as 0 or 1, 32-bit types with zeros above.
    fn to_bits(self) -> u64;
    /// The value with these bits; what [`LaneValue::to_bits`] cannot give is cut to fit.
    fn from_bits(bits: u64) -> Self;
    /// Conversion to `bool`: whether the value is not zero.
    fn to_bool(self) -> bool;
    /// Conversion to `i32`, see [`super::Op::Convert`].
    fn to_i32(self) -> i32;
    /// Conversion to `i64`, see [`super::Op::Convert`].
    fn to_i64(self) -> i64;
    /// Conversion to `f32`, see [`super::Op::Convert`].
    fn to_f32(self) -> f32;
    /// Conversion to `f64`, see [`super::Op::Convert`].
    fn to_f64(self) -> f64;
}

macro_rules! lane_value {
    (
        $type:ident, $lane:ident, $zero:literal, |$x:ident| $to:expr, |$bits:ident| $from:expr,
        |$y:ident| $to_i32:expr, $to_i64:expr
    ) => {
        impl LaneValue for $type {
            const LANE: Lane = Lane::$lane;

            #[inline(always)]
            fn to_bits(self) -> u64 {
                let $x = self;
                $to
            }
            #[inline(always)]
            fn from_bits($bits: u64) -> Self {
                $from
            }
            #[inline(always)]
            fn to_bool(self) -> bool {
                self != $zero
            }
            #[inline(always)]
            fn to_i32(self) -> i32 {
                let $y = self;
                $to_i32
            }
            #[inline(always)]
            fn to_i64(self) -> i64 {
                let $y = self;
                $to_i64
            }
            #[inline(always)]
            fn to_f32(self) -> f32 {
                self as f32
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
        }
    };
}

lane_value!(i32, I32, 0, |x| u64::from(x as u32), |bits| bits as i32, |y| y, i64::from(y));
lane_value!(i64, I64, 0, |x| x as u64, |bits| bits as i64, |y| y as i32, y);
lane_value!(
    f32,
    F32,
    0.0,
    |x| u64::from(x.to_bits()),
    |bits| f32::from_bits(bits as u32),
    |y| truncate::f32_to_i32(y),
    truncate::f32_to_i64(y)
);
lane_value!(
    f64,
    F64,
    0.0,
    |x| x.to_bits(),
    |bits| f64::from_bits(bits),
    |y| truncate::f64_to_i32(y),
    truncate::f64_to_i64(y)
);

impl LaneValue for bool {
    const LANE: Lane = Lane::Bool;

    #[inline(always)]
    fn to_bits(self) -> u64 {
        u64::from(self)
    }
    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        bits & 1 != 0
    }
    #[inline(always)]
    fn to_bool(self) -> bool {
        self
    }
    #[inline(always)]
    fn to_i32(self) -> i32 {
        i32::from(self)
    }
    #[inline(always)]
    fn to_i64(self) -> i64 {
        i64::from(self)
    }
    #[inline(always)]
    fn to_f32(self) -> f32 {
        f32::from(u8::from(self))
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(u8::from(self))
    }
}

/// Bits of `lane`'s value with every NaN made the canonical one.
pub fn canonical_bits(lane: Lane, bits: u64) -> u64 {
    match lane {
        Lane::Bool => bool::from_bits(bits).to_bits(),
        Lane::I32 => i32::from_bits(bits).to_bits(),
        Lane::I64 => bits,
        Lane::F32 => LaneValue::to_bits(f32::canonical(LaneValue::from_bits(bits))),
        Lane::F64 => LaneValue::to_bits(f64::canonical(LaneValue::from_bits(bits))),
    }
}

/// A float lane, with the integer lane of the same bits.
pub(super) trait FloatLane: Stored + Float {
    /// The integer type of this width.
    type Bits: Stored;
    /// The bits, NaN being canonical.
    fn cast(self) -> Self::Bits;
    /// As the function of that name in `num`, by an instruction that not every machine has.
    fn native_floor(self) -> Self;
    /// As the function of that name in `num`, by an instruction that not every machine has.
    fn native_ceil(self) -> Self;
    /// As the function of that name in `num`, by an instruction that not every machine has.
    fn native_trunc(self) -> Self;
    /// As the function of that name in `num`, by an instruction that not every machine has.
    fn native_round_even(self) -> Self;
}

/// An integer lane: total, wrapping operations.
pub(super) trait IntegerLane: Stored + Ord {
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
