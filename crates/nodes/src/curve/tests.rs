//! Curves pass through their points, follow their handles, and jump only where points share an x.

use millstream_base::{Color, Value, Vec3};
use millstream_node::Kernel;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::cells::testing::{instance, try_instance};

fn run(name: &str, set: &Json, args: &[Value]) -> Vec<f32> {
    let node = instance(name, set, &[], &[]);
    let Kernel::Form(form) = node.kernel else { panic!("{name} is a form") };
    let params: Vec<u64> = args.iter().flat_map(|arg| (0..16).map_while(|i| arg.lane(i))).collect();
    let mut results = vec![0; form.results.len()];
    form.run_scalar(&params, &mut results, &mut Vec::new());
    results.iter().map(|bits| f32::from_bits(*bits as u32)).collect()
}

fn at(set: &Json, x: f32) -> f32 {
    run("curve.float", set, &[x.into(), 1.0_f32.into()])[0]
}

#[test]
fn the_default_curve_changes_nothing() {
    for x in [0.0, 0.1, 0.5, 0.75, 1.0] {
        assert!((at(&json!({}), x) - x).abs() < 1e-7);
    }
}

#[test]
fn curves_pass_through_their_points_and_are_level_beyond() {
    let points = json!([0.75, 0.2, 0, 0.5, 0.25, 1, 1, 0.6]);
    for handles in ["auto", "clamped", "vector"] {
        let set = json!({"points": points, "handles": [handles]});
        for (x, y) in [(0.0, 0.5), (0.25, 1.0), (0.75, 0.2), (1.0, 0.6), (-3.0, 0.5), (9.0, 0.6)] {
            assert!((at(&set, x) - y).abs() < 1e-6, "{handles} at {x}: {}", at(&set, x));
        }
        assert!(at(&set, f32::NAN).is_nan());
    }
}

#[test]
fn straight_handles_give_straight_lines() {
    let set = json!({"points": [0, 0, 0.5, 1, 1, 0], "handles": ["vector"]});
    for (x, y) in [(0.125, 0.25), (0.25, 0.5), (0.5, 1.0), (0.625, 0.75)] {
        assert!((at(&set, x) - y).abs() < 1e-6);
    }
}

#[test]
fn automatic_handles_have_the_slope_between_the_neighbors() {
    let set = json!({"points": [0, 0, 0.5, 1, 1, 0.5], "handles": ["auto"]});
    let slope = (at(&set, 0.501) - at(&set, 0.499)) / 0.002;
    assert!((slope - 0.5).abs() < 1e-2, "{slope}");
    assert!(at(&set, 0.52) > 1.0, "which overshoots after a peak");
    let set = json!({"points": [0, 0, 0.5, 1, 1, 0.5], "handles": ["clamped"]});
    let slope = (at(&set, 0.501) - at(&set, 0.499)) / 0.002;
    assert!(slope.abs() < 1e-2, "{slope}");
}

#[test]
fn curves_are_extended_in_straight_lines_if_set() {
    let set = json!({"points": [0, 0, 1, 2], "extend": true});
    assert_eq!((at(&set, 2.0), at(&set, -1.0)), (4.0, -2.0));
    assert_eq!(at(&json!({"points": [0, 0, 1, 2]}), 2.0), 2.0);
}

#[test]
fn curves_of_vectors_and_colors_have_their_own_free_handles() {
    let free = json!([-0.5, 0, 0.8, 0, 0.2, 1, 1.5, 1]);
    let points = json!([0, 0, 1, 1]);
    let one = json!({"points": points, "handles": ["free"], "free_handles": free});
    let of_one = at(&one, 0.3);
    let set = json!({"y_points": points, "y_handles": ["free"], "y_free": free});
    let v = run("curve.vector", &set, &[Vec3([0.3; 3]).into(), 1.0_f32.into()]);
    assert!((v[0] - 0.3).abs() < 1e-6);
    assert_eq!(v[1].to_bits(), of_one.to_bits());
    let set = json!({"blue": points, "blue_handles": ["free"], "blue_free": free});
    let c = run("curve.rgb", &set, &[Color([0.3; 4]).into(), 1.0_f32.into()]);
    assert!((c[0] - 0.3).abs() < 1e-6);
    assert!((c[2] - of_one).abs() < 1e-6, "{} and {of_one}", c[2]);
    assert!((of_one - 0.3).abs() > 0.01, "the handles bend it");
}

