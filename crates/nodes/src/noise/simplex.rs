//! Simplex noise: slopes on a grid of triangles, tetrahedra and so on.

use millstream_kernel::NodeDef;
use millstream_kernel::form::Val;

use super::lattice::{DRAWN, coordinate, corner, further, sloped};
use super::{ABOUT_FAR, Raw};

pub(super) fn described() -> NodeDef {
    NodeDef::new("noise.simplex", "Smooth noise from random slopes, without a grid of cubes")
        .details(format!(
            "As `noise.perlin`, but each position sees one corner more than there are dimensions, each \
             in a round patch that fades out: fewer directions stand out, and in four dimensions it is \
             cheaper. About -1 to 1 with a standard deviation of about 0.25 over all positions; three \
             continuous derivatives. It does not tile. {ABOUT_FAR}"
        ))
        .source(
            "Perlin, \"Noise hardware\", 2001, and Gustavson, \"Simplex noise demystified\", 2005; \
             slopes are evenly distributed in a cube, and patches end at sqrt(1/2)",
        )
}

/// By dimension: brings the standard deviation over all positions to about a quarter (measured).
const SCALES: [f64; 4] = [55.5, 56.4, 69.2, 92.9];

pub(super) fn simplex<'b>(p: &[Val<'b>], words: &[Val<'b>]) -> Raw<'b> {
    let n = p.len();
    let d = n as f64;
    // Skewing takes the grid of simplices to that of cubes, each of which holds n! of them.
    let skew = ((d + 1.0).sqrt() - 1.0) / d;
    let unskew = (1.0 - 1.0 / (d + 1.0).sqrt()) / d;
    let sum = |values: &[Val<'b>]| {
        values.iter().copied().reduce(|a, b| a + b).expect("space has dimensions")
    };
    let towards = sum(p) * skew;
    let cube: Vec<Val<'b>> = p.iter().map(|x| (*x + towards).floor()).collect();
    let back = sum(&cube) * unskew;
    let rest: Vec<Val<'b>> = p.iter().zip(&cube).map(|(x, cell)| *x - (*cell - back)).collect();
    let low: Vec<Val<'b>> = (0..n).map(|i| coordinate(cube[i], i, words)).collect();
    // The simplex is the one whose corners are reached by going along the axes in the order of
    // the fractions, greatest first: the number of axes that come before each.
    let rank = |i: usize| {
        let before = |j: usize| {
            let first = if j < i { rest[j].ge(rest[i]) } else { rest[j].gt(rest[i]) };
            first.select(rest[i].like(1.0), rest[i].like(0.0))
        };
        let others: Vec<Val<'b>> = (0..n).filter(|j| *j != i).map(before).collect();
        if others.is_empty() { rest[i].like(0.0) } else { sum(&others) }
    };
    let ranks: Vec<Val<'b>> = (0..n).map(rank).collect();
    let patch = |k: usize| {
        let reached = |i: usize| ranks[i].lt(k as f64);
        let hash = corner((0..n).map(|i| match k {
            0 => low[i],
            _ if k == n => further(low[i], i, 1),
            _ => reached(i).select(further(low[i], i, 1), low[i]),
        }));
        let way = |i: usize| match k {
            0 => rest[i],
            _ if k == n => rest[i] + (d * unskew - 1.0),
            _ => {
                let back = k as f64 * unskew;
                rest[i] + reached(i).select(rest[i].like(back - 1.0), rest[i].like(back))
            }
        };
        let way: Vec<Val<'b>> = (0..n).map(way).collect();
        let squares: Vec<Val<'b>> = way.iter().map(|x| *x * *x).collect();
        let left: Val<'b> = 0.5 - sum(&squares);
        let strength = left.max(0.0);
        let strength = strength * strength;
        strength * strength * sloped(hash, way.iter().copied())
    };
    let patches: Vec<Val<'b>> = (0..=n).map(patch).collect();
    Raw { sum: sum(&patches), scale: SCALES[n - 1] * DRAWN }
}
