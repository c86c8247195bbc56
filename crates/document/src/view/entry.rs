//! Changes one entry of a view in its text, so that all other entries keep their order and
//! spelling.

use std::ops::Range;

use super::View;

/// The undo of a change to one entry.
pub(crate) enum Undo {
    /// There was no view.
    Nothing,
    /// The entry at the first `n_keys` keys had this text and stood before another entry; or it did
    /// not exist.
    Entry { n_keys: usize, text: Option<String>, before: Option<String> },
}

impl View {
    /// The view with the entry at these keys set to a JSON text, or removed, together with the
    /// undo. Missing objects are created. A new entry is inserted before the one called `before`,
    /// or last.
    ///
    /// # Errors
    /// If there cannot be such an entry.
    pub(crate) fn with_entry(
        &self,
        keys: &[impl AsRef<str>],
        to: Option<&str>,
        before: Option<&str>,
    ) -> Result<(Self, Undo), String> {
        let to = to.map(Self::from_text).transpose()?;
        let to = to.as_ref().and_then(Self::text);
        let text = self.text().unwrap_or("{}");
        let Some((last, around)) = keys.split_last() else {
            return Err("it has no key".into());
        };
        let mut object = 0;
        for (n, key) in around.iter().map(AsRef::as_ref).enumerate() {
            check_object(text, object, &around[..n])?;
            let Some(entry) = found(text, object, key) else {
                let Some(to) = to else { return Ok((self.clone(), self.undo(n + 1, None, None))) };
                // Undo removes the new objects as a whole.
                let inner = keys[n + 1..].iter().rev();
                let made = inner.fold(to.to_owned(), |inner, key| {
                    format!("{{{}:{inner}}}", quoted(key.as_ref()))
                });
                let entry = format!("{}:{made}", quoted(key));
                return Ok((inserted(text, object, &entry, None)?, self.undo(n + 1, None, None)));
            };
            object = entry.value.start;
        }
        check_object(text, object, around)?;
        let n_keys = keys.len();
        match (found(text, object, last.as_ref()), to) {
            (None, None) => Ok((self.clone(), self.undo(n_keys, None, None))),
            (None, Some(to)) => {
                let entry = format!("{}:{to}", quoted(last.as_ref()));
                let view = inserted(text, object, &entry, before)?;
                Ok((view, self.undo(n_keys, None, None)))
            }
            (Some(entry), Some(to)) => {
                let old = text[entry.value.clone()].to_owned();
                let view = spliced(text, entry.value, to);
                Ok((view, self.undo(n_keys, Some(old), None)))
            }
            (Some(entry), None) => {
                let old = text[entry.value.clone()].to_owned();
                let next = entries(text, object).find(|next| next.key.start > entry.value.end);
                let next = next.and_then(|next| unquoted(&text[next.key]));
                // The comma after the entry is removed too, or the one before it.
                let is_last = next.is_none();
                let is_first = text.as_bytes()[entry.key.start - 1] == b'{';
                let from = entry.key.start - usize::from(is_last && !is_first);
                let till = entry.value.end + usize::from(!is_last);
                Ok((spliced(text, from..till, ""), self.undo(n_keys, Some(old), next)))
            }
        }
    }

    fn undo(&self, n_keys: usize, text: Option<String>, before: Option<String>) -> Undo {
        if self.is_empty() { Undo::Nothing } else { Undo::Entry { n_keys, text, before } }
    }
}

/// An entry of an object, as positions in the text.
struct Entry {
    key: Range<usize>,
    value: Range<usize>,
}

fn spliced(text: &str, at: Range<usize>, new: &str) -> View {
    View(Some([&text[..at.start], new, &text[at.end..]].concat().into()))
}

/// The text with an entry added to the object that starts at this position.
fn inserted(text: &str, object: usize, entry: &str, before: Option<&str>) -> Result<View, String> {
    if let Some(before) = before {
        let next =
            found(text, object, before).ok_or_else(|| format!("it has no entry `{before}`"))?;
        return Ok(spliced(text, next.key.start..next.key.start, &format!("{entry},")));
    }
    let last = entries(text, object).last();
    let (at, comma) = last.map_or((object + 1, ""), |last| (last.value.end, ","));
    Ok(spliced(text, at..at, &format!("{comma}{entry}")))
}

fn check_object(text: &str, at: usize, keys: &[impl AsRef<str>]) -> Result<(), String> {
    if text.as_bytes()[at] == b'{' {
        return Ok(());
    }
    let keys: Vec<&str> = keys.iter().map(AsRef::as_ref).collect();
    Err(match keys.join(".") {
        path if path.is_empty() => "the view is not an object".into(),
        path => format!("`{path}` is not an object"),
    })
}

