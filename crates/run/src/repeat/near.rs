//! When a carried value counts as unchanged: if its bits are equal, or numbers differ by at most a
//! tolerance.

use millstream_base::same::Same;
use millstream_base::{Lane, Value};
use millstream_form::canonical_bits;
use millstream_node::Data;

/// Whether a carried value of an element stays the same.
pub(super) fn near_at(old: &Data, new: &Data, position: usize, tolerance: f64) -> bool {
    let is_same = match (old, new) {
        (Data::One(old), Data::One(new)) => old.same(new),
        (Data::Many(old), Data::Many(new)) => old.same_at(position, new, position),
        (old, new) => old.get(position).same(&new.get(position)),
    };
    is_same || tolerance > 0.0 && is_near(&old.get(position), &new.get(position), tolerance)
}

/// Whether each lane of two values of one type differs by at most a tolerance; for lists, each lane
/// of each item. Lists are nested to a bounded depth.
fn is_near(a: &Value, b: &Value, tolerance: f64) -> bool {
    match (a, b) {
        (Value::List(a), Value::List(b)) => {
            let mut pairs = a.iter().zip(b.iter());
            a.len() == b.len() && pairs.all(|(a, b)| is_near(&a, &b, tolerance))
        }
        _ => match a.ty().lanes() {
            Some((lane, n)) => (0..n as usize).all(|i| {
                let (a, b) = (a.lane(i).unwrap_or(0), b.lane(i).unwrap_or(0));
                is_lane_near(lane, a, b, tolerance)
            }),
            None => a.same(b),
        },
    }
}

/// Whether two lanes, given by their bits, count as equal.
pub(super) fn is_lane_near(lane: Lane, a: u64, b: u64, tolerance: f64) -> bool {
    if canonical_bits(lane, a) == canonical_bits(lane, b) {
        return true;
    }
    let difference = match lane {
        Lane::Bool => return false,
        Lane::I32 => f64::from((a as u32 as i32).abs_diff(b as u32 as i32)),
        Lane::I64 => (a as i64).abs_diff(b as i64) as f64,
        Lane::F32 => {
            let of = |bits: u64| f64::from(f32::from_bits(bits as u32));
            (of(a) - of(b)).abs()
        }
        Lane::F64 => (f64::from_bits(a) - f64::from_bits(b)).abs(),
    };
    tolerance > 0.0 && difference <= tolerance
}
