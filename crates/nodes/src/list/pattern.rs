//! Items picked or repeated by a pattern.

use millstream_base::Type;
use millstream_node::{Call, Failure, NodeDef, Registry};

use super::by_item::{Part, joining};
use super::{ITEM, LIST, Sources, entries, entry, on_lists};
use crate::cells::{ListCells, items};
use crate::each::{Items, Places, each_list, each_pick};
use crate::shape::list_of;

pub(super) fn register(registry: &mut Registry) {
    registry.register(places());
    registry.register(every());
    registry.register(repeat_items());
    registry.register(pad());
}

fn places() -> NodeDef {
    NodeDef::new("list.where", "The indices at which a condition is true")
        .details(
            "Together with `list.pick` it does the same as `list.filter`, for several lists at \
             once.",
        )
        .input("list", list_of(Type::BOOL), "conditions")
        .output("value", list_of(Type::I32), "indices of the true conditions, from 0")
        .function(each_list::<(Items<bool>,), i32>(
            |(conditions,)| conditions.iter().filter(|holds| **holds).count(),
            |_, (conditions,), out| {
                let places = conditions.iter().enumerate().filter(|(_, holds)| **holds);
                out.extend(places.map(|(at, _)| i32::try_from(at).unwrap_or(i32::MAX)));
                Ok(())
            },
        ))
}

fn every() -> NodeDef {
    on_lists("list.every", "Takes every n-th item of a list")
        .details(
            "Starts at the item with index `start`, which counts from the end if it is negative. A \
             negative step goes backward; a step of 0 counts as 1. The result is empty if `start` \
             is outside the list.",
        )
        .input("list", LIST, "")
        .input_or("start", Type::I32, 0.0, "index of the first item to take")
        .input_or("step", Type::I32, 2.0, "distance from one taken item to the next")
        .output("value", LIST, "")
        .function(each_pick::<(Places, i32, i32)>(
            |(list, start, step)| walk(list.len(), start, step).2,
            |_, (list, start, step), positions| {
                let (start, step, count) = walk(list.len(), start, step);
                positions
                    .extend((0..count as i64).map(|k| list.start + (start + k * step) as usize));
                Ok(())
            },
        ))
}

/// The first position, the step, and the number of items.
fn walk(n: usize, start: i32, step: i32) -> (i64, i64, usize) {
    let (n, start, step) = (n as i64, i64::from(start), i64::from(step));
    let (start, step) =
        (if start < 0 { start + n } else { start }, if step == 0 { 1 } else { step });
    let left = if step > 0 { n - 1 - start } else { start };
    let is_inside = (0..n).contains(&start);
    (start, step, if is_inside { (left / step.abs() + 1) as usize } else { 0 })
}

fn repeat_items() -> NodeDef {
    on_lists("list.repeat_items", "Repeats each item of a list")
        .details(
            "`list.repeat` repeats the whole list instead. A count of 0 or less gives an empty \
             list.",
        )
        .input("list", LIST, "")
        .input_or("count", Type::I32, 2.0, "number of repetitions of each item")
        .output("value", LIST, "")
        .function(each_pick::<(Places, i32)>(
            |(list, count)| list.len().saturating_mul(count.max(0) as usize),
            |_, (list, count), positions| {
                let n = count.max(0) as usize;
                positions.extend(list.flat_map(|at| std::iter::repeat_n(at, n)));
                Ok(())
            },
        ))
}

fn pad() -> NodeDef {
    on_lists("list.pad", "Pads or truncates a list to a length")
        .details(
            "A longer list loses items at its end; a shorter one is extended at its end with \
             copies of the item.",
        )
        .input("list", LIST, "")
        .input_or("length", Type::I32, 8.0, "length of the result, at least 0")
        .input("item", ITEM, "item to pad with")
        .output("value", LIST, "")
        .kernel(|_| {
            let parts = |call: &Call<'_>| {
                let (n, length) = (items(call, 0).len(), call.input::<i32>(1).get(0));
                let length = length.max(0) as usize;
                let rest = length.saturating_sub(n);
                Some(vec![Part::Of(0, 0..length.min(n)), Part::Item(2, rest)])
            };
            Ok(joining(padded, &[1], parts))
        })
}

fn padded(call: &mut Call<'_>) -> Result<(), Failure> {
    let old = items(call, 0);
    let sources = Sources::join(old.ty(), &[old.clone(), entries(call, 2)]);
    let mut cells = ListCells::new(call);
    let lists = call.lists(0);
    let lengths = call.input::<i32>(1);
    let wanted = |i: usize| lengths.get(i).max(0) as usize;
    cells.fill(call, wanted, |i, positions| {
        let filler = sources.starts[1] + entry(call, 2, i);
        positions.extend(lists.parts(i).1.chain(std::iter::repeat(filler)).take(wanted(i)));
        Ok(())
    })?;
    cells.put_from(call, &sources.column)
}