#[test]
fn free_handles_make_a_bezier_curve() {
    let free = json!([-0.5, 0, 0.8, 0, 0.2, 1, 1.5, 1]);
    let set = json!({"points": [0, 0, 1, 1], "handles": ["free"], "free_handles": free});
    for step in 0..=64 {
        let t = f64::from(step) / 64.0;
        let bezier = |p: [f64; 4]| {
            let u = 1.0 - t;
            p[0] * u * u * u + 3.0 * p[1] * u * u * t + 3.0 * p[2] * u * t * t + p[3] * t * t * t
        };
        let (x, y) = (bezier([0.0, 0.8, 0.2, 1.0]), bezier([0.0, 0.0, 1.0, 1.0]));
        assert!((f64::from(at(&set, x as f32)) - y).abs() < 1e-4, "at {x}");
    }
    // A handle that extends past the next point is shortened, not bent.
    let free = json!([0, 0, 4, 2, 0, 1, 1, 1]);
    let long = json!({"points": [0, 0, 1, 1], "handles": ["free"], "free_handles": free});
    let free = json!([0, 0, 1, 0.5, 0, 1, 1, 1]);
    let short = json!({"points": [0, 0, 1, 1], "handles": ["free"], "free_handles": free});
    for x in [0.1, 0.5, 0.9] {
        assert_eq!(at(&long, x), at(&short, x));
    }
}

#[test]
fn one_point_and_points_with_the_same_x_are_curves() {
    assert_eq!(at(&json!({"points": [0.5, 3]}), 0.9), 3.0);
    let jump = json!({"points": [0, 0, 0.5, 0.25, 0.5, 0.75, 1, 1], "handles": ["vector"]});
    assert!((at(&jump, 0.499_99) - 0.25).abs() < 1e-3);
    assert_eq!(at(&jump, 0.5), 0.75);
}

#[test]
fn invalid_points_are_refused() {
    let refused = |set: Json| try_instance("curve.float", &set, &[], &[]).expect_err("refused");
    assert_eq!(
        refused(json!({"points": [0, 0, 1]})),
        "setting `points`: the last point has an x but no y"
    );
    assert_eq!(
        refused(json!({"points": []})),
        "setting `points`: there are 0 points, but 1 to 64 are required"
    );
    assert_eq!(
        refused(json!({"handles": ["round"]})),
        "setting `handles`: `round` is not a kind of handle"
    );
    assert_eq!(
        refused(json!({"handles": ["auto", "auto", "auto"]})),
        "setting `handles`: 3 kinds of handles for 2 points; give one, or one for each point"
    );
    assert_eq!(
        refused(json!({"handles": ["free"]})),
        "setting `free_handles`: 0 numbers for 2 points; give four for each point"
    );
}

#[test]
fn channels_and_components_have_their_own_curves() {
    let set = json!({"all": [0, 0, 1, 0.5], "red": [0, 1, 1, 0], "blue": [0, 0, 1, 2]});
    let color = Value::from(Color([0.5, 0.5, 0.5, 0.25]));
    let curved = run("curve.rgb", &set, &[color.clone(), 1.0_f32.into()]);
    for (found, wanted) in curved.iter().zip([0.75, 0.25, 0.5, 0.25]) {
        assert!((found - wanted).abs() < 1e-6, "{curved:?}");
    }
    assert_eq!(run("curve.rgb", &set, &[color, 0.0_f32.into()]), [0.5, 0.5, 0.5, 0.25]);
    let set = json!({"x_points": [0, 1, 1, 0], "z_points": [0, 0, 1, 4]});
    let vector = Value::from(Vec3([0.25, 0.25, 0.25]));
    let curved = run("curve.vector", &set, &[vector, 1.0_f32.into()]);
    for (found, wanted) in curved.iter().zip([0.75, 0.25, 1.0]) {
        assert!((found - wanted).abs() < 1e-6, "{curved:?}");
    }
}

proptest! {
    #[test]
    fn clamped_curves_never_overshoot(
        y in proptest::collection::vec(-1.0_f64..1.0, 2..6),
        x in 0.0_f32..1.0,
    ) {
        let n = y.len() - 1;
        let points: Vec<f64> =
            y.iter().enumerate().flat_map(|(i, y)| [i as f64 / n as f64, *y]).collect();
        let set = json!({"points": points, "handles": ["clamped"]});
        let i = ((x * n as f32) as usize).min(n - 1);
        let (low, high) = (y[i].min(y[i + 1]) as f32, y[i].max(y[i + 1]) as f32);
        let found = at(&set, x);
        prop_assert!((low - 1e-5..=high + 1e-5).contains(&found), "{low} {found} {high}");
    }
}
