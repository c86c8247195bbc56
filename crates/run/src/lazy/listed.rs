//! Running block by block of a list.
//!
//! Used by the list evaluator. Where the demand-driven evaluation would ask for the inputs of a
//! root one after the other, the members of its block run in the order of the list, and then the
//! root finds its inputs there. What a member reads from other blocks, through arms or in scopes
//! is asked for as ever, so a block may be called again, with another mask or in another context.
//!
//! Under a demand in part the block is first walked backwards: each member is given the union of
//! what those that read it ask for, as far as it is not computed yet.

use std::ops::Range;

use millstream_ir::EvalError;
use millstream_ir::plan::StepId;

use super::row::Row;
use super::{Demand, Evaluation, Stop, Task};
use crate::frame::FrameId;
use crate::list::{Blocks, Use, uses};
use crate::store::SlotId;

/// What an evaluation by list knows besides.
pub(super) struct Listed<'a> {
    pub(super) blocks: &'a Blocks,
    /// The blocks that are being run, innermost last.
    open: Vec<Open>,
}

/// A block that is being run.
struct Open {
    /// Position of the root's task on the stack.
    top: usize,
    slot: SlotId,
    members: Row,
    /// What is asked of each member, if not everything; and where the first is in the list.
    demands: Option<(usize, Vec<Option<Demand>>)>,
}

impl<'a> Listed<'a> {
    pub(super) fn new(blocks: &'a Blocks) -> Self {
        Self { blocks, open: Vec::new() }
    }
}

impl Evaluation<'_> {
    /// Runs the main block.
    pub(super) fn run_main(&mut self) -> Result<(), EvalError> {
        let blocks = self.listed.as_ref().expect("only evaluations by list run blocks").blocks;
        self.check_clock()?;
        let mut members = Row::new(0..blocks.n_main);
        loop {
            let next = self.next_of(&mut members, self.root).map_err(|stop| match stop {
                Stop::All(error) => error,
                Stop::Cells | Stop::Endless => panic!("shapes are known before a job is made"),
            })?;
            let Some(next) = next else { return Ok(()) };
            let step = blocks.steps[next];
            let home = self.home(step, self.root);
            if self.lacks(step, home) {
                self.push(step, home, Demand::Full);
                self.work()?;
            }
        }
    }

    /// Whether the task at position `top` of the stack is a member of the innermost block.
    pub(super) fn is_member(&self, top: usize) -> bool {
        let Some(listed) = &self.listed else { return false };
        listed.open.last().map_or(top == 0, |open| open.top + 1 == top)
    }

    /// Puts the next member of a block on the stack, if the task at position `top` is a root of
    /// which members have to run.
    pub(super) fn goes_on_in_block(&mut self, top: usize) -> Result<bool, Stop> {
        let Task { step, frame, slot, phase, .. } = self.stack[top];
        let listed = self.listed.as_mut().expect("only evaluations by list run blocks");
        let blocks = listed.blocks;
        let is_open = listed.open.last().is_some_and(|open| open.top == top && open.slot == slot);
        if !is_open {
            let members = blocks.members(step);
            if phase != 0 || members.is_empty() || !self.start(top)? {
                return Ok(false);
            }
            let demands = match self.stack[top].demand {
                Demand::Full => None,
                Demand::Part(_) => Some((members.start, self.ask_members(top, &members)?)),
            };
            let listed = self.listed.as_mut().expect("it was there");
            listed.open.push(Open { top, slot, members: Row::new(members), demands });
        }
        loop {
            let listed = self.listed.as_mut().expect("it was there");
            let open = listed.open.last_mut().expect("the block is open");
            let mut members = std::mem::take(&mut open.members);
            let next = self.next_of(&mut members, frame)?;
            let listed = self.listed.as_mut().expect("it was there");
            let open = listed.open.last_mut().expect("the block is open");
            open.members = members;
            let Some(next) = next else { return Ok(false) };
            let demand = match &mut open.demands {
                None => Some(Demand::Full),
                Some((first, demands)) => demands[next - *first].take(),
            };
            let member = blocks.steps[next];
            let home = self.home(member, frame);
            if let (Some(demand), true) = (demand, self.lacks(member, home)) {
                self.push(member, home, demand);
                return Ok(true);
            }
        }
    }

    /// Forgets the block of a task that is done, and those of tasks that it put on the stack.
    #[inline]
    pub(super) fn close_block(&mut self, top: usize) {
        let Some(listed) = &mut self.listed else { return };
        while listed.open.last().is_some_and(|open| open.top >= top) {
            listed.open.pop();
        }
    }

    /// What is asked of each member of the block of the task at `top`, which is asked in part.
    fn ask_members(
        &mut self,
        top: usize,
        members: &Range<usize>,
    ) -> Result<Vec<Option<Demand>>, Stop> {
        let blocks = self.listed.as_ref().expect("only evaluations by list run blocks").blocks;
        let Task { step, frame, .. } = self.stack[top];
        let mut demands: Vec<Option<Demand>> = vec![None; members.len()];
        let demand = self.stack[top].demand.clone();
        self.hand_on(step, frame, &demand, members, &mut demands)?;
        for i in (0..members.len()).rev() {
            let Some(demand) = demands[i].clone() else { continue };
            let member = blocks.steps[members.start + i];
            let home = self.home(member, frame);
            self.push(member, home, demand);
            let at = self.stack.len() - 1;
            let started = self.start(at);
            let demand = self.stack[at].demand.clone();
            self.stack.truncate(at);
            match started {
                Ok(true) => {
                    self.hand_on(member, frame, &demand, members, &mut demands)?;
                    demands[i] = Some(demand);
                }
                Ok(false) => demands[i] = None,
                // It fails by itself when its turn comes.
                Err(Stop::Cells | Stop::Endless) => {}
                Err(stop) => return Err(stop),
            }
        }
        Ok(demands)
    }

    /// Adds what a step asks of the members that it reads.
    fn hand_on(
        &mut self,
        step: StepId,
        frame: FrameId,
        demand: &Demand,
        members: &Range<usize>,
        demands: &mut [Option<Demand>],
    ) -> Result<(), Stop> {
        let blocks = self.listed.as_ref().expect("only evaluations by list run blocks").blocks;
        for (source, kind) in uses(self.plan, &self.plan.steps[step]) {
            let position = blocks.position(source.step).filter(|at| members.contains(at));
            let (Some(position), Use::Strict) = (position, kind) else { continue };
            let before = &demands[position - members.start];
            let both = match (before, demand) {
                (None, demand) => demand.clone(),
                (Some(Demand::Full), _) | (Some(_), Demand::Full) => Demand::Full,
                (Some(Demand::Part(a)), Demand::Part(b)) => {
                    let (a, b) = (std::rc::Rc::clone(a), std::rc::Rc::clone(b));
                    let home = self.home(source.step, frame);
                    let shape = self.shape_of(source.step, home)?;
                    let a = self.shapes.project(a.shape, &a.mask, shape)?;
                    let b = self.shapes.project(b.shape, &b.mask, shape)?;
                    Demand::part(shape, a.union(&b))
                }
            };
            demands[position - members.start] = Some(both);
        }
        Ok(())
    }
}
