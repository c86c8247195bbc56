//! What each operation computes: the one place that says so.
//!
//! [`apply`] finds the Rust function of an operation on given lanes and hands it to a [`Visit`],
//! which calls it on single values (the scalar interpreter, constant folding) or in a loop over
//! columns. Both therefore compute the same. Each lane lists the operations it has; a test runs
//! all that [`Op::fits`] allows, so that none is forgotten.

#![expect(
    clippy::redundant_closure,
    reason = "a closure is always inlined, a function handed over by its name only if it is small"
)]

use millstream_base::Lane;
use millstream_base::num;

use super::columns::Stored;
use super::lane_value::{FloatLane, IntegerLane};
use super::op::Op;

/// What to do with the function of an operation.
pub(super) trait Visit: Sized {
    type Output;
    fn unary<A: Stored, R: Stored>(self, f: impl Fn(A) -> R + Copy) -> Self::Output;
    fn binary<A: Stored, R: Stored>(self, f: impl Fn(A, A) -> R + Copy) -> Self::Output;
    fn ternary<A: Stored>(self, f: impl Fn(A, A, A) -> A + Copy) -> Self::Output;
    fn select<A: Stored>(self, f: impl Fn(bool, A, A) -> A + Copy) -> Self::Output;

    /// As [`Visit::unary`] with `f`, which for operands that are not `rare` is `usual`.
    fn unary_with_rare<A: Stored, R: Stored>(
        self,
        f: impl Fn(A) -> R + Copy,
        _usual: impl Fn(A) -> R + Copy,
        _rare: impl Fn(A) -> bool + Copy,
    ) -> Self::Output {
        self.unary(f)
    }
    /// As [`Visit::binary`] with `f`, which for operands that are not `rare` is `usual`.
    fn binary_with_rare<A: Stored, R: Stored>(
        self,
        f: impl Fn(A, A) -> R + Copy,
        _usual: impl Fn(A, A) -> R + Copy,
        _rare: impl Fn(A, A) -> bool + Copy,
    ) -> Self::Output {
        self.binary(f)
    }
}

/// Hands `visit` the function of `op` on operands of lane `of` giving lane `to`.
///
/// # Panics
/// If the operation does not take these lanes, or is a constant or parameter.
#[inline]
pub(super) fn apply<V: Visit>(op: Op, of: Lane, to: Lane, visit: V) -> V::Output {
    match of {
        Lane::Bool => on_bool(op, to, visit),
        Lane::I32 => on_integer::<i32, V>(op, to, visit),
        Lane::I64 => on_integer::<i64, V>(op, to, visit),
        Lane::F32 => on_float::<f32, V>(op, to, visit),
        Lane::F64 => on_float::<f64, V>(op, to, visit),
    }
}

/// Hands `visit` the function of two operations on three floats of lane `of`: that of `inner` on the
/// first two, then that of `outer` on its result, as second operand if `second` says so, and the
/// third.
///
/// # Panics
/// If they are no sums, differences or products of floats.
#[inline]
pub(super) fn apply_pair<V: Visit>(
    inner: Op,
    outer: Op,
    second: bool,
    of: Lane,
    visit: V,
) -> V::Output {
    match of {
        Lane::F32 => pair::<f32, V>(inner, outer, second, visit),
        Lane::F64 => pair::<f64, V>(inner, outer, second, visit),
        Lane::Bool | Lane::I32 | Lane::I64 => unfit(outer, of),
    }
}

