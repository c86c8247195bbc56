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

    /// As [`Visit::unary`] with `f`, which is `native` where the machine has its instruction.
    fn unary_or_native<A: Stored>(
        self,
        f: impl Fn(A) -> A + Copy,
        _native: impl Fn(A) -> A + Copy,
    ) -> Self::Output {
        self.unary(f)
    }
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

/// Calls a method of a visit with closures that are inlined wherever they are called: a function
/// handed over by its name is so only if it is small.
macro_rules! always {
    ($visit:ident.$method:ident, $(|$($arg:ident: $type:ty),*| $result:expr),*) => {
        $visit.$method($(
            #[inline(always)]
            |$($arg: $type),*| $result
        ),*)
    };
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
        (Op::Add, Op::Add, _) => always!(v.ternary, |a: T, b: T, c: T| (a + b) + c),
        (Op::Add, Op::Sub, false) => always!(v.ternary, |a: T, b: T, c: T| (a + b) - c),
        (Op::Add, Op::Sub, true) => always!(v.ternary, |a: T, b: T, c: T| c - (a + b)),
        (Op::Add, Op::Mul, _) => always!(v.ternary, |a: T, b: T, c: T| (a + b) * c),
        (Op::Sub, Op::Add, _) => always!(v.ternary, |a: T, b: T, c: T| (a - b) + c),
        (Op::Sub, Op::Sub, false) => always!(v.ternary, |a: T, b: T, c: T| (a - b) - c),
        (Op::Sub, Op::Sub, true) => always!(v.ternary, |a: T, b: T, c: T| c - (a - b)),
        (Op::Sub, Op::Mul, _) => always!(v.ternary, |a: T, b: T, c: T| (a - b) * c),
        (Op::Mul, Op::Add, _) => always!(v.ternary, |a: T, b: T, c: T| (a * b) + c),
        (Op::Mul, Op::Sub, false) => always!(v.ternary, |a: T, b: T, c: T| (a * b) - c),
        (Op::Mul, Op::Sub, true) => always!(v.ternary, |a: T, b: T, c: T| c - (a * b)),
        (Op::Mul, Op::Mul, _) => always!(v.ternary, |a: T, b: T, c: T| (a * b) * c),
        _ => unfit(outer, T::LANE),
    }
}

/// What to do with the function of arithmetic on floats.
pub(super) trait VisitArithmetic<T> {
    type Output;
    fn binary(self, f: impl Fn(T, T) -> T + Copy) -> Self::Output;
}

/// Hands `visit` the function of the commonest operations on two floats; `None` for all others.
pub(super) fn arithmetic<T: FloatLane, V: VisitArithmetic<T>>(op: Op, v: V) -> Option<V::Output> {
    Some(match op {
        Op::Add => always!(v.binary, |a: T, b: T| a + b),
        Op::Sub => always!(v.binary, |a: T, b: T| a - b),
        Op::Mul => always!(v.binary, |a: T, b: T| a * b),
        Op::Div => always!(v.binary, |a: T, b: T| a / b),
        Op::Min => always!(v.binary, |a: T, b: T| num::min(a, b)),
        Op::Max => always!(v.binary, |a: T, b: T| num::max(a, b)),
        _ => return None,
    })
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
        Lane::Bool => always!(v.unary, |a: A| a.to_bool()),
        Lane::I32 => always!(v.unary, |a: A| a.to_i32()),
        Lane::I64 => always!(v.unary, |a: A| a.to_i64()),
        Lane::F32 => always!(v.unary, |a: A| a.to_f32()),
        Lane::F64 => always!(v.unary, |a: A| a.to_f64()),
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
        Op::And => always!(v.binary, |a: bool, b: bool| a & b),
        Op::Or => always!(v.binary, |a: bool, b: bool| a | b),
        Op::Xor | Op::Ne => always!(v.binary, |a: bool, b: bool| a ^ b),
        Op::Eq => always!(v.binary, |a: bool, b: bool| !(a ^ b)),
        Op::Not => always!(v.unary, |a: bool| !a),
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
        Op::Min => always!(v.binary, |a: T, b: T| a.min(b)),
        Op::Max => always!(v.binary, |a: T, b: T| a.max(b)),
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
        Op::Eq => always!(v.binary, |a: T, b: T| a == b),
        Op::Ne => always!(v.binary, |a: T, b: T| a != b),
        Op::Lt => always!(v.binary, |a: T, b: T| a < b),
        Op::Le => always!(v.binary, |a: T, b: T| a <= b),
        Op::Gt => always!(v.binary, |a: T, b: T| a > b),
        Op::Ge => always!(v.binary, |a: T, b: T| a >= b),
        Op::Select => choose::<T, V>(v),
        Op::Convert => convert::<T, V>(to, v),
        Op::Bitcast => v.unary(<T as IntegerLane>::cast),
        _ => unfit(op, T::LANE),
    }
}

