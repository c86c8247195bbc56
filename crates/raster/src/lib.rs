//! Algorithms on images: resampling, filters, morphology, distances, statistics.
//!
//! They know images but no nodes. Each gives the same bits for a pixel regardless of the region
//! computed, the machine and the number of threads: vectors run across results, and each result is
//! a sum of rounded products in a fixed order.
//!
//! A filter is a value with its settings. `apply` computes a region of its result from an image,
//! `reach` gives how many pixels beyond that region it reads, and [`region::needed`] which existing
//! pixels those are. Where a filter reads beyond its image, its [`Edge`](region::Edge) defines what
//! is there. Reaches are limited to the size of the image.

pub mod crew;
pub mod place;
pub mod region;

pub mod blur;
pub mod convolve;
pub mod directional;
pub mod distance;
pub mod dither;
pub mod morphology;
pub mod resize;
pub mod sampler;
pub mod sharpen;
pub mod slope;
pub mod statistics;

mod lanes;
mod mean;
mod passes;
mod rank;
mod rows;
mod taps;
