//! Smooth interpolation through several rotations.

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
        .fold(def, |def, (name, about)| def.input_or(*name, Type::QUAT, Default::Zero, *about))
}

fn squad() -> NodeDef {
    let def = NodeDef::new("quat.squad", "Interpolates smoothly through a sequence of rotations")
        .details(
            "slerp(slerp(a, b, t), slerp(a_control, b_control, t), 2 t (1 - t)), with all \
             rotations on the shorter arcs. With controls from `quat.squad_control` neither \
             direction nor speed changes abruptly at a rotation of the sequence. All quaternions \
             must have length 1.",
        )
        .source(SOURCE);
    let inputs = [
        ("a", "rotation at factor 0"),
        ("a_control", "control of a"),
        ("b_control", "control of b"),
        ("b", "rotation at factor 1"),
    ];
    quats(def, &inputs)
        .input_or("factor", Type::F32, 0.5, "0 to 1")
        .output("value", Type::QUAT, "length 1")
        .form(|_, inputs| {
            let t = inputs[4][0];
            // All on one side of the sphere, so that the arcs between them stay close to each
            // other.
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
    let def = NodeDef::new(
        "quat.squad_control",
        "The control rotation of `quat.squad` at one rotation of a sequence",
    )
    .details(
        "q exp(-(ln(q^-1 before) + ln(q^-1 behind)) / 4), both on the shorter arcs. At an end \
             of the sequence, use the rotation itself for the missing neighbor. All quaternions \
             must have length 1.",
    )
    .source(SOURCE);
    quats(
        def,
        &[
            ("before", "previous rotation"),
            ("quat", "rotation q of the sequence"),
            ("behind", "next rotation"),
        ],
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

/// Half the angle of a rotation times its axis, on the shorter arc.
fn logarithm<'b>(q: &[Val<'b>]) -> Vec<Val<'b>> {
    let sine = length(&q[1..]);
    // q or -q, which are the same rotation, whichever has the smaller angle.
    let half = sine.atan2(q[0].abs());
    let half = q[0].lt(0.0).select(-half, half);
    scaled(&q[1..], sine.eq(0.0).select(0.0, half / sine))
}

/// The rotation with this [`logarithm`].
fn exponential<'b>(v: &[Val<'b>]) -> Vec<Val<'b>> {
    let half = dot(v, v).sqrt();
    let mut quat = vec![half.cos()];
    quat.extend(scaled(v, half.eq(0.0).select(1.0, half.sin() / half)));
    quat
}
