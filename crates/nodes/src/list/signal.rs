//! Lists of numbers as signals: products, convolution, smoothing, slopes, areas, correlation.

use millstream_base::{Type, ValueType};
use millstream_node::{Among, Call, Failure, Kernel, NodeDef, Registry, SocketType};

use super::by_item::{by_windows, is_short};
use super::rolling::{mean_around, means_around};
use super::{LIST, slice};
use crate::cells::function;
use crate::each::{Items, each, each_list};
use crate::shape::{choices, for_type};

pub(super) fn register(registry: &mut Registry) {
    registry.register(dot());
    registry.register(correlation());
    registry.register(covariance());
    registry.register(convolve());
    registry.register(smooth());
    registry.register(gradient());
    registry.register(integral());
}

const FLOATS: Among = Among::These(&[Type::F32, Type::F64]);

/// A number of a list, which is computed with in double precision.
pub(super) trait Real: ValueType + Copy {
    fn wide(self) -> f64;
    fn narrow(x: f64) -> Self;
}

impl Real for f32 {
    fn wide(self) -> f64 {
        f64::from(self)
    }
    fn narrow(x: f64) -> Self {
        x as Self
    }
}

impl Real for f64 {
    fn wide(self) -> f64 {
        self
    }
    fn narrow(x: f64) -> Self {
        x
    }
}

fn on_reals(name: &'static str, summary: &'static str) -> NodeDef {
    NodeDef::new(name, summary).generic("T", FLOATS)
}

const WIDE: &str = "Computed in double precision, from first item to last.";

/// Like [`WIDE`], for sums.
const SUMMED: &str = "Computed in double precision, from first item to last. In `f32` a result has \
    a relative error of at most 6e-8 from the final rounding; in addition, for n numbers in either \
    type, the error is at most n * 3e-16 times the sum of the magnitudes of the summands.";

/// The kernel that computes one number from two lists.
fn of_two<T: Real>(number: fn(&[T], &[T]) -> f64) -> Kernel {
    function(each::<(Items<T>, Items<T>), _>(move |(a, b)| T::narrow(number(a, b))))
}

fn dot() -> NodeDef {
    on_reals("list.dot", "The dot product of two lists")
        .details(format!("Surplus items of the longer list are ignored. {SUMMED}"))
        .input("a", LIST, "")
        .input("b", LIST, "")
        .output("value", SocketType::Generic(0), "")
        .commutes()
        .kernel(|parts| {
            Ok(for_type!(real parts.generics[0], T => of_two::<T>(|a, b| {
                a.iter().zip(b).map(|(x, y)| x.wide() * y.wide()).sum()
            })))
        })
}

fn correlation() -> NodeDef {
    on_reals("list.correlation", "The correlation coefficient of two lists (Pearson)")
        .details(format!(
            "1 if one list is an increasing linear function of the other, -1 if it is a decreasing \
             one, 0 if there is no linear relation. Surplus items of the longer list are ignored. \
             NaN if a list is constant. {WIDE}"
        ))
        .input("a", LIST, "")
        .input("b", LIST, "")
        .output("value", SocketType::Generic(0), "-1 to 1")
        .commutes()
        .kernel(|parts| Ok(for_type!(real parts.generics[0], T => of_two::<T>(likeness))))
}

fn likeness<T: Real>(a: &[T], b: &[T]) -> f64 {
    let n = a.len().min(b.len());
    let (Some(a), Some(b)) = (around_mean(&a[..n]), around_mean(&b[..n])) else { return f64::NAN };
    let sum = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    (sum(&a, &b) / (sum(&a, &a) * sum(&b, &b)).sqrt()).clamp(-1.0, 1.0)
}

fn covariance() -> NodeDef {
    on_reals("list.covariance", "The covariance of two lists")
        .details(format!(
            "The mean of the products of the differences from the means; NaN for no items. Surplus \
             items of the longer list are ignored. Multiplied by n / (n - 1) it is the unbiased \
             estimate from a sample of n items. {WIDE}"
        ))
        .input("a", LIST, "")
        .input("b", LIST, "")
        .output("value", SocketType::Generic(0), "")
        .commutes()
        .kernel(|parts| Ok(for_type!(real parts.generics[0], T => of_two::<T>(covaried))))
}

fn covaried<T: Real>(a: &[T], b: &[T]) -> f64 {
    let n = a.len().min(b.len());
    let ((a, of_a), (b, of_b)) = (from_mean(&a[..n]), from_mean(&b[..n]));
    let sum: f64 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
    // Multiplication by powers of two is exact, unless the result is out of range.
    if (of_a * of_b).is_normal() {
        sum / n as f64 * (of_a * of_b)
    } else {
        // In an order that does not depend on which list comes first.
        sum / n as f64 * of_a.min(of_b) * of_a.max(of_b)
    }
}

