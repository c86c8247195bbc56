//! Rotations: parts, Euler angles, axes.
//!
//! Euler angles are rotations about x, then y, then z, each about the fixed axis, in radians.

use millstream_base::{Lane, Type, Vec3};
use millstream_form::Val;
use millstream_node::{Default, NodeDef, Registry};
use millstream_nodes::kit::{dot, form_by_settings, length, quat_product};

use super::turn::{Rows, rows_of_quat};
use super::{SHORTEST_SQUARED, cross_in_double, is_zero, normalized, normalized_by_reciprocal};

pub(super) fn register(registry: &mut Registry) {
    registry.register(from_parts());
    registry.register(to_parts());
    registry.register(to_euler());
    registry.register(to_axis_angle());
    registry.register(from_axis_angle());
    registry.register(from_axes());
    registry.register(rotate_euler());
}

const PARTS: [(&str, &str); 4] = [
    ("w", "real part"),
    ("x", "imaginary part along x"),
    ("y", "imaginary part along y"),
    ("z", "imaginary part along z"),
];

fn from_parts() -> NodeDef {
    let def = NodeDef::new(
        "blender.quaternion_to_rotation",
        "A rotation from the four parts of a quaternion",
    )
    .details("Normalized to length 1; zeros give the identity.");
    PARTS
        .iter()
        .fold(def, |def, (name, about)| {
            let real = if *name == "w" { 1.0 } else { 0.0 };
            def.input_or(*name, Type::F32, real, *about)
        })
        .output("value", Type::QUAT, "length 1")
        .form(|_, x| {
            let q: Vec<Val<'_>> = x.iter().map(|x| x[0]).collect();
            let length = length(&q);
            let none = length.eq(0.0);
            let part = |i: usize| none.select(if i == 0 { 1.0 } else { 0.0 }, q[i] / length);
            vec![(0..4).map(part).collect()]
        })
}

fn to_parts() -> NodeDef {
    let def = NodeDef::new(
        "blender.rotation_to_quaternion",
        "The four parts of a rotation as a quaternion",
    )
    .input_or("rotation", Type::QUAT, Default::Zero, "length 1");
    PARTS
        .iter()
        .fold(def, |def, (name, about)| def.output(*name, Type::F32, *about))
        .form(|_, inputs| inputs[0].iter().map(|x| vec![*x]).collect())
}

fn to_euler() -> NodeDef {
    NodeDef::new("blender.rotation_to_euler", "The Euler angles of a rotation")
        .details(
            "Rotates about x, then y, then z, each about the fixed axis. Of the two equivalent \
             triples of angles, it is the one with the smaller sum of magnitudes; if y is a right \
             angle, z is 0.",
        )
        .input_or("rotation", Type::QUAT, Default::Zero, "length 1")
        .output("value", Type::VEC3, "angles in radians")
        .form(|_, inputs| vec![euler_of(&rows_of_quat(&inputs[0]), 16.0 * f32::EPSILON)])
}

/// The rotation by angles about x, then y, then z.
pub(super) fn quat_of_euler<'b>(angles: &[Val<'b>]) -> Vec<Val<'b>> {
    let zero = angles[0].like(0.0);
    let about = |axis: usize| {
        let half = angles[axis] * 0.5;
        let mut quat = vec![half.cos(), zero, zero, zero];
        quat[axis + 1] = half.sin();
        quat
    };
    quat_product(&about(2), &quat_product(&about(1), &about(0)))
}

/// The largest cosine of y at which Euler angles derived from Euler angles count as upright.
pub(super) const UPRIGHT: f32 = 3.75e-5;

