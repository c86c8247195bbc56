//! Runs a form over many elements: chunk by chunk, one instruction at a time over chunk buffers.
//!
//! A call first plans (`plan`), or finds the plan of a call before: which registers the wanted
//! results need, which of them are the same for all elements and so computed once, which operations
//! run together (`fuse`), and which chunk buffer holds each register, buffers being used again
//! after a register's last use. Then, for every chunk of the mask (`execute`), parameters are
//! loaded (`transfer`), tasks run as plain loops that the compiler turns into SIMD (`jobs`,
//! `loops`) of the widest kind that the machine has (`width`), and results are stored. Parameters
//! and results that lie in the caller's memory without gaps are read and written there, without a
//! copy. Once a plan has computed many elements, machine code takes over whatever it can
//! (`stretches`). Very few elements are computed one by one (`few`).

mod ends;
mod execute;
mod few;
mod fuse;
mod jobs;
mod layout;
pub(crate) mod loops;
mod plan;
mod prefetch;
mod stretches;
#[cfg(test)]
mod tests;
mod transfer;

use std::ops::Range;

use millstream_base::mask::{Mask, Segment};

use smallvec::SmallVec;

use crate::inst::Form;
use crate::native::Line;
use crate::storage::Pools;
pub use ends::{LaneInput, LaneOutput};
use execute::{Chunk, Job, Machine};
use layout::Source;
pub use millstream_base::width::Width;
use plan::Plan;
use prefetch::Stream;

/// Ranges shorter than this join neighboring elements in one chunk.
const SHORT: usize = 32;

/// Columns with this many elements are assumed to exceed the caches.
const FAR: usize = 1 << 15;

/// Maximal number of elements that are computed one by one, which saves most of the planning.
const FEW: usize = 4;

/// Once so many elements were computed, it pays to make machine code. With debug assertions it is
/// made early, so that every test of columns runs it.
const HOT: usize = if cfg!(debug_assertions) { 1 << 5 } else { 1 << 14 };

/// Number of cached plans.
const N_PLANS: usize = 16;

/// The working memory of [`run_columns`]. Reusing it saves allocation and, if a form is called
/// again with inputs and outputs of the same layout, planning.
#[derive(Debug)]
pub struct ColumnScratch {
    plans: Vec<Ready>,
    /// The plan to replace next.
    oldest: usize,
    pools: Pools,
    indices: Vec<u32>,
    width: Width,
    /// Columns with this many elements are assumed to exceed the caches.
    far: usize,
    /// The number of computed elements after which machine code is made.
    hot: usize,
}

impl ColumnScratch {
    /// The working memory for this SIMD width instead of the widest.
    pub fn with_width(width: Width) -> Self {
        Self {
            plans: Vec::new(),
            oldest: 0,
            pools: Pools::default(),
            indices: Vec::new(),
            width,
            far: FAR,
            hot: HOT,
        }
    }
}

impl Default for ColumnScratch {
    fn default() -> Self {
        Self::with_width(Width::default())
    }
}

/// A plan, ready to run.
#[derive(Debug)]
struct Ready {
    plan: Plan,
    /// What runs for every chunk; `None` as long as no chunk was computed.
    jobs: Option<Vec<Job>>,
    /// Elements that were computed as long as it was not tried to make machine code.
    n_cold: Option<usize>,
    /// The tables of machine code.
    tables: Vec<Vec<Line>>,
}

impl Ready {
    fn new(plan: Plan, n_cold: Option<usize>) -> Self {
        Self { plan, jobs: None, n_cold, tables: Vec::new() }
    }

    /// Counts `n` more elements, and makes machine code once there were `hot`.
    fn warm_up(
        &mut self,
        n: usize,
        hot: usize,
        form: &Form,
        (inputs, outputs): (&[LaneInput<'_>], &[LaneOutput<'_>]),
        (width, is_range): (Width, bool),
    ) {
        let Some(n_cold) = &mut self.n_cold else { return };
        *n_cold += n;
        if *n_cold >= hot {
            self.n_cold = None;
            if let Some(plan) = Plan::new(form, inputs, outputs, Some(width), is_range) {
                *self = Self::new(plan, None);
            }
        }
    }
}

