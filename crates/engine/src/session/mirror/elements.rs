//! When a session has a live graph that holds columns.
//!
//! A graph of numbers is faster, so it is replaced only once a setting varies with the elements,
//! and made again when none does. Where a document with columns cannot be live, plans answer, and
//! it is tried again after a number of edits.

use super::carried::MOST_REFUSED;
use crate::session::Session;
use crate::session::back_off::BackOff;

/// When to try a live graph that holds columns.
#[derive(Debug, Default)]
pub(in crate::session) struct Columns {
    are_wanted: bool,
    /// When to try one again after a document could not be live.
    again: BackOff,
    /// Whether the present document could not be made a live graph of numbers.
    are_needed: bool,
}

impl Columns {
    /// Whether to try one now.
    pub(super) fn is_due(&self) -> bool {
        self.are_wanted && self.again.is_due()
    }

    /// Records the result of trying.
    pub(super) fn tried(&mut self, is_made: bool) {
        self.again.tried(is_made, MOST_REFUSED);
    }

    /// Records an edit.
    pub(in crate::session) fn edited(&mut self) {
        self.again.edited();
        self.are_needed = false;
    }
}

impl Session {
    /// Replaces the live graph by one that holds columns if some are given, or by one of numbers if
    /// none are.
    pub(in crate::session) fn fit_mirror(&mut self) {
        let wanted = self.has_elements();
        let has = self.mirror.as_ref().map(|mirror| mirror.holds_columns());
        self.columns.are_wanted = wanted;
        let is_due = match has {
            Some(false) | None => self.columns.is_due(),
            // It also answers where no column is given, if numbers alone cannot.
            Some(true) => !wanted && !self.columns.are_needed,
        };
        if !self.is_mirrored || !self.rest.is_due() || !is_due {
            return;
        }
        let checked = self.whole().live().cloned();
        let made = checked.and_then(|checked| {
            if wanted { self.mirror_of_columns(&checked) } else { self.mirror_of_numbers(&checked) }
        });
        self.columns.are_needed = !wanted && made.is_none();
        if let Some(mut made) = made {
            if let Some(before) = &mut self.mirror {
                made.go_on_with_results_of(before);
            }
            self.mirror = Some(made);
            self.set_mirror();
        }
    }
}
