//! Statistics of lists of numbers: histograms, quantiles, running results, positions in sorted
//! lists.

use std::ops::{Add, Mul, Sub};

use millstream_base::{Type, ValueType};
use millstream_node::{Failure, Kernel, NodeDef, Pace, Registry};

use super::by_bits::at_place;
use super::by_item::by_windows;
use super::sample::Mixed;
use super::{ITEM, LIST, slice};
use crate::cells::function;
use crate::each::{Items, each, each_list, try_each};
use crate::shape::{ORDERED, for_type, list_of};

pub(super) fn register(registry: &mut Registry) {
    registry.register(histogram());
    registry.register(quantile());
    registry.register(running());
    registry.register(differences());
    registry.register(search_sorted());
}

fn histogram() -> NodeDef {
    NodeDef::new("list.histogram", "A histogram: counts numbers in bins")
        .details(
            "The bins have equal widths and extend from `min` to `max`. Each bin includes its \
             lower edge; the last one also includes its upper edge. Numbers outside the range, and \
             NaN, are not counted. Without bins, or if `min` is not less than `max`, all counts \
             are 0. Bin k starts at `min + k * ((max - min) / bins)`.",
        )
        .input("list", list_of(Type::F64), "numbers to count")
        .input_or("min", Type::F64, 0.0, "lower edge of the first bin")
        .input_or("max", Type::F64, 1.0, "upper edge of the last bin")
        .input_or("bins", Type::I32, 10.0, "number of bins")
        .output("value", list_of(Type::I32), "count for each bin")
        .function(each_list::<(Items<f64>, f64, f64, i32), i32>(
            |(_, _, _, bins)| bins.max(0) as usize,
            |element, (items, low, high, bins), counts| {
                let (n, start) = (bins.max(0) as usize, counts.len());
                counts.resize(start + n, 0);
                if n == 0 || low >= high {
                    return Ok(());
                }
                // Halved, so that the width of the range does not overflow.
                let half = high * 0.5 - low * 0.5;
                let step = (high - low) / n as f64;
                let end_of = |bin: usize| match bin {
                    _ if step.is_finite() => bin as f64 * step + low,
                    _ => (bin as f64 * (half / n as f64) + low * 0.5) * 2.0,
                };
                element.pace.over(items, 1, |x| {
                    if !(low..=high).contains(x) {
                        return Ok(());
                    }
                    let mut bin = (((x * 0.5 - low * 0.5) / half * n as f64) as usize).min(n - 1);
                    // The quotient is rounded, so the edges of the bin decide.
                    if *x < end_of(bin) && bin > 0 {
                        bin -= 1;
                    } else if bin + 1 < n && *x >= end_of(bin + 1) {
                        bin += 1;
                    }
                    counts[start + bin] = counts[start + bin].saturating_add(1);
                    Ok(())
                })
            },
        ))
}

/// The definition of a quantile, which `reduce.quantile` shares.
pub(crate) const QUANTILE: &str = "0 gives the minimum, 0.5 the median and 1 the maximum; between \
    two consecutive numbers the quantile is interpolated linearly. NaN for an empty list, for a \
    list that contains NaN, and for a NaN fraction.";
/// The source of this kind of quantile.
pub(crate) const QUANTILE_SOURCE: &str =
    "type 7 of R. Hyndman, Y. Fan, \"Sample Quantiles in Statistical Packages\", 1996";

fn quantile() -> NodeDef {
    NodeDef::new("list.quantile", "A quantile of a list")
        .details(QUANTILE)
        .source(QUANTILE_SOURCE)
        .input("list", list_of(Type::F64), "numbers in any order")
        .input_or(
            "part",
            Type::F64,
            0.5,
            "fraction of the numbers below the result, 0 to 1, clamped",
        )
        .output("value", Type::F64, "")
        .kernel(|_| Ok(quantiles()))
}

/// The kernel from lists of numbers and fractions to quantiles.
pub(crate) fn quantiles() -> Kernel {
    function(try_each::<(Items<f64>, f64), _>(|element, (items, part)| {
        quantile_of(items, part, &mut element.pace)
    }))
}

fn quantile_of(items: &[f64], part: f64, pace: &mut Pace<'_>) -> Result<f64, Failure> {
    if items.is_empty() || part.is_nan() || items.iter().any(Number::is_nan) {
        return Ok(f64::NAN);
    }
    let place = part.clamp(0.0, 1.0) * (items.len() - 1) as f64;
    let (at, way) = (place.floor() as usize, place - place.floor());
    let low = at_place(items, at, pace)?;
    if way > 0.0 && at + 1 < items.len() {
        let high = at_place(items, at + 1, pace)?;
        return Ok(f64::on_line(low, high, way));
    }
    Ok(low)
}

