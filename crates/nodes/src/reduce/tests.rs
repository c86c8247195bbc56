//! Results of reductions, over lists and along axes.

use millstream_base::map::Map;
use millstream_base::{Column, Limits, Mask, Type, Value, Vec2};
use millstream_node::{Data, Kernel, ScopeRule};
use serde_json::json;

use crate::cells::testing::{call, instance, list, lists, many, one, text, try_instance};

fn reduced(name: &str, items: impl Into<Column>) -> String {
    let items = list(items);
    text(&format!("list.{name}"), &json!({}), vec![items])
}

#[test]
fn lists_reduce_to_one_value() {
    let items = || vec![3.0_f32, -1.0, 4.0];
    assert_eq!(reduced("sum", items()), "6.0");
    assert_eq!(reduced("product", items()), "-12.0");
    assert_eq!(reduced("mean", items()), "2.0");
    assert_eq!(reduced("minimum", items()), "-1.0");
    assert_eq!(reduced("maximum", items()), "4.0");
    assert_eq!(reduced("variance", vec![1.0_f32, 3.0]), "1.0");
    assert_eq!(reduced("deviation", vec![2.0_f64, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]), "2.0");
    assert_eq!(reduced("deviation", vec![Vec2([0.0, 1.0]), Vec2([2.0, 1.0])]), "[1.0, 0.0]");
    assert_eq!(reduced("median", items()), "3.0");
    assert_eq!(reduced("median", vec![4.0_f64, 1.0, 9.0, 2.0]), "3.0");
    for items in [[5e-324, 5e-324], [5e-324, 15e-324], [f64::MAX, f64::MAX]] {
        let halfway = [5e-324, 1e-323, f64::MAX].map(|x: f64| Value::from(x).to_string());
        assert!(halfway.contains(&reduced("median", items.to_vec())), "{items:?}");
    }
    assert_eq!(reduced("median", vec![1e-45_f32, 1e-45]), Value::from(1e-45_f32).to_string());
    for items in [vec![1e25_f32, 2e25], vec![1e-24, 3e-24], vec![1e30; 3]] {
        let found: f32 = reduced("deviation", items.clone()).parse().expect("a number");
        let wanted = (items[1] - items[0]) / 2.0;
        assert!((found - wanted).abs() <= 1e-6 * wanted, "{found}, not {wanted}");
    }
    assert_eq!(reduced("variance", vec![1e30_f32; 3]), "0.0");
    assert_eq!(reduced("deviation", vec![f32::INFINITY, 1.0]), "\"nan\"");
    assert_eq!(reduced("index_of_minimum", items()), "1");
    assert_eq!(reduced("index_of_maximum", vec![5_i64, 7, 7, 6]), "1");
    assert_eq!(reduced("first", items()), "3.0");
    assert_eq!(reduced("last", items()), "4.0");
    assert_eq!(reduced("any", vec![false, true]), "true");
    assert_eq!(reduced("all", vec![false, true]), "false");
    assert_eq!(reduced("count_true", vec![true, false, true]), "2");
}

#[test]
fn empty_lists_reduce_to_the_documented_values() {
    let none = || Vec::<f32>::new();
    assert_eq!(reduced("sum", none()), "0.0");
    assert_eq!(reduced("product", none()), "1.0");
    assert_eq!(reduced("mean", none()), "\"nan\"");
    assert_eq!(reduced("minimum", none()), "an empty list has no minimum");
    assert_eq!(reduced("deviation", none()), "\"nan\"");
    assert_eq!(reduced("median", none()), "an empty list has no median");
    assert_eq!(reduced("index_of_maximum", none()), "an empty list has no maximum");
    assert_eq!(reduced("first", none()), "an empty list has no first item");
    assert_eq!(reduced("any", Vec::<bool>::new()), "false");
    assert_eq!(reduced("all", Vec::<bool>::new()), "true");
    assert_eq!(reduced("count_true", Vec::<bool>::new()), "0");
}

#[test]
fn vectors_reduce_by_component_and_integers_wrap() {
    let items = vec![Vec2([1.0, 5.0]), Vec2([3.0, 2.0])];
    assert_eq!(reduced("minimum", items.clone()), "[1.0, 2.0]");
    assert_eq!(reduced("mean", items), "[2.0, 3.5]");
    assert_eq!(reduced("sum", vec![i32::MAX, 1]), "-2147483648");
    assert_eq!(reduced("product", vec![1_i64 << 62, 4]), "0");
}

