//! Interpolation between points at uneven positions.

use std::marker::PhantomData;
use std::ops::Range;

use millstream_base::{Type, ValueType, Vec2, Vec3, Vec4};
use millstream_node::gather::{Gather, ItemsRead};
use millstream_node::{Call, Failure, Function, NodeDef, Registry, Settings};

use super::sample::Mixed;
use super::{ITEM, LIST, slice};
use crate::cells::{Cells, kernel};
use crate::shape::{FLOATS, choices, for_type, list_of};

pub(super) fn register(registry: &mut Registry) {
    registry.register(interpolate());
}

fn interpolate() -> NodeDef {
    NodeDef::new("list.interpolate", "Interpolates between points at uneven positions")
        .details(
            "At the position of a point the result is exactly its value. If several points share a \
             position, the curve jumps: from the left it approaches the value of the first, and at \
             the position it has that of the last. `cubic` and `monotone` are piecewise cubics in \
             each component; with only two points, and next to shared positions, they are linear \
             there. A NaN position gives NaN. Computed in `f64`. Fails if there are no points, if \
             the numbers of values and positions differ, and if positions are not finite or not in \
             ascending order. For points at 0, 1, 2 and so on see `list.sample`.",
        )
        .source(
            "monotone: F. Fritsch, J. Butland, \"A method for constructing local monotone \
             piecewise cubic interpolants\", 1984, with the end slopes of C. Moler, \"Numerical \
             Computing with MATLAB\", 3.6",
        )
        .choice("interpolation", Interpolation::ALL, "linear", "shape of the curve between points")
        .choice("beyond", Beyond::ALL, "clamp", "how the curve continues beyond the ends")
        .generic("T", FLOATS)
        .input("positions", list_of(Type::F64), "positions of the points, ascending")
        .input("values", LIST, "value of each point")
        .input_or("at", Type::F64, 0.0, "position of the result, in the unit of `positions`")
        .output("value", ITEM, "")
        .kernel(|parts| {
            let curve = Curve::of(parts.settings);
            Ok(for_type!(floats parts.generics[0], T => {
                kernel(Interpolated::<T> { curve, items: PhantomData })
            }))
        })
}

choices! {
    enum Interpolation {
        Nearest = "nearest": "the nearest point; the later one of two equally near points",
        Linear = "linear": "a straight line between neighbors",
        Cubic = "cubic":
            "a smooth curve; its slope at each point is that of the parabola through the point and \
             its neighbors",
        Monotone = "monotone": "a smooth curve that rises and falls only where the points do",
    }
}

choices! {
    enum Beyond {
        Clamp = "clamp": "the value of the end point",
        Line = "line": "a straight line through the last two points at that end",
        Wrap = "wrap":
            "the points repeat in both directions, with the last point of one copy at the first of \
             the next",
        Mirror = "mirror": "the points repeat, alternately reversed",
    }
}

/// The settings.
#[derive(Clone, Copy, Debug)]
struct Curve {
    interpolation: Interpolation,
    beyond: Beyond,
}

/// A value that consists of `f64`s, or is rounded from them.
trait Components: ValueType + Copy {
    fn component(self, i: usize) -> f64;
    fn of(component: impl Fn(usize) -> f64) -> Self;
}

macro_rules! numbers {
    ($($ty:ident)*) => {$(
        impl Components for $ty {
            fn component(self, _: usize) -> f64 {
                self.into()
            }
            fn of(component: impl Fn(usize) -> f64) -> Self {
                component(0) as Self
            }
        }
    )*};
}
numbers!(f32 f64);

macro_rules! vectors {
    ($($ty:ident)*) => {$(
        impl Components for $ty {
            fn component(self, i: usize) -> f64 {
                self.0[i].into()
            }
            fn of(component: impl Fn(usize) -> f64) -> Self {
                Self(std::array::from_fn(|i| component(i) as f32))
            }
        }
    )*};
}
vectors!(Vec2 Vec3 Vec4);

impl Curve {
    fn of(settings: &Settings) -> Self {
        Self {
            interpolation: Interpolation::named(settings.text("interpolation")),
            beyond: Beyond::named(settings.text("beyond")),
        }
    }

    /// The position between the ends to which a position anywhere is mapped.
    fn within(self, x: f64, first: f64, last: f64) -> f64 {
        // Computed as multiples of the width, which may be any number.
        let steps = |x: f64| {
            let width = last * 0.5 - first * 0.5;
            (x * 0.5 - first * 0.5) / width
        };
        let at = |share: f64| first * (1.0 - share) + last * share;
        if first >= last || (first..=last).contains(&x) {
            return x.clamp(first, last);
        }
        match self.beyond {
            Beyond::Clamp | Beyond::Line => x.clamp(first, last),
            Beyond::Wrap => at(steps(x).rem_euclid(1.0)).clamp(first, last),
            Beyond::Mirror => {
                let share = steps(x).rem_euclid(2.0);
                at(share.min(2.0 - share)).clamp(first, last)
            }
        }
    }

