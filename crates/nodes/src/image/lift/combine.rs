//! An image made from images of one channel each.

use millstream_base::{Image, Type};
use millstream_form::Val;
use millstream_node::{NodeDef, PartSource, Registry, Settings, Signature};

use super::{Alpha, Lift};
use crate::image::weave::{Weave, input};
use crate::shape::{form_by_settings, sockets_of};

const CHANNELS: &[(&str, &str)] = &[
    ("gray_alpha", "gray and alpha"),
    ("rgb", "red, green and blue"),
    ("rgba", "red, green, blue and alpha"),
];

/// The names of the channels, and the type of a pixel.
fn channels(settings: &Settings) -> (&'static [&'static str], Type) {
    match settings.text("channels") {
        "gray_alpha" => (&["gray", "alpha"], Type::VEC2),
        "rgba" => (&["red", "green", "blue", "alpha"], Type::COLOR),
        _ => (&["red", "green", "blue"], Type::VEC3),
    }
}

pub(super) fn register(registry: &mut Registry, lift: &Lift) {
    let of_pixels = registry.register_part(of_pixels());
    let lift = lift.clone();
    let def = NodeDef::new("image.combine", "An image whose channels are images")
        .details(
            "The first channel of each image becomes a channel of the result; the others are \
             premultiplied by alpha. This is the inverse of `image.separate`. The result has the \
             pixels of the first image, onto which the others are placed.",
        )
        .choice("channels", CHANNELS, "rgb", "channels of the result")
        .sockets_by_settings(|settings| {
            Ok(sockets(settings, Type::of::<Image>(), Type::of::<Image>()))
        })
        .network(move |parts| {
            let mut weave = Weave::default();
            let mut sources: Vec<PartSource> = (0..parts.inputs.len()).map(input).collect();
            let images: Vec<usize> = (0..sources.len()).collect();
            let (view, region) = lift.read(&mut weave, &mut sources, &images, Alpha::Straight);
            let settings = parts.settings.clone();
            let pixel = weave.part_with("combined", &of_pixels, settings, &[], &sources).into();
            let (_, ty) = channels(parts.settings);
            let image = lift.pixels.gathered(&mut weave, (ty, pixel), region, view);
            Ok(weave.outputs(&[image]))
        });
    registry.register(def);
}

fn sockets(settings: &Settings, of_channels: Type, whole: Type) -> Signature {
    let (names, _) = channels(settings);
    let def =
        names.iter().fold(NodeDef::new("", ""), |def, name| def.input(*name, of_channels, ""));
    sockets_of(&def.output("value", whole, ""))
}

fn of_pixels() -> NodeDef {
    NodeDef::new("image.combine_pixel", "The first channels of pixels as one pixel, premultiplied")
        .choice("channels", CHANNELS, "rgb", "channels of the result")
        .sockets_by_settings(|settings| Ok(sockets(settings, Type::COLOR, channels(settings).1)))
        .kernel(form_by_settings(|_, x| {
            let mut channels: Vec<Val<'_>> = x.iter().map(|pixel| pixel[0]).collect();
            if matches!(channels.len(), 2 | 4)
                && let Some((alpha, colors)) = channels.split_last_mut()
            {
                for color in colors {
                    *color = *color * *alpha;
                }
            }
            vec![channels]
        }))
}
