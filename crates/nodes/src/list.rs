//! Lists: making, reading, changing and ordering them.
//!
//! Most nodes take items of any type: they state which positions of the given lists make up the new
//! list, and the items are moved without being read. Lengths are checked against the limit before
//! anything is allocated.

mod by_bits;
mod by_item;
mod change;
mod convert;
#[cfg(test)]
mod gather_tests;
mod interpolate;
mod join;
mod make;
mod missing;
mod neighbors;
mod nest;
#[cfg(test)]
mod number_tests;
pub(crate) mod numbers;
mod order;
mod pattern;
#[cfg(test)]
mod pattern_tests;
mod rank;
mod read;
mod rolling;
mod sample;
mod search;
mod seen;
mod sets;
mod signal;
mod spectrum;
#[cfg(test)]
mod tests;

use std::ops::Range;

use millstream_base::{Column, Type, ValueType};
use millstream_node::function::Lists;
use millstream_node::settings::Settings;
use millstream_node::{Among, Call, Data, Failure, NodeDef, Registry, SocketType};

use crate::cells::ListCells;
use crate::shape::choices;

/// Adds the nodes of this family.
pub fn register(registry: &mut Registry) {
    make::register(registry);
    read::register(registry);
    change::register(registry);
    convert::register(registry);
    join::register(registry);
    order::register(registry);
    rank::register(registry);
    rolling::register(registry);
    search::register(registry);
    sample::register(registry);
    interpolate::register(registry);
    missing::register(registry);
    neighbors::register(registry);
    nest::register(registry);
    numbers::register(registry);
    pattern::register(registry);
    sets::register(registry);
    signal::register(registry);
    spectrum::register(registry);
}

/// The item type of a node that takes lists of any type.
const ITEM: SocketType = SocketType::Generic(0);
/// Lists of these items.
const LIST: SocketType = SocketType::ListOf(0);

/// A node on lists of any type.
fn on_lists(name: &'static str, summary: &'static str) -> NodeDef {
    NodeDef::new(name, summary).generic("T", Among::Any)
}

choices! {
    /// The meaning of an index outside a list.
    enum Outside {
        Error = "error": "the node fails",
        Clamp = "clamp": "the nearest item is used",
        Wrap = "wrap": "the list repeats in both directions, so -1 is the last item",
    }
}

impl Outside {
    /// Adds the setting.
    fn setting(def: NodeDef) -> NodeDef {
        def.choice("outside", Self::ALL, "error", "meaning of an index outside the list")
    }

    fn of(settings: &Settings) -> Self {
        Self::named(settings.text("outside"))
    }

    /// The position that an index means in a list of `n` items.
    fn place(self, index: i32, n: usize, element: usize) -> Result<usize, Failure> {
        let (i, len) = (i64::from(index), n as i64);
        if n == 0 {
            return Err(Failure::at(element, format!("index {index} of an empty list")));
        }
        match self {
            Self::Clamp => Ok(i.clamp(0, len - 1) as usize),
            Self::Wrap => Ok(i.rem_euclid(len) as usize),
            Self::Error if (0..len).contains(&i) => Ok(i as usize),
            Self::Error => {
                let message = format!("index {index} is outside a list of {n}");
                let help =
                    "indices start at 0; set `outside` to `clamp` or `wrap` to allow any index";
                Err(Failure::at(element, message).with_help(help))
            }
        }
    }
}

/// The reason why typed items exist.
const TYPED: &str = "the items have the signature's type";

/// The items of element `i`.
fn slice<'a, T: ValueType>(lists: &Lists<'a>, i: usize) -> &'a [T] {
    lists.slice::<T>(i).expect(TYPED)
}

/// For each element, the positions of one part of a column.
fn parts(
    call: &Call<'_>,
    part: impl Fn(usize) -> Range<usize>,
) -> Result<ListCells<usize>, Failure> {
    let mut cells = ListCells::new(call);
    let n_items = |i: usize| part(i).len();
    cells.fill(call, n_items, |i, positions| {
        positions.extend(part(i));
        Ok(())
    })?;
    Ok(cells)
}

/// The entries of several inputs, concatenated in one column so that positions in it can be picked.
struct Sources {
    column: Column,
    /// Where the entries of each input start.
    starts: Vec<usize>,
}

impl Sources {
    /// The columns, which all have items of type `ty`.
    fn join(ty: Type, columns: &[Column]) -> Self {
        let starts = Self::starts(columns);
        let column = match columns {
            [column] => column.clone(),
            _ => Column::concat(ty, columns).expect(TYPED),
        };
        Self { column, starts }
    }

    /// The positions at which the entries of each column will start.
    fn starts(columns: &[Column]) -> Vec<usize> {
        let ends = columns.iter().scan(0, |end, column| {
            let start = *end;
            *end += column.len();
            Some(start)
        });
        ends.collect()
    }
}

/// The entries of an input; a value shared by all elements is one entry.
fn entries(call: &Call<'_>, input: usize) -> Column {
    match call.argument(input).data() {
        Data::One(value) => Column::filled(value, 1),
        Data::Many(column) => column.clone(),
    }
}

/// The index among the [`entries`] of an input that belongs to element `i`.
fn entry(call: &Call<'_>, input: usize, i: usize) -> usize {
    let argument = call.argument(input);
    match argument.data() {
        Data::One(_) => 0,
        Data::Many(_) => argument.map().entry(i),
    }
}
