//! Perlin noise: slopes on a grid.

use millstream_node::NodeDef;

use super::lattice::{Axis, DRAWN, blended, corner, sloped};
use super::{ABOUT_FAR, ABOUT_TILES, Raw};

pub(super) fn described() -> NodeDef {
    NodeDef::new("noise.perlin", "Smooth noise from random slopes on a grid")
        .details(format!(
            "0 at the corners of the cells, with two continuous derivatives. About -1 to 1 with a \
             standard deviation of about 0.25 over all positions, and never beyond 1, 1.42, 1.97, 2.56 \
             in one to four dimensions. Off by at most 2e-6 in up to three dimensions. {ABOUT_TILES} {ABOUT_FAR}"
        ))
        .source(
            "Perlin, \"Improving Noise\", 2002, but slopes are evenly distributed in a cube instead of \
             twelve of them; the hash is that of this family",
        )
}

/// By dimension: brings the standard deviation over all positions to about a quarter (measured);
/// along a line, where that is 0.27, it brings the range to -1 to 1.
pub(super) const SCALES: [f64; 4] = [2.0, 1.42, 1.31, 1.28];

pub(super) fn perlin<'b>(axes: &[Axis<'b>]) -> Raw<'b> {
    let sum = blended(axes, |at| {
        let sides = || axes.iter().enumerate().map(|(i, axis)| axis.side(at >> i & 1 == 1));
        sloped(corner(sides().map(|side| side.0)), sides().map(|side| side.1))
    });
    Raw { sum, scale: SCALES[axes.len() - 1] * DRAWN }
}
