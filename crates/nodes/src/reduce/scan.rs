//! Scans: what a reduction has come to at each item.

use millstream_base::{Type, Vec2, Vec3, Vec4};
use millstream_kernel::{Call, Failure, NodeDef, Registry, SocketType};

use super::number::Number;
use super::{NUMBERS, for_numbers};
use crate::cells::{ListEdit, function, put};

pub(super) fn register(registry: &mut Registry) {
    registry.register(sum());
}

fn sum() -> NodeDef {
    NodeDef::new("scan.sum", "The running sum of a list")
        .details(
            "Item i is the sum of items 0 to i, added from the first to the last. That is another order \
             than that of `list.sum`, so the last item may differ from it in the last bits. Integers \
             wrap.",
        )
        .generic("T", NUMBERS)
        .input("list", SocketType::ListOf(0), "")
        .mutable()
        .output("value", SocketType::ListOf(0), "as long as the list")
        .kernel(|parts| Ok(running_sum(parts.generics[0])))
}

fn running_sum(ty: Type) -> millstream_kernel::Kernel {
    for_numbers!(ty, T => function(add_up::<T>))
}

fn add_up<T: Number>(call: &mut Call<'_>) -> Result<(), Failure> {
    let lists = ListEdit::take(call, 0);
    let summed = lists.edit(call, |_, items: &mut [T]| {
        for i in 1..items.len() {
            items[i] = items[i - 1].add(items[i]);
        }
        Ok(())
    })?;
    put(call, summed);
    Ok(())
}
