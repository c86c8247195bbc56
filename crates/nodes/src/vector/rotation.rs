//! Conversions of rotations: angles about axes, matrices, directions.

use millstream_base::{Type, Vec3};
use millstream_form::Val;
use millstream_node::{Default, NodeDef, Registry, Settings};

use super::quat::product;
use super::{Direction, cross, dot, each, length, moderate, normalized, scaled};
use crate::shape::form_by_settings;

pub(super) fn register(registry: &mut Registry) {
    registry.register(to_axis_angle());
    registry.register(to_euler());
    registry.register(from_mat4());
    registry.register(between());
    registry.register(look_at());
    registry.register(angle_between());
    registry.register(scale_angle());
    registry.register(nlerp());
    registry.register(swing_twist());
    registry.register(invert());
    registry.register(combine());
    registry.register(separate());
    registry.register(decompose());
    registry.register(from_vector());
    registry.register(to_vector());
}

/// The choices of a setting for the order in which angles about the axes are applied.
pub(super) const ORDERS: &[(&str, &str)] = &[
    ("xyz", "first about x, then about y, then about z"),
    ("xzy", "first about x, then about z, then about y"),
    ("yxz", "first about y, then about x, then about z"),
    ("yzx", "first about y, then about z, then about x"),
    ("zxy", "first about z, then about x, then about y"),
    ("zyx", "first about z, then about y, then about x"),
];

/// The axes of an order, first to last.
pub(super) fn axes(order: &str) -> [usize; 3] {
    let at = |letter: u8| usize::from(letter - b'x');
    match *order.as_bytes() {
        [a, b, c] if ORDERS.iter().any(|(name, _)| *name == order) => [at(a), at(b), at(c)],
        _ => [0, 1, 2],
    }
}

/// Adds the setting.
pub(super) fn ordered(def: NodeDef) -> NodeDef {
    def.choice("order", ORDERS, "xyz", "order of the axes")
}

fn quat_input(def: NodeDef, name: &'static str, about: &'static str) -> NodeDef {
    def.input_or(name, Type::QUAT, Default::Zero, about)
}

/// `q` or `-q`, which are the same rotation, whichever has a real part that is not negative.
fn upper<'b>(q: &[Val<'b>]) -> Vec<Val<'b>> {
    let lower = q[0].lt(0.0);
    q.iter().map(|x| lower.select(-*x, *x)).collect()
}

fn to_axis_angle() -> NodeDef {
    let def = NodeDef::new("quat.to_axis_angle", "The axis and angle of a rotation").details(
        "The angle is from 0 to pi; the axis is oriented accordingly. For the identity \
             rotation the axis is z. The length of the quaternion does not matter.",
    );
    quat_input(def, "quat", "")
        .output("axis", Type::VEC3, "length 1")
        .output("angle", Type::F32, "angle in radians")
        .form(|_, inputs| {
            let q = upper(&inputs[0]);
            let (axis, factor) = moderate(&q[1..]);
            let sine = length(&axis);
            let none = sine.eq(0.0);
            let of_none = [0.0, 0.0, 1.0];
            let unit = axis.iter().zip(of_none).map(|(x, z)| none.select(x.like(z), *x / sine));
            vec![unit.collect(), vec![sine.atan2(q[0] * factor) * 2.0]]
        })
}

/// The angles about the axes of an order, for the rotation by a quaternion of length 1.
///
/// The first angle is the difference and the third the sum of the directions of (a, b) and (c, d),
/// computed by products as of complex numbers. A matrix is not used: if the second angle is near a
/// quarter turn, its elements are only rounding errors.
fn angles<'b>(q: &[Val<'b>], [i, j, k]: [usize; 3]) -> Vec<Val<'b>> {
    let even = (j + 3 - i) % 3 == 1;
    let [w, x, y] = [q[0], q[1 + i], q[1 + j]];
    let z = if even { q[1 + k] } else { -q[1 + k] };
    let (a, b, c, d) = (w - y, x + z, w + y, z - x);
    let first = [b * c - a * d, a * c + b * d];
    let third = [if even { b * c + a * d } else { -(a * d) - b * c }, a * c - b * d];
    let flat = first[0].hypot(first[1]);
    // At a quarter turn, within precision, only the sum or difference of the other angles matters.
    let locked = flat.lt(3e-7);
    let only = [(w * x - y * z) * 2.0, w * w + y * y - (x * x + z * z)];
    let mut angles = vec![locked.select(only[0].atan2(only[1]), first[0].atan2(first[1])); 3];
    angles[j] = ((w * y - x * z) * 2.0).atan2(locked.select(0.0, flat));
    angles[k] = locked.select(0.0, third[0].atan2(third[1]));
    angles
}

