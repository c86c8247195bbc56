//! Lists in another order.

use std::cmp::Ordering;
use std::sync::Arc;

use millstream_base::{Type, ValueType};
use millstream_form::{Form, LaneValue};
use millstream_node::{Among, Call, Failure, Kernel, NodeDef, Pace, Registry};

use super::by_bits::sort_long;
use super::{LIST, on_lists};
use crate::cells::{ListCells, ListEdit, function, items, put};
use crate::each::{Items, Places, each_list, each_pick};
use crate::shape::{for_type, list_of};
use crate::sort::sort_by;

pub(super) fn register(registry: &mut Registry) {
    registry.register(reverse());
    registry.register(sort());
    registry.register(sort_indices());
    registry.register(rotate());
    registry.register(shuffle());
}

fn reverse() -> NodeDef {
    on_lists("list.reverse", "Reverses a list")
        .input("list", LIST, "")
        .output("value", LIST, "items in reverse order")
        .function(each_pick::<(Places,)>(
            |(list,)| list.len(),
            |_, (list,), positions| {
                positions.extend(list.rev());
                Ok(())
            },
        ))
}

/// Types that can be sorted.
pub(super) const ORDERED: Among =
    Among::These(&[Type::BOOL, Type::I32, Type::I64, Type::F32, Type::F64, Type::STRING]);

/// A value with an order.
pub(super) trait Ordered: ValueType {
    /// The ascending order of two items; `None` if one is NaN, which is unordered.
    fn order(&self, other: &Self) -> Option<Ordering>;
    /// Whether the value is ordered, which NaN is not.
    fn has_place(&self) -> bool {
        self.order(self).is_some()
    }
    /// Sorts items; the sort is stable.
    ///
    /// # Errors
    /// If the call was cancelled.
    fn sort(items: &mut [Self], descending: bool, pace: &mut Pace<'_>) -> Result<(), Failure>;
}

macro_rules! ordered {
    ($($ty:ty)*) => {$(
        impl Ordered for $ty {
            fn order(&self, other: &Self) -> Option<Ordering> {
                self.partial_cmp(other)
            }

            fn sort(
                items: &mut [Self],
                descending: bool,
                pace: &mut Pace<'_>,
            ) -> Result<(), Failure> {
                sort_long(items, descending, pace, |items| {
                    items.sort_by(|a, b| compare(a, b, descending));
                })
            }
        }
    )*};
}
ordered!(bool i32 i64 f32 f64);

impl Ordered for Arc<str> {
    fn order(&self, other: &Self) -> Option<Ordering> {
        self.partial_cmp(other)
    }

