//! The elementary functions that everything computes with: the same bits on every machine.
//!
//! The standard library hands `sin`, `exp` and their kin to the platform, whose last bits differ
//! from one machine to the next. Here they come from one place, [`Float`], so that they can be
//! replaced in one place. Call them as `num::sin(x)`: the method `x.sin()` is the platform's.
//!
//! Accuracy. `sqrt`, `fma`, `rem`, the roundings, `min` and `max` are exact, that is correctly
//! rounded or without rounding. The others come from the `libm` crate, a port of the routines of
//! musl and FreeBSD to Rust, whose authors state errors below 1 ULP for most functions and below 2
//! for the hyperbolic ones; we have not verified that. They are not correctly rounded: `exp(1)` is
//! one ULP above the `f64` nearest to e. Its choice of hardware instructions concerns correctly rounded
//! operations only (`sqrt`, `fma`), so results do not depend on it; 32-bit x86 without SSE2 is the
//! exception and is not supported.
//!
//! NaNs are one value: which payload a result carries is not defined. [`Float::canonical`] gives
//! the one that readers of bits see.

mod round;
#[cfg(test)]
mod tests;

/// A floating-point type with the functions of this module.
///
/// They are associated functions, not methods, because the standard methods of the same names
/// would win. Outside generic code use the free functions of [`crate::num`].
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
    /// The NaN that readers of bits see: positive, quiet, without payload.
    const NAN: Self;

    /// Whether this is no number.
    fn nan(x: Self) -> bool;
    /// Whether this is neither infinite nor NaN.
    fn finite(x: Self) -> bool;
    /// The value itself, or [`Float::NAN`] for any NaN.
    #[inline]
    fn canonical(x: Self) -> Self {
        if Self::nan(x) { Self::NAN } else { x }
    }
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
}

macro_rules! float {
    ($float:ident, { $($name:ident => $source:ident ( $($arg:ident),* );)* }) => {
        impl Float for $float {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const NAN: Self = $float::NAN;

            #[inline]
            fn nan(x: Self) -> bool {
                x.is_nan()
            }
            #[inline]
            fn finite(x: Self) -> bool {
                x.is_finite()
            }
            #[inline]
            fn sqrt(x: Self) -> Self {
                x.sqrt()
            }
            #[inline]
            fn floor(x: Self) -> Self {
                round::$float::floor(x)
            }
            #[inline]
            fn ceil(x: Self) -> Self {
                round::$float::ceil(x)
            }
            #[inline]
            fn trunc(x: Self) -> Self {
                round::$float::trunc(x)
            }
            #[inline]
            fn round(x: Self) -> Self {
                round::$float::round(x)
            }
            #[inline]
            fn round_even(x: Self) -> Self {
                round::$float::round_even(x)
            }
            #[inline]
            fn min(x: Self, y: Self) -> Self {
                let lower = if y < x { y } else { x };
                let equal = Self::from_bits(x.to_bits() | y.to_bits());
                let number = if x == y { equal } else { lower };
                if x.is_nan() { y } else { number }
            }
            #[inline]
            fn max(x: Self, y: Self) -> Self {
                let upper = if y > x { y } else { x };
                let equal = Self::from_bits(x.to_bits() & y.to_bits());
                let number = if x == y { equal } else { upper };
                if x.is_nan() { y } else { number }
            }
            #[inline]
            fn abs(x: Self) -> Self {
                x.abs()
            }
            #[inline]
            fn copysign(x: Self, y: Self) -> Self {
                x.copysign(y)
            }
            $(
                #[inline]
                fn $name($($arg: Self),*) -> Self {
                    libm::$source($($arg),*)
                }
            )*
        }
    };
}

float!(f32, {
    cbrt => cbrtf(x);
    sin => sinf(x);
    cos => cosf(x);
    tan => tanf(x);
    asin => asinf(x);
    acos => acosf(x);
    atan => atanf(x);
    atan2 => atan2f(y, x);
    sinh => sinhf(x);
    cosh => coshf(x);
    tanh => tanhf(x);
    asinh => asinhf(x);
    acosh => acoshf(x);
    atanh => atanhf(x);
    exp => expf(x);
    exp2 => exp2f(x);
    exp_m1 => expm1f(x);
    ln => logf(x);
    ln_1p => log1pf(x);
    log2 => log2f(x);
    log10 => log10f(x);
    pow => powf(x, y);
    hypot => hypotf(x, y);
    rem => fmodf(x, y);
    fma => fmaf(x, y, z);
});

float!(f64, {
    cbrt => cbrt(x);
    sin => sin(x);
    cos => cos(x);
    tan => tan(x);
    asin => asin(x);
    acos => acos(x);
    atan => atan(x);
    atan2 => atan2(y, x);
    sinh => sinh(x);
    cosh => cosh(x);
    tanh => tanh(x);
    asinh => asinh(x);
    acosh => acosh(x);
    atanh => atanh(x);
    exp => exp(x);
    exp2 => exp2(x);
    exp_m1 => expm1(x);
    ln => log(x);
    ln_1p => log1p(x);
    log2 => log2(x);
    log10 => log10(x);
    pow => pow(x, y);
    hypot => hypot(x, y);
    rem => fmod(x, y);
    fma => fma(x, y, z);
});

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident($($arg:ident),*);)*) => {$(
        $(#[$doc])*
        #[inline]
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
    /// `x` to the power `y`; NaN for a negative `x` with a `y` that is no integer; 1 if `y` is zero
    /// or `x` is 1, even where the other is NaN.
    pow(x, y);
    /// Square root of `x` squared plus `y` squared, without overflow on the way.
    hypot(x, y);
    /// Remainder of truncated division, with the sign of `x`; exact; NaN if `y` is zero or `x`
    /// infinite.
    rem(x, y);
    /// `x * y + z` with one rounding.
    fma(x, y, z);
    /// Largest integer not above `x`.
    floor(x);
    /// Smallest integer not below `x`.
    ceil(x);
    /// Nearest integer not further from zero than `x`.
    trunc(x);
    /// Nearest integer, halves away from zero.
    round(x);
    /// Nearest integer, halves to the even one.
    round_even(x);
    /// The lesser of two values, as `minimumNumber` of IEEE 754-2019: a NaN gives way to a number,
    /// -0 is less than +0.
    min(x, y);
    /// The greater of two values, as `maximumNumber` of IEEE 754-2019: a NaN gives way to a number,
    /// +0 is greater than -0.
    max(x, y);
    /// The value without its sign.
    abs(x);
    /// The magnitude of `x` with the sign of `y`. Takes the sign of a NaN as it is; where that
    /// must be defined, pass `y` through [`Float::canonical`].
    copysign(x, y);
}

/// Remainder of Euclidean division: not negative, less than the magnitude of `y` before rounding.
///
/// A tiny negative `x` rounds up to the magnitude of `y` itself. NaN if `y` is zero or `x`
/// infinite.
#[inline]
pub fn rem_euclid<T: Float>(x: T, y: T) -> T {
    let rest = T::rem(x, y);
    if rest < T::ZERO { rest + T::abs(y) } else { rest }
}

/// -1, 0 or 1 as `x` is negative, zero or positive; zeros and NaN are returned as they are.
#[inline]
pub fn sign<T: Float>(x: T) -> T {
    let one = T::copysign(T::ONE, x);
    if x == T::ZERO || T::nan(x) { x } else { one }
}

/// `x` minus [`floor`] of `x`: 0 to 1, and 1 itself for a tiny negative `x`; NaN for infinities.
#[inline]
pub fn fract<T: Float>(x: T) -> T {
    x - T::floor(x)
}