fn to_euler() -> NodeDef {
    let def = NodeDef::new("quat.to_euler", "The Euler angles of a rotation")
        .converts()
        .details(
            "The angles are about fixed axes, as in `quat.from_euler`. The angle about the second \
             axis is from -pi/2 to pi/2, the others are from -pi to pi; at gimbal lock, where the \
             second is at an end of its range, the last angle is 0. The quaternion must have \
             length 1.",
        )
        .source("E. Bernardes and S. Viollet, Quaternion to Euler angles conversion, 2022");
    quat_input(ordered(def), "quat", "length 1")
        .output("value", Type::VEC3, "angles about x, y and z in radians")
        .kernel(form_by_settings(|settings, inputs| {
            let axes = axes(settings.text("order"));
            vec![angles(&inputs[0], axes)]
        }))
}

/// The quaternion of length 1 of a rotation matrix with these rows.
fn of_rows<'b>(m: &[[Val<'b>; 3]; 3]) -> Vec<Val<'b>> {
    let [x, y, z] = [m[0][0], m[1][1], m[2][2]];
    let differences = [m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1]];
    let sums = [m[1][2] + m[2][1], m[0][2] + m[2][0], m[0][1] + m[1][0]];
    // The quaternion times four times one of its components; the largest component gives the best
    // accuracy.
    let of_real = vec![x + y + z + 1.0, differences[0], differences[1], differences[2]];
    let of_x = vec![differences[0], x - y - z + 1.0, sums[2], sums[1]];
    let of_y = vec![differences[1], sums[2], y - x - z + 1.0, sums[0]];
    let of_z = vec![differences[2], sums[1], sums[0], z - x - y + 1.0];
    let choose = |holds: Val<'b>, a: &[Val<'b>], b: &[Val<'b>]| -> Vec<Val<'b>> {
        each(a, b, |a, b| holds.select(a, b))
    };
    let of_axis = choose(x.ge(y).and(x.ge(z)), &of_x, &choose(y.ge(z), &of_y, &of_z));
    let real = (x + y + z).gt(x.max(y).max(z));
    upper(&normalized(&choose(real, &of_real, &of_axis)))
}

/// Rotation and scale of the upper left part of a matrix.
fn rotation_and_scale<'b>(m: &[Val<'b>]) -> (Vec<Val<'b>>, Vec<Val<'b>>) {
    let column = |i: usize| vec![m[i], m[4 + i], m[8 + i]];
    let columns = [column(0), column(1), column(2)];
    let mirrored = dot(&cross(&columns[0], &columns[1]), &columns[2]).lt(0.0);
    let scale: Vec<Val<'b>> = columns
        .iter()
        .map(|column| length(column))
        .map(|length| mirrored.select(-length, length))
        .collect();
    let rows = [0, 1, 2]
        .map(|row| [0, 1, 2].map(|i| scale[i].eq(0.0).select(0.0, columns[i][row] / scale[i])));
    let lost = scale.iter().map(|x| x.eq(0.0)).reduce(|a, b| a.or(b)).expect("three axes");
    let none = [1.0, 0.0, 0.0, 0.0];
    let quat = of_rows(&rows);
    let quat = quat.iter().zip(none).map(|(x, none)| lost.select(x.like(none), *x)).collect();
    (quat, scale)
}

const SHEARED: &str = "If the matrix scales an axis to 0, the rotation is the identity; if it \
    shears, the result is only approximate.";

fn from_mat4() -> NodeDef {
    NodeDef::new("quat.from_mat4", "The rotation of a matrix as a quaternion")
        .converts()
        .details(format!(
            "Translation and scale are ignored. {SHEARED} The error of each component is at most \
             1e-6 if the matrix is a pure rotation."
        ))
        .source("S. W. Shepperd, Quaternion from Rotation Matrix, 1978")
        .input_or("matrix", Type::MAT4, Default::Zero, "")
        .output("value", Type::QUAT, "length 1")
        .form(|_, inputs| vec![rotation_and_scale(&inputs[0]).0])
}

