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

/// A node that adjusts a color, but not its alpha, by numbers.
fn adjusting(
    name: &'static str,
    summary: &'static str,
    inputs: &[(&'static str, f64, &'static str)],
    change: impl for<'b> Fn(Three<'b>, &[Val<'b>]) -> Three<'b> + Send + Sync + 'static,
) -> NodeDef {
    let def = color_input(NodeDef::new(name, summary), "color", "");
    inputs
        .iter()
        .fold(def, |def, (name, default, about)| def.input_or(*name, Type::F32, *default, *about))
        .output("value", Type::COLOR, "")
        .form(move |_, inputs| {
            let numbers: Vec<Val<'_>> = inputs[1..].iter().map(|x| x[0]).collect();
            vec![with_alpha(change(three(&inputs[0]), &numbers), inputs[0][3])]
        })
}

fn hue_saturation() -> NodeDef {
    let inputs = [
        ("hue", 0.0, "rotation around the color wheel, added to the hue; 1 is a full turn"),
        ("saturation", 1.0, "factor of the saturation, which is clamped to 0 to 1"),
        ("value", 1.0, "factor of the value"),
    ];
    adjusting(
        "color.hue_saturation",
        "Adjusts the hue, saturation and value of a color",
        &inputs,
        |c, x| {
            let [h, s, v] = to_hsv(c);
            from_hsv([h + x[0], (s * x[1]).clamp(0.0, 1.0), v * x[2]])
        },
    )
    .details("Uses hue, saturation and value of the linear channels. Alpha does not change.")
}

fn brightness_contrast() -> NodeDef {
    let inputs = [
        ("brightness", 0.0, "number added to each channel"),
        ("contrast", 1.0, "factor of the distance of each channel from 0.5; 1 changes nothing"),
    ];
    adjusting(
        "color.brightness_contrast",
        "Adjusts the brightness and contrast of a color",
        &inputs,
        |c, x| c.map(|c| (c - 0.5) * x[1] + 0.5 + x[0]),
    )
    .details(
        "(c - 0.5) * contrast + 0.5 + brightness for each channel c; alpha does not change. The \
         result is not clamped.",
    )
}

fn gamma() -> NodeDef {
    let inputs = [("gamma", 1.0, "exponent")];
    adjusting("color.gamma", "Raises the channels of a color to a power", &inputs, |c, x| {
        c.map(|c| c.le(0.0).select(c, c.pow(x[0])))
    })
    .details("Channels that are 0 or negative do not change, and neither does alpha.")
}

fn exposure() -> NodeDef {
    let inputs = [("stops", 0.0, "exposure in stops; each stop doubles the light")];
    adjusting("color.exposure", "Adjusts the exposure of a color", &inputs, |c, x| {
        let factor = x[0].exp2();
        c.map(|c| c * factor)
    })
    .details(
        "Each channel times 2 to the power of the stops; alpha does not change. The relative error \
         is at most 2e-7.",
    )
}

fn invert() -> NodeDef {
    let inputs = [("factor", 1.0, "strength: 0 returns the color, 1 its inverse")];
    adjusting("color.invert", "Inverts a color", &inputs, |c, x| {
        c.map(|c| c * (1.0 - x[0]) + (1.0 - c) * x[0])
    })
    .details(
        "1 - c for each channel c, mixed with c by the factor; alpha does not change. The error is \
         at most 2e-7 for channels from 0 to 1.",
    )
}

fn desaturate() -> NodeDef {
    let inputs = [("factor", 1.0, "strength: 0 returns the color, 1 a gray of the same luminance")];
    adjusting("color.desaturate", "Desaturates a color", &inputs, |c, x| {
        let grey = luminance(c);
        each(c, [grey; 3], |c, grey| c * (1.0 - x[0]) + grey * x[0])
    })
    .details(
        "Mixes each channel with the luminance by the factor; alpha does not change. The error is \
         at most 3e-7 for channels from 0 to 1.",
    )
}

fn premultiply() -> NodeDef {
    let def = NodeDef::new("color.premultiply", "Multiplies the channels of a color by its alpha")
        .details("Each channel is rounded once: its relative error is at most 6e-8.");
    color_input(def, "color", "").output("value", Type::COLOR, "").form(|_, inputs| {
        let alpha = inputs[0][3];
        vec![with_alpha(three(&inputs[0]).map(|c| c * alpha), alpha)]
    })
}

fn unpremultiply() -> NodeDef {
    let def = NodeDef::new("color.unpremultiply", "Divides the channels of a color by its alpha")
        .details(
            "If alpha is 0, the channels do not change. Each channel is rounded once: its relative \
             error is at most 6e-8.",
        );
    color_input(def, "color", "color with premultiplied alpha")
        .output("value", Type::COLOR, "")
        .form(|_, inputs| {
            let alpha = inputs[0][3];
            let channels = three(&inputs[0]).map(|c| alpha.eq(0.0).select(c, c / alpha));
            vec![with_alpha(channels, alpha)]
        })
}
