//! Lists that differ from another one in one item, written in place if the list has no other user.

use millstream_base::{Column, Type, Value, ValueType};
use millstream_node::{Call, Data, Failure, NodeDef, Registry};

use super::by_item::{Part, joining};
use super::{ITEM, LIST, Outside, Sources, entries, entry, on_lists};
use crate::cells::{ListCells, ListEdit, check_length, first, items, kernel, put};
use crate::each::{Places, each_pick};
use crate::shape::for_type;

pub(super) fn register(registry: &mut Registry) {
    registry.register(set());
    registry.register(append());
    registry.register(insert());
    registry.register(remove());
}

fn set() -> NodeDef {
    Outside::setting(on_lists("list.set", "Replaces one item of a list"))
        .details(
            "A chain of these nodes changes one list in place, without copies, as long as nothing \
             else uses the lists between them. An empty list fails for any index, whatever the \
             setting.",
        )
        .input("list", LIST, "")
        .mutable()
        .input_or("index", Type::I32, 0.0, "index of the item, from 0")
        .input("item", ITEM, "new item")
        .output("value", LIST, "list with the new item")
        .kernel(|parts| {
            let outside = Outside::of(parts.settings);
            Ok(for_type!(
                built_in parts.generics[0],
                T => joining(
                    move |call| set_typed::<T>(call, outside),
                    &[1],
                    move |call| replaced(call, outside),
                ),
                joining(
                    move |call| set_any(call, outside),
                    &[1],
                    move |call| replaced(call, outside),
                )
            ))
        })
}

fn set_typed<T: ValueType>(call: &mut Call<'_>, outside: Outside) -> Result<(), Failure> {
    let lists = ListEdit::take(call, 0);
    let (indices, values) = (call.input::<i32>(1), call.input::<T>(2));
    let changed = lists.edit(call, |i, items: &mut [T]| {
        let place = outside.place(indices.get(i), items.len(), i)?;
        items[place] = values.get(i);
        Ok(())
    })?;
    put(call, changed);
    Ok(())
}

/// For items of a type without a case of its own: they are picked from the old list and the new
/// item.
fn set_any(call: &mut Call<'_>, outside: Outside) -> Result<(), Failure> {
    let mut cells = ListCells::new(call);
    let lists = call.lists(0);
    let old = items(call, 0);
    let sources = Sources::join(old.ty(), &[old.clone(), entries(call, 2)]);
    let indices = call.input::<i32>(1);
    cells.fill(
        call,
        |i| lists.n_items(i),
        |i, positions| {
            let range = lists.parts(i).1;
            let place = positions.len() + outside.place(indices.get(i), range.len(), i)?;
            positions.extend(range);
            positions[place] = sources.starts[1] + entry(call, 2, i);
            Ok(())
        },
    )?;
    cells.put_from(call, &sources.column)
}

/// The parts of a list with one item replaced.
fn replaced(call: &Call<'_>, outside: Outside) -> Option<Vec<Part>> {
    let n = items(call, 0).len();
    let place = outside.place(call.input::<i32>(1).get(0), n, 0).ok()?;
    Some(vec![Part::Of(0, 0..place), Part::Item(2, 1), Part::Of(0, place + 1..n)])
}

fn append() -> NodeDef {
    on_lists("list.append", "Appends an item to a list")
        .details(
            "A chain of these nodes extends one list in place, as long as nothing else uses the \
             lists between them.",
        )
        .input("list", LIST, "")
        .mutable()
        .input("item", ITEM, "new last item")
        .output("value", LIST, "list with the new item")
        .kernel(|parts| {
            Ok(for_type!(
                built_in parts.generics[0],
                T => joining(append_typed::<T>, &[], |call| Some(extended(call))),
                joining(append_any, &[], |call| Some(extended(call)))
            ))
        })
}

/// The parts of a list with one more item.
fn extended(call: &Call<'_>) -> Vec<Part> {
    vec![Part::Of(0, 0..items(call, 0).len()), Part::Item(1, 1)]
}

fn append_typed<T: ValueType>(call: &mut Call<'_>) -> Result<(), Failure> {
    if !call.is_uniform() {
        return append_any(call);
    }
    let Some(i) = first(call) else { return append_any(call) };
    let item = call.input::<T>(1).get(i);
    check_length(call.lists(0).n_items(i) + 1, i, call.limits())?;
    let mut items: Column = match ListEdit::take(call, 0).uniform() {
        Ok(items) => items,
        Err(_) => unreachable!("the call was just found to be uniform"),
    };
    items.make_mut::<T>().expect(super::TYPED).push(item);
    put(call, Data::One(Value::List(items)));
    Ok(())
}

fn append_any(call: &mut Call<'_>) -> Result<(), Failure> {
    let mut cells = ListCells::new(call);
    let lists = call.lists(0);
    let old = items(call, 0);
    let sources = Sources::join(old.ty(), &[old.clone(), entries(call, 1)]);
    cells.fill(
        call,
        |i| lists.n_items(i) + 1,
        |i, positions| {
            positions.extend(lists.parts(i).1);
            positions.push(sources.starts[1] + entry(call, 1, i));
            Ok(())
        },
    )?;
    cells.put_from(call, &sources.column)
}

fn insert() -> NodeDef {
    on_lists("list.insert", "Inserts an item into a list")
        .details(
            "The item is inserted before the item with that index: at the start for 0 or less, at \
             the end for the length or more.",
        )
        .input("list", LIST, "")
        .input_or("index", Type::I32, 0.0, "index of the new item, from 0")
        .input("item", ITEM, "item to insert")
        .output("value", LIST, "list with the new item")
        .kernel(|_| {
            let parts = |call: &Call<'_>| {
                let n = items(call, 0).len();
                let at = place_of(call.input::<i32>(1).get(0), n);
                Some(vec![Part::Of(0, 0..at), Part::Item(2, 1), Part::Of(0, at..n)])
            };
            Ok(joining(inserted, &[1], parts))
        })
}

/// The position of an item that is inserted into `n`.
fn place_of(index: i32, n: usize) -> usize {
    i64::from(index).clamp(0, n as i64) as usize
}

fn inserted(call: &mut Call<'_>) -> Result<(), Failure> {
    let mut cells = ListCells::new(call);
    let (lists, indices) = (call.lists(0), call.input::<i32>(1));
    let old = items(call, 0);
    let sources = Sources::join(old.ty(), &[old.clone(), entries(call, 2)]);
    cells.fill(
        call,
        |i| lists.n_items(i) + 1,
        |i, positions| {
            let range = lists.parts(i).1;
            let at = range.start + place_of(indices.get(i), range.len());
            positions.extend(range.start..at);
            positions.push(sources.starts[1] + entry(call, 2, i));
            positions.extend(at..range.end);
            Ok(())
        },
    )?;
    cells.put_from(call, &sources.column)
}

fn remove() -> NodeDef {
    Outside::setting(on_lists("list.remove", "Removes one item of a list"))
        .details("An empty list fails for any index, whatever the setting.")
        .input("list", LIST, "")
        .input_or("index", Type::I32, 0.0, "index of the item, from 0")
        .output("value", LIST, "list without the item")
        .kernel(|parts| {
            let outside = Outside::of(parts.settings);
            Ok(kernel(each_pick::<(Places, i32)>(
                |(list, _)| list.len(),
                move |element, (list, index), positions| {
                    let at = list.start + outside.place(index, list.len(), element.i)?;
                    positions.extend((list.start..at).chain(at + 1..list.end));
                    Ok(())
                },
            )))
        })
}
