//! Distributions, evenness and permutations; bounds are about five standard errors wide.

use millstream_base::{Type, Value};
use millstream_node::Kernel;
use serde_json::json;

use crate::cells::testing::instance;

/// A drawing function: the numbers of the lanes for these arguments.
fn drawer(
    name: &str,
    set: &serde_json::Value,
    generics: &[Type],
) -> impl Fn(&[Value]) -> Vec<f64> + use<> {
    let node = instance(name, set, generics, &[]);
    let Kernel::Form(form) = node.kernel else { panic!("{name} is a form") };
    move |args| {
        let params: Vec<u64> =
            args.iter().flat_map(|arg| (0..16).map_while(|i| arg.lane(i))).collect();
        assert_eq!(params.len(), form.params.len(), "arguments");
        let mut results = vec![0; form.results.len()];
        form.run_scalar(&params, &mut results, &mut Vec::new());
        results.iter().map(|bits| f64::from(f32::from_bits(*bits as u32))).collect()
    }
}

const N: i32 = 20_000;

/// Many draws of one number with two parameters.
fn floats(name: &str, a: f32, b: f32, seed: i32) -> Vec<f64> {
    let draw = drawer(name, &json!({}), &[]);
    let one = |id| draw(&[Value::F32(a), Value::F32(b), Value::I32(id), Value::I32(seed)])[0];
    (0..N).map(one).collect()
}

/// The greatest difference between the fractions of numbers below some bounds and those of a
/// distribution.
fn furthest(x: &[f64], below: impl Fn(f64) -> f64) -> f64 {
    let mut sorted = x.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let off = |(i, x): (usize, &f64)| (below(*x) - (i as f64 + 0.5) / n).abs();
    sorted.iter().enumerate().map(off).fold(0.0, f64::max)
}

#[test]
fn numbers_are_distributed_as_stated() {
    // Kolmogorov's bound for 20,000 numbers: a difference above 0.0138 has a probability of 1 in
    // 1000.
    let bound = 0.0138;
    for seed in [0, 7] {
        let pareto = floats("random.pareto", 2.0, 3.0, seed);
        assert!(furthest(&pareto, |x| 1.0 - (2.0 / x).powi(3)) < bound);
        let laplace = floats("random.laplace", 1.0, 2.0, seed);
        let below = |x: f64| {
            let tail = 0.5 * (-(x - 1.0).abs() / 2.0).exp();
            if x < 1.0 { tail } else { 1.0 - tail }
        };
        assert!(furthest(&laplace, below) < bound, "{}", furthest(&laplace, below));
        let logistic = floats("random.logistic", -1.0, 0.5, seed);
        assert!(furthest(&logistic, |x| 1.0 / (1.0 + (-(x + 1.0) / 0.5).exp())) < bound);
        let gumbel = floats("random.gumbel", 3.0, 2.0, seed);
        assert!(furthest(&gumbel, |x| (-(-(x - 3.0) / 2.0).exp()).exp()) < bound);
        for x in [pareto, laplace, logistic, gumbel] {
            assert!(x.iter().all(|x| x.is_finite()));
        }
    }
}

