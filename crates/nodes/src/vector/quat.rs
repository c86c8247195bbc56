//! Rotations as quaternions, real part first. Nodes that rotate expect length 1.

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{Default, Law, NodeDef, Registry};

use super::rotation::{axes, ordered};
use super::{Direction, cross, dot, each, length, normalized, scaled};
use crate::shape::form_by_settings;

pub(super) fn register(registry: &mut Registry) {
    registry.register(from_axis_angle());
    registry.register(from_euler());
    registry.register(multiply());
    registry.register(conjugate());
    registry.register(normalize());
    registry.register(dot_product());
    registry.register(length_node());
    registry.register(rotate());
    registry.register(slerp());
}

/// The Hamilton product.
pub fn product<'b>(a: &[Val<'b>], b: &[Val<'b>]) -> Vec<Val<'b>> {
    vec![
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] + a[2] * b[0] + a[3] * b[1] - a[1] * b[3],
        a[0] * b[3] + a[3] * b[0] + a[1] * b[2] - a[2] * b[1],
    ]
}

fn from_axis_angle() -> NodeDef {
    NodeDef::new("quat.from_axis_angle", "A rotation from an axis and an angle")
        .details(
            "Counterclockwise when the axis points toward the viewer. An axis of length 0 gives \
             the identity rotation. The error of each component is at most 5e-7, for angles up to \
             100.",
        )
        .input_or("axis", Type::VEC3, millstream_base::Vec3([0.0, 0.0, 1.0]), "axis of any length")
        .input_or("angle", Type::F32, 0.0, "angle in radians")
        .output("value", Type::QUAT, "length 1")
        .form(|_, inputs| {
            let axis = Direction::of(&inputs[0]);
            let half = inputs[1][0] * 0.5;
            let mut quat = vec![axis.is_none.select(1.0, half.cos())];
            quat.extend(scaled(&axis.unit, half.sin()));
            vec![quat]
        })
}

fn from_euler() -> NodeDef {
    let def = NodeDef::new("quat.from_euler", "A rotation from Euler angles").converts().details(
        "Rotates about the fixed axes, one after another (extrinsic rotations). The error of \
             each component is at most 1e-6, for angles up to 10.",
    );
    ordered(def)
        .input_or("angles", Type::VEC3, 0.0, "angles about x, y and z in radians")
        .output("value", Type::QUAT, "length 1")
        .kernel(form_by_settings(|settings, inputs| {
            let [first, second, third] = axes(settings.text("order"));
            let about = |axis: usize| {
                let half = inputs[0][axis] * 0.5;
                let zero = half.like(0.0);
                let mut quat = vec![half.cos(), zero, zero, zero];
                quat[axis + 1] = half.sin();
                quat
            };
            vec![product(&about(third), &product(&about(second), &about(first)))]
        }))
}

fn multiply() -> NodeDef {
    NodeDef::new("quat.multiply", "Multiplies two quaternions, combining their rotations")
        .details(
            "The Hamilton product a b, which rotates by `b` first, then by `a`. The error of each \
             component is at most 3e-7 times the product of both lengths.",
        )
        .input_or("a", Type::QUAT, Default::Zero, "rotation applied second")
        .input_or("b", Type::QUAT, Default::Zero, "rotation applied first")
        .output("value", Type::QUAT, "combined rotation")
        .form(|_, inputs| vec![product(&inputs[0], &inputs[1])])
}

fn conjugate() -> NodeDef {
    NodeDef::new("quat.conjugate", "The conjugate of a quaternion")
        .details("For a quaternion of length 1 it is the inverse rotation.")
        .law(Law::Involution)
        .input_or("quat", Type::QUAT, Default::Zero, "")
        .output("value", Type::QUAT, "conjugate, of the same length")
        .form(|_, inputs| {
            let q = &inputs[0];
            vec![vec![q[0], -q[1], -q[2], -q[3]]]
        })
}

fn normalize() -> NodeDef {
    NodeDef::new("quat.normalize", "Scales a quaternion to length 1")
        .details(
            "A quaternion of length 0 gives the identity rotation. The error of each component is \
             at most 3e-7.",
        )
        .input_or("quat", Type::QUAT, Default::Zero, "")
        .output("value", Type::QUAT, "length 1")
        .form(|_, inputs| {
            let Direction { unit: mut quat, is_none } = Direction::of(&inputs[0]);
            quat[0] = is_none.select(1.0, quat[0]);
            vec![quat]
        })
}

