//! Sine, cosine and tangent.
//!
//! Multiples of pi / 2 are subtracted in parts whose products with an integer are exact (W. J.
//! Cody, W. Waite, as in `exponential`). Sine and cosine of f32 count in half turns, with 1 / pi in
//! two parts. Larger angles are reduced with integers ([`reduce`]). A loop over a column computes
//! those in a second pass, so the loop itself has no branches.

use super::constants::{COS, FRAC_1_PI_F32, FRAC_PI_2, FRAC_PI_2_F32, SIN, SIN_F32, TWO_OVER_PI};
use super::exact::{nearest, ordered_sum, pick, polynomial, power_of_two, product, sum};

/// From this angle on, the reduction takes the rare path: slightly below 2^20 multiples of pi / 2.
const LARGE: f64 = 1_600_000.0;
/// The same for f32: here the error of `FRAC_1_PI_F32[0]` amounts to 0.0019 of a half turn.
const LARGE_F32: f32 = 2_600_000.0;

#[inline(always)]
pub(super) fn is_rare(x: f64) -> bool {
    (x.abs() > LARGE) & (x.abs() < f64::INFINITY)
}

#[inline(always)]
pub(super) fn is_rare_f32(x: f32) -> bool {
    (x.abs() > LARGE_F32) & (x.abs() < f32::INFINITY)
}

/// An angle as `quarters` of a turn, of which only the lowest two bits matter, and a remainder in
/// two parts.
#[derive(Clone, Copy)]
struct Angle {
    quarters: u64,
    rest: f64,
    low: f64,
}

#[inline(always)]
fn reduce_usual(x: f64) -> Angle {
    let (n, quarters) = nearest(x * std::f64::consts::FRAC_2_PI);
    let (near, error) = sum(x - n * FRAC_PI_2[0], -(n * FRAC_PI_2[1]));
    let (near, error_2) = sum(near, -(n * FRAC_PI_2[2]));
    let (rest, low) = ordered_sum(near, (error + error_2) - n * FRAC_PI_2[3]);
    Angle { quarters, rest, low }
}

/// 64 bits of 2 / pi from position `skipped` after the binary point; negative positions hold zeros.
fn window(skipped: usize) -> u64 {
    let word = |i: usize| if i == 0 { 0 } else { TWO_OVER_PI[i - 1] };
    let (index, shift) = (skipped / 64, skipped % 64);
    if shift == 0 { word(index) } else { word(index) << shift | word(index + 1) >> (64 - shift) }
}

/// Multiplies the angle by the bits of 2 / pi that determine the quarter turn and the remainder (M.
/// Payne, R. Hanek, "Radian reduction for trigonometric functions", SIGNUM 18, 1983).
///
/// For finite angles from 2^19 on.
fn reduce(x: f64) -> Angle {
    let bits = x.abs().to_bits();
    let mantissa = u128::from(bits & ((1 << 52) - 1) | 1 << 52);
    let exponent = (bits >> 52) as i32 - 1075;
    // Bits that contribute only whole turns are skipped: the product is computed modulo 4 quarters.
    let skipped = (exponent - 2 + 64) as usize;
    let low = mantissa * u128::from(window(skipped + 128));
    let middle = mantissa * u128::from(window(skipped + 64)) + (low >> 64);
    let high = mantissa * u128::from(window(skipped)) + (middle >> 64);
    let quarters = (high as u64) >> 62;
    // The fraction of a quarter: 190 bits from the top of three words.
    let above =
        ((high << 64) | (middle & u128::from(u64::MAX))) << 2 | u128::from(low as u64 >> 62);
    let below = (low as u64) << 2;
    let up = above >> 127 == 1;
    let (above, below) = if up { negative(above, below) } else { (above, below) };
    let zeros = above.leading_zeros();
    let digits = if zeros == 0 {
        above
    } else {
        above << zeros | u128::from(below) >> 64_u32.saturating_sub(zeros)
    };
    let high_part = (digits >> 75) as u64;
    let low_part = (digits >> 22) as u64 & ((1 << 53) - 1);
    let size = power_of_two(-f64::from(zeros));
    let turn = high_part as f64 * power_of_two(-53.0) * size;
    let turn_low = low_part as f64 * power_of_two(-106.0) * size;
    let (rest, rest_low) = product(turn, std::f64::consts::FRAC_PI_2);
    let rest_low =
        rest_low + turn * super::constants::FRAC_PI_2_LOW + turn_low * std::f64::consts::FRAC_PI_2;
    let (rest, low) = ordered_sum(rest, rest_low);
    let (rest, low) = if up { (-rest, -low) } else { (rest, low) };
    let quarters = quarters + u64::from(up);
    if x < 0.0 {
        Angle { quarters: quarters.wrapping_neg(), rest: -rest, low: -low }
    } else {
        Angle { quarters, rest, low }
    }
}

