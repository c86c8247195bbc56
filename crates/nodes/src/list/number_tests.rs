//! Lists of lists, and statistics of lists of numbers.

use millstream_base::{Limits, Mask, Type, Value};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::cells::testing::{call, instance, list, one, try_instance, value_of};

fn on(name: &str, set: &Json, generic: Type, args: Vec<Value>) -> String {
    let value = value_of(name, set, generic, args);
    value.map_or_else(|failure| failure.message, |value| value.to_string())
}

fn nested(lists: &[&[i32]]) -> Value {
    let ty = Type::I32.list().expect("a list");
    let lists = lists.iter().map(|items| list(items.to_vec()));
    Value::List(ty.collect(&mut lists.into_iter()).expect("lists of integers"))
}

#[test]
fn lists_are_flattened_and_split() {
    let ints = Type::I32.list().expect("a list");
    let flat = |lists: &[&[i32]]| on("list.flatten", &json!({}), ints, vec![nested(lists)]);
    assert_eq!(flat(&[&[1, 2], &[], &[3]]), "[1, 2, 3]");
    assert_eq!(flat(&[]), "[]");
    let cut = |items: &[i32], length: i32| {
        on("list.chunks", &json!({}), ints, vec![list(items.to_vec()), Value::I32(length)])
    };
    assert_eq!(cut(&[1, 2, 3, 4, 5], 2), "[[1, 2], [3, 4], [5]]");
    assert_eq!(cut(&[1, 2], 0), "[[1], [2]]");
    assert_eq!(cut(&[1, 2], i32::MAX), "[[1, 2]]");
    assert_eq!(cut(&[], 3), "[]");
    let refused = try_instance("list.flatten", &json!({}), &[Type::I32], &[]);
    assert_eq!(
        refused.expect_err("no lists"),
        "setting `lists`: its items must be lists, but they are i32"
    );
    let turns = |lists: Vec<Value>| {
        let node = instance("list.interleave", &json!({}), &[Type::I32], &[lists.len() as u16]);
        let args = lists.into_iter().map(one).collect();
        let data = call(&node, args, &Mask::full(1), 1, &Limits::default());
        data.expect("it does not fail").get(0).to_string()
    };
    assert_eq!(turns(vec![list(vec![1, 2, 3]), list(vec![10, 20])]), "[1, 10, 2, 20]");
    assert_eq!(turns(vec![]), "[]");
}

#[test]
fn numbers_are_counted_in_bins() {
    let bins = |items: &[f64], low: f64, high: f64, n: i32| {
        let args = vec![list(items.to_vec()), Value::F64(low), Value::F64(high), Value::I32(n)];
        on("list.histogram", &json!({}), Type::F64, args)
    };
    assert_eq!(bins(&[0.0, 0.24, 0.25, 1.0, 1.1, -0.1, f64::NAN], 0.0, 1.0, 4), "[2, 1, 0, 1]");
    assert_eq!(bins(&[-f64::MAX, f64::MAX, 0.0], -f64::MAX, f64::MAX, 2), "[1, 2]");
    assert_eq!(bins(&[1.0], 1.0, 1.0, 3), "[0, 0, 0]");
    assert_eq!(bins(&[1.0], 0.0, 1.0, -3), "[]");
}

#[test]
fn quantiles_interpolate_between_items() {
    let quantile = |items: &[f64], part: f64| {
        on("list.quantile", &json!({}), Type::F64, vec![list(items.to_vec()), Value::F64(part)])
    };
    assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0], 0.5), "2.5");
    assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0], 0.25), "1.75");
    assert_eq!(quantile(&[4.0, 1.0], 7.0), "4.0");
    assert_eq!(quantile(&[f64::INFINITY, 1.0], 0.0), "1.0");
    assert_eq!(quantile(&[], 0.5), "\"nan\"");
    assert_eq!(quantile(&[1.0, f64::NAN], 0.5), "\"nan\"");
}

#[test]
fn running_results_and_differences_wrap_and_skip_nan() {
    let run = |how: &str, items: Value, generic| {
        on("list.running", &json!({ "how": how }), generic, vec![items])
    };
    assert_eq!(run("sum", list(vec![i32::MAX, 1]), Type::I32), "[2147483647, -2147483648]");
    assert_eq!(run("product", list(vec![2.0_f32, 3.0, 4.0]), Type::F32), "[2.0, 6.0, 24.0]");
    let with_nan = || list(vec![f64::NAN, 2.0, 1.0, f64::NAN, 3.0]);
    assert_eq!(run("minimum", with_nan(), Type::F64), "[\"nan\", 2.0, 1.0, 1.0, 1.0]");
    assert_eq!(run("maximum", with_nan(), Type::F64), "[\"nan\", 2.0, 2.0, 2.0, 3.0]");
    let differences = |items: Value| on("list.differences", &json!({}), Type::I32, vec![items]);
    assert_eq!(differences(list(vec![1, 4, i32::MIN])), "[3, 2147483644]");
    assert_eq!(differences(list(Vec::<i32>::new())), "[]");
}

proptest! {
    #[test]
    fn positions_in_sorted_lists_agree_with_counting(
        mut items in prop::collection::vec(-5_i32..5, 0..12),
        wanted in -6_i32..6,
    ) {
        items.sort_unstable();
        let place = |side: &str| {
            let args = vec![list(items.clone()), Value::I32(wanted)];
            on("list.search_sorted", &json!({ "side": side }), Type::I32, args)
        };
        let less = items.iter().filter(|x| **x < wanted).count();
        let at_most = items.iter().filter(|x| **x <= wanted).count();
        prop_assert_eq!(place("before"), less.to_string());
        prop_assert_eq!(place("behind"), at_most.to_string());
    }

    #[test]
    fn chunks_flatten_to_the_list(items in prop::collection::vec(any::<i32>(), 0..20), n in 1_i32..6) {
        let ints = Type::I32.list().expect("a list");
        let args = vec![list(items.clone()), Value::I32(n)];
        let parts = value_of("list.chunks", &json!({}), ints, args).expect("parts");
        prop_assert_eq!(on("list.flatten", &json!({}), ints, vec![parts]), list(items).to_string());
    }
}

#[test]
fn a_number_at_the_edge_of_two_bins_is_in_the_upper_one() {
    let counts = |x: f64, low: f64, high: f64, bins: i32| {
        let args = vec![list(vec![x]), low.into(), high.into(), bins.into()];
        let counts = value_of("list.histogram", &json!({}), Type::F64, args).expect("counts");
        let Value::List(counts) = counts else { panic!("it gives a list") };
        counts.as_slice::<i32>().expect("counts").iter().position(|n| *n == 1)
    };
    // Expected values from `numpy.histogram`.
    for (x, bin) in [(0.29, 29), (0.57, 56), (0.58, 58), (0.28, 28), (1.0, 99), (0.0, 0)] {
        assert_eq!(counts(x, 0.0, 1.0, 100), Some(bin), "{x}");
    }
    assert_eq!(counts(0.0, -1.7e308, 1.7e308, 2), Some(1));
    assert_eq!(counts(-1.0, -1.7e308, 1.7e308, 2), Some(0));
    assert_eq!(counts(1.1, 0.0, 1.0, 100), None);
}
