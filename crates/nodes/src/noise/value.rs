//! Value noise, and white noise.

use millstream_base::Type;
use millstream_node::{NodeDef, SocketType};

use super::lattice::{Axis, DRAWN, blended, corner, draw};
use super::{ABOUT_FAR, ABOUT_TILES, POSITIONS, Raw, seed_words};
use crate::random::{SOURCE, pcg4d, unit};

pub(super) fn described() -> NodeDef {
    NodeDef::new("noise.value", "Value noise: smooth noise from random numbers on a grid")
        .details(format!(
            "From -1 to 1, uniformly distributed at the corners of the cells and narrower between \
             them; two continuous derivatives. Cheaper than `noise.perlin`, but the grid is \
             visible. In up to three dimensions the error is at most 3e-6. {ABOUT_TILES} \
             {ABOUT_FAR}"
        ))
        .source("with the blending of Perlin, \"Improving Noise\", 2002")
}

pub(super) fn value<'b>(axes: &[Axis<'b>]) -> Raw<'b> {
    let sum = blended(axes, |at| {
        let side = |(i, axis): (usize, &Axis<'b>)| axis.side(at >> i & 1 == 1).0;
        draw(corner(axes.iter().enumerate().map(side)), 0)
    });
    Raw { sum, scale: DRAWN }
}

pub(super) fn white() -> NodeDef {
    NodeDef::new("noise.white", "White noise: an independent random number for each position")
        .details(
            "From 0 up to but not including 1, without correlation between neighbors: positions \
             that differ in one bit give independent numbers. +0 and -0 are the same position, and \
             so are all NaNs. For other types and for integers see `random.hash`.",
        )
        .source(SOURCE)
        .generic("T", POSITIONS)
        .input(
            "position",
            SocketType::Generic(0),
            "position: a number, or a point in two to four dimensions",
        )
        .input_or("seed", Type::I32, 0.0, "random seed; different seeds give independent noises")
        .output("value", Type::F32, "0 to 1")
        .output("vector", Type::VEC3, "three more numbers of this kind")
        .form(|_, inputs| {
            let words = seed_words(inputs[1][0], 0);
            let word = |i: usize| match inputs[0].get(i) {
                Some(x) => words[i] ^ (*x + 0.0).bitcast(),
                None => words[i],
            };
            let drawn = pcg4d([0, 1, 2, 3].map(word));
            vec![vec![unit(drawn[0])], drawn[1..].iter().map(|word| unit(*word)).collect()]
        })
}
