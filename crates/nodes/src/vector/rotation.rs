//! Rotations from and to other descriptions: angles about axes, matrices, directions.

use millstream_base::{Type, Vec3};
use millstream_form::Val;
use millstream_node::{Default, NodeDef, Registry, SettingKind, SettingValue, Settings};

use super::quat::product;
use super::{Direction, cross, dot, each, form_kernel, length, moderate, normalized, scaled};

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

/// The choices of a setting that says in which order angles about the axes are applied.
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
    let default = Some(SettingValue::Text("xyz".into()));
    def.setting("order", SettingKind::Choice(ORDERS), default, "about which axis first")
}

fn quat_input(def: NodeDef, name: &'static str, about: &'static str) -> NodeDef {
    def.input(name, Type::QUAT, about).or(Default::Zero)
}

/// Of a quaternion and its opposite, which are the same rotation, the one whose real part is not
/// negative.
fn upper<'b>(q: &[Val<'b>]) -> Vec<Val<'b>> {
    let lower = q[0].lt(0.0);
    q.iter().map(|x| lower.select(-*x, *x)).collect()
}

fn to_axis_angle() -> NodeDef {
    let def = NodeDef::new("quat.to_axis_angle", "The axis of a rotation, and how far it turns")
        .details(
            "The angle is from 0 to pi, about the axis or its opposite. Where nothing is turned the \
             axis is z. The length of the quaternion does not matter.",
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

/// The angles about the axes of an order, of the rotation by a quaternion of length 1.
///
/// The first angle is the difference, the third the sum of the directions of (a, b) and (c, d), taken
/// by products as of complex numbers. No matrix: of its entries nothing but rounding errors is left
/// where the second angle is near a quarter turn.
fn angles<'b>(q: &[Val<'b>], [i, j, k]: [usize; 3]) -> Vec<Val<'b>> {
    let even = (j + 3 - i) % 3 == 1;
    let [w, x, y] = [q[0], q[1 + i], q[1 + j]];
    let z = if even { q[1 + k] } else { -q[1 + k] };
    let (a, b, c, d) = (w - y, x + z, w + y, z - x);
    let first = [b * c - a * d, a * c + b * d];
    let third = [if even { b * c + a * d } else { -(a * d) - b * c }, a * c - b * d];
    let flat = first[0].hypot(first[1]);
    // At a quarter turn, as far as numbers tell, only the sum or difference of the others matters.
    let locked = flat.lt(3e-7);
    let only = [(w * x - y * z) * 2.0, w * w + y * y - (x * x + z * z)];
    let mut angles = vec![locked.select(only[0].atan2(only[1]), first[0].atan2(first[1])); 3];
    angles[j] = ((w * y - x * z) * 2.0).atan2(locked.select(0.0, flat));
    angles[k] = locked.select(0.0, third[0].atan2(third[1]));
    angles
}

fn to_euler() -> NodeDef {
    let def = NodeDef::new("quat.to_euler", "The three angles of a rotation")
        .converts()
        .details(
            "About fixed axes, as `quat.from_euler` takes them. The angle about the second axis is from \
             -pi/2 to pi/2, the others from -pi to pi; where the second is at an end the last is 0. \
             The quaternion must have length 1.",
        )
        .source("E. Bernardes and S. Viollet, Quaternion to Euler angles conversion, 2022");
    quat_input(ordered(def), "quat", "length 1")
        .output("value", Type::VEC3, "angles about x, y and z in radians")
        .kernel(|parts| {
            let axes = axes(parts.settings.text("order"));
            Ok(form_kernel(parts, |inputs| vec![angles(&inputs[0], axes)]))
        })
}

/// The quaternion of a rotation with these rows, of length 1.
fn of_rows<'b>(m: &[[Val<'b>; 3]; 3]) -> Vec<Val<'b>> {
    let [x, y, z] = [m[0][0], m[1][1], m[2][2]];
    let differences = [m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1]];
    let sums = [m[1][2] + m[2][1], m[0][2] + m[2][0], m[0][1] + m[1][0]];
    // Four times one component times the quaternion; the largest component is the accurate one.
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

const SHEARED: &str = "Where the matrix scales an axis to 0 the rotation is the one that changes nothing; \
                       where it shears the result is no more than near.";

fn from_mat4() -> NodeDef {
    NodeDef::new("quat.from_mat4", "The rotation of a matrix")
        .converts()
        .details(format!("Without what the matrix moves and scales. {SHEARED} Off by at most 1e-6 in each component where the matrix only turns."))
        .source("S. W. Shepperd, Quaternion from Rotation Matrix, 1978")
        .input("matrix", Type::MAT4, "")
        .or(Default::Zero)
        .output("value", Type::QUAT, "length 1")
        .form(|_, inputs| vec![rotation_and_scale(&inputs[0]).0])
}

