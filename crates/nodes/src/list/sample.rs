//! Interpolation between the items of a list.

use std::marker::PhantomData;

use millstream_base::{Type, ValueType, Vec2, Vec3, Vec4, num};
use millstream_node::gather::{Gather, ItemsRead};
use millstream_node::{Call, Failure, Function, NodeDef, Registry, Settings};

use super::{ITEM, LIST};
use crate::cells::kernel;
use crate::each::{Items, try_each};
use crate::shape::{FLOATS, choices, for_type};

pub(super) fn register(registry: &mut Registry) {
    registry.register(sample());
}

choices! {
    /// The continuation of a list beyond its ends.
    enum Beyond {
        Clamp = "clamp": "the item at that end",
        Wrap = "wrap": "the list repeats in both directions",
        Mirror = "mirror": "the list repeats, alternately reversed, with each end occurring once",
    }
}

choices! {
    enum Interpolation {
        Nearest = "nearest": "the nearest item; the later one of two equally near items",
        Linear = "linear": "a straight line between neighbors",
        Cubic = "cubic": "a smooth curve through the items (Catmull-Rom)",
    }
}

/// The settings.
#[derive(Clone, Copy, Debug)]
struct Sampling {
    interpolation: Interpolation,
    beyond: Beyond,
    unit: bool,
}

impl Beyond {
    /// The period of the repeated positions of a list of `n` items.
    fn round(self, n: usize) -> Option<usize> {
        match self {
            Self::Clamp => None,
            Self::Wrap => Some(n),
            Self::Mirror => Some((2 * (n - 1)).max(1)),
        }
    }

    /// The position in a list of `n` items to which a position along the repeated list is mapped.
    fn place(self, at: i64, n: usize) -> usize {
        let n = n as i64;
        let place = match self {
            Self::Clamp => at.clamp(0, n - 1),
            Self::Wrap => at.rem_euclid(n),
            Self::Mirror => {
                let round = (2 * (n - 1)).max(1);
                let at = at.rem_euclid(round);
                at.min(round - at).min(n - 1)
            }
        };
        place as usize
    }
}

impl Sampling {
    fn of(settings: &Settings) -> Self {
        Self {
            interpolation: Interpolation::named(settings.text("interpolation")),
            beyond: Beyond::named(settings.text("beyond")),
            unit: settings.flag("unit"),
        }
    }

    /// The item at or before a position in a list of `n` items, counted along the repeated list,
    /// and the part of the way from it to the next.
    fn spot(self, n: usize, position: f64) -> (i64, f64) {
        let length = if self.beyond == Beyond::Wrap { n } else { n - 1 };
        let position = if self.unit { position * length as f64 } else { position };
        let position = if position.is_nan() { 0.0 } else { position };
        let position = match self.beyond.round(n) {
            None => position.clamp(0.0, (n - 1) as f64),
            Some(_) if position.is_infinite() => 0.0,
            // Farther out, positions would not fit into an `i64`.
            Some(round) if position.abs() > 1e15 => num::rem_euclid(position, round as f64),
            Some(_) => position,
        };
        match self.interpolation {
            Interpolation::Nearest => ((position + 0.5).floor() as i64, 0.0),
            Interpolation::Linear | Interpolation::Cubic => {
                let floor = position.floor();
                (floor as i64, position - floor)
            }
        }
    }

    fn sample<T: Mixed>(self, items: &[T], position: f64) -> T {
        let (at, t) = self.spot(items.len(), position);
        let item = |at: i64| items[self.beyond.place(at, items.len())];
        match self.interpolation {
            _ if t == 0.0 => item(at),
            Interpolation::Nearest => item(at),
            Interpolation::Linear => T::on_line(item(at), item(at + 1), t),
            Interpolation::Cubic => {
                let (t2, t3) = (t * t, t * t * t);
                T::mixed(&[
                    (item(at - 1), t2 - (t3 + t) * 0.5),
                    (item(at), t3 * 1.5 - t2 * 2.5 + 1.0),
                    (item(at + 1), t2 * 2.0 - t3 * 1.5 + t * 0.5),
                    (item(at + 2), (t3 - t2) * 0.5),
                ])
            }
        }
    }

    /// The positions of the items that [`sample`](Self::sample) reads.
    fn items_read(self, n: usize, position: f64) -> impl Iterator<Item = usize> {
        let (at, t) = self.spot(n, position);
        let around = match self.interpolation {
            _ if t == 0.0 => at..=at,
            Interpolation::Nearest => at..=at,
            Interpolation::Linear => at..=at + 1,
            Interpolation::Cubic => at - 1..=at + 2,
        };
        around.map(move |at| self.beyond.place(at, n))
    }
}

