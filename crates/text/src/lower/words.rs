//! Names of inputs, which lowering compares, and values.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value as Json;

/// The names of the inputs or settings of a node so far.
#[derive(Default)]
pub(super) struct Seen(HashSet<Arc<str>>);

impl Seen {
    /// Adds a name; false if it exists already.
    pub(super) fn insert<T>(&mut self, name: &Arc<str>, fields: &[(Arc<str>, T)]) -> bool {
        const MAX_WALKED: usize = 16;
        if fields.len() < MAX_WALKED {
            return fields.iter().all(|(known, _)| known != name);
        }
        if self.0.is_empty() {
            self.0.extend(fields.iter().map(|(known, _)| Arc::clone(known)));
        }
        self.0.insert(Arc::clone(name))
    }
}

/// A number of few digits without sign and exponent, which most literals are. It has the bits that
/// reading JSON gives.
fn short_number(text: &str) -> Option<Json> {
    /// The most digits, the point included. Whole numbers below 10^15 and the powers of ten are exact
    /// in an `f64`, so that their quotient is rounded once.
    const MAX_DIGITS: usize = 15;
    const POWERS: [f64; MAX_DIGITS] =
        [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14];
    let bytes = text.as_bytes();
    if bytes.len() > MAX_DIGITS || !bytes.last()?.is_ascii_digit() {
        return None;
    }
    if !bytes[0].is_ascii_digit() || (bytes[0] == b'0' && bytes.get(1).is_some_and(|b| *b != b'.'))
    {
        return None;
    }
    let (mut whole, mut point) = (0_u64, None);
    for (i, byte) in bytes.iter().enumerate() {
        match byte {
            b'0'..=b'9' => whole = whole * 10 + u64::from(byte - b'0'),
            b'.' if point.is_none() => point = Some(i),
            _ => return None,
        }
    }
    Some(match point {
        None => Json::from(whole),
        Some(point) => Json::from(whole as f64 / POWERS[bytes.len() - 1 - point]),
    })
}

/// Reads a JSON value, or a number as formulas write it.
pub(super) fn json(text: &str) -> Result<Json, String> {
    if let Some(number) = short_number(text) {
        return Ok(number);
    }
    let error = match serde_json::from_str(text) {
        Ok(json) => return Ok(json),
        Err(error) => error.to_string(),
    };
    if text.starts_with(|c: char| c.is_ascii_digit() || "-.".contains(c)) {
        let digits = text.trim_start_matches('-');
        let number = digits.parse::<f64>().ok().filter(|number| number.is_finite());
        return match number {
            Some(number) if text.starts_with('-') => Ok(Json::from(-number)),
            Some(number) => Ok(Json::from(number)),
            None => Err("the number is too large; write \"inf\" for infinity".into()),
        };
    }
    Err(if error.contains("recursion limit") {
        "the value nests deeper than 127 levels".into()
    } else if error.contains("out of range") {
        "a number in it is too large; write \"inf\" for infinity".into()
    } else {
        error.split(" at line ").next().unwrap_or_default().to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_those_of_json() {
        for text in ["0", "7", "10", "0.5", "0.0", "123456789012345", "0.1", "900719925.47409"] {
            assert_eq!(short_number(text), serde_json::from_str(text).ok(), "{text}");
        }
        for text in ["", "00", "01.5", "1.", ".5", "-1", "1e5", "1.2.3", "1_0", "1234567890123456"]
        {
            assert_eq!(short_number(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn all_short_numbers_are_those_of_json(text in "[0-9]{1,9}(\\.[0-9]{1,9})?") {
            if let Some(number) = short_number(&text) {
                prop_assert_eq!(Some(number), serde_json::from_str::<Json>(&text).ok());
            }
        }
    }
}
