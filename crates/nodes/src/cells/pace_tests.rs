//! Nodes that work long on one element check regularly whether the call was cancelled.

use std::sync::Arc;

use millstream_base::{Column, Table, Type, Value, Vec2};
use serde_json::json;

use super::testing::{call, ended_at, instance, list, many, one};

#[test]
fn long_work_on_one_element_can_be_cancelled() {
    let numbers = |n: i32| list((0..n).collect::<Vec<i32>>());
    let floats = |n: usize| list((0..n).map(|i| i as f32).collect::<Vec<f32>>());
    let doubles = |n: usize| list((0..n).map(|i| i as f64).collect::<Vec<f64>>());
    let waves = |n: usize| list((0..n).map(|i| Vec2([i as f32, 1.0])).collect::<Vec<Vec2>>());
    let text = |n: usize| Value::from("ab,".repeat(n).as_str());
    let of = |name: &str, generic: Type| instance(name, &json!({}), &[generic], &[]);
    let mixed =
        |n: i32| list((0..n).map(|i| i.wrapping_mul(0x9e37_79b9_u32 as i32)).collect::<Vec<i32>>());
    let cases = [
        (of("list.rank", Type::I32), vec![mixed(300_000)]),
        (of("list.sort_indices", Type::I32), vec![mixed(300_000)]),
        (of("list.sort_indices", Type::I32), vec![numbers(300_000)]),
        (of("list.shuffle", Type::I32), vec![numbers(300_000), 1.into()]),
        (of("list.unique", Type::I32), vec![mixed(100_000)]),
        (of("list.histogram", Type::F64), vec![doubles(100_000), 0.0.into(), 1.0.into(), 9.into()]),
        (of("list.convolve", Type::F32), vec![floats(1 << 10), floats(1 << 10)]),
        (of("list.union", Type::I32), vec![numbers(5000), numbers(9000)]),
        (of("list.intersection", Type::I32), vec![numbers(9000), numbers(5000)]),
        (of("list.difference", Type::I32), vec![numbers(9000), numbers(5000)]),
        (of("list.unique", Type::I32), vec![numbers(9000)]),
        (of("list.index_of", Type::I32), vec![numbers(100_000), (-1).into()]),
        (of("list.contains", Type::I32), vec![numbers(100_000), (-1).into()]),
        (of("list.spectrum", Type::F32), vec![floats(1 << 14)]),
        (of("list.spectrum", Type::F32), vec![floats(10_007)]),
        (of("list.fourier", Type::VEC2), vec![waves(10_007)]),
        (of("string.split", Type::STRING), vec![text(9000), ",".into()]),
        (of("string.split", Type::STRING), vec![text(9000), "".into()]),
    ];
    let key = |n: i32| {
        let (key, word) = ((0..n).collect::<Vec<i32>>(), vec![Arc::<str>::from("a"); n as usize]);
        let columns = [("k", Column::from_vec(key)), ("name", Column::from_vec(word))];
        let columns = columns.map(|(name, column)| (name.into(), column)).to_vec();
        Value::from(Table::new(columns).expect("one length"))
    };
    let on_tables = |name: &str| instance(name, &json!({}), &[], &[]);
    let of_tables = [
        (on_tables("table.join"), vec![key(9000), key(9000), "k".into()]),
        (on_tables("table.group"), vec![key(9000), "k".into()]),
        (on_tables("table.unique"), vec![key(9000), "k".into()]),
        (on_tables("table.pivot"), vec![key(9000), "k".into(), "name".into(), "k".into()]),
    ];
    for (node, args) in cases.into_iter().chain(of_tables) {
        let name = node.name().to_owned();
        let (looks, done) = ended_at(usize::MAX, &node, args.clone());
        assert_eq!(done, Ok(()), "{name}");
        assert!(looks > 2, "{name} looks {looks} times");
        let (looks, done) = ended_at(2, &node, args);
        assert!(done.is_err(), "{name} finishes although it was cancelled");
        assert_eq!(looks, 2, "{name} continues although it was cancelled");
    }
}

#[test]
fn transforms_that_need_too_much_memory_are_refused_before_they_start() {
    use millstream_base::{Limits, Mask};
    let node = instance("list.spectrum", &json!({}), &[Type::F32], &[]);
    let floats = || list(vec![1.0_f32; 1009]);
    let spectrum = |bytes: usize| {
        let limits = Limits { bytes, ..Limits::default() };
        call(&node, vec![one(floats())], &Mask::full(1), 1, &limits).map(drop)
    };
    assert_eq!(spectrum(1 << 20), Ok(()));
    let refused = spectrum(1 << 16).expect_err("it needs more");
    assert!(
        refused.message.ends_with("bytes to transform one list, the limit is 65536"),
        "{refused}"
    );
    assert_eq!(refused.element, Some(0));
}

#[test]
fn copies_of_a_list_shared_by_many_elements_are_limited() {
    use millstream_base::{Limits, Mask};
    let ints = Type::I32.list().expect("lists of numbers exist");
    let node = instance("list.chunks", &json!({}), &[ints], &[]);
    let limits = Limits { list_length: 100, ..Limits::default() };
    let chunks = |n: usize| {
        let args = vec![one(list((0..10).collect::<Vec<i32>>())), many(vec![3_i32; n])];
        call(&node, args, &Mask::full(n), n, &limits).map(drop)
    };
    assert_eq!(chunks(10), Ok(()));
    let refused = chunks(11).expect_err("these are too many");
    assert_eq!(refused.message, "110 items in the lists of one column, the limit is 100");
}
