//! Rotations that align an axis with a vector.

use millstream_base::{Lane, Type, Vec3};
use millstream_form::{FormBuilder, Val};
use millstream_node::{Default, NodeDef, Registry, SocketType};
use millstream_nodes::kit::{cross, dot, form_by_settings, quat_product};

use super::rotation::{
    UPRIGHT, axis_number, axis_setting, euler_of, normalized_columns, rows_of_euler, rows_of_turn,
    rows_product,
};
use super::turn::turned;
use super::{angle, angle_of_directions, cross_in_double, is_zero, normalized};

pub(super) fn register(registry: &mut Registry) {
    registry.register(align());
    registry.register(align_euler());
}

const PIVOTS: &[(&str, &str)] = &[
    ("auto", "the shortest rotation"),
    ("x", "about the x axis of the rotation"),
    ("y", "about the y axis of the rotation"),
    ("z", "about the z axis of the rotation"),
];

/// The number of the pivot axis, if it is fixed.
fn pivot_number(name: &str) -> Option<usize> {
    if name == "auto" { None } else { Some(axis_number(name)) }
}

fn described(name: &'static str, about: &'static str, ty: Type, zero: Default) -> NodeDef {
    let def = NodeDef::new(name, about);
    axis_setting(def, "axis", "z", "axis to align with the vector")
        .choice("pivot", PIVOTS, "auto", "axis to rotate about")
        .details(
            "A vector of length 0, or a pivot equal to the axis, changes nothing. A vector \
             opposite to the axis is reached by rotating about some perpendicular axis.",
        )
        .input_or("rotation", SocketType::Exact(ty), zero, "initial rotation")
        .input_or("factor", Type::F32, 1.0, "fraction of the rotation to apply")
        .input_or("vector", Type::VEC3, Vec3([0.0, 0.0, 1.0]), "direction to align the axis with")
}

fn align() -> NodeDef {
    let about = "Rotates a rotation so that an axis points along a vector";
    described("blender.align_rotation", about, Type::QUAT, Default::Zero)
        .output("value", Type::QUAT, "aligned rotation, of the same length")
        .kernel(form_by_settings(|settings, x| {
            let axis = axis_number(settings.text("axis"));
            let pivot = pivot_number(settings.text("pivot"));
            let (rotation, vector) = (&x[0], &x[2]);
            if pivot == Some(axis) {
                return vec![rotation.clone()];
            }
            let along = |i: usize| {
                let unit = |k: usize| vector[0].like(if i == k { 1.0 } else { 0.0 });
                turned(rotation, &[unit(0), unit(1), unit(2)])
            };
            let (about, full) = turn(&along(axis), pivot.map(along), vector);
            let half = x[1][0] * full * 0.5;
            let sine = half.sin();
            let mut turn = vec![half.cos()];
            turn.extend(normalized(&about).iter().map(|x| *x * sine));
            vec![unless_zero(vector, rotation, &quat_product(&turn, rotation))]
        }))
}

fn align_euler() -> NodeDef {
    let about = "Rotates Euler angles so that an axis points along a vector";
    described("blender.align_euler", about, Type::VEC3, Default::Zero)
        .output("value", Type::VEC3, "angles in radians")
        .kernel(form_by_settings(|settings, x| {
            let axis = axis_number(settings.text("axis"));
            let pivot = pivot_number(settings.text("pivot"));
            let (angles, vector) = (&x[0], &x[2]);
            if pivot == Some(axis) {
                return vec![angles.clone()];
            }
            let rows = rows_of_euler(angles);
            let along = |i: usize| vec![rows[0][i], rows[1][i], rows[2][i]];
            let (about, full) = turn(&along(axis), pivot.map(along), vector);
            let after = rows_product(&rows_of_turn(&about, x[1][0] * full), &rows);
            vec![unless_zero(vector, angles, &euler_of(&normalized_columns(&after), UPRIGHT))]
        }))
}

fn unless_zero<'b>(vector: &[Val<'b>], old: &[Val<'b>], new: &[Val<'b>]) -> Vec<Val<'b>> {
    let none = is_zero(vector);
    old.iter().zip(new).map(|(old, new)| none.select(*old, *new)).collect()
}

/// The axis and angle of the rotation from a direction to the vector.
fn turn<'b>(
    old: &[Val<'b>],
    pivot: Option<Vec<Val<'b>>>,
    vector: &[Val<'b>],
) -> (Vec<Val<'b>>, Val<'b>) {
    match pivot {
        None => shortest_turn(old, &normalized(vector)),
        Some(pivot) => {
            let full = signed_angle(vector, old, &pivot);
            (pivot, full)
        }
    }
}

/// The axis and angle of the rotation from one direction to another.
fn shortest_turn<'b>(from: &[Val<'b>], to: &[Val<'b>]) -> (Vec<Val<'b>>, Val<'b>) {
    let b: &FormBuilder = from[0].builder();
    let unit = |i: usize| -> Vec<Val<'b>> {
        (0..3).map(|k| b.constant_f32(if i == k { 1.0 } else { 0.0 })).collect()
    };
    let or_else = |v: Vec<Val<'b>>, other: &[Val<'b>]| -> Vec<Val<'b>> {
        let none = is_zero(&v);
        v.iter().zip(other).map(|(v, other)| none.select(*other, *v)).collect()
    };
    let by_y = cross_in_double(from, &unit(1));
    let by_x = or_else(cross_in_double(from, &unit(0)), &by_y);
    (or_else(cross_in_double(from, to), &by_x), angle_of_directions(from, to))
}

/// The angle from `b` to `a` seen along an axis, above -pi and up to pi.
fn signed_angle<'b>(a: &[Val<'b>], b: &[Val<'b>], axis: &[Val<'b>]) -> Val<'b> {
    let flat = |v: &[Val<'b>]| -> Vec<Val<'b>> {
        let along = dot(v, axis);
        v.iter().zip(axis).map(|(v, axis)| *v - *axis * along).collect()
    };
    let (a, b) = (flat(a), flat(b));
    let size = angle(&a, &b);
    let turn = f64::from(std::f32::consts::TAU);
    let positive = dot(&cross(&b, &a), axis).lt(0.0).select(turn - size, size);
    // Pi in single precision is above pi. A full turn is subtracted in double precision: in single
    // precision, every angle above pi would be 1.7e-7 smaller, which shows near gimbal lock.
    let less = (positive.convert(Lane::F64) - std::f64::consts::TAU).convert(Lane::F32);
    positive.ge(std::f32::consts::PI).select(less, positive)
}
