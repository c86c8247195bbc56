//! Lists as sets: union, intersection, difference. Items are equal if their bits are.

use millstream_node::{Call, Failure, NodeDef, Registry};

use super::seen::{HASHED, Seen};
use super::{LIST, Sources, on_lists};
use crate::cells::{ListCells, function, items};

pub(super) fn register(registry: &mut Registry) {
    registry.register(node(Kept::Either, "list.union", "The union of two lists"));
    registry.register(node(Kept::Both, "list.intersection", "The intersection of two lists"));
    registry.register(node(
        Kept::FirstOnly,
        "list.difference",
        "The difference of two lists: items of a that are not in b",
    ));
}

/// The items that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    Either,
    Both,
    FirstOnly,
}

fn node(kept: Kept, name: &'static str, summary: &'static str) -> NodeDef {
    on_lists(name, summary)
        .details(
            "Each item occurs once, in the order of first occurrence. Items are compared bit by \
             bit: all NaNs are equal, +0 and -0 differ.",
        )
        .input("a", LIST, "")
        .input("b", LIST, "")
        .output("value", LIST, "")
        .kernel(move |_| Ok(function(move |call| joined(call, kept))))
}

fn joined(call: &mut Call<'_>, kept: Kept) -> Result<(), Failure> {
    let columns = [items(call, 0), items(call, 1)];
    let sources = Sources::join(columns[0].ty(), &columns);
    let mut cells = ListCells::new(call);
    let (first, second) = (call.lists(0), call.lists(1));
    let ranges = |i: usize| {
        let (a, b) = (first.parts(i).1, second.parts(i).1);
        let start = sources.starts[1];
        (a, b.start + start..b.end + start)
    };
    let at_most = |i: usize| {
        let (a, b) = ranges(i);
        a.len() + if kept == Kept::Either { b.len() } else { 0 }
    };
    let (mut seen, mut pace) = (Seen::new(&sources.column), call.pace());
    cells.fill(call, at_most, |i, positions| {
        let (a, b) = ranges(i);
        seen.clear();
        if kept == Kept::Either {
            return pace.over(a.chain(b), HASHED, |at| {
                positions.extend(seen.mark(at).1.then_some(at));
                Ok(())
            });
        }
        // The mark says that the item was already handled.
        pace.over(b, HASHED, |at| {
            seen.mark(at);
            Ok(())
        })?;
        pace.over(a, HASHED, |at| {
            let (given, is_new) = seen.mark(at);
            let is_in_b = !is_new && !*given;
            let was_given = std::mem::replace(given, true);
            if !was_given && is_in_b == (kept == Kept::Both) {
                positions.push(at);
            }
            Ok(())
        })
    })?;
    cells.put_from(call, &sources.column)
}
