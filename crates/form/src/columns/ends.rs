//! Where a call over columns reads parameters and writes results.

use millstream_base::lane::Lane;
use millstream_base::map::Map;

use crate::lane_value::LaneValue;
use crate::storage::{LaneSlice, LaneSliceMut};

/// Where the values of a parameter come from.
#[derive(Clone, Copy, Debug)]
pub enum LaneInput<'a> {
    /// Element `i` is `lanes[map(i) * stride + offset]`.
    Lanes {
        /// The stored lanes.
        lanes: LaneSlice<'a>,
        /// Place within a stored value: 1 for the y of a vector.
        offset: usize,
        /// Lanes in a stored value: 3 for a `vec3`.
        stride: usize,
        /// Which stored value an element has.
        map: Map<'a>,
    },
    /// Element `i` is `start + i * step`, wrapping; for integer lanes.
    Range {
        /// The value of element 0.
        start: i64,
        /// The difference of neighbors.
        step: i64,
    },
}

impl<'a> LaneInput<'a> {
    /// One value for each element, without gaps.
    pub fn each(lanes: impl Into<LaneSlice<'a>>) -> Self {
        Self::Lanes { lanes: lanes.into(), offset: 0, stride: 1, map: Map::Each }
    }

    /// One value, the first of `lanes`, for all elements.
    pub fn single(lanes: impl Into<LaneSlice<'a>>) -> Self {
        Self::Lanes { lanes: lanes.into(), offset: 0, stride: 1, map: Map::Single }
    }
}

/// Where results go: result `first + j` of element `i`, for `j` below `width`, is written to
/// `lanes[i * stride + offset + j]`.
#[derive(Debug)]
pub struct LaneOutput<'a> {
    /// Where to write.
    pub lanes: LaneSliceMut<'a>,
    /// Number of the form's result that goes first.
    pub first: usize,
    /// Number of results, all of the lane of `lanes`.
    pub width: usize,
    /// Place of the first result within a stored value.
    pub offset: usize,
    /// Lanes in a stored value.
    pub stride: usize,
}

impl<'a> LaneOutput<'a> {
    /// Result number `result`, one for each element, without gaps.
    pub fn each(result: usize, lanes: impl Into<LaneSliceMut<'a>>) -> Self {
        Self::vector(result, 1, lanes)
    }

    /// Results `first..first + width`, interleaved without gaps.
    pub fn vector(first: usize, width: usize, lanes: impl Into<LaneSliceMut<'a>>) -> Self {
        Self { lanes: lanes.into(), first, width, offset: 0, stride: width }
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

/// Writes the bits of a value.
pub(super) fn write_bits(lanes: &mut LaneSliceMut<'_>, place: usize, bits: u64) {
    match lanes {
        LaneSliceMut::Bool(lanes) => lanes[place] = LaneValue::from_bits(bits),
        LaneSliceMut::I32(lanes) => lanes[place] = LaneValue::from_bits(bits),
        LaneSliceMut::I64(lanes) => lanes[place] = LaneValue::from_bits(bits),
        LaneSliceMut::F32(lanes) => lanes[place] = LaneValue::from_bits(bits),
        LaneSliceMut::F64(lanes) => lanes[place] = LaneValue::from_bits(bits),
    }
}
