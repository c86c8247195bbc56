//! The memo: results between evaluations, by the stamps of their operands.
//!
//! Every value has a *stamp*; equal stamps mean equal values with the same axes. An entry maps the
//! stamps that a step read, in order, to its outputs, their computed cells, and their stamps.
//! Stamps of numbers follow from their bits, so a number that recurs has its old stamp; a column
//! keeps its stamp if it is computed again with the same bits.
//!
//! A step keeps the entries that it used in this evaluation and the one before, whatever their
//! size: without them nothing could be cut off. Further entries are kept by the ratio of their
//! computing time to their size, within a budget. A failure of a step is a result too.

use std::hash::Hasher;
use std::sync::Arc;
use std::time::Duration;

use millstream_base::id::Id;
use millstream_base::same::Same;
use millstream_base::{Column, Lane, Limits, Mask, Type, Value};
use millstream_ir::Plan;
use millstream_ir::graph::ConstId;
use millstream_ir::plan::StepId;
use millstream_ir::request::RequestAxis;
use millstream_node::unsettled::Rounds;
use millstream_node::{Data, Failure};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use smallvec::SmallVec;

use super::changes::Changes;
use super::chunks::{ChunkResults, Chunks};
use super::names::{MOST_NAMED, StepName, step_names, with_paths};
use super::remembered::{REMEMBERED, Remembered, agree};

millstream_base::define_id!(LayoutId, "l", "Axes as they are told apart across evaluations.");

/// Equal stamps mean equal values.
pub(super) type Stamp = u64;

/// The stamps that a step read.
pub(super) type Stamps = SmallVec<[Stamp; 4]>;

/// The identity of an axis across evaluations.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum AxisKey {
    /// An axis of the request, with its extent.
    Request(RequestAxis, usize),
    /// An axis of loops with this count, and the number of open axes of the same count around it.
    Even(usize, u32),
    /// An axis of loops whose count varies along these axes.
    Ragged(LayoutId, Arc<[u32]>, u32),
}

/// A result of a step.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) read: Stamps,
    /// The axes of the outputs that are columns.
    pub(super) layout: LayoutId,
    pub(super) outputs: Box<[Option<Data>]>,
    pub(super) stamps: SmallVec<[Stamp; 1]>,
    /// The computed cells, if not all are.
    pub(super) done: Option<Mask>,
    /// The repeats that did not settle.
    pub(super) unsettled: Rounds,
    /// The outputs, one bit each, whose stamp a later entry has too, with equal values in these
    /// cells. Cells that either entry lacks may differ, so only the later entry may get further
    /// cells under this stamp.
    pub(super) lent: u64,
    /// The last evaluation that used it.
    pub(super) used: u64,
    /// The evaluation that made it, or its last part, and the slot.
    pub(super) made: (u64, usize),
    /// The time that it took to compute.
    pub(super) cost: Duration,
    /// The partial results of blocks, if the step folds a list by blocks.
    pub(super) partials: Option<Column>,
}

impl Entry {
    fn bytes(&self) -> usize {
        let outputs: usize = self.outputs.iter().flatten().map(Data::bytes).sum();
        outputs + self.partials.as_ref().map_or(0, Column::bytes)
    }

    /// Lends the stamp of an output to another entry, or passes it on if this one `is_replaced`.
    /// Only one entry with a given stamp may get further cells: the result is the bit of the output
    /// if the other entry may not.
    pub(super) fn lend(&mut self, output: usize, is_replaced: bool) -> u64 {
        let bit = 1 << output.min(63);
        let was_lent = self.lent & bit;
        if !is_replaced && self.done.is_some() {
            self.lent |= bit;
        }
        was_lent
    }

    /// Whether another entry may get further cells under the stamp of an output.
    pub(super) fn has_lent(&self, output: usize) -> bool {
        self.lent & 1 << output.min(63) != 0
    }
}

/// A failure of a step, which will happen again under the same conditions.
#[derive(Clone, Debug)]
pub(super) struct Failed {
    pub(super) read: Stamps,
    /// The cells that were demanded, if not all.
    pub(super) demand: Option<(LayoutId, Mask)>,
    /// The limits, which may be the reason.
    pub(super) limits: Limits,
    pub(super) failure: Failure,
    /// The axes of the element that failed.
    pub(super) layout: LayoutId,
}

