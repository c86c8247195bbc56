//! The elementary functions used everywhere: the same bits on every machine.
//!
//! The standard library leaves `sin`, `exp` and similar functions to the platform, whose last bits
//! differ from one machine to the next. Here they consist of additions, multiplications, divisions,
//! square roots and integer operations only, each rounded as IEEE 754 specifies, never contracted.
//! Call them as `num::sin(x)`: the method `x.sin()` is the platform's.
//!
//! They have no branches and no tables, so a loop over a column vectorizes to any SIMD width with
//! the same bits. The few elements that need more work (angles of millions, remainders of huge
//! quotients) are recomputed after such a loop, see [`Float::angle_is_rare`].
//!
//! Accuracy. `sqrt`, `fma`, `rem`, the roundings, `min` and `max` are correctly rounded or exact.
//! For the others, the operation table of the crate `form` and the manual list the largest errors
//! found, in ULP, rounded up. In `f32`, the example `accuracy` measured every argument (for `pow`,
//! `atan2` and `hypot`, random ones). In `f64`, of 20 million random arguments, those at which
//! `libm` gives another result were measured with mpmath (`tools/accuracy.py`), and 6 million with
//! 80-bit arithmetic. For `f64` this is not a bound: an error larger by a few hundredths is
//! possible.
//!
//! The error and gamma functions in `f64` were measured with mpmath at 100,000 arguments or more
//! each. Below zero `ln_gamma` crosses zero between floats: there its error is up to 2.8 ULP of 1
//! or of the result, whichever is greater.
//!
//! Most `f32` functions compute in `f64` and round; those with an error of 0.5001 round the `f64`
//! function itself. The files of this folder name the methods for `f64`; the polynomials come from
//! `tools/minimax.py`.
//!
//! All NaNs are one value: the payload of a result is not defined. [`Float::canonical`] gives the
//! NaN that nodes which read bits see.

#![expect(
    clippy::needless_bitwise_bool,
    reason = "`&` and `|` on conditions have no branches, as SIMD requires"
)]

#[cfg(test)]
mod accuracy;
mod constants;
mod exact;
mod exponential;
mod inverse;
mod logarithm;
mod power;
mod round;
mod special;
#[cfg(test)]
mod tests;
mod trigonometric;

