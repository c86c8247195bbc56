//! Collects the problems of one phase, up to a number that people can read.

use std::collections::HashMap;
use std::sync::Arc;

use millstream_base::UsedFile;
use millstream_base::diagnostics::{Diagnostic, Diagnostics, Severity, did_you_mean};
use millstream_base::path::{Place, Span};

use crate::at::At;
use crate::wrong::WrongPart;

/// The maximum number of stored problems; further ones are only counted.
const MAX_KEPT: usize = 1000;

/// The maximum number of stored notes; further ones are only counted.
const MAX_NOTES: usize = 100;

/// The maximum number of names compared for all suggestions together, so that a document full of
/// errors is refused in reasonable time.
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

/// More notes than anybody reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error("{n} more notes")]
#[diagnostic(severity(Advice), code(document::more_notes))]
struct MoreNotes {
    n: usize,
}

/// The problems of one phase.
#[derive(Default)]
pub(crate) struct Problems {
    kept: Diagnostics,
    /// Stored separately, so that notes do not displace problems.
    notes: Diagnostics,
    n_more_notes: usize,
    n_errors: usize,
    n_dropped: usize,
    n_compared: usize,
    /// The parts with errors, in the order of discovery.
    wrong: Vec<WrongPart>,
    is_silent: bool,
    n_cycles: usize,
    /// Whether errors of added nodes, except for cycles, are recorded without a report, because
    /// they were reported where their group is defined.
    knows_others: bool,
    /// The files of groups of used documents.
    files: HashMap<Arc<str>, Arc<UsedFile>>,
}

impl Problems {
    /// A collector that only records which parts have errors.
    pub(crate) fn silent() -> Self {
        Self { is_silent: true, ..Self::default() }
    }

    /// A collector for another check of the same document.
    pub(crate) fn after(before: &Self) -> Self {
        Self { knows_others: before.n_errors > before.n_cycles, ..Self::default() }
    }

    /// The number of reported cycles.
    pub(crate) fn n_cycles(&self) -> usize {
        self.n_cycles
    }

    /// From now on only records which parts have errors.
    pub(crate) fn be_silent(&mut self) {
        self.is_silent = true;
    }

    /// Reports again after [`be_silent`](Self::be_silent).
    pub(crate) fn speak(&mut self) {
        self.is_silent = false;
    }

    /// The parts with errors found since the last call.
    pub(crate) fn take_parts(&mut self) -> Vec<WrongPart> {
        std::mem::take(&mut self.wrong)
    }

    /// Whether parts with errors were found since the last [`take_parts`](Self::take_parts).
    pub(crate) fn has_wrong_parts(&self) -> bool {
        !self.wrong.is_empty()
    }

    /// Adds a problem.
    pub(crate) fn report(
        &mut self,
        at: At<'_>,
        span: Span,
        error: &(impl miette::Diagnostic + ?Sized),
    ) {
        let is_error = error.severity() != Some(miette::Severity::Warning);
        if is_error {
            self.note_wrong(at);
        }
        if self.is_silent || at.is_added() && (!is_error || self.knows_others) {
            return;
        }
        self.store(at, span, error);
    }

    /// Adds a cycle, whichever nodes form it.
    pub(crate) fn report_cycle(
        &mut self,
        at: At<'_>,
        span: Span,
        error: &(impl miette::Diagnostic + ?Sized),
    ) {
        self.n_cycles += 1;
        self.note_wrong(at);
        if !self.is_silent {
            self.store(at, span, error);
        }
    }

    fn store(&mut self, at: At<'_>, span: Span, error: &(impl miette::Diagnostic + ?Sized)) {
        if self.kept.len() >= MAX_KEPT {
            self.n_errors += usize::from(error.severity() != Some(miette::Severity::Warning));
            self.n_dropped += 1;
            return;
        }
        self.add(Diagnostic::new(self.place_of(at, span), error));
    }

    /// A place in the document, or in the used document that has the group.
    fn place_of(&self, at: At<'_>, span: Span) -> Place {
        let file = self.files.get(at.group).map(Arc::clone);
        Place::with_span(at.path().as_str(), span).in_file(file)
    }

    /// Records the file of a group.
    pub(crate) fn know_file(&mut self, group: &Arc<str>, file: Option<&Arc<UsedFile>>) {
        self.files.extend(file.map(|file| (Arc::clone(group), Arc::clone(file))));
    }

    /// Adds a problem that was found elsewhere.
    pub(crate) fn add(&mut self, problem: Diagnostic) {
        if self.is_silent {
            return;
        }
        self.n_errors += usize::from(problem.severity == Severity::Error);
        if self.kept.len() >= MAX_KEPT {
            self.n_dropped += 1;
            return;
        }
        self.kept.push(problem);
    }

    /// Whether another note is stored; otherwise it is only counted.
    pub(crate) fn takes_note(&mut self) -> bool {
        let is_full = self.notes.len() >= MAX_NOTES;
        self.n_more_notes += usize::from(is_full);
        !is_full && !self.is_silent
    }

    /// Adds a note; call only if [`takes_note`](Self::takes_note) allowed it.
    pub(crate) fn note(&mut self, at: At<'_>, span: Span, note: &impl miette::Diagnostic) {
        if at.is_added() {
            return;
        }
        self.notes.push(Diagnostic::new(self.place_of(at, span), note));
    }

    /// Records that a part has an error, without a report.
    pub(crate) fn note_wrong(&mut self, at: At<'_>) {
        self.wrong.push(WrongPart::of(at));
    }

    /// The number of errors so far, including those that were only counted.
    pub(crate) fn n_errors(&self) -> usize {
        self.n_errors
    }

    /// Whether further problems are only counted, so that hints for them would be wasted.
    pub(crate) fn is_full(&self) -> bool {
        self.is_silent || self.kept.len() >= MAX_KEPT
    }

    /// `did you mean X?`, or the result of `otherwise`.
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

    /// The known name that was probably meant.
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

    /// All problems in the order of the text.
    pub(crate) fn finish(self) -> Diagnostics {
        let mut all = self.kept;
        all.append(self.notes);
        all.sort_by_place();
        if self.n_dropped > 0 {
            let more = More { n: self.n_dropped };
            let mut more = Diagnostic::new(Place::at(""), &more);
            if !all.has_errors() && self.n_errors == 0 {
                more.severity = Severity::Warning;
            }
            all.push(more);
        }
        if self.n_more_notes > 0 {
            all.push(Diagnostic::new(Place::at(""), &MoreNotes { n: self.n_more_notes }));
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

/// The text, cut off after 60 characters.
pub(crate) fn shortened(text: &str) -> String {
    const MAX_SHOWN: usize = 60;
    match text.char_indices().nth(MAX_SHOWN) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.into(),
    }
}
