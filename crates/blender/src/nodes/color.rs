//! Colors by hue: Blender's formulas for HSV and HSL.

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{Default, NodeDef, Registry};

use super::held;
use millstream_nodes::kit::form_by_settings;

pub(super) fn register(registry: &mut Registry) {
    registry.register(combine());
    registry.register(separate());
    registry.register(gamma());
}

const SOLIDS: &[(&str, &str)] =
    &[("hsv", "hue, saturation, value"), ("hsl", "hue, saturation, lightness")];

/// Hue, saturation and value.
pub(super) fn rgb_to_hsv<'b>(rgb: &[Val<'b>]) -> [Val<'b>; 3] {
    let (r, g, b) = (rgb[0], rgb[1], rgb[2]);
    let swap = g.lt(b);
    let (high, low) = (swap.select(b, g), swap.select(g, b));
    let k: Val<'b> = swap.select(r.like(-1.0), 0.0);
    let red_is_less = r.lt(high);
    let top = red_is_less.select(high, r);
    let middle = red_is_less.select(r, high);
    let k = red_is_less.select(-2.0 / 6.0 - k, k);
    let least = red_is_less.select(middle.lt(low).select(middle, low), low);
    let chroma = top - least;
    let hue = (k + (middle - low) / (chroma * 6.0 + 1e-20)).abs();
    [hue, chroma / (top + 1e-20), top]
}

/// Red, green and blue of a pure hue.
fn hue_to_rgb(hue: Val<'_>) -> [Val<'_>; 3] {
    let from = |at: f32| (hue * 6.0 - at).abs();
    [from(3.0) - 1.0, 2.0 - from(2.0), 2.0 - from(4.0)].map(|x| held(x, 0.0, 1.0))
}

pub(super) fn hsv_to_rgb<'b>(hue: Val<'b>, saturation: Val<'b>, value: Val<'b>) -> [Val<'b>; 3] {
    hue_to_rgb(hue).map(|x| ((x - 1.0) * saturation + 1.0) * value)
}

/// Hue, saturation and lightness.
pub(super) fn rgb_to_hsl<'b>(rgb: &[Val<'b>]) -> [Val<'b>; 3] {
    let (r, g, b) = (rgb[0], rgb[1], rgb[2]);
    // If one of two numbers is NaN, the first is taken.
    let (greater, lesser) = (r.lt(g).select(g, r), g.lt(r).select(g, r));
    let (most, least) = (greater.lt(b).select(b, greater), b.lt(lesser).select(b, lesser));
    let middle = (most + least) / 2.0;
    let lightness = middle.gt(1.0).select(1.0, middle);
    let (gray, d) = (most.eq(least), most - least);
    let saturation = lightness.gt(0.5).select(d / (2.0 - most - least), d / (most + least));
    let turn: Val<'b> = g.lt(b).select(r.like(6.0), 0.0);
    let by_red = (g - b) / d + turn;
    let by_green = (b - r) / d + 2.0;
    let by_blue = (r - g) / d + 4.0;
    let hue = most.eq(r).select(by_red, most.eq(g).select(by_green, by_blue));
    [gray.select(0.0, hue / 6.0), gray.select(0.0, saturation), lightness]
}

pub(super) fn hsl_to_rgb<'b>(
    hue: Val<'b>,
    saturation: Val<'b>,
    lightness: Val<'b>,
) -> [Val<'b>; 3] {
    let chroma = (1.0 - (lightness * 2.0 - 1.0).abs()) * saturation;
    hue_to_rgb(hue).map(|x| (x - 0.5) * chroma + lightness)
}

fn solid_setting(def: NodeDef) -> NodeDef {
    def.choice("model", SOLIDS, "hsv", "meaning of the third number")
}

const PARTS: [(&str, &str); 4] = [
    ("hue", "0 red, 1/3 green, 2/3 blue, 1 red"),
    ("saturation", "0 gray, 1 full"),
    ("brightness", "value or lightness"),
    ("alpha", ""),
];

fn combine() -> NodeDef {
    let def = solid_setting(NodeDef::new(
        "blender.combine_color",
        "A color from hue, saturation and value or lightness",
    ))
    .details("A hue outside 0 to 1 is not wrapped into that range.");
    PARTS
        .iter()
        .fold(def, |def, (name, about)| {
            let opaque = if *name == "alpha" { 1.0 } else { 0.0 };
            def.input_or(*name, Type::F32, opaque, *about)
        })
        .output("value", Type::COLOR, "combined color")
        .kernel(form_by_settings(|settings, x| {
            let is_hsl = settings.text("model") == "hsl";
            let convert = if is_hsl { hsl_to_rgb } else { hsv_to_rgb };
            let rgb = convert(x[0][0], x[1][0], x[2][0]);
            vec![vec![rgb[0], rgb[1], rgb[2], x[3][0]]]
        }))
}

fn separate() -> NodeDef {
    let def = solid_setting(NodeDef::new(
        "blender.separate_color",
        "The hue, saturation and value or lightness of a color",
    ))
    .input_or("color", Type::COLOR, Default::Zero, "");
    PARTS.iter().fold(def, |def, (name, about)| def.output(*name, Type::F32, *about)).kernel(
        form_by_settings(|settings, inputs| {
            let is_hsl = settings.text("model") == "hsl";
            let convert = if is_hsl { rgb_to_hsl } else { rgb_to_hsv };
            let [hue, saturation, brightness] = convert(&inputs[0]);
            vec![vec![hue], vec![saturation], vec![brightness], vec![inputs[0][3]]]
        }),
    )
}

fn gamma() -> NodeDef {
    NodeDef::new("blender.gamma", "Raises the channels of a color to a power")
        .details("Channels that are 0 or negative do not change, and neither does alpha.")
        .input_or("color", Type::COLOR, Default::Zero, "")
        .input_or("gamma", Type::F32, 1.0, "exponent")
        .output("value", Type::COLOR, "")
        .form(|_, inputs| {
            let (color, gamma) = (&inputs[0], inputs[1][0]);
            let mut result: Vec<Val<'_>> =
                color[..3].iter().map(|x| x.le(0.0).select(*x, x.pow(gamma))).collect();
            result.push(color[3]);
            vec![result]
        })
}
