//! Blend modes and the over operator.

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{NodeDef, Registry};

use super::{Three, color_input, each, luminance, three, with_alpha};
use crate::mix::mix;
use crate::shape::form_by_settings;

pub(super) fn register(registry: &mut Registry) {
    registry.register(blend());
    registry.register(over());
}

const MODES: &[(&str, &str)] = &[
    ("mix", "b"),
    ("darken", "the lesser of a and b"),
    ("multiply", "a b"),
    ("color_burn", "1 - (1 - a) / b, at least 0; 1 where a is 1 or more"),
    ("linear_burn", "a + b - 1"),
    ("lighten", "the greater of a and b"),
    ("screen", "1 - (1 - a) (1 - b)"),
    ("color_dodge", "a / (1 - b), at most 1; 0 where a is 0"),
    ("add", "a + b"),
    ("overlay", "hard_light with a and b exchanged"),
    ("soft_light", "a gently darkened or lightened by b"),
    ("hard_light", "multiply by 2 b where b < 0.5, otherwise screen with 2 b - 1"),
    ("vivid_light", "color_burn with 2 b where b < 0.5, otherwise color_dodge with 2 b - 1"),
    ("linear_light", "a + 2 b - 1"),
    ("pin_light", "darken with 2 b where b < 0.5, otherwise lighten with 2 b - 1"),
    ("difference", "|a - b|"),
    ("exclusion", "a + b - 2 a b"),
    ("subtract", "a - b"),
    ("divide", "a / b; a where b is 0"),
    ("hue", "hue of b, saturation and luminance of a"),
    ("saturation", "saturation of b, hue and luminance of a"),
    ("color", "hue and saturation of b, luminance of a"),
    ("luminosity", "luminance of b, hue and saturation of a"),
];

fn blend() -> NodeDef {
    let def = NodeDef::new("color.blend", "Blends two colors by a blend mode")
        .details(
            "The result of the mode is mixed with a by the factor. Alpha is that of a; in mode \
             `mix` it is mixed too. The modes from `darken` to `exclusion` and the last four are \
             meant for channels from 0 to 1. Luminance is that of linear light; saturation is the \
             greatest minus the least channel. For channels from 0 to 1 the error is at most 2e-6, \
             or 2e-6 times the greatest channel of the result if that is more than 1.",
        )
        .source(
            "W3C, \"Compositing and Blending Level 1\", with BT.709 weights for luminance; modes \
             that are not in it are defined by the formula given",
        )
        .choice("mode", MODES, "mix", "blend mode")
        .flag("clamp_factor", true, "clamp the factor to 0 to 1")
        .flag("clamp", false, "clamp the result to 0 to 1");
    let def = color_input(color_input(def, "a", "lower color"), "b", "upper color");
    def.input_or("factor", Type::F32, 0.5, "weight of the blended color, 0 to 1")
        .output("value", Type::COLOR, "")
        .kernel(form_by_settings(|settings, inputs| {
            let (a, b, factor) = (&inputs[0], &inputs[1], inputs[2][0]);
            let factor =
                if settings.flag("clamp_factor") { factor.clamp(0.0, 1.0) } else { factor };
            let mode = settings.text("mode");
            let blended = blended(mode, three(a), three(b));
            let mixed = each(three(a), blended, |a, b| mix(a, b, factor));
            let alpha = if mode == "mix" { mix(a[3], b[3], factor) } else { a[3] };
            let result = with_alpha(mixed, alpha);
            if settings.flag("clamp") {
                vec![result.into_iter().map(|x| x.clamp(0.0, 1.0)).collect()]
            } else {
                vec![result]
            }
        }))
}

fn color_burn<'b>(a: Val<'b>, b: Val<'b>) -> Val<'b> {
    let dark: Val<'b> = 1.0 - a;
    let burnt = 1.0 - (dark / b).min(1.0);
    a.ge(1.0).select(1.0, b.le(0.0).select(0.0, burnt))
}

fn color_dodge<'b>(a: Val<'b>, b: Val<'b>) -> Val<'b> {
    let dodged = (a / (1.0 - b)).min(1.0);
    a.le(0.0).select(0.0, b.ge(1.0).select(1.0, dodged))
}

fn screen<'b>(a: Val<'b>, b: Val<'b>) -> Val<'b> {
    let dark: Val<'b> = 1.0 - a;
    1.0 - dark * (1.0 - b)
}

fn hard_light<'b>(a: Val<'b>, b: Val<'b>) -> Val<'b> {
    let twice = b * 2.0;
    b.le(0.5).select(a * twice, screen(a, twice - 1.0))
}

