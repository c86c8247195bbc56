//! Simplex noise: gradients on a grid of triangles, tetrahedra and so on.

use millstream_form::Val;
use millstream_node::NodeDef;

use super::lattice::{self, DRAWN, coordinate, corner, further, sloped, wrapped};
use super::{ABOUT_FAR, Raw};

pub(super) fn described() -> NodeDef {
    NodeDef::new(
        "noise.simplex",
        "Simplex noise: smooth noise from random gradients on a grid of simplices",
    )
    .details(format!(
        "Like `noise.perlin`, but each position is affected by only one corner more than there \
             are dimensions, each with a round patch that fades out. Fewer directions stand out, \
             and in four dimensions it is cheaper. About -1 to 1 with a standard deviation of \
             about 0.25 over all positions; three continuous derivatives. With `tile` the \
             simplices are slightly less regular, so that the noise repeats seamlessly after \
             `period` cells, rounded to a multiple of the number of dimensions. In up to three \
             dimensions, within 100 cells of the origin, the error is at most 6e-5; it comes from \
             rounding the sum of the coordinates. {ABOUT_FAR}"
    ))
    .source(
        "Perlin, \"Noise hardware\", 2001, and Gustavson, \"Simplex noise demystified\", 2005; \
             gradients are distributed evenly in a cube, and patches end at sqrt(1/2)",
    )
}

/// The arrangement of simplices in space, by dimension.
struct Grid {
    /// The fraction of the sum of all coordinates that is added to each; it maps simplices to
    /// halves of cubes.
    skew: f64,
    /// The squared radius of patches: the distance from a corner to the nearest opposite side.
    reach: f64,
    /// Scales the standard deviation over all positions to about a quarter (measured).
    scale: f64,
}

/// Regular simplices.
const REGULAR: [Grid; 4] = [
    Grid { skew: 0.414_213_562_373_095, reach: 0.5, scale: 55.5 },
    Grid { skew: 0.366_025_403_784_438_6, reach: 0.5, scale: 56.4 },
    Grid { skew: 1.0 / 3.0, reach: 0.5, scale: 69.2 },
    Grid { skew: 0.309_016_994_374_947_4, reach: 0.5, scale: 92.9 },
];

/// Simplices whose corners repeat after as many cells along each axis as there are dimensions.
const TILING: [Grid; 4] = [
    Grid { skew: 0.0, reach: 1.0, scale: 2.44 },
    Grid { skew: 0.5, reach: 0.4, scale: 160.0 },
    Grid { skew: 1.0 / 3.0, reach: 0.5, scale: 69.2 },
    Grid { skew: 0.25, reach: 0.5, scale: 98.0 },
];

fn sum<'b>(values: &[Val<'b>]) -> Val<'b> {
    values.iter().copied().reduce(|a, b| a + b).expect("space has dimensions")
}

/// A period rounded to one with which the noise repeats: a multiple of the number of dimensions.
pub(super) fn round_period(period: Val<'_>, n: usize) -> Val<'_> {
    let dimensions = n as f64;
    if n == 1 {
        lattice::round_period(period)
    } else {
        lattice::round_period(period / dimensions) * dimensions
    }
}

/// The corner of the first tile with the same gradient. `corner` counts cells of the skewed grid.
fn in_first_tile<'b>(corner: &[Val<'b>], period: &[Val<'b>]) -> Vec<Val<'b>> {
    let n = corner.len();
    let dimensions = n as f64;
    if n == 1 {
        return vec![wrapped(corner[0], round_period(period[0], 1))];
    }
    // In steps of 1 / 2n every corner has integer coordinates, so nothing is rounded.
    let all = sum(corner);
    let mut steps = Vec::with_capacity(n);
    for (x, period) in corner.iter().zip(period) {
        let period = round_period(*period, n);
        let tile = ((*x * (2.0 * dimensions) - all) / (period * (2.0 * dimensions))).floor();
        steps.push(tile * period);
    }
    let along_all = sum(&steps) / dimensions;
    corner.iter().zip(&steps).map(|(x, step)| *x - *step - along_all).collect()
}

pub(super) fn simplex<'b>(p: &[Val<'b>], words: &[Val<'b>], period: Option<&[Val<'b>]>) -> Raw<'b> {
    let n = p.len();
    let d = n as f64;
    let Grid { skew, reach, scale } =
        if period.is_some() { &TILING[n - 1] } else { &REGULAR[n - 1] };
    let unskew = skew / (1.0 + d * skew);
    let towards = sum(p) * *skew;
    let cube: Vec<Val<'b>> = p.iter().map(|x| (*x + towards).floor()).collect();
    let back = sum(&cube) * unskew;
    let rest: Vec<Val<'b>> = p.iter().zip(&cube).map(|(x, cell)| *x - (*cell - back)).collect();
    let low: Vec<Val<'b>> = (0..n).map(|i| coordinate(cube[i], i, words)).collect();
    // The corners of the simplex are reached by going along the axes in the order of the fractions,
    // greatest first; these are the numbers of axes that come before each.
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
        let hash = match period {
            None => corner((0..n).map(|i| match k {
                0 => low[i],
                _ if k == n => further(low[i], i, 1),
                _ => reached(i).select(further(low[i], i, 1), low[i]),
            })),
            Some(period) => {
                let step = |i: usize| match k {
                    0 => cube[i],
                    _ if k == n => cube[i] + 1.0,
                    _ => cube[i] + reached(i).select(rest[i].like(1.0), 0.0),
                };
                let at = in_first_tile(&(0..n).map(step).collect::<Vec<_>>(), period);
                corner((0..n).map(|i| coordinate(at[i], i, words)))
            }
        };
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
        let left: Val<'b> = *reach - sum(&squares);
        let strength = left.max(0.0);
        let strength = strength * strength;
        strength * strength * sloped(hash, way.iter().copied())
    };
    let patches: Vec<Val<'b>> = (0..=n).map(patch).collect();
    Raw { sum: sum(&patches), scale: scale * DRAWN }
}
