//! Hashes of documents, which change with their meaning but not with their layout.
//!
//! The hashed text is the JSON of the file as it stands, before any upgrade, so that a newer
//! release computes the same hash. View data, the address of the schema, locks, white space, the
//! spelling of numbers, the order of keys other than names, and entries that state a default do not
//! matter.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value as Json};
use sha2::{Digest, Sha256};

/// Entries of a document that do not change its meaning.
const LEFT_OUT: [&str; 4] = ["$schema", "lock", "millstream", "view"];

/// The hash of a document, given the hashes of its used documents by name.
pub(super) fn hash<'a>(text: &str, inner: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    // A view may be nested more deeply than the JSON reader allows.
    let entries: BTreeMap<String, &RawValue> =
        serde_json::from_str(text).expect("the text was loaded as a document");
    let entries = entries.into_iter().filter(|(key, _)| !LEFT_OUT.contains(&&**key));
    let read = |raw: &RawValue| {
        // Parts nested too deeply were refused when the document was loaded.
        serde_json::from_str(raw.get()).unwrap_or(Json::Null)
    };
    let document = body(entries.map(|(key, raw)| (key, read(raw))).collect());
    let mut hashed = Json::Object(document).to_string();
    for (name, hash) in inner {
        hashed.push_str(&format!("\n{name} {hash}"));
    }
    format!("sha256:{:x}", Sha256::digest(hashed.as_bytes()))
}

/// Whether a text can be a hash.
pub(super) fn is_hash(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
    text.strip_prefix("sha256:").is_some_and(|it| it.len() == 64 && it.bytes().all(is_digit))
}

/// A document or a group in the hashed form. The JSON reader limits the nesting.
fn body(entries: Map<String, Json>) -> Map<String, Json> {
    let inner = |(key, value): (String, Json)| match (&*key, value) {
        ("inputs" | "outputs" | "nodes", Json::Object(parts)) => (key, each(parts, sorted)),
        ("groups", Json::Object(groups)) => (key, each(groups, body)),
        (_, value) => (key, value),
    };
    sorted(entries.into_iter().map(inner).collect())
}

fn each(parts: Map<String, Json>, change: impl Fn(Map<String, Json>) -> Map<String, Json>) -> Json {
    let changed = parts.into_iter().map(|(name, part)| match part {
        Json::Object(part) => (name, Json::Object(change(part))),
        part => (name, part),
    });
    Json::Object(changed.collect())
}

/// The entries in the order of their keys, without those that state a default.
fn sorted(entries: Map<String, Json>) -> Map<String, Json> {
    let mut entries: Vec<(String, Json)> =
        entries.into_iter().filter(|(key, value)| !is_default(key, value)).collect();
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    entries.into_iter().collect()
}

fn is_default(key: &str, value: &Json) -> bool {
    match key {
        "muted" => *value == Json::Bool(false),
        "version" => value.as_f64() == Some(1.0),
        "start_frame" => value.as_f64() == Some(0.0),
        "fps" => value.as_f64() == Some(crate::model::Document::DEFAULT_FPS),
        "name" => value.as_str() == Some(""),
        "in" | "set" | "inputs" | "outputs" | "nodes" | "groups" | "use" => {
            value.as_object().is_some_and(Map::is_empty)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        hash(text, std::iter::empty())
    }

    const TEXT: &str =
        r#"{ "millstream": 1, "nodes": { "n": { "type": "t", "in": { "a": 2 } } } }"#;

    #[test]
    fn layout_views_locks_and_stated_defaults_do_not_matter() {
        let same = [
            r#"{"millstream":1,"nodes":{"n":{"type":"t","in":{"a":2}}}}"#,
            r#"{"millstream":1,"nodes":{"n":{"in":{"a":2},"muted":false,"type":"t"}},"view":[[1]]}"#,
            r#"{"lock":{},"groups":{},"fps":24.0,"nodes":{"n":{"type":"t","in":{"a":2}}}}"#,
        ];
        for text in same {
            assert_eq!(of(text), of(TEXT), "{text}");
        }
    }

    #[test]
    fn values_names_and_their_order_matter() {
        let two =
            r#"{ "millstream": 1, "inputs": { "a": { "type": "t" }, "b": { "type": "t" } } }"#;
        let swapped =
            r#"{ "millstream": 1, "inputs": { "b": { "type": "t" }, "a": { "type": "t" } } }"#;
        assert_ne!(of(two), of(swapped));
        assert_ne!(of(TEXT), of(&TEXT.replace('2', "3")));
        assert_ne!(of(TEXT), of(&TEXT.replace("\"n\"", "\"m\"")));
        assert_ne!(of(TEXT), hash(TEXT, [("inner", "1")].into_iter()));
        assert!(is_hash(&of(TEXT)) && !is_hash("") && !is_hash(&of(TEXT).replace("6:", "6:0")));
    }
}
