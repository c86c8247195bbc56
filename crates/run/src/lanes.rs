//! Columns and values as the lanes that kernel forms take.

use millstream_base::derived::{Channel, Derivation};
use millstream_base::map::Map;
use millstream_base::{Color, Column, Mat4, Quat, Type, Value, ValueType, Vec2, Vec3, Vec4};
use millstream_form::{LaneInput, LaneSlice, LaneSliceMut};
use smallvec::SmallVec;

/// The lanes of a column and the number of lanes per element.
///
/// # Panics
/// If the elements are not made of lanes; operands of a form are.
pub(crate) fn lane_slice(column: &Column) -> (LaneSlice<'_>, usize) {
    let width = column.ty().lanes().map_or(0, |(_, n)| n as usize);
    if let Some(lanes) = column.as_f32_lanes() {
        return (LaneSlice::F32(lanes), width);
    }
    let lanes = column
        .as_slice::<i32>()
        .map(LaneSlice::I32)
        .or_else(|| column.as_slice::<bool>().map(LaneSlice::Bool))
        .or_else(|| column.as_slice::<f64>().map(LaneSlice::F64))
        .or_else(|| column.as_slice::<i64>().map(LaneSlice::I64));
    (lanes.expect("operands of a form are made of lanes"), width)
}

/// Appends the inputs of a form for an operand: a parameter for each lane of its type. Derived
/// columns are read without a copy.
///
/// # Panics
/// If the elements are not made of lanes; operands of a form are.
pub(crate) fn push_inputs<'a>(
    inputs: &mut impl Extend<LaneInput<'a>>,
    column: &'a Column,
    map: Map<'a>,
) {
    match column.derivation() {
        Some(Derivation::Range(range)) if map == Map::Each => {
            inputs.extend([LaneInput::Range { start: i64::from(range.start), step: 1 }]);
        }
        Some(Derivation::Color(channels)) => {
            inputs.extend(channels.iter().map(|channel| match channel {
                Channel::Same(x) => LaneInput::single(std::slice::from_ref(x)),
                Channel::Lane(column, offset) => {
                    let (lanes, stride) = lane_slice(column);
                    LaneInput::Lanes { lanes, offset: *offset, stride, map }
                }
            }));
        }
        Some(Derivation::Range(_)) | None => {
            let (lanes, stride) = lane_slice(column);
            inputs.extend((0..stride).map(|offset| LaneInput::Lanes {
                lanes,
                offset,
                stride,
                map,
            }));
        }
    }
}

/// The lanes of a column for writing; copies a shared buffer.
///
/// # Panics
/// If the elements are not made of lanes; outputs of a form are.
pub(crate) fn lane_slice_mut(column: &mut Column) -> LaneSliceMut<'_> {
    let ty = column.ty();
    macro_rules! scalars {
        ($($rust:ty => $lane:ident),*) => {$(
            if ty == <$rust>::ty() {
                let buffer = column.make_mut::<$rust>().expect("the type was just compared");
                return LaneSliceMut::$lane(buffer);
            }
        )*};
    }
    macro_rules! vectors {
        ($($rust:ty),*) => {$(
            if ty == <$rust>::ty() {
                let buffer = column.make_mut::<$rust>().expect("the type was just compared");
                return LaneSliceMut::F32(bytemuck::cast_slice_mut(buffer));
            }
        )*};
    }
    scalars!(f32 => F32, i32 => I32, bool => Bool, f64 => F64, i64 => I64);
    vectors!(Vec3, Vec2, Vec4, Color, Quat, Mat4);
    panic!("outputs of a form are made of lanes, not {}", Type::name(ty))
}

/// The same lanes for a shorter time.
pub(crate) fn reborrow<'a>(lanes: &'a mut LaneSliceMut<'_>) -> LaneSliceMut<'a> {
    match lanes {
        LaneSliceMut::Bool(lanes) => LaneSliceMut::Bool(lanes),
        LaneSliceMut::I32(lanes) => LaneSliceMut::I32(lanes),
        LaneSliceMut::I64(lanes) => LaneSliceMut::I64(lanes),
        LaneSliceMut::F32(lanes) => LaneSliceMut::F32(lanes),
        LaneSliceMut::F64(lanes) => LaneSliceMut::F64(lanes),
    }
}

/// Appends the bits of a value's lanes.
#[inline]
pub(crate) fn push_lanes(value: &Value, lanes: &mut SmallVec<[u64; 16]>) {
    match value {
        Value::F32(x) => lanes.push(u64::from(x.to_bits())),
        Value::F64(x) => lanes.push(x.to_bits()),
        Value::I32(x) => lanes.push(u64::from(*x as u32)),
        Value::Bool(_)
        | Value::I64(_)
        | Value::Vec2(_)
        | Value::Vec3(_)
        | Value::Vec4(_)
        | Value::Quat(_)
        | Value::Color(_)
        | Value::Mat4(_)
        | Value::String(_)
        | Value::List(_)
        | Value::Opaque(_) => lanes.extend((0..).map_while(|i| value.lane(i))),
    }
}
