//! Sums of octaves of noise, each finer and weaker than the previous one.

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{NodeDef, Registry, Settings};

use super::{ABOUT_FAR, Basis, octaves, period, positioned, scaled, seed_words, tiling};
use crate::shape::sockets_of;

pub(super) fn register(registry: &mut Registry) {
    for kind in [
        Kind::Fbm,
        Kind::Turbulence,
        Kind::Multifractal,
        Kind::HeteroTerrain,
        Kind::Ridged,
        Kind::Hybrid,
    ] {
        registry.register(kind.node());
    }
}

/// How octaves are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Fbm,
    Turbulence,
    Multifractal,
    HeteroTerrain,
    Ridged,
    Hybrid,
}

const MUSGRAVE: &str = "F. K. Musgrave in Ebert et al., \"Texturing and Modeling: A Procedural \
                        Approach\", where roughness^i is written lacunarity^(-H i)";

/// An additional input of one kind: name, default, description.
type Extra = (&'static str, f64, &'static str);

const OFFSET: Extra = ("offset", 1.0, "number added to the noise of each octave");
const GAIN: Extra = ("gain", 2.0, "influence of an octave on the next one");

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Fbm => "noise.fbm",
            Self::Turbulence => "noise.turbulence",
            Self::Multifractal => "noise.multifractal",
            Self::HeteroTerrain => "noise.hetero_terrain",
            Self::Ridged => "noise.ridged",
            Self::Hybrid => "noise.hybrid",
        }
    }

    fn summary(self) -> &'static str {
        match self {
            Self::Fbm => "The sum of octaves of noise (fractal Brownian motion)",
            Self::Turbulence => "The sum of the magnitudes of octaves of noise",
            Self::Multifractal => "The product of octaves of noise",
            Self::HeteroTerrain => "Octaves of noise that are stronger at high altitudes",
            Self::Ridged => "Octaves of noise folded into ridges",
            Self::Hybrid => "Octaves of noise that are weaker in valleys",
        }
    }

    fn formula(self) -> &'static str {
        match self {
            Self::Fbm => {
                "The sum of n_i * roughness^i; with `normalize` it is divided by the sum of \
                 roughness^i, so the range is that of the basis, about -1 to 1."
            }
            Self::Turbulence => {
                "The sum of |n_i| * roughness^i; with `normalize` it is divided by the sum of \
                 roughness^i, so the range is 0 to about 1, with creases where the noise changes \
                 sign."
            }
            Self::Multifractal => {
                "The product of n_i * roughness^i + offset, which varies around offset^octaves and \
                 is smooth where it is small."
            }
            Self::HeteroTerrain => {
                "Starts with v = n_0 + offset; each further octave replaces v by v + (n_i + \
                 offset) * roughness^i * v."
            }
            Self::Ridged => {
                "The sum of s_i * roughness^i, where s_i = (offset - |n_i|)^2 * w_i, w_0 = 1 and \
                 w_(i+1) = s_i * gain, clamped to 0 to 1. The range is 0 to about 2 for an offset \
                 of 1."
            }
            Self::Hybrid => {
                "The sum of s_i * w_i, where s_i = (n_i + offset) * roughness^i, w_0 = 1 and \
                 w_(i+1) = gain * s_i * w_i, at most 1."
            }
        }
    }

    fn extras(self) -> &'static [Extra] {
        match self {
            Self::Fbm | Self::Turbulence => &[],
            Self::Multifractal | Self::HeteroTerrain => &[OFFSET],
            Self::Ridged | Self::Hybrid => &[OFFSET, GAIN],
        }
    }

    fn normalizes(self) -> bool {
        match self {
            Self::Fbm | Self::Turbulence => true,
            Self::Multifractal | Self::HeteroTerrain | Self::Ridged | Self::Hybrid => false,
        }
    }

    fn node(self) -> NodeDef {
        let def = NodeDef::new(self.name(), self.summary())
            .details(format!(
                "Let n_i be the noise at the position times lacunarity^i, for i from 0, each \
                 octave with its own seed. {} With `tile` it repeats after `period` cells of the \
                 first octave, if the lacunarity is a whole number; with simplex noise the period \
                 is rounded to a multiple of the number of dimensions. For three octaves with the \
                 default inputs, within 10 cells of the origin, the error is at most 4e-5, or 4e-5 \
                 times the result if that is more than 1. {ABOUT_FAR}",
                self.formula()
            ))
            .source(MUSGRAVE)
            .choice("basis", Basis::ALL, "perlin", "noise of each octave")
            .integer("octaves", (1, 16), 3, "number of octaves");
        let def = if self.normalizes() {
            def.flag(
                "normalize",
                true,
                "divide by the sum of the weights to keep the range of one octave",
            )
        } else {
            def
        };
        tiling(def)
            .sockets_by_settings(move |settings| {
                let def = octaves(positioned());
                let extra = |def: NodeDef, (name, default, about): &Extra| {
                    def.input_or(*name, Type::F32, *default, *about)
                };
                let def = self.extras().iter().fold(def, extra);
                let def = period(def, settings.flag("tile"));
                Ok(sockets_of(&def.output("value", Type::F32, "")))
            })
            .kernel(move |parts| {
                let settings = parts.settings;
                Ok(parts.form(&|_, inputs| {
                    let octaves = Octaves::new(settings, inputs);
                    vec![vec![self.combined(&octaves, inputs, settings.flag("normalize"))]]
                }))
            })
    }

    fn combined<'b>(
        self,
        octaves: &Octaves<'b>,
        inputs: &[Vec<Val<'b>>],
        normalize: bool,
    ) -> Val<'b> {
        // Inputs after the common five; those that a kind lacks are not read.
        let extra = |i: usize| inputs[5 + i][0];
        let all = || 0..octaves.n;
        match self {
            Self::Fbm => octaves.added_up(normalize, |x| x),
            Self::Turbulence => octaves.added_up(normalize, Val::abs),
            Self::Multifractal => {
                let factors = all().map(|i| octaves.weighted(i, |x| x) + extra(0));
                factors.reduce(|product, factor| product * factor).expect("there is an octave")
            }
            Self::HeteroTerrain => {
                let first = octaves.noise(0) + extra(0);
                all().skip(1).fold(first, |v, i| {
                    v + (octaves.noise(i) + extra(0)) * octaves.amplitudes[i] * v
                })
            }
            Self::Ridged => {
                let ridge = |i: usize| {
                    let height = extra(0) - octaves.noise(i).abs();
                    height * height
                };
                let mut signal = ridge(0);
                let mut sum = signal;
                for i in all().skip(1) {
                    signal = ridge(i) * (signal * extra(1)).clamp(0.0, 1.0);
                    sum = sum + signal * octaves.amplitudes[i];
                }
                sum
            }
            Self::Hybrid => {
                let signal = |i: usize| (octaves.noise(i) + extra(0)) * octaves.amplitudes[i];
                let mut weighted = signal(0);
                let mut sum = weighted;
                for i in all().skip(1) {
                    weighted = signal(i) * (weighted * extra(1)).min(1.0);
                    sum = sum + weighted;
                }
                sum
            }
        }
    }
}