/// The differences of numbers from their mean, scaled by a power of two so that sums do not
/// overflow, and that power.
fn from_mean<T: Real>(numbers: &[T]) -> (Vec<f64>, f64) {
    const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
    let wide = || numbers.iter().map(|x| x.wide());
    let largest = wide().fold(0.0, |most: f64, x| most.max(x.abs()));
    let power = f64::from_bits(largest.to_bits() & EXPONENT);
    let power = if power > 0.0 && power.is_finite() { power } else { 1.0 };
    let mean = wide().map(|x| x / power).sum::<f64>() / numbers.len() as f64;
    (wide().map(|x| x / power - mean).collect(), power)
}

/// The differences of numbers from their mean, scaled by the largest so that squares neither
/// overflow nor vanish; `None` if all numbers are equal.
fn around_mean<T: Real>(numbers: &[T]) -> Option<Vec<f64>> {
    let wide = || numbers.iter().map(|x| x.wide());
    let largest = wide().fold(0.0, |most: f64, x| most.max(x.abs()));
    let first = wide().next()?;
    if wide().all(|x| x == first) {
        return None;
    }
    let scaled: Vec<f64> = wide().map(|x| x / largest).collect();
    let mean = scaled.iter().sum::<f64>() / scaled.len() as f64;
    let farthest = scaled.iter().fold(0.0, |most: f64, x| most.max((x - mean).abs()));
    Some(scaled.iter().map(|x| (x - mean) / farthest).collect())
}

fn convolve() -> NodeDef {
    on_reals("list.convolve", "Convolves a list with a kernel")
        .details(format!(
            "Item k is the sum of list[i] * kernel[k - i] over all i. The list is 0 beyond its \
             ends. The result is empty if the list or the kernel is. {SUMMED}"
        ))
        .choice("part", Part::ALL, "same", "part of the convolution to return")
        .input("list", LIST, "")
        .input("kernel", LIST, "weights")
        .output("value", LIST, "")
        .kernel(|parts| {
            let part = Part::named(parts.settings.text("part"));
            Ok(for_type!(real parts.generics[0], T => convolving::<T>(part)))
        })
}

choices! {
    enum Part {
        Same = "same": "as long as the list, with the center of the kernel at each item",
        Full = "full": "all positions at which the two overlap",
        Valid = "valid": "all positions at which the kernel lies inside the list",
    }
}

impl Part {
    /// The index of the first sum, and the number of sums.
    fn range(self, n: usize, n_kernel: usize) -> (usize, usize) {
        if n == 0 || n_kernel == 0 {
            return (0, 0);
        }
        match self {
            Self::Full => (0, n + n_kernel - 1),
            Self::Same => ((n_kernel - 1) / 2, n),
            Self::Valid => (n_kernel - 1, (n + 1).saturating_sub(n_kernel)),
        }
    }
}

fn convolving<T: Real>(part: Part) -> Kernel {
    let range_of = move |call: &Call<'_>| {
        let (n, n_kernel) = (call.lists(0).n_items(0), call.lists(1).n_items(0));
        (part.range(n, n_kernel), n, n_kernel)
    };
    let whole = each_list::<(Items<T>, Items<T>), T>(
        move |(items, kernel)| part.range(items.len(), kernel.len()).1,
        move |element, (items, kernel), out| {
            let (first, count) = part.range(items.len(), kernel.len());
            let products = count.saturating_mul(kernel.len().min(items.len()));
            let limit = element.limits.list_length;
            if products > limit {
                let failure =
                    Failure::limit("products in one list", products, limit, "list_length");
                return Err(Failure { element: Some(element.i), ..failure });
            }
            for k in first..first + count {
                element.pace.work(kernel.len().min(items.len()))?;
                out.push(convolved(items, kernel, k));
            }
            Ok(())
        },
    );
    by_windows::<T>(
        whole,
        move |call, item| {
            let ((first, count), n, n_kernel) = range_of(call);
            let end = (item + n_kernel).saturating_sub(first).min(count);
            is_short(n_kernel, n).then_some(item.saturating_sub(first).min(end)..end)
        },
        move |call, at| {
            let ((first, _), ..) = range_of(call);
            let (items, kernel) = (call.lists(0), call.lists(1));
            convolved::<T>(slice(&items, 0), slice(&kernel, 0), first + at)
        },
    )
}

/// The sum of `items[at] * kernel[k - at]`.
fn convolved<T: Real>(items: &[T], kernel: &[T], k: usize) -> T {
    let from = (k + 1).saturating_sub(kernel.len());
    let to = (k + 1).min(items.len());
    T::narrow((from..to).map(|at| items[at].wide() * kernel[k - at].wide()).sum())
}

