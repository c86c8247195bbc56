//! The functions of the operations, from the meanings in the table.
//!
//! [`apply`] finds the Rust function of an operation on given lanes and passes it to a [`Visit`],
//! which calls it on single values (interpreter, constant folding, programs) or in a loop over
//! columns. All of them therefore compute the same.

use millstream_base::Lane;
use millstream_base::num;

use crate::arithmetic::{FloatLane, IntegerLane, is_tie};
use crate::op::Op;
use crate::storage::Stored;
use crate::table::operations;

/// A use of the function of an operation.
pub(crate) trait Visit: Sized {
    type Output;
    /// The visit for functions that take so long that the cost of calling them does not matter.
    type Long: Visit<Output = Self::Output>;
    fn long(self) -> Self::Long;
    fn unary<A: Stored, R: Stored>(self, f: impl Fn(A) -> R + Copy) -> Self::Output;
    fn binary<A: Stored, R: Stored>(self, f: impl Fn(A, A) -> R + Copy) -> Self::Output;
    fn ternary<A: Stored>(self, f: impl Fn(A, A, A) -> A + Copy) -> Self::Output;
    fn select<A: Stored>(self, f: impl Fn(bool, A, A) -> A + Copy) -> Self::Output;

    /// As [`Visit::unary`] with `f`; `native` is the same on machines with an instruction for it.
    fn unary_or_native<A: Stored>(
        self,
        f: impl Fn(A) -> A + Copy,
        _native: impl Fn(A) -> A + Copy,
    ) -> Self::Output {
        self.unary(f)
    }
    /// As [`Visit::binary`] with `f`; `usual` is the same for a single element whose operands are
    /// not `rare`.
    fn binary_or_single<A: Stored>(
        self,
        f: impl Fn(A, A) -> A + Copy,
        _usual: impl Fn(A, A) -> A + Copy,
        _rare: impl Fn(A, A) -> bool + Copy,
    ) -> Self::Output {
        self.binary(f)
    }
    /// As [`Visit::unary`] with `f`; `usual` is the same for operands that are not `rare`.
    fn unary_with_rare<A: Stored, R: Stored>(
        self,
        f: impl Fn(A) -> R + Copy,
        _usual: impl Fn(A) -> R + Copy,
        _rare: impl Fn(A) -> bool + Copy,
    ) -> Self::Output {
        self.unary(f)
    }
    /// As [`Visit::binary`] with `f`; `usual` is the same for operands that are not `rare`.
    fn binary_with_rare<A: Stored, R: Stored>(
        self,
        f: impl Fn(A, A) -> R + Copy,
        _usual: impl Fn(A, A) -> R + Copy,
        _rare: impl Fn(A, A) -> bool + Copy,
    ) -> Self::Output {
        self.binary(f)
    }
}

/// Calls a method of a visit with closures, which are always inlined: a function passed by name is
/// inlined only if it is small.
macro_rules! always {
    ($visit:ident.$method:ident, $(|$($arg:ident: $type:ty),*| $result:expr),*) => {
        $visit.$method($(
            #[inline(always)]
            |$($arg: $type),*| $result
        ),*)
    };
}

/// Passes the meaning in a row, on operands of type `$t`, to a visit.
macro_rules! meaning {
    ($v:ident, $t:ty, ($a:ident) { $f:expr }) => {
        always!($v.unary, |$a: $t| $f)
    };
    ($v:ident, $t:ty, ($a:ident) { $f:expr, native $native:expr }) => {
        always!($v.unary_or_native, |$a: $t| $f, |$a: $t| $native)
    };
    ($v:ident, $t:ty, ($a:ident) { $f:expr, usual $usual:expr, unless $rare:expr }) => {
        always!($v.unary_with_rare, |$a: $t| $f, |$a: $t| $usual, |$a: $t| $rare)
    };
    ($v:ident, $t:ty, ($a:ident, $b:ident) { $f:expr }) => {
        always!($v.binary, |$a: $t, $b: $t| $f)
    };
    ($v:ident, $t:ty, ($a:ident, $b:ident) { $f:expr, single $usual:expr, unless $rare:expr }) => {
        always!(
            $v.binary_or_single,
            |$a: $t, $b: $t| $f,
            |$a: $t, $b: $t| $usual,
            |$a: $t, $b: $t| $rare
        )
    };
    ($v:ident, $t:ty, ($a:ident, $b:ident) { $f:expr, usual $usual:expr, unless $rare:expr }) => {
        always!(
            $v.binary_with_rare,
            |$a: $t, $b: $t| $f,
            |$a: $t, $b: $t| $usual,
            |$a: $t, $b: $t| $rare
        )
    };
    ($v:ident, $t:ty, ($a:ident, $b:ident, $c:ident) { $f:expr }) => {
        always!($v.ternary, |$a: $t, $b: $t, $c: $t| $f)
    };
}

