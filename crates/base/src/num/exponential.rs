//! Powers of e and 2, and the hyperbolic functions built on them.
//!
//! `e^x = 2^n e^r` with `n` the integer nearest to `x / ln 2`; `ln 2` is subtracted in two parts,
//! of which `n` times the first is exact (W. J. Cody, W. Waite, "Software Manual for the Elementary
//! Functions", 1980, chapter 6).

use super::constants::{EXP, EXP_F32, EXP_SHORT, EXP2_F32, LN_2, LN_2_26, LN_2_F32, SINH};
use super::exact::{
    SHIFT_F32, head, nearest, ordered_sum, pick, polynomial, polynomial_f32, power_of_two, scale,
    sum,
};

/// `value` clamped to the bounds; NaN stays NaN.
#[inline(always)]
fn clamp(value: f64, low: f64, high: f64) -> f64 {
    let value = pick(value > high, high, value);
    pick(value < low, low, value)
}

/// `r`, `t` and `n` with `e^(x + low) = 2^n (1 + r + t)`, where `t` is the smaller part.
#[inline(always)]
fn parts(x: f64, low: f64) -> (f64, f64, f64) {
    let (n, _) = nearest(x * std::f64::consts::LOG2_E);
    let far = x - n * LN_2[0];
    let near = n * LN_2[1] - low;
    let r = far - near;
    (r, tail(r, (far - r) - near), n)
}

/// `e^(r + low) - 1 - r`.
#[inline(always)]
fn tail(r: f64, low: f64) -> f64 {
    r * r * polynomial(r, &EXP) + (low + low * r)
}

/// `e^(x + low)`; see [`super::pow`].
#[inline(always)]
pub(super) fn exp_of_sum(x: f64, low: f64) -> f64 {
    let within = (x < 710.0) & (x > -746.0);
    let (r, t, n) = parts(clamp(x, -746.0, 710.0), pick(within, low, 0.0));
    scale(1.0 + (r + t), n)
}

#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    let (r, t, n) = parts(clamp(x, -746.0, 710.0), 0.0);
    scale(1.0 + (r + t), n)
}

/// The sum of a number and this constant has an integer plus twice the exponent bias in its lowest
/// bits.
const SHIFT_TWICE_BIASED: f32 = SHIFT_F32 + 254.0;

#[inline(always)]
pub(super) fn exp_f32(x: f32) -> f32 {
    let x = pick(x > 89.0, 89.0, x);
    let x = pick(x < -104.0, -104.0, x);
    let shifted = x * std::f32::consts::LOG2_E + SHIFT_TWICE_BIASED;
    let n = shifted - SHIFT_TWICE_BIASED;
    let far = x - n * LN_2_F32[0];
    let near = n * LN_2_F32[1];
    let r = far - near;
    let low = (far - r) - near;
    let power = 1.0 + (r + (r * r * polynomial_f32(r, &EXP_F32) + low));
    // The powers for both halves of `n`, whose biased exponents are in the lowest bits.
    let bits = shifted.to_bits();
    let half = bits >> 1;
    power * f32::from_bits(half << 23) * f32::from_bits((bits - half) << 23)
}

/// As an `f64` accurate to about 33 bits.
#[inline(always)]
pub(super) fn exp_short(x: f64) -> f64 {
    let x = clamp(x, -110.0, 100.0);
    let (n, _) = nearest(x * std::f64::consts::LOG2_E);
    let r = x - n * std::f64::consts::LN_2;
    (1.0 + (r + r * r * polynomial(r, &EXP_SHORT))) * power_of_two(n)
}

#[inline(always)]
pub(super) fn exp2(x: f64) -> f64 {
    let x = clamp(x, -1080.0, 1025.0);
    let (n, _) = nearest(x);
    let r = x - n;
    let r_head = head(r);
    let far = r_head * LN_2_26[0];
    let near = r * LN_2_26[1] + (r - r_head) * LN_2_26[0];
    let power = far + near;
    let t = tail(power, (far - power) + near);
    scale(1.0 + (power + t), n)
}

#[inline(always)]
pub(super) fn exp2_f32(x: f32) -> f32 {
    let x = clamp(f64::from(x), -160.0, 130.0);
    let (n, _) = nearest(x);
    let r = x - n;
    ((1.0 + r * polynomial(r, &EXP2_F32)) * power_of_two(n)) as f32
}

#[inline(always)]
pub(super) fn exp_m1(x: f64) -> f64 {
    let (r, t, n) = parts(clamp(x, -50.0, 710.0), 0.0);
    let whole = 1.0 - power_of_two(pick(n > 60.0, -60.0, -n));
    let (near, error) = sum(whole, r);
    let result = scale(near + (error + t), n);
    pick(x == 0.0, x, result)
}

/// `h`, `l`, `n`, `q` with `e^x / 2 = 2^n (h + l)` and `e^-x / 2 = 2^n q`, for `x` from 0 to 712.
#[inline(always)]
fn halves(x: f64) -> (f64, f64, f64, f64) {
    let (r, t, n) = parts(x, 0.0);
    let (near, error) = ordered_sum(1.0, r);
    let (high, low) = ordered_sum(near, error + t);
    let back = power_of_two(pick(n > 40.0, -80.0, -2.0 * n));
    (0.5 * high, 0.5 * low, n, 0.5 * back / high)
}

#[inline(always)]
pub(super) fn sinh(x: f64) -> f64 {
    let a = x.abs();
    let z = a * a;
    let small = a + a * z * polynomial(z, &SINH);
    let (high, low, n, back) = halves(clamp(a, 0.0, 712.0));
    let (near, error) = ordered_sum(high, -back);
    let large = scale(near + (error + low), n);
    pick(a < 1.0, small, large).copysign(x)
}

#[inline(always)]
pub(super) fn cosh(x: f64) -> f64 {
    let (high, low, n, back) = halves(clamp(x.abs(), 0.0, 712.0));
    let (near, error) = ordered_sum(high, back);
    scale(near + (error + low), n)
}

#[inline(always)]
pub(super) fn tanh(x: f64) -> f64 {
    let grown = exp_m1(2.0 * clamp(x.abs(), 0.0, 22.0));
    (grown / (grown + 2.0)).copysign(x)
}
