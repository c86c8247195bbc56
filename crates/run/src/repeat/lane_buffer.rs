//! Lanes of the elements of one block, contiguous.

use millstream_base::Lane;
use millstream_base::map::Map;
use millstream_form::{LaneSlice, LaneSliceMut, LaneValue};

use super::near::is_lane_near;

/// One lane of many elements.
#[derive(Clone, Debug)]
pub(super) enum LaneBuffer {
    Bool(Vec<bool>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

macro_rules! each {
    ($buffer:expr, $lanes:ident => $do:expr) => {
        match $buffer {
            LaneBuffer::Bool($lanes) => $do,
            LaneBuffer::I32($lanes) => $do,
            LaneBuffer::I64($lanes) => $do,
            LaneBuffer::F32($lanes) => $do,
            LaneBuffer::F64($lanes) => $do,
        }
    };
}

/// One lane of a column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored<'a> {
    pub(super) lanes: LaneSlice<'a>,
    pub(super) offset: usize,
    pub(super) stride: usize,
    pub(super) map: Map<'a>,
}

impl LaneBuffer {
    pub(super) fn new(lane: Lane) -> Self {
        match lane {
            Lane::Bool => Self::Bool(Vec::new()),
            Lane::I32 => Self::I32(Vec::new()),
            Lane::I64 => Self::I64(Vec::new()),
            Lane::F32 => Self::F32(Vec::new()),
            Lane::F64 => Self::F64(Vec::new()),
        }
    }

    /// Makes it `n` long, with arbitrary content.
    pub(super) fn resize(&mut self, n: usize) {
        each!(self, lanes => lanes.resize(n, Default::default()));
    }

    /// Fills it with `n` copies of the lane with these bits.
    pub(super) fn fill(&mut self, bits: u64, n: usize) {
        macro_rules! fill {
            ($lanes:ident) => {{
                $lanes.clear();
                $lanes.resize(n, LaneValue::from_bits(bits));
            }};
        }
        each!(self, lanes => fill!(lanes));
    }

    /// Takes the lanes of these elements.
    pub(super) fn gather(&mut self, stored: &Stored<'_>, elements: &[u32]) {
        let Stored { lanes, offset, stride, map } = *stored;
        macro_rules! gather {
            ($buffer:ident, $from:ident) => {{
                $buffer.clear();
                let at = |i: &u32| $from[map.entry(*i as usize) * stride + offset];
                $buffer.extend(elements.iter().map(at));
            }};
        }
        match (self, lanes) {
            (Self::Bool(buffer), LaneSlice::Bool(from)) => gather!(buffer, from),
            (Self::I32(buffer), LaneSlice::I32(from)) => gather!(buffer, from),
            (Self::I64(buffer), LaneSlice::I64(from)) => gather!(buffer, from),
            (Self::F32(buffer), LaneSlice::F32(from)) => gather!(buffer, from),
            (Self::F64(buffer), LaneSlice::F64(from)) => gather!(buffer, from),
            _ => panic!("a buffer has the lane of what it takes"),
        }
    }

    /// Keeps the lanes at these positions, which ascend.
    pub(super) fn keep(&mut self, positions: &[u32]) {
        each!(self, lanes => {
            for (to, from) in positions.iter().enumerate() {
                lanes[to] = lanes[*from as usize];
            }
            lanes.truncate(positions.len());
        });
    }

    /// Writes the lanes at these positions to those of the elements there.
    pub(super) fn scatter(
        &self,
        positions: &[u32],
        element: impl Fn(u32) -> usize,
        to: &mut LaneSliceMut<'_>,
        (offset, stride): (usize, usize),
    ) {
        macro_rules! scatter {
            ($lanes:ident, $to:ident) => {
                for i in positions {
                    $to[element(*i) * stride + offset] = $lanes[*i as usize];
                }
            };
        }
        match (self, to) {
            (Self::Bool(lanes), LaneSliceMut::Bool(to)) => scatter!(lanes, to),
            (Self::I32(lanes), LaneSliceMut::I32(to)) => scatter!(lanes, to),
            (Self::I64(lanes), LaneSliceMut::I64(to)) => scatter!(lanes, to),
            (Self::F32(lanes), LaneSliceMut::F32(to)) => scatter!(lanes, to),
            (Self::F64(lanes), LaneSliceMut::F64(to)) => scatter!(lanes, to),
            _ => panic!("an output has the lane of its buffer"),
        }
    }