fn smooth() -> NodeDef {
    on_reals("list.smooth", "Smooths a list by averaging neighbors")
        .details(format!(
            "Each item becomes the mean of itself and up to `radius` items on either side, as far \
             as they exist. A radius of 0 or less changes nothing. {SUMMED} From a radius of 16 \
             on, sums are added in the order of `list.rolling`."
        ))
        .input("list", LIST, "")
        .input_or("radius", Type::I32, 1.0, "number of neighbors on either side")
        .output("value", LIST, "smoothed list")
        .kernel(|parts| Ok(for_type!(real parts.generics[0], T => smoothing::<T>())))
}

fn smoothing<T: Real>() -> Kernel {
    let whole = each_list::<(Items<T>, i32), T>(
        |(items, _)| items.len(),
        |element, (items, radius), out| {
            let radius = radius.max(0) as usize;
            if radius < FAR {
                out.extend((0..items.len()).map(|at| smoothed(items, radius, at)));
            } else {
                let wide: Vec<f64> = items.iter().map(|x| x.wide()).collect();
                out.extend(means_around(&wide, radius, &mut element.pace)?.map(T::narrow));
            }
            Ok(())
        },
    );
    let radius_of = |call: &Call<'_>| call.input::<i32>(1).get(0).max(0) as usize;
    by_windows::<T>(
        whole,
        move |call, item| {
            let (n, radius) = (call.lists(0).n_items(0), radius_of(call));
            let end = item.saturating_add(radius).saturating_add(1).min(n);
            let size = radius.saturating_mul(2).saturating_add(1);
            is_short(size, n).then_some(item.saturating_sub(radius)..end)
        },
        move |call, at| {
            let lists = call.lists(0);
            smoothed::<T>(slice(&lists, 0), radius_of(call), at)
        },
    )
}

/// The radius from which on sums are those of rolling windows.
const FAR: usize = 16;

/// The mean of the items up to a distance from one of them.
fn smoothed<T: Real>(items: &[T], radius: usize, at: usize) -> T {
    if radius == 0 {
        return items[at];
    }
    if radius >= FAR {
        return T::narrow(mean_around(at, |at| items[at].wide(), (items.len(), radius)));
    }
    let seen = &items[at.saturating_sub(radius)..(at + radius + 1).min(items.len())];
    T::narrow(seen.iter().map(|x| x.wide()).sum::<f64>() / seen.len() as f64)
}

fn gradient() -> NodeDef {
    on_reals("list.gradient", "The gradient of a list")
        .details(
            "Half of the difference between the two neighbors, divided by the spacing; at an end, \
             the difference to the only neighbor divided by the spacing. 0 for a list of one item.",
        )
        .input("list", LIST, "evenly spaced values")
        .input_or("spacing", SocketType::Generic(0), 1.0, "distance between neighboring items")
        .output("value", LIST, "slope at each item")
        .kernel(|parts| Ok(for_type!(real parts.generics[0], T => slopes::<T>())))
}

fn slopes<T: Real>() -> Kernel {
    let whole = each_list::<(Items<T>, T), T>(
        |(items, _)| items.len(),
        |_, (items, spacing), out| {
            out.extend((0..items.len()).map(|at| slope(items, spacing, at)));
            Ok(())
        },
    );
    by_windows::<T>(
        whole,
        |call, item| Some(item.saturating_sub(1)..(item + 2).min(call.lists(0).n_items(0))),
        |call, at| {
            let lists = call.lists(0);
            slope::<T>(slice(&lists, 0), call.input(1).get(0), at)
        },
    )
}

/// The slope at an item.
fn slope<T: Real>(items: &[T], spacing: T, at: usize) -> T {
    let (from, to) = (at.saturating_sub(1), (at + 1).min(items.len() - 1));
    let steps = (to - from).max(1) as f64;
    T::narrow((items[to].wide() - items[from].wide()) / (steps * spacing.wide()))
}

fn integral() -> NodeDef {
    on_reals("list.integral", "The integral of a list (trapezoidal rule)")
        .details(format!(
            "The area under straight lines between the items; 0 for fewer than two items. {SUMMED}"
        ))
        .input("list", LIST, "evenly spaced values")
        .input_or("spacing", SocketType::Generic(0), 1.0, "distance between neighboring items")
        .output("value", SocketType::Generic(0), "")
        .kernel(|parts| Ok(for_type!(real parts.generics[0], T => area::<T>())))
}

fn area<T: Real>() -> Kernel {
    function(each::<(Items<T>, T), _>(|(items, spacing)| {
        let pairs = items.windows(2);
        let sum: f64 = pairs.map(|pair| f64::midpoint(pair[0].wide(), pair[1].wide())).sum();
        T::narrow(sum * spacing.wide())
    }))
}
