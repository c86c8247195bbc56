//! Items picked or repeated by a pattern.

use millstream_base::Type;
use millstream_node::{Call, Failure, NodeDef, Registry};

use super::{ITEM, LIST, Sources, entries, entry, on_lists, slice};
use crate::cells::{ListCells, function, items};
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
        .kernel(|_| {
            Ok(function(|call| {
                let mut cells = ListCells::<i32>::new(call);
                let lists = call.lists(0);
                let places = |i: usize| {
                    let all = slice::<bool>(&lists, i).iter().enumerate();
                    all.filter(|(_, holds)| **holds)
                        .map(|(at, _)| i32::try_from(at).unwrap_or(i32::MAX))
                };
                cells.fill(
                    call,
                    |i| places(i).count(),
                    |i, out| {
                        out.extend(places(i));
                        Ok(())
                    },
                )?;
                cells.put(call)
            }))
        })
}

fn every() -> NodeDef {
    on_lists("list.every", "Takes every n-th item of a list")
        .details(
            "Starts at the item with index `start`, which counts from the end if it is negative. A \
             negative step goes backward; a step of 0 counts as 1. The result is empty if `start` \
             is outside the list.",
        )
        .input("list", LIST, "")
        .input("start", Type::I32, "index of the first item to take")
        .or_number(0.0)
        .input("step", Type::I32, "distance from one taken item to the next")
        .or_number(2.0)
        .output("value", LIST, "")
        .kernel(|_| Ok(function(stepped)))
}

fn stepped(call: &mut Call<'_>) -> Result<(), Failure> {
    let source = items(call, 0);
    let mut cells = ListCells::new(call);
    let lists = call.lists(0);
    let (starts, steps) = (call.input::<i32>(1), call.input::<i32>(2));
    // The first position, the step, and the number of items.
    let walk = |i: usize| {
        let n = lists.n_items(i) as i64;
        let (start, step) = (i64::from(starts.get(i)), i64::from(steps.get(i)));
        let (start, step) =
            (if start < 0 { start + n } else { start }, if step == 0 { 1 } else { step });
        let left = if step > 0 { n - 1 - start } else { start };
        let is_inside = (0..n).contains(&start);
        (start, step, if is_inside { (left / step.abs() + 1) as usize } else { 0 })
    };
    cells.fill(
        call,
        |i| walk(i).2,
        |i, positions| {
            let ((start, step, count), first) = (walk(i), lists.parts(i).1.start);
            positions.extend((0..count as i64).map(|k| first + (start + k * step) as usize));
            Ok(())
        },
    )?;
    cells.put_from(call, &source)
}

fn repeat_items() -> NodeDef {
    on_lists("list.repeat_items", "Repeats each item of a list")
        .details(
            "`list.repeat` repeats the whole list instead. A count of 0 or less gives an empty \
             list.",
        )
        .input("list", LIST, "")
        .input("count", Type::I32, "number of repetitions of each item")
        .or_number(2.0)
        .output("value", LIST, "")
        .kernel(|_| {
            Ok(function(|call| {
                let source = items(call, 0);
                let mut cells = ListCells::new(call);
                let lists = call.lists(0);
                let counts = call.input::<i32>(1);
                let times = |i: usize| counts.get(i).max(0) as usize;
                cells.fill(
                    call,
                    |i| lists.n_items(i).saturating_mul(times(i)),
                    |i, positions| {
                        let n = times(i);
                        positions
                            .extend(lists.parts(i).1.flat_map(|at| std::iter::repeat_n(at, n)));
                        Ok(())
                    },
                )?;
                cells.put_from(call, &source)
            }))
        })
}

fn pad() -> NodeDef {
    on_lists("list.pad", "Pads or truncates a list to a length")
        .details(
            "A longer list loses items at its end; a shorter one is extended at its end with \
             copies of the item.",
        )
        .input("list", LIST, "")
        .input("length", Type::I32, "length of the result, at least 0")
        .or_number(8.0)
        .input("item", ITEM, "item to pad with")
        .output("value", LIST, "")
        .kernel(|_| {
            Ok(function(|call| {
                let old = items(call, 0);
                let sources = Sources::join(old.ty(), &[old.clone(), entries(call, 2)]);
                let mut cells = ListCells::new(call);
                let lists = call.lists(0);
                let lengths = call.input::<i32>(1);
                let wanted = |i: usize| lengths.get(i).max(0) as usize;
                cells.fill(call, wanted, |i, positions| {
                    let filler = sources.starts[1] + entry(call, 2, i);
                    positions
                        .extend(lists.parts(i).1.chain(std::iter::repeat(filler)).take(wanted(i)));
                    Ok(())
                })?;
                cells.put_from(call, &sources.column)
            }))
        })
}
