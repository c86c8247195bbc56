//! What is kept between evaluations: results by what they were made of.
//!
//! Everything that flows has a *stamp*; equal stamps mean equal values, with the same axes. An entry
//! maps the stamps that a step read, in order, to its outputs, the cells of them that are computed,
//! and their stamps. Stamps of numbers follow from their bits, so a number that comes back brings
//! its old stamp; a column keeps its stamp if it is computed again to the same bits.
//!
//! A step keeps what it used in this evaluation and the one before, whatever that cost: without it
//! nothing could be cut off. Further entries are kept for steps that are worth it, by the time they
//! took over the bytes they hold, within a budget. That a step failed is a result too.

use std::hash::Hasher;
use std::sync::Arc;
use std::time::Duration;

use millstream_base::id::Id;
use millstream_base::same::Same;
use millstream_base::{Lane, Limits, Mask, Type, Value};
use millstream_ir::Plan;
use millstream_ir::graph::ConstId;
use millstream_ir::plan::StepId;
use millstream_ir::request::RequestAxis;
use millstream_node::{Data, Failure};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use smallvec::SmallVec;

use super::names::{MOST_NAMED, StepName, step_names, with_paths};
use super::remembered::{REMEMBERED, Remembered, agree};

millstream_base::define_id!(LayoutId, "l", "Axes as they are told apart across evaluations.");

/// Equal stamps mean equal values.
pub(crate) type Stamp = u64;

/// The stamps that a step read.
pub(crate) type Stamps = SmallVec<[Stamp; 4]>;

/// One axis, as it is told apart across evaluations.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum AxisKey {
    /// An axis of the request, with its extent.
    Request(RequestAxis, usize),
    /// An axis of loops of this count; so many of the same count are open around it.
    Even(usize, u32),
    /// An axis of loops whose count differs along these axes.
    Ragged(LayoutId, Arc<[u32]>, u32),
}

/// Something that a step gave.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) read: Stamps,
    /// The axes of those outputs that are columns.
    pub(crate) layout: LayoutId,
    pub(crate) outputs: Box<[Option<Data>]>,
    pub(crate) stamps: SmallVec<[Stamp; 1]>,
    /// The cells that are computed, if not all are.
    pub(crate) done: Option<Mask>,
    /// The outputs, one bit each, of which the stamp is that of a later entry too, with equal values
    /// in these cells. What either lacks may differ, so only the later one goes on under it.
    pub(crate) lent: u64,
    /// The evaluation that used it last.
    pub(crate) used: u64,
    /// The evaluation that made it, or the last part of it, and where.
    pub(crate) made: (u64, usize),
    /// How long it took to compute.
    pub(crate) cost: Duration,
}

impl Entry {
    fn bytes(&self) -> usize {
        self.outputs.iter().flatten().map(Data::bytes).sum()
    }

    /// Another entry gets the stamp of an output, or this one does in its place: of those that have
    /// one stamp, one may get further cells. Gives the bit of the output if it may not.
    pub(crate) fn lend(&mut self, output: usize, is_replaced: bool) -> u64 {
        let bit = 1 << output.min(63);
        let was_lent = self.lent & bit;
        if !is_replaced && self.done.is_some() {
            self.lent |= bit;
        }
        was_lent
    }

    /// Whether another entry may go on under the stamp of an output.
    pub(crate) fn has_lent(&self, output: usize) -> bool {
        self.lent & 1 << output.min(63) != 0
    }
}

/// That a step failed, which it will do again where all of this is the same.
#[derive(Clone, Debug)]
pub(crate) struct Failed {
    pub(crate) read: Stamps,
    /// The cells that were asked for, if not all.
    pub(crate) demand: Option<(LayoutId, Mask)>,
    /// What it was allowed, which may be why.
    pub(crate) limits: Limits,
    pub(crate) failure: Failure,
    /// The axes of the element that failed.
    pub(crate) layout: LayoutId,
}

/// What a step keeps, the last used in front.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shelf {
    pub(crate) entries: Vec<Entry>,
    pub(crate) failed: Vec<Failed>,
    /// What was read for results that were dropped to save memory, as far as remembered.
    evicted: Vec<Stamps>,
    /// The node was edited since it ran.
    pub(crate) was_edited: bool,
}

impl Shelf {
    fn bytes(&self) -> usize {
        self.entries.iter().map(Entry::bytes).sum()
    }

    /// Whether a result was dropped that was made of this.
    pub(crate) fn has_evicted(&self, read: &[Stamp]) -> bool {
        self.evicted.iter().any(|evicted| **evicted == *read)
    }
}

