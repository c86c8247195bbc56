//! The types that reductions compute with, lane by lane.

use millstream_base::num;
use millstream_base::{ValueType, Vec2, Vec3, Vec4};

/// A number, or a vector of them.
pub(crate) trait Number: ValueType + Copy {
    /// 0 in every lane.
    const ZERO: Self;
    /// 1 in every lane.
    const ONE: Self;

    /// The sum; integers wrap.
    fn add(self, other: Self) -> Self;
    /// The product; integers wrap.
    fn multiply(self, other: Self) -> Self;
    /// The lesser in each lane; a NaN gives way to a number.
    fn lesser(self, other: Self) -> Self;
    /// The greater in each lane; a NaN gives way to a number.
    fn greater(self, other: Self) -> Self;
}

/// A number with fractions.
pub(crate) trait Fraction: Number {
    /// Divided by a count, which is rounded to the type first.
    fn divided_by(self, n: usize) -> Self;
    /// The square of the difference.
    fn squared_distance(self, other: Self) -> Self;
    /// The square root.
    fn root(self) -> Self;
}

macro_rules! integers {
    ($($ty:ident)*) => {$(
        impl Number for $ty {
            const ZERO: Self = 0;
            const ONE: Self = 1;

            #[inline]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline]
            fn multiply(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline]
            fn lesser(self, other: Self) -> Self {
                self.min(other)
            }
            #[inline]
            fn greater(self, other: Self) -> Self {
                self.max(other)
            }
        }
    )*};
}
integers!(i32 i64);

macro_rules! floats {
    ($($ty:ident)*) => {$(
        impl Number for $ty {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;

            #[inline]
            fn add(self, other: Self) -> Self {
                self + other
            }
            #[inline]
            fn multiply(self, other: Self) -> Self {
                self * other
            }
            #[inline]
            fn lesser(self, other: Self) -> Self {
                num::min(self, other)
            }
            #[inline]
            fn greater(self, other: Self) -> Self {
                num::max(self, other)
            }
        }

        impl Fraction for $ty {
            #[inline]
            fn divided_by(self, n: usize) -> Self {
                self / n as Self
            }
            #[inline]
            fn squared_distance(self, other: Self) -> Self {
                (self - other) * (self - other)
            }
            #[inline]
            fn root(self) -> Self {
                num::sqrt(self)
            }
        }
    )*};
}
floats!(f32 f64);

macro_rules! vectors {
    ($($ty:ident $n:literal)*) => {$(
        impl Number for $ty {
            const ZERO: Self = Self([0.0; $n]);
            const ONE: Self = Self([1.0; $n]);

            #[inline]
            fn add(self, other: Self) -> Self {
                Self(std::array::from_fn(|i| self.0[i] + other.0[i]))
            }
            #[inline]
            fn multiply(self, other: Self) -> Self {
                Self(std::array::from_fn(|i| self.0[i] * other.0[i]))
            }
            #[inline]
            fn lesser(self, other: Self) -> Self {
                Self(std::array::from_fn(|i| num::min(self.0[i], other.0[i])))
            }
            #[inline]
            fn greater(self, other: Self) -> Self {
                Self(std::array::from_fn(|i| num::max(self.0[i], other.0[i])))
            }
        }

        impl Fraction for $ty {
            #[inline]
            fn divided_by(self, n: usize) -> Self {
                Self(self.0.map(|lane| lane / n as f32))
            }
            #[inline]
            fn squared_distance(self, other: Self) -> Self {
                Self(std::array::from_fn(|i| self.0[i].squared_distance(other.0[i])))
            }
            #[inline]
            fn root(self) -> Self {
                Self(self.0.map(num::sqrt))
            }
        }
    )*};
}
vectors!(Vec2 2 Vec3 3 Vec4 4);
