//! Operations with one rounding or none: sums and products in two parts, scaling, remainders.
//!
//! Without FMA, the error of a product is computed from the halves of its factors (T. J. Dekker, "A
//! floating-point technique for extending the available precision", Numer. Math. 18, 1971); the
//! error of a sum as in D. Knuth, "The Art of Computer Programming", volume 2, 4.2.2.

use super::round;

/// `yes` if `condition` holds, otherwise `no`. Both are computed: a branch would prevent
/// vectorization.
#[inline(always)]
pub(super) fn pick<T: Copy>(condition: bool, yes: T, no: T) -> T {
    std::hint::select_unpredictable(condition, yes, no)
}

/// Adding and subtracting this rounds an `f64` below 2^51 to an integer. The sum has that integer
/// in its lowest bits.
pub(super) const SHIFT: f64 = 6_755_399_441_055_744.0;

/// The integer nearest to `value`, and a word with that integer in its lowest bits.
#[inline(always)]
pub(super) fn nearest(value: f64) -> (f64, u64) {
    let shifted = value + SHIFT;
    (shifted - SHIFT, shifted.to_bits())
}

/// 2 to the power of an integer from -1022 to 1023; unspecified for others, but does not trap.
#[inline(always)]
pub(super) fn power_of_two(n: f64) -> f64 {
    f64::from_bits(((n + SHIFT).to_bits().wrapping_add(1023)) << 52)
}

/// `value` times 2 to the power of an integer from -2000 to 2000, rounded once for a `value` near
/// 1.
#[inline(always)]
pub(super) fn scale(value: f64, n: f64) -> f64 {
    let (half, _) = nearest(n * 0.5);
    value * power_of_two(half) * power_of_two(n - half)
}

/// [`SHIFT`] of f32, for values below 2^22.
pub(super) const SHIFT_F32: f32 = 12_582_912.0;

/// The polynomial with these coefficients, lowest first.
#[inline(always)]
pub(super) fn polynomial_f32<const N: usize>(x: f32, coefficients: &[f32; N]) -> f32 {
    let mut sum = coefficients[N - 1];
    let mut i = N - 1;
    while i > 0 {
        i -= 1;
        sum = sum * x + coefficients[i];
    }
    sum
}

/// The polynomial with these coefficients, lowest first.
#[inline(always)]
pub(super) fn polynomial<const N: usize>(x: f64, coefficients: &[f64; N]) -> f64 {
    let mut sum = coefficients[N - 1];
    let mut i = N - 1;
    while i > 0 {
        i -= 1;
        sum = sum * x + coefficients[i];
    }
    sum
}

/// `a + b` and its error.
#[inline(always)]
pub(super) fn sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}

/// `a + b` and its error, if `a` is 0 or not smaller in magnitude than `b`.
#[inline(always)]
pub(super) fn ordered_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    (sum, b - (sum - a))
}

/// The leading 26 bits.
#[inline(always)]
pub(super) fn head(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & !0x7FF_FFFF)
}

/// `a * b` and its error, accurate to about 105 bits.
#[inline(always)]
pub(super) fn product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    let (a_head, b_head) = (head(a), head(b));
    let (a_tail, b_tail) = (a - a_head, b - b_head);
    let error = ((a_head * b_head - product) + a_head * b_tail + a_tail * b_head) + a_tail * b_tail;
    (product, error)
}

/// From this quotient on, [`rem_f32`] takes its rare path.
const LARGE_F32: f64 = 268_435_456.0;
/// From this quotient on, [`rem_f64`] takes its rare path.
const LARGE_F64: f64 = 16_777_216.0;
/// Below this divisor [`rem_f64`] takes its rare path, since partial products would underflow.
const SMALL_F64: f64 = 1e-280;

#[inline(always)]
pub(super) fn rem_f32_is_rare(x: f32, y: f32) -> bool {
    let (a, b) = (f64::from(x.abs()), f64::from(y.abs()));
    (a >= b * LARGE_F32) & (b > 0.0) & (a < f64::INFINITY)
}

#[inline(always)]
pub(super) fn rem_f32_usual(x: f32, y: f32) -> f32 {
    let (a, b) = (f64::from(x.abs()), f64::from(y.abs()));
    let rest = a - round::f64::trunc(a / b) * b;
    let rest = pick(rest < 0.0, rest + b, rest);
    let rest = pick((b == f64::INFINITY) & (a < b), a, rest);
    (rest as f32).copysign(x)
}

#[inline(always)]
pub(super) fn rem_f64_is_rare(x: f64, y: f64) -> bool {
    let (a, b) = (x.abs(), y.abs());
    ((a >= b * LARGE_F64) | (b < SMALL_F64)) & (b > 0.0) & (a < f64::INFINITY)
}

#[inline(always)]
pub(super) fn rem_f64_usual(x: f64, y: f64) -> f64 {
    let (a, b) = (x.abs(), y.abs());
    let n = round::f64::trunc(a / b);
    let b_head = head(b);
    let rest = (a - n * b_head) - n * (b - b_head);
    let rest = pick(rest < 0.0, rest + b, rest);
    let rest = pick(rest >= b, rest - b, rest);
    let rest = pick((b == f64::INFINITY) & (a < b), a, rest);
    rest.copysign(x)
}

/// Integer mantissa and exponent of a positive, finite value.
fn decode(x: f64) -> (u64, i32) {
    let bits = x.to_bits();
    let (exponent, mantissa) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    if exponent == 0 { (mantissa, -1074) } else { (mantissa | 1 << 52, exponent - 1075) }
}

/// The remainder by long division on integers, for finite `x` and finite, nonzero `y`.
#[cold]
#[inline(never)]
pub(super) fn rem_rare(x: f64, y: f64) -> f64 {
    let ((a, a_exponent), (b, b_exponent)) = (decode(x.abs()), decode(y.abs()));
    if a_exponent < b_exponent {
        // Then `b` is normal and `a < b`, unless the exponents become equal by a shift.
        let shift = b_exponent - a_exponent;
        let rest = if shift > 10 { a } else { a % (b << shift) };
        return encode(rest, a_exponent).copysign(x);
    }
    let mut rest = a % b;
    let mut left = a_exponent - b_exponent;
    while left > 0 {
        let shift = left.min(11);
        rest = (rest << shift) % b;
        left -= shift;
    }
    encode(rest, b_exponent).copysign(x)
}

/// `mantissa` times 2 to the power `exponent`, where that is exact.
fn encode(mantissa: u64, exponent: i32) -> f64 {
    let half = f64::from(exponent / 2);
    mantissa as f64 * power_of_two(half) * power_of_two(f64::from(exponent) - half)
}

/// `x * y + z` rounded once: the sum is first rounded to odd, which makes the second rounding
/// correct (S. Boldo, G. Melquiond, "Emulation of a FMA and correctly rounded sums", 2008).
#[inline(always)]
pub(super) fn fma_f32(x: f32, y: f32, z: f32) -> f32 {
    let (near, error) = sum(f64::from(x) * f64::from(y), f64::from(z));
    let bits = near.to_bits();
    let away = (error > 0.0) == (near > 0.0);
    let odd = pick(away, bits.wrapping_add(1), bits.wrapping_sub(1));
    let inexact = (error != 0.0) & (bits & 1 == 0) & (near.abs() < f64::INFINITY);
    f64::from_bits(pick(inexact, odd, bits)) as f32
}

/// `x * y + z` rounded once. Correct rounding leaves the platform no choice of bits.
#[inline(always)]
pub(super) fn fma_f64(x: f64, y: f64, z: f64) -> f64 {
    x.mul_add(y, z)
}