/// The octaves of one position.
struct Octaves<'b> {
    n: usize,
    basis: Basis,
    positions: Vec<Vec<Val<'b>>>,
    periods: Vec<Option<Vec<Val<'b>>>>,
    amplitudes: Vec<Val<'b>>,
    seed: Val<'b>,
}

impl<'b> Octaves<'b> {
    fn new(settings: &Settings, inputs: &[Vec<Val<'b>>]) -> Self {
        let (seed, lacunarity, roughness) = (inputs[2][0], inputs[3][0], inputs[4][0]);
        let basis = Basis::named(settings.text("basis"));
        let n = settings.integer("octaves").max(1) as usize;
        let tile = settings.flag("tile");
        let position = scaled(&inputs[0], inputs[1][0]);
        // Rounded once, so that the finer octaves repeat together with the first.
        let period = tile.then(|| {
            let period = inputs.last().expect("there are inputs");
            period.iter().map(|one| basis.rounded(*one, period.len())).collect()
        });
        let finer = |p: &Vec<Val<'b>>| Some(scaled(p, lacunarity));
        let positions = std::iter::successors(Some(position), finer).take(n).collect();
        let finer = |p: &Option<Vec<Val<'b>>>| Some(p.as_ref().and_then(finer));
        let periods = std::iter::successors(Some(period), finer).take(n).collect();
        let weaker = |amplitude: &Val<'b>| Some(*amplitude * roughness);
        let amplitudes = std::iter::successors(Some(roughness.like(1.0)), weaker).take(n).collect();
        Self { n, basis, positions, periods, amplitudes, seed }
    }

    fn raw(&self, i: usize) -> super::Raw<'b> {
        let words = seed_words(self.seed, i32::try_from(i).expect("octaves are few"));
        self.basis.at(&self.positions[i], &words, self.periods[i].as_deref())
    }

    fn noise(&self, i: usize) -> Val<'b> {
        self.raw(i).scaled()
    }

    /// `shape` applied to an octave, times its amplitude. The scale of the noise is part of the
    /// amplitude, so `shape` must commute with positive factors.
    fn weighted(&self, i: usize, shape: impl Fn(Val<'b>) -> Val<'b>) -> Val<'b> {
        let raw = self.raw(i);
        shape(raw.sum) * (self.amplitudes[i] * raw.scale)
    }

    fn added_up(&self, normalize: bool, shape: impl Fn(Val<'b>) -> Val<'b>) -> Val<'b> {
        let total = self.amplitudes.iter().copied().reduce(|sum, amplitude| sum + amplitude);
        let total = total.expect("there is an octave");
        let weighted = |i: usize| {
            let raw = self.raw(i);
            let share = self.amplitudes[i] * raw.scale;
            shape(raw.sum) * if normalize { share / total } else { share }
        };
        (0..self.n).map(weighted).reduce(|sum, octave| sum + octave).expect("there is an octave")
    }
}