    /// The points whose values may matter at a position.
    fn read(self, positions: &[f64], x: f64) -> Range<usize> {
        let n = positions.len();
        let (Some(first), Some(last)) = (positions.first(), positions.last()) else { return 0..0 };
        if x.is_nan() {
            return 0..0;
        }
        if x < *first && (self.beyond == Beyond::Clamp || n == 1) {
            return 0..1;
        }
        let within = match self.beyond {
            Beyond::Line if n > 1 && x < *first => return 0..2,
            Beyond::Line if n > 1 && x > *last => return n - 2..n,
            Beyond::Clamp | Beyond::Line | Beyond::Wrap | Beyond::Mirror => {
                self.within(x, *first, *last)
            }
        };
        if within.is_nan() {
            return 0..0;
        }
        let k = positions.partition_point(|position| *position <= within).saturating_sub(1);
        if positions[k] == within {
            return k..k + 1;
        }
        match self.interpolation {
            Interpolation::Nearest | Interpolation::Linear => k..n.min(k + 2),
            // Slopes at both ends, of which each depends on the next point.
            Interpolation::Cubic | Interpolation::Monotone => k.saturating_sub(1)..n.min(k + 3),
        }
    }

    /// The value at a position, for at least one point in ascending order.
    fn value<T: Components>(self, positions: &[f64], values: &[T], x: f64) -> T {
        let (n, first, last) = (positions.len(), positions[0], positions[positions.len() - 1]);
        if x.is_nan() {
            return T::of(|_| f64::NAN);
        }
        if x < first && (self.beyond == Beyond::Clamp || n == 1) {
            return values[0];
        }
        let within = self.within(x, first, last);
        if within.is_nan() {
            return T::of(|_| f64::NAN);
        }
        let points = Points { positions, values };
        // Points up to and including the position.
        let n_before = positions.partition_point(|position| *position <= within);
        if self.beyond == Beyond::Line && n > 1 && within != x {
            let (from, k) = if x < first { (0, 0) } else { (n - 1, n - 2) };
            let way = x - positions[from];
            return T::of(|c| match points.slope(k, c) {
                0.0 => values[from].component(c),
                slope => values[from].component(c) + slope * way,
            });
        }
        if n_before == 0 || positions[n_before - 1] == within {
            return values[n_before.saturating_sub(1)];
        }
        let k = n_before - 1;
        let Some(next) = values.get(k + 1) else { return values[k] };
        // Halved, so that the width of the range does not overflow.
        let width = positions[k + 1] * 0.5 - positions[k] * 0.5;
        let t = (within * 0.5 - positions[k] * 0.5) / width;
        match self.interpolation {
            Interpolation::Nearest if t < 0.5 => values[k],
            Interpolation::Nearest => *next,
            Interpolation::Linear => {
                T::of(|c| f64::on_line(values[k].component(c), next.component(c), t))
            }
            Interpolation::Cubic | Interpolation::Monotone => T::of(|c| {
                let (a, b) = (values[k].component(c), next.component(c));
                let steep = |i: usize| match self.interpolation {
                    Interpolation::Monotone => points.monotone(i, c),
                    _ => points.parabola(i, c),
                };
                let (from, to) = (steep(k) * width * 2.0, steep(k + 1) * width * 2.0);
                let rest = 1.0 - t;
                // Hermite form, as an offset from the straight line.
                let bend = (from - (b - a)) * rest + ((b - a) - to) * t;
                a * rest + b * t + bend * (t * rest)
            }),
        }
    }
}

/// Points in ascending order.
struct Points<'a, T> {
    positions: &'a [f64],
    values: &'a [T],
}

