//! Algorithms on images: resampling, filters, morphology, distances, statistics.
//!
//! They know images and nothing of nodes. Each gives the same bits for a pixel whatever region of
//! the image is computed, on any machine.

pub mod place;