/// The position of the plan for such a call, which is made if there is none.
fn find_plan(
    plans: &mut Vec<Ready>,
    oldest: &mut usize,
    form: &Form,
    inputs: &[LaneInput<'_>],
    outputs: &[LaneOutput<'_>],
    is_range: bool,
) -> usize {
    let fits = |ready: &Ready| ready.plan.fits(form, inputs, outputs, is_range);
    if let Some(number) = plans.iter().position(fits) {
        return number;
    }
    let plan =
        Plan::new(form, inputs, outputs, None, is_range).expect("machine code is not wanted");
    let plan = Ready::new(plan, Some(0));
    if plans.len() < N_PLANS {
        plans.push(plan);
        return plans.len() - 1;
    }
    let number = *oldest;
    plans[number] = plan;
    *oldest = (number + 1) % N_PLANS;
    number
}

/// Computes `form` for the elements in `mask`.
///
/// There is one input for each parameter; inputs that no wanted result needs are not read. Results
/// without an output are not computed. Exactly the elements in `mask` are written. The bits are
/// those of [`Form::run_scalar`], NaNs being one value.
///
/// # Panics
/// If an input or output has another lane than its parameter or result, or is too short for the
/// mask, or a result does not exist.
pub fn run_columns(
    form: &Form,
    inputs: &[LaneInput<'_>],
    outputs: &mut [LaneOutput<'_>],
    mask: &Mask,
    scratch: &mut ColumnScratch,
) {
    let n = mask.len();
    if n == 0 {
        return;
    }
    let ColumnScratch { plans, oldest, pools, indices, width, far, hot } = scratch;
    assert_eq!(inputs.len(), form.params.len(), "an input is given for each parameter");
    for output in outputs.iter() {
        assert!(output.width <= output.stride, "the results of an output lie beside each other");
        for &reg in &form.results[output.first..output.first + output.width] {
            let lane = form.insts[reg].lane;
            assert_eq!(output.lanes.lane(), lane, "an output has its result's lane");
        }
    }
    let is_range = mask.as_range().is_some();
    let number = find_plan(plans, oldest, form, inputs, outputs, is_range);
    let ready = &mut plans[number];
    if n > FEW {
        ready.warm_up(n, *hot, form, (inputs, outputs), (*width, is_range));
    }
    let Ready { plan, jobs, tables, .. } = ready;
    plan.find_values(form, inputs);
    if n <= FEW {
        return few::run(form, inputs, outputs, mask, plan);
    }
    let plan = &*plan;
    let jobs = jobs.get_or_insert_with(|| jobs::jobs(form, plan));
    // Machine code fetches ahead by itself.
    let is_far = n >= *far && !plan.is_native;
    let streams = if is_far { find_streams(inputs, plan, outputs) } else { SmallVec::new() };
    let chunk = if is_range && plan.is_one_loop {
        n
    } else {
        let chunk = plan.chunk(if streams.is_empty() { 0 } else { plan.n_bytes(form) });
        pools.reserve(plan.n_slots(), n.min(chunk));
        chunk
    };
    stretches::fill_tables(plan, tables);
    let mut machine = Machine {
        form,
        plan,
        jobs,
        inputs,
        outputs,
        pools,
        tables,
        width: *width,
        streams: &streams,
    };
    machine.fill_uniforms(n.min(chunk));
    indices.clear();
    // A mask without gaps may have several segments, or one of indices.
    if let Some(range) = mask.as_range() {
        return run_range(&mut machine, chunk, range);
    }
    for segment in mask.segments() {
        match segment {
            Segment::Range(range) if range.len() >= SHORT => run_range(&mut machine, chunk, range),
            Segment::Range(range) => {
                collect(&mut machine, chunk, indices, range.map(|i| i as u32));
            }
            Segment::Indices(part) => collect(&mut machine, chunk, indices, part.iter().copied()),
        }
    }
    if !indices.is_empty() {
        machine.run(&Chunk::Indices(indices), 0..0);
    }
}

/// Runs neighbors chunk by chunk.
fn run_range(machine: &mut Machine<'_, '_>, chunk: usize, range: Range<usize>) {
    for start in range.clone().step_by(chunk) {
        let end = range.end.min(start + chunk);
        let next = end..range.end.min(end + chunk);
        machine.run(&Chunk::Range(start..end), next);
    }
}

/// The memory of the caller that a call reads and writes from beginning to end.
fn find_streams(
    inputs: &[LaneInput<'_>],
    plan: &Plan,
    outputs: &[LaneOutput<'_>],
) -> SmallVec<[Stream; 8]> {
    let mut streams = SmallVec::new();
    for (input, source) in inputs.iter().zip(&plan.sources) {
        let is_first = match source {
            Source::Each => true,
            Source::Strided { joined, .. } => !joined,
            Source::Single | Source::Other => false,
        };
        if let LaneInput::Lanes { lanes, stride, .. } = input
            && is_first
        {
            streams.push(Stream::new(lanes.bytes(), *stride * lanes.lane().size()));
        }
    }
    for LaneOutput { lanes, stride, .. } in outputs {
        streams.push(Stream::new(lanes.bytes(), *stride * lanes.lane().size()));
    }
    streams
}

/// Adds elements to the current chunk, and runs it whenever it is full.
fn collect(
    machine: &mut Machine<'_, '_>,
    chunk: usize,
    full: &mut Vec<u32>,
    more: impl Iterator<Item = u32>,
) {
    for index in more {
        full.push(index);
        if full.len() == chunk {
            machine.run(&Chunk::Indices(full), 0..0);
            full.clear();
        }
    }
}
