//! Smooth ways through several rotations.

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{Default, NodeDef, Registry};

use super::quat::{arc, beside, product};
use super::{dot, length, scaled};

pub(super) fn register(registry: &mut Registry) {
    registry.register(squad());
    registry.register(squad_control());
}

const SOURCE: &str =
    "K. Shoemake, \"Quaternion calculus and fast animation\", SIGGRAPH 1987 course notes";

fn quats(def: NodeDef, inputs: &[(&'static str, &'static str)]) -> NodeDef {
    inputs
        .iter()
        .fold(def, |def, (name, about)| def.input(*name, Type::QUAT, *about).or(Default::Zero))
}

fn squad() -> NodeDef {
    let def = NodeDef::new("quat.squad", "A rotation between two, on a smooth way through many")
        .details(
            "slerp(slerp(a, b, t), slerp(a_control, b_control, t), 2 t (1 - t)): from a to b along the shorter way, \
             and the controls along with them. With controls of `quat.squad_control` neither direction nor speed \
             jumps at a rotation of the way. All must have length 1.",
        )
        .source(SOURCE);
    let inputs = [
        ("a", "at factor 0"),
        ("a_control", "where the way bends to behind a"),
        ("b_control", "where the way bends to before b"),
        ("b", "at factor 1"),
    ];
    quats(def, &inputs)
        .input("factor", Type::F32, "0 to 1")
        .or_number(0.5)
        .output("value", Type::QUAT, "length 1")
        .form(|_, inputs| {
            let t = inputs[4][0];
            // All on one side, so that the ways between them stay close to each other.
            let b = beside(&inputs[0], &inputs[3]);
            let of_a = beside(&inputs[0], &inputs[1]);
            let of_b = beside(&b, &inputs[2]);
            let straight = arc(&inputs[0], &b, t);
            let bent = arc(&of_a, &of_b, t);
            let rest: Val<'_> = 1.0 - t;
            vec![arc(&straight, &bent, t * rest * 2.0)]
        })
}

fn squad_control() -> NodeDef {
    let def = NodeDef::new("quat.squad_control", "Where a way through rotations bends at one of them")
        .details(
            "q exp(-(ln(q^-1 before) + ln(q^-1 behind)) / 4), both along the shorter way. At an end of the way \
             give the rotation itself for the one that is missing. All must have length 1.",
        )
        .source(SOURCE);
    quats(
        def,
        &[("before", "the rotation before"), ("quat", "q"), ("behind", "the rotation behind")],
    )
    .output("value", Type::QUAT, "length 1")
    .form(|_, inputs| {
        let q = &inputs[1];
        let back = [q[0], -q[1], -q[2], -q[3]];
        let (before, behind) =
            (logarithm(&product(&back, &inputs[0])), logarithm(&product(&back, &inputs[2])));
        let bend: Vec<Val<'_>> =
            before.iter().zip(&behind).map(|(a, b)| (*a + *b) * -0.25).collect();
        vec![product(q, &exponential(&bend))]
    })
}

/// Half the angle of a rotation times its axis, along the shorter way.
fn logarithm<'b>(q: &[Val<'b>]) -> Vec<Val<'b>> {
    let sine = length(&q[1..]);
    // Of q and -q, which are the same rotation, the one with the smaller angle.
    let half = sine.atan2(q[0].abs());
    let half = q[0].lt(0.0).select(-half, half);
    scaled(&q[1..], sine.eq(0.0).select(0.0, half / sine))
}

/// The rotation whose [`logarithm`] this is.
fn exponential<'b>(v: &[Val<'b>]) -> Vec<Val<'b>> {
    let half = dot(v, v).sqrt();
    let mut quat = vec![half.cos()];
    quat.extend(scaled(v, half.eq(0.0).select(1.0, half.sin() / half)));
    quat
}
