//! The walk block by block of a list.
//!
//! The plain walk asks for the inputs of a root one after the other. Here the members of its block
//! run first, in the order of the list, and then the root finds its inputs in the store. Sources in
//! other blocks, read through arms or in scopes, are asked for as in the plain walk; so a block may
//! be called again, with another mask or in another context.
//!
//! Under a partial demand the block is first walked backward: each member receives the union of the
//! demands of its readers, without computed cells.

use std::ops::Range;
use std::time::Duration;

use millstream_ir::EvalError;
use millstream_ir::plan::StepId;
use millstream_ir::request::Bound;
use millstream_node::Instance;

use super::deferred::Deferral;
use super::row::Row;
use crate::blocks::Blocks;
use crate::frame::FrameId;
use crate::store::SlotId;
use crate::uses::{Use, uses};
use crate::walk::{Demand, Mode, Place, Progress, Run, Stop, Task, Walk};

/// The mode of the walk that goes block by block.
pub(super) struct Listed<'a> {
    pub(super) blocks: &'a Blocks,
    /// The blocks that are running, the innermost last.
    open: Vec<Open>,
    /// The jobs, if long runs become jobs.
    pub(super) deferral: Option<Deferral<'a>>,
}

/// A running block.
struct Open {
    /// Position of the root's task on the stack.
    top: usize,
    slot: SlotId,
    members: Row,
    /// The position of the first member in the list and the demand on each member; `None` if all
    /// members are demanded in full.
    demands: Option<(usize, Vec<Option<Demand>>)>,
}

impl<'a> Listed<'a> {
    pub(super) fn new(blocks: &'a Blocks, deferral: Option<Deferral<'a>>) -> Self {
        Self { blocks, open: Vec::new(), deferral }
    }
}

impl Mode for Listed<'_> {
    fn begin(walk: &mut Walk<'_, Self>, _bound: &Bound) -> Result<(), EvalError> {
        walk.run_main()
    }

    #[inline]
    fn advance(walk: &mut Walk<'_, Self>, top: usize) -> Result<Option<Progress>, Stop> {
        Ok(walk.goes_on_in_block(top)?.then_some(Progress::Waiting))
    }

    /// Forgets the block of the task, and those of tasks that it put on the stack.
    #[inline]
    fn leave(walk: &mut Walk<'_, Self>, top: usize) {
        let open = &mut walk.mode.open;
        while open.last().is_some_and(|open| open.top >= top) {
            open.pop();
        }
    }

    #[inline]
    fn settle(walk: &mut Walk<'_, Self>, slot: SlotId) -> Result<(), Stop> {
        walk.wait_for(slot)
    }

    #[inline]
    fn before_run(
        walk: &mut Walk<'_, Self>,
        top: usize,
        instance: &Instance,
        places: &[Place],
    ) -> Result<Run, Stop> {
        if walk.mode.deferral.is_none() { Ok(Run::Here) } else { walk.defer(top, instance, places) }
    }

    fn timed(walk: &mut Walk<'_, Self>, step: StepId, elements: usize, took: Duration) {
        walk.note_cost(step, elements, took);
    }
}

impl Walk<'_, Listed<'_>> {
    /// Runs the main block.
    fn run_main(&mut self) -> Result<(), EvalError> {
        let blocks = self.mode.blocks;
        let mut members = Row::new(0..blocks.n_main);
        loop {
            let next = self.next_of(&mut members, self.root).map_err(|stop| match stop {
                Stop::All(error) => error,
                Stop::Cells(_) | Stop::Endless => panic!("shapes are known before a job is made"),
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
        self.mode.open.last().map_or(top == 0, |open| open.top + 1 == top)
    }

    /// Puts the next member of a block on the stack, if the task at position `top` is a root with
    /// members that must run.
    fn goes_on_in_block(&mut self, top: usize) -> Result<bool, Stop> {
        let Task { step, frame, slot, phase, .. } = self.stack[top];
        let blocks = self.mode.blocks;
        let is_open =
            self.mode.open.last().is_some_and(|open| open.top == top && open.slot == slot);
        if !is_open {
            let members = blocks.members(step);
            if phase != 0 || members.is_empty() || !self.start(top)? {
                return Ok(false);
            }
            let demands = match self.stack[top].demand {
                Demand::Full => None,
                Demand::Part(_) => Some((members.start, self.ask_members(top, &members)?)),
            };
            self.mode.open.push(Open { top, slot, members: Row::new(members), demands });
        }
        loop {
            let open = self.mode.open.last_mut().expect("the block is open");
            let mut members = std::mem::take(&mut open.members);
            let next = self.next_of(&mut members, frame)?;
            let open = self.mode.open.last_mut().expect("the block is open");
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

    /// The demand on each member of the block of the task at `top`, which is partly demanded.
    fn ask_members(
        &mut self,
        top: usize,
        members: &Range<usize>,
    ) -> Result<Vec<Option<Demand>>, Stop> {
        let blocks = self.mode.blocks;
        let Task { step, frame, .. } = self.stack[top];
        let mut demands: Vec<Option<Demand>> = vec![None; members.len()];
        let demand = self.stack[top].demand.clone();
        self.pass_on(step, frame, &demand, members, &mut demands)?;
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
                    self.pass_on(member, frame, &demand, members, &mut demands)?;
                    demands[i] = Some(demand);
                }
                Ok(false) => demands[i] = None,
                // It fails by itself in its turn.
                Err(Stop::Cells(_) | Stop::Endless) => {}
                Err(stop) => return Err(stop),
            }
        }
        Ok(demands)
    }

    /// Adds the demands of a step on the members that it reads.
    fn pass_on(
        &mut self,
        step: StepId,
        frame: FrameId,
        demand: &Demand,
        members: &Range<usize>,
        demands: &mut [Option<Demand>],
    ) -> Result<(), Stop> {
        let blocks = self.mode.blocks;
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