impl<T: Components> Points<'_, T> {
    fn width(&self, k: usize) -> f64 {
        self.positions[k + 1] - self.positions[k]
    }

    /// The slope of component `c` between points `k` and `k + 1`; 0 at a jump.
    fn slope(&self, k: usize, c: usize) -> f64 {
        let width = self.width(k);
        let way = self.values[k + 1].component(c) - self.values[k].component(c);
        if width > 0.0 { way / width } else { 0.0 }
    }

    /// The intervals of positive width before and after a point, none of them across a jump.
    fn beside(&self, i: usize) -> (Option<usize>, Option<usize>) {
        let is_wide = |k: &usize| self.width(*k) > 0.0;
        let before = i.checked_sub(1).filter(is_wide);
        let behind = Some(i).filter(|k| k + 1 < self.positions.len()).filter(is_wide);
        (before, behind)
    }

    /// The slope at a point of the parabola through it and its neighbors; at an end, that of the
    /// line.
    fn parabola(&self, i: usize, c: usize) -> f64 {
        match self.beside(i) {
            (Some(a), Some(b)) => {
                let share = self.width(a) / (self.width(a) + self.width(b));
                self.slope(a, c) * (1.0 - share) + self.slope(b, c) * share
            }
            (Some(k), None) | (None, Some(k)) => self.slope(k, c),
            (None, None) => 0.0,
        }
    }

    /// The slope at a point that makes the curve rise and fall only where the points do.
    fn monotone(&self, i: usize, c: usize) -> f64 {
        match self.beside(i) {
            (Some(a), Some(b)) => {
                let (before, behind) = (self.slope(a, c), self.slope(b, c));
                let is_turn = (before <= 0.0 && behind >= 0.0) || (before >= 0.0 && behind <= 0.0);
                if is_turn {
                    return 0.0;
                }
                let share =
                    (2.0 * self.width(b) + self.width(a)) / (3.0 * (self.width(a) + self.width(b)));
                1.0 / (share / before + (1.0 - share) / behind)
            }
            (None, Some(k)) => self.end(k, self.beside(k + 1).1, c),
            (Some(k), None) => self.end(k, self.beside(k).0, c),
            (None, None) => 0.0,
        }
    }

    /// The slope at an end, from the last interval and the one next to it, limited to avoid
    /// overshoot.
    fn end(&self, k: usize, beside: Option<usize>, c: usize) -> f64 {
        let last = self.slope(k, c);
        let Some(other) = beside else { return last };
        let (near, far) = (self.width(k), self.width(other));
        let next = self.slope(other, c);
        let share = near / (near + far);
        let steep = last * (1.0 + share) - next * share;
        if steep * last <= 0.0 {
            0.0
        } else if last * next <= 0.0 && steep.abs() > 3.0 * last.abs() {
            3.0 * last
        } else {
            steep
        }
    }
}

struct Interpolated<T> {
    curve: Curve,
    items: PhantomData<fn(T)>,
}

impl<T: Components> Function for Interpolated<T> {
    fn call(&self, call: &mut Call<'_>) -> Result<(), Failure> {
        on_lists::<T>(call, self.curve)
    }

    fn gather(&self) -> Option<Gather<'_>> {
        Some(Gather::Elements(self))
    }
}

impl<T: Components> ItemsRead for Interpolated<T> {
    fn list(&self) -> usize {
        1
    }

    fn items_read(
        &self,
        call: &Call<'_>,
        visit: &mut dyn FnMut(usize, usize),
    ) -> Result<(), Failure> {
        let (positions, wanted) = (call.lists(0), call.input::<f64>(2));
        for i in call.mask() {
            let read = self.curve.read(slice::<f64>(&positions, i), wanted.get(i));
            read.for_each(|item| visit(i, item));
        }
        Ok(())
    }
}

fn on_lists<T: Components>(call: &mut Call<'_>, curve: Curve) -> Result<(), Failure> {
    let mut cells = Cells::<T>::new(call);
    let (positions, values, wanted) = (call.lists(0), call.lists(1), call.input::<f64>(2));
    // Elements usually share one list, which is then checked only once.
    let mut checked: Option<Range<usize>> = None;
    let mut pace = call.pace();
    cells.fill(call, |i| {
        let (of_x, of_y) = (slice::<f64>(&positions, i), slice::<T>(&values, i));
        if of_x.len() != of_y.len() {
            let message = format!("{} values for {} positions", of_y.len(), of_x.len());
            return Err(Failure::at(i, message));
        }
        let range = positions.parts(i).1;
        if checked.as_ref() != Some(&range) {
            pace.work(range.len())?;
            check(of_x).map_err(|message| Failure::at(i, message))?;
            checked = Some(range);
        }
        Ok(curve.value(of_x, of_y, wanted.get(i)))
    })?;
    cells.put(call);
    Ok(())
}

/// The problem with positions, if there is one.
fn check(positions: &[f64]) -> Result<(), String> {
    if positions.is_empty() {
        return Err("there are no points to interpolate; give at least one".into());
    }
    if let Some(at) = positions.iter().position(|x| !x.is_finite()) {
        return Err(format!("position {at} is {}; positions must be finite", positions[at]));
    }
    match positions.windows(2).position(|pair| pair[0] > pair[1]) {
        Some(at) => {
            let (a, b) = (positions[at], positions[at + 1]);
            Err(format!("positions must be ascending, but {b} follows {a} (item {})", at + 1))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
