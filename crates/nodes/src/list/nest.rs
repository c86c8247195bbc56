//! Lists of lists: flattening, splitting, interleaving.

use std::ops::Range;

use millstream_base::ragged::Ragged;
use millstream_base::{Column, Type};
use millstream_node::gather::{Gather, ItemsMade};
use millstream_node::settings::SettingError;
use millstream_node::{Call, Data, Failure, Function, NodeDef, Registry};

use super::{ITEM, LIST, Sources, TYPED, on_lists, parts};
use crate::cells::{ListCells, check_total, function, items, kernel, put};

pub(super) fn register(registry: &mut Registry) {
    registry.register(flatten());
    registry.register(chunks());
    registry.register(interleave());
}

fn flatten() -> NodeDef {
    on_lists("list.flatten", "Flattens a list of lists")
        .converts()
        .details("Removes one level of nesting; the items may be lists themselves.")
        .input("lists", LIST, "list of lists")
        .output("value", ITEM, "items of all lists in order")
        .kernel(|parts| {
            let ty = parts.generics[0];
            if ty.element().is_none() {
                let message = format!("its items must be lists, but they are {ty}");
                return Err(SettingError::refused("lists", message));
            }
            Ok(function(flattened))
        })
}

fn flattened(call: &mut Call<'_>) -> Result<(), Failure> {
    let inner = items(call, 0);
    let inner = inner.as_ragged().expect("the items are lists");
    let source = inner.values().clone();
    let lists = call.lists(0);
    let cells = parts(call, |i| {
        let range = lists.parts(i).1;
        inner.offsets()[range.start]..inner.offsets()[range.end]
    })?;
    cells.put_from(call, &source)
}

fn chunks() -> NodeDef {
    on_lists("list.chunks", "Splits a list into chunks of equal length")
        .details("The last chunk may be shorter. A length below 1 counts as 1.")
        .input("list", ITEM, "list to split, with items of any type")
        .input_or("length", Type::I32, 2.0, "items per chunk")
        .output("value", LIST, "chunks in order")
        .kernel(|parts| {
            let ty = parts.generics[0];
            if ty.element().is_none() {
                return Err(SettingError::refused(
                    "list",
                    format!("it must be a list, but it is {ty}"),
                ));
            }
            Ok(function(chunked))
        })
}

fn chunked(call: &mut Call<'_>) -> Result<(), Failure> {
    let source = items(call, 0);
    let (lists, lengths) = (call.lists(0), call.input::<i32>(1));
    let uniform = call.is_uniform();
    // Chunks are consecutive in the items of the list, so only positions are new.
    let mut offsets = vec![0];
    let mut ends = vec![0];
    let mut positions: Vec<usize> = Vec::new();
    let mut pace = call.pace();
    for i in call.mask() {
        if !uniform {
            ends.resize(i + 1, offsets.len() - 1);
        }
        let (range, length) = (lists.parts(i).1, lengths.get(i).max(1) as usize);
        check_total(positions.len().saturating_add(range.len()), call.limits())?;
        pace.work(range.len())?;
        for start in range.clone().step_by(length) {
            positions.extend(start..range.end.min(start + length));
            offsets.push(positions.len());
        }
        if uniform {
            break;
        }
    }
    let inner = Ragged::new(offsets, source.gather(positions.into_iter()));
    let parts = Column::from_ragged(inner.ok_or_else(crate::cells::too_deep)?);
    let data = if uniform {
        Data::One(millstream_base::Value::List(parts))
    } else {
        ends.resize(call.extent() + 1, parts.len());
        let lists = Ragged::new(ends, parts).ok_or_else(crate::cells::too_deep)?;
        Data::Many(Column::from_ragged(lists))
    };
    put(call, data);
    Ok(())
}

fn interleave() -> NodeDef {
    on_lists("list.interleave", "Interleaves the items of several lists")
        .details(
            "The first items of all lists, then their second items, and so on up to the end of the \
             shortest list.",
        )
        .input("lists", LIST, "lists in order; none give an empty list")
        .multiple()
        .output("value", LIST, "")
        .kernel(|parts| {
            let ty = parts.generics[0];
            Ok(kernel(Interleaving { ty }))
        })
}

/// Interleaves lists with items of a type.
struct Interleaving {
    ty: Type,
}

impl Function for Interleaving {
    fn call(&self, call: &mut Call<'_>) -> Result<(), Failure> {
        interleaved(call, self.ty)
    }

    fn gather(&self) -> Option<Gather<'_>> {
        Some(Gather::Items(self))
    }
}

impl ItemsMade for Interleaving {
    fn readers_of(
        &self,
        call: &Call<'_>,
        input: usize,
        item: usize,
        visit: &mut dyn FnMut(Range<usize>),
    ) -> bool {
        let n = call.n_inputs();
        if (0..n).all(|input| item < items(call, input).len()) {
            let at = item * n + input;
            visit(at..at + 1);
        }
        true
    }

    fn items_at(&self, call: &Call<'_>, at: &[u32]) -> Result<Column, Failure> {
        let lists: Vec<Column> = (0..call.n_inputs()).map(|input| items(call, input)).collect();
        let item = |at: &u32| lists[*at as usize % lists.len()].get(*at as usize / lists.len());
        Ok(self.ty.collect(&mut at.iter().map(item)).expect(TYPED))
    }
}

fn interleaved(call: &mut Call<'_>, ty: Type) -> Result<(), Failure> {
    let n = call.n_inputs();
    let columns: Vec<Column> = (0..n).map(|input| items(call, input)).collect();
    let starts = Sources::starts(&columns);
    let mut cells = ListCells::new(call);
    let part = |input: usize, i: usize| call.lists(input).parts(i).1;
    let rounds = |i: usize| (0..n).map(|input| part(input, i).len()).min().unwrap_or(0);
    cells.fill(
        call,
        |i| rounds(i).saturating_mul(n),
        |i, positions| {
            for round in 0..rounds(i) {
                let of = |input: usize| starts[input] + part(input, i).start + round;
                positions.extend((0..n).map(of));
            }
            Ok(())
        },
    )?;
    let sources = Sources::join(ty, &columns);
    cells.put_from(call, &sources.column)
}
