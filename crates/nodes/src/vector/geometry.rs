//! Points, lines, planes and triangles, and arcs between directions.

use millstream_base::{Lane, Type, Vec3};
use millstream_form::Val;
use millstream_node::{Among, NodeDef, Registry};

use super::{Direction, T, cross, dot, each, length, on_vectors, scaled};
use crate::shape::form_by_settings;

pub(super) fn register(registry: &mut Registry) {
    registry.register(signed_angle());
    registry.register(rotate_in_plane());
    registry.register(move_towards());
    registry.register(slerp());
    registry.register(tangents());
    registry.register(closest_on_line());
    registry.register(closest_on_plane());
    registry.register(barycentric());
    registry.register(minkowski());
    registry.register(place(
        "vector.index_of_maximum",
        "The index of the greatest component",
        |a, b| a.gt(b),
    ));
    registry.register(place(
        "vector.index_of_minimum",
        "The index of the least component",
        |a, b| a.lt(b),
    ));
}

fn signed_angle() -> NodeDef {
    NodeDef::new("vector.signed_angle", "The signed angle from one 2D vector to another")
        .details(
            "From -pi to pi; counterclockwise angles are positive. 0 if a vector has length 0.",
        )
        .input_or("a", Type::VEC2, millstream_base::Vec2([1.0, 0.0]), "first vector, of any length")
        .input_or(
            "b",
            Type::VEC2,
            millstream_base::Vec2([1.0, 0.0]),
            "second vector, of any length",
        )
        .output("value", Type::F32, "angle in radians")
        .form(|_, inputs| {
            let (a, b) = (Direction::of(&inputs[0]).unit, Direction::of(&inputs[1]).unit);
            vec![vec![(a[0] * b[1] - a[1] * b[0]).atan2(dot(&a, &b))]]
        })
}

fn rotate_in_plane() -> NodeDef {
    NodeDef::new("vector.rotate_2d", "Rotates a 2D point about another")
        .input_or("vector", Type::VEC2, 0.0, "point to rotate")
        .input_or("center", Type::VEC2, 0.0, "center of the rotation")
        .input_or("angle", Type::F32, 0.0, "angle in radians, counterclockwise")
        .output("value", Type::VEC2, "rotated point")
        .form(|_, inputs| {
            let way = each(&inputs[0], &inputs[1], |v, c| v - c);
            let (sin, cos) = (inputs[2][0].sin(), inputs[2][0].cos());
            let turned = [way[0] * cos - way[1] * sin, way[0] * sin + way[1] * cos];
            vec![each(&turned, &inputs[1], |t, c| t + c)]
        })
}

fn move_towards() -> NodeDef {
    on_vectors(
        "vector.move_towards",
        "Moves a point toward another by at most a distance",
        &[("from", "current position"), ("to", "target position")],
    )
    .details(
        "If `to` is within the distance, the result is exactly `to`. A negative distance moves \
         away from it.",
    )
    .input_or("distance", Type::F32, 1.0, "length of the step")
    .output("value", T, "moved point")
    .form(|_, inputs| {
        let (from, to, step) = (&inputs[0], &inputs[1], inputs[2][0]);
        let way = each(from, to, |a, b| b - a);
        let long = length(&way);
        let there = long.le(step);
        let part = long.eq(0.0).select(0.0, step / long);
        vec![(0..from.len()).map(|i| there.select(to[i], from[i] + way[i] * part)).collect()]
    })
}

fn slerp() -> NodeDef {
    on_vectors(
        "vector.slerp",
        "Interpolates between two vectors along an arc",
        &[("a", "vector at factor 0"), ("b", "vector at factor 1")],
    )
    .details(
        "The direction turns at constant speed, and the length changes linearly. If the directions \
         are equal or opposite, or a vector has length 0, the vectors are mixed linearly.",
    )
    .source("K. Shoemake, Animating rotation with quaternion curves, 1985")
    .input_or("factor", Type::F32, 0.5, "position from a (0) to b (1); extrapolates beyond them")
    .output("value", T, "")
    .form(|_, inputs| vec![arc(&inputs[0], &inputs[1], inputs[2][0])])
}

