//! Diagnostics: what is wrong, where, and what to do about it.
//!
//! Each phase has its own error enum, built with `thiserror` and `miette::Diagnostic`, and returns
//! a [`Diagnostics`] list whose entries combine a place with the message, code and help of an
//! error.

use std::fmt;
use std::sync::Arc;

use crate::path::Place;

/// How severe a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The document is valid, but its result may surprise the author.
    Note,
    /// The document works, but something in it is probably not intended.
    Warning,
    /// The document, or the named part of it, has no meaning.
    Error,
}

/// One problem, with its location and a hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The severity.
    pub severity: Severity,
    /// The stable code, `phase::name`.
    pub code: String,
    /// Where in the document.
    pub place: Place,
    /// The problem, in lower case, without a final period.
    pub message: String,
    /// The next step for the author, if there is one.
    pub help: Option<String>,
}

impl Diagnostic {
    /// The problem `error` at `place`, with the code, severity and help of the error.
    pub fn new(place: Place, error: &(impl miette::Diagnostic + ?Sized)) -> Self {
        let severity = match error.severity() {
            Some(miette::Severity::Advice) => Severity::Note,
            Some(miette::Severity::Warning) => Severity::Warning,
            Some(miette::Severity::Error) | None => Severity::Error,
        };
        Self {
            severity,
            code: error.code().map(|code| code.to_string()).unwrap_or_default(),
            place,
            message: error.to_string(),
            help: error.help().map(|help| help.to_string()),
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.place.file {
            write!(f, "{}:", file.name)?;
            if let Some(span) = self.place.span {
                write!(f, "{}:", file.line_of(span.start))?;
            }
            f.write_str(" ")?;
        }
        if !self.place.path.as_str().is_empty() {
            write!(f, "{}: ", self.place.path)?;
        }
        f.write_str(&self.message)?;
        if let Some(help) = &self.help {
            write!(f, " ({help})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

/// The problems that a phase found, in the order of the document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// No problems.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends the problem `error` at `place`.
    pub fn report(&mut self, place: Place, error: &(impl miette::Diagnostic + ?Sized)) {
        self.0.push(Diagnostic::new(place, error));
    }

    /// Appends a problem.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    /// Appends the problems of another list.
    pub fn append(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Whether any problem is an error.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|d| d.severity == Severity::Error)
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of problems.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The problems in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }

    /// Sorts by byte position, keeping the order of problems without one; the document comes before
    /// the files that it uses.
    pub fn sort_by_place(&mut self) {
        let start = |d: &Diagnostic| d.place.span.map_or(u32::MAX, |span| span.start);
        let file = |d: &Diagnostic| d.place.file.as_ref().map(|file| Arc::clone(&file.name));
        self.0.sort_by(|a, b| file(a).cmp(&file(b)).then(start(a).cmp(&start(b))));
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, diagnostic) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{diagnostic}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

/// A number with its noun: `1 row`, `2 rows`.
pub fn counted(n: u64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// A number with its noun where more was expected: `no rows`, `only 1 row`.
pub fn only_counted(n: u64, noun: &str) -> String {
    if n == 0 { format!("no {noun}s") } else { format!("only {}", counted(n, noun)) }
}

/// The candidate that `name` was probably meant to be: the one at the smallest edit distance, if
/// that distance is small.
pub fn did_you_mean<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    nearest(name, &mut candidates.into_iter())
}

/// [`did_you_mean`] for any iterator, so that it is compiled once.
fn nearest<'a>(name: &str, candidates: &mut dyn Iterator<Item = &'a str>) -> Option<&'a str> {
    let n_chars = name.chars().count();
    let most = 1 + n_chars / 3;
    let letters = letters_of(name);
    candidates
        .filter(|candidate| candidate.chars().count().abs_diff(n_chars) <= most)
        .filter(|candidate| {
            letters_of(candidate).zip(letters).is_none_or(|(a, b)| {
                let surplus: u32 =
                    a.iter().zip(&b).map(|(a, b)| u32::from(a.saturating_sub(*b))).sum();
                surplus as usize <= most
            })
        })
        .map(|candidate| (edit_distance(name, candidate), candidate))
        .filter(|(distance, candidate)| {
            // Names without a common letter are as far apart as the longer one has letters.
            let n_longer = n_chars.max(candidate.chars().count());
            // Few people mistype the first letter; of other names, most letters must agree.
            let starts_alike = name.chars().next() == candidate.chars().next();
            *distance <= most
                && (*distance == 0 || *distance < n_longer)
                && (*distance <= 1 || starts_alike || *distance * 2 < n_longer)
        })
        .min()
        .map(|(_, candidate)| candidate)
}

/// How often each letter occurs, with some letters counted together; `None` for names that are not
/// ASCII. A cheap filter: names whose counts differ a lot are not close.
fn letters_of(name: &str) -> Option<[u8; 32]> {
    let mut letters = [0_u8; 32];
    for byte in name.bytes() {
        if !byte.is_ascii() {
            return None;
        }
        let at = &mut letters[usize::from((byte | 0x20) & 31)];
        *at = at.saturating_add(1);
    }
    Some(letters)
}

/// The number of single-character insertions, deletions, replacements and swaps of neighbors
/// between two names. Names longer than 64 characters count as far apart.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    if a.chars().count() > 64 || b.chars().count() > 64 {
        return usize::MAX;
    }
    strsim::osa_distance(&a, &b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        let known = ["math.add", "math.subtract", "vector.distance"];
        assert_eq!(did_you_mean("math.ad", known), Some("math.add"));
        assert_eq!(did_you_mean("vector.distnace", known), Some("vector.distance"));
        assert_eq!(did_you_mean("image.blur", known), None);
        assert_eq!(did_you_mean("aa", ["a", "b"]), Some("a"));
        assert_eq!(did_you_mean("c", ["a", "b"]), None);
        assert_eq!(did_you_mean("", ["a", "b"]), None);
        assert_eq!(did_you_mean("foo", ["bool"]), None);
        assert_eq!(did_you_mean("for", ["cos"]), None);
        assert_eq!(did_you_mean("ear", ["eye"]), Some("eye"));
        assert_eq!(
            (counted(1_u64, "row"), counted(2_u64, "row")),
            ("1 row".into(), "2 rows".into())
        );
    }
}
