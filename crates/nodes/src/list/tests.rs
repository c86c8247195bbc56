//! Values, edge cases and limits of the list nodes. That columns, maps and masks give the same as
//! single values is tested for all nodes at once, next to `cells.rs`.

use std::sync::Arc;

use millstream_base::map::Map;
use millstream_base::{Column, Limits, Mask, Type, Value};
use millstream_node::{Data, ScopeRule};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::cells::testing::{call, instance, list, lists, many, one, text, value_of};

fn run(name: &str, args: Vec<Value>) -> String {
    text(name, &json!({}), args)
}

fn ints(items: &[i32]) -> Value {
    list(items.to_vec())
}

fn floats(items: &[f32]) -> Value {
    list(items.to_vec())
}

#[test]
fn lists_are_made() {
    assert_eq!(run("list.of", [1, 2, 3].map(Value::I32).to_vec()), "[1, 2, 3]");
    let empty = value_of("list.of", &json!({}), Type::VEC3, vec![]).expect("empty");
    assert_eq!(empty.ty(), Type::VEC3.list().expect("a list"));
    assert_eq!(run("list.range", vec![Value::I32(5), Value::I32(-2), Value::I32(3)]), "[5, 3, 1]");
    assert_eq!(run("list.range", vec![Value::I32(5), Value::I32(1), Value::I32(-3)]), "[]");
    let tenths = run("list.range", vec![Value::F32(0.0), Value::F32(0.1), Value::I32(4)]);
    assert_eq!(tenths, "[0.0, 0.1, 0.2, 0.3]".replace("0.3", &(0.1_f32 * 3.0).to_string()));
    let wrapping = run("list.range", vec![Value::I32(i32::MAX), Value::I32(1), Value::I32(2)]);
    assert_eq!(wrapping, "[2147483647, -2147483648]");
}

#[test]
fn generated_lists_are_passed_on() {
    let node = instance("list.generate", &json!({}), &[Type::I32], &[]);
    let [ScopeRule::Each { count: 1, .. }] = &node.inputs[0].scope[..] else {
        panic!("the item is computed for each")
    };
    let column = lists(&[ints(&[1]), ints(&[2, 3])]);
    let run = |given, extent| {
        let given = vec![given, one(2)];
        call(&node, given, &Mask::full(extent), extent, &Limits::default()).expect("passed on")
    };
    assert_eq!(run(one(ints(&[7])), 5).get(4).to_string(), "[7]");
    assert_eq!(run(many(column.clone()), 2).get(1).to_string(), "[2, 3]");
    assert_eq!(run((Data::Many(column.clone()), Map::Single), 3).get(2).to_string(), "[1]");
    assert_eq!(run((Data::Many(column), Map::Stretch(2)), 4).get(3).to_string(), "[2, 3]");
    let node = instance("list.collect", &json!({"level": 1}), &[Type::I32], &[]);
    assert!(matches!(node.inputs[0].scope[..], [ScopeRule::Along { level: 1, .. }]));
}

#[test]
fn items_are_found_by_index() {
    let get = |outside: &str, index: i32| {
        let args = vec![ints(&[10, 20, 30]), Value::I32(index)];
        text("list.get", &json!({ "outside": outside }), args)
    };
    assert_eq!(get("error", 1), "20");
    assert_eq!(get("error", -1), "index -1 is outside a list of 3");
    assert_eq!(get("error", 3), "index 3 is outside a list of 3");
    assert_eq!((get("clamp", -5), get("clamp", 99)), ("10".into(), "30".into()));
    assert_eq!((get("wrap", -1), get("wrap", 4)), ("30".into(), "20".into()));
    assert_eq!(get("wrap", i32::MIN), "20");
    let nothing = text("list.get", &json!({"outside": "wrap"}), vec![ints(&[]), Value::I32(0)]);
    assert_eq!(nothing, "index 0 of an empty list");
    assert_eq!(run("list.length", vec![ints(&[10, 20])]), "2");
    assert_eq!(run("list.pick", vec![ints(&[10, 20, 30]), ints(&[2, 0, 2])]), "[30, 10, 30]");
    let outside = run("list.pick", vec![ints(&[10]), ints(&[0, 1])]);
    assert_eq!(outside, "index 1 is outside a list of 1");
}