/// A number or vector that can be interpolated.
pub(super) trait Mixed: ValueType + Copy {
    /// The sum of the values times their weights, from first to last.
    fn mixed(parts: &[(Self, f64)]) -> Self;

    /// The value at `t` on the straight line from one to the other; rounding does not lead beyond
    /// them.
    fn on_line(a: Self, b: Self, t: f64) -> Self;
}

macro_rules! mixed_numbers {
    ($($ty:ident)*) => {$(
        impl Mixed for $ty {
            fn mixed(parts: &[(Self, f64)]) -> Self {
                parts.iter().map(|(x, weight)| x * *weight as Self).sum()
            }

            fn on_line(a: Self, b: Self, t: f64) -> Self {
                let x = Self::mixed(&[(a, 1.0 - t), (b, t)]);
                if x.is_nan() { x } else { x.max(a.min(b)).min(a.max(b)) }
            }
        }
    )*};
}
mixed_numbers!(f32 f64);

macro_rules! mixed_vectors {
    ($($ty:ident)*) => {$(
        impl Mixed for $ty {
            fn mixed(parts: &[(Self, f64)]) -> Self {
                Self(std::array::from_fn(|i| {
                    parts.iter().map(|(x, weight)| x.0[i] * *weight as f32).sum()
                }))
            }

            fn on_line(a: Self, b: Self, t: f64) -> Self {
                Self(std::array::from_fn(|i| f32::on_line(a.0[i], b.0[i], t)))
            }
        }
    )*};
}
mixed_vectors!(Vec2 Vec3 Vec4);

fn sample() -> NodeDef {
    NodeDef::new("list.sample", "Interpolates between the items of a list")
        .details(
            "At whole positions the result is exactly the item. With `unit`, 0 is the first item \
             and 1 the last, or the first item again if the list wraps. A NaN position counts as \
             0, and so does an infinite position in a repeated list. Fails for an empty list.",
        )
        .source("E. Catmull, R. Rom, \"A class of local interpolating splines\", 1974")
        .choice("interpolation", Interpolation::ALL, "linear", "shape of the curve between items")
        .choice("beyond", Beyond::ALL, "clamp", "how the list continues beyond its ends")
        .flag("unit", false, "measure positions from 0 to 1 instead of by index")
        .generic("T", FLOATS)
        .input("list", LIST, "")
        .input_or(
            "position",
            Type::F64,
            0.0,
            "position: 0 is the first item, 1 the second, 0.5 halfway between",
        )
        .output("value", ITEM, "")
        .kernel(|parts| {
            let sampling = Sampling::of(parts.settings);
            Ok(for_type!(floats parts.generics[0], T => {
                kernel(Sampled::<T> { sampling, items: PhantomData })
            }))
        })
}

struct Sampled<T> {
    sampling: Sampling,
    items: PhantomData<fn(T)>,
}

impl<T: Mixed> Function for Sampled<T> {
    fn call(&self, call: &mut Call<'_>) -> Result<(), Failure> {
        let sampling = self.sampling;
        try_each::<(Items<T>, f64), _>(move |element, (items, position)| {
            if items.is_empty() {
                let message = "an empty list has no values to sample; add an item to it";
                return Err(element.failure(message));
            }
            Ok(sampling.sample(items, position))
        })(call)
    }

    fn gather(&self) -> Option<Gather<'_>> {
        Some(Gather::Elements(self))
    }
}

