//! The error function and the gamma function.
//!
//! Up to 1, the error function is `x` times a polynomial in `x^2`, and up to 0.65 its complement is
//! 1 minus that. From there on, the complement is `e^(-x^2)`, with the square in two parts, times
//! `g / (1 + 2 x)`. The factor `g` varies little: it is a polynomial in `(x - 3.75) / (x + 3.75)`,
//! which maps all arguments to -1..1 (M. Shepherd, J. Laframboise, "Chebyshev approximation of (1 +
//! 2x) exp(x^2) erfc x in 0 <= x < infinity", Math. Comp. 36, 1981).
//!
//! Between 0.75 and 2.75 the logarithm of the gamma function is `(x - 1) (x - 2)` times a
//! polynomial, which is accurate near the zeros as well. Above, it is Stirling's formula with a
//! polynomial in `1 / x^2` in place of its series. Below, `gamma(x) = gamma(x + 1) / x`, and for
//! negative arguments `gamma(x) gamma(1 - x) = pi / sin(pi x)`.

use std::f64::consts::PI;

use super::constants::{ERF, ERFC, HALF_LN_TAU, LN_GAMMA, STIRLING};
use super::exact::{nearest, ordered_sum, pick, polynomial, product, sum};
use super::exponential::exp_of_sum;
use super::logarithm::ln;
use super::power::ln_in_parts;
use super::{round, trigonometric};

/// Up to this argument the complement is 1 minus the error function.
const SMALL: f64 = 0.65;

/// The error function minus `x`, up to 1.
#[inline(always)]
fn erf_more(x: f64) -> f64 {
    x * polynomial(x * x, &ERF)
}

/// The complement from [`SMALL`] on.
#[inline(always)]
fn erfc_far(a: f64) -> f64 {
    // From 27.3 on it is less than half of the smallest number.
    let a = pick(a > 28.0, 28.0, a);
    let (square, low) = product(a, a);
    let size = polynomial((a - 3.75) / (a + 3.75), &ERFC) / (1.0 + 2.0 * a);
    exp_of_sum(-square, -low) * size
}

#[inline(always)]
pub(super) fn erf(x: f64) -> f64 {
    let a = x.abs();
    let result = pick(a < 1.0, a + erf_more(a), 1.0 - erfc_far(a));
    pick(x.is_nan(), x, result.copysign(x))
}

#[inline(always)]
pub(super) fn erfc(x: f64) -> f64 {
    let a = x.abs();
    let (near, error) = sum(1.0, -x);
    let small = near - (erf_more(x) - error);
    let far = erfc_far(a);
    pick(a < SMALL, small, pick(x < 0.0, 2.0 - far, far))
}

/// The last argument with a finite logarithm of the gamma function.
const LARGEST: f64 = 2.559_983_327_851_638_3e305;

/// The factors of the gamma function.
struct Parts {
    /// The logarithm of `gamma(x)`, or of `gamma(1 + |x|)` where that is `shifted`, in two parts.
    high: f64,
    low: f64,
    shifted: bool,
    negative: bool,
    /// `sin(pi x)`, for negative arguments.
    sine: f64,
}

/// `ln gamma(v + e)` in two parts, for `v` of at least 2.75 and a much smaller `e`.
#[inline(always)]
fn stirling(v: f64, e: f64) -> (f64, f64) {
    let (ln, ln_low) = ln_in_parts(v);
    let (less, less_low) = sum(ln, -1.0);
    let (shifted, shifted_low) = sum(v, -0.5);
    let (main, main_low) = product(shifted, less);
    let main_low = main_low + (shifted * (less_low + ln_low) + shifted_low * less);
    let inverse = 1.0 / v;
    let (near, error) = sum(main, HALF_LN_TAU[0] - 0.5);
    let (near, error_2) = sum(near, inverse * polynomial(inverse * inverse, &STIRLING));
    // The slope of the logarithm is approximately ln v - 1 / (2 v).
    let more = e * (ln - 0.5 * inverse);
    ordered_sum(near, main_low + (error + error_2 + HALF_LN_TAU[1] + more))
}

#[inline(always)]
fn parts(x: f64) -> Parts {
    let a = x.abs();
    let (shifted, negative) = (x < 0.75, x < 0.0);
    // The argument of the logarithm, minus 1.
    let u = pick(shifted, a, a - 1.0);
    let close = pick(u < 1.75, u, 0.0);
    let close = close * (close - 1.0) * polynomial(close - 0.75, &LN_GAMMA);
    let (v, e) = sum(a, pick(shifted, 1.0, 0.0));
    // Larger arguments overflow or underflow, like this one.
    let bounded = pick(u < 1.75, 2.75, pick(v > LARGEST, 1e305, v));
    let (far, far_low) = stirling(bounded, pick(v > 1e15, 0.0, e));
    let rest = a - round::f64::round_even(a);
    let odd = round::f64::trunc(0.5 * (a - rest)) != 0.5 * (a - rest);
    let sine = trigonometric::sin_usual(PI * rest);
    Parts {
        high: pick(u < 1.75, close, far),
        low: pick(u < 1.75, 0.0, far_low),
        shifted,
        negative,
        sine: pick(odd, sine, -sine),
    }
}

#[inline(always)]
pub(super) fn gamma(x: f64) -> f64 {
    let Parts { high, low, shifted, negative, sine } = parts(x);
    // For negative arguments, the square root, which is never subnormal and therefore exact.
    let times = pick(negative, -0.5, 1.0);
    let power = exp_of_sum(times * high, times * low);
    let below = PI / sine * power * power;
    let above = power / pick(shifted, x, 1.0);
    let result = pick(negative, below, above);
    // Factorials are integers.
    let whole = round::f64::trunc(x) == x;
    let (rounded, _) = nearest(result);
    let result = pick(whole & (x > 0.0) & (result < 1_125_899_906_842_624.0), rounded, result);
    let result = pick(x == f64::INFINITY, x, result);
    pick((negative & whole) | x.is_nan() | (x == f64::NEG_INFINITY), f64::NAN, result)
}

#[inline(always)]
pub(super) fn ln_gamma(x: f64) -> f64 {
    let Parts { high, low, shifted, negative, sine } = parts(x);
    let a = x.abs();
    let divisor = ln(pick(negative, (sine / PI).abs(), a));
    let (sign, divisor) = (pick(negative, -1.0, 1.0), pick(shifted, divisor, 0.0));
    let (near, error) = sum(sign * high, -divisor);
    let result = near + (error + sign * low);
    let result = pick((divisor == f64::NEG_INFINITY) | (a > LARGEST), f64::INFINITY, result);
    let result = pick(negative & (a > 1e300), f64::INFINITY, result);
    pick(x.is_nan(), x, result)
}