/// Passes the function of `op` from lane `of` to lane `to` to `visit`.
///
/// # Panics
/// If the operation does not take these lanes, or is a constant or parameter.
#[inline]
pub(crate) fn apply<V: Visit>(op: Op, of: Lane, to: Lane, visit: V) -> V::Output {
    match of {
        Lane::Bool => on_bool(op, to, visit),
        Lane::I32 => on_integer::<i32, V>(op, to, visit),
        Lane::I64 => on_integer::<i64, V>(op, to, visit),
        Lane::F32 => on_float::<f32, V>(op, to, visit),
        Lane::F64 => on_float::<f64, V>(op, to, visit),
    }
}

/// Passes to `visit` the function of two operations on three floats of lane `of`: `inner` on the
/// first two, then `outer` on the result of `inner` and the third. If `second` is set, that result
/// is the second operand of `outer`.
///
/// # Panics
/// Unless both are a sum, difference or product.
#[inline]
pub(crate) fn apply_pair<V: Visit>(
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

macro_rules! define_meanings {
    (
        arithmetic {$(
            $(#[$doc:meta])*
            $variant:ident $name:ident $args:tt -> $gives:ident
            $(cost $cost:literal)? $(commutes $commuting:tt)?
            { $(bool $bool:tt)? $(integer $integer:tt)? $(float $float:tt)? }
        )*}
        elementary {$(
            $(#[$e_doc:meta])*
            $e_variant:ident $e_name:ident $e_args:tt accuracy $f32:literal $f64:literal
            $(commutes $e_commuting:tt)? { $($e_meaning:tt)* }
        )*}
        any_lane $any_lane:tt
    ) => {
        #[inline]
        fn on_bool<V: Visit>(op: Op, to: Lane, v: V) -> V::Output {
            match op {
                $($(Op::$variant => meaning!(v, bool, $args $bool),)?)*
                Op::Select => choose::<bool, V>(v),
                Op::Convert => convert::<bool, V>(to, v),
                _ => unfit(op, Lane::Bool),
            }
        }

        #[inline]
        fn on_integer<T: IntegerLane, V: Visit>(op: Op, to: Lane, v: V) -> V::Output {
            match op {
                $($(Op::$variant => meaning!(v, T, $args $integer),)?)*
                Op::Select => choose::<T, V>(v),
                Op::Convert => convert::<T, V>(to, v),
                _ => unfit(op, T::LANE),
            }
        }

        #[inline]
        fn on_float<T: FloatLane, V: Visit>(op: Op, to: Lane, v: V) -> V::Output {
            match op {
                $($(Op::$variant => meaning!(v, T, $args $float),)?)*
                Op::Select => choose::<T, V>(v),
                Op::Convert => convert::<T, V>(to, v),
                _ => elementary::<T, V::Long>(op, v.long()),
            }
        }

        #[inline]
        fn elementary<T: FloatLane, V: Visit>(op: Op, v: V) -> V::Output {
            match op {
                $(Op::$e_variant => meaning!(v, T, $e_args { $($e_meaning)* }),)*
                _ => unfit(op, T::LANE),
            }
        }
    };
}

operations!(define_meanings);