#[test]
fn parts_of_lists_are_taken() {
    let slice = |start, count| {
        run("list.slice", vec![ints(&[1, 2, 3]), Value::I32(start), Value::I32(count)])
    };
    assert_eq!((slice(1, 1), slice(1, 9)), ("[2]".into(), "[2, 3]".into()));
    assert_eq!((slice(-1, 2), slice(5, 1)), ("[1]".into(), "[]".into()));
    assert_eq!((slice(0, -1), slice(i32::MAX, i32::MAX)), ("[]".into(), "[]".into()));
    let filter = |keep: &[bool]| run("list.filter", vec![ints(&[1, 2, 3]), list(keep.to_vec())]);
    assert_eq!(filter(&[true, false, true]), "[1, 3]");
    assert_eq!(filter(&[true]), "1 conditions for 3 items");
}

#[test]
fn lists_are_changed_and_joined() {
    let set = |index| run("list.set", vec![ints(&[1, 2, 3]), Value::I32(index), Value::I32(9)]);
    assert_eq!(set(1), "[1, 9, 3]");
    assert_eq!(set(3), "index 3 is outside a list of 3");
    assert_eq!(run("list.append", vec![ints(&[1]), Value::I32(2)]), "[1, 2]");
    assert_eq!(run("list.concat", vec![ints(&[1, 2]), ints(&[]), ints(&[3])]), "[1, 2, 3]");
    assert_eq!(run("list.repeat", vec![ints(&[1, 2]), Value::I32(2)]), "[1, 2, 1, 2]");
    assert_eq!(run("list.repeat", vec![ints(&[1, 2]), Value::I32(-2)]), "[]");
    assert_eq!(run("list.repeat", vec![ints(&[]), Value::I32(i32::MAX)]), "[]");
    assert_eq!(run("list.reverse", vec![ints(&[1, 2, 3])]), "[3, 2, 1]");
}

#[test]
fn lists_of_lists_are_changed_too() {
    let nested = list(lists(&[ints(&[1]), ints(&[2, 3])]));
    let item = ints(&[7, 8]);
    let set = run("list.set", vec![nested.clone(), Value::I32(0), item.clone()]);
    assert_eq!(set, "[[7, 8], [2, 3]]");
    assert_eq!(run("list.append", vec![nested.clone(), item.clone()]), "[[1], [2, 3], [7, 8]]");
    assert_eq!(run("list.index_of", vec![nested.clone(), ints(&[2, 3])]), "1");
    assert_eq!(run("list.reverse", vec![nested]), "[[2, 3], [1]]");
}

#[test]
fn numbers_in_lists_convert_like_single_ones() {
    let to = |ty: &str, items: Value| text("list.convert", &json!({ "to": ty }), vec![items]);
    assert_eq!(to("f32", ints(&[1, -2])), "[1.0, -2.0]");
    assert_eq!(to("i32", floats(&[1.9, -1.9, f32::NAN, 1e20])), "[1, -1, 0, 2147483647]");
    assert_eq!(to("bool", floats(&[0.0, -0.0, f32::NAN, 0.5])), "[false, false, true, true]");
    assert_eq!(to("i32", list(vec![1_i64 << 32, 5])), "[0, 5]");
    assert_eq!(to("f64", list(vec![true, false])), "[1.0, 0.0]");
}

