//! Ranges, statistics, continuity, tiling and independence of noise.
//!
//! Nothing here is random: positions come from low-discrepancy sequences, so no test fails by
//! chance. Bounds leave a margin of about five standard errors.

use millstream_base::{Mask, Type};
use millstream_form::{ColumnScratch, Form, LaneInput, LaneOutput, run_columns};
use millstream_node::Kernel;
use serde_json::json;
use std::sync::Arc;

use crate::cells::testing::instance;

/// A noise over columns of positions.
pub(super) struct Noise {
    form: Arc<Form>,
    n: usize,
    /// Inputs after the position.
    pub(super) rest: Vec<f64>,
}

pub(super) const TYPES: [Type; 4] = [Type::F32, Type::VEC2, Type::VEC3, Type::VEC4];

impl Noise {
    /// With scale 1, seed 0 and further inputs.
    pub(super) fn new(name: &str, set: &serde_json::Value, n: usize, more: &[f64]) -> Self {
        let node = instance(name, set, &[TYPES[n - 1]], &[]);
        let Kernel::Form(form) = node.kernel else { panic!("{name} is a form") };
        let mut rest = vec![1.0, 0.0];
        rest.extend(more);
        Self { form, n, rest }
    }

    pub(super) fn seeded(mut self, seed: i32) -> Self {
        self.rest[1] = f64::from(seed);
        self
    }

    /// Result `k` at positions, component by component.
    pub(super) fn result(&self, k: usize, p: &[Vec<f32>]) -> Vec<f64> {
        let n_elements = p[0].len();
        let seeds = [self.rest[1] as i32];
        let rest: Vec<[f32; 1]> = self.rest.iter().map(|x| [*x as f32]).collect();
        let mut inputs: Vec<LaneInput<'_>> =
            p.iter().map(|x| LaneInput::each(x.as_slice())).collect();
        for (i, x) in rest.iter().enumerate() {
            let input =
                if i == 1 { LaneInput::single(&seeds[..]) } else { LaneInput::single(&x[..]) };
            inputs.push(input);
        }
        let mut results = vec![0.0_f32; n_elements];
        let mut outputs = [LaneOutput::each(k, results.as_mut_slice())];
        let mask = Mask::range(0..n_elements);
        run_columns(&self.form, &inputs, &mut outputs, &mask, &mut ColumnScratch::default());
        results.into_iter().map(f64::from).collect()
    }

    pub(super) fn at(&self, p: &[Vec<f32>]) -> Vec<f64> {
        self.result(0, p)
    }
}

/// Positions that evenly fill a cube of some size around the origin.
pub(super) fn scattered(n: usize, n_positions: usize, size: f64) -> Vec<Vec<f32>> {
    let g = [
        1.618_033_988_749_895,
        1.324_717_957_244_746,
        1.220_744_084_605_76,
        1.167_303_978_261_418_7,
    ];
    let component = |axis: usize| {
        let step = 1.0 / f64::powi(g[n - 1], axis as i32 + 1);
        (0..n_positions)
            .map(|i| ((((i as f64 + 0.5) * step).fract() - 0.5) * size) as f32)
            .collect()
    };
    (0..n).map(component).collect()
}

pub(super) fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

pub(super) fn deviation(x: &[f64]) -> f64 {
    let mean = mean(x);
    (x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64).sqrt()
}

pub(super) fn extent(x: &[f64]) -> (f64, f64) {
    x.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(*x), high.max(*x)))
}
pub(super) fn correlation(x: &[f64], y: &[f64]) -> f64 {
    let (mean_x, mean_y) = (mean(x), mean(y));
    let together = x.iter().zip(y).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>();
    together / x.len() as f64 / deviation(x) / deviation(y)
}

/// The positions shifted along one axis.
pub(super) fn moved(p: &[Vec<f32>], axis: usize, by: f32) -> Vec<Vec<f32>> {
    let mut p = p.to_vec();
    p[axis].iter_mut().for_each(|x| *x += by);
    p
}

const BASES: [&str; 3] = ["noise.value", "noise.perlin", "noise.simplex"];

