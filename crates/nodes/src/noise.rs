//! Noise: numbers that vary over space without a pattern, by kernel form.
//!
//! A noise is a function of the position and a seed and of nothing else. Space is cut into cells of
//! size 1 (`lattice`), every corner of which has a hash; `perlin`, `value` and `simplex` blend what
//! the corners of a cell say, `fractal` adds them up in octaves, `slope` takes derivatives, `gabor` scatters stripes, and `cell` measures distances to a
//! point in each cell. Forms are straight lines without tables, so that a column of positions is
//! computed as wide as the machine allows.

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
use millstream_node::signature::Signature;
use millstream_node::{Among, NodeDef, Registry, SettingKind, SettingValue, Settings};

use crate::random::{Stream, pcg4d};
use crate::shape::T;

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

/// Where noise can be taken: along a line, in a plane, in space, in space and time.
const POSITIONS: Among = Among::These(&[Type::F32, Type::VEC2, Type::VEC3, Type::VEC4]);

/// A noise that blends what the corners of a cell say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Basis {
    Value,
    Perlin,
    Simplex,
}

/// The choices of a setting that names a [`Basis`].
const BASES: &[(&str, &str)] = &[
    ("perlin", "random slopes on a grid of cubes, as by `noise.perlin`"),
    ("value", "random numbers on a grid of cubes, as by `noise.value`"),
    ("simplex", "random slopes on a grid of tetrahedra, as by `noise.simplex`"),
];

/// A number before it is scaled: what is blended are words of 32 bits.
#[derive(Clone, Copy)]
struct Raw<'b> {
    sum: Val<'b>,
    /// What the sum is to be multiplied by.
    scale: f64,
}

impl<'b> Raw<'b> {
    fn scaled(self) -> Val<'b> {
        self.sum * self.scale
    }
}

impl Basis {
    fn of(settings: &Settings) -> Self {
        match settings.text("basis") {
            "value" => Self::Value,
            "simplex" => Self::Simplex,
            _ => Self::Perlin,
        }
    }

    /// A period as this noise repeats in `n` dimensions.
    fn rounded(self, period: Val<'_>, n: usize) -> Val<'_> {
        match self {
            Self::Value | Self::Perlin => lattice::whole(period),
            Self::Simplex => simplex::whole(period, n),
        }
    }

    /// The noise at a position; `words` are those of the seed, `period` the cells until it repeats.
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
                Ok(finished(&def.output("value", Type::F32, "about -1 to 1")))
            })
            .kernel(move |parts| {
                let tile = parts.settings.flag("tile");
                Ok(crate::vector::form_kernel(parts, |inputs| {
                    let p = scaled(&inputs[0], inputs[1][0]);
                    let words = seed_words(inputs[2][0], 0);
                    let period = tile.then(|| inputs[3].as_slice());
                    vec![vec![self.at(&p, &words, period).scaled()]]
                }))
            })
    }
}

/// Sockets that every noise has.
fn positioned() -> NodeDef {
    NodeDef::new("", "")
        .generic("T", POSITIONS)
        .input("position", T, "where: a number, or a point in two to four dimensions")
        .input("scale", Type::F32, "what the position is multiplied by: cells per unit")
        .or_number(1.0)
        .input("seed", Type::I32, "which of the noises, all alike but independent")
        .or_number(0.0)
}

/// Adds the setting that makes noise repeat.
fn tiling(def: NodeDef) -> NodeDef {
    let no = Some(SettingValue::Flag(false));
    def.setting("tile", SettingKind::Flag, no, "repeat; there is an input `period` for it")
}

/// Adds the input that says when noise repeats.
fn period(def: NodeDef, tile: bool) -> NodeDef {
    if !tile {
        return def;
    }
    def.input("period", T, "cells until it repeats along each axis, rounded, at least 1")
        .or_number(8.0)
}

/// The signature of a definition without settings.
fn finished(def: &NodeDef) -> Signature {
    def.fixed_signature().map_or_else(Signature::default, Clone::clone)
}

fn scaled<'b>(p: &[Val<'b>], scale: Val<'b>) -> Vec<Val<'b>> {
    p.iter().map(|x| *x * scale).collect()
}

/// Four words for a seed and the number of an octave; made once where the seed is one for all.
fn seed_words(seed: Val<'_>, octave: i32) -> [Val<'_>; 4] {
    let b: &FormBuilder = seed.builder();
    pcg4d([seed, b.constant_i32(octave), b.constant_i32(Stream::Noise as i32), b.constant_i32(0)])
}

const ABOUT_TILES: &str = "With `tile` it repeats after `period` cells along each axis, without a \
                           seam.";
const ABOUT_FAR: &str = "Beyond 2^24 cells from the origin positions have no fractions, and beyond 2^31 \
                         all cells are one. Simplex noise, which slants them, gives NaN from about 1e38 on.";
