//! New lists: computed items, axes, ranges, single items.

use millstream_base::ramp::Ramp;
use millstream_base::{Feature, Type};
use millstream_node::{Among, Call, Failure, NodeDef, Registry, ScopeRule};

use super::{ITEM, LIST, Sources, entries, entry, on_lists};
use crate::cells::{ListCells, function, handing_on};
use crate::context::{along, with_axis};
use crate::each::each_list;
use crate::shape::{ORDERED, for_type, sockets_of};

pub(super) fn register(registry: &mut Registry) {
    registry.register(generate());
    registry.register(collect());
    registry.register(of());
    registry.register(range());
}

fn generate() -> NodeDef {
    on_lists("list.generate", "A list of items computed by index")
        .details(
            "Evaluates what is linked to `item` once for each item, with `context.index` counting \
             from 0. Nodes that do not depend on the index run only once. A negative count gives \
             an empty list.",
        )
        .input("item", ITEM, "item, computed for each index")
        .scope(ScopeRule::Each { feature: Feature::Index, count: 1 })
        .input_or("count", Type::I32, 0.0, "number of items")
        .output("value", LIST, "")
        // The items are gathered before the kernel is called.
        .kernel(|_| Ok(handing_on()))
}

fn collect() -> NodeDef {
    let def = NodeDef::new(
        "list.collect",
        "Collects the values of all elements or moments in a list",
    )
    .details(
        "Computes `value` for every cell along the axis of this feature and level: the elements of \
         the request or of the nearest enclosing list or loop, or the moments of the request. \
         Without such an axis the list has one item.",
    );
    with_axis(def)
        .sockets_by_settings(|settings| {
            let sockets = NodeDef::new("", "")
                .generic("T", Among::Any)
                .input("value", ITEM, "value to collect, computed for every cell")
                .scope(along(settings))
                .output("value", LIST, "one item per cell");
            Ok(sockets_of(&sockets))
        })
        // The items are gathered before the kernel is called.
        .kernel(|_| Ok(handing_on()))
}

fn of() -> NodeDef {
    on_lists("list.of", "A list of given items")
        .input("items", ITEM, "items in order; none give an empty list")
        .multiple()
        .output("value", LIST, "")
        .kernel(|parts| {
            let ty = parts.generics[0];
            Ok(function(move |call| items_in_order(call, ty)))
        })
}

fn items_in_order(call: &mut Call<'_>, ty: Type) -> Result<(), Failure> {
    let n = call.n_inputs();
    let columns: Vec<_> = (0..n).map(|input| entries(call, input)).collect();
    let sources = Sources::join(ty, &columns);
    let mut cells = ListCells::new(call);
    cells.fill(
        call,
        |_| n,
        |i, positions| {
            positions.extend((0..n).map(|input| sources.starts[input] + entry(call, input, i)));
            Ok(())
        },
    )?;
    cells.put_from(call, &sources.column)
}

fn range() -> NodeDef {
    NodeDef::new("list.range", "A list of evenly spaced numbers")
        .details(
            "Item i is computed as `start + i * step`, so rounding errors do not accumulate. \
             Integers wrap around. A negative count gives an empty list.",
        )
        .generic("T", ORDERED)
        .input_or("start", ITEM, 0.0, "first number")
        .input_or("step", ITEM, 1.0, "difference between neighbors")
        .input_or("count", Type::I32, 10.0, "number of items")
        .output("value", LIST, "")
        .kernel(|parts| {
            Ok(for_type!(ordered parts.generics[0], T => function(each_list::<(T, T, i32), T>(
                |(_, _, count)| count.max(0) as usize,
                |_, (start, step, count), items| {
                    let all = 0..count.max(0) as usize;
                    items.extend(all.map(|k| T::ramp(&start, &step, k)));
                    Ok(())
                },
            ))))
        })
}
