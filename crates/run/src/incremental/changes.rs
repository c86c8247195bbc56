//! Columns of which few elements changed: a step runs for these elements alone.
//!
//! Where a value gets a new stamp, it is compared with the value before, and the elements that
//! differ are recorded between the two stamps. A step that has a result for the stamps before takes
//! over all other elements of it, also if it reads items of lists that changed (`readers`). A
//! function that folds a list by blocks keeps the partial results of blocks, and computes those
//! anew in which items changed.

use millstream_base::id::Id;
use millstream_base::{Column, Mask, Value};
use millstream_ir::answer::EvalError;
use millstream_ir::plan::StepId;
use millstream_node::blockwise::Blockwise;
use millstream_node::{Data, Instance, Kernel};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::memo::{Entry, Memo, Stamp, Stamps};
use super::memoized::Memoized;
use crate::differing::{FEW, differing_elements};
use crate::shape::{AxisId, ShapeId, Shapes};
use crate::store::State;
use crate::walk::{Demand, Place, Stop, Walk};

/// What differs between two stamps.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// The cells of columns.
    cells: FxHashMap<(Stamp, Stamp), Mask>,
    /// The items of a list, or of all lists of a column, of which none has another length.
    items: FxHashMap<(Stamp, Stamp), Mask>,
}

impl Changes {
    /// Makes room for those of an evaluation of a plan with this number of steps. Earlier ones stay
    /// true; an evaluation that starts again without elements that fail needs the last ones.
    pub(super) fn begin(&mut self, n_steps: usize) {
        if self.cells.len() + self.items.len() > n_steps + 1024 {
            *self = Self::default();
        }
    }

    /// Records where two values differ, if this is in few elements. Of each, only some cells may be
    /// known; a cell that is not known in both counts as changed, because others may become known
    /// later under the same stamps.
    pub(super) fn note(
        &mut self,
        (old, old_done): (&Data, Option<&Mask>),
        (new, done): (&Data, Option<&Mask>),
        between: (Stamp, Stamp),
    ) {
        let (cells, items) = match (old, new) {
            (Data::Many(old), Data::Many(new)) => match (old_done, done) {
                (None, None) => (differing_mask(old, new), differing_items(old, new)),
                (_, _) => (differing_cells((old, old_done), (new, done)), None),
            },
            (Data::One(Value::List(old)), Data::One(Value::List(new))) => {
                (None, differing_mask(old, new))
            }
            (Data::One(_) | Data::Many(_), _) => (None, None),
        };
        self.cells.extend(cells.map(|cells| (between, cells)));
        self.items.extend(items.map(|items| (between, items)));
    }

