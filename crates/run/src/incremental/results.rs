//! Storing results in the memo, with their stamps.
//!
//! A result with the bits of the last one keeps its stamp. A result for the same operands but other
//! cells is joined with the existing one.

use std::cmp::Reverse;
use std::time::Duration;

use millstream_base::Mask;
use millstream_base::id::Id;
use millstream_ir::answer::Fate;
use millstream_ir::plan::StepId;
use millstream_node::{Data, Kernel};
use smallvec::SmallVec;

use super::memo::{Entry, Equality, Memo};
use super::memoized::{Memoized, Reading};
use super::remembered::covers;
use crate::walk::Walk;

impl Walk<'_, Memoized<'_>> {
    /// Stores the result of a task's step, which is in its slot.
    pub(super) fn keep(&mut self, top: usize) {
        let (step, slot) = (self.stack[top].step, self.stack[top].slot);
        let outputs = self.all_outputs(slot);
        let rest = self.store.rest(slot);
        let (shape, done) = (rest.shape, rest.done.as_deref().cloned());
        let layout = self.layout_of(shape);
        let kernel = &self.plan.instances[self.instance_id(step)].kernel;
        if let Kernel::ReadState(_) = kernel {
            return self.stamp_state(slot);
        }
        let is_feature = matches!(kernel, Kernel::Read { .. });
        let Some(Reading { read, extends, base, partials, reason, started, mut unsettled }) =
            self.mode.reading.take()
        else {
            let stamps = outputs.iter().map(|_| self.mode.memo.new_stamp()).collect();
            *self.mode.slot(slot) = stamps;
            return;
        };
        let memo = &mut *self.mode.memo;
        let (epoch, cost) = (memo.epoch, started.elapsed());
        let entries = &memo.shelves[step.index()].entries;
        let same = extends.or_else(|| {
            // Another slot of this evaluation may have made a part of it.
            entries.iter().position(|entry| entry.read == read && entry.layout == layout)
        });
        let both = same.and_then(|old| joined(&entries[old], &outputs, done.as_ref()));
        let extends = same.filter(|_| both.is_some());
        let (outputs, done) = both.unwrap_or((outputs, done));
        let origin = Origin {
            extends,
            grows: extends.is_none_or(|old| !covers(entries[old].done.as_ref(), done.as_ref())),
            others: earlier(entries, epoch, slot.index(), done.is_none()),
            base,
            is_feature,
        };
        let before = extends.or(base).map_or(Duration::ZERO, |old| entries[old].cost);
        for (place, rounds) in extends.iter().flat_map(|old| &entries[*old].unsettled) {
            let most = unsettled.entry(place.clone()).or_default();
            *most = (*most).max(*rounds);
        }
        let mut entry = Entry {
            read,
            layout,
            outputs,
            stamps: SmallVec::new(),
            done,
            unsettled,
            lent: 0,
            used: epoch,
            made: (epoch, slot.index()),
            cost: cost + before,
            partials,
        };
        give_stamps(memo, step, &mut entry, &origin);
        note_changes(memo, step, &entry, &origin);
        let stamps = entry.stamps.clone();
        let passed_on = entry.outputs.clone();
        let has_tolerance = memo.has_tolerance();
        memo.keep(step, entry, extends);
        *self.mode.slot(slot) = stamps;
        if has_tolerance {
            self.show(slot, passed_on);
        }
        if let Some(entry) = self.log_entry(step)
            && entry.runs <= 1
        {
            entry.fate = Fate::Ran(reason);
        }
    }
}

/// The sources of the stamps of a result.
struct Origin {
    /// The entry that it replaces, which has the same operands.
    extends: Option<usize>,
    /// Whether it has cells that the replaced entry lacks.
    grows: bool,
    /// Entries with other operands.
    others: SmallVec<[usize; COMPARED]>,
    /// The one of these from which it has the elements that are unchanged.
    base: Option<usize>,
    /// Whether it is a feature, whose stamp it takes.
    is_feature: bool,
}

