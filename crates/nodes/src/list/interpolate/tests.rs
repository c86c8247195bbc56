//! Expected values from scipy: `numpy.interp`, `PchipInterpolator`, and `CubicHermiteSpline` with
//! the slopes of parabolas.

use millstream_base::{Limits, Mask, Type, Value, Vec2};
use serde_json::{Value as Json, json};

use crate::cells::testing::{call, instance, list, lists, many, one};

const X: [f64; 6] = [-1.0, 0.5, 1.0, 4.0, 4.25, 9.0];
const Y: [f64; 6] = [2.0, 3.0, -1.0, -1.0, 5.0, 4.0];

fn tried(set: &Json, x: &[f64], y: &[f64], at: f64) -> Result<f64, String> {
    let node = instance("list.interpolate", set, &[Type::F64], &[]);
    let given = vec![one(list(x.to_vec())), one(list(y.to_vec())), one(at)];
    let found = call(&node, given, &Mask::full(1), 1, &Limits::default());
    found.map(|data| data.get(0).get::<f64>().expect("f64")).map_err(|failure| failure.message)
}

fn at(set: &Json, x: &[f64], y: &[f64], at: f64) -> f64 {
    tried(set, x, y, at).expect("a value")
}

fn check(interpolation: &str, x: &[f64], y: &[f64], cases: &[(f64, f64)]) {
    for (place, wanted) in cases {
        let found = at(&json!({ "interpolation": interpolation }), x, y, *place);
        let near = (found - wanted).abs() <= 1e-13 * wanted.abs().max(1.0);
        assert!(near, "{interpolation} at {place}: {found}, not {wanted}");
    }
}

#[test]
fn between_points_values_are_those_of_scipy() {
    let of = |values: [f64; 7]| {
        [-0.75, 0.25, 0.75, 2.0, 4.1, 7.5, 8.9].into_iter().zip(values).collect::<Vec<_>>()
    };
    let linear = [
        2.166_666_666_666_666_5,
        2.833_333_333_333_333,
        1.0,
        -1.0,
        1.399_999_999_999_991_5,
        4.315_789_473_684_211,
        4.021_052_631_578_947,
    ];
    check("linear", &X, &Y, &of(linear));
    let monotone = [
        2.421_296_296_296_296_3,
        2.995_370_370_370_370_2,
        1.0,
        -1.0,
        1.111_999_999_999_987_7,
        4.679_690_917_043_301,
        4.061_837_585_653_885,
    ];
    check("monotone", &X, &Y, &of(monotone));
    let cubic = [
        2.392_361_111_111_111,
        3.961_805_555_555_555_4,
        1.063_988_095_238_095_3,
        -8.970_695_970_695_97,
        1.362_591_093_117_400_1,
        11.770_083_102_493_068,
        4.068_454_293_628_818,
    ];
    check("cubic", &X, &Y, &of(cubic));
    check("nearest", &X, &Y, &of([2.0, 3.0, -1.0, -1.0, -1.0, 4.0, 4.0]));
    let rise = [
        (0.25, 1.682_215_073_529_411_7),
        (0.5, 3.256_740_196_078_431_5),
        (2.0, 5.382_352_941_176_471),
    ];
    check("monotone", &[0.0, 1.0, 3.0], &[0.0, 5.0, 5.5], &rise);
    let fall = [
        (0.25, 0.578_125),
        (0.5, 0.875),
        (2.0, -13.708_333_333_333_334),
        (2.9, -45.734_458_333_333_336),
    ];
    check("monotone", &[0.0, 1.0, 3.0], &[0.0, 1.0, -50.0], &fall);
}

#[test]
fn points_are_hit_exactly_and_jumps_have_the_last_value() {
    for interpolation in ["nearest", "linear", "cubic", "monotone"] {
        let set = json!({ "interpolation": interpolation });
        for (x, y) in X.iter().zip(Y) {
            assert_eq!(at(&set, &X, &Y, *x), y, "{interpolation}");
        }
        let (x, y) = ([0.0, 1.0, 1.0, 1.0, 2.0], [0.0, 2.0, 77.0, 10.0, 12.0]);
        assert_eq!(at(&set, &x, &y, 1.0), 10.0);
        assert_eq!(at(&set, &x, &y, 0.75), if interpolation == "nearest" { 2.0 } else { 1.5 });
        assert_eq!(at(&set, &x, &y, 1.25), if interpolation == "nearest" { 10.0 } else { 10.5 });
        assert_eq!(at(&set, &[3.0], &[7.0], 100.0), 7.0);
        assert_eq!(at(&set, &[3.0, 3.0], &[7.0, 8.0], -1.0), 7.0);
    }
}