const RUNNINGS: &[(&str, &str)] = &[
    ("sum", "sum"),
    ("product", "product"),
    ("minimum", "minimum; a number is preferred to NaN"),
    ("maximum", "maximum; a number is preferred to NaN"),
];

/// A number from which running results and differences are computed; integers wrap around.
trait Number: ValueType + Copy + PartialOrd {
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;

    /// The lesser of two numbers; a number is preferred to NaN.
    fn least(self, other: Self) -> Self {
        if other < self || self.is_nan() { other } else { self }
    }

    /// The greater of two numbers; a number is preferred to NaN.
    fn greatest(self, other: Self) -> Self {
        if other > self || self.is_nan() { other } else { self }
    }

    /// Whether a number comes before another in ascending order, with NaN last.
    fn is_less(&self, other: &Self) -> bool {
        self < other || (!self.is_nan() && other.is_nan())
    }

    fn is_nan(&self) -> bool {
        self.partial_cmp(self).is_none()
    }
}

macro_rules! number {
    ($($ty:ty: $plus:ident $minus:ident $times:ident,)*) => {$(
        impl Number for $ty {
            fn plus(self, other: Self) -> Self {
                <$ty>::$plus(self, other)
            }
            fn minus(self, other: Self) -> Self {
                <$ty>::$minus(self, other)
            }
            fn times(self, other: Self) -> Self {
                <$ty>::$times(self, other)
            }
        }
    )*};
}
number! {
    i32: wrapping_add wrapping_sub wrapping_mul,
    i64: wrapping_add wrapping_sub wrapping_mul,
    f32: add sub mul,
    f64: add sub mul,
}

fn running() -> NodeDef {
    NodeDef::new("list.running", "Running results of a list")
        .details(
            "Item i combines items 0 to i, from first to last; integers wrap around. `scan.sum` \
             and related nodes can also exclude the item itself.",
        )
        .choice("how", RUNNINGS, "sum", "how the items are combined")
        .generic("T", ORDERED)
        .input("list", LIST, "numbers to combine")
        .output("value", LIST, "running result, as long as the list")
        .kernel(|parts| {
            let how = parts.settings.text("how");
            Ok(for_type!(ordered parts.generics[0], T => run::<T>(match how {
                "product" => T::times,
                "minimum" => T::least,
                "maximum" => T::greatest,
                _ => T::plus,
            })))
        })
}

fn run<T: Number>(join: fn(T, T) -> T) -> Kernel {
    function(each_list::<(Items<T>,), T>(
        |(items,)| items.len(),
        move |_, (items,), results| {
            let mut so_far: Option<T> = None;
            results.extend(items.iter().map(|item| {
                let next = so_far.map_or(*item, |so_far| join(so_far, *item));
                so_far = Some(next);
                next
            }));
            Ok(())
        },
    ))
}

fn differences() -> NodeDef {
    NodeDef::new("list.differences", "Differences between neighboring items of a list")
        .details("Each item except the first, minus the previous one; integers wrap around.")
        .generic("T", ORDERED)
        .input("list", LIST, "numbers")
        .output("value", LIST, "differences, one fewer than the numbers; none for an empty list")
        .kernel(|parts| {
            Ok(for_type!(ordered parts.generics[0], T => by_windows::<T>(
                each_list::<(Items<T>,), T>(
                    |(items,)| items.len().saturating_sub(1),
                    |_, (items,), results| {
                        results.extend(items.windows(2).map(|pair| pair[1].minus(pair[0])));
                        Ok(())
                    },
                ),
                |call, item| {
                    let n = call.lists(0).n_items(0).saturating_sub(1);
                    Some(item.saturating_sub(1)..(item + 1).min(n))
                },
                |call, at| {
                    let lists = call.lists(0);
                    let items = slice::<T>(&lists, 0);
                    items[at + 1].minus(items[at])
                },
            )))
        })
}

const SIDES: &[(&str, &str)] = &[("before", "before equal items"), ("behind", "after equal items")];

fn search_sorted() -> NodeDef {
    NodeDef::new("list.search_sorted", "The position of an item in a sorted list")
        .details(
            "A binary search: the list must be in ascending order with NaN last, otherwise the \
             result is an arbitrary position. -0 and +0 are equal.",
        )
        .choice("side", SIDES, "before", "position relative to equal items")
        .generic("T", ORDERED)
        .input("list", LIST, "numbers in ascending order")
        .input("item", ITEM, "item to locate")
        .output("value", Type::I32, "index at which the item can be inserted, from 0")
        .kernel(|parts| {
            let behind = parts.settings.text("side") == "behind";
            Ok(for_type!(ordered parts.generics[0], T => {
                function(each::<(Items<T>, T), _>(move |(items, wanted)| {
                    let place = items.partition_point(|item| {
                        if behind { !wanted.is_less(item) } else { item.is_less(&wanted) }
                    });
                    i32::try_from(place).unwrap_or(i32::MAX)
                }))
            }))
        })
}
