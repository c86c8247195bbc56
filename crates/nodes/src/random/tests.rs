//! Ranges, statistics and independence of the random numbers.
//!
//! Bounds are about five standard errors wide; nothing here is random, so no test fails by chance.

use millstream_base::{Type, Value, Vec3};
use millstream_node::Kernel;
use serde_json::json;

use crate::cells::testing::instance;

/// A drawing function: the value for these arguments.
fn drawer(name: &str, generic: Type) -> impl Fn(&[Value]) -> Value {
    let generics = if name == "random.hash" { vec![generic] } else { vec![] };
    let node = instance(name, &json!({}), &generics, &[]);
    let Kernel::Form(form) = node.kernel else { panic!("{name} is a form") };
    let ty = node.outputs[0].ty;
    move |args| {
        let params: Vec<u64> =
            args.iter().flat_map(|arg| (0..16).map_while(|i| arg.lane(i))).collect();
        let mut results = vec![0; form.results.len()];
        form.run_scalar(&params, &mut results, &mut Vec::new());
        Value::from_lanes(ty, &results).expect("as many lanes")
    }
}

fn floats(name: &str, args: [f32; 2], n: i32, seed: i32) -> Vec<f64> {
    let draw = drawer(name, Type::F32);
    let [a, b] = args.map(Value::F32);
    let one = |id| draw(&[a.clone(), b.clone(), Value::I32(id), Value::I32(seed)]);
    (0..n).map(|id| f64::from(one(id).get::<f32>().expect("f32"))).collect()
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

fn variance(x: &[f64]) -> f64 {
    let mean = mean(x);
    x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64
}

fn correlation(x: &[f64], y: &[f64]) -> f64 {
    let (mx, my) = (mean(x), mean(y));
    let shared: f64 = x.iter().zip(y).map(|(x, y)| (x - mx) * (y - my)).sum();
    shared / x.len() as f64 / (variance(x) * variance(y)).sqrt()
}

#[test]
fn numbers_never_change() {
    let value = drawer("random.value", Type::F32);
    let draw = |id, seed| {
        let args = [Value::F32(0.0), Value::F32(1.0), Value::I32(id), Value::I32(seed)];
        value(&args).to_string()
    };
    let drawn = [draw(0, 0), draw(1, 0), draw(0, 1), draw(-1, 7)];
    expect_test::expect!["0.18301785 0.824561 0.04216516 0.08616227"].assert_eq(&drawn.join(" "));
}

#[test]
fn values_are_uniform() {
    for seed in [0, 1, -5] {
        let x = floats("random.value", [0.0, 1.0], 65536, seed);
        assert!((mean(&x) - 0.5).abs() < 5.0 * (1.0 / 12.0_f64).sqrt() / 256.0, "{}", mean(&x));
        assert!((variance(&x) - 1.0 / 12.0).abs() < 0.0015, "{}", variance(&x));
        let mut buckets = [0; 64];
        for x in &x {
            buckets[(x * 64.0) as usize] += 1;
        }
        // Chi-squared with 63 degrees of freedom has mean 63 and standard deviation 11.
        let chi: f64 = buckets.iter().map(|n| (f64::from(*n) - 1024.0).powi(2) / 1024.0).sum();
        assert!(chi < 63.0 + 5.0 * 11.3, "{chi}");
    }
}

#[test]
fn neighbors_are_uncorrelated() {
    let bound = 5.0 / 181.0;
    let of = |seed| floats("random.value", [0.0, 1.0], 32768, seed);
    let x = of(3);
    for lag in [1, 2, 3, 16, 256, 4096] {
        let c = correlation(&x[lag..], &x[..x.len() - lag]);
        assert!(c.abs() < bound, "ids {lag} apart: {c}");
    }
    for other in [2, 4, 3 + 65536, -3, i32::MIN + 3] {
        let c = correlation(&x, &of(other));
        assert!(c.abs() < bound, "seeds 3 and {other}: {c}");
    }
}

#[test]
fn ids_and_seeds_are_not_interchangeable() {
    let draw = drawer("random.value", Type::F32);
    let grid = |swap: bool| -> Vec<f64> {
        let ids = (0..128).flat_map(|id| (0..128).map(move |seed| (id, seed)));
        let one = |(id, seed): (i32, i32)| {
            let (id, seed) = if swap { (seed, id) } else { (id, seed) };
            let args = [Value::F32(0.0), Value::F32(1.0), Value::I32(id), Value::I32(seed)];
            f64::from(draw(&args).get::<f32>().expect("f32"))
        };
        ids.filter(|(id, seed)| id != seed).map(one).collect()
    };
    assert!(correlation(&grid(false), &grid(true)).abs() < 5.0 / 127.0);
}

#[test]
fn bounds_of_the_range_are_kept() {
    let draw = drawer("random.value", Type::F32);
    let at = |min: f32, max: f32, id: i32| {
        let args = [Value::F32(min), Value::F32(max), Value::I32(id), Value::I32(0)];
        draw(&args).get::<f32>().expect("f32")
    };
    let above_one = 1.0 + f32::EPSILON;
    for id in 0..1000 {
        assert_eq!(at(1.0, above_one, id), 1.0, "the only number below the bound");
        assert_eq!(at(2.5, 2.5, id), 2.5);
        assert!((-3.0..7.0).contains(&at(-3.0, 7.0, id)));
        assert!(at(f32::NAN, 1.0, id).is_nan() && at(0.0, f32::NAN, id).is_nan());
    }
}

#[test]
fn integers_reach_both_bounds_equally_often() {
    let draw = drawer("random.integer", Type::I32);
    let at = |min, max, id| draw(&[min, max, id, 0].map(Value::I32)).get::<i32>().expect("i32");
    let mut counts = [0; 6];
    for id in 0..60_000 {
        counts[at(1, 6, id) as usize - 1] += 1;
        assert_eq!(at(1, 6, id), at(6, 1, id));
    }
    assert!(counts.iter().all(|n| (10_000_i32 - n).abs() < 500), "{counts:?}");
    assert_eq!(at(i32::MIN, i32::MIN, 9), i32::MIN);
    let whole: Vec<i32> = (0..1000).map(|id| at(i32::MIN, i32::MAX, id)).collect();
    assert!(whole.iter().any(|x| *x < -1 << 30) && whole.iter().any(|x| *x > 1 << 30));
}

#[test]
fn booleans_are_true_with_their_probability() {
    let draw = drawer("random.boolean", Type::F32);
    let often = |probability: f32| {
        let holds = |id: &i32| {
            let args = [Value::F32(probability), Value::I32(*id), Value::I32(4)];
            draw(&args).get::<bool>().expect("bool")
        };
        (0..10_000).filter(holds).count()
    };
    assert_eq!((often(0.0), often(-1.0), often(f32::NAN)), (0, 0, 0));
    assert_eq!((often(1.0), often(2.0)), (10_000, 10_000));
    assert!(often(0.25).abs_diff(2500) < 220);
}

#[test]
fn components_are_independent() {
    let draw = drawer("random.vector", Type::F32);
    let (min, max): (Value, Value) = (Vec3([0.0; 3]).into(), Vec3([1.0, 2.0, 4.0]).into());
    let one = |id| draw(&[min.clone(), max.clone(), Value::I32(id), Value::I32(0)]);
    let all: Vec<[f32; 3]> = (0..32768).map(|id| one(id).get::<Vec3>().expect("vec3").0).collect();
    let lane = |i: usize| all.iter().map(|v| f64::from(v[i])).collect::<Vec<f64>>();
    assert!((mean(&lane(2)) - 2.0).abs() < 0.04);
    for (i, j) in [(0, 1), (1, 2), (0, 2)] {
        let c = correlation(&lane(i), &lane(j));
        assert!(c.abs() < 5.0 / 181.0, "components {i} and {j}: {c}");
    }
}

#[test]
fn directions_spread_over_the_sphere() {
    let draw = drawer("random.direction", Type::F32);
    let all: Vec<[f32; 3]> = (0..32768)
        .map(|id| draw(&[Value::I32(id), Value::I32(0)]).get::<Vec3>().expect("vec3").0)
        .collect();
    for v in &all {
        let length = v.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
        assert!((length - 1.0).abs() < 1e-6, "{v:?}");
    }
    for i in 0..3 {
        let lane: Vec<f64> = all.iter().map(|v| f64::from(v[i])).collect();
        assert!(mean(&lane).abs() < 0.016 && (variance(&lane) - 1.0 / 3.0).abs() < 0.009);
    }
}

#[test]
fn normal_numbers_have_their_moments() {
    let x = floats("random.normal", [3.0, 2.0], 65536, 8);
    assert!((mean(&x) - 3.0).abs() < 0.04, "{}", mean(&x));
    assert!((variance(&x) - 4.0).abs() < 0.12, "{}", variance(&x));
    let within = x.iter().filter(|x| (*x - 3.0).abs() < 2.0).count() as f64 / 65536.0;
    assert!((within - 0.6827).abs() < 0.01, "{within}");
    let fourth = mean(&x.iter().map(|x| ((x - 3.0) / 2.0).powi(4)).collect::<Vec<_>>());
    assert!((fourth - 3.0).abs() < 0.2, "{fourth}");
}

#[test]
fn one_bit_changes_half_of_the_hash() {
    let hash = drawer("random.hash", Type::I32);
    let of = |x: i32| hash(&[Value::I32(x), Value::I32(0)]).get::<i32>().expect("i32");
    let flips: Vec<f64> = (0..32)
        .flat_map(|bit| (0..500).map(move |x| (x * 7919, bit)))
        .map(|(x, bit): (i32, i32)| f64::from((of(x) ^ of(x ^ (1 << bit))).count_ones()))
        .collect();
    assert!((mean(&flips) - 16.0).abs() < 0.15, "{}", mean(&flips));
}

#[test]
fn hashes_distinguish_zeros_but_not_nans() {
    let hash = drawer("random.hash", Type::F32);
    let of = |x: f32| hash(&[Value::F32(x), Value::I32(0)]).to_string();
    assert_eq!(of(f32::NAN), of(-f32::from_bits(0x7fc0_1234)));
    assert_ne!(of(0.0), of(-0.0));
    let hash = drawer("random.hash", Type::F64);
    let of = |x: f64| hash(&[Value::F64(x), Value::I32(0)]).to_string();
    assert_eq!(of(f64::NAN), of(-f64::NAN));
    assert_ne!(of(1.0), of(1.0 + f64::EPSILON));
    let hash = drawer("random.hash", Type::VEC3);
    let of = |v: [f32; 3]| hash(&[Vec3(v).into(), Value::I32(0)]).to_string();
    assert_ne!(of([1.0, 2.0, 3.0]), of([2.0, 1.0, 3.0]));
    assert_ne!(of([0.0, 0.0, 1.0]), of([0.0, 1.0, 0.0]));
}

/// Lane `k` of numbers drawn with these inputs before id and seed.
fn lanes(name: &str, args: &[Value], n: i32, k: usize) -> Vec<f64> {
    let draw = drawer(name, Type::F32);
    let one = |id: i32| {
        let all = [args, &[Value::I32(id), Value::I32(3)]].concat();
        f64::from(f32::from_bits(draw(&all).lane(k).expect("a lane") as u32))
    };
    (0..n).map(one).collect()
}

/// The fraction of numbers below a bound.
fn share_below(x: &[f64], bound: f64) -> f64 {
    x.iter().filter(|x| **x < bound).count() as f64 / x.len() as f64
}

#[test]
fn distributions_have_their_quantiles() {
    let numbers = |name: &str, args: &[f32]| {
        let args: Vec<Value> = args.iter().map(|x| Value::F32(*x)).collect();
        lanes(name, &args, 20_000, 0)
    };
    // The distribution functions, at places where closed forms are known.
    let e = std::f64::consts::E;
    for (name, args, places) in [
        ("random.exponential", vec![2.0], vec![(0.5, 1.0 - 1.0 / e), (1.0, 1.0 - 1.0 / (e * e))]),
        ("random.triangular", vec![1.0, 2.0, 5.0], vec![(2.0, 0.25), (3.0, 1.0 - 4.0 / 12.0)]),
        ("random.log_normal", vec![0.5, 1.0], vec![(0.5_f64.exp(), 0.5), (1.5_f64.exp(), 0.8413)]),
        ("random.cauchy", vec![1.0, 2.0], vec![(1.0, 0.5), (3.0, 0.75), (-1.0, 0.25)]),
        (
            "random.weibull",
            vec![3.0, 2.0],
            vec![(3.0, 1.0 - 1.0 / e), (1.5, 1.0 - (-0.25_f64).exp())],
        ),
    ] {
        let x = numbers(name, &args);
        assert!(x.iter().all(|x| x.is_finite()), "{name}");
        for (bound, wanted) in places {
            let share = share_below(&x, bound);
            assert!((share - wanted).abs() < 5.0 * 0.5 / 141.0, "{name} below {bound}: {share}");
        }
    }
    let triangular = numbers("random.triangular", &[1.0, 2.0, 5.0]);
    assert!(triangular.iter().all(|x| (1.0..=5.0).contains(x)));
    let draw = drawer("random.geometric", Type::F32);
    let failures = |p: f32, id: i32| {
        draw(&[p.into(), Value::I32(id), Value::I32(0)]).get::<i32>().expect("i32")
    };
    let x: Vec<f64> = (0..20_000).map(|id| f64::from(failures(0.25, id))).collect();
    assert!((mean(&x) - 3.0).abs() < 0.13, "{}", mean(&x));
    assert!((share_below(&x, 1.0) - 0.25).abs() < 0.016);
    assert_eq!([failures(1.0, 5), failures(2.0, 5), failures(0.0, 5)], [0, 0, i32::MAX]);
}

#[test]
fn points_fill_their_shapes_evenly() {
    let n = 20_000;
    let three = |name: &str, args: &[Value], n_lanes: usize| -> Vec<Vec<f64>> {
        (0..n_lanes).map(|k| lanes(name, args, n, k)).collect()
    };
    let radii = |x: &[Vec<f64>]| -> Vec<f64> {
        (0..n as usize).map(|i| x.iter().map(|x| x[i] * x[i]).sum::<f64>().sqrt()).collect()
    };
    let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 0.02, "{found} {wanted}");
    let disk = three("random.in_disk", &[2.0_f32.into()], 2);
    near(share_below(&radii(&disk), 1.0), 0.25);
    near(share_below(&disk[0], 0.0), 0.5);
    assert!(radii(&disk).iter().all(|r| *r <= 2.000_001));
    let ball = three("random.in_ball", &[2.0_f32.into()], 3);
    near(share_below(&radii(&ball), 1.0), 0.125);
    for axis in &ball {
        near(share_below(axis, 0.0), 0.5);
        near(axis.iter().map(|x| x * x).sum::<f64>() / f64::from(n), 0.8);
    }
    let circle = three("random.on_circle", &[], 2);
    assert!(radii(&circle).iter().all(|r| (r - 1.0).abs() < 1e-6));
    near(share_below(&circle[1], 0.5), 2.0 / 3.0);
    let corners = [[0.0, 0.0, 1.0], [2.0, 0.0, 1.0], [0.0, 2.0, 1.0]].map(|v| Value::from(Vec3(v)));
    let triangle = three("random.in_triangle", &corners, 3);
    near(share_below(&triangle[0], 1.0), 0.75);
    near(share_below(&triangle[1], 1.0), 0.75);
    assert!((0..n as usize).all(|i| triangle[0][i] + triangle[1][i] <= 2.000_001));
    let rotation = three("random.rotation", &[], 4);
    assert!(radii(&rotation).iter().all(|r| (r - 1.0).abs() < 1e-6));
    for part in &rotation {
        near(mean(part), 0.0);
        near(part.iter().map(|x| x * x).sum::<f64>() / f64::from(n), 0.25);
        near(part.iter().map(|x| x.powi(4)).sum::<f64>() / f64::from(n), 0.125);
    }
}
