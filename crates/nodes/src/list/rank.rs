//! The ranks of the items of a list, with a choice of how equal items are ranked.

use std::cmp::Ordering;

use millstream_base::{Type, ValueType};
use millstream_node::function::Lists;
use millstream_node::{Call, Failure, Kernel, NodeDef, Pace, Registry};

use super::order::{ORDER, ORDERED, Ordered, compare, descending, sort_positions};
use super::{LIST, slice};
use crate::cells::{ListCells, function};
use crate::shape::{for_type, list_of, sockets_of};

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

/// The positions of a list in sorted order.
#[derive(Default)]
struct Sorted {
    positions: Vec<i32>,
    /// For each group of equal items, the number of positions up to its end.
    ends: Vec<usize>,
}

/// Sorts the positions of the list of element `i`.
type Sort = fn(&Lists<'_>, usize, bool, &mut Sorted, &mut Pace<'_>) -> Result<(), Failure>;

fn sort<T: Ordered>(
    lists: &Lists<'_>,
    i: usize,
    descending: bool,
    Sorted { positions, ends }: &mut Sorted,
    pace: &mut Pace<'_>,
) -> Result<(), Failure> {
    let items = slice::<T>(lists, i);
    let n = i32::try_from(items.len()).map_err(|_| {
        let message = "the list has more items than an `i32` index can count; rank a shorter part \
                       of it";
        Failure::at(i, message)
    })?;
    positions.clear();
    positions.extend(0..n);
    sort_positions(items, positions, descending, pace)?;
    pace.work(items.len())?;
    let item = |position: &i32| &items[*position as usize];
    let is_equal = |a: &i32, b: &i32| compare(item(a), item(b), descending) == Ordering::Equal;
    ends.clear();
    ends.extend(positions.chunk_by(is_equal).scan(0, |end, equal| {
        *end += equal.len();
        Some(*end)
    }));
    Ok(())
}

/// The kernel that computes a rank from the group of an item and its own position in sorted order.
fn ranking<R: ValueType + Copy + Default>(
    ty: Type,
    descending: bool,
    of: impl Fn(Group, usize) -> R + Copy + Send + Sync + 'static,
) -> Kernel {
    let sort: Sort = for_type!(sortable ty, T => sort::<T>);
    function(move |call| ranks(call, descending, sort, of))
}

fn ranks<R: ValueType + Copy + Default>(
    call: &mut Call<'_>,
    descending: bool,
    sort: Sort,
    of: impl Fn(Group, usize) -> R,
) -> Result<(), Failure> {
    let mut cells = ListCells::<R>::new(call);
    let (lists, mut pace) = (call.lists(0), call.pace());
    let mut sorted = Sorted::default();
    cells.fill(
        call,
        |i| lists.n_items(i),
        |i, places| {
            sort(&lists, i, descending, &mut sorted, &mut pace)?;
            let start = places.len();
            places.resize(start + sorted.positions.len(), R::default());
            let mut first = 0;
            for (number, end) in sorted.ends.iter().enumerate() {
                let group = Group { first, last: end - 1, number };
                for k in first..*end {
                    places[start + sorted.positions[k] as usize] = of(group, k);
                }
                first = *end;
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
