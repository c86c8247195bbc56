//! Results over a window that moves over a list.
//!
//! Sums and similar results are combined from suffixes and prefixes of blocks as long as the
//! window: a window is a suffix of one block followed by a prefix of the next. So each result takes
//! two steps whatever the length of the window, nothing is subtracted that was added before, and
//! numbers that are not finite affect only their own windows.

use std::cmp::Ordering;

use millstream_base::{Type, num};
use millstream_node::{Among, Call, Failure, Kernel, NodeDef, Pace, Registry};

use super::LIST;
use super::by_item::{by_windows, is_short};
use super::signal::Real;
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

    /// The items whose windows contain an item, if windows are short.
    fn readers(&self, item: usize) -> Option<std::ops::Range<usize>> {
        let range = item.saturating_sub(self.behind)
            ..item.saturating_add(self.before).saturating_add(1).min(self.n);
        is_short(self.block(), self.n).then_some(range)
    }

    /// The result of a window, `x` if it has one.
    fn seen(&self, at: usize, x: f64) -> f64 {
        if !self.whole || self.is_within(at) { x } else { f64::NAN }
    }

    /// The number of items of a block, as long as the windows.
    fn block(&self) -> usize {
        self.before.saturating_add(self.behind).saturating_add(1).min(self.n.max(1))
    }

    /// Whether the window of an item lies within the list.
    fn is_within(&self, at: usize) -> bool {
        at >= self.before && self.behind < self.n - at
    }
}

fn rolling_over<T: Real>(
    how: How,
    windows: impl Fn(usize, i32) -> Windows + Clone + Send + Sync + 'static,
) -> Kernel {
    let of_all = windows.clone();
    let whole = each_list::<(Items<T>, i32), T>(
        |(items, _)| items.len(),
        move |element, (items, size), out| {
            let items: Vec<f64> = items.iter().map(|x| x.wide()).collect();
            let windows = of_all(items.len(), size);
            let seen = how.over(&items, &windows, &mut element.pace)?;
            out.extend(seen.into_iter().enumerate().map(|(at, x)| T::narrow(windows.seen(at, x))));
            Ok(())
        },
    );
    let of_call = move |call: &Call<'_>| windows(call.lists(0).n_items(0), call.input(1).get(0));
    let of_item = of_call.clone();
    by_windows::<T>(
        whole,
        move |call, item| of_item(call).readers(item),
        move |call, at| {
            let windows = of_call(call);
            let lists = call.lists(0);
            let wide = |at: usize| super::slice::<T>(&lists, 0)[at].wide();
            T::narrow(windows.seen(at, how.at(at, wide, &windows)))
        },
    )
}

impl How {
    /// The results of all windows.
    fn over(
        self,
        items: &[f64],
        windows: &Windows,
        pace: &mut Pace<'_>,
    ) -> Result<Vec<f64>, Failure> {
        Ok(match self {
            Self::Mean => {
                let sums = folded(items, windows, |x| x, |a, b| a + b, pace)?;
                let count = |at: usize| windows.range(at).len() as f64;
                sums.into_iter().enumerate().map(|(at, sum)| sum / count(at)).collect()
            }
            Self::Sum => folded(items, windows, |x| x, |a, b| a + b, pace)?,
            Self::Minimum => folded(items, windows, |x| x, lesser, pace)?,
            Self::Maximum => {
                folded(items, windows, |x| -x, lesser, pace)?.into_iter().map(|x| -x).collect()
            }
            Self::Median => medians(items, windows, pace)?,
            Self::Deviation => {
                let spreads = folded(items, windows, Spread::of, Spread::joined, pace)?;
                spreads.into_iter().map(Spread::deviation).collect()
            }
        })
    }

    /// The result of the window of one item.
    fn at(self, at: usize, item: impl Fn(usize) -> f64, windows: &Windows) -> f64 {
        match self {
            Self::Mean => mean_at(at, item, windows),
            Self::Sum => folded_at(at, item, windows, |a, b| a + b),
            Self::Minimum => folded_at(at, item, windows, lesser),
            Self::Maximum => -folded_at(at, |at| -item(at), windows, lesser),
            Self::Median => {
                let mut sorted: Vec<f64> = windows.range(at).map(item).collect();
                let n_nans = sorted.iter().filter(|x| x.is_nan()).count();
                sorted.sort_unstable_by(f64::total_cmp);
                if n_nans > 0 { f64::NAN } else { middle(&sorted) }
            }
            Self::Deviation => {
                let spread = |at: usize| Spread::of(item(at));
                folded_at(at, spread, windows, Spread::joined).deviation()
            }
        }
    }
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
    let size = windows.block();
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

/// The combined items of the window of one item, in the order of [`folded`].
fn folded_at<S>(
    at: usize,
    item: impl Fn(usize) -> S,
    windows: &Windows,
    join: impl Fn(S, S) -> S,
) -> S {
    let range = windows.range(at);
    let size = windows.block();
    let start_of_last = (range.end - 1) / size * size;
    let suffix =
        |range: std::ops::Range<usize>| range.rev().map(&item).reduce(|behind, x| join(x, behind));
    let prefix = |range: std::ops::Range<usize>| range.map(&item).reduce(&join);
    let joined = match range.start.cmp(&start_of_last) {
        Ordering::Equal => prefix(range),
        Ordering::Greater => suffix(range),
        Ordering::Less => {
            let (first, last) =
                (suffix(range.start..start_of_last), prefix(start_of_last..range.end));
            first.zip(last).map(|(first, last)| join(first, last))
        }
    };
    joined.expect("a window has its own item")
}

fn mean_at(at: usize, item: impl Fn(usize) -> f64, windows: &Windows) -> f64 {
    folded_at(at, item, windows, |a, b| a + b) / windows.range(at).len() as f64
}

/// The mean of the items that are at most `radius` positions from one of `n`.
pub(super) fn mean_around(
    at: usize,
    item: impl Fn(usize) -> f64,
    (n, radius): (usize, usize),
) -> f64 {
    mean_at(at, item, &Windows { n, before: radius, behind: radius, whole: false })
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
        seen.push(if n_nans > 0 { f64::NAN } else { middle(&sorted) });
    }
    Ok(seen)
}

/// The median of sorted numbers.
fn middle(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    let (low, high) = (sorted[(n - 1) / 2], sorted[n / 2]);
    // Halved, so that large numbers do not overflow.
    if n % 2 == 1 { high } else { low * 0.5 + high * 0.5 }
}

#[cfg(test)]
mod tests;
