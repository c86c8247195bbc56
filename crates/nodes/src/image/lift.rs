//! Image nodes that do to each pixel what a node on colors does.

mod combine;

use std::sync::Arc;

use millstream_base::{Color, Column, Footprint, Image, Type, ValueType};
use millstream_node::signature::SocketType;
use millstream_node::{Call, Data, NodeDef, PartSource, RegionUse, Registry};
use millstream_raster::place::{Filter, place};
use millstream_raster::region::Edge;

use super::pixels::{PixelLoop, n_pixels};
use super::sample::premultiplied;
use super::sample_pixel::{is_in_order, premultiplied_colors};
use super::weave::{Made, Weave, input};
use crate::cells::{Cells, at, function, put_property};
use crate::color::{color_input, luminance, three};
use crate::mix::mix;

/// The node types of the family `color` that have a counterpart of the same name on images.
const LIFTED: [&str; 18] = [
    "adapt",
    "blend",
    "brightness_contrast",
    "composite",
    "desaturate",
    "difference",
    "exposure",
    "gamma",
    "hue_saturation",
    "invert",
    "levels",
    "luminance",
    "mix",
    "over",
    "posterize",
    "separate",
    "slope_offset_power",
    "tone_map",
];

/// The node types from which these nodes are made.
#[derive(Clone)]
struct Lift {
    pixels: PixelLoop,
    view: Arc<NodeDef>,
    on_view: Arc<NodeDef>,
    pixel: Arc<NodeDef>,
    unpremultiply: Arc<NodeDef>,
}

/// Whether the work on a pixel takes and returns premultiplied colors.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Alpha {
    Straight,
    Premultiplied,
}

pub(super) fn register(registry: &mut Registry, pixels: &PixelLoop) {
    let on_view = registry.register_part(on_view());
    let pixel = registry.register_part(pixel());
    let view = registry.register_part(view());
    let known = |registry: &Registry, name: &str| {
        Arc::clone(registry.get(name).expect("the node type exists"))
    };
    let lift = Lift {
        pixels: pixels.clone(),
        view,
        unpremultiply: known(registry, "color.unpremultiply"),
        on_view,
        pixel,
    };
    let of_colors = LIFTED.map(|name| (format!("color.{name}"), format!("image.{name}")));
    for (of, name) in of_colors.into_iter().chain([("curve.rgb".into(), "image.curves".into())]) {
        let of_colors = known(registry, &of);
        let summary = format!("{}, for each pixel of an image", of_colors.manual.summary);
        let def = NodeDef::new(name, summary).details(format!(
            "Applies `{of}` to each pixel, without premultiplied alpha. The \
             result has the pixels of the first image, onto which other images are placed.",
        ));
        registry.register(lift.node(def, of_colors, Alpha::Straight));
    }
    combine::register(registry, &lift);
    for (def, of, alpha) in [mask(), threshold()] {
        let of = registry.register_part(of);
        registry.register(lift.node(def, of, alpha));
    }
}

impl Lift {
    /// Builds a node type on images from a node type on colors with fixed sockets.
    fn node(&self, mut def: NodeDef, of: Arc<NodeDef>, alpha: Alpha) -> NodeDef {
        let sockets = of.fixed_signature().expect("its sockets are fixed").clone();
        let is_color = |ty: &SocketType| matches!(ty, SocketType::Exact(ty) if *ty == Type::COLOR);
        let image = Type::of::<Image>();
        let mut images = Vec::new();
        def.settings.clone_from(&of.settings);
        for (i, socket) in sockets.inputs.into_iter().enumerate() {
            if is_color(&socket.ty) {
                let name = if socket.name == "color" { "image".into() } else { socket.name };
                images.push(i);
                def = def.input(name, image, socket.about);
            } else {
                def = def.input_or(socket.name, socket.ty, socket.default, socket.about);
            }
        }
        for output in sockets.outputs {
            def = def.output(output.name, image, output.about);
        }
        let lift = self.clone();
        def.network(move |parts| {
            let mut weave = Weave::default();
            let mut sources: Vec<PartSource> = (0..parts.inputs.len()).map(input).collect();
            let (view, region) = lift.read(&mut weave, &mut sources, &images, alpha);
            let settings = parts.settings.clone();
            let changed =
                weave.part_of_author("changed", &of, settings, parts.generics, &sources)?;
            let outputs: Vec<PartSource> = (0..parts.outputs.len())
                .map(|k| {
                    let ty = weave.type_of(changed, k);
                    let mut pixel = changed.output(k as u32);
                    if alpha == Alpha::Straight {
                        pixel = lift.pixels.premultiplied(&mut weave, (ty, pixel));
                    }
                    lift.pixels.gathered(&mut weave, (ty, pixel), region, view)
                })
                .collect();
            Ok(weave.outputs(&outputs))
        })
    }

