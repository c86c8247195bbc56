//! Algorithms on images: resampling, filters, morphology, distances, statistics.
//!
//! They know images and nothing of nodes. Each gives the same bits for a pixel whatever region of
//! the image is computed, on any machine and any number of threads: vectors lie across results, and
//! each result is a sum in one order of rounded products.
//!
//! A filter is a value with its settings. `apply` computes a region of its result from an image,
//! `reach` says by how many pixels the image must be larger than the region, and
//! [`region::needed`] which of the pixels that exist these are. Where a filter looks beyond its
//! image, its [`Edge`](region::Edge) says what is there. Reaches are cut to the size of the image.

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
