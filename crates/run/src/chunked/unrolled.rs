//! Loops that are unrolled to one form over the cells around them, see `ir::loops`.
//!
//! The step that folds the list asks for the number of rounds, then for the sources that the items
//! read from outside the loop. Once these exist, it runs over its own cells, and neither the list
//! nor the items are asked for. If a condition is not met, the loop runs as in the plain walk.

use millstream_base::map::Map;
use millstream_base::{Column, Mask, Value};
use millstream_ir::Loop;
use millstream_ir::plan::{StepId, StepOp, StepSource};
use millstream_node::Data;

use super::region::{ALONE, Fusing};
use crate::fuse::{Member, unroll};
use crate::shape::{ShapeId, Shapes};
use crate::shares::Sample;
use crate::walk::{Demand, Place, Progress, Stop, Task, Walk};

/// The turns of a step whose loop is examined: the count was asked for, then the sources of items.
const COUNT: u8 = 1;
const OUTSIDE: u8 = 2;

impl Walk<'_, Fusing<'_>> {
    /// Whether a step folds the list of a loop that may be unrolled.
    #[inline]
    pub(super) fn folds_loop(&self, step: StepId) -> bool {
        self.mode.unrolls
            && self.plan.loop_of(step).is_some()
            && !self.scoped[self.instance_id(step)]
    }

    /// Advances a step that folds a loop; `None` if it must run as in the plain walk.
    pub(super) fn advance_loop(&mut self, top: usize) -> Result<Option<Progress>, Stop> {
        let Task { step, frame, slot, turn, .. } = self.stack[top];
        let folded = self.plan.loop_of(step).expect("the step folds a loop");
        if turn > 0 && self.store.is_done(slot) {
            return Ok(Some(Progress::Done));
        }
        if turn == 0 {
            self.stack[top].turn = COUNT;
            if self.ask_calls(top, &[folded.count])? {
                return Ok(Some(Progress::Waiting));
            }
        }
        let Some(n_rounds) = self.rounds_of(top, folded)? else {
            return Ok(self.run_plainly(top));
        };
        if self.stack[top].turn == COUNT {
            self.stack[top].turn = OUTSIDE;
            if self.ask_calls(top, &folded.outside)? {
                return Ok(Some(Progress::Waiting));
            }
        }
        let demand = self.stack[top].demand.clone();
        for source in &folded.outside {
            let place = self.place(*source, frame);
            if self.has_failed(place, &demand)? {
                return Ok(self.run_plainly(top));
            }
        }
        Ok(if self.run_loop(top, folded, n_rounds)? {
            Some(Progress::Done)
        } else {
            self.run_plainly(top)
        })
    }

    /// Leaves the task to the walk.
    fn run_plainly(&mut self, top: usize) -> Option<Progress> {
        self.stack[top].turn = ALONE;
        None
    }

    /// Asks for those sources that are calls and whose demanded cells are not computed.
    fn ask_calls(&mut self, top: usize, sources: &[StepSource]) -> Result<bool, Stop> {
        let plan = self.plan;
        let is_call = |source: &&StepSource| matches!(plan.steps[source.step].op, StepOp::Call(_));
        let calls: Vec<StepSource> = sources.iter().filter(is_call).copied().collect();
        self.ask_uncovered(top, &calls)
    }

    /// The number of rounds, if it is one for all cells and small.
    fn rounds_of(&mut self, top: usize, folded: &Loop) -> Result<Option<usize>, Stop> {
        let place = self.place(folded.count, self.stack[top].frame);
        let demand = self.stack[top].demand.clone();
        if self.has_failed(place, &demand)? {
            return Ok(None);
        }
        let Data::One(value) = self.read(place).0 else { return Ok(None) };
        let n = value.get::<i32>().unwrap_or(0);
        Ok(folded.takes(n).then_some(n as usize))
    }

    /// Runs a loop whose sources exist; false if it cannot.
    fn run_loop(&mut self, top: usize, folded: &Loop, n_rounds: usize) -> Result<bool, Stop> {
        let plan = self.plan;
        let Task { step, frame, .. } = self.stack[top];
        let own = self.shapes_in_loop(top, folded);
        let (shape, full) = match &self.stack[top].demand {
            Demand::Full => (*own.last().expect("a loop has members"), None),
            Demand::Part(cells) => (cells.shape, Some(cells.mask.clone())),
        };
        // The plain walk refuses more cells than allowed.
        let Ok(n_cells) = self.shapes.n_cells(shape) else { return Ok(false) };
        let fits = n_cells.checked_mul(n_rounds).is_some_and(|n| n <= self.shapes.max_cells());
        if shape == Shapes::scalar() || !fits {
            return Ok(false);
        }
        let mask = full.unwrap_or_else(|| Mask::full(n_cells));
        let fused = self.mode.regions.unrolled(step, n_rounds, || unroll(plan, folded, n_rounds));
        let ty = fused.outputs[0].ty;
        let mut columns: Vec<Column> = vec![self.output_column(top, 0, ty, n_cells)?];
        let n_steps = folded.members.len() * n_rounds + 2;
        self.lap(step);
        self.compute((&*fused, n_steps), frame, shape, &mut columns, &mask)?;
        let alone = |sample: &mut Sample<'_>| times_in_loop(sample, folded, n_rounds);
        self.share_lap((&*fused, n_steps), frame, (shape, &mask), alone)?;
        for (member, own) in folded.members.iter().zip(own) {
            let n = self.shapes.project(shape, &mask, own)?.len();
            self.log_run(*member, n * n_rounds, 0);
        }
        self.log_run(folded.list, mask.len(), 0);
        self.store_result(
            top,
            columns.into_iter().map(|one| Some(Data::Many(one))).collect(),
            shape,
        )?;
        Ok(true)
    }

    /// The shape of each member without the rounds, followed by that of the item.
    fn shapes_in_loop(&mut self, top: usize, folded: &Loop) -> Vec<ShapeId> {
        let plan = self.plan;
        let frame = self.stack[top].frame;
        let mut shapes: Vec<ShapeId> = Vec::with_capacity(folded.members.len());
        for member in &folded.members {
            let mut shape = Shapes::scalar();
            for source in plan.inputs_of(&plan.steps[*member]) {
                let of = if folded.rounds.contains(&source.step) {
                    continue;
                } else if let Ok(at) = folded.members.binary_search(&source.step) {
                    shapes[at]
                } else {
                    let place: Place = self.place(*source, frame);
                    self.read(place).1
                };
                shape = self.shapes.union(shape, of);
            }
            shapes.push(shape);
        }
        shapes
    }
}

/// The times of the members in all rounds, and of the step that folds their list; no list is made.
fn times_in_loop(sample: &mut Sample<'_>, folded: &Loop, n_rounds: usize) -> Vec<(StepId, f64)> {
    // The rounds are similar, so the first represents all.
    for step in &folded.rounds {
        let first = Column::filled(&Value::I32(0), 1);
        sample.give(StepSource { step: *step, output: 0 }, &first, Map::Single);
    }
    let in_all = |seconds: f64| seconds * n_rounds as f64;
    let members = folded.members.iter();
    let mut times: Vec<(StepId, f64)> =
        members.map(|step| (*step, in_all(sample.seconds_of(Member::whole(*step))))).collect();
    times.push((folded.fold, sample.seconds_of_fold(folded, n_rounds)));
    times
}
