//! The ranks of the items of a list, with a choice of how equal items are ranked.

use std::cmp::Ordering;

use millstream_base::{Type, ValueType};
use millstream_node::{Call, Failure, Kernel, NodeDef, Registry};

use super::order::{ORDER, ORDERED, Ordered, compare, descending};
use super::{LIST, slice};
use crate::cells::{ListCells, function};
use crate::shape::{for_type, list_of, sockets_of};
use crate::sort::sort_by;

pub(super) fn register(registry: &mut Registry) {
    registry.register(rank());
}

const TIES: &[(&str, &str)] = &[
    ("ordinal", "distinct ranks, in the order of the list"),
    ("min", "the least of their ranks"),
    ("max", "the greatest of their ranks"),
    ("average", "the mean of their ranks, an `f64`"),
    ("dense", "the number of different values before them"),
];

fn rank() -> NodeDef {
    let def = NodeDef::new("list.rank", "The rank of each item of a list")
        .details(format!("Ranks start at 0. {ORDER} For ties, all NaNs are equal."));
    descending(def)
        .choice("ties", TIES, "ordinal", "ranks of equal items")
        .sockets_by_settings(|settings| {
            let place = if settings.text("ties") == "average" { Type::F64 } else { Type::I32 };
            let def = NodeDef::new("", "").generic("T", ORDERED).input("list", LIST, "").output(
                "value",
                list_of(place),
                "rank of each item",
            );
            Ok(sockets_of(&def))
        })
        .kernel(|parts| {
            let descending = parts.settings.flag("descending");
            Ok(match parts.settings.text("ties") {
                "min" => ranking(parts.generics[0], descending, |group, _| place(group.first)),
                "max" => ranking(parts.generics[0], descending, |group, _| place(group.last)),
                "dense" => ranking(parts.generics[0], descending, |group, _| place(group.number)),
                "average" => ranking(parts.generics[0], descending, |group, _| {
                    (group.first as f64 + group.last as f64) * 0.5
                }),
                _ => ranking(parts.generics[0], descending, |_, at| place(at)),
            })
        })
}

/// A group of equal items, by their positions in sorted order.
#[derive(Clone, Copy)]
struct Group {
    first: usize,
    last: usize,
    /// The number of groups before it.
    number: usize,
}

fn place(at: usize) -> i32 {
    i32::try_from(at).unwrap_or(i32::MAX)
}

/// The kernel that computes a rank from the group of an item and its own position in sorted order.
fn ranking<R: ValueType + Copy>(
    ty: Type,
    descending: bool,
    of: impl Fn(Group, usize) -> R + Copy + Send + Sync + 'static,
) -> Kernel {
    for_type!(sortable ty, T => function(move |call| ranks::<T, R>(call, descending, of)))
}

fn ranks<T: Ordered, R: ValueType + Copy>(
    call: &mut Call<'_>,
    descending: bool,
    of: impl Fn(Group, usize) -> R,
) -> Result<(), Failure> {
    let mut cells = ListCells::<R>::new(call);
    let (lists, mut pace) = (call.lists(0), call.pace());
    let mut order: Vec<usize> = Vec::new();
    cells.fill(
        call,
        |i| lists.n_items(i),
        |i, places| {
            let items = slice::<T>(&lists, i);
            if i32::try_from(items.len()).is_err() {
                return Err(Failure::at(
                    i,
                    "the list has more items than an `i32` index can count; \
                                           rank a shorter part of it",
                ));
            }
            order.clear();
            order.extend(0..items.len());
            sort_by(&mut order, &mut pace, |a, b| compare(&items[*a], &items[*b], descending))?;
            let Some(first) = order.first() else { return Ok(()) };
            let start = places.len();
            places.resize(start + items.len(), of(Group { first: 0, last: 0, number: 0 }, *first));
            let is_equal = |a: &usize, b: &usize| {
                compare(&items[*a], &items[*b], descending) == Ordering::Equal
            };
            let mut first = 0;
            for (number, equal) in order.chunk_by(is_equal).enumerate() {
                pace.work(equal.len())?;
                let group = Group { first, last: first + equal.len() - 1, number };
                for (k, at) in equal.iter().enumerate() {
                    places[start + at] = of(group, first + k);
                }
                first += equal.len();
            }
            Ok(())
        },
    )?;
    cells.put(call)
}

#[cfg(test)]
mod tests {
    use millstream_base::Value;
    use serde_json::json;

    use crate::cells::testing::{list, text};

    fn ranked(ties: &str, descending: bool, items: Value) -> String {
        text("list.rank", &json!({"ties": ties, "descending": descending}), vec![items])
    }

    /// Expected values from `scipy.stats.rankdata`, minus 1.
    #[test]
    fn equal_items_are_ranked_by_the_setting() {
        let items = || list(vec![3.0_f64, 1.0, 4.0, 1.0, 5.0, -0.0, 3.0, 0.0, 3.0]);
        assert_eq!(ranked("ordinal", false, items()), "[4, 2, 7, 3, 8, 0, 5, 1, 6]");
        assert_eq!(ranked("min", false, items()), "[4, 2, 7, 2, 8, 0, 4, 0, 4]");
        assert_eq!(ranked("max", false, items()), "[6, 3, 7, 3, 8, 1, 6, 1, 6]");
        assert_eq!(ranked("dense", false, items()), "[2, 1, 3, 1, 4, 0, 2, 0, 2]");
        assert_eq!(
            ranked("average", false, items()),
            "[5.0, 2.5, 7.0, 2.5, 8.0, 0.5, 5.0, 0.5, 5.0]"
        );
        assert_eq!(ranked("dense", true, items()), "[2, 3, 1, 3, 0, 4, 2, 4, 2]");
    }

    #[test]
    fn nans_come_last_and_are_equal_for_ties() {
        let items = || list(vec![f32::NAN, 2.0, f32::NAN, f32::INFINITY]);
        assert_eq!(ranked("min", false, items()), "[2, 0, 2, 1]");
        assert_eq!(ranked("max", true, items()), "[3, 1, 3, 0]");
        assert_eq!(ranked("average", false, items()), "[2.5, 0.0, 2.5, 1.0]");
        assert_eq!(ranked("average", false, list(Vec::<i64>::new())), "[]");
        assert_eq!(ranked("dense", false, list(vec![true, false, true])), "[1, 0, 1]");
    }
}
