//! Instances whose form is one operation on single numbers.

use millstream_base::id::SideTable;
use millstream_base::{Lane, Type, Value};
use millstream_form::Op;
use millstream_ir::graph::InstanceId;
use millstream_ir::plan::Plan;
use millstream_node::{Instance, Kernel};
use smallvec::SmallVec;

/// An instance whose form is one operation on its inputs, each of which has one lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OneOp {
    pub(crate) op: Op,
    pub(crate) of: Lane,
    pub(crate) to: Lane,
    /// The input of each operand.
    pub(crate) operands: [u8; 3],
}

/// The operation of each instance that consists of one.
pub(crate) fn one_ops(plan: &Plan) -> SideTable<InstanceId, Option<OneOp>> {
    SideTable::from_vec(plan.instances.as_slice().iter().map(|f| one_op(f)).collect())
}

/// The operation of an instance that consists of one, the lanes of its operands and of its result,
/// and the input of each operand.
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
pub(crate) fn bits(value: &Value) -> Option<u64> {
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

/// The number with these bits.
#[inline(always)]
pub(crate) fn number(lane: Lane, bits: u64) -> Value {
    match lane {
        Lane::Bool => Value::Bool(bits != 0),
        Lane::I32 => Value::I32(bits as i32),
        Lane::I64 => Value::I64(bits as i64),
        Lane::F32 => Value::F32(f32::from_bits(bits as u32)),
        Lane::F64 => Value::F64(f64::from_bits(bits)),
    }
}