    /// Replaces images by the colors of their pixels, in a loop over the pixels of the first image.
    /// Returns the view and the region of the loop.
    fn read(
        &self,
        weave: &mut Weave,
        sources: &mut [PartSource],
        images: &[usize],
        alpha: Alpha,
    ) -> (PartSource, Made) {
        let view = weave.part("view", &self.view, &[], &[sources[images[0]]]).into();
        let region = self.pixels.region(weave, view);
        let number = self.pixels.number(weave);
        for i in images {
            let mut image = sources[*i];
            if *i != images[0] {
                image = weave.part("placed", &self.on_view, &[], &[image, view]).into();
            }
            let pixel = weave.part("pixel", &self.pixel, &[], &[image, number]).into();
            sources[*i] = match alpha {
                Alpha::Premultiplied => pixel,
                Alpha::Straight => {
                    weave.part("straight", &self.unpremultiply, &[], &[pixel]).into()
                }
            };
        }
        (view, region)
    }
}

fn mask() -> (NodeDef, NodeDef, Alpha) {
    let def = NodeDef::new("image.mask", "Mixes two images by a mask").details(
        "The result is `a` where the first channel of the mask is 0, `b` where it is 1, and in \
         between a premultiplied mixture of both. It has the pixels of `a`, onto which the other \
         images are placed.",
    );
    let of = NodeDef::new("image.mask_pixel", "Mixes two pixels by a third one");
    let of =
        color_input(color_input(of, "a", "the image where the mask is 0"), "b", "where it is 1");
    let of = color_input(of, "mask", "").output("value", Type::COLOR, "").form(|_, x| {
        let factor = x[2][0];
        vec![(0..4).map(|k| mix(x[0][k], x[1][k], factor)).collect()]
    });
    (def, of, Alpha::Premultiplied)
}

fn threshold() -> (NodeDef, NodeDef, Alpha) {
    let def = NodeDef::new(
        "image.threshold",
        "A mask of where an image is at least as bright as a level",
    )
    .details("1 where the luminance is at least the level, 0 elsewhere.");
    let of = NodeDef::new("image.threshold_pixel", "Whether a pixel is as bright as a level");
    let of = color_input(of, "color", "")
        .input_or("level", Type::F32, 0.5, "least luminance that counts")
        .output("value", Type::F32, "one channel")
        .form(|_, x| {
            let is_bright = luminance(three(&x[0])).ge(x[1][0]);
            vec![vec![is_bright.select(x[1][0].like(1.0), x[1][0].like(0.0))]]
        });
    (def, of, Alpha::Straight)
}

fn view() -> NodeDef {
    NodeDef::new("image.view", "The view that an image covers")
        .region_use(|_| RegionUse::ViewOf)
        .input("image", Type::of::<Image>(), "")
        .output("value", Type::of::<Footprint>(), "")
        .function(|call: &mut Call<'_>| {
            put_property(call, 0, |image: Image| Ok(image.view().clone()))
        })
}

fn on_view() -> NodeDef {
    NodeDef::new("image.on_view", "An image placed on the pixels of a view")
        .region_use(|_| RegionUse::Places)
        .input("image", Type::of::<Image>(), "")
        .input("view", Type::of::<Footprint>(), "")
        .output("value", Type::of::<Image>(), "")
        .kernel(|_| {
            Ok(function(|call| {
                let mut cells = Cells::<Image>::new(call);
                let (images, views) = (call.input::<Image>(0), call.input::<Footprint>(1));
                let (limits, mut pace) = (call.limits(), call.pace());
                cells.fill(call, |i| {
                    let view = views.get(i);
                    n_pixels(&view, limits).map_err(|failure| at(failure, i))?;
                    let (image, how) = (images.get(i), (Filter::Linear, Edge::Clear));
                    if *image.view() == view {
                        // Its pixels are read as colors, so alpha need not be stored.
                        return Ok(image);
                    }
                    place(&image, &view, how, |n| pace.work(8 * n))
                })?;
                cells.put(call);
                Ok(())
            }))
        })
}

fn pixel() -> NodeDef {
    NodeDef::new("image.pixel", "A pixel of an image, premultiplied")
        .region_use(|_| RegionUse::Part)
        .input("image", Type::of::<Image>(), "")
        .input("number", Type::I32, "number of the pixel in the image")
        .output("value", Type::COLOR, "")
        .function(|call: &mut Call<'_>| {
            if let Some(pixels) = all_pixels(call) {
                call.set(0, pixels);
                return Ok(());
            }
            let mut cells = Cells::<Color>::new(call);
            let (images, numbers) = (call.input::<Image>(0), call.input::<i32>(1));
            cells.fill(call, |i| Ok(pixel_of(&images.get(i), numbers.get(i) as usize)))?;
            cells.put(call);
            Ok(())
        })
}

/// The pixels of the image, if the call reads all pixels of a single image in order.
fn all_pixels(call: &Call<'_>) -> Option<Column> {
    let Data::One(image) = call.argument(0).data() else { return None };
    let image = Image::from_value(image)?;
    let is_all = call.extent() == image.pixels().len() && is_in_order(call, 1);
    is_all.then(|| premultiplied_colors(&image))
}

/// A pixel as a premultiplied color; transparent if the image lacks it.
fn pixel_of(image: &Image, number: usize) -> Color {
    let n = image.n_channels();
    premultiplied(image.channels().get(number * n..(number + 1) * n).unwrap_or_default())
}