fn decompose() -> NodeDef {
    NodeDef::new("mat4.decompose", "Location, rotation and scale of a matrix")
        .details(format!(
            "`mat4.compose` puts them together. A mirror scales all axes negatively. {SHEARED}"
        ))
        .source("S. W. Shepperd, Quaternion from Rotation Matrix, 1978")
        .input("matrix", Type::MAT4, "")
        .or(Default::Zero)
        .output("offset", Type::VEC3, "where the origin goes")
        .output("quat", Type::QUAT, "length 1")
        .output("factors", Type::VEC3, "scale along each axis")
        .form(|_, inputs| {
            let m = &inputs[0];
            let (quat, scale) = rotation_and_scale(m);
            vec![vec![m[3], m[7], m[11]], quat, scale]
        })
}

/// A unit vector at right angles to a unit vector.
pub(super) fn sideways<'b>(v: &[Val<'b>]) -> Vec<Val<'b>> {
    // Crossed with the axis that it is furthest from.
    let [x, y, z] = [v[0].abs(), v[1].abs(), v[2].abs()];
    let zero = x.like(0.0);
    let of_x = [zero, v[2], -v[1]];
    let of_y = [-v[2], zero, v[0]];
    let of_z = [v[1], -v[0], zero];
    let others = each(&of_y, &of_z, |a, b| y.le(z).select(a, b));
    let least = x.le(y).and(x.le(z));
    normalized(&each(&of_x, &others, |a, b| least.select(a, b)))
}

