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

/// Reads a JSON value, or a number as formulas write it.
pub(super) fn json(text: &str) -> Result<Json, String> {
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
