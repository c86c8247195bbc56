//! Colors: channels, luminance, the sRGB transfer curve.

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{Default, NodeDef, Registry};

use super::spaces::{decoded, encoded};

pub(super) fn register(registry: &mut Registry) {
    registry.register(combine());
    registry.register(separate());
    registry.register(luminance());
    registry.register(from_srgb());
    registry.register(to_srgb());
}

const CHANNELS: [&str; 4] = ["red", "green", "blue", "alpha"];

fn combine() -> NodeDef {
    let def = NodeDef::new("color.combine", "A color from its channels")
        .details("Linear light with BT.709 primaries; alpha is not premultiplied.");
    CHANNELS
        .iter()
        .fold(def, |def, name| {
            let opaque = if *name == "alpha" { 1.0 } else { 0.0 };
            def.input_or(*name, Type::F32, opaque, "")
        })
        .output("value", Type::COLOR, "combined color")
        .form(|_, inputs| vec![inputs.iter().map(|x| x[0]).collect()])
}

fn separate() -> NodeDef {
    let def = NodeDef::new("color.separate", "The channels of a color")
        .converts()
        .details("Linear light with BT.709 primaries; alpha is not premultiplied.")
        .input_or("color", Type::COLOR, Default::Zero, "");
    CHANNELS
        .iter()
        .fold(def, |def, name| def.output(*name, Type::F32, ""))
        .form(|_, inputs| inputs[0].iter().map(|x| vec![*x]).collect())
}

fn luminance() -> NodeDef {
    NodeDef::new("color.luminance", "The luminance of a color")
        .converts()
        .details(
            "The luminance of linear light with BT.709 primaries; alpha is ignored. The relative \
             error is at most 3e-7.",
        )
        .source("the luminance row of the BT.709 RGB-to-XYZ matrix: 0.2126, 0.7152, 0.0722")
        .input_or("color", Type::COLOR, Default::Zero, "")
        .output("value", Type::F32, "luminance, in the unit of the channels")
        .form(|_, inputs| vec![vec![super::luminance(super::three(&inputs[0]))]])
}

/// A node that changes each channel except alpha.
fn by_channel(
    name: &'static str,
    summary: &'static str,
    channel: impl for<'b> Fn(Val<'b>) -> Val<'b> + Send + Sync + 'static,
) -> NodeDef {
    NodeDef::new(name, summary)
        .source("IEC 61966-2-1")
        .input_or("color", Type::COLOR, Default::Zero, "")
        .output("value", Type::COLOR, "")
        .form(move |_, inputs| {
            let color = &inputs[0];
            let mut changed: Vec<Val<'_>> = color[..3].iter().map(|x| channel(*x)).collect();
            changed.push(color[3]);
            vec![changed]
        })
}

fn from_srgb() -> NodeDef {
    by_channel("color.from_srgb", "Converts sRGB values to linear light", decoded).details(
        "For colors picked on a screen or read from an 8-bit image and divided by 255. Alpha does \
         not change. The linear segment extends below 0 and the curve above 1. The relative error \
         is at most 1e-6 per channel.",
    )
}

fn to_srgb() -> NodeDef {
    by_channel("color.to_srgb", "Converts linear light to sRGB values", encoded).details(
        "Alpha does not change. The linear segment extends below 0 and the curve above 1. The \
             relative error is at most 1e-6 per channel.",
    )
}
