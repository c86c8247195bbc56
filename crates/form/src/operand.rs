//! What may stand beside a [`Val`] in an operation, and the operators and methods themselves.

use std::ops;

use millstream_base::Lane;

use super::build::{FormBuilder, Val};
use super::op::Op;

/// A value, or a Rust number that becomes a constant of the lane it is used with.
pub trait Operand<'b>: Copy {
    /// The lane, where the operand itself decides it.
    fn lane(&self) -> Option<Lane>;
    /// The operand as a value of `lane`; a value keeps its own lane, which then may not fit.
    fn into_val(self, builder: &'b FormBuilder, lane: Lane) -> Val<'b>;
}

impl<'b> Operand<'b> for Val<'b> {
    fn lane(&self) -> Option<Lane> {
        Some(self.lane)
    }
    fn into_val(self, _builder: &'b FormBuilder, _lane: Lane) -> Self {
        self
    }
}

macro_rules! number_operands {
    ($($number:ident)*) => {$(
        impl<'b> Operand<'b> for $number {
            fn lane(&self) -> Option<Lane> {
                None
            }
            #[track_caller]
            fn into_val(self, builder: &'b FormBuilder, lane: Lane) -> Val<'b> {
                builder.constant(lane, f64::from(self))
            }
        }

        number_operands!($number, Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem);
    )*};
    ($number:ident, $($trait:ident $method:ident $op:ident),*) => {$(
        impl<'b> ops::$trait<Val<'b>> for $number {
            type Output = Val<'b>;

            #[track_caller]
            fn $method(self, other: Val<'b>) -> Val<'b> {
                other.like(self).binary(Op::$op, other)
            }
        }
    )*};
}

number_operands!(i32 f32 f64);

impl<'b> Operand<'b> for i64 {
    fn lane(&self) -> Option<Lane> {
        None
    }
    #[track_caller]
    fn into_val(self, builder: &'b FormBuilder, lane: Lane) -> Val<'b> {
        match lane {
            Lane::I64 => builder.constant_i64(self),
            Lane::Bool | Lane::I32 | Lane::F32 | Lane::F64 => builder.constant(lane, self as f64),
        }
    }
}

impl<'b> Operand<'b> for bool {
    fn lane(&self) -> Option<Lane> {
        Some(Lane::Bool)
    }
    fn into_val(self, builder: &'b FormBuilder, _lane: Lane) -> Val<'b> {
        builder.constant_bool(self)
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $op:ident;)*) => {$(
        impl<'b, T: Operand<'b>> ops::$trait<T> for Val<'b> {
            type Output = Self;

            #[track_caller]
            fn $method(self, other: T) -> Self {
                self.binary(Op::$op, other)
            }
        }
    )*};
}

operators! {
    Add add Add;
    Sub sub Sub;
    Mul mul Mul;
    Div div Div;
    Rem rem Rem;
    BitAnd bitand And;
    BitOr bitor Or;
    BitXor bitxor Xor;
}

impl ops::Neg for Val<'_> {
    type Output = Self;

    #[track_caller]
    fn neg(self) -> Self {
        self.unary(Op::Neg)
    }
}

impl ops::Not for Val<'_> {
    type Output = Self;

    #[track_caller]
    fn not(self) -> Self {
        self.unary(Op::Not)
    }
}

macro_rules! unary_methods {
    ($($name:ident $op:ident;)*) => {
        impl<'b> Val<'b> {$(
            #[doc = concat!("See [`Op::", stringify!($op), "`].")]
            #[track_caller]
            pub fn $name(self) -> Self {
                self.unary(Op::$op)
            }
        )*}
    };
}

unary_methods! {
    abs Abs;
    sign Sign;
    sqrt Sqrt;
    floor Floor;
    ceil Ceil;
    trunc Trunc;
    round Round;
    round_even RoundEven;
    fract Fract;
    sin Sin;
    cos Cos;
    tan Tan;
    asin Asin;
    acos Acos;
    atan Atan;
    sinh Sinh;
    cosh Cosh;
    tanh Tanh;
    asinh Asinh;
    acosh Acosh;
    atanh Atanh;
    exp Exp;
    exp2 Exp2;
    exp_m1 ExpM1;
    ln Ln;
    ln_1p Ln1p;
    log2 Log2;
    log10 Log10;
    cbrt Cbrt;
    erf Erf;
    erfc Erfc;
    gamma Gamma;
    ln_gamma LnGamma;
    count_ones CountOnes;
    leading_zeros LeadingZeros;
    trailing_zeros TrailingZeros;
    is_nan IsNan;
    is_finite IsFinite;
    bitcast Bitcast;
}

macro_rules! binary_methods {
    ($($name:ident $op:ident;)*) => {
        #[expect(
            clippy::should_implement_trait,
            reason = "shifts stand as methods beside `ushr`, which has no operator"
        )]
        impl<'b> Val<'b> {$(
            #[doc = concat!("See [`Op::", stringify!($op), "`].")]
            #[track_caller]
            pub fn $name(self, other: impl Operand<'b>) -> Self {
                self.binary(Op::$op, other)
            }
        )*}
    };
}

binary_methods! {
    rem_euclid RemEuclid;
    min Min;
    max Max;
    atan2 Atan2;
    pow Pow;
    hypot Hypot;
    copysign Copysign;
    and And;
    or Or;
    xor Xor;
    shl Shl;
    shr Shr;
    ushr Ushr;
    eq Eq;
    ne Ne;
    lt Lt;
    le Le;
    gt Gt;
    ge Ge;
}