fn decompose() -> NodeDef {
    NodeDef::new("mat4.decompose", "Decomposes a matrix into translation, rotation and scale")
        .details(format!(
            "`mat4.compose` is the inverse. A matrix that mirrors has negative scales for all \
             axes. {SHEARED}"
        ))
        .source("S. W. Shepperd, Quaternion from Rotation Matrix, 1978")
        .input_or("matrix", Type::MAT4, Default::Zero, "")
        .output("offset", Type::VEC3, "translation")
        .output("quat", Type::QUAT, "length 1")
        .output("factors", Type::VEC3, "scale along each axis")
        .form(|_, inputs| {
            let m = &inputs[0];
            let (quat, scale) = rotation_and_scale(m);
            vec![vec![m[3], m[7], m[11]], quat, scale]
        })
}

/// A unit vector perpendicular to a unit vector.
pub(super) fn sideways<'b>(v: &[Val<'b>]) -> Vec<Val<'b>> {
    // The cross product with the axis that is farthest from it.
    let [x, y, z] = [v[0].abs(), v[1].abs(), v[2].abs()];
    let zero = x.like(0.0);
    let of_x = [zero, v[2], -v[1]];
    let of_y = [-v[2], zero, v[0]];
    let of_z = [v[1], -v[0], zero];
    let others = each(&of_y, &of_z, |a, b| y.le(z).select(a, b));
    let least = x.le(y).and(x.le(z));
    normalized(&each(&of_x, &others, |a, b| least.select(a, b)))
}

