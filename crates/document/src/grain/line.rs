//! Comparisons of a source with a number, as ranges of the values of the source.

use std::cmp::Ordering;
use std::ops::RangeInclusive;

use millstream_base::{Type, Value, literal};
use serde_json::Value as Json;

use super::above::integers;

/// The value of a float variable that is NaN.
const NAN: i64 = i64::MAX;

/// What computes a comparison.
#[derive(Clone, Copy, Debug)]
pub(super) enum Computing {
    InFormula,
    /// A node type that a formula calls.
    InCall,
    ByNode,
}

/// The values of a source, and those that are less than a number, equal to it, greater, and
/// unordered.
pub(super) struct Line {
    pub(super) values: RangeInclusive<i64>,
    pub(super) ranges: [Option<RangeInclusive<i64>>; 4],
}

/// A number in the type in which it is compared.
#[derive(Clone, Copy)]
enum Limit {
    Integer(i64),
    Single(f32),
    Double(f64),
}

impl Line {
    /// A source of a type beside a number, and the integer as which it is written; `None` for types
    /// without order, and for numbers that such sources are not compared with.
    pub(super) fn of(ty: Type, number: (f64, Option<i64>), computing: Computing) -> Option<Self> {
        let is_integer = ty == Type::I32 || ty == Type::I64;
        if !is_integer && ty != Type::F32 && ty != Type::F64 {
            return None;
        }
        let limit = match computing {
            Computing::InFormula => Limit::in_formula(ty, number),
            Computing::InCall => Limit::in_call(ty, number)?,
            Computing::ByNode => Limit::by_node(ty, number)?,
        };
        let values = if is_integer { integers(ty) } else { place_of(f64::NEG_INFINITY)..=NAN };
        let [first, end] = [*values.start(), *values.end()].map(i128::from);
        let last = if is_integer { end } else { place_of(f64::INFINITY).into() };
        let float = match limit {
            Limit::Integer(_) => None,
            Limit::Single(x) => Some(f64::from(x)),
            Limit::Double(x) => Some(x),
        };
        // The last values that are less, that are not greater, and that are not unordered.
        let [less, equal, greater] = match float {
            Some(x) if x.is_nan() => [first - 1; 3],
            Some(x) if !is_integer => {
                let place = i128::from(place_of(x));
                [place - 1, place, last]
            }
            Some(_) | None => {
                let up_to = |most| last_of(&values, &|n| limit.of(n) <= Some(most));
                [up_to(Ordering::Less), up_to(Ordering::Equal), last]
            }
        };
        let ranges = [(first, less), (less + 1, equal), (equal + 1, greater), (greater + 1, end)];
        let range = |(low, high): (i128, i128)| (low <= high).then_some(low as i64..=high as i64);
        Some(Self { values, ranges: ranges.map(range) })
    }
}

impl Limit {
    /// In formulas, the numbers that are compared have the narrowest type that fits both.
    fn in_formula(ty: Type, (x, whole): (f64, Option<i64>)) -> Self {
        let is_wide = whole.is_none() && x.is_finite() && !(x as f32).is_finite();
        let is_double = is_wide || ty == Type::I64 || ty == Type::F64;
        match whole {
            Some(whole) if ty == Type::I32 || ty == Type::I64 => Self::Integer(whole),
            Some(_) | None if is_double => Self::Double(x),
            Some(_) | None => Self::Single(x as f32),
        }
    }

    /// Node types that are called compare in the type of the source.
    fn in_call(ty: Type, (x, whole): (f64, Option<i64>)) -> Option<Self> {
        if ty == Type::I32 || ty == Type::I64 {
            return whole.map(Self::Integer);
        }
        Some(if ty == Type::F32 { Self::Single(x as f32) } else { Self::Double(x) })
    }

    /// As for called ones, but the number is read as that type.
    fn by_node(ty: Type, (x, whole): (f64, Option<i64>)) -> Option<Self> {
        let json = whole.map_or_else(|| Json::from(x), Json::from);
        match literal::from_json(ty, &json).ok()? {
            Value::I32(n) => Some(Self::Integer(n.into())),
            Value::I64(n) => Some(Self::Integer(n)),
            Value::F32(x) => Some(Self::Single(x)),
            Value::F64(x) => Some(Self::Double(x)),
            _ => None,
        }
    }

    /// How an integer compares with it.
    fn of(self, n: i64) -> Option<Ordering> {
        match self {
            Self::Integer(limit) => Some(n.cmp(&limit)),
            Self::Single(limit) => (n as f32).partial_cmp(&limit),
            Self::Double(limit) => (n as f64).partial_cmp(&limit),
        }
    }
}

/// The last value for which something holds that holds up to some value.
fn last_of(values: &RangeInclusive<i64>, holds: &dyn Fn(i64) -> bool) -> i128 {
    let (mut low, mut high) = (i128::from(*values.start()), i128::from(*values.end()) + 1);
    while low < high {
        let middle = (low + high).div_euclid(2);
        if holds(middle as i64) { low = middle + 1 } else { high = middle }
    }
    low - 1
}

/// The position of a float among all floats; both zeros have the same.
fn place_of(x: f64) -> i64 {
    let bits = if x == 0.0 { 0 } else { x.to_bits().cast_signed() };
    if bits < 0 { i64::MIN - bits } else { bits }
}