    /// As [`Changes::note`] for all outputs of two results with the same axes.
    pub(super) fn note_all(&mut self, old: &Entry, new: &Entry) {
        for (k, (before, now)) in old.outputs.iter().zip(&new.outputs).enumerate() {
            let between = (old.stamps[k], new.stamps[k]);
            if let (Some(before), Some(now), true) = (before, now, between.0 != between.1) {
                self.note((before, old.done.as_ref()), (now, new.done.as_ref()), between);
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.cells.is_empty() && self.items.is_empty()
    }

    fn cells_between(&self, from: Stamp, to: Stamp) -> Option<&Mask> {
        self.cells.get(&(from, to))
    }

    /// The items that differ, by their positions in a list or in the column of all items of lists.
    pub(super) fn items_between(&self, from: Stamp, to: Stamp) -> Option<&Mask> {
        self.items.get(&(from, to))
    }
}

/// The result that is looked up.
pub(super) struct Wanted<'r> {
    /// Its shape if it is demanded in full.
    pub(super) shape: ShapeId,
    /// Whether all of its parts have the same operands, whose axes are those of `shape`.
    pub(super) is_strict: bool,
    /// Whether a part of the demand can be computed alone, whatever the demands on the inputs were.
    pub(super) may_extend: bool,
    /// The operands, of which an element of the result depends on one element each, or on all
    /// elements along an axis that is gathered into lists.
    pub(super) by_element: &'r [Read],
    /// Whether lists are gathered.
    pub(super) gathers: bool,
}

impl<'r> Wanted<'r> {
    /// The result of a step that may have other operands in other parts.
    pub(super) fn of(shape: ShapeId, by_element: &'r [Read]) -> Self {
        Self { shape, is_strict: false, may_extend: false, by_element, gathers: false }
    }
}

/// An operand of a step that runs element by element.
#[derive(Clone, Debug)]
pub(super) struct Read {
    /// The position of its stamp among those that the step reads.
    pub(super) stamp: usize,
    pub(super) place: Place,
    pub(super) shape: ShapeId,
    /// For an arm, the cells that take it, over the shape of the demand.
    pub(super) cells: Option<(ShapeId, Mask)>,
    /// The axis along which it is gathered.
    pub(super) along: Option<AxisId>,
}

fn differing_mask(old: &Column, new: &Column) -> Option<Mask> {
    let elements = differing_elements(old, new)?;
    Mask::from_indices(elements.into_vec()).ok()
}

/// The items in which the lists of two columns differ.
fn differing_items(old: &Column, new: &Column) -> Option<Mask> {
    let (old, new) = (old.as_ragged()?, new.as_ragged()?);
    if old.offsets() == new.offsets() { differing_mask(old.values(), new.values()) } else { None }
}

/// The cells in which columns differ that are not known everywhere.
fn differing_cells(
    (old, old_done): (&Column, Option<&Mask>),
    (new, done): (&Column, Option<&Mask>),
) -> Option<Mask> {
    let n = old.len();
    if n != new.len() || old.ty() != new.ty() {
        return None;
    }
    let all = Mask::full(n);
    let (old_done, done) = (old_done.unwrap_or(&all), done.unwrap_or(&all));
    let in_both = old_done.intersect(done);
    if old_done.union(done).difference(&in_both).len() > n / FEW {
        return None;
    }
    let mut cells = Vec::new();
    for cell in &in_both {
        if !old.same_at(cell, new, cell) {
            if cells.len() == n / FEW {
                return None;
            }
            cells.push(cell as u32);
        }
    }
    Some(all.difference(&in_both).union(&Mask::from_indices(cells).ok()?))
}

impl Memo {
    /// Records where the outputs of an entry differ from those that were used last.
    pub(super) fn note_return(&mut self, step: StepId, at: usize) {
        let entries = &self.shelves[step.index()].entries;
        let entry = &entries[at];
        let last = entries.iter().filter(|other| other.layout == entry.layout);
        let last = last.filter(|other| other.used > entry.used && other.used < self.epoch);
        let Some(last) = last.max_by_key(|other| other.used) else { return };
        self.changes.note_all(last, entry);
    }
}

/// Maximal number of results of a step that are tried, the last used ones first.
const TRIED: usize = 4;

/// Shorter lists are folded as a whole, which takes no longer.
const FEWEST_BLOCKS: usize = 3;

/// Longer lists are folded as a whole, so that a cancellation is noticed in time.
const MOST_ITEMS: usize = 1 << 22;

impl Walk<'_, Memoized<'_>> {
    /// Puts the elements into the slot of a task that an earlier result has for other operands and
    /// that did not change; the demand becomes the rest. Returns the entry of that result, and
    /// whether nothing is left to compute.
    pub(super) fn take_unchanged(
        &mut self,
        top: usize,
        read: &Stamps,
        of: &Wanted<'_>,
    ) -> Result<Option<(usize, bool)>, Stop> {
        let (step, slot) = (self.stack[top].step, self.stack[top].slot);
        let memo = &*self.mode.memo;
        if memo.changes.is_empty() || !memo.is_exact() || self.store.state(slot) != State::Empty {
            return Ok(None);
        }
        let used = self.used_outputs[step.index()];
        let is_column = |(k, output): (usize, &Option<Data>)| match output {
            Some(data) => matches!(data, Data::Many(_)),
            None => used & 1 << k.min(63) == 0,
        };
        let epoch = memo.epoch;
        let fits = |entry: &Entry| {
            entry.read.len() == read.len()
                && entry.made.0 != epoch
                // It is not known which elements did not settle.
                && entry.unsettled.is_empty()
                && entry.outputs.iter().enumerate().all(is_column)
        };
        let entries = memo.shelves[step.index()].entries.iter().enumerate();
        let mut fitting: SmallVec<[(u64, usize); TRIED]> = SmallVec::new();
        fitting.extend(entries.filter(|(_, it)| fits(it)).map(|(i, it)| (epoch - it.used, i)));
        fitting.sort_unstable();
        for (_, i) in fitting.into_iter().take(TRIED) {
            let entry = &self.mode.memo.shelves[step.index()].entries[i];
            let (layout, done, before) = (entry.layout, entry.done.clone(), entry.read.clone());
            let Some(shape) = self.shape_of_layout(layout) else { continue };
            let Some(wanted) = self.wanted_of(top, shape, of)? else { continue };
            let mut readable = self.readable_cells(shape, &wanted, of)?;
            if let Some(done) = &done {
                readable = readable.intersect(done);
            }
            let known = self.unchanged_cells(top, (shape, readable), (&before, read), of)?;
            let Some(known) = known else { continue };
            let rest = wanted.difference(&known);
            if rest.len() > wanted.len() / 2 {
                continue;
            }
            let outputs = self.mode.memo.shelves[step.index()].entries[i].outputs.clone();
            let is_whole = known.len() == self.shapes.n_cells(shape)?;
            self.take_up(slot, shape, outputs, (!is_whole).then_some(known));
            let is_all = rest.is_empty();
            if !is_all {
                self.stack[top].demand = Demand::part(shape, rest);
            }
            return Ok(Some((i, is_all)));
        }
        Ok(None)
    }