/// A vector on the arc between two. In double precision the component perpendicular to the first
/// vector is 0 only if the directions are equal or opposite.
fn arc<'b>(a: &[Val<'b>], b: &[Val<'b>], factor: Val<'b>) -> Vec<Val<'b>> {
    let wide = |x: &Val<'b>| x.convert(Lane::F64);
    let (u, v): (Vec<_>, Vec<_>) = (a.iter().map(wide).collect(), b.iter().map(wide).collect());
    let t = wide(&factor);
    let rest: Val<'b> = 1.0 - t;
    // The component of b perpendicular to a, times the squared length of a.
    let aside = |i: usize| {
        let parts = (0..u.len()).filter(|j| *j != i).map(|j| u[j] * (u[j] * v[i] - u[i] * v[j]));
        parts.reduce(|sum, part| sum + part).expect("vectors have components")
    };
    let aside: Vec<Val<'b>> = (0..u.len()).map(aside).collect();
    let (long, across) = (length(&u), length(&aside));
    let angle = (across / long).atan2(dot(&u, &v)) * t;
    let size = long * rest + length(&v) * t;
    let (of_u, of_aside) = (size * angle.cos() / long, size * angle.sin() / across);
    let straight = across.eq(0.0);
    let turned =
        |i: usize| straight.select(u[i] * rest + v[i] * t, u[i] * of_u + aside[i] * of_aside);
    (0..u.len()).map(|i| turned(i).convert(Lane::F32)).collect()
}

fn tangents() -> NodeDef {
    NodeDef::new("vector.tangents", "Two tangents perpendicular to a normal")
        .details(
            "Both have length 1 and are perpendicular to each other; (tangent, bitangent, normal) \
             is a right-handed basis. They vary smoothly with the normal, except where it crosses \
             the xy plane. Zeros for a normal of length 0.",
        )
        .source("T. Duff et al., Building an Orthonormal Basis, Revisited, 2017")
        .input_or("normal", Type::VEC3, Vec3([0.0, 0.0, 1.0]), "normal of any length")
        .output("tangent", Type::VEC3, "")
        .output("bitangent", Type::VEC3, "")
        .form(|_, inputs| {
            let Direction { unit: n, is_none: none } = Direction::of(&inputs[0]);
            let sign = n[2].like(1.0).copysign(n[2]);
            let a = -1.0 / (sign + n[2]);
            let b = n[0] * n[1] * a;
            let tangent = [sign * n[0] * n[0] * a + 1.0, sign * b, -sign * n[0]];
            let both = [tangent, [b, sign + n[1] * n[1] * a, -n[1]]];
            both.map(|v| v.map(|x| none.select(0.0, x)).to_vec()).to_vec()
        })
}

fn closest_on_line() -> NodeDef {
    let points = [
        ("point", "point from which to measure"),
        ("start", "first point of the line"),
        ("end", "second point of the line"),
    ];
    on_vectors("vector.closest_on_line", "The point of a line closest to another point", &points)
        .details(
            "If start and end are the same point, it is the result, at factor 0. Lengths are \
             computed from squares, so distances must lie between about 1e-18 and 1e19.",
        )
        .flag("segment", true, "limit the line to the segment from start to end")
        .output("point", T, "closest point")
        .output("factor", Type::F32, "position of the closest point from start (0) to end (1)")
        .output("distance", Type::F32, "distance from the point")
        .kernel(form_by_settings(|settings, inputs| {
            let segment = settings.flag("segment");
            let way = each(&inputs[1], &inputs[2], |a, b| b - a);
            let offset = each(&inputs[1], &inputs[0], |a, p| p - a);
            let squared = dot(&way, &way);
            let factor = squared.eq(0.0).select(0.0, dot(&offset, &way) / squared);
            let factor = if segment { factor.clamp(0.0, 1.0) } else { factor };
            let point = each(&inputs[1], &scaled(&way, factor), |a, w| a + w);
            let distance = length(&each(&inputs[0], &point, |p, q| p - q));
            vec![point, vec![factor], vec![distance]]
        }))
}

fn closest_on_plane() -> NodeDef {
    let points = [
        ("point", "point from which to measure"),
        ("origin", "any point of the plane"),
        ("normal", "normal of the plane, of any length"),
    ];
    on_vectors("vector.closest_on_plane", "The point of a plane closest to another point", &points)
        .details(
            "In two dimensions the plane is a line. If the normal has length 0, the result is the \
         point itself.",
        )
        .output("point", T, "closest point")
        .output(
            "distance",
            Type::F32,
            "signed distance from the plane; negative on the side opposite \
                                    to the normal",
        )
        .form(|_, inputs| {
            let normal = Direction::of(&inputs[2]).unit;
            let distance = dot(&each(&inputs[0], &inputs[1], |p, o| p - o), &normal);
            vec![each(&inputs[0], &scaled(&normal, distance), |p, w| p - w), vec![distance]]
        })
}

