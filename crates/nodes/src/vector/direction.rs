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

/// The part of `a` along `b`; zeros where `b` has length 0.
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
        "The part of a vector along another",
        &[("a", "what is projected"), ("b", "the direction, of any length")],
    )
    .details("Zero where `b` has length 0.")
    .output("value", T, "a multiple of b")
    .form(|_, inputs| vec![projected(&inputs[0], &inputs[1])])
}

fn reject() -> NodeDef {
    on_vectors(
        "vector.reject",
        "The part of a vector perpendicular to another",
        &[("a", "what is split"), ("b", "the direction, of any length")],
    )
    .details("What `vector.project` leaves of `a`; all of it where `b` has length 0.")
    .output("value", T, "perpendicular to b")
    .form(|_, inputs| {
        let along = projected(&inputs[0], &inputs[1]);
        vec![each(&inputs[0], &along, |a, along| a - along)]
    })
}

fn reflect() -> NodeDef {
    on_vectors(
        "vector.reflect",
        "A vector mirrored at a surface",
        &[
            ("vector", "what arrives at the surface"),
            ("normal", "normal of the surface, any length"),
        ],
    )
    .details("The vector stays as it is where the normal has length 0. Off by at most 2e-6 of the vector's length.")
    .source("v - 2 (n . v) n, with n the direction of the normal")
    .output("value", T, "what leaves the surface, as long as the vector")
    .form(|_, inputs| {
        let normal = Direction::of(&inputs[1]).unit;
        let twice = dot(&inputs[0], &normal) * 2.0;
        vec![each(&inputs[0], &scaled(&normal, twice), |v, n| v - n)]
    })
}

fn refract() -> NodeDef {
    on_vectors(
        "vector.refract",
        "A direction bent at a surface",
        &[("vector", "direction of what arrives, of length 1"), ("normal", "normal on the side that it comes from, any length")],
    )
    .details("Zero where nothing passes the surface (total reflection).")
    .source(
        "Snell's law: r v - (r d + sqrt(1 - r^2 (1 - d^2))) n, with r the ratio, n the direction of \
         the normal and d = n . v",
    )
    .input("ratio", Type::F32, "refractive index on this side over that on the other")
    .or_number(1.0)
    .output("value", T, "direction of what passes the surface")
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
        "A vector turned against a direction",
        &[
            ("vector", "what is turned"),
            ("incident", "the direction it should oppose"),
            ("reference", "what is compared with the direction, often the vector itself"),
        ],
    )
    .details(
        "The vector where `reference` and `incident` have a negative dot product, its opposite \
         elsewhere, also where they are perpendicular.",
    )
    .output("value", T, "the vector or its opposite")
    .form(|_, inputs| {
        let keep = dot(&inputs[2], &inputs[1]).lt(0.0);
        vec![inputs[0].iter().map(|v| keep.select(*v, -*v)).collect()]
    })
}

fn angle() -> NodeDef {
    on_vectors(
        "vector.angle",
        "The angle between two vectors",
        &[("a", "of any length"), ("b", "of any length")],
    )
    .details("In radians, 0 to pi; accurate for tiny angles too. 0 where one has length 0. Off by at most 1e-6.")
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
    NodeDef::new("vector.rotate", "A vector turned about an axis")
        .details(
            "Against the clock where the axis points at the viewer. The vector stays as it is where \
             the axis has length 0. Off by at most 1e-6 of the vector's length, for angles up to 100.",
        )
        .source("Rodrigues: v cos t + (k x v) sin t + k (k . v) (1 - cos t), with k the direction of the axis")
        .input("vector", Type::VEC3, "what is turned")
        .or(Default::Zero)
        .input("axis", Type::VEC3, "through the origin, of any length")
        .or_value(millstream_base::Vec3([0.0, 0.0, 1.0]))
        .input("angle", Type::F32, "angle in radians")
        .or_number(0.0)
        .output("value", Type::VEC3, "the turned vector")
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
    NodeDef::new("vector.perpendicular", "A plane vector turned by a right angle")
        .details("Against the clock: (x, y) becomes (-y, x).")
        .input("vector", Type::VEC2, "")
        .or_number(0.0)
        .output("value", Type::VEC2, "as long as the vector")
        .form(|_, inputs| vec![vec![-inputs[0][1], inputs[0][0]]])
}