/// A floating-point type with the functions of this module.
///
/// They are associated functions rather than methods, because the standard methods of the same
/// names would take precedence. Outside generic code use the free functions of [`crate::num`].
pub trait Float:
    Copy
    + Default
    + PartialOrd
    + std::fmt::Debug
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Div<Output = Self>
    + std::ops::Neg<Output = Self>
    + Send
    + Sync
    + 'static
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The NaN that nodes which read bits see: positive, quiet, without payload.
    const NAN: Self;

    /// Whether this is NaN.
    fn nan(x: Self) -> bool;
    /// Whether this is neither infinite nor NaN.
    fn finite(x: Self) -> bool;
    /// The value itself, or [`Float::NAN`] for any NaN.
    fn canonical(x: Self) -> Self;
    /// See [`sqrt`].
    fn sqrt(x: Self) -> Self;
    /// See [`cbrt`].
    fn cbrt(x: Self) -> Self;
    /// See [`sin`].
    fn sin(x: Self) -> Self;
    /// See [`cos`].
    fn cos(x: Self) -> Self;
    /// See [`tan`].
    fn tan(x: Self) -> Self;
    /// See [`asin`].
    fn asin(x: Self) -> Self;
    /// See [`acos`].
    fn acos(x: Self) -> Self;
    /// See [`atan`].
    fn atan(x: Self) -> Self;
    /// See [`atan2`].
    fn atan2(y: Self, x: Self) -> Self;
    /// See [`sinh`].
    fn sinh(x: Self) -> Self;
    /// See [`cosh`].
    fn cosh(x: Self) -> Self;
    /// See [`tanh`].
    fn tanh(x: Self) -> Self;
    /// See [`asinh`].
    fn asinh(x: Self) -> Self;
    /// See [`acosh`].
    fn acosh(x: Self) -> Self;
    /// See [`atanh`].
    fn atanh(x: Self) -> Self;
    /// See [`exp`].
    fn exp(x: Self) -> Self;
    /// See [`exp2`].
    fn exp2(x: Self) -> Self;
    /// See [`exp_m1`].
    fn exp_m1(x: Self) -> Self;
    /// See [`ln`].
    fn ln(x: Self) -> Self;
    /// See [`ln_1p`].
    fn ln_1p(x: Self) -> Self;
    /// See [`log2`].
    fn log2(x: Self) -> Self;
    /// See [`log10`].
    fn log10(x: Self) -> Self;
    /// See [`pow`].
    fn pow(x: Self, y: Self) -> Self;
    /// See [`hypot`].
    fn hypot(x: Self, y: Self) -> Self;
    /// See [`erf`].
    fn erf(x: Self) -> Self;
    /// See [`erfc`].
    fn erfc(x: Self) -> Self;
    /// See [`gamma`].
    fn gamma(x: Self) -> Self;
    /// See [`ln_gamma`].
    fn ln_gamma(x: Self) -> Self;
    /// See [`rem`].
    fn rem(x: Self, y: Self) -> Self;
    /// See [`fma`].
    fn fma(x: Self, y: Self, z: Self) -> Self;
    /// See [`floor`].
    fn floor(x: Self) -> Self;
    /// See [`ceil`].
    fn ceil(x: Self) -> Self;
    /// See [`trunc`].
    fn trunc(x: Self) -> Self;
    /// See [`round`].
    fn round(x: Self) -> Self;
    /// See [`round_even`].
    fn round_even(x: Self) -> Self;
    /// See [`min`].
    fn min(x: Self, y: Self) -> Self;
    /// See [`max`].
    fn max(x: Self, y: Self) -> Self;
    /// See [`abs`].
    fn abs(x: Self) -> Self;
    /// See [`copysign`].
    fn copysign(x: Self, y: Self) -> Self;

    /// Whether [`sin`], [`cos`] and [`tan`] of this angle take the rare path, which has branches. A
    /// loop to be vectorized takes the usual path and recomputes the rare elements afterwards.
    fn angle_is_rare(x: Self) -> bool;
    /// [`sin`] of an angle that is not rare; unspecified for others.
    fn sin_usual(x: Self) -> Self;
    /// [`cos`] of an angle that is not rare; unspecified for others.
    fn cos_usual(x: Self) -> Self;
    /// [`tan`] of an angle that is not rare; unspecified for others.
    fn tan_usual(x: Self) -> Self;
    /// Whether [`rem`] takes the rare path, see [`Float::angle_is_rare`].
    fn rem_is_rare(x: Self, y: Self) -> bool;
    /// [`rem`] of values that are not rare; unspecified for others.
    fn rem_usual(x: Self, y: Self) -> Self;
}

