//! Lines, planes, triangles and matrices, checked against their definitions.

use millstream_base::Type;
use proptest::prelude::*;
use serde_json::json;

use crate::cells::testing::numbers as run_with;

fn run(name: &str, generics: &[Type], numbers: &[f32]) -> Vec<f32> {
    run_with(name, &json!({}), generics, numbers)
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn minus(a: &[f32], b: &[f32]) -> Vec<f32> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

fn length(a: &[f32]) -> f32 {
    dot(a, a).sqrt()
}

fn near(a: &[f32], b: &[f32], tolerance: f32) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= tolerance)
}

fn three() -> impl Strategy<Value = [f32; 3]> {
    proptest::array::uniform3(-2.0_f32..2.0)
}

fn matrix() -> impl Strategy<Value = [f32; 16]> {
    proptest::array::uniform16(-2.0_f32..2.0)
}

/// An element of a matrix.
fn at(m: &[f32], row: usize, column: usize) -> f32 {
    m[4 * row + column]
}

/// The upper left part of `a` times that of `b`, or times its transpose.
fn times(a: &[f32], b: &[f32], transposed: bool) -> Vec<f32> {
    let of_b = |i: usize, k: usize| if transposed { at(b, k, i) } else { at(b, i, k) };
    (0..9).map(|i| (0..3).map(|k| at(a, i / 3, k) * of_b(k, i % 3)).sum()).collect()
}

const IDENTITY: [f32; 9] = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];

/// The problem with the factors of a matrix, if there is one.
fn wrong_parts(m: &[f32; 16]) -> Option<String> {
    let parts = run("mat4.svd", &[], m);
    let (u, factors, v) = (&parts[..16], &parts[16..19], &parts[19..]);
    let size = m.iter().fold(0.0_f32, |size, x| size.max(x.abs())).max(f32::MIN_POSITIVE);
    let mut scaled = u.to_vec();
    for row in scaled.chunks_mut(4) {
        row.iter_mut().zip(factors).for_each(|(x, factor)| *x *= factor / size);
    }
    let whole = times(&scaled, v, true);
    let given: Vec<f32> = (0..9).map(|i| at(m, i / 3, i % 3) / size).collect();
    let right = near(&whole, &given, 3e-6)
        && near(&times(u, u, true), &IDENTITY, 2e-6)
        && near(&times(v, v, true), &IDENTITY, 2e-6)
        && factors[0] >= factors[1]
        && factors[1] >= factors[2]
        && factors[2] >= 0.0;
    (!right).then(|| format!("{m:?} gives {parts:?}, together {whole:?}"))
}

#[test]
fn singular_values_of_known_matrices() {
    let of = |rows: [[f32; 3]; 3]| {
        let mut m = [0.0; 16];
        (0..9).for_each(|i| m[4 * (i / 3) + i % 3] = rows[i / 3][i % 3]);
        assert_eq!(wrong_parts(&m), None);
        run("mat4.svd", &[], &m)[16..19].to_vec()
    };
    assert_eq!(of([[0.0; 3]; 3]), [0.0; 3]);
    assert_eq!(of([[2.0, 0.0, 0.0], [0.0, -5.0, 0.0], [0.0, 0.0, 3.0]]), [5.0, 3.0, 2.0]);
    assert!(near(&of([[1.0; 3]; 3]), &[3.0, 0.0, 0.0], 1e-6));
    assert!(near(&of([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]), &[1.0, 0.0, 0.0], 1e-6));
    // The eigenvalues of the product with its transpose, computed by hand: 45 and 5.
    let known = of([[3.0, 0.0, 0.0], [4.0, 5.0, 0.0], [0.0, 0.0, 0.0]]);
    assert!(near(&known, &[45.0_f32.sqrt(), 5.0_f32.sqrt(), 0.0], 1e-6), "{known:?}");
    for size in [1e-30, 1e30, f32::MIN_POSITIVE] {
        let found = of([[0.0, size, 0.0], [size, size, 0.0], [0.0, 0.0, -size]]);
        let golden = f32::midpoint(1.0, 5.0_f32.sqrt());
        let wanted = [golden, 1.0, 1.0 / golden].map(|x| x * size);
        assert!(near(&found, &wanted, 2e-6 * size), "{found:?}");
    }
    let mut unknown = [0.0; 16];
    unknown[5] = f32::NAN;
    assert!(run("mat4.svd", &[], &unknown)[16..19].iter().all(|x| x.is_nan()));
}

