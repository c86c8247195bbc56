//! Coarse operations: parts of forms that run as one loop, without a chunk for each instruction.
//!
//! Each is written once, in a table, over [`Real`] and [`Whole`]: from values of a form it gives
//! the template that `recognize` looks for, from lanes the loop that runs instead (`coarse`). Both
//! therefore compute the same, operation by operation.

use std::ops::{Add, Mul, Sub};
use std::sync::LazyLock;

use millstream_base::id::Id;
use millstream_base::lane::Lane;
use millstream_base::num;

use crate::arithmetic::{FloatLane, IntegerLane};
use crate::build::{FormBuilder, Val};
use crate::inst::Form;
use crate::lane_value::LaneValue;
use crate::op::Op;

/// Most operands that a coarse operation has.
pub(super) const MAX_OPERANDS: usize = 16;

/// A `f32`, as a lane or in a form.
pub(super) trait Real:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>
{
    type Whole: Whole<Real = Self>;
    /// The largest integer not above, by an instruction if `native` says that there is one.
    fn lower(self, native: bool) -> Self;
    /// See [`Op::Convert`].
    fn whole(self) -> Self::Whole;
}

/// An `i32`, as a lane or in a form; arithmetic wraps.
pub(super) trait Whole: Copy {
    type Real: Real<Whole = Self>;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn shl(self, n: Self) -> Self;
    /// Shifted right, filled with zeros.
    fn ushr(self, n: Self) -> Self;
    /// See [`Op::Convert`].
    fn real(self) -> Self::Real;
}

impl Real for f32 {
    type Whole = i32;

    #[inline(always)]
    fn lower(self, native: bool) -> Self {
        if native { self.native_floor() } else { num::floor(self) }
    }
    #[inline(always)]
    fn whole(self) -> i32 {
        LaneValue::to_i32(self)
    }
}

impl Whole for i32 {
    type Real = f32;

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        IntegerLane::add(self, other)
    }
    #[inline(always)]
    fn times(self, other: Self) -> Self {
        IntegerLane::mul(self, other)
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        IntegerLane::xor(self, other)
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        IntegerLane::or(self, other)
    }
    #[inline(always)]
    fn shl(self, n: Self) -> Self {
        IntegerLane::shl(self, n)
    }
    #[inline(always)]
    fn ushr(self, n: Self) -> Self {
        IntegerLane::ushr(self, n)
    }
    #[inline(always)]
    fn real(self) -> f32 {
        LaneValue::to_f32(self)
    }
}

impl<'b> Real for Val<'b> {
    type Whole = Val<'b>;

    fn lower(self, _native: bool) -> Self {
        self.unary(Op::Floor)
    }
    fn whole(self) -> Self {
        self.convert(Lane::I32)
    }
}

impl<'b> Whole for Val<'b> {
    type Real = Val<'b>;

    fn plus(self, other: Self) -> Self {
        self + other
    }
    fn times(self, other: Self) -> Self {
        self * other
    }
    fn xor(self, other: Self) -> Self {
        self ^ other
    }
    fn or(self, other: Self) -> Self {
        self | other
    }
    fn shl(self, n: Self) -> Self {
        self.binary(Op::Shl, n)
    }
    fn ushr(self, n: Self) -> Self {
        self.binary(Op::Ushr, n)
    }
    fn real(self) -> Self {
        self.convert(Lane::F32)
    }
}

/// From `a` to `b`.
#[inline(always)]
pub(super) fn lerp<R: Real>(a: R, b: R, t: R) -> R {
    a + t * (b - a)
}

/// The numbers drawn from a hash, times a way each, added up.
#[inline(always)]
pub(super) fn sloped<R: Real, const N: usize>(
    hash: R::Whole,
    way: [R; N],
    keys: [R::Whole; N],
) -> R {
    let mut sum = hash.times(keys[0]).real() * way[0];
    // Iterators would not be inlined into code for all widths.
    let mut i = 1;
    while i < N {
        sum = sum + hash.times(keys[i]).real() * way[i];
        i += 1;
    }
    sum
}

/// The weight of the upper side of a cell of noise, for the place within it.
#[inline(always)]
pub(super) fn faded<R: Real>(t: R, [c, d, e]: [R; 3]) -> R {
    t * t * t * (t * (t * c - d) + e)
}