/// The entries of a step, the most recently used first.
#[derive(Clone, Debug, Default)]
pub(super) struct Shelf {
    pub(super) entries: Vec<Entry>,
    pub(super) failed: Vec<Failed>,
    /// The stamps read for results that were dropped to save memory, as far as they are remembered.
    evicted: Vec<Stamps>,
    /// Whether the node was edited since it ran.
    pub(super) was_edited: bool,
}

impl Shelf {
    fn bytes(&self) -> usize {
        self.entries.iter().map(Entry::bytes).sum()
    }

    /// Whether a result for these stamps was dropped.
    pub(super) fn has_evicted(&self, read: &[Stamp]) -> bool {
        self.evicted.iter().any(|evicted| **evicted == *read)
    }
}

/// The condition under which a recomputed value counts as changed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Equality {
    /// If its bits differ; all NaNs are one value.
    #[default]
    Exact,
    /// If its address differs, or for small values its bits. For types whose comparison would cost
    /// more than the steps that depend on them.
    ByHandle,
    /// If a lane differs by more than this from the value that was last passed on. Until then
    /// dependents see that value.
    Within(f64),
}

impl Equality {
    /// Whether a value counts as equal to the one that was last passed on.
    fn holds(self, old: &Value, new: &Value) -> bool {
        match self {
            Self::Exact => old.same(new),
            Self::ByHandle => old.is_same_handle(new),
            Self::Within(tolerance) => {
                let lanes = old.ty().lanes().filter(|_| old.ty() == new.ty());
                let Some((lane, n)) = lanes else { return old.same(new) };
                let number = |value: &Value, i| {
                    let bits = value.lane(i)?;
                    match lane {
                        Lane::F32 => Some(f64::from(f32::from_bits(bits as u32))),
                        Lane::F64 => Some(f64::from_bits(bits)),
                        Lane::I32 => Some(f64::from(bits as i32)),
                        Lane::I64 => Some(bits as i64 as f64),
                        Lane::Bool => None,
                    }
                };
                old.same(new)
                    || (0..n as usize).all(|i| match (number(old, i), number(new, i)) {
                        (Some(a), Some(b)) => (a - b).abs() <= tolerance,
                        _ => false,
                    })
            }
        }
    }

    /// The same for data with the same axes; `done` are the cells that were computed before.
    pub(super) fn of_data(self, old: &Data, new: &Data, done: Option<&Mask>) -> bool {
        match (old, new) {
            (Data::One(old), Data::One(new)) => self.holds(old, new),
            (Data::Many(old), Data::Many(new)) => match (self, done) {
                (Self::Exact, None) => old.same(new),
                (Self::ByHandle, _) => old.is_same_buffer(new),
                (Self::Exact | Self::Within(_), _) => {
                    let all = Mask::full(old.len());
                    let mut equal = old.len() == new.len();
                    done.unwrap_or(&all).for_each(|cell| {
                        equal = equal && self.holds(&old.get(cell), &new.get(cell));
                    });
                    equal
                }
            },
            (Data::One(_), Data::Many(_)) | (Data::Many(_), Data::One(_)) => false,
        }
    }
}

/// The memo of a plan.
#[derive(Debug)]
pub(super) struct Memo {
    /// The equality of these types, if not exact.
    equality: FxHashMap<Type, Equality>,
    pub(super) shelves: Vec<Shelf>,
    /// Number of the evaluation.
    pub(super) epoch: u64,
    next_stamp: Stamp,
    numbers: FxHashMap<(Type, [u64; 2]), Stamp>,
    /// The last values of each input, with their stamps, the newest first.
    inputs: FxHashMap<Arc<str>, Remembered>,
    /// The last values of features that are not numbers.
    features: Remembered,
    /// Cells of results that were made in parts.
    cells: Remembered,
    /// The stamps of constants; those that are not numbers have a hash of their bits.
    constants: Vec<Stamp>,
    of_constants: FxHashMap<u64, Vec<(Data, Stamp)>>,
    /// The shelves by the names of steps, to find them again in the plan of an edited document.
    names: FxHashMap<StepName, usize>,
    /// The shelves of steps that the plan lacks, such as those that were folded into constants:
    /// another plan of the document may have them again.
    parked: FxHashMap<StepName, Shelf>,
    /// The elements that differ between two stamps, as far as the last evaluations found out.
    pub(super) changes: Changes,
    /// The elements at which outputs failed in the last evaluation.
    pub(super) failing: Mask,
    layouts: FxHashMap<Vec<AxisKey>, LayoutId>,
    axes: Vec<Vec<AxisKey>>,
    bytes: usize,
    budget: usize,
    /// The chunks of at least `least_chunk` steps, and their results.
    pub(super) chunks: Chunks,
    pub(super) results: ChunkResults,
    least_chunk: usize,
}

