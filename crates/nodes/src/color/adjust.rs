//! Corrections of colors.

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{NodeDef, Registry};

use super::spaces::{from_hsv, to_hsv};
use super::{Three, color_input, each, luminance, three, with_alpha};

pub(super) fn register(registry: &mut Registry) {
    registry.register(hue_saturation());
    registry.register(brightness_contrast());
    registry.register(gamma());
    registry.register(exposure());
    registry.register(invert());
    registry.register(desaturate());
    registry.register(premultiply());
    registry.register(unpremultiply());
}

/// A node that changes a color by numbers, alpha apart.
fn adjusting(
    name: &'static str,
    summary: &'static str,
    inputs: &[(&'static str, f64, &'static str)],
    change: impl for<'b> Fn(Three<'b>, &[Val<'b>]) -> Three<'b> + Send + Sync + 'static,
) -> NodeDef {
    let def = color_input(NodeDef::new(name, summary), "color", "");
    inputs
        .iter()
        .fold(def, |def, (name, default, about)| {
            def.input(*name, Type::F32, *about).or_number(*default)
        })
        .output("value", Type::COLOR, "")
        .form(move |_, inputs| {
            let numbers: Vec<Val<'_>> = inputs[1..].iter().map(|x| x[0]).collect();
            vec![with_alpha(change(three(&inputs[0]), &numbers), inputs[0][3])]
        })
}

fn hue_saturation() -> NodeDef {
    let inputs = [
        ("hue", 0.0, "turns around the wheel of colors that are added; 1 is once around"),
        ("saturation", 1.0, "factor of the saturation, which is kept between 0 and 1"),
        ("value", 1.0, "factor of the value"),
    ];
    adjusting(
        "color.hue_saturation",
        "A color with another hue, saturation or value",
        &inputs,
        |c, x| {
            let [h, s, v] = to_hsv(c);
            from_hsv([h + x[0], (s * x[1]).clamp(0.0, 1.0), v * x[2]])
        },
    )
    .details("By way of hue, saturation and value of the linear channels. Alpha stays.")
}

fn brightness_contrast() -> NodeDef {
    let inputs = [
        ("brightness", 0.0, "what is added"),
        ("contrast", 1.0, "how far channels are moved away from 0.5; 1 leaves them"),
    ];
    adjusting("color.brightness_contrast", "A color, brighter or with more contrast", &inputs, |c, x| {
        c.map(|c| (c - 0.5) * x[1] + 0.5 + x[0])
    })
    .details("(c - 0.5) * contrast + 0.5 + brightness for each channel; alpha stays. Nothing is cut off.")
}

fn gamma() -> NodeDef {
    let inputs = [("gamma", 1.0, "the exponent")];
    adjusting("color.gamma", "A color with its channels to a power", &inputs, |c, x| {
        c.map(|c| c.le(0.0).select(c, c.pow(x[0])))
    })
    .details("Channels at 0 and below stay, and so does alpha.")
}

fn exposure() -> NodeDef {
    let inputs = [("stops", 0.0, "each doubles the light")];
    adjusting("color.exposure", "A color in more or less light", &inputs, |c, x| {
        let factor = x[0].exp2();
        c.map(|c| c * factor)
    })
    .details(
        "Each channel times 2 to the power of the stops; alpha stays. Off by at most 2e-7 of itself.",
    )
}

fn invert() -> NodeDef {
    let inputs = [("factor", 1.0, "0: the color as it is, 1: the opposite")];
    adjusting("color.invert", "The opposite color", &inputs, |c, x| {
        c.map(|c| c * (1.0 - x[0]) + (1.0 - c) * x[0])
    })
    .details(
        "1 - c for each channel, mixed by the factor; alpha stays. Off by at most 2e-7 for channels \
         from 0 to 1.",
    )
}

fn desaturate() -> NodeDef {
    let inputs = [("factor", 1.0, "0: the color as it is, 1: grey of the same luminance")];
    adjusting("color.desaturate", "A color without its hue", &inputs, |c, x| {
        let grey = luminance(c);
        each(c, [grey; 3], |c, grey| c * (1.0 - x[0]) + grey * x[0])
    })
    .details(
        "Mixed with the luminance by the factor; alpha stays. Off by at most 3e-7 for channels from \
         0 to 1.",
    )
}

fn premultiply() -> NodeDef {
    let def = NodeDef::new("color.premultiply", "A color with alpha multiplied in")
        .details("Off by at most 6e-8 of itself: each channel is rounded once.");
    color_input(def, "color", "").output("value", Type::COLOR, "").form(|_, inputs| {
        let alpha = inputs[0][3];
        vec![with_alpha(three(&inputs[0]).map(|c| c * alpha), alpha)]
    })
}

fn unpremultiply() -> NodeDef {
    let def = NodeDef::new("color.unpremultiply", "A color with alpha divided out")
        .details(
            "Where alpha is 0 the channels stay. Off by at most 6e-8 of itself: each channel is rounded \
             once.",
        );
    color_input(def, "color", "with alpha multiplied in").output("value", Type::COLOR, "").form(
        |_, inputs| {
            let alpha = inputs[0][3];
            let channels = three(&inputs[0]).map(|c| alpha.eq(0.0).select(c, c / alpha));
            vec![with_alpha(channels, alpha)]
        },
    )
}
