//! Images: made from fields, combined, transformed, filtered and read.
//!
//! There are two kinds of work on pixels. Nodes that treat each pixel separately are loops with the
//! pixels as elements (`pixels`), so any node that computes a color also works on images. Nodes
//! that read the neighborhood of pixels call the crate `raster`; they request a larger region of
//! their image, or another view of it (`viewed`).

mod filters;
mod lift;
mod own;
mod pixels;
mod sample;
mod sample_pixel;
mod transform;
mod viewed;
mod weave;

use millstream_base::{Image, Type};
use millstream_node::{Call, Failure, Registry};
use millstream_raster::crew::{Cancelled, Crew};

use pixels::PixelLoop;
use viewed::Views;

/// Adds the family; the families of colors and of the context must be registered.
pub fn register(registry: &mut Registry) {
    registry.register_type(Type::of::<Image>());
    let pixels = PixelLoop::new(registry);
    let views = Views::new(registry);
    registry.register(pixels::from_field(pixels.clone()));
    let sample_pixel = registry.register_part(sample_pixel::sample_pixel(&pixels));
    registry.register(sample::sample(&pixels, sample_pixel));
    registry.register(sample::information());
    lift::register(registry, &pixels);
    transform::register(registry, &views);
    filters::register(registry, &views);
    own::register(registry);
}

/// The threads and the cancellation of a call, for the crate `raster`.
fn crew<'a>(call: &Call<'a>) -> Crew<'a> {
    Crew::new(call.threads(), call.is_over())
}

/// The evaluator knows why it cancelled, and reports that reason instead.
fn cancelled(_: Cancelled) -> Failure {
    Failure::whole("the evaluation was cancelled")
}
