//! Converting numbers from a file to the lanes of a column.
//!
//! A number takes the lane's type if that is lossless: integers widen, floats narrow by rounding, a
//! float becomes an integer only if it has no fraction, and `true` counts as 1. A number that does
//! not fit is refused, never clamped.

use std::fmt::{self, Write as _};

use millstream_base::{Lane, Type};

use crate::error::{IoError, Spot, quoted};

/// A number as stored in a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scalar {
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// An integer beyond the range of `i64`.
    Big(u64),
    /// A binary32.
    F32(f32),
    /// A binary64.
    F64(f64),
}

/// Why a number does not fit a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// It is something else.
    Shape,
    /// It is too large.
    Range,
}

impl Scalar {
    /// The number as the bits of a lane, in the encoding of `Value::lane`.
    pub(crate) fn to_bits(self, lane: Lane) -> Result<u64, Misfit> {
        match lane {
            Lane::Bool => match self.integer()? {
                0 => Ok(0),
                1 => Ok(1),
                _ => Err(Misfit::Shape),
            },
            Lane::I32 => {
                let x = i32::try_from(self.integer()?).map_err(|_| Misfit::Range)?;
                Ok(u64::from(x as u32))
            }
            Lane::I64 => self.integer().map(|x| x as u64),
            Lane::F32 => self.single().map(|x| u64::from(x.to_bits())),
            Lane::F64 => Ok(self.double().to_bits()),
        }
    }

    fn integer(self) -> Result<i64, Misfit> {
        match self {
            Self::Bool(x) => Ok(i64::from(x)),
            Self::Int(x) => Ok(x),
            Self::Big(_) => Err(Misfit::Range),
            Self::F32(x) => integer(f64::from(x)),
            Self::F64(x) => integer(x),
        }
    }

    fn single(self) -> Result<f32, Misfit> {
        match self {
            Self::Bool(x) => Ok(f32::from(u8::from(x))),
            Self::Int(x) => Ok(x as f32),
            Self::Big(x) => Ok(x as f32),
            Self::F32(x) => Ok(x),
            Self::F64(x) if x.is_finite() && !(x as f32).is_finite() => Err(Misfit::Range),
            Self::F64(x) => Ok(x as f32),
        }
    }

    fn double(self) -> f64 {
        match self {
            Self::Bool(x) => f64::from(u8::from(x)),
            Self::Int(x) => x as f64,
            Self::Big(x) => x as f64,
            Self::F32(x) => f64::from(x),
            Self::F64(x) => x,
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(x) => write!(f, "{x}"),
            Self::Int(x) => write!(f, "{x}"),
            Self::Big(x) => write!(f, "{x}"),
            Self::F32(x) => write!(f, "{x:?}"),
            Self::F64(x) => write!(f, "{x:?}"),
        }
    }
}

impl Misfit {
    /// The error for a value found where a number of this lane is needed.
    pub(crate) fn error(self, spot: Spot, lane: Lane, found: String) -> IoError {
        let ty = Type::of_lane(lane);
        match self {
            Self::Shape => IoError::not_of_type(spot, ty, found),
            Self::Range => IoError::OutOfRange { spot, ty, found },
        }
    }
}

/// The lane of a missing number; `None` for lane types without one.
pub(crate) fn missing_lane(lane: Lane) -> Option<u64> {
    match lane {
        Lane::F32 => Some(u64::from(f32::NAN.to_bits())),
        Lane::F64 => Some(f64::NAN.to_bits()),
        Lane::Bool | Lane::I32 | Lane::I64 => None,
    }
}

fn integer(x: f64) -> Result<i64, Misfit> {
    if !x.is_finite() || x.fract() != 0.0 {
        return Err(Misfit::Shape);
    }
    // 2^53 limits the integers that a float holds exactly.
    if x.abs() > 9_007_199_254_740_992.0 { Err(Misfit::Range) } else { Ok(x as i64) }
}

