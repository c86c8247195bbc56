//! Numbers in flags, with messages that say which numbers are valid.

use std::num::NonZeroUsize;
use std::str::FromStr;

/// The number of a flag, or a message that says what the flag takes.
fn number<T: FromStr>(text: &str, wanted: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{wanted} is wanted"))
}

/// A number of things.
pub(crate) fn count(text: &str) -> Result<usize, String> {
    number(text, "a whole number from 0")
}

/// A number of things, at least one.
pub(crate) fn positive(text: &str) -> Result<NonZeroUsize, String> {
    number(text, "a whole number from 1")
}

/// A length of time in seconds.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    const WANTED: &str = "a number of seconds from 0";
    let seconds: f64 = number(text, WANTED)?;
    // At most about a thousand years.
    let is_time = (0.0..=4e10).contains(&seconds);
    if is_time { Ok(seconds) } else { Err(format!("{WANTED} is wanted")) }
}
