//! Sorting the positions of a list, with checks for cancellation.
//!
//! Comparing two positions reads two items anywhere in memory. A long list of positions is
//! therefore first distributed into a few buckets, each of which contains the positions between two
//! sampled items; these samples stay in the cache. Short buckets are sorted directly.

use std::cmp::Ordering;

use millstream_node::{Failure, Pace};

/// The number of items sorted at once, between two checks.
const CHUNK: usize = 1 << 17;

/// The number of buckets; a bucket is found in four comparisons.
const N_BUCKETS: usize = 16;

/// Samples per bound between buckets.
const N_PICKED: usize = 16;

/// Items distributed between two checks.
const PART: usize = 1 << 10;

/// Sorts items like `sort_by`, which is stable; a `Copy` type is cheap to move.
///
/// # Errors
/// If the call was cancelled.
pub(crate) fn sort_by<T: Copy>(
    items: &mut [T],
    pace: &mut Pace<'_>,
    compare: impl Fn(&T, &T) -> Ordering + Copy,
) -> Result<(), Failure> {
    let n = items.len();
    if n <= CHUNK {
        pace.work(n)?;
        items.sort_by(compare);
        return Ok(());
    }
    if is_in_order(items, pace, compare)? {
        return Ok(());
    }
    let bounds = bounds(items, compare);
    let room = n / N_BUCKETS * 3 / 2;
    let mut buckets: Vec<Vec<T>> = (0..N_BUCKETS).map(|_| Vec::with_capacity(room)).collect();
    for part in items.chunks(PART) {
        pace.work(part.len())?;
        for item in part {
            let mut bucket = 0;
            for step in [8, 4, 2, 1] {
                let is_below = compare(item, &bounds[bucket + step - 1]) == Ordering::Less;
                bucket = std::hint::select_unpredictable(is_below, bucket, bucket + step);
            }
            buckets[bucket].push(*item);
        }
    }
    let mut rest = items;
    for mut bucket in buckets {
        if bucket.len() < n {
            sort_by(&mut bucket, pace, compare)?;
        } else {
            // All bounds equal the minimum item, so only items equal to it were distributed.
            sort_after_minimum(&mut bucket, &bounds[0], pace, compare)?;
        }
        let (sorted, after) = rest.split_at_mut(bucket.len());
        sorted.copy_from_slice(&bucket);
        rest = after;
    }
    Ok(())
}

/// Sorts items of which none comes before `minimum` and some are equal to it.
fn sort_after_minimum<T: Copy>(
    items: &mut [T],
    minimum: &T,
    pace: &mut Pace<'_>,
    compare: impl Fn(&T, &T) -> Ordering + Copy,
) -> Result<(), Failure> {
    let mut others = Vec::new();
    let mut n_equal = 0;
    for at in 0..items.len() {
        if at % PART == 0 {
            pace.work(PART)?;
        }
        let item = items[at];
        if compare(&item, minimum) == Ordering::Equal {
            items[n_equal] = item;
            n_equal += 1;
        } else {
            others.push(item);
        }
    }
    sort_by(&mut others, pace, compare)?;
    items[n_equal..].copy_from_slice(&others);
    Ok(())
}

fn is_in_order<T>(
    items: &[T],
    pace: &mut Pace<'_>,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Result<bool, Failure> {
    for start in (0..items.len()).step_by(PART) {
        let part = &items[start..items.len().min(start + PART + 1)];
        pace.work(part.len())?;
        if !part.is_sorted_by(|a, b| compare(a, b) != Ordering::Greater) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Bounds that divide the items into buckets of about equal size.
fn bounds<T: Copy>(items: &[T], compare: impl Fn(&T, &T) -> Ordering) -> [T; N_BUCKETS - 1] {
    // Pseudorandom but the same each time; no result depends on it.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut pick = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        items[(state % items.len() as u64) as usize]
    };
    let mut picked: Vec<T> = (0..N_BUCKETS * N_PICKED).map(|_| pick()).collect();
    picked.sort_by(compare);
    std::array::from_fn(|k| picked[(k + 1) * N_PICKED])
}

/// The midpoint of two numbers, rounded once.
pub(crate) fn halfway(a: f64, b: f64) -> f64 {
    // If the sum is so small that halving it rounds, the addition was exact.
    let sum = a + b;
    if sum.is_finite() { sum * 0.5 } else { a * 0.5 + b * 0.5 }
}

#[cfg(test)]
mod tests {
    use millstream_base::Value;
    use serde_json::json;

    use crate::cells::testing::{list, value_of};
    use millstream_base::Type;

    #[test]
    fn long_lists_are_sorted_like_short_ones() {
        let n = 300_000;
        let mixed = |i: i32| i.wrapping_mul(0x9e37_79b9_u32 as i32) >> 3;
        let lists: [Vec<i32>; 6] = [
            (0..n).map(mixed).collect(),
            (0..n).map(|i| mixed(i) % 3).collect(),
            (0..n).map(|i| if i % 1000 == 0 { i } else { 7 }).collect(),
            (0..n).map(|i| if i % 1000 == 0 { mixed(i) % 5 } else { -7 }).collect(),
            (0..n).rev().collect(),
            (0..n).collect(),
        ];
        for items in lists {
            for descending in [false, true] {
                let mut wanted: Vec<i32> = (0..n).collect();
                wanted.sort_by(|a, b| {
                    let order = items[*a as usize].cmp(&items[*b as usize]);
                    if descending { order.reverse() } else { order }
                });
                let set = json!({ "descending": descending });
                let given = vec![list(items.clone())];
                let places = value_of("list.sort_indices", &set, Type::I32, given);
                let Ok(Value::List(places)) = places else { panic!("it gives a list") };
                assert!(places.as_slice::<i32>() == Some(&wanted[..]), "{:?}...", &items[..4]);
            }
        }
    }
}