/// A word as the bits of a lane: decimal numbers, `nan`, `inf`, `-inf`, `true` and `false`.
///
/// A binary32 is rounded once, from the decimal digits.
pub(crate) fn parse_lane(text: &str, lane: Lane) -> Result<u64, Misfit> {
    if let Some(truth) = parse_bool(text) {
        return Scalar::Bool(truth).to_bits(lane);
    }
    match lane {
        Lane::F32 => {
            let x: f32 = text.parse().map_err(|_| Misfit::Shape)?;
            if x.is_infinite() && has_digit(text) {
                return Err(Misfit::Range);
            }
            Ok(u64::from(x.to_bits()))
        }
        Lane::F64 => parse_f64(text).map(f64::to_bits),
        Lane::Bool | Lane::I32 | Lane::I64 => match text.parse::<i64>() {
            Ok(x) => Scalar::Int(x).to_bits(lane),
            Err(error) if is_overflow(&error) => Err(Misfit::Range),
            Err(_) => Scalar::F64(parse_f64(text)?).to_bits(lane),
        },
    }
}

/// Like [`parse_lane`], with an error that gives the position.
pub(crate) fn read_lane(
    text: &str,
    lane: Lane,
    spot: impl FnOnce() -> Spot,
) -> Result<u64, IoError> {
    parse_lane(text, lane).map_err(|misfit| misfit.error(spot(), lane, quoted(text)))
}

/// Parses `true` or `false`, also capitalized or in capitals.
pub(crate) fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// Parses a decimal number, `nan`, `inf` or `-inf`; a number that rounds to infinity does not fit.
pub(crate) fn parse_f64(text: &str) -> Result<f64, Misfit> {
    let x: f64 = text.parse().map_err(|_| Misfit::Shape)?;
    if x.is_infinite() && has_digit(text) { Err(Misfit::Range) } else { Ok(x) }
}

/// Appends the lane with these bits as the shortest word that reads back to the same bits.
pub(crate) fn print_lane(bits: u64, lane: Lane, out: &mut String) {
    let written = match lane {
        Lane::Bool => write!(out, "{}", bits != 0),
        Lane::I32 => write!(out, "{}", bits as u32 as i32),
        Lane::I64 => write!(out, "{}", bits as i64),
        Lane::F32 => {
            let x = f32::from_bits(bits as u32);
            if x.is_nan() { out.write_str("nan") } else { write!(out, "{x:?}") }
        }
        Lane::F64 => {
            let x = f64::from_bits(bits);
            if x.is_nan() { out.write_str("nan") } else { write!(out, "{x:?}") }
        }
    };
    written.expect("writing to a string cannot fail");
}

fn has_digit(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}

fn is_overflow(error: &std::num::ParseIntError) -> bool {
    use std::num::IntErrorKind;
    matches!(error.kind(), IntErrorKind::PosOverflow | IntErrorKind::NegOverflow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_float_becomes_an_integer_only_if_whole() {
        assert_eq!(Scalar::F64(-3.0).to_bits(Lane::I32), Ok(u64::from(-3_i32 as u32)));
        assert_eq!(Scalar::F64(0.5).to_bits(Lane::I32), Err(Misfit::Shape));
        assert_eq!(Scalar::F64(f64::NAN).to_bits(Lane::I64), Err(Misfit::Shape));
        assert_eq!(Scalar::F64(3e9).to_bits(Lane::I32), Err(Misfit::Range));
    }

    #[test]
    fn overflow_to_infinity_is_refused() {
        assert_eq!(Scalar::F64(1e300).to_bits(Lane::F32), Err(Misfit::Range));
        assert_eq!(parse_lane("1e39", Lane::F32), Err(Misfit::Range));
        assert_eq!(parse_lane("1e999", Lane::F64), Err(Misfit::Range));
        assert_eq!(parse_lane("-inf", Lane::F32), Ok(u64::from(f32::NEG_INFINITY.to_bits())));
        assert_eq!(parse_lane("99999999999999999999", Lane::I64), Err(Misfit::Range));
    }

    #[test]
    fn true_counts_as_one_and_only_zero_and_one_are_booleans() {
        assert_eq!(parse_lane("true", Lane::F64), Ok(1.0_f64.to_bits()));
        assert_eq!(parse_lane("0", Lane::Bool), Ok(0));
        assert_eq!(parse_lane("2", Lane::Bool), Err(Misfit::Shape));
    }

    #[test]
    fn a_binary32_is_rounded_once() {
        // Just above the midpoint of two binary32 numbers; an intermediate binary64 would lose
        // that.
        let text = "1.00000005960464477539062500000000000000001";
        assert_eq!(parse_lane(text, Lane::F32), Ok(u64::from(1.000_000_1_f32.to_bits())));
    }
}