#[test]
fn numbers_are_preferred_to_nan() {
    assert_eq!(reduced("minimum", vec![f32::NAN, 2.0]), "2.0");
    assert_eq!(reduced("maximum", vec![f32::NAN]), "\"nan\"");
    assert_eq!(reduced("index_of_minimum", vec![f32::NAN, 2.0, f32::NAN]), "1");
    assert_eq!(reduced("median", vec![f32::NAN, 2.0, 4.0]), "3.0");
    assert_eq!(reduced("median", vec![f32::NAN]), "\"nan\"");
    assert_eq!(reduced("minimum", vec![0.0_f32, -0.0]), "-0.0");
    assert_eq!(reduced("sum", vec![f32::NAN, 2.0]), "\"nan\"");
}

#[test]
fn a_column_of_lists_reduces_element_by_element() {
    let column = lists(&[list(vec![1, 2]), list(Vec::<i32>::new()), list(vec![5, 6, 7])]);
    let node = instance("list.sum", &json!({}), &[Type::I32], &[]);
    let limits = Limits::default();
    let sums = call(&node, vec![many(column.clone())], &Mask::full(3), 3, &limits).expect("sums");
    assert_eq!((0..3).map(|i| sums.get(i).to_string()).collect::<Vec<_>>(), ["3", "0", "18"]);
    let node = instance("list.last", &json!({}), &[Type::I32], &[]);
    let failure = call(&node, vec![many(column.clone())], &Mask::full(3), 3, &limits);
    assert_eq!(failure.expect_err("one is empty").element, Some(1));
    let ends = Mask::from_indices(vec![0, 2]).expect("ascending");
    let lasts = call(&node, vec![many(column)], &ends, 3, &limits).expect("not demanded");
    assert_eq!((lasts.get(0).to_string(), lasts.get(2).to_string()), ("2".into(), "7".into()));
}

#[test]
fn the_demanded_element_of_an_empty_column_of_lists_fails() {
    let node = instance("list.first", &json!({}), &[Type::STRING], &[]);
    let empty = || many(lists(&[list(Vec::<std::sync::Arc<str>>::new())]));
    let nothing = call(&node, vec![empty()], &Mask::empty(), 1, &Limits::default());
    assert!(nothing.is_ok());
    let failure = call(&node, vec![empty()], &Mask::full(1), 1, &Limits::default());
    assert_eq!(failure.expect_err("empty").element, Some(0));
}

#[test]
fn reductions_along_an_axis_are_those_over_its_list() {
    let node = instance("reduce.sum", &json!({"level": 2}), &[Type::F32], &[]);
    let [ScopeRule::Along { level: 2, .. }] = &node.inputs[0].scope[..] else {
        panic!("evaluated along an axis")
    };
    let items: Vec<f32> = (0..5000).map(|i| 1.0 / (i as f32 + 1.0)).collect();
    let given = vec![one(list(items.clone()))];
    let sum = call(&node, given, &Mask::full(1), 1, &Limits::default()).expect("sums");
    assert_eq!(sum.get(0).to_string(), reduced("sum", items));
    let refused = try_instance("reduce.sum", &json!({"level": 16}), &[Type::F32], &[]);
    assert_eq!(refused.expect_err("too far out"), "setting `level` is 16");
}

/// Expected values from `numpy.quantile`.
#[test]
fn quantiles_along_an_axis_interpolate_linearly_between_numbers() {
    let node = instance("reduce.quantile", &json!({"level": 1}), &[], &[]);
    let [ScopeRule::Along { level: 1, .. }] = &node.inputs[0].scope[..] else {
        panic!("evaluated along an axis")
    };
    assert!(node.inputs[1].scope.is_empty(), "the fraction is computed once");
    let at = |items: &[f64], part: f64| {
        let given = vec![one(list(items.to_vec())), one(part)];
        let found = call(&node, given, &Mask::full(1), 1, &Limits::default()).expect("a number");
        found.get(0).get::<f64>().expect("f64")
    };
    let items = [3.5, -1.0, 8.0, 2.0, 2.0];
    for (part, wanted) in [(0.0, -1.0), (0.1, 0.2), (0.25, 2.0), (0.6, 2.6), (0.9, 6.2), (1.0, 8.0)]
    {
        assert!((at(&items, part) - wanted).abs() < 1e-14, "{part}");
    }
    assert_eq!([at(&items, -1.0), at(&items, 7.0)], [-1.0, 8.0]);
    assert_eq!(at(&[f64::INFINITY, 1.0], 0.5), f64::INFINITY);
    assert!(
        at(&[], 0.5).is_nan()
            && at(&[1.0, f64::NAN], 0.0).is_nan()
            && at(&items, f64::NAN).is_nan()
    );
}

