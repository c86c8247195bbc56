//! New lists: computed items, axes, ranges, single items.

use millstream_base::ramp::Ramp;
use millstream_base::{Feature, Type, ValueType};
use millstream_node::{Among, Call, Failure, NodeDef, Registry, ScopeRule};

use super::{ITEM, LIST, Sources, entries, entry, on_lists};
use crate::cells::{ListCells, function, handing_on};
use crate::context::{along, with_axis};
use crate::shape::sockets_of;

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
        .input("count", Type::I32, "number of items")
        .or_number(0.0)
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
        .generic("T", Among::These(&[Type::I32, Type::I64, Type::F32, Type::F64]))
        .input("start", ITEM, "first number")
        .or_number(0.0)
        .input("step", ITEM, "difference between neighbors")
        .or_number(1.0)
        .input("count", Type::I32, "number of items")
        .or_number(10.0)
        .output("value", LIST, "")
        .kernel(|parts| {
            let ty = parts.generics[0];
            Ok(if ty == Type::I32 {
                function(ramp::<i32>)
            } else if ty == Type::I64 {
                function(ramp::<i64>)
            } else if ty == Type::F32 {
                function(ramp::<f32>)
            } else {
                function(ramp::<f64>)
            })
        })
}

fn ramp<T: ValueType + Ramp>(call: &mut Call<'_>) -> Result<(), Failure> {
    let mut cells = ListCells::new(call);
    let (starts, steps) = (call.input::<T>(0), call.input::<T>(1));
    let counts = call.input::<i32>(2);
    let n_items = |i: usize| counts.get(i).max(0) as usize;
    cells.fill(call, n_items, |i, items| {
        let (start, step) = (starts.get(i), steps.get(i));
        items.extend((0..n_items(i)).map(|k| T::ramp(&start, &step, k)));
        Ok(())
    })?;
    cells.put(call)
}
