//! Functions that read items at known positions: an item that changes matters only to its readers.

use millstream_base::same::Same;
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
        Gather::Items(made) => (made.items_read().expect("it finds the items that it reads"), true),
    };
    let mut pairs = Vec::new();
    look(given, n, |call| {
        reads.items_read(call, &mut |element, item| pairs.push((element, item))).expect("it runs");
    });
    (pairs, copies)
}

/// Calls a function with a call that has these inputs.
fn look<T>(given: &[Given<'_>], n: usize, look: impl FnOnce(&Call<'_>) -> T) -> T {
    let (mask, limits) = (Mask::full(n), Limits::default());
    let mut arguments: Vec<Argument<'_>> =
        given.iter().map(|(data, map)| Argument::shared(data, *map)).collect();
    look(&Call::new(&mask, n, &limits, &mut arguments, &mut []))
}

fn result(node: &Instance, given: &[Given<'_>], n: usize) -> Column {
    match call(node, given.to_vec(), &Mask::full(n), n, &Limits::default()).expect("it runs") {
        Data::One(Value::List(items)) => items,
        Data::One(value) => Column::filled(&value, 1),
        Data::Many(column) => column,
    }
}

/// Changes each item of each input in turn: only the items that read it differ, and these are
/// computed as in the whole result. `known` are the inputs of which all readers are known.
fn check_items(
    name: &str,
    set: &Json,
    generics: &[Type],
    given: &[Given<'static>],
    known: &[usize],
) {
    let is_of_three = ["list.concat", "list.interleave"].contains(&name);
    let arities: &[u16] = if is_of_three { &[3] } else { &[] };
    let node = instance(name, set, generics, arities);
    let Kernel::Function(function) = &node.kernel else { panic!("it is a function") };
    let Some(Gather::Items(made)) = function.gather() else { panic!("{name} makes items") };
    let before = result(&node, given, 1);
    for (input, (data, map)) in given.iter().enumerate() {
        let all = match data {
            Data::One(Value::List(items)) => items.clone(),
            Data::One(value) => Column::filled(value, 1),
            Data::Many(_) => panic!("all inputs are single values"),
        };
        for item in 0..all.len() {
            let mut changed = all.clone();
            let other = match all.get(item) {
                Value::F32(x) => Value::F32(x + 100.0),
                Value::I32(i) => Value::I32(i + 1),
                other => panic!("no other value than {other:?}"),
            };
            let mask = Mask::range(item..item + 1);
            changed.overwrite(&mask, &Column::filled(&other, 1), |_| 0);
            let data = match data {
                Data::One(Value::List(_)) => Data::One(Value::List(changed)),
                _ => Data::One(other),
            };
            let mut given = given.to_vec();
            given[input] = (data, *map);
            let mut readers: Vec<u32> = Vec::new();
            let mut visit = |range: std::ops::Range<usize>| readers.extend(range.map(|i| i as u32));
            let is_known = look(&given, 1, |call| made.readers_of(call, input, item, &mut visit));
            assert_eq!(is_known, known.contains(&input), "{name} {set}: {input}");
            if !is_known {
                continue;
            }
            let after = result(&node, &given, 1);
            assert_eq!(after.len(), before.len(), "{name} {set}");
            for at in 0..before.len() as u32 {
                let is_same = before.same_at(at as usize, &after, at as usize);
                assert!(is_same || readers.contains(&at), "{name} {set}: {input}.{item} for {at}");
            }
            let made_anew = look(&given, 1, |call| made.items_at(call, &readers)).expect("it runs");
            assert!(
                made_anew.same(&after.gather(readers.iter().map(|i| *i as usize))),
                "{name} {set}"
            );
        }
    }
}

#[test]
fn items_are_made_one_by_one_as_all_together() {
    let none = json!({});
    let ty = [Type::F32];
    let short = || one(list(vec![4.0_f32, -1.0, 9.5]));
    let all = || one(list(items()));
    check_items("list.concat", &none, &ty, &[short(), all(), short()], &[0, 1, 2]);
    check_items("list.interleave", &none, &ty, &[all(), short(), all()], &[0, 1, 2]);
    for index in [-3, 0, 4, 10, 11, 30] {
        check_items("list.insert", &none, &ty, &[all(), one(index), one(7.5_f32)], &[0, 2]);
        let set = json!({ "outside": "wrap" });
        check_items("list.set", &set, &ty, &[all(), one(index), one(7.5_f32)], &[0, 2]);
        check_items("list.pad", &none, &ty, &[all(), one(index), one(7.5_f32)], &[0, 2]);
    }
    check_items("list.append", &none, &ty, &[all(), one(7.5_f32)], &[0, 1]);
    for outside in ["clamp", "wrap"] {
        let set = json!({ "outside": outside });
        let indices = one(list(vec![9_i32, 2, -1, 2, 40]));
        check_items("list.pick", &set, &ty, &[all(), indices], &[1]);
    }
    check_items("list.differences", &none, &ty, &[all()], &[0]);
    check_items("list.gradient", &none, &ty, &[all(), one(0.5_f32)], &[0]);
    let long = || one(list((0..90).map(|i| (i * 13 % 17) as f32).collect::<Vec<_>>()));
    for how in ["mean", "sum", "minimum", "maximum", "median", "deviation"] {
        for (place, ends) in [("behind", "shorter"), ("around", "missing"), ("ahead", "shorter")] {
            let set = json!({ "how": how, "place": place, "ends": ends });
            for size in [-1, 1, 2, 5, 9] {
                check_items("list.rolling", &set, &ty, &[long(), one(size)], &[0]);
            }
            check_items("list.rolling", &set, &ty, &[long(), one(80)], &[]);
        }
    }
    let longer = || one(list((0..1300).map(|i| (i * 13 % 17) as f32).collect::<Vec<_>>()));
    for (radius, of) in [(-1, long()), (0, long()), (2, long()), (17, longer())] {
        check_items("list.smooth", &none, &ty, &[of, one(radius)], &[0]);
    }
    for part in ["same", "full", "valid"] {
        check_items("list.convolve", &json!({ "part": part }), &ty, &[all(), short()], &[0]);
    }
}

#[test]
fn an_interpolation_reads_the_points_around_a_position() {
    let at = vec![-2.0, 0.0, 0.5, 1.0, 2.0, 2.5, 3.9, 8.0, 9.0, 14.0, 23.5, f64::NAN];
    for positions in
        [vec![0.0, 1.0, 2.0, 2.0, 3.5, 4.0, 7.0, 9.0], vec![0.0, 0.0, 3.0, 9.0, 9.0], vec![1.0]]
    {
        let values: Vec<f32> = (0..positions.len()).map(|i| (i * 7 % 5) as f32).collect();
        for interpolation in ["nearest", "linear", "cubic", "monotone"] {
            for beyond in ["clamp", "line", "wrap", "mirror"] {
                let set = json!({ "interpolation": interpolation, "beyond": beyond });
                let node = instance("list.interpolate", &set, &[Type::F32], &[]);
                let given = |values: Vec<f32>| {
                    vec![one(list(positions.clone())), one(list(values)), many(at.clone())]
                };
                let (pairs, _) = pairs("list.interpolate", &node, &given(values.clone()), at.len());
                assert!(pairs.len() <= 4 * at.len());
                let before = result(&node, &given(values.clone()), at.len());
                for item in 0..values.len() {
                    let mut changed = values.clone();
                    changed[item] += 100.0;
                    let after = result(&node, &given(changed), at.len());
                    for i in 0..at.len() {
                        let is_same = before.same_at(i, &after, i);
                        assert!(is_same || pairs.contains(&(i, item)), "{set}: {item} for {i}");
                    }
                }
            }
        }
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