/// The hashed cell of noise along an axis, and the place within it.
#[inline(always)]
pub(super) fn cell<R: Real>(x: R, key: R::Whole, word: R::Whole, native: bool) -> (R::Whole, R) {
    let floor = x.lower(native);
    (floor.whole().times(key).plus(word), x - floor)
}

/// The slopes at both ends of an edge of noise along the first axis, blended.
#[inline(always)]
pub(super) fn edge3<R: Real>(
    [x, y, z]: [R; 3],
    [a, b, c]: [R::Whole; 3],
    (t, one, step): (R, R, R::Whole),
    keys: [R::Whole; 3],
) -> R {
    let upper = a.plus(step).xor(b).xor(c);
    lerp(sloped(a.xor(b).xor(c), [x, y, z], keys), sloped(upper, [x - one, y, z], keys), t)
}

/// The same in a plane.
#[inline(always)]
pub(super) fn edge2<R: Real>(
    [x, y]: [R; 2],
    [a, b]: [R::Whole; 2],
    (t, one, step): (R, R, R::Whole),
    keys: [R::Whole; 2],
) -> R {
    lerp(sloped(a.xor(b), [x, y], keys), sloped(a.plus(step).xor(b), [x - one, y], keys), t)
}

/// Gradient noise in space: the slopes at the corners of a cell, blended.
#[inline(always)]
pub(super) fn perlin3<R: Real>(
    [x, y, z]: [R; 3],
    (one, curve): (R, [R; 3]),
    [steps, words, keys]: [[R::Whole; 3]; 3],
    native: bool,
) -> R {
    let (a, x) = cell(x, steps[0], words[0], native);
    let (b, y) = cell(y, steps[1], words[1], native);
    let (c, z) = cell(z, steps[2], words[2], native);
    let (next_b, next_c) = (b.plus(steps[1]), c.plus(steps[2]));
    let (along, t) = ((faded(x, curve), one, steps[0]), faded(y, curve));
    let near = edge3([x, y, z], [a, b, c], along, keys);
    let near = lerp(near, edge3([x, y - one, z], [a, next_b, c], along, keys), t);
    let far = edge3([x, y, z - one], [a, b, next_c], along, keys);
    let far = lerp(far, edge3([x, y - one, z - one], [a, next_b, next_c], along, keys), t);
    lerp(near, far, faded(z, curve))
}

/// The same in a plane.
#[inline(always)]
pub(super) fn perlin2<R: Real>(
    [x, y]: [R; 2],
    (one, curve): (R, [R; 3]),
    [steps, words, keys]: [[R::Whole; 2]; 3],
    native: bool,
) -> R {
    let (a, x) = cell(x, steps[0], words[0], native);
    let (b, y) = cell(y, steps[1], words[1], native);
    let along = (faded(x, curve), one, steps[0]);
    let near = edge2([x, y], [a, b], along, keys);
    lerp(near, edge2([x, y - one], [a, b.plus(steps[1])], along, keys), faded(y, curve))
}

