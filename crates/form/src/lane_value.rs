//! The Rust types of the lanes, their bits and conversions.

use millstream_base::Lane;
use millstream_base::num::Float;

use crate::truncate;

/// A value of one lane.
pub trait LaneValue: Copy + Default + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// The lane of this type.
    const LANE: Lane;

    /// The value as 64 bits: `bool` as 0 or 1, 32-bit types with zeros above.
    fn to_bits(self) -> u64;
    /// The value with these bits, without bits that no value of the type has.
    fn from_bits(bits: u64) -> Self;
    /// Conversion to `bool`: whether the value is not zero.
    fn to_bool(self) -> bool;
    /// Conversion to `i32`, see [`crate::Op::Convert`].
    fn to_i32(self) -> i32;
    /// Conversion to `i64`, see [`crate::Op::Convert`].
    fn to_i64(self) -> i64;
    /// Conversion to `f32`, see [`crate::Op::Convert`].
    fn to_f32(self) -> f32;
    /// Conversion to `f64`, see [`crate::Op::Convert`].
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

/// The bits of a value of `lane`, with the canonical NaN.
pub fn canonical_bits(lane: Lane, bits: u64) -> u64 {
    match lane {
        Lane::Bool => bool::from_bits(bits).to_bits(),
        Lane::I32 => i32::from_bits(bits).to_bits(),
        Lane::I64 => bits,
        Lane::F32 => LaneValue::to_bits(f32::canonical(LaneValue::from_bits(bits))),
        Lane::F64 => LaneValue::to_bits(f64::canonical(LaneValue::from_bits(bits))),
    }
}