/// The angles of a matrix without scale, given by rows; z is 0 if the cosine of y is at most
/// `upright`.
pub(super) fn euler_of<'b>(rows: &Rows<'b>, upright: f32) -> Vec<Val<'b>> {
    let zero = rows[0][0].like(0.0);
    let flat = rows[0][0].hypot(rows[1][0]);
    let regular = flat.gt(upright);
    let down = -rows[2][0];
    let first = [rows[2][1].atan2(rows[2][2]), down.atan2(flat), rows[1][0].atan2(rows[0][0])];
    let second =
        [(-rows[2][1]).atan2(-rows[2][2]), down.atan2(-flat), (-rows[1][0]).atan2(-rows[0][0])];
    let third = [(-rows[1][2]).atan2(rows[1][1]), down.atan2(flat), zero];
    let size = |e: &[Val<'b>; 3]| e[0].abs() + e[1].abs() + e[2].abs();
    let take_second = size(&first).gt(size(&second));
    (0..3).map(|i| regular.select(take_second.select(second[i], first[i]), third[i])).collect()
}

const TURNS: &[(&str, &str)] = &[
    ("euler", "rotate by `angles`, about x, then y, then z"),
    ("axis_angle", "rotate by `angle` about `axis`"),
];

const SPACES: &[(&str, &str)] =
    &[("object", "about the fixed axes, after the rotation"), ("local", "about the rotated axes")];

fn rotate_euler() -> NodeDef {
    NodeDef::new("blender.rotate_euler", "Rotates Euler angles further")
        .details(
            "Computed with matrices, which stays accurate if y is near a right angle. An axis of \
             length 0 changes nothing.",
        )
        .choice("by", TURNS, "euler", "inputs that define the rotation")
        .choice("space", SPACES, "object", "axes of the rotation")
        .input_or("rotation", Type::VEC3, 0.0, "angles in radians")
        .input_or("angles", Type::VEC3, 0.0, "angles in radians")
        .input_or("axis", Type::VEC3, Vec3([0.0, 0.0, 1.0]), "axis of any length")
        .input_or("angle", Type::F32, 0.0, "angle in radians")
        .output("value", Type::VEC3, "angles in radians")
        .kernel(form_by_settings(|settings, x| {
            let by_axis = settings.text("by") == "axis_angle";
            let is_local = settings.text("space") == "local";
            let first = rows_of_euler(&x[0]);
            let then = if by_axis { rows_of_turn(&x[2], x[3][0]) } else { rows_of_euler(&x[1]) };
            let (a, b) = if is_local { (first, then) } else { (then, first) };
            vec![euler_of(&normalized_columns(&rows_product(&a, &b)), UPRIGHT)]
        }))
}

pub(super) fn rows_product<'b>(a: &Rows<'b>, b: &Rows<'b>) -> Rows<'b> {
    std::array::from_fn(|r| {
        std::array::from_fn(|c| a[r][0] * b[0][c] + a[r][1] * b[1][c] + a[r][2] * b[2][c])
    })
}

/// The matrix with columns of length 1.
pub(super) fn normalized_columns<'b>(rows: &Rows<'b>) -> Rows<'b> {
    let columns =
        [0, 1, 2].map(|c| normalized_by_reciprocal(&[rows[0][c], rows[1][c], rows[2][c]]));
    std::array::from_fn(|r| std::array::from_fn(|c| columns[c][r]))
}

/// The matrix of angles about x, then y, then z; computed in double precision.
pub(super) fn rows_of_euler<'b>(angles: &[Val<'b>]) -> Rows<'b> {
    let wide: Vec<Val<'b>> = angles.iter().map(|x| x.convert(Lane::F64)).collect();
    let [(sx, cx), (sy, cy), (sz, cz)] = [0, 1, 2].map(|i| (wide[i].sin(), wide[i].cos()));
    let rows = [
        [cy * cz, sy * sx * cz - cx * sz, sy * cx * cz + sx * sz],
        [cy * sz, sy * sx * sz + cx * cz, sy * cx * sz - sx * cz],
        [-sy, cy * sx, cy * cx],
    ];
    rows.map(|row| row.map(|x| x.convert(Lane::F32)))
}

