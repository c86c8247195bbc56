//! Finding items. Items are compared bit by bit: any NaN is the same as any other, +0 and -0 differ.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

use millstream_base::{Column, Type, ValueType};
use millstream_kernel::{Call, Failure, NodeDef, Registry};

use super::{ITEM, LIST, entries, entry, on_lists};
use crate::cells::{Cells, ListCells, function, items};

pub(super) fn register(registry: &mut Registry) {
    registry.register(contains());
    registry.register(index_of());
    registry.register(unique());
    registry.register(count());
}

const SAME: &str = "Items are compared bit by bit: NaN is found, +0 and -0 differ.";

fn contains() -> NodeDef {
    on_lists("list.contains", "Whether an item is in a list")
        .details(SAME)
        .input("list", LIST, "")
        .input("item", ITEM, "what is looked for")
        .output("value", Type::BOOL, "")
        .kernel(|_| Ok(function(|call| found(call, |place| place.is_some()))))
}

fn index_of() -> NodeDef {
    on_lists("list.index_of", "Where an item stands in a list")
        .details(SAME)
        .input("list", LIST, "")
        .input("item", ITEM, "what is looked for")
        .output("value", Type::I32, "number of the first such item, from 0; -1 if there is none")
        .kernel(|_| {
            Ok(function(|call| {
                found(call, |place| place.map_or(-1, |at| i32::try_from(at).unwrap_or(i32::MAX)))
            }))
        })
}

/// What `answer` makes of the place of the first item that is the same.
fn found<R: ValueType>(
    call: &mut Call<'_>,
    answer: impl Fn(Option<usize>) -> R,
) -> Result<(), Failure> {
    let mut cells = Cells::new(call);
    let (lists, wanted) = (call.lists(0), entries(call, 1));
    cells.fill(call, |i| {
        let (column, range) = lists.parts(i);
        let wanted_at = entry(call, 1, i);
        let mut range = range;
        let place = range.position(|at| column.same_at(at, &wanted, wanted_at));
        Ok(answer(place))
    })?;
    cells.put(call);
    Ok(())
}

fn count() -> NodeDef {
    on_lists("list.count", "How often an item is in a list")
        .details(SAME)
        .input("list", LIST, "")
        .input("item", ITEM, "what is looked for")
        .output("value", Type::I32, "")
        .kernel(|_| {
            Ok(function(|call| {
                let mut cells = Cells::<i32>::new(call);
                let (lists, wanted) = (call.lists(0), entries(call, 1));
                cells.fill(call, |i| {
                    let (column, range) = lists.parts(i);
                    let wanted_at = entry(call, 1, i);
                    let n = range.filter(|at| column.same_at(*at, &wanted, wanted_at)).count();
                    Ok(i32::try_from(n).unwrap_or(i32::MAX))
                })?;
                cells.put(call);
                Ok(())
            }))
        })
}

fn unique() -> NodeDef {
    on_lists("list.unique", "A list without repeated items")
        .details("Keeps the first of the items that are the same, in order. Items are compared bit by bit: NaNs are the same, +0 and -0 differ.")
        .input("list", LIST, "")
        .output("value", LIST, "")
        .kernel(|_| Ok(function(without_repeats)))
}

fn without_repeats(call: &mut Call<'_>) -> Result<(), Failure> {
    let source = items(call, 0);
    let mut cells = ListCells::new(call);
    let lists = call.lists(0);
    // Keyed at random, so that nobody can write a list whose items all collide; the result does
    // not depend on it.
    let keys = RandomState::new();
    cells.fill(
        call,
        |i| lists.n_items(i),
        |i, positions| {
            positions.extend(firsts(&source, lists.parts(i).1, &keys));
            Ok(())
        },
    )?;
    cells.put_from(call, &source)
}

/// The positions in the range that hold something not seen before.
fn firsts(column: &Column, range: Range<usize>, keys: &RandomState) -> Vec<usize> {
    let mut seen: HashMap<u64, Vec<usize>> = HashMap::with_capacity(range.len());
    let mut firsts = Vec::new();
    for at in range {
        let mut hasher = keys.build_hasher();
        column.feed_at(at, &mut hasher);
        let alike = seen.entry(hasher.finish()).or_default();
        if !alike.iter().any(|other| column.same_at(at, column, *other)) {
            alike.push(at);
            firsts.push(at);
        }
    }
    firsts
}