macro_rules! float {
    ($float:ident, { $($module:ident :: $source:ident as $name:ident ( $($arg:ident),* ) -> $out:ident;)* }) => {
        impl Float for $float {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const NAN: Self = $float::NAN;

            #[inline(always)]
            fn nan(x: Self) -> bool {
                x.is_nan()
            }
            #[inline(always)]
            fn finite(x: Self) -> bool {
                x.is_finite()
            }
            // Comparing floats would not work: where the compiler knows the operation that produced
            // the NaN, it drops the comparison, because it considers all NaNs equal.
            #[inline(always)]
            fn canonical(x: Self) -> Self {
                let bits = x.to_bits();
                let is_nan = bits & !(-0.0 as Self).to_bits() > Self::INFINITY.to_bits();
                Self::from_bits(if is_nan { <Self as Float>::NAN.to_bits() } else { bits })
            }
            #[inline(always)]
            fn sqrt(x: Self) -> Self {
                x.sqrt()
            }
            #[inline(always)]
            fn floor(x: Self) -> Self {
                round::$float::floor(x)
            }
            #[inline(always)]
            fn ceil(x: Self) -> Self {
                round::$float::ceil(x)
            }
            #[inline(always)]
            fn trunc(x: Self) -> Self {
                round::$float::trunc(x)
            }
            #[inline(always)]
            fn round(x: Self) -> Self {
                round::$float::round(x)
            }
            #[inline(always)]
            fn round_even(x: Self) -> Self {
                round::$float::round_even(x)
            }
            #[inline(always)]
            fn abs(x: Self) -> Self {
                x.abs()
            }
            #[inline(always)]
            fn copysign(x: Self, y: Self) -> Self {
                x.copysign(y)
            }
            #[inline(always)]
            fn min(x: Self, y: Self) -> Self {
                let lower = if y < x { y } else { x };
                let equal = Self::from_bits(x.to_bits() | y.to_bits());
                let number = if x == y { equal } else { lower };
                if x.is_nan() { y } else { number }
            }
            #[inline(always)]
            fn max(x: Self, y: Self) -> Self {
                let upper = if y > x { y } else { x };
                let equal = Self::from_bits(x.to_bits() & y.to_bits());
                let number = if x == y { equal } else { upper };
                if x.is_nan() { y } else { number }
            }
            #[inline(always)]
            fn sin(x: Self) -> Self {
                if Self::angle_is_rare(x) {
                    trigonometric::sin_rare(f64::from(x)) as Self
                } else {
                    Self::sin_usual(x)
                }
            }
            #[inline(always)]
            fn cos(x: Self) -> Self {
                if Self::angle_is_rare(x) {
                    trigonometric::cos_rare(f64::from(x)) as Self
                } else {
                    Self::cos_usual(x)
                }
            }
            #[inline(always)]
            fn tan(x: Self) -> Self {
                if Self::angle_is_rare(x) {
                    trigonometric::tan_rare(f64::from(x)) as Self
                } else {
                    Self::tan_usual(x)
                }
            }
            #[inline(always)]
            fn rem(x: Self, y: Self) -> Self {
                if Self::rem_is_rare(x, y) {
                    exact::rem_rare(f64::from(x), f64::from(y)) as Self
                } else {
                    Self::rem_usual(x, y)
                }
            }
            $(
                #[inline(always)]
                fn $name($($arg: Self),*) -> $out {
                    $module::$source($($arg),*)
                }
            )*
        }
    };
}

float!(f32, {
    exponential::exp_f32 as exp(x) -> Self;
    exponential::exp2_f32 as exp2(x) -> Self;
    logarithm::ln_f32 as ln(x) -> Self;
    logarithm::log2_f32 as log2(x) -> Self;
    logarithm::log10_f32 as log10(x) -> Self;
    power::pow_f32 as pow(x, y) -> Self;
    power::hypot_f32 as hypot(x, y) -> Self;
    widened::asin as asin(x) -> Self;
    widened::acos as acos(x) -> Self;
    widened::atan as atan(x) -> Self;
    widened::atan2 as atan2(y, x) -> Self;
    widened::sinh as sinh(x) -> Self;
    widened::cosh as cosh(x) -> Self;
    widened::tanh as tanh(x) -> Self;
    widened::asinh as asinh(x) -> Self;
    widened::acosh as acosh(x) -> Self;
    widened::atanh as atanh(x) -> Self;
    widened::exp_m1 as exp_m1(x) -> Self;
    widened::ln_1p as ln_1p(x) -> Self;
    widened::cbrt as cbrt(x) -> Self;
    widened::erf as erf(x) -> Self;
    widened::erfc as erfc(x) -> Self;
    widened::gamma as gamma(x) -> Self;
    widened::ln_gamma as ln_gamma(x) -> Self;
    trigonometric::is_rare_f32 as angle_is_rare(x) -> bool;
    trigonometric::sin_f32_usual as sin_usual(x) -> Self;
    trigonometric::cos_f32_usual as cos_usual(x) -> Self;
    trigonometric::tan_f32_usual as tan_usual(x) -> Self;
    exact::rem_f32_is_rare as rem_is_rare(x, y) -> bool;
    exact::rem_f32_usual as rem_usual(x, y) -> Self;
    exact::fma_f32 as fma(x, y, z) -> Self;
});

