//! Loops that are written out as one form over the cells around them, see `ir::loops`.
//!
//! Used by the chunked evaluator. The step that folds the list asks for the number of rounds, then for
//! what the items read from outside the loop; when that is there it runs over its own cells, and the list
//! and the items are never asked for. Where anything is not as it must be the loop runs as ever.

use millstream_base::{Column, Mask};
use millstream_ir::Loop;
use millstream_ir::plan::{StepOp, StepSource};
use millstream_node::Data;

use super::task::Progress;
use super::{Demand, Evaluation, Place, Stop, Task};
use crate::fuse::unroll;
use crate::shape::{ShapeId, Shapes};

/// The phases of a step whose loop is looked at: the count was asked for, then what items read.
const COUNT: u8 = 200;
const OUTSIDE: u8 = 201;
/// The phase of a step whose loop runs as ever, before it asks for its inputs.
pub(super) const AS_EVER: u8 = 202;

impl Evaluation<'_> {
    /// Works on a step that may fold a loop; `None` if it is to run as ever.
    pub(super) fn advance_loop(&mut self, top: usize) -> Result<Option<Progress>, Stop> {
        let Task { step, frame, slot, phase, .. } = self.stack[top];
        if phase != 0 && phase != COUNT && phase != OUTSIDE {
            return Ok(None);
        }
        if !self.fusing.as_ref().is_some_and(|fusing| fusing.unrolls) {
            return Ok(None);
        }
        let Some(folded) = self.plan.loop_of(step) else { return Ok(None) };
        if phase > 0 && self.store.is_done(slot) {
            return Ok(Some(Progress::Done));
        }
        if phase == 0 {
            self.stack[top].phase = COUNT;
            if self.ask_calls(top, &[folded.count])? {
                return Ok(Some(Progress::Waiting));
            }
        }
        let Some(n_rounds) = self.rounds_of(top, folded)? else {
            return Ok(self.as_ever(top));
        };
        if self.stack[top].phase == COUNT {
            self.stack[top].phase = OUTSIDE;
            if self.ask_calls(top, &folded.outside)? {
                return Ok(Some(Progress::Waiting));
            }
        }
        let demand = self.stack[top].demand.clone();
        for source in &folded.outside {
            let place = self.place(*source, frame);
            if self.has_failed(place, &demand)? {
                return Ok(self.as_ever(top));
            }
        }
        Ok(if self.run_loop(top, folded, n_rounds)? {
            Some(Progress::Done)
        } else {
            self.as_ever(top)
        })
    }

    fn as_ever(&mut self, top: usize) -> Option<Progress> {
        self.stack[top].phase = AS_EVER;
        None
    }

    /// Asks for those sources that are calls and of which demanded cells are not computed.
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

    /// Runs a loop of which all that is read is there; false if it cannot.
    fn run_loop(&mut self, top: usize, folded: &Loop, n_rounds: usize) -> Result<bool, Stop> {
        let plan = self.plan;
        let Task { step, frame, .. } = self.stack[top];
        let own = self.shapes_in_loop(top, folded);
        let (shape, full) = match &self.stack[top].demand {
            Demand::Full => (*own.last().expect("a loop has members"), None),
            Demand::Part(cells) => (cells.shape, Some(cells.mask.clone())),
        };
        let n_cells = self.shapes.n_cells(shape)?;
        // What the loop would take for all cells is refused as ever.
        let fits = n_cells.checked_mul(n_rounds).is_some_and(|n| n <= self.shapes.max_cells());
        if shape == Shapes::scalar() || !fits {
            return Ok(false);
        }
        let mask = full.unwrap_or_else(|| Mask::full(n_cells));
        let regions = self.fusing.as_ref().expect("only evaluations with regions look").regions;
        let fused = regions.unrolled(step, n_rounds, || unroll(plan, folded, n_rounds));
        let ty = fused.outputs[0].ty;
        let mut columns: Vec<Column> = vec![self.output_column(top, 0, ty, n_cells)?];
        let n_steps = folded.members.len() * n_rounds + 2;
        self.compute((&*fused, n_steps), frame, shape, &mut columns, &mask)?;
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

    /// The shape of each member apart from the rounds, and last that of the item.
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
