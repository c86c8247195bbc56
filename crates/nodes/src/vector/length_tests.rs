//! Nodes that take vectors of any length.

use std::ops::Range;

use millstream_base::Type;
use serde_json::json;

use crate::cells::testing::numbers;

/// A node, its generics, its arguments, and the range of arguments that may be scaled.
type Case = (&'static str, &'static [Type], Vec<f32>, Range<usize>);

/// A matrix that translates, rotates and scales.
fn matrix() -> Vec<f32> {
    let rows = [[1.0, 0.25, 0.5, 3.0], [0.75, 2.0, 1.0, 1.0], [0.25, 0.5, 1.5, 2.0]];
    rows.into_iter().flatten().chain([0.0, 0.0, 0.0, 1.0]).collect()
}

fn cases() -> Vec<Case> {
    let (v3, v2): (&[Type], &[Type]) = (&[Type::VEC3], &[Type::VEC2]);
    let (a, b, c) = ([1.0, 2.0, -1.0], [0.5, -3.0, 0.25], [1.0, 2.0, 3.0]);
    let q = [0.5, 1.0, -2.0, 0.75];
    let of = |parts: &[&[f32]]| parts.concat();
    let words = [7, 3].map(f32::from_bits);
    let plane = of(&[&[1.0, 2.0], &[-1.0, 0.5]]);
    let mut cases: Vec<Case> = vec![
        ("quat.between", &[], of(&[&a, &b]), 0..6),
        ("quat.from_axis_angle", &[], of(&[&a, &[1.0]]), 0..3),
        ("quat.to_axis_angle", &[], q.to_vec(), 0..4),
        ("quat.to_vector", &[], q.to_vec(), 0..4),
        ("quat.normalize", &[], q.to_vec(), 0..4),
        ("quat.look_at", &[], of(&[&a, &b]), 0..6),
        ("quat.swing_twist", &[], of(&[&[0.5; 4], &a]), 4..7),
        ("vector.angle", v3, of(&[&a, &b]), 0..6),
        ("vector.angle", v2, plane.clone(), 2..4),
        ("vector.signed_angle", &[], plane, 0..4),
        ("vector.reflect", v3, of(&[&c, &a]), 3..6),
        ("vector.refract", v3, of(&[&c, &a, &[0.75]]), 3..6),
        ("vector.project", v3, of(&[&c, &a]), 3..6),
        ("vector.reject", v3, of(&[&c, &a]), 3..6),
        ("vector.rotate", &[], of(&[&c, &a, &[1.0]]), 3..6),
        ("vector.tangents", &[], a.to_vec(), 0..3),
        ("vector.closest_on_plane", v3, of(&[&c, &b, &a]), 6..9),
        ("vector.set_length", v3, of(&[&a, &[3.0]]), 0..3),
        ("vector.clamp_length", v3, of(&[&a, &[3.0, 3.0]]), 0..3),
        ("mat4.transform_normal", &[], of(&[&matrix(), &a]), 16..19),
        ("mat4.look_at", &[], of(&[&c, &a, &b]), 6..9),
        ("random.in_cone", &[], of(&[&a, &[0.5], &words]), 0..3),
    ];
    cases.push(("vector.set_length", v2, vec![3.0, -4.0, 0.5], 0..2));
    cases
}

#[test]
fn scaling_a_vector_by_a_power_of_two_changes_no_bit() {
    for (name, generics, arguments, any_length) in cases() {
        let bits = |power: f32| -> Vec<u32> {
            let mut arguments = arguments.clone();
            arguments[any_length.clone()].iter_mut().for_each(|x| *x *= power);
            let given = numbers(name, &json!({}), generics, &arguments);
            assert!(given.iter().all(|x| x.is_finite()), "{name} at {power:e}: {given:?}");
            given.into_iter().map(f32::to_bits).collect()
        };
        for power in [66, -66, 100, -100].map(|exponent| 2.0_f32.powi(exponent)) {
            assert_eq!(bits(power), bits(1.0), "{name} at {power:e}");
        }
    }
}

#[test]
fn a_huge_vector_is_projected_on_a_tiny_one() {
    let along = numbers("vector.project", &json!({}), &[Type::VEC2], &[1e30, 0.0, 1e-30, 1e-30]);
    assert!(along.iter().all(|x| (x / 5e29 - 1.0).abs() < 1e-6), "{along:?}");
}

#[test]
fn lengths_that_fit_are_kept_and_zero_vectors_stay_zero() {
    let clamped = |vector: [f32; 2], most: f32| {
        let arguments = [vector[0], vector[1], 0.0, most];
        numbers("vector.clamp_length", &json!({}), &[Type::VEC2], &arguments)
    };
    assert_eq!(clamped([3e20, 4e20], 6e20), [3e20, 4e20]);
    assert_eq!(clamped([3e-30, 4e-30], 1.0), [3e-30, 4e-30]);
    assert_eq!(clamped([0.0, 0.0], 1.0), [0.0, 0.0]);
    let angle = numbers("vector.angle", &json!({}), &[Type::VEC2], &[0.0, 0.0, 1e25, 0.0]);
    assert_eq!(angle, [0.0]);
}
