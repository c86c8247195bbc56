//! Grading: levels, gains, tone curves, the color of the light.

use millstream_base::{Color, Type};
use millstream_form::Val;
use millstream_node::{NodeDef, Registry, SettingKind, SettingValue};

use super::spaces::{BRADFORD, inverse, rgb_to_xyz, times};
use super::{Three, color_input, each, luminance, three, with_alpha};
use crate::vector::form_kernel;

pub(super) fn register(registry: &mut Registry) {
    registry.register(levels());
    registry.register(slope_offset_power());
    registry.register(posterize());
    registry.register(tone_map());
    registry.register(adapt());
}

fn levels() -> NodeDef {
    let numbers = [
        ("black", 0.0, "what becomes the lower end"),
        ("white", 1.0, "what becomes the upper end"),
        ("gamma", 1.0, "above 1: the middle becomes lighter"),
        ("to_black", 0.0, "the lower end"),
        ("to_white", 1.0, "the upper end"),
    ];
    let def = NodeDef::new("color.levels", "A color with black, white and middle moved").details(
        "t = (c - black) / (white - black), kept between 0 and 1, to the power 1 / gamma, then from to_black to \
         to_white, for each channel; alpha stays. Where white is black it is a step.",
    );
    numbers
        .into_iter()
        .fold(color_input(def, "color", ""), |def, (name, default, about)| {
            def.input(name, Type::F32, about).or_number(default)
        })
        .output("value", Type::COLOR, "")
        .form(|_, x| {
            let number = |i: usize| x[1 + i][0];
            let (black, range) = (number(0), number(1) - number(0));
            let (low, high) = (number(3), number(4));
            let channels = three(&x[0]).map(|c| {
                let step = c.ge(black).select(c.like(1.0), c.like(0.0));
                let t = range.eq(0.0).select(step, ((c - black) / range).clamp(0.0, 1.0));
                let t = t.pow(number(2).like(1.0) / number(2));
                low * (t.like(1.0) - t) + high * t
            });
            vec![with_alpha(channels, x[0][3])]
        })
}

fn slope_offset_power() -> NodeDef {
    let colors = [
        ("slope", 1.0, "what each channel is multiplied by (gain)"),
        ("offset", 0.0, "what is added then (lift)"),
        ("power", 1.0, "the exponent then"),
    ];
    let def = NodeDef::new("color.slope_offset_power", "A color graded by three numbers a channel")
        .details(
            "(c * slope + offset) to the power of `power` for each channel, negative sums as 0; then the channels \
             are moved away from the luminance by the saturation. Alpha stays, and that of the three does not \
             count. Off by at most 1e-6 for numbers from 0 to 1.",
        )
        .source("ASC Color Decision List, version 1.2");
    colors
        .into_iter()
        .fold(color_input(def, "color", ""), |def, (name, default, about)| {
            let all = default as f32;
            def.input(name, Type::COLOR, about).or_value(Color([all, all, all, 1.0]))
        })
        .input("saturation", Type::F32, "0: grey, 1: as it is")
        .or_number(1.0)
        .output("value", Type::COLOR, "")
        .form(|_, x| {
            let channel = |i: usize| (x[0][i] * x[1][i] + x[2][i]).max(0.0).pow(x[3][i]);
            let graded = [channel(0), channel(1), channel(2)];
            let (grey, saturation) = (luminance(graded), x[4][0]);
            let channels = graded.map(|c| grey + (c - grey) * saturation);
            vec![with_alpha(channels, x[0][3])]
        })
}

fn posterize() -> NodeDef {
    let def = NodeDef::new("color.posterize", "A color in few steps").details(
        "floor(c * steps) / (steps - 1) for each channel, for channels from 0 to 1; alpha stays.",
    );
    color_input(def, "color", "")
        .input("steps", Type::F32, "how many values a channel has, rounded down, at least 2")
        .or_number(4.0)
        .output("value", Type::COLOR, "")
        .form(|_, x| {
            let steps = x[1][0].floor().max(2.0);
            let channels =
                three(&x[0]).map(|c| (c * steps).floor().min(steps - 1.0) / (steps - 1.0));
            vec![with_alpha(channels, x[0][3])]
        })
}

