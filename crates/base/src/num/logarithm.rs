//! Logarithms, and the inverse hyperbolic functions built on them.
//!
//! `x = 2^e (1 + f)` with `1 + f` from the root of 1/2 to that of 2. With `s = f / (2 + f)`, the
//! logarithm of `1 + f` is `2 atanh s`, a series that converges quickly. `2 s` is written as `f -
//! f^2 / 2 + s f^2 / 2`, whose first term is exact (the decomposition of the logarithm in FreeBSD's
//! math library, by K. C. Ng).

use super::constants::{LN, LN_2, LN_2_F32, LN_F32, LN_SHORT, LOG2_E, LOG10_2, LOG10_E};
use super::exact::{ordered_sum, pick, polynomial, polynomial_f32, sum};

/// Bits of the root of 1/2.
const ROOT_BITS: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
/// The number 1023 in the exponent field.
const ONE_BITS: u64 = 1023 << 52;

/// `e` and `f` of a positive, normal, finite value; unspecified for others, but does not trap.
#[inline(always)]
pub(super) fn split_normal(x: f64) -> (f64, f64) {
    let bits = x.to_bits();
    let biased = bits.wrapping_sub(ROOT_BITS).wrapping_add(ONE_BITS) >> 52;
    let f = f64::from_bits(bits.wrapping_sub(biased << 52).wrapping_add(ONE_BITS)) - 1.0;
    // `e` in the lowest bits of 2^52.
    let e = f64::from_bits(biased | 0x4330_0000_0000_0000) - (4_503_599_627_370_496.0 + 1023.0);
    (e, f)
}

/// `e` and `f` of a positive, finite value; unspecified for others, but does not trap.
#[inline(always)]
pub(super) fn split(x: f64) -> (f64, f64) {
    let small = x < f64::MIN_POSITIVE;
    let (e, f) = split_normal(pick(small, x * 18_014_398_509_481_984.0, x));
    (pick(small, e - 54.0, e), f)
}

/// `result` where `x` has a finite logarithm, otherwise the limit or NaN.
#[inline(always)]
fn with_limits(x: f64, result: f64) -> f64 {
    let result = pick(x == f64::INFINITY, x, result);
    let result = pick(x == 0.0, f64::NEG_INFINITY, result);
    pick((x < 0.0) | x.is_nan(), f64::NAN, result)
}

/// `f^2 / 2` and `s (f^2 / 2 + R)`: `ln(1 + f)` is `f` minus the first plus the second.
#[inline(always)]
fn terms(f: f64) -> (f64, f64) {
    let half_square = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    (half_square, s * (half_square + z * polynomial(z, &LN)))
}

#[inline(always)]
pub(super) fn ln(x: f64) -> f64 {
    let (e, f) = split(x);
    let (square, rest) = terms(f);
    with_limits(x, e * LN_2[0] - ((square - (rest + e * LN_2[1])) - f))
}

/// As an `f64` accurate to about 30 bits, for values that are 0 or normal.
#[inline(always)]
fn ln_short(x: f64) -> (f64, f64) {
    let (e, f) = split_normal(x);
    (e, f + f * f * polynomial(f, &LN_SHORT))
}

#[inline(always)]
pub(super) fn ln_f32(x: f32) -> f32 {
    const ROOT_BITS: u32 = std::f32::consts::FRAC_1_SQRT_2.to_bits();
    const ONE_BITS: u32 = 127 << 23;
    let small = x < f32::MIN_POSITIVE;
    let bits = pick(small, x * 8_388_608.0, x).to_bits();
    let biased = bits.wrapping_sub(ROOT_BITS).wrapping_add(ONE_BITS) >> 23;
    let f = f32::from_bits(bits.wrapping_sub(biased << 23).wrapping_add(ONE_BITS)) - 1.0;
    // `e` in the lowest bits of 2^23.
    let e = f32::from_bits(biased | 0x4B00_0000) - (8_388_608.0 + 127.0);
    let e = pick(small, e - 23.0, e);
    let square = f * f;
    let rest = square * f * polynomial_f32(f, &LN_F32) + e * LN_2_F32[1];
    let result = e * LN_2_F32[0] + (f - (0.5 * square - rest));
    let result = pick(x == f32::INFINITY, x, result);
    let result = pick(x == 0.0, f32::NEG_INFINITY, result);
    pick((x < 0.0) | x.is_nan(), f32::NAN, result)
}

