//! Sums and derived statistics, compared with exact sums.

use millstream_base::{Type, Value};
use serde_json::json;

use super::{Random, stated};
use crate::cells::testing::{list, value_of};

/// The sum as if computed with twice the digits of `f64`, rounded at the end.
fn exact(numbers: impl IntoIterator<Item = f64>) -> f64 {
    // Knuth's two-sum; the errors are summed as well.
    let (mut sum, mut lost) = (0.0_f64, 0.0_f64);
    for x in numbers {
        let next = sum + x;
        let part = next - sum;
        lost += (sum - (next - part)) + (x - part);
        sum = next;
    }
    sum + lost
}

/// Lists that are difficult in different ways.
fn lists() -> Vec<Vec<f64>> {
    let mut random = Random(7);
    let mut made: Vec<Vec<f64>> = Vec::new();
    for n in [1, 2, 17, 1000, 1024, 5000, 200_000] {
        made.push(vec![0.1; n]);
        made.push((0..n).map(|_| f64::from(random.wide())).collect());
        made.push((0..n).map(|_| 1000.0 + random.unit()).collect());
        made.push((0..n).map(|i| if i % 2 == 0 { 1.0 / 3.0 } else { -0.7 }).collect());
        made.push((0..n).map(|i| 1.0 + i as f64).collect());
    }
    made
}

/// The bound for `f64` stated in the manual.
fn stated_for_f64(name: &str) -> f64 {
    let registry = crate::registry();
    let details = &registry.get(name).expect("a node").manual.details;
    let (_, said) = details.split_once("in `f64` ").unwrap_or_else(|| panic!("{name}"));
    let number = said.split_whitespace().next().expect("a number follows");
    number.trim_end_matches(['.', ',']).parse().unwrap_or_else(|_| panic!("{name}: {number}"))
}

/// The result of a node for a list of numbers in `f32` or `f64`, and the numbers.
fn given(name: &str, items: &[f64], ty: Type) -> (f64, Vec<f64>) {
    if ty == Type::F32 {
        let narrow: Vec<f32> = items.iter().map(|x| *x as f32).collect();
        let wide = narrow.iter().map(|x| f64::from(*x)).collect();
        let Ok(Value::F32(found)) = value_of(name, &json!({}), ty, vec![list(narrow)]) else {
            panic!("{name} gives a number")
        };
        return (f64::from(found), wide);
    }
    let Ok(Value::F64(found)) = value_of(name, &json!({}), ty, vec![list(items.to_vec())]) else {
        panic!("{name} gives a number")
    };
    (found, items.to_vec())
}

/// The exact result, and the largest error allowed where `most` is stated.
fn right(name: &str, items: &[f64], most: f64) -> (f64, f64) {
    let n = items.len() as f64;
    let sizes = exact(items.iter().map(|x| x.abs()));
    let mean = exact(items.iter().copied()) / n;
    let variance = exact(items.iter().map(|x| (x - mean) * (x - mean))) / n;
    match name {
        "list.sum" => (exact(items.iter().copied()), most * sizes),
        "list.mean" => (mean, most * sizes / n),
        "list.variance" => (variance, most * variance + (most * sizes / n) * (most * sizes / n)),
        _ => (variance.sqrt(), most * (variance.sqrt() + sizes / n)),
    }
}

#[test]
fn sums_and_deviations_are_as_accurate_as_the_manual_states() {
    for name in ["list.sum", "list.mean", "list.variance", "list.deviation"] {
        for (ty, most) in [(Type::F32, stated(name)), (Type::F64, stated_for_f64(name))] {
            for items in lists() {
                let (found, items) = given(name, &items, ty);
                let (right, allowed) = right(name, &items, most);
                // The rounding of the comparison itself.
                let allowed = allowed + right.abs() * 1e-15;
                let (off, n) = ((found - right).abs(), items.len());
                assert!(
                    off <= allowed,
                    "{name} of {n} {ty}: the error is {off:e}, but {allowed:e} is allowed"
                );
            }
        }
    }
}

#[test]
fn products_have_one_rounding_error_per_item() {
    let mut random = Random(3);
    for n in [1_usize, 5, 100, 3000] {
        let factors: Vec<f64> = (0..n).map(|_| f64::from(random.between(0.9, 1.1))).collect();
        let (found, _) = given("list.product", &factors, Type::F32);
        let right: f64 = factors.iter().product();
        assert!((found - right).abs() <= stated("list.product") * n as f64 * right, "{n}");
    }
}

#[test]
fn running_sums_have_one_rounding_error_per_item() {
    for items in lists() {
        let narrow: Vec<f32> = items.iter().map(|x| *x as f32).collect();
        let found = value_of("scan.sum", &json!({}), Type::F32, vec![list(narrow.clone())]);
        let Ok(Value::List(found)) = found else { panic!("gives a list") };
        let found = found.as_slice::<f32>().expect("of f32");
        let (mut sum, mut sizes) = (0.0_f64, 0.0_f64);
        for (i, (found, x)) in found.iter().zip(&narrow).enumerate() {
            sum += f64::from(*x);
            sizes += f64::from(x.abs());
            let off = (f64::from(*found) - sum).abs();
            assert!(off <= (i + 1) as f64 * 6e-8 * sizes, "item {i}: {off:e}");
        }
    }
}

#[test]
fn dot_products_are_rounded_once() {
    let mut random = Random(5);
    for n in [1_usize, 10, 3000] {
        let [a, b] = [0, 1].map(|_| random.wides(n));
        let args = vec![list(a.clone()), list(b.clone())];
        let Ok(Value::F32(found)) = value_of("list.dot", &json!({}), Type::F32, args) else {
            panic!("gives a number")
        };
        let terms = || a.iter().zip(&b).map(|(a, b)| f64::from(*a) * f64::from(*b));
        let (right, sizes) = (exact(terms()), exact(terms().map(f64::abs)));
        let off = (f64::from(found) - right).abs();
        assert!(off <= 6e-8 * right.abs() + n as f64 * 3e-16 * sizes, "{n}: {off:e}");
    }
}

#[test]
fn means_of_windows_are_not_affected_by_earlier_items() {
    let mut items = vec![1.0_f64; 200];
    items[3] = 1e17;
    let args = vec![list(items), Value::I32(20)];
    let Ok(Value::List(found)) = value_of("list.smooth", &json!({}), Type::F64, args) else {
        panic!("gives a list")
    };
    assert_eq!(found.as_slice::<f64>().expect("of f64")[24..], [1.0; 176]);
}
