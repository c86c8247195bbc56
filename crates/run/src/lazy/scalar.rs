//! The short way for steps of one operation on single numbers, which most steps of scalar graphs are:
//! inputs are read and asked for in one walk, and nothing is allocated.

use millstream_base::id::SideTable;
use millstream_base::{Lane, Type, Value};
use millstream_form::{Op, eval_op};
use millstream_ir::graph::InstanceId;
use millstream_ir::plan::{LinkKind, Plan, StepOp};
use millstream_node::{Data, Instance, Kernel};

use smallvec::SmallVec;

use super::{Demand, Evaluation, Task};
use crate::store::{Outputs, State};

/// An instance whose form is one operation on its inputs, each of which has one lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct OneOp {
    pub(super) op: Op,
    pub(super) of: Lane,
    pub(super) to: Lane,
    /// Which input each operand is.
    pub(super) operands: [u8; 3],
}

/// How the short way went.
pub(super) enum Short {
    /// The step has its result.
    Done,
    /// It asked for inputs.
    Waiting,
    /// The step has to go the long way.
    No,
}

/// The operation of each instance that is one.
pub(super) fn one_ops(plan: &Plan) -> SideTable<InstanceId, Option<OneOp>> {
    SideTable::from_vec(plan.instances.as_slice().iter().map(|f| one_op(f)).collect())
}

/// The operation of an instance that is one, the lanes of its operands and of its result, and which
/// input each operand is.
pub(crate) fn operation_of(instance: &Instance) -> Option<(Op, Lane, Lane, SmallVec<[u8; 3]>)> {
    let one = one_op(instance)?;
    let operands = one.operands[..one.op.arity()].into();
    Some((one.op, one.of, one.to, operands))
}

fn one_op(instance: &Instance) -> Option<OneOp> {
    let Kernel::Form(form) = &instance.kernel else { return None };
    let (params, [result]) = (form.params.len(), &form.results[..]) else { return None };
    let plain = |ty: Type| ty.lanes().is_some_and(|(_, n)| n == 1);
    let plain = instance.inputs.iter().all(|input| plain(input.ty) && input.scope.is_empty())
        && matches!(&instance.outputs[..], [output] if plain(output.ty));
    if !plain || params > 3 || form.insts.len() != params + 1 {
        return None;
    }
    let inst = form.insts[*result];
    let mut operands = [0; 3];
    for (operand, arg) in operands.iter_mut().zip(inst.args()) {
        match form.insts[*arg].op {
            Op::Param(number) => *operand = number as u8,
            _ => return None,
        }
    }
    (!inst.args().is_empty()).then_some(OneOp { op: inst.op, of: inst.of, to: inst.lane, operands })
}

/// The bits of a number.
#[inline(always)]
pub(super) fn bits(value: &Value) -> Option<u64> {
    match value {
        Value::F32(x) => Some(u64::from(x.to_bits())),
        Value::F64(x) => Some(x.to_bits()),
        Value::I32(x) => Some(u64::from(*x as u32)),
        Value::I64(x) => Some(*x as u64),
        Value::Bool(x) => Some(u64::from(*x)),
        Value::Vec2(_)
        | Value::Vec3(_)
        | Value::Vec4(_)
        | Value::Quat(_)
        | Value::Color(_)
        | Value::Mat4(_)
        | Value::String(_)
        | Value::List(_)
        | Value::Opaque(_) => None,
    }
}

#[inline(always)]
pub(super) fn number(lane: Lane, bits: u64) -> Value {
    match lane {
        Lane::Bool => Value::Bool(bits != 0),
        Lane::I32 => Value::I32(bits as i32),
        Lane::I64 => Value::I64(bits as i64),
        Lane::F32 => Value::F32(f32::from_bits(bits as u32)),
        Lane::F64 => Value::F64(f64::from_bits(bits)),
    }
}

impl Evaluation<'_> {
    /// Asks for the inputs of the task at position `top`, or runs it, if it is one operation on
    /// single numbers and demanded in full.
    #[inline]
    pub(super) fn short_way(&mut self, top: usize) -> Short {
        let plan = self.plan;
        let Task { step, frame, slot, ref demand, .. } = self.stack[top];
        // After a failure an input may stay empty, which only the long way understands.
        if !matches!(demand, Demand::Full)
            || self.store.state(slot) != State::Empty
            || !self.failures.is_empty()
            || self.keeping.is_some()
        {
            return Short::No;
        }
        let at = &plan.steps[step];
        let StepOp::Call(id) = at.op else { return Short::No };
        let Some(one) = self.one_ops[id] else { return Short::No };
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
                            self.stack.push(Task { step, frame, slot, phase: 0, demand });
                            continue;
                        }
                        State::Failed | State::Released | State::Partial => {
                            self.stack.truncate(first);
                            return Short::No;
                        }
                    }
                }
                LinkKind::Other => {
                    self.stack.truncate(first);
                    return Short::No;
                }
            };
            match data {
                Data::One(value) => *input = bits(value).unwrap_or(0),
                Data::Many(_) => {
                    self.stack.truncate(first);
                    return Short::No;
                }
            }
        }
        if self.stack.len() > first {
            self.deepest_on_top(first);
            return Short::Waiting;
        }
        let result = eval_op(one.op, one.of, one.to, one.operands.map(|i| inputs[i as usize]));
        self.store.set_state(slot, State::Full);
        *self.store.outputs_mut(slot) = Outputs::One(Data::One(number(one.to, result)));
        // Numbers hold no buffer, so no input has to be released.
        self.log_run(step, 1, 0);
        Short::Done
    }
}