    fn sort(items: &mut [Self], descending: bool, pace: &mut Pace<'_>) -> Result<(), Failure> {
        let mut sorted: Vec<&Self> = items.iter().collect();
        sort_by(&mut sorted, pace, |a, b| compare(*a, *b, descending))?;
        let sorted: Vec<Self> = sorted.into_iter().cloned().collect();
        items.clone_from_slice(&sorted);
        Ok(())
    }
}

/// The order of two items; NaN is last in either direction.
pub(super) fn compare<T: Ordered>(a: &T, b: &T, descending: bool) -> Ordering {
    match a.order(b) {
        Some(order) if descending => order.reverse(),
        Some(order) => order,
        None => b.has_place().cmp(&a.has_place()),
    }
}

/// Sorts positions in a list by their items; the sort is stable.
///
/// # Errors
/// If the call was cancelled.
pub(super) fn sort_positions<T: Ordered>(
    items: &[T],
    positions: &mut [i32],
    descending: bool,
    pace: &mut Pace<'_>,
) -> Result<(), Failure> {
    let item = |position: &i32| &items[*position as usize];
    sort_by(positions, pace, |a, b| compare(item(a), item(b), descending))
}

/// The order of the items of a list.
pub(super) const ORDER: &str = "False comes before true, and strings are ordered by the code \
    points of their characters. Equal items keep their order, and -0 equals +0. NaN comes last in \
    either direction.";

fn ordering(name: &'static str, summary: &'static str) -> NodeDef {
    descending(NodeDef::new(name, summary).details(ORDER)).generic("T", ORDERED)
}

/// Adds the setting that reverses the order.
pub(super) fn descending(def: NodeDef) -> NodeDef {
    def.flag("descending", false, "sort in descending order")
}

fn sort() -> NodeDef {
    ordering("list.sort", "Sorts a list")
        .input("list", LIST, "")
        .mutable()
        .output("value", LIST, "items in order")
        .kernel(|parts| Ok(sorting(parts.generics[0], parts.settings.flag("descending"))))
}

fn sorting(ty: Type, descending: bool) -> Kernel {
    for_type!(sortable ty, T => function(move |call| {
        let lists = ListEdit::take(call, 0);
        let mut pace = call.pace();
        let sorted = lists.edit(call, |_, items: &mut [T]| {
            T::sort(items, descending, &mut pace)
        })?;
        put(call, sorted);
        Ok(())
    }))
}

fn sort_indices() -> NodeDef {
    let indices = list_of(Type::I32);
    ordering("list.sort_indices", "The indices that sort a list")
        .input("list", LIST, "")
        .output("value", indices, "indices of the items in sorted order; `list.pick` applies them")
        .kernel(|parts| Ok(sorting_indices(parts.generics[0], parts.settings.flag("descending"))))
}

fn sorting_indices(ty: Type, descending: bool) -> Kernel {
    for_type!(sortable ty, T => ordering_indices::<T>(descending))
}

fn ordering_indices<T: Ordered>(descending: bool) -> Kernel {
    function(each_list::<(Items<T>,), i32>(
        |(items,)| items.len(),
        move |element, (items,), indices| {
            let n = i32::try_from(items.len()).map_err(|_| {
                element.failure(
                    "the list has more items than an `i32` index can count; sort a shorter part of \
                     it",
                )
            })?;
            let start = indices.len();
            indices.extend(0..n);
            sort_positions(items, &mut indices[start..], descending, &mut element.pace)
        },
    ))
}

fn rotate() -> NodeDef {
    on_lists("list.rotate", "Rotates a list")
        .details(
            "Items before the new first item move to the end. The number of steps is taken modulo \
             the length.",
        )
        .input("list", LIST, "")
        .input_or(
            "steps",
            Type::I32,
            1.0,
            "index of the item that becomes the first; may be negative",
        )
        .output("value", LIST, "rotated items")
        .function(each_pick::<(Places, i32)>(
            |(list, _)| list.len(),
            |_, (list, steps), positions| {
                let n = list.len().max(1) as i64;
                let first = list.start + i64::from(steps).rem_euclid(n) as usize;
                positions.extend((first..list.end).chain(list.start..first));
                Ok(())
            },
        ))
}

fn shuffle() -> NodeDef {
    on_lists("list.shuffle", "Shuffles a list")
        .details(
            "Items are ordered by a random number drawn for the index of each. Every order is \
             equally likely, and the same length and seed give the same order.",
        )
        .source(crate::random::SOURCE)
        .input("list", LIST, "")
        .input_or("seed", Type::I32, 0.0, "random seed that selects the order")
        .output("value", LIST, "shuffled items")
        .kernel(|_| {
            let drawn = crate::random::shuffled_key();
            Ok(function(move |call| shuffled(call, &drawn)))
        })
}

/// Units of work per drawn number.
const DRAWN: usize = 1 << 4;

fn shuffled(call: &mut Call<'_>, drawn: &Form) -> Result<(), Failure> {
    let source = items(call, 0);
    let mut cells = ListCells::new(call);
    let (lists, seeds) = (call.lists(0), call.input::<i32>(1));
    let (mut scratch, mut pace) = (Vec::new(), call.pace());
    cells.fill(
        call,
        |i| lists.n_items(i),
        |i, positions| {
            let range = lists.parts(i).1;
            let seed = seeds.get(i).to_bits();
            let mut key = |at: usize| {
                let mut words = [0; 2];
                let id = u64::from((at - range.start) as u32);
                drawn.run_scalar(&[id, seed], &mut words, &mut scratch);
                words[0] << 32 | words[1]
            };
            let mut keyed: Vec<(u64, usize)> = Vec::with_capacity(range.len());
            pace.over(range.clone(), DRAWN, |at| {
                keyed.push((key(at), at));
                Ok(())
            })?;
            sort_by(&mut keyed, &mut pace, Ord::cmp)?;
            positions.extend(keyed.into_iter().map(|(_, at)| at));
            Ok(())
        },
    )?;
    cells.put_from(call, &source)
}