/// The component of a vector perpendicular to a direction, scaled to length 1.
fn upright<'b>(v: &[Val<'b>], direction: &[Val<'b>]) -> Vec<Val<'b>> {
    let part = dot(v, direction);
    normalized(&each(v, direction, |v, along| v - part * along))
}

fn between() -> NodeDef {
    NodeDef::new("quat.between", "The shortest rotation from one direction to another")
        .details(
            "Between opposite directions it is half a turn about some perpendicular axis. If a \
             vector has length 0, it is the identity rotation.",
        )
        .input_or("from", Type::VEC3, Vec3([1.0, 0.0, 0.0]), "direction of any length")
        .input_or("to", Type::VEC3, Vec3([1.0, 0.0, 0.0]), "direction of any length")
        .output("value", Type::QUAT, "length 1")
        .form(|_, inputs| {
            let (from, to) = (Direction::of(&inputs[0]), Direction::of(&inputs[1]));
            let none = from.is_none.or(to.is_none);
            let (a, b) = (from.unit, to.unit);
            let middle: Vec<Val<'_>> = each(&a, &b, |a, b| a + b);
            let half = normalized(&middle);
            let mut turn = vec![dot(&a, &half)];
            turn.extend(cross(&a, &half));
            // The midpoint of nearly opposite directions consists of rounding errors. Two
            // reflections map one direction to the other regardless: first along their difference,
            // then along a perpendicular of the second.
            let along = normalized(&each(&a, &b, |a, b| a - b));
            let side = upright(&upright(&middle, &b), &b);
            let is_lost = length(&middle).lt(1e-6).or(length(&side).lt(0.5));
            let side = each(&sideways(&b), &side, |a, b| is_lost.select(a, b));
            let cosine = -dot(&side, &along);
            let away = cosine.lt(0.0);
            let mut far: Vec<Val<'_>> = vec![cosine];
            far.extend(cross(&side, &along));
            let far: Vec<Val<'_>> = far.iter().map(|x| away.select(-*x, *x)).collect();
            let is_far = dot(&a, &b).lt(-0.9);
            let chosen = each(&far, &turn, |a, b| is_far.select(a, b));
            let chosen = normalized(&chosen);
            let identity = [1.0, 0.0, 0.0, 0.0];
            vec![chosen.iter().zip(identity).map(|(x, i)| none.select(x.like(i), *x)).collect()]
        })
}

const DIRECTIONS: &[(&str, &str)] = &[
    ("x", "along the x axis"),
    ("y", "along the y axis"),
    ("z", "along the z axis"),
    ("-x", "along the negative x axis"),
    ("-y", "along the negative y axis"),
    ("-z", "along the negative z axis"),
];

/// The axis and sign of a direction.
fn signed_axis(settings: &Settings, name: &str) -> (usize, f64) {
    let text = settings.text(name);
    let at = DIRECTIONS.iter().position(|(direction, _)| *direction == text).unwrap_or(0);
    (at % 3, if at < 3 { 1.0 } else { -1.0 })
}

fn look_at() -> NodeDef {
    NodeDef::new("quat.look_at", "The rotation that points an axis along a direction")
        .details(
            "Rotates the axis `forward` to the direction, and the axis `upward` as close to `up` \
             as possible. If `up` is parallel to the direction, or 0, another direction is used; \
             if the direction is 0, the result is the identity. For cameras that look along -z, \
             set `forward` to `-z`. If both axes are the same, the next one (x after z) is used as \
             the upward axis.",
        )
        .choice("forward", DIRECTIONS, "z", "axis that points along the direction")
        .choice("upward", DIRECTIONS, "y", "axis that points toward `up`")
        .input_or("direction", Type::VEC3, Vec3([0.0, 0.0, 1.0]), "direction of any length")
        .input_or("up", Type::VEC3, Vec3([0.0, 1.0, 0.0]), "upward direction of any length")
        .output("value", Type::QUAT, "length 1")
        .kernel(form_by_settings(|settings, inputs| {
            let forward = signed_axis(settings, "forward");
            let upward = match signed_axis(settings, "upward") {
                (axis, _) if axis == forward.0 => ((axis + 1) % 3, 1.0),
                upward => upward,
            };
            vec![looking(&inputs[0], &inputs[1], forward, upward)]
        }))
}

fn looking<'b>(
    direction: &[Val<'b>],
    up: &[Val<'b>],
    forward: (usize, f64),
    upward: (usize, f64),
) -> Vec<Val<'b>> {
    let Direction { unit: f, is_none: none } = Direction::of(direction);
    let up = Direction::of(up).unit;
    let share = dot(&up, &f);
    let across = each(&up, &f, |u, f| u - f * share);
    let parallel = length(&across).lt(1e-6);
    let u = each(&sideways(&f), &normalized(&across), |a, b| parallel.select(a, b));
    let side = cross(&f, &u);
    let third = 3 - forward.0 - upward.0;
    let turn = if (upward.0 + 3 - forward.0) % 3 == 1 { 1.0 } else { -1.0 };
    let mut rows = [[f[0]; 3]; 3];
    for (row, to) in rows.iter_mut().enumerate() {
        to[forward.0] = f[row] * forward.1;
        to[upward.0] = u[row] * upward.1;
        to[third] = side[row] * (turn * forward.1 * upward.1);
    }
    let identity = [1.0, 0.0, 0.0, 0.0];
    of_rows(&rows).iter().zip(identity).map(|(x, i)| none.select(x.like(i), *x)).collect()
}

fn angle_between() -> NodeDef {
    let def = NodeDef::new("quat.angle", "The angle between two rotations").details(
        "The angle of the shortest rotation from one to the other, from 0 to pi. Both quaternions \
         must have length 1. The error is at most 1e-6.",
    );
    quat_input(quat_input(def, "a", "length 1"), "b", "length 1")
        .output("value", Type::F32, "angle in radians")
        .form(|_, inputs| {
            let (a, b) = (&inputs[0], &inputs[1]);
            let conjugate = [a[0], -a[1], -a[2], -a[3]];
            let way = product(b, &conjugate);
            vec![vec![length(&way[1..]).atan2(way[0].abs()) * 2.0]]
        })
}

fn scale_angle() -> NodeDef {
    let def = NodeDef::new("quat.scale_angle", "Scales the angle of a rotation").details(
        "The axis does not change, and the angle (0 to pi) is multiplied by the factor: 0.5 is \
         half of the rotation, -1 its inverse. The quaternion must have length 1.",
    );
    quat_input(def, "quat", "length 1")
        .input_or("factor", Type::F32, 1.0, "factor of the angle")
        .output("value", Type::QUAT, "length 1")
        .form(|_, inputs| {
            let q = upper(&inputs[0]);
            let half = length(&q[1..]).atan2(q[0]) * inputs[1][0];
            let mut turned = vec![half.cos()];
            turned.extend(scaled(&normalized(&q[1..]), half.sin()));
            vec![turned]
        })
}

fn nlerp() -> NodeDef {
    let def = NodeDef::new("quat.nlerp", "Interpolates between two rotations by linear mixing").details(
        "Follows the same arc as `quat.slerp`, but faster in the middle than at the ends, and is \
         cheaper. It jumps between rotations that are half a turn apart.",
    );
    quat_input(quat_input(def, "a", "rotation at factor 0"), "b", "rotation at factor 1")
        .input_or("factor", Type::F32, 0.5, "0 to 1")
        .output("value", Type::QUAT, "length 1")
        .form(|_, inputs| {
            let (a, b, factor) = (&inputs[0], &inputs[1], inputs[2][0]);
            let other_side = dot(a, b).lt(0.0);
            let mixed = each(a, b, |a, b| crate::mix::mix(a, other_side.select(-b, b), factor));
            vec![normalized(&mixed)]
        })
}

fn swing_twist() -> NodeDef {
    let def = NodeDef::new("quat.swing_twist", "Splits a rotation into swing and twist")
        .details(
            "The product of swing and twist is the rotation: first the twist about the axis, then \
             the swing, which rotates the axis along the shortest arc. If the axis is rotated to \
             its opposite, or has length 0, the twist is the identity. The quaternion must have \
             length 1.",
        )
        .source("P. Dobrowolski, Swing-twist decomposition in Clifford algebra, 2015");
    quat_input(def, "quat", "length 1")
        .input_or("axis", Type::VEC3, Vec3([0.0, 0.0, 1.0]), "axis of any length")
        .output("swing", Type::QUAT, "rotation about a perpendicular axis")
        .output("twist", Type::QUAT, "rotation about the axis")
        .form(|_, inputs| {
            let q = &inputs[0];
            let Direction { unit: axis, is_none } = Direction::of(&inputs[1]);
            let mut along = vec![q[0]];
            along.extend(scaled(&axis, dot(&q[1..], &axis)));
            let none = length(&along).lt(1e-6).or(is_none);
            let identity = [1.0, 0.0, 0.0, 0.0];
            let twist: Vec<Val<'_>> = normalized(&along)
                .iter()
                .zip(identity)
                .map(|(x, i)| none.select(x.like(i), *x))
                .collect();
            let back = [twist[0], -twist[1], -twist[2], -twist[3]];
            vec![product(q, &back), twist]
        })
}

fn invert() -> NodeDef {
    let def = NodeDef::new("quat.invert", "The inverse of a quaternion").details(
        "The conjugate divided by the squared length, so the product of both is 1. For length \
             1, `quat.conjugate` is the same and cheaper. Zeros for a quaternion of length 0.",
    );
    quat_input(def, "quat", "").output("value", Type::QUAT, "").form(|_, inputs| {
        let q = &inputs[0];
        let squared = dot(q, q);
        let none = squared.eq(0.0);
        let conjugate = [q[0], -q[1], -q[2], -q[3]];
        vec![conjugate.iter().map(|x| none.select(0.0, *x / squared)).collect()]
    })
}

const PARTS: [(&str, &str); 4] = [
    ("w", "real part"),
    ("x", "imaginary part along x"),
    ("y", "imaginary part along y"),
    ("z", "imaginary part along z"),
];

fn combine() -> NodeDef {
    let def = NodeDef::new("quat.combine", "A quaternion from its parts")
        .details("The parts are not normalized; `quat.normalize` makes a rotation of them.");
    PARTS
        .iter()
        .fold(def, |def, (name, about)| {
            def.input_or(*name, Type::F32, if *name == "w" { 1.0 } else { 0.0 }, *about)
        })
        .output("value", Type::QUAT, "")
        .form(|_, inputs| vec![inputs.iter().map(|x| x[0]).collect()])
}

fn separate() -> NodeDef {
    let def = quat_input(NodeDef::new("quat.separate", "The parts of a quaternion"), "quat", "");
    PARTS
        .iter()
        .fold(def, |def, (name, about)| def.output(*name, Type::F32, *about))
        .form(|_, inputs| inputs[0].iter().map(|x| vec![*x]).collect())
}

fn from_vector() -> NodeDef {
    NodeDef::new("quat.from_vector", "The rotation of a rotation vector")
        .details(
            "The exponential of half the vector; `quat.to_vector` is the inverse. Angular \
             velocities are vectors of this kind.",
        )
        .input_or("vector", Type::VEC3, 0.0, "axis whose length is the angle in radians")
        .output("value", Type::QUAT, "length 1")
        .form(|_, inputs| {
            let half = length(&inputs[0]) * 0.5;
            let mut quat = vec![half.cos()];
            quat.extend(scaled(&normalized(&inputs[0]), half.sin()));
            vec![quat]
        })
}

fn to_vector() -> NodeDef {
    let def = NodeDef::new("quat.to_vector", "The rotation vector of a rotation").details(
        "Twice the logarithm of the quaternion, with an angle from 0 to pi. The length of the \
         quaternion does not matter.",
    );
    quat_input(def, "quat", "")
        .output("value", Type::VEC3, "axis whose length is the angle in radians")
        .form(|_, inputs| {
            let q = upper(&inputs[0]);
            let (axis, factor) = moderate(&q[1..]);
            let angle = length(&axis).atan2(q[0] * factor) * 2.0;
            vec![scaled(&normalized(&axis), angle)]
        })
}
