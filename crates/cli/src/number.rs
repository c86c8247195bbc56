//! Numeric flags, with messages that say which numbers are valid.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::str::FromStr;

use millstream::Mask;

/// Parses the number of a flag, or says what the flag expects.
fn number<T: FromStr>(text: &str, wanted: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("expected {wanted}"))
}

/// Parses a count.
pub(crate) fn count(text: &str) -> Result<usize, String> {
    number(text, "a whole number of at least 0")
}

/// Parses a positive count.
pub(crate) fn positive(text: &str) -> Result<NonZeroUsize, String> {
    number(text, "a whole number of at least 1")
}

/// Parses a duration in seconds.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    const WANTED: &str = "a number of seconds of at least 0";
    let seconds: f64 = number(text, WANTED)?;
    // At most about a thousand years.
    let is_time = (0.0..=4e10).contains(&seconds);
    if is_time { Ok(seconds) } else { Err(format!("expected {WANTED}")) }
}

/// Parses elements and ranges of elements, `0,5,10..20`, in any order.
pub(crate) fn elements(text: &str) -> Result<Mask, String> {
    const MAX: usize = 1 << 28;
    let number = |text: &str| {
        let number = text.trim().parse::<usize>().ok().filter(|n| *n < MAX);
        number.ok_or_else(|| format!("`{text}` is not an element number from 0 to {}", MAX - 1))
    };
    let mut ranges = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once("..").unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if last < first {
            return Err(format!("the last element {last} is before the first element {first}"));
        }
        ranges.push(first..last + 1);
    }
    Ok(union(&ranges))
}

/// The elements of some ranges, joined by halves, which takes less time than one after the other.
fn union(ranges: &[Range<usize>]) -> Mask {
    match ranges {
        [] => Mask::empty(),
        [range] => Mask::range(range.clone()),
        _ => {
            let (first, second) = ranges.split_at(ranges.len() / 2);
            union(first).union(&union(second))
        }
    }
}
