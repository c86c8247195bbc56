//! Powers with any exponent, cube roots and hypotenuses.

use super::constants::{LN_2_POW, LN_POW, THIRD};
use super::exact::{head, ordered_sum, pick, polynomial, product, sum};
use super::exponential::{exp_of_sum, exp_short};
use super::logarithm::{ln, split};
use super::round;

/// `ln x` in two parts with about 68 bits together, for positive, finite `x`.
///
/// `atanh s = s + s z / 3 + s z^2 Q(z)`, `z = s^2`; the first two terms are computed in two parts.
#[inline(always)]
pub(super) fn ln_in_parts(x: f64) -> (f64, f64) {
    let (e, f) = split(x);
    let (divisor, divisor_low) = ordered_sum(2.0, f);
    let s = f / divisor;
    let (back, back_low) = product(s, divisor);
    let s_low = (((f - back) - back_low) - s * divisor_low) / divisor;
    let (z, z_low) = product(s, s);
    let z_low = z_low + 2.0 * s * s_low;
    let (third, third_low) = product(z, THIRD[0]);
    let further = z * z * polynomial(z, &LN_POW);
    let (w, w_low) = ordered_sum(third, third_low + z * THIRD[1] + z_low * THIRD[0] + further);
    let (more, more_low) = product(s, w);
    let (half, half_low) = ordered_sum(s, more);
    let half_low = half_low + (s_low + (more_low + s * w_low + s_low * w));
    let (near, error) = sum(e * LN_2_POW[0], 2.0 * half);
    ordered_sum(near, error + e * LN_2_POW[1] + (2.0 * half_low + e * LN_2_POW[2]))
}

/// The power for special values of `x` and `y`, otherwise `size` with its sign.
#[inline(always)]
fn with_limits(x: f64, y: f64, size: f64) -> f64 {
    let a = x.abs();
    let whole = round::f64::trunc(y) == y;
    let odd = whole & (round::f64::trunc(0.5 * y) != 0.5 * y);
    let vanishes = (a == 0.0) == (y > 0.0);
    let limit = pick(vanishes, 0.0, f64::INFINITY);
    let size = pick((a == 0.0) | (a == f64::INFINITY), limit, size);
    let result = pick(odd, size.copysign(x), size);
    let result = pick((x < 0.0) & !whole & (a < f64::INFINITY), f64::NAN, result);
    let result = pick(x.is_nan() | y.is_nan(), f64::NAN, result);
    pick((x == 1.0) | (y == 0.0), 1.0, result)
}

/// `y` limited to 2^66, from where powers equal those of an infinite exponent.
#[inline(always)]
fn bounded(y: f64) -> f64 {
    const LARGE: f64 = 73_786_976_294_838_206_464.0;
    pick(y.abs() < LARGE, y, LARGE.copysign(y))
}

#[inline(always)]
pub(super) fn pow(x: f64, y: f64) -> f64 {
    let bounded = bounded(y);
    let (high, low) = ln_in_parts(x.abs());
    let (power, power_low) = product(bounded, high);
    with_limits(x, y, exp_of_sum(power, power_low + bounded * low))
}

#[inline(always)]
pub(super) fn pow_f32(x: f32, y: f32) -> f32 {
    let (x, y) = (f64::from(x), f64::from(y));
    with_limits(x, y, exp_short(bounded(y) * ln(x.abs()))) as f32
}

/// A third of the exponent gives a root within 5 %; each step of Halley's method triples the number
/// of correct digits. Before the last step the root is cut to 26 bits, to make its square exact.
#[inline(always)]
pub(super) fn cbrt(x: f64) -> f64 {
    let a = x.abs();
    // 2 to the power 54, -54 or 0, and the factor that undoes it in the root.
    let (small, large) = (a < f64::MIN_POSITIVE, a > 1e300);
    let factor = pick(small, 18_014_398_509_481_984.0, 1.0);
    let factor = pick(large, 1.0 / 18_014_398_509_481_984.0, factor);
    let back = pick(small, 1.0 / 262_144.0, 1.0);
    let back = pick(large, 262_144.0, back);
    let scaled = a * factor;
    let third = ((scaled.to_bits() >> 32) * 0xAAAA_AAAB) >> 33;
    let guess = f64::from_bits((third + 0x2A9F_7893) << 32);
    let halley = |root: f64| {
        let cube = root * root * root;
        root * ((cube + 2.0 * scaled) / (2.0 * cube + scaled))
    };
    let root = head(halley(halley(guess)));
    let quotient = scaled / (root * root);
    let root = (root + root * ((quotient - root) / (2.0 * root + quotient))) * back;
    let ordinary = (a > 0.0) & (a < f64::INFINITY);
    pick(ordinary, root, a).copysign(x)
}

#[inline(always)]
pub(super) fn hypot(x: f64, y: f64) -> f64 {
    let (a, b) = (x.abs(), y.abs());
    let (large, small) = (pick(a < b, b, a), pick(a < b, a, b));
    // 2 to the power -600, 600 or 0.
    let factor = pick(large > 1e150, f64::from_bits(0x1A70_0000_0000_0000), 1.0);
    let factor = pick(large < 1e-120, f64::from_bits(0x6570_0000_0000_0000), factor);
    let (scaled, other) = (large * factor, small * factor);
    let (square, square_low) = product(scaled, scaled);
    let (more, more_low) = product(other, other);
    let (near, error) = ordered_sum(square, more);
    let root = near.sqrt();
    let (back, back_low) = product(root, root);
    let correction = ((near - back) - back_low + (error + square_low + more_low)) / (2.0 * root);
    let result = (root + correction) / factor;
    let result = pick(large == 0.0, 0.0, result);
    let result = pick(x.is_nan() | y.is_nan(), f64::NAN, result);
    pick((a == f64::INFINITY) | (b == f64::INFINITY), f64::INFINITY, result)
}

#[inline(always)]
pub(super) fn hypot_f32(x: f32, y: f32) -> f32 {
    let (a, b) = (f64::from(x), f64::from(y));
    let result = (a * a + b * b).sqrt() as f32;
    let infinite = (x.abs() == f32::INFINITY) | (y.abs() == f32::INFINITY);
    pick(infinite, f32::INFINITY, result)
}