/// A step that ran for less time is not worth an entry that is not in use.
const CHEAP: Duration = Duration::from_micros(2);

/// Maximal number of entries of a step that were used in one evaluation.
const MOST: usize = 64;

/// Maximal number of entries of a step, however long they took.
const MOST_OF_SLOW: u128 = 1024;

/// Maximal number of unused entries of a step that took this long: one for each microsecond, so
/// that searching them costs little compared with a run.
pub(super) fn most_unused(cost: Duration) -> usize {
    if cost < CHEAP { 0 } else { cost.as_micros().clamp(REMEMBERED as u128, MOST_OF_SLOW) as usize }
}

impl Memo {
    pub(super) fn new(
        plan: &Plan,
        budget: usize,
        equality: FxHashMap<Type, Equality>,
        least_chunk: usize,
    ) -> Self {
        let mut memo = Self {
            equality,
            shelves: vec![Shelf::default(); plan.steps.len()],
            epoch: 0,
            next_stamp: 1,
            numbers: FxHashMap::default(),
            inputs: FxHashMap::default(),
            features: Remembered::default(),
            cells: Remembered::default(),
            constants: Vec::new(),
            of_constants: FxHashMap::default(),
            names: step_names(plan),
            parked: FxHashMap::default(),
            changes: Changes::default(),
            failing: Mask::empty(),
            layouts: FxHashMap::default(),
            axes: Vec::new(),
            bytes: 0,
            budget,
            chunks: Chunks::of(plan, least_chunk),
            results: ChunkResults::default(),
            least_chunk,
        };
        memo.layout(Vec::new());
        memo.stamp_constants(plan);
        memo
    }

    /// The memo for the plan of the same document after an edit, or for its optimised plan. Results
    /// depend only on the node type and the stamps that were read, so a step takes over the entries
    /// of the step of the same name. Failures are tried again. Entries without such a step wait for
    /// a plan that has one.
    pub(super) fn moved_to(mut self, plan: &Plan) -> Self {
        let names = step_names(plan);
        let mut shelves = vec![Shelf::default(); plan.steps.len()];
        let mut paths: FxHashSet<String> = FxHashSet::default();
        for (name, from) in std::mem::take(&mut self.names) {
            let mut shelf = std::mem::take(&mut self.shelves[from]);
            shelf.failed.clear();
            if let Some(to) = names.get(&name) {
                shelves[*to] = shelf;
            } else {
                paths.insert(name.0.clone());
                if !shelf.entries.is_empty() {
                    self.parked.insert(name, shelf);
                }
            }
        }
        for (name, to) in &names {
            let parked = self.parked.remove(name);
            if let Some(parked) = parked.filter(|_| shelves[*to].entries.is_empty()) {
                shelves[*to] = parked;
            }
        }
        if self.parked.len() > MOST_NAMED {
            self.parked.clear();
        }
        for (name, to) in &names {
            shelves[*to].was_edited = shelves[*to].entries.is_empty() && paths.contains(&name.0);
        }
        self.bytes = shelves.iter().chain(self.parked.values()).map(Shelf::bytes).sum();
        (self.shelves, self.names) = (shelves, names);
        // The steps of a chunk may have changed.
        self.results = ChunkResults::default();
        self.chunks = Chunks::of(plan, self.least_chunk);
        self.stamp_constants(plan);
        self
    }

    /// Whether steps can be found again in another plan.
    pub(super) fn has_names(&self) -> bool {
        !self.names.is_empty()
    }

    /// Gives nodes other paths; a node that is gone keeps its path, under which nothing is found.
    pub(super) fn rename(&mut self, renamed: impl Fn(&str) -> Option<String>) {
        self.names = with_paths(std::mem::take(&mut self.names), &renamed);
        self.parked = with_paths(std::mem::take(&mut self.parked), &renamed);
    }