#[test]
fn edge_cases_have_defined_results() {
    let v3 = [Type::VEC3];
    assert_eq!(run("vector.move_towards", &v3, &[1., 2., 3., 1., 2., 3., 0.]), [1., 2., 3.]);
    assert_eq!(run("vector.move_towards", &v3, &[0., 0., 0., 3., 0., 4., 5.]), [3., 0., 4.]);
    assert_eq!(run("vector.move_towards", &v3, &[0., 0., 0., 3., 0., 4., 2.5]), [1.5, 0., 2.]);
    assert_eq!(run("vector.move_towards", &v3, &[0., 0., 0., 3., 0., 4., -5.]), [-3., 0., -4.]);
    assert_eq!(run("vector.slerp", &v3, &[1., 0., 0., -1., 0., 0., 0.5]), [0.; 3]);
    assert_eq!(run("vector.slerp", &v3, &[0., 0., 0., 0., 2., 0., 0.5]), [0., 1., 0.]);
    assert_eq!(run("vector.slerp", &v3, &[0., 2., 0., 0., 0., 0., 0.5]), [0., 1., 0.]);
    assert_eq!(run("vector.slerp", &v3, &[3., -6., 9., -1., 2., -3., 0.25]), [2., -4., 6.]);
    let half_way = run("vector.slerp", &v3, &[1., 0., 0., -1., 1e-20, 0., 0.5]);
    assert!(near(&half_way, &[0., 1., 0.], 1e-7), "{half_way:?}");
    assert_eq!(
        run("vector.closest_on_plane", &v3, &[1., 2., 3., 0., 0., 0., 0., 0., 0.]),
        [1., 2., 3., 0.]
    );
    assert_eq!(
        run("vector.barycentric", &v3, &[1., 1., 1., 2., 2., 2., 2., 2., 2., 5., 5., 5.]),
        [1., 0., 0.]
    );
    assert_eq!(run("vector.tangents", &[], &[0.; 3]), [0.; 6]);
    let minkowski = |numbers: &[f32]| run("vector.minkowski_distance", &[Type::VEC2], numbers)[0];
    assert_eq!(minkowski(&[0., 0., 3., 4., f32::INFINITY]), 4.0);
    assert_eq!(minkowski(&[0., 0., 3., 4., 1.]), 7.0);
    assert_eq!(minkowski(&[1., 1., 1., 1., 2.]), 0.0);
    assert!((minkowski(&[0., 0., 3e30, 4e30, 2.]) / 5e30 - 1.0).abs() < 1e-6);
    assert!(
        minkowski(&[0., 0., 3., 4., 0.]).is_nan()
            && minkowski(&[0., f32::NAN, 3., 4., 2.]).is_nan()
    );
    let place = |name: &str, v: [f32; 3]| run(name, &v3, &v)[0].to_bits();
    assert_eq!(place("vector.index_of_maximum", [1., 3., 3.]), 1);
    assert_eq!(place("vector.index_of_minimum", [f32::NAN, 3., -3.]), 2);
    assert_eq!(place("vector.index_of_maximum", [f32::NAN; 3]), 0);
    assert_eq!(run("vector.product", &v3, &[2., 3., -4.]), [-24.]);
    assert_eq!(run("vector.mean", &v3, &[2., 3., -8.]), [-1.]);
}