impl<T: Mixed> ItemsRead for Sampled<T> {
    fn items_read(
        &self,
        call: &Call<'_>,
        visit: &mut dyn FnMut(usize, usize),
    ) -> Result<(), Failure> {
        let (lists, positions) = (call.lists(0), call.input::<f64>(1));
        for i in call.mask() {
            let n = lists.n_items(i);
            if n > 0 {
                self.sampling.items_read(n, positions.get(i)).for_each(|item| visit(i, item));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use millstream_base::{Limits, Mask, Value, Vec2};
    use serde_json::json;

    use super::Mixed;
    use crate::cells::testing::{call, instance, list, many, one};

    fn at(set: &serde_json::Value, items: &[f32], position: f64) -> f32 {
        let node = instance("list.sample", set, &[millstream_base::Type::F32], &[]);
        let given = vec![one(list(items.to_vec())), one(position)];
        call(&node, given, &Mask::full(1), 1, &Limits::default())
            .expect("sampled")
            .get(0)
            .get::<f32>()
            .expect("f32")
    }

    #[test]
    fn items_are_hit_exactly_and_interpolated_between() {
        let items = [1.0, 3.0, 2.0, 8.0];
        for interpolation in ["nearest", "linear", "cubic"] {
            let set = json!({"interpolation": interpolation});
            for (i, item) in items.iter().enumerate() {
                assert_eq!(at(&set, &items, i as f64), *item);
            }
        }
        assert_eq!(at(&json!({}), &items, 0.25), 1.5);
        assert_eq!(at(&json!({"interpolation": "nearest"}), &items, 1.5), 2.0);
        assert_eq!(at(&json!({"interpolation": "cubic"}), &items, 1.5), 2.25);
    }

    #[test]
    fn lists_continue_beyond_their_ends_as_set() {
        let items = [1.0, 3.0, 2.0];
        for (beyond, wanted) in [
            ("clamp", [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]),
            ("wrap", [2.0, 3.0, 1.5, 1.5, 1.0, 1.5]),
            ("mirror", [3.0, 2.0, 2.0, 2.5, 3.0, 1.5]),
        ] {
            let set = json!({"beyond": beyond});
            let found = [-1.0, -2.0, -0.5, 2.5, 3.0, 5.5].map(|x| at(&set, &items, x));
            if beyond == "clamp" {
                assert_eq!(found, wanted);
            } else {
                assert_eq!(found[0], wanted[0], "{beyond}");
                assert_eq!(found[1], wanted[1], "{beyond}");
                assert_eq!(found[4], wanted[4], "{beyond}");
            }
        }
        assert_eq!(at(&json!({"beyond": "wrap"}), &items, 2.5), 1.5);
        assert_eq!(at(&json!({"beyond": "mirror"}), &items, 2.5), 2.5);
        for beyond in ["clamp", "wrap", "mirror"] {
            assert_eq!(at(&json!({"beyond": beyond}), &[7.0], -3.5), 7.0);
            assert_eq!(at(&json!({"beyond": beyond}), &items, f64::NAN), 1.0);
            assert!(at(&json!({"beyond": beyond}), &items, f64::INFINITY).is_finite());
        }
    }

    #[test]
    fn unit_positions_go_from_end_to_end() {
        let items = [0.0, 10.0, 20.0];
        assert_eq!(at(&json!({"unit": true}), &items, 1.0), 20.0);
        assert_eq!(at(&json!({"unit": true}), &items, 0.25), 5.0);
        assert_eq!(at(&json!({"unit": true, "beyond": "wrap"}), &items, 1.0), 0.0);
    }

    #[test]
    fn a_repeated_list_continues_far_out() {
        let items = [1.0, 2.0, 3.0];
        let wrap = json!({"beyond": "wrap"});
        // The remainders of these floats divided by 3, which are exact.
        assert_eq!([1e300, 1e16, -1e300].map(|at_| at(&wrap, &items, at_)), [1.0, 2.0, 1.0]);
        assert_eq!(at(&json!({"beyond": "mirror"}), &items, 1e16), 1.0);
        for set in [wrap, json!({"beyond": "mirror"})] {
            assert_eq!(at(&set, &items, f64::INFINITY), 1.0);
            assert_eq!(at(&set, &items, f64::NEG_INFINITY), 1.0);
        }
        assert_eq!(at(&json!({}), &items, f64::INFINITY), 3.0);
    }

    #[test]
    fn vectors_are_interpolated_and_positions_may_be_columns() {
        let node = instance("list.sample", &json!({}), &[millstream_base::Type::VEC2], &[]);
        let items = list(vec![Vec2([0.0, 1.0]), Vec2([2.0, 5.0])]);
        let found = call(
            &node,
            vec![one(items), many(vec![0.5_f64, 1.0])],
            &Mask::full(2),
            2,
            &Limits::default(),
        )
        .expect("sampled");
        assert_eq!(found.get(0).to_string(), Value::from(Vec2([1.0, 3.0])).to_string());
        assert_eq!(found.get(1).to_string(), Value::from(Vec2([2.0, 5.0])).to_string());
        let none = list(Vec::<Vec2>::new());
        assert!(
            call(&node, vec![one(none), one(0.5_f64)], &Mask::full(1), 1, &Limits::default())
                .is_err()
        );
    }

    #[test]
    fn straight_lines_stay_between_their_ends() {
        for k in 0..1000 {
            let t = f64::from(k) / 1000.0;
            assert_eq!(f64::on_line(0.1, 0.1, t), 0.1);
            assert_eq!(f64::on_line(5e-324, 5e-324, t), 5e-324);
            assert!((0.3..=0.7).contains(&f32::on_line(0.7, 0.3, t)));
        }
        assert!(f64::on_line(f64::NAN, 1.0, 0.5).is_nan());
        assert_eq!(f32::on_line(f32::INFINITY, f32::INFINITY, 0.5), f32::INFINITY);
    }
}
