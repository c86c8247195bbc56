//! Filters: images whose pixels depend on neighboring pixels.
//!
//! Lengths are in units of the scene, so an image looks the same in close-ups and previews. A
//! filter requests its image for a region that is larger by the extent of its neighborhood.

use std::sync::Arc;

use millstream_base::{Footprint, Image, Type};
use millstream_node::settings::{SettingError, Settings};
use millstream_node::{Failure, NodeDef, Registry, SettingKind, SettingValue};
use millstream_raster::blur::{BoxBlur, Gaussian};
use millstream_raster::convolve::{Convolve, Weights};
use millstream_raster::crew::{Cancelled, Crew};
use millstream_raster::directional::Directional;
use millstream_raster::distance::Distance;
use millstream_raster::morphology::{Morphology, Operation, Shape};
use millstream_raster::place::Filter as Between;
use millstream_raster::sharpen::Sharpen;
use millstream_raster::slope::{Encoding, Measure, Normals, Sobel};

use super::cancelled;
use super::sample::{edge_of, with_edge};
use super::viewed::{Job, Viewed, Views};
use crate::shape::choices;

pub(super) fn register(registry: &mut Registry, views: &Views) {
    let mut add = |def: NodeDef, of: Viewed| {
        views.register(registry, with_edge(def, "extend"), of);
    };
    add(
        blur(),
        viewed(|job| {
            let radius = [pixels(job, job.number(0)); 2];
            Ok(match job.settings.text("kind") {
                "box" => Box::new(BoxBlur { radius, edge: edge_of(job.settings) }),
                _ => Box::new(Gaussian::of_radius(radius, edge_of(job.settings))),
            })
        }),
    );
    add(
        blur_directional(),
        viewed(|job| {
            let (length, angle_rad) = (pixels(job, job.number(0)), job.number(1));
            Ok(Box::new(Directional { length, angle_rad, edge: edge_of(job.settings) }))
        }),
    );
    add(
        sharpen(),
        viewed(|job| {
            // The radius of a Gaussian is three standard deviations.
            let sigma = [pixels(job, job.number(0)) / 3.0; 2];
            let (amount, threshold) = (job.number(1), job.number(2));
            Ok(Box::new(Sharpen { sigma, amount, threshold, edge: edge_of(job.settings) }))
        }),
    );
    let refuse = |settings: &Settings| weights(settings).map(drop);
    let convolved = viewed(|job| {
        let weights = weights(job.settings).map_err(|error| Failure::whole(error.to_string()))?;
        Ok(Box::new(Convolve { weights, edge: edge_of(job.settings) }))
    });
    add(convolve(), Viewed { refuse, extends: true, shows: false, ..convolved });
    add(
        edges(),
        measured(|job| {
            let measure = match job.settings.text("measure") {
                "x" => Measure::X,
                "y" => Measure::Y,
                _ => Measure::Magnitude,
            };
            let pixel = pixel_size(job.wanted);
            Ok(Box::new(Sobel { measure, pixel, edge: edge_of(job.settings) }))
        }),
    );
    add(
        normal_map(),
        measured(|job| {
            let strength = job.number::<f32>(0) / pixel_size(job.wanted);
            let encoding = match job.settings.text("encoding") {
                "signed" => Encoding::Signed,
                _ => Encoding::Unit,
            };
            Ok(Box::new(Normals { strength, encoding, edge: edge_of(job.settings) }))
        }),
    );
    add(morphology(), viewed(|job| Ok(change(job))));
    add(
        distance(),
        measured(|job| {
            let (threshold, limit) = (job.number(0), pixels(job, job.number(1)));
            let unit = pixel_size(job.wanted);
            Ok(Box::new(InUnits { of: Distance { channel: 0, threshold, limit }, unit }))
        }),
    );
}

/// The filter of `image.morphology`.
fn change(job: &Job<'_>) -> Box<dyn Filter> {
    let operation = match Change::named(job.settings.text("operation")) {
        Change::Dilate => Operation::Dilate,
        Change::Erode => Operation::Erode,
        Change::Open => Operation::Open,
        Change::Close => Operation::Close,
    };
    let shape = match job.settings.text("shape") {
        "square" => Shape::Square,
        _ => Shape::Disc,
    };
    let radius = pixels(job, job.number(0));
    Box::new(Morphology { operation, shape, radius, edge: edge_of(job.settings) })
}

