//! Scans: what a reduction has come to at each item.

use millstream_base::{Type, Vec2, Vec3, Vec4};
use millstream_node::{
    Call, Failure, Kernel, NodeDef, Registry, SettingKind, SettingValue, SocketType,
};

use super::number::Number;
use super::{NUMBERS, for_numbers};
use crate::cells::{ListEdit, function, put};

pub(super) fn register(registry: &mut Registry) {
    let before = "Item i is then that of items 0 to i - 1";
    registry.register(
        scan("scan.sum", "The running sum of a list")
            .details(format!(
                "Item i is the sum of items 0 to i, added from the first to the last. That is another \
                 order than that of `list.sum`, so the last item may differ from it in the last bits: after n items it is off by at most \
                 n * 6e-8 of the sum of their sizes, in `f64` n * 1.2e-16. Integers wrap. {before}, and item 0 is 0, if `exclusive` is set."
            ))
            .setting("exclusive", SettingKind::Flag, Some(SettingValue::Flag(false)), EXCLUSIVE)
            .kernel(|parts| Ok(sums(parts.generics[0], parts.settings.flag("exclusive")))),
    );
    registry.register(
        scan("scan.product", "The running product of a list")
            .details(format!(
                "Item i is the product of items 0 to i, multiplied from the first to the last. Integers \
                 wrap. {before}, and item 0 is 1, if `exclusive` is set."
            ))
            .setting("exclusive", SettingKind::Flag, Some(SettingValue::Flag(false)), EXCLUSIVE)
            .kernel(|parts| Ok(products(parts.generics[0], parts.settings.flag("exclusive")))),
    );
    registry.register(
        scan("scan.minimum", "The least value of a list so far")
            .details(
                "Of vectors in each component. A NaN gives way to a number, -0 is less than +0.",
            )
            .kernel(|parts| Ok(minima(parts.generics[0]))),
    );
    registry.register(
        scan("scan.maximum", "The greatest value of a list so far")
            .details(
                "Of vectors in each component. A NaN gives way to a number, +0 is greater than -0.",
            )
            .kernel(|parts| Ok(maxima(parts.generics[0]))),
    );
}

const EXCLUSIVE: &str = "leave out the item itself";

fn scan(name: &'static str, summary: &'static str) -> NodeDef {
    NodeDef::new(name, summary)
        .generic("T", NUMBERS)
        .input("list", SocketType::ListOf(0), "")
        .mutable()
        .output("value", SocketType::ListOf(0), "as long as the list")
}

fn sums(ty: Type, exclusive: bool) -> Kernel {
    let start = exclusive;
    for_numbers!(ty, T => function(move |call| scanned(call, T::add, start.then_some(T::ZERO))))
}

fn products(ty: Type, exclusive: bool) -> Kernel {
    let start = exclusive;
    for_numbers!(ty, T => function(move |call| scanned(call, T::multiply, start.then_some(T::ONE))))
}

fn minima(ty: Type) -> Kernel {
    for_numbers!(ty, T => function(|call| scanned(call, T::lesser, None)))
}

fn maxima(ty: Type) -> Kernel {
    for_numbers!(ty, T => function(|call| scanned(call, T::greater, None)))
}

/// Replaces each item by what has come together up to it, or before it where a start is given.
fn scanned<T: Number>(
    call: &mut Call<'_>,
    op: impl Fn(T, T) -> T + Copy,
    start: Option<T>,
) -> Result<(), Failure> {
    let lists = ListEdit::take(call, 0);
    let scanned = lists.edit(call, |_, items: &mut [T]| {
        match start {
            Some(mut so_far) => {
                for item in items {
                    let next = op(so_far, *item);
                    *item = so_far;
                    so_far = next;
                }
            }
            None => {
                for i in 1..items.len() {
                    items[i] = op(items[i - 1], items[i]);
                }
            }
        }
        Ok(())
    })?;
    put(call, scanned);
    Ok(())
}
