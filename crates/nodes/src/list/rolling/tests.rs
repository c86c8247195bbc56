//! Windows checked against numpy and against a naive computation, and at the ends of lists.

use millstream_base::{Type, Value};
use proptest::prelude::*;
use serde_json::json;

use crate::cells::testing::{list, value};

fn rolled(items: &[f64], how: &str, place: &str, ends: &str, size: i32) -> Vec<f64> {
    let set = json!({"how": how, "place": place, "ends": ends});
    let found = value("list.rolling", &set, vec![list(items.to_vec()), Value::I32(size)]);
    let Ok(Value::List(found)) = found else { panic!("gives a list") };
    found.as_slice::<f64>().expect("of f64").to_vec()
}

fn near(a: f64, b: f64, tolerance: f64) -> bool {
    a == b || (a - b).abs() <= tolerance || (a.is_nan() && b.is_nan())
}

/// Expected values from numpy 2.4.6: `f(x[max(0, i - before) : i + behind + 1])` for each i.
#[test]
fn windows_are_those_of_numpy() {
    let items = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0, 3.5];
    let third = 1.0 / 3.0;
    let cases: [(&str, &str, i32, [f64; 10]); 6] = [
        (
            "mean",
            "behind",
            3,
            [
                3.0,
                2.0,
                8.0 * third,
                2.0,
                10.0 * third,
                5.0,
                16.0 * third,
                17.0 * third,
                13.0 * third,
                14.5 * third,
            ],
        ),
        ("sum", "around", 4, [4.0, 8.0, 9.0, 11.0, 19.0, 17.0, 22.0, 22.0, 16.5, 14.5]),
        ("minimum", "ahead", 5, [1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.5, 3.5, 3.5]),
        ("maximum", "around", 4, [3.0, 4.0, 4.0, 5.0, 9.0, 9.0, 9.0, 9.0, 6.0, 6.0]),
        ("median", "around", 4, [2.0, 3.0, 2.0, 2.5, 4.5, 3.5, 5.5, 5.5, 4.25, 5.0]),
        (
            "deviation",
            "behind",
            3,
            [
                0.0,
                1.0,
                1.247_219_128_924_647,
                std::f64::consts::SQRT_2,
                1.699_673_171_197_595,
                3.265_986_323_710_904,
                2.867_441_755_680_875_6,
                2.867_441_755_680_875_6,
                1.699_673_171_197_595,
                1.027_402_333_828_162_8,
            ],
        ),
    ];
    for (how, place, size, expected) in cases {
        for (found, expected) in rolled(&items, how, place, "shorter", size).iter().zip(expected) {
            assert!(near(*found, expected, 1e-14), "{how} {place} {size}: {found}, not {expected}");
        }
    }
}

#[test]
fn ends_and_nans_give_nan() {
    let nan = f64::NAN;
    let same = |found: Vec<f64>, expected: &[f64]| {
        assert_eq!(found.len(), expected.len());
        for (a, b) in found.iter().zip(expected) {
            assert!(near(*a, *b, 0.0), "{found:?}, not {expected:?}");
        }
    };
    let items = [1.0, 2.0, 4.0, 8.0];
    same(rolled(&items, "sum", "behind", "missing", 2), &[nan, 3.0, 6.0, 12.0]);
    same(rolled(&items, "sum", "ahead", "missing", 3), &[7.0, 14.0, nan, nan]);
    same(rolled(&items, "sum", "around", "missing", 4), &[nan, nan, 15.0, nan]);
    same(rolled(&items, "sum", "behind", "shorter", i32::MAX), &[1.0, 3.0, 7.0, 15.0]);
    same(rolled(&items, "sum", "behind", "missing", i32::MAX), &[nan; 4]);
    for size in [1, 0, -3] {
        same(rolled(&items, "median", "behind", "missing", size), &items);
    }
    same(rolled(&[], "mean", "behind", "shorter", 3), &[]);
    for how in ["mean", "sum", "minimum", "maximum", "median", "deviation"] {
        let found = rolled(&[1.0, nan, 3.0, 3.0], how, "behind", "shorter", 2);
        assert_eq!(
            found.iter().map(|x| x.is_nan()).collect::<Vec<_>>(),
            [false, true, true, false],
            "{how}"
        );
    }
    let inf = f64::INFINITY;
    same(rolled(&[1.0, inf, 2.0, 3.0], "sum", "behind", "shorter", 2), &[1.0, inf, inf, 5.0]);
    same(rolled(&[-0.0, 0.0], "minimum", "behind", "shorter", 2), &[0.0, 0.0]);
}

/// The result for one window, computed naively.
fn plainly(items: &[f64], how: &str) -> f64 {
    let n = items.len() as f64;
    let mut sorted = items.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mean = items.iter().sum::<f64>() / n;
    match how {
        "sum" => items.iter().sum(),
        "mean" => mean,
        "minimum" => sorted[0],
        "maximum" => sorted[items.len() - 1],
        "median" => sorted[(items.len() - 1) / 2] * 0.5 + sorted[items.len() / 2] * 0.5,
        _ => (items.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n).sqrt(),
    }
}

proptest! {
    #[test]
    fn each_window_is_independent_of_the_others(
        items in prop::collection::vec(-1e6..1e6_f64, 0..40),
        size in 1..50_i32,
        place in prop::sample::select(vec!["behind", "around", "ahead"]),
        how in prop::sample::select(vec!["mean", "sum", "minimum", "maximum", "median", "deviation"]),
    ) {
        let before = match place { "behind" => size - 1, "around" => size / 2, _ => 0 } as usize;
        let behind = size as usize - 1 - before;
        let found = rolled(&items, how, place, "shorter", size);
        prop_assert_eq!(found.len(), items.len());
        for (at, found) in found.into_iter().enumerate() {
            let window = &items[at.saturating_sub(before)..(at + behind + 1).min(items.len())];
            let (n, most) = (window.len() as f64, window.iter().fold(0.0, |m: f64, x| m.max(x.abs())));
            // Adding n numbers in another order changes the sum by up to n roundings of up to n *
            // most on either side. Means of parts are wrong by that divided by n, and each of up to
            // n steps adds it to the deviation.
            let tolerance = match how {
                "sum" => 2.0 * n * n * most * f64::EPSILON,
                "mean" => 2.0 * (n + 1.0) * most * f64::EPSILON,
                "deviation" => 4.0 * (n + 2.0) * n.sqrt() * most * f64::EPSILON,
                _ => 0.0,
            };
            let expected = plainly(window, how);
            prop_assert!(near(found, expected, tolerance), "{how} {place} {size} at {at}: {found}, not {expected}");
        }
    }
}

#[test]
fn single_precision_is_rounded_once() {
    let items: Vec<f32> = vec![0.1, 0.2, 0.3];
    let args = vec![list(items), Value::I32(3)];
    let found = value("list.rolling", &json!({"how": "sum"}), args).expect("runs");
    assert_eq!(found.ty(), Type::F32.list().expect("a list"));
    let wide = f64::from(0.1_f32) + f64::from(0.2_f32) + f64::from(0.3_f32);
    let Value::List(found) = found else { panic!("a list") };
    assert_eq!(found.as_slice::<f32>().expect("of f32")[2], wide as f32);
}
