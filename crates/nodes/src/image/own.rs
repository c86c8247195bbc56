//! Operations on an image's own pixels, whatever the view: cropping, resizing, dithering,
//! statistics.

use millstream_base::diagnostics::counted;
use millstream_base::{Image, Type};
use millstream_node::{Failure, NodeDef, RegionUse, Registry};
use millstream_raster::dither::{Bayer, diffused, ordered};
use millstream_raster::place::{Filter, place};
use millstream_raster::region::Edge;
use millstream_raster::resize::{Kernel, Resize};
use millstream_raster::statistics::{histogram, statistics};

use super::pixels::n_pixels;
use super::{cancelled, crew};
use crate::cells::{Cells, ListCells, at, function};
use crate::shape::{choices, list_of};

pub(super) fn register(registry: &mut Registry) {
    registry.register(resize());
    registry.register(crop());
    registry.register(dither());
    registry.register(statistics_def());
    registry.register(histogram_def());
}

choices! {
    /// The filters for resizing an image.
    enum Resampling {
        Lanczos = "lanczos": "Lanczos with three lobes: sharp",
        CatmullRom = "catmull_rom": "bicubic, sharper",
        Mitchell = "mitchell": "bicubic, softer (Mitchell and Netravali)",
        Linear = "linear": "bilinear",
        Area = "area": "the mean over the area of the new pixel",
        Nearest = "nearest": "the nearest pixel",
    }
}

fn resize() -> NodeDef {
    NodeDef::new(
        "image.resize",
        "An image resampled to another number of pixels, at the same place",
    )
    .details(
        "The image covers the same area of the scene with larger or smaller pixels. \
             When reducing, the filter spans all old pixels that fall into a new one. To evaluate \
             a field at another resolution, request a view of that resolution instead.",
    )
    .choice("filter", Resampling::ALL, "lanczos", "how new pixels are computed")
    .region_use(|_| RegionUse::Whole)
    .input("image", Type::of::<Image>(), "")
    .input("width", Type::I32, "new width in pixels")
    .input("height", Type::I32, "new height in pixels")
    .output("value", Type::of::<Image>(), "")
    .kernel(|parts| {
        let kernel = match Resampling::named(parts.settings.text("filter")) {
            Resampling::Lanczos => Kernel::Lanczos3,
            Resampling::CatmullRom => Kernel::CatmullRom,
            Resampling::Mitchell => Kernel::Mitchell,
            Resampling::Linear => Kernel::Bilinear,
            Resampling::Area => Kernel::Area,
            Resampling::Nearest => Kernel::Nearest,
        };
        Ok(function(move |call| {
            let mut cells = Cells::<Image>::new(call);
            let images = call.input::<Image>(0);
            let sizes = [1, 2].map(|k| call.input::<i32>(k));
            cells.fill(call, |i| {
                let size = sizes.each_ref().map(|size| size.get(i));
                if size.iter().any(|n| *n < 1) {
                    let [width, height] = size;
                    let text = format!("the requested size is {width} by {height} pixels");
                    return Err(Failure::at(i, text).with_help("both must be at least 1"));
                }
                let image = whole_view(images.get(i));
                let crop = [0, 0, size[0], size[1]];
                let view = image.view().with_crop(crop);
                n_pixels(&view, call.limits()).map_err(|failure| at(failure, i))?;
                let resize = Resize { size, kernel };
                resize.apply(&image, crop, &crew(call)).map_err(cancelled)
            })?;
            cells.put(call);
            Ok(())
        }))
    })
}

/// The image as a whole view of its size, at the same place.
fn whole_view(image: Image) -> Image {
    let [x, y, ..] = image.view().crop.map(|at| at as f32);
    let [width, height] = image.view().size().map(|n| n as i32);
    let mut view = image.view().with_crop([0, 0, width, height]);
    view.resolution = [width, height];
    for row in view.transform.0.chunks_exact_mut(4) {
        row[3] += row[0] * x + row[1] * y;
    }
    image.with_view(view).expect("it has the same size")
}

fn crop() -> NodeDef {
    NodeDef::new("image.crop", "A rectangle of an image")
        .details(
            "The rectangle is given in pixels from the lower left corner of the image, and stays \
             where it is in the scene. It is transparent beyond the image.",
        )
        .region_use(|_| RegionUse::Whole)
        .input("image", Type::of::<Image>(), "")
        .input_or("x", Type::I32, 0.0, "first column")
        .input_or("y", Type::I32, 0.0, "first row")
        .input("width", Type::I32, "number of columns")
        .input("height", Type::I32, "number of rows")
        .output("value", Type::of::<Image>(), "")
        .kernel(|_| {
            Ok(function(|call| {
                let mut cells = Cells::<Image>::new(call);
                let images = call.input::<Image>(0);
                let numbers = [1, 2, 3, 4].map(|k| call.input::<i32>(k));
                let mut pace = call.pace();
                cells.fill(call, |i| {
                    let image = images.get(i);
                    let [x, y, width, height] = numbers.each_ref().map(|number| number.get(i));
                    let [left, lower, ..] = image.view().crop;
                    let line = |before: i32, start: i32, n: i32| {
                        let start = before.checked_add(start)?;
                        Some((start, start.checked_add(n.max(0))?))
                    };
                    let (x, y) = (line(left, x, width), line(lower, y, height));
                    let (Some(x), Some(y)) = (x, y) else {
                        let text = "the rectangle reaches beyond pixel 2147483647 of the view";
                        return Err(Failure::at(i, text));
                    };
                    let view = image.view().with_crop([x.0, y.0, x.1, y.1]);
                    n_pixels(&view, call.limits()).map_err(|failure| at(failure, i))?;
                    place(&image, &view, (Filter::Nearest, Edge::Clear), |n| pace.work(n))
                })?;
                cells.put(call);
                Ok(())
            }))
        })
}

