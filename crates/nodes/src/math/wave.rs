//! Periodic waves, and the curve that takes all numbers to 0 to 1.

use std::f64::consts::TAU;

use millstream_node::signature::Signature;
use millstream_node::{NodeDef, Registry, SettingKind, SettingValue};

use crate::shape::{FLOATS, inputs_of_one_type, lanewise_by_settings, of_one_type};

pub(super) fn register(registry: &mut Registry) {
    registry.register(wave());
    registry.register(
        of_one_type("math.sigmoid", "Rises from 0 to 1 along all numbers", FLOATS, &[("x", 0.0, "")])
            .details(
                "1 / (1 + e^-x), the logistic function: 0.5 at 0, where its slope is 1/4. Exactly 0 and 1 \
                 at the infinities.",
            )
            .lanewise(|_, x| {
                // The exponential of a number that is not positive does not overflow.
                let small = (-x[0].abs()).exp();
                x[0].lt(0.0).select(small, 1.0) / (small + 1.0)
            }),
    );
    let three = [("a", 0.0, ""), ("b", 0.5, ""), ("c", 1.0, "")];
    registry.register(
        of_one_type(
            "math.middle",
            "The one of three that is neither least nor greatest",
            FLOATS,
            &three,
        )
        .details("The median. Of three with a NaN it is one of the others.")
        .lanewise(|_, x| x[0].min(x[1]).max(x[0].max(x[1]).min(x[2]))),
    );
}

const SHAPES: &[(&str, &str)] = &[
    ("sine", "sin(2 pi x)"),
    ("triangle", "up from -1 to 1 for `width` of the period, then down again"),
    ("square", "1 for `width` of the period, then -1"),
    ("sawtooth", "up from -1 to 1, where it falls at once"),
];

fn has_width(shape: &str) -> bool {
    matches!(shape, "triangle" | "square")
}

fn signature(shape: &str) -> Signature {
    let inputs = [
        ("x", 0.0, "in periods: 1 is one of them"),
        ("width", 0.5, "a part of the period, kept between 0 and 1"),
    ];
    let n = if has_width(shape) { 2 } else { 1 };
    let def = inputs_of_one_type("", "", FLOATS, &inputs[..n]).output(
        "value",
        crate::shape::T,
        "-1 to 1",
    );
    def.fixed_signature().expect("the sockets depend on no setting").clone()
}

fn wave() -> NodeDef {
    let def = NodeDef::new("math.wave", "A wave of period 1")
        .details(
            "Add to x for a phase, multiply it for a frequency. Triangles and squares have an input `width`. \
             NaN where x is not finite.",
        )
        .setting(
            "shape",
            SettingKind::Choice(SHAPES),
            Some(SettingValue::Text("sine".into())),
            "what the wave looks like",
        )
        .sockets_by_settings(|settings| Ok(signature(settings.text("shape"))));
    lanewise_by_settings(def, |settings, _, _, x| {
        let t = x[0] - x[0].floor();
        // A tiny number below zero is rounded to a whole period, which is less than no width.
        match settings.text("shape") {
            "triangle" => {
                let width = x[1].clamp(0, 1);
                let rises = t.lt(width) | width.ge(1);
                let part = rises.select(t / width, (1 - t) / (1 - width));
                part * 2 - 1
            }
            "square" => {
                let is_up = t.lt(x[1].clamp(0, 1)) | x[1].ge(1);
                let side = is_up.select(t.like(1), t.like(-1));
                t.is_nan().select(t, side)
            }
            "sawtooth" => t * 2 - 1,
            // From the nearest whole period: exact, also just below it.
            _ => ((x[0] - x[0].round()) * TAU).sin(),
        }
    })
}