#[inline]
fn on_float<T: FloatLane, V: Visit>(op: Op, to: Lane, v: V) -> V::Output {
    match op {
        Op::Add => always!(v.binary, |a: T, b: T| a + b),
        Op::Sub => always!(v.binary, |a: T, b: T| a - b),
        Op::Mul => always!(v.binary, |a: T, b: T| a * b),
        Op::Div => always!(v.binary, |a: T, b: T| a / b),
        Op::Rem => always!(
            v.binary_with_rare,
            |a: T, b: T| num::rem(a, b),
            |a: T, b: T| T::rem_usual(a, b),
            |a: T, b: T| T::rem_is_rare(a, b)
        ),
        Op::RemEuclid => always!(
            v.binary_with_rare,
            |a: T, b: T| num::rem_euclid(a, b),
            |a: T, b: T| num::rem_euclid_usual(a, b),
            |a: T, b: T| T::rem_is_rare(a, b)
        ),
        Op::Neg => always!(v.unary, |a: T| -a),
        Op::Abs => always!(v.unary, |a: T| num::abs(a)),
        Op::Sign => always!(v.unary, |a: T| num::sign(a)),
        Op::Min => always!(v.binary, |a: T, b: T| num::min(a, b)),
        Op::Max => always!(v.binary, |a: T, b: T| num::max(a, b)),
        Op::Sqrt => always!(v.unary, |a: T| num::sqrt(a)),
        Op::Floor => {
            always!(v.unary_or_native, |a: T| num::floor(a), |a: T| T::native_floor(a))
        }
        Op::Ceil => {
            always!(v.unary_or_native, |a: T| num::ceil(a), |a: T| T::native_ceil(a))
        }
        Op::Trunc => {
            always!(v.unary_or_native, |a: T| num::trunc(a), |a: T| T::native_trunc(a))
        }
        Op::Round => always!(v.unary, |a: T| num::round(a)),
        Op::RoundEven => {
            always!(v.unary_or_native, |a: T| num::round_even(a), |a: T| T::native_round_even(a))
        }
        Op::Fract => {
            always!(v.unary_or_native, |a: T| num::fract(a), |a: T| a - T::native_floor(a))
        }
        Op::Fma => always!(v.ternary, |a: T, b: T, c: T| num::fma(a, b, c)),
        Op::Copysign => always!(v.binary, |a: T, b: T| num::copysign(a, T::canonical(b))),
        Op::Eq => always!(v.binary, |a: T, b: T| a == b),
        Op::Ne => always!(v.binary, |a: T, b: T| a != b),
        Op::Lt => always!(v.binary, |a: T, b: T| a < b),
        Op::Le => always!(v.binary, |a: T, b: T| a <= b),
        Op::Gt => always!(v.binary, |a: T, b: T| a > b),
        Op::Ge => always!(v.binary, |a: T, b: T| a >= b),
        Op::IsNan => always!(v.unary, |a: T| T::nan(a)),
        Op::IsFinite => always!(v.unary, |a: T| T::finite(a)),
        Op::Select => choose::<T, V>(v),
        Op::Convert => convert::<T, V>(to, v),
        Op::Bitcast => v.unary(<T as FloatLane>::cast),
        _ => elementary::<T, V>(op, v),
    }
}

#[inline]
fn elementary<T: FloatLane, V: Visit>(op: Op, v: V) -> V::Output {
    match op {
        Op::Sin => {
            always!(v.unary_with_rare, |a: T| num::sin(a), |a: T| T::sin_usual(a), |a: T| {
                T::angle_is_rare(a)
            })
        }
        Op::Cos => {
            always!(v.unary_with_rare, |a: T| num::cos(a), |a: T| T::cos_usual(a), |a: T| {
                T::angle_is_rare(a)
            })
        }
        Op::Tan => {
            always!(v.unary_with_rare, |a: T| num::tan(a), |a: T| T::tan_usual(a), |a: T| {
                T::angle_is_rare(a)
            })
        }
        Op::Asin => always!(v.unary, |a: T| num::asin(a)),
        Op::Acos => always!(v.unary, |a: T| num::acos(a)),
        Op::Atan => always!(v.unary, |a: T| num::atan(a)),
        Op::Atan2 => always!(v.binary, |a: T, b: T| num::atan2(a, b)),
        Op::Sinh => always!(v.unary, |a: T| num::sinh(a)),
        Op::Cosh => always!(v.unary, |a: T| num::cosh(a)),
        Op::Tanh => always!(v.unary, |a: T| num::tanh(a)),
        Op::Asinh => always!(v.unary, |a: T| num::asinh(a)),
        Op::Acosh => always!(v.unary, |a: T| num::acosh(a)),
        Op::Atanh => always!(v.unary, |a: T| num::atanh(a)),
        Op::Exp => always!(v.unary, |a: T| num::exp(a)),
        Op::Exp2 => always!(v.unary, |a: T| num::exp2(a)),
        Op::ExpM1 => always!(v.unary, |a: T| num::exp_m1(a)),
        Op::Ln => always!(v.unary, |a: T| num::ln(a)),
        Op::Ln1p => always!(v.unary, |a: T| num::ln_1p(a)),
        Op::Log2 => always!(v.unary, |a: T| num::log2(a)),
        Op::Log10 => always!(v.unary, |a: T| num::log10(a)),
        Op::Pow => always!(v.binary, |a: T, b: T| num::pow(a, b)),
        Op::Cbrt => always!(v.unary, |a: T| num::cbrt(a)),
        Op::Erf => always!(v.unary, |a: T| num::erf(a)),
        Op::Erfc => always!(v.unary, |a: T| num::erfc(a)),
        Op::Gamma => always!(v.unary, |a: T| num::gamma(a)),
        Op::LnGamma => always!(v.unary, |a: T| num::ln_gamma(a)),
        Op::Hypot => always!(v.binary, |a: T, b: T| num::hypot(a, b)),
        _ => unfit(op, T::LANE),
    }
}