/// What of a vector is at right angles to a direction, of length 1.
fn upright<'b>(v: &[Val<'b>], direction: &[Val<'b>]) -> Vec<Val<'b>> {
    let part = dot(v, direction);
    normalized(&each(v, direction, |v, along| v - part * along))
}

fn between() -> NodeDef {
    NodeDef::new("quat.between", "The rotation from one direction to another")
        .details(
            "The shortest way. Between opposite directions it is half a turn about one of the axes at \
             right angles. Where a vector has length 0 nothing is turned.",
        )
        .input("from", Type::VEC3, "of any length")
        .or_value(Vec3([1.0, 0.0, 0.0]))
        .input("to", Type::VEC3, "of any length")
        .or_value(Vec3([1.0, 0.0, 0.0]))
        .output("value", Type::QUAT, "length 1")
        .form(|_, inputs| {
            let (from, to) = (Direction::of(&inputs[0]), Direction::of(&inputs[1]));
            let none = from.is_none.or(to.is_none);
            let (a, b) = (from.unit, to.unit);
            let middle: Vec<Val<'_>> = each(&a, &b, |a, b| a + b);
            let half = normalized(&middle);
            let mut turn = vec![dot(&a, &half)];
            turn.extend(cross(&a, &half));
            // Directions that are nearly opposite have a middle of rounding errors. Two reflections
            // turn one into the other whatever that is: along their difference, then along what is
            // at right angles to the second.
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
    ("-x", "against the x axis"),
    ("-y", "against the y axis"),
    ("-z", "against the z axis"),
];

/// Axis and sign of a direction.
fn signed_axis(settings: &Settings, name: &str) -> (usize, f64) {
    let text = settings.text(name);
    let at = DIRECTIONS.iter().position(|(direction, _)| *direction == text).unwrap_or(0);
    (at % 3, if at < 3 { 1.0 } else { -1.0 })
}

fn look_at() -> NodeDef {
    let text = |text: &str| Some(SettingValue::Text(text.into()));
    NodeDef::new("quat.look_at", "The rotation that looks along a direction")
        .details(
            "Turns the axis `forward` to the direction and the axis `upward` as near to `up` as that \
             allows. Where up is parallel to the direction, or 0, another is chosen; where the direction \
             is 0 nothing is turned. For cameras that look against z set `forward` to `-z`. If both \
             axes are the same, the next one (after z comes x) is turned upwards.",
        )
        .setting("forward", SettingKind::Choice(DIRECTIONS), text("z"), "what looks along the direction")
        .setting("upward", SettingKind::Choice(DIRECTIONS), text("y"), "what is turned towards up")
        .input("direction", Type::VEC3, "of any length")
        .or_value(Vec3([0.0, 0.0, 1.0]))
        .input("up", Type::VEC3, "of any length")
        .or_value(Vec3([0.0, 1.0, 0.0]))
        .output("value", Type::QUAT, "length 1")
        .kernel(|parts| {
            let forward = signed_axis(parts.settings, "forward");
            let upward = match signed_axis(parts.settings, "upward") {
                (axis, _) if axis == forward.0 => ((axis + 1) % 3, 1.0),
                upward => upward,
            };
            Ok(form_kernel(parts, |inputs| vec![looking(&inputs[0], &inputs[1], forward, upward)]))
        })
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
    let def = NodeDef::new("quat.angle", "How far apart two rotations are").details(
        "The angle of the shortest turn from one to the other, 0 to pi. Both must have length 1. Off by at most 1e-6.",
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
    let def = NodeDef::new("quat.scale_angle", "A rotation, further or less far").details(
        "About the same axis by the angle (0 to pi) times the factor: 0.5 is half way, -1 the way \
             back. The quaternion must have length 1.",
    );
    quat_input(def, "quat", "length 1")
        .input("factor", Type::F32, "what the angle is multiplied by")
        .or_number(1.0)
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
    let def = NodeDef::new("quat.nlerp", "A rotation between two, by a straight line").details(
        "The same way as `quat.slerp`, faster in the middle than at the ends, and cheaper. Between \
             rotations half a turn apart it jumps.",
    );
    quat_input(quat_input(def, "a", "at factor 0"), "b", "at factor 1")
        .input("factor", Type::F32, "0 to 1")
        .or_number(0.5)
        .output("value", Type::QUAT, "length 1")
        .form(|_, inputs| {
            let (a, b, factor) = (&inputs[0], &inputs[1], inputs[2][0]);
            let other_side = dot(a, b).lt(0.0);
            let mixed = each(a, b, |a, b| crate::mix::mix(a, other_side.select(-b, b), factor));
            vec![normalized(&mixed)]
        })
}

fn swing_twist() -> NodeDef {
    let def = NodeDef::new("quat.swing_twist", "A rotation as a turn about an axis and one of it")
        .details(
            "`quat.multiply` of swing and twist gives the rotation: first the twist about the axis, then \
             the swing, which moves the axis the shortest way. Where the axis is turned to its opposite, \
             or has length 0, the twist turns nothing. The quaternion must have length 1.",
        )
        .source("P. Dobrowolski, Swing-twist decomposition in Clifford algebra, 2015");
    quat_input(def, "quat", "length 1")
        .input("axis", Type::VEC3, "of any length")
        .or_value(Vec3([0.0, 0.0, 1.0]))
        .output("swing", Type::QUAT, "about an axis at right angles")
        .output("twist", Type::QUAT, "about the axis")
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
    let def = NodeDef::new("quat.invert", "The quaternion that turns another back")
        .details(
            "The conjugate over the square of the length, so that the product of both is 1; at length 1 \
             `quat.conjugate` is the same and cheaper. Zeros for a quaternion of length 0.",
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
    ("w", "the real part"),
    ("x", "the part along x"),
    ("y", "the part along y"),
    ("z", "the part along z"),
];

fn combine() -> NodeDef {
    let def = NodeDef::new("quat.combine", "A quaternion from its parts")
        .details("The length is that of the parts; `quat.normalize` makes a rotation of it.");
    PARTS
        .iter()
        .fold(def, |def, (name, about)| {
            def.input(*name, Type::F32, *about).or_number(if *name == "w" { 1.0 } else { 0.0 })
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
    NodeDef::new("quat.from_vector", "The rotation about a vector by its length")
        .details("The exponential of half the vector, which `quat.to_vector` takes back. Speeds of turning add up as such vectors.")
        .input("vector", Type::VEC3, "along the axis, as long as the angle in radians")
        .or_number(0.0)
        .output("value", Type::QUAT, "length 1")
        .form(|_, inputs| {
            let half = length(&inputs[0]) * 0.5;
            let mut quat = vec![half.cos()];
            quat.extend(scaled(&normalized(&inputs[0]), half.sin()));
            vec![quat]
        })
}

fn to_vector() -> NodeDef {
    let def = NodeDef::new("quat.to_vector", "The axis of a rotation, as long as its angle").details(
        "Twice the logarithm, with an angle from 0 to pi. The length of the quaternion does not matter.",
    );
    quat_input(def, "quat", "").output("value", Type::VEC3, "angle in radians along the axis").form(
        |_, inputs| {
            let q = upper(&inputs[0]);
            let (axis, factor) = moderate(&q[1..]);
            let angle = length(&axis).atan2(q[0] * factor) * 2.0;
            vec![scaled(&normalized(&axis), angle)]
        },
    )
}
