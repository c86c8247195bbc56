//! The source of used documents: files below a directory, or whatever the embedding program offers.

use std::fmt::Display;

use millstream_base::Limits;

use crate::load::{Loaded, load_to_check};

/// Finds and reads the documents that others use.
///
/// A closure that returns the text of a document for its path is a library; paths are relative to
/// the top document, with `/` between their parts.
pub trait Library: Send + Sync {
    /// The name of the top document, for messages.
    #[expect(clippy::unnecessary_literal_bound, reason = "other libraries own the name")]
    fn top(&self) -> &str {
        "the document"
    }

    /// The name of the document that another one, found earlier, calls `path`; `None` is the top
    /// document. A document has one name, however it is found, which messages show.
    ///
    /// # Errors
    /// If there is no such document, or the caller did not allow it.
    fn find(&self, user: Option<&str>, path: &str) -> Result<String, LibraryError>;

    /// The text of a document that was found. A text longer than `most_bytes` may be cut after that
    /// number of bytes.
    ///
    /// # Errors
    /// If it cannot be read.
    fn read(&self, name: &str, most_bytes: usize) -> Result<Vec<u8>, LibraryError>;

    /// Loads the text of a document, which is JSON unless the library knows other forms.
    fn load(&self, text: &[u8], limits: &Limits) -> Loaded {
        load_to_check(text, limits)
    }
}

/// Why a document is not available.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryError {
    /// The reason, which follows the path in a sentence: `cannot be read: ...`.
    pub message: String,
    /// The next step for the author.
    pub hint: String,
}

impl<F, E> Library for F
where
    F: Fn(&str) -> Result<Vec<u8>, E> + Send + Sync,
    E: Display,
{
    fn find(&self, user: Option<&str>, path: &str) -> Result<String, LibraryError> {
        relative(user, path).ok_or_else(|| LibraryError {
            message: "leads out of the library".into(),
            hint: "use a path with fewer `..`".into(),
        })
    }

    fn read(&self, name: &str, _: usize) -> Result<Vec<u8>, LibraryError> {
        self(name).map_err(|error| LibraryError {
            message: format!("cannot be read: {error}"),
            hint: "check the path, which is relative to the document that uses it".into(),
        })
    }
}

/// The path, from the top, of the document that `user` calls `path`; `user` is itself a path from
/// the top. `None` if the result leads outside.
pub fn relative(user: Option<&str>, path: &str) -> Option<String> {
    let directory = user.and_then(|user| user.rsplit_once('/')).map_or("", |(before, _)| before);
    let mut parts: Vec<&str> = Vec::new();
    for part in directory.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Why a path cannot be that of a used document, and the next step.
pub(crate) fn path_problem(path: &str) -> Option<(&'static str, &'static str)> {
    const RELATIVE: &str =
        "write it relative to the document that uses it: \"lib/noise.mill.json\"";
    let has_drive = path.as_bytes().get(1) == Some(&b':');
    match path {
        "" => Some(("is empty", RELATIVE)),
        _ if path.starts_with('/') || has_drive => Some(("is absolute", RELATIVE)),
        _ if path.contains('\\') => Some(("contains a `\\`", "write / between its parts")),
        _ if path.chars().any(char::is_control) => Some(("contains a control character", RELATIVE)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_their_user() {
        assert_eq!(relative(None, "lib/a").as_deref(), Some("lib/a"));
        assert_eq!(relative(Some("lib/a"), "b").as_deref(), Some("lib/b"));
        assert_eq!(relative(Some("lib/a"), "./../b").as_deref(), Some("b"));
        assert_eq!(relative(Some("lib/a"), "../../b"), None);
    }

    #[test]
    fn absolute_paths_are_refused() {
        for path in ["", "/a", "C:/a", "a\\b", "a\nb"] {
            assert!(path_problem(path).is_some(), "{path}");
        }
        assert!(path_problem("../a").is_none());
    }
}