#[test]
fn the_curve_continues_beyond_the_ends_as_set() {
    let (x, y) = ([1.0, 2.0, 5.0], [0.0, 4.0, 1.0]);
    let on = |beyond: &str, place: f64| at(&json!({ "beyond": beyond }), &x, &y, place);
    assert_eq!([on("clamp", -3.0), on("clamp", f64::INFINITY)], [0.0, 1.0]);
    assert_eq!([on("line", -3.0), on("line", 8.0)], [-16.0, -2.0]);
    assert_eq!(on("line", f64::NEG_INFINITY), f64::NEG_INFINITY);
    assert_eq!([on("wrap", 6.0), on("wrap", 0.0), on("wrap", 9.5)], [4.0, 2.0, 2.0]);
    assert_eq!([on("mirror", 6.0), on("mirror", 0.0), on("mirror", 9.5)], [2.0, 4.0, 2.0]);
    for beyond in ["wrap", "mirror"] {
        assert!(on(beyond, f64::INFINITY).is_nan());
        assert!((0.0..=4.0).contains(&on(beyond, 1e300)));
    }
    assert!(on("clamp", f64::NAN).is_nan());
    let flat = at(&json!({"beyond": "line"}), &[0.0, 1.0], &[3.0, 3.0], f64::INFINITY);
    assert_eq!(flat, 3.0);
}

#[test]
fn positions_must_be_finite_and_ascend() {
    let message = |x: &[f64], y: &[f64]| tried(&json!({}), x, y, 0.5).expect_err("no points");
    assert_eq!(message(&[], &[]), "there are no points to interpolate; give at least one");
    assert_eq!(message(&[0.0, 1.0], &[0.0]), "1 values for 2 positions");
    assert_eq!(
        message(&[0.0, f64::NAN], &[0.0, 1.0]),
        "position 1 is NaN; positions must be finite"
    );
    assert_eq!(
        message(&[0.0, 2.0, 1.0], &[0.0; 3]),
        "positions must be ascending, but 1 follows 2 (item 2)"
    );
}

#[test]
fn values_that_are_not_finite_affect_only_their_neighborhood() {
    let (x, y) = ([0.0, 1.0, 2.0, 3.0, 4.0], [0.0, 1.0, f64::NAN, 1.0, 0.0]);
    for interpolation in ["linear", "cubic", "monotone"] {
        let set = json!({ "interpolation": interpolation });
        assert!(at(&set, &x, &y, 1.5).is_nan(), "{interpolation}");
        assert_eq!(at(&set, &x, &y, 1.0), 1.0);
    }
    assert_eq!(at(&json!({}), &x, &y, 0.5), 0.5);
    let far = at(&json!({}), &[-f64::MAX, f64::MAX], &[0.0, 8.0], 0.0);
    assert_eq!(far, 4.0);
}

#[test]
fn vectors_are_interpolated_and_lists_may_differ_between_elements() {
    let node = instance("list.interpolate", &json!({}), &[Type::VEC2], &[]);
    let x = lists(&[list(vec![0.0_f64, 4.0]), list(vec![1.0_f64, 2.0]), list(vec![2.0_f64, 1.0])]);
    let y = list(vec![Vec2([0.0, 1.0]), Vec2([4.0, 5.0])]);
    let mask = Mask::from_indices(vec![0, 1]).expect("ascending");
    let given = || vec![many(x.clone()), one(y.clone()), one(1.5_f64)];
    let found = call(&node, given(), &mask, 3, &Limits::default()).expect("values");
    assert_eq!(found.get(0).to_string(), Value::from(Vec2([1.5, 2.5])).to_string());
    assert_eq!(found.get(1).to_string(), Value::from(Vec2([2.0, 3.0])).to_string());
    let wrong = call(&node, given(), &Mask::full(3), 3, &Limits::default());
    assert_eq!(wrong.expect_err("one descends").element, Some(2));
}
