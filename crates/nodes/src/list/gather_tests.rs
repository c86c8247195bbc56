//! Functions that read items at known positions: an item that changes matters only to its readers.

use millstream_base::{Column, Limits, Mask, Type, Value};
use millstream_node::gather::Gather;
use millstream_node::{Argument, Call, Data, Instance, Kernel};
use serde_json::{Value as Json, json};

use crate::cells::testing::{Given, call, instance, list, many, one};

const N_ITEMS: usize = 11;

fn items() -> Vec<f32> {
    (0..N_ITEMS).map(|i| (i * 7 % 5) as f32 + i as f32 / 16.0).collect()
}

/// The pairs of an element and an item that it reads, and whether the result is a list of copies.
fn pairs(
    name: &str,
    node: &Instance,
    given: &[Given<'_>],
    n: usize,
) -> (Vec<(usize, usize)>, bool) {
    let Kernel::Function(function) = &node.kernel else { panic!("it is a function") };
    let (reads, copies) = match function.gather().unwrap_or_else(|| panic!("{name} gathers")) {
        Gather::Elements(reads) => (reads, false),
        Gather::Copies(reads) => (reads, true),
    };
    let (mask, limits) = (Mask::full(n), Limits::default());
    let mut arguments: Vec<Argument<'_>> =
        given.iter().map(|(data, map)| Argument::shared(data, *map)).collect();
    let call = Call::new(&mask, n, &limits, &mut arguments, &mut []);
    let mut pairs = Vec::new();
    reads.items_read(&call, &mut |element, item| pairs.push((element, item))).expect("it runs");
    (pairs, copies)
}

fn result(node: &Instance, given: &[Given<'_>], n: usize) -> Column {
    match call(node, given.to_vec(), &Mask::full(n), n, &Limits::default()).expect("it runs") {
        Data::One(Value::List(items)) => items,
        Data::One(value) => Column::filled(&value, 1),
        Data::Many(column) => column,
    }
}

/// Changes each item in turn.
fn check(name: &str, set: &Json, others: &[Given<'static>], n: usize) {
    let node = instance(name, set, &[Type::F32], &[]);
    let given = |items: Vec<f32>| -> Vec<Given<'static>> {
        std::iter::once(one(list(items))).chain(others.iter().cloned()).collect()
    };
    let (pairs, copies) = pairs(name, &node, &given(items()), n);
    let before = result(&node, &given(items()), n);
    if copies {
        let found: Vec<(usize, f32)> =
            before.as_slice::<f32>().expect("f32").iter().copied().enumerate().collect();
        let expected: Vec<(usize, f32)> =
            pairs.iter().map(|(at, item)| (*at, items()[*item])).collect();
        assert_eq!(found, expected, "{name}");
    }
    for item in 0..N_ITEMS {
        let mut changed = items();
        changed[item] += 100.0;
        let after = result(&node, &given(changed), n);
        assert_eq!(after.len(), before.len());
        for at in 0..before.len() {
            let is_same = before.same_at(at, &after, at);
            assert!(is_same || pairs.contains(&(at, item)), "{name} {set}: {item} for {at}");
        }
    }
}

#[test]
fn only_readers_of_an_item_depend_on_it() {
    for outside in ["clamp", "wrap"] {
        let set = json!({ "outside": outside });
        check("list.get", &set, &[many(vec![3_i32, -2, 30, 0, 3])], 5);
        check("list.pick", &set, &[one(list(vec![9_i32, 2, -1, 2, 40]))], 1);
        check("list.remove", &set, &[one(13_i32)], 1);
    }
    let positions = vec![0.0, 3.5, 9.9, 10.0, -1.3, 11.2, -40.5, 1e16, f64::NAN, f64::INFINITY];
    for interpolation in ["nearest", "linear", "cubic"] {
        for beyond in ["clamp", "wrap", "mirror"] {
            for unit in [false, true] {
                let set = json!({ "interpolation": interpolation, "beyond": beyond, "unit": unit });
                check("list.sample", &set, &[many(positions.clone())], positions.len());
            }
        }
    }
    let none = json!({});
    check("list.reverse", &none, &[], 1);
    check("list.rotate", &none, &[one(-4_i32)], 1);
    check("list.repeat", &none, &[one(3_i32)], 1);
    check("list.repeat_items", &none, &[one(2_i32)], 1);
    check("list.every", &none, &[one(-1_i32), one(-3_i32)], 1);
    check("list.slice", &none, &[one(4_i32), one(5_i32)], 1);
    let keep: Vec<bool> = (0..N_ITEMS).map(|i| i % 3 != 1).collect();
    check("list.filter", &none, &[one(list(keep))], 1);
}
