//! Images sampled where a pixel of a loop lies: at best the same pixel of the image.

use std::sync::Arc;

use millstream_base::derived::{Channel, Derivation};
use millstream_base::map::Map;
use millstream_base::virtual_array::VirtualArray;
use millstream_base::{Color, Column, Image, Mask, Mat4, Type, ValueType, Vec3};
use millstream_form::{ColumnScratch, Form, LaneInput, LaneOutput, run_columns};
use millstream_node::{Call, Data, Kernel, NodeDef, RegionUse, Settings};
use millstream_raster::place::Filter;
use millstream_raster::region::Edge;
use millstream_raster::sampler::Sampler;

use super::pixels::PixelLoop;
use super::sample::{edge_of, premultiplied, sample_at, straight, with_edge, with_filter};
use crate::cells::{Cells, function};

/// The nearest pixel to the center of another pixel: `image.sample` of `image.place_of_pixel`.
pub(super) fn sample_pixel(pixels: &PixelLoop) -> NodeDef {
    let place = pixels.place.instantiate(Settings::default(), Vec::new(), &[1; 5]);
    let Kernel::Form(place) = place.expect("it has no settings").kernel else {
        panic!("the center of a pixel is a form")
    };
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
        .kernel(move |parts| {
            let (edge, place) = (edge_of(parts.settings), Arc::clone(&place));
            Ok(function(move |call| {
                let region = Region::read(call, &place);
                if let Some(colors) = all_pixels(call, &region, edge) {
                    call.set(0, colors);
                    return Ok(());
                }
                let centers = region.centers(region.integers(0), call.extent(), call.mask());
                let positions = VirtualArray::mapped(&centers, Map::Each, centers.len());
                let mut cells = Cells::<Color>::new(call);
                sample_at(call, (Filter::Nearest, edge), &positions, &mut cells)?;
                cells.put(call);
                Ok(())
            }))
        })
}

/// The inputs of `image.place_of_pixel`.
struct Region<'c> {
    place: &'c Form,
    /// The number of the pixel, left, lower, width and transform; a single value as a column of one
    /// entry.
    columns: [(Column, Map<'c>); 5],
}

impl<'c> Region<'c> {
    fn read(call: &'c Call<'_>, place: &'c Form) -> Self {
        let columns = [1, 2, 3, 4, 5].map(|k| match call.argument(k).data() {
            Data::One(value) => (Column::filled(value, 1), Map::Single),
            Data::Many(column) => (column.clone(), call.argument(k).map()),
        });
        Self { place, columns }
    }

    /// The parameter of the form for one of the integers.
    fn integers(&self, k: usize) -> LaneInput<'_> {
        let (column, map) = &self.columns[k];
        let lanes = column.as_slice::<i32>().expect("the argument has the signature's type");
        LaneInput::Lanes { lanes: lanes.into(), offset: 0, stride: 1, map: *map }
    }

    /// The value of an input, if it is the same for all elements.
    fn one<T: ValueType>(&self, k: usize) -> Option<T> {
        let (column, map) = &self.columns[k];
        if *map == Map::Single { T::from_value(&column.get(0)) } else { None }
    }

    /// The centers of pixels with these numbers.
    fn centers(&self, number: LaneInput<'_>, n: usize, mask: &Mask) -> Vec<Vec3> {
        let (transform, map) = &self.columns[4];
        let lanes = transform.as_f32_lanes().expect("the argument has the signature's type");
        let lane = |offset| LaneInput::Lanes { lanes: lanes.into(), offset, stride: 16, map: *map };
        let integers = [1, 2, 3].map(|k| self.integers(k));
        let inputs: Vec<LaneInput<'_>> =
            [number].into_iter().chain(integers).chain((0..16).map(lane)).collect();
        let mut centers = vec![0.0_f32; 3 * n];
        let mut outputs = [LaneOutput::vector(0, 3, &mut centers[..])];
        run_columns(self.place, &inputs, &mut outputs, mask, &mut ColumnScratch::default());
        centers.as_chunks::<3>().0.iter().map(|center| Vec3(*center)).collect()
    }

    /// Whether the pixels of the region are those of an image.
    fn is_of(&self, image: &Image, edge: Edge) -> bool {
        let [left, lower, ..] = image.view().crop;
        let (width, height) = (image.width(), image.height());
        let region = [1, 2, 3].map(|k| self.one(k));
        let is_parallel = self.one(4).is_some_and(|Mat4(m)| m[1] == 0.0 && m[4] == 0.0);
        if region != [left, lower, width as i32].map(Some) || !is_parallel {
            return false;
        }
        let line = |n: usize, step: usize| {
            let numbers = LaneInput::Range { start: 0, step: step as i64 };
            let centers = self.centers(numbers, n, &Mask::full(n));
            centers.into_iter().map(|Vec3([x, y, _])| [x.into(), y.into()])
        };
        let sampler = Sampler::new(image, Filter::Nearest, edge);
        sampler.has_centers(line(width, 1), line(height, width))
    }
}

/// The colors if all pixels of the image are called for in order.
fn all_pixels(call: &Call<'_>, region: &Region<'_>, edge: Edge) -> Option<Column> {
    let Data::One(image) = call.argument(0).data() else { return None };
    let image = Image::from_value(image)?;
    let is_all = call.extent() == image.pixels().len() && is_in_order(call, 1);
    (is_all && region.is_of(&image, edge)).then(|| all_colors(&image))
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