const CURVES: &[(&str, &str)] = &[
    ("reinhard", "c (1 + c / white^2) / (1 + c): `white` becomes 1"),
    ("luminance", "as `reinhard`, of the luminance; the hue stays"),
    ("exponential", "1 - e^-c"),
    ("filmic", "an S with a toe, after Hable; `white` becomes 1"),
    ("aces", "an S with strong contrast, after Narkowicz's fit of ACES"),
];

/// The curve of Hable before it is scaled.
fn filmic(x: Val<'_>) -> Val<'_> {
    let (a, b, c, d, e, f) = (0.15, 0.5, 0.1, 0.2, 0.02, 0.3);
    (x * (x * a + c * b) + d * e) / (x * (x * a + b) + d * f) - e / f
}

fn toned<'b>(curve: &str, c: Three<'b>, white: Val<'b>) -> Three<'b> {
    let reinhard = |x: Val<'b>| x * (x / (white * white) + 1.0) / (x + 1.0);
    match curve {
        "luminance" => {
            let light = luminance(c);
            let factor = light.eq(0.0).select(1.0, reinhard(light) / light);
            c.map(|c| c * factor)
        }
        "exponential" => c.map(|c| -(-c).exp_m1()),
        "filmic" => {
            let scale = filmic(white);
            c.map(|c| filmic(c) / scale)
        }
        "aces" => c.map(|c| {
            let s = c * (c * 2.51 + 0.03) / (c * (c * 2.43 + 0.59) + 0.14);
            s.clamp(0.0, 1.0)
        }),
        _ => c.map(reinhard),
    }
}

fn tone_map() -> NodeDef {
    let def = NodeDef::new("color.tone_map", "Light of any strength brought to what a screen shows")
        .details(
            "Negative channels count as 0; alpha stays. `exponential` and `aces` do not read `white`. The result \
             is linear light: encode it by `color.to_srgb`. Off by at most 1e-6 for channels from 0 to 1 and a \
             `white` from 1 on.",
        )
        .source(
            "E. Reinhard et al., Photographic Tone Reproduction for Digital Images, 2002; J. Hable, Uncharted 2: \
             HDR Lighting, 2010; K. Narkowicz, ACES Filmic Tone Mapping Curve, 2015",
        )
        .setting(
            "curve",
            SettingKind::Choice(CURVES),
            Some(SettingValue::Text("reinhard".into())),
            "what becomes of the light c",
        );
    color_input(def, "color", "")
        .input("exposure", Type::F32, "stops, each of which doubles the light before")
        .or_number(0.0)
        .input("white", Type::F32, "the light that becomes white")
        .or_number(4.0)
        .output("value", Type::COLOR, "")
        .kernel(|parts| {
            let curve = parts.settings.text("curve");
            Ok(form_kernel(parts, |x| {
                let factor = x[1][0].exp2();
                let lit = three(&x[0]).map(|c| (c * factor).max(0.0));
                vec![with_alpha(toned(curve, lit, x[2][0]), x[0][3])]
            }))
        })
}

/// What cones see of linear light.
fn cones(c: Three<'_>) -> Three<'_> {
    times(&BRADFORD, times(&rgb_to_xyz(), c))
}

fn adapt() -> NodeDef {
    let def = NodeDef::new("color.adapt", "A color as it would be in other light")
        .details(
            "What has the color `from` in one light becomes `to`, and other colors follow as the eye adapts: \
             white balance with `from` a grey of the picture and `to` white. Both are taken with luminance 1; \
             a cone that does not see `from` stays as it is. Alpha stays. `color.blackbody` gives the color of \
             light by its temperature. Off by at most 5e-6 of 1, or of the greatest channel if that is more, for \
             channels from 0 to 1.",
        )
        .source("the Bradford transform: CIE 159, 2004");
    let white = Color([1.0; 4]);
    color_input(def, "color", "")
        .input("from", Type::COLOR, "the light that there was")
        .or_value(white)
        .input("to", Type::COLOR, "the light that there shall be")
        .or_value(white)
        .output("value", Type::COLOR, "")
        .form(|_, x| {
            let of_light = |i: usize| {
                let light = three(&x[i]);
                let strength = luminance(light);
                cones(light.map(|c| c / strength))
            };
            let factors =
                each(of_light(1), of_light(2), |from, to| from.eq(0.0).select(1.0, to / from));
            let adapted = each(cones(three(&x[0])), factors, |c, factor| c * factor);
            let xyz = times(&inverse(&BRADFORD), adapted);
            vec![with_alpha(times(&inverse(&rgb_to_xyz()), xyz), x[0][3])]
        })
}