    /// Clears the marks of elements whose lane differs from that in the other buffer by more than a
    /// tolerance. With tolerance 0 all NaNs are one value, but the two zeros differ.
    pub(super) fn unmark_changed(&self, other: &Self, marks: &mut [bool], tolerance: f64) {
        if tolerance > 0.0 {
            macro_rules! unmark_far {
                ($a:ident, $b:ident, $lane:ident) => {
                    for ((a, b), mark) in $a.iter().zip($b).zip(marks) {
                        let (a, b) = (LaneValue::to_bits(*a), LaneValue::to_bits(*b));
                        *mark &= is_lane_near(Lane::$lane, a, b, tolerance);
                    }
                };
            }
            match (self, other) {
                (Self::Bool(a), Self::Bool(b)) => unmark_far!(a, b, Bool),
                (Self::I32(a), Self::I32(b)) => unmark_far!(a, b, I32),
                (Self::I64(a), Self::I64(b)) => unmark_far!(a, b, I64),
                (Self::F32(a), Self::F32(b)) => unmark_far!(a, b, F32),
                (Self::F64(a), Self::F64(b)) => unmark_far!(a, b, F64),
                _ => panic!("a carried value keeps its lane"),
            }
            return;
        }
        macro_rules! unmark {
            ($a:ident, $b:ident, $same:expr) => {
                for ((a, b), mark) in $a.iter().zip($b).zip(marks) {
                    *mark &= $same(*a, *b);
                }
            };
        }
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => unmark!(a, b, |a: bool, b: bool| a == b),
            (Self::I32(a), Self::I32(b)) => unmark!(a, b, |a: i32, b: i32| a == b),
            (Self::I64(a), Self::I64(b)) => unmark!(a, b, |a: i64, b: i64| a == b),
            (Self::F32(a), Self::F32(b)) => {
                unmark!(a, b, |a: f32, b: f32| a.to_bits() == b.to_bits()
                    || a.is_nan() & b.is_nan());
            }
            (Self::F64(a), Self::F64(b)) => {
                unmark!(a, b, |a: f64, b: f64| a.to_bits() == b.to_bits()
                    || a.is_nan() & b.is_nan());
            }
            _ => panic!("a carried value keeps its lane"),
        }
    }

    pub(super) fn as_bools(&self) -> &[bool] {
        match self {
            Self::Bool(lanes) => lanes,
            Self::I32(_) | Self::I64(_) | Self::F32(_) | Self::F64(_) => {
                panic!("the output that says whether to continue is a bool")
            }
        }
    }

    pub(super) fn as_slice(&self) -> LaneSlice<'_> {
        match self {
            Self::Bool(lanes) => LaneSlice::Bool(lanes),
            Self::I32(lanes) => LaneSlice::I32(lanes),
            Self::I64(lanes) => LaneSlice::I64(lanes),
            Self::F32(lanes) => LaneSlice::F32(lanes),
            Self::F64(lanes) => LaneSlice::F64(lanes),
        }
    }

    pub(super) fn as_slice_mut(&mut self) -> LaneSliceMut<'_> {
        match self {
            Self::Bool(lanes) => LaneSliceMut::Bool(lanes),
            Self::I32(lanes) => LaneSliceMut::I32(lanes),
            Self::I64(lanes) => LaneSliceMut::I64(lanes),
            Self::F32(lanes) => LaneSliceMut::F32(lanes),
            Self::F64(lanes) => LaneSliceMut::F64(lanes),
        }
    }
}
