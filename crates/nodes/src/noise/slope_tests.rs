//! Derivatives, flows, stripes and tiles of simplices.

use serde_json::json;

use super::tests::{Noise, correlation, deviation, mean, moved, scattered};

const STEP: f32 = 1.0 / 512.0;

/// The central difference of result `k` along an axis, per unit.
fn difference(noise: &Noise, k: usize, p: &[Vec<f32>], axis: usize) -> Vec<f64> {
    let (a, b) = (noise.result(k, &moved(p, axis, -STEP)), noise.result(k, &moved(p, axis, STEP)));
    a.iter().zip(b).map(|(a, b)| (b - a) / f64::from(2.0 * STEP)).collect()
}

/// Positions that are multiples of 1/64, so that steps do not round.
fn exact(n: usize, n_positions: usize, size: f64) -> Vec<Vec<f32>> {
    let mut p = scattered(n, n_positions, size);
    p.iter_mut().flatten().for_each(|x| *x = (*x * 64.0).round() / 64.0);
    p
}

#[test]
fn slopes_are_those_of_perlin_noise() {
    for n in 1..=4 {
        let p = exact(n, 2_000, 20.0);
        for (scale, set, more) in
            [(1.0, json!({}), vec![]), (2.5, json!({"tile": true}), vec![3.0; n])]
        {
            let mut noise = Noise::new("noise.slope", &set, n, &more).seeded(7);
            let mut perlin = Noise::new("noise.perlin", &set, n, &more).seeded(7);
            (noise.rest[0], perlin.rest[0]) = (scale, scale);
            let plain = perlin.at(&p);
            assert!(noise.at(&p).iter().zip(plain).all(|(a, b)| (a - b).abs() < 1e-6));
            for axis in 0..n {
                let found = noise.result(1 + axis, &p);
                let wanted = difference(&noise, 0, &p, axis);
                for (found, wanted) in found.iter().zip(wanted) {
                    assert!(
                        (found - wanted).abs() < 5e-3 * scale,
                        "{n} along {axis}: {found} {wanted}"
                    );
                }
            }
        }
    }
}

#[test]
fn flows_have_no_divergence() {
    for n in 2..=3 {
        let p = exact(n, 2_000, 20.0);
        for octaves in [1, 3] {
            let noise =
                Noise::new("noise.curl", &json!({"octaves": octaves}), n, &[2.0, 0.5]).seeded(3);
            let parts: Vec<Vec<f64>> =
                (0..n).map(|axis| difference(&noise, axis, &p, axis)).collect();
            for at in 0..p[0].len() {
                let divergence: f64 = parts.iter().map(|part| part[at]).sum();
                assert!(divergence.abs() < 0.02, "{n}, {octaves} octaves: {divergence}");
            }
            let speed = deviation(&noise.result(0, &p));
            assert!(
                speed > 0.3 && speed < 3.0 && mean(&noise.result(0, &p)).abs() < 0.1,
                "{speed}"
            );
            assert!(deviation(&parts[0]) > 0.5, "it changes");
        }
        let set = json!({"tile": true, "octaves": 2});
        let more = [&[2.0, 0.5], &[4.0, 3.0, 5.0][..n]].concat();
        let noise = Noise::new("noise.curl", &set, n, &more);
        for (axis, period) in [4.0, 3.0, 5.0].into_iter().enumerate().take(n) {
            for k in 0..n {
                assert!(noise.result(k, &p) == noise.result(k, &moved(&p, axis, period)));
                assert!(noise.result(k, &p) != noise.result(k, &moved(&p, axis, 1.0)));
            }
        }
    }
}

