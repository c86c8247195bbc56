//! The table of operations: each operation has one row, which says everything about it.
//!
//! `operations!` passes the rows to another macro. From them follow the enum [`Op`](crate::Op) with
//! names, operands, lanes, costs and accuracies (`op`), the functions that every execution calls
//! (`meaning`), and the methods of values (`operators`).
//!
//! # How to add an operation
//!
//! 1. If it is a new elementary function, write it in `millstream_base::num`, and measure it with
//!    `cargo run --release -p millstream-base --example accuracy`.
//! 2. Add a row here. For the error function that is
//!
//!    ```text
//!    /// Error function.
//!    Erf erf(a) accuracy "0.5001" "1.2" { num::erf(a) }
//!    ```
//!
//!    The first word is the variant, the second the word in the text form and the method of
//!    [`Val`](crate::Val).
//! 3. If it is to be a node of its own, define that in the crate `nodes`, and generate the manual.
//!
//! Nothing else names all operations. A test computes every row on every lane as a single
//! operation, as a form, as a program and over columns, and compares the bits.
//!
//! # The rows
//!
//! *Arithmetic* rows read `Variant word(operands) -> gives cost N commutes(a, b) { meanings }`,
//! where `cost` may be missing, and `commutes` is present if exchanging `a` and `b` changes no bit.
//! `Same` gives the lane of the operands, `Bool` a truth value, `Cast` the other lane of that
//! width. The cost is explained at [`Op::cost`](crate::Op::cost). An operation takes the lanes for
//! which it has a meaning: `bool`, `integer` (`i32`, `i64`) and `float` (`f32`, `f64`); `T` is the
//! type of the lane.
//!
//! *Elementary* rows are functions of floats with the largest known error in ULP for `f32` and
//! `f64`, and with `commutes` as in arithmetic rows.
//!
//! A meaning may include faster ways to compute the same bits: `native` is an expression for
//! processors that round in one instruction; `usual` is right `unless` the last expression is true;
//! so is `single`, which is for one element only, where branches cost nothing.