    /// Adds elements to the part of a result in the slot of a task, which is that of the entry `own`:
    /// those of a `rest` that an earlier result has for other operands and that did not change.
    /// Returns the elements that are still to be computed, and the entry of the earlier result.
    pub(super) fn take_more_unchanged(
        &mut self,
        top: usize,
        read: &Stamps,
        (shape, rest, own): (ShapeId, Mask, usize),
        of: &Wanted<'_>,
    ) -> Result<(Mask, Option<usize>), Stop> {
        let (step, slot) = (self.stack[top].step, self.stack[top].slot);
        let memo = &*self.mode.memo;
        if memo.changes.is_empty() || !memo.is_exact() || self.store.state(slot) != State::Partial {
            return Ok((rest, None));
        }
        let epoch = memo.epoch;
        let layout = memo.shelves[step.index()].entries[own].layout;
        let fits = |(i, entry): &(usize, &Entry)| {
            *i != own
                && entry.layout == layout
                && entry.read.len() == read.len()
                && entry.made.0 != epoch
                && entry.unsettled.is_empty()
        };
        let entries = memo.shelves[step.index()].entries.iter().enumerate();
        let mut fitting: SmallVec<[(u64, usize); TRIED]> = SmallVec::new();
        fitting.extend(entries.filter(fits).map(|(i, it)| (epoch - it.used, i)));
        fitting.sort_unstable();
        for (_, i) in fitting.into_iter().take(TRIED) {
            let entry = &self.mode.memo.shelves[step.index()].entries[i];
            let (before, outputs) = (entry.read.clone(), entry.outputs.clone());
            let cells = match &entry.done {
                Some(done) => rest.intersect(done),
                None => rest.clone(),
            };
            let known = self.unchanged_cells(top, (shape, cells), (&before, read), of)?;
            let Some(known) = known.filter(|known| !known.is_empty()) else { continue };
            let mut all = self.all_outputs(slot);
            let mut both = all.iter_mut().zip(&outputs);
            let fit = both.all(|both| match both {
                (None, _) => true,
                (Some(Data::Many(column)), Some(Data::Many(from))) => {
                    column.overwrite(&known, from, |cell| cell);
                    true
                }
                (Some(_), _) => false,
            });
            if !fit {
                continue;
            }
            let done = self.store.rest(slot).done.as_deref().map(|done| done.union(&known));
            let n_cells = self.shapes.n_cells(shape)?;
            self.take_up(slot, shape, all, done.filter(|done| done.len() < n_cells));
            return Ok((rest.difference(&known), Some(i)));
        }
        Ok((rest, None))
    }

    /// The cells of a result over `shape` for which all operands are known, at least those that are
    /// wanted: others may be wanted later.
    fn readable_cells(
        &mut self,
        shape: ShapeId,
        wanted: &Mask,
        of: &Wanted<'_>,
    ) -> Result<Mask, Stop> {
        if of.gathers || of.by_element.iter().any(|operand| operand.cells.is_some()) {
            return Ok(wanted.clone());
        }
        let mut cells = Mask::full(self.shapes.n_cells(shape)?);
        for operand in of.by_element {
            if let Place::Slot(slot, _) = operand.place
                && self.store.state(slot) == State::Partial
                && let Some(done) = self.store.rest(slot).done.as_deref().cloned()
            {
                cells = cells.intersect(&self.shapes.project(operand.shape, &done, shape)?);
            }
        }
        Ok(cells.union(wanted))
    }

