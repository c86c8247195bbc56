//! Results over a window that moves over a list.
//!
//! Sums and similar results are combined from suffixes and prefixes of blocks as long as the
//! window: a window is a suffix of one block followed by a prefix of the next. So each result takes
//! two steps whatever the length of the window, nothing is subtracted that was added before, and
//! numbers that are not finite affect only their own windows.

use std::cmp::Ordering;

use millstream_base::{Type, num};
use millstream_node::{Among, Failure, Kernel, NodeDef, Pace, Registry};

use super::LIST;
use super::signal::Real;
use crate::cells::function;
use crate::each::{Items, each_list};
use crate::shape::{choices, for_type};

pub(super) fn register(registry: &mut Registry) {
    registry.register(rolling());
}

const PLACES: &[(&str, &str)] = &[
    ("behind", "the item and those before it"),
    ("around", "the item in the middle; for an even size one more item before than after it"),
    ("ahead", "the item and those after it"),
];

const ENDS: &[(&str, &str)] =
    &[("shorter", "the window contains only existing items"), ("missing", "the result is NaN")];

fn rolling() -> NodeDef {
    NodeDef::new("list.rolling", "A rolling result over a window of a list")
        .details(
            "For each item, combines the `size` items of a window placed at it; a size below 1 \
             counts as 1. NaN if an item of the window is NaN. Computed in double precision: a sum \
             adds the items up to some position in the window from last to first, those after it \
             from first to last, and then the two partial sums. For running results from the start \
             of a list see `list.running`.",
        )
        .generic("T", Among::These(&[Type::F32, Type::F64]))
        .choice("how", How::ALL, "mean", "how the items of a window are combined")
        .choice("place", PLACES, "behind", "position of the window relative to the item")
        .choice("ends", ENDS, "shorter", "windows that extend beyond the list")
        .input("list", LIST, "")
        .input_or("size", Type::I32, 3.0, "number of items per window")
        .output("value", LIST, "result for each item")
        .kernel(|parts| {
            let how = How::named(parts.settings.text("how"));
            let place = parts.settings.text("place").to_owned();
            let whole = parts.settings.text("ends") == "missing";
            let windows = move |n: usize, size: i32| {
                let size = usize::try_from(size).unwrap_or(1).max(1);
                let before = match &*place {
                    "ahead" => 0,
                    "around" => size / 2,
                    _ => size - 1,
                };
                Windows { n, before, behind: size - 1 - before, whole }
            };
            Ok(for_type!(real parts.generics[0], T => rolling_over::<T>(how, windows)))
        })
}

choices! {
    enum How {
        Mean = "mean": "mean",
        Sum = "sum": "sum",
        Minimum = "minimum": "minimum",
        Maximum = "maximum": "maximum",
        Median = "median":
            "median; for an even number of items the midpoint of the two middle ones",
        Deviation = "deviation": "standard deviation (over n)",
    }
}

/// The windows of a list.
#[derive(Clone, Copy)]
struct Windows {
    /// The length of the list.
    n: usize,
    /// The number of items of a window before its own item, and after it.
    before: usize,
    behind: usize,
    /// Whether windows that extend beyond the list have no result.
    whole: bool,
}

impl Windows {
    /// The items in the window of an item.
    fn range(&self, at: usize) -> std::ops::Range<usize> {
        at.saturating_sub(self.before)..at.saturating_add(self.behind).saturating_add(1).min(self.n)
    }

    /// Whether the window of an item lies within the list.
    fn is_within(&self, at: usize) -> bool {
        at >= self.before && self.behind < self.n - at
    }
}

fn rolling_over<T: Real>(
    how: How,
    windows: impl Fn(usize, i32) -> Windows + Send + Sync + 'static,
) -> Kernel {
    function(each_list::<(Items<T>, i32), T>(
        |(items, _)| items.len(),
        move |element, (items, size), out| {
            let items: Vec<f64> = items.iter().map(|x| x.wide()).collect();
            let pace = &mut element.pace;
            let windows = windows(items.len(), size);
            let seen = match how {
                How::Mean => {
                    let means = folded(&items, &windows, |x| x, |a, b| a + b, pace)?;
                    let count = |at: usize| windows.range(at).len() as f64;
                    means.into_iter().enumerate().map(|(at, sum)| sum / count(at)).collect()
                }
                How::Sum => folded(&items, &windows, |x| x, |a, b| a + b, pace)?,
                How::Minimum => folded(&items, &windows, |x| x, lesser, pace)?,
                How::Maximum => folded(&items, &windows, |x| -x, lesser, pace)?
                    .into_iter()
                    .map(|x| -x)
                    .collect(),
                How::Median => medians(&items, &windows, pace)?,
                How::Deviation => {
                    let spreads = folded(&items, &windows, Spread::of, Spread::joined, pace)?;
                    spreads.into_iter().map(Spread::deviation).collect::<Vec<f64>>()
                }
            };
            let result = |(at, x)| {
                let is_seen = !windows.whole || windows.is_within(at);
                T::narrow(if is_seen { x } else { f64::NAN })
            };
            out.extend(seen.into_iter().enumerate().map(result));
            Ok(())
        },
    ))
}

