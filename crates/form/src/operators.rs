//! The operators of values, and a method for each operation of the table.

use std::ops;

use crate::build::{Operand, Val};
use crate::op::Op;
use crate::table::operations;

macro_rules! number_first {
    ($($number:ident)*) => {$(
        number_first!($number, Add add, Sub sub, Mul mul, Div div, Rem rem);
    )*};
    ($number:ident, $($op:ident $method:ident),*) => {$(
        impl<'b> ops::$op<Val<'b>> for $number {
            type Output = Val<'b>;

            #[track_caller]
            fn $method(self, other: Val<'b>) -> Val<'b> {
                other.like(self).binary(Op::$op, other)
            }
        }
    )*};
}

number_first!(i32 f32 f64);

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

/// The method of an operation.
macro_rules! method {
    ($op:ident $name:ident ($a:ident)) => {
        #[doc = concat!("See [`Op::", stringify!($op), "`].")]
        #[track_caller]
        pub fn $name(self) -> Self {
            self.unary(Op::$op)
        }
    };
    ($op:ident $name:ident ($a:ident, $b:ident)) => {
        #[doc = concat!("See [`Op::", stringify!($op), "`].")]
        #[track_caller]
        pub fn $name(self, $b: impl Operand<'b>) -> Self {
            self.binary(Op::$op, $b)
        }
    };
    ($op:ident $name:ident ($a:ident, $b:ident, $c:ident)) => {
        #[doc = concat!("See [`Op::", stringify!($op), "`].")]
        #[track_caller]
        pub fn $name(self, $b: impl Operand<'b>, $c: impl Operand<'b>) -> Self {
            let lane = self.lane();
            self.builder().emit(Op::$op, lane, &[self, self.like($b), self.like($c)])
        }
    };
}

macro_rules! define_methods {
    (
        arithmetic {$(
            $(#[$doc:meta])*
            $variant:ident $name:ident $args:tt -> $gives:ident
            $(cost $cost:literal)? $(commutes $commuting:tt)? { $($meanings:tt)* }
        )*}
        elementary {$(
            $(#[$e_doc:meta])*
            $e_variant:ident $e_name:ident $e_args:tt accuracy $f32:literal $f64:literal
            $(commutes $e_commuting:tt)? { $($e_meaning:tt)* }
        )*}
        any_lane $any_lane:tt
    ) => {
        #[expect(
            clippy::should_implement_trait,
            reason = "every operation has a method, whether there is an operator or not"
        )]
        impl<'b> Val<'b> {
            $(method!($variant $name $args);)*
            $(method!($e_variant $e_name $e_args);)*
        }
    };
}

operations!(define_methods);