/// Two's complement of both words.
fn negative(above: u128, below: u64) -> (u128, u64) {
    let (below, carry) = (!below).overflowing_add(1);
    ((!above).wrapping_add(u128::from(carry)), below)
}

/// The sine of the remainder, in two parts.
#[inline(always)]
fn sin_rest(angle: Angle) -> (f64, f64) {
    let Angle { rest, low, .. } = angle;
    let z = rest * rest;
    ordered_sum(rest, z * (rest * polynomial(z, &SIN) - 0.5 * low) + low)
}

/// The cosine of the remainder, in two parts.
#[inline(always)]
fn cos_rest(angle: Angle) -> (f64, f64) {
    let Angle { rest, low, .. } = angle;
    let z = rest * rest;
    let (near, error) = ordered_sum(1.0, -0.5 * z);
    ordered_sum(near, error + (z * z * polynomial(z, &COS) - rest * low))
}

/// `value`, or `-value` if that bit of `quarters` is set.
#[inline(always)]
fn turn(value: f64, quarters: u64, bit: u32) -> f64 {
    f64::from_bits(value.to_bits() ^ (quarters >> bit << 63))
}

#[inline(always)]
fn sin_of(angle: Angle) -> f64 {
    let ((sin, _), (cos, _)) = (sin_rest(angle), cos_rest(angle));
    turn(pick(angle.quarters & 1 == 0, sin, cos), angle.quarters, 1)
}

#[inline(always)]
fn cos_of(angle: Angle) -> f64 {
    sin_of(Angle { quarters: angle.quarters.wrapping_add(1), ..angle })
}

#[inline(always)]
fn tan_of(angle: Angle) -> f64 {
    let ((sin, sin_low), (cos, cos_low)) = (sin_rest(angle), cos_rest(angle));
    let odd = angle.quarters & 1 != 0;
    let (above, above_low) = (pick(odd, cos, sin), pick(odd, cos_low, sin_low));
    let (below, below_low) = (pick(odd, sin, cos), pick(odd, sin_low, cos_low));
    let quotient = above / below;
    let (back, back_low) = product(quotient, below);
    let rest = ((above - back) - back_low) + (above_low - quotient * below_low);
    turn(quotient + rest / below, angle.quarters, 0)
}

#[inline(always)]
pub(super) fn sin_usual(x: f64) -> f64 {
    let result = sin_of(reduce_usual(x));
    pick(x == 0.0, x, result)
}

#[inline(always)]
pub(super) fn cos_usual(x: f64) -> f64 {
    cos_of(reduce_usual(x))
}

#[inline(always)]
pub(super) fn tan_usual(x: f64) -> f64 {
    let result = tan_of(reduce_usual(x));
    // Partial products underflow for tiny angles.
    pick(x.abs() < 1e-9, x, result)
}

#[cold]
#[inline(never)]
pub(super) fn sin_rare(x: f64) -> f64 {
    sin_of(reduce(x))
}

#[cold]
#[inline(never)]
pub(super) fn cos_rare(x: f64) -> f64 {
    cos_of(reduce(x))
}

#[cold]
#[inline(never)]
pub(super) fn tan_rare(x: f64) -> f64 {
    tan_of(reduce(x))
}

/// An angle in half turns; the product is exact, and its error is added later.
#[inline(always)]
fn half_turns(x: f64) -> f64 {
    x * FRAC_1_PI_F32[0]
}

/// The sine of an angle minus `n` half turns, with the sign that follows from the parity of `n`,
/// the lowest bit of `bits`.
#[inline(always)]
fn sin_short(x: f64, n: f64, bits: u64) -> f32 {
    let rest = (half_turns(x) - n) + x * FRAC_1_PI_F32[1];
    turn(rest * polynomial(rest * rest, &SIN_F32), bits, 0) as f32
}

#[inline(always)]
pub(super) fn sin_f32_usual(x: f32) -> f32 {
    let wide = f64::from(x);
    let (n, bits) = nearest(half_turns(wide));
    sin_short(wide, n, bits)
}

#[inline(always)]
pub(super) fn cos_f32_usual(x: f32) -> f32 {
    let wide = f64::from(x);
    let (n, bits) = nearest(half_turns(wide) + 0.5);
    sin_short(wide, n - 0.5, bits)
}

#[inline(always)]
pub(super) fn tan_f32_usual(x: f32) -> f32 {
    let wide = f64::from(x);
    let (n, quarters) = nearest(wide * std::f64::consts::FRAC_2_PI);
    let rest = (wide - n * FRAC_PI_2_F32[0]) - n * FRAC_PI_2_F32[1];
    let z = rest * rest;
    let sin = rest + rest * z * polynomial(z, &SIN);
    let cos = 1.0 - z * (0.5 - z * polynomial(z, &COS));
    let odd = quarters & 1 != 0;
    let (above, below) = (pick(odd, cos, sin), pick(odd, sin, cos));
    let result = turn(above / below, quarters, 0) as f32;
    pick(x == 0.0, x, result)
}
