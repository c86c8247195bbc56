//! Sorting and selecting among millions of numbers, with checks for cancellation.
//!
//! The order of a number is given by a word of bits. Long lists are distributed into buckets by the
//! upper bits in which their words differ, in passes over the whole list; short buckets are left to
//! the standard library. Lists that are mostly in order are sorted part by part, and the parts are
//! merged.

use std::cmp::Ordering;

use millstream_node::{Failure, Pace};

/// The number of items sorted at once, between two checks.
const CHUNK: usize = if cfg!(test) { 1 << 14 } else { 1 << 20 };

/// Buckets longer than this are distributed again; shorter ones fit into the cache.
const DEALT_AGAIN: usize = if cfg!(test) { 1 << 10 } else { 1 << 18 };

/// Bits that select a bucket.
const BITS: u32 = 10;

/// The number of items visited between two checks.
const PART: usize = 1 << 13;

/// A number with a word that gives its order.
pub(crate) trait Bits: Copy + PartialOrd {
    /// Ascending; -0 and +0 are equal, and NaN is greatest in either direction.
    fn bits(self, descending: bool) -> u64;
}

macro_rules! bits_of_whole {
    ($($ty:ty)*) => {$(
        impl Bits for $ty {
            fn bits(self, descending: bool) -> u64 {
                let bits = (i64::from(self) as u64) ^ (1 << 63);
                if descending { !bits } else { bits }
            }
        }
    )*};
}
bits_of_whole!(bool i32 i64);

macro_rules! bits_of_floats {
    ($($ty:ty)*) => {$(
        impl Bits for $ty {
            fn bits(self, descending: bool) -> u64 {
                if self.is_nan() {
                    return u64::MAX;
                }
                // Adding 0 turns -0 into +0.
                let bits = (f64::from(self) + 0.0).to_bits();
                let bits = bits ^ (((bits as i64) >> 63) as u64 | 1 << 63);
                if descending { !bits } else { bits }
            }
        }
    )*};
}
bits_of_floats!(f32 f64);

/// Sorts items by their bits, short lists with `sort`; the sort is stable.
///
/// # Errors
/// If the call was cancelled.
pub(super) fn sort_long<T: Bits>(
    items: &mut [T],
    descending: bool,
    pace: &mut Pace<'_>,
    sort: impl Fn(&mut [T]) + Copy,
) -> Result<(), Failure> {
    pace.work(items.len())?;
    if items.len() <= CHUNK {
        sort(items);
        return Ok(());
    }
    let bits = |item: T| item.bits(descending);
    // With NaN the list is neither ascending nor descending.
    let (is_in_order, is_reversed) = if descending {
        (is_chain(items, pace, |a, b| a >= b)?, is_chain(items, pace, |a, b| a < b)?)
    } else {
        (is_chain(items, pace, |a, b| a <= b)?, is_chain(items, pace, |a, b| a > b)?)
    };
    if is_reversed {
        items.reverse();
    }
    if is_in_order || is_reversed {
        return Ok(());
    }
    match look_of(items, bits) {
        Look::Heavy(word) => around(items, word, descending, pace, sort),
        Look::Rising => {
            for part in items.chunks_mut(CHUNK) {
                pace.work(part.len())?;
                sort(part);
            }
            merge_all(items, pace, bits)
        }
        Look::Mixed => deal(items, descending, pace, sort),
    }
}