fn dot_product() -> NodeDef {
    NodeDef::new("quat.dot", "The dot product of two quaternions")
        .details(
            "The sum of the products of the four parts, added from the real part on. For \
             quaternions of length 1 it is the cosine of half the angle between the rotations; it \
             is negative if the direct arc from one to the other is the longer one.",
        )
        .input_or("a", Type::QUAT, Default::Zero, "")
        .input_or("b", Type::QUAT, Default::Zero, "")
        .output("value", Type::F32, "dot product")
        .form(|_, inputs| vec![vec![dot(&inputs[0], &inputs[1])]])
}

fn length_node() -> NodeDef {
    NodeDef::new("quat.length", "The length of a quaternion")
        .details("The length is 1 for rotations; `quat.normalize` scales a quaternion to length 1.")
        .input_or("quat", Type::QUAT, Default::Zero, "")
        .output("value", Type::F32, "square root of the sum of the squares of the parts")
        .form(|_, inputs| vec![vec![length(&inputs[0])]])
}

fn rotate() -> NodeDef {
    NodeDef::new("quat.rotate", "Rotates a vector by a quaternion")
        .details(
            "The quaternion must have length 1; with any other length the result is distorted. The \
             error is at most 1e-6 times the length of the vector.",
        )
        .source("v + 2 w (u x v) + 2 u x (u x v), with w the real part and u the rest")
        .input_or("quat", Type::QUAT, Default::Zero, "length 1")
        .input_or("vector", Type::VEC3, 0.0, "vector to rotate")
        .output("value", Type::VEC3, "rotated vector")
        .form(|_, inputs| {
            let (real, axis, vector) = (inputs[0][0], &inputs[0][1..], &inputs[1]);
            let twice: Vec<Val<'_>> = cross(axis, vector).iter().map(|x| *x * 2.0).collect();
            let around = cross(axis, &twice);
            vec![(0..3).map(|i| vector[i] + real * twice[i] + around[i]).collect()]
        })
}

fn slerp() -> NodeDef {
    NodeDef::new("quat.slerp", "Interpolates between two rotations at constant speed")
        .details(
            "Follows the shorter arc at constant speed; factors outside 0 to 1 extrapolate. Both \
             quaternions must have length 1. Rotations that are equal except for rounding are \
             mixed linearly. The error of each component is at most 1e-6.",
        )
        .source("K. Shoemake, Animating rotation with quaternion curves, 1985")
        .input_or("a", Type::QUAT, Default::Zero, "rotation at factor 0")
        .input_or("b", Type::QUAT, Default::Zero, "rotation at factor 1")
        .input_or("factor", Type::F32, 0.5, "0 to 1")
        .output("value", Type::QUAT, "length 1")
        .form(|_, inputs| vec![slerped(&inputs[0], &inputs[1], inputs[2][0])])
}

/// The rotation on the shorter arc at constant speed; see `quat.slerp`.
pub(super) fn slerped<'b>(a: &[Val<'b>], b: &[Val<'b>], factor: Val<'b>) -> Vec<Val<'b>> {
    arc(a, &beside(a, b), factor)
}

/// `b` or `-b`, which are the same rotation, whichever is closer to `a`.
pub(super) fn beside<'b>(a: &[Val<'b>], b: &[Val<'b>]) -> Vec<Val<'b>> {
    let other_side = dot(a, b).lt(0.0);
    b.iter().map(|b| other_side.select(-*b, *b)).collect()
}

/// The quaternion on the great circle from one to the other at constant speed, whichever arc that
/// is.
pub(super) fn arc<'b>(a: &[Val<'b>], b: &[Val<'b>], factor: Val<'b>) -> Vec<Val<'b>> {
    let apart = length(&each(a, b, |a, b| b - a));
    let together = length(&each(a, b, |a, b| b + a));
    let angle = apart.atan2(together) * 2.0;
    let sine = angle.sin();
    let straight = sine.lt(1e-4);
    let rest: Val<'_> = 1.0 - factor;
    let of_a = straight.select(rest, (rest * angle).sin() / sine);
    let of_b = straight.select(factor, (factor * angle).sin() / sine);
    normalized(&each(a, b, |a, b| a * of_a + b * of_b))
}
