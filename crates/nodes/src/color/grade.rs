//! Color grading: levels, gains, tone curves, chromatic adaptation.

use millstream_base::{Color, Type};
use millstream_form::Val;
use millstream_node::{NodeDef, Registry};

use super::spaces::{BRADFORD, inverse, rgb_to_xyz, times};
use super::{Three, color_input, each, luminance, three, with_alpha};
use crate::shape::form_by_settings;

pub(super) fn register(registry: &mut Registry) {
    registry.register(levels());
    registry.register(slope_offset_power());
    registry.register(posterize());
    registry.register(tone_map());
    registry.register(adapt());
}

fn levels() -> NodeDef {
    let numbers = [
        ("black", 0.0, "input that becomes `to_black`"),
        ("white", 1.0, "input that becomes `to_white`"),
        ("gamma", 1.0, "gamma of the middle; above 1 it becomes lighter"),
        ("to_black", 0.0, "output for `black`"),
        ("to_white", 1.0, "output for `white`"),
    ];
    let def = NodeDef::new(
        "color.levels",
        "Adjusts the black point, white point and gamma of a color",
    )
    .details(
        "For each channel c, t = (c - black) / (white - black) is clamped to 0 to 1, raised to the \
         power 1 / gamma, and mapped to the range from `to_black` to `to_white`; alpha does not \
         change. If `white` equals `black`, the result is a step.",
    );
    numbers
        .into_iter()
        .fold(color_input(def, "color", ""), |def, (name, default, about)| {
            def.input_or(name, Type::F32, default, about)
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
        ("slope", 1.0, "factor of each channel (gain)"),
        ("offset", 0.0, "number added afterwards (lift)"),
        ("power", 1.0, "exponent applied last"),
    ];
    let def = NodeDef::new("color.slope_offset_power", "Grades a color by slope, offset and power")
        .details(
            "(c * slope + offset)^power for each channel c, where negative sums count as 0; then \
             the distance of each channel from the luminance is multiplied by the saturation. The \
             alpha of the color does not change, and that of the other colors is ignored. The \
             error is at most 1e-6 for numbers from 0 to 1.",
        )
        .source("ASC Color Decision List, version 1.2");
    colors
        .into_iter()
        .fold(color_input(def, "color", ""), |def, (name, default, about)| {
            let all = default as f32;
            def.input_or(name, Type::COLOR, Color([all, all, all, 1.0]), about)
        })
        .input_or(
            "saturation",
            Type::F32,
            1.0,
            "factor of the saturation; 0 gives gray, 1 changes nothing",
        )
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
    let def = NodeDef::new("color.posterize", "Reduces a color to a few values per channel")
        .details(
            "floor(c * steps) / (steps - 1) for each channel c from 0 to 1; alpha does not change.",
        );
    color_input(def, "color", "")
        .input_or("steps", Type::F32, 4.0, "number of values per channel, rounded down, at least 2")
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
    ("luminance", "like `reinhard`, applied to the luminance, which keeps the hue"),
    ("exponential", "1 - e^-c"),
    ("filmic", "an S-curve with a toe, after Hable; `white` becomes 1"),
    ("aces", "an S-curve with strong contrast, after Narkowicz's fit of ACES"),
];

/// Hable's curve before scaling.
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
    let def = NodeDef::new(
        "color.tone_map",
        "Maps high dynamic range light to the range of a \
                                              display",
    )
    .details(
        "Negative channels count as 0; alpha does not change. `exponential` and `aces` ignore \
             `white`. The result is linear light; encode it with `color.to_srgb`. The error is at \
             most 1e-6 for channels from 0 to 1 and a `white` of at least 1.",
    )
    .source(
        "E. Reinhard et al., Photographic Tone Reproduction for Digital Images, 2002; J. \
             Hable, Uncharted 2: HDR Lighting, 2010; K. Narkowicz, ACES Filmic Tone Mapping Curve, \
             2015",
    )
    .choice("curve", CURVES, "reinhard", "tone curve for a channel c");
    color_input(def, "color", "")
        .input_or(
            "exposure",
            Type::F32,
            0.0,
            "exposure in stops, applied first; each stop doubles the light",
        )
        .input_or("white", Type::F32, 4.0, "light that becomes white")
        .output("value", Type::COLOR, "")
        .kernel(form_by_settings(|settings, x| {
            let curve = settings.text("curve");
            let factor = x[1][0].exp2();
            let lit = three(&x[0]).map(|c| (c * factor).max(0.0));
            vec![with_alpha(toned(curve, lit, x[2][0]), x[0][3])]
        }))
}

/// The cone responses to linear light.
fn cones(c: Three<'_>) -> Three<'_> {
    times(&BRADFORD, times(&rgb_to_xyz(), c))
}

fn adapt() -> NodeDef {
    let def = NodeDef::new("color.adapt", "Adapts a color to another light (white balance)")
        .details(
            "An object with the color `from` in the first light becomes `to`, and other colors \
             change as in the adaptation of the eye. For white balance, set `from` to a gray of \
             the picture and `to` to white. Both are scaled to luminance 1; a cone without \
             response to `from` is not scaled. Alpha does not change. `color.blackbody` gives the \
             color of light by its temperature. For channels from 0 to 1 the error is at most \
             5e-6, or 5e-6 times the greatest channel of the result if that is more than 1.",
        )
        .source("the Bradford transform: CIE 159, 2004");
    let white = Color([1.0; 4]);
    color_input(def, "color", "")
        .input_or("from", Type::COLOR, white, "color of the original light")
        .input_or("to", Type::COLOR, white, "color of the new light")
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
