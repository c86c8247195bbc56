//! Images: made of fields, combined, transformed, filtered and read.
//!
//! The work on pixels is done in two ways. What concerns each pixel by itself is a loop over pixels
//! as elements (`pixels`), so any node that computes a color works on images. What looks at the
//! surroundings of pixels calls the crate `raster`; such a node requests a larger region of its
//! image, or another view of it (`viewed`).

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

/// Adds the family; the colors and the context must be there.
pub fn register(registry: &mut Registry) {
    registry.register_type(Type::of::<Image>());
    let pixels = PixelLoop::new(registry);
    let views = Views::new(registry);
    registry.register(pixels::from_field(pixels.clone()));
    let sample_pixel = registry.register_part(sample_pixel::sample_pixel());
    registry.register(sample::sample(&pixels, sample_pixel));
    registry.register(sample::information());
    lift::register(registry, &pixels);
    transform::register(registry, &views);
    filters::register(registry, &views);
    own::register(registry);
}

/// How the crate `raster` works in a call.
fn crew<'a>(call: &Call<'a>) -> Crew<'a> {
    Crew::new(call.threads(), call.is_over())
}

/// The evaluator knows why it cancelled, and reports that instead.
fn cancelled(_: Cancelled) -> Failure {
    Failure::whole("the evaluation was cancelled")
}