#[inline(always)]
pub(super) fn log2_f32(x: f32) -> f32 {
    let x = f64::from(x);
    let (e, ln) = ln_short(x);
    with_limits(x, e + ln * std::f64::consts::LOG2_E) as f32
}

#[inline(always)]
pub(super) fn log10_f32(x: f32) -> f32 {
    let x = f64::from(x);
    let (e, ln) = ln_short(x);
    with_limits(x, e * std::f64::consts::LOG10_2 + ln * std::f64::consts::LOG10_E) as f32
}

/// `ln(1 + f)` in two parts, the first of at most 21 bits.
#[inline(always)]
fn ln_in_parts(f: f64) -> (f64, f64) {
    let (square, rest) = terms(f);
    let high = f64::from_bits((f - square).to_bits() & 0xFFFF_FFFF_0000_0000);
    (high, ((f - high) - square) + rest)
}

#[inline(always)]
pub(super) fn log2(x: f64) -> f64 {
    let (e, f) = split(x);
    let (high, low) = ln_in_parts(f);
    let (near, error) = sum(e, high * LOG2_E[0]);
    with_limits(x, near + (error + ((low + high) * LOG2_E[1] + low * LOG2_E[0])))
}

#[inline(always)]
pub(super) fn log10(x: f64) -> f64 {
    let (e, f) = split(x);
    let (high, low) = ln_in_parts(f);
    let (near, error) = sum(e * LOG10_2[0], high * LOG10_E[0]);
    let low = (low + high) * LOG10_E[1] + low * LOG10_E[0] + e * LOG10_2[1];
    with_limits(x, near + (error + low))
}

/// `ln(1 + x + low)` for `x` from -1 upwards.
#[inline(always)]
fn ln_1p_of_sum(x: f64, low: f64) -> f64 {
    let (whole, error) = sum(1.0, x);
    let (e, f) = split_normal(whole);
    let (square, rest) = terms(f);
    let correction = (error + low) / whole;
    e * LN_2[0] - ((square - (rest + (e * LN_2[1] + correction))) - f)
}

#[inline(always)]
pub(super) fn ln_1p(x: f64) -> f64 {
    let result = ln_1p_of_sum(x, 0.0);
    let result = pick(x == f64::INFINITY, x, result);
    let result = pick(x == -1.0, f64::NEG_INFINITY, result);
    let result = pick((x < -1.0) | x.is_nan(), f64::NAN, result);
    pick(x == 0.0, x, result)
}

/// `ln(2 x)` for large `x`.
#[inline(always)]
fn ln_of_double(x: f64) -> f64 {
    let (e, f) = split_normal(x);
    let (square, rest) = terms(f);
    let e = e + 1.0;
    let result = e * LN_2[0] - ((square - (rest + e * LN_2[1])) - f);
    pick(x == f64::INFINITY, x, result)
}

/// From this value on, `x^2 + 1` rounds to `x^2`.
const LARGE: f64 = 134_217_728.0;

#[inline(always)]
pub(super) fn asinh(x: f64) -> f64 {
    let a = x.abs();
    let square = a * a;
    let more = square / (1.0 + (1.0 + square).sqrt());
    let (near, error) = sum(a, more);
    let result = pick(a < LARGE, ln_1p_of_sum(near, error), ln_of_double(a));
    pick(a.is_nan(), a, result).copysign(x)
}

#[inline(always)]
pub(super) fn acosh(x: f64) -> f64 {
    let t = x - 1.0;
    let (near, error) = sum(t, (2.0 * t + t * t).sqrt());
    let result = pick(x < LARGE, ln_1p_of_sum(near, error), ln_of_double(x));
    pick((x < 1.0) | x.is_nan(), f64::NAN, result)
}

#[inline(always)]
pub(super) fn atanh(x: f64) -> f64 {
    let a = x.abs();
    let (near, error) = ordered_sum(2.0 * a, 2.0 * a * a / (1.0 - a));
    let result = 0.5 * ln_1p_of_sum(near, error);
    let result = pick(a == 1.0, f64::INFINITY, result);
    let result = pick(a > 1.0, f64::NAN, result);
    pick(a < 1e-9, a, result).copysign(x)
}
