//! When a session has a live graph that holds columns.
//!
//! A graph of numbers is faster, so it is replaced only once a setting varies with the elements,
//! and made again when none does. Where a document with columns cannot be live, plans answer, and
//! it is tried again after a number of edits.

use crate::session::Session;

/// Maximal number of edits until it is tried again.
const MOST_REFUSED: u32 = 16;

/// When to try a live graph that holds columns.
#[derive(Debug, Default)]
pub(in crate::session) struct Columns {
    are_wanted: bool,
    /// The number of edits until one is tried again after a document could not be live: those left,
    /// and all.
    left: u32,
    last: u32,
}

impl Columns {
    /// Whether to try one now.
    pub(super) fn is_due(&self) -> bool {
        self.are_wanted && self.left == 0
    }

    /// Records the result of trying, if it was due.
    pub(super) fn tried(&mut self, is_made: bool) {
        if self.is_due() {
            self.last = if is_made { 0 } else { (2 * self.last).clamp(1, MOST_REFUSED) };
            self.left = self.last;
        }
    }

    /// Records an edit.
    pub(in crate::session) fn edited(&mut self) {
        self.left = self.left.saturating_sub(1);
    }
}

impl Session {
    /// Replaces the live graph by one that holds columns if some are given, or by one of numbers if
    /// none are.
    pub(in crate::session) fn fit_mirror(&mut self) {
        let Some(mirror) = &self.mirror else { return };
        self.columns.are_wanted = self.settings.has_elements();
        let (has, wanted) = (mirror.holds_columns(), self.columns.are_wanted);
        if has == wanted || wanted && !self.columns.is_due() {
            return;
        }
        let Some(checked) = self.whole().live().cloned() else { return };
        let Some(mut made) = self.new_mirror(&checked) else { return };
        if made.holds_columns() != has {
            if let Some(before) = &mut self.mirror {
                made.go_on_with_results_of(before);
            }
            self.mirror = Some(made);
            self.set_mirror();
        }
    }
}
