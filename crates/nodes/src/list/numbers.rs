//! Statistics of lists of numbers: histograms, quantiles, running results, positions in sorted
//! lists.

use millstream_base::{Type, ValueType};
use millstream_node::{Among, Call, Failure, Kernel, NodeDef, Pace, Registry};

use super::by_bits::at_place;
use super::sample::Mixed;
use super::{ITEM, LIST, slice};
use crate::cells::{Cells, ListCells, function};
use crate::shape::list_of;

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
        .input("min", Type::F64, "lower edge of the first bin")
        .or_number(0.0)
        .input("max", Type::F64, "upper edge of the last bin")
        .or_number(1.0)
        .input("bins", Type::I32, "number of bins")
        .or_number(10.0)
        .output("value", list_of(Type::I32), "count for each bin")
        .kernel(|_| Ok(function(counted)))
}

fn counted(call: &mut Call<'_>) -> Result<(), Failure> {
    let mut cells = ListCells::<i32>::new(call);
    let lists = call.lists(0);
    let (low, high) = (call.input::<f64>(1), call.input::<f64>(2));
    let bins = call.input::<i32>(3);
    let n_bins = |i: usize| bins.get(i).max(0) as usize;
    let mut pace = call.pace();
    cells.fill(call, n_bins, |i, counts| {
        let (n, low, high) = (n_bins(i), low.get(i), high.get(i));
        let start = counts.len();
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
        pace.over(slice::<f64>(&lists, i), 1, |x| {
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
    })?;
    cells.put(call)
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
        .input("part", Type::F64, "fraction of the numbers below the result, 0 to 1, clamped")
        .or_number(0.5)
        .output("value", Type::F64, "")
        .kernel(|_| Ok(quantiles()))
}

/// The kernel from lists of numbers and fractions to quantiles.
pub(crate) fn quantiles() -> Kernel {
    function(|call| {
        let mut cells = Cells::<f64>::new(call);
        let (lists, parts) = (call.lists(0), call.input::<f64>(1));
        let mut pace = call.pace();
        cells.fill(call, |i| quantile_of(slice::<f64>(&lists, i), parts.get(i), &mut pace))?;
        cells.put(call);
        Ok(())
    })
}

fn quantile_of(items: &[f64], part: f64, pace: &mut Pace<'_>) -> Result<f64, Failure> {
    if items.is_empty() || part.is_nan() || items.iter().any(|x| x.is_nan()) {
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

const NUMBERS: Among = Among::These(&[Type::I32, Type::I64, Type::F32, Type::F64]);

const RUNNINGS: &[(&str, &str)] = &[
    ("sum", "sum"),
    ("product", "product"),
    ("minimum", "minimum; a number is preferred to NaN"),
    ("maximum", "maximum; a number is preferred to NaN"),
];

/// A number from which running results and differences are computed.
trait Number: ValueType + Copy {
    fn add(self, other: Self) -> Self;
    fn subtract(self, other: Self) -> Self;
    fn multiply(self, other: Self) -> Self;
    fn least(self, other: Self) -> Self;
    fn greatest(self, other: Self) -> Self;
    fn is_less(&self, other: &Self) -> bool;
}

macro_rules! whole_numbers {
    ($($ty:ty)*) => {$(
        impl Number for $ty {
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn subtract(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            fn multiply(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            fn least(self, other: Self) -> Self {
                self.min(other)
            }
            fn greatest(self, other: Self) -> Self {
                self.max(other)
            }
            fn is_less(&self, other: &Self) -> bool {
                self < other
            }
        }
    )*};
}

macro_rules! floats {
    ($($ty:ty)*) => {$(
        impl Number for $ty {
            fn add(self, other: Self) -> Self {
                self + other
            }
            fn subtract(self, other: Self) -> Self {
                self - other
            }
            fn multiply(self, other: Self) -> Self {
                self * other
            }
            fn least(self, other: Self) -> Self {
                if other < self || self.is_nan() { other } else { self }
            }
            fn greatest(self, other: Self) -> Self {
                if other > self || self.is_nan() { other } else { self }
            }
            fn is_less(&self, other: &Self) -> bool {
                self < other || (!self.is_nan() && other.is_nan())
            }
        }
    )*};
}
whole_numbers!(i32 i64);
floats!(f32 f64);

/// The kernel for the type of the items.
macro_rules! for_number {
    ($ty:expr, $T:ident => $kernel:expr) => {{
        let ty = $ty;
        if ty == Type::I32 {
            type $T = i32;
            $kernel
        } else if ty == Type::I64 {
            type $T = i64;
            $kernel
        } else if ty == Type::F32 {
            type $T = f32;
            $kernel
        } else {
            type $T = f64;
            $kernel
        }
    }};
}

fn running() -> NodeDef {
    NodeDef::new("list.running", "Running results of a list")
        .details(
            "Item i combines items 0 to i, from first to last; integers wrap around. `scan.sum` \
             and related nodes can also exclude the item itself.",
        )
        .choice("how", RUNNINGS, "sum", "how the items are combined")
        .generic("T", NUMBERS)
        .input("list", LIST, "numbers to combine")
        .output("value", LIST, "running result, as long as the list")
        .kernel(|parts| {
            let how = parts.settings.text("how");
            Ok(for_number!(parts.generics[0], T => run::<T>(match how {
                "product" => T::multiply,
                "minimum" => T::least,
                "maximum" => T::greatest,
                _ => T::add,
            })))
        })
}

fn run<T: Number>(join: fn(T, T) -> T) -> Kernel {
    function(move |call| {
        let mut cells = ListCells::<T>::new(call);
        let lists = call.lists(0);
        cells.fill(
            call,
            |i| lists.n_items(i),
            |i, results| {
                let mut so_far: Option<T> = None;
                results.extend(slice::<T>(&lists, i).iter().map(|item| {
                    let next = so_far.map_or(*item, |so_far| join(so_far, *item));
                    so_far = Some(next);
                    next
                }));
                Ok(())
            },
        )?;
        cells.put(call)
    })
}

fn differences() -> NodeDef {
    NodeDef::new("list.differences", "Differences between neighboring items of a list")
        .details("Each item except the first, minus the previous one; integers wrap around.")
        .generic("T", NUMBERS)
        .input("list", LIST, "numbers")
        .output("value", LIST, "differences, one fewer than the numbers; none for an empty list")
        .kernel(|parts| {
            Ok(for_number!(parts.generics[0], T => function(|call| {
                let mut cells = ListCells::<T>::new(call);
                let lists = call.lists(0);
                cells.fill(
                    call,
                    |i| lists.n_items(i).saturating_sub(1),
                    |i, results| {
                        let pairs = slice::<T>(&lists, i).windows(2);
                        results.extend(pairs.map(|pair| pair[1].subtract(pair[0])));
                        Ok(())
                    },
                )?;
                cells.put(call)
            })))
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
        .generic("T", NUMBERS)
        .input("list", LIST, "numbers in ascending order")
        .input("item", ITEM, "item to locate")
        .output("value", Type::I32, "index at which the item can be inserted, from 0")
        .kernel(|parts| {
            let behind = parts.settings.text("side") == "behind";
            Ok(for_number!(parts.generics[0], T => function(move |call| {
                let mut cells = Cells::<i32>::new(call);
                let (lists, wanted) = (call.lists(0), call.input::<T>(1));
                cells.fill(call, |i| {
                    let wanted = wanted.get(i);
                    let place = slice::<T>(&lists, i).partition_point(|item| {
                        if behind { !wanted.is_less(item) } else { item.is_less(&wanted) }
                    });
                    Ok(i32::try_from(place).unwrap_or(i32::MAX))
                })?;
                cells.put(call);
                Ok(())
            })))
        })
}
