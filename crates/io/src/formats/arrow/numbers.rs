//! Numbers in arrays of all numeric types.
//!
//! Times and durations become seconds (dates without a time become days), decimals are rounded to
//! `f64`.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, BooleanArray, Decimal128Array, Float16Array};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{DataType, TimeUnit};
use millstream_base::Lane;

use crate::scalar::{Misfit, Scalar};

/// The numbers of an array.
#[derive(Debug)]
pub(super) enum Numbers<'a> {
    Null,
    Bool(&'a BooleanArray),
    I8(&'a [i8]),
    I16(&'a [i16]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
    U64(&'a [u64]),
    F16(&'a Float16Array),
    F32(&'a [f32]),
    F64(&'a [f64]),
    Decimal(&'a Decimal128Array),
    /// Counts, with the number of counts per second.
    Ticks(ScalarBuffer<i64>, f64),
}

fn per_second(unit: TimeUnit) -> f64 {
    match unit {
        TimeUnit::Second => 1.0,
        TimeUnit::Millisecond => 1e3,
        TimeUnit::Microsecond => 1e6,
        TimeUnit::Nanosecond => 1e9,
    }
}

/// The counts of an array of times or durations, whatever their unit.
fn ticks(array: &dyn Array) -> ScalarBuffer<i64> {
    let data = array.to_data();
    ScalarBuffer::new(data.buffers()[0].clone(), data.offset(), data.len())
}

impl<'a> Numbers<'a> {
    /// The narrowest lane for numbers of this type; `None` if it holds something else.
    pub(super) fn lane(data_type: &DataType) -> Option<Lane> {
        Some(match data_type {
            DataType::Boolean => Lane::Bool,
            DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::UInt8
            | DataType::UInt16
            | DataType::Date32 => Lane::I32,
            DataType::Int64 | DataType::UInt32 | DataType::UInt64 => Lane::I64,
            DataType::Float16 | DataType::Float32 => Lane::F32,
            DataType::Float64
            | DataType::Null
            | DataType::Decimal128(..)
            | DataType::Date64
            | DataType::Timestamp(..)
            | DataType::Duration(_) => Lane::F64,
            _ => return None,
        })
    }

    /// The numbers of this array, if it is numeric.
    pub(super) fn of(array: &'a dyn Array) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Bool(array.as_boolean()),
            DataType::Int8 => Self::I8(array.as_primitive::<Int8Type>().values()),
            DataType::Int16 => Self::I16(array.as_primitive::<Int16Type>().values()),
            DataType::Int32 => Self::I32(array.as_primitive::<Int32Type>().values()),
            DataType::Date32 => Self::I32(array.as_primitive::<Date32Type>().values()),
            DataType::Int64 => Self::I64(array.as_primitive::<Int64Type>().values()),
            DataType::UInt8 => Self::U8(array.as_primitive::<UInt8Type>().values()),
            DataType::UInt16 => Self::U16(array.as_primitive::<UInt16Type>().values()),
            DataType::UInt32 => Self::U32(array.as_primitive::<UInt32Type>().values()),
            DataType::UInt64 => Self::U64(array.as_primitive::<UInt64Type>().values()),
            DataType::Float16 => Self::F16(array.as_primitive::<Float16Type>()),
            DataType::Float32 => Self::F32(array.as_primitive::<Float32Type>().values()),
            DataType::Float64 => Self::F64(array.as_primitive::<Float64Type>().values()),
            DataType::Decimal128(..) => Self::Decimal(array.as_primitive::<Decimal128Type>()),
            DataType::Date64 => Self::Ticks(ticks(array), 1e3),
            DataType::Timestamp(unit, _) | DataType::Duration(unit) => {
                Self::Ticks(ticks(array), per_second(*unit))
            }
            _ => return None,
        })
    }

    pub(super) fn as_f32(&self) -> Option<&'a [f32]> {
        match self {
            Self::F32(values) => Some(values),
            _ => None,
        }
    }

    pub(super) fn as_f64(&self) -> Option<&'a [f64]> {
        match self {
            Self::F64(values) => Some(values),
            _ => None,
        }
    }

    /// Number `i`, which is not null.
    pub(super) fn get(&self, i: usize) -> Result<Scalar, Misfit> {
        Ok(match self {
            // Every entry of such an array is null.
            Self::Null => Scalar::F64(f64::NAN),
            Self::Bool(values) => Scalar::Bool(values.value(i)),
            Self::I8(values) => Scalar::Int(i64::from(values[i])),
            Self::I16(values) => Scalar::Int(i64::from(values[i])),
            Self::I32(values) => Scalar::Int(i64::from(values[i])),
            Self::I64(values) => Scalar::Int(values[i]),
            Self::U8(values) => Scalar::Int(i64::from(values[i])),
            Self::U16(values) => Scalar::Int(i64::from(values[i])),
            Self::U32(values) => Scalar::Int(i64::from(values[i])),
            Self::U64(values) => {
                i64::try_from(values[i]).map_or(Scalar::Big(values[i]), Scalar::Int)
            }
            Self::F16(values) => Scalar::F32(values.value(i).to_f32()),
            Self::F32(values) => Scalar::F32(values[i]),
            Self::F64(values) => Scalar::F64(values[i]),
            Self::Decimal(values) => {
                // The string is parsed with a single rounding.
                let text = values.value_as_string(i);
                Scalar::F64(text.parse().map_err(|_| Misfit::Range)?)
            }
            Self::Ticks(counts, per_second) => Scalar::F64(counts[i] as f64 / per_second),
        })
    }
}
