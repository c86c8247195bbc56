//! Patterns, sets and signals checked against their definitions.

use std::f64::consts::TAU;

use millstream_base::{Limits, Mask, Type, Value, Vec2};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::cells::testing::{call, instance, list, one, value_of};

fn on(name: &str, set: &Json, generic: Type, args: Vec<Value>) -> String {
    let value = value_of(name, set, generic, args);
    value.map_or_else(|failure| failure.message, |value| value.to_string())
}

fn plain(name: &str, args: Vec<Value>) -> String {
    on(name, &json!({}), Type::I32, args)
}

fn ints(items: &[i32]) -> Value {
    list(items.to_vec())
}

fn floats(name: &str, set: &Json, args: Vec<Value>) -> Vec<f64> {
    match value_of(name, set, Type::F64, args).expect("it does not fail") {
        Value::List(items) => items.as_slice::<f64>().expect("floats").to_vec(),
        value => vec![value.get::<f64>().expect("a float")],
    }
}

#[test]
fn items_are_picked_and_repeated() {
    assert_eq!(plain("list.where", vec![list(vec![false, true, true, false, true])]), "[1, 2, 4]");
    assert_eq!(plain("list.where", vec![list(Vec::<bool>::new())]), "[]");
    let every = |start: i32, step: i32| {
        plain("list.every", vec![ints(&[0, 1, 2, 3, 4]), Value::I32(start), Value::I32(step)])
    };
    assert_eq!(every(0, 2), "[0, 2, 4]");
    assert_eq!(every(1, 2), "[1, 3]");
    assert_eq!(every(-1, -2), "[4, 2, 0]");
    assert_eq!(every(-6, 1), "[]");
    assert_eq!(every(5, -1), "[]");
    assert_eq!(every(3, 0), "[3, 4]");
    assert_eq!(every(2, i32::MAX), "[2]");
    assert_eq!(every(2, i32::MIN), "[2]");
    assert_eq!(
        plain("list.repeat_items", vec![ints(&[1, 2]), Value::I32(3)]),
        "[1, 1, 1, 2, 2, 2]"
    );
    assert_eq!(plain("list.repeat_items", vec![ints(&[1, 2]), Value::I32(-3)]), "[]");
    let pad =
        |items: &[i32], n: i32| plain("list.pad", vec![ints(items), Value::I32(n), Value::I32(9)]);
    assert_eq!(pad(&[1, 2], 4), "[1, 2, 9, 9]");
    assert_eq!(pad(&[1, 2, 3], 2), "[1, 2]");
    assert_eq!(pad(&[1], -5), "[]");
    assert!(pad(&[1], i32::MAX).contains("items in one list"));
    let count = |x: f64| {
        on(
            "list.count",
            &json!({}),
            Type::F64,
            vec![list(vec![f64::NAN, 0.0, -0.0, f64::NAN]), Value::F64(x)],
        )
    };
    assert_eq!((count(f64::NAN), count(0.0), count(7.0)), ("2".into(), "1".into(), "0".into()));
}

#[test]
fn lists_are_joined_as_sets() {
    let of = |name: &str, a: &[i32], b: &[i32]| plain(name, vec![ints(a), ints(b)]);
    let (a, b) = ([3, 1, 3, 2], [2, 4, 2, 3]);
    assert_eq!(of("list.union", &a, &b), "[3, 1, 2, 4]");
    assert_eq!(of("list.intersection", &a, &b), "[3, 2]");
    assert_eq!(of("list.difference", &a, &b), "[1]");
    assert_eq!(of("list.union", &[], &[]), "[]");
    let texts = |items: &[&str]| {
        list(items.iter().map(|text| (*text).into()).collect::<Vec<std::sync::Arc<str>>>())
    };
    let found =
        on("list.difference", &json!({}), Type::STRING, vec![texts(&["x", "y"]), texts(&["y"])]);
    assert_eq!(found, "[\"x\"]");
}

