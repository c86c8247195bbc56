//! Concatenation and repetition of lists.

use millstream_base::{Column, Type, Value};
use millstream_node::{Call, Failure, NodeDef, Registry};

use super::by_item::{Part, joining};
use super::{LIST, Sources, on_lists};
use crate::cells::{ListCells, check_length, first, items};
use crate::each::{Places, each_pick};

pub(super) fn register(registry: &mut Registry) {
    registry.register(concat());
    registry.register(repeat());
}

fn concat() -> NodeDef {
    on_lists("list.concat", "Concatenates lists")
        .details("A single item, linked or written beside a linked list, is a list of one.")
        .input("lists", LIST, "lists in order; none give an empty list")
        .multiple()
        .output("value", LIST, "all items in order")
        .kernel(|parts| {
            let ty = parts.generics[0];
            let parts = |call: &Call<'_>| {
                let whole = |input: usize| Part::Of(input, 0..items(call, input).len());
                Some((0..call.n_inputs()).map(whole).collect())
            };
            Ok(joining(move |call| joined(call, ty), &[], parts))
        })
}

fn joined(call: &mut Call<'_>, ty: Type) -> Result<(), Failure> {
    let n = call.n_inputs();
    if call.is_uniform() {
        return joined_once(call, ty);
    }
    let columns: Vec<Column> = (0..n).map(|input| items(call, input)).collect();
    let mut cells = ListCells::new(call);
    let part = |input: usize, i: usize| call.lists(input).parts(i).1;
    let n_items = |i: usize| (0..n).map(|input| part(input, i).len()).sum();
    // Nothing is allocated before the limit is checked: positions are first counted part by part.
    let starts = Sources::starts(&columns);
    cells.fill(call, n_items, |i, positions| {
        for (input, start) in starts.iter().enumerate() {
            positions.extend(part(input, i).map(|at| start + at));
        }
        Ok(())
    })?;
    let sources = Sources::join(ty, &columns);
    cells.put_from(call, &sources.column)
}

/// Joins lists shared by all elements. Lists that double from node to node reach the limit in no
/// more time than it takes to copy them.
fn joined_once(call: &mut Call<'_>, ty: Type) -> Result<(), Failure> {
    let lists: Vec<Column> = match first(call) {
        Some(i) => (0..call.n_inputs()).map(|input| call.lists(input).list(i)).collect(),
        None => Vec::new(),
    };
    let n_items = lists.iter().map(Column::len).fold(0, usize::saturating_add);
    check_length(n_items, first(call).unwrap_or(0), call.limits())?;
    let joined = Column::concat(ty, &lists).expect("all lists have items of this type");
    call.set_one(0, Value::List(joined));
    Ok(())
}

fn repeat() -> NodeDef {
    on_lists("list.repeat", "Repeats a list")
        .details("A count of 0 or less gives an empty list.")
        .input("list", LIST, "list to repeat; a single item is a list too")
        .input_or("count", Type::I32, 2.0, "number of repetitions")
        .output("value", LIST, "")
        .function(each_pick::<(Places, i32)>(
            |(list, count)| list.len().saturating_mul(count.max(0) as usize),
            |_, (list, count), positions| {
                if !list.is_empty() {
                    (0..count).for_each(|_| positions.extend(list.clone()));
                }
                Ok(())
            },
        ))
}
