//! Runs a form on a few elements, one by one.

use millstream_base::id::Id;
use millstream_base::mask::Mask;

use super::ends::{LaneInput, LaneOutput, input_bits, write_bits};
use super::plan::Plan;
use crate::inst::Form;
use crate::interpret::step;

/// Computes and writes the elements of the mask; `plan` has found the uniform values.
pub(super) fn run(
    form: &Form,
    inputs: &[LaneInput<'_>],
    outputs: &mut [LaneOutput<'_>],
    mask: &Mask,
    plan: &mut Plan,
) {
    let Plan { each, values, .. } = plan;
    for i in mask {
        for &reg in &*each {
            let inst = &form.insts[reg];
            step(inst, reg.index(), values, |param| input_bits(&inputs[param], inst.lane, i));
        }
        for output in &mut *outputs {
            for place in 0..output.width {
                let bits = values[form.results[output.first + place].index()];
                write_bits(&mut output.lanes, i * output.stride + output.offset + place, bits);
            }
        }
    }
}