/// When a value that was computed again counts as changed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Equality {
    /// If its bits differ; all NaNs are one value.
    #[default]
    Exact,
    /// If it is not the same allocation; of small values if the bits differ. For types whose
    /// comparison would cost more than what depends on them.
    ByHandle,
    /// If a lane differs by more than this from the value that was last passed on. Until then what
    /// depends on it sees that value.
    Within(f64),
}

impl Equality {
    /// Whether a value counts as that which was last passed on.
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
    pub(crate) fn of_data(self, old: &Data, new: &Data, done: Option<&Mask>) -> bool {
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

/// What is kept for a plan.
#[derive(Debug)]
pub(crate) struct Memo {
    /// When values of these types count as changed, if not exactly.
    equality: FxHashMap<Type, Equality>,
    pub(crate) shelves: Vec<Shelf>,
    /// Number of the evaluation.
    pub(crate) epoch: u64,
    next_stamp: Stamp,
    numbers: FxHashMap<(Type, [u64; 2]), Stamp>,
    /// The last values of each input, with their stamps, the newest in front.
    inputs: FxHashMap<Arc<str>, Remembered>,
    /// The last values of features that are no numbers.
    features: Remembered,
    /// Cells of results that were made in parts.
    cells: Remembered,
    /// The stamps of constants, and of those that are no numbers by a hash of their bits.
    constants: Vec<Stamp>,
    of_constants: FxHashMap<u64, Vec<(Data, Stamp)>>,
    /// Whose shelves these are, to find them again in the plan of an edited document.
    names: FxHashMap<StepName, usize>,
    /// What steps kept that the plan has not, such as those that were folded into constants: another
    /// plan of the document may have them again.
    parked: FxHashMap<StepName, Shelf>,
    layouts: FxHashMap<Vec<AxisKey>, LayoutId>,
    axes: Vec<Vec<AxisKey>>,
    bytes: usize,
    budget: usize,
}

/// A step that ran for less is not worth an entry that nobody uses.
const CHEAP: Duration = Duration::from_micros(2);

/// At most so many entries of a step that were used in one evaluation are kept.
const MOST: usize = 64;

/// At most so many entries of a step are kept, however long it took.
const MOST_OF_SLOW: u128 = 1024;

/// So many entries of a step are kept that nobody uses, if it took so long: one for each microsecond,
/// so that looking through them costs little beside a run.
fn most_unused(cost: Duration) -> usize {
    if cost < CHEAP { 0 } else { cost.as_micros().clamp(REMEMBERED as u128, MOST_OF_SLOW) as usize }
}

impl Memo {
    pub(crate) fn new(plan: &Plan, budget: usize, equality: FxHashMap<Type, Equality>) -> Self {
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
            layouts: FxHashMap::default(),
            axes: Vec::new(),
            bytes: 0,
            budget,
        };
        memo.layout(Vec::new());
        memo.stamp_constants(plan);
        memo
    }

    /// What can be used of this for the plan of the same document after an edit, or for its
    /// optimised one. Results depend on nothing but a node type and the stamps that were read, so a
    /// step takes over what the step of the same name has. What failed is tried again.
    /// What has no step there waits for a plan that has it.
    pub(crate) fn moved_to(mut self, plan: &Plan) -> Self {
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
        self.stamp_constants(plan);
        self
    }

    /// Whether steps can be found again in another plan.
    pub(crate) fn has_names(&self) -> bool {
        !self.names.is_empty()
    }

    /// Nodes have other paths from now on; one that is gone keeps its own, under which nothing is
    /// found.
    pub(crate) fn rename<'p>(&mut self, renamed: impl Fn(&str) -> Option<&'p str>) {
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
    pub(crate) fn stamp_of_constant(&self, constant: ConstId) -> Stamp {
        self.constants[constant.index()]
    }

    /// The layout of a single value.
    pub(crate) fn no_axes() -> LayoutId {
        LayoutId::from_index(0)
    }

    pub(crate) fn layout(&mut self, axes: Vec<AxisKey>) -> LayoutId {
        if let Some(known) = self.layouts.get(&axes) {
            return *known;
        }
        let id = LayoutId::from_index(self.axes.len());
        self.axes.push(axes.clone());
        self.layouts.insert(axes, id);
        id
    }

    pub(crate) fn axes_of(&self, layout: LayoutId) -> &[AxisKey] {
        &self.axes[layout.index()]
    }

    /// When values of a type count as changed.
    pub(crate) fn equality_of(&self, ty: Type) -> Equality {
        self.equality.get(&ty).copied().unwrap_or_default()
    }

    /// Whether values of some type are passed on only if they differ enough.
    pub(crate) fn has_tolerance(&self) -> bool {
        self.equality.values().any(|equality| matches!(equality, Equality::Within(_)))
    }

    pub(crate) fn new_stamp(&mut self) -> Stamp {
        self.next_stamp += 1;
        self.next_stamp
    }

    /// The stamp of a value that is known by its bits; `None` for anything but small numbers.
    pub(crate) fn stamp_of_number(&mut self, value: &Value) -> Option<Stamp> {
        let ty = value.ty();
        let (_, width) = ty.lanes()?;
        if width > 2 {
            return None;
        }
        let lane = |i| value.lane(i).map(|bits| canonical(ty, bits));
        let bits = [lane(0)?, if width == 2 { lane(1)? } else { 0 }];
        if self.numbers.len() >= 1 << 20 {
            // Numbers that are still around get another stamp, so what reads them runs once more.
            self.numbers.clear();
        }
        let next = self.next_stamp + 1;
        let stamp = *self.numbers.entry((ty, bits)).or_insert(next);
        self.next_stamp = self.next_stamp.max(stamp);
        Some(stamp)
    }

    /// The stamp of the value of an input.
    pub(crate) fn stamp_of_input(
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
        known.stamp((data, None), layout, self.next_stamp, self.epoch)
    }

    /// The stamp of the value of a feature, of which these cells are known, if not all.
    pub(crate) fn stamp_of_feature(
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

    /// The stamp of cells of a shape, to tell parts of results apart.
    pub(crate) fn stamp_of_cells(&mut self, cells: &Mask, layout: LayoutId) -> Stamp {
        let data = Data::Many(cells.iter().map(|cell| cell as i32).collect());
        self.next_stamp += 1;
        self.cells.stamp((&data, None), layout, self.next_stamp, self.epoch)
    }

    /// The entries of a step that were made of `read` and may be used in a slot: what another slot
    /// of this evaluation has made belongs to that one.
    pub(crate) fn find(
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

    /// Keeps an entry in front of the others of its step, in place of `old`.
    pub(crate) fn keep(&mut self, step: StepId, entry: Entry, old: Option<usize>) {
        let epoch = self.epoch;
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
            let in_use = entry.used + 1 >= epoch && n <= MOST;
            let stays = n == 1 || in_use || n <= most_unused(entry.cost);
            if !stays {
                *bytes = bytes.saturating_sub(entry.bytes());
            }
            stays
        });
        if self.bytes > self.budget {
            self.evict();
        }
    }

    /// Keeps that a step failed, in front of its other failures.
    pub(crate) fn keep_failed(&mut self, step: StepId, failed: Failed) {
        let known = &mut self.shelves[step.index()].failed;
        known.insert(0, failed);
        known.truncate(MOST);
    }

    /// Steps that failed run again.
    pub(crate) fn forget_failed(&mut self) {
        for shelf in self.shelves.iter_mut().chain(self.parked.values_mut()) {
            shelf.failed.clear();
        }
    }

    /// Drops what is worth least for the memory it holds, until three quarters of the budget are
    /// left. What this evaluation uses stays.
    fn evict(&mut self) {
        let parked = std::mem::take(&mut self.parked);
        self.bytes = self.bytes.saturating_sub(parked.values().map(Shelf::bytes).sum());
        let worth = |entry: &Entry| entry.cost.as_nanos() as f64 / entry.bytes().max(1) as f64;
        let mut all: Vec<(f64, usize, usize, usize)> = Vec::new();
        for (s, shelf) in self.shelves.iter().enumerate() {
            for (i, entry) in shelf.entries.iter().enumerate() {
                if entry.used != self.epoch && entry.bytes() > 0 {
                    all.push((worth(entry), s, i, entry.bytes()));
                }
            }
        }
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut dropped: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        for (_, shelf, entry, bytes) in all {
            if self.bytes <= self.budget / 4 * 3 {
                break;
            }
            self.bytes = self.bytes.saturating_sub(bytes);
            dropped.entry(shelf).or_default().push(entry);
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

    /// Bytes of all results that are kept.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// The bits of a lane with one pattern for all NaNs.
fn canonical(ty: Type, bits: u64) -> u64 {
    ty.lanes().map_or(bits, |(lane, _)| millstream_form::canonical_bits(lane, bits))
}
