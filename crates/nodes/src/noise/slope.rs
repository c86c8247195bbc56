//! Perlin noise with its derivatives, and curl noise.

use millstream_base::Type;
use millstream_form::Val;
use millstream_node::{NodeDef, Registry};

use super::lattice::{Axis, DRAWN, axes, corner, draw, fade};
use super::perlin::SCALES;
use super::{
    ABOUT_FAR, ABOUT_TILES, octaves, period, placed_in_space, positioned, scaled, seed_words,
    tiling,
};
use crate::shape::{T, form_by_settings, sockets_of};

pub(super) fn register(registry: &mut Registry) {
    registry.register(slope());
    registry.register(curl());
}

/// A number and its derivatives along the axes, all before scaling by the same factor.
#[derive(Clone)]
struct Sloped<'b> {
    value: Val<'b>,
    slope: Vec<Val<'b>>,
}

/// The derivative of [`fade`].
fn fade_slope(t: Val<'_>) -> Val<'_> {
    t * t * (t * (t - 2.0) + 1.0) * 30.0
}

/// Perlin noise with its derivatives, before scaling.
fn perlin<'b>(axes: &[Axis<'b>]) -> Sloped<'b> {
    let n = axes.len();
    let at_corner = |at: usize| {
        let side = |i: usize| axes[i].side(at >> i & 1 == 1);
        let hash = corner((0..n).map(|i| side(i).0));
        let slope: Vec<Val<'b>> = (0..n).map(|i| draw(hash, i)).collect();
        let products = (0..n).map(|i| slope[i] * side(i).1);
        let value = products.reduce(|sum, product| sum + product).expect("space has dimensions");
        Sloped { value, slope }
    };
    let mut values: Vec<Sloped<'b>> = (0..1 << n).map(at_corner).collect();
    for (along, axis) in axes.iter().enumerate() {
        let (t, steep) = (fade(axis.rest), fade_slope(axis.rest));
        let blend = |pair: &[Sloped<'b>]| {
            let step = pair[1].value - pair[0].value;
            let slopes = pair[0].slope.iter().zip(&pair[1].slope);
            let mut slope: Vec<Val<'b>> = slopes.map(|(a, b)| *a + t * (*b - *a)).collect();
            slope[along] = slope[along] + steep * step;
            Sloped { value: pair[0].value + t * step, slope }
        };
        values = values.chunks_exact(2).map(blend).collect();
    }
    values.swap_remove(0)
}

fn slope() -> NodeDef {
    let def = NodeDef::new("noise.slope", "Perlin noise with its gradient")
        .details(format!(
            "The value is that of `noise.perlin`. The slope is the exact derivative, not a \
             difference of neighbors; it is useful for bump mapping and erosion of terrain. In up \
             to three dimensions the error is at most 1e-5, that of the value 2e-6. {ABOUT_TILES} \
             {ABOUT_FAR}"
        ))
        .source("the derivative of the noise of Perlin, \"Improving Noise\", 2002");
    tiling(def)
        .sockets_by_settings(|settings| {
            let def = period(positioned(), settings.flag("tile"))
                .output("value", Type::F32, "about -1 to 1")
                .output(
                    "slope",
                    T,
                    "derivative of the value with respect to each coordinate of the position",
                );
            Ok(sockets_of(&def))
        })
        .kernel(form_by_settings(|settings, x| {
            let tile = settings.flag("tile");
            let scale = x[1][0];
            let p = scaled(&x[0], scale);
            let period = tile.then(|| x[3].as_slice());
            let found = perlin(&axes(&p, &seed_words(x[2][0], 0), period));
            let factor = SCALES[p.len() - 1] * DRAWN;
            let slope = found.slope.iter().map(|x| *x * factor * scale).collect();
            vec![vec![found.value * factor], slope]
        }))
}

fn curl() -> NodeDef {
    let def = NodeDef::new("noise.curl", "Curl noise: a turbulent flow without divergence")
        .details(format!(
            "The curl of Perlin noise, in space of three independent ones. Its divergence is 0 \
             everywhere, so particles that drift with it stay evenly distributed. Octave i has the \
             weight roughness^i and lacunarity^i cells per unit; the sum is divided by the sum of \
             the weights. With `tile` it repeats after `period` cells of the first octave, if the \
             lacunarity is a whole number. The error is at most 2e-5 for one octave. {ABOUT_FAR}"
        ))
        .source("R. Bridson et al., Curl-noise for procedural fluid flow, 2007")
        .integer("octaves", (1, 16), 1, "number of octaves");
    tiling(def)
        .sockets_by_settings(|settings| {
            let def = octaves(placed_in_space());
            let def = period(def, settings.flag("tile"));
            Ok(sockets_of(&def.output("value", T, "velocity, of magnitude about 1")))
        })
        .kernel(form_by_settings(|settings, x| {
            let n_octaves = settings.integer("octaves").max(1) as i32;
            let tile = settings.flag("tile");
            let (seed, lacunarity, roughness) = (x[2][0], x[3][0], x[4][0]);
            let mut p = scaled(&x[0], x[1][0]);
            let mut period = tile.then(|| x[5].clone());
            let (mut strength, mut total) = (roughness.like(1.0), roughness.like(0.0));
            let mut sum = vec![roughness.like(0.0); p.len()];
            for octave in 0..n_octaves {
                let flow = flow(&p, seed, octave, period.as_deref());
                sum = sum.iter().zip(flow).map(|(sum, x)| *sum + x * strength).collect();
                total = total + strength;
                strength = strength * roughness;
                p = scaled(&p, lacunarity);
                period = period.map(|period| scaled(&period, lacunarity));
            }
            vec![sum.iter().map(|x| *x / total).collect()]
        }))
}

/// The curl of one octave.
fn flow<'b>(p: &[Val<'b>], seed: Val<'b>, octave: i32, period: Option<&[Val<'b>]>) -> Vec<Val<'b>> {
    let factor = SCALES[p.len() - 1] * DRAWN;
    let slopes = |k: i32| {
        let words = seed_words(seed, 4 * octave + k);
        perlin(&axes(p, &words, period)).slope.iter().map(|x| *x * factor).collect::<Vec<_>>()
    };
    if p.len() == 2 {
        let of = slopes(0);
        return vec![of[1], -of[0]];
    }
    let [x, y, z] = [slopes(0), slopes(1), slopes(2)];
    vec![z[1] - y[2], x[2] - z[0], y[0] - x[1]]
}
