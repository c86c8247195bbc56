//! When a carried value counts as unchanged: if its bits are equal, or numbers differ by at most a
//! tolerance.

use millstream_base::same::Same;
use millstream_base::{Column, Image, Lane, Table, Value};
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

/// Whether each lane of two values of one type differs by at most a tolerance; for lists, images and
/// tables, each lane of each item, pixel or cell. Lists are nested to a bounded depth.
fn is_near(a: &Value, b: &Value, tolerance: f64) -> bool {
    let are_near = |a: &Column, b: &Column| {
        let mut pairs = a.iter().zip(b.iter());
        a.len() == b.len() && pairs.all(|(a, b)| is_near(&a, &b, tolerance))
    };
    if let (Some(a), Some(b)) = (a.get::<Image>(), b.get::<Image>()) {
        let (n, of) = (a.n_channels(), b.n_channels());
        let mut pairs = a.channels().iter().zip(b.channels());
        let near = |a: &f32, b: &f32| {
            is_lane_near(Lane::F32, a.to_bits().into(), b.to_bits().into(), tolerance)
        };
        return n == of && a.view() == b.view() && pairs.all(|(a, b)| near(a, b));
    }
    if let (Some(a), Some(b)) = (a.get::<Table>(), b.get::<Table>()) {
        let mut pairs = a.columns().iter().zip(b.columns());
        return a.columns().len() == b.columns().len()
            && pairs.all(|((name, a), (other, b))| {
                name == other && a.ty() == b.ty() && are_near(a, b)
            });
    }
    match (a, b) {
        (Value::List(a), Value::List(b)) => are_near(a, b),
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

#[cfg(test)]
mod tests {
    use millstream_base::Footprint;

    use super::*;

    #[test]
    fn images_and_tables_are_near_in_each_pixel_and_cell() {
        let image = |width, last: f32| {
            let mut values = vec![0.5; width as usize * 2];
            values[3] = last;
            let view = Footprint::of_size(width, 2);
            Value::from(Image::from_channels(view, 1, values).expect("one value per pixel"))
        };
        let table = |name: &str, last: f64| {
            let columns = vec![(name.into(), Column::from_vec(vec![1.0, last]))];
            Value::from(Table::new(columns).expect("one column"))
        };
        for (a, b, is) in [
            (image(2, 0.5), image(2, 0.6), true),
            (image(2, 0.5), image(2, 0.8), false),
            (image(2, 0.5), image(3, 0.5), false),
            (table("x", 2.0), table("x", 2.1), true),
            (table("x", 2.0), table("x", 2.3), false),
            (table("x", 2.0), table("y", 2.0), false),
        ] {
            let (old, new) = (Data::One(a), Data::One(b));
            assert_eq!(near_at(&old, &new, 0, 0.2), is, "{old:?} and {new:?}");
            assert!(!near_at(&old, &new, 0, 0.0), "without a tolerance, bits are compared");
        }
    }
}
