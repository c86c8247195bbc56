//! Reading images: colors at points of the scene, sizes, pixels.

use std::sync::Arc;

use millstream_base::virtual_array::VirtualArray;
use millstream_base::{Color, Footprint, Image, Type, ValueType, Vec3};
use millstream_node::pace::Pace;
use millstream_node::{Call, Composition, Data, Failure, NodeDef, RegionUse, Settings};
use millstream_raster::place::Filter;
use millstream_raster::region::Edge;
use millstream_raster::sampler::Sampler;

use super::pixels::PixelLoop;
use crate::cells::{Cells, function_in_blocks, put_property};
use crate::shape::choices;

choices! {
    /// How a color between pixels is interpolated.
    pub(super) enum Between {
        Nearest = "nearest": "the nearest pixel",
        Linear = "linear": "linear between the four nearest pixels",
        Cubic = "cubic": "cubic through the sixteen nearest pixels",
    }
}

choices! {
    /// The continuation of an image beyond its edges.
    pub(super) enum Outside {
        Clear = "clear": "transparent: zero in all channels, including alpha",
        Extend = "extend": "the nearest pixel of the edge",
        Wrap = "wrap": "the image repeats",
        Mirror = "mirror": "the image repeats, alternately mirrored",
    }
}

/// Adds the setting that chooses a filter.
pub(super) fn with_filter(def: NodeDef) -> NodeDef {
    def.choice("filter", Between::ALL, "linear", "interpolation between pixels")
}

/// Adds the setting that chooses what lies beyond the edges.
pub(super) fn with_edge(def: NodeDef, default: &'static str) -> NodeDef {
    def.choice("outside", Outside::ALL, default, "continuation beyond the edges")
}

/// The filter that the settings choose.
pub(super) fn filter_of(settings: &Settings) -> Filter {
    match Between::named(settings.text("filter")) {
        Between::Nearest => Filter::Nearest,
        Between::Linear => Filter::Linear,
        Between::Cubic => Filter::Cubic,
    }
}

/// The continuation that the settings choose.
pub(super) fn edge_of(settings: &Settings) -> Edge {
    match Outside::named(settings.text("outside")) {
        Outside::Clear => Edge::Clear,
        Outside::Extend => Edge::Extend,
        Outside::Wrap => Edge::Wrap,
        Outside::Mirror => Edge::Mirror,
    }
}

/// The channels of a pixel as a color, premultiplied as stored; transparent if there are none.
pub(super) fn premultiplied(channels: &[f32]) -> Color {
    match *channels {
        [gray] => Color([gray, gray, gray, 1.0]),
        [gray, alpha] => Color([gray, gray, gray, alpha]),
        [r, g, b] => Color([r, g, b, 1.0]),
        [r, g, b, alpha] => Color([r, g, b, alpha]),
        _ => Color([0.0; 4]),
    }
}

/// The color with straight alpha.
pub(super) fn straight(Color([r, g, b, alpha]): Color) -> Color {
    let [r, g, b] = [r, g, b].map(|x| if alpha == 0.0 || alpha == 1.0 { x } else { x / alpha });
    Color([r, g, b, alpha])
}

pub(super) fn sample(pixels: &PixelLoop, sample_pixel: Arc<NodeDef>) -> NodeDef {
    let def = NodeDef::new("image.sample", "The color of an image at a point of the scene").details(
        "The image occupies the place in the scene of the view that it was made for; only x and y \
         of the position matter. The color does not have premultiplied alpha; within an image without \
         alpha, it is 1. An image of one channel gives gray.\n\nIn a field, at the position of the \
         pixel itself, this reads the same pixel of another image; at a changed position, it \
         distorts the image. Only the requested region of the image is available.",
    );
    let is_nearest =
        |settings: &Settings| matches!(Between::named(settings.text("filter")), Between::Nearest);
    let composition = Composition {
        input: 1,
        of: Arc::clone(&pixels.place),
        holds: is_nearest,
        both: sample_pixel,
    };
    with_edge(with_filter(def), "clear")
        .composition(composition)
        .region_use(|settings| match Between::named(settings.text("filter")) {
            Between::Nearest => RegionUse::AtPosition,
            Between::Linear | Between::Cubic => RegionUse::Whole,
        })
        .input("image", Type::of::<Image>(), "")
        .input("position", Type::VEC3, "point of the scene")
        .output("value", Type::COLOR, "")
        .kernel(|parts| {
            let how = (filter_of(parts.settings), edge_of(parts.settings));
            Ok(function_in_blocks(move |call| {
                let mut cells = Cells::<Color>::new(call);
                sample_at(call, how, &call.input::<Vec3>(1), &mut cells)?;
                cells.put(call);
                Ok(())
            }))
        })
}