/// Makes the filter of a node.
type Make = fn(&Job<'_>) -> Result<Box<dyn Filter>, Failure>;

/// The work of a node type that is a filter.
fn viewed(make: Make) -> Viewed {
    Viewed {
        refuse: |_| Ok(()),
        how: |settings| (Between::Linear, edge_of(settings)),
        extends: false,
        shows: true,
        ask: Arc::new(move |job| Ok(job.wanted.grown(make(job)?.reach()))),
        work: Arc::new(move |job, image, crew| {
            let filtered = make(job)?.apply(image, job.wanted.crop, crew);
            filtered.map_err(cancelled)
        }),
    }
}

/// The work of a node type that measures an image instead of changing its colors.
fn measured(make: Make) -> Viewed {
    Viewed { shows: false, ..viewed(make) }
}

/// A filter from the crate `raster`.
trait Filter {
    /// The number of pixels in x and y by which the source must extend beyond the result.
    fn reach(&self) -> [i32; 2];
    fn apply(&self, image: &Image, crop: [i32; 4], crew: &Crew<'_>) -> Result<Image, Cancelled>;
}

macro_rules! filters {
    ($($filter:ty),*) => {$(
        impl Filter for $filter {
            fn reach(&self) -> [i32; 2] {
                self.reach()
            }
            fn apply(
                &self,
                image: &Image,
                crop: [i32; 4],
                crew: &Crew<'_>,
            ) -> Result<Image, Cancelled> {
                self.apply(image, crop, crew)
            }
        }
    )*};
}
filters!(BoxBlur, Convolve, Directional, Gaussian, Morphology, Normals, Sharpen, Sobel);

/// Converts distances in pixels to units of the scene.
struct InUnits {
    of: Distance,
    unit: f32,
}

impl Filter for InUnits {
    fn reach(&self) -> [i32; 2] {
        self.of.reach()
    }

    fn apply(&self, image: &Image, crop: [i32; 4], crew: &Crew<'_>) -> Result<Image, Cancelled> {
        let image = self.of.apply(image, crop, crew)?;
        let values = image.channels().iter().map(|x| x * self.unit).collect();
        Ok(Image::from_channels(image.view().clone(), 1, values).expect("it has that size"))
    }
}

/// The size of a pixel in the scene; 1 if pixels have no size.
fn pixel_size(view: &Footprint) -> f32 {
    let size = view.pixel_size();
    if size > 0.0 && size.is_finite() { size } else { 1.0 }
}

/// A length of the scene in pixels of the requested view.
fn pixels(job: &Job<'_>, length: f32) -> f32 {
    length / pixel_size(job.wanted)
}

fn filter(name: &'static str, summary: &'static str) -> NodeDef {
    NodeDef::new(name, summary).input("image", Type::of::<Image>(), "").output(
        "value",
        Type::of::<Image>(),
        "",
    )
}

fn blur() -> NodeDef {
    const KINDS: &[(&str, &str)] = &[
        ("gaussian", "weighted by a bell curve; the radius is three standard deviations"),
        ("box", "the mean over a square"),
    ];
    filter("image.blur", "A blurred image")
        .details(
            "The node also requests the surroundings of the requested region, so its edges have no \
             seams. A radius of 0 changes nothing.",
        )
        .choice("kind", KINDS, "gaussian", "weighting of neighboring pixels")
        .input_or("radius", Type::F32, 5.0, "reach of the blur, in units of the scene")
}

fn blur_directional() -> NodeDef {
    filter("image.blur_directional", "An image blurred along a line, as by motion")
        .input_or("length", Type::F32, 10.0, "length of the line, in units of the scene")
        .input_or("angle", Type::F32, 0.0, "direction in radians, counterclockwise from x")
}

fn sharpen() -> NodeDef {
    filter("image.sharpen", "A sharper image (unsharp mask)")
        .details("Adds to each pixel its difference from a blurred image, times the amount.")
        .input_or("radius", Type::F32, 3.0, "radius of the blur, in units of the scene")
        .input_or("amount", Type::F32, 0.5, "strength")
        .input_or("threshold", Type::F32, 0.0, "differences up to this stay unchanged")
}

fn numbers(name: &'static str, of: &[f64], about: &'static str, def: NodeDef) -> NodeDef {
    def.setting(name, SettingKind::Numbers, Some(SettingValue::Numbers(of.to_vec())), about)
}

fn convolve() -> NodeDef {
    let def = filter("image.convolve", "The weighted sum of the neighborhood of each pixel")
        .details(
            "The weights are listed row by row from the lower edge, like pixels; the middle one \
         belongs to the pixel itself. The kernel is applied as written, not mirrored.",
        );
    numbers("weights", &[0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0], "the weights", def)
        .integer("width", (1, 255), 3, "number of weights in a row")
        .flag("normalize", true, "divide by the sum of the weights, unless it is 0")
}

/// The weights given by the settings.
fn weights(settings: &Settings) -> Result<Weights, SettingError> {
    let numbers: Vec<f32> = settings.numbers("weights").iter().map(|x| *x as f32).collect();
    let width = settings.integer("width") as usize;
    let n = numbers.len();
    let refused = |message: String| Err(SettingError::refused("weights", message));
    if n == 0 {
        return refused("there are no weights; give `width` for each row".into());
    }
    let Some(weights) = Weights::of_rectangle(width, n / width, &numbers) else {
        let (less, more) = (n / width * width, n.next_multiple_of(width));
        let fitting = if less == 0 { format!("{more}") } else { format!("{less} or {more}") };
        return refused(format!(
            "{n} weights are no rows of {width}; give {fitting}, or set `width`"
        ));
    };
    Ok(if settings.flag("normalize") { weights.normalized() } else { weights })
}

fn edges() -> NodeDef {
    const MEASURES: &[(&str, &str)] = &[
        ("magnitude", "the steepness in any direction"),
        ("x", "the change from left to right"),
        ("y", "the change upwards"),
    ];
    filter("image.edges", "How steeply an image changes (Sobel)")
        .details(
            "The change per unit of the scene, which is that from pixel to pixel if a pixel has the \
             size of 1. So where an image changes gradually, a preview at a lower resolution shows \
             the same values. An abrupt change is seen from the pixels on both sides of it: in a \
             preview of half the resolution its line is twice as wide and half as bright.",
        )
        .choice("measure", MEASURES, "magnitude", "direction of the change")
}

fn normal_map() -> NodeDef {
    const ENCODINGS: &[(&str, &str)] =
        &[("unit", "0 to 1 in each channel, to be saved"), ("signed", "-1 to 1, to compute with")];
    filter("image.normal_map", "The normals of a surface given by its heights")
        .details(
            "The result has the channels x, y and z, where z points up. The height is the first \
             channel of the image.",
        )
        .choice("encoding", ENCODINGS, "unit", "range of the channels")
        .input_or(
            "strength",
            Type::F32,
            1.0,
            "height that the value 1 stands for, in units of the scene",
        )
}

choices! {
    /// The operations of morphology.
    enum Change {
        Dilate = "dilate": "bright regions grow: the greatest value in each neighborhood",
        Erode = "erode": "bright regions shrink: the least value in each neighborhood",
        Open = "open": "erode, then dilate: removes small bright spots",
        Close = "close": "dilate, then erode: removes small dark spots",
    }
}

fn morphology() -> NodeDef {
    const SHAPES: &[(&str, &str)] = &[("disc", "a disc"), ("square", "a square")];
    filter("image.morphology", "Bright regions grown or shrunk")
        .choice("operation", Change::ALL, "dilate", "operation")
        .choice("shape", SHAPES, "disc", "shape of the neighborhood")
        .details(
            "A disc consists of the pixels whose centers are at most the radius away. A square \
             reaches over whole pixels.",
        )
        .input_or("radius", Type::F32, 1.0, "size of the neighborhood, in units of the scene")
}

fn distance() -> NodeDef {
    filter("image.distance", "The distance of each pixel from the outline of the bright regions")
        .details(
            "A single channel, negative where the first channel of the image is at least the \
             threshold, in units of the scene; it can be used like the shapes of the family `sdf`. \
             Exact (Euclidean) up to the limit, and clamped to the limit beyond it.",
        )
        .source(
            "P. Felzenszwalb, D. Huttenlocher, \"Distance Transforms of Sampled Functions\", 2012",
        )
        .input_or("threshold", Type::F32, 0.5, "least value that counts as inside")
        .input_or("limit", Type::F32, 64.0, "greatest distance, in units of the scene")
}
