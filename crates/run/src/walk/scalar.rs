//! The shortcut for steps of one operation on single numbers, of which most scalar graphs consist:
//! one pass over the links reads the inputs or pushes tasks for them, and nothing is allocated.

use millstream_form::eval_op;
use millstream_ir::plan::{LinkKind, StepOp};
use millstream_node::Data;

use super::{Demand, Mode, Progress, Task, Walk};
use crate::one_op::{bits, number};
use crate::store::{Outputs, State};

impl<M: Mode> Walk<'_, M> {
    /// Pushes tasks for the inputs of the task at position `top`, or runs it, if it is one
    /// operation on single numbers and demanded in full; `None` if it is not.
    #[inline]
    pub(super) fn short_way(&mut self, top: usize) -> Option<Progress> {
        let plan = self.plan;
        let Task { step, frame, slot, ref demand, .. } = self.stack[top];
        // After a failure an input may remain empty, which only the walk handles.
        if !matches!(demand, Demand::Full)
            || self.store.state(slot) != State::Empty
            || !self.failures.is_empty()
            || M::KEEPS_RESULTS
        {
            return None;
        }
        let at = &plan.steps[step];
        let StepOp::Call(id) = at.op else { return None };
        let one = self.one_ops[id]?;
        let mut inputs = [0; 3];
        let first = self.stack.len();
        for (input, (source, kind)) in inputs.iter_mut().zip(plan.links_of(at)) {
            let data = match kind {
                LinkKind::Const => match plan.steps[source.step].op {
                    StepOp::Const(id) => &plan.constants[id],
                    StepOp::Input(_) | StepOp::Call(_) => panic!("the link says it is a constant"),
                },
                LinkKind::Input => match plan.steps[source.step].op {
                    StepOp::Input(id) => &self.inputs[id].0,
                    StepOp::Const(_) | StepOp::Call(_) => panic!("the link says it is an input"),
                },
                LinkKind::Same => {
                    let slot = self.store.slot(source.step, frame, plan);
                    match self.store.state(slot) {
                        State::Full => self.store.output(slot, source.output).0,
                        State::Empty => {
                            let (step, demand) = (source.step, Demand::Full);
                            self.stack.push(Task { step, frame, slot, phase: 0, turn: 0, demand });
                            continue;
                        }
                        State::Failed | State::Released | State::Partial => {
                            self.stack.truncate(first);
                            return None;
                        }
                    }
                }
                LinkKind::Other => {
                    self.stack.truncate(first);
                    return None;
                }
            };
            match data {
                Data::One(value) => *input = bits(value).unwrap_or(0),
                Data::Many(_) => {
                    self.stack.truncate(first);
                    return None;
                }
            }
        }
        if self.stack.len() > first {
            self.deepest_on_top(first);
            return Some(Progress::Waiting);
        }
        let result = eval_op(one.op, one.of, one.to, one.operands.map(|i| inputs[i as usize]));
        self.store.set_state(slot, State::Full);
        *self.store.outputs_mut(slot) = Outputs::One(Data::One(number(one.to, result)));
        // Numbers hold no buffer, so no input must be released.
        self.log_run(step, 1, 0);
        Some(Progress::Done)
    }
}