/// The lesser of two numbers, -0 before +0; NaN if one is NaN.
fn lesser(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else if a.total_cmp(&b).is_lt() {
        a
    } else {
        b
    }
}

/// The mean of some numbers and the sum of their squared differences from it.
#[derive(Clone, Copy)]
struct Spread {
    n: f64,
    mean: f64,
    squares: f64,
}

impl Spread {
    fn of(x: f64) -> Self {
        // The spread around a number that is not finite is NaN.
        Self { n: 1.0, mean: x, squares: if x.is_finite() { 0.0 } else { f64::NAN } }
    }

    /// Combines two sets of numbers (Chan and others, 1979).
    fn joined(a: Self, b: Self) -> Self {
        let n = a.n + b.n;
        let apart = b.mean - a.mean;
        let mean = a.mean + apart * (b.n / n);
        Self { n, mean, squares: a.squares + b.squares + apart * apart * (a.n * b.n / n) }
    }

    fn deviation(self) -> f64 {
        num::sqrt(self.squares / self.n)
    }
}

/// The combined items of each window.
fn folded<S: Copy>(
    items: &[f64],
    windows: &Windows,
    of: impl Fn(f64) -> S,
    join: impl Fn(S, S) -> S,
    pace: &mut Pace<'_>,
) -> Result<Vec<S>, Failure> {
    let n = items.len();
    let size = windows.before.saturating_add(windows.behind).saturating_add(1).min(n.max(1));
    let mut to_here: Vec<S> = Vec::with_capacity(n);
    let mut from_here: Vec<S> = Vec::with_capacity(n);
    for block in items.chunks(size) {
        pace.work(block.len().saturating_mul(4))?;
        let mut joined = None;
        for x in block {
            let next = joined.map_or_else(|| of(*x), |before| join(before, of(*x)));
            joined = Some(next);
            to_here.push(next);
        }
        let start = from_here.len();
        let mut joined = None;
        for x in block.iter().rev() {
            let next = joined.map_or_else(|| of(*x), |behind| join(of(*x), behind));
            joined = Some(next);
            from_here.push(next);
        }
        from_here[start..].reverse();
    }
    let mut seen = Vec::with_capacity(n);
    for at in 0..n {
        pace.work(4)?;
        let range = windows.range(at);
        let (first, last) = (range.start, range.end - 1);
        let start_of_last = last / size * size;
        // A window within one block is cut off by an end of the list, so it touches an end of the
        // block.
        seen.push(match first.cmp(&start_of_last) {
            Ordering::Equal => to_here[last],
            Ordering::Greater => from_here[first],
            Ordering::Less => join(from_here[first], to_here[last]),
        });
    }
    Ok(seen)
}

/// The mean of the items that are at most `radius` positions from each item.
pub(super) fn means_around(
    items: &[f64],
    radius: usize,
    pace: &mut Pace<'_>,
) -> Result<impl Iterator<Item = f64>, Failure> {
    let windows = Windows { n: items.len(), before: radius, behind: radius, whole: false };
    let sums = folded(items, &windows, |x| x, |a, b| a + b, pace)?;
    Ok(sums.into_iter().enumerate().map(move |(at, sum)| sum / windows.range(at).len() as f64))
}

/// The median of each window.
fn medians(items: &[f64], windows: &Windows, pace: &mut Pace<'_>) -> Result<Vec<f64>, Failure> {
    let mut sorted: Vec<f64> = Vec::new();
    let (mut n_nans, mut held) = (0_usize, 0..0);
    let mut seen = Vec::with_capacity(items.len());
    for at in 0..items.len() {
        pace.work(16 + sorted.len() / 8)?;
        let range = windows.range(at);
        for x in &items[held.end..range.end] {
            if x.is_nan() {
                n_nans += 1;
            } else {
                let place = sorted.partition_point(|other| other.total_cmp(x).is_lt());
                sorted.insert(place, *x);
            }
        }
        for x in &items[held.start..range.start] {
            if x.is_nan() {
                n_nans -= 1;
            } else {
                let place = sorted.partition_point(|other| other.total_cmp(x).is_lt());
                sorted.remove(place);
            }
        }
        held = range;
        let n = sorted.len();
        seen.push(if n_nans > 0 {
            f64::NAN
        } else {
            let (low, high) = (sorted[(n - 1) / 2], sorted[n / 2]);
            // Halved, so that large numbers do not overflow.
            if n % 2 == 1 { high } else { low * 0.5 + high * 0.5 }
        });
    }
    Ok(seen)
}

#[cfg(test)]
mod tests;
