//! Collects the problems of one phase, up to a number that people can read.

use millstream_base::diagnostics::{Diagnostic, Diagnostics, Severity, did_you_mean};
use millstream_base::path::{Place, Span};

use crate::at::At;
use crate::wrong::WrongPart;

/// Maximal number of problems that are stored; further ones are counted.
const MAX_KEPT: usize = 1000;

/// Maximal number of names compared for suggestions in total, so that a document full of errors is
/// refused in reasonable time.
const MAX_COMPARED: usize = 200_000;

/// Longer names are not compared.
const MAX_COMPARED_BYTES: usize = 256;

/// More problems than anybody reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error("{n} more problems")]
#[diagnostic(code(document::more_problems), help("fix the first ones and check again"))]
struct More {
    n: usize,
}

/// The problems of one phase.
#[derive(Default)]
pub(crate) struct Problems {
    kept: Diagnostics,
    n_errors: usize,
    n_dropped: usize,
    n_compared: usize,
    /// The wrong parts, if they are wanted.
    wrong: Option<Vec<WrongPart>>,
}

impl Problems {
    /// A list that also notes the wrong parts.
    pub(crate) fn noting_parts() -> Self {
        Self { wrong: Some(Vec::new()), ..Self::default() }
    }

    /// The parts that are wrong, in the order in which they were found.
    pub(crate) fn take_parts(&mut self) -> Vec<WrongPart> {
        self.wrong.take().unwrap_or_default()
    }

    /// Adds a problem.
    pub(crate) fn report(
        &mut self,
        at: At<'_>,
        span: Span,
        error: &(impl miette::Diagnostic + ?Sized),
    ) {
        let is_error =
            !matches!(error.severity(), Some(miette::Severity::Warning | miette::Severity::Advice));
        self.n_errors += usize::from(is_error);
        if let Some(wrong) = self.wrong.as_mut().filter(|_| is_error) {
            wrong.push(WrongPart::of(at));
        }
        if self.kept.len() >= MAX_KEPT {
            self.n_dropped += 1;
            return;
        }
        self.kept.push(Diagnostic::new(Place::with_span(at.path().as_str(), span), error));
    }

    /// Number of errors so far, including those that were only counted.
    pub(crate) fn n_errors(&self) -> usize {
        self.n_errors
    }

    /// Whether further problems are only counted, so that hints for them are useless.
    pub(crate) fn is_full(&self) -> bool {
        self.kept.len() >= MAX_KEPT
    }

    /// `did you mean X?`, or the text of `otherwise`.
    pub(crate) fn suggest<'a>(
        &mut self,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
        otherwise: impl FnOnce() -> String,
    ) -> String {
        if self.is_full() {
            return String::new();
        }
        let near = self.nearest(name, known);
        near.map_or_else(otherwise, |near| format!("did you mean `{near}`?"))
    }

    /// The known name that a name was probably meant to be.
    pub(crate) fn nearest<'a>(
        &mut self,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Option<&'a str> {
        let room = MAX_COMPARED - self.n_compared;
        if name.len() > MAX_COMPARED_BYTES || room == 0 {
            return None;
        }
        let mut n = 0;
        let near = did_you_mean(name, known.into_iter().take(room).inspect(|_| n += 1));
        self.n_compared += n;
        near
    }

    /// All problems in order of the text.
    pub(crate) fn finish(self) -> Diagnostics {
        let mut all = self.kept;
        all.sort_by_place();
        if self.n_dropped > 0 {
            let more = More { n: self.n_dropped };
            let mut more = Diagnostic::new(Place::at(""), &more);
            if !all.has_errors() && self.n_errors == 0 {
                more.severity = Severity::Warning;
            }
            all.push(more);
        }
        all
    }
}

/// The names as a list for hints, shortened if there are many.
pub(crate) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const MAX_LISTED: usize = 12;
    let mut names = names.into_iter();
    let first: Vec<String> = names.by_ref().take(MAX_LISTED).map(|n| format!("`{n}`")).collect();
    let more = if names.next().is_some() { ", ..." } else { "" };
    format!("{}{more}", first.join(", "))
}

/// The text, cut after 60 characters.
pub(crate) fn shortened(text: &str) -> String {
    const MAX_SHOWN: usize = 60;
    match text.char_indices().nth(MAX_SHOWN) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.into(),
    }
}