fn soft_light<'b>(a: Val<'b>, b: Val<'b>) -> Val<'b> {
    let steep = ((a * 16.0 - 12.0) * a + 4.0) * a;
    let lifted = a.le(0.25).select(steep, a.sqrt());
    let dark: Val<'b> = 1.0 - b * 2.0;
    let darker = a - dark * a * (1.0 - a);
    let lighter = a + (b * 2.0 - 1.0) * (lifted - a);
    b.le(0.5).select(darker, lighter)
}

fn blended<'b>(mode: &str, a: Three<'b>, b: Three<'b>) -> Three<'b> {
    let by = |f: fn(Val<'b>, Val<'b>) -> Val<'b>| each(a, b, f);
    match mode {
        "darken" => by(Val::min),
        "multiply" => by(|a, b| a * b),
        "color_burn" => by(color_burn),
        "linear_burn" => by(|a, b| a + b - 1.0),
        "lighten" => by(Val::max),
        "screen" => by(screen),
        "color_dodge" => by(color_dodge),
        "add" => by(|a, b| a + b),
        "overlay" => by(|a, b| hard_light(b, a)),
        "soft_light" => by(soft_light),
        "hard_light" => by(hard_light),
        "vivid_light" => by(|a, b| {
            let twice = b * 2.0;
            b.le(0.5).select(color_burn(a, twice), color_dodge(a, twice - 1.0))
        }),
        "linear_light" => by(|a, b| a + b * 2.0 - 1.0),
        "pin_light" => by(|a, b| {
            let twice = b * 2.0;
            b.le(0.5).select(a.min(twice), a.max(twice - 1.0))
        }),
        "difference" => by(|a, b| (a - b).abs()),
        "exclusion" => by(|a, b| a + b - a * b * 2.0),
        "subtract" => by(|a, b| a - b),
        "divide" => by(|a, b| b.eq(0.0).select(a, a / b)),
        "hue" => with_luminance(with_saturation(b, saturation(a)), luminance(a)),
        "saturation" => with_luminance(with_saturation(a, saturation(b)), luminance(a)),
        "color" => with_luminance(b, luminance(a)),
        "luminosity" => with_luminance(a, luminance(b)),
        _ => b,
    }
}

fn least(c: Three<'_>) -> Val<'_> {
    c[0].min(c[1]).min(c[2])
}

fn greatest(c: Three<'_>) -> Val<'_> {
    c[0].max(c[1]).max(c[2])
}

fn saturation(c: Three<'_>) -> Val<'_> {
    greatest(c) - least(c)
}

/// The color with its channels scaled so that the least is 0 and the saturation is as given.
fn with_saturation<'b>(c: Three<'b>, wanted: Val<'b>) -> Three<'b> {
    let (low, range) = (least(c), saturation(c));
    c.map(|c| range.eq(0.0).select(0.0, (c - low) * wanted / range))
}

/// The color shifted to a luminance, then compressed toward gray until all channels are within 0 to
/// 1.
fn with_luminance<'b>(c: Three<'b>, wanted: Val<'b>) -> Three<'b> {
    let shift = wanted - luminance(c);
    let c = c.map(|c| c + shift);
    let (low, high) = (least(c), greatest(c));
    let raised = c.map(|c| {
        let squeezed = wanted + (c - wanted) * wanted / (wanted - low);
        low.lt(0.0).select(squeezed, c)
    });
    raised.map(|c| {
        let squeezed = wanted + (c - wanted) * (1.0 - wanted) / (high - wanted);
        high.gt(1.0).select(squeezed, c)
    })
}

fn over() -> NodeDef {
    let def = NodeDef::new("color.over", "Composites one color over another")
        .details(
            "Neither inputs nor output have premultiplied alpha; where nothing is visible the \
             channels are 0. The error is at most 3e-7 for channels from 0 to 1.",
        )
        .source("the over operator of Porter and Duff, \"Compositing Digital Images\", 1984");
    color_input(color_input(def, "below", "color in the back"), "above", "color in the front")
        .output("value", Type::COLOR, "")
        .form(|_, inputs| {
            let (below, above) = (&inputs[0], &inputs[1]);
            let through = below[3] * (1.0 - above[3]);
            let alpha = above[3] + through;
            let lights = each(three(below), three(above), |b, a| {
                alpha.eq(0.0).select(0.0, (a * above[3] + b * through) / alpha)
            });
            vec![with_alpha(lights, alpha)]
        })
}
