//! Lists as sets: items that are in both, in one, in either. Items are the same if their bits are.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use millstream_base::Column;
use millstream_kernel::{Call, Failure, NodeDef, Registry};

use super::{LIST, Sources, on_lists};
use crate::cells::{ListCells, function, items};

pub(super) fn register(registry: &mut Registry) {
    registry.register(node(Kept::Either, "list.union", "The items that are in one of two lists"));
    registry.register(node(
        Kept::Both,
        "list.intersection",
        "The items that are in both of two lists",
    ));
    registry.register(node(
        Kept::FirstOnly,
        "list.difference",
        "The items that are in a list and not in another",
    ));
}

/// Which items are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    Either,
    Both,
    FirstOnly,
}

fn node(kept: Kept, name: &'static str, summary: &'static str) -> NodeDef {
    on_lists(name, summary)
        .details(
            "Each once, in the order in which they come first. Items are compared bit by bit: NaNs are the same, +0 \
             and -0 differ.",
        )
        .input("a", LIST, "")
        .input("b", LIST, "")
        .output("value", LIST, "")
        .kernel(move |_| Ok(function(move |call| joined(call, kept))))
}

/// Positions by what stands there.
struct Seen<'c> {
    column: &'c Column,
    keys: RandomState,
    /// By hash: the positions, and whether the item was given.
    places: HashMap<u64, Vec<(usize, bool)>>,
}

impl Seen<'_> {
    /// The mark of the item at a position, which is entered if it is new.
    fn mark(&mut self, at: usize) -> (&mut bool, bool) {
        let mut hasher = self.keys.build_hasher();
        self.column.feed_at(at, &mut hasher);
        let alike = self.places.entry(hasher.finish()).or_default();
        let found =
            alike.iter().position(|(other, _)| self.column.same_at(at, self.column, *other));
        let is_new = found.is_none();
        let place = found.unwrap_or_else(|| {
            alike.push((at, false));
            alike.len() - 1
        });
        (&mut alike[place].1, is_new)
    }
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
    cells.fill(call, at_most, |i, positions| {
        let (a, b) = ranges(i);
        let mut seen =
            Seen { column: &sources.column, keys: RandomState::new(), places: HashMap::new() };
        if kept == Kept::Either {
            positions.extend(a.chain(b).filter(|at| seen.mark(*at).1));
            return Ok(());
        }
        // The mark says that the item was decided on.
        for at in b.clone() {
            seen.mark(at);
        }
        for at in a {
            let (given, is_new) = seen.mark(at);
            let is_in_b = !is_new && !*given;
            let was_given = std::mem::replace(given, true);
            if !was_given && is_in_b == (kept == Kept::Both) {
                positions.push(at);
            }
        }
        Ok(())
    })?;
    cells.put_from(call, &sources.column)
}
