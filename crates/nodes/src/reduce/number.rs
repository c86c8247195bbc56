//! The types that reductions compute with, lane by lane.

use millstream_base::num;
use millstream_base::{ValueType, Vec2, Vec3, Vec4};

use super::spread::{self, is_safe, is_safe_f32};

/// A number, or a vector of them.
pub(crate) trait Number: ValueType + Copy {
    /// 0 in every lane.
    const ZERO: Self;
    /// 1 in every lane.
    const ONE: Self;

    /// The sum; integers wrap around.
    fn add(self, other: Self) -> Self;
    /// The product; integers wrap around.
    fn multiply(self, other: Self) -> Self;
    /// The lesser one in each lane; a number is preferred to NaN.
    fn lesser(self, other: Self) -> Self;
    /// The greater one in each lane; a number is preferred to NaN.
    fn greater(self, other: Self) -> Self;
}

/// A number with fractions.
pub(crate) trait Fraction: Number {
    /// The quotient by a count, which is rounded to the type first.
    fn divided_by(self, n: usize) -> Self;
    /// The square of the difference.
    fn squared_distance(self, other: Self) -> Self;
    /// The variance `self`, or its square root if `root` is set. Lanes in which the squares of the
    /// items have overflowed or lost bits are computed again from the items.
    fn of_spread(self, items: &[Self], root: bool) -> Self;
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
    ($($ty:ident $is_safe:ident),*) => {$(
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
            fn of_spread(self, items: &[Self], root: bool) -> Self {
                if $is_safe(self) {
                    return if root { num::sqrt(self) } else { self };
                }
                let spread = spread::deviation(items.iter().map(|item| f64::from(*item)));
                let spread = if root { spread } else { spread * spread };
                // With an item that is not finite the result is that of plain arithmetic, and so it
                // is for an empty list.
                if spread.is_nan() && self.is_nan() { self } else { spread as Self }
            }
        }
    )*};
}
floats!(f32 is_safe_f32, f64 is_safe);

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
            fn of_spread(self, items: &[Self], root: bool) -> Self {
                Self(std::array::from_fn(|i| {
                    if is_safe_f32(self.0[i]) {
                        return if root { num::sqrt(self.0[i]) } else { self.0[i] };
                    }
                    let lane: Vec<f32> = items.iter().map(|item| item.0[i]).collect();
                    self.0[i].of_spread(&lane, root)
                }))
            }
        }
    )*};
}
vectors!(Vec2 2 Vec3 3 Vec4 4);
