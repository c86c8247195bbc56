//! Images sampled where a pixel of a loop lies: at best the same pixel of the image.

use millstream_base::derived::{Channel, Derivation};
use millstream_base::map::Map;
use millstream_base::{Color, Column, Image, Mat4, Type, ValueType};
use millstream_node::{Call, Data, NodeDef, RegionUse};
use millstream_raster::place::Filter;
use millstream_raster::region::Edge;
use millstream_raster::sampler::Sampler;

use super::pixels::{center, column_and_row_of};
use super::sample::{edge_of, premultiplied, straight, with_edge, with_filter};
use crate::cells::{Cells, function};

/// The nearest pixel to the center of another pixel: `image.sample` of `image.place_of_pixel`.
pub(super) fn sample_pixel() -> NodeDef {
    let def = NodeDef::new("image.sample_pixel", "The color of an image at the center of a pixel");
    with_edge(with_filter(def), "clear")
        .region_use(|_| RegionUse::AtPixel)
        .input("image", Type::of::<Image>(), "")
        .input("number", Type::I32, "number of the pixel in the region")
        .input("left", Type::I32, "first column of the region")
        .input("lower", Type::I32, "first row of the region")
        .input("width", Type::I32, "number of columns of the region")
        .input("transform", Type::MAT4, "from pixels to the scene")
        .output("value", Type::COLOR, "")
        .kernel(|parts| {
            let edge = edge_of(parts.settings);
            Ok(function(move |call| {
                if let Some(colors) = all_pixels(call, edge) {
                    call.set(0, colors);
                    return Ok(());
                }
                let mut cells = Cells::<Color>::new(call);
                match call.argument(0).data() {
                    Data::One(image) => {
                        let image = Image::from_value(image).expect("the argument is an image");
                        let sampler = Sampler::new(&image, Filter::Nearest, edge);
                        cells.fill(call, |i| Ok(at(call, &sampler, image.n_channels(), i)))?;
                    }
                    Data::Many(_) => {
                        let images = call.input::<Image>(0);
                        cells.fill(call, |i| {
                            let image = images.get(i);
                            let sampler = Sampler::new(&image, Filter::Nearest, edge);
                            Ok(at(call, &sampler, image.n_channels(), i))
                        })?;
                    }
                }
                cells.put(call);
                Ok(())
            }))
        })
}

/// The color for element `i`.
fn at(call: &Call<'_>, sampler: &Sampler<'_>, n_channels: usize, i: usize) -> Color {
    let [number, left, lower, width] = [1, 2, 3, 4].map(|k| call.input::<i32>(k).get(i));
    let [column, row] = column_and_row_of(number, [left, lower, width]);
    let transform = call.input::<Mat4>(5).get(i);
    let color = sampler.at(center(&transform, column, row));
    straight(premultiplied(&color[..n_channels]))
}

/// The colors if all pixels of the image are called for in order.
fn all_pixels(call: &Call<'_>, edge: Edge) -> Option<Column> {
    let Data::One(image) = call.argument(0).data() else { return None };
    let image = Image::from_value(image)?;
    let n = image.pixels().len();
    if call.extent() != n || !is_in_order(call, 1) || !covers(call, &image, edge) {
        return None;
    }
    Some(all_colors(&image))
}

/// Whether the number at each element is the position of the element.
pub(super) fn is_in_order(call: &Call<'_>, input: usize) -> bool {
    let Data::Many(column) = call.argument(input).data() else { return false };
    match column.derivation() {
        Some(Derivation::Range(range)) if call.argument(input).map() == Map::Each => {
            range.start == 0
        }
        _ => {
            let numbers = call.input::<i32>(input);
            (0..call.extent()).all(|i| usize::try_from(numbers.get(i)) == Ok(i))
        }
    }
}

/// Whether the image consists of the pixels that lie at the centers.
fn covers(call: &Call<'_>, image: &Image, edge: Edge) -> bool {
    let one = |k: usize| match call.argument(k).data() {
        Data::One(value) => i32::from_value(value),
        Data::Many(_) => None,
    };
    let Data::One(transform) = call.argument(5).data() else { return false };
    let (Some(transform), view) = (Mat4::from_value(transform), image.view()) else { return false };
    let [left, lower, ..] = view.crop;
    one(2) == Some(left)
        && one(3) == Some(lower)
        && one(4) == Some(image.width() as i32)
        && Sampler::new(image, Filter::Nearest, edge)
            .is_nearest_to_centers([left, lower], |column, row| center(&transform, column, row))
}

/// The colors of all pixels with alpha that is not premultiplied.
fn all_colors(image: &Image) -> Column {
    if !image.has_alpha() {
        return premultiplied_colors(image);
    }
    let n = image.n_channels();
    let colors = image.channels().chunks_exact(n).map(|pixel| straight(premultiplied(pixel)));
    colors.collect()
}

/// The colors of all pixels, premultiplied.
pub(super) fn premultiplied_colors(image: &Image) -> Column {
    let pixels = image.pixels();
    let lane = |k| Channel::Lane(pixels.clone(), k);
    let channels = match image.n_channels() {
        1 => [lane(0), lane(0), lane(0), Channel::Same(1.0)],
        2 => [lane(0), lane(0), lane(0), lane(1)],
        3 => [lane(0), lane(1), lane(2), Channel::Same(1.0)],
        _ => return pixels.clone(),
    };
    Column::colors(channels, pixels.len())
}