/// The entry of this name in the object that starts at this position; if there are several, the
/// last one.
fn found(text: &str, object: usize, key: &str) -> Option<Entry> {
    entries(text, object).filter(|entry| is_key(&text[entry.key.clone()], key)).last()
}

/// The entries of the object that starts at this position, in a text without white space between
/// parts.
fn entries(text: &str, object: usize) -> impl Iterator<Item = Entry> {
    let bytes = text.as_bytes();
    let mut at = object + 1;
    std::iter::from_fn(move || {
        at += usize::from(bytes[at] == b',');
        if bytes[at] == b'}' {
            return None;
        }
        let key = at..value_end(bytes, at);
        let value = key.end + 1..value_end(bytes, key.end + 1);
        at = value.end;
        Some(Entry { key, value })
    })
}

/// The end of the value that starts at this position.
fn value_end(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0_usize);
    loop {
        match bytes.get(at) {
            Some(b'"') => {
                at += 1;
                while bytes[at] != b'"' {
                    at += 1 + usize::from(bytes[at] == b'\\');
                }
            }
            Some(b'{' | b'[') => depth += 1,
            Some(b'}' | b']') if depth > 0 => depth -= 1,
            // A number or word ends before the first character that does not belong to it.
            None | Some(b',' | b':' | b'}' | b']') if depth == 0 => return at,
            None => return at,
            Some(_) => {}
        }
        at += 1;
    }
}

fn is_key(quoted: &str, key: &str) -> bool {
    let inside = &quoted[1..quoted.len() - 1];
    if inside.contains('\\') { unquoted(quoted).as_deref() == Some(key) } else { inside == key }
}

fn unquoted(quoted: &str) -> Option<String> {
    serde_json::from_str(quoted).ok()
}

fn quoted(key: &str) -> String {
    serde_json::Value::from(key).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(text: &str, keys: &[&str], to: Option<&str>) -> String {
        let view = View::from_text(text).expect("it is JSON");
        match view.with_entry(keys, to, None) {
            Err(message) => message,
            Ok((new, undo)) => {
                let Undo::Entry { n_keys, text, before } = undo else { panic!("there was a view") };
                let back = new.with_entry(&keys[..n_keys], text.as_deref(), before.as_deref());
                assert_eq!(back.expect("it is taken back").0, view);
                new.text().expect("there is a view").to_owned()
            }
        }
    }

    #[test]
    fn one_entry_changes_and_the_rest_stays() {
        let text = r#"{ "b": 1.50, "nodes": { "x\"}": { "at": [1, 2e3] }, "a": {} }, "c": "}" }"#;
        let to = |keys: &[&str], to| changed(text, keys, to);
        expect_test::expect![[r#"
            {"b":1.50,"nodes":{"x\"}":{"at":[3]},"a":{}},"c":"}"}
            {"b":1.50,"nodes":{"x\"}":{"at":[1,2e3]},"a":{"at":[3]}},"c":"}"}
            {"b":1.50,"nodes":{"x\"}":{"at":[1,2e3]},"a":{},"new":{"at":[3]}},"c":"}"}
            {"nodes":{"x\"}":{"at":[1,2e3]},"a":{}},"c":"}"}
            {"b":1.50,"nodes":{"x\"}":{"at":[1,2e3]},"a":{}}}
            {"b":1.50,"nodes":{"x\"}":{},"a":{}},"c":"}"}
            {"b":1.50,"nodes":{"x\"}":{"at":[1,2e3]},"a":{}},"c":"}"}
            `b` is not an object
            it has no key
            expected value at line 1 column 1"#]]
        .assert_eq(
            &[
                to(&["nodes", "x\"}", "at"], Some("[ 3 ]")),
                to(&["nodes", "a", "at"], Some("[3]")),
                to(&["nodes", "new", "at"], Some("[3]")),
                to(&["b"], None),
                to(&["c"], None),
                to(&["nodes", "x\"}", "at"], None),
                to(&["nodes", "y", "at"], None),
                to(&["b", "c"], Some("1")),
                to(&[], Some("1")),
                to(&["c"], Some("one")),
            ]
            .join("\n"),
        );
        let none = View::default();
        let (made, undo) = none.with_entry(&["nodes", "a"], Some("1"), None).expect("it is made");
        assert_eq!(made.text(), Some(r#"{"nodes":{"a":1}}"#));
        assert!(matches!(undo, Undo::Nothing));
        assert_eq!(changed("[1]", &["a"], Some("1")), "the view is not an object");
        assert_eq!(changed("{}", &["a"], Some("1")), r#"{"a":1}"#);
        assert_eq!(changed(r#"{"a":1}"#, &["a"], None), "{}");
    }
}
