//! Perlin noise: gradients on a grid.

use millstream_node::NodeDef;

use super::lattice::{Axis, DRAWN, blended, corner, sloped};
use super::{ABOUT_FAR, ABOUT_TILES, Raw};

pub(super) fn described() -> NodeDef {
    NodeDef::new("noise.perlin", "Perlin noise: smooth noise from random gradients on a grid")
        .details(format!(
            "0 at the corners of the cells, with two continuous derivatives. About -1 to 1 with a \
             standard deviation of about 0.25 over all positions, and never beyond 1, 1.42, 1.97 \
             and 2.56 in one to four dimensions. In up to three dimensions the error is at most \
             2e-6. {ABOUT_TILES} {ABOUT_FAR}"
        ))
        .source(
            "Perlin, \"Improving Noise\", 2002, but with gradients distributed evenly in a cube \
             instead of twelve fixed ones, and with the hash of this family",
        )
}

/// By dimension: scales the standard deviation over all positions to about a quarter (measured); in
/// one dimension, where it is 0.27, scales the range to -1 to 1.
pub(super) const SCALES: [f64; 4] = [2.0, 1.42, 1.31, 1.28];

pub(super) fn perlin<'b>(axes: &[Axis<'b>]) -> Raw<'b> {
    let sum = blended(axes, |at| {
        let sides = || axes.iter().enumerate().map(|(i, axis)| axis.side(at >> i & 1 == 1));
        sloped(corner(sides().map(|side| side.0)), sides().map(|side| side.1))
    });
    Raw { sum, scale: SCALES[axes.len() - 1] * DRAWN }
}