#[test]
fn stripes_have_the_stated_amplitude_and_are_one_wave() {
    for n in 2..=3 {
        let p = scattered(n, 20_000, 500.0);
        for (patches, disorder) in [(1, 0.0), (4, 0.0), (8, 1.0)] {
            let mut more = vec![2.0];
            more.extend([1.0, 0.0, 0.0].iter().take(n));
            more.push(disorder);
            let noise = Noise::new("noise.gabor", &json!({"patches": patches}), n, &more).seeded(5);
            let x = noise.at(&p);
            assert!(mean(&x).abs() < 0.015, "{n}: {}", mean(&x));
            assert!((deviation(&x) - 0.25).abs() < 0.015, "{n}: {}", deviation(&x));
            let (phase, intensity) = (noise.result(1, &p), noise.result(2, &p));
            for at in 0..x.len() {
                let wave = intensity[at] * (phase[at] * std::f64::consts::TAU).sin();
                assert!((x[at] - wave).abs() < 1e-5 && (0.0..1.0).contains(&phase[at]));
            }
            // Half a stripe farther the value is the opposite, along the direction only.
            let half = correlation(&x, &noise.at(&moved(&p, 0, 0.25)));
            let beside = correlation(&x, &noise.at(&moved(&p, 1, 0.25)));
            if disorder == 0.0 {
                assert!(half < -0.7 && beside > 0.7, "{half} {beside}");
            } else {
                assert!((half - beside).abs() < 0.1, "{half} {beside}");
            }
            let other = Noise::new("noise.gabor", &json!({"patches": patches}), n, &more).seeded(6);
            assert!(correlation(&x, &other.at(&p)).abs() < 0.04);
        }
        let mut more = vec![2.0];
        more.extend([1.0, 2.0, 3.0].iter().take(n));
        more.push(0.5);
        more.extend([4.0, 3.0, 5.0].iter().take(n));
        let noise = Noise::new("noise.gabor", &json!({"tile": true}), n, &more);
        let p = exact(n, 1_000, 12.0);
        for (axis, period) in [4.0, 3.0, 5.0].into_iter().enumerate().take(n) {
            assert!(noise.at(&p) == noise.at(&moved(&p, axis, period)), "{n} along {axis}");
            assert!(noise.at(&p) != noise.at(&moved(&p, axis, 1.0)), "{n} along {axis}");
        }
    }
}

#[test]
fn simplices_tile_without_a_seam() {
    let names = [("noise.simplex", json!({"tile": true}), vec![])];
    let fbm = json!({"tile": true, "basis": "simplex", "octaves": 2});
    for (name, set, more) in names.into_iter().chain([("noise.fbm", fbm, vec![2.0, 0.5])]) {
        for n in 1..=4 {
            // Periods that are not multiples of the number of dimensions are rounded.
            let periods = [
                [5.0, 0.0, 0.0, 0.0],
                [6.0, 2.9, 0.0, 0.0],
                [6.0, 4.0, 9.0, 0.0],
                [4.0, 8.0, 12.0, 5.0],
            ];
            let rounded = [
                [5.0, 0.0, 0.0, 0.0],
                [6.0, 2.0, 0.0, 0.0],
                [6.0, 3.0, 9.0, 0.0],
                [4.0, 8.0, 12.0, 4.0],
            ];
            let more = [&more[..], &periods[n - 1][..n]].concat();
            let noise = Noise::new(name, &set, n, &more).seeded(2);
            let p = exact(n, 4_000, 30.0);
            let x = noise.at(&p);
            assert!((deviation(&x) - 0.25).abs() < 0.1, "{name} {n}: {}", deviation(&x));
            for (axis, period) in rounded[n - 1].into_iter().enumerate().take(n) {
                let unlike = |by: f32| {
                    let there = noise.at(&moved(&p, axis, by));
                    x.iter().zip(there).fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()))
                };
                assert!(unlike(period) < 2e-4, "{name} {n} along {axis}: {}", unlike(period));
                assert!(unlike(-3.0 * period) < 2e-4, "{name} {n} along {axis}");
                assert!(unlike(period * 0.5) > 0.1, "{name} {n} along {axis}");
                // Neighbors differ little.
                assert!(
                    unlike(1.0 / 1024.0) < 0.02,
                    "{name} {n} along {axis}: {}",
                    unlike(1.0 / 1024.0)
                );
            }
        }
    }
}