/// Assigns stamps to the outputs of a result: those of numbers, of the extended entry, of equal
/// entries with other operands, or new ones.
fn give_stamps(memo: &mut Memo, step: StepId, entry: &mut Entry, origin: &Origin) {
    for k in 0..entry.outputs.len() {
        let output = &entry.outputs[k];
        let equality = output.as_ref().map_or(Equality::Exact, |data| memo.equality_of(data.ty()));
        if let (Some(Data::One(value)), Equality::Exact) = (output, equality)
            && let Some(stamp) = memo.stamp_of_number(value)
        {
            entry.stamps.push(stamp);
            continue;
        }
        if origin.is_feature && equality == Equality::Exact {
            entry.stamps.push(entry.read[0]);
            continue;
        }
        let entries = &mut memo.shelves[step.index()].entries;
        let kept = match origin.extends {
            // Another entry may have continued under the stamp with other values.
            Some(old) => Some(old).filter(|old| !origin.grows || !entries[*old].has_lent(k)),
            None => origin.others.iter().copied().find(|old| {
                let old = &entries[*old];
                let (output, done) = (output.as_ref(), entry.done.as_ref());
                old.layout == entry.layout && agrees(equality, old, k, output, done)
            }),
        };
        let Some(old) = kept.map(|old| &mut entries[old]) else {
            entry.stamps.push(memo.new_stamp());
            continue;
        };
        entry.lent |= old.lend(k, origin.extends.is_some());
        entry.stamps.push(old.stamps[k]);
        // Readers keep seeing the value that they saw, so that tolerances do not add up.
        if let (Equality::Within(_), None, Some(passed_on)) =
            (equality, origin.extends, &old.outputs[k])
        {
            entry.outputs[k] = Some(passed_on.clone());
        }
    }
}

/// Records the elements in which a result differs from the one before.
fn note_changes(memo: &mut Memo, step: StepId, entry: &Entry, origin: &Origin) {
    let entries = &memo.shelves[step.index()].entries;
    let last = || origin.others.iter().copied().max_by_key(|old| entries[*old].used);
    let Some(old) = origin.base.or_else(last).map(|old| &entries[old]) else { return };
    let is_compared = origin.extends.is_none() || origin.base.is_some();
    if is_compared && old.layout == entry.layout {
        memo.changes.note_all(old, entry);
    }
}

/// The entries whose stamp a result may keep: the last ones of this slot, and those of other slots
/// that no other context of this evaluation uses; these may need further cells, unless they have
/// `all`.
fn earlier(entries: &[Entry], epoch: u64, slot: usize, all: bool) -> SmallVec<[usize; COMPARED]> {
    let is_own = |i: &usize| entries[*i].made.1 == slot;
    let is_free = |i: &usize| {
        let entry = &entries[*i];
        entry.used != epoch || all && entry.done.is_none() || is_own(i)
    };
    let mut all: SmallVec<[usize; COMPARED]> = (0..entries.len()).filter(is_free).collect();
    all.sort_by_key(|i| (!is_own(i), Reverse(entries[*i].used)));
    all.truncate(COMPARED);
    all
}

/// Maximal number of earlier results that a result is compared with.
const COMPARED: usize = 4;

/// Outputs with their cells; `None` stands for all cells.
type Outputs = (Box<[Option<Data>]>, Option<Mask>);

/// A new result joined with an entry for the same operands, if both have the same outputs.
fn joined(old: &Entry, new: &[Option<Data>], done: Option<&Mask>) -> Option<Outputs> {
    let (Some(old_done), Some(done)) = (&old.done, done) else {
        // One of the two has all cells.
        let outputs = if done.is_none() { new } else { &old.outputs };
        return new
            .iter()
            .zip(&old.outputs)
            .all(|(a, b)| a.is_some() == b.is_some())
            .then(|| (outputs.into(), None));
    };
    let more = old_done.difference(done);
    let mut n_cells = 0;
    let mut outputs = Vec::with_capacity(new.len());
    for outputs_of_both in old.outputs.iter().zip(new) {
        outputs.push(match outputs_of_both {
            (None, None) => None,
            (Some(Data::Many(old)), Some(Data::Many(new))) => {
                let mut both = new.clone();
                both.overwrite(&more, old, |cell| cell);
                n_cells = both.len();
                Some(Data::Many(both))
            }
            (_, _) => return None,
        });
    }
    let done = old_done.union(done);
    Some((outputs.into(), (done.len() < n_cells).then_some(done)))
}

/// Whether a new result covers an old one, with equal values there; if other entries may continue
/// under the stamp, with the same cells.
fn agrees(
    equality: Equality,
    old: &Entry,
    k: usize,
    new: Option<&Data>,
    new_done: Option<&Mask>,
) -> bool {
    let (Some(before), Some(new)) = (&old.outputs[k], new) else {
        return old.outputs[k].is_none() && new.is_none();
    };
    let covers = match (&old.done, new_done) {
        (None, None) => true,
        (Some(_), None) => !old.has_lent(k),
        (None, Some(_)) => false,
        (Some(old_done), Some(new_done)) => {
            new_done.covers(old_done) && (!old.has_lent(k) || old_done.covers(new_done))
        }
    };
    covers && equality.of_data(before, new, old.done.as_ref())
}
