//! Reading lists: length, items, parts.

use millstream_base::Type;
use millstream_node::{Call, Failure, NodeDef, Registry};

use super::{ITEM, LIST, Outside, on_lists, parts};
use crate::cells::{Cells, ListCells, function, items, picked, put};
use crate::shape::list_of;

pub(super) fn register(registry: &mut Registry) {
    registry.register(length());
    registry.register(get());
    registry.register(pick_items());
    registry.register(slice());
    registry.register(filter());
}

fn length() -> NodeDef {
    on_lists("list.length", "The length of a list")
        .input("list", LIST, "")
        .output("value", Type::I32, "number of items")
        .kernel(|_| Ok(function(lengths)))
}

fn lengths(call: &mut Call<'_>) -> Result<(), Failure> {
    let mut cells = Cells::new(call);
    let lists = call.lists(0);
    cells.fill(call, |i| Ok(i32::try_from(lists.n_items(i)).unwrap_or(i32::MAX)))?;
    cells.put(call);
    Ok(())
}

fn get() -> NodeDef {
    Outside::setting(on_lists("list.get", "One item of a list by index"))
        .converts()
        .details("An empty list fails for any index, whatever the setting.")
        .input("list", LIST, "")
        .input("index", Type::I32, "index of the item, from 0")
        .or_number(0.0)
        .output("value", ITEM, "item at the index")
        .kernel(|parts| {
            let outside = Outside::of(parts.settings);
            Ok(function(move |call| one_item(call, outside)))
        })
}

fn one_item(call: &mut Call<'_>, outside: Outside) -> Result<(), Failure> {
    let source = items(call, 0);
    let (lists, indices) = (call.lists(0), call.input::<i32>(1));
    let found = picked(call, &source, |i| {
        let range = lists.parts(i).1;
        Ok(range.start + outside.place(indices.get(i), range.len(), i)?)
    })?;
    put(call, found);
    Ok(())
}

fn pick_items() -> NodeDef {
    Outside::setting(on_lists("list.pick", "Picks items of a list by their indices"))
        .details(
            "With the result of `list.sort_indices` of one list it puts another list in the same \
             order. An item may be picked several times or not at all.",
        )
        .input("list", LIST, "")
        .input("indices", list_of(Type::I32), "indices of the items, from 0")
        .output("value", LIST, "one item per index")
        .kernel(|parts| {
            let outside = Outside::of(parts.settings);
            Ok(function(move |call| picked_items(call, outside)))
        })
}

fn picked_items(call: &mut Call<'_>, outside: Outside) -> Result<(), Failure> {
    let source = items(call, 0);
    let mut cells = ListCells::new(call);
    let (lists, indices) = (call.lists(0), call.lists(1));
    cells.fill(
        call,
        |i| indices.n_items(i),
        |i, positions| {
            let range = lists.parts(i).1;
            for index in super::slice::<i32>(&indices, i) {
                positions.push(range.start + outside.place(*index, range.len(), i)?);
            }
            Ok(())
        },
    )?;
    cells.put_from(call, &source)
}

fn slice() -> NodeDef {
    on_lists("list.slice", "A part of a list by position")
        .details(
            "The items from index `start` up to but not including `start + count`, as far as they \
             exist.",
        )
        .input("list", LIST, "")
        .input("start", Type::I32, "index of the first item, from 0")
        .or_number(0.0)
        .input("count", Type::I32, "number of items")
        .or_number(1.0)
        .output("value", LIST, "")
        .kernel(|_| Ok(function(sliced)))
}

fn sliced(call: &mut Call<'_>) -> Result<(), Failure> {
    let source = items(call, 0);
    let lists = call.lists(0);
    let (starts, counts) = (call.input::<i32>(1), call.input::<i32>(2));
    let cells = parts(call, |i| {
        let range = lists.parts(i).1;
        let start = i64::from(starts.get(i));
        let end = start + i64::from(counts.get(i)).max(0);
        let inside = |x: i64| range.start + x.clamp(0, range.len() as i64) as usize;
        inside(start)..inside(end)
    })?;
    cells.put_from(call, &source)
}

fn filter() -> NodeDef {
    on_lists("list.filter", "Keeps the items for which a condition is true")
        .details("Fails if the numbers of conditions and items differ.")
        .input("list", LIST, "")
        .input("keep", list_of(Type::BOOL), "condition for each item")
        .output("value", LIST, "kept items in order")
        .kernel(|_| Ok(function(filtered)))
}

fn filtered(call: &mut Call<'_>) -> Result<(), Failure> {
    let source = items(call, 0);
    let mut cells = ListCells::new(call);
    let (lists, keep) = (call.lists(0), call.lists(1));
    let n_kept = |i: usize| super::slice::<bool>(&keep, i).iter().filter(|kept| **kept).count();
    cells.fill(call, n_kept, |i, positions| {
        let (range, keep) = (lists.parts(i).1, super::slice::<bool>(&keep, i));
        if range.len() != keep.len() {
            let message = format!("{} conditions for {} items", keep.len(), range.len());
            return Err(Failure::at(i, message).with_help("give one condition per item"));
        }
        positions.extend(range.zip(keep).filter(|(_, keep)| **keep).map(|(at, _)| at));
        Ok(())
    })?;
    cells.put_from(call, &source)
}