/// Whether `is` holds for each item and the next one.
fn is_chain<T: Copy>(
    items: &[T],
    pace: &mut Pace<'_>,
    is: impl Fn(T, T) -> bool,
) -> Result<bool, Failure> {
    for start in (0..items.len()).step_by(PART) {
        let part = &items[start..items.len().min(start + PART + 1)];
        pace.work(part.len())?;
        // A whole part without early exit is faster.
        if !part.iter().zip(&part[1..]).fold(true, |all, (a, b)| all & is(*a, *b)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Sorts the items before and after all items with this word.
fn around<T: Bits>(
    items: &mut [T],
    word: u64,
    descending: bool,
    pace: &mut Pace<'_>,
    sort: impl Fn(&mut [T]) + Copy,
) -> Result<(), Failure> {
    let mut parts = [const { Vec::new() }; 3];
    for part in items.chunks(PART) {
        pace.work(part.len())?;
        for item in part {
            let part = match item.bits(descending).cmp(&word) {
                Ordering::Less => 0,
                Ordering::Equal => 1,
                Ordering::Greater => 2,
            };
            parts[part].push(*item);
        }
    }
    let mut rest = items;
    for (i, part) in parts.into_iter().enumerate() {
        let (to, behind) = rest.split_at_mut(part.len());
        pace.work(part.len())?;
        to.copy_from_slice(&part);
        drop(part);
        if i != 1 {
            sort_long(to, descending, pace, sort)?;
        }
        rest = behind;
    }
    Ok(())
}

/// Merges sorted parts of a given number of items; the merge is stable.
fn merge_all<T: Copy>(
    items: &mut [T],
    pace: &mut Pace<'_>,
    bits: impl Fn(T) -> u64 + Copy,
) -> Result<(), Failure> {
    let is_end = |at: &usize| bits(items[*at - 1]) > bits(items[*at]);
    let mut ends: Vec<usize> = (CHUNK..items.len()).step_by(CHUNK).filter(is_end).collect();
    ends.push(items.len());
    let mut held = Vec::new();
    while ends.len() > 1 {
        let mut start = 0;
        let mut merged = Vec::with_capacity(ends.len().div_ceil(2));
        for pair in ends.chunks(2) {
            let end = pair[pair.len() - 1];
            if pair.len() == 2 {
                merge(&mut items[start..end], pair[0] - start, &mut held, pace, bits)?;
            }
            merged.push(end);
            start = end;
        }
        ends = merged;
    }
    Ok(())
}

/// Merges the items before and after a position; `held` is scratch memory for some items.
fn merge<T: Copy>(
    items: &mut [T],
    middle: usize,
    held: &mut Vec<T>,
    pace: &mut Pace<'_>,
    bits: impl Fn(T) -> u64,
) -> Result<(), Failure> {
    let (before, behind) = items.split_at(middle);
    let (last, first) = (bits(before[middle - 1]), bits(behind[0]));
    // Items that are already in place are not moved.
    let start = before.partition_point(|item| bits(*item) <= first);
    let end = middle + behind.partition_point(|item| bits(*item) < last);
    if start == middle {
        return Ok(());
    }
    held.clear();
    let is_left_short = middle - start <= end - middle;
    let short = if is_left_short { start..middle } else { middle..end };
    for part in items[short].chunks(PART) {
        pace.work(part.len())?;
        held.extend_from_slice(part);
    }
    if is_left_short {
        merge_up(&mut items[start..end], held, pace, bits)
    } else {
        merge_down(&mut items[start..end], held, pace, bits)
    }
}

/// Merges `held`, the former start of the items, with the rest of them.
fn merge_up<T: Copy>(
    items: &mut [T],
    held: &[T],
    pace: &mut Pace<'_>,
    bits: impl Fn(T) -> u64,
) -> Result<(), Failure> {
    let (mut left, mut right, mut to) = (0, held.len(), 0);
    let (mut word, mut other) = (bits(held[left]), bits(items[right]));
    loop {
        pace.work(PART)?;
        for _ in 0..PART {
            // Long runs come from one side, so the branch is well predicted.
            if other < word {
                items[to] = items[right];
                (right, to) = (right + 1, to + 1);
                if right == items.len() {
                    items[to..].copy_from_slice(&held[left..]);
                    return Ok(());
                }
                other = bits(items[right]);
            } else {
                items[to] = held[left];
                (left, to) = (left + 1, to + 1);
                if left == held.len() {
                    return Ok(());
                }
                word = bits(held[left]);
            }
        }
    }
}

/// Merges `held`, the former end of the items, with the rest of them, last items first.
fn merge_down<T: Copy>(
    items: &mut [T],
    held: &[T],
    pace: &mut Pace<'_>,
    bits: impl Fn(T) -> u64,
) -> Result<(), Failure> {
    let (mut left, mut right, mut to) = (items.len() - held.len(), held.len(), items.len());
    let (mut word, mut other) = (bits(items[left - 1]), bits(held[right - 1]));
    loop {
        pace.work(PART)?;
        for _ in 0..PART {
            to -= 1;
            if other < word {
                left -= 1;
                items[to] = items[left];
                if left == 0 {
                    items[..to].copy_from_slice(&held[..right]);
                    return Ok(());
                }
                word = bits(items[left - 1]);
            } else {
                right -= 1;
                items[to] = held[right];
                if right == 0 {
                    return Ok(());
                }
                other = bits(held[right - 1]);
            }
        }
    }
}

/// Distributes items into buckets and sorts these.
fn deal<T: Bits>(
    items: &mut [T],
    descending: bool,
    pace: &mut Pace<'_>,
    sort: impl Fn(&mut [T]) + Copy,
) -> Result<(), Failure> {
    let bits = |item: T| item.bits(descending);
    let mut range = Range { min: u64::MAX, max: 0 };
    for part in items.chunks(PART) {
        pace.work(part.len())?;
        for bits in part.iter().map(|item| bits(*item)) {
            range.min = range.min.min(bits);
            range.max = range.max.max(bits);
        }
    }
    if range.min == range.max {
        return Ok(());
    }
    let mut ends = counts(items, range, pace, bits)?;
    let mut n = 0;
    for end in &mut ends {
        n += std::mem::replace(end, n);
    }
    // Newly allocated memory is slow at first use.
    let mut dealt = Vec::with_capacity(items.len());
    while dealt.len() < items.len() {
        pace.work(PART)?;
        dealt.resize(items.len().min(dealt.len() + PART), items[0]);
    }
    for part in items.chunks(PART) {
        pace.work(part.len())?;
        for item in part {
            let next = &mut ends[range.bucket(bits(*item))];
            dealt[*next] = *item;
            *next += 1;
        }
    }
    let mut start = 0;
    for end in ends {
        pace.work(end - start)?;
        let bucket = &mut items[start..end];
        bucket.copy_from_slice(&dealt[start..end]);
        match bucket.len() {
            // All items of a bucket are equal.
            _ if range.shift() == 0 => {}
            n if n > DEALT_AGAIN => deal(bucket, descending, pace, sort)?,
            _ => sort(bucket),
        }
        start = end;
    }
    Ok(())
}

/// The number at this position in ascending order; the position is within the list.
///
/// # Errors
/// If the call was cancelled.
pub(crate) fn at_place(items: &[f64], place: usize, pace: &mut Pace<'_>) -> Result<f64, Failure> {
    let bits = |item: f64| {
        // As in `total_cmp`, -0 comes before +0.
        let bits = item.to_bits();
        bits ^ (((bits as i64) >> 63) as u64 | 1 << 63)
    };
    let mut range = Range { min: 0, max: u64::MAX };
    let (mut place, mut n) = (place, items.len());
    while n > CHUNK && range.min < range.max {
        let counts = counts(items, range, pace, bits)?;
        let mut bucket = 0;
        while counts[bucket] <= place {
            place -= counts[bucket];
            bucket += 1;
        }
        n = counts[bucket];
        range = range.of_bucket(bucket);
    }
    // If there are still too many items, all of them are equal.
    let (place, n) = if n > CHUNK { (0, 1) } else { (place, n) };
    let mut left: Vec<f64> = Vec::with_capacity(n);
    for part in items.chunks(PART) {
        pace.work(part.len())?;
        let is_left = |item: &&f64| range.holds(bits(**item));
        left.extend(part.iter().filter(is_left).take(n - left.len()));
    }
    Ok(*left.select_nth_unstable_by(place, f64::total_cmp).1)
}

/// An inclusive range of words.
#[derive(Clone, Copy)]
struct Range {
    min: u64,
    max: u64,
}

impl Range {
    fn holds(self, bits: u64) -> bool {
        (self.min..=self.max).contains(&bits)
    }

    fn shift(self) -> u32 {
        (u64::BITS - (self.max - self.min).leading_zeros()).saturating_sub(BITS)
    }

    fn bucket(self, bits: u64) -> usize {
        ((bits - self.min) >> self.shift()) as usize
    }

    fn of_bucket(self, bucket: usize) -> Self {
        let shift = self.shift();
        let min = self.min + ((bucket as u64) << shift);
        let max = min.saturating_add((1 << shift) - 1).min(self.max);
        Self { min, max }
    }
}

/// The shape of a list, judged by samples of it.
enum Look {
    /// Most of its words are equal to this one.
    Heavy(u64),
    /// Its samples are ascending with few exceptions.
    Rising,
    Mixed,
}

fn look_of<T: Copy>(items: &[T], bits: impl Fn(T) -> u64) -> Look {
    const N: usize = 64;
    let mut words: Vec<u64> = Vec::with_capacity(N * N);
    for k in 0..N {
        let start = k * ((items.len() - N) / (N - 1));
        words.extend(items[start..start + N].iter().map(|item| bits(*item)));
    }
    let falls = |words: &[u64]| words.windows(2).filter(|pair| pair[0] > pair[1]).count();
    let n_uneven = words.chunks(N).filter(|stretch| falls(stretch) > 0).count();
    let is_rising = n_uneven < N / 8;
    words.sort_unstable();
    // A value that more than half of the samples have is the median.
    let middle = words[N * N / 2];
    if words.iter().filter(|word| **word == middle).count() > N * N / 2 {
        return Look::Heavy(middle);
    }
    if is_rising { Look::Rising } else { Look::Mixed }
}

/// The number of items of a range in each bucket.
fn counts<T: Copy>(
    items: &[T],
    range: Range,
    pace: &mut Pace<'_>,
    bits: impl Fn(T) -> u64,
) -> Result<Vec<usize>, Failure> {
    let mut counts = vec![0; 1 << BITS];
    for part in items.chunks(PART) {
        pace.work(part.len())?;
        for bits in part.iter().map(|item| bits(*item)).filter(|bits| range.holds(*bits)) {
            counts[range.bucket(bits)] += 1;
        }
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use millstream_base::{Type, Value};
    use serde_json::json;

    use super::CHUNK;
    use crate::cells::testing::{list, value_of};

    /// An endless sequence of random words.
    fn words() -> impl FnMut() -> u64 {
        let state = AtomicU32::new(7);
        move || {
            let word = state.fetch_add(0x9e37_79b9, Ordering::Relaxed);
            u64::from(word ^ word >> 15).wrapping_mul(0xd6e8_feb8_6659_fd93)
        }
    }

    fn sorted(items: &[f64], descending: bool) -> Vec<u64> {
        let set = json!({ "descending": descending });
        let sorted = value_of("list.sort", &set, Type::F64, vec![list(items.to_vec())]);
        let Ok(Value::List(sorted)) = sorted else { panic!("it gives a list") };
        sorted.as_slice::<f64>().expect("floats").iter().map(|x| x.to_bits()).collect()
    }

    #[test]
    fn long_lists_are_sorted_like_short_ones() {
        let n = 5 * CHUNK + 1000;
        let mut word = words();
        let mut any = |from: &dyn Fn(u64) -> f64| (0..n).map(|_| from(word())).collect::<Vec<_>>();
        let lists = [
            any(&f64::from_bits),
            any(&|word| [0.0, -0.0, f64::NAN, 1.5, -2.0][(word >> 20) as usize % 5]),
            any(&|word| if word >> 60 == 0 { f64::from_bits(word) } else { 7.0 }),
            (0..n).map(|i| -(i as f64)).collect(),
            (0..n).map(|i| (i % 7001) as f64).collect(),
            (0..n).map(|i| if i % 50 == 7 { 0.0 } else { (i / 3) as f64 - 9e3 }).collect(),
            (0..n).map(|i| if i > 4 * CHUNK { -0.0 } else { i as f64 - 99.0 }).collect(),
            (0..n).map(|i| if i < n / 2 { i } else { i - n / 2 } as f64).collect(),
            (0..n).map(|i| i as f64).collect(),
            any(&|word| (word >> 11) as f64 - 1e15),
        ];
        for items in &lists {
            for descending in [false, true] {
                let mut wanted = items.clone();
                wanted.sort_by(|a, b| {
                    let order = a.partial_cmp(b);
                    let order = order.map(|order| if descending { order.reverse() } else { order });
                    order.unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
                });
                let wanted: Vec<u64> = wanted.iter().map(|x| x.to_bits()).collect();
                assert!(sorted(items, descending) == wanted, "{:?}...", &items[..4]);
            }
        }
    }

    #[test]
    fn numbers_of_long_lists_are_selected_by_position() {
        let n = 5 * CHUNK + 1000;
        let mut word = words();
        let mut any = |from: &dyn Fn(u64) -> f64| (0..n).map(|_| from(word())).collect::<Vec<_>>();
        let lists = [
            any(&|word| (word >> 11) as f64 - 1e15),
            any(&|word| [0.0, -0.0, 1.5, -2.0][(word >> 20) as usize % 4]),
            vec![3.0; n],
        ];
        for items in &lists {
            let mut sorted = items.clone();
            sorted.sort_unstable_by(f64::total_cmp);
            for part in [0.0, 0.25, 1.0] {
                let args = vec![list(items.clone()), part.into()];
                let found = value_of("list.quantile", &json!({}), Type::F64, args);
                let place = part * (n - 1) as f64;
                let (at, way) = (place.floor() as usize, place.fract());
                let wanted = if way == 0.0 {
                    sorted[at]
                } else {
                    sorted[at] * (1.0 - way) + sorted[at + 1] * way
                };
                assert_eq!(found.map(|x| x.to_string()), Ok(Value::F64(wanted).to_string()));
            }
        }
    }
}
