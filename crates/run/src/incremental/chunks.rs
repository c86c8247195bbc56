//! Chunks: many cheap steps between two boundaries, whose result the memo stores as one entry.
//!
//! Looking up a cheap step takes longer than running it. So steps that are forms, and on which only
//! their common *root* depends, form a chunk. Its boundary is the inputs, features and results of
//! other steps that it reads, which are computed before any member. If the memo has a result of the
//! root for their stamps, no member is visited; if not, the members are looked up and run one by
//! one as without chunks, so that only the necessary ones run.
//!
//! All links within a chunk are strict and all members have the same needs, so they are demanded if
//! the root is, in its context. A chunk is looked up only for full demands.
//!
//! A group that the document makes one entry has chunks of its own, one for each output of the
//! group, which may contain expensive steps.

use std::time::{Duration, Instant};

use millstream_base::id::{Id, SideTable};
use millstream_ir::ZoneBody;
use millstream_ir::plan::{Plan, StepId, StepOp, StepSource};
use millstream_node::{Class, Data, Kernel};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::memo::{LayoutId, Stamp, Stamps, most_unused};
use super::memoized::Memoized;
use crate::shape::Shapes;
use crate::store::{SlotId, State};
use crate::walk::{Demand, Progress, Stop, Task, Walk};

/// Minimal number of steps in a chunk, unless another number is set, or they are of a group that is
/// one entry.
pub(super) const LEAST: usize = 8;
const LEAST_OF_GROUP: usize = 2;

/// The turn of a task that is left to the walk.
const LEFT: u8 = 100;

/// The chunks of a plan.
#[derive(Clone, Debug)]
pub(super) struct Chunks {
    all: Vec<Chunk>,
    /// The number of the chunk of each step.
    of: SideTable<StepId, Option<u32>>,
}

/// Steps that the memo stores as one entry.
#[derive(Clone, Debug)]
struct Chunk {
    /// In the order of the plan; the last is the root.
    members: Box<[StepId]>,
    /// The sources that members read from outside, without constants.
    boundary: Box<[StepSource]>,
}

impl Chunks {
    /// The chunks of at least `least` steps.
    pub(super) fn of(plan: &Plan, least: usize) -> Self {
        let mut chunks = Self { all: Vec::new(), of: SideTable::for_arena(&plan.steps, None) };
        let roots = roots(plan);
        let mut by_root: FxHashMap<StepId, Vec<StepId>> = FxHashMap::default();
        for (id, _) in plan.steps.iter() {
            if let Some(root) = roots[id] {
                by_root.entry(root).or_default().push(id);
            }
        }
        let mut members: Vec<Vec<StepId>> = by_root.into_values().collect();
        members.retain(|members| {
            let group = plan.paths.whole_around(plan.steps[members[0]].path);
            members.len() >= group.map_or(least, |_| LEAST_OF_GROUP.min(least))
        });
        members.sort();
        for members in members {
            let number = chunks.all.len() as u32;
            for member in &members {
                chunks.of[*member] = Some(number);
            }
            let mut boundary: Vec<StepSource> = Vec::new();
            for member in &members {
                let links = plan.inputs_of(&plan.steps[*member]).iter();
                boundary.extend(links.filter(|link| {
                    let is_const = matches!(plan.steps[link.step].op, StepOp::Const(_));
                    !is_const && chunks.of[link.step] != Some(number)
                }));
            }
            boundary.sort_unstable_by_key(|source| (source.step, source.output));
            boundary.dedup();
            let (members, boundary) = (members.into(), boundary.into());
            chunks.all.push(Chunk { members, boundary });
        }
        chunks
    }

    /// The members of each chunk, the root last.
    pub(super) fn members(&self) -> impl Iterator<Item = &[StepId]> {
        self.all.iter().map(|chunk| &*chunk.members)
    }

    /// The number of the chunk of a step.
    pub(super) fn of_step(&self, step: StepId) -> Option<u32> {
        self.of[step]
    }

    /// The number of the chunk of which a step is the root.
    #[inline]
    fn at_root(&self, step: StepId) -> Option<u32> {
        self.of[step].filter(|number| self.all[*number as usize].members.last() == Some(&step))
    }
}

/// For each step that may be in a chunk, the last such step that all its dependents go through.
fn roots(plan: &Plan) -> SideTable<StepId, Option<StepId>> {
    /// What the readers of a step have in common.
    #[derive(Clone, Copy)]
    enum Readers {
        None,
        /// All are members of the chunk of this root.
        Within(StepId),
        Others,
    }
    let mut readers = SideTable::for_arena(&plan.steps, Readers::None);
    let kept = plan.state_writers.iter();
    let outputs = plan.outputs.iter().map(|output| output.source.step);
    let of_state = kept.clone().flat_map(|writer| &writer.values).map(|value| value.source.step);
    for step in outputs.chain(of_state).chain(kept.map(|writer| writer.reader)) {
        readers[step] = Readers::Others;
    }
    let mut roots = SideTable::for_arena(&plan.steps, None);
    for (id, step) in plan.steps.iter().rev() {
        if is_member(plan, id) {
            roots[id] = Some(match readers[id] {
                // A step with fewer needs is shared by contexts.
                Readers::Within(root) if are_together(plan, root, id) => root,
                Readers::Within(_) | Readers::None | Readers::Others => id,
            });
        }
        for link in plan.inputs_of(step) {
            let now = roots[id].map_or(Readers::Others, Readers::Within);
            let known = &mut readers[link.step];
            *known = match (*known, now) {
                (Readers::None, now) => now,
                (Readers::Within(a), Readers::Within(b)) if a == b => Readers::Within(a),
                _ => Readers::Others,
            };
        }
    }
    roots
}

