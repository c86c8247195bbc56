//! Runs a form on very few elements, one by one.

use millstream_base::id::Id;
use millstream_base::lane::Lane;
use millstream_base::mask::Mask;

use super::plan::Plan;
use super::storage::{LaneSlice, LaneSliceMut};
use super::{LaneInput, LaneOutput};
use crate::Form;
use crate::lane_value::LaneValue;
use crate::scalar::step;
use millstream_base::map::Map;

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

/// The bits of a parameter of this lane for element `i`.
///
/// # Panics
/// If the input has another lane, or is too short.
pub(super) fn input_bits(input: &LaneInput<'_>, lane: Lane, i: usize) -> u64 {
    match *input {
        LaneInput::Lanes { lanes, offset, stride, map } => {
            let stored = match map {
                Map::Each => i,
                Map::Single => 0,
                Map::Tile(n) => i % n,
                Map::Stretch(n) => i / n,
                Map::Table(table) => table[i] as usize,
            };
            assert_eq!(lanes.lane(), lane, "storage has its register's lane");
            let place = stored * stride + offset;
            match lanes {
                LaneSlice::Bool(lanes) => lanes[place].to_bits(),
                LaneSlice::I32(lanes) => lanes[place].to_bits(),
                LaneSlice::I64(lanes) => lanes[place].to_bits(),
                LaneSlice::F32(lanes) => LaneValue::to_bits(lanes[place]),
                LaneSlice::F64(lanes) => LaneValue::to_bits(lanes[place]),
            }
        }
        LaneInput::Range { start, step } => {
            assert!(lane.is_integer(), "a range is given for an integer parameter");
            let value = start.wrapping_add(step.wrapping_mul(i as i64));
            match lane {
                Lane::I32 => (value as i32).to_bits(),
                Lane::Bool | Lane::I64 | Lane::F32 | Lane::F64 => value.to_bits(),
            }
        }
    }
}

fn write_bits(lanes: &mut LaneSliceMut<'_>, place: usize, bits: u64) {
    match lanes {
        LaneSliceMut::Bool(lanes) => lanes[place] = LaneValue::from_bits(bits),
        LaneSliceMut::I32(lanes) => lanes[place] = LaneValue::from_bits(bits),
        LaneSliceMut::I64(lanes) => lanes[place] = LaneValue::from_bits(bits),
        LaneSliceMut::F32(lanes) => lanes[place] = LaneValue::from_bits(bits),
        LaneSliceMut::F64(lanes) => lanes[place] = LaneValue::from_bits(bits),
    }
}