#[test]
fn signals_have_known_values() {
    let of = |name: &str, args: Vec<Value>| floats(name, &json!({}), args);
    let wide = |items: &[f64]| list(items.to_vec());
    assert_eq!(of("list.dot", vec![wide(&[1.0, 2.0, 3.0]), wide(&[4.0, 5.0])]), [14.0]);
    assert_eq!(of("list.dot", vec![wide(&[]), wide(&[4.0, 5.0])]), [0.0]);
    let (a, b) = ([0.1, -0.0, f64::INFINITY, 1e300], [3.0, 7.0, -1e-300, f64::NAN, 1.0]);
    let dot = |a: &[f64], b: &[f64]| of("list.dot", vec![wide(a), wide(b)])[0].to_bits();
    for n in 0..4 {
        assert_eq!(dot(&a[..n], &b), dot(&b, &a[..n]));
    }
    let likeness = |a: &[f64], b: &[f64]| of("list.correlation", vec![wide(a), wide(b)])[0];
    assert!((likeness(&[1.0, 2.0, 3.0], &[5.0, 7.0, 9.0]) - 1.0).abs() < 1e-12);
    assert!(likeness(&[1.0, 1.0], &[1.0, 2.0]).is_nan() && likeness(&[], &[]).is_nan());
    assert_eq!(
        of("list.gradient", vec![wide(&[1.0, 2.0, 4.0, 7.0]), Value::F64(0.5)]),
        [2.0, 3.0, 5.0, 6.0]
    );
    assert_eq!(of("list.gradient", vec![wide(&[1.0]), Value::F64(0.5)]), [0.0]);
    assert_eq!(of("list.integral", vec![wide(&[1.0, 2.0, 4.0]), Value::F64(0.5)]), [2.25]);
    assert_eq!(
        of("list.integral", vec![wide(&[1.0]), Value::F64(f64::INFINITY)])[0].to_string(),
        "NaN"
    );
    assert_eq!(of("list.smooth", vec![wide(&[3.0, 0.0, 6.0]), Value::I32(1)]), [1.5, 3.0, 3.0]);
    assert_eq!(of("list.smooth", vec![wide(&[3.0, 0.0]), Value::I32(i32::MIN)]), [3.0, 0.0]);
    assert_eq!(of("list.smooth", vec![wide(&[3.0, 0.0]), Value::I32(i32::MAX)]), [1.5, 1.5]);
    let part = |part: &str, kernel: &[f64]| {
        floats(
            "list.convolve",
            &json!({ "part": part }),
            vec![wide(&[1.0, 2.0, 3.0]), wide(kernel)],
        )
    };
    assert_eq!(part("full", &[0.0, 1.0, 0.5]), [0.0, 1.0, 2.5, 4.0, 1.5]);
    assert_eq!(part("same", &[0.0, 1.0, 0.5]), [1.0, 2.5, 4.0]);
    assert_eq!(part("valid", &[0.0, 1.0, 0.5]), [2.5]);
    assert!(part("valid", &[1.0; 5]).is_empty() && part("full", &[]).is_empty());
    // Narrow numbers are summed in double precision.
    let args = vec![list(vec![1e8_f32, 1.0, -1e8]), list(vec![1.0_f32; 3])];
    assert_eq!(on("list.dot", &json!({}), Type::F32, args), "1.0");
    let node = instance("list.convolve", &json!({}), &[Type::F64], &[1, 1]);
    let limits = Limits { list_length: 50, ..Limits::default() };
    let args = vec![one(wide(&[1.0; 20])), one(wide(&[1.0; 20]))];
    let refused = call(&node, args, &Mask::full(1), 1, &limits).expect_err("too many products");
    assert!(refused.message.contains("400 products"), "{}", refused.message);
}

fn waves(items: &[[f64; 2]], direction: &str) -> Vec<[f64; 2]> {
    let items: Vec<Vec2> = items.iter().map(|v| Vec2(v.map(|x| x as f32))).collect();
    let set = json!({ "direction": direction });
    let Value::List(found) =
        value_of("list.fourier", &set, Type::F32, vec![list(items)]).expect("fine")
    else {
        panic!("it is a list")
    };
    found.as_slice::<Vec2>().expect("vectors").iter().map(|v| v.0.map(f64::from)).collect()
}

#[test]
fn a_sine_is_one_wave() {
    let spectrum = |items: Vec<f32>| {
        let Value::List(found) =
            value_of("list.spectrum", &json!({}), Type::F32, vec![list(items)]).expect("fine")
        else {
            panic!("it is a list")
        };
        found.as_slice::<f32>().expect("floats").to_vec()
    };
    for n in [8_u16, 12, 31, 100] {
        let wave = |k: u16| {
            let turn = f64::from(k) / f64::from(n) * TAU;
            (2.0 + 0.5 * (2.0 * turn + 0.3).sin() - 3.0 * (3.0 * turn).cos()) as f32
        };
        let found = spectrum((0..n).map(wave).collect());
        assert_eq!(found.len(), usize::from(n) / 2 + 1);
        for (k, strength) in found.iter().enumerate() {
            let wanted = [2.0, 0.0, 0.5, 3.0].get(k).copied().unwrap_or(0.0);
            assert!((strength - wanted).abs() < 1e-5, "{n}, {k}: {strength}");
        }
    }
    assert_eq!(spectrum(vec![1.0, -1.0]), [0.0, 1.0]);
    assert_eq!(spectrum(vec![5.0]), [5.0]);
    assert!(spectrum(vec![]).is_empty());
    assert!(spectrum(vec![f32::NAN, 1.0, 2.0]).iter().all(|x| x.is_nan()));
}

