//! What editors keep about how a document looks: stored and written back, never read.

mod entry;

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value as Json;

pub(crate) use entry::Undo;

/// JSON that the engine keeps as it is, order of keys and spelling of numbers included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View(Option<Arc<str>>);

impl View {
    /// Keeps this JSON.
    pub fn from_json(json: &Json) -> Self {
        Self(Some(json.to_string().into()))
    }

    /// Keeps JSON text that is known to be valid, without the space between its parts.
    pub(crate) fn from_valid_text(text: &str) -> Self {
        Self(Some(compacted(text).into()))
    }

    /// Keeps this JSON text, order of keys and spelling of numbers included.
    ///
    /// # Errors
    /// What keeps it from being JSON.
    pub fn from_text(text: &str) -> Result<Self, String> {
        let mut reader = serde_json::Deserializer::from_str(text);
        serde::de::IgnoredAny::deserialize(&mut reader)
            .and_then(|_| reader.end())
            .map_err(|error| error.to_string())?;
        Ok(Self::from_valid_text(text))
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The JSON text on one line; `None` if there is nothing.
    pub fn text(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// The content, for those who know what it means; `None` if there is nothing or it is nested
    /// deeper than a JSON reader allows.
    pub fn json(&self) -> Option<Json> {
        self.0.as_deref().and_then(|text| serde_json::from_str(text).ok())
    }
}

/// Valid JSON without white space outside strings.
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
    fn only_space_between_parts_goes() {
        let view = View::from_valid_text("{ \"b \\\" c\" : [1.50 , 2e3], \"a\\\\\": { } }");
        assert_eq!(view.text(), Some("{\"b \\\" c\":[1.50,2e3],\"a\\\\\":{}}"));
    }
}