/// The matrix of a rotation about an axis.
pub(super) fn rows_of_turn<'b>(axis: &[Val<'b>], angle: Val<'b>) -> Rows<'b> {
    // A length whose square overflows gives an axis of zeros, which still rotates.
    let none = !dot(axis, axis).gt(SHORTEST_SQUARED);
    let axis = normalized_by_reciprocal(axis);
    let (sine, cosine) = (angle.sin(), angle.cos());
    let rest: Val<'b> = 1.0 - cosine;
    std::array::from_fn(|r| {
        std::array::from_fn(|c| {
            let both = axis[r] * axis[c] * rest;
            let (turned, still) = match (c + 3 - r) % 3 {
                0 => (both + cosine, 1.0),
                1 => (both - axis[3 - r - c] * sine, 0.0),
                _ => (both + axis[3 - r - c] * sine, 0.0),
            };
            none.select(still, turned)
        })
    })
}

fn from_axis_angle() -> NodeDef {
    NodeDef::new("blender.axis_angle_to_rotation", "The rotation about an axis")
        .details(
            "An axis of length 0 gives the identity. If the squared length of the axis \
             is at most 1e-35 or NaN, only the real part remains.",
        )
        .input_or("axis", Type::VEC3, Vec3([0.0, 0.0, 1.0]), "axis of any length")
        .input_or("angle", Type::F32, 0.0, "angle in radians")
        .output("value", Type::QUAT, "")
        .form(|_, inputs| {
            let half = inputs[1][0] * 0.5;
            let mut quat = vec![is_zero(&inputs[0]).select(1.0, half.cos())];
            quat.extend(normalized(&inputs[0]).iter().map(|x| *x * half.sin()));
            vec![quat]
        })
}

fn to_axis_angle() -> NodeDef {
    NodeDef::new("blender.rotation_to_axis_angle", "The axis and angle of a rotation")
        .details(
            "If the sine of half the angle is below 0.0005, the angle is 0 and the axis is y, \
             or -y if the real part is negative, or zero if that is zero.",
        )
        .input_or("rotation", Type::QUAT, Default::Zero, "length 1")
        .output("axis", Type::VEC3, "length 1")
        .output("angle", Type::F32, "angle in radians")
        .form(|_, inputs| {
            let q = &inputs[0];
            let sine = length(&q[1..]);
            let none = sine.lt(0.0005);
            let up: Val<'_> = q[0].gt(0.0).select(q[0].like(1.0), 0.0);
            let back: Val<'_> = q[0].lt(0.0).select(q[0].like(-1.0), up);
            let axis =
                |i: usize| none.select(if i == 1 { back } else { back * 0.0 }, q[i + 1] / sine);
            let angle = none.select(0.0, sine.atan2(q[0]) * 2.0);
            vec![(0..3).map(axis).collect(), vec![angle]]
        })
}

/// The quaternion of a matrix without scale, given by rows.
fn quat_of<'b>(rows: &Rows<'b>) -> Vec<Val<'b>> {
    let m = |row: usize, column: usize| rows[row][column];
    let one = rows[0][0].like(1.0);
    // The case that component `at` is the greatest; `sign` makes the real part positive.
    let by_axis = |x: usize, y: usize, z: usize| {
        let (skew, trace) = (m(z, y) - m(y, z), one + m(x, x) - m(y, y) - m(z, z));
        let root = trace.sqrt() * 2.0;
        let s = skew.lt(0.0).select(-root, root);
        let inverse = 1.0 / s;
        let mut q = [one; 4];
        q[0] = skew * inverse;
        q[1 + x] = s * 0.25;
        q[1 + y] = (m(y, x) + m(x, y)) * inverse;
        q[1 + z] = (m(x, z) + m(z, x)) * inverse;
        q
    };
    let by_real = {
        let s = (one + m(0, 0) + m(1, 1) + m(2, 2)).sqrt() * 2.0;
        let inverse = 1.0 / s;
        let skew = |z: usize, y: usize| (m(z, y) - m(y, z)) * inverse;
        [s * 0.25, skew(2, 1), skew(0, 2), skew(1, 0)]
    };
    let (x, y, z) = (by_axis(0, 1, 2), by_axis(1, 2, 0), by_axis(2, 0, 1));
    let below = m(2, 2).lt(0.0);
    let x_is_greatest = m(0, 0).gt(m(1, 1));
    let z_is_greatest = m(0, 0).lt(-m(1, 1));
    let part = |i: usize| {
        below.select(x_is_greatest.select(x[i], y[i]), z_is_greatest.select(z[i], by_real[i]))
    };
    (0..4).map(part).collect()
}