/// Whether the results of a step are valid together with those of the root of a chunk.
fn are_together(plan: &Plan, root: StepId, step: StepId) -> bool {
    let (root, step) = (&plan.steps[root], &plan.steps[step]);
    let group = |path| plan.paths.whole_around(path);
    root.needs == step.needs && group(root.path) == group(step.path)
}

/// Whether a step may be in a chunk: it reads all its inputs in its own context, and it is a form,
/// which costs little more than a look-up in the memo, or in a group that is one entry.
fn is_member(plan: &Plan, step: StepId) -> bool {
    let StepOp::Call(id) = plan.steps[step].op else { return false };
    let instance = &plan.instances[id];
    let is_kind = match &instance.kernel {
        Kernel::Form(_) => true,
        Kernel::Function(_) => plan.paths.whole_around(plan.steps[step].path).is_some(),
        Kernel::Pass | Kernel::Choose | Kernel::Read { .. } | Kernel::ReadState(_) => false,
    };
    is_kind
        // The result of a chunk has no place for the marks of its members.
        && !ZoneBody::of(instance).is_some_and(|body| body.may_be_unsettled)
        && instance.class < Class::Stateful
        && instance.inputs.iter().all(|input| input.scope.is_empty())
}

/// The results of the chunks of a plan.
#[derive(Clone, Debug, Default)]
pub(super) struct ChunkResults {
    by_chunk: FxHashMap<u32, ByRead>,
    bytes: usize,
}

/// The results of a chunk, by the stamps that it read.
#[derive(Clone, Debug, Default)]
struct ByRead {
    all: FxHashMap<Stamps, Kept>,
    /// For evaluations in which members were visited, the last evaluation that used their result.
    used_again: FxHashMap<u64, u64>,
}

/// A result of the root of a chunk.
#[derive(Clone, Debug)]
struct Kept {
    layout: LayoutId,
    outputs: Box<[Option<Data>]>,
    stamps: SmallVec<[Stamp; 1]>,
    /// The last evaluation that used it.
    used: u64,
    /// The evaluation in which the members were visited, and the slot.
    made: (u64, usize),
    cost: Duration,
    bytes: usize,
}

impl ChunkResults {
    /// Bytes of all results.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The last evaluation that benefited from the entries that a member used in evaluation
    /// `epoch`.
    pub(super) fn last_use(&self, chunk: Option<u32>, epoch: u64) -> u64 {
        let by_read = chunk.and_then(|chunk| self.by_chunk.get(&chunk));
        by_read.and_then(|of| of.used_again.get(&epoch)).copied().unwrap_or(epoch)
    }

    /// The result for these stamps, if a slot may use it; records the use.
    fn find(&mut self, chunk: u32, read: &[Stamp], slot: usize, epoch: u64) -> Option<&Kept> {
        let of = self.by_chunk.get_mut(&chunk)?;
        let kept = of.all.get_mut(read)?;
        let (made, by) = kept.made;
        // As for entries of steps, a result that another slot of this evaluation made belongs to
        // that slot.
        if made == epoch && by != slot {
            return None;
        }
        kept.used = epoch;
        of.used_again.insert(made, epoch);
        Some(kept)
    }

    /// Stores a result. A chunk keeps those that it used in this evaluation and the one before, and
    /// one more for each microsecond that it takes.
    fn keep(&mut self, chunk: u32, read: Stamps, kept: Kept) {
        let epoch = kept.used;
        let most = most_unused(kept.cost).max(1);
        let of = self.by_chunk.entry(chunk).or_default();
        self.bytes += kept.bytes;
        if let Some(old) = of.all.insert(read, kept) {
            self.bytes = self.bytes.saturating_sub(old.bytes);
        }
        if of.all.len() > most {
            let oldest = of.all.iter().min_by_key(|(_, kept)| kept.used);
            if let Some((read, kept)) = oldest
                && kept.used + 1 < epoch
            {
                let read = read.clone();
                self.bytes = self.bytes.saturating_sub(kept.bytes);
                of.all.remove(&read);
            }
        }
        if of.used_again.len() > 2 * of.all.len() + 2 {
            let made: Vec<u64> = of.all.values().map(|kept| kept.made.0).collect();
            of.used_again.retain(|epoch, _| made.contains(epoch));
        }
    }