    fn stamp_constants(&mut self, plan: &Plan) {
        let mut known: FxHashMap<u64, Vec<(Data, Stamp)>> = std::mem::take(&mut self.of_constants);
        let mut stamps = Vec::with_capacity(plan.constants.len());
        for data in plan.constants.as_slice() {
            let number = match data {
                Data::One(value) => self.stamp_of_number(value),
                Data::Many(_) => None,
            };
            stamps.push(number.unwrap_or_else(|| {
                let mut state = FxHasher::default();
                match data {
                    Data::One(value) => value.feed(&mut state),
                    Data::Many(column) => column.feed(&mut state),
                }
                let known = known.entry(state.finish()).or_default();
                if let Some((_, stamp)) = known.iter().find(|(known, _)| agree(known, data, None)) {
                    return *stamp;
                }
                self.next_stamp += 1;
                known.push((data.clone(), self.next_stamp));
                self.next_stamp
            }));
        }
        self.of_constants = known;
        self.constants = stamps;
    }

    /// The stamp of a constant.
    pub(super) fn stamp_of_constant(&self, constant: ConstId) -> Stamp {
        self.constants[constant.index()]
    }

    /// The layout of a single value.
    pub(super) fn no_axes() -> LayoutId {
        LayoutId::from_index(0)
    }

    pub(super) fn layout(&mut self, axes: Vec<AxisKey>) -> LayoutId {
        if let Some(known) = self.layouts.get(&axes) {
            return *known;
        }
        let id = LayoutId::from_index(self.axes.len());
        self.axes.push(axes.clone());
        self.layouts.insert(axes, id);
        id
    }

    pub(super) fn axes_of(&self, layout: LayoutId) -> &[AxisKey] {
        &self.axes[layout.index()]
    }

    /// The equality of a type.
    pub(super) fn equality_of(&self, ty: Type) -> Equality {
        self.equality.get(&ty).copied().unwrap_or_default()
    }

    /// Whether every recomputed value counts as changed if its bits differ.
    pub(super) fn is_exact(&self) -> bool {
        self.equality.is_empty()
    }

    /// Whether values of some type are passed on only if they differ by more than a tolerance.
    pub(super) fn has_tolerance(&self) -> bool {
        self.equality.values().any(|equality| matches!(equality, Equality::Within(_)))
    }

    pub(super) fn new_stamp(&mut self) -> Stamp {
        self.next_stamp += 1;
        self.next_stamp
    }

    /// The stamp of a value that follows from its bits; `None` for anything but small numbers.
    pub(super) fn stamp_of_number(&mut self, value: &Value) -> Option<Stamp> {
        let ty = value.ty();
        let (_, width) = ty.lanes()?;
        if width > 2 {
            return None;
        }
        let lane = |i| value.lane(i).map(|bits| canonical(ty, bits));
        let bits = [lane(0)?, if width == 2 { lane(1)? } else { 0 }];
        if self.numbers.len() >= 1 << 20 {
            // Numbers that are still in use get another stamp, so steps that read them run once
            // more.
            self.numbers.clear();
        }
        let next = self.next_stamp + 1;
        let stamp = *self.numbers.entry((ty, bits)).or_insert(next);
        self.next_stamp = self.next_stamp.max(stamp);
        Some(stamp)
    }

    /// The stamp of the value of an input.
    pub(super) fn stamp_of_input(
        &mut self,
        input: &Arc<str>,
        data: &Data,
        layout: LayoutId,
    ) -> Stamp {
        if let Data::One(value) = data
            && let Some(stamp) = self.stamp_of_number(value)
        {
            return stamp;
        }
        self.next_stamp += 1;
        let known = self.inputs.entry(Arc::clone(input)).or_default();
        let before = known.newest(layout).map(|(data, stamp)| (data.clone(), stamp));
        let stamp = known.stamp((data, None), layout, self.next_stamp, self.epoch);
        if let Some((old, from)) = before.filter(|(_, from)| *from != stamp) {
            self.changes.note((&old, None), (data, None), (from, stamp));
        }
        stamp
    }

    /// The stamp of the value of a feature, of which only these cells are known, if not all.
    pub(super) fn stamp_of_feature(
        &mut self,
        data: &Data,
        known: Option<&Mask>,
        layout: LayoutId,
    ) -> Stamp {
        if let Data::One(value) = data
            && let Some(stamp) = self.stamp_of_number(value)
        {
            return stamp;
        }
        self.next_stamp += 1;
        self.features.stamp((data, known), layout, self.next_stamp, self.epoch)
    }

    /// The stamp of some cells of a shape, which distinguishes parts of results.
    pub(super) fn stamp_of_cells(&mut self, cells: &Mask, layout: LayoutId) -> Stamp {
        let data = Data::Many(cells.iter().map(|cell| cell as i32).collect());
        self.next_stamp += 1;
        self.cells.stamp((&data, None), layout, self.next_stamp, self.epoch)
    }

