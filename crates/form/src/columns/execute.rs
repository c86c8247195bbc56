//! Runs the jobs of a plan on one chunk.

use std::mem;
use std::ops::Range;

use millstream_base::id::Id;
use millstream_base::lane::Lane;

use super::ends::{LaneInput, LaneOutput};
use super::fuse::Task;
use super::layout::{Direct, Place};
use super::plan::Plan;
use super::prefetch::{Ahead, Stream};
use crate::inst::Form;
use crate::native::Line;
use crate::storage::{Pools, Stored};
use millstream_base::width::Width;

/// The elements computed together.
pub(super) enum Chunk<'c> {
    /// Neighbors.
    Range(Range<usize>),
    /// Any others, ascending.
    Indices(&'c [u32]),
}

impl Chunk<'_> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Range(range) => range.len(),
            Self::Indices(indices) => indices.len(),
        }
    }
}

/// Runs a job on one chunk.
pub(super) type Run = fn(&mut Machine<'_, '_>, &Job, &Chunk<'_>);

/// A task that is ready to run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) run: Run,
    pub(super) task: Task,
    /// Where the result goes.
    pub(super) out: Place,
    /// Where the first operands lie.
    pub(super) args: [Place; 3],
    /// Whether nothing is to do for a chunk of neighbors.
    pub(super) is_idle_on_ranges: bool,
    /// How much of the work is done with it, of [`WHOLE`](super::prefetch::WHOLE).
    pub(super) share: u32,
}

/// A planned call.
pub(super) struct Machine<'m, 'a> {
    pub(super) form: &'m Form,
    pub(super) plan: &'m Plan,
    pub(super) jobs: &'m [Job],
    pub(super) inputs: &'m [LaneInput<'m>],
    pub(super) outputs: &'m mut [LaneOutput<'a>],
    pub(super) pools: &'m mut Pools,
    /// The tables of machine code.
    pub(super) tables: &'m mut [Vec<Line>],
    pub(super) width: Width,
    /// What is asked for ahead.
    pub(super) streams: &'m [Stream],
}

impl Machine<'_, '_> {
    /// Fills the buffers of uniform registers.
    pub(super) fn fill_uniforms(&mut self, len: usize) {
        fn fill<A: Stored>(pools: &mut Pools, slot: u32, len: usize, bits: u64) {
            A::pool_mut(pools)[slot as usize].first_mut(len).fill(A::from_bits(bits));
        }
        for &reg in &self.plan.fills {
            let (slot, bits) =
                (self.plan.homes[reg.index()].place.slot, self.plan.values[reg.index()]);
            match self.form.insts[reg].lane {
                Lane::Bool => fill::<bool>(self.pools, slot, len, bits),
                Lane::I32 => fill::<i32>(self.pools, slot, len, bits),
                Lane::I64 => fill::<i64>(self.pools, slot, len, bits),
                Lane::F32 => fill::<f32>(self.pools, slot, len, bits),
                Lane::F64 => fill::<f64>(self.pools, slot, len, bits),
            }
        }
    }

    /// Loads, computes and stores one chunk, and asks for the memory of the elements that come
    /// next.
    pub(super) fn run(&mut self, chunk: &Chunk<'_>, next: Range<usize>) {
        let jobs = self.jobs;
        let is_range = matches!(chunk, Chunk::Range(_));
        let mut ahead = Ahead::new(self.streams, next);
        for job in jobs {
            if is_range && job.is_idle_on_ranges {
                continue;
            }
            (job.run)(self, job, chunk);
            ahead.fetch_to(job.share);
        }
        self.store_all(chunk);
    }

    /// The lanes of an input.
    pub(super) fn lanes_of<A: Stored>(&self, number: usize) -> &[A] {
        match &self.inputs[number] {
            LaneInput::Lanes { lanes, .. } => A::view(lanes),
            LaneInput::Range { .. } => unreachable!("a distance is one of lanes"),
        }
    }

    /// The values of a register, one for each element of the chunk.
    #[inline]
    pub(super) fn slice<A: Stored>(&self, place: Place, chunk: &Chunk<'_>) -> &[A] {
        if let Chunk::Range(range) = chunk {
            match place.direct {
                Direct::No => {}
                Direct::Input(number) => match &self.inputs[number as usize] {
                    LaneInput::Lanes { lanes, offset, .. } => {
                        return &A::view(lanes)[range.start + offset..range.end + offset];
                    }
                    LaneInput::Range { .. } => unreachable!("a direct input is a slice of lanes"),
                },
                Direct::Output(number) => {
                    let output = &self.outputs[number as usize];
                    let range = range.start + output.offset..range.end + output.offset;
                    return &A::view_output(&output.lanes)[range];
                }
            }
        }
        A::pool(self.pools)[place.slot as usize].first(chunk.len())
    }

    /// Gives `write` the place of a register, while it can read those of others.
    #[inline]
    pub(super) fn with_place<R: Stored>(
        &mut self,
        place: Place,
        chunk: &Chunk<'_>,
        write: impl FnOnce(&Self, &mut [R]),
    ) {
        if let (Chunk::Range(range), Direct::Output(number)) = (chunk, place.direct) {
            let number = number as usize;
            let offset = self.outputs[number].offset;
            let lanes = R::take(&mut self.outputs[number].lanes);
            write(self, &mut lanes[range.start + offset..range.end + offset]);
            self.outputs[number].lanes = R::put(lanes);
        } else {
            let slot = place.slot as usize;
            let mut buffer = mem::take(&mut R::pool_mut(self.pools)[slot]);
            write(self, buffer.first_mut(chunk.len()));
            R::pool_mut(self.pools)[slot] = buffer;
        }
    }
}
