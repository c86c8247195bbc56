//! Rotating vectors and transforms with the same rounding as Blender.

use millstream_base::{Lane, Type, Vec3};
use millstream_form::Val;
use millstream_node::{Default, NodeDef, Registry};
use millstream_nodes::kit::{affine, dot, form_by_settings, length};

use super::rotation::{rows_of_euler, rows_of_turn};

pub(super) fn register(registry: &mut Registry) {
    registry.register(rotate_vector());
    registry.register(rotate_about_axis());
    registry.register(rotate_by_angles());
    registry.register(invert_rotation());
    registry.register(combine_transform());
}

/// A matrix given by rows.
pub(super) type Rows<'b> = [[Val<'b>; 3]; 3];

/// The matrix of a quaternion; computed in double precision.
pub(super) fn rows_of_quat<'b>(q: &[Val<'b>]) -> Rows<'b> {
    let q: Vec<Val<'b>> = q.iter().map(|x| x.convert(Lane::F64)).collect();
    let twice = |a: usize, b: usize| q[a] * q[b] * 2.0;
    let rows = [
        [1.0 - twice(2, 2) - twice(3, 3), twice(1, 2) - twice(0, 3), twice(0, 2) + twice(1, 3)],
        [twice(0, 3) + twice(1, 2), 1.0 - twice(1, 1) - twice(3, 3), twice(2, 3) - twice(0, 1)],
        [twice(1, 3) - twice(0, 2), twice(0, 1) + twice(2, 3), 1.0 - twice(1, 1) - twice(2, 2)],
    ];
    rows.map(|row| row.map(|x: Val<'b>| x.convert(Lane::F32)))
}

fn applied<'b>(rows: &Rows<'b>, v: &[Val<'b>]) -> Vec<Val<'b>> {
    rows.iter().map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2]).collect()
}

/// The product of a rotation, a vector and the conjugated rotation.
pub(super) fn turned<'b>(rotation: &[Val<'b>], v: &[Val<'b>]) -> Vec<Val<'b>> {
    let [w, x, y, z] = [0, 1, 2, 3].map(|i| rotation[i]);
    let real = -x * v[0] - y * v[1] - z * v[2];
    let a = w * v[0] + y * v[2] - z * v[1];
    let b = w * v[1] + z * v[0] - x * v[2];
    let c = w * v[2] + x * v[1] - y * v[0];
    vec![
        real * -x + a * w - b * z + c * y,
        real * -y + b * w - c * x + a * z,
        real * -z + c * w - a * y + b * x,
    ]
}

fn rotate_vector() -> NodeDef {
    NodeDef::new("blender.rotate_vector", "Rotates a vector")
        .details("A rotation whose length is not 1 also scales by the square of its length.")
        .source("the product of the rotation, the vector and the conjugated rotation")
        .input_or("rotation", Type::QUAT, Default::Zero, "")
        .input_or("vector", Type::VEC3, 0.0, "vector to rotate")
        .output("value", Type::VEC3, "rotated vector")
        .form(|_, inputs| vec![turned(&inputs[0], &inputs[1])])
}

fn rotate_about_axis() -> NodeDef {
    NodeDef::new("blender.rotate_about_axis", "Rotates a vector about an axis")
        .details("Computed with a matrix. An axis of length 0 changes nothing.")
        .input_or("vector", Type::VEC3, 0.0, "vector to rotate")
        .input_or("axis", Type::VEC3, Vec3([0.0, 0.0, 1.0]), "axis of any length")
        .input_or("angle", Type::F32, 0.0, "angle in radians")
        .output("value", Type::VEC3, "rotated vector")
        .form(|_, x| vec![applied(&rows_of_turn(&x[1], x[2][0]), &x[0])])
}

fn rotate_by_angles() -> NodeDef {
    NodeDef::new("blender.rotate_by_angles", "Rotates a vector about x, then y, then z")
        .details("Computed with a matrix.")
        .flag("invert", false, "apply the inverse rotation")
        .input_or("vector", Type::VEC3, 0.0, "vector to rotate")
        .input_or("angles", Type::VEC3, 0.0, "angles in radians")
        .output("value", Type::VEC3, "rotated vector")
        .kernel(form_by_settings(|settings, x| {
            let invert = settings.flag("invert");
            let rows = rows_of_euler(&x[1]);
            let columns: Rows<'_> = std::array::from_fn(|r| std::array::from_fn(|c| rows[c][r]));
            vec![applied(if invert { &columns } else { &rows }, &x[0])]
        }))
}

fn invert_rotation() -> NodeDef {
    NodeDef::new("blender.invert_rotation", "The inverse of a rotation")
        .details(
            "The length of the result is the reciprocal of the length of the rotation. Zeros give \
             the identity.",
        )
        .input_or("rotation", Type::QUAT, Default::Zero, "")
        .output("value", Type::QUAT, "")
        .form(|_, inputs| {
            let q = &inputs[0];
            let squared = dot(q, q);
            let (none, scale) = (squared.eq(0.0), 1.0 / squared);
            let part = |i: usize| {
                let x = if i == 0 { q[i] } else { -q[i] };
                none.select(if i == 0 { 1.0 } else { 0.0 }, x * scale)
            };
            vec![(0..4).map(part).collect()]
        })
}

fn combine_transform() -> NodeDef {
    NodeDef::new("blender.combine_transform", "A matrix from translation, rotation and scale")
        .details(
            "Scales first, then rotates, then translates. The matrix of the rotation is computed \
             in double precision.",
        )
        .flag(
            "constant",
            false,
            "translation and rotation are known beforehand: if they change \
             nothing, the scale is not multiplied by zeros, which would turn infinity into NaN",
        )
        .input_or("translation", Type::VEC3, 0.0, "translation, applied last")
        .input_or("rotation", Type::QUAT, Default::Zero, "length 1")
        .input_or("scale", Type::VEC3, 1.0, "scale along each axis")
        .output("value", Type::MAT4, "")
        .kernel(form_by_settings(|settings, x| {
            let constant = settings.flag("constant");
            let (moved, rotation, scale) = (&x[0], &x[1], &x[2]);
            let b = moved[0].builder();
            let is_still = length(&rotation[1..]).lt(0.5e-7) & length(moved).eq(0.0);
            let is_still = if constant { is_still } else { b.constant_bool(false) };
            let rows = rows_of_quat(rotation);
            let rows: Rows<'_> = std::array::from_fn(|r| {
                std::array::from_fn(|c| {
                    let scaled = rows[r][c] * scale[c];
                    if r == c { scaled } else { is_still.select(0.0, scaled) }
                })
            });
            vec![affine(&rows, moved)]
        }))
}
