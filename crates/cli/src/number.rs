//! Numeric flags, with messages that say which numbers are valid.

use std::num::NonZeroUsize;
use std::str::FromStr;

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