const AXES: &[(&str, &str)] = &[("x", "the x axis"), ("y", "the y axis"), ("z", "the z axis")];
pub(super) fn axis_number(name: &str) -> usize {
    AXES.iter().position(|(axis, _)| *axis == name).unwrap_or(0)
}

pub(super) fn axis_setting(
    def: NodeDef,
    name: &'static str,
    default: &'static str,
    about: &'static str,
) -> NodeDef {
    def.choice(name, AXES, default, about)
}

fn from_axes() -> NodeDef {
    let def =
        NodeDef::new("blender.axes_to_rotation", "A rotation from the directions of two axes");
    let def = axis_setting(def, "primary_axis", "z", "axis that points along `primary`");
    axis_setting(def, "secondary_axis", "x", "axis that points approximately along `secondary`")
        .details(
            "Vectors that are parallel, or whose squared length is 0 or NaN, are replaced by some \
             perpendicular one. The axes must differ.",
        )
        .input_or("primary", Type::VEC3, Vec3([0.0, 0.0, 1.0]), "direction of the primary axis")
        .input_or(
            "secondary",
            Type::VEC3,
            Vec3([1.0, 0.0, 0.0]),
            "approximate direction of the secondary axis",
        )
        .output("value", Type::QUAT, "length 1")
        .kernel(form_by_settings(|settings, inputs| {
            let first = axis_number(settings.text("primary_axis"));
            let second = axis_number(settings.text("secondary_axis"));
            vec![rotation_of_axes(first, second, &inputs[0], &inputs[1])]
        }))
}

fn rotation_of_axes<'b>(
    first: usize,
    second: usize,
    primary: &[Val<'b>],
    secondary: &[Val<'b>],
) -> Vec<Val<'b>> {
    let zero = primary[0].like(0.0);
    if first == second {
        return vec![zero.like(1.0), zero, zero, zero];
    }
    let pick = |when: Val<'b>, a: &[Val<'b>], b: &[Val<'b>]| -> Vec<Val<'b>> {
        a.iter().zip(b).map(|(a, b)| when.select(*a, *b)).collect()
    };
    let no_secondary = is_zero(secondary);
    let (primary, secondary) = (normalized(primary), normalized(secondary));
    let no_primary = is_zero(&primary);
    // A missing vector is replaced by one that is perpendicular to the other.
    let p = pick(no_primary, &normalized(&perpendicular(&secondary)), &primary);
    let s = pick(no_secondary, &normalized(&perpendicular(&primary)), &secondary);
    let side = cross_in_double(&p, &s);
    let side = normalized(&pick(is_zero(&side), &perpendicular(&p), &side));
    let s = cross_in_double(&side, &p);
    let third = 3 - first - second;
    let turns = (first + 1) % 3 == second;
    let mut columns = vec![p.clone(); 3];
    columns[second] = s;
    columns[third] = side.iter().map(|x| if turns { *x } else { -*x }).collect();
    let rows: [[Val<'b>; 3]; 3] =
        std::array::from_fn(|row| std::array::from_fn(|column| columns[column][row]));
    let q = quat_of(&rows);
    let nothing = no_primary & is_zero(&secondary);
    (0..4).map(|i| nothing.select(if i == 0 { 1.0 } else { 0.0 }, q[i])).collect()
}

/// A vector perpendicular to a vector that is not zero.
fn perpendicular<'b>(v: &[Val<'b>]) -> Vec<Val<'b>> {
    let zero = v[0].like(0.0);
    let in_xy = [-v[1], v[0], zero];
    let in_xz = [-v[2], zero, v[0]];
    let in_yz = [zero, -v[2], v[1]];
    let (use_xy, use_xz) = (v[0].ne(-v[1]), v[0].ne(-v[2]));
    (0..3).map(|i| use_xy.select(in_xy[i], use_xz.select(in_xz[i], in_yz[i]))).collect()
}
