//! Arc sine, arc cosine and arc tangent.

use super::constants::{ASIN, ATAN, FRAC_PI_2_LOW, FRAC_PI_4_LOW, PI_LOW};
use super::exact::{head, ordered_sum, pick, polynomial, product, sum};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

/// `s`, its leading bits, the rest and `asin s - s`, for `s` up to 1/2. Here `s` is `a` or, for
/// larger `a`, the root of `(1 - a) / 2`, with `asin a = pi / 2 - 2 asin s`.
#[inline(always)]
fn half_angle(a: f64) -> (f64, f64, f64) {
    let large = a >= 0.5;
    let z = pick(large, 0.5 - 0.5 * a, a * a);
    let s = pick(large, z.sqrt(), a);
    let s_head = head(s);
    let s_tail = (z - s_head * s_head) / (s + s_head);
    let s_tail = pick(s > 0.0, s_tail, 0.0);
    (s_head, s_tail, s * z * polynomial(z, &ASIN))
}

#[inline(always)]
pub(super) fn asin(x: f64) -> f64 {
    let a = x.abs();
    let (s_head, s_tail, more) = half_angle(a);
    let large = FRAC_PI_4 - ((2.0 * (more + s_tail) - FRAC_PI_2_LOW) - (FRAC_PI_4 - 2.0 * s_head));
    pick(a >= 0.5, large, a + more).copysign(x)
}

#[inline(always)]
pub(super) fn acos(x: f64) -> f64 {
    let a = x.abs();
    let (s_head, s_tail, more) = half_angle(a);
    let signed = more.copysign(x);
    let middle = FRAC_PI_2 - (x - (FRAC_PI_2_LOW - signed));
    let above = 2.0 * (s_head + (s_tail + more));
    let below = 2.0 * (FRAC_PI_2 - (s_head + ((s_tail + more) - FRAC_PI_2_LOW)));
    let outer = pick(x > 0.0, above, below);
    pick(a >= 0.5, outer, middle)
}

/// The angle from 0 to pi / 2 whose tangent is `a / b`, in two parts, for nonnegative `a` and `b`.
///
/// It is `atan t` plus 0, pi / 4 or pi / 2, with `t` equal to `a / b`, `(a - b) / (a + b)` or `-b /
/// a`.
#[inline(always)]
fn angle(a: f64, b: f64) -> (f64, f64) {
    let tiny = (a < 1e-270) & (b < 1e-270);
    let huge = (a > 1e300) | (b > 1e300);
    let factor = pick(tiny, f64::from_bits(0x4C70_0000_0000_0000), 1.0);
    let factor = pick(huge, 0.125, factor);
    let (a, b) = (a * factor, b * factor);
    let (steep, middle) = (a > 2.414_213_562_373_095 * b, a > 0.414_213_562_373_095_1 * b);
    let ((difference, difference_low), (total, total_low)) = (sum(a, -b), sum(a, b));
    let by_case = |flat: f64, middling: f64, steeply: f64| {
        let value = pick(middle, middling, flat);
        pick(steep, steeply, value)
    };
    let above = by_case(a, difference, -b);
    let above_low = by_case(0.0, difference_low, 0.0);
    let below = by_case(b, total, a);
    let below_low = by_case(0.0, total_low, 0.0);
    let t = pick(below == 0.0, 0.0, above / below);
    let (back, back_low) = product(t, below);
    let t_low = (((above - back) - back_low) + (above_low - t * below_low)) / below;
    // The error terms of products that underflow say nothing about the quotient.
    let sound = (above.abs() > 1e-290) & (below > 0.0);
    let t_low = pick(sound, t_low, 0.0);
    let z = t * t;
    let (base, base_low) =
        (by_case(0.0, FRAC_PI_4, FRAC_PI_2), by_case(0.0, FRAC_PI_4_LOW, FRAC_PI_2_LOW));
    let (near, error) = ordered_sum(base, t);
    let more = t * z * polynomial(z, &ATAN) + (t_low + base_low);
    ordered_sum(near, pick(base == 0.0, more, error + more))
}

#[inline(always)]
pub(super) fn atan(x: f64) -> f64 {
    let a = x.abs();
    let (angle, _) = angle(pick(a > 1e300, 1e300, a), 1.0);
    angle.copysign(x)
}

#[inline(always)]
pub(super) fn atan2(y: f64, x: f64) -> f64 {
    let (a, b) = (y.abs(), x.abs());
    let (a_infinite, b_infinite) = (a == f64::INFINITY, b == f64::INFINITY);
    let unit = |infinite: bool| pick(infinite, 1.0, 0.0);
    let any = a_infinite | b_infinite;
    let (angle, low) = angle(pick(any, unit(a_infinite), a), pick(any, unit(b_infinite), b));
    let (back, error) = ordered_sum(PI, -angle);
    let back = back + (error + (PI_LOW - low));
    let left = x.to_bits() >> 63 != 0;
    let result = pick(left, back, angle).copysign(y);
    pick(x.is_nan() | y.is_nan(), f64::NAN, result)
}
