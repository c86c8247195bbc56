//! A sweep before the walk: steps of one operation on single numbers that are needed in any case
//! run in the order of the plan.
//!
//! The walk visits inputs anywhere in memory, several times per step, which is slow in a large
//! graph. The steps that the outputs need in any case are known before: marks go backward over the
//! plan, from the outputs to the steps they read, and stop at choices and scopes. Then one forward
//! pass runs the marked steps that are one operation, if their inputs exist. The numbers are close
//! together in memory; those that other steps read are put into the store, where the walk finds
//! them. So the same steps run as without the sweep.

use millstream_base::id::Id;
use millstream_base::pages::room_in_huge_pages;
use millstream_form::eval_op;
use millstream_ir::answer::EvalError;
use millstream_ir::plan::{Plan, StepId, StepOp};
use millstream_ir::{Bound, LogDetail};
use millstream_node::{Data, Kernel};

use super::{Plain, Walk};
use crate::one_op::{OneOp, bits, number};
use crate::store::{Outputs, State};

/// Number of steps between two readings of the clock.
const AT_ONCE: usize = 1 << 12;

/// The state of a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// It may not be needed.
    None,
    /// It is demanded in full, in the context of the request, in any case.
    Asked,
    /// Its number is known.
    Done,
    /// Its number is known and in the store.
    Stored,
}

/// The numbers of a sweep.
struct Numbers {
    marks: Vec<Mark>,
    /// The bits of each step that is done.
    bits: Vec<u64>,
}

impl Numbers {
    /// The bits of a step that is done.
    #[inline]
    fn get(&self, step: StepId) -> Option<u64> {
        let is_done = matches!(self.marks[step.index()], Mark::Done | Mark::Stored);
        is_done.then(|| self.bits[step.index()])
    }

    fn set(&mut self, step: usize, bits: u64) {
        (self.marks[step], self.bits[step]) = (Mark::Done, bits);
    }
}

impl Walk<'_, Plain> {
    /// Runs the steps of one operation on single numbers that the outputs need in any case.
    pub(super) fn sweep(&mut self, bound: &Bound) -> Result<(), EvalError> {
        // Times are recorded by step.
        let wants_times = self.request.log == LogDetail::Times;
        // Outputs without cells need hardly any step.
        let is_empty = bound.has_no_cells();
        if wants_times || is_empty || self.one_ops.iter().all(|(_, one)| one.is_none()) {
            return Ok(());
        }
        let plan = self.plan;
        let mut bits = room_in_huge_pages(plan.steps.len());
        bits.resize(plan.steps.len(), 0);
        let mut numbers = Numbers { marks: self.marked(bound), bits };
        for i in 0..plan.steps.len() {
            self.sweep_step(i, &mut numbers);
            if i % AT_ONCE == AT_ONCE - 1 {
                self.clock.check()?;
            }
        }
        for position in &bound.outputs {
            self.store_number(plan.outputs[*position].source.step, &mut numbers);
        }
        Ok(())
    }

    /// The marks of the steps that are needed in any case.
    fn marked(&self, bound: &Bound) -> Vec<Mark> {
        let plan = self.plan;
        let asks_all = plan.instances.iter().map(|(id, instance)| match instance.kernel {
            Kernel::Form(_) | Kernel::Function(_) | Kernel::Pass => !self.scoped[id],
            Kernel::Read { .. } | Kernel::Choose | Kernel::ReadState(_) => false,
        });
        let asks_all: Vec<bool> = asks_all.collect();
        let mut marks = vec![Mark::None; plan.steps.len()];
        for position in &bound.outputs {
            marks[plan.outputs[*position].source.step.index()] = Mark::Asked;
        }
        for (i, step) in plan.steps.as_slice().iter().enumerate().rev() {
            if let StepOp::Call(instance) = step.op
                && marks[i] == Mark::Asked
                && asks_all[instance.index()]
            {
                for link in plan.inputs_of(step) {
                    marks[link.step.index()] = Mark::Asked;
                }
            }
        }
        marks
    }

    /// Runs a marked step if its inputs exist as single numbers. For a step that is left to the
    /// walk, puts the inputs into the store.
    #[inline]
    fn sweep_step(&mut self, i: usize, numbers: &mut Numbers) {
        let plan = self.plan;
        let step = &plan.steps.as_slice()[i];
        let is_asked = numbers.marks[i] == Mark::Asked;
        let instance = match step.op {
            StepOp::Call(instance) => instance,
            StepOp::Const(_) | StepOp::Input(_) if !is_asked => return,
            StepOp::Const(id) => return given(i, &plan.constants[id], numbers),
            StepOp::Input(id) => return given(i, &self.inputs[id].0, numbers),
        };
        if let Some(one) = self.one_ops[instance]
            && is_asked
            && let Some(result) = run(plan, i, one, numbers)
        {
            numbers.set(i, result);
            self.log_run(StepId::from_index(i), 1, 0);
            return;
        }
        for link in plan.inputs_of(step) {
            self.store_number(link.step, numbers);
        }
    }

    /// Puts the number of a step into the store, if it is known and not there yet.
    fn store_number(&mut self, id: StepId, numbers: &mut Numbers) {
        let step = &self.plan.steps[id];
        let StepOp::Call(instance) = step.op else { return };
        if numbers.marks[id.index()] != Mark::Done {
            return;
        }
        numbers.marks[id.index()] = Mark::Stored;
        let one = self.one_ops[instance].expect("it was run as one operation");
        let frame = self.frames.restrict(self.root, step.needs, self.plan);
        let slot = self.store.slot(id, frame, self.plan);
        self.store.set_state(slot, State::Full);
        let value = number(one.to, numbers.bits[id.index()]);
        *self.store.outputs_mut(slot) = Outputs::One(Data::One(value));
    }
}

/// Takes a given number.
fn given(i: usize, data: &Data, numbers: &mut Numbers) {
    if let Data::One(value) = data
        && let Some(bits) = bits(value)
    {
        numbers.set(i, bits);
    }
}

/// The result of a step, if all its inputs are done.
#[inline]
fn run(plan: &Plan, i: usize, one: OneOp, numbers: &Numbers) -> Option<u64> {
    let mut inputs = [0; 3];
    for (input, source) in inputs.iter_mut().zip(plan.inputs_of(&plan.steps.as_slice()[i])) {
        *input = numbers.get(source.step)?;
    }
    Some(eval_op(one.op, one.of, one.to, one.operands.map(|k| inputs[k as usize])))
}