/// Points that are sampled between two looks at the clock.
const POINTS: usize = 1 << 10;

/// The colors of the image at input 0 at a position for each element.
pub(super) fn sample_at(
    call: &Call<'_>,
    (filter, edge): (Filter, Edge),
    positions: &VirtualArray<'_, Vec3>,
    cells: &mut Cells<Color>,
) -> Result<(), Failure> {
    let at = |sampler: &Sampler<'_>, i: usize| {
        let Vec3([x, y, _]) = positions.get(i);
        let channels = sampler.at([x.into(), y.into()]);
        straight(premultiplied(&channels[..sampler.n_channels()]))
    };
    let Data::One(image) = call.argument(0).data() else {
        let images = call.input::<Image>(0);
        return cells.fill(call, |i| {
            let image = images.get(i);
            Ok(at(&Sampler::new(&image, filter, edge), i))
        });
    };
    let image = Image::from_value(image).expect("the argument is an image");
    let sampler = Sampler::new(&image, filter, edge);
    let is_all = call.mask().as_range() == Some(0..call.extent());
    if let (Some(points), Some(colors)) = (positions.as_slice().filter(|_| is_all), cells.all()) {
        return match image.n_channels() {
            1 => sample_in_order::<1>(&sampler, points, colors, call.pace()),
            2 => sample_in_order::<2>(&sampler, points, colors, call.pace()),
            3 => sample_in_order::<3>(&sampler, points, colors, call.pace()),
            _ => sample_in_order::<4>(&sampler, points, colors, call.pace()),
        };
    }
    cells.fill(call, |i| Ok(at(&sampler, i)))
}

/// The colors of an image of `N` channels at points.
fn sample_in_order<const N: usize>(
    sampler: &Sampler<'_>,
    points: &[Vec3],
    colors: &mut [Color],
    mut pace: Pace<'_>,
) -> Result<(), Failure> {
    for (colors, points) in colors.chunks_mut(POINTS).zip(points.chunks(POINTS)) {
        pace.work(4 * POINTS)?;
        sampler.each(
            points,
            colors,
            |Vec3([x, y, _])| [x.into(), y.into()],
            |channels: [f32; N], alpha| {
                let mut color = premultiplied(&channels);
                if N % 2 == 1 {
                    color.0[3] = alpha;
                }
                straight(color)
            },
        );
    }
    Ok(())
}

pub(super) fn information() -> NodeDef {
    NodeDef::new("image.information", "The size of an image and the view that it covers")
        .details(
            "An image from a file covers a view of its own, in which a pixel has the size of one \
             unit of the scene. With this view, `context.with_footprint` gives another image the \
             same size and place.",
        )
        .region_use(|_| RegionUse::Whole)
        .input("image", Type::of::<Image>(), "")
        .output("width", Type::I32, "width in pixels")
        .output("height", Type::I32, "height in pixels")
        .output("channels", Type::I32, "number of channels, 1 to 4")
        .output("view", Type::of::<Footprint>(), "the view, whose requested region it covers")
        .function(|call: &mut Call<'_>| {
            put_property(call, 0, |image: Image| Ok(image.width() as i32))?;
            put_property(call, 1, |image: Image| Ok(image.height() as i32))?;
            put_property(call, 2, |image: Image| Ok(image.n_channels() as i32))?;
            put_property(call, 3, |image: Image| Ok(image.view().clone()))
        })
}