    /// Those of some cells of a result over `shape` that read nothing of the operands that changed
    /// between these stamps; `None` if it is not known which operands changed where.
    fn unchanged_cells(
        &mut self,
        top: usize,
        (shape, mut cells): (ShapeId, Mask),
        (before, now): (&Stamps, &Stamps),
        of: &Wanted<'_>,
    ) -> Result<Option<Mask>, Stop> {
        let reads = self.items_read(top).filter(|_| !of.gathers && !of.by_element.is_empty());
        let mut changed_list = None;
        for (position, (from, to)) in before.iter().zip(now).enumerate() {
            if from == to {
                continue;
            }
            if let Some(reads) = reads.filter(|reads| reads.list() == position)
                && self.mode.memo.changes.items_between(*from, *to).is_some()
            {
                changed_list = Some((reads, (*from, *to)));
                continue;
            }
            let operand = of.by_element.iter().find(|operand| operand.stamp == position);
            let changed = self.mode.memo.changes.cells_between(*from, *to).cloned();
            let (Some(operand), Some(mut changed)) = (operand, changed) else { return Ok(None) };
            let mut of_changed = operand.shape;
            if let Some(axis) = operand.along.filter(|axis| self.shapes.contains(of_changed, *axis))
            {
                of_changed = self.shapes.without(of_changed, axis);
                changed = self.shapes.project(operand.shape, &changed, of_changed)?;
            }
            // Any other list is read as a whole.
            if of_changed == Shapes::scalar() || self.shapes.union(of_changed, shape) != shape {
                return Ok(None);
            }
            let mut changed = self.shapes.project(of_changed, &changed, shape)?;
            if let Some((of_arm, cells)) = &operand.cells {
                changed = changed.intersect(&self.shapes.project(*of_arm, cells, shape)?);
            }
            cells = cells.difference(&changed);
        }
        if let Some((reads, between)) = changed_list {
            let readers = self.readers_among((shape, &cells), reads, between, of)?;
            return Ok(readers.map(|readers| cells.difference(&readers)));
        }
        Ok(Some(cells))
    }

    /// Runs a function that folds one list by blocks, for those blocks alone whose items changed;
    /// false if the step is none.
    pub(super) fn fold_by_blocks(
        &mut self,
        top: usize,
        instance: &Instance,
        places: &[Place],
    ) -> Result<bool, Stop> {
        let Kernel::Function(function) = &instance.kernel else { return Ok(false) };
        let (Some(blockwise), [place]) = (function.blockwise(), places) else { return Ok(false) };
        let (Data::One(Value::List(items)), shape) = self.read(*place) else { return Ok(false) };
        let items = items.clone();
        let n_blocks = items.len().div_ceil(blockwise.block_len());
        let is_full = matches!(self.stack[top].demand, Demand::Full);
        if shape != Shapes::scalar()
            || n_blocks < FEWEST_BLOCKS
            || items.len() > MOST_ITEMS
            || !is_full
        {
            return Ok(false);
        }
        let (bytes, limit) = (n_blocks * instance.outputs[0].ty.size(), self.limits.bytes);
        if bytes > limit {
            return Err(Stop::All(EvalError::Bytes { limit }));
        }
        let Some(reading) = self.mode.reading.as_ref() else { return Ok(false) };
        let read = reading.read.clone();
        let partials = self.partials(top, (&read, n_blocks), blockwise, &items);
        match blockwise.result(&partials, items.len()) {
            Ok(value) => {
                if let Some(reading) = &mut self.mode.reading {
                    reading.partials = Some(partials);
                }
                self.store_result(top, vec![Some(Data::One(value))], shape)?;
            }
            Err(failure) => {
                let result = (Err(failure), Vec::new());
                self.finish_function(top, result, &[], &Mask::full(1), 1, shape)?;
            }
        }
        self.release_all(top, places);
        Ok(true)
    }

    /// The partial results of all blocks of a list. Those of an earlier result of the step are taken
    /// over where no item changed.
    fn partials(
        &self,
        top: usize,
        (read, n_blocks): (&Stamps, usize),
        blockwise: &dyn Blockwise,
        items: &Column,
    ) -> Column {
        let memo = &*self.mode.memo;
        let known = memo.shelves[self.stack[top].step.index()].entries.iter().find_map(|entry| {
            let partials = entry.partials.as_ref().filter(|partials| partials.len() == n_blocks)?;
            let ((from, before), (to, now)) = (entry.read.split_last()?, read.split_last()?);
            let changed = memo.changes.items_between(*from, *to).filter(|_| before == now)?;
            Some((partials, changed))
        });
        let Some((known, changed)) = known else {
            return blockwise.partials(items, &(0..n_blocks as u32).collect::<Vec<u32>>());
        };
        let block_len = blockwise.block_len();
        let mut blocks: Vec<u32> = changed.iter().map(|item| (item / block_len) as u32).collect();
        blocks.dedup();
        let new = blockwise.partials(items, &blocks);
        let mut partials = known.clone();
        let mask = Mask::from_indices(blocks).expect("the blocks are in order");
        partials.overwrite(&mask, &new, |block| mask.rank(block));
        partials
    }
}