/// Passes the table to the macro with this name.
macro_rules! operations {
    ($use:ident) => {
        $use! {
            arithmetic {
                /// `a + b`.
                Add add(a, b) -> Same commutes(a, b) { integer { T::add(a, b) } float { a + b } }
                /// `a - b`.
                Sub sub(a, b) -> Same { integer { T::sub(a, b) } float { a - b } }
                /// `a * b`.
                Mul mul(a, b) -> Same commutes(a, b) { integer { T::mul(a, b) } float { a * b } }
                /// `a / b`; integers truncate toward zero, an integer by zero gives 0, `MIN / -1`
                /// gives `MIN`.
                Div div(a, b) -> Same cost 8 { integer { T::div(a, b) } float { a / b } }
                /// `a - trunc(a / b) * b`, exact, with the sign of `a`; an integer by zero gives 0,
                /// a float NaN.
                Rem rem(a, b) -> Same cost 35 {
                    integer { T::rem(a, b) }
                    float { num::rem(a, b), usual T::rem_usual(a, b), unless T::rem_is_rare(a, b) }
                }
                /// [`Op::Rem`] plus, if it is negative, the magnitude of `b`; an integer by zero
                /// gives 0.
                RemEuclid rem_euclid(a, b) -> Same cost 35 {
                    integer { T::rem_euclid(a, b) }
                    float {
                        num::rem_euclid(a, b),
                        usual num::rem_euclid_usual(a, b),
                        unless T::rem_is_rare(a, b)
                    }
                }
                /// `-a`; flips the sign of a float, leaves `MIN` as it is.
                Neg neg(a) -> Same { integer { T::neg(a) } float { -a } }
                /// `a` without its sign; `MIN` stays `MIN`.
                Abs abs(a) -> Same { integer { T::abs(a) } float { num::abs(a) } }
                /// -1, 0 or 1; a float zero and NaN are returned unchanged.
                Sign sign(a) -> Same {
                    integer { T::sign(a) }
                    float { num::sign(a) }
                }
                /// The lesser operand; the number if the other is NaN, and -0 is less than +0
                /// (`minimumNumber`).
                Min min(a, b) -> Same commutes(a, b) {
                    integer { a.min(b) }
                    float { num::min(a, b), single if b < a { b } else { a }, unless is_tie(a, b) }
                }
                /// The greater operand; the number if the other is NaN, and +0 is greater than -0
                /// (`maximumNumber`).
                Max max(a, b) -> Same commutes(a, b) {
                    integer { a.max(b) }
                    float { num::max(a, b), single if b > a { b } else { a }, unless is_tie(a, b) }
                }
                /// Square root, correctly rounded.
                Sqrt sqrt(a) -> Same cost 8 { float { num::sqrt(a) } }
                /// Largest integer not above `a`.
                Floor floor(a) -> Same {
                    float { num::floor(a), native T::native_floor(a) }
                }
                /// Smallest integer not below `a`.
                Ceil ceil(a) -> Same {
                    float { num::ceil(a), native T::native_ceil(a) }
                }
                /// Nearest integer not further from zero than `a`.
                Trunc trunc(a) -> Same {
                    float { num::trunc(a), native T::native_trunc(a) }
                }
                /// Nearest integer, halves away from zero.
                Round round(a) -> Same { float { num::round(a) } }
                /// Nearest integer, halves to the even one.
                RoundEven round_even(a) -> Same {
                    float { num::round_even(a), native T::native_round_even(a) }
                }
                /// `a - floor(a)`.
                Fract fract(a) -> Same {
                    float { num::fract(a), native a - T::native_floor(a) }
                }
                /// `a * b + c` with one rounding.
                Fma fma(a, b, c) -> Same cost 35 commutes(a, b) { float { num::fma(a, b, c) } }
                /// The magnitude of `a` with the sign of `b`; a NaN in `b` counts as positive.
                Copysign copysign(a, b) -> Same {
                    float { num::copysign(a, T::canonical(b)) }
                }
                /// Bitwise or logical and.
                And and(a, b) -> Same commutes(a, b) { bool { a & b } integer { T::and(a, b) } }
                /// Bitwise or logical inclusive or.
                Or or(a, b) -> Same commutes(a, b) { bool { a | b } integer { T::or(a, b) } }
                /// Bitwise or logical exclusive or.
                Xor xor(a, b) -> Same commutes(a, b) { bool { a ^ b } integer { T::xor(a, b) } }
                /// Bitwise or logical complement.
                Not not(a) -> Same { bool { !a } integer { T::not(a) } }
                /// Shift left by `b` modulo the width.
                Shl shl(a, b) -> Same { integer { T::shl(a, b) } }
                /// Shift right by `b` modulo the width, copying the sign.
                Shr shr(a, b) -> Same { integer { T::shr(a, b) } }
                /// Shift right by `b` modulo the width, filling with zeros.
                Ushr ushr(a, b) -> Same { integer { T::ushr(a, b) } }
                /// Number of one bits.
                CountOnes count_ones(a) -> Same { integer { T::ones(a) } }
                /// Number of zero bits above the highest one bit; the width for 0.
                LeadingZeros leading_zeros(a) -> Same { integer { T::leading(a) } }
                /// Number of zero bits below the lowest one bit; the width for 0.
                TrailingZeros trailing_zeros(a) -> Same { integer { T::trailing(a) } }
                /// Whether `a` equals `b`; NaN equals nothing, -0 equals +0.
                Eq eq(a, b) -> Bool commutes(a, b) { bool { !(a ^ b) } integer { a == b } float { a == b } }
                /// Whether `a` differs from `b`; the opposite of [`Op::Eq`].
                Ne ne(a, b) -> Bool commutes(a, b) { bool { a ^ b } integer { a != b } float { a != b } }
                /// Whether `a < b`; false with a NaN.
                Lt lt(a, b) -> Bool { integer { a < b } float { a < b } }
                /// Whether `a <= b`; false with a NaN.
                Le le(a, b) -> Bool { integer { a <= b } float { a <= b } }
                /// Whether `a > b`; false with a NaN.
                Gt gt(a, b) -> Bool { integer { a > b } float { a > b } }
                /// Whether `a >= b`; false with a NaN.
                Ge ge(a, b) -> Bool { integer { a >= b } float { a >= b } }
                /// Whether `a` is NaN.
                IsNan is_nan(a) -> Bool { float { T::nan(a) } }
                /// Whether `a` is neither infinite nor NaN.
                IsFinite is_finite(a) -> Bool { float { T::finite(a) } }
                /// The same bits read as the float or integer lane of that width.
                Bitcast bitcast(a) -> Cast {
                    integer { <T as IntegerLane>::cast(a) }
                    float { <T as FloatLane>::cast(a) }
                }
            }
            elementary {
                /// Sine, radians.
                Sin sin(a) accuracy "0.6" "0.86" {
                    num::sin(a), usual T::sin_usual(a), unless T::angle_is_rare(a)
                }
                /// Cosine, radians.
                Cos cos(a) accuracy "0.6" "0.86" {
                    num::cos(a), usual T::cos_usual(a), unless T::angle_is_rare(a)
                }
                /// Tangent, radians.
                Tan tan(a) accuracy "0.5001" "1.12" {
                    num::tan(a), usual T::tan_usual(a), unless T::angle_is_rare(a)
                }
                /// Arc sine, radians.
                Asin asin(a) accuracy "0.5001" "0.81" { num::asin(a) }
                /// Arc cosine, radians.
                Acos acos(a) accuracy "0.5001" "0.81" { num::acos(a) }
                /// Arc tangent, radians.
                Atan atan(a) accuracy "0.5001" "0.84" { num::atan(a) }
                /// Angle of the point (`b`, `a`), radians.
                Atan2 atan2(a, b) accuracy "0.5001" "0.84" { num::atan2(a, b) }
                /// Hyperbolic sine.
                Sinh sinh(a) accuracy "0.5001" "0.86" { num::sinh(a) }
                /// Hyperbolic cosine.
                Cosh cosh(a) accuracy "0.5001" "0.86" { num::cosh(a) }
                /// Hyperbolic tangent.
                Tanh tanh(a) accuracy "0.5001" "2.34" { num::tanh(a) }
                /// Inverse hyperbolic sine.
                Asinh asinh(a) accuracy "0.5001" "1.25" { num::asinh(a) }
                /// Inverse hyperbolic cosine.
                Acosh acosh(a) accuracy "0.5001" "1.57" { num::acosh(a) }
                /// Inverse hyperbolic tangent.
                Atanh atanh(a) accuracy "0.5001" "1.57" { num::atanh(a) }
                /// e to the power `a`.
                Exp exp(a) accuracy "0.92" "0.81" { num::exp(a) }
                /// 2 to the power `a`.
                Exp2 exp2(a) accuracy "0.501" "0.81" { num::exp2(a) }
                /// e to the power `a`, minus 1.
                ExpM1 exp_m1(a) accuracy "0.5001" "1.08" { num::exp_m1(a) }
                /// Natural logarithm.
                Ln ln(a) accuracy "0.85" "0.84" { num::ln(a) }
                /// Natural logarithm of `1 + a`.
                Ln1p ln_1p(a) accuracy "0.5001" "0.83" { num::ln_1p(a) }
                /// Logarithm to base 2.
                Log2 log2(a) accuracy "0.512" "0.79" { num::log2(a) }
                /// Logarithm to base 10.
                Log10 log10(a) accuracy "0.512" "0.79" { num::log10(a) }
                /// `a` to the power `b`.
                Pow pow(a, b) accuracy "0.501" "0.86" { num::pow(a, b) }
                /// Cube root.
                Cbrt cbrt(a) accuracy "0.5001" "0.67" { num::cbrt(a) }
                /// Error function.
                Erf erf(a) accuracy "0.5001" "1.2" { num::erf(a) }
                /// 1 minus the error function.
                Erfc erfc(a) accuracy "0.5001" "3.9" { num::erfc(a) }
                /// Gamma function.
                Gamma gamma(a) accuracy "0.5001" "1.4 above zero, 4.3 below" { num::gamma(a) }
                /// Natural logarithm of the magnitude of the gamma function.
                LnGamma ln_gamma(a) accuracy "0.5001 above zero" "3.3 above zero" {
                    num::ln_gamma(a)
                }
                /// Square root of `a * a + b * b` without intermediate overflow.
                Hypot hypot(a, b) accuracy "0.5001" "0.51" commutes(a, b) { num::hypot(a, b) }
            }
            any_lane {
                /// `b` if the `bool` `a` is true, else `c`.
                Select select(a, b, c) -> Same
                /// The value in another lane: `bool` as 0 or 1; a number to `bool` as whether it is
                /// not zero (NaN is not); integers wrap or extend the sign; to a float rounds to
                /// nearest even; a float to an integer truncates and saturates, NaN giving 0.
                Convert convert(a) -> Any
            }
        }
    };
}

pub(crate) use operations;
