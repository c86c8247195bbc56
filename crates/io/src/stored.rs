//! Numbers as bytes of a file: of any width, in both byte orders.

use millstream_base::Lane;

use crate::scalar::Scalar;

/// The storage of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
}

impl Stored {
    /// The storage in which lanes are written.
    pub(crate) fn of_lane(lane: Lane) -> Self {
        match lane {
            Lane::Bool => Self::Bool,
            Lane::I32 => Self::I32,
            Lane::I64 => Self::I64,
            Lane::F32 => Self::F32,
            Lane::F64 => Self::F64,
        }
    }

    /// The narrowest lane that holds all values; for `u64`, those below 2^63.
    pub(crate) fn lane(self) -> Lane {
        match self {
            Self::Bool => Lane::Bool,
            Self::I8 | Self::I16 | Self::I32 | Self::U8 | Self::U16 => Lane::I32,
            Self::I64 | Self::U32 | Self::U64 => Lane::I64,
            Self::F16 | Self::F32 => Lane::F32,
            Self::F64 => Lane::F64,
        }
    }

    /// The minimum and maximum integer, as far as an `i64` holds them; `None` for floats.
    pub(crate) fn range(self) -> Option<(i64, i64)> {
        Some(match self {
            Self::Bool => (0, 1),
            Self::I8 => (i8::MIN.into(), i8::MAX.into()),
            Self::I16 => (i16::MIN.into(), i16::MAX.into()),
            Self::I32 => (i32::MIN.into(), i32::MAX.into()),
            Self::I64 => (i64::MIN, i64::MAX),
            Self::U8 => (0, u8::MAX.into()),
            Self::U16 => (0, u16::MAX.into()),
            Self::U32 => (0, u32::MAX.into()),
            Self::U64 => (0, i64::MAX),
            Self::F16 | Self::F32 | Self::F64 => return None,
        })
    }

    /// Bytes of one number.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// The number at the start of `bytes`, which must be at least as long as its size.
    #[inline]
    pub(crate) fn scalar(self, bytes: &[u8], is_big_endian: bool) -> Scalar {
        macro_rules! number {
            ($ty:ty) => {{
                let bytes = *bytes.first_chunk().expect("there are as many bytes as its size");
                if is_big_endian {
                    <$ty>::from_be_bytes(bytes)
                } else {
                    <$ty>::from_le_bytes(bytes)
                }
            }};
        }
        match self {
            Self::Bool => Scalar::Bool(bytes[0] != 0),
            Self::I8 => Scalar::Int(number!(i8).into()),
            Self::I16 => Scalar::Int(number!(i16).into()),
            Self::I32 => Scalar::Int(number!(i32).into()),
            Self::I64 => Scalar::Int(number!(i64)),
            Self::U8 => Scalar::Int(number!(u8).into()),
            Self::U16 => Scalar::Int(number!(u16).into()),
            Self::U32 => Scalar::Int(number!(u32).into()),
            Self::U64 => {
                let x = number!(u64);
                i64::try_from(x).map_or(Scalar::Big(x), Scalar::Int)
            }
            Self::F16 => Scalar::F32(half(number!(u16))),
            Self::F32 => Scalar::F32(number!(f32)),
            Self::F64 => Scalar::F64(number!(f64)),
        }
    }
}

/// The number with these 16 bits: sign, 5 bits of exponent, 10 bits of mantissa.
fn half(bits: u16) -> f32 {
    let (digits, exponent) = (f32::from(bits & 0x3ff), i32::from(bits >> 10 & 0x1f));
    let magnitude = match exponent {
        0 => digits * 2_f32.powi(-24),
        31 if digits == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (digits + 1024.0) * 2_f32.powi(exponent - 25),
    };
    if bits >> 15 == 0 { magnitude } else { -magnitude }
}