/// Hands the table of coarse operations to a macro. A row has the operands: reals, whole numbers,
/// and of both kinds those that are the same for all elements; then the operations that others may
/// read as well, and the computation.
macro_rules! coarse_operations {
    ($use:ident) => {
        $use! {
            /// Noise in space; its cells may be those of other octaves too.
            Perlin3(x y z; ; one c d e; i j h u v w k l m) -> f32,
                sharing [Floor Sub Mul Add Convert Xor], |native|
                perlin3([x, y, z], (one, [c, d, e]), [[i, j, h], [u, v, w], [k, l, m]], native);
            /// Noise in a plane.
            Perlin2(x y; ; one c d e; i j u v k l) -> f32,
                sharing [Floor Sub Mul Add Convert Xor], |native|
                perlin2([x, y], (one, [c, d, e]), [[i, j], [u, v], [k, l]], native);
            /// An edge of a cube of noise: the slopes at both ends, blended.
            Edge3(x y z t; a b c; one; step k l m) -> f32, sharing [Xor Sub Add], |_native|
                edge3([x, y, z], [a, b, c], (t, one, step), [k, l, m]);
            /// An edge of a square of noise.
            Edge2(x y t; a b; one; step k l) -> f32, sharing [Xor Sub Add], |_native|
                edge2([x, y], [a, b], (t, one, step), [k, l]);
            /// The slope at a corner.
            Slope3(x y z; hash; ; k l m) -> f32, sharing [], |_native| sloped(hash, [x, y, z], [k, l, m]);
            /// The slope at a corner of a plane.
            Slope2(x y; hash; ; k l) -> f32, sharing [], |_native| sloped(hash, [x, y], [k, l]);
            /// Blends of blends.
            Lerp2(a b c d s t; ; ; ) -> f32, sharing [], |_native| lerp(lerp(a, b, s), lerp(c, d, s), t);
            /// A blend.
            Lerp(a b t; ; ; ) -> f32, sharing [], |_native| lerp(a, b, t);
            /// The weight of such a blend.
            Fade(t; ; c d e; ) -> f32, sharing [], |_native| faded(t, [c, d, e]);
            /// The sum of three products.
            Dot3(a b c d e f; ; ; ) -> f32, sharing [], |_native| a * b + c * d + e * f;
            /// The sum of two products.
            Dot2(a b c d; ; ; ) -> f32, sharing [], |_native| a * b + c * d;
            /// The hashed cell along an axis.
            Lattice(x; ; ; k w) -> i32, sharing [Floor], |native| x.lower(native).whole().times(k).plus(w);
            /// The place within a cell.
            Rest(x; ; ; ) -> f32, sharing [Floor], |native| x - x.lower(native);
            /// A word's bits moved to both sides, most often in a circle.
            Rotated(; w; ; k r) -> i32, sharing [], |_native| w.shl(k).or(w.ushr(r));
            /// A word's bits mixed.
            Shuffled(; w; ; s k r) -> i32, sharing [], |_native|
                {
                    let w = w.xor(w.ushr(s)).times(k);
                    w.xor(w.ushr(r))
                };
        }
    };
}

pub(super) use coarse_operations;

macro_rules! define_shapes {
    ($(
        $(#[$doc:meta])*
        $name:ident($($real:ident)*; $($whole:ident)*; $($given:ident)*; $($key:ident)*)
        -> $result:ident, sharing [$($shared:ident)*], |$native:ident| $compute:expr;
    )*) => {
        /// A coarse operation. Operands: reals, whole numbers, and of both kinds those that are the
        /// same for all elements.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Shape {
            $($(#[$doc])* $name,)*
        }

        impl Shape {
            /// All of them.
            pub(super) const ALL: &[Self] = &[$(Self::$name),*];

            /// The form that it computes; the operands are its parameters.
            fn template(self) -> Template {
                let b = FormBuilder::new();
                match self {
                    $(Self::$name => {
                        $(let $real = b.param(Lane::F32);)*
                        $(let $whole = b.param(Lane::I32);)*
                        $(let $given = b.param(Lane::F32);)*
                        $(let $key = b.param(Lane::I32);)*
                        let $native = false;
                        let varying: &[Val<'_>] = &[$($real,)* $($whole,)*];
                        Template::new(b.finish(&[$compute]), varying.len(), &[$(Op::$shared),*])
                    })*
                }
            }
        }
    };
}

coarse_operations!(define_shapes);

/// A form that may be part of another.
pub(super) struct Template {
    pub(super) form: Form,
    /// The first so many parameters may vary; the others are the same for all elements.
    pub(super) n_varying: usize,
    /// Operations that may be read by others too; they are then computed again.
    pub(super) shared: &'static [Op],
    /// For each register how many operands it is.
    pub(super) n_uses: Vec<u32>,
}

impl Template {
    pub(super) fn new(form: Form, n_varying: usize, shared: &'static [Op]) -> Self {
        assert!(form.params.len() <= MAX_OPERANDS, "a coarse operation has few operands");
        let mut n_uses = vec![0; form.insts.len()];
        for arg in form.insts.iter().flat_map(|(_, inst)| inst.args()) {
            n_uses[arg.index()] += 1;
        }
        Self { form, n_varying, shared, n_uses }
    }

    /// The form.
    #[cfg(test)]
    pub(super) fn form(&self) -> &Form {
        &self.form
    }

    /// How many of its parameters may vary.
    #[cfg(test)]
    pub(super) fn n_varying(&self) -> usize {
        self.n_varying
    }
}

/// The templates, in the order of [`Shape::ALL`].
pub(super) static TEMPLATES: LazyLock<Vec<Template>> =
    LazyLock::new(|| Shape::ALL.iter().map(|shape| shape.template()).collect());
