//! Easing: ways from 0 to 1 that start or end gently, swing past the end or bounce at it.

use std::f64::consts::{FRAC_PI_2, TAU};

use millstream_form::Val;
use millstream_node::{NodeDef, SettingKind, SettingValue};

use crate::shape::{FLOATS, lanewise_by_settings, of_one_type};

const CURVES: &[(&str, &str)] = &[
    ("sine", "1 - cos(t pi / 2)"),
    ("quadratic", "t to the power 2"),
    ("cubic", "t to the power 3"),
    ("quartic", "t to the power 4"),
    ("quintic", "t to the power 5"),
    ("exponential", "(2 to the power 10 t - 1) / 1023"),
    ("circular", "a quarter of a circle: 1 - sqrt(1 - t^2)"),
    ("back", "first a tenth the other way: t^2 (2.70158 t - 1.70158)"),
    ("elastic", "swings that grow, three in a unit and the last to 1"),
    ("bounce", "a ball that bounces four times, each time higher"),
];

const DIRECTIONS: &[(&str, &str)] = &[
    ("in", "slow at the start"),
    ("out", "slow at the end: the curve turned by half a turn"),
    ("in_out", "slow at both, each half as high"),
    ("out_in", "slow in the middle, each half as high"),
];

pub(super) fn node() -> NodeDef {
    let text = |text: &str| Some(SettingValue::Text(text.into()));
    let x = [("x", 0.5, "from 0 to 1, kept in this range")];
    let def = of_one_type("mix.ease", "From 0 to 1, gently at an end", FLOATS, &x)
        .details(
            "Exactly 0 at 0 and 1 at 1; `back` and `elastic` leave the range between. NaN counts as 0. \
             Off by at most 2e-6.",
        )
        .source("the easing functions of R. Penner, 2001; `exponential` shifted so that it starts at 0")
        .setting("curve", SettingKind::Choice(CURVES), text("cubic"), "the curve, with t for x")
        .setting("direction", SettingKind::Choice(DIRECTIONS), text("in_out"), "where it is slow");
    lanewise_by_settings(def, |settings, _, _, x| {
        let curve = settings.text("curve");
        let t = x[0].clamp(0, 1);
        let first = t.lt(0.5);
        match settings.text("direction") {
            "in" => rising(curve, t),
            "out" => settling(curve, t),
            "out_in" => {
                first.select(settling(curve, t * 2) * 0.5, rising(curve, t * 2 - 1) * 0.5 + 0.5)
            }
            _ => first.select(rising(curve, t * 2) * 0.5, settling(curve, t * 2 - 1) * 0.5 + 0.5),
        }
    })
}

/// The way that is slow at the start, for t from 0 to 1.
fn rising<'b>(curve: &str, t: Val<'b>) -> Val<'b> {
    match curve {
        "sine" => t.eq(1).select(1, 1 - (t * FRAC_PI_2).cos()),
        "quadratic" => t * t,
        "quartic" => (t * t) * (t * t),
        "quintic" => (t * t) * (t * t) * t,
        "exponential" => ((t * 10).exp2() - 1) / 1023,
        // A product keeps what 1 - t^2 would lose near 1.
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

/// The way that is slow at the end.
fn settling<'b>(curve: &str, t: Val<'b>) -> Val<'b> {
    match curve {
        // Steep at 0, where 1 - t would be rounded.
        "circular" => (t * (2 - t)).sqrt(),
        _ => 1 - rising(curve, 1 - t),
    }
}

/// The height that a ball has fallen, with bounces of 1/4, 1/16 and 1/64 of the height.
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