#[inline]
fn pair<T: FloatLane, V: Visit>(inner: Op, outer: Op, second: bool, v: V) -> V::Output {
    match (inner, outer, second) {
        (Op::Add, Op::Add, _) => v.ternary(
            #[inline(always)]
            |a: T, b: T, c: T| (a + b) + c,
        ),
        (Op::Add, Op::Sub, false) => v.ternary(
            #[inline(always)]
            |a: T, b: T, c: T| (a + b) - c,
        ),
        (Op::Add, Op::Sub, true) => v.ternary(
            #[inline(always)]
            |a: T, b: T, c: T| c - (a + b),
        ),
        (Op::Add, Op::Mul, _) => v.ternary(
            #[inline(always)]
            |a: T, b: T, c: T| (a + b) * c,
        ),
        (Op::Sub, Op::Add, _) => v.ternary(
            #[inline(always)]
            |a: T, b: T, c: T| (a - b) + c,
        ),
        (Op::Sub, Op::Sub, false) => v.ternary(
            #[inline(always)]
            |a: T, b: T, c: T| (a - b) - c,
        ),
        (Op::Sub, Op::Sub, true) => v.ternary(
            #[inline(always)]
            |a: T, b: T, c: T| c - (a - b),
        ),
        (Op::Sub, Op::Mul, _) => v.ternary(
            #[inline(always)]
            |a: T, b: T, c: T| (a - b) * c,
        ),
        (Op::Mul, Op::Add, _) => v.ternary(
            #[inline(always)]
            |a: T, b: T, c: T| (a * b) + c,
        ),
        (Op::Mul, Op::Sub, false) => v.ternary(
            #[inline(always)]
            |a: T, b: T, c: T| (a * b) - c,
        ),
        (Op::Mul, Op::Sub, true) => v.ternary(
            #[inline(always)]
            |a: T, b: T, c: T| c - (a * b),
        ),
        (Op::Mul, Op::Mul, _) => v.ternary(
            #[inline(always)]
            |a: T, b: T, c: T| (a * b) * c,
        ),
        _ => unfit(outer, T::LANE),
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn unfit(op: Op, of: Lane) -> ! {
    panic!("a form is verified, so `{}` does not compute on {of}", op.name())
}

#[inline]
fn convert<A: Stored, V: Visit>(to: Lane, v: V) -> V::Output {
    match to {
        Lane::Bool => v.unary(
            #[inline(always)]
            |a: A| a.to_bool(),
        ),
        Lane::I32 => v.unary(
            #[inline(always)]
            |a: A| a.to_i32(),
        ),
        Lane::I64 => v.unary(
            #[inline(always)]
            |a: A| a.to_i64(),
        ),
        Lane::F32 => v.unary(
            #[inline(always)]
            |a: A| a.to_f32(),
        ),
        Lane::F64 => v.unary(
            #[inline(always)]
            |a: A| a.to_f64(),
        ),
    }
}

#[inline]
fn choose<A: Stored, V: Visit>(v: V) -> V::Output {
    v.select(
        #[inline(always)]
        |c, a: A, b: A| if c { a } else { b },
    )
}

#[inline]
fn on_bool<V: Visit>(op: Op, to: Lane, v: V) -> V::Output {
    match op {
        Op::And => v.binary(
            #[inline(always)]
            |a: bool, b: bool| a & b,
        ),
        Op::Or => v.binary(
            #[inline(always)]
            |a: bool, b: bool| a | b,
        ),
        Op::Xor | Op::Ne => v.binary(
            #[inline(always)]
            |a: bool, b: bool| a ^ b,
        ),
        Op::Eq => v.binary(
            #[inline(always)]
            |a: bool, b: bool| !(a ^ b),
        ),
        Op::Not => v.unary(
            #[inline(always)]
            |a: bool| !a,
        ),
        Op::Select => choose::<bool, V>(v),
        Op::Convert => convert::<bool, V>(to, v),
        _ => unfit(op, Lane::Bool),
    }
}

#[inline]
fn on_integer<T: IntegerLane, V: Visit>(op: Op, to: Lane, v: V) -> V::Output {
    match op {
        Op::Add => v.binary(T::add),
        Op::Sub => v.binary(T::sub),
        Op::Mul => v.binary(T::mul),
        Op::Div => v.binary(T::div),
        Op::Rem => v.binary(T::rem),
        Op::RemEuclid => v.binary(T::rem_euclid),
        Op::Neg => v.unary(T::neg),
        Op::Abs => v.unary(T::abs),
        Op::Sign => v.unary(T::sign),
        Op::Min => v.binary(
            #[inline(always)]
            |a: T, b: T| a.min(b),
        ),
        Op::Max => v.binary(
            #[inline(always)]
            |a: T, b: T| a.max(b),
        ),
        Op::And => v.binary(T::and),
        Op::Or => v.binary(T::or),
        Op::Xor => v.binary(T::xor),
        Op::Not => v.unary(T::not),
        Op::Shl => v.binary(T::shl),
        Op::Shr => v.binary(T::shr),
        Op::Ushr => v.binary(T::ushr),
        Op::CountOnes => v.unary(T::ones),
        Op::LeadingZeros => v.unary(T::leading),
        Op::TrailingZeros => v.unary(T::trailing),
        Op::Eq => v.binary(
            #[inline(always)]
            |a: T, b: T| a == b,
        ),
        Op::Ne => v.binary(
            #[inline(always)]
            |a: T, b: T| a != b,
        ),
        Op::Lt => v.binary(
            #[inline(always)]
            |a: T, b: T| a < b,
        ),
        Op::Le => v.binary(
            #[inline(always)]
            |a: T, b: T| a <= b,
        ),
        Op::Gt => v.binary(
            #[inline(always)]
            |a: T, b: T| a > b,
        ),
        Op::Ge => v.binary(
            #[inline(always)]
            |a: T, b: T| a >= b,
        ),
        Op::Select => choose::<T, V>(v),
        Op::Convert => convert::<T, V>(to, v),
        Op::Bitcast => v.unary(<T as IntegerLane>::cast),
        _ => unfit(op, T::LANE),
    }
}

#[inline]
fn on_float<T: FloatLane, V: Visit>(op: Op, to: Lane, v: V) -> V::Output {
    match op {
        Op::Add => v.binary(
            #[inline(always)]
            |a: T, b: T| a + b,
        ),
        Op::Sub => v.binary(
            #[inline(always)]
            |a: T, b: T| a - b,
        ),
        Op::Mul => v.binary(
            #[inline(always)]
            |a: T, b: T| a * b,
        ),
        Op::Div => v.binary(
            #[inline(always)]
            |a: T, b: T| a / b,
        ),
        Op::Rem => v.binary_with_rare(
            #[inline(always)]
            |a: T, b: T| num::rem(a, b),
            #[inline(always)]
            |a: T, b: T| T::rem_usual(a, b),
            #[inline(always)]
            |a: T, b: T| T::rem_is_rare(a, b),
        ),
        Op::RemEuclid => v.binary_with_rare(
            #[inline(always)]
            |a: T, b: T| num::rem_euclid(a, b),
            #[inline(always)]
            |a: T, b: T| num::rem_euclid_usual(a, b),
            #[inline(always)]
            |a: T, b: T| T::rem_is_rare(a, b),
        ),
        Op::Neg => v.unary(
            #[inline(always)]
            |a: T| -a,
        ),
        Op::Abs => v.unary(
            #[inline(always)]
            |a: T| num::abs(a),
        ),
        Op::Sign => v.unary(
            #[inline(always)]
            |a: T| num::sign(a),
        ),
        Op::Min => v.binary(
            #[inline(always)]
            |a: T, b: T| num::min(a, b),
        ),
        Op::Max => v.binary(
            #[inline(always)]
            |a: T, b: T| num::max(a, b),
        ),
        Op::Sqrt => v.unary(
            #[inline(always)]
            |a: T| num::sqrt(a),
        ),
        Op::Floor => v.unary(
            #[inline(always)]
            |a: T| num::floor(a),
        ),
        Op::Ceil => v.unary(
            #[inline(always)]
            |a: T| num::ceil(a),
        ),
        Op::Trunc => v.unary(
            #[inline(always)]
            |a: T| num::trunc(a),
        ),
        Op::Round => v.unary(
            #[inline(always)]
            |a: T| num::round(a),
        ),
        Op::RoundEven => v.unary(
            #[inline(always)]
            |a: T| num::round_even(a),
        ),
        Op::Fract => v.unary(
            #[inline(always)]
            |a: T| num::fract(a),
        ),
        Op::Fma => v.ternary(
            #[inline(always)]
            |a: T, b: T, c: T| num::fma(a, b, c),
        ),
        Op::Copysign => v.binary(
            #[inline(always)]
            |a: T, b: T| num::copysign(a, T::canonical(b)),
        ),
        Op::Eq => v.binary(
            #[inline(always)]
            |a: T, b: T| a == b,
        ),
        Op::Ne => v.binary(
            #[inline(always)]
            |a: T, b: T| a != b,
        ),
        Op::Lt => v.binary(
            #[inline(always)]
            |a: T, b: T| a < b,
        ),
        Op::Le => v.binary(
            #[inline(always)]
            |a: T, b: T| a <= b,
        ),
        Op::Gt => v.binary(
            #[inline(always)]
            |a: T, b: T| a > b,
        ),
        Op::Ge => v.binary(
            #[inline(always)]
            |a: T, b: T| a >= b,
        ),
        Op::IsNan => v.unary(
            #[inline(always)]
            |a: T| T::nan(a),
        ),
        Op::IsFinite => v.unary(
            #[inline(always)]
            |a: T| T::finite(a),
        ),
        Op::Select => choose::<T, V>(v),
        Op::Convert => convert::<T, V>(to, v),
        Op::Bitcast => v.unary(<T as FloatLane>::cast),
        _ => elementary::<T, V>(op, v),
    }
}

#[inline]
fn elementary<T: FloatLane, V: Visit>(op: Op, v: V) -> V::Output {
    match op {
        Op::Sin => v.unary_with_rare(
            #[inline(always)]
            |a: T| num::sin(a),
            #[inline(always)]
            |a: T| T::sin_usual(a),
            #[inline(always)]
            |a: T| T::angle_is_rare(a),
        ),
        Op::Cos => v.unary_with_rare(
            #[inline(always)]
            |a: T| num::cos(a),
            #[inline(always)]
            |a: T| T::cos_usual(a),
            #[inline(always)]
            |a: T| T::angle_is_rare(a),
        ),
        Op::Tan => v.unary_with_rare(
            #[inline(always)]
            |a: T| num::tan(a),
            #[inline(always)]
            |a: T| T::tan_usual(a),
            #[inline(always)]
            |a: T| T::angle_is_rare(a),
        ),
        Op::Asin => v.unary(
            #[inline(always)]
            |a: T| num::asin(a),
        ),
        Op::Acos => v.unary(
            #[inline(always)]
            |a: T| num::acos(a),
        ),
        Op::Atan => v.unary(
            #[inline(always)]
            |a: T| num::atan(a),
        ),
        Op::Atan2 => v.binary(
            #[inline(always)]
            |a: T, b: T| num::atan2(a, b),
        ),
        Op::Sinh => v.unary(
            #[inline(always)]
            |a: T| num::sinh(a),
        ),
        Op::Cosh => v.unary(
            #[inline(always)]
            |a: T| num::cosh(a),
        ),
        Op::Tanh => v.unary(
            #[inline(always)]
            |a: T| num::tanh(a),
        ),
        Op::Asinh => v.unary(
            #[inline(always)]
            |a: T| num::asinh(a),
        ),
        Op::Acosh => v.unary(
            #[inline(always)]
            |a: T| num::acosh(a),
        ),
        Op::Atanh => v.unary(
            #[inline(always)]
            |a: T| num::atanh(a),
        ),
        Op::Exp => v.unary(
            #[inline(always)]
            |a: T| num::exp(a),
        ),
        Op::Exp2 => v.unary(
            #[inline(always)]
            |a: T| num::exp2(a),
        ),
        Op::ExpM1 => v.unary(
            #[inline(always)]
            |a: T| num::exp_m1(a),
        ),
        Op::Ln => v.unary(
            #[inline(always)]
            |a: T| num::ln(a),
        ),
        Op::Ln1p => v.unary(
            #[inline(always)]
            |a: T| num::ln_1p(a),
        ),
        Op::Log2 => v.unary(
            #[inline(always)]
            |a: T| num::log2(a),
        ),
        Op::Log10 => v.unary(
            #[inline(always)]
            |a: T| num::log10(a),
        ),
        Op::Pow => v.binary(
            #[inline(always)]
            |a: T, b: T| num::pow(a, b),
        ),
        Op::Cbrt => v.unary(
            #[inline(always)]
            |a: T| num::cbrt(a),
        ),
        Op::Hypot => v.binary(
            #[inline(always)]
            |a: T, b: T| num::hypot(a, b),
        ),
        _ => unfit(op, T::LANE),
    }
}
