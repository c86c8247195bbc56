//! Lists in another order.

use std::cmp::Ordering;
use std::sync::Arc;

use millstream_base::{Type, ValueType};
use millstream_kernel::{
    Among, Call, Failure, Kernel, NodeDef, Registry, SettingKind, SettingValue,
};

use super::{LIST, on_lists, slice};
use crate::cells::{ListCells, ListEdit, function, items, put};

pub(super) fn register(registry: &mut Registry) {
    registry.register(reverse());
    registry.register(sort());
    registry.register(sort_indices());
}

fn reverse() -> NodeDef {
    on_lists("list.reverse", "A list from back to front")
        .input("list", LIST, "")
        .output("value", LIST, "the same items")
        .kernel(|_| Ok(function(reversed)))
}

fn reversed(call: &mut Call<'_>) -> Result<(), Failure> {
    let source = items(call, 0);
    let mut cells = ListCells::new(call);
    let lists = call.lists(0);
    cells.fill(
        call,
        |i| lists.n_items(i),
        |i, positions| {
            positions.extend(lists.parts(i).1.rev());
            Ok(())
        },
    )?;
    cells.put_from(call, &source)
}

/// What can be sorted.
const ORDERED: Among =
    Among::These(&[Type::BOOL, Type::I32, Type::I64, Type::F32, Type::F64, Type::STRING]);

/// A value with a place among others.
trait Ordered: ValueType {
    /// Ascending; what has no place, a NaN, is `None`.
    fn order(&self, other: &Self) -> Option<Ordering>;
    /// Whether the value has a place.
    fn has_place(&self) -> bool {
        self.order(self).is_some()
    }
}

macro_rules! ordered {
    ($($ty:ty)*) => {$(
        impl Ordered for $ty {
            fn order(&self, other: &Self) -> Option<Ordering> {
                self.partial_cmp(other)
            }
        }
    )*};
}
ordered!(bool i32 i64 f32 f64 Arc<str>);

/// Which of two items comes first; NaNs last in either direction.
fn compare<T: Ordered>(a: &T, b: &T, descending: bool) -> Ordering {
    match a.order(b) {
        Some(order) if descending => order.reverse(),
        Some(order) => order,
        None => b.has_place().cmp(&a.has_place()),
    }
}

fn ordering(name: &'static str, summary: &'static str) -> NodeDef {
    NodeDef::new(name, summary)
        .details(
            "False comes before true, texts are ordered by the numbers of their characters. Items that \
             are equal stay in their order, -0 and +0 are; NaNs come last in either direction.",
        )
        .setting(
            "descending",
            SettingKind::Flag,
            Some(SettingValue::Flag(false)),
            "the greatest comes first",
        )
        .generic("T", ORDERED)
}

/// The kernel for the type of the items.
macro_rules! for_ordered {
    ($ty:expr, $T:ident => $kernel:expr) => {
        for_ordered!(@ $ty, $T => $kernel, [bool, i32, i64, f32, f64, Arc<str>])
    };
    (@ $ty:expr, $T:ident => $kernel:expr, [$($rust:ty),*]) => {{
        let ty = $ty;
        $(if ty == Type::of::<$rust>() {
            type $T = $rust;
            return $kernel;
        })*
        unreachable!("the socket takes what can be sorted, but {ty} cannot")
    }};
}

fn sort() -> NodeDef {
    ordering("list.sort", "A list in order of its items")
        .input("list", LIST, "")
        .mutable()
        .output("value", LIST, "the same items")
        .kernel(|parts| Ok(sorting(parts.generics[0], parts.settings.flag("descending"))))
}

fn sorting(ty: Type, descending: bool) -> Kernel {
    for_ordered!(ty, T => function(move |call| {
        let lists = ListEdit::take(call, 0);
        let sorted = lists.edit(call, |_, items: &mut [T]| {
            items.sort_by(|a, b| compare(a, b, descending));
            Ok(())
        })?;
        put(call, sorted);
        Ok(())
    }))
}

fn sort_indices() -> NodeDef {
    let indices = Type::I32.list().expect("lists of indices exist");
    ordering("list.sort_indices", "Where the items of a list stand in order")
        .input("list", LIST, "")
        .output("value", indices, "numbers of the items, that of the first in order first")
        .kernel(|parts| Ok(sorting_indices(parts.generics[0], parts.settings.flag("descending"))))
}

fn sorting_indices(ty: Type, descending: bool) -> Kernel {
    for_ordered!(ty, T => function(move |call| indices_in_order::<T>(call, descending)))
}

fn indices_in_order<T: Ordered>(call: &mut Call<'_>, descending: bool) -> Result<(), Failure> {
    let mut cells = ListCells::<i32>::new(call);
    let lists = call.lists(0);
    cells.fill(
        call,
        |i| lists.n_items(i),
        |i, indices| {
            let items = slice::<T>(&lists, i);
            let n = i32::try_from(items.len())
                .map_err(|_| Failure::at(i, "a list too long for its items to be numbered"))?;
            let start = indices.len();
            indices.extend(0..n);
            let key = |index: &i32| &items[*index as usize];
            indices[start..].sort_by(|a, b| compare(key(a), key(b), descending));
            Ok(())
        },
    )?;
    cells.put(call)
}
