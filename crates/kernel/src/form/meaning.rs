//! What each operation computes: the one place that says so.
//!
//! [`apply`] finds the Rust function of an operation on given lanes and hands it to a [`Visit`],
//! which calls it on single values (the scalar interpreter, constant folding) or in a loop over
//! columns. Both therefore compute the same. Each lane lists the operations it has; a test runs
//! all that [`Op::fits`] allows, so that none is forgotten.

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
        Op::Rem => v.binary_with_rare(num::rem::<T>, T::rem_usual, T::rem_is_rare),
        Op::RemEuclid => {
            v.binary_with_rare(num::rem_euclid::<T>, num::rem_euclid_usual::<T>, T::rem_is_rare)
        }
        Op::Neg => v.unary(
            #[inline(always)]
            |a: T| -a,
        ),
        Op::Abs => v.unary(num::abs::<T>),
        Op::Sign => v.unary(num::sign::<T>),
        Op::Min => v.binary(num::min::<T>),
        Op::Max => v.binary(num::max::<T>),
        Op::Sqrt => v.unary(num::sqrt::<T>),
        Op::Floor => v.unary(num::floor::<T>),
        Op::Ceil => v.unary(num::ceil::<T>),
        Op::Trunc => v.unary(num::trunc::<T>),
        Op::Round => v.unary(num::round::<T>),
        Op::RoundEven => v.unary(num::round_even::<T>),
        Op::Fract => v.unary(num::fract::<T>),
        Op::Fma => v.ternary(num::fma::<T>),
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
        Op::Sin => v.unary_with_rare(num::sin::<T>, T::sin_usual, T::angle_is_rare),
        Op::Cos => v.unary_with_rare(num::cos::<T>, T::cos_usual, T::angle_is_rare),
        Op::Tan => v.unary_with_rare(num::tan::<T>, T::tan_usual, T::angle_is_rare),
        Op::Asin => v.unary(num::asin::<T>),
        Op::Acos => v.unary(num::acos::<T>),
        Op::Atan => v.unary(num::atan::<T>),
        Op::Atan2 => v.binary(num::atan2::<T>),
        Op::Sinh => v.unary(num::sinh::<T>),
        Op::Cosh => v.unary(num::cosh::<T>),
        Op::Tanh => v.unary(num::tanh::<T>),
        Op::Asinh => v.unary(num::asinh::<T>),
        Op::Acosh => v.unary(num::acosh::<T>),
        Op::Atanh => v.unary(num::atanh::<T>),
        Op::Exp => v.unary(num::exp::<T>),
        Op::Exp2 => v.unary(num::exp2::<T>),
        Op::ExpM1 => v.unary(num::exp_m1::<T>),
        Op::Ln => v.unary(num::ln::<T>),
        Op::Ln1p => v.unary(num::ln_1p::<T>),
        Op::Log2 => v.unary(num::log2::<T>),
        Op::Log10 => v.unary(num::log10::<T>),
        Op::Pow => v.binary(num::pow::<T>),
        Op::Cbrt => v.unary(num::cbrt::<T>),
        Op::Hypot => v.binary(num::hypot::<T>),
        _ => unfit(op, T::LANE),
    }
}
