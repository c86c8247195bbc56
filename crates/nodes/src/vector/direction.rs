//! Directions: projection, reflection, refraction, angles and rotations about an axis.

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{Default, NodeDef, Registry};

use super::{Direction, T, cross, dot, each, length, moderate, on_vectors, scaled};

pub(super) fn register(registry: &mut Registry) {
    registry.register(project());
    registry.register(reject());
    registry.register(reflect());
    registry.register(refract());
    registry.register(faceforward());
    registry.register(angle());
    registry.register(rotate());
    registry.register(perpendicular());
}

/// The component of `a` along `b`; zeros if `b` has length 0.
fn projected<'b>(a: &[Val<'b>], b: &[Val<'b>]) -> Vec<Val<'b>> {
    let ((a, factor), (b, _)) = (moderate(a), moderate(b));
    let squared = dot(&b, &b);
    let none = squared.eq(0.0);
    let share = dot(&a, &b) / squared;
    let back: Val<'b> = 1.0 / factor;
    b.iter().map(|b| none.select(0.0, *b * share * back)).collect()
}

fn project() -> NodeDef {
    on_vectors(
        "vector.project",
        "Projects a vector onto another",
        &[("a", "vector to project"), ("b", "direction, of any length")],
    )
    .details("Zero if `b` has length 0.")
    .output("value", T, "component of a along b")
    .form(|_, inputs| vec![projected(&inputs[0], &inputs[1])])
}

fn reject() -> NodeDef {
    on_vectors(
        "vector.reject",
        "The component of a vector perpendicular to another",
        &[("a", "vector to split"), ("b", "direction, of any length")],
    )
    .details(
        "The difference between `a` and its projection onto `b`; equal to `a` if `b` has length 0.",
    )
    .output("value", T, "component of a perpendicular to b")
    .form(|_, inputs| {
        let along = projected(&inputs[0], &inputs[1]);
        vec![each(&inputs[0], &along, |a, along| a - along)]
    })
}

fn reflect() -> NodeDef {
    on_vectors(
        "vector.reflect",
        "Reflects a vector at a surface",
        &[
            ("vector", "vector that arrives at the surface"),
            ("normal", "normal of the surface, of any length"),
        ],
    )
    .details(
        "If the normal has length 0, the vector does not change. The error is at most 2e-6 times \
         the length of the vector.",
    )
    .source("v - 2 (n . v) n, with n the direction of the normal")
    .output("value", T, "reflected vector, of the same length")
    .form(|_, inputs| {
        let normal = Direction::of(&inputs[1]).unit;
        let twice = dot(&inputs[0], &normal) * 2.0;
        vec![each(&inputs[0], &scaled(&normal, twice), |v, n| v - n)]
    })
}

fn refract() -> NodeDef {
    on_vectors(
        "vector.refract",
        "Refracts a direction at a surface",
        &[
            ("vector", "direction of the incoming ray, of length 1"),
            ("normal", "normal on the side of the incoming ray, of any length"),
        ],
    )
    .details("Zero in case of total internal reflection.")
    .source(
        "Snell's law: r v - (r d + sqrt(1 - r^2 (1 - d^2))) n, with r the ratio, n the direction \
         of the normal and d = n . v",
    )
    .input_or(
        "ratio",
        Type::F32,
        1.0,
        "refractive index on the incoming side divided by that on the other \
                                side",
    )
    .output("value", T, "direction of the refracted ray, of length 1")
    .form(|_, inputs| {
        let (vector, normal, ratio) = (&inputs[0], Direction::of(&inputs[1]).unit, inputs[2][0]);
        let d = dot(&normal, vector);
        let under_root: Val<'_> = 1.0 - ratio * ratio * (1.0 - d * d);
        let nothing_passes = under_root.lt(0.0);
        let along_normal = ratio * d + under_root.sqrt();
        vec![each(vector, &normal, |v, n| nothing_passes.select(0.0, ratio * v - along_normal * n))]
    })
}

fn faceforward() -> NodeDef {
    on_vectors(
        "vector.faceforward",
        "Flips a vector to face against a direction",
        &[
            ("vector", "vector to flip"),
            ("incident", "direction that the vector should oppose"),
            ("reference", "vector to compare with the direction, often the vector itself"),
        ],
    )
    .details(
        "The vector if the dot product of `reference` and `incident` is negative, otherwise its \
         negative, also if they are perpendicular.",
    )
    .output("value", T, "the vector or its negative")
    .form(|_, inputs| {
        let keep = dot(&inputs[2], &inputs[1]).lt(0.0);
        vec![inputs[0].iter().map(|v| keep.select(*v, -*v)).collect()]
    })
}

fn angle() -> NodeDef {
    on_vectors(
        "vector.angle",
        "The angle between two vectors",
        &[("a", "first vector, of any length"), ("b", "second vector, of any length")],
    )
    .details(
        "In radians, from 0 to pi, accurate for tiny angles too. 0 if a vector has length 0. The \
         error is at most 1e-6.",
    )
    .source("W. Kahan: 2 atan2(|u - v|, |u + v|), with u and v the directions")
    .output("value", Type::F32, "angle in radians")
    .form(|_, inputs| {
        let (u, v) = (Direction::of(&inputs[0]), Direction::of(&inputs[1]));
        let apart = length(&each(&u.unit, &v.unit, |u, v| u - v));
        let together = length(&each(&u.unit, &v.unit, |u, v| u + v));
        let none = u.is_none.or(v.is_none);
        vec![vec![none.select(0.0, apart.atan2(together) * 2.0)]]
    })
}

fn rotate() -> NodeDef {
    NodeDef::new("vector.rotate", "Rotates a vector about an axis")
        .details(
            "Counterclockwise when the axis points toward the viewer. If the axis has length 0, \
             the vector does not change. The error is at most 1e-6 times the length of the vector, \
             for angles up to 100.",
        )
        .source(
            "Rodrigues: v cos t + (k x v) sin t + k (k . v) (1 - cos t), with k the direction of \
             the axis",
        )
        .input_or("vector", Type::VEC3, Default::Zero, "vector to rotate")
        .input_or(
            "axis",
            Type::VEC3,
            millstream_base::Vec3([0.0, 0.0, 1.0]),
            "axis through the origin, of any length",
        )
        .input_or("angle", Type::F32, 0.0, "angle in radians")
        .output("value", Type::VEC3, "rotated vector")
        .form(|_, inputs| {
            let (vector, angle) = (&inputs[0], inputs[2][0]);
            let Direction { unit: axis, is_none: none } = Direction::of(&inputs[1]);
            let (sin, cos) = (angle.sin(), angle.cos());
            let along = dot(&axis, vector) * (1.0 - cos);
            let side = cross(&axis, vector);
            let turned = |i: usize| vector[i] * cos + side[i] * sin + axis[i] * along;
            vec![(0..3).map(|i| none.select(vector[i], turned(i))).collect()]
        })
}

fn perpendicular() -> NodeDef {
    NodeDef::new("vector.perpendicular", "Rotates a 2D vector by a right angle")
        .details("Counterclockwise: (x, y) becomes (-y, x).")
        .input_or("vector", Type::VEC2, 0.0, "")
        .output("value", Type::VEC2, "perpendicular vector, of the same length")
        .form(|_, inputs| vec![vec![-inputs[0][1], inputs[0][0]]])
}