#[test]
fn running_sums_are_written_in_place_if_the_list_has_no_other_reader() {
    let node = instance("scan.sum", &json!({}), &[Type::I32], &[]);
    let run = |given, extent| {
        call(&node, vec![given], &Mask::full(extent), extent, &Limits::default()).expect("sums")
    };
    let items = Column::from_vec(vec![1, 2, 3]);
    let buffer = items.as_slice::<i32>().expect("i32").as_ptr();
    let Data::One(Value::List(sums)) = run(one(list(items)), 1) else { panic!("one list") };
    assert_eq!(sums.as_slice::<i32>(), Some(&[1, 3, 6][..]));
    assert_eq!(sums.as_slice::<i32>().map(<[i32]>::as_ptr), Some(buffer));

    let two = lists(&[list(vec![1, 1]), list(vec![2, 2, 2])]);
    let shared = two.clone();
    assert_eq!(run(many(two), 2).get(1).to_string(), "[2,4,6]".replace(',', ", "));
    assert_eq!(shared.get(1).to_string(), "[2, 2, 2]");
    let swapped = run((Data::Many(shared), Map::Table(&[1, 0, 1])), 3);
    assert_eq!(swapped.get(0).to_string(), "[2, 4, 6]");
    assert_eq!(swapped.get(1).to_string(), "[1, 2]");
}

#[test]
fn scans_return_running_results() {
    let scanned = |name: &str, set: serde_json::Value, items: Value| text(name, &set, vec![items]);
    let items = || list(vec![2_i32, -3, 4]);
    assert_eq!(scanned("scan.sum", json!({}), items()), "[2, -1, 3]");
    assert_eq!(scanned("scan.sum", json!({"exclusive": true}), items()), "[0, 2, -1]");
    assert_eq!(scanned("scan.product", json!({}), items()), "[2, -6, -24]");
    assert_eq!(scanned("scan.product", json!({"exclusive": true}), items()), "[1, 2, -6]");
    assert_eq!(scanned("scan.minimum", json!({}), items()), "[2, -3, -3]");
    assert_eq!(scanned("scan.maximum", json!({}), items()), "[2, 2, 4]");
    let none = list(Vec::<f32>::new());
    assert_eq!(scanned("scan.maximum", json!({}), none), "[]");
}

/// The result of a reduction of a list, from partial results of which some were computed for other
/// items first.
fn by_blocks(name: &str, items: &Column) -> String {
    let made = instance(&format!("list.{name}"), &json!({}), &[items.ty()], &[1]);
    let Kernel::Function(function) = &made.kernel else { panic!("it is a function") };
    let blockwise = function.blockwise().expect("it works by blocks");
    let len = blockwise.block_len();
    let n_blocks = items.len().div_ceil(len);
    let blocks: Vec<u32> = (0..n_blocks as u32).collect();
    let others = items.gather((0..items.len()).map(|i| i / len * len));
    let mut partials = blockwise.partials(&others, &blocks);
    let odd: Vec<u32> = blocks.iter().copied().filter(|block| block % 2 == 1).collect();
    let even: Vec<u32> = blocks.iter().copied().filter(|block| block % 2 == 0).collect();
    for some in [odd, even] {
        let new = blockwise.partials(items, &some);
        let mask = Mask::from_indices(some).expect("they are in order");
        partials.overwrite(&mask, &new, |i| mask.rank(i));
    }
    match blockwise.result(&partials, items.len()) {
        Ok(value) => value.to_string(),
        Err(failure) => failure.to_string(),
    }
}

#[test]
fn partial_results_of_blocks_give_the_same_bits() {
    for n in [0, 1, 17, 1023, 1024, 1025, 5000, 7 * 1024 + 3] {
        let number = |i: usize| ((i * 7919) % 10_007) as f32 / 13.0 - 300.0;
        let columns: [Column; 5] = [
            (0..n).map(number).collect(),
            (0..n).map(|i| f64::from(number(i)).powi(3)).collect(),
            (0..n).map(|i| number(i) as i32).collect(),
            (0..n).map(|i| number(i) as i64 * 1_000_000_007).collect(),
            (0..n).map(|i| Vec2([number(i), 1.0 / number(i + 5)])).collect(),
        ];
        for items in columns {
            for name in ["sum", "product", "mean", "minimum", "maximum"] {
                let is_float = items.ty() != Type::I32 && items.ty() != Type::I64;
                if name != "mean" || is_float {
                    assert_eq!(
                        by_blocks(name, &items),
                        reduced(name, items.clone()),
                        "{name}, {n}"
                    );
                }
            }
        }
        for every in [1, 2, 4000] {
            let items: Column = (0..n).map(|i| i % every == 0).collect();
            for name in ["any", "all", "count_true"] {
                assert_eq!(by_blocks(name, &items), reduced(name, items.clone()), "{name}, {n}");
            }
        }
    }
}