fn dither() -> NodeDef {
    const KINDS: &[(&str, &str)] = &[
        ("ordered", "a fixed pattern (Bayer); the result does not depend on the region"),
        (
            "diffused",
            "errors are passed on to neighboring pixels (Floyd and Steinberg); depends on the \
             region",
        ),
    ];
    NodeDef::new("image.dither", "An image reduced to few levels, with its mean brightness kept")
        .choice("kind", KINDS, "ordered", "how errors are spread")
        .region_use(|settings| match settings.text("kind") {
            "diffused" => RegionUse::Whole,
            _ => RegionUse::Part,
        })
        .input("image", Type::of::<Image>(), "")
        .input_or(
            "levels",
            Type::I32,
            2.0,
            "number of levels of each channel from 0 to 1, at least 2",
        )
        .output("value", Type::of::<Image>(), "")
        .kernel(|parts| {
            let is_ordered = parts.settings.text("kind") == "ordered";
            Ok(function(move |call| {
                let mut cells = Cells::<Image>::new(call);
                let (images, levels) = (call.input::<Image>(0), call.input::<i32>(1));
                cells.fill(call, |i| {
                    let (image, levels) = (images.get(i), levels.get(i).max(2) as u32);
                    let crew = crew(call);
                    let dithered = if is_ordered {
                        ordered(&image, levels, Bayer::Eight, &crew)
                    } else {
                        diffused(&image, levels, &crew)
                    };
                    dithered.map_err(cancelled)
                })?;
                cells.put(call);
                Ok(())
            }))
        })
}

/// The outputs of `image.statistics`.
const STATISTICS: [(&str, &str); 4] = [
    ("min", "least value"),
    ("max", "greatest value"),
    ("mean", "mean"),
    ("deviation", "standard deviation"),
];

fn statistics_def() -> NodeDef {
    let def = NodeDef::new("image.statistics", "Least, greatest and mean values of the channels")
        .details("The statistics of one channel. NaNs are ignored.")
        .region_use(|_| RegionUse::Whole)
        .integer("channel", (0, 3), 0, "index of the channel, from 0")
        .input("image", Type::of::<Image>(), "");
    let def =
        STATISTICS.iter().fold(def, |def, (name, about)| def.output(*name, Type::F64, *about));
    def.kernel(|parts| {
        let channel = parts.settings.integer("channel") as usize;
        Ok(function(move |call| {
            let images = call.input::<Image>(0);
            let mut found: Vec<[f64; 4]> = Vec::new();
            for i in call.mask() {
                let image = images.get(i);
                check_channel(&image, channel, i)?;
                let all = statistics(&image, &crew(call)).map_err(cancelled)?;
                let of = &all[channel];
                found.push([of.min.into(), of.max.into(), of.mean, of.deviation]);
                if call.is_uniform() {
                    break;
                }
            }
            for k in (0..STATISTICS.len()).filter(|k| call.wants(*k)).collect::<Vec<_>>() {
                let mut cells = Cells::<f64>::for_output(call, k);
                let mut next = found.iter();
                cells.fill(call, |_| Ok(next.next().map_or(0.0, |of| of[k])))?;
                cells.put(call);
            }
            Ok(())
        }))
    })
}

fn check_channel(image: &Image, channel: usize, element: usize) -> Result<(), Failure> {
    let n = image.n_channels();
    if channel < n {
        return Ok(());
    }
    let text = format!("the image has {}", counted(n as u64, "channel"));
    Err(Failure::at(element, text).with_help(format!("choose a channel from 0 to {}", n - 1)))
}

fn histogram_def() -> NodeDef {
    NodeDef::new("image.histogram", "How often values occur in a channel of an image")
        .details("Values below `from` or above `to`, and NaNs, are not counted.")
        .region_use(|_| RegionUse::Whole)
        .integer("channel", (0, 3), 0, "index of the channel, from 0")
        .input("image", Type::of::<Image>(), "")
        .input_or("bins", Type::I32, 256.0, "number of bins of equal width")
        .input_or("from", Type::F32, 0.0, "lower end of the first bin")
        .input_or("to", Type::F32, 1.0, "upper end of the last bin")
        .output("value", list_of(Type::I64), "number of pixels in each bin")
        .kernel(|parts| {
            let channel = parts.settings.integer("channel") as usize;
            Ok(function(move |call| {
                let mut cells = ListCells::<i64>::new(call);
                let (images, bins) = (call.input::<Image>(0), call.input::<i32>(1));
                let (from, to) = (call.input::<f32>(2), call.input::<f32>(3));
                let n_bins = |i: usize| bins.get(i).max(0) as usize;
                cells.fill(call, n_bins, |i, counts| {
                    let image = images.get(i);
                    check_channel(&image, channel, i)?;
                    let range = [from.get(i), to.get(i)];
                    let all =
                        histogram(&image, range, n_bins(i), &crew(call)).map_err(cancelled)?;
                    counts.extend(all[channel].bins.iter().map(|n| *n as i64));
                    Ok(())
                })?;
                cells.put(call)
            }))
        })
}