float!(f64, {
    exponential::exp as exp(x) -> Self;
    exponential::exp2 as exp2(x) -> Self;
    logarithm::ln as ln(x) -> Self;
    logarithm::log2 as log2(x) -> Self;
    logarithm::log10 as log10(x) -> Self;
    power::pow as pow(x, y) -> Self;
    power::hypot as hypot(x, y) -> Self;
    inverse::asin as asin(x) -> Self;
    inverse::acos as acos(x) -> Self;
    inverse::atan as atan(x) -> Self;
    inverse::atan2 as atan2(y, x) -> Self;
    exponential::sinh as sinh(x) -> Self;
    exponential::cosh as cosh(x) -> Self;
    exponential::tanh as tanh(x) -> Self;
    logarithm::asinh as asinh(x) -> Self;
    logarithm::acosh as acosh(x) -> Self;
    logarithm::atanh as atanh(x) -> Self;
    exponential::exp_m1 as exp_m1(x) -> Self;
    logarithm::ln_1p as ln_1p(x) -> Self;
    power::cbrt as cbrt(x) -> Self;
    special::erf as erf(x) -> Self;
    special::erfc as erfc(x) -> Self;
    special::gamma as gamma(x) -> Self;
    special::ln_gamma as ln_gamma(x) -> Self;
    trigonometric::is_rare as angle_is_rare(x) -> bool;
    trigonometric::sin_usual as sin_usual(x) -> Self;
    trigonometric::cos_usual as cos_usual(x) -> Self;
    trigonometric::tan_usual as tan_usual(x) -> Self;
    exact::rem_f64_is_rare as rem_is_rare(x, y) -> bool;
    exact::rem_f64_usual as rem_usual(x, y) -> Self;
    exact::fma_f64 as fma(x, y, z) -> Self;
});

/// Functions of `f32` that compute in `f64` and round.
mod widened {
    use super::{exponential, inverse, logarithm, power, special};

    macro_rules! widened {
        ($($module:ident :: $name:ident ( $($arg:ident),* );)*) => {$(
            #[inline(always)]
            pub(super) fn $name($($arg: f32),*) -> f32 {
                $module::$name($(f64::from($arg)),*) as f32
            }
        )*};
    }

    widened! {
        inverse::asin(x);
        inverse::acos(x);
        inverse::atan(x);
        inverse::atan2(y, x);
        exponential::sinh(x);
        exponential::cosh(x);
        exponential::tanh(x);
        logarithm::asinh(x);
        logarithm::acosh(x);
        logarithm::atanh(x);
        exponential::exp_m1(x);
        logarithm::ln_1p(x);
        power::cbrt(x);
        special::erf(x);
        special::erfc(x);
        special::gamma(x);
        special::ln_gamma(x);
    }
}

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident($($arg:ident),*);)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name<T: Float>($($arg: T),*) -> T {
            T::$name($($arg),*)
        }
    )*};
}

