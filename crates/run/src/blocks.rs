//! The list of a plan for some outputs, cut into blocks.
//!
//! The list holds each step once, after everything it reads: the reverse of the order in which a
//! walk from the outputs first uses the steps. A *block* is a part of the list that runs as one:
//!
//! - the main block holds the steps that some output needs in any case;
//! - every step that is read through an arm or a scope, or from several blocks, is the *root* of a
//!   block of its own, which holds the steps that only it needs.
//!
//! Thus the guard of a step is the union over its uses: the step runs when a step that reads its
//! block demands the root, and does not run again, since its result exists.

use millstream_base::id::Id;
use millstream_ir::plan::{Plan, StepId, StepOp};

use crate::uses::{Use, Uses, uses};

/// The block of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockOf {
    /// No output needs it.
    None,
    Main,
    /// The block of this root.
    Root(StepId),
}

/// A list and its blocks.
#[derive(Debug)]
pub(crate) struct Blocks {
    /// The steps, the main block first, the root of each other block last in it.
    pub(crate) steps: Vec<StepId>,
    pub(crate) n_main: usize,
    /// For each step of the plan its position in the list.
    position: Vec<u32>,
    /// For each step of the plan its block.
    of: Vec<BlockOf>,
    /// For each step of the plan where its block begins in the list, if it is a root.
    first: Vec<u32>,
}

const NOWHERE: u32 = u32::MAX;

/// What is known about a step; complete when all steps that read it were visited.
#[derive(Clone, Copy)]
struct Known {
    block: BlockOf,
    /// Whether it is read through an arm or a scope, or from several blocks.
    is_entry: bool,
    /// Whether the main block reads it in its own context.
    in_main: bool,
    /// Whether it may be read in another context than that of the request.
    in_scope: bool,
}

impl Blocks {
    /// The list of a plan for the outputs at these positions.
    pub(crate) fn new(plan: &Plan, outputs: &[usize]) -> Self {
        Self::selecting(plan, outputs, &|_| false)
    }

    /// The list if some choices compute all their arms.
    pub(crate) fn selecting(
        plan: &Plan,
        outputs: &[usize],
        selects: &dyn Fn(StepId) -> bool,
    ) -> Self {
        let order = order(plan, outputs);
        let of = blocks(plan, outputs, &order, selects);
        // A counting sort by block, stable; the main block first, the others by root.
        let mut ends = vec![0_u32; plan.steps.len() + 1];
        let bucket = |step: &StepId| match of[step.index()] {
            BlockOf::None => None,
            BlockOf::Main => Some(0),
            BlockOf::Root(root) => Some(root.index() + 1),
        };
        for bucket in order.iter().filter_map(bucket) {
            ends[bucket] += 1;
        }
        let n_main = ends[0] as usize;
        let mut total = 0;
        for end in &mut ends {
            total += std::mem::replace(end, total);
        }
        let first: Vec<u32> = ends[1..].to_vec();
        let mut steps = vec![StepId::from_index(0); total as usize];
        let mut position = vec![NOWHERE; plan.steps.len()];
        for step in &order {
            let Some(bucket) = bucket(step) else { continue };
            let at = ends[bucket];
            ends[bucket] += 1;
            steps[at as usize] = *step;
            position[step.index()] = at;
        }
        Self { steps, n_main, position, of, first }
    }

    /// The block of a step.
    pub(crate) fn block_of(&self, step: StepId) -> BlockOf {
        self.of[step.index()]
    }

    /// The positions of the other steps of a root's block; empty for steps that are not roots.
    pub(crate) fn members(&self, root: StepId) -> std::ops::Range<usize> {
        if self.of[root.index()] == BlockOf::Root(root) {
            self.first[root.index()] as usize..self.position[root.index()] as usize
        } else {
            0..0
        }
    }

    /// The position of a step in the list.
    pub(crate) fn position(&self, step: StepId) -> Option<usize> {
        let position = self.position[step.index()];
        (position != NOWHERE).then_some(position as usize)
    }
}

/// The calls that outputs may need, each after all it reads, by a depth-first walk without
/// recursion.
fn order(plan: &Plan, outputs: &[usize]) -> Vec<StepId> {
    let mut order = Vec::new();
    let mut met = vec![false; plan.steps.len()];
    let mut stack: Vec<(StepId, Uses)> = Vec::new();
    let mut meet = |step: StepId, stack: &mut Vec<_>| {
        let is_call = matches!(plan.steps[step].op, StepOp::Call(_));
        if is_call && !std::mem::replace(&mut met[step.index()], true) {
            let mut uses = uses(plan, &plan.steps[step]);
            uses.reverse();
            stack.push((step, uses));
        }
    };
    for output in outputs {
        meet(plan.outputs[*output].source.step, &mut stack);
        while let Some((step, rest)) = stack.last_mut() {
            match rest.pop() {
                Some((source, _)) => meet(source.step, &mut stack),
                None => {
                    order.push(*step);
                    stack.pop();
                }
            }
        }
    }
    order
}

/// The block of each step, found from its readers.
fn blocks(
    plan: &Plan,
    outputs: &[usize],
    order: &[StepId],
    selects: &dyn Fn(StepId) -> bool,
) -> Vec<BlockOf> {
    let unread = Known { block: BlockOf::None, is_entry: false, in_main: false, in_scope: false };
    let mut known = vec![unread; plan.steps.len()];
    for output in outputs {
        let step = plan.outputs[*output].source.step.index();
        known[step] = Known { block: BlockOf::Main, in_main: true, ..known[step] };
    }
    for step in order.iter().rev() {
        let reader = &mut known[step.index()];
        let has_needs = plan.steps[*step].needs.index() != 0;
        // A step without needs is the same in all contexts, and the main block needs it anyway.
        if reader.in_main && !(reader.in_scope && has_needs) {
            (reader.block, reader.in_scope) = (BlockOf::Main, false);
        } else if reader.is_entry {
            reader.block = BlockOf::Root(*step);
        }
        let reader = *reader;
        for (source, kind) in uses(plan, &plan.steps[*step]) {
            let kind = if kind == Use::Arm && selects(*step) { Use::Strict } else { kind };
            let read = &mut known[source.step.index()];
            let is_first = read.block == BlockOf::None;
            read.is_entry |= kind != Use::Strict || !(is_first || read.block == reader.block);
            read.in_main |= kind == Use::Strict && reader.block == BlockOf::Main;
            read.in_scope |= kind == Use::Body || reader.in_scope;
            if is_first {
                read.block = reader.block;
            }
        }
    }
    known.into_iter().map(|known| known.block).collect()
}