    /// The entries of a step for `read` that a slot may use: an entry that another slot of this
    /// evaluation made belongs to that slot.
    pub(super) fn find(
        &self,
        step: StepId,
        read: &[Stamp],
        slot: usize,
    ) -> impl Iterator<Item = usize> {
        let entries = self.shelves[step.index()].entries.iter().enumerate();
        let found = entries.filter(move |(_, entry)| {
            let (made, by) = entry.made;
            *entry.read == *read && (made != self.epoch || by == slot)
        });
        found.map(|(i, _)| i)
    }

    /// Stores an entry as the first of its step, instead of `old`.
    pub(super) fn keep(&mut self, step: StepId, entry: Entry, old: Option<usize>) {
        let epoch = self.epoch;
        let (chunk, results) = (self.chunks.of_step(step), &self.results);
        let shelf = &mut self.shelves[step.index()];
        if let Some(old) = old {
            self.bytes = self.bytes.saturating_sub(shelf.entries.remove(old).bytes());
        }
        self.bytes += entry.bytes();
        shelf.entries.insert(0, entry);
        let mut n = 0;
        let bytes = &mut self.bytes;
        shelf.entries.retain(|entry| {
            n += 1;
            let in_use = results.last_use(chunk, entry.used) + 1 >= epoch && n <= MOST;
            let stays = n == 1 || in_use || n <= most_unused(entry.cost);
            if !stays {
                *bytes = bytes.saturating_sub(entry.bytes());
            }
            stays
        });
        self.evict_if_needed();
    }

    /// Drops results if all of them exceed the budget.
    pub(super) fn evict_if_needed(&mut self) {
        if self.bytes() > self.budget {
            self.evict();
        }
    }

    /// Stores a failure of a step as its first.
    pub(super) fn keep_failed(&mut self, step: StepId, failed: Failed) {
        let known = &mut self.shelves[step.index()].failed;
        known.insert(0, failed);
        known.truncate(MOST);
    }

    /// Lets steps that failed run again.
    pub(super) fn forget_failed(&mut self) {
        for shelf in self.shelves.iter_mut().chain(self.parked.values_mut()) {
            shelf.failed.clear();
        }
    }

    /// Drops the entries of least value for their size, until three quarters of the budget are
    /// left. Entries that this evaluation uses remain.
    fn evict(&mut self) {
        let parked = std::mem::take(&mut self.parked);
        self.bytes = self.bytes.saturating_sub(parked.values().map(Shelf::bytes).sum());
        let worth = |entry: &Entry| entry.cost.as_nanos() as f64 / entry.bytes().max(1) as f64;
        let mut all: Vec<(f64, Unused, usize)> = Vec::new();
        for (s, shelf) in self.shelves.iter().enumerate() {
            for (i, entry) in shelf.entries.iter().enumerate() {
                if entry.used != self.epoch && entry.bytes() > 0 {
                    all.push((worth(entry), Unused::OfStep(s, i), entry.bytes()));
                }
            }
        }
        let of_chunks = self.results.unused(self.epoch).into_iter();
        all.extend(
            of_chunks
                .map(|(worth, chunk, read, bytes)| (worth, Unused::OfChunk(chunk, read), bytes)),
        );
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut dropped: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        for (_, unused, bytes) in all {
            if self.bytes() <= self.budget / 4 * 3 {
                break;
            }
            match unused {
                Unused::OfStep(shelf, entry) => {
                    self.bytes = self.bytes.saturating_sub(bytes);
                    dropped.entry(shelf).or_default().push(entry);
                }
                Unused::OfChunk(chunk, read) => self.results.drop(chunk, &read),
            }
        }
        for (shelf, mut entries) in dropped {
            entries.sort_unstable();
            let shelf = &mut self.shelves[shelf];
            for entry in entries.into_iter().rev() {
                let dropped = shelf.entries.remove(entry);
                shelf.evicted.insert(0, dropped.read);
            }
            shelf.evicted.truncate(MOST);
        }
    }

    /// Size of all stored results in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.results.bytes()
    }
}

/// A result that may be dropped.
enum Unused {
    /// By shelf and entry.
    OfStep(usize, usize),
    OfChunk(u32, Stamps),
}

/// The bits of a lane, with one pattern for all NaNs.
fn canonical(ty: Type, bits: u64) -> u64 {
    ty.lanes().map_or(bits, |(lane, _)| millstream_form::canonical_bits(lane, bits))
}