#[test]
fn cameras_see_a_cube() {
    let eye = [4.0_f32, -2.0, 3.0];
    let m = run("mat4.look_at", &[], &[4., -2., 3., 1., 1., 1., 0., 0., 1.]);
    let seen = |p: [f32; 3]| run("mat4.transform_point", &[], &[&m[..], &p].concat());
    assert!(near(&seen(eye), &[0.; 3], 1e-6));
    let target = seen([1., 1., 1.]);
    assert!(near(&target, &[0., 0., -22.0_f32.sqrt()], 1e-5), "{target:?}");
    let above = seen([1., 1., 2.]);
    assert!(above[0].abs() < 1e-6 && above[1] > 0.0, "{above:?}");
    for strange in [[0.; 3], [-3., 3., -2.]] {
        let m = run("mat4.look_at", &[], &[&eye[..], &[1., 1., 1.], &strange].concat());
        assert!(near(&times(&m, &m, true), &IDENTITY, 1e-5), "{m:?}");
    }
    let m = run("mat4.perspective", &[], &[std::f32::consts::FRAC_PI_2, 2.0, 1.0, 9.0]);
    let project = |p: [f32; 3]| run("mat4.project_point", &[], &[&m[..], &p].concat());
    assert!(near(&project([2.0, 1.0, -1.0]), &[1., 1., -1.], 1e-6));
    assert!(near(&project([-18.0, -9.0, -9.0]), &[-1., -1., 1.], 1e-6));
    let m = run("mat4.orthographic", &[], &[4.0, 6.0, 1.0, 9.0]);
    let project = |p: [f32; 3]| run("mat4.project_point", &[], &[&m[..], &p].concat());
    assert!(near(&project([2.0, 3.0, -1.0]), &[1., 1., -1.], 1e-6));
    assert!(near(&project([-2.0, -3.0, -9.0]), &[-1., -1., 1.], 1e-6));
}

#[test]
fn matrices_are_combined_and_separated() {
    let numbers: Vec<f32> = (0..16_u8).map(f32::from).collect();
    assert_eq!(run("mat4.combine", &[], &numbers), numbers);
    assert_eq!(run("mat4.separate", &[], &numbers), numbers);
    let columns = json!({"lines": "columns"});
    let turned = run_with("mat4.combine", &columns, &[], &numbers);
    assert_eq!(turned, run("mat4.transpose", &[], &numbers));
    assert_eq!(run_with("mat4.separate", &columns, &[], &turned), numbers);
    let mixed = run("mat4.mix", &[], &[&numbers[..], &turned, &[0.5]].concat());
    assert_eq!((mixed[0], mixed[1]), (0.0, 2.5));
}

#[test]
fn thin_triangles_have_weights() {
    let (a, b, c): ([f32; 3], [f32; 3], [f32; 3]) = (
        [-1.918_407_7, 0.0, -1.535_833_8],
        [1.706_963, -1.876_871_2, 0.430_394],
        [0.894_560_64, -1.399_167_5, 0.0],
    );
    let u = 0.946_655_1_f32;
    let p: Vec<f32> = (0..3).map(|i| a[i] * (1.0 - u) + b[i] * u).collect();
    let found = run("vector.barycentric", &[Type::VEC3], &[&p[..], &a, &b, &c].concat());
    assert!(near(&found, &[1.0 - u, u, 0.0], 1e-6), "{found:?}");
    // Of any magnitude, and in the plane.
    for size in [1e-30_f32, 1e-12, 1.0, 1e12, 1e30] {
        let corners = [0.25, 0.5, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0].map(|x| x * size);
        let found = run("vector.barycentric", &[Type::VEC2], &corners);
        assert!(near(&found, &[0.25, 0.25, 0.5], 1e-6), "{size}: {found:?}");
    }
}

