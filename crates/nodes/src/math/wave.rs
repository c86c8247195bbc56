//! Periodic waves, the logistic function and the median of three numbers.

use std::f64::consts::TAU;

use millstream_node::signature::Signature;
use millstream_node::{NodeDef, Registry};

use crate::shape::{FLOATS, inputs_of_one_type, lanewise_by_settings, of_one_type, sockets_of};

pub(super) fn register(registry: &mut Registry) {
    registry.register(wave());
    registry.register(
        of_one_type(
            "math.sigmoid",
            "The logistic function, which rises smoothly from 0 to 1",
            FLOATS,
            &[("x", 0.0, "")],
        )
        .details(
            "1 / (1 + e^-x): 0.5 at x = 0, where its slope is 1/4. Exactly 0 and 1 at the \
                 infinities.",
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
            "The median of three numbers",
            FLOATS,
            &three,
        )
        .details(
            "The one that is neither least nor greatest. If one is NaN, it is one of the others.")
        .lanewise(|_, x| x[0].min(x[1]).max(x[0].max(x[1]).min(x[2]))),
    );
}

const SHAPES: &[(&str, &str)] = &[
    ("sine", "sin(2 pi x)"),
    ("triangle", "rises from -1 to 1 during the fraction `width` of the period, then falls"),
    ("square", "1 during the fraction `width` of the period, then -1"),
    ("sawtooth", "rises from -1 to 1, then drops at once"),
];

fn has_width(shape: &str) -> bool {
    matches!(shape, "triangle" | "square")
}

fn signature(shape: &str) -> Signature {
    let inputs = [
        ("x", 0.0, "position in periods"),
        ("width", 0.5, "fraction of the period, clamped to 0 to 1"),
    ];
    let n = if has_width(shape) { 2 } else { 1 };
    let def = inputs_of_one_type("", "", FLOATS, &inputs[..n]).output(
        "value",
        crate::shape::T,
        "-1 to 1",
    );
    sockets_of(&def)
}

fn wave() -> NodeDef {
    NodeDef::new("math.wave", "A periodic wave with period 1")
        .details(
            "Add to x for a phase, multiply it for a frequency. Triangle and square waves have an \
             input `width`. NaN if x is not finite.",
        )
        .choice("shape", SHAPES, "sine", "shape of the wave")
        .sockets_by_settings(|settings| Ok(signature(settings.text("shape"))))
        .kernel(lanewise_by_settings(|settings, _, x| {
            let t = x[0] - x[0].floor();
            // A tiny negative number rounds up to a whole period, so no width covers it.
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
                // Measured from the nearest whole period: exact, also just below it.
                _ => ((x[0] - x[0].round()) * TAU).sin(),
            }
        }))
}