functions! {
    /// Square root, correctly rounded; NaN below zero, -0 for -0.
    sqrt(x);
    /// Cube root.
    cbrt(x);
    /// Sine of an angle in radians; NaN for infinities.
    sin(x);
    /// Cosine of an angle in radians; NaN for infinities.
    cos(x);
    /// Tangent of an angle in radians; NaN for infinities.
    tan(x);
    /// Arc sine in radians, -pi/2 to pi/2; NaN outside -1 to 1.
    asin(x);
    /// Arc cosine in radians, 0 to pi; NaN outside -1 to 1.
    acos(x);
    /// Arc tangent in radians, -pi/2 to pi/2.
    atan(x);
    /// Angle of the point (`x`, `y`) in radians, -pi to pi; 0 or pi with the sign of `y` at zero.
    atan2(y, x);
    /// Hyperbolic sine.
    sinh(x);
    /// Hyperbolic cosine.
    cosh(x);
    /// Hyperbolic tangent.
    tanh(x);
    /// Inverse hyperbolic sine.
    asinh(x);
    /// Inverse hyperbolic cosine; NaN below 1.
    acosh(x);
    /// Inverse hyperbolic tangent; infinite at -1 and 1, NaN outside.
    atanh(x);
    /// e to the power `x`.
    exp(x);
    /// 2 to the power `x`.
    exp2(x);
    /// e to the power `x`, minus 1, accurate near zero.
    exp_m1(x);
    /// Natural logarithm; -infinity at zero, NaN below.
    ln(x);
    /// Natural logarithm of 1 + `x`, accurate near zero.
    ln_1p(x);
    /// Logarithm to base 2; -infinity at zero, NaN below.
    log2(x);
    /// Logarithm to base 10; -infinity at zero, NaN below.
    log10(x);
    /// `x` to the power `y`; NaN for a negative `x` with a non-integer `y`; 1 if `y` is zero or `x`
    /// is 1, even if the other is NaN.
    pow(x, y);
    /// Square root of `x` squared plus `y` squared, without intermediate overflow.
    hypot(x, y);
    /// Error function: the integral of e^(-t^2) from 0 to `x`, times 2 over the root of pi; -1 to
    /// 1.
    erf(x);
    /// 1 minus [`erf`], accurate where that is near 1; 0 to 2.
    erfc(x);
    /// Gamma function: the factorial of `x` - 1, extended to all numbers; infinite at zero with its
    /// sign, NaN at negative integers.
    gamma(x);
    /// Natural logarithm of the magnitude of [`gamma`]; infinite at zero and at negative integers.
    ln_gamma(x);
    /// Remainder of truncated division, with the sign of `x`; exact; NaN if `y` is zero or `x`
    /// infinite.
    rem(x, y);
    /// `x * y + z` with one rounding.
    fma(x, y, z);
    /// The largest integer not above `x`.
    floor(x);
    /// The smallest integer not below `x`.
    ceil(x);
    /// Nearest integer toward zero.
    trunc(x);
    /// Nearest integer, halves away from zero.
    round(x);
    /// Nearest integer, halves to even.
    round_even(x);
    /// The lesser of two values, as `minimumNumber` of IEEE 754-2019: a number takes precedence
    /// over NaN, -0 is less than +0.
    min(x, y);
    /// The greater of two values, as `maximumNumber` of IEEE 754-2019: a number takes precedence
    /// over NaN, +0 is greater than -0.
    max(x, y);
    /// The absolute value.
    abs(x);
    /// The magnitude of `x` with the sign of `y`, which may be NaN; where its sign must be defined,
    /// pass `y` through [`Float::canonical`].
    copysign(x, y);
}

/// Remainder of Euclidean division: at least +0, less than the magnitude of `y` before rounding.
///
/// A tiny negative `x` rounds up to the magnitude of `y` itself. NaN if `y` is zero or `x`
/// infinite.
#[inline(always)]
pub fn rem_euclid<T: Float>(x: T, y: T) -> T {
    above_zero(T::rem(x, y), y)
}

/// [`rem_euclid`] of values that are not rare, see [`Float::rem_is_rare`]; unspecified for others.
#[inline(always)]
pub fn rem_euclid_usual<T: Float>(x: T, y: T) -> T {
    above_zero(T::rem_usual(x, y), y)
}

#[inline(always)]
fn above_zero<T: Float>(rest: T, y: T) -> T {
    if rest < T::ZERO { rest + T::abs(y) } else { T::abs(rest) }
}

/// -1, 0 or 1 if `x` is negative, zero or positive; zeros and NaN are returned unchanged.
#[inline(always)]
pub fn sign<T: Float>(x: T) -> T {
    let one = T::copysign(T::ONE, x);
    if x == T::ZERO || T::nan(x) { x } else { one }
}

/// `x` minus [`floor`] of `x`: 0 to 1, and 1 itself for a tiny negative `x`; NaN for infinities.
#[inline(always)]
pub fn fract<T: Float>(x: T) -> T {
    x - T::floor(x)
}