proptest! {
    #[test]
    fn factors_of_any_matrix_multiply_to_it(m in matrix(), kind in 0..4, power in -20..20) {
        let mut m = m.map(|x| x * 2.0_f32.powi(power));
        match kind {
            // Equal and dependent rows, symmetric matrices, mostly zeros.
            1 => for i in 0..4 { m[4 + i] = m[i] * 3.0 },
            2 => for i in 0..16 { m[i] = m[4 * (i % 4) + i / 4] },
            3 => m.iter_mut().enumerate().filter(|(i, _)| i % 3 != 1).for_each(|(_, x)| *x = 0.0),
            _ => {}
        }
        prop_assert_eq!(wrong_parts(&m), None);
    }

    #[test]
    fn transformed_normals_stay_perpendicular(m in matrix(), n in three(), a in three()) {
        let n_moved = run("mat4.transform_normal", &[], &[&m[..], &n].concat());
        // A direction in the surface.
        let t = minus(&a, &n.map(|x| x * dot(&a, &n) / dot(&n, &n)));
        let moved = run("mat4.transform_direction", &[], &[&m[..], &t].concat());
        prop_assume!(length(&n) > 0.1 && length(&t) > 0.1 && length(&moved) > 0.1);
        let determinant = {
            let x = |row: usize| [at(&m, row, 0), at(&m, row, 1), at(&m, row, 2)];
            let side = run("vector.cross", &[], &[x(0), x(1)].concat());
            dot(&side, &x(2))
        };
        prop_assume!(determinant.abs() > 0.05);
        prop_assert!((length(&n_moved) - 1.0).abs() < 1e-5);
        prop_assert!((dot(&n_moved, &moved) / length(&moved)).abs() < 1e-4);
        let same_side = run("mat4.transform_direction", &[], &[&m[..], &n].concat());
        prop_assert!(dot(&n_moved, &same_side) > 0.0);
    }

    #[test]
    fn tangents_and_normal_are_an_orthonormal_basis(n in three()) {
        prop_assume!(length(&n) > 0.01);
        let frame = run("vector.tangents", &[], &n);
        let (t, b) = (&frame[..3], &frame[3..]);
        prop_assert!((length(t) - 1.0).abs() < 1e-5 && (length(b) - 1.0).abs() < 1e-5);
        prop_assert!(dot(t, b).abs() < 1e-5);
        let normal = run("vector.cross", &[], &frame);
        prop_assert!(near(&normal, &n.map(|x| x / length(&n)), 1e-5));
    }

    #[test]
    fn no_other_point_of_a_line_or_plane_is_closer(p in three(), a in three(), b in three(), t in -1.0_f32..2.0) {
        let found = run("vector.closest_on_line", &[Type::VEC3], &[p, a, b].concat());
        let on_line: Vec<f32> = (0..3).map(|i| a[i] + (b[i] - a[i]) * t.clamp(0.0, 1.0)).collect();
        prop_assert!((found[4] - length(&minus(&p, &found[..3]))).abs() < 1e-5);
        prop_assert!(found[4] <= length(&minus(&p, &on_line)) + 1e-5);
        let whole = json!({"segment": false});
        let far = run_with("vector.closest_on_line", &whole, &[Type::VEC3], &[p, a, b].concat());
        prop_assert!(far[4] <= found[4] + 1e-5);
        prop_assume!(length(&b) > 0.1);
        let plane = run("vector.closest_on_plane", &[Type::VEC3], &[p, a, b].concat());
        prop_assert!(dot(&minus(&plane[..3], &a), &b).abs() < 1e-4);
        prop_assert!((plane[3].abs() - length(&minus(&p, &plane[..3]))).abs() < 1e-5);
    }

    #[test]
    fn weights_of_corners_give_the_point(a in three(), b in three(), c in three(), u in 0.0_f32..1.0, v in 0.0_f32..1.0) {
        let side = run("vector.cross", &[], &[minus(&b, &a), minus(&c, &a)].concat());
        prop_assume!(length(&side) > 0.2);
        let w = 1.0 - u - v;
        let p: Vec<f32> = (0..3).map(|i| a[i] * w + b[i] * u + c[i] * v).collect();
        let found = run("vector.barycentric", &[Type::VEC3], &[&p[..], &a, &b, &c].concat());
        prop_assert!(near(&found, &[w, u, v], 2e-4), "{found:?}");
    }

    #[test]
    fn arcs_turn_at_constant_speed(a in three(), b in three(), t in 0.0_f32..1.0) {
        let angle = |a: &[f32], b: &[f32]| run("vector.angle", &[Type::VEC3], &[a, b].concat())[0];
        let all = angle(&a, &b);
        prop_assume!(length(&a) > 0.1 && length(&b) > 0.1 && all > 0.1 && all < 3.0);
        let m = run("vector.slerp", &[Type::VEC3], &[&a[..], &b, &[t]].concat());
        prop_assert!((angle(&a, &m) - all * t).abs() < 1e-4);
        prop_assert!((length(&m) - (length(&a) * (1.0 - t) + length(&b) * t)).abs() < 1e-5);
    }

    #[test]
    fn arcs_between_nearly_opposite_directions_turn_at_constant_speed(a in three(), b in three(), t in 0.0_f32..1.0, exponent in -9.0_f32..0.0) {
        prop_assume!(length(&a) > 0.1);
        let far: Vec<f32> = a.iter().zip(&b).map(|(a, b)| b * 10_f32.powf(exponent) - 2.0 * a).collect();
        let wide = |v: &[f32]| -> Vec<f64> { v.iter().map(|x| f64::from(*x)).collect() };
        let (u, v) = (wide(&a), wide(&far));
        let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        let cross = |a: &[f64], b: &[f64]| {
            [(1, 2), (2, 0), (0, 1)].map(|(i, j)| a[i] * b[j] - a[j] * b[i])
        };
        let long = |a: &[f64]| dot(a, a).sqrt();
        let axis = cross(&u, &v);
        prop_assume!(long(&axis) > 0.0);
        let side = cross(&axis, &u);
        let t = f64::from(t);
        let angle = long(&axis).atan2(dot(&u, &v)) * t;
        let size = long(&u) * (1.0 - t) + long(&v) * t;
        let found = run("vector.slerp", &[Type::VEC3], &[&a[..], &far, &[t as f32]].concat());
        for i in 0..3 {
            let wanted = u[i] / long(&u) * angle.cos() + side[i] / long(&side) * angle.sin();
            prop_assert!((f64::from(found[i]) - size * wanted).abs() < 1e-7 * size, "{found:?}");
        }
    }

    #[test]
    fn counterclockwise_angles_are_positive(x in -2.0_f32..2.0, y in -2.0_f32..2.0, angle in -3.1_f32..3.1) {
        prop_assume!(x.hypot(y) > 0.1);
        let turned = run("vector.rotate_2d", &[], &[x + 1.0, y, 1.0, 0.0, angle]);
        let found = run("vector.signed_angle", &[], &[x, y, turned[0] - 1.0, turned[1]]);
        prop_assert!((found[0] - angle).abs() < 1e-4, "{found:?}");
    }

    #[test]
    fn rotation_vectors_and_cylindrical_coordinates_convert_back(v in three()) {
        let quat = run("quat.from_vector", &[], &v);
        prop_assert!((length(&quat) - 1.0).abs() < 1e-6);
        let back = run("quat.to_vector", &[], &quat);
        let same = run("quat.from_vector", &[], &back);
        prop_assert!(length(&back) <= std::f32::consts::PI + 1e-5);
        prop_assert!(dot(&quat, &same).abs() > 1.0 - 1e-5);
        let around = run("vector.to_cylindrical", &[], &v);
        prop_assert!(near(&run("vector.from_cylindrical", &[], &around), &v, 1e-5));
    }
}