#[test]
fn sorting_is_stable_with_nan_last() {
    let sort = |descending: bool, items: Value| {
        text("list.sort", &json!({ "descending": descending }), vec![items])
    };
    let items = || floats(&[2.0, f32::NAN, -1.0, 0.0, -0.0]);
    assert_eq!(sort(false, items()), r#"[-1.0, 0.0, -0.0, 2.0, "nan"]"#);
    assert_eq!(sort(true, items()), r#"[2.0, 0.0, -0.0, -1.0, "nan"]"#);
    let places = |descending: bool| {
        text("list.sort_indices", &json!({ "descending": descending }), vec![items()])
    };
    assert_eq!(places(false), "[2, 3, 4, 0, 1]");
    assert_eq!(places(true), "[0, 3, 4, 2, 1]");
    let texts: Vec<Arc<str>> = ["b", "a", "B"].map(Arc::from).to_vec();
    assert_eq!(sort(false, list(texts)), r#"["B", "a", "b"]"#);
}

#[test]
fn items_are_found_by_value() {
    let items = || floats(&[1.0, f32::NAN, 0.0, 1.0, -0.0, -f32::NAN]);
    assert_eq!(run("list.unique", vec![items()]), r#"[1.0, "nan", 0.0, -0.0]"#);
    assert_eq!(run("list.index_of", vec![items(), Value::F32(-0.0)]), "4");
    assert_eq!(run("list.index_of", vec![items(), Value::F32(f32::NAN)]), "1");
    assert_eq!(run("list.index_of", vec![items(), Value::F32(7.0)]), "-1");
    assert_eq!(run("list.contains", vec![items(), Value::F32(1.0)]), "true");
}

#[test]
fn a_chain_of_changes_stays_in_one_buffer() {
    let items = (0..1000_i32).collect::<Column>();
    let buffer = items.as_slice::<i32>().expect("i32").as_ptr();
    let set = instance("list.set", &json!({}), &[Type::I32], &[]);
    let mut data = Data::One(Value::List(items));
    for index in 0..10 {
        let given = vec![(data, Map::Each), one(index), one(-1)];
        data = call(&set, given, &Mask::full(1), 1, &Limits::default()).expect("set");
    }
    let Data::One(Value::List(items)) = &data else { panic!("one list") };
    let slice = items.as_slice::<i32>().expect("i32");
    assert_eq!((slice.as_ptr(), slice[9], slice[10]), (buffer, -1, 10));

    let column = lists(&[ints(&[1, 2]), ints(&[3])]);
    let buffer = column.as_ragged().and_then(|l| l.values().as_slice::<i32>()).map(<[i32]>::as_ptr);
    let given = vec![many(column), many(vec![1, 0]), one(9)];
    let data = call(&set, given, &Mask::full(2), 2, &Limits::default()).expect("set");
    let Data::Many(column) = data else { panic!("a column") };
    let values = column.as_ragged().and_then(|l| l.values().as_slice::<i32>()).expect("i32");
    assert_eq!((values, Some(values.as_ptr())), (&[1, 9, 9][..], buffer));
}

#[test]
fn a_list_with_other_users_is_not_changed() {
    let items = Column::from_vec(vec![1, 2, 3]);
    let set = instance("list.set", &json!({}), &[Type::I32], &[]);
    let given = vec![one(Value::List(items.clone())), one(0), one(9)];
    call(&set, given, &Mask::full(1), 1, &Limits::default()).expect("set");
    assert_eq!(items.as_slice::<i32>(), Some(&[1, 2, 3][..]));
}

#[test]
fn lists_that_would_be_too_long_are_not_made() {
    let limits = Limits { list_length: 10, ..Limits::default() };
    let fails = |name: &str, set: Json, arities: &[u16], args: Vec<Value>| {
        let node = instance(name, &set, &[Type::I32], arities);
        let given = args.into_iter().map(one).collect();
        let failure = call(&node, given, &Mask::full(1), 1, &limits).expect_err("too long");
        assert_eq!(failure.element, Some(0), "{name}");
        assert_eq!(failure.help.as_deref(), Some("raise `list_length` in the limits"));
        failure.message
    };
    let range = [0, 1, i32::MAX].map(Value::I32).to_vec();
    assert_eq!(
        fails("list.range", json!({}), &[], range),
        "2147483647 items in one list, the limit is 10"
    );
    let ten = || list((0..10_i32).collect::<Column>());
    let twice = vec![ten(), Value::I32(i32::MAX)];
    assert_eq!(
        fails("list.repeat", json!({}), &[], twice),
        "21474836470 items in one list, the limit is 10"
    );
    assert_eq!(
        fails("list.append", json!({}), &[], vec![ten(), Value::I32(1)]),
        "11 items in one list, the limit is 10"
    );
    fails("list.concat", json!({}), &[2], vec![ten(), ten()]);
    let node = instance("list.range", &json!({}), &[Type::I32], &[]);
    let given = vec![one(0), one(1), many(vec![6, 6])];
    let failure = call(&node, given, &Mask::full(2), 2, &limits).expect_err("together too long");
    assert_eq!(failure.message, "12 items in the lists of one column, the limit is 10");
}

#[test]
fn wrapping_every_value_in_a_list_needs_room_for_it() {
    let mut deep = Type::F32;
    while let Some(list) = deep.list() {
        deep = list;
    }
    let error = crate::cells::testing::try_instance("list.of", &json!({}), &[deep], &[1]);
    assert_eq!(error.expect_err("too deep"), "lists are nested too deeply");
}

proptest! {
    #[test]
    fn sort_indices_put_a_list_in_order(items: Vec<f32>, descending: bool) {
        let set = json!({ "descending": descending });
        let places = value_of("list.sort_indices", &set, Type::F32, vec![floats(&items)]).expect("places");
        let picked = value_of("list.pick", &json!({}), Type::F32, vec![floats(&items), places]).expect("picked");
        let sorted = value_of("list.sort", &set, Type::F32, vec![floats(&items)]).expect("sorted");
        prop_assert_eq!(picked.to_string(), sorted.to_string());
    }

    #[test]
    fn unique_keeps_the_first_of_equal_items(items in proptest::collection::vec(0_i32..6, 0..30)) {
        let unique = run("list.unique", vec![ints(&items)]);
        let mut naive: Vec<i32> = Vec::new();
        for item in items {
            if !naive.contains(&item) {
                naive.push(item);
            }
        }
        prop_assert_eq!(unique, ints(&naive).to_string());
    }
}

#[test]
fn items_are_inserted_and_removed() {
    let insert = |at: i32| run("list.insert", vec![ints(&[1, 2]), Value::I32(at), Value::I32(9)]);
    assert_eq!(
        [-5, 0, 1, 2, 7].map(insert),
        ["[9, 1, 2]", "[9, 1, 2]", "[1, 9, 2]", "[1, 2, 9]", "[1, 2, 9]"]
    );
    let remove = |outside: &str, at: i32| {
        text("list.remove", &json!({"outside": outside}), vec![ints(&[1, 2, 3]), Value::I32(at)])
    };
    assert_eq!(remove("error", 1), "[1, 3]");
    assert_eq!(remove("wrap", -1), "[1, 2]");
    assert_eq!(remove("clamp", 9), "[1, 2]");
    assert_eq!(remove("error", 3), "index 3 is outside a list of 3");
}

#[test]
fn items_are_ranked_and_reversed() {
    assert_eq!(run("list.rank", vec![floats(&[3.0, f32::NAN, 1.0, 3.0])]), "[1, 3, 0, 2]");
    let down = text("list.rank", &json!({"descending": true}), vec![ints(&[3, 1, 2])]);
    assert_eq!(down, "[0, 2, 1]");
    let rotate = |steps: i32| run("list.rotate", vec![ints(&[1, 2, 3]), Value::I32(steps)]);
    assert_eq!([0, 1, -1, 4].map(rotate), ["[1, 2, 3]", "[2, 3, 1]", "[3, 1, 2]", "[2, 3, 1]"]);
    assert_eq!(run("list.rotate", vec![ints(&[]), Value::I32(5)]), "[]");
}

#[test]
fn all_orders_of_a_shuffled_list_are_equally_likely() {
    let mut seen = std::collections::BTreeMap::new();
    for seed in 0..6000 {
        let order = run("list.shuffle", vec![ints(&[1, 2, 3]), Value::I32(seed)]);
        *seen.entry(order).or_insert(0) += 1;
    }
    assert_eq!(seen.len(), 6);
    // A thousand of each order are expected, with a standard deviation of 29.
    assert!(seen.values().all(|n| (855..1145).contains(n)), "{seen:?}");
    let once = run("list.shuffle", vec![ints(&[1, 2, 3, 4, 5]), Value::I32(7)]);
    assert_eq!(once, run("list.shuffle", vec![ints(&[1, 2, 3, 4, 5]), Value::I32(7)]));
}