fn barycentric() -> NodeDef {
    let corners = [("point", ""), ("a", "a corner"), ("b", "a corner"), ("c", "a corner")];
    let def =
        NodeDef::new("vector.barycentric", "The barycentric coordinates of a point in a triangle")
            .generic("T", Among::These(&[Type::VEC2, Type::VEC3]))
            .details(
                "The weights of the corners, whose sum is 1; all are between 0 and 1 inside the \
             triangle. A point outside the plane of the triangle is projected onto it. A triangle \
             without area gives (1, 0, 0).",
            )
            .source("C. Ericson, Real-Time Collision Detection, 2005, section 3.4");
    corners
        .into_iter()
        .fold(def, |def, (name, about)| def.input_or(name, T, 0.0, about))
        .output("value", Type::VEC3, "weights of a, b and c")
        .form(|_, inputs| {
            // In double precision, and from cross products rather than squared lengths, so that
            // thin triangles lose no more precision than their corners have.
            let wide =
                |i: usize| inputs[i].iter().map(|x| x.convert(Lane::F64)).collect::<Vec<_>>();
            let from_a = |i: usize| each(&wide(i), &wide(1), |x, a| x - a);
            let (u, v, w) = (from_a(2), from_a(3), from_a(0));
            let normal = across(&u, &v);
            let squared = dot(&normal, &normal);
            let none = squared.eq(0.0);
            let [b, c] = [across(&w, &v), across(&u, &w)]
                .map(|part| none.select(0.0, dot(&part, &normal) / squared));
            let weights = [1.0 - b - c, b, c];
            vec![weights.iter().map(|x| x.convert(Lane::F32)).collect()]
        })
}

/// The cross product of vectors with two or three components; it has one component in two
/// dimensions.
fn across<'b>(a: &[Val<'b>], b: &[Val<'b>]) -> Vec<Val<'b>> {
    match a {
        [_, _] => vec![a[0] * b[1] - a[1] * b[0]],
        _ => cross(a, b).to_vec(),
    }
}

fn minkowski() -> NodeDef {
    on_vectors(
        "vector.minkowski_distance",
        "The Minkowski distance between two points",
        &[("a", ""), ("b", "")],
    )
    .details(
        "Exponent 1 gives the Manhattan distance, 2 the Euclidean distance, and infinity the \
         Chebyshev distance. For exponents below 1 the triangle inequality does not hold; 0 and \
         negative exponents give NaN.",
    )
    .input_or("exponent", Type::F32, 2.0, "above 0")
    .output("value", Type::F32, "(sum of |a - b|^exponent)^(1 / exponent)")
    .form(|_, inputs| {
        let exponent = inputs[2][0];
        let ways = each(&inputs[0], &inputs[1], |a, b| (a - b).abs());
        let longest = ways.iter().copied().reduce(Val::max).expect("components");
        // Scaled by the greatest difference, so that no power overflows.
        let none = longest.eq(0.0) | exponent.eq(f32::INFINITY) | longest.eq(f32::INFINITY);
        let parts = ways.iter().map(|way| (*way / longest).pow(exponent));
        let sum = parts.reduce(|a, b| a + b).expect("components");
        let distance = none.select(longest, longest * sum.pow(1.0 / exponent));
        let unknown = ways.iter().map(|way| way.is_nan()).reduce(|a, b| a | b).expect("components");
        vec![vec![(exponent.gt(0.0) & !unknown).select(distance, f32::NAN)]]
    })
}

/// A node that returns the index of a component; `ahead` says whether one component precedes
/// another.
fn place(
    name: &'static str,
    summary: &'static str,
    ahead: impl for<'b> Fn(Val<'b>, Val<'b>) -> Val<'b> + Send + Sync + 'static,
) -> NodeDef {
    on_vectors(name, summary, &[("vector", "")])
        .details(
            "0 for x, 1 for y and so on; the first one if several are equal. NaN is ignored; 0 if \
             all components are NaN.",
        )
        .output("value", Type::I32, "index from 0 to the number of components - 1")
        .form(move |_, inputs| {
            let v = &inputs[0];
            let (mut best, mut at) = (v[0], v[0].like(0.0).convert(Lane::I32));
            for (i, x) in v.iter().enumerate().skip(1) {
                let better = ahead(*x, best) | (best.is_nan() & !x.is_nan());
                best = better.select(*x, best);
                at = better.select(at.like(i as i32), at);
            }
            vec![vec![at]]
        })
}
