//! Finding items. Items are compared bit by bit: all NaNs are equal, +0 and -0 differ.

use millstream_base::{Type, ValueType};
use millstream_node::{Call, Failure, NodeDef, Registry};

use super::seen::{HASHED, Seen};
use super::{ITEM, LIST, entries, entry, on_lists};
use crate::cells::{Cells, ListCells, function, items};

pub(super) fn register(registry: &mut Registry) {
    registry.register(contains());
    registry.register(index_of());
    registry.register(unique());
    registry.register(count());
}

/// Items compared between two checks.
const CHUNK: usize = 1 << 12;

const SAME: &str = "Items are compared bit by bit: all NaNs are equal, +0 and -0 differ.";

fn contains() -> NodeDef {
    on_lists("list.contains", "Whether a list contains an item")
        .details(SAME)
        .input("list", LIST, "")
        .input("item", ITEM, "item to search for")
        .output("value", Type::BOOL, "")
        .kernel(|_| Ok(function(|call| found(call, |place| place.is_some()))))
}

fn index_of() -> NodeDef {
    on_lists("list.index_of", "The index of an item in a list")
        .details(SAME)
        .input("list", LIST, "")
        .input("item", ITEM, "item to search for")
        .output("value", Type::I32, "index of the first equal item, from 0; -1 if there is none")
        .kernel(|_| {
            Ok(function(|call| {
                found(call, |place| place.map_or(-1, |at| i32::try_from(at).unwrap_or(i32::MAX)))
            }))
        })
}

/// The kernel that applies `answer` to the index of the first equal item.
fn found<R: ValueType>(
    call: &mut Call<'_>,
    answer: impl Fn(Option<usize>) -> R,
) -> Result<(), Failure> {
    let mut cells = Cells::new(call);
    let (lists, wanted) = (call.lists(0), entries(call, 1));
    let mut pace = call.pace();
    cells.fill(call, |i| {
        let (column, range) = lists.parts(i);
        let wanted_at = entry(call, 1, i);
        for start in range.clone().step_by(CHUNK) {
            let mut part = start..range.end.min(start + CHUNK);
            pace.work(part.len())?;
            if let Some(at) = part.find(|at| column.same_at(*at, &wanted, wanted_at)) {
                return Ok(answer(Some(at - range.start)));
            }
        }
        Ok(answer(None))
    })?;
    cells.put(call);
    Ok(())
}

fn count() -> NodeDef {
    on_lists("list.count", "The number of occurrences of an item in a list")
        .details(SAME)
        .input("list", LIST, "")
        .input("item", ITEM, "item to count")
        .output("value", Type::I32, "")
        .kernel(|_| {
            Ok(function(|call| {
                let mut cells = Cells::<i32>::new(call);
                let (lists, wanted) = (call.lists(0), entries(call, 1));
                let mut pace = call.pace();
                cells.fill(call, |i| {
                    let (column, range) = lists.parts(i);
                    pace.work(range.len())?;
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
    on_lists("list.unique", "Removes repeated items from a list")
        .details(
            "Of equal items the first one is kept, in order. Items are compared bit by bit: all \
             NaNs are equal, +0 and -0 differ.",
        )
        .input("list", LIST, "")
        .output("value", LIST, "")
        .kernel(|_| Ok(function(without_repeats)))
}

fn without_repeats(call: &mut Call<'_>) -> Result<(), Failure> {
    let source = items(call, 0);
    let mut cells = ListCells::new(call);
    let lists = call.lists(0);
    let (mut seen, mut pace) = (Seen::new(&source), call.pace());
    cells.fill(
        call,
        |i| lists.n_items(i),
        |i, positions| {
            seen.clear();
            pace.over(lists.parts(i).1, HASHED, |at| {
                positions.extend(seen.mark(at).1.then_some(at));
                Ok(())
            })
        },
    )?;
    cells.put_from(call, &source)
}
