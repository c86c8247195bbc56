//! Scans, the running results of reductions.

use millstream_base::Type;
use millstream_node::{Call, Failure, Kernel, NodeDef, Registry, SocketType};

use super::number::Number;
use crate::cells::{ListEdit, function, put};
use crate::shape::{NUMBERS, for_type};

pub(super) fn register(registry: &mut Registry) {
    let before = "With `exclusive`, item i covers items 0 to i - 1";
    registry.register_all([
        scan("scan.sum", "The running sum of a list")
            .details(format!(
                "Item i is the sum of items 0 to i, added from first to last. `list.sum` adds in \
                 another order, so the last item may differ from it in the last bits: after n \
                 items the error is at most n * 6e-8 times the sum of the magnitudes (n * 1.2e-16 \
                 in `f64`). Integers wrap around. {before} and item 0 is 0."
            ))
            .flag("exclusive", false, EXCLUSIVE)
            .kernel(|parts| Ok(sums(parts.generics[0], parts.settings.flag("exclusive")))),
        scan("scan.product", "The running product of a list")
            .details(format!(
                "Item i is the product of items 0 to i, multiplied from first to last. Integers \
                 wrap around. {before} and item 0 is 1."
            ))
            .flag("exclusive", false, EXCLUSIVE)
            .kernel(|parts| Ok(products(parts.generics[0], parts.settings.flag("exclusive")))),
        scan("scan.minimum", "The running minimum of a list")
            .details(
                "For vectors, the minimum of each component. NaN is ignored unless all values so \
                 far are NaN; -0 is less than +0.",
            )
            .kernel(|parts| {
                Ok(for_type!(numbers parts.generics[0], T => scan_with(T::lesser, None)))
            }),
        scan("scan.maximum", "The running maximum of a list")
            .details(
                "For vectors, the maximum of each component. NaN is ignored unless all values so \
                 far are NaN; +0 is greater than -0.",
            )
            .kernel(|parts| {
                Ok(for_type!(numbers parts.generics[0], T => scan_with(T::greater, None)))
            }),
    ]);
}

const EXCLUSIVE: &str = "exclude the item itself";

fn scan(name: &'static str, summary: &'static str) -> NodeDef {
    NodeDef::new(name, summary)
        .generic("T", NUMBERS)
        .input("list", SocketType::ListOf(0), "")
        .mutable()
        .output("value", SocketType::ListOf(0), "running result, as long as the list")
}

fn sums(ty: Type, exclusive: bool) -> Kernel {
    for_type!(numbers ty, T => scan_with(T::add, exclusive.then_some(T::ZERO)))
}

fn products(ty: Type, exclusive: bool) -> Kernel {
    for_type!(numbers ty, T => scan_with(T::multiply, exclusive.then_some(T::ONE)))
}

fn scan_with<T: Number>(
    op: impl Fn(T, T) -> T + Copy + Send + Sync + 'static,
    start: Option<T>,
) -> Kernel {
    function(move |call| scanned(call, op, start))
}

/// Replaces each item by the running result up to it, or up to the item before if a start is given.
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