/// Name, settings, inputs after the seed.
fn fractals() -> [(&'static str, Vec<f64>); 6] {
    [
        ("noise.fbm", vec![2.0, 0.5]),
        ("noise.turbulence", vec![2.0, 0.5]),
        ("noise.multifractal", vec![2.0, 0.5, 1.0]),
        ("noise.hetero_terrain", vec![2.0, 0.5, 1.0]),
        ("noise.ridged", vec![2.0, 0.5, 1.0, 2.0]),
        ("noise.hybrid", vec![2.0, 0.5, 1.0, 2.0]),
    ]
}

#[test]
fn noise_is_centered_and_has_the_stated_range() {
    for name in BASES {
        for n in 1..=4 {
            let x = Noise::new(name, &json!({}), n, &[]).at(&scattered(n, 20_000, 20_000.0));
            let bound = match name {
                "noise.value" => 1.0,
                "noise.perlin" => [1.0, 1.42, 1.97, 2.56][n - 1],
                _ => 2.0,
            };
            let (low, high) = extent(&x);
            assert!(mean(&x).abs() < 0.01, "{name} {n}: {}", mean(&x));
            assert!(low >= -bound && high <= bound, "{name} {n}: {low} {high}");
            assert!(high > 0.6 && low < -0.6, "{name} {n}: {low} {high}");
            if name != "noise.value" {
                let wanted = if (name, n) == ("noise.perlin", 1) { 0.272 } else { 0.25 };
                assert!((deviation(&x) - wanted).abs() < 0.008, "{name} {n}: {}", deviation(&x));
            }
        }
    }
}

#[test]
fn few_positions_are_beyond_one() {
    for name in ["noise.perlin", "noise.simplex", "noise.fbm"] {
        let more: &[f64] = if name == "noise.fbm" { &[2.0, 0.5] } else { &[] };
        for n in 1..=4 {
            let x = Noise::new(name, &json!({}), n, more).at(&scattered(n, 20_000, 20_000.0));
            let beyond = x.iter().filter(|x| x.abs() > 1.0).count();
            assert!(beyond < 80, "{name} {n}: {beyond} of 20000");
        }
    }
}

#[test]
fn corners_are_uncorrelated() {
    // At integer positions value noise is the number drawn for the corner.
    for (n, side) in [(1, 8_000_usize), (2, 100), (3, 20), (4, 10)] {
        let n_corners = side.pow(n as u32);
        let component = |axis: usize| {
            let of = |i: usize| (i / side.pow(axis as u32) % side) as f32 - (side / 2) as f32;
            (0..n_corners).map(of).collect::<Vec<f32>>()
        };
        let p: Vec<Vec<f32>> = (0..n).map(component).collect();
        for seed in [0, 1, -7] {
            let noise = Noise::new("noise.value", &json!({}), n, &[]).seeded(seed);
            let x = noise.at(&p);
            let sigma = 1.0 / (n_corners as f64).sqrt();
            assert!(mean(&x).abs() < 5.0 * 0.577 * sigma, "{n}: {}", mean(&x));
            assert!((deviation(&x) - 0.5774).abs() < 0.025, "{n}: {}", deviation(&x));
            for axis in 0..n {
                let lags = [1.0, 2.0, 3.0, 5.0].map(|lag| noise.at(&moved(&p, axis, lag)));
                for y in &lags {
                    let c = correlation(&x, y);
                    assert!(c.abs() < 5.0 * sigma, "{n} along {axis}: {c}");
                }
                // Three corners in a row are not on a straight line either.
                let bend: Vec<f64> = x.iter().zip(&lags[1]).map(|(a, b)| a + b).collect();
                let c = correlation(&bend, &lags[0]);
                assert!(c.abs() < 5.0 * sigma, "{n} along {axis}: {c}");
            }
            if n > 1 {
                let (y, z) = (noise.at(&moved(&p, 0, 1.0)), noise.at(&moved(&p, 1, 1.0)));
                let w = noise.at(&moved(&moved(&p, 0, 1.0), 1, 1.0));
                let product = |i: usize| x[i] * y[i] * z[i] * w[i] * 9.0;
                let together = (0..n_corners).map(product).sum::<f64>() / n_corners as f64;
                assert!(together.abs() < 5.0 * sigma, "{n}: four corners: {together}");
            }
        }
    }
}

#[test]
fn seeds_are_independent() {
    let p = scattered(3, 20_000, 500.0);
    for name in BASES {
        let of = |seed| Noise::new(name, &json!({}), 3, &[]).seeded(seed).at(&p);
        let x = of(0);
        for seed in [1, 2, -1, 65_536, i32::MIN] {
            let c = correlation(&x, &of(seed));
            assert!(c.abs() < 5.0 / 141.0, "{name}: seeds 0 and {seed}: {c}");
        }
    }
}

#[test]
fn slopes_are_bounded() {
    let mut all: Vec<(&str, Vec<f64>, f64)> =
        BASES.iter().map(|name| (*name, vec![], 6.0)).collect();
    all.extend(fractals().into_iter().map(|(name, more)| (name, more, 40.0)));
    all.push(("noise.cell_edge", vec![1.0], 1.01));
    for (name, more, bound) in all {
        for n in 1..=3 {
            let noise = Noise::new(name, &json!({}), n, &more);
            // Around the origin, where steps of 2^-10 are exact, and across borders of cells.
            let mut p = scattered(n, 20_000, 16.0);
            p.iter_mut().flatten().for_each(|x| *x = (*x * 1024.0).round() / 1024.0);
            let x = noise.at(&p);
            for axis in 0..n {
                let y = noise.at(&moved(&p, axis, 1.0 / 1024.0));
                let slopes: Vec<f64> = x.iter().zip(&y).map(|(x, y)| (y - x) * 1024.0).collect();
                let (low, high) = extent(&slopes);
                assert!(low > -bound && high < bound, "{name} {n}: slopes {low} to {high}");
            }
        }
    }
}

#[test]
fn perlin_noise_is_zero_at_corners_and_has_their_gradient() {
    let corners: Vec<Vec<f32>> = vec![vec![-3.0, 0.0, 7.0], vec![4.0, 0.0, -1.0]];
    let noise = Noise::new("noise.perlin", &json!({}), 2, &[]);
    assert_eq!(noise.at(&corners), [0.0; 3]);
    let step = 1.0 / 256.0;
    let (a, b) = (noise.at(&moved(&corners, 0, step)), noise.at(&moved(&corners, 0, 2.0 * step)));
    for (a, b) in a.iter().zip(b) {
        assert!((b - 2.0 * a).abs() < 1e-4, "linear near the corner: {a} {b}");
    }
}

#[test]
fn tiles_repeat_without_a_seam() {
    let mut all: Vec<(&str, Vec<f64>)> = vec![
        ("noise.value", vec![]),
        ("noise.perlin", vec![]),
        ("noise.cell", vec![1.0]),
        ("noise.cell_edge", vec![0.7]),
    ];
    all.extend(fractals());
    for (name, more) in all {
        for n in 1..=3 {
            let mut more = more.clone();
            more.extend([4.0, 3.0, 5.0].iter().take(n));
            let noise = Noise::new(name, &json!({"tile": true}), n, &more);
            let mut p = scattered(n, 2_000, 12.0);
            p.iter_mut().flatten().for_each(|x| *x = (*x * 64.0).round() / 64.0);
            let x = noise.at(&p);
            for (axis, period) in [4.0, 3.0, 5.0].into_iter().enumerate().take(n) {
                assert!(x == noise.at(&moved(&p, axis, period)), "{name} {n} along {axis}");
                assert!(x == noise.at(&moved(&p, axis, -2.0 * period)), "{name} {n} along {axis}");
                assert!(x != noise.at(&moved(&p, axis, 1.0)), "{name} {n} along {axis}");
            }
        }
    }
}

#[test]
fn noise_inside_the_first_tile_equals_noise_without_tiles() {
    let p: Vec<Vec<f32>> =
        scattered(2, 1000, 6.0).into_iter().map(|x| x.iter().map(|x| x + 3.5).collect()).collect();
    for name in ["noise.value", "noise.perlin"] {
        let plain = Noise::new(name, &json!({}), 2, &[]).at(&p);
        assert_eq!(plain, Noise::new(name, &json!({"tile": true}), 2, &[8.0, 8.0]).at(&p));
    }
}

#[test]
fn one_octave_is_the_basis() {
    for (basis, name) in [("value", BASES[0]), ("perlin", BASES[1]), ("simplex", BASES[2])] {
        for n in 1..=4 {
            let set = json!({"octaves": 1, "basis": basis, "normalize": false});
            let p = scattered(n, 500, 30.0);
            let fbm = Noise::new("noise.fbm", &set, n, &[2.0, 0.5]).seeded(3).at(&p);
            assert_eq!(fbm, Noise::new(name, &json!({}), n, &[]).seeded(3).at(&p));
        }
    }
}

#[test]
fn octaves_follow_their_formulas() {
    let p = scattered(2, 500, 30.0);
    let (lacunarity, roughness) = (2.5, 0.6);
    let of = |name: &str, octaves: i64, more: &[f64]| {
        let more = [&[lacunarity, roughness], more].concat();
        Noise::new(name, &json!({"octaves": octaves}), 2, &more).at(&p)
    };
    // Octaves are computed as differences of sums; the weights of a normalized sum are known.
    let sums: Vec<Vec<f64>> = (1..4)
        .map(|n| {
            let total: f64 = (0..n).map(|i| roughness.powi(i)).sum();
            of("noise.fbm", i64::from(n), &[]).iter().map(|x| x * total).collect()
        })
        .collect();
    let octave = |i: usize, at: usize| {
        let before = if i == 0 { 0.0 } else { sums[i - 1][at] };
        (sums[i][at] - before) / roughness.powi(i as i32)
    };
    let [turbulence, product, hetero, ridged, hybrid] = [
        of("noise.turbulence", 3, &[]),
        of("noise.multifractal", 3, &[0.8]),
        of("noise.hetero_terrain", 3, &[0.8]),
        of("noise.ridged", 3, &[0.8, 1.5]),
        of("noise.hybrid", 3, &[0.8, 1.5]),
    ];
    for at in 0..p[0].len() {
        let n = [0, 1, 2].map(|i| octave(i, at));
        let r = [0, 1, 2].map(|i| roughness.powi(i));
        let total: f64 = r.iter().sum();
        let all = |f: &dyn Fn(usize) -> f64| [0, 1, 2].map(f);
        let near = |a: f64, b: f64| assert!((a - b).abs() < 2e-5, "{a} {b}");
        near(turbulence[at], all(&|i| n[i].abs() * r[i]).iter().sum::<f64>() / total);
        near(product[at], all(&|i| n[i] * r[i] + 0.8).iter().product());
        let mut v = n[0] + 0.8;
        for i in 1..3 {
            v += (n[i] + 0.8) * r[i] * v;
        }
        near(hetero[at], v);
        let (mut signal, mut sum) = (1.0 / 1.5, 0.0);
        for i in 0..3 {
            signal = (0.8 - n[i].abs()).powi(2) * (signal * 1.5_f64).clamp(0.0, 1.0);
            sum += signal * r[i];
        }
        near(ridged[at], sum);
        let (mut weighted, mut sum) = (1.0 / 1.5, 0.0);
        for i in 0..3 {
            weighted = (n[i] + 0.8) * r[i] * (weighted * 1.5_f64).min(1.0);
            sum += weighted;
        }
        near(hybrid[at], sum);
    }
}

#[test]
fn distances_to_points_agree_with_the_points() {
    for n in 1..=4 {
        let p = scattered(n, 2_000, 30.0);
        let of = |set: serde_json::Value, more: &[f64]| Noise::new("noise.cell", &set, n, more);
        let (f1, f2) = (of(json!({}), &[1.0]), of(json!({"feature": "f2"}), &[1.0]));
        let (near, far) = (f1.at(&p), f2.at(&p));
        for (noise, distances) in [(&f1, &near), (&f2, &far)] {
            let points: Vec<Vec<f64>> = (0..n).map(|i| noise.result(1 + i, &p)).collect();
            for (at, distance) in distances.iter().enumerate() {
                let squares =
                    points.iter().zip(&p).map(|(q, p)| (q[at] - f64::from(p[at])).powi(2));
                let length = squares.sum::<f64>().sqrt();
                assert!((length - distance).abs() < 1e-5, "{n}: {length} {distance}");
            }
        }
        assert!(near.iter().zip(&far).all(|(near, far)| near <= far && *near >= 0.0));
        let smooth = json!({"feature": "smooth_f1"});
        assert_eq!(of(smooth.clone(), &[1.0, 0.0]).at(&p), near, "without smoothness");
        let smooth = of(smooth, &[1.0, 0.5]).at(&p);
        assert!(smooth.iter().zip(&near).all(|(smooth, near)| smooth <= near));
        // Each metric may select another point, but the metrics are ordered by magnitude.
        let metric = |name: &str| of(json!({"metric": name}), &[1.0]).at(&p);
        let (blocks, king) = (metric("manhattan"), metric("chebychev"));
        assert!(near.iter().zip(&blocks).all(|(near, blocks)| *near <= blocks + 1e-6));
        assert!(near.iter().zip(&king).all(|(near, king)| king - 1e-6 <= *near));
        for (exponent, same) in [(2.0, &near), (1.0, &blocks)] {
            let x = of(json!({"metric": "minkowski"}), &[1.0, exponent]).at(&p);
            assert!(x.iter().zip(same).all(|(a, b)| (a - b).abs() < 1e-5), "exponent {exponent}");
        }
        let random = f1.result(1 + n, &p);
        assert!(random.iter().all(|x| (0.0..1.0).contains(x)));
        let edge = Noise::new("noise.cell_edge", &json!({}), n, &[1.0]).at(&p);
        for at in 0..edge.len() {
            let least = (far[at] - near[at]) / 2.0;
            assert!(edge[at] >= least - 1e-5 && edge[at] < 1.0, "{n}: {} {least}", edge[at]);
        }
    }
}

#[test]
fn points_without_randomness_are_on_a_grid() {
    let p = scattered(3, 1_000, 30.0);
    let distance = Noise::new("noise.cell", &json!({}), 3, &[0.0]).at(&p);
    let edge = Noise::new("noise.cell_edge", &json!({}), 3, &[0.0]).at(&p);
    for at in 0..distance.len() {
        let ways: Vec<f64> =
            p.iter().map(|x| (f64::from(x[at]) - f64::from(x[at]).floor() - 0.5).abs()).collect();
        let middle = ways.iter().map(|x| x * x).sum::<f64>().sqrt();
        assert!((distance[at] - middle).abs() < 1e-5);
        let border = ways.iter().fold(f64::INFINITY, |least, x| least.min(0.5 - x));
        assert!((edge[at] - border).abs() < 1e-5, "{} {border}", edge[at]);
    }
}

#[test]
fn white_noise_is_even_and_without_pattern() {
    for n in 1..=4 {
        let node = instance("noise.white", &json!({}), &[TYPES[n - 1]], &[]);
        let Kernel::Form(form) = node.kernel else { panic!("noise.white is a form") };
        let noise = |rest: Vec<f64>| Noise { form: Arc::clone(&form), n, rest };
        let p = scattered(n, 30_000, 50.0);
        let of = |seed: f64, p: &[Vec<f32>]| white_at(&noise(vec![seed]), p);
        let x = of(0.0, &p);
        assert!((mean(&x) - 0.5).abs() < 0.01 && (deviation(&x) - 0.2887).abs() < 0.005);
        assert!(x.iter().all(|x| (0.0..1.0).contains(x)));
        for y in [of(1.0, &p), of(0.0, &moved(&p, n - 1, 1.0)), of(0.0, &moved(&p, 0, 1e-4))] {
            assert!(correlation(&x, &y).abs() < 5.0 / 173.0);
        }
    }
}

/// White noise has no scale: the seed follows the position.
fn white_at(noise: &Noise, p: &[Vec<f32>]) -> Vec<f64> {
    let seed = [noise.rest[0] as i32];
    let mut inputs: Vec<LaneInput<'_>> = p.iter().map(|x| LaneInput::each(x.as_slice())).collect();
    inputs.push(LaneInput::single(&seed[..]));
    assert_eq!(inputs.len(), noise.n + 1);
    let mut results = vec![0.0_f32; p[0].len()];
    let mut outputs = [LaneOutput::each(0, results.as_mut_slice())];
    let mask = Mask::range(0..p[0].len());
    run_columns(&noise.form, &inputs, &mut outputs, &mask, &mut ColumnScratch::default());
    results.into_iter().map(f64::from).collect()
}

#[test]
fn noise_stays_bounded_far_out() {
    let far = vec![vec![1e7, -1e9, 3e38, f32::MIN, 2.0_f32.powi(24) + 2.0]; 3];
    for name in BASES.iter().take(2) {
        let x = Noise::new(name, &json!({}), 3, &[]).at(&far);
        assert!(x.iter().all(|x| x.abs() <= 1.0), "{name}: {x:?}");
    }
    let nan = vec![vec![f32::NAN, f32::INFINITY]; 3];
    for name in BASES {
        let x = Noise::new(name, &json!({}), 3, &[]).at(&nan);
        assert!(x.iter().all(|x| x.is_nan()), "{name}: {x:?}");
    }
}

#[test]
fn numbers_never_change() {
    // Documents depend on these numbers, so they must never change.
    let p = vec![vec![0.25_f32, -7.5], vec![0.5, 3.125], vec![-1.75, 100.0]];
    let mut lines = String::new();
    let mut all: Vec<(&str, Vec<f64>)> = BASES.iter().map(|name| (*name, vec![])).collect();
    all.extend(fractals());
    all.extend([("noise.cell", vec![1.0]), ("noise.cell_edge", vec![1.0])]);
    for (name, more) in all {
        let x = Noise::new(name, &json!({}), 3, &more).seeded(5).at(&p);
        lines += &format!("{name} {:.6} {:.6}\n", x[0], x[1]);
    }
    expect_test::expect![[r#"
        noise.value 0.127807 -0.584646
        noise.perlin -0.085713 -0.078061
        noise.simplex -0.142889 0.013068
        noise.fbm 0.102603 0.091784
        noise.turbulence 0.200560 0.180996
        noise.multifractal 1.156818 1.153183
        noise.hetero_terrain 2.017452 2.031831
        noise.ridged 1.056319 1.185926
        noise.hybrid 1.929555 1.910622
        noise.cell 0.448865 0.261542
        noise.cell_edge 0.116085 0.274092
    "#]]
    .assert_eq(&lines);
}
