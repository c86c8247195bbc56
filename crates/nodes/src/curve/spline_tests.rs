//! Segments of curves, checked by the points and slopes that they must have.

use millstream_base::Type;
use millstream_node::Kernel;
use proptest::prelude::*;
use serde_json::json;

use crate::cells::testing::instance;

/// Point and slope of a segment along one axis.
fn piece(name: &str, points: [f64; 4], t: f32) -> [f64; 2] {
    let node = instance(name, &json!({}), &[Type::F64], &[]);
    let Kernel::Form(form) = node.kernel else { panic!("{name} is a form") };
    let mut params: Vec<u64> = points.iter().map(|x| x.to_bits()).collect();
    params.push(u64::from(t.to_bits()));
    let mut results = [0; 2];
    form.run_scalar(&params, &mut results, &mut Vec::new());
    results.map(f64::from_bits)
}

const PIECES: [&str; 4] = ["curve.bezier", "curve.hermite", "curve.catmull_rom", "curve.b_spline"];

proptest! {
    #[test]
    fn segments_start_and_end_as_defined(p in proptest::array::uniform4(-3.0_f64..3.0), next in -3.0_f64..3.0) {
        let [a, b, c, d] = p;
        let near = |found: [f64; 2], wanted: [f64; 2]| {
            (0..2).all(|i| (found[i] - wanted[i]).abs() < 1e-12)
        };
        let ends = |name: &str| [piece(name, p, 0.0), piece(name, p, 1.0)];
        let [start, end] = ends("curve.bezier");
        prop_assert!(near(start, [a, 3.0 * (b - a)]) && near(end, [d, 3.0 * (d - c)]));
        let [start, end] = ends("curve.hermite");
        prop_assert!(near(start, [a, b]) && near(end, [c, d]));
        let [start, end] = ends("curve.catmull_rom");
        prop_assert!(near(start, [b, (c - a) / 2.0]) && near(end, [c, (d - b) / 2.0]));
        for name in ["curve.catmull_rom", "curve.b_spline"] {
            prop_assert!(near(piece(name, p, 1.0), piece(name, [b, c, d, next], 0.0)), "{name}");
        }
    }

    #[test]
    fn slopes_are_derivatives_of_the_points(p in proptest::array::uniform4(-3.0_f64..3.0), t in -0.5_f32..1.5) {
        let step = 1.0 / 1024.0;
        let t = (t * 64.0).round() / 64.0;
        for name in PIECES {
            let [before, after] = [t - step, t + step].map(|t| piece(name, p, t)[0]);
            let found = piece(name, p, t)[1];
            let wanted = (after - before) / f64::from(2.0 * step);
            prop_assert!((found - wanted).abs() < 1e-3, "{name}: {found} {wanted}");
            // Translating the points translates the curve; slopes are not translated.
            let moved = if name == "curve.hermite" {
                [p[0] + 1.0, p[1], p[2] + 1.0, p[3]]
            } else {
                p.map(|x| x + 1.0)
            };
            let apart = piece(name, moved, t)[0] - piece(name, p, t)[0];
            prop_assert!((apart - 1.0).abs() < 1e-9, "{name}: {apart}");
        }
    }

    #[test]
    fn bezier_segments_are_split_by_midpoints(p in proptest::array::uniform4(-3.0_f64..3.0), t in 0.0_f32..1.0) {
        // De Casteljau: the points of the first half.
        let t = f64::from(t);
        let mix = |a: f64, b: f64| a * (1.0 - t) + b * t;
        let [ab, bc, cd] = [mix(p[0], p[1]), mix(p[1], p[2]), mix(p[2], p[3])];
        let wanted = mix(mix(ab, bc), mix(bc, cd));
        prop_assert!((piece("curve.bezier", p, t as f32)[0] - wanted).abs() < 1e-12);
    }
}