#[test]
fn points_fill_their_shapes_evenly() {
    let [ring_point, cone_point] =
        ["random.in_ring", "random.in_cone"].map(|name| drawer(name, &json!({}), &[]));
    let with = |args: &[Value], id: i32| [args, &[Value::I32(id), Value::I32(3)]].concat();
    let ring = [Value::F32(1.0), Value::F32(2.0)];
    let squares: Vec<f64> =
        (0..N).map(|id| ring_point(&with(&ring, id))).map(|p| p[0] * p[0] + p[1] * p[1]).collect();
    assert!(squares.iter().all(|x| (0.999..4.001).contains(x)));
    assert!(furthest(&squares, |x| (x - 1.0) / 3.0) < 0.0138);
    let axis = millstream_base::Vec3([1.0, -2.0, 0.5]);
    for angle in [0.1_f32, 1.0, 3.2] {
        let cone = [Value::from(axis), Value::F32(angle)];
        let length = f64::from(5.25_f32).sqrt();
        let heights: Vec<f64> = (0..N)
            .map(|id| cone_point(&with(&cone, id)))
            .map(|p| {
                assert!((p.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-5);
                (p[0] - 2.0 * p[1] + 0.5 * p[2]) / length
            })
            .collect();
        let least = f64::from(angle).min(std::f64::consts::PI).cos();
        assert!(heights.iter().all(|x| *x > least - 1e-5));
        assert!(furthest(&heights, |x| (x - least) / (1.0 - least)) < 0.0138, "{angle}");
    }
    let none = [Value::from(millstream_base::Vec3([0.0; 3])), Value::F32(0.0)];
    assert_eq!(cone_point(&with(&none, 0)), [0.0, 0.0, 1.0]);
    let corners = [
        Value::from(millstream_base::Vec2([-1.0, 5.0])),
        Value::from(millstream_base::Vec2([1.0, 6.0])),
    ];
    let box_point = drawer("random.in_box", &json!({}), &[Type::VEC2]);
    for id in 0..100 {
        let p = box_point(&with(&corners, id));
        assert!((-1.0..1.0).contains(&p[0]) && (5.0..6.0).contains(&p[1]));
    }
}

/// The points of a sequence.
fn sequence(name: &str, ty: &str, n: i32, seed: i32) -> Vec<Vec<f64>> {
    let draw = drawer(name, &json!({ "type": ty }), &[]);
    (0..n).map(|i| draw(&[Value::I32(i), Value::I32(seed)])).collect()
}

#[test]
fn mirrored_digits_are_known() {
    let halton = sequence("random.halton", "vec3", 6, 0);
    let wanted = [
        [0.0, 0.0, 0.0],
        [1.0 / 2.0, 1.0 / 3.0, 1.0 / 5.0],
        [1.0 / 4.0, 2.0 / 3.0, 2.0 / 5.0],
        [3.0 / 4.0, 1.0 / 9.0, 3.0 / 5.0],
        [1.0 / 8.0, 4.0 / 9.0, 4.0 / 5.0],
        [5.0 / 8.0, 7.0 / 9.0, 1.0 / 25.0],
    ];
    for (found, wanted) in halton.iter().zip(wanted) {
        assert!(
            found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6),
            "{found:?} {wanted:?}"
        );
    }
    let draw = drawer("random.halton", &json!({"type": "vec3"}), &[]);
    let last = draw(&[Value::I32(-1), Value::I32(0)]);
    assert!(last.iter().all(|x| (0.0..1.0).contains(x)), "{last:?}");
}

#[test]
fn sequences_are_more_even_than_random_points() {
    for (name, seed) in
        [("random.even", 0), ("random.even", 5), ("random.halton", 0), ("random.halton", 9)]
    {
        for n in [100, 1000] {
            for (ty, d) in [("f32", 1), ("vec2", 2), ("vec3", 3)] {
                let points = sequence(name, ty, n, seed);
                // Counts in boxes at the origin; random points deviate by about the square root of
                // their number.
                let mut worst: f64 = 0.0;
                for corner in sequence("random.even", "vec3", 64, 77) {
                    let inside = points.iter().filter(|p| (0..d).all(|k| p[k] < corner[k])).count();
                    let wanted: f64 = corner[..d].iter().product::<f64>() * f64::from(n);
                    worst = worst.max((inside as f64 - wanted).abs());
                }
                assert!(worst < [3.0, 6.0, 12.0][d - 1], "{name} {seed} {n} {ty}: {worst}");
                assert!(points.iter().flatten().all(|x| (0.0..1.0).contains(x)));
            }
        }
    }
}

/// The positions of the elements of a permutation.
fn orders() -> impl Fn(i32, i32) -> Vec<usize> {
    let node = instance("random.permutation", &json!({}), &[], &[]);
    let Kernel::Form(form) = node.kernel else { panic!("it is a form") };
    move |count, seed| {
        let one = |index: i32| {
            let mut result = [0];
            let params = [index, count, seed].map(|x| u64::from(x as u32));
            form.run_scalar(&params, &mut result, &mut Vec::new());
            result[0] as u32 as usize
        };
        (0..count.max(1)).map(one).collect()
    }
}

#[test]
fn every_position_is_taken_once() {
    let order = orders();
    for count in [1, 2, 3, 7, 64, 1000, 4097] {
        for seed in [0, 1, -9] {
            let mut places = order(count, seed);
            if count == 1000 {
                let n = f64::from(count);
                let moved: f64 =
                    places.iter().enumerate().map(|(i, at)| (i as f64 - *at as f64).abs()).sum();
                assert!(
                    (moved / n / n - 1.0 / 3.0).abs() < 0.04,
                    "the mean displacement of a random order: {moved}"
                );
                let rises = places.windows(2).filter(|pair| pair[0] < pair[1]).count();
                assert!((rises as f64 / n - 0.5).abs() < 0.05, "{rises}");
            }
            places.sort_unstable();
            assert!(places.into_iter().eq(0..count as usize), "{count} {seed}");
        }
    }
    assert_eq!(order(0, 3), [0]);
    assert_ne!(order(64, 0), order(64, 1));
    // Each of three elements is first about equally often.
    let firsts = (0..3000).map(|seed| order(3, seed)[0]);
    let counts = firsts.fold([0; 3], |mut counts, first| {
        counts[first] += 1;
        counts
    });
    assert!(counts.iter().all(|n| (850..1150).contains(n)), "{counts:?}");
}