    /// The results that this evaluation does not use, each with its value per byte.
    pub(super) fn unused(&self, epoch: u64) -> Vec<(f64, u32, Stamps, usize)> {
        let mut unused = Vec::new();
        for (chunk, of) in &self.by_chunk {
            for (read, kept) in of.all.iter().filter(|(_, kept)| kept.used != epoch) {
                let worth = kept.cost.as_nanos() as f64 / kept.bytes.max(1) as f64;
                unused.push((worth, *chunk, read.clone(), kept.bytes));
            }
        }
        unused
    }

    /// Drops a result.
    pub(super) fn drop(&mut self, chunk: u32, read: &[Stamp]) {
        let dropped = self.by_chunk.get_mut(&chunk).and_then(|of| of.all.remove(read));
        self.bytes = self.bytes.saturating_sub(dropped.map_or(0, |kept| kept.bytes));
    }
}

/// A chunk whose members are visited, because the memo lacks its result.
pub(super) struct Missed {
    chunk: u32,
    read: Stamps,
    started: Instant,
}

impl Walk<'_, Memoized<'_>> {
    /// Advances a step as the root of a chunk; `None` leaves it to the walk.
    #[inline]
    pub(super) fn advance_chunk(&mut self, top: usize) -> Result<Option<Progress>, Stop> {
        let Task { step, turn, .. } = self.stack[top];
        if turn == LEFT {
            return Ok(None);
        }
        match self.mode.memo.chunks.at_root(step) {
            Some(chunk) => self.look_for_chunk(top, chunk),
            None => Ok(None),
        }
    }

    fn look_for_chunk(&mut self, top: usize, number: u32) -> Result<Option<Progress>, Stop> {
        let Task { frame, slot, turn, .. } = self.stack[top];
        if turn == 0 {
            if !self.start(top)? {
                return Ok(Some(Progress::Done));
            }
            self.stack[top].turn = 1;
            // With a tolerance results depend on earlier evaluations.
            if self.stack[top].demand.is_part() || self.mode.memo.has_tolerance() {
                self.stack[top].turn = LEFT;
                return Ok(None);
            }
            let boundary = std::mem::take(&mut self.mode.boundary);
            let boundary = self.boundary_of(number, boundary);
            let asked = self.ask_all(top, &boundary, frame);
            self.mode.boundary = boundary;
            if asked {
                return Ok(Some(Progress::Waiting));
            }
        }
        self.stack[top].turn = LEFT;
        let boundary = std::mem::take(&mut self.mode.boundary);
        let boundary = self.boundary_of(number, boundary);
        let (mut read, mut shape) = (Stamps::new(), Shapes::scalar());
        for source in &boundary {
            let place = self.place(*source, frame);
            if self.has_failed(place, &Demand::Full)? {
                return Ok(None);
            }
            self.stamps_of(place, &mut read);
            let (_, of) = self.read(place);
            shape = self.shapes.union(shape, of);
        }
        self.mode.boundary = boundary;
        let epoch = self.mode.memo.epoch;
        let found = self.mode.memo.results.find(number, &read, slot.index(), epoch);
        let Some(kept) = found else {
            let started = Instant::now();
            self.mode.missed.insert(slot, Missed { chunk: number, read, started });
            return Ok(None);
        };
        let (layout, outputs, stamps) = (kept.layout, kept.outputs.clone(), kept.stamps.clone());
        if self.shape_of_layout(layout) != Some(shape) {
            return Ok(None);
        }
        self.take_up(slot, shape, outputs, None);
        *self.mode.slot(slot) = stamps;
        self.log_chunk(number);
        Ok(Some(Progress::Done))
    }

    /// The boundary of a chunk, in reused memory.
    fn boundary_of(&self, number: u32, mut into: Vec<StepSource>) -> Vec<StepSource> {
        into.clear();
        into.extend_from_slice(&self.mode.memo.chunks.all[number as usize].boundary);
        into
    }

    /// Records in the log that no member had to run.
    fn log_chunk(&mut self, number: u32) {
        if self.is_logged() {
            for i in 0..self.mode.memo.chunks.all[number as usize].members.len() {
                let member = self.mode.memo.chunks.all[number as usize].members[i];
                self.log_recalled(member);
            }
        }
    }

    /// Stores the result of a chunk whose root is done.
    pub(super) fn keep_chunk(&mut self, slot: SlotId) {
        let Some(Missed { chunk, read, started }) = self.mode.missed.remove(&slot) else { return };
        if self.store.state(slot) != State::Full {
            return;
        }
        let outputs = self.all_outputs(slot);
        let layout = self.layout_of(self.store.rest(slot).shape);
        let stamps = self.mode.slot(slot).clone();
        let (epoch, cost) = (self.mode.memo.epoch, started.elapsed());
        let bytes = outputs.iter().flatten().map(Data::bytes).sum::<usize>()
            + size_of::<Kept>()
            + read.len() * size_of::<Stamp>();
        let made = (epoch, slot.index());
        let kept = Kept { layout, outputs, stamps, used: epoch, made, cost, bytes };
        self.mode.memo.keep_of_chunk(chunk, read, kept);
    }
}

impl super::memo::Memo {
    fn keep_of_chunk(&mut self, chunk: u32, read: Stamps, kept: Kept) {
        self.results.keep(chunk, read, kept);
        self.evict_if_needed();
    }
}