proptest! {
    #[test]
    fn transforms_equal_their_defining_sums(
        items in proptest::collection::vec(proptest::array::uniform2(-1.0_f64..1.0), 0..40),
    ) {
        let items: Vec<[f64; 2]> = items.iter().map(|v| v.map(|x| f64::from(x as f32))).collect();
        let found = waves(&items, "forward");
        let n = items.len() as f64;
        for (k, found) in found.iter().enumerate() {
            let mut wanted = [0.0; 2];
            for (m, item) in items.iter().enumerate() {
                let angle = -TAU * ((k * m) % items.len()) as f64 / n;
                wanted[0] += item[0] * angle.cos() - item[1] * angle.sin();
                wanted[1] += item[0] * angle.sin() + item[1] * angle.cos();
            }
            prop_assert!((0..2).all(|i| (found[i] - wanted[i]).abs() < 1e-5), "{k}: {found:?} {wanted:?}");
        }
        let back = waves(&found, "back");
        for (back, item) in back.iter().zip(&items) {
            prop_assert!((0..2).all(|i| (back[i] - item[i]).abs() < 1e-5));
        }
    }

    #[test]
    fn sets_agree_with_linear_search(
        a in proptest::collection::vec(0..6, 0..8), b in proptest::collection::vec(0..6, 0..8),
    ) {
        let once = |items: Vec<i32>| {
            let mut kept: Vec<i32> = Vec::new();
            for x in items {
                if !kept.contains(&x) {
                    kept.push(x);
                }
            }
            ints(&kept).to_string()
        };
        let of = |name: &str| plain(name, vec![ints(&a), ints(&b)]);
        prop_assert_eq!(of("list.union"), once([a.clone(), b.clone()].concat()));
        let both = a.iter().copied().filter(|x| b.contains(x)).collect();
        prop_assert_eq!(of("list.intersection"), once(both));
        let first = a.iter().copied().filter(|x| !b.contains(x)).collect();
        prop_assert_eq!(of("list.difference"), once(first));
    }

    #[test]
    fn means_of_neighbors_agree_with_their_sums(
        items in proptest::collection::vec(-10.0_f64..10.0, 0..60), radius in 0_usize..40,
    ) {
        let found = floats("list.smooth", &json!({}), vec![list(items.clone()), Value::I32(radius as i32)]);
        for (at, found) in found.iter().enumerate() {
            let window = &items[at.saturating_sub(radius)..(at + radius + 1).min(items.len())];
            let mean = window.iter().sum::<f64>() / window.len() as f64;
            prop_assert!((found - mean).abs() < 1e-12, "{at}: {found} {mean}");
        }
    }

    #[test]
    fn every_nth_item_agrees_with_counting(n in 0_usize..20, start in -25_i32..25, step in -6_i32..6) {
        let items: Vec<i32> = (0..n as i32).collect();
        let mut wanted = Vec::new();
        let mut at = if start < 0 { start + n as i32 } else { start };
        while (0..n as i32).contains(&at) {
            wanted.push(at);
            at += if step == 0 { 1 } else { step };
        }
        let found = plain("list.every", vec![ints(&items), Value::I32(start), Value::I32(step)]);
        prop_assert_eq!(found, ints(&wanted).to_string());
    }
}

/// Expected values from `numpy.cov(a, b, bias=True)`, numpy 2.4.6.
#[test]
fn covariances_are_those_of_numpy() {
    let covariance = |a: &[f64], b: &[f64]| {
        let args = vec![list(a.to_vec()), list(b.to_vec())];
        match value_of("list.covariance", &json!({}), Type::F64, args).expect("runs") {
            Value::F64(x) => x,
            other => panic!("{other}"),
        }
    };
    let a = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
    let b = [1.0, 3.0, 2.0, 5.0, 4.0, 8.0, 7.0, 11.0];
    assert_eq!(covariance(&a, &b), 5.625);
    assert_eq!(covariance(&a, &a), 4.0);
    assert_eq!(covariance(&a[..1], &b), 0.0);
    assert!(covariance(&[], &b).is_nan() && covariance(&[1.0, f64::NAN], &b).is_nan());
    // Sums and squares of these numbers overflow or underflow, their covariances do not.
    assert_eq!(covariance(&[1.5e308, -1.5e308], &[1e-300, -1e-300]), 1.5e308 * 1e-300);
    assert_eq!(covariance(&[f64::MAX, f64::MAX, f64::MAX], &[1.0, 2.0, 3.0]), 0.0);
    assert_eq!(covariance(&[1e-200, -1e-200], &[1e200, -1e200]), 1e-200 * 1e200);
}
