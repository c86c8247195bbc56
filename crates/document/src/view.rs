//! The view data of editors, which are stored and written back but never interpreted.

mod entry;

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value as Json;

pub(crate) use entry::Undo;

/// JSON that is preserved as text, including the order of keys and the spelling of numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View(Option<Arc<str>>);

impl View {
    /// The view with this JSON.
    pub fn from_json(json: &Json) -> Self {
        Self(Some(json.to_string().into()))
    }

    /// The view with valid JSON text; white space between parts is dropped.
    pub(crate) fn from_valid_text(text: &str) -> Self {
        Self(Some(compacted(text).into()))
    }

    /// The view with valid JSON text that has no white space between its parts.
    pub fn from_compact_text(text: String) -> Self {
        debug_assert!(compacted(&text) == text, "the text has no white space between its parts");
        Self(Some(text.into()))
    }

    /// The view with this JSON text, preserving the order of keys and the spelling of numbers.
    ///
    /// # Errors
    /// The message of the JSON reader.
    pub fn from_text(text: &str) -> Result<Self, String> {
        let mut reader = serde_json::Deserializer::from_str(text);
        serde::de::IgnoredAny::deserialize(&mut reader)
            .and_then(|_| reader.end())
            .map_err(|error| error.to_string())?;
        Ok(Self::from_valid_text(text))
    }

    /// Whether the view is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The JSON text on one line; `None` if the view is empty.
    pub fn text(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// The content; `None` if the view is empty or nested more deeply than the JSON reader allows.
    pub fn json(&self) -> Option<Json> {
        self.0.as_deref().and_then(|text| serde_json::from_str(text).ok())
    }
}

/// The valid JSON without white space outside strings.
fn compacted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_string = false;
    let mut escaped = false;
    for c in text.chars() {
        if in_string {
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else if c == '"' {
            in_string = true;
        } else if c.is_ascii_whitespace() {
            continue;
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_space_between_parts_is_dropped() {
        let view = View::from_valid_text("{ \"b \\\" c\" : [1.50 , 2e3], \"a\\\\\": { } }");
        assert_eq!(view.text(), Some("{\"b \\\" c\":[1.50,2e3],\"a\\\\\":{}}"));
    }
}
