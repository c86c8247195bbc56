//! Sorting and picking among millions of numbers, such that the work can be ended.
//!
//! A number is ordered by a word of bits. Long lists are dealt out by the upper bits in which their
//! words differ, in passes from end to end; what is short then is left to the standard library.

use millstream_kernel::{Failure, Pace};

/// So many are sorted at once, between two looks.
const AT_ONCE: usize = if cfg!(test) { 1 << 14 } else { 1 << 20 };

/// So many that were dealt out are dealt out again: what is shorter stays in the cache.
const DEALT_AGAIN: usize = if cfg!(test) { 1 << 10 } else { 1 << 18 };

/// Bits by which numbers are dealt out.
const BITS: u32 = 10;

/// Numbers that are gone through between two looks.
const PART: usize = 1 << 13;

/// A number with a word by which it is ordered.
pub(crate) trait Bits: Copy {
    /// Ascending; -0 and +0 are equal, NaNs are greatest in either direction.
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
                // Adding 0 makes +0 of -0.
                let bits = (f64::from(self) + 0.0).to_bits();
                let bits = bits ^ (((bits as i64) >> 63) as u64 | 1 << 63);
                if descending { !bits } else { bits }
            }
        }
    )*};
}
bits_of_floats!(f32 f64);

/// Sorts by their bits, as `sort` does with short lists; what is equal stays in its order.
///
/// # Errors
/// If nobody waits any more.
pub(super) fn sort_long<T: Bits>(
    items: &mut [T],
    descending: bool,
    pace: &mut Pace<'_>,
    sort: impl Fn(&mut [T]) + Copy,
) -> Result<(), Failure> {
    pace.work(items.len())?;
    if items.len() <= AT_ONCE {
        sort(items);
        return Ok(());
    }
    let bits = |item: T| item.bits(descending);
    if is_easy(items, bits) {
        sort(items);
        return Ok(());
    }
    deal(items, descending, pace, sort)
}

/// Deals items out to buckets and sorts these.
fn deal<T: Bits>(
    items: &mut [T],
    descending: bool,
    pace: &mut Pace<'_>,
    sort: impl Fn(&mut [T]) + Copy,
) -> Result<(), Failure> {
    let bits = |item: T| item.bits(descending);
    let mut range = Range { least: u64::MAX, greatest: 0 };
    for part in items.chunks(PART) {
        pace.work(part.len())?;
        for bits in part.iter().map(|item| bits(*item)) {
            range.least = range.least.min(bits);
            range.greatest = range.greatest.max(bits);
        }
    }
    let mut ends = counts(items, range, pace, bits)?;
    let mut n = 0;
    for end in &mut ends {
        n += std::mem::replace(end, n);
    }
    let mut dealt = vec![items[0]; items.len()];
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
            // All of a bucket are equal.
            _ if range.shift() == 0 => {}
            n if n > DEALT_AGAIN => deal(bucket, descending, pace, sort)?,
            _ => sort(bucket),
        }
        start = end;
    }
    Ok(())
}

/// The number at this place in order, which is one of the places of the list.
///
/// # Errors
/// If nobody waits any more.
pub(crate) fn at_place(items: &[f64], place: usize, pace: &mut Pace<'_>) -> Result<f64, Failure> {
    let bits = |item: f64| {
        // As by `total_cmp`: -0 comes before +0.
        let bits = item.to_bits();
        bits ^ (((bits as i64) >> 63) as u64 | 1 << 63)
    };
    let mut range = Range { least: 0, greatest: u64::MAX };
    let (mut place, mut n) = (place, items.len());
    while n > AT_ONCE && range.least < range.greatest {
        let counts = counts(items, range, pace, bits)?;
        let mut bucket = 0;
        while counts[bucket] <= place {
            place -= counts[bucket];
            bucket += 1;
        }
        n = counts[bucket];
        range = range.of_bucket(bucket);
    }
    // Those that are still too many are all the same.
    let (place, n) = if n > AT_ONCE { (0, 1) } else { (place, n) };
    let mut left: Vec<f64> = Vec::with_capacity(n);
    for part in items.chunks(PART) {
        pace.work(part.len())?;
        let is_left = |item: &&f64| range.holds(bits(**item));
        left.extend(part.iter().filter(is_left).take(n - left.len()));
    }
    Ok(*left.select_nth_unstable_by(place, f64::total_cmp).1)
}

/// Words from the least to the greatest.
#[derive(Clone, Copy)]
struct Range {
    least: u64,
    greatest: u64,
}

impl Range {
    fn holds(self, bits: u64) -> bool {
        (self.least..=self.greatest).contains(&bits)
    }

    fn shift(self) -> u32 {
        (u64::BITS - (self.greatest - self.least).leading_zeros()).saturating_sub(BITS)
    }

    fn bucket(self, bits: u64) -> usize {
        ((bits - self.least) >> self.shift()) as usize
    }

    fn of_bucket(self, bucket: usize) -> Self {
        let shift = self.shift();
        let least = self.least + ((bucket as u64) << shift);
        let greatest = least.saturating_add((1 << shift) - 1).min(self.greatest);
        Self { least, greatest }
    }
}

/// Whether `sort` is quickest with a list as it is, judged by some stretches of it: they rise or fall
/// for long, or hold few different items.
fn is_easy<T: Copy>(items: &[T], bits: impl Fn(T) -> u64) -> bool {
    const N: usize = 64;
    let mut words: Vec<u64> = Vec::with_capacity(N * N);
    let (mut n_rising, mut n_falling) = (0, 0);
    for k in 0..N {
        let start = k * ((items.len() - N) / (N - 1));
        let stretch: Vec<u64> = items[start..start + N].iter().map(|item| bits(*item)).collect();
        n_rising += stretch.windows(2).filter(|pair| pair[0] < pair[1]).count();
        n_falling += stretch.windows(2).filter(|pair| pair[0] > pair[1]).count();
        words.extend(stretch);
    }
    words.sort_unstable();
    words.dedup();
    n_rising.min(n_falling) < N * N / 16 || words.len() < N * N / 16
}

/// How many items of a range are in each bucket.
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

    use super::AT_ONCE;
    use crate::cells::testing::{list, value_of};

    /// Numbers from anywhere, without end.
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
    fn long_lists_are_sorted_as_short_ones_are() {
        let n = 5 * AT_ONCE + 1000;
        let mut word = words();
        let mut any = |from: &dyn Fn(u64) -> f64| (0..n).map(|_| from(word())).collect::<Vec<_>>();
        let lists = [
            any(&f64::from_bits),
            any(&|word| [0.0, -0.0, f64::NAN, 1.5, -2.0][(word >> 20) as usize % 5]),
            any(&|word| if word >> 60 == 0 { f64::from_bits(word) } else { 7.0 }),
            (0..n).map(|i| -(i as f64)).collect(),
            (0..n).map(|i| (i % 7001) as f64).collect(),
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
    fn numbers_of_long_lists_are_found_by_their_place() {
        let n = 5 * AT_ONCE + 1000;
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
