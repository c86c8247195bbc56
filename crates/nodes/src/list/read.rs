//! Reading lists: length, items, parts.

use std::ops::Range;

use millstream_base::{Column, Type};
use millstream_node::gather::{Gather, ItemsMade, ItemsRead};
use millstream_node::{Call, Failure, Function, NodeDef, Registry};

use super::{ITEM, LIST, Outside, on_lists};
use crate::cells::{items, kernel, picked, put};
use crate::each::{Items, Places, each, each_pick};
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
        .function(each::<(Places,), _>(|(list,)| i32::try_from(list.len()).unwrap_or(i32::MAX)))
}

fn get() -> NodeDef {
    Outside::setting(on_lists("list.get", "One item of a list by index"))
        .converts()
        .details("An empty list fails for any index, whatever the setting.")
        .input("list", LIST, "")
        .input_or("index", Type::I32, 0.0, "index of the item, from 0")
        .output("value", ITEM, "item at the index")
        .kernel(|parts| Ok(kernel(OneItem { outside: Outside::of(parts.settings) })))
}

struct OneItem {
    outside: Outside,
}

impl OneItem {
    /// The start of the list of element `i` in the column of all items, and the position in the
    /// list of the item.
    fn place(&self, call: &Call<'_>) -> impl Fn(usize) -> Result<(usize, usize), Failure> {
        let (lists, indices) = (call.lists(0), call.input::<i32>(1));
        move |i| {
            let range = lists.parts(i).1;
            Ok((range.start, self.outside.place(indices.get(i), range.len(), i)?))
        }
    }
}

impl Function for OneItem {
    fn call(&self, call: &mut Call<'_>) -> Result<(), Failure> {
        let source = items(call, 0);
        let place = self.place(call);
        let found = picked(call, &source, |i| place(i).map(|(start, at)| start + at))?;
        drop(place);
        put(call, found);
        Ok(())
    }

    fn gather(&self) -> Option<Gather<'_>> {
        Some(Gather::Elements(self))
    }
}

impl ItemsRead for OneItem {
    fn items_read(
        &self,
        call: &Call<'_>,
        visit: &mut dyn FnMut(usize, usize),
    ) -> Result<(), Failure> {
        let place = self.place(call);
        for i in call.mask() {
            visit(i, place(i)?.1);
        }
        Ok(())
    }
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
            let picking = each_pick::<(Places, Items<i32>)>(
                |(_, indices)| indices.len(),
                move |element, (list, indices), positions| {
                    for index in indices {
                        let place = outside.place(*index, list.len(), element.i)?;
                        positions.push(list.start + place);
                    }
                    Ok(())
                },
            );
            Ok(kernel(Picked { outside, picking }))
        })
}

/// Picks one item per index.
struct Picked<P> {
    outside: Outside,
    /// The function for all indices.
    picking: P,
}

impl<P: Function + ItemsRead> Function for Picked<P> {
    fn call(&self, call: &mut Call<'_>) -> Result<(), Failure> {
        self.picking.call(call)
    }

    fn gather(&self) -> Option<Gather<'_>> {
        Some(Gather::Items(self))
    }
}

impl<P: Function + ItemsRead> ItemsMade for Picked<P> {
    fn readers_of(
        &self,
        _: &Call<'_>,
        input: usize,
        item: usize,
        visit: &mut dyn FnMut(Range<usize>),
    ) -> bool {
        let is_index = input == 1;
        if is_index {
            visit(item..item + 1);
        }
        is_index
    }

    fn items_read(&self) -> Option<&dyn ItemsRead> {
        Some(&self.picking)
    }

    fn items_at(&self, call: &Call<'_>, at: &[u32]) -> Result<Column, Failure> {
        let (list, indices) = (items(call, 0), call.lists(1));
        let indices = super::slice::<i32>(&indices, 0);
        let place = |at: &u32| self.outside.place(indices[*at as usize], list.len(), 0);
        let places: Vec<usize> = at.iter().map(place).collect::<Result<_, _>>()?;
        Ok(list.gather(places.into_iter()))
    }
}

fn slice() -> NodeDef {
    on_lists("list.slice", "A part of a list by position")
        .details(
            "The items from index `start` up to but not including `start + count`, as far as they \
             exist.",
        )
        .input("list", LIST, "")
        .input_or("start", Type::I32, 0.0, "index of the first item, from 0")
        .input_or("count", Type::I32, 1.0, "number of items")
        .output("value", LIST, "")
        .function(each_pick::<(Places, i32, i32)>(
            |(list, start, count)| part(list, start, count).len(),
            |_, (list, start, count), positions| {
                positions.extend(part(list, start, count));
                Ok(())
            },
        ))
}

fn part(list: Range<usize>, start: i32, count: i32) -> Range<usize> {
    let start = i64::from(start);
    let end = start + i64::from(count).max(0);
    let inside = |x: i64| list.start + x.clamp(0, list.len() as i64) as usize;
    inside(start)..inside(end)
}

fn filter() -> NodeDef {
    on_lists("list.filter", "Keeps the items for which a condition is true")
        .details("Fails if the numbers of conditions and items differ.")
        .input("list", LIST, "")
        .input("keep", list_of(Type::BOOL), "condition for each item")
        .output("value", LIST, "kept items in order")
        .function(each_pick::<(Places, Items<bool>)>(
            |(_, keep)| keep.iter().filter(|kept| **kept).count(),
            |element, (list, keep), positions| {
                if list.len() != keep.len() {
                    let message = format!("{} conditions for {} items", keep.len(), list.len());
                    return Err(element.failure(message).with_help("give one condition per item"));
                }
                positions.extend(list.zip(keep).filter(|(_, keep)| **keep).map(|(at, _)| at));
                Ok(())
            },
        ))
}
