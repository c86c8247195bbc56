//! Noise: irregular numbers that vary over space, by kernel form.
//!
//! A noise is a function of the position and a seed only. Space is divided into cells of size 1
//! (`lattice`), and every corner of a cell has a hash. `perlin`, `value` and `simplex` blend values
//! of the corners of a cell, `fractal` sums octaves of them, `slope` computes derivatives, `gabor`
//! scatters stripes, and `cell` measures distances to a point in each cell. Forms are straight-line
//! code without tables, so that columns of positions are computed with full SIMD width.

mod cell;
mod edge;
mod fractal;
mod gabor;
mod lattice;
mod perlin;
mod simplex;
mod slope;
#[cfg(test)]
mod slope_tests;
#[cfg(test)]
mod tests;
mod value;

use millstream_base::Type;
use millstream_form::{FormBuilder, Val};
use millstream_node::{Among, NodeDef, Registry};

use crate::random::{Stream, pcg4d};
use crate::shape::{T, choices, sockets_of};

/// Adds the nodes of this family.
pub fn register(registry: &mut Registry) {
    registry.register(value::white());
    for basis in [Basis::Value, Basis::Perlin, Basis::Simplex] {
        registry.register(basis.node());
    }
    fractal::register(registry);
    cell::register(registry);
    gabor::register(registry);
    slope::register(registry);
}

/// Types of positions: along a line, in a plane, in space, in space and time.
const POSITIONS: Among = Among::These(&[Type::F32, Type::VEC2, Type::VEC3, Type::VEC4]);

choices! {
    /// A noise that blends values of the corners of a cell.
    enum Basis {
        Perlin = "perlin": "random slopes on a grid of cubes, as by `noise.perlin`",
        Value = "value": "random numbers on a grid of cubes, as by `noise.value`",
        Simplex = "simplex": "random slopes on a grid of tetrahedra, as by `noise.simplex`",
    }
}

/// A number before scaling, blended from 32-bit words.
#[derive(Clone, Copy)]
struct Raw<'b> {
    sum: Val<'b>,
    /// The factor of the sum.
    scale: f64,
}

impl<'b> Raw<'b> {
    fn scaled(self) -> Val<'b> {
        self.sum * self.scale
    }
}

impl Basis {
    /// The period, rounded to one with which this noise repeats in `n` dimensions.
    fn rounded(self, period: Val<'_>, n: usize) -> Val<'_> {
        match self {
            Self::Value | Self::Perlin => lattice::round_period(period),
            Self::Simplex => simplex::round_period(period, n),
        }
    }

    /// The noise at a position; `words` are those of the seed, `period` is the number of cells
    /// until it repeats.
    fn at<'b>(self, p: &[Val<'b>], words: &[Val<'b>], period: Option<&[Val<'b>]>) -> Raw<'b> {
        match self {
            Self::Value => value::value(&lattice::axes(p, words, period)),
            Self::Perlin => perlin::perlin(&lattice::axes(p, words, period)),
            Self::Simplex => simplex::simplex(p, words, period),
        }
    }

    fn node(self) -> NodeDef {
        let def = match self {
            Self::Value => value::described(),
            Self::Perlin => perlin::described(),
            Self::Simplex => simplex::described(),
        };
        tiling(def)
            .sockets_by_settings(move |settings| {
                let def = period(positioned(), settings.flag("tile"));
                Ok(sockets_of(&def.output("value", Type::F32, "about -1 to 1")))
            })
            .kernel(move |parts| {
                let tile = parts.settings.flag("tile");
                Ok(parts.form(&|_, inputs| {
                    let p = scaled(&inputs[0], inputs[1][0]);
                    let words = seed_words(inputs[2][0], 0);
                    let period = tile.then(|| inputs[3].as_slice());
                    vec![vec![self.at(&p, &words, period).scaled()]]
                }))
            })
    }
}

/// Types of positions: in a plane or in space.
const PLACES: Among = Among::These(&[Type::VEC2, Type::VEC3]);

/// Sockets of most noises.
fn positioned() -> NodeDef {
    placed(POSITIONS, "position: a number, or a point in two to four dimensions")
}

/// Sockets of noises at positions of these types.
fn placed(positions: Among, about: &'static str) -> NodeDef {
    NodeDef::new("", "")
        .generic("T", positions)
        .input("position", T, about)
        .input_or("scale", Type::F32, 1.0, "factor of the position: cells per unit")
        .input_or("seed", Type::I32, 0.0, "random seed; different seeds give independent noises")
}

/// Sockets of noises in a plane or in space.
fn placed_in_space() -> NodeDef {
    placed(PLACES, "position: a point in two or three dimensions")
}

/// Adds the inputs that scale successive octaves.
fn octaves(def: NodeDef) -> NodeDef {
    let frequencies = "ratio of the frequencies of successive octaves";
    let amplitudes = "ratio of the amplitudes of successive octaves";
    def.input_or("lacunarity", Type::F32, 2.0, frequencies).input_or(
        "roughness",
        Type::F32,
        0.5,
        amplitudes,
    )
}

/// Adds the setting that makes the noise repeat.
fn tiling(def: NodeDef) -> NodeDef {
    def.flag("tile", false, "repeat the noise; adds an input `period`")
}

/// Adds the input for the period.
fn period(def: NodeDef, tile: bool) -> NodeDef {
    if !tile {
        return def;
    }
    def.input_or("period", T, 8.0, "period along each axis in cells, rounded, at least 1")
}

fn scaled<'b>(p: &[Val<'b>], scale: Val<'b>) -> Vec<Val<'b>> {
    p.iter().map(|x| *x * scale).collect()
}

/// Four words for a seed and the index of an octave; computed once if all elements share the seed.
fn seed_words(seed: Val<'_>, octave: i32) -> [Val<'_>; 4] {
    let b: &FormBuilder = seed.builder();
    pcg4d([seed, b.constant_i32(octave), b.constant_i32(Stream::Noise as i32), b.constant_i32(0)])
}

const ABOUT_TILES: &str = "With `tile` the noise repeats seamlessly after `period` cells along \
    each axis.";
const ABOUT_FAR: &str = "Beyond 2^24 cells from the origin positions have no fractions, and beyond \
    2^31 all cells are the same. Simplex noise, which skews positions, gives NaN from about 1e38 \
    on.";
