//! Easing: curves from 0 to 1 that start or end gently, overshoot or bounce.

use std::f64::consts::{FRAC_PI_2, TAU};

use millstream_form::Val;
use millstream_node::NodeDef;

use crate::shape::{FLOATS, lanewise_by_settings, of_one_type};

const CURVES: &[(&str, &str)] = &[
    ("sine", "1 - cos(t pi / 2)"),
    ("quadratic", "t^2"),
    ("cubic", "t^3"),
    ("quartic", "t^4"),
    ("quintic", "t^5"),
    ("exponential", "(2^(10 t) - 1) / 1023"),
    ("circular", "a quarter of a circle: 1 - sqrt(1 - t^2)"),
    ("back", "undershoots by a tenth first: t^2 (2.70158 t - 1.70158)"),
    ("elastic", "oscillates with growing amplitude, about three times, and ends at 1"),
    ("bounce", "bounces four times like a ball, each time higher"),
];

const DIRECTIONS: &[(&str, &str)] = &[
    ("in", "slow at the start"),
    ("out", "slow at the end: the curve rotated by half a turn"),
    ("in_out", "slow at both ends, each half as high"),
    ("out_in", "slow in the middle, each half as high"),
];

pub(super) fn node() -> NodeDef {
    let x = [("x", 0.5, "progress, clamped to 0 to 1")];
    of_one_type("mix.ease", "An easing curve from 0 to 1", FLOATS, &x)
        .details(
            "Exactly 0 at 0 and 1 at 1; `back` and `elastic` leave that range in between. NaN \
             counts as 0. The error is at most 2e-6.",
        )
        .source(
            "the easing functions of R. Penner, 2001; `exponential` shifted so that it starts at 0",
        )
        .choice("curve", CURVES, "cubic", "shape of the curve, with t = x for the direction `in`")
        .choice("direction", DIRECTIONS, "in_out", "ends at which the curve is slow")
        .kernel(lanewise_by_settings(|settings, _, x| {
            let curve = settings.text("curve");
            let t = x[0].clamp(0, 1);
            let first = t.lt(0.5);
            match settings.text("direction") {
                "in" => rising(curve, t),
                "out" => settling(curve, t),
                "out_in" => {
                    first.select(settling(curve, t * 2) * 0.5, rising(curve, t * 2 - 1) * 0.5 + 0.5)
                }
                _ => {
                    first.select(rising(curve, t * 2) * 0.5, settling(curve, t * 2 - 1) * 0.5 + 0.5)
                }
            }
        }))
}

/// The curve that is slow at the start, for t from 0 to 1.
fn rising<'b>(curve: &str, t: Val<'b>) -> Val<'b> {
    match curve {
        "sine" => t.eq(1).select(1, 1 - (t * FRAC_PI_2).cos()),
        "quadratic" => t * t,
        "quartic" => (t * t) * (t * t),
        "quintic" => (t * t) * (t * t) * t,
        "exponential" => ((t * 10).exp2() - 1) / 1023,
        // The product keeps digits that 1 - t^2 would lose near 1.
        "circular" => 1 - ((1 - t) * (t + 1)).sqrt(),
        "back" => t.eq(1).select(1, t * t * (t * 2.701_58 - 1.701_58)),
        "elastic" => {
            let swing = -((t * 10 - 10).exp2() * ((t * 10 - 10.75) * (TAU / 3.0)).sin());
            (t.eq(0) | t.eq(1)).select(t, swing)
        }
        "bounce" => 1 - falling(1 - t),
        _ => t * t * t,
    }
}

/// The curve that is slow at the end.
fn settling<'b>(curve: &str, t: Val<'b>) -> Val<'b> {
    match curve {
        // The curve is steep at 0, where 1 - t would lose digits.
        "circular" => (t * (2 - t)).sqrt(),
        _ => 1 - rising(curve, 1 - t),
    }
}

/// The height of a fall with bounces of 1/4, 1/16 and 1/64 of the height.
fn falling(t: Val<'_>) -> Val<'_> {
    let bow = |middle: f64, top: f64| {
        let way = t - middle / 2.75;
        way * way * 7.5625 + top
    };
    let last = t.eq(1).select(1, bow(2.625, 0.984_375));
    let third = t.lt(2.5 / 2.75).select(bow(2.25, 0.9375), last);
    let second = t.lt(2.0 / 2.75).select(bow(1.5, 0.75), third);
    t.lt(1.0 / 2.75).select(bow(0.0, 0.0), second)
}
